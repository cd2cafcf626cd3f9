"""Boots the kernel and waits for the program in it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from lasthop import LasthopError
from lasthop._errors import mistake
from lasthop.linux._edits import SEED
from lasthop.linux._scratch import scratch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

#: Memory of the guest. tcp_mem follows it; the settings that scenarios use are set apart.
MEMORY = "512M"
#: What the guest's clock shows when it boots: 2001-09-09 01:46:40 UTC [ns]. The host's would
#: differ.
EPOCH_NS = 1_000_000_000 * 10**9
#: Lines of the console in a message.
LAST_LINES = 12
#: Time that the guest gets to end by itself after it was asked to [s]; on a busy machine its
#: results take some. A second Ctrl-C ends it at once.
GRACE = 30.0
#: What gives a guest enough time.
LONGER = "raise --limit, or shorten scenario.duration, or lower the rates"
#: Time between two checks of what the caller requests [s].
LOOK = 0.05
#: PR_SET_PDEATHSIG of prctl(2).
_PARENT_DEATH_SIGNAL = 1


class LimitError(LasthopError):
    """The guest was ended because its limit of wall time had passed."""


def check_host() -> None:
    """Refuses hosts on which the kernel cannot run.

    Raises:
        LasthopError: this is not Linux on x86-64.
    """
    machine = platform.machine()
    if not sys.platform.startswith("linux") or machine not in ("x86_64", "AMD64"):
        found = f"{platform.system()} on {machine}"
        raise mistake(
            f"User-mode Linux needs Linux on x86-64, and this is {found}",
            "run it on such a machine; `lasthop run` simulates Linux' TCP everywhere",
        )


def boot(
    kernel: Path,
    program: Sequence[str],
    seed: int = 0,
    limit: float = 60.0,
    memory: str = MEMORY,
    watch: Callable[[], None] = lambda: None,
    stop: Callable[[], None] = lambda: None,
) -> str:
    """Runs `program` as the first process of the kernel until the guest halts.

    Args:
        kernel: a User-mode Linux kernel.
        program: a command of the host, whose files the guest has.
        seed: seeds the guest's random numbers.
        limit: wall time after which the guest is ended [s].
        memory: memory of the guest, in the notation of the kernel.
        watch: called while the guest runs.
        stop: called at Ctrl-C and at the limit, before the guest gets some time to end by itself.

    Returns:
        The text of the console.

    Raises:
        LimitError: it has run for longer than `limit`.
        LasthopError: the kernel cannot be started, or has failed.
    """
    check_host()
    with scratch() as folder:
        first = folder / "init"
        first.write_text(f"#!/bin/sh\nexec {shlex.join(program)}\n")
        first.chmod(0o755)
        console = folder / "console"
        with console.open("wb") as out:
            code = _run(_command(kernel, memory), folder, seed, out.fileno(), limit, watch, stop, console)
        text = _text(console)
        if code != 0 or "Kernel panic" in text:
            why = f"ended with {_how(code)}" if code else "panicked"
            raise mistake(f"the kernel {kernel} {why}\n{_last(text)}", _remedy(text))
        return text


def _command(kernel: Path, memory: str) -> list[str]:
    return [
        str(kernel),
        f"mem={memory}",
        "root=/dev/root",
        "rootfstype=hostfs",
        "rw",
        "time-travel=inf-cpu",
        f"time-travel-start={EPOCH_NS}",
        # The kernel mixes this line into its random numbers: no name of a folder may be in it. The
        # guest's root has the host's /proc, and this process is in the folder.
        "init=/proc/self/cwd/init",
        "con=null",
        "con0=fd:0,fd:1",
        "panic=-1",
        "quiet",
    ]


def _run(
    command: list[str],
    folder: Path,
    seed: int,
    out: int,
    limit: float,
    watch: Callable[[], None],
    stop: Callable[[], None],
    console: Path,
) -> int:
    # The guest's memory is a file in TMPDIR, or in /dev/shm. Nothing else of the caller's
    # environment may reach it.
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), SEED: str(seed)}
    environment |= {key: os.environ[key] for key in ("TMPDIR",) if key in os.environ}
    # Loaded here: between fork and exec only a call is made.
    prctl, caller = ctypes.CDLL(None).prctl, os.getpid()

    def end_with_the_caller() -> None:
        # A process that ends without unwinding (SIGKILL, SIGTERM without a handler) would leave the
        # guest running. SIGTERM makes the guest's kernel end all of its processes. prctl(2) sends
        # it when the thread that has forked ends, and that thread waits for the guest.
        prctl(_PARENT_DEATH_SIGNAL, signal.SIGTERM)
        if os.getppid() != caller:
            os._exit(1)

    try:
        guest = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=environment,
            start_new_session=True,
            preexec_fn=end_with_the_caller,  # noqa: PLW1509 - it takes no lock
        )
    except OSError as error:
        raise mistake(f"cannot start the kernel {command[0]}: {error.strerror}", "`lasthop linux build`") from None
    until = time.monotonic() + limit
    try:
        while True:
            watch()
            try:
                return guest.wait(LOOK)
            except subprocess.TimeoutExpired:
                if time.monotonic() < until:
                    continue
            raise mistake(
                f"the guest has not ended after {limit:g} s of wall time\n{_last(_text(console))}",
                LONGER,
                LimitError,
            )
    except (KeyboardInterrupt, LimitError):
        stop()
        with contextlib.suppress(subprocess.TimeoutExpired):
            guest.wait(GRACE)
        raise
    finally:
        _end(guest)


def _end(guest: subprocess.Popen[bytes]) -> None:
    """Ends every process of the guest.

    Each of its address spaces is one, in the guest's session.
    """
    session = guest.pid
    for number in (signal.SIGTERM, signal.SIGKILL):
        if guest.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(guest.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                guest.wait(1.0)
    for process in _session(session):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def _session(session: int) -> list[int]:
    """The processes of a session."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                # The name of the program, in brackets, may hold anything.
                rest = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
                if rest[3] == str(session) and rest[0] != "Z":
                    found.append(int(entry.name))
    return found


def _text(console: Path) -> str:
    return console.read_bytes().decode(errors="replace").replace("\r", "")


def _last(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return "\n".join(f"  | {line}" for line in lines[-LAST_LINES:]) or "  | (its console is empty)"


def _how(code: int) -> str:
    if code < 0:
        with contextlib.suppress(ValueError):
            return signal.Signals(-code).name
    return f"code {code}"


def _remedy(text: str) -> str:
    if "ptrace set fp regs failed" in text:
        return "it was built on another processor: `lasthop linux build --force` here"
    if "Failed to allocate" in text or "No space left" in text or "Bus error" in text:
        return "the guest's memory is a file under TMPDIR: free some space there, or set TMPDIR to another folder"
    return "`lasthop linux build --force` builds it anew"
