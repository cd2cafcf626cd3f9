"""The report of a campaign: one HTML file, and its figures as files."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from lasthop import _format
from lasthop._core import LasthopError
from lasthop._errors import mistake
from lasthop.campaign.figures import FigureError, FigureSpec, draw, measured, shown_unit, text, title
from lasthop.campaign.tidy import Estimate, Tidy, tidy, unmoved_text
from lasthop.report._pieces import figure_svg, section, table_html
from lasthop.viewer import campaign_entry, standalone_campaign

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from lasthop.campaign.results import CampaignResults
    from lasthop.plot import Figure

FORMATS = ("pdf", "svg", "png")

#: So many points and failures are shown; the rest is in the folder.
MOST_POINTS = 500
MOST_FAILURES = 100
#: So many labels of an axis are named.
MOST_LABELS = 24


def figure_specs(results: CampaignResults) -> list[FigureSpec]:
    """The figures of a campaign: those of its file, or, where it has none, one that fits its axes.

    Raises:
        FigureError: the file describes a figure that is not valid.
    """
    try:
        tables = tomllib.loads(results.toml).get("figure", {})
    except tomllib.TOMLDecodeError as error:
        raise mistake(f"campaign.toml of the results is no TOML: {error}", "run the campaign again") from error
    if isinstance(tables, dict) and tables:
        return [FigureSpec.parse(name, table) for name, table in tables.items()]
    return _default(tidy(results))


def write(folder: Path, results: CampaignResults) -> list[Path]:
    """Writes `figures/NAME.pdf`, `.svg` and `.png`, and `report.html`.

    Args:
        folder: where to write; it must exist.
        results: what is shown. Results without a single run get a report without figures.

    Returns:
        The files.

    A figure that cannot be drawn from these results is left out; the report says why.

    Raises:
        LasthopError: a table `[figure.NAME]` has a mistake.
    """
    drawn = draw_all(results)
    written = []
    for spec, figure in drawn:
        if isinstance(figure, str):
            continue
        for form in FORMATS:
            path = folder / "figures" / f"{spec.name}.{form}"
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(figure.content(form))
            written.append(path)
    path = folder / "report.html"
    path.write_text(campaign_report(results, drawn), encoding="utf-8")
    return [*written, path]


def draw_all(results: CampaignResults) -> list[tuple[FigureSpec, Figure | str]]:
    """Each figure of a campaign, or why it cannot be drawn; empty where no run has a value.

    Raises:
        LasthopError: a table `[figure.NAME]` has a mistake.
    """
    data = tidy(results)
    if not len(data.table) or all(data.table[m].null_count == len(data.table) for m in data.units):
        return []
    return [(spec, _drawn(spec, results)) for spec in figure_specs(results)]


def _drawn(spec: FigureSpec, results: CampaignResults) -> Figure | str:
    data = tidy(results)
    spec.check(data.axes, list(data.units))
    try:
        return draw(spec, results)
    except LasthopError as error:
        return str(error)


def campaign_report(results: CampaignResults, drawn: Sequence[tuple[FigureSpec, Figure | str]] | None = None) -> str:
    """The report of a campaign as one HTML document, which needs no other file.

    It begins with the interactive charts of `lasthop view`.

    After these it has the axes, the figures, the points with their intervals, failures with their
    reasons, plan and cost, and the command that repeats the campaign.

    Args:
        results: the results of a campaign.
        drawn: its figures; None: they are drawn.

    Raises:
        LasthopError: a table `[figure.NAME]` has a mistake.
    """
    data, about = tidy(results), results.about
    figures = draw_all(results) if drawn is None else drawn
    level = data.level
    body = "".join(
        (
            section("What was swept", _swept(about, data), "swept"),
            section("Figures", _figures(figures), "figures"),
            section("Points", _points(data, level), "points"),
            section("Failures", _failures(results, data), "failures"),
            section("Plan and cost", _cost(about, data), "cost"),
            section("How to repeat it", _repeat(about, results.toml), "repeat"),
        )
    )
    runs = about.get("runs", {})
    subtitle = [str(about.get("description") or "")]
    subtitle.append(f"{len(data.points):,} points, {len(data.table):,} runs{_undecided(data, level)}.")
    if equal := unmoved_text(data):
        subtitle.append(equal[0].upper() + equal[1:])
    if results.incomplete is not None:
        subtitle.append(results.incomplete.capitalize())
    if runs.get("failed"):
        subtitle.append(f"{runs['failed']:,} {'run' if runs['failed'] == 1 else 'runs'} failed.")
    words = Markup('<p class="subtitle">{}</p>\n').format(" ".join(_sentence(s) for s in subtitle if s))
    # The description and what failed stand in the line above and in a section.
    entry = {**campaign_entry(results), "description": "", "failures": 0}
    return standalone_campaign({**entry, "name": entry["name"] or "A campaign"}, words + Markup(body))


def _sentence(words: str) -> str:
    return words if words.endswith((".", "!", "?")) else f"{words}."


def _undecided(data: Tidy, level: float) -> str:
    if data.rule is None or data.rule.metric not in data.units:
        return ""
    found = data.estimates(data.rule.metric, level).values()
    n = sum(e.reached is False for e in found)
    return (
        f"; {n:,} {'point is' if n == 1 else 'points are'} undecided" if n else "; the rule is satisfied at each point"
    )


def _swept(about: Mapping[str, Any], data: Tidy) -> str:
    known = {a["name"]: a for a in about.get("axes", ())}
    rows = []
    for axis, labels in data.axes.items():
        shown = ", ".join(text(v) for v in labels[:MOST_LABELS])
        more = f" and {len(labels) - MOST_LABELS} more" if len(labels) > MOST_LABELS else ""
        unit = data.axis_units.get(axis) or ""
        keys = ", ".join(known.get(axis, {}).get("keys", ()))
        rows.append((axis, keys, f"{shown}{more}{' ' + unit if unit else ''}"))
    axes = table_html(("Axis", "Key of the scenario", "Labels"), rows, ["", "", "wide"])
    measures = table_html(
        ("Metric", "Unit", "What it is"),
        [(m["name"], m.get("unit", "1"), m.get("text", "")) for m in about.get("metrics", ())],
        ["", "", "wide"],
    )
    return Markup("{}{}").format(Markup(axes), Markup(measures))


def _figures(drawn: Sequence[tuple[FigureSpec, Figure | str]]) -> str:
    if not drawn:
        return '<p class="mute">No run has a value that could be drawn.</p>'
    html = "".join(
        f"<pre>{escape(figure)}</pre>" if isinstance(figure, str)
        else figure_svg(figure, _caption(spec), spec.width == "page")
        for spec, figure in drawn
    )  # fmt: skip
    return f'<div class="figures">\n{html}</div>'


def _caption(spec: FigureSpec) -> str:
    what = {
        "line": f"Means over the seeds with {100 * spec.level:g} % intervals.",
        "heat": "Means over the seeds.",
        "cdf": "Cumulative distributions.",
        "rank": f"Points by their mean, with {100 * spec.level:g} % intervals.",
    }[spec.kind]
    return f"{spec.name}: {_sentence(spec.caption)} {what}" if spec.caption else f"{spec.name}: {what}"


def _points(data: Tidy, level: float) -> str:
    if not len(data.table):
        return '<p class="mute">There is no run.</p>'
    metrics = list(data.units)
    found = {m: data.estimates(m, level) for m in metrics}
    units = {m: shown_unit(data.units[m], _largest(found[m].values())) for m in metrics}
    heads = [m if units[m][1] in ("", "1") else f"{m} ({units[m][1]})" for m in metrics]
    headers = [*(title(a, unit) for a, unit in data.axis_units.items()), "runs", *heads]
    rows = []
    for point in data.points[:MOST_POINTS]:
        estimates = [found[m][point] for m in metrics]
        rows.append(
            [
                *map(text, point),
                data.runs[point],
                *(_cell(e, units[m][0]) for m, e in zip(metrics, estimates, strict=True)),
            ]
        )
    classes = ["tight"] * len(data.axis_names) + ["num"] * (1 + len(metrics))
    note = f"Means over the seeds with {100 * level:g} % intervals."
    if data.rule is not None:
        note += f" They allow for the rule {data.rule}, which chose the number of seeds."
    if any(e.missing for m in metrics for e in found[m].values()):
        note += " (n of m): only n of the m runs have a value."
    reasons = Counter(e.why for m in metrics for e in found[m].values() if e.reached is False)
    if reasons:
        note += " Undecided: " + "; ".join(f"{count:,} as {why}" for why, count in reasons.items()) + "."
    more = len(data.points) - MOST_POINTS
    left = Markup("<p>{} more points are in results.parquet.</p>").format(f"{more:,}") if more > 0 else Markup("")
    return Markup("<p>{}</p>\n{}{}").format(note, Markup(table_html(headers, rows, classes)), left)


def _cell(e: Estimate, factor: float) -> Any:
    text = measured(e.mean * factor, e.low * factor, e.high * factor)
    if e.missing:
        text += f" ({e.n} of {e.n + e.missing})"
    if e.reached is False:
        return Markup('{} <span class="unclear">undecided</span>').format(text)
    return text


def _failures(results: CampaignResults, data: Tidy) -> str:
    every = results.failures()
    if not len(every):
        return "<p>Each run gave a value of each metric.</p>"
    reasons = zip(every["metric"].to_pylist(), every["reason"].to_pylist(), strict=True)
    counts = Counter((metric or "the run failed", reason) for metric, reason in reasons)
    tally = table_html(
        ("Metric", "Reason", "Times"),
        [(metric, reason, _format.count(n)) for (metric, reason), n in counts.most_common(MOST_FAILURES)],
        ["", "wide", "num"],
    )
    rows = [
        (*(text(f[axis]) for axis in data.axis_names), f["seed"], f["metric"] or "the run failed", f["reason"])
        for f in every.slice(0, MOST_FAILURES).to_pylist()
    ]
    listing = table_html(
        (*data.axis_names, "seed", "Metric", "Reason"),
        rows,
        [*["tight"] * len(data.axis_names), "num", "tight", "wide"],
    )
    shown = "All" if len(every) <= MOST_FAILURES else f"The first {MOST_FAILURES} of {len(every):,}"
    return Markup("{}<details><summary>{}</summary>\n{}</details>").format(Markup(tally), shown, Markup(listing))


def _seeds(about: Mapping[str, Any], data: Tidy) -> str:
    """How many seeds the points have, and which."""
    seeds = about.get("seeds", [])
    first = f"{', '.join(map(str, seeds[:10]))}{', ...' if len(seeds) > 10 else ''}"
    counts = data.runs.values()
    if data.rule is None or not counts:
        return f"{first} (the same at each point)"
    low, high = min(counts), max(counts)
    many = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    return f"{many} at a point, the first of {first.removesuffix(', ...')}, ..."


def _cost(about: Mapping[str, Any], data: Tidy) -> str:
    runs = about.get("runs", {})
    made = runs.get("done", 0) - runs.get("taken", 0) - runs.get("failed", 0)
    facts: list[tuple[str, Any]] = [
        ("Points", f"{len(data.points):,}"),
        ("Seeds", _seeds(about, data)),
        ("Rule", about.get("until")),
        ("Runs planned", _format.count(runs.get("planned"))),
        ("Failed", _format.count(runs.get("failed", 0))),
        ("Processor time of all runs", _format.duration(about.get("cpu_seconds_in_all"))),
        ("Taken from the store", _format.count(runs.get("taken", 0))),
        ("Made by the last call", _format.count(max(0, made))),
        ("Time of the last call", _format.duration(about.get("seconds"))),
        ("Processor time of its runs", _format.duration(about.get("cpu_seconds"))),
        ("Executor", f"{about.get('executor', '')}, {about.get('jobs', '')} at a time"),
        ("Shard", "{} of {}".format(*about["shard"]) if about.get("shard") else None),
        ("Lasthop", about.get("lasthop")),
        ("Engine", about.get("engine")),
    ]
    rows = [Markup("<dt>{}</dt><dd>{}</dd>\n").format(k, v) for k, v in facts if v not in (None, "")]
    notes = [Markup('<p class="note">{}</p>').format(n) for n in about.get("notes", ())]
    return Markup('<dl class="facts">\n{}</dl>\n{}').format(Markup("").join(rows), Markup("").join(notes))


def _repeat(about: Mapping[str, Any], toml: str) -> str:
    command = about.get("command") or "lasthop sweep campaign.toml"
    return Markup(
        "<p>The same campaign and build of Lasthop give the same table, byte for byte.</p>\n"
        '<pre tabindex="0">{}</pre>\n'
        '<dl class="facts"><dt>Digest of the campaign</dt><dd>{}</dd></dl>\n'
        '<details><summary>The campaign</summary>\n<pre tabindex="0">{}</pre></details>'
    ).format(command, about.get("digest", ""), toml)


def _default(data: Tidy) -> list[FigureSpec]:
    """For each metric a figure of lines, or a ranking.

    A ranking where there are more axes than a figure has places.
    """
    several = [a for a, labels in data.axes.items() if len(labels) > 1] or list(data.axes)[:1]
    made = []
    for metric in data.units:
        places = dict(zip(("x", "lines", "columns", "rows"), several, strict=False))
        try:
            spec = FigureSpec(
                metric, "line", (metric,), **_typed(places), width="page" if len(several) > 2 else "column"
            )
            spec.check(data.axes, list(data.units))
            if len(several) > 1 and len(data.axes[several[1]]) > 8:
                raise spec.error("lines", "too many curves", "")
        except FigureError:
            spec = FigureSpec(metric, "rank", (metric,))
        made.append(spec)
    return made


def _typed(places: Mapping[str, str]) -> dict[str, Any]:
    return dict(places)


def _largest(estimates: Iterable[Estimate]) -> float:
    return max((abs(e.mean) for e in estimates if math.isfinite(e.mean)), default=0.0)
