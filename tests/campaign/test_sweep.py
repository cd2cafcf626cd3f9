"""`lasthop sweep`: from a file and from flags, estimates, the store's commands, exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from lasthop.cli import main
from tests.scenarios import WIRED

CAMPAIGN = """\
[campaign]
name = "small"
base = "wired.toml"
seeds = 2

[set]
"scenario.duration" = "1 s"

[axis.delay]
key = "link.path.delay"
values = ["10 ms", "20 ms"]

[metric]
goodput = 'flow("ftp").goodput_bps in Mbit/s'
"""
FLAGS = [
    "--base=wired.toml",
    "--axis=flow.ftp.tcp.cc=reno,cubic",
    '--metric=goodput=flow("ftp").goodput_bps in Mbit/s',
    "--set=scenario.duration=1 s",
    "--seeds=2",
]


@pytest.fixture(autouse=True)
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LASTHOP_STORE", raising=False)
    Path("wired.toml").write_text(WIRED)
    Path("c.toml").write_text(CAMPAIGN)


def sweep(*args: str) -> Result:
    return CliRunner().invoke(main, ["sweep", *args], prog_name="lasthop")


def sweep_json(*args: str, code: int = 0) -> dict[str, Any]:
    result = sweep(*args, "--json")
    assert result.exit_code == code, result.output
    found = json.loads(result.stdout)
    assert isinstance(found, dict)
    return found


def test_a_campaign_leaves_its_table_and_goes_on_where_it_was() -> None:
    first = sweep("c.toml")
    assert first.exit_code == 0, first.output
    head, *rows = first.stdout.splitlines()
    assert head.split() == ["delay", "(ms)", "runs", "goodput", "(Mbit/s)"]
    assert [row.split()[:2] for row in rows[:2]] == [["10", "2"], ["20", "2"]]
    assert "4 runs made" in first.stdout
    assert "Results: results/small" in first.stdout
    table = pq.read_table("results/small/results.parquet")
    assert table.column_names == ["delay", "seed", "goodput"]
    assert table.schema.field("delay").metadata[b"unit"] == b"ms"
    before = Path("results/small/results.parquet").read_bytes()
    again = sweep("c.toml")
    assert "0 runs made" in again.stdout
    assert "4 found in the store" in again.stdout
    assert Path("results/small/results.parquet").read_bytes() == before


def test_the_table_of_sweep_is_that_of_results_also_with_a_rule() -> None:
    """The rule's intervals, the marks of undecided points, and the same digits."""
    done = sweep(
        "c.toml", "--until=ci95(goodput) < 0.01 %, min 5, max 6", "--set=campaign.seeds=5", "--set=link.path.loss=1 %"
    )
    assert done.exit_code == 0, done.output
    shown = CliRunner().invoke(main, ["results", "results/small"]).stdout.splitlines()
    assert done.stdout.splitlines()[: len(shown)] == shown
    assert shown[1].endswith("?")
    assert "? 2 undecided: the interval is too wide after the rule's most runs, 6" in shown


def test_a_figure_that_is_left_out_is_named() -> None:
    Path("late.py").write_text("def none(run):\n    return None\n")
    Path("c.toml").write_text(
        CAMPAIGN + 'none = { python = "late.py:none", unit = "s" }\n[figure.empty]\nkind = "rank"\nmetric = "none"\n'
    )
    result = sweep("c.toml", "--jobs=1")
    assert result.exit_code == 0, result.output
    assert "the figure 'empty' is left out; report.html says why" in result.stderr
    assert not Path("results/small/figures/empty.pdf").exists()
    assert "no run has a value of" in Path("results/small/report.html").read_text(encoding="utf-8")


def test_a_campaign_called_as_a_command_is_run_by_its_path() -> None:
    Path("prune").write_text(CAMPAIGN)
    assert sweep("./prune", "--dry-run").exit_code == 0
    assert "./prune" in sweep("--help").stdout


def test_flags_describe_a_small_campaign_and_the_command_that_repeats_it() -> None:
    found = sweep_json(*FLAGS, "--out=o", "--store=s")
    assert (found["name"], found["runs"]["done"], found["out"]) == ("wired-cc", 4, "o")
    assert found["called"]["words"].startswith("lasthop sweep --base=wired.toml --axis=flow.ftp.tcp.cc=reno,cubic")
    assert found["command"].startswith(f"lasthop sweep {Path('o').absolute() / 'campaign.toml'} --out")
    assert sorted(p.name for p in Path("o").glob("*.*")) >= ["campaign.json", "campaign.toml", "failures.parquet"]
    assert Path("s").is_dir()


def test_a_dry_run_writes_nothing() -> None:
    found = sweep_json("c.toml", "--dry-run")
    assert (found["runs"], found["points"], found["found"]) == ([4, 4], 2, 0)
    shown = sweep("c.toml", "--dry-run", "--until=ci95(goodput) < 2 %, max 12", "--set=campaign.seeds=6")
    assert "Runs: 12 to 24, of them 0 in the store" in shown.stdout
    assert not Path("results").exists()


def test_keys_of_the_file_change_by_options() -> None:
    found = sweep_json(
        "c.toml", "--seeds=7,8,9", "--keep=flows", '--set=axis.delay.values=["5 ms"]', "--executor=threads"
    )
    assert (found["runs"]["done"], found["keep"]) == (3, ["flows"])
    assert pq.read_table("results/small/tables/flows.parquet")["seed"].to_pylist() == [7, 8, 9]


