"""The language of cases: what it means over a table that was written by hand.

And what it refuses, and where.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from lasthop import LasthopError
from lasthop.judging._checker import Checker
from lasthop.judging._dimensions import GIVES
from lasthop.judging._evaluation import Evaluation
from lasthop.judging._functions import FUNCTIONS, Names
from lasthop.judging._paths import derived
from lasthop.judging._recording import Moment, Recording, Unknown
from lasthop.judging._syntax import ExpressionError, parse
from lasthop.judging._words import quantity
from lasthop.judging.reading import parse_cases

#: Time, variable, value. One ACK at 1 s passes through Drain, Down and Cruise; at 2 s the sender
#: sends after the ACK.
ROWS: list[tuple[float, str, float | str | None]] = [
    (0.0, "round", 0), (0.0, "inflight", 10), (0.0, "delivered", 0), (0.0, "snd_una", 0),
    (0.0, "bbr.state", "Startup"), (0.0, "bbr.bw", None),
    (0.5, "round", 3), (0.5, "inflight", 40), (0.5, "delivered", 1000), (0.5, "bbr.state", "Drain"),
    (0.5, "bbr.bw", 8e6),
    (1.0, "inflight", 20), (1.0, "delivered", 5000), (1.0, "bbr.state", "ProbeBW_DOWN"),
    (1.0, "bbr.state", "ProbeBW_CRUISE"), (1.0, "bbr.bw", 4e6),
    (2.0, "round", 5), (2.0, "inflight", 8), (2.0, "delivered", 9000),
    (2.0, "inflight", 12),
    (3.0, "inflight", 6), (3.0, "delivered", 13000), (3.0, "bbr.state", "Drain"),
    (3.5, "bbr.state", "ProbeBW_UP"),
]  # fmt: skip
STATES = {"bbr.state": True}
NUMBERS = dict.fromkeys(("round", "inflight", "delivered", "snd_una", "bbr.bw", "cwnd"), False)


class FakeRun:
    """Results with the table `cc` alone."""

    table_names = ("cc",)

    def table(self, name: str) -> pa.Table:
        assert name == "cc"
        texts = [v if isinstance(v, str) else None for _, _, v in ROWS]
        values = [None if isinstance(v, str) else v for _, _, v in ROWS]
        kind = pa.dictionary(pa.int32(), pa.string())
        return pa.table(
            {
                "time_s": pa.array([t for t, _, _ in ROWS], pa.float64()),
                "flow": pa.array(["judged"] * len(ROWS)).dictionary_encode(),
                "variable": pa.array([v for _, v, _ in ROWS]).dictionary_encode(),
                "value": pa.array(values, pa.float64()),
                "text": pa.array(texts, kind),
            }
        )


def evaluated(text: str, **let: str) -> Any:
    names = Names({**STATES, **NUMBERS}, {k: parse(v) for k, v in let.items()}, frozenset({"rate"}))
    tree = parse(text)
    Checker(names).kind(tree)
    recording = Recording(FakeRun(), "judged", 4.0)  # type: ignore[arg-type]
    return Evaluation(recording, names, {"rate": 1e7, "ref": 9e6, "mss": 1448.0}).of(tree)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7),
        ("-2 ^ 2", -4),
        ("10 Mbit/s = {rate}", True),
        ("200 ms + 1 s", 1.2),
        ("2.5 in [2, 3] and not 3.5 in [2, 3]", True),
        ("1 < 2 <= 2 < 3", True),
        ("time(first(enter('bbr.state', 'Drain')))", 0.5),
        ("time(nth(enter('bbr.state', 'Drain'), 2))", 3.0),
        ("time(first(leave('bbr.state', 'Drain')))", 1.0),
        # Down lasts for no instant, and is an event all the same.
        ("count(enter('bbr.state', 'ProbeBW_DOWN'))", 1),
        ("count(enter('bbr.state', 'ProbeBW_CRUISE', 'ProbeBW_DOWN'))", 1),
        ("count(enter('bbr.state', 'ProbeBW_UP', 'ProbeBW_DOWN'))", 0),
        ("rounds(start, first(enter('bbr.state', 'Drain')))", 3),
        # At 2 s: 8 before the sender has sent, 12 after it.
        ("min(inflight, shift(start, 1 s), shift(start, 2.5 s))", 8),
        ("at(inflight, shift(start, 2 s))", 12),
        ("max(at_acks(inflight), shift(start, 1.5 s), shift(start, 2.5 s))", 8),
        ("all(inflight >= 20, first(enter('bbr.state', 'Drain')), first(leave('bbr.state', 'Drain')))", True),
        # 1000 at 0.5 s, by the first ACK; at 1 s 1500 were due, so the count begins anew with 4000;
        # at 2 s 8000 - 3000, at 3 s 12000 - 6000.
        ("at(excess(delivered, 3000), shift(start, 1 s))", 4000),
        ("max(excess(delivered, 3000), start, end)", 6000),
        ("max(excess(delivered, 4000), start, end)", 4000),
        # The rate is that before the ACK: unknown at 0.5 s, 1e6 octets a second from then on.
        ("max(excess(delivered, bbr.bw / 8), start, end)", 4000),
        ("any(inflight < 8, start, end)", True),
        ("before(inflight, first(leave('bbr.state', 'Drain')))", 40),
        # 10 for 0.5 s, 40 for 0.5 s, 20 for 1 s, 12 for 1 s, 6 for 1 s.
        ("mean(inflight, start, end)", (5 + 20 + 20 + 12 + 6) / 4),
        ("quantile(inflight, 0.5, start, end)", 12),
        ("share(inflight > 15, start, end)", 1.5 / 4),
        ("share(bbr.state = 'Drain', start, end)", 1 / 4),
        ("goodput(start, shift(start, 2 s))", 9000 * 8 / 2),
        ("rate(delivered, shift(start, 1 s), shift(start, 3 s))", 4000),
        # Rounds 3, 2, 0, 0 and octets 5000, 4000, 4000, 0 by second.
        ("largest(delivered, 1 s, start, end)", 5000),
        ("largest_share(round * 1000, delivered, 1 s, start, end)", 3000 / 8000),
        ("count(changes(round))", 2),
        ("time(first(rises(inflight > 30)))", 0.5),
        ("ratio(max(3, 4), 2)", 2),
        ("exists(first(enter('bbr.state', 'ProbeRTT')))", False),
        # What is not known decides nothing that the other side decides.
        ("at(bbr.bw, start) > 1 or 1 < 2", True),
        ("at(bbr.bw, start) > 1 and 2 < 1", False),
    ],
)
def test_an_expression_over_rows_that_were_written_by_hand(text: str, value: Any) -> None:
    found = evaluated(text)
    assert found == pytest.approx(value) if not isinstance(value, bool) else found is value


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("first(enter('bbr.state', 'ProbeRTT'))", "never becomes 'ProbeRTT'; it had: Startup, Drain"),
        ("at(bbr.bw, start)", "bbr.bw is not known at 0 s"),
        ("nth(enter('bbr.state', 'Drain'), 3)", "there are 2 such events, not 3"),
        ("all(inflight > 1, end, start)", "is empty"),
        ("all(bbr.bw > 1, start, end)", "is not always known"),
        # Down begins and ends within one ACK: its values are those of Cruise, and say nothing about
        # Down.
        (
            "all(bbr.bw > 1, first(enter('bbr.state', 'ProbeBW_DOWN')), first(leave('bbr.state', 'ProbeBW_DOWN')))",
            "one ACK",
        ),
        ("0 / (1 - 1)", "has no value"),
        ("sqrt(-1) > 0", "has no value"),
        ("10 ^ 400 - 10 ^ 400", "no finite value"),
        ("1 / (1 - 1)", "a division by 0"),
        ("inf - inf", "has no value"),
        ("nth(enter('bbr.state', 'ProbeRTT'), 3)", "never becomes 'ProbeRTT'"),
        ("at(inflight, start + 4.1 s)", "4.1 s is after the end of the run (4 s)"),
        ("mean(inflight, start, shift(end, 1 s))", "5 s is after the end"),
        ("before(inflight, start - 2 s)", "-2 s is before the beginning"),
    ],
)
def test_what_cannot_be_known_says_why(text: str, why: str) -> None:
    found = evaluated(text)
    assert isinstance(found, Unknown)
    assert why in found.why


def test_names_are_worked_out_once_and_moments_compare() -> None:
    let = {"d": "first(enter('bbr.state', 'Drain'))", "e": "first(leave('bbr.state', 'Drain'))"}
    assert evaluated("e - d", **let) == 0.5
    assert evaluated("d < e", **let) is True
    assert isinstance(evaluated("e + 1 s", **let), Moment)


@pytest.mark.parametrize(
    ("text", "message", "help"),
    [
        ("", "empty", "comparison"),
        ("1 +", "end of the expression", "operator"),
        ("infligth > 1", "there is no 'infligth'", "did you mean 'inflight'?"),
        ("d.__class__", "there is no 'd.__class__'", ""),
        ("__import__('os')", "there is no function '__import__'", ""),
        ("(1).real", "no meaning", "a name has letters"),
        ("[x for x in y]", "brackets", "nth(e, 2)"),
        ("lambda: 1", "no meaning", ""),
        ("2 ** 3", "no operator '**'", "x ^ 2"),
        ("frist(changes(cwnd))", "no function 'frist'", "did you mean 'first'?"),
        ("enter('bbr.stat', 'Drain')", "no state 'bbr.stat'", "did you mean 'bbr.state'?"),
        ("enter('cwnd', 'Drain')", "'cwnd' is a number", "rises"),
        ("first(changes(cwnd), 2)", "takes 1 argument, not 2", "first(e)"),
        ("at(start, cwnd)", "argument 1 of 'at' is a moment", "at(x, m)"),
        ("{rat} > 1", "the paths have no 'rat'", "did you mean 'rate'?"),
        ("rate > 1", "'rate' is a function", "rate(x, a, b)"),
        ("cwnd = 'Drain'", "compared with a state", "bbr.state"),
        ("bbr.state > 3", "needs a number", "text"),
        ("cwnd and inflight", "'and' needs true or false", None),
        ("1 < 2 s s", "not expected", "operator"),
        ("9e999 > 1", "too large", "1.8e308"),
        ("'abc", "no meaning", "not closed"),
        ("metric('frist(x)')", "the metric is wrong", ""),
        ("exists(events('ecn-reductoin'))", "no events 'ecn-reductoin'", "did you mean 'ecn-reduction'?"),
        ("(" * 60 + "1" + ")" * 60, "levels", "case.let"),
        ("1" * 3000, "3,000 characters", "case.let"),
        ("ms > 1", "the unit 'ms'", "3 ms"),
        ("max(cwnd, start, end) => 3", "no operator '=>'", "write >="),
        ("exists(gr\u00f6\u00dfe)", "no meaning", "letters a to z"),
        ("at(cwnd, 3 s) > 1", "is a number, not a moment", "start + 3 s"),
        ("at(bbr.state, end) = 'Drain'", "is events", "bbr.state = 'STATE'"),
        ("exists(enter('bbr.state', 'Drian'))", "'bbr.state' has no state 'Drian'", "did you mean 'Drain'?"),
        ("exists(enter('bbr.state', 'Drain', 'Up'))", "has no state 'Up'", '"bbr.state: text" in `observables`'),
        ("any(bbr.state = 'drain', start, end)", "has no state 'drain'", "did you mean 'Drain'?"),
    ],
)
def test_a_mistake_has_a_place_and_a_remedy(text: str, message: str, help: str | None) -> None:
    names = Names({**STATES, **NUMBERS}, {}, frozenset({"rate"}), states={"bbr.state": ("Startup", "Drain")})
    with pytest.raises(ExpressionError) as error:
        Checker(names).truth(parse(text))
    assert message in error.value.message
    assert (help or "") in (error.value.help or "")
    assert 0 <= error.value.first < error.value.last <= len(text) + 1


def test_a_condition_over_time_is_no_check() -> None:
    names = Names({**STATES, **NUMBERS}, {}, frozenset())
    with pytest.raises(ExpressionError, match="condition over time"):
        Checker(names).truth(parse("cwnd > 3"))
    with pytest.raises(ExpressionError, match="must be true or false"):
        Checker(names).truth(parse("1 + 2"))


CASE = """[case]
id = "T-1"
title = "t"
source = "s"
pass = ["max(cwnd, start, end) >= 4"]
[case.paths]
p = { rate = "10 Mbit/s", rtt = "40 ms" }
"""


@pytest.mark.parametrize(
    ("old", "new", "place", "message"),
    [
        ("cwnd", "cwmd", "5:14", "there is no 'cwmd'"),
        ('id = "T-1"', 'id = "T 1"', "2:6", "no id of a case"),
        ('title = "t"\n', "", "1:1", "no `title`"),
        ('rtt = "40 ms"', 'rtt = "40 mm"', "7:33", "no quantity"),
        ('rtt = "40 ms"', 'rtt = "0 ms"', "7:33", "`rtt` must be a time above 0"),
        ('"10 Mbit/s"', '"1e300 Gbit/s"', "7:14", "no quantity"),
        ('rate = "10 Mbit/s", rtt = "40 ms"', 'rate = "1e300 bit/s", rtt = "1e300 s"', "7:5", "no finite number"),
        ('rtt = "40 ms"', 'rtt = "40 ms", buffer_bdp = -3', "7:55", "`buffer_bdp` is a number of bandwidth-delay"),
        ('rtt = "40 ms"', 'rtt = "40 ms", buffer = "3 s"', "7:51", "`buffer` is a number of packets"),
        ("[case.paths]", "[case.pths]", "6:1", "unknown key `pths`"),
        ('source = "s"', 'source = "s"\nscenarios = 3', "5:1", "unknown key `scenarios`"),
        ('source = "s"', "source = 3", "4:10", "must be a text"),
        ("[case]", "[case", "1:6", "this is no TOML"),
        ('pass = ["max', 'pass = ["max(cwnd) > 1", \'max', "5:10", "takes 2 arguments or more, not 1"),
        (
            "[case.paths]",
            "[[case.mutant]]\nname = 'm'\ncc = 'x'\nfails = 'pass.9'\n[case.paths]",
            "9:1",
            "no check 'pass.9'",
        ),
        ("[case.paths]", "[case.let]\na = 'b'\nb = 'a'\n[case.paths]", "7:6", "explained by itself"),
        ("[case.paths]", "[case.scenario]\nseed = 3\n[case.paths]", "7:8", "the seed follows from the case's id"),
        ("[case.paths]", "[case.scenario.scenario]\nseed = 3\n[case.paths]", "7:8", "the seed follows"),
        ('"40 ms" }', '"40 ms", scenario = { scenario = { seed = 3 } } }', "7:75", "the seed follows"),
        ("[case.paths]", "[case.let]\ngr\u00f6\u00dfe = '1'\n[case.paths]", "7:3", "no TOML"),
        ("[case.paths]", "[case.let]\na = 'b > 1'\nb = 'infligt + 1'\n[case.paths]", "8:6", "no 'infligt'"),
    ],
)
def test_a_mistake_of_a_file_is_shown_at_its_place(old: str, new: str, place: str, message: str) -> None:
    text = CASE.replace(old, new, 1)
    if "'max" in new:
        text = text.replace('>= 4"]', ">= 4']")
    with pytest.raises(LasthopError) as error:
        parse_cases(text, "mine.toml")
    assert message in str(error.value)
    assert f"--> mine.toml:{place}\n" in str(error.value)
    assert "help:" in str(error.value)


PATHS = ('p = { rate = "10 Mbit/s", rtt = "40 ms", cut = 0.4, size = "15 kB", odd = "1 s" }\n'
         'q = { rate = "10 Mbit/s", rtt = "40 ms", cut = 0.4, size = "15 kB", odd = "1 MB" }\n')  # fmt: skip


def case_of(check: str) -> str:
    """A case with one check, in line 6."""
    text = CASE.replace("max(cwnd, start, end) >= 4", check).replace(
        "[case.paths]", '[case.let]\nd = "end - late"\n[case.paths]'
    )
    text = text.replace("pass = [", 'observables = ["mine.wait: s", "mine.other"]\npass = [')
    return text[: text.index("p = {")] + PATHS


@pytest.mark.parametrize(
    ("check", "column", "message"),
    [
        ("end - start = 5 Mbit/s", 24, "a time [s] is compared with a rate [bit/s]"),
        ("d > 5 MB", 14, "a time [s] is compared with data [B]"),
        ("end + {rate} > start", 16, "a rate [bit/s] is added to a time [s]"),
        ("goodput(late, end) - {rtt} > 1", 31, "a time [s] is subtracted from a rate [bit/s]"),
        ("max(cwnd, start, end) in [2, 3] s", 36, "a number without a dimension is compared with a time [s]"),
        ("all(cwnd < 3 ms, start, end)", 21, "a number without a dimension is compared with a time [s]"),
        ("max(bbr.min_rtt, start, end) <= {size}", 42, "a time [s] is compared with data [B]"),
        ("max(ref, {rtt}) > 1", 19, "a rate [bit/s] is compared with a time [s]"),
        ("0.9 * ref > {rtt}", 22, "a rate [bit/s] times a number without a unit is compared with a time [s]"),
        ("{size} / {rtt} > 2 * {rtt} ", 27, "octets per second is compared with a time [s] times a number"),
        ("time(shift(end, {size})) > 1", 26, "argument 2 of 'shift' is data [B], not a time [s]"),
        ("time_to_reach('*', 1 s, 1 s, start) > 1", 29, "argument 2 of 'time_to_reach' is a time [s], not a rate"),
        ("sqrt({rtt} * {rtt}) < {rate}", 32, "a time [s] is compared with a rate [bit/s]"),
        ("swings(bbr.bw, 1 s, 2 s, 1 s, start, end) > 3", 25, "a rate [bit/s] is compared with a time [s]"),
        ("{rtt} ^ 2 > {rtt}", 22, "a quantity in s^2 is compared with a time [s]"),
        # A rate is in bit/s, data in octets.
        ("{rate} * {rtt} > {size}", 27, "data in bits is compared with data [B]"),
        ("{size} / {rtt} > {rate}", 27, "octets per second is compared with a rate [bit/s]"),
        ("metric('flow(\\\"judged\\\").tx_packets') > {rtt}", 9, "a number without a dimension is compared with a"),
        ("metric('flow(\\\"judged\\\").goodput_bps') > {rtt}", 9, "a rate [bit/s] is compared with a time [s]"),
        ("metric('mean(tcp.rtt_us)') > 3 * {rtt} + {rtt}", 39, "a metric in us is compared"),
        ("max(mine.wait, start, end) < {size}", 39, "a time [s] is compared with data [B]"),
    ],
)  # fmt: skip
def test_different_quantities_are_not_compared(check: str, column: int, message: str) -> None:
    with pytest.raises(LasthopError) as error:
        parse_cases(case_of(check), "mine.toml")
    assert message in str(error.value)
    assert f"--> mine.toml:6:{column}\n" in str(error.value)
    assert "help:" in str(error.value)


@pytest.mark.parametrize(
    "check",
    [
        "d > 20 and exists(cwnd)",
        "d >= 5 * {rtt} and d / {rtt} < 200 or exists(cwnd)",
        "goodput(late, end) >= 0.95 * ref",
        "increase(delivered, late, end) * 8 / d in [0.9, 1.1] Mbit/s",
        "increase(delivered, late, end) * 8 / 10 >= 0.9 * ref",
        "increase(delivered, late, end) / d < 5 MB / 1 s",
        "max(cwnd, start, end) * mss <= {size}",
        "max(cwnd, start, end) <= 2 * {bdp} + {rate} * {rtt} / 8 / 1500",
        "max(cwnd, start, end) * 12000 / {rtt} > ref",
        # A model of shares: seconds over a bare 10.
        "goodput_of('j*', late, end) / goodput_of('*', late, end) < 1 - ({buffer} * 12000 / {rate} + 0.2 + {rtt}) / 10",
        "max(ssthresh, start, end) < inf",
        "mean(cwnd, start, end) > {cut} and mean(pacing_rate, start, end) > {cut}",
        # Paths differ in what this measures; a metric's unit is its own.
        "{odd} > 1 s or {odd} > 1 MB or exists(cwnd)",
        "metric('flow(\\\"judged\\\").tx_packets') > 3 and metric('mean(tcp.rtt_us)') / 1e6 < {rtt}",
        "metric('mean(tcp.rtt_us) in s') < {rtt} and metric('mean(tcp.rtt_us)') > 3000",
        "metric('flow(\\\"judged\\\").goodput_bps') * {rtt} > {rate} * {rtt}",
        "max(mine.wait, start, end) < {rtt} and max(mine.other, start, end) > {size}",
        "wait_of('*', 95, late, end) * 1000 < 20",
        "at(cwnd, first(rises(inflight > 3))) > 1 and share(cwnd > 3, start, end) > 5 %",
    ],
)
def test_the_same_quantities_are(check: str) -> None:
    parse_cases(case_of(check), "mine.toml")


def test_each_function_has_a_quantity() -> None:
    assert GIVES.keys() == FUNCTIONS.keys()


def test_a_mistake_of_quantities_in_a_name_and_a_metric_is_shown_there() -> None:
    with pytest.raises(LasthopError, match=r"a time .* is added to a rate") as error:
        parse_cases(case_of("d > 1 s").replace("end - late", "ref + {rtt}"), "mine.toml")
    assert "--> mine.toml:8:12\n" in str(error.value)
    assert str(error.value).count("error:") == 1
    metric = '[case.metric.x]\nvalue = "mean(cwnd, late, end) - {rtt}"\n[case.paths]'
    with pytest.raises(LasthopError, match=r"a time .* is subtracted from a number") as error:
        parse_cases(CASE.replace('pass = ["max(cwnd, start, end) >= 4"]', "").replace("[case.paths]", metric), "m.toml")
    assert "--> m.toml:7:34\n" in str(error.value)


@pytest.mark.parametrize(
    ("metric", "place", "message"),
    [
        ('value = "goodput(late, end)"\nmost = "20 ms"', "8:8", "the bound is a time [s], the metric a rate [bit/s]"),
        ('value = "wait_of(\'*\', 95, late, end)"\nleast = "{rate}"', "8:9", "the bound is a rate [bit/s], the metric"),
        (
            'value = "goodput(late, end) * {rtt}"\nmost = "15 kB"',
            "8:8",
            "the bound is data [B], the metric data in bits",
        ),
    ],
)
def test_a_bound_measures_what_its_metric_does(metric: str, place: str, message: str) -> None:
    table = f'[case.metric.x]\n{metric}\nby = "this test"\n[case.paths]'
    text = CASE.replace('pass = ["max(cwnd, start, end) >= 4"]\n', "\n").replace("[case.paths]", table)
    with pytest.raises(LasthopError) as error:
        parse_cases(text, "mine.toml")
    assert message in str(error.value)
    assert f"--> mine.toml:{place}\n" in str(error.value)
    fine = text.replace('"20 ms"', '"5 Mbit/s"').replace('"{rate}"', '"20 ms"').replace('"15 kB"', '"8 * 15 kB + 3"')
    parse_cases(fine, "mine.toml")


def test_a_variable_of_ones_own_has_one_of_the_units() -> None:
    text = CASE.replace("pass =", 'observables = ["mine.rate: Mbit/s"]\npass =')
    with pytest.raises(LasthopError, match=r"(?s)'Mbit/s' is no unit of a variable.*5:16.*bit/s, B"):
        parse_cases(text, "mine.toml")


def test_a_long_line_is_shown_around_the_mistake() -> None:
    text = CASE.replace('"t"', '"' + "t" * 100_000 + '", there').replace("\nsource", " = 3 source")
    with pytest.raises(LasthopError, match="no TOML") as error:
        parse_cases(text, "mine.toml")
    assert "--> mine.toml:3:" in str(error.value)
    assert all(len(line) < 300 for line in str(error.value).splitlines())


def test_a_variable_has_the_states_of_the_built_in_controls_or_those_of_the_case() -> None:
    text = CASE.replace("max(cwnd, start, end) >= 4", "exists(enter('bbr.state', 'Drian'))")
    with pytest.raises(LasthopError, match=r"(?s)'bbr.state' has no state 'Drian'.*5:36.*did you mean 'Drain'"):
        parse_cases(text, "mine.toml")
    parse_cases(text.replace("pass =", 'observables = ["bbr.state: text"]\npass ='), "mine.toml")


def test_values_are_shown_in_the_units_of_what_they_measure() -> None:
    shown = {
        "t": "time(end)",
        "g": "goodput(start, end)",
        "d": "mean(delivered, start, end)",
        "n": "mean(cwnd, start, end)",
    }
    text = CASE + "[case.shown]\n" + "".join(f'{name} = "{value}"\n' for name, value in shown.items())
    (case,) = parse_cases(text, "mine.toml")
    assert case.units == {"t": "s", "g": "bit/s", "d": "B", "n": "", "pass.1": ""}


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        (1.04e6, "bit/s", "1.04 Mbit/s"),
        (999.0, "bit/s", "999 bit/s"),
        (-2.5e9, "bit/s", "-2.5 Gbit/s"),
        (0.0182, "s", "18.2 ms"),
        (3.2e-8, "s", "32 ns"),
        (1e-10, "s", "0.1 ns"),
        (0.0, "s", "0 s"),
        (1e-14, "bit/s", "0 bit/s"),
        (120.0, "s", "120 s"),
        (15000, "B", "15 kB"),
        (250.0, "us", "250 us"),
        (0.5, "", "0.5"),
        ("inf", "bit/s", "inf"),
        (None, "s", "\u2013"),
    ],
)
def test_a_value_in_words(value: Any, unit: str, words: str) -> None:
    assert quantity(value, unit) == words


@pytest.mark.parametrize(
    ("queue", "octets"),
    [
        # 20 Mbit/s for 250 ms are 625,000 octets; 4 of them and 4 MB.
        ({"buffer_bdp": 3.0}, 6_500_000),
        # The path and a queue of ten hold 11 of them, 6,875,000. A CUBIC flow with ends that limit
        # nothing has 12.7 MB outstanding in a recovery.
        ({"buffer_bdp": 10.0}, 17_187_500),
        # 10,000 packets are 15 MB, which nothing is to fill.
        ({"buffer": 10_000.0}, 6_500_000),
        ({}, 6_500_000),
    ],
)
def test_the_ends_hold_more_than_the_path_and_its_queue(queue: dict[str, float], octets: int) -> None:
    assert derived({"rate": 20e6, "rtt": 0.25, **queue}, {})[0]["octets"] == octets
