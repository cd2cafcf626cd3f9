//! Segmentation and concatenation: SDUs become the data fields of PDUs of fixed size (TS 25.322
//! clauses 9.2.2.8 and 11.3.2). Shared by AM and UM.

use std::collections::VecDeque;

use lasthop_units::{Bytes, Instant};
use smallvec::SmallVec;

use lasthop_bearer::Sdu;

/// The indication of an SDU's end in a PDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndMark {
    /// No indication: the SDU continues, or the next PDU indicates its end.
    None,
    /// A length indicator with the last octet's position.
    Here,
    /// LI of zero: the previous PDU was exactly filled with the last octets of the SDU.
    Previous,
    /// 15-bit LI 111 1111 1111 1011: the previous PDU was one octet short of being filled.
    PreviousShort,
}

/// The octets of one SDU in one PDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The SDU.
    pub sdu: Sdu,
    /// First octet within the SDU (0 when read from bytes).
    pub offset: u32,
    /// Number of octets; zero when only the end of the SDU is indicated.
    pub len: u16,
    /// The indication of the SDU's end.
    pub end: EndMark,
}

/// The segments of a PDU, in order; two fit without a heap allocation.
pub type Segments = SmallVec<[Segment; 2]>;

/// Copies segments. Up to two are copied by value; a slice would be copied by a call.
#[inline]
pub(crate) fn copy_of(segments: &[Segment]) -> Segments {
    match *segments {
        [one] => Segments::from_buf_and_len([one, one], 1),
        [one, two] => Segments::from_buf([one, two]),
        _ => Segments::from_slice(segments),
    }
}

/// Size of the data field and of its length indicators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataLayout {
    /// Octets of length indicators, data and padding in a PDU.
    pub payload: u32,
    /// Octets of one length indicator: 1 (7 bits and E) or 2 (15 bits and E).
    pub li: u32,
}

impl DataLayout {
    /// The layout of an AMD PDU: a 2-octet header, and 7-bit LIs up to 126 octets of PDU, header
    /// included (TS 25.322 clause 9.2.2.8).
    pub const fn am(payload: u32) -> DataLayout {
        DataLayout { payload, li: if payload + 2 <= 126 { 1 } else { 2 } }
    }
    /// The layout of a UMD PDU: a 1-octet header, and 7-bit LIs up to 125 octets (TS 25.322 clause
    /// 9.2.2.8).
    pub const fn um(payload: u32) -> DataLayout {
        DataLayout { payload, li: if payload < 125 { 1 } else { 2 } }
    }
    /// Octets that the segments and their length indicators take.
    pub fn used(&self, segments: &[Segment]) -> u32 {
        segments.iter().map(|s| u32::from(s.len) + if s.end == EndMark::None { 0 } else { self.li }).sum()
    }
}

/// An SDU in the transmission buffer, from its arrival until it is acknowledged (AM) or sent (UM).
#[derive(Clone, Copy, Debug)]
pub(crate) struct TxSdu {
    pub sdu: Sdu,
    /// Octets already put into PDUs.
    pub sent: u32,
    /// Count of the PDU that indicates its end, and the number of its length indicator in that PDU
    /// (from 1).
    pub end: Option<(u64, u8)>,
    /// When the discard timer expires.
    pub deadline: Instant,
}

/// The transmission buffer with segmentation and concatenation.
#[derive(Clone, Debug)]
pub(crate) struct Segmenter {
    layout: DataLayout,
    sdus: VecDeque<TxSdu>,
    /// Index of the first SDU with octets still to send.
    next: usize,
    /// The indication of the end of SDU `next - 1`, if it is not in a PDU yet.
    untold_end: Option<EndMark>,
    waiting: Bytes,
}

