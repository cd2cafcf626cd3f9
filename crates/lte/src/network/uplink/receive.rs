//! The eNB's side of a transport block: decoded and passed to RLC, or a retransmission.

use lasthop_units::{Instant, Tti, UeId};

use super::super::trace::{Step, TraceLink};
use super::super::{NetworkOutput, RadioNetwork};
use super::Granting;
use crate::mac::harq::{Parts, State};
use crate::network::reach::Reach;
use crate::phy::RbSet;
use lasthop_bearer::{Direction, End};

/// Result of the decoding of a transport block.
enum Outcome {
    /// The block is decoded and carries `parts`, or is an Msg3 with an RRC message.
    Received { parts: Parts, msg3: bool },
    /// The block will be retransmitted.
    Again,
    /// The block has had its last transmission.
    GivenUp,
}

impl RadioNetwork {
    /// Processes the decoding of the transport block that `ue` sent in `sent`.
    pub(in crate::network) fn uplink_decoded(
        &mut self,
        now: Instant,
        tti: Tti,
        ue: UeId,
        process: usize,
        sent: Tti,
        out: &mut NetworkOutput,
    ) {
        let Some(decoded) = self.contexts[ue].uplink.outcome(process, sent) else { return };
        let step = if decoded { Step::Decoded } else { Step::Failed };
        let block = (process as u8, self.ues[ue].uplink.harq.get(process));
        self.trace.block(tti, step, TraceLink::Uplink, ue, block);
        match self.granting(tti, self.links[ue].serving).on_block(ue, process, decoded) {
            Outcome::Again => {}
            Outcome::GivenUp => {
                self.sending(now, tti, ue, out).give_up_block(process);
                self.serve(now, out);
            }
            Outcome::Received { mut parts, msg3 } => {
                if msg3 {
                    self.rrc_step(now, tti, ue, |rrc| rrc.msg3(), out);
                }
                self.layer2(now, out).hand_up(End::Ue, &mut parts, true);
                self.serve(now, out);
                // The memory returns to the process.
                self.ues[ue].uplink.recycle(process, parts);
                let view = &self.contexts[ue].uplink.view;
                if view.waiting() > 0 || view.is_requested() {
                    self.attachment(ue).wake(Direction::Uplink);
                }
            }
        }
    }
}

impl<R: Reach> Granting<'_, R> {
    /// Processes the last transmission of `process` of `ue`, which is `decoded` or not.
    fn on_block(&mut self, ue: UeId, process: usize, decoded: bool) -> Outcome {
        let lowest = self.cell.uplink.adaptation.lowest();
        let cx = &mut self.contexts[ue].uplink;
        let p = &cx.granted[process];
        if p.transmissions == 1 && (decoded || p.mcs > lowest) {
            cx.quality.first_transmission(decoded);
        }
        let outcome = if decoded { self.receive(ue, process) } else { self.fail(ue, process) };
        if let (Some(p), false) = (&mut self.links[ue].uplink.persistent, matches!(outcome, Outcome::Again)) {
            p.renewal.on_block(decoded);
        }
        outcome
    }

    /// Processes a decoded block: its contents, and ACK on PHICH.
    fn receive(&mut self, ue: UeId, process: usize) -> Outcome {
        let c = &self.cell.uplink;
        let away = self.links[ue].away;
        let cx = &mut self.contexts[ue].uplink;
        let p = &mut cx.granted[process];
        self.links[ue].uplink.stats.decoded_bytes += u64::from(p.bytes);
        p.state = State::Idle;
        let (rbs, msg3) = (p.rbs, p.msg3);
        let (parts, block) = self.uu.take_block(ue, process);
        cx.on_block(&block, c.config.bsr.trailing);
        let direct = &block.sidelink;
        if let Some(grants) = self.sidelink_grants.as_deref_mut().filter(|_| !direct.is_empty()) {
            grants.on_report(block.first, direct);
        }
        if self.trace.is_on() && (block.report.is_some() || !direct.is_empty()) {
            self.trace.step(self.tti, Step::ReportReceived, ue, block.first, 0, RbSet::EMPTY);
        }
        if let Some(level) = block.headroom {
            cx.learn_headroom(c, level, rbs.len(), msg3);
        }
        let known = block.c_rnti && !away;
        if msg3 && known {
            // The cell serves the UE and grants it a block, in which it can send its report.
            cx.view.request();
        }
        Outcome::Received { parts, msg3: msg3 && !known }
    }

    /// NACK on PHICH: the UE retransmits the block 8 TTIs after the last transmission, on the same
    /// blocks; or the block is given up.
    // TS 36.321 v15.1.0 5.4.2.2 [unverified]: if CURRENT_TX_NB = maximum number of transmissions -
    // 1: flush the HARQ buffer.
    fn fail(&mut self, ue: UeId, process: usize) -> Outcome {
        let most = self.cell.uplink.config.harq.transmissions;
        let p = &mut self.contexts[ue].uplink.granted[process];
        if p.transmissions >= most || p.collided {
            p.state = State::Idle;
            return Outcome::GivenUp;
        }
        self.repeat(ue, process);
        Outcome::Again
    }
}
