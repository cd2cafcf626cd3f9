"""What a reducer's values depend on beside its run: a digest of its sources and of the libraries it uses.

Sources are the file of the function, every module that it imports from the package or from beside it, transitively,
and the data files next to `study.py`. Libraries count by their versions.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.metadata
import importlib.util
import inspect
import platform
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lasthop.harness.definition import Study


def digest(study: Study, reducer: str) -> str:
    """SHA-256 over everything that the reducer of that name is made of, as hex."""
    function = inspect.unwrap(getattr(study.code, reducer))
    hasher = hashlib.sha256()
    files, libraries = _closure(_roots(study.code, function))
    files.add(Path(study.code.__file__ or study.code_file))  # the name may be given there to something made there
    for path in sorted({f.resolve() for f in files} | set(_data_files(study.folder))):
        hasher.update(path.name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    for line in (platform.python_version(), *sorted(libraries)):
        hasher.update(line.encode() + b"\0")
    return hasher.hexdigest()


def file_digest(path: Path) -> str:
    """SHA-256 of a file as hex."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _roots(code: ModuleType, function: Callable[..., Any]) -> list[ModuleType]:
    """Where to begin: the function's module; with what `study.py` put into it, that file's imports as well."""
    home = sys.modules.get(getattr(function, "__module__", ""), code)
    plain = isinstance(function, FunctionType) and function.__closure__ is None and not function.__defaults__
    return [home] if plain else [home, code]


def _closure(roots: Iterable[ModuleType]) -> tuple[set[Path], set[str]]:
    """Files of all modules that are reached, and `name version` of the libraries."""
    files: set[Path] = set()
    libraries: set[str] = set()
    ahead = [(m.__name__, Path(m.__file__)) for m in roots if m.__file__]
    while ahead:
        name, path = ahead.pop()
        if path in files:
            continue
        files.add(path)
        for imported in _imports(name, path):
            found = _file_of(imported)
            if found is None:
                continue
            if _is_library(found):
                top = imported.partition(".")[0]
                libraries.add(f"{top} {_version(top)}")
            else:
                ahead.append((imported, found))
    return files, libraries


def _imports(module: str, path: Path) -> Iterator[str]:
    """Names of modules that a source file imports, wherever in it; what may be a module or a name of one is both."""
    if path.suffix != ".py":
        return
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _with_parents(alias.name)
        elif isinstance(node, ast.ImportFrom):
            above = package.rsplit(".", node.level - 1)[0] if node.level > 1 else package
            base = ".".join(p for p in (above if node.level else "", node.module or "") if p)
            yield from _with_parents(base)
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _with_parents(name: str) -> Iterator[str]:
    """`a.b.c` runs the files of `a` and `a.b` too."""
    parts = name.split(".")
    yield from (".".join(parts[: i + 1]) for i in range(len(parts)))


def _file_of(name: str) -> Path | None:
    """The file of a module; None for what is none or is built into the interpreter."""
    if name.partition(".")[0] in sys.stdlib_module_names:
        return None
    loaded = sys.modules.get(name)
    if loaded is not None:
        file = getattr(loaded, "__file__", None)
        return None if file is None else Path(file)
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, AttributeError, ValueError):
        return None
    return Path(spec.origin) if spec is not None and spec.has_location and spec.origin else None


def _is_library(path: Path) -> bool:
    resolved = path.resolve()
    if resolved.is_relative_to(_PACKAGE):
        return False
    return any(resolved.is_relative_to(Path(sysconfig.get_path(kind)).resolve()) for kind in _LIBRARY_PATHS)


def _version(library: str) -> str:
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _data_files(folder: Path) -> Iterator[Path]:
    """What a reducer may read beside its run: files next to `study.py`; the definitions reach a run by its scenario."""
    for path in folder.resolve().iterdir():
        if path.is_file() and path.suffix not in (".py", ".pyc") and path.name not in _DEFINITIONS:
            yield path


_PACKAGE = Path(__file__).resolve().parent.parent
_LIBRARY_PATHS = ("stdlib", "platstdlib", "purelib", "platlib")
_DEFINITIONS = ("study.toml", "claims.toml", "scenario.toml", "README.md")
