"""`lasthop explain`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lasthop import LasthopError, Results, _format
from lasthop._stop import leaving, making
from lasthop.cli import _output
from lasthop.cli._export import as_time

if TYPE_CHECKING:
    from lasthop.explain import Budget, Explanation, Loss, Tried

#: So many lines of losses are printed.
LOSSES = 20
#: Losses of one cause at one place that are no further apart than this are one line [ns].
BURST_NS = 100_000_000
#: So many flows are explained when none is named: those that sent most.
FLOWS = 50
#: So many causes of a flow stand in the line of a flow.
CAUSES = 3
#: Parts of an estimate below this share of the whole are one row.
SMALLEST = 0.002
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


class _WithCauses(click.Command):
    """A command whose help ends with the causes that it names."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Writes the causes, in the groups in which the rule takes them."""
        from lasthop.explain._model import BUSY, HELD, LIMITS, TRANSIT

        for title, causes in (
            ("Causes: what the sender waits for", LIMITS),
            ("Causes: octets wait where the way is in use or blocked", BUSY),
            ("Causes: octets are held back while others pass", HELD),
            ("Stages that an idle way has too", TRANSIT),
        ):
            with formatter.section(title):
                formatter.write_dl(list(causes.items()))


@click.command(cls=_WithCauses)
@click.argument("folder", metavar="RUN", type=click.Path(path_type=Path))
@click.option("--flow", metavar="NAME", help="The flow in full. [a line for each flow; in full if there is one]")
@click.option("--from", "start_s", callback=optional_time, metavar="TIME", help="Only from this moment on: 12.3s.")
@click.option("--to", "end_s", callback=optional_time, metavar="TIME", help="Only until this moment.")
@click.option(
    "--figure",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Draw the budget over time: .svg, .pdf or .png. [RUN/explain-FLOW.svg]",
)
@click.option("--losses", "each_loss", is_flag=True, help="List each lost packet, not bursts.")
@click.option("--try", "tries", is_flag=True, help="Run the scenario again with each change that is advised.")
@_output.json_option
def explain(
    folder: Path,
    flow: str | None,
    start_s: float | None,
    end_s: float | None,
    figure: Path | None,
    each_loss: bool,
    tries: bool,
    as_json: bool,
) -> None:
    """Say why a flow is slow, and what to change.

    The answer has a budget of the flow's time, its losses, and advice.

    RUN is the folder of a finished run. Of a TCP flow every nanosecond between the opening of the
    connection and the end of the transfer belongs to one cause; of a UDP flow the one-way delays of
    all packets are divided. With `output.explain = true` in the scenario the budget is exact,
    otherwise it is estimated from samples.

    \b
    Examples:
      lasthop run umts-download --set output.explain=true --out results/umts
      lasthop explain results/umts
      lasthop explain results/umts --from 10s --to 20s --json
      lasthop explain results/umts --try
    """
    from lasthop.explain import explain as explained
    from lasthop.explain import flow_names, timeline_figure, try_advice

    results = Results.load(folder)
    if flow is None and len(names := flow_names(results)) > 1:
        for given, option in ((figure, "--figure"), (tries, "--try"), (each_loss, "--losses")):
            if given:
                raise click.UsageError(f"{option} is of one flow, and the run has {len(names)}: add `--flow NAME`")
        _all(results, folder, names, (start_s, end_s), as_json)
        return
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
    _print(found, tried, each_loss)
    if target is not None:
        _output.line()
        _output.line(f"Drawn: {target.resolve()}")


def _json(found: Explanation, tried: list[Tried], figure: Path | None) -> dict[str, object]:
    changes = [
        {"set": t.advice.changes, "numbers": {n: {"before": a, "after": b} for n, a, b in t.numbers}} for t in tried
    ]
    return {**found.to_json(), "figure": str(figure.resolve()) if figure else None, "tried": changes}


