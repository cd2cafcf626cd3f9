"""Cards of claims: each number stands where it belongs, and what is said is said once."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from lasthop.harness import TableView
from lasthop.harness import judge as j
from lasthop.harness.cards import (
    LINES,
    SHOWN,
    Scale,
    Words,
    _common,
    _series,
    comparisons,
    in_columns,
    in_words,
    marks_of,
    named_series,
    pill,
    unbroken,
)
from lasthop.harness.definition import BUNDLED, load_study
from lasthop.harness.report import _table, counted
from lasthop.harness.stats import Estimate
from lasthop.plot import OKABE_ITO

ONE = Estimate.of([3.0])
THREE = Estimate.of([2.0, 3.0, 4.0])


class Tags(HTMLParser):
    """Elements with their attributes, and the text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def of(self, css: str) -> list[dict[str, str | None]]:
        return [a for _, a in self.found if css in (a.get("class") or "").split()]


def places(html: str, css: str) -> list[float]:
    """Where elements of a class begin, in per cent."""
    return [float(re.search(r"left:([\d.]+)%", a["style"] or "")[1]) for a in Tags(html).of(css)]  # type: ignore[index]


def test_a_dot_is_in_its_band_exactly_if_the_comparison_holds() -> None:
    for mean in (0.5, 1.9, 2.0, 2.5, 3.0, 3.1, 9.0):
        html = comparisons(j.all_of([j.in_band("x", Estimate.of([mean]), (2.0, 3.0))]))
        (band,) = Tags(html).of("band")
        left, width = map(float, re.findall(r"([\d.]+)%", band["style"] or ""))
        (dot,) = places(html, "dot")
        # Places have two decimals.
        assert (left - 0.02 <= dot <= left + width + 0.02) == (2.0 <= mean <= 3.0)
        assert (len(Tags(html).of("good")) > 0) == (2.0 <= mean <= 3.0)


def test_one_sided_bands_reach_the_edge() -> None:
    upper = comparisons(j.all_of([j.at_most("x", ONE, 5.0)]))
    lower = comparisons(j.all_of([j.at_least("x", ONE, 1.0)]))
    assert places(upper, "band") == [0.0]
    assert "accepted: at most 5" in upper
    assert "accepted: from 1" in lower
    left, width = map(float, re.findall(r"([\d.]+)%", Tags(lower).of("band")[0]["style"] or ""))
    assert left + width == pytest.approx(100, abs=0.02)


def test_the_interval_is_that_of_the_estimate() -> None:
    # Mean 3, standard deviation 1, t = 4.3027 with 2 degrees of freedom: 3 +- 2.484.
    check = j.in_band("x", THREE, (0.0, 10.0))
    html = comparisons(j.all_of([check]))
    (ci,) = Tags(html).of("ci")
    left, width = map(float, re.findall(r"([\d.]+)%", ci["style"] or ""))
    (dot,) = places(html, "dot")
    assert left + width / 2 == pytest.approx(dot, abs=0.02)
    band_left, band_width = map(float, re.findall(r"([\d.]+)%", Tags(html).of("band")[0]["style"] or ""))
    assert width / band_width == pytest.approx(2 * 2.484 / 10, abs=2e-3)
    assert band_left <= left


def test_an_order_has_a_dot_for_each_value_from_left_to_right() -> None:
    values = {"delay a 64 kB": ONE, "delay b 64 kB": Estimate.of([5.0]), "delay c 64 kB": Estimate.of([8.0])}
    html = comparisons(j.all_of([j.ordered(values, unit="ms")]))
    text = Tags(html).text.replace("\u00a0", " ")
    assert text.count("delay 64 kB") == 1
    assert "a: 3 ms b: 5 ms c: 8 ms" in text
    assert "asked: each below the next" in text
    positions = [float(m) for m in re.findall(r'class="dot s\d" style="--c:#\w+;left:([\d.]+)%', html)]
    assert len(positions) == 3
    assert positions == sorted(positions)


def test_lines_with_one_unit_share_a_scale() -> None:
    def line(a: float, b: float, unit: str) -> j.Check:
        return j.ordered({"x a": Estimate.of([a]), "x b": Estimate.of([b])}, unit=unit)

    html = comparisons(j.all_of([line(1, 2, "s"), line(3, 4, "s"), line(100, 200, "B")]))
    positions = [float(m) for m in re.findall(r'class="dot s\d" style="--c:#\w+;left:([\d.]+)%', html)]
    assert positions[:4] == sorted(positions[:4])
    assert positions[4] < positions[3], "the third line has a scale of its own"


