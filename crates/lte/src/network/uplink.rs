//! The uplink: from data in a UE to the eNB's RLC.
//!
//! Data in an empty buffer triggers a buffer status report; without a grant the report leads to a
//! scheduling request or a random access. The eNB grants blocks of a TTI `timing.grant` TTIs ahead
//! ([`schedule`]), the UE fills them ([`send`]), the eNB decodes them `timing.decode` TTIs later
//! ([`receive`]); a block that failed is retransmitted 8 TTIs after the last transmission, on the
//! same resource blocks. A UE without data has no entry in any list; its timers and opportunities
//! are closed forms, and one wake-up is in the calendar while it waits for one.

mod air;
mod invariants;
mod persistent;
mod power;
mod receive;
mod report;
mod retransmit;
mod schedule;
mod send;
#[cfg(test)]
mod tests;

use lasthop_units::{BearerId, CellId, Db, Dbm, Instant, Tti, UeId};

pub(super) use self::air::{UplinkAir, decode};
pub use self::power::{Silence, Silenced};
use super::calendar::{Agenda, Due};
use super::reach::{Reach, Whole};
use super::signals::Signal;
use super::state::sidelink::{Destination, Sidelink, SidelinkGrants};
use super::state::uplink::{UplinkCounters, UplinkUe};
use super::state::{Cell, Link};
use super::trace::{Step, Trace};
use super::uu::Uu;
use super::{CellConfig, NetworkEvent, NetworkOutput, RadioNetwork};
use crate::mac::random_access::Action;
use crate::mac::sr::SrAction;
use crate::mac::uplink::RequestConfig;
use crate::network::channel::Channel;
use crate::phy::RbSet;
use lasthop_bearer::End;

impl RadioNetwork {
    /// Updates requests and reports after a change of the data at the UE's end of `bearer`. Returns
    /// false if there is nothing to update.
    #[inline]
    pub(super) fn uplink_data(&mut self, now: Instant, ue: UeId, bearer: BearerId) -> bool {
        if self.bearers[bearer].layers.rlc(End::Ue).reports().is_some() {
            let RadioNetwork { links, cells, bearers, calendar, .. } = self;
            if let Some(bytes) = bearers.take_report(bearer, &links[ue].drbs) {
                let serving = links[ue].serving;
                let cell = (serving, &cells[serving].config);
                report::pass_report_on(now, ue, bytes, cell, calendar);
            }
            return true;
        }
        let has = self.bearers[bearer].layers.has_something(End::Ue);
        let index = self.links[ue].drbs.iter().position(|b| *b == bearer).unwrap_or(0);
        let changed = has != self.ues[ue].uplink.had[index];
        if changed {
            self.terminal(ue).on_data(index, has);
        }
        changed
    }

    /// The eNB of `cell`, to grant blocks in `tti`.
    pub(super) fn granting(&mut self, tti: Tti, cell: CellId) -> Granting<'_> {
        let (destinations, sidelink_grants) = match self.sidelink.as_deref_mut() {
            Some(Sidelink { destinations, grants, .. }) => (&destinations[..], Some(grants)),
            None => (&[][..], None),
        };
        Granting {
            tti,
            id: cell,
            cell: &mut self.cells[cell],
            contexts: &mut self.contexts,
            links: &mut self.links,
            uu: Uu::new(&mut self.ues, &mut self.air),
            destinations,
            sidelink_grants,
            calendar: &mut self.calendar,
            trace: &mut self.trace,
        }
    }

    /// The UE `ue` at its uplink's MAC.
    pub(super) fn terminal(&mut self, ue: UeId) -> Terminal<'_> {
        let link = &mut self.links[ue];
        let Cell { config, uplink, .. } = &mut self.cells[link.serving];
        Terminal {
            id: ue,
            ue: &mut self.ues[ue].uplink,
            config,
            counters: &mut uplink.counters,
            link,
            air: &mut self.air,
            calendar: &mut self.calendar,
            trace: &mut self.trace,
        }
    }

    /// Processes the UE's wake-up: timers of reports, opportunities of requests and preambles.
    pub(super) fn uplink_timers(&mut self, now: Instant, tti: Tti, ue: UeId, out: &mut NetworkOutput) {
        if self.ues[ue].uplink.wakes(tti) {
            if self.ues[ue].uplink.unresolved_msg3(tti).is_some() {
                self.sending(now, tti, ue, out).flush_msg3();
                self.serve(now, out);
            }
            let mut terminal = self.terminal(ue);
            let access = terminal.on_timers(tti);
            if let Some(Action::Preamble(preamble)) = access {
                let power = terminal.send_preamble(tti);
                let serving = terminal.link.serving;
                let attempt = terminal.ue.access.attempts();
                terminal.trace.signal(tti, serving, || Signal::Preamble { ue, preamble, attempt });
                let cell = &mut self.cells[serving];
                let mut gain = || self.air.get().uplink_gain(tti, serving, ue);
                if power.is_none_or(|power| cell.detects_preamble(power, gain())) {
                    cell.uplink.responder.preamble(ue, preamble);
                    self.preambles.push(serving);
                }
            }
            if access == Some(Action::Problem) {
                out.events.push((ue, NetworkEvent::RandomAccessProblem(self.links[ue].serving)));
                self.rrc_step(now, tti, ue, |rrc| rrc.access_problem(), out);
            }
            self.terminal(ue).arm();
        }
    }
}

