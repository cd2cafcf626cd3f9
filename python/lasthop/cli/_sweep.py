"""`lasthop sweep`: campaigns of many runs, and the store that keeps them."""

from __future__ import annotations

import re
import shlex
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lasthop import _format
from lasthop._errors import mistake
from lasthop._stop import leaving
from lasthop._values import THREADS_MAX
from lasthop.cli import _completion, _output, _runs
from lasthop.cli._results import show_points, summary, tell_unmoved
from lasthop.cli._run import set_option, utf8

if TYPE_CHECKING:
    from lasthop.campaign.conduct import Estimate
    from lasthop.campaign.definition import Campaign
    from lasthop.campaign.results import CampaignResults

#: Where the words of the command are kept, which campaign.json repeats.
_WORDS = "lasthop.sweep.words"
#: Longer tables of results are left to `lasthop results`.
_MOST_SHOWN = 40


class _Sweep(click.Command):
    """A command whose first word may be that of a command below it, else a campaign."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.commands: dict[str, click.Command] = {}

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        words = list(args)
        if words and words[0] in self.commands:
            # A context of this command would put its argument into the usage of the other.
            here = click.Context(click.Command(self.name), info_name=info_name, parent=parent)
            return self.commands[words[0]].make_context(words[0], words[1:], parent=here, **extra)
        context = super().make_context(info_name, args, parent, **extra)
        context.meta[_WORDS] = words
        return context


@click.command(cls=_Sweep)
@click.argument("campaign", required=False, metavar="[CAMPAIGN]", shell_complete=_completion.campaigns)
@click.option("--base", metavar="SCENARIO", shell_complete=_completion.scenarios, help="Vary this scenario; no file.")
@click.option(
    "--axis",
    "axes",
    multiple=True,
    metavar="KEY=A,B,C",
    shell_complete=_completion.axes,
    help="With --base: a scenario key and its values, or FROM..TO:STEP, FROM..TO:xFACTOR, FROM..TO:#COUNT.",
)
@click.option(
    "--metric", "metrics", multiple=True, metavar="NAME=EXPRESSION", help="With --base: what is kept of each run."
)
@click.option("--name", metavar="NAME", help="With --base: name of the campaign.")
@click.option("--seeds", metavar="N", help="Seeds of each point: 5 is 1 to 5; 10..19; 3,7,9.")
@click.option("--until", metavar="RULE", help='Add seeds until then: "ci95(goodput) < 2 %, max 100".')
@click.option("--keep", multiple=True, metavar="TABLE", help="Keep this table of every run whole.")
@click.option("--where", multiple=True, metavar="CONDITION", help="With --base: only points that meet it.")
@set_option("Override a scenario key in every run, or a key of the campaign, such as campaign.seeds.")
@click.option(
    "--cc", multiple=True, metavar="NAME=FILE.py:CLASS", help="With --base: a congestion control of your own."
)
@click.option(
    "--scheduler", "schedulers", multiple=True, metavar="NAME=FILE.py:CLASS", help="With --base: a scheduler."
)
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Refuse more runs than this. [100000]")
@_runs.jobs_option
@click.option(
    "--executor",
    type=_runs.EXECUTORS,
    help="Where runs are made: threads, processes or ray. [threads; processes where Python code takes part]",
)
@click.option(
    "--threads",
    type=click.IntRange(1, THREADS_MAX),
    default=1,
    metavar="N",
    help="Threads that may share a run where there are fewer runs than --jobs. Only LTE cells use them. [1]",
)
@click.option("--shard", metavar="I/N", help="Make only part I of N; the store joins them.")
@_runs.store_option
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Result folder. [results/NAME]")
@click.option("--force", is_flag=True, help="Replace results in DIR that this campaign does not make.")
@click.option("--time-limit", metavar="TIME", help="End a run after this time, as a failure: 90s, 10min.")
@click.option("--finished", is_flag=True, help="Make no run: show what is finished, marked as incomplete.")
@click.option(
    "--dry-run", is_flag=True, help="Print the number of runs, time and disk space; makes a few runs to measure."
)
@click.option("--quiet", "-q", is_flag=True, help="Print nothing but warnings and errors.")
@_output.json_option
@click.pass_context
def sweep(ctx: click.Context, /, campaign: str | None, base: str | None, **said: Any) -> None:
    """Run a campaign: every combination of its axes.

    Each combination runs with the same seeds.

    CAMPAIGN is a TOML file, or the name of a bundled campaign; a file called prune or index is
    ./prune or ./index. Without one, --base, --axis and --metric describe a small campaign. All is
    checked before the first run.

    Finished runs are kept in the store, by their content: after a stop the same command continues
    from there, and other campaigns use the runs they share. DIR gets results.parquet (a row for
    each point and seed), failures.parquet, campaign.json and campaign.toml. With a failed run the
    exit code is 1; the next call makes it again. --finished shows what is there of a campaign that
    runs or was stopped, in results/NAME-finished.

    \b
    Examples:
      lasthop sweep campaign.toml --dry-run
      lasthop sweep campaign.toml --set campaign.seeds=20 --jobs 8
      lasthop sweep --base lte-download --axis flow.download.tcp.cc=reno,cubic \\
          --metric 'goodput=flow("download").goodput_bps in Mbit/s' --seeds 5
      lasthop sweep campaign.toml --shard 3/8
      lasthop sweep prune --older-than 30d
      lasthop sweep index
    """
    from lasthop.campaign.executors import parse_shard

    shard = None if said["shard"] is None else parse_shard(said["shard"])
    limit = said["time_limit"]
    said["time_limit_s"] = None if limit is None else _number("--time-limit", limit, _AGE, _AGES, "90s or 10min")
    if said["finished"] and said["dry_run"]:
        raise click.UsageError("--dry-run and --finished: give one of the two")
    with redirect_stdout(sys.stderr):  # what own code prints
        chosen = _campaign(campaign, base, said)
    if said["dry_run"]:
        _estimate(chosen, said)
        return
    from lasthop.campaign.conduct import conduct
    from lasthop.campaign.results import check_target
    from lasthop.campaign.store import Store

    store = Store(said["store"])
    ending = (f"-{shard[0]}-of-{shard[1]}" if shard else "") + ("-finished" if said["finished"] else "")
    folder = said["out"] or Path("results") / (chosen.name + ending)
    notes = check_target(folder, chosen, store.path, said["force"], said["finished"])
    for note in notes:
        _output.note(note)
    command = shlex.join(["lasthop", "sweep", *ctx.meta.get(_WORDS, [])])
    quiet = said["quiet"] or said["as_json"]
    with (
        leaving(
            lambda: (
                f"finished runs are kept in {store.path}: the same command continues with them, and with "
                "--finished it shows them"
            )
        ),
        _runs.bar(chosen.name, shown=not quiet) as progress,
        redirect_stdout(sys.stderr),
    ):
        results = conduct(
            chosen, store, using=said["executor"], jobs=said["jobs"], threads=said["threads"], shard=shard,
            out=folder, command=command, force=said["force"], time_limit_s=said["time_limit_s"],
            finished_only=said["finished"], progress=progress, also=_report,
        )  # fmt: skip
    with leaving(lambda: f"the results are complete in {folder}"):
        for note in store.notes:
            if note not in notes:
                _output.note(note)
        if results.incomplete is not None:
            _output.note(results.incomplete)
        _tell(results, folder, said)
    if results.about["runs"]["failed"]:
        ctx.exit(1)


def _report(folder: Path, results: CampaignResults) -> None:
    """Figures and report go into the folder of the results."""
    from lasthop.report import campaign as report

    written = {path.stem for path in report.write(folder, results)}
    for spec in report.figure_specs(results):
        if spec.name not in written:
            _output.note(f"the figure '{spec.name}' is left out; report.html says why")


def _campaign(campaign: str | None, base: str | None, said: dict[str, Any]) -> Campaign:
    """The campaign of a file, or of flags."""
    from lasthop.campaign.definition import Campaign
    from lasthop.campaign.flags import campaign_of, seeds_of

    for key in ("axes", "metrics", "sets", "where", "cc", "schedulers"):
        said[key] = tuple(map(utf8, said[key]))
    if (campaign is None) == (base is None):
        raise click.UsageError("give a campaign, or --base with --axis and --metric" if base is None else _BOTH)
    if base is not None:
        keys = ("name", "seeds", "until", "keep", "where", "cc", "schedulers", "limit")
        return campaign_of(base, said["axes"], said["metrics"], set=said["sets"], **{k: said[k] for k in keys})
    for option, key in (("--axis", "axes"), ("--metric", "metrics"), ("--where", "where"), ("--name", "name"),
                        ("--cc", "cc"), ("--scheduler", "schedulers")):  # fmt: skip
        if said[key]:
            raise click.UsageError(f"{option} goes with --base; --set changes a campaign's file, as in {_CHANGED[key]}")
    sets = list(said["sets"])
    if said["seeds"] is not None:
        from lasthop._values import to_toml

        sets.append(f"campaign.seeds={to_toml(seeds_of(said['seeds']))}")
    if said["until"] is not None:
        sets.append(f"campaign.until={said['until']}")
    if said["keep"]:
        sets.append(f"campaign.keep=[{', '.join(repr(k) for k in said['keep'])}]")
    assert campaign is not None  # one of the two is given
    return Campaign.load(campaign, sets, limit=said["limit"])


_BOTH = "a campaign and --base: give one of the two"
_CHANGED = {
    "axes": '--set \'axis.cc.values=["reno", "cubic"]\'',
    "metrics": "--set 'metric.late=count(drops)'",
    "where": "--set 'campaign.where=cc != \"reno\"'",
    "name": "--set campaign.name=NAME",
    "cc": "--set cc.mine=FILE.py:CLASS",
    "schedulers": "--set scheduler.mine=FILE.py:CLASS",
}


def _tell(results: CampaignResults, folder: Path, said: dict[str, Any]) -> None:
    about = results.about
    if said["as_json"]:
        _output.json_object({**about, "out": str(folder)})
        return
    if said["quiet"]:
        return
    from lasthop.campaign.tidy import tidy

    data = tidy(results)
    if len(data.points) <= _MOST_SHOWN and data.units:
        show_points(data, list(data.units), data.level, None)
    tell_unmoved(data)
    _output.line(summary(results, data, data.level))
    runs = about["runs"]
    made = runs["done"] - runs["taken"] - runs["failed"]
    found = f", {runs['taken']:,} found in the store" if runs["taken"] else ""
    failed = f", {runs['failed']:,} failed" if runs["failed"] else ""
    _output.line(f"{made:,} runs made in {_format.duration(about['seconds'])}{found}{failed}")
    _show_failures(about)
    _output.line(f"Results: {folder}")
    _output.line(f"Look at them: {folder / 'report.html'}, or lasthop results {folder}")


def _show_failures(about: dict[str, Any]) -> None:
    failed, missing = about["runs"]["failed"], about["missing"]["values"]
    if failed:
        first = next((f for f in about["failures"] if f["metric"] is None), None)
        why = f"; the first (seed {first['seed']}): {first['reason']}" if first else ""
        _output.note(f"{failed:,} runs failed{why}. The same command makes them again.")
    if missing:
        first = next((f for f in about["failures"] if f["metric"] is not None), None)
        why = f"; the first, {first['metric']}: {first['reason']}" if first else ""
        _output.note(f"{missing:,} values are missing{why}")


def _estimate(campaign: Campaign, said: dict[str, Any]) -> None:
    from lasthop.campaign.conduct import dry_run

    with leaving(lambda: "nothing was written"):
        with redirect_stdout(sys.stderr):
            found: Estimate = dry_run(
                campaign, said["store"], using=said["executor"], jobs=said["jobs"], time_limit_s=said["time_limit_s"]
            )
        if said["as_json"]:
            shown = _runs.estimate_json(found)
            _output.json_object({"campaign": campaign.name, "points": len(campaign.points), **shown})
            return
        sizes = " x ".join(f"{len(a)} {a.name}" for a in campaign.axes)
        _output.line(f"{campaign.name}: {len(campaign.points):,} points{f' of {sizes}' if sizes else ''}")
        _runs.tell_estimate(found)


_AGE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(s|min|h|d)\s*\Z")
_AGES = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(B|kB|MB|GB|TB)\s*\Z")
_SIZES = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


@click.command()
@_runs.store_option
@click.option("--older-than", metavar="AGE", help="Remove runs that were written longer ago: 30d, 12h.")
@click.option("--larger-than", metavar="SIZE", help="Remove the oldest runs until the rest takes no more: 10GB.")
@_output.json_option
def prune(store: Path | None, older_than: str | None, larger_than: str | None, as_json: bool) -> None:
    """Remove finished runs from the store, by age or size. Result folders stay.

    \b
    Examples:
      lasthop sweep prune --older-than 30d
      lasthop sweep prune --larger-than 10GB --store /data/store
    """
    from lasthop.campaign.store import Store

    age = None if older_than is None else _number("--older-than", older_than, _AGE, _AGES, "30d, 12h or 90min")
    size = None if larger_than is None else _number("--larger-than", larger_than, _SIZE, _SIZES, "10GB or 500MB")
    if age is None and size is None:
        raise click.UsageError("give --older-than or --larger-than")
    opened = Store(store)
    done = opened.prune(age, None if size is None else round(size))
    for note in opened.notes:
        _output.note(note)
    if as_json:
        keys = ("files", "octets", "files_left", "octets_left")
        _output.json_object({"store": str(opened.path), **{key: getattr(done, key) for key in keys}})
        return
    _output.line(f"{done.files:,} files removed ({_runs.octets(done.octets)}) from {opened.path}")
    _output.line(f"{done.files_left:,} files are left ({_runs.octets(done.octets_left)})")


@click.command()
@_runs.store_option
@_output.json_option
def index(store: Path | None, as_json: bool) -> None:
    """Make the index of the store anew from its files.

    The index is a cache: it makes finding runs faster, and nothing is lost without it. Files that
    are not whole are named and set aside.

    \b
    Example:
      lasthop sweep index
    """
    from lasthop.campaign.store import Store

    opened = Store(store)
    files, entries = opened.index()
    for note in opened.notes:
        _output.note(note)
    if as_json:
        _output.json_object({"store": str(opened.path), "files": files, "entries": entries, "notes": opened.notes})
        return
    _output.line(f"{entries:,} entries in {files:,} files of {opened.path}")


def _number(option: str, text: str, pattern: re.Pattern[str], units: dict[str, Any], example: str) -> float:
    found = pattern.match(text)
    if found is None:
        raise mistake(f"{option} '{text[:40]}' is no number with its unit", f"such as {example}")
    return float(found[1]) * float(units[found[2]])


sweep.commands.update({"prune": prune, "index": index})
