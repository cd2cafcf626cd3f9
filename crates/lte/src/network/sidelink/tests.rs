//! Sidelinks against the published timeline, rule by rule, and against interference and losses.

mod cells;
mod group;
mod interference;
mod power;
mod shares;

use lasthop_units::{BearerId, CellId, Db, Dbm, Duration, Id, Instant, Metres, PacketId, UeId};

use super::super::trace::{Step, TraceLink};
use crate::mac::scheduler::qci::Qos;
use crate::mac::sidelink::{
    CqiStep, LinkMode, LinkQuality, Reuse, SelectionConfig, SidelinkConfig, SidelinkPersistent,
};
use crate::mac::uplink::{RacTimer, RequestConfig, UplinkConfig};
use crate::network::config::CellProfile;
use crate::network::{
    CellConfig, DrbConfig, NetworkConfig, NetworkEvent, NetworkOutput, PairConfig, RadioNetwork, UeConfig,
};
use LinkMode::{Direct, Infrastructure};
use lasthop_bearer::{DropCause, End, Sdu};
use lasthop_lte_l2::pdcp::LteBearerConfig;
use lasthop_lte_l2::rlc::Mode;

const MS: fn(u64) -> Instant = Instant::from_millis;

/// SimuLTE's cell, with the request timer of the published timeline.
fn simulte() -> CellConfig {
    let profile = CellProfile::Simulte;
    let request = RequestConfig::Rac { answer: 3, timer: 10, counts: RacTimer::Wall };
    let uplink = UplinkConfig { request, data_errors: false, ..profile.uplink() };
    let sidelink = profile.sidelink();
    CellConfig { resource_blocks: 50, timing: profile.timing(), uplink, sidelink, ..CellConfig::default() }
}

fn pinned(cqi: u8) -> SidelinkConfig {
    let steps = vec![CqiStep { from: Metres(0.0), cqi }];
    SidelinkConfig { quality: LinkQuality::Pinned { steps }, header: 0, ..SidelinkConfig::default() }
}

/// Pairs of UEs in one cell, every UE with a bearer of its own; pair i has the UEs 2i and 2i + 1.
struct World {
    network: RadioNetwork,
    out: NetworkOutput,
    /// Deliveries at the pair's receivers: destination and moment.
    delivered: Vec<(usize, Instant)>,
    dropped: Vec<(usize, DropCause)>,
    switches: Vec<(Instant, NetworkEvent)>,
    packets: usize,
    pairs: usize,
}

impl World {
    fn new(
        cell: CellConfig,
        places: &[[f64; 2]],
        link: &SidelinkConfig,
        change: impl Fn(&mut PairConfig),
    ) -> World {
        World::with(cell, places, link, change, |ue| ue.radio.pinned_sinr = Some(Db(40.0)))
    }

    /// As [`new`](World::new), without a pinned SINR towards the eNB; `radio` changes each UE.
    fn with(
        cell: CellConfig,
        places: &[[f64; 2]],
        link: &SidelinkConfig,
        change: impl Fn(&mut PairConfig),
        radio: impl Fn(&mut UeConfig),
    ) -> World {
        cell.validate().unwrap();
        link.validate().unwrap();
        let mut config = NetworkConfig::default();
        let serving = config.cells.push(cell);
        let mut layers = LteBearerConfig::default();
        layers.rlc.mode = Mode::Um;
        for place in places {
            let mut ue = UeConfig::served_by(serving);
            radio(&mut ue);
            ue.radio.position = [Metres(place[0]), Metres(place[1]), Metres(1.5)];
            let ue = config.ues.push(ue);
            config.bearers.push(DrbConfig {
                ue,
                layers: layers.clone(),
                qos: Qos::default(),
                ip_buffer: None,
            });
        }
        for i in 0..places.len() / 2 {
            let of = |k: usize| (UeId::from_index(2 * i + k), BearerId::from_index(2 * i + k));
            let mut pair = PairConfig {
                ues: [of(0).0, of(1).0],
                layers: layers.clone(),
                link: link.clone(),
                mode: [Direct; 2],
                selection: None,
                lossless: false,
                infrastructure: [of(0).1, of(1).1],
            };
            change(&mut pair);
            config.pairs.push(pair);
        }
        let mut network = RadioNetwork::new(&config, 1);
        network.trace().set(true);
        World {
            network,
            out: NetworkOutput::default(),
            delivered: Vec::new(),
            dropped: Vec::new(),
            switches: Vec::new(),
            packets: 0,
            pairs: places.len() / 2,
        }
    }

