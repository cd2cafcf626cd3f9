"""Results are those of the golden files; and the check fails for whatever differs."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lasthop import _core
from lasthop._bundled import bundled
from tests.golden.look import first_differences
from tests.golden.record import DIGITS, SUMMARY, Content, Record, differences, take
from tests.golden.runs import GoldenRun, golden_runs
from tests.scenarios import UMTS

HELP = """
To look at one: `python -m tests.golden run NAME --out now` here, the same in a worktree of an earlier commit with a
build of its own (`make build`), then `python -m tests.golden look BEFORE now`: the first row that differs.
If results are meant to move: `make golden`, and the body of the commit says why.
"""


def test_every_table_is_that_of_the_golden_file() -> None:
    found = differences(Record.read(), take(golden_runs()))
    assert not found, "\n".join(["results differ from the golden files (tests/golden):", *found, HELP])


def test_names_are_one_word_and_unique() -> None:
    names = [run.name for run in golden_runs()]
    assert len(set(names)) == len(names) > 300
    assert not [name for name in names if any(c.isspace() for c in name)]


def test_the_golden_files_hold_every_table_that_a_run_can_write() -> None:
    known = {table["name"] for table in json.loads(_core.describe())["tables"]}
    assert set(Record.read().columns) == known - {"geometry", "radio-map"}  # these two are a survey's


def test_one_worker_and_two_give_the_same_record() -> None:
    some = golden_runs()[::40]
    assert take(some, jobs=1) == take(some, jobs=2)


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> tuple[Record, Path]:
    return record_of(UMTS, tmp_path_factory.mktemp("before") / "run")


def record_of(text: str, out: Path) -> tuple[Record, Path]:
    record = Record()
    record.add("umts", _core.run(_core.Scenario.parse(text), out))
    return record, out


def test_what_is_written_reads_back(before: tuple[Record, Path], tmp_path: Path) -> None:
    record, out = before
    record.write(tmp_path / "h", tmp_path / "c")
    again = Record.read(tmp_path / "h", tmp_path / "c")
    assert again == record
    assert differences(record, again) == []
    tables = json.loads((out / "manifest.json").read_text())["tables"]
    assert again.contents["umts", "tcp"] == Content(tables["tcp"]["rows"], tables["tcp"]["blake3"][:DIGITS])


def test_a_run_in_memory_has_the_record_of_a_run_in_a_folder(before: tuple[Record, Path]) -> None:
    record = Record()
    record.add("umts", _core.run(_core.Scenario.parse(UMTS)))
    assert record == before[0]


def test_a_nanosecond_is_noticed_and_its_first_row_is_found(before: tuple[Record, Path], tmp_path: Path) -> None:
    other, out = record_of(UMTS.replace('"28 ms"', '"28.000001 ms"'), tmp_path / "run")
    found = differences(before[0], other)
    rows = before[0].contents["umts", "packets"].rows
    assert f"umts: `packets`: {rows} rows, other values" in found
    lines = first_differences(before[1], out)
    assert any(line.startswith("packets: row ") and "time_s " in line for line in lines)
    assert first_differences(out, out) == []


def test_one_changed_cell_is_found_by_row_and_column(before: tuple[Record, Path], tmp_path: Path) -> None:
    table = pq.read_table(before[1] / "tcp.parquet")
    values = table["snd_cwnd"].to_pylist()
    old, values[7] = values[7], values[7] + 1
    place = table.column_names.index("snd_cwnd")
    changed = table.set_column(place, table.schema.field(place), pa.array(values, table.schema.field(place).type))
    pq.write_table(changed, tmp_path / "tcp.parquet")
    line = next(line for line in first_differences(before[1], tmp_path) if line.startswith("tcp: "))
    assert "row 7 " in line
    assert line.endswith(f": snd_cwnd {old!r} -> {old + 1!r}")


def test_rows_values_runs_and_tables_are_told_apart(before: tuple[Record, Path]) -> None:
    record = before[0]
    tcp = record.contents["umts", "tcp"]

    def with_(contents: dict[tuple[str, str], Content]) -> list[str]:
        return differences(record, Record({**record.contents, **contents}, record.columns))

    assert with_({("umts", "tcp"): Content(tcp.rows, "0" * DIGITS)})[0] == f"umts: `tcp`: {tcp.rows} rows, other values"
    assert with_({("umts", "tcp"): Content(3, tcp.hash)})[0] == f"umts: `tcp`: {tcp.rows} rows before, 3 now"
    assert with_({("umts", SUMMARY): Content(1, "")})[0] == f"umts: `{SUMMARY}`: other values"
    assert with_({("umts", "new"): tcp}) == ["umts: `new` is not in the golden file"]
    assert with_({("other", "tcp"): tcp, ("other", "rlc"): tcp}) == ["other is not in the golden file"]
    assert differences(record, Record()) == ["umts is no longer there"]


def test_other_columns_are_told_apart_from_other_values(before: tuple[Record, Path]) -> None:
    record = before[0]
    contents = {key: Content(c.rows, "0" * DIGITS if key[1] == "rlc" else c.hash) for key, c in record.contents.items()}
    rlc = [line.replace("[B]", "[KiB]") for line in record.columns["rlc"]]
    assert rlc != record.columns["rlc"]
    found = differences(record, Record(contents, {**record.columns, "rlc": rlc}))
    assert found[0] == "table `rlc`: other columns, so its values cannot be compared"
    assert not [line for line in found if line.startswith("umts: ")]
    turned = {**record.columns, "rlc": record.columns["rlc"][::-1]}
    assert "    the same columns in another order" in differences(record, Record(contents, turned))


def test_a_run_is_cut_at_its_time_and_never_made_longer() -> None:
    file = bundled()["dumbbell"]
    assert GoldenRun("a", file).scenario().duration_s == 30
    assert GoldenRun("a", file, (), 2.5).scenario().duration_s == 2.5
    assert GoldenRun("a", file, (), 31).scenario().duration_s == 30
