"""`lasthop explain`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lasthop import Results, _format
from lasthop._stop import leaving, making
from lasthop.cli import _output
from lasthop.cli._export import as_time

if TYPE_CHECKING:
    from lasthop.explain import Budget, Explanation, Tried

#: So many losses are listed.
LOSSES = 20
#: Names of the numbers of `--try`.
NUMBERS = {
    "goodput_bps": ("goodput", _format.rate),
    "delay_mean_s": ("mean delay", _format.duration),
    "delay_p95_s": ("95 % delay", _format.duration),
    "rtt_mean_s": ("mean RTT", _format.duration),
    "lost_dropped": ("packets dropped", _format.count),
    "timeouts": ("timeouts", _format.count),
    "completion_s": ("complete at", _format.duration),
}


def optional_time(ctx: click.Context, option: click.Parameter, value: str | None) -> float | None:
    """A time in seconds, or none."""
    return None if value is None else as_time(ctx, option, value)


@click.command()
@click.argument("folder", metavar="RUN", type=click.Path(path_type=Path))
@click.option("--flow", metavar="NAME", help="The flow. [the only one]")
@click.option("--from", "start_s", callback=optional_time, metavar="TIME", help="Only from this moment on: 12.3s.")
@click.option("--to", "end_s", callback=optional_time, metavar="TIME", help="Only until this moment.")
@click.option(
    "--figure",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Draw the budget over time: .svg, .pdf or .png. [RUN/explain-FLOW.svg]",
)
@click.option("--try", "tries", is_flag=True, help="Run the scenario again with each change that is advised.")
@_output.json_option
def explain(
    folder: Path,
    flow: str | None,
    start_s: float | None,
    end_s: float | None,
    figure: Path | None,
    tries: bool,
    as_json: bool,
) -> None:
    """Say why a flow is slow: a budget of its time, its losses, and what to change.

    RUN is the folder of a finished run. Of a TCP flow every nanosecond between the opening of the connection and the
    end of the transfer belongs to one cause; of a UDP flow the one-way delays of all packets are divided. With
    `output.explain = true` in the scenario the budget is exact, otherwise it is estimated from samples.

    \b
    Examples:
      lasthop run umts-download --set output.explain=true --out results/umts
      lasthop explain results/umts
      lasthop explain results/umts --from 10s --to 20s --json
      lasthop explain results/umts --try
    """
    from lasthop.explain import explain as explained
    from lasthop.explain import timeline_figure, try_advice

    results = Results.load(folder)
    found = explained(results, flow, start_s, end_s)
    target = None
    if found.budget.timeline is not None:
        target = figure or folder / f"explain-{found.budget.flow.replace('/', '-')}.svg"
        with leaving(making("the figure is", target)):
            _output.files({target: timeline_figure(found.budget).content(target.suffix.lstrip(".") or "svg")})
    elif figure is not None:
        timeline_figure(found.budget)  # raises: says why there is none
    tried = try_advice(results, found.budget.flow, found.advice) if tries else []
    if as_json:
        _output.json_object(_json(found, tried, target))
        return
    _print(found, tried)
    if target is not None:
        _output.line()
        _output.line(f"Drawn: {target.resolve()}")


def _json(found: Explanation, tried: list[Tried], figure: Path | None) -> dict[str, object]:
    changes = [
        {"set": t.advice.changes, "numbers": {n: {"before": a, "after": b} for n, a, b in t.numbers}} for t in tried
    ]
    return {**found.to_json(), "figure": str(figure.resolve()) if figure else None, "tried": changes}


def _print(found: Explanation, tried: list[Tried]) -> None:
    budget = found.budget
    for sentence in found.sentences:
        _output.paragraph(sentence)
    for note in budget.notes:
        _output.paragraph(note, "note: ", further="      ")
    _output.line()
    _print_parts(budget)
    if budget.losses:
        _output.line()
        _print_losses(budget)
    for advice in found.advice:
        _output.line()
        _output.paragraph(advice.text, "advice: ", further="        ")
        for change in advice.changes:
            _output.line(f"  --set '{change}'")
        for one in tried:
            if one.advice == advice:
                _print_tried(one)


def _print_parts(budget: Budget) -> None:
    of = f"{budget.start_ns / 1e9:g} s to {budget.end_ns / 1e9:g} s"
    what = f"flow {budget.flow}, {of}"
    if budget.packets is not None:
        what += f": one-way delays of {budget.packets:,} packets"
    _output.line(what + ("" if budget.exact else " (estimated)"), style="bold")
    mean = max(budget.packets or 1, 1)
    rows = [
        (p.cause.label, p.cause.place, f"{100 * budget.share(p):.1f}", f"{p.ns / mean / 1e9:.9f}") for p in budget.parts
    ]
    rows.append(("sum", "", "100.0" if budget.parts else "0.0", f"{budget.whole_ns / mean / 1e9:.9f}"))
    unit = "s" if budget.packets is None else "s a packet"
    _output.table(("cause", "where", "%", unit), rows, right=(2, 3))


def _print_losses(budget: Budget) -> None:
    rows = [
        (
            f"{x.at_ns / 1e9:.9f}",
            str(x.packet),
            x.place,
            x.cause,
            x.stage or "",
            (x.pdu or "") + (", sent again" if x.retransmission else ""),
        )
        for x in budget.losses[:LOSSES]
    ]
    _output.table(("lost at (s)", "packet", "where", "cause", "stage", "what"), rows, right=(0, 1))
    if len(budget.losses) > LOSSES:
        _output.line(f"... and {len(budget.losses) - LOSSES:,} more (--json lists all)")


def _print_tried(tried: Tried) -> None:
    told = []
    for name, before, after in tried.numbers:
        label, form = NUMBERS[name]
        if before is not None or after is not None:
            told.append((label, form(before), form(after)))
    _output.table(("  tried", "before", "after"), [(f"  {a}", b, c) for a, b, c in told], right=(1, 2))
