//! Multicast against closed forms: one transmission for any size of the group, independent
//! receivers.

use super::*;
use crate::mac::downlink::{AmcConfig, BlerTargetConfig};
use crate::mac::sidelink::mcs_of_cqi;
use crate::network::GroupConfig;
use crate::network::trace::TraceRecord;
use lasthop_radio::lte::{ErrorModel, Mcs, McsTable, SoftBuffer, mean_mi};

/// The first of `places` is the sender's; every UE has a bearer of its own.
fn group(
    cell: CellConfig,
    places: &[[f64; 2]],
    link: &SidelinkConfig,
    cqi: Option<u8>,
    change: impl Fn(&mut LteBearerConfig),
) -> World {
    cell.validate().unwrap();
    link.validate().unwrap();
    let mut config = NetworkConfig::default();
    let serving = config.cells.push(cell);
    let mut layers = LteBearerConfig::default();
    layers.rlc.mode = Mode::Um;
    for place in places {
        let mut ue = UeConfig::served_by(serving);
        ue.radio.pinned_sinr = Some(Db(40.0));
        ue.radio.position = [Metres(place[0]), Metres(place[1]), Metres(1.5)];
        let ue = config.ues.push(ue);
        config.bearers.push(DrbConfig { ue, layers: layers.clone(), qos: Qos::default(), ip_buffer: None });
    }
    change(&mut layers);
    let to = (1..places.len()).map(UeId::from_index).collect();
    config.groups.push(GroupConfig { from: UeId::from_index(0), to, layers, link: link.clone(), cqi });
    let mut network = RadioNetwork::new(&config, 1);
    network.trace().set(true);
    World {
        network,
        out: NetworkOutput::default(),
        delivered: Vec::new(),
        dropped: Vec::new(),
        switches: Vec::new(),
        packets: 0,
        pairs: 0,
    }
}

/// `n` receivers 20 m from the sender.
fn around(n: usize) -> Vec<[f64; 2]> {
    [[20.0, 0.0]].into_iter().chain((0..n).map(|i| [20.0, if i % 2 == 0 { 20.0 } else { -20.0 }])).collect()
}

impl World {
    fn members(&self) -> usize {
        self.network.sidelink.as_ref().unwrap().of_group.len()
    }

    /// Pushes a packet to all: the copy of receiver k is number `first + k`.
    fn push_all(&mut self, at: Instant, size: u32) -> usize {
        self.run_until(at);
        let (first, n) = (self.packets, self.members());
        self.packets += n;
        for k in (0..n).rev() {
            let sdu = Sdu::new(PacketId::from_index(first + k), size);
            self.network.push_direct(at, 0, k as u32, sdu, &mut self.out);
        }
        self.take(at, None);
        first
    }

    fn sent(&mut self) -> Vec<TraceRecord> {
        let sends =
            |r: &TraceRecord| r.link == TraceLink::Sidelink && matches!(r.step, Step::Data | Step::Again);
        self.network.trace().drain().filter(sends).collect()
    }
}

/// The published 15 TTIs of a leg, for all receivers at once; the resource blocks of one
/// transmission, as to a single receiver; with four transmissions (TS 36.321 clause 5.14.1.2.2)
/// four times as many, 8 TTIs apart, and a decoded block is not delivered twice.
#[test]
fn a_group_receives_one_transmission() {
    let run = |n: usize, transmissions: u8| {
        let link = SidelinkConfig { transmissions, ..pinned(15) };
        let mut w = group(simulte(), &around(n), &link, None, |_| ());
        w.push_all(MS(20), 576);
        w.run_until(MS(200));
        assert_eq!(w.delivered, (0..n).map(|k| (k, MS(35))).collect::<Vec<_>>());
        assert_eq!(w.network.next_tti(), None, "the network sleeps again");
        let sent: Vec<u64> = w.sent().iter().map(|r| r.tti.0).collect();
        let stats = *w.network.view().sidelinks().stats(0).unwrap();
        assert_eq!((stats.blocks, stats.errors, stats.lost), (1, 0, 0));
        (sent, stats.resource_blocks)
    };
    let (sent, blocks) = run(1, 1);
    assert_eq!(sent, [31]);
    assert_eq!(run(9, 1), (sent, blocks));
    assert_eq!(run(9, 4), (vec![31, 39, 47, 55], 4 * blocks));
}

