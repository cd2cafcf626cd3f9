//! The uplink: from data in a UE to the eNB's RLC.
//!
//! Data that comes into an empty buffer triggers a buffer status report; without a grant the report
//! becomes a scheduling request or a random access. The eNB grants blocks of a TTI `timing.grant`
//! TTIs ahead ([`schedule`]), the UE fills them ([`send`]), the eNB decodes them `timing.decode`
//! TTIs later ([`receive`]); a block that failed is sent again 8 TTIs after the last time, on the
//! same resource blocks. A UE without data has no entry in any list; its timers and opportunities
//! are closed forms, and one wake-up stands in the calendar while it waits for one.

mod air;
mod oracle;
mod persistent;
mod power;
mod receive;
mod report;
mod retransmit;
mod schedule;
mod send;
pub(super) mod state;
#[cfg(test)]
mod tests;

use lasthop_units::{BearerId, CellId, Instant, Tti, UeId};

pub use self::power::{Silence, Silenced};
pub(super) use self::schedule::tbs_bytes;
pub use self::state::UplinkCounters;
use self::state::{UplinkContext, UplinkLink, UplinkUe};
use super::calendar::Agenda;
use super::state::Cell;
use super::trace::{Step, Trace};
use super::{Due, NetworkOutput, RadioNetwork};
use crate::mac::downlink::LinkStats;
use crate::mac::random_access::Action;
use crate::mac::sr::SrAction;
use crate::mac::uplink::{RacTimer, RequestConfig};
use crate::phy::air::Air;
use lasthop_bearer::{Direction, End};

/// From a transmission to the next one of the same process: the uplink's HARQ is synchronous (TS
/// 36.213 clause 8).
pub(super) const HARQ_PERIOD: u64 = crate::mac::harq::PROCESSES as u64;

/// How long after downlink data proactive grants go on [TTI].
const PROACTIVE: u64 = 100;

impl RadioNetwork {
    /// What has happened in the uplink of `cell`.
    pub fn uplink_counters(&self, cell: CellId) -> UplinkCounters {
        self.cells[cell].uplink.counters
    }

    /// What a UE has counted in the uplink.
    pub fn uplink_stats(&self, ue: UeId) -> &LinkStats {
        &self.links[ue].uplink.stats
    }

    /// The first TTI for which something can still be noted.
    pub(super) fn first_open(&self) -> Tti {
        self.calendar.first_open()
    }

    /// What the UE's end of `bearer` has waiting may have changed.
    #[inline]
    pub(super) fn uplink_data(&mut self, now: Instant, ue: UeId, bearer: BearerId) {
        if self.bearers[bearer].layers.rlc(End::Ue).reports().is_some() {
            return self.pass_report_on(now, ue, bearer);
        }
        let has = self.bearers[bearer].layers.has_something(End::Ue);
        let index = self.links[ue].drbs.iter().position(|b| *b == bearer).unwrap_or(0);
        if has != self.ues[ue].uplink.had[index] {
            self.terminal(ue).on_data(index, has);
        }
    }

    /// `ue`, which acts.
    pub(super) fn terminal(&mut self, ue: UeId) -> Terminal<'_> {
        let link = &mut self.links[ue];
        Terminal {
            id: ue,
            ue: &mut self.ues[ue].uplink,
            serving: link.serving,
            cell: &mut self.cells[link.serving],
            link: &mut link.uplink,
            preambles: &mut self.preambles,
            air: &mut self.air,
            calendar: &mut self.calendar,
            trace: &mut self.trace,
        }
    }

    /// Notes when the UE must act next, if it must.
    pub(super) fn arm_uplink(&mut self, ue: UeId) {
        self.terminal(ue).arm();
    }

    /// The UE's wake-up: timers of reports, opportunities of requests and preambles.
    pub(super) fn uplink_timers(&mut self, tti: Tti, ue: UeId, out: &mut NetworkOutput) {
        if self.ues[ue].uplink.wakes(tti) {
            let access = self.terminal(ue).on_timers(tti);
            if access == Some(Action::Problem) {
                self.random_access_problem(tti, ue, out);
            }
            self.arm_uplink(ue);
        }
    }

    /// A grant without a request, and again until there was no downlink data for a while.
    pub(super) fn grant_proactively(&mut self, tti: Tti, ue: UeId) {
        let cx = &mut self.contexts[ue];
        cx.uplink.proactive = false;
        let recent = cx.downlink.served.is_some_and(|t| t.plus(PROACTIVE) > tti);
        if recent && self.is_served(ue) {
            self.contexts[ue].uplink.view.request();
            self.wake(ue, Direction::Uplink);
            let period = self.cells[self.links[ue].serving].uplink.config.proactive_period.as_millis();
            self.contexts[ue].uplink.note_downlink(tti, ue, period, &mut self.calendar);
        }
    }

    /// A scheduling request that was sent in `sent` reaches the eNB.
    pub(super) fn request_heard(&mut self, ue: UeId, sent: Tti) {
        if self.is_away(ue) {
            return;
        }
        self.contexts[ue].uplink.view.on_request(sent);
        self.wake(ue, Direction::Uplink);
    }
}

