"""The way of one packet through the radio, a lane per node.

It has requests, grants, reports, transmissions and decoding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lasthop._errors import mistake
from lasthop.plot._style import OKABE_ITO, Figure, new_figure

if TYPE_CHECKING:
    import pyarrow as pa

    from lasthop._results import Results

#: Steps that carry no packet: they belong to a packet when its sender takes them while the packet
#: waits.
ASKING = ("request", "grant", "report", "report-heard")
COLOURS = {
    "sent": OKABE_ITO[0],
    "request": OKABE_ITO[5],
    "grant": OKABE_ITO[1],
    "report": OKABE_ITO[3],
    "report-heard": OKABE_ITO[3],
    "data": OKABE_ITO[2],
    "retransmission": OKABE_ITO[4],
    "ack": OKABE_ITO[2],
    "nack": OKABE_ITO[4],
    "received": OKABE_ITO[0],
    "dropped": OKABE_ITO[4],
}


@dataclass(frozen=True)
class Moment:
    """Something that happened to a packet, or for it."""

    time_s: float
    node: str
    to: str
    what: str
    link: str
    detail: str

    def after(self, start_s: float) -> float:
        """Milliseconds since `start_s`, free of the last bit of a difference."""
        return round((self.time_s - start_s) * 1e3, 6)


def way_of(results: Results, packet: int) -> list[Moment]:
    """Everything that happened to packet number `packet`.

    Also the requests of its senders for permission to send it.
    """
    for name, key in (("packets", "packets"), ("steps", "steps")):
        if name not in results.table_names:
            raise mistake(f"the run has no table `{name}`: run the scenario again with `--set output.{key}=true`")
    own = [row for row in results.table("packets").to_pylist() if row["packet"] == packet]
    if not own:
        raise mistake(f"no packet has the number {packet}; the column `packet` of the table `packets` has them")
    steps = results.table("steps").to_pylist()
    moments = [
        Moment(row["time_s"], row["node"], "", row["event"], "", f"{row['flow']}, {row['size']} B") for row in own
    ]
    carried = [row for row in steps if row["packet"] == packet]
    moments += [_moment(row) for row in carried]
    #: When the packet came to each node that sends it on.
    there = {row["node"]: row["time_s"] for row in own if row["event"] == "sent"}
    for row in carried:
        if row["step"] == "ack":
            there.setdefault(row["node"], row["time_s"])
    for sender, last in _last_sent(carried).items():
        since = there.get(sender, own[0]["time_s"])
        asked = [
            row
            for row in steps
            if row["packet"] is None
            and row["step"] in ASKING
            # A UE requests and reports; grants and what the eNB has decoded are for a UE.
            and sender == row["node" if row["step"] in ("request", "report") else "to"]
            and since <= row["time_s"] <= last
        ]
        moments += [_moment(row) for row in asked]
    order = {what: i for i, what in enumerate(COLOURS)}
    last_first = {"received": 1, "dropped": 1}
    return sorted(
        set(moments), key=lambda m: (round(m.time_s, 9), last_first.get(m.what, 0), order.get(m.what, 99), m.node)
    )


def _last_sent(carried: list[dict[str, Any]]) -> dict[str, float]:
    last: dict[str, float] = {}
    for row in carried:
        if row["step"] in ("data", "retransmission"):
            last[row["node"]] = max(row["time_s"], last.get(row["node"], 0.0))
    return last


def _moment(row: dict[str, Any]) -> Moment:
    parts = []
    if row["about_s"] is not None and row["step"] == "grant":
        parts.append(f"for {(row['about_s'] - row['time_s']) * 1e3:.0f} ms later")
    if row["blocks"]:
        parts.append(f"{row['blocks']} RB")
    if row["mcs"] is not None:
        parts.append(f"MCS {row['mcs']}")
    if row["bytes"]:
        parts.append(f"{row['bytes']} B")
    return Moment(row["time_s"], row["node"], row["to"], row["step"], row["link"], ", ".join(parts))


def find_packet(packets: pa.Table, flow: str | None, index: int) -> int:
    """Number of packet `index` (from 0) of those with payload of `flow`, or of any flow."""
    rows = packets.to_pylist()
    wanted = [r for r in rows if r["event"] == "sent" and r["len"] > 0 and (flow is None or r["flow"] == flow)]
    if not wanted:
        known = ", ".join(sorted({r["flow"] for r in rows})) or "none"
        raise mistake(f"no packet with data was sent{'' if flow is None else f' by {flow!r}'}; flows: {known}")
    if not 0 <= index < len(wanted):
        raise mistake(f"there are {len(wanted)} packets with data: their places are 0 to {len(wanted) - 1}")
    return int(wanted[index]["packet"])


def _labels(moments: list[Moment], start: float) -> dict[tuple[str, float], str]:
    """One label for all that a node does at a moment.

    Of a row of the same in neighbouring TTIs the first has it.
    """
    steps: dict[tuple[str, float], list[str]] = {}
    for m in moments:
        here = steps.setdefault((m.node, m.after(start)), [])
        if m.what not in here:
            here.append(m.what)
    return {
        (node, x): f"{', '.join(what)} {x:g}"
        for (node, x), what in steps.items()
        if not set(what) <= set(steps.get((node, round(x - 1, 6)), ()))
    }


def timeline_figure(moments: list[Moment], width: float, height: float | None = None) -> Figure:
    """A lane per node, time in TTIs of 1 ms from the first moment on.

    Arrows show transmissions over the air.
    """
    start = moments[0].time_s
    nodes = list(dict.fromkeys(node for m in moments for node in (m.node, m.to) if node))
    lane = {node: -i for i, node in enumerate(nodes)}
    fig, axes = new_figure("Time since the packet was sent (ms)", "", width, height or 0.6 + 0.75 * len(nodes))
    for node in nodes:
        axes.axhline(lane[node], color="0.8", linewidth=0.8, zorder=0)
    for m in moments:
        x, y, colour = m.after(start), lane[m.node], COLOURS.get(m.what, "black")
        axes.plot([x], [y], "o", color=colour, markersize=4)
        # What the eNB has decoded is its own state: no arrow.
        if m.to and m.what != "report-heard":
            arrow = {"arrowstyle": "->", "color": colour, "linewidth": 0.9}
            axes.annotate("", (x + 1, lane[m.to]), (x, y), arrowprops=arrow)
    for (node, x), text in _labels(moments, start).items():
        axes.annotate(
            text, (x, lane[node]), (3, 3), textcoords="offset points", fontsize=5.5,
            rotation=40, rotation_mode="anchor",
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.6, "pad": 0.3},
        )  # fmt: skip
    axes.set_yticks([lane[n] for n in nodes], nodes)
    axes.set_ylim(-len(nodes) + 0.3, 0.8)
    axes.margins(x=0.1)
    return fig
