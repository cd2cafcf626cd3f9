"""The harness end to end on a made-up study.

Throughput falls with loss, by how much a made-up simulator says.
"""

import csv
import json
import re
from pathlib import Path

import pyarrow as pa
import pytest

from lasthop.campaign.conduct import Event
from lasthop.harness import StudyCodeError, StudyError, StudyResult, load_study, remake_study, run_study
from lasthop.harness.definition import BUNDLED, scaled, toml_value
from lasthop.harness.folder import report_of, write_folder
from lasthop.harness.recorded import RUNS
from tests.harness_fakes import FakeBackend, FakeScenario, Tables

SCENARIO = """
[scenario]
duration = "100 s"
seed = 1
[link.a]
delay = "10 ms"
loss = 0
arq = true
"""

STUDY = """
[study]
name = "made-up"
title = "A made-up study"
source = "Nobody, 2004"
summary = "Throughput falls with loss."
primary = "tuned"

[parameter_set.plain]
about = "as stated"
[[parameter_set.plain.value]]
name = "delay"
key = "link.a.delay"
value = "10 ms"
tag = "P"
source = "table 1"

[parameter_set.tuned]
extends = "plain"
about = "one value fitted"
[[parameter_set.tuned.value]]
name = "delay"
key = "link.a.delay"
value = "20 ms"
tag = "X"
source = "fitted"
calibrated = true

[group.rates]
purpose = "the curve"
reduce = "reduce_run"
seeds = 3
[group.rates.axes.loss]
values = [0, 10, 20]
set = ["link.a.loss={value}"]
[group.rates.quick]
seeds = 1
axes = { loss = [0, 20] }

[group.extra]
purpose = "only in the full form"
reduce = "reduce_run"
one_run = "its runs have no random numbers"
quick = false
[group.extra.axes.mode.options]
usual = []
other = ["link.a.mode=other"]

[[reading]]
name = "other mode"
about = "the text can also mean this"
set = ["link.a.mode=other"]
claims = ["T1"]

[sensitivity]
step = 0.2
seeds = 1
[sensitivity.quick]
only = { loss = [0, 20] }

[[echo]]
title = "Table 1"
rows = [{ item = "delay", says = "10 ms", key = "link.a.delay" }, { item = "nothing", says = "-" }]
"""

CLAIMS = """
[[claim]]
id = "T1"
kind = "N"
figure = "1"
says = "At 20 % the throughput is 60."
paper = 60
test = "55-65"
evaluator = "at_twenty"
groups = ["rates"]
[[claim.ablation]]
name = "half the loss"
about = "loss counts twice"
set = ["link.a.loss=9"]
where = { loss = [20] }

[[claim]]
id = "T2"
kind = "M"
says = "ARQ delivers everything."
test = "no drops; drops without ARQ"
evaluator = "nothing_lost"
groups = ["rates"]
[claim.switch]
name = "ARQ off"
set = ["link.a.arq=false"]

[[claim]]
id = "T3"
kind = "S"
says = "Needs the long runs."
test = "present"
evaluator = "needs_extra"
groups = ["extra"]

[[claim]]
id = "T4"
kind = "N"
says = "One and one is two."
test = "exact"
evaluator = "arithmetic"
"""

