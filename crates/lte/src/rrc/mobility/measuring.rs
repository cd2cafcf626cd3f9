//! Measurements of a connected UE, and its conclusions from them.
//!
//! The UE takes a sample of all cells once a frame while its link is poor, every 40 ms while it is
//! good. Its radio link is monitored with these samples, and their mean over `handover.period` is a
//! measurement. Samples are without fading, which is taken to be averaged out. An idle UE measures
//! only before it requests a connection.

use lasthop_engine::math::db;
use lasthop_units::{CellId, IndexVec, Tti};

use super::Moment;
use crate::phy::TTI;
use crate::rrc::measurement::Filter;
use crate::rrc::radio_link::FRAME;
use crate::rrc::{Measured, Measurements};

/// TTIs between two samples of a UE with a good link.
pub const SAMPLING_PERIOD: u64 = 4 * FRAME;
/// Below the power of any cell that can be measured [mW on a resource element].
pub const NOTHING_MW: f64 = 1e-20;

/// Layer 1 measurements of the cells at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    /// Linear power on a resource element of each cell [mW].
    pub powers_mw: &'a IndexVec<CellId, f64>,
    /// Noise on a resource element [mW].
    pub noise_mw: f64,
    /// Linear SINR of the serving cell's reference signals while every cell sends.
    pub sinr: f64,
}

/// Measurements of a UE, and the samples of the next one.
#[derive(Clone, Debug)]
pub(super) struct Measuring {
    events: Measurements,
    /// Sum of linear powers by cell since `since`, and the number of samples.
    sums_mw: IndexVec<CellId, f64>,
    samples: u32,
    since: Tti,
    /// The next sample is scheduled.
    is_noted: bool,
}

impl Measuring {
    pub fn new(cells: usize) -> Measuring {
        Measuring {
            events: Measurements::new(cells),
            sums_mw: (0..cells).map(|_| 0.0).collect(),
            samples: 0,
            since: Tti(0),
            is_noted: false,
        }
    }

    pub fn of(&self, cell: CellId) -> Option<Measured> {
        self.events.of(cell)
    }

    /// Clears all events.
    pub fn restart(&mut self) {
        self.events.restart();
    }

    pub const fn events(&self) -> &Measurements {
        &self.events
    }

    /// Begins the measurements; false if the next sample is scheduled already.
    pub fn begin(&mut self, open: Tti) -> bool {
        let begins = !std::mem::replace(&mut self.is_noted, true);
        if begins {
            self.since = open;
        }
        begins
    }

    /// Ends the measurements.
    pub const fn end(&mut self) {
        self.is_noted = false;
    }

    /// Adds a sample, while samples are `frames` frames apart; true if it completes a measurement.
    pub fn add(&mut self, at: &Moment<'_>, sample: &Sample<'_>, frames: u64) -> bool {
        for (sum, power_mw) in self.sums_mw.iter_mut().zip(sample.powers_mw.iter()) {
            *sum += power_mw;
        }
        self.samples += 1;
        let complete = self.since.plus(at.config.period.as_millis()) <= at.tti;
        if complete {
            self.learn(&at.config.l3(TTI * (frames * FRAME)), at.tti, sample.noise_mw);
            self.events.judge(&at.config.trigger, at.serving, at.tti);
        }
        complete
    }

    /// Takes in the mean of the samples as layer 1's measurement of every cell.
    fn learn(&mut self, filter: &Filter, tti: Tti, noise_mw: f64) {
        let n = f64::from(self.samples);
        let rssi_mw = self.sums_mw.iter().sum::<f64>() / n + noise_mw;
        for cell in self.sums_mw.ids() {
            let power_mw = (self.sums_mw[cell] / n).max(NOTHING_MW);
            // RSSI is the total power on a resource block's twelve subcarriers (TS 36.214 clause
            // 5.1.3), every cell loaded.
            let measured = Measured { rsrp_dbm: db(power_mw), rsrq_db: db(power_mw / (12.0 * rssi_mw)) };
            self.events.learn(filter, cell, measured);
        }
        self.sums_mw.iter_mut().for_each(|s| *s = 0.0);
        (self.samples, self.since) = (0, tti);
    }
}
