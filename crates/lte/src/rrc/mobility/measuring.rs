//! What a connected UE measures, and what it concludes.
//!
//! It takes a sample of all cells once a frame while its link is poor, every 40 ms while it is
//! good: its radio link is monitored with these samples, and their mean over `handover.period` is a
//! measurement. Fading is not in them: it is taken to be averaged out. An idle UE measures only
//! when it wants a connection.

use lasthop_engine::math::db;
use lasthop_radio::linear;
use lasthop_units::{CellId, Db, IndexVec, Tti};

use super::Moment;
use crate::rrc::measurement::Filter;
use crate::rrc::radio_link::FRAME;
use crate::rrc::{HandoverConfig, Measured, Measurements};

/// TTIs between two samples of a UE with a good link.
pub const SAMPLING_PERIOD: u64 = 4 * FRAME;
/// A link this much above Qin is good [dB].
const GOOD_DB: f64 = 15.0;
/// Less than any cell that can be measured [mW on a resource element].
pub const NOTHING_MW: f64 = 1e-20;

/// What layer 1 of a UE measures of the cells at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    /// Linear power on a resource element of each cell [mW].
    pub powers_mw: &'a IndexVec<CellId, f64>,
    /// Noise there [mW].
    pub noise_mw: f64,
    /// Linear SINR of the serving cell's reference signals, when every cell sends.
    pub sinr: f64,
}

impl Sample<'_> {
    /// For how many frames it stands.
    pub(super) fn frames(&self, config: &HandoverConfig) -> u64 {
        let calm = self.sinr > linear(config.radio_link.q_in) * linear(Db(GOOD_DB));
        if calm { SAMPLING_PERIOD / FRAME } else { 1 }
    }
}

/// Measurements of a UE, and what layer 1 has of the next one.
#[derive(Clone, Debug)]
pub(super) struct Measuring {
    events: Measurements,
    /// Sum of linear powers by cell since `since`, and how many.
    sums_mw: IndexVec<CellId, f64>,
    samples: u32,
    since: Tti,
    /// The next sample is noted.
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

    /// No event holds any more.
    pub fn restart(&mut self) {
        self.events.restart();
    }

    pub const fn events(&self) -> &Measurements {
        &self.events
    }

    /// The UE begins to measure; false if its next sample is noted already.
    pub fn begin(&mut self, open: Tti) -> bool {
        let begins = !std::mem::replace(&mut self.is_noted, true);
        if begins {
            self.since = open;
        }
        begins
    }

    /// It does not measure any more.
    pub const fn end(&mut self) {
        self.is_noted = false;
    }

    /// It has taken a sample; true if that makes a measurement complete.
    pub fn add(&mut self, at: &Moment<'_>, sample: &Sample<'_>) -> bool {
        for (sum, power_mw) in self.sums_mw.iter_mut().zip(sample.powers_mw.iter()) {
            *sum += power_mw;
        }
        self.samples += 1;
        let complete = self.since.plus(at.config.period.as_millis()) <= at.tti;
        if complete {
            self.learn(&at.config.l3(), at.tti, sample.noise_mw);
            self.events.judge(&at.config.trigger, at.serving, at.tti);
        }
        complete
    }

    /// Layer 1 has a measurement of every cell.
    fn learn(&mut self, filter: &Filter, tti: Tti, noise_mw: f64) {
        let n = f64::from(self.samples);
        let rssi_mw = self.sums_mw.iter().sum::<f64>() / n + noise_mw;
        for cell in self.sums_mw.ids() {
            let power_mw = (self.sums_mw[cell] / n).max(NOTHING_MW);
            // RSSI is all that is received on a resource block's twelve subcarriers (TS 36.214
            // clause 5.1.3), every cell loaded.
            let measured = Measured { rsrp_dbm: db(power_mw), rsrq_db: db(power_mw / (12.0 * rssi_mw)) };
            self.events.learn(filter, cell, measured);
        }
        self.sums_mw.iter_mut().for_each(|s| *s = 0.0);
        (self.samples, self.since) = (0, tti);
    }
}