CODE = """
from matplotlib.figure import Figure as MplFigure

from lasthop.harness import Figure, TableView
from lasthop.harness import judge as j


def reduce_run(run):
    row = run.row("flows")
    values = {"rate": row["rate"], "lost": float(run.table("drops").num_rows), "seed": run.seed}
    if run.shown:
        values["trace"] = [1, 2, 3]
    return values


def at_twenty(claim, data):
    return j.all_of([j.in_band("rate", data.estimate("rates", "rate", loss=20), (55, 65))], ["figure 1"])


def nothing_lost(claim, data):
    return j.all_of([j.at_most("lost", data.estimate("rates", "lost", loss=20), 0)])


def needs_extra(claim, data):
    return j.all_of([j.at_least("rate", data.estimate("extra", "rate", mode="other"), 0)])


def arithmetic(claim, data):
    return j.all_of([j.exact("1 + 1", 1 + 1, 2)])


def figures(evidence):
    data = evidence.of(evidence.main_set)
    fig = MplFigure(figsize=(2, 2))
    losses = data.labels("rates", "loss")
    rates = [data.estimate("rates", "rate", loss=x).mean for x in losses]
    fig.add_subplot().plot(losses, rates)
    yield Figure("curve", "Figure 1", "A curve.", fig, {"curve": {"loss": losses, "rate": rates}})


def tables(evidence):
    rows = ((0, 1), (20, 2))
    yield TableView("numbers", "Numbers", ("loss", "rate"), rows, "a note", document={"rows": [list(r) for r in rows]})
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "study"
    path.mkdir()
    for name, text in (
        ("scenario.toml", SCENARIO),
        ("study.toml", STUDY),
        ("claims.toml", CLAIMS),
        ("study.py", CODE),
    ):
        (path / name).write_text(text, encoding="utf-8")
    return path


def change(folder: Path, name: str, old: str, new: str) -> None:
    path = folder / name
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def simulate(scenario: FakeScenario) -> Tables:
    """100 minus twice the loss, a little more in other modes.

    Less with delay, a little noise by seed.
    """
    rate = 100 - 2 * scenario.get("link.a.loss") + scenario.seed / 10
    if scenario.get("link.a.mode") == "other":
        rate += 10
    if scenario.get("link.a.delay") == "24 ms":
        rate -= 20
    drops = 0 if scenario.get("link.a.arq") else 2
    return {"flows": pa.table({"rate": [rate]}), "drops": pa.table({"time_s": [0.0] * drops})}


def run(folder: Path, backend: FakeBackend | None = None, **options: object) -> StudyResult:
    defaults = {"out": folder.parent / "out", "jobs": 1, "backend": backend or FakeBackend(simulate)}
    return run_study(folder, **{**defaults, **options})  # type: ignore[arg-type]


def claims_of(result: StudyResult, parameter_set: str = "tuned") -> dict[str, dict[str, object]]:
    content = json.loads((result.folder / "claims.json").read_text(encoding="utf-8"))
    return {c["id"]: c for c in content["parameter_sets"][parameter_set]["claims"]}


def test_a_study_leaves_a_complete_folder(folder: Path) -> None:
    result = run(folder)
    present = {str(p.relative_to(result.folder)) for p in result.folder.rglob("*") if p.is_file()}
    assert present == {
        "report.html",
        "runs.json.gz",
        "claims.json",
        "config.json",
        "figures/curve.svg",
        "figures/curve.pdf",
        "data/curve.csv",
        "data/curve.parquet",
        "data/numbers.csv",
        "data/numbers.json",
        "scenarios/plain.toml",
        "scenarios/tuned.toml",
    }
    assert not result.folder.with_name("out.partial").exists()
    assert json.loads((result.folder / "data" / "numbers.json").read_text()) == {"rows": [[0, 1], [20, 2]]}
    report = result.report.read_text(encoding="utf-8")
    assert "At 20 % the throughput is 60." in report
    assert "http://" not in report.replace("http://www.w3.org", "")
    with (result.folder / "data" / "curve.csv").open(encoding="utf-8") as file:
        assert next(csv.reader(file)) == ["loss", "rate"]


def test_groups_may_share_an_axis_and_add_to_it(folder: Path) -> None:
    change(
        folder,
        "study.toml",
        """[group.extra.axes.mode.options]
usual = []
other = ["link.a.mode=other"]
""",
        """[group.extra.axes.mode]
