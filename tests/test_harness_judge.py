import math
from collections.abc import Callable

import pytest

from lasthop.harness import find_study
from lasthop.harness import judge as j
from lasthop.harness.conduct import with_switch
from lasthop.harness.definition import BASE, Variation
from lasthop.harness.judge import Finding
from lasthop.harness.result import ClaimResult
from lasthop.harness.stats import Estimate


def near(mean: float, spread: float = 0.01, n: int = 10) -> Estimate:
    """`n` replications round a mean."""
    return Estimate.of([mean + spread * (i - (n - 1) / 2) / n for i in range(n)])


def test_a_band_judges_the_mean() -> None:
    assert j.in_band("x", near(5), (4, 6)).passed
    assert not j.in_band("x", near(6.5), (4, 6)).passed
    assert not j.in_band("x", near(3.5), (4, 6)).passed


def test_an_interval_over_the_edge_of_a_band_is_noted() -> None:
    check = j.in_band("x", near(5.95, 2), (4, 6))
    assert check.passed
    assert "reaches over" in check.note
    assert j.in_band("x", near(5), (4, 6)).note == ""


def test_an_order_must_hold_beyond_the_interval() -> None:
    assert j.ordered({"a": near(1), "b": near(2), "c": near(3)}).passed
    assert not j.ordered({"a": near(2), "b": near(1)}).passed
    noisy = Estimate.of([1, 5, 2, 8, 3, 9, 1, 7, 2, 6])
    shifted = Estimate.of([5, 2, 8, 3, 9, 1, 7, 2, 6, 2])
    check = j.ordered({"a": noisy, "b": shifted})
    assert noisy.mean < shifted.mean
    assert not check.passed
    assert "not beyond" in check.note


def test_common_random_numbers_sharpen_an_order() -> None:
    base = [1, 5, 2, 8, 3, 9, 1, 7, 2, 6]
    assert j.ordered({"a": Estimate.of(base), "b": Estimate.of([x + 0.1 for x in base])}).passed


def test_an_order_of_few_replications_says_so() -> None:
    assert "n = 2" in j.ordered({"a": near(1, n=2), "b": near(2, n=2)}).note
    assert "one replication" in j.ordered({"a": near(1, n=1), "b": near(2, n=1)}).note


def test_equality_is_a_matter_of_percent() -> None:
    assert j.equal_within({"a": near(100), "b": near(104)}, 5).passed
    assert not j.equal_within({"a": near(100), "b": near(110)}, 5).passed
    assert j.equal_within({"a": near(0, 0), "b": near(0, 0)}, 5).passed
    assert not j.equal_within({"a": near(-1, 0), "b": near(1, 0)}, 5).passed


def test_a_trend_names_the_step_that_breaks_it() -> None:
    xs = [0, 5, 10]
    assert j.monotone("y", xs, [near(9), near(5), near(2)], "falling").passed
    check = j.monotone("y", xs, [near(9), near(5), near(6)], "falling")
    assert not check.passed
    assert "from 5 to 10" in check.note
    assert j.monotone("y", xs, [near(9), near(5), near(5.5)], "falling", slack=1).passed
    assert not j.monotone("y", xs, [near(9), near(5), near(2)], "rising").passed


def test_equal_numbers_have_no_slope() -> None:
    flat = Estimate.of([0.9876543, 0.1234567])
    assert j.slope([64, 128, 256, 512, 1024, 2048, 4096], [flat] * 7).samples == (0.0, 0.0)


def test_slope_and_rank_correlation_have_the_sign_of_the_trend() -> None:
    assert j.slope([1, 2, 3], [near(1, 0), near(3, 0), near(5, 0)]).mean == pytest.approx(2)
    assert j.rank_correlation([64, 128, 256], [3, 2, 1]) == pytest.approx(-1)
    assert j.rank_correlation([1, 2, 3, 4], [1, 3, 2, 4]) == pytest.approx(0.8)
    assert j.rank_correlation([1, 2], [5, 5]) == 0


