//! Protocol data units as descriptors: the fields of the header, and the bytes of SDUs in the data
//! field.
//!
//! A receiving entity uses the header alone (SN, framing info, length indicators, segment offset)
//! and passes the payload on unread. So the same receiver processes descriptors ([`Span`]) in a
//! simulation and bytes ([`Chunk`](super::codec::Chunk)) at the end of an encoded pipe.

use std::fmt::Debug;

use lasthop_bearer::{Journeys, Piece};
use lasthop_units::Instant;

use super::Sdu;

/// The content of a PDU's data field, as a receiver uses it: it can be cut, and pieces can be
/// joined to an SDU.
pub trait Payload: Clone + Debug {
    /// The SDU that pieces form.
    type Sdu: Debug;
    /// An SDU of which some pieces are received.
    type Partial: Debug;
    /// Returns the payload without its first `bytes`.
    fn after(&self, bytes: u32) -> Self;
    /// Returns the first `len` bytes of this payload as the beginning of an SDU.
    fn begin(&self, len: u32) -> Self::Partial;
    /// Appends the first `len` bytes of this payload; false if they cannot belong together.
    fn append(&self, len: u32, to: &mut Self::Partial) -> bool;
    /// Returns the SDU, if the pieces are a whole one.
    fn finish(whole: Self::Partial) -> Option<Self::Sdu>;
}

/// Bytes of an SDU from `offset` on, as a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The SDU.
    pub sdu: Sdu,
    /// First byte within the SDU.
    pub offset: u32,
}

impl Payload for Span {
    type Sdu = Sdu;
    type Partial = Span;

    fn after(&self, bytes: u32) -> Span {
        Span { offset: self.offset + bytes, ..*self }
    }
    #[inline]
    fn begin(&self, len: u32) -> Span {
        debug_assert_eq!(self.offset, 0, "framing info says that an SDU starts here");
        Span { sdu: self.sdu, offset: len }
    }
    #[inline]
    fn append(&self, len: u32, to: &mut Span) -> bool {
        let fits = self.sdu.serial == to.sdu.serial && self.offset == to.offset;
        to.offset += len;
        fits
    }
    #[inline]
    fn finish(whole: Span) -> Option<Sdu> {
        (whole.offset == whole.sdu.size()).then_some(whole.sdu)
    }
}

/// A data field element: an SDU or a segment of one (TS 36.322 clause 6.2.2.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element<P> {
    /// Its content.
    pub payload: P,
    /// Its number of bytes [B].
    pub len: u32,
}

/// Which part of an AMD PDU an AMD PDU segment is (TS 36.322 clauses 6.2.2.7, 6.2.2.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// SO: position of the first byte within the data field of the AMD PDU [B].
    pub so: u32,
    /// LSF: the last byte of the segment is the last byte of the AMD PDU.
    pub last: bool,
}

/// A UMD PDU, AMD PDU or AMD PDU segment (TS 36.322 clauses 6.2.1.3 to 6.2.1.5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataPdu<P> {
    /// SN, modulo the modulus of the entity.
    pub sn: u32,
    /// P: a poll, which requests a status report (AM).
    pub poll: bool,
    /// First bit of FI is 0: the data field starts with the first byte of an SDU.
    pub starts: bool,
    /// Second bit of FI is 0: the data field ends with the last byte of an SDU.
    pub ends: bool,
    /// For an AMD PDU segment, its position.
    pub segment: Option<Segment>,
    /// The data field.
    pub elements: Vec<Element<P>>,
}

impl<P> DataPdu<P> {
    /// Bytes in the data field.
    pub fn data_len(&self) -> u32 {
        self.elements.iter().map(|e| e.len).sum()
    }
}

/// SOend: up to the last byte of the AMD PDU (TS 36.322 v15.1.0 clause 6.2.2.19), all ones on the
/// wire.
pub const SO_END: u32 = u32::MAX;

/// A negative acknowledgement in a STATUS PDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nack {
    /// NACK_SN.
    pub sn: u32,
    /// SOstart and SOend (the last missing byte, inclusive, or [`SO_END`]): only these bytes are
    /// missing.
    pub portion: Option<(u32, u32)>,
}

/// A STATUS PDU (TS 36.322 clause 6.2.1.6).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatusPdu {
    /// ACK_SN: the next not received PDU that is not reported as missing.
    pub ack_sn: u32,
    /// The PDUs and portions missing before ACK_SN.
    pub nacks: Vec<Nack>,
}