extends = "mode"
options = { third = ["link.a.mode=third"] }
[axis.mode.options]
usual = []
other = ["link.a.mode=other"]
""",
    )
    points = load_study(folder).group("extra").points()
    assert [(p["mode"], o) for p, o in points] == [
        ("usual", []),
        ("other", ["link.a.mode=other"]),
        ("third", ["link.a.mode=third"]),
    ]


def test_words_beside_a_calibrated_number_are_not_scaled(folder: Path) -> None:
    old = """key = "link.a.delay"
value = "20 ms"
tag = "X\""""
    change(folder, "study.toml", old, """keys = { "link.a.mode" = "usual", "link.a.delay" = "20 ms" }\ntag = "X\"""")
    value = load_study(folder).parameter_set("tuned").calibrated[0]
    assert value.overrides(1.2) == ['link.a.mode="usual"', 'link.a.delay="24 ms"']
    assert value.text(1.2) == "mode usual, delay 24 ms"
    change(folder, "study.toml", '"link.a.delay" = "20 ms"', '"link.b.mode" = "other"')
    with pytest.raises(StudyError, match="no quantity"):
        load_study(folder).parameter_set("tuned").calibrated[0].overrides(1.2)


def test_an_axis_that_extends_nothing_is_refused(folder: Path) -> None:
    change(folder, "study.toml", "[group.extra.axes.mode.options]", "[group.extra.axes.mode]\nextends = 'gone'\n[x]")
    with pytest.raises(StudyError, match=r"no \[axis.gone\]"):
        load_study(folder)


def test_each_claim_gets_its_verdict_with_interval(folder: Path) -> None:
    claims = claims_of(run(folder))
    assert claims["T1"]["verdict"] == "agrees"
    assert claims["T1"]["ours"] == pytest.approx(60.2)
    # seeds 1, 2, 3: 60.1, 60.2, 60.3; 4.3027 * 0.1 / sqrt(3) = 0.2484
    assert claims["T1"]["ci95"] == pytest.approx([59.9516, 60.4484], abs=1e-4)
    assert "n = 3" in str(claims["T1"]["note"])
    assert claims["T3"]["verdict"] == "agrees"
    assert claims["T4"]["verdict"] == "agrees"


def test_one_replication_decides_only_where_the_study_says_why(folder: Path) -> None:
    first = claims_of(run(folder, reps=1))["T1"]
    assert first["verdict"] == "undecided"
    assert "one replication: it agrees" in str(first["note"])
    change(folder, "study.toml", "[group.rates]", '[group.rates]\none_run = "nothing in it is random"')
    argued = run(folder, reps=1)
    assert claims_of(argued)["T1"]["verdict"] == "agrees"
    assert "One run of each point is enough for T1" in argued.report.read_text(encoding="utf-8")


def test_terms_are_explained(folder: Path) -> None:
    claims = folder / "claims.toml"
    said = load_study(folder).claims[0].says.split()[0]
    claims.write_text(f'[terms]\n{said} = "what <it> means"\n\n' + claims.read_text(encoding="utf-8"), encoding="utf-8")
    report = run(folder).report.read_text(encoding="utf-8")
    assert f"<dt>{said}</dt><dd>what &lt;it&gt; means</dd>" in report
    assert f'<abbr title="what &lt;it&gt; means">{said}</abbr>' in report


def test_json_is_one_object_with_the_primary_set_and_all_sets(folder: Path) -> None:
    result = run(folder).to_json_dict()
    assert result["study"] == "made-up"
    assert result["parameter_set"] == "tuned"
    assert set(result["claims"][0]) == {"id", "kind", "paper", "ours", "ci95", "verdict", "note", "readings"}
    assert set(result["parameter_sets"]) == {"plain", "tuned"}
    assert result["claims"] == result["parameter_sets"]["tuned"]
    assert result["seconds"] >= 0
    json.dumps(result, allow_nan=False)


def test_a_mechanism_is_judged_on_and_off(folder: Path) -> None:
    claim = claims_of(run(folder))["T2"]
    assert claim["verdict"] == "agrees"
    assert claim["switched_off"]["verdict"] == "differs"  # type: ignore[index]


