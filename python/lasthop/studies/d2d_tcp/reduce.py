"""What is kept of a run: round trips, the steps of a segment, mode switches.

Also throughputs and shares.
"""

from __future__ import annotations

import itertools
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

    from lasthop.harness import Run
    from lasthop.harness.stats import FloatArray

    BoolArray = npt.NDArray[np.bool_]
    IntArray = npt.NDArray[np.int64]

#: Samples before this are slow start's [s].
WARM_UP_S = 5.0
MSS = 536
#: What the receiver offers in the runs with mode switches [segments].
RWND = 130784 / MSS
#: What follows a mode switch is looked at for so long [s].
AFTER_S = 9.0
TTI_S = 1e-3


def column(table: pa.Table, name: str) -> FloatArray:
    """A column of numbers; missing values are NaN."""
    return np.asarray(table.column(name).to_numpy(zero_copy_only=False), dtype=float)


def flow_row(run: Run, name: str) -> dict[str, Any]:
    """The row of a flow."""
    return next(r for r in run.table("flows").to_pylist() if r["flow"] == name)


def reduce_rtt(run: Run) -> dict[str, Any]:
    """RTT samples after the warm-up [ms]: mean, least, deviation; how long a segment takes."""
    tcp = run.table("tcp")
    time, rtt = column(tcp, "time_s"), column(tcp, "rtt_sample_us") / 1e3
    keep = ~np.isnan(rtt) & (time > WARM_UP_S)
    samples = rtt[keep]
    values: dict[str, Any] = {
        "rtt_mean": float(np.mean(samples)) if len(samples) else np.nan,
        "rtt_least": float(np.min(samples)) if len(samples) else np.nan,
        "rtt_deviation": float(np.std(samples)) if len(samples) else np.nan,
        "delay": float(flow_row(run, "ftp")["delay_mean_s"] or np.nan) * 1e3,
        "goodput": float(flow_row(run, "ftp")["goodput_bps"] or np.nan) / 1e6,
    }
    if run.has_table("radio") and run.table("radio").num_rows:
        for node in ("a", "b"):
            values[f"requests_{node}"] = requests_per_s(run, node)
    if run.shown:
        values["time"], values["rtt"] = time[keep], samples
    return values


def requests_per_s(run: Run, node: str) -> float:
    """Requests for the uplink that `node` sent after the warm-up."""
    radio = run.table("radio")
    mine = pc.and_(pc.equal(radio["ue"], node), pc.equal(radio["direction"], "uplink"))
    sent = pc.sum(radio.filter(pc.and_(mine, pc.greater(radio["time_s"], WARM_UP_S + 1e-6)))["requests"]).as_py()
    return float(sent or 0) / (run.duration_s - WARM_UP_S)


# --- one segment, TTI by TTI ----------------------------


def reduce_steps(run: Run) -> dict[str, Any]:
    """How requests are answered, what rides with reports, and how long packets wait.

    They wait for the next request.
    """
    steps, packets = Steps(run.table("steps")), Packets(run.table("packets"))
    legs = {node: direct_legs(steps, node) for node in ("a", "b")}
    values: dict[str, Any] = {}
    for node, peer in (("a", "b"), ("b", "a")):
        found = legs[node]
        values[f"legs_{node}"] = float(len(found))
        values[f"exact_{node}"] = (
            int(np.sum(np.all(found == list(LEG.values()), axis=1))) / len(found) if len(found) else 0.0
        )
        values[f"asking_{node}"] = asking_share(steps, packets, node, peer)
        values[f"waits_{node}"], values[f"waiting_{node}_ms"], values[f"gap_{node}"] = waiting(steps, packets, node)
        values[f"ridden_{node}"], values[f"ridden_most_{node}"] = riders(steps, node)
    values["trip"] = trip(steps, packets)
    if run.shown:
        values.update(shown_segment(steps, packets))
    return values


class Steps:
    """The columns of the table `steps`."""

    def __init__(self, table: pa.Table) -> None:
        """In the order of the table."""
        self.table = table
        self.time = column(table, "time_s")
        self.tti = ttis(self.time)
        self.packet = np.nan_to_num(column(table, "packet"), nan=-1.0).astype(np.int64)

    def of(self, **texts: str) -> BoolArray:
        """Rows whose columns have these texts."""
        found = np.ones(len(self.time), dtype=bool)
        for name, text in texts.items():
            found &= np.asarray(pc.equal(self.table[name], text))
        return found

    def asks(self, node: str) -> IntArray:
        """The TTIs in which `node` sent a request."""
        return np.unique(self.tti[self.of(step="request", node=node)])


