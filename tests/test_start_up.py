"""What the command imports: most of the time of a short command is its imports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.scenarios import WIRED

#: Prints the modules that a command has imported by its end, one a line, on standard error.
PROGRAM = """
import sys
from lasthop._command import main
try:
    main()
finally:
    print(*sys.modules, sep="\\n", file=sys.stderr)
"""
#: Libraries of tables, figures and formatted text.
HEAVY = {"duckdb", "matplotlib", "numpy", "pandas", "pyarrow", "rich"}


@pytest.mark.parametrize(
    ("words", "printed", "used"),
    [
        (("--help",), "Simulate transport protocols", set()),
        (("run", "--help"), "Run a scenario", set()),
        (("validate", "wired.toml", "--json"), '"ok": true', set()),
        (("run", "wired.toml", "--out", "out", "--quiet"), "", set()),
        (("run", "wired.toml", "--out", "out"), "goodput", {"rich"}),
        (("run", "wired.toml", "--out", "out", "--json"), '"retransmits"', {"numpy", "pyarrow"}),
    ],
    ids=["help", "help of a verb", "validate", "run quietly", "run", "run for a program"],
)
def test_a_command_imports_only_the_libraries_it_uses(
    tmp_path: Path, words: tuple[str, ...], printed: str, used: set[str]
) -> None:
    (tmp_path / "wired.toml").write_text(WIRED)
    program = [sys.executable, "-c", PROGRAM, *words]
    done = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert printed in done.stdout
    modules = set(done.stderr.split())
    assert "lasthop.cli._main" in modules, "the list of modules is missing"
    assert modules & HEAVY == used
