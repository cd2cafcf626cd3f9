//! Rewriting against RFC 1071 and RFC 1624; answers against RFC 792, 1122, 1191, 1812, 4443.

use std::net::{Ipv4Addr, Ipv6Addr};

use lasthop_units::Ecn;
use proptest::prelude::*;

use super::rewrite::change_v4;
use super::*;
use crate::ipv4::{checksum, checksum_of_parts};

const ROUTER: (Ipv4Addr, Ipv6Addr) = (Ipv4Addr::new(10, 0, 0, 9), Ipv6Addr::new(0xfd6c, 0, 0, 0, 0, 0, 0, 9));

/// An IPv4 packet with a right checksum.
fn v4(tos: u8, ttl: u8, fragment: u16, protocol: u8, body: &[u8]) -> Vec<u8> {
    let mut p = vec![0x45, tos];
    p.extend_from_slice(&((20 + body.len()) as u16).to_be_bytes());
    p.extend_from_slice(&[0x12, 0x34]);
    p.extend_from_slice(&fragment.to_be_bytes());
    p.extend_from_slice(&[ttl, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 3]);
    let sum = checksum(&p);
    p[10..12].copy_from_slice(&sum.to_be_bytes());
    p.extend_from_slice(body);
    p
}

fn v6(class: u8, hops: u8, next: u8, body: &[u8]) -> Vec<u8> {
    let mut p = vec![0x60 | class >> 4, class << 4, 0, 0];
    p.extend_from_slice(&(body.len() as u16).to_be_bytes());
    p.extend_from_slice(&[next, hops]);
    for last in [1, 3] {
        p.extend_from_slice(&Ipv6Addr::new(0xfd6c, 0, 0, 0, 0, 0, 0, last).octets());
    }
    p.extend_from_slice(body);
    p
}

/// The example of RFC 1624 section 4: checksum 0xdd2f, a word that changes from 0x5555 to 0x3285.
/// ~(0x22d0 + 0xaaaa + 0x3285) = ~0xffff = 0x0000; RFC 1141's formula gave 0xffff.
#[test]
fn the_checksum_follows_as_in_rfc_1624() {
    let mut p = vec![0x45; 20];
    p[8..12].copy_from_slice(&[0x55, 0x55, 0xdd, 0x2f]);
    change_v4(&mut p, 8, 0x32);
    change_v4(&mut p, 9, 0x85);
    assert_eq!(p[8..12], [0x32, 0x85, 0, 0]);
}

/// RFC 9293 section 3.1: octets 4 to 7 are the sequence number, 8 to 11 the acknowledgement, 13 the
/// control bits. A fragment has no numbers: only the whole segment does.
#[test]
fn a_segment_shows_its_numbers() {
    let mut body = [0; 24];
    body[4..8].copy_from_slice(&0xdead_beef_u32.to_be_bytes());
    body[8..12].copy_from_slice(&7_u32.to_be_bytes());
    body[12..14].copy_from_slice(&[0x50, 0x11]);
    let numbers = Some(TcpNumbers { seq: 0xdead_beef, ack: 7, flags: 0x11 });
    let of = |p: Vec<u8>| read(&p).unwrap().tcp;
    assert_eq!(of(v4(0, 64, 0x4000, 6, &body)), numbers);
    assert_eq!(of(v6(0, 64, 6, &body)), numbers);
    assert_eq!(of(v4(0, 64, 0x2000, 6, &body)), None, "the first of several fragments");
    assert_eq!(of(v4(0, 64, 0, 17, &body)), None, "no TCP");
    assert_eq!(of(v4(0, 64, 0, 6, &body[..19])), None, "cut off");
}

#[test]
fn marks_of_ipv6_are_in_its_traffic_class_and_leave_the_flow_label() {
    // DSCP 46 (0xb8), ECT(0): class 0xba. RFC 8200 section 3: version, class, flow label.
    let mut p = v6(0xba, 64, 17, &[0; 8]);
    p[1] |= 0x0f;
    assert_eq!(read(&p).unwrap().ecn, Ecn::Ect0);
    set_ecn(&mut p, Ecn::Ce);
    assert_eq!(p[..2], [0x6b, 0xbf]);
    assert_eq!(read(&p).unwrap().ecn, Ecn::Ce);
}