class Packets:
    """The columns of the table `packets`."""

    def __init__(self, table: pa.Table) -> None:
        """In the order of the table."""
        self.time, self.packet = column(table, "time_s"), np.asarray(table.column("packet"), dtype=np.int64)
        self.table = table

    def of(self, event: str, node: str) -> BoolArray:
        """Rows of an event at a node."""
        return np.asarray(pc.and_(pc.equal(self.table["event"], event), pc.equal(self.table["node"], node)))


#: Figure 4: TTIs from the request to report, report decoded and grant, data, data decoded.
LEG = {"report": 5, "report-heard": 9, "grant": 9, "data": 11, "ack": 15}


def ttis(time_s: FloatArray) -> IntArray:
    """The TTIs that begin at, or before, the times."""
    return np.floor(time_s / TTI_S + 1e-6).astype(np.int64)


def direct_legs(steps: Steps, node: str) -> IntArray:
    """For each request of `node` a row: when the first of each step of LEG follows.

    The numbers are TTIs after the request; -1: the step does not follow.
    """
    here, there = steps.of(node=node), steps.of(to=node)
    rows = {
        "report": steps.of(step="report") & (here | there),
        "report-heard": steps.of(step="report-heard") & (here | there),
        "grant": steps.of(link="sidelink", step="grant") & there,
        "data": steps.of(link="sidelink", step="data") & here,
        "ack": steps.of(link="sidelink", step="ack") & there,
    }
    asks = steps.tti[steps.of(step="request", node=node)][:-2]
    legs = np.full((len(asks), len(LEG)), -1)
    for i, what in enumerate(LEG):
        times = np.unique(steps.tti[rows[what]])
        # From the earliest TTI in which it can be: what comes before belongs to the request before.
        at = np.searchsorted(times, asks + (5 if what == "report" else 9))
        known = at < len(times)
        legs[known, i] = times[at[known]] - asks[known]
    return legs


def trip(steps: Steps, packets: Packets) -> float:
    """From the request of a burst to the first ACK that answers it arrives [TTI].

    The most frequent value.
    """
    asks, acks = steps.asks("a"), np.unique(ttis(packets.time[packets.of("received", "a")]))
    if not len(asks) or not len(acks):
        return float("nan")
    at = np.searchsorted(acks, asks + 15)
    trips = (acks[at[at < len(acks)]] - asks[at < len(acks)]).tolist()
    return float(Counter(trips).most_common(1)[0][0]) if trips else float("nan")


def asking_share(steps: Steps, packets: Packets, node: str, peer: str) -> float:
    """The share of a packet's way that passes before its first block is on the air."""
    data = steps.of(step="data", node=node) & (steps.packet >= 0)
    carried, first = np.unique(steps.packet[data], return_index=True)
    aired = dict(zip(carried.tolist(), steps.time[data][first].tolist(), strict=True))
    left, came = packets.of("sent", node), packets.of("received", peer)
    sent = dict(zip(packets.packet[left].tolist(), packets.time[left].tolist(), strict=True))
    received = dict(zip(packets.packet[came].tolist(), packets.time[came].tolist(), strict=True))
    ways = [(aired[p], sent[p], end) for p, end in received.items() if p in sent and p in aired]
    shares = [(air - start) / (end - start) for air, start, end in ways if end > start]
    return float(np.mean(shares)) if shares else float("nan")


def waiting(steps: Steps, packets: Packets, node: str) -> tuple[float, float, float]:
    """Packets that come after the report of a request and before its data block.

    They must be requested again.

    The result is their number, their mean wait for the next request [ms], and the shortest time
    between two requests [TTI].
    """
    asks = steps.asks(node)
    if len(asks) < 3:
        return 0.0, float("nan"), float("nan")
    # Packet 0 is the SYN.
    data = steps.of(step="data", node=node) & (steps.packet > 0)
    carried = set(zip(steps.packet[data].tolist(), steps.tti[data].tolist(), strict=True))
    sent = packets.of("sent", node) & np.isin(packets.packet, steps.packet[data])
    # What comes within a TTI goes with the next one.
    came = np.ceil(packets.time[sent] / TTI_S - 1e-6).astype(np.int64)
    i = np.searchsorted(asks, came, side="right") - 1
    between = (i >= 0) & (i + 1 < len(asks))
    after = came - asks[i]
    late = between & (after > 5) & (after <= 11)
    waits = [
        int(asks[k + 1]) - t
        for p, t, k in zip(packets.packet[sent][late].tolist(), came[late].tolist(), i[late].tolist(), strict=True)
        if not any((p, u) in carried for u in range(t, int(asks[k]) + 13))
    ]
    return float(len(waits)), float(np.mean(waits)) if waits else float("nan"), float(np.min(np.diff(asks)))


