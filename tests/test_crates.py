"""The crates depend as ARCHITECTURE.md says: no arrow beyond its table.

Studies use the public package only.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
TABLE_HEADING = "### Allowed arrows"
SECTIONS = ("dependencies", "dev-dependencies", "build-dependencies")


def allowed_arrows(text: str) -> dict[str, dict[str, set[str]]]:
    """Reads the table below `TABLE_HEADING`.

    Crate -> the crates and the fenced libraries that it may name.
    """
    body = text.split(TABLE_HEADING, 1)[1]
    arrows: dict[str, dict[str, set[str]]] = {}
    for line in body.splitlines():
        if line.startswith("#"):
            break
        cells = [c.strip() for c in line.strip().strip("|").split("|")]
        names = [set(re.findall(r"`([\w-]+)`", c)) for c in cells]
        if line.startswith("|") and len(cells) == 3 and len(names[0]) == 1:
            arrows[names[0].pop()] = {"crates": names[1], "libraries": names[2]}
    return arrows


def crates() -> list[Path]:
    return sorted((ROOT / "crates").glob("*/Cargo.toml"))


def dependencies(manifest: dict[str, object]) -> set[str]:
    """Every dependency of a manifest by its package's name, of any kind, for any platform."""
    tables = [manifest, *manifest.get("target", {}).values()]  # type: ignore[attr-defined]
    found = set()
    for table in tables:
        for section in SECTIONS:
            for name, how in table.get(section, {}).items():
                found.add(how.get("package", name) if isinstance(how, dict) else name)
    return found


def wrong_arrows(crate: str, uses: set[str], arrows: dict[str, dict[str, set[str]]]) -> list[str]:
    if crate not in arrows:
        return [f"{crate}: has no row in ARCHITECTURE.md"]
    wrong = []
    fenced = set().union(*(a["libraries"] for a in arrows.values()))
    for name in sorted(uses):
        if name.startswith("lasthop-"):
            if name.removeprefix("lasthop-") not in arrows[crate]["crates"]:
                wrong.append(f"{crate} -> {name.removeprefix('lasthop-')}")
        elif name in fenced and name not in arrows[crate]["libraries"]:
            wrong.append(f"{crate} -> {name} (only {', '.join(r for r in arrows if name in arrows[r]['libraries'])})")
    return wrong


