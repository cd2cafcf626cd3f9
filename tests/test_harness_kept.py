"""A study that was stopped goes on where it stopped, and never from runs of something else."""

import gzip
import json
import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasthop.harness import StudyResult, load_study, run_study
from lasthop.harness.errors import StudyError
from lasthop.harness.kept import KeptRuns, Name, NotPlainError, Reduced, _decoded, _encoded
from lasthop.harness.runner import LocalBackend
from lasthop.harness.sources import digest
from tests.harness_fakes import FakeBackend, FakeOutput
from tests.test_harness_study import change, folder, simulate  # noqa: F401 (the fixture)

NAME = Name("scenario", "reducer", "sources")


class KnownBackend(FakeBackend):
    """The pretended simulator with an identity, so that its runs are kept. It may be stopped after some runs."""

    def __init__(self, build: str = "one", runs: int | None = None) -> None:
        super().__init__(simulate)
        self.build = build
        self.runs = runs

    def identity(self) -> str:
        return self.build

    def run_many(self, scenarios: Sequence[Any], jobs: int) -> Iterator[FakeOutput]:
        yield from super().run_many(scenarios[: self.runs], jobs)
        if self.runs is not None:
            raise KeyboardInterrupt


def run(study: Path, backend: FakeBackend, out: str = "out", **options: Any) -> StudyResult:
    return run_study(study, out=study.parent / out, jobs=1, backend=backend, **options)


def files(result: StudyResult) -> dict[str, bytes]:
    found = {str(p.relative_to(result.folder)): p.read_bytes() for p in result.folder.rglob("*") if p.is_file()}
    # PDF and SVG are the same too, but Parquet alone holds the numbers to the last bit.
    return {k: v for k, v in found.items() if not k.endswith(".pdf")}


def test_a_stopped_study_goes_on_where_it_stopped_and_leaves_the_same_bytes(folder: Path) -> None:  # noqa: F811
    whole = run(folder, KnownBackend(), "whole")
    stopped = KnownBackend(runs=21)
    with pytest.raises(KeyboardInterrupt):
        run(folder, stopped)
    assert not (folder.parent / "out").exists()
    rest = KnownBackend()
    result = run(folder, rest)
    assert len(stopped.ran) == 21  # one file is full, the rest has to be written on the way out
    assert {s.hash() for s in stopped.ran} & {s.hash() for s in rest.ran} == set()
    assert result.taken == len(stopped.ran)
    assert result.runs + result.taken == whole.runs
    assert files(result) == files(whole)


def test_a_finished_study_is_judged_again_without_a_run(folder: Path) -> None:  # noqa: F811
    first = run(folder, KnownBackend())
    before = files(first)
    change(folder, "study.toml", 'summary = "Throughput falls with loss."', 'summary = "It falls."')
    again = run(folder, KnownBackend())
    assert (again.runs, again.taken) == (0, first.runs)
    assert files(again)["data/curve.parquet"] == before["data/curve.parquet"]
    assert files(again)["report.html"] != before["report.html"]


def test_another_build_makes_every_run_anew_and_leaves_no_runs_of_the_old_one(folder: Path) -> None:  # noqa: F811
    first = run(folder, KnownBackend("one"))
    second = run(folder, KnownBackend("two"))
    assert (second.runs, second.taken) == (first.runs, 0)
    assert len(list((folder.parent / "out.runs").iterdir())) == 1
    assert run(folder, KnownBackend("one")).taken == 0


def test_a_changed_reducer_makes_every_run_anew(folder: Path) -> None:  # noqa: F811
    first = run(folder, KnownBackend())
    change(folder, "study.py", '"rate": row["rate"]', '"rate": row["rate"] - 1')
    second = run(folder, KnownBackend())
    assert (second.runs, second.taken) == (first.runs, 0)
    assert second.claims["tuned"][0].finding.ours == pytest.approx(59.2)


def test_a_changed_value_runs_what_it_touches(folder: Path) -> None:  # noqa: F811
    first = run(folder, KnownBackend())
    change(folder, "study.toml", "values = [0, 10, 20]", "values = [0, 5, 10, 20]")
    change(folder, "claims.toml", "[[claim.ablation]]", "[[claim.unused]]")
    backend = KnownBackend()
    second = run(folder, backend)
    assert {s.get("link.a.loss") for s in backend.ran} == {5}
    assert second.taken > first.runs / 2


