"""The claims' notation: `thr bic: A > U; loss htcp A: s = 3x l`, read into comparisons.

A statement is a list of parts, separated by `;`. A part is a context, a colon and a chain:

    metric   thr  loss  dly  jit  dip
    variant  bic, newreno, ...; all, loss-based, delay-based, ...
    network  A (LTE AM)  U (LTE UM)  X (802.11ac)
    size     s (1000 B)  l (3000 B)  l-s (their difference)

The members of a list are joined by commas, and the part must hold for each. A part that names no
network or no size applies to both RLC modes or to both sizes. The chain compares the cells that it
names: `>` and `<` beyond the confidence interval, `=` within the metric's percentage, `= 3x` as the
words "three times" are read, `>=` not below; or it is `in low..high`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from lasthop.studies.lte_vs_11ac.model import FACTORS, GROUPS, LTE, METRICS, NETWORKS, SIZES, VARIANTS, variants_of

Relation = Literal[">", "<", "=", ">="]
RELATIONS = (">", "<", "=", ">=")
DIMENSIONS = ("metric", "cc", "network", "size")


@dataclass(frozen=True)
class Cell:
    """A place in the grid: one metric of one variant over one network with one packet size."""

    metric: str
    cc: str
    network: str
    size: str

    @property
    def name(self) -> str:
        """`thr bic A s`."""
        return f"{self.metric} {self.cc} {self.network} {self.size}"


@dataclass(frozen=True)
class Comparison:
    """Two cells, or several that should be alike; `factor` is the "three times" of a ratio."""

    cells: tuple[Cell, ...]
    relation: Relation
    factor: float | None = None

    @property
    def text(self) -> str:
        """As short as the cells allow: what they share comes first."""
        shared = [d for d in DIMENSIONS if len({getattr(c, d) for c in self.cells}) == 1]
        first = " ".join(getattr(self.cells[0], d) for d in shared)
        own = [" ".join(getattr(c, d) for d in DIMENSIONS if d not in shared) for c in self.cells]
        if self.factor is not None:
            own[1] = f"{self.factor:g}x {own[1]}"
        return f"{first}: {f' {self.relation} '.join(own)}"


@dataclass(frozen=True)
class Band:
    """A cell that must lie in [low, high]."""

    cell: Cell
    low: float
    high: float

    @property
    def text(self) -> str:
        """`dip bic A s in 0..0.5`."""
        return f"{self.cell.name} in {self.low:g}..{self.high:g}"


Check = Comparison | Band
_Choice = dict[str, tuple[str, ...]]


@dataclass(frozen=True)
class _Term:
    choice: _Choice
    factor: float | None = None


def parse(statement: str) -> list[Check]:
    """Every comparison that the statement contains. Raises ValueError for what it cannot read."""
    return [check for part in statement.split(";") for check in _part(part.strip())]


def _part(part: str) -> Iterator[Check]:
    head, colon, chain = part.partition(":")
    if not colon:
        raise ValueError(f"{part!r} has no colon between context and chain")
    context = _choice(head.split(), part)
    if "metric" not in context:
        raise ValueError(f"{part!r} names no metric")
    words = chain.split()
    if words[:1] == ["in"]:
        yield from _bands(context, words, part)
    else:
        yield from _chain(context, words, part)


def _bands(context: _Choice, words: list[str], part: str) -> Iterator[Band]:
    low, dots, high = words[1].partition("..") if len(words) == 2 else ("", "", "")
    if not dots:
        raise ValueError(f"{part!r}: a band is written `in 0.95..1.0`")
    for cell in _cells(_filled(context, set(), part)):
        yield Band(cell, float(low), float(high))


def _chain(context: _Choice, words: list[str], part: str) -> Iterator[Comparison]:
    terms, relations = _terms(words, part)
    if len(terms) < 2:
        raise ValueError(f"{part!r} compares nothing")
    named = {dimension for term in terms for dimension in term.choice}
    shared = _filled(context, named, part)
    if set(relations) == {"="} and len(terms) > 2:
        for base in _product(shared):
            yield Comparison(tuple(cell for term in terms for cell in _cells({**base, **term.choice})), "=")
        return
    for (left, right), relation in zip(itertools.pairwise(terms), relations, strict=True):
        if left.factor is not None:
            raise ValueError(f"{part!r}: a factor belongs to the right-hand side")
        if right.factor is not None and (relation != "=" or right.factor not in FACTORS):
            raise ValueError(f"{part!r}: a factor is one of {list(FACTORS)} after `=`")
        for base in _product(shared):
            for a, b in itertools.product(_cells({**base, **left.choice}), _cells({**base, **right.choice})):
                yield Comparison((a, b), relation, right.factor)


def _terms(words: list[str], part: str) -> tuple[list[_Term], list[Relation]]:
    terms: list[_Term] = []
    relations: list[Relation] = []
    now: list[str] = []
    for word in [*words, ""]:
        relation = next((r for r in RELATIONS if r == word), None)
        if relation is None and word:
            now.append(word)
            continue
        factor = None
        if now and now[0].endswith("x") and now[0][:-1].replace(".", "").isdigit():
            factor = float(now.pop(0)[:-1])
        if not now:
            raise ValueError(f"{part!r}: a side of the comparison is missing")
        terms.append(_Term(_choice(now, part), factor))
        if relation is not None:
            relations.append(relation)  # type: ignore[arg-type]
        now = []
    return terms, relations


def _choice(words: list[str], part: str) -> _Choice:
    """What words such as `bic,hybla` or `A` choose, by dimension."""
    choice: _Choice = {}
    for word in words:
        names = word.split(",")
        dimension = next((d for d, known in _KNOWN.items() if all(n in known for n in names)), None)
        if dimension is None:
            raise ValueError(f"{part!r}: nothing is called {word!r}")
        if dimension in choice:
            raise ValueError(f"{part!r} names the {dimension} twice")
        wide = [variants_of(n) if n in ("all", *GROUPS) else [n] for n in names]
        choice[dimension] = tuple(dict.fromkeys(x for names in wide for x in names))
    return choice


def _filled(context: _Choice, named: set[str], part: str) -> _Choice:
    """The context with both RLC modes and both sizes where the statement does not say which."""
    filled = dict(context)
    for dimension, default in (("network", LTE), ("size", tuple(SIZES))):
        if dimension not in named:
            filled.setdefault(dimension, default)
    missing = [d for d in DIMENSIONS if d not in filled and d not in named]
    if missing:
        raise ValueError(f"{part!r} names no {', '.join(missing)}")
    return filled


def _product(choice: _Choice) -> Iterator[_Choice]:
    """One choice of single names after the other."""
    for names in itertools.product(*choice.values()):
        yield {d: (n,) for d, n in zip(choice, names, strict=True)}


def _cells(choice: _Choice) -> list[Cell]:
    missing = [d for d in DIMENSIONS if d not in choice]
    if missing:
        raise ValueError(f"a side of a comparison names no {', '.join(missing)}")
    return [Cell(**{d: names[0] for d, names in single.items()}) for single in _product(choice)]


def on_lte(check: Check) -> bool:
    """Whether the statement concerns LTE only."""
    cells = check.cells if isinstance(check, Comparison) else (check.cell,)
    return all(c.network in LTE for c in cells)


def sized(cell: Cell, size: str) -> Cell:
    """The same with another packet size."""
    return replace(cell, size=size)


_KNOWN: dict[str, set[str]] = {
    "metric": set(METRICS),
    "cc": {*VARIANTS, "all", *GROUPS},
    "network": set(NETWORKS),
    "size": {*SIZES, "l-s"},
}
