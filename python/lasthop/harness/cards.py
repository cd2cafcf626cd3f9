"""A claim of a study as a card: statement, test, figure, verdict.

The figure shows our value beside that of the source.

The figure is HTML: a line for each comparison with its numbers as dots with 95 % intervals over
what the claim accepts. Comparisons that rank or equate numbers of one unit share a scale. One
number with a band has a scale of its own, on which the band has a third of the width: the question
is whether the dot is within it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup

from lasthop.harness.stats import plain
from lasthop.plot import OKABE_ITO

if TYPE_CHECKING:
    from lasthop.harness.judge import Check, Finding, Shown

#: Verdicts in the order of the overview, with the class and the sign of each.
VERDICTS: dict[str, tuple[str, str]] = {
    "agrees": ("good", "✓"),
    "differs": ("bad", "✗"),
    "undecided": ("unclear", "?"),
    "ambiguous": ("unclear", "≈"),
    "not-testable": ("mute", "–"),
}
#: From so many replications on nothing is said of their number.
ENOUGH = 10
#: With more lines than these the card shows the first ones (what fails comes first) and folds the
#: others.
LINES, SHOWN = 8, 6
#: Of a reading or an ablation with more lines than these those are shown that come out otherwise
#: than on the card.
SAME = 3
#: A shared scale is no narrower than this share of its largest mean: numbers that are nearly equal
#: look so.
NARROWEST = 0.1
#: Shapes of dots, which the style sheet draws: colours alone do not distinguish series.
SHAPES = 5
#: From this ratio of the largest to the smallest mean on, a shared scale is logarithmic.
LOGARITHMIC = 30.0


def pill(verdict: str) -> Markup:
    """A verdict as a coloured word with its sign."""
    css, sign = VERDICTS[verdict]
    return Markup('<span class="pill {}"><span aria-hidden="true">{}</span> {}</span>').format(css, sign, verdict)


class Words:
    """The words for labels of comparisons, for a reader who does not have the paper at hand."""

    def __init__(self, labels: Mapping[str, str], words: Mapping[str, str]) -> None:
        """`labels` are for whole labels, `words` for single words of the others."""
        self._labels, self._words = labels, words
        longest = sorted(words, key=len, reverse=True)
        self._pattern = re.compile(rf"(?<![\w.-])(?:{'|'.join(map(re.escape, longest))})(?![\w-])") if words else None

    def __call__(self, label: str) -> str:
        """A label in words; a number and its unit stay on one line."""
        if label in self._labels:
            said = self._labels[label]
        else:
            said = label if self._pattern is None else self._pattern.sub(lambda m: self._words[m[0]], label)
        return unbroken(said)


PLAIN = Words({}, {})

_UNITS = "%|ms|s|kB|KB|MB|B|kbit/s|Mbit/s|bit/s|dB|TTI|TTIs|segments|Hz|m"


def unbroken(text: str) -> str:
    """The text with no-break spaces between numbers and units, and with ± instead of +-."""
    kept = re.sub(rf"(?<=\d) (?=(?:{_UNITS})(?![\w/]))", "\u00a0", text.replace("+-", "±"))
    return kept.replace(" ± ", "\u00a0±\u00a0")


@dataclass(frozen=True)
class Mark:
    """How a series is drawn: a colour, and the number of a shape."""

    colour: str
    shape: int


def named_series(finding: Finding, words: Words = PLAIN) -> list[tuple[tuple[str, str], ...]]:
    """For each comparison of several series, their names in labels and in words.

    Each of these series has a dot.
    """
    several = (tuple(s.label for s in c.shown) for c in finding.checks if c.relation in ("order", "equal"))
    return [tuple((name, words(name)) for name in _series(labels)) for labels in several]


def marks_of(
    cards: Iterable[Sequence[Sequence[tuple[str, str]]]], fixed: Mapping[str, str] | None = None
) -> dict[str, Mark]:
    """A colour and a shape for each series of a report, by its name in words.

    They are the same in all cards of the report.

    A series without a fixed colour takes one that no other series has. If there is none, it takes a
    colour that no other series on its cards has, and otherwise one that no other series in its
    comparisons has.

    Args:
        cards: for each card the series of each of its comparisons, as `named_series` has them.
        fixed: colours that figures of the study give to names in labels.
    """
    fixed = {name: colour.lower() for name, colour in (fixed or {}).items()}
    every = [list(card) for card in cards]
    taken = {said: fixed[name] for card in every for line in card for name, said in line if name in fixed}
    ours = [colour.lower() for colour in OKABE_ITO]
    # What the figures leave free comes first.
    palette = list(dict.fromkeys([*(c for c in ours if c not in fixed.values()), *ours, *fixed.values()]))
    beside = _neighbours(line for card in every for line in card)
    near = _neighbours([name for line in card for name in line] for card in every)
    # Those with the most neighbours choose first: they have the least choice.
    for said in sorted((n for n in beside if n not in taken), key=lambda n: (-len(beside[n]), -len(near[n]))):
        ruled_out = (set(taken), near[said], beside[said], set[str]())
        used = ({taken[n] for n in names if n in taken} for names in ruled_out)
        taken[said] = next(found[0] for colours in used if (found := [c for c in palette if c not in colours]))
    marks: dict[str, Mark] = {}
    for said, colour in taken.items():
        # Figures may give one colour to two names that share a card: then their shapes differ.
        shapes = [(palette.index(colour) + k) % SHAPES for k in range(SHAPES)]
        near_ones = {marks[name] for name in near[said] if name in marks}
        marks[said] = next((m for k in shapes if (m := Mark(colour, k)) not in near_ones), Mark(colour, shapes[0]))
    return marks


def _neighbours(together: Iterable[Sequence[tuple[str, str]]]) -> dict[str, set[str]]:
    """For each name that is said those with which it stands together.

    In the order of their first appearance.
    """
    found: dict[str, set[str]] = {}
    for names in together:
        said = dict.fromkeys(said for _, said in names)
        for one in said:
            found.setdefault(one, set()).update(set(said) - {one})
    return found


def comparisons(
    finding: Finding,
    paper: float | Mapping[str, float] | None = None,
    words: Words = PLAIN,
    *,
    base: Finding | None = None,
    few: bool = True,
    marks: Mapping[str, Mark] | None = None,
) -> Markup:
    """The comparisons of a finding as lines of a figure, or its text where it has none.

    Args:
        finding: the comparisons.
        paper: the source's number, marked where the finding judges one number only; or the source's
            numbers, by the labels of the values with which they are compared.
        words: the words for labels.
        base: for a reading or an ablation, the finding on the card. If there are many comparisons,
            those with the same result as on the card are left out.
        few: whether to say that there are fewer replications than `ENOUGH`. In the quick form the
            report says it once.
        marks: how series are drawn, by their names in words, as `marks_of` gives it for a whole
            report; None: as `marks_of` gives it for this finding alone.
    """
    if marks is None:
        marks = marks_of([named_series(finding, words)])
    checks = list(finding.checks)
    if not checks:
        return Markup('<p class="ours">{}</p>').format(finding.text) if finding.text != "-" else Markup("")
    same = ""
    if base is not None and len(checks) > SAME:
        known = {_compared(c): c.held for c in base.checks}
        others = [c for c in checks if _compared(c) not in known or known[_compared(c)] is not c.held]
        if left := len(checks) - len(others):
            same = f", {left} come{'s' if left == 1 else ''} out as above{' (not shown)' if others else ''}"
        checks = others
    # What fails comes first, what is not judged last.
    checks.sort(key=lambda c: (c.relation == "given", (False, None, True).index(c.held)))
    scales = _shared(checks)
    lines = [
        _line(check, scales.get(_group(check)), _of_source(paper, check, checks), words, marks) for check in checks
    ]
    count = ""
    judged = [c for c in finding.checks if c.relation != "given"]
    n = _counts(finding, few) + same
    if len(judged) > 1:
        held, left = (sum(c.held is which for c in judged) for which in (True, None))
        open_ = f", {left} {'is' if left == 1 else 'are'} undecided" if left else ""
        count = Markup('<p class="count">{} of {} comparisons hold{}{}</p>').format(held, len(judged), open_, n)
    elif n:
        count = Markup('<p class="count">{}</p>').format(n.strip(" ,"))
    shown = len(lines) if len(lines) <= LINES else SHOWN
    first = Markup('<div class="dots">{}</div>').format(Markup("").join(lines[:shown])) if lines else Markup("")
    more = Markup("")
    if len(lines) > shown:
        rest = [check.held for check in checks[shown:]]
        what = _folded(rest)
        more = Markup('<details><summary>{} more comparisons, {}</summary><div class="dots">{}</div></details>').format(
            len(lines) - shown, what, Markup("").join(lines[shown:])
        )
    return Markup("{}{}{}").format(count, first, more)


def in_words(finding: Finding, words: Words = PLAIN) -> str:
    """The numbers of a finding in a cell of a table.

    If there are many comparisons, only those that do not hold, if any.
    """
    judged = [c for c in finding.checks if c.relation != "given"]
    if not judged:
        return unbroken(finding.text)
    failed = [c for c in judged if c.held is not True]
    shown = judged if len(judged) <= SAME else (failed or judged)[:SAME]
    text = "; ".join(_numbers(check, words) for check in shown)
    left = len(judged) - len(shown)
    return f"{text}; and {left} more" if left else text


def in_columns(findings: Sequence[Finding], words: Words = PLAIN) -> tuple[list[str], list[list[str]]] | None:
    """The numbers of findings of equal comparisons: a name for each column, a row for each finding.

    None: the findings have different comparisons, no comparisons, or more than `SAME`.
    """
    judged = [[c for c in finding.checks if c.relation != "given"] for finding in findings]
    compared = {tuple(_compared(c) for c in checks) for checks in judged}
    if len(compared) != 1 or not 1 <= len(judged[0]) <= SAME or not all(c.shown for c in judged[0]):
        return None
    parts = [[_named_numbers(check, words) for check in checks] for checks in judged]
    names = [name for name, _ in parts[0]]
    return (names, [[numbers for _, numbers in row] for row in parts]) if all(names) else None


def compared(check: Check, words: Words = PLAIN) -> str:
    """The subject of a comparison, in the words of the card."""
    return _named_numbers(check, words)[0] or ", ".join(words(n) for n in _series([s.label for s in check.shown]))


def _numbers(check: Check, words: Words) -> str:
    """The numbers of one comparison with their names."""
    return ": ".join(filter(None, _named_numbers(check, words)))


def _named_numbers(check: Check, words: Words) -> tuple[str, str]:
    """The subject of one comparison, and its numbers; a statement has only a name."""
    labels = tuple(s.label for s in check.shown)
    values = [unbroken(s.value.text(check.digits, check.unit)) for s in check.shown]
    if check.relation == "band":
        return words(labels[0]), values[0]
    if check.relation == "trend":
        name = _before_numbers(check.text)
        return words(name), unbroken(check.text[len(name) :].strip())
    if check.relation not in ("order", "equal"):
        return words(check.text), ""
    first, last = _shared_words(labels)
    before = words(_common(labels, "")) if first + last else ""
    return before, ", ".join(f"{words(n)} {v}" for n, v in zip(_series(labels), values, strict=True))


def _folded(held: Sequence[bool | None]) -> str:
    """What the line over folded comparisons says of them."""
    if len(set(held)) == 1:
        return {True: "which hold", False: "which fail", None: "which are undecided"}[held[0]]
    return "some of which fail" if False in held else "some of which are undecided"


def _compared(check: Check) -> tuple[str, ...]:
    """What a comparison is of, whatever came of it."""
    return (check.relation, *(s.label for s in check.shown)) if check.shown else (check.relation, check.text)


def _of_source(paper: float | Mapping[str, float] | None, check: Check, checks: Sequence[Check]) -> float | None:
    """The source's number for one of the comparisons of a finding, if it has one."""
    if check.relation != "band":
        return None
    if isinstance(paper, Mapping):
        return _comparable(paper.get(check.shown[0].label), check)
    return _comparable(paper, check) if len(checks) == 1 else None


