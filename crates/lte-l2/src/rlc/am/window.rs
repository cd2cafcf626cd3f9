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
    /// Number of the first SDU in `Window::sdus`.
    first: u64,
    /// First byte within that SDU.
    offset: u32,
    /// Bytes in the data field.
    pub data: u32,
    /// Bytes of the whole PDU.
    pub size: u32,
    pub acked: bool,
    /// Named as missing by the status report with this number.
    pub nacked_by: u64,
    /// RETX_COUNT; None before the PDU is first considered for retransmission.
    pub retx_count: Option<u32>,
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
    /// Number of `sdus[0]`; numbers count SDUs.
    sdus_from: u64,
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
        let waits = |s: &&Sent| !s.acked && s.pending.is_empty();
        self.sent.iter().filter(waits).map(|s| s.size).sum()
    }
    /// The lowest SN with a pending portion.
    pub fn retx_head(&self) -> Option<u64> {
        self.retx.front().copied()
    }
    #[inline]
    pub fn get_mut(&mut self, sn: u64) -> &mut Sent {
        &mut self.sent[(sn - self.vt_a) as usize]
    }
    #[inline]
    pub fn get(&self, sn: u64) -> &Sent {
        &self.sent[(sn - self.vt_a) as usize]
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
            first: self.sdus_from + (self.sdus.len() - elements.len()) as u64,
            offset: elements[0].payload.offset,
            data: field.data(),
            size: field.size(),
            acked: false,
            nacked_by: 0,
            retx_count: None,
            pending: SmallVec::new(),
        };
        push_tight(&mut self.sent, sent);
    }

    /// Acknowledges `sn` positively: SDUs complete with it go to `confirmed`.
    #[inline]
    pub fn ack(&mut self, sn: u64, confirmed: &mut Vec<Sdu>) {
        let i = (sn - self.vt_a) as usize;
        let s = &mut self.sent[i];
        s.acked = true;
        let (mut rest, mut offset, mut n) = (s.data, s.offset, (s.first - self.sdus_from) as usize);
        if !s.pending.is_empty() {
            self.clear_pending(sn);
        }
        while rest > 0 {
            let flight = &mut self.sdus[n];
            let here = rest.min(flight.sdu.size - offset);
            flight.acked += here;
            if flight.acked == flight.sdu.size {
                confirmed.push(flight.sdu);
            }
            rest -= here;
            offset = 0;
            n += 1;
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
        while self.sdus.front().is_some_and(|f| f.acked == f.sdu.size) {
            self.sdus.pop_front();
            self.sdus_from += 1;
        }
    }

    /// Adds `[from, to)` of `sn` to the pending portions; true if some byte of it was not pending.
    pub fn add_pending(&mut self, sn: u64, from: u32, to: u32) -> bool {
        let i = (sn - self.vt_a) as usize;
        let format = self.format;
        let s = &mut self.sent[i];
        let (mut from, mut to) = (from, to.min(s.data));
        if from >= to || s.pending.iter().any(|&(a, b)| a <= from && to <= b) {
            return false;
        }
        self.retx_bytes -= s.cost(format);
        let was_pending = !s.pending.is_empty();
        s.pending.retain(|&mut (a, b)| {
            let touches = a <= to && from <= b;
            if touches {
                from = from.min(a);
                to = to.max(b);
            }
            !touches
        });
        let at = s.pending.partition_point(|p| p.0 < from);
        s.pending.insert(at, (from, to));
        self.retx_bytes += s.cost(format);
        if !was_pending {
            let at = self.retx.partition_point(|&x| x < sn);
            self.retx.insert(at, sn);
        }
        true
    }

    /// The first pending portion of `sn`.
    pub fn pending(&self, sn: u64) -> (u32, u32) {
        self.get(sn).pending[0]
    }

    /// Removes the first `bytes` of the first pending portion of `sn`, which are sent.
    pub fn take_pending(&mut self, sn: u64, bytes: u32) {
        let i = (sn - self.vt_a) as usize;
        let s = &mut self.sent[i];
        self.retx_bytes -= s.cost(self.format);
        let p = &mut s.pending[0];
        p.0 += bytes;
        if p.0 == p.1 {
            s.pending.remove(0);
        }
        self.retx_bytes += s.cost(self.format);
        if s.pending.is_empty() {
            self.leave_retx(sn);
        }
    }

    fn clear_pending(&mut self, sn: u64) {
        let i = (sn - self.vt_a) as usize;
        self.retx_bytes -= self.sent[i].cost(self.format);
        self.sent[i].pending.clear();
        self.leave_retx(sn);
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
        let (mut n, mut offset) = ((s.first - self.sdus_from) as usize, s.offset + from);
        while offset >= self.sdus[n].sdu.size {
            offset -= self.sdus[n].sdu.size;
            n += 1;
        }
        let mut left = to - from;
        while left > 0 {
            let sdu = self.sdus[n].sdu;
            let here = left.min(sdu.size - offset);
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
        self.retx.clear();
        self.retx_bytes = 0;
        self.sdus.drain(..).filter(|f| f.acked < f.sdu.size).map(|f| f.sdu)
    }
}

impl Sent {
    /// Bytes that sending the pending portions takes; length indicators of a portion are counted as
    /// those of the whole PDU.
    fn cost(&self, format: Format) -> u32 {
        let extension = self.size - self.data - format.fixed(false);
        let segment = |&(a, b): &(u32, u32)| match b - a {
            all if all == self.data => self.size,
            part => format.fixed(true) + extension + part,
        };
        self.pending.iter().map(segment).sum()
    }
}
