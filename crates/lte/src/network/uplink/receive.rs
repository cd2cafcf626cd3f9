//! The eNB's side of a transport block: decoded and passed up, or asked for again.

use lasthop_units::{Instant, Tti, UeId};

use super::super::trace::{Step, TraceLink};
use super::super::{NetworkOutput, RadioNetwork};
use super::state::Content;
use crate::mac::harq::State;
use crate::phy::TTI;
use lasthop_bearer::{Direction, End};

impl RadioNetwork {
    /// The eNB has decoded the transport block that `ue` sent in `sent`, or failed to.
    pub(in crate::network) fn uplink_decoded(
        &mut self,
        now: Instant,
        ue: UeId,
        process: usize,
        sent: Tti,
        out: &mut NetworkOutput,
    ) {
        let lowest = self.cells[self.links[ue].serving].uplink.adaptation.lowest();
        let p = self.links[ue].uplink.harq.get(process);
        let State::Awaiting { decoded } = p.state else { return };
        if p.sent != sent {
            return;
        }
        let (first, mcs) = (p.transmissions == 1, p.mcs);
        if first && (decoded || mcs > lowest) {
            self.contexts[ue].uplink.quality.first_transmission(decoded);
        }
        let step = if decoded { Step::Decoded } else { Step::Failed };
        self.trace.block(Tti::containing(now, TTI), step, TraceLink::Uplink, ue, p);
        if decoded {
            self.uplink_received(now, ue, process, out);
        } else {
            self.uplink_failed(now, ue, process, sent, out);
        }
    }

    fn uplink_received(&mut self, now: Instant, ue: UeId, process: usize, out: &mut NetworkOutput) {
        let trailing = self.cells[self.links[ue].serving].uplink.config.bsr.trailing;
        let link = &mut self.links[ue].uplink;
        let cx = &mut self.contexts[ue].uplink;
        let p = link.harq.get_mut(process);
        link.stats.decoded_bytes += u64::from(p.bytes);
        let blocks = p.rbs.len();
        let mut parts = std::mem::take(&mut p.parts);
        p.free(|_| ());
        let block = &link.blocks[process];
        cx.hear_block(block, trailing);
        let (first, report, content) = (block.first, block.report, block.content);
        let (headroom, known) = (block.headroom, block.c_rnti);
        let direct = std::mem::take(&mut self.links[ue].uplink.blocks[process].sidelink);
        if let Some(s) = self.sidelink.as_mut().filter(|_| !direct.is_empty()) {
            s.hear_report(first, &direct);
        }
        if self.trace.is_on() && (report.is_some() || !direct.is_empty()) {
            let now = Tti::containing(now, TTI);
            self.trace.step(now, Step::ReportHeard, ue, first, 0, 0);
        }
        if let Some(level) = headroom {
            let cell = &self.cells[self.links[ue].serving].uplink;
            self.contexts[ue].uplink.learn_headroom(cell, level, blocks);
        }
        if content == Content::Msg3 {
            self.msg3_received(now, ue, known, out);
        }
        self.hand_up(now, End::Ue, &mut parts, true, out);
        // The memory goes back to the process.
        self.links[ue].uplink.harq.get_mut(process).parts = parts;
        let view = &self.contexts[ue].uplink.view;
        if view.waiting() > 0 || view.is_requested() {
            self.wake(ue, Direction::Uplink);
        }
    }

    /// NACK on PHICH: the UE sends again 8 TTIs after the last time, on the same blocks; or the
    /// block is given up.
    // TS 36.321 v15.1.0 5.4.2.2: "if CURRENT_TX_NB = maximum number of transmissions - 1: flush the
    // HARQ buffer".
    fn uplink_failed(&mut self, now: Instant, ue: UeId, process: usize, sent: Tti, out: &mut NetworkOutput) {
        let cell = self.links[ue].serving;
        let most = self.cells[cell].uplink.config.harq.transmissions;
        let p = self.links[ue].uplink.harq.get(process);
        if p.transmissions >= most || self.links[ue].uplink.blocks[process].collided {
            self.give_up_block(now, ue, process, out);
            return;
        }
        self.granting(Tti::containing(now, TTI), cell).repeat(ue, process, sent);
    }

    /// The UE flushes its buffer: the PDUs in it will not arrive.
    #[cold]
    pub(super) fn give_up_block(&mut self, now: Instant, ue: UeId, process: usize, out: &mut NetworkOutput) {
        let link = &mut self.links[ue].uplink;
        link.stats.lost += 1;
        let p = link.harq.get_mut(process);
        let mut parts = std::mem::take(&mut p.parts);
        p.free(|_| ());
        self.hand_up(now, End::Ue, &mut parts, false, out);
        self.links[ue].uplink.harq.get_mut(process).parts = parts;
        let direct = std::mem::take(&mut self.links[ue].uplink.blocks[process].sidelink);
        if !direct.is_empty() {
            self.sidelink_report_lost(&direct);
        }
    }
}
