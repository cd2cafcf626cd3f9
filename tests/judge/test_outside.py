"""Cases of somebody else: odd ones that are right, and values that no number can be."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

import lasthop as lh
from lasthop import LasthopError
from lasthop.cli import main

HERE = Path(__file__).parent
CASE = """[case]
id = "X"
title = "t"
source = "s"
pass = ["{check}"]
[case.paths]
p = {{ rate = "{rate}", rtt = "40 ms" }}
[case.scenario]
{scenario}
"""


def test_odd_cases_that_are_right(tmp_path: Path) -> None:
    found = lh.judge("cubic", [HERE / "outside.toml"], store=tmp_path / "store", jobs=1)
    assert {row.id: row.verdict for row in found.rows} == {
        "O1": "pass", "O2": "pass", "O3": "pass", "O4": "shown", "O5": "pass", "O6": "pass", "O7": "pass",
        "O8": "inconclusive", "O9": "pass", "O10.x_y-Z": "pass",
    }, [row.why for row in found.rows]  # fmt: skip
    page = (found.save(tmp_path / "out") / "report.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page  # a title is text


def judged(
    tmp_path: Path, check: str = "min(cwnd, start, end) > 0", scenario: str = "", rate: str = "1 Mbit/s"
) -> tuple[str, str]:
    """Verdict and reason of a case."""
    file = tmp_path / "x.toml"
    file.write_text(CASE.format(check=check, scenario=scenario, rate=rate), encoding="utf-8-sig")
    (row,) = lh.judge("reno", [file], store=tmp_path / "store", jobs=1).rows
    return row.verdict, row.why


@pytest.mark.parametrize(
    ("check", "why"),
    [
        ("1 / (2 - 2) > 1 or max(cwnd, start, end) < 0", "a division by 0"),
        ("10 ^ 400 > max(cwnd, start, end)", "a number above 1.8e308"),
        ("log2(0) < min(cwnd, start, end)", "a division by 0"),
        ("sqrt(0 - 1) >= min(cwnd, start, end)", "has no value"),
        ("all(cwnd / (2 - 2) > 1, start, end)", "not known"),
        ("largest(delivered, 0 * {rtt}, start, end) > 0", "0 intervals"),
    ],
)
def test_what_is_no_number_decides_nothing(check: str, why: str, tmp_path: Path) -> None:
    verdict, said = judged(tmp_path, check)
    assert verdict == "inconclusive"
    assert why in said


def test_no_bound_is_a_number() -> None:
    import numpy as np

    from lasthop.judging._evaluation import _finite

    assert list(_finite(np.add)(np.array([np.inf, 1.0]), 1.0)) == [np.inf, 2.0]


@pytest.mark.parametrize(
    ("check", "scenario", "message", "remedy"),
    [
        ("max(cwnd, start, end) > 1", 'output.cc = "off"', "the table `cc`, which", 'set output.cc = "change"'),
        ("goodput(start, end) > 1", 'output.cc = "off"', "the table `cc`, which", 'set output.cc = "change"'),
        ("goodput_of('judged', late, end) > 1", "", "the table `tcp`, which", 'set output.tcp = "interval"'),
        ("loss_of('judged', late, end) < 1", "", "the table `windows`, which", 'set output.windows = "1 s"'),
        ("burst_of('judged', 1 s, late, end) > 1", "", "the table `packets`, which", "set output.packets = true"),
        ("metric('max(queues.bytes)') >= 0", "", "the table `queues`, which", "set output.queues = true"),
        ("all(cwnd >= 0, end, start)", "", "the interval from 10 s to 0 s is empty", "to a later one"),
        ("all(cwnd >= 0, end, end)", "", "the interval from 10 s to 10 s is empty", "to a later one"),
        ("mean(cwnd, start + 3 s, shift(late, -1 s)) > 0", "", "from 3 s to 2.33333 s is empty", "to a later one"),
        ("at(cwnd, start + 2 * {rtt} * 200) > 0", "", "16 s is after the end of the run", "from start to end"),
        ("before(cwnd, start - 1 s) > 0", "", "-1 s is before the beginning of the run", "from start to end"),
    ],
)
def test_what_no_run_can_know_is_a_mistake_of_the_case(
    check: str, scenario: str, message: str, remedy: str, tmp_path: Path
) -> None:
    with pytest.raises(LasthopError) as error:
        judged(tmp_path, check, scenario)
    assert message in str(error.value)
    assert remedy in str(error.value)
    assert "x.toml:5:" in str(error.value)
    done = CliRunner().invoke(main, ["judge", "--file", str(tmp_path / "x.toml")])
    assert done.exit_code == 1
    assert message in done.output
    # With the remedy it is right.
    if remedy.startswith("set "):
        off = {'output.cc = "off"': ""}.get(scenario, scenario)
        (tmp_path / "x.toml").write_text(
            CASE.format(check=check, scenario=f"{off}\n{remedy.removeprefix('set ')}", rate="1 Mbit/s"),
            encoding="utf-8",
        )
        assert CliRunner().invoke(main, ["judge", "--file", str(tmp_path / "x.toml")]).exit_code == 0


@pytest.mark.parametrize(
    ("scenario", "rate", "place"),
    [('duration = "{nope} * 3"', "1 Mbit/s", "9:13"), ("", "1e300 bit/s", "7:5")],
)
def test_a_wrong_value_is_shown_where_it_is_written(scenario: str, rate: str, place: str, tmp_path: Path) -> None:
    with pytest.raises(LasthopError) as error:
        judged(tmp_path, scenario=scenario, rate=rate)
    assert f"x.toml:{place}\n" in str(error.value)


@pytest.mark.parametrize(
    ("check", "column", "message", "remedy"),
    [
        ("max(cwnd, 0 s, 5 s) > 1", 20, "an interval lies between moments", "start + 3 s"),
        ("quantile(cwnd, 95, start, end) > 1", 25, "a quantile is from 0 to 1", "0.95, or 95 %"),
        ("wait_of('judged', 0.95, start, end) < 1", 28, "the quantiles 50, 95 and 99", "such as 95"),
        ("goodput_of('judge', start, end) > 1", 21, "no flow fits 'judge'", "did you mean 'judged'?"),
        ("flow('other', cwnd) > 1", 15, "no flow fits 'other'", "there are: judged"),
        ("cwnd / 0 > 1", 17, "a division by 0", "never be known"),
        ("quantile(cwnd, -5 %, start, end) > 1", 25, "a quantile is from 0 to 1", "0.95, or 95 %"),
        ("completion_of('judged', 95) > 1 s", 34, "a quantile is from 0 to 1", "0.95, or 95 %"),
        ("1 = 1", 10, "does not depend on the control", "max(cwnd, start, end) >= 4"),
        ("end - start >= {rate} / {rate} * 1 s", 10, "does not depend on the control", "what the run has recorded"),
    ],
)
def test_a_value_without_a_meaning_is_shown_where_it_is_written(
    check: str, column: int, message: str, remedy: str, tmp_path: Path
) -> None:
    with pytest.raises(LasthopError) as error:
        judged(tmp_path, check)
    assert f"x.toml:5:{column}\n" in str(error.value)
    assert message in str(error.value)
    assert remedy in str(error.value)


def test_a_check_may_read_the_run_by_a_name_and_a_requirement_may_be_of_the_path(tmp_path: Path) -> None:
    check = 'w >= 1"]\nrequires = ["{rate} > 1 kbit/s'
    assert judged(tmp_path, check, "[case.let]\nw = 'max(cwnd, start, end)'")[0] == "pass"


def test_a_source_of_which_no_reading_holds_is_broken(tmp_path: Path) -> None:
    """Two readings that both fail are no agreement."""
    table = "[[case.ambiguous]]\ntext = 'which?'\nreadings = {{ a = '{}', b = '2 > 3' }}"
    assert judged(tmp_path, scenario=table.format("1 > 2")) == ("fail", "which? (no reading of the source holds)")
    assert judged(tmp_path, scenario=table.format("2 > 1"))[0] == "ambiguous"


@pytest.mark.parametrize(
    ("readings", "verdict", "said"),
    [
        # Reno on this path has no timeout in a second.
        (("{rto} > 5", "{rto} > 3"), "inconclusive", "a: at(cwnd, first(events('rto'))) > 5 is not known: there is no"),
        (("{rto} > 5", "2 > 3"), "inconclusive", "a: at(cwnd, first(events('rto'))) > 5 is not known: there is no"),
        (("2 > 3", "{rto} > 5"), "inconclusive", "b: at(cwnd, first(events('rto'))) > 5 is not known: there is no"),
        (("3 > 2", "{rto} > 5"), "inconclusive", "b: at(cwnd, first(events('rto'))) > 5 is not known: there is no"),
        (("3 > 2", "2 > 3"), "ambiguous", "a: holds, b: does not hold"),
        (("3 > 2", "4 > 2"), "pass", "1 check holds"),
    ],
)
def test_a_reading_that_is_not_known_is_never_a_pass(
    readings: tuple[str, str], verdict: str, said: str, tmp_path: Path
) -> None:
    a, b = (reading.format(rto="at(cwnd, first(events('rto')))") for reading in readings)
    table = f'duration = "1 s"\n[[case.ambiguous]]\ntext = "which?"\nreadings = {{ a = "{a}", b = "{b}" }}'
    found, why = judged(tmp_path, scenario=table)
    assert found == verdict
    assert said in why


@pytest.mark.parametrize("interval", ["end, first(changes(cwnd))", "last(changes(cwnd)), first(changes(cwnd))"])
def test_an_interval_that_events_leave_empty_is_inconclusive(interval: str, tmp_path: Path) -> None:
    verdict, why = judged(tmp_path, f"all(cwnd >= 0, {interval})", 'duration = "1 s"')
    assert verdict == "inconclusive"
    assert "is empty" in why


def test_names_of_flows_are_those_of_the_scenario(tmp_path: Path) -> None:
    """With `count` NAME-1, NAME-2 of NAME; a path may have flows that others lack."""
    table = "output.windows = '1 s'\nflow.other = { from = 'server', to = 'client', app = 'bulk', count = 2 }"
    check = "loss_of('other-2', start, end) >= 0 and loss_of('o*', start, end) >= 0"
    assert judged(tmp_path, check, table)[0] == "pass"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'[case]\nid = "X"\ntitle = "caf\xe9"\n', ("line 3 of", "is no UTF-8", "save the file as UTF-8")),
        (b"# long\n" * 700_000, ("has 4,900,000 octets", "4,000,000 at most", "several files in a folder")),
        (b'[case]\nid = "X"\nid = "Y"\n', ("x.toml:3:", "stands twice", "[[case]]")),
        (b'[case]\nid = "X"\n[case]\nid = "Y"\n', ("x.toml:3:", "stands twice", "[[case]]")),
        (b"", ("x.toml:1:1", "there is no [case]", "Add a case")),
    ],
)
def test_a_file_that_cannot_be_read_has_a_remedy(content: bytes, said: tuple[str, ...], tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_bytes(content)
    with pytest.raises(LasthopError) as error:
        lh.judge("reno", [file], store=tmp_path / "store")
    for part in said:
        assert part in str(error.value)


def test_a_power_of_a_power_needs_parentheses(tmp_path: Path) -> None:
    with pytest.raises(LasthopError, match="a power of a power"):
        judged(tmp_path, "2 ^ 3 ^ 2 = 512")
    assert judged(tmp_path, "2 ^ -1 = 0.5 and max(cwnd, start, end) > 0")[0] == "pass"


def test_values_that_follow_from_the_path_are_found(tmp_path: Path) -> None:
    """The file derives the bounds of its cases: token rates, mean losses, full buffers, pauses."""
    rows = lh.judge("cubic", [HERE / "physics.toml"], store=tmp_path / "store", jobs=1).rows
    assert {row.id: row.verdict for row in rows} == dict.fromkeys(
        ("POLICER", "BURSTS", "PAUSE", "HALF", "QUEUE", "MARKS", "UDP", "APP", "HELD", "BATCHES"), "pass"
    ), [row.why for row in rows]


def test_a_check_that_does_not_hold_shows_both_sides(tmp_path: Path) -> None:
    """Of a range both ends, of a number that stands in the check itself none."""
    path = "max(inflight, start, end)"
    for check, right in (
        (f"{path} > 100 * {path}", True),
        (f"{path} in [10 * {path}, 20 * {path}]", True),
        (f"{path} > 1000000", False),
    ):
        file = tmp_path / "x.toml"
        file.write_text(CASE.format(check=check, scenario='duration = "1 s"', rate="1 Mbit/s"), encoding="utf-8")
        (row,) = lh.judge("reno", [file], store=tmp_path / "store", jobs=1).rows
        (found,) = row.points[0]["checks"]
        assert row.verdict == "fail"
        assert ("right side" in row.why) is ("right" in found) is right, row.why
        if right:
            assert found["right"][0] in (pytest.approx(100 * found["left"]), pytest.approx(10 * found["left"]))
