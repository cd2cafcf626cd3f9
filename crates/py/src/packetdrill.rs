//! packetdrill scripts.

use lasthop_packetdrill::{Outcome, Request, Summary, run_text};
use pyo3::prelude::*;
use serde_json::json;

use crate::error::LasthopError;

/// Runs packetdrill scripts, given as (name, text); returns outcomes and summary as JSON.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // the options of the command, once
#[pyo3(signature = (scripts, profile=None, cc=None, verbose=false, defines=vec![], options=vec![], host=None))]
pub fn packetdrill(
    scripts: Vec<(String, String)>,
    profile: Option<&str>,
    cc: Option<&str>,
    verbose: bool,
    defines: Vec<String>,
    options: Vec<(String, String)>,
    host: Option<&str>,
    py: Python<'_>,
) -> PyResult<String> {
    let request = Request::named(profile, cc)
        .and_then(|r| defines.iter().try_fold(r, |r, d| r.define(d)))
        .and_then(|r| options.iter().try_fold(r, |r, (name, value)| r.option(name, value)))
        .and_then(|r| host.map_or(Ok(r.clone()), |h| r.host(h)))
        .map_err(LasthopError::new_err)?;
    py.detach(|| {
        let outcomes: Vec<Outcome> =
            scripts.iter().map(|(name, text)| run_text(name, text, &request, verbose)).collect();
        let summary = Summary::of(&outcomes);
        Ok(json!({ "scripts": outcomes, "categories": summary.categories }).to_string())
    })
}
