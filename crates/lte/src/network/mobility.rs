//! Mobility in the network: what each UE measures while it is connected, and what it concludes.
//!
//! A connected UE looks at all cells once a frame while its link is poor, every 40 ms while it is
//! good: its radio link is monitored with these looks, and their mean over `handover.period` is a
//! measurement. Fading is not in them: it is taken to be averaged out. An idle UE looks only when
//! it wants a connection.

use lasthop_engine::math::db;
use lasthop_radio::{linear, milliwatts};
use lasthop_units::{CellId, Dbm, Id, IndexVec, Instant, Tti, UeId};

use super::backhaul::{Backhaul, Enb};
use super::config::NetworkConfig;
use super::{Due, NetworkEvent, NetworkOutput, RadioNetwork};
use crate::phy::TTI;
use crate::rrc::radio_link::FRAME;
use crate::rrc::{HandoverConfig, LinkEvent, Measured, Measurements, RadioLink};

/// TTIs between two looks of a UE with a good link.
const CALM: u64 = 4 * FRAME;
/// A link this much above Qin is good [dB].
const GOOD: f64 = 15.0;
/// Less than any cell that can be measured [mW on a resource element].
const NOTHING: f64 = 1e-20;

/// Mobility of all UEs.
#[derive(Debug)]
pub(super) struct Mobility {
    pub config: HandoverConfig,
    pub backhaul: Backhaul,
    pub ues: IndexVec<UeId, Mobile>,
    /// The eNB of each cell.
    pub enbs: IndexVec<CellId, Enb>,
    /// Dedicated preambles that each cell has given out.
    pub preambles: IndexVec<CellId, u32>,
    pub counters: MobilityCounters,
    /// Linear power on a resource element of each cell at the UE that looks [mW].
    powers: IndexVec<CellId, f64>,
}

/// What mobility has come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MobilityCounters {
    /// Handovers that were prepared.
    pub prepared: u64,
    /// Handovers that a target refused.
    pub refused: u64,
    /// Handovers that are complete.
    pub completed: u64,
    /// Of these, back to the last cell within `handover.ping_pong`.
    pub ping_pong: u64,
    /// T304 expired, or random access at the target failed.
    pub failed: u64,
    /// Radio link failures.
    pub radio_link_failures: u64,
    /// Of these, before a command for the cell of the re-establishment had come (TS 36.300 clause
    /// 22.4.2: too late).
    pub too_late: u64,
    /// Connections that were re-established.
    pub reestablished: u64,
    /// Re-establishments that were refused, or found no cell.
    pub rejected: u64,
    /// Packets forwarded over X2.
    pub forwarded_packets: u64,
    /// Their bytes.
    pub forwarded_bytes: u64,
}

/// Where a UE stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// Served, or idle.
    #[default]
    Steady,
    /// Its report is on the way to the eNB until then.
    Reporting { target: CellId, at: Tti },
    /// The target is asked; the answer is there then.
    Preparing { target: CellId, at: Tti, early: bool },
    /// The command goes out, and again until the UE hears it.
    Commanding { target: CellId, at: Tti },
    /// The UE works on the command until then.
    Applying { target: CellId, at: Tti, t304: Tti },
    /// It has left the source and synchronises with the target.
    Synchronising { at: Tti, t304: Tti },
    /// Random access at the target.
    Accessing { t304: Tti },
    /// It is there, with messages that take no time.
    Landing { at: Tti },
    /// The radio link has failed; the UE acts upon it.
    Failing { at: Tti },
    /// It looks for a cell.
    Selecting { at: Tti, t311: Tti },
    /// It reads the cell's system information.
    Informing { at: Tti },
    /// It asks for a re-establishment.
    Asking { t301: Tti },
    /// The cell fetches its context, or refuses; the UE waits until T301 expires.
    Fetching { at: Tti, refused: bool, t301: Tti },
    /// RRC messages re-establish the connection.
    Restoring { at: Tti },
}

/// A UE.
#[derive(Debug)]
pub(super) struct Mobile {
    pub measurements: Measurements,
    pub link: RadioLink,
    pub phase: Phase,
    /// Nobody schedules it.
    pub away: bool,
    /// When it was last reachable, and where.
    pub left: (Instant, CellId),
    /// The last handover: from where, and when it was complete.
    pub last: Option<(CellId, Tti)>,
    /// A cell that is prepared, for when the UE decides.
    pub prepared: Option<CellId>,
    /// Sum of linear powers by cell since `since`, and how many.
    sums: IndexVec<CellId, f64>,
    looks: u32,
    since: Tti,
    /// A look is in the calendar.
    looking: bool,
}

