"""Renews the golden files, makes single golden runs and finds where two results of one run part.

python -m tests.golden renew
python -m tests.golden list
python -m tests.golden run NAME --out FOLDER
python -m tests.golden look BEFORE NOW
python -m tests.golden hashes FILE
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from lasthop import _core
from tests.golden.look import first_differences
from tests.golden.record import Record, differences, take
from tests.golden.runs import golden_runs


def main() -> int:
    """Does what the command line says; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    renew = commands.add_parser("renew", help="make every golden run and write the golden files anew")
    renew.add_argument("--jobs", type=int, default=0, help="runs at a time; 0: one for each core")
    commands.add_parser("list", help="names of the golden runs")
    one = commands.add_parser("run", help="make one golden run and keep its tables")
    one.add_argument("name")
    one.add_argument("--out", type=Path, required=True)
    look = commands.add_parser("look", help="where two result folders of one run part")
    look.add_argument("before", type=Path)
    look.add_argument("now", type=Path)
    hashes = commands.add_parser("hashes", help="make every golden run and write its hashes elsewhere")
    hashes.add_argument("file", type=Path)
    hashes.add_argument("--jobs", type=int, default=0, help="runs at a time; 0: one for each core")
    arguments = parser.parse_args()
    if arguments.command == "hashes":
        return _hashes(arguments.file, arguments.jobs)
    if arguments.command == "renew":
        return _renew(arguments.jobs)
    if arguments.command == "list":
        print("\n".join(run.name for run in golden_runs()))
        return 0
    if arguments.command == "run":
        return _run(arguments.name, arguments.out)
    lines = first_differences(arguments.before, arguments.now)
    print("\n".join(lines) or "the tables are equal")
    return 1 if lines else 0


def _renew(jobs: int) -> int:
    begin, runs = time.monotonic(), golden_runs()
    before = Record.read()
    now = take(runs, jobs, lambda done: print(f"\r{done}/{len(runs)} runs", end="", file=sys.stderr, flush=True))
    now.write()
    print(f", {len(now.contents)} tables, {time.monotonic() - begin:.0f} s", file=sys.stderr)
    print("\n".join(differences(before, now)) or "nothing differs from the golden files")
    return 0


def _hashes(file: Path, jobs: int) -> int:
    """For a comparison between platforms: no golden file changes."""
    runs = golden_runs()
    take(runs, jobs, lambda done: print(f"\r{done}/{len(runs)} runs", end="", file=sys.stderr, flush=True)).write(
        file, file.with_suffix(".columns")
    )
    print(file=sys.stderr)
    print(file)
    return 0


def _run(name: str, out: Path) -> int:
    found = [run for run in golden_runs() if run.name == name]
    if not found:
        print(f"no golden run `{name}`; `python -m tests.golden list` names them", file=sys.stderr)
        return 1
    _core.run(found[0].scenario(), out)
    print(out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
