"""The executors, which make the runs, with one common interface.

They use threads of this process, worker processes, or a Ray cluster.

    for task, made in executor.run(work, tasks): ...

An executor takes a task when it has space for one, so few tasks wait, and yields outcomes in any
order. The result of a task depends on the task alone, so the results of a campaign do not depend on
the executor.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import queue
import re
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from multiprocessing import connection, current_process, get_context, parent_process
from typing import TYPE_CHECKING, Generic, Protocol, TypeAlias, TypeVar

from lasthop._core import LasthopError
from lasthop._errors import mistake
from lasthop.campaign.work import Overtime, RunFailedError, one_line, overtime

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess

T = TypeVar("T")
R = TypeVar("R")

#: The core checks some 20 times a second whether a run is to stop. A run that is over its limit for
#: so long [s] is in code of the user's, which makes no such check; one that does not react to an
#: exception in so long [s] is in a system call.
_GRACE_S = 0.3
_STUCK_S = 2.0
#: A wait takes no longer [s], so that limits and signals are seen.
_ASKED_S = 0.5
#: Exit code of a worker that would begin a campaign of its own; none that people or Python use
#: (sysexits.h ends at 78).
_NO_GUARD = 79

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
            work: the function that is applied to each task. Where it runs in other processes, it
                must pickle.
            tasks: an iterator, from which the next task is taken when there is space. After it has
                ended it is asked again after each outcome, because outcomes can lead to further
                tasks.

        Yields:
            Each task with its result or its failure, in any order. Closing the generator stops all
            work.
        """


def cores() -> int:
    """The processors that this process may use.

    A batch system may have given it fewer than the machine has.
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def executor(name: str | None, jobs: int = 0, by_processes: bool = False, limit_s: float | None = None) -> Executor:
    """The executor of that name.

    Args:
        name: threads, processes or ray; None: threads, or processes where `by_processes`.
        jobs: how many runs at a time, from 0 on; 0: one per processor (`cores`), with Ray those of
            the cluster.
        by_processes: whether runs hold the interpreter's lock, so that threads would wait for one
            another.
        limit_s: time after which a run is ended and counts as failed [s]; None: no limit.

    Raises:
        LasthopError: there is no executor of that name, `jobs` is below 0, `limit_s` is not above
            0, or Ray is not installed.
    """
    if limit_s is not None and not limit_s > 0:
        raise mistake(f"a time limit of {limit_s:g} s for a run", "give a time above 0")
    if jobs < 0:
        raise mistake(f"jobs = {jobs} is below 0", "give the number of runs at a time, or 0 for one per processor")
    if name is None:
        name = "processes" if by_processes else "threads"
    if name == "threads":
        return Threads(jobs or cores(), limit_s)
    if name == "processes":
        return Processes(jobs or cores(), limit_s)
    if name == "ray":
        from lasthop.campaign.cluster import Ray

        return Ray(jobs, limit_s)
    raise mistake(f"there is no executor '{name}'", "the executors are threads, processes and ray")


def guarded(work: WorkOf[T, R], task: T, stopped: Callable[[], bool]) -> R | Failure:
    """The result of a task, or its failure."""
    try:
        return work(task, stopped)
    except RunFailedError as failed:
        return Failure(str(failed))
    except (KeyboardInterrupt, GeneratorExit, Overtime):
        raise
    except BaseException as error:  # SystemExit of the user's code ends its run, not the campaign
        return Failure(one_line(error))


class Threads:
    """Threads of this process: the core runs without the interpreter's lock."""

    name = "threads"

    def __init__(self, workers: int, limit_s: float | None = None) -> None:
        self.workers = workers
        self.limit_s = limit_s

    def run(self, work: WorkOf[T, R], tasks: Iterator[T]) -> Generator[tuple[T, R | Failure], None, None]:
        """See `Executor.run`.

        One task waits for each thread, so that no thread is idle while outcomes are processed.
        """
        stopped = threading.Event()
        inbox: queue.SimpleQueue[_Given[T] | None] = queue.SimpleQueue()
        done: queue.SimpleQueue[tuple[_Given[T], R | Failure]] = queue.SimpleQueue()
        crew = [_Thread(work, inbox, done, stopped) for _ in range(self.workers)]
        ahead: set[_Given[T]] = set()
        try:
            while True:
                for task in islice(tasks, 2 * self.workers - len(ahead)):
                    ahead.add(given := _Given(task))
                    inbox.put(given)
                if not ahead:
                    return
                with suppress(queue.Empty):
                    # Not without end: a signal may reach another thread, which does not wake this
                    # one.
                    given, outcome = done.get(timeout=_ASKED_S)
                    if given in ahead:
                        ahead.remove(given)
                        yield given.task, outcome
                for place, thread in enumerate(crew):
                    late = thread.overdue(self.limit_s)
                    if late is not None and late in ahead:
                        # It is in code that nothing interrupts, such as a system call: another
                        # thread goes on.
                        thread.thread.name = "lasthop-given-up"
                        crew[place] = _Thread(work, inbox, done, stopped)
                        ahead.remove(late)
                        yield late.task, Failure(overtime(self.limit_s or 0.0))
        finally:
            stopped.set()
            _end(crew, inbox)


