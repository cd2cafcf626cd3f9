"""Fixtures shared by the tests."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from lasthop import Results
from tests.scenarios import WIRED
from tests.synthetic import MadeUp

# How fast examples are drawn depends on what else the machine does.
settings.register_profile("lasthop", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("lasthop")


@pytest.fixture
def made_up() -> Results:
    return Results(MadeUp())


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder of the test, which holds the scenario `wired.toml` alone."""
    monkeypatch.chdir(tmp_path)
    Path("wired.toml").write_text(WIRED)
    return tmp_path


@pytest.fixture
def interruptible() -> Iterator[None]:
    """A shell starts its background jobs with SIGINT ignored, and Python leaves it so."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