    fn pair(link: &SidelinkConfig, change: impl Fn(&mut PairConfig)) -> World {
        World::new(simulte(), &[[20.0, 0.0], [40.0, 0.0]], link, change)
    }

    fn push(&mut self, at: Instant, destination: u32, size: u32) -> usize {
        self.run_until(at);
        let id = self.packets;
        self.packets += 1;
        self.network.push_direct(at, destination, 0, Sdu::new(PacketId::from_index(id), size), &mut self.out);
        self.take(at, None);
        id
    }

    fn next(&self) -> Option<Instant> {
        self.network.next_tti().into_iter().chain(self.network.next_timer()).min()
    }

    /// Runs until `until`; for each packet that arrives, `answer` gives a destination and a size of
    /// a packet to send at once.
    fn run_answering(&mut self, until: Instant, answer: Option<(u32, u32)>) {
        while let Some(now) = self.next().filter(|t| *t < until) {
            match self.network.next_tti() == Some(now) {
                true => self.network.on_tti(now, &mut self.out),
                false => self.network.on_timer(now, &mut self.out),
            }
            self.take(now, answer);
        }
    }

    fn run_until(&mut self, until: Instant) {
        self.run_answering(until, None);
    }

    fn take(&mut self, now: Instant, answer: Option<(u32, u32)>) {
        let mut answers = 0;
        let own = 2 * self.pairs;
        let items: Vec<_> = self.out.delivered.drain(..).collect();
        for (bearer, end, sdu) in items {
            if bearer.index() < own && end == End::Network {
                // At the eNB: the packet is sent to the other UE of the pair.
                let other = BearerId::from_index(bearer.index() ^ 1);
                self.network.push(now, other, End::Network, Sdu::new(sdu.id, sdu.size()), &mut self.out);
                continue;
            }
            self.delivered.push((sdu.id.index(), now));
            answers += usize::from(sdu.size() > 100);
        }
        self.dropped.extend(self.out.dropped.drain(..).map(|(_, _, sdu, cause)| (sdu.id.index(), cause)));
        let events = self.out.events.drain(..).filter(|(_, e)| matches!(e, NetworkEvent::ModeSwitch { .. }));
        self.switches.extend(events.map(|(_, e)| (now, e)));
        if let Some((destination, size)) = answer.filter(|_| answers > 0) {
            self.push(now, destination, size);
        }
    }

    fn steps(&mut self) -> Vec<(u64, Step, TraceLink, usize)> {
        self.network.trace().drain().map(|r| (r.tti.0, r.step, r.link, r.ue.index())).collect()
    }
}

/// The paper's figure 4 with t = 20: RAC 0, report 5, decoded and granted 9, data 11, decoded 15;
/// the ACK likewise: 30.
#[test]
fn a_segment_and_its_ack_in_direct_mode_take_thirty_ttis() {
    let mut w = World::pair(&pinned(15), |_| ());
    w.push(MS(20), 0, 576);
    w.run_answering(MS(100), Some((1, 40)));
    assert_eq!(w.delivered, [(0, MS(35)), (1, MS(50))]);
    let leg = |t: u64, ue: usize| {
        use TraceLink::{Sidelink, Uplink};
        [
            (t, Step::Request, Uplink, ue),
            (t + 3, Step::Grant, Uplink, ue),
            (t + 5, Step::Report, Uplink, ue),
            (t + 5, Step::Report, Uplink, ue),
            (t + 5, Step::Data, Uplink, ue),
            (t + 9, Step::Decoded, Uplink, ue),
            (t + 9, Step::ReportReceived, Uplink, ue),
            (t + 9, Step::Grant, Sidelink, ue),
            (t + 11, Step::Data, Sidelink, ue),
            (t + 15, Step::Decoded, Sidelink, ue),
        ]
    };
    let mut steps = w.steps();
    // The last decoding and the events that follow it share a TTI; the block of a report has an
    // empty one for the uplink beside it.
    steps.sort_by_key(|s| (s.0, s.3 != 0));
    let expected: Vec<_> = leg(20, 0).into_iter().chain(leg(35, 1)).collect();
    let sort = |mut v: Vec<(u64, Step, TraceLink, usize)>| {
        v.sort_by_key(|s| (s.0, s.3, s.1.name()));
        v
    };
    assert_eq!(sort(steps), sort(expected));
    assert_eq!(w.network.next_tti(), None, "the network sleeps again");
}

