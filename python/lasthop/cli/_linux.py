"""`lasthop linux`: scenarios with the TCP of a real Linux kernel, in virtual time."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lasthop import _format
from lasthop._progress import share_bar
from lasthop._stop import CLEAN_WITHIN, leaving, making
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
from lasthop.linux import _boot, _build, _run

if TYPE_CHECKING:
    from lasthop import Scenario

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.group()
def linux() -> None:
    """Run scenarios with the TCP of a real Linux kernel.

    The kernel is User-mode Linux: a program, without root and without KVM. Its clock is virtual, so
    that a run is the same bit for bit however busy the machine is.

    \b
    Example:
      lasthop linux build
      lasthop linux run lte-handover --kernel-at server,car
    """


@linux.command()
@click.option("--source", type=_FILE, metavar="FILE", help=f"A tarball of Linux 6.1. [{_build.SOURCE}]")
@click.option("--jobs", "-j", type=click.IntRange(min=1), metavar="N", help="Compilers at once. [one for each core]")
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Keep the kernel here instead of the cache; 'lasthop linux run' takes it with --kernel DIR/linux.",
)
@click.option("--force", is_flag=True, help="Build it even if the same one is there.")
@_output.json_option
@click.option("--quiet", "-q", is_flag=True, help="Print nothing but warnings and errors.")
def build(source: Path | None, jobs: int | None, output: Path | None, force: bool, as_json: bool, quiet: bool) -> None:
    """Build the kernel: four minutes of one processor core, and 2 GB of disk space while it runs.

    The sources are those of Debian's package linux-source-6.1. The kernel has all 17 congestion
    controls of Linux and is kept under ~/.cache/lasthop/linux with a manifest that says what it was
    built from.

    \b
    Examples:
      lasthop linux build
      lasthop linux build --source linux-6.1.192.tar.xz --jobs 4
    """
    say = str if as_json or quiet else _output.note
    kernel, fresh = _build.build(source, jobs, output, force, say)
    if as_json:
        _output.json_object({"kernel": str(kernel.path), "built": fresh, **kernel.manifest})
    elif not quiet:
        what = "built" if fresh else "there already"
        version, controls = kernel.manifest["linux"], len(kernel.manifest["congestion_controls"])
        _output.line(f"Linux {version} with {controls} congestion controls, {what}: {kernel.path}")


@linux.command()
@click.argument("scenario", metavar="SCENARIO", shell_complete=_completion.scenarios)
@click.option(
    "--kernel-at",
    "nodes",
    metavar="NODE,NODE...",
    required=True,
    help="The nodes whose TCP is the kernel's. TCP flows between them are its own; all others are simulated.",
)
@click.option("--kernel", type=_FILE, metavar="FILE", help="A User-mode Linux kernel of your own. [the cache's]")
@_set_option
@seed_option
@out_option
@capture_option
@click.option(
    "--limit",
    type=click.FloatRange(min=0, min_open=True),
    default=_run.LIMIT,
    show_default=True,
    metavar="SECONDS",
    help="Wall time after which the guest is ended, with results up to then.",
)
@_output.json_option
@click.option("--quiet", "-q", is_flag=True, help="Print nothing but warnings and errors.")
@force_option
def run(
    scenario: str,
    nodes: str,
    kernel: Path | None,
    sets: tuple[str, ...],
    seed: int | None,
    out: Path | None,
    capture: Path | None,
    limit: float,
    as_json: bool,
    quiet: bool,
    force: bool,
) -> None:
    """Run a scenario with a real kernel's TCP at some nodes.

    The senders and receivers of TCP flows between these nodes are sockets of the kernel. The
    applications write and read what they do in 'lasthop run', and the network is the simulated one.
    The results are those of 'lasthop run'; the profile of such flows is 'kernel', and their
    round-trip times are the kernel's smoothed ones. Ctrl-C ends the run with results up to then.

    \b
    Examples:
      lasthop linux run lte-handover --kernel-at server,car
      lasthop linux run lte-download --kernel-at server,phone --out results/kernel
    """
    found = _build.find(kernel)
    checked = load(scenario, (*_run.at(_names(nodes)), *sets), seed)
    _output.warnings(checked.warnings)

    def into(folder: Path) -> None:
        # The guest gets some time to end by itself, and its results are moved after that.
        with leaving(making("the results are", folder), _boot.GRACE + CLEAN_WITHIN):
            _into(folder, checked, found, force, capture, limit, as_json, quiet)

    first_free(Path("results") / f"{checked.name}-{checked.seed}", out, force, into)


def _names(nodes: str) -> list[str]:
    names = [name.strip() for name in nodes.split(",")]
    if not all(re.fullmatch(r"[^\s\"\\]+", name) for name in names):
        raise click.BadParameter(f"'{nodes}' is no list of nodes, such as server,phone", param_hint="--kernel-at")
    return names


def _into(
    folder: Path,
    checked: Scenario,
    kernel: _build.Kernel,
    force: bool,
    capture: Path | None,
    limit: float,
    as_json: bool,
    quiet: bool,
) -> None:
    real = claimed(folder, force)
    with share_bar(checked.name, not (as_json or quiet)) as show:
        results = _run.run(checked, kernel, real, force, capture, limit, progress=show)
    flows = results.flows.to_pylist()
    if as_json:
        about = {"scenario": checked.name, "out": str(folder), "linux": results.summary["live"]["kernel"]}
        _output.json_object({**about, "flows": flows})
    elif not quiet:
        _show(flows)
        _output.line(f"Results: {folder}")


def _show(flows: list[dict[str, Any]]) -> None:
    rows = [
        (
            f["flow"],
            f["profile"] or "",
            f["cc"] or "",
            _format.rate(f["goodput_bps"]),
            "" if f["cwnd_mean"] is None else f"{f['cwnd_mean']:.1f}",
            "" if f["retransmits"] is None else _format.count(f["retransmits"]),
        )
        for f in flows
    ]
    _output.table(("flow", "profile", "cc", "goodput", "window", "sent again"), rows, right=range(3, 6))
