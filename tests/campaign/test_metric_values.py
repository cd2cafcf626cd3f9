"""Values of metrics against plain Python over the rows of runs.

And against tables small enough to do on paper.
"""

from __future__ import annotations

import json
import math
import re
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lasthop as lh
from lasthop._results import Tables
from lasthop.campaign.metrics import Metric, Outcome, _catalogue, evaluate_all
from tests.scenarios import WIRED

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs/guides/metrics.md").read_text(encoding="utf-8")
Row = dict[str, Any]


@pytest.fixture(scope="module")
def dumbbell() -> lh.Results:
    return lh.Scenario.load("dumbbell").run()


@pytest.fixture(scope="module")
def lte() -> lh.Results:
    return lh.Scenario.load("lte-bufferbloat").with_(duration="5 s").run()


@pytest.fixture(scope="module")
def wired() -> lh.Results:
    """A row of `tcp` for each ACK, packets recorded."""
    return lh.Scenario.parse(WIRED).run()


def value(text: str, run: lh.Results) -> float:
    outcome = Metric.parse("m", text).outcome(run)
    assert outcome.value is not None, outcome.reason
    return outcome.value


def no_value(text: str, run: lh.Results) -> str:
    outcome = Metric.parse("m", text).outcome(run)
    assert outcome.value is None
    assert outcome.reason
    assert Metric.parse("m", text).evaluate(run) is None
    return outcome.reason


def made(**tables: list[Row]) -> lh.Results:
    """A run of a few rows. Types and missing columns do not matter to metrics."""
    return lh.Results(Tables("{}", "{}", {name: pa.Table.from_pylist(rows) for name, rows in tables.items()}))


# Real runs, by hand


def rows(run: lh.Results, table: str, want: Callable[[Row], bool] = lambda _: True) -> list[Row]:
    found = [row for row in run.table(table).to_pylist() if want(row)]
    assert found
    return found


def test_a_column_of_a_flow(dumbbell: lh.Results) -> None:
    goodput = next(r["goodput_bps"] for r in dumbbell.flows.to_pylist() if r["flow"] == "download-2")
    assert value('flow("download-2").goodput_bps', dumbbell) == goodput
    assert value("flow('download-2').goodput_bps in Mbit/s", dumbbell) == pytest.approx(goodput / 1e6, rel=1e-15)


def test_statistics_of_a_column_within_a_window(dumbbell: lh.Results) -> None:
    rtts = [
        r["rtt_us"] for r in rows(dumbbell, "tcp", lambda r: r["flow"] == "download-1" and 10.0 <= r["time_s"] < 25.0)
    ]
    assert len(rtts) == 150
    of = 'tcp("download-1").rtt_us, 10 s .. 25 s'
    assert value(f"count({of})", dumbbell) == 150
    assert value(f"min({of})", dumbbell) == min(rtts)
    assert value(f"max({of})", dumbbell) == max(rtts)
    assert value(f"sum({of})", dumbbell) == pytest.approx(math.fsum(rtts), rel=1e-14)
    assert value(f"mean({of})", dumbbell) == pytest.approx(math.fsum(rtts) / 150, rel=1e-14)
    assert value(f"median({of})", dumbbell) == statistics.median(rtts)
    assert value(f"std({of})", dumbbell) == pytest.approx(statistics.stdev(rtts), rel=1e-12)
    # Definition 7: position (n - 1) p from the smallest; 149 * 0.95 = 141.55.
    ordered = sorted(rtts)
    assert value(f"p95({of})", dumbbell) == pytest.approx(ordered[141] + 0.55 * (ordered[142] - ordered[141]))
    assert value('percentile(tcp("download-1").rtt_us, 95, 10 s .. 25 s)', dumbbell) == value(f"p95({of})", dumbbell)


def test_a_percentile_is_one_of_statistics_inclusive_quantiles(dumbbell: lh.Results) -> None:
    rtts = [r["rtt_us"] for r in rows(dumbbell, "tcp")]
    cuts = statistics.quantiles(rtts, n=100, method="inclusive")
    for place in (1, 50, 95, 99):
        assert value(f"p{place}(tcp.rtt_us)", dumbbell) == pytest.approx(cuts[place - 1], rel=1e-12)
    assert value("p0(tcp.rtt_us)", dumbbell) == min(rtts)
    assert value("percentile(tcp.rtt_us, 100)", dumbbell) == max(rtts)
    thousandths = statistics.quantiles(rtts, n=1000, method="inclusive")
    assert value("percentile(tcp.rtt_us, 99.9)", dumbbell) == pytest.approx(thousandths[998], rel=1e-12)


