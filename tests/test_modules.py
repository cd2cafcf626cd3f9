"""The modules of a crate stand in one downward order: none uses, over others, what uses it."""

from __future__ import annotations

import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

CRATES = Path(__file__).resolve().parent.parent / "crates"

#: A module that is declared for tests alone: `#[cfg(test)] mod tests;`.
ONLY_TESTS = re.compile(r"#\[cfg\(test\)\]\s*(?:pub(?:\(\w+\))? )?mod (\w+);")

Source = dict[tuple[str, ...], str]


def sources(crate: Path) -> Source:
    """The text of each file below `src` by the path of its module; what only tests build is left out."""
    found = {}
    for path in sorted((crate / "src").rglob("*.rs")):
        parts = path.relative_to(crate / "src").with_suffix("").parts
        found[tuple(p for p in parts if p not in ("mod", "lib"))] = path.read_text(encoding="utf-8")
    only_tests = {(*m, name) for m, text in found.items() for name in ONLY_TESTS.findall(text)}
    return {m: text for m, text in found.items() if not any(m[: n + 1] in only_tests for n in range(len(m)))}


def without_tests(text: str) -> str:
    """`text` without comments and without what follows `#[cfg(test)]`, which ends a file by this project's habit."""
    text = re.sub(r"//[^\n]*", "", text)
    return re.split(r"#\[cfg\(test\)\]\s*(?:pub\(\w+\) )?mod \w+ \{", text, maxsplit=1)[0]


def expand(tree: str) -> list[str]:
    """The paths of the tree of a `use` declaration: `a::{b, c::d}` is `a::b` and `a::c::d`."""
    head, brace, rest = tree.partition("{")
    if not brace:
        return [re.sub(r"\s+as\s+\w+", "", tree).strip()]
    paths, depth, item = [], 0, ""
    for char in rest:
        if char == "}" and depth == 0:
            break
        depth += (char == "{") - (char == "}")
        if char == "," and depth == 0:
            paths.append(item)
            item = ""
        else:
            item += char
    paths.append(item)
    return [path for item in paths if item.strip() for path in expand(head.strip() + item.strip())]


def paths_of(text: str) -> list[str]:
    """All paths in `text` that begin with `crate` or `super`."""
    uses = re.findall(r"\buse\s+((?:crate|super)\b[^;]*);", text)
    rest = re.sub(r"\buse\s+(?:crate|super)\b[^;]*;", "", text)
    return [p for tree in uses for p in expand(tree)] + re.findall(r"\b(?:crate|super)(?:::\w+)+", rest)


def graph(source: Source) -> dict[str, set[str]]:
    """Top-level module -> the top-level modules that its files name; a name of the crate's root is what it exports."""
    modules = {m[0] for m in source if m}
    exported = {}
    for tree in re.findall(r"\bpub(?:\([^)]*\))? use\s+([^;]*);", source.get((), "")):
        for path in expand(tree):
            parts = path.removeprefix("self::").split("::")
            exported[parts[-1]] = parts[0]
    uses: dict[str, set[str]] = {m: set() for m in modules}
    for module, text in source.items():
        for path in paths_of(without_tests(text)) if module else []:
            parts = path.split("::")
            up = parts.count("super")
            if parts[0] == "super" and up < len(module):
                continue
            name = parts[up or 1] if len(parts) > (up or 1) else ""
            target = name if name in modules else exported.get(name)
            if target in modules and target != module[0]:
                uses[module[0]].add(target)
    return uses


def cycle(uses: dict[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(uses).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@pytest.mark.parametrize("crate", sorted(p.parent.name for p in CRATES.glob("*/Cargo.toml")))
def test_the_modules_of_a_crate_use_each_other_downwards_only(crate: str) -> None:
    found = cycle(graph(sources(CRATES / crate)))
    assert not found, f"{crate}: " + " <- ".join(found)


def test_a_circle_is_found() -> None:
    """The test of the test."""
    plain: Source = {
        (): "mod a; mod b; pub use b::{C, d::E};",
        ("a",): "use crate::{\n x,\n b::{self, q},\n};",
        ("b",): "",
    }
    assert graph(plain) == {"a": {"b"}, "b": set()}
    assert cycle(graph(plain)) == []
    for text in (
        "use super::a::f;",
        "fn f() { crate::a::g() }",
        "use crate::{y, a};",
    ):
        assert sorted(set(cycle(graph({**plain, ("b",): text})))) == ["a", "b"], text
    assert cycle(graph({**plain, ("b", "inner"): "use super::super::a::f;"}))
    assert not cycle(graph({**plain, ("b", "inner"): "use super::f;"}))
    assert not cycle(graph({**plain, ("b",): "// use crate::a::f;\n#[cfg(test)]\nmod tests { use crate::a::f; }"}))
    assert graph({**plain, ("a",): "use crate::E;"})["a"] == {"b"}


#: Where `sim` may name a radio technology: adapters, spec files, rows; ARCHITECTURE.md argues the second line.
TECHNOLOGY = {"access", "spec/lte", "spec/wlan", "spec/lte_rlc", "spec/umts", "spec/mod", "probe"} | {
    *("survey", "describe", "extensions", "lib", "spec/layout"),
}
NAMES_TECHNOLOGY = re.compile(
    r"lasthop_(?:lte|lte_l2|umts|wifi)\b"
    r"|\b(?:self|spec|part|whole|next|all|s)\.(?:radio|handover|core|cell|layout|ue|sidelink|multicast|wlan|ap|station)\b"
)


def test_outside_of_its_own_files_nothing_in_sim_names_a_radio_technology() -> None:
    root = CRATES / "sim/src"
    naming = {
        path.relative_to(root).with_suffix("").as_posix()
        for path in root.rglob("*.rs")
        if NAMES_TECHNOLOGY.search(without_tests(path.read_text(encoding="utf-8")))
    }
    assert {"access/lte/mod", "spec/wlan/mod", "survey"} <= naming
    elsewhere = {n for n in naming if not any(n == t or n.startswith(f"{t}/") for t in TECHNOLOGY)}
    assert not elsewhere, "it belongs to the technology's adapter or spec file: crates/sim/src/spec/access.rs"
