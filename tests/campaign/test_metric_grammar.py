"""The language of metrics: what it takes, what it refuses and where.

And that nothing else comes out.
"""

from __future__ import annotations

import pickle
import re
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lasthop as lh
from lasthop.campaign.metrics import Metric, MetricError, Outcome, _catalogue, _parser, _units
from lasthop.campaign.metrics._syntax import (
    COMPARISONS,
    Binary,
    Call,
    Column,
    In,
    Name,
    Node,
    Number,
    Rows,
    Text,
    Unary,
    Window,
)

ROOT = Path(__file__).resolve().parents[2]


def refused(text: str) -> MetricError:
    with pytest.raises(MetricError) as raised:
        Metric.parse("m", text)
    return raised.value


# Mistakes


@pytest.mark.parametrize(
    ("text", "column", "what", "remedy"),
    [
        ('flow("ftp").goodput', 13, "the table 'flows' has no column 'goodput'", "did you mean 'goodput_bps'?"),
        ('mean(tcp("ftp").srtt_us)', 17, "no column 'srtt_us'", "did you mean 'rtt_us'?"),
        ('flws("ftp").goodput_bps', 1, "no function or table 'flws'", "did you mean 'flows'?"),
        ("avg(tcp.rtt_us)", 1, "no function or table 'avg'", "did you mean 'mean'?"),
        ("meen(tcp.rtt_us)", 1, "no function or table 'meen'", "did you mean 'mean'?"),
        ("mean(rtt_us)", 6, "no table 'rtt_us'", "it is a column: tcp.rtt_us"),
        ("tcp(rtt > 0)", 5, "the table 'tcp' has no column 'rtt'", "did you mean 'rtt_us'?"),
        ('count(events(kind = "timeout"))', 21, 'events.kind is never "timeout"', "did you mean 'rto'?"),
        ('count(drops(cause = "que-full"))', 21, 'drops.cause is never "que-full"', "did you mean 'queue-full'?"),
        ('count(tcp(ca_state = "lost"))', 22, "tcp.ca_state is never", "did you mean 'loss'?"),
        ("mean(queues.bytes", 18, "expected ',' or ')', found the end", "write ')'"),
        ("mean(queues.bytes tcp)", 19, "expected ',' or ')', found 'tcp'", "write ','"),
        ("mean queues.bytes", 6, "expected '(' after the function 'mean'", "write '('"),
        ("sum(queues.bytes) +", 20, "expected a number, a table or a function, found the end", "flow("),
        ("sum(queues.bytes) 5", 19, "expected an operator or the end, found '5'", "operators are"),
        ("", 1, "the metric is empty", "flow("),
        ("5 + 3", 1, "names no table", "name a table"),
        ("queues.bytes", 1, "one number, this is a column of numbers", "mean(...)"),
        ("flows.goodput_bps", 1, "one number, this is a column of numbers", 'flow("NAME").COLUMN'),
        ("events", 1, "this is rows of a table", "count(...)"),
        ('flow("ftp")', 1, "this is a row of a table", "goodput_bps"),
        ('flow("ftp").cc', 1, "this is a text", "count(flows("),
        ("tcp.rtt_us > 50 ms", 1, "this is a condition", "share(...)"),
        ('mean(flow("ftp").goodput_bps)', 6, "this is one number", "leave out mean()"),
        ("mean(events)", 6, "mean() takes a column of numbers, this is rows", "as in mean("),
        ("share(tcp.rtt_us)", 7, "share() takes a condition", "as in share("),
        ("first(tcp.rtt_us)", 7, "first() takes rows", "as in first("),
        ("first(flows).goodput_bps", 7, "have no time: none is the first", "count(...)"),
        ("mean(tcp.rtt_us, tcp.rto_us)", 1, "takes one argument and a window, here are 2", "as in mean("),
        ("mean()", 1, "takes one argument and a window, here are 0", "as in mean("),
        ("percentile(tcp.rtt_us)", 1, "takes values and the percentage", "99.9"),
        ("percentile(tcp.rtt_us, 101)", 24, "from 0 to 100", "99.9"),
        ("p101(tcp.rtt_us)", 1, "no function or table 'p101'", "functions:"),
        ("queues.bytes + tcp.rtt_us", 14, "row by row, but one side has the rows queues", "make one number"),
        ("mean(tcp.rtt_us) + sum(queues.bytes)", 18, "a value in B cannot be added to one in us", "measure the same"),
        ("sum(flows.app_bytes) in s", 22, "a value in B has no value in s", "Mbit/s"),
        ("sum(flows.app_bytes) in Mbits", 25, "'Mbits' is no unit", "did you mean 'Mbit'?"),
        ("share(tcp.rtt_us > 5 parsec)", 22, "'parsec' is no unit", "units are"),
        ("share(measurements.rsrp_dbm > 3 dB)", 29, "a value in dBm cannot be compared with one in dB", "same"),
        ("max(measurements.rsrp_dbm + measurements.rsrp_dbm)", 27, "cannot be added", "same"),
        ("mean(queues.bytes, 10 .. 20)", 20, "a time with its unit", "10 s .. 60 s"),
        ("mean(queues.bytes, 10 B ..)", 20, "a time with its unit", "10 s .. 60 s"),
        ("mean(queues.bytes, ..)", 20, "one end at least", "10 s .. 60 s"),
        ("mean(queues.bytes, 9 s .. 2 s)", 20, "ends before it begins", "the earlier time stands first"),
        ("mean(flows.goodput_bps, 1 s ..)", 25, "have no time, so no window", "queues"),
        ("mean(queues(10 s .. 20 s).bytes)", 13, "a window belongs into a function", "10 s .. 60 s"),
        ("time_mean(radio.mcs)", 11, "'radio' holds no samples", "queues"),
        ("share(1 < tcp.rtt_us < 5)", 22, "expected ',' or ')', found '<'", "write ','"),
        ("share(tcp.rtt_us == 5)", 18, "'==' is written '='", "one '='"),
        ("share(tcp.rtt_us && 5)", 18, "'&' means nothing", "'and'"),
        ('share("open" = tcp.ca_state)', 7, "the text stands on the right", 'tcp.ca_state = "open"'),
        ('share(tcp.ca_state < "open")', 20, "texts have no order", "= and !="),
        ('share(tcp.rtt_us = "open")', 7, "a text is compared with a column of numbers", "numbers"),
        ("share(tcp.ca_state = 3)", 7, "a number is needed here, this is a column of texts", "compare it"),
        ('share(flow("ftp").cc = "reno")', 7, "the text of one row", "choose rows by it"),
        ('share(flow("ftp").timeouts > 3)', 7, "compares two numbers", "compare a column"),
        ("flow.goodput_bps", 1, "'flow' is one row", 'flow("NAME")'),
        ('flow("f*").goodput_bps', 1, "'flow' is one row", 'flows("a*")'),
        ('tcp(rtt_us > 0, "ftp")', 17, "a name stands first and alone", 'tcp("NAME", CONDITION)'),
        ("tcp(mean(tcp.rtt_us) > 0)", 5, "conditions on its columns, no function", "as in tcp(time_s > 0)"),
        ('flow("ftp).goodput_bps', 6, "without its closing quote", "close it"),
        ("sum(queues.bytes) * .5", 21, "a number begins with a digit", "0.5"),
        ("sum(queues.bytes) * 1e999", 21, "the number is too large", "1.7e308"),
        ("mean(queues.bytes, 1e308 h ..)", 20, "the number is too large", "1.7e308"),
        ("sum(queues.bytes) ^ 2", 19, "the character '^' has no meaning", "remove it"),
        # Nothing of Python.
        ('__import__("os").system("x")', 1, "no function or table '__import__'", "functions:"),
        ('flow("ftp").__class__', 13, "no column '__class__'", "it has: flow"),
        ('flow("ftp").goodput_bps.real', 24, "only rows have columns", "first(...)"),
        ("(lambda)()", 2, "no table 'lambda'", "tables:"),
        ("[1][0]", 1, "the character '[' has no meaning", "remove it"),
        # Surveys' tables are no run's.
        ("mean(geometry.sinr_db)", 6, "no table 'geometry'", "tables:"),
    ],
)
def test_a_mistake_is_told_with_its_place_and_a_remedy(text: str, column: int, what: str, remedy: str) -> None:
    error = refused(text)
    assert what in error.what
    assert remedy in error.help
    assert (error.metric, error.column) == ("m", column)
    lines = str(error).splitlines()
    assert lines[0] == f"error: metric 'm', column {column}: {error.what}"
    assert lines[-1] == f"  help: {error.help}"
    if text:
        assert lines[1] == f"  {text}"
        assert lines[2].index("^") == 2 + column - 1
    assert error.diagnostics[0]["key"] == "metrics.m"


