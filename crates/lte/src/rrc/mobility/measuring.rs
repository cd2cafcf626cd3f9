//! What a connected UE measures, and what it concludes.
//!
//! It looks at all cells once a frame while its link is poor, every 40 ms while it is good: its
//! radio link is monitored with these looks, and their mean over `handover.period` is a
//! measurement. Fading is not in them: it is taken to be averaged out. An idle UE looks only when
//! it wants a connection.

use lasthop_engine::math::db;
use lasthop_radio::linear;
use lasthop_units::{CellId, Db, IndexVec, Tti};

use super::{Command, Commands, Context, Phase, UeMobility};
use crate::rrc::measurement::Filter;
use crate::rrc::radio_link::FRAME;
use crate::rrc::{LinkEvent, Measured, Measurements};

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

    fn add(&mut self, powers: &IndexVec<CellId, f64>) {
        for (sum, power) in self.sums.iter_mut().zip(powers.iter()) {
            *sum += power;
        }
        self.looks += 1;
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

impl UeMobility {
    /// A UE that is connected begins to look around.
    pub(super) fn connected(&mut self, context: &Context<'_>, look: Tti, commands: &mut Commands) {
        self.restart();
        if !std::mem::replace(&mut self.measuring.looking, true) {
            self.measuring.since = context.open;
            commands.push(Command::LookAt(look));
        }
    }

    /// A UE looks at all cells.
    pub(super) fn look(&mut self, context: &Context<'_>, look: Option<Look<'_>>, commands: &mut Commands) {
        let Some(look) = look else {
            self.measuring.looking = false;
            return;
        };
        let (config, tti) = (context.config, context.tti);
        self.measuring.add(look.powers);
        let complete = self.measuring.since.plus(config.period.as_millis()) <= tti;
        if complete {
            self.measuring.learn(&config.l3(), tti, look.noise);
            self.measuring.events.judge(&config.trigger, context.serving, tti);
        }
        let calm = look.sinr > linear(config.radio_link.q_in) * linear(Db(GOOD));
        let frames = if calm { LOOKS / FRAME } else { 1 };
        let found = self.monitor(context, frames, look.sinr);
        commands.push(Command::LookAt(tti.plus(frames * FRAME)));
        if complete {
            self.await_trigger(context, commands);
        }
        match found {
            None => {}
            Some(LinkEvent::Failed) => self.link_failure(context, commands),
            Some(event) => commands.push(Command::Link(event)),
        }
    }

    /// Radio link monitoring over so many frames.
    fn monitor(&mut self, context: &Context<'_>, frames: u64, sinr: f64) -> Option<LinkEvent> {
        let mut found = None;
        if self.phase.is_monitored() {
            for _ in 0..frames {
                found = found.or(self.link.frame(&context.config.radio_link, context.tti, sinr));
            }
        }
        found
    }

    /// Notes when a report is due if things stay as they are.
    pub(super) fn await_trigger(&self, context: &Context<'_>, commands: &mut Commands) {
        if self.phase != Phase::Steady {
            return;
        }
        let due = self.measuring.events.due(&context.config.trigger);
        if let Some(at) = due.or(context.config.conditional.map(|_| context.tti)) {
            commands.push(Command::Wake(at));
        }
    }
}
