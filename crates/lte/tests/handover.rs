//! Handover in the radio network: reference delays, the serving cells of a UE that drives by,
//! failures as events, and the outcome of every packet in all cases.

use lasthop_bearer::OrInfinity;
use lasthop_bearer::{DropCause, End, Sdu};
use lasthop_engine::{Draw, Purpose, Stream};
use lasthop_lte::network::config::CellProfile;
use lasthop_lte::network::{
    CellConfig, DrbConfig, MobilityEvent, NetworkConfig, NetworkEvent, NetworkOutput, RadioNetwork, UeConfig,
};
use lasthop_lte::rrc::{HandoverConfig, RrcTiming, Trigger};
use lasthop_lte_l2::pdcp::{HandoverKind, LteBearerConfig};
use lasthop_lte_l2::rlc::Mode;
use lasthop_units::{
    BearerId, Bitrate, CellId, Db, Dbm, Duration, Id, Instant, Metres, PacketId, Speed, UeId,
};
use proptest::prelude::*;

const UE: fn(usize) -> UeId = UeId::from_index;
const CELL: fn(usize) -> CellId = CellId::from_index;

fn ms(n: u64) -> Instant {
    Instant::from_millis(n)
}

/// ns-3's cells of 25 resource blocks on the ground at these places, with a backhaul without delay.
fn cells(places: &[[f64; 2]]) -> NetworkConfig {
    let mut config = NetworkConfig::default();
    for [x, y] in places {
        let profile = CellProfile::Ns3Release44;
        let mut cell = CellConfig { resource_blocks: 25, ..CellConfig::default() };
        cell.downlink = profile.downlink();
        cell.radio.position = [Metres(*x), Metres(*y), Metres(0.0)];
        (cell.radio.power, cell.radio.noise_figure) = (Dbm(30.0), Db(5.0));
        config.cells.push(cell);
    }
    let mut handover = HandoverConfig {
        trigger: Trigger::None,
        processing: Duration::ZERO,
        interruption: Duration::ZERO,
        ..HandoverConfig::default()
    };
    handover.s1.delay = Duration::ZERO;
    handover.x2.delay = Duration::ZERO;
    config.handover = Some(handover);
    config
}

fn add_ue(config: &mut NetworkConfig, serving: usize, [x, y]: [f64; 2], bearers: &[LteBearerConfig]) {
    let mut ue = UeConfig::served_by(CELL(serving));
    ue.radio.position = [Metres(x), Metres(y), Metres(0.0)];
    let ue = config.ues.push(ue);
    for layers in bearers {
        config.bearers.push(DrbConfig {
            ue,
            layers: layers.clone(),
            qos: Default::default(),
            ip_buffer: None,
        });
    }
}

fn bearer(kind: HandoverKind, mode: Mode) -> LteBearerConfig {
    let mut c = LteBearerConfig::default();
    (c.pdcp.handover, c.rlc.mode) = (kind, mode);
    c
}

type Outcome = Option<Result<Instant, DropCause>>;

struct World {
    network: RadioNetwork,
    out: NetworkOutput,
    events: Vec<(Instant, UeId, NetworkEvent)>,
    /// Outcomes by bearer and by the end that pushed.
    outcomes: Vec<[Vec<Outcome>; 2]>,
    /// The time at which each packet was pushed.
    pushed: Vec<[Vec<Instant>; 2]>,
    /// The UE of each bearer.
    owners: Vec<UeId>,
    now: Instant,
}

impl World {
    fn new(config: &NetworkConfig, seed: u64) -> World {
        config.cells.iter().for_each(|c| assert!(c.validate().is_ok()));
        config.handover.unwrap().validate().unwrap();
        World {
            network: RadioNetwork::new(config, seed),
            out: NetworkOutput::default(),
            events: Vec::new(),
            outcomes: config.bearers.iter().map(|_| Default::default()).collect(),
            pushed: config.bearers.iter().map(|_| Default::default()).collect(),
            owners: config.bearers.iter().map(|b| b.ue).collect(),
            now: Instant::ZERO,
        }
    }

    fn push(&mut self, bearer: usize, end: End, size: u32) {
        let outcomes = &mut self.outcomes[bearer][end.index()];
        let sdu = Sdu::new(PacketId::from_index(outcomes.len()), size);
        outcomes.push(None);
        self.pushed[bearer][end.index()].push(self.now);
        self.network.push(self.now, BearerId::from_index(bearer), end, sdu, &mut self.out);
        self.note();
    }

    fn until(&mut self, end: Instant) {
        loop {
            let (tti, timer) = (self.network.next_tti(), self.network.next_timer());
            let Some(now) = tti.into_iter().chain(timer).min().filter(|t| *t < end) else { break };
            assert!(now >= self.now, "time goes back");
            self.now = now;
            // Events of class Tti precede those of class Timer.
            if tti == Some(now) {
                self.network.on_tti(now, &mut self.out);
            } else {
                self.network.on_timer(now, &mut self.out);
            }
            self.note();
        }
        self.now = end;
    }