def test_a_mechanism_that_the_switch_does_not_move_is_no_mechanism(folder: Path) -> None:
    def always_delivers(scenario: FakeScenario) -> Tables:
        return {**simulate(scenario), "drops": pa.table({"time_s": []})}

    claim = claims_of(run(folder, FakeBackend(always_delivers)))["T2"]
    assert claim["verdict"] == "differs"


def test_a_claim_that_differs_is_shown_with_the_run_that_turns_it(folder: Path) -> None:
    change(folder, "claims.toml", "link.a.loss=9", "link.a.loss=20")
    change(folder, "study.py", "(55, 65)", "(75, 85)")
    still = claims_of(run(folder))["T1"]
    assert still["verdict"] == "differs"
    assert [a["verdict"] for a in still["ablations"]] == ["differs"]  # type: ignore[attr-defined]
    change(folder, "claims.toml", "link.a.loss=20", "link.a.loss=10")
    turned = claims_of(run(folder))["T1"]
    assert [a["verdict"] for a in turned["ablations"]] == ["agrees"]  # type: ignore[attr-defined]


def test_an_ablation_may_change_points_of_two_selections(folder: Path) -> None:
    change(folder, "claims.toml", "link.a.loss=9", "link.a.loss=10")
    more = 'where = { loss = [20] }\nalso = [{ where = { loss = [0] }, set = ["link.a.loss=8"] }]\n\n'
    change(folder, "claims.toml", "where = { loss = [20] }\n\n", more)
    change(folder, "study.py", "(55, 65)", "(75, 85)")
    backend = FakeBackend(simulate)
    turned = claims_of(run(folder, backend))["T1"]
    assert [a["verdict"] for a in turned["ablations"]] == ["agrees"]  # type: ignore[attr-defined]
    assert {8, 10} <= {s.get("link.a.loss") for s in backend.ran}


def test_claims_may_share_an_ablation_and_it_is_run_once(folder: Path) -> None:
    own = """[[claim.ablation]]
name = "half the loss"
about = "loss counts twice"
set = ["link.a.loss=9"]
where = { loss = [20] }
"""
    change(folder, "claims.toml", own, 'ablations = ["half"]\n')
    shared = '[ablation.half]\nabout = "loss counts twice"\nset = ["link.a.loss=9"]\nwhere = { loss = [20] }\n\n'
    change(folder, "study.toml", "[[reading]]", shared + "[[reading]]")
    change(folder, "study.py", "(55, 65)", "(75, 85)")
    text = (folder / "claims.toml").read_text(encoding="utf-8")
    first = text[: text.index('[[claim]]\nid = "T2"')]
    (folder / "claims.toml").write_text(text + first.replace('"T1"', '"T5"'), encoding="utf-8")
    backend = FakeBackend(simulate)
    claims = claims_of(run(folder, backend))
    for claim in ("T1", "T5"):
        assert [a["ablation"] for a in claims[claim]["ablations"]] == ["half"]  # type: ignore[attr-defined]
    ran = [s for s in backend.ran if s.get("link.a.loss") == 9 and s.seed == 1 and s.get("link.a.delay") == "20 ms"]
    assert len(ran) == 1
    change(folder, "study.toml", "[ablation.half]", "[ablation.third]")
    with pytest.raises(StudyError, match=r"claim T1: there is no \[ablation.half\]"):
        run(folder, backend)


def test_ablations_of_claims_that_agree_are_not_run(folder: Path) -> None:
    backend = FakeBackend(simulate)
    assert "ablations" not in claims_of(run(folder, backend))["T1"]
    assert not any(s.get("link.a.loss") == 9 for s in backend.ran)


def test_other_readings_stand_beside_the_main_one(folder: Path) -> None:
    claims = claims_of(run(folder))
    reading = claims["T1"]["readings"]["other mode"]  # type: ignore[index]
    assert reading["verdict"] == "differs"
    assert reading["ours"] == pytest.approx(70.2)
    assert claims["T2"]["readings"] == {}


