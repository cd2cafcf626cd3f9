//! Transmitter vectors: one SDU in one PDU, segmentation, concatenation, buffer status after each
//! event, headers byte by byte (the arithmetic beside each).

#![allow(clippy::unusual_byte_groupings)] // grouped as the fields are

use super::support::*;
use lasthop_lte_l2::rlc::codec::{Chunk, DecodeError, decode, encode};
use lasthop_lte_l2::rlc::*;
use proptest::prelude::*;

struct Tx {
    rlc: Rlc,
    out: RlcOutput,
}

impl Tx {
    fn new(config: &RlcConfig) -> Tx {
        Tx { rlc: Rlc::new(config, End::Ue), out: RlcOutput::default() }
    }
    fn push(&mut self, serial: u64, size: u32) -> u64 {
        self.rlc.push(ms(0), sdu(serial, size), &mut self.out);
        self.status()
    }
    fn status(&self) -> u64 {
        self.rlc.buffer_status().total()
    }
    /// Returns the header bytes and the size of the only PDU of a grant.
    fn pull(&mut self, grant: u32) -> (Vec<u8>, usize) {
        let mut pdus = Vec::new();
        self.rlc.pull(ms(0), Grant::of(grant), &mut pdus, &mut self.out);
        assert_eq!(pdus.len(), 1);
        let mut header = None;
        let bytes = encode(&pdus[0], self.rlc.format().unwrap(), |_, len, to| {
            header.get_or_insert(to.len());
            to.extend(std::iter::repeat_n(0x55, len as usize));
        });
        (bytes[..header.unwrap()].to_vec(), bytes.len())
    }
}

fn um(sn_bits: u32) -> RlcConfig {
    let um = UmConfig { sn_bits, ..UmConfig::default() };
    RlcConfig { mode: Mode::Um, um, ..RlcConfig::default() }
}

/// AM with polls only at an empty buffer.
fn am() -> RlcConfig {
    let mut c = RlcConfig::default();
    c.am.poll_pdu = OrInfinity::INFINITY;
    c.am.poll_byte = OrInfinity::INFINITY;
    c
}

#[test]
fn um_one_sdu_in_one_pdu() {
    let mut tx = Tx::new(&um(10));
    assert_eq!(tx.push(0, 20), 20);
    assert_eq!(tx.push(1, 20), 40);
    // R1 R1 R1 FI=00 E=0 SN=0; 2 B + 20 B.
    assert_eq!(tx.pull(22), (vec![0b000_00_0_00, 0], 22));
    assert_eq!(tx.status(), 20);
    assert_eq!(tx.pull(22), (vec![0b000_00_0_00, 1], 22));
    assert_eq!(tx.status(), 0);
}

#[test]
fn um_segmentation() {
    let mut tx = Tx::new(&um(10));
    assert_eq!(tx.push(0, 20), 20);
    // First segment: FI = 01 (does not end with the SDU); 8 B of data, 12 remain.
    assert_eq!(tx.pull(10), (vec![0b000_01_0_00, 0], 10));
    assert_eq!(tx.status(), 12);
    assert_eq!(tx.pull(10), (vec![0b000_11_0_00, 1], 10));
    assert_eq!(tx.status(), 4);
    assert_eq!(tx.pull(10), (vec![0b000_10_0_00, 2], 6));
    let mut short = Tx::new(&um(5));
    short.push(0, 3);
    // FI=01 E=0 SN=00000: a grant of 2 B carries one byte.
    assert_eq!(short.pull(2), (vec![0b01_0_00000], 2));
    assert_eq!(short.pull(9), (vec![0b10_0_00001], 3));
}

#[test]
fn um_concatenation() {
    let mut tx = Tx::new(&um(10));
    for i in 0..3 {
        tx.push(i, 20);
    }
    // E=1; E=1 LI=20, E=0 LI=20: 2 + 3 + 60 = 65 B.
    let li = [0b1000_0001, 0b0100_0000, 0b0001_0100];
    assert_eq!(tx.pull(100), (vec![0b000_00_1_00, 0, li[0], li[1], li[2]], 65));
    assert_eq!(tx.status(), 0);
}

#[test]
fn am_one_sdu_segmentation_and_concatenation() {
    let mut tx = Tx::new(&am());
    tx.push(0, 20);
    tx.push(1, 20);
    // D/C=1 RF=0 P=0 FI=00 E=0 SN=0.
    assert_eq!(tx.pull(22), (vec![0b1_0_0_00_0_00, 0], 22));
    // The last PDU empties the buffer and carries a poll.
    assert_eq!(tx.pull(22), (vec![0b1_0_1_00_0_00, 1], 22));
    tx.push(2, 30);
    tx.push(3, 30);
    // 2 + 2 (E=0, LI=30, padding) + 30 + 6 of the second SDU, 24 of which remain.
    assert_eq!(tx.pull(40), (vec![0b1_0_0_01_1_00, 2, 0b0000_0001, 0b1110_0000], 40));
    assert_eq!(tx.status(), 24);
    assert_eq!(tx.pull(40), (vec![0b1_0_1_10_0_00, 3], 26));
}

