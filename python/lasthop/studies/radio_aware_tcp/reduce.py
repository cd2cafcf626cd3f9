"""What is kept of a run: numbers of the phone's flows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from lasthop.harness import Run
    from lasthop.harness.stats import FloatArray

#: Packets of a full segment hold 1448 B of data with timestamps, in 1500 B.
PAYLOAD = 1448 / 1500
#: Served rate is looked at over this time [s].
WINDOW_S = 0.1


def flow(run: Run, name: str) -> dict[str, Any]:
    """The row of a flow."""
    return next(f for f in run.table("flows").to_pylist() if f["flow"] == name)


def number(value: float | None) -> float:
    """A number; not a number where there is none."""
    return float("nan") if value is None else float(value)


def reduce_download(run: Run) -> dict[str, Any]:
    """A full buffer: goodput, round trip, delay, losses and when they happened."""
    down = flow(run, "down")
    drops = [d["time_s"] for d in run.table("drops").to_pylist() if d["flow"] == "down"]
    thirds = np.histogram(drops, bins=6, range=(1.0, run.duration_s))[0] if drops else np.zeros(6)
    return {
        "goodput": down["goodput_bps"] / 1e6,
        "ip_rate": down["throughput_bps"] / 1e6,
        "rtt": number(down["rtt_mean_s"]) * 1e3,
        "delay": number(down["delay_mean_s"]) * 1e3,
        "delay_max": number(down["delay_max_s"]) * 1e3,
        "lost": float(len(drops)),
        "parts_with_losses": float((thirds > 0).sum()),
        "timeouts": number(down["timeouts"]),
    }


def reduce_air(run: Run) -> dict[str, Any]:
    """Datagrams that always wait: the air-link rate of IP packets, and of TCP data in full segments."""
    rate = flow(run, "air")["throughput_bps"] / 1e6
    return {"ip_rate": rate, "goodput": rate * PAYLOAD}


def reduce_objects(run: Run) -> dict[str, Any]:
    """Bursts that were asked for: their mean time."""
    down = flow(run, "down")
    return {"latency": number(down["request_time_mean_s"]), "bursts": number(down["requests"])}


def reduce_files(run: Run) -> dict[str, Any]:
    """Connections of one burst each: mean time from the start to the last byte."""
    rows = [f for f in run.table("flows").to_pylist() if f["flow"].startswith("down")]
    took = [f["completion_s"] for f in rows if f["completion_s"] is not None]
    return {"latency": float(np.mean(took)) if took else float("nan"), "done": float(len(took))}


def reduce_web(run: Run) -> dict[str, Any]:
    """A download beside web objects."""
    return {
        "object": number(flow(run, "web")["request_time_mean_s"]) * 1e3,
        "objects": number(flow(run, "web")["requests"]),
        "goodput": flow(run, "down")["goodput_bps"] / 1e6,
    }


def reduce_prediction(run: Run) -> dict[str, Any]:
    """What is told against what is served, and how far an estimate of the queue runs from the real one."""
    hints, tcp = run.table("hints"), run.table("tcp")
    time, rate = column(hints, "time_s"), column(hints, "rate_bps")
    real = column(hints, "real_queue_bytes")
    told = hints.column("queue_bytes").null_count == 0
    down = np.asarray(tcp.column("flow").to_pylist()) == "down"
    when, sent, acked = (column(tcp, name)[down] for name in ("time_s", "snd_nxt", "bytes_acked"))
    edges = np.arange(3.0, run.duration_s - WINDOW_S, WINDOW_S)
    served = np.diff(np.interp(edges, when, acked)) * 8 / WINDOW_S
    mean = np.asarray([rate[(time >= a) & (time < a + WINDOW_S)].mean() for a in edges[:-1]])
    error = float(np.abs(mean - served).mean() / served.mean())
    late = time > 3.0
    octets = np.interp(time[late], when, sent)
    free = drift(time[late], rate[late], octets, real[late], None)
    held = drift(time[late], rate[late], octets, real[late], 0.1) if told else float("nan")
    return {"error": error, "free": free / 1e3, "held": held / 1e3, "told": float(told)}


def drift(time: FloatArray, rate: FloatArray, sent: FloatArray, real: FloatArray, correct: float | None) -> float:
    """Mean distance of the estimate Q += sent - R dt (not below 0) from the real queue [B].

    With `correct` [s] the estimate is set to a report of the real one that often.
    """
    estimate, since, total = real[0], time[0], 0.0
    for i in range(1, len(time)):
        estimate = max(estimate + (sent[i] - sent[i - 1]) - rate[i - 1] / 8 * (time[i] - time[i - 1]), 0.0)
        total += abs(estimate - real[i])
        if correct is not None and time[i] - since >= correct:
            estimate, since = real[i], time[i]
    return total / (len(time) - 1)


def column(table: Any, name: str) -> FloatArray:
    """A column as floats."""
    return np.asarray(table.column(name).to_numpy(zero_copy_only=False), dtype=float)
