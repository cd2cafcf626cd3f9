"""What is kept of a run: numbers of the phone's flows."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from lasthop.harness import Run
    from lasthop.harness.stats import FloatArray

#: Packets of a full segment hold 1448 B of data with timestamps, in 1500 B.
PAYLOAD = 1448 / 1500
#: Served rate is looked at over this time [s].
WINDOW_S = 0.1
#: Octets of a burst, and what a sender has sent beyond the last one when it is in the next [B].
BURST, SLACK = 2e6, 100.0
#: An estimate of the queue is looked at when it was left alone for this long [s].
AGES_S = (0.1, 1.0, 10.0)
#: The shown trace keeps this much of its beginning [s].
TRACE_S = 12.0


def flow(run: Run, name: str) -> dict[str, Any]:
    """The row of a flow."""
    return next(f for f in run.table("flows").to_pylist() if f["flow"] == name)


def of_flow(table: Any, name: str) -> Any:
    """The rows of a flow."""
    return table.filter(pc.equal(table.column("flow"), name))


def number(value: float | None) -> float:
    """A number; not a number where there is none."""
    return float("nan") if value is None else float(value)


def reduce_download(run: Run) -> dict[str, Any]:
    """A full buffer: goodput, round trip, delay, losses and when they happened."""
    down = flow(run, "down")
    # Behind a proxy the last hop is a connection of its own; the flow's own packets end at the
    # proxy.
    last = next((f for f in run.table("flows").to_pylist() if f["flow"].startswith("down@")), down)
    drops = column(of_flow(run.table("drops"), "down"), "time_s")  # most are the background's: millions
    parts = np.histogram(drops, bins=6, range=(1.0, run.duration_s))[0]
    return {
        "goodput": down["goodput_bps"] / 1e6,
        "ip_rate": down["throughput_bps"] / 1e6,
        "rtt": number(last["rtt_mean_s"]) * 1e3,
        "delay": number(last["delay_mean_s"]) * 1e3,
        "delay_p95": number(last["delay_p95_s"]) * 1e3,
        "lost": float(len(drops)),
        "parts_with_losses": float((parts > 0).sum()),
        "timeouts": number(down["timeouts"]),
    }


def reduce_air(run: Run) -> dict[str, Any]:
    """A full queue of datagrams: the air-link rate of IP packets.

    Also the rate of TCP data in full segments.
    """
    rate = flow(run, "air")["throughput_bps"] / 1e6
    return {"ip_rate": rate, "goodput": rate * PAYLOAD}


def reduce_objects(run: Run) -> dict[str, Any]:
    """Bursts that were requested: their mean time, and the time of each."""
    down = next(a for a in run.table("applications").to_pylist() if a["flow"] == "down")
    found: dict[str, Any] = {
        "latency": number(down["time_mean_s"]),
        "bursts": number(down["completed"]),
        "median": number(down["time_median_s"]),
        "p95": number(down["time_p95_s"]),
        "longest": number(down["time_max_s"]),
        "timeouts": number(flow(run, "down")["timeouts"]),
    }
    if run.shown:
        found["times_s"] = burst_times(run.table("tcp"))
    return found


def burst_times(tcp: Any) -> FloatArray:
    """How long each burst took at its sender, from its first octet to the last acknowledgement.

    The sender begins and ends the uplink's delay later than the receiver requests and has it.
    Samples come every 10 ms.
    """
    when, acked = column(tcp, "time_s"), column(tcp, "bytes_acked")
    sent = np.maximum.accumulate(column(tcp, "snd_nxt"))
    whole = np.arange(acked[-1] // BURST) * BURST
    # The sample before the one in which more was sent than the bursts before have.
    begins = when[np.maximum(np.searchsorted(sent, whole + SLACK) - 1, 0)]
    ends: FloatArray = when[np.searchsorted(acked, whole + BURST)]
    return ends - begins


def reduce_files(run: Run) -> dict[str, Any]:
    """Connections of one burst each: mean time from the start to the last byte."""
    rows = [f for f in run.table("flows").to_pylist() if f["flow"].startswith("down")]
    took = [f["completion_s"] - f["start_s"] for f in rows if f["completion_s"] is not None]
    return {"latency": float(np.mean(took)) if took else float("nan"), "done": float(len(took))}


def reduce_web(run: Run) -> dict[str, Any]:
    """A download beside web objects."""
    return {
        "object": number(flow(run, "web")["request_time_mean_s"]) * 1e3,
        "objects": number(flow(run, "web")["requests"]),
        "goodput": flow(run, "down")["goodput_bps"] / 1e6,
        "delay_p95": number(flow(run, "down")["delay_p95_s"]) * 1e3,
    }


def reduce_mix(run: Run) -> dict[str, Any]:
    """Files, web pages and video in one queue: what their user waits for."""
    apps = {a["flow"]: a for a in run.table("applications").to_pylist()}
    files, pages, video = apps["down"], apps["pages"], apps["video"]
    return {
        "file": number(files["time_mean_s"]),
        "page": number(pages["time_mean_s"]),
        "page_p95": number(pages["time_p95_s"]),
        "pages": float(pages["completed"]),
        "bitrate": number(video["bitrate_mean_bps"]) / 1e6,
        "switches": number(video["switches"]),
        "stalls": number(video["stalls"]),
        "stalled": number(video["stalled_s"]),
        "startup": number(video["startup_s"]),
    }


def reduce_users(run: Run) -> dict[str, Any]:
    """Several downloads: the sum of their rates, how equal they are, the mean of their delays."""
    rows = [f for f in run.table("flows").to_pylist() if f["flow"].startswith("down")]
    rates = np.asarray([f["goodput_bps"] for f in rows]) / 1e6
    return {
        "goodput": float(rates.sum()),
        "jain": float(rates.sum() ** 2 / (len(rates) * (rates**2).sum())),
        "rtt": float(np.mean([number(f["rtt_mean_s"]) for f in rows])) * 1e3,
        "delay_p95": float(np.mean([number(f["delay_p95_s"]) for f in rows])) * 1e3,
    }


def reduce_rivals(run: Run) -> dict[str, Any]:
    """A download and a flow without hints: their rates."""
    down, rival = (flow(run, name)["goodput_bps"] / 1e6 for name in ("down", "rival"))
    return {"goodput": down, "rival": rival, "share": down / (down + rival)}


def reduce_trace(run: Run) -> dict[str, Any]:
    """Figure 2: window, layer-2 queue and rate of the link over the first seconds."""
    found = reduce_download(run)
    if run.shown:
        tcp, hints = of_flow(run.table("tcp"), "down"), run.table("hints")
        early = column(tcp, "time_s") < TRACE_S
        heard = column(hints, "time_s") < TRACE_S
        found |= {
            "time_s": column(tcp, "time_s")[early],
            "cwnd": column(tcp, "snd_cwnd")[early],
            "hint_time_s": column(hints, "time_s")[heard],
            "queue_bytes": column(hints, "real_queue_bytes")[heard],
            "rate_bps": column(hints, "rate_bps")[heard],
        }
    return found


def reduce_prediction(run: Run) -> dict[str, Any]:
    """The reported rate beside the served rate.

    Also how far an estimate of the queue is from the real one.

    Reports carry the time at which they were made. At this time layer 2 has received the data that
    left the sender one wire delay before.
    """
    hints, tcp = run.table("hints"), of_flow(run.table("tcp"), "down")
    time, rate = column(hints, "time_s"), column(hints, "rate_bps")
    real = column(hints, "real_queue_bytes")
    has_queue = hints.column("queue_bytes").null_count == 0
    when, sent, acked = (column(tcp, name) for name in ("time_s", "snd_nxt", "bytes_acked"))
    edges = np.arange(3.0, run.duration_s - WINDOW_S, WINDOW_S)
    served = np.diff(np.interp(edges, when, acked)) * 8 / WINDOW_S
    mean = np.asarray([rate[(time >= a) & (time < a + WINDOW_S)].mean() for a in edges[:-1]])
    error = float(np.abs(mean - served).mean() / served.mean())
    late = time > 3.0
    # Octets that have left the sender and could be at layer 2, and those that have left layer 2
    # by the reported rates.
    arrived = np.interp(time[late] - wire_delay(run), when, sent)
    gone = np.concatenate(([0.0], np.cumsum(rate[late][:-1] / 8 * np.diff(time[late]))))
    estimate, queue = arrived - gone, real[late]
    alone = {age: drift(time[late], estimate, queue, age) for age in AGES_S}
    # Each report that comes, one a period, corrects it; where no report has the queue it is never
    # corrected.
    every = float(np.median(np.diff(time[late]))) if has_queue else float(time[late][-1] - time[late][0]) / 2
    scenario = tomllib.loads(run.scenario.to_toml())
    return {
        "error": error,
        **{f"free_{age:g}": off / 1e3 for age, off in alone.items()},
        "corrected": drift(time[late], estimate, queue, every) / 1e3,
        "empty": stuck(estimate, float(queue[0])),
        "threshold": octets(scenario["flow"]["down"]["tcp"]["hint_queue_threshold"]) / 1e3,
    }


def wire_delay(run: Run) -> float:
    """One way from the server to the eNB [s]."""
    scenario = tomllib.loads(run.scenario.to_toml())
    value, unit = scenario["link"]["core"]["delay"].split()
    return float(value) * {"s": 1.0, "ms": 1e-3, "us": 1e-6}[unit]


def octets(value: str) -> float:
    """A quantity of data [B]."""
    number_, unit = value.split()
    return float(number_) * {"B": 1.0, "kB": 1e3, "KiB": 1024.0, "MB": 1e6}[unit]


def drift(time: FloatArray, estimate: FloatArray, real: FloatArray, age: float) -> float:
    """Mean distance [B] of the estimate from the real queue.

    `age` [s] after it was last set to it.
    """
    steps = max(round(age / float(np.median(np.diff(time)))), 1)
    off = estimate - real
    return float(np.abs(off[steps:] - off[:-steps]).mean())


def stuck(estimate: FloatArray, first: float) -> float:
    """Share of the time in which the same estimate stands at 0 when it is not let below."""
    level, zeros = first, 0
    for step in np.diff(estimate):
        level = max(level + step, 0.0)
        zeros += level == 0.0
    return zeros / max(len(estimate) - 1, 1)


def column(table: Any, name: str) -> FloatArray:
    """A column as floats."""
    return np.asarray(table.column(name).to_numpy(zero_copy_only=False), dtype=float)
