"""What a later call finds of finished runs.

After an edit of own code, for a new metric, after damage.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from lasthop import Campaign, CongestionControl, LasthopError, Results, _core
from lasthop.campaign import work as module
from lasthop.campaign.conduct import conduct, dry_run
from lasthop.campaign.jobs import Job
from lasthop.campaign.metrics import Metric
from lasthop.campaign.store import Store
from lasthop.campaign.work import Task, Work
from tests.campaign.misbehaving import Own
from tests.campaign.plans import GOODPUT, measures, small
from tests.scenarios import WIRED

OWN = """
from lasthop import CongestionControl

class {name}(CongestionControl):
    def on_ack(self, ack):
        self.slow_start(ack)
        VALUE = {value}
"""
CAMPAIGN = """
[campaign]
name = "own"
base = "wired.toml"
seeds = 2
[set]
"scenario.duration" = "0.5 s"
[axis.cc]
key = "flow.ftp.tcp.cc"
values = [{values}]
[metric]
goodput = 'flow("ftp").goodput_bps in Mbit/s'
"""


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("wired.toml").write_text(WIRED)
    for name in ("Mine", "Other"):
        Path(f"{name.lower()}.py").write_text(OWN.format(name=name, value=1))
    return tmp_path


def campaign(*controls: str) -> Campaign:
    values = ", ".join(f'"{c}"' for c in controls)
    own = [f'{c} = "{c}.py:{c.capitalize()}"' for c in controls if c in ("mine", "other")]
    return Campaign.parse(CAMPAIGN.format(values=values) + "\n".join(["[cc]", *own]) + "\n")


def made(*controls: str) -> int:
    runs = campaign(*controls).run(store="s", using="threads").about["runs"]
    assert runs["failed"] == 0
    return int(runs["done"] - runs["taken"])


@pytest.mark.usefixtures("room")
def test_an_own_control_enters_the_keys_of_those_runs_alone_that_use_it() -> None:
    assert made("cubic", "mine", "other") == 6
    assert made("cubic", "mine", "other") == 0
    assert made("cubic") == 0  # without any [cc]
    Path("mine.py").write_text(OWN.format(name="Mine", value=2))
    assert made("cubic", "mine", "other") == 2
    assert made("reno", "other") == 2
    Path("other.py").write_text(OWN.format(name="Other", value=2))
    assert made("cubic", "mine", "other") == 2


@pytest.mark.usefixtures("room")
def test_an_own_control_of_a_proxy_enters_its_keys_too() -> None:
    """A proxy's socket has options of TCP beside those of the flow."""
    text = WIRED.replace('between = ["server", "client"]', 'between = ["server", "proxy"]') + (
        '\n[link.last]\nbetween = ["proxy", "client"]\nrate = "5 Mbit/s"\ndelay = "5 ms"\n'
        '[node.proxy]\nkind = "proxy"\nconnect = { cc = "mine" }\n'
    )
    Path("wired.toml").write_text(text)
    assert made("cubic", "mine") == 4
    assert made("cubic", "mine") == 0
    Path("mine.py").write_text(OWN.format(name="Mine", value=2))
    assert made("cubic", "mine") == 4


MADE_BY_FUNCTIONS = """
from functools import partial
from lasthop import CongestionControl

def fixed(segments):
    class Fixed(CongestionControl):
        def start(self):
            self.cwnd = segments
        def on_ack(self, ack):
            self.cwnd = segments
    return Fixed

def constant(value):
    def metric(run):
        return value
    return metric

def scaled(run, by):
    return by

A, B = fixed(2.0), fixed(20.0)
one, two = constant(1), constant(2)
three, four = partial(scaled, by=3), partial(scaled, by=4)
"""
MADE_METRICS = "".join(f'{n} = {{ python = "made.py:{n}" }}\n' for n in ("one", "two", "three", "four"))


@pytest.mark.usefixtures("room")
def test_what_one_function_of_a_file_has_made_is_told_apart_by_its_name_in_the_file() -> None:
    Path("made.py").write_text(MADE_BY_FUNCTIONS)

    def results(control: str) -> dict[str, set[float]]:
        text = CAMPAIGN.format(values='"mine"') + MADE_METRICS + f'[cc]\nmine = "made.py:{control}"\n'
        table = Campaign.parse(text).run(store="s", using="threads").table()
        return {name: set(table[name].to_pylist()) for name in ("goodput", "one", "two", "three", "four")}

    slow = results("A")
    assert [slow[n] for n in ("one", "two", "three", "four")] == [{1}, {2}, {3}, {4}]
    assert results("A") == slow
    # Another object of the same function: 20 segments a round trip in place of 2.
    assert max(results("B")["goodput"]) > 2 * max(slow["goodput"])
    Path("made.py").write_text(MADE_BY_FUNCTIONS.replace("by=3", "by=33"))
    assert results("A")["three"] == {33}


