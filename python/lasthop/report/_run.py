"""The report of one run."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from lasthop import _format
from lasthop.report._pieces import figure_svg, page, section, table_html

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from lasthop._results import Results
    from lasthop.plot import Figure

EVENTS_SHOWN = 200

_FLOW_COLUMNS: tuple[tuple[str, str, Callable[[Any], str]], ...] = (
    ("flow", "Flow", _format.plain),
    ("cc", "Control", _format.plain),
    ("goodput_bps", "Goodput", _format.rate),
    ("rtt_mean_s", "Mean RTT", _format.duration),
    ("rtt_max_s", "Max RTT", _format.duration),
    ("delay_mean_s", "Mean delay", _format.duration),
    ("jitter_mean_s", "Jitter", _format.duration),
    ("app_bytes", "Delivered", _format.size),
    ("lost_dropped", "Dropped", _format.count),
    ("retransmits", "Retransmitted", _format.count),
    ("fast_retransmits", "Fast retr.", _format.count),
    ("timeouts", "Timeouts", _format.count),
)


def run_report(results: Results) -> str:
    """The report of a run as one HTML document: summary, flows, figures, drops, events, the effective scenario."""
    manifest = results.manifest
    body = "".join(
        (
            section("Flows", _flows(results)),
            section("Figures", _figures(results)),
            section("Packets", _account(results.summary)),
            section("Drops", _drops(results)),
            section("Events", _events(results)),
            section("How this was made", _provenance(manifest)),
        )
    )
    return page(_name(manifest), body, _subtitle(manifest))


def _flows(results: Results) -> str:
    rows = results.flows.to_pylist()
    known = [(column, form) for column, _, form in _FLOW_COLUMNS if column in results.flows.column_names]
    headers = [title for column, title, _ in _FLOW_COLUMNS if column in results.flows.column_names]
    cells = [
        [form(row[column] or row["transport"]) if column == "cc" else form(row[column]) for column, form in known]
        for row in rows
    ]
    return table_html(headers, cells, ["", "", *["num"] * (len(headers) - 2)])


def _figures(results: Results) -> str:
    wanted: list[tuple[Callable[[], Figure], str]] = []
    plot = results.plot
    if len(results.flows):
        wanted.append(
            (plot.throughput, "Throughput: payload that arrived at each receiver (UDP: if packets were recorded).")
        )
    if "tcp" in results.table_names and len(results.tcp):
        wanted.append((plot.cwnd, "Congestion window of each sender."))
        wanted.append((plot.rtt, "Round-trip time as the sender sees it."))
    if any(name in results.table_names and len(results.table(name)) for name in ("queues", "rlc")):
        wanted.append(
            (
                plot.queue,
                "What waits in the queues of links and in the RLC buffers of bearers, where it is not next to nothing.",
            )
        )
    drawn = [html for draw, caption in wanted if (html := _figure(draw, caption))]
    if not drawn:
        return '<p class="mute">Nothing was sampled that could be drawn.</p>'
    return f'<div class="figures">\n{"".join(drawn)}</div>'


def _figure(draw: Callable[[], Figure], caption: str) -> str:
    from lasthop import LasthopError

    try:
        return figure_svg(draw(), caption)
    except LasthopError:  # nothing of this kind was sampled
        return ""


def _drops(results: Results) -> str:
    if "drops" not in results.table_names or not len(results.drops):
        return "<p>No packet was dropped.</p>"
    drops = results.drops
    columns = (drops[c].to_pylist() for c in ("where", "cause", "flow", "size"))
    packets: Counter[tuple[str, str, str]] = Counter()
    octets: Counter[tuple[str, str, str]] = Counter()
    for where, cause, flow, size in zip(*columns, strict=True):
        packets[where, cause, flow] += 1
        octets[where, cause, flow] += size
    rows = [(*key, _format.count(n), _format.size(octets[key])) for key, n in packets.most_common()]
    return table_html(("Where", "Cause", "Flow", "Packets", "Bytes"), rows, ["", "", "", "num", "num"])


def _events(results: Results) -> str:
    if "events" not in results.table_names or not len(results.events):
        return "<p>Nothing out of the ordinary happened.</p>"
    events = results.events
    counts = Counter(zip(events["source"].to_pylist(), events["kind"].to_pylist(), strict=True))
    tally = table_html(
        ("Source", "Event", "Times"),
        [(source, kind, _format.count(n)) for (source, kind), n in counts.most_common()],
        ["", "", "num"],
    )
    shown = events.slice(0, EVENTS_SHOWN).to_pylist()
    rows = [
        (f"{e['time_s']:.6f}", e["source"], e["kind"], "" if e["value"] is None else f"{e['value']:g}", e["detail"])
        for e in shown
    ]
    listing = table_html(("Time (s)", "Source", "Event", "Value", "Detail"), rows, ["num", "", "", "num", ""])
    label = "All events" if len(events) <= EVENTS_SHOWN else f"The first {EVENTS_SHOWN} of {len(events):,} events"
    return Markup("{}<details><summary>{}</summary>\n{}</details>").format(Markup(tally), label, Markup(listing))


def _account(summary: dict[str, Any]) -> str:
    """Where every packet went; what did not happen is left out."""
    account: dict[str, dict[str, int]] = summary.get("packets", {})
    rows = [
        (_ACCOUNT.get(name, name), _format.count(n["packets"]), _format.size(n["bytes"]))
        for name, n in account.items()
        if n["packets"] or name in ("sent", "delivered", "dropped")
    ]
    return table_html(("", "Packets", "Bytes"), rows, ["", "num", "num"])


_ACCOUNT = {
    "sent": "Sent",
    "delivered": "Delivered",
    "dropped": "Dropped",
    "inside": "Still under way at the end",
    "made": "Fragments made on the way",
    "replaced": "Packets that fragments replaced",
}


def _provenance(manifest: dict[str, Any]) -> str:
    facts = (
        ("Lasthop", manifest.get("lasthop")),
        ("Scenario", manifest.get("name")),
        ("Seed", manifest.get("seed")),
        ("Hash of the scenario", manifest.get("scenario_hash")),
    )
    rows = (Markup("<dt>{}</dt><dd>{}</dd>\n").format(k, v) for k, v in facts if v is not None)
    text = manifest.get("scenario", "")
    effective = Markup("<details><summary>The effective scenario</summary>\n<pre>{}</pre></details>").format(text)
    promise = "<p>The same scenario and seed give the same results, byte for byte.</p>"
    return Markup('{}<dl class="facts">\n{}</dl>\n{}').format(Markup(promise), Markup("").join(rows), effective)


def _name(manifest: dict[str, Any]) -> str:
    return str(manifest.get("name", "A run"))


def _subtitle(manifest: dict[str, Any]) -> str:
    """What the scenario says that it shows, and its seed."""
    try:
        general = tomllib.loads(manifest.get("scenario", "")).get("scenario", {})
    except tomllib.TOMLDecodeError:
        general = {}
    return ". ".join(t for t in (general.get("description"), f"One run with seed {manifest.get('seed')}.") if t)