/// Rule 2: over the eNB 15 up and 5 down.
#[test]
fn over_the_enb_the_leg_is_longer_by_the_downlink() {
    let mut w = World::pair(&pinned(15), |p| p.mode = [Infrastructure, Direct]);
    w.push(MS(20), 0, 576);
    w.run_answering(MS(100), Some((1, 40)));
    assert_eq!(w.delivered, [(0, MS(40)), (1, MS(55))]);
}

/// Rule 4: stealing shortens the path to the eNB (9 + 5) and is impossible in direct mode.
#[test]
fn data_is_sent_with_the_report_only_towards_the_enb() {
    for (mode, expected) in [(Direct, 15), (Infrastructure, 14)] {
        let mut cell = simulte();
        cell.uplink.stealing = true;
        let places = [[20.0, 0.0], [40.0, 0.0]];
        let mut w = World::new(cell, &places, &pinned(15), |p| p.mode = [mode; 2]);
        w.push(MS(20), 0, 40);
        w.run_until(MS(100));
        assert_eq!(w.delivered, [(0, MS(20 + expected))], "{mode:?}");
    }
}

/// Rule 5: a packet 6 TTIs after a RAC is not in its report. Its own RAC is sent at 10 (wall), and
/// the packet arrives 15 later. The timer that is paused by grants (those of 5 and 11) ends at 13.
#[test]
fn data_after_the_report_waits_for_the_timer() {
    for (counts, expected) in [(RacTimer::Wall, 25), (RacTimer::Paused, 28)] {
        let mut cell = simulte();
        cell.uplink.request = RequestConfig::Rac { answer: 3, timer: 10, counts };
        let mut w = World::new(cell, &[[20.0, 0.0], [40.0, 0.0]], &pinned(9), |_| ());
        // 50 blocks at CQI 9 are 1908 B: the first packet takes more than the grant of its report
        // can have to spare.
        w.push(MS(20), 0, 1400);
        w.push(MS(26), 0, 1400);
        w.run_until(MS(200));
        assert_eq!(w.delivered, [(0, MS(35)), (1, MS(20 + expected))], "{counts:?}");
    }
}

/// Two pairs 1 km apart share every block without loss; side by side each pair's transmissions make
/// the other's blocks fail.
#[test]
fn shared_blocks_interfere_where_pairs_are_near() {
    let run = |apart: f64, reuse| {
        let mut cell = simulte();
        (cell.uplink.data_errors, cell.sidelink.reuse) = (true, reuse);
        let link = SidelinkConfig { header: 0, ..SidelinkConfig::default() };
        let places = [[20.0, 0.0], [40.0, 0.0], [20.0 + apart, 0.0], [40.0 + apart, 0.0]];
        let mut w = World::new(cell, &places, &link, |_| ());
        for _ in 0..300 {
            w.push(MS(20), 0, 1400);
            w.push(MS(20), 2, 1400);
        }
        w.run_until(MS(2000));
        let errors: u64 = [0, 2].map(|l| w.network.view().sidelinks().stats(l).unwrap().errors).iter().sum();
        (w.delivered.len() + w.dropped.len(), errors, w.delivered.iter().map(|d| d.1).max().unwrap())
    };
    let above = |db| Reuse::Above { min_sir: Db(db) };
    let (all, errors, last) = run(20_000.0, Reuse::All);
    assert_eq!((all, errors), (600, 0));
    let (all, errors, alone) = run(20_000.0, Reuse::None);
    assert_eq!((all, errors), (600, 0));
    // Half the blocks each: about twice the time beyond the 15 TTIs of the first request.
    let ratio = (alone.0 - MS(35).0) as f64 / (last.0 - MS(35).0) as f64;
    assert!((1.8..=2.2).contains(&ratio), "{ratio}");
    let (all, errors, _) = run(30.0, Reuse::All);
    assert!(all == 600 && errors > 50, "{all} of 600, {errors} errors");
    let (all, errors, _) = run(30.0, above(20.0));
    assert_eq!((all, errors), (600, 0), "neighbours are kept apart");
}

