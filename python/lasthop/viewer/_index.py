"""The data of the page: an index of the runs, and tables as Arrow."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from lasthop._core import LasthopError
from lasthop._errors import in_sentences, mistake
from lasthop._registry import LATE_SHARE, LATENESS, losses_of_devices, series_of, share_behind
from lasthop.campaign._quantity import quantity
from lasthop.viewer._drops import drops
from lasthop.viewer._explained import explainable
from lasthop.viewer._means import means

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lasthop._results import Results
    from lasthop.viewer._excerpt import Stretch

#: The version of the index; the page reads one.
VERSION = 1
#: So many runs are named in the heading of a comparison.
NAMED = 3
#: So many keys that differ between runs are listed.
DIFFERENCES = 30
#: Tables of a scenario whose members have a place.
PLACED = ("cell", "ap", "ue", "station", "node")


#: Names of tables that a page carries: those of Lasthop. A file may have any name.
_NAME = re.compile(r"[a-z][a-z0-9-]*\Z")


def table_names(results: Results) -> list[str]:
    """The tables of a run that the page shows."""
    return [name for name in results.table_names if _NAME.match(name)]


def index(
    runs: Mapping[str, Results],
    kept: Mapping[tuple[str, str], int] | None = None,
    excerpts: Mapping[str, Sequence[Stretch]] | None = None,
    damage: Mapping[tuple[str, str], str] | None = None,
) -> dict[str, Any]:
    """The index of runs by their labels.

    Args:
        runs: the runs; labels are what the page calls them.
        kept: rows that a copy has of a table, by the run's number and the table's name; tables
            without an entry are not in the copy. None: there is no copy, all tables are there.
        excerpts: the stretches of time whose packets a copy has, by the run's number; without an
            entry it has all.
        damage: what is wrong with the tables that could not be copied, by the run's number and the
            table's name.
    """
    described = [
        _run(str(i), label, results, kept, {name: text for (n, name), text in (damage or {}).items() if n == str(i)})
        for i, (label, results) in enumerate(runs.items())
    ]
    for number, stretches in (excerpts or {}).items():
        described[int(number)]["excerpt"] = [{"from_s": s.start, "to_s": s.end, "what": s.what} for s in stretches]
    labels = [run["label"] for run in described]
    title = (
        ", ".join(labels)
        if len(labels) <= NAMED
        else f"{', '.join(labels[: NAMED - 1])} and {len(labels) - NAMED + 1} more runs"
    )
    found = {"version": VERSION, "title": f"{title} · Lasthop", "runs": described}
    if len(runs) == 1:
        return found
    for run, results in zip(described, runs.values(), strict=True):
        run["means"] = means(results, run["duration_s"])
    return found | {"differences": differences(list(runs.values()))}


def differences(runs: Sequence[Results]) -> dict[str, Any]:
    """Keys of the scenarios whose values are not the same in all runs, with the values.

    For runs of different scenarios the result has only the keys that every run has, because their
    lists of keys have little in common.
    """
    scenarios = [_flat(_parsed(run.manifest)) for run in runs]
    keys = list(dict.fromkeys(key for scenario in scenarios for key in scenario))
    groups = list(dict.fromkeys(key.partition(".")[0] for key in keys))
    keys.sort(key=lambda key: groups.index(key.partition(".")[0]))  # those of a later run with their like
    found = [
        {"key": key, "values": values}
        for key in keys
        if key not in ("scenario.name", "scenario.description")
        and len({*(values := [scenario.get(key, "") for scenario in scenarios])}) > 1
    ]
    names = {str(run.manifest.get("name", "")) for run in runs}
    if len(names) > 1:
        found = [row for row in found if all(row["values"])]
    return {"scenarios": len(names), "keys": found[:DIFFERENCES], "more": max(len(found) - DIFFERENCES, 0)}


def _flat(table: Mapping[str, Any], under: str = "") -> dict[str, str]:
    """The values of a scenario by their dotted keys, as text."""
    found: dict[str, str] = {}
    for key, value in table.items():
        if isinstance(value, dict):
            found |= _flat(value, f"{under}{key}.")
        else:
            found[f"{under}{key}"] = value if isinstance(value, str) else json.dumps(value, default=str)
    return found


def _parsed(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The effective scenario of a run; {} where it cannot be read."""
    try:
        found: dict[str, Any] = tomllib.loads(str(manifest.get("scenario", "")))
    except tomllib.TOMLDecodeError:
        return {}
    return found


