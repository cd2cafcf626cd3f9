//! The receiving UM RLC entity (TS 36.322 clause 5.1.2.2).

use std::collections::VecDeque;

use lasthop_units::Instant;

use crate::rlc::assembler::Assembler;
use crate::rlc::config::UmConfig;
use crate::rlc::stats::RlcStats;
use crate::rlc::{DataPdu, Format, Payload};

/// A UMD PDU in the reception buffer.
#[derive(Clone, Debug)]
struct Held<P> {
    received: bool,
    pdu: DataPdu<P>,
}

/// State and procedures of the receiver. Numbers are unwrapped and begin one modulus above zero, so
/// that VR(UH) - UM_Window_Size never falls below it.
#[derive(Debug)]
pub(super) struct UmRx<P: Payload> {
    config: UmConfig,
    format: Format,
    pub vr_ux: u64,
    pub vr_uh: u64,
    /// SN of the first PDU that is not passed to reassembly yet; `held` is `[next, VR(UH))`. Each
    /// PDU below VR(UR) has been passed on or is missing for good, so this is VR(UR) itself.
    next: u64,
    held: VecDeque<Held<P>>,
    spare: Vec<DataPdu<P>>,
    assembler: Assembler<P>,
    pub t_reordering: Option<Instant>,
}

impl<P: Payload> UmRx<P> {
    pub fn new(config: &UmConfig, format: Format) -> UmRx<P> {
        let zero = format.modulus();
        UmRx {
            config: config.clone(),
            format,
            vr_ux: zero,
            vr_uh: zero,
            next: zero,
            held: VecDeque::new(),
            spare: Vec::new(),
            assembler: Assembler::new(false),
            t_reordering: None,
        }
    }

    /// VR(UR): the earliest PDU that is still considered for reordering.
    pub const fn vr_ur(&self) -> u64 {
        self.next
    }

    /// Receives a UMD PDU.
    #[inline]
    pub fn receive(&mut self, now: Instant, pdu: &DataPdu<P>, stats: &mut RlcStats, out: &mut Vec<P::Sdu>) {
        stats.pdus_received += 1;
        if pdu.elements.is_empty() {
            stats.invalid_received += 1;
            return;
        }
        // 7.1: VR(UH) - UM_Window_Size is the modulus base.
        let base = self.vr_uh - self.format.window();
        let x = self.format.unwrap(pdu.sn, base);
        // TS 36.322 v15.1.0 clause 5.1.2.2.2: discarded if VR(UR) < x < VR(UH) and the PDU with SN
        // = x has been received before, or if VR(UH) - UM_Window_Size <= x < VR(UR).
        let held = x.checked_sub(self.next).and_then(|i| self.held.get(i as usize));
        if x < self.next || held.is_some_and(|h| h.received) {
            stats.duplicates += 1;
            return;
        }
        if x == self.next && x == self.vr_uh {
            // A PDU in order while no other waits needs no buffer.
            self.hand_over(pdu, stats, out);
            self.next += 1;
            self.vr_uh += 1;
        } else {
            self.place(x, pdu, stats, out);
        }
        self.after_placing(now);
    }

    /// Places a PDU (TS 36.322 v15.1.0 clause 5.1.2.2.3, first half).
    fn place(&mut self, x: u64, pdu: &DataPdu<P>, stats: &mut RlcStats, out: &mut Vec<P::Sdu>) {
        // Clause 5.1.2.2.3: if x is outside of the reordering window, VR(UH) becomes x + 1, SDUs of
        // PDUs that are now outside are reassembled and delivered in ascending order of SN, and a
        // VR(UR) that is outside becomes VR(UH) - UM_Window_Size.
        if x >= self.vr_uh {
            self.vr_uh = x + 1;
            self.advance_to(self.vr_uh - self.format.window(), stats, out);
        }
        let i = (x - self.next) as usize;
        while self.held.len() <= i {
            let mut pdu = self.spare.pop().unwrap_or_else(|| DataPdu {
                sn: 0,
                poll: false,
                starts: true,
                ends: true,
                segment: None,
                elements: Vec::new(),
            });
            pdu.elements.clear();
            self.held.push_back(Held { received: false, pdu });
        }
        let slot = &mut self.held[i];
        slot.received = true;
        slot.pdu.starts = pdu.starts;
        slot.pdu.ends = pdu.ends;
        slot.pdu.elements.extend_from_slice(&pdu.elements);
        // If the PDU with SN = VR(UR) is received, VR(UR) becomes the SN of the first PDU above
        // that is not, and SDUs are reassembled from the PDUs below.
        self.advance_received(stats, out);
    }