/// Data in buffers and in transmission is lost, the rest of the transfer uses the new path; every
/// packet has one outcome.
#[test]
fn a_mode_switch_drops_what_the_sender_has_and_a_lossless_one_does_not() {
    for (lossless, first) in
        [(false, Direct), (false, Infrastructure), (true, Direct), (true, Infrastructure)]
    {
        let mut w = World::pair(&pinned(9), |p| (p.lossless, p.mode) = (lossless, [first; 2]));
        for _ in 0..40 {
            w.push(MS(20), 0, 1400);
        }
        w.run_until(MS(if first == Direct { 38 } else { 45 }));
        let before = w.delivered.len();
        assert!((1..40).contains(&before), "the transfer is half way");
        let other = if first == Direct { Infrastructure } else { Direct };
        w.network.set_modes(MS(50), 0, [other; 2], &mut w.out);
        w.take(MS(50), None);
        for _ in 0..5 {
            w.push(MS(51), 0, 1400);
        }
        w.run_until(MS(1000));
        let lost = w.dropped.len();
        assert_eq!(w.delivered.len() + lost, 45);
        assert!(w.dropped.iter().all(|d| d.1 == DropCause::ModeSwitch));
        let ids: Vec<usize> = w.delivered.iter().map(|d| d.0).collect();
        assert!(ids.is_sorted(), "in order: {ids:?}");
        if lossless {
            assert_eq!(lost, 0);
        } else {
            assert!(lost > 0, "{before} before");
            let NetworkEvent::ModeSwitch { packets, bytes, mode, .. } = w.switches[0].1 else { panic!() };
            assert_eq!((packets, bytes, mode), (lost as u64, lost as u64 * 1400, other));
        }
        assert_eq!(w.network.view().inside(BearerId::from_index(0), End::Ue), 0);
        assert_eq!((w.network.view().sidelinks().reordering(), w.network.next_tti()), (0, None));
    }
}

/// TS 36.211 clause 9.3: PSSCH of Release 12 has QPSK or 16QAM. 20 m apart the SINR is far above
/// that of MCS 28, and every block has MCS 20, the last one with 16QAM (I_TBS 19). SimuLTE has
/// 64QAM.
#[test]
fn a_sidelink_has_16qam_at_most() {
    let sidelink = CellProfile::Lasthop.sidelink();
    for (sidelink, mcs) in [(sidelink, 20), (CellProfile::Simulte.sidelink(), 28)] {
        let cell = CellConfig { sidelink, ..simulte() };
        let mut w = World::new(cell, &[[20.0, 0.0], [40.0, 0.0]], &SidelinkConfig::default(), |_| {});
        for i in 0..20 {
            w.push(MS(20 + 30 * i), 0, 1400);
        }
        w.run_until(MS(1000));
        let stats = w.network.view().sidelinks().stats(0).unwrap();
        assert!(stats.blocks >= 20);
        assert_eq!(stats.mcs_sum, mcs * stats.blocks);
    }
}

/// Direct mode where it carries as much or more; with hysteresis or a dwell time the switch comes
/// later or not at all.
#[test]
fn the_mode_with_more_bits_per_block_is_taken() {
    // The uplink is pinned at 40 dB: MCS 28, the one of CQI 14 and 15 on the sidelink.
    for (cqi, first, hysteresis, expected) in [
        (15, Infrastructure, 1.0, Direct),
        (14, Infrastructure, 1.0, Direct),
        (13, Direct, 1.0, Infrastructure),
        (13, Direct, 1.3, Direct),
        (15, Infrastructure, 1.1, Infrastructure),
    ] {
        let selection = SelectionConfig { hysteresis, ..SelectionConfig::default() };
        let mut w = World::pair(&pinned(cqi), |p| (p.selection, p.mode) = (Some(selection), [first; 2]));
        w.run_until(MS(60));
        assert_eq!(w.network.view().sidelinks().mode(0), Some(expected), "CQI {cqi}, {hysteresis}");
        let expected_switches: &[Instant] = if expected == first { &[] } else { &[MS(50), MS(50)] };
        assert_eq!(w.switches.iter().map(|s| s.0).collect::<Vec<_>>(), expected_switches);
    }
}

