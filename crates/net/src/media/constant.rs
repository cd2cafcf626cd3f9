//! `none`: the encoder's highest rate, independent of the reports.

use super::control::{Feedback, RateControl, RateSetup};
use crate::registry::Entry;

pub(super) const ENTRY: Entry =
    Entry { name: "none", summary: "constant: the encoder's highest rate", source: "-", parameters: &[] };

/// A constant rate.
#[derive(Clone, Debug)]
pub(super) struct Constant {
    rate: f64,
}

impl Constant {
    pub fn new(setup: &RateSetup) -> Constant {
        Constant { rate: setup.max }
    }
}

impl RateControl for Constant {
    fn on_feedback(&mut self, _: &Feedback<'_>) {}
    fn on_limits(&mut self, _: f64, max: f64) {
        self.rate = max;
    }
    fn target(&self, _: u64) -> f64 {
        self.rate
    }
}
