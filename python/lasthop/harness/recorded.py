"""The reduced runs of a report, kept in its folder.

The report can be made again from them without new runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lasthop.harness.data import Backend, Data, Record, ScenarioLike, Simulator
from lasthop.harness.definition import is_bundled
from lasthop.harness.errors import StudyError
from lasthop.harness.values import NotPlainError, packed, unpacked

if TYPE_CHECKING:
    from lasthop.harness.definition import ParameterSet, Study
    from lasthop.harness.result import Evidence
    from lasthop.harness.runner import Request

#: The file of a study's result that has its reduced runs.
RUNS = "runs.json.gz"
_FORMAT = 1


def recorded(study: Study, evidence: Evidence) -> bytes | None:
    """All reduced runs of a study as octets; None: some values are no plain data."""
    numbers: dict[int, int] = {}
    values: list[dict[str, Any]] = []
    records = []
    for (parameter_set, variation), data in evidence.data.items():
        for group, found in data.records.items():
            rows = []
            for record in found:
                # A run that several variations share is the same object in each.
                number = numbers.setdefault(id(record.values), len(values))
                if number == len(values):
                    values.append(dict(record.values))
                rows.append((dict(record.point), record.seed, number))
            records.append((parameter_set, variation, group, rows))
    try:
        return packed(
            {
                "format": _FORMAT,
                "folder": None if is_bundled(study.folder) else str(study.folder.resolve()),
                "quick": study.quick,
                "seeds": {group.name: group.seeds for group in study.groups},
                "sets": evidence.parameter_sets,
                "values": values,
                "records": records,
                "absent": [
                    (*at, group, why) for at, data in evidence.data.items() for group, why in data.absent.items()
                ],
            }
        )
    except NotPlainError:
        return None


class Recorded:
    """The runs of an earlier result, which take the place of a runner."""

    def __init__(self, folder: Path) -> None:
        """Reads them.

        Raises:
            StudyError: the folder has none, or they are damaged or of another version.
        """
        self._path = folder / RUNS
        try:
            found = unpacked(self._path.read_bytes())
        except FileNotFoundError:
            raise StudyError(f"{folder} has no {RUNS}: run the study again, which makes no run that is kept") from None
        except (OSError, ValueError) as error:
            raise StudyError(f"cannot read {self._path} ({error}): run the study again") from None
        if found.get("format") != _FORMAT:
            raise StudyError(f"{self._path} is of another version of Lasthop: run the study again")
        self.folder: str | None = found["folder"]
        self.quick: bool = found["quick"]
        self.seeds: Mapping[str, int] = found["seeds"]
        self.sets: Sequence[str] = found["sets"]
        values = found["values"]
        self._records = {
            (parameter_set, variation, group): [Record(point, seed, values[number]) for point, seed, number in rows]
            for parameter_set, variation, group, rows in found["records"]
        }
        self._absent = {tuple(at): why for *at, why in found.get("absent", ())}

    def of(self, study: Study, backend: Backend | None = None) -> RecordedRuns:
        """These runs as the runs of a study."""
        return RecordedRuns(study, backend or Simulator(), self._records, self._path, self._absent)


class RecordedRuns:
    """Has the methods of `Runner`, for runs that were made before."""

    def __init__(
        self,
        study: Study,
        backend: Backend,
        records: Mapping[tuple[str, str, str], list[Record]],
        path: Path,
        absent: Mapping[tuple[str, ...], str] | None = None,
    ) -> None:
        """`path` is named where a run is missing; `absent` has what was not run, and why."""
        self.study = study
        self.backend = backend
        self._records = records
        self._path = path
        self._absent = absent or {}

    def run(self, requests: Iterable[Request]) -> list[Data]:
        """The data of each (set, variation), in order of first request.

        Raises:
            StudyError: a run that is needed was not made: the study has changed since.
        """
        merged: dict[tuple[str, str], Data] = {}
        for request in requests:
            parameter_set, variation, group = request.parameter_set, request.variation, request.group
            why = self._absent.get((parameter_set.name, variation.name, group.name))
            if why is not None:
                data = merged.setdefault((parameter_set.name, variation.name), Data(parameter_set, variation))
                data.absent[group.name] = why
                continue
            wanted = [(point, seed) for point, _ in group.points() for seed in range(1, group.seeds + 1)]
            found = self._records.get((parameter_set.name, variation.name, group.name), [])
            if [(r.point, r.seed) for r in found] != wanted:
                raise StudyError(
                    f"{self._path} lacks runs of group {group.name!r} ({parameter_set.name}, {variation.name}): "
                    "the study has changed since; run it again"
                )
            data = merged.setdefault((parameter_set.name, variation.name), Data(parameter_set, variation))
            data.records[group.name] = found
        return list(merged.values())

    def load(self, parameter_set: ParameterSet, overrides: Sequence[str] = ()) -> ScenarioLike:
        """The study's scenario under a parameter set, with further overrides on top."""
        return self.backend.load(self.study.scenario, [*parameter_set.overrides(), *overrides])
