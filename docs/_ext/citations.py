"""Citations of standards in the code, the documentation and the tests, as a page of the reference.

A citation is a document with a clause: `TS 36.322 clause 5.2.3`, `RFC 9293, section 3.10.7.4`,
`table 7.1.7.2.1-1 of TS 36.213`. `clause 5.2.3` alone belongs to the 3GPP or IEEE document that the
file names last before it. `docs/citations.toml` has the clauses that were compared with the text of
their document; every other one is unverified.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import evidence

ROOT = evidence.ROOT
#: Folders and patterns of the files that are searched.
PLACES = (
    ("crates", "**/*.rs"), ("python/lasthop", "**/*.py"), ("python/lasthop", "**/*.toml"),
    ("python/lasthop", "**/*.md"), ("tests", "**/*.py"), ("tests", "packetdrill/*.pkt"), ("docs", "*.md"),
    ("docs", "*.toml"), ("docs/concepts", "*.md"), ("docs/guides", "*.md"), ("docs/reference", "*.md"),
    ("examples", "**/*.rs"), ("examples", "**/*.py"), (".", "*.md"),
)  # fmt: skip
#: Work lists and the data of this page itself.
LEFT_OUT = {"docs/citations.toml", "ROADMAP.md", "CHANGELOG.md", "tests/test_docs.py"}

DOCUMENT = (
    r"(?:RFC ?\d{3,5}|T[SR] ?\d\d\.\d{3}(?:-\d)?|IEEE (?:Std )?802\.11(?:-20\d\d)?|draft-[a-z0-9]+(?:-[a-z0-9]+)+)"
)
VERSION = r"(?:,? (?:Release \d+ )?\(?v\d+\.\d+\.\d+\)?)?"
KIND = r"(?:[Cc]lauses?|[Ss]ections?|§+|[Tt]ables?|[Ff]igures?|[Ee]quations?|[Aa]nnex(?:es)?|[Aa]ppendix|[Aa]ppendices)"
NUMBER = r"(?:[A-Z](?:\.\d+[a-z]?)+(?:-\d+[a-z]?)?|[A-Z]\b|\d+[a-z]?(?:\.\d+[a-z]?)*(?:-\d+[a-zA-Z]?)?)"
NUMBERS = rf"{NUMBER}(?:(?:, | and | to | or |, and )(?:{NUMBER})(?![\w%]))*"
FORWARD = re.compile(rf"(?P<document>{DOCUMENT}){VERSION}(?:'s?)?,? ?\(?(?P<kind>{KIND}) ?(?P<numbers>{NUMBERS})")
#: `RFC 6298 (5.4)`: the numbered rules of that document.
RULES = re.compile(r"(?P<document>RFC 6298),? \((?P<numbers>\d\.\d)\)")
#: `section 3.2 and table 4` after a citation.
MORE = re.compile(rf"(?:,| and|;|,? and) (?P<kind>{KIND}) (?P<numbers>{NUMBERS})")
BACKWARD = re.compile(
    rf"(?P<kind>{KIND}) (?P<numbers>{NUMBERS}) (?:of|in|\() ?(?:the )?(?:3GPP )?(?P<document>{DOCUMENT})"
)
ALONE = re.compile(rf"(?P<kind>[Cc]lauses?) (?P<numbers>{NUMBERS})")
NAMED = re.compile(DOCUMENT)


@dataclass(frozen=True)
class Citation:
    """A clause of a document, in a line of a file."""

    document: str
    clause: str
    file: str
    line: int


def files() -> Iterator[Path]:
    """The files that are searched."""
    seen = set()
    for folder, pattern in PLACES:
        for path in sorted((ROOT / folder).glob(pattern)):
            name = path.relative_to(ROOT).as_posix()
            if path.is_file() and name not in seen | LEFT_OUT and "/generated/" not in name and "/target/" not in name:
                seen.add(name)
                yield path


@cache
def citations() -> list[Citation]:
    """All citations, by document, clause, file and line."""
    found = [
        c for path in files() for c in of_text(path.read_text(encoding="utf-8"), path.relative_to(ROOT).as_posix())
    ]
    return sorted(set(found), key=lambda c: (sort_key(c.document), sort_key(c.clause), c.file, c.line))


def of_text(text: str, file: str) -> Iterator[Citation]:
    """The citations of one file, across the ends of lines."""
    joined, starts = "", []
    for line in text.split("\n"):
        starts.append(len(joined))
        joined += re.sub(r"^\s*(?://[/!]?|#:?|\*)?\s*|\s*\\?$", "", line) + " "
    taken: list[tuple[int, int]] = []

    def cite(match: re.Match[str], document: str, kind: str) -> Iterator[Citation]:
        taken.append(match.span())
        line = bisect_right(starts, match.start("numbers"))
        for number in re.findall(NUMBER, match["numbers"]):
            if number.isalpha() and not kind.lower().startswith(("annex", "append")):
                continue
            yield Citation(normal(document), named(kind, number), file, line)

    for pattern in (FORWARD, BACKWARD, RULES):
        for match in pattern.finditer(joined):
            if any(a < match.end() and match.start() < b for a, b in taken):
                continue
            yield from cite(match, match["document"], match.groupdict().get("kind") or "section")
            end = match.end()
            while (more := MORE.match(joined, end)) and not BACKWARD.match(joined, more.start("kind")):
                yield from cite(more, match["document"], more["kind"])
                end = more.end()
    for match in ALONE.finditer(joined):
        if any(a < match.end() and match.start() < b for a, b in taken):
            continue
        before = [m for m in NAMED.findall(joined[: match.start()]) if not m.startswith(("RFC", "draft"))]
        if before:
            yield from cite(match, before[-1], match["kind"])


#: A quotation of four words or more.
QUOTED = re.compile(r'"([^"`]*)"')
#: What stands before or behind a quotation from a document.
SOURCE = re.compile(rf"{DOCUMENT}|[Cc]lause|[Ss]ection|[Ss]tep|\b\d+(?:\.\d+)+:|tcp_\w+|bbr_\w+")


def quotations() -> list[tuple[str, str]]:
    """Texts in quotation marks beside a source, in comments of Rust: (file, text)."""
    found = []
    for path in files():
        if path.suffix != ".rs":
            continue
        for block in re.findall(r"(?m)(?:^[ \t]*//[/!]?.*\n)+", path.read_text(encoding="utf-8")):
            text = " ".join(re.sub(r"^\s*(?://[/!]?)?\s*", "", line) for line in block.split("\n"))
            text = re.sub(r"`[^`]*`", "", text)
            for match in QUOTED.finditer(text):
                near = text[max(0, match.start() - 60) : match.start()] + " ... " + text[match.end() : match.end() + 45]
                title = re.search(r"[A-Z]\. [A-Z][\w-]+,? $|and others,? \(?$", text[: match.start()])
                if len(match[1].split()) >= 4 and SOURCE.search(near) and not title:
                    found.append((path.relative_to(ROOT).as_posix(), match[1].strip()))
    return found


def unlisted(found: list[tuple[str, str]]) -> list[str]:
    """Quotations that `docs/citations.toml` does not have."""
    known = {squeezed(q["text"]) for q in evidence.load("citations.toml").get("quotation", ())}
    return [f"{file}: {text}" for file, text in found if squeezed(text) not in known]


def squeezed(text: str) -> str:
    """A quotation without differences of spaces and of its last full stop."""
    return " ".join(text.split()).rstrip(".")


def normal(document: str) -> str:
    """One name for each document."""
    document = re.sub(r"^(RFC|TS|TR) ?", r"\1 ", document)
    return "IEEE Std 802.11-2016" if document.startswith("IEEE") else document


def named(kind: str, number: str) -> str:
    """A clause, table, figure, equation or appendix by name."""
    kind = kind.lower()
    for prefix in ("table", "figure", "equation"):
        if kind.startswith(prefix):
            return f"{prefix} {number}"
    return f"appendix {number}" if kind.startswith(("annex", "append")) else number


def sort_key(name: str) -> list[tuple[int, int, str]]:
    """Numbers in a name in their order."""
    parts = re.findall(r"\d+|[^\d.]+", name)
    return [(0, int(p), "") if p.isdigit() else (1, 0, p) for p in parts]


def verified() -> dict[str, dict[str, Any]]:
    """The documents of `docs/citations.toml` by name, with the clauses that were compared."""
    return {d["name"]: d for d in evidence.load("citations.toml")["document"]}


def unknown(found: list[Citation], known: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Entries of `docs/citations.toml` that nothing cites."""
    cited = {(c.document, c.clause) for c in found}
    return [f"{name}, {clause}" for name, d in known.items() for clause in d["clauses"] if (name, clause) not in cited]


