"""Code of the user that a campaign names: controls, schedulers, metrics as Python functions."""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

from lasthop._errors import mistake
from lasthop._files import is_there
from lasthop._sources import closure, digest_of
from lasthop.campaign._faults import nearest
from lasthop.campaign.metrics import Outcome

if TYPE_CHECKING:
    from lasthop._results import Results

Place: TypeAlias = tuple[str, str]
"""`FILE.py:NAME` and the folder in which the file is looked for."""

#: Characters that are shown of an exception's text.
_MOST_SHOWN = 200


def load(folder: Path, text: str) -> Any:
    """The object that `FILE.py:NAME` means; the file is looked for in `folder`.

    Raises:
        LasthopError: the text has another form, there is no such file or name, or the file cannot
            be loaded.
    """
    file, _, attribute = text.rpartition(":")
    if not file or not attribute.isidentifier():
        raise mistake(f"'{text}' is not of the form FILE.py:NAME", 'such as "mine.py:Mine"')
    path = folder / file
    if not (is_there(path) and path.is_file()):
        near = nearest(Path(file).name, _python_files(path.parent), f"it is looked for in {path.parent.absolute()}")
        raise mistake(f"there is no file '{file}'", near)
    module = module_of(path)
    if not hasattr(module, attribute):
        own = [n for n, v in vars(module).items() if getattr(v, "__module__", None) == module.__name__]
        raise mistake(f"'{file}' has no '{attribute}'", nearest(attribute, own))
    return getattr(module, attribute)


def _python_files(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.glob("*.py")) if is_there(folder) else []