@pytest.mark.parametrize(
    "of",
    [
        lambda: {"metrics": {"x": partial(rows, of="tcp")}},
        lambda: {"metrics": {"x": Rows()}},
        lambda: {"metrics": {"x": within("tcp")}},
        lambda: {"cc": {"mine": within_class(2.0)}},
    ],
    ids=["partial", "object", "inner function", "inner class"],
)
@pytest.mark.usefixtures("room")
def test_what_has_no_name_in_its_module_is_refused(of: Callable[[], dict[str, Any]]) -> None:
    """Its sources and its name do not say which of several it is."""
    given = {"metrics": {"rows": rows}, **of()}
    with pytest.raises(TypeError, match=r"at the top of a module.*with def or class"):
        Campaign("wired.toml", axes={"flow.ftp.tcp.cc": ["reno"]}, **given)


def rows(run: Results, of: str = "flows") -> float:
    return float(run.table(of).num_rows)


def within(of: str) -> Callable[[Results], float]:
    def metric(run: Results) -> float:
        return rows(run, of)

    return metric


def within_class(segments: float) -> type[CongestionControl]:
    class Fixed(CongestionControl):
        def on_ack(self, ack: Any) -> None:
            self.cwnd = segments

    return Fixed


class Rows:
    def __call__(self, run: Results) -> float:
        return rows(run)


