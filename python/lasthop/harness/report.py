"""The HTML report of a study: verdicts first, then figures, then the evidence in detail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from lasthop.harness.definition import KINDS
from lasthop.harness.judge import Finding
from lasthop.report import figure_svg, page, section, table_html

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lasthop.harness.definition import Study
    from lasthop.harness.result import ClaimResult, Evidence, Figure, TableView

VERDICT_CLASS = {
    "agrees": "good",
    "differs": "bad",
    "undecided": "unclear",
    "ambiguous": "unclear",
    "not-testable": "mute",
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
    parts = [
        _STYLE,
        _summary(study, evidence),
        _claims(f"Claims, parameter set {main} (the main set)", main, main_claims),
        _figures(figures),
        *(_table(t) for t in tables),
        *(_claims(f"Claims, parameter set {name}", name, results) for name, results in others),
        _readings(study, evidence),
        _switches(evidence),
        _ablations(study, evidence),
        _sensitivity(study, evidence),
        _parameters(study, evidence),
        _echo(config),
        _groups(study),
    ]
    form = "quick form" if study.quick else "full form"
    return page(f"{study.name}: {study.title}", _join(parts), f"{study.source} · {form}")


def _summary(study: Study, evidence: Evidence) -> Markup:
    rows = []
    for name, results in _main_first(evidence):
        counts = [sum(r.finding.verdict == v for r in results) for v in VERDICT_CLASS]
        rows.append((name, *counts, len(study.parameter_set(name).calibrated)))
    text = Markup("<p>{}</p>").format(study.summary)
    if study.quick:
        text += Markup(
            "<p><strong>Quick form</strong>: fewer replications and shorter runs than the source's; read intervals "
            "and verdicts accordingly. The full form is <code>lasthop study run {}</code>.</p>"
        ).format(study.name)
    headers = ("parameter set", *VERDICT_CLASS, "calibrated values")
    return _section(
        "Verdicts", text, _html_table(headers, rows, ["", *["num"] * (len(headers) - 1)]), anchor="verdicts"
    )


def _claims(title: str, anchor: str, results: Sequence[ClaimResult]) -> Markup:
    rows = [
        (
            Markup("<strong>{}</strong><br><small>{}</small>").format(r.claim.id, KINDS[r.claim.kind]),
            Markup("{}<br><small>Test: {}.</small>").format(r.claim.says, r.claim.test.rstrip(".")),
            _ours(r.finding),
            _verdict(r.finding),
        )
        for r in results
    ]
    table = _html_table(("claim", "the source says", "ours", "verdict"), rows, ["", "says", "ours", ""])
    return _section(title, table, anchor=f"claims-{anchor}")


def _ours(finding: Finding) -> Markup:
    small = [f"See {', '.join(finding.evidence)}."] if finding.evidence else []
    if finding.note:
        small.insert(0, finding.note + ".")
    note = Markup("<br><small>{}</small>").format(" ".join(small)) if small else Markup("")
    return Markup("{}{}").format(finding.text, note)


def _verdict(finding: Finding) -> Markup:
    return Markup('<span class="{}">{}</span>').format(VERDICT_CLASS[finding.verdict], finding.verdict)


def _figures(figures: Sequence[Figure]) -> Markup:
    body = _join(figure_svg(f.figure, f"{f.title}. {f.caption}") for f in figures)
    return _section("Figures", Markup('<div class="figures">{}</div>').format(body), anchor="figures")


def _table(view: TableView) -> Markup:
    classes = ["num" if _numeric(view, i) else "" for i in range(len(view.headers))]
    return _section(view.title, _paragraph(view.note), _html_table(view.headers, view.rows, classes), anchor=view.name)


def _numeric(view: TableView, column: int) -> bool:
    return all(str(row[column])[:1] in "-0123456789" for row in view.rows)


def _readings(study: Study, evidence: Evidence) -> Markup:
    rows = [
        (name, r.claim.id, _ours(r.finding), _verdict(r.finding), reading, _ours(finding), _verdict(finding))
        for name, results in _main_first(evidence)
        for r in results
        for reading, finding in r.readings.items()
    ]
    if not rows:
        return Markup("")
    about = _join(Markup("<p><strong>{}</strong>: {}</p>").format(r.name, r.about) for r in study.readings)
    headers = ("set", "claim", "main reading", "verdict", "other reading", "ours under it", "verdict")
    classes = ["", "", "half", "", "", "half", ""]
    return _section("Other readings of the source", about, _html_table(headers, rows, classes), anchor="readings")


def _switches(evidence: Evidence) -> Markup:
    rows = [
        (name, r.claim.id, r.claim.switch.name, r.finding.text, r.off.text, _verdict(r.off))
        for name, results in _main_first(evidence)
        for r in results
        if r.off is not None and r.claim.switch is not None
    ]
    if not rows:
        return Markup("")
    text = _paragraph("A mechanism claim agrees only if its test passes with the mechanism on and fails with it off.")
    headers = ("set", "claim", "switch", "mechanism on", "mechanism off", "test when off")
    classes = ["", "", "", "half", "half", ""]
    return _section("Mechanisms on and off", text, _html_table(headers, rows, classes), anchor="mechanisms")


def _ablations(study: Study, evidence: Evidence) -> Markup:
    rows = [
        (
            Markup("{}<br><small>{}</small>").format(r.claim.id, name),
            ablation.name,
            _ours(r.finding),
            _ours(finding),
            Markup("{}{}").format(_verdict(finding), _turned(r.finding, finding)),
            Markup("<small>runs {}; {}</small>").format(", ".join(r.claim.groups), ", ".join(r.finding.evidence)),
        )
        for name, results in _main_first(evidence)
        for r in results
        for ablation, finding in r.ablations
    ]
    unexplained = [
        f"{r.claim.id} ({name}){': ' + '; '.join(left) if left != [r.claim.id] else ''}"
        for name, results in _main_first(evidence)
        for r in results
        if any(a.under(study.parameter_set(name)) for a in r.claim.ablations) or not r.claim.ablations
        if (left := r.unturned) is not None
    ]
    used = {a.name: a for _, results in _main_first(evidence) for r in results for a, _ in r.ablations}
    if not rows and not unexplained:
        return Markup("")
    text = _paragraph(
        "For each claim that differs, the changes that were declared to turn it, run and judged. A claim of several "
        "comparisons is turned when each that failed holds in one of them."
    )
    text += _join(
        Markup("<p><strong>{}</strong>: {} <small>{}</small></p>").format(
            a.name, a.about, ", ".join([*a.overrides, *(o for _, more in a.also for o in more)])
        )
        for a in used.values()
    )
    if unexplained:
        text += _paragraph("No declared run turns:")
        text += Markup("<ul>{}</ul>").format(_join(Markup("<li>{}</li>").format(u) for u in unexplained))
    headers = ("claim", "ablation", "ours", "with the ablation", "verdict with it", "where")
    table = _html_table(headers, rows, ["", "", "half", "half", "", ""]) if rows else ""
    return _section("Ablations", text, table, anchor="ablations")


def _turned(base: Finding, ablated: Finding) -> Markup:
    """How many of the comparisons that failed hold with the ablation."""
    if len(base.parts) < 2 or ablated.verdict == "agrees":
        return Markup("")
    return Markup("<br><small>turns {} of {} that failed</small>").format(
        len(base.turned_by(ablated)), len(base.failed)
    )


def _sensitivity(study: Study, evidence: Evidence) -> Markup:
    plan = study.sensitivity
    if plan is None:
        return _section("Sensitivity", _paragraph("Not run in this form."), anchor="sensitivity")
    text = (
        f"Every claim again with each calibrated value changed by ±{plan.step:.0%}, or as the columns say, "
        f"{plan.seeds} replication{'s' if plan.seeds > 1 else ''} a point"
        + (f", {', '.join(plan.overrides)}" if plan.overrides else "")
        + (f", only {dict(plan.only)}" if plan.only else "")
        + ". Read a change of verdict together with the numbers. What is on or off is not moved: see the readings."
    )
    parts = [_paragraph(text)]
    for name, results in _main_first(evidence):
        columns = next((r.sensitivity for r in results if r.sensitivity), [])
        if not columns:
            continue
        headers = ("claim", "as listed", *(f"{c.value.name}: {c.value.text(c.factor)}" for c in columns))
        rows = [(r.claim.id, *(_cell(f) for f in (r.finding, *(c.finding for c in r.sensitivity)))) for r in results]
        parts += [Markup("<h3>{}</h3>").format(name), _html_table(headers, rows, ["", *["cell"] * (len(headers) - 1)])]
    return _section("Sensitivity", *parts, anchor="sensitivity")


def _cell(finding: Finding) -> Markup:
    return Markup("{}<br><small>{}</small>").format(_verdict(finding), finding.text)


def _parameters(study: Study, evidence: Evidence) -> Markup:
    parts = [
        _paragraph(
            "P stated in the paper, D derived from it by arithmetic, C default of the authors' tool, S standard, "
            "R our recommendation where the paper is silent, X fitted with a scratch model."
        )
    ]
    for name in evidence.parameter_sets:
        s = study.parameter_set(name)
        rows = [(v.name, v.text(), v.tag, v.source, "calibrated" if v.calibrated else "") for v in s.values]
        parts += [Markup("<h3>{}</h3>").format(name), _paragraph(s.about)]
        parts.append(_html_table(("value", "is", "tag", "source", ""), rows, ["", "", "", "wide", ""]))
    return _section("Parameter sets", *parts, anchor="parameters")


def _echo(config: Mapping[str, Any]) -> Markup:
    sets = list(config["parameter_sets"])
    parts = []
    for title, rows in config["tables"].items():
        body = [(r["item"], r["paper"], *(r["ours"].get(s, "") for s in sets)) for r in rows]
        parts += [Markup("<h3>{}</h3>").format(title), _html_table(("item", "paper", *sets), body, "")]
    return _section("Configuration", *parts, anchor="configuration") if parts else Markup("")


def _groups(study: Study) -> Markup:
    rows = [
        (
            Markup("{}<br><small>{}</small>").format(g.name, g.purpose),
            Markup("<br>").join(f"{a.name}: {', '.join(map(str, a.options))}" for a in g.axes),
            g.seeds,
        )
        for g in study.groups
    ]
    return _section("Runs", _html_table(("group", "grid", "seeds"), rows, ["half", "half", "num"]), anchor="runs")


def _main_first(evidence: Evidence) -> list[tuple[str, Sequence[ClaimResult]]]:
    return sorted(evidence.claims.items(), key=lambda item: item[0] != evidence.main_set)


def _section(heading: str, *parts: str, anchor: str) -> Markup:
    return Markup(section(heading, _join(parts), anchor))


def _html_table(headers: Sequence[Any], rows: Iterable[Sequence[Any]], classes: str | Sequence[str]) -> Markup:
    return Markup(table_html(headers, rows, classes))


def _paragraph(text: str) -> Markup:
    return Markup("<p>{}</p>").format(text) if text else Markup("")


def _join(parts: Iterable[str]) -> Markup:
    """Pieces of HTML, one after the other; they are marked as such by those who made them."""
    return Markup("").join(Markup(part) for part in parts)


#: Column widths that only a study's tables need.
_STYLE = Markup(
    "<style>td.says { width: 42%; } td.ours { width: 48%; } td.half { min-width: 14rem; } "
    "td.cell { min-width: 9rem; } td small { line-height: 1.3; display: inline-block; }</style>"
)