#[test]
fn a_packet_too_big_is_answered_with_its_mtu_and_its_beginning() {
    let p = v4(0, 64, 0x4000, 17, &[7; 1480]);
    let m = answer(&p, ROUTER, Trouble::TooBig(1400)).unwrap();
    // RFC 1812 section 4.3.2.3: at most 576 octets; RFC 1191: type 3, code 4, MTU in octets 6 and
    // 7.
    assert_eq!((m.len(), checksum(&m[..20]), checksum(&m[20..])), (576, 0, 0));
    assert_eq!(m[20..22], [3, 4]);
    assert_eq!(m[24..28], [0, 0, 0x05, 0x78]);
    assert_eq!(m[28..], p[..548]);
    let h = read(&m).unwrap();
    assert_eq!((h.src, h.dst), (IpAddr::V4(ROUTER.0), IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1))));

    let p = v6(0, 64, 17, &[7; 1460]);
    let m = answer(&p, ROUTER, Trouble::TooBig(1400)).unwrap();
    assert_eq!((m.len(), &m[40..42], &m[44..48]), (1280, &[2, 0][..], &1400_u32.to_be_bytes()[..]));
    let pseudo = [&m[8..40], &1240_u32.to_be_bytes(), &[0, 0, 0, 58]].concat();
    assert_eq!(checksum_of_parts(&[&pseudo, &m[40..]]), 0);
}

/// RFC 1122 section 3.2.2: no error about an error, about later fragments, to groups.
#[test]
fn there_is_no_error_about_an_error() {
    let hop_limit = |p: &[u8]| answer(p, ROUTER, Trouble::HopLimit);
    assert!(hop_limit(&v4(0, 1, 0, 1, &[8, 0, 0, 0, 0, 1, 0, 1])).is_some(), "about an echo request");
    assert!(hop_limit(&v4(0, 1, 0, 1, &[3, 4, 0, 0, 0, 0, 0, 0])).is_none());
    assert!(hop_limit(&v4(0, 1, 0, 1, &[11, 0, 0, 0, 0, 0, 0, 0])).is_none());
    assert!(hop_limit(&v4(0, 1, 0x2001, 17, &[0; 8])).is_none());
    assert!(hop_limit(&v6(0, 1, 58, &[1, 0, 0, 0, 0, 0, 0, 0])).is_none());
    assert!(hop_limit(&v6(0, 1, 58, &[128, 0, 0, 0, 0, 0, 0, 0])).is_some());
}

#[test]
fn an_echo_request_is_answered_with_its_own_data() {
    let p = v4(0, 64, 0, 1, &[8, 0, 0, 0, 0xab, 0xcd, 0, 1, 5, 6, 7]);
    let m = echo_reply(&p).unwrap();
    assert_eq!((checksum(&m[20..]), &m[24..]), (0, &[0xab, 0xcd, 0, 1, 5, 6, 7][..]));
    assert_eq!((m[20], read(&m).unwrap().dst), (0, read(&p).unwrap().src));
    assert_eq!(echo_reply(&v4(0, 64, 0, 17, &[0; 8])), None);
}

/// The first fragment of a request is not the whole request.
#[test]
fn a_fragment_of_an_echo_request_has_no_answer() {
    assert_eq!(echo_reply(&v4(0, 64, 0x2000, 1, &[8, 0, 0, 0, 0xab, 0xcd, 0, 1])), None);
}

