"""The state of TCP senders at a moment, in the words of `ss -i`.

Names, order, conditions and number formats are those of `tcp_stats_print` in iproute2's misc/ss.c.
Fields that the table `tcp` does not have (wscale, mss, segs_out, delivery_rate, busy and others) do
not appear. One condition differs: ss.c hides a timeout of exactly 3 s, which old kernels had before
the first sample.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from lasthop._errors import mistake
from lasthop.export._content import needed

if TYPE_CHECKING:
    from lasthop._results import Results

#: Thresholds of so many segments or more are not shown, as ss.c does it: Linux's infinity is
#: 0x7fffffff.
_NO_THRESHOLD = 0xFFFF


@dataclass(frozen=True)
class Socket:
    """A sender at its last sample that is not after the requested moment."""

    #: Name of the flow.
    flow: str
    #: Node of the sender.
    src: str
    #: Node of the receiver.
    dst: str
    #: Name of the congestion control; None: the run does not say.
    cc: str | None
    #: The sample: a row of the table `tcp`.
    sample: dict[str, Any]

    @property
    def line(self) -> str:
        """The fields as `ss -i` prints them: times in ms, the rest as the kernel counts it."""
        return " ".join(_fields(self.cc, self.sample))


def sockets_at(results: Results, at_s: float, flow: str | None = None) -> list[Socket]:
    """The senders of a run at a moment.

    Args:
        results: the run; it needs the table `tcp`.
        at_s: the moment in seconds of virtual time, from 0 to the end of the run.
        flow: only this flow; None: all that have a sample by then, in the order of the table
            `flows`.

    Raises:
        LasthopError: no table `tcp`, no such flow, no sample by then, or a moment after the end of
            the run.
    """
    table = needed(results, "flows", ("flow", "src", "dst", "cc", "end_s"))
    end_s = pc.max(table["end_s"]).as_py()
    if end_s is not None and at_s > end_s:
        raise mistake(f"the run ends at {end_s:g} s: there is no state at {at_s:g} s", "give an earlier moment")
    flows = {row["flow"]: row for row in table.to_pylist()}
    needed(results, "tcp", ("time_s", "flow"))
    table = results.table("tcp")
    if flow is not None:
        if flow not in flows:
            raise mistake(f"there is no flow '{flow}' in this run", f"its flows are: {_some(list(flows))}")
        table = table.filter(pc.equal(table["flow"], flow))
        if not table.num_rows:
            raise mistake(
                f"the table `tcp` has no sample of flow '{flow}'",
                "it has the senders of TCP flows: this flow is not of TCP, or never started",
            )
    first = pc.min(table["time_s"]).as_py()
    if first is None:
        raise mistake(
            "the table `tcp` has no sample at all",
            "it has the senders of TCP flows: the run has none, or none of them was started",
        )
    table = table.filter(pc.less_equal(table["time_s"], at_s))
    if not table.num_rows:
        raise mistake(
            f"the table `tcp` has no sample at {at_s:g} s or before: the first is at {first:g} s",
            "give a later moment",
        )
    # Rows are in the order of time, so the last index of a flow is its last sample.
    last = {name.as_py(): i for i, name in enumerate(table["flow"])} if flow is None else {flow: table.num_rows - 1}
    names = [name for name in flows if name in last]
    rows = table.take([last[name] for name in names]).to_pylist()
    return [
        Socket(name, flows[name]["src"], flows[name]["dst"], flows[name]["cc"], row)
        for name, row in zip(names, rows, strict=True)
    ]


def bandwidth(bps: float) -> str:
    """A rate as ss.c's `sprint_bw` writes it: three digits and a decimal prefix."""
    for factor, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if bps >= factor:
            return f"{bps / factor:.3g}{prefix}"
    return f"{bps:g}"


def _fields(cc: str | None, row: dict[str, Any]) -> list[str]:
    def value(name: str) -> float:
        return row.get(name) or 0

    found = [cc] if cc else []
    if value("rto_us"):
        found.append(f"rto:{value('rto_us') / 1000:g}")
    if value("rtt_us"):
        found.append(f"rtt:{value('rtt_us') / 1000:g}/{value('rttvar_us') / 1000:g}")
    if value("snd_cwnd"):
        found.append(f"cwnd:{int(value('snd_cwnd'))}")
    if 0 < value("snd_ssthresh") < _NO_THRESHOLD:
        found.append(f"ssthresh:{int(value('snd_ssthresh'))}")
    if value("bytes_acked"):
        found.append(f"bytes_acked:{int(value('bytes_acked'))}")
    if value("pacing_rate_bps"):
        found.append(f"pacing_rate {bandwidth(value('pacing_rate_bps'))}bps")
    if value("unacked"):
        found.append(f"unacked:{int(value('unacked'))}")
    if value("retrans") or value("total_retrans"):
        found.append(f"retrans:{int(value('retrans'))}/{int(value('total_retrans'))}")
    if value("lost"):
        found.append(f"lost:{int(value('lost'))}")
    if value("sacked"):
        found.append(f"sacked:{int(value('sacked'))}")
    if value("notsent_bytes"):
        found.append(f"notsent:{int(value('notsent_bytes'))}")
    if value("min_rtt_us"):
        found.append(f"minrtt:{value('min_rtt_us') / 1000:g}")
    return found


def _some(names: list[str]) -> str:
    return ", ".join(names[:20]) + (f" and {len(names) - 20:,} more" if len(names) > 20 else "")
