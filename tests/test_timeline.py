"""The way of a packet, on tables made by hand.

The published timeline of a segment in direct mode.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lasthop import LasthopError, Results
from lasthop.plot._timeline import find_packet, timeline_figure, way_of

#: TTI, node, to, step, link, packet: RAC 0, report 5, decoded and granted 9, data 11, decoded 15;
#: and those of others.
STEPS: list[tuple[int, str, str, str, str, int | None]] = [
    (0, "a", "enb", "request", "uplink", None),
    (3, "enb", "a", "grant", "uplink", None),
    (5, "a", "enb", "report", "uplink", None),
    (6, "c", "enb", "request", "uplink", None),
    (9, "enb", "a", "report-heard", "uplink", None),
    (9, "enb", "a", "grant", "sidelink", None),
    (11, "a", "b", "data", "sidelink", 7),
    (11, "a", "b", "data", "sidelink", 8),
    (15, "b", "a", "ack", "sidelink", 7),
    (16, "a", "enb", "request", "uplink", None),
]


class Made:
    """A `Source` with two tables."""

    def __init__(self, steps: bool = True) -> None:
        columns = ("time_s", "node", "to", "step", "link", "packet")
        rows: list[dict[str, Any]] = [
            {**dict(zip(columns, (1 + s[0] / 1e3, *s[1:]), strict=True)), "about_s": None, "blocks": None}
            for s in STEPS
        ]
        self._tables = {
            "packets": pa.Table.from_pylist(
                [
                    {"time_s": 1 + t / 1e3, "packet": 7, "flow": "ftp", "node": n, "event": e, "size": 576, "len": 536}
                    for t, n, e in ((0, "a", "sent"), (15, "b", "received"))
                ]
            )
        }
        if steps:
            self._tables["steps"] = pa.Table.from_pylist([{**r, "bytes": None, "mcs": None} for r in rows])

    @property
    def manifest(self) -> str:
        """No manifest."""
        return "{}"

    @property
    def summary(self) -> str:
        """No summary."""
        return "{}"

    def table_names(self) -> list[str]:
        """The tables that there are."""
        return list(self._tables)

    def table(self, name: str) -> pa.Table:
        """One of them."""
        return self._tables[name]


def test_the_way_is_that_of_the_packet_and_of_what_its_sender_did_for_it() -> None:
    way = way_of(Results(Made()), 7)
    assert [(m.after(1.0), m.node, m.what) for m in way] == [
        (0, "a", "sent"),
        (0, "a", "request"),
        (3, "enb", "grant"),
        (5, "a", "report"),
        (9, "enb", "grant"),
        (9, "enb", "report-heard"),
        (11, "a", "data"),
        (15, "b", "ack"),
        (15, "b", "received"),
    ]


def test_it_is_drawn_with_a_lane_per_node(tmp_path: Path) -> None:
    fig = timeline_figure(way_of(Results(Made()), 7), 7.0)
    labels = [t.get_text() for t in fig.axes[0].get_yticklabels()]
    assert labels == ["a", "enb", "b"]
    fig.savefig(tmp_path / "way.svg")
    assert "report 5" in (tmp_path / "way.svg").read_text() or (tmp_path / "way.svg").stat().st_size > 1000


def test_mistakes_are_reported() -> None:
    made = Results(Made())
    assert find_packet(made.packets, "ftp", 0) == 7
    for call, text in (
        (lambda: way_of(Results(Made(steps=False)), 7), "output.steps=true"),
        (lambda: way_of(made, 9), "no packet has the number 9"),
        (lambda: find_packet(made.packets, "web", 0), "flows: ftp"),
        (lambda: find_packet(made.packets, None, 1), "0 to 0"),
    ):
        with pytest.raises(LasthopError, match=text):
            call()


class Downlink(Made):
    """A packet to a UE that also asks for something of its own meanwhile.

    And requests of a second before.
    """

    def __init__(self) -> None:
        super().__init__()
        steps = [
            (-900, "a", "enb", "request", "uplink", None),
            (2, "a", "enb", "request", "uplink", None),
            (5, "enb", "a", "grant", "uplink", None),
            (7, "enb", "a", "data", "downlink", 7),
            (11, "a", "enb", "ack", "downlink", 7),
        ]
        names = ("time_s", "node", "to", "step", "link", "packet")
        rows = [dict(zip(names, (1 + s[0] / 1e3, *s[1:]), strict=True)) for s in steps]
        empty = {"about_s": None, "blocks": None, "bytes": None, "mcs": None}
        self._tables["steps"] = pa.Table.from_pylist([{**r, **empty} for r in rows])
        packets = [
            {"time_s": 1 + t / 1e3, "packet": 7, "flow": "ftp", "node": n, "event": e, "size": 576, "len": 536}
            for t, n, e in ((0, "server", "sent"), (11, "a", "received"))
        ]
        self._tables["packets"] = pa.Table.from_pylist(packets)


def test_what_the_receiver_asks_for_itself_is_not_on_the_way_of_a_downlink_packet() -> None:
    way = way_of(Results(Downlink()), 7)
    assert [(m.after(1.0), m.node, m.what) for m in way] == [
        (0, "server", "sent"),
        (7, "enb", "data"),
        (11, "a", "ack"),
        (11, "a", "received"),
    ]
