//! UM RLC: the procedures of TS 36.523-1 clause 7.2.2, with the entity of this crate in the place
//! of the UE.

#![allow(clippy::unusual_byte_groupings)] // grouped as the fields are

use super::support::*;
use lasthop_lte_l2::rlc::wire::WireRlc;
use lasthop_lte_l2::rlc::*;
use lasthop_units::{Duration, Instant};

struct UmUut {
    um: Um,
    out: RlcOutput,
}

impl UmUut {
    fn new(sn_bits: u32) -> UmUut {
        UmUut { um: Um::new(&config(sn_bits), End::Ue), out: RlcOutput::default() }
    }
    fn receive(&mut self, now: Instant, pdu: DataPdu<Span>) {
        self.um.receive(now, &Pdu::Umd(pdu), &mut self.out);
    }
    fn delivered(&mut self) -> Vec<u64> {
        self.out.delivered.drain(..).map(|s| s.serial).collect()
    }
    fn pull(&mut self, grant: u32) -> Option<DataPdu<Span>> {
        let mut pdus = Vec::new();
        self.um.pull(ms(0), Grant::of(grant), &mut pdus, &mut self.out);
        match pdus.pop()? {
            Pdu::Umd(d) => Some(d),
            other => panic!("{other:?}"),
        }
    }
}

fn config(sn_bits: u32) -> RlcConfig {
    let um = UmConfig { sn_bits, t_reordering: Duration::from_millis(45), ..UmConfig::default() };
    RlcConfig { mode: Mode::Um, um, ..RlcConfig::default() }
}

#[test]
fn tc_7_2_2_1_and_2_segmentation_and_reassembly_framing_info_field_5_and_10_bit_sn() {
    for (bits, header) in [(5, 1), (10, 2)] {
        let (mut u, mut peer) = (UmUut::new(bits), UmUut::new(bits));
        u.um.push(ms(0), sdu(0, 100), &mut u.out);
        let pdus: Vec<_> = std::iter::from_fn(|| u.pull(header + 40)).collect();
        let fi: Vec<_> = pdus.iter().map(|d| (d.starts, d.ends)).collect();
        assert_eq!(fi, [(true, false), (false, false), (false, true)]);
        pdus.into_iter().for_each(|d| peer.receive(ms(0), d));
        assert_eq!(peer.delivered(), [0]);
    }
}

#[test]
fn tc_7_2_2_3_and_4_reassembly_li_value_above_pdu_size_5_and_10_bit_sn() {
    // FI=00 E=1, LI=100 with four bytes of data, and a valid PDU with the next SN.
    let bad = [0b0000_0110, 0b0100_0000, 1, 2, 3, 4];
    for (bits, first, next) in [(5, vec![0b0010_0000], vec![1, 7]), (10, vec![0b0000_0100, 0], vec![0, 1, 7])]
    {
        let mut u = WireRlc::new(&config(bits), End::Ue);
        u.receive(ms(0), &[&first[..], &bad].concat());
        u.receive(ms(0), &next);
        assert_eq!((u.undecodable, u.delivered().count()), (1, 0));
        u.on_time(ms(45));
        assert_eq!(u.delivered().collect::<Vec<_>>(), [[7]]);
    }
}

#[test]
fn tc_7_2_2_5_correct_use_of_sequence_numbering() {
    for bits in [5, 10] {
        let (mut u, mut peer) = (UmUut::new(bits), UmUut::new(bits));
        for i in 0..2100u64 {
            u.um.push(ms(0), sdu(i, 10), &mut u.out);
            let d = u.pull(20).unwrap();
            assert_eq!(u64::from(d.sn), i % (1 << bits));
            peer.receive(ms(i), d);
        }
        assert_eq!(peer.delivered(), (0..2100).collect::<Vec<_>>());
    }
}

#[test]
fn tc_7_2_2_6_concatenation_segmentation_and_reassembly() {
    let (mut u, mut peer) = (UmUut::new(10), UmUut::new(10));
    for i in 0..7 {
        u.um.push(ms(0), sdu(i, 10 + 17 * i as u32), &mut u.out);
    }
    for grant in [30, 7, 60, 3, 90, 500] {
        peer.receive(ms(0), u.pull(grant).unwrap());
    }
    assert_eq!(peer.delivered(), (0..7).collect::<Vec<_>>());
}

