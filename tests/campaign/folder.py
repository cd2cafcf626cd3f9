"""The folder of a campaign that was not run, as `CampaignResults` writes it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.campaign import synthetic

TOML = """[campaign]
name = "bloat"
base = "lte-fading"
[figure.delay]
kind = "line"
metric = "rtt"
lines = "cc"
columns = "aqm"
"""


def write(
    folder: Path,
    table: pa.Table | None = None,
    failures: Sequence[Mapping[str, Any]] = (),
    toml: str = TOML,
    **about: Any,
) -> Path:
    """Writes results.parquet, failures.parquet, campaign.json and campaign.toml."""
    results = synthetic.table() if table is None else table
    names = results.column_names
    axes, metrics = names[: names.index("seed")], names[names.index("seed") + 1 :]
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(results, folder / "results.parquet")
    columns = [
        *((a, pa.string()) for a in axes),
        ("seed", pa.int64()),
        ("metric", pa.string()),
        ("reason", pa.string()),
    ]
    pq.write_table(pa.Table.from_pylist(list(failures), pa.schema(columns)), folder / "failures.parquet")
    content: dict[str, Any] = {
        "name": "bloat",
        "description": "Buffers, AQM and congestion control",
        "digest": "0f" * 32,
        "command": "lasthop sweep bloat.toml",
        "axes": [{"name": a, "keys": [f"key.of.{a}"], "labels": _labels(results, a), "unit": None} for a in axes],
        "metrics": [{"name": m, "unit": _unit(results, m), "text": f"the text of {m}"} for m in metrics],
        "seeds": [1, 2, 3, 4, 5],
        "until": None,
        "keep": [],
        "runs": {"planned": results.num_rows, "done": results.num_rows, "taken": 0, "failed": len(failures)},
        "seconds": 12.5,
        "cpu_seconds": 24.0,
        "jobs": 2,
        "executor": "threads",
        "lasthop": "0.5.0",
        "engine": "ab" * 16,
        "failures": [dict(f) for f in failures],
        **about,
    }
    (folder / "campaign.json").write_text(json.dumps(content), encoding="utf-8")
    (folder / "campaign.toml").write_text(toml, encoding="utf-8")
    return folder


def _labels(table: pa.Table, axis: str) -> list[Any]:
    return list(dict.fromkeys(table[axis].to_pylist()))


def _unit(table: pa.Table, metric: str) -> str:
    return str(table.schema.field(metric).metadata[b"unit"].decode())
