"""`lasthop study`: published experiments, repeated and compared claim by claim."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console

from lasthop._errors import mistake
from lasthop._progress import Lines
from lasthop._stop import leaving
from lasthop.cli import _completion, _output

if TYPE_CHECKING:
    from lasthop.harness import StudyInfo, StudyResult


@click.group()
def study() -> None:
    """List or run studies: published experiments with their claims.

    \b
    Example:
      lasthop study list
      lasthop study run umts-vegas --quick
    """


@study.command("list")
@_output.json_option
def list_(as_json: bool) -> None:
    """List the studies with the processor time that their forms take.

    Minutes are those of one core; a study uses all cores unless --jobs says otherwise.

    \b
    Example:
      lasthop study list
    """
    from lasthop import harness

    studies = harness.list_studies()
    if as_json:
        keys = ("name", "title", "summary", "source")
        found = [{**{k: getattr(s, k) for k in keys}, "cpu_minutes": dict(s.cpu_minutes)} for s in studies]
        _output.json_object({"studies": found})
        return
    rows = [(s.name, _minutes(s, "quick"), _minutes(s, "full"), s.title) for s in studies]
    _output.table(("study", "quick", "full", "shows"), rows, right=(1, 2))
    _output.line()
    _output.line("Times are of one core. Run one: lasthop study run NAME --quick")


def _minutes(study: StudyInfo, form: str) -> str:
    minutes = study.cpu_minutes.get(form)
    return "" if minutes is None else f"{minutes:g} min"


@study.command()
@click.argument("name", shell_complete=_completion.studies)
@click.option("--quick", is_flag=True, help="A shorter form with the same figures and wider confidence intervals.")
@click.option("--reps", type=click.IntRange(min=1), metavar="N", help="Repetitions (seeds) of each point.")
@click.option("--jobs", type=click.IntRange(min=0), metavar="N", default=0, help="Runs at a time. [one per core]")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="[results/NAME, results/NAME-quick]")
@click.option("--fresh", is_flag=True, help="Make every run anew, take none from an earlier call.")
@_output.json_option
def run(name: str, quick: bool, reps: int | None, jobs: int, out: Path | None, fresh: bool, as_json: bool) -> None:
    """Run a study: simulate, draw its figures, compare its claims, write a report.

    NAME is a bundled study (see 'lasthop study list') or a folder with a study.toml. Each claim gets a verdict:
    agrees, differs, undecided, ambiguous or not-testable. A study whose claims differ has still run well: the exit
    code is 0.
    An earlier result of the same study in DIR is replaced. Finished runs are kept in DIR.runs: after a stop the same
    command goes on from there.

    \b
    Examples:
      lasthop study run umts-vegas --quick
      lasthop study run umts-vegas --reps 10 --out results/full
    """
    from lasthop import harness
    from lasthop.harness.errors import StudyError

    try:
        kept = lambda: _left(harness.kept_runs(name, quick=quick, out=out))  # noqa: E731
        with leaving(kept), _bar(name, shown=not as_json) as progress:
            result = harness.run_study(name, quick=quick, reps=reps, jobs=jobs, out=out, progress=progress, fresh=fresh)
    except StudyError as err:
        raise mistake(str(err)) from err
    with leaving(lambda: f"the study is complete in {result.folder}"):
        if as_json:
            _output.json_object(result.to_json_dict())
        else:
            _show(result)


def _left(kept: Path | None) -> str:
    if kept is None:
        return "no run had finished"
    return f"finished runs are kept in {kept}: the same command continues with them"


def _show(result: StudyResult) -> None:
    claims = result.claims[result.parameter_set]
    rows = [(c.claim.id, c.finding.verdict, c.claim.says, c.finding.text) for c in claims]
    _output.table(("claim", "verdict", "paper", "ours"), rows, wrap=True)
    verdicts: list[str] = [c.finding.verdict for c in claims]
    tally = ", ".join(f"{verdicts.count(v)} {v}" for v in dict.fromkeys(sorted(verdicts)))
    _output.line()
    runs = f"{result.runs} runs" + (f" ({result.taken} more from before)" if result.taken else "")
    _output.line(f"{result.study}, parameter set {result.parameter_set}: {tally}, {runs} in {result.seconds:.0f} s")
    _output.line(f"Report: {result.report.resolve()}")


@contextmanager
def _bar(name: str, shown: bool) -> Iterator[Callable[..., None] | None]:
    if not shown:
        yield None
        return
    if not sys.stderr.isatty():
        lines = Lines(name)
        yield lambda done, total, _what="": lines.show(done / max(total, 1), f"{done} of {total} runs")
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(name, total=None)

        def report(done: int, total: int, what: str = "") -> None:
            bar.update(task, completed=done, total=total, description=what or name)

        yield report
