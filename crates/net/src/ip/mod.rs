//! Octets of real IP packets: the fields that a router reads and changes, and its answers.
//!
//! A simulated packet is a descriptor and has no octets. A real one that passes a simulated network
//! is read here when it enters, and changed when it leaves: ECN codepoint, hop limit, checksum.

mod icmp;
mod rewrite;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use lasthop_units::Ecn;

pub use icmp::{Trouble, answer, echo_reply};
pub use rewrite::{lower_hop_limit, set_ecn};

/// The fields of a packet that a router reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Source address.
    pub src: IpAddr,
    /// Destination address.
    pub dst: IpAddr,
    /// Protocol of the payload (IANA's number), after the IP header and IPv6's extension headers.
    pub protocol: u8,
    /// Ports of TCP, UDP, DCCP, SCTP and UDP-Lite; 0 where the protocol has none and in fragments.
    pub ports: [u16; 2],
    /// ECN codepoint.
    pub ecn: Ecn,
    /// Routers must not fragment it: IPv4's flag, and every packet of IPv6 (RFC 8200 section 4.5).
    pub dont_fragment: bool,
    /// TTL or hop limit.
    pub hop_limit: u8,
    /// Length of the packet [B].
    pub len: u32,
    /// Octets behind the headers of IP and, where it is TCP or UDP, of the transport.
    pub data: u32,
    /// It is a fragment.
    pub fragment: bool,
    /// It is a fragment with an offset: the transport's header is not in it.
    pub later_fragment: bool,
    /// Of a TCP segment that is whole: its numbers.
    pub tcp: Option<TcpNumbers>,
}

/// Numbers and control bits of a TCP segment (RFC 9293 section 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpNumbers {
    /// SEG.SEQ.
    pub seq: u32,
    /// SEG.ACK.
    pub ack: u32,
    /// Control bits, low bit first: FIN, SYN, RST, PSH, ACK, URG, ECE, CWR.
    pub flags: u8,
}

/// Why octets are no packet of IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotIp {
    /// Shorter than its header's length field, or than a header.
    #[error("the packet is cut off")]
    CutOff,
    /// The version is neither 4 nor 6.
    #[error("IP version {0}")]
    Version(u8),
}

/// IPv4's header without options [B].
const V4: usize = 20;
/// IPv6's header [B].
const V6: usize = 40;
const TCP: u8 = 6;
/// TCP's header without options [B].
const TCP_HEADER: usize = 20;
/// TCP, UDP, DCCP, SCTP and UDP-Lite begin with two ports.
const WITH_PORTS: [u8; 5] = [TCP, 17, 33, 132, 136];
/// UDP's header [B].
const UDP_HEADER: usize = 8;

/// Reads the headers of a packet.
///
/// # Errors
/// The packet is neither IPv4 nor IPv6, or is truncated.
pub fn read(packet: &[u8]) -> Result<Header, NotIp> {
    match packet.first().map(|b| b >> 4) {
        Some(4) => read_v4(packet),
        Some(6) => read_v6(packet),
        Some(version) => Err(NotIp::Version(version)),
        None => Err(NotIp::CutOff),
    }
}

fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn long(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// RFC 791 section 3.1.
fn read_v4(p: &[u8]) -> Result<Header, NotIp> {
    let header = usize::from(p[0] & 0xf) * 4;
    if p.len() < V4 || header < V4 || p.len() < header || usize::from(word(p, 2)) != p.len() {
        return Err(NotIp::CutOff);
    }
    let fragment = word(p, 6);
    let later_fragment = fragment & 0x1fff != 0;
    let part = later_fragment || fragment & 0x2000 != 0;
    let address = |at: usize| IpAddr::V4(Ipv4Addr::new(p[at], p[at + 1], p[at + 2], p[at + 3]));
    let (ports, data) = transport(p[9], &p[header..], part);
    let tcp = numbers(p[9], &p[header..], part);
    Ok(Header {
        src: address(12),
        dst: address(16),
        protocol: p[9],
        ports,
        ecn: Ecn::from_bits(p[1]),
        dont_fragment: fragment & 0x4000 != 0,
        hop_limit: p[8],
        len: p.len() as u32,
        data,
        fragment: part,
        later_fragment,
        tcp,
    })
}

/// RFC 8200 sections 3 and 4.
fn read_v6(p: &[u8]) -> Result<Header, NotIp> {
    if p.len() < V6 || usize::from(word(p, 4)) + V6 != p.len() {
        return Err(NotIp::CutOff);
    }
    let address = |at: usize| {
        let mut octets = [0; 16];
        octets.copy_from_slice(&p[at..at + 16]);
        IpAddr::V6(Ipv6Addr::from(octets))
    };
    let (mut next, mut at) = (p[6], V6);
    let (mut part, mut later_fragment) = (false, false);
    // Hop-by-hop, routing and destination options have their length in units of 8 octets.
    while matches!(next, 0 | 43 | 60 | 44) && p.len() >= at + 8 && !later_fragment {
        let len = if next == 44 {
            part = true;
            later_fragment = word(p, at + 2) & 0xfff8 != 0;
            8
        } else {
            8 + usize::from(p[at + 1]) * 8
        };
        next = p[at];
        at = (at + len).min(p.len());
    }
    let (ports, data) = transport(next, &p[at..], part);
    let tcp = numbers(next, &p[at..], part);
    Ok(Header {
        src: address(8),
        dst: address(24),
        protocol: next,
        ports,
        ecn: Ecn::from_bits(p[1] >> 4),
        dont_fragment: true,
        hop_limit: p[7],
        len: p.len() as u32,
        data,
        fragment: part,
        later_fragment,
        tcp,
    })
}

/// The numbers of a TCP segment; `part`: the packet is a fragment, which has only some of its data.
fn numbers(protocol: u8, body: &[u8], part: bool) -> Option<TcpNumbers> {
    let whole = protocol == TCP && !part && body.len() >= TCP_HEADER;
    whole.then(|| TcpNumbers { seq: long(body, 4), ack: long(body, 8), flags: body[13] })
}

/// Ports and octets of data of what IP carries; `part`: it is a fragment.
fn transport(protocol: u8, body: &[u8], part: bool) -> ([u16; 2], u32) {
    if part || !WITH_PORTS.contains(&protocol) || body.len() < UDP_HEADER {
        return ([0; 2], body.len() as u32);
    }
    let header = match protocol {
        TCP => body.get(12).map_or(0, |b| usize::from(b >> 4) * 4),
        17 | 136 => UDP_HEADER,
        _ => 0,
    };
    ([word(body, 0), word(body, 2)], body.len().saturating_sub(header) as u32)
}

#[cfg(test)]
mod tests;
