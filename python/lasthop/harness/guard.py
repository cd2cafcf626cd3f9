"""The study's own code: an error in `study.py` is reported as an error of the study.

The report has the line in `study.py`, not one in the harness.
"""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable, Iterator
from types import GeneratorType
from typing import TYPE_CHECKING, Any

from lasthop._core import LasthopError
from lasthop.harness.errors import NoRunsError, StudyCodeError, StudyError

if TYPE_CHECKING:
    from pathlib import Path


def guarded(function: Callable[..., Any], folder: Path) -> Callable[..., Any]:
    """The function, with its exceptions distinguished from the harness's own.

    A generator is run to its end.
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            result = function(*args, **kwargs)
            return list(result) if isinstance(result, GeneratorType) else result
        except (StudyError, NoRunsError, LasthopError):
            raise
        except Exception as error:
            raise blamed(error, folder) from error

    return call


def blamed(error: Exception, folder: Path) -> StudyCodeError:
    """`error` with the lines of the study's own files that led to it."""
    return StudyCodeError("\n".join([f"the study's own code failed: {_said(error)}", *_places(error, folder)]))


def _said(error: Exception) -> str:
    text = "".join(traceback.format_exception_only(error)).strip().splitlines()[-1]
    return text if str(error) else type(error).__name__


def _places(error: Exception, folder: Path) -> Iterator[str]:
    here = str(folder.resolve())
    if isinstance(error, SyntaxError) and error.filename:
        yield f"  --> {error.filename}:{error.lineno}"
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename.startswith((here, str(folder))):
            yield f"  --> {frame.filename}:{frame.lineno}, in {frame.name}"
            if frame.line:
                yield f"      {frame.line}"
