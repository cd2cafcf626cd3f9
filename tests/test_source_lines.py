"""Comments stay within 100 columns: a line of prose that is longer is read twice."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
WIDTH = 100
PYTHON = ("python", "tests", "docs", "examples")


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


def too_long_in_python(text: str) -> list[int]:
    """The lines (from 1) of comments and docstrings that are wider."""
    lines, prose = text.split("\n"), set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            first = node.body[0]
            prose |= set(range(first.lineno, (first.end_lineno or 0) + 1))
    prose |= {number for number, line in enumerate(lines, 1) if re.match(r" *#:? (?!  )", line)}
    return sorted(n for n in prose if len(lines[n - 1]) > WIDTH and "|" not in lines[n - 1])


def test_long_prose_is_found_and_tables_are_not() -> None:
    long = "x " * 60
    text = f"// {long}\nlet x = 1; // {long}\n/// | {long} |\n/// ```text\n/// {long}\n/// ```\n  //! {long}"
    assert too_long(text) == [1, 7]


def test_long_prose_of_python_is_found_and_code_is_not() -> None:
    long = "x " * 60
    text = f'"""{long}\n\n{long}\n"""\n# {long}\na = "{long}"\ndef f():\n    """S.\n\n    {long}"""\n'
    assert too_long_in_python(text) == [1, 3, 5, 10]


@pytest.mark.parametrize("top", PYTHON)
def test_comments_of_python_stay_within_100_columns(top: str) -> None:
    files = [f for f in sorted((ROOT / top).rglob("*.py")) if "_build" not in f.parts]
    found = [f"{f.relative_to(ROOT)}:{n}" for f in files for n in too_long_in_python(f.read_text(encoding="utf-8"))]
    assert files
    assert not found, found


def test_comments_stay_within_100_columns() -> None:
    files = [f for top in ("crates", "fuzz") for f in sorted((ROOT / top).rglob("*.rs")) if "target" not in f.parts]
    found = [f"{f.relative_to(ROOT)}:{n}" for f in files for n in too_long(f.read_text())]
    assert files
    assert not found, found
