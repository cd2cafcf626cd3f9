"""The documentation's own tools: drawings are fresh, generators survive what they will meet."""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import lasthop
from lasthop import _core

DOCS = Path(__file__).resolve().parent.parent / "docs"


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def test_the_drawing_of_a_segments_way_is_fresh() -> None:
    drawn = load(DOCS / "draw_segment_way.py").drawing()
    assert (DOCS / "images" / "segment-way.svg").read_text(encoding="utf-8") == drawn


UNITS = {"range": "0 s to 10 years", "example": '"10 ms"', "units": ["ms", "s"]}
KEYS: list[dict[str, Any]] = [
    {"path": "link", "type": "table by name", "required": False, "description": "Wired links by name."},
    {
        "path": "link.<name>.delay",
        "type": "time",
        "required": False,
        "default": '"0 s"',
        "description": "A | B.",
        **UNITS,
    },
    {"path": "link.<name>.end", "type": '"loop" | "stop"', "required": False, "names": [["loop", "Again."]]},
    {
        "path": "link.<name>.reverse.delay",
        "type": "time",
        "required": False,
        "default": '"0 s"',
        "description": "A | B.",
    },
    {"path": "link.<name>.queue.packets", "type": "whole number", "required": True, "kind": "droptail"},
    {"path": "link.<name>.queue.bytes", "type": "size", "required": False, "kind": "headdrop"},
]


def test_the_scenario_page_has_every_key_with_type_default_and_text() -> None:
    page = load(DOCS / "_ext" / "scenario_keys.py").scenario_page(KEYS)
    assert "## `[link.<name>]`\n\nWired links by name.\n" in page
    assert '| `delay` | time | `"0 s"` | A \\| B. |' in page
    assert '| `end` | `"loop" \\| "stop"` |  | <br>`loop`: Again. |' in page
    assert '| time | 0 s to 10 years | `ms`, `s` | `"10 ms"` |' in page
    assert "Keys as in `[link.<name>]`: `delay`." in page
    assert '## `[link.<name>.queue]`, `kind = "droptail"`' in page
    assert "| `packets` | whole number | required |" in page


def test_a_docstring_becomes_markdown() -> None:
    doc = """Does it.

        x = do(1)

    Args:
        n: how often;
            at least once.

    Raises:
        ValueError: never.
    """
    text = load(DOCS / "_ext" / "docstrings.py").markdown(doc)
    assert "```python\nx = do(1)\n```" in text
    assert "- `n`: how often; at least once." in text
    assert "**Raises**" in text


def test_the_bench_table_shows_what_was_measured_and_nothing_else() -> None:
    fill = load(DOCS / "fill_bench.py")
    rows = [{"name": "dumbbell1", "sim_s_per_s": 312.4, "instructions": 2.5e9}]
    text = fill.case_table(rows, {"cases": [{"name": "dumbbell1", "ns3": 5.5}]})
    assert "| `dumbbell1` | 312 | 5.5 |  |  |  | 2.5 G |" in text


def test_the_performance_page_has_the_tables_of_its_records() -> None:
    fill = load(DOCS / "fill_bench.py")
    assert fill.generated() in fill.PAGE.read_text(encoding="utf-8"), "renew it: python docs/fill_bench.py --page"


