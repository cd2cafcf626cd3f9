//! What comes back from the air: decoded blocks go up at the UE, feedback reaches the eNB.

use lasthop_units::{Instant, UeId};

use crate::mac::harq::{PROCESSES, State};
use crate::network::state::{DownlinkContext, DownlinkLink};
use crate::network::trace::{Step, TraceLink};
use crate::network::{CellConfig, NetworkOutput, RadioNetwork};
use crate::phy::TTI;
use lasthop_bearer::{Direction, End};

impl RadioNetwork {
    /// The UE has decoded a transport block, or failed to: what was decoded goes up to RLC.
    pub(in crate::network) fn downlink_decoded(
        &mut self,
        now: Instant,
        ue: UeId,
        process: u8,
        out: &mut NetworkOutput,
    ) {
        let link = &mut self.links[ue];
        let decode = self.cells[link.serving].config.timing.decode;
        let Some(p) = link.downlink.process(process).filter(|p| p.sent.plus(decode).start(TTI) == now) else {
            // A MAC reset has given the process to another block since.
            return;
        };
        let State::Awaiting { decoded } = p.state else { return };
        if self.trace.is_on() {
            let step = if decoded { Step::Decoded } else { Step::Failed };
            self.trace.block(p.sent.plus(decode), step, TraceLink::Downlink, ue, p);
        }
        if !decoded {
            return;
        }
        let mut parts = std::mem::take(&mut p.parts);
        self.layer2(now, out).hand_up(End::Network, &mut parts, true);
        self.serve(now, out);
        // The memory goes back to the process.
        if let Some(p) = self.links[ue].downlink.process(process) {
            p.parts = parts;
        }
    }

    /// HARQ feedback reaches the eNB, or its absence is noticed.
    pub(in crate::network) fn downlink_feedback(
        &mut self,
        now: Instant,
        ue: UeId,
        process: u8,
        out: &mut NetworkOutput,
    ) {
        let (link, cx) = (&mut self.links[ue], &mut self.contexts[ue].downlink);
        match cx.hear_feedback(now, &self.cells[link.serving].config, &mut link.downlink, process) {
            None | Some(Verdict::Acknowledged) => {}
            Some(Verdict::Again) => self.attachment(ue).wake(Direction::Downlink),
            Some(Verdict::GivenUp) => {
                let Some(p) = link.downlink.process(process) else { return };
                let mut parts = std::mem::take(&mut p.parts);
                p.free(|_| ());
                // The PDUs will not arrive.
                self.layer2(now, out).hand_up(End::Network, &mut parts, false);
                self.serve(now, out);
            }
        }
    }
}

/// What becomes of a block whose feedback has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Acknowledged,
    /// It is sent again.
    Again,
    /// It was sent as often as it may.
    GivenUp,
}

impl DownlinkContext {
    /// The feedback of the block of `process` that was sent one feedback delay ago; None if that
    /// is another one now.
    fn hear_feedback(
        &mut self,
        now: Instant,
        config: &CellConfig,
        link: &mut DownlinkLink,
        process: u8,
    ) -> Option<Verdict> {
        let (feedback, most) = (config.timing.feedback, config.downlink.harq.transmissions);
        let p = link.process(process).filter(|p| p.sent.plus(feedback).start(TTI) == now)?;
        let State::Awaiting { decoded } = p.state else { return None };
        // Nothing is learnt about the channel from an assignment that was not received.
        let first = p.transmissions == 1 && !p.missed;
        if first {
            let code_word = usize::from(process) / PROCESSES;
            self.quality.of(code_word).first_transmission(decoded);
        }
        if decoded {
            let bytes = u64::from(p.bytes);
            p.free(|_| ());
            link.stats.decoded_bytes += bytes;
            return Some(Verdict::Acknowledged);
        }
        if p.transmissions < most {
            p.state = State::Failed;
            return Some(Verdict::Again);
        }
        link.stats.lost += 1;
        Some(Verdict::GivenUp)
    }
}

impl DownlinkLink {
    /// All processes are flushed.
    pub fn reset(&mut self) {
        for processes in self.harq.iter_mut().flatten() {
            processes.iter_mut().for_each(|process| process.free(|_| ()));
        }
    }
}