def test_a_mistake_in_a_long_text_is_shown_in_its_surroundings() -> None:
    text = "sum(queues.bytes) + " * 8 + "sum(queues.byte)"
    lines = str(refused(text)).splitlines()
    assert len(lines[1]) < 150
    at = lines[2].index("^")
    assert lines[1][at:] == "byte)"


@pytest.mark.parametrize("name", ["", "9x", "a-b", "a b", "ä", 'x"'])
def test_a_name_that_no_column_can_have_is_refused(name: str) -> None:
    with pytest.raises(MetricError, match="no name of a metric"):
        Metric.parse(name, "count(events)")


def test_a_metric_that_is_no_text_is_refused() -> None:
    with pytest.raises(MetricError, match="a text, not int"):
        Metric.parse("m", 3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text", ["(" * 5000, "-" * 5000 + "1", "not " * 5000, "1+" * 5000 + "1", "min(" * 5000, "9" * 9999]
)
def test_no_text_is_too_deep(text: str) -> None:
    refused(text)
    refused(f"count({text}")


# What holds whatever the run


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ('flow("ftp").goodput_bps', "bit/s"),
        ('flow("ftp").goodput_bps in Mbps', "Mbit/s"),
        ('flow("ftp").app_bytes / flow("ftp").goodput_bps', "s"),
        ('flow("ftp").goodput_bps * flow("ftp").rtt_mean_s in kB', "kB"),
        ("sum(queues.bytes) / 2 s", "B/s"),
        ("sum(queues.bytes) * 2 s", "B*s"),
        ("count(events) / 2 s", "1/s"),
        ("sum(tcp.rtt_us) * 1 s", "us^2"),
        ("mean(tcp.rtt_us) in µs", "us"),
        ("2 * mean(tcp.rtt_us) - 3", "us"),
        ("3 - mean(tcp.rtt_us)", "us"),
        ("1 / mean(tcp.rtt_us)", "1/us"),
        ("max(measurements.rsrp_dbm) - min(measurements.rsrp_dbm)", "dB"),
        ("max(measurements.rsrp_dbm) + 3 dB", "dBm"),
        ("std(measurements.rsrp_dbm)", "dB"),
        ("rate(tcp.bytes_acked)", "B/s"),
        ("rate(tcp.rtt_us)", "1"),
        ("share(tcp.rtt_us > 0)", "1"),
        ("share(tcp.rtt_us > 0) in %", "%"),
        ("(share(tcp.rtt_us > 0) in %) * 2", "1"),
        ("jain(flows.goodput_bps)", "1"),
        ("sum(flows.retransmits)", "segments"),
        ("sum(flows.retransmits) / sum(flows.tx_packets)", "1"),
        ("count(drops) / sum(flows.tx_packets) in %", "%"),
        ("sum(flows.tx_packets) / 2 s", "packets/s"),
        ("2 s / sum(flows.tx_packets)", "s/packets"),
        ("sum(radio.sinr_db * radio.blocks) / sum(radio.blocks)", "dB"),
    ],
)
def test_units_come_from_the_columns(text: str, unit: str) -> None:
    assert Metric.parse("m", text).unit == unit