def _comparable(paper: float | None, check: Check) -> float | None:
    """The source's number in the unit of the comparison.

    A share may be stated where ours is in per cent.
    """
    edges = [e for e in (check.shown[0].low, check.shown[0].high) if math.isfinite(e) and e]
    for factor in (1.0, 100.0) if check.unit == "%" else (1.0,):
        # A number in another unit (s for ms) is not marked: it would be far from what is accepted.
        if paper is not None and any(0.4 < paper * factor / edge < 2.5 for edge in edges):
            return paper * factor
    return None


def _counts(finding: Finding, few: bool) -> str:
    ns = sorted({value.n for value in finding.values.values()})
    if not ns:
        return ""
    spread = f"{ns[0]}" if len(ns) == 1 else f"{ns[0]} to {ns[-1]}"
    remark = f" (fewer than {ENOUGH})" if few and ns[0] < ENOUGH else ""
    return f", {spread} replication{'' if ns[-1] == 1 else 's'}{remark}"


@dataclass(frozen=True)
class Scale:
    """Where a number lies between the ends of a figure, in per cent of its width."""

    low: float
    high: float
    log: bool = False

    def at(self, x: float) -> float:
        """The place of a number; a number beyond an end is at the end."""
        if self.log:
            if x <= 0:
                return 0.0
            part = math.log(x / self.low) / math.log(self.high / self.low)
        else:
            part = (x - self.low) / (self.high - self.low)
        return round(min(max(part, 0.0), 1.0) * 100, 2)


