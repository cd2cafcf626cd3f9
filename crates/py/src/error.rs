//! Errors: one exception that has the diagnostics as data.

use lasthop_sim::Error;
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::fault;

create_exception!(lasthop, LasthopError, PyValueError, "A mistake in an input, with place and remedy.");
create_exception!(
    lasthop,
    FolderInUseError,
    LasthopError,
    "The result folder holds something, or another run is writing it."
);

/// The exception for `error`, its `diagnostics` attached as a list of dicts.
pub fn raise(error: &Error) -> PyErr {
    Python::attach(|py| {
        let exception = match error {
            Error::InUse(_) => FolderInUseError::new_err(error.to_string()),
            _ => LasthopError::new_err(error.to_string()),
        };
        let attach = || -> PyResult<()> {
            let list = json_to_python(py, &error.to_json().to_string())?;
            exception.value(py).setattr("diagnostics", list)
        };
        match (attach(), error) {
            (Ok(()), Error::Policy(fault)) => fault::exception(py, fault, exception),
            (Ok(()), _) => exception,
            (Err(other), _) => other,
        }
    })
}

/// A Python exception from the progress callback (Ctrl-C included) takes precedence over the error
/// of the run.
pub fn finish<T>(interrupted: Option<PyErr>, result: Result<T, Error>) -> PyResult<T> {
    match (interrupted, result) {
        (Some(e), _) => Err(e),
        (None, Err(e)) => Err(raise(&e)),
        (None, Ok(v)) => Ok(v),
    }
}

/// Converts a JSON text to Python objects.
pub fn json_to_python<'py>(py: Python<'py>, json: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (json,))
}