impl Segmenter {
    pub fn new(layout: DataLayout) -> Self {
        Segmenter { layout, sdus: VecDeque::new(), next: 0, untold_end: None, waiting: Bytes::ZERO }
    }
    pub fn layout(&self) -> DataLayout {
        self.layout
    }
    /// True when a PDU could be built.
    #[inline]
    pub fn has_data(&self) -> bool {
        self.next < self.sdus.len() || self.untold_end.is_some()
    }
    /// Number of SDUs with octets that were never sent.
    pub fn waiting_sdus(&self) -> usize {
        self.sdus.len() - self.next
    }
    /// Number of octets that were never sent.
    pub fn waiting_bytes(&self) -> Bytes {
        self.waiting
    }
    pub fn is_empty(&self) -> bool {
        self.sdus.is_empty()
    }
    pub fn push(&mut self, sdu: Sdu, deadline: Instant) {
        debug_assert!(sdu.size() > 0, "an SDU without octets");
        self.waiting += Bytes(sdu.size().into());
        self.sdus.push_back(TxSdu { sdu, sent: 0, end: None, deadline });
    }

    /// Removes the oldest SDU of which no octet was sent (head drop).
    pub fn drop_head(&mut self) -> Option<Sdu> {
        let i = self.next + usize::from(self.sdus.get(self.next)?.sent > 0);
        let dropped = self.sdus.remove(i)?;
        self.waiting -= Bytes(dropped.sdu.size().into());
        Some(dropped.sdu)
    }

    /// Builds the data field of PDU number `count`, `room` octets long. Concatenates as long as
    /// there is room for an octet of data, so that there is padding only when the buffer is empty.
    #[inline]
    pub fn fill(&mut self, count: u64, room: u32) -> Segments {
        // Most PDUs are full of octets of one SDU, which neither begins nor ends with them.
        if self.untold_end.is_none()
            && let Some(front) = self.sdus.get_mut(self.next)
            && front.sdu.size() - front.sent > room
            && room > 0
        {
            let mut segments = Segments::new();
            let (sdu, offset, len) = (front.sdu, front.sent, room as u16);
            segments.push(Segment { sdu, offset, len, end: EndMark::None });
            front.sent += room;
            self.waiting -= Bytes(room.into());
            return segments;
        }
        self.concatenate(count, room)
    }

    #[inline(never)]
    fn concatenate(&mut self, count: u64, room: u32) -> Segments {
        let mut segments = Segments::new();
        let li = self.layout.li;
        let mut room = room;
        let mut ends = 0u8;
        if let Some(end) = self.untold_end.take() {
            ends += 1;
            let last = &mut self.sdus[self.next - 1];
            last.end = Some((count, ends));
            segments.push(Segment { sdu: last.sdu, offset: last.sdu.size(), len: 0, end });
            room -= li;
        }
        // One octet after a 15-bit LI is padding that no LI indicates (clause 9.2.2.8).
        while room > 0 && !(li == 2 && room == 1 && ends > 0) {
            let Some(front) = self.sdus.get_mut(self.next) else { break };
            let rest = front.sdu.size() - front.sent;
            let offset = front.sent;
            let (len, end) =
                if rest + li <= room { (rest, EndMark::Here) } else { (rest.min(room), EndMark::None) };
            segments.push(Segment { sdu: front.sdu, offset, len: len as u16, end });
            front.sent += len;
            self.waiting -= Bytes(len.into());
            if len < rest {
                break;
            }
            self.next += 1;
            if end == EndMark::Here {
                ends += 1;
                front.end = Some((count, ends));
                room -= len + li;
            } else {
                self.untold_end = Some(if rest == room { EndMark::Previous } else { EndMark::PreviousShort });
                break;
            }
        }
        segments
    }

    /// Removes SDUs whose end is in a PDU before `count`; returns how many.
    pub fn acknowledge(&mut self, count: u64) -> u32 {
        let mut n = 0;
        while self.next > 0 && self.sdus[0].end.is_some_and(|(end, _)| end < count) {
            self.sdus.pop_front();
            self.next -= 1;
            n += 1;
        }
        n
    }

    /// The oldest SDU.
    pub fn front(&self) -> Option<&TxSdu> {
        self.sdus.front()
    }

    /// Number of SDUs at the front that fulfil `wanted`.
    pub fn prefix(&self, wanted: impl Fn(&TxSdu) -> bool) -> usize {
        self.sdus.iter().take_while(|s| wanted(s)).count()
    }

