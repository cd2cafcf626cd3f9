//! AM RLC: the procedures of TS 36.523-1 clause 7.2.3, with our entity in the place of the UE.

#![allow(clippy::unusual_byte_groupings)] // grouped as the fields are

use super::support::*;
use lasthop_ran::rlc::lte::codec::{Chunk, decode};
use lasthop_ran::rlc::lte::wire::WireRlc;
use lasthop_ran::rlc::lte::*;
use lasthop_units::{Bytes, Duration};

/// No polls but those of empty buffers and stalled windows; no prohibit.
fn config() -> RlcConfig {
    let am = AmConfig {
        poll_pdu: OrInfinity::INFINITY,
        poll_byte: OrInfinity::INFINITY,
        t_status_prohibit: Duration::ZERO,
        max_retx_threshold: 4,
        ..AmConfig::default()
    };
    RlcConfig { am, ..RlcConfig::default() }
}

fn uut() -> Uut {
    Uut::new(&config())
}

fn framing(d: &DataPdu<Span>) -> (bool, bool) {
    (d.starts, d.ends)
}

#[test]
fn tc_7_2_3_1_concatenation_and_reassembly() {
    let mut u = uut();
    u.push(ms(0), 3, 40);
    // 2 + 3 (two LIs) + 120 B.
    let d = u.pull_data(ms(0), 125);
    assert_eq!((d.elements.len(), framing(&d)), (3, (true, true)));
    let mut peer = uut();
    peer.data(ms(1), d);
    assert_eq!(peer.delivered(), [0, 1, 2]);
}

#[test]
fn tc_7_2_3_2_segmentation_and_reassembly_no_pdu_segmentation() {
    let mut u = uut();
    u.push(ms(0), 2, 98);
    for _ in 0..2 {
        let d = u.pull_data(ms(0), 100);
        assert_eq!((d.elements.len(), framing(&d), d.segment), (1, (true, true), None));
    }
}

#[test]
fn tc_7_2_3_3_segmentation_and_reassembly_framing_info_field() {
    let mut u = uut();
    u.push(ms(0), 1, 100);
    let pdus: Vec<_> = (0..3).map(|_| u.pull_data(ms(0), 42)).collect();
    let fi: Vec<_> = pdus.iter().map(framing).collect();
    assert_eq!(fi, [(true, false), (false, false), (false, true)]);
    let mut peer = uut();
    for d in pdus {
        assert!(peer.delivered().is_empty());
        peer.data(ms(1), d);
    }
    assert_eq!(peer.delivered(), [0]);
}

#[test]
fn tc_7_2_3_4_segmentation_and_reassembly_different_numbers_of_length_indicators() {
    for n in 1..=12u32 {
        let mut u = uut();
        u.push(ms(0), u64::from(n), 10);
        let header = 2 + (12 * (n - 1)).div_ceil(8);
        let d = u.pull_data(ms(0), header + 10 * n);
        assert_eq!((d.elements.len() as u32, framing(&d)), (n, (true, true)), "{} LIs", n - 1);
        let mut peer = uut();
        peer.data(ms(1), d);
        assert_eq!(peer.delivered().len() as u32, n);
    }
}

#[test]
fn tc_7_2_3_5_reassembly_li_value_above_pdu_size() {
    let mut u = WireRlc::new(&config());
    let good = |sn: u8, poll: u8| [0b1000_0000 | poll << 5, sn, 1, 2, 3];
    u.receive(ms(0), &good(0, 0));
    // E=1, LI=100 in a PDU with four bytes of data: discarded as if it had not come.
    u.receive(ms(1), &[0b1000_0100, 1, 0b0000_0110, 0b0100_0000, 1, 2, 3, 4]);
    u.receive(ms(2), &good(2, 0));
    assert_eq!((u.delivered().count(), u.undecodable), (1, 1));
    u.on_time(ms(40)); // t-Reordering
    let status = decode(&u.pull(ms(40), 100)[0], Some(Format::am(10, 11))).unwrap();
    let Pdu::<Chunk>::Status(status) = status else { panic!("a status report") };
    assert_eq!(status, super::support::status(3, &[1]));
}

