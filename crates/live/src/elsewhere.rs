//! Systems without network namespaces and TUN devices of Linux.

use lasthop_sim::{Error, Files, RunOutput, Scenario};
use serde_json::{Value, json};

use crate::plan::Plan;

const WHY: &str = "live runs need Linux: network namespaces and TUN devices";

/// # Errors
/// Always.
pub fn run(_: &Scenario, _: &Plan, _: Files<'_>, _: &mut dyn FnMut(f64) -> bool) -> Result<RunOutput, Error> {
    Err(Error::input(WHY))
}

/// # Errors
/// Always.
pub fn run_in_guest(_: &Scenario, _: Files<'_>, _: &mut dyn FnMut(f64) -> bool) -> Result<(), Error> {
    Err(Error::input(WHY))
}

/// That there are none.
pub fn check() -> Value {
    json!([{"what": "Linux", "ok": false, "found": "another system", "remedy": WHY}])
}

/// Never: nothing runs here.
pub const fn programs_are_root() -> bool {
    false
}
