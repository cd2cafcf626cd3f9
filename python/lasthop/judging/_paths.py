"""The paths of cases: the values that a case gives for each, and derived values."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

#: Octets of payload and options in a segment, and what a packet has on top: IPv4 20, TCP 20;
#: timestamps take 12 of the payload's octets.
MSS, HEADERS, TIMESTAMPS = 1460, 40, 12
PACKET = MSS + HEADERS


@dataclass(frozen=True)
class CasePath:
    """A path of a case: values for the names in braces, and scenario keys of its own."""

    name: str
    #: Values of `{name}`: seconds, bit/s, octets, packets, counts.
    parameters: Mapping[str, float]
    #: Powers of time and data of each.
    dimensions: Mapping[str, tuple[int, int]]
    scenario: Mapping[str, Any] = field(default_factory=dict)
    #: Whether the quick form has it.
    quick: bool = True
    #: The values that the case gives; others follow from these.
    given: frozenset[str] = frozenset()
    #: Replications of this path; 0: those of the case.
    seeds: int = 0


def derived(
    values: Mapping[str, float], dimensions: Mapping[str, tuple[int, int]]
) -> tuple[dict[str, float], dict[str, tuple[int, int]]]:
    """The values of a path with the derived ones: `bdp`, `ref`, `mss`, `buffer`."""
    found, units = dict(values), dict(dimensions)
    bdp = values["rate"] * values["rtt"] / 8 / PACKET
    given = "buffer_bdp" in values
    found.setdefault("buffer_bdp", 3.0)
    found["bdp"] = bdp
    found["ref"] = values["rate"] * (MSS - TIMESTAMPS) / PACKET
    found["mss"] = float(MSS - TIMESTAMPS)
    found.setdefault("buffer", max(1.0, math.ceil(found["buffer_bdp"] * bdp) + (0 if given else 10)))
    # One packet's time on the link, at least 0.1 ms; a start within a second or ten round trips.
    found["jitter"] = max(8 * PACKET / values["rate"], 1e-4)
    found["spread"] = max(1.0, 10 * values["rtt"])
    # During a recovery both ends keep a round trip's octets more than are in flight: everything
    # from the lost segment on. Twice what the path and its queue hold, and a quarter for the
    # overshoot until the loss is known. A queue in packets has no such rule: it is often one that
    # never fills.
    wire = values["rate"] * values["rtt"] / 8
    held = (1 + found["buffer_bdp"]) * wire if given and "buffer" not in values else 0
    found["octets"] = math.ceil(max(4 * wire + 4_000_000, 2.5 * held))
    for name in found:
        units.setdefault(name, _DERIVED.get(name, (0, 0)))
    return found, units


_DERIVED = {"ref": (-1, 1), "octets": (0, 1), "mss": (0, 1), "jitter": (1, 0), "spread": (1, 0)}


def varied(path: CasePath, vary: int, case: str) -> CasePath:
    """The path with its rate, delay and buffer times factors of 0.8 to 1.25.

    The factors are drawn from `vary`.
    """
    if not vary:
        return path
    values = {name: path.parameters[name] for name in path.given}
    for name in ("rate", "rtt", "buffer_bdp", "buffer"):
        if name in values:
            digest = hashlib.blake2b(f"{vary}/{case}/{path.name}/{name}".encode(), digest_size=8).digest()
            share = int.from_bytes(digest, "big") / 2**64
            values[name] *= 0.8 * (1.25 / 0.8) ** share
    units = {name: path.dimensions[name] for name in values}
    return replace(path, parameters=(moved := derived(values, units))[0], dimensions=moved[1])
