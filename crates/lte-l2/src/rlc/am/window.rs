//! The transmitting window: AMD PDUs that are not acknowledged yet, and the portions of them that
//! are pending for retransmission.

use std::collections::VecDeque;

use lasthop_engine::push_tight;
use smallvec::SmallVec;

use crate::rlc::build::Field;
use crate::rlc::{Element, Format, Sdu, Span};

/// An AMD PDU that was sent, with the bytes of the SDU stream in its data field.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    /// Number of the first SDU in `Window::sdus`, modulo 2^32.
    first: u32,
    /// First byte within that SDU.
    offset: u32,
    /// Bytes in the data field.
    pub data: u32,
    /// Bytes of the whole PDU.
    pub size: u32,
    pub acked: bool,
    /// It is among `Window::repairs`.
    in_repair: bool,
}

// A bearer has one for each PDU in its window.
const _: () = assert!(size_of::<Sent>() == 20);

/// The repair of a PDU: it was named as missing, or considered for retransmission.
#[derive(Clone, Debug, Default)]
struct Repair {
    /// Named as missing by the status report with this number; 0: by none.
    nacked_by: u64,
    /// RETX_COUNT; None before the PDU is first considered for retransmission.
    retx_count: Option<u32>,
    /// Portions `[from, to)` of the data field pending for retransmission, in order, disjoint.
    pending: SmallVec<[(u32, u32); 2]>,
}

/// An SDU that is partly or wholly in PDUs.
#[derive(Clone, Copy, Debug)]
struct Flight {
    sdu: Sdu,
    acked: u32,
}

/// PDUs in `[VT(A), VT(S))` and the SDUs in them.
#[derive(Clone, Debug)]
pub(super) struct Window {
    format: Format,
    vt_a: u64,
    sent: VecDeque<Sent>,
    sdus: VecDeque<Flight>,
    /// Number of `sdus[0]`; numbers count SDUs, modulo 2^32.
    sdus_from: u32,
    /// By SN, ascending: few PDUs need one.
    repairs: VecDeque<(u64, Repair)>,
    /// SNs with a pending portion, ascending.
    retx: VecDeque<u64>,
    retx_bytes: u32,
}

impl Window {
    pub const fn new(format: Format) -> Window {
        Window {
            format,
            vt_a: 0,
            sent: VecDeque::new(),
            sdus: VecDeque::new(),
            sdus_from: 0,
            repairs: VecDeque::new(),
            retx: VecDeque::new(),
            retx_bytes: 0,
        }
    }

    pub const fn vt_a(&self) -> u64 {
        self.vt_a
    }
    #[inline]
    pub fn vt_s(&self) -> u64 {
        self.vt_a + self.sent.len() as u64
    }
    pub fn retx_is_empty(&self) -> bool {
        self.retx.is_empty()
    }
    pub const fn retx_bytes(&self) -> u32 {
        self.retx_bytes
    }
    /// PDUs that were sent, are not acknowledged and not pending for retransmission [B].
    pub fn unacknowledged_bytes(&self) -> u32 {
        let flying: u32 = self.sent.iter().filter(|s| !s.acked).map(|s| s.size).sum();
        flying - self.retx.iter().map(|&sn| self.get(sn).size).sum::<u32>()
    }
    /// The lowest SN with a pending portion.
    pub fn retx_head(&self) -> Option<u64> {
        self.retx.front().copied()
    }
    #[inline]
    pub fn get(&self, sn: u64) -> &Sent {
        &self.sent[(sn - self.vt_a) as usize]
    }

    fn repair(&self, sn: u64) -> Option<&Repair> {
        self.repairs.binary_search_by_key(&sn, |r| r.0).ok().map(|at| &self.repairs[at].1)
    }
    /// The repair of `sn`, which begins with this call if there is none.
    fn repair_mut(&mut self, sn: u64) -> &mut Repair {
        self.sent[(sn - self.vt_a) as usize].in_repair = true;
        let at = self.repairs.partition_point(|r| r.0 < sn);
        if self.repairs.get(at).is_none_or(|r| r.0 != sn) {
            self.repairs.insert(at, (sn, Repair::default()));
        }
        &mut self.repairs[at].1
    }
    /// The status report with the number `report` (above 0) names `sn` as missing.
    pub fn nack(&mut self, sn: u64, report: u64) {
        self.repair_mut(sn).nacked_by = report;
    }
    /// True if that report has named `sn`.
    #[inline]
    pub fn is_nacked(&self, sn: u64, report: u64) -> bool {
        self.get(sn).in_repair && self.repair(sn).is_some_and(|r| r.nacked_by == report)
    }
    /// Sets RETX_COUNT of `sn` to zero, or increments it; returns it.
    pub fn count_retx(&mut self, sn: u64) -> u32 {
        let count = &mut self.repair_mut(sn).retx_count;
        *count.insert(count.map_or(0, |n| n + 1))
    }