    fn note(&mut self) {
        for (b, at, sdu) in self.out.delivered.drain(..) {
            let outcomes = &mut self.outcomes[b.index()][at.peer().index()];
            let n = sdu.id.index();
            assert_eq!(outcomes[n], None, "packet {n} of {b:?} is delivered and had an outcome");
            assert!(
                !outcomes[n + 1..].iter().any(|f| matches!(f, Some(Ok(_)))),
                "packet {n} of {b:?} is late"
            );
            outcomes[n] = Some(Ok(self.now));
        }
        for (b, by, sdu, cause) in self.out.dropped.drain(..) {
            let outcome = &mut self.outcomes[b.index()][by.index()][sdu.id.index()];
            assert_eq!(
                *outcome,
                None,
                "packet {} of {b:?} is dropped ({cause:?}) and had an outcome",
                sdu.id.index()
            );
            *outcome = Some(Err(cause));
        }
        for (b, both) in self.outcomes.iter().enumerate() {
            for end in [End::Network, End::Ue] {
                let open = both[end.index()].iter().filter(|f| f.is_none()).count();
                assert_eq!(
                    self.network.view().inside(BearerId::from_index(b), end),
                    open,
                    "inside {b} {end:?}"
                );
            }
        }
        self.out.forwarded.clear();
        self.events.extend(self.out.events.drain(..).map(|(ue, e)| (self.now, ue, e)));
    }

    fn first(&self, what: MobilityEvent) -> Option<(Instant, CellId)> {
        self.events.iter().find_map(|(t, _, e)| match e {
            NetworkEvent::Mobility { event, cell, .. } if *event == what => Some((*t, *cell)),
            _ => None,
        })
    }

    /// When `ue` had a connection again for the last time after a refused one (never: the end of
    /// time); None if no connection was refused.
    fn reconnected(&self, ue: UeId) -> Option<Instant> {
        let mut last = None;
        for (t, _, event) in self.events.iter().filter(|(_, u, _)| *u == ue) {
            match event {
                NetworkEvent::Mobility { event: MobilityEvent::Rejected, .. } => last = Some(Instant::MAX),
                NetworkEvent::Connected(_) if last == Some(Instant::MAX) => last = Some(*t),
                _ => {}
            }
        }
        last
    }

    fn delivered(&self, bearer: usize, end: End) -> usize {
        self.outcomes[bearer][end.index()].iter().filter(|f| matches!(f, Some(Ok(_)))).count()
    }
}

/// ns-3's test of the handover delay: from the start to the end at the UE 5 ms at most with ideal
/// messages and 20 ms with real ones, in every phase of a frame. Here to the millisecond, since
/// each subframe has a PRACH (prach-ConfigIndex 14): 1 to the preamble, 3 to the response window
/// (TS 36.321 clause 5.1.4), and 1 in which the response is sent. With real messages 2 to the
/// preamble (the UE synchronises in the subframe after the one in which it leaves), 3 to the
/// response, 6 from that to Msg3 (TS 36.213 clause 6.1.1), and 4 until it is decoded.
#[test]
fn a_handover_takes_no_longer_than_the_reference() {
    for (timing, most, exact) in [(RrcTiming::Ideal, 5, 1 + 3 + 1), (RrcTiming::Real, 20, 2 + 3 + 6 + 4)] {
        for start in 100..110 {
            let mut config = cells(&[[0.0, 0.0], [100.0, 0.0]]);
            config.cells.iter_mut().for_each(|c| c.rrc.timing = timing);
            add_ue(&mut config, 0, [50.0, 0.0], &[LteBearerConfig::default()]);
            let mut w = World::new(&config, 1);
            w.until(ms(start));
            w.network.order_handover(ms(start), UE(0), CELL(1));
            w.until(ms(400));
            let began = w.first(MobilityEvent::Started).unwrap().0;
            let (done, cell) = w.first(MobilityEvent::Complete).unwrap();
            assert!(began >= ms(start) && began < ms(start + 8), "{began}");
            let took = done.since(began);
            assert!(took <= Duration::from_millis(most), "{timing:?} {start}: {took}");
            assert_eq!(took, Duration::from_millis(exact), "{timing:?} {start}");
            assert_eq!((cell, w.network.view().serving(UE(0))), (CELL(1), CELL(1)));
        }
    }
}

