"""Comments stay within 100 columns: a line of prose that is longer is read twice."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
WIDTH = 100


def too_long(text: str) -> list[int]:
    """The lines (from 1) whose comment is wider; tables and blocks of code keep their lines."""
    found, block = [], False
    for number, line in enumerate(text.split("\n"), 1):
        comment = re.match(r" *//[/!]?(.*)$", line)
        if comment is None:
            block = False
            continue
        body = comment[1].removeprefix(" ")
        if body.startswith("```"):
            block = not block
        elif len(line) > WIDTH and not block and not body.startswith(("|", "    ")):
            found.append(number)
    return found


def test_long_prose_is_found_and_tables_are_not() -> None:
    long = "x " * 60
    text = f"// {long}\nlet x = 1; // {long}\n/// | {long} |\n/// ```text\n/// {long}\n/// ```\n  //! {long}"
    assert too_long(text) == [1, 7]


def test_comments_stay_within_100_columns() -> None:
    files = [f for top in ("crates", "fuzz") for f in sorted((ROOT / top).rglob("*.rs")) if "target" not in f.parts]
    found = [f"{f.relative_to(ROOT)}:{n}" for f in files for n in too_long(f.read_text())]
    assert files
    assert not found, found
