"""The page of a judgement: one grid and four figures first, then a sheet for each case."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from lasthop.judging._paths import varied
from lasthop.judging._scenario import scenario_text
from lasthop.judging._words import NOTHING, number, quantity
from lasthop.judging._writing import written
from lasthop.judging.figures import contest_figure, course_figure, front_figure
from lasthop.report import figure_svg, page, section, table_html

if TYPE_CHECKING:
    from lasthop.judging.judgement import Row, Verdicts

#: Of each verdict: class of the style sheet, sign, and what it says.
MARKS: dict[str, tuple[str, str, str]] = {
    "pass": ("good", "✓", "every check holds"),
    "fail": ("bad", "✗", "a check does not hold"),
    "flag": ("bad", "⚑", "a comparative rule is broken"),
    "error": ("bad", "!", "a run gave no result"),
    "ambiguous": ("unclear", "≈", "the source contradicts itself"),
    "inconclusive": ("unclear", "?", "a precondition or a value is missing, or buffers limited the flow"),
    "shown": ("mute", "·", "values without a rule"),
    "not-applicable": ("mute", "–", "the control lacks what the case observes"),
    "not-testable": ("mute", "∅", "the simulator cannot make the scenario"),
}
#: Figures of the first page.
_FIRST = 4
#: Letters in the line of a table.
_LINE = 130


def report_html(verdicts: Verdicts) -> str:
    """The whole page."""
    control = verdicts.control
    form = "quick form" if verdicts.quick else "full form"
    moved = f", paths moved by --vary {verdicts.vary}" if verdicts.vary else ""
    moved += f", {verdicts.seeds} replications of noisy paths" if verdicts.seeds else ""
    first = Markup('<div class="first-page">{}</div>').format(_join([_grid(verdicts), _first_figures(verdicts)]))
    moved += f"; profile {verdicts.profile}"
    parts = [first, *(_sheet(verdicts, row) for row in verdicts.rows)]
    of = "a built-in control" if control.kind == "built-in" else "a control of the user's own"
    suites = ", ".join(s.name for s in verdicts.suites)
    return page(f"Scorecard of {control.name}", _join(parts), f"{of}, judged by the suites: {suites}; {form}{moved}")


def _grid(verdicts: Verdicts) -> Markup:
    """A tile for each case, coloured and named by its verdict, with a link to its sheet."""
    found = []
    for suite in verdicts.suites:
        rows = [row for row in verdicts.rows if row.suite == suite.name]
        tiles = _join(
            Markup(
                '<a class="tile {}" href="#{}" title="{}: {}"><span aria-hidden="true">{}</span> {}'
                ' <small>{}</small><span class="name">{}</span></a>'
            ).format(MARKS[r.verdict][0], _anchor(r), r.title, r.why, MARKS[r.verdict][1], r.id, r.verdict, r.title)
            for r in rows
        )
        found.append(
            Markup('<h3>{} <span class="counts">{}</span></h3><p class="tiles named">{}</p>').format(
                suite.title, suite.source, tiles
            )
        )
        if suite.left_out:
            found.append(Markup('<p class="legend">Not for a simulator: {}.</p>').format("; ".join(suite.left_out)))
    counted = ", ".join(f"{n} {verdict}" for verdict, n in verdicts.counts.items())
    legend = Markup(" ").join(
        Markup('<span class="{}"><span aria-hidden="true">{}</span> {}: {}</span>').format(
            *MARKS[v][:2], v, MARKS[v][2]
        )
        for v in verdicts.counts
    )
    head = Markup('<p class="counted">{} case{}: {}. Lasthop {}, digest of the control {}.</p>').format(
        len(verdicts.rows),
        "" if len(verdicts.rows) == 1 else "s",
        counted,
        verdicts.to_json_dict()["lasthop"],
        verdicts.control.hash[:16],
    )
    return Markup(
        section("Verdicts", head + _join(found) + Markup('<p class="legend">{}</p>').format(legend), "verdicts")
    )


def _first_figures(verdicts: Verdicts) -> Markup:
    """Four figures: those of the suites, then of cases, those that fail first."""
    order = list(MARKS)
    order.remove("pass")
    order.insert(order.index("shown"), "pass")
    figures = [*_suite_figures(verdicts)][:_FIRST]
    drawn = [r for r in verdicts.rows if any(_has_course(s) for s in r.shown) or (r.case.metrics and r.points)]
    drawn.sort(key=lambda row: order.index(row.verdict))
    for row in drawn[: _FIRST - len(figures)]:
        if row.case.metrics:
            flagged = {f["metric"] for p in row.points for f in p["flags"]}
            metric = next((m for m in row.case.metrics if m.name in flagged), row.case.metrics[0])
            figure = contest_figure([metric], list(row.points), _controls(row, verdicts.control.name), small=True)
            caption = f"{metric.name.replace('_', ' ')} ({row.id}, {row.title}: {row.verdict})"
            figures.append(Markup('<a href="#{}">{}</a>').format(_anchor(row), Markup(figure_svg(figure, caption))))
            continue
        point, shown = _deciding(row)
        figure = course_figure(shown, row.case.plot, small=True)
        caption = f"{row.id}, {row.title}, path {point['path']}: {row.verdict}{_compares(shown)}"
        figures.append(Markup('<a href="#{}">{}</a>').format(_anchor(row), Markup(figure_svg(figure, caption))))
    if not figures:
        return Markup("")
    return Markup(section("Figures", Markup('<div class="figures">{}</div>').format(_join(figures)), "figures"))


def _suite_figures(verdicts: Verdicts) -> Iterable[Markup]:
    """The figures that suites define, of the cases that were judged."""
    rows = {(row.suite, row.id): row for row in verdicts.rows if row.case.metrics and row.points}
    for suite in verdicts.suites:
        for wanted in suite.figures:
            row = rows.get((suite.name, wanted.case))
            if row is not None:
                figure = front_figure(wanted, row.case, row.points, _controls(row, verdicts.control.name))
                caption = f"{wanted.title} ({row.id}: {row.verdict})"
                yield Markup('<a href="#{}">{}</a>').format(_anchor(row), Markup(figure_svg(figure, caption)))


def _controls(row: Row, candidate: str) -> list[str]:
    """The controls of a comparative row, the candidate first, then what the others get alone."""
    return [candidate, *(c for c in row.points[0]["compare"] if c != candidate)]


def _compares(shown: Mapping[str, Any]) -> str:
    """What the figure of a check that does not hold compares, as an end of its caption."""
    for failed in shown.get("sides") or []:
        texts = [side["text"] for side in failed["of"]]
        bounds = f" (dashed: {' and '.join(texts[1:])})" if texts[1:] else ""
        return f"; {failed['check']} compares {texts[0]}{bounds}" if texts else ""
    return ""


def _has_course(shown: Mapping[str, Any]) -> bool:
    return any(shown["series"].values()) if shown["series"] else False


def _deciding(row: Row) -> tuple[dict[str, Any], dict[str, Any]]:
    """The point that decides a row's verdict, with its courses."""
    pairs = [(p, s) for p, s in zip(row.points, row.shown, strict=True) if _has_course(s)]
    return next(((p, s) for p, s in pairs if p["verdict"] == row.verdict), pairs[0])


