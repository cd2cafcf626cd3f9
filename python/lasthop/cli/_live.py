"""`lasthop live`: a scenario in real time, with real packets."""

from __future__ import annotations

import json
import math
import os
import re
from pathlib import Path
from typing import Any

import click

from lasthop import Results, Scenario, _core, _format
from lasthop._errors import mistake
from lasthop._registry import LATE_SHARE, LATENESS, losses_of_devices, share_behind
from lasthop._stop import leaving, making
from lasthop.cli import _completion, _output
from lasthop.cli._folder import claimed, first_free
from lasthop.cli._run import (
    _set_option,
    capture_option,
    force_option,
    load,
    out_option,
    seed_option,
)

#: Exit codes: a program has failed; something happened later than the limit.
FAILED, LATE = 1, 4
#: So long may a stopped run take to end its programs and to write its tables [s]: it cannot be
#: repeated.
ENDS_WITHIN = 120.0
#: At most so many names of nodes are in a line.
SHOWN = 4


@click.command()
@click.argument("scenario", metavar="SCENARIO", required=False, shell_complete=_completion.scenarios)
@click.option(
    "--in",
    "programs",
    multiple=True,
    metavar="NODE=COMMAND",
    help="Make the node a network namespace and run the command there. May be repeated; each starts half a second "
    "after the one before, and the run ends with the last one.",
)
@click.option("--shell", metavar="NODE", help="Make the node a network namespace and open a shell there.")
@click.option(
    "--device",
    "devices",
    multiple=True,
    metavar="NODE=DEVICE",
    help="Make the node this TUN device, which exists, and make no namespace for it. May be repeated.",
)
@_set_option
@seed_option
@click.option("--duration", metavar="TIME", help='How long at most, such as "30 s". [scenario.duration]')
@click.option(
    "--late-limit",
    metavar="TIME",
    default="1 ms",
    show_default=True,
    help="Exit code 4 if more than 1 % of the packets or events were later than this, or the run was further behind "
    "for more than 1 % of the time.",
)
@click.option("--realtime", is_flag=True, help="Run with real-time priority.")
@click.option("--check", is_flag=True, help="List what this machine allows, and the remedies.")
@out_option
@capture_option
@_output.json_option
@click.option(
    "--quiet",
    "-q",
    is_flag=True,
    help="Print nothing but warnings and errors; what programs print goes to standard error.",
)
@force_option
def live(
    scenario: str | None,
    programs: tuple[str, ...],
    shell: str | None,
    devices: tuple[str, ...],
    sets: tuple[str, ...],
    seed: int | None,
    duration: str | None,
    late_limit: str,
    realtime: bool,
    check: bool,
    out: Path | None,
    capture: Path | None,
    as_json: bool,
    quiet: bool,
    force: bool,
) -> int:
    """Run a scenario in real time, with real programs.

    A node becomes a network namespace with a TUN device, made without root where the system allows
    it. Packets that programs send there pass the simulated network. They reach the other node
    later, or are lost; their payload does not change. Everything else of the scenario is simulated
    beside them. Names of nodes are host names there.

    The results are those of 'lasthop run', with a flow for each direction of each real connection;
    summary.json has under 'live' the lateness: how much later than in the simulation packets and
    events were.

    \b
    Examples:
      lasthop live --check
      lasthop live lte-download --in server="iperf3 -s" \\
          --in phone="iperf3 -c server -R -t 8"
      lasthop live lte-handover --in server="python3 -m http.server" --shell phone
    """
    if check:
        return _check(as_json)
    if scenario is None:
        raise click.UsageError("give a scenario, or --check")
    limit = _seconds(late_limit)
    plan: dict[str, Any] = {
        "programs": [_pair("--in", text) for text in programs],
        "shell": shell,
        "devices": [_pair("--device", text) for text in devices],
        "late_limit": limit,
        "real_time": realtime,
        "quiet": as_json or quiet,
    }
    nodes = dict.fromkeys([node for node, _ in plan["programs"] + plan["devices"]] + ([shell] if shell else []))
    own = [f'node."{node}"={{kind="external"}}' for node in nodes]
    own += [] if duration is None else [f"scenario.duration={duration}"]
    checked = load(scenario, (*own, *sets), seed)
    _output.warnings(checked.warnings)
    for left_out in checked.core.left_out():
        _output.note(_left_out(*left_out))
    if (programs or shell) and _core.live_programs_are_root():
        _output.note("programs run as root of this machine, with all its rights: it allows no user namespaces")
    outside = [node for node, _ in plan["devices"]]
    if len(outside) > 1:
        names = " and ".join(outside)
        _output.note(
            f"{names} are devices of one host: its kernel delivers between their addresses without the devices, "
            "unless a namespace of its own holds one of them; give --device for one node only"
        )

    def into(folder: Path) -> int:
        with leaving(making("the results are", folder), ENDS_WITHIN):
            return _run(checked, plan, folder, force, capture, as_json, quiet)

    return first_free(Path("results") / f"{checked.name}-{checked.seed}", out, force, into)


def _left_out(flow: str, external: list[str], pairs: int, of: int) -> str:
    how_many = "" if pairs == of else f" for {pairs} of its {of} pairs of ends"
    shown = external if len(external) <= SHOWN else [*external[: SHOWN - 1], f"{len(external) - SHOWN + 1} others"]
    names = shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
    return f"flow {flow} is left out{how_many}: {names} {'is' if len(external) == 1 else 'are'} external"


