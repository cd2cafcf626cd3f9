//! The descriptor of a TCP segment between two endpoints, without its bytes.
//!
//! A [`Segment`] is small: options that few segments have are apart from it. [`wire`] turns it into
//! the real header of RFC 9293, RFC 7323 and RFC 2018 for captures and emulation, and reads one
//! back.

mod accecn;
mod rare;
mod sack;
mod syn;
mod wire;

pub use accecn::AccEcn;
pub(crate) use rare::SpareOptions;
pub use rare::{Rare, RareOptions};
pub use sack::SackBlocks;
pub use syn::SynOptions;
pub use wire::{DecodeError, Decoded, checksum_is_right};

use lasthop_units::{Ecn, Seq};
use std::fmt;
use std::ops::{BitOr, BitOrAssign};

use crate::hint::Guidance;

/// The control bits of RFC 9293 section 3.1, low bit first: FIN, SYN, RST, PSH, ACK, URG, ECE, CWR.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Flags(pub u8);

impl Flags {
    /// No bit set.
    pub const NONE: Flags = Flags(0);
    /// No more data from the sender.
    pub const FIN: Flags = Flags(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: Flags = Flags(0x02);
    /// Reset the connection.
    pub const RST: Flags = Flags(0x04);
    /// Push: the last segment of data that the application wrote.
    pub const PSH: Flags = Flags(0x08);
    /// The acknowledgement field is significant.
    pub const ACK: Flags = Flags(0x10);
    /// The urgent pointer is significant (never set by us, ignored on input).
    pub const URG: Flags = Flags(0x20);
    /// ECN echo (RFC 3168).
    pub const ECE: Flags = Flags(0x40);
    /// Congestion window reduced (RFC 3168).
    pub const CWR: Flags = Flags(0x80);

    /// True when every bit of `other` is set here.
    #[inline]
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
    /// Sets the bits of `other`, or clears them.
    #[inline]
    pub const fn set(&mut self, other: Flags, on: bool) {
        self.0 = if on { self.0 | other.0 } else { self.0 & !other.0 };
    }
}

impl BitOr for Flags {
    type Output = Flags;
    fn bitor(self, o: Flags) -> Flags {
        Flags(self.0 | o.0)
    }
}
impl BitOrAssign for Flags {
    fn bitor_assign(&mut self, o: Flags) {
        self.0 |= o.0;
    }
}
impl fmt::Display for Flags {
    /// As tcpdump writes them: `S`, `F`, `R`, `P`, `.` for ACK.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (bit, letter) in
            [(1, 'F'), (2, 'S'), (4, 'R'), (8, 'P'), (16, '.'), (32, 'U'), (64, 'E'), (128, 'W')]
        {
            if self.0 & bit != 0 {
                write!(f, "{letter}")?;
            }
        }
        Ok(())
    }
}
impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Flags({self})")
    }
}

/// The timestamps option (RFC 7323 section 3.2), in ticks of the sender's timestamp clock. Packed,
/// so that a segment that may have it is no larger than it must be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(Rust, packed)]
pub struct Timestamps {
    /// TSval: the sender's clock.
    pub value: u32,
    /// TSecr: the peer's clock, echoed; 0 without the ACK bit.
    pub echo: u32,
}

/// A TCP segment without its bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Segment {
    /// SEG.SEQ: the number of the first octet, or of the SYN.
    pub seq: Seq,
    /// SEG.ACK: the next octet expected; meaningful with [`Flags::ACK`].
    pub ack: Seq,
    /// Control bits.
    pub flags: Flags,
    /// The raw window field: to be shifted by the scale negotiated, except on a SYN (RFC 7323
    /// section 2.2).
    pub window: u16,
    /// Octets of data.
    pub len: u32,
    /// The options that only a SYN carries.
    pub syn: SynOptions,
    /// Timestamps option.
    pub timestamps: Option<Timestamps>,
    /// SACK blocks and other options that few segments carry.
    pub rare: Rare,
    /// The AE bit of RFC 9768, beside CWR and ECE in [`flags`](Self::flags).
    pub accurate: bool,
    /// The ECN codepoint of the IP header that carries the segment: no part of its bytes.
    pub ecn: Ecn,
}

// Each packet in the network holds one.
const _: () = assert!(size_of::<Segment>() <= 40);

impl Segment {
    /// Octets of the header: 20 and the options, padded to a multiple of four. At most 60.
    #[inline]
    pub fn header_len(&self) -> u32 {
        20 + self.options_len()
    }

    /// Numbers that the segment occupies: data, SYN and FIN (SEG.LEN of RFC 9293 section 3.3.1).
    #[inline]
    pub fn sequence_len(&self) -> u32 {
        self.len + u32::from(self.flags.has(Flags::SYN)) + u32::from(self.flags.has(Flags::FIN))
    }

    /// Octets of header and data, which are the payload of IP.
    pub fn wire_len(&self) -> u32 {
        self.header_len() + self.len
    }

    /// True for an ACK that carries nothing else.
    pub fn is_pure_ack(&self) -> bool {
        self.flags == Flags::ACK && self.len == 0
    }

    /// How many SACK blocks fit beside the other options: the header has room for 40 octets of
    /// options.
    pub fn sack_blocks_that_fit(&self) -> usize {
        let room = 40u32.saturating_sub(self.fixed_options_len());
        let head = sack_head_len(self.rare.accecn.map(|a| a.fields()));
        (room.saturating_sub(head) / 8).min(self.rare.sack.len() as u32) as usize
    }

