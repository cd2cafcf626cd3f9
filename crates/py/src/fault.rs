//! Exceptions of policies written in Python: conversion to faults of a run, and back to exceptions.

use std::sync::Arc;

use lasthop_sim::tcp::cc::Fault;
use pyo3::exceptions::PyException;
use pyo3::intern;
use pyo3::prelude::*;

/// Converts an exception to a fault: the failed call, the cause, and the line.
pub fn fault(py: Python<'_>, what: &str, error: PyErr) -> Fault {
    let why = error.value(py).to_string();
    let kind = error.get_type(py).qualname().map_or_else(|_| "error".to_owned(), |n| n.to_string());
    let line = innermost(py, &error).map_or(String::new(), |(file, line)| format!(" ({file}, line {line})"));
    let why = if why.is_empty() { kind } else { format!("{kind}: {why}") };
    Fault { message: format!("{what}: {why}{line}"), cause: Some(Arc::new(error)) }
}

/// The file and line that raised the exception.
fn innermost(py: Python<'_>, error: &PyErr) -> Option<(String, u32)> {
    let mut frame = error.traceback(py)?.into_any();
    while let Ok(next) = frame.getattr(intern!(py, "tb_next"))
        && !next.is_none()
    {
        frame = next;
    }
    let line = frame.getattr(intern!(py, "tb_lineno")).ok()?.extract().ok()?;
    let code = frame.getattr(intern!(py, "tb_frame")).ok()?.getattr(intern!(py, "f_code")).ok()?;
    let file: String = code.getattr(intern!(py, "co_filename")).ok()?.extract().ok()?;
    let name = std::path::Path::new(&file).file_name().map(|n| n.to_string_lossy().into_owned());
    Some((name.unwrap_or(file), line))
}

/// The exception of a fault; `KeyboardInterrupt` (Ctrl-C) and `SystemExit` are raised unchanged,
/// all others as the cause of `ours`.
pub fn exception(py: Python<'_>, fault: &Fault, ours: PyErr) -> PyErr {
    let theirs = fault.cause.as_deref().and_then(|c| (c as &dyn std::error::Error).downcast_ref::<PyErr>());
    match theirs {
        Some(e) if !e.is_instance_of::<PyException>(py) => e.clone_ref(py),
        theirs => {
            ours.set_cause(py, theirs.map(|e| e.clone_ref(py)));
            ours
        }
    }
}
