//! UDP (RFC 768): the datagram's descriptor and its header as bytes.

use std::net::Ipv4Addr;

use crate::ipv4::{HEADER_SIZE, HeaderError, checksum_of_parts};

/// Bytes of a UDP header.
pub const UDP_HEADER_SIZE: u32 = 8;
/// Most payload of a datagram over IPv4 [bytes]: 65 535 - 20 - 8.
pub const MAX_DATAGRAM: u32 = 65_507;
/// The protocol number of UDP in an IPv4 header.
pub const UDP_PROTOCOL: u8 = 17;

/// A datagram as a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Bytes of payload, up to [`MAX_DATAGRAM`].
    pub len: u32,
}

impl Datagram {
    /// Total length of the IP packet that carries it [bytes].
    pub const fn ip_size(&self) -> u32 {
        HEADER_SIZE + UDP_HEADER_SIZE + self.len
    }

    /// The header's eight bytes for `payload`, checksum over the pseudo-header included (RFC 768: a
    /// sum of zero is sent as ffff).
    pub fn encode(&self, src: Ipv4Addr, dst: Ipv4Addr, payload: &[u8]) -> [u8; UDP_HEADER_SIZE as usize] {
        let length = (UDP_HEADER_SIZE + self.len) as u16;
        let mut b = [0; UDP_HEADER_SIZE as usize];
        b[0..2].copy_from_slice(&self.src_port.to_be_bytes());
        b[2..4].copy_from_slice(&self.dst_port.to_be_bytes());
        b[4..6].copy_from_slice(&length.to_be_bytes());
        let sum = match checksum_of_parts(&[&pseudo_header(src, dst, length), &b, payload]) {
            0 => 0xffff,
            sum => sum,
        };
        b[6..8].copy_from_slice(&sum.to_be_bytes());
        b
    }

    /// The datagram at the start of `bytes` (header and payload). A checksum of zero means none was
    /// sent.
    ///
    /// # Errors
    /// If it is cut off, its length contradicts itself or its checksum fails.
    pub fn decode(bytes: &[u8], src: Ipv4Addr, dst: Ipv4Addr) -> Result<Datagram, HeaderError> {
        let need = UDP_HEADER_SIZE as usize;
        let header: &[u8; UDP_HEADER_SIZE as usize] =
            bytes.first_chunk().ok_or(HeaderError::Truncated { need, have: bytes.len() })?;
        let word = |i: usize| u16::from_be_bytes([header[i], header[i + 1]]);
        let length = word(4);
        if u32::from(length) < UDP_HEADER_SIZE {
            return Err(HeaderError::Length(length));
        }
        let need = usize::from(length);
        let all = bytes.get(..need).ok_or(HeaderError::Truncated { need, have: bytes.len() })?;
        if word(6) != 0 && checksum_of_parts(&[&pseudo_header(src, dst, length), all]) != 0 {
            return Err(HeaderError::Checksum);
        }
        Ok(Datagram { src_port: word(0), dst_port: word(2), len: u32::from(length) - UDP_HEADER_SIZE })
    }
}

fn pseudo_header(src: Ipv4Addr, dst: Ipv4Addr, length: u16) -> [u8; 12] {
    let mut b = [0; 12];
    b[0..4].copy_from_slice(&src.octets());
    b[4..8].copy_from_slice(&dst.octets());
    b[9] = UDP_PROTOCOL;
    b[10..12].copy_from_slice(&length.to_be_bytes());
    b
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_full_ethernet_frame_carries_1472_bytes() {
        assert_eq!(Datagram { src_port: 1, dst_port: 2, len: 1472 }.ip_size(), 1500);
        assert_eq!(Datagram { src_port: 1, dst_port: 2, len: MAX_DATAGRAM }.ip_size(), 65_535);
    }

    proptest! {
        #[test]
        fn datagrams_survive_the_round_trip(
            ports in any::<[u16; 2]>(),
            payload in proptest::collection::vec(any::<u8>(), 0..200),
            addresses in any::<[u32; 2]>(),
            flip in any::<u16>(),
        ) {
            let d = Datagram { src_port: ports[0], dst_port: ports[1], len: payload.len() as u32 };
            let (src, dst) = (addresses[0].into(), addresses[1].into());
            let mut bytes = d.encode(src, dst, &payload).to_vec();
            bytes.extend_from_slice(&payload);
            prop_assert_eq!(Datagram::decode(&bytes, src, dst), Ok(d));
            // Any flipped bit of the payload is noticed.
            if !payload.is_empty() {
                let bit = usize::from(flip) % (payload.len() * 8);
                bytes[8 + bit / 8] ^= 1 << (bit % 8);
                prop_assert_eq!(Datagram::decode(&bytes, src, dst), Err(HeaderError::Checksum));
            }
        }

        #[test]
        fn any_bytes_are_a_datagram_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let _ = Datagram::decode(&bytes, 1.into(), 2.into());
        }
    }
}
