"""Shell completion and progress lines: what a user sees without asking."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from lasthop._progress import LINE_INTERVAL, Lines, share_bar
from lasthop.campaign.conduct import Event
from lasthop.cli import main
from lasthop.cli._runs import bar
from lasthop.harness import list_studies


def completed(*words: str, cwd: Path | None = None) -> list[str]:
    """What bash would offer for the last word, as `type,value`."""
    env = {**os.environ, "_LASTHOP_COMPLETE": "bash_complete", "COMP_WORDS": " ".join(words)}
    env["COMP_CWORD"] = str(len(words) - 1)
    code = "import sys; from lasthop.cli import main; sys.argv[0] = 'lasthop'; main(prog_name='lasthop')"
    done = subprocess.run([sys.executable, "-c", code], env=env, cwd=cwd, capture_output=True, text=True, check=False)
    assert not done.stderr
    return done.stdout.split()


def in_bash(folder: Path, *words: str) -> list[str]:
    """What bash offers for the last word, by the script of `lasthop completion bash`."""
    program = folder / "lasthop"
    program.write_text(f"#!/bin/sh\nexec '{sys.executable}' -m lasthop \"$@\"\n")
    program.chmod(0o755)
    script = CliRunner().invoke(main, ["completion", "bash"]).output
    # `compopt` is an error outside of a completion, and `complete` has no effect here.
    code = f"""compopt() {{ :; }}
{script}
COMP_WORDS=({" ".join(words)}) COMP_CWORD={len(words) - 1}
_lasthop_completion '{program}'
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=False)
    assert not done.stderr
    return done.stdout.split()


def test_bash_offers_names_where_files_are_possible_too(tmp_path: Path) -> None:
    assert in_bash(tmp_path, "lasthop", "run", "umts-d") == ["umts-download"]
    assert in_bash(tmp_path, "lasthop", "study", "run", "umts") == ["umts-vegas"]
    assert in_bash(tmp_path, "lasthop", "judge", "cub") == ["cubic"]
    assert in_bash(tmp_path, "lasthop", "run", "none-of-th") == []


def test_names_of_scenarios_and_files_are_completed() -> None:
    assert completed("lasthop", "run", "umts-d") == ["file,umts-d", "plain,umts-download"]
    assert completed("lasthop", "scenarios", "copy", "umts-d") == ["plain,umts-download"]


def test_names_of_studies_are_completed() -> None:
    assert completed("lasthop", "study", "run", "umts") == ["dir,umts", "plain,umts-vegas"]


def test_keys_are_completed_with_the_names_of_the_scenario(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(
        "[scenario]\nname = 'a'\nduration = '1 s'\n[link.wired]\nbetween = ['x', 'y']\n"
        "[flow.ftp]\nfrom = 'x'\nto = 'y'\n[flow.web]\nfrom = 'x'\nto = 'y'\n"
    )
    start = ("lasthop", "run", "a.toml", "--set")
    assert completed(*start, "flow.", cwd=tmp_path) == ["plain,flow.ftp.", "plain,flow.web."]
    assert completed(*start, "link.wired.dela", cwd=tmp_path) == ["plain,link.wired.delay="]
    assert completed(*start, "scenario.see", cwd=tmp_path) == ["plain,scenario.seed="]
    assert completed(*start, "flow.ftp.tcp.cc=", cwd=tmp_path) == []


def test_questions_to_describe_are_completed() -> None:
    assert completed("lasthop", "describe", "queue", "st") == ["plain,step"]
    assert "plain,drops" in completed("lasthop", "describe", "tables", "d")
    assert completed("lasthop", "describe", "sched") == ["plain,scheduler"]


def test_a_log_gets_a_line_every_ten_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    now = [0.0]
    lines = Lines("download", clock=lambda: now[0])
    for second in range(31):
        now[0] = float(second)
        lines.show(second / 40)
    assert capsys.readouterr().err.splitlines() == [
        "download: 25% after 10 s, about 30 s to go",
        "download: 50% after 20 s, about 20 s to go",
        "download: 75% after 30 s, about 10 s to go",
    ]
    assert LINE_INTERVAL == 10


def test_the_time_to_go_of_a_campaign_is_that_of_runs_to_be_made(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Runs found in the store take no time.

    A stopping rule adds runs, so the time is a lower bound then.
    """
    monkeypatch.setattr("lasthop._progress.LINE_INTERVAL", 0.0)
    with bar("sweep", shown=True) as report:
        assert report is not None
        report(Event.of(total=100, taken=60, made=0, failed=0, elapsed_s=0.0))
        report(Event.of(total=100, taken=60, made=10, failed=0, elapsed_s=5.0))
        report(Event.of(total=140, taken=60, made=20, failed=0, elapsed_s=10.0))
    lines = [re.sub(" after [0-9]+ s", "", line) for line in capsys.readouterr().err.splitlines()]
    assert lines == [
        "sweep: 60 of 100 runs, 60 found",
        "sweep: 70 of 100 runs, 60 found (2 runs/s), about 15 s to go",  # 30 runs at 2 runs/s
        "sweep: 80 of 140 runs, 60 found (2 runs/s), at least 30 s to go",
    ]


def test_progress_that_is_redirected_is_lines_and_short_runs_have_none(capsys: pytest.CaptureFixture[str]) -> None:
    with share_bar("short", True) as report:
        assert report is not None
        report(0.5)
    assert capsys.readouterr().err == ""
    with share_bar("quiet", False) as report:
        assert report is None


def test_every_bundled_study_says_how_long_it_takes() -> None:
    for study in list_studies():
        assert 0 < study.cpu_minutes.get("quick", 0.1) < study.cpu_minutes["full"], study.name


def test_campaigns_their_keys_and_axes_are_completed(tmp_path: Path) -> None:
    assert completed("lasthop", "sweep", "pru") == ["file,pru", "plain,prune"]
    assert completed("lasthop", "sweep", "prune", "--older") == ["plain,--older-than"]
    (tmp_path / "a.toml").write_text("[scenario]\nname = 'a'\nduration = '1 s'\n[link.wired]\nbetween = ['x', 'y']\n")
    start = ("lasthop", "sweep", "--base", "a.toml")
    assert completed(*start, "--axis", "link.wired.dela", cwd=tmp_path) == ["plain,link.wired.delay="]
    assert completed(*start, "--set", "link.wired.dela", cwd=tmp_path) == ["plain,link.wired.delay="]
    assert completed("lasthop", "describe", "campaign", "campaign.se") == ["plain,campaign.seeds."]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_asks_for_completions_and_the_shell_reads_it(shell: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["completion", shell], prog_name="lasthop")
    assert done.exit_code == 0
    assert f"_LASTHOP_COMPLETE={shell}_complete" in done.output
    if program := shutil.which(shell):
        (tmp_path / "script").write_text(done.output)
        subprocess.run([program, "-n", tmp_path / "script"], check=True)


def test_the_manual_page_has_every_verb_and_groff_formats_it_without_a_warning() -> None:
    page = CliRunner().invoke(main, ["man"], prog_name="lasthop").output
    for verb in main.commands:
        assert f".SS lasthop {verb}".replace("-", "\\-") in page
    assert "\b" not in page
    if groff := shutil.which("groff"):
        done = subprocess.run([groff, "-man", "-Tutf8", "-ww"], input=page, capture_output=True, text=True, check=True)
        assert done.stderr == ""
