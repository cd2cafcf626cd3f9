"""Signals: a run ends within half a second of wall time, with the right code.

One true message, and nothing left.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

Start: TypeAlias = Callable[..., "subprocess.Popen[str]"]

#: The first 200th of this takes hours.
ENDLESS = ["--set", "scenario.duration=1000 h", "--set", "link.path.rate=100 Gbit/s"]
#: Half a second, and what starting processes costs on a machine that is busy with other tests.
SOON = 2.0
#: So long a process may take to come to what a test waits for [s].
PATIENCE = float(os.environ.get("LASTHOP_TEST_PATIENCE", "30"))


pytestmark = pytest.mark.usefixtures("room")


@contextlib.contextmanager
def processes(stdout: int) -> Iterator[Start]:
    """Starts the command as a process; what still runs in the end is killed."""
    runs = []

    def begin(*args: str, hangup: Any = signal.SIG_DFL) -> subprocess.Popen[str]:
        def handlers() -> None:
            # A shell starts what is in the background with SIGINT ignored.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            signal.signal(signal.SIGHUP, hangup)

        command = [sys.executable, "-m", "lasthop", *args]
        pipe = subprocess.PIPE
        run = subprocess.Popen(command, stdout=stdout, stderr=pipe, text=True, preexec_fn=handlers)  # noqa: PLW1509
        runs.append(run)
        return run

    yield begin
    for run in runs:
        run.kill()
        run.communicate()


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts the command with an output that is read."""
    with processes(subprocess.PIPE) as begin:
        yield begin