fn umd(sn: u32) -> DataPdu<Span> {
    amd(sn)
}

#[test]
fn tc_7_2_2_7_in_sequence_delivery_without_residual_loss_reordering_below_t_reordering() {
    let mut u = UmUut::new(10);
    for (t, sn) in [(0, 0), (1, 3), (20, 1), (40, 2)] {
        u.receive(ms(t), umd(sn));
    }
    assert_eq!(u.delivered(), [0, 1, 2, 3]);
    assert_eq!(u.um.poll_at(), None);
}

#[test]
fn tc_7_2_2_8_in_sequence_delivery_without_residual_loss_reordering_beyond_t_reordering() {
    let mut u = UmUut::new(10);
    u.receive(ms(0), umd(0));
    u.receive(ms(1), umd(2));
    assert_eq!(u.um.poll_at(), Some(ms(46)));
    u.um.on_time(ms(46), &mut u.out);
    assert_eq!(u.delivered(), [0, 2]);
    u.receive(ms(50), umd(1));
    assert_eq!((u.delivered(), u.um.stats().duplicates), (vec![], 1), "too late: below VR(UR)");
}

#[test]
fn tc_7_2_2_9_in_sequence_delivery_with_residual_loss() {
    // SDU 1 is in PDUs 0, 1 and 2; PDU 1 is lost: its segments are discarded, SDUs 0 and 2 are
    // delivered.
    let mut u = UmUut::new(10);
    u.receive(ms(0), data(0, &[(0, 20, 0, 20), (1, 60, 0, 20)]));
    u.receive(ms(1), data(2, &[(1, 60, 40, 20), (2, 20, 0, 20)]));
    assert_eq!(u.delivered(), [0]);
    u.um.on_time(ms(46), &mut u.out);
    assert_eq!(u.delivered(), [2]);
    // Two gaps: the timer runs again for PDUs received after it had started.
    u.receive(ms(50), umd(4));
    u.receive(ms(60), umd(6));
    u.um.on_time(ms(95), &mut u.out);
    assert_eq!((u.delivered(), u.um.poll_at()), (vec![4], Some(ms(140))));
    u.um.on_time(ms(140), &mut u.out);
    assert_eq!(u.delivered(), [6]);
}

#[test]
fn tc_7_2_2_10_duplicate_detection_of_rlc_pdus() {
    let mut u = UmUut::new(10);
    for sn in [0, 0, 2, 2, 1, 1, 2] {
        u.receive(ms(0), umd(sn));
    }
    assert_eq!((u.delivered(), u.um.stats().duplicates), (vec![0, 1, 2], 4));
}

#[test]
fn tc_7_2_2_11_reestablishment() {
    let mut u = UmUut::new(10);
    u.receive(ms(0), umd(1));
    u.um.push(ms(0), sdu(0, 100), &mut u.out);
    u.um.re_establish(&mut u.out);
    assert_eq!(u.delivered(), [1]);
    assert_eq!(u.out.dropped, [(sdu(0, 100), DropCause::Reestablishment)]);
    let s = u.um.state();
    assert_eq!((s.vt_us, s.vr_ur, s.vr_ux, s.vr_uh, u.um.poll_at()), (0, 0, 0, 0, None));
    u.receive(ms(1), umd(0));
    assert_eq!(u.delivered(), [0]);
}

/// TS 36.322 clause 5.1.2.2.3: a PDU beyond the window advances it; SDUs below the window are
/// delivered without waiting.
#[test]
fn a_pdu_beyond_the_reordering_window_moves_it() {
    let mut u = UmUut::new(5);
    for sn in [0, 2, 3] {
        u.receive(ms(0), umd(sn));
    }
    assert_eq!(u.delivered(), [0]);
    // With VR(UH) = 20 the lower edge is 4: SN 1 is skipped.
    u.receive(ms(1), umd(19));
    assert_eq!((u.delivered(), u.um.state().vr_ur), (vec![2, 3], 4));
}
