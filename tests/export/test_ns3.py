"""ns-3's LTE text files, read as its users do: a header line with `%`, columns separated by tabs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lasthop as lh
from lasthop import LasthopError, Results
from lasthop._results import Tables
from lasthop.export import export_run
from lasthop.export._ns3 import Cells

LTE = """
[scenario]
name = "cell"
duration = "2 s"
seed = 1
[link.l]
between = ["server", "enb"]
rate = "100 Mbit/s"
delay = "10 ms"
[cell.enb]
resource_blocks = 25
[ue.phone]
[flow.ftp]
from = "server"
to = "phone"
[output]
steps = true
"""


def columns(path: Path) -> dict[str, Any]:
    head = path.read_text(encoding="ascii").split("\n", 1)[0]
    assert head.startswith("% ")
    names = head[2:].split("\t")
    data = np.loadtxt(path, comments="%", delimiter="\t", ndmin=2)
    assert data.shape[1] == len(names)
    return dict(zip(names, data.T, strict=True))


def test_blocks_are_those_of_the_radio_table(tmp_path: Path) -> None:
    """Two tables that the core fills in different places: blocks one by one, and counts of each interval."""
    results = lh.Scenario.parse(LTE).run()
    done = export_run(results, "ns3", tmp_path / "out")
    assert done.files == ("DlMacStats.txt", "UlMacStats.txt")
    for file, link, size in (("DlMacStats.txt", "downlink", "sizeTb1"), ("UlMacStats.txt", "uplink", "size")):
        radio = [row for row in results.radio.to_pylist() if row["direction"] == link]
        found = columns(tmp_path / "out" / file)
        assert len(found["time"]) == sum(row["blocks"] + row["retransmissions"] for row in radio)
        assert found[size].sum() >= sum(row["bytes"] for row in radio) > 0
        assert set(found["cellId"]) == set(found["IMSI"]) == set(found["RNTI"]) == {1}


def run_of(
    steps: list[tuple[float, str, str, str, str]],
    radio: list[tuple[float, str, str]],
    moves: list[tuple[float, str, str]],
) -> Results:
    """Steps: time, node, to, step, link. Radio: end of interval, UE, cell at that end. Moves: time, UE, target."""
    names = ("time_s", "node", "to", "step", "link", "packet", "bytes", "mcs")
    events = [{"time_s": 0.5, "source": "flow/f", "kind": "flow-start", "detail": None}]
    events += [
        {"time_s": t, "source": f"ue/{ue}", "kind": "handover-start", "detail": f"cell/{c}"} for t, ue, c in moves
    ]
    tables = {
        "steps": pa.Table.from_pylist(
            [dict(zip(names, (*s, packet, 1000, 9), strict=True)) for s in steps for packet in (1, 2)]
        ),
        "radio": pa.Table.from_pylist(
            [{"time_s": t, "ue": ue, "cell": cell, "direction": "downlink"} for t, ue, cell in radio]
        ),
        "events": pa.Table.from_pylist(events),
    }
    return Results(Tables("{}", "{}", tables))


def test_numbers_by_hand(tmp_path: Path) -> None:
    """Frame and subframe of 1.234 s: TTI 1234, so frame 124 and subframe 5, both counted from 1."""
    results = run_of(
        [
            (0.0, "site", "zoe", "data", "downlink"),
            (1.234, "site", "ann", "data", "downlink"),
            (1.25, "site", "ann", "retransmission", "downlink"),
            (1.3, "ann", "site", "ack", "downlink"),
            (1.3, "site", "ann", "data", "sidelink"),
        ],
        [(1.0, "zoe", "west"), (2.0, "ann", "east"), (2.0, "zoe", "west")],
        [],
    )
    export_run(results, "ns3", tmp_path / "out")
    lines = (tmp_path / "out" / "DlMacStats.txt").read_text().splitlines()[1:]
    assert [line.split("\t") for line in lines] == [
        # time, cellId, IMSI, frame, sframe, RNTI, mcsTb1, sizeTb1, mcsTb2, sizeTb2, ccId
        ["0", "2", "2", "1", "1", "1", "9", "1000", "0", "0", "0"],
        ["1.234", "1", "1", "124", "5", "1", "9", "1000", "0", "0", "0"],
        ["1.25", "1", "1", "126", "1", "1", "9", "1000", "0", "0", "0"],
    ]
    assert not (tmp_path / "out" / "UlMacStats.txt").exists()
    about = json.loads((tmp_path / "out" / "export.json").read_text())
    assert about["cells"] == {"east": 1, "west": 2}
    assert about["imsis"] == {"ann": 1, "zoe": 2}
    assert about["rntis"] == [{"ue": "zoe", "cell": "west", "rnti": 1}, {"ue": "ann", "cell": "east", "rnti": 1}]
    assert "DlRlcStats.txt, UlRlcStats.txt" in (tmp_path / "out" / "README.txt").read_text()


RADIO = [(t, "ann", cell) for t, cell in ((1.0, "a"), (2.0, "b"), (4.0, "b"), (5.0, "c"), (6.0, "a"), (7.0, "a"))]
#: In the interval to 2 s from a to b, in that to 5 s without a handover, in that to 6 s to b and back.
MOVES = [(1.6, "ann", "b"), (5.2, "ann", "b"), (5.4, "ann", "a")]


@pytest.mark.parametrize(
    ("time_s", "cell"),
    [
        (0.3, "a"), (1.0, "a"), (1.599, "a"), (1.6, "b"), (1.999, "b"), (2.0, "b"), (3.9, "b"),
        (4.5, None), (5.3, None), (6.0, "a"), (7.0, "a"), (7.1, None),
    ],
)  # fmt: skip
def test_the_cell_at_a_time(time_s: float, cell: str | None) -> None:
    """A row of `radio` tells the cell at its end alone: what came before needs the row before or the handover."""
    assert Cells.of(run_of([(0.0, "site", "ann", "data", "downlink")], RADIO, MOVES)).at("ann", time_s) == cell


def test_a_handover_before_the_first_row_and_between_two() -> None:
    def at(radio: list[tuple[float, str, str]], moves: list[tuple[float, str, str]], time_s: float) -> str | None:
        return Cells.of(run_of([(0.0, "site", "ann", "data", "downlink")], radio, moves)).at("ann", time_s)

    # Left for b at 0.4 s: which cell it was before, nothing tells.
    assert [at([(1.0, "ann", "b")], [(0.4, "ann", "b")], t) for t in (0.3, 0.5)] == [None, "b"]
    # Silent while it moved: the row of another UE ends the interval in between.
    rows = [(1.0, "ann", "a"), (2.0, "bob", "a"), (3.0, "ann", "b")]
    assert at(rows, [(1.5, "ann", "b")], 2.5) == "b"
    assert at(rows, [], 2.5) is None


def test_unknown_cells_are_counted(tmp_path: Path) -> None:
    steps = [(4.5, "site", "ann", "data", "downlink"), (6.5, "ann", "site", "data", "uplink")]
    export_run(run_of(steps, RADIO, MOVES), "ns3", tmp_path / "out")
    line = (tmp_path / "out" / "DlMacStats.txt").read_text().splitlines()[1].split("\t")
    assert (line[1], line[5]) == ("nan", "nan")
    assert "cellId and RNTI of 1 blocks are nan" in (tmp_path / "out" / "README.txt").read_text()
    # time, cellId, IMSI, frame, sframe, RNTI, mcs, size, ccId
    assert (tmp_path / "out" / "UlMacStats.txt").read_text().splitlines()[1] == "6.5\t1\t1\t651\t1\t1\t9\t1000\t0"


def test_a_run_without_steps_says_how_to_get_them(made_up: Results, tmp_path: Path) -> None:
    with pytest.raises(LasthopError, match=r"--set output\.steps=true"):
        export_run(made_up, "ns3", tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