    /// Whether an AccECN option with `fields` counters fits beside `blocks` SACK blocks and the
    /// other options into `room` octets of options.
    pub(crate) fn accecn_fits(&self, fields: u8, blocks: usize, room: u32) -> bool {
        self.fixed_options_len() + tail_len(Some(fields), blocks) <= room.min(40)
    }

    /// Octets of the options other than SACK blocks and AccECN.
    #[inline]
    pub(crate) fn other_options_len(&self) -> u32 {
        self.fixed_options_len()
    }

    #[inline]
    fn fixed_options_len(&self) -> u32 {
        let time = if self.timestamps.is_some() { 12 } else { 0 };
        let guidance = if self.rare.guidance.is_some() { u32::from(Guidance::LEN) } else { 0 };
        let syn = if self.syn.is_empty() { 0 } else { self.syn_options_len() };
        time + guidance + syn
    }

    #[cold]
    fn syn_options_len(&self) -> u32 {
        let mss = if self.syn.mss().is_some() { 4 } else { 0 };
        let scale = if self.syn.window_scale().is_some() { 4 } else { 0 };
        // SACK-permitted rides in the two octets that pad the timestamps.
        let sack = if self.syn.sack_permitted() && self.timestamps.is_none() { 4 } else { 0 };
        mss + scale + sack
    }

    #[inline]
    fn options_len(&self) -> u32 {
        if self.rare.is_empty() {
            return self.fixed_options_len();
        }
        self.fixed_options_len() + tail_len(self.rare.accecn.map(|a| a.fields()), self.sack_blocks_that_fit())
    }
}

/// Octets of an AccECN option with so many counters and of `blocks` SACK blocks together, padded to
/// a multiple of four. The AccECN option replaces the padding before the SACK option, as in Linux
/// (net/ipv4/tcp_output.c, tcp_options_fit_accecn).
const fn tail_len(fields: Option<u8>, blocks: usize) -> u32 {
    match (fields, blocks) {
        (None, 0) => 0,
        (Some(fields), 0) => AccEcn::len_of(fields).next_multiple_of(4),
        (fields, n) => sack_head_len(fields) + 8 * n as u32,
    }
}

/// Octets before the first SACK block: kind and length, what pads them, and an AccECN option.
const fn sack_head_len(fields: Option<u8>) -> u32 {
    match fields {
        None => 4,
        Some(fields) => (AccEcn::len_of(fields) + 2).next_multiple_of(4),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_units::SeqRange;

    #[test]
    fn header_lengths_are_those_seen_in_captures() {
        let mut s = Segment { flags: Flags::ACK, ..Segment::default() };
        assert_eq!(s.header_len(), 20);
        s.timestamps = Some(Timestamps::default());
        assert_eq!(s.header_len(), 32, "20 + NOP NOP TS(10)");
        for (blocks, len) in [(1, 44), (2, 52), (3, 60)] {
            s.rare.change(|o| _ = o.sack.push(SeqRange { start: Seq(1), end: Seq(2) }));
            assert_eq!((s.rare.sack.len(), s.header_len()), (blocks, len), "32 + NOP NOP 2 + 8 n");
        }
        // A fourth block does not fit beside timestamps (RFC 2018 section 3: "a maximum of 3 SACK
        // blocks").
        s.rare.change(|o| _ = o.sack.push(SeqRange { start: Seq(1), end: Seq(2) }));
        assert_eq!(s.header_len(), 60);
        s.rare.change(|o| o.sack.truncate(1));
        s.rare.change(|o| o.guidance = Some(Guidance::new(None, None, None)));
        assert_eq!(s.header_len(), 56, "20 + 12 + 12 + NOP NOP 2 + 8");
        let syn = Segment {
            flags: Flags::SYN,
            syn: SynOptions::new(Some(1460), Some(7), true),
            timestamps: Some(Timestamps::default()),
            ..Segment::default()
        };
        assert_eq!(syn.header_len(), 40, "Linux' SYN: 20 + MSS 4 + SACK-permitted 2 + TS 10 + NOP WS 4");
        assert_eq!(syn.sequence_len(), 1);
    }

    /// The layouts of Linux: the option takes the padding of the SACK option where it can.
    #[test]
    fn the_accecn_option_shares_the_padding_of_sack_blocks() {
        let with = |fields, blocks| {
            let mut s =
                Segment { flags: Flags::ACK, timestamps: Some(Timestamps::default()), ..Segment::default() };
            s.rare.change(|o| o.accecn = Some(AccEcn::order1(fields, |_| 0)));
            for _ in 0..blocks {
                s.rare.change(|o| _ = o.sack.push(SeqRange { start: Seq(1), end: Seq(2) }));
            }
            (s.header_len(), s.sack_blocks_that_fit())
        };
        // 20 + TS 12 = 32; alone 11 -> 12, 8, 5 -> 8, 2 -> 4 octets.
        assert_eq!([with(3, 0), with(2, 0), with(1, 0), with(0, 0)], [(44, 0), (40, 0), (40, 0), (36, 0)]);
        // Before one block with its kind and length: 11 + 2 -> 16, 8 + 2 -> 12, 5 + 2 -> 8, 2 + 2 =
        // 4 octets.
        assert_eq!([with(3, 1), with(2, 1), with(1, 1), with(0, 1)], [(56, 1), (52, 1), (48, 1), (44, 1)]);
        // Two blocks leave room for two counters, three for none.
        assert_eq!([with(2, 2), with(3, 2), with(0, 3)], [(60, 2), (56, 1), (60, 3)]);
    }
}
