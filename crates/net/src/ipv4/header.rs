//! The IPv4 header as bytes (RFC 791 §3.1).

use std::net::Ipv4Addr;

use thiserror::Error;

use super::{Fragment, HEADER_SIZE};
use crate::Ecn;

/// An IPv4 header. Options are skipped when decoding and never written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv4Header {
    /// Differentiated services code point, 0 to 63 (RFC 2474).
    pub dscp: u8,
    /// ECN codepoint.
    pub ecn: Ecn,
    /// Total length with header [bytes].
    pub total_length: u16,
    /// Identification: the same in all fragments of a packet.
    pub identification: u16,
    /// The DF flag.
    pub dont_fragment: bool,
    /// The MF flag.
    pub more_fragments: bool,
    /// Offset of the fragment [bytes], a multiple of 8 up to 65 528.
    pub fragment_offset: u16,
    /// Time to live [hops].
    pub ttl: u8,
    /// Protocol of the payload: 6 TCP, 17 UDP.
    pub protocol: u8,
    /// Source address.
    pub src: Ipv4Addr,
    /// Destination address.
    pub dst: Ipv4Addr,
}

/// Reasons why bytes are not an IPv4 or UDP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum HeaderError {
    /// Fewer bytes than the header's length field.
    #[error("the header is cut off: {need} bytes needed, {have} there")]
    Truncated {
        /// Bytes that are needed.
        need: usize,
        /// Bytes that are there.
        have: usize,
    },
    /// Another version than 4.
    #[error("version {0} is not IPv4")]
    Version(u8),
    /// A length field that contradicts itself.
    #[error("the length field {0} is below the size of the header")]
    Length(u16),
    /// The checksum is wrong.
    #[error("the checksum is wrong")]
    Checksum,
}

impl Ipv4Header {
    /// The twenty bytes, checksum included. DSCP and offset beyond their fields are cut to them.
    pub fn encode(&self) -> [u8; HEADER_SIZE as usize] {
        let mut b = [0; HEADER_SIZE as usize];
        b[0] = 0x45;
        b[1] = self.dscp << 2 | self.ecn as u8;
        b[2..4].copy_from_slice(&self.total_length.to_be_bytes());
        b[4..6].copy_from_slice(&self.identification.to_be_bytes());
        let flags = u16::from(self.dont_fragment) << 14 | u16::from(self.more_fragments) << 13;
        b[6..8].copy_from_slice(&(flags | (self.fragment_offset / 8)).to_be_bytes());
        b[8] = self.ttl;
        b[9] = self.protocol;
        b[12..16].copy_from_slice(&self.src.octets());
        b[16..20].copy_from_slice(&self.dst.octets());
        let sum = checksum(&b);
        b[10..12].copy_from_slice(&sum.to_be_bytes());
        b
    }

    /// The header at the start of `bytes`, and how many bytes it has (20 to 60, options included).
    ///
    /// # Errors
    /// If it is cut off, of another version, contradicts itself or fails its checksum.
    pub fn decode(bytes: &[u8]) -> Result<(Ipv4Header, usize), HeaderError> {
        let have = bytes.len();
        let need = HEADER_SIZE as usize;
        let fixed: &[u8; HEADER_SIZE as usize] =
            bytes.first_chunk().ok_or(HeaderError::Truncated { need, have })?;
        if fixed[0] >> 4 != 4 {
            return Err(HeaderError::Version(fixed[0] >> 4));
        }
        let size = usize::from(fixed[0] & 15) * 4;
        if size < need {
            return Err(HeaderError::Length(size as u16));
        }
        let all = bytes.get(..size).ok_or(HeaderError::Truncated { need: size, have })?;
        if checksum(all) != 0 {
            return Err(HeaderError::Checksum);
        }
        let word = |i: usize| u16::from_be_bytes([fixed[i], fixed[i + 1]]);
        let address = |i: usize| Ipv4Addr::new(fixed[i], fixed[i + 1], fixed[i + 2], fixed[i + 3]);
        if usize::from(word(2)) < size {
            return Err(HeaderError::Length(word(2)));
        }
        let header = Ipv4Header {
            dscp: fixed[1] >> 2,
            ecn: Ecn::from_bits(fixed[1]),
            total_length: word(2),
            identification: word(4),
            dont_fragment: fixed[6] & 0x40 != 0,
            more_fragments: fixed[6] & 0x20 != 0,
            fragment_offset: (word(6) & 0x1fff) * 8,
            ttl: fixed[8],
            protocol: fixed[9],
            src: address(12),
            dst: address(16),
        };
        Ok((header, size))
    }

