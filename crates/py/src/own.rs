//! What policies written in Python have in common, whatever their kind: how `lasthop` describes a
//! class, and how its exceptions become faults of a run.

use std::sync::Arc;

use lasthop_sim::Extensions;
use lasthop_sim::tcp::cc::Fault;
use pyo3::exceptions::PyException;
use pyo3::intern;
use pyo3::prelude::*;

use crate::error::raise;

/// A class (or any callable) that makes policies, as `lasthop._own` has looked it over.
#[derive(FromPyObject)]
pub struct OwnPolicy {
    pub name: String,
    pub make: Py<PyAny>,
    pub summary: String,
    pub version: String,
    /// Keyword parameters that have a number for a default.
    pub parameters: Vec<(String, f64)>,
    pub any_parameter: bool,
}

/// The policies as the simulator takes them.
pub fn extensions(cc: Vec<OwnPolicy>, schedulers: Vec<OwnPolicy>) -> PyResult<Extensions> {
    let controls = cc.into_iter().try_fold(Extensions::new(), |all, own| {
        all.with_cc(crate::control::definition(own)).map_err(|e| raise(&e))
    });
    schedulers.into_iter().try_fold(controls?, |all, own| {
        all.with_scheduler(crate::scheduler::definition(own)).map_err(|e| raise(&e))
    })
}

/// A definition with what is known of the class.
macro_rules! describe {
    ($definition:expr, $own:expr) => {{
        let mut d = $definition.summary(&$own.summary).source("Python").version(&$own.version);
        for (name, default) in &$own.parameters {
            d = d.parameter(name, *default, "", "the class");
        }
        if $own.any_parameter { d.any_parameter() } else { d }
    }};
}
pub(crate) use describe;

/// An exception in words: what failed, why, and the line.
pub fn fault(py: Python<'_>, what: &str, error: PyErr) -> Fault {
    let why = error.value(py).to_string();
    let kind = error.get_type(py).qualname().map_or_else(|_| "error".to_owned(), |n| n.to_string());
    let line = innermost(py, &error).map_or(String::new(), |(file, line)| format!(" ({file}, line {line})"));
    let why = if why.is_empty() { kind } else { format!("{kind}: {why}") };
    Fault { message: format!("{what}: {why}{line}"), cause: Some(Arc::new(error)) }
}

/// File and line that raised.
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

/// The exception behind a fault; Ctrl-C and `SystemExit` go on as they are, everything else as the
/// cause of ours.
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
