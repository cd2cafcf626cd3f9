//! Results of downlink transmissions: decoded blocks are passed to RLC at the UE, feedback reaches
//! the eNB.

use lasthop_units::{Instant, Tti, UeId};

use crate::mac::downlink::LinkStats;
use crate::mac::harq::{Feedback, PROCESSES, Reception, State};
use crate::network::state::{DownlinkContext, process_of};
use crate::network::trace::{Step, TraceLink};
use crate::network::{CellConfig, NetworkOutput, RadioNetwork};
use crate::phy::TTI;
use lasthop_bearer::{Direction, End};

impl RadioNetwork {
    /// Passes a transport block that the UE has decoded to RLC.
    pub(in crate::network) fn downlink_decoded(
        &mut self,
        now: Instant,
        ue: UeId,
        process: u8,
        out: &mut NetworkOutput,
    ) {
        let timing = self.cells[self.links[ue].serving].config.timing;
        let received = self.ues[ue].downlink.received_ref(process);
        let Some(received) = received.filter(|r| r.sent.plus(timing.decode).start(TTI) == now) else {
            // A MAC reset has given the process to another block since.
            return;
        };
        // The eNB's buffer has the PDUs that the transmission has carried.
        let Some(p) = self.contexts[ue].downlink.process(process) else { return };
        if self.trace.is_on() {
            let step = if received.decoded { Step::Decoded } else { Step::Failed };
            self.trace.block(Tti::containing(now, TTI), step, TraceLink::Downlink, ue, (process, p));
        }
        if !received.decoded {
            return;
        }
        let mut parts = std::mem::take(&mut p.parts);
        self.layer2(now, out).hand_up(End::Network, &mut parts, true);
        self.serve(now, out);
        // The memory returns to the process.
        if let Some(p) = self.contexts[ue].downlink.process(process) {
            p.parts = parts;
        }
    }

    /// Processes the HARQ feedback at the eNB, or its absence.
    pub(in crate::network) fn downlink_feedback(
        &mut self,
        now: Instant,
        ue: UeId,
        process: u8,
        out: &mut NetworkOutput,
    ) {
        let (link, cx) = (&mut self.links[ue], &mut self.contexts[ue].downlink);
        let Some(feedback) = self.ues[ue].downlink.received_ref(process).map(Reception::feedback) else {
            return;
        };
        let (config, stats) = (&self.cells[link.serving].config, &mut link.downlink.stats);
        let verdict = cx.on_feedback(now, config, stats, process, feedback);
        if let Some(p) = &mut link.downlink.persistent
            && let Some(verdict @ (Verdict::Acknowledged | Verdict::GivenUp)) = verdict
        {
            p.on_block(verdict == Verdict::Acknowledged);
        }
        match verdict {
            None | Some(Verdict::Acknowledged) => {}
            Some(Verdict::Again) => self.attachment(ue).wake(Direction::Downlink),
            Some(Verdict::GivenUp) => {
                let Some(p) = cx.process(process) else { return };
                let mut parts = std::mem::take(&mut p.parts);
                p.free(|_| ());
                // The PDUs will not arrive.
                self.layer2(now, out).hand_up(End::Network, &mut parts, false);
                self.serve(now, out);
            }
        }
    }
}

/// Consequence of the feedback of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Acknowledged,
    /// The block is retransmitted.
    Again,
    /// The block has had its last transmission.
    GivenUp,
}

impl DownlinkContext {
    /// Processes the `feedback` of the block of `process` that was sent one feedback delay ago;
    /// None if the process has another block now.
    fn on_feedback(
        &mut self,
        now: Instant,
        config: &CellConfig,
        stats: &mut LinkStats,
        process: u8,
        feedback: Feedback,
    ) -> Option<Verdict> {
        let (delay, most) = (config.timing.feedback, config.downlink.harq.transmissions);
        let DownlinkContext { harq, quality, .. } = self;
        let p = process_of(harq, process).filter(|p| p.sent.plus(delay).start(TTI) == now)?;
        if p.state != State::Awaiting {
            return None;
        }
        let decoded = feedback == Feedback::Ack;
        // A missed assignment gives no information about the channel.
        let first = p.transmissions == 1 && feedback != Feedback::Nothing;
        if first {
            let code_word = usize::from(process) / PROCESSES;
            quality.of(code_word).first_transmission(decoded);
        }
        if decoded {
            let bytes = u64::from(p.bytes);
            p.free(|_| ());
            stats.decoded_bytes += bytes;
            return Some(Verdict::Acknowledged);
        }
        if p.transmissions < most {
            self.fail(process);
            return Some(Verdict::Again);
        }
        stats.lost += 1;
        Some(Verdict::GivenUp)
    }
}

impl DownlinkContext {
    /// Flushes all processes.
    pub fn reset(&mut self) {
        for processes in self.harq.iter_mut().flatten() {
            processes.iter_mut().for_each(|process| process.free(|_| ()));
        }
    }
}
