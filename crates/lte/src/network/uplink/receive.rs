//! The eNB's side of a transport block: decoded and passed up, or asked for again.

use lasthop_units::{Instant, Tti, UeId};

use super::super::trace::{Step, TraceLink};
use super::super::{NetworkOutput, RadioNetwork};
use super::schedule::Granting;
use crate::mac::harq::{Parts, State};
use crate::network::state::plan::Content;
use crate::network::ue_bearers::UeBearers;
use crate::phy::RbSet;
use lasthop_bearer::{Direction, End};

/// What becomes of a transport block that the eNB has looked at.
enum Outcome {
    /// It is decoded and carries `parts`, or is an Msg3 with an RRC message.
    Received { parts: Parts, msg3: bool },
    /// It will be sent again.
    Again,
    /// It was sent as often as it may.
    GivenUp,
}

impl RadioNetwork {
    /// The eNB has decoded the transport block that `ue` sent in `sent`, or failed to.
    pub(in crate::network) fn uplink_decoded(
        &mut self,
        now: Instant,
        tti: Tti,
        ue: UeId,
        process: usize,
        sent: Tti,
        out: &mut NetworkOutput,
    ) {
        match self.granting(tti, self.links[ue].serving).hear_block(ue, process, sent) {
            None | Some(Outcome::Again) => {}
            Some(Outcome::GivenUp) => {
                self.ue_bearers(now, ue, out).give_up_block(process);
                self.serve(now, out);
            }
            Some(Outcome::Received { mut parts, msg3 }) => {
                if msg3 {
                    self.rrc_step(now, tti, ue, |rrc| rrc.msg3(), out);
                }
                self.layer2(now, out).hand_up(End::Ue, &mut parts, true);
                self.serve(now, out);
                // The memory goes back to the process.
                self.links[ue].uplink.harq.get_mut(process).parts = parts;
                let view = &self.contexts[ue].uplink.view;
                if view.waiting() > 0 || view.is_requested() {
                    self.attachment(ue).wake(Direction::Uplink);
                }
            }
        }
    }
}

impl UeBearers<'_> {
    /// The UE flushes the buffer of `process` of its uplink: the PDUs in it will not arrive.
    #[cold]
    pub(in crate::network) fn give_up_block(&mut self, process: usize) {
        let link = &mut self.link.uplink;
        link.stats.lost += 1;
        let p = link.harq.get_mut(process);
        let mut parts = std::mem::take(&mut p.parts);
        p.free(|_| ());
        self.layer2.hand_up(End::Ue, &mut parts, false);
        let link = &mut self.link.uplink;
        link.harq.get_mut(process).parts = parts;
        let direct = std::mem::take(&mut link.blocks[process].sidelink);
        if let Some(s) = self.layer2.sidelink.as_deref_mut().filter(|_| !direct.is_empty()) {
            s.lose_report(&direct, self.layer2.bearers);
        }
    }
}

impl Granting<'_> {
    /// The block that `ue` sent in `sent` is decoded, or is not; None if its process has another
    /// one meanwhile.
    fn hear_block(&mut self, ue: UeId, process: usize, sent: Tti) -> Option<Outcome> {
        let lowest = self.cell.uplink.adaptation.lowest();
        let p = self.links[ue].uplink.harq.get(process);
        if p.state != State::Awaiting || p.sent != sent {
            return None;
        }
        let decoded = self.contexts[ue].uplink.received[process].decoded;
        let (first, mcs) = (p.transmissions == 1, p.mcs);
        if first && (decoded || mcs > lowest) {
            self.contexts[ue].uplink.quality.first_transmission(decoded);
        }
        let step = if decoded { Step::Decoded } else { Step::Failed };
        self.trace.block(self.tti, step, TraceLink::Uplink, ue, p);
        Some(if decoded { self.receive(ue, process) } else { self.fail(ue, process, sent) })
    }

    fn receive(&mut self, ue: UeId, process: usize) -> Outcome {
        let c = &self.cell.uplink;
        let away = self.links[ue].away;
        let link = &mut self.links[ue].uplink;
        let cx = &mut self.contexts[ue].uplink;
        let p = link.harq.get_mut(process);
        link.stats.decoded_bytes += u64::from(p.bytes);
        let rbs = p.rbs;
        let parts = std::mem::take(&mut p.parts);
        p.free(|_| ());
        let block = &mut link.blocks[process];
        cx.hear_block(block, c.config.bsr.trailing);
        let direct = std::mem::take(&mut block.sidelink);
        if let Some(s) = self.sidelink.as_deref_mut().filter(|_| !direct.is_empty()) {
            s.hear_report(block.first, &direct);
        }
        if self.trace.is_on() && (block.report.is_some() || !direct.is_empty()) {
            self.trace.step(self.tti, Step::ReportReceived, ue, block.first, 0, RbSet::EMPTY);
        }
        if let Some(level) = block.headroom {
            cx.learn_headroom(c, level, rbs.len());
        }
        let msg3 = block.content == Content::Msg3;
        let known = block.c_rnti && !away;
        if msg3 && known {
            // The UE is served here, and is granted something to say what it wants.
            cx.view.request();
        }
        Outcome::Received { parts, msg3: msg3 && !known }
    }

    /// NACK on PHICH: the UE sends again 8 TTIs after the last time, on the same blocks; or the
    /// block is given up.
    // TS 36.321 v15.1.0 5.4.2.2: "if CURRENT_TX_NB = maximum number of transmissions - 1: flush the
    // HARQ buffer".
    fn fail(&mut self, ue: UeId, process: usize, sent: Tti) -> Outcome {
        let most = self.cell.uplink.config.harq.transmissions;
        let link = &self.links[ue].uplink;
        if link.harq.get(process).transmissions >= most || link.blocks[process].collided {
            return Outcome::GivenUp;
        }
        self.repeat(ue, process, sent);
        Outcome::Again
    }
}