def test_what_fails_comes_first_and_the_rest_is_folded() -> None:
    checks = [j.at_most(f"c{i}", ONE, 5.0) for i in range(LINES + 3)]
    checks.append(j.at_most("wrong", ONE, 1.0))
    html = comparisons(j.all_of(checks))
    assert f"{LINES + 3} of {LINES + 4} comparisons hold" in html
    assert html.index("wrong") < html.index("c0")
    assert f"{LINES + 4 - SHOWN} more comparisons, which hold" in html
    assert html.count("<details>") == 1
    assert "<details>" not in comparisons(j.all_of(checks[:LINES])), "as many as fit are not folded"


def test_a_reading_shows_what_comes_out_otherwise() -> None:
    """Of five comparisons one fails on the card and holds in the reading."""

    def found(last: float) -> j.Finding:
        return j.all_of([j.at_most(f"c{i}", ONE, 5.0) for i in range(4)] + [j.at_most("last", ONE, last)])

    card, reading = found(0.5), found(5.0)
    html = comparisons(reading, base=card)
    assert html.count("dot-line") == 1
    assert "last" in html
    assert "5 of 5 comparisons hold, 1 replication (fewer than 10), 4 come out as above (not shown)" in html
    same = comparisons(card, base=card)
    assert "dot-line" not in same
    assert "5 come out as above<" in same
    few = j.all_of([j.at_most("a", ONE, 5.0), j.at_most("b", ONE, 5.0)])
    assert comparisons(few, base=few).count("dot-line") == 2, "a few are shown with their numbers"


def test_findings_of_the_same_comparisons_are_columns() -> None:
    def found(low: float, high: float) -> j.Finding:
        order = j.ordered({"delay a": Estimate.of([low]), "delay b": Estimate.of([high])}, unit="ms")
        return j.all_of([j.at_most("loss", Estimate.of([low]), 5.0), order])

    made = in_columns([found(1.0, 2.0), found(3.0, 4.0)])
    assert made is not None
    names, rows = made
    assert names == ["loss", "delay"]
    assert [row[0] for row in rows] == ["1", "3"]
    assert [plain_spaces(row[1]) for row in rows] == ["a 1 ms, b 2 ms", "a 3 ms, b 4 ms"]
    other = j.all_of([j.at_most("other", ONE, 5.0)])
    assert in_columns([found(1.0, 2.0), other]) is None
    assert in_columns([j.all_of([j.at_most(f"c{i}", ONE, 5.0) for i in range(4)])]) is None, "too many"


def plain_spaces(text: str) -> str:
    return text.replace("\u00a0", " ")


def test_the_number_of_replications_is_remarked_where_it_is_asked_for() -> None:
    finding = j.all_of([j.at_most("x", ONE, 5.0)])
    assert "fewer than 10" in comparisons(finding)
    assert "fewer than" not in comparisons(finding, few=False)


def test_a_hollow_dot_is_undecided() -> None:
    """1 to 3 has the mean 2; with three replications its interval reaches from -0.48 to 4.48."""
    wide = Estimate.of([1.0, 2.0, 3.0])
    for limit in (4.0, 1.0):
        open_one = comparisons(j.all_of([j.at_most("x", wide, limit)]))
        assert "dot unclear open" in open_one
        assert "undecided: x" in Tags(open_one).text
    assert "open" not in comparisons(j.all_of([j.at_most("x", wide, 5.0)])), "it holds"
    assert "open" not in comparisons(j.all_of([j.at_most("x", wide, -1.0)])), "it fails"
    course = comparisons(j.all_of([j.monotone("x", [0.0, 1.0], [wide, Estimate.of([3.0, 2.0, 3.0])], "rising")]))
    assert len(Tags(course).of("open")) == 2, "of a trend each dot"
    several = comparisons(j.all_of([j.at_most("x", wide, limit) for limit in (5.0, 4.0, -1.0)]))
    assert "1 of 3 comparisons hold, 1 is undecided, 3 replications" in Tags(several).text


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ([5.0] * 10, "4 more comparisons, which hold"),
        ([4.0] * 10, "4 more comparisons, which are undecided"),
        ([-1.0] * 10, "4 more comparisons, which fail"),
        ([5.0, 4.0] * 5 + [4.0] * 2, "6 more comparisons, some of which are undecided"),
        ([-1.0] * 7 + [5.0] * 3, "4 more comparisons, some of which fail"),
    ],
)
def test_folded_comparisons_are_summed_up(limits: list[float], said: str) -> None:
    """2 ± 2.5 holds below 5, is undecided at 4 and fails below -1.

    What fails comes first, then what is undecided.
    """
    wide = Estimate.of([1.0, 2.0, 3.0])
    assert said in Tags(comparisons(j.all_of([j.at_most("x", wide, limit) for limit in limits]))).text