def _pair(option: str, text: str) -> list[str]:
    node, sign, value = text.partition("=")
    if not (node and sign and value.strip()):
        raise click.BadParameter(f"'{text}' is not of the form NODE=...", param_hint=option)
    return [node, value]


def _seconds(text: str) -> float:
    units = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
    number, unit = re.fullmatch(r"\s*(.*?)\s*([a-z]*)\s*", text, re.DOTALL).groups()  # type: ignore[union-attr]
    try:
        value = float(number) * units[unit]
    except (ValueError, KeyError):
        raise click.BadParameter(f"'{text}' is no time, such as \"1 ms\"", param_hint="--late-limit") from None
    if not 0 < value < math.inf:
        raise click.BadParameter(f"'{text}' is no time above 0", param_hint="--late-limit")
    return value


def _run(
    checked: Scenario,
    plan: dict[str, Any],
    folder: Path,
    force: bool,
    capture: Path | None,
    as_json: bool,
    quiet: bool,
) -> int:
    real = claimed(folder, force)
    output, stopped = _core.live(checked.core, json.dumps(plan), real, force, capture)
    results = Results(output, real)
    measured = results.summary["live"]
    limit = plan["late_limit"]
    late = measured["lateness"]["p99_s"] > limit or share_behind(measured) > LATE_SHARE
    if as_json:
        flows = results.flows.to_pylist()
        _output.json_object({"scenario": checked.name, "out": str(folder), "live": measured, "flows": flows})
    elif not quiet:
        _show(results, measured, folder)
    for program in measured["programs"]:
        if program["ended_by_itself"] and program["status"] != 0:
            how = "by a signal" if program["status"] is None else f"with status {program['status']}"
            _output.note(f"the program of {program['node']} has ended {how}: {program['command']}")
    for text in losses_of_devices(measured):
        _output.note(text)
    *others, last = measured["programs"] or [None]
    if measured["ended_by"] == "duration" and others and all(p["status"] == 0 for p in others):
        _output.note(
            f"the run ends with the last program in the order of the options, and that of {last['node']} has not "
            f"ended: {last['command']}"
        )
    if stopped is not None:
        raise stopped
    if (gone := measured["device_gone_at"]) is not None:
        click.echo(
            f"error: the device of {gone} was removed during the run, which has ended there\n"
            f"  help: the results up to then are complete in {folder}",
            err=True,
        )
        return FAILED
    if late:
        most = _format.duration(measured["lateness"]["p99_s"])
        allowed = _format.duration(limit)
        what = f"1 % of the packets or events were {most} late or more, beyond the limit of {allowed}"
        if measured["lateness"]["p99_s"] <= limit:
            what = (
                f"the run was further behind than the limit of {allowed} for {share_behind(measured):.0%} of the time"
            )
        click.echo(
            f"error: {what}\n"
            "  help: end other programs, lower rates or numbers of UEs, take --realtime, or raise --late-limit",
            err=True,
        )
        return LATE
    return FAILED if measured["ended_by"] == "program-failed" else 0


def _show(results: Results, measured: dict[str, Any], folder: Path) -> None:
    rows = [
        (
            f["flow"],
            f["src"],
            f["dst"],
            _format.rate(f["goodput_bps"]),
            _format.duration(f["delay_mean_s"]),
            _format.count(f["tx_packets"]),
            _format.count(f["lost_dropped"]),
            _format.count(f["rx_marked"]),
        )
        for f in results.flows.to_pylist()
    ]
    _output.table(("flow", "from", "to", "goodput", "delay", "sent", "dropped", "marked"), rows, right=range(3, 8))
    _output.line()
    lateness = [
        (name, _format.count(found["count"]), *(_format.duration(found[f"{key}_s"]) for key in ("p50", "p99", "max")))
        for key, name in LATENESS.items()
        for found in [measured["lateness"][key]]
    ]
    _output.table(("late", "count", "p50", "p99", "worst"), lateness, right=range(1, 5))
    share, ended = measured["processor_share"], _format.duration(measured["ended_s"])
    behind, limit = share_behind(measured), _format.duration(measured["lateness"]["limit_s"])
    _output.line(
        f"{ended} in real time, {share:.0%} of one core; more than {limit} behind for {100 * behind:.2g} % of the time",
        style="dim",
    )
    _output.line(f"Results: {folder}")


def _check(as_json: bool) -> int:
    found = json.loads(_core.live_check())
    enough = found[0]["ok"] if found else False
    if as_json:
        _output.json_object({"ok": enough, "user": os.geteuid() if hasattr(os, "geteuid") else None, "found": found})
        return 0 if enough else FAILED
    for item in found:
        # Only the first one is required.
        has = "yes" if item["ok"] else "no" if item is found[0] else "note"
        _output.line(f"{has:4}  {item['what']}: {item['found']}")
        if item["remedy"]:
            _output.line(f"      {item['remedy']}")
    if not enough:
        raise mistake("this machine cannot run scenarios live", "the remedy stands above")
    _output.line("This machine can run scenarios live.")
    return 0
