"""What is kept of a run: numbers for the claims, arrays for the runs that figures show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lasthop.harness import Run, StepSeries
from lasthop.harness.stats import histogram, share_on_grid
from lasthop.studies.umts_vegas.model import CAPACITY_BPS, DL_BLOCKS, DL_TTI_S, MAX_WINDOW, UL_BLOCKS, UL_TTI_S

if TYPE_CHECKING:
    from lasthop.harness.stats import FloatArray

#: Claims about the steady state look at what comes after this.
STARTUP_S = 10.0
RTT_BIN_S = 0.020
RTT_TOLERANCE_S = 0.002
RTT_UPPER_S = 3.0


def reduce_transfer(run: Run) -> dict[str, Any]:
    """A TCP transfer: throughput, RTT, timeouts, radio counters.

    Also the window, where it was sampled.
    """
    flow = run.row("flows")
    timeouts = event_times(run, "rto")
    late = float((timeouts > STARTUP_S).sum())
    values: dict[str, Any] = {
        "share": flow["rx_segment_bytes"] * 8 / run.duration_s / CAPACITY_BPS,
        "goodput_bps": flow["goodput_bps"],
        # A transfer that RLC stalls for good has no round trip at all.
        **{f"rtt_{k}": np.nan if flow[f"rtt_{k}_s"] is None else flow[f"rtt_{k}_s"] for k in ("min", "mean", "max")},
        "rtt_samples_1000s": flow["rtt_samples"] / run.duration_s * 1000,
        "timeouts": float(flow["timeouts"]),
        "timeouts_300s": flow["timeouts"] / run.duration_s * 300,
        "late_timeouts": late,
        "late_timeouts_300s": late / max(run.duration_s - STARTUP_S, 1e-9) * 300,
        "fast_retransmits": float(flow["fast_retransmits"]),
        "retransmits": float(flow["retransmits"]),
        "lost": float(run.table("drops").num_rows),
        **radio_counters(run),
    }
    if run.has_table("tcp") and run.table("tcp").num_rows:
        values.update(window_statistics(run, timeouts))
    return values


def reduce_ahead(run: Run) -> dict[str, Any]:
    """The data that reaches the UE, with or without an agent before it.

    For a split connection it is the part behind the proxy.
    """
    flow = next(f for f in run.table("flows").to_pylist() if f["dst"] == "ue")
    return {
        "share": flow["rx_segment_bytes"] * 8 / run.duration_s / CAPACITY_BPS,
        "rtt_mean": np.nan if flow["rtt_mean_s"] is None else flow["rtt_mean_s"],
        "timeouts_300s": flow["timeouts"] / run.duration_s * 300,
    }


def window_statistics(run: Run, timeouts: FloatArray) -> dict[str, Any]:
    """Statistics over time of the window, and every RTT sample.

    They are computed from the `tcp` table, sampled at every ACK.
    """
    table = run.table("tcp")
    time = column(table, "time_s")
    window = StepSeries(time, column(table, "snd_cwnd"), run.duration_s)
    steady = window.between(STARTUP_S)
    rtt = column(table, "rtt_sample_us") / 1e6
    sampled = ~np.isnan(rtt)
    values: dict[str, Any] = {
        "cwnd_mean": window.mean(),
        "cwnd_max": window.max(),
        "late_cwnd_max": steady.max(),
        "late_share_at_2": steady.share(2, 3),
        "late_share_at_max": steady.share(MAX_WINDOW, np.inf),
        "time_to_max": first_time(time, window.value >= MAX_WINDOW),
        "rtt_on_grid": share_on_grid(rtt[sampled], RTT_BIN_S, RTT_TOLERANCE_S),
        "rtt_histogram": histogram(rtt[sampled], RTT_BIN_S, RTT_UPPER_S)[1] / run.duration_s * 1000,
    }
    if run.shown:
        values["trace"] = {"time": time, "cwnd": window.value}
        values["rtt_trace"] = {"time": time[sampled], "rtt": rtt[sampled]}
        values["timeout_times"] = timeouts
    return values


def radio_counters(run: Run) -> dict[str, float]:
    """Use of the channel in both directions, as shares of its blocks.

    They are computed from the last samples of `rlc` and `mac`.
    """
    rlc = {way: last_of(run, "rlc", way) for way in CHANNELS}
    mac = {way: last_of(run, "mac", way) for way in CHANNELS}
    values: dict[str, float] = {}
    for way, (tti, blocks, other) in CHANNELS.items():
        own, channel, opposite = rlc[way], mac[way], rlc[other]
        if own is None or channel is None or opposite is None:
            continue
        capacity = own["time_s"] / tti * blocks
        values[f"{way}_new"] = own["pdus_new"] / capacity
        values[f"{way}_retx"] = own["pdus_retx"] / capacity
        values[f"{way}_repeats"] = own["pdus_retx"] / max(own["pdus_new"], 1)
        # Reports about the other direction travel this way.
        values[f"{way}_status"] = opposite["status_pdus"] / capacity
        values[f"{way}_idle"] = 1 - channel["blocks_sent"] / capacity
        values[f"{way}_resets"] = float(own["resets"])
    return values


def reduce_spurious(run: Run) -> dict[str, Any]:
    """A transfer with every packet written down: which timeouts were spurious.

    After a spurious timeout the receiver gets data that it already has.
    """
    values = reduce_transfer(run)
    packets = packet_columns(run)
    sent = packets["server sent data"]
    got = packets["ue received data"]
    redundant = doubles(got["seq"], got["time"])
    timeouts = event_times(run, "rto")
    timeouts = timeouts[timeouts > STARTUP_S]
    spurious = [t for t in timeouts if ((redundant >= t) & (redundant < t + AFTERMATH_S)).any()]
    values["spurious_timeouts"] = float(len(spurious)) if values["lost"] == 0 else 0.0
    values["redundant_segments"] = float(len(redundant))
    if run.shown and spurious:
        start, end = spurious[0] - BEFORE_S, spurious[0] + AFTERMATH_S
        values["timeout"] = spurious[0]
        values["sequence"] = {
            name: {key: column[(what["time"] >= start) & (what["time"] < end)] for key, column in what.items()}
            for name, what in (("sent", sent), ("received", got), ("acked", packets["server received ack"]))
        }
        values["redundant_times"] = redundant[(redundant >= start) & (redundant < end)]
    return values


def reduce_datagrams(run: Run) -> dict[str, Any]:
    """Datagrams one at a time: one-way delays above the smallest one."""
    packets = packet_columns(run)
    sent, got = packets["server sent data"], packets["ue received data"]
    at = dict(zip(got["packet"].tolist(), got["time"].tolist(), strict=True))
    pairs = [(t, at[p]) for p, t in zip(sent["packet"].tolist(), sent["time"].tolist(), strict=True) if p in at]
    starts, ends = np.array(pairs).T
    # One that was sent before its forerunner arrived may have waited for it and not for a block of
    # its own.
    alone = np.concatenate([[True], np.maximum.accumulate(ends)[:-1] < starts[1:]])
    starts, ends = starts[alone], ends[alone]
    delays = ends - starts
    # The error-free delay depends on where in the TTI the datagram comes: compare with its own
    # phase.
    phase = np.round(np.mod(starts, UL_TTI_S) * 1e3).astype(int)
    extra = np.concatenate([delays[phase == p] - delays[phase == p].min() for p in np.unique(phase)])
    late = extra[extra > 1e-3]
    return {
        "delay_min": float(delays.min()),
        "delayed": float(len(late)),
        "extra_min": float(late.min()) if len(late) else float("nan"),
        "extras": late if run.shown else None,
    }


def packet_columns(run: Run) -> dict[str, dict[str, FloatArray]]:
    """The `packets` table by node, event and direction."""
    table = run.table("packets")
    node, event = table["node"].to_pylist(), table["event"].to_pylist()
    length = column(table, "len")
    columns = {"time": "time_s", "packet": "packet", "seq": "seq", "ack": "ack", "retransmission": "retransmission"}
    out = {}
    for name, (where, what, data) in {
        "server sent data": ("server", "sent", True),
        "ue received data": ("ue", "received", True),
        "server received ack": ("server", "received", False),
    }.items():
        rows = np.array([n == where and e == what for n, e in zip(node, event, strict=True)], dtype=bool)
        rows &= (length > 0) == data
        out[name] = {key: column(table, source)[rows] for key, source in columns.items()}
    return out


def event_times(run: Run, kind: str) -> FloatArray:
    """When events of a kind happened."""
    table = run.table("events")
    kinds = table["kind"].to_pylist()
    time = column(table, "time_s")
    return time[np.array([k == kind for k in kinds], dtype=bool)] if len(time) else time


def last_of(run: Run, table: str, direction: str) -> dict[str, Any] | None:
    """The last row of a sampled bearer direction."""
    if not run.has_table(table):
        return None
    rows = run.table(table)
    for index in range(rows.num_rows - 1, max(rows.num_rows - 9, -1), -1):
        row: dict[str, Any] = rows.slice(index, 1).to_pylist()[0]
        if row["direction"] == direction and row["time_s"] > 0:
            return row
    return None


def column(table: Any, name: str) -> FloatArray:
    """A column as floats; null is NaN."""
    values: FloatArray = table[name].to_numpy().astype(np.float64)
    return values


def doubles(seq: FloatArray, time: FloatArray) -> FloatArray:
    """When something arrived that had arrived before."""
    seen: set[float] = set()
    out = []
    for s, t in zip(seq.tolist(), time.tolist(), strict=True):
        if s in seen:
            out.append(t)
        seen.add(s)
    return np.array(out, dtype=np.float64)


def first_time(time: FloatArray, when: Any) -> float:
    """The first time at which a condition holds; NaN if never."""
    hits = np.flatnonzero(when)
    return float(time[hits[0]]) if len(hits) else float("nan")


#: TTI, blocks per TTI and opposite of each direction.
CHANNELS = {"downlink": (DL_TTI_S, DL_BLOCKS, "uplink"), "uplink": (UL_TTI_S, UL_BLOCKS, "downlink")}
#: What figure 7b shows around a timeout.
BEFORE_S, AFTERMATH_S = 2.0, 3.0