def _scale(values: Sequence[float], log: bool = False) -> Scale:
    low, high = min(values), max(values)
    if log:
        return Scale(low / 1.3, high * 1.3, True)
    if low == high:
        span = abs(low) or 1.0
        return Scale(low - span / 2, high + span / 2)
    margin = (high - low) * 0.08
    # What cannot be negative does not show a negative part of its axis.
    return Scale(max(low - margin, 0.0) if low >= 0 else low - margin, high + margin)


def _group(check: Check) -> str | None:
    """What comparisons with a common scale have in common.

    None: this one has a scale of its own.
    """
    return check.unit if check.relation in ("order", "equal") else None


def _shared(checks: Sequence[Check]) -> dict[str | None, Scale]:
    found: dict[str | None, Scale] = {}
    for group in {g for c in checks if (g := _group(c)) is not None}:
        shown = [s for c in checks if _group(c) == group for s in c.shown]
        means = [s.value.mean for s in shown if math.isfinite(s.value.mean)]
        if not means:
            continue
        if min(means) > 0 and max(means) / min(means) > LOGARITHMIC:
            found[group] = _scale(means, log=True)
        else:
            ends = [e for s in shown for e in (s.value.ci95 or (s.value.mean,)) if math.isfinite(e)]
            floor = 0.0 if min(means) >= 0 else -math.inf
            numbers = [max(e, floor) for e in [*ends, *means]]
            least = NARROWEST * max(abs(m) for m in means)
            if 0 < max(numbers) - min(numbers) < least:
                middle = (max(numbers) + min(numbers)) / 2
                numbers += [middle - least / 2, middle + least / 2]
            found[group] = _scale(numbers)
    return found


