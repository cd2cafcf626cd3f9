"""A recording in the formats of tools that replay traces."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from lasthop import _core
from lasthop.capacity._recording import Recording

#: Steps of a trace in Mahimahi's format, and of rates [s].
MILLISECOND = 1e-3
STEP = 10e-3


def mahimahi(recording: Recording) -> bytes:
    """One line for each opportunity of 1500 octets: a time in milliseconds.

    It is the end of the millisecond in which the octets were received.
    """
    octets = _per_step(recording, MILLISECOND)
    rows = ["time_s,mbps", *(f"{k * MILLISECOND:.3f},{o * 8e-6 / MILLISECOND:.6f}" for k, o in enumerate(octets))]
    with tempfile.TemporaryDirectory(prefix="lasthop-") as folder:
        rates, trace = Path(folder, "rates.csv"), Path(folder, "trace")
        rates.write_text("\n".join(rows) + "\n")
        _core.import_trace(rates, trace, "mbps-csv")
        return trace.read_bytes()


def netem_trace(recording: Recording) -> bytes:
    """Bandwidth by steps of 10 ms, as the crate `netem-trace` reads it.

    The format is that of version 0.5 with the features `serde` and `human`.
    """
    rates = _per_step(recording, STEP) * 8 / STEP
    steps = [[f"{STEP * 1e3:.0f}ms", [f"{rate:.0f}bps"]] for rate in rates]
    trace: Mapping[str, Any] = {
        "RepeatedBwPatternConfig": {"pattern": [{"TraceBwConfig": {"pattern": steps}}], "count": 0}
    }
    return json.dumps(trace, separators=(",", ":")).encode() + b"\n"


def _per_step(recording: Recording, step: float) -> np.ndarray:
    """Octets received in each step of the run."""
    # Times are whole nanoseconds: as such a step begins exactly where it does.
    step_ns = round(step * 1e9)
    count = max(-(-round(recording.duration * 1e9) // step_ns), 1)
    place = np.minimum(np.rint(recording.times * 1e9).astype(np.int64) // step_ns, count - 1)
    return np.bincount(place, weights=recording.sizes, minlength=count)


#: Formats of recordings by name: "mahimahi" and "netem-trace".
FORMATS: Mapping[str, Callable[[Recording], bytes]] = {"mahimahi": mahimahi, "netem-trace": netem_trace}


def content(recording: Recording, format: str) -> bytes:
    """The recording as the content of a file.

    Args:
        recording: what `record` has returned.
        format: a key of `FORMATS`: "mahimahi" or "netem-trace".

    Raises:
        KeyError: there is no such format.
    """
    return FORMATS[format](recording)