ARROWS = allowed_arrows((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", crates(), ids=lambda p: p.parent.name)
def test_a_crate_has_no_arrow_that_the_table_does_not_allow(path: Path) -> None:
    manifest = tomllib.loads(path.read_text(encoding="utf-8"))
    assert manifest["package"]["name"] == f"lasthop-{path.parent.name}"
    assert wrong_arrows(path.parent.name, dependencies(manifest), ARROWS) == []


def test_the_crates_are_found() -> None:
    assert {"units", "engine", "sim", "py"} <= {p.parent.name for p in crates()}


@pytest.mark.parametrize("path", crates(), ids=lambda p: p.parent.name)
def test_every_file_of_integration_tests_is_built(path: Path) -> None:
    """Where the files are modules of one program, a file that it does not name would never run."""
    manifest = tomllib.loads(path.read_text(encoding="utf-8"))
    folder = path.parent / "tests"
    built = {test["name"] for test in manifest.get("test", [])}
    if manifest["package"].get("autotests", True):
        built |= {file.stem for file in folder.glob("*.rs")}
    for root in list(built):
        built |= set(re.findall(r"^mod (\w+);", (folder / f"{root}.rs").read_text(encoding="utf-8"), re.MULTILINE))
    assert {file.stem for file in folder.glob("*.rs")} - built == set()


def test_the_table_points_only_downwards() -> None:
    """Whoever allows a new arrow in the table cannot close a circle with it."""
    below: set[str] = set()
    waiting = dict(ARROWS)
    while waiting:
        free = [crate for crate, a in waiting.items() if a["crates"] <= below]
        assert free, f"these crates stand in a circle, or name a crate without a row: {sorted(waiting)}"
        below.update(free)
        waiting = {crate: a for crate, a in waiting.items() if crate not in below}


def protocols() -> dict[str, str | None]:
    """Crate -> the protocol of which it is a part, as its manifest says.

    None: of none, others share it.
    """
    manifests = {p.parent.name: tomllib.loads(p.read_text(encoding="utf-8"))["package"] for p in crates()}
    return {name: m.get("metadata", {}).get("lasthop", {}).get("protocol") for name, m in manifests.items()}


def crossing(of: dict[str, str | None], uses: dict[str, set[str]]) -> list[str]:
    """The arrows from a crate of one protocol to a crate of another."""
    return sorted(f"{a} -> {b}" for a in uses for b in uses[a] if (of.get(a) and of.get(b) and of[a] != of[b]))


def unstated(of: dict[str, str | None], uses: dict[str, set[str]], in_sim: set[str]) -> list[str]:
    """Crates of accesses or transports that deal in times and sizes and are not shared.

    Accesses or transports name them, and no two protocols share them.
    """
    users = {crate: {of[a] for a in uses if of.get(a) and crate in uses[a]} for crate in in_sim}
    wanting = {c for c in in_sim if not of.get(c) and "units" in uses[c] and len(users[c]) < 2}
    return sorted(wanting)


USES = {name: arrows["crates"] for name, arrows in ARROWS.items()}


def test_protocol_crates_never_see_each_other() -> None:
    of = protocols()
    assert crossing(of, USES) == []
    assert not [c for c, protocol in of.items() if protocol and USES[c] & {"sim", "py"}]


def test_every_crate_of_a_protocol_says_so() -> None:
    files = [f for part in ("access", "transport") for f in (ROOT / "crates" / "sim" / "src" / part).rglob("*.rs")]
    text = " ".join(f.read_text(encoding="utf-8") for f in files)
    in_sim = {name.replace("_", "-") for name in re.findall(r"\blasthop_(\w+)", text)}
    assert len(in_sim) > 5
    assert unstated(protocols(), USES, in_sim) == [], "[package.metadata.lasthop] protocol = ... in its Cargo.toml"


def test_a_protocol_that_sees_another_is_found() -> None:
    """The test of the test: a technology `nr` that joins."""
    of = {**protocols(), "nr": "nr", "nr-mac": "nr"}
    joined = {**USES, "nr": {"units", "nr-mac"}, "nr-mac": {"units"}}
    assert crossing(of, joined) == []
    assert crossing(of, {**joined, "nr": {"lte"}, "tcp": {"nr"}}) == ["nr -> lte", "tcp -> nr"]
    assert unstated({**of, "nr": None}, joined, {"nr", "units", "lte"}) == ["nr"]


def test_every_crate_with_a_row_exists() -> None:
    assert set(ARROWS) <= {p.parent.name for p in crates()}


def test_a_wrong_arrow_is_found() -> None:
    """The test of the test."""
    assert wrong_arrows("tcp", {"lasthop-net"}, ARROWS) == ["tcp -> net"]
    assert wrong_arrows("net", {"pyo3"}, ARROWS) == ["net -> pyo3 (only py)"]
    assert wrong_arrows("attic", set(), ARROWS) == ["attic: has no row in ARCHITECTURE.md"]
    assert wrong_arrows("lte", {"lasthop-net", "serde"}, ARROWS) == []
    assert dependencies({"target": {"cfg(unix)": {"dependencies": {"x": {"package": "lasthop-sim"}}}}}) == {
        "lasthop-sim"
    }


def test_every_library_has_a_row_in_the_design_page() -> None:
    used = set().union(*(dependencies(tomllib.loads(p.read_text(encoding="utf-8"))) for p in crates()))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    used |= {re.split(r"[^\w-]", d, maxsplit=1)[0] for d in project["project"]["dependencies"]}
    text = (ROOT / "DESIGN.md").read_text(encoding="utf-8")
    rows = set(
        re.findall(r"`([\w-]+)`", "\n".join(line.split("|")[1] for line in text.splitlines() if line[:1] == "|"))
    )
    assert {d for d in used if not d.startswith("lasthop-")} - rows == set()


def studies() -> list[Path]:
    return sorted((ROOT / "python" / "lasthop" / "studies").glob("*/**/*.py"))


def private_imports(source: str, depth: int) -> list[str]:
    """Modules that a study must not import.

    Private ones of the package, and relative ones outside its folder.

    `depth`: how many folders lie between the file and its study's folder.
    """
    wrong = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, (ast.Import, ast.ImportFrom)):
            continue
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif node.level > depth + 1:
            wrong.append(f"line {node.lineno}: {'.' * node.level}{node.module or ''}")
        elif node.level == 0:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            top, *parts = name.split(".")
            if top == "lasthop" and any(p.startswith("_") and not p.startswith("__") for p in parts):
                wrong.append(f"line {node.lineno}: {name}")
    return wrong


@pytest.mark.parametrize("path", studies(), ids=lambda p: "/".join(p.parts[-2:]))
def test_a_study_imports_only_the_public_package(path: Path) -> None:
    parts = path.parts
    home = len(parts) - 1 - parts[::-1].index("studies")
    depth = len(parts) - home - 3
    assert private_imports(path.read_text(encoding="utf-8"), depth) == []


def test_a_private_import_is_found() -> None:
    """The test of the test."""
    assert private_imports("from lasthop import _core", 0) == ["line 1: lasthop._core"]
    assert private_imports("import lasthop._results", 0) == ["line 1: lasthop._results"]
    assert private_imports("from ..other import claims", 0) == ["line 1: ..other"]
    assert private_imports("import lasthop as lh\nfrom lasthop import __version__\nfrom .plots import a", 0) == []