/// The eNB of a cell that grants blocks of its uplink in one TTI, and the UEs that receive its
/// grants.
pub(super) struct Granting<'a, R: Reach = Whole> {
    pub tti: Tti,
    pub id: CellId,
    pub cell: &'a mut Cell,
    pub contexts: &'a mut R::Contexts,
    pub links: &'a mut R::Links,
    pub uu: Uu<'a, R>,
    /// Destinations, which have blocks of the uplink too; none without sidelinks.
    pub destinations: &'a [Destination],
    /// The eNB's state about them.
    pub sidelink_grants: Option<&'a mut SidelinkGrants>,
    pub calendar: &'a mut R::Calendar,
    pub trace: &'a mut Trace,
}

/// A UE at its uplink's MAC: its state, and what it needs to transmit to its cell.
pub(super) struct Terminal<'a> {
    id: UeId,
    ue: &'a mut UplinkUe,
    link: &'a mut Link,
    /// The configuration of its cell, by RRC.
    config: &'a CellConfig,
    /// Counters of the transmissions to the cell.
    counters: &'a mut UplinkCounters,
    air: &'a mut Channel,
    calendar: &'a mut Agenda,
    trace: &'a mut Trace,
}

impl Terminal<'_> {
    /// Processes a change of whether the bearer number `index` has data.
    fn on_data(&mut self, index: usize, has: bool) {
        let u = &mut *self.ue;
        if has && u.mux.makes_report(index, |i| u.had[i]) {
            u.bsr.on_data();
        }
        u.had[index] = has;
        if has {
            self.arm();
        }
    }

    /// Schedules the UE's next wake-up, if it needs one.
    pub fn arm(&mut self) {
        let from = self.calendar.first_open();
        let mut at = self.ue.access.poll_at();
        if self.must_request(from) {
            let asks = match self.config.uplink.request {
                RequestConfig::Rac { .. } => {
                    // A RAC is no transport block: data at the start of a TTI can still be
                    // requested in it.
                    let free = self.ue.granted_until.map_or(Tti(0), |t| t.plus(1));
                    let first = self.calendar.open().max(self.ue.rac_blocked_until).max(free);
                    if first < from {
                        self.request_grant(first);
                    }
                    Some(first.max(from).max(self.ue.rac_blocked_until))
                }
                RequestConfig::Sr | RequestConfig::RandomAccess => {
                    self.ue.sr.trigger();
                    self.ue.sr.poll(from)
                }
            };
            at = at.into_iter().chain(asks).min();
        }
        let u = &mut *self.ue;
        if u.had.contains(&true) {
            at = at.into_iter().chain(u.bsr.poll_at()).min();
        }
        let Some(at) = at.map(|at| at.max(from)) else { return };
        if u.wake.is_none_or(|wake| at < wake || wake < from) {
            u.wake = Some(at);
            self.calendar.note(at, Due::UplinkTimers { ue: self.id });
        }
    }

    /// True if the UE must request a grant in `tti`.
    #[inline]
    fn must_request(&self, tti: Tti) -> bool {
        let u = &*self.ue;
        u.needs_grant() && !u.access.is_running() && !u.is_granted(tti, self.link.uplink.persistent.as_ref())
    }

    /// Processes timers of reports and opportunities of requests. Returns the action of random
    /// access.
    fn on_timers(&mut self, tti: Tti) -> Option<Action> {
        let has = self.ue.had.contains(&true);
        self.ue.bsr.on_tti(tti, has);
        if self.must_request(tti) {
            self.request_grant(tti);
        }
        if matches!(self.ue.unresolved_msg3(tti), Some((_, true))) {
            // The retransmission in this TTI restarts the timer.
            return None;
        }
        self.ue.access.on_tti(&self.config.uplink.random_access, tti)
    }

    /// The path loss of the cell's downlink in `tti`, which the UE measures.
    fn path_loss(&mut self, tti: Tti) -> Db {
        self.ue.power.path_loss(self.air.get().downlink_gain(tti, self.link.serving, self.id))
    }

    /// Counts a preamble in `tti`, and returns its power; None for a link of a given SINR.
    fn send_preamble(&mut self, tti: Tti) -> Option<Dbm> {
        self.counters.preambles += 1;
        self.link.uplink.stats.preambles += 1;
        if self.link.uplink.pinned {
            return None;
        }
        let loss = self.path_loss(tti);
        let target = self.ue.access.target_power(&self.config.uplink.random_access);
        Some(self.ue.power.preamble(target, loss))
    }

    /// Applies a transmit power control command (0 to 3) in `tti`, for `blocks` resource blocks.
    fn command_power(&mut self, tti: Tti, command: u8, blocks: u32) {
        let loss = self.path_loss(tti);
        self.ue.power.command(&self.config.uplink.power_control, command, blocks, loss);
    }

    /// Requests a grant for a report that is due.
    fn request_grant(&mut self, tti: Tti) {
        let (u, config) = (&mut *self.ue, self.config);
        let received = match config.uplink.request {
            RequestConfig::Rac { answer, timer, counts } => {
                if tti < u.rac_blocked_until {
                    return;
                }
                u.rac_blocked_until = tti.plus(counts.first(timer));
                tti.plus(answer)
            }
            RequestConfig::Sr | RequestConfig::RandomAccess => {
                u.sr.trigger();
                match u.sr.on_tti(tti) {
                    None => return,
                    Some(SrAction::RandomAccess) => {
                        u.access.start(&config.uplink.random_access, tti, None);
                        return;
                    }
                    Some(SrAction::Send) => tti.plus(config.timing.decode_of_uplink()),
                }
            }
        };
        self.counters.requests += 1;
        self.link.uplink.stats.requests += 1;
        self.trace.step(tti, Step::Request, self.id, tti, 0, RbSet::EMPTY);
        self.trace.signal(tti, self.link.serving, || {
            let rac = matches!(config.uplink.request, RequestConfig::Rac { .. });
            Signal::Request { ue: self.id, rac }
        });
        self.calendar.note(received, Due::RequestReceived { ue: self.id, sent: tti });
    }
}
