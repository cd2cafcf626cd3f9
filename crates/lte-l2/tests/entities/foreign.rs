//! RLC as the peer of other implementations: the PDUs that they send, and the reports that they
//! need (TS 36.322 clauses 5.2.3, 5.3, 5.5.1 and 6.2.2.6; TS 36.331 clause 6.3.2, RLC-Config).

#![allow(clippy::unusual_byte_groupings)] // grouped as the fields are

use super::support::*;
use lasthop_engine::{Draw, Purpose};
use lasthop_lte_l2::rlc::wire::WireRlc;
use lasthop_lte_l2::rlc::*;
use lasthop_units::Duration;

/// An AMD PDU segment of SN 0 with these FI bits, SO and LSF, and one data field element.
fn amd_segment(fi: u8, so: u8, last: bool, data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0b1_1_0_00_0_00 | fi << 3, 0, u8::from(last) << 7, so];
    bytes.extend_from_slice(data);
    bytes
}

/// The data field of SN 0 holds SDUs of 3, 4 and 3 bytes, and its sender cuts it at their borders.
/// An FI of 10 indicates that the first byte is not the first of an SDU (TS 36.322 clause 6.2.2.6);
/// the byte after an SDU's end always is.
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

/// The same data field, with FI 01 where a segment ends an SDU: its last byte is not the last of an
/// SDU. The first byte of the next SDU proves that it was.
#[test]
fn an_end_of_an_sdu_that_its_segment_denies_is_taken_before_a_first_byte() {
    for wrong in 0..2u8 {
        let mut u = WireRlc::new(&config(), End::Ue);
        for (i, (so, data)) in [(0, &b"abc"[..]), (3, b"defg"), (7, b"hij")].into_iter().enumerate() {
            let fi = if i as u8 == wrong { 0b01 } else { 0b00 };
            u.receive(ms(0), &amd_segment(fi, so, so == 7, data));
        }
        assert_eq!(u.delivered().collect::<Vec<_>>(), [b"abc".to_vec(), b"defg".to_vec(), b"hij".to_vec()]);
        assert_eq!((u.stats().unmarked_ends, u.stats().sdus_broken), (1, 0));
    }
    // Across PDUs: SN 0 does not mark the end of the SDU; SN 1, the next in sequence, proves that
    // it was one. The SNs arrive in order, then in reverse order.
    let pdus = [[0b1_0_0_01_0_00, 0, b'a', b'b'], [0b1_0_0_00_0_00, 1, b'c', b'd']];
    for order in [[0, 1], [1, 0]] {
        let mut u = WireRlc::new(&config(), End::Ue);
        order.iter().for_each(|&i| u.receive(ms(0), &pdus[i]));
        assert_eq!(u.delivered().collect::<Vec<_>>(), [b"ab", b"cd"]);
        assert_eq!((u.stats().unmarked_ends, u.stats().sdus_broken), (1, 0));
    }
    // Re-establishment delivers what can be reassembled; SN 1 is missing, so the end of "ab" is.
    let mut u = WireRlc::new(&config(), End::Ue);
    u.receive(ms(0), &pdus[0]);
    u.receive(ms(0), &[0b1_0_0_00_0_00, 2, b'e', b'f']);
    u.re_establish();
    assert_eq!(u.delivered().collect::<Vec<_>>(), [b"ef"]);
    assert_eq!((u.stats().unmarked_ends, u.stats().sdus_broken), (0, 1));
}

/// A descriptor has the length of its SDU: 60 of 100 bytes are not a complete SDU, whatever bytes
/// follow.
#[test]
fn a_part_of_an_sdu_is_not_delivered_as_an_sdu() {
    let mut u = uut();
    u.data(ms(0), data(0, &[(0, 100, 0, 60)]));
    u.data(ms(0), amd(1));
    assert_eq!(u.delivered(), [1]);
    assert_eq!((u.am.stats().unmarked_ends, u.am.stats().sdus_broken), (0, 1));
    // All of it, with an FI of 01.
    u.data(ms(0), DataPdu { ends: false, ..amd(2) });
    u.data(ms(0), amd(3));
    assert_eq!(u.delivered(), [2, 3]);
    assert_eq!((u.am.stats().unmarked_ends, u.am.stats().sdus_broken), (1, 1));
}

/// UM cannot detect every PDU missing before another, so there the beginning must be marked.
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
/// B for one NACK (15 and 27 bits), 8 B for all four. The rest of a truncated report stays due
/// without another trigger, and is sent when the timer has expired.
#[test]
fn a_status_report_that_a_small_grant_cuts_stays_due() {
    let mut c = config();
    c.am.t_status_prohibit = Duration::from_millis(60);
    let mut u = Uut::new(&c);
    u.data(ms(0), amd(4));
    u.am.on_time(ms(35), &mut u.out);
    assert_eq!(u.pull_status(ms(36), 3), Some(status(0, &[])));
    assert_eq!((u.pull_status(ms(95), 100), u.am.buffer_status().status), (None, 0));
    assert_eq!(u.am.poll_at(), Some(ms(96)));
    u.am.on_time(ms(96), &mut u.out);
    assert_eq!(u.am.buffer_status().status, 8, "MAC grants for the rest");
    assert_eq!(u.pull_status(ms(96), 4), Some(status(1, &[0])));
    assert_eq!(u.pull_status(ms(155), 100), None);
    assert_eq!(u.pull_status(ms(156), 100), Some(status(5, &[0, 1, 2, 3])));
    assert_eq!((u.pull_status(ms(300), 100), u.am.buffer_status().status), (None, 0));
}