/// Any PDU of RLC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pdu<P = Span> {
    /// Transparent mode: one SDU, no header (TS 36.322 clause 6.2.1.2).
    Tmd(Element<P>),
    /// Unacknowledged mode data.
    Umd(DataPdu<P>),
    /// Acknowledged mode data or a segment of it.
    Amd(DataPdu<P>),
    /// Acknowledged mode control.
    Status(StatusPdu),
}

impl Pdu {
    /// Records that its octets of SDUs leave `sender` at `now`, due at the other end at `due`.
    pub fn note_sent(&self, journeys: &mut Journeys, now: Instant, sender: u32, due: Instant) {
        self.pieces().for_each(|piece| journeys.sent(now, sender, &piece, due));
    }
    /// Records that its octets have arrived.
    pub fn note_arrived(&self, journeys: &mut Journeys, now: Instant) {
        self.pieces().for_each(|piece| journeys.arrived(now, &piece));
    }
    /// Records that MAC has given up its transport block.
    pub fn note_given_up(&self, journeys: &mut Journeys, at: Instant) {
        self.pieces().for_each(|piece| journeys.given_up(at, &piece));
    }
    /// Returns the octets of SDUs in it, for the records of where SDUs are.
    pub fn pieces(&self) -> impl Iterator<Item = Piece> {
        let sn = self.sn();
        let piece =
            move |e: &Element<Span>| Piece { sdu: e.payload.sdu, offset: e.payload.offset, len: e.len, sn };
        self.elements().iter().map(piece)
    }
    /// Its sequence number; data of transparent mode and control PDUs have none.
    pub const fn sn(&self) -> Option<u32> {
        match self {
            Pdu::Umd(d) | Pdu::Amd(d) => Some(d.sn),
            Pdu::Tmd(_) | Pdu::Status(_) => None,
        }
    }
    /// The parts of SDUs in it.
    pub fn elements(&self) -> &[Element<Span>] {
        match self {
            Pdu::Tmd(e) => std::slice::from_ref(e),
            Pdu::Umd(d) | Pdu::Amd(d) => &d.elements,
            Pdu::Status(_) => &[],
        }
    }
    /// Bytes of the encoded PDU under `format`.
    pub fn size(&self, format: Format) -> u32 {
        match self {
            Pdu::Tmd(e) => e.len,
            Pdu::Umd(d) | Pdu::Amd(d) => {
                format.header(d.segment.is_some(), d.elements.len() as u32) + d.data_len()
            }
            Pdu::Status(s) => format.status(s),
        }
    }
}

/// Field widths of the PDUs that an entity sends (TS 36.322 clauses 6.2.1.3 to 6.2.1.6): all sizes
/// of headers come from here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Acknowledged mode (else unacknowledged).
    pub acknowledged: bool,
    /// SN: 5 or 10 bits (UM), 10 or 16 (AM).
    pub sn_bits: u32,
    /// LI: 11 bits, or 15 (AM).
    pub li_bits: u32,
    /// SN in STATUS PDUs: that of the data they report on, which the peer sends (AM).
    pub status_sn_bits: u32,
}

