"""What is kept of a run: numbers around the handover, and arrays for the runs that figures show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

    from lasthop.harness import Run
    from lasthop.harness.stats import FloatArray

#: The window of measure around the handover [s].
BEFORE_S, AFTER_S = 2.0, 10.0
#: TCP's answer to a burst loss is looked for this long [s].
ANSWER_S = 3.0
#: When the sudden load begins, and how long around it is compared [s].
STEP_S, STEADY_S = 30.0, 15.0


def column(table: pa.Table, name: str) -> FloatArray:
    """A column of numbers; missing values are NaN."""
    return np.asarray(table.column(name).to_numpy(zero_copy_only=False), dtype=float)


def reduce_drive(run: Run) -> dict[str, Any]:
    """A download across a handover: goodput, delays and losses in the window, and what TCP did."""
    events = run.table("events").to_pylist()
    start = next((e for e in events if e["kind"] == "handover-start"), None)
    done = next((e for e in events if e["kind"] == "handover-complete"), None)
    lost = np.nan
    values: dict[str, Any] = {"handovers": float(sum(e["kind"] == "handover-complete" for e in events))}
    packets = packet_table(run)
    whole = delays(packets, 0.0, run.duration_s)
    flow = run.row("flows")
    values["goodput_whole_bps"] = float(flow["goodput_bps"])
    values["delay_whole_s"] = float(np.mean(whole)) if len(whole) else np.nan
    names = ("queue_bytes", "lost_bytes", "goodput_bps", "before_bps", "delay_mean_s", "delay_p95_s", "interruption_s")
    if start is None or done is None:
        return {**values, **dict.fromkeys((*names, "retransmits", "timeouts", "recoveries", "gap_s"), np.nan)}
    t0 = float(start["time_s"])
    moved = next(e for e in events if e["kind"] == "handover-data")
    drops = [d for d in run.table("drops").to_pylist() if d["cause"] in ("handover-discard", "handover-not-forwarded")]
    lost = float(sum(d["size"] for d in drops if abs(d["time_s"] - t0) < 1.0))
    window = (t0 - BEFORE_S, t0 + AFTER_S)
    inside = delays(packets, *window)
    received = packets["received"]
    at = (received >= window[0]) & (received < window[1])
    after = received[received > t0]
    gap = float(after.min() - received[received <= t0].max()) if len(after) and (received <= t0).any() else np.nan
    answers = [e["kind"] for e in events if t0 <= e["time_s"] < t0 + ANSWER_S and e["source"].startswith("flow/")]
    again = packets["again"] & (packets["sent"] >= t0) & (packets["sent"] < t0 + ANSWER_S)
    values.update(
        queue_bytes=float(moved["value"]),
        lost_bytes=lost,
        goodput_bps=fresh_bytes(packets, at) * 8 / (BEFORE_S + AFTER_S),
        before_bps=fresh_bytes(packets, (received >= window[0]) & (received < t0)) * 8 / BEFORE_S,
        delay_mean_s=float(np.mean(inside)) if len(inside) else np.nan,
        delay_p95_s=float(np.percentile(inside, 95)) if len(inside) else np.nan,
        interruption_s=float(done["value"]),
        gap_s=gap,
        retransmits=float(again.sum()),
        timeouts=float(sum(kind == "rto" for kind in answers)),
        recoveries=float(sum("recovery" in kind or "fast" in kind for kind in answers)),
    )
    if run.shown:
        values.update(around(run, packets, t0))
    return values


def packet_table(run: Run) -> dict[str, Any]:
    """Data packets of the download: when each was sent and received (NaN: not), its first byte, bytes, and again."""
    table = run.table("packets")
    keep = ["time_s", "packet", "event", "seq", "len", "retransmission", "flow"]
    rows = table.select(keep).to_pydict()
    sent: dict[int, int] = {}
    out: dict[str, list[Any]] = {"sent": [], "received": [], "seq": [], "len": [], "again": []}
    for i, event in enumerate(rows["event"]):
        length = rows["len"][i]
        if not length or rows["flow"][i] != "ftp":
            continue
        packet = rows["packet"][i]
        if event == "sent":
            sent[packet] = len(out["sent"])
            out["sent"].append(rows["time_s"][i])
            out["received"].append(np.nan)
            out["seq"].append(rows["seq"][i])
            out["len"].append(length)
            out["again"].append(bool(rows["retransmission"][i]))
        elif event == "received" and packet in sent:
            out["received"][sent[packet]] = rows["time_s"][i]
    kinds = {"sent": float, "received": float, "seq": float, "len": float, "again": bool}
    return {name: np.asarray(out[name], dtype=kind) for name, kind in kinds.items()}


def delays(packets: dict[str, Any], start: float, end: float) -> FloatArray:
    """One-way delays of the segments that arrived in [start, end) [s]."""
    received = packets["received"]
    at = (received >= start) & (received < end)
    return np.asarray((received - packets["sent"])[at], dtype=float)


def fresh_bytes(packets: dict[str, Any], chosen: Any) -> float:
    """Bytes of payload among `chosen`, each counted once."""
    seq, length = packets["seq"][chosen], packets["len"][chosen]
    _, first = np.unique(seq, return_index=True)
    return float(length[first].sum())


def around(run: Run, packets: dict[str, Any], t0: float) -> dict[str, Any]:
    """Arrays for the figures: cwnd over time, segments around the handover, goodput by 100 ms."""
    tcp = run.table("tcp")
    near = (packets["sent"] > t0 - 1.5) & (packets["sent"] < t0 + 2.5)
    steps = np.arange(0.0, run.duration_s, 0.1)
    received = packets["received"]
    good = np.histogram(received[~np.isnan(received)], bins=steps, weights=packets["len"][~np.isnan(received)])[0]
    return {
        "t0": t0,
        "cwnd_t": column(tcp, "time_s"),
        "cwnd": column(tcp, "snd_cwnd"),
        "seq_sent_t": packets["sent"][near],
        "seq_received_t": packets["received"][near],
        "seq": packets["seq"][near],
        "good_t": steps[:-1],
        "good_bps": good * 80.0,
    }


def reduce_users(run: Run) -> dict[str, Any]:
    """A call, a game and a download in one UE."""
    rows = {r["flow"]: r for r in run.table("quality").to_pylist()}
    ftp = next(f for f in run.table("flows").to_pylist() if f["flow"] == "ftp")
    return {
        "mos": float(rows["call"]["mos"]),
        "call_unusable": float(rows["call"]["unusable"]),
        "call_gap_s": float(rows["call"]["longest_gap_s"]),
        "game_unusable": float(rows["game"]["unusable"]),
        "game_p99_s": float(rows["game"]["delay_p99_s"]),
        "goodput_bps": float(ftp["goodput_bps"]),
        "timeouts": float(ftp["timeouts"]),
    }


def reduce_load(run: Run) -> dict[str, Any]:
    """The first ten users before and after others begin."""
    return before_and_after(run, "early")


def reduce_outage(run: Run) -> dict[str, Any]:
    """Users of the cell that stays, before and after; those of the cell that fails, and how they come back."""
    events = run.table("events").to_pylist()
    back = [e for e in events if e["kind"] == "rrc-connected" and e["time_s"] > STEP_S]
    connected = [e["time_s"] for e in back]
    return {
        **before_and_after(run, "early"),
        "reconnected": float(len({e["source"] for e in back})),
        "median_return_s": float(np.median(connected)) - STEP_S if connected else np.nan,
        "rejected": float(sum(e["kind"] == "rrc-reestablishment-rejected" for e in events)),
    }


def before_and_after(run: Run, group: str) -> dict[str, Any]:
    """Mean rate and RTT of a group's flows in 15 s before and after the step, and their timeouts."""
    tcp = run.table("tcp").to_pydict()
    flows = [f["flow"] for f in run.table("flows").to_pylist() if f["flow"].startswith(group)]
    acked: dict[str, list[tuple[float, float]]] = {f: [] for f in flows}
    rtt: dict[bool, list[float]] = {False: [], True: []}
    for t, flow, total, sample in zip(tcp["time_s"], tcp["flow"], tcp["bytes_acked"], tcp["rtt_us"], strict=True):
        if flow in acked and STEP_S - STEADY_S <= t <= STEP_S + STEADY_S + 5.0:
            acked[flow].append((t, float(total)))
            if sample and not STEP_S < t < STEP_S + 5.0:
                rtt[t > STEP_S].append(sample / 1e6)
    rates: dict[bool, list[float]] = {False: [], True: []}
    for series in acked.values():
        for late in (False, True):
            low, high = (STEP_S + 5.0, STEP_S + 5.0 + STEADY_S) if late else (STEP_S - STEADY_S, STEP_S)
            inside = [(t, b) for t, b in series if low <= t <= high]
            if len(inside) > 1:
                rates[late].append((inside[-1][1] - inside[0][1]) * 8 / (inside[-1][0] - inside[0][0]))
    events = run.table("events").to_pylist()
    rto = [e["time_s"] for e in events if e["kind"] == "rto" and e["source"].split("/")[1].startswith(group)]
    return {
        "before_bps": _mean(rates[False]),
        "after_bps": _mean(rates[True]),
        "rtt_before_s": _mean(rtt[False]),
        "rtt_after_s": _mean(rtt[True]),
        "timeouts_before": float(sum(STEP_S - STEADY_S <= t < STEP_S for t in rto)),
        "timeouts_after": float(sum(STEP_S <= t < STEP_S + STEADY_S for t in rto)),
    }


def _mean(values: list[float]) -> float:
    return float(np.mean(values)) if values else float("nan")
