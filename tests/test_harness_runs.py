"""The runs of a study are the same, whichever executor makes them.

And what is in the store is never of something else.
"""

import math
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasthop import Campaign
from lasthop._core import LasthopError
from lasthop.campaign.conduct import Event
from lasthop.campaign.store import Store
from lasthop.harness import (
    Data,
    Run,
    Runner,
    Study,
    StudyCodeError,
    StudyError,
    StudyResult,
    estimate_study,
    load_study,
    run_study,
)
from lasthop.harness.conduct import conduct
from lasthop.harness.data import Simulator
from lasthop.harness.sources import digest
from lasthop.harness.values import NotPlainError, packed, unpacked
from tests.harness_fakes import FakeBackend, FakeScenario, Tables
from tests.test_harness_study import change, folder, simulate  # noqa: F401 (the fixture)

SMALL = Path(__file__).parent.parent / "docs" / "tutorial" / "small-study"


def known(code: str = "one") -> FakeBackend:
    """The pretended simulator with an identity, so that its runs are kept."""
    return FakeBackend(simulate, code)


def run(study: Path, backend: FakeBackend | None = None, out: str = "out", **options: Any) -> StudyResult:
    defaults = {"jobs": 1, "store": study.parent / "store", "backend": backend or known()}
    return run_study(study, out=study.parent / out, **{**defaults, **options})


def files(result: StudyResult) -> dict[str, bytes]:
    found = {str(p.relative_to(result.folder)): p.read_bytes() for p in result.folder.rglob("*") if p.is_file()}
    # PDF and SVG are the same too, but Parquet alone holds the numbers to the last bit.
    return {k: v for k, v in found.items() if not k.endswith(".pdf")}


def after(runs: int) -> Callable[[Event], None]:
    """Ctrl-C after so many runs."""

    def stop_there(event: Event) -> None:
        if event.done == runs:
            raise KeyboardInterrupt

    return stop_there


def test_a_stopped_study_goes_on_where_it_stopped_and_leaves_the_same_bytes(folder: Path) -> None:  # noqa: F811
    whole = run(folder, out="whole", store=folder.parent / "other")
    with pytest.raises(KeyboardInterrupt):
        run(folder, progress=after(21))
    assert not (folder.parent / "out").exists()
    rest = known()
    result = run(folder, rest)
    assert result.taken == 21
    assert result.runs == len(rest.ran) == whole.runs - 21
    assert files(result) == files(whole)


def test_a_finished_study_is_judged_again_without_a_run(folder: Path) -> None:  # noqa: F811
    first = run(folder)
    before = files(first)
    change(folder, "study.toml", 'summary = "Throughput falls with loss."', 'summary = "It falls."')
    again = run(folder)
    assert (again.runs, again.taken) == (0, first.runs)
    assert files(again)["data/curve.parquet"] == before["data/curve.parquet"]
    assert files(again)["report.html"] != before["report.html"]


def test_another_study_finds_the_runs_that_it_shares(folder: Path) -> None:  # noqa: F811
    """The store knows no study.

    What counts is the scenario, the build, and what the reducer is made of.
    """
    first = run(folder)
    other = folder.parent / "copy"
    shutil.copytree(folder, other)
    change(other, "study.toml", 'name = "made-up"', 'name = "made-up-too"')
    change(other, "study.toml", "values = [0, 10, 20]", "values = [20, 10, 0, 3]")
    backend = known()
    second = run(other, backend, "too")
    assert {s.get("link.a.loss") for s in backend.ran} == {3}
    assert second.taken == first.runs


def test_another_build_makes_every_run_anew_and_both_are_kept(folder: Path) -> None:  # noqa: F811
    first = run(folder, known("one"))
    second = run(folder, known("two"))
    assert (second.runs, second.taken) == (first.runs, 0)
    assert run(folder, known("one")).taken == first.runs


def test_a_changed_reducer_makes_every_run_anew(folder: Path) -> None:  # noqa: F811
    first = run(folder)
    change(folder, "study.py", '"rate": row["rate"]', '"rate": row["rate"] - 1')
    second = run(folder)
    assert (second.runs, second.taken) == (first.runs, 0)
    assert second.claims["tuned"][0].finding.ours == pytest.approx(59.2)


