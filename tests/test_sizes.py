"""No type of the crates grows into an object that everything may touch: 25 fields, 60 methods.

What a macro makes of rows is counted by the rows. A type may have more where the comment above it
says `More than 25 fields:` or `More than 60 methods:` and why.

A function without `self` whose first parameter is `&mut T` counts as a method of `T`: it can change
all of a `T`, and differs from a method in notation alone. What a trait asks for counts once, where
the trait declares it. With `&T` or `T` a function does not count: it leaves no `T` behind in
another state, so a type that is read by many, as a scenario by its checks, is not what this test is
about.
"""

from __future__ import annotations

import re
from collections import Counter

import pytest

from tests.test_modules import CRATES, sources

FIELDS, METHODS = 25, 60
#: Types of crates that are still larger. No type may join.
OPEN: dict[str, list[str]] = {}

IMPL = re.compile(
    r"^(?P<indent> *)(?:unsafe )?impl\b(?P<head>[^;{]*)\{\n(?P<body>.*?)^(?P=indent)\}", re.MULTILINE | re.DOTALL
)
METHOD = re.compile(
    r"^(?P<indent> *)(?:pub(?:\([^)]*\))? )?(?:default |const |async |unsafe |extern \"C\" )*fn \w+", re.MULTILINE
)
STRUCT = re.compile(
    r"(?P<above>(?:^ *(?://[^\n]*|#\[[^\n]*)\n)*)"
    r"^ *(?:pub(?:\([^)]*\))? )?struct (?P<name>\w+)[^;{(]*\{\n(?P<body>.*?)^ *\}$",
    re.MULTILINE | re.DOTALL,
)
FIELD = re.compile(r"^ *(?:pub(?:\([^)]*\))? )?(?:r#)?\w+: ", re.MULTILINE)
#: A function without `self` that takes a `&mut T` first.
FREE = re.compile(
    r"^ *(?:pub(?:\([^)]*\))? )?(?:default |const |async |unsafe |extern \"C\" )*fn \w+"
    r"(?:<(?:[^<>]|->|<(?:[^<>]|->)*>)*>)?"
    r"\(\s*(?:mut )?\w+: &(?:'\w+ )?mut (?:\w+::)*(?P<of>\w+)",
    re.MULTILINE,
)
#: Not production code, and rows of tables, whose fields are columns.
LEFT_OUT = re.compile(
    r"^#\[cfg\(test\)\]\s*(?:pub\(\w+\) )?mod \w+ \{.*?^\}|^table! \{.*?^\}", re.MULTILINE | re.DOTALL
)


#: `macro_rules! NAME`, its body; what it is called with, at the left margin or by a macro that
#: hands rows on.
MACRO = re.compile(r"^macro_rules! (?P<name>\w+) \{\n(?P<body>.*?)^\}", re.MULTILINE | re.DOTALL)
CALL = re.compile(r"^(?P<name>\w+)! \{\n(?P<rows>.*?)^\}", re.MULTILINE | re.DOTALL)
HANDED_ON = re.compile(r"^ *\$\w+! \{\n(?P<rows>.*?)^ *\}\n    \};", re.MULTILINE | re.DOTALL)
MADE = re.compile(
    r"^ *(?:pub(?:\([^)]*\))? )?struct (?P<name>\w+)[^;{(]*\{\n(?P<body>.*?)^        \}$", re.MULTILINE | re.DOTALL
)
GROUP = re.compile(r"\w+: (\w+(?:, \w+)*)(?: of \w+)? $")


def rows_of(text: str) -> dict[str, int]:
    """The rows `name: ...` of a macro's call.

    Of groups `name: Type, Other { ... }` by type, the others under "".
    """
    rows: Counter[str] = Counter()
    inside: list[str | None] = [""]
    for line in re.sub(r"//[^\n]*|\"(?:[^\"\\]|\\.)*\"", "", text).splitlines():
        row = re.match(r" *(?:r#)?\w+: ", line)
        if row and inside[-1] is not None:
            rows[inside[-1]] += 1
        for found in re.finditer(r"[{}]", line):
            if found[0] == "}":
                inside.pop()
                continue
            group = GROUP.search(line[: found.start()])
            bare = not line[: found.start()].strip() and inside == [""]
            inside.append(group[1] if group and inside == [""] else "" if bare else None)
    return {name: count for names, count in rows.items() for name in names.split(", ")}


