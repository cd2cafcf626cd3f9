//! SDU discard with explicit signalling, message by message (TS 25.322 v13.0.0 clause 11.6).

use lasthop_bearer::{DropCause, Sdu};
use lasthop_umts::rlc::Output;
use lasthop_umts::rlc::am::{AmConfig, AmEntity, OnMaxDat};
use lasthop_umts::rlc::pdu::{AmSn, Pdu, StatusPdu, Sufi};
use lasthop_units::{Bytes, Duration, Id, Instant, PacketId};
use smallvec::smallvec;

const NOW: Instant = Instant::from_millis(1);

fn config() -> AmConfig {
    AmConfig {
        on_max_dat: OnMaxDat::Discard,
        max_dat: 1,
        timer_status_prohibit: Duration::ZERO,
        buffer_bytes: Bytes(0),
        ..AmConfig::default()
    }
}

/// An entity with blocks of 40 octets and these SDUs in its buffer.
fn entity(cfg: AmConfig, sizes: &[u32]) -> AmEntity {
    let mut entity = AmEntity::new(cfg, Bytes(40));
    for (serial, size) in sizes.iter().enumerate() {
        let sdu = Sdu { serial: serial as u64, ..Sdu::new(PacketId::from_index(serial), *size) };
        entity.push_sdu(Instant::ZERO, sdu, &mut Output::default());
    }
    entity
}

fn pull(entity: &mut AmEntity, now: Instant, blocks: usize, out: &mut Output) -> Vec<Pdu> {
    let mut pdus = Vec::new();
    entity.pull(now, blocks, &mut pdus, out);
    pdus
}

fn status(sufis: &[Sufi]) -> Pdu {
    Pdu::Status(Box::new(StatusPdu { sufis: sufis.iter().cloned().collect() }))
}

/// A LIST of PDUs that are missing, one by one, and an ACK.
fn missing(sns: &[u32], lsn: u32) -> Pdu {
    status(&[Sufi::List(sns.iter().map(|sn| (AmSn::new(*sn), 0)).collect()), Sufi::Ack(AmSn::new(lsn))])
}

fn serials(sdus: &[Sdu]) -> Vec<u64> {
    sdus.iter().map(|s| s.serial).collect()
}

fn sufis(pdus: &[Pdu]) -> Vec<Sufi> {
    let statuses = pdus.iter().filter_map(|p| if let Pdu::Status(s) = p { Some(s) } else { None });
    statuses.flat_map(|s| s.sufis.iter().cloned()).collect()
}

fn data_sns(pdus: &[Pdu]) -> Vec<u32> {
    pdus.iter().filter_map(|p| if let Pdu::Data(d) = p { Some(d.sn.get()) } else { None }).collect()
}

/// Clauses 11.6.3 and 11.6.6.1: an SN_MRW is "less than VR(MR)". With a window of 1024 an order for
/// PDU 22 that arrives when VR(R) is 2300 is therefore obsolete, though 22 is closer to 2300
/// upwards (1818) than downwards (2278).
#[test]
fn an_obsolete_order_does_not_move_the_window_forward() {
    let mut sender = entity(config(), &[39; 2301]);
    let mut receiver = entity(config(), &[]);
    let mut out = Output::default();
    for lsn in (1..=2300).step_by(100) {
        for pdu in pull(&mut sender, NOW, 100, &mut out) {
            receiver.receive(NOW, pdu.clone(), &mut out);
        }
        sender.receive(NOW, status(&[Sufi::Ack(AmSn::new(lsn + 99))]), &mut out);
    }
    assert_eq!(out.delivered.len(), 2300);
    let order = Sufi::Mrw { beyond_window: false, sns: smallvec![AmSn::new(22)], n_length: 1 };
    receiver.receive(NOW, status(&[order]), &mut out);
    let answer = sufis(&pull(&mut receiver, NOW, 4, &mut out));
    assert!(answer.contains(&Sufi::MrwAck { n: 0, sn: AmSn::new(2300) }), "{answer:?}");
    for pdu in pull(&mut sender, NOW, 1, &mut out) {
        receiver.receive(NOW, pdu.clone(), &mut out);
    }
    assert_eq!(out.delivered.len(), 2301, "PDU 2300 is the next of the window");
}

