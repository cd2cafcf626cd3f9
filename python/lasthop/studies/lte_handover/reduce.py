"""What is kept of a run: numbers around the handover, and arrays for the runs that figures show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc

if TYPE_CHECKING:
    import pyarrow as pa

    from lasthop.harness import Run
    from lasthop.harness.stats import FloatArray

#: The window of measure around the handover [s].
BEFORE_S, AFTER_S = 2.0, 10.0
#: TCP's answer to a burst loss is looked for this long [s].
ANSWER_S = AFTER_S
#: When the sudden load begins, and how long around it is compared [s].
STEP_S, STEADY_S = 30.0, 15.0
#: Rates and round-trip times are compared from so long after it on [s].
SETTLE_S = 5.0
#: What is only known of a run with a handover.
AROUND = (
    "queue_bytes", "lost_bytes", "goodput_bps", "after_bps", "before_bps", "delay_mean_s", "delay_p95_s",
    "later_mean_s", "later_p95_s", "interruption_s", "gap_s", "retransmits", "timeouts", "cwnd_kept", "by_handover",
    "by_queue", "spurious", "spurious_timeouts",
)  # fmt: skip
#: Causes of drops at a handover.
DISCARDED = ("handover-discard", "handover-not-forwarded")


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
    values["failures"] = float(sum(e["kind"] == "radio-link-failure" for e in events))
    if start is None or done is None:
        return {**values, **dict.fromkeys(AROUND, np.nan)}
    t0 = float(start["time_s"])
    moved = next(e for e in events if e["kind"] == "handover-data")
    drops = [d for d in run.table("drops").to_pylist() if d["cause"] in DISCARDED]
    # The UE's end discards ACKs, which are no part of the network's retransmission queue.
    lost = float(sum(d["size"] for d in drops if abs(d["time_s"] - t0) < 1.0 and d["packet"] in packets["ids"]))
    window = (t0 - BEFORE_S, t0 + AFTER_S)
    inside, later = delays(packets, *window), delays(packets, t0, window[1])
    received = packets["received"]
    at = (received >= window[0]) & (received < window[1])
    after = received[received > t0]
    gap = float(after.min() - received[received <= t0].max()) if len(after) and (received <= t0).any() else np.nan
    again = packets["again"] & (packets["sent"] >= t0) & (packets["sent"] < t0 + ANSWER_S)
    values.update(
        queue_bytes=float(moved["value"]),
        lost_bytes=lost,
        goodput_bps=fresh_bytes(packets, at) * 8 / (BEFORE_S + AFTER_S),
        after_bps=fresh_bytes(packets, (received >= t0) & (received < t0 + AFTER_S)) * 8 / AFTER_S,
        before_bps=fresh_bytes(packets, (received >= window[0]) & (received < t0)) * 8 / BEFORE_S,
        delay_mean_s=float(np.mean(inside)) if len(inside) else np.nan,
        delay_p95_s=float(np.percentile(inside, 95)) if len(inside) else np.nan,
        later_mean_s=float(np.mean(later)) if len(later) else np.nan,
        later_p95_s=float(np.percentile(later, 95)) if len(later) else np.nan,
        interruption_s=float(done["value"]),
        gap_s=gap,
        retransmits=float(again.sum()),
        cwnd_kept=window_kept(run, t0),
        **answers(events, packets, run.table("tcp"), t0),
    )
    if run.shown:
        values.update(around(run, packets, t0))
    return values


def answers(events: list[dict[str, Any]], packets: dict[str, Any], tcp: pa.Table, t0: float) -> dict[str, float]:
    """TCP's recoveries and timeouts in the time after the handover.

    They are counted by the fate of the segment with which each began.

    `by_handover`: it was discarded at the handover. `by_queue`: dropped elsewhere, by the full
    queue. `spurious`: not dropped at all. The segment is the first that is sent again at that
    moment. A recovery that follows the one before at once may send nothing, since its hole was
    repeated in the one before: then it is the first unacknowledged one.
    """
    sampled, snd_una = column(tcp, "time_s"), column(tcp, "snd_una")
    counts = dict.fromkeys(("by_handover", "by_queue", "spurious", "timeouts", "spurious_timeouts"), 0.0)
    fate: dict[float, str] = {}
    for seq, cause in zip(packets["seq"], packets["cause"], strict=True):
        if cause:
            fate[seq] = "by_handover" if cause in DISCARDED else "by_queue"
    for event in events:
        t = event["time_s"]
        if event["kind"] not in ("recovery-enter", "rto") or not t0 <= t < t0 + ANSWER_S:
            continue
        sent = packets["again"] & (np.abs(packets["sent"] - t) < 1e-6)
        row = max(int(np.searchsorted(sampled, t + 1e-6)) - 1, 0)
        lost = fate.get(float(packets["seq"][sent].min() if sent.any() else snd_una[row]), "spurious")
        if event["kind"] == "recovery-enter":
            counts[lost] += 1
        else:
            counts["timeouts"] += 1
            counts["spurious_timeouts"] += lost == "spurious"
    return counts


def window_kept(run: Run, t0: float) -> float:
    """The smallest congestion window after the handover, as a share of that at it."""
    tcp = run.table("tcp")
    t, cwnd = column(tcp, "time_s"), column(tcp, "snd_cwnd")
    before, after = cwnd[t <= t0], cwnd[(t > t0) & (t < t0 + AFTER_S)]
    return float(after.min() / before[-1]) if len(before) and len(after) else float("nan")


def packet_table(run: Run) -> dict[str, Any]:
    """Data packets of the download: when each was sent and received.

    Also when it was forwarded over X2 and discarded at the handover.

    NaN: this did not happen. Further columns say when it was dropped elsewhere and by which cause
        ("": it was not dropped), its first byte, its bytes, and whether it is a retransmission.
    """
    table = run.table("packets")
    table = table.filter(pc.and_(pc.equal(table["flow"], "ftp"), pc.greater(table["len"], 0)))
    event = np.asarray(table["event"].to_numpy(zero_copy_only=False))
    packet, time_s = np.asarray(table["packet"]), column(table, "time_s")
    sent = event == "sent"
    ids = packet[sent]
    order = np.argsort(ids)
    packets: dict[str, Any] = {"ids": set(ids.tolist()), "sent": time_s[sent]}
    for name in ("received", "forwarded"):
        packets[name] = np.full(len(ids), np.nan)
        chosen = event == name
        at, known = _places(ids, order, packet[chosen])
        packets[name][at] = time_s[chosen][known]
    packets["seq"], packets["len"] = column(table, "seq")[sent], column(table, "len")[sent]
    packets["again"] = np.asarray(table["retransmission"].fill_null(False))[sent].astype(bool)
    packets["discarded"] = np.full(len(ids), np.nan)
    packets["dropped"] = np.full(len(ids), np.nan)
    packets["cause"] = [""] * len(ids)
    drops = run.table("drops")
    at, known = _places(ids, order, np.asarray(drops["packet"]))
    causes = drops["cause"].to_pylist()
    for place, row in zip(at.tolist(), np.flatnonzero(known).tolist(), strict=True):
        cause = packets["cause"][place] = causes[row]
        packets["discarded" if cause in DISCARDED else "dropped"][place] = drops["time_s"][row].as_py()
    return packets


def _places(ids: Any, order: Any, wanted: Any) -> tuple[Any, Any]:
    """Where in `ids` (sorted by `order`) the wanted packets are.

    And which of these are there at all.
    """
    if not len(ids) or not len(wanted):
        return np.zeros(0, dtype=int), np.zeros(len(wanted), dtype=bool)
    found = order[np.minimum(np.searchsorted(ids, wanted, sorter=order), len(ids) - 1)]
    known = ids[found] == wanted
    return found[known], known


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
    # All that was under way at the handover, however long it had waited, and what was sent after
    # it.
    known = np.fmax(packets["received"], np.fmax(packets["discarded"], packets["dropped"]))
    ended = np.where(np.isnan(known), packets["sent"], known)
    near = (ended > t0 - 1.0) & (packets["sent"] < t0 + AFTER_S)
    steps = np.arange(0.0, run.duration_s, 0.1)
    received = packets["received"]
    good = np.histogram(received[~np.isnan(received)], bins=steps, weights=packets["len"][~np.isnan(received)])[0]
    return {
        "t0": t0,
        "cwnd_t": column(tcp, "time_s"),
        "cwnd": column(tcp, "snd_cwnd"),
        "seq_sent_t": packets["sent"][near],
        "seq_received_t": packets["received"][near],
        "seq_forwarded_t": packets["forwarded"][near],
        "seq_discarded_t": packets["discarded"][near],
        "seq_dropped_t": packets["dropped"][near],
        "again": packets["again"][near],
        "seq": packets["seq"][near],
        "good_t": steps[:-1],
        "good_bps": good * 80.0,
    }


def reduce_interruption(run: Run) -> dict[str, Any]:
    """How long no cell served the car; NaN: it had no handover."""
    events = [e for e in run.table("events").to_pylist() if e["source"] == "ue/car"]
    done = next((e for e in events if e["kind"] == "handover-complete"), None)
    return {
        "interruption_s": float(done["value"]) if done else np.nan,
        "failures": float(sum(e["kind"] in ("handover-failure", "radio-link-failure") for e in events)),
    }


def reduce_trigger(run: Run) -> dict[str, Any]:
    """What a choice of hysteresis and time-to-trigger brings."""
    kinds = [e["kind"] for e in run.table("events").to_pylist()]
    names = {
        "handovers": "handover-complete",
        "ping_pong": "handover-ping-pong",
        "failures": "radio-link-failure",
        "too_late": "handover-too-late",
    }
    return {
        **{name: float(kinds.count(kind)) for name, kind in names.items()},
        "goodput_bps": float(run.row("flows")["goodput_bps"]),
    }


def reduce_map(run: Run) -> dict[str, Any]:
    """A drive: places, serving cells, measurements and what happened."""
    values = reduce_drive(run)
    if not run.shown:
        return values
    places, measured = run.table("positions").to_pydict(), run.table("measurements").to_pydict()
    events = [e for e in run.table("events").to_pylist() if e["source"] == "ue/car"]
    radio = [r for r in run.table("radio").to_pylist() if r["direction"] == "downlink"]
    return {
        **values,
        "place_t": np.asarray(places["time_s"]),
        "place_x": np.asarray(places["x_m"]),
        "place_y": np.asarray(places["y_m"]),
        "place_cell": list(places["cell"]),
        "measured_t": np.asarray(measured["time_s"]),
        "measured_cell": list(measured["cell"]),
        "rsrp_dbm": np.asarray(measured["rsrp_dbm"]),
        "rsrq_db": np.asarray(measured["rsrq_db"]),
        "event_t": [float(e["time_s"]) for e in events],
        "event_kind": [str(e["kind"]) for e in events],
        "rate_t": np.asarray([r["time_s"] for r in radio]),
        "rate_bps": np.asarray([r["bytes"] * 80.0 for r in radio]),
    }


def reduce_users(run: Run) -> dict[str, Any]:
    """A call, a game, web pages and a download in one UE."""
    rows = {r["flow"]: r for r in run.table("quality").to_pylist()}
    flows = {f["flow"]: f for f in run.table("flows").to_pylist()}
    return {
        "mos": float(rows["call"]["mos"]),
        "call_unusable": float(rows["call"]["unusable"]),
        "call_gap_s": float(rows["call"]["longest_gap_s"]),
        "game_unusable": float(rows["game"]["unusable"]),
        "game_p99_s": float(rows["game"]["delay_p99_s"]),
        "page_s": float(flows["web"]["request_time_mean_s"]),
        "pages": float(flows["web"]["requests"]),
        "goodput_bps": float(flows["ftp"]["goodput_bps"]),
        "timeouts": float(flows["ftp"]["timeouts"]),
    }


def reduce_load(run: Run) -> dict[str, Any]:
    """The first ten users before and after others begin."""
    return before_and_after(run, "early")


def reduce_outage(run: Run) -> dict[str, Any]:
    """Users of the cell that stays, before and after, and those of the cell that fails.

    Also how the latter are served again.
    """
    events = run.table("events").to_pylist()
    back = [e for e in events if e["kind"] == "rrc-connected" and e["time_s"] > STEP_S]
    connected = [e["time_s"] for e in back]
    uplink = [r for r in run.table("radio").to_pylist() if r["direction"] == "uplink" and r["time_s"] > STEP_S]
    return {
        **before_and_after(run, "early"),
        "reconnected": float(len({e["source"] for e in back})),
        "median_return_s": float(np.median(connected)) - STEP_S if connected else np.nan,
        "failures": float(sum(e["kind"] == "radio-link-failure" for e in events)),
        "reestablished": float(sum(e["kind"] == "rrc-reestablished" for e in events)),
        "rejected": float(sum(e["kind"] == "rrc-reestablishment-rejected" for e in events)),
        "preambles": float(sum(r["preambles"] for r in uplink)),
        "not_admitted": float(sum(e["kind"] == "rrc-connection-failed" for e in events)),
    }


def before_and_after(run: Run, group: str) -> dict[str, Any]:
    """A group's flows in 15 s before and after the step.

    The result has the mean rate and RTT of a UE, and all timeouts and retransmissions.

    In runs that figures show, `before` and `after` have the same for each single UE.
    """
    tcp = run.table("tcp")
    name = tcp.column("flow").to_pylist()
    flows = [f["flow"] for f in run.table("flows").to_pylist() if f["flow"].startswith(group)]
    rows = {flow: np.asarray([n == flow for n in name]) for flow in flows}
    columns = {c: column(tcp, c) for c in ("time_s", "bytes_acked", "rtt_us", "total_retrans")}
    rto = [(e["time_s"], e["source"]) for e in run.table("events").to_pylist() if e["kind"] == "rto"]
    users: dict[str, list[dict[str, float]]] = {}
    for when, start in (("before", STEP_S - STEADY_S), ("after", STEP_S)):
        users[when] = [
            one_user(
                {c: values[rows[flow]] for c, values in columns.items()},
                [t for t, source in rto if source == f"flow/{flow}"],
                start,
                SETTLE_S if when == "after" else 0.0,
            )
            for flow in flows
        ]
    values: dict[str, Any] = {"users": float(len(flows))}
    for when, found in users.items():
        values[f"{when}_bps"] = _mean([u["bps"] for u in found])
        values[f"rtt_{when}_s"] = _mean([u["rtt_s"] for u in found])
        values[f"timeouts_{when}"] = float(sum(u["timeouts"] for u in found))
        values[f"retransmits_{when}"] = float(sum(u["retransmits"] for u in found))
    return {**values, **users} if run.shown else values


def one_user(tcp: dict[str, FloatArray], rto: list[float], start: float, settle: float) -> dict[str, float]:
    """Rate and RTT of one flow in the 15 s from `start` + `settle` on.

    What went wrong is counted from `start` on.
    """
    steady = (tcp["time_s"] >= start + settle) & (tcp["time_s"] <= start + settle + STEADY_S)
    t, acked, rtt = tcp["time_s"][steady], tcp["bytes_acked"][steady], tcp["rtt_us"][steady]
    again = tcp["total_retrans"][(tcp["time_s"] >= start) & (tcp["time_s"] <= start + STEADY_S)]
    return {
        "bps": float((acked[-1] - acked[0]) * 8 / (t[-1] - t[0])) if len(t) > 1 else np.nan,
        "rtt_s": float(rtt[rtt > 0].mean() / 1e6) if (rtt > 0).any() else np.nan,
        "timeouts": float(sum(start <= moment < start + STEADY_S for moment in rto)),
        "retransmits": float(again[-1] - again[0]) if len(again) else 0.0,
    }


def _mean(values: list[float]) -> float:
    known = [v for v in values if not np.isnan(v)]
    return float(np.mean(known)) if known else float("nan")