def made_by_macros(texts: list[str]) -> dict[str, tuple[int, str]]:
    """Fields of the structs that macros make of their rows: at most so many."""
    macros = {m["name"]: m["body"] for text in texts for m in MACRO.finditer(text)}
    calls = [(m["name"], m["rows"]) for text in texts for m in CALL.finditer(text)]
    for name, to in (m.groups() for text in texts for m in re.finditer(r"^(\w+)!\((\w+)\);", text, re.MULTILINE)):
        calls += [(to, m["rows"]) for m in HANDED_ON.finditer(macros.get(name, ""))]
    fields: dict[str, tuple[int, str]] = {}
    for name, call in calls:
        made = [m for m in MADE.finditer(macros.get(name, "")) if "$(" in m["body"]]
        if made:
            rows = rows_of(call)
            fields |= {m["name"]: (rows[""] + len(FIELD.findall(m["body"])), "") for m in made}
            fields |= {group: (count, "") for group, count in rows.items() if group}
    return fields


def type_of(head: str) -> str:
    """The name of the type that `impl HEAD` is for.

    Of `<T> Trait<T> for a::B<T> where ...` it is B.
    """
    depth, plain = 0, ""
    for char in head:
        depth += (char == "<") - (char == ">")
        if depth == 0 and char not in "<>":
            plain += char
    target = re.split(r"\bwhere\b", plain)[0].split(" for ")[-1]
    return target.strip().lstrip("&").removeprefix("mut ").split("::")[-1].strip()


def takes_first(text: str) -> list[str]:
    """The type of the first parameter, a `&mut`, of each function without `self`.

    Of functions that are no method of that type.
    """
    impls = [(m.start(), m.end(), m["head"]) for m in IMPL.finditer(text)]
    found = []
    for function in FREE.finditer(text):
        heads = [head for start, end, head in impls if start <= function.start() < end]
        of_trait = any(re.search(r"\bfor\b(?!<)", head) for head in heads)
        if not of_trait and function["of"] not in map(type_of, heads):
            found.append(function["of"])
    return found


def sizes(texts: list[str]) -> tuple[Counter[str], dict[str, tuple[int, str]]]:
    """Methods of each type with functions that take it first, and fields of each struct.

    Of a struct the comment above, too.
    """
    methods: Counter[str] = Counter()
    fields: dict[str, tuple[int, str]] = {}
    for source in texts:
        text = LEFT_OUT.sub("", source)
        for found in IMPL.finditer(text):
            inner = len(found["indent"]) + 4
            methods[type_of(found["head"])] += sum(len(m["indent"]) == inner for m in METHOD.finditer(found["body"]))
        methods.update(takes_first(text))
        for found in STRUCT.finditer(text):
            count = len(FIELD.findall(found["body"]))
            if count >= fields.get(found["name"], (0, ""))[0]:
                fields[found["name"]] = (count, found["above"])
    for name, (count, above) in made_by_macros(texts).items():
        fields[name] = max(fields.get(name, (0, "")), (count, above))
    return methods, fields


def too_large(texts: list[str]) -> list[str]:
    methods, fields = sizes(texts)
    comments = {name: " ".join(re.sub(r"^ *//[/!]? ?", "", line) for line in above.splitlines())
                for name, (_, above) in fields.items()}  # fmt: skip
    wrong = [f"{name}: {n} fields" for name, (n, _) in fields.items()
             if n > FIELDS and f"More than {FIELDS} fields:" not in comments[name]]  # fmt: skip
    wrong += [f"{name}: {n} methods" for name, n in methods.items()
              if n > METHODS and f"More than {METHODS} methods:" not in comments.get(name, "")]  # fmt: skip
    return sorted(wrong)


@pytest.mark.parametrize("crate", sorted(p.parent.name for p in CRATES.glob("*/Cargo.toml")))
def test_no_type_has_too_many_fields_or_methods(crate: str) -> None:
    found = too_large(list(sources(CRATES / crate).values()))
    assert [line.split(":")[0] for line in found] == OPEN.get(crate, []), found