    /// Adds an SDU whose first byte enters a PDU.
    #[inline]
    pub fn begin_sdu(&mut self, sdu: Sdu) {
        push_tight(&mut self.sdus, Flight { sdu, acked: 0 });
    }

    /// Adds a PDU with SN = VT(S), of which `elements` are the last SDUs begun.
    #[inline]
    pub fn push(&mut self, elements: &[Element<Span>], field: &Field) {
        let sent = Sent {
            first: self.sdus_from.wrapping_add((self.sdus.len() - elements.len()) as u32),
            offset: elements[0].payload.offset,
            data: field.data(),
            size: field.size(),
            acked: false,
            in_repair: false,
        };
        push_tight(&mut self.sent, sent);
    }

    /// Acknowledges `sn` positively: SDUs complete with it go to `confirmed`.
    #[inline]
    pub fn ack(&mut self, sn: u64, confirmed: &mut Vec<Sdu>) {
        let i = (sn - self.vt_a) as usize;
        let s = &mut self.sent[i];
        s.acked = true;
        let (mut rest, mut offset, mut n) = (s.data, s.offset, s.first.wrapping_sub(self.sdus_from) as usize);
        if s.in_repair {
            self.clear_pending(sn);
        }
        while rest > 0 {
            let flight = &mut self.sdus[n];
            let here = rest.min(flight.sdu.size() - offset);
            flight.acked += here;
            if flight.acked == flight.sdu.size() {
                confirmed.push(flight.sdu);
            }
            rest -= here;
            offset = 0;
            n += 1;
        }
    }

    /// Acknowledges the PDUs before `ack_sn`, where none in the window is acknowledged yet: VT(A)
    /// becomes `ack_sn`, and SDUs complete with it go to `confirmed`. The same as
    /// [`ack`](Self::ack) of each and [`advance`](Self::advance), in one pass.
    #[inline]
    pub fn ack_to(&mut self, ack_sn: u64, confirmed: &mut Vec<Sdu>) {
        let mut bytes = 0;
        while self.vt_a < ack_sn {
            if self.sent[0].in_repair {
                self.clear_pending(self.vt_a);
            }
            bytes += self.sent.pop_front().map_or(0, |s| s.data);
            self.vt_a += 1;
        }
        while let Some(flight) = self.sdus.front_mut().filter(|_| bytes > 0) {
            let open = flight.sdu.size() - flight.acked;
            if bytes < open {
                flight.acked += bytes;
                break;
            }
            bytes -= open;
            confirmed.push(flight.sdu);
            self.sdus.pop_front();
            self.sdus_from = self.sdus_from.wrapping_add(1);
        }
        self.forget_repairs();
    }

    /// Removes the repairs of PDUs that have left the window.
    #[inline]
    fn forget_repairs(&mut self) {
        while self.repairs.front().is_some_and(|r| r.0 < self.vt_a) {
            self.repairs.pop_front();
        }
    }

    /// Moves VT(A) over acknowledged PDUs.
    // TS 36.322 v15.1.0 clause 7.1: VT(A) is the SN of the AMD PDU whose acknowledgement is the
    // next in sequence.
    #[inline]
    pub fn advance(&mut self) {
        while self.sent.front().is_some_and(|s| s.acked) {
            self.sent.pop_front();
            self.vt_a += 1;
        }
        while self.sdus.front().is_some_and(|f| f.acked == f.sdu.size()) {
            self.sdus.pop_front();
            self.sdus_from = self.sdus_from.wrapping_add(1);
        }
        self.forget_repairs();
    }

    /// Adds `[from, to)` of `sn` to the pending portions; true if some byte of it was not pending.
    pub fn add_pending(&mut self, sn: u64, from: u32, to: u32) -> bool {
        let (mut from, mut to) = (from, to.min(self.get(sn).data));
        if from >= to {
            return false;
        }
        let before = self.cost(sn);
        let pending = &mut self.repair_mut(sn).pending;
        if pending.iter().any(|&(a, b)| a <= from && to <= b) {
            return false;
        }
        let was_pending = !pending.is_empty();
        pending.retain(|&mut (a, b)| {
            let touches = a <= to && from <= b;
            if touches {
                from = from.min(a);
                to = to.max(b);
            }
            !touches
        });
        let at = pending.partition_point(|p| p.0 < from);
        pending.insert(at, (from, to));
        self.retx_bytes = self.retx_bytes - before + self.cost(sn);
        if !was_pending {
            let at = self.retx.partition_point(|&x| x < sn);
            self.retx.insert(at, sn);
        }
        true
    }

    /// The first pending portion of `sn`.
    pub fn pending(&self, sn: u64) -> (u32, u32) {
        self.all_pending(sn)[0]
    }

    /// All pending portions of `sn`.
    fn all_pending(&self, sn: u64) -> &[(u32, u32)] {
        self.repair(sn).map_or(&[], |r| &r.pending)
    }

    /// Bytes that sending the pending portions of `sn` takes.
    fn cost(&self, sn: u64) -> u32 {
        self.get(sn).cost(self.format, self.all_pending(sn))
    }

