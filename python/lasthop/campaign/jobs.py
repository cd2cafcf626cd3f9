"""The plan of a campaign as data: combinations of the axes, runs, and what is kept of a run."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np

from lasthop.campaign import metrics
from lasthop.campaign.metrics import Metric, Outcome, evaluate_all

if TYPE_CHECKING:
    from lasthop._results import Results
    from lasthop._scenario import Scenario
    from lasthop.campaign.sequential import Rule

Label: TypeAlias = "str | float | int | bool"
"""What a value of an axis is called in the results."""


@dataclass(frozen=True)
class Point:
    """One combination of the axes."""

    #: From 0, in the order of the results.
    index: int
    #: Axis name and label, in the order of the axes.
    labels: tuple[tuple[str, Label], ...]
    #: `key=value`, as `--set` takes them.
    overrides: tuple[str, ...]


@dataclass(frozen=True)
class Job:
    """One run: a point with a seed. Each point has the same seeds (common random numbers)."""

    point: Point
    seed: int


class Measure(Protocol):
    """What is kept of a run as a number."""

    @property
    def name(self) -> str:
        """Its column in the results."""

    @property
    def unit(self) -> str:
        """The unit of its values; `1` for counts, shares and other plain numbers."""

    @property
    def text(self) -> str:
        """Its definition as the campaign writes it: an expression, or file and function."""

    @property
    def tables(self) -> frozenset[str]:
        """The tables of the run that it reads."""

    @property
    def identity(self) -> str:
        """A digest of all that its values depend on.

        It is equal for two measures that have the same value in each run.
        """

    @property
    def needs_processes(self) -> bool:
        """Whether it holds the interpreter's lock for long, so that other threads wait."""

    def outcome(self, run: Results) -> Outcome:
        """Its value in a run [`unit`], or the reason why there is none."""


@dataclass(frozen=True)
class Expression:
    """A metric of the grammar as a measure."""

    metric: Metric

    #: Evaluation is done by numpy and Arrow.
    needs_processes = False

    @property
    def name(self) -> str:
        """The name of the metric."""
        return self.metric.name

    @property
    def unit(self) -> str:
        """The unit of the metric."""
        return self.metric.unit

    @property
    def text(self) -> str:
        """The text of the metric."""
        return self.metric.text

    @property
    def tables(self) -> frozenset[str]:
        """The tables that the metric reads."""
        return self.metric.tables

    @cached_property
    def identity(self) -> str:
        """Digest of the canonical text, and of the code and the numpy that evaluate it."""
        return _digest(["expression", str(self.metric), _evaluation()])

    def outcome(self, run: Results) -> Outcome:
        """The metric's value, or the reason why there is none."""
        return self.metric.outcome(run)


class Axis(Protocol):
    """The description of an axis in the results."""

    @property
    def name(self) -> str:
        """Its column in the results."""

    @property
    def keys(self) -> Sequence[str]:
        """The scenario's keys that it sets."""

    @property
    def unit(self) -> str | None:
        """The unit of its labels if they are numbers with one."""


class Plan(Protocol):
    """The plan of a campaign: what its runs are and what is kept of them.

    It pickles together with the code that it names, so worker processes can use it.
    """

    @property
    def name(self) -> str:
        """What the campaign is called."""

    @property
    def description(self) -> str:
        """The description of the campaign."""

    @property
    def digest(self) -> str:
        """Digest of the campaign's content, as hex."""

    @property
    def subject(self) -> str:
        """As `digest`, but equal for two campaigns that differ only in seeds or rule."""

    @property
    def ground(self) -> str:
        """Digest of the base scenario with `[set]`, without the code of own policies, as hex."""

    @property
    def axes(self) -> Sequence[Axis]:
        """The axes, in the order of the columns."""

    @property
    def points(self) -> Sequence[Point]:
        """All combinations, by index."""

    @property
    def seeds(self) -> Sequence[int]:
        """The seeds of each point; with `until` a point takes as many of `seed_at` as it needs."""

    def seed_at(self, index: int) -> int:
        """The seed of replication `index`, from 0 on; also beyond `seeds`, without repetition."""

    @property
    def until(self) -> Rule | None:
        """The rule that says how many replications a point needs."""

    @property
    def measures(self) -> Sequence[Measure]:
        """What is kept of each run as numbers."""

    @property
    def keep(self) -> Sequence[str]:
        """The tables that are kept of each run."""

    @property
    def held_by_gil(self) -> bool:
        """Whether runs call Python code, so that threads would wait for one another."""

    @property
    def code(self) -> str:
        """Digest of the user's own policies in Python and of all that they import, or empty."""

    def code_of(self, scenario: Scenario) -> str:
        """As `code`, of only those policies that a scenario uses."""

    def scenario(self, job: Job) -> Scenario:
        """The scenario of a run: base, overrides, seed, own policies."""

    def to_toml(self) -> str:
        """The campaign as TOML, with every default."""

    def bundle(self, folder: Path) -> tuple[str, bool]:
        """As `to_toml`, for a file in `folder` from which the campaign can be run.

        The folder gets copies of the files that the campaign names.

        Returns:
            The text, and whether it can be run.
        """


def outcomes(measures: Sequence[Measure], run: Results) -> dict[str, Outcome]:
    """The outcomes of several measures by name, in the order of the measures.

    Raises:
        LasthopError: a table of the run cannot be read.
        Exception: an exception that a function of the user raises.
    """
    found = evaluate_all([m.metric for m in measures if isinstance(m, Expression)], run)
    return {m.name: found[m.name] if isinstance(m, Expression) else m.outcome(run) for m in measures}


@lru_cache(maxsize=1)
def _evaluation() -> str:
    """What the value of an expression depends on beside its text: the code of the grammar."""
    folder = Path(metrics.__file__).parent
    parts = [np.__version__]
    for path in sorted(folder.glob("*.py")):
        parts += [path.name, hashlib.sha256(path.read_bytes()).hexdigest()]
    return _digest(parts)


def _digest(parts: Iterable[str]) -> str:
    hasher = hashlib.blake2b(digest_size=16)
    for part in parts:
        hasher.update(part.encode() + b"\0")
    return hasher.hexdigest()