def riders(steps: Steps, node: str) -> tuple[float, float]:
    """Whole packets that ride with a report of `node`.

    The result is the share of reports with 1 or 2 of them, and the largest number.
    """
    data = steps.of(step="data", link="uplink", node=node) & (steps.packet >= 0)
    # Each packet once in a TTI; a packet in two blocks is in none of them whole.
    riding = np.unique(np.stack([steps.tti[data], steps.packet[data]]), axis=1)
    packets, blocks = np.unique(riding[1], return_counts=True)
    alone = np.isin(riding[1], packets[blocks == 1])
    reports = np.unique(steps.tti[steps.of(step="report", node=node)])
    # Reports in the small grant that answers a request, after TTI 5.
    reports = reports[np.isin(reports - 5, steps.asks(node))]
    whole = [int(np.sum(alone[riding[0] == t])) for t in reports.tolist()]
    return (float(np.mean([1 <= n <= 2 for n in whole])), float(max(whole))) if whole else (0.0, 0.0)


def reduce_bursts(run: Run) -> dict[str, Any]:
    """Requests of the sender, and bursts, after the warm-up.

    A burst is sidelink blocks of its data in neighbouring TTIs.
    """
    steps = run.table("steps")
    steps = steps.filter(pc.and_(pc.greater(steps["time_s"], WARM_UP_S), pc.equal(steps["node"], "a")))

    def found(step: str, link: str) -> IntArray:
        rows = steps.filter(pc.and_(pc.equal(steps["step"], step), pc.equal(steps["link"], link)))
        return np.unique(ttis(column(rows, "time_s")))

    requests, blocks = found("request", "uplink"), found("data", "sidelink")
    bursts = float(np.sum(np.diff(blocks) > 1) + 1)
    return {"requests": float(len(requests)), "bursts": bursts, "per_burst": len(requests) / bursts}


def shown_segment(steps: Steps, packets: Packets) -> dict[str, Any]:
    """Steps of one burst and its ACKs after a second, from the request on.

    A step has the time [TTI], the sender, the receiver and the action.
    """
    asks = steps.tti[steps.of(step="request", node="a") & (steps.time > 1.0)]
    if not len(asks):
        return {}
    start = int(asks[0])
    near = (steps.tti >= start) & (steps.tti <= start + 31)
    # A block of the report alone carries no packet; that it was decoded is the step `report-heard`.
    bare = steps.of(link="uplink") & (steps.of(step="ack") | (steps.of(step="data") & (steps.packet < 0)))
    chosen = np.flatnonzero(near & ~bare)
    texts = steps.table.select(["node", "to", "step", "link"]).take(chosen).to_pydict().values()
    rows = list(dict.fromkeys(zip((steps.tti[chosen] - start).tolist(), *texts, strict=True)))
    got = np.unique(ttis(packets.time[packets.of("received", "a")]) - start)
    first = got[(got > 15) & (got <= 40)]
    return {"moments": rows, "ack_received": int(first[0]) if len(first) else -1}


# --- mode switches ----------------------------


def switches_of(run: Run) -> list[tuple[float, str, float]]:
    """When the sender changed its way, which way it takes now, and the bytes that were dropped."""
    events = run.table("events")
    mine = pc.and_(pc.equal(events["kind"], "mode-switch"), pc.equal(events["source"], "ue/a"))
    found = events.filter(mine).to_pylist()
    return [(e["time_s"], "direct" if ": direct" in e["detail"] else "infrastructure", e["value"]) for e in found]


def reduce_transfer(run: Run) -> dict[str, Any]:
    """Goodput of a whole run, timeouts, and for each switch what it dropped.

    Also how long nothing was acknowledged.
    """
    flow = flow_row(run, "ftp")
    switches = switches_of(run)
    stalls = [s for s in stalls_after(run, [t for t, _, _ in switches]) if not np.isnan(s)]
    return {
        "goodput": float(flow["app_bytes"]) * 8 / run.duration_s / 1e6,
        "timeouts": float(flow["timeouts"]),
        "recoveries": float(flow["fast_retransmits"]),
        "retransmits": float(flow["retransmits"]),
        "rtt": float(flow["rtt_mean_s"]) * 1e3,
        "switches": float(len(switches)),
        "dropped_kb": float(np.mean([b for _, _, b in switches])) / 1e3 if switches else 0.0,
        "stall_s": float(np.mean(stalls)) if stalls else 0.0,
    }


