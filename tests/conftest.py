"""Fixtures shared by the tests."""

from __future__ import annotations

import pytest

from lasthop import Results
from tests.synthetic import MadeUp


@pytest.fixture
def made_up() -> Results:
    return Results(MadeUp())
