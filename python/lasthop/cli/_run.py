"""`lasthop run` and `lasthop validate`."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from lasthop import LasthopError, Results, Scenario, _format
from lasthop._errors import mistake
from lasthop._own import CONTROL, RATE_CONTROL, SCHEDULER, Kind
from lasthop._stop import leaving, making
from lasthop._values import THREADS_MAX
from lasthop.cli import _completion, _output
from lasthop.cli._folder import claimed, first_free


def set_option(help: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The option `--set`, whose values are the parameter `sets`."""
    return click.option(
        "--set", "sets", multiple=True, metavar="KEY=VALUE", shell_complete=_completion.assignments, help=help
    )


_set_option = set_option(
    'Override a key, such as --set flow.ftp.tcp.cc=reno or --set link.wired.delay="50 ms". May be repeated.'
)
_cc_option = click.option(
    "--cc",
    "own",
    multiple=True,
    metavar="NAME=FILE.py:CLASS",
    help="A control of your own, under a name for tcp.cc or a media flow's app.control. May be repeated.",
)
_scheduler_option = click.option(
    "--scheduler",
    "schedulers",
    multiple=True,
    metavar="NAME=FILE.py:CLASS",
    help="A scheduler of your own, under a name for a cell's downlink.scheduler or uplink.scheduler. May be repeated.",
)
seed_option = click.option("--seed", type=click.IntRange(min=0), metavar="N", help="Seed of every random draw.")
out_option = click.option(
    "--out", type=click.Path(path_type=Path), metavar="DIR", help="Result folder. [results/NAME-SEED]"
)
capture_option = click.option(
    "--capture",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write a packet capture for Wireshark, such as run.pcapng; [output.capture] selects its content.",
)
threads_option = click.option(
    "--threads",
    type=click.IntRange(1, THREADS_MAX),
    default=1,
    metavar="N",
    help="Threads that share the work of the run, 1 to 256; the results are the same. Only LTE cells use them. [1]",
)
force_option = click.option(
    "--force", is_flag=True, help="Replace the results of an earlier run, if nothing else is in the folder."
)


@click.command()
@click.argument("scenario", metavar="SCENARIO", shell_complete=_completion.scenarios)
@_set_option
@_cc_option
@_scheduler_option
@seed_option
@out_option
@capture_option
@threads_option
@_output.json_option
@click.option("--quiet", "-q", is_flag=True, help="Print nothing but warnings and errors.")
@force_option
def run(
    scenario: str,
    sets: tuple[str, ...],
    own: tuple[str, ...],
    schedulers: tuple[str, ...],
    seed: int | None,
    out: Path | None,
    capture: Path | None,
    threads: int,
    as_json: bool,
    quiet: bool,
    force: bool,
) -> None:
    """Run a scenario and leave its results in a folder.

    SCENARIO is a TOML file, or the name of a bundled scenario (see 'lasthop scenarios list').

    The folder gets manifest.json (what was run), summary.json and one Parquet table per subject:
    flows, tcp, rlc, mac, queues, events, drops. It appears only when the run is complete. Without
    --out a further run of the same scenario and seed takes results/NAME-SEED-2, -3 and so on.

    \b
    Examples:
      lasthop run umts-download
      lasthop run my.toml --set flow.ftp.tcp.cc=reno --seed 7 --out results/reno-7
      lasthop run lte-download --capture run.pcapng --set output.capture.to="2 s"
      lasthop run my.toml --cc mine=my_cc.py:Mine --set flow.ftp.tcp.cc=mine
      lasthop run my-network.toml --threads 4
      lasthop run my.toml --scheduler edf=my_mac.py:Edf \\
          --set cell.enb.downlink.scheduler=edf
    """
    checked = load(scenario, sets, seed, own, schedulers)
    _refuse_mutants(checked)
    _output.warnings(checked.warnings)

    def into(folder: Path) -> None:
        with leaving(making("the results are", folder)):
            _run(checked, folder, force, capture, threads, as_json, quiet)

    first_free(Path("results") / f"{checked.name}-{checked.seed}", out, force, into)


def _refuse_mutants(checked: Scenario) -> None:
    """A control with a mistake on purpose is for the judge alone."""
    flows = tomllib.loads(checked.to_toml()).get("flow", {})
    for name, flow in flows.items():
        app = flow.get("app")
        media = next(iter(app.values())) if isinstance(app, dict) and len(app) == 1 else app
        places = {"tcp": flow.get("tcp", {}), "app": media if isinstance(media, dict) else {}}
        for key, table in places.items():
            switch = table.get("mutant")
            if switch is None:
                continue
            raise mistake(
                f"flow.{name}.{key}.mutant: '{switch}' makes a mistake on purpose",
                "remove it; lasthop judge CONTROL --mutant SWITCH judges a control with it",
            )


def _run(
    checked: Scenario,
    folder: Path,
    force: bool,
    capture: Path | None,
    threads: int,
    as_json: bool,
    quiet: bool,
) -> None:
    began = time.perf_counter()
    # What an earlier run left there stays until the new results are complete.
    results = checked.run(
        out=claimed(folder, force), progress=not (quiet or as_json), replace=force, capture=capture, threads=threads
    )
    seconds = time.perf_counter() - began
    if as_json:
        _output.json_object(
            {
                "scenario": checked.name,
                "seed": checked.seed,
                "out": str(folder),
                "simulated_s": checked.duration,
                "seconds": round(seconds, 3),
                "warnings": checked.warnings,
                "summary": results.summary,
                "flows": results.flows.to_pylist(),
            }
        )
    elif not quiet:
        _show(checked, results, folder, capture, seconds)


