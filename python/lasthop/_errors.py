"""Mistakes that the Python code finds, raised as the same exception as those of the core."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lasthop._core import LasthopError

if TYPE_CHECKING:
    from lasthop._core import Diagnostic


def mistake(message: str, help: str | None = None, kind: type[LasthopError] = LasthopError) -> LasthopError:
    """The exception for a mistake in an input, with a remedy if there is one."""
    error = kind(f"error: {message}" + (f"\n  help: {help}" if help else ""))
    error.diagnostics = [diagnostic(message, help)]
    return error


def in_sentences(error: LasthopError) -> str:
    """The mistakes and the remedies as sentences for a page; a terminal shows `str(error)`."""
    found = getattr(error, "diagnostics", None) or []
    texts = [text.strip() for d in found for text in (d["message"], d["help"]) if text]
    return " ".join(f"{text[:1].upper()}{text[1:].rstrip('.')}." for text in texts) or str(error)


def diagnostic(
    message: str, help: str | None, key: str | None = None, at: tuple[str, int, int] | None = None
) -> Diagnostic:
    """A mistake as the core's diagnostics have it; `at`: file, line and column, from 1 on."""
    file, line, column = at or (None, None, None)
    return {
        "severity": "error",
        "message": message,
        "file": file,
        "line": line,
        "column": column,
        "key": key,
        "help": help,
    }
