"""The HTML report of a study: verdicts on one screen, then a card for each claim.

Figures, tables and parameters follow.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from lasthop.harness.cards import (
    VERDICTS,
    Mark,
    Words,
    compared,
    comparisons,
    in_columns,
    in_words,
    marks_of,
    named_series,
    pill,
    unbroken,
)
from lasthop.harness.definition import KINDS
from lasthop.report import figure_svg, page, section, table_html

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lasthop.harness.definition import Claim, Study
    from lasthop.harness.judge import Finding, Verdict
    from lasthop.harness.result import ClaimResult, Evidence, Figure, TableView

#: A number, with half its interval and its unit.
_NUMBER = re.compile(r"(nan|-|[-+]?\d+(,\d{3})*(\.\d+)?(e[-+]?\d+)?( ± <?[\d.]+(e[-+]?\d+)?)?)( ?[%a-zA-Z/]+)?")
#: A table with more columns has smaller letters, one with more rows is folded: `data/` has its
#: numbers.
COLUMNS, ROWS = 9, 24
#: In a table of up to so many columns a number and its interval stay on one line.
ROOM = 11
#: What a parameter set's claims come to, as the overview says it.
COUNTS: dict[Verdict, str] = {
    "agrees": "agree",
    "differs": "differ",
    "undecided": "undecided",
    "ambiguous": "ambiguous",
    "not-testable": "not testable",
}


def study_report(
    study: Study,
    evidence: Evidence,
    figures: Sequence[Figure],
    tables: Sequence[TableView],
    config: Mapping[str, Any],
) -> str:
    """The whole page."""
    (main, main_claims), *others = _main_first(evidence)
    look = _Look(_marks(study, evidence), _anchors(figures, tables))
    parts = [
        _overview(study, evidence),
        _terms(study),
        _claims(f'Claims under the parameter set "{main}"', study, main, main_claims, look),
        _figures(figures),
        *(_table(t) for t in tables),
        *(_folded_claims(study, name, results, look) for name, results in others),
        _readings(study, evidence),
        _unexplained(study, evidence),
        _sensitivity(study, evidence),
        _parameters(study, evidence),
        _echo(config),
        _groups(study, evidence),
    ]
    form = "quick form" if study.quick else "full form"
    return page(f"{study.name}: {study.title}", _join(parts), f"{study.source} · {form}")


@dataclass(frozen=True)
class _Look:
    """What all cards of a page share."""

    #: How each series is drawn.
    marks: Mapping[str, Mark]
    #: Where figures and tables are in the page, by their names in lower case.
    anchors: Mapping[str, str]


def _anchors(figures: Sequence[Figure], tables: Sequence[TableView]) -> dict[str, str]:
    """Anchors of figures and tables by the names that claims give them.

    `Figure 5a (calibrated)` and `Figure 5a` are figure 5a, `LH-1: a lossless handover` is LH-1.
    """
    found: dict[str, str] = {}
    for f in figures:
        name = re.split(r"[:(,.]", f.title)[0].strip().lower()
        for said in (name, f"figure {name}", f.name.lower(), f"figure {f.name.lower()}"):
            found.setdefault(said, f"figure-{f.name}")
    for t in tables:
        name = re.split(r"[:(,.]", t.title)[0].strip().lower()
        for said in (name, f"table {name}", t.name.lower(), f"table {t.name.lower()}"):
            found.setdefault(said, t.name)
    return found


def _marks(study: Study, evidence: Evidence) -> dict[str, Mark]:
    """How series are drawn on all cards.

    In the colours that the study's figures give them, if it names those.
    """
    cards = []
    for _, results in _main_first(evidence):
        for r in results:
            words = Words(r.claim.labels, r.claim.words)
            found = [r.finding, *([r.off] if r.off else []), *r.readings.values(), *(f for _, f in r.ablations)]
            cards.append([line for finding in found for line in named_series(finding, words)])
    return marks_of(cards, study.colours)


def _overview(study: Study, evidence: Evidence) -> Markup:
    """What the study found, on one screen.

    A tile for each claim, one row of tiles for each parameter set.
    """
    rows = []
    for name, results in _main_first(evidence):
        main = " (the main set)" if name == evidence.main_set and len(evidence.claims) > 1 else ""
        tiles = _join(
            Markup(
                '<a class="tile {}" href="#{}" title="{}"><span aria-hidden="true">{}</span> {}<span class="hidden">'
                ": {}</span></a>"
            ).format(
                VERDICTS[r.finding.verdict][0],
                _anchor(name, r),
                r.claim.says,
                VERDICTS[r.finding.verdict][1],
                r.claim.id,
                r.finding.verdict,
            )
            for r in results
        )
        rows.append(
            Markup('<h3>{}{}: <span class="counts">{}</span></h3><p class="tiles">{}</p>').format(
                name, main, _counted(results), tiles
            )
        )
    text = Markup("<p>{}</p>").format(study.summary)
    if study.quick:
        text += Markup(
            '<p class="note"><strong>Quick form</strong>: fewer replications and shorter runs than the source\'s. '
            "Where they are too few, a claim is undecided. Full form: <code>lasthop study run {}</code>.</p>"
        ).format(study.name)
    key = Markup(" ").join(pill(v) for v in VERDICTS)
    legend = Markup('<p class="legend">{}</p>').format(key)
    return _section("Verdicts", text, _join(rows), legend, anchor="verdicts")


def _terms(study: Study) -> Markup:
    """What abbreviations and names mean: a reader may not have the paper at hand."""
    if not study.terms:
        return Markup("")
    rows = _join(Markup("<dt>{}</dt><dd>{}</dd>").format(term, meaning) for term, meaning in study.terms.items())
    return _section("Terms", Markup('<dl class="terms">{}</dl>').format(rows), anchor="terms")


def _abbreviated(study: Study, *texts: str) -> list[Markup]:
    """Texts of a card: in them each term carries what it means where it stands first."""
    if not study.terms:
        return [Markup("{}").format(unbroken(text)) for text in texts]
    longest = sorted(study.terms, key=len, reverse=True)
    pattern = re.compile(rf"(?<![\w.+-])({'|'.join(map(re.escape, longest))})(?![\w+-])")
    seen: set[str] = set()

    def piece(part: str, is_term: bool) -> Markup:
        if not is_term or part in seen:
            return Markup("{}").format(part)
        seen.add(part)
        return Markup('<abbr title="{}">{}</abbr>').format(study.terms[part], part)

    return [_join(piece(part, k % 2 == 1) for k, part in enumerate(pattern.split(unbroken(text)))) for text in texts]


def _tested(study: Study, claim: Claim, words: Words) -> str:
    """The test of a claim in words.

    A study whose tests have a notation of their own has a function that says them.
    """
    said = study.function("test_in_words")(claim) if hasattr(study.code, "test_in_words") else words(claim.test)
    return str(said).rstrip(".")


def _counted(results: Sequence[ClaimResult]) -> str:
    return counted([r.finding.verdict for r in results])


def counted(verdicts: Sequence[Verdict]) -> str:
    """How many claims have each verdict: "6 agree, 1 differs"."""
    counts = [(verdicts.count(v), v, words) for v, words in COUNTS.items()]
    return ", ".join(f"{n} {v.replace('-', ' ') if n == 1 else words}" for n, v, words in counts if n)


def _anchor(name: str, result: ClaimResult) -> str:
    return f"claim-{name}-{result.claim.id}"


def _claims(title: str, study: Study, name: str, results: Sequence[ClaimResult], look: _Look) -> Markup:
    single = {g.one_run: g for g in study.groups if g.seeds == 1 and g.one_run}
    whose = {
        reason: ", ".join(r.claim.id for r in results if group.name in r.claim.groups)
        for reason, group in single.items()
    }
    enough = _join(
        Markup('<p class="mute">One run of each point is enough for {}: {}.</p>').format(ids, reason)
        for reason, ids in whose.items()
        if ids
    )
    cards = _join(_card(study, name, r, look) for r in results)
    diamond = ", a diamond the source's number" if 'class="source"' in cards else ""
    return _section(title, _HOW.format(diamond), enough, cards, anchor=f"claims-{name}")


def _folded_claims(study: Study, name: str, results: Sequence[ClaimResult], look: _Look) -> Markup:
    cards = _join(_card(study, name, r, look) for r in results)
    fold = Markup("<details><summary>{} claims: {}</summary>{}</details>").format(
        len(results), _counted(results), cards
    )
    return _section(f'Claims under the parameter set "{name}"', fold, anchor=f"claims-{name}")


def _card(study: Study, name: str, result: ClaimResult, look: _Look) -> Markup:
    marks = look.marks
    claim, finding = result.claim, result.finding
    words = Words(claim.labels, claim.words)
    says, test, about = _abbreviated(study, claim.says, _tested(study, claim, words), claim.about)
    parts = [
        Markup('<header><h3>{}</h3><span class="mute">{}</span>{}</header>').format(
            claim.id, KINDS[claim.kind], pill(finding.verdict)
        ),
        Markup('<p class="says">{}</p>').format(says),
        Markup('<p class="test"><b>Test:</b> {}.</p>').format(test),
        Markup('<p class="test">{}</p>').format(about) if about else Markup(""),
        comparisons(finding, _numbers_of(claim.paper), words, few=not study.quick, marks=marks),
        _remark(result, look.anchors),
        _off(result, few=not study.quick, marks=marks),
        _folded_readings(study, result, marks),
        _folded_ablations(result, few=not study.quick, marks=marks),
        _folded_sensitivity(result),
    ]
    return Markup('<article class="claim" id="{}">{}</article>').format(_anchor(name, result), _join(parts))


def _numbers_of(paper: object) -> float | dict[str, float] | None:
    """What a claim has of the source in numbers: one, or several by the labels of comparisons."""
    if isinstance(paper, dict):
        return {key: value for key, value in paper.items() if isinstance(_numbers_of(value), (int, float))}
    return paper if isinstance(paper, (int, float)) and not isinstance(paper, bool) else None


def _remark(result: ClaimResult, anchors: Mapping[str, str]) -> Markup:
    sentences = [Markup("{}.").format(_sentence(r)) for r in _remarks(result)]
    if seen := _seen(result.finding.evidence, anchors):
        sentences.append(Markup("See {}.").format(seen))
    return Markup('<p class="remark">{}</p>').format(Markup(" ").join(sentences)) if sentences else Markup("")


def _seen(evidence: Sequence[str], anchors: Mapping[str, str]) -> Markup:
    """The figures and tables of the page behind a claim; tables of its runs are not in the page."""
    links = [
        Markup('<a href="#{}">{}</a>').format(anchors[name.lower()], name)
        for name in evidence
        if name.lower() in anchors
    ]
    return Markup(", ").join(links)


def _sentence(remark: str) -> str:
    start = remark[:1] if remark.startswith("n = ") else remark[:1].upper()
    return start + remark[1:].rstrip(".")


def _remarks(result: ClaimResult) -> list[str]:
    """What is to be said beyond the figure, each once.

    The line of counts has the number of replications.
    """
    finding, switch = result.finding, result.claim.switch
    found = [note for check in finding.checks for note in check.note.split("; ") if note.startswith("one replication")]
    said = [r for r in finding.remarks if switch is None or not r.startswith(f"with {switch.name}:")]
    found += [r for r in said if not r.endswith("few replications") and not r.startswith("one run of each point")]
    if not finding.checks and finding.note and not finding.remarks:
        found.append(finding.note)
    return list(dict.fromkeys(found))


def _off(result: ClaimResult, few: bool, marks: Mapping[str, Mark]) -> Markup:
    """The same test without the mechanism: it must fail there."""
    if result.off is None or result.claim.switch is None:
        return Markup("")
    word = {"differs": "fails, as it must", "agrees": "passes too"}.get(result.off.verdict, f"is {result.off.verdict}")
    if result.off.verdict == "undecided" and result.finding.verdict == "undecided":
        word += ", and so is the claim"
    return Markup("<details><summary>Without the mechanism ({}) the test {}</summary>{}</details>").format(
        result.claim.switch.name,
        word,
        comparisons(result.off, words=Words(result.claim.labels, result.claim.words), few=few, marks=marks),
    )


def _folded_readings(study: Study, result: ClaimResult, marks: Mapping[str, Mark]) -> Markup:
    if not result.readings:
        return Markup("")
    about = {reading.name: reading.about for reading in study.readings}
    words = Words(result.claim.labels, result.claim.words)
    bodies = _join(
        Markup('<p><a href="#{}" title="{}">{}</a> {}</p>{}').format(
            _reading_anchor(name),
            about.get(name, ""),
            name,
            pill(f.verdict),
            comparisons(f, words=words, base=result.finding, few=not study.quick, marks=marks),
        )
        for name, f in result.readings.items()
    )
    judged = [f for f in result.readings.values() if f.verdict != "not-testable"]
    same = sum(f.verdict == result.finding.verdict for f in judged)
    lacking = len(result.readings) - len(judged)
    without = f"; {lacking} not testable here" if lacking else ""
    return Markup(
        "<details><summary>Other readings of the source: {} of {} give the same verdict{}</summary>{}</details>"
    ).format(same, len(judged), without, bodies)


def _reading_anchor(name: str) -> str:
    return f"reading-{re.sub(r'[^0-9A-Za-z]+', '-', name).strip('-').lower()}"


def _readings(study: Study, evidence: Evidence) -> Markup:
    """What the readings are that cards name, once for all of them."""
    judged = {name for results in evidence.claims.values() for r in results for name in r.readings}
    readings = [r for r in study.readings if r.name in judged]
    if not readings:
        return Markup("")
    text = _paragraph(
        "Where the source can be read in more than one way, claims are judged under the other readings too."
    )
    rows = _join(
        Markup('<dt id="{}">{}</dt><dd>{}</dd>').format(_reading_anchor(r.name), r.name, r.about) for r in readings
    )
    return _section(
        "Other readings of the source", text, Markup('<dl class="terms">{}</dl>').format(rows), anchor="readings"
    )


def _folded_ablations(result: ClaimResult, few: bool, marks: Mapping[str, Mark]) -> Markup:
    if not result.ablations:
        return Markup("")
    words = Words(result.claim.labels, result.claim.words)
    bodies = _join(
        Markup("<p><b>{}</b> {}{}: {} <small>{}</small></p>{}").format(
            a.name,
            pill(f.verdict),
            _turned(result.finding, f),
            a.about,
            ", ".join([*a.overrides, *(o for _, more in a.also for o in more)]),
            comparisons(f, words=words, base=result.finding, few=few, marks=marks),
        )
        for a, f in result.ablations
    )
    turned = sum(f.verdict == "agrees" for _, f in result.ablations)
    return Markup("<details><summary>Ablations: {} of {} {} the claim agree</summary>{}</details>").format(
        turned, len(result.ablations), "lets" if turned == 1 else "let", bodies
    )


def _turned(base: Finding, ablated: Finding) -> str:
    """How many of the comparisons that failed hold with the ablation."""
    if len(base.parts) < 2 or ablated.verdict == "agrees":
        return ""
    return f" (turns {len(base.turned_by(ablated))} of {len(base.failed)} that failed)"


def _folded_sensitivity(result: ClaimResult) -> Markup:
    # Of a claim whose runs are not repeated there is nothing to say.
    if all(c.finding.verdict == "not-testable" for c in result.sensitivity):
        return Markup("")
    verdicts = [c.finding.verdict for c in result.sensitivity]
    if result.finding.verdict == "undecided":
        # They may have one seed, by which nothing is undecided.
        said = f"of {len(verdicts)} changed values {counted(verdicts)}"
    else:
        same = verdicts.count(result.finding.verdict)
        said = f"{same} of {len(verdicts)} changed values give the same verdict"
    words = Words(result.claim.labels, result.claim.words)
    names, numbers = in_columns([c.finding for c in result.sensitivity], words) or (
        ["ours"],
        [[in_words(c.finding, words)] for c in result.sensitivity],
    )
    rows = [
        (c.value.name, c.value.text(c.factor), pill(c.finding.verdict), *ours)
        for c, ours in zip(result.sensitivity, numbers, strict=True)
    ]
    wide = "half" if len(names) == 1 else "wide"
    table = _html_table(("value", "is", "verdict", *names), rows, ["", "", "", *[wide] * len(names)])
    return Markup("<details><summary>Sensitivity: {}</summary>{}</details>").format(said, table)


def _figures(figures: Sequence[Figure]) -> Markup:
    # On a small screen a figure keeps its letters and is moved sideways.
    body = _join(
        figure_svg(
            f.figure,
            f"{f.title}{'' if f.title[-1:] in '.?!' else '.'} {f.caption}",
            wide=True,
            anchor=f"figure-{f.name}",
        )
        for f in figures
    )
    return _section("Figures", Markup('<div class="figures one">{}</div>').format(body), anchor="figures")


def _table(view: TableView) -> Markup:
    classes = ["num" if _numeric(view, i) else "" for i in range(len(view.headers))]
    has_room = len(view.headers) <= ROOM
    rows = [
        ["–" if str(cell) == "nan" else unbroken(cell) if has_room and isinstance(cell, str) else cell for cell in row]
        for row in view.rows
    ]
    body = _html_table([unbroken(header) for header in view.headers], rows, classes)
    if len(view.headers) > COLUMNS:
        body = Markup('<div class="dense">{}</div>').format(body)
    if len(rows) > ROWS:
        body = _folded(f"{len(rows)} rows", body)
    return _section(view.title, _paragraph(view.note), body, anchor=view.name)


def _numeric(view: TableView, column: int) -> bool:
    # A sentence, or the name of a version, may begin with a number, too.
    return all(_NUMBER.fullmatch(str(row[column])) for row in view.rows)


def _listed(names: Sequence[str]) -> Markup:
    """Names in a line; many are folded."""
    if len(names) <= 2:
        return Markup("{}").format("; ".join(names))
    items = _join(Markup("<li>{}</li>").format(name) for name in names)
    return Markup("<details><summary>{} comparisons</summary><ul>{}</ul></details>").format(len(names), items)


def _worded(result: ClaimResult, parts: Sequence[str]) -> list[str]:
    """Names of comparisons as the card says them. `D21.6` is the sixth one."""
    words = Words(result.claim.labels, result.claim.words)
    checks = {f"{result.claim.id}.{i}": check for i, check in enumerate(result.finding.checks, 1)}
    return [compared(checks[part], words) if part in checks else words(part) for part in parts]


def _unexplained(study: Study, evidence: Evidence) -> Markup:
    """What differs and no declared ablation turns."""
    left = [
        (_anchor(name, r), f"{r.claim.id} ({name})", _listed(_worded(r, parts)) if parts != [r.claim.id] else "")
        for name, results in _main_first(evidence)
        for r in results
        if any(a.under(study.parameter_set(name)) for a in r.claim.ablations) or not r.claim.ablations
        if (parts := r.unturned) is not None
    ]
    if not left:
        return Markup("")
    text = _paragraph(
        "Claims that differ and that no declared ablation lets agree. A claim of several comparisons is explained when "
        "each that failed holds in one of its ablations; those that hold in none are listed."
    )
    items = _join(Markup('<li><a href="#{}">{}</a> {}</li>').format(*item) for item in left)
    return _section(
        "Differences without an explanation", text, Markup("<ul>{}</ul>").format(items), anchor="unexplained"
    )


def _sensitivity(study: Study, evidence: Evidence) -> Markup:
    plan = study.sensitivity
    if plan is None:
        return _section("Sensitivity", _paragraph("Not run in this form."), anchor="sensitivity")
    only = "; ".join(f"{axis} {', '.join(map(str, labels))}" for axis, labels in plan.only.items())
    raw = [*plan.overrides, *([f"only at {only}"] if only else [])]
    text = (
        f"Every claim again with each calibrated value changed by ±{plan.step * 100:g} %, or as the columns say, with "
        f"{plan.seeds} replication{'s' if plan.seeds > 1 else ''} of each point: "
        f"{plan.about or ', '.join(raw) or 'all points of the grid'}. "
        "The numbers are on the cards. What is on or off is not moved: see the readings there."
    )
    parts = [_paragraph(text)]
    for name, results in _main_first(evidence):
        columns = next((r.sensitivity for r in results if r.sensitivity), [])
        if not columns:
            continue
        headers = ("claim", "as listed", *(f"{c.value.name}: {c.value.text(c.factor)}" for c in columns))
        rows = [
            (
                Markup('<a href="#{}">{}</a>').format(_anchor(name, r), r.claim.id),
                *(_sign(f) for f in (r.finding, *(c.finding for c in r.sensitivity))),
            )
            for r in results
        ]
        table = _html_table(headers, rows, "signs")
        parts.append(Markup("<details><summary>{}</summary>{}</details>").format(name, table))
    return _section("Sensitivity", *parts, anchor="sensitivity")


def _sign(finding: Finding) -> Markup:
    css, sign = VERDICTS[finding.verdict]
    return Markup(
        '<span class="{}" title="{}"><span aria-hidden="true">{}</span><span class="hidden">{}</span></span>'
    ).format(css, finding.text, sign, finding.verdict)


def _parameters(study: Study, evidence: Evidence) -> Markup:
    parts = [
        _paragraph(
            "P stated in the paper, D derived from it by arithmetic, C default of the authors' tool, S standard, "
            "R our recommendation where the paper is silent, X fitted with a scratch model."
        )
    ]
    for name in evidence.parameter_sets:
        s = study.parameter_set(name)
        rows = [(v.name, v.text(), v.tag, v.source, "yes" if v.calibrated else "") for v in s.values]
        table = _html_table(("value", "is", "tag", "source", "calibrated"), rows, ["", "", "", "wide", ""])
        parts += [
            Markup("<h3>{}</h3>").format(name),
            _paragraph(unbroken(s.about)),
            _folded(f"{len(rows)} values", table),
        ]
    return _section("Parameter sets", *parts, anchor="parameters")


def _echo(config: Mapping[str, Any]) -> Markup:
    sets = list(config["parameter_sets"])
    parts = []
    for title, rows in config["tables"].items():
        body = [(r["item"], r["paper"], *(r["ours"].get(s, "") for s in sets)) for r in rows]
        parts.append(_folded(title, _html_table(("item", "paper", *sets), body, "")))
    return _section("Configuration", *parts, anchor="configuration") if parts else Markup("")


def _groups(study: Study, evidence: Evidence) -> Markup:
    absent = {
        group: why for data in evidence.data.values() if not data.variation.kernel for group, why in data.absent.items()
    }
    rows = [
        (
            Markup("{}<br><small>{}{}</small>").format(
                g.name, g.purpose, f" Left out: {absent[g.name]}." if g.name in absent else ""
            ),
            Markup("<br>").join(f"{a.name}: {', '.join(map(str, a.options))}" for a in g.axes),
            g.seeds,
        )
        for g in study.groups
    ]
    table = _html_table(("group", "grid", "seeds"), rows, ["half", "half", "num"])
    return _section("Runs", _folded(f"{len(rows)} groups of runs", table), anchor="runs")


def _main_first(evidence: Evidence) -> list[tuple[str, Sequence[ClaimResult]]]:
    return sorted(evidence.claims.items(), key=lambda item: item[0] != evidence.main_set)


def _section(heading: str, *parts: str, anchor: str) -> Markup:
    return Markup(section(heading, _join(parts), anchor))


def _html_table(headers: Sequence[Any], rows: Iterable[Sequence[Any]], classes: str | Sequence[str]) -> Markup:
    return Markup(table_html(headers, rows, classes))


def _folded(summary: str, body: str) -> Markup:
    return Markup("<details><summary>{}</summary>{}</details>").format(summary, Markup(body))


def _paragraph(text: str) -> Markup:
    return Markup("<p>{}</p>").format(text) if text else Markup("")


def _join(parts: Iterable[str]) -> Markup:
    """Pieces of HTML, one after the other; they are marked as such by those who made them."""
    return Markup("").join(Markup(part) for part in parts)


#: How a card is read, once for all of them.
_HOW = Markup(
    '<p class="mute">A card has the source\'s statement, the test, and a line for each comparison: dots are means over '
    "replications, bars their 95 % intervals, the shaded band is what the claim accepts{}; the numbers below a line "
    "are the ends of its scale. "
    "A line with several dots says what the claim requires of them; the verdict follows from the interval of "
    "their difference, seed by seed, so that bars may overlap. A comparison holds (✓) if its whole interval is "
    "accepted, and fails (✗) if none of it is. With values of both kinds in its interval it is undecided (?, and a "
    "single dot is hollow): more replications may turn it. The interval of a few seeds (Student's t; 12.7 for two) "
    "may reach beyond what the number can be, such as below 0.</p>"
)