def test_bounds_and_counts() -> None:
    assert j.at_most("x", near(1), 1.5).passed
    assert not j.at_most("x", near(2), 1.5).passed
    assert j.at_least("x", near(2), 1.5).passed
    assert not j.at_least("x", near(1), 1.5).passed
    assert not j.above("count", near(0, 0), 0).passed
    assert j.above("count", near(0.1, 0), 0).passed
    assert j.exact("pi", 3.0, 3.0).passed
    assert not j.exact("pi", 3.1, 3.0).passed


def test_one_failing_part_makes_a_claim_differ_and_is_named() -> None:
    good, bad = j.at_most("good", near(1), 2), j.at_most("bad", near(3), 2)
    assert j.all_of([good]).verdict == "agrees"
    finding = j.all_of([good, bad])
    assert finding.verdict == "differs"
    assert "outside: bad" in finding.note


def noisy(mean: float, half: float) -> Estimate:
    """An estimate of five values whose 95 % interval is mean +- half.

    The deviation of (-d, -d, 0, d, d) is d (divisor 4), and half = t d / sqrt(5) with t(4; 0.975) =
    2.776.
    """
    d = half * math.sqrt(5) / 2.776
    return Estimate.of([mean - d, mean - d, mean, mean + d, mean + d])


def test_the_interval_of_the_made_up_estimate_is_as_given() -> None:
    assert noisy(10, 3).half_width == pytest.approx(3, rel=1e-3)


def test_a_comparison_that_fails_is_open_where_its_interval_reaches_what_is_accepted() -> None:
    makes: list[Callable[[float], j.Check]] = [
        lambda half: j.in_band("x", noisy(12, half), (5, 10)),
        lambda half: j.in_band("x", noisy(3, half), (5, 10)),
        lambda half: j.at_most("x", noisy(12, half), 10),
        lambda half: j.at_least("x", noisy(8, half), 10),
        lambda half: j.above("x", noisy(8, half), 10),
    ]
    for make in makes:
        wide, narrow = make(2.5), make(1.5)
        assert not wide.passed
        assert not narrow.passed
        assert wide.open
        assert not narrow.open
        assert j.all_of([wide]).verdict == "undecided"
        assert j.all_of([narrow]).verdict == "differs"


def test_what_has_happened_once_has_happened() -> None:
    """A count cannot be negative.

    An interval that reaches 0 does not undo the losses of one replication.
    """
    some = j.never("lost", Estimate.of([0.0, 57.0]))
    assert (some.passed, some.open) == (False, False)
    assert j.at_most("lost", Estimate.of([0.0, 57.0]), 0).open
    none = j.never("lost", near(0, 0))
    assert (none.passed, none.open) == (True, False)


def test_an_order_is_open_while_the_interval_of_the_difference_allows_it() -> None:
    zero = near(0, 0)
    below = j.ordered({"a": zero, "b": noisy(1, 2)})  # b - a is 1 +- 2
    assert (below.passed, below.open) == (False, True)
    above = j.ordered({"a": zero, "b": noisy(-1, 2)})
    assert (above.passed, above.open) == (False, True)
    surely = j.ordered({"a": zero, "b": noisy(-3, 2)})
    assert (surely.passed, surely.open) == (False, False)
    alike = j.ordered({"a": near(1, 0), "b": near(1, 0)})
    assert (alike.passed, alike.open) == (False, False)  # equal on every seed: more seeds change nothing
    mixed = j.ordered({"a": zero, "b": noisy(1, 2), "c": noisy(-9, 2)})
    assert (mixed.passed, mixed.open) == (False, False)