/// No request and no report: a packet in TTI 20 is sent in the next occasion (phase 0 of 5 TTIs for
/// destination 0), 4 TTIs for transmission and decoding.
#[test]
fn a_persistent_grant_needs_no_request() {
    let persistent = SidelinkPersistent { period: Duration::from_millis(5), blocks: 10 };
    let link = SidelinkConfig { persistent: Some(persistent), ..pinned(15) };
    let mut w = World::pair(&link, |_| ());
    // 10 blocks with I_TBS 26 are 7480 bits = 935 B.
    w.push(MS(21), 0, 576);
    w.run_until(MS(100));
    assert_eq!(w.delivered, [(0, MS(29))]);
    assert!(w.steps().iter().all(|s| s.1 != Step::Request));
    // 1400 B need two occasions.
    w.push(MS(100), 0, 1400);
    w.run_until(MS(200));
    assert_eq!(w.delivered[1].1, MS(105 + 5 + 4));
    assert_eq!(w.network.next_tti(), None);
}

/// A block that the peer cannot decode is retransmitted 8 TTIs later on the same blocks, and given
/// up after the last transmission.
#[test]
fn the_sidelinks_retransmissions_are_synchronous() {
    let mut cell = simulte();
    cell.uplink.data_errors = true;
    let link = SidelinkConfig { power: Dbm(-90.0), transmissions: 3, ..SidelinkConfig::default() };
    let mut w = World::new(cell, &[[20.0, 0.0], [40.0, 0.0]], &link, |_| ());
    // At this power no block is decoded: the lowest MCS would be out of range, so an occasion with
    // a pinned MCS is set.
    w.push(MS(20), 0, 100);
    w.run_until(MS(200));
    assert!(
        w.delivered.is_empty() && w.network.view().sidelinks().stats(0).unwrap().blocks == 0,
        "out of range"
    );
    let mut cell = simulte();
    cell.uplink.data_errors = true;
    // MCS of CQI 15 by the report; the UEs move apart before the block: at CQI 1 its decoding
    // fails.
    let steps = vec![CqiStep { from: Metres(0.0), cqi: 1 }];
    let persistent = SidelinkPersistent { period: Duration::from_millis(640), blocks: 10 };
    let link = SidelinkConfig {
        quality: LinkQuality::Pinned { steps },
        persistent: Some(persistent),
        transmissions: 3,
        ..SidelinkConfig::default()
    };
    let mut w = World::new(cell, &[[20.0, 0.0], [40.0, 0.0]], &link, |_| ());
    if let Some(p) = &mut w.network.sidelink.as_mut().unwrap().destinations[0].persistent {
        p.mcs = Some(28);
    }
    w.push(MS(639), 0, 100);
    w.run_until(MS(2000));
    let sent: Vec<_> =
        w.steps().into_iter().filter(|s| matches!(s.1, Step::Data | Step::Again)).map(|s| s.0).collect();
    assert_eq!(sent, [640, 648, 656]);
    assert_eq!(w.dropped, [(0, DropCause::RadioLoss)]);
}

/// While a full buffer in the uplink uses every block, a packet for the sidelink still takes the 15
/// TTIs of an empty cell: the request is answered (of two UEs with the same channel the one served
/// longest ago is first), and blocks are reserved for the destination.
#[test]
fn a_full_uplink_does_not_starve_a_sidelink() {
    let mut w = World::pair(&pinned(15), |p| p.mode = [Infrastructure, Direct]);
    for _ in 0..400 {
        w.push(MS(20), 0, 1400);
    }
    let ack = w.push(MS(60), 1, 40);
    w.run_until(MS(76));
    let found = w.delivered.iter().find(|d| d.0 == ack);
    assert_eq!(found.map(|d| d.1), Some(MS(75)));
    // 560 000 B at 36 696 bits a TTI are 123 TTIs, besides 20 of the first grant's delay and the
    // downlink; the ACK took one block.
    let sent = w.steps().iter().filter(|s| s.1 == Step::Data && s.2 == TraceLink::Uplink && s.3 == 0).count();
    assert!(sent >= 40, "the uplink goes on meanwhile: {sent}");
    w.run_until(MS(200));
    assert_eq!(w.delivered.len(), 401);
}

