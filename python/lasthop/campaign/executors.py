"""Who makes the runs: threads of this process, worker processes, or a Ray cluster, behind one small interface.

    for task, made in executor.run(work, tasks): ...

Each takes a task when it has room for one, so few wait, and gives outcomes in any order. What is made of a task depends
on the task alone, so the results of a campaign do not depend on the executor.
"""

from __future__ import annotations

import os
import pickle
import queue
import re
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from multiprocessing import connection, get_context, parent_process
from typing import TYPE_CHECKING, Generic, Protocol, TypeAlias, TypeVar

from lasthop._errors import mistake
from lasthop.campaign.work import RunFailedError, said

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess

T = TypeVar("T")
R = TypeVar("R")

WorkOf: TypeAlias = "Callable[[T, Callable[[], bool]], R]"
"""What is done with a task. The second argument says whether all is to stop; it raises KeyboardInterrupt then."""


@dataclass(frozen=True)
class Failure:
    """A task that gave no result."""

    #: Why, in one line.
    reason: str


class Executor(Protocol):
    """Makes runs."""

    @property
    def name(self) -> str:
        """threads, processes or ray."""

    @property
    def workers(self) -> int:
        """How many runs it makes at a time."""

    def run(self, work: WorkOf[T, R], tasks: Iterator[T]) -> Generator[tuple[T, R | Failure], None, None]:
        """Does the work for each task.

        Args:
            work: what is done; where it runs in other processes, it pickles.
            tasks: asked for the next task when there is room. An iterator that has ended is asked again after each
                outcome, so it may go on: outcomes can lead to further tasks.

        Yields:
            Each task with its result or its failure, in any order. Closing the generator stops all work.
        """


def cores() -> int:
    """The processors that this process may use; a batch system may have given it fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def executor(name: str | None, jobs: int = 0, by_processes: bool = False) -> Executor:
    """The executor of that name.

    Args:
        name: threads, processes or ray; None: threads, or processes where `by_processes`.
        jobs: how many runs at a time, from 0 on; 0: one per processor (`cores`), with Ray those of the cluster.
        by_processes: whether runs hold the interpreter's lock, so that threads would wait for one another.

    Raises:
        LasthopError: there is no executor of that name, `jobs` is below 0, or Ray is not installed.
    """
    if jobs < 0:
        raise mistake(f"jobs = {jobs} is below 0", "give the number of runs at a time, or 0 for one per processor")
    if name is None:
        name = "processes" if by_processes else "threads"
    if name == "threads":
        return Threads(jobs or cores())
    if name == "processes":
        return Processes(jobs or cores())
    if name == "ray":
        from lasthop.campaign.cluster import Ray

        return Ray(jobs)
    raise mistake(f"there is no executor '{name}'", "the executors are threads, processes and ray")


def guarded(work: WorkOf[T, R], task: T, stopped: Callable[[], bool]) -> R | Failure:
    """The result of a task, or its failure."""
    try:
        return work(task, stopped)
    except RunFailedError as failed:
        return Failure(str(failed))
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:  # SystemExit of the user's code ends its run, not the campaign
        return Failure(said(error))


class Threads:
    """Threads of this process: the core runs without the interpreter's lock."""

    name = "threads"

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def run(self, work: WorkOf[T, R], tasks: Iterator[T]) -> Generator[tuple[T, R | Failure], None, None]:
        """See `Executor.run`. One task waits for each thread, so that none idles while outcomes are looked at."""
        stopped = threading.Event()
        done: queue.SimpleQueue[tuple[T, R | Failure]] = queue.SimpleQueue()

        def one(task: T) -> None:
            with suppress(KeyboardInterrupt):  # it was given up: nobody waits for it
                done.put((task, guarded(work, task, stopped.is_set)))

        with ThreadPoolExecutor(self.workers, thread_name_prefix="lasthop-run") as pool:
            ahead = 0
            try:
                while True:
                    for task in islice(tasks, 2 * self.workers - ahead):
                        pool.submit(one, task)
                        ahead += 1
                    if ahead == 0:
                        return
                    with suppress(queue.Empty):
                        # Not without end: a signal may reach another thread, which does not wake this one.
                        outcome = done.get(timeout=1.0)
                        ahead -= 1
                        yield outcome
            finally:
                stopped.set()
                pool.shutdown(wait=True, cancel_futures=True)