def stalls_after(run: Run, times: list[float]) -> list[float]:
    """The longest time without progress of the ACKs in the 3 s after each of `times`."""
    if not run.has_table("tcp") or not times:
        return []
    tcp = run.table("tcp")
    t, acked = column(tcp, "time_s"), column(tcp, "bytes_acked")
    moved = t[1:][np.diff(acked) > 0]
    out = []
    for start in times:
        here = moved[(moved >= start - 0.1) & (moved <= start + 3.0)]
        out.append(float(np.max(np.diff(here))) if len(here) > 1 else 3.0)
    return out


def reduce_switches(run: Run) -> dict[str, Any]:
    """What TCP did after each switch.

    The data are samples of the sender every few milliseconds, and its events.
    """
    tcp, events = run.table("tcp"), run.table("events")
    events = events.filter(pc.equal(events["source"], "flow/ftp"))
    t, cwnd, ssthresh = column(tcp, "time_s"), column(tcp, "snd_cwnd"), column(tcp, "snd_ssthresh")
    in_recovery = np.asarray(pc.equal(tcp["ca_state"], "recovery"))
    again, acked = column(tcp, "total_retrans"), column(tcp, "bytes_acked")
    mine = list(zip(column(events, "time_s").tolist(), events["kind"].to_pylist(), strict=True))
    all_: dict[str, list[dict[str, float]]] = {"direct": [], "infrastructure": []}
    switches = switches_of(run)
    for i, (at, to, dropped) in enumerate(switches):
        end = min(at + AFTER_S, switches[i + 1][0] if i + 1 < len(switches) else run.duration_s)
        if end - at < AFTER_S - 1e-6 or at < WARM_UP_S:
            continue
        here = (t >= at) & (t < end)
        kinds = [(when - at, what) for when, what in mine if at <= when < end]
        before = float(cwnd[t < at][-1])
        all_[to].append(
            after_switch(
                kinds, t[here] - at, cwnd[here], ssthresh[here], in_recovery[here], again[here], acked[here], before
            )
            | {"dropped": dropped / (MSS + 40), "before": before}
        )
    values: dict[str, Any] = {}
    for to, found in all_.items():
        values[f"{to}_n"] = float(len(found))
        for name in found[0] if found else ():
            numbers = [f[name] for f in found if not np.isnan(f[name])]
            values[f"{to}_{name}"] = float(np.mean(numbers)) if numbers else np.nan
    values["direct_most_timeouts"] = max((f["timeouts"] for f in all_["direct"]), default=np.nan)
    if run.shown and all_["direct"]:
        values.update(shown_switches(t, cwnd, switches, mine))
    return values


def after_switch(
    kinds: list[tuple[float, str]],
    t: FloatArray,
    cwnd: FloatArray,
    ssthresh: FloatArray,
    in_recovery: BoolArray,
    again: FloatArray,
    acked: FloatArray,
    before: float,
) -> dict[str, float]:
    """Numbers about one switch; times since it [s], windows in segments. NaN: did not happen."""

    def first(what: str, since: float = 0.0) -> float:
        return next((when for when, kind in kinds if kind == what and when >= since), np.nan)

    entered = first("recovery-enter")
    left = first("recovery-exit", entered) if not np.isnan(entered) else np.nan
    timeout = first("rto")
    second = first("recovery-enter", timeout + 1e-6) if not np.isnan(timeout) else np.nan
    early = t < (timeout if not np.isnan(timeout) else entered + 1.0 if not np.isnan(entered) else 1.0)
    cut = ssthresh[(t > entered) & early]
    in_force = cwnd[(t > entered) & early & ~in_recovery]
    swollen = cwnd[in_recovery & early]
    kept = bool(np.any(in_recovery & (t > timeout) & (cwnd <= 2.0))) if not np.isnan(timeout) else False
    settled = (cwnd >= 0.9 * RWND) & (t > (second if not np.isnan(second) else timeout if not np.isnan(timeout) else 0))
    settled &= ~in_recovery & (t > (entered if not np.isnan(entered) else 0.0))
    progress = t[1:][np.diff(acked) > 0]
    return {
        "entered": entered,
        "left": left,
        "recovery_s": left - entered,
        "timeout": timeout,
        "silence_s": timeout - left if left < timeout else np.nan,
        "timeouts": float(sum(kind == "rto" for _, kind in kinds)),
        "second": second - timeout,
        "second_share": float(not np.isnan(second)),
        "entered_share": float(not np.isnan(entered)),
        "cut": float(cut[0]) / min(before, RWND) if len(cut) else np.nan,
        "after": float(np.min(in_force)) if len(in_force) else float(cut[0]) if len(cut) else np.nan,
        "inflated": float(np.max(swollen) - cut[0]) if len(cut) and len(swollen) else 0.0,
        "kept_recovery": float(kept),
        "again": float(again[-1] - again[0]),
        "back_s": float(t[settled][0]) if np.any(settled) else AFTER_S,
        "stall_s": float(np.max(np.diff(progress))) if len(progress) > 1 else np.nan,
    }