/// A UE that acts: what it knows of its uplink, and how it reaches its cell.
pub(super) struct Terminal<'a> {
    id: UeId,
    ue: &'a mut UplinkUe,
    link: &'a mut UplinkLink,
    serving: CellId,
    /// What it was told of its cell, and who counts what it sends.
    cell: &'a mut Cell,
    /// Cells that preambles were sent to in this TTI.
    preambles: &'a mut Vec<CellId>,
    air: &'a mut Air,
    calendar: &'a mut Agenda,
    trace: &'a mut Trace,
}

impl Terminal<'_> {
    /// The bearer number `index` has data now, or has none any more.
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

    /// Notes when the UE must act next, if it must.
    pub fn arm(&mut self) {
        let from = self.calendar.first_open();
        let mut at = self.ue.access.poll_at();
        if self.asks(from) {
            let asks = match self.cell.uplink.config.request {
                RequestConfig::Rac { .. } => {
                    // A RAC is no transport block: what comes at the start of a TTI can still ask
                    // in it.
                    let free = self.ue.granted_until.map_or(Tti(0), |t| t.plus(1));
                    let first = self.calendar.open().max(self.ue.rac_blocked_until).max(free);
                    if first < from {
                        self.ask(first);
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

    /// It has to ask for a grant in `tti`.
    #[inline]
    fn asks(&self, tti: Tti) -> bool {
        let u = &*self.ue;
        u.wants_request() && !u.access.is_running() && !u.is_granted(tti, self.link.persistent.as_ref())
    }

    /// Timers of reports, opportunities of requests and preambles. What random access does.
    fn on_timers(&mut self, tti: Tti) -> Option<Action> {
        let has = self.ue.had.contains(&true);
        self.ue.bsr.on_tti(tti, has);
        if self.asks(tti) {
            self.ask(tti);
        }
        let action = self.ue.access.on_tti(&self.cell.uplink.config.random_access, tti)?;
        if let Action::Preamble(preamble) = action {
            self.send_preamble(tti, preamble);
        }
        Some(action)
    }

    /// A report is due and there is no grant for it.
    fn ask(&mut self, tti: Tti) {
        let (u, cell) = (&mut *self.ue, &mut *self.cell);
        let heard = match cell.uplink.config.request {
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
                        u.access.start(&cell.uplink.config.random_access, tti, None);
                        return;
                    }
                    Some(SrAction::Send) => tti.plus(cell.config.timing.decode_of_uplink()),
                }
            }
        };
        cell.uplink.counters.requests += 1;
        self.link.stats.requests += 1;
        self.trace.step(tti, Step::Request, self.id, tti, 0, 0);
        self.calendar.note(heard, Due::RequestHeard { ue: self.id, sent: tti });
    }

    fn send_preamble(&mut self, tti: Tti, preamble: u8) {
        let c = &mut self.cell.uplink;
        c.counters.preambles += 1;
        self.link.stats.preambles += 1;
        // A link of a given SINR has no power that matters.
        let heard = self.link.pinned || {
            let gains = self.air.gains(tti, self.serving, self.id);
            let loss = self.ue.path_loss(gains.downlink);
            let power = self.ue.preamble_power(&c.config.random_access, loss);
            c.hears_preamble(power, gains.uplink, self.cell.config.radio.noise_figure)
        };
        if heard {
            c.responder.preamble(self.id, preamble);
            self.preambles.push(self.serving);
        }
    }
}

impl UplinkContext {
    /// Downlink data went to the UE `ue` in `tti`: what answers it need not ask first, with a
    /// `period` of proactive grants [TTI].
    #[inline]
    pub(super) fn note_downlink(&mut self, tti: Tti, ue: UeId, period: u64, calendar: &mut Agenda) {
        if period > 0 && !std::mem::replace(&mut self.proactive, true) {
            calendar.note(tti.plus(period), Due::Proactive { ue });
        }
    }
}

impl UplinkUe {
    /// The UE has a grant for `tti`: a RAC's timer that is paused by grants does not count it.
    #[inline]
    pub(super) fn pause_rac(&mut self, request: &RequestConfig, tti: Tti) {
        if matches!(request, RequestConfig::Rac { counts: RacTimer::Paused, .. })
            && tti <= self.rac_blocked_until
        {
            self.rac_blocked_until = self.rac_blocked_until.plus(1);
        }
    }
}
