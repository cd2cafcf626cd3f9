"""The results of a study: verdicts with the data on which they are based, figures, tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lasthop.harness.errors import NoRunsError

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure as MplFigure

    from lasthop.harness.data import Data, ScenarioLike
    from lasthop.harness.definition import Claim, ParameterSet, Study, Value, Variation
    from lasthop.harness.judge import Finding


@dataclass(frozen=True)
class Figure:
    """A figure with the numbers behind it: `data` maps a file name to columns of equal length."""

    name: str
    title: str
    caption: str
    figure: MplFigure
    data: Mapping[str, Mapping[str, Sequence[Any]]]


@dataclass(frozen=True)
class TableView:
    """A table of the report, also written as CSV.

    `document` (plain values) as JSON of the same name, for programs.
    """

    name: str
    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    note: str = ""
    document: Any = None


@dataclass(frozen=True)
class SensitivityCell:
    """A claim judged again with one calibrated value changed."""

    value: Value
    factor: float
    finding: Finding


@dataclass
class ClaimResult:
    """A claim with one parameter set: our value beside the paper's, and its further runs."""

    claim: Claim
    finding: Finding
    readings: dict[str, Finding] = field(default_factory=dict)
    off: Finding | None = None
    ablations: list[tuple[Variation, Finding]] = field(default_factory=list)
    sensitivity: list[SensitivityCell] = field(default_factory=list)

    @property
    def unturned(self) -> list[str] | None:
        """For a claim that differs: the failed comparisons, or the claim, that no ablation changes.

        None: every comparison that failed holds in one of the ablations, or the claim agrees in one
        of them.
        """
        if self.finding.verdict != "differs" or any(f.verdict == "agrees" for _, f in self.ablations):
            return None
        turned = {name for _, f in self.ablations for name in self.finding.turned_by(f)}
        if self.finding.failed:
            return [name for name in self.finding.failed if name not in turned] or None
        return [self.claim.id]

    def brief(self) -> dict[str, Any]:
        """The claim as `lasthop study run --json` prints it."""
        return _clean(
            {
                "id": self.claim.id,
                "kind": self.claim.kind,
                "paper": self.claim.paper,
                "ours": self.finding.ours,
                "ci95": self.finding.ci95,
                "verdict": self.finding.verdict,
                "note": self.finding.note,
                "readings": {name: {"verdict": f.verdict} for name, f in self.readings.items()},
            }
        )

    def full(self) -> dict[str, Any]:
        """The claim as claims.json holds it."""
        claim = self.claim
        extra: dict[str, Any] = {
            "figure": claim.figure,
            "groups": list(claim.groups),
            "says": claim.says,
            "test": claim.test,
            "text": self.finding.text,
            "n": self.finding.n,
            "evidence": list(self.finding.evidence),
            "readings": {name: _finding(f) for name, f in self.readings.items()},
        }
        if claim.switch is not None:
            extra["switched_off"] = {"switch": claim.switch.name, **(_finding(self.off) if self.off else {})}
        if self.ablations:
            extra["ablations"] = [
                {"ablation": v.name, "about": v.about, "turns": self.finding.turned_by(f), **_finding(f)}
                for v, f in self.ablations
            ]
        if self.sensitivity:
            extra["sensitivity"] = [
                {"value": c.value.name, "at": c.value.text(c.factor), "factor": c.factor, **_finding(c.finding)}
                for c in self.sensitivity
            ]
        return {**self.brief(), **_clean(extra)}


@dataclass(frozen=True)
class Evidence:
    """All data of a study, as its figures and tables get it."""

    study: Study
    data: Mapping[tuple[str, str], Data]
    scenarios: Mapping[str, ScenarioLike]
    claims: Mapping[str, Sequence[ClaimResult]] = field(default_factory=dict)

    @property
    def parameter_sets(self) -> list[str]:
        """The parameter sets that were run."""
        return list(self.scenarios)

    @property
    def main_set(self) -> str:
        """The primary set, or the first one when only others were run."""
        return self.study.primary if self.study.primary in self.scenarios else self.parameter_sets[0]

    def of(self, parameter_set: str, variation: str = "base") -> Data:
        """The data of one parameter set in one variation."""
        found = self.data.get((parameter_set, variation))
        if found is None:
            raise NoRunsError(f"variation {variation!r} was not run under {parameter_set!r}")
        return found


@dataclass(frozen=True)
class StudyResult:
    """The outcome of `run_study`."""

    study: str
    quick: bool
    parameter_set: str
    claims: Mapping[str, Sequence[ClaimResult]]
    folder: Path
    #: Runs made by this call, and runs that an earlier call had made.
    runs: int
    taken: int
    seconds: float
    #: What was not run, in words, with the reason.
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def report(self) -> Path:
        """The HTML report."""
        return self.folder / "report.html"

    def count(self, verdict: str, parameter_set: str | None = None) -> int:
        """How many claims have that verdict."""
        results = self.claims[parameter_set or self.parameter_set]
        return sum(r.finding.verdict == verdict for r in results)

    def to_json_dict(self) -> dict[str, Any]:
        """One object: the primary set's claims, then those of every set that was run."""
        brief = {name: [r.brief() for r in results] for name, results in self.claims.items()}
        return {
            "study": self.study,
            "parameter_set": self.parameter_set,
            "claims": brief[self.parameter_set],
            "parameter_sets": brief,
            "quick": self.quick,
            "runs": self.runs,
            "taken": self.taken,
            "left_out": dict(self.left_out),
            "folder": str(self.folder),
            "seconds": round(self.seconds, 3),
        }


def parameter_set_json(parameter_set: ParameterSet) -> dict[str, Any]:
    """A parameter set with the provenance of each value."""
    return {
        "about": parameter_set.about,
        "values": [
            {"name": v.name, "keys": dict(v.keys), "tag": v.tag, "source": v.source, "calibrated": v.calibrated}
            for v in parameter_set.values
        ],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "ours": finding.ours,
        "ci95": finding.ci95,
        "text": finding.text,
        "verdict": finding.verdict,
        "note": finding.note,
    }


def _clean(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _clean_value(value) for key, value in values.items()}


def _clean_value(value: Any) -> Any:
    """JSON has no NaN; numbers keep nine digits, so that a last bit never shows."""
    if isinstance(value, Mapping):
        return _clean(value)
    if isinstance(value, (list, tuple)):
        return [_clean_value(v) for v in value]
    if isinstance(value, float):
        return float(f"{value:.9g}") if math.isfinite(value) else None
    return value
