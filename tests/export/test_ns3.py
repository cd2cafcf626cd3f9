"""ns-3's LTE text files, read as its users do.

A header line with `%`, columns separated by tabs.
"""

from __future__ import annotations

import json
import math
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
    """Two tables that the core fills in different places.

    Blocks one by one, and counts of each interval.
    """
    results = lh.Scenario.parse(LTE).run()
    done = export_run(results, "ns3", tmp_path / "out")
    assert {"DlMacStats.txt", "UlMacStats.txt"} <= set(done.files)
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
    """A run of steps, of intervals of `radio`, and of moves.

    Steps: time, node, to, step, link. Radio: end of interval, UE, cell at that end. Moves: time,
    UE, target.
    """
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
    assert "DlPdcpStats.txt and UlPdcpStats.txt need" in (tmp_path / "out" / "README.txt").read_text()


RADIO = [(t, "ann", cell) for t, cell in ((1.0, "a"), (2.0, "b"), (4.0, "b"), (5.0, "c"), (6.0, "a"), (7.0, "a"))]
#: In the interval to 2 s from a to b, in that to 5 s without a handover, in that to 6 s to b and
#: back.
MOVES = [(1.6, "ann", "b"), (5.2, "ann", "b"), (5.4, "ann", "a")]


@pytest.mark.parametrize(
    ("time_s", "cell"),
    [
        (0.3, "a"), (1.0, "a"), (1.599, "a"), (1.6, "b"), (1.999, "b"), (2.0, "b"), (3.9, "b"),
        (4.5, None), (5.3, None), (6.0, "a"), (7.0, "a"), (7.1, None),
    ],
)  # fmt: skip
def test_the_cell_at_a_time(time_s: float, cell: str | None) -> None:
    """A row of `radio` tells the cell at its end alone.

    What came before needs the row before or the handover.
    """
    assert Cells.of(run_of([(0.0, "site", "ann", "data", "downlink")], RADIO, MOVES)).at("ann", time_s) == cell


def test_a_handover_before_the_first_row_and_between_two() -> None:
    def at(radio: list[tuple[float, str, str]], moves: list[tuple[float, str, str]], time_s: float) -> str | None:
        return Cells.of(run_of([(0.0, "site", "ann", "data", "downlink")], radio, moves)).at("ann", time_s)

    # Left for b at 0.4 s: which cell it was before, is not recorded.
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


def lines_of(path: Path) -> list[dict[str, float]]:
    """A file of bearers: its lines end with a tab, as ns-3's."""
    head, *lines = path.read_text(encoding="ascii").splitlines()
    names = head.removeprefix("% ").split("\t")
    assert names[:10] == ["start", "end", "CellId", "IMSI", "RNTI", "LCID", "nTxPDUs", "TxBytes", "nRxPDUs", "RxBytes"]
    assert names[10:] == ["delay", "stdDev", "min", "max", "PduSize", "stdDev", "min", "max"]
    assert all(line.endswith("\t") and line.count("\t") == len(names) for line in lines)
    # Of the names that come twice, the sizes'.
    keys = [*names[:11], "delayDev", "delayMin", "delayMax", *names[14:]]
    return [dict(zip(keys, map(float, line.split("\t")), strict=False)) for line in lines]


def test_bearers_carry_what_flows_and_rlc_count(tmp_path: Path) -> None:
    """What enters and leaves PDCP, against counters of flows and of RLC.

    They are counted elsewhere.
    """
    results = lh.Scenario.parse(LTE).with_(["output.explain=true", "output.steps=false"]).run()
    done = export_run(results, "ns3", tmp_path / "out")
    assert done.files == ("DlPdcpStats.txt", "DlRlcStats.txt", "UlPdcpStats.txt", "UlRlcStats.txt")
    flow = results.flows.to_pylist()[0]
    last = {row["direction"]: row for row in results.rlc.to_pylist()}
    pdcp = {way: lines_of(tmp_path / "out" / f"{way}PdcpStats.txt") for way in ("Dl", "Ul")}
    rlc = {way: lines_of(tmp_path / "out" / f"{way}RlcStats.txt") for way in ("Dl", "Ul")}
    for way, direction in (("Dl", "downlink"), ("Ul", "uplink")):
        # What enters in the moment at which the run ends has no interval in `stages`.
        assert 0 <= last[direction]["sdus_in"] - sum(line["nTxPDUs"] for line in pdcp[way]) <= 1
        assert sum(line["nRxPDUs"] for line in pdcp[way]) == last[direction]["sdus_out"] > 0
        assert {line["LCID"] for line in pdcp[way]} == {3}
        assert {line["CellId"] for line in pdcp[way]} == {line["IMSI"] for line in pdcp[way]} == {1}
        assert all(line["end"] == line["start"] + 0.25 for line in pdcp[way])
        counted = sum(line["nTxPDUs"] for line in rlc[way])
        assert counted == last[direction]["pdus_new"] + last[direction]["pdus_retx"]
        assert all(math.isnan(line["delay"]) for line in rlc[way])
    assert sum(line["RxBytes"] for line in pdcp["Dl"]) == flow["rx_bytes"]