impl Mobility {
    pub fn new(config: &NetworkConfig, handover: &HandoverConfig) -> Mobility {
        let enbs = enbs(config);
        let homes = config.ues.iter().map(|u| enbs[u.serving]);
        let n = config.cells.iter().count();
        let mobile = || Mobile {
            measurements: Measurements::new(n),
            link: RadioLink::default(),
            phase: Phase::Steady,
            away: false,
            left: (Instant::ZERO, CellId::from_index(0)),
            last: None,
            prepared: None,
            sums: (0..n).map(|_| 0.0).collect(),
            looks: 0,
            since: Tti(0),
            looking: false,
        };
        Mobility {
            config: *handover,
            backhaul: Backhaul::new(handover, homes, config.bearers.len()),
            ues: config.ues.iter().map(|_| mobile()).collect(),
            preambles: (0..n).map(|_| 0).collect(),
            counters: MobilityCounters::default(),
            powers: (0..n).map(|_| 0.0).collect(),
            enbs,
        }
    }
}

/// The eNB of each cell: cells that name the same one share it.
fn enbs(config: &NetworkConfig) -> IndexVec<CellId, Enb> {
    let mut named: Vec<Option<&str>> = Vec::new();
    let mut numbers = IndexVec::new();
    for cell in config.cells.iter() {
        let name = cell.enb.as_deref();
        let known = named.iter().position(|n| n.is_some() && *n == name);
        let enb = known.unwrap_or_else(|| {
            named.push(name);
            named.len() - 1
        });
        numbers.push(enb as Enb);
    }
    numbers
}

impl RadioNetwork {
    /// Counters of mobility; all zero without it.
    pub fn mobility_counters(&self) -> MobilityCounters {
        let Some(m) = &self.mobility else { return MobilityCounters::default() };
        let (forwarded_packets, forwarded_bytes) = m.backhaul.forwarded;
        MobilityCounters { forwarded_packets, forwarded_bytes, ..m.counters }
    }

    /// What a UE has measured of a cell, after the layer 3 filter.
    pub fn measured(&self, ue: UeId, cell: CellId) -> Option<Measured> {
        self.mobility.as_ref().and_then(|m| m.ues[ue].measurements.of(cell))
    }

    /// Where a UE is [m].
    pub fn place(&mut self, now: Instant, ue: UeId) -> lasthop_radio::Place {
        self.air.place(Tti::containing(now, TTI), ue)
    }

    /// A cell sends with another power from now on; its measurements follow.
    pub fn set_cell_power(&mut self, cell: CellId, power: Dbm) {
        let c = &mut self.cells[cell];
        c.config.radio.power = power;
        c.reference_power = c.config.reference_power();
        if !self.cells[cell].is_down() {
            self.air.set_power(cell, milliwatts(power));
        }
    }

    /// True if the UE is connected and served: not on its way between cells.
    #[inline]
    pub(super) fn is_served(&self, ue: UeId) -> bool {
        self.ues[ue].rrc.is_connected() && !self.is_away(ue)
    }

    /// True while a handover or a re-establishment keeps everybody from scheduling it.
    #[inline]
    pub(super) fn is_away(&self, ue: UeId) -> bool {
        self.mobility.as_ref().is_some_and(|m| m.ues[ue].away)
    }

    /// A UE that is connected begins to look around.
    pub(super) fn begin_looking(&mut self, ue: UeId) {
        let from = self.first_open();
        let Some(m) = &mut self.mobility else { return };
        let mobile = &mut m.ues[ue];
        mobile.link.restart();
        mobile.measurements.restart();
        if !std::mem::replace(&mut mobile.looking, true) {
            mobile.since = from;
            // Looks of different UEs are spread over the frames.
            self.calendar.note(from.plus(ue.index() as u64 % CALM), Due::Look { ue });
        }
    }