#[test]
fn tc_7_2_3_6_correct_use_of_sequence_numbering() {
    let (mut u, mut peer) = (uut(), uut());
    for i in 0..2100u64 {
        u.push(ms(i), 1, 10);
        let d = u.pull_data(ms(i), 12);
        assert_eq!(u64::from(d.sn), i % 1024);
        peer.data(ms(i), d);
        if let Some(s) = peer.pull_status(ms(i), 10) {
            u.status(ms(i), s);
        }
    }
    assert_eq!(peer.delivered(), (0..2100).collect::<Vec<_>>());
    assert_eq!(u.am.state().vt_a, 2100 % 1024);
}

#[test]
fn tc_7_2_3_7_control_of_transmit_window() {
    let mut u = uut();
    u.push(ms(0), 600, 10);
    let sent: Vec<_> = std::iter::from_fn(|| u.pull(ms(0), 12).pop()).collect();
    assert_eq!(sent.len(), 512, "VT(S) reaches VT(MS)");
    let polls = sent.iter().filter(|p| matches!(p, Pdu::Amd(d) if d.poll)).count();
    assert_eq!(polls, 1, "the window stalls with the last one, which polls");
    assert!(matches!(sent.last(), Some(Pdu::Amd(d)) if d.poll));
    // 10 acknowledged in sequence, and more beyond a gap: only VT(A) moves the window.
    u.status(ms(1), status(100, &[10]));
    assert_eq!((u.am.state().vt_a, u.am.state().vt_ms), (10, 522));
    let more: Vec<_> = std::iter::from_fn(|| u.pull(ms(1), 12).pop()).collect();
    assert_eq!(more.len(), 1 + 10, "the retransmission, then ten new PDUs");
}

#[test]
fn tc_7_2_3_8_control_of_receive_window() {
    let mut u = uut();
    u.data(ms(0), amd(1));
    // VR(R) = 0, VR(MR) = 512: SN 512 is outside, 511 inside.
    u.data(ms(0), amd(512));
    assert_eq!((u.am.stats().out_of_window, u.am.state().vr_h), (1, 2));
    u.data(ms(0), amd(511));
    assert_eq!(u.am.state().vr_h, 512);
    u.data(ms(1), amd(0));
    assert_eq!((u.delivered(), u.am.state().vr_mr), (vec![0, 1], 514));
    u.data(ms(1), amd(512));
    assert_eq!(u.am.state().vr_h, 513);
}

#[test]
fn tc_7_2_3_9_polling_for_status() {
    let mut c = config();
    c.am.poll_pdu = OrInfinity::Value(4);
    let polls = |c: &RlcConfig, n: u64, size: u32| {
        let mut u = Uut::new(c);
        u.push(ms(0), n, size);
        let sent: Vec<_> = std::iter::from_fn(|| u.pull(ms(0), size + 2).pop()).collect();
        let poll = |p: &Pdu| matches!(p, Pdu::Amd(d) if d.poll);
        sent.iter().enumerate().filter(|(_, p)| poll(p)).map(|(i, _)| i).collect::<Vec<_>>()
    };
    // Every fourth PDU, and the last, with which the buffer is empty.
    assert_eq!(polls(&c, 10, 100), [3, 7, 9]);
    c.am.poll_pdu = OrInfinity::INFINITY;
    c.am.poll_byte = OrInfinity::Value(Bytes(25_000));
    // 25 PDUs of 1000 B.
    assert_eq!(polls(&c, 60, 1000), [24, 49, 59]);

    // t-PollRetransmit: nothing else to send, so the last PDU is sent again with a poll.
    let mut u = uut();
    u.push(ms(0), 2, 100);
    u.pull(ms(0), 102);
    assert!(u.pull_data(ms(0), 102).poll);
    assert_eq!(u.am.poll_at(), Some(ms(45)));
    assert!(u.pull(ms(44), 200).is_empty());
    let again = u.pull_data(ms(45), 102);
    assert_eq!((again.sn, again.poll), (1, true));
    // A status report that covers POLL_SN stops the timer; one that does not, does not.
    u.status(ms(50), status(1, &[]));
    assert_eq!(u.am.timers().t_poll_retransmit, Some(ms(90)));
    u.status(ms(51), status(2, &[]));
    assert_eq!(u.am.timers().t_poll_retransmit, None);

    // With data waiting the poll goes with the next new PDU instead, unless the window is stalled: then the last
    // PDU is sent again, or if that is acknowledged another that is not.
    let mut u = uut();
    u.push(ms(0), 600, 10);
    while !u.pull(ms(0), 12).is_empty() {}
    let again = u.pull_data(ms(45), 12);
    assert_eq!((again.sn, again.poll), (511, true));
    u.status(ms(50), status(512, &[0]));
    u.pull_data(ms(50), 12);
    let again = u.pull_data(ms(95), 12);
    assert_eq!((again.sn, again.poll), (0, true));
    let mut u = uut();
    u.push(ms(0), 1, 100);
    u.pull(ms(0), 102);
    u.push(ms(10), 2, 100);
    let next = u.pull_data(ms(46), 102);
    assert_eq!((next.sn, next.poll), (1, true));
}

