"""Causes by number."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lasthop.explain._model import Cause, Part, Timeline
from lasthop.explain._share import Ints


@dataclass
class Keys:
    """Causes by number."""

    causes: list[Cause] = field(default_factory=list)
    _numbers: dict[Cause, int] = field(default_factory=dict)

    def number(self, cause: Cause) -> int:
        """The number of a cause; a new one if it is new."""
        if cause not in self._numbers:
            self._numbers[cause] = len(self.causes)
            self.causes.append(cause)
        return self._numbers[cause]

    def numbers(self, causes: list[Cause]) -> Ints:
        """The number of each of these."""
        return np.array([self.number(cause) for cause in causes], np.int64)

    def among(self, names: Container[str]) -> NDArray[np.bool_]:
        """For each cause, as a column, whether it is one of these."""
        return np.array([[c.name in names] for c in self.causes], bool).reshape(-1, 1)


def largest_first(keys: Keys, total: Ints) -> list[Part]:
    """Causes with their times; those without any are left out."""
    parts = [Part(cause, int(ns)) for cause, ns in zip(keys.causes, total, strict=True) if ns > 0]
    return sorted(parts, key=lambda p: (-p.ns, p.cause))


def timeline_of(keys: Keys, parts: list[Part], edges: Ints, bins: Ints) -> Timeline:
    """The times of parts in intervals; `bins` has a row for each cause."""
    rows = [bins[keys.causes.index(part.cause)].tolist() for part in parts]
    return Timeline(edges.tolist(), rows)
