"""What the values of a user's Python code depend on: sources, and versions of libraries.

Sources are the files of some modules, and of every module that they import from the package or from
their own folder, transitively. Libraries count by their versions.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.metadata
import importlib.util
import platform
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from types import ModuleType


def digest_of(files: Iterable[Path], libraries: Iterable[str]) -> str:
    """SHA-256 over names and contents of files, Python's version and `libraries`, as hex."""
    hasher = hashlib.sha256()
    contents = {(path.name.encode(), hashlib.sha256(path.read_bytes()).digest()) for path in files}
    for name, content in sorted(contents):  # wherever the files lie
        hasher.update(name + b"\0" + content)
    for line in (platform.python_version(), *sorted(libraries)):
        hasher.update(line.encode() + b"\0")
    return hasher.hexdigest()


def closure(roots: Iterable[ModuleType], *, package: bool = True) -> tuple[set[Path], set[str]]:
    """Files of all modules that are reached, and `name version` of the libraries.

    Args:
        roots: where to begin.
        package: whether the package's own modules are sources; else it is a library.
    """
    files: set[Path] = set()
    libraries: set[str] = set()
    ahead = [(m.__name__, Path(m.__file__)) for m in roots if m.__file__]
    while ahead:
        name, path = ahead.pop()
        if path in files:
            continue
        files.add(path)
        state = path.stat()
        for imported in _imports(name, path, state.st_mtime_ns, state.st_size):
            found = _file_of(imported)
            if found is None:
                continue
            if _is_library(found) or (not package and found.resolve().is_relative_to(_PACKAGE)):
                top = imported.partition(".")[0]
                libraries.add(f"{top} {_version(top)}")
            else:
                ahead.append((imported, found))
    return files, libraries


@lru_cache(maxsize=4096)
def _imports(module: str, path: Path, _changed: int, _size: int) -> tuple[str, ...]:
    """Names of modules that a source file imports, wherever in it.

    What may be a module or a name of one is both.
    """
    if path.suffix != ".py":
        return ()
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    found: list[str] = []
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            for alias in node.names:
                found += _with_parents(alias.name)
        elif isinstance(node, ast.ImportFrom):
            above = package.rsplit(".", node.level - 1)[0] if node.level > 1 else package
            base = ".".join(p for p in (above if node.level else "", node.module or "") if p)
            found += _with_parents(base)
            found += (f"{base}.{alias.name}" for alias in node.names)
    return tuple(dict.fromkeys(found))


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
    return any(resolved.is_relative_to(folder) for folder in _library_folders())


@lru_cache(maxsize=1)
def _library_folders() -> tuple[Path, ...]:
    kinds = ("stdlib", "platstdlib", "purelib", "platlib")
    return tuple(Path(sysconfig.get_path(kind)).resolve() for kind in kinds)


@lru_cache(maxsize=256)
def _version(library: str) -> str:
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        return ""


#: The package itself: its modules are sources, although it is installed beside libraries.
_PACKAGE = Path(__file__).resolve().parent
