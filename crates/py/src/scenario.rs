//! `Scenario`: parsed and checked, immutable.

use std::path::PathBuf;

use pyo3::prelude::*;

use crate::error::{json_to_python, raise};
use crate::own::{OwnPolicy, extensions};

/// A parsed and checked scenario.
#[pyclass(frozen, module = "lasthop._core", from_py_object)]
#[derive(Clone)]
pub struct Scenario(pub lasthop_sim::Scenario);

#[pymethods]
impl Scenario {
    /// Reads a scenario file.
    #[staticmethod]
    #[pyo3(signature = (path, set=Vec::new(), cc=Vec::new(), schedulers=Vec::new()))]
    fn load(
        path: PathBuf,
        set: Vec<String>,
        cc: Vec<OwnPolicy>,
        schedulers: Vec<OwnPolicy>,
    ) -> PyResult<Self> {
        lasthop_sim::Scenario::load_with(&path, &set, &extensions(cc, schedulers)?)
            .map(Scenario)
            .map_err(|e| raise(&e))
    }

    /// Reads a scenario from text; relative paths in it start at `base_dir`.
    #[staticmethod]
    #[pyo3(signature = (text, name="<string>", base_dir=None, set=Vec::new(), cc=Vec::new(), schedulers=Vec::new()))]
    fn parse(
        text: &str,
        name: &str,
        base_dir: Option<PathBuf>,
        set: Vec<String>,
        cc: Vec<OwnPolicy>,
        schedulers: Vec<OwnPolicy>,
    ) -> PyResult<Self> {
        let base = base_dir.unwrap_or_default();
        lasthop_sim::Scenario::parse_with(text, name, &base, &set, &extensions(cc, schedulers)?)
            .map(Scenario)
            .map_err(|e| raise(&e))
    }

    #[getter]
    fn name(&self) -> &str {
        &self.0.spec().scenario.name
    }
    #[getter]
    fn seed(&self) -> u64 {
        self.0.spec().scenario.seed
    }
    #[getter]
    fn duration_s(&self) -> f64 {
        self.0.spec().scenario.duration.as_secs_f64()
    }

    /// A copy with `key=value` overrides.
    fn with_set(&self, set: Vec<String>) -> PyResult<Self> {
        self.0.with_set(&set).map(Scenario).map_err(|e| raise(&e))
    }

    /// A copy with these policies of one's own in the place of those that it had.
    fn with_own(&self, cc: Vec<OwnPolicy>, schedulers: Vec<OwnPolicy>, set: Vec<String>) -> PyResult<Self> {
        self.0.with_extensions(&extensions(cc, schedulers)?, &set).map(Scenario).map_err(|e| raise(&e))
    }

    /// The effective scenario, every default spelled out.
    fn to_toml(&self) -> String {
        self.0.to_toml()
    }

    /// Traps that the linter sees.
    fn warnings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json_to_python(py, &self.0.warnings_json().to_string())
    }

    /// BLAKE3 of the effective scenario and of the files it reads.
    fn hash(&self) -> String {
        self.0.hash()
    }

    fn __repr__(&self) -> String {
        format!("Scenario({:?}, duration={} s, seed={})", self.name(), self.duration_s(), self.seed())
    }
}
