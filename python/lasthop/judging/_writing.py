"""Writes case expressions: tree to text, the reverse of `_syntax`."""

from __future__ import annotations

from lasthop.judging._syntax import (
    UNITS,
    Binary,
    Call,
    Compare,
    Name,
    Number,
    Parameter,
    Text,
    Tree,
    Unary,
    Within,
)

#: How much operators bind; comparisons: 2.
_BINDS = {"or": 0, "and": 1, "+": 3, "-": 3, "*": 4, "/": 4, "^": 5}


def written(tree: Tree) -> str:
    """An expression as it is written in a case."""
    if isinstance(tree, Number):
        value = tree.value / UNITS[tree.unit] if tree.unit else tree.value
        return f"{value:.10g} {tree.unit}".rstrip()
    if isinstance(tree, (Name, Parameter)):
        return tree.name if isinstance(tree, Name) else f"{{{tree.name}}}"
    if isinstance(tree, Text):
        return f"'{tree.value}'"
    if isinstance(tree, Call):
        return f"{tree.function}({', '.join(map(written, tree.arguments))})"
    if isinstance(tree, Unary):
        return f"{tree.operator}{' ' * tree.operator.isalpha()}{_inner(tree.of)}"
    if isinstance(tree, Compare):
        words = [written(tree.terms[0])]
        for sign, term in zip(tree.operators, tree.terms[1:], strict=True):
            words += [sign, written(term)]
        return " ".join(words)
    if isinstance(tree, Within):
        return f"{written(tree.of)}{' not' * tree.negated} in [{written(tree.low)}, {written(tree.high)}]"
    binds = _BINDS[tree.operator]
    return f"{_inner(tree.left, binds)} {tree.operator} {_inner(tree.right, binds + 1)}"


def _inner(tree: Tree, binds: int = 6) -> str:
    """A part of an expression, in parentheses where it binds less than what is around it."""
    own = _BINDS[tree.operator] if isinstance(tree, Binary) else 2 if isinstance(tree, (Compare, Within)) else 6
    return written(tree) if own >= binds else f"({written(tree)})"