# ---------------------------------------- a new metric over kept tables


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How many runs the core has made."""
    made: list[object] = []
    run = _core.run

    class Counting:
        @staticmethod
        def run(*args: Any, **more: Any) -> Any:
            made.append(args)
            return run(*args, **more)

    monkeypatch.setattr(module, "_core", Counting)
    return lambda: len(made)


MORE = {
    "lost": 'flow("ftp").lost_dropped',
    "rtt": 'p95(tcp("ftp").rtt_us) in ms',
    "late": 'count(tcp("ftp"), 0.2 s .. 0.4 s)',
    "nobody": 'flow("other").goodput_bps',
}


def test_a_new_metric_follows_from_kept_tables_and_equals_that_of_a_run(
    tmp_path: Path, counted: Callable[[], int]
) -> None:
    conduct(small(keep=("flows", "tcp")), tmp_path / "s", using="threads")
    assert counted() == 12
    more = small(measures=(*GOODPUT, *measures(**MORE)))
    found = conduct(more, tmp_path / "s", using="threads")
    assert counted() == 12
    assert found.about["runs"] == {"planned": 12, "done": 12, "taken": 12, "failed": 0}
    fresh = conduct(more, tmp_path / "other", using="threads")
    assert found.table().equals(fresh.table())
    assert found.failures().equals(fresh.failures())
    assert found.about["cpu_seconds_in_all"] > 0
    # They are in the store now.
    again = conduct(more, tmp_path / "s", using="processes", jobs=1)
    assert again.table().equals(fresh.table())


def test_worker_processes_get_the_kept_tables_too(tmp_path: Path) -> None:
    conduct(small(keep=("flows", "tcp")), tmp_path / "s", using="threads")
    more = small(measures=(*GOODPUT, *measures(**MORE), Own("raise", bad=99)))
    found = conduct(more, tmp_path / "s", using="processes", jobs=2)
    # `Own` reads the seed, which no table has: these runs are made again, with all that is
    # wanted of them.
    assert found.about["runs"]["taken"] == 0
    assert found.table()["own"].to_pylist() == [1.0] * 12
    assert found.table()["lost"].equals(conduct(more, tmp_path / "other", using="threads").table()["lost"])


def test_a_metric_of_a_table_that_was_not_kept_makes_the_run_again(tmp_path: Path, counted: Callable[[], int]) -> None:
    conduct(small(keep=("tcp",), seeds=(1,)), tmp_path / "s", using="threads")
    assert counted() == 4
    events = small(seeds=(1,), measures=measures(lost="count(drops)", rtt=MORE["rtt"]))
    conduct(events, tmp_path / "s", using="threads")
    assert counted() == 8


@pytest.mark.parametrize(
    "asks",
    [
        lambda run: "packets" in run.table_names,
        lambda run: len(list(run.table_names)),
        lambda run: run.summary["duration_s"],
        lambda run: run.manifest["seed"],
        lambda run: run.table("packets").num_rows,
    ],
)
def test_a_function_that_asks_for_more_than_was_kept_gets_it_even_if_it_catches_errors(
    asks: Callable[[Any], Any],
) -> None:
    class Careless(Own):
        def outcome(self, run: Any) -> Any:
            try:
                asks(run)
            except Exception:
                return replace(super().outcome(run), value=-1.0)
            return super().outcome(run)

    plan = small(measures=(Careless(),), keep=("flows",))
    scenario = plan.scenario(Job(plan.points[0], 1))
    key = module.key_of(plan, scenario)
    kept = Work(plan)(Task(0, 1, key, (0,), ("flows",), scenario=scenario), lambda: False)
    content = kept.entries[-1].content
    assert content is not None
    from_tables = Work(plan)(Task(0, 1, key, (0,), (), (("flows", content),), scenario), lambda: False)
    assert from_tables.ran
    assert [e.value for e in from_tables.entries[1:]] == [e.value for e in kept.entries[1:2]]


def test_an_expression_reads_the_columns_that_it_names_alone() -> None:
    plan = small(measures=measures(goodput='flow("ftp").goodput_bps'))
    run = plan.scenario(Job(plan.points[0], 1)).run()
    asked: list[Any] = []
    table = run.table

    def noted(name: str, columns: Any = None) -> Any:
        asked.append((name, columns))
        return table(name, columns)

    run.table = noted  # type: ignore[method-assign]
    value = Metric.parse("g", 'flow("ftp").goodput_bps').evaluate(run)
    assert all(columns is not None and len(columns) == 1 for _, columns in asked)
    assert {c[0] for _, c in asked} == {"flow", "goodput_bps"}
    assert value == table("flows")["goodput_bps"][0].as_py()


def test_columns_of_a_table_in_memory_and_in_a_folder(tmp_path: Path) -> None:
    base = small().base
    in_memory, in_folder = base.run(), base.run(out=tmp_path / "r")
    wanted = ["goodput_bps", "nosuch", "flow"]
    for run in (in_memory, in_folder):
        few = run.table("flows", wanted)
        assert few.column_names == ["flow", "goodput_bps"]  # in the table's order
        assert few.equals(run.flows.select(["flow", "goodput_bps"]))
        assert few.schema.field("goodput_bps").metadata[b"unit"] == b"bit/s"
    assert in_memory.table("flows", []).num_columns == 0
    with pytest.raises(LasthopError, match="no table 'nosuch'"):
        in_memory.table("nosuch", ["a"])


# ---------------------------------------------------------------------- damage


def test_a_damaged_kept_table_is_repaired_in_the_same_call(tmp_path: Path) -> None:
    """Below an index that covers it, with its size and time: only its content says so."""
    plan = small(keep=("flows",))
    conduct(plan, tmp_path / "s", out=tmp_path / "out")
    before = (tmp_path / "out" / "tables" / "flows.parquet").read_bytes()
    with Store(tmp_path / "s") as store:
        store.index()
    for path in (tmp_path / "s").glob("runs/*/*/*.parquet"):
        content, when = bytearray(path.read_bytes()), path.stat().st_mtime_ns
        content[content.index(b"ARROW1" if b"ARROW1" in content else b"\xff\xff\xff\xff") + 40] ^= 1
        path.write_bytes(content)
        os.utime(path, ns=(when, when))
    found = conduct(plan, tmp_path / "s", out=tmp_path / "out")
    assert found.about["runs"]["failed"] == 0
    assert any("its runs are made again" in note for note in found.about["notes"])
    assert (tmp_path / "out" / "tables" / "flows.parquet").read_bytes() == before
    assert conduct(plan, tmp_path / "s", out=tmp_path / "out").about["runs"]["taken"] == 12


# ---------------------------------------------------------------------- a dry run of what is there


def test_a_dry_run_of_finished_runs_needs_no_value_of_each_metric(tmp_path: Path) -> None:
    plan = small(measures=measures(absent='flow("other").goodput_bps'))
    conduct(plan, tmp_path)
    found = dry_run(plan, tmp_path)
    assert (found.runs, found.found, found.probes) == ((12, 12), 12, 0)
