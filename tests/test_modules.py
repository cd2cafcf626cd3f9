"""The modules of a crate stand in one downward order, at every level.

None uses, over others, what uses it.

The rule. The modules that stand in one folder (the children of `a`: `a/b.rs`, `a/c.rs`, `a/d/`) use
each other without a circle. What a file below `a/d/` names of a file below `a/b` counts as a use of
`b` by `d`, and a name that a module only hands on (`pub use`, or a `use` that its children see)
counts for the file that defines it.

The own file of `a` (`a.rs` or `a/mod.rs`) is no child and has no place in the order of its
children. It is what they have in common: the type of which they implement a part each (`impl
Endpoint` in `endpoint/input.rs`), the trait that they all implement, constants; and it is their
front, which calls them. So it may use its children, and they may use what it defines. To the
outside own file and children are one module, `a`, which has its place among its neighbours. What
the rule does not see: method calls, and a circle that is closed by the own file alone.
"""

from __future__ import annotations

import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.test_crates import protocols

CRATES = Path(__file__).resolve().parent.parent / "crates"

#: A module that is declared for tests alone: `#[cfg(test)] mod tests;`.
ONLY_TESTS = re.compile(r"#\[cfg\(test\)\]\s*(?:pub(?:\(\w+\))? )?mod (\w+);")

#: The path of a module: `("a", "b")` is `crate::a::b`; the crate's root is `()`.
Module = tuple[str, ...]
Source = dict[Module, str]


def sources(crate: Path) -> Source:
    """The text of each file below `src` by the path of its module.

    What only tests build is left out.
    """
    found = {}
    for path in sorted((crate / "src").rglob("*.rs")):
        parts = path.relative_to(crate / "src").with_suffix("").parts
        found[tuple(p for p in parts if p not in ("mod", "lib"))] = path.read_text(encoding="utf-8")
    only_tests = {(*m, name) for m, text in found.items() for name in ONLY_TESTS.findall(text)}
    return {m: text for m, text in found.items() if not any(m[: n + 1] in only_tests for n in range(len(m)))}


def without_tests(text: str) -> str:
    """`text` without comments and without what follows `#[cfg(test)]`.

    That ends a file by this project's habit.
    """
    text = re.sub(r"//[^\n]*", "", text)
    return re.split(r"#\[cfg\(test\)\]\s*(?:pub\(\w+\) )?mod \w+ \{", text, maxsplit=1)[0]


def expand(tree: str) -> list[str]:
    """The paths of the tree of a `use` declaration: `a::{b, c::d as e}` is `a::b` and `a::c::d`."""
    return [path for path, _ in renamed(tree)]


def renamed(tree: str) -> list[tuple[str, str]]:
    """The paths of the tree of a `use` declaration with the names that they get.

    `a::{b as c, d::e}` has c and e.
    """
    head, brace, rest = tree.partition("{")
    if not brace:
        path, _, alias = (part.strip() for part in re.sub(r"\s+as\s+", "@", tree.strip()).partition("@"))
        path = path.removesuffix("::self")
        return [(path, alias or path.split("::")[-1])]
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
    return [found for item in paths if item.strip() for found in renamed(head.strip() + item.strip())]


def paths_of(text: str) -> list[str]:
    """All paths in `text` that begin with `crate` or `super`."""
    text = re.sub(r"\bpub\(in [^)]*\)", "pub", text)
    uses = re.findall(r"\buse\s+((?:crate|super)\b[^;]*);", text)
    rest = re.sub(r"\buse\s+(?:crate|super)\b[^;]*;", "", text)
    return [p for tree in uses for p in expand(tree)] + re.findall(r"\b(?:crate|super)(?:::\w+)+", rest)


