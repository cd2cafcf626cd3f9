//! The receiving side of an AM entity (TS 36.322 clauses 4.2.1.3.3, 5.1.3.2).

use std::collections::VecDeque;

use lasthop_units::Instant;

use super::slot::{Added, Slot};
use crate::rlc::assembler::{Assembler, Piece};
use crate::rlc::config::AmConfig;
use crate::rlc::stats::RlcStats;
use crate::rlc::{DataPdu, Format, Payload};

/// State and procedures of the receiver.
#[derive(Debug)]
pub(super) struct AmRx<P: Payload> {
    config: AmConfig,
    format: Format,
    pub vr_r: u64,
    pub vr_x: u64,
    pub vr_ms: u64,
    /// `[VR(R), VR(H))`.
    slots: VecDeque<Slot<P>>,
    /// SNs in `[VR(R), VR(H))` that are not complete, ascending.
    pub missing: VecDeque<u64>,
    spare: Vec<Vec<Piece<P>>>,
    assembler: Assembler<P>,
    pub t_reordering: Option<Instant>,
    /// A status report is triggered.
    pub status_due: bool,
    /// SNs of polled PDUs whose status report waits for the reordering of the PDUs before them.
    delayed_polls: Vec<u64>,
    /// Slots that hold a part of their PDU only.
    pub partly: u32,
}

impl<P: Payload> AmRx<P> {
    pub fn new(config: &AmConfig, format: Format) -> AmRx<P> {
        AmRx {
            config: config.clone(),
            format,
            vr_r: 0,
            vr_x: 0,
            vr_ms: 0,
            slots: VecDeque::new(),
            missing: VecDeque::new(),
            spare: Vec::new(),
            assembler: Assembler::new(true),
            t_reordering: None,
            status_due: false,
            delayed_polls: Vec::new(),
            partly: 0,
        }
    }

    /// VR(H): the SN after the highest received.
    #[inline]
    pub fn vr_h(&self) -> u64 {
        self.vr_r + self.slots.len() as u64
    }
    /// VR(MR) = VR(R) + AM_Window_Size.
    #[inline]
    pub const fn vr_mr(&self) -> u64 {
        self.vr_r + self.format.window()
    }
    /// `n` modulo 2^SN, as in PDUs.
    pub const fn wrap(&self, n: u64) -> u32 {
        self.format.wrap(n)
    }
    /// The slot of `sn` in `[VR(R), VR(H))`.
    pub fn slot(&self, sn: u64) -> &Slot<P> {
        &self.slots[(sn - self.vr_r) as usize]
    }
    /// The first SN >= `from` that is not completely received.
    fn next_missing(&self, from: u64) -> u64 {
        let at = self.missing.partition_point(|&m| m < from);
        self.missing.get(at).copied().unwrap_or_else(|| self.vr_h().max(from))
    }

    /// Receives an AMD PDU or AMD PDU segment.
    #[inline]
    pub fn receive(&mut self, now: Instant, pdu: &DataPdu<P>, stats: &mut RlcStats, out: &mut Vec<P::Sdu>) {
        stats.pdus_received += 1;
        let x = self.format.unwrap(pdu.sn, self.vr_r);
        if pdu.elements.is_empty() {
            stats.invalid_received += 1;
            return;
        }
        let discarded = !self.place(x, pdu, stats, out);
        if !discarded {
            self.after_placing(now, x, stats, out);
        }
        if pdu.poll {
            self.on_poll(x, discarded);
        }
        self.check_delayed_polls();
    }

    /// Places the PDU in the reception buffer; false if it is to be discarded.
    // TS 36.322 v15.1.0 clause 5.1.3.2.2: a PDU whose SN is outside of the receiving window, or of
    // which every byte has been received before, is discarded; any other is placed in the reception
    // buffer.
    #[inline]
    fn place(&mut self, x: u64, pdu: &DataPdu<P>, stats: &mut RlcStats, out: &mut Vec<P::Sdu>) -> bool {
        if x >= self.vr_mr() {
            // A late duplicate has an SN below VR(R), so `x` is a modulus too high. The window is
            // half of the modulus: a sender that has sent VR(H) - 1 has VT(A) >= VR(H) - window
            // and sends nothing below that again.
            let possible = self.format.modulus().max(self.vr_h() + self.format.window());
            if x >= possible {
                stats.duplicates += 1;
            } else {
                stats.out_of_window += 1;
            }
            return false;
        }
        if x == self.vr_r && self.slots.is_empty() && pdu.segment.is_none() {
            self.pass_through(pdu, stats, out);
            return true;
        }
        // Clause 5.1.3.2.3: if x >= VR(H), VR(H) becomes x + 1.
        while self.vr_h() <= x {
            self.missing.push_back(self.vr_h());
            self.slots.push_back(Slot::reuse(self.spare.pop().unwrap_or_default()));
        }
        let slot = &mut self.slots[(x - self.vr_r) as usize];
        let was_empty = slot.is_empty();
        match slot.add(pdu) {
            Added::New => {}
            Added::Duplicate => {
                stats.duplicates += 1;
                return false;
            }
            Added::Invalid => {
                stats.invalid_received += 1;
                return false;
            }
        }
        let complete = slot.is_complete();
        if complete {
            let at = self.missing.partition_point(|&m| m < x);
            self.missing.remove(at);
        }
        match (was_empty, complete) {
            (true, false) => self.partly += 1,
            (false, true) => self.partly -= 1,
            _ => {}
        }
        true
    }