/// A target that detects no preamble. Where messages take no time T304 starts when the command is
/// received, one TTI before the UE leaves: its end is 100 - 1 TTIs after the start. A preamble is
/// sent in the second TTI after the start (the UE synchronises in the next one), and every 16 TTIs
/// (3 to the window, 10 of it, 3 more with retry_delay = 4): after 2, 18, ... 98 TTIs, 7 of them,
/// although preambleTransMax is 3 (TS 36.331 clause 5.3.11.3: no radio link failure while T304
/// runs). The UE stays in the same cell, the strongest: after the search of 100 ms it requests its
/// connection in the next TTI, until T301 ends (clause 5.3.7.7).
#[test]
fn preambles_go_out_until_t304_or_t301_ends() {
    let mut config = cells(&[[0.0, 0.0], [100.0, 0.0]]);
    for c in config.cells.iter_mut() {
        c.rrc.timing = RrcTiming::Ideal;
        let access = &mut c.uplink.random_access;
        (access.preamble_trans_max, access.detection) = (3, Db(20.0));
        (access.target_power, access.ramping_step) = (Dbm(-120.0), Db(0.0));
        access.response_window = Duration::from_millis(10);
        access.retry_delay = 4;
    }
    let handover = config.handover.as_mut().unwrap();
    (handover.t304, handover.t301) = (Duration::from_millis(100), Duration::from_millis(400));
    add_ue(&mut config, 0, [90.0, 0.0], &[LteBearerConfig::default()]);
    let mut w = World::new(&config, 1);
    w.until(ms(100));
    w.network.order_handover(ms(100), UE(0), CELL(1));
    let preambles = |w: &World| w.network.view().uplink_counters(CELL(1)).preambles;
    w.until(ms(205));
    let started = w.first(MobilityEvent::Started).unwrap().0;
    let failed = w.first(MobilityEvent::Failed).unwrap().0;
    assert_eq!((failed.since(started), preambles(&w)), (Duration::from_millis(99), 7));
    w.until(ms(800));
    let rejected = w.first(MobilityEvent::Rejected).unwrap().0;
    assert_eq!(rejected.since(failed), Duration::from_millis(100 + 1 + 400));
    assert_eq!(preambles(&w), 7 + 400 / 16);
    assert_eq!(w.first(MobilityEvent::RadioLinkFailure), None);
    let problems = w.events.iter().filter(|(.., e)| matches!(e, NetworkEvent::RandomAccessProblem(_)));
    assert_eq!(problems.count(), 2, "each procedure notifies RRC once");
}

/// T304 (50 ms) stops with the response to the dedicated preamble (TS 36.331 clause 5.3.5.4, TS
/// 36.321 clause 5.1.4), 5 TTIs after the start as above, and no longer ends a handover whose Msg3
/// is lost. Here the target is out of service in the TTI 8 after the start, so that nothing is sent
/// on the grant for Msg3, which is for the TTI 11. RLC sends the message again after
/// t-PollRetransmit (45 ms): contention-based access begins in the TTI 56, with a preamble in the
/// next one, the response 3 later, Msg3 6 later, decoded 4 later: 56 + 1 + 3 + 6 + 4 = 70.
#[test]
fn a_lost_msg3_is_recovered_after_t304_has_stopped() {
    let mut config = cells(&[[0.0, 0.0], [100.0, 0.0]]);
    config.cells.iter_mut().for_each(|c| c.rrc.timing = RrcTiming::Real);
    config.handover.as_mut().unwrap().t304 = Duration::from_millis(50);
    add_ue(&mut config, 0, [50.0, 0.0], &[LteBearerConfig::default()]);
    let mut w = World::new(&config, 1);
    w.until(ms(100));
    w.network.order_handover(ms(100), UE(0), CELL(1));
    w.push(0, End::Network, 1000);
    w.until(ms(112));
    let began = w.first(MobilityEvent::Started).unwrap().0;
    let after = |n: u64| began + Duration::from_millis(n);
    assert!(w.now <= after(8), "the response may have been sent, but not Msg3");
    w.until(after(8));
    w.network.set_cell_down(w.now, CELL(1), true);
    w.until(after(9));
    w.network.set_cell_down(w.now, CELL(1), false);
    w.until(after(300));
    assert_eq!(w.first(MobilityEvent::Failed), None);
    assert_eq!(w.first(MobilityEvent::Complete), Some((after(70), CELL(1))));
    assert_eq!(w.delivered(0, End::Network), 1);
}

/// A dedicated preamble belongs to one UE (TS 36.300 clause 10.1.5). Five UEs receive commands to a
/// cell with four dedicated preambles at once: the command of the fifth one has none, and it draws
/// one for contention, which no other UE has. Two UEs with the same preamble have the same grant,
/// and both Msg3 collide. All are served 15 TTIs after the start, as above.
#[test]
fn more_ues_than_dedicated_preambles_do_not_collide() {
    let mut config = cells(&[[0.0, 0.0], [100.0, 0.0]]);
    for c in config.cells.iter_mut() {
        c.rrc.timing = RrcTiming::Real;
        let access = &mut c.uplink.random_access;
        (access.preambles, access.responses_per_tti) = (60, 5);
    }
    for _ in 0..5 {
        add_ue(&mut config, 0, [50.0, 0.0], &[LteBearerConfig::default()]);
    }
    let mut w = World::new(&config, 1);
    // Twice: the preambles are free again.
    for (at, target) in [(100, 1), (200, 0)] {
        w.until(ms(at));
        for ue in (0..5).map(UE) {
            w.network.order_handover(ms(at), ue, CELL(target));
        }
        w.events.clear();
        w.until(ms(at + 100));
        let started = w.first(MobilityEvent::Started).unwrap().0;
        let mut took: Vec<u64> = Vec::new();
        for (t, _, event) in &w.events {
            if let NetworkEvent::Mobility { event: MobilityEvent::Complete, .. } = event {
                took.push(t.since(started).as_millis());
            }
        }
        assert_eq!(took, [15; 5], "{:?}", w.events);
    }
}

