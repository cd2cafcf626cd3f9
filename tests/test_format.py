"""The number `format` of `manifest.json`: what this version reads, and why not otherwise."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import lasthop as lh
from lasthop._results import FORMAT
from lasthop.cli import main
from tests.scenarios import WIRED


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("format") / "run"
    lh.Scenario.parse(WIRED).with_({"scenario.duration": "1 s"}).run(out=out)
    return out


def changed(folder: Path, tmp_path: Path, **entries: Any) -> Path:
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    manifest = json.loads((copy / "manifest.json").read_text(encoding="utf-8"))
    manifest = {k: v for k, v in {**manifest, **entries}.items() if v is not None}
    (copy / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return copy


def test_a_run_writes_the_format_that_is_read(folder: Path) -> None:
    assert lh.Results.load(folder).manifest["format"] == FORMAT


def test_a_later_format_is_refused_with_what_to_do(folder: Path, tmp_path: Path) -> None:
    later = changed(folder, tmp_path, format=FORMAT + 1, lasthop="9.8.7")
    with pytest.raises(lh.LasthopError, match=rf"have format {FORMAT + 1}; this version .* up to {FORMAT}"):
        lh.Results.load(later)
    assert "Lasthop 9.8.7 wrote them" in CliRunner().invoke(main, ["report", str(later)]).stderr


@pytest.mark.parametrize("value", [None, 0, -1, "1", True, 1.0, [1]])
def test_no_format_is_refused(folder: Path, tmp_path: Path, value: Any) -> None:
    with pytest.raises(lh.LasthopError, match="does not give the format of the results"):
        lh.Results.load(changed(folder, tmp_path, format=value))


READERS = [
    ["report"],
    ["timeline"],
    ["export", "--format", "csv"],
    ["ss", "--at", "1s"],
    ["explain"],
    ["view", "--no-browser"],
]


@pytest.mark.parametrize("command", READERS)
def test_every_reader_of_a_run_says_so(folder: Path, tmp_path: Path, command: list[str]) -> None:
    later = changed(folder, tmp_path, format=FORMAT + 1)
    done = CliRunner().invoke(main, [command[0], str(later), *command[1:]])
    assert done.exit_code == 1
    assert f"have format {FORMAT + 1}" in done.stderr
    assert "help:" in done.stderr


def test_results_of_the_same_format_may_lack_columns_that_came_later(folder: Path, tmp_path: Path) -> None:
    """What is added leaves the number as it is.

    Older results lack it, and readers say what is missing.
    """
    import pyarrow.parquet as pq

    copy = changed(folder, tmp_path)
    table = pq.read_table(copy / "tcp.parquet").drop_columns(["pacing_rate_bps"])
    pq.write_table(table, copy / "tcp.parquet")
    done = CliRunner().invoke(main, ["ss", str(copy), "--at", "1s"])
    assert done.exit_code == 0, done.output
    assert CliRunner().invoke(main, ["report", str(copy)]).exit_code == 0


def without(folder: Path, tmp_path: Path, table: str, column: str) -> Path:
    """The run as a version that did not have this column has written it."""
    import pyarrow.parquet as pq

    copy = changed(folder, tmp_path)
    pq.write_table(pq.read_table(copy / f"{table}.parquet").drop_columns([column]), copy / f"{table}.parquet")
    return copy


@pytest.mark.parametrize(
    ("table", "column", "says"),
    [
        ("tcp", "pacing_rate_bps", "the table `tcp` has no column `pacing_rate_bps`"),
        ("flows", "src", "the table `flows` has no column `src`"),
        ("drops", "retransmission", "the table `drops` has no column `retransmission`"),
        ("queues", "bytes", "the table `queues` has no column `bytes`"),
    ],
)
def test_explain_names_the_column_that_older_results_lack(
    folder: Path, tmp_path: Path, table: str, column: str, says: str
) -> None:
    done = CliRunner().invoke(main, ["explain", str(without(folder, tmp_path, table, column))])
    assert done.exit_code == 1
    assert says in done.stderr
    assert "another version of Lasthop" in done.stderr
    assert "run the scenario again with this version" in done.stderr


def test_explain_reads_older_results_that_lack_what_it_does_not_ask_for(folder: Path, tmp_path: Path) -> None:
    copy = without(folder, tmp_path, "flows", "rx_marked")
    assert CliRunner().invoke(main, ["explain", str(copy)]).exit_code == 0


@pytest.mark.parametrize(
    ("table", "column"), [("tcp", "pacing_rate_bps"), ("flows", "rx_marked"), ("drops", "retransmission")]
)
def test_the_viewer_shows_older_results_without_the_column(
    folder: Path, tmp_path: Path, table: str, column: str
) -> None:
    from lasthop.viewer import Viewer

    copy = without(folder, tmp_path, table, column)
    with Viewer({"old": lh.Results.load(copy)}) as viewer:
        assert viewer.answer("index.json")[0] == 200
        assert viewer.answer(f"table/0/{table}")[0] == 200
        assert viewer.answer("explained/0")[0] == 200
