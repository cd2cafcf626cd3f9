"""The tables of the pages of evidence, from their data files.

These are `docs/validation.toml` and `docs/outcomes.toml`.

A page has a line such as `<!-- rows of validation.toml -->`; the build replaces it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DOCS = Path(__file__).resolve().parent.parent
ROOT = DOCS.parent
STUDIES = ROOT / "python" / "lasthop" / "studies"
#: Verdicts in the order in which a page lists them.
VERDICTS = ("agrees", "differs", "undecided", "ambiguous", "not-testable")
#: What judged an outcome: `interval` is the rule of today.
RULES = {
    "interval": "the whole 95 % interval has to be accepted",
    "mean": "the mean has to be accepted (the rule before 2026-11-23, which has no `undecided`)",
}


def load(name: str) -> dict[str, Any]:
    """A data file of the documentation."""
    return tomllib.loads((DOCS / name).read_text(encoding="utf-8"))


def fill(page: str, text: str) -> str:
    """The text of a page with its tables."""
    for mark, table in TABLES.get(page, {}).items():
        line = f"<!-- {mark} -->"
        if text.count(line) != 1:
            sys.exit(f"docs/{page}.md: the line {line!r} is there {text.count(line)} times, not once")
        text = text.replace(line, table())
    return text


# Validation


def validation_rows() -> list[dict[str, Any]]:
    """The rows of `docs/validation.toml`, in their order."""
    rows: list[dict[str, Any]] = load("validation.toml")["row"]
    for row in rows:
        if not row.get("tests") or not {"layer", "what", "reference"} <= row.keys():
            sys.exit(f"docs/validation.toml: a row lacks layer, what, reference or tests: {row}")
    return rows


def missing_tests(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """The tests that rows name and the repository does not have."""
    sources: dict[str, str | None] = {}
    missing = []
    for row in rows:
        for test in row["tests"]:
            file, _, function = test.partition("::")
            if file not in sources:
                path = ROOT / file
                readable = path.is_file() and path.suffix in (".rs", ".py")
                sources[file] = path.read_text(encoding="utf-8") if readable else ("" if path.exists() else None)
            source = sources[file]
            if source is None or (function and not re.search(rf"\b(?:fn|def) {function}\(", source)):
                missing.append(f"{row['what']}: {test}")
    return missing


def validation_table() -> str:
    """How many rows each layer has, then one table for each layer."""
    rows = validation_rows()
    if missing := missing_tests(rows):
        sys.exit("docs/validation.toml names tests that do not exist:\n" + "\n".join(missing))
    layers = list(dict.fromkeys(row["layer"] for row in rows))
    out = ["| layer | rows | tests |", "|---|---|---|"]
    for layer in layers:
        own = [row for row in rows if row["layer"] == layer]
        out.append(f"| [{layer}](#{anchor(layer)}) | {len(own)} | {len({t for row in own for t in row['tests']})} |")
    for layer in layers:
        out += ["", f"## {layer}", "", "| what | reference | test |", "|---|---|---|"]
        for row in rows:
            if row["layer"] == layer:
                out.append(f"| {cell(row['what'])} | {cell(row['reference'])} | {tests_of(row)} |")
    return "\n".join(out)


def tests_of(row: Mapping[str, Any]) -> str:
    """The tests of a row, those of one file together, and the command that runs them.

    `make test` is not named.
    """
    files: dict[str, list[str]] = {}
    for test in row["tests"]:
        file, _, function = test.partition("::")
        files.setdefault(file, []).extend([f"`{function}`"] if function else [])
    text = "; ".join(f"`{file}`" + (": " + ", ".join(named) if named else "") for file, named in files.items())
    return text + (f" (`{row['lane']}`)" if row.get("lane") else "")


def anchor(title: str) -> str:
    """A heading's anchor."""
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def cell(text: object) -> str:
    """Text that a table cell can hold."""
    return " ".join(str(text).split()).replace("|", "\\|")


# Studies


def claims_of(study: str) -> list[dict[str, Any]]:
    """The claims of a bundled study."""
    path = STUDIES / study.replace("-", "_") / "claims.toml"
    claims: list[dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8"))["claim"]
    return claims


def about(study: str) -> dict[str, Any]:
    """The table `[study]` of a bundled study."""
    path = STUDIES / study.replace("-", "_") / "study.toml"
    table: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))["study"]
    return table


def outcomes() -> list[dict[str, Any]]:
    """The outcomes of `docs/outcomes.toml`; each names every claim of its study once."""
    found: list[dict[str, Any]] = load("outcomes.toml")["outcome"]
    for outcome in found:
        named = [claim for verdict in VERDICTS for claim in outcome.get(verdict, ())]
        known = [claim["id"] for claim in claims_of(outcome["study"])]
        if sorted(named) != sorted(known):
            odd = sorted(set(named) ^ set(known)) or sorted({c for c in named if named.count(c) > 1})
            place = f"{outcome['study']}, {outcome['form']}, {outcome['set']}"
            sys.exit(f"docs/outcomes.toml: {place}: claims that are missing, unknown or there twice: {', '.join(odd)}")
        if outcome["rule"] not in RULES:
            sys.exit(f"docs/outcomes.toml: unknown rule {outcome['rule']!r}")
    return found


