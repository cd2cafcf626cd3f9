"""Campaigns: what is missing is run, failures are rows, each executor gives the same octets."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from lasthop import LasthopError
from lasthop.campaign import conduct as module
from lasthop.campaign.conduct import Event, conduct, dry_run
from lasthop.campaign.executors import Threads, executor, parse_shard
from lasthop.campaign.results import CampaignResults
from lasthop.campaign.sequential import Rule
from lasthop.campaign.store import Store
from tests.campaign.misbehaving import Elsewhere, Own, Unreadable
from tests.campaign.plans import GOODPUT, HandMade, measures, small

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


def octets(folder: Path) -> dict[str, bytes]:
    """The files that depend on the campaign alone."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*.parquet"))}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("undisturbed")
    conduct(small(keep=("flows", "tcp")), folder / "store", using="threads", jobs=1, out=folder / "out")
    return octets(folder / "out")


@pytest.mark.parametrize(("using", "jobs"), [("threads", 4), ("processes", 1), ("processes", 3)])
def test_each_executor_gives_the_same_octets(
    tmp_path: Path, undisturbed: dict[str, bytes], using: str, jobs: int
) -> None:
    assert set(undisturbed) == {"results.parquet", "failures.parquet", "tables/flows.parquet", "tables/tcp.parquet"}
    conduct(small(keep=("flows", "tcp")), tmp_path / "s", using=using, jobs=jobs, out=tmp_path / "out")
    assert octets(tmp_path / "out") == undisturbed


def test_merged_shards_give_the_same_octets(tmp_path: Path, undisturbed: dict[str, bytes]) -> None:
    plan, runs = small(keep=("flows", "tcp")), 0
    for part in (3, 1, 2):
        found = conduct(plan, tmp_path / f"s{part % 2}", shard=(part, 3))
        runs += found.table().num_rows
        assert found.about["runs"]["done"] == found.table().num_rows == 4
    assert runs == 12
    merged = tmp_path / "s0"
    for path in (tmp_path / "s1").rglob("*.parquet"):
        target = merged / path.relative_to(tmp_path / "s1")
        target.parent.mkdir(parents=True, exist_ok=True)
        path.replace(target)
    found = conduct(plan, merged, out=tmp_path / "out")
    assert found.about["runs"] == {"planned": 12, "done": 12, "taken": 12, "failed": 0}
    assert octets(tmp_path / "out") == undisturbed


def test_the_table_is_tidy(tmp_path: Path) -> None:
    plan = HandMade({"link.path.loss": ["0 %", "2 %"], "link.path.queue.packets": [20, 40]}, seeds=(7, 3))
    conduct(plan, tmp_path / "s", out=tmp_path / "out", command="lasthop sweep x.toml")
    found = CampaignResults.load(tmp_path / "out")
    table = found.table()
    assert table.column_names == ["loss", "packets", "seed", "goodput", "timeouts"]
    assert (found.axes, found.metrics) == (["loss", "packets"], ["goodput", "timeouts"])
    assert table.schema.field("goodput").metadata[b"unit"] == b"Mbit/s"
    rows = [tuple(row.values())[:3] for row in table.to_pylist()]
    assert rows == [(a, b, s) for a in ("0 %", "2 %") for b in (20, 40) for s in (3, 7)]
    assert table.schema.metadata[b"campaign"] == b"by-hand"
    assert found.failures().num_rows == 0
    assert found.about["command"] == "lasthop sweep x.toml"
    assert found.about["axes"][1] == {
        "name": "packets",
        "keys": ["link.path.queue.packets"],
        "labels": [20, 40],
        "unit": None,
    }
    assert found.toml == plan.to_toml()
    # Each value is that of a run by hand.
    run = plan.base.with_({"link.path.loss": "2 %", "link.path.queue.packets": 20, "scenario.seed": 7}).run()
    assert table["goodput"][5].as_py() == run.flows["goodput_bps"][0].as_py() / 1e6