    /// Delivers the next PDU in sequence if it is whole and no other waits: the common case needs
    /// no buffer.
    #[inline]
    fn pass_through(&mut self, pdu: &DataPdu<P>, stats: &mut RlcStats, out: &mut Vec<P::Sdu>) {
        let n = pdu.elements.len();
        for (i, e) in pdu.elements.iter().enumerate() {
            let (starts, ends) = (i > 0 || pdu.starts, i + 1 < n || pdu.ends);
            self.assembler.piece(&e.payload, e.len, starts, ends, stats, out);
        }
        self.vr_r += 1;
        self.vr_ms = self.vr_ms.max(self.vr_r);
    }

    /// TS 36.322 v15.1.0 clause 5.1.3.2.3: what follows when a PDU has been placed in the reception
    /// buffer.
    #[inline]
    fn after_placing(&mut self, now: Instant, x: u64, stats: &mut RlcStats, out: &mut Vec<P::Sdu>) {
        // If the AMD PDU with SN = VR(MS) is complete, VR(MS) becomes the SN of the first one above
        // that is not.
        if self.vr_ms == x {
            self.vr_ms = self.next_missing(x);
        }
        // If x = VR(R) and this AMD PDU is complete, VR(R) moves to the first one that is not, and
        // VR(MR) with it. SDUs are reassembled from the PDUs that are now outside of the receiving
        // window and from the first bytes in sequence of the AMD PDU with SN = VR(R), and those not
        // yet delivered are delivered in sequence.
        if x == self.vr_r && !self.slots.is_empty() {
            self.deliver(stats, out);
        }
        // t-Reordering stops if VR(X) = VR(R), or if VR(X) is outside of the receiving window and
        // not VR(MR).
        if self.t_reordering.is_some() && (self.vr_x <= self.vr_r || self.vr_x > self.vr_mr()) {
            self.t_reordering = None;
        }
        // If t-Reordering does not run, be it that it has just stopped, and VR(H) > VR(R), it
        // starts and VR(X) becomes VR(H).
        if self.t_reordering.is_none() && self.vr_h() > self.vr_r {
            self.t_reordering = Some(now + self.config.t_reordering);
            self.vr_x = self.vr_h();
        }
    }

    /// Moves VR(R) over complete PDUs and delivers what is in sequence.
    fn deliver(&mut self, stats: &mut RlcStats, out: &mut Vec<P::Sdu>) {
        while let Some(slot) = self.slots.front_mut() {
            slot.hand_over(&mut self.assembler, stats, out);
            if !slot.is_complete() {
                break;
            }
            if let Some(slot) = self.slots.pop_front() {
                self.spare.push(slot.into_pieces());
            }
            self.vr_r += 1;
        }
        self.vr_ms = self.vr_ms.max(self.vr_r);
    }

    /// Processes a received poll.
    // TS 36.322 v15.1.0 clause 5.2.3: a report is triggered if the PDU is one to be discarded by
    // clause 5.1.3.2.2, or if SN < VR(MS) or SN >= VR(MR); otherwise as soon as this holds.
    #[inline]
    fn on_poll(&mut self, x: u64, discarded: bool) {
        if discarded || x < self.vr_ms || x >= self.vr_mr() {
            self.status_due = true;
        } else {
            self.delayed_polls.push(x);
        }
    }

    #[inline]
    fn check_delayed_polls(&mut self) {
        if !self.delayed_polls.is_empty() {
            let before = self.delayed_polls.len();
            self.delayed_polls.retain(|&x| x >= self.vr_ms);
            self.status_due |= self.delayed_polls.len() < before;
        }
    }

    /// Processes the expiry of t-Reordering.
    // TS 36.322 v15.1.0 clause 5.1.3.2.4: VR(MS) becomes the SN of the first AMD PDU with SN >=
    // VR(X) that is not complete; if VR(H) > VR(MS), t-Reordering starts and VR(X) becomes VR(H).
    // Clause 5.2.3: the expiry triggers a STATUS report.
    pub fn on_reordering_timer(&mut self, now: Instant, stats: &mut RlcStats) {
        self.t_reordering = None;
        stats.reordering_timeouts += 1;
        self.vr_ms = self.next_missing(self.vr_x);
        if self.vr_h() > self.vr_ms {
            self.t_reordering = Some(now + self.config.t_reordering);
            self.vr_x = self.vr_h();
        }
        self.status_due = true;
        self.check_delayed_polls();
    }

    /// Delivers the SDUs that can be reassembled, and returns to the initial state.
    // TS 36.322 v15.1.0 clause 5.4: SDUs that can be reassembled from PDUs with SN < VR(MR), and
    // have not been delivered, are delivered in ascending order of SN; what remains in the
    // receiving side is discarded.
    pub fn re_establish(&mut self, stats: &mut RlcStats, out: &mut Vec<P::Sdu>) {
        while let Some(mut slot) = self.slots.pop_front() {
            slot.hand_over_all(&mut self.assembler, stats, out);
            self.spare.push(slot.into_pieces());
        }
        self.assembler.restart(stats);
        self.missing.clear();
        self.vr_r = 0;
        self.vr_x = 0;
        self.vr_ms = 0;
        self.t_reordering = None;
        self.status_due = false;
        self.delayed_polls.clear();
        self.partly = 0;
    }
}