/// The link's CQI is that of the blocks, and the MCS of a CQI is one that fails with probability
/// 0.4.
fn lossy() -> CellConfig {
    let mut cell = simulte();
    cell.uplink.data_errors = true;
    let amc = BlerTargetConfig {
        target: lasthop_units::Ratio(0.4),
        reference_blocks: 4,
        ..BlerTargetConfig::default()
    };
    cell.uplink.amc = AmcConfig::BlerTarget(amc);
    cell
}

/// Blocks of one error probability p: the losses of each of three receivers are binomial, and two
/// receivers lose the same block with probability p^2: their draws are independent. 3000 packets,
/// four standard deviations: sqrt(p (1 - p) / 3000).
#[test]
fn losses_of_receivers_are_binomial_and_independent() {
    let link = SidelinkConfig { transmissions: 1, ..pinned(9) };
    let mut w = group(lossy(), &around(3), &link, Some(9), |_| ());
    let n = 3000;
    for i in 0..n {
        w.push_all(MS(20 + 25 * i), 100);
    }
    w.run_until(MS(20 + 25 * n + 100));
    let p = error_at_each_transmission(&mut w, 1)[0];
    assert!((0.05..0.95).contains(&p), "{p}: not worth a test");
    let got = |k: usize, i: usize| w.delivered.iter().any(|d| d.0 == 3 * i + k);
    let lost: Vec<[bool; 3]> = (0..n as usize).map(|i| [0, 1, 2].map(|k| !got(k, i))).collect();
    let share =
        |which: &dyn Fn(&[bool; 3]) -> bool| lost.iter().filter(|l| which(l)).count() as f64 / n as f64;
    let near = |found: f64, p: f64| {
        let off = 4.0 * (p * (1.0 - p) / n as f64).sqrt();
        assert!((found - p).abs() < off, "{found} of {p} +- {off}");
    };
    for k in 0..3 {
        near(share(&|l| l[k]), p);
        near(share(&|l| l[k] && l[(k + 1) % 3]), p * p);
        let counted = w.network.view().sidelinks().lost(0, k).unwrap();
        assert_eq!(counted, lost.iter().filter(|l| l[k]).count() as u64);
    }
    assert!(w.dropped.iter().all(|d| d.1 == DropCause::RadioLoss));
    assert_eq!(w.dropped.len() + w.delivered.len(), 3 * n as usize, "each copy has one outcome");
}

/// The probability that a receiver cannot decode after 1, 2, ... transmissions, by the error model
/// and the combining of redundancy, for the blocks in the trace.
fn error_at_each_transmission(w: &mut World, transmissions: usize) -> Vec<f64> {
    let sent = w.sent();
    assert!(sent.iter().all(|r| (r.mcs, r.blocks) == (sent[0].mcs, sent[0].blocks)), "blocks of one kind");
    let (mcs, blocks) = (sent[0].mcs.unwrap(), sent[0].blocks as usize);
    assert_eq!(mcs, mcs_of_cqi(9));
    let cell = &w.network.cells[CellId::from_index(0)].uplink;
    let level = cell.adaptation.needed(mcs);
    let block = ErrorModel::of_grant(Mcs::new(mcs), McsTable::Uplink, blocks).unwrap();
    let mut soft = SoftBuffer::new(cell.config.harq.combining.into());
    let sinr = vec![lasthop_radio::linear(Db(f64::from(level))) as f32; blocks];
    let mut each = || {
        soft.add(&block, mean_mi(block.modulation(), &sinr));
        block.combined_error(&soft)
    };
    (0..transmissions).map(|_| each()).collect()
}

