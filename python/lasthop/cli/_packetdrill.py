"""`lasthop packetdrill`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from lasthop import LasthopError, _core
from lasthop._errors import mistake
from lasthop.cli import _output

_LARGEST = 16 << 20  # octets of a script: no script is larger
_WIDEST = 100  # characters of a reason in the table; --json has all of them


@click.command()
@click.argument("paths", metavar="FILES...", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--profile", metavar="NAME", help="Stack profile. [linux-6; rfc for scripts that set net.inet.tcp]")
@click.option(
    "--host",
    metavar="NAME",
    help="Choices where standards leave one: linux, bsd. [bsd for scripts that set net.inet.tcp]",
)
@click.option("--cc", metavar="NAME", help="Congestion control, where the script chooses none.")
@click.option(
    "-D",
    "--define",
    "defines",
    metavar="NAME[=VALUE]",
    multiple=True,
    help="Define a symbol for #ifdef lines; with VALUE, it stands for a number or name in calls. Repeatable.",
)
@click.option("--mss", metavar="N", help="Longer packets arrive merged from segments of N octets, 1 to 65535 (GRO).")
@click.option("--mtu", metavar="N", help="MTU of the endpoint's interface, 68 to 65535 octets. [1500]")
@click.option("--ip_version", metavar="V", help="ipv4, ipv6 (20 octets more of header) or ipv4-mapped-ipv6. [ipv4]")
@click.option("--tolerance_usecs", metavar="N", help="How far off an event may be, in microseconds. [4000]")
@click.option(
    "--tolerance_percent", metavar="P", help="The same in per cent of the time since the event before. [12.5]"
)
@click.option("-v", "--verbose", is_flag=True, help="Print every packet, call and print of each script.")
@_output.json_option
def packetdrill(
    paths: tuple[Path, ...],
    profile: str | None,
    host: str | None,
    cc: str | None,
    defines: tuple[str, ...],
    verbose: bool,
    as_json: bool,
    **tool_options: str | None,
) -> int:
    """Run packetdrill scripts against the simulated TCP.

    FILES are scripts, or folders that are searched for *.pkt. A script injects packets and system
    calls and states what the stack answers, and when; here a simulated endpoint answers, in virtual
    time. A table counts the scripts of each folder that passed and failed, and those that need what
    an endpoint without a kernel does not have.

    The options with an underscore, --mss and --mtu are the original tool's. Here they override
    those in a script.

    \b
    Exit codes: 0 when no script failed, 1 when one did, 2 for a wrong option.

    \b
    Example:
      lasthop packetdrill tests/packetdrill
      lasthop packetdrill gtests/net/tcp/cubic --profile linux-6 -v
      lasthop packetdrill tcp-testsuite -D STANDARD
      lasthop packetdrill my.pkt --host bsd --tolerance_usecs=100000
    """
    options = [(name, value) for name, value in tool_options.items() if value is not None]
    try:
        _core.packetdrill([], profile, cc, verbose, list(defines), options, host)
    except LasthopError as err:  # without a script only the options can be wrong
        raise click.UsageError(str(err)) from err
    files = _scripts(paths)
    if not files:
        raise LasthopError(f"no *.pkt in {', '.join(map(str, paths))}")
    texts = [(str(f), _text(f)) for f in files]
    found = json.loads(_core.packetdrill(texts, profile, cc, verbose, list(defines), options, host))
    if as_json:
        _output.json_object(found)
    else:
        _show(found)
    return int(any(c["failed"] for c in found["categories"].values()))


def _scripts(paths: tuple[Path, ...]) -> list[Path]:
    """The scripts themselves, those in folders sorted by path."""
    found: list[Path] = []
    for path in paths:
        found += sorted(path.rglob("*.pkt")) if path.is_dir() else [path]
    return found


def _text(path: Path) -> str:
    """The text of a script. A pipe or a device may never end."""
    if not path.is_file():
        raise mistake(f"'{path}' is not a regular file", "copy what it gives to a file")
    with path.open("rb") as file:
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise mistake(f"'{path}' is larger than {_LARGEST >> 20} MiB", "is it a script?")
    return content.decode(encoding="utf-8", errors="replace")


def _shortened(reason: str) -> str:
    """A reason, which may quote a script, as a cell of a table shows it."""
    return reason if len(reason) <= _WIDEST else f"{reason[: _WIDEST - 3]}..."


def _show(found: dict[str, Any]) -> None:
    for script in found["scripts"]:
        if script["transcript"]:
            _output.line(script["name"])
            for line in script["transcript"]:
                _output.line(f"    {line}")
        if script["verdict"] in ("failed", "mistake"):
            place = f"{script['name']}:{script['line']}:{script['column']}"
            _output.line(f"{place}: {script['verdict']}: {script['message']}")
    rows = [_row(name, c) for name, c in found["categories"].items()]
    total: dict[str, Any] = {
        k: sum(c[k] for c in found["categories"].values()) for k in ("scripts", "passed", "failed", "not_applicable")
    }
    if len(rows) > 1:
        rows.append(_row("all", {**total, "reasons": {}}))
    headers = ("category", "scripts", "passed", "failed", "not applicable", "because of")
    _output.table(headers, rows, right=(1, 2, 3, 4))


def _row(name: str, c: dict[str, Any]) -> tuple[str, ...]:
    reasons = "; ".join(f"{_shortened(why)} ({n})" if n > 1 else _shortened(why) for why, n in c["reasons"].items())
    return (name, str(c["scripts"]), str(c["passed"]), str(c["failed"]), str(c["not_applicable"]), reasons)