    /// Removes the first `bytes` of the first pending portion of `sn`, which are sent.
    pub fn take_pending(&mut self, sn: u64, bytes: u32) {
        let before = self.cost(sn);
        let pending = &mut self.repair_mut(sn).pending;
        let p = &mut pending[0];
        p.0 += bytes;
        if p.0 == p.1 {
            pending.remove(0);
        }
        if pending.is_empty() {
            self.leave_retx(sn);
        }
        self.retx_bytes = self.retx_bytes - before + self.cost(sn);
    }

    /// Nothing of `sn` is sent again.
    #[cold]
    fn clear_pending(&mut self, sn: u64) {
        if !self.all_pending(sn).is_empty() {
            self.retx_bytes -= self.cost(sn);
            self.repair_mut(sn).pending.clear();
            self.leave_retx(sn);
        }
    }

    fn leave_retx(&mut self, sn: u64) {
        let at = self.retx.partition_point(|&x| x < sn);
        self.retx.remove(at);
    }

    /// Reads the bytes `[from, to)` of PDU `sn`, as many as `field` takes.
    pub fn read(
        &self,
        sn: u64,
        (from, to): (u32, u32),
        field: &mut Field,
        elements: &mut Vec<Element<Span>>,
    ) {
        let s = self.get(sn);
        let (mut n, mut offset) = (s.first.wrapping_sub(self.sdus_from) as usize, s.offset + from);
        while offset >= self.sdus[n].sdu.size() {
            offset -= self.sdus[n].sdu.size();
            n += 1;
        }
        let mut left = to - from;
        while left > 0 {
            let sdu = self.sdus[n].sdu;
            let here = left.min(sdu.size() - offset);
            let got = field.add(here);
            if got > 0 {
                elements.push(Element { payload: Span { sdu, offset }, len: got });
            }
            if got < here {
                return;
            }
            left -= here;
            offset = 0;
            n += 1;
        }
    }

    /// Empties the window; returns the SDUs that were not confirmed, oldest first.
    pub fn drain(&mut self) -> impl Iterator<Item = Sdu> {
        self.vt_a = 0;
        self.sent.clear();
        self.sdus_from = 0;
        self.repairs.clear();
        self.retx.clear();
        self.retx_bytes = 0;
        self.sdus.drain(..).filter(|f| f.acked < f.sdu.size()).map(|f| f.sdu)
    }
}

impl Sent {
    /// Bytes that sending the portions `pending` takes; length indicators of a portion are counted
    /// as those of the whole PDU.
    fn cost(&self, format: Format, pending: &[(u32, u32)]) -> u32 {
        let extension = self.size - self.data - format.fixed(false);
        let segment = |&(a, b): &(u32, u32)| match b - a {
            all if all == self.data => self.size,
            part => format.fixed(true) + extension + part,
        };
        pending.iter().map(segment).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_engine::{Draw, Purpose};
    use lasthop_units::{Id, PacketId};

    /// A window of `pdus` PDUs of 100 bytes that cut SDUs of 1 to 400 bytes.
    fn filled(pdus: u64, draw: &Draw) -> Window {
        let mut window = Window::new(Format::am(10, 15));
        let (mut sdu, mut left) = (Sdu::new(PacketId::from_index(0), 0), 0);
        for pdu in 0..pdus {
            let (mut field, mut elements) = (Field::new(window.format, false, 100), Vec::new());
            loop {
                if left == 0 {
                    left = 1 + (draw.bits(sdu.serial) % 400) as u32;
                    sdu = Sdu { serial: sdu.serial + 1, ..sdu.with_size(left) };
                }
                let got = field.add(left);
                if got == 0 {
                    break;
                }
                if left == sdu.size() {
                    window.begin_sdu(sdu);
                }
                elements.push(Element { payload: Span { sdu, offset: sdu.size() - left }, len: got });
                left -= got;
                if left > 0 {
                    break;
                }
            }
            window.push(&elements, &field);
            if draw.bits(1000 + pdu).is_multiple_of(5) {
                window.nack(pdu, 1);
                window.add_pending(pdu, 0, 50);
            }
        }
        window
    }

    #[test]
    fn all_pdus_are_acknowledged_as_one_after_the_other() {
        for case in 0..50 {
            let draw = Draw::new(1, Purpose::InitialSequence, case);
            let (mut one, mut all) = (filled(20, &draw), filled(20, &draw));
            for ack_sn in [0, draw.bits(0) % 10, 10 + draw.bits(1) % 10, 20] {
                let (mut by_one, mut by_all) = (Vec::new(), Vec::new());
                (one.vt_a()..ack_sn).for_each(|sn| one.ack(sn, &mut by_one));
                one.advance();
                all.ack_to(ack_sn, &mut by_all);
                assert_eq!(by_one, by_all);
                assert_eq!(format!("{one:?}"), format!("{all:?}"));
            }
            assert_eq!((one.vt_a(), one.retx_bytes(), one.repairs.len()), (20, 0, 0));
        }
    }
}