    /// Updates t-Reordering (TS 36.322 v15.1.0 clause 5.1.2.2.3, second half).
    #[inline]
    fn after_placing(&mut self, now: Instant) {
        // t-Reordering stops if VR(UX) <= VR(UR), or if VR(UX) is outside of the reordering window
        // and not VR(UH).
        let below = self.vr_ux < self.vr_uh - self.format.window();
        if self.t_reordering.is_some() && (self.vr_ux <= self.next || below) {
            self.t_reordering = None;
        }
        self.start_timer(now);
    }

    /// Clause 5.1.2.2.3: if t-Reordering does not run and VR(UH) > VR(UR), it starts and VR(UX)
    /// becomes VR(UH).
    #[inline]
    fn start_timer(&mut self, now: Instant) {
        if self.t_reordering.is_none() && self.vr_uh > self.next {
            self.t_reordering = Some(now + self.config.t_reordering);
            self.vr_ux = self.vr_uh;
        }
    }

    /// Processes the expiry of t-Reordering.
    // TS 36.322 v15.1.0 clause 5.1.2.2.4: VR(UR) becomes the SN of the first PDU with SN >= VR(UX)
    // that is not received; SDUs are reassembled from the PDUs below; if VR(UH) > VR(UR),
    // t-Reordering starts and VR(UX) becomes VR(UH).
    pub fn on_reordering_timer(&mut self, now: Instant, stats: &mut RlcStats, out: &mut Vec<P::Sdu>) {
        self.t_reordering = None;
        stats.reordering_timeouts += 1;
        self.advance_to(self.vr_ux, stats, out);
        self.advance_received(stats, out);
        self.start_timer(now);
    }

    /// Passes the PDUs received below `to` to reassembly and gives up the missing ones.
    fn advance_to(&mut self, to: u64, stats: &mut RlcStats, out: &mut Vec<P::Sdu>) {
        while self.next < to {
            match self.held.pop_front() {
                Some(h) if h.received => self.consume(h, stats, out),
                Some(h) => {
                    self.spare.push(h.pdu);
                    self.assembler.gap(stats);
                }
                None => {
                    self.assembler.gap(stats);
                    self.next = to;
                    return;
                }
            }
            self.next += 1;
        }
    }

    fn advance_received(&mut self, stats: &mut RlcStats, out: &mut Vec<P::Sdu>) {
        while self.held.front().is_some_and(|h| h.received) {
            if let Some(h) = self.held.pop_front() {
                self.consume(h, stats, out);
                self.next += 1;
            }
        }
    }

    fn consume(&mut self, h: Held<P>, stats: &mut RlcStats, out: &mut Vec<P::Sdu>) {
        self.hand_over(&h.pdu, stats, out);
        self.spare.push(h.pdu);
    }

    #[inline]
    fn hand_over(&mut self, pdu: &DataPdu<P>, stats: &mut RlcStats, out: &mut Vec<P::Sdu>) {
        let n = pdu.elements.len();
        for (i, e) in pdu.elements.iter().enumerate() {
            let (starts, ends) = (i > 0 || pdu.starts, i + 1 < n || pdu.ends);
            self.assembler.piece(&e.payload, e.len, starts, ends, stats, out);
        }
    }

    /// Delivers the SDUs that can be reassembled, and returns to the initial state.
    pub fn re_establish(&mut self, stats: &mut RlcStats, out: &mut Vec<P::Sdu>) {
        self.advance_to(self.vr_uh, stats, out);
        self.assembler.gap(stats);
        let zero = self.format.modulus();
        (self.vr_ux, self.vr_uh, self.next) = (zero, zero, zero);
        self.held.clear();
        self.t_reordering = None;
    }
}
