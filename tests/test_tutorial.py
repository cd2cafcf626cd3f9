"""What the tutorial says of its scenario is so, and what it asks the reader to type works."""

from __future__ import annotations

import math
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner

import lasthop as lh
from lasthop._values import Value
from lasthop.cli import main

DOCS = Path(__file__).resolve().parent.parent / "docs"
TUTORIAL = (DOCS / "tutorial.md").read_text(encoding="utf-8")
CLEAN = {"bearer.dch.downlink.bler": "0 %", "bearer.dch.uplink.bler": "0 %"}
BAD = {"bearer.dch.downlink.bler": "30 %", "bearer.dch.uplink.bler": "30 %"}


def flow(*overrides: Mapping[str, Value], cc: str = "vegas") -> dict[str, float]:
    scenario = lh.Scenario.load(DOCS / "tutorial" / "first.toml").set("flow.ftp.tcp.cc", cc)
    for o in overrides:
        scenario = scenario.with_(o)
    row: dict[str, float] = scenario.run().flows.to_pylist()[0]
    return row


def test_vegas_is_fine_without_errors_and_reno_with_them() -> None:
    clean, vegas, reno = flow(CLEAN), flow(), flow(cc="reno")
    assert clean["goodput_bps"] == pytest.approx(flow(CLEAN, cc="reno")["goodput_bps"], rel=0.02)
    assert 65e3 < vegas["goodput_bps"] < 90e3
    assert 320e3 < reno["goodput_bps"] < 340e3
    assert 0.2 < vegas["rtt_mean_s"] < 0.3
    assert 0.7 < reno["rtt_mean_s"] < 0.85
    assert vegas["rtt_min_s"] == pytest.approx(0.14, abs=0.001)
    assert 6 * vegas["rtt_min_s"] < vegas["rtt_max_s"]
    assert 4 < vegas["cwnd_mean"] < 6
    assert reno["cwnd_max"] == 64
    for row in (clean, vegas, reno):
        assert row["lost_dropped"] == row["retransmits"] == row["timeouts"] == 0


def test_without_in_sequence_delivery_there_are_fast_retransmits_and_no_loss() -> None:
    row = flow({"bearer.dch.rlc.am.in_sequence": False})
    assert row["fast_retransmits"] > 100
    assert row["lost_dropped"] == 0


def test_at_thirty_percent_the_timer_fires_without_a_loss() -> None:
    row = flow(BAD)
    assert row["timeouts"] > 3
    assert row["lost_dropped"] == 0
    assert 2 <= row["cwnd_mean"] < 3
    assert flow(dict.fromkeys(BAD, "20 %"), cc="reno")["timeouts"] == 0


def test_the_table_of_decisions_is_right() -> None:
    rows = re.findall(r"\| (\d) \| ([\d.]+) s \| [^|]*?([\d.]+) \| (\d) \|", TUTORIAL)
    assert len(rows) == 3
    for window, rtt, shown, rounded in rows:
        delta = int(window) * (1 - 0.14 / float(rtt))
        assert float(shown) == pytest.approx(delta, abs=0.05)
        assert int(rounded) == math.floor(delta + 0.5)


#: pandas and polars are extras, and nothing that a page asks for by default may need them.
WITHOUT_EXTRAS = """
import sys


class Absent:
    def find_spec(self, name, *_):
        if name.split(".")[0] in ("pandas", "polars"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Absent())
"""


