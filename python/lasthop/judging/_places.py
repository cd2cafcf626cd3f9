"""TOML with the place of every value, so that a mistake in a case is shown at its place."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lasthop._core import LasthopError
from lasthop._errors import diagnostic, mistake
from lasthop._values import plain_text

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Key = tuple["str | int", ...]
"""A key, part by part; elements of lists by number, from 0."""

#: A file of cases has no more octets than this: a mistaken name may be that of a capture.
_MOST_OCTETS = 4_000_000


@dataclass(frozen=True)
class _Span:
    """Characters of the text: key, value, and where a text begins whose characters stay.

    These stand in the file as they are.
    """

    key: tuple[int, int]
    value: tuple[int, int]
    inner: int | None


class Places:
    """A TOML text that was read, with the places of its values.

    Args:
        text: the TOML.
        name: what messages call it.

    Raises:
        LasthopError: the text is not TOML.
    """

    def __init__(self, text: str, name: str) -> None:
        self.text = plain_text(text, name)
        self.name = name
        try:
            self.data: dict[str, Any] = tomllib.loads(self.text)
        except tomllib.TOMLDecodeError as error:
            raise self._broken(error) from error
        except RecursionError:
            raise mistake(f"{name}: values are nested too deeply", "a case needs three levels at most") from None
        self._spans = dict(_Scan(self.text).spans())

    @classmethod
    def load(cls, path: Path) -> Places:
        """Reads a file.

        Raises:
            LasthopError: the file cannot be read, is too large, or is not TOML in UTF-8.
        """
        try:
            if (size := path.stat().st_size) > _MOST_OCTETS:
                raise mistake(
                    f"'{path}' has {size:,} octets, a file of cases {_MOST_OCTETS:,} at most",
                    "name a TOML file with [case] tables; many cases are several files in a folder",
                )
            octets = path.read_bytes()
            text = octets.decode("utf-8-sig")  # editors of Windows write a mark first
        except OSError as error:
            raise mistake(f"cannot read '{path}': {error.strerror}", "check the name and the rights") from error
        except UnicodeDecodeError as error:
            line = octets.count(b"\n", 0, error.start) + 1
            raise mistake(f"line {line} of '{path}' is no UTF-8", "save the file as UTF-8, or name another") from error
        return cls(text, str(path))

    def error(
        self,
        key: Key,
        message: str,
        help: str | None = None,
        within: tuple[int, int] | None = None,
        at_key: bool = False,
    ) -> LasthopError:
        """The exception for a mistake.

        Args:
            key: the key whose value is wrong; of a key that is not there, the nearest table above
                it is shown.
            message: what is wrong.
            help: what to do.
            within: the first and the end of the characters that are meant, of a text.
            at_key: the key itself is meant.
        """
        span, exact = self._span(key)
        if span is None:
            return self._rendered(message, help, 0, 0, ".".join(map(str, key)))
        first, last = span.key if at_key or not exact else span.value
        if within is not None and exact and span.inner is not None:
            first, last = span.inner + within[0], span.inner + max(within[1], within[0] + 1)
        return self._rendered(message, help, first, last, ".".join(map(str, key)))

    def has(self, key: Key) -> bool:
        """Whether the text has a value of this key."""
        return self._span(key)[1]

    def below(self, key: Key) -> Key | None:
        """The first key of the text below this one; None: there is none."""
        return next((found for found in self._spans if found[: len(key)] == key), None)

    def _span(self, key: Key) -> tuple[_Span | None, bool]:
        for end in range(len(key), 0, -1):
            if (found := self._spans.get(key[:end])) is not None:
                return found, end == len(key)
        return None, False

    def _broken(self, error: Exception) -> LasthopError:
        found = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
        what = re.sub(r" \(at .*\)$", "", str(error))
        at = len(self.text)
        if found is not None:
            lines = self.text.split("\n")
            at = sum(len(line) + 1 for line in lines[: int(found[1]) - 1]) + int(found[2]) - 1
        remedy = "a case is a TOML file (https://toml.io); texts stand in quotes"
        if what == "Cannot overwrite a value" or what.startswith("Cannot declare"):
            remedy = "a key or table stands twice: remove one, or write several cases as [[case]]"
        if self.text[at : at + 1].isalpha() and not self.text[at].isascii():
            remedy = "a key with other letters than a to z stands in quotes, too"
        return self._rendered(f"this is no TOML: {what}", remedy, at, at + 1, None)

    def _rendered(self, message: str, help: str | None, first: int, last: int, key: str | None) -> LasthopError:
        first = min(first, max(len(self.text) - 1, 0))
        line = self.text.count("\n", 0, first) + 1
        begin = self.text.rfind("\n", 0, first) + 1
        end = self.text.find("\n", first)
        shown = self.text[begin : len(self.text) if end < 0 else end].rstrip("\r")
        column = first - begin + 1
        marked = max(1, min(last - first, len(shown) - column + 1))
        shown, offset = _window(shown, column - 1)
        marks = "^" * min(marked, _WIDEST - min(offset, _WIDEST - 1))
        margin = " " * len(str(line))
        rows = [
            f"error: {message}",
            f"{margin}--> {self.name}:{line}:{column}",
            f"{margin} |",
            f"{line} | {shown}",
            f"{margin} | {' ' * offset}{marks}",
        ]
        if help:
            rows += [f"{margin} |", f"{margin} = help: {help}"]
        error = LasthopError("\n".join(rows))
        error.diagnostics = [diagnostic(message, help, key, (self.name, line, column))]
        return error


#: So many characters of a line are shown at most.
_WIDEST = 240


def _window(line: str, first: int) -> tuple[str, int]:
    """The part of a long line around the characters that are meant, and where these begin in it."""
    if len(line) <= _WIDEST:
        return line, first
    begin = max(0, min(first - _WIDEST // 4, len(line) - _WIDEST))
    head, tail = "..." if begin else "", "..." if begin + _WIDEST < len(line) else ""
    return head + line[begin + len(head) : begin + _WIDEST - len(tail)] + tail, first - begin


def together(errors: Sequence[LasthopError]) -> LasthopError:
    """Several mistakes as one exception."""
    if len(errors) == 1:
        return errors[0]
    found = LasthopError("\n\n".join(map(str, errors)))
    found.diagnostics = [d for e in errors for d in getattr(e, "diagnostics", [])]
    return found


_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SPACE = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")


class _Scan:
    """Finds the places of values in a text that is known to be TOML."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._lists: dict[Key, int] = {}

    def spans(self) -> Iterator[tuple[Key, _Span]]:
        """Every key of the text with its place."""
        table: Key = ()
        while self._skip() < len(self._text):
            if self._text.startswith("[", self._at):
                first = self._at
                double = self._text.startswith("[[", first)
                self._at += 2 if double else 1
                parts = self._key()
                table = self._resolved(parts[:-1])
                if double:
                    entries: Key = (*table, parts[-1])
                    number = self._lists[entries] = self._lists.get(entries, -1) + 1
                    table = (*table, parts[-1], number)
                else:
                    table = self._resolved(parts)
                self._skip()
                self._at += 2 if double else 1
                yield table, _Span((first, self._at), (first, self._at), None)
            else:
                yield from self._pair(table)

    def _resolved(self, parts: Key) -> Key:
        """The key of a header, with numbers of elements of lists.

        The last element of each list of tables on the way.
        """
        found: Key = ()
        for part in parts:
            found = (*found, part)
            if found in self._lists:
                found = (*found, self._lists[found])
        return found

    def _pair(self, table: Key) -> Iterator[tuple[Key, _Span]]:
        first = self._at
        parts = self._key()
        last = self._at
        self._skip()
        self._at += 1  # =
        self._skip()
        yield from self._value((*table, *parts), (first, last))

    def _value(self, key: Key, named: tuple[int, int] | None) -> Iterator[tuple[Key, _Span]]:
        first = self._at
        inner: int | None = None
        inside: list[tuple[Key, _Span]] = []
        opening = self._text[first]
        if opening in "\"'":
            inner = self._string()
        elif opening == "[":
            self._at += 1
            number = 0
            while self._text[self._skip()] != "]":
                if self._text[self._at] == ",":
                    self._at += 1
                    continue
                inside += self._value((*key, number), None)
                number += 1
            self._at += 1
        elif opening == "{":
            self._at += 1
            while self._text[self._skip()] != "}":
                if self._text[self._at] == ",":
                    self._at += 1
                    continue
                inside += self._pair(key)
            self._at += 1
        else:
            while self._at < len(self._text) and self._text[self._at] not in ",]}\n#":
                self._at += 1
        end = self._at
        while end > first + 1 and self._text[end - 1] in " \t\r":
            end -= 1
        yield key, _Span(named or (first, end), (first, end), inner)
        yield from inside

    def _string(self) -> int | None:
        """Passes a text; returns its first character where the characters stand as they are."""
        quote = self._text[self._at]
        marks = quote * 3 if self._text.startswith(quote * 3, self._at) else quote
        first = self._at + len(marks)
        end = first
        escaped = False
        while not self._text.startswith(marks, end):
            if quote == '"' and self._text[end] == "\\":
                escaped = True
                end += 1
            end += 1
        while len(marks) == 3 and self._text.startswith(quote, end + 3):  # quotes at the end belong to the text
            end += 1
        self._at = end + len(marks)
        if len(marks) == 3 and self._text.startswith("\n", first):
            first += 1
        return None if escaped else first

    def _key(self) -> Key:
        parts: list[str | int] = []
        while True:
            self._skip()
            if self._text[self._at] in "\"'":
                first = self._at
                self._string()
                (part,) = tomllib.loads(f"{self._text[first : self._at]} = 0")
                parts.append(part)
            else:
                found = _BARE.match(self._text, self._at)
                assert found is not None  # the text is TOML
                parts.append(found[0])
                self._at = found.end()
            self._skip()
            if not self._text.startswith(".", self._at):
                return tuple(parts)
            self._at += 1

    def _skip(self) -> int:
        found = _SPACE.match(self._text, self._at)
        self._at = found.end() if found is not None else self._at
        return self._at


def tables_of(data: Mapping[str, Any]) -> list[tuple[Key, Mapping[str, Any]]]:
    """The cases of a file, with their keys: `[case]`, or each of several `[[case]]`."""
    found = data.get("case")
    if isinstance(found, Mapping):
        return [(("case",), found)]
    if isinstance(found, list):
        return [(("case", number), case) for number, case in enumerate(found) if isinstance(case, Mapping)]
    return []