def _own(shown: Shown, paper: float | None) -> Scale:
    """The scale of one number with a band.

    All of it, the band's finite ends, and the source's number are on it.
    """
    ends = [shown.value.mean, *(shown.value.ci95 or ())]
    edges = [e for e in (shown.low, shown.high) if math.isfinite(e)]
    values = [e for e in [*ends, *edges, *([paper] if paper is not None else [])] if math.isfinite(e)]
    if not values:
        return Scale(0.0, 1.0)
    if len(edges) == 2 and edges[0] < edges[1]:
        width = edges[1] - edges[0]
        values += [edges[0] - width, edges[1] + width]
    elif edges:
        distance = max(abs(v - edges[0]) for v in values) or abs(edges[0]) or 1.0
        values += [edges[0] - distance, edges[0] + distance]
    low, high = min(values), max(values)
    if high - low < 1e-6 * max(abs(low), abs(high)):  # but for rounding the same
        return _scale([round(high, 9)])
    positive = all(v >= 0 for v in ends) and all(e >= 0 for e in edges)
    margin = (high - low) * 0.04 or 0.5
    return Scale(max(low - margin, 0.0) if positive else low - margin, high + margin)


def _line(check: Check, scale: Scale | None, paper: float | None, words: Words, marks: Mapping[str, Mark]) -> Markup:
    held = {True: "good", False: "bad", None: "unclear"}[check.held]
    sign = {True: "✓", False: "✗", None: "?"}[check.held]
    said = {True: "holds", False: "fails", None: "undecided"}[check.held]
    if check.relation == "given":
        held, sign, said = "mute", "", "not judged"
    mark = Markup('<span class="sign {}" title="{}"><span aria-hidden="true">{}</span></span>').format(held, said, sign)
    said_hidden = Markup('<span class="hidden">{}: </span>').format(said)
    if not check.shown or check.relation == "fact":
        return Markup('<div class="dot-line fact">{}<span class="label">{}{}</span></div>').format(
            mark, said_hidden, words(check.text)
        )
    if check.relation == "trend":
        label, plot, value = _before_numbers(check.text), _course(check, held), _ends(check)
    elif check.relation in ("band", "given"):
        (shown,) = check.shown
        label = shown.label
        plot = _plot(check, _own(shown, paper), held, paper, ())
        value = Markup("{}<small>{}</small>").format(
            unbroken(shown.value.text(check.digits, check.unit)),
            "not judged" if check.relation == "given" else unbroken(_accepted(check, paper)),
        )
    else:
        label = _common(tuple(s.label for s in check.shown), " < " if check.relation == "order" else " ≈ ")
        names = [words(name) for name in _series(tuple(s.label for s in check.shown))]
        plot = _plot(check, scale or Scale(0.0, 1.0), held, None, [marks[name] for name in names])
        value = _compared_values(check, names, marks)
    return Markup(
        '<div class="dot-line">{}<span class="label">{}{}</span>{}<span class="value">{}</span></div>'
    ).format(mark, said_hidden, words(label), plot, value)


