"""Errors of studies."""

from __future__ import annotations


class StudyError(ValueError):
    """A mistake in a study's files or in how it was called; `str()` is the message for the user."""


class StudyCodeError(StudyError):
    """`study.py` raised an exception.

    `str()` says what and where; `__cause__` is the exception itself.
    """


class NoRunsError(LookupError):
    """An evaluator needs runs that this form of the study does not make."""


class NoKernelError(NoRunsError):
    """An evaluator needs runs with a real kernel's TCP, and there is none here."""
