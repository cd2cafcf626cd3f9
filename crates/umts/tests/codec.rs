//! Octets: every PDU and super-field is decoded as it was encoded, and no input makes a decoder
//! panic.

use lasthop_bearer::Sdu;
use lasthop_umts::rlc::codec::{decode_am, decode_um, encode_am, encode_um, zeros};
use lasthop_umts::rlc::pdu::{AmSn, DataPdu, Pdu, ResetPdu, StatusPdu, Sufi, UmPdu, UmSn};
use lasthop_umts::rlc::segment::{DataLayout, EndMark, Segment, Segments};
use proptest::prelude::*;

fn sn() -> impl Strategy<Value = AmSn> {
    (0u32..4096).prop_map(AmSn::new)
}

fn sufi() -> impl Strategy<Value = Sufi> {
    prop_oneof![
        (0u16..4096).prop_map(Sufi::Window),
        prop::collection::vec((sn(), 0u8..16), 1..16).prop_map(|l| Sufi::List(l.into_iter().collect())),
        (sn(), prop::collection::vec(any::<u8>(), 1..17))
            .prop_map(|(fsn, o)| Sufi::Bitmap { fsn, octets: o.into_iter().collect() }),
        (sn(), prop::collection::vec(0u8..16, 0..16))
            .prop_map(|(fsn, c)| Sufi::Rlist { fsn, codewords: c.into_iter().collect() }),
        (prop::collection::vec(sn(), 1..16), 0u8..16).prop_map(|(s, n_length)| Sufi::Mrw {
            beyond_window: false,
            sns: s.into_iter().collect(),
            n_length,
        }),
        (sn(), 0u8..16).prop_map(|(sn, n_length)| Sufi::Mrw {
            beyond_window: true,
            sns: [sn].into_iter().collect(),
            n_length,
        }),
        (0u8..16, sn()).prop_map(|(n, sn)| Sufi::MrwAck { n, sn }),
    ]
}

fn status() -> impl Strategy<Value = StatusPdu> {
    (prop::collection::vec(sufi(), 0..4), prop::option::of(sn()))
        .prop_map(|(sufis, ack)| StatusPdu { sufis: sufis.into_iter().chain(ack.map(Sufi::Ack)).collect() })
}

/// A data field as a sender builds it: SDUs that end after `lens`; the rest is a continuing SDU or
/// padding.
fn segments(layout: DataLayout, first: EndMark, lens: &[u16], continues: bool) -> (Segments, u32) {
    let mut list = Segments::new();
    let mut room = layout.payload;
    let segment = |len, end| Segment { sdu: Sdu::anonymous(), offset: 0, len, end };
    if first != EndMark::None {
        list.push(segment(0, first));
        room -= layout.li;
    }
    for len in lens {
        let need = u32::from(*len) + layout.li;
        if need > room {
            break;
        }
        list.push(segment(*len, EndMark::Here));
        room -= need;
    }
    // One octet after a 15-bit LI is padding.
    if continues && room > 0 && !(layout.li == 2 && room == 1 && !list.is_empty()) {
        list.push(segment(room as u16, EndMark::None));
        room = 0;
    }
    (list, room)
}

