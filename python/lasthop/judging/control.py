"""The control that is judged: a congestion control or a rate control.

It is built in, or a class of the user.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lasthop import _core
from lasthop._core import CongestionControl, RateControl
from lasthop._errors import mistake
from lasthop._own import is_rate_control
from lasthop.campaign import own
from lasthop.campaign._faults import nearest
from lasthop.campaign.store import engine
from lasthop.judging._variables import (
    CONGESTION,
    RATE,
    built_in,
    known_variables,
    sender,
    sends_ect1,
    switches_of,
    variables_of,
)
from lasthop.judging.case import TCP
from lasthop.judging.program import Program, program_of

#: The class that a control of the user's derives from.
BASES: dict[str, type[CongestionControl | RateControl]] = {CONGESTION: CongestionControl, RATE: RateControl}


@dataclass(frozen=True)
class Control:
    """A control, by the name that `tcp.cc` or `app.control` has for it."""

    name: str
    #: The class of the user's; None: it is built in.
    make: Callable[..., CongestionControl | RateControl] | None = None
    #: `FILE.py:CLASS` and the folder in which the file is looked for, for other processes.
    place: own.Place | None = None
    #: A mistake on purpose of a built-in control: a word of `tcp.mutant` or `app.mutant`.
    switch: str = ""
    #: What it is: "congestion-control" or "rate-control".
    judged: str = CONGESTION
    #: The program of the user's that makes its runs; None: this process does.
    program: Program | None = None

    @property
    def l4s(self) -> bool:
        """Whether it sends ECT(1): a built-in one that says so, or a class with `l4s = True`."""
        if self.make is None:
            return self.judged == CONGESTION and sends_ect1(self.name)
        return getattr(self.make, "l4s", False) is True

    @property
    def keys(self) -> dict[str, Any]:
        """Keys of the flow's `tcp`, or for a rate control of its `app`, that judging needs."""
        found: dict[str, Any] = {"mutant": self.switch} if self.switch else {}
        if self.make is not None and self.l4s:
            found |= {"l4s": True, "ecn": "accurate"} if self.judged == CONGESTION else {"ecn": "ect1"}
        return found

    @property
    def kind(self) -> str:
        """built-in or own."""
        return "built-in" if self.make is None else "own"

    @property
    def cc(self) -> dict[str, Callable[..., CongestionControl | RateControl]]:
        """The controls that are passed to a scenario in addition to its text."""
        return {} if self.make is None else {self.name: self.make}

    @property
    def code(self) -> str:
        """Digest of the user's sources and all that they import; empty for a built-in control."""
        if self.program is not None:
            return self.program.digest
        return "" if self.make is None else own.together([own.digest(self.name, self.make, self.place)])

    @property
    def hash(self) -> str:
        """Digest of the control's sources, as hex; for a built-in control, of name and build."""
        if self.make is not None:
            return self.code[:32]
        said = f"{self.name} {_core.__version__} {engine()}" + (f" {self.switch}" if self.switch else "")
        return hashlib.blake2b(said.encode(), digest_size=16).hexdigest()

    def variables(self) -> Mapping[str, bool]:
        """The variables that it exposes: name, and whether it is a state."""
        if self.make is None:
            return {} if self.name == TCP else variables_of(self.name, self.judged)
        every = known_variables(self.judged)
        found = {name: every[name] for name in sender(self.judged)}
        declared = getattr(self.make, "observables", None)
        if isinstance(declared, Mapping):
            found |= {str(name): unit == "text" for name, unit in declared.items()}
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        """For `pickle`: a worker loads the file again, or calls the program again."""
        if self.program is not None:
            return _in_a_program, (self.program,)
        if self.place is None:
            return Control, (self.name, self.make, None, self.switch, self.judged)
        return _again, (self.name, self.place)


def _again(name: str, place: own.Place) -> Control:
    return _of_class(name, own.load(Path(place[1]), place[0]), place)