def test_nearly_equal_numbers_are_beside_each_other() -> None:
    """0.994 and 0.997 differ by 0.3 %: the scale is 10 % of the largest wide, with margins."""
    near = j.ordered({"a": Estimate.of([0.994]), "b": Estimate.of([0.997])}, unit="Mbit/s")
    places = [
        float(m) for m in re.findall(r'class="dot s\d" style="--c:#\w+;left:([\d.]+)%', comparisons(j.all_of([near])))
    ]
    assert 0 < places[1] - places[0] < 3.1


@pytest.mark.parametrize(
    ("low", "differ"),
    [(1.0, "67\u00a0%"), (2.0 - 1e-9, "less than 0.01\u00a0%"), (2.0, "0\u00a0%"), (-1.0, "600\u00a0%")],
)
def test_how_far_numbers_differ_has_no_exponent(low: float, differ: str) -> None:
    """The spread over the mean: of 1 and 2 it is 1 / 1.5, of -1 and 2 it is 3 / 0.5."""
    check = j.equal_within({"a": Estimate.of([low]), "b": Estimate.of([2.0])}, 15)
    assert f"they differ by {differ}<" in comparisons(j.all_of([check]))


def test_what_distinguishes_labels_has_no_punctuation_at_its_end() -> None:
    assert _series(("asked: moving / standing", "persistent: moving / standing")) == ("asked", "persistent")
    assert _series(("asked, moving", "persistent, moving")) == ("asked", "persistent")


def test_a_note_stands_once() -> None:
    few = Estimate.of([1.0, 1.1, 1.2])
    more = Estimate.of([3.0, 3.1, 3.2])
    found = j.all_of([j.ordered({f"a {q}": few, f"b {q}": more}) for q in range(10)])
    assert found.note.count("an order needs 10 replications") == 1


def test_names_are_escaped() -> None:
    evil = '<script>alert("x")</script>'
    checks = [
        j.in_band(evil, ONE, (0, 1)),
        j.holds(evil, passed=False),
        j.ordered({evil: ONE, f"{evil}b": THREE}),
        j.equal_within({evil: ONE, f"{evil}b": ONE}, 3),
        j.monotone(evil, [1, 2], [ONE, THREE], "rising"),
    ]
    html = comparisons(j.all_of(checks))
    assert not [tag for tag, _ in Tags(html).found if tag == "script"]
    assert "<script" not in html


def test_numbers_that_are_none_break_nothing() -> None:
    nan, inf = Estimate.of([float("nan")]), Estimate.of([float("inf")])
    checks = [
        j.in_band("n", nan, (0, 1)), j.at_most("i", inf, 1), j.ordered({"a": nan, "b": inf}),
        j.monotone("m", [1, 2], [nan, inf], "rising"), j.never("z", Estimate.of([0.0])),
    ]  # fmt: skip
    html = comparisons(j.all_of(checks))
    assert "left:nan" not in html
    assert "left:inf" not in html


def test_every_verdict_is_told_without_colour() -> None:
    assert "✓" in pill("agrees")
    assert "agrees" in pill("agrees")
    html = comparisons(j.all_of([j.at_most("x", ONE, 1.0)]))
    assert "fails: " in Tags(html).text


def test_the_source_is_marked_in_the_unit_of_ours() -> None:
    percent = j.all_of([j.in_band("share", Estimate.of([50.0]), (40.0, 60.0), unit="%")])
    assert "source: 47" in comparisons(percent, 0.47)
    seconds = j.all_of([j.in_band("delay", Estimate.of([50.0]), (40.0, 60.0), unit="ms")])
    assert "source" not in comparisons(seconds, 0.047)
    assert len(Tags(comparisons(percent, 0.47)).of("source")) == 1


def test_a_finding_without_comparisons_shows_its_text() -> None:
    assert "as <they> are".replace("<", "&lt;").replace(">", "&gt;") in comparisons(
        j.Finding("agrees", "as <they> are")
    )
    assert comparisons(j.not_testable("lost")) == ""
    assert "text" in comparisons(replace(j.Finding("agrees", "text"), note="n"))


def test_scales() -> None:
    assert Scale(0, 10).at(5) == 50
    assert Scale(0, 10).at(-5) == 0
    assert Scale(1, 100, log=True).at(10) == 50
    assert Scale(1, 100, log=True).at(0) == 0