def test_a_reading_is_described_once_and_cards_link_to_it(folder: Path) -> None:
    report = (run(folder).folder / "report.html").read_text(encoding="utf-8")
    assert report.count('href="#reading-other-mode"') >= 2
    assert report.count('<dt id="reading-other-mode">other mode</dt>') == 1


def test_a_card_links_to_its_figure_and_names_no_table_that_the_page_lacks(folder: Path) -> None:
    report = (run(folder).folder / "report.html").read_text(encoding="utf-8")
    targets = set(re.findall(r'href="#([^"]+)"', report))
    assert targets
    assert targets <= set(re.findall(r' id="([^"]+)"', report))
    assert re.search(r'See <a href="#figure-[^"]+">', report)


def test_each_claim_is_judged_again_at_both_ends_of_each_calibrated_value(folder: Path) -> None:
    result = run(folder)
    cells = claims_of(result)["T1"]["sensitivity"]
    assert [(c["at"], c["verdict"]) for c in cells] == [("16 ms", "agrees"), ("24 ms", "differs")]  # type: ignore[attr-defined]
    assert "sensitivity" not in claims_of(result, "plain")["T1"]


def test_a_calibrated_switch_is_not_moved(folder: Path) -> None:
    """A fifth more of `true` is nothing; the other position of a switch is a reading."""
    change(folder, "study.toml", 'key = "link.a.delay"\nvalue = "20 ms"', 'key = "link.a.arq"\nvalue = true')
    assert "sensitivity" not in claims_of(run(folder))["T1"]


def test_a_value_that_the_model_refuses_is_said_not_hidden(folder: Path) -> None:
    change(folder, "study.toml", 'key = "link.a.delay"\nvalue = "20 ms"', 'key = "link.a.delay"\nvalue = "20 ms"')

    class Strict(FakeBackend):
        def load(self, path: Path, overrides):  # type: ignore[no-untyped-def]
            return super().load(path, [o.replace('"16 ms"', "refused") for o in overrides])

    cells = claims_of(run(folder, Strict(simulate)))["T1"]["sensitivity"]
    assert [c["verdict"] for c in cells] == ["not-testable", "differs"]  # type: ignore[attr-defined]
    assert "refuse" in cells[0]["note"]  # type: ignore[index]


def test_the_error_is_said_and_not_the_warning_before_it(folder: Path) -> None:
    class Strict(FakeBackend):
        def load(self, path: Path, overrides):  # type: ignore[no-untyped-def]
            if any('"16 ms"' in o for o in overrides):
                raise ValueError("warning: a queue\n --> file\n\nerror: no such delay\n --> file")
            return super().load(path, overrides)

    cells = claims_of(run(folder, Strict(simulate)))["T1"]["sensitivity"]
    assert cells[0]["note"].startswith("the model refuses this value: error: no such delay")  # type: ignore[index]


def test_a_value_may_name_its_own_factors(folder: Path) -> None:
    change(folder, "study.toml", "calibrated = true", "calibrated = true\nfactors = [0.5, 1.5]")
    cells = claims_of(run(folder))["T1"]["sensitivity"]
    assert [c["at"] for c in cells] == ["10 ms", "30 ms"]  # type: ignore[attr-defined]


def test_a_choice_that_no_factor_moves_is_put_back_to_what_it_replaced(folder: Path) -> None:
    for value, word in (("10 ms", "quick"), ("20 ms", "slow")):
        old = f'key = "link.a.delay"\nvalue = "{value}"'
        change(folder, "study.toml", old, f'key = "link.a.kind"\nvalue = "{word}"')
    cells = claims_of(run(folder))["T1"]["sensitivity"]
    assert [c["at"] for c in cells] == ["quick"]  # type: ignore[attr-defined]


