"""campaign.toml among the results: it can be run as it is, from any folder.

Also after the originals have changed.
"""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import lasthop
from lasthop import Campaign, Scenario
from lasthop.campaign.results import CampaignResults
from lasthop.cli import main
from tests.scenarios import WIRED

OWN = """
from lasthop import CongestionControl
import helper

class Mine(CongestionControl):
    def on_ack(self, ack):
        self.slow_start(ack)

def stalls(run):
    return helper.VALUE
"""
CAMPAIGN = """
[campaign]
name = "whole"
base = "../scenarios/wired.toml"
until = "ci95(goodput) < 40 %, max 12"
where = ["not (cc == 'reno' and trace == 'b')"]

[set]
"scenario.duration" = "0.5 s"

[axis.cc]
key = "flow.ftp.tcp.cc"
values = ["reno", "mine"]

[axis.trace]
options = { a = { "link.path.trace" = "../traces/a.trace" }, b = { "link.path.trace" = "../traces/b.trace" } }

[cc]
mine = "own.py:Mine"

[metric]
goodput = 'flow("ftp").goodput_bps in Mbit/s'
own = { python = "own.py:stalls", unit = "s" }

[figure.goodput]
kind = "line"
x = "trace"
lines = "cc"
"""


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in {
        "scenarios/wired.toml": WIRED.replace('rate = "5 Mbit/s"', 'trace = "../traces/a.trace"'),
        "traces/a.trace": "".join(f"{3 * n}\n" for n in range(1, 400)),
        "traces/b.trace": "".join(f"{4 * n}\n" for n in range(1, 400)),
        "campaigns/own.py": OWN,
        "campaigns/helper.py": "VALUE = 2.5\n",
        "campaigns/c.toml": CAMPAIGN,
    }.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def sweep(*args: str) -> dict[str, Any]:
    done = CliRunner().invoke(main, ["sweep", *args, "--json"], prog_name="lasthop")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def octets(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in sorted(folder.glob("*.parquet"))}


def test_the_recorded_command_repeats_the_results_from_any_folder_without_the_originals(
    room: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    about = sweep("campaigns/c.toml", "--out=r", "--store=s", "--jobs=2")
    before = octets(room / "r")
    text = (room / "r" / "campaign.toml").read_text()
    assert about["command"].startswith(f"lasthop sweep {room / 'r' / 'campaign.toml'}")
    assert about["called"]["words"].startswith("lasthop sweep campaigns/c.toml --out=r")
    assert about["called"]["folder"] == str(room)
    for folder in ("scenarios", "traces", "campaigns"):
        shutil.rmtree(room / folder)
    monkeypatch.chdir(room / "elsewhere")
    words = shlex.split(about["command"])
    again = sweep(*words[2:])
    assert again["runs"]["taken"] == again["runs"]["done"] == about["runs"]["done"]
    assert again["digest"] == about["digest"]
    assert octets(room / "r") == before
    assert (room / "r" / "campaign.toml").read_text() == text
    # With a store of its own it makes the runs anew: the same octets.
    fresh = sweep(str(room / "r" / "campaign.toml"), "--out=r2", "--store=s2")
    assert fresh["runs"]["taken"] == 0
    assert octets(room / "elsewhere" / "r2") == before


@pytest.mark.usefixtures("room")
def test_every_default_of_the_campaign_is_spelled_out() -> None:
    text = Campaign.load("campaigns/c.toml").to_toml()
    for said in (
        'description = ""', "limit = 100000", "keep = []", "seeds = { first = 1, count = 10 }"[:20], "tables = []",
        "min 10, max 12",
    ):  # fmt: skip
        assert said in text
    again = Campaign.parse(text, folder="campaigns")
    assert again.digest == Campaign.load("campaigns/c.toml").digest
    assert again.to_toml() == text


def test_a_campaign_made_in_python_leaves_a_file_too(room: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = Scenario.load("scenarios/wired.toml", set={"link.path.loss": "2 %"})
    monkeypatch.syspath_prepend(str(room / "campaigns"))
    import own  # type: ignore[import-not-found]

    made = Campaign(base, {"flow.ftp.tcp.cc": ["reno", "mine"]}, {"own": own.stalls, "lost": "count(drops)"},
                    cc={"mine": own.Mine}, seeds=2, set={"scenario.duration": "0.5 s"}, name="python")  # fmt: skip
    found = made.run("r", store="s", using="threads")
    before = octets(room / "r")
    shutil.rmtree(room / "scenarios")
    shutil.rmtree(room / "traces")
    monkeypatch.chdir(room / "elsewhere")
    again = sweep(*shlex.split(found.about["command"])[2:])
    assert again["digest"] == made.digest
    assert again["runs"]["taken"] == 4
    assert octets(room / "r") == before
    for name in ("own", "helper"):
        sys.modules.pop(name, None)


def test_what_has_no_file_is_named(room: Path) -> None:
    script = room / "prompt.py"
    script.write_text(
        "import lasthop\nclass Own:\n    @staticmethod\n    def inner(run):\n        return 1.0\n"
        "made = lasthop.Campaign('scenarios/wired.toml', {}, {'own': Own.inner}, seeds=1, name='x',\n"
        "                        set={'scenario.duration': '0.2 s'})\n"
        "if __name__ == '__main__':\n    made.run('r', store='s', using='threads')\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = CampaignResults.load("r")
    assert found.toml.startswith("# To be run with code that has no file to be copied: metric.own\n")
    assert found.about["command"] == ""


@pytest.mark.usefixtures("room")
def test_a_bundled_base_is_named() -> None:
    made = lasthop.Campaign("lte-download", {"flow.download.tcp.cc": ["reno"]}, {"lost": "count(drops)"}, seeds=1,
                            set={"scenario.duration": "0.1 s"})  # fmt: skip
    made.run("r", store="s")
    assert 'base = "lte-download"' in Path("r/campaign.toml").read_text()
    assert not Path("r/files").exists()
    assert Campaign.load("r/campaign.toml").digest == made.digest