/// ns-3's X2 handover test: connected to the target after 0.1 s, and within 0.6 s of it every
/// bearer's sinks have received half of the packets or more; cells 100 m apart, a packet every 10
/// ms each way. The UE is in the middle, to which the reference moves it for the handover.
#[test]
fn traffic_goes_on_at_the_target() {
    for kind in [HandoverKind::Lossless, HandoverKind::Seamless] {
        let mut config = cells(&[[0.0, 0.0], [100.0, 0.0]]);
        add_ue(&mut config, 0, [50.0, 0.0], &[bearer(kind, Mode::Am), bearer(kind, Mode::Um)]);
        let mut w = World::new(&config, 1);
        w.until(ms(300));
        w.network.order_handover(ms(300), UE(0), CELL(1));
        w.until(ms(400));
        assert_eq!(w.first(MobilityEvent::Complete).map(|(_, cell)| cell), Some(CELL(1)));
        for i in 0..60 {
            for b in 0..2 {
                w.push(b, End::Network, 1000);
                w.push(b, End::Ue, 1000);
            }
            w.until(ms(410 + 10 * i));
        }
        for b in 0..2 {
            for end in [End::Network, End::Ue] {
                assert!(w.delivered(b, end) >= 30, "{kind:?} {b} {end:?}: {}", w.delivered(b, end));
            }
        }
    }
}

/// The two algorithms of ns-3's automatic handover. Its A2-A4 acts upon reports every 480 ms: the
/// event must hold as long here, where it would act at once.
fn algorithms() -> [Trigger; 2] {
    let ms = Duration::from_millis;
    [
        Trigger::A2A4 { serving: Db(-4.5), neighbour: Db(0.5), time_to_trigger: ms(480) },
        Trigger::A3 { offset: Db(0.0), hysteresis: Db(1.5), time_to_trigger: ms(128) },
    ]
}

/// ns-3's automatic handover: a UE passes four cells of 20 dBm, 1000 m apart on a line of free
/// space, at 150 m/s, with a packet every 10 ms. It must be in cell 0 from 1 to 10 s, in cell 1
/// from 11 to 17 s, in cell 2 from 18 to 24 s, in cell 3 from 25 to 37 s, and receive half of the
/// packets or more in the tenth of a second after each check, each way. X2 takes 0 ms.
#[test]
fn a_ue_that_drives_by_is_served_where_the_reference_has_it() {
    for (trigger, timing) in
        algorithms().into_iter().flat_map(|t| [(t, RrcTiming::Ideal), (t, RrcTiming::Real)])
    {
        let places: Vec<[f64; 2]> = (0..4).map(|i| [1000.0 * f64::from(i + 1), 0.0]).collect();
        let mut config = cells(&places);
        for c in config.cells.iter_mut() {
            (c.radio.power, c.rrc.timing) = (Dbm(20.0), timing);
        }
        config.handover.as_mut().unwrap().trigger = trigger;
        add_ue(&mut config, 0, [0.0, 0.0], &[LteBearerConfig::default()]);
        config.ues[UE(0)].radio.mobility =
            lasthop_radio::Mobility::Linear { speed: Speed(150.0), heading: 0.0 };
        let mut w = World::new(&config, 1);
        let mut had = [0; 2];
        for t in 1..=371u64 {
            for _ in 0..10 {
                w.until(w.now + Duration::from_millis(10));
                w.push(0, End::Network, 1000);
                w.push(0, End::Ue, 1000);
            }
            for end in [End::Network, End::Ue] {
                let now = w.delivered(0, end);
                let new = now - std::mem::replace(&mut had[end.index()], now);
                assert!(
                    new >= 5 || t % 10 != 1 || t == 1,
                    "{trigger:?} {timing:?} {end:?}: {new} at {t}00 ms"
                );
            }
            if t % 10 == 0 {
                let cell = match t / 10 {
                    1..=10 => 0,
                    11..=17 => 1,
                    18..=24 => 2,
                    _ => 3,
                };
                assert_eq!(w.network.view().serving(UE(0)), CELL(cell), "{trigger:?} {timing:?} at {t}00 ms");
            }
        }
    }
}