def _of_class(name: str, made: Any, place: own.Place | None = None, program: Program | None = None) -> Control:
    return Control(name, made, place, judged=RATE if is_rate_control(made) else CONGESTION, program=program)


def _in_a_program(program: Program) -> Control:
    return _of_class(program.name, program.declared(), program=program)


def control_of(
    name: str, given: Mapping[str, Any] | None = None, folder: Path | None = None, judged: str = CONGESTION
) -> Control:
    """The control of a name.

    Args:
        name: of a built-in control, a name in `given`, `FILE.py:CLASS`, or `PROGRAM:NAME`.
        given: the user's own controls by name: classes, or texts `FILE.py:CLASS`.
        folder: where files are looked for; None: the current folder.
        judged: which of the two is meant where both a congestion control and a rate control have
            the name.

    Raises:
        LasthopError: there is no such control, or the file or the class is not there.
        TypeError: a class in `given` is not a control.
    """
    folder = (folder or Path.cwd()).resolve()
    given = dict(given or {})
    if name in given:
        return _own(name, given[name], folder)
    program = program_of(name, folder)
    if program is not None:
        _refuse_taken(program.name)
        return _in_a_program(program)
    if ".py:" in name:
        file, _, found = name.rpartition(":")
        stem = Path(file).stem.replace("_", "-")
        return _own(stem if stem not in built_in() else found.lower(), name, folder)
    kinds = [kind for kind in (judged, CONGESTION, RATE) if name in built_in(kind)]
    if kinds:
        return Control(name, judged=kinds[0])
    if name.endswith(".py"):
        raise mistake(f"'{name}' names no class", f"write {name}:CLASS")
    raise mistake(
        f"there is no control '{name}'",
        nearest(
            name,
            [*built_in(), *built_in(RATE), *given],
            "`lasthop describe` lists them; a control of your own is FILE.py:CLASS, or --cc NAME=FILE.py:CLASS",
        ),
    )


def stand_in(variables: Mapping[str, bool], judged: str = CONGESTION) -> Control:
    """A control with these variables, with which a case's scenarios are checked.

    Each variable is a name, and whether it is a state.

    The control is CUBIC or NADA if it has these variables, otherwise a built-in control that has
    them, otherwise a class without behaviour.
    """
    for name in ("nada" if judged == RATE else "cubic", *built_in(judged)):
        if variables.keys() <= variables_of(name, judged).keys():
            return Control(name, judged=judged)
    units = {name: "text" if state else "" for name, state in variables.items() if name not in sender(judged)}
    return _of_class("checked", type("Checked", (BASES[judged],), {"observables": units}))


def mutated(control: Control, switch: str) -> Control:
    """A built-in control with a deliberate mistake.

    Raises:
        LasthopError: the control has no such mutant.
    """
    has = switches_of(control.name, control.judged) if control.make is None else ()
    if switch not in has:
        remedy = nearest(switch, has) if has else "write the mistake into a class of your own"
        raise mistake(f"'{control.name}' has no switch '{switch}'", remedy)
    return replace(control, switch=switch)


def _refuse_taken(name: str) -> None:
    if name in (*built_in(), *built_in(RATE), "alone"):
        what = "what comparisons call a run without the judged flow" if name == "alone" else "a built-in control"
        raise mistake(f"'{name}' is the name of {what}", "give yours another name")


def _own(name: str, given: Any, folder: Path) -> Control:
    _refuse_taken(name)
    if isinstance(given, str):
        made = own.load(folder, given)
        place: own.Place | None = (given, str(folder))
    else:
        made, place = given, None
        own.check_named(f"the control '{name}'", made)
    if not (inspect.isclass(made) and issubclass(made, tuple(BASES.values()))):
        raise mistake(
            f"'{name}' is no control",
            "derive the class from lasthop.CongestionControl, or for media flows from lasthop.RateControl",
        )
    return _of_class(name, made, place)
