"""Policies of the user: what is read from a class before a run makes objects of the class.

Congestion controls, rate controls of media and schedulers are such policies.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from lasthop._core import CongestionControl, RateControl, Scheduler

Controls: TypeAlias = "Mapping[str, Callable[..., CongestionControl | RateControl]]"
"""Controls of one's own by the name that `tcp.cc` or, of media flows, `app.control` uses.

Classes, or functions that make congestion controls; a rate control is a class.
"""
Schedulers: TypeAlias = "Mapping[str, Callable[..., Scheduler]]"
"""Schedulers of one's own by the name that `cell.NAME.downlink.scheduler` and `.uplink.scheduler` use."""


@dataclass(frozen=True)
class Kind:
    """A kind of policy: its base class, its name in messages, and the method it must have."""

    base: type[CongestionControl | RateControl | Scheduler]
    what: str
    must: str


CONTROL = Kind(CongestionControl, "congestion control", "on_ack")
RATE_CONTROL = Kind(RateControl, "rate control", "on_feedback")
SCHEDULER = Kind(Scheduler, "scheduler", "weigh")


@dataclass(frozen=True)
class Definition:
    """A policy as the core registers it."""

    name: str
    #: A rate control of media, where congestion controls are given too.
    media: bool
    make: Callable[..., object]
    summary: str
    version: str
    parameters: list[tuple[str, float]]
    any_parameter: bool


def is_rate_control(make: object) -> bool:
    """Whether the class is a rate control of media."""
    return inspect.isclass(make) and issubclass(make, RateControl)


def definitions(kind: Kind, policies: Controls | Schedulers) -> list[Definition]:
    """What the core needs of each.

    Among congestion controls there may be rate controls of media.
    """
    return [
        _definition(RATE_CONTROL if kind is CONTROL and is_rate_control(make) else kind, name, make)
        for name, make in policies.items()
    ]


def _definition(kind: Kind, name: str, make: Any) -> Definition:
    base = f"lasthop.{kind.base.__name__}"
    if not callable(make):
        raise TypeError(f"the {kind.what} '{name}' must be a class, not the object {make!r}")
    if inspect.isclass(make) and not issubclass(make, kind.base):
        other = ", or a rate control of media from lasthop.RateControl" if kind is CONTROL else ""
        raise TypeError(f"the {kind.what} '{name}' must derive from {base}{other}")
    if make is kind.base:
        raise TypeError(f"{base} has no `{kind.must}`: derive a class from it")
    parameters, any_parameter = _parameters(kind, make)
    doc = inspect.getdoc(make) or ""
    return Definition(
        name, kind is RATE_CONTROL, make, doc.partition("\n")[0], _version(make), parameters, any_parameter
    )


def _parameters(kind: Kind, make: Any) -> tuple[list[tuple[str, float]], bool]:
    """Keyword parameters with a number for a default, and whether there may be others."""
    own_init = not inspect.isclass(make) or make.__init__ is not kind.base.__init__
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
