"""Functions over what flows get, and harm and bounds of comparative cases.

By tables that were written by hand.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pytest

import lasthop as lh
from lasthop.judging._by_flow import columns_by_flow
from lasthop.judging._recording import Unknown
from lasthop.judging._shares import Shares
from lasthop.judging.case import Case
from lasthop.judging.contest import compared, comparisons, flags, summary
from lasthop.judging.reading import parse_cases


@dataclass
class Tables:
    """Results with these tables."""

    tables: dict[str, pa.Table]

    @property
    def table_names(self) -> list[str]:
        return list(self.tables)

    def table(self, name: str) -> pa.Table:
        return self.tables[name]


#: Octets acknowledged at 1, 2, 3 and 4 s. Goodput by second: a 8, 8, 8, 8 kbit/s; b 0, 8, 4, 12; c
#: begins at 3 s.
ACKED = {"a": (1000, 2000, 3000, 4000), "b": (0, 1000, 1500, 3000), "c": (None, None, 0, 1000)}


def test_rows_are_told_apart_by_flow() -> None:
    names, times = ["b", "a", "b", "c", "a", "b"], [1.0, 1.0, 2.0, 2.0, 3.0, 3.0]
    expected = {"a": [1.0, 3.0], "b": [1.0, 2.0, 3.0], "c": [2.0]}
    plain = pa.array(names)
    # A filtered table keeps the dictionary of all names: `d` has no rows.
    codes = pa.DictionaryArray.from_arrays([3, 1, 3, 2, 1, 3], ["d", "a", "c", "b"])
    for flows in (plain, codes):
        table = pa.table({"flow": flows, "time_s": times})
        assert {name: list(t) for name, (t,) in columns_by_flow(table, ["time_s"]).items()} == expected
        assert list(columns_by_flow(table, ["time_s"])) == ["a", "b", "c"]


def shares() -> Shares:
    rows = [(t + 1.0, flow, x) for t in range(4) for flow, of in ACKED.items() if (x := of[t]) is not None]
    tcp = pa.table(
        {
            "time_s": [t for t, _, _ in rows],
            "flow": pa.array([f for _, f, _ in rows]).dictionary_encode(),
            "bytes_acked": pa.array([x for _, _, x in rows], pa.uint64()),
        }
    )
    windows = pa.table(
        {
            "start_s": [0.0, 2.0, 0.0, 2.0],
            "end_s": [2.0, 4.0, 2.0, 4.0],
            "flow": ["a", "a", "b", "b"],
            "sent_packets": pa.array([10, 20, 10, 20], pa.uint64()),
            "lost_packets": pa.array([0, 1, 0, 3], pa.uint64()),
            "delivered_packets": pa.array([10, 19, 10, 1], pa.uint64()),
            "wait_p50_s": [0.0, 0.0, 0.0, 0.0],
            "wait_p95_s": [9.0, 0.1, 9.0, 0.5],
            "wait_p99_s": pa.array([0.0, None, 0.0, 0.3]),
        }
    )
    return Shares(Tables({"tcp": tcp, "windows": windows}))  # type: ignore[arg-type]


def test_goodput_loss_and_waiting_of_an_interval() -> None:
    of = shares()
    assert of.gets("a", 1, 3) == pytest.approx(8000)
    assert of.gets("[ab]", 0, 4) == pytest.approx((4000 + 3000) * 8 / 4)
    assert of.loss("*", 2, 4) == pytest.approx(4 / 40)
    assert of.loss("b", 0, 4) == pytest.approx(3 / 30)
    # 19 packets of 0.1 s and one of 0.5 s.
    assert of.wait("*", 95, 2, 4) == pytest.approx((19 * 0.1 + 0.5) / 20)
    # A window without a value is left out.
    assert of.wait("*", 99, 2, 4) == pytest.approx(0.3)
    # A window that reaches over an end is left out.
    assert of.loss("a", 1, 4) == pytest.approx(1 / 20)


def test_evenness_and_starvation() -> None:
    of = shares()
    # Seconds 2 to 4 of a and b: (8, 8), (8, 4), (8, 12): 256/256, 144/160, 400/416.
    assert of.jain("[ab]", 1, 1, 4) == pytest.approx((1 + 144 / 160 + 400 / 416) / 3)
    assert of.jain("[ab]", 3, 1, 4) == pytest.approx((24 + 24) ** 2 / (2 * (24**2 + 24**2)))
    # Of b's intervals 0 and 4 kbit/s are below 5: two of eight.
    assert of.starved("[ab]", 5000, 1, 0, 4) == pytest.approx(2 / 8)


def test_how_long_a_rate_takes() -> None:
    of = shares()
    # Together 8, 16, 12, 28 kbit/s by second: 15 is there at the end of the second one.
    assert of.reached("*", 15_000, 1, 0, 4) == 2
    assert of.reached("*", 99_000, 1, 0, 4) == 4
    # b: 0, 8, 4, 12: within a half of 8 for 3 s from 1 s on, within a tenth for 1 s, never for 2 s.
    assert of.settled("b", 8000, 0.5, 1, 3, 0, 4) == 1
    assert of.settled("b", 8000, 0.1, 1, 1, 0, 4) == 1
    assert of.settled("b", 8000, 0.1, 1, 2, 0, 4) == 4


def test_a_transfer_that_is_not_complete_counts_with_the_time_to_the_end() -> None:
    """Otherwise the slowest are missing, and who completes nothing is the fastest."""
    flows = pa.table(
        {
            "flow": ["f-1", "f-2", "f-3", "f-4", "other"],
            "start_s": [1.0, 2.0, 3.0, None, 0.0],
            "end_s": [10.0] * 5,
            "completion_s": [1.5, 4.0, None, None, None],
        }
    )
    of = Shares(Tables({"flows": flows}))  # type: ignore[arg-type]
    # 0.5, 2 and 7 s; the fourth does not begin.
    assert of.completion("f-*", 0.5) == 2.0
    assert of.completion("f-*", 1) == 7.0
    assert of.completion("f-*", 0.75) == pytest.approx(4.5)
    assert isinstance(of.completion("x", 0.5), Unknown)
    assert isinstance(of.completion("f-4", 0.5), Unknown)


def test_what_is_not_known_says_why() -> None:
    of = shares()
    for found, why in (
        (of.gets("x", 0, 4), "no flow 'x' has samples; there are: a, b, c"),
        (of.jain("a", 0, 0, 4), "0 intervals"),
        (of.jain("a", 1e-9, 0, 4), "not 1 to 100000"),
        (of.wait("a", 90, 0, 4), "50, 95 and 99"),
        (of.loss("a", 0.5, 1), "no window of a flow 'a'"),
        (Shares(Tables({})).wait("a", 95, 0, 4), "output.windows"),  # type: ignore[arg-type]
    ):
        assert isinstance(found, Unknown)
        assert why in found.why


HARM = """[case]
id = "C"
title = "t"
source = "s"
base = "shared"
seeds = 3
[case.metric.goodput]
value = "goodput_of('other', late, end)"
better = "larger"
flags = false
[case.metric.wait]
value = "wait_of('other', 95, late, end)"
better = "smaller"
flags = false
[case.metric.less]
harm = "goodput"
[case.metric.later]
harm = "wait"
paths = ["p"]
[case.metric.dark]
value = "goodput_of('judged', late, end)"
most = "{most}"
by = "RFC 0, section 1"
[case.paths]
p = { rate = "10 Mbit/s", rtt = "40 ms", most = 5 }
q = { rate = "10 Mbit/s", rtt = "40 ms", most = 5 }
[case.scenario.flow.other]
app = "bulk"
"""


def case() -> Case:
    return parse_cases(HARM, "x")[0]


def test_harm_is_that_of_ware_and_others() -> None:
    """Alone 10 and 2; beside the candidate 4 and 8, beside Reno 5 and 4.

    So harm is (10 - 4) / 10 and (8 - 2) / 8.
    """
    runs: dict[str, dict[int, dict[str, float | None]]] = {
        "": {0: {"goodput": 10, "wait": 2}},
        "mine": {0: {"goodput": 4, "wait": 8, "dark": 1}},
        "reno": {0: {"goodput": 5, "wait": 4, "dark": 1}},
        "cubic": {0: {"goodput": 11, "wait": 0, "dark": 1}},
    }
    found = compared(runs, case())
    assert found["mine"][0]["less"] == pytest.approx(0.6)
    assert found["mine"][0]["later"] == pytest.approx(0.75)
    assert found["reno"][0]["less"] == pytest.approx(0.5)
    assert found["cubic"][0]["less"] == pytest.approx(-0.1)
    assert found["cubic"][0]["later"] is None  # a delay of 0 has no share of 2 more
    shown = summary(found, case(), "p")
    assert shown["alone"]["goodput"]["mean"] == 10
    assert shown["alone"]["less"]["mean"] is None
    assert "later" not in summary(found, case(), "q")["mine"]


def test_a_bound_of_a_document_flags_by_itself() -> None:
    runs: dict[str, dict[int, dict[str, float | None]]] = {
        name: {k: {"dark": x} for k in range(3)} for name, x in (("mine", 6.0), ("reno", 9.0), ("cubic", 9.0))
    }
    limits = {"p": {"dark": {"most": 5.0}}, "q": {"dark": {"most": 6.0}}}
    (flag,) = flags([("p", runs), ("q", runs)], "mine", case(), limits)
    assert flag["path"] == "p"
    assert flag["why"] == "dark on p: 6 is above 5 (RFC 0, section 1)"
    # Without better and with flags = false there is nothing to test; harm is tested where it is
    # known.
    assert comparisons(["p", "q"], case()) == 3


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('harm = "goodput"', 'harm = "goodputt"', "no harm to 'goodputt'"),
        ('harm = "goodput"', 'harm = "later"', "no harm to 'later'"),
        ('harm = "goodput"', 'harm = "goodput"\nvalue = "1"', "a `value` or names whose `harm`"),
        ('paths = ["p"]', 'paths = ["r*"]', "no path fits 'r*'"),
        ('by = "RFC 0, section 1"', "", "a bound has a document"),
        ('most = "{most}"', 'most = "{mots}"', "did you mean 'most'?"),
        ("flags = false", "flag = false", "did you mean 'flags'?"),
        ("most = 5 }\nq", "most = 5, seeds = -1 }\nq", "whole number"),
    ],
)
def test_mistakes_of_metrics_have_a_remedy(old: str, new: str, message: str) -> None:
    with pytest.raises(lh.LasthopError) as error:
        parse_cases(HARM.replace(old, new, 1), "x")
    assert message in str(error.value), error.value
