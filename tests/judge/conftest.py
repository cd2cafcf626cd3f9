"""Fixtures of the tests of `lasthop judge`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One store for the quick forms of the bundled suites, for all workers of pytest-xdist.

    Its runs are found by their content, and several processes may write to it at a time. So each
    run of a reference is made once in a session.
    """
    root = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        root = root.parent
    folder = root / "judge-store"
    folder.mkdir(exist_ok=True)
    return folder
