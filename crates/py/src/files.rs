//! Files and folders that are written completely or not at all.

use std::path::PathBuf;

use lasthop_sim::{Earlier, Folder};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::error::raise;

/// Writes each content to its path: every file, or none. Returns messages on files that killed
/// processes left.
#[pyfunction]
pub fn write_files(py: Python<'_>, files: Vec<(PathBuf, Vec<u8>)>) -> PyResult<Vec<String>> {
    py.detach(|| lasthop_sim::write_files(&files)).map_err(|e| raise(&e))
}

/// A folder that is not complete yet.
#[pyclass(module = "lasthop._core")]
pub struct ResultFolder(Option<Folder>);

#[pymethods]
impl ResultFolder {
    /// `replaces`: a file by which earlier content is recognised, keys of its JSON object, and the
    /// other names in such a folder.
    #[new]
    #[pyo3(signature = (path, replaces=None))]
    fn new(path: PathBuf, replaces: Option<(String, Vec<String>, Vec<String>)>) -> PyResult<Self> {
        let earlier = replaces.map(|(file, keys, names)| Earlier::new(file, keys, names));
        Folder::create(&path, earlier).map(|f| ResultFolder(Some(f))).map_err(|e| raise(&e))
    }

    /// Keeps other processes from making `what`, some files in `folder`, until it is discarded.
    #[staticmethod]
    fn claim(folder: PathBuf, what: &str) -> PyResult<Self> {
        Folder::claim(&folder, what).map(|f| ResultFolder(Some(f))).map_err(|e| raise(&e))
    }

    /// Where its files are written.
    #[getter]
    fn partial(&self) -> PyResult<PathBuf> {
        self.0.as_ref().map(|f| f.partial().to_owned()).ok_or_else(finished)
    }

    /// Renames the folder to its final name; returns its path.
    fn publish(&mut self) -> PyResult<PathBuf> {
        self.0.take().ok_or_else(finished)?.publish().map_err(|e| raise(&e))
    }

    /// Removes it, if it was not published.
    fn discard(&mut self) {
        self.0 = None;
    }
}

/// Why the content of the folder `path` is not that of a run, or not of a run alone; None where it
/// is.
#[pyfunction]
pub fn not_of_a_run(path: PathBuf) -> Option<String> {
    Earlier::run().refusal(&path)
}

/// Removes unfinished files in `folder` of processes that were killed while they made `what`.
/// Returns messages on what was removed and what was not.
#[pyfunction]
pub fn clear_stale_claims(py: Python<'_>, folder: PathBuf, what: &str) -> Vec<String> {
    py.detach(|| lasthop_sim::clear_stale_claims(&folder, what))
}

fn finished() -> PyErr {
    PyRuntimeError::new_err("this folder is published or discarded: make a new one")
}