/// ns-3's test of the target: cells of 38 dBm 130 m apart on a grid in free space; at 0.5 s the
/// power of the serving cell falls to 1 dBm, and within the second the UE is handed over to the
/// best of the others. Four cells, UE at (20, 40): from the first to the third; six cells, UE at
/// (150, 90): from the fifth to the second. (It is 30 m nearer than the next.)
#[test]
fn the_target_is_that_of_the_reference() {
    for (columns, place, [source, target]) in [(2, [20.0, 40.0], [0, 2]), (3, [150.0, 90.0], [4, 1])] {
        for trigger in algorithms() {
            let grid: Vec<[f64; 2]> = (0..2 * columns)
                .map(|i| [f64::from(i % columns) * 130.0, f64::from(i / columns) * 130.0])
                .collect();
            let mut config = cells(&grid);
            for c in config.cells.iter_mut() {
                (c.radio.power, c.rrc.timing) = (Dbm(38.0), RrcTiming::Ideal);
                c.downlink.control_errors = false;
            }
            config.handover.as_mut().unwrap().trigger = match trigger {
                // One report, without a wait for a second one.
                Trigger::A2A4 { serving, neighbour, .. } => {
                    Trigger::A2A4 { serving, neighbour, time_to_trigger: Duration::ZERO }
                }
                a3 => a3,
            };
            add_ue(&mut config, source, place, &[LteBearerConfig::default()]);
            let mut w = World::new(&config, 1);
            w.until(ms(500));
            assert_eq!(w.network.view().serving(UE(0)), CELL(source), "{trigger:?}: too early");
            w.network.set_cell_power(CELL(source), Dbm(1.0));
            w.until(ms(1000));
            assert_eq!(
                w.first(MobilityEvent::Started).map(|(_, cell)| cell),
                Some(CELL(target)),
                "{trigger:?}"
            );
        }
    }
}

/// The target is out of reach: T304 expires, the UE re-establishes its connection in the source,
/// which has kept all that it forwarded.
#[test]
fn a_failed_handover_falls_back_without_loss() {
    let mut config = cells(&[[0.0, 0.0], [5_000_000.0, 0.0]]);
    config.handover.as_mut().unwrap().t304 = Duration::from_millis(100);
    config.handover.as_mut().unwrap().x2.delay = Duration::from_millis(30);
    add_ue(&mut config, 0, [50.0, 0.0], &[LteBearerConfig::default()]);
    let mut w = World::new(&config, 1);
    for i in 0..200 {
        if i == 40 {
            w.network.order_handover(w.now, UE(0), CELL(1));
        }
        w.push(0, End::Network, 1200);
        w.push(0, End::Ue, 200);
        w.until(ms(10 * (i + 1)));
    }
    w.until(ms(4000));
    assert!(w.first(MobilityEvent::Failed).is_some());
    assert_eq!(w.first(MobilityEvent::Reestablished).map(|(_, cell)| cell), Some(CELL(0)));
    assert_eq!([End::Network, End::Ue].map(|end| w.delivered(0, end)), [200, 200]);
}

/// A full target refuses: an event, and the source continues to serve the UE.
#[test]
fn admission_may_refuse() {
    let mut config = cells(&[[0.0, 0.0], [100.0, 0.0]]);
    config.handover.as_mut().unwrap().users = OrInfinity::Value(1);
    add_ue(&mut config, 0, [50.0, 0.0], &[LteBearerConfig::default()]);
    add_ue(&mut config, 1, [90.0, 0.0], &[LteBearerConfig::default()]);
    let mut w = World::new(&config, 1);
    w.network.order_handover(ms(0), UE(0), CELL(1));
    w.until(ms(100));
    w.push(0, End::Network, 1000);
    w.until(ms(200));
    assert!(w.first(MobilityEvent::PreparationRefused).is_some());
    assert_eq!((w.network.view().serving(UE(0)), w.delivered(0, End::Network)), (CELL(0), 1));
}

/// Without a trigger a UE drives out of its cell: the link fails and is re-established in the next
/// cell, too late; with the context that this cell retrieves no packet is lost.
#[test]
fn a_handover_that_comes_too_late_is_a_radio_link_failure() {
    let mut config = cells(&[[0.0, 0.0], [1000.0, 0.0]]);
    add_ue(&mut config, 0, [400.0, 10.0], &[LteBearerConfig::default()]);
    config.ues[UE(0)].radio.mobility = lasthop_radio::Mobility::Linear { speed: Speed(60.0), heading: 0.0 };
    let mut w = World::new(&config, 1);
    for i in 0..1000 {
        w.push(0, End::Network, 500);
        w.until(ms(10 * (i + 1)));
    }
    w.until(ms(12_000));
    assert!(w.first(MobilityEvent::RadioLinkFailure).is_some());
    assert_eq!(w.first(MobilityEvent::TooLate).map(|(_, cell)| cell), Some(CELL(1)));
    assert_eq!(w.delivered(0, End::Network), 1000);
}

