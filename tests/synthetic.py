"""Made-up results with the documented columns.

For tests of plots and reports that need no simulation.
"""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa

SECONDS = 40.0
SEGMENT = 1460


class MadeUp:
    """A `Source` of results.

    A saw-tooth TCP flow `ftp`, a second one `web`, and a UDP flow `voice`.
    """

    def __init__(self, samples: int = 400, packets: bool = True, first_seq: int = 1) -> None:
        self._tables = {
            "flows": _flows(),
            "tcp": pa.concat_tables([_tcp("ftp", samples, 0.0), _tcp("web", samples, 3.0)]),
            "queues": _queues(samples),
            "rlc": _rlc(samples),
            "mac": _mac(),
            "events": _events(),
            "drops": _drops(),
        }
        if packets:
            self._tables["packets"] = _packets(first_seq)

    @property
    def manifest(self) -> str:
        return json.dumps(
            {
                "format": 1,
                "lasthop": "0.1.0",
                "name": "made-up <b>",
                "seed": 3,
                "scenario": '[scenario]\nname = "made-up"\ndescription = "what & why"\n',
                "scenario_hash": "abc",
            }
        )

    @property
    def summary(self) -> str:
        return json.dumps({"packets": {"sent": {"packets": 1200, "bytes": 5000}, "made": {"packets": 0, "bytes": 0}}})

    def table_names(self) -> list[str]:
        return list(self._tables)

    def table(self, name: str) -> pa.Table:
        return _named(self._tables[name])


def _named(table: pa.Table) -> pa.Table:
    """Text columns as the core writes names: each stored once, dictionary-encoded."""
    for i, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            table = table.set_column(i, field.name, table[field.name].dictionary_encode())
    return table


def _flows() -> pa.Table:
    def row(name: str, transport: str, src: str, dst: str, **more: object) -> dict[str, object]:
        return {"flow": name, "src": src, "dst": dst, "transport": transport, **more}

    tcp = {"goodput_bps": 312_345.6, "rtt_mean_s": 0.412, "rtt_max_s": 1.2, "delay_mean_s": 0.39, "retransmits": 12}
    common = {"app_bytes": 1_234_567, "lost_dropped": 12, "timeouts": 1, "fast_retransmits": 3, "jitter_mean_s": 2e-4}
    return pa.Table.from_pylist(
        [
            row("ftp", "tcp", "server", "ue", cc="reno", **tcp, **common),
            row("web", "tcp", "server", "ue", cc="vegas", **tcp, **common),
            row("voice", "udp", "ue", "server", cc=None, goodput_bps=12_200.0, **common),
        ]
    )


def _tcp(flow: str, n: int, start: float) -> pa.Table:
    t = np.linspace(start, SECONDS, n)
    saw = 4 + 20 * (t % 7) / 7
    sample = pa.array(1e6 * (0.15 + saw / 60), pa.float64())
    mask = np.arange(n) % 5 == 0
    return pa.table(
        {
            "time_s": t,
            "flow": [flow] * n,
            "trigger": ["ack"] * n,
            "snd_cwnd": np.floor(saw),
            "snd_ssthresh": np.where(t < 7, -1.0, 12.0),
            "rtt_us": (1e6 * (0.14 + saw / 60)).astype(np.int64),
            "rtt_sample_us": pa.array(np.asarray(sample), mask=mask).cast(pa.int64(), safe=False),
            # Acknowledged in steps of four seconds, as after losses; arrived all the while.
            "bytes_acked": (160_000 * np.floor((t - start) / 4)).astype(np.uint64),
            "bytes_arrived": (40_000 * (t - start)).astype(np.uint64),
        }
    )


def _packets(first_seq: int) -> pa.Table:
    rows = []
    for i in range(300):
        t = 0.1 * i
        seq = first_seq + SEGMENT * i
        again = i in (100, 101, 200)
        base = {"packet": i, "flow": "ftp", "size": SEGMENT + 40, "len": SEGMENT, "flags": "A"}
        rows.append(
            {"time_s": t, "node": "server", "event": "sent", "seq": seq, "ack": 1, "retransmission": False, **base}
        )
        if again:
            rows.append({**rows[-1], "time_s": t + 0.05, "retransmission": True})
        back = {**base, "len": 0, "size": 40, "retransmission": False, "seq": 1}
        ack = seq + SEGMENT
        rows.append({"time_s": t + 0.08, "node": "server", "event": "received", "ack": ack, **back})
    voice = {"flow": "voice", "node": "server", "event": "received", "size": 60, "len": 32, "seq": 0, "ack": 0}
    quiet = {"flags": "", "retransmission": False}
    rows.extend({"time_s": 0.02 * i, "packet": 5000 + i, **voice, **quiet} for i in range(900))
    return pa.Table.from_pylist(sorted(rows, key=lambda r: r["time_s"]))  # type: ignore[arg-type,return-value]


def _queues(n: int) -> pa.Table:
    t = np.linspace(0, SECONDS, n)
    full = (10 + 8 * np.sin(t)).astype(np.uint32)
    return pa.table(
        {
            "time_s": np.r_[t, t],
            "queue": ["wired.forward"] * n + ["wired.reverse"] * n,
            "packets": np.r_[full, 0 * full],
            "bytes": np.r_[full * 1500, 0 * full],
            "marked": np.r_[0 * full, 0 * full],
        }
    )


def _rlc(n: int) -> pa.Table:
    t = np.linspace(0, SECONDS, n)
    waiting = (20 + 15 * np.cos(t)).astype(np.uint32)
    return pa.table(
        {
            "time_s": t,
            "bearer": ["dch"] * n,
            "direction": ["downlink"] * n,
            "queue_sdus": waiting,
            "queue_bytes": waiting * 1500,
        }
    )


def _mac() -> pa.Table:
    return pa.table({"time_s": [1.0], "bearer": ["dch"], "direction": ["downlink"], "blocks_sent": [10]})


def _events() -> pa.Table:
    return pa.Table.from_pylist(
        [
            {"time_s": 7.0, "source": "flow/ftp", "kind": "rto", "value": 1.5, "detail": "<script>alert(1)</script>"},
            {"time_s": 9.0, "source": "flow/ftp", "kind": "recovery", "value": None, "detail": ""},
        ]
    )


def _drops() -> pa.Table:
    one = {"packet": 1, "flow": "ftp", "where": "link/wired", "cause": "queue full", "size": 1500}
    return pa.Table.from_pylist(
        [{**one, "time_s": 7.0}, {**one, "time_s": 7.1}, {**one, "time_s": 8.0, "cause": "loss"}]
    )
