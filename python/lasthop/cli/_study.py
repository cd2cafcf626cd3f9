"""`lasthop study`: published experiments, repeated and compared claim by claim."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lasthop._errors import mistake
from lasthop._stop import leaving
from lasthop.cli import _completion, _output, _runs

if TYPE_CHECKING:
    from lasthop.campaign.conduct import Estimate
    from lasthop.harness import StudyInfo, StudyResult


@click.group()
def study() -> None:
    """List or run studies of published experiments.

    A study repeats an experiment and tests the claims of its publication.

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
@_runs.jobs_option
@click.option("--executor", type=_runs.EXECUTORS, help="Where runs are made: threads, processes or ray. [threads]")
@_runs.store_option
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="[results/NAME, results/NAME-quick]")
@click.option("--fresh", is_flag=True, help="Make every run anew, take none from the store.")
@click.option(
    "--dry-run", is_flag=True, help="Print the number of runs, time and disk space; makes a few runs to measure."
)
@_output.json_option
def run(
    name: str,
    quick: bool,
    reps: int | None,
    jobs: int,
    executor: str | None,
    store: Path | None,
    out: Path | None,
    fresh: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Run a study: simulate, draw its figures, compare its claims, write a report.

    NAME is a bundled study (see 'lasthop study list') or a folder with a study.toml. Each claim
    gets a verdict: agrees, differs, undecided, ambiguous or not-testable. A study whose claims
    differ has still run well: the exit code is 0.
    An earlier result of the same study in DIR is replaced. Finished runs are kept in the store that
    campaigns use: after a stop the same command continues from there.

    \b
    Examples:
      lasthop study run umts-vegas --quick
      lasthop study run umts-vegas --quick --dry-run
      lasthop study run umts-vegas --reps 10 --out results/full
    """
    from lasthop import harness
    from lasthop.campaign.store import Store
    from lasthop.harness.errors import StudyError

    kept = Store(store)
    said: dict[str, Any] = {"quick": quick, "reps": reps, "jobs": jobs, "using": executor, "store": kept}
    try:
        if dry_run:
            with leaving(lambda: "nothing was written"):
                found = harness.estimate_study(name, fresh=fresh, **said)
                _estimate(harness.find_study(name, quick).name, found, as_json)
            return
        with (
            leaving(lambda: f"finished runs are kept in {kept.path}: the same command continues with them"),
            _runs.bar(name, shown=not as_json) as progress,
        ):
            result = harness.run_study(name, out=out, progress=progress, fresh=fresh, **said)
    except StudyError as err:
        raise mistake(str(err)) from err
    with leaving(lambda: f"the study is complete in {result.folder}"):
        for note in kept.notes:
            _output.note(note)
        if as_json:
            _output.json_object(result.to_json_dict())
        else:
            _show(result)


def _estimate(name: str, found: Estimate, as_json: bool) -> None:
    if as_json:
        _output.json_object({"study": name, **_runs.estimate_json(found)})
        return
    _runs.tell_estimate(found)
    if found.runs[0] < found.runs[1]:
        _output.line("The larger number is with the ablations of all claims; those of claims that differ are made.")


def _show(result: StudyResult) -> None:
    claims = result.claims[result.parameter_set]
    rows = [(c.claim.id, c.finding.verdict, c.claim.says, c.finding.text) for c in claims]
    _output.table(("claim", "verdict", "paper", "ours"), rows, wrap=True)
    verdicts: list[str] = [c.finding.verdict for c in claims]
    tally = ", ".join(f"{verdicts.count(v)} {v}" for v in dict.fromkeys(sorted(verdicts)))
    _output.line()
    runs = f"{result.runs:,} runs made" + (f" ({result.taken:,} found in the store)" if result.taken else "")
    _output.line(f"{result.study}, parameter set {result.parameter_set}: {tally}, {runs} in {result.seconds:.0f} s")
    for what, why in result.left_out.items():
        _output.line(f"Left out: {what}. {why}")
    _output.line(f"Report: {result.report.resolve()}")
