"""Comparative rows that know too little: they say so, and are never as good as shown."""

from __future__ import annotations

from pathlib import Path

import pytest

import lasthop as lh
from lasthop.judging.judgement import Row

CASE = """[case]
id = "U"
title = "t"
source = "s"
base = "shared"
seeds = 3
{metrics}
[case.paths]
p = {{ rate = "10 Mbit/s", rtt = "40 ms", buffer_bdp = 1 }}
[case.scenario]
duration = "6 s"
{scenario}
"""
OTHER = """
[case.scenario.flow.other]
from = "server"
to = "client"
app = "bulk"
tcp = { profile = "linux-6", cc = "cubic" }
"""
#: Longer than the interval of the cases: it contains no window. A fixed interval without one would
#: be a mistake of the case; this one is not known before the run.
FROM = "shift(late, 0 * log2(2))"
WINDOWS = 'output.windows = "10 s"'
LOSS = f"[case.metric.loss]\nvalue = \"loss_of('judged', {FROM}, end)\"\n"
GOODPUT = "[case.metric.got]\nvalue = \"goodput_of('judged', late, end)\"\n"


def row(tmp_path: Path, metrics: str, scenario: str = "", cc: str = "vegas") -> Row:
    file = tmp_path / "u.toml"
    file.write_text(CASE.format(metrics=metrics, scenario=scenario), encoding="utf-8")
    (found,) = lh.judge(cc, [file], store=tmp_path / "store", jobs=1).rows
    return found


@pytest.mark.parametrize(
    ("metrics", "scenario", "why"),
    [
        (LOSS + 'better = "smaller"', WINDOWS, "loss on p is not known in any run: no window of a flow 'judged' is"),
        (LOSS, WINDOWS, "loss on p is not known in any run: no window of"),  # the only value of the row
        (LOSS + 'most = "1 %"\nby = "s"\n' + GOODPUT, WINDOWS, "loss on p is not known in any run"),
        (
            GOODPUT + 'better = "larger"\n[case.metric.harm]\nharm = "got"',
            "",
            "harm on p is not known in any run: no flow 'judged' has samples",
        ),
        (
            GOODPUT + f'most = "{{rate}} * (1 - loss_of(\'judged\', {FROM}, end))"\nby = "s"',
            WINDOWS,
            "the bound `most` of got on p is not known, so it is not tested: no window of a flow 'judged' is",
        ),
        (
            # Known where the flow has a loss: `late` is after the first.
            '[case.metric.at]\nvalue = "at(cwnd, first(after(events(\'rto\'), late)))"\nmost = "9"\nby = "s"\n'
            + GOODPUT,
            'output.cc = "change"',
            "at on p is not known in any run: after 2 s there is no event 'rto' of flow/judged",
        ),
    ],
)
def test_what_is_not_known_is_inconclusive_and_says_why(metrics: str, scenario: str, why: str, tmp_path: Path) -> None:
    found = row(tmp_path, metrics, scenario)
    assert found.verdict == "inconclusive"
    assert why in found.why
    assert found.points[0]["verdict"] == "inconclusive"


def test_what_is_shown_alone_is_a_note_where_it_is_not_known(tmp_path: Path) -> None:
    found = row(tmp_path, LOSS + GOODPUT, WINDOWS)
    assert found.verdict == "shown"
    assert found.notes == ("loss is not known on p: no window of a flow 'judged' is between 2 s and 6 s",)


@pytest.mark.parametrize(("factor", "verdict"), [("0.01", "shown"), ("100", "flag")])
def test_a_bound_that_reads_the_run_is_that_of_the_candidates_runs(factor: str, verdict: str, tmp_path: Path) -> None:
    """Harm adds runs without the judged flow, in which the bound has no value."""
    metrics = (
        '[case.metric.sum]\nvalue = "goodput_of(\'other\', late, end)"\nbetter = "larger"\nflags = false\n'
        f'least = "{factor} * goodput_of(\'judged\', late, end)"\nby = "s"\n'
        '[case.metric.harm]\nharm = "sum"\nflags = false\n' + GOODPUT
    )
    found = row(tmp_path, metrics, OTHER)
    assert found.verdict == verdict, found.why
    mine = found.points[0]["compare"]["vegas"]["got"]["mean"]
    assert [flag["bound"] for flag in found.points[0]["flags"]] == [pytest.approx(100 * mine)] * (verdict == "flag")
