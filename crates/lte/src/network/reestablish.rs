//! After a failure: cell selection, random access, and re-establishment or a new connection (TS
//! 36.331 clause 5.3.7).

use lasthop_units::{Instant, Tti, UeId};

use super::handover::ttis;
use super::mobility::Phase;
use super::{MobilityEvent, NetworkEvent, NetworkOutput, RadioNetwork};
use crate::rrc::RrcTiming;

/// RRCConnectionReestablishment and RRCConnectionReconfiguration are answered within 15 ms each,
/// which the grants of the answers take into account (TS 36.331 table 11.2-1).
const PROCESSING: u64 = 15;
/// A cell that must wait for a path switch looks again so much later [TTI].
const BUSY: u64 = 5;

impl RadioNetwork {
    /// The radio link of a UE with mobility has failed: at the next TTI it acts upon it.
    pub(super) fn link_lost(&mut self, ue: UeId, out: &mut NetworkOutput) {
        let at = self.first_open();
        let cell = self.links[ue].serving;
        let Some(m) = &mut self.mobility else { return };
        let on_its_way = !matches!(
            m.ues[ue].phase,
            Phase::Steady
                | Phase::Reporting { .. }
                | Phase::Preparing { .. }
                | Phase::Commanding { .. }
                | Phase::Applying { .. }
        );
        if on_its_way {
            return;
        }
        m.counters.radio_link_failures += 1;
        m.ues[ue].prepared = match m.ues[ue].phase {
            Phase::Commanding { target, .. } | Phase::Applying { target, .. } => Some(target),
            _ => m.ues[ue].prepared,
        };
        self.say(ue, MobilityEvent::RadioLinkFailure, cell, out);
        self.set_phase(ue, Phase::Failing { at }, at);
    }

    /// The steps of a re-establishment.
    pub(super) fn reestablishment_step(&mut self, now: Instant, tti: Tti, ue: UeId, out: &mut NetworkOutput) {
        let Some(m) = &self.mobility else { return };
        match m.ues[ue].phase {
            Phase::Failing { at } if at <= tti => self.begin_reestablishment(now, tti, ue),
            Phase::Selecting { at, t311 } if at <= tti => self.select(now, tti, ue, t311, out),
            Phase::Informing { at } if at <= tti => {
                let cell = self.links[ue].serving;
                let t301 = tti.plus(ttis(m.config.t301));
                let config = self.cells[cell].uplink.config.random_access;
                self.ues[ue].uplink.access.stop();
                self.ues[ue].uplink.access.start(&config, tti, None);
                self.set_phase(ue, Phase::Asking { t301 }, t301);
                self.arm_uplink(ue);
            }
            Phase::Asking { t301 } if t301 <= tti => self.go_idle(now, ue, out),
            // TS 36.331 v15.1.0 clause 5.3.7.7: "if timer T301 expires [...] perform the actions
            // upon leaving RRC_CONNECTED".
            Phase::Fetching { t301, .. } if t301 <= tti => self.go_idle(now, ue, out),
            Phase::Fetching { at, refused, .. } if at <= tti && refused => self.go_idle(now, ue, out),
            Phase::Fetching { at, refused, t301 } if at <= tti => {
                // T301 stops when the answer is heard (clause 7.3), and the answer waits for the
                // end of the last change.
                if m.backhaul.routes[ue].forwarding || tti.plus(self.answer(ue)) > t301 {
                    let at = tti.plus(BUSY).min(t301);
                    return self.set_phase(ue, Phase::Fetching { at, refused, t301 }, at);
                }
                let cell = self.links[ue].serving;
                self.move_data(now, ue, cell, out);
                let at = tti.plus(self.messages(ue));
                self.set_phase(ue, Phase::Restoring { at }, at);
            }
            Phase::Restoring { at } if at <= tti => self.restored(now, tti, ue, out),
            _ => {}
        }
    }

    /// MAC is reset, the UE is nowhere, T311 runs.
    pub(super) fn begin_reestablishment(&mut self, now: Instant, tti: Tti, ue: UeId) {
        let cell = self.links[ue].serving;
        self.camp(now, ue, cell);
        let Some(m) = &self.mobility else { return };
        let at = tti.plus(ttis(m.config.search));
        let t311 = tti.plus(ttis(m.config.t311));
        self.set_phase(ue, Phase::Selecting { at, t311 }, at);
    }

    /// Cell selection (TS 36.304 clause 5.2.7): the strongest suitable cell.
    fn select(&mut self, now: Instant, tti: Tti, ue: UeId, t311: Tti, out: &mut NetworkOutput) {
        let Some(cell) = self.strongest_cell(tti, ue) else {
            if t311 <= tti {
                return self.go_idle(now, ue, out);
            }
            let search = self.mobility.as_ref().map_or(1, |m| ttis(m.config.search).max(1));
            let at = tti.plus(search);
            return self.set_phase(ue, Phase::Selecting { at, t311 }, at);
        };
        self.camp(now, ue, cell);
        let rrc = self.cells[cell].config.rrc;
        let at = if rrc.timing == RrcTiming::Ideal { tti } else { rrc.informed(tti) };
        self.set_phase(ue, Phase::Informing { at }, at);
    }

