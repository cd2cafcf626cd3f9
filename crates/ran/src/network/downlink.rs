//! The downlink of a cell: scheduling, HARQ, and the way from the eNB's RLC to the UE's.

use lasthop_units::{CellId, Instant, Tti, UeId};

use super::{Due, NetworkOutput, RadioNetwork};
use crate::mac::lte::harq::State;
use crate::phy::lte::RbSet;
use crate::rlc::lte::Grant;
use crate::sdu::{Direction, End};

impl RadioNetwork {
    /// The UE has decoded the transport block of `process`, or failed to: what was decoded goes up to RLC.
    pub(super) fn downlink_decoded(
        &mut self,
        now: Instant,
        ue: UeId,
        process: usize,
        out: &mut NetworkOutput,
    ) {
        let p = self.ues[ue].downlink.harq.get_mut(process);
        if p.state != (State::Awaiting { decoded: true }) {
            return;
        }
        let mut parts = std::mem::take(&mut p.parts);
        for (bearer, pdu) in parts.drain(..) {
            let layers = &mut self.bearers[bearer].layers;
            layers.receive(now, End::Ue, &pdu, &mut self.scratch);
            layers.recycle(End::Network, pdu);
            self.settle(now, bearer, out);
        }
        // The memory goes back to the process.
        self.ues[ue].downlink.harq.get_mut(process).parts = parts;
    }

    /// HARQ feedback reaches the eNB.
    pub(super) fn downlink_feedback(&mut self, ue: UeId, process: usize, _out: &mut NetworkOutput) {
        let p = self.ues[ue].downlink.harq.get_mut(process);
        match p.state {
            State::Awaiting { decoded: true } => p.free(|_| ()),
            State::Awaiting { decoded: false } => {
                p.state = State::Failed;
                self.wake(ue, Direction::Downlink);
            }
            State::Idle | State::Failed => {}
        }
    }

    /// Gives this TTI's downlink resource blocks to the active UEs of `cell`.
    pub(super) fn schedule_downlink(
        &mut self,
        now: Instant,
        tti: Tti,
        cell: CellId,
        out: &mut NetworkOutput,
    ) {
        let timing = self.cells[cell].config.timing;
        let blocks = self.cells[cell].config.resource_blocks;
        let mut active = std::mem::take(&mut self.cells[cell].active[Direction::Downlink.index()]);
        active.retain(|&ue| self.downlink_wants(ue));
        if let Some(&ue) = active.first()
            && let Some(process) = self.ues[ue].downlink.harq.idle()
        {
            self.send_new(now, ue, process, RbSet::range(0, blocks), 1000, out);
            let p = self.ues[ue].downlink.harq.get_mut(process);
            p.sent = tti;
            p.transmissions = 1;
            let decoded = !self.block_errors.happens(tti.0, 0.0);
            p.state = State::Awaiting { decoded };
            let process = process as u8;
            self.calendar.note(tti.plus(timing.decode), Due::DownlinkDecoded { ue, process });
            self.calendar.note(tti.plus(timing.feedback), Due::DownlinkFeedback { ue, process });
        }
        let list = &mut self.cells[cell].active[Direction::Downlink.index()];
        debug_assert!(list.is_empty(), "nobody wakes during scheduling");
        *list = active;
    }

    /// True while the UE has downlink data or a retransmission; otherwise it leaves the active list.
    fn downlink_wants(&mut self, ue: UeId) -> bool {
        let u = &mut self.ues[ue];
        let waits = u.drbs.iter().any(|b| self.bearers[*b].layers.buffer_status(End::Network).total() > 0);
        let wants = waits || u.downlink.harq.failed().is_some();
        u.active[Direction::Downlink.index()] = wants;
        wants
    }

    /// Fills a new transport block of `bytes` for `ue` from its bearers.
    fn send_new(
        &mut self,
        now: Instant,
        ue: UeId,
        process: usize,
        rbs: RbSet,
        bytes: u32,
        out: &mut NetworkOutput,
    ) {
        let mut left = bytes;
        for i in 0..self.ues[ue].drbs.len() {
            let bearer = self.ues[ue].drbs[i];
            let grant = Grant { bytes: left, per_pdu: 3 };
            let drb = &mut self.bearers[bearer];
            left -= drb.layers.pull(now, End::Network, grant, &mut self.pdus, &mut self.scratch);
            let parts = &mut self.ues[ue].downlink.harq.get_mut(process).parts;
            parts.extend(self.pdus.drain(..).map(|pdu| (bearer, pdu)));
            self.settle(now, bearer, out);
        }
        let p = self.ues[ue].downlink.harq.get_mut(process);
        (p.bytes, p.rbs) = (bytes, rbs);
    }

    /// MAC reset (TS 36.321 clause 5.9): soft buffers are flushed, what was on the air is lost.
    pub(super) fn reset_downlink(&mut self, ue: UeId) {
        for process in self.ues[ue].downlink.harq.iter_mut() {
            process.free(|_| ());
        }
    }
}