def test_fairness_of_flows(dumbbell: lh.Results) -> None:
    x = [r["goodput_bps"] for r in rows(dumbbell, "flows")]
    assert len(x) == 3
    assert value("jain(flows.goodput_bps)", dumbbell) == pytest.approx(sum(x) ** 2 / (3 * sum(v * v for v in x)))


def test_events_are_counted_and_found(dumbbell: lh.Results) -> None:
    timeouts = rows(dumbbell, "events", lambda r: r["kind"] == "rto")
    assert value('count(events(kind = "rto"))', dumbbell) == len(timeouts)
    assert value('first(events(kind = "rto")).time_s', dumbbell) == timeouts[0]["time_s"]
    entered = rows(dumbbell, "events", lambda r: r["kind"] == "recovery-enter" and r["source"] == "flow/download-2")
    text = 'events("flow/download-2", kind = "recovery-enter")'
    assert value(f"last({text}).time_s in ms", dumbbell) == pytest.approx(entered[-1]["time_s"] * 1e3)
    late = [r for r in entered if r["time_s"] >= 20]
    assert value(f"count({text}, 20 s ..)", dumbbell) == len(late)
    assert value(f"first({text}, 20 s .. 30 s).time_s", dumbbell) == late[0]["time_s"]
    kinds = ("fast-retransmit", "recovery-enter", "recovery-exit")
    many = rows(dumbbell, "events", lambda r: r["kind"] in kinds)
    assert value('count(events(kind = "*re*") )', dumbbell) == len(
        [r for r in dumbbell.events.to_pylist() if "re" in r["kind"]]
    )
    either = " or ".join(f'kind = "{kind}"' for kind in kinds)
    assert value(f"count(events({either}))", dumbbell) == len(many)


def test_drops_are_chosen_by_conditions(wired: lh.Results) -> None:
    again = rows(wired, "drops", lambda r: r["retransmission"] and r["size"] > 1000)
    assert value("count(drops(retransmission, size > 1000))", wired) == len(again)
    lost = rows(wired, "drops", lambda r: r["cause"] == "loss")
    assert value('count(drops("ftp", cause = "loss"))', wired) == len(lost)
    first = rows(wired, "drops", lambda r: r["retransmission"] is False and r["cause"] != "loss")
    assert value('count(drops(not retransmission and cause != "loss"))', wired) == len(first)


def test_shares_of_rows(lte: lh.Results) -> None:
    tries = [(r["errors"], r["blocks"] + r["retransmissions"]) for r in rows(lte, "radio")]
    above = [e / n > 0.1 for e, n in tries if n]
    text = "share(radio.errors / (radio.blocks + radio.retransmissions) > 0.1)"
    assert value(text, lte) == pytest.approx(sum(above) / len(above))
    assert 0 < value(text, lte) < 1
    assert value(f"{text} in %", lte) == pytest.approx(100 * sum(above) / len(above))
    blocks = [(r["mcs"], r["blocks"]) for r in rows(lte, "radio") if r["mcs"] is not None]
    mean = sum(m * n for m, n in blocks) / sum(n for _, n in blocks)
    assert value("sum(radio.mcs * radio.blocks) / sum(radio.blocks)", lte) == pytest.approx(mean)


def test_a_window_of_intervals_takes_those_that_end_in_it(lte: lh.Results) -> None:
    within = [r["bytes"] for r in rows(lte, "radio", lambda r: 2.0 < r["time_s"] <= 4.0)]
    assert value("sum(radio.bytes, 2 s .. 4 s)", lte) == sum(within)
    halves = value("sum(radio.bytes, .. 2 s)", lte) + value("sum(radio.bytes, 2 s .. 5 s)", lte)
    assert halves == value("sum(radio.bytes)", lte)


def held(samples: list[tuple[float, float]], start: float, end: float) -> list[tuple[float, float]]:
    """Values of one series with the time that each is in force within [start, end)."""
    following = [*(t for t, _ in samples[1:]), math.inf]
    return [
        (v, min(end, until) - max(start, t))
        for (t, v), until in zip(samples, following, strict=True)
        if min(end, until) > max(start, t)
    ]