def _all(
    results: Results, folder: Path, names: list[str], interval: tuple[float | None, float | None], as_json: bool
) -> None:
    """A line for each flow, then what is advised for them."""
    from lasthop.explain import explain as explained

    found: list[Explanation] = []
    errors: dict[str, LasthopError] = {}
    for name in names[:FLOWS]:
        with _kept(errors, name):
            found.append(explained(results, name, *interval))
    if not found:
        raise next(iter(errors.values()))
    rest = names[FLOWS:]
    if as_json:
        reasons = {name: _reason(why) for name, why in errors.items()}
        _output.json_object({"flows": [f.to_json() for f in found], "errors": reasons, "left_out": rest})
        return
    for note in _notes([f.budget for f in found]):
        _output.paragraph(note, "note: ", further="      ")
        _output.line()
    rows = [(f.budget.flow, *_outline(f.budget)) for f in found]
    _output.table(("flow", "of", "goes into", "lost"), rows, right=(1, 3))
    for why in errors.values():
        _output.paragraph(_reason(why), "no budget: ", further="           ")
    if rest:
        _output.line(f"The {FLOWS} flows that sent most; {len(rest):,} others: --flow NAME")
    # Flows that one change may help have it once, in the words of the first.
    advised: dict[tuple[str, ...], tuple[str, list[str]]] = {}
    for f in found:
        for advice in f.advice:
            key = tuple(advice.changes) or (advice.text,)
            advised.setdefault(key, (advice.text, []))[1].append(f.budget.flow)
    for changes, (text, flows) in advised.items():
        _output.line()
        _output.paragraph(text, f"advice ({', '.join(flows)}): ", further="        ")
        for change in changes:
            if change != text:
                _output.line(f"  --set '{change}'")
    _output.line()
    _output.line(f"One flow in full, with its losses: lasthop explain {folder} --flow NAME")


def _notes(budgets: list[Budget]) -> list[str]:
    """The notes of several flows, each once.

    What samples cannot distinguish in one note for all of them.
    """
    from lasthop.explain._estimate import indistinct
    from lasthop.explain._tables import RECORD

    doubts = {doubt for budget in budgets for doubt in indistinct(budget)}
    notes = dict.fromkeys(note for budget in budgets for note in budget.notes)
    found = [note for note in notes if note not in doubts]
    if doubts:
        found.append(
            "Samples cannot distinguish causes with `or` between them; `--flow NAME` says how much of a flow they are. "
            f"To tell them apart {RECORD}."
        )
    return found


@contextmanager
def _kept(errors: dict[str, LasthopError], name: str) -> Iterator[None]:
    """Keeps the error of one flow, so that the others are explained."""
    try:
        yield
    except LasthopError as error:
        errors[name] = error


def _reason(error: LasthopError) -> str:
    """Why a flow has no budget, with what to do about it; the message names the flow."""
    said = error.diagnostics[0]
    return f"{said['message']} ({said['help']})" if said["help"] else str(said["message"])


def _outline(budget: Budget) -> tuple[str, str, str]:
    """What is divided, its largest parts, and how many packets were lost."""
    if budget.packets is None:
        of = f"{_format.duration(budget.whole_ns / 1e9)} of transfer"
    else:
        of = f"{_format.duration(budget.whole_ns / 1e9 / max(budget.packets, 1))} of delay"
    parts = [
        f"{100 * budget.share(p):.0f} % {p.cause.label}" + (f" ({p.cause.where})" if p.cause.place else "")
        for p in budget.parts[:CAUSES]
        if budget.share(p) >= 0.01
    ]
    return of, ", ".join(parts), f"{len(budget.losses):,}"


