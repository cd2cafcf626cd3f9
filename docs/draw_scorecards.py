"""Judges every built-in congestion control and writes their scorecards.

To docs/concepts/scorecards.md.

    make scorecards

The quick form of each suite that fits a control, with the default paths and seeds. The page holds
verdicts and values alone, no time and no name of a machine: the same version of Lasthop gives the
same octets. Finished runs are kept in the store of campaigns, so that controls share the runs of
the references, and a second call makes nothing anew.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

import lasthop as lh
from lasthop.judging._variables import built_in
from lasthop.judging._words import number
from lasthop.judging.control import Control
from lasthop.judging.judgement import VERDICTS, Row, default_suites
from lasthop.judging.report import MARKS

PAGE = Path(__file__).parent / "concepts" / "scorecards.md"
#: Controls that need a network or a peer of their own, or are none: they are judged only when
#: named.
LEFT_OUT = ("none", "abc", "guided", "radio-aware")
#: Suites that judge a control, in the order of the page. `anchors` judges the simulator, `tcpeval`
#: has values.
SUITES = ("rfc9743", "bbr", "l4s")
#: The values of `tcpeval` on the page: case, metric, heading.
SHOWN = (
    ("TCPE-01", "fct_p50", "files, median [ms]"),
    ("TCPE-01", "wait_p95", "files, wait p95 [ms]"),
    ("TCPE-01-WLAN", "fct_p50", "wireless, median [ms]"),
    ("TCPE-02", "wait_p95", "half a BDP, wait p95 [ms]"),
    ("TCPE-03", "to_1e3", "1.5 MB beside a flow [s]"),
    ("TCPE-04", "to_80", "80 % of freed rate [s]"),
    ("TCPE-05", "standard", "Reno's files, of the path"),
    ("TCPE-06", "ratio", "40 over 160 ms"),
    ("TCPE-07", "fct_long", "three links, median [ms]"),
)
#: Verdicts of which the page says why.
EXPLAINED = ("error", "fail", "flag", "inconclusive", "ambiguous")
#: A longer reason is cut.
LETTERS = 220

INTRODUCTION = """\
# Scorecards of the built-in congestion controls