def test_a_changed_value_runs_what_it_touches(folder: Path) -> None:  # noqa: F811
    first = run(folder)
    change(folder, "study.toml", "values = [0, 10, 20]", "values = [0, 5, 10, 20]")
    change(folder, "claims.toml", "[[claim.ablation]]", "[[claim.unused]]")
    backend = known()
    second = run(folder, backend)
    assert {s.get("link.a.loss") for s in backend.ran} == {5}
    assert second.taken > first.runs / 2


def test_fresh_takes_nothing_from_the_store(folder: Path) -> None:  # noqa: F811
    first = run(folder)
    again = run(folder, fresh=True)
    assert (again.runs, again.taken) == (first.runs, 0)


def test_runs_of_an_unknown_backend_are_not_kept(folder: Path) -> None:  # noqa: F811
    run(folder, FakeBackend(simulate))
    assert not (folder.parent / "store").exists()


def test_a_damaged_file_is_made_again(folder: Path) -> None:  # noqa: F811
    first = run(folder)
    stored = sorted((folder.parent / "store").rglob("*.parquet"))
    stored[0].write_bytes(stored[0].read_bytes()[:-20])
    store = Store(folder.parent / "store")
    second = run(folder, store=store)
    assert 0 < second.runs <= first.runs
    assert second.taken == first.runs - second.runs
    assert any("its content is not what was written" in note for note in store.notes)
    assert run(folder).runs == 0


def test_values_of_another_form_are_made_again(folder: Path) -> None:  # noqa: F811
    first = run(folder)
    whole = Store(folder.parent / "store")
    other = Store(folder.parent / "other")
    (path,) = [p for p, _ in whole._files()]
    table = whole._read(whole.path / path)
    assert table is not None
    for row in table.to_pylist():
        content = None if row["content"] is None else b"nothing"
        other.put(row["run"], [whole.get(row["run"], [row["item"]])[row["item"]]._replace(content=content)])
    other.flush()
    assert run(folder, store=other).runs == first.runs


def test_what_a_figure_needs_is_run_again_if_it_was_kept_without(folder: Path) -> None:  # noqa: F811
    """A sensitivity run shows nothing.

    A later base run of the same scenario needs what figures draw.
    """
    change(folder, "study.toml", "[sensitivity]", "[sensitivity]\nset = ['link.a.mode=third']")
    first = known()
    run(folder, first)
    change(folder, "study.toml", "values = [0, 10, 20]", "values = [0, 10, 20]\nalso = { 20 = ['link.a.mode=third'] }")
    change(folder, "study.toml", 'value = "20 ms"', 'value = "16 ms"')
    backend = known()
    run(folder, backend)
    again = [s for s in backend.ran if s.hash() in {s.hash() for s in first.ran}]
    at = {(s.get("link.a.delay"), s.get("link.a.loss"), s.get("link.a.mode"), s.seed) for s in again}
    assert at == {("16 ms", 20, "third", 1), ("16 ms", 0, "other", 1)}  # the second one of the group `extra`


def test_values_that_are_no_plain_data_are_used_and_not_kept(folder: Path) -> None:  # noqa: F811
    change(folder, "study.py", '"seed": run.seed}', '"seed": run.seed, "odd": object()}')
    first = run(folder)
    assert first.claims["tuned"][0].finding.verdict == "agrees"
    assert run(folder).runs == first.runs
    with pytest.raises(NotPlainError):
        packed({"x": np.array([object()])})


def test_octets_of_something_else_are_no_values() -> None:
    for content in (b"", b"nothing", packed({"x": 1})[:-3], packed({"x": 1})[:10] + b"....."):
        with pytest.raises(ValueError, match="no reduced values"):
            unpacked(content)


def broken(scenario: FakeScenario) -> Tables:
    """A simulator that fails in three runs."""
    at = [scenario.get(f"link.a.{key}") for key in ("loss", "delay", "arq", "mode")]
    if at == [10, "20 ms", True, None]:
        raise RuntimeError("no memory")
    return simulate(scenario)


