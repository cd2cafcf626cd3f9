"""ns-3's statistics of radio bearers: `DlPdcpStats.txt`, `DlRlcStats.txt` and those of the uplink.

Columns and number formats are those of ns-3's src/lte/helper/radio-bearer-stats-calculator.cc,
standard deviations those of its MinMaxAvgTotalCalculator: with count - 1 below the sum, 0 of a
single value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lasthop.export._content import needed

if TYPE_CHECKING:
    from lasthop._results import Results

PDCP = {"downlink": "DlPdcpStats.txt", "uplink": "UlPdcpStats.txt"}
RLC = {"downlink": "DlRlcStats.txt", "uplink": "UlRlcStats.txt"}

#: The first line, without the line's end.
HEAD = (
    "% start\tend\tCellId\tIMSI\tRNTI\tLCID\tnTxPDUs\tTxBytes\tnRxPDUs\tRxBytes\t"
    "delay\tstdDev\tmin\tmax\tPduSize\tstdDev\tmin\tmax"
)
#: EpochDuration of ns-3 [s].
EPOCH = 0.25
#: Data bearers follow three signalling bearers.
FIRST_LCID = 3


@dataclass
class Count:
    """What a bearer's direction has carried in an epoch."""

    sent: int = 0
    sent_bytes: int = 0
    received_bytes: int = 0
    #: Of what was received: delays [s] and sizes [B].
    delays: list[float] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Line:
    """A bearer's direction in an epoch.

    Sizes and delays are missing where only counters are known.
    """

    start_s: float
    end_s: float
    ue: str
    lcid: int
    sent: int
    count: Count | None