    /// Removes the first `n` SDUs and passes them to `out`, with true if an octet of the SDU was
    /// sent. Returns where the last sent one ended: the PDU with its end mark and the number of the
    /// LI in it, or `Some(None)` when no PDU has its end mark yet. `None` if no octet of them was
    /// sent.
    pub fn discard(&mut self, n: usize, mut out: impl FnMut(Sdu, bool)) -> Option<Option<(u64, u8)>> {
        let mut end = None;
        for _ in 0..n {
            let s = self.sdus.pop_front().expect("no more are discarded than there are");
            self.waiting -= Bytes(u64::from(s.sdu.size() - s.sent));
            if self.next > 0 {
                self.next -= 1;
                if self.next == 0 && s.end.is_none() {
                    self.untold_end = None;
                }
            }
            if s.sent > 0 {
                end = Some(s.end);
            }
            out(s.sdu, s.sent > 0);
        }
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_units::{Id, PacketId};

    fn segmenter(payload: u32, sizes: &[u32]) -> Segmenter {
        let mut s = Segmenter::new(DataLayout::am(payload));
        for (i, size) in sizes.iter().enumerate() {
            let sdu = Sdu { serial: i as u64, ..Sdu::new(PacketId::from_index(i), *size) };
            s.push(sdu, Instant::MAX);
        }
        s
    }
    fn shape(s: &Segments) -> Vec<(u64, u32, u16, EndMark)> {
        s.iter().map(|g| (g.sdu.serial, g.offset, g.len, g.end)).collect()
    }

    /// 553 B + 1 LI = 554 = 13 * 40 + 34: the next SDU begins in the fourteenth block.
    #[test]
    fn the_next_packet_is_concatenated_into_the_last_block() {
        let mut s = segmenter(40, &[553, 553]);
        let pdus: Vec<Segments> = (0..14).map(|c| s.fill(c, 40)).collect();
        assert_eq!(shape(&pdus[13]), [(0, 520, 33, EndMark::Here), (1, 0, 6, EndMark::None)]);
    }

    #[test]
    fn an_exactly_filled_pdu_is_indicated_by_the_next_one() {
        let mut s = segmenter(40, &[40, 5]);
        assert_eq!(shape(&s.fill(0, 40)), [(0, 0, 40, EndMark::None)]);
        assert!(s.has_data());
        assert_eq!(shape(&s.fill(1, 40)), [(0, 40, 0, EndMark::Previous), (1, 0, 5, EndMark::Here)]);
        assert!(!s.has_data());
        assert_eq!(s.acknowledge(1), 0);
        assert_eq!(s.acknowledge(2), 2);
    }

    /// 15-bit LIs (2 octets): 199 octets leave one of 200, too little for the LI.
    #[test]
    fn a_pdu_that_is_one_octet_short_is_indicated_by_the_next_one() {
        let mut s = segmenter(200, &[199, 197, 9]);
        assert_eq!(shape(&s.fill(0, 200)), [(0, 0, 199, EndMark::None)]);
        // 2 + 197 + 2 = 201 > 200 and 197 = 198 - 1: short again.
        assert_eq!(shape(&s.fill(1, 200)), [(0, 199, 0, EndMark::PreviousShort), (1, 0, 197, EndMark::None)]);
        assert_eq!(shape(&s.fill(2, 200)), [(1, 197, 0, EndMark::PreviousShort), (2, 0, 9, EndMark::Here)]);
    }

    #[test]
    fn discarding_a_half_sent_sdu_finds_no_end() {
        let mut s = segmenter(40, &[100, 100, 100]);
        for c in 0..4 {
            s.fill(c, 40);
        }
        let mut gone = Vec::new();
        assert_eq!(s.discard(1, |sdu, sent| gone.push((sdu.serial, sent))), Some(Some((2, 1))));
        assert_eq!(s.discard(1, |sdu, sent| gone.push((sdu.serial, sent))), Some(None));
        assert_eq!(s.discard(1, |sdu, sent| gone.push((sdu.serial, sent))), None);
        assert_eq!(gone, [(0, true), (1, true), (2, false)]);
        assert_eq!(s.waiting_bytes(), Bytes(0));
    }
}
