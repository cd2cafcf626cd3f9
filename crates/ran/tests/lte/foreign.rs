//! RLC as the peer of other implementations: what they send, and what they need to hear (TS 36.322
//! clauses 5.2.3, 5.3, 5.5.1 and 6.2.2.6; TS 36.331 clause 6.3.2, RLC-Config).

#![allow(clippy::unusual_byte_groupings)] // grouped as the fields are

use super::support::*;
use lasthop_engine::{Draw, Purpose};
use lasthop_ran::rlc::lte::wire::WireRlc;
use lasthop_ran::rlc::lte::*;
use lasthop_units::Duration;

/// An AMD PDU segment of SN 0 with these FI bits, SO and LSF, and one data field element.
fn amd_segment(fi: u8, so: u8, last: bool, data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0b1_1_0_00_0_00 | fi << 3, 0, u8::from(last) << 7, so];
    bytes.extend_from_slice(data);
    bytes
}

/// The data field of SN 0 holds SDUs of 3, 4 and 3 bytes, and its sender cuts it at their borders.
/// An FI of 10 says that the first byte is not the first of an SDU (clause 6.2.2.6); the byte after
/// an SDU's end always is.
#[test]
fn a_segment_that_denies_its_first_byte_is_taken_after_an_end_of_an_sdu() {
    for wrong in 0..3u8 {
        let mut u = WireRlc::new(&config(), End::Ue);
        for (i, (so, data)) in [(0, &b"abc"[..]), (3, b"defg"), (7, b"hij")].into_iter().enumerate() {
            let fi = if i as u8 == wrong { 0b10 } else { 0b00 };
            u.receive(ms(0), &amd_segment(fi, so, so == 7, data));
        }
        assert_eq!(u.delivered().collect::<Vec<_>>(), [b"abc".to_vec(), b"defg".to_vec(), b"hij".to_vec()]);
        assert_eq!((u.stats().unmarked_starts, u.stats().sdus_broken), (1, 0));
    }
    // The same byte as the continuation of an SDU that has begun.
    let mut u = WireRlc::new(&config(), End::Ue);
    u.receive(ms(0), &amd_segment(0b01, 0, false, b"abc"));
    u.receive(ms(0), &amd_segment(0b10, 3, true, b"defg"));
    assert_eq!(u.delivered().collect::<Vec<_>>(), [b"abcdefg"]);
    assert_eq!(u.stats().unmarked_starts, 0);
}

/// UM cannot know that nothing is missing before a PDU, so there the beginning must be marked.
#[test]
fn unacknowledged_mode_takes_no_segment_without_its_beginning() {
    let mut u = WireRlc::new(&RlcConfig { mode: Mode::Um, ..RlcConfig::default() }, End::Ue);
    for (sn, fi) in [(0, 0b00), (1, 0b10), (2, 0b01), (3, 0b00)] {
        u.receive(ms(0), &[fi << 3, sn, b'x', sn]);
    }
    assert_eq!(u.delivered().collect::<Vec<_>>(), [[b'x', 0], [b'x', 3]]);
    let s = u.stats();
    assert_eq!((s.unmarked_starts, s.sdus_broken), (0, 1), "SN 2 begins an SDU that SN 3 does not continue");
}

/// Clause 5.2.3 with t-StatusProhibit of 60 ms: a grant of 3 B has room for ACK_SN alone, one of 4
/// B for one NACK (15 and 27 bits), 8 B for all four. The rest of a report that was cut goes with
/// the next grant that has room for more of it.
#[test]
fn a_status_report_that_a_small_grant_cuts_stays_due() {
    let mut c = config();
    c.am.t_status_prohibit = Duration::from_millis(60);
    let mut u = Uut::new(&c);
    u.data(ms(0), amd(4));
    u.am.on_time(ms(35), &mut u.out);
    assert_eq!(u.pull_status(ms(36), 3), Some(status(0, &[])));
    assert_eq!(u.am.buffer_status().status, 8, "MAC grants for the rest");
    assert_eq!(u.pull_status(ms(37), 3), None, "nothing new within t-StatusProhibit");
    assert_eq!(u.pull_status(ms(38), 4), Some(status(1, &[0])));
    assert_eq!(u.pull_status(ms(39), 100), Some(status(5, &[0, 1, 2, 3])));
    assert_eq!((u.pull_status(ms(40), 100), u.am.buffer_status().status), (None, 0));
    // With grants that stay small the beginning is repeated at the timer's pace.
    u.data(ms(100), polled(amd(4)));
    assert_eq!(u.pull_status(ms(100), 4), Some(status(1, &[0])));
    assert_eq!(u.pull_status(ms(159), 4), None);
    assert_eq!(u.am.poll_at(), Some(ms(160)));
    assert_eq!(u.pull_status(ms(160), 4), Some(status(1, &[0])));
}

