"""Mistakes found on the Python side, in the one exception that the core raises too."""

from __future__ import annotations

from lasthop._core import LasthopError


def mistake(message: str, help: str | None = None, kind: type[LasthopError] = LasthopError) -> LasthopError:
    """The exception for a mistake in an input, with a remedy if there is one."""
    error = kind(f"error: {message}" + (f"\n  help: {help}" if help else ""))
    error.diagnostics = [
        {
            "severity": "error",
            "message": message,
            "file": None,
            "line": None,
            "column": None,
            "key": None,
            "help": help,
        }
    ]
    return error
