//! Whole runs: one, or many on all cores.

use std::path::PathBuf;

use pyo3::prelude::*;

use crate::error::{finish, raise};
use crate::scenario::Scenario;
use crate::table::pyarrow_table;

/// The results of a run.
#[pyclass(frozen, module = "lasthop._core")]
pub struct RunOutput(pub lasthop_sim::RunOutput);

#[pymethods]
impl RunOutput {
    /// The manifest, as JSON text.
    #[getter]
    fn manifest(&self) -> String {
        self.0.manifest().to_string()
    }
    /// The summary, as JSON text.
    #[getter]
    fn summary(&self) -> String {
        self.0.summary().to_string()
    }
    /// Names of the tables that the run wrote.
    fn table_names(&self) -> Vec<String> {
        self.0.table_names().map(str::to_owned).collect()
    }
    /// A table as `pyarrow.Table`, without copying: with `columns` only those of these names that
    /// it has, in the table's order. Each column costs time, whatever the number of its rows.
    #[pyo3(signature = (name, columns=None))]
    fn table<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        columns: Option<Vec<String>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (batches, schema) = match columns {
            None => self.0.table(name),
            Some(columns) => self.0.columns(name, &columns),
        }
        .map_err(|e| raise(&e))?;
        pyarrow_table(py, pyo3_arrow::PyTable::try_new(batches, schema)?)
    }
}

/// Removes unfinished folders of killed runs beside `out`. Returns messages on what was removed and
/// what was not.
#[pyfunction]
pub fn clear_stale(py: Python<'_>, out: PathBuf) -> Vec<String> {
    py.detach(|| lasthop_sim::clear_stale(&out))
}

/// Runs a scenario to its end.
#[pyfunction]
#[pyo3(signature = (scenario, out=None, progress=None, replace=false, capture=None, threads=1))]
pub fn run(
    py: Python<'_>,
    scenario: &Scenario,
    out: Option<PathBuf>,
    progress: Option<Py<PyAny>>,
    replace: bool,
    capture: Option<PathBuf>,
    threads: usize,
) -> PyResult<RunOutput> {
    let mut interrupted = None;
    let result = py.detach(|| {
        let mut tell = |share: f64| {
            let reported = Python::attach(|py| {
                py.check_signals()?;
                progress.as_ref().map_or(Ok(()), |p| p.call1(py, (share,)).map(drop))
            });
            reported.map_err(|e| interrupted = Some(e)).is_ok()
        };
        let files = lasthop_sim::Files { out: out.as_deref(), replace, capture: capture.as_deref() };
        lasthop_sim::run_on(threads, &scenario.0, files, &mut tell)
    });
    finish(interrupted, result).map(RunOutput)
}

/// Runs many scenarios, `jobs` at a time (0: every core).
#[pyfunction]
#[pyo3(signature = (scenarios, jobs=0, outs=None, progress=None))]
pub fn run_many(
    py: Python<'_>,
    scenarios: Vec<PyRef<'_, Scenario>>,
    jobs: usize,
    outs: Option<Vec<PathBuf>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<RunOutput>> {
    let scenarios: Vec<lasthop_sim::Scenario> = scenarios.iter().map(|s| s.0.clone()).collect();
    let mut interrupted = None;
    let result = py.detach(|| {
        lasthop_sim::run_many(&scenarios, jobs, outs.as_deref(), &mut |done, total| {
            let reported = Python::attach(|py| {
                py.check_signals()?;
                progress.as_ref().map_or(Ok(()), |p| p.call1(py, (done, total)).map(drop))
            });
            reported.map_err(|e| interrupted = Some(e)).is_ok()
        })
    });
    Ok(finish(interrupted, result)?.into_iter().map(RunOutput).collect())
}