@pytest.mark.parametrize(("start", "end", "window"), [(0, 5, ""), (1, 4, ", 1 s .. 4 s"), (2.5, 5, ", 2500 ms ..")])
def test_means_over_time_of_a_row_for_each_ack(wired: lh.Results, start: float, end: float, window: str) -> None:
    samples = [(r["time_s"], r["snd_cwnd"]) for r in rows(wired, "tcp")]
    parts = held(samples, start, end)
    total = math.fsum(t for _, t in parts)
    mean = math.fsum(v * t for v, t in parts) / total
    assert value(f"time_mean(tcp.snd_cwnd{window})", wired) == pytest.approx(mean, rel=1e-12)
    share = math.fsum(t for v, t in parts if v > 15) / total
    assert 0 < share < 1
    assert value(f"time_share(tcp.snd_cwnd > 15{window})", wired) == pytest.approx(share, rel=1e-12)
    assert value("time_mean(tcp.snd_cwnd)", wired) != pytest.approx(value("mean(tcp.snd_cwnd)", wired), rel=1e-3)


def test_the_mean_over_time_is_the_monitors(wired: lh.Results) -> None:
    """The flow monitor weighs the window by time from its own observations at every ACK."""
    assert value("time_mean(tcp.snd_cwnd)", wired) == pytest.approx(value('flow("ftp").cwnd_mean', wired), rel=0.02)


def test_increases_of_a_counter(dumbbell: lh.Results) -> None:
    def acked(flow: str, moment: float) -> int:
        before = [r for r in rows(dumbbell, "tcp") if r["flow"] == flow and r["time_s"] <= moment]
        return before[-1]["bytes_acked"] if before else 0

    flows = ("download-1", "download-2", "download-3")
    each = [acked(flow, 30) - acked(flow, 10) for flow in flows]
    text = 'tcp("{}").bytes_acked, 10 s .. 30 s'
    for flow, increase in zip(flows, each, strict=True):
        assert value(f"increase({text.format(flow)})", dumbbell) == increase
    assert value(f"increase({text.format('*')})", dumbbell) == sum(each)
    assert value(f"rate({text.format('*')}) in Mbit/s", dumbbell) == pytest.approx(sum(each) * 8 / 20 / 1e6)
    assert value('rate(tcp("download-1").bytes_acked)', dumbbell) == pytest.approx(acked("download-1", 30) / 30)
    # No sample of the second flow before it starts.
    assert value('increase(tcp("download-2").bytes_acked, 1 s .. 5 s)', dumbbell) == acked("download-2", 5)
    last = 'last(tcp("download-1"), .. 10 s).bytes_acked'
    assert value(last, dumbbell) == acked("download-1", 9.95)


def test_packets_are_counted_as_the_monitor_counts_them(wired: lh.Results) -> None:
    text = 'count(packets("ftp", node = "server", event = "sent")) - flow("ftp").tx_packets'
    assert value(text, wired) == 0


# On paper


def queue(*samples: tuple[float, int], name: str = "l.forward") -> list[Row]:
    return [{"time_s": t, "queue": name, "bytes": n} for t, n in samples]