class _Given(Generic[T]):
    """A task on its way: equal to itself alone."""

    def __init__(self, task: T) -> None:
        self.task = task


class _Thread(Generic[T, R]):
    """A thread that makes runs. It does not keep the process from ending."""

    def __init__(
        self,
        work: WorkOf[T, R],
        inbox: queue.SimpleQueue[_Given[T] | None],
        done: queue.SimpleQueue[tuple[_Given[T], R | Failure]],
        stopped: threading.Event,
    ) -> None:
        self._work, self._inbox, self._done, self._stopped = work, inbox, done, stopped
        #: What it does, since when [s], and when an exception was raised in it [s].
        self._busy: tuple[_Given[T], float] | None = None
        self._interrupted_at: float | None = None
        #: Held while it begins and ends a task: an exception that is raised meanwhile meets this
        #: task and no other.
        self._gate = threading.Lock()
        self._limit_s = 0.0
        self.thread = threading.Thread(target=self._serve, name="lasthop-run", daemon=True)
        self.thread.start()

    def _serve(self) -> None:
        given: _Given[T] | None = None
        while not self._stopped.is_set():
            try:
                given = self._inbox.get()
                if given is None:
                    return
                with self._gate:
                    self._busy, self._interrupted_at = (given, time.monotonic()), None
                outcome = guarded(self._work, given.task, self._stopped.is_set)
                with self._gate:
                    self._busy = None
                if self.was_interrupted and isinstance(outcome, Failure):  # the core made an error of it
                    outcome = Failure(overtime(self._limit_s))
                self._done.put((given, outcome))
                given = None
            except Overtime:  # noqa: PERF203 -- it ends one task, not the thread
                self._busy = None
                if given is not None:
                    self._done.put((given, Failure(overtime(self._limit_s))))
            except KeyboardInterrupt:  # it was given up: no caller waits for it
                self._busy = None

    @property
    def was_interrupted(self) -> bool:
        """Whether an exception was raised in it since it began its task."""
        return self._interrupted_at is not None

    def overdue(self, limit_s: float | None) -> _Given[T] | None:
        """What is to be given up: a thread beyond its limit, which an exception has not ended."""
        busy, now = self._busy, time.monotonic()
        if limit_s is None or busy is None or now - busy[1] < limit_s + _GRACE_S:
            return None
        if self._interrupted_at is None:
            self._limit_s = limit_s
            self.raises(Overtime)
            return None
        return busy[0] if now - self._interrupted_at > _STUCK_S else None

    def raises(self, exception: type[BaseException]) -> None:
        """Raises an exception in it as soon as it is in Python code, if it has a task."""
        if not self._gate.acquire(timeout=_ASKED_S):
            return
        try:
            if self._busy is not None and self.thread.ident is not None:
                self._interrupted_at = time.monotonic()
                name = ctypes.c_ulong(self.thread.ident)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(name, ctypes.py_object(exception))
        finally:
            self._gate.release()


def _end(crew: Sequence[_Thread[T, R]], inbox: queue.SimpleQueue[_Given[T] | None]) -> None:
    """Ends threads.

    The core tests whether it is to stop, code of the user's gets an exception, the rest is left.
    """
    for _ in crew:
        inbox.put(None)
    for patience_s in (_ASKED_S, _STUCK_S):
        until = time.monotonic() + patience_s
        for thread in crew:
            thread.thread.join(max(0.0, until - time.monotonic()))
        for thread in crew:
            if thread.thread.is_alive():
                thread.raises(KeyboardInterrupt)


