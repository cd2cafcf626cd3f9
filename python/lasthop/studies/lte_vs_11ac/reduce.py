"""What is kept of a run: the flow monitor's four metrics over the stations.

Also loss counted in three ways, and time series.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lasthop.harness import Run

if TYPE_CHECKING:
    from lasthop.harness.stats import FloatArray

#: Bins of the time series.
BIN_S = 1.0
#: The start of a run, in which a dip is looked for.
START_S = 5.0


def reduce_cell(run: Run) -> dict[str, Any]:
    """One run of the cell: means over the stations, totals of the losses."""
    flows = run.table("flows")
    sent = max(float(column(flows, "tx_packets").sum()), 1.0)
    goodput = column(flows, "goodput_bps")
    values: dict[str, Any] = {
        "goodput_mbps": float(np.nanmean(goodput)) / 1e6,
        "cell_mbps": float(np.nansum(goodput)) / 1e6,
        "delay_ms": mean(column(flows, "delay_mean_s")) * 1e3,
        "jitter_ms": mean(column(flows, "jitter_mean_s")) * 1e3,
        "loss_undelivered": float(column(flows, "lost_undelivered").sum()) / sent,
        "loss_dropped": dropped_packets(run, flows) / sent,
        "loss_retransmitted": float(column(flows, "lost_retransmitted").sum()) / sent,
        "jain": jain(goodput),
        "timeouts": float(np.nansum(column(flows, "timeouts"))),
        "fast_retransmits": float(np.nansum(column(flows, "fast_retransmits"))),
        "cwnd_mean": mean(column(flows, "cwnd_mean")),
        **radio(run, over_wifi(flows)),
    }
    if run.has_table("tcp") and run.table("tcp").num_rows:
        values["start_dip"] = start_dip(acknowledged(run.table("tcp")))
    shared = over_wifi(flows) and run.has_table("wifi")
    values["jain_airtime"] = jain(airtime(run.table("wifi"))) if shared else float("nan")
    if run.shown:
        values["causes"] = dict(
            zip(*(c.to_pylist() for c in pc.value_counts(run.table("drops")["cause"]).flatten()), strict=True)
        )
        values["stations"] = {"goodput_mbps": (goodput / 1e6).tolist(), **rates(run, flows)}
    return values


def dropped_packets(run: Run, flows: pa.Table) -> float:
    """Data packets of which something was dropped.

    `lost_dropped` counts fragments singly, of 3000 B up to three times.

    The table `drops` has the fragments of a packet under its number, and ACKs, which are never
    fragmented, beside them.
    """
    drops = run.table("drops")
    acks: float = drops.num_rows - float(column(flows, "lost_dropped").sum())
    return len(pc.unique(drops["packet"])) - acks


def reduce_series(run: Run) -> dict[str, Any]:
    """One run with every packet written down: the four metrics in bins of a second."""
    values = reduce_cell(run)
    if run.shown:
        values["series"] = series(run.table("packets"), run.duration_s)
    return values


def series(packets: pa.Table, end_s: float) -> dict[str, FloatArray]:
    """Per bin: data received, loss, mean delay, jitter.

    Loss is the share of retransmissions and of datagrams that never arrived in what was sent.

    A packet counts in the bin in which it arrives, for loss in that in which it was sent.
    """
    data = packets.filter(pc.greater(packets["len"], 0))
    sent = data.filter(pc.equal(data["event"], "sent"))
    got = data.filter(pc.equal(data["event"], "received"))
    edges = np.arange(0.0, end_s + BIN_S / 2, BIN_S)
    start, number = column(sent, "time_s"), column(sent, "packet")
    order = np.argsort(number)
    arrived, which = column(got, "time_s"), column(got, "packet")
    delay = arrived - start[order][np.searchsorted(number[order], which)]
    stations = max(len(pc.unique(data["flow"])), 1)
    _, flow = np.unique(got["flow"].cast(pa.string()).to_numpy(zero_copy_only=False), return_inverse=True)
    jitter, jitter_at = successive(delay, arrived, flow)
    never = ~np.isin(number, which)
    with np.errstate(invalid="ignore", divide="ignore"):
        return {
            "time_s": edges[:-1],
            "thr": np.histogram(arrived, edges, weights=column(got, "len"))[0] * 8 / BIN_S / 1e6 / stations,
            "loss": np.histogram(start[never], edges)[0] / np.histogram(start, edges)[0],
            "dly": np.histogram(arrived, edges, weights=delay)[0] / np.histogram(arrived, edges)[0] * 1e3,
            "jit": np.histogram(jitter_at, edges, weights=jitter)[0] / np.histogram(jitter_at, edges)[0] * 1e3,
        }


def successive(delay: FloatArray, arrived: FloatArray, flow: Any) -> tuple[FloatArray, FloatArray]:
    """Absolute differences of delays of successive packets of one flow, and when.

    Successive as they were received.
    """
    order = np.lexsort((arrived, flow))
    same = np.diff(flow[order]) == 0
    return np.abs(np.diff(delay[order]))[same], arrived[order][1:][same]


def acknowledged(tcp: pa.Table) -> FloatArray:
    """Bytes that all stations together acknowledged, at each moment of sampling."""
    time, acked = column(tcp, "time_s"), column(tcp, "bytes_acked")
    moments, index = np.unique(time, return_inverse=True)
    return np.stack([moments, np.bincount(index, weights=acked)])


def start_dip(acked: FloatArray) -> float:
    """The lowest of the first seconds with an acknowledgement, over the mean of later ones.

    The table is sampled once a second. A flow that starts well has about 1; a deep dip is below a
    half.
    """
    time, total = acked
    rate = np.diff(total) / np.diff(time)
    begun = np.flatnonzero(rate > 0)
    if not len(begun):
        return float("nan")
    rate = rate[begun[0] :]
    first = int(START_S / BIN_S)
    if len(rate) <= first:
        return float("nan")
    later = float(rate[first:].mean())
    return float(rate[:first].min()) / later if later > 0 else float("nan")


def over_wifi(flows: pa.Table) -> bool:
    """Whether the flows end at stations of the access point."""
    return "dst" in flows.column_names and str(flows["dst"][0].as_py()).startswith("laptop")


def airtime(wifi: pa.Table) -> FloatArray:
    """Time on the air of each station's frames, both ways."""
    return column(wifi.group_by("station").aggregate([("airtime_s", "sum")]), "airtime_s_sum")


