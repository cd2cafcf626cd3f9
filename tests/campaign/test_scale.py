"""What a campaign costs beside its runs: processor time, memory, the time of a query."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from lasthop.campaign.store import Entry, Store

ROOT = Path(__file__).parents[2]

#: In a process of its own, so that memory and processor time are the campaign's.
CAMPAIGN = """
import json, sys, threading, time, types
from pathlib import Path
from lasthop import Scenario, _core
from lasthop.campaign import work
from lasthop.campaign.conduct import conduct
from tests.campaign.plans import HandMade, measures

folder, seeds, jobs, duration = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
plan = HandMade({"flow.download.tcp.cc": ["reno", "cubic"]}, seeds=range(1, seeds + 1), measures=measures(
    goodput='flow("download").goodput_bps in Mbit/s', delay='flow("download").delay_p95_s in ms',
    rtt='p95(tcp("download").rtt_us) in ms', lost='flow("download").lost_dropped'))
object.__setattr__(plan, "base", Scenario.load("lte-download", set={"scenario.duration": duration}))
own = []

def timed(*args, **more):
    began = time.thread_time()
    try:
        return _core.run(*args, **more)
    finally:
        own.append(time.thread_time() - began)

work._core = types.SimpleNamespace(run=timed)
memory = {}

def progress(event):
    if event.done in (seeds // 5, 2 * seeds):
        kib = dict(line.split(":") for line in open("/proc/self/status"))["VmRSS"].split()[0]
        memory[event.done] = int(kib) / 1024

began, spent = time.perf_counter(), time.process_time()
results = conduct(plan, folder / "store", using="threads", jobs=jobs, out=folder / "out", progress=progress)
wall, spent = time.perf_counter() - began, time.process_time() - spent
runs = results.table().num_rows
assert runs == len(own) == 2 * seeds
print(json.dumps({"runs": runs, "wall_s": wall, "cpu_s": spent, "own_s": sum(own),
                  "overhead_ms": 1e3 * (spent - sum(own)) / runs, "memory_mib": list(memory.values())}))
"""

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def measured(folder: Path, seeds: int, jobs: int = 2, duration: str = "1 s") -> dict[str, Any]:
    path = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", CAMPAIGN, str(folder), str(seeds), str(jobs), duration]
    done = subprocess.run(command, capture_output=True, text=True, env=path, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@linux
def test_memory_does_not_grow_with_the_runs(tmp_path: Path) -> None:
    found = measured(tmp_path, 250)
    early, late = found["memory_mib"]
    assert late - early < 24


@linux
@pytest.mark.slow
def test_ten_thousand_runs_of_a_second(tmp_path: Path) -> None:
    """Figures: docs/performance.md.

    A bound on time would depend on the machine; that on memory does not.
    """
    found = measured(tmp_path, 5_000)
    print(json.dumps(found))
    early, late = found["memory_mib"]
    assert late - early < 24


@linux
@pytest.mark.slow
def test_two_cores_against_one(tmp_path: Path) -> None:
    one, two = (measured(tmp_path / str(jobs), 100, jobs, "20 s") for jobs in (1, 2))
    print(json.dumps({"one": one, "two": two, "speedup": one["wall_s"] / two["wall_s"]}))
    assert (tmp_path / "1/out/results.parquet").read_bytes() == (tmp_path / "2/out/results.parquet").read_bytes()


def rows(count: int) -> pa.Table:
    """The results of a campaign of so many runs: 3 congestion controls x 10 buffers x seeds."""
    draw = np.random.default_rng(1)
    seeds = count // 30
    cc = pa.DictionaryArray.from_arrays(np.repeat(np.arange(3, dtype=np.int32), 10 * seeds), ["bbr", "cubic", "reno"])
    columns = {
        "cc": cc,
        "buffer": np.tile(np.repeat(np.arange(10) * 50.0, seeds), 3),
        "seed": np.tile(np.arange(seeds, dtype=np.uint64), 30),
        **{f"metric{i}": draw.random(30 * seeds) for i in range(5)},
    }
    return pa.table(columns)


def queried(path: Path) -> pa.Table:
    """The mean of a metric for each congestion control and buffer."""
    table = pq.read_table(path, columns=["cc", "buffer", "metric1"])
    table = table.set_column(0, "cc", pc.cast(table["cc"], pa.string()))
    return table.group_by(["cc", "buffer"]).aggregate([("metric1", "mean"), ("metric1", "count")])


def filled(path: Path, runs: int) -> None:
    """A store with so many runs of five metrics each, in files of 5,000."""
    with Store(path) as store:
        for n in range(runs):
            key = f"{n:064x}"
            store.put(key, [Entry(f"m{i}", f"metric{i}", float(n + i)) for i in range(5)])
            if n % 5_000 == 4_999:
                store.flush()
        store.flush()
        store.index()


@pytest.mark.parametrize("runs", [3_000, pytest.param(200_000, marks=pytest.mark.slow)])
def test_many_rows_are_queried(tmp_path: Path, runs: int) -> None:
    """200,000 runs of five metrics are 1,000,000 rows of the store.

    The slow form prints the times.
    """
    filled(tmp_path / "s", runs)
    began = time.perf_counter()
    with Store(tmp_path / "s") as store:
        opened = time.perf_counter() - began
        wanted = [f"m{i}" for i in range(5)]
        began = time.perf_counter()
        for n in range(0, runs, runs // 1_000):
            assert store.get(f"{n:064x}", wanted)["m3"].value == n + 3
        looked = time.perf_counter() - began
    pq.write_table(rows(5 * runs), tmp_path / "results.parquet", compression="zstd")
    began = time.perf_counter()
    found = queried(tmp_path / "results.parquet")
    asked = time.perf_counter() - began
    assert found.num_rows == 30
    assert sum(found["metric1_count"].to_pylist()) == 5 * runs // 30 * 30
    print(json.dumps({"rows": 5 * runs, "open_s": opened, "thousand_runs_s": looked, "means_s": asked}))