class Names:
    """Where the paths of a crate lead: to the module whose file defines what they name."""

    def __init__(self, source: Source) -> None:
        self.texts = {module: without_tests(text) for module, text in source.items()}
        self.children: dict[Module, set[str]] = {}
        for module in source:
            for n in range(len(module)):
                self.children.setdefault(module[:n], set()).add(module[n])
        #: Module -> the names that its file imports or exports -> their paths.
        self.imported: dict[Module, dict[str, list[str]]] = {}
        for module, text in self.texts.items():
            paths = [p for tree in re.findall(r"\buse\s+([^;]*);", text) for p in renamed(tree)]
            self.imported[module] = {alias: path.split("::") for path, alias in paths}

    def home(self, module: Module, path: list[str]) -> Module:
        """The module that defines what `path` names when it is read in `module`."""
        for _ in range(len(path) + 20):
            if not path:
                break
            name, rest = path[0], path[1:]
            known = self.imported.get(module, {}).get(name)
            if name == "crate":
                module, path = (), rest
            elif name == "super":
                module, path = module[:-1], rest
            elif name == "self":
                path = rest
            elif name in self.children.get(module, ()):
                module, path = (*module, name), rest
            elif known and known != [name]:
                path = known + rest
            else:
                break
        return module

    def uses(self, module: Module) -> list[Module]:
        """The modules of the crate whose names the file of `module` uses."""
        homes = []
        for path in paths_of(self.texts[module]):
            *way, last = path.split("::")
            homes.append(self.home(module, [*way, last] if last != "*" else way))
            if last == "*":
                homes += self.through_a_glob(module, homes[-1])
        return homes

    def through_a_glob(self, module: Module, whole: Module) -> list[Module]:
        """What `module` names of all that `use whole::*` brings.

        Children of `whole`, and what its file imports.
        """
        words = set(re.findall(r"\b\w+\b", re.sub(r"\buse\s+[^;]*;", "", self.texts[module])))
        imports = {n for n, path in self.imported.get(whole, {}).items() if path[0] in {"crate", "super", "self"}}
        imports |= {n for n, path in self.imported.get(whole, {}).items() if path[0] in self.children.get(whole, ())}
        modules = set(re.findall(r"\b(\w+)::", self.texts[module])) & self.children.get(whole, set())
        return [self.home(whole, [name]) for name in sorted((words & imports) | modules)]


def graphs(source: Source) -> dict[Module, dict[str, set[str]]]:
    """Module -> its children -> the other children that they use."""
    names = Names(source)
    found: dict[Module, dict[str, set[str]]] = {
        parent: {child: set() for child in children} for parent, children in names.children.items()
    }
    for module in source:
        for used in names.uses(module):
            common = next((n for n, (a, b) in enumerate(zip(module, used, strict=False)) if a != b), None)
            if common is not None:
                found[module[:common]][module[common]].add(used[common])
    return found


