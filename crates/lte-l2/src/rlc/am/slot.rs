//! One AMD PDU in the reception buffer: whole, or the byte segments of it that were received.

use crate::rlc::assembler::{Assembler, Piece};
use crate::rlc::{DataPdu, Payload, RlcStats};

/// Received bytes of the AMD PDU with one SN.
#[derive(Clone, Debug)]
pub(super) struct Slot<P> {
    /// Disjoint, in order of SO.
    pieces: Vec<Piece<P>>,
    /// Length of the data field, once its last byte is known.
    total: Option<u32>,
    received: u32,
    /// Number of pieces that were passed to the assembler.
    handed: usize,
    /// The byte up to which these pieces reach.
    handed_to: u32,
}

impl<P> Default for Slot<P> {
    fn default() -> Self {
        Slot { pieces: Vec::new(), total: None, received: 0, handed: 0, handed_to: 0 }
    }
}

/// The result of adding a PDU or segment to a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Added {
    /// Bytes that were missing.
    New,
    /// Nothing: all bytes had been received.
    Duplicate,
    /// It contradicts the bytes received before.
    Invalid,
}

impl<P: Payload> Slot<P> {
    /// An empty slot with recycled memory.
    pub fn reuse(mut pieces: Vec<Piece<P>>) -> Slot<P> {
        pieces.clear();
        Slot { pieces, ..Slot::default() }
    }
    /// Returns the slot's memory.
    pub fn into_pieces(self) -> Vec<Piece<P>> {
        self.pieces
    }
    #[inline]
    pub fn is_complete(&self) -> bool {
        self.total == Some(self.received)
    }
    pub const fn is_empty(&self) -> bool {
        self.received == 0
    }

    /// Adds the bytes of `pdu` that were not received before.
    // TS 36.322 v15.1.0 clause 5.1.3.2.2: bytes that have been received before are discarded.
    pub fn add(&mut self, pdu: &DataPdu<P>) -> Added {
        let so = pdu.segment.map_or(0, |s| s.so);
        let last = pdu.segment.is_none_or(|s| s.last);
        let end = so + pdu.data_len();
        let known_end = self.pieces.last().map_or(0, |p| p.so + p.len);
        let contradicts = match self.total {
            Some(total) => end > total || (last && end != total),
            None => last && end < known_end,
        };
        if contradicts {
            return Added::Invalid;
        }
        let before = self.received;
        let n = pdu.elements.len();
        let mut at = so;
        for (i, e) in pdu.elements.iter().enumerate() {
            // Between elements of one PDU an SDU ends and the next starts (clause 6.2.2.6).
            let piece = Piece {
                so: at,
                len: e.len,
                payload: e.payload.clone(),
                starts: i > 0 || pdu.starts,
                ends: i + 1 < n || pdu.ends,
            };
            at += e.len;
            self.insert(piece);
        }
        let completes = last && self.total.is_none();
        if last {
            self.total = Some(end);
        }
        if self.received > before || completes { Added::New } else { Added::Duplicate }
    }

    /// Inserts the bytes of `piece` that were not received before.
    #[inline]
    fn insert(&mut self, mut piece: Piece<P>) {
        if self.pieces.last().is_none_or(|l| l.so + l.len <= piece.so) {
            self.received += piece.len;
            self.pieces.push(piece);
            return;
        }
        let mut i = self.pieces.partition_point(|p| p.so + p.len <= piece.so);
        while piece.len > 0 {
            let Some(next) = self.pieces.get(i) else {
                self.received += piece.len;
                self.pieces.push(piece);
                return;
            };
            if piece.so < next.so {
                let free = piece.len.min(next.so - piece.so);
                let (head, rest) = piece.split(free);
                self.received += head.len;
                self.pieces.insert(i, head);
                piece = rest;
            } else {
                let known = (next.so + next.len).saturating_sub(piece.so).min(piece.len);
                piece = piece.split(known).1;
            }
            i += 1;
        }
    }

    /// Passes the pieces that continue the byte sequence to the assembler.
    #[inline]
    pub fn hand_over(&mut self, to: &mut Assembler<P>, stats: &mut RlcStats, out: &mut Vec<P::Sdu>) {
        while let Some(p) = self.pieces.get(self.handed).filter(|p| p.so == self.handed_to) {
            to.piece(&p.payload, p.len, p.starts, p.ends, stats, out);
            self.handed_to += p.len;
            self.handed += 1;
        }
    }

