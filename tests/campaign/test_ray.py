"""Campaigns on a real Ray cluster of two nodes on loopback.

With a worker killed in the middle and little memory.

Ray is an extra (`make ray` installs it and runs these); without it they are skipped.
"""

from __future__ import annotations

import importlib.util
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lasthop import LasthopError
from lasthop.campaign import cluster
from lasthop.campaign.conduct import conduct
from lasthop.campaign.executors import Failure
from tests.campaign.plans import small

ROOT = Path(__file__).parents[2]
needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="Ray is not installed; `make ray` installs it and runs this"
)

#: In a process of its own: Ray starts threads and servers, and warns of much.
DRIVER = """
import json, os, signal, sys, threading, time
from pathlib import Path
import ray
from ray.cluster_utils import Cluster
from lasthop.campaign.conduct import conduct
from lasthop.campaign.executors import Failure
from tests.campaign.misbehaving import Own
from tests.campaign.plans import GOODPUT, small

folder, what = Path(sys.argv[1]), sys.argv[2]
# The least that Ray accepts for a node's object store.
size = {"num_cpus": 4, "object_store_memory": 80_000_000} if what == "memory" else {"num_cpus": 1}
cluster = Cluster(initialize_head=True, head_node_args=size)
second = cluster.add_node(**size)
cluster.wait_for_nodes()
ray.init(address=cluster.address, log_to_driver=False)
nodes = sum(node["Alive"] for node in ray.nodes())
plan, events = small(keep=("flows", "tcp")), []

def progress(event):
    events.append(event)

if what == "node":
    # The second node goes in the middle, with what it has in work.
    plan = small(keep=("flows", "tcp"), seeds=range(1, 31))
    def progress(event):
        events.append(event)
        if event.done == 20:
            cluster.remove_node(second, allow_graceful=False)
elif what == "kill":
    plan = small(measures=(*GOODPUT, Own("kill", once=folder / "killed")))
elif what == "die":
    plan = small(measures=(*GOODPUT, Own("kill")))
elif what == "memory":
    # More than two stores of 80 MB hold: all that is in work is finished before the second result
    # is taken.
    plan = small(keep=("packets", "tcp"), seeds=range(1, 5))
    object.__setattr__(plan, "base", plan.base.with_({"scenario.duration": "200 s", "link.path.rate": "60 Mbit/s"}))
    def progress(event):
        while event.done == 1 and ray.available_resources().get("CPU", 0) < 8:
            time.sleep(0.2)
results = conduct(plan, folder / "store", using="ray", out=folder / "out", progress=progress)
about = {**results.about["runs"], "nodes": nodes, "executor": results.about["executor"],
         "jobs": results.about["jobs"], "reasons": results.failures()["reason"].to_pylist(),
         "octets": sum(p.stat().st_size for p in (folder / "store").rglob("*.parquet"))}
(folder / "about.json").write_text(json.dumps(about))
ray.shutdown()
cluster.shutdown()
"""


def on_ray(folder: Path, what: str) -> dict[str, Any]:
    path = {**os.environ, "PYTHONPATH": str(ROOT), "RAY_USAGE_STATS_ENABLED": "0"}
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, folder, what], capture_output=True, text=True, env=path, check=False, timeout=900
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-6000:]
    about: dict[str, Any] = json.loads((folder / "about.json").read_text())
    assert (about["nodes"], about["executor"]) == (2, "ray")
    return about


def octets(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*.parquet"))}


@needs_ray
def test_ray_gives_the_octets_of_threads(tmp_path: Path) -> None:
    about = on_ray(tmp_path, "plain")
    assert (about["done"], about["failed"], about["jobs"]) == (12, 0, 2)
    conduct(small(keep=("flows", "tcp")), tmp_path / "here", using="threads", out=tmp_path / "there")
    assert octets(tmp_path / "out") == octets(tmp_path / "there")


@needs_ray
def test_a_worker_that_is_killed_once_costs_nothing_but_time(tmp_path: Path) -> None:
    about = on_ray(tmp_path, "kill")
    assert (tmp_path / "killed").exists()
    assert (about["done"], about["failed"]) == (12, 0)


@needs_ray
def test_a_run_that_kills_its_workers_is_a_failure_and_the_rest_goes_on(tmp_path: Path) -> None:
    about = on_ray(tmp_path, "die")
    assert (about["done"], about["failed"]) == (12, 4)
    assert all(reason.startswith("Ray gave no result: WorkerCrashedError") for reason in about["reasons"])


@needs_ray
def test_a_node_that_goes_in_the_middle_costs_nothing_but_time(tmp_path: Path) -> None:
    about = on_ray(tmp_path, "node")
    assert (about["done"], about["failed"]) == (120, 0)
    plan = small(keep=("flows", "tcp"), seeds=range(1, 31))
    conduct(plan, tmp_path / "here", using="threads", out=tmp_path / "there")
    assert octets(tmp_path / "out") == octets(tmp_path / "there")


@needs_ray
def test_an_object_store_that_is_too_small_costs_nothing_but_time(tmp_path: Path) -> None:
    about = on_ray(tmp_path, "memory")
    assert (about["done"], about["failed"]) == (16, 0)
    assert about["octets"] > 170_000_000


def test_without_ray_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(LasthopError, match=r"pip install 'lasthop\[ray\]'"):
        cluster.Ray()


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1"])
def test_an_address_where_nothing_answers_is_an_error_within_seconds(address: str) -> None:
    """Ray itself asks again for minutes.

    Port 1 is reserved (tcpmux, RFC 1078); nothing listens there.
    """
    with pytest.raises(LasthopError, match=r"no Ray cluster can be reached at RAY_ADDRESS(?s:.)*ray start --head"):
        cluster._require_answer(address)


def test_an_address_that_takes_no_connection_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []

    def silent(_where: tuple[str, int], timeout: float) -> None:
        asked.append(timeout)
        raise TimeoutError("timed out")

    monkeypatch.setattr(socket, "create_connection", silent)
    with pytest.raises(LasthopError, match="timed out"):
        cluster._require_answer("[2001:db8::1]:6379")
    assert asked == [cluster.ANSWER_S]


@pytest.mark.parametrize("address", ["somewhere", "host:", ":6379", "host:port", "host:70000"])
def test_what_is_no_address_is_said(address: str) -> None:
    with pytest.raises(LasthopError, match=r"is no address of a Ray cluster(?s:.)*HOST:PORT"):
        cluster._require_answer(address)


def test_addresses_that_ray_looks_up_itself_are_left_to_it() -> None:
    for address in ("", "auto", "local"):
        cluster._require_answer(address)


@pytest.mark.skipif(sys.platform == "win32", reason="has no timer that ends a call")
def test_a_task_of_the_cluster_is_given_up_at_its_limit() -> None:
    def endless(_task: int, _stopped: object) -> int:
        while True:
            pass

    assert cluster._guarded(endless, 1, 0.2) == Failure("it was given up after the time limit of 0.2 s for a run")
    assert cluster._guarded(lambda task, _: 2 * task, 3, 60.0) == 6
