"""The results table of a campaign, point by point: labels, samples by seed, means with intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from lasthop._errors import mistake
from lasthop.campaign._moments import checked, moments
from lasthop.campaign.sequential import Rule
from lasthop.campaign.student import quantile_two_sided

Label: TypeAlias = "str | float | int | bool"
Labels: TypeAlias = "tuple[Label, ...]"

SEED = "seed"


@dataclass(frozen=True)
class Estimate:
    """The mean of a metric at a point, with its interval, in the metric's unit.

    Attributes:
        mean: mean over the seeds; NaN without a value.
        low: lower end of the interval; minus infinity below two values.
        high: upper end of the interval; infinity below two values.
        n: values that it is made of.
        missing: runs of the point without a value.
        reached: whether the rule of the campaign is satisfied; None: it has none for this metric.
    """

    mean: float
    low: float
    high: float
    n: int
    missing: int = 0
    reached: bool | None = None

    @property
    def half_width(self) -> float:
        """Half of the interval's width, in the metric's unit; infinity without an interval."""
        return (self.high - self.low) / 2 if math.isfinite(self.low) and math.isfinite(self.high) else math.inf

    @property
    def bounded(self) -> bool:
        """Whether there is an interval."""
        return math.isfinite(self.low) and math.isfinite(self.high)


def student_estimate(values: Sequence[float], level: float, what: str = "the metric") -> Estimate:
    """Mean and Student t interval of the values of independent seeds.

    Args:
        values: one value for each seed.
        level: level of the interval, 0.5 to 0.999999.
        what: the metric's name, for messages.

    Raises:
        LasthopError: a value is not a finite number.
    """
    found = checked(values, what)
    mean, deviation = moments(found)
    if len(found) < 2:
        return Estimate(mean, -math.inf, math.inf, len(found))
    half = quantile_two_sided(1 - level, len(found) - 1) * deviation / math.sqrt(len(found))
    return Estimate(mean, mean - half, mean + half, len(found))


@dataclass(frozen=True)
class Tidy:
    """A results table: columns of the axes' labels, `seed`, columns of the metrics with their `unit`.

    Attributes:
        table: the table.
        order: for some axes all labels in the order of the campaign; of the others the order is that of the rows.
        rule: the campaign's stopping rule, which gives the intervals of its metric at its own level.

    Raises:
        LasthopError: the table has no column `seed`.
    """

    table: pa.Table
    order: Mapping[str, Sequence[Label]] = field(default_factory=dict)
    rule: Rule | None = None

    def __post_init__(self) -> None:
        if SEED not in self.table.column_names:
            raise mistake("the table has no column 'seed': it is no results table of a campaign")

    @cached_property
    def axis_names(self) -> tuple[str, ...]:
        """Names of the axes, in the order of the campaign."""
        return tuple(self.table.column_names[: self.table.column_names.index(SEED)])

    @cached_property
    def units(self) -> dict[str, str]:
        """The metrics and their units, `1` for plain numbers."""
        first = self.table.column_names.index(SEED) + 1
        fields = [self.table.schema.field(i) for i in range(first, len(self.table.column_names))]
        numbers = [f for f in fields if pa.types.is_floating(f.type) or pa.types.is_integer(f.type)]
        return {f.name: (f.metadata or {}).get(b"unit", b"1").decode() or "1" for f in numbers}

    @cached_property
    def axis_units(self) -> dict[str, str]:
        """The units of the axes whose labels are numbers with one; empty for the others."""
        fields = [self.table.schema.field(name) for name in self.axis_names]
        return {f.name: (f.metadata or {}).get(b"unit", b"").decode() for f in fields}

    @cached_property
    def axes(self) -> dict[str, tuple[Label, ...]]:
        """The labels of each axis that have a run."""
        found: dict[str, tuple[Label, ...]] = {}
        for name in self.axis_names:
            there = pc.unique(plain(self.table[name])).to_pylist()
            given = [v for label in self.order.get(name, ()) for v in there if same_label(label, v)]
            known = list(dict.fromkeys(given))
            found[name] = (*known, *(label for label in there if label not in known))
        return found

    @cached_property
    def points(self) -> tuple[Labels, ...]:
        """The labels of each point, in the order of the table."""
        if not self.axis_names:
            return ((),) if len(self.table) else ()
        columns = [plain(self.table[name]).to_pylist() for name in self.axis_names]
        return tuple(dict.fromkeys(zip(*columns, strict=True)))

    def require_metric(self, name: str) -> str:
        """`name`, if it is a metric.

        Raises:
            LasthopError: it is none; the message has those that there are.
        """
        if name not in self.units:
            raise mistake(f"the campaign has no metric '{name}'", f"there are: {', '.join(self.units) or 'none'}")
        return name

    def require_axis(self, name: str) -> str:
        """`name`, if it is an axis.

        Raises:
            LasthopError: it is none; the message has those that there are.
        """
        if name not in self.axis_names:
            raise mistake(f"the campaign has no axis '{name}'", f"there are: {', '.join(self.axis_names) or 'none'}")
        return name

    def samples(self, metric: str) -> dict[Labels, dict[int, float | None]]:
        """For each point the values of a metric by seed; None where a run has no value.

        Raises:
            LasthopError: there is no such metric.
        """
        self.require_metric(metric)
        values = self.table[metric].to_pylist()
        seeds = self.table[SEED].to_pylist()
        columns = [plain(self.table[name]).to_pylist() for name in self.axis_names]
        keys = zip(*columns, strict=True) if columns else iter([()] * len(self.table))
        found: dict[Labels, dict[int, float | None]] = {}
        for key, seed, value in zip(keys, seeds, values, strict=True):
            absent = value is None or math.isnan(value)
            found.setdefault(key, {})[seed] = None if absent else float(value)
        return found

    def estimates(self, metric: str, level: float) -> dict[Labels, Estimate]:
        """For each point the mean of a metric with its interval.

        The interval is that of the stopping rule where the rule is about this metric at this level; else the Student
        t interval.

        Args:
            metric: name of the metric.
            level: level of each interval, 0.5 to 0.999999.

        Raises:
            LasthopError: there is no such metric, or a value is infinite.
        """
        return {key: self.estimate(metric, runs, level) for key, runs in self.samples(metric).items()}

    def estimate(self, metric: str, runs: Mapping[int, float | None], level: float) -> Estimate:
        """The mean of a metric over the runs of one point (seed: value), with its interval."""
        values = [v for _, v in sorted(runs.items()) if v is not None]
        missing = len(runs) - len(values)
        rule = self.rule if self.rule is not None and self.rule.metric == metric else None
        if rule is None or len(values) < rule.looks[0]:
            reached = None if rule is None else False
            return replace(student_estimate(values, level, metric), missing=missing, reached=reached)
        interval = rule.interval(values)
        if rule.level != level:
            return replace(student_estimate(values, level, metric), missing=missing, reached=interval.reached)
        return Estimate(interval.mean, interval.low, interval.high, interval.n, missing, interval.reached)

    def where(self, axis: str, labels: Sequence[Label]) -> Tidy:
        """The same table with the points that have one of these labels of an axis."""
        column = plain(self.table[self.require_axis(axis)])
        chosen = [v for v in self.axes[axis] if any(same_label(v, label) for label in labels)]
        mask = pc.is_in(column, value_set=pa.array(chosen, type=column.type))
        return Tidy(self.table.filter(mask), self.order, self.rule)


def tidy(source: Any) -> Tidy:
    """The results of a campaign as `Tidy`.

    Args:
        source: `CampaignResults`, or a plain results table.

    Raises:
        LasthopError: it is no results table.
    """
    if isinstance(source, Tidy):
        return source
    if isinstance(source, pa.Table):
        return Tidy(source)
    about: Mapping[str, Any] = source.about
    order = {a["name"]: tuple(a["labels"]) for a in about.get("axes", ()) if a.get("labels")}
    rule = about.get("until")
    return Tidy(source.table(), order, Rule.parse(rule) if isinstance(rule, str) and rule else None)


def same_label(a: Label, b: Label) -> bool:
    """Whether two labels are one. 1 and 1.0 are, 1 and true are not; a text is the same as what it shows.

    An axis with labels of several kinds is a column of texts, in which 1 is "1" and true is "true".
    """
    if isinstance(a, str) != isinstance(b, str):
        return _label_text(a) == _label_text(b)
    return a == b and isinstance(a, bool) == isinstance(b, bool)


def _label_text(label: Label) -> str:
    return str(label).lower() if isinstance(label, bool) else str(label)


def plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of labels without dictionary."""
    return pc.cast(column, column.type.value_type) if pa.types.is_dictionary(column.type) else column