def test_an_equality_and_a_trend_are_open_while_their_differences_allow_them() -> None:
    wide = j.equal_within({"a": near(100, 0), "b": noisy(110, 8)}, 5)
    narrow = j.equal_within({"a": near(100, 0), "b": noisy(110, 2)}, 5)
    assert (wide.passed, wide.open) == (False, True)
    assert (narrow.passed, narrow.open) == (False, False)
    for direction, step in (("falling", 1.0), ("rising", -1.0)):
        open_ = j.monotone("y", [1, 2], [near(0, 0), noisy(step, 2)], direction)  # type: ignore[arg-type]
        shut = j.monotone("y", [1, 2], [near(0, 0), noisy(3 * step, 2)], direction)  # type: ignore[arg-type]
        assert (open_.passed, open_.open) == (False, True)
        assert (shut.passed, shut.open) == (False, False)
        slack = j.monotone("y", [1, 2], [near(0, 0), noisy(3 * step, 2)], direction, slack=1.5)  # type: ignore[arg-type]
        assert slack.open


def test_a_mean_that_is_accepted_is_undecided_where_its_interval_reaches_beyond() -> None:
    makes: list[Callable[[float], j.Check]] = [
        lambda half: j.in_band("x", noisy(8, half), (0, 10)),
        lambda half: j.in_band("x", noisy(2, half), (0, 10)),
        lambda half: j.at_most("x", noisy(8, half), 10),
        lambda half: j.at_least("x", noisy(12, half), 10),
        lambda half: j.above("x", noisy(12, half), 10),
        lambda half: j.equal_within({"a": near(100, 0), "b": noisy(102, half)}, 400 / 101),  # a limit of 4
        lambda half: j.not_below({"a": noisy(98, half), "b": near(100, 0)}, 400 / 99),  # the same
        lambda half: j.monotone("y", [1, 2], [near(0, 0), noisy(2, half)], "rising"),
    ]
    for make in makes:
        wide, narrow = make(2.5), make(1.5)
        assert (wide.passed, wide.held) == (True, None)
        assert (narrow.passed, narrow.held) == (True, True)
        assert j.all_of([wide]).verdict == "undecided"
        assert j.all_of([narrow]).verdict == "agrees"
    both = j.all_of([j.at_most("x", noisy(8, 2.5), 10), j.at_most("y", noisy(8, 1.5), 10)])
    assert both.verdict == "undecided"
    assert "reaches beyond what is accepted: x 8 ± 2.5" in both.note
    assert not j.ordered({"a": near(0, 0), "b": noisy(3, 2)}).open  # it holds only beyond the interval
    assert not j.equal_within({"a": near(0, 0), "b": near(0, 0)}, 5).open
    assert not j.in_band("x", near(8, n=1), (0, 10)).open


def test_not_below_asks_nothing_of_how_far_above() -> None:
    assert j.not_below({"a": noisy(130, 20), "b": near(100, 0)}, 5).held is True
    assert j.not_below({"a": noisy(80, 3), "b": near(100, 0)}, 5).held is False
    # The limit is 5 % of 98, and the difference is -4 ± 3: from -7 to -1.
    assert j.not_below({"a": noisy(96, 3), "b": near(100, 0)}, 5).held is None
    # -6 ± 3 is from -9 to -3, and the limit is 4.85.
    assert j.not_below({"a": noisy(94, 3), "b": near(100, 0)}, 5).held is None
    assert j.not_below({"a": near(0, 0), "b": near(0, 0)}, 5).held is True
    assert j.not_below({"a": near(96, n=1), "b": near(100, n=1)}, 5).held is True  # no interval
    assert j.not_below({"a": near(94, n=1), "b": near(100, n=1)}, 5).held is False


def test_a_claim_is_undecided_only_if_no_part_fails() -> None:
    good, open_, bad = (j.at_most(n, e, 10) for n, e in (("g", near(1)), ("o", noisy(12, 3)), ("b", near(12))))
    assert j.all_of([good, open_]).verdict == "undecided"
    assert j.all_of([good, open_, bad]).verdict == "differs"
    assert "outside: o" in j.all_of([good, open_]).note
    passing = j.at_most("p", noisy(8, 3), 10)
    assert j.all_of([good, passing]).verdict == "undecided"
    assert j.all_of([good, passing, bad]).verdict == "differs"


