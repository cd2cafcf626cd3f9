"""The text files of ns-3's LTE module that the tables of a run can fill.

Names, column lines and formats of the files of MAC are those of ns-3's
src/lte/helper/mac-stats-calculator.cc; for those of RLC and PDCP see `_ns3_bearers`. Files of which
the tables lack columns are not written; the README names the columns.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from lasthop._errors import mistake
from lasthop.export._content import Content, needed
from lasthop.export._ns3_bearers import EPOCH, PDCP, RLC, Line, of_pdcp, of_rlc, text

if TYPE_CHECKING:
    from lasthop._results import Results

DOWNLINK, UPLINK = "DlMacStats.txt", "UlMacStats.txt"
FILES = (DOWNLINK, UPLINK)

#: First lines, without the line's end.
HEADS = {
    DOWNLINK: "% time\tcellId\tIMSI\tframe\tsframe\tRNTI\tmcsTb1\tsizeTb1\tmcsTb2\tsizeTb2\tccId",
    UPLINK: "% time\tcellId\tIMSI\tframe\tsframe\tRNTI\tmcs\tsize\tccId",
}

#: Files of ns-3 that are not written, and what the tables do not have.
NOT_WRITTEN = {
    "DlTxPhyStats.txt, UlTxPhyStats.txt, DlRxPhyStats.txt, UlRxPhyStats.txt": "no table has rv, the redundancy version",
    "DlRsrpSinrStats.txt": "no table has both rsrp and the mean linear SINR over the resource blocks for each subframe",
    "UlSinrStats.txt, UlInterferenceStats.txt": "no table has them for each subframe",
}


@dataclass(frozen=True)
class Block:
    """A transport block that a MAC sent, anew or again."""

    time_s: float
    ue: str
    cell: str | None
    size: int
    mcs: int


@dataclass(frozen=True)
class Numbers:
    """The numbers that ns-3 gives to cells and UEs."""

    cells: dict[str, int]
    imsis: dict[str, int]
    #: Of a UE in a cell.
    rntis: dict[tuple[str, str | None], int]


def ns3_content(results: Results) -> Content:
    """Files of MAC, of PDCP and of RLC.

    MAC from `steps`, `radio` and `events`, PDCP from `stages`, RLC from `rlc_pdus` or `rlc`.

    Raises:
        LasthopError: the run has none of the tables `steps`, `stages` and `rlc_pdus`, or no LTE
            cell.
    """
    if not {"steps", "stages", "rlc_pdus"} & set(results.table_names):
        raise mistake(
            "ns-3's LTE files cannot be filled: this run has none of the tables `steps`, `stages` and `rlc_pdus`",
            "`--set output.steps=true` makes a run with LTE cells record what MAC does, `--set output.rlc_pdus=true`"
            " what RLC does, `--set output.explain=true` what PDCP does",
        )
    cells = Cells.of(results)
    has_steps = "steps" in results.table_names
    links = {DOWNLINK: "downlink", UPLINK: "uplink"} if has_steps else {}
    blocks = {name: _blocks(results, link, cells) for name, link in links.items()}
    bearers = {**_named(PDCP, of_pdcp(results, cells.ues)), **_named(RLC, of_rlc(results, cells.ues))}
    if not any((*blocks.values(), *bearers.values())):
        raise mistake(
            "ns-3's LTE files cannot be filled: nothing was sent over an LTE cell in this run",
            "`--format flowmonitor` or `--format csv` is of any run",
        )
    numbers = _numbers(blocks, bearers, cells)
    unknown = sum(block.cell is None for found in blocks.values() for block in found)
    notes = [
        (
            "A line is a transport block on the air, sent anew or again by HARQ; ns-3 writes one for each too. time is"
            " the start of its TTI. ns-3 writes the moment of the scheduler's decision, which is earlier by the delay"
            " between MAC and channel, in the uplink by that from grant to transmission."
        ),
        "A link without a transport block has no file.",
        (
            "cellId and IMSI number the cells and UEs in the order of their names, RNTI the UEs of a cell in the order"
            " of their first block: export.json, `cells`, `imsis`, `rntis`. A UE that comes back to a cell has its old"
            " RNTI."
        ),
        (
            "frame and sframe count from 1, as in ns-3. mcsTb2 and sizeTb2 are 0: one transport block per TTI and UE."
            " ccId is 0: one carrier."
        ),
    ]
    if unknown:
        notes.append(
            f"cellId and RNTI of {unknown:,} blocks are nan: the tables `radio` (the cell at the end of each interval)"
            " and `events` (`handover-start`) do not show which cell served the UE."
        )
    if not has_steps:
        notes.append("DlMacStats.txt and UlMacStats.txt need the table `steps` (`output.steps = true`).")
    if any(bearers.get(name) for name in PDCP.values()):
        notes.append(
            f"Files of PDCP have epochs of {EPOCH:g} s, as ns-3 by default. An SDU is sent when it enters the bearer,"
            " and received when it leaves it at the other end. Sizes are those of IP packets: no table has PDCP's"
            " headers, which ns-3 counts (2 B each). A UE's bearers have the LCIDs from 3 on, the default one first."
        )
    elif "stages" not in results.table_names:
        notes.append("DlPdcpStats.txt and UlPdcpStats.txt need the table `stages` (`output.explain = true`).")
    if "rlc_pdus" in results.table_names:
        notes.append(
            f"Files of RLC have epochs of {EPOCH:g} s, as ns-3 by default, and each PDU, STATUS PDUs too, with RLC's"
            " header. A PDU is sent when its transport block is transmitted for the first time, and received when that"
            " is decoded. ns-3 counts from the moment at which RLC gives it to MAC, a few milliseconds earlier."
        )
    elif any(bearers.get(name) for name in RLC.values()):
        notes.append(
            "Files of RLC have nTxPDUs between two samples of the table `rlc`, data PDUs sent anew or again, and nan in"
            " the columns from TxBytes on: these need the table `rlc_pdus` (`output.rlc_pdus = true`)."
        )
    notes += [f"Not written: {files}: {why}." for files, why in NOT_WRITTEN.items()]
    return Content(
        title="A run in the text files of ns-3's LTE module",
        files={
            **{name: partial(_text, name, found, numbers) for name, found in blocks.items() if found},
            **{name: partial(_bearers, lines, cells, numbers) for name, lines in bearers.items() if lines},
        },
        notes=notes,
        more={
            "cells": numbers.cells,
            "imsis": numbers.imsis,
            "rntis": [{"ue": ue, "cell": cell, "rnti": rnti} for (ue, cell), rnti in numbers.rntis.items()],
            "not_written": NOT_WRITTEN,
        },
    )


@dataclass(frozen=True)
class Cells:
    """Which cell served a UE when, as far as the tables `radio` and `events` show it.

    `radio` names the cell at the end of an interval, `events` the moment at which a UE leaves for
    another one.
    """

    #: Ends of the intervals in seconds.
    ends: list[float]
    #: Of a UE: indices of the intervals for which its cell is recorded, and the cell.
    serving: dict[str, tuple[list[int], list[str]]]
    #: Of a UE: when it left for another cell, and for which.
    moves: dict[str, tuple[list[float], list[str]]]

    @property
    def ues(self) -> set[str]:
        """The UEs of which a cell is known."""
        return set(self.serving)

    @classmethod
    def of(cls, results: Results) -> Cells:
        """The cells from the tables of a run; without `radio` no cell is known."""
        if "radio" not in results.table_names:
            return cls([], {}, {})
        table = needed(results, "radio", ("time_s", "ue", "cell", "direction"))
        rows = table.filter(pc.not_equal(table["direction"], "sidelink")).to_pylist()
        ends = sorted({row["time_s"] for row in rows})
        index = {end: i for i, end in enumerate(ends)}
        found: dict[str, dict[int, str]] = {}
        for row in rows:
            if row["cell"] is not None:
                found.setdefault(row["ue"], {})[index[row["time_s"]]] = row["cell"]
        serving = {ue: (sorted(cells), [cells[i] for i in sorted(cells)]) for ue, cells in found.items()}
        moves: dict[str, tuple[list[float], list[str]]] = {}
        table = needed(results, "events", ("time_s", "source", "kind", "detail"))
        for row in table.filter(pc.equal(table["kind"], "handover-start")).to_pylist():
            times, cells = moves.setdefault(row["source"].removeprefix("ue/"), ([], []))
            times.append(row["time_s"])
            cells.append((row["detail"] or "").removeprefix("cell/"))
        return cls(ends, serving, moves)

    def at(self, ue: str, time_s: float) -> str | None:
        """The cell of a UE at a time; None: not known."""
        intervals, cells = self.serving.get(ue, ([], []))
        times, targets = self.moves.get(ue, ([], []))
        # A block that starts at an interval's end is of the next one; at the end of the run it is
        # of the last.
        k = bisect_right(self.ends, time_s) - (time_s == self.ends[-1] if self.ends else 0)
        i = bisect_left(intervals, k)
        if i == len(intervals) or intervals[i] != k:
            return None
        start = self.ends[k - 1] if k else 0.0
        first, last = bisect_left(times, start), bisect_left(times, self.ends[k])
        before = cells[i - 1] if i else None
        if first and (not i or times[first - 1] >= self.ends[intervals[i - 1]]):
            before = targets[first - 1]
        if last - first == 1 and targets[first] == cells[i]:
            return before if time_s < times[first] else cells[i]
        if last == first and before in (None, cells[i]):
            return cells[i]
        return None


def _blocks(results: Results, link: str, cells: Cells) -> list[Block]:
    """The transport blocks of a link in the order of time.

    The table has a row for each packet in one.
    """
    columns = ("time_s", "node", "to", "step", "link", "bytes", "mcs")
    table = needed(results, "steps", columns)
    sent = pc.is_in(table["step"].cast(pa.string()), pa.array(["data", "retransmission"]))
    table = table.filter(pc.and_(pc.equal(table["link"], link), sent))
    found: dict[tuple[Any, ...], Block] = {}
    for batch in table.to_batches(max_chunksize=50_000):
        rows = (batch.column(name).to_pylist() for name in columns)
        for time_s, node, to, step, _, size, mcs in zip(*rows, strict=True):
            key = (time_s, node, to, step)
            if key not in found:
                ue = to if link == "downlink" else node
                found[key] = Block(time_s, ue, cells.at(ue, time_s), size, mcs)
    return sorted(found.values(), key=lambda block: block.time_s)


def _numbers(blocks: dict[str, list[Block]], bearers: dict[str, list[Line]], cells: Cells) -> Numbers:
    """Blocks come first: what bearers have carried changes no number of theirs."""
    seen = [(0, b.time_s, b.ue, b.cell) for found in blocks.values() for b in found]
    seen += [(1, x.start_s, x.ue, _cell_of(x, cells)) for lines in bearers.values() for x in lines]
    seen.sort(key=lambda s: s[:3])
    rntis: dict[tuple[str, str | None], int] = {}
    members: dict[str | None, int] = {}
    for _, _, ue, cell in seen:
        if cell is not None and (ue, cell) not in rntis:
            members[cell] = members.get(cell, 0) + 1
            rntis[ue, cell] = members[cell]
    names = sorted({cell for *_, cell in seen if cell is not None})
    return Numbers(
        {name: i for i, name in enumerate(names, start=1)},
        {name: i for i, name in enumerate(sorted({ue for _, _, ue, _ in seen}), start=1)},
        rntis,
    )


def _named(names: dict[str, str], lines: dict[str, list[Line]]) -> dict[str, list[Line]]:
    return {names[direction]: found for direction, found in lines.items()}


def _cell_of(line: Line, cells: Cells) -> str | None:
    """The cell at the end of an epoch, or of the last interval in which one is known."""
    times = [t for t in (line.end_s, line.start_s) if not cells.ends or t <= cells.ends[-1]]
    return next((cell for t in times if (cell := cells.at(line.ue, t)) is not None), None)


def _bearers(lines: list[Line], cells: Cells, numbers: Numbers) -> Iterator[bytes]:
    rows = []
    for line in lines:
        cell = _cell_of(line, cells)
        known = cell is not None
        rows.append(
            (
                line,
                (
                    str(numbers.cells[cell]) if cell is not None else "nan",
                    str(numbers.imsis[line.ue]),
                    str(numbers.rntis[line.ue, cell]) if known else "nan",
                ),
            )
        )
    return text(rows)


def _text(name: str, blocks: list[Block], numbers: Numbers) -> Iterator[bytes]:
    yield f"{HEADS[name]}\n".encode()
    second = ("0", "0") if name == DOWNLINK else ()
    for b in blocks:
        subframes = int(b.time_s * 1000 + 1e-6)
        known = b.cell is not None
        fields = (
            f"{b.time_s:.9g}",
            str(numbers.cells[b.cell]) if b.cell is not None else "nan",
            str(numbers.imsis[b.ue]),
            str(subframes // 10 + 1),
            str(subframes % 10 + 1),
            str(numbers.rntis[b.ue, b.cell]) if known else "nan",
            str(b.mcs),
            str(b.size),
            *second,
            "0",
        )
        yield ("\t".join(fields) + "\n").encode()
