"""Python values as TOML, for overrides of scenario keys."""

from __future__ import annotations

import json
import operator
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from lasthop._errors import mistake

Value: TypeAlias = "str | bool | int | float | Sequence[Value] | Mapping[str, Value]"
"""What a scenario key takes. A quantity is a text with its unit, such as `"20 ms"` or `"10 Mbit/s"`."""

Overrides: TypeAlias = "Mapping[str, Value] | Sequence[str]"
"""Keys to set: a mapping of dotted paths, or texts of the form `key=value`."""

# Keyword arguments that need no table name.
_SHORT = {"name": "scenario.name", "seed": "scenario.seed", "duration": "scenario.duration"}


#: Python refuses to print whole numbers of more than some thousand digits; a key takes 64 bits.
_MOST_BITS = 1024
#: More levels than any reader of the text takes; a scenario has at most 48.
_DEEPEST = 100


def to_toml(value: Any) -> str:
    """A value in TOML's inline notation.

    >>> to_toml({"kind": "droptail", "packets": 50})
    '{ kind = "droptail", packets = 50 }'

    Raises:
        LasthopError: a list or table contains itself, or there are too many levels of them.
        TypeError: a value is of another kind.
    """
    return _toml(value, 0)


def _toml(value: Any, level: int) -> str:
    if level > _DEEPEST:
        raise mistake(
            f"lists and tables are nested more than {_DEEPEST} levels deep",
            "a scenario has at most 48 levels; does a list or table contain itself?",
        )
    if hasattr(value, "item") and not isinstance(value, (str, bytes)):  # a numpy scalar
        value = value.item()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        raise mistake(f"a whole number of {value.bit_length()} bits fits no key")
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_key(k)} = {_toml(v, level + 1)}" for k, v in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return f"[{', '.join(_toml(v, level + 1) for v in value)}]"
    raise TypeError(f"a scenario key takes text, numbers, booleans, lists and tables, not {type(value).__name__}")


def assignments(overrides: Overrides, keywords: Mapping[str, Value] | None = None) -> list[str]:
    """Overrides as the `key=value` texts that the core reads.

    In a keyword, `__` stands for a dot.
    """
    if isinstance(overrides, str):
        raise TypeError("give overrides as a mapping or as a list of 'key=value' texts, not as one text")
    if isinstance(overrides, Mapping):
        out = [f"{key}={to_toml(value)}" for key, value in overrides.items()]
    else:
        out = list(overrides)
    for word, value in (keywords or {}).items():
        out.append(f"{_SHORT.get(word, word.replace('__', '.'))}={to_toml(value)}")
    return [plain_text(text, "an override") for text in out]


def plain_text(text: str, what: str) -> str:
    """`text`, if it is valid.

    A Python text can contain half of a character (a surrogate), or represent octets that are not
    UTF-8.

    Raises:
        LasthopError: the text is not valid; the message shows the place.
    """
    try:
        text.encode()
    except UnicodeEncodeError as err:
        place = ascii(text[max(err.start - 30, 0) : err.end + 10])
        raise mistake(f"{what} is not valid UTF-8, at {place}", "write it in UTF-8") from None
    return text


#: The most threads of a run.
THREADS_MAX = 256


def whole_number(value: Any, what: str, least: int, most: int | None = None) -> int:
    """`value`, if it is a whole number from `least` to `most`.

    Raises:
        LasthopError: it is out of this range.
        TypeError: it is not a whole number.
    """
    number = operator.index(value)
    if number < least or (most is not None and number > most):
        shown = str(number) if number.bit_length() <= _MOST_BITS else f"a number of {number.bit_length()} bits"
        wanted = f"at least {least}" if most is None else f"from {least} to {most:,}"
        raise mistake(f"{what} is a whole number {wanted}, not {shown}")
    return number


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(f"the names in a table are text, not {type(key).__name__}: write {str(key)!r} for {key!r}")
    bare = key.isascii() and key.replace("_", "a").replace("-", "a").isalnum()
    return key if bare else _text(key)


def _text(text: str) -> str:
    """A basic string of TOML, which has JSON's escapes.

    Only DEL, which TOML has escaped, JSON leaves as it is.
    """
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
