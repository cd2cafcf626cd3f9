"""The paper's product: which variant, packet size and RLC mode suit each load.

The choice is made by metric, with ties.

A combination ties with the best when the 95 % interval of their difference, seed by seed, holds
zero, or when they differ by less than the metric's percentage of equality; without replications
only the percentage decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lasthop.harness import Data
from lasthop.harness.stats import Estimate
from lasthop.studies.lte_vs_11ac.model import FOUR, METRICS, NETWORKS, TODAY, VARIANTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lasthop.studies.lte_vs_11ac.model import Metric


@dataclass(frozen=True)
class Combination:
    """What may be chosen: a transport, a packet size, and the network with its mode.

    A transport is a TCP variant, or UDP.
    """

    transport: str
    size: int
    network: str
    value: Estimate

    @property
    def name(self) -> str:
        """`Bic, 1000 B, LTE AM`."""
        return f"{transport_name(self.transport)}, {self.size} B, {network_name(self.network)}"


@dataclass(frozen=True)
class Match:
    """The best choice for one metric at one load, and everything that is as good."""

    technology: str
    rate: float
    metric: str
    best: Combination
    ties: tuple[Combination, ...]
    of: int

    def json(self) -> dict[str, Any]:
        """The row of the matching-parameters table."""
        interval = self.best.value.ci95
        return {
            "technology": self.technology,
            "source_rate_mbps": self.rate,
            "metric": METRICS[self.metric].name,
            "unit": METRICS[self.metric].unit,
            "best": _choice(self.best),
            "value": number(self.best.value.mean),
            "ci95": None if interval is None else [number(x) for x in interval],
            "n": self.best.value.n,
            "ties": [_choice(c) for c in self.ties],
            "combinations": self.of,
        }

    def summary(self) -> str:
        """What the ties leave open, in words."""
        everyone = [self.best, *self.ties]
        if len(everyone) == 1:
            return "none"
        parts = [
            _of("variants", {transport_name(c.transport) for c in everyone}),
            _of("sizes", {f"{c.size} B" for c in everyone}),
            _of("modes", {network_name(c.network) for c in everyone}),
        ]
        return f"{len(everyone) - 1} of {self.of - 1}: {', '.join(parts)}"


def matches(data: Data, transports: Sequence[str], technology: str = "lte") -> Iterator[Match]:
    """For every load and metric of the load sweep, the best of the given transports."""
    networks = [n for n in data.labels("load", "network") if n.startswith(technology)]
    if not networks:
        return
    for rate in data.labels("load", "rate"):
        for key in FOUR:
            found = [
                Combination(t, s, n, estimate(data, METRICS[key], rate, t, s, n))
                for t in data.labels("load", "transport")
                if t in transports
                for s in data.labels("load", "size")
                for n in networks
            ]
            known = [c for c in found if c.value.mean == c.value.mean]
            if known:
                yield match(technology, float(rate), key, known)


def match(technology: str, rate: float, key: str, found: Sequence[Combination]) -> Match:
    """The best of the combinations and those that tie with it."""
    sign = -1 if METRICS[key].more_is_better else 1
    best = min(found, key=lambda c: sign * c.value.mean)
    ties = tuple(c for c in found if c is not best and tied(best.value, c.value, METRICS[key]))
    return Match(technology, rate, key, best, ties, len(found))


def tied(a: Estimate, b: Estimate, metric: Metric) -> bool:
    """Not distinguished: within the percentage, or within the interval of the paired difference."""
    gap = abs(a.mean - b.mean)
    if gap == 0 or gap * 100 < metric.equal_percent * max(abs(a.mean), abs(b.mean)):
        return True
    interval = a.minus(b).ci95 if a.n == b.n else None
    return interval is not None and interval[0] <= 0 <= interval[1]


def estimate(data: Data, metric: Metric, rate: Any, transport: str, size: int, network: str) -> Estimate:
    """A metric of the load sweep."""
    return data.estimate("load", metric.value, rate=rate, transport=transport, size=size, network=network)


def document(found: Sequence[Match]) -> dict[str, Any]:
    """The table as JSON, with what it means."""
    return {
        "about": "Matching parameters: per network, source rate of a station and metric the best TCP variant, packet "
        "size and RLC mode, and what ties with it (paired 95 % interval holds zero, or within the metric's "
        "percentage of equality).",
        "equal_percent": {METRICS[m].name: METRICS[m].equal_percent for m in FOUR},
        "rows": [m.json() for m in found],
    }


def transport_name(transport: str) -> str:
    """A reader's name of a congestion control, or of UDP."""
    if transport in VARIANTS:
        return VARIANTS[transport][0]
    return TODAY[transport][0] if transport in TODAY else transport.upper()


def network_name(label: str) -> str:
    """`LTE AM` for `lte-am`."""
    return next((name for n, name in NETWORKS.values() if n == label), label)


def number(x: float) -> float:
    """Nine digits: a last bit never shows."""
    return float(f"{x:.9g}")


def _choice(c: Combination) -> dict[str, Any]:
    return {"transport": c.transport, "size": c.size, "network": c.network}


def _of(what: str, names: set[str]) -> str:
    return f"{len(names)} {what}" if len(names) > 3 else f"{what} {', '.join(sorted(names))}"
