"""The results table point by point: order, means, intervals, ranks."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

import pyarrow as pa
import pytest

from lasthop import LasthopError
from lasthop.campaign.compare import compare
from lasthop.campaign.ranking import ranking
from lasthop.campaign.sequential import Rule
from lasthop.campaign.tidy import Tidy, student_estimate, tidy
from tests.campaign import synthetic


def test_axes_metrics_and_points_follow_from_the_columns() -> None:
    data = tidy(synthetic.table())
    assert data.axes == {a: tuple(v) for a, v in synthetic.AXES.items()}
    assert data.units == {"goodput": "bit/s", "rtt": "ms"}
    assert len(data.points) == 36
    assert data.points[:2] == (("50 kB", "none", "reno"), ("50 kB", "none", "cubic"))


def test_labels_stand_in_the_order_of_the_campaign_not_of_the_rows() -> None:
    late = synthetic.table({"cc": ["bbr", "reno"]}, synthetic.one("1", lambda _at, s: float(s)))
    assert Tidy(late, {"cc": ("reno", "cubic", "bbr")}).axes == {"cc": ("reno", "bbr")}


def test_the_student_interval_is_that_of_the_textbook() -> None:
    """Of 1, 2, 3, 4, 5: mean 3, s = sqrt(2.5), t(4; 0.975) = 2.7764.

    Abramowitz and Stegun, table 26.10.
    """
    found = student_estimate([1, 2, 3, 4, 5], 0.95)
    assert (found.mean, found.n) == (3, 5)
    assert found.half_width == pytest.approx(2.7764 * math.sqrt(2.5 / 5), rel=1e-4)


def test_a_value_that_is_missing_is_counted_and_one_seed_has_no_interval() -> None:
    metrics = synthetic.one("s", lambda at, s: None if at["cc"] == "reno" and s > 1 else 1.0 * s)
    data = tidy(synthetic.table({"cc": ["reno", "bbr"]}, metrics))
    found = data.estimates("m", 0.95)
    reno, bbr = found[("reno",)], found[("bbr",)]
    assert (reno.n, reno.missing, reno.mean, reno.bounded, reno.half_width) == (1, 4, 1.0, False, math.inf)
    assert (bbr.n, bbr.missing, bbr.bounded) == (5, 0, True)


def test_the_interval_of_a_point_without_a_value_is_everything() -> None:
    data = tidy(synthetic.table({"cc": ["reno"]}, synthetic.one("s", lambda _at, _s: None)))
    found = data.estimates("m", 0.95)[("reno",)]
    assert math.isnan(found.mean)
    assert (found.n, found.missing, found.bounded) == (0, 5, False)


def test_the_stopping_rule_gives_the_interval_of_its_metric_at_its_level() -> None:
    data = Tidy(synthetic.table(seeds=range(1, 11)), rule=Rule.parse("ci95(rtt) < 50 %, min 5, max 10"))
    key = data.points[0]
    runs = data.samples("rtt")[key]
    expected = Rule.parse("ci95(rtt) < 50 %, min 5, max 10").interval([float(v or 0) for v in runs.values()])
    found = data.estimates("rtt", 0.95)[key]
    assert (found.mean, found.low, found.high, found.n) == (
        expected.mean,
        expected.low,
        expected.high,
        expected.n,
    )
    assert found.reached is True
    # At other levels, and of other metrics, it allows for the rule.
    other = data.estimates("rtt", 0.99)[key]
    assert (other.n, other.reached) == (5, True)
    assert other.half_width > student_estimate([float(v or 0) for v in runs.values()][:5], 0.99).half_width
    assert data.estimates("goodput", 0.95)[key].reached is None


def test_a_rule_that_is_not_satisfied_says_so() -> None:
    data = Tidy(synthetic.table(), rule=Rule.parse("ci95(rtt) < 0.1 %, min 5, max 5"))
    assert {e.reached for e in data.estimates("rtt", 0.95).values()} == {False}


def test_a_table_of_something_else_and_unknown_names_are_refused() -> None:
    with pytest.raises(LasthopError, match="no column 'seed'"):
        tidy(pa.table({"a": [1]}))
    with pytest.raises(LasthopError, match=r"no metric 'x'.*\n.*goodput, rtt"):
        tidy(synthetic.table()).samples("x")
    with pytest.raises(LasthopError, match=r"no axis 'x'.*\n.*buffer, aqm, cc"):
        tidy(synthetic.table()).require_axis("x")


def test_ranks_leave_open_what_the_seeds_leave_open() -> None:
    """a is far above b and c, which differ by less than their noise.

    So a is first, and b and c share the other ranks.
    """
    base = {"a": 100.0, "b": 10.0, "c": 10.001}
    metrics = synthetic.one("1", lambda at, s: base[at["v"]] + synthetic.noise(s, ord(at["v"])))
    data = tidy(synthetic.table({"v": ["b", "a", "c"]}, metrics))
    found = ranking(data, "m")
    assert found[0].labels == ("a",)
    assert [r.ranks for r in found] == [(1, 1), (2, 3), (2, 3)]


def test_ranks_and_comparisons_agree() -> None:
    """A point is surely higher than another where `compare` says so over all pairs."""
    data = tidy(synthetic.table())
    samples: dict[Any, dict[Hashable, float]]
    samples = {k: {s: v for s, v in runs.items() if v is not None} for k, runs in data.samples("rtt").items()}
    decided = [d for d in compare({str(k): v for k, v in samples.items()}).differences if d.answer != "undecided"]
    higher = dict.fromkeys(map(str, samples), 0)
    for d in decided:
        higher[d.second if d.answer == "higher" else d.first] += 1
    assert decided
    for r in ranking(data, "rtt"):
        assert r.ranks is not None
        assert r.ranks[0] == higher[str(r.labels)] + 1