def _dot(mark: Mark, place: str = "") -> Markup:
    """A dot of a series."""
    return Markup('<i class="dot s{}" style="--c:{}{}"></i>').format(mark.shape, mark.colour, place)


def _compared_values(check: Check, names: Sequence[str], marks: Mapping[str, Mark]) -> Markup:
    """The numbers of a comparison, each with what it is, and what the claim requires of them."""
    lines = Markup("<br>").join(
        Markup("{} {}: {}").format(_dot(marks[name]), name, unbroken(shown.value.text(check.digits, check.unit)))
        for name, shown in zip(names, check.shown, strict=True)
    )
    if check.relation == "equal":
        asked = check.asked
    elif len(names) == 2:
        asked = f"{names[0]} below {names[1]}"
    else:
        asked = "each below the next"
    return Markup("{}<small>asked: {}</small>").format(lines, unbroken(asked)) if asked else lines


def _accepted(check: Check, paper: float | None) -> str:
    low, high = check.shown[0].low, check.shown[0].high
    after = f" {check.unit}" if check.unit else ""
    if low == high:
        text = f"accepted: {plain(low)}{after}"
    elif math.isinf(low):
        text = f"accepted: at most {plain(high)}{after}"
    elif math.isinf(high):
        text = f"accepted: {'above' if check.strict else 'from'} {plain(low)}{after}"
    else:
        text = f"accepted: {plain(low)} to {plain(high)}{after}"
    return text + (f"; source: {plain(paper)}{after}" if paper is not None else "")


def _plot(check: Check, scale: Scale, held: str, paper: float | None, marks: Sequence[Mark]) -> Markup:
    parts = []
    for shown in check.shown:
        if math.isfinite(shown.low) or math.isfinite(shown.high):
            left = scale.at(shown.low) if math.isfinite(shown.low) else 0.0
            right = scale.at(shown.high) if math.isfinite(shown.high) else 100.0
            parts.append(
                Markup('<i class="band" style="left:{}%;width:{}%"></i>').format(left, max(round(right - left, 2), 0.6))
            )
    if paper is not None:
        parts.append(Markup('<i class="source" style="left:{}%" title="source"></i>').format(scale.at(paper)))
    for k, shown in enumerate(check.shown):
        mean = shown.value.mean
        if not math.isfinite(mean):
            continue
        left, right = (scale.at(e) for e in shown.value.ci95 or (mean, mean))
        if right > left:
            parts.append(
                Markup('<i class="ci" style="left:{}%;width:{}%;--row:{}"></i>').format(
                    left, round(right - left, 2), k if marks else 0.5
                )
            )
        if marks:
            parts.append(_dot(marks[k], f";left:{scale.at(mean)}%;--row:{k}"))
        else:
            # Hollow: its interval has values that the claim accepts and values that it does not.
            kind = f"{held} open" if check.held is None else held
            parts.append(Markup('<i class="dot {}" style="left:{}%;--row:0.5"></i>').format(kind, scale.at(mean)))
    rows = max(len(check.shown), 2)
    plot = Markup('<span class="plot" style="--rows:{}">{}</span>').format(rows, Markup("").join(parts))
    return Markup('<span class="strip" aria-hidden="true">{}{}</span>').format(plot, _edges(scale))


