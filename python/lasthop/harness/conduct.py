"""Conducts a study: plans the runs, makes them, judges every claim, writes the folder."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from lasthop._files import resolved
from lasthop.campaign.executors import executor
from lasthop.campaign.store import Store
from lasthop.harness.cards import ENOUGH
from lasthop.harness.definition import (
    BASE,
    BUNDLED,
    Claim,
    Group,
    ParameterSet,
    SensitivityPlan,
    Study,
    Value,
    Variation,
    load_study,
)
from lasthop.harness.errors import NoKernelError, NoRunsError, StudyError
from lasthop.harness.folder import CLAIMS, check_target, claimed, write_folder
from lasthop.harness.judge import Finding, not_testable
from lasthop.harness.recorded import Recorded, RecordedRuns
from lasthop.harness.result import ClaimResult, Evidence, SensitivityCell, StudyResult
from lasthop.harness.runner import Request, Runner, narrowed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from os import PathLike

    from lasthop.campaign.conduct import Estimate, Progress
    from lasthop.campaign.executors import Executor
    from lasthop.harness.data import Backend, Data

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True)
class StudyInfo:
    """A study that comes with the package."""

    name: str
    title: str
    summary: str
    source: str
    folder: Path
    #: Processor time of one core by form, "quick" and "full" [min]; what was not measured is
    #: absent.
    cpu_minutes: Mapping[str, float] = field(default_factory=dict)


def list_studies() -> list[StudyInfo]:
    """The studies that come with the package, by name."""
    found = []
    for path in sorted(BUNDLED.glob("*/study.toml")):
        with path.open("rb") as file:
            head = tomllib.load(file)["study"]
        texts = (head["name"], head["title"], head["summary"], head["source"])
        found.append(StudyInfo(*texts, path.parent, head.get("cpu_minutes", {})))
    return found


def find_study(name: str | Path, quick: bool = False) -> Study:
    """The study of that name, or in that folder."""
    for info in list_studies():
        if info.name == str(name):
            return load_study(info.folder, quick)
    if (Path(name) / "study.toml").is_file():
        return load_study(Path(name), quick)
    known = ", ".join(info.name for info in list_studies())
    raise StudyError(f"no study {str(name)!r}; there are: {known} (or give a folder with a study.toml)")


def run_study(
    name: str | Path,
    *,
    quick: bool = False,
    reps: int | None = None,
    jobs: int = 0,
    using: Executor | str | None = None,
    store: Store | str | PathLike[str] | None = None,
    out: str | Path | None = None,
    parameter_sets: Sequence[str] | None = None,
    progress: Progress | None = None,
    backend: Backend | None = None,
    fresh: bool = False,
) -> StudyResult:
    """Runs a study and writes its folder.

    Finished runs go to the store, as the values of their reducers. A later call takes the runs with
    the same scenario, build and reducer from the store, so that a study that was stopped continues.

    Args:
        name: a bundled study, or a folder with a study.toml.
        quick: the short form that the study declares (fewer seeds, shorter runs).
        reps: the number of replications, from 1 on; None: as the study says.
        jobs: runs at a time; 0: one per processor. Results do not depend on it.
        using: an executor of campaigns or its name (threads, processes, ray); None: threads.
            Results do not depend on it.
        store: where finished runs are kept; None: `lasthop.campaign.store.default_path`.
        out: the folder to write; None: `results/<study>`, `results/<study>-quick`. An earlier
            result of the study in this folder is replaced, and only one study at a time may write
            to it.
        parameter_sets: the sets to run; None: all.
        progress: gets an `Event` after each run; the runs of ablations are added to its total after
            all other claims are judged.
        backend: what reads and runs scenarios; None: the simulator.
        fresh: makes every run anew.

    Raises:
        StudyError: there is no such study, it has a mistake, a run of it has failed, or `out` holds
            something else.
        LasthopError: the store cannot be read or written, or there is no such executor.
    """
    started = time.monotonic()
    study, sets = _chosen(name, quick, reps, parameter_sets)
    folder = result_folder(study, quick, out)

    check_target(study, folder)  # before hours of runs, not after them
    with claimed(folder):
        makes = executor(using, jobs) if using is None or isinstance(using, str) else using
        kept = store if isinstance(store, Store) else Store(store)
        runner = Runner(study, backend, makes, kept, fresh, progress)
        evidence = conduct(study, sets, runner)
        write_folder(study, evidence, folder)
    return StudyResult(
        study=study.name,
        quick=quick,
        parameter_set=evidence.main_set,
        claims=evidence.claims,
        folder=folder,
        runs=runner.made,
        taken=len(runner.taken),
        seconds=time.monotonic() - started,
        left_out=_left_out(evidence),
    )


def remake_study(folder: str | Path, *, backend: Backend | None = None) -> tuple[Study, Evidence]:
    """Judges the runs of an earlier result again, with the study as it is now.

    It makes no runs and writes nothing.

    Args:
        folder: what `run_study` wrote.
        backend: what reads scenarios; None: the simulator.

    Raises:
        StudyError: the folder holds no result, or a result without its runs, or the study now needs
            other runs.
    """
    folder = Path(folder)
    kept = Recorded(folder)
    try:
        name = json.loads((folder / CLAIMS).read_text(encoding="utf-8"))["study"]
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise StudyError(f"cannot read {folder / CLAIMS}: {error}") from error
    study = find_study(kept.folder or name, kept.quick)
    groups = tuple(replace(g, seeds=kept.seeds.get(g.name, g.seeds)) for g in study.groups)
    study = replace(study, groups=groups)
    sets = [study.parameter_set(s) for s in kept.sets]
    return study, conduct(study, sets, kept.of(study, backend))


def estimate_study(
    name: str | Path,
    *,
    quick: bool = False,
    reps: int | None = None,
    jobs: int = 0,
    using: Executor | str | None = None,
    store: Store | str | PathLike[str] | None = None,
    parameter_sets: Sequence[str] | None = None,
    backend: Backend | None = None,
    fresh: bool = False,
) -> Estimate:
    """Estimates the cost of `run_study` from some of its missing runs.

    It writes nothing. The arguments are those of `run_study`.

    The least number of runs is that of the runs that are made in any case. The most includes every
    ablation, as if each claim differed.

    Raises:
        StudyError: there is no such study, or it has a mistake.
        LasthopError: none of the runs gave a result.
    """
    study, sets = _chosen(name, quick, reps, parameter_sets)
    makes = executor(using, jobs) if using is None or isinstance(using, str) else using
    kept = store if isinstance(store, Store) else Store(store)
    runner = Runner(study, backend, makes, kept, fresh)
    steps = _steps(study, sets, runner)
    perhaps = [r for s in sets for c in study.claims for a in c.ablations if a.under(s) for r in _over(study, s, c, a)]
    return runner.estimate(_requests(study, sets, steps), perhaps)


def _chosen(
    name: str | Path, quick: bool, reps: int | None, parameter_sets: Sequence[str] | None
) -> tuple[Study, list[ParameterSet]]:
    study = find_study(name, quick)
    if reps is not None:
        if reps < 1:
            raise StudyError(f"reps must be at least 1, not {reps}")
        study = study.with_seeds(reps)
    return study, [study.parameter_set(s) for s in parameter_sets] if parameter_sets else list(study.parameter_sets)


def _left_out(evidence: Evidence) -> dict[str, str]:
    """What was not run, in words, with the reason."""
    found = {}
    for (_, variation), data in evidence.data.items():
        for group, why in data.absent.items():
            found[f"group `{group}`" if variation == BASE.name else f"reading `{variation}`"] = why
    return found


def result_folder(study: Study, quick: bool, out: str | Path | None = None) -> Path:
    """The folder of the study: `out` (its target if it is a symbolic link), or the default."""
    folder = Path(out) if out is not None else Path("results") / (study.name + ("-quick" if quick else ""))
    return resolved(folder)


def conduct(study: Study, sets: Sequence[ParameterSet], runner: Runner | RecordedRuns) -> Evidence:
    """Makes all runs and judges all claims; writes nothing."""
    scenarios = {s.name: runner.load(s) for s in sets}
    steps = _steps(study, sets, runner)
    data = {(d.parameter_set.name, d.variation.name): d for d in runner.run(_requests(study, sets, steps))}
    for found in data.values():
        _note_settings(found, runner)
    claims = {s.name: [_judge_fully(study, c, s, steps[s.name], data) for c in study.claims] for s in sets}
    data.update(_ablate(study, sets, claims, runner))
    return Evidence(study, data, scenarios, claims)


def _steps(study: Study, sets: Sequence[ParameterSet], runner: Runner | RecordedRuns) -> dict[str, list[_Step]]:
    return {s.name: list(_sensitivity_steps(s, study.sensitivity, runner)) for s in sets}


def _requests(study: Study, sets: Sequence[ParameterSet], steps: Mapping[str, Sequence[_Step]]) -> list[Request]:
    """All runs that do not depend on verdicts."""
    requests = [Request(s, BASE, g) for s in sets for g in study.groups if g.under(s)]
    for s in sets:
        requests += _variation_requests(study, s)
        requests += [
            Request(s, step.variation, group)
            for step in steps[s.name]
            if step.invalid is None
            for group in _sensitivity_groups(study)
            if group.under(s)
        ]
    return requests


@dataclass(frozen=True)
class _Step:
    """One calibrated value moved one way, or put back to what it took the place of."""

    value: Value
    factor: float
    variation: Variation
    invalid: str | None


def _sensitivity_steps(s: ParameterSet, plan: SensitivityPlan | None, runner: Runner | RecordedRuns) -> Iterable[_Step]:
    if plan is None:
        return
    for value in s.calibrated:
        if value.is_choice:  # on or off: the other position is a reading
            continue
        if not value.scalable and value.instead_of is not None:  # a name: what it took the place of
            yield _step(s, value.instead_of, 1.0, runner)
            continue
        for factor in value.factors or (1 - plan.step, 1 + plan.step):
            yield _step(s, value, factor, runner)


def _step(s: ParameterSet, value: Value, factor: float, runner: Runner | RecordedRuns) -> _Step:
    overrides = tuple(value.overrides(factor))
    invalid = None
    try:
        runner.load(s, overrides)
    except ValueError as error:  # the model does not accept this value
        invalid = _first_error(str(error))
    return _Step(value, factor, Variation(f"{value.name} x {factor:g}", "sensitivity", overrides), invalid)


def _first_error(text: str) -> str:
    """The first line that is an error: warnings may stand before it."""
    lines = text.strip().splitlines()
    return next((line for line in lines if line.startswith("error")), lines[0])


def _sensitivity_groups(study: Study) -> list[Group]:
    plan = study.sensitivity
    if plan is None:
        return []
    needed = {name for claim in study.claims for name in claim.groups}
    return [narrowed(g, plan.only, plan.seeds, plan.overrides) for g in study.groups if g.name in needed]


def _variation_requests(study: Study, s: ParameterSet) -> Iterable[Request]:
    """Readings and mechanism switches, each over the groups of the claims that it concerns."""
    for reading in (r for r in study.readings if r.under(s)):
        concerned = [c for c in study.claims if reading.claims is None or c.id in reading.claims]
        needed = {name for claim in concerned for name in claim.groups}
        for group in study.groups:
            if group.name in needed and group.under(s):
                yield Request(s, reading, group)
    for claim in study.claims:
        if claim.switch is not None:
            yield from _over(study, s, claim, _own(claim, claim.switch))


def _over(study: Study, s: ParameterSet, claim: Claim, variation: Variation) -> Iterable[Request]:
    groups = (study.group(name) for name in claim.groups if study.has_group(name))
    return (Request(s, variation, group) for group in groups if group.under(s))


def _own(claim: Claim, variation: Variation) -> Variation:
    """The variation under a name that no other claim uses."""
    return replace(variation, name=f"{claim.id}: {variation.name}")


def _judge_fully(
    study: Study,
    claim: Claim,
    s: ParameterSet,
    steps: Iterable[_Step],
    data: dict[tuple[str, str], Data],
) -> ClaimResult:
    base = judge_claim(study, claim, data[s.name, BASE.name])
    result = ClaimResult(claim, base)
    for reading in study.readings:
        if reading.under(s) and (reading.claims is None or claim.id in reading.claims):
            result.readings[reading.name] = judge_claim(study, claim, data[s.name, reading.name])
    if claim.switch is not None and (s.name, _own(claim, claim.switch).name) in data:
        result.off = judge_claim(study, claim, data[s.name, _own(claim, claim.switch).name])
        result.finding = with_switch(base, result.off, claim.switch)
    for step in steps:
        if step.invalid is not None:
            finding = not_testable(f"the model refuses this value: {step.invalid}")
        elif claim.groups:
            finding = judge_claim(study, claim, data[s.name, step.variation.name])
        else:
            finding = base  # arithmetic only: no run stands behind it
        result.sensitivity.append(SensitivityCell(step.value, step.factor, finding))
    return result


def judge_claim(study: Study, claim: Claim, data: Data) -> Finding:
    """Judges one claim on one set of data.

    A claim whose runs were not made is not testable; few replications are noted.
    """
    claim = replace(claim, settings={**claim.settings, **data.variation.settings})
    try:
        finding = study.function(claim.evaluator)(claim, data)
    except NoKernelError as missing:
        return not_testable(f"left out: {missing}")
    except NoRunsError as missing:
        return not_testable(str(missing) + (" (quick form)" if study.quick else ""))
    if not isinstance(finding, Finding):
        raise StudyError(f"{study.code_file}: {claim.evaluator} returned {finding!r} for claim {claim.id}, no Finding")
    if finding.n is not None and finding.n < ENOUGH and f"n = {finding.n}" not in finding.note:
        finding = finding.noting(f"n = {finding.n}: few replications")
    return finding if data.variation.role == "sensitivity" else _of_one_run(study, claim, finding)


def _of_one_run(study: Study, claim: Claim, finding: Finding) -> Finding:
    """One replication has no interval.

    Its verdict stands only if the study says why one is enough.
    """
    single = [study.group(name) for name in claim.groups if study.has_group(name) and study.group(name).seeds == 1]
    reasons = list(dict.fromkeys(group.one_run for group in single if group.one_run))
    if any(not group.one_run for group in single) and finding.verdict in ("agrees", "differs"):
        note = f"one replication: it {finding.verdict}, and nothing says how far chance decides"
        return replace(finding, verdict="undecided").noting(note)
    return finding.noting(f"one run of each point: {'; '.join(reasons)}") if reasons else finding


def with_switch(on: Finding, off: Finding, switch: Variation) -> Finding:
    """A mechanism claim agrees only if its test passes with the mechanism on and fails with it off.

    If it is undecided whether the test fails with the mechanism off, the claim is undecided.
    """
    if on.verdict != "agrees":
        return on.noting(f"with {switch.name}: {off.verdict} ({off.text})")
    if off.verdict == "agrees":
        return replace(on, verdict="differs").noting(f"the test also passes with {switch.name}: it shows no mechanism")
    if off.verdict == "undecided":
        on = replace(on, verdict="undecided")
    return on.noting(f"with {switch.name}: {off.verdict} ({off.text})")


def _ablate(
    study: Study,
    sets: Sequence[ParameterSet],
    claims: dict[str, list[ClaimResult]],
    runner: Runner | RecordedRuns,
) -> dict[tuple[str, str], Data]:
    """For each claim that differs, the declared ablations: the runs that turn it."""
    wanted = [
        (s, result, ablation)
        for s in sets
        for result in claims[s.name]
        if result.finding.verdict == "differs"
        for ablation in result.claim.ablations
        if ablation.under(s)
    ]
    requests = {
        (r.parameter_set.name, r.variation.name, r.group.name): r  # an ablation that claims share is run once
        for s, result, ablation in wanted
        for r in _over(study, s, result.claim, ablation)
    }
    found = {(d.parameter_set.name, d.variation.name): d for d in runner.run(requests.values())}
    for data in found.values():
        _note_settings(data, runner)
    for s, result, ablation in wanted:
        if (ablated := found.get((s.name, ablation.name))) is not None:
            result.ablations.append((ablation, judge_claim(study, result.claim, ablated)))
    return found


def _note_settings(data: Data, runner: Runner | RecordedRuns) -> None:
    """Lets evaluators look up what the scenario says in this set and variation."""
    data.effective = tomllib.loads(runner.load(data.parameter_set, data.variation.overrides).to_toml())
