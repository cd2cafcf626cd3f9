//! Live runs.

use std::path::PathBuf;

use lasthop_live::Plan;
use pyo3::prelude::*;

use crate::error::{LasthopError, raise};
use crate::run::RunOutput;
use crate::scenario::Scenario;

/// Runs a scenario with external nodes in real time. An exception during the run ends it early, and
/// has the results up to then.
#[pyfunction]
#[pyo3(signature = (scenario, plan, out=None, replace=false, capture=None))]
pub fn live(
    py: Python<'_>,
    scenario: &Scenario,
    plan: &str,
    out: Option<PathBuf>,
    replace: bool,
    capture: Option<PathBuf>,
) -> PyResult<(RunOutput, Option<Py<PyAny>>)> {
    let plan: Plan = serde_json::from_str(plan).map_err(|e| LasthopError::new_err(e.to_string()))?;
    let mut interrupted: Option<PyErr> = None;
    let result = py.detach(|| {
        let files = lasthop_sim::Files { out: out.as_deref(), replace, capture: capture.as_deref() };
        lasthop_live::run(&scenario.0, &plan, files, &mut |_| {
            Python::attach(|py| py.check_signals()).map_err(|e| interrupted = Some(e)).is_ok()
        })
    });
    let output = result.map_err(|e| raise(&e))?;
    let stopped = interrupted.map(|e| e.into_value(py).into_any());
    Ok((RunOutput(output), stopped))
}

/// Runs a scenario with nodes of a real kernel, inside a guest of that kernel. The run continues
/// while the file `stop` is absent; a run that is ended early has results up to then. The file
/// `share` has the share of the duration that has passed, updated at each hundredth.
#[pyfunction]
#[pyo3(signature = (scenario, stop, share, out, capture=None))]
pub fn linux_guest(
    py: Python<'_>,
    scenario: &Scenario,
    stop: PathBuf,
    share: PathBuf,
    out: PathBuf,
    capture: Option<PathBuf>,
) -> PyResult<()> {
    let files = lasthop_sim::Files { out: Some(&out), replace: false, capture: capture.as_deref() };
    let mut shown = 0.0;
    let mut alive = |passed: f64| {
        if passed >= shown + 0.01 {
            shown = passed;
            let _not_shown = std::fs::write(&share, passed.to_string());
        }
        !stop.exists()
    };
    py.detach(|| lasthop_live::run_in_guest(&scenario.0, files, &mut alive)).map_err(|e| raise(&e))
}

/// True if programs of a live run are root of this machine.
#[pyfunction]
pub fn live_programs_are_root() -> bool {
    lasthop_live::programs_are_root()
}

/// The requirements of a live run on this machine, as JSON.
#[pyfunction]
pub fn live_check(py: Python<'_>) -> String {
    py.detach(|| lasthop_live::check().to_string())
}