def test_a_metric_knows_its_tables() -> None:
    metric = Metric.parse("m", 'count(packets("ftp", event = "sent")) / flow("ftp").tx_packets')
    assert metric.tables == frozenset({"packets", "flows"})


def test_equal_metrics_differ_in_spaces_and_parentheses_only() -> None:
    one = Metric.parse("m", "p95( tcp . rtt_us )in  ms")
    other = Metric.parse("m", "((p95(tcp.rtt_us)) in ms)")
    assert one == other
    assert hash(one) == hash(other)
    assert one != Metric.parse("m", "p95(tcp.rtt_us) in s")
    assert one != Metric.parse("n", one.text)
    assert str(one) == str(other) == "p95(tcp.rtt_us) in ms"


def test_a_metric_pickles(made_up: lh.Results) -> None:
    metric = Metric.parse("m", "mean(queues.bytes)")
    again = pickle.loads(pickle.dumps(metric))
    assert again == metric
    assert again.evaluate(made_up) == metric.evaluate(made_up)
    error = pickle.loads(pickle.dumps(refused("mean(queues.byte)")))
    assert (error.column, error.what) == (13, "the table 'queues' has no column 'byte'")


# The text of a tree gives the tree again

_UNITS = st.sampled_from(["s", "ms", "us", "min", "B", "Mbit/s", "kB/h", "%", "dBm", "packets", "m"])
_NUMBERS = st.builds(
    Number, st.floats(0, allow_nan=False, allow_infinity=False) | st.integers(0, 10**6).map(float), st.none() | _UNITS
)
_TEXTS = st.builds(Text, st.text(st.characters(exclude_characters="\n"), max_size=8))