def shown_switches(
    t: FloatArray, cwnd: FloatArray, switches: list[tuple[float, str, float]], mine: list[tuple[float, str]]
) -> dict[str, Any]:
    """The window around the last switch to each way that has room after it; its events."""
    out: dict[str, Any] = {}
    for at, to, _ in switches:
        if at < WARM_UP_S or at + 8.0 > t[-1]:
            continue
        near = (t > at - 2.0) & (t < at + 8.0)
        second = [when for when, what in mine if what == "recovery-enter" and at < when < at + 8.0]
        out[f"{to}_at"] = at
        out[f"{to}_time"], out[f"{to}_cwnd"] = t[near], cwnd[near] * MSS / 1e3
        out[f"{to}_events"] = second
    return out


def reduce_burst(run: Run) -> dict[str, Any]:
    """The first switch to the sidelink in detail.

    The result has the lost segments, and the duplicate ACKs that report them.
    """
    switches = [s for s in switches_of(run) if s[1] == "direct" and s[0] > WARM_UP_S]
    if not switches:
        return {"lost": 0.0, "duplicates": 0.0, "together_ms": np.nan}
    at = switches[0][0]
    drops, packets = run.table("drops"), run.table("packets")
    gone = np.asarray(pc.equal(drops["cause"], "mode-switch")) & (np.abs(column(drops, "time_s") - at) < TTI_S)
    mine = pc.and_(pc.equal(packets["event"], "received"), pc.equal(packets["node"], "a"))
    rows = packets.filter(pc.and_(_between(packets, at, at + 1.0), pc.and_(mine, pc.equal(packets["len"], 0))))
    acks = list(zip(column(rows, "time_s").tolist(), rows["ack"].to_pylist(), strict=True))
    duplicates = [later[0] for earlier, later in itertools.pairwise(acks) if later[1] == earlier[1]]
    few = duplicates[:8]
    return {
        "lost": float(np.sum(gone)),
        "duplicates": float(len(duplicates)),
        "together_ms": (few[-1] - few[0]) * 1e3 if len(few) > 2 else np.nan,
    }


def _between(table: pa.Table, start: float, end: float) -> Any:
    time = table.column("time_s")
    return pc.and_(pc.greater_equal(time, start), pc.less(time, end))


# --- several pairs ----------------------------


def reduce_pairs(run: Run) -> dict[str, Any]:
    """Sum of the goodputs, mean round trip, Jain's index."""
    rows = [r for r in run.table("flows").to_pylist() if r["flow"].startswith("ftp") and r["start_s"] is not None]
    good = np.array([float(r["app_bytes"]) * 8 / run.duration_s / 1e6 for r in rows])
    rtt = [r["rtt_mean_s"] for r in rows if r["rtt_mean_s"]]
    return {
        "sum": float(good.sum()),
        "mean": float(good.mean()),
        "least": float(good.min()),
        "rtt": float(np.mean(rtt)) * 1e3 if rtt else np.nan,
        "jain": float(good.sum() ** 2 / (len(good) * (good**2).sum())) if good.any() else np.nan,
        "timeouts": float(np.mean([float(r["timeouts"]) for r in rows])),
    }


def reduce_datagrams(run: Run) -> dict[str, Any]:
    """Throughput of UDP with a full queue [Mbit/s].

    It is counted like the payload of TCP in packets of the same size.
    """
    row = flow_row(run, "datagrams")
    return {"goodput": float(row["rx_packets"]) * MSS * 8 / run.duration_s / 1e6}