/// The target fails while forwarded packets are on X2 for seconds (200 kbit/s): the cell of the
/// re-establishment cannot answer before the end of the last change of cell, T301 (100 ms) expires,
/// and the UE leaves RRC_CONNECTED and connects again (TS 36.331 clause 5.3.7.7). Packets on X2 are
/// reported lost, and no end marker of the old change ends a later one.
#[test]
fn a_reestablishment_waits_for_its_answer_no_longer_than_t301() {
    let mut config = cells(&[[0.0, 0.0], [300.0, 0.0]]);
    config.cells.iter_mut().for_each(|c| c.rrc.retry = Duration::from_millis(500));
    let h = config.handover.as_mut().unwrap();
    (h.x2.rate, h.t301) = (Bitrate(200_000), Duration::from_millis(100));
    add_ue(&mut config, 0, [150.0, 0.0], &[LteBearerConfig::default()]);
    let mut w = World::new(&config, 1);
    w.until(ms(99));
    for _ in 0..300 {
        w.push(0, End::Network, 1200);
    }
    w.network.order_handover(w.now, UE(0), CELL(1));
    w.until(ms(300));
    assert_eq!(w.network.view().serving(UE(0)), CELL(1));
    w.network.set_cell_power(CELL(1), Dbm(-60.0));
    w.until(ms(6000));
    let failed = w.first(MobilityEvent::RadioLinkFailure).unwrap().0;
    let (gone, cell) = w.first(MobilityEvent::Rejected).unwrap();
    assert_eq!(cell, CELL(0));
    // The search (100 ms), system information (at most 90 ms), T301, and a subframe each.
    assert!(gone.since(failed) <= Duration::from_millis(100 + 90 + 100 + 3), "{}", gone.since(failed));
    let lost = |f: &&Outcome| matches!(f, Some(Err(DropCause::RadioLinkFailure)));
    assert!(w.outcomes[0][0].iter().filter(lost).count() > 100);
    assert!(w.outcomes[0][0].iter().all(Option::is_some), "nothing is left on X2");
    // Served again, and handed over again, over the same X2.
    for round in 0..2 {
        w.network.set_cell_power(CELL(1), Dbm(30.0));
        let at = w.outcomes[0][0].len();
        for _ in 0..5 {
            w.push(0, End::Network, 1200);
        }
        w.until(w.now + Duration::from_secs(2));
        assert!(
            w.outcomes[0][0][at..].iter().all(|f| matches!(f, Some(Ok(_)))),
            "{round} {:?} {:?}",
            &w.outcomes[0][0][at..],
            w.events
        );
        let target = CELL(1 - w.network.view().serving(UE(0)).index());
        w.network.order_handover(w.now, UE(0), target);
        w.until(w.now + Duration::from_secs(1));
        assert_eq!(w.network.view().serving(UE(0)), target);
    }
}

/// A cell that fails loses the contexts of its UEs: they connect again in the other cell, and the
/// packets in the failed eNB are reported lost.
#[test]
fn ues_of_a_failed_cell_connect_in_another_one() {
    let mut config = cells(&[[0.0, 0.0], [300.0, 0.0]]);
    config.cells.iter_mut().for_each(|c| c.rrc.retry = Duration::from_secs(1));
    for i in 0..8 {
        add_ue(&mut config, 0, [100.0 + 5.0 * f64::from(i), 0.0], &[LteBearerConfig::default()]);
    }
    let mut w = World::new(&config, 1);
    for i in 0..1500 {
        if i == 200 {
            w.network.set_cell_down(w.now, CELL(0), true);
        }
        for b in 0..8 {
            w.push(b, End::Network, 500);
        }
        w.until(ms(10 * (i + 1)));
    }
    w.until(ms(20_000));
    for b in 0..8 {
        assert_eq!(w.network.view().serving(UE(b)), CELL(1));
        let gone =
            |f: &&Outcome| matches!(f, Some(Err(DropCause::RadioLinkFailure | DropCause::NotForwarded)));
        let lost = w.outcomes[b][0].iter().filter(gone).count();
        assert!(lost > 0, "the failed cell held packets");
        assert_eq!(w.delivered(b, End::Network) + lost, 1500);
    }
}