def rates(run: Run, flows: pa.Table) -> dict[str, list[float]]:
    """The mean rate of the PPDUs to each station, in the order of the flows; nothing over LTE."""
    if not over_wifi(flows) or not run.has_table("wifi"):
        return {}
    table = run.table("wifi")
    down = table.filter(pc.equal(table["direction"], "downlink")).select(["station", "rate_bps"])
    found = down.group_by("station").aggregate([("rate_bps", "mean")])
    by_station = dict(zip(found["station"].to_pylist(), found["rate_bps_mean"].to_pylist(), strict=True))
    return {"rate_mbps": [(by_station.get(s) or float("nan")) / 1e6 for s in flows["dst"].to_pylist()]}


def radio(run: Run, wifi: bool) -> dict[str, float]:
    """Means over the stations' downlinks of what radio tables count at the end.

    They are present where the run has such tables.
    """
    name = "wifi" if wifi else "radio"
    if not run.has_table(name) or not run.table(name).num_rows:
        return {}
    table = run.table(name)
    down = table.filter(pc.equal(table["direction"], "downlink")) if "direction" in table.column_names else table
    return {
        name: mean(column(down, source))
        for name, source in (("sinr_db", "snr_db" if wifi else "sinr_db"), ("cqi", "cqi"), ("mcs", "mcs"))
        if source in down.column_names
    }


def jain(x: FloatArray) -> float:
    """Jain's index: 1 when all are equal."""
    squares = float((x**2).sum())
    return float(x.sum()) ** 2 / (len(x) * squares) if squares else float("nan")


def mean(x: FloatArray) -> float:
    """Mean of what is known; NaN when nothing is."""
    known = x[~np.isnan(x)]
    return float(known.mean()) if len(known) else float("nan")


def column(table: Any, name: str) -> FloatArray:
    """A column as floats; null is NaN."""
    values: FloatArray = table[name].to_numpy(zero_copy_only=False).astype(np.float64)
    return values
