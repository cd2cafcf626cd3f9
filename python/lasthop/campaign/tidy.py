"""The results table of a campaign, point by point: labels, samples, means with intervals."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from lasthop._errors import mistake
from lasthop.campaign import stopped
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
        why: why it is not satisfied; empty otherwise.
    """

    mean: float
    low: float
    high: float
    n: int
    missing: int = 0
    reached: bool | None = None
    why: str = ""

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


def stopped_estimate(values: Sequence[float], level: float, rule: Rule, what: str = "the metric") -> Estimate:
    """Mean and interval of the values of seeds whose number a stopping rule has chosen.

    Args:
        values: one value for each seed.
        level: level of the interval, 0.5 to 0.999999.
        rule: the rule, about this metric or another one of the same runs.
        what: the metric's name, for messages.

    Raises:
        LasthopError: a value is not a finite number.
    """
    found = checked(values, what)
    if len(found) < 2:
        return Estimate(moments(found)[0], -math.inf, math.inf, len(found))
    return Estimate(moments(found)[0], *stopped.interval(found, level, rule), len(found))


@dataclass(frozen=True)
class Tidy:
    """A results table: columns of the axes' labels, `seed`, columns of the metrics.

    Columns of metrics have their `unit`.

    Attributes:
        table: the table.
        order: for some axes, all labels in the order of the campaign. The labels of other axes have
            the order of the rows.
        rule: the campaign's stopping rule, which says how intervals are computed (`estimate`).
        ended: the reasons why the rule ended points early, by the labels of the points.

    Raises:
        LasthopError: the table has no column `seed`.
    """

    table: pa.Table
    order: Mapping[str, Sequence[Label]] = field(default_factory=dict)
    rule: Rule | None = None
    ended: Mapping[Labels, str] = field(default_factory=dict)

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

    @property
    def level(self) -> float:
        """Level of intervals, if nothing else is given: that of the rule, else 0.95."""
        return self.rule.level if self.rule is not None else 0.95

    @cached_property
    def runs(self) -> dict[Labels, int]:
        """Runs of each point, with or without values."""
        if not self.axis_names:
            return {(): len(self.table)} if len(self.table) else {}
        columns = [plain(self.table[name]).to_pylist() for name in self.axis_names]
        return dict(Counter(zip(*columns, strict=True)))

    @cached_property
    def unmoved(self) -> tuple[Labels, ...]:
        """The points at which seeds change nothing.

        They have values of two seeds or more, and each metric has the same value at all of them.
        """
        several: set[Labels] = set()
        differ: set[Labels] = set()
        for metric in self.units:
            for point, runs in self.samples(metric).items():
                values = [v for v in runs.values() if v is not None]
                if len(values) >= 2:
                    (several if min(values) == max(values) else differ).add(point)
        return tuple(point for point in self.points if point in several - differ)

    def require_metric(self, name: str) -> str:
        """`name`, if it is a metric.

        Raises:
            LasthopError: there is no such name; the message lists the existing ones.
        """
        if name not in self.units:
            raise mistake(f"the campaign has no metric '{name}'", f"there are: {', '.join(self.units) or 'none'}")
        return name

    def require_axis(self, name: str) -> str:
        """`name`, if it is an axis.

        Raises:
            LasthopError: there is no such name; the message lists the existing ones.
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

    def least(self, metric: str) -> float:
        """Lower limit of a metric's drawn intervals: 0 if no run is below 0, else minus infinity.

        A goodput is never negative, but the Student t interval of few seeds may reach below 0.
        Tables have the interval as it was computed.

        Raises:
            LasthopError: there is no such metric.
        """
        values = [v for runs in self.samples(metric).values() for v in runs.values() if v is not None]
        return 0.0 if all(v >= 0 for v in values) else -math.inf

    def estimates(self, metric: str, level: float) -> dict[Labels, Estimate]:
        """For each point the mean of a metric with its interval, as `estimate` gives it.

        Args:
            metric: name of the metric.
            level: level of each interval, 0.5 to 0.999999.

        Raises:
            LasthopError: there is no such metric, or a value is infinite.
        """
        return {
            key: self.estimate(metric, runs, level, self.ended.get(key, ""))
            for key, runs in self.samples(metric).items()
        }

    def estimate(self, metric: str, runs: Mapping[int, float | None], level: float, ended: str = "") -> Estimate:
        """The mean of a metric over the runs of one point, with its interval.

        Without a stopping rule it is the Student t interval. A rule chooses the number of seeds by
        the values of its metric. At the rule's level, the rule's metric has the rule's own
        interval. At other levels, and for other metrics, the interval is that of
        `lasthop.campaign.stopped`, which takes this choice into account.

        Args:
            metric: name of the metric.
            runs: its value by seed; None where a run has none.
            level: level of the interval, 0.5 to 0.999999.
            ended: why the rule left the point before it was satisfied, if that is known.

        Raises:
            LasthopError: a value is infinite.
        """
        values = [v for _, v in sorted(runs.items()) if v is not None]
        missing = len(runs) - len(values)
        rule = self.rule
        if rule is None:
            return replace(student_estimate(values, level, metric), missing=missing)
        if rule.metric != metric:
            return replace(stopped_estimate(values, level, rule, metric), missing=missing)
        found = rule.interval(values)
        why = "" if found.reached else ended or _why_open(len(values), len(runs), rule)
        if rule.level == level:
            own = Estimate(found.mean, found.low, found.high, found.n)
        else:
            own = stopped_estimate(values[: found.n], level, rule, metric)
        return replace(own, missing=missing, reached=found.reached, why=why)

    def where(self, axis: str, labels: Sequence[Label]) -> Tidy:
        """The same table with the points that have one of these labels of an axis."""
        column = plain(self.table[self.require_axis(axis)])
        chosen = [v for v in self.axes[axis] if any(same_label(v, label) for label in labels)]
        mask = pc.is_in(column, value_set=pa.array(chosen, type=column.type))
        return replace(self, table=self.table.filter(mask))


def unmoved_text(data: Tidy) -> str:
    """A sentence on the points at which seeds change nothing; empty: there are none."""
    count = len(data.unmoved)
    if not count:
        return ""
    ends = "; the stopping rule ends there, as more seeds are of no use" if data.rule is not None else ""
    return (
        f"seeds change nothing at {count:,} {'point' if count == 1 else 'points'}: all runs there are equal{ends}; "
        "scenario.jitter makes runs differ"
    )


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
    data = Tidy(source.table(), order, Rule.parse(rule) if isinstance(rule, str) and rule else None)
    return replace(data, ended=_ended(data, about)) if data.rule is not None else data


def _ended(data: Tidy, about: Mapping[str, Any]) -> dict[Labels, str]:
    """For points that the rule left early why it did, by their labels in the table."""
    texts = [pa.types.is_string(plain(data.table[a]).type) for a in data.axis_names]
    points: Sequence[Sequence[Label]] = about.get("points") or ()
    found: dict[Labels, str] = {}
    for look in about.get("looks") or ():
        if (why := look.get("why")) and look["point"] < len(points):
            labels = zip(points[look["point"]], texts, strict=True)
            found[tuple(_label_text(v) if as_text else v for v, as_text in labels)] = str(why)
    return found


def _why_open(values: int, runs: int, rule: Rule) -> str:
    """Why the rule is not satisfied, as far as the runs show it."""
    if not values:
        return f"no run has a value of {rule.metric}"
    if runs < rule.max:
        return "runs are missing"
    if values < rule.looks[0]:
        return f"too few of the rule's at most {rule.max:,} runs have a value"
    return f"the interval is too wide after the rule's most runs, {rule.max:,}"


def same_label(a: Label, b: Label) -> bool:
    """Whether two labels are the same: 1 and 1.0 are, 1 and true are not.

    A text is the same as the number or boolean that it shows.

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
