"""The page with its data in it: one file that needs nothing else."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from lasthop.viewer._excerpt import OF_PACKETS, Stretch, excerpt
from lasthop.viewer._explained import explained, finest
from lasthop.viewer._index import arrow, campaign_index, index, table_names

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


def standalone(runs: Mapping[str, Results]) -> str:
    """The page with these runs in it.

    Args:
        runs: runs by the labels that the page gives them; one or more.

    Raises:
        LasthopError: a table cannot be read.
    """
    found: dict[tuple[str, str], _Carried] = {}
    excerpts: dict[str, list[Stretch]] = {}
    for i, results in enumerate(runs.values()):
        chosen = excerpt(results, PACKET_ROWS // len(runs))
        if chosen is not None:
            excerpts[str(i)] = chosen.stretches
        for name in table_names(results):
            _, rows = results.shape(name)
            if rows > ROWS and name in WHOLE:
                continue
            table = results.table(name)
            if name in OF_PACKETS:
                found[str(i), name] = _Carried(table if chosen is None else chosen.of(table), thins=False)
            else:
                found[str(i), name] = _Carried(thinned(table, ROWS), thins=name not in WHOLE)
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
    parts.insert(0, f'<script type="application/json" id="index">{_safe(index(runs, kept, excerpts))}</script>')
    return with_policy(page(), "'none'").replace(_SLOT, "\n".join(parts), 1)


def standalone_campaign(entry: Mapping[str, Any], sections: str) -> str:
    """The page with a campaign in it.

    Args:
        entry: what `campaign_entry` says of it.
        sections: sections of HTML that follow its charts; they are inserted as they are.
    """
    parts = (
        f'<div id="report">{sections}</div>',
        f'<script type="application/json" id="index">{_safe(campaign_index(entry))}</script>',
    )
    return with_policy(page(), "'none'").replace(_SLOT, "\n".join(parts), 1)


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