def readings() -> list[dict[str, Any]]:
    """The readings of `docs/outcomes.toml`; each names claims of its study, none twice."""
    found: list[dict[str, Any]] = load("outcomes.toml").get("reading", [])
    for reading in found:
        named = [claim for v in VERDICTS for claim in reading.get(v, ())]
        known = {claim["id"] for claim in claims_of(reading["study"])}
        if not named or len(named) != len(set(named)) or not known.issuperset(named):
            place = f"{reading['study']}, {reading['form']}, {reading['set']}, {reading['reading']}"
            sys.exit(f"docs/outcomes.toml: {place}: claims that are unknown or there twice: {', '.join(named)}")
    return found


def verdict(outcome: Mapping[str, Any], claim: str) -> str:
    """The verdict of a claim."""
    return next(v for v in VERDICTS if claim in outcome.get(v, ()))


def studies_summary() -> str:
    """One line for each study, form and parameter set."""
    out = [
        "| study | form | parameter set | " + " | ".join(VERDICTS) + " | commit | date | rule | runs | time |",
        "|---" * (8 + len(VERDICTS)) + "|",
    ]
    for o in outcomes():
        counts = " | ".join(str(len(o.get(v, ())) or "") for v in VERDICTS)
        runs, seconds = (f"{o[k]:,}" if k in o else "" for k in ("runs", "seconds"))
        out.append(
            f"| [`{o['study']}`](#{o['study']}) | {o['form']} | {o['set']} | {counts} | `{o['commit'][:8]}` | "
            f"{o['date']} | {o['rule']} | {runs} | {seconds}{' s' if seconds else ''} |"
        )
    return "\n".join(out)


def studies_claims() -> str:
    """For each study its claims with the verdicts, and why claims differ."""
    found = outcomes()
    notes = load("outcome-notes.toml")["note"]
    out: list[str] = []
    for study in dict.fromkeys(o["study"] for o in found):
        table = about(study)
        own = [o for o in found if o["study"] == study]
        out += [f"## {study}", "", f"{table['title']}. Source: {table['source']}", ""]
        out += ["| claim | what the source says | " + " | ".join(f"{o['set']}, {o['form']}" for o in own) + " |"]
        out += ["|---" * (2 + len(own)) + "|"]
        for claim in claims_of(study):
            shown = " | ".join(verdict(o, claim["id"]) for o in own)
            out.append(f"| {claim['id']} | {cell(claim['says'])} | {shown} |")
        out += ["", *readings_table(study)]
        if why := [n for n in notes if n["study"] == study]:
            out += [f"* {'**' + ', '.join(n['claims']) + '**: ' if n['claims'] else ''}{cell(n['text'])}" for n in why]
            out += [""]
    return "\n".join(out)


def readings_table(study: str) -> list[str]:
    """The verdicts of a study's readings: the same claims with something else in its place."""
    own = [r for r in readings() if r["study"] == study]
    if not own:
        return []
    shown = [v for v in VERDICTS if any(v in r for r in own)]
    out = [
        "| reading | parameter set, form | " + " | ".join(shown) + " | commit | date |",
        "|---" * (4 + len(shown)) + "|",
    ]
    for r in own:
        claims = " | ".join(", ".join(r.get(v, ())) for v in shown)
        out.append(f"| {cell(r['reading'])} | {r['set']}, {r['form']} | {claims} | `{r['commit'][:8]}` | {r['date']} |")
    return [*out, ""]


def long_tests() -> str:
    """The outcomes of tests that are too long for each commit."""
    rows = load("outcome-notes.toml")["long"]
    out: list[str] = []
    for subject in dict.fromkeys(row["subject"] for row in rows):
        out += [f"### {subject}", "", "| what | commit or date | outcome |", "|---|---|---|"]
        out += [
            f"| {cell(r['what'])} | {r['commit']} | {cell(r['outcome'])} |" for r in rows if r["subject"] == subject
        ]
        out += [""]
    return "\n".join(out)


#: Which lines of which pages are replaced, by what.
TABLES: Mapping[str, Mapping[str, Callable[[], str]]] = {
    "validation": {"rows of validation.toml": validation_table},
    "study-outcomes": {
        "summary of outcomes.toml": studies_summary,
        "claims of outcomes.toml": studies_claims,
        "long tests of outcome-notes.toml": long_tests,
    },
}
#: The data files that a page is made of.
SOURCES: Mapping[str, Sequence[str]] = {
    "validation": ["validation.toml"],
    "study-outcomes": ["outcomes.toml", "outcome-notes.toml"],
}