def campaign_index(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The index of a campaign."""
    return {"version": VERSION, "title": f"{entry['name']} · Lasthop", "runs": [], "campaign": entry}


def _run(
    number: str,
    label: str,
    results: Results,
    kept: Mapping[tuple[str, str], int] | None,
    damage: Mapping[str, str],
) -> dict[str, Any]:
    manifest = results.manifest
    text = str(manifest.get("scenario", ""))
    scenario = _parsed(manifest)
    tables, damaged = [], list(damage.values())
    for name in _ordered(table_names(results)):
        if kept is not None and (number, name) not in kept:
            continue
        try:
            tables.append(_table(name, results, None if kept is None else kept[number, name]))
        except LasthopError as error:
            # The others are worth showing.
            damaged.append(in_sentences(error))
    damaged += missing(results)
    account = results.summary.get("packets")
    return {
        "id": number,
        "label": label,
        "name": str(manifest.get("name", "")),
        "description": str(_inner(scenario, "scenario").get("description", "")),
        "seed": manifest.get("seed"),
        "lasthop": str(manifest.get("lasthop", "")),
        "duration_s": _duration(results),
        "interval_s": _interval(scenario),
        "scenario": text,
        "places": _served([*_places(scenario), *_recorded_places(manifest)], scenario),
        "unplaced": _unplaced(scenario, manifest),
        "wraps": any(isinstance(x, dict) and x.get("wrap_around") is True for x in _inner(scenario, "layout").values()),
        "moving": _moving(scenario),
        "drops": drops(results),
        "account": account if isinstance(account, dict) else {},
        "lateness": _lateness(results.summary.get("live")),
        "losses": [*losses_of_devices(results.summary.get("live")), *_behind(results.summary.get("live"))],
        "explain": explainable(results),
        "tables": tables,
        "damaged": damaged,
        "left_out": []
        if kept is None
        else [n for n in table_names(results) if (number, n) not in kept and n not in damage],
    }


def missing(results: Results) -> list[str]:
    """A note on tables that the run wrote and that are missing now, if any."""
    written = results.manifest.get("tables")
    names = [name for name in (written if isinstance(written, dict) else {}) if name not in results.table_names]
    remedy = "or run the scenario again."
    if not names:
        return []
    if len(names) == 1:
        (name,) = names
        what = f"The table '{name}' is missing: manifest.json names it, and the folder has no {name}.parquet."
        return [f"{what} Put the file back, {remedy}"]
    listed = ", ".join(f"'{name}'" for name in names)
    why = "manifest.json names them, and the folder lacks their .parquet files."
    return [f"{len(names)} tables are missing: {listed}. {why} Put the files back, {remedy}"]


def _duration(results: Results) -> float:
    found = results.summary.get("duration_s")
    return float(found) if isinstance(found, (int, float)) and not isinstance(found, bool) else 0.0


def _behind(live: object) -> list[str]:
    """A sentence, if a run in real time was behind for long."""
    share = share_behind(live)
    return [f"the run was further behind than its limit for {share:.0%} of the time"] if share > LATE_SHARE else []


def _lateness(live: object) -> list[dict[str, Any]]:
    """Of a run in real time: how late packets and events were.

    In the order of the command's table.
    """
    found = live.get("lateness") if isinstance(live, dict) else None
    rows = []
    for key, what in LATENESS.items():
        one = found.get(key) if isinstance(found, dict) else None
        numbers = [one.get(name) if isinstance(one, dict) else None for name in ("count", "p50_s", "p99_s", "max_s")]
        if all(map(_finite, numbers)):
            rows.append({"what": what, "numbers": numbers})
    return rows


def _interval(scenario: dict[str, Any]) -> float:
    """`output.interval` in seconds; its default where the scenario does not have it."""
    found = quantity(_inner(scenario, "output").get("interval", "100 ms"))
    seconds = None if found is None else found.within("s")
    return float(seconds) if seconds else 0.1


def _table(name: str, results: Results, kept: int | None) -> dict[str, Any]:
    schema, rows = results.shape(name)
    entry = {
        "name": name,
        "description": _said(schema.metadata, b"description"),
        "rows": rows,
        "columns": [
            {
                "name": field.name,
                "type": _kind(field.type),
                "unit": _said(field.metadata, b"unit"),
                "description": _said(field.metadata, b"description"),
            }
            for field in schema
        ],
        "series": list(series_of(name)),
    }
    if kept is not None:
        entry["kept"] = kept
    return entry


def _said(metadata: Mapping[bytes, bytes] | None, key: bytes) -> str:
    return (metadata or {}).get(key, b"").decode(errors="replace")


def _kind(kind: pa.DataType) -> str:
    if pa.types.is_boolean(kind):
        return "bool"
    return "number" if pa.types.is_integer(kind) or pa.types.is_floating(kind) else "text"


def _ordered(names: Sequence[str]) -> list[str]:
    """Tables in the order of their documentation; what is not documented comes last."""
    known = {name: i for i, name in enumerate(_documented())}
    return sorted(names, key=lambda name: (known.get(name, len(known)), name))


@cache
def _documented() -> tuple[str, ...]:
    from lasthop._registry import run_tables

    return tuple(run_tables())


def _places(scenario: dict[str, Any]) -> list[dict[str, Any]]:
    """Where the members of a scenario are that have a place and do not move."""
    found = []
    for kind in PLACED:
        for name, member in _inner(scenario, kind).items():
            if not isinstance(member, dict):
                continue
            # Cells of a layout stand where it puts them, whatever their own position says.
            if _moves(member) or (kind == "cell" and name in _inner(scenario, "layout")):
                continue
            radio = member.get("radio") if isinstance(member.get("radio"), dict) else {}
            place = (radio or {}).get("position", member.get("position"))
            if (metres := _metres(place)) is not None:
                found.append({"name": name, "kind": kind, "x": metres[0], "y": metres[1]})
    return found


def _recorded_places(manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Where those stand whose table of the scenario has no places.

    Cells of layouts, stations placed at random.
    """
    places = manifest.get("places")
    found = []
    for entry in places if isinstance(places, list) else []:
        if not isinstance(entry, dict) or not (_finite(entry.get("x_m")) and _finite(entry.get("y_m"))):
            continue
        place: dict[str, Any] = {key: str(entry.get(key, "")) for key in ("name", "kind")} | {
            "x": entry["x_m"],
            "y": entry["y_m"],
        }
        if _finite(azimuth := entry.get("azimuth_deg")):
            place["azimuth"] = azimuth
        found.append(place)
    return found


def _served(places: list[dict[str, Any]], scenario: dict[str, Any]) -> list[dict[str, Any]]:
    """Places with who serves them, where a scenario has one access point or one cell only.

    Of more, the table `positions` says which cell it was.
    """
    members = {"station": "ap", "ue": "cell"}
    homes = {
        kind: next(iter(_inner(scenario, home)))
        for kind, home in members.items()
        if len(_inner(scenario, home)) == 1 and not (home == "cell" and _inner(scenario, "layout"))
    }
    return [{**p, "serves": homes[p["kind"]]} if p["kind"] in homes else p for p in places]


def _unplaced(scenario: dict[str, Any], manifest: Mapping[str, Any]) -> list[str]:
    """Whose places are not known: a run of an earlier version has no `places` in its manifest."""
    if "places" in manifest:
        return []
    stations = _inner(scenario, "station").items()
    strewn = [name for name, group in stations if isinstance(group, dict) and ("drop" in group or "ring" in group)]
    cells = [name for name in _inner(scenario, "layout") if name in _inner(scenario, "cell")]
    return [*(f"the cells of {name}" for name in cells), *(f"the stations of {name}" for name in strewn)]


def _finite(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _moving(scenario: dict[str, Any]) -> list[str]:
    """The UEs of a scenario that move or are placed at random.

    The table `positions` says where they are.
    """
    return [name for name, ue in _inner(scenario, "ue").items() if isinstance(ue, dict) and _moves(ue)]


def _moves(member: dict[str, Any]) -> bool:
    if any(key in member for key in ("drop", "ring", "track")):
        return True
    mobility = _inner(member, "radio").get("mobility", "static")
    # An effective scenario has the default written out.
    return (mobility.get("kind") if isinstance(mobility, dict) else mobility) != "static"


def _inner(scenario: dict[str, Any], key: str) -> dict[str, Any]:
    value = scenario.get(key)
    return value if isinstance(value, dict) else {}


def _metres(place: object) -> tuple[float, float] | None:
    if not isinstance(place, list) or len(place) < 2:
        return None
    values = []
    for part in place[:2]:
        found = quantity(part)
        metres = None if found is None else found.within("m")
        if metres is None:
            return None
        values.append(float(metres))
    return values[0], values[1]


def arrow(table: pa.Table, columns: Sequence[str] | None = None) -> memoryview:
    """A table as an Arrow IPC stream of one batch.

    Numbers are float64 with NaN for what is missing, texts are in a dictionary with "" for what is
    missing.

    Raises:
        LasthopError: it lacks a column.
    """
    names = table.column_names if columns is None else list(columns)
    if missing := [name for name in names if name not in table.column_names]:
        raise mistake(f"the table has no column {', '.join(missing)}")
    arrays, fields = [], []
    for name in names:
        array = _plain(table[name])
        arrays.append(array)
        fields.append(pa.field(name, array.type))
    out = pa.BufferOutputStream()
    batch = pa.record_batch(arrays, schema=pa.schema(fields))
    with pa.ipc.new_stream(out, batch.schema) as stream:
        stream.write_batch(batch)
    # No copy: a table may have a hundred megabytes.
    return memoryview(out.getvalue())


def _plain(column: pa.ChunkedArray) -> pa.Array:
    kind = column.type
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    if _kind(column.type) == "number":
        numbers = column.cast(pa.float64(), safe=False)
        return _one(pc.fill_null(numbers, float("nan")) if numbers.null_count else numbers)
    if pa.types.is_dictionary(kind):
        if column.null_count == 0 and (found := _encoded(column)) is not None:
            return found
        column = column.cast(kind.value_type)
    return _one(pc.fill_null(column.cast(pa.string()), "").dictionary_encode().unify_dictionaries())


def _encoded(column: pa.ChunkedArray) -> pa.Array | None:
    """A column that is encoded already, if its dictionary is one of different texts."""
    array = _one(column.unify_dictionaries())
    words = array.dictionary
    if words.type != pa.string() or words.null_count or len(words.unique()) != len(words):
        return None
    return pa.DictionaryArray.from_arrays(array.indices.cast(pa.int32()), words)


def _one(column: pa.ChunkedArray) -> pa.Array:
    if column.num_chunks == 1:
        return column.chunk(0)
    combined = column.combine_chunks()
    return combined.chunk(0) if isinstance(combined, pa.ChunkedArray) else combined