def test_common_random_numbers(tmp_path: Path) -> None:
    """Each point has the same seeds.

    Two points that differ in nothing that matters have equal values.
    """
    plan = HandMade({"scenario.description": ["one", "two"]}, seeds=range(1, 6))
    table = conduct(plan, tmp_path).table()
    assert table["goodput"].to_pylist()[:5] == table["goodput"].to_pylist()[5:]
    assert len(set(table["goodput"].to_pylist())) > 1


def test_points_with_the_same_scenario_are_run_once(tmp_path: Path) -> None:
    found = conduct(HandMade({"link.path.loss": ["1 %", "1.0 %"]}), tmp_path)
    assert found.table().num_rows == 6
    with Store(tmp_path) as store:
        assert store.index()[1] == 3 * 3  # cost and two metrics of three runs


def test_what_is_there_is_taken_and_a_new_metric_joins_it(tmp_path: Path) -> None:
    first = conduct(small(), tmp_path)
    again = conduct(small(), tmp_path)
    assert again.about["runs"]["taken"] == 12
    assert again.table().equals(first.table())
    assert again.about["cpu_seconds"] == 0
    assert again.about["cpu_seconds_in_all"] == pytest.approx(first.about["cpu_seconds"])
    more = small(measures=(*GOODPUT, *measures(lost='flow("ftp").lost_dropped')), seeds=(1, 2, 3, 4))
    joined = conduct(more, tmp_path)
    assert joined.about["runs"] == {"planned": 16, "done": 16, "taken": 0, "failed": 0}
    assert conduct(more, tmp_path).about["runs"]["taken"] == 16
    assert conduct(small(), tmp_path).table().equals(first.table())


def test_tables_that_are_kept_later_are_added(tmp_path: Path) -> None:
    conduct(small(), tmp_path)
    found = conduct(small(keep=("flows",)), tmp_path)
    assert found.about["runs"]["taken"] == 0
    flows = found.kept("flows")
    assert flows.num_rows == 12
    assert flows.column_names[:4] == ["cc", "loss", "seed", "flow"]
    assert flows.schema.field("goodput_bps").metadata[b"unit"] == b"bit/s"
    for row, kept in zip(found.table().to_pylist(), flows.to_pylist(), strict=True):
        assert (row["cc"], row["seed"], row["goodput"]) == (kept["cc"], kept["seed"], kept["goodput_bps"] / 1e6)
    with pytest.raises(LasthopError, match="kept no table 'tcp'; it kept: flows"):
        found.kept("tcp")


def test_a_table_that_a_run_does_not_have_is_left_out(tmp_path: Path) -> None:
    found = conduct(small(keep=("wifi",)), tmp_path / "s", out=tmp_path / "out")
    assert found.table().num_rows == 12
    assert found.kept("wifi").num_rows == CampaignResults.load(tmp_path / "out").kept("wifi").num_rows == 0


@pytest.mark.parametrize("hurt", ["cut", "gone"])
def test_exactly_what_is_not_whole_is_made_again(tmp_path: Path, undisturbed: dict[str, bytes], hurt: str) -> None:
    plan = small(keep=("flows", "tcp"))
    store = Store(tmp_path / "s", workers=0)  # a file for each run
    store.put = one_file_each(store)  # type: ignore[method-assign]
    conduct(plan, store, jobs=1)
    files = sorted((tmp_path / "s").glob("runs/*/*/*.parquet"))
    assert len(files) == 12
    for path in random.Random(1).sample(files, 3):
        if hurt == "cut":
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        else:
            path.unlink()
    found = conduct(plan, tmp_path / "s", out=tmp_path / "out")
    assert found.about["runs"]["taken"] == 9
    assert len(found.about["notes"]) == (3 if hurt == "cut" else 0)
    assert octets(tmp_path / "out") == undisturbed


def one_file_each(store: Store):  # type: ignore[no-untyped-def]
    put = store.put

    def and_flush(*args: object, **kwargs: object) -> None:
        put(*args, **kwargs)  # type: ignore[arg-type]
        store.flush()

    return and_flush


# ---------------------------------------------------------------------- failures