#[test]
fn tc_7_2_3_10_receiver_status_triggers() {
    // A poll in sequence is answered at the next opportunity.
    let mut u = uut();
    u.data(ms(0), polled(amd(0)));
    assert_eq!(u.pull_status(ms(0), 100), Some(status(1, &[])));
    assert_eq!(u.pull_status(ms(0), 100), None);
    // A poll behind a gap waits until t-Reordering (35 ms) expires, which triggers a report itself.
    u.data(ms(1), polled(amd(2)));
    assert_eq!(u.pull_status(ms(1), 100), None);
    assert_eq!(u.am.poll_at(), Some(ms(36)));
    assert_eq!(u.pull_status(ms(36), 100), Some(status(3, &[1])));
    // t-StatusProhibit delays the next report; triggers meanwhile make one report.
    let mut c = config();
    c.am.t_status_prohibit = Duration::from_millis(60);
    let mut u = Uut::new(&c);
    u.data(ms(0), polled(amd(0)));
    assert!(u.pull_status(ms(0), 100).is_some());
    u.data(ms(1), polled(amd(1)));
    u.data(ms(2), polled(amd(2)));
    assert_eq!((u.pull_status(ms(59), 100), u.am.buffer_status().total()), (None, 0));
    assert_eq!(u.am.poll_at(), Some(ms(60)));
    assert_eq!(u.pull_status(ms(60), 100), Some(status(3, &[])));
    assert_eq!(u.pull_status(ms(200), 100), None);
    // A polled duplicate is answered too: the report may have been lost.
    u.data(ms(300), polled(amd(1)));
    assert_eq!(u.pull_status(ms(300), 100), Some(status(3, &[])));
}

#[test]
fn tc_7_2_3_14_in_sequence_delivery_of_upper_layer_pdus() {
    let mut u = uut();
    for sn in [1, 3, 2] {
        u.data(ms(0), amd(sn));
        assert!(u.delivered().is_empty());
    }
    u.data(ms(0), amd(0));
    assert_eq!(u.delivered(), [0, 1, 2, 3]);
    assert_eq!(u.am.timers().t_reordering, None);
}

#[test]
fn tc_7_2_3_15_reordering_of_rlc_pdu_segments() {
    let mut u = uut();
    for (from, to) in [(60, 100), (20, 60), (0, 20)] {
        assert!(u.delivered().is_empty());
        u.data(ms(0), segment(0, from, to));
    }
    assert_eq!(u.delivered(), [0]);
    // In-sequence segments of VR(R) deliver the SDUs that are whole in them before the PDU is.
    let head = DataPdu {
        segment: Some(Segment { so: 0, last: false }),
        ..data(1, &[(1, 30, 0, 30), (2, 70, 0, 5)])
    };
    u.data(ms(1), DataPdu { ends: false, ..head });
    assert_eq!((u.delivered(), u.am.state().vr_r), (vec![1], 1));
    u.data(ms(1), DataPdu { segment: Some(Segment { so: 35, last: true }), ..data(1, &[(2, 70, 5, 65)]) });
    assert_eq!((u.delivered(), u.am.state().vr_r), (vec![2], 2));
}

#[test]
fn tc_7_2_3_16_retransmission_of_rlc_pdu_without_resegmentation() {
    let mut u = uut();
    u.push(ms(0), 3, 100);
    let first: Vec<_> = (0..3).map(|_| u.pull_data(ms(0), 102)).collect();
    u.status(ms(1), status(3, &[0, 2]));
    assert_eq!(u.out.confirmed, [sdu(1, 100)]);
    // As it was except for the P field; retransmissions in order of SN.
    for sn in [0, 2] {
        let again = u.pull_data(ms(1), 102);
        assert_eq!(again, DataPdu { poll: again.poll, ..first[sn].clone() });
        assert_eq!(again.poll, sn == 2, "the last one empties the retransmission buffer");
    }
    // Pending retransmissions go before new data.
    u.push(ms(2), 1, 100);
    u.status(ms(2), status(3, &[0]));
    assert_eq!([u.pull_data(ms(2), 102).sn, u.pull_data(ms(2), 102).sn], [0, 3]);
}

