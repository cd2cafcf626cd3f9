//! Files and folders that appear whole or not at all.

use std::path::PathBuf;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::error::raise;

/// Writes each content to its path: every file, or none. Says what was done with files that killed
/// processes left.
#[pyfunction]
pub fn write_files(py: Python<'_>, files: Vec<(PathBuf, Vec<u8>)>) -> PyResult<Vec<String>> {
    py.detach(|| lasthop_sim::write_files(&files)).map_err(|e| raise(&e))
}

/// A folder that is not complete yet.
#[pyclass(module = "lasthop._core")]
pub struct ResultFolder(Option<lasthop_sim::Folder>);

#[pymethods]
impl ResultFolder {
    #[new]
    #[pyo3(signature = (path, replaces=None))]
    fn new(path: PathBuf, replaces: Option<&str>) -> PyResult<Self> {
        lasthop_sim::Folder::create(&path, replaces).map(|f| ResultFolder(Some(f))).map_err(|e| raise(&e))
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

fn finished() -> PyErr {
    PyRuntimeError::new_err("this folder is published or discarded: make a new one")
}