#[test]
fn am_wide_fields() {
    let mut config = am();
    config.am.sn_bits = 16;
    config.am.li_bits = 15;
    let mut tx = Tx::new(&config);
    tx.push(0, 3000);
    tx.push(1, 10);
    // D/C RF P FI E R1 R1 | SN 16 | E=0 LI=3000 (15 bits).
    let li = 3000u16.to_be_bytes();
    assert_eq!(tx.pull(5000), (vec![0b1_0_1_00_1_0_0, 0, 0, li[0], li[1]], 5 + 3010));
}

/// TS 36.322 6.2.1.1: with an LI of 11 bits an SDU above 2047 B can only be the last element of a
/// PDU.
#[test]
fn an_sdu_that_no_length_indicator_describes_ends_its_pdu() {
    let mut tx = Tx::new(&am());
    tx.push(0, 3000);
    tx.push(1, 10);
    assert_eq!(tx.pull(3004).1, 3002);
    assert_eq!(tx.pull(3500).1, 12);
}

/// Buffer status of AM: a retransmission counts whole, with its header, until it is acknowledged.
#[test]
fn am_buffer_status_after_each_event() {
    let mut tx = Tx::new(&am());
    assert_eq!(tx.push(0, 100), 100);
    tx.pull(102);
    assert_eq!(tx.status(), 0);
    let nack = |sn, portion| Pdu::Status(StatusPdu { ack_sn: 1, nacks: vec![Nack { sn, portion }] });
    tx.rlc.receive(ms(1), &nack(0, None), &mut tx.out);
    assert_eq!(tx.status(), 102);
    // 4 B of segment header and 46 of data; 54 B and a header remain.
    assert_eq!(tx.pull(50).1, 50);
    assert_eq!(tx.status(), 58);
    tx.rlc.receive(ms(2), &nack(0, Some((10, 19))), &mut tx.out);
    assert_eq!(tx.status(), 58 + 14, "10 more bytes in a segment of their own");
    tx.rlc.receive(ms(3), &Pdu::Status(StatusPdu { ack_sn: 1, nacks: vec![] }), &mut tx.out);
    assert_eq!(tx.status(), 0);
    assert_eq!(tx.out.confirmed, [sdu(0, 100)]);
}

/// TS 36.322 figures 6.2.1.5-1 and 6.2.1.6-1, by hand.
#[test]
fn segments_and_status_pdus_byte_by_byte() {
    let f = Format::am(10, 11);
    let e = |len| Element { payload: Span { sdu: sdu(0, 50), offset: 0 }, len };
    let fill = |_: &Span, len: u32, to: &mut Vec<u8>| to.extend(std::iter::repeat_n(0x55, len as usize));
    let segment = Pdu::Amd(DataPdu {
        sn: 0x2aa,
        poll: true,
        starts: true,
        ends: false,
        segment: Some(Segment { so: 0x1234, last: true }),
        elements: vec![e(1)],
    });
    // D/C=1 RF=1 P=1 FI=01 E=0 SN=10_10101010; LSF=1 SO=001_0010_0011_0100.
    assert_eq!(encode(&segment, f, fill), [0b1_1_1_01_0_10, 0xaa, 0b1_0010010, 0x34, 0x55]);
    let status = Pdu::Status(StatusPdu {
        ack_sn: 5,
        nacks: vec![Nack { sn: 1, portion: None }, Nack { sn: 3, portion: Some((2, SO_END)) }],
    });
    // 0 000 0000000101 1 | 0000000001 1 0 | 0000000011 0 1 000000000000010 111111111111111 |
    // padding: 69 bits, 9 B.
    let bits = concat!("0", "000", "0000000101", "1", "0000000001", "1", "0");
    let bits = format!(
        "{bits}{}",
        "0000000011".to_owned() + "0" + "1" + "000000000000010" + "111111111111111" + "000"
    );
    let bytes: Vec<u8> = (0..9).map(|i| u8::from_str_radix(&bits[8 * i..8 * i + 8], 2).unwrap()).collect();
    assert_eq!(encode(&status, f, fill), bytes);
    assert_eq!(status.size(f), 9);
}

#[test]
fn malformed_bytes_are_refused_by_name() {
    let f = Some(Format::am(10, 11));
    let error = |bytes: &[u8], f| decode(bytes, f).unwrap_err();
    assert_eq!(error(&[], f), DecodeError::Truncated);
    assert_eq!(error(&[0x80], f), DecodeError::Truncated);
    assert_eq!(error(&[0x80, 0], f), DecodeError::Empty);
    assert_eq!(error(&[0x10, 0], f), DecodeError::Reserved);
    assert_eq!(error(&[0x00, 0x02], f), DecodeError::Truncated, "E1 promises a NACK");
    // E=1, LI=0; LI larger than the data field.
    assert_eq!(error(&[0x84, 0, 0, 0, 1], f), DecodeError::LengthIndicator);
    assert_eq!(error(&[0x84, 0, 0x00, 0x20, 1, 2], f), DecodeError::LengthIndicator);
}

