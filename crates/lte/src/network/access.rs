//! Random access in the network: answers to preambles, Msg3, and what follows.

use lasthop_units::{CellId, Instant, Tti, UeId};

use super::mobility::Mobility;
use super::uplink::state::{Content, Granted};
use super::uplink::tbs_bytes;
use super::{Due, NetworkEvent, NetworkOutput, RadioNetwork};
use crate::mac::random_access::{MSG3_DELAY, Response, WINDOW_START};
use crate::mac::uplink::largest_allocation;
use crate::phy::TTI;
use crate::rrc::RrcTiming;
use crate::rrc::mobility::Input;

/// Resource blocks of Msg3: 56 bits, the least that a response may grant (TS 36.321 clause 5.1.4),
/// need three with MCS 0.
const MSG3_BLOCKS: u32 = 3;
const MSG3_MCS: u8 = 0;

impl RadioNetwork {
    /// The preambles of this TTI are on the air: the cells will answer.
    pub(super) fn close_preambles(&mut self, tti: Tti) {
        for cell in self.preambles.drain(..) {
            let c = &mut self.cells[cell].uplink;
            c.responder.close(&c.config.random_access, tti);
            self.calendar.note(tti.plus(WINDOW_START), Due::Responses { cell });
        }
    }

    /// Random access responses of `cell` in this TTI.
    pub(super) fn respond(&mut self, tti: Tti, cell: CellId, out: &mut NetworkOutput) {
        let msg3 = tti.plus(MSG3_DELAY);
        let most = self.cells[cell].uplink.config.random_access.responses_per_tti;
        if self.cells[cell].is_down() {
            return;
        }
        let persistent = self.granting(tti, cell).persistent_blocks(msg3);
        for _ in 0..most {
            let c = &mut self.cells[cell].uplink;
            let Some(rbs) = ({
                // What was sent 8 TTIs before Msg3 may have to be sent again on the same blocks.
                let pending = c.plan.used(Tti(msg3.0.saturating_sub(super::uplink::HARQ_PERIOD)));
                let free = c.band.without(c.plan.slot(msg3).used).without(pending | persistent);
                free.run(largest_allocation(MSG3_BLOCKS))
            }) else {
                break;
            };
            let Some(answer) = c.responder.respond(&c.config.random_access, tti) else { break };
            let backoff = c.config.random_access.backoff.as_millis();
            c.plan.slot(msg3).used |= rbs;
            let bytes = tbs_bytes(MSG3_MCS, MSG3_BLOCKS);
            for ue in &answer.ues {
                // Its sender may be in another cell meanwhile; one on its way there must hear this
                // one well enough.
                if !self.hears_response(tti, cell, *ue) {
                    continue;
                }
                if self.lands(tti, *ue, &answer, out) {
                    continue;
                }
                let c = &mut self.cells[cell].uplink;
                let access = &mut self.ues[*ue].uplink.access;
                access.on_backoff(answer.to, backoff);
                if access.on_response(answer.to, answer.preamble, msg3) {
                    let granted = Granted { ue: *ue, rbs, mcs: MSG3_MCS, bytes, content: Content::Msg3 };
                    c.plan.slot(msg3).granted.push(granted);
                    self.calendar.note(msg3, Due::Transmit);
                }
            }
        }
        let next = self.cells[cell].uplink.responder.poll_at(tti.plus(1));
        if let Some(next) = next {
            self.calendar.note(next, Due::Responses { cell });
        }
    }

    /// The sender of a preamble may be in another cell meanwhile; one on its way must hear this one
    /// well enough.
    fn hears_response(&mut self, tti: Tti, cell: CellId, ue: UeId) -> bool {
        self.links[ue].serving == cell && !(self.is_away(ue) && self.misses_control(tti, cell, ue))
    }

    /// Where messages take no time, a handover is complete with the random access response.
    fn lands(&mut self, tti: Tti, ue: UeId, answer: &Response, out: &mut NetworkOutput) -> bool {
        let ideal = self.cells[self.links[ue].serving].config.rrc.timing == RrcTiming::Ideal;
        let accessing = |m: &Mobility| m.ues[ue].is_accessing();
        if !ideal || !self.mobility.as_deref().is_some_and(accessing) {
            return false;
        }
        let heard = self.ues[ue].uplink.access.on_response(answer.to, answer.preamble, tti);
        if heard {
            self.ues[ue].uplink.access.stop();
            self.mobility_input(tti.start(TTI), tti, ue, Input::ResponseHeard, out);
        }
        heard
    }

    /// Msg3 is at the eNB: of a UE that is connected, which is granted something to say so, or an
    /// RRCConnectionRequest.
    pub(super) fn msg3_received(&mut self, now: Instant, ue: UeId, known: bool, out: &mut NetworkOutput) {
        let tti = Tti::containing(now, TTI);
        if self.is_away(ue) {
            self.mobility_input(now, tti, ue, Input::Msg3, out);
        } else if known {
            self.contexts[ue].uplink.view.request();
        } else {
            self.connection_requested(tti, ue);
        }
    }

    /// preambleTransMax was reached: a radio link failure unless a timer of RRC decides (TS 36.331
    /// clause 5.3.11.3). T300 runs while a UE sets up its connection.
    pub(super) fn random_access_problem(&mut self, tti: Tti, ue: UeId, out: &mut NetworkOutput) {
        out.events.push((ue, NetworkEvent::RandomAccessProblem(self.links[ue].serving)));
        if !self.ues[ue].rrc.is_connected() {
            return;
        }
        let now = tti.start(TTI);
        match self.mobility.is_some() {
            true => self.mobility_input(now, tti, ue, Input::AccessProblem, out),
            false => self.radio_link_failure(now, ue, out),
        }
    }
}
