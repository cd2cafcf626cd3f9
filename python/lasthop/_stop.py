"""The signals that stop a run, as one exception."""

from __future__ import annotations

import signal

#: Ctrl-C; what batch systems and `kill` send; a terminal that closes.
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_NOTHING = "no result was written"


class Stopped(KeyboardInterrupt):
    """A signal has asked the process to end.

    Derived from KeyboardInterrupt: whatever cleans up after Ctrl-C cleans up after every signal.
    """

    def __init__(self, number: int = signal.SIGINT, left: str = _NOTHING) -> None:
        super().__init__()
        self.number = number
        #: What the command has left, in words.
        self.left = left


def number_of(error: BaseException) -> int:
    """The signal behind an exception; Ctrl-C where it does not say."""
    return next((e.number for e in _behind(error) if isinstance(e, Stopped)), int(signal.SIGINT))


def left_by(error: BaseException) -> str:
    """What the command that was stopped has left, in words."""
    return next((e.left for e in _behind(error) if isinstance(e, Stopped)), _NOTHING)


def message(number: int, left: str = _NOTHING) -> str:
    """What the user reads: which signal, and what is left."""
    name = "Ctrl-C" if number == signal.SIGINT else signal.Signals(number).name
    return f"stopped by {name}; {left}"


def _behind(error: BaseException) -> tuple[BaseException | None, ...]:
    # click turns KeyboardInterrupt into an exception of its own.
    return (error, error.__cause__, error.__context__)
