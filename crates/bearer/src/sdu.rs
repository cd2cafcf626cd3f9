//! Service data units as descriptors, their outcomes, and the two ends of a bearer.

use lasthop_units::{Ecn, Id, PacketId};

/// A service data unit: a packet, and its number of bytes at this layer.
///
/// `serial` is unique among the SDUs pushed into one entity and grows; it outlives the reuse of a
/// [`PacketId`]. [`Bearer`](lasthop_umts::Bearer) assigns it.
///
/// Packed into 16 octets, because the queues of several layers hold it.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(Rust, packed(4))]
pub struct Sdu {
    /// Order of entry into the entity, never reused.
    pub serial: u64,
    /// The packet in the world's slab.
    pub id: PacketId,
    /// Its size at this layer, and the ECN codepoint of the IP packet inside.
    pub size_and_ecn: SizeAndEcn,
}

/// The size of an SDU, and an ECN codepoint in the two highest bits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SizeAndEcn(u32);

const _: () = assert!(size_of::<Option<Sdu>>() == 16);

/// Bits of the size.
const SIZE_BITS: u32 = 30;

impl Sdu {
    /// Creates an SDU without a serial number, of a packet that is not ECN-capable. `size` is below
    /// 2^30 bytes.
    #[inline]
    pub const fn new(id: PacketId, size: u32) -> Sdu {
        debug_assert!(size < 1 << SIZE_BITS);
        Sdu { serial: 0, id, size_and_ecn: SizeAndEcn(size) }
    }
    /// The SDU of a decoder of bytes, of which only the size is known.
    pub fn anonymous() -> Sdu {
        Sdu { serial: u64::MAX, ..Sdu::new(PacketId::from_index(0), 0) }
    }
    /// Size at this layer, in bytes.
    #[inline]
    pub const fn size(&self) -> u32 {
        self.size_and_ecn.0 & ((1 << SIZE_BITS) - 1)
    }
    /// ECN codepoint of the IP packet inside: a queue may mark it if it is ECT.
    #[inline]
    pub const fn ecn(&self) -> Ecn {
        Ecn::from_bits((self.size_and_ecn.0 >> SIZE_BITS) as u8)
    }
    /// This SDU with `size` bytes, below 2^30.
    #[inline]
    #[must_use]
    pub const fn with_size(self, size: u32) -> Sdu {
        debug_assert!(size < 1 << SIZE_BITS);
        let ecn = self.size_and_ecn.0 >> SIZE_BITS << SIZE_BITS;
        Sdu { size_and_ecn: SizeAndEcn(ecn | size), ..self }
    }
    /// This SDU with the codepoint `ecn`.
    #[inline]
    #[must_use]
    pub const fn with_ecn(self, ecn: Ecn) -> Sdu {
        Sdu { size_and_ecn: SizeAndEcn(self.size() | (ecn as u32) << SIZE_BITS), ..self }
    }
    /// False for an SDU that was read from bytes.
    pub const fn is_known(&self) -> bool {
        self.serial != u64::MAX
    }
}

impl std::fmt::Debug for Sdu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Sdu { serial, id, .. } = *self;
        let (size, ecn) = (self.size(), self.ecn());
        write!(f, "Sdu {{ serial: {serial}, id: {id:?}, size: {size}, ecn: {ecn:?} }}")
    }
}

/// An end of a bearer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum End {
    /// The network's (UMTS: the RNC's) end.
    Network,
    /// The terminal's end.
    Ue,
}

impl End {
    /// 0 for the network, 1 for the terminal.
    pub const fn index(self) -> usize {
        self as usize
    }
    /// The other end.
    pub const fn peer(self) -> End {
        match self {
            End::Network => End::Ue,
            End::Ue => End::Network,
        }
    }
    /// The direction in which this end sends.
    pub const fn sends(self) -> Direction {
        match self {
            End::Network => Direction::Downlink,
            End::Ue => Direction::Uplink,
        }
    }
}

/// A direction of a bearer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From the network to the terminal.
    Downlink,
    /// From the terminal to the network.
    Uplink,
}

