//! The caller's own policies, of every kind.

use lasthop_sim::Extensions;
use pyo3::prelude::*;

use crate::error::raise;
use crate::own::OwnPolicy;
use crate::{control, scheduler};

/// The policies as the simulator takes them.
pub fn extensions(cc: Vec<OwnPolicy>, schedulers: Vec<OwnPolicy>) -> PyResult<Extensions> {
    let controls = cc
        .into_iter()
        .try_fold(Extensions::new(), |all, own| all.with_cc(control::definition(own)).map_err(|e| raise(&e)));
    schedulers
        .into_iter()
        .try_fold(controls?, |all, own| all.with_scheduler(scheduler::definition(own)).map_err(|e| raise(&e)))
}