@pytest.fixture
def evidence(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    return load(DOCS / "_ext" / "evidence.py")


def test_every_row_of_the_page_of_validation_names_tests_that_exist(evidence: ModuleType) -> None:
    rows = evidence.validation_rows()
    assert len(rows) > 300
    assert len({row["what"] for row in rows}) == len(rows)
    assert evidence.missing_tests(rows) == []
    wrong = [
        {"what": "a file", "tests": ["tests/no_such_file.py"]},
        {"what": "a test", "tests": ["tests/test_docs.py::test_no_such_test"]},
    ]
    missing = ["a file: tests/no_such_file.py", "a test: tests/test_docs.py::test_no_such_test"]
    assert evidence.missing_tests(wrong) == missing


def test_the_page_of_validation_has_each_row_and_its_tests(evidence: ModuleType) -> None:
    page = evidence.fill("validation", (DOCS / "validation.md").read_text(encoding="utf-8"))
    row = {
        "what": "connection states and transitions",
        "reference": "RFC 9293, figure 5",
        "tests": ["crates/tcp/src/state.rs::the_table_is_figure_5_of_rfc_9293"],
    }
    assert row.items() <= evidence.validation_rows()[0].items()
    line = "| `crates/tcp/src/state.rs`: `the_table_is_figure_5_of_rfc_9293` |"
    assert f"\n| {row['what']} | {row['reference']} {line}\n" in page
    assert all(f"\n## {row['layer']}\n" in page for row in evidence.validation_rows())


def test_the_page_of_studies_has_the_verdict_of_each_claim(evidence: ModuleType) -> None:
    page = evidence.fill("study-outcomes", (DOCS / "study-outcomes.md").read_text(encoding="utf-8"))
    for outcome in evidence.outcomes():
        for claim in evidence.claims_of(outcome["study"]):
            assert f"\n| {claim['id']} | {evidence.cell(claim['says'])} | " in page
    for r in evidence.readings():
        assert f"\n| {r['reading']} | {r['set']}, {r['form']} | {', '.join(r.get('agrees', ()))} | " in page
    notes = evidence.load("outcome-notes.toml")["note"]
    known = {o["study"]: {c["id"] for c in evidence.claims_of(o["study"])} for o in evidence.outcomes()}
    assert {(n["study"], c) for n in notes for c in n["claims"]} <= {(s, c) for s in known for c in known[s]}


def test_the_outcome_of_a_study_is_recorded_as_it_was_printed(
    evidence: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fill = load(DOCS / "fill_outcomes.py")
    monkeypatch.setattr(fill, "git", lambda *words: "0123abcd" if words[0] == "rev-parse" else "")
    monkeypatch.setattr(fill, "TARGET", tmp_path / "outcomes.toml")
    before = evidence.load("outcomes.toml")
    monkeypatch.setattr(fill.evidence, "load", lambda _: before)
    readings = {"real Linux": {"verdict": "differs"}, "another": {"verdict": "agrees"}}
    verdicts = [{"id": "H1", "verdict": "agrees"}, {"id": "H2", "verdict": "undecided", "readings": readings}]
    printed = {"study": "lte-handover", "quick": False, "runs": 5, "taken": 0, "seconds": 1.6}
    (tmp_path / "out.json").write_text(json.dumps({**printed, "parameter_sets": {"paper": verdicts}}))
    fill.main([str(tmp_path / "out.json")])
    text = (tmp_path / "outcomes.toml").read_text(encoding="utf-8")
    assert 'study = "lte-handover"\nform = "full"\nset = "paper"\ncommit = "0123abcd"' in text
    assert 'rule = "interval"\nruns = 5\nseconds = 2\nagrees = ["H1"]\nundecided = ["H2"]' in text
    assert text.count("[[outcome]]") == len(before["outcome"])
    for reading, verdict in (("real Linux", "differs"), ("another", "agrees")):
        entry = next(part for part in text.split("[[reading]]") if f'set = "paper"\nreading = "{reading}"' in part)
        assert 'form = "full"' in entry
        assert f'rule = "interval"\n{verdict} = ["H2"]\n' in entry
    new = {("lte-handover", "full", "paper", reading) for reading in readings}
    places = {(r["study"], r["form"], r["set"], r["reading"]) for r in before["reading"]}
    assert text.count("[[reading]]") == len(places | new)


@pytest.fixture(scope="module")
def citations() -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(DOCS / "_ext"))
        return load(DOCS / "_ext" / "citations.py")


@pytest.mark.parametrize(
    ("text", "cited"),
    [
        ("// RFC 9293 section 3.10.7.4, first check", ["RFC 9293: 3.10.7.4"]),
        (
            "//! (TS 36.322 v15.1.0\n//! clauses 5.2.1, 5.2.3 and 7.1).",
            ["TS 36.322: 5.2.1", "TS 36.322: 5.2.3", "TS 36.322: 7.1"],
        ),
        (
            "TS 36.213, table 7.1.7.2.1-1; annex A.4 of TS 36.104",
            ["TS 36.213: table 7.1.7.2.1-1", "TS 36.104: appendix A.4"],
        ),
        ("TS 25.322 is RLC. Then clause 9.5 a is a timer", ["TS 25.322: 9.5"]),
        ("RFC 6298 (5.4), RFC 9768 section 3.2 and figure 4", ["RFC 9768: 3.2", "RFC 9768: figure 4", "RFC 6298: 5.4"]),
        ("in section 5, W = 3 of no document; RFC 5681 alone", []),
    ],
)
def test_citations_are_found(text: str, cited: list[str], citations: ModuleType) -> None:
    assert [f"{c.document}: {c.clause}" for c in citations.of_text(text, "a.rs")] == cited


def test_each_compared_clause_is_cited_and_each_quotation_was_read(citations: ModuleType) -> None:
    found, known = citations.citations(), citations.verified()
    assert len(found) > 1000
    assert citations.unknown(found, known) == []
    assert all(
        {"version", "read", "by"} <= entry.keys() and entry["by"] in ("text", "titles") for entry in known.values()
    )
    assert citations.unlisted(citations.quotations()) == []
    assert citations.unlisted([("a.rs", "what no document says")]) == ["a.rs: what no document says"]


def test_what_is_marked_as_unverified_is_not_among_the_compared_clauses(citations: ModuleType) -> None:
    known = citations.verified()
    marked = re.compile(rf"({citations.DOCUMENT}){citations.VERSION},? (?:clauses?|section) ([\d.]+) \[unverified\]")
    texts = " ".join(" ".join(p.read_text(encoding="utf-8").split()) for p in citations.files())
    found = [(citations.normal(document), clause) for document, clause in marked.findall(texts)]
    assert len(found) > 3
    assert [f"{d} {c}" for d, c in found if c in known.get(d, {"clauses": {}})["clauses"]] == []


@pytest.mark.parametrize("name", ["lte-tables.md"])
def test_every_test_that_a_page_of_evidence_names_exists(name: str) -> None:
    page = (DOCS / name).read_text(encoding="utf-8")
    named = re.findall(r"`((?:crates|tests)/[\w/.]+)`: `(\w+)`", page)
    assert named
    missing = [
        f"{path}: {name}"
        for path, name in named
        if not (DOCS.parent / path).is_file()
        or not re.search(rf"\b(fn|def) {name}\(", (DOCS.parent / path).read_text())
    ]
    assert missing == []


def test_the_page_for_those_from_other_simulators_names_keys_that_exist() -> None:
    known = {key["path"] for key in json.loads(_core.describe())["keys"]}
    page = (DOCS / "guides" / "from-other-simulators.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:cell|ue|flow|link|radio)\.[a-z0-9_.<>]+)`", page))
    assert len(named) > 30
    named = {re.sub(r"^(ue\.<name>\.dedicated)\.<\w+>", r"\1.<name>", name) for name in named}
    assert sorted(name for name in named if name not in known) == []


