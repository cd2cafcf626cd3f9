"""In the network of LTE the state of UEs and what their eNBs know lie apart.

Few objects reach both.

`Ue` is the state of the terminal, `UeContext` that of its eNB (`crates/lte/src/network/state`); the
parts of each are the structs of `state` that its fields name. A struct reaches a part if it holds
it or a struct that reaches it, directly or by a reference. One that reaches parts of both ends
could let an end read what only the other one knows, so each is listed here with its reason, and so
is each function whose parameters reach both.
"""

from __future__ import annotations

import re

from tests.test_modules import CRATES, Source, sources, without_tests

#: The structs that reach the state of both ends, and why.
BOTH = {
    "RadioNetwork": "owns the state of all ends, and makes the objects of each procedure from it",
    "Attachment": "what RRC configures, and takes back, at both ends of a link at once",
    "Rrc": "messages of RRC are not encoded: a procedure acts at both ends; of a context it reads the last activity",
    "UeReading": "what tables and hints show of a link, outside of the network",
    "UplinkAir": "the cell decodes what UEs have sent: which blocks, and with which power",
    "Granting": "the eNB grants; it holds `Uu`, over which UEs receive grants and answer",
    "Part": "a cell's share of the state of all ends, in several threads; it makes the objects of procedures from it",
}
#: The functions with parameters that reach both.
BOTH_PARAMETERS = {"reset_requests": "the switch of a sidelink's mode: requests begin anew at both ends"}

#: What `R::Contexts` and the like stand for in one thread.
REACH = re.compile(r"^impl Reach for Whole \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
ASSOCIATED = re.compile(r"\btype (\w+) = ([^;]*);")

TYPE = re.compile(r"\b[A-Z]\w*")
STRUCT = re.compile(
    r"^ *(?:pub(?:\([^)]*\))? )?struct (\w+)[^;{(]*(?:\{\n(.*?)^ *\}$|\(([^;]*)\);)", re.MULTILINE | re.DOTALL
)
PARAMETERS = re.compile(r"\bfn (\w+)(?:<[^(]*>)?\(([^{;]*?)\)\s*(?:->[^{;]*)?[{;]")


def network() -> Source:
    return {m: text for m, text in sources(CRATES / "lte").items() if m[:1] == ("network",)}


def structs(source: Source) -> dict[str, set[str]]:
    """The types that the fields of each struct name; of a type of `Reach` what it stands for."""
    texts = [without_tests(text) for text in source.values()]
    found = [m for text in texts for m in STRUCT.finditer(text)]
    names = [m[1] for m in found]
    assert len(names) == len(set(names)), "two structs of one name cannot be kept apart by name"
    stands_for = [m for text in texts for reach in REACH.findall(text) for m in ASSOCIATED.finditer(reach)]
    return {m[1]: set(TYPE.findall(m[2] or m[3] or "")) for m in found} | {
        m[1]: set(TYPE.findall(m[2])) for m in stands_for
    }


def reaching(source: Source, root: str) -> set[str]:
    """The structs that reach `root` or one of its parts, with these."""
    fields = structs(source)
    of_state = structs({m: text for m, text in source.items() if m[:2] == ("network", "state")})
    reached = {root} | (fields[root] & set(of_state))
    while more := {name for name, types in fields.items() if types & reached} - reached:
        reached |= more
    return reached


def both_ends(source: Source) -> set[str]:
    return reaching(source, "Ue") & reaching(source, "UeContext")


def functions_of_both_ends(source: Source) -> set[str]:
    ue, context = reaching(source, "Ue"), reaching(source, "UeContext")
    ue, context = ue - context, context - ue
    found = [m for text in source.values() for m in PARAMETERS.finditer(without_tests(text))]
    return {m[1] for m in found if ue & set(TYPE.findall(m[2])) and context & set(TYPE.findall(m[2]))}


def test_only_these_structs_reach_the_state_of_both_ends() -> None:
    assert both_ends(network()) == set(BOTH), "give each end what it may know, or argue the struct in the list"


def test_only_these_functions_take_the_state_of_both_ends() -> None:
    assert functions_of_both_ends(network()) == set(BOTH_PARAMETERS)


#: An eNB that schedules, and a UE that sends.
APART: Source = {
    ("network", "state"): "struct Ue {\n    up: UplinkUe,\n}\nstruct UeContext {\n    up: UplinkContext,\n}\n"
    "struct UplinkUe {\n    n: u8,\n}\nstruct UplinkContext {\n    n: u8,\n}\n",
    ("network", "enb"): "struct Scheduling<'a> {\n    contexts: &'a mut [UeContext],\n}\n",
    ("network", "ue"): "struct Sending<'a> {\n    ue: &'a mut UplinkUe,\n}\nstruct Air<'a>(&'a [Ue]);\n",
}


def test_a_struct_that_reaches_both_ends_is_found() -> None:
    """The test of the test."""
    assert both_ends(APART) == set()
    for text, found in {
        "struct Odd<'a> {\n    ue: &'a Ue,\n    context: &'a UeContext,\n}\n": {"Odd"},
        "pub(super) struct Odd<'a> {\n    air: Air<'a>,\n    up: &'a UplinkContext,\n}\n": {"Odd"},
        "struct Odd<'a> {\n    s: Scheduling<'a>,\n    to: Sending<'a>,\n}\nstruct Far {\n    o: Odd,\n}\n": {
            "Odd",
            "Far",
        },
        "struct Fine<'a> {\n    s: Scheduling<'a>,\n    // and an UplinkUe\n    n: u8,\n}\n": set(),
        "impl Reach for Whole {\n    type Ues = All<Ue>;\n    type Contexts = All<UeContext>;\n}\n"
        "struct Odd<'a, R: Reach> {\n    to: &'a R::Ues,\n    of: &'a R::Contexts,\n}\n"
        "struct Fine<'a, R: Reach>(&'a R::Ues);\n": {"Odd"},
    }.items():
        assert both_ends({**APART, ("network", "odd"): text}) == found, text


def test_a_function_that_takes_both_ends_is_found() -> None:
    """The test of the test."""
    assert functions_of_both_ends(APART) == set()
    for text, found in {
        "fn odd(ue: &Ue, context: &UeContext) -> u8 {\n": {"odd"},
        "fn odd<T>(\n    to: &mut Sending<'_>,\n    up: &UplinkContext,\n) {\n": {"odd"},
        "fn fine(to: &mut Sending<'_>, ue: &Ue) {\n}\nfn other(up: &UplinkContext) {\n": set(),
    }.items():
        assert functions_of_both_ends({**APART, ("network", "odd"): text}) == found, text