def test_fresh_forgets(folder: Path) -> None:  # noqa: F811
    first = run(folder, KnownBackend())
    again = run(folder, KnownBackend(), fresh=True)
    assert (again.runs, again.taken) == (first.runs, 0)


def test_runs_of_an_unknown_backend_are_not_kept(folder: Path) -> None:  # noqa: F811
    run(folder, FakeBackend(simulate))
    assert not (folder.parent / "out.runs").exists()


def test_a_damaged_file_is_made_again(folder: Path) -> None:  # noqa: F811
    first = run(folder, KnownBackend())
    kept = sorted((folder.parent / "out.runs").rglob("*.gz"))
    kept[0].write_bytes(kept[0].read_bytes()[:-20])
    kept[1].write_bytes(b"nothing")
    kept[2].write_bytes(gzip.compress(json.dumps({"identity": "one", "runs": [{}]}).encode()))
    backend = KnownBackend()
    second = run(folder, backend)
    assert 0 < second.runs < first.runs
    assert second.taken == first.runs - second.runs


def test_what_a_figure_needs_is_run_again_if_it_was_kept_without(tmp_path: Path) -> None:
    kept = KeptRuns(tmp_path, "build")
    kept.add({NAME: Reduced({"x": 1}, shown=False)})
    kept = KeptRuns(tmp_path, "build")
    assert kept.get(NAME, shown=False) == Reduced({"x": 1}, shown=False)
    assert kept.get(NAME, shown=True) is None


def test_values_that_are_no_plain_data_are_not_kept(tmp_path: Path) -> None:
    KeptRuns(tmp_path, "build").add({NAME: Reduced({"x": object()}, shown=True)})
    assert KeptRuns(tmp_path, "build").get(NAME, shown=False) is None
    with pytest.raises(NotPlainError):
        _encoded({"x": np.array([object()])})


def test_only_folders_of_kept_runs_are_removed(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep me")
    KeptRuns(tmp_path, "build").add({NAME: Reduced({}, shown=True)})
    KeptRuns(tmp_path, "other").forget()
    assert [p.name for p in tmp_path.iterdir()] == ["mine"]


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text() | st.integers(), inner),
)


@given(PLAIN)
def test_plain_data_comes_back_the_same(value: Any) -> None:
    assert repr(_decoded(json.loads(json.dumps(_encoded(value))))) == repr(value)


@pytest.mark.parametrize(
    "array",
    [np.array([0.1, math.nan, -0.0]), np.arange(6, dtype="<i4").reshape(2, 3), np.array(["a", "bcd"]), np.array([])],
)
def test_arrays_come_back_the_same_and_can_be_written_to(array: Any) -> None:
    back = _decoded(json.loads(json.dumps(_encoded(array))))
    assert (back.dtype, back.shape, back.tobytes()) == (array.dtype, array.shape, array.tobytes())
    assert back.flags.writeable
    scalar = _decoded(json.loads(json.dumps(_encoded(np.float64(0.1)))))
    assert type(scalar) is np.float64
    assert scalar == 0.1


def test_the_digest_follows_imports_but_not_what_only_figures_use(tmp_path: Path, monkeypatch: Any) -> None:
    """Of a bundled study: a change in what `reduce.py` imports counts, one in `figures.py` does not."""
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


def test_the_simulator_is_known_by_its_extension() -> None:
    identity = LocalBackend().identity()
    assert identity == LocalBackend().identity()
    assert len(identity.rpartition(" ")[2]) == 64


def test_a_second_study_for_the_same_folder_is_refused_before_its_first_run(folder: Path) -> None:  # noqa: F811
    class Second(KnownBackend):
        """While the first runs, a second one begins."""

        def run_many(self, scenarios: Sequence[Any], jobs: int) -> Iterator[FakeOutput]:
            second = KnownBackend()
            with pytest.raises(StudyError, match=rf"another study \(process {os.getpid()} on .*name another folder"):
                run(folder, second)
            assert second.ran == []
            yield from super().run_many(scenarios, jobs)

    first = run(folder, Second())
    assert first.runs > 0
    assert not (folder.parent / "out.lock").exists()


def test_the_lock_of_a_study_that_was_killed_holds_nobody_up(folder: Path) -> None:  # noqa: F811
    lock = folder.parent / "out.lock"
    lock.write_text("process 1 on elsewhere\n")
    assert run(folder, KnownBackend()).runs > 0
    assert not lock.exists()
