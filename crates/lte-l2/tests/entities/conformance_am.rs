//! AM RLC: the procedures of TS 36.523-1 clause 7.2.3, with the entity of this crate in the place
//! of the UE.

#![allow(clippy::unusual_byte_groupings)] // grouped as the fields are

use super::support::*;
use lasthop_lte_l2::rlc::codec::{Chunk, decode};
use lasthop_lte_l2::rlc::wire::WireRlc;
use lasthop_lte_l2::rlc::*;

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
    let mut u = WireRlc::new(&config(), End::Ue);
    let good = |sn: u8, poll: u8| [0b1000_0000 | poll << 5, sn, 1, 2, 3];
    u.receive(ms(0), &good(0, 0));
    // E=1, LI=100 in a PDU with four bytes of data: discarded as if it had not been received.
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
    // 10 PDUs acknowledged in sequence, and more beyond a gap: only VT(A) moves the window.
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
    // Each PDU is unchanged except for the P field; retransmissions are in order of SN.
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
    // Overlapping segments from two retransmissions with different borders: each byte is delivered
    // once.
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
    assert_eq!((u.am.stats().duplicates, u.am.stats().out_of_window), (4, 0));
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

/// Overlapping portions that several reports name are sent once.
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