def _operators(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    return st.one_of(
        st.builds(Binary, st.sampled_from([*"+-*/", "and", "or", *COMPARISONS]), inner, inner),
        st.builds(Unary, st.sampled_from(["-", "not"]), inner),
        st.builds(In, inner, st.sampled_from(["s", "Mbit/s", "B/km", "%"])),
    )


@st.composite
def _rows(draw: st.DrawFn) -> Rows:
    word = draw(st.sampled_from(_catalogue.words()))
    names = st.builds(Name, st.sampled_from(sorted(_catalogue.table_of(word).columns)))
    conditions = st.recursive(names | _NUMBERS, _operators, max_leaves=4)
    return Rows(word, draw(st.none() | _TEXTS), tuple(draw(st.lists(conditions, max_size=2))))


_TIMES = st.builds(Number, st.floats(0, 1e6), st.sampled_from(sorted(_units.TIMES)))
_WINDOWS = st.one_of(st.builds(Window, _TIMES, _TIMES | st.none()), st.builds(Window, st.none(), _TIMES))
_FUNCTIONS = st.sampled_from([*_catalogue.FUNCTIONS, "p0", "p95", "p100"])


@st.composite
def _columns(draw: st.DrawFn) -> Column:
    rows = draw(_rows())
    end = st.builds(Call, st.sampled_from(["first", "last"]), st.just((rows,)), st.none() | _WINDOWS)
    return Column(draw(st.just(rows) | end), draw(st.sampled_from(sorted(_catalogue.table_of(rows.word).columns))))


def _with_calls(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    arguments = st.lists(inner, max_size=2).map(tuple)
    return _operators(inner) | st.builds(Call, _FUNCTIONS, arguments, st.none() | _WINDOWS)


_TREES = st.recursive(st.one_of(_NUMBERS, _TEXTS, _rows(), _columns()), _with_calls, max_leaves=8)


@settings(max_examples=300, deadline=None)
@given(_TREES)
def test_the_text_of_a_tree_parses_to_the_tree(tree: Node) -> None:
    assert _parser.parse(str(tree)) == tree


# Anything at all

# fmt: off
_WORDS = [
    *_catalogue.words(), *_catalogue.FUNCTIONS,
    "p95", "rtt_us", "bytes", "time_s", "goodput_bps", "kind", "flow", "ca_state", "and", "or", "not", "in",
    "s", "ms", "us", "B", "Mbit/s", "%", "dB", "x", "é", "'", '"', "\\", "(", ")", "(", ")", ".", ".", ",", "..",
    "=", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "0", "1", "10", "2.5", "1e9", "1e400", "0x1", "_",
    "__class__", "\n", "\x00", "\ud800", '"ftp"', '"*"', '"flow/ftp"', '"rto"', '"open"',
]
# fmt: on


@settings(max_examples=500, deadline=None)
@given(st.lists(st.sampled_from(_WORDS), max_size=25), st.sampled_from(["", " "]))
def test_random_tokens_give_a_metric_or_its_error(words: list[str], between: str) -> None:
    check_any(between.join(words))


@settings(deadline=None)
@given(st.text(max_size=40))
def test_random_text_gives_a_metric_or_its_error(text: str) -> None:
    check_any(text)


@settings(max_examples=300, deadline=None)
@given(_TREES)
def test_random_trees_give_a_metric_or_its_error(tree: Node) -> None:
    check_any(str(tree))


def check_any(text: str) -> None:
    error = None
    try:
        metric = Metric.parse("m", text)
    except MetricError as raised:
        error = raised
    if error is None:
        assert Metric.parse("m", str(metric)) == metric
        return
    assert 1 <= error.column <= len(text) + 1
    assert error.what
    assert error.help
    assert all(line.isprintable() for line in str(error).split("\n"))


# The lists that the registry does not have


@cache
def sources() -> str:
    return "".join(path.read_text(encoding="utf-8") for path in (ROOT / "crates").glob("*/src/**/*.rs"))


def test_every_listed_text_is_one_of_the_cores() -> None:
    source = sources()
    listed = [*_catalogue.EVENT_KINDS, *_catalogue.DROP_CAUSES]
    assert [text for text in listed if f'"{text}"' not in source] == []
    assert len(set(_catalogue.EVENT_KINDS)) == len(_catalogue.EVENT_KINDS)


#: The core's types whose names are kinds of events or causes of drops.
NAMED = ["Notice", "RlcEvent", "NetworkEvent", "MobilityEvent", "WlanEvent", "TcpEvent", "DropCause"]


@pytest.mark.parametrize("type_", NAMED)
def test_every_name_of_an_event_or_drop_is_listed(type_: str) -> None:
    names = set(re.findall(rf'\b{type_}::[^=\n]*=> \(?(?:\w+, )?"([a-z-]+)"', sources()))
    assert len(names) >= 2
    assert sorted(names - {*_catalogue.EVENT_KINDS, *_catalogue.DROP_CAUSES}) == []


def test_tables_of_samples_have_their_columns_and_a_name_for_their_rows() -> None:
    tables = _catalogue.tables()
    for name, facts in tables.items():
        assert facts.columns[facts.key].is_text
        assert all(facts.columns[c].is_text for c in facts.identity or ()), name
        assert not (facts.identity and facts.over_intervals)
    assert {name for name, facts in tables.items() if facts.over_intervals} == {"radio", "wifi"}
    assert {name for name, facts in tables.items() if facts.row_per_flow} == {"flows", "applications", "quality"}


def test_an_outcome_is_a_value_or_a_reason(made_up: lh.Results) -> None:
    assert Metric.parse("m", "count(events)").outcome(made_up).reason is None
    assert Metric.parse("m", "mean(radio.mcs)").outcome(made_up) == Outcome(
        None,
        "this run has no table 'radio', it has: flows, tcp, queues, rlc, mac, events, drops, packets",
    )