def module_of(path: Path) -> ModuleType:
    """The module of a Python file, loaded again if the file has changed since.

    While the module is loaded, it can import modules in its own folder.

    Raises:
        LasthopError: it is not a Python file, or loading it raises an exception.
    """
    real = path.resolve()
    if real.suffix != ".py":
        raise mistake(f"'{path.name}' is not a Python file", "its name must end in .py")
    name = f"{_OURS}{real.stem}_{hashlib.blake2b(str(real).encode(), digest_size=6).hexdigest()}"
    _forget_namesakes(real.parent)
    loaded = sys.modules.get(name)
    if loaded is not None:
        files, libraries = _sources(loaded)
        if _LOADED.get(name) == digest_of(files, libraries):
            return loaded
        _forget(files, real.parent)
    spec = importlib.util.spec_from_file_location(name, real)
    if spec is None or spec.loader is None:
        raise mistake(f"'{path.name}' is not a Python file", "its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # the source of a class is found through its module
    _FOLDERS.add(real.parent)
    try:
        with importing_from(real.parent):
            spec.loader.exec_module(module)
    except Exception as err:
        del sys.modules[name]
        text = f"{type(err).__name__}: {str(err)[:_MOST_SHOWN]}"
        raise mistake(f"'{path.name}' cannot be loaded: {text}", "mend the file; 'python FILE' shows where") from err
    _LOADED[name] = digest_of(*_sources(module))
    return module


#: What loaded modules were made of.
_LOADED: dict[str, str] = {}


class _Beside(MetaPathFinder):
    """Finds modules beside a file of the user's for imports in its functions.

    The file itself may have been loaded long ago.

    Such an import is looked for where the code that imports lies.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module in the folder of the file that imports it.

        If that file or one beside it was loaded here.
        """
        if path is not None:  # a module of a package: the package says where
            return None
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and "importlib" in frame.f_code.co_filename:
            frame = frame.f_back
        if frame is None:
            return None
        folder = Path(frame.f_code.co_filename).parent
        return PathFinder.find_spec(fullname, [str(folder)]) if folder in _FOLDERS else None


#: Modules of own files are called so.
_OURS = "lasthop_own_"
#: The folders of own files.
_FOLDERS: set[Path] = set()
sys.meta_path.append(_Beside())


def _forget_namesakes(folder: Path) -> None:
    """Removes modules beside own files that are not those of this folder.

    They are called as one in it, or their file is gone.
    """
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file is None or "." in name or name.startswith(_OURS):
            continue
        beside = Path(file).resolve().parent
        beside = beside.parent if Path(file).name == "__init__.py" else beside
        if beside not in _FOLDERS:
            continue
        meant = (folder / f"{name}.py").exists() or (folder / name / "__init__.py").exists()
        if not Path(file).exists() or (beside != folder and meant):
            for known in [n for n in sys.modules if n == name or n.startswith(f"{name}.")]:
                del sys.modules[known]


def _forget(files: set[Path], folder: Path) -> None:
    """The modules below a folder that are made of these files are imported anew."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file is not None and Path(file).resolve() in files and Path(file).resolve().is_relative_to(folder):
            del sys.modules[name]


def _sources(module: ModuleType) -> tuple[set[Path], set[str]]:
    """The files of a module and of what it imports, and its libraries."""
    if module.__file__ is None:
        return set(), set()
    with importing_from(Path(module.__file__).resolve().parent):
        files, libraries = closure([module], package=False)
    return {f.resolve() for f in files}, libraries


def sources(module: ModuleType) -> set[Path]:
    """The files of a module and of what it imports, without libraries."""
    return _sources(module)[0]


@contextmanager
def importing_from(folder: Path) -> Iterator[None]:
    """Modules in `folder` can be imported in this block."""
    entry = str(folder)
    sys.path.insert(0, entry)
    try:
        yield
    finally:
        if entry in sys.path:
            sys.path.remove(entry)


def digest(name: str, found: Callable[..., Any], place: Place | None = None) -> str:
    """Digest of a class or function with all that it imports.

    It is computed from the name, the sources of the module, and those of all that the module
    imports.

    Args:
        name: how the campaign calls it.
        found: the class or function.
        place: where it was loaded from. The digest is that of the file that is named there and of
            the name in it, which need not be the object's own: two objects of one function have the
            same `__qualname__`. None: the object is what its module has under its own name
            (`check_named`). What was typed into a prompt has no file: its code counts then.
    """
    if place is not None:
        file, _, qualified = place[0].rpartition(":")
        module = module_of(Path(place[1]) / file)
    else:
        inner = inspect.unwrap(found)
        qualified = getattr(inner, "__qualname__", type(inner).__qualname__)
        loaded = sys.modules.get(getattr(inner, "__module__", "") or "")
        if loaded is None or getattr(loaded, "__file__", None) is None:
            return digest_of((), [f"{name} {qualified} {_code_of(inner)}"])
        module = loaded
    files, libraries = _sources(module)
    return digest_of(files, {*libraries, f"{name} {qualified}"})


def check_named(what: str, found: Callable[..., Any]) -> None:
    """Checks that a Python class or function is the object that its module has under its name.

    Only then do sources and name determine what it does. They do not determine the arguments of a
    `functools.partial`, the captured variables of an inner function or class, or the attributes of
    a callable object.

    Raises:
        TypeError: it is something else; `what` names it in the message.
    """
    module = sys.modules.get(getattr(found, "__module__", "") or "")
    known: Any = module
    for part in getattr(found, "__qualname__", "<none>").split("."):
        known = getattr(known, part, None)
    if known is not found:
        raise TypeError(
            f"{what} is not a class or function at the top of a module, and another object of the same name would have "
            "the same place in the store: write it with def or class, and its parameters as constants"
        )


def together(digests: Iterable[str]) -> str:
    """One digest of several digests, in any order; empty if there are none."""
    every = sorted(digests)
    return hashlib.sha256("\n".join(every).encode()).hexdigest() if every else ""


def _code_of(found: Any) -> str:
    """Digest of compiled code: instructions, constants and names.

    Of a class those of its methods.
    """
    hasher = hashlib.sha256()
    for member in vars(found).values() if inspect.isclass(found) else (found,):
        code = getattr(member, "__code__", None)
        if code is not None:
            hasher.update(repr((code.co_code, code.co_consts, code.co_names)).encode())
    return hasher.hexdigest()


@dataclass(frozen=True)
class Function:
    """A Python function of a run's results as a measure.

    Attributes:
        name: its column in the results.
        unit: the unit of the returned number; `1` for a number without unit.
        tables: the tables that it reads, as far as they are declared.
        call: the function: takes a `lasthop.Results`, returns a number, or None where the run has
            none.
        place: `FILE.py:NAME` and the folder of the campaign, for other processes; None: it pickles
            by its name.
    """

    name: str
    unit: str
    tables: frozenset[str]
    call: Callable[[Results], Any] = field(compare=False)
    #: Digest of the function's sources and of what they import, as they were when it was loaded.
    sources: str
    place: Place | None = None

    #: It holds the interpreter's lock.
    needs_processes = True

    @property
    def text(self) -> str:
        """File and function, independent of the folder of the file.

        A function without a file has its name only.
        """
        if self.place is not None:
            return self.place[0].replace("\\", "/").rpartition("/")[2]
        name = getattr(self.call, "__qualname__", type(self.call).__name__)
        module = sys.modules.get(getattr(self.call, "__module__", "") or "")
        file = getattr(module, "__file__", None)
        return f"{Path(file).name}:{name}" if file is not None else name

    @staticmethod
    def of(
        name: str,
        unit: str,
        tables: Iterable[str],
        call: Callable[[Results], Any],
        place: Place | None = None,
    ) -> Function:
        """The measure of a function, with the digest of its sources."""
        return Function(name, unit, frozenset(tables), call, digest("", call, place), place)

    @property
    def identity(self) -> str:
        """Digest of the function's sources, of what they import and of the unit."""
        return f"function {self.unit} {self.sources}"

    def outcome(self, run: Results) -> Outcome:
        """The number that the function returns for a run [`unit`].

        There is no value where it returns None or raises an exception.
        """
        try:
            found = self.call(run)
        except (Exception, SystemExit) as error:
            return Outcome(None, _raised(error))
        if found is None:
            return Outcome(None, "the function returned None")
        try:
            if isinstance(found, (str, bytes, bytearray)):
                raise TypeError  # `float` reads texts
            value = float(found)
        except OverflowError:
            return Outcome(None, "the function returned a number above 1.8e308")
        except (TypeError, ValueError):
            return Outcome(None, f"the function returned no number but {type(found).__name__}")
        if not math.isfinite(value):
            return Outcome(None, f"the function returned {value}")
        # -0.0 would be another byte in the results.
        return Outcome(value + 0.0)

    def __reduce__(self) -> tuple[object, ...]:
        """For `pickle`: worker processes load the file again."""
        if self.place is None:
            return Function, (self.name, self.unit, self.tables, self.call, self.sources)
        return _again, (self.name, self.unit, self.tables, self.place)


def _again(name: str, unit: str, tables: frozenset[str], place: Place) -> Function:
    text, folder = place
    return Function.of(name, unit, tables, load(Path(folder), text), place)


def _raised(error: BaseException) -> str:
    """An exception in words, with the line that raised it."""
    text = " ".join(str(error).split())[:_MOST_SHOWN]
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    where = ""
    if frame is not None:
        where = f" ({Path(frame.tb_frame.f_code.co_filename).name}, line {frame.tb_lineno})"
    return "".join(c if c.isprintable() else " " for c in f"{type(error).__name__}: {text}{where}")
