//! The changes that a router makes in a packet that it forwards.

use lasthop_units::Ecn;

/// The packet gets this codepoint; in IPv4 the checksum of the header follows it.
pub fn set_ecn(packet: &mut [u8], ecn: Ecn) {
    match packet.first().map(|b| b >> 4) {
        Some(4) if packet.len() >= 12 => {
            let value = packet[1] & !3 | ecn as u8;
            change_v4(packet, 1, value);
        }
        // The traffic class begins in the first octet; its two low bits are bits 5 and 4 of the
        // second (RFC 8200 section 3).
        Some(6) if packet.len() >= 2 => packet[1] = packet[1] & !0x30 | (ecn as u8) << 4,
        _ => {}
    }
}

/// The packet has passed a number of routers: reduces TTL or hop limit by this number, and updates
/// the checksum of an IPv4 header. TTL or hop limit must be at least this number.
pub fn lower_hop_limit(packet: &mut [u8], routers: u8) {
    match packet.first().map(|b| b >> 4) {
        Some(4) if packet.len() >= 12 => {
            let value = packet[8].saturating_sub(routers);
            change_v4(packet, 8, value);
        }
        Some(6) if packet.len() >= 8 => packet[7] = packet[7].saturating_sub(routers),
        _ => {}
    }
}

/// An octet of an IPv4 header becomes `value`. The checksum is updated as RFC 1624 section 3 says,
/// HC' = ~(~HC + ~m + m'), with the 16-bit word m that contains the octet. A checksum that was
/// wrong stays wrong.
pub(super) fn change_v4(packet: &mut [u8], at: usize, value: u8) {
    let word = |p: &[u8], at: usize| u16::from_be_bytes([p[at], p[at + 1]]);
    let before = word(packet, at & !1);
    packet[at] = value;
    let after = word(packet, at & !1);
    let mut sum = u32::from(!word(packet, 10)) + u32::from(!before) + u32::from(after);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    packet[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}
