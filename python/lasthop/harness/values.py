"""The values that reducers return, as octets for the store.

After reading, each value has the same type and the same bits.
"""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np


class NotPlainError(TypeError):
    """A value that cannot be written down and read back the same."""


def packed(values: Mapping[str, Any]) -> bytes:
    """Values as octets: the same values give the same octets.

    Raises:
        NotPlainError: one of them is something else than numbers, text, lists, tuples, dicts and
            NumPy's arrays.
    """
    text = json.dumps(_encoded(dict(values)), separators=(",", ":"))
    return gzip.compress(text.encode(), compresslevel=1, mtime=0)


def unpacked(content: bytes) -> dict[str, Any]:
    """The values of `packed`.

    Raises:
        ValueError: the octets are something else.
    """
    try:
        found = _decoded(json.loads(gzip.decompress(content)))
    except (OSError, EOFError, ValueError, KeyError, TypeError, zlib.error) as error:
        raise ValueError(f"no reduced values: {error}") from error
    if not isinstance(found, dict):
        raise ValueError(f"no reduced values but {type(found).__name__}")
    return found


def _encoded(value: Any) -> Any:
    """Plain data as JSON that `_decoded` makes the same of.

    Every object of it has one member, its kind.
    """
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
        if array.dtype.hasobject or array.dtype.fields is not None:
            raise NotPlainError(f"an array of {array.dtype}")
        kind = "scalar" if isinstance(value, np.generic) else "array"
        return {kind: [array.dtype.str, list(array.shape), base64.b64encode(array.tobytes()).decode()]}
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) is list:
        return [_encoded(v) for v in value]
    if type(value) is tuple:
        return {"tuple": [_encoded(v) for v in value]}
    if type(value) is dict:
        return {"dict": [[_encoded(k), _encoded(v)] for k, v in value.items()]}
    raise NotPlainError(f"a value of type {type(value).__name__}")


def _decoded(value: Any) -> Any:
    if isinstance(value, list):
        return [_decoded(v) for v in value]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "tuple":
        return tuple(_decoded(v) for v in content)
    if kind == "dict":
        return _pairs(content)
    dtype, shape, data = content
    array = np.frombuffer(base64.b64decode(data), dtype=np.dtype(dtype)).reshape(shape).copy()
    return array[()] if kind == "scalar" else array


def _pairs(content: Iterable[Any]) -> dict[Any, Any]:
    return {_decoded(k): _decoded(v) for k, v in content}
