"""Congestion controls of one's own: what there is to say about a class before a run makes objects of it."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from lasthop._core import CongestionControl

Controls: TypeAlias = "Mapping[str, Callable[..., CongestionControl]]"
"""Congestion controls of one's own by the name that `tcp.cc` uses: classes, or functions that make objects."""


@dataclass(frozen=True)
class Definition:
    """A congestion control as the core registers it."""

    name: str
    make: Callable[..., CongestionControl]
    summary: str
    version: str
    parameters: list[tuple[str, float]]
    any_parameter: bool


def definitions(controls: Controls) -> list[Definition]:
    """What the core needs to know of each."""
    return [_definition(name, make) for name, make in controls.items()]


def _definition(name: str, make: Any) -> Definition:
    if not callable(make):
        raise TypeError(f"the congestion control '{name}' must be a class, not the object {make!r}")
    if inspect.isclass(make) and not issubclass(make, CongestionControl):
        raise TypeError(f"the congestion control '{name}' must derive from lasthop.CongestionControl")
    if make is CongestionControl:
        raise TypeError("lasthop.CongestionControl has no `on_ack`: derive a class from it")
    parameters, any_parameter = _parameters(make)
    doc = inspect.getdoc(make) or ""
    return Definition(name, make, doc.partition("\n")[0], _version(make), parameters, any_parameter)


def _parameters(make: Any) -> tuple[list[tuple[str, float]], bool]:
    """Keyword parameters with a number for a default, and whether there may be others."""
    own_init = not inspect.isclass(make) or make.__init__ is not CongestionControl.__init__
    if not own_init:
        return [], False
    try:
        signature = inspect.signature(make.__init__ if inspect.isclass(make) else make)
    except (TypeError, ValueError):
        return [], True
    found: list[tuple[str, float]] = []
    for p in signature.parameters.values():
        if p.kind is p.VAR_KEYWORD:
            return found, True
        number = isinstance(p.default, (int, float)) and not isinstance(p.default, bool)
        if number and p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD):
            found.append((p.name, float(p.default)))
    return found, False


def _version(make: Any) -> str:
    """The class's own `version`, or a hash of its source, which goes into the scenario's hash."""
    own = getattr(make, "version", None)
    if isinstance(own, str):
        return own
    try:
        source = inspect.getsource(make)
    except (OSError, TypeError):  # typed into a prompt, or a callable object
        return f"{getattr(make, '__module__', '')}.{getattr(make, '__qualname__', repr(type(make)))}"
    return hashlib.blake2b(source.encode(), digest_size=16).hexdigest()
