//! What a connected UE measures, and what it concludes.
//!
//! It looks at all cells once a frame while its link is poor, every 40 ms while it is good: its
//! radio link is monitored with these looks, and their mean over `handover.period` is a
//! measurement. Fading is not in them: it is taken to be averaged out. An idle UE looks only when
//! it wants a connection.

use lasthop_engine::math::db;
use lasthop_radio::linear;
use lasthop_units::{CellId, Db, IndexVec, Tti};

use super::Moment;
use crate::rrc::measurement::Filter;
use crate::rrc::radio_link::FRAME;
use crate::rrc::{HandoverConfig, Measured, Measurements};

/// TTIs between two looks of a UE with a good link.
pub const LOOKS: u64 = 4 * FRAME;
/// A link this much above Qin is good [dB].
const GOOD: f64 = 15.0;
/// Less than any cell that can be measured [mW on a resource element].
pub const NOTHING: f64 = 1e-20;

/// What a UE finds when it looks at the cells.
#[derive(Clone, Copy, Debug)]
pub struct Look<'a> {
    /// Linear power on a resource element of each cell [mW].
    pub powers: &'a IndexVec<CellId, f64>,
    /// Noise there [mW].
    pub noise: f64,
    /// Linear SINR of the serving cell's reference signals, when every cell sends.
    pub sinr: f64,
}

impl Look<'_> {
    /// For how many frames it stands.
    pub(super) fn frames(&self, config: &HandoverConfig) -> u64 {
        let calm = self.sinr > linear(config.radio_link.q_in) * linear(Db(GOOD));
        if calm { LOOKS / FRAME } else { 1 }
    }
}

/// Measurements of a UE, and what layer 1 has of the next one.
#[derive(Clone, Debug)]
pub(super) struct Measuring {
    events: Measurements,
    /// Sum of linear powers by cell since `since`, and how many.
    sums: IndexVec<CellId, f64>,
    looks: u32,
    since: Tti,
    /// The next look is noted.
    looking: bool,
}

impl Measuring {
    pub fn new(cells: usize) -> Measuring {
        Measuring {
            events: Measurements::new(cells),
            sums: (0..cells).map(|_| 0.0).collect(),
            looks: 0,
            since: Tti(0),
            looking: false,
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

    /// The UE begins to look; false if its next look is noted already.
    pub fn begin(&mut self, open: Tti) -> bool {
        let begins = !std::mem::replace(&mut self.looking, true);
        if begins {
            self.since = open;
        }
        begins
    }

    /// It does not look any more.
    pub const fn end(&mut self) {
        self.looking = false;
    }

    /// It has looked; true if that makes a measurement complete.
    pub fn add(&mut self, at: &Moment<'_>, look: &Look<'_>) -> bool {
        for (sum, power) in self.sums.iter_mut().zip(look.powers.iter()) {
            *sum += power;
        }
        self.looks += 1;
        let complete = self.since.plus(at.config.period.as_millis()) <= at.tti;
        if complete {
            self.learn(&at.config.l3(), at.tti, look.noise);
            self.events.judge(&at.config.trigger, at.serving, at.tti);
        }
        complete
    }

    /// Layer 1 has a measurement of every cell.
    fn learn(&mut self, filter: &Filter, tti: Tti, noise: f64) {
        let n = f64::from(self.looks);
        let rssi = self.sums.iter().sum::<f64>() / n + noise;
        for cell in self.sums.ids() {
            let power = (self.sums[cell] / n).max(NOTHING);
            // RSSI is all that is received on a resource block's twelve subcarriers (TS 36.214
            // clause 5.1.3), every cell loaded.
            let measured = Measured { rsrp: db(power), rsrq: db(power / (12.0 * rssi)) };
            self.events.learn(filter, cell, measured);
        }
        self.sums.iter_mut().for_each(|s| *s = 0.0);
        (self.looks, self.since) = (0, tti);
    }
}
