"""The claims' notation in words: `thr bic: A > U` is `throughput of Bic: AM above UM`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lasthop.studies.lte_vs_11ac.model import FACTORS, GROUPS, METRICS, NETWORKS, VARIANTS
from lasthop.studies.lte_vs_11ac.statement import RELATIONS, Band

if TYPE_CHECKING:
    from lasthop.harness import Claim
    from lasthop.studies.lte_vs_11ac.statement import Check

METRIC = {key: metric.name for key, metric in METRICS.items()}
NETWORK = {"A": "AM", "U": "UM", "X": "802.11ac"}
SIZE = {"s": "small packets", "l": "large packets", "l-s": "large minus small packets"}
VARIANT = {
    **{key: name for key, (name, _, _) in VARIANTS.items()},
    **{group: f"each {group} variant" for group in GROUPS},
    "all": "each variant",
}
_SIGNS = {">": "above", "<": "below", "=": "equal to", ">=": "not below"}


def test_in_words(claim: Claim) -> str:
    """What the harness shows as the test of a claim."""
    return statement_in_words(claim.test)


def statement_in_words(statement: str) -> str:
    """Every part of a statement, separated by semicolons."""
    return "; ".join(_part(part.strip()) for part in statement.split(";"))


def check_in_words(check: Check) -> str:
    """One comparison, or one band."""
    if isinstance(check, Band):
        return _part(check.text.replace(" in ", ": in "))
    return _part(check.text)


def _part(part: str) -> str:
    context, _, chain = part.partition(":")
    words = chain.split()
    if words[:1] == ["in"]:
        low, _, high = words[1].partition("..")
        return f"{_place(context.split())}: {low} to {high}"
    return f"{_place(context.split())}: {_compared(words)}"


def _compared(words: list[str]) -> str:
    pieces: list[str] = []
    operand: list[str] = []
    for word in [*words, ""]:
        if word and word not in RELATIONS:
            operand.append(word)
            continue
        factor = ""
        if operand and re.fullmatch(r"[\d.]+x", operand[0]):
            low, high = FACTORS[float(operand.pop(0)[:-1])]
            pieces[-1] = ""
            factor = f"{low:g} to {high:g} times "
        pieces.append(factor + _operand(operand))
        operand = []
        if word:
            pieces.append(_SIGNS[word])
    return " ".join(piece for piece in pieces if piece)


def _operand(words: list[str]) -> str:
    found = [_listed(word) for word in words]
    return " ".join(found)


def _place(words: list[str]) -> str:
    """`thr bic A,U s` as `throughput of Bic over AM and UM, small packets`."""
    metric, *rest = words
    said = _listed(metric)
    for word in rest:
        first = word.split(",")[0]
        before = " of " if first in VARIANT else " over " if first in NETWORKS else ", "
        said += before + _listed(word)
    return said


def _listed(word: str) -> str:
    names = [_name(name) for name in word.split(",")]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _name(word: str) -> str:
    for known in (METRIC, VARIANT, NETWORK, SIZE):
        if word in known:
            return known[word]
    return word
