"""What a campaign varies and keeps: axes, labels, conditions, seeds, own code.

From files, flags and Python.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import lasthop as lh
from lasthop import Campaign, LasthopError, Results, _core
from lasthop.campaign._filters import Known, compile_filter
from lasthop.campaign.flags import campaign_of, seeds_of
from lasthop.campaign.jobs import Job
from tests.campaign.test_broken_campaigns import GOOD, OWN
from tests.scenarios import WIRED

GOODPUT = {"goodput": 'flow("ftp").goodput_bps in Mbit/s'}


@pytest.fixture(autouse=True)
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("wired.toml").write_text(WIRED)
    Path("own.py").write_text(OWN)


def axis(table: str) -> Any:
    text = f"""[campaign]\nname = "x"\nbase = "wired.toml"\nkeep = ["flows"]\n[axis.a]\n{table}"""
    return Campaign.parse(text).axes[0]


def values(table: str) -> list[str]:
    """The overrides of a range over a delay."""
    found = axis(f'key = "link.path.delay"\nrange = {{ {table} }}')
    return [one.removeprefix('link.path.delay="').removesuffix('"') for (one,) in found.settings]


@pytest.mark.parametrize(
    ("table", "wanted"),
    [
        ('from = "10 ms", to = "30 ms", step = "10 ms"', ["10 ms", "20 ms", "30 ms"]),
        ('from = "10 ms", to = "39 ms", step = "10 ms"', ["10 ms", "20 ms", "30 ms"]),
        ('from = "30 ms", to = "10 ms", step = "-10 ms"', ["30 ms", "20 ms", "10 ms"]),
        ('from = "10 ms", to = "0.03 s", step = "5000 us"', ["10 ms", "15 ms", "20 ms", "25 ms", "30 ms"]),
        ('from = "0.1 ms", to = "0.3 ms", step = "0.1 ms"', ["0.1 ms", "0.2 ms", "0.3 ms"]),
        ('from = "1 ms", to = "2 ms", count = 5', ["1 ms", "1.25 ms", "1.5 ms", "1.75 ms", "2 ms"]),
        ('from = "0 ms", to = "1 ms", count = 4', ["0 ms", "0.3333333333333333 ms", "0.6666666666666666 ms", "1 ms"]),
        ('from = "1 ms", to = "8 ms", factor = 2', ["1 ms", "2 ms", "4 ms", "8 ms"]),
        ('from = "1 ms", to = "9 ms", factor = 2', ["1 ms", "2 ms", "4 ms", "8 ms"]),
    ],
)
def test_a_range_is_exact(table: str, wanted: list[str]) -> None:
    assert values(table) == wanted


def test_ten_steps_of_a_decade_end_at_its_end() -> None:
    # 10^(1/10) = 1.258925411794...: the tenth power of its ten digits is 1 + 4e-10 too large.
    found = values('from = "1 ms", to = "10 ms", factor = 1.2589254118')
    assert (len(found), found[0], found[1], found[-1]) == (11, "1 ms", "1.2589254118 ms", "10 ms")


@pytest.mark.parametrize(
    ("key", "given", "labels", "unit"),
    [
        ("link.path.delay", '["10 ms", "0.1 s", "2.5 ms"]', (10, 100, 2.5), "ms"),
        ("link.path.rate", '["1 Mbit/s", "500 kbps"]', (1, 0.5), "Mbit/s"),
        ("link.path.loss", '["1 %", "0.5 %"]', (1, 0.5), "%"),
        ("flow.ftp.tcp.cc", '["reno", "cubic"]', ("reno", "cubic"), None),
        ("output.queues", "[true, false]", (True, False), None),
        ("link.path.queue.packets", "[10, 20]", (10, 20), None),
        ("scenario.jitter", '["1 ms", "0 s"]', (1, 0), "ms"),
    ],
)
def test_values_are_their_own_labels(key: str, given: str, labels: tuple[Any, ...], unit: str | None) -> None:
    found = axis(f'key = "{key}"\nvalues = {given}')
    assert (found.labels, found.unit) == (labels, unit)
    assert [type(v) for v in found.labels] == [type(v) for v in labels]


def test_labels_of_several_kinds_are_texts_and_given_labels_replace_them() -> None:
    found = axis('zip = { "link.path.queue" = ["infinite", { kind = "droptail", packets = 9 }] }\nlabels = ["no", 9]')
    assert found.labels == ("no", "9")
    assert found.settings[1] == ('link.path.queue={ kind = "droptail", packets = 9 }',)


def test_a_key_may_be_several() -> None:
    found = axis('key = ["link.path.delay", "scenario.jitter"]\nvalues = ["1 ms", "2 ms"]')
    assert found.settings[1] == ('link.path.delay="2 ms"', 'scenario.jitter="2 ms"')


def test_points_are_all_combinations_with_the_last_axis_fastest() -> None:
    Path("c.toml").write_text(GOOD)
    campaign = Campaign.load("c.toml")
    first, second = (dict(p.labels) for p in campaign.points[:2])
    assert first == {"cc": "reno", "delay": 10, "both": 1, "load": "idle"}
    assert second == {**first, "load": "busy"}
    assert [p.index for p in campaign.points] == list(range(20))
    assert not any(dict(p.labels)["cc"] == "reno" and dict(p.labels)["delay"] == 30 for p in campaign.points)
    scenario = campaign.scenario(Job(campaign.points[-1], 3))
    assert (scenario.seed, scenario.duration) == (3, 2.0)
    effective = scenario.to_toml()
    for line in ('cc = "cubic"', 'delay = "30 ms"', 'rate = "2 Mbit/s"', 'loss = "2 %"', 'mss = "1 kB"'):
        assert line in effective


AXES = {
    "cc": Known(("reno", "cubic"), None),
    "buffer": Known((50, 200.5), "kB"),
    "on": Known((True, False), None),
    "n": Known((1, 2), None),
}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("cc == 'reno'", True),
        ('cc != "reno"', False),
        ("'reno' == cc", True),
        ("not cc == 'reno'", False),
        ("buffer > 50", False),
        ("buffer >= 50 kB", True),
        ("buffer < 0.0501 MB", True),
        ("buffer == 0.05 MB", True),
        ("400 kbit >= buffer", True),
        ("buffer == '50 kB'", True),
        ("on", True),
        ("not on", False),
        ("on == false", False),
        ("cc in ['reno', 'cubic']", True),
        ("n in [2]", False),
        ("n + 1", None),
        ("cc == 'reno' and n == 2 or on", True),
        ("cc == 'cubic' or n == 2 and on", False),
        ("not (cc == 'cubic' or n == 2) and on", True),
        ("not not on", True),
        ("n >= -3.5e0", True),
    ],
)
def test_conditions_mean_what_they_say(text: str, wanted: bool | None) -> None:
    labels = {"cc": "reno", "buffer": 50, "on": True, "n": 1}
    if wanted is None:
        with pytest.raises(Exception, match="no meaning"):
            compile_filter(text, AXES)
    else:
        assert compile_filter(text, AXES)(labels) is wanted


def test_every_point_has_the_same_seeds() -> None:
    def seeds(text: str) -> tuple[int, ...]:
        return Campaign.parse(f'[campaign]\nname = "x"\nbase = "wired.toml"\nkeep = ["flows"]\n{text}').seeds

    assert seeds("") == (1, 2, 3, 4, 5)
    assert seeds("seeds = 2") == (1, 2)
    assert seeds("seeds = { first = 7, count = 2 }") == (7, 8)
    assert seeds("seeds = { count = 2 }") == (1, 2)
    assert seeds("seeds = [9, 3]") == (9, 3)


def test_a_rule_takes_the_number_of_seeds_and_goes_on_after_them() -> None:
    def campaign(seeds: Any, until: str) -> Campaign:
        return Campaign("wired.toml", metrics=GOODPUT, seeds=seeds, until=until)

    plain = campaign(None, "ci95(goodput) < 2 %")
    assert (plain.until and plain.until.min, len(plain.seeds), plain.most_runs) == (10, 10, 200)
    more = campaign({"first": 5, "count": 20}, "ci95(goodput) < 2 %, max 30")
    assert (more.until and more.until.min, more.seeds[-1], more.seed_at(20), more.seed_at(29)) == (20, 24, 25, 34)
    listed = campaign([3, 9, 4, 7, 5], "ci95(goodput) < 2 %")
    assert [listed.seed_at(i) for i in range(7)] == [3, 9, 4, 7, 5, 10, 11]


def test_a_campaign_of_absurd_size_says_its_number_and_a_flag_allows_it() -> None:
    axes = {"flow.ftp.tcp.cc": ["reno", "cubic"], "link.path.delay": {"from": "1 ms", "to": "500 ms", "count": 500}}
    with pytest.raises(
        LasthopError, match=r"2,000,000 runs \(1,000 points of 2 cc x 500 delay, 2,000 seeds each\)"
    ) as e:
        Campaign("wired.toml", axes, GOODPUT, seeds=2000)
    assert "--limit 2000000" in str(e.value)
    assert Campaign("wired.toml", axes, GOODPUT, seeds=2000, limit=2_000_000).runs == 2_000_000
    with pytest.raises(LasthopError, match="more than 1,999"):
        Campaign("wired.toml", axes, GOODPUT, seeds=2, limit=1999)
    wide = {f"link.path.{k}": {"from": 1, "to": 90000, "count": 90000} for k in ("delay", "rate", "loss")}
    with pytest.raises(LasthopError, match="729,000,000,000,000 points"):
        Campaign("wired.toml", wide, GOODPUT, limit=10)


def test_a_table_that_is_not_recorded_has_the_key_that_records_it() -> None:
    sent = {"sent": 'count(packets(event = "sent"))'}
    off = {"output.packets": False}
    with pytest.raises(LasthopError, match=r'\[set\] "output.packets" = true records it'):
        Campaign("wired.toml", metrics=sent, set=off)
    with pytest.raises(LasthopError, match=r"does not record the table 'packets' at packets = false"):
        Campaign("wired.toml", {"output.packets": [True, False]}, sent)
    assert Campaign("wired.toml", metrics=sent).runs == 5


def test_a_value_that_is_wrong_beside_another_only_is_named_with_its_point() -> None:
    axes = {
        "queue": {
            "options": {"codel": {"link.path.queue": "codel"}, "tail": {"link.path.queue": {"kind": "droptail"}}}
        },
        "target": {"key": "link.path.queue.target", "values": ["5 ms"]},
    }
    with pytest.raises(LasthopError, match="unknown key `target`") as caught:
        Campaign("wired.toml", axes, GOODPUT)
    assert len(caught.value.diagnostics) == 1


def test_flags_make_the_campaign_of_the_file() -> None:
    found = campaign_of(
        "wired.toml",
        ["flow.ftp.tcp.cc=reno,cubic", "d:link.path.delay=10 ms..30 ms:10 ms", "link.path.rate=1 Mbit/s..8 Mbit/s:x2",
         "link.path.queue={ kind = 'droptail', packets = 3 }"][:3],
        ['goodput=flow("ftp").goodput_bps in Mbit/s', "stalls=own.py:stalls"],
        seeds="4..6",
        where=["cc != 'reno' or d < 30"],
        set=["scenario.duration=1 s"],
    )  # fmt: skip
    assert [(a.name, len(a), a.unit) for a in found.axes] == [("cc", 2, None), ("d", 3, "ms"), ("rate", 4, "Mbit/s")]
    assert (len(found.points), found.seeds, found.name) == (20, (4, 5, 6), "wired-cc-d-rate")
    assert found.base.duration == 1.0
    again = Campaign.parse(found.to_toml())
    assert again.digest == found.digest
    assert again.points == found.points


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("cc", "not of the form KEY=A,B,C"),
        ("flow.ftp.tcp.cc=reno,,cubic", "a value is empty"),
        ("flow.ftp.tcp.cc=[1", "has no end"),
        ("flow.ftp.tcp.cc=renno", "did you mean `reno`"),
        ("flow.ftp.tcp.msss=9 B", "did you mean `mss`"),
    ],
)
def test_a_mistake_in_a_flag_is_said(flag: str, message: str) -> None:
    with pytest.raises(LasthopError, match=message):
        campaign_of("wired.toml", [flag], ['goodput=flow("ftp").goodput_bps'])


def test_one_key_has_one_axis_and_names_grow_until_they_differ() -> None:
    with pytest.raises(LasthopError, match="an axis of this key already"):
        campaign_of("wired.toml", ["link.path.delay=1 ms", "link.path.delay=2 ms"], ["g=flow.app_bytes"])
    found = Campaign("umts-download", {"bearer.dch.downlink.bler": ["1 %"], "bearer.dch.uplink.bler": ["2 %"]},
                     {"g": "sum(flows.app_bytes)"})  # fmt: skip
    assert [a.name for a in found.axes] == ["bler", "uplink_bler"]


def test_seeds_of_a_flag() -> None:
    assert (seeds_of("5"), seeds_of(" 3, 1"), seeds_of("10..12")) == (5, [3, 1], {"first": 10, "count": 3})
    for text in ("", "x", "1,", "3..1", "-1", "9" * 30):
        with pytest.raises(LasthopError, match="--seeds"):
            seeds_of(text)


class Mine(lh.CongestionControl):
    """A control of a module that can be imported."""

    def on_ack(self, ack: lh.AckSample) -> None:
        self.slow_start(ack)


def rows_of(run: Results) -> float:
    return float(run.flows.num_rows)


def test_python_gives_classes_and_functions() -> None:
    campaign = Campaign(
        lh.Scenario.parse(WIRED),
        {"flow.ftp.tcp.cc": ["mine", "reno"]},
        {"rows": rows_of, **GOODPUT},
        cc={"mine": Mine},
        seeds=1,
        set={"scenario.duration": "1 s"},
    )
    assert campaign.held_by_gil
    again = pickle.loads(pickle.dumps(campaign))
    for found in (campaign, again):
        run = found.scenario(Job(found.points[0], 1)).run()
        assert found.measures[0].outcome(run).value == 1.0
        assert [m.identity for m in found.measures] == [m.identity for m in campaign.measures]
        assert (found.digest, found.code) == (campaign.digest, campaign.code)
    with pytest.raises(TypeError, match="lambda"):
        Campaign("wired.toml", metrics={"one": lambda run: 1.0})


def test_a_campaign_reaches_another_process_with_its_files() -> None:
    Path("c.toml").write_text(
        GOOD.replace('"reno", "cubic"', '"mine", "cubic"').replace("cc == 'reno'", "cc == 'mine'")
    )
    campaign = Campaign.load("c.toml")
    Path("c.pickle").write_bytes(pickle.dumps(campaign))
    text = """