Each built-in congestion control, judged by the quick form of the bundled suites that fit it
([what a verdict means](../guides/judge.md#verdicts)). `make scorecards` writes this page.
`lasthop judge CONTROL --quick` makes one control's own report, with the values of every path and the figures;
without `--quick` the full form has more paths and ten seeds in the place of three, and is the one to cite. `none`,
`abc`, `guided` and `radio-aware` are left out: the first is no control, the others need a network that gives hints.
"""


def controls() -> list[str]:
    """The controls of the page."""
    return [name for name in built_in() if name not in LEFT_OUT]


def scorecards(names: Sequence[str], suites: Sequence[str] = (*SUITES, "tcpeval")) -> dict[str, dict[str, list[Row]]]:
    """The rows of each control by suite."""
    found: dict[str, dict[str, list[Row]]] = {}
    for name in names:
        fitting = [s for s in suites if s in (*default_suites(Control(name)), "tcpeval")]
        verdicts = lh.judge(name, fitting, quick=True)
        found[name] = {suite: [row for row in verdicts.rows if row.suite == suite] for suite in fitting}
        print(f"{name}: {verdicts.made} runs made, {verdicts.taken} found", file=sys.stderr)
    return found


def page(found: Mapping[str, Mapping[str, Sequence[Row]]], anchors: Sequence[Row]) -> str:
    """The page of some scorecards."""
    used = {row.verdict for suites in found.values() for rows in suites.values() for row in rows}
    used |= {row.verdict for row in anchors}
    legend = " ".join(
        f'<span class="{MARKS[v][0]}">{MARKS[v][1]}</span> {v}: {MARKS[v][2]}.' for v in VERDICTS if v in used
    )
    parts = [INTRODUCTION, f'<p class="cards-legend">{legend}</p>\n']
    for suite, title in (
        ("rfc9743", "RFC 9743: what every new control must show"),
        ("bbr", "draft-ietf-ccwg-bbr: the cases of its appendix"),
        ("l4s", "RFC 9331 and 9332: controls that send ECT(1)"),
    ):
        cards = {name: suites[suite] for name, suites in found.items() if suite in suites}
        parts += [f"## {title}\n", grid(cards), *reasons(cards, suite)]
    parts += ["## Common TCP Evaluation Suite: values without a rule\n", values(found)]
    parts += ["## Anchors: published numbers by which the simulator is judged\n", grid({"simulator": anchors})]
    parts += reasons({"simulator": anchors}, "anchors")
    return "\n".join(parts)


def grid(cards: Mapping[str, Sequence[Row]]) -> str:
    """A line for each control, a column for each case; what is explained below is a link to it."""
    rows = next(iter(cards.values()))
    heads = "".join(f'<th title="{escape(row.id)}: {escape(row.title)}">{escape(short(row))}</th>' for row in rows)
    lines = []
    for name, of in cards.items():
        cells = "".join(cell(name, row) for row in of)
        lines.append(f'<tr><th scope="row">{escape(name)}</th>{cells}</tr>')
    return table("cards", heads, lines)


def table(css: str, heads: str, lines: Sequence[str]) -> str:
    """A table of HTML: heads of columns, and its rows."""
    body = "\n".join(lines)
    return (
        f'<div class="{css}"><table>\n<thead><tr><th></th>{heads}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table></div>\n"
    )


def short(row: Row) -> str:
    """The id of a case without what all of its suite share."""
    return row.id.split("-", 1)[1].lower() if "-" in row.id else row.id


def cell(name: str, row: Row) -> str:
    """The sign of a verdict, with its name for readers of screens and pointers."""
    css, sign, _ = MARKS[row.verdict]
    said = f"{name}, {row.id} {row.title}: {row.verdict}"
    inner = f'<a href="#{anchor(name, row.suite)}" aria-label="{escape(said)}">{sign}</a>' \
        if row.verdict in EXPLAINED else f'<span aria-label="{escape(said)}" role="img">{sign}</span>'  # fmt: skip
    return f'<td class="{css}" title="{escape(said)}">{inner}</td>'


def anchor(name: str, suite: str) -> str:
    """Where the page says why."""
    return f"{suite}-{name}"


def reasons(cards: Mapping[str, Sequence[Row]], suite: str) -> Iterator[str]:
    """Of each control what is neither passed nor shown, folded."""
    for name, rows in cards.items():
        explained = [row for row in rows if row.verdict in EXPLAINED]
        if explained:
            items = "\n".join(
                f"<li><b>{escape(row.id)}</b> {escape(row.title)}: {row.verdict}. "
                f"{escape(cut(row.why))}{known(row)}</li>"
                for row in explained
            )
            yield (
                f'<details class="cards-why" id="{anchor(name, suite)}">'
                f"<summary>{escape(name)}: {counted(rows)}</summary><ul>\n{items}\n</ul></details>\n"
            )


def known(row: Row) -> str:
    """Why a control is known to fail."""
    found = next((note for note in row.notes if note.startswith("Known: ")), "")
    return f" <i>{escape(found)}</i>" if found else ""


def counted(rows: Sequence[Row]) -> str:
    """How many rows have each verdict."""
    found = {verdict: sum(row.verdict == verdict for row in rows) for verdict in VERDICTS}
    return ", ".join(f"{n} {verdict}" for verdict, n in found.items() if n)


def cut(text: str) -> str:
    """A reason without what goes beyond some lines, at a word."""
    if len(text) <= LETTERS:
        return text
    return text[:LETTERS].rsplit(" ", 1)[0] + " …"


def values(found: Mapping[str, Mapping[str, Sequence[Row]]]) -> str:
    """Means of some metrics of `tcpeval`, on the first path of the quick form."""
    titles = "".join(f"<th>{escape(title)}<br><small>{case}</small></th>" for case, _, title in SHOWN)
    lines = []
    for name, suites in found.items():
        rows = {row.id: row for row in suites["tcpeval"]}
        cells = []
        for case, metric, _ in SHOWN:
            mean = rows[case].points[0]["compare"][name][metric]["mean"]
            cells.append(f"<td>{'–' if mean is None else number(float(f'{mean:.3g}'))}</td>")
        lines.append(f'<tr><th scope="row">{escape(name)}</th>{"".join(cells)}</tr>')
    return table("cards values", titles, lines)


def main() -> None:
    """Judges all of them and leaves the page."""
    found = scorecards(controls())
    anchors = lh.judge("cubic", "anchors", quick=True).rows
    PAGE.write_text(page(found, anchors), encoding="utf-8")


if __name__ == "__main__":
    main()
