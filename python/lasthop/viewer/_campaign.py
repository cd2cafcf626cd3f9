"""A campaign for the page: axes, metrics, and each point's means with their intervals."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from lasthop.campaign._quantity import quantity
from lasthop.campaign.tidy import tidy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lasthop.campaign.results import CampaignResults
    from lasthop.campaign.tidy import Estimate, Label, Tidy


def campaign_entry(results: CampaignResults) -> dict[str, Any]:
    """The entry of a campaign in the index.

    Raises:
        LasthopError: its results are damaged.
    """
    data = tidy(results)
    axes = data.axes
    metrics = list(data.units)
    estimates = [data.estimates(metric, data.level) for metric in metrics]
    places = {name: {label: i for i, label in enumerate(labels)} for name, labels in axes.items()}
    about = results.about
    return {
        "name": str(about.get("name", "")),
        "description": str(about.get("description", "")),
        "level": data.level,
        "axes": [_axis(name, labels, data.axis_units.get(name, "")) for name, labels in axes.items()],
        "metrics": [_metric(data, name, unit) for name, unit in data.units.items()],
        "points": [
            {
                "at": [places[name][label] for name, label in zip(data.axis_names, labels, strict=True)],
                "values": [_values(found.get(labels)) for found in estimates],
            }
            for labels in data.points
        ],
        "failures": len(results.failures()),
    }


def _metric(data: Tidy, name: str, unit: str) -> dict[str, Any]:
    least = data.least(name)
    return {"name": name, "unit": "" if unit == "1" else unit, "least": least if math.isfinite(least) else None}


def _axis(name: str, labels: Sequence[Label], unit: str) -> dict[str, Any]:
    texts = [str(label).lower() if isinstance(label, bool) else str(label) for label in labels]
    return {"name": name, "unit": unit, "labels": [f"{t} {unit}".strip() for t in texts], "numbers": _numbers(labels)}


def _numbers(labels: Sequence[Label]) -> list[float] | None:
    """The labels as numbers of one unit.

    None: one of them is a word, or their units differ in kind.
    """
    found = [quantity(label) for label in labels]
    first = found[0] if found else None
    if first is None:
        return None
    inside = [None if q is None else q.within(first.unit) for q in found]
    return None if any(number is None for number in inside) else [float(n) for n in inside if n is not None]


def _values(estimate: Estimate | None) -> list[float | int | None] | None:
    if estimate is None or not math.isfinite(estimate.mean):
        return None
    ends = [end if math.isfinite(end) else None for end in (estimate.low, estimate.high)]
    return [estimate.mean, *ends, estimate.n]