/// No packet of a bearer without forwarding is sent over X2, so its packets on the new path do not
/// wait until X2 has carried those of the UE's lossless bearer: 400 packets of 1000 B at 1 Mbit/s
/// take 3.2 s.
#[test]
fn a_bearer_without_forwarding_does_not_wait_for_x2() {
    let waits = |kind: HandoverKind| {
        let mut config = cells(&[[0.0, 0.0], [100.0, 0.0]]);
        let h = config.handover.as_mut().unwrap();
        (h.x2.rate, h.x2.buffer) = (Bitrate(1_000_000), OrInfinity::INFINITY);
        add_ue(
            &mut config,
            0,
            [50.0, 0.0],
            &[bearer(HandoverKind::Lossless, Mode::Am), bearer(kind, Mode::Am)],
        );
        let mut w = World::new(&config, 1);
        w.until(ms(100));
        (0..400).for_each(|_| w.push(0, End::Network, 1000));
        w.network.order_handover(w.now, UE(0), CELL(1));
        w.until(ms(200));
        assert_eq!(w.network.view().serving(UE(0)), CELL(1));
        w.push(1, End::Network, 100);
        let pushed = w.now;
        w.until(ms(10_000));
        assert_eq!(w.delivered(0, End::Network), 400, "lossless");
        let Some(Ok(arrived)) = w.outcomes[1][0][0] else { panic!("{:?}", w.outcomes[1]) };
        arrived.since(pushed)
    };
    assert!(waits(HandoverKind::Lossless) > Duration::from_millis(1500));
    assert!(waits(HandoverKind::None) < Duration::from_millis(20));
}

/// Handovers, failures and cells that fail by the seed, three UEs with these bearers each.
fn any_drive(seed: u64, bearers: &[LteBearerConfig], ideal: bool) -> World {
    let mut rng: Stream = Draw::new(seed, Purpose::Test, 4).stream(0);
    let mut config = cells(&[[0.0, 0.0], [400.0, 0.0], [200.0, 300.0]]);
    let h = config.handover.as_mut().unwrap();
    h.x2.delay = Duration::from_micros(rng.below(20_000));
    h.s1.delay = Duration::from_micros(rng.below(10_000));
    h.t304 = Duration::from_millis([50, 100, 1000][rng.below(3) as usize]);
    h.fetch_context = rng.below(2) == 0;
    h.search = Duration::from_millis(10 + rng.below(40));
    h.interruption = Duration::from_millis(rng.below(30));
    if rng.below(2) == 0 {
        h.trigger = Trigger::default();
    }
    // Conditional commands, and forwarding that takes longer than the UE stays in a cell. X2's
    // buffer has room for all of it: a drop there would be another cause.
    let mut more: Stream = Draw::new(seed, Purpose::Test, 5).stream(0);
    if more.below(2) == 0 {
        let no = Db(0.0);
        h.trigger = Trigger::A3 { offset: no, hysteresis: no, time_to_trigger: Duration::ZERO };
        h.conditional = Some(Db(-0.5 - more.below(4) as f64));
    }
    if more.below(2) == 0 {
        h.x2.rate = Bitrate([1_000_000, 3_000_000, 10_000_000][more.below(3) as usize]);
        h.x2.buffer = OrInfinity::INFINITY;
    }
    if rng.below(3) == 0 {
        config.cells[CELL(1)].enb = Some("a".into());
        config.cells[CELL(2)].enb = Some("a".into());
    }
    let timing = if ideal { RrcTiming::Ideal } else { RrcTiming::Real };
    for c in config.cells.iter_mut() {
        (c.rrc.timing, c.rrc.retry) = (timing, Duration::from_millis(200));
    }
    for i in 0..3 {
        let place = [rng.below(500) as f64 - 50.0, rng.below(300) as f64];
        add_ue(&mut config, i, place, bearers);
        config.ues[UE(i)].radio.mobility =
            lasthop_radio::Mobility::Linear { speed: Speed(30.0), heading: rng.below(360) as f64 };
    }
    let mut w = World::new(&config, seed);
    for t in 0..3000u64 {
        w.until(Instant(1_000_000 * t + rng.below(1_000_000)));
        for b in 0..3 * bearers.len() {
            if rng.below(4) == 0 {
                w.push(b, End::Network, 40 + rng.below(1400) as u32);
            }
            if rng.below(8) == 0 {
                w.push(b, End::Ue, 40 + rng.below(1400) as u32);
            }
        }
        if rng.below(60) == 0 {
            w.network.order_handover(w.now, UE(rng.below(3) as usize), CELL(rng.below(3) as usize));
        }
        if rng.below(700) == 0 {
            w.network.set_cell_down(w.now, CELL(rng.below(3) as usize), rng.below(2) == 0);
        }
    }
    for c in 0..3 {
        w.network.set_cell_down(w.now, CELL(c), false);
    }
    w.until(ms(60_000));
    w
}