def test_a_reading_with_a_real_kernel_is_left_out_with_the_reason_where_none_is(folder: Path) -> None:
    change(folder, "study.toml", 'name = "other mode"', 'name = "other mode"\nkernel = ["server"]')
    backend = FakeBackend(simulate)
    result = run(folder, backend, out=folder.parent / "out")
    assert result.left_out == {"reading `other mode`": "no kernel was built yet"}
    found = next(r for r in result.claims[result.parameter_set] if r.claim.id == "T1").readings["other mode"]
    assert (found.verdict, found.note) == ("not-testable", "left out: no kernel was built yet")
    assert backend.in_kernel == []
    _, again = remake_study(folder.parent / "out", backend=backend)
    assert again.claims[result.parameter_set][0].readings["other mode"].note == found.note

    backend.linux = "abc"
    result = run(folder, backend, out=folder.parent / "out")
    assert result.left_out == {}
    assert len(backend.in_kernel) > 0
    assert all(scenario.get('node."server"') == {"kind": "linux"} for scenario in backend.in_kernel)
    assert len(backend.in_kernel) < len(backend.ran), "the other runs are the simulator's alone"


def test_a_reading_may_count_the_same_runs_in_another_way(folder: Path) -> None:
    old = 'set = ["link.a.mode=other"]\nclaims = ["T1"]'
    change(folder, "study.toml", old, 'settings = { band = [0, 1] }\nclaims = ["T1"]')
    change(folder, "study.py", "(55, 65))", 'claim.settings.get("band", (55, 65)))')
    result = claims_of(run(folder))["T1"]
    assert (result["verdict"], result["readings"]["other mode"]["verdict"]) == ("agrees", "differs")  # type: ignore[index]


def test_identical_scenarios_run_once(folder: Path) -> None:
    backend = FakeBackend(simulate)
    run(folder, backend)
    hashes = [s.hash() for s in backend.ran]
    assert len(hashes) == len(set(hashes))
    # Sets x (rates 3 x 3; extra: "other" only, "usual" is the rates' first point) x ..., and the
    # reading's overlap.
    assert len(hashes) > 9 * 2


def test_of_a_runs_tables_nothing_survives_its_reducer(folder: Path) -> None:
    backend = FakeBackend(simulate)
    run(folder, backend, jobs=1)
    assert backend.most_alive <= 2 < len(backend.ran)


def test_seeds_are_run_indices(folder: Path) -> None:
    backend = FakeBackend(simulate)
    run(folder, backend, parameter_sets=["plain"], reps=2)
    assert {s.seed for s in backend.ran} == {1, 2}


def test_the_quick_form_is_smaller_and_says_what_it_cannot_judge(folder: Path) -> None:
    full, quick = FakeBackend(simulate), FakeBackend(simulate)
    run(folder, full)
    result = run(folder, quick, quick=True, out=folder.parent / "quick")
    assert len(quick.ran) < len(full.ran)
    claims = claims_of(result)
    assert claims["T3"]["verdict"] == "not-testable"
    assert "quick form" in str(claims["T3"]["note"])
    assert claims["T1"]["ci95"] is None
    assert "n = 1" in str(claims["T1"]["note"])
    assert claims["T1"]["verdict"] == "undecided", "one replication"
    assert "Quick form" in result.report.read_text(encoding="utf-8")


def test_the_same_study_leaves_the_same_bytes_whatever_the_jobs(folder: Path) -> None:
    first = run(folder, out=folder.parent / "a", jobs=1)
    second = run(folder, out=folder.parent / "b", jobs=3)
    for path in sorted(p for p in first.folder.rglob("*") if p.is_file()):
        other = second.folder / path.relative_to(first.folder)
        assert path.read_bytes() == other.read_bytes(), path.name


def test_progress_ends_at_the_total(folder: Path) -> None:
    seen: list[Event] = []
    result = run(folder, progress=seen.append)
    assert seen[-1].done == seen[-1].total == result.runs
    assert [e.done for e in seen] == sorted(e.done for e in seen)
    assert (seen[-1].failed, seen[-1].eta_s) == (0, 0.0)
    assert seen[-1].rate > 0


