"""Start and end of the command: what SIGINT, SIGTERM and SIGHUP do.

While the modules are imported there is nothing to clean up, so a signal ends the process at once.
Afterwards a signal raises `Stopped` in the main thread, which removes unfinished results and ends.
A second thread checks this: where the main thread does not return to Python soon (it reads a slow
file, or writes a large table), the second thread removes unfinished result folders and ends the
process.
"""

from __future__ import annotations

import os
import signal
import sys
import time

from lasthop import _streams
from lasthop._stop import CLEAN_WITHIN, SIGNALS, Stopped, clean_within, left_now, message

TYPE_CHECKING = False  # the module `typing` takes longer than all else here
if TYPE_CHECKING:
    import threading
    from types import FrameType
    from typing import NoReturn

#: So long may the main thread take to see a signal [s].
_SEEN_WITHIN = 0.35


def main() -> None:
    """Runs the command line of this process and exits."""
    guard = _Guard()
    guard.install()
    _streams.install()
    from lasthop.cli import main as command

    guard.start()
    try:
        command(prog_name="lasthop")
    except SystemExit as end:
        if guard.stopped:
            # Everything is cleaned up; taking the interpreter and its libraries down would take as
            # long again.
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(end.code if isinstance(end.code, int) else 1)
        raise


class _Guard:
    """The handlers of this process."""

    def __init__(self) -> None:
        #: In the main thread a signal has been seen; None: the modules are still being imported.
        self._seen: threading.Event | None = None
        #: So long may it take to clean up [s].
        self._within = CLEAN_WITHIN
        self._taken = [n for n in SIGNALS if signal.getsignal(n) is not signal.SIG_IGN]

    @property
    def stopped(self) -> bool:
        """Whether a signal has come."""
        return self._seen is not None and self._seen.is_set()

    def install(self) -> None:
        """Takes over the signals that are not ignored (`nohup` ignores SIGHUP)."""
        for number in self._taken:
            signal.signal(number, self._handle)

    def start(self) -> None:
        """From now on a signal raises `Stopped`, and the watch makes sure that the process ends."""
        import threading

        self._seen = threading.Event()
        read, write = os.pipe()
        os.set_blocking(write, False)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        threading.Thread(target=self._watch, args=(read, self._seen), daemon=True).start()

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        """In the main thread, between two instructions of Python."""
        if self._seen is None or self._seen.is_set():
            _leave(number)
        self._within = clean_within()
        self._seen.set()
        _streams.hurry()
        raise Stopped(number)

    def _watch(self, read: int, seen: threading.Event) -> None:
        while True:
            number = os.read(read, 1)[0]
            if number in self._taken:
                if seen.wait(_SEEN_WITHIN):
                    time.sleep(self._within)
                _leave(number)


def _leave(number: int) -> NoReturn:
    """Ends the process without coming back to what the main thread does."""
    core = sys.modules.get("lasthop._core")
    if core is not None and hasattr(core, "discard_partials"):
        core.discard_partials()
    text = message(number, left_now())
    # The import of json may be what was interrupted.
    shown = text.replace("\\", "\\\\").replace('"', '\\"')
    printed = f'{{\n  "error": {{\n    "kind": "interrupted",\n    "message": "{shown}"\n  }}\n}}\n'
    as_json = "--json" in sys.argv and _streams.hurry()
    if not as_json or not _streams.write_soon(1, printed.encode(errors="backslashreplace")):
        _streams.write_soon(2, f"error: {text}\n".encode(errors="backslashreplace"))
    os._exit(128 + number)