/// Clause 11.6.4, third criterion: an ACK of all PDUs below SN_MRW ends the discard although
/// MRW_ACK was lost.
#[test]
fn an_acknowledgement_ends_the_discard() {
    let mut sender = entity(config(), &[39; 4]);
    let mut out = Output::default();
    assert_eq!(data_sns(&pull(&mut sender, NOW, 3, &mut out)), [0, 1, 2]);
    sender.receive(NOW, missing(&[0], 3), &mut out);
    let order = Sufi::Mrw { beyond_window: false, sns: smallvec![AmSn::new(1)], n_length: 0 };
    assert_eq!(sufis(&pull(&mut sender, NOW, 1, &mut out)), [order]);
    assert!(out.dropped.is_empty(), "the receiver may still deliver SDU 0");
    sender.receive(NOW, status(&[Sufi::Ack(AmSn::new(3))]), &mut out);
    assert_eq!(out.dropped.iter().map(|d| (d.0.serial, d.1)).collect::<Vec<_>>(), [(0, DropCause::MaxDat)]);
    // Timer_MRW does not run any more: only the new PDU is sent.
    let later = NOW + Duration::from_secs(1);
    sender.on_time(later, &mut out);
    let pdus = pull(&mut sender, later, 4, &mut out);
    assert_eq!((data_sns(&pdus), sufis(&pdus).len()), (vec![3], 0));
}

/// Clause 9.7.3.3 while a discard is in progress (clause 11.6.2, last paragraph): PDU 2 has used up
/// MaxDAT too. It is not sent any more, and its discard follows the first one.
#[test]
fn a_pdu_waits_for_its_discard_and_is_not_sent_meanwhile() {
    let mut sender = entity(config(), &[39; 4]);
    let mut out = Output::default();
    pull(&mut sender, NOW, 4, &mut out);
    sender.receive(NOW, missing(&[0], 2), &mut out);
    pull(&mut sender, NOW, 1, &mut out);
    sender.receive(NOW, missing(&[0, 2], 4), &mut out);
    assert!(pull(&mut sender, NOW, 4, &mut out).is_empty(), "beyond MaxDAT");
    sender.receive(NOW, status(&[Sufi::MrwAck { n: 0, sn: AmSn::new(2) }]), &mut out);
    let order = Sufi::Mrw { beyond_window: false, sns: smallvec![AmSn::new(3)], n_length: 0 };
    assert_eq!(sufis(&pull(&mut sender, NOW, 4, &mut out)), [order]);
    sender.receive(NOW, status(&[Sufi::MrwAck { n: 0, sn: AmSn::new(4) }]), &mut out);
    assert_eq!(out.dropped.iter().map(|d| d.0.serial).collect::<Vec<_>>(), [0, 2]);
    assert!(sender.is_drained());
}

/// Clause 11.6.3: "deliver all the successfully received SDUs" up to the last discarded one. PDUs 1
/// and 3 are missing. PDU 2 holds SDUs 2 and 3; SDU 2 may have begun in PDU 1, SDU 3 is complete.
#[test]
fn an_order_delivers_what_is_complete() {
    let mut sender = entity(config(), &[39, 39, 18, 20, 39, 39]);
    let mut receiver = entity(config(), &[]);
    let mut out = Output::default();
    let pdus = pull(&mut sender, NOW, 5, &mut out);
    for i in [0, 2] {
        receiver.receive(NOW, pdus[i].clone(), &mut out);
    }
    assert_eq!(serials(&out.delivered), [0]);
    let order = Sufi::Mrw { beyond_window: false, sns: smallvec![AmSn::new(4)], n_length: 0 };
    receiver.receive(NOW, status(&[order]), &mut out);
    assert_eq!(serials(&out.delivered), [0, 3]);
    receiver.receive(NOW, pdus[4].clone(), &mut out);
    assert_eq!(serials(&out.delivered), [0, 3, 5]);
}

/// Clause 11.6.2: an SDU of which only a part was sent ends in a PDU that is discarded unsent, so
/// VT(S) moves on and the next SDU follows at once; so an MRW_ACK of a receiver without the order
/// does not count as an answer.
#[test]
fn a_half_sent_sdu_costs_a_sequence_number() {
    let mut sender = entity(config(), &[100, 39]);
    let mut receiver = entity(config(), &[]);
    let mut out = Output::default();
    let pdus = pull(&mut sender, NOW, 2, &mut out);
    pdus.iter().for_each(|pdu| receiver.receive(NOW, pdu.clone(), &mut out));
    sender.receive(NOW, missing(&[0], 2), &mut out);
    let sent = pull(&mut sender, NOW, 2, &mut out);
    let order = Sufi::Mrw { beyond_window: false, sns: smallvec![AmSn::new(3)], n_length: 0 };
    assert_eq!((sufis(&sent), data_sns(&sent)), (vec![order], vec![3]));
    sender.receive(NOW, status(&[Sufi::MrwAck { n: 0, sn: AmSn::new(2) }]), &mut out);
    assert!(out.dropped.is_empty());
    // The new PDU overtakes the order: its octets are not those of SDU 0.
    receiver.receive(NOW, sent[1].clone(), &mut out);
    assert!(out.delivered.is_empty());
    receiver.receive(NOW, sent[0].clone(), &mut out);
    assert_eq!(serials(&out.delivered), [1]);
}