    /// A UE looks at all cells.
    pub(super) fn look(&mut self, now: Instant, tti: Tti, ue: UeId, out: &mut NetworkOutput) {
        if !self.ues[ue].rrc.is_connected() {
            if let Some(m) = &mut self.mobility {
                m.ues[ue].looking = false;
            }
            return;
        }
        let serving = self.links[ue].serving;
        let sinr = self.survey(tti, ue);
        let pinned = self.pinned_sinr(ue);
        let Some(m) = &mut self.mobility else { return };
        let sinr = pinned.unwrap_or(sinr);
        let mobile = &mut m.ues[ue];
        for (sum, power) in mobile.sums.iter_mut().zip(m.powers.iter()) {
            *sum += power;
        }
        mobile.looks += 1;
        let complete = mobile.since.plus(m.config.period.as_millis()) <= tti;
        if complete {
            m.learn(tti, ue, self.air.noise_on_element(ue));
            let mobile = &mut m.ues[ue];
            mobile.measurements.judge(&m.config.trigger, serving, tti);
        }
        let calm = sinr > linear(m.config.radio_link.q_in) * linear(lasthop_units::Db(GOOD));
        let mobile = &mut m.ues[ue];
        let frames = if calm { CALM / FRAME } else { 1 };
        let served = !mobile.away;
        let mut found = None;
        for _ in 0..frames {
            if served {
                found = found.or(mobile.link.frame(&m.config.radio_link, tti, sinr));
            }
        }
        self.calendar.note(tti.plus(frames * FRAME), Due::Look { ue });
        if complete {
            self.await_trigger(tti, ue);
        }
        match found {
            None => {}
            Some(LinkEvent::Problem) => out.events.push((ue, NetworkEvent::RadioProblem(serving))),
            Some(LinkEvent::Recovered) => out.events.push((ue, NetworkEvent::RadioRecovered(serving))),
            Some(LinkEvent::Failed) => self.radio_link_failure(now, ue, out),
        }
    }

    /// Notes when a report is due if things stay as they are.
    pub(super) fn await_trigger(&mut self, tti: Tti, ue: UeId) {
        let from = self.first_open();
        let Some(m) = &self.mobility else { return };
        if m.ues[ue].phase != Phase::Steady || m.ues[ue].away {
            return;
        }
        let due = m.ues[ue].measurements.due(&m.config.trigger);
        if let Some(at) = due.or(m.config.conditional.map(|_| tti)) {
            self.calendar.note(at.max(from), Due::Mobility { ue });
        }
    }

    /// Powers of all cells at `ue` into `powers`; the linear SINR of the serving cell's reference
    /// signals, when every cell sends.
    fn survey(&mut self, tti: Tti, ue: UeId) -> f64 {
        let serving = self.links[ue].serving;
        let Some(m) = &mut self.mobility else { return 0.0 };
        let mut total = 0.0;
        for cell in self.cells.ids() {
            let c = &self.cells[cell];
            let config = &c.config;
            let element = milliwatts(config.radio.power) / f64::from(12 * config.resource_blocks);
            let gain = f64::from(self.air.gains(tti, cell, ue).downlink);
            let power = if c.is_down() { 0.0 } else { (gain * element).max(NOTHING) };
            m.powers[cell] = power;
            total += power;
        }
        let own = m.powers[serving];
        own / (total - own + self.air.noise_on_element(ue))
    }

    /// The strongest cell that a UE could camp on now.
    pub(super) fn strongest_cell(&mut self, tti: Tti, ue: UeId) -> Option<CellId> {
        self.survey(tti, ue);
        let m = self.mobility.as_ref()?;
        let suits = |c: &CellId| m.powers[*c] > 0.0 && db(m.powers[*c]) >= m.config.suitable.0;
        let best = m.powers.ids().filter(suits);
        best.max_by(|a, b| m.powers[*a].total_cmp(&m.powers[*b]).then(b.cmp(a)))
    }

    /// A cell is switched off, or on again: nobody hears it, and it hears nobody.
    pub fn set_cell_down(&mut self, now: Instant, cell: CellId, down: bool) {
        self.reach(now);
        self.cells[cell].config.down = down;
        let power = milliwatts(self.cells[cell].config.radio.power);
        self.air.set_power(cell, if down { 0.0 } else { power });
        if down {
            for ue in self.ues.ids() {
                if self.links[ue].serving == cell {
                    self.reset_downlink(ue);
                    self.reset_uplink(ue);
                    self.forget_in_cell(ue);
                }
            }
        } else {
            for bearer in self.bearers.ids() {
                self.rouse(bearer);
            }
        }
    }

    fn pinned_sinr(&self, ue: UeId) -> Option<f64> {
        self.air.pinned(ue).map(f64::from)
    }
}

impl Mobility {
    /// Layer 1 has a measurement of every cell.
    fn learn(&mut self, tti: Tti, ue: UeId, noise: f64) {
        let filter = self.config.l3();
        let mobile = &mut self.ues[ue];
        let n = f64::from(mobile.looks);
        let rssi = mobile.sums.iter().sum::<f64>() / n + noise;
        for cell in mobile.sums.ids() {
            let power = (mobile.sums[cell] / n).max(NOTHING);
            // RSSI is all that is received on a resource block's twelve subcarriers (TS 36.214
            // clause 5.1.3), every cell loaded.
            let measured = Measured { rsrp: db(power), rsrq: db(power / (12.0 * rssi)) };
            mobile.measurements.learn(&filter, cell, measured);
        }
        mobile.sums.iter_mut().for_each(|s| *s = 0.0);
        (mobile.looks, mobile.since) = (0, tti);
    }
}