RUN = made(
    flows=[
        {"flow": "a", "end_s": 10.0, "goodput_bps": 1e6, "timeouts": 0, "completion_s": None, "app_bytes": 250_000},
        {"flow": "b", "end_s": 10.0, "goodput_bps": 3e6, "timeouts": 2, "completion_s": 4.0, "app_bytes": 750_000},
    ],
    # In force: 100 from 1 s to 3 s, 400 to 4 s, 0 to the end at 10 s; of the other queue 50 from 0
    # s on.
    queues=[*queue((1.0, 100), (3.0, 400), (4.0, 0)), *queue((0.0, 50), name="l.reverse")],
    tcp=[
        {"time_s": t, "flow": "a", "rtt_us": rtt, "ca_state": state, "bytes_acked": n}
        for t, rtt, state, n in [
            (1.0, 10_000.0, "open", 100),
            (2.0, None, "loss", 150),
            (3.0, 30_000.0, None, 400),
            (4.0, 50_000.0, "loss", 1000),
        ]
    ],
    events=[{"time_s": 0.0, "source": "flow/a", "kind": "flow-start"}],
    drops=[{"time_s": 2.0, "flow": "a", "cause": "aqm", "size": 0, "retransmission": None}],
    radio=[
        {"time_s": t, "ue": "u", "errors": e, "blocks": n, "sinr_db": s}
        for t, e, n, s in [(1.0, 1, 4, 10.0), (2.0, 0, 0, None), (3.0, 4, 4, 20.0)]
    ],
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("jain(flows.goodput_bps)", 16 / (2 * 10)),  # (1 + 3)^2 / (2 (1 + 9))
        ('flow("b").goodput_bps / flow("a").goodput_bps', 3),
        ('flow("a").app_bytes / flow("a").goodput_bps', 2),  # 250 kB = 2 Mbit at 1 Mbit/s
        ('flow("a").goodput_bps * 1 s in kB', 125),
        ('flow("b").completion_s + 500 ms', 4.5),
        ('500 ms + flow("b").completion_s', 4500),
        ('flow("b").completion_s + 1', 5),
        ('1 - flow("b").timeouts * 3', -5),
        ('-(flow("b").timeouts - 5)', 3),
        ('12 / flow("b").timeouts / 3', 2),
        ('12 - flow("b").timeouts - 3', 7),
        ("count(flows.completion_s)", 1),
        ("count(flows(timeouts > 0))", 1),
        ("count(flows(timeouts > 0, app_bytes < 1 kB))", 0),
        ("count(flows(app_bytes = 0.75 MB))", 1),
        ("mean(flows.completion_s)", 4),
        ("min(flows.goodput_bps) / max(flows.goodput_bps) in %", 100 / 3),
        ("max(flows.goodput_bps / 1 Mbit/s)", 3),
        ("max(flows.goodput_bps - flows.app_bytes / 2 s)", 0),  # 250 kB and 750 kB in 2 s are 1 and 3 Mbit/s
        ("min(flows.app_bytes / 2 s - flows.goodput_bps)", 0),
        ("std(flows.goodput_bps)", math.sqrt(2) * 1e6),  # two values: |a - b| / sqrt 2
        # 100 * 2 + 400 * 1 + 0 * 6 over 9 s from the first sample on.
        ('time_mean(queues("l.forward").bytes)', 600 / 9),
        ('time_mean(queues("l.forward").bytes, 2 s .. 4 s)', 250),
        ('time_mean(queues("l.forward").bytes, 5 s .. 6 s)', 0),
        ('time_mean(queues("l.forward", bytes > 0).bytes)', 600 / 3),
        ('time_share(queues("l.forward").bytes >= 100, .. 5 s)', 3 / 4),
        ("time_mean(queues.bytes)", (600 + 500) / 19),
        # 50 before 1 s of the second queue alone.
        ("time_mean(queues.bytes, .. 1 s)", 50),
        ("increase(tcp.bytes_acked, 1 s .. 3 s)", 300),
        ("increase(tcp.bytes_acked, 1500 ms .. 3500 ms)", 300),
        ("increase(tcp.bytes_acked, .. 2 s)", 150),
        ("rate(tcp.bytes_acked, 2 s .. 4 s)", 425),
        ("rate(tcp.bytes_acked) in bit/s", 800),
        # A row without a value is neither in the one part nor in the other.
        ("mean(tcp.rtt_us) in ms", 30),
        ("share(tcp.rtt_us > 20 ms)", 2 / 3),
        ("share(tcp.rtt_us > 20000)", 2 / 3),
        ("share(not tcp.rtt_us > 20 ms)", 1 / 3),
        ("count(tcp.rtt_us)", 3),
        ("count(tcp.ca_state)", 3),
        ("count(tcp)", 4),
        ('share(tcp.ca_state = "loss")', 2 / 3),
        ('share(tcp.ca_state != "loss")', 1 / 3),
        # Kleene: unknown or true is true, unknown and false is false; at 2 s and 3 s one side is
        # unknown.
        ('count(tcp.rtt_us > 20 ms or tcp.ca_state = "loss")', 3),
        ('share(tcp.rtt_us > 20 ms or tcp.ca_state = "loss")', 3 / 4),
        ('share(tcp.rtt_us > 20 ms and tcp.ca_state = "loss")', 1 / 2),
        ('mean(tcp("a", ca_state = "loss").rtt_us)', 50_000),
        ("count(tcp, 2 s .. 4 s)", 2),
        ("first(tcp, 2 s ..).bytes_acked", 150),
        ("last(tcp, .. 4 s).rtt_us", 30_000),
        # (1/4 + 4/4) / 2: the row without blocks has no rate.
        ("mean(radio.errors / radio.blocks)", 0.625),
        ("share(radio.errors / radio.blocks > 0.5)", 0.5),
        ("count(radio, 1 s .. 3 s)", 2),
        ("sum(radio.sinr_db * radio.blocks) / sum(radio.blocks)", 15),
        ("share(radio.sinr_db > 15 dB)", 0.5),
        ('count(events(kind = "rto"))', 0),
        ('count(drops("b"))', 0),
        ("count(drops(retransmission))", 0),
        ("count(drops(not retransmission))", 0),
    ],
)
def test_values_done_on_paper(text: str, expected: float) -> None:
    assert value(text, RUN) == pytest.approx(expected, rel=1e-14, abs=1e-12)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('flow("c").goodput_bps', "this run has no flow 'c', it has: a, b"),
        ('flow("bb").goodput_bps', "no flow 'bb', it has: a, b; did you mean 'b'?"),
        ('count(drops("c"))', "this run has no flow 'c'"),
        ('count(drops(flow = "c"))', "this run has no flow 'c'"),
        ('mean(tcp("b").rtt_us)', 'no row of tcp("b"); it has these of tcp.flow: a'),
        ('mean(queues("l").bytes)', "l.forward, l.reverse; did you mean 'l.forward'?"),
        ('mean(queues("x*").bytes)', 'no row of queues("x*"); it has these of queues.queue: l.forward, l.reverse'),
        ('flow("a").completion_s', 'flow("a").completion_s is empty in this run'),
        ('1 / flow("a").timeouts', 'the divisor flow("a").timeouts is 0'),
        ("mean(tcp.rtt_us, 9 s .. 10 s)", "no row of tcp within 9 s .. 10 s"),
        ("mean(tcp.rtt_us, 2 s .. 3 s)", "no row has a value"),
        ("mean(tcp.rtt_us, 2 s .. 11 s)", "the run ends at 10 s, the window reaches to 11 s"),
        ("count(tcp, 10 s ..)", "the run ends at 10 s, the window reaches to 10 s"),
        ("std(flows.completion_s)", "1 value, 2 are needed"),
        ("jain(flows.timeouts * 0)", "every value is 0"),
        ('time_mean(queues("l.forward").bytes, .. 1 s)', "no value held for any time"),
        ("increase(tcp.bytes_acked, .. 500 ms)", "no value before the end of the window"),
        ('first(events(kind = "rto")).time_s', 'no row of events(kind = "rto")'),
        ("count(steps)", "`output.steps = true` makes a run record it"),
        ("mean(rlc.queue_bytes)", "this run has no table 'rlc', it has: flows, queues, tcp, events, drops, radio"),
        ("mean(tcp.snd_cwnd)", "the table 'tcp' of this run has no column 'snd_cwnd'"),
        ('flow("b").goodput_bps * 1e308 * 1e308', "too large"),
    ],
)
def test_what_a_run_does_not_have_is_empty_with_a_reason(text: str, reason: str) -> None:
    assert reason in no_value(text, RUN)