def test_a_large_type_is_found() -> None:
    """The test of the test."""
    fields = "".join(f"    pub f{i}: u8,\n" for i in range(FIELDS + 1))
    methods = "".join(f"    pub const fn m{i}(&self) {{\n        fn inner() {{}}\n    }}\n" for i in range(40))
    struct, first, second = (
        f"pub struct A {{\n{fields}}}\n",
        f"impl<T> A<T> {{\n{methods}}}\n",
        f"impl B for A {{\n{methods}}}\n",
    )
    assert too_large([struct, first, second]) == ["A: 26 fields", "A: 80 methods"]
    assert (
        too_large(["/// More than 25 fields: they are those of the header.\n#[derive(Debug)]\n" + struct, first]) == []
    )
    assert too_large(["#[cfg(test)]\nmod tests {\n" + struct.replace("\n", "\n    ") + "\n}\n"]) == []


def test_functions_that_take_a_type_first_are_counted() -> None:
    """The test of the test: nothing that a method could do is done by going past the methods."""
    methods = "".join(f"    fn m{i}(&self) {{}}\n" for i in range(METHODS - 3))
    type_ = f"struct World;\nimpl World {{\n{methods}}}\n"
    free = "pub(super) fn f<'a, F: Fn(u8) -> u8>(world: &'a mut World, f: F) {}\n"
    associated = "impl Other {\n    fn of(\n        mut world: &mut super::World,\n    ) -> Other {\n    }\n}\n"
    asked = "trait Look {\n    fn look(world: &mut World);\n}\n"
    given = "impl Look for Other {\n    fn look(world: &mut World) {\n    }\n}\n"
    own = "impl World {\n    fn own(world: &mut World) {\n    }\n}\n"
    others = "fn read(world: &World) {}\nfn end(world: World) {}\nfn add(to: &mut Vec<World>, world: &mut World) {}\n"
    tests = "#[cfg(test)]\nmod tests {\n    fn f(world: &mut World) {}\n}\n"
    assert takes_first(free + associated + asked + given + own + others) == ["World", "World", "World", "Vec"]
    assert too_large([type_, free, associated, asked, given, others, tests]) == []
    assert too_large([type_, free, associated, asked, own]) == ["World: 61 methods"]


def test_types_are_counted() -> None:
    methods, fields = sizes(list(sources(CRATES / "tcp").values()))
    assert methods["Endpoint"] > 20
    assert fields["Config"][0] > 10


MACRO_MADE = """
macro_rules! keys {
    ({$($head:ident: $type:ty;)*} $($group:ident: $Group:ident { $($key:ident: $of:ty, $set:expr;)* })*) => {
        pub struct Keys {
            pub own: u8,
            $(pub $head: $type,)*
            $(pub $group: $Group,)*
        }
        $(pub struct $Group {
            $(pub $key: Option<$of>,)*
        })*
    };
}
"""


def test_fields_of_a_type_that_a_macro_makes_are_counted() -> None:
    rows = "".join(
        f"        /// Text: of a row.\n        k{i}: u8, |c| {{\n            Ok(())\n        }};\n" for i in range(26)
    )
    call = "keys! {\n    {\n        a: u8;\n        b: u8;\n    }\n    /// One.\n    x: Large {\n" + rows + "    }\n}\n"
    assert made_by_macros([MACRO_MADE, call]) == {"Keys": (4, ""), "Large": (26, "")}
    assert too_large([MACRO_MADE, call]) == ["Large: 26 fields"]
    assert rows_of(call.replace("keys! {", "").replace("Large", "Large, Same"))["Same"] == 26
    listed = "macro_rules! list {\n    ($then:ident) => {\n        $then! {\n            a: u8;\n        }\n    };\n}\n"
    assert made_by_macros([MACRO_MADE, listed, "list!(keys);\n"]) == {"Keys": (2, "")}


def test_the_macros_of_the_crates_are_counted() -> None:
    options = made_by_macros(list(sources(CRATES / "tcp").values()))
    assert 15 <= options["Options"][0] <= FIELDS
    assert options["LossOptions"][0] == options["LossConfig"][0] > 5
    assert 15 <= options["Config"][0] <= FIELDS
    made = made_by_macros(list(sources(CRATES / "sim").values()))
    assert made["Probes"][0] >= 15
    assert made["DirectionSpec"][0] == 15