/// VR(R) = 1000, window 512. SNs 488 to 999 were received: HARQ or the peer repeats one late. In an
/// entity without received PDUs SN 512 is no duplicate.
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

/// VR(R) = 1000 and SNs 1001 to 1399 wait, so VR(H) = 1400: a sender that keeps to a window of 512
/// has VT(A) >= 1400 - 512 = 888. SN 888 may be a duplicate, 887 and 1512 (VR(R) + 512) may not.
#[test]
fn what_no_sender_inside_its_window_repeats_is_out_of_window() {
    let mut u = uut();
    (0..1400).filter(|&sn| sn != 1000).for_each(|sn| u.data(ms(0), amd(sn % 1024)));
    for (sn, counted) in [(888, (1, 0)), (887, (1, 1)), (999, (2, 1)), (1512 % 1024, (2, 2))] {
        u.data(ms(1), amd(sn));
        assert_eq!((u.am.stats().duplicates, u.am.stats().out_of_window), counted, "SN {sn}");
    }
    // Window full: PDUs beyond it are protocol errors of the sender.
    (1400..1512).for_each(|sn| u.data(ms(2), amd(sn % 1024)));
    (1512..2024).for_each(|sn| u.data(ms(3), amd(sn % 1024)));
    assert_eq!((u.am.stats().duplicates, u.am.stats().out_of_window), (2, 2 + 512));
}

/// With t-StatusProhibit of 0 or 5 ms the rest of a truncated report waits 20 ms: the PDUs that the
/// report named need a round trip to arrive.
#[test]
fn the_rest_of_a_cut_status_report_waits_for_a_round_trip() {
    for prohibit in [0, 5] {
        let mut c = config();
        c.am.t_status_prohibit = Duration::from_millis(prohibit);
        let mut u = Uut::new(&c);
        u.data(ms(0), amd(4));
        u.am.on_time(ms(35), &mut u.out);
        assert_eq!(u.pull_status(ms(36), 4), Some(status(1, &[0])));
        assert_eq!((u.pull_status(ms(55), 100), u.am.buffer_status().status), (None, 0));
        assert_eq!(u.am.poll_at(), Some(ms(56)));
        assert_eq!(u.pull_status(ms(56), 4), Some(status(1, &[0])));
        // A poll is answered at once (t-StatusProhibit is not running), and its report has room for
        // all NACKs.
        u.data(ms(62), polled(amd(0)));
        assert_eq!(u.pull_status(ms(62), 100), Some(status(5, &[1, 2, 3])));
        // A whole report leaves no rest; t-Reordering began again with SN 0.
        assert_eq!((u.pull_status(ms(96), 100), u.am.poll_at()), (None, Some(ms(97))));
    }
}

/// Grants of 3 to 14 B at the receiver, mostly too small for all NACKs, and a round trip of 8 ms:
/// the sender retransmits at once what a report names, so a PDU is named again only when its
/// retransmission was lost. So N PDUs under a loss of p take N p / (1 - p) retransmissions, with a
/// variance of N p / (1 - p)^2, and RETX_COUNT reaches maxRetxThreshold t where a PDU and t
/// repetitions are lost: N p^(t + 1) times. Within four standard deviations. With t-StatusProhibit
/// of 0, which prohibits no report, sending the rest of a truncated report at the next grant gave
/// 17 503 retransmissions instead of 5854 and 1756 failures instead of 33. There polls still repeat
/// a NACK within the round trip (clause 5.2.3 requires it): without any rest there are 6105.
#[test]
fn small_grants_for_reports_do_not_raise_retx_count() {
    for prohibit in [0, 5, 20] {
        small_grants(prohibit);
    }
}

fn small_grants(prohibit: u64) {
    let mut c = config();
    (c.am.t_status_prohibit, c.am.max_retx_threshold) = (Duration::from_millis(prohibit), 4);
    let loss = 0.3f64;
    let (mut new, mut again, mut failures) = (0, 0, 0);
    for seed in 0..20 {
        let ways = [Way { grant: 300, every: MS, loss }, Way { grant: 0, every: MS, loss: 0.0 }];
        let mut pair = Pair::new(&c, ways, seed);
        let mut grants = Draw::new(seed, Purpose::Test, 77).stream(0);
        (0..2000).for_each(|i| pair.ends[0].push(ms(0), sdu(i, 100), &mut pair.out[0]));
        let mut now = ms(0);
        while now < ms(60_000) && pair.out[1].delivered.len() < 2000 {
            pair.ways[1].grant = 3 + grants.below(12) as u32;
            pair.tick(now);
            now += MS;
        }
        assert!(pair.out[1].delivered.iter().map(|s| s.serial).eq(0..2000));
        let s = pair.ends[0].stats();
        (new, again, failures) = (new + s.pdus_new, again + s.pdus_retx, failures + s.failures);
    }
    let n = new as f64;
    let close = |got: u64, mean: f64, variance: f64| (got as f64 - mean).abs() < 4.0 * variance.sqrt();
    let (kept, five) = (1.0 - loss, loss * loss * loss * loss * loss);
    assert!(close(again, n * loss / kept, n * loss / (kept * kept)), "{prohibit} ms: {again} of {n}");
    assert!(close(failures, n * five, n * five), "{prohibit} ms: {failures} of {n}");
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
    // Re-establishment drops waiting SDUs.
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
