"""Standard output and error of the command.

The reader of a stream may have closed it, may not read, or may not exist.
"""

from __future__ import annotations

import io
import os
import sys
import time

TYPE_CHECKING = False  # the module `typing` takes longer than all else here
if TYPE_CHECKING:
    from typing import TextIO

    from typing_extensions import Buffer

#: Longest wait for a reader to make room for the message after a signal [s].
_ROOM_WITHIN = 0.3
#: POSIX guarantees that a pipe with room takes at least so much at once.
_ATOMIC = 512


class _Descriptor(io.FileIO):
    """A descriptor for text whose reader may be absent.

    When the reader has closed its end (`| head`), the rest is discarded: the work of the command
    must not depend on it. After a signal no write waits for a reader.

    Where nothing can be written (a full disk), the first write to standard output fails, and later
    ones are discarded: Python would try what is left again when it ends, and replace the exit code.
    What standard error does not take is discarded: there is nowhere to report it.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number, "w", closefd=False)
        #: Whether anything was to be written.
        self.used = False
        #: No write waits; `dropped`: nothing is written at all.
        self.hurried = self.dropped = False

    def write(self, data: Buffer, /) -> int:
        self.used = True
        if self.dropped:
            return memoryview(data).nbytes
        if self.hurried:
            self.dropped = not write_soon(self.fileno(), bytes(data))
            return memoryview(data).nbytes
        try:
            return super().write(data)
        except BrokenPipeError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            return memoryview(data).nbytes
        except OSError as err:
            self.dropped = True
            if self.fileno() == 2:
                return memoryview(data).nbytes
            raise OSError(err.errno, err.strerror, "standard output") from None


def write_soon(number: int, data: bytes) -> bool:
    """Writes as much as the reader takes within a fraction of a second; True if this was all."""
    import select

    if sys.platform == "win32":  # there only sockets can be waited for
        return os.write(number, data) == len(data)
    until = time.monotonic() + _ROOM_WITHIN
    try:
        for start in range(0, len(data), _ATOMIC):
            _, room, _ = select.select([], [number], [], max(until - time.monotonic(), 0))
            if not room:
                return False
            os.write(number, data[start : start + _ATOMIC])
    except (OSError, ValueError):  # no reader; not a stream that can be waited for
        return False
    return True


_mine: dict[int, _Descriptor] = {}


def install() -> None:
    """Takes over the streams of this process."""
    for number in range(3):
        if not _is_open(number):
            # Otherwise the next file that is opened would be taken for standard output.
            os.open(os.devnull, os.O_RDWR)
    if sys.platform != "win32":
        sys.stdout = _text(1, sys.stdout)
        sys.stderr = _text(2, sys.stderr)


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def _text(number: int, before: TextIO | None) -> io.TextIOWrapper:
    _mine[number] = raw = _Descriptor(number)
    encoding = (before and before.encoding) or "utf-8"
    # What the terminal has no characters for is shown by number instead of ending the command.
    return io.TextIOWrapper(
        io.BufferedWriter(raw), encoding, errors="backslashreplace", line_buffering=number == 2 or raw.isatty()
    )


def cut_off() -> bool:
    """Whether a signal, or a full disk, has ended standard output before all was written."""
    return 1 in _mine and _mine[1].dropped


def hurry() -> bool:
    """A signal has come: from now on no write waits.

    Returns whether standard output is still unused.
    """
    for raw in _mine.values():
        raw.hurried = True
    out = _mine.get(1)
    if out is None:
        return True
    if out.used:
        # The rest of what is half written (a JSON object) does not make it whole.
        out.dropped = True
    return not out.used