def test_the_echo_shows_what_the_runs_had(folder: Path) -> None:
    result = run(folder)
    config = json.loads((result.folder / "config.json").read_text(encoding="utf-8"))
    assert config["tables"]["Table 1"][0]["ours"] == {"plain": "10 ms", "tuned": "20 ms"}
    assert config["tables"]["Table 1"][0]["paper"] == "10 ms"
    assert config["parameter_sets"]["tuned"]["values"][0]["tag"] == "X"


def test_an_earlier_result_is_replaced_but_nothing_else(folder: Path) -> None:
    run(folder)
    assert run(folder).report.exists()
    other = folder.parent / "mine"
    other.mkdir()
    (other / "thesis.tex").write_text("years of work")
    with pytest.raises(StudyError, match="something else"):
        run(folder, out=other)
    assert (other / "thesis.tex").exists()


def test_a_foreign_file_beside_an_earlier_result_stays(folder: Path) -> None:
    notes = run(folder).folder / "notes.txt"
    notes.write_text("mine")
    with pytest.raises(StudyError, match=r"holds files that are not of the result: notes\.txt"):
        run(folder)
    assert notes.read_text() == "mine"


def test_a_failing_figure_leaves_no_folder(folder: Path) -> None:
    change(folder, "study.py", "fig = MplFigure", 'raise RuntimeError("no ink")\n    fig = MplFigure')
    with pytest.raises(StudyCodeError, match="no ink") as caught:
        run(folder)
    assert isinstance(caught.value.__cause__, RuntimeError)
    assert f"{folder / 'study.py'}:" in str(caught.value)
    assert not (folder.parent / "out").exists()
    assert not (folder.parent / "out.partial").exists()


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("study.py", "def tables(", "x = = 1\ndef tables(", "SyntaxError"),
        ("study.py", "def tables(", "import no_such_module\ndef tables(", "no_such_module"),
        ("study.py", "def tables(", "COLOURS = {'a': 'blue'}\ndef tables(", "COLOURS is no table"),
        ("study.toml", "summary = ", "sumary = ", "lacks the key 'summary'"),
        ("claims.toml", "evaluator = ", "evaluators = ", "lacks the key 'evaluator'"),
    ],
)
def test_a_fault_in_the_studys_files_is_its_authors(folder: Path, file: str, old: str, new: str, message: str) -> None:
    change(folder, file, old, new)
    with pytest.raises(StudyError, match=message) as caught:
        run(folder)
    assert str(folder) in str(caught.value)


def test_more_than_five_calibrated_values_are_refused(folder: Path) -> None:
    more = "".join(
        f'[[parameter_set.tuned.value]]\nname = "v{i}"\nkey = "link.a.v{i}"\nvalue = {i}\ntag = "X"\nsource = "-"\n'
        "calibrated = true\n"
        for i in range(5)
    )
    change(folder, "study.toml", "[group.rates]\n", more + "[group.rates]\n")
    with pytest.raises(StudyError, match="at most 5"):
        load_study(folder)


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("claims.toml", 'id = "T4"', 'id = "T1"', "used twice"),
        ("claims.toml", 'kind = "S"', 'kind = "Q"', "kind must be"),
        ("claims.toml", 'groups = ["extra"]', 'groups = ["missing"]', "does not have"),
        ("claims.toml", 'evaluator = "arithmetic"', 'evaluator = "astrology"', "no function"),
        ("claims.toml", '[claim.switch]\nname = "ARQ off"\nset = ["link.a.arq=false"]', "", "names no switch"),
        ("study.toml", 'claims = ["T1"]', 'claims = ["T9"]', "unknown claims"),
        ("study.toml", 'primary = "tuned"', 'primary = "tunes"', "no parameter set"),
        ("study.toml", "[study]", "[study", "study.toml"),
    ],
)
def test_mistakes_in_a_study_are_named(folder: Path, name: str, old: str, new: str, message: str) -> None:
    change(folder, name, old, new)
    with pytest.raises(StudyError, match=message):
        load_study(folder)


