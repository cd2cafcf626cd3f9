"""The bundled campaign `bufferbloat`, and what the tutorial's second part says of it."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner

from lasthop import Campaign
from lasthop._bundled import campaigns
from lasthop.campaign.jobs import Job
from lasthop.campaign.results import CampaignResults
from lasthop.cli import main
from lasthop.report.campaign import figure_specs

PAGE = (Path(__file__).parents[2] / "docs" / "tutorial-campaign.md").read_text(encoding="utf-8")
#: A row of `lasthop results`, as the tutorial quotes it.
ROW = re.compile(r"^(\d+) +(none|codel|pie) +(reno|cubic|bbr) +5 +(\S.*)$", re.MULTILINE)


def test_names_of_scenarios_and_campaigns_differ() -> None:
    from lasthop._bundled import bundled

    assert "bufferbloat" in campaigns()
    assert not set(campaigns()) & set(bundled())


def test_it_has_36_points_of_five_common_seeds() -> None:
    campaign = Campaign.load("bufferbloat")
    assert [(a.name, len(a.labels)) for a in campaign.axes] == [("buffer", 4), ("aqm", 3), ("cc", 3)]
    assert len(campaign.points) == 36
    assert list(campaign.seeds) == [1, 2, 3, 4, 5]
    assert [f.name for f in campaign.figures] == ["bufferbloat", "delay"]


def test_it_is_listed_and_copied(tmp_path: Path) -> None:
    listed = CliRunner().invoke(main, ["scenarios", "list"]).output
    assert re.search(r"^bufferbloat +A download over one LTE cell", listed, re.MULTILINE)
    copied = CliRunner().invoke(main, ["scenarios", "copy", "bufferbloat", str(tmp_path)])
    assert copied.exit_code == 0, copied.output
    assert "lasthop sweep" in copied.output
    assert Campaign.load(tmp_path / "bufferbloat.toml").digest == Campaign.load("bufferbloat").digest


def test_a_row_of_the_tutorial_is_what_its_runs_give() -> None:
    """The other rows are compared by the whole campaign, in `make slow`."""
    campaign = Campaign.load("bufferbloat")
    (buffer, aqm, cc, quoted), *_ = ROW.findall(PAGE)
    wanted = {"buffer": float(buffer), "aqm": aqm, "cc": cc}
    (point,) = [p for p in campaign.points if dict(p.labels) == wanted]
    rows = []
    for seed in campaign.seeds:
        run = campaign.scenario(Job(point, seed)).run()
        values = {m.name: m.outcome(run).value for m in campaign.measures}
        rows.append({**dict(point.labels), "seed": seed, **values})
    table = pa.Table.from_pylist(rows)
    from lasthop.campaign.figures import measured
    from lasthop.campaign.tidy import tidy

    found = []
    for metric in ("goodput", "delay", "delay_95"):
        (e,) = tidy(table).estimates(metric, 0.95).values()
        found.append(measured(e.mean, e.low, e.high))
    assert re.split(r"\s{2,}", quoted) == found


@pytest.mark.slow
def test_the_whole_campaign_gives_each_row_that_the_tutorial_quotes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LASTHOP_STORE", str(tmp_path / "store"))
    done = CliRunner().invoke(main, ["sweep", "bufferbloat"])
    assert done.exit_code == 0, done.output
    CliRunner().invoke(main, ["scenarios", "copy", "bufferbloat"])
    (rule,) = re.findall(r"^until = .*$", PAGE, re.MULTILINE)
    Path("bufferbloat.toml").write_text(Path("bufferbloat.toml").read_text().replace("seeds = 5\n", f"{rule}\n"))
    done = CliRunner().invoke(main, ["sweep", "bufferbloat.toml", "--out", "rule"])
    assert done.exit_code == 0, done.output
    assert "500 runs; intervals" in done.output
    commands = (
        "results results/bufferbloat", "compare results/bufferbloat --by cc --metric delay",
        "compare results/bufferbloat --by aqm --metric goodput", "results rule",
    )  # fmt: skip
    shown = {tuple(line.split()) for c in commands for line in CliRunner().invoke(main, c.split()).output.splitlines()}
    blocks = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    quoted = [line for block in blocks for line in block.splitlines()]
    assert len(quoted) == 5 + 4 + 3 + 4
    assert [line for line in quoted if tuple(line.split()) not in shown] == []
    results = CampaignResults.load("results/bufferbloat")
    for spec in figure_specs(results):
        assert Path(f"results/bufferbloat/figures/{spec.name}.pdf").stat().st_size > 1000
    assert Path("results/bufferbloat/report.html").is_file()