    /// Sets the fields that identify the part of a packet.
    pub fn with_fragment(mut self, fragment: Fragment) -> Ipv4Header {
        self.total_length = fragment.size() as u16;
        self.fragment_offset = fragment.offset as u16;
        self.more_fragments = fragment.more;
        self
    }
}

/// The Internet checksum (RFC 1071) of `bytes`; an odd last byte is padded with zero. Over bytes
/// that contain their own checksum it is 0.
pub fn checksum(bytes: &[u8]) -> u16 {
    checksum_of_parts(&[bytes])
}

/// The Internet checksum of `parts` one after the other; every part but the last has an even
/// length.
pub fn checksum_of_parts(parts: &[&[u8]]) -> u16 {
    let mut sum: u64 = 0;
    for part in parts {
        let (pairs, odd) = part.as_chunks::<2>();
        sum += pairs.iter().map(|p| u64::from(u16::from_be_bytes(*p))).sum::<u64>();
        sum += odd.iter().map(|b| u64::from(*b) << 8).sum::<u64>();
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_header() -> impl Strategy<Value = Ipv4Header> {
        let flags = (any::<bool>(), any::<bool>(), 0u16..8192);
        (0u8..64, 0u8..4, 20u16.., any::<u16>(), flags, any::<[u8; 2]>(), any::<[u32; 2]>()).prop_map(
            |(dscp, ecn, total_length, identification, (df, mf, offset), [ttl, protocol], [src, dst])| {
                Ipv4Header {
                    dscp,
                    ecn: Ecn::from_bits(ecn),
                    total_length,
                    identification,
                    dont_fragment: df,
                    more_fragments: mf,
                    fragment_offset: offset * 8,
                    ttl,
                    protocol,
                    src: src.into(),
                    dst: dst.into(),
                }
            },
        )
    }

    /// RFC 1071 §3's example: 00 01 f2 03 f4 f5 f6 f7 sums to ddf2, its complement is 220d.
    #[test]
    fn the_checksum_is_that_of_rfc_1071() {
        assert_eq!(checksum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), 0x220d);
    }

    /// A header worked out by hand: 192.168.0.1 to 192.168.0.199, UDP, 115 bytes, DF, TTL 64. Its
    /// words sum to 0x4500 + 0x0073 + 0x4000 + 0x4011 + 0xc0a8 + 0x0001 + 0xc0a8 + 0x00c7 =
    /// 0x2479c, folded 0x479e, complement 0xb861.
    #[test]
    fn a_known_header_has_its_known_checksum() {
        let header = Ipv4Header {
            dscp: 0,
            ecn: Ecn::NotEct,
            total_length: 115,
            identification: 0,
            dont_fragment: true,
            more_fragments: false,
            fragment_offset: 0,
            ttl: 64,
            protocol: 17,
            src: Ipv4Addr::new(192, 168, 0, 1),
            dst: Ipv4Addr::new(192, 168, 0, 199),
        };
        assert_eq!(header.encode()[10..12], [0xb8, 0x61]);
    }

    proptest! {
        #[test]
        fn headers_survive_the_round_trip(header in any_header()) {
            prop_assert_eq!(Ipv4Header::decode(&header.encode()), Ok((header, 20)));
        }

        #[test]
        fn one_flipped_bit_is_noticed(header in any_header(), bit in 0usize..160) {
            let mut bytes = header.encode();
            bytes[bit / 8] ^= 1 << (bit % 8);
            // Bit 15 of the flags is reserved but summed too.
            prop_assert!(Ipv4Header::decode(&bytes).is_err());
        }

        #[test]
        fn any_bytes_are_a_header_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let _ = Ipv4Header::decode(&bytes);
        }
    }
}
