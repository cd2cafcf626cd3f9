"""What can be wrong with a study."""

from __future__ import annotations


class StudyError(ValueError):
    """A mistake in a study's files or in how it was called; `str()` is the message for the user."""


class NoRunsError(LookupError):
    """An evaluator asked for runs that this form of the study does not make."""