@pytest.mark.parametrize("page", ["README.md", "docs/tutorial.md"])
def test_python_of_the_pages_runs_without_pandas(page: str, tmp_path: Path) -> None:
    blocks = re.findall(
        r"^```python\n(.*?)^```", (DOCS.parent / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    assert blocks
    first = (DOCS / "tutorial" / "first.toml").read_text(encoding="utf-8")
    for name in ("first.toml", "download.toml"):
        (tmp_path / name).write_text(first, encoding="utf-8")
    (tmp_path / "page.py").write_text(WITHOUT_EXTRAS + "\n".join(blocks), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "page.py"],
        cwd=tmp_path,
        env={**os.environ, "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_commands_of_the_tutorial_and_of_the_pages_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("first.toml").write_text((DOCS / "tutorial" / "first.toml").read_text(encoding="utf-8"), encoding="utf-8")
    lines = re.findall(r"^    lasthop ((?:run|validate) first\.toml.*)$", TUTORIAL, re.MULTILINE)
    assert len(lines) > 4
    lines += [f"run first.toml {o} --force" for o in re.findall(r"`(--set [^`]+)`", TUTORIAL)]
    for line in lines:
        done = CliRunner().invoke(main, [*shlex.split(line)])
        assert done.exit_code == 0, f"{line}\n{done.output}"


def test_the_scenario_of_the_readme_runs() -> None:
    text = re.search(r"```toml\n(.*?)```", (DOCS.parent / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert text
    assert lh.Scenario.parse(text.group(1)).run().flows.num_rows == 1


def test_the_small_study_of_the_guide_runs(tmp_path: Path) -> None:
    from lasthop import harness

    result = harness.run_study(DOCS / "tutorial" / "small-study", out=tmp_path / "small")
    assert result.count("agrees") == 1
    assert result.report.is_file()


def commands_of(page: str) -> list[tuple[str, list[str]]]:
    """The commands of the console blocks of a page, in their order.

    Each with the lines that it prints.

    Blocks behind a comment `<!-- not run: REASON -->` are left out.
    """
    found: list[tuple[str, list[str]]] = []
    page = re.sub(r"^<!-- not run: [^>]+ -->\n```.*?^```", "", page, flags=re.MULTILINE | re.DOTALL)
    for block in re.findall(r"^```console\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


@pytest.mark.parametrize(
    ("page", "at_least"),
    [
        ("tutorial-slow-flow.md", 13),
        ("tutorial-handover.md", 8),
        ("tutorial-own-control.md", 6),
        ("guides/export.md", 2),
        ("../README.md", 1),
    ],
)
def test_a_tutorial_prints_what_the_page_says(page: str, at_least: int, tmp_path: Path) -> None:
    """Each command as it stands there, in one shell after the other.

    `...` stands for lines that are left out.
    """
    text = (DOCS / page).read_text(encoding="utf-8")
    commands = commands_of(text)
    assert len(commands) >= at_least
    for name, scenario in re.findall(r"^```toml\n# ([a-z]+\.toml)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        (tmp_path / name).write_text(scenario, encoding="utf-8")
    for file in (DOCS / "tutorial").glob("*.py"):
        shutil.copy(file, tmp_path)
    has_tshark = shutil.which("tshark") is not None
    assert has_tshark or "LASTHOP_NEEDS_TSHARK" not in os.environ, "tshark is not installed"
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environ = {**os.environ, "HOME": str(tmp_path), "PATH": path, "LC_ALL": "C", "TZ": "UTC", "MPLBACKEND": "Agg"}
    environ = {
        name: value for name, value in environ.items() if name not in ("WIRESHARK_CONFIG_DIR", "XDG_CONFIG_HOME")
    }
    wrong = []
    for command, lines in commands:
        if command.startswith("tshark") and not has_tshark:
            continue
        done = subprocess.run(
            command, shell=True, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        printed = [line.rstrip() for line in done.stdout.splitlines()]
        at = 0
        for i, line in enumerate(lines):
            if line == "...":
                continue
            # Behind lines that are left out anywhere, else next.
            places = range(at, len(printed)) if i and lines[i - 1] == "..." else range(at, min(at + 1, len(printed)))
            place = next((j for j in places if printed[j] == line.rstrip()), None)
            if place is None:
                wrong.append(f"{command[:60]}: {line!r} is not in\n" + "\n".join(printed[at : at + 12]))
                break
            at = place + 1
        else:
            if lines[-1:] != ["..."] and at != len(printed):
                wrong.append(f"{command[:60]}: more is printed: {printed[at]!r}")
    assert not wrong, "\n\n".join(wrong)
    if not has_tshark and any(command.startswith("tshark") for command, _ in commands):
        pytest.skip("tshark is not installed: the part with Wireshark was not tried")
