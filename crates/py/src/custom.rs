//! Data of a policy written in Python, of any kind: the class as `lasthop` describes it.

use pyo3::prelude::*;

/// A class (or any callable) that makes policies, as `lasthop._own` has checked it.
#[derive(FromPyObject)]
pub struct CustomPolicy {
    pub name: String,
    /// Of a control: true for a rate control of media, false for a congestion control.
    pub media: bool,
    pub make: Py<PyAny>,
    pub summary: String,
    pub version: String,
    /// Keyword parameters that have a number for a default.
    pub parameters: Vec<(String, f64)>,
    pub any_parameter: bool,
}

/// Completes a definition with the data of the class.
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
