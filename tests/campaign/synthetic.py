"""Results tables of campaigns that were not run: values follow from labels and seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import pyarrow as pa

AXES: dict[str, list[Any]] = {
    "buffer": ["50 kB", "200 kB", "800 kB", "3200 kB"],
    "aqm": ["none", "codel", "pie"],
    "cc": ["reno", "cubic", "bbr"],
}
SEEDS = (1, 2, 3, 4, 5)

Value = Callable[[dict[str, Any], int], "float | None"]


def one(unit: str, value: Value) -> dict[str, tuple[str, Value]]:
    """The metric `m`."""
    return {"m": (unit, value)}


def noise(seed: int, salt: int = 0) -> float:
    """A number from -1 to 1 that looks random and is always the same."""
    return ((seed * 2654435761 + salt * 40503 + 12345) % 1999) / 999.5 - 1


def rtt(labels: dict[str, Any], seed: int) -> float:
    """Grows with the buffer, less so with an AQM [ms]."""
    i, j, k = (AXES[a].index(labels[a]) for a in AXES)
    return 20.0 * (4**i if j == 0 else 1 + i) * (1 + 0.1 * k) * (1 + 0.05 * noise(seed, 7 * i + 3 * j + k))


def goodput(labels: dict[str, Any], seed: int) -> float:
    """Grows with the buffer [bit/s]."""
    i, j, k = (AXES[a].index(labels[a]) for a in AXES)
    return 1e6 * (10 + 5 * i - j + 2 * k + noise(seed, i + j + k))


def table(
    axes: Mapping[str, Sequence[Any]] = AXES,
    metrics: Mapping[str, tuple[str, Value]] | None = None,
    seeds: Sequence[int] = SEEDS,
    dictionary: bool = True,
) -> pa.Table:
    """A results table: a row for each point and seed."""
    chosen = metrics or {"goodput": ("bit/s", goodput), "rtt": ("ms", rtt)}
    rows = [(dict(zip(axes, labels, strict=True)), s) for labels in product(*axes.values()) for s in seeds]
    arrays, fields = [], []
    for axis in axes:
        column = pa.array([labels[axis] for labels, _ in rows])
        if dictionary and pa.types.is_string(column.type):
            column = column.dictionary_encode()
        arrays.append(column)
        fields.append(pa.field(axis, column.type))
    arrays.append(pa.array([seed for _, seed in rows], pa.int64()))
    fields.append(pa.field("seed", pa.int64()))
    for name, (unit, value) in chosen.items():
        arrays.append(pa.array([value(labels, seed) for labels, seed in rows], pa.float64()))
        fields.append(pa.field(name, pa.float64(), metadata={"unit": unit}))
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))
