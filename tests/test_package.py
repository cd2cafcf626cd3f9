"""Folders of the Python package use each other downwards only, as ARCHITECTURE.md lists them."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python" / "lasthop"
HEADING = "### Folders of the Python package"

#: Files beside the folders that stand above all of them.
FRONT = {"__init__.py", "__main__.py", "_command.py"}
#: `Results.plot` draws, `Campaign.run` writes a report: their files import the folder when they are
#: used.
UPWARDS = {("_results.py", "plot"), ("campaign/definition.py", "report")}


def listed() -> dict[str, int]:
    """The folders in ARCHITECTURE.md and their places; those of one row have the same place."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").split(HEADING, 1)[1]
    block = re.search(r"\n\n((?: {4}.*\n)+)", text)
    assert block
    rows = [re.split(r" {2,}", line.strip())[0].split(", ") for line in block[1].splitlines()]
    return {name: place for place, row in enumerate(rows) for name in row}


def imported(text: str, folders: set[str]) -> set[str]:
    """The folders whose names a file imports, anywhere in it.

    Imports for annotations alone do not count.
    """
    found: set[str] = set()
    waiting: list[ast.AST] = [ast.parse(text)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            waiting += node.orelse
            continue
        waiting += (n for n in ast.iter_child_nodes(node) if isinstance(n, ast.stmt | ast.excepthandler))
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        parts = [name.split(".") for name in names]
        found |= {p[1] for p in parts if p[0] == "lasthop" and len(p) > 1 and p[1] in folders}
    return found


def wrong(place: dict[str, int], files: dict[str, str]) -> list[str]:
    """The imports that lead upwards or sideways, as `FILE: FOLDER`."""
    found = []
    for name, text in files.items():
        home, _, inside = name.partition("/")
        for used in sorted(imported(text, set(place))):
            downwards = used == home or place[used] > place.get(home, len(place))
            if (name, used) not in UPWARDS and not (downwards if inside else home in FRONT):
                found.append(f"{name}: {used}")
    return found


def test_architecture_lists_each_folder_of_code() -> None:
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert set(listed()) == folders


def test_folders_use_each_other_downwards_only() -> None:
    files = {path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    assert not wrong(listed(), files)


def test_an_import_upwards_is_found() -> None:
    """The test of the test."""
    place = {"top": 0, "left": 1, "right": 1, "low": 2}
    late = "def f() -> None:\n    from lasthop.top import g\n"
    assert wrong(place, {"top/a.py": "from lasthop.low import x\nimport lasthop.left.y"}) == []
    assert wrong(place, {"low/a.py": late}) == ["low/a.py: top"]
    assert wrong(place, {"low/a.py": "from lasthop import top"}) == ["low/a.py: top"]
    assert wrong(place, {"left/a/b.py": "import lasthop.right.c"}) == ["left/a/b.py: right"]
    assert wrong(place, {"_file.py": "from lasthop.low import x"}) == ["_file.py: low"]
    assert wrong(place, {"low/a.py": "if TYPE_CHECKING:\n    from lasthop.top import T\n"}) == []
