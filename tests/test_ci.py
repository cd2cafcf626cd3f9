"""Programs of others in CI: installed where that is possible, else named.

They are never silently left out.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

#: What `.ci/run` does with a program, and `make` that fails.
SCRIPT = """
set -euo pipefail
. .ci/programs.sh
need NEEDS_READER reader-package reader "captures as the reader sees them"
trap not_run EXIT
echo "variable ${NEEDS_READER:-unset}"
false
"""

MISSING = "DID NOT RUN: captures as the reader sees them (no program reader, Debian's package reader-package)\n"


def run(programs: Path, **stubs: str) -> subprocess.CompletedProcess[str]:
    """Runs the script where only `stubs` and the usual programs are.

    Each stub is the text of a shell script.
    """
    for name in ("bash", "sh", "timeout", "mktemp", "tail", "rm", "touch", "chmod"):
        path = next(Path(d, name) for d in os.environ["PATH"].split(os.pathsep) if Path(d, name).exists())
        (programs / name).symlink_to(path)
    for name, text in stubs.items():
        (programs / name.replace("_", "-")).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name.replace("_", "-")).chmod(0o755)
    environment = {"PATH": str(programs), "CALLS": str(programs / "calls")}
    return subprocess.run(
        [programs / "bash", "-c", SCRIPT], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


def test_a_program_that_is_there_is_needed(tmp_path: Path) -> None:
    done = run(tmp_path, reader="true", apt_get="echo called >> $CALLS", id="echo 0")
    assert (done.stdout, done.stderr, done.returncode) == ("variable 1\n", "", 1)
    assert not (tmp_path / "calls").exists()


def test_a_program_is_installed_without_questions(tmp_path: Path) -> None:
    install = (
        'echo "$DEBIAN_FRONTEND $*" >> $CALLS; [ $1 = update ] || { touch ${0%/*}/reader; chmod +x ${0%/*}/reader; }'
    )
    done = run(tmp_path, apt_get=install, id="echo 0")
    assert (done.stdout, done.stderr, done.returncode) == ("variable 1\n", "", 1)
    calls = (tmp_path / "calls").read_text().splitlines()
    assert calls == [" update -q", "noninteractive install -q -y --no-install-recommends reader-package"]


@pytest.mark.parametrize(
    ("stubs", "said"),
    [
        ({"id": "echo 1000", "apt_get": "echo called >> $CALLS"}, ""),
        ({"id": "echo 0"}, ""),
        ({"id": "echo 0", "apt_get": "echo no network >&2; exit 100"}, "no network\n"),
    ],
    ids=["not-root", "not-debian", "no-network"],
)
def test_what_cannot_be_installed_is_named_at_once_and_at_the_end(
    tmp_path: Path, stubs: dict[str, str], said: str
) -> None:
    done = run(tmp_path, **stubs)
    assert (done.stdout, done.returncode) == ("variable unset\n", 1)
    assert done.stderr == said + MISSING + MISSING
    assert not (tmp_path / "calls").exists()