def test_pdus_of_rlc_are_those_of_its_counters(tmp_path: Path) -> None:
    """PDUs one by one, against the counters of RLC, and what the blocks of MAC have room for."""
    results = lh.Scenario.parse(LTE).with_(["output.rlc_pdus=true"]).run()
    export_run(results, "ns3", tmp_path / "out")
    last = {row["direction"]: row for row in results.rlc.to_pylist()}
    radio = results.radio.to_pylist()
    for way, direction, other in (("Dl", "downlink", "uplink"), ("Ul", "uplink", "downlink")):
        lines = lines_of(tmp_path / "out" / f"{way}RlcStats.txt")
        # STATUS PDUs are counted with the data that they are about.
        counted = last[direction]["pdus_new"] + last[direction]["pdus_retx"] + last[other]["status_pdus"]
        assert sum(line["nTxPDUs"] for line in lines) == counted > 0
        # What has not arrived is on the air: eight HARQ processes, each with a data PDU and a
        # STATUS PDU at most.
        assert 0 <= sum(line["nTxPDUs"] - line["nRxPDUs"] for line in lines) <= 16
        assert sum(line["RxBytes"] for line in lines) <= sum(r["bytes"] for r in radio if r["direction"] == direction)
        assert all(line["end"] == line["start"] + 0.25 for line in lines)
        assert all(0 < line["delayMin"] <= line["delay"] <= line["delayMax"] for line in lines if line["nRxPDUs"])
        assert not any(math.isnan(value) for line in lines for value in line.values())


def test_delays_of_pdus_by_hand(tmp_path: Path) -> None:
    """100 B and 300 B in 4 and 12 ms; one PDU is lost.

    Means 200 B and 8 ms, deviations 141.421 B and 5.65685 ms.
    """
    rows = [
        (0.1, "sent", 100, None),
        (0.104, "received", 100, 0.1),
        (0.2, "sent", 500, None),
        (0.249, "sent", 300, None),
        (0.261, "received", 300, 0.249),
        (0.262, "received", 100, 0.258),
    ]
    fixed = {"bearer": "phone", "direction": "downlink", "kind": "data", "sn": 0}
    tables = {
        "rlc_pdus": pa.Table.from_pylist(
            [{**fixed, "time_s": t, "event": e, "bytes": n, "sent_s": sent} for t, e, n, sent in rows]
        ),
        "radio": pa.Table.from_pylist([{"time_s": 1.0, "ue": "phone", "cell": "enb", "direction": "downlink"}]),
        "events": pa.Table.from_pylist([{"time_s": 0.5, "source": "flow/f", "kind": "flow-start", "detail": None}]),
    }
    export_run(Results(Tables("{}", "{}", tables)), "ns3", tmp_path / "out")
    lines = (tmp_path / "out" / "DlRlcStats.txt").read_text(encoding="ascii").splitlines()[1:]
    assert [line.rstrip("\t").split("\t") for line in lines] == [
        # start, end, CellId, IMSI, RNTI, LCID; PDUs and octets sent, received; delays; sizes
        ["0", "0.25", "1", "1", "1", "3", "3", "900", "1", "100", *("0.004", "0", "0.004", "0.004"),
         *("100", "0", "100", "100")],
        ["0.25", "0.5", "1", "1", "1", "3", "0", "0", "2", "400", *("0.008", "0.00565685", "0.004", "0.012"),
         *("200", "141.421", "100", "300")],
    ]  # fmt: skip


def test_delays_of_bearers_by_hand(tmp_path: Path) -> None:
    """Three packets: 10 and 30 ms to the phone; one is lost.

    Mean 20 ms, deviation 14.142 ms.
    """
    rows = [(1, 100_000_000, 110_000_000), (2, 120_000_000, 150_000_000), (3, 130_000_000, 140_000_000)]
    names = ("packet", "part", "where", "start_ns", "end_ns")
    stages = [dict(zip(names, (n, 0, "phone", a, b), strict=True)) for n, a, b in rows]
    events = [(n, "server", "sent", size, 0.1) for n, size in ((1, 1000), (2, 400), (3, 1500))]
    events += [(1, "phone", "received", 1000, 0.11), (2, "phone", "received", 400, 0.15)]
    events += [(3, "phone", "dropped", 1500, 0.14)]
    tables = {
        "stages": pa.Table.from_pylist(stages),
        "packets": pa.Table.from_pylist(
            [dict(zip(("packet", "node", "event", "size", "time_s"), e, strict=True)) for e in events]
        ),
        "radio": pa.Table.from_pylist([{"time_s": 1.0, "ue": "phone", "cell": "enb", "direction": "downlink"}]),
        "events": pa.Table.from_pylist([{"time_s": 0.0, "source": "flow/f", "kind": "flow-start", "detail": None}]),
    }
    export_run(Results(Tables("{}", "{}", tables)), "ns3", tmp_path / "out")
    text = (tmp_path / "out" / "DlPdcpStats.txt").read_text().splitlines()[1]
    assert text.rstrip("\t").split("\t") == [
        # start, end, CellId, IMSI, RNTI, LCID, nTxPDUs, TxBytes, nRxPDUs, RxBytes
        "0", "0.25", "1", "1", "1", "3", "3", "2900", "2", "1400",
        # delay, stdDev, min, max; PduSize: 700 +- 424.264
        "0.02", "0.0141421", "0.01", "0.03", "700", "424.264", "400", "1000",
    ]  # fmt: skip
    assert not (tmp_path / "out" / "UlPdcpStats.txt").exists()


def test_a_run_without_steps_says_how_to_get_them(made_up: Results, tmp_path: Path) -> None:
    with pytest.raises(LasthopError, match=r"--set output\.steps=true"):
        export_run(made_up, "ns3", tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_run_without_a_cell_has_no_files_of_lte(tmp_path: Path) -> None:
    results = lh.Scenario.load("umts-download").with_(["scenario.duration=2 s", "output.explain=true"]).run()
    with pytest.raises(LasthopError, match="nothing was sent over an LTE cell"):
        export_run(results, "ns3", tmp_path / "out")
    assert not (tmp_path / "out").exists()
