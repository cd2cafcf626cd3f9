"""Draws docs/images/segment-way.svg: a data segment's way to the phone and its ACK's way back.

    python docs/draw_segment_way.py

The drawing is data (`LANES`, `STEPS`) and a few rectangles; the output has no dates and no random
ids.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

OUT = Path(__file__).resolve().parent / "images" / "segment-way.svg"

# Lanes are what owns a step: the columns of the drawing, left to right.
LANES = ["host", "link (net::Pipe)", "bearer, network side", "air", "bearer, phone side", "phone"]

# (lane, to lane, what happens, at which kind of event): one row each, top to bottom.
STEPS = [
    (0, 0, "app writes; Endpoint::poll_transmit gives a Segment; the world makes a packet in the slab", "app"),
    (0, 1, "PacketId, size", ""),
    (1, 2, "queue, serialise, propagate: one pending event, the head's arrival", "arrival"),
    (2, 2, "PDCP adds its header; RLC queues the SDU; the channel is woken", ""),
    (2, 3, "RLC is pulled: as many PDUs as the TTI has blocks; one keyed draw a block", "tti"),
    (3, 4, "at the end of the TTI the blocks that survive", "arrival"),
    (4, 5, "RLC puts in order, reassembles; PDCP; packet at the node", ""),
    (5, 5, "Endpoint::handle_segment, then poll_transmit gives the ACK", ""),
    (5, 4, "PacketId of the ACK", ""),
    (4, 3, "uplink TTI: ACK and RLC status share the blocks", "tti"),
    (3, 2, "the status report moves the RLC window, names lost PDUs", "arrival"),
    (2, 1, "packet at the node, next hop", ""),
    (1, 0, "Endpoint::handle_segment: window, timer, next segments", "arrival"),
]

WIDTH, LEFT, TOP, ROW = 1080, 20, 64, 46
COLUMN = (WIDTH - 2 * LEFT) / len(LANES)
STYLE = "text{font:13px sans-serif;fill:#222}.h{font-weight:600}.w{stroke:#fff;stroke-width:4px}"
EVENTS = {"app": "#8a5a00", "arrival": "#00618f", "tti": "#a03e00"}


def centre(lane: int) -> float:
    """Middle of a lane."""
    return LEFT + COLUMN * (lane + 0.5)


def text(x: float, y: float, words: str, extra: str = "") -> str:
    """A line of text."""
    return f'<text x="{x:.0f}" y="{y:.0f}" {extra}>{escape(words)}</text>'


def on_white(x: float, y: float, words: str, extra: str) -> str:
    """A line of text that hides what is below it.

    A white copy with a stroke lies below: not every reader of SVG has `paint-order`.
    """
    return text(x, y, words, f'{extra} class="w"') + text(x, y, words, extra)


def row(i: int, a: int, b: int, words: str, event: str) -> list[str]:
    """One step: an arrow between lanes, or a dot in one."""
    y = TOP + ROW * (i + 0.7)
    x1, x2 = centre(a), centre(b)
    colour = EVENTS.get(event, "#444")
    out = []
    if a == b:
        out.append(f'<circle cx="{x1:.0f}" cy="{y:.0f}" r="5" fill="{colour}"/>')
        at, anchor = (x1 + 12, "start") if a == 0 else (x1 - 12, "end") if a == len(LANES) - 1 else (x1, "middle")
        shift = -10 if anchor == "middle" else 4
        out.append(on_white(at, y + shift, words, f'text-anchor="{anchor}"'))
    else:
        tip = 9 if x2 > x1 else -9
        out.append(f'<line x1="{x1:.0f}" y1="{y:.0f}" x2="{x2 - tip:.0f}" y2="{y:.0f}" stroke="{colour}"/>')
        out.append(f'<path d="M{x2:.0f} {y:.0f} l{-tip} -5 v10 z" fill="{colour}"/>')
        middle = (x1 + x2) / 2
        if middle < WIDTH * 0.25:
            out.append(on_white(min(x1, x2), y - 8, words, 'text-anchor="start"'))
        elif middle > WIDTH * 0.75:
            out.append(on_white(max(x1, x2), y - 8, words, 'text-anchor="end"'))
        else:
            out.append(on_white(middle, y - 8, words, 'text-anchor="middle"'))
    return out


def drawing() -> str:
    """The whole file."""
    height = TOP + ROW * len(STEPS) + 50
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        "<title>A segment's way</title>",
        f"<style>{STYLE}</style>",
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
    ]
    for i, lane in enumerate(LANES):
        out.append(text(centre(i), 28, lane, 'text-anchor="middle" class="h"'))
        out.append(f'<path d="M{centre(i):.0f} 40 V{height - 44}" stroke="#bbb" stroke-dasharray="3 4"/>')
    for i, step in enumerate(STEPS):
        out += row(i, *step)
    x = LEFT
    for name, words in (
        ("app", "an application's event"),
        ("arrival", "an arrival"),
        ("tti", "a TTI"),
        ("", "in the same event"),
    ):
        out.append(f'<circle cx="{x + 6}" cy="{height - 18}" r="5" fill="{EVENTS.get(name, "#444")}"/>')
        out.append(text(x + 16, height - 14, words))
        x += 190
    return "\n".join([*out, "</svg>"]) + "\n"


if __name__ == "__main__":
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(drawing(), encoding="utf-8")
