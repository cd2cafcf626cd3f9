//! Random access in the network: responses to preambles, and Msg3.

use lasthop_units::{CellId, IndexVec, Tti, UeId};

use super::calendar::{Agenda, Due};
use super::rrc::Mobility;
use super::state::plan::{Content, Granted};
use super::state::{Cell, Link};
use super::trace::Trace;
use super::uu::Uu;
use super::{NetworkOutput, RadioNetwork};
use crate::mac::harq::HARQ_PERIOD;
use crate::mac::random_access::{MSG3_DELAY, Response, WINDOW_START};
use crate::mac::uplink::{largest_allocation, tbs_bytes};
use crate::phy::{RbSet, TTI};
use crate::rrc::RrcTiming;
use crate::rrc::mobility::Input;

/// Resource blocks of Msg3: its 56 bits, the least that a response may grant (TS 36.321 clause
/// 5.1.4), need three with MCS 0.
const MSG3_BLOCKS: u32 = 3;
const MSG3_MCS: u8 = 0;

/// A cell that answers preambles in one TTI, and the UEs that may receive the responses.
struct Answering<'a> {
    tti: Tti,
    id: CellId,
    cell: &'a mut Cell,
    uu: Uu<'a>,
    links: &'a IndexVec<UeId, Link>,
    mobility: Option<&'a Mobility>,
    calendar: &'a mut Agenda,
    trace: &'a mut Trace,
}

impl Answering<'_> {
    /// Sends the random access responses of this TTI; `persistent`: blocks of persistent grants in
    /// the TTI of Msg3. Returns the UEs whose random access to the target of a handover is complete
    /// with their response, and the TTI of Msg3 (None: the handover is complete).
    fn respond(&mut self, persistent: RbSet) -> Vec<(UeId, Option<Tti>)> {
        let mut landed = Vec::new();
        while let Some(rbs) = self.free_blocks(persistent) {
            let c = &mut self.cell.uplink;
            let Some(answer) = c.responder.respond(&c.config.random_access, self.tti) else { break };
            c.plan.slot(self.tti.plus(MSG3_DELAY)).used |= rbs;
            let (blocks, backoff) = (c.band.len() + c.config.pucch_blocks, c.config.random_access.backoff);
            let grant = (rbs, MSG3_MCS, blocks);
            self.trace.signals.answer((self.tti, self.id), &answer, grant, backoff.as_millis());
            for ue in &answer.ues {
                if !self.reaches(*ue) {
                    continue;
                }
                if self.completes_handover(*ue) && self.uu.complete(*ue, &answer, self.tti) {
                    landed.push((*ue, None));
                    continue;
                }
                let received = self.grant_msg3(*ue, &answer, rbs);
                if received && self.is_accessing(*ue) && self.uu.has_dedicated_preamble(*ue) {
                    landed.push((*ue, Some(self.tti.plus(MSG3_DELAY))));
                }
            }
        }
        landed
    }

    /// Schedules the cell's next responses.
    fn arm(&mut self) {
        if let Some(next) = self.cell.uplink.responder.poll_at(self.tti.plus(1)) {
            self.calendar.note(next, Due::Responses { cell: self.id });
        }
    }

    fn free_blocks(&mut self, persistent: RbSet) -> Option<RbSet> {
        let msg3 = self.tti.plus(MSG3_DELAY);
        let c = &mut self.cell.uplink;
        // A block that was sent 8 TTIs before Msg3 may need a retransmission on the same blocks.
        let pending = c.plan.used(Tti(msg3.0.saturating_sub(HARQ_PERIOD)));
        let free = c.band.without(c.plan.slot(msg3).used).without(pending | persistent);
        free.run(largest_allocation(MSG3_BLOCKS))
    }

    /// True if `ue` receives a response of this cell: it may have another cell by now, and a UE
    /// between two cells must decode the control channels of this one.
    fn reaches(&mut self, ue: UeId) -> bool {
        let link = &self.links[ue];
        link.serving == self.id && !(link.away && self.uu.misses_control(self.tti, self.id, ue, self.cell))
    }

    /// True if the handover of `ue` is complete with the random access response, because messages
    /// take no time.
    fn completes_handover(&self, ue: UeId) -> bool {
        self.cell.config.rrc.timing == RrcTiming::Ideal && self.is_accessing(ue)
    }

    /// True if `ue` accesses the target of a handover.
    fn is_accessing(&self, ue: UeId) -> bool {
        self.mobility.is_some_and(|m| m.ues[ue].is_accessing())
    }

    /// Grants Msg3 to `ue`; true if the response is for this UE.
    fn grant_msg3(&mut self, ue: UeId, answer: &Response, rbs: RbSet) -> bool {
        let msg3 = self.tti.plus(MSG3_DELAY);
        let c = &mut self.cell.uplink;
        let backoff = c.config.random_access.backoff.as_millis();
        let received = self.uu.respond(ue, answer, backoff, msg3);
        if received {
            let bytes = tbs_bytes(MSG3_MCS, MSG3_BLOCKS);
            let granted = Granted { ue, rbs, mcs: MSG3_MCS, bytes, content: Content::Msg3 };
            c.plan.slot(msg3).granted.push(granted);
            self.calendar.note(msg3, Due::Transmit);
        }
        received
    }
}

/// Passes the preambles that were sent to the cells in `sent` to their responders.
pub(super) fn close_preambles(
    tti: Tti,
    sent: &mut Vec<CellId>,
    cells: &mut IndexVec<CellId, Cell>,
    calendar: &mut Agenda,
) {
    for cell in sent.drain(..) {
        let c = &mut cells[cell].uplink;
        c.responder.close(&c.config.random_access, tti);
        calendar.note(tti.plus(WINDOW_START), Due::Responses { cell });
    }
}

impl RadioNetwork {
    /// Sends the random access responses of `cell` in this TTI.
    pub(super) fn respond(&mut self, tti: Tti, cell: CellId, out: &mut NetworkOutput) {
        if self.cells[cell].is_down() {
            return;
        }
        let persistent = self.granting(tti, cell).persistent_blocks(tti.plus(MSG3_DELAY));
        for (ue, msg3) in self.answering(tti, cell).respond(persistent) {
            let received = Input::ResponseReceived { msg3 };
            self.rrc_step(tti.start(TTI), tti, ue, |rrc| rrc.step(received), out);
        }
        self.answering(tti, cell).arm();
    }

    fn answering(&mut self, tti: Tti, id: CellId) -> Answering<'_> {
        let RadioNetwork { cells, ues, links, mobility, air, calendar, trace, .. } = self;
        let (cell, mobility) = (&mut cells[id], mobility.as_deref());
        Answering { tti, id, cell, uu: Uu::new(ues, air), links, mobility, calendar, trace }
    }
}