@pytest.mark.parametrize("using", ["threads", "processes"])
@pytest.mark.parametrize("how", ["raise", "sys.exit"])
def test_a_mistake_of_an_own_metric_is_a_row_with_a_reason(tmp_path: Path, using: str, how: str) -> None:
    plan = small(measures=(*GOODPUT, Own(how)))
    found = conduct(plan, tmp_path / "s", using=using, jobs=2, out=tmp_path / "out")
    assert found.about["runs"] == {"planned": 12, "done": 12, "taken": 0, "failed": 4}
    failures = found.failures().to_pylist()
    assert [(f["seed"], f["metric"]) for f in failures] == [(2, None)] * 4
    reason = failures[0]["reason"]
    if how == "raise":
        assert reason.startswith("metrics: ValueError: seed 2 is bad and more (misbehaving.py:")
    else:
        assert reason.startswith("SystemExit: 4")
    rows = found.table().to_pylist()
    assert len(rows) == 12
    assert all((row["own"] is None) == (row["goodput"] is None) == (row["seed"] == 2) for row in rows)
    # The next call makes them again, and those only.
    mended = conduct(small(measures=(*GOODPUT, Own())), tmp_path / "s", using=using, jobs=2)
    assert mended.about["runs"] == {"planned": 12, "done": 12, "taken": 8, "failed": 0}
    assert mended.table()["own"].to_pylist() == [1.0] * 12


@posix
@pytest.mark.parametrize(("how", "what"), [("kill", "was killed by SIGKILL"), ("exit", "ended with exit code 3")])
def test_a_worker_that_dies_is_a_failure_of_its_run_and_the_rest_goes_on(tmp_path: Path, how: str, what: str) -> None:
    plan = small(measures=(*GOODPUT, Own(how)))
    found = conduct(plan, tmp_path, using="processes", jobs=2)
    failures = found.failures().to_pylist()
    assert [f["seed"] for f in failures] == [2] * 4
    assert all(what in f["reason"] for f in failures)
    assert sum(row["own"] == 1.0 for row in found.table().to_pylist()) == 8
    assert conduct(small(measures=(*GOODPUT, Own())), tmp_path, using="processes").about["runs"]["taken"] == 8


def test_no_value_is_a_fact_with_a_reason_and_is_not_made_again(tmp_path: Path) -> None:
    plan = small(measures=(*measures(absent='flow("other").goodput_bps'), Own("none")))
    found = conduct(plan, tmp_path, using="threads")
    failures = found.failures().to_pylist()
    assert len(failures) == 12 + 4
    assert failures[1] == {"cc": "reno", "loss": "0 %", "seed": 2, "metric": "absent", "reason": failures[0]["reason"]}
    assert "this run has no flow 'other', it has: ftp" in failures[0]["reason"]
    assert found.about["runs"]["failed"] == 0
    again = conduct(plan, tmp_path, using="threads")
    assert again.about["runs"]["taken"] == 12
    assert again.failures().equals(found.failures())


def test_a_point_that_makes_no_scenario_is_a_failure_with_a_reason(tmp_path: Path) -> None:
    found = conduct(HandMade({"flow.ftp.tcp.cc": ["reno", "cubik"]}), tmp_path / "s")
    assert found.about["runs"] == {"planned": 6, "done": 6, "taken": 0, "failed": 3}
    assert found.failures()["reason"][0].as_py().startswith("scenario: ")
    with pytest.raises(LasthopError, match="none of 3 trial runs gave a result: scenario: "):
        dry_run(HandMade({"flow.ftp.tcp.cc": ["cubik"]}), tmp_path / "s")


def test_workers_that_cannot_read_the_plan_are_an_error_of_the_campaign(tmp_path: Path) -> None:
    plan = Unreadable({"flow.ftp.tcp.cc": ["reno"]})
    with pytest.raises(LasthopError, match=r"cannot read the campaign: ImportError: no module named 'typed_into"):
        conduct(plan, tmp_path, using="processes", jobs=2)


def test_another_scenario_in_the_worker_is_a_failure_and_no_value(tmp_path: Path) -> None:
    found = conduct(Elsewhere({"flow.ftp.tcp.cc": ["reno"]}), tmp_path, using="processes", jobs=1)
    assert found.about["runs"]["failed"] == 3
    assert "another version of lasthop, or a file that has changed" in found.failures()["reason"][0].as_py()


