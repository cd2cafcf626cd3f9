"""The page with its data in it: one file that needs nothing else."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from lasthop._core import LasthopError
from lasthop._errors import in_sentences
from lasthop.viewer._excerpt import OF_PACKETS, Stretch, excerpt
from lasthop.viewer._explained import explained, finest
from lasthop.viewer._index import arrow, campaign_index, index, missing, table_names

if TYPE_CHECKING:
    import pyarrow as pa

    from lasthop._results import Results

#: Rows of a table that a file carries. Longer tables of samples are thinned to it.
ROWS = 30_000
#: Rows of the tables of packets together; of more, the file has the packets of some stretches of
#: the run.
PACKET_ROWS = 120_000
#: Tables whose rows are counted or belong together: left out where they are longer, because a part
#: of them misleads.
WHOLE = ("limits", "drops", "events")
#: Rows that a table of samples keeps.
LEAST_ROWS = 2000
#: Characters that finer bands of causes take in a file.
BANDS = 240_000
#: Characters that the tables of a file take: the longest tables of samples are thinned further
#: until they fit.
MOST = 2_600_000 - BANDS
#: The place in the page for what it carries.
_SLOT = "<!--data-->"


@cache
def page() -> str:
    """The built page."""
    return (files("lasthop.viewer") / "page.html").read_text(encoding="utf-8")


def with_policy(html: str, connect: str) -> str:
    """The page with a policy that lets its own script and style run.

    Requests are allowed to `connect` only.
    """
    sources, none = {}, "'none'"
    for kind, tag in (("script", "script"), ("style", "style")):
        bodies = re.findall(rf"<{tag}>(.*?)</{tag}>", html, re.DOTALL)
        digests = (base64.b64encode(hashlib.sha256(b.encode()).digest()).decode() for b in bodies)
        sources[kind] = " ".join(f"'sha256-{d}'" for d in digests)
    policy = (
        f"default-src 'none'; script-src {sources['script'] or none}; style-src-elem {sources['style']};"
        f" style-src-attr 'unsafe-inline'; img-src data:; connect-src {connect}; base-uri 'none'; form-action 'none'"
    )
    return html.replace("<title>", f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<title>', 1)


def standalone(runs: Mapping[str, Results], note: Callable[[str], None] = warnings.warn) -> str:
    """The page with these runs in it.

    A table that is missing or cannot be read is named on the page, which shows the others.

    Args:
        runs: runs by the labels that the page gives them; one or more.
        note: is called with a description of mistakes in tables.

    Raises:
        LasthopError: the manifest or the summary of a run cannot be read.
    """
    found: dict[tuple[str, str], _Carried] = {}
    damage: dict[tuple[str, str], str] = {}
    excerpts: dict[str, list[Stretch]] = {}
    for i, results in enumerate(runs.values()):
        tables, broken = _tables(results, PACKET_ROWS // len(runs), excerpts.setdefault(str(i), []))
        found |= {(str(i), name): carried for name, carried in tables.items()}
        damage |= {(str(i), name): text for name, text in broken.items()}
        for text in (*broken.values(), *missing(results)):
            note(text)
    excerpts = {run: stretches for run, stretches in excerpts.items() if stretches}
    _fit(found.values())
    explanations = [explained(results) for results in runs.values()]
    parts = [
        f'<script type="application/octet-stream" id="table-{run}-{name}">{carried.data}</script>'
        for (run, name), carried in found.items()
    ]
    parts += [
        f'<script type="application/json" id="explained-{i}">{_safe(flows)}</script>'
        for i, flows in enumerate(explanations)
    ]
    parts += [
        f'<script type="application/octet-stream" id="bands-{i}-{flow}">{data}</script>'
        for i, (results, flows) in enumerate(zip(runs.values(), explanations, strict=True))
        for flow, data in enumerate(_bands(results, flows, BANDS // len(runs)))
        if data
    ]
    kept = {key: len(carried.table) for key, carried in found.items()}
    parts.insert(0, f'<script type="application/json" id="index">{_safe(index(runs, kept, excerpts, damage))}</script>')
    return with_policy(page(), "'none'").replace(_SLOT, "\n".join(parts), 1)


def standalone_campaign(entry: Mapping[str, Any], sections: str) -> str:
    """The page with a campaign in it.

    Args:
        entry: the result of `campaign_entry`.
        sections: sections of HTML that follow its charts; they are inserted as they are.
    """
    parts = (
        f'<div id="report">{sections}</div>',
        f'<script type="application/json" id="index">{_safe(campaign_index(entry))}</script>',
    )
    return with_policy(page(), "'none'").replace(_SLOT, "\n".join(parts), 1)


def _tables(results: Results, packet_rows: int, stretches: list[Stretch]) -> tuple[dict[str, _Carried], dict[str, str]]:
    """The tables of a run as a file carries them, and what is wrong with those that cannot be read.

    The stretches of time whose packets are carried are added to `stretches`; none: all are.
    """
    found: dict[str, _Carried] = {}
    broken: dict[str, str] = {}

    def sound(name: str) -> bool:
        try:
            results.table(name)
        except LasthopError as error:
            broken[name] = in_sentences(error)
        return name not in broken

    chosen = None
    of_packets = [name for name in OF_PACKETS if name in results.table_names]
    try:
        chosen = excerpt(results, packet_rows, of_packets)
    except LasthopError:
        chosen = excerpt(results, packet_rows, [name for name in of_packets if sound(name)])
    stretches += [] if chosen is None else chosen.stretches
    for name in table_names(results):
        if name in broken:
            continue
        try:
            _, rows = results.shape(name)
            # Without their packets the other rows are of no use.
            if rows > ROWS and (name in WHOLE or (name in OF_PACKETS and "packets" in broken)):
                continue
            table = results.table(name)
        except LasthopError as error:
            broken[name] = in_sentences(error)
            continue
        if name in OF_PACKETS:
            found[name] = _Carried(table if chosen is None else chosen.of(table), thins=False)
        else:
            found[name] = _Carried(thinned(table, ROWS), thins=name not in WHOLE)
    return found, broken


def _bands(results: Results, flows: Sequence[Mapping[str, Any]], most: int) -> list[str]:
    """Finer bands of the flows that are explained, in their order."""
    found = finest(results, most)
    return [found.get(flow["flow"], "") for flow in flows]


@dataclass
class _Carried:
    """A table as the file carries it."""

    table: pa.Table
    #: Whether it may be thinned.
    thins: bool

    def __post_init__(self) -> None:
        self.data = base64.b64encode(gzip.compress(arrow(self.table), 9, mtime=0)).decode("ascii")


def _fit(found: Collection[_Carried]) -> None:
    """Thins the longest tables of samples until all fit."""
    while sum(len(c.data) for c in found) > MOST:
        able = [c for c in found if c.thins and len(c.table) > LEAST_ROWS]
        if not able:
            return
        longest = max(able, key=lambda c: len(c.data))
        longest.table = thinned(longest.table, max(len(longest.table) * 2 // 3, LEAST_ROWS))
        longest.__post_init__()


def _safe(value: object) -> str:
    """JSON that cannot end the element that carries it."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def thinned(table: pa.Table, most: int) -> pa.Table:
    """At most so many rows, spread evenly, the first and the last among them."""
    if len(table) <= most:
        return table
    return table.take(np.unique(np.linspace(0, len(table) - 1, most).astype(np.int64)))