def test_a_run_whose_column_is_of_texts_is_not_read_as_numbers() -> None:
    run = made(tcp=[{"time_s": 1.0, "flow": "a", "rtt_us": "fast"}])
    assert "does not hold numbers" in no_value("mean(tcp.rtt_us)", run)


def test_a_run_of_no_rows_has_no_value() -> None:
    no_names = pa.chunked_array([], pa.dictionary(pa.int32(), pa.string()))
    table = pa.table({"time_s": pa.array([], pa.float64()), "queue": no_names})
    run = lh.Results(Tables("{}", "{}", {"queues": table}))
    assert value("count(queues)", run) == 0
    assert 'no row of queues("x"); it has these of queues.queue: none' in no_value('first(queues("x")).time_s', run)


def test_several_metrics_read_a_table_once() -> None:
    class Counting:
        """The tables of a run, and how often each was asked for."""

        manifest = summary = "{}"

        def __init__(self) -> None:
            self.asked: list[str] = []

        def table_names(self) -> list[str]:
            return RUN.table_names

        def table(self, name: str) -> pa.Table:
            self.asked.append(name)
            return RUN.table(name)

    source = Counting()
    metrics = [
        Metric.parse("fair", "jain(flows.goodput_bps)"),
        Metric.parse("worst", "min(flows.goodput_bps)"),
        Metric.parse("mcs", "mean(mac.ttis)"),
    ]
    found = evaluate_all(metrics, lh.Results(source))
    assert found["fair"] == Outcome(0.8)
    assert found["worst"] == Outcome(1e6)
    assert found["mcs"].value is None
    assert source.asked == ["flows"]