#[test]
fn tc_7_2_3_17_resegmentation_of_rlc_pdu_so_fi_lsf() {
    let mut u = uut();
    u.push(ms(0), 2, 100);
    let whole = u.pull_data(ms(0), 204);
    assert_eq!(whole.elements.len(), 2);
    u.status(ms(1), status(1, &[0]));
    // 4 + 2 (one LI) + 100 + 14; then 4 + 56; then the last 30.
    let parts: Vec<_> = [120, 60, 34].map(|grant| u.pull_data(ms(1), grant)).into();
    let seen: Vec<_> = parts
        .iter()
        .map(|d| (d.segment.map(|s| (s.so, s.last)), d.starts, d.ends, d.data_len(), d.poll))
        .collect();
    assert_eq!(
        seen,
        [
            (Some((0, false)), true, false, 114, false),
            (Some((114, false)), false, false, 56, false),
            (Some((170, true)), false, true, 30, true),
        ]
    );
    // The middle segment is lost, reported with SOstart and SOend, and cut again.
    u.status(ms(2), StatusPdu { ack_sn: 1, nacks: vec![Nack { sn: 0, portion: Some((114, 169)) }] });
    let again: Vec<_> = [40, 30].map(|grant| u.pull_data(ms(2), grant)).into();
    let so: Vec<_> = again.iter().map(|d| (d.segment.unwrap(), d.data_len())).collect();
    assert_eq!(so, [(Segment { so: 114, last: false }, 36), (Segment { so: 150, last: false }, 20)]);
    let mut peer = uut();
    for d in [&parts[0], &parts[2], &again[1], &again[0]] {
        peer.data(ms(3), d.clone());
    }
    assert_eq!(peer.delivered(), [0, 1]);
}

#[test]
fn tc_7_2_3_18_reassembly_of_amd_pdu_segments_segmentation_offset_and_last_segment_flag() {
    // Overlapping segments from two retransmissions with different borders: each byte counts once.
    let mut u = uut();
    for (from, to) in [(0, 40), (30, 70), (10, 50)] {
        u.data(ms(0), segment(0, from, to));
    }
    u.data(ms(1), polled(amd(1)));
    assert_eq!(u.pull_status(ms(40), 100).unwrap().nacks, [Nack { sn: 0, portion: Some((70, SO_END)) }]);
    u.data(ms(41), segment(0, 65, 100));
    assert_eq!(u.delivered(), [0, 1]);
    assert_eq!(u.am.stats().duplicates, 1, "10..50 brought nothing");
}

#[test]
fn tc_7_2_3_20_duplicate_detection_of_rlc_pdus() {
    let mut u = uut();
    for sn in [0, 0, 2, 2, 1, 1, 2] {
        u.data(ms(0), amd(sn));
    }
    assert_eq!(u.delivered(), [0, 1, 2]);
    assert_eq!(u.am.stats().duplicates + u.am.stats().out_of_window, 4);
}

#[test]
fn tc_7_2_3_21_reestablishment() {
    let mut u = uut();
    u.push(ms(0), 2, 100);
    u.pull(ms(0), 50);
    u.data(ms(0), amd(1)); // behind a gap
    u.data(ms(0), segment(2, 0, 50)); // half of one
    u.am.re_establish(&mut u.out);
    assert_eq!(u.delivered(), [1], "what can be reassembled is delivered, in ascending order");
    let dropped: Vec<_> = u.out.dropped.drain(..).collect();
    assert_eq!(dropped, [0, 1].map(|i| (sdu(i, 100), DropCause::Reestablishment)));
    let s = u.am.state();
    assert_eq!((s.vt_a, s.vt_s, s.vr_r, s.vr_h, s.vr_ms), (0, 0, 0, 0, 0));
    assert_eq!((u.am.poll_at(), u.am.buffer_status().total()), (None, 0));
    u.data(ms(1), amd(0));
    u.push(ms(1), 1, 100);
    assert_eq!((u.delivered(), u.pull_data(ms(1), 200).sn), (vec![0], 0));
}