class Processes:
    """Worker processes of this machine, each with an interpreter of its own.

    If a worker ends early, the run that it was making is a failure with a reason, and another
    worker is started.
    """

    name = "processes"

    def __init__(self, workers: int, limit_s: float | None = None) -> None:
        self.workers = workers
        self.limit_s = limit_s

    def run(self, work: WorkOf[T, R], tasks: Iterator[T]) -> Generator[tuple[T, R | Failure], None, None]:
        """See `Executor.run`. A worker has one task in work and one in its pipe.

        Raises:
            LasthopError: worker processes cannot be started, or cannot read the work.
        """
        content = pickle.dumps(work)
        pool: list[_Worker[T, R]] = []
        again: deque[T] = deque()  # what waited in the pipe of a worker that has ended
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
                readable = connection.wait(list(busy), None if self.limit_s is None else _ASKED_S)
                for worker in (w for w in pool if w.pipe not in readable):
                    if self.limit_s is not None and worker.busy_s() > self.limit_s + _GRACE_S:
                        worker.late = True
                        worker.process.kill()  # its pipe says so at the next turn
                for pipe in readable:
                    worker = busy[pipe]  # type: ignore[index]
                    try:
                        results = worker.take()
                    except (EOFError, OSError):
                        pool.remove(worker)
                        reason = worker.buried()
                        if not worker.ready:
                            raise _unstarted(worker, reason) from None
                        failed = worker.tasks.popleft()
                        again.extend(worker.tasks)
                        late = worker.late and self.limit_s is not None
                        why = overtime(self.limit_s) if late and self.limit_s else f"its worker process {reason}"
                        yield failed, Failure(why)
                    else:
                        for made in results:
                            yield worker.tasks.popleft(), made
        finally:
            for worker in pool:
                worker.end()


class _Worker(Generic[T, R]):
    """A worker process, from the view of its parent.

    It says that it is there, gets the work, says that it has read it, then gets tasks and gives
    results in their order. Nothing is sent before the other side reads, so neither waits for the
    other.
    """

    def __init__(self, work: bytes) -> None:
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.tasks: deque[T] = deque()
        self.ready = False
        #: It was ended because its run took too long.
        self.late = False
        #: How it has ended, as soon as that is known.
        self.process_code = 0
        self._began = 0.0
        self._work: bytes | None = work
        self.process: SpawnProcess = context.Process(target=_serve, args=(theirs,), daemon=True)
        with _interrupts_wait():
            self.process.start()
        theirs.close()

    def give(self, tasks: Iterable[T]) -> None:
        """Sends tasks; a worker that died meanwhile is noticed when it is listened to."""
        for task in tasks:
            if not self.tasks:
                self._began = time.monotonic()
            self.tasks.append(task)
            if self.ready:
                self._send(pickle.dumps(task))

    def _send(self, content: bytes) -> None:
        with suppress(OSError):
            self.pipe.send_bytes(content)

    def busy_s(self) -> float:
        """How long it has been at its first task [s]; 0 without one."""
        return time.monotonic() - self._began if self.ready and self.tasks else 0.0

    def take(self) -> list[R | Failure]:
        """What the worker says: a result, or nothing yet.

        Raises:
            LasthopError: the worker cannot read the work.
            EOFError, OSError: the worker has died.
        """
        self._began = time.monotonic()
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
        self.process_code = code = self.process.exitcode or 0
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
    _speak_to_stderr()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(EOFError, OSError):
        pipe.send(None)
        content = pipe.recv_bytes()
        try:
            work = pickle.loads(content)
        except BaseException as error:
            pipe.send(one_line(error))
            return
        pipe.send(None)
        while True:
            pipe.send(guarded(work, pickle.loads(pipe.recv_bytes()), _never))


def _speak_to_stderr() -> None:
    """What code of the user's prints goes to standard error.

    The other output is the command's own, such as JSON.
    """
    with suppress(OSError, ValueError, AttributeError):  # there may be none
        sys.stdout.flush()
        os.dup2(2, 1)


def refuse_in_worker() -> None:
    """Ends a worker process that would begin a campaign because it imports the user's script.

    This is the script that has begun the campaign in the parent process.

    Raises:
        SystemExit: this process is such a worker; its parent reports what is wrong.
    """
    if getattr(current_process(), "_inheriting", False):
        raise SystemExit(_NO_GUARD)


def _unstarted(worker: _Worker[T, R], reason: str) -> LasthopError:
    if worker.process_code == _NO_GUARD:
        return mistake(
            "the script starts this campaign each time it is imported, as a worker process does with it",
            "write what starts it below `if __name__ == '__main__':`, and functions and classes above",
        )
    return mistake(f"a worker process {reason} before its first run", _UNSTARTED)


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
    """What is in the queue, then what the iterator has.

    Asked again after its end, both may have more.
    """

    def __init__(self, first: deque[T], then: Iterator[T]) -> None:
        self._first = first
        self._then = then

    def __next__(self) -> T:
        return self._first.popleft() if self._first else next(self._then)


def parse_shard(text: str) -> tuple[int, int]:
    """The part of a campaign that a text names: `2/8` is the second of eight.

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
