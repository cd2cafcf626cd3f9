"""Points of a campaign sorted by the mean of a metric, with the ranks that are possible."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from lasthop.campaign._moments import moments
from lasthop.campaign.compare import DEFAULT_MIN_PAIRS
from lasthop.campaign.sequential import Rule
from lasthop.campaign.stopped import look_alpha
from lasthop.campaign.student import quantile_two_sided
from lasthop.campaign.tidy import Estimate, Labels, Tidy

#: With more points than this no ranks are computed: pairs grow with the square.
MOST_POINTS = 200


@dataclass(frozen=True)
class Ranked:
    """A point in a ranking.

    Attributes:
        labels: its labels, in the order of the axes.
        estimate: the mean with its interval.
        ranks: the smallest and largest rank that it may have, 1 for the highest mean; None: not
            computed.
    """

    labels: Labels
    estimate: Estimate
    ranks: tuple[int, int] | None


def ranking(data: Tidy, metric: str, level: float = 0.95, *, min_pairs: int = DEFAULT_MIN_PAIRS) -> list[Ranked]:
    """Sorts the points by their mean, the highest first; points without a value are last.

    The ranks of a point follow from the paired differences to all others: with k points surely
    higher and l surely lower, its rank is from k + 1 to m - l, of m points. "Surely" is the
    simultaneous interval of all m (m - 1) / 2 differences over common seeds (Student, Bonferroni;
    with a stopping rule as in `lasthop.campaign.stopped`), so that all ranks together hold with at
    least `level`.

    Args:
        data: the results.
        metric: name of the metric.
        level: level of each mean's interval, and of all ranks together, 0.5 to 0.9999.
        min_pairs: common seeds below which two points are not distinguished, at least 2.

    Raises:
        LasthopError: there is no such metric.
    """
    samples = {key: {s: v for s, v in runs.items() if v is not None} for key, runs in data.samples(metric).items()}
    estimates = data.estimates(metric, level)
    known = [key for key, runs in samples.items() if runs]
    ranks = (
        _ranks({k: samples[k] for k in known}, level, min_pairs, data.rule) if 2 <= len(known) <= MOST_POINTS else {}
    )
    order = sorted(samples, key=lambda k: -estimates[k].mean if math.isfinite(estimates[k].mean) else math.inf)
    return [Ranked(key, estimates[key], ranks.get(key)) for key in order]


def _ranks(
    samples: Mapping[Labels, Mapping[int, float]], level: float, min_pairs: int, rule: Rule | None
) -> dict[Labels, tuple[int, int]]:
    keys = list(samples)
    above, below = dict.fromkeys(keys, 0), dict.fromkeys(keys, 0)
    alpha = look_alpha((1 - level) / (len(keys) * (len(keys) - 1) / 2), rule)
    for a, b in combinations(keys, 2):
        sign = _sign([samples[a][s] - samples[b][s] for s in samples[a] if s in samples[b]], alpha, min_pairs)
        if sign:
            higher, lower = (a, b) if sign > 0 else (b, a)
            below[higher] += 1
            above[lower] += 1
    return {k: (above[k] + 1, len(keys) - below[k]) for k in keys}


def _sign(differences: Sequence[float], alpha: float, min_pairs: int) -> int:
    """1 or -1 where the interval of the mean difference excludes 0; else 0."""
    n = len(differences)
    if n < max(2, min_pairs):
        return 0
    mean, deviation = moments(differences)
    half = quantile_two_sided(alpha, n - 1) * deviation / math.sqrt(n)
    return 0 if abs(mean) <= half else int(math.copysign(1, mean))