    /// TTIs until the UE has heard RRCConnectionReestablishment.
    fn answer(&self, ue: UeId) -> u64 {
        let config = &self.cells[self.links[ue].serving].config;
        if config.rrc.timing == RrcTiming::Ideal { 0 } else { config.timing.decode }
    }

    /// RRCConnectionReestablishmentRequest is at the eNB.
    // TS 36.331 v15.1.0 5.3.7.1: "The connection re-establishment succeeds only if the concerned
    // cell is prepared i.e. has a valid UE context."
    pub(super) fn reestablishment_asked(&mut self, tti: Tti, ue: UeId, t301: Tti) {
        let cell = self.links[ue].serving;
        let Some(m) = &self.mobility else { return };
        let source = m.ues[ue].left.1;
        let home = m.backhaul.routes[ue].home;
        let known = home == m.enbs[cell] || m.ues[ue].prepared == Some(cell);
        let dead = self.cells[source].is_down() && home == m.enbs[source];
        let lost = (dead && m.enbs[cell] != home) || !(known || m.config.fetch_context);
        let refused = lost || !self.admits_again(ue);
        let asks = if known || refused { 0 } else { 2 * self.x2_delay(ue, cell) };
        let decode = self.cells[cell].config.timing.decode;
        self.calendar.note(tti.plus(decode), super::Due::ContentionResolved { ue });
        let at = tti.plus(asks).min(t301);
        self.set_phase(ue, Phase::Fetching { at, refused, t301 }, at);
    }

    /// Msg3 of this UE is an RRCConnectionReestablishmentRequest.
    pub(super) fn asks_for_its_connection(&self, ue: UeId) -> bool {
        self.mobility.as_ref().is_some_and(|m| matches!(m.ues[ue].phase, Phase::Asking { .. }))
    }

    /// Admission of a UE that camps on its cell already.
    fn admits_again(&self, ue: UeId) -> bool {
        let Some(m) = &self.mobility else { return true };
        let cell = self.links[ue].serving;
        let Some(most) = m.config.users.value() else { return !self.cells[cell].is_down() };
        let served = |other: &UeId| {
            *other != ue && self.links[*other].serving == cell && self.ues[*other].rrc.is_connected()
        };
        !self.cells[cell].is_down() && self.ues.ids().filter(served).count() < most as usize
    }

    /// TTIs of the messages after the request: RRCConnectionReestablishment and a reconfiguration,
    /// each with its answer.
    fn messages(&self, ue: UeId) -> u64 {
        let config = &self.cells[self.links[ue].serving].config;
        let (decode, grant) = (config.timing.decode, config.timing.grant);
        if config.rrc.timing == RrcTiming::Ideal { 0 } else { 2 * (decode + PROCESSING + grant + decode) }
    }

    fn restored(&mut self, now: Instant, tti: Tti, ue: UeId, out: &mut NetworkOutput) {
        let cell = self.links[ue].serving;
        let Some(m) = &mut self.mobility else { return };
        m.counters.reestablished += 1;
        let (left, source) = m.ues[ue].left;
        // It came where it should have been handed over to, and no command had reached it.
        let too_late = source != cell && m.ues[ue].prepared != Some(cell);
        m.counters.too_late += u64::from(too_late);
        let seconds = Some(now.since(left));
        out.events.push((ue, NetworkEvent::Mobility { event: MobilityEvent::Reestablished, cell, seconds }));
        if too_late {
            self.say(ue, MobilityEvent::TooLate, cell, out);
        }
        self.serve_again(now, tti, ue, out);
    }

    /// RRCConnectionReestablishmentReject, or T301 or T311 has expired: the connection is gone with
    /// what the network held for it. The UE connects anew when there is data.
    pub(super) fn go_idle(&mut self, now: Instant, ue: UeId, out: &mut NetworkOutput) {
        let cell = self.links[ue].serving;
        self.stop_forwarding(now, ue, out);
        self.say(ue, MobilityEvent::Rejected, cell, out);
        let Some(m) = &mut self.mobility else { return };
        m.counters.rejected += 1;
        let mobile = &mut m.ues[ue];
        (mobile.phase, mobile.away, mobile.prepared) = (Phase::Steady, false, None);
        self.ues[ue].uplink.access.stop();
        self.reset_downlink(ue);
        self.reset_uplink(ue);
        self.ues[ue].rrc.release();
        self.abandon(now, ue, out);
        self.settle_at(now, ue, cell, out);
    }
}
