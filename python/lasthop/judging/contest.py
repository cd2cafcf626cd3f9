"""Comparative rows: the candidate beside reference controls, paired by seed.

A row is flagged if the candidate is worse than Reno and worse than CUBIC; for a rate control, if it
is worse than as many flows of TCP. The difference must be significant, larger than the least
relevant difference `LEAST`, and so again in runs with further seeds (`confirmed`). The null
hypothesis of a metric on a path is that it is not worse than one of the two, so its p-value is the
larger of two one-sided ones (intersection-union test: R. L. Berger, Technometrics 24, 1982). Those
of a row, over its paths and metrics, are corrected after S. Holm.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lasthop.campaign._moments import moments
from lasthop.campaign.compare import holm
from lasthop.campaign.student import quantile_two_sided, two_sided_p
from lasthop.judging._scenario import ALONE
from lasthop.judging._words import number
from lasthop.judging.case import Case, CaseMetric

#: A row is wrongly flagged with this probability at most, before further seeds confirm it.
_ALPHA = 0.05
#: Further seeds wrongly confirm a row's flag with this probability at most. Of Reno and CUBIC
#: beside themselves, with other seeds than the references', 4 of 880 rows were flagged in the
#: quick form. With 1 % of these, one in some 20,000 rows is left.
_CONFIRM = 0.01
#: Further seeds are as many as the first ones, and this many at least: the interval of three is
#: so wide that 1 % asks for differences of four standard deviations.
LEAST_FURTHER = 5
#: The least relevant difference of the means, chosen here: RFC 9743 states none. It is a share of
#: the larger mean, and of harm, which is a share itself, a difference. The test is of any
#: difference: a difference of 5 % is no null hypothesis. Two implementations of Reno, as a
#: class and the built-in one, differ by 2 % in waiting time where CoDel drops, and a simulated flow
#: agrees with one of Linux within 3 % of goodput and 5 % of mean RTT: smaller differences are no
#: property of the algorithm.
LEAST = 0.05
RULE = (
    f"a flag needs means that differ by more than {100 * LEAST:.0f} % of the larger one, of harm by more than {LEAST}"
    " (a bound on the means, not a test), and the same again in runs with further seeds"
)

Samples = Mapping[str, Mapping[int, Mapping[str, "float | None"]]]
"""Values of a path: by control, replication and metric."""


def compared(samples: Samples, case: Case) -> Samples:
    """The values of a path with the harm to other flows, paired by replication.

    Harm is (x - y) / x where more is better and (y - x) / y where less is better, with x without
    the judged flow and y with it (R. Ware and others, Beyond Jain's Fairness Index, HotNets 2019);
    below 0 the other flows gain.
    """
    alone = samples.get(ALONE, {})
    better = {metric.name: metric.better for metric in case.metrics}
    harms = [metric for metric in case.metrics if metric.harm]

    def harm(of: str, replication: int, y: float | None) -> float | None:
        x = alone.get(replication, {}).get(of)
        if x is None or y is None:
            return None
        whole, less = (x, x - y) if better[of] == "larger" else (y, y - x)
        return less / whole if whole else 0.0 if not less else None

    return {
        control: {
            k: {**run, **({} if control == ALONE else {h.name: harm(h.harm, k, run.get(h.harm)) for h in harms})}
            for k, run in runs.items()
        }
        for control, runs in samples.items()
    }


def summary(samples: Samples, case: Case, path: str) -> dict[str, dict[str, Any]]:
    """Mean and 95 % interval (Student) of each metric of a path, for each control.

    The entry `alone` has those of runs without the judged flow.
    """
    found: dict[str, dict[str, Any]] = {}
    for control, runs in samples.items():
        of = found[control or "alone"] = {}
        for metric in case.metrics:
            if not metric.on(path):
                continue
            values = [v for run in runs.values() if (v := run.get(metric.name)) is not None]
            of[metric.name] = _moments_of(values)
    return found


def values_of(case: Case, samples: Samples, further: Samples) -> list[tuple[Any, ...]]:
    """The values of a path's runs, one row for each.

    A row has control, replication (from 1 on), seed, whether it is a further seed, metric, and the
    value, None where it is not known.
    """
    return [
        (control or "alone", k + 1, case.seed(k), is_further, name, value)
        for is_further, of in ((False, samples), (True, further))
        for control, runs in of.items()
        for k, run in sorted(runs.items())
        for name, value in sorted(run.items())
    ]


def _moments_of(values: Sequence[float]) -> dict[str, Any]:
    n = len(values)
    if not n:
        return {"mean": None, "ci95": None, "n": 0}
    mean, deviation = moments(list(values))
    if n < 2:
        return {"mean": _short(mean), "ci95": None, "n": n}
    half = quantile_two_sided(0.05, n - 1) * deviation / math.sqrt(n)
    return {"mean": _short(mean), "ci95": [_short(mean - half), _short(mean + half)], "n": n}


def _short(value: float) -> float:
    return float(f"{value:.9g}")


Limits = Mapping[str, Mapping[str, Mapping[str, "float | None"]]]
"""Bounds that documents state: by path, metric, and `most` or `least`."""


def flags(
    points: Sequence[tuple[str, Samples]], candidate: str, case: Case, limits: Limits | None = None
) -> list[dict[str, Any]]:
    """The flags: a document's bound is broken, or the candidate is worse than both baselines.

    For the bound of a document there is no least difference. Neither it nor a difference without
    noise needs a confirmation.

    Args:
        points: the samples of each path.
        candidate: the judged control.
        case: the case, with its metrics.
        limits: what documents allow.

    Returns:
        For each flag: path, metric and reason; for comparisons also the corrected p-value `p`, the
        `values` by control, and whether all replications of the path are equal (`exact`).
    """
    contested = [
        (path, samples, metric)
        for path, samples in points
        for metric in case.metrics
        if metric.contested and metric.on(path)
    ]
    return [*_broken(points, candidate, case, limits or {}), *_worse(contested, candidate, case, _ALPHA)]


def confirmed(
    found: Sequence[Mapping[str, Any]], points: Sequence[tuple[str, Samples]], candidate: str, case: Case
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Which flags hold again in runs with further seeds.

    A judgement has many rows, so in some of them a test at 5 % is significant by chance alone. The
    further runs are independent of the runs that have caused the flag. Only flagged comparisons are
    tested in them, at 1 %, so the error probabilities of both tests multiply.

    Args:
        found: the flags of the first runs (`flags`).
        points: the samples of the further runs, of each path with a flag that needs them
            (`doubted`).
        candidate: the judged control.
        case: the case, with its metrics.

    Returns:
        The flags that are confirmed, and those that are not. Each that was tested again has its
        corrected p-value in the further runs (`again`), and the values of these runs (`further`, as
        `values`).
    """
    samples = dict(points)
    named = {metric.name: metric for metric in case.metrics}
    open_ones = [f for f in found if doubted(f)]
    contested = [(f["path"], samples[f["path"]], named[f["metric"]]) for f in open_ones]
    again = dict(zip([(f["path"], f["metric"]) for f in open_ones], _tested(contested, candidate, case), strict=True))
    stay: list[dict[str, Any]] = []
    fall: list[dict[str, Any]] = []
    for flag in found:
        if not doubted(flag):
            stay.append(dict(flag))
            continue
        p, relevant = again[flag["path"], flag["metric"]]
        values = _values(samples[flag["path"]], candidate, case, flag["metric"])
        held = p <= _CONFIRM and relevant
        (stay if held else fall).append({**flag, "again": _short(p), "further": values})
    return stay, fall


def doubted(flag: Mapping[str, Any]) -> bool:
    """Whether further seeds must confirm a flag: not for a document's bound or without noise."""
    return "bound" not in flag and not flag["exact"]


def _worse(
    contested: Sequence[tuple[str, Samples, CaseMetric]], candidate: str, case: Case, alpha: float
) -> list[dict[str, Any]]:
    """Of some metrics on their paths those in which the candidate is worse than both baselines."""
    found = []
    tests = _tested(contested, candidate, case)
    for (path, samples, metric), (p, relevant) in zip(contested, tests, strict=True):
        if p <= alpha and relevant:
            means = summary(samples, case, path)
            words = ", ".join(f"{c} {number(means[c][metric.name]['mean'])}" for c in (candidate, *case.baselines))
            found.append(
                {
                    "path": path,
                    "metric": metric.name,
                    "p": _short(p),
                    "exact": _without_noise(samples, candidate, case),
                    "values": _values(samples, candidate, case, metric.name),
                    "why": f"{metric.name} on {path}: {words}{_unit(metric)}",
                }
            )
    return found


def _tested(
    contested: Sequence[tuple[str, Samples, CaseMetric]], candidate: str, case: Case
) -> list[tuple[float, bool]]:
    """Of each the corrected p-value, and whether the difference of the means is relevant."""
    ps = [max(_worse_p(samples, candidate, b, metric) for b in case.baselines) for _, samples, metric in contested]
    gaps = [min(_gap(samples, candidate, b, metric) for b in case.baselines) for _, samples, metric in contested]
    return [(p, gap > LEAST) for p, gap in zip(holm(ps), gaps, strict=True)]


def _values(samples: Samples, candidate: str, case: Case, metric: str) -> dict[str, list[float | None]]:
    """The values of a metric by control, in the order of the replications."""
    found = {}
    for control in (candidate, *case.baselines):
        runs = samples.get(control, {})
        values = [runs[k].get(metric) for k in sorted(runs)]
        found[control] = [None if v is None else _short(v) for v in values]
    return found


def _without_noise(samples: Samples, candidate: str, case: Case) -> bool:
    """Whether all replications of a path are equal, in every metric.

    Equal values of one metric may be its end, such as a share of 1.
    """
    every = [[*samples.get(control, {}).values()] for control in (candidate, *case.baselines)]
    return all(run == runs[0] for runs in every for run in runs)


Whys = Mapping[str, Mapping[str, str]]
"""Why a metric or its bound has no value in a run: by path and metric."""


def unknown(
    points: Sequence[tuple[str, Samples]],
    candidate: str,
    case: Case,
    limits: Limits | None = None,
    whys: Whys | None = None,
) -> list[dict[str, str]]:
    """Where a row has no result: the candidate cannot be compared, or a bound cannot be tested.

    There are three cases. The candidate's value is not known and those of the baselines are: a file
    that never arrives has no completion time, which must not count as a better one. Or no value is
    known. Or the value for a bound is not known.

    Args:
        points: the samples of each path.
        candidate: the judged control.
        case: the case, with its metrics.
        limits: what documents allow.
        whys: the reasons.
    """
    found = []
    for path, samples in points:
        runs = len(samples.get(candidate, {}))
        metrics = [metric for metric in case.metrics if metric.on(path)] if runs else []
        nothing = not any(_known(samples, candidate, metric) for metric in metrics)
        for metric in metrics:
            of = f"{metric.name} on {path}"
            counts = {c: _known(samples, c, metric) for c in (candidate, *case.baselines)}
            mine, least = counts[candidate], min(counts[c] for c in case.baselines)
            side = next((k for k, v in (limits or {}).get(path, {}).get(metric.name, {}).items() if v is None), None)
            what = None
            if metric.contested and mine < min(2, least):
                what = f"{of} is known in {mine} runs, of each baseline in {least}"
            elif not any(counts.values()) and (metric.contested or metric.bounded or nothing):
                what = f"{of} is not known in any run"
            elif metric.bounded and mine < runs:
                what = f"{of} is known in {mine} of {runs} runs, so its bound is not tested"
            elif side is not None:
                what = f"the bound `{side}` of {of} is not known, so it is not tested"
            if what is not None:
                why = (whys or {}).get(path, {}).get(metric.name, "")
                found.append({"path": path, "metric": metric.name, "why": f"{what}: {why}" if why else what})
    return found


def _known(samples: Samples, control: str, metric: CaseMetric) -> int:
    """In how many runs of a control the value of a metric is known."""
    return sum(run.get(metric.name) is not None for run in samples.get(control, {}).values())


def _broken(
    points: Sequence[tuple[str, Samples]], candidate: str, case: Case, limits: Limits
) -> Iterator[dict[str, Any]]:
    """Means beyond a document's bound."""
    for path, samples in points:
        for metric in case.metrics:
            values = [v for run in samples.get(candidate, {}).values() if (v := run.get(metric.name)) is not None]
            if not values:
                continue
            mean = sum(values) / len(values)
            for side, bound in limits.get(path, {}).get(metric.name, {}).items():
                if bound is not None and (mean > bound if side == "most" else mean < bound):
                    word = "above" if side == "most" else "below"
                    value = f"{number(mean)}{_unit(metric)}"
                    why = f"{metric.name} on {path}: {value} is {word} {number(bound)} ({metric.by})"
                    yield {"path": path, "metric": metric.name, "bound": _short(bound), "why": why}


def _unit(metric: CaseMetric) -> str:
    """The unit of a metric behind its values: `ms`, or a sentence in parentheses."""
    return "" if not metric.unit else f" ({metric.unit})" if " " in metric.unit else f" {metric.unit}"


def comparisons(paths: Sequence[str], case: Case) -> int:
    """The number of statistical tests of a row."""
    return sum(metric.contested and metric.on(path) for path in paths for metric in case.metrics)


def _differences(samples: Samples, candidate: str, baseline: str, metric: CaseMetric) -> list[float]:
    """By how much the candidate is worse, by replication."""
    sign = 1.0 if metric.better == "smaller" else -1.0
    ours, theirs = samples.get(candidate, {}), samples.get(baseline, {})
    found = []
    for replication in sorted(ours.keys() & theirs.keys()):
        a, b = ours[replication].get(metric.name), theirs[replication].get(metric.name)
        if a is not None and b is not None:
            found.append(sign * (a - b))
    return found


def _worse_p(samples: Samples, candidate: str, baseline: str, metric: CaseMetric) -> float:
    """One-sided p-value of "not worse than the baseline"."""
    differences = _differences(samples, candidate, baseline, metric)
    if len(differences) < 2:
        return 1.0
    mean, deviation = moments(differences)
    if mean <= 0:
        return 1.0
    if deviation == 0 or min(differences) == max(differences):
        return 0.0
    return two_sided_p(mean / deviation * math.sqrt(len(differences)), len(differences) - 1) / 2


def _gap(samples: Samples, candidate: str, baseline: str, metric: CaseMetric) -> float:
    """By what share of the larger mean the candidate is worse in the mean; harm: difference."""
    differences = _differences(samples, candidate, baseline, metric)
    if metric.harm:
        return sum(differences) / max(len(differences), 1)
    ours = [abs(v) for run in samples[candidate].values() if (v := run.get(metric.name)) is not None]
    theirs = [abs(v) for run in samples[baseline].values() if (v := run.get(metric.name)) is not None]
    scale = max(sum(ours) / max(len(ours), 1), sum(theirs) / max(len(theirs), 1))
    mean = sum(differences) / max(len(differences), 1)
    return mean / scale if scale > 0 else 0.0