/// RFC 1122 section 3.2.2.1: code 3 (port) where the protocol has ports, also in a first fragment,
/// else code 2 (protocol). ICMP exists at every host, so no message reports that it does not.
#[test]
fn a_router_reports_whether_port_or_protocol_is_unreachable() {
    let kind = |p: &[u8]| answer(p, ROUTER, Trouble::NoListener).map(|m| [m[20], m[21]]);
    let udp = [0x30, 0x39, 0, 53, 0, 8, 0, 0];
    assert_eq!(kind(&v4(0, 64, 0, 17, &udp)), Some([3, 3]));
    assert_eq!(kind(&v4(0, 64, 0x2000, 17, &udp)), Some([3, 3]));
    assert_eq!(kind(&v4(0, 64, 0, 47, &udp)), Some([3, 2]));
    // A timestamp request, and an echo reply that was not requested.
    assert_eq!(kind(&v4(0, 64, 0, 1, &[13, 0, 0, 0, 0, 0, 0, 0])), None);
    assert_eq!(kind(&v4(0, 64, 0, 1, &[0, 0, 0, 0, 0, 0, 0, 0])), None);
}

/// RFC 1812 section 5.2.7.1: code 0 where no route leads to the destination; RFC 4443 section 3.1:
/// type 1 with code 0. Also about an echo request, never about an error.
#[test]
fn a_router_says_that_it_has_no_route() {
    let kind = |p: &[u8], at: usize| answer(p, ROUTER, Trouble::NoRoute).map(|m| [m[at], m[at + 1]]);
    let udp = [0x30, 0x39, 0, 53, 0, 8, 0, 0];
    assert_eq!(kind(&v4(0, 64, 0, 17, &udp), 20), Some([3, 0]));
    assert_eq!(kind(&v4(0, 64, 0, 1, &[8, 0, 0, 0, 0, 0, 0, 0]), 20), Some([3, 0]));
    assert_eq!(kind(&v4(0, 64, 0, 1, &[3, 1, 0, 0, 0, 0, 0, 0]), 20), None);
    assert_eq!(kind(&v6(0, 64, 17, &udp), 40), Some([1, 0]));
}

#[test]
fn ports_are_read_behind_extension_headers_and_not_in_later_fragments() {
    let udp = [0x30, 0x39, 0x00, 0x35, 0, 12, 0, 0, 1, 2, 3, 4];
    let h = read(&v6(0, 64, 0, &[&[17, 0, 1, 4, 0, 0, 0, 0][..], &udp].concat())).unwrap();
    assert_eq!((h.protocol, h.ports, h.data), (17, [12345, 53], 4));
    let h = read(&v6(0, 64, 44, &[&[17, 0, 0x05, 0xa9, 0, 0, 0, 1][..], &udp].concat())).unwrap();
    assert_eq!((h.protocol, h.ports, h.later_fragment), (17, [0, 0], true));
    let h = read(&v4(0, 64, 0x2000, 17, &udp)).unwrap();
    assert_eq!((h.ports, h.later_fragment), ([0, 0], false));
}

proptest! {
    /// The update gives what the checksum of the whole header gives.
    #[test]
    fn a_changed_header_has_the_checksum_of_a_new_one(tos: u8, ttl: u8, routers: u8, ecn in 0_u8..4) {
        let mut p = v4(tos, ttl, 0x4000, 6, &[0; 20]);
        set_ecn(&mut p, Ecn::from_bits(ecn));
        lower_hop_limit(&mut p, routers);
        prop_assert_eq!(&p, &v4(tos & !3 | ecn, ttl.saturating_sub(routers), 0x4000, 6, &[0; 20]));
    }

    /// Octets from outside: no panic.
    #[test]
    fn any_octets_are_read(mut p in proptest::collection::vec(any::<u8>(), 0..120), version in 0_u8..16) {
        if let Some(first) = p.first_mut() {
            *first = version << 4 | *first & 0xf;
        }
        if p.len() >= 6 {
            let at = if version == 4 { 2 } else { 4 };
            let len = p.len() - if version == 6 { 40.min(p.len()) } else { 0 };
            p[at..at + 2].copy_from_slice(&(len as u16).to_be_bytes());
        }
        let _read = read(&p);
        let _reply = echo_reply(&p);
        let _answer = answer(&p, ROUTER, Trouble::HopLimit);
        set_ecn(&mut p, Ecn::Ce);
        lower_hop_limit(&mut p, 1);
    }
}