def wait_until(true: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline, f"no {what}"
        time.sleep(0.01)


def wait_for(pattern: str) -> None:
    wait_until(lambda: list(Path().glob(pattern)), pattern)


def stop(run: subprocess.Popen[str], number: int) -> tuple[str, str]:
    began = time.monotonic()
    run.send_signal(number)
    out, err = run.communicate(timeout=60)
    assert time.monotonic() - began < SOON
    assert run.returncode == 128 + number
    assert "Traceback" not in err
    return out, err


@pytest.mark.parametrize(
    ("number", "name"),
    [(signal.SIGINT, "Ctrl-C"), (signal.SIGTERM, "SIGTERM"), (signal.SIGHUP, "SIGHUP")],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_a_signal_ends_a_long_run_at_once_and_leaves_nothing(start: Start, number: int, name: str, room: Path) -> None:
    run = start("run", "wired.toml", *ENDLESS, "-q")
    wait_for("results/*.partial/*.parquet")
    _, err = stop(run, number)
    assert err.strip().splitlines()[-1] == f"error: stopped by {name}; no result was written"
    assert [p.name for p in room.iterdir()] == ["wired.toml"]


#: What takes minutes to hours, and what shows that it has begun.
LONG = {
    "cell": (["run", "lte-7-sites", "--set", "scenario.duration=100 h", "--out", "o"], "o.*.partial/*.parquet"),
    "count": (["run", "lte-7-sites", "--set", "ue.phone.count=2000", "--out", "o"], "o.*.partial"),
    "wifi": (["run", "wifi-download", "--set", "scenario.duration=100 h", "--out", "o"], "o.*.partial/*.parquet"),
    "survey": (["survey", "lte-7-sites", "--drops", "100000", "--out", "o"], "o/.survey.*.partial"),
    "map": (["rem", "lte-7-sites", "--step", "1", "--out", "o"], "o/.rem.*.partial"),
}


@pytest.mark.parametrize("what", LONG)
def test_what_takes_long_ends_at_a_signal_and_leaves_nothing(start: Start, what: str, room: Path) -> None:
    command, begun = LONG[what]
    run = start(*command)
    wait_for(begun)
    time.sleep(0.5)  # into the work itself
    assert run.poll() is None
    _, err = stop(run, signal.SIGTERM)
    assert err.strip().splitlines()[-1] == "error: stopped by SIGTERM; no result was written"
    assert [p.name for p in room.iterdir()] == ["wired.toml"]


def test_a_stopped_run_is_one_json_object(start: Start) -> None:
    run = start("run", "wired.toml", *ENDLESS, "--json")
    wait_for("results/*.partial")
    out, _ = stop(run, signal.SIGTERM)
    assert json.loads(out)["error"] == {"kind": "interrupted", "message": "stopped by SIGTERM; no result was written"}


def test_nohup_keeps_a_run_alive(start: Start) -> None:
    run = start("run", "wired.toml", *ENDLESS, hangup=signal.SIG_IGN)
    wait_for("results/*.partial")
    run.send_signal(signal.SIGHUP)
    time.sleep(0.5)
    assert run.poll() is None
    stop(run, signal.SIGTERM)


def handles_signals(run: subprocess.Popen[str]) -> bool:
    """Whether the command has its handlers.

    The interpreter itself handles SIGINT, but not SIGTERM.
    """
    (caught,) = (line for line in Path(f"/proc/{run.pid}/status").read_text().splitlines() if line.startswith("SigCgt"))
    return bool(int(caught.split()[1], 16) >> (signal.SIGTERM - 1) & 1)


@pytest.mark.parametrize("delay", [0.0, 0.1, 0.25, 0.4, 0.6, 0.8, 1.0])
def test_no_signal_of_the_first_second_makes_a_traceback(start: Start, delay: float, room: Path) -> None:
    """The second begins with the command's first act.

    What happens before is the interpreter's own start.

    A SIGINT while the interpreter imports `site` ends it with code 1 and a traceback, before any
    line of the command runs. On a busy machine this start takes longer than a second.
    """
    run = start("run", "wired.toml", *ENDLESS)
    wait_until(lambda: handles_signals(run), "handler of signals")
    time.sleep(delay)
    stop(run, signal.SIGINT)
    assert [p.name for p in room.iterdir()] == ["wired.toml"]


def test_what_may_never_end_is_not_read(start: Start, room: Path) -> None:
    """A pipe without a writer, an infinite device, a file larger than any script."""
    subprocess.run(["mkfifo", "pipe"], check=True)
    Path("long.pkt").write_bytes(b"\n" * (17 << 20))
    for command, message in (
        (("import-trace", "pipe", "cell.down"), "pipe is not a regular file"),
        (("import-trace", "/dev/zero", "cell.down"), "/dev/zero is not a regular file"),
        (("packetdrill", "pipe"), "'pipe' is not a regular file"),
        (("packetdrill", "/dev/zero"), "'/dev/zero' is not a regular file"),
        (("packetdrill", "long.pkt"), "larger than 16 MiB"),
    ):
        _, err = start(*command).communicate(timeout=20)
        assert message in err, command
    assert not (room / "cell.down").exists()


def test_a_study_says_what_it_has_kept(start: Start) -> None:
    run = start("study", "run", "umts-vegas", "--quick", "--out", "s")
    wait_for("results/store/runs/*/*/*.parquet")
    _, err = stop(run, signal.SIGTERM)
    assert "finished runs are kept in results/store: the same command continues" in err
    assert "no result" not in err


def test_a_killed_study_goes_on_where_it_was(start: Start, room: Path) -> None:
    """The outcome is that of a study that nobody disturbed, byte for byte."""
    study = Path(__file__).parent.parent / "docs" / "tutorial" / "small-study"
    command = ("study", "run", str(study), "--reps", "300", "--jobs", "1", "--json")
    killed = start(*command, "--out", "s")
    wait_for("results/store/runs/*/*/*.parquet")
    killed.kill()
    killed.communicate()
    assert not (room / "s").exists()
    out, _ = start(*command, "--out", "s").communicate(timeout=120)
    again = json.loads(out)
    assert again["runs"] > 0
    assert again["taken"] > 0
    out, _ = start(*command, "--out", "whole", "--store", "other").communicate(timeout=120)
    whole = json.loads(out)
    assert (whole["runs"], whole["taken"]) == (again["runs"] + again["taken"], 0)
    for name in ("claims.json", "config.json", "report.html", "data/fill.csv"):
        assert (room / "s" / name).read_bytes() == (room / "whole" / name).read_bytes(), name


def test_a_killed_writer_of_a_file_is_cleared_by_the_next(start: Start, room: Path) -> None:
    """A process that has ended left half a report; a file of another name is not ours to remove."""
    ended = start("run", "wired.toml", "--out", "o", "-q")
    ended.communicate()
    left, other = (room / f"o/{name}.{ended.pid}.partial" for name in ("report.html", "thesis"))
    for file in (left, other):
        file.write_text("half")
    _, err = start("report", "o").communicate()
    assert f"removed o/{left.name}, which process {ended.pid} left when it was killed" in err
    assert sorted(p.name for p in (room / "o").glob("*.partial")) == [other.name]
    assert (room / "o/report.html").read_text().startswith("<!")


def test_a_killed_run_is_cleared_by_the_next(start: Start, room: Path) -> None:
    run = start("run", "wired.toml", *ENDLESS, "--out", "o")
    wait_for("o.*.partial/*.parquet")
    run.kill()
    run.communicate()
    (left,) = room.glob("o.*.partial")
    done = start("run", "wired.toml", "--out", "o")
    _, err = done.communicate()
    assert f"removed {left.name}" in err.replace("./", "")
    assert f"process {run.pid}" in err
    assert sorted(p.name for p in room.iterdir()) == ["o", "wired.toml"]


def test_the_second_run_into_one_folder_is_refused_before_it_works(start: Start, room: Path) -> None:
    first = start("run", "wired.toml", *ENDLESS, "--out", "o")
    wait_for("o.*.partial")
    for force in ([], ["--force"]):
        second = start("run", "wired.toml", *ENDLESS, "--out", "o", *force)
        _, err = second.communicate(timeout=60)
        assert second.returncode == 1
        assert f"being written by another run (process {first.pid}" in err
    stop(first, signal.SIGINT)


def test_runs_without_a_folder_take_the_next_number(start: Start, room: Path) -> None:
    runs = [start("run", "wired.toml") for _ in range(3)]
    assert [r.communicate()[1] for r in runs] == ["", "", ""]
    assert start("run", "wired.toml").communicate()[1] == ""
    found = sorted(p.name for p in (room / "results").iterdir())
    assert found == ["wired-1", "wired-1-2", "wired-1-3", "wired-1-4"]


def test_a_link_is_written_through(start: Start, room: Path) -> None:
    (room / "disk").mkdir()
    (room / "o").symlink_to("disk/first")
    for more in ([], ["--force"]):
        run = start("run", "wired.toml", "--out", "o", *more)
        _, err = run.communicate()
        assert (run.returncode, err) == (0, "")
        assert (room / "disk/first/manifest.json").exists()
        assert (room / "o").is_symlink()
    refused = start("run", "wired.toml", "--out", "o")
    assert "not empty" in refused.communicate()[1]


def full_pipe() -> tuple[int, int]:
    """A pipe that takes no octet more, as its two ends."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(write, b"x" * 4096)
    os.set_blocking(write, True)
    return read, write


@pytest.fixture
def unread() -> Iterator[Start]:
    """Starts the command with a standard output that takes nothing."""
    ends = full_pipe()
    with processes(ends[1]) as begin:
        yield begin
    for end in ends:
        os.close(end)


def wait_until_it_writes(run: subprocess.Popen[str]) -> None:
    """Until the command waits for room in its output."""

    began = time.monotonic()

    def waits() -> bool:
        calls = [task.read_text() for task in Path(f"/proc/{run.pid}/task").glob("*/wchan")]
        # A kernel that does not say where a thread waits writes "0".
        hidden = set(calls) <= {"", "0"} and time.monotonic() - began > 1
        return hidden or any("pipe_write" in call for call in calls)

    wait_until(waits, "thread that waits for the reader")
    assert run.poll() is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("how", [["--json"], []], ids=["json", "text"])
def test_a_reader_that_does_not_read_keeps_nobody(unread: Start, number: int, how: list[str]) -> None:
    """The results are complete, and the message says so: only their print-out is cut off."""
    run = unread("run", "wired.toml", "--out", "o", *how)
    wait_for("o/manifest.json")
    wait_until_it_writes(run)
    _, err = stop(run, number)
    assert "the results are complete in o" in err
    assert "no result" not in err


def test_the_message_about_a_report_is_true(unread: Start) -> None:
    subprocess.run([sys.executable, "-m", "lasthop", "run", "wired.toml", "--out", "o", "-q"], check=True)
    run = unread("report", "o")
    wait_for("o/report.html")
    wait_until_it_writes(run)
    _, err = stop(run, signal.SIGHUP)
    assert "the report is complete in o/report.html" in err


def shell(line: str, **environment: str) -> subprocess.CompletedProcess[str]:
    line = line.replace("lasthop ", f"{sys.executable} -m lasthop ")
    command = ["bash", "-o", "pipefail", "-c", line]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment})


@pytest.mark.parametrize("rest", ["| true", "2>&1 | true", "-q >&-", ">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_a_run_does_not_depend_on_who_reads_its_output(rest: str, room: Path) -> None:
    """The shell's code is that of the whole pipe: none of its commands fails."""
    done = shell(f"lasthop run wired.toml --set link.path.queue.packets=2 --out o {rest}")
    assert done.returncode == 0, done.stderr
    assert done.stderr == "" or ("warning" in done.stderr and "Traceback" not in done.stderr)
    lines = (room / "o/summary.json").read_text()
    assert json.loads(lines)
    assert sorted(p.name for p in room.iterdir()) == ["o", "wired.toml"]


@pytest.mark.parametrize(
    "line", ["lasthop describe keys | true", "lasthop --help | true", "lasthop validate wired.toml >&-"]
)
def test_other_verbs_do_not_either(line: str) -> None:
    done = shell(line)
    assert (done.returncode, done.stderr) == (0, "")


def test_arguments_that_are_no_text_are_named() -> None:
    bad = "--set \"$(printf 'scenario.name=\\xff')\""
    done = shell(f"lasthop run wired.toml {bad}")
    assert done.returncode == 1
    assert "an override is not valid UTF-8, at 'scenario.name=\\udcff'" in done.stderr
    assert "Traceback" not in done.stderr


def test_arguments_are_utf_8_in_a_locale_without_it() -> None:
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = shell("lasthop validate wired.toml --set scenario.description=\u00e9 --effective --json", **plain)
    assert done.returncode == 0, done.stderr
    assert 'description = "\u00e9"' in json.loads(done.stdout)["effective"]
