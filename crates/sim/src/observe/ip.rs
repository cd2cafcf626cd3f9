//! The first bytes of IP packets, made from their descriptors.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};

use lasthop_net::ip::set_ecn;
use lasthop_net::ipv4::{Fragment, HEADER_SIZE, Ipv4Header};
use lasthop_net::udp::{Datagram, UDP_PROTOCOL};
use lasthop_units::{FlowId, Id, NodeId};

use super::Packet;
use crate::event::End;
use crate::transport::{Payload, receiver};

/// The Ethernet type of IPv6 (RFC 2464 section 3).
pub const TYPE_IPV6: [u8; 2] = [0x86, 0xdd];
/// The protocol number of TCP in an IPv4 header.
const TCP_PROTOCOL: u8 = 6;
/// The simulator counts no hops: Linux's first value, at every place.
const TTL: u8 = 64;

/// The first port of ends A, and how many there are: of the dynamic ports (RFC 6335 section 6), for
/// which no protocol is registered. Wireshark 4.0 assigns only one of them, 54328, to a protocol.
const CLIENT_PORTS: (u16, usize) = (49_152, 5_000);
/// The port of the ends B of as many flows as there are ports of ends A; the next ones have the
/// next port.
const SERVER_PORT: u16 = 55_000;

/// The address of a node: 10.0.0.1 and on, in the order in which the scenario names nodes.
pub fn address(node: NodeId) -> Ipv4Addr {
    let number = (node.index() as u32 + 1) & 0x00ff_ffff;
    Ipv4Addr::from_bits(0x0a00_0000 | number)
}

/// The IPv6 address of a node: fd6c:6173:7468:6f70::1 and on (a unique local prefix, RFC 4193).
pub fn address6(node: NodeId) -> Ipv6Addr {
    Ipv6Addr::from_bits(0xfd6c_6173_7468_6f70_u128 << 64 | (node.index() as u128 + 1))
}

/// The first octets of real packets, by the number of the packet.
pub type RealHeads = BTreeMap<u64, Box<[u8]>>;

/// The port of an end of a flow.
fn port(flow: FlowId, end: End) -> u16 {
    let (first, count) = CLIENT_PORTS;
    match end {
        End::A => first + (flow.index() % count) as u16,
        End::B => SERVER_PORT + (flow.index() / count) as u16,
    }
}

/// Appends the first octets of a real packet; nothing for a fragment that is not the first one,
/// whose octets are zeros. The codepoint is the packet's present one.
fn real_head(out: &mut Vec<u8>, packet: &Packet, real: &RealHeads) {
    let Some(head) = real.get(&packet.serial) else { return };
    if packet.fragment.is_some_and(|part| part.offset > 0) {
        return;
    }
    out.extend_from_slice(head);
    set_ecn(out, packet.ecn);
}

/// Largest number of header octets: IPv4 without options, and TCP with all of its options.
pub const MAX_HEAD: usize = HEADER_SIZE as usize + 60;

/// Appends the headers of a packet, or those of a fragment: all octets after them are zeros.
pub fn head(out: &mut Vec<u8>, packet: &Packet, real: &RealHeads) {
    let payload = &packet.payload;
    if let Payload::Real(..) = payload {
        return real_head(out, packet, real);
    }
    let whole = Ipv4Header {
        dscp: 0,
        ecn: packet.ecn,
        total_length: packet.size as u16,
        identification: packet.serial as u16,
        dont_fragment: packet.dont_fragment,
        more_fragments: false,
        fragment_offset: 0,
        ttl: TTL,
        protocol: match payload {
            Payload::Tcp(..) => TCP_PROTOCOL,
            Payload::Udp(..) | Payload::Real(..) => UDP_PROTOCOL,
        },
        src: address(packet.src),
        dst: address(packet.dst),
    };
    let header = packet.fragment.map_or(whole, |part| whole.with_fragment(part));
    out.extend_from_slice(&header.encode());
    let start = out.len();
    let to = receiver(packet);
    let ports = [port(packet.flow, to.other()), port(packet.flow, to)];
    match payload {
        Payload::Tcp(segment) => {
            segment.encode_header(out, ports, [header.src.into(), header.dst.into()]);
        }
        Payload::Udp(message) => {
            let datagram = Datagram { src_port: ports[0], dst_port: ports[1], len: message.size };
            out.extend_from_slice(&datagram.encode(header.src, header.dst, &[]));
        }
        Payload::Real(..) => {}
    }
    if let Some(Fragment { offset, len, .. }) = packet.fragment {
        let transport = out.len() - start;
        out.drain(start..start + transport.min(offset as usize));
        out.truncate(start + len as usize);
    }
    debug_assert!(out.len() - start + HEADER_SIZE as usize <= MAX_HEAD);
}