def _anchor(row: Row) -> str:
    return f"case-{row.suite}-{row.id}"


def _sheet(verdicts: Verdicts, row: Row) -> Markup:
    css, sign, _ = MARKS[row.verdict]
    parts = [
        Markup(
            '<header><h3>{}</h3><span class="mute">{}</span>'
            '<span class="pill {}"><span aria-hidden="true">{}</span> {}</span></header>'
        ).format(row.id, row.title, css, sign, row.verdict),
        _paragraph(row.case.about, "says"),
        _paragraph(_sentence(row.why), "why"),
        _paragraph(f"Source: {row.source}", "test"),
        *(_paragraph(_sentence(note), "remark") for note in row.notes),
        _compared(row, verdicts.control.name),
        _checks(row),
        _values(row),
        _names(row),
        _readings(row),
        _figure(row),
        _chosen(row),
        _again(verdicts, row),
    ]
    return Markup('<article class="claim" id="{}">{}</article>').format(_anchor(row), _join(parts))


def _compared(row: Row, candidate: str) -> Markup:
    """Means and intervals of each metric, a line for each path, a column for each control."""
    if not row.case.metrics or not row.points:
        return Markup("")
    controls = _controls(row, candidate)
    # The quick form may have none of the paths of a metric.
    metrics = [m for m in row.case.metrics if any(m.on(p["path"]) for p in row.points)]
    if not metrics:
        return Markup("")
    parts = [_flags(row)]
    for metric in metrics:
        rows = []
        bounded = any(metric.name in p.get("bounds", {}) for p in row.points)
        for point in (p for p in row.points if metric.on(p["path"])):
            flagged = any(f["metric"] == metric.name for f in point["flags"])
            name = Markup('<span class="bad">{} ⚑</span>').format(point["path"]) if flagged else point["path"]
            bound = (_bound(point.get("bounds", {}).get(metric.name, {})),) if bounded else ()
            rows.append((name, *(_interval(point["compare"][c][metric.name]) for c in controls), *bound))
        unit = f" [{metric.unit}]" if metric.unit else ""
        better = f", {metric.better} is better" if metric.better else ""
        better += f", {metric.by}" if metric.by else ""
        better += f": harm to {metric.harm}" if metric.harm else ""
        head = Markup("<p><b>{}</b>{}{}</p>").format(metric.name, unit, better)
        columns = (*controls, *(["bound"] if bounded else []))
        table = table_html(("path", *columns), rows, ["first", *["num even"] * len(columns)])
        parts.append(Markup('<div class="metric">{}{}</div>').format(head, Markup(table)))
    figure = contest_figure(metrics, list(row.points), controls)
    caption = f"{row.id}: means and 95 % intervals by path, {_runs(row, controls)}"
    parts.append(Markup(figure_svg(figure, caption, wide=True)))
    return _join([*parts, _files(row, "Values of every run")])


