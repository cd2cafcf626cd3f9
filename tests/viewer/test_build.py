"""The page in the package is what its sources make, and their own tests pass."""

from __future__ import annotations

import json
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
    shutil.copy(SOURCES.parent / "LICENSE-APACHE", root)  # of which the page carries the text
    (root / "python" / "lasthop" / "viewer").mkdir(parents=True)
    subprocess.run([npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=root / "viewer", check=True)
    return root


def test_the_page_is_what_its_sources_make(copy: Path) -> None:
    subprocess.run(["npm", "run", "build"], cwd=copy / "viewer", check=True)
    made = (copy / "python" / "lasthop" / "viewer" / "page.html").read_text(encoding="utf-8")
    assert made == PAGE.read_text(encoding="utf-8"), "`make page` builds it; commit what it leaves"


def test_the_page_has_the_licences_of_what_it_carries() -> None:
    """A report is passed on without the package; each of its licences requires its text."""
    page = PAGE.read_text(encoding="utf-8")
    packages = json.loads((SOURCES / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    carried = {place: package for place, package in packages.items() if place and not package.get("dev")}
    assert len(carried) >= 2
    for place, package in carried.items():
        name = place.rpartition("node_modules/")[2]
        assert f"\n{name} {package['version']} ({package['license']})\n\n" in page
    assert "Copyright (c) 2022 Leon Sorokin" in page  # of uPlot
    assert "Copyright (c) 2024, UW Interactive Data Lab" in page  # of flechette
    assert (SOURCES.parent / "LICENSE-APACHE").read_text(encoding="utf-8").strip() in page


def test_the_tests_of_the_sources_pass(copy: Path) -> None:
    subprocess.run(["npm", "test"], cwd=copy / "viewer", check=True)