impl Direction {
    /// 0 for the downlink, 1 for the uplink.
    pub const fn index(self) -> usize {
        self as usize
    }
    /// The end that sends.
    pub const fn sender(self) -> End {
        match self {
            Direction::Downlink => End::Network,
            Direction::Uplink => End::Ue,
        }
    }
    /// Both directions, downlink first.
    pub const BOTH: [Direction; 2] = [Direction::Downlink, Direction::Uplink];
    /// The name in result tables.
    pub const fn name(self) -> &'static str {
        match self {
            Direction::Downlink => "downlink",
            Direction::Uplink => "uplink",
        }
    }
}

/// The cause for which an SDU left without being delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropCause {
    /// The transmission buffer was full.
    BufferFull,
    /// Active queue management dropped it.
    Aqm,
    /// It waited longer than the discard timer allows (TS 25.322 clause 9.7.3.1, TS 36.323 clause
    /// 5.4).
    DiscardTimer,
    /// One of its PDUs was sent MaxDAT times (TS 25.322 clause 9.7.3.3).
    MaxDat,
    /// The RLC entity was reset while the SDU was in transmission (TS 25.322 clause 11.4).
    RlcReset,
    /// The reset procedure failed: the radio link is lost and the bearer was re-established.
    RadioLinkFailure,
    /// A PDU was lost and the mode does not retransmit (UM, TM).
    RadioLoss,
    /// It does not fit into a transport block and the mode does not segment (TM).
    TooLarge,
    /// It has no byte, and there is no PDU for an empty SDU.
    Empty,
    /// The entity was re-established while the SDU was in it (TS 36.322 clause 5.4).
    Reestablishment,
    /// Header decompression had lost its context (TS 36.323 clause 5.5).
    ContextLoss,
    /// The receiver deciphered with a wrong COUNT (TS 36.323 clause 5.1.1, note).
    HfnDesync,
    /// The bearer was released with the SDU inside.
    Released,
    /// A mode switch between sidelink and infrastructure dropped it.
    ModeSwitch,
    /// PDCP's buffer was full.
    PdcpBufferFull,
    /// A seamless handover discards the SDUs that were handed to RLC (TS 36.323 clause 5.2.1.2),
    /// and one without forwarding all SDUs of the source.
    HandoverDiscard,
    /// It arrived at a cell that the UE had left and that forwards nothing.
    NotForwarded,
    /// A backhaul pipe (S1 or X2) was full.
    BackhaulFull,
}

impl DropCause {
    /// The name in result tables.
    pub const fn name(self) -> &'static str {
        match self {
            DropCause::BufferFull => "rlc-buffer-full",
            DropCause::DiscardTimer => "rlc-discard-timer",
            DropCause::MaxDat => "rlc-max-dat",
            DropCause::RlcReset => "rlc-reset",
            DropCause::RadioLinkFailure => "radio-link-failure",
            DropCause::RadioLoss => "radio-loss",
            DropCause::TooLarge => "rlc-too-large",
            DropCause::Aqm => "rlc-aqm",
            DropCause::Empty => "rlc-empty",
            DropCause::Reestablishment => "rlc-reestablishment",
            DropCause::ContextLoss => "pdcp-context-loss",
            DropCause::HfnDesync => "pdcp-hfn-desync",
            DropCause::Released => "bearer-released",
            DropCause::ModeSwitch => "mode-switch",
            DropCause::PdcpBufferFull => "pdcp-buffer-full",
            DropCause::HandoverDiscard => "handover-discard",
            DropCause::NotForwarded => "handover-not-forwarded",
            DropCause::BackhaulFull => "backhaul-full",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_and_codepoint_are_independent() {
        for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
            for size in [0, 1500, (1 << SIZE_BITS) - 1] {
                let sdu = Sdu::new(PacketId::from_index(4), 7).with_ecn(ecn).with_size(size);
                assert_eq!((sdu.size(), sdu.ecn(), sdu.with_ecn(Ecn::Ce).size()), (size, ecn, size));
                let text = format!("Sdu {{ serial: 0, id: PacketId(4), size: {size}, ecn: {ecn:?} }}");
                assert_eq!(format!("{sdu:?}"), text);
            }
        }
    }
}