def test_common_words() -> None:
    labels = ("goodput seamless 256 kB", "goodput lossless 256 kB")
    assert _common(labels, " < ") == "goodput 256 kB"
    assert _series(labels) == ("seamless", "lossless")
    assert _common(("reno", "cubic"), " < ") == "reno < cubic"
    assert _common(("a", "b", "c", "d"), " ≈ ") == "a ≈ … ≈ d"
    assert _series(("x", "x")) == ("x", "x")
    sizes = ("rate 45 kB", "rate 60 kB")
    assert (_common(sizes, " < "), _series(sizes)) == ("rate", ("45 kB", "60 kB")), "a unit stays with its number"


def test_what_was_asked_stands_beside_the_numbers() -> None:
    below = comparisons(j.all_of([j.ordered({"x AM": THREE, "x UM": ONE}, unit="Mbit/s")]))
    assert "asked: AM below UM" in below
    equal = comparisons(j.all_of([j.equal_within({"x a": ONE, "x b": Estimate.of([3.3])}, 15)]))
    assert "asked: equal within 15\u00a0% of their mean; they differ by 9.5\u00a0%" in equal
    course = comparisons(j.all_of([j.monotone("delay", [1, 2], [ONE, THREE], "rising", slack=0.5)]))
    assert "from 1 to 2; asked: rising, steps back of up to 0.5 accepted" in course
    unit = comparisons(j.all_of([j.in_band("x", THREE, (2.0, 3.0), unit="ms")]))
    assert "accepted: 2 to 3\u00a0ms" in unit
    sum_ = comparisons(j.all_of([j.exact("delta", 3.6, 3.6)]))
    assert "accepted: 3.6" in sum_
    assert "delta" in sum_


def test_the_numbers_of_the_source_are_beside_what_they_are_compared_with() -> None:
    finding = j.all_of([j.in_band("x", ONE, (0.5, 2.0)), j.in_band("y", THREE, (2.0, 4.0)), j.at_most("z", ONE, 5.0)])
    html = comparisons(finding, {"x": 1.1, "y": 2.9, "other": 1.0})
    assert html.count('class="source"') == 2
    assert "accepted: 0.5 to 2; source: 1.1" in html
    assert "accepted: 2 to 4; source: 2.9" in html
    # One number beside several comparisons would be of any of them.
    assert 'class="source"' not in comparisons(finding, 1.1)


def test_a_number_that_is_not_judged_decides_nothing() -> None:
    finding = j.all_of([j.given("beside", THREE), j.at_most("x", ONE, 5.0), j.at_most("y", ONE, 5.0)])
    assert finding.verdict == "agrees"
    html = comparisons(finding)
    assert "2 of 2 comparisons hold" in html
    assert "not judged" in html
    assert html.index("beside") > html.index("accepted")


def test_numbers_keep_their_units_on_the_line() -> None:
    assert (
        unbroken("at 5 % of 384 kbit/s, 5 msec, 3 +- 1 s")
        == "at 5\u00a0% of 384\u00a0kbit/s, 5 msec, 3\u00a0±\u00a01\u00a0s"
    )


def test_heads_of_columns_keep_numbers_and_units_on_a_line() -> None:
    html = _table(TableView("a", "A", ("TCP", "timeouts in 300 s"), (("Reno", "0"),)))
    assert "timeouts in 300\u00a0s" in html


def test_one_claim_differs_and_two_differ() -> None:
    assert counted(["agrees", "agrees", "differs", "undecided"]) == "2 agree, 1 differs, 1 undecided"
    assert counted(["agrees", "differs", "differs", "not-testable"]) == "1 agrees, 2 differ, 1 not testable"


def test_labels_are_said_in_words() -> None:
    words = Words({"max": "largest window"}, {"s": "small packets", "thr": "throughput", "westwood": "Westwood"})
    assert words("max") == "largest window"
    assert words("thr westwood s") == "throughput Westwood small packets"
    assert words("losses of westwood-plus") == "losses of westwood-plus", "a word within another one stays"
    assert words("yes") == "yes"
    card = comparisons(j.all_of([j.in_band("max", Estimate.of([2.5]), (2.0, 3.0))]), words=words)
    assert "largest window" in card


@pytest.mark.parametrize("folder", sorted(p.parent for p in BUNDLED.glob("*/claims.toml")), ids=lambda p: p.name)
def test_words_of_claims_are_texts(folder: Path) -> None:
    study = load_study(folder, quick=True)
    said = [text for claim in study.claims for text in (*claim.labels.values(), *claim.words.values())]
    assert all(text.strip() == text and text for text in said)


def _several(labels: tuple[str, ...], unit: str = "") -> j.Check:
    return j.ordered({label: Estimate.of([float(k + 1)]) for k, label in enumerate(labels)}, unit=unit)