def of_pdcp(results: Results, ues: set[str]) -> dict[str, list[Line]]:
    """What entered bearers of these UEs, and what left them at the other end.

    The result is by direction, and needs the table `stages`.
    """
    if not {"stages", "packets"} <= set(results.table_names):
        return {}
    passages = _passages(results, ues)
    lcids = _lcids({place for place, *_ in passages})
    found: dict[str, dict[tuple[int, str], Count]] = {name: {} for name in PDCP}
    for place, direction, start_ns, end_ns, size in passages:
        counts = found[direction]
        sent = counts.setdefault((int(start_ns // round(EPOCH * 1e9)), place), Count())
        sent.sent += 1
        sent.sent_bytes += size
        if end_ns is not None:
            received = counts.setdefault((int(end_ns // round(EPOCH * 1e9)), place), Count())
            received.received_bytes += size
            received.delays.append((end_ns - start_ns) / 1e9)
            received.sizes.append(size)
    return {
        direction: [
            Line(epoch * EPOCH, (epoch + 1) * EPOCH, place.split(".")[0], lcids[place], count.sent, count)
            for (epoch, place), count in sorted(counts.items())
        ]
        for direction, counts in found.items()
    }


def of_rlc(results: Results, ues: set[str]) -> dict[str, list[Line]]:
    """PDUs of RLC by epochs, from the table `rlc_pdus`.

    Without this table they are the PDUs that were sent between the samples of `rlc`.
    """
    if "rlc_pdus" in results.table_names:
        return _of_pdus(results, ues)
    if "rlc" not in results.table_names:
        return {}
    rows = needed(results, "rlc", ("time_s", "bearer", "direction", "pdus_new", "pdus_retx")).to_pylist()
    rows = [row for row in rows if row["bearer"].split(".")[0] in ues]
    lcids = _lcids({row["bearer"] for row in rows})
    before: dict[tuple[str, str], tuple[float, int]] = {}
    found: dict[str, list[Line]] = {name: [] for name in RLC}
    for row in rows:
        key = (row["bearer"], row["direction"])
        since, sent = before.get(key, (0.0, 0))
        now = row["pdus_new"] + row["pdus_retx"]
        if now > sent:
            ue = row["bearer"].split(".")[0]
            found[row["direction"]].append(Line(since, row["time_s"], ue, lcids[row["bearer"]], now - sent, None))
        before[key] = (row["time_s"], now)
    return found


def _of_pdus(results: Results, ues: set[str]) -> dict[str, list[Line]]:
    columns = ("time_s", "bearer", "direction", "event", "bytes", "sent_s")
    table = needed(results, "rlc_pdus", columns)
    found: dict[str, dict[tuple[int, str], Count]] = {name: {} for name in RLC}
    for time_s, bearer, direction, event, size, sent_s in zip(*(table[c].to_pylist() for c in columns), strict=True):
        if bearer.split(".")[0] not in ues:
            continue
        # Times are whole milliseconds, and so are epochs.
        count = found[direction].setdefault((round(time_s * 1e3) // round(EPOCH * 1e3), bearer), Count())
        if event == "sent":
            count.sent += 1
            count.sent_bytes += size
        else:
            count.received_bytes += size
            count.delays.append((round(time_s * 1e3) - round(sent_s * 1e3)) / 1e3)
            count.sizes.append(size)
    lcids = _lcids({bearer for counts in found.values() for _, bearer in counts})
    return {
        direction: [
            Line(epoch * EPOCH, (epoch + 1) * EPOCH, bearer.split(".")[0], lcids[bearer], count.sent, count)
            for (epoch, bearer), count in sorted(counts.items())
        ]
        for direction, counts in found.items()
    }


def text(lines: list[tuple[Line, tuple[str, str, str]]]) -> Iterator[bytes]:
    """A file; with each line the numbers of cell, UE and UE in the cell."""
    yield f"{HEAD}\n".encode()
    for line, (cell, imsi, rnti) in lines:
        count = line.count
        fields = [f"{line.start_s:g}", f"{line.end_s:g}", cell, imsi, rnti, str(line.lcid), str(line.sent)]
        if count is None:
            fields += ["nan"] * 11
        else:
            fields += [str(count.sent_bytes), str(len(count.sizes)), str(count.received_bytes)]
            fields += [f"{x:g}" for values in (count.delays, count.sizes) for x in _statistics(values)]
        # ns-3 ends each field with a tab, the last one too.
        yield ("".join(f"{field}\t" for field in fields) + "\n").encode()


def _statistics(values: list[float] | list[int]) -> list[float]:
    """Mean, standard deviation, smallest and largest; four zeros of nothing."""
    if not values:
        return [0.0] * 4
    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return [float(np.mean(values)), deviation, float(min(values)), float(max(values))]


def _lcids(bearers: set[str]) -> dict[str, int]:
    """A UE's bearers in the order of their names; the default one has its name and is the first."""
    found = {}
    for ue in {bearer.split(".")[0] for bearer in bearers}:
        for i, bearer in enumerate(sorted(b for b in bearers if b.split(".")[0] == ue)):
            found[bearer] = FIRST_LCID + i
    return found


def _passages(results: Results, ues: set[str]) -> list[tuple[str, str, int, int | None, int]]:
    """Bearer, direction, entry and exit [ns], and size of packets of these UEs.

    Without exit: lost, or inside.
    """
    wanted = ("packet", "node", "event", "size", "time_s")
    packets = needed(results, "packets", wanted)
    sent: dict[int, str] = {}
    ends: dict[int, str] = {}
    size: dict[int, int] = {}
    lost: dict[tuple[int, str], int] = {}
    columns = (packets[name].to_pylist() for name in wanted)
    for number, node, event, octets, time_s in zip(*columns, strict=True):
        if event == "sent":
            sent.setdefault(number, node)
            size.setdefault(number, octets)
        elif event == "received":
            ends.setdefault(number, node)
        elif event == "dropped":
            lost[number, node] = round(time_s * 1e9)
    stages = needed(results, "stages", ("packet", "part", "where", "start_ns", "end_ns"))
    stages = stages.filter(pc.equal(stages["part"], 0))
    where = stages["where"].cast(pa.string())
    own = sorted({name for name in pc.unique(where).to_pylist() if name.split(".")[0] in ues})
    stages = stages.filter(pc.is_in(where, pa.array(own, pa.string())))
    last = pc.max(stages["end_ns"]).as_py()
    found: dict[tuple[int, str], tuple[int, int]] = {}
    columns = (stages[name].to_pylist() for name in ("packet", "where", "start_ns", "end_ns"))
    for number, place, start, end in zip(*columns, strict=True):
        a, b = found.get((number, place), (start, end))
        found[number, place] = (min(a, start), max(b, end))
    # What a full buffer has turned away was in no stage.
    for (number, place), at in lost.items():
        if place.split(".")[0] in ues:
            found.setdefault((number, place), (at, at))
    passages = []
    for (number, place), (start, end) in found.items():
        ue = place.split(".")[0]
        if sent.get(number) != ue and ends.get(number, ue) != ue and (number, place) not in lost:
            continue  # through a UE to another node: the tables do not have the direction
        direction = "uplink" if sent.get(number) == ue else "downlink"
        arrived = (number, place) not in lost and (number in ends or end < last)
        passages.append((place, direction, start, end if arrived else None, size.get(number, 0)))
    return sorted(passages, key=lambda p: (p[2], p[0]))