def _print(found: Explanation, tried: list[Tried], each_loss: bool) -> None:
    budget = found.budget
    for sentence in found.sentences:
        _output.paragraph(sentence)
    for note in budget.notes:
        _output.paragraph(note, "note: ", further="      ")
    _output.line()
    _print_parts(budget)
    if budget.losses:
        _output.line()
        _print_losses(budget, each_loss)
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
    # Parts of an estimate are no better than the interval between samples; delays are shorter than
    # transfers.
    digits = 9 if budget.exact else 3 if budget.packets is None else 6
    # An estimate does not resolve smaller parts.
    shown = [p for p in budget.parts if budget.exact or budget.share(p) >= SMALLEST]
    rows = [
        (p.cause.label, p.cause.where, f"{100 * budget.share(p):.1f}", f"{p.ns / mean / 1e9:.{digits}f}") for p in shown
    ]
    if rest := sum(p.ns for p in budget.parts if p not in shown):
        name = "smaller ones"
        rows.append((name, "", f"{100 * rest / budget.whole_ns:.1f}", f"{rest / mean / 1e9:.{digits}f}"))
    rows.append(("sum", "", "100.0" if budget.parts else "0.0", f"{budget.whole_ns / mean / 1e9:.{digits}f}"))
    unit = "s" if budget.packets is None else "s a packet"
    _output.table(("cause", "where", "%", unit), rows, right=(2, 3))


def _print_losses(budget: Budget, each: bool) -> None:
    bursts = [[x] for x in budget.losses] if each or len(budget.losses) <= LOSSES else _bursts(budget.losses)
    shown = bursts if each else bursts[:LOSSES]
    rows = [(*_extent(burst), burst[0].where, burst[0].cause, burst[0].stage or "", _what(burst)) for burst in shown]
    heads = ["lost at (s)", "packet", "count", "where", "cause", "stage", "what"]
    # Without the table `stages` nothing says which.
    left_out = 7 if any(x.stage for x in budget.losses) else heads.index("stage")
    lines = [[text for i, text in enumerate(row) if i != left_out] for row in (heads, *rows)]
    _output.table(lines[0], lines[1:], right=(0, 1, 2))
    more = sum(len(burst) for burst in bursts[len(shown) :])
    if more:
        _output.line(f"... and {more:,} packets more")
    if len(bursts) < len(budget.losses):
        _output.line("Each packet for itself: --losses, or --json")


def _bursts(losses: list[Loss]) -> list[list[Loss]]:
    """Losses that follow each other with one cause at one place.

    None more than `BURST_NS` after the one before it.
    """
    found: list[list[Loss]] = []
    for x in losses:
        last = found[-1][-1] if found else None
        same = last is not None and (last.where, last.cause, last.stage) == (x.where, x.cause, x.stage)
        if last is not None and same and x.at_ns - last.at_ns <= BURST_NS:
            found[-1].append(x)
        else:
            found.append([x])
    return found


def _extent(burst: list[Loss]) -> tuple[str, str, str]:
    """When, which packets, how many."""
    first, last = burst[0], burst[-1]
    if len(burst) == 1:
        return f"{first.at_ns / 1e9:.9f}", str(first.packet), "1"
    low, high = (bound(x.packet for x in burst) for bound in (min, max))
    return f"{first.at_ns / 1e9:.3f} to {last.at_ns / 1e9:.3f}", f"{low} to {high}", f"{len(burst):,}"


def _what(burst: list[Loss]) -> str:
    """The PDU of a packet; of a burst how many of its packets are retransmissions."""
    again = sum(bool(x.retransmission) for x in burst)
    if len(burst) == 1:
        return ", ".join(filter(None, (burst[0].pdu, "retransmission" if again else "")))
    return f"{again:,} {'retransmission' if again == 1 else 'retransmissions'}" if again else ""


def _print_tried(tried: Tried) -> None:
    rows = []
    for name, before, after in tried.numbers:
        label, form = NUMBERS[name]
        if before is not None or after is not None:
            rows.append((label, form(before), form(after)))
    _output.table(("  tried", "before", "after"), [(f"  {a}", b, c) for a, b, c in rows], right=(1, 2))