    /// Passes all pieces to the assembler, with a gap wherever bytes are missing.
    pub fn hand_over_all(&mut self, to: &mut Assembler<P>, stats: &mut RlcStats, out: &mut Vec<P::Sdu>) {
        self.hand_over(to, stats, out);
        while let Some(p) = self.pieces.get(self.handed) {
            to.gap(stats);
            self.handed_to = p.so;
            self.hand_over(to, stats, out);
        }
        if !self.is_complete() {
            to.gap(stats);
        }
    }

    /// Calls `f` with the missing byte ranges `[from, to]`, the last one open if the end is not
    /// known.
    pub fn gaps(&self, mut f: impl FnMut(u32, Option<u32>)) {
        let mut at = 0;
        for p in &self.pieces {
            if p.so > at {
                f(at, Some(p.so - 1));
            }
            at = p.so + p.len;
        }
        match self.total {
            None => f(at, None),
            Some(total) if at < total => f(at, None),
            Some(_) => {}
        }
    }
}

impl<P: Payload> Piece<P> {
    /// Splits off the first `len` bytes.
    fn split(self, len: u32) -> (Piece<P>, Piece<P>) {
        let rest = Piece {
            so: self.so + len,
            len: self.len - len,
            payload: self.payload.after(len),
            starts: self.starts && len == 0,
            ends: self.ends,
        };
        let head = Piece { len, ends: self.ends && rest.len == 0, ..self };
        (head, rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rlc::{Element, Sdu, Segment, Span};
    use lasthop_units::{Id, PacketId};

    fn sdu(serial: u64, size: u32) -> Sdu {
        Sdu { serial, ..Sdu::new(PacketId::from_index(serial as usize), size) }
    }

    /// Bytes `[from, to)` of an AMD PDU that holds SDUs of 10, 10 and 10 bytes.
    fn part(from: u32, to: u32) -> DataPdu<Span> {
        let mut elements = Vec::new();
        let mut at = from;
        while at < to {
            let offset = at % 10;
            let len = (10 - offset).min(to - at);
            elements.push(Element { payload: Span { sdu: sdu(u64::from(at / 10), 10), offset }, len });
            at += len;
        }
        let segment = ((from, to) != (0, 30)).then_some(Segment { so: from, last: to == 30 });
        DataPdu {
            sn: 0,
            poll: false,
            starts: from.is_multiple_of(10),
            ends: to.is_multiple_of(10),
            segment,
            elements,
        }
    }

    #[test]
    fn overlapping_segments_in_any_order_give_each_sdu_once() {
        // All ways to send three of these five overlapping parts and then the rest.
        let parts = [(0, 7), (5, 18), (12, 30), (0, 30), (17, 22)];
        for a in 0..5 {
            for b in 0..5 {
                for c in 0..5 {
                    let mut slot = Slot::default();
                    for i in [a, b, c, 0, 1, 2] {
                        slot.add(&part(parts[i].0, parts[i].1));
                    }
                    let (mut assembler, mut stats, mut out) =
                        (Assembler::new(true), RlcStats::default(), Vec::new());
                    assert!(slot.is_complete());
                    slot.hand_over(&mut assembler, &mut stats, &mut out);
                    assert_eq!(out, [sdu(0, 10), sdu(1, 10), sdu(2, 10)]);
                }
            }
        }
    }

    #[test]
    fn gaps_are_what_is_missing_and_a_contradiction_is_refused() {
        let mut slot = Slot::default();
        assert_eq!(slot.add(&part(5, 8)), Added::New);
        assert_eq!(slot.add(&part(6, 8)), Added::Duplicate);
        assert_eq!(slot.add(&part(12, 20)), Added::New);
        let mut gaps = Vec::new();
        slot.gaps(|a, b| gaps.push((a, b)));
        assert_eq!(gaps, [(0, Some(4)), (8, Some(11)), (20, None)]);
        let mut short = part(0, 10);
        short.segment = Some(Segment { so: 0, last: true });
        assert_eq!(slot.add(&short), Added::Invalid);
        let (mut assembler, mut stats, mut out) = (Assembler::new(true), RlcStats::default(), Vec::new());
        slot.add(&part(0, 5));
        slot.hand_over_all(&mut assembler, &mut stats, &mut out);
        assert_eq!(out, [], "10..20 lacks two bytes, 0..10 its end");
        assert_eq!(slot.add(&part(18, 30)), Added::New);
        assert_eq!(slot.add(&part(8, 12)), Added::New);
        assert!(slot.is_complete());
    }
}
