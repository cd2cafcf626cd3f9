//! ICMP (RFC 792, RFC 1191) and ICMPv6 (RFC 4443): the messages that a router sends to a source.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{Header, V4, V6, WITH_PORTS, read};
use crate::ipv4::{Ipv4Header, checksum, checksum_of_parts};

/// The problem with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// It is larger than this MTU [B] of the next hop and must not be cut.
    TooBig(u32),
    /// Its hop limit is used up.
    HopLimit,
    /// It is for this router, which has nothing on that port or for that protocol.
    NoListener,
    /// No route leads to its destination.
    NoRoute,
}

/// The protocol numbers of ICMP and ICMPv6; every node has these.
const ICMP: u8 = 1;
const ICMPV6: u8 = 58;
/// An error message of IPv4 is at most this long (RFC 1812 section 4.3.2.3) [B].
const MOST_V4: usize = 576;
/// One of IPv6: its minimum MTU (RFC 4443 section 2.4 c) [B].
const MOST_V6: usize = 1280;
/// The hop limit that a router's own packets begin with (Linux's default).
const HOP_LIMIT: u8 = 64;

/// The message that the router `router` sends to the source of `packet`. None where none may be
/// sent: about an ICMP error, about a fragment with an offset, and from or to a group (RFC 1122
/// section 3.2.2, RFC 4443 section 2.4 e), and about a message of ICMP that has no listener.
pub fn answer(packet: &[u8], router: (Ipv4Addr, Ipv6Addr), trouble: Trouble) -> Option<Vec<u8>> {
    let header = read(packet).ok()?;
    let listens = trouble == Trouble::NoListener && matches!(header.protocol, ICMP | ICMPV6);
    if header.later_fragment || listens || is_error(packet, &header) {
        return None;
    }
    let with_ports = WITH_PORTS.contains(&header.protocol);
    match (header.src, header.dst) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            let no_host = |a: Ipv4Addr| a.is_multicast() || a.is_broadcast() || a.is_unspecified();
            if no_host(src) || no_host(dst) {
                return None;
            }
            let (kind, code, rest) = match trouble {
                // RFC 1191 section 4: the MTU is in the low half of the unused word.
                Trouble::TooBig(mtu) => (3, 4, mtu.min(0xffff)),
                Trouble::HopLimit => (11, 0, 0),
                Trouble::NoListener => (3, if with_ports { 3 } else { 2 }, 0),
                // RFC 1812 section 5.2.7.1: network unreachable.
                Trouble::NoRoute => (3, 0, 0),
            };
            let kept = packet.len().min(MOST_V4 - V4 - 8);
            Some(v4(router.0, src, &message(kind, code, rest, &packet[..kept], &[])))
        }
        (IpAddr::V6(src), IpAddr::V6(dst)) => {
            let group = dst.is_multicast() && !matches!(trouble, Trouble::TooBig(_));
            if src.is_multicast() || src.is_unspecified() || group {
                return None;
            }
            let (kind, code, rest) = match trouble {
                Trouble::TooBig(mtu) => (2, 0, mtu),
                Trouble::HopLimit => (3, 0, 0),
                Trouble::NoListener if with_ports => (1, 4, 0),
                Trouble::NoListener => (4, 1, 6),
                // RFC 4443 section 3.1: no route to destination.
                Trouble::NoRoute => (1, 0, 0),
            };
            let kept = packet.len().min(MOST_V6 - V6 - 8);
            Some(v6(router.1, src, kind, code, rest, &packet[..kept]))
        }
        _ => None,
    }
}

/// The answer of the host to which `packet` is sent if that is an echo request ("ping"). None where
/// it is a fragment: the request is not whole.
pub fn echo_reply(packet: &[u8]) -> Option<Vec<u8>> {
    let header = read(packet).ok().filter(|header| !header.fragment)?;
    let body = body_of(packet, &header)?;
    let rest = u32::from_be_bytes([*body.get(4)?, *body.get(5)?, *body.get(6)?, *body.get(7)?]);
    match (header.src, header.dst, header.protocol, body[0]) {
        (IpAddr::V4(src), IpAddr::V4(dst), ICMP, 8) => {
            Some(v4(dst, src, &message(0, 0, rest, &body[8..], &[])))
        }
        (IpAddr::V6(src), IpAddr::V6(dst), ICMPV6, 128) => Some(v6(dst, src, 129, 0, rest, &body[8..])),
        _ => None,
    }
}

/// What follows the headers of IP in a packet of a protocol without ports.
fn body_of<'a>(packet: &'a [u8], header: &Header) -> Option<&'a [u8]> {
    if WITH_PORTS.contains(&header.protocol) || header.later_fragment {
        return None;
    }
    packet.get(packet.len().checked_sub(header.data as usize)?..)
}

/// ICMP errors: all types of IPv4's but those of queries (RFC 1122 section 3.2.2), and below 128 in
/// IPv6 (RFC 4443 section 2.1).
fn is_error(packet: &[u8], header: &Header) -> bool {
    let kind = body_of(packet, header).and_then(|body| body.first().copied());
    match (header.protocol, kind) {
        (ICMP, Some(kind)) => !matches!(kind, 0 | 8 | 9 | 10 | 13..=18),
        (ICMPV6, Some(kind)) => kind < 128,
        _ => false,
    }
}

/// A message with its checksum, which also covers `pseudo`.
fn message(kind: u8, code: u8, rest: u32, data: &[u8], pseudo: &[u8]) -> Vec<u8> {
    let mut out = vec![kind, code, 0, 0];
    out.extend_from_slice(&rest.to_be_bytes());
    out.extend_from_slice(data);
    let sum = checksum_of_parts(&[pseudo, &out]);
    out[2..4].copy_from_slice(&sum.to_be_bytes());
    out
}

fn v4(src: Ipv4Addr, dst: Ipv4Addr, body: &[u8]) -> Vec<u8> {
    let header = Ipv4Header {
        dscp: 0,
        ecn: lasthop_units::Ecn::NotEct,
        total_length: (V4 + body.len()) as u16,
        identification: 0,
        dont_fragment: true,
        more_fragments: false,
        fragment_offset: 0,
        ttl: HOP_LIMIT,
        protocol: ICMP,
        src,
        dst,
    };
    let mut out = header.encode().to_vec();
    debug_assert_eq!(checksum(&out), 0);
    out.extend_from_slice(body);
    out
}

fn v6(src: Ipv6Addr, dst: Ipv6Addr, kind: u8, code: u8, rest: u32, data: &[u8]) -> Vec<u8> {
    let len = (8 + data.len()) as u32;
    // RFC 8200 section 8.1: addresses, length, next header.
    let mut pseudo = [src.octets(), dst.octets()].concat();
    pseudo.extend_from_slice(&len.to_be_bytes());
    pseudo.extend_from_slice(&[0, 0, 0, ICMPV6]);
    let mut out = vec![0x60, 0, 0, 0];
    out.extend_from_slice(&(len as u16).to_be_bytes());
    out.extend_from_slice(&[ICMPV6, HOP_LIMIT]);
    out.extend_from_slice(&src.octets());
    out.extend_from_slice(&dst.octets());
    out.extend_from_slice(&message(kind, code, rest, data, &pseudo));
    out
}