def _marked(html: str) -> dict[str, set[str]]:
    """The class and the colour of each series, in the figure and beside its numbers.

    Both places in the same order.
    """
    found: dict[str, set[str]] = {}
    for plot, values in re.findall(r'<span class="plot(.*?)</span><span class="value">(.*?)</span></div>', html):
        beside = re.findall(r'<i class="(dot s\d)" style="--c:(#\w+)"></i> (.*?): ', values)
        drawn = re.findall(r'<i class="(dot s\d)" style="--c:(#\w+);left', plot)
        assert [tuple(mark) for *mark, _ in beside] == drawn
        for css, colour, name in beside:
            found.setdefault(name, set()).add(f"{css} {colour}")
    return found


def test_a_series_has_one_colour_wherever_it_stands_in_an_order() -> None:
    one, other = j.all_of([_several(("normal", "close"))]), j.all_of([_several(("close", "normal"))])
    words = Words({}, {"close": "close coupling"})
    marks = marks_of([named_series(one, words), named_series(other, words)])
    first, second = (_marked(comparisons(f, words=words, marks=marks)) for f in (one, other))
    assert first == second
    assert {name: len(found) for name, found in first.items()} == {"normal": 1, "close coupling": 1}
    assert first["normal"] != first["close coupling"]


def test_series_have_the_colours_of_the_figures_where_these_have_some() -> None:
    words = Words({}, {"queue": "loose coupling"})
    finding = j.all_of([_several(("goodput normal", "goodput queue"))])
    marks = marks_of([named_series(finding, words)], {"queue": "#D55E00", "close": "#009e73"})
    assert marks["loose coupling"].colour == "#d55e00"
    assert marks["normal"].colour not in ("#d55e00", "#009e73"), "what the figures leave free comes first"


def test_names_of_one_colour_that_share_a_card_have_other_shapes() -> None:
    card = named_series(j.all_of([_several(("AM", "UM")), _several(("Bic", "Hybla"))]))
    marks = marks_of([card], {"AM": "#0072b2", "Bic": "#0072b2", "UM": "#d55e00"})
    assert marks["AM"].colour == marks["Bic"].colour
    assert marks["AM"].shape != marks["Bic"].shape


def test_series_of_a_card_differ_while_there_are_colours() -> None:
    """Twelve series in pairs on six cards, more than there are colours.

    Then eight in one comparison.
    """
    cards = [named_series(j.all_of([_several((f"x{k}", f"y{k}")), _several((f"x{k}", "z"))])) for k in range(6)]
    marks = marks_of(cards)
    for card in cards:
        names = {said for line in card for _, said in line}
        assert len({marks[name].colour for name in names}) == len(names)
    eight = [named_series(j.all_of([_several(tuple("abcdefgh"))]))]
    drawn = marks_of(eight)
    assert set(drawn) == set("abcdefgh"), "one colour is there twice, with the same name it would be one series"
    assert len({mark.colour for mark in drawn.values()}) == len(OKABE_ITO)


@pytest.mark.parametrize("folder", sorted(p.parent for p in BUNDLED.glob("*/study.py")), ids=lambda p: p.name)
def test_cards_of_bundled_studies_have_the_colours_of_their_figures(folder: Path) -> None:
    assert len(load_study(folder, quick=True).colours) >= 2


def test_the_numbers_of_a_table_have_the_words_of_the_card() -> None:
    words = Words({"rate / normal": "goodput of R*RTT over that of normal TCP"}, {"normal": "normal TCP"})
    band = j.at_most("rate / normal", ONE, 5.0)
    order = j.ordered({"goodput, normal, 45 kB": ONE, "goodput, close, 45 kB": Estimate.of([4.0])}, unit="Mbit/s")
    said = in_words(j.all_of([band, order]), words).replace("\u00a0", " ")
    assert said == ("goodput of R*RTT over that of normal TCP: 3; goodput, 45 kB: normal TCP 3 Mbit/s, close 4 Mbit/s")
    many = j.all_of([j.at_most(f"c{i}", ONE, 5.0) for i in range(5)] + [j.at_most("wrong", ONE, 1.0)])
    assert in_words(many) == "wrong: 3; and 5 more", "what does not hold is worth reading"
    assert in_words(j.Finding("agrees", "as it is")) == "as it is"
    falling = j.monotone("rate", [0, 5], [Estimate.of([9.0]), Estimate.of([3.0])], "falling")
    said = in_words(j.all_of([falling]), Words({"rate": "goodput over the loss"}, {})).replace("\u00a0", " ")
    assert said == "goodput over the loss: 9 at 0, 3 at 5"
