"""The page in the package is what its sources make, and their own tests pass."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import lasthop

SOURCES = Path(__file__).resolve().parents[2] / "viewer"
PAGE = Path(lasthop.__file__).parent / "viewer" / "page.html"


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources with their packages, beside a folder for the page, as in the repository."""
    npm = shutil.which("npm")
    if npm is None:
        why = "the page was not built again: there is no npm on this machine"
        if os.environ.get("LASTHOP_NEEDS_NODE"):
            pytest.fail(why)
        pytest.skip(why)
    root = tmp_path_factory.mktemp("repository")
    shutil.copytree(SOURCES, root / "viewer", ignore=shutil.ignore_patterns("node_modules", "build"))
    (root / "python" / "lasthop" / "viewer").mkdir(parents=True)
    subprocess.run([npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=root / "viewer", check=True)
    return root


def test_the_page_is_what_its_sources_make(copy: Path) -> None:
    subprocess.run(["npm", "run", "build"], cwd=copy / "viewer", check=True)
    made = (copy / "python" / "lasthop" / "viewer" / "page.html").read_text(encoding="utf-8")
    assert made == PAGE.read_text(encoding="utf-8"), "`make page` builds it; commit what it leaves"


def test_the_tests_of_the_sources_pass(copy: Path) -> None:
    subprocess.run(["npm", "test"], cwd=copy / "viewer", check=True)
