//! `Scenario`: parsed and checked, immutable.

use std::path::PathBuf;

use lasthop_sim::survey::{MapRequest, Survey};
use pyo3::prelude::*;

use crate::custom::CustomPolicy;
use crate::error::{finish, json_to_python, raise};
use crate::extensions::extensions;
use crate::table::pyarrow_table;

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
        cc: Vec<CustomPolicy>,
        schedulers: Vec<CustomPolicy>,
        py: Python<'_>,
    ) -> PyResult<Self> {
        let own = extensions(cc, schedulers)?;
        unlocked(py, || lasthop_sim::Scenario::load_with(&path, &set, &own))
    }

    /// Reads a scenario from text; relative paths in it start at `base_dir`.
    #[staticmethod]
    #[pyo3(signature = (text, name="<string>", base_dir=None, set=Vec::new(), cc=Vec::new(), schedulers=Vec::new()))]
    fn parse(
        text: &str,
        name: &str,
        base_dir: Option<PathBuf>,
        set: Vec<String>,
        cc: Vec<CustomPolicy>,
        schedulers: Vec<CustomPolicy>,
        py: Python<'_>,
    ) -> PyResult<Self> {
        let (base, own) = (base_dir.unwrap_or_default(), extensions(cc, schedulers)?);
        unlocked(py, || lasthop_sim::Scenario::parse_with(text, name, &base, &set, &own))
    }

    #[getter]
    fn name(&self) -> &str {
        &self.0.spec().scenario.name
    }
    /// Tables of flows of which some or all end at an external node: name, external ends, number of
    /// pairs of ends that are left out, and of all.
    fn left_out(&self) -> Vec<(&str, Vec<String>, usize, usize)> {
        let tables = self.0.spec().left_out().into_iter();
        tables.map(|l| (l.flow, l.external, l.pairs[0], l.pairs[1])).collect()
    }
    #[getter]
    fn seed(&self) -> u64 {
        self.0.spec().scenario.seed
    }
    #[getter]
    fn duration_s(&self) -> f64 {
        self.0.spec().scenario.duration.as_secs_f64()
    }

    /// Where relative paths in the scenario start.
    #[getter]
    fn base_dir(&self) -> PathBuf {
        self.0.base().to_owned()
    }

    /// A copy with `key=value` overrides.
    fn with_set(&self, py: Python<'_>, set: Vec<String>) -> PyResult<Self> {
        unlocked(py, || self.0.with_set(&set))
    }

    /// A copy with these policies of one's own in the place of those that it had.
    fn with_own(
        &self,
        py: Python<'_>,
        cc: Vec<CustomPolicy>,
        schedulers: Vec<CustomPolicy>,
        set: Vec<String>,
    ) -> PyResult<Self> {
        let own = extensions(cc, schedulers)?;
        unlocked(py, || self.0.with_extensions(&own, &set))
    }

    /// What it was read from: the text, what messages call it, and the overrides in their order.
    fn source(&self) -> (String, String, Vec<String>) {
        let document = self.0.document();
        let sets = document.set_texts().map(str::to_owned).collect();
        (document.text().to_owned(), document.name().to_owned(), sets)
    }

    /// The scenario as it is written, with the overrides applied and without defaults.
    fn written(&self) -> String {
        self.0.document().to_toml()
    }

    /// The files that its runs read, as the scenario writes them.
    fn files(&self) -> Vec<String> {
        self.0.files().into_iter().map(str::to_owned).collect()
    }

    /// Names of the policies of one's own that it uses; those of rate controls are
    /// `rate-control.NAME`, those of schedulers `scheduler.NAME`.
    fn own_policies(&self) -> Vec<String> {
        self.0.own_policies().into_iter().map(|(name, _)| name).collect()
    }

    /// The effective scenario, every default spelled out.
    fn to_toml(&self) -> String {
        self.0.to_toml()
    }

    /// What `scenario.profile` has set, as pairs of key and value with the source: `[(key, value,
    /// source)]`.
    fn profile_settings(&self) -> Vec<(String, String, &'static str)> {
        self.0.profile_settings().into_iter().map(|s| (s.key, s.value, s.source)).collect()
    }

    /// The name of `scenario.profile` and what it does not imitate; None without one.
    fn profile_limits(&self) -> Option<(&'static str, Vec<&'static str>)> {
        self.0.profile_limits().map(|(name, limits)| (name, limits.to_vec()))
    }

    /// Strongest cell, coupling gain and geometry of every UE over `drops` drops, as
    /// `pyarrow.Table`.
    #[pyo3(signature = (drops=1, progress=None))]
    fn geometry<'py>(
        &self,
        py: Python<'py>,
        drops: u32,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        survey_table(py, progress, |tell| lasthop_sim::survey::geometry(&self.0, drops, tell))
    }

    /// A radio environment map, as `pyarrow.Table`.
    #[pyo3(signature = (step, area=None, height=None, ue=None, progress=None))]
    fn radio_map<'py>(
        &self,
        py: Python<'py>,
        step: f64,
        area: Option<[f64; 4]>,
        height: Option<f64>,
        ue: Option<String>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let request = MapRequest { step, area, height, ue };
        survey_table(py, progress, |tell| lasthop_sim::survey::radio_map(&self.0, &request, tell))
    }

    /// The tables that its runs write while they run.
    fn recorded(&self) -> Vec<&'static str> {
        lasthop_sim::recorded(&self.0)
    }

    /// Pitfalls that the checks see.
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

/// Reads a scenario without the interpreter lock: files may be large or slow, and the command's
/// handler of signals is a Python thread.
fn unlocked(
    py: Python<'_>,
    read: impl FnOnce() -> Result<lasthop_sim::Scenario, lasthop_sim::Error> + Send,
) -> PyResult<Scenario> {
    py.detach(read).map(Scenario).map_err(|e| raise(&e))
}

/// Makes a survey without the interpreter lock; `progress` gets the share done.
fn survey_table<'py>(
    py: Python<'py>,
    progress: Option<Py<PyAny>>,
    make: impl FnOnce(&mut dyn FnMut(f64) -> bool) -> Result<Survey, lasthop_sim::Error> + Send,
) -> PyResult<Bound<'py, PyAny>> {
    let mut interrupted = None;
    let result = py.detach(|| {
        make(&mut |share| {
            let reported = Python::attach(|py| {
                py.check_signals()?;
                progress.as_ref().map_or(Ok(()), |p| p.call1(py, (share,)).map(drop))
            });
            reported.map_err(|e| interrupted = Some(e)).is_ok()
        })
    });
    let (batches, schema) = finish(interrupted, result)?.into_parts();
    pyarrow_table(py, pyo3_arrow::PyTable::try_new(batches, schema)?)
}
