"""Mistakes of a campaign, collected and shown at their places in the file."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lasthop._core import CampaignFile, LasthopError

#: More mistakes of one file are not reported in one go.
MOST = 50

Key = tuple[str, ...]


class Faults:
    """The mistakes of a campaign that were found so far."""

    def __init__(self, file: CampaignFile) -> None:
        self._file = file
        self._found: list[tuple[Key, str, str | None, bool, tuple[int, int] | None]] = []

    def __len__(self) -> int:
        return len(self._found)

    def add(
        self,
        key: Key,
        message: str,
        help: str | None = None,
        *,
        at_key: bool = False,
        within: tuple[int, int] | None = None,
    ) -> None:
        """Notes a mistake at the value of a key.

        Args:
            key: the key, part by part; elements of lists by number, from 0.
            message: what is wrong.
            help: what to do.
            at_key: the key itself is meant.
            within: the positions of the first character with the mistake and of the end, in a text.
        """
        fault = (key, message, help, at_key, within)
        if len(self._found) < MOST and fault not in self._found:
            self._found.append(fault)

    def error(self) -> LasthopError:
        """All mistakes as one exception."""
        return self._file.errors(self._found)

    def end(self) -> None:
        """Raises the mistakes, if there are any."""
        if self._found:
            raise self.error()


def nearest(name: str, known: Iterable[str], otherwise: str | None = None, cutoff: float = 0.6) -> str:
    """The remedy for an unknown name: the name that was probably meant, or all names."""
    names = list(known)
    near = get_close_matches(name, names, 1, cutoff)
    if near:
        return f"did you mean '{near[0]}'?"
    return otherwise or (f"there are: {', '.join(names)}" if names else "there are none")
