"""The HTML report of a study: verdicts first, then figures, then all that a doubter wants to see."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from lasthop.harness.definition import KINDS, Study
from lasthop.harness.judge import Finding
from lasthop.report import figure_svg, page, section, table_html

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lasthop.harness.result import ClaimResult, Evidence, Figure, TableView

VERDICT_CLASS = {"agrees": "good", "differs": "bad", "ambiguous": "unclear", "not-testable": "mute"}


def study_report(
    study: Study,
    evidence: Evidence,
    figures: Sequence[Figure],
    tables: Sequence[TableView],
    config: Mapping[str, Any],
) -> str:
    """The whole page."""
    parts = [
        _summary(study, evidence),
        *(_claims(name, results, name == evidence.main_set) for name, results in _main_first(evidence)),
        _figures(figures),
        *(_table(t) for t in tables),
        _readings(study, evidence),
        _switches(evidence),
        _ablations(evidence),
        _sensitivity(study, evidence),
        _parameters(study, evidence),
        _echo(config),
        _groups(study),
    ]
    form = "quick form" if study.quick else "full form"
    return page(f"{study.name}: {study.title}", "".join(parts), f"{study.source} · {form}")


def _figures(figures: Sequence[Figure]) -> str:
    body = "".join(figure_svg(f.figure, f"{f.title}. {f.caption}") for f in figures)
    return section("Figures", f'<div class="figures">{body}</div>', "figures")


def _main_first(evidence: Evidence) -> list[tuple[str, Sequence[ClaimResult]]]:
    return sorted(evidence.claims.items(), key=lambda item: item[0] != evidence.main_set)


def _summary(study: Study, evidence: Evidence) -> str:
    rows = []
    for name, results in _main_first(evidence):
        counts = [sum(r.finding.verdict == v for r in results) for v in VERDICT_CLASS]
        calibrated = len(study.parameter_set(name).calibrated)
        rows.append((name, *counts, calibrated))
    text = f"<p>{escape(study.summary)}</p>"
    if study.quick:
        text += (
            "<p><strong>Quick form</strong>: fewer replications and shorter runs than the source's; read intervals and "
            "verdicts accordingly. The full form is <code>lasthop study run "
            f"{escape(study.name)}</code>.</p>"
        )
    headers = ("parameter set", *VERDICT_CLASS, "calibrated values")
    return section("Verdicts", text + table_html(headers, rows, ["", *["num"] * 5]), "verdicts")


def _claims(name: str, results: Sequence[ClaimResult], main: bool) -> str:
    from markupsafe import Markup

    rows = [
        (
            r.claim.id,
            KINDS[r.claim.kind],
            r.claim.says,
            r.claim.test,
            r.finding.text,
            Markup('<span class="{}">{}</span>').format(VERDICT_CLASS[r.finding.verdict], r.finding.verdict),
            _note(r.finding),
        )
        for r in results
    ]
    headers = ("id", "kind", "the source says", "test", "ours", "verdict", "note")
    table = table_html(headers, rows, ["", "", "wide", "", "wide", "", "wide"])
    title = f"Claims, parameter set {name}" + (" (the main set)" if main else "")
    return section(title, table, f"claims-{name}")


def _note(finding: Finding) -> str:
    shown = f"See {', '.join(finding.evidence)}." if finding.evidence else ""
    return " ".join(part for part in (finding.note, shown) if part)


def _table(view: TableView) -> str:
    classes = ["" if i == 0 else "num" for i in range(len(view.headers))]
    note = f"<p>{escape(view.note)}</p>" if view.note else ""
    return section(view.title, note + table_html(view.headers, view.rows, classes), view.name)


def _readings(study: Study, evidence: Evidence) -> str:
    rows = [
        (name, r.claim.id, reading, finding.text, finding.verdict, r.finding.verdict)
        for name, results in _main_first(evidence)
        for r in results
        for reading, finding in r.readings.items()
    ]
    if not rows:
        return ""
    about = "".join(f"<p><strong>{escape(r.name)}</strong>: {escape(r.about)}</p>" for r in study.readings)
    headers = ("set", "claim", "reading", "ours", "verdict", "verdict of the main reading")
    return section("Other readings of the source", about + table_html(headers, rows, ["", "", "", "wide", "", ""]))


def _switches(evidence: Evidence) -> str:
    rows = [
        (name, r.claim.id, r.claim.switch.name, r.finding.text, r.off.text, r.off.verdict)
        for name, results in _main_first(evidence)
        for r in results
        if r.off is not None and r.claim.switch is not None
    ]
    if not rows:
        return ""
    text = "<p>A mechanism claim agrees only if its test passes with the mechanism on and fails with it off.</p>"
    headers = ("set", "claim", "switched", "mechanism on", "mechanism off", "test when off")
    return section("Mechanisms on and off", text + table_html(headers, rows, ["", "", "wide", "wide", "wide", ""]))


def _ablations(evidence: Evidence) -> str:
    rows = [
        (name, r.claim.id, *_where(r), ablation.name, ablation.about, r.finding.text, finding.text, finding.verdict)
        for name, results in _main_first(evidence)
        for r in results
        for ablation, finding in r.ablations
    ]
    unexplained = [
        f"{r.claim.id} ({name})"
        for name, results in _main_first(evidence)
        for r in results
        if r.finding.verdict == "differs" and not any(f.verdict == "agrees" for _, f in r.ablations)
    ]
    if not rows and not unexplained:
        return ""
    text = "<p>For each claim that differs, the change that was declared to turn it, run and judged.</p>"
    if unexplained:
        text += f"<p>No declared run turns: {escape(', '.join(unexplained))}.</p>"
    headers = ("set", "claim", "runs", "plot", "ablation", "mechanism", "ours", "with the ablation", "verdict with it")
    table = table_html(headers, rows, ["", "", "", "", *["wide"] * 4, ""]) if rows else ""
    return section("Ablations", text + table, "ablations")


def _where(result: ClaimResult) -> tuple[str, str]:
    return ", ".join(result.claim.groups), ", ".join(result.finding.evidence)


def _sensitivity(study: Study, evidence: Evidence) -> str:
    from markupsafe import Markup

    if study.sensitivity is None:
        return section("Sensitivity", "<p>Not run in this form.</p>", "sensitivity")
    parts = []
    for name, results in _main_first(evidence):
        if not any(r.sensitivity for r in results):
            continue
        cells = next(r.sensitivity for r in results if r.sensitivity)
        headers = ("claim", "as listed", *(f"{c.value.name}: {c.value.text(c.factor)}" for c in cells))
        rows = []
        for r in results:
            shown = [Finding(r.finding.verdict, r.finding.text), *(c.finding for c in r.sensitivity)]
            rows.append((r.claim.id, *(_sensitivity_cell(Markup, f) for f in shown)))
        parts.append(f"<h3>{escape(name)}</h3>" + table_html(headers, rows, ["", *["wide"] * (len(headers) - 1)]))
    plan = study.sensitivity
    text = (
        f"<p>Every claim again with each calibrated value changed by ±{plan.step:.0%}, "
        f"{plan.seeds} replication{'s' if plan.seeds > 1 else ''} a point"
        + (f", {', '.join(plan.overrides)}" if plan.overrides else "")
        + (f", only {dict(plan.only)}" if plan.only else "")
        + ". Few replications: read a change of verdict together with the numbers.</p>"
    )
    return section("Sensitivity", text + "".join(parts), "sensitivity")


def _sensitivity_cell(markup: Any, finding: Finding) -> Any:
    return markup('<span class="{}">{}</span><br><small>{}</small>').format(
        VERDICT_CLASS[finding.verdict], finding.verdict, finding.text
    )


def _parameters(study: Study, evidence: Evidence) -> str:
    parts = []
    for name in evidence.parameter_sets:
        s = study.parameter_set(name)
        rows = [(v.name, v.text(), v.tag, v.source, "calibrated" if v.calibrated else "") for v in s.values]
        parts.append(f"<h3>{escape(name)}</h3><p>{escape(s.about)}</p>")
        parts.append(table_html(("value", "is", "tag", "source", ""), rows, ["", "", "", "wide", ""]))
    legend = (
        "<p>P stated in the paper, D derived from it by arithmetic, C default of the authors' tool, S standard, "
        "R our recommendation where the paper is silent, X fitted with a scratch model.</p>"
    )
    return section("Parameter sets", legend + "".join(parts), "parameters")


def _echo(config: Mapping[str, Any]) -> str:
    parts = []
    for title, rows in config["tables"].items():
        sets = list(config["parameter_sets"])
        body = [(r["item"], r["paper"], *(r["ours"].get(s, "") for s in sets)) for r in rows]
        parts.append(f"<h3>{escape(title)}</h3>" + table_html(("item", "paper", *sets), body, ["", "wide"]))
    return section("Configuration", "".join(parts), "configuration") if parts else ""


def _groups(study: Study) -> str:
    rows = [
        (g.name, g.purpose, "; ".join(f"{a.name}: {', '.join(map(str, a.options))}" for a in g.axes), g.seeds)
        for g in study.groups
    ]
    return section("Runs", table_html(("group", "for", "grid", "seeds"), rows, ["", "wide", "wide", "num"]), "runs")