def test_one_replication_has_no_interval_and_is_judged_by_its_number() -> None:
    assert j.all_of([j.at_most("x", near(3, n=1), 2)]).verdict == "differs"


def test_ours_is_a_number_or_an_object_with_intervals_in_the_same_shape() -> None:
    one = j.all_of([j.at_most("a", near(1), 2)])
    assert one.ours == pytest.approx(1)
    assert len(one.ci95) == 2
    two = j.all_of([j.at_most("a", near(1), 2), j.at_most("b", near(1, n=1), 2)])
    assert set(two.ours) == set(two.ci95) == {"a", "b"}
    assert two.ci95["b"] is None
    assert two.n == 1


def test_a_claim_of_several_comparisons_is_turned_when_each_that_failed_holds_somewhere() -> None:
    claim = find_study("lte-vs-11ac").claims[0]
    base = j.Finding("differs", "-", parts={"a": False, "b": True, "c": False})
    one = j.Finding("differs", "-", parts={"a": True, "b": False, "c": False})
    other = j.Finding("differs", "-", parts={"a": False, "b": True, "c": True})
    assert base.failed == ["a", "c"]
    assert base.turned_by(one) == ["a"]
    assert ClaimResult(claim, base, ablations=[(BASE, one)]).unturned == ["c"]
    assert ClaimResult(claim, base, ablations=[(BASE, one), (BASE, other)]).unturned is None
    whole = j.Finding("differs", "-")
    assert ClaimResult(claim, whole, ablations=[(BASE, whole)]).unturned == [claim.id]
    assert ClaimResult(claim, whole, ablations=[(BASE, j.Finding("agrees", "-"))]).unturned is None
    assert ClaimResult(claim, j.Finding("agrees", "-")).unturned is None


def test_what_only_lacks_seeds_asks_for_no_ablation() -> None:
    """Open comparisons are not among those that an ablation is to turn.

    Of a claim that differs.
    """
    checks = [j.at_most("x", e, 10) for e in (near(1), near(12), noisy(12, 3))]
    assert [c.held for c in checks] == [True, False, None]
    base = j.Finding("differs", "-", parts=dict(zip("abc", (c.held for c in checks), strict=True)))
    assert base.failed == ["b"]
    claim = find_study("lte-vs-11ac").claims[0]
    turned = j.Finding("differs", "-", parts={"a": False, "b": True, "c": None})
    assert base.turned_by(turned) == ["b"]
    assert ClaimResult(claim, base, ablations=[(BASE, turned)]).unturned is None
    assert ClaimResult(claim, j.Finding("undecided", "-", parts={"c": None})).unturned is None


def test_a_contradicted_claim_is_ambiguous_and_still_prints_ours() -> None:
    finding = j.contradicted(j.all_of([j.at_most("a", near(3), 2)]), "the text says both")
    assert finding.verdict == "ambiguous"
    assert finding.ours == pytest.approx(3)


def test_a_mechanism_whose_test_also_passes_when_off_shows_nothing() -> None:
    off = Variation("the switch", "switch")
    agrees, differs = Finding("agrees", "on"), Finding("differs", "off")
    assert with_switch(agrees, differs, off).verdict == "agrees"
    assert with_switch(agrees, agrees, off).verdict == "differs"
    assert "shows no mechanism" in with_switch(agrees, agrees, off).note
    assert with_switch(differs, agrees, off).verdict == "differs"
    assert with_switch(agrees, Finding("undecided", "off"), off).verdict == "undecided"
    # The interval of the test without the mechanism has values of both kinds: 12 +- 3 about a limit
    # of 10.
    barely = j.all_of([j.at_least("x", noisy(12, 3), 10)])
    assert with_switch(agrees, barely, off).verdict == "undecided"
    assert with_switch(differs, barely, off).verdict == "differs"
