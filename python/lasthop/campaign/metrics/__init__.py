"""Metrics of campaigns: expressions over the tables of a run.

An example is `p95(tcp("ftp").rtt_us) in ms`.

The language is Lasthop's own (docs/guides/metrics.md has its grammar). Expressions have no access
to Python: each name must be a table, a column, a function or a unit, otherwise the metric is
refused.

    metric = Metric.parse("goodput", 'flow("ftp").goodput_bps in Mbit/s')
    metric.unit, metric.tables  # "Mbit/s", {"flows"}
    metric.evaluate(run)
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from lasthop._core import LasthopError
from lasthop._errors import diagnostic
from lasthop._results import Results
from lasthop.campaign.metrics._catalogue import table_of
from lasthop.campaign.metrics._compile import compile_metric
from lasthop.campaign.metrics._parser import parse as _parse
from lasthop.campaign.metrics._syntax import Fault, Node, Rows, Span, walk
from lasthop.campaign.metrics._tables import Absent, Tables
from lasthop.campaign.metrics._terms import Compute

__all__ = ["Metric", "MetricError", "Outcome", "evaluate_all"]

#: A metric is a column of the results: its name is one in SQL and in the stopping rule without
#: quotes.
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
#: So much of a long text is shown on either side of the mistake.
_SHOWN = 60


class MetricError(LasthopError):
    """A mistake in the text of a metric.

    `str()` shows the text with the place marked, and the remedy.
    """

    #: Name of the metric.
    metric: str = ""
    #: Where the mistake begins: 1 is the first character of the text; 0: it is not in the text.
    column: int = 0
    #: What is wrong, without place and remedy.
    what: str = ""
    #: What to do, with the nearest known word if there is one.
    help: str = ""


@dataclass(frozen=True)
class Outcome:
    """The value of a metric in one run, or the reason why there is none."""

    value: float | None
    reason: str | None = None


@dataclass(frozen=True)
class Metric:
    """A named expression over the tables of a run, checked, with its unit.

    Two metrics are equal if their names and expression trees are equal; spaces and redundant
    parentheses do not count. Pickles as name and text.
    """

    name: str
    text: str = field(compare=False)
    tree: Node
    unit: str = field(compare=False)
    """The unit of its values, as in the metadata of columns; `1` for counts, shares and other plain numbers."""
    tables: frozenset[str] = field(compare=False)
    """The tables that it reads; some are recorded on request only (`output.packets = true`)."""
    _number: Compute = field(compare=False, repr=False)

    @classmethod
    def parse(cls, name: str, text: str) -> Metric:
        """Reads a metric and checks all that can be checked without a run.

        Args:
            name: its name in results: a letter or `_`, then letters, digits and `_`.
            text: the expression.

        Raises:
            MetricError: the place, what is wrong there or was expected, and the remedy.
        """
        if not isinstance(name, str) or not _NAME.match(name):
            raise _error(str(name), "", Fault("this is no name of a metric", (0, 0), _NAME_HELP))
        if not isinstance(text, str):
            what = f"the metric is a text, not {type(text).__name__}"  # type: ignore[unreachable]
            raise _error(name, "", Fault(what, (0, 0), f"as in {name} = 'flow(\"ftp\").goodput_bps'"))
        try:
            tree = _parse(text)
            number, unit, tables = compile_metric(tree)
        except Fault as fault:
            raise _error(name, text, fault) from None
        return cls(name, text, tree, str(unit), tables, number)

    def flows(self) -> list[tuple[str, Span]]:
        """The flows that it names without `*`.

        Each has the positions of the first character of its name and of the end.
        """
        rows = [node for node in walk(self.tree) if isinstance(node, Rows) and node.key is not None]
        named = [(n.key.value, n.key.span) for n in rows if n.key is not None and table_of(n.word).key == "flow"]
        return [(name, span) for name, span in named if "*" not in name]

    def evaluate(self, run: Results) -> float | None:
        """Its value in a run [`unit`]; None where the run has none, `outcome` says why.

        Raises:
            LasthopError: a table of the run cannot be read.
        """
        return self.outcome(run).value

    def outcome(self, run: Results) -> Outcome:
        """Its value in a run [`unit`], or the reason why there is none.

        The reason is a table, a row or a value that the run does not have.

        Raises:
            LasthopError: a table of the run cannot be read.
        """
        return self._outcome(Tables(run))

    def _outcome(self, tables: Tables) -> Outcome:
        try:
            with np.errstate(all="ignore"):
                value = float(self._number(tables))
        except Absent as absent:
            return Outcome(None, _visible(str(absent)))
        if not math.isfinite(value):
            return Outcome(None, "the result is too large for a number")
        # -0.0 would be another byte in the results.
        return Outcome(value + 0.0)

    def __str__(self) -> str:
        return str(self.tree)

    def __reduce__(self) -> tuple[object, ...]:
        """For `pickle`: worker processes read the text again."""
        return Metric.parse, (self.name, self.text)


def evaluate_all(metrics: Iterable[Metric], run: Results) -> dict[str, Outcome]:
    """The outcomes of several metrics by name; each table of the run is read once.

    Raises:
        LasthopError: a table of the run cannot be read.
    """
    tables = Tables(run)
    return {metric.name: metric._outcome(tables) for metric in metrics}


_NAME_HELP = "a letter or '_', then letters, digits and '_', as it becomes a column of the results"


def _error(name: str, text: str, fault: Fault) -> MetricError:
    start, end = fault.span
    column = start + 1 if text or end > start else 0
    place = f", column {column}" if column else ""
    what, remedy = _visible(fault.what), _visible(fault.help)
    message = f"metric '{_visible(name)}'{place}: {what}"
    lines = [f"error: {message}"]
    if text.strip():
        left = max(0, start - _SHOWN)
        shown, before = _visible(text[left : max(end, start) + _SHOWN]), start - left
        cut = "..." if left else ""
        lines += [f"  {cut}{shown}", f"  {' ' * (len(cut) + before)}{'^' * max(1, min(end, start + _SHOWN) - start)}"]
    lines.append(f"  help: {remedy}")
    error = MetricError("\n".join(lines))
    error.metric, error.column, error.what, error.help = name, column, what, remedy
    error.diagnostics = [diagnostic(message, remedy, f"metrics.{_visible(name)}")]
    return error


def _visible(text: str) -> str:
    """The text with a space for each line break and what a terminal might act on: places stay."""
    return "".join(c if c.isprintable() else " " for c in text)
