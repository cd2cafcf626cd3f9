"""What a reducer's values depend on besides its run.

This is a digest of its sources and of the libraries that it uses.

Sources are the file of the function, every module that it imports from the package or from beside
it, transitively, and the data files next to `study.py`. Libraries count by their versions.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from lasthop._sources import closure, digest_of

if TYPE_CHECKING:
    from lasthop.harness.definition import Study


def digest(study: Study, reducer: str) -> str:
    """SHA-256 over all sources and libraries of the reducer of that name, as hex."""
    function = inspect.unwrap(getattr(study.code, reducer))
    files, libraries = closure(_roots(study.code, function))
    files.add(Path(study.code.__file__ or study.code_file))  # the name may be given there to something made there
    return digest_of({*files, *_data_files(study.folder)}, libraries)


def _roots(code: ModuleType, function: Callable[..., Any]) -> list[ModuleType]:
    """Where to begin: the function's module.

    With what `study.py` put into it, that file's imports as well.
    """
    home = sys.modules.get(getattr(function, "__module__", ""), code)
    plain = isinstance(function, FunctionType) and function.__closure__ is None and not function.__defaults__
    return [home] if plain else [home, code]


def _data_files(folder: Path) -> Iterator[Path]:
    """What a reducer may read beside its run: files next to `study.py`.

    The definitions reach a run by its scenario.
    """
    for path in folder.resolve().iterdir():
        if path.is_file() and path.suffix not in (".py", ".pyc") and path.name not in _DEFINITIONS:
            yield path


_DEFINITIONS = ("study.toml", "claims.toml", "scenario.toml", "README.md")