ROOT = DOCS.parent
#: Pages at the root whose names of code have to exist.
PROJECT_PAGES = ["ARCHITECTURE.md", "DESIGN.md", "CONTRIBUTING.md", "README.md"]


def names_of_code(page: str) -> set[str]:
    """What stands in backticks outside of blocks of code."""
    return set(re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", page, flags=re.DOTALL)))


def is_there(path: str) -> bool:
    """A path from the root, or the end of one in a crate's sources.

    `<name>` stands for any name.
    """
    pattern = re.sub(r"<\w+>", "*", path)
    return any(ROOT.glob(pattern)) or any(ROOT.glob(f"crates/*/src/**/{pattern}"))


@pytest.mark.parametrize("name", PROJECT_PAGES)
def test_the_paths_that_a_page_names_exist(name: str) -> None:
    page = (ROOT / name).read_text(encoding="utf-8")
    path = r"[\w.<>/-]+\.(rs|py|toml|md|txt|json|svg)|[\w.-]+/[\w./-]+"
    paths = {t for t in names_of_code(page) if re.fullmatch(path, t)}
    #: Files of results, and those that a study has.
    paths -= {"manifest.json", "claims.json", "study.toml", "claims.toml", "scenario.toml", "study.py", "summary.json"}
    assert paths or name == "README.md"
    assert sorted(p for p in paths if not is_there(p)) == []
    links = re.findall(r"\]\(([\w./-]+)", page)
    assert sorted(link for link in links if not link.startswith("http") and not (ROOT / link).exists()) == []


@pytest.mark.parametrize("name", ["ARCHITECTURE.md", "DESIGN.md", "CONTRIBUTING.md"])
def test_the_types_and_functions_that_a_page_names_exist(name: str) -> None:
    page = (ROOT / name).read_text(encoding="utf-8")
    sources = "\n".join(p.read_text(encoding="utf-8") for p in sorted(ROOT.glob("crates/*/src/**/*.rs")))
    known = set(re.findall(r"\b(?:fn|struct|enum|trait|type|mod|const|static|macro_rules!)\s+(\w+)", sources))
    known |= {p.parent.name.replace("-", "_") for p in ROOT.glob("crates/*/Cargo.toml")}
    named = {t.split("(")[0].rstrip("!") for t in names_of_code(page)}
    named = {t for t in named if re.fullmatch(r"[A-Za-z_]\w*(::\w+)+|[A-Z]\w*[a-z]\w*", t)}
    #: Names of the standard library.
    named -= {"HashMap", "HashSet", "BTreeMap", "Default", "std::HashMap", "f64::ln"}
    assert named
    assert sorted(t for t in named for part in t.split("::") if part not in known) == []


def test_the_walk_of_a_segment_names_functions_of_its_files() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\|[^|]*\| `(crates/[\w/.]+)` \| ((?:`\w+`(?:, )?)+) \|", page, re.MULTILINE)
    assert len(rows) > 12
    missing = [
        f"{path}: {name}"
        for path, names in rows
        for name in re.findall(r"\w+", names)
        if not re.search(rf"\bfn {name}\b", (ROOT / path).read_text(encoding="utf-8"))
    ]
    assert missing == []


def test_the_drawing_of_the_crates_has_each_crate() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    drawing = page.split("### Allowed arrows", 1)[0]
    crates = {p.parent.name for p in ROOT.glob("crates/*/Cargo.toml")}
    drawn = {word for line in drawing.splitlines() if line.startswith("      ") for word in re.findall(r"[\w-]+", line)}
    assert crates - drawn == set()


@pytest.mark.parametrize("term", ["pcap", "Wireshark", "sweep", "SLURM", "resume", "5G", "NR", "QUIC", "qlog", "ns-3"])
def test_the_index_leads_from_a_search_word_to_a_page_that_has_it(term: str) -> None:
    """Sphinx' search finds pages by their words: the page has the word itself, not a synonym."""
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    word = re.compile(rf"(?<![\w-]){re.escape(term)}(?!\w)", re.IGNORECASE)
    rows = re.findall(r"^\| ([^|]+) \| \[[^\]]+\]\(([\w/.-]+\.md)[^)]*\) \|$", index, re.MULTILINE)
    targets = [target for words, target in rows if word.search(words)]
    assert targets
    assert [t for t in targets if not word.search((DOCS / t).read_text(encoding="utf-8"))] == []


def test_the_check_of_the_search_finds_words_by_text_and_by_title(tmp_path: Path) -> None:
    check = load(DOCS / "check_search.py")
    index = {"docnames": ["a", "b", "c"], "terms": {"resum": [0, 1], "5g": 2}, "titleterms": {"resum": 2}}
    assert check.pages(index, "resume") == {"a", "b", "c"}
    assert check.pages(index, "5G") == {"c"}
    assert check.pages(index, "pcap") == set()
    (tmp_path / "searchindex.js").write_text(f"Search.setIndex({json.dumps(index)})")
    with pytest.raises(SystemExit, match="pcap: guides/captures"):
        check.main(str(tmp_path))


def long_lines(text: str) -> list[int]:
    """The lines of prose (from 1) above 120 columns.

    Tables, code, headings and long words keep their lines.
    """
    found, block = [], False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith(("```", ":::")):
            block = not block
        plain = re.sub(r"`[^`]*`|\]\([^)]*\)", "", line)
        code = block or line.startswith("    ") or line.lstrip().startswith(("|", "#", "!["))
        if len(line) > 120 and not code and len(plain.split()) > 3:
            found.append(number)
    return found


def test_long_lines_of_prose_are_found() -> None:
    long = "word " * 30
    assert long_lines(f"{long}\n| {long}\n```\n{long}\n```\n    {long}\n- {long}") == [1, 7]


#: The pages, and those that the site shows from files at the root.
TEXTS = [
    p.relative_to(ROOT).as_posix()
    for p in sorted((*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *(ROOT / "python" / "lasthop" / "studies").rglob("*.md")))
    if not {"generated", "_build"} & set(p.parts) and p.name not in ("scorecards.md", "THIRD-PARTY.md")
]


@pytest.mark.parametrize("name", TEXTS)
def test_prose_of_pages_is_within_120_columns(name: str) -> None:
    assert long_lines((ROOT / name).read_text(encoding="utf-8")) == []


def test_the_reference_has_the_members_of_compiled_classes_and_fields_of_dataclasses() -> None:
    extension = load(DOCS / "_ext" / "docstrings.py")
    page = extension.module_page(lasthop)
    for name in lasthop.__all__:
        cls = getattr(lasthop, name)
        if isinstance(cls, type) and cls.__module__ == "lasthop._core":
            section = page.split(f"## {name}\n")[1].split("\n## ")[0]
            for member in vars(cls):
                assert member.startswith("_") or re.search(rf"{{py:\w+}} {member}\b", section), f"{name}.{member}"
    assert "May be set." in page.split("{py:attribute} cwnd\n")[1].split("{py:")[0]
    assert "```text" in extension.markdown("A folder:\n\n    DIR/a.parquet  a table\n\nThat is all.")
    explained = extension.module_page(importlib.import_module("lasthop.explain"))
    assert "the times of all parts add up" in explained.split("{py:attribute} ns")[1].split("{py:")[0]


def test_what_guides_import_from_modules_is_in_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    modules = importlib.import_module("lasthop_reference").MODULES
    missing = set()
    for path in (*(DOCS / "guides").glob("*.md"), *DOCS.glob("*.md")):
        for module, names in re.findall(
            r"^from (lasthop[\w.]*) import ([\w, ]+)", path.read_text(encoding="utf-8"), re.MULTILINE
        ):
            only = modules.get(module, ("none",)) or importlib.import_module(module).__all__
            missing |= {f"{path.name}: {module}.{name}" for name in names.split(", ") if name not in only}
    assert missing == set()


@pytest.mark.parametrize("name", TEXTS)
def test_definitions_begin_a_line(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert re.findall(r"^`[^`\n]+` : .*", text, re.MULTILINE) == []