def is_test(file: str) -> bool:
    """Whether a file holds tests."""
    return file.startswith("tests/") or "/tests/" in file or file.endswith("/tests.rs")


def page() -> str:
    """The page: what was compared, then a table for each document."""
    found, known = citations(), verified()
    if odd := unknown(found, known):
        sys.exit("docs/citations.toml has clauses that nothing cites:\n" + "\n".join(odd))
    rows = [
        (Citation("", "", row["what"], 0), row["tests"], list(of_text(row["reference"], "")))
        for row in evidence.validation_rows()
    ]
    covered: dict[tuple[str, str], list[str]] = defaultdict(list)
    for _, tests, cited in rows:
        for c in cited:
            covered[c.document, c.clause] += tests
    by_document: dict[str, dict[str, list[Citation]]] = defaultdict(lambda: defaultdict(list))
    for c in found:
        by_document[c.document][c.clause].append(c)
    clauses = sum(len(c) for c in by_document.values())
    compared = sum(len(d["clauses"]) for d in known.values())
    places = sum(1 for c in found if c.clause in known.get(c.document, {}).get("clauses", ()))
    out = [
        "# Citations\n",
        "The clauses of standards that code, documentation and tests cite, as `docs/_ext/citations.py` finds them.",
        "A clause is **compared** if its number and what the citing lines say of it were compared with the document:",
        "with the text of the clause or, where the page says so, with its title alone. `docs/citations.toml` says",
        "where each document was read. All other clauses are **unverified**: they were not compared with the document.",
        "Tests show the behaviour; the number of the clause may be wrong.\n",
        f"{compared} of {clauses} clauses are compared. They are {places} of {len(found)} citations.\n",
        "| document | clauses | compared | citations |\n|---|---|---|---|",
    ]
    for name, own in by_document.items():
        number = len(known.get(name, {}).get("clauses", ()))
        cites = sum(map(len, own.values()))
        out.append(f"| [{name}](#{evidence.anchor(name)}) | {len(own)} | {number or ''} | {cites} |")
    for name, own in by_document.items():
        out += [f"\n## {name}\n"]
        entry = known.get(name, {"clauses": {}})
        if entry["clauses"]:
            by = "by the titles of the clauses" if entry["by"] == "titles" else "by the text"
            out.append(
                f"Compared {by} with {entry['version']}, read in {entry['read']}. {entry.get('note', '')}".rstrip()
                + "\n"
            )
        out.append("| clause | title | state | cited in | tests |\n|---|---|---|---|---|")
        for clause, cites in own.items():
            title = entry["clauses"].get(clause)
            state = "unverified" if title is None else "compared"
            sources = sorted({c.file for c in cites if not is_test(c.file)})
            tests = sorted(
                {c.file for c in cites if is_test(c.file)} | {t.partition("::")[0] for t in covered[name, clause]}
            )
            cell = evidence.cell(title or "")
            out.append(f"| {clause} | {cell} | {state} | {listed(sources)} | {listed(tests)} |")
    quotes = evidence.load("citations.toml")["quotation"]
    out += ["\n## Quotations\n", "Texts in quotation marks, with the document in which each was read.\n"]
    out += ["| text | document | clause | read in |\n|---|---|---|---|"]
    for q in quotes:
        cells = (q["text"], q["document"], q["clause"], known.get(q["document"], q).get("read", ""))
        out.append(
            "| "
            + " | ".join(f"`{evidence.cell(c)}`" if i == 0 else evidence.cell(c) for i, c in enumerate(cells))
            + " |"
        )
    return "\n".join(out) + "\n"


def listed(names: list[str]) -> str:
    """File names as code."""
    return ", ".join(f"`{name}`" for name in names)
