"""What a metric may name: tables and columns of runs, functions, known texts.

Tables and columns are from the core's own registry.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from lasthop._registry import run_tables
from lasthop.campaign.metrics._units import Unit


@dataclass(frozen=True)
class ColumnFacts:
    """A column as the registry has it."""

    name: str
    type: str
    unit: Unit
    description: str

    @property
    def is_text(self) -> bool:
        """Its values are texts."""
        return self.type == "string"

    @property
    def is_bool(self) -> bool:
        """Its values are true and false."""
        return self.type == "bool"


@dataclass(frozen=True)
class TableFacts:
    """A table as the registry has it."""

    name: str
    columns: dict[str, ColumnFacts]
    series: tuple[str, ...]
    #: What a row is about: "moment", "interval" or "whole" (all of the run).
    rows: str

    @property
    def key(self) -> str:
        """The column that `table("NAME")` compares with: the first one of texts."""
        return next(c.name for c in self.columns.values() if c.is_text)

    @property
    def has_time(self) -> bool:
        """Its rows have a time."""
        return "time_s" in self.columns

    @property
    def identity(self) -> tuple[str, ...] | None:
        """For a table of samples: the columns whose texts distinguish its series; else None."""
        return self.series or None

    @property
    def over_intervals(self) -> bool:
        """A row is about the interval that ends at its time, not about this moment."""
        return self.has_time and self.rows == "interval"

    @property
    def row_per_flow(self) -> bool:
        """A flow has one row at most: rows are about neither a moment nor an interval."""
        return self.rows == "whole" and self.key == "flow"


@cache
def tables() -> dict[str, TableFacts]:
    """The tables of runs with their columns, as `lasthop describe tables` shows them."""
    return {
        name: TableFacts(
            name,
            {
                c["name"]: ColumnFacts(c["name"], c["type"], Unit.parse(c["unit"] or ""), c["description"])
                for c in table["columns"]
            },
            tuple(table["series"]),
            table["rows"],
        )
        for name, table in run_tables().items()
    }


#: `flow("ftp")` reads better than `flows("ftp")` and is the same.
ALIASES = {"flow": "flows"}


def words() -> tuple[str, ...]:
    """The words that stand for tables."""
    return (*ALIASES, *tables())


def table_of(word: str) -> TableFacts:
    """The table that a word stands for."""
    return tables()[ALIASES.get(word, word)]


#: Functions by name, with what they take; the guide has the same table.
FUNCTIONS: dict[str, str] = {
    "min": "values",
    "max": "values",
    "sum": "values",
    "mean": "values",
    "median": "values",
    "std": "values",
    "jain": "values",
    "percentile": "values",
    "time_mean": "values",
    "increase": "values",
    "rate": "values",
    "count": "anything",
    "share": "condition",
    "time_share": "condition",
    "first": "rows",
    "last": "rows",
}
#: Functions that only a table of samples of state has.
OF_SAMPLES = frozenset({"time_mean", "time_share", "increase", "rate"})
_PERCENTILE = re.compile(r"p(\d{1,3})\Z")


def percentile_of(name: str) -> int | None:
    """95 for `p95`; None for another name."""
    found = _PERCENTILE.match(name)
    return int(found[1]) if found and int(found[1]) <= 100 else None


def is_function(name: str) -> bool:
    """Whether a function has this name."""
    return name in FUNCTIONS or percentile_of(name) is not None


#: Kinds of events and causes of drops, for which the registry has no list.
# fmt: off
EVENT_KINDS = [
    "when", "flow-start", "flow-stop", "flow-pause", "flow-resume", "established", "peer-closed", "rto", "spurious-rto",
    "fast-retransmit", "recovery-enter", "recovery-exit", "ecn-reduction", "zero-window-probe", "skipped", "closed",
    "aborted", "timed-out", "reset", "change", "cell-down", "cell-up", "start", "stop", "handover-begins",
    "handover-done", "outage-begins", "outage-over", "rlc-discard", "rlc-reset-started", "rlc-reset-done",
    "rlc-reset-by-peer", "rlc-unrecoverable", "rlc-max-retransmissions", "rlc-reestablished", "rrc-connected",
    "rrc-connection-failed", "rrc-released", "rrc-reestablished", "rrc-reestablishment-rejected", "mode-switch",
    "random-access-problem", "radio-problem", "radio-recovered", "radio-link-failure", "handover-preparation",
    "handover-refused", "handover-prepared", "handover-start", "handover-complete", "handover-ping-pong",
    "handover-failure", "handover-too-late", "handover-data", "associated", "association-failed",
    "block-ack-agreement",
]
DROP_CAUSES = [
    "queue-full", "aqm", "policer", "loss", "corruption", "fault", "fragmentation-needed", "reassembly-timeout",
    "duplicate-fragment", "no-route", "rlc-buffer-full", "rlc-discard-timer", "rlc-max-dat", "rlc-reset",
    "radio-link-failure", "radio-loss", "rlc-too-large", "rlc-aqm", "rlc-empty", "rlc-reestablishment",
    "pdcp-context-loss", "pdcp-hfn-desync", "bearer-released", "mode-switch", "pdcp-buffer-full",
    "handover-discard", "handover-not-forwarded", "backhaul-full", "lifetime", "retry-limit", "late",
    "flood",
]
# fmt: on
_LISTED: dict[tuple[str, str], list[str]] = {("events", "kind"): EVENT_KINDS, ("drops", "cause"): DROP_CAUSES}
#: Columns whose description quotes every text that they take.
_QUOTED = frozenset(
    {
        ("flows", "transport"),
        ("tcp", "trigger"),
        ("tcp", "ca_state"),
        ("packets", "event"),
        ("steps", "step"),
        ("steps", "link"),
        ("quality", "app"),
        ("applications", "app"),
        ("radio", "direction"),
        ("wifi", "direction"),
    }
)


def texts_of(table: str, column: str) -> list[str] | None:
    """Every text that a column takes, where this is known.

    None: it takes names of the scenario, say.
    """
    if (table, column) in _QUOTED:
        return re.findall(r'"([^"]+)"', tables()[table].columns[column].description)
    return _LISTED.get((table, column))


#: What others call it.
_MEANT = {
    "avg": "mean",
    "average": "mean",
    "stdev": "std",
    "stddev": "std",
    "sd": "std",
    "quantile": "percentile",
    "fairness": "jain",
    "total": "sum",
    "len": "count",
    "fraction": "share",
    "delta": "increase",
    "srtt_us": "rtt_us",
    "cwnd": "snd_cwnd",
    "ssthresh": "snd_ssthresh",
    "timeout": "rto",
}


def suggestion(word: str, known: Iterable[str]) -> str:
    """`did you mean 'x'? `, or nothing."""
    known = sorted(known)
    meant = _MEANT.get(word)
    near = [meant] if meant in known else difflib.get_close_matches(word, known, 1)
    return f"did you mean '{near[0]}'? " if near else ""