/// There is no feedback, and a receiver combines all transmissions: it decodes the block after k
/// transmissions, 8 TTIs apart, with probability p(k - 1) - p(k).
#[test]
fn receivers_join_the_transmissions_of_a_block() {
    let link = SidelinkConfig { transmissions: 2, ..pinned(9) };
    let mut w = group(lossy(), &around(2), &link, Some(9), |_| ());
    let n = 1500;
    for i in 0..n {
        w.push_all(MS(20 + 40 * i), 100);
    }
    w.run_until(MS(20 + 40 * n + 100));
    let p = error_at_each_transmission(&mut w, 2);
    let after = |ms: u64| {
        let late = |d: &&(usize, Instant)| d.1 == MS(20 + 40 * (d.0 as u64 / 2) + ms);
        w.delivered.iter().filter(late).count() as f64 / (2 * n) as f64
    };
    for (found, expected) in [(after(15), 1.0 - p[0]), (after(23), p[0] - p[1])] {
        let off = 4.0 * (expected * (1.0 - expected) / (2 * n) as f64).sqrt();
        assert!((found - expected).abs() <= off, "{found} of {expected} +- {off}");
    }
    assert_eq!(w.dropped.len() + w.delivered.len(), 2 * n as usize);
    let stats = w.network.view().sidelinks().stats(0).unwrap();
    assert_eq!((stats.blocks, stats.retransmissions), (n, n), "sent again, whichever listener has it");
}

/// Reception by each receiver's path loss: with the MCS for 20 m, a receiver 20 m away decodes
/// everything, one 3 km away nothing, unless the eNB selects the MCS by the worst link.
#[test]
fn each_receiver_has_its_own_link() {
    let places = [[20.0, 0.0], [40.0, 0.0], [3020.0, 0.0]];
    let run = |cqi| {
        let mut cell = simulte();
        cell.uplink.data_errors = true;
        let link =
            SidelinkConfig { header: 0, transmissions: 1, power: Dbm(12.0), ..SidelinkConfig::default() };
        let mut w = group(cell, &places, &link, cqi, |_| ());
        for i in 0..50 {
            w.push_all(MS(20 + 50 * i), 500);
        }
        w.run_until(MS(5000));
        let mcs = w.sent()[0].mcs.unwrap();
        ([0, 1].map(|k| w.delivered.iter().filter(|d| d.0 % 2 == k).count()), mcs)
    };
    assert_eq!(run(Some(15)), ([50, 0], mcs_of_cqi(15)));
    let (got, mcs) = run(None);
    assert!(got == [50, 50] && mcs < mcs_of_cqi(15), "{got:?} {mcs}");
}

/// With one radio, a receiver that transmits its report in TTI 31 misses the first of two
/// transmissions and receives the second.
#[test]
fn a_receiver_that_transmits_receives_the_repetition() {
    let mut cell = simulte();
    cell.sidelink.half_duplex = true;
    let link = SidelinkConfig { transmissions: 2, ..pinned(15) };
    let mut w = group(cell, &around(2), &link, None, |_| ());
    w.push_all(MS(20), 576);
    // Its own packet for the eNB: request in 26, report in 31.
    w.run_until(MS(26));
    let own = Sdu::new(PacketId::from_index(99), 400);
    w.network.push(MS(26), BearerId::from_index(1), End::Ue, own, &mut w.out);
    w.run_until(MS(200));
    let mut group: Vec<_> = w.delivered.iter().filter(|d| d.0 != 99).copied().collect();
    group.sort_unstable();
    assert_eq!(group, [(0, MS(43)), (1, MS(35))]);
}

/// A full buffer of the sender drops a packet for all receivers, and no copy is lost or doubled.
#[test]
fn no_receiver_gets_what_the_sender_drops() {
    let change =
        |layers: &mut LteBearerConfig| layers.rlc.buffer.packets = lasthop_bearer::OrInfinity::Value(10);
    let mut w = group(simulte(), &around(4), &pinned(9), None, change);
    for _ in 0..30 {
        w.push_all(MS(20), 1400);
    }
    w.run_until(MS(2000));
    let got = |k: usize| -> Vec<usize> {
        let mut got: Vec<_> = w.delivered.iter().filter(|d| d.0 % 4 == k).map(|d| d.0 / 4).collect();
        got.sort_unstable();
        got
    };
    assert_eq!(got(0), (0..10).collect::<Vec<_>>());
    assert!((1..4).all(|k| got(k) == got(0)));
    assert!(w.dropped.len() == 4 * 20 && w.dropped.iter().all(|d| d.1 == DropCause::BufferFull));
    for bearer in w.network.bearers.ids() {
        assert_eq!(w.network.view().inside(bearer, End::Network), 0);
    }
}
