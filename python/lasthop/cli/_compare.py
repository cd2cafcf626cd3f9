"""`lasthop compare`: variants of a campaign against each other."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lasthop.cli import _output
from lasthop.cli._results import as_level, loaded, tell_unmoved

if TYPE_CHECKING:
    from lasthop.campaign.compare import Difference
    from lasthop.campaign.contrast import Contrast
    from lasthop.campaign.results import CampaignResults
    from lasthop.campaign.tidy import Tidy


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--by", "by", required=True, metavar="AXIS", help="The axis, or its key, whose labels are compared.")
@click.option("--metric", "metrics", multiple=True, metavar="NAME", help="Only this metric. May be repeated.")
@click.option(
    "--level",
    callback=as_level,
    metavar="LEVEL",
    help="Level of all intervals together. [that of the stopping rule, else 95%]",
)
@click.option(
    "--min-seeds", type=click.IntRange(2), default=5, show_default=True, help="With fewer common seeds: undecided."
)
@_output.json_option
def compare(
    folder: Path, by: str, metrics: tuple[str, ...], level: float | None, min_seeds: int, as_json: bool
) -> None:
    """Compare the labels of an axis, seed by seed.

    The labels of all other axes are equal in a comparison. DIR is the folder that 'lasthop sweep'
    has left. Each row is the mean difference of a metric between two labels, over the seeds that
    both have. All intervals together cover at the level; p-values are corrected by Holm's method
    over all rows. The answer is 'higher' or 'lower' if the interval excludes zero, else
    'undecided', with the number of seeds at which it might be decided. 'saved' is how many times
    more seeds independent runs would have needed, with an interval of its own. Where a stopping
    rule chose the number of seeds, intervals and p-values allow for it.

    \b
    Examples:
      lasthop compare results/bufferbloat --by cc
      lasthop compare results/bufferbloat --by aqm --metric delay --level 99%
    """
    from lasthop.campaign.contrast import contrasts
    from lasthop.campaign.tidy import tidy

    found = loaded(folder)
    data = tidy(found)
    axis = _axis(found, data, by)
    level = data.level if level is None else level
    made = contrasts(data, axis, metrics or None, level=level, min_pairs=min_seeds)
    if as_json:
        _output.json_object(
            {
                "campaign": found.about.get("name"),
                "by": axis,
                "level": level,
                "family": _family(made),
                "differences": [_json(c) for c in made],
            }
        )
    else:
        _show(data, axis, made, level)


def _axis(found: CampaignResults, data: Tidy, by: str) -> str:
    """The axis of this name, or the one that sets this key of the scenario."""
    if by in data.axis_names:
        return by
    of_key = [a["name"] for a in found.about.get("axes", []) if by in a.get("keys", [])]
    return of_key[0] if len(of_key) == 1 else data.require_axis(by)


def _json(c: Contrast) -> dict[str, Any]:
    difference = asdict(c.difference)
    difference.update(first=c.first, second=c.second)
    return {"metric": c.metric, "unit": c.unit, "at": dict(c.at), **difference}


def _show(data: Tidy, axis: str, made: list[Contrast], level: float) -> None:
    from lasthop.campaign.figures import measured, shown_unit, text, title

    largest: dict[str, float] = {}
    for c in made:
        if math.isfinite(c.difference.mean):
            largest[c.metric] = max(largest.get(c.metric, 0.0), abs(c.difference.mean))
    others = [a for a in data.axis_names if a != axis]
    rows = []
    for c in made:
        d = c.difference
        factor, unit = shown_unit(c.unit, largest.get(c.metric, 0.0))
        value = measured(d.mean * factor, d.low * factor, d.high * factor)
        rows.append(
            (
                c.metric,
                *(text(dict(c.at)[a]) for a in others),
                f"{text(c.first)} - {text(c.second)}",
                value if unit in ("", "1") else f"{value} {unit}",
                _p(d.p_holm),
                _saved(d),
                _answer(c),
            )
        )
    headers = (
        "metric",
        *(title(a, data.axis_units[a]) for a in (*others, axis)),
        "difference",
        "p (Holm)",
        "saved",
        "first is",
    )
    at = len(others) + 2
    _output.table(headers, rows, right=(at, at + 1, at + 2))
    _output.line()
    for text_of_line in _summary(made, data, level):
        _output.line(text_of_line)
    tell_unmoved(data)


def _summary(made: list[Contrast], data: Tidy, level: float) -> list[str]:
    """How many differences are decided, why the others are not, and what the intervals hold for."""
    reasons = Counter(c.difference.reason for c in made if c.difference.answer == "undecided")
    decided = len(made) - sum(reasons.values())
    why = "; ".join(f"{count:,}: {reason}" for reason, count in reasons.most_common())
    undecided = f", {sum(reasons.values()):,} undecided ({why})" if reasons else ""
    lines = [f"{_differences(len(made))}: {decided:,} decided{undecided}"]
    family = _family(made)
    some = "the one interval covers" if family == 1 else f"the {family:,} intervals together cover"
    all_ = "all intervals together cover" if family == len(made) else some
    rule = f" and allow for the rule {data.rule}" if data.rule is not None else ""
    lines.append(f"{all_} at {100 * level:g} %{rule}; those of 'saved' each for itself at 95 %")
    return lines


def _differences(count: int) -> str:
    return f"{count:,} {'difference' if count == 1 else 'differences'}"


def _family(made: list[Contrast]) -> int:
    """Differences that have an interval."""
    return sum(c.difference.n >= 2 for c in made)


def _answer(c: Contrast) -> str:
    d = c.difference
    if d.answer != "undecided":
        return d.answer
    more = f", about {d.pairs_needed} seeds needed" if d.pairs_needed is not None and d.pairs_needed > d.n else ""
    return f"undecided ({d.reason}{more})"


def _p(p: float | None) -> str:
    if p is None:
        return "–"
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def _saved(d: Difference) -> str:
    """`x5.1 (0.8 to 72)`: the factor with the ends of its interval.

    In digits that distinguish these.
    """
    factor = d.variance_factor
    if math.isnan(factor):
        return "–"
    if math.isinf(factor):
        return "all"
    if math.isinf(d.variance_factor_high):
        return f"x{_digits(factor, 2)}"
    ends = d.variance_factor_low, d.variance_factor_high
    count = next((n for n in (2, 3, 4) if _digits(ends[0], n) != _digits(ends[1], n)), 5)
    return f"x{_digits(factor, count)} ({_digits(ends[0], count)} to {_digits(ends[1], count)})"


def _digits(value: float, count: int) -> str:
    """So many significant digits, without an exponent below 10 million."""
    if value >= 10.0**count * (1 - 0.5 * 10.0**-count):
        digits = count - 1 - math.floor(math.log10(value))
        return f"{round(value, digits):.0f}" if value < 1e7 else f"{value:.{count - 1}e}"
    return f"{value:.{count}g}"
