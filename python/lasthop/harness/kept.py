"""Reduced runs on disk, so that a study goes on where it was stopped.

A record is named by what its values come from: the scenario (the core's hash of its content and of the traces it
reads), the reducer with a digest of its sources, and the build that ran it. One of them changed, and the run is made
anew. A file holds some runs; it is written aside and renamed, so that what can be read is whole.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lasthop.harness.errors import StudyError

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Name:
    """What the values of one reduced run come from, beside the build."""

    scenario_hash: str
    reducer: str
    sources: str


@dataclass(frozen=True)
class Reduced:
    """What is left of one run; `shown` says whether it holds what figures need."""

    values: Mapping[str, Any]
    shown: bool


class KeptRuns:
    """The reduced runs of one study and one build under a folder.

    `identity` names the build: everything beside scenario and reducer that the values depend on. Runs of another
    build are removed as soon as this one keeps its first.
    """

    def __init__(self, folder: Path, identity: str) -> None:
        self._folder = folder
        self._identity = identity
        self._mine = folder / hashlib.sha256(identity.encode()).hexdigest()[:16]
        self._known: dict[Name, Reduced] = {}
        for path in sorted(self._mine.glob(f"*{_SUFFIX}")):
            self._known.update(self._read(path))

    def get(self, name: Name, shown: bool) -> Reduced | None:
        """The run of that name, if it was kept with what is needed of it."""
        found = self._known.get(name)
        return None if found is None or (shown and not found.shown) else found

    def add(self, runs: Mapping[Name, Reduced]) -> None:
        """Writes runs down. One whose values are no plain data is left out: it will be made again."""
        records = [record for name, run in runs.items() if (record := _record(name, run)) is not None]
        if not records:
            return
        text = json.dumps({"identity": self._identity, "runs": records}, separators=(",", ":"))
        content = gzip.compress(text.encode(), compresslevel=1, mtime=0)
        path = self._mine / (hashlib.sha256(content).hexdigest()[:32] + _SUFFIX)
        try:
            if not self._mine.is_dir():
                self._forget_other_builds()
                self._mine.mkdir(parents=True)
            aside = path.with_suffix(f".{os.getpid()}")
            aside.write_bytes(content)
            aside.replace(path)
        except OSError as error:
            raise StudyError(f"cannot keep finished runs in {self._folder}: {error}") from error

    def forget(self) -> None:
        """Removes what was kept, of this and other builds."""
        self._known.clear()
        self._forget_other_builds()
        shutil.rmtree(self._mine, ignore_errors=True)

    def _forget_other_builds(self) -> None:
        """Only folders that hold nothing but kept runs."""
        for other in self._folder.glob("*"):
            if other != self._mine and other.is_dir() and all(".runs." in p.name for p in other.iterdir()):
                shutil.rmtree(other, ignore_errors=True)

    def _read(self, path: Path) -> dict[Name, Reduced]:
        """The runs of one file; of a damaged one, none."""
        try:
            content = json.loads(gzip.decompress(path.read_bytes()))
            if content["identity"] != self._identity:
                return {}
            return {Name(*r["name"]): Reduced(_decoded(r["values"]), r["shown"]) for r in content["runs"]}
        except (OSError, EOFError, ValueError, KeyError, TypeError):
            return {}


class NotPlainError(TypeError):
    """A value that cannot be written down and read back the same."""


def _record(name: Name, run: Reduced) -> dict[str, Any] | None:
    try:
        values = _encoded(dict(run.values))
    except NotPlainError:
        return None
    return {"name": [name.scenario_hash, name.reducer, name.sources], "shown": run.shown, "values": values}


def _encoded(value: Any) -> Any:
    """Plain data as JSON that `_decoded` makes the same of: every object of it has one member, its kind."""
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
        if array.dtype.hasobject or array.dtype.fields is not None:
            raise NotPlainError(f"an array of {array.dtype}")
        kind = "scalar" if isinstance(value, np.generic) else "array"
        return {kind: [array.dtype.str, list(array.shape), base64.b64encode(array.tobytes()).decode()]}
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) is list:
        return [_encoded(v) for v in value]
    if type(value) is tuple:
        return {"tuple": [_encoded(v) for v in value]}
    if type(value) is dict:
        return {"dict": [[_encoded(k), _encoded(v)] for k, v in value.items()]}
    raise NotPlainError(f"a value of type {type(value).__name__}")


def _decoded(value: Any) -> Any:
    if isinstance(value, list):
        return [_decoded(v) for v in value]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "tuple":
        return tuple(_decoded(v) for v in content)
    if kind == "dict":
        return _pairs(content)
    dtype, shape, data = content
    array = np.frombuffer(base64.b64decode(data), dtype=np.dtype(dtype)).reshape(shape).copy()
    return array[()] if kind == "scalar" else array


def _pairs(content: Iterable[Any]) -> dict[Any, Any]:
    return {_decoded(k): _decoded(v) for k, v in content}


_SUFFIX = ".runs.gz"