def test_seeds_that_change_nothing_are_named_with_the_key_that_makes_runs_differ() -> None:
    said = "seeds change nothing at 2 points: all runs there are equal"
    lossless = ("c.toml", "--set=link.path.loss=0 %", "--force")
    assert said in sweep(*lossless).output
    assert "seeds change nothing" not in sweep(*lossless, "--set=scenario.jitter=1 ms").output
    ruled = sweep(*lossless, "--seeds=5", "--until=ci95(goodput) < 2 %").output
    assert f"{said}; the stopping rule ends there" in ruled


def test_shards_fill_one_store() -> None:
    for part in ("1/2", "2/2"):
        assert sweep("c.toml", "--shard", part).exit_code == 0
    assert Path("results/small-1-of-2").is_dir()
    assert sweep_json("c.toml")["runs"]["taken"] == 4


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        ((), 2, "give a campaign, or --base"),
        (("c.toml", "--base=wired.toml"), 2, "give one of the two"),
        (("c.toml", "--axis=a.b=1"), 2, "--axis goes with --base"),
        (("c.toml", "--executor=magic"), 2, "'magic' is not one of"),
        (("c.toml", "--shard="), 1, "'' is no shard"),
        (("c.toml", "--shard=1"), 1, "'1' is no shard"),
        (("absent.toml",), 1, "there is no such file"),
        (("absent",), 1, "nor a bundled campaign of this name"),
        (("wired.toml",), 1, "this is a scenario, not a campaign"),
        (("lte-download",), 1, "lasthop sweep --base lte-download --axis"),
        (("c.toml", "--set=axis.delay.values=5"), 1, "lasthop describe campaign"),
        (("c.toml", "--set=campaign.seeds=-1"), 1, "lasthop describe campaign"),
        ((*FLAGS[:2], FLAGS[3]), 1, "add --metric"),
        (("--base=lte-download", "--metric=p=count(packets)"), 1, "--set output.packets=true"),
        ((*FLAGS, "--limit=3"), 1, "or allow it: --limit 4"),
        ((*FLAGS, "--axis=link.path.delay=10 ms..50 ms"), 1, "10 ms..50 ms:STEP by steps"),
        ((*FLAGS[:1], "--axis=flow.download.tcp.cc=reno", FLAGS[2]), 1, "it has: ftp; a new flow"),
        ((*FLAGS[:2], '--metric=g=flow("fpt").goodput_bps'), 1, "did you mean 'ftp'"),
        (("c.toml", "--shard=3/2"), 1, "no shard"),
        (("c.toml", "--limit=3"), 1, "4 runs (2 points of 2 delay, 2 seeds each), more than 3"),
        (("c.toml", "--set=axis.delay.value=3"), 1, "did you mean `values`"),
        (("c.toml", "--set=flow.ftp.tcp.cc=renno"), 1, "did you mean `reno`"),
        (("c.toml", "--out=wired.toml"), 1, "wired.toml"),
        (("prune",), 2, "--older-than or --larger-than"),
        (("prune", "--older-than=soon"), 1, "no number with its unit"),
    ],
)
def test_mistakes_have_exit_codes_and_one_json_object(args: tuple[str, ...], code: int, message: str) -> None:
    result = sweep(*args)
    assert (result.exit_code, message in result.stderr) == (code, True), result.output
    error = sweep_json(*args, code=code)["error"]
    assert message in json.dumps(error, ensure_ascii=False)
    assert not Path("results").exists()


def test_a_failed_run_is_reported_and_ends_with_1() -> None:
    Path("cc.py").write_text(
        "from lasthop import CongestionControl\n"
        "class Fails(CongestionControl):\n    def on_ack(self, ack):\n        raise ValueError('no idea')\n"
    )
    args = [a for a in FLAGS if "--axis" not in a] + ["--cc=f=cc.py:Fails", "--axis=flow.ftp.tcp.cc=f,reno"]
    args += ["--set=link.path.loss=0 %", "--jobs=1"]  # a lost SYN would leave nothing to acknowledge
    result = sweep(*args)
    assert result.exit_code == 1, result.output
    assert "2 runs failed" in result.stderr
    assert "2 runs made" in result.stdout
    assert ", 2 failed" in result.stdout
    assert "no idea" in result.stderr
    assert "Results: results/wired-cc" in result.stdout


def test_the_store_is_indexed_and_emptied() -> None:
    assert sweep("c.toml", "--quiet").stdout == ""
    assert sweep_json("index")["entries"] > 4
    assert sweep_json("prune", "--larger-than=0B")["files_left"] == 0
    assert sweep_json("c.toml")["runs"]["taken"] == 0


def test_help_names_the_commands_below_it() -> None:
    shown = sweep("prune", "--help").stdout
    assert "Usage: lasthop sweep prune [OPTIONS]" in shown


def test_describe_explains_the_keys_of_a_campaign() -> None:
    def describe(*args: str) -> Result:
        return CliRunner().invoke(main, ["describe", *args], prog_name="lasthop")

    assert "axis.<name>.range.factor" in describe("campaign").stdout
    assert "common random numbers" in describe("campaign", "campaign.seeds").stdout
    assert "did you mean 'campaign.seeds'" in describe("campaign", "campaign.seed").stderr
    assert json.loads(describe("campaign", "--schema").stdout)["title"] == "Campaign"
    assert json.loads(describe("--schema").stdout)["title"] == "Spec"
    assert describe("link", "--schema").exit_code == 2