proptest! {
    #[test]
    fn status_pdus_survive_the_wire(status in status()) {
        let pdu = Pdu::Status(Box::new(status.clone()));
        let octets = encode_am(&pdu, DataLayout::am(40), &mut zeros);
        prop_assert!(octets.len() >= 42 && octets.len() >= status.bits().div_ceil(8));
        prop_assert_eq!(decode_am(&octets, DataLayout::am(40)), Ok(pdu));
    }

    #[test]
    fn resets_survive_the_wire(rsn: bool, hfni in 0u32..1 << 20, ack: bool) {
        let r = ResetPdu { rsn, hfni };
        let pdu = if ack { Pdu::ResetAck(r) } else { Pdu::Reset(r) };
        let octets = encode_am(&pdu, DataLayout::am(40), &mut zeros);
        prop_assert_eq!(octets.len(), 42);
        prop_assert_eq!(decode_am(&octets, DataLayout::am(40)), Ok(pdu));
    }

    #[test]
    fn data_pdus_survive_the_wire(
        payload in prop::sample::select(vec![10u32, 40, 124, 125, 200, 1000]),
        sn in sn(), poll: bool, mark in 0u8..3, lens in prop::collection::vec(1u16..60, 0..6),
        continues: bool, status in prop::option::of(status()),
    ) {
        let layout = DataLayout::am(payload);
        let first = match (mark, layout.li) {
            (1, _) => EndMark::Previous,
            (2, 2) => EndMark::PreviousShort,
            _ => EndMark::None,
        };
        let (segments, room) = segments(layout, first, &lens, continues);
        let fits = |s: &StatusPdu| s.bits().div_ceil(8) as u32 + layout.li <= room;
        let piggyback = status.filter(fits).map(Box::new);
        let pdu = Pdu::Data(DataPdu { sn, hfn: DataPdu::NO_HFN, poll, segments, piggyback });
        let octets = encode_am(&pdu, layout, &mut |_, place| place.fill(0xff));
        prop_assert_eq!(octets.len() as u32, payload + 2);
        prop_assert_eq!(decode_am(&octets, layout), Ok(pdu));
    }

    #[test]
    fn unacknowledged_pdus_survive_the_wire(
        payload in prop::sample::select(vec![10u32, 41, 124, 125, 200]),
        sn in 0u32..128, starts_sdu: bool, lens in prop::collection::vec(1u16..60, 0..6), continues: bool,
    ) {
        let layout = DataLayout::um(payload);
        let room = DataLayout { payload: payload - if starts_sdu { layout.li } else { 0 }, ..layout };
        let (segments, _) = segments(room, EndMark::None, &lens, continues);
        let pdu = UmPdu { sn: UmSn::new(sn), starts_sdu, segments };
        let octets = encode_um(&pdu, layout, &mut zeros);
        prop_assert_eq!(octets.len() as u32, payload + 1);
        prop_assert_eq!(decode_um(&octets, layout), Ok(pdu));
    }

    #[test]
    fn any_octets_are_decoded_or_refused(
        octets in prop::collection::vec(any::<u8>(), 0..300),
        payload in prop::sample::select(vec![1u32, 10, 40, 124, 125, 200]),
    ) {
        if let Ok(Pdu::Status(s)) = decode_am(&octets, DataLayout::am(payload)) {
            s.sufis.iter().for_each(|sufi| sufi.for_each_missing(|_| ()));
        }
        let _ = decode_um(&octets, DataLayout::um(payload));
    }
}

/// Octets worked out by hand from TS 25.322 clauses 9.2.1.4 and 9.2.2.8: D/C 1, SN 0x123, P 1, HE
/// 01; LI 33 with E 1; padding LI 127 with E 0.
#[test]
fn a_data_pdu_looks_as_in_the_standard() {
    let layout = DataLayout::am(40);
    let segment = Segment { sdu: Sdu::anonymous(), offset: 0, len: 33, end: EndMark::Here };
    let pdu = Pdu::Data(DataPdu {
        sn: AmSn::new(0x123),
        hfn: 0,
        poll: true,
        segments: Segments::from_slice(&[segment]),
        piggyback: None,
    });
    let octets = encode_am(&pdu, layout, &mut |_, place| place.fill(0xaa));
    // 1 000 1001 | 0001 1 1 01 | 0100001 1 | 1111111 0 | data
    assert_eq!(octets[..4], [0x89, 0x1d, 0x43, 0xfe]);
    assert_eq!((octets[4], octets[36], octets[37], octets.len()), (0xaa, 0xaa, 0, 42));
}

/// STATUS: D/C 0, type 000; ACK 0010, LSN 0x7ff.
#[test]
fn a_status_pdu_looks_as_in_the_standard() {
    let status = StatusPdu { sufis: [Sufi::Ack(AmSn::new(0x7ff))].into_iter().collect() };
    let octets = encode_am(&Pdu::Status(Box::new(status)), DataLayout::am(40), &mut zeros);
    assert_eq!(octets[..3], [0x02, 0x7f, 0xf0]);
}
