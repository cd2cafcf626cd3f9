"""A campaign with the files that it names, so that the same runs can be made again.

They can be made from any folder, and after an edit of the original files.

    DIR/campaign.toml   the campaign, every default spelled out
    DIR/files/          the base scenario, own code with what it imports from beside it, traces and
    tracks

The copies have the same relative positions as the originals, so relative paths in a scenario and
imports of a module lead to the same files. Files that a scenario names by an absolute path are not
copied. A bundled scenario is named, not copied.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from lasthop._bundled import bundled
from lasthop._core import LasthopError
from lasthop._errors import mistake
from lasthop._files import is_there
from lasthop.campaign import own
from lasthop.campaign.results import COPIES

if TYPE_CHECKING:
    from lasthop._core import Scenario as Core
    from lasthop.campaign.definition import Campaign


class Bundle:
    """The files that a campaign names, and the places of their copies.

    Attributes:
        base: the value of `campaign.base` in the copy.
        places: the entries of `[cc]` and `[scheduler]`, and the values of `python` of metrics, in
            the copy, by table and name.
        stays: names of objects that cannot be copied, because they have no file of their own.
    """

    def __init__(self, campaign: Campaign) -> None:
        self.stays: list[str] = []
        #: The content of each file where it has none on the disk.
        self._files: dict[Path, str | None] = {}
        base = self._base(campaign)
        code = {at: self._code(found, place) for at, (found, place) in campaign.own_code().items()}
        self._root = _root(list(self._files))
        self.base = base if isinstance(base, str) else self._copy(base)
        self.places = {at: f"{self._copy(path)}:{name}" for at, (path, name) in code.items() if path is not None}
        self.stays += [".".join(at) for at, (path, _) in code.items() if path is None]

    def write(self, folder: Path) -> None:
        """Writes the copies below a folder.

        Raises:
            LasthopError: a file cannot be read or written.
        """
        for path, text in self._files.items():
            target = folder / self._copy(path)
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(path.read_bytes() if text is None else text.encode())
            except OSError as error:
                raise mistake(f"cannot copy '{path}' to '{target}': {error.strerror}") from error

    def _copy(self, path: Path) -> str:
        """The path of the copy of a file, as the campaign writes it."""
        return f"{COPIES}/{path.relative_to(self._root).as_posix()}"

    def _base(self, campaign: Campaign) -> str | Path:
        """The base scenario's file, or the name of a bundled one."""
        given, named = campaign.given_base, campaign.base_named
        core = campaign.base.core
        if given is None:
            path = campaign.folder / named
            if not is_there(path) and named in bundled():
                return named
            base = path.resolve()
            self._files[base] = None
        else:
            base = given.core.base_dir.resolve() / f"{Path(named).stem or 'base'}.toml"
            self._files[base] = given.core.written()
        for name in sorted({*core.files(), *_varied(campaign, core)}):
            if not Path(name).is_absolute():
                self._files[Path(os.path.normpath(base.parent / name))] = None
        return base

    def _code(self, found: Callable[..., Any], place: own.Place | None) -> tuple[Path | None, str]:
        """File and name of a class or function that can be loaded from there.

        The file is to be copied.
        """
        if place is not None:
            script, _, name = place[0].rpartition(":")
            path = (Path(place[1]) / script).resolve()
            return self._with_imports(path, own.module_of(path)), name
        inner = inspect.unwrap(found)
        name = getattr(inner, "__qualname__", "")
        module = sys.modules.get(getattr(inner, "__module__", "") or "")
        file = getattr(module, "__file__", None)
        in_package = bool(getattr(module, "__package__", None))
        if module is None or file is None or not name.isidentifier() or in_package or not file.endswith(".py"):
            return None, name
        return self._with_imports(Path(file).resolve(), module), name

    def _with_imports(self, path: Path, module: ModuleType) -> Path:
        """The file of a module; it and what it imports from beside it are to be copied."""
        self._files[path] = None
        self._files |= dict.fromkeys(f for f in own.sources(module) if f.is_relative_to(path.parent))
        return path


def _varied(campaign: Campaign, core: Core) -> Iterator[str]:
    """The files that values of the axes name."""
    for axis in campaign.axes:
        for settings in axis.settings:
            if not any(word in text for text in settings for word in ("trace", "file")):
                continue  # an axis may have very many values
            with suppress(LasthopError):  # a value that is right beside others only
                yield from core.with_set(list(settings)).files()


def _root(files: list[Path]) -> Path:
    """The folder that all files are in."""
    return Path(os.path.commonpath([path.parent for path in files])) if files else Path()