def _edges(scale: Scale) -> Markup:
    """The numbers at both ends of a scale, and in its middle where it is logarithmic."""
    places = [scale.low, math.sqrt(scale.low * scale.high), scale.high] if scale.log else [scale.low, scale.high]
    return Markup('<span class="edges">{}</span>').format(
        Markup("").join(Markup("<span>{}</span>").format(plain(x, 3).replace("-", "−")) for x in places)
    )


def _course(check: Check, held: str) -> Markup:
    """The means of a trend as a line from left to right."""
    ys = [s.value.mean for s in check.shown]
    scale = _scale([y for y in ys if math.isfinite(y)] or [0.0])
    n = len(ys)
    points = [(round((i + 0.5) / n * 100, 2), round(22 - scale.at(y) * 0.2, 2)) for i, y in enumerate(ys)]
    line = " ".join(f"{x},{y}" for x, y in points)
    kind = f"{held} open" if check.held is None else held
    dots = Markup("").join(
        Markup('<i class="dot {}" style="left:{}%;top:{}px" title="{}"></i>').format(
            kind, x, y, f"at {s.label}: {s.value.text()}"
        )
        for (x, y), s in zip(points, check.shown, strict=True)
    )
    return Markup(
        '<span class="strip" aria-hidden="true"><span class="plot course"><svg viewBox="0 0 100 24" '
        'preserveAspectRatio="none"><polyline points="{}"/></svg>{}</span></span>'
    ).format(line, dots)


def _ends(check: Check) -> Markup:
    first, last = check.shown[0], check.shown[-1]
    ends = f"{plain(first.value.mean, 3)} → {plain(last.value.mean, 3)}"
    asked = f"; asked: {check.asked}" if check.asked else ""
    return Markup("{}<small>from {} to {}{}</small>").format(ends, first.label, last.label, asked)


def _before_numbers(text: str) -> str:
    """The name before the first number of a text such as `delay 1.2 at 64, 3.4 at 128`."""
    words = text.split(" ")
    end = next((i for i, word in enumerate(words) if word[:1] in "-0123456789"), len(words))
    return " ".join(words[:end]) or text


def _common(labels: Sequence[str], sign: str) -> str:
    """What labels have in common at their start and end.

    Of `goodput a 64 kB` and `goodput b 64 kB` it is: goodput 64 kB.

    What distinguishes them stands beside their numbers; it is the label where they have nothing in
    common.
    """
    first, last = _shared_words(labels)
    words = labels[0].split(" ")
    common = " ".join([*words[:first], *words[len(words) - last :]]).rstrip(",:;")
    series = _series(labels)
    return common or (sign.join(series) if len(series) < 4 else f"{series[0]}{sign}…{sign}{series[-1]}")


def _series(labels: Sequence[str]) -> tuple[str, ...]:
    """What distinguishes labels: the words that they do not have in common."""
    first, last = _shared_words(labels)
    own = (" ".join(label.split(" ")[first : len(label.split(" ")) - last]) for label in labels)
    return tuple(words.rstrip(",:;") for words in own)


def _shared_words(labels: Sequence[str]) -> tuple[int, int]:
    """How many words at the start, and then at the end, all labels share.

    Each keeps one of its own.
    """
    words = [label.split(" ") for label in labels]
    shortest = min(map(len, words))
    first = 0
    while first < shortest - 1 and len({w[first] for w in words}) == 1:
        first += 1
    last = 0
    while last < shortest - 1 - first and len({w[-1 - last] for w in words}) == 1:
        last += 1
    # A unit belongs to its number: of `a 45 kB` and `a 60 kB` not `a kB` is common, but `a`.
    if last and all(w[-1 - last][:1].isdigit() for w in words):
        last = 0
    return first, last