def test_failed_runs_are_named_and_the_others_kept(folder: Path) -> None:  # noqa: F811
    seen: list[Event] = []
    with pytest.raises(StudyError) as caught:
        run(folder, FakeBackend(broken, "one"), progress=seen.append)
    message = str(caught.value)
    assert message.startswith("3 of ")
    assert "the first, group rates, loss 10, seed 1 (parameter set tuned): run: RuntimeError: no memory" in message
    assert f"The others are kept in {folder.parent / 'store'}: the same command makes only these again." in message
    assert (seen[-1].failed, seen[-1].done) == (3, seen[-1].total)
    assert not (folder.parent / "out").exists()
    mended = known()
    run(folder, mended)
    assert {(s.get("link.a.loss"), s.seed) for s in mended.ran if s.get("link.a.loss") == 10} == {
        (10, i) for i in (1, 2, 3)
    }


def test_a_mistake_in_a_reducer_ends_the_study_at_once(folder: Path) -> None:  # noqa: F811
    change(folder, "study.py", 'row = run.row("flows")', 'row = run.row("flows")\n    row["ratio"]')
    backend = known()
    with pytest.raises(StudyCodeError, match="KeyError: 'ratio'") as caught:
        run(folder, backend)
    assert f"{folder / 'study.py'}:" in str(caught.value)
    assert isinstance(caught.value.__cause__, KeyError)
    assert len(backend.ran) <= 3
    change(folder, "study.py", '    row["ratio"]', "    return 5")
    with pytest.raises(StudyError, match="reduce_run returned 5, no dict of values"):
        run(folder)


def reduced_here(study: Study, backend: Any) -> dict[str, dict[str, list[Any]]]:
    """The base runs of a study made one after the other, without executor and store."""
    found: dict[str, dict[str, list[Any]]] = {}
    for s in study.parameter_sets:
        for group in study.groups:
            values = found.setdefault(s.name, {}).setdefault(group.name, [])
            for _, overrides in group.points():
                for seed in range(1, group.seeds + 1):
                    every = [*s.overrides(), *overrides, f"scenario.seed={seed}"]
                    scenario = backend.load(study.scenario, every)
                    output = backend.run(scenario, lambda _share: None)
                    values.append(study.function(group.reduce)(Run(output, scenario, seed, seed == 1)))
    return found


@pytest.mark.parametrize("using", ["threads", "processes"])
def test_values_do_not_depend_on_who_makes_the_runs(using: str, tmp_path: Path) -> None:
    """The small study of the guide, on the simulator: as by a plain loop, made and found again."""
    study = load_study(SMALL)
    expected = repr(reduced_here(study, Simulator()))
    claims = []
    for made in (True, False):
        result = run_study(SMALL, out=tmp_path / "out", store=tmp_path / "store", using=using, jobs=2)
        assert (result.runs > 0, result.taken > 0) == (made, not made)
        claims.append((result.folder / "claims.json").read_bytes())
        runner = Runner(study, store=Store(tmp_path / "store"))
        evidence = conduct(study, study.parameter_sets, runner)
        assert runner.made == 0
        found = {s.name: values_of(evidence.of(s.name)) for s in study.parameter_sets}
        assert repr(found) == expected
    assert claims[0] == claims[1]


def values_of(data: Data) -> dict[str, list[Any]]:
    return {group: [r.values for r in records] for group, records in data.records.items()}


def test_a_campaign_and_a_study_keep_the_same_run_under_one_key(tmp_path: Path) -> None:
    """Both orders: what each wants of a run stands beside what the other wants.

    And is found again.
    """
    campaign = Campaign(
        base=SMALL / "scenario.toml",
        axes={"link.bottleneck.queue.packets": [33, 3]},
        metrics={"goodput": 'flow("bulk").goodput_bps in Mbit/s'},
        seeds=3,
    )
    for first in ("campaign", "study"):
        store = tmp_path / first
        for who in (first, "campaign", "study") * 2:
            if who == "campaign":
                about = campaign.run(store=store).about
                found = about["runs"]["taken"]
            else:
                found = run_study(SMALL, out=tmp_path / "out", store=store).taken
        assert found == 6
        assert len(runs_in(store)) == 6


def runs_in(store: Path) -> set[str]:
    tables = [pq.read_table(path, columns=["run"]) for path in store.rglob("*.parquet")]
    return {run for table in tables for run in table["run"].to_pylist()}