def test_an_unknown_study_is_answered_with_the_known_ones() -> None:
    with pytest.raises(StudyError, match="umts-vegas"):
        run_study("umts-vagas")


def test_a_folder_of_something_else_is_refused_before_the_first_run(folder: Path) -> None:
    (folder.parent / "out").mkdir()
    (folder.parent / "out" / "thesis.txt").write_text("years of work")

    def never(scenario: FakeScenario) -> Tables:
        raise AssertionError("a run was made for nothing")

    with pytest.raises(StudyError, match="something else"):
        run(folder, FakeBackend(never))
    assert (folder.parent / "out" / "thesis.txt").exists()


def test_nonsense_replications_are_refused(folder: Path) -> None:
    with pytest.raises(StudyError, match="at least 1"):
        run(folder, reps=0)


@pytest.mark.parametrize(
    ("value", "factor", "integer", "expected"),
    [
        ("28 ms", 0.8, False, "22.4 ms"),
        ("50 %", 1.2, False, "60 %"),
        (128, 0.8, True, 102),
        (128, 1.2, False, 154),
        (0.5, 1.2, False, 0.6),
        ("28 ms", 1.0, False, "28 ms"),
        (["500 m", "0 m"], 1.2, False, ["600 m", "0 m"]),
    ],
)
def test_values_scale_with_their_units(value: object, factor: float, integer: bool, expected: object) -> None:
    assert scaled(value, factor, integer) == expected


def test_what_has_no_number_cannot_be_scaled() -> None:
    with pytest.raises(StudyError, match="no quantity"):
        scaled("unlimited", 0.8)


def test_values_are_written_as_toml() -> None:
    assert toml_value('a "b"') == '"a \\"b\\""'
    assert toml_value({"k": [1, True, 0.5]}) == "{ k = [1, true, 0.5] }"


def test_a_report_is_made_again_without_running(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run(folder, reps=2)
    before = {p.relative_to(result.folder): p.read_bytes() for p in result.folder.rglob("*") if p.is_file()}
    assert Path(RUNS) in before

    def never(*_: object) -> None:
        raise AssertionError("a run was made")

    backend = FakeBackend(simulate)
    monkeypatch.setattr(backend, "run", never)
    study, evidence = remake_study(result.folder, backend=backend)
    write_folder(study, evidence, result.folder)
    after = {p.relative_to(result.folder): p.read_bytes() for p in result.folder.rglob("*") if p.is_file()}
    assert after == before
    change(folder, "claims.toml", "says = ", "says = 'Said otherwise.' # ")
    study, evidence = remake_study(result.folder, backend=backend)
    assert "Said otherwise." in report_of(study, evidence)


def test_a_report_is_not_made_of_other_runs(folder: Path) -> None:
    result = run(folder)
    change(folder, "study.toml", "values = [0, 10, 20]", "values = [0, 10, 30]")
    with pytest.raises(StudyError, match=r"lacks runs of group 'rates'.*run it again"):
        remake_study(result.folder, backend=FakeBackend(simulate))
    (result.folder / RUNS).write_bytes(b"none")
    with pytest.raises(StudyError, match="run the study again"):
        remake_study(result.folder, backend=FakeBackend(simulate))
    (result.folder / RUNS).unlink()
    with pytest.raises(StudyError, match=f"has no {RUNS}"):
        remake_study(result.folder, backend=FakeBackend(simulate))


def test_letters_of_figures_have_two_sizes() -> None:
    sizes = {
        float(size)
        for file in BUNDLED.glob("*/*.py")
        for size in re.findall(r"(?:fontsize|labelsize)=([\d.]+)", file.read_text(encoding="utf-8"))
    }
    assert sizes == {7.0, 8.0}, "labels and titles 8 pt, ticks and legends 7 pt"
