//! The caller's own policies, of every kind.

use lasthop_sim::Extensions;
use pyo3::prelude::*;

use crate::custom::CustomPolicy;
use crate::error::raise;
use crate::{control, rate_control, scheduler};

/// Converts the policies to those of the simulator.
pub fn extensions(cc: Vec<CustomPolicy>, schedulers: Vec<CustomPolicy>) -> PyResult<Extensions> {
    let controls = cc.into_iter().try_fold(Extensions::new(), |all, own| {
        let more = if own.media {
            all.with_rate_control(rate_control::definition(own))
        } else {
            all.with_cc(control::definition(own))
        };
        more.map_err(|e| raise(&e))
    });
    schedulers
        .into_iter()
        .try_fold(controls?, |all, own| all.with_scheduler(scheduler::definition(own)).map_err(|e| raise(&e)))
}