class Processes:
    """Worker processes of this machine, each with an interpreter of its own.

    A worker that dies takes the run with it that it was making: a failure with a reason. Another takes its place.
    """

    name = "processes"

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def run(self, work: WorkOf[T, R], tasks: Iterator[T]) -> Generator[tuple[T, R | Failure], None, None]:
        """See `Executor.run`. A worker has one task in work and one in its pipe.

        Raises:
            LasthopError: worker processes cannot be started, or cannot read the work.
        """
        content = pickle.dumps(work)
        pool: list[_Worker[T, R]] = []
        again: deque[T] = deque()  # what waited in the pipe of a worker that died
        following = _Then(again, tasks)
        try:
            while True:
                for depth in (1, 2):
                    for worker in pool:
                        worker.give(islice(following, max(0, depth - len(worker.tasks))))
                    for task in islice(following, self.workers - len(pool)):
                        pool.append(_Worker(content))
                        pool[-1].give([task])
                busy = {worker.pipe: worker for worker in pool if worker.tasks}
                if not busy:
                    return
                for pipe in connection.wait(list(busy)):
                    worker = busy[pipe]  # type: ignore[index]
                    try:
                        heard = worker.take()
                    except (EOFError, OSError):
                        pool.remove(worker)
                        reason = worker.buried()
                        if not worker.ready:
                            raise mistake(f"a worker process {reason} before its first run", _UNSTARTED) from None
                        failed = worker.tasks.popleft()
                        again.extend(worker.tasks)
                        yield failed, Failure(f"its worker process {reason}")
                    else:
                        for made in heard:
                            yield worker.tasks.popleft(), made
        finally:
            for worker in pool:
                worker.end()


class _Worker(Generic[T, R]):
    """A worker process, as its parent sees it.

    It says that it is there, gets the work, says that it has read it, then gets tasks and gives results in their order.
    Nothing is sent before the other side reads, so neither waits for the other.
    """

    def __init__(self, work: bytes) -> None:
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.tasks: deque[T] = deque()
        self.ready = False
        self._work: bytes | None = work
        self.process: SpawnProcess = context.Process(target=_serve, args=(theirs,), daemon=True)
        with _interrupts_wait():
            self.process.start()
        theirs.close()

    def give(self, tasks: Iterable[T]) -> None:
        """Sends tasks; a worker that died meanwhile is noticed when it is listened to."""
        for task in tasks:
            self.tasks.append(task)
            if self.ready:
                self._send(pickle.dumps(task))

    def _send(self, content: bytes) -> None:
        with suppress(OSError):
            self.pipe.send_bytes(content)

    def take(self) -> list[R | Failure]:
        """What the worker says: a result, or nothing yet.

        Raises:
            LasthopError: the worker cannot read the work.
            EOFError, OSError: the worker has died.
        """
        if self.ready:
            return [self.pipe.recv()]
        fault = self.pipe.recv()
        if fault is not None:
            raise mistake(
                f"a worker process cannot read the campaign: {fault}",
                "code of one's own must be in a file that the worker can import, not typed into a prompt",
            )
        if self._work is not None:
            self._send(self._work)
            self._work = None
        else:
            self.ready = True
            for task in self.tasks:
                self._send(pickle.dumps(task))
        return []

    def buried(self) -> str:
        """How the process has ended, in words."""
        self.process.join(5)
        if self.process.exitcode is None:
            self.process.kill()
            self.process.join()
        self.pipe.close()
        code = self.process.exitcode or 0
        if code >= 0:
            return f"ended with exit code {code}"
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        return f"was killed by {name}" + (", as it is done when memory runs out" if name == "SIGKILL" else "")

    def end(self) -> None:
        """Ends the process, whatever it does."""
        self.pipe.close()
        if self.tasks:
            self.process.terminate()
        self.process.join(2)
        if self.process.exitcode is None:
            self.process.kill()
            self.process.join()
        self.process.close()


def _serve(pipe: Connection) -> None:
    """The life of a worker process: the work, then tasks until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all processes of a terminal: the parent ends us
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(EOFError, OSError):
        pipe.send(None)
        content = pipe.recv_bytes()
        try:
            work = pickle.loads(content)
        except BaseException as error:
            pipe.send(said(error))
            return
        pipe.send(None)
        while True:
            pipe.send(guarded(work, pickle.loads(pipe.recv_bytes()), _never))


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _never() -> bool:
    return False


@contextmanager
def _interrupts_wait() -> Iterator[None]:
    """Ctrl-C reaches this process after the block, and a process that is started in it never."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Then(Iterator[T]):
    """What is in the queue, then what the iterator has; asked again after its end, both may have more."""

    def __init__(self, first: deque[T], then: Iterator[T]) -> None:
        self._first = first
        self._then = then

    def __next__(self) -> T:
        return self._first.popleft() if self._first else next(self._then)


def parse_shard(text: str) -> tuple[int, int]:
    """Which part of a campaign: `2/8` is the second of eight.

    Raises:
        LasthopError: the text has another form, or the first number is not 1 to the second.
    """
    found = re.fullmatch(r"\s*(\d{1,9})\s*/\s*(\d{1,9})\s*", text, re.ASCII)
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        shown = " ".join(text.split())[:40]
        raise mistake(f"'{shown}' is no shard", "write which part of how many, from 1 on: --shard 2/8")
    return int(found[1]), int(found[2])


_UNSTARTED = (
    "its own message is above; a script that starts a campaign does so below `if __name__ == '__main__':`, "
    "as each worker imports it"
)