/// Portions that several reports name are sent once, as far as they overlap.
#[test]
fn overlapping_portions_are_pending_once() {
    let mut u = uut();
    u.push(ms(0), 1, 100);
    u.pull(ms(0), 102);
    let nack = |portion| StatusPdu { ack_sn: 1, nacks: vec![Nack { sn: 0, portion: Some(portion) }] };
    for portion in [(40, 59), (10, 19), (15, 45), (90, SO_END), (80, 85)] {
        u.status(ms(1), nack(portion));
    }
    let parts: Vec<_> = u
        .pull(ms(1), 1000)
        .into_iter()
        .map(|p| match p {
            Pdu::Amd(d) => d,
            other => panic!("{other:?}"),
        })
        .map(|d| (d.segment.unwrap(), d.data_len()))
        .collect();
    let part = |so, last, len| (Segment { so, last }, len);
    assert_eq!(parts, [part(10, false, 50), part(80, false, 6), part(90, true, 10)]);
}

/// TS 36.322 clause 5.2.1: the first consideration sets RETX_COUNT to 0, each further one adds 1.
#[test]
fn max_retx_threshold_is_indicated_once_and_pending_pdus_are_not_counted() {
    let mut u = uut();
    u.push(ms(0), 2, 100);
    u.pull(ms(0), 102);
    u.pull(ms(0), 102);
    for round in 0..8 {
        u.status(ms(round), status(2, &[0]));
        u.status(ms(round), status(2, &[0])); // pending already
        assert_eq!(u.out.events.len(), usize::from(round >= 4), "round {round}");
        u.pull(ms(round), 102);
    }
    assert_eq!(u.out.events, [RlcEvent::MaxRetransmissions { sn: 0 }]);
}

/// TS 36.322 clause 5.2.3: what does not fit is not reported, and ACK_SN says so.
#[test]
fn status_pdus_are_built_to_fit_the_grant() {
    let mut u = uut();
    for sn in [10, 11] {
        u.data(ms(0), amd(sn));
    }
    u.data(ms(0), segment(12, 0, 10));
    u.data(ms(0), segment(12, 20, 30));
    u.data(ms(0), amd(13));
    // The first expiry takes VR(MS) to 12, the highest when the timer was started; the second to 14.
    u.am.on_time(ms(35), &mut u.out);
    assert_eq!(u.am.state().vr_ms, 12);
    u.am.on_time(ms(70), &mut u.out);
    // 15 bits + 10 NACKs of 12 bits + 2 with SO of 42 bits = 219 bits = 28 B.
    assert_eq!(u.am.buffer_status().status, 28);
    for grant in 2..=30u32 {
        u.data(ms(80), polled(amd(13))); // asks again
        let s = u.pull_status(ms(80), grant).unwrap();
        assert!(Format::am(10, 11).status(&s) <= grant);
        let whole = (((grant * 8 - 15) / 12) as usize).min(10);
        match grant {
            28.. => assert_eq!((s.ack_sn, s.nacks.len()), (14, 12)),
            // Both portions of SN 12 or none.
            _ if whole == 10 => assert_eq!((s.ack_sn, s.nacks.len()), (12, 10)),
            _ => assert_eq!((s.ack_sn as usize, s.nacks.len()), (whole, whole)),
        }
        assert!(s.nacks.iter().zip(0..10).all(|(n, sn)| n.sn == sn));
    }
    u.data(ms(90), polled(amd(13)));
    assert!(u.pull(ms(90), 1).is_empty());
    assert!(u.pull_status(ms(90), 100).is_some(), "a grant too small does not lose the report");
}

/// A report that a newer one has overtaken, or nonsense, changes nothing.
#[test]
fn stale_and_malformed_status_pdus_are_ignored() {
    let mut u = uut();
    u.push(ms(0), 20, 100);
    (0..20).for_each(|_| drop(u.pull(ms(0), 102)));
    u.status(ms(1), status(20, &[15]));
    assert_eq!(u.am.state().vt_a, 15);
    for s in [status(10, &[3]), status(21, &[]), status(600, &[1, 2])] {
        u.status(ms(2), s);
    }
    // NACK_SN at or above ACK_SN, below VT(A), or already acknowledged.
    u.status(ms(2), status(16, &[17, 3, 15]));
    assert_eq!((u.am.state().vt_a, u.am.stats().invalid_received), (15, 3));
    u.pull_data(ms(2), 102);
    assert!(u.pull(ms(2), 1000).is_empty(), "15 only was pending");
}
