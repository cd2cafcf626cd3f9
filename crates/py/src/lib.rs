//! The Python binding of Lasthop: its input is a scenario, its output Arrow columns.
//!
//! The one crate that names pyo3. Runs execute without the interpreter lock, in Rust threads;
//! results are Arrow record batches that pyarrow, pandas and polars share without copying.
//! `python/lasthop/_core.pyi` is the contract, checked by `stubtest`.

mod campaign;
mod control;
mod custom;
mod error;
mod extensions;
mod fault;
mod files;
mod live;
mod packetdrill;
mod rate_control;
mod run;
mod scenario;
mod scheduler;
mod simulation;
mod table;
mod watched;

use pyo3::prelude::*;

/// Converts a capacity trace to the Mahimahi format; returns statistics as JSON.
#[pyfunction]
#[pyo3(signature = (src, dst, format=None))]
fn import_trace(
    src: std::path::PathBuf,
    dst: std::path::PathBuf,
    format: Option<&str>,
    py: Python<'_>,
) -> PyResult<String> {
    py.detach(|| lasthop_sim::import_trace(&src, &dst, format))
        .map(|stats| stats.to_string())
        .map_err(|e| error::raise(&e))
}

/// Removes the files and folders that this process has not finished: for a process that ends at
/// once.
#[pyfunction]
fn discard_partials(py: Python<'_>) {
    py.detach(lasthop_sim::discard_partials);
}

/// JSON Schema of a scenario file.
#[pyfunction]
fn json_schema() -> String {
    lasthop_sim::json_schema().to_string()
}

/// JSON: every plug-in by name, every table with its columns, every scenario key.
#[pyfunction]
fn describe() -> String {
    lasthop_sim::describe().to_string()
}

#[pymodule]
fn _core(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add("LasthopError", m.py().get_type::<error::LasthopError>())?;
    m.add("FolderInUseError", m.py().get_type::<error::FolderInUseError>())?;
    m.add_class::<scenario::Scenario>()?;
    m.add_class::<control::CongestionControl>()?;
    m.add_class::<control::AckSample>()?;
    m.add_class::<control::Hint>()?;
    m.add_class::<control::Established>()?;
    m.add_class::<control::Congestion>()?;
    m.add_class::<rate_control::RateControl>()?;
    m.add_class::<rate_control::MediaStart>()?;
    m.add_class::<rate_control::SentMedia>()?;
    m.add_class::<rate_control::MediaOutcome>()?;
    m.add_class::<rate_control::MediaReport>()?;
    m.add_class::<scheduler::Scheduler>()?;
    m.add_class::<scheduler::Candidate>()?;
    m.add_class::<campaign::CampaignFile>()?;
    m.add_class::<run::RunOutput>()?;
    m.add_class::<simulation::Simulation>()?;
    m.add_class::<files::ResultFolder>()?;
    m.add_function(wrap_pyfunction!(files::write_files, m)?)?;
    m.add_function(wrap_pyfunction!(files::not_of_a_run, m)?)?;
    m.add_function(wrap_pyfunction!(files::clear_stale_claims, m)?)?;
    m.add_function(wrap_pyfunction!(run::run, m)?)?;
    m.add_function(wrap_pyfunction!(run::run_many, m)?)?;
    m.add_function(wrap_pyfunction!(run::clear_stale, m)?)?;
    m.add_function(wrap_pyfunction!(live::live, m)?)?;
    m.add_function(wrap_pyfunction!(live::linux_guest, m)?)?;
    m.add_function(wrap_pyfunction!(live::live_programs_are_root, m)?)?;
    m.add_function(wrap_pyfunction!(live::live_check, m)?)?;
    m.add_function(wrap_pyfunction!(discard_partials, m)?)?;
    m.add_function(wrap_pyfunction!(import_trace, m)?)?;
    m.add_function(wrap_pyfunction!(packetdrill::packetdrill, m)?)?;
    m.add_function(wrap_pyfunction!(json_schema, m)?)?;
    m.add_function(wrap_pyfunction!(describe, m)?)?;
    m.add_function(wrap_pyfunction!(campaign::campaign_schema, m)?)?;
    m.add_function(wrap_pyfunction!(campaign::describe_campaign, m)?)?;
    Ok(())
}