import pickle, sys
from lasthop.campaign.jobs import Job
c = pickle.load(open(sys.argv[1], 'rb'))
run = c.scenario(Job(c.points[0], 2)).run()
print(c.digest, c.code, [m.outcome(run).value is not None for m in c.measures], c.held_by_gil)
"""
    place = str(Path("c.pickle").absolute())
    done = subprocess.run([sys.executable, "-c", text, place], cwd="/", capture_output=True, text=True, check=True)
    assert done.stdout.split() == [campaign.digest, campaign.code, "[True,", "True]", "True"], done.stderr


def test_identity_follows_the_sources_of_a_function_and_of_a_control() -> None:
    Path("helper.py").write_text("VALUE = 1\n")
    Path("own.py").write_text(OWN.replace("def stalls", "import helper\n\ndef stalls"))
    Path("c.toml").write_text(GOOD)
    before = Campaign.load("c.toml")
    Path("helper.py").write_text("VALUE = 2\n")
    after = Campaign.load("c.toml")
    assert (before.measures[0].identity, before.measures[0].text) == (
        after.measures[0].identity,
        after.measures[0].text,
    )
    assert before.measures[1].identity != after.measures[1].identity
    assert before.code != after.code
    assert before.digest != after.digest


def test_a_function_that_fails_leaves_a_reason() -> None:
    Path("own.py").write_text(
        "def raises(run):\n    return 1 / 0\ndef none(run):\n    return None\n"
        "def text(run):\n    return 'x'\ndef nan(run):\n    return float('nan')\n"
    )
    names = ("raises", "none", "text", "nan")
    campaign = Campaign("wired.toml", metrics={n: {"python": f"own.py:{n}"} for n in names}, seeds=1,
                        set={"scenario.duration": "1 s"})  # fmt: skip
    run = campaign.scenario(Job(campaign.points[0], 1)).run()
    reasons = [m.outcome(run).reason for m in campaign.measures]
    assert reasons == [
        "ZeroDivisionError: division by zero (own.py, line 2)",
        "the function returned None",
        "the function returned no number but str",
        "the function returned nan",
    ]


def test_sets_change_the_file_or_each_run() -> None:
    Path("c.toml").write_text(GOOD)
    campaign = Campaign.load(
        "c.toml", ["campaign.seeds=2", 'axis.cc.values=["cubic", "reno", "vegas"]', "link.path.mtu=900 B"]
    )
    assert (len(campaign.seeds), campaign.axes[0].labels) == (2, ("cubic", "reno", "vegas"))
    assert 'mtu = "900 B"' in campaign.base.to_toml()
    with pytest.raises(LasthopError, match="--set") as caught:
        Campaign.load("c.toml", ["link.path.mtuu=900 B"])
    assert "did you mean `mtu`" in str(caught.value)
    with pytest.raises(LasthopError, match="varied by the axis 'cc'"):
        Campaign.load("c.toml", ["flow.ftp.tcp.cc=vegas"])


def test_a_campaign_runs_and_its_results_are_found_again(tmp_path: Path) -> None:
    campaign = Campaign("wired.toml", {"flow.ftp.tcp.cc": ["reno", "cubic"]}, GOODPUT, seeds=2,
                        set={"scenario.duration": "1 s"})  # fmt: skip
    table = campaign.run(tmp_path / "out", store=tmp_path / "store").table()
    assert table.column_names == ["cc", "seed", "goodput"]
    assert table["seed"].to_pylist() == [1, 2, 1, 2]
    assert campaign.results(tmp_path / "out").equals(table)
    other = Campaign("wired.toml", {"flow.ftp.tcp.cc": ["reno", "vegas"]}, GOODPUT, seeds=2, name=campaign.name)
    with pytest.raises(LasthopError, match="not those of this campaign"):
        other.results(tmp_path / "out")
    again = campaign.run(store=tmp_path / "store")
    assert again.about["runs"]["taken"] == 4


def test_the_campaign_of_the_guide_is_right() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "guides" / "campaigns.md").read_text(encoding="utf-8")
    text = guide.split("```toml\n")[1].split("```")[0]
    assert 'name = "buffers"' in text
    campaign = Campaign.parse(text)
    assert (len(campaign.points), campaign.runs, campaign.axes[1].unit) == (5, 25, "kB")


def test_the_core_shows_what_python_finds_at_its_place() -> None:
    file = _core.CampaignFile.parse(GOOD, "c.toml")
    error = file.error_at(["axis", "cc", "values", "1"], "no such control", "take another")
    assert str(error).splitlines()[:2] == ["error: no such control", "  --> c.toml:13:19"]
    assert error.diagnostics[0]["help"] == "take another"
    assert file.source() == (GOOD, "c.toml", [])


def test_half_of_a_character_is_refused() -> None:
    with pytest.raises(LasthopError, match="not valid UTF-8"):
        campaign_of("wired.toml", ["flow.ftp.tcp.cc=a\ud800"], ['g=flow("ftp").goodput_bps'])
    with pytest.raises(LasthopError, match="not valid UTF-8"):
        Campaign("wired.toml", metrics=GOODPUT, description="\ud800")