def _bound(sides: Mapping[str, float | None]) -> str:
    """What a document allows on a path."""
    known = {"most": "at most", "least": "at least"}
    return ", ".join(f"{known[side]} {number(x)}" for side, x in sides.items() if x is not None) or "–"


def _runs(row: Row, controls: Sequence[str]) -> str:
    """How often the controls were run on a path, in words."""
    counts: dict[str, list[str]] = {}
    for name in controls:
        # A value that is not known in a run does not count there: the metric known most often does.
        known = [max((of["n"] for of in p["compare"].get(name, {}).values()), default=0) for p in row.points]
        said = f"{min(known)}" if min(known) == max(known) else f"{min(known)} to {max(known)}"
        counts.setdefault(said, []).append(name)
    if len(counts) == 1:
        return f"{next(iter(counts))} runs each"
    return "; ".join(f"{', '.join(names)}: {said} runs" for said, names in counts.items())


def _flags(row: Row) -> Markup:
    """What each flag rests on, and what further seeds did not confirm."""
    rows = []
    for point in row.points:
        for flag in (*point["flags"], *point.get("fallen", [])):
            if "bound" in flag:
                words = ("–", "–", f"beyond the bound {number(flag['bound'])}")
            elif flag["exact"]:
                words = ("0", "–", "no noise: the difference is exact")
            else:
                again = f"{flag['again']:.3g}" if "again" in flag else "–"
                words = (f"{flag['p']:.3g}", again, "not confirmed" if flag not in point["flags"] else "confirmed")
            rows.append((point["path"], flag["metric"], *words))
    if not rows:
        return Markup("")
    headers = ("path", "metric", "p", "p with further seeds", "flag")
    return Markup(table_html(headers, rows, ["", "", "num", "num", ""]))


def _files(row: Row, what: str) -> Markup:
    """The files with a row's evidence."""
    names = [name for point in row.points for name in point["evidence"]]
    links = Markup(", ").join(Markup('<a href="{0}">{0}</a>').format(name) for name in names)
    return Markup('<p class="test">{}: {}</p>').format(what, links) if names else Markup("")


def _interval(found: Mapping[str, Any]) -> str:
    if found["mean"] is None:
        return "–"
    if found["ci95"] is None:
        return number(found["mean"])
    half = (found["ci95"][1] - found["ci95"][0]) / 2
    if half < NOTHING:
        return f"{number(found['mean'])} ± 0"
    digits = max(0, 1 - math.floor(math.log10(half)))  # two of the interval's
    return f"{found['mean']:.{digits}f} ± {half:.{digits}f}"


def _checks(row: Row) -> Markup:
    """Each check on each path: whether it holds, and the value of its left side."""
    if not row.points or not row.points[0].get("checks"):
        return Markup("")
    names = [f"{p['path']}" + (f" #{k + 1}" if row.case.seeds > 1 else "") for k, p in enumerate(row.points)]
    rows = []
    for n, check in enumerate(row.points[0]["checks"]):
        cells = [_holds(p["checks"][n], row.case.units) if len(p["checks"]) > n else Markup("") for p in row.points]
        rows.append((check["name"], Markup("<code>{}</code>").format(check["expr"]), *cells))
    return Markup(table_html(("check", "expression", *names), rows, ["", "wide", *["num"] * len(names)]))