impl Format {
    /// Unacknowledged mode with an SN of `sn_bits`.
    pub const fn um(sn_bits: u32) -> Format {
        Format { acknowledged: false, sn_bits, li_bits: 11, status_sn_bits: sn_bits }
    }
    /// Acknowledged mode, with the same SN in both directions.
    pub const fn am(sn_bits: u32, li_bits: u32) -> Format {
        Format { acknowledged: true, sn_bits, li_bits, status_sn_bits: sn_bits }
    }
    /// The same field widths for a peer whose data have an SN of `sn_bits`.
    pub const fn reporting_on(self, sn_bits: u32) -> Format {
        Format { status_sn_bits: sn_bits, ..self }
    }
    /// SO of a segment [bit].
    pub const fn so_bits(self) -> u32 {
        so_bits(self.sn_bits)
    }
    /// SOstart and SOend of a STATUS PDU [bit].
    pub const fn status_so_bits(self) -> u32 {
        so_bits(self.status_sn_bits)
    }
    /// The fixed part of the header [B].
    #[inline]
    pub const fn fixed(self, segment: bool) -> u32 {
        match (self.acknowledged, self.sn_bits, segment) {
            (false, 5, _) => 1,
            (false, ..) | (true, 10, false) => 2,
            (true, 10, true) => 4,
            (true, _, false) => 3,
            (true, _, true) => 5,
        }
    }
    /// The extension part for `elements` data field elements: an E and an LI for each but the last,
    /// padded to a byte (TS 36.322 clauses 6.2.2.4, 6.2.2.5) [B].
    #[inline]
    pub const fn extension(self, elements: u32) -> u32 {
        (elements.saturating_sub(1) * (1 + self.li_bits)).div_ceil(8)
    }
    /// The whole header of a data PDU [B].
    #[inline]
    pub const fn header(self, segment: bool, elements: u32) -> u32 {
        self.fixed(segment) + self.extension(elements)
    }
    /// The largest data field element that is not the last.
    #[inline]
    pub const fn li_max(self) -> u32 {
        (1 << self.li_bits) - 1
    }
    /// The largest data field of which SO and SOend can address every byte.
    pub const fn data_max(self) -> u32 {
        if self.acknowledged { (1 << self.so_bits()) - 1 } else { u32::MAX }
    }
    /// D/C, CPT, ACK_SN and E1 of a STATUS PDU [bit].
    pub const fn status_fixed_bits(self) -> u32 {
        1 + 3 + self.status_sn_bits + 1
    }
    /// One NACK of a STATUS PDU [bit].
    pub const fn nack_bits(self, portion: bool) -> u32 {
        self.status_sn_bits + 2 + if portion { 2 * self.status_so_bits() } else { 0 }
    }
    /// The size of a STATUS PDU [B].
    pub fn status(self, s: &StatusPdu) -> u32 {
        let nacks: u32 = s.nacks.iter().map(|n| self.nack_bits(n.portion.is_some())).sum();
        (self.status_fixed_bits() + nacks).div_ceil(8)
    }
    /// AM_Window_Size or UM_Window_Size (TS 36.322 clause 7.2): half of the modulus.
    #[inline]
    pub const fn window(self) -> u64 {
        1 << (self.sn_bits - 1)
    }
    /// The modulus of SN.
    #[inline]
    pub const fn modulus(self) -> u64 {
        1 << self.sn_bits
    }
    /// `n` modulo 2^SN.
    #[inline]
    pub const fn wrap(self, n: u64) -> u32 {
        (n & ((1 << self.sn_bits) - 1)) as u32
    }
    /// The lowest number from `base` on that equals `sn` modulo 2^SN: order relative to a modulus
    /// base (TS 36.322 clause 7.1).
    #[inline]
    pub const fn unwrap(self, sn: u32, base: u64) -> u64 {
        base + ((sn as u64).wrapping_sub(base) & ((1 << self.sn_bits) - 1))
    }
}

const fn so_bits(sn_bits: u32) -> u32 {
    if sn_bits == 16 { 16 } else { 15 }
}

/// A transmission opportunity of MAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Bytes for this logical channel.
    pub bytes: u32,
    /// Bytes of MAC's subheader, which each RLC PDU takes from the opportunity (2 or 3 bytes, TS
    /// 36.321 clause 6.1.2; MAC uses the shorter subheader of the last PDU).
    pub per_pdu: u32,
}

impl Grant {
    /// An opportunity of `bytes` for RLC PDUs alone.
    pub const fn of(bytes: u32) -> Grant {
        Grant { bytes, per_pdu: 0 }
    }
    /// Room for the next PDU.
    #[inline]
    pub(super) const fn room(self) -> u32 {
        self.bytes.saturating_sub(self.per_pdu)
    }
    /// Charges a PDU of `size`.
    #[inline]
    pub(super) const fn charge(&mut self, size: u32) {
        self.bytes -= size + self.per_pdu;
    }
}

/// Data available for transmission of a logical channel (TS 36.322 clause 4.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BufferStatus {
    /// Size of the STATUS PDU that the next opportunity would carry [B].
    pub status: u32,
    /// PDUs and portions pending for retransmission, with headers [B].
    pub retransmission: u32,
    /// SDU bytes not yet in any PDU, without headers [B].
    pub new_data: u64,
}

impl BufferStatus {
    /// The sum, as in a buffer status report.
    pub const fn total(self) -> u64 {
        self.status as u64 + self.retransmission as u64 + self.new_data
    }
}