def test_a_script_without_a_guard_is_told_of_it(tmp_path: Path) -> None:
    script = tmp_path / "sweep.py"
    script.write_text(
        "from lasthop.campaign.conduct import conduct\n"
        "from tests.campaign.plans import small\n"
        f"conduct(small(), {str(tmp_path / 's')!r}, using='processes', jobs=1)\n"
    )
    path = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, env=path, check=False)
    assert done.returncode == 1
    assert "the script starts this campaign each time it is imported" in done.stderr
    assert "below `if __name__ == '__main__':`" in done.stderr


# ---------------------------------------------------------------------- the rule of `until`


def test_the_rule_adds_replications_where_they_are_needed_and_only_there(tmp_path: Path) -> None:
    rule = Rule.parse("ci95(goodput) < 4 %, min 5, max 30")
    # Without loss and jitter each seed gives the same: an interval of width zero at the first look.
    plan = HandMade({"link.path.loss": ["0 %", "3 %"]}, seeds=(1,), until=rule)
    found = conduct(plan, tmp_path / "s", out=tmp_path / "out")
    seeds = [row["seed"] for row in found.table().to_pylist() if row["loss"] == "0 %"]
    assert seeds == [1, 2, 3, 4, 5]
    samples = [row["goodput"] for row in found.table().to_pylist() if row["loss"] == "3 %"]
    assert len(samples) in rule.looks[1:]
    assert rule.next_n(samples) is None
    assert rule.next_n(samples[: rule.looks[rule.looks.index(len(samples)) - 1]]) == len(samples)
    look = found.about["looks"][1]
    assert look["replications"] == look["n"] == len(samples)
    assert look["mean"] == pytest.approx(sum(samples) / len(samples))
    assert look["reached"] == (len(samples) < 30 or look["high"] - look["low"] < 0.08 * look["mean"])
    for using, jobs in (("processes", 2), ("threads", 5)):
        conduct(plan, tmp_path / using, using=using, jobs=jobs, out=tmp_path / f"out-{using}")
        assert octets(tmp_path / f"out-{using}") == octets(tmp_path / "out")
    for part in (1, 2):
        conduct(plan, tmp_path / "parts", shard=(part, 2))
    merged = conduct(plan, tmp_path / "parts", out=tmp_path / "out-parts")
    assert merged.about["runs"]["taken"] == merged.about["runs"]["planned"] == found.table().num_rows
    assert octets(tmp_path / "out-parts") == octets(tmp_path / "out")


def test_a_point_whose_runs_fail_gets_no_more_of_them(tmp_path: Path) -> None:
    rule = Rule.parse("ci95(goodput) < 0.1 %, min 5, max 12")
    plan = HandMade({"link.path.loss": ["3 %"]}, seeds=(1,), until=rule, measures=(*GOODPUT, Own("raise", bad=4)))
    found = conduct(plan, tmp_path)
    assert found.about["runs"] == {"planned": 5, "done": 5, "taken": 0, "failed": 1}
    assert found.about["looks"] == [{"point": 0, "replications": 5, "reached": False, "why": "a run has failed"}]
    mended = conduct(HandMade({"link.path.loss": ["3 %"]}, seeds=(1,), until=rule), tmp_path)
    assert mended.about["runs"] == {"planned": 12, "done": 12, "taken": 4, "failed": 0}


def test_runs_without_the_value_are_not_counted_and_a_point_without_any_is_given_up(tmp_path: Path) -> None:
    rule = Rule.parse("ci95(own) < 1 %, min 5, max 20")
    plan = HandMade({"link.path.loss": ["0 %"]}, seeds=(1,), until=rule, measures=(Own("none"),))
    found = conduct(plan, tmp_path / "a")  # seed 2 has no value: a sixth run makes up for it
    assert found.table()["own"].to_pylist() == [1.0, None, 1.0, 1.0, 1.0, 1.0]
    rule = Rule.parse("ci95(absent) < 1 %, min 5, max 20")
    plan = HandMade({"link.path.loss": ["0 %"]}, until=rule, measures=measures(absent='flow("other").goodput_bps'))
    found = conduct(plan, tmp_path / "b")
    assert found.table().num_rows == 5
    assert found.about["looks"][0]["why"] == "no run has a value of absent"