fn formats() -> impl Strategy<Value = Format> {
    prop::sample::select(vec![
        Format::um(5),
        Format::um(10),
        Format::am(10, 11),
        Format::am(10, 15),
        Format::am(16, 11),
        Format::am(16, 15),
    ])
}

proptest! {
    /// Any bytes are decoded or refused; what is decoded is encoded to the same bytes but for
    /// reserved bits and padding, so a second round changes nothing.
    #[test]
    fn decoders_survive_any_bytes(bytes: Vec<u8>, f in formats()) {
        if let Ok(pdu) = decode(&bytes, Some(f)) {
            let again = reencode(&pdu, f);
            prop_assert!(again.len() <= bytes.len());
            let twice = decode(&again, Some(f)).unwrap();
            prop_assert_eq!(reencode(&twice, f), again);
        }
    }

    #[test]
    fn data_pdus_survive_the_wire(
        f in formats(), sn: u32, poll: bool, starts: bool, ends: bool,
        segment in prop::option::of((0u32..0x7fff, any::<bool>())),
        lens in prop::collection::vec(1u32..2047, 1..8),
    ) {
        let segment = segment.filter(|_| f.acknowledged).map(|(so, last)| Segment { so, last });
        let elements: Vec<_> =
            lens.iter().map(|&len| Element { payload: Span { sdu: sdu(0, 4000), offset: 0 }, len }).collect();
        let sn = sn & ((1 << f.sn_bits) - 1);
        let d = DataPdu { sn, poll: poll && f.acknowledged, starts, ends, segment, elements };
        let pdu = if f.acknowledged { Pdu::Amd(d.clone()) } else { Pdu::Umd(d.clone()) };
        let bytes = encode(&pdu, f, |_, len, to| to.extend((0..len).map(|i| i as u8)));
        prop_assert_eq!(bytes.len() as u32, pdu.size(f));
        let (Pdu::Amd(got) | Pdu::Umd(got)) = decode(&bytes, Some(f)).unwrap() else { panic!("data") };
        prop_assert_eq!((got.sn, got.poll, got.starts, got.ends, got.segment), (sn, d.poll, starts, ends, segment));
        prop_assert_eq!(got.elements.iter().map(|e| e.len).collect::<Vec<_>>(), lens);
        for e in &got.elements {
            prop_assert!(e.payload.bytes()[..e.len as usize].iter().enumerate().all(|(i, &b)| b == i as u8));
        }
    }

    #[test]
    fn status_pdus_survive_the_wire(
        wide: bool, ack: u32,
        nacks in prop::collection::vec((any::<u32>(), prop::option::of((0u32..0x7ffe, any::<bool>()))), 0..40),
    ) {
        let f = if wide { Format::am(16, 11) } else { Format::am(10, 11) };
        let mask = (1 << f.sn_bits) - 1;
        let nacks: Vec<Nack> = nacks
            .into_iter()
            .map(|(sn, p)| Nack {
                sn: sn & mask,
                portion: p.map(|(from, open)| (from, if open { SO_END } else { from + 1 })),
            })
            .collect();
        let status = StatusPdu { ack_sn: ack & mask, nacks };
        let bytes = encode(&Pdu::Status(status.clone()), f, |_, _, _| ());
        prop_assert_eq!(bytes.len() as u32, f.status(&status));
        let Pdu::Status(got) = decode(&bytes, Some(f)).unwrap() else { panic!("status") };
        prop_assert_eq!(got, status);
    }
}

/// The bytes of a decoded PDU.
fn reencode(pdu: &Pdu<Chunk>, f: Format) -> Vec<u8> {
    let mut chunks = Vec::new();
    let mut strip = |d: &DataPdu<_>| DataPdu {
        sn: d.sn,
        poll: d.poll,
        starts: d.starts,
        ends: d.ends,
        segment: d.segment,
        elements: d
            .elements
            .iter()
            .map(|e: &Element<Chunk>| {
                chunks.push(e.payload.clone());
                let offset = chunks.len() as u32 - 1;
                Element { payload: Span { sdu: sdu(0, 0), offset }, len: e.len }
            })
            .collect(),
    };
    let spans = match pdu {
        Pdu::Umd(d) => Pdu::Umd(strip(d)),
        Pdu::Amd(d) => Pdu::Amd(strip(d)),
        Pdu::Status(s) => Pdu::Status(s.clone()),
        Pdu::Tmd(_) => return Vec::new(),
    };
    encode(&spans, f, |s, len, to| to.extend_from_slice(&chunks[s.offset as usize].bytes()[..len as usize]))
}
