"""Variants of a campaign compared at equal other labels and equal seeds."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations

from lasthop._errors import mistake
from lasthop.campaign.compare import DEFAULT_MIN_PAIRS, Difference, compare
from lasthop.campaign.tidy import Label, Tidy

#: Each pair of labels, at all other labels and for all metrics, belongs to one family of intervals.
MOST_DIFFERENCES = 100_000


@dataclass(frozen=True)
class Contrast:
    """The paired difference of a metric between two labels of an axis.

    Attributes:
        metric: name of the metric.
        unit: its unit, that of the difference.
        at: the other axes and their labels.
        first: label of which the other's value is subtracted.
        second: the other label.
        difference: mean, interval, p-values and answer of `first - second`.
    """

    metric: str
    unit: str
    at: tuple[tuple[str, Label], ...]
    first: Label
    second: Label
    difference: Difference


def contrasts(
    data: Tidy,
    by: str,
    metrics: Sequence[str] | None = None,
    *,
    level: float = 0.95,
    min_pairs: int = DEFAULT_MIN_PAIRS,
) -> list[Contrast]:
    """Compares the labels of an axis, pair by pair, at each combination of the other labels.

    All intervals together cover at `level` (Bonferroni), and p-values are corrected over all
    differences (Holm): over pairs, combinations of other labels, and metrics. Runs without a value
    are left out, and a pair without two common seeds does not count: it has no interval. With a
    stopping rule intervals and p-values allow for it.

    Args:
        data: the results.
        by: the axis whose labels are compared.
        metrics: names of metrics; None: all.
        level: level at which all intervals together cover, 0.5 to 0.999999.
        min_pairs: common seeds below which a pair is "undecided", at least 2.

    Raises:
        LasthopError: there is no such axis or metric, the axis has one label, or an argument is out
            of range.
    """
    data.require_axis(by)
    chosen = [data.require_metric(m) for m in (list(data.units) if metrics is None else metrics)]
    if len(data.axes[by]) < 2:
        label = ", ".join(map(str, data.axes[by]))
        raise mistake(f"axis '{by}' has one label ({label}): there is nothing to compare", _axes_with_several(data))
    place = data.axis_names.index(by)
    samples: dict[str, dict[Hashable, float]] = {}
    pairs: list[tuple[str, str]] = []
    found: list[tuple[str, tuple[tuple[str, Label], ...], Label, Label]] = []
    for metric in chosen:
        groups: dict[tuple[Label, ...], dict[Label, str]] = {}
        for n, (labels, runs) in enumerate(data.samples(metric).items()):
            rest = (*labels[:place], *labels[place + 1 :])
            name = f"{metric} at point {n + 1}"
            groups.setdefault(rest, {})[labels[place]] = name
            samples[name] = {seed: value for seed, value in runs.items() if value is not None}
        others = [a for a in data.axis_names if a != by]
        for rest, variants in groups.items():
            at = tuple(zip(others, rest, strict=True))
            in_order = [label for label in data.axes[by] if label in variants]
            for first, second in combinations(in_order, 2):
                pairs.append((variants[first], variants[second]))
                found.append((metric, at, first, second))
    if len(pairs) > MOST_DIFFERENCES:
        raise mistake(f"{len(pairs):,} differences are more than {MOST_DIFFERENCES:,}", "choose one metric")
    made = compare(samples, level=level, pairs=pairs, min_pairs=min_pairs, rule=data.rule).differences
    return [
        Contrast(metric, data.units[metric], at, first, second, difference)
        for (metric, at, first, second), difference in zip(found, made, strict=True)
    ]


def _axes_with_several(data: Tidy) -> str:
    several = [a for a, labels in data.axes.items() if len(labels) > 1]
    return f"axes with several labels are: {', '.join(several) or 'none'}"
