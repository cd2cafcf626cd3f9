"""Runs on a Ray cluster (`pip install lasthop[ray]`). Nodes need the same lasthop and the campaign's files."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from itertools import islice
from typing import Any, TypeVar

from lasthop._errors import mistake
from lasthop.campaign.executors import Failure, WorkOf, guarded
from lasthop.campaign.work import said

T = TypeVar("T")
R = TypeVar("R")

#: A run whose worker or node dies is made again so often: on a cluster that is seldom the run's own fault.
RETRIES = 2
#: Results that come within this time are taken together [s]; twice as many tasks as processors wait meanwhile.
_TOGETHER_S = 0.02


class Ray:
    """Tasks of a Ray cluster: that of `RAY_ADDRESS`, or of `ray.init` before, or one of this machine alone.

    Args:
        workers: how many runs at a time; 0: as many as the cluster has processors, also when it grows.

    Raises:
        LasthopError: Ray is not installed, or no cluster can be reached.
    """

    name = "ray"

    def __init__(self, workers: int = 0) -> None:
        self._ray = _imported()
        self._limit = workers
        if not self._ray.is_initialized():
            try:
                self._ray.init(log_to_driver=False, configure_logging=False, include_dashboard=_dashboard())
            except (ConnectionError, RuntimeError, ValueError, OSError) as error:
                raise mistake(
                    f"no Ray cluster can be reached: {said(error)}",
                    "RAY_ADDRESS names one (`ray start --head` starts it); without it one of this machine is started",
                ) from error

    @property
    def workers(self) -> int:
        """How many runs it makes at a time: as many as the cluster has processors now, or as was said."""
        return self._limit or max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def run(self, work: WorkOf[T, R], tasks: Iterator[T]) -> Generator[tuple[T, R | Failure], None, None]:
        """See `Executor.run`. Twice as many tasks as there are processors are at Ray."""
        ray = self._ray
        remote = ray.remote(num_cpus=1, max_retries=RETRIES)(_guarded)
        there = ray.put(work)
        ahead: dict[Any, T] = {}
        try:
            while True:
                room = 2 * self.workers
                for task in islice(tasks, max(0, room - len(ahead))):
                    ahead[remote.remote(there, task)] = task
                if not ahead:
                    return
                # Several at a time: a large cluster has thousands in work, and each question is about all of them.
                finished, _ = ray.wait(list(ahead), num_returns=len(ahead), timeout=_TOGETHER_S, fetch_local=False)
                if not finished:
                    finished, _ = ray.wait(list(ahead), num_returns=1, fetch_local=False)
                for reference in finished:
                    yield ahead.pop(reference), _result(ray, reference)
        finally:
            for reference in ahead:
                ray.cancel(reference, force=True)


def _guarded(work: WorkOf[T, R], task: T) -> R | Failure:
    return guarded(work, task, lambda: False)


def _result(ray: Any, reference: Any) -> Any:
    try:
        return ray.get(reference)
    except ray.exceptions.RayError as error:
        first = str(error).strip().partition("\n")[0]
        return Failure(f"Ray gave no result: {type(error).__name__}: {first}")


def _imported() -> Any:
    # Ray writes usage statistics to the net unless it is told not to.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        raise mistake(f"Ray cannot be imported: {error}", "pip install 'lasthop[ray]'") from error
    return ray


def _dashboard() -> bool | None:
    """No dashboard for a cluster that this process starts; a cluster that is there has its own."""
    return None if os.environ.get("RAY_ADDRESS") else False