/// The drives of the properties below cover every step: forty of them have every step that a UE can
/// take between cells, failures included, and handovers begin in every millisecond of a frame.
#[test]
fn any_drive_goes_through_every_step() {
    let (mut seen, mut phases) = (std::collections::BTreeMap::new(), std::collections::BTreeSet::new());
    let mut spared = 0;
    let failure = |e: &NetworkEvent| ["handover-failure", "radio-link-failure"].contains(&e.name());
    for seed in 0..40 {
        let w = any_drive(seed, &[bearer(HandoverKind::Lossless, Mode::Am)], seed % 2 == 0);
        for ue in (0..3).map(UE) {
            let tried = w.events.iter().filter(|(_, u, _)| *u == ue).any(|(_, _, e)| failure(e));
            spared += usize::from(tried && w.reconnected(ue).is_none());
        }
        for (t, _, event) in &w.events {
            *seen.entry(event.name()).or_insert(0u64) += 1;
            if matches!(event, NetworkEvent::Mobility { event: MobilityEvent::Started, .. }) {
                phases.insert(t.0 / 1_000_000 % 10);
            }
        }
    }
    for name in [
        "handover-complete",
        "handover-failure",
        "handover-ping-pong",
        "handover-too-late",
        "radio-link-failure",
        "rrc-reestablished",
        "rrc-reestablishment-rejected",
        "rrc-connected",
    ] {
        assert!(seen.get(name).is_some_and(|n| *n > 10), "{name}: {seen:?}");
    }
    assert_eq!(phases.len(), 10, "{phases:?}");
    assert!(
        spared > 10,
        "{spared} UEs had a failure and kept their connection: nothing of theirs may be lost"
    );
}

/// Checks a lossless bearer: every packet arrived, except that the network reports the loss of
/// packets with a connection that had ended.
fn loses_nothing(w: &World, bearer: usize) -> Result<(), TestCaseError> {
    let reconnected = w.reconnected(w.owners[bearer]);
    for (outcomes, pushed) in w.outcomes[bearer].iter().zip(&w.pushed[bearer]) {
        for (outcome, pushed) in outcomes.iter().zip(pushed) {
            let gone = matches!(outcome, Some(Err(DropCause::RadioLinkFailure | DropCause::NotForwarded)));
            let fine = matches!(outcome, Some(Ok(_))) || gone && reconnected.is_some_and(|t| *pushed < t);
            prop_assert!(
                fine,
                "bearer {bearer}: {outcome:?}, pushed at {pushed}, connected anew at {reconnected:?}"
            );
        }
    }
    Ok(())
}

/// Checks a bearer that may lose: every packet before the last that arrived has an outcome. Over
/// RLC AM no packet is lost by the radio: those that did not arrive were discarded, by one of these
/// causes.
fn says_what_it_loses(w: &World, bearer: usize, mode: Mode) -> Result<(), TestCaseError> {
    let discarded = |f: &Outcome| {
        matches!(
            f,
            Some(Err(DropCause::HandoverDiscard
                | DropCause::NotForwarded
                | DropCause::Reestablishment
                | DropCause::RadioLinkFailure,))
        )
    };
    for outcomes in &w.outcomes[bearer] {
        let last = outcomes.iter().rposition(|f| matches!(f, Some(Ok(_)))).unwrap_or(0);
        prop_assert!(outcomes[..last].iter().all(Option::is_some), "bearer {bearer}");
        if mode == Mode::Am {
            let fine = outcomes.iter().all(|f| matches!(f, Some(Ok(_))) || discarded(f));
            prop_assert!(fine, "bearer {bearer}: {outcomes:?}");
        }
    }
    Ok(())
}

fn cases() -> ProptestConfig {
    let n = std::env::var("LASTHOP_CASES").ok().and_then(|v| v.parse().ok()).unwrap_or(16);
    ProptestConfig { cases: n, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases())]

    /// Lossless: each packet once and in order across any sequence of handovers, failures and
    /// re-establishments; packets lost with a connection that could not be re-established are
    /// reported.
    #[test]
    fn lossless_bearers_lose_nothing_but_with_their_connection(seed: u64, ideal: bool) {
        let w = any_drive(seed, &[bearer(HandoverKind::Lossless, Mode::Am)], ideal);
        for b in 0..3 {
            loses_nothing(&w, b)?;
        }
    }

    /// Seamless and without forwarding: every packet has one outcome with a cause, and over RLC AM
    /// the lost packets are exactly those that a handover, a re-establishment or the end of a
    /// connection discarded.
    #[test]
    fn other_bearers_report_what_they_lose(seed: u64, none: bool, um: bool, ideal: bool) {
        let kind = if none { HandoverKind::None } else { HandoverKind::Seamless };
        let mode = if um { Mode::Um } else { Mode::Am };
        let w = any_drive(seed, &[bearer(kind, mode)], ideal);
        for b in 0..3 {
            says_what_it_loses(&w, b, mode)?;
        }
    }

    /// A kind for each bearer: in one UE every kind has its own property.
    #[test]
    fn bearers_of_one_ue_are_handed_over_each_by_its_kind(seed: u64, ideal: bool) {
        let kinds = [
            (HandoverKind::Lossless, Mode::Am),
            (HandoverKind::Seamless, Mode::Um),
            (HandoverKind::None, Mode::Am),
        ];
        let w = any_drive(seed, &kinds.map(|(kind, mode)| bearer(kind, mode)), ideal);
        for ue in 0..3 {
            loses_nothing(&w, 3 * ue)?;
            says_what_it_loses(&w, 3 * ue + 1, Mode::Um)?;
            says_what_it_loses(&w, 3 * ue + 2, Mode::Am)?;
        }
    }
}
