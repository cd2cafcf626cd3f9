//! `CampaignFile`: keys and types of a campaign, with the place of every mistake.

use std::path::PathBuf;

use lasthop_sim::{Error, KeyPlace};
use pyo3::prelude::*;

use crate::error::{json_to_python, raise};

/// Key, message, remedy, whether the key itself is meant, characters of a text.
type Found = (Vec<String>, String, Option<String>, bool, Option<(usize, usize)>);

/// A campaign file whose keys and types are right.
#[pyclass(frozen, module = "lasthop._core")]
pub struct CampaignFile(lasthop_sim::CampaignFile);

#[pymethods]
impl CampaignFile {
    /// Reads a campaign file.
    #[staticmethod]
    #[pyo3(signature = (path, set=Vec::new()))]
    fn load(path: PathBuf, set: Vec<String>, py: Python<'_>) -> PyResult<Self> {
        read(py, || lasthop_sim::CampaignFile::load(&path, &set))
    }

    /// Reads a campaign from text; relative paths in it start at `folder`.
    #[staticmethod]
    #[pyo3(signature = (text, name="<string>", folder=None, set=Vec::new()))]
    fn parse(
        text: &str,
        name: &str,
        folder: Option<PathBuf>,
        set: Vec<String>,
        py: Python<'_>,
    ) -> PyResult<Self> {
        let folder = folder.unwrap_or_default();
        read(py, || lasthop_sim::CampaignFile::parse(text, name, &folder, &set))
    }

    /// Where relative paths in it start.
    #[getter]
    fn folder(&self) -> PathBuf {
        self.0.folder().to_owned()
    }

    /// What it says, with every default, tables and lists in the order of the file.
    fn content<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let spec = serde_json::to_string(self.0.spec());
        json_to_python(py, &spec.map_err(|e| raise(&Error::input(e.to_string())))?)
    }

    /// What it was read from: the text, what messages call it, and the overrides in their order.
    fn source(&self) -> (String, String, Vec<String>) {
        let document = self.0.document();
        let sets = document.set_texts().map(str::to_owned).collect();
        (document.text().to_owned(), document.name().to_owned(), sets)
    }

    /// The file as TOML with the overrides applied.
    fn to_toml(&self) -> String {
        self.0.to_toml()
    }

    /// The exception for a mistake at the value of a key, whose parts are given one by one.
    #[pyo3(signature = (key, message, help=None))]
    fn error_at(&self, key: Vec<String>, message: String, help: Option<String>) -> PyErr {
        self.errors(vec![(key, message, help, false, None)])
    }

    /// One exception for several mistakes, in the order of the file.
    fn errors(&self, found: Vec<Found>) -> PyErr {
        let diagnostics = found.into_iter().map(|(key, message, help, at_key, within)| {
            let place = KeyPlace { key, at_key, within: within.map(|(from, to)| from..to) };
            self.0.error_at(&place, &message, help.as_deref())
        });
        raise(&self.0.errors(diagnostics))
    }
}

/// Reads without the interpreter lock: a file may be slow.
fn read(
    py: Python<'_>,
    read: impl FnOnce() -> Result<lasthop_sim::CampaignFile, Error> + Send,
) -> PyResult<CampaignFile> {
    py.detach(read).map(CampaignFile).map_err(|e| raise(&e))
}

/// JSON Schema of a campaign file.
#[pyfunction]
pub fn campaign_schema() -> String {
    lasthop_sim::campaign_schema().to_string()
}

/// JSON: every key of a campaign file.
#[pyfunction]
pub fn describe_campaign() -> String {
    lasthop_sim::describe_campaign().to_string()
}