/// Both destinations have the whole band every 3 TTIs, destination 0 in 30, destination 1 in 31.
/// The block of 30 fails and is retransmitted in 38 and 46; 46 is destination 1's by 3 n + 1, which
/// waits for 49 and arrives at 53; without the failures it would have been sent in 46.
#[test]
fn a_persistent_occasion_is_left_to_a_retransmission() {
    for (fails, expected) in [(false, 50), (true, 53)] {
        let mut cell = simulte();
        cell.uplink.data_errors = true;
        let persistent = SidelinkPersistent { period: Duration::from_millis(3), blocks: 50 };
        let link = SidelinkConfig { persistent: Some(persistent), transmissions: 3, ..pinned(1) };
        let mut w = World::new(cell, &[[20.0, 0.0], [40.0, 0.0]], &link, |_| ());
        if let Some(p) =
            w.network.sidelink.as_mut().unwrap().destinations[0].persistent.as_mut().filter(|_| fails)
        {
            // At a CQI of 1 this block is never decoded.
            p.mcs = Some(28);
        }
        w.push(MS(29), 0, 100);
        let id = w.push(MS(44), 1, 20);
        w.run_until(MS(200));
        let sent: Vec<_> =
            w.steps().into_iter().filter(|s| matches!(s.1, Step::Data | Step::Again)).collect();
        let of = |ue| sent.iter().filter(|s| s.3 == ue).map(|s| s.0).collect::<Vec<_>>();
        assert_eq!(of(0), if fails { vec![30, 38, 46] } else { vec![30] });
        assert_eq!(of(1), [expected - 4]);
        assert!(w.delivered.contains(&(id, MS(expected))), "{:?}", w.delivered);
    }
}

/// With one radio a UE receives nothing while it transmits. Both ends request in TTI 20 and could
/// transmit in 31: with two radios both packets arrive at 35; with one the eNB grants one after the
/// other. A persistent grant in a TTI in which the peer transmits is lost and is repeated 8 TTIs
/// later: destination 0 (phase 0 of 5) at 25, while the peer transmits its report in 25.
#[test]
fn a_ue_with_one_radio_does_not_receive_while_it_transmits() {
    for (half_duplex, expected) in [(false, [35, 35]), (true, [35, 36])] {
        let mut cell = simulte();
        cell.sidelink.half_duplex = half_duplex;
        let mut w = World::new(cell, &[[20.0, 0.0], [40.0, 0.0]], &pinned(15), |_| ());
        w.push(MS(20), 0, 576);
        w.push(MS(20), 1, 576);
        w.run_until(MS(100));
        let mut times: Vec<u64> = w.delivered.iter().map(|d| d.1.0 / 1_000_000).collect();
        times.sort_unstable();
        assert_eq!(times, expected, "{half_duplex}");
    }
    for (half_duplex, expected) in [(false, 29), (true, 37)] {
        let mut cell = simulte();
        cell.sidelink.half_duplex = half_duplex;
        let persistent = SidelinkPersistent { period: Duration::from_millis(5), blocks: 10 };
        let link = SidelinkConfig { persistent: Some(persistent), ..pinned(15) };
        // Destination 1 uses the eNB: its sender, the receiver of destination 0, requests in 20 and
        // reports in 25.
        let mut w =
            World::new(cell, &[[20.0, 0.0], [40.0, 0.0]], &link, |p| p.mode = [Direct, Infrastructure]);
        w.push(MS(20), 1, 576);
        let id = w.push(MS(21), 0, 576);
        w.run_until(MS(100));
        let found = w.delivered.iter().find(|d| d.0 == id).map(|d| d.1);
        assert_eq!(found, Some(MS(expected)), "{half_duplex}");
    }
}