def test_a_rule_about_what_is_not_measured_is_refused(tmp_path: Path) -> None:
    plan = small(until=Rule.parse("ci95(delay) < 1 %"))
    with pytest.raises(LasthopError, match=r"about 'delay'(?s:.)*metrics are: goodput, timeouts"):
        conduct(plan, tmp_path)


# ---------------------------------------- progress, stopping, executors


def test_progress_counts_to_the_end(tmp_path: Path) -> None:
    conduct(small(seeds=(1, 2)), tmp_path)
    events: list[Event] = []
    conduct(small(seeds=(1, 2, 3)), tmp_path, progress=events.append)
    assert [e.done for e in events] == list(range(1, 13))
    assert {e.total for e in events} == {12}
    assert (events[-1].taken, events[-1].failed, events[-1].eta_s) == (8, 0, 0.0)
    assert events[-1].rate > 0


def test_ctrl_c_leaves_what_is_finished(tmp_path: Path, undisturbed: dict[str, bytes]) -> None:
    plan = small(keep=("flows", "tcp"))

    def interrupt(event: Event) -> None:
        if event.done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        conduct(plan, tmp_path / "s", using="threads", jobs=2, progress=interrupt, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert not [t for t in threading.enumerate() if t.name.startswith("lasthop-run")]
    found = conduct(plan, tmp_path / "s", out=tmp_path / "out")
    assert found.about["runs"]["taken"] == 5
    assert octets(tmp_path / "out") == undisturbed


@posix
@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_ends_long_runs_and_worker_processes_at_once(tmp_path: Path) -> None:
    plan = HandMade({"flow.ftp.tcp.cc": ["reno", "cubic"]})
    long = {"scenario.duration": "100000 s", "output.tcp": "off"}  # hours of samples would fill the memory
    object.__setattr__(plan, "base", plan.base.with_(long))

    for makes in (executor("threads", 2), executor("processes", 2)):
        alarm = threading.Timer(3, os.kill, (os.getpid(), signal.SIGINT))
        began = time.monotonic()
        alarm.start()
        with pytest.raises(KeyboardInterrupt):
            conduct(plan, tmp_path, using=makes)
        assert time.monotonic() - began < 60  # not the hours of the runs
    assert not [t for t in threading.enumerate() if t.name.startswith("lasthop-run")]


def test_few_tasks_are_taken_before_there_is_room_for_them() -> None:
    for makes in (Threads(3), executor("processes", 2)):
        taken: list[int] = []
        tasks = (taken.append(n) or n for n in range(200))  # type: ignore[func-returns-value]
        for done, (task, result) in enumerate(makes.run(twice, tasks)):
            assert result == 2 * task
            assert len(taken) - done <= 2 * makes.workers
        assert len(taken) == done + 1 == 200


def twice(task: int, _stopped: object) -> int:
    return 2 * task


def test_executors_and_shards_by_name() -> None:
    assert executor(None, 2).name == "threads"
    assert executor(None, 2, by_processes=True).name == "processes"
    assert executor("threads").workers >= 1
    with pytest.raises(LasthopError, match="threads, processes and ray"):
        executor("slurm")
    with pytest.raises(LasthopError, match="jobs = -1 is below 0"):
        executor(None, -1)
    assert parse_shard(" 2 / 8 ") == (2, 8)
    for wrong in ("0/4", "5/4", "4", "a/b", "1/2/3", "-1/2"):
        with pytest.raises(LasthopError, match="--shard 2/8"):
            parse_shard(wrong)


# ---------------------------------------------------------------------- folders, dry run


def test_a_folder_with_something_else_is_refused_before_the_first_run(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "thesis.tex").write_text("years of work")
    with pytest.raises(LasthopError, match="holds something else than the results of a campaign"):
        conduct(small(), tmp_path / "s", out=out)
    assert not (tmp_path / "s").exists()
    conduct(small(), tmp_path / "s", out=tmp_path / "first")
    with pytest.raises(LasthopError, match="those of the campaign 'by-hand'"):
        conduct(small(name="other"), tmp_path / "s", out=tmp_path / "first")
    (tmp_path / "first" / "notes.txt").write_text("mine")
    with pytest.raises(LasthopError):
        conduct(small(), tmp_path / "s", out=tmp_path / "first")
    assert (tmp_path / "first" / "notes.txt").read_text() == "mine"


def test_further_files_are_written_with_the_folder_or_not_at_all(tmp_path: Path) -> None:
    def draw(folder: Path, results: CampaignResults) -> None:
        (folder / "report.html").write_text(f"{results.table().num_rows} runs, {results.kept('flows').num_rows} rows")

    plan = small(keep=("flows",))
    conduct(plan, tmp_path / "s", out=tmp_path / "out", also=draw)
    assert (tmp_path / "out" / "report.html").read_text() == "12 runs, 12 rows"
    conduct(plan, tmp_path / "s", out=tmp_path / "out", also=draw)  # it may be replaced

    def fail(folder: Path, results: CampaignResults) -> None:
        (folder / "report.html").write_text("half")
        raise ValueError("no figure")

    with pytest.raises(ValueError, match="no figure"):
        conduct(plan, tmp_path / "s", out=tmp_path / "out", also=fail)
    assert (tmp_path / "out" / "report.html").read_text() == "12 runs, 12 rows"


def test_what_is_no_folder_of_a_campaign_says_so(tmp_path: Path) -> None:
    with pytest.raises(LasthopError, match="there is no folder"):
        CampaignResults.load(tmp_path / "none")
    with pytest.raises(LasthopError, match=r"it has no campaign\.json"):
        CampaignResults.load(tmp_path)
    conduct(small(), tmp_path / "s", out=tmp_path / "out")
    (tmp_path / "out" / "results.parquet").write_bytes(b"PAR1")
    with pytest.raises(LasthopError, match="finds its runs in the store"):
        CampaignResults.load(tmp_path / "out")


def test_a_dry_run_measures_and_writes_nothing(tmp_path: Path) -> None:
    plan = small(seeds=range(1, 51))
    found = dry_run(plan, tmp_path / "s", jobs=2)
    assert not (tmp_path / "s").exists()
    assert (found.runs, found.found, found.probes) == ((200, 200), 0, module.PROBES)
    least, mean, most = found.run_s
    assert 0 < least <= mean <= most
    assert found.spread is not None
    assert found.seconds[0] == pytest.approx(200 * mean * max(0, 1 - found.spread) / 2)
    assert found.seconds[1] == pytest.approx(200 * mean * (1 + found.spread) / 2)
    conduct(plan, tmp_path / "s")
    stored = sum(p.stat().st_size for p in (tmp_path / "s").glob("runs/*/*/*"))
    # Files have some thousand octets of their own, which the estimate leaves out.
    assert 0.3 * stored < found.octets[0] < 3 * stored
    after = dry_run(small(seeds=range(1, 52)), tmp_path / "s", jobs=2)
    assert (after.runs[0], after.found, after.probes) == (204, 200, 4)
    done = dry_run(plan, tmp_path / "s", jobs=2)
    assert (done.found, done.probes, done.seconds, done.octets) == (200, 0, (0.0, 0.0), (0, 0))


def test_a_dry_run_of_a_rule_gives_bounds_and_one_of_failures_says_why(tmp_path: Path) -> None:
    plan = small(until=Rule.parse("ci95(goodput) < 1 %, min 5, max 50"))
    found = dry_run(plan, tmp_path)
    assert found.runs == (20, 200)
    assert found.seconds[1] > found.seconds[0]
    bad = small(seeds=(2,), measures=(Own("raise"),))
    with pytest.raises(LasthopError, match=r"none of 4 trial runs gave a result: metrics: ValueError: seed 2 is bad"):
        dry_run(bad, tmp_path)


def test_campaign_json_is_json(tmp_path: Path) -> None:
    plan = small(until=Rule.parse("ci95(goodput) < 1 %, min 5, max 6"), seeds=(1,))
    conduct(plan, tmp_path / "s", out=tmp_path / "out")
    about = json.loads((tmp_path / "out" / "campaign.json").read_text())
    assert about["until"] == "ci95(goodput) < 1 %, min 5, max 6"
    assert len(about["looks"]) == 4
