"""Outputs are complete or absent, are written to their own path, and change nothing else."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import lasthop as lh
from lasthop import _core
from lasthop._files import claimed

#: A file may have so many octets: less than a table or a picture.
SMALL = 4_000


pytestmark = pytest.mark.usefixtures("room")


def command(*args: str, code: int = 0, most: int | None = None, folder: Path | None = None) -> str:
    """Runs the command; returns what it says on stderr.

    `most`: the longest file that it can write [octets].
    """

    def limit() -> None:
        if most is not None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    done = subprocess.run(
        [sys.executable, "-m", "lasthop", *args],
        capture_output=True,
        text=True,
        preexec_fn=limit,
        cwd=folder,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


@pytest.fixture
def results(room: Path) -> Path:
    command("run", "wired.toml", "--out", "r", "-q")
    return room / "r"


def test_a_report_goes_through_a_link_and_replaces_no_pipe(results: Path, room: Path) -> None:
    (room / "target").write_text("old")
    (room / "link").symlink_to("target")
    command("report", "r", "--out", "link")
    assert (room / "link").is_symlink()
    assert (room / "target").read_text().startswith("<!")
    os.mkfifo(room / "pipe")
    said = command("report", "r", "--out", "pipe", code=1)
    assert "pipe is not a regular file" in said
    assert stat.S_ISFIFO((room / "pipe").stat().st_mode)


def test_a_report_replaces_no_device(results: Path, room: Path) -> None:
    """A node of its own with the numbers of /dev/null."""
    try:
        os.mknod(room / "null", 0o600 | stat.S_IFCHR, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("only root makes a device")
    assert "not a regular file" in command("report", "r", "--out", "null", code=1)
    assert stat.S_ISCHR((room / "null").stat().st_mode)


def test_a_report_on_a_full_disk_is_named_and_leaves_what_was_there(results: Path, room: Path) -> None:
    (results / "report.html").write_text("old")
    said = command("report", "r", most=SMALL, code=1)
    assert "cannot write r/report.html: File too large" in said
    assert (results / "report.html").read_text() == "old"
    assert not list(room.rglob("*.partial"))


def test_an_imported_trace_replaces_no_pipe(room: Path) -> None:
    (room / "a.down").write_text("1\n2\n")
    os.mkfifo(room / "pipe")
    assert "not a regular file" in command("import-trace", "a.down", "pipe", code=1)
    assert stat.S_ISFIFO((room / "pipe").stat().st_mode)


def test_force_touches_no_folder_beside_the_results(results: Path, room: Path) -> None:
    for name in ("r.old", "r.new"):
        (room / name).mkdir()
        (room / name / "thesis").write_text("mine")
    first = (results / "manifest.json").stat().st_ino
    command("run", "wired.toml", "--out", "r", "--force", "-q")
    assert (results / "manifest.json").stat().st_ino != first
    assert names(room) == ["r", "r.new", "r.old", "wired.toml"]
    assert (room / "r.old/thesis").read_text() == (room / "r.new/thesis").read_text() == "mine"


def test_force_deletes_no_folder_with_a_foreign_manifest(room: Path) -> None:
    (room / "r").mkdir()
    (room / "r/manifest.json").write_text('{"name": "my web extension"}')
    (room / "r/thesis.txt").write_text("mine")
    said = command("run", "wired.toml", "--out", "r", "--force", code=1)
    assert "--force does not delete the folder 'r': its manifest.json is not that of a result" in said
    with pytest.raises(lh.FolderInUseError, match=r"its manifest\.json is not that of a result"):
        lh.Scenario.load("wired.toml").run(out="r", replace=True)
    assert names(room / "r") == ["manifest.json", "thesis.txt"]


@pytest.mark.parametrize("foreign", ["thesis.txt", "notes.parquet", "figures/a.png"])
def test_force_deletes_no_foreign_file_beside_results(foreign: str, results: Path) -> None:
    (results / foreign).parent.mkdir(exist_ok=True)
    (results / foreign).write_text("mine")
    first = (results / "manifest.json").stat().st_ino
    said = command("run", "wired.toml", "--out", "r", "--force", code=1)
    assert f"it holds files that are not of the result: {foreign.partition('/')[0]}" in said
    assert (results / foreign).read_text() == "mine"
    assert (results / "manifest.json").stat().st_ino == first


def test_force_replaces_the_report_with_its_results(results: Path) -> None:
    command("report", "r")
    command("run", "wired.toml", "--out", "r", "--force", "-q")
    assert not (results / "report.html").exists()


def test_what_came_into_the_folder_during_the_run_stays(results: Path, room: Path) -> None:
    folder = _core.ResultFolder(results, ("manifest.json", ["tables"], ["scenario.toml", "summary.json"]))
    (results / "thesis.txt").write_text("mine")
    with pytest.raises(lh.LasthopError, match="The results are complete in"):
        folder.publish()
    assert (results / "thesis.txt").read_text() == "mine"


def test_a_way_through_the_folder_itself_names_it(results: Path, room: Path) -> None:
    first = (results / "manifest.json").stat().st_ino
    command("run", "wired.toml", "--out", "r/../r", "--force", "-q")
    assert (results / "manifest.json").stat().st_ino != first
    command("run", "wired.toml", "--out", "o/../o", "-q")
    assert (room / "o/manifest.json").exists()
    assert names(room) == ["o", "r", "wired.toml"]


def test_force_fails_and_the_earlier_results_stay(results: Path, room: Path) -> None:
    before = (results / "manifest.json").stat().st_ino
    said = command("run", "wired.toml", "--out", "r", "--force", "-q", most=SMALL, code=1)
    assert "parquet" in said
    assert (results / "manifest.json").stat().st_ino == before
    assert names(room) == ["r", "wired.toml"]


@pytest.mark.parametrize("leave", ["sys.exit(0)", "del simulation; os._exit(0)"])
def test_a_forked_child_leaves_the_folder_of_its_parent_alone(leave: str, room: Path) -> None:
    program = f"""
