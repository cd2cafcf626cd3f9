"""`lasthop compare`: variants of a campaign against each other."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lasthop.cli import _output
from lasthop.cli._results import as_level

if TYPE_CHECKING:
    from lasthop.campaign.contrast import Contrast
    from lasthop.campaign.results import CampaignResults
    from lasthop.campaign.tidy import Tidy


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--by", "by", required=True, metavar="AXIS", help="The axis, or its key, whose labels are compared.")
@click.option("--metric", "metrics", multiple=True, metavar="NAME", help="Only this metric. May be repeated.")
@click.option(
    "--level",
    default="95%",
    show_default=True,
    callback=as_level,
    metavar="LEVEL",
    help="Level of all intervals together.",
)
@click.option(
    "--min-seeds", type=click.IntRange(2), default=5, show_default=True, help="With fewer common seeds: undecided."
)
@_output.json_option
def compare(folder: Path, by: str, metrics: tuple[str, ...], level: float, min_seeds: int, as_json: bool) -> None:
    """Compare the labels of an axis at equal other labels and equal seeds.

    DIR is the folder that 'lasthop sweep' has left. Each row is the mean difference of a metric between two labels,
    over the seeds that both have. All intervals together cover at the level; p-values are corrected by Holm's method
    over all rows. The answer is 'higher' or 'lower' if the interval excludes zero, else 'undecided', with the number
    of seeds at which it might be decided. 'saved' is how many times more seeds independent runs would have needed.

    \b
    Examples:
      lasthop compare results/bufferbloat --by cc
      lasthop compare results/bufferbloat --by aqm --metric delay --level 99%
    """
    from lasthop.campaign.contrast import contrasts
    from lasthop.campaign.results import CampaignResults
    from lasthop.campaign.tidy import tidy

    found = CampaignResults.load(folder)
    data = tidy(found)
    axis = _axis(found, data, by)
    made = contrasts(data, axis, metrics or None, level=level, min_pairs=min_seeds)
    if as_json:
        _output.json_object(
            {
                "campaign": found.about.get("name"),
                "by": axis,
                "level": level,
                "family": len(made),
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
    told = asdict(c.difference)
    told.update(first=c.first, second=c.second)
    return {"metric": c.metric, "unit": c.unit, "at": dict(c.at), **told}


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
                _saved(d.variance_factor),
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
    undecided = sum(c.difference.answer == "undecided" for c in made)
    told = f"{len(made)} differences, {undecided} undecided; all intervals together cover at {100 * level:g} %"
    _output.line(told)


def _answer(c: Contrast) -> str:
    d = c.difference
    if d.answer != "undecided":
        return d.answer
    more = f", about {d.pairs_needed} seeds needed" if d.pairs_needed is not None and d.pairs_needed > d.n else ""
    return f"undecided ({d.reason}{more})"


def _p(p: float) -> str:
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def _saved(factor: float) -> str:
    if math.isnan(factor):
        return "–"
    return "all" if math.isinf(factor) else f"x{factor:.3g}"
