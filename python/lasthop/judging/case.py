"""A case: what is run, what must be recorded, and what must hold."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any

from lasthop.judging._functions import Names
from lasthop.judging._paths import CasePath
from lasthop.judging._places import Key, Places
from lasthop.judging._syntax import Tree
from lasthop.judging._variables import CONGESTION, RATE, built_in, declared, known_variables

#: In the place of a rate control: each flow of the judged one is a bulk flow of TCP.
TCP = "tcp"
#: The controls that a candidate must not be worse than, all of them: the standards-track algorithms
#: of RFC 9743, and for a rate control as many flows of TCP.
BASELINES = {CONGESTION: ("reno", "cubic"), RATE: (TCP,)}
#: The flow whose control is judged, in every scenario.
FLOW = "judged"


@dataclass(frozen=True)
class Check:
    """An expression that must hold."""

    #: `pass.2`: the second of `pass`.
    name: str
    text: str
    tree: Tree


@dataclass(frozen=True)
class Reading:
    """One reading of a point in which the source contradicts itself, with its expression."""

    text: str
    readings: tuple[Check, ...]


@dataclass(frozen=True)
class CaseMetric:
    """A number of a run that is compared between controls."""

    name: str
    text: str
    tree: Tree | None
    unit: str
    #: "larger" or "smaller": which is better; empty: neither.
    better: str
    #: Whether a candidate that is worse than the baselines is flagged.
    flags: bool = True
    #: The metric of the others whose harm this is; then it has no expression of its own.
    harm: str = ""
    #: Patterns of the paths that have it; empty: all.
    paths: tuple[str, ...] = ()
    #: A document's bound: largest and smallest value (expressions of the path's values), and who
    #: states it.
    most: Tree | None = None
    least: Tree | None = None
    by: str = ""

    @property
    def contested(self) -> bool:
        """Whether a candidate can be flagged for being worse."""
        return self.flags and bool(self.better)

    @property
    def bounded(self) -> bool:
        """Whether a document states a bound of it."""
        return self.most is not None or self.least is not None

    def on(self, path: str) -> bool:
        """Whether the metric exists on a path."""
        return not self.paths or any(fnmatchcase(path, pattern) for pattern in self.paths)


@dataclass(frozen=True)
class Mutant:
    """A control with a deliberate mistake, which the case must find."""

    name: str
    #: The built-in control whose switch it is, or the class of the user's.
    cc: str
    #: Its mistake, a word of `tcp.mutant`; empty: the class has it.
    switch: str
    #: The checks that must fail, each on some path.
    fails: tuple[str, ...]


@dataclass(frozen=True)
class Case:
    """A case, checked."""

    id: str
    title: str
    source: str
    about: str
    #: What the case cannot be run without: ids of what the simulator lacks.
    lacks: tuple[str, ...]
    #: Scenario keys without which this version cannot run the case, as the reference writes them.
    needs: tuple[str, ...]
    observables: tuple[str, ...]
    requires: tuple[Check, ...]
    passes: tuple[Check, ...]
    ambiguous: tuple[Reading, ...]
    shown: Mapping[str, Tree]
    chosen: tuple[str, ...]
    notes: tuple[str, ...]
    known: Mapping[str, str]
    let: Mapping[str, Tree]
    paths: tuple[CasePath, ...]
    base: str
    scenario: Mapping[str, Any]
    mutants: tuple[Mutant, ...]
    seeds: int
    quick_seeds: int
    plot: tuple[str, ...]
    #: Variables of the table `cc` that its expressions use.
    used: tuple[str, ...]
    #: What is compared between controls; with metrics the case is a comparative one.
    metrics: tuple[CaseMetric, ...]
    references: tuple[str, ...]
    #: Only for controls that send ECT(1).
    l4s: bool
    #: What it judges: "congestion-control" or "rate-control".
    judges: str
    #: The file and its text; the key of the case in it.
    file: str
    text: str
    key: Key
    folder: Path
    #: The units of shown values and of the left sides of checks, by their names, where known.
    units: Mapping[str, str]
    #: Controls, by name, that the case does not judge, and why.
    excluded: Mapping[str, str] = field(default_factory=dict)
    #: Checks, by name, that no mutant makes fail, and why.
    without_mutant: Mapping[str, str] = field(default_factory=dict)

    @cached_property  # each run of the case has it in its key
    def digest(self) -> str:
        """Digest of the content of the case."""
        data: Any = Places(self.text, self.file).data
        for part in self.key:
            data = data[part]
        return hashlib.blake2b(json.dumps(data, sort_keys=True, default=str).encode(), digest_size=16).hexdigest()

    @property
    def own(self) -> str:
        """The built-in control that the case names for the judged flow; empty: it names none."""
        flow = self.scenario.get("flow", {}).get(FLOW, {})
        tcp = flow.get("tcp", {}) if isinstance(flow, Mapping) else {}
        named = tcp.get("cc") if isinstance(tcp, Mapping) else None
        return named if isinstance(named, str) and named in built_in(self.judges) else ""

    def with_own(self, control: str) -> Case:
        """The case with another control in the place of the one that it names."""
        flow = self.scenario["flow"]
        judged = {**flow[FLOW], "tcp": {**flow[FLOW]["tcp"], "cc": control}}
        return replace(self, scenario={**self.scenario, "flow": {**flow, FLOW: judged}})

    def reason(self, control: str) -> str | None:
        """Why a control is known to fail: the one that the case names, else the judged one."""
        return self.known.get(self.own or control)

    @property
    def baselines(self) -> tuple[str, ...]:
        """The controls that a candidate is compared with."""
        return BASELINES[self.judges]

    @property
    def harms(self) -> bool:
        """Whether it is also run without the judged flow, for a comparison of the other flows."""
        return any(metric.harm for metric in self.metrics)

    def replications(self, path: CasePath, quick: bool, wanted: int = 0) -> int:
        """How often a path is run; `wanted` replaces the number of the case.

        A path that is run once has no noise, so each run would give the same result.
        """
        seeds = path.seeds or self.seeds
        if wanted and seeds > 1:
            return wanted
        return min(self.quick_seeds, seeds) if quick else seeds

    @property
    def rounds(self) -> str:
        """The variable that counts round trips."""
        found = [name for name in self.observables if name.endswith("round_count")]
        return found[0] if found else "round"

    def names(self, variables: Mapping[str, bool]) -> Names:
        """What its expressions may use."""
        parameters = frozenset(p for path in self.paths for p in path.parameters)
        return Names(variables, self.let, parameters)

    @property
    def variables(self) -> dict[str, bool]:
        """The variables that a control must expose: name, and whether it is a state."""
        built_in = known_variables(self.judges)
        return {
            **declared(self.observables, self.judges),
            **{name: built_in[name] for name in self.used if name in built_in},
        }

    def seed(self, replication: int) -> int:
        """The seed of a replication (from 0); it depends on the case and the replication only."""
        digest = hashlib.blake2b(f"{self.id}/{replication}".encode(), digest_size=4).digest()
        return int.from_bytes(digest, "big") % 1_000_000_000