def _holds(check: Mapping[str, Any], units: Mapping[str, str]) -> Markup:
    css, sign, word = {
        True: ("good", "✓", "holds"), False: ("bad", "✗", "does not hold"), None: ("unclear", "?", "not known"),
    }[check["holds"]]  # fmt: skip
    unit = units.get(check["name"], "")
    right = " and ".join(quantity(bound, unit) for bound in check.get("right", []))
    right = f"; right side {right}" if right else ""
    value = f"\N{NO-BREAK SPACE}{quantity(check['left'], unit)}" if "left" in check else ""
    return Markup(
        '<span class="{}" title="{}"><span aria-hidden="true">{}</span><span class="hidden">{}</span></span>{}'
    ).format(css, check.get("why", f"{word}{right}"), sign, word, value)


def _values(row: Row) -> Markup:
    names = list(row.case.shown)
    if not names or not row.points:
        return Markup("")
    units = row.case.units
    rows = [(p["path"], *(quantity(p["values"].get(n), units.get(n, "")) for n in names)) for p in row.points]
    headers = ("path", *names)
    if len(names) > len(rows) and sum(len(name) + 2 for name in names) > _LINE:
        headers, *rows = zip(*[("value", *names), *rows], strict=True)
    return Markup(table_html(headers, rows, ["", *["num"] * (len(headers) - 1)]))


def _names(row: Row) -> Markup:
    """What the names in a case's expressions mean, and how its metrics are measured."""
    metrics = {m.name: m.text if m.tree is not None else f"harm to {m.harm}" for m in row.case.metrics}
    meant = {**{name: written(tree) for name, tree in row.case.let.items()}, **metrics}
    lines = _join(Markup("<li><code>{} = {}</code></li>").format(*pair) for pair in meant.items())
    return (
        Markup("<details><summary>What the names mean</summary><ul>{}</ul></details>").format(lines) if meant else lines
    )


def _readings(row: Row) -> Markup:
    found = []
    for point in row.points:
        for entry in point.get("readings", []):
            words = ", ".join(f"{n}: {_word(holds)}" for n, holds in entry["readings"].items())
            found.append(Markup("<li>{}: {} ({})</li>").format(point["path"], entry["text"], words))
    return (
        Markup("<details><summary>Readings of the source</summary><ul>{}</ul></details>").format(_join(found))
        if found
        else Markup("")
    )


def _word(holds: bool | None) -> str:
    return {True: "holds", False: "does not hold", None: "not known"}[holds]


def _figure(row: Row) -> Markup:
    if not any(_has_course(s) for s in row.shown):
        return Markup("")
    point, shown = _deciding(row)
    figure = course_figure(shown, row.case.plot)
    ordered = sorted(shown["moments"].items(), key=lambda item: item[1])
    moments = ", ".join(f"{name} at {number(at)} s" for name, at in ordered)
    caption = f"Path {point['path']}" + (f"; dotted: {moments}" if moments else "")
    caption += "; dashed: bounds of checks" if shown.get("thresholds") else ""
    caption += _compares(shown)
    caption += "; below: the states of the control without the mistake" if shown.get("beside") else ""
    return Markup(figure_svg(figure, caption, wide=True)) + _files(row, "Evidence")


def _chosen(row: Row) -> Markup:
    return _paragraph(f"Chosen here, not by the source: {'; '.join(row.chosen)}.", "test") if row.chosen else Markup("")


def _again(verdicts: Verdicts, row: Row) -> Markup:
    """The command, and the scenario of the path that decides."""
    if not row.points:
        return Markup("")
    point = next((p for p in row.points if p["verdict"] == row.verdict), row.points[0])
    path = next(p for p in row.case.paths if p.name == point["path"])
    control = verdicts.control
    text = scenario_text(
        row.case, varied(path, verdicts.vary, row.id), control.name, point.get("seed", row.case.seed(0)),
        keys=control.keys, profile=verdicts.profile,
    )  # fmt: skip
    return Markup(
        '<p class="test">Run it again: <code>{}</code></p>'
        "<details><summary>Scenario of path {}</summary><pre>{}</pre></details>"
    ).format(verdicts.call.of_case(row.suite, row.id), path.name, text)


def _sentence(text: str) -> str:
    """A text with a full stop; it begins with a capital letter or the name of a value or path."""
    word = text.partition(" ")[0]
    start = text[:1] if "_" in word or word.endswith(":") else text[:1].upper()
    return f"{start}{text[1:].rstrip('.')}." if text else ""


def _paragraph(text: str, css: str = "") -> Markup:
    return Markup('<p class="{}">{}</p>').format(css, text) if text else Markup("")


def _join(parts: Iterable[str] | Sequence[str]) -> Markup:
    return Markup("").join(Markup(part) for part in parts)
