"""Runs on a Ray cluster (`pip install lasthop[ray]`).

Nodes need the same lasthop and the campaign's files.
"""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Generator, Iterator
from itertools import islice
from typing import Any, TypeVar

from lasthop._errors import mistake
from lasthop.campaign.executors import Failure, WorkOf, guarded
from lasthop.campaign.work import Overtime, one_line, overtime

T = TypeVar("T")
R = TypeVar("R")

#: A run whose worker or node fails is made again so often: on a cluster the run is seldom
#: the cause.
RETRIES = 2
#: A cluster that does not take a connection in this time [s] is not there.
ANSWER_S = 5.0
#: Results that come within this time are taken together [s]; twice as many tasks as processors wait
#: meanwhile.
_TOGETHER_S = 0.02


class Ray:
    """Runs as tasks of a Ray cluster.

    The cluster is that of `RAY_ADDRESS`, or of an earlier `ray.init`, or one of this machine alone.

    Args:
        workers: how many runs at a time; 0: as many as the cluster has processors, also when it
            grows.
        limit_s: time after which a run is given up [s]; None: never.

    Raises:
        LasthopError: Ray is not installed, or no cluster can be reached.
    """

    name = "ray"

    def __init__(self, workers: int = 0, limit_s: float | None = None) -> None:
        self._ray = _imported()
        self._limit = workers
        self._limit_s = limit_s
        if not self._ray.is_initialized():
            _require_answer(os.environ.get("RAY_ADDRESS", ""))
            try:
                self._ray.init(log_to_driver=False, configure_logging=False, include_dashboard=_dashboard())
            except (ConnectionError, RuntimeError, ValueError, OSError) as error:
                raise mistake(
                    f"no Ray cluster can be reached: {one_line(error)}",
                    "RAY_ADDRESS names one (`ray start --head` starts it); without it one of this machine is started",
                ) from error

    @property
    def workers(self) -> int:
        """How many runs it makes at a time.

        The number is `jobs`, or the number of processors that the cluster has now.
        """
        return self._limit or max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def run(self, work: WorkOf[T, R], tasks: Iterator[T]) -> Generator[tuple[T, R | Failure], None, None]:
        """See `Executor.run`. Ray has twice as many tasks as there are processors."""
        ray = self._ray
        remote = ray.remote(num_cpus=1, max_retries=RETRIES)(_guarded)
        there = ray.put(work)
        ahead: dict[Any, T] = {}
        try:
            while True:
                room = 2 * self.workers
                for task in islice(tasks, max(0, room - len(ahead))):
                    ahead[remote.remote(there, task, self._limit_s)] = task
                if not ahead:
                    return
                # Several at a time: a large cluster has thousands in work, and each question is
                # about all of them.
                finished, _ = ray.wait(list(ahead), num_returns=len(ahead), timeout=_TOGETHER_S, fetch_local=False)
                if not finished:
                    finished, _ = ray.wait(list(ahead), num_returns=1, fetch_local=False)
                for reference in finished:
                    yield ahead.pop(reference), _result(ray, reference)
        finally:
            for reference in ahead:
                ray.cancel(reference, force=True)


def _guarded(work: WorkOf[T, R], task: T, limit_s: float | None) -> R | Failure:
    if limit_s is None or not hasattr(signal, "setitimer"):
        return guarded(work, task, _never)

    def over(*_: object) -> None:
        raise Overtime

    # Ray runs tasks in the main thread of a worker process, where signals are handled.
    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        return guarded(work, task, _never)
    except Overtime:
        return Failure(overtime(limit_s))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _never() -> bool:
    return False


def _require_answer(address: str) -> None:
    """Tests whether anything answers at an address: Ray itself would wait for minutes.

    Raises:
        LasthopError: it is no address, or nothing answers in `ANSWER_S` seconds.
    """
    if address in ("", "auto", "local"):
        return
    where = address.rpartition("://")[2]
    host, colon, port = where.rpartition(":")
    if not (colon and host and port.isascii() and port.isdecimal() and int(port) < 65536):
        raise mistake(
            f"RAY_ADDRESS = '{address}' is no address of a Ray cluster",
            "HOST:PORT as `ray start --head` prints it, ray://HOST:PORT, or auto for that of this machine",
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=ANSWER_S).close()
    except OSError as error:
        raise mistake(
            f"no Ray cluster can be reached at RAY_ADDRESS = '{address}': {error}",
            "`ray start --head` starts one and prints its address; without RAY_ADDRESS one of this machine is started",
        ) from error


def _result(ray: Any, reference: Any) -> Any:
    try:
        return ray.get(reference)
    except ray.exceptions.RayError as error:
        first = str(error).strip().partition("\n")[0]
        return Failure(f"Ray gave no result: {type(error).__name__}: {first}")


def _imported() -> Any:
    # Ray writes usage statistics to the net unless an environment variable forbids it.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        raise mistake(f"Ray cannot be imported: {error}", "pip install 'lasthop[ray]'") from error
    return ray


def _dashboard() -> bool | None:
    """No dashboard for a cluster that this process starts; a cluster that is there has its own."""
    return None if os.environ.get("RAY_ADDRESS") else False