def test_results_of_a_folder_give_the_same_values(wired: lh.Results, tmp_path: Path) -> None:
    written = lh.Scenario.parse(WIRED).run(out=tmp_path / "run")
    for text in ("p95(tcp.rtt_us)", 'count(packets("ftp"))', "time_mean(queues.bytes)", "jain(flows.goodput_bps)"):
        assert value(text, lh.Results.load(written.path or "")) == value(text, wired)


# What the registry says is what runs have


def test_columns_have_the_units_of_the_registry(dumbbell: lh.Results, lte: lh.Results, wired: lh.Results) -> None:
    for run in (dumbbell, lte, wired):
        for name in run.table_names:
            for field in run.table(name).schema:
                unit = field.metadata[b"unit"].decode()
                assert str(_catalogue.tables()[name].columns[field.name].unit) == (unit or "1"), (name, field.name)


def test_texts_of_runs_are_listed(dumbbell: lh.Results, lte: lh.Results, wired: lh.Results) -> None:
    handover = lh.Scenario.load("lte-handover").run()
    for run in (dumbbell, lte, wired, handover):
        for name in run.table_names:
            for column in _catalogue.tables()[name].columns:
                known = _catalogue.texts_of(name, column)
                if known is not None:
                    found = set(run.table(name)[column].to_pylist()) - {None}
                    assert found <= set(known), (name, column)


def test_samples_of_a_series_have_different_times(dumbbell: lh.Results, lte: lh.Results, wired: lh.Results) -> None:
    for run in (dumbbell, lte, wired):
        for name in run.table_names:
            identity = _catalogue.tables()[name].identity
            if identity:
                found = [(r["time_s"], *(r[c] for c in identity)) for r in run.table(name).to_pylist()]
                assert len(set(found)) == len(found), name


# The guide


def examples(after: str) -> list[tuple[str, str]]:
    part = GUIDE.split(after)[1].split("\n\n")
    table = next(block for block in part if block.startswith("|"))
    return re.findall(r"^\| `(.+)` \| `(.+)` \|$", table, re.MULTILINE)


def test_the_guides_examples_have_values(dumbbell: lh.Results, lte: lh.Results) -> None:
    cases = [("Each gives a value", dumbbell), ("In a scenario with an LTE cell", lte)]
    for after, run in cases:
        found = examples(after)
        assert len(found) >= 2
        for text, unit in found:
            metric = Metric.parse("m", text)
            assert metric.unit == unit, text
            value(text, run)


def test_the_guide_has_every_function_and_unit() -> None:
    table = GUIDE.split("## Functions")[1].split("\n\n")[1]
    named = set(re.findall(r"`(\w+)[`(]", "".join(line.split("|")[1] for line in table.splitlines()[2:])))
    assert named == {*_catalogue.FUNCTIONS, "p95"}


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_every_function_of_every_column_has_an_outcome(data: st.DataObject) -> None:
    """A metric that parses never raises, whatever the run has or lacks; a value is finite."""
    table = data.draw(st.sampled_from(sorted(_catalogue.tables())))
    facts = _catalogue.tables()[table]
    column = data.draw(st.sampled_from(sorted(facts.columns)))
    key = data.draw(st.sampled_from(["", '("a")', '("*")', '("l.*")', '("c", time_s > 2)', "(time_s < 3 s)"]))
    window = data.draw(st.sampled_from(["", ", 1 s .. 3 s", ", 2 s ..", ", .. 500 ms", ", 8 s .. 20 s"]))
    function = data.draw(st.sampled_from(sorted(_catalogue.FUNCTIONS)))
    shape = data.draw(st.sampled_from(["{c}", "{c} > 0", '{c} = "a"', "{c} / {c}", "-{c} * 2", "{r}", "not {c}"]))
    r = f"{table}{key}"
    more = ", 30" if function == "percentile" else ""
    text = f"{function}({shape.format(c=f'{r}.{column}', r=r)}{more}{window})"
    if function in ("first", "last"):
        text += f".{column}"
    try:
        metric = Metric.parse("m", text)
    except lh.LasthopError:
        return
    outcome = metric.outcome(RUN)
    assert (outcome.value is None) == (outcome.reason is not None)
    assert outcome.value is None or math.isfinite(outcome.value)
    json.dumps(outcome.value, allow_nan=False)
