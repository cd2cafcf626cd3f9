"""The study harness: published claims as data, our runs beside them, a verdict for each.

A study is a folder with `study.toml` (parameter sets, grids of runs, readings), `claims.toml` (what
the source says and how it is tested), `scenario.toml` (the base scenario) and `study.py` (how runs
are reduced, claims judged, figures drawn). `run_study` makes the runs and writes a folder with a
report. Nothing here depends on any one study.

The rules: A parameter set lists the provenance of each value. At most five of the values are
calibrated, for all claims together. Each claim is judged again at +-20 % of each calibrated value.
A claim about a mechanism must fail when the mechanism is switched off. A claim that differs is
shown with the run that changes its verdict.
"""

from lasthop.harness.conduct import (
    StudyInfo,
    conduct,
    estimate_study,
    find_study,
    judge_claim,
    list_studies,
    remake_study,
    run_study,
)
from lasthop.harness.data import Backend, Data, Record, Run
from lasthop.harness.definition import Claim, Study, Variation, load_study
from lasthop.harness.errors import NoKernelError, NoRunsError, StudyCodeError, StudyError
from lasthop.harness.judge import Check, Finding, Verdict
from lasthop.harness.result import ClaimResult, Evidence, Figure, StudyResult, TableView
from lasthop.harness.runner import Runner
from lasthop.harness.stats import Estimate, StepSeries

__all__ = [
    "Backend",
    "Check",
    "Claim",
    "ClaimResult",
    "Data",
    "Estimate",
    "Evidence",
    "Figure",
    "Finding",
    "NoKernelError",
    "NoRunsError",
    "Record",
    "Run",
    "Runner",
    "StepSeries",
    "Study",
    "StudyCodeError",
    "StudyError",
    "StudyInfo",
    "StudyResult",
    "TableView",
    "Variation",
    "Verdict",
    "conduct",
    "estimate_study",
    "find_study",
    "judge_claim",
    "list_studies",
    "load_study",
    "remake_study",
    "run_study",
]
