"""Runs scenarios with an instrumented build, for the profile that the compiler optimizes a wheel by.

`maturin build --pgo` calls this script in an environment of its own (`pgo-command` in
pyproject.toml).
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import lasthop as lh


def main(first: str, *others: str) -> None:
    """Runs each scenario of some folders in one thread and in two, and writes its results.

    Networks have code of their own for several threads.

    Args:
        first: a folder with scenarios as TOML files.
        others: more such folders.
    """
    for file in (file for folder in (first, *others) for file in sorted(Path(folder).glob("*.toml"))):
        print(file.name, flush=True)
        for threads in (1, 2):
            with TemporaryDirectory() as results:
                lh.Scenario.load(file).run(Path(results) / "run", threads=threads)


if __name__ == "__main__":
    main(*sys.argv[1:])