def cycle(uses: dict[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter({m: sorted(uses[m]) for m in sorted(uses)}).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def circles(source: Source) -> dict[str, list[str]]:
    """Module -> a circle among its children, where there is one."""
    found = {"::".join(("crate", *parent)): cycle(uses) for parent, uses in graphs(source).items()}
    return {parent: circle for parent, circle in sorted(found.items()) if circle}


@pytest.mark.parametrize("crate", sorted(p.parent.name for p in CRATES.glob("*/Cargo.toml")))
def test_the_modules_of_a_crate_use_each_other_downwards_only(crate: str) -> None:
    found = circles(sources(CRATES / crate))
    assert not found, {m: " <- ".join(circle) for m, circle in found.items()}


def test_architecture_lists_the_modules_of_sim_downwards() -> None:
    text = (CRATES.parent / "ARCHITECTURE.md").read_text(encoding="utf-8")
    listed = re.search(r"In `sim`, from top to bottom:\n\n((?: {4}.*\n)+)", text)
    assert listed
    rows = [re.split(r" {2,}", line.strip())[0].split(", ") for line in listed[1].splitlines()]
    place = {name: i for i, row in enumerate(rows) for name in row}
    uses = graphs(sources(CRATES / "sim"))[()]
    assert set(place) == set(uses)
    upward = [(a, b) for a, below in uses.items() for b in below if place[a] > place[b]]
    assert not upward, "ARCHITECTURE.md lists what is used above what uses it"


def test_a_circle_is_found() -> None:
    """The test of the test."""
    plain: Source = {
        (): "mod a; mod b; pub use b::{C, d::E};",
        ("a",): "use crate::{\n x,\n b::{self, q},\n};",
        ("b",): "",
    }
    assert graphs(plain) == {(): {"a": {"b"}, "b": set()}}
    assert circles(plain) == {}
    for text in (
        "use super::a::f;",
        "fn f() { crate::a::g() }",
        "use crate::{y, a};",
    ):
        assert sorted(set(circles({**plain, ("b",): text})["crate"])) == ["a", "b"], text
    assert circles({**plain, ("b", "inner"): "use super::super::a::f;"})
    assert not circles({**plain, ("b", "inner"): "use super::f;"})
    assert not circles({**plain, ("b",): "// use crate::a::f;\n#[cfg(test)]\nmod tests { use crate::a::f; }"})
    assert graphs({**plain, ("a",): "use crate::E;"})[()]["a"] == {"b"}


#: A module `m` with children: `top` uses `low`, and both use what the own file of `m` defines.
LEVELS: Source = {
    (): "mod m; mod n;",
    ("m",): "mod low; mod top; use low::Word as Short; pub use top::run; pub struct Shared { word: low::Word }",
    ("m", "low"): "use super::Shared;",
    ("m", "top"): "use super::{Shared, low::Word};",
    ("n",): "use crate::m::run;",
}


def test_a_circle_is_found_at_every_level() -> None:
    assert circles(LEVELS) == {}
    assert graphs(LEVELS)["m",] == {"low": set(), "top": {"low"}}
    for module, text in {
        ("m", "low"): "use super::top::Run;",  # by its path
        ("m", "low", "deep"): "fn f() { super::super::run() }",  # from a level below, through what `m` exports
        ("m", "low", "far"): "use crate::m::run as start;",  # from the root
        ("m", "low", "all"): "use super::super::*;\nfn f() { run() }",  # through a glob
        ("m", "low", "rows"): "use super::super::*;\nkinds! { First top::Run }",  # in a row of a macro
    }.items():
        assert {m: sorted(set(c)) for m, c in circles({**LEVELS, module: text}).items()} == {"crate::m": ["low", "top"]}
    assert graphs({**LEVELS, ("m", "top"): "use super::Short;"})["m",]["top"] == {"low"}
    assert not circles({**LEVELS, ("m", "low", "deep"): "pub(in crate::m::top) fn f() {}\nuse super::super::Shared;"})
    three = {**LEVELS, ("m", "low"): "use super::mid::f;", ("m", "mid"): "use super::top::g;"}
    assert set(circles(three)["crate::m"]) == {"low", "mid", "top"}


#: Where else than in adapters and spec files `sim` may name a radio technology: rows;
#: ARCHITECTURE.md argues others.
TECHNOLOGY = {
    *("spec/bearer", "spec/kinds", "spec/mod", "probe"),
    *("survey", "describe", "extensions", "lib", "spec/layout", "spec/scenario_profile", "track"),
    *("spec/hint", "spec/hint_pitfalls"),
}
#: Crates that are of no single radio technology: those of no protocol, and TCP. Files of `spec` in
#: its list of accesses of which this is true.
SHARED = {crate.replace("-", "_") for crate, protocol in protocols().items() if protocol in {None, "tcp"}}
SHARED_FILES = {"access", "at", "links", "bearer"}
TEXT = re.compile(r"'(?:[^'\\]|\\.)'|\"((?:[^\"\\]|\\.)*)\"")


def any_of(words: set[str]) -> str:
    return "|".join(sorted(words))


def crates_of_technologies(names: Names) -> re.Pattern[str]:
    """The crates that adapters use, less those that several technologies share."""
    adapters = " ".join(text for module, text in names.texts.items() if module[:1] == ("access",))
    crates = set(re.findall(r"\blasthop_(\w+)", adapters)) - SHARED
    assert crates
    return re.compile(rf"\blasthop_(?:{any_of(crates)})\b")


def spec_files(names: Names) -> set[str]:
    """The files of `spec` in the list of accesses, and those in the list of bearers.

    The latter that use a technology's crate.
    """
    crate = crates_of_technologies(names)
    listed = {home[1] for home in names.uses(("spec", "kinds")) if home[:1] == ("spec",) and len(home) > 1}
    bearers = {home[1] for home in names.uses(("spec", "bearer")) if len(home) > 1 and crate.search(names.texts[home])}
    return (listed | bearers) - SHARED_FILES


def technology(names: Names) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What names a radio technology in code, and in texts, as the lists of accesses say.

    Of code: the crates that adapters use, what `spec` has of these crates, of its own files that
    use them and of those in the list of accesses, and the fields of `Spec` whose types are among
    that. Of texts: what those files say that they make nodes of.
    """
    crate = crates_of_technologies(names)
    below = {m: text for m, text in names.texts.items() if m[:1] == ("spec",) and len(m) > 1}
    files = {m[1] for m, text in below.items() if crate.search(text)} | spec_files(names)
    imported = names.imported["spec",]
    types = {n for n, path in imported.items() if path[0] in files or crate.fullmatch(path[0])}
    spec = re.search(r"pub struct Spec \{(.*?)\n\}", names.texts["spec",], re.DOTALL)
    assert spec
    fields = {f for f, ty in re.findall(r"pub (\w+): ([^\n]*),", spec[1]) if types & set(re.findall(r"\w+", ty))}
    nodes = " ".join(text for m, text in below.items() if m[1] in files)
    words = set(re.findall(r'"([^"]*)"', " ".join(re.findall(r"fn kinds_of_nodes.*?&\[(.*?)\]", nodes, re.DOTALL))))
    assert types
    assert fields
    assert words
    of_spec = rf"\b(?:self|spec|part|whole|next|all|s)\.(?:{any_of(fields)})\b"
    return re.compile(rf"{crate.pattern}|\b(?:{any_of(types)})\b|{of_spec}"), re.compile(rf"\b(?:{any_of(words)})s?\b")


def naming_technology(source: Source) -> set[str]:
    """The modules whose files name a radio technology, as paths."""
    names = Names(source)
    code, words = technology(names)
    return {
        "/".join(module) or "lib"
        for module, text in names.texts.items()
        if code.search(text) or any(words.search(found) for found in TEXT.findall(text))
    }


def test_outside_of_its_own_files_nothing_in_sim_names_a_radio_technology() -> None:
    source = sources(CRATES / "sim")
    naming = {"spec/mod" if n == "spec" else n for n in naming_technology(source)}
    own = {f"spec/{name}" for name in spec_files(Names(source))} | {"access"}
    assert {"access", "spec/lte", "spec/wlan", "spec/lte_rlc", "spec/umts"} <= own
    at = {n: [t for t in own | TECHNOLOGY if n == t or n.startswith(f"{t}/")] for n in sorted(naming)}
    assert not [n for n, allowed in at.items() if not allowed], "it belongs to the technology's adapter or spec file"
    assert {t for allowed in at.values() for t in allowed} == own | TECHNOLOGY, "these name none any longer"


def test_only_these_files_of_world_use_the_crate_of_tcp() -> None:
    source = sources(CRATES / "sim")
    using = {m[1] for m, text in source.items() if m[:1] == ("world",) and "lasthop_tcp" in without_tests(text)}
    assert using == {"build", "hint", "snoop"}, "ARCHITECTURE.md names them"


def test_a_technology_that_joins_the_list_is_seen() -> None:
    """One that is invented: crate `lasthop_nr`, a spec file, fields of `Spec`."""
    joined: Source = {
        ("access", "nr"): "use lasthop_nr::Network;",
        ("spec",): "use lasthop_nr::GnbConfig;\npub use nr::SliceSpec;\npub struct Spec {\n"
        "    pub slice: BTreeMap<String, SliceSpec>,\n    pub gnb: GnbConfig,\n    pub seed: u64,\n}",
        ("spec", "kinds"): "use super::nr::Nr;",
        ("spec", "bearer"): "",
        ("spec", "nr"): 'fn kinds_of_nodes() -> _ {\n    &["gNB"]\n}',
    }
    own = {"access/nr", "spec", "spec/nr"}
    assert naming_technology(joined) == own
    for text in (
        "use lasthop_nr::X;",
        "fn f(s: SliceSpec) {}",
        "spec.slice.len()",
        'error("no gNBs")',
        'f(\'"\', "a gNB")',
    ):
        assert naming_technology({**joined, ("world", "audit"): text}) == {*own, "world/audit"}, text
    for text in ("spec.seed", "use lasthop_net::X;", "// a gNB", "let gNB = 1;"):
        assert naming_technology({**joined, ("world", "audit"): text}) == own, text