import os, sys
import lasthop as lh
simulation = lh.Simulation(lh.Scenario.load("wired.toml"), out=sys.argv[1])
simulation.step_until(0.5)
if sys.argv[2] == "fork" and os.fork() == 0:
    try:
        simulation.step_until(0.6)
    except RuntimeError as error:
        print(error)
    {leave}
elif sys.argv[2] == "fork":
    os.wait()
print(simulation.finish().path)
"""
    for out, how in (("plain", "plain"), ("forked", "fork")):
        done = subprocess.run([sys.executable, "-c", program, out, how], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert "forked from" in done.stdout
    for name in names(room / "plain"):
        assert (room / "plain" / name).read_bytes() == (room / "forked" / name).read_bytes(), name
    assert names(room) == ["forked", "plain", "wired.toml"]


SURVEY = ("survey", "lte-7-sites", "--drops", "1", "--out", "s")
MAP = ("rem", "lte-7-sites", "--step", "400", "--area", "0", "0", "800", "800", "--out", "s")


@pytest.mark.parametrize("verb", [SURVEY, MAP], ids=lambda v: v[0])
def test_a_survey_is_whole_or_not_there_and_replaced_only_by_force(verb: tuple[str, ...], room: Path) -> None:
    said = command(*verb, most=SMALL, code=1)
    assert "cannot write" in said
    assert f"s/{verb[0]}" in said
    assert names(room) == ["wired.toml"]
    command(*verb)
    (room / f"s/{verb[0]}-of-mine.png").write_text("thesis")
    before = {p.name: p.stat().st_ino for p in (room / "s").iterdir()}
    assert "is there already" in command(*verb, code=1)
    command(*verb, "--force", most=SMALL, code=1)
    assert {p.name: p.stat().st_ino for p in (room / "s").iterdir()} == before
    command(*verb, "--force")
    assert names(room / "s") == sorted(before)
    assert (room / f"s/{verb[0]}-of-mine.png").read_text() == "thesis"


@pytest.mark.parametrize("verb", [SURVEY, MAP], ids=lambda v: v[0])
def test_the_second_of_two_surveys_is_refused_before_it_works(verb: tuple[str, ...], room: Path) -> None:
    with claimed(room / "s", verb[0]):
        for force in ([], ["--force"]):
            said = command(*verb, *force, code=1)
            assert f"another {verb[0]} is being written to s (process {os.getpid()}" in said
    assert names(room) == ["wired.toml"]
    with claimed(room / "s", "another verb"):
        command(*verb)


@pytest.mark.parametrize("verb", [SURVEY, MAP], ids=lambda v: v[0])
def test_what_a_killed_survey_left_is_removed_by_the_next(verb: tuple[str, ...], room: Path) -> None:
    program = (
        f"import os; from lasthop import _core; c = _core.ResultFolder.claim('s', '{verb[0]}'); os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == -signal.SIGKILL
    assert len(names(room / "s")) == 1
    assert "removed s/." in command(*verb)
    assert not list((room / "s").glob("*.partial"))
    assert not list((room / "s").glob(".*"))


def test_maps_that_begin_together_take_a_folder_each(room: Path) -> None:
    run = [sys.executable, "-m", "lasthop", *MAP[:-2]]
    both = [subprocess.Popen(run, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    assert [r.communicate()[1] for r in both] == ["", ""]
    assert names(room / "results") == ["lte-7-sites-rem", "lte-7-sites-rem-2"]
    with claimed(room / "results/lte-7-sites-rem-3", "rem"):
        command(*MAP[:-2])
    assert names(room / "results") == ["lte-7-sites-rem", "lte-7-sites-rem-2", "lte-7-sites-rem-4"]


def test_maps_without_a_folder_are_numbered(room: Path) -> None:
    for _ in range(2):
        command(*MAP[:-2])
    assert names(room / "results") == ["lte-7-sites-rem", "lte-7-sites-rem-2"]


def test_a_copied_scenario_has_its_trace_or_is_not_there(room: Path) -> None:
    said = command("scenarios", "copy", "trace-link", "deep/er", most=SMALL, code=1)
    assert "traces/synthetic-lte" in said
    assert names(room) == ["wired.toml"]
    command("scenarios", "copy", "trace-link", "deep/er")
    assert names(room / "deep/er") == ["trace-link.toml", "traces"]


def test_results_whose_folder_is_gone_say_so(results: Path) -> None:
    loaded = lh.Results.load(results)
    shutil.rmtree(results)
    with pytest.raises(lh.LasthopError, match="is gone"):
        _ = loaded.flows
