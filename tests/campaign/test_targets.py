"""Where results may go, asked before the first run; and results of what is finished so far."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from lasthop import Campaign, LasthopError
from lasthop.campaign.conduct import Event, conduct
from lasthop.campaign.results import CampaignResults
from lasthop.campaign.sequential import Rule
from tests.campaign.plans import GOODPUT, HandMade, measures, small
from tests.scenarios import WIRED

ROOT = Path(__file__).parents[2]


def plan(cc: tuple[str, ...] = ("reno", "cubic"), **changes: object) -> HandMade:
    """Campaigns of one name; another digest where anything but the seeds differs."""
    made = HandMade({"flow.ftp.tcp.cc": list(cc)}, **changes)  # type: ignore[arg-type]
    names = [m.text for m in made.measures]
    return HandMade(made.sets, digest=str(hash((cc, *names, made.keep, made.text)) % 10**9), **changes)  # type: ignore[arg-type]


def test_results_of_other_points_are_not_replaced_without_a_word(tmp_path: Path) -> None:
    conduct(plan(), tmp_path / "s", out=tmp_path / "out")
    runs = sorted((tmp_path / "s").rglob("*.parquet"))
    with pytest.raises(LasthopError) as refused:
        conduct(plan(("bbr",)), tmp_path / "s", out=tmp_path / "out")
    assert "would not give again: 2 of its 2 points are not in this one" in str(refused.value)
    assert "--out" in str(refused.value)
    assert "--force" in str(refused.value)
    assert sorted((tmp_path / "s").rglob("*.parquet")) == runs  # no run was made
    found = conduct(plan(("bbr",)), tmp_path / "s", out=tmp_path / "out", force=True)
    assert "are replaced: 2 of its 2 points" in found.about["notes"][0]
    assert CampaignResults.load(tmp_path / "out").table()["cc"].to_pylist() == ["bbr"] * 3


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (
            plan(measures=measures(other="count(drops)"), keep=("flows",)),
            "goodput, timeouts are not in this one, or differs",
        ),
        (plan(measures=GOODPUT[:1], keep=("flows",)), "timeouts is not in this one, or differs"),
        (
            plan(measures=(*measures(goodput='flow("ftp").goodput_bps in kbit/s'), GOODPUT[1]), keep=("flows",)),
            "goodput is not in",
        ),
        (HandMade({"link.path.loss": ["0 %"]}, digest="1"), "those over cc"),
        (plan(keep=("tcp",)), "flows is not in"),
        (plan(keep=("flows",), text=WIRED.replace("0 ms", "1 ms")), "its base scenario or [set] differs"),
    ],
)
def test_results_with_other_metrics_axes_or_tables_are_not_replaced(tmp_path: Path, other: HandMade, why: str) -> None:
    conduct(plan(keep=("flows",)), tmp_path / "s", out=tmp_path / "out")
    with pytest.raises(LasthopError, match="would not give again") as refused:
        conduct(other, tmp_path / "s", out=tmp_path / "out")
    assert why in str(refused.value)


def test_other_seeds_replace_and_a_larger_campaign_says_so(tmp_path: Path) -> None:
    conduct(plan(), tmp_path / "s", out=tmp_path / "out")
    assert conduct(plan(seeds=(4, 5)), tmp_path / "s", out=tmp_path / "out").about["notes"] == []
    wider = plan(("reno", "cubic", "bbr"), keep=("flows",), measures=(*GOODPUT, *measures(lost="count(drops)")))
    notes = conduct(wider, tmp_path / "s", out=tmp_path / "out").about["notes"]
    assert len(notes) == 1
    assert "results of an earlier form of the campaign" in notes[0]


CHOICES = """
[campaign]
name = "choices"
base = "lte-download"
seeds = 1
[set]
"scenario.duration" = "0.1 s"
[axis.choice]
options = { first = { "flow.download.tcp.cc" = "reno" }, second = { "flow.download.tcp.cc" = "cubic" } }
[metric]
lost = "count(drops)"
"""


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("cubic", "bbr", "1 of its 2 points set other values under the same labels"),
        ("0.1 s", "0.2 s", r"its base scenario or \[set\] differs"),
        ("lte-download", "lte-fading", r"its base scenario or \[set\] differs"),
    ],
)
def test_results_of_other_values_under_equal_labels_are_not_replaced(
    tmp_path: Path, old: str, new: str, why: str
) -> None:
    where = {"store": tmp_path / "s", "out": tmp_path / "out", "using": "threads"}
    Campaign.parse(CHOICES).run(**where)  # type: ignore[arg-type]
    other = Campaign.parse(CHOICES.replace(old, new))
    with pytest.raises(LasthopError, match=why):
        other.run(**where)  # type: ignore[arg-type]
    other.run(**where, force=True)  # type: ignore[arg-type]


def test_foreign_files_are_found_before_the_first_run(tmp_path: Path) -> None:
    conduct(plan(), tmp_path / "s", out=tmp_path / "out")
    (tmp_path / "out" / "notes.txt").write_text("mine")
    with pytest.raises(LasthopError, match=r"files that are not of the results: notes\.txt"):
        conduct(plan(seeds=(9,)), tmp_path / "s2", out=tmp_path / "out", force=True)
    assert not (tmp_path / "s2").exists()
    assert (tmp_path / "out" / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize(("out", "store"), [("r/store", "r/store"), ("r", "r/store"), ("r/store/x", "r/store")])
def test_the_store_is_no_folder_for_results(tmp_path: Path, out: str, store: str) -> None:
    with pytest.raises(LasthopError, match="is no folder for results, because of the store"):
        conduct(plan(), tmp_path / store, out=tmp_path / out)
    assert list(tmp_path.iterdir()) == []


def test_another_process_with_the_same_folder_is_refused_before_its_first_run(tmp_path: Path) -> None:
    text = (
        "import sys\nfrom pathlib import Path\nfrom lasthop.campaign.conduct import conduct\n"
        "from tests.campaign.plans import small\n"
        "here = Path(sys.argv[1])\nconduct(small(), here / 'other', out=here / 'out')\n"
    )
    said: list[str] = []

    def second(event: Event) -> None:
        if event.done == 3:
            done = subprocess.run(
                [sys.executable, "-c", text, str(tmp_path)], capture_output=True, text=True, cwd=ROOT, check=False
            )
            said.append(done.stderr)

    conduct(small(), tmp_path / "s", using="threads", jobs=1, out=tmp_path / "out", progress=second)
    assert "is being written by another run" in said[0]
    assert not (tmp_path / "other").exists()
    assert CampaignResults.load(tmp_path / "out").table().num_rows == 12


# ---------------------------------------------------------------------- what is finished


def stopped_after(count: int, made: HandMade, store: Path) -> None:
    def stop(event: Event) -> None:
        if event.done == count:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        conduct(made, store, using="threads", jobs=1, progress=stop)


def test_what_is_finished_of_a_stopped_campaign_is_shown_as_incomplete(tmp_path: Path) -> None:
    made = small(keep=("flows",))
    stopped_after(5, made, tmp_path / "s")
    found = conduct(made, tmp_path / "s", out=tmp_path / "part", finished_only=True)
    assert found.about["runs"] == {"planned": 12, "done": 5, "taken": 5, "failed": 0}
    assert found.incomplete == "these are no whole results: 5 of 12 runs are finished"
    loaded = CampaignResults.load(tmp_path / "part")
    assert loaded.incomplete == found.incomplete
    assert loaded.table().num_rows == loaded.kept("flows").num_rows == 5
    assert loaded.table().schema.metadata[b"incomplete"] == b"5 of 12 runs are finished"
    whole = conduct(made, tmp_path / "s", out=tmp_path / "part")  # whole ones take its place
    assert whole.incomplete is None
    assert b"incomplete" not in CampaignResults.load(tmp_path / "part").table().schema.metadata
    with pytest.raises(LasthopError, match="holds whole results"):
        conduct(made, tmp_path / "s", out=tmp_path / "part", finished_only=True)
    rows = whole.table().to_pylist()
    assert all(row in rows for row in loaded.table().to_pylist())


def test_finished_runs_of_a_rule_and_of_no_campaign(tmp_path: Path) -> None:
    made = small(until=Rule.parse("ci95(goodput) < 1 %, min 5, max 10"))
    stopped_after(7, made, tmp_path / "s")
    found = conduct(made, tmp_path / "s", finished_only=True)
    assert found.incomplete == "these are no whole results: 7 of 20 runs are finished, and the rule may require more"
    assert {look.get("why") for look in found.about["looks"]} == {"not all of its runs are finished"}
    nothing = conduct(made, tmp_path / "none", finished_only=True)
    assert nothing.table().num_rows == 0
    assert nothing.about["incomplete"]["finished"] == 0
    assert not (tmp_path / "none").exists()


def test_failures_in_campaign_json_are_few_and_counted(tmp_path: Path) -> None:
    made = small(measures=measures(**{f"absent{i}": 'flow("other").goodput_bps' for i in range(12)}))
    found = conduct(made, tmp_path / "s", out=tmp_path / "out")
    about = json.loads((tmp_path / "out" / "campaign.json").read_text())
    assert len(about["failures"]) == 100
    assert about["missing"] == {"runs": 0, "values": 144}
    assert found.failures().num_rows == 144
    assert threading.active_count() < 20