@click.command()
@click.argument("scenario", metavar="SCENARIO", shell_complete=_completion.scenarios)
@_set_option
@_cc_option
@_scheduler_option
@click.option("--effective", is_flag=True, help="Print the scenario with every default spelled out, as TOML.")
@_output.json_option
def validate(
    scenario: str,
    sets: tuple[str, ...],
    own: tuple[str, ...],
    schedulers: tuple[str, ...],
    effective: bool,
    as_json: bool,
) -> None:
    """Check a scenario without running it.

    Mistakes are shown with file, line, column and a suggestion; known pitfalls, such as a buffer
    far below the bandwidth-delay product, as warnings.

    \b
    Examples:
      lasthop validate my.toml
      lasthop validate my.toml --effective > full.toml
    """
    checked = load(scenario, sets, own=own, schedulers=schedulers)
    if as_json:
        found: dict[str, Any] = {
            "ok": True,
            "scenario": checked.name,
            "seed": checked.seed,
            "duration_s": checked.duration,
            "hash": checked.hash,
            "warnings": checked.warnings,
        }
        _output.json_object(found | ({"effective": checked.to_toml()} if effective else {}))
        return
    _output.warnings(checked.warnings)
    if effective:
        click.echo(checked.to_toml())
        if notes := checked.profile_notes():
            click.echo(notes)
    else:
        length = _format.duration(checked.duration)
        _output.line(f"{scenario} is a valid scenario: {checked.name}, {length}, seed {checked.seed}")


def load(
    scenario: str,
    sets: tuple[str, ...] = (),
    seed: int | None = None,
    own: tuple[str, ...] = (),
    schedulers: tuple[str, ...] = (),
) -> Scenario:
    """The scenario of a file or of a bundled example."""
    overrides = [*map(utf8, sets), *([] if seed is None else [f"scenario.seed={seed}"])]
    cc = dict(_own_class("--cc", text, CONTROL, RATE_CONTROL) for text in own)
    return Scenario.load(
        scenario, overrides, cc, dict(_own_class("--scheduler", text, SCHEDULER) for text in schedulers)
    )


def utf8(text: str) -> str:
    """An argument in UTF-8, also where the locale says that arguments are ASCII."""
    try:
        return os.fsencode(text).decode()
    except UnicodeError:
        return text


def _own_class(option: str, text: str, *kinds: Kind) -> tuple[str, Any]:
    """The class that `NAME=FILE.py:CLASS` means."""
    name, _, place = text.partition("=")
    file, _, attribute = place.rpartition(":")
    if not (name and file and attribute):
        raise click.BadParameter(f"'{text}' is not of the form NAME=FILE.py:CLASS", param_hint=option)
    path = Path(file)
    if not path.is_file():
        raise mistake(f"{option} {name}: there is no file '{file}'")
    from lasthop.campaign.own import module_of

    try:
        module = module_of(path)
    except LasthopError as error:
        (wrong,) = error.diagnostics
        raise mistake(f"{option} {name}: {wrong['message']}", wrong["help"]) from error
    policy = getattr(module, attribute, None)
    bases = tuple(kind.base for kind in kinds)
    if not (isinstance(policy, type) and issubclass(policy, bases)):
        classes = [n for n, c in vars(module).items() if isinstance(c, type) and issubclass(c, bases)]
        known = ", ".join(c for c in classes if c not in {base.__name__ for base in bases})
        derived = " or ".join(f"lasthop.{base.__name__}" for base in bases)
        remedy = f"it has: {known}" if known else f"derive one from {derived}"
        what = " or ".join(kind.what for kind in kinds)
        raise mistake(f"{option} {name}: '{file}' has no {what} '{attribute}'", remedy)
    return name, policy


def _captured(written: dict[str, Any], folder: Path) -> str:
    """The files of a capture, by the manifest, and how many frames are in them."""
    names = [file["name"] for file in written["files"]]
    frames = sum(file["frames"] for file in written["files"])
    more = f" to {names[-1]}" if len(names) > 1 else ""
    gone = f"; older files removed: {written['removed']:,}" if written["removed"] else ""
    return f"{folder / names[0]}{more} ({frames:,} frames{gone})"


def _show(scenario: Scenario, results: Results, folder: Path, capture: Path | None, seconds: float) -> None:
    rows = [
        (
            f["flow"],
            f["cc"] or f["transport"],
            _format.rate(f["goodput_bps"]),
            _format.duration(f["rtt_mean_s"]),
            _format.duration(f["delay_mean_s"]),
            _format.count(f["lost_dropped"]),
            _format.count(f["retransmits"]),
            _format.count(f["timeouts"]),
        )
        for f in results.summary["flows"]
    ]
    headers = ("flow", "control", "goodput", "RTT", "delay", "dropped", "retransmitted", "timeouts")
    _output.table(headers, rows, right=range(2, 8))
    speed = scenario.duration / seconds if seconds > 0 else 0
    _output.line()
    _output.line(
        f"{_format.duration(scenario.duration)} simulated in {_format.duration(seconds)}, {speed:,.0f} times real time",
        style="dim",
    )
    _output.line(f"Results: {folder}")
    if written := results.manifest.get("capture"):
        _output.line(f"Capture: {_captured(written, folder if capture is None else capture.parent)}")
    _output.line(f"Look at them: lasthop report {folder}")
