"""The arguments of a judgement, from which the command for one of its cases is made."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Call:
    """The arguments of a judgement.

    Attributes:
        control: as it was given: a name, `FILE.py:CLASS` or `PROGRAM:NAME`.
        suites: for the name of each suite the name, file or folder that was given.
        own: `FILE.py:CLASS` of a name in `--cc`; empty: the control has no such name.
        made: the name of the class, where a class itself was given in Python.
    """

    control: str
    suites: Mapping[str, str] = field(default_factory=dict)
    own: str = ""
    made: str = ""
    quick: bool = False
    vary: int = 0
    mutant: str = ""
    seeds: int = 0
    #: The profile of the stacks, where it was given.
    profile: str = ""

    def of_case(self, suite: str, case: str) -> str:
        """The command that judges a case again.

        A class that was given in Python has no name for a command, so the result is the call in
        Python.
        """
        given = self.suites.get(suite, suite)
        if self.made:
            more = ", quick=True" if self.quick else ""
            more += f", vary={self.vary}" if self.vary else ""
            more += f", seeds={self.seeds}" if self.seeds else ""
            more += f", profile={self.profile!r}" if self.profile else ""
            own = f"{{{self.control!r}: {self.made}}}"
            return f"lasthop.judge({self.control!r}, [{given!r}], cases=[{case!r}], own={own}{more})"
        words = ["lasthop", "judge", self.control]
        words += ["--cc", f"{self.control}={self.own}"] if self.own else []
        words += ["--suite", given, "--case", case]
        words += ["--quick"] if self.quick else []
        words += ["--vary", str(self.vary)] if self.vary else []
        words += ["--seeds", str(self.seeds)] if self.seeds else []
        words += ["--profile", self.profile] if self.profile else []
        words += ["--mutant", self.mutant] if self.mutant else []
        return shlex.join(words)