def test_an_estimate_makes_some_runs_and_writes_nothing(folder: Path) -> None:  # noqa: F811
    backend = known()
    found = estimate_study(folder, store=folder.parent / "store", jobs=1, backend=backend)
    assert not (folder.parent / "store").exists()
    assert found.probes == len(backend.ran) == 12
    assert found.found == 0
    result = run(folder)
    assert found.runs[0] == result.runs
    assert found.runs[1] > result.runs  # with the ablations of T1, which agrees
    again = estimate_study(folder, store=folder.parent / "store", jobs=1, backend=known())
    assert (again.runs, again.found, again.probes) == (found.runs, result.runs, 0)


def test_an_estimate_says_what_every_run_would_fail_of(folder: Path) -> None:  # noqa: F811
    change(folder, "study.py", 'row = run.row("flows")', 'row = run.row("flows")\n    row["ratio"]')
    with pytest.raises(LasthopError, match=r"none of 12 trial runs gave a result: .*KeyError: 'ratio'"):
        estimate_study(folder, store=folder.parent / "store", jobs=1, backend=known())


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text() | st.integers(), inner),
)


@given(PLAIN)
def test_plain_data_comes_back_the_same(value: Any) -> None:
    assert repr(unpacked(packed({"x": value}))["x"]) == repr(value)


@pytest.mark.parametrize(
    "array",
    [np.array([0.1, math.nan, -0.0]), np.arange(6, dtype="<i4").reshape(2, 3), np.array(["a", "bcd"]), np.array([])],
)
def test_arrays_come_back_the_same_and_can_be_written_to(array: Any) -> None:
    back = unpacked(packed({"x": array}))["x"]
    assert (back.dtype, back.shape, back.tobytes()) == (array.dtype, array.shape, array.tobytes())
    assert back.flags.writeable
    scalar = unpacked(packed({"x": np.float64(0.1)}))["x"]
    assert type(scalar) is np.float64
    assert scalar == 0.1


def test_the_digest_follows_imports_but_not_what_only_figures_use(tmp_path: Path, monkeypatch: Any) -> None:
    """Of a bundled study: a change in what `reduce.py` imports counts.

    One in `figures.py` does not.
    """
    study = load_study(Path(__file__).parent.parent / "python" / "lasthop" / "studies" / "umts_vegas")
    seen: list[Path] = []
    read = Path.read_bytes

    def watched(path: Path) -> bytes:
        seen.append(path)
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", watched)
    digest(study, "reduce_transfer")
    names = {p.name for p in seen if p.parent.name == "umts_vegas"}
    assert {"reduce.py", "model.py", "study.py"} <= names
    assert not names & {"figures.py", "evaluate.py", "claims.toml"}
    assert any(p.name == "stats.py" and p.parent.name == "harness" for p in seen)


def test_a_study_may_have_modules_and_data_of_its_own(folder: Path, monkeypatch: Any) -> None:  # noqa: F811
    (folder / "made_up_helper.py").write_text("HALF = 0.5\n")
    (folder / "table.csv").write_text("1\n")
    monkeypatch.syspath_prepend(folder)
    change(folder, "study.py", "from matplotlib", "from made_up_helper import HALF\nfrom matplotlib")
    study = load_study(folder)
    digests = [digest(study, "reduce_run")]
    (folder / "made_up_helper.py").write_text("HALF = 0.25\n")
    digests.append(digest(study, "reduce_run"))
    (folder / "table.csv").write_text("2\n")
    digests.append(digest(study, "reduce_run"))
    change(folder, "claims.toml", "paper = 60", "paper = 61")
    assert digests[-1] == digest(study, "reduce_run")
    assert len(set(digests)) == 3


def test_a_second_study_for_the_same_folder_is_refused_before_its_first_run(folder: Path) -> None:  # noqa: F811
    def second(_event: Event) -> None:
        backend = known()
        with pytest.raises(StudyError, match=rf"another study \(process {os.getpid()} on .*name another folder"):
            run(folder, backend)
        assert backend.ran == []

    assert run(folder, progress=second).runs > 0
    assert not (folder.parent / "out.lock").exists()


def test_the_lock_of_a_study_that_was_killed_holds_nobody_up(folder: Path) -> None:  # noqa: F811
    lock = folder.parent / "out.lock"
    lock.write_text("process 1 on elsewhere\n")
    assert run(folder).runs > 0
    assert not lock.exists()