/// VR(R) = 1000, window 512. SNs 488 to 999 were received: HARQ or the peer repeats one late. SN
/// 512 before anything was received never was.
#[test]
fn late_duplicates_are_duplicates() {
    let mut u = uut();
    u.data(ms(0), amd(512));
    assert_eq!((u.am.stats().duplicates, u.am.stats().out_of_window), (0, 1));
    (0..1000).for_each(|sn| u.data(ms(1), amd(sn)));
    for sn in [488, 700, 999] {
        u.data(ms(2), amd(sn));
    }
    assert_eq!((u.am.stats().duplicates, u.am.stats().out_of_window), (3, 1));
    assert_eq!(u.delivered().len(), 1000);
}

#[test]
fn a_wire_entity_reports_confirmations_and_discards() {
    let (mut a, mut b) = (WireRlc::new(&config(), End::Network), WireRlc::new(&config(), End::Ue));
    for sdu in [b"one", b"two", b"six", b"ten"] {
        a.push(ms(0), sdu);
    }
    assert!(a.discard(1), "no byte of it is in a PDU");
    assert!(!a.discard(1) && !a.discard(9), "an SDU is discarded once, and only one that there was");
    // 2 B of header, 3 B of SDU 0, and a length indicator and a byte of SDU 2.
    for pdu in a.pull(ms(0), 8) {
        b.receive(ms(1), &pdu);
    }
    assert!(!a.discard(0) && !a.discard(2), "both are in a PDU");
    for pdu in a.pull(ms(2), 100) {
        b.receive(ms(3), &pdu);
    }
    assert_eq!(b.delivered().collect::<Vec<_>>(), [b"one", b"six", b"ten"]);
    assert_eq!(a.confirmed().count(), 0);
    for pdu in b.pull(ms(4), 100) {
        a.receive(ms(5), &pdu);
    }
    assert_eq!(a.confirmed().collect::<Vec<_>>(), [0, 2, 3]);
    assert_eq!((a.held(), a.dropped().count(), a.stats().sdus_discarded), (0, 0, 1));
    // Re-establishment drops what waits.
    let serial = a.push(ms(6), b"lost");
    a.re_establish();
    assert_eq!(a.dropped().collect::<Vec<_>>(), [(serial, DropCause::Reestablishment)]);
}

/// TS 36.331 gives each direction its own SN and LI widths. A STATUS PDU has the SN of the data
/// that it reports on (TS 36.322 clause 6.2.2.14): 4 + 10 + 1 bits for SNs of 10 bits, 4 + 16 + 1
/// for 16.
#[test]
fn widths_may_differ_by_direction() {
    let mut c = config();
    (c.am.sn_bits_uplink, c.am.li_bits_uplink) = (Some(16), Some(15));
    c.validate().unwrap();
    let (network, ue) = (c.am.format(End::Network), c.am.format(End::Ue));
    assert_eq!((network.fixed(false), network.status_fixed_bits()), (2, 21));
    assert_eq!((ue.fixed(false), ue.status_fixed_bits()), (3, 15));
    c.am.sn_bits_uplink = Some(12);
    assert_eq!(c.validate().unwrap_err().key, "am.sn_bits_uplink");

    for (i, (sn, li)) in [(10, 16), (16, 10)].into_iter().zip([(11, 15), (15, 11)]).enumerate() {
        let mut c = RlcConfig::default();
        (c.am.sn_bits, c.am.sn_bits_uplink) = (sn.0, Some(sn.1));
        (c.am.li_bits, c.am.li_bits_uplink) = (li.0, Some(li.1));
        let mut ends = [WireRlc::new(&c, End::Network), WireRlc::new(&c, End::Ue)];
        let mut rng = Draw::new(7, Purpose::Test, i as u64).stream(0);
        let mut air: Vec<(u64, usize, Vec<u8>)> = Vec::new();
        let mut got: [Vec<Vec<u8>>; 2] = Default::default();
        let content = |end: usize, i: u64| vec![(i * 3 + end as u64) as u8; 1 + (i as usize * 97) % 2500];
        for t in 0..12_000 {
            for (end, e) in ends.iter_mut().enumerate() {
                if t < 600 && t % 2 == 0 {
                    e.push(ms(t), &content(end, t / 2));
                }
                e.on_time(ms(t));
                for pdu in e.pull(ms(t), 1 + rng.below(1500) as u32) {
                    if t > 6000 || rng.uniform() < 0.7 {
                        air.push((t + 4, 1 - end, pdu));
                    }
                }
            }
            for (_, to, pdu) in air.extract_if(.., |a| a.0 <= t) {
                ends[to].receive(ms(t), &pdu);
            }
            for (to, got) in got.iter_mut().enumerate() {
                got.extend(ends[to].delivered());
            }
        }
        for (to, got) in got.iter().enumerate() {
            assert_eq!(got.len(), 300);
            assert!(got.iter().zip(0..).all(|(sdu, i)| *sdu == content(1 - to, i)));
            assert_eq!((ends[to].undecodable, ends[to].stats().invalid_received), (0, 0));
        }
    }
}
