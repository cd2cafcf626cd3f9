//! The uplink from end to end: one UE and a clock of TTIs, times against published budgets.

use lasthop_engine::{Draw, Purpose};
use lasthop_units::{BearerId, CellId, Db, Dbm, Duration, Id, Instant, Metres, PacketId, Tti, UeId};

use crate::mac::bsr::Buffers;
use crate::mac::downlink::DrxConfig;
use crate::mac::harq::{State, process_of};
use crate::mac::scheduler::qci::Qos;
use crate::mac::uplink::{RacTimer, RequestConfig, UplinkConfig};
use crate::network::config::CellProfile;
use crate::network::{
    CellConfig, DrbConfig, NetworkConfig, NetworkEvent, NetworkOutput, RadioNetwork, UeConfig,
};
use crate::rrc::InitialState;
use lasthop_bearer::OrInfinity;
use lasthop_bearer::{Direction, DropCause, End, Sdu};
use lasthop_lte_l2::pdcp::LteBearerConfig;
use lasthop_lte_l2::rlc::Mode;
use lasthop_net::aqm::{AqmConfig, CodelParams};

pub struct World {
    pub network: RadioNetwork,
    pub out: NetworkOutput,
    /// Bearer, packet and moment of every delivery.
    pub delivered: Vec<(BearerId, u64, Instant)>,
    /// Events that are not RLC's.
    pub events: Vec<(Instant, NetworkEvent)>,
    packets: usize,
}

impl World {
    pub fn new(cell: CellConfig, ues: usize, mode: Mode) -> World {
        World::pinned(cell, ues, mode, Db(30.0))
    }

    pub fn pinned(cell: CellConfig, ues: usize, mode: Mode, sinr: Db) -> World {
        cell.validate().unwrap();
        let mut config = NetworkConfig::default();
        let serving = config.cells.push(cell);
        for _ in 0..ues {
            let mut ue = UeConfig::served_by(serving);
            ue.radio.pinned_sinr = Some(sinr);
            let ue = config.ues.push(ue);
            let mut layers = LteBearerConfig::default();
            layers.rlc.mode = mode;
            config.bearers.push(DrbConfig { ue, layers, qos: Qos::default(), ip_buffer: None });
        }
        World::of(&config)
    }

    pub fn of(config: &NetworkConfig) -> World {
        World {
            network: RadioNetwork::new(config, 1),
            out: NetworkOutput::default(),
            delivered: Vec::new(),
            events: Vec::new(),
            packets: 0,
        }
    }

    pub fn push(&mut self, at: Instant, ue: usize, end: End, size: u32) {
        self.run_until(at);
        let id = PacketId::from_index(self.packets);
        self.packets += 1;
        self.network.push(at, BearerId::from_index(ue), end, Sdu::new(id, size), &mut self.out);
    }

    /// Runs until `until`.
    pub fn run_until(&mut self, until: Instant) {
        while let Some(now) = self.next().filter(|t| *t < until) {
            self.step(now);
        }
    }

    fn next(&self) -> Option<Instant> {
        self.network.next_tti().into_iter().chain(self.network.next_timer()).min()
    }

    fn step(&mut self, now: Instant) {
        match self.network.next_tti() == Some(now) {
            true => self.network.on_tti(now, &mut self.out),
            false => self.network.on_timer(now, &mut self.out),
        }
        let events = self.out.events.drain(..).map(|(_, e)| (now, e));
        self.events.extend(events.filter(|(_, e)| !matches!(e, NetworkEvent::Rlc(..))));
        self.delivered.extend(self.out.delivered.drain(..).map(|(b, _, sdu)| (b, sdu.serial, now)));
    }
}

fn cell(uplink: UplinkConfig) -> CellConfig {
    CellConfig { resource_blocks: 50, uplink, ..CellConfig::default() }
}

/// The mean time from the push of a packet of `size` to its delivery, over pushes at times spread
/// evenly in `every`.
fn mean_delay(cell: &CellConfig, end: End, size: u32, every: Duration) -> f64 {
    let n = 1000;
    let mut world = World::new(cell.clone(), 1, Mode::Um);
    let mut sum = 0.0;
    for i in 0..n {
        // 100 ms apart, so that the last one is complete; the phase covers `every` once.
        let phase = Duration(every.0 / n * i + every.0 / (2 * n));
        let at = Instant::from_millis(100 * (i + 1)) + phase;
        world.push(at, 0, end, size);
        world.run_until(at + Duration::from_millis(90));
        assert_eq!(world.delivered.len(), 1, "packet {i}");
        sum += world.delivered.pop().unwrap().2.since(at).as_secs_f64() * 1e3;
    }
    sum / n as f64
}

/// TR 36.881 table 5.2.1-1: 5 ms mean wait for an opportunity of 10 ms, 1 the request, 3 the eNB
/// decodes and schedules, 1 the grant, 3 the UE decodes and encodes, 1 the data, 3 the eNB decodes:
/// 17 ms. With an opportunity in every subframe 0.5 instead of 5: 12.5 ms. The packet of 100 B is
/// in the block of the report.
#[test]
fn a_single_packet_takes_the_time_of_the_latency_budget_up() {
    for (period, expected) in [(10, 17.0), (1, 12.5)] {
        let mut config = UplinkConfig::default();
        config.sr.period = Duration::from_millis(period);
        let mean = mean_delay(&cell(config), End::Ue, 100, Duration::from_millis(period));
        assert!((mean - expected).abs() < 0.02, "period {period} ms: {mean} ms");
    }
}

/// The same table, downlink: 3 ms in the eNB before, 0.5 to the next TTI, 1 the data, 3 the UE
/// decodes: 7.5 ms. The first three are from S1 to the eNB's scheduler, which here is the delay of
/// the link to the eNB: 4.5 ms.
#[test]
fn a_single_packet_takes_the_time_of_the_latency_budget_down() {
    let mean = mean_delay(&cell(UplinkConfig::default()), End::Network, 100, Duration::from_millis(1));
    assert!((mean - 4.5).abs() < 0.02, "{mean} ms");
}

/// The profile of SimuLTE: a RAC that is always answered, the report alone on one block, data in a
/// second grant.
fn simulte(stealing: bool) -> CellConfig {
    let profile = CellProfile::Simulte;
    let uplink = UplinkConfig { stealing, ..profile.uplink() };
    CellConfig { timing: profile.timing(), uplink, ..cell(UplinkConfig::default()) }
}

/// Rules 1 to 3 of the published timeline, with t the TTI of the RAC: the report is sent at t + 5
/// and decoded at t + 9, data is sent at t + 11 and decoded at t + 15. With stealing, a packet that
/// fits into the block of the report arrives at t + 9.
#[test]
fn the_leg_to_the_enb_takes_fifteen_ttis_and_nine_when_data_ride_with_the_report() {
    for (stealing, size, ttis) in [(false, 46, 15), (true, 46, 9), (true, 576, 15), (false, 576, 15)] {
        let mut world = World::new(simulte(stealing), 1, Mode::Um);
        // In the TTI before t = 20.
        world.push(Instant::from_micros(19_500), 0, End::Ue, size);
        world.run_until(Instant::from_millis(200));
        let arrived: Vec<_> = world.delivered.iter().map(|d| d.2).collect();
        assert_eq!(arrived, [Instant::from_millis(20 + ttis)], "{size} B, stealing {stealing}");
    }
}

/// A RAC in TTI 20 is answered by a grant for 25 (the report and the data that fits) and the report
/// by a grant for 31 (the rest). New data enters the empty buffer within TTI 31. The timer of 10 or
/// 20 TTIs counts each TTI: next RAC in 32 (it was free from 30 on), or in 40. Paused, it leaves 25
/// and 31 out and takes one more: 20 + 10 + 2 + 1 = 33, or 43. Data in the block of the report is
/// decoded 9 TTIs after its RAC.
#[test]
fn the_timer_of_a_rac_counts_every_tti_or_only_those_without_a_grant() {
    for (counts, timer, rac) in [
        (RacTimer::Wall, 10, 32),
        (RacTimer::Wall, 20, 40),
        (RacTimer::Paused, 10, 33),
        (RacTimer::Paused, 20, 43),
    ] {
        let mut config = simulte(true);
        config.uplink.request = RequestConfig::Rac { answer: 3, timer, counts };
        let mut world = World::new(config, 1, Mode::Um);
        world.push(Instant::from_micros(19_500), 0, End::Ue, 576);
        world.push(Instant::from_micros(31_500), 0, End::Ue, 46);
        world.run_until(Instant::from_millis(200));
        let arrived: Vec<_> = world.delivered.iter().map(|d| d.2).collect();
        assert_eq!(arrived, [35, rac + 9].map(Instant::from_millis), "{counts:?} {timer}");
    }
}

/// Without resources for scheduling requests: preamble in TTI 20 (every subframe has an
/// opportunity), the response in the first TTI of its window 23, Msg3 six later with the report,
/// decoded at 33; the next grant of that UE, which also resolves the contention, is for 37, and the
/// block is decoded at 41.
#[test]
fn without_scheduling_requests_data_wait_for_random_access() {
    let config = UplinkConfig { request: RequestConfig::RandomAccess, ..UplinkConfig::default() };
    let mut world = World::new(cell(config), 1, Mode::Um);
    world.push(Instant::from_micros(19_500), 0, End::Ue, 576);
    world.run_until(Instant::from_millis(200));
    let arrived: Vec<_> = world.delivered.iter().map(|d| d.2).collect();
    assert_eq!(arrived, [Instant::from_millis(41)]);
    assert!(!world.network.ues[UeId::from_index(0)].uplink.access.is_running());
}

/// A cell whose contention timer is as long as a round trip of HARQ, and a UE at -10 dB without a
/// request; grants are received. Msg3 is sent in TTI 29, as above. Its 56 bits and the CRC of 24 in
/// 3 x 144 symbols are 0.185 bits a symbol, which a channel of -8.6 dB carries: the first
/// transmission fails, and the second one, in TTI 37, makes it -7 dB.
fn weak_access() -> World {
    let mut config = UplinkConfig { request: RequestConfig::RandomAccess, ..UplinkConfig::default() };
    config.random_access.contention_timer = Duration::from_millis(8);
    config.control_errors = false;
    let mut world = World::pinned(cell(config), 1, Mode::Um, Db(-10.0));
    world.push(Instant::from_micros(19_500), 0, End::Ue, 20);
    world
}

/// TS 36.321 clause 5.1.5: the timer starts again with each retransmission of Msg3, so a timer of 8
/// ms does not end the access before the second transmission is answered. One preamble is sent, and
/// the packet arrives.
#[test]
fn a_retransmission_of_msg3_continues_the_access() {
    let mut world = weak_access();
    world.run_until(Instant::from_millis(38));
    let stats = |w: &World| w.network.links[UeId::from_index(0)].uplink.stats;
    assert_eq!(stats(&world).retransmissions, 1, "in TTI 37");
    world.run_until(Instant::from_millis(500));
    assert_eq!((world.delivered.len(), stats(&world).preambles), (1, 1));
}

/// TS 36.321 clause 5.1.5: when the timer expires the HARQ buffer of Msg3 is flushed. The UE does
/// not send the retransmission in TTI 37 (as if it had missed a grant that moved it), so the timer
/// is not restarted, and the next TTI flushes the buffer. The eNB receives nothing on the next
/// retransmission, 45, and the process is free.
#[test]
fn msg3_is_flushed_when_the_contention_is_not_resolved() {
    let mut world = weak_access();
    world.run_until(Instant::from_millis(35));
    let (ue, cell, target) = (UeId::from_index(0), CellId::from_index(0), Tti(37));
    let states = |w: &World| {
        let process = process_of(target);
        let u = &w.network.ues[ue].uplink;
        (u.harq.get(process).state, w.network.contexts[ue].uplink.granted[process].state)
    };
    assert_eq!(states(&world), (State::Failed, State::Failed));
    world.network.cells[cell].uplink.plan.slot(target).missed.push(ue);
    world.network.granting(Tti(35), cell).wait_for_next_move(target, ue);
    world.run_until(Instant::from_millis(38));
    assert_eq!(states(&world), (State::Failed, State::Failed));
    world.run_until(Instant::from_millis(39));
    assert_eq!(states(&world), (State::Idle, State::Failed));
    world.run_until(Instant::from_millis(46));
    assert_eq!(states(&world), (State::Idle, State::Idle));
    world.run_until(Instant::from_millis(500));
    assert_eq!(world.delivered.len(), 1, "the next attempt is successful");
}

#[test]
fn a_bulk_upload_fills_the_band_and_every_packet_arrives_once_and_in_order() {
    let mut world = World::new(cell(UplinkConfig::default()), 1, Mode::Am);
    let packets = 2000;
    for _ in 0..packets {
        world.push(Instant::from_millis(5), 0, End::Ue, 1000);
    }
    world.run_until(Instant::from_secs(3));
    let serials: Vec<u64> = world.delivered.iter().map(|d| d.1).collect();
    assert_eq!(serials, (0..packets).collect::<Vec<_>>());
    // 48 blocks at MCS 28 (I_TBS 26): 35160 bits a TTI. 2000 packets are 16.06 Mbit with their PDCP
    // headers: 457 TTIs.
    let last = world.delivered.last().unwrap().2;
    assert!(last < Instant::from_millis(5 + 457 + 30), "{last:?}");
    assert_eq!(world.network.next_tti(), None, "the network sleeps again");
}

fn connecting(start: InitialState) -> CellConfig {
    let mut cell = cell(UplinkConfig::default());
    cell.rrc.start = start;
    cell
}

/// Switched on at 0: SIB2 in TTI 80; preamble in 81, response 84, Msg3 90, decoded 94; 76 TTIs of
/// messages: connected at 170. A packet that waited since 0 is then requested: UE 0 has
/// opportunities at multiples of 10, the next one is 180, and the packet arrives 12 TTIs later.
#[test]
fn an_attach_takes_the_time_of_its_messages_and_data_wait_for_it() {
    let mut world = World::new(connecting(InitialState::Attach), 1, Mode::Um);
    world.push(Instant::ZERO, 0, End::Ue, 100);
    world.run_until(Instant::from_secs(2));
    let cell = CellId::from_index(0);
    assert_eq!(world.events, [(Instant::from_millis(170), NetworkEvent::Connected(cell))]);
    let arrived: Vec<_> = world.delivered.iter().map(|d| d.2).collect();
    assert_eq!(arrived, [Instant::from_millis(192)]);
}

/// The eNB pages in the UE's paging occasion, TTI 1280 for UE 0; preamble in 1281, connected 13 +
/// 76 TTIs later at 1370; the packet is sent at once and decoded 4 TTIs after that.
#[test]
fn a_packet_for_an_idle_ue_waits_for_its_paging_occasion() {
    let mut world = World::new(connecting(InitialState::Idle), 1, Mode::Um);
    world.push(Instant::from_millis(5), 0, End::Network, 100);
    world.run_until(Instant::from_secs(4));
    let arrived: Vec<_> = world.delivered.iter().map(|d| d.2).collect();
    assert_eq!(arrived, [Instant::from_millis(1374)]);
}

#[test]
fn an_inactive_ue_is_released_and_connects_again_for_new_data() {
    let mut config = cell(UplinkConfig::default());
    config.rrc.inactivity = OrInfinity::Value(Duration::from_secs(1));
    let mut world = World::new(config, 1, Mode::Um);
    for s in [0, 5] {
        world.push(Instant::from_millis(s * 1000 + 1), 0, End::Ue, 100);
    }
    world.run_until(Instant::from_secs(9));
    assert_eq!(world.delivered.len(), 2);
    let cell = CellId::from_index(0);
    let kinds: Vec<_> = world.events.iter().map(|e| e.1).collect();
    use NetworkEvent::{Connected, Released};
    assert_eq!(kinds, [Released(cell), Connected(cell), Released(cell)]);
    // The first packet was delivered in TTI 22 or before; nothing happened for a second after that.
    assert!(world.events[0].0 > Instant::from_secs(1) && world.events[0].0 < Instant::from_millis(1025));
    assert_eq!(world.network.next_tti(), None);
}

/// The packet is delivered in TTI 22 or before and its STATUS PDU some TTIs later. The wake-up for
/// t-PollRetransmit (45 ms), which the STATUS PDU has stopped, is no activity.
#[test]
fn a_timer_that_was_stopped_does_not_keep_a_ue_active() {
    let mut config = cell(UplinkConfig::default());
    config.rrc.inactivity = OrInfinity::Value(Duration::from_secs(1));
    let mut world = World::new(config, 1, Mode::Am);
    world.push(Instant::from_millis(1), 0, End::Ue, 100);
    world.run_until(Instant::from_secs(3));
    assert_eq!(world.delivered.len(), 1);
    let released: Vec<_> = world.events.iter().map(|e| e.0).collect();
    assert_eq!(released.len(), 1);
    assert!(released[0] > Instant::from_secs(1) && released[0] < Instant::from_millis(1045), "{released:?}");
}

/// 200 UEs switched on at once, 52 preambles, 4 responses a TTI in a window of 10: collisions and
/// missed windows, and yet all are connected at last.
#[test]
fn two_hundred_ues_that_attach_at_once_are_all_connected() {
    let mut config = connecting(InitialState::Attach);
    config.uplink.random_access.preamble_trans_max = 200;
    config.uplink.random_access.backoff = Duration::from_millis(40);
    let mut world = World::new(config, 200, Mode::Um);
    world.run_until(Instant::from_secs(20));
    let connected = world.events.iter().filter(|e| matches!(e.1, NetworkEvent::Connected(_))).count();
    assert_eq!(connected, 200);
    let counters = world.network.view().uplink_counters(CellId::from_index(0));
    assert!(counters.preambles > 250, "{} preambles: there were collisions", counters.preambles);
}

/// A packet of the downlink in TTI 20 is answered 3 ms after it was decoded in 24, with
/// opportunities 80 ms apart. With a proactive grant every 4 TTIs the answer is sent on one; it was
/// granted 4 TTIs before and is decoded 4 after: 11 to 15 ms at most. Without downlink data for 100
/// ms there are no proactive grants.
#[test]
fn proactive_grants_spare_the_request() {
    let answered_after = |proactive: u64| {
        let mut config = UplinkConfig::default();
        config.sr.period = Duration::from_millis(80);
        config.proactive_period = Duration::from_millis(proactive);
        let mut world = World::new(cell(config), 1, Mode::Um);
        world.push(Instant::from_micros(19_500), 0, End::Network, 100);
        world.push(Instant::from_micros(27_500), 0, End::Ue, 52);
        world.run_until(Instant::from_secs(1));
        assert_eq!(world.network.next_tti(), None, "left alone");
        world.delivered[1].2.since(Instant::from_micros(27_500)).as_secs_f64() * 1e3
    };
    assert_eq!(answered_after(0), 80.0 - 27.5 + 12.0);
    let with = answered_after(4);
    assert!((4.0..=12.0).contains(&with), "{with} ms");
}

/// Data that comes after a grant was sent is in no report: after a full block without a report the
/// eNB grants again, so that no data waits for retxBSR-Timer (320 ms). 12 TTIs after a wait of at
/// most 10 for an opportunity, then 8 TTIs a round of report and grant; 20 kB are three blocks of
/// 50 resource blocks.
#[test]
fn no_packet_waits_until_a_timer_expires() {
    for mode in [Mode::Um, Mode::Am] {
        let mut world = World::new(cell(UplinkConfig::default()), 1, mode);
        let draw = Draw::new(3, Purpose::Test, 1);
        let mut pushed = Vec::new();
        let mut at = Instant::from_millis(5);
        for i in 0..400 {
            let mut stream = draw.stream(i);
            // Bursts of up to four packets, 0 to 30 ms apart.
            at += Duration::from_micros(stream.below(30_000));
            for _ in 0..=stream.below(4) {
                world.push(at, 0, End::Ue, 40 + stream.below(4960) as u32);
                pushed.push(at);
            }
        }
        world.run_until(at + Duration::from_secs(1));
        assert_eq!(world.delivered.len(), pushed.len());
        let worst = world.delivered.iter().map(|(_, n, t)| t.since(pushed[*n as usize])).max().unwrap();
        assert!(worst <= Duration::from_millis(45), "{mode:?}: {worst}");
    }
}

/// The ACKs of a download, 52 B every 0 to 4 ms for 20 s, while a power headroom report every 10 ms
/// takes room of a grant that was to have the last bytes. No report is cancelled for data that did
/// not fit: such a cancellation left the UE with blocks of the size for a request, 8 ms apart, for
/// as long as data remained, and the last packets waited for seconds.
#[test]
fn a_headroom_report_costs_no_buffer_report() {
    let mut config = UplinkConfig::default();
    config.phr.periodic_timer = OrInfinity::Value(Duration::from_millis(10));
    for sinr in [0.0, 5.0, 10.0] {
        let mut world = World::pinned(cell(config.clone()), 1, Mode::Am, Db(sinr));
        let draw = Draw::new(5, Purpose::Test, 2);
        let mut pushed = Vec::new();
        let mut at = Instant::from_millis(5);
        for i in 0..10_000 {
            at += Duration::from_micros(draw.stream(i).below(4000));
            world.push(at, 0, End::Ue, 52);
            pushed.push(at);
        }
        world.run_until(at + Duration::from_secs(1));
        assert_eq!(world.delivered.len(), pushed.len());
        let worst = world.delivered.iter().map(|(_, n, t)| t.since(pushed[*n as usize])).max().unwrap();
        // As above, and up to three HARQ retransmissions.
        assert!(worst <= Duration::from_millis(45 + 24), "{sinr} dB: {worst}");
    }
}

/// A single cell under Friis with UEs at `distances` that attach at the start, or have endless
/// data.
fn in_the_open(
    change: impl Fn(&mut CellConfig),
    distances: &[f64],
    full_buffer: bool,
    seed: u64,
) -> RadioNetwork {
    let mut config = NetworkConfig::default();
    let mut cell = cell(UplinkConfig::default());
    cell.rrc.start = if full_buffer { InitialState::Connected } else { InitialState::Attach };
    change(&mut cell);
    cell.validate().unwrap();
    let serving = config.cells.push(cell);
    for d in distances {
        let mut ue = UeConfig::served_by(serving);
        ue.radio.position = [Metres(*d), Metres(0.0), Metres(1.5)];
        ue.full_buffer = [false, full_buffer];
        let ue = config.ues.push(ue);
        config.bearers.push(DrbConfig {
            ue,
            layers: LteBearerConfig::default(),
            qos: Qos::default(),
            ip_buffer: None,
        });
    }
    RadioNetwork::new(&config, seed)
}

fn run_to(network: &mut RadioNetwork, until: Instant) -> Vec<(UeId, NetworkEvent)> {
    let mut out = NetworkOutput::default();
    while let Some(now) = network.next_tti().filter(|t| *t < until) {
        network.on_tti(now, &mut out);
    }
    out.events
}

/// At -5 dB PCFICH and PDCCH fail with probability 0.1091 (R4-081920, Qout). Every TTI has a grant;
/// of 4000 the number of missed ones is within 3.1 standard deviations, 0.0153, in 998 of 1000
/// cases. At 0 dB none is missed.
#[test]
fn grants_are_missed_as_often_as_the_control_channels_fail() {
    for (sinr, expected) in [(-5.0, 0.1091), (0.0, 0.0)] {
        let mut config = NetworkConfig::default();
        let mut uplink = UplinkConfig { data_errors: false, ..UplinkConfig::default() };
        uplink.outer_loop.enabled = false;
        let serving = config.cells.push(cell(uplink));
        let mut ue = UeConfig::served_by(serving);
        (ue.radio.pinned_sinr, ue.full_buffer) = (Some(Db(sinr)), [false, true]);
        let ue = config.ues.push(ue);
        let mut network = RadioNetwork::new(&config, 1);
        run_to(&mut network, Instant::from_millis(4010));
        let stats = *network.view().link_stats(ue, Direction::Uplink);
        let grants = (stats.missed + stats.blocks) as f64;
        assert!((3990.0..=4010.0).contains(&grants), "{grants} grants");
        let share = stats.missed as f64 / grants;
        assert!((share - expected).abs() <= 0.0153, "{share} of the grants are missed at {sinr} dB");
        assert_eq!(expected == 0.0, stats.missed == 0);
    }
}

/// The data for which a missed grant was sent still arrives: the eNB grants again when it has
/// received nothing.
#[test]
fn no_data_is_lost_with_a_grant_that_was_not_received() {
    let mut config = cell(UplinkConfig { data_errors: false, ..UplinkConfig::default() });
    config.uplink.outer_loop.enabled = false;
    let mut world = World::pinned(config, 1, Mode::Um, Db(-5.0));
    for i in 0..200 {
        world.push(Instant::from_millis(20 + 150 * i), 0, End::Ue, 100);
    }
    world.run_until(Instant::from_secs(31));
    assert!(world.network.view().link_stats(UeId::from_index(0), Direction::Uplink).missed > 10);
    assert_eq!(world.delivered.len(), 200);
    let late =
        world.delivered.iter().map(|(_, n, t)| t.since(Instant::from_millis(20 + 150 * n))).max().unwrap();
    // The request is repeated 10 ms later; data waits for no timer of reports (320 ms).
    assert!(late < Duration::from_millis(150), "{late}");
}

/// P0 -100 dBm with alpha 1 compensates the downlink's path loss; at 1930 instead of 2120 MHz the
/// loss is 0.82 dB less: 17.27 dB above the noise of a block, -174 + 52.55 + 5 = -116.45 dBm.
/// Commands of up to 3 dB bring it to 25 or 8 dB and keep it within half of the smallest step;
/// without a target there is the open loop alone.
#[test]
fn the_closed_loop_steers_to_its_target() {
    for (target, expected) in [(None, 17.27), (Some(Db(25.0)), 25.0), (Some(Db(8.0)), 8.0)] {
        let mut network = in_the_open(
            |c| {
                (c.uplink.power_control.p0, c.uplink.power_control.alpha) = (Dbm(-100.0), 1.0);
                c.uplink.power_target = target;
            },
            &[300.0],
            true,
            1,
        );
        run_to(&mut network, Instant::from_secs(1));
        let ue = UeId::from_index(0);
        let sinr: Vec<f32> = network.reading(Instant::from_millis(999), ue).uplink_sinr().to_vec();
        let db = lasthop_engine::math::db(f64::from(sinr[0]));
        let off = if target.is_some() { 0.5 } else { 0.01 };
        assert!((db - expected).abs() <= off, "target {target:?}: {db} dB");
    }
}

/// Noise in 1.04875 MHz is -174 + 60.21 + 5 = -108.79 dBm; a preamble must arrive with -114.79 dBm
/// to be 6 dB below it. The target of the first is -120 dBm, of each further one 2 dB more: the
/// fourth is detected. Without ramping none is: SIB2 is read in TTI 80, and from 81 on a preamble
/// is sent every 16 TTIs until T300 ends in 1080, although preambleTransMax is 10 (TS 36.321 clause
/// 5.1.4): 58 in the first second.
#[test]
fn preambles_get_more_power_until_they_are_detected() {
    for (step, preambles, connected) in [(2.0, 4, true), (6.0, 2, true), (0.0, 58, false)] {
        let mut network = in_the_open(
            |c| {
                let access = &mut c.uplink.random_access;
                (access.target_power, access.ramping_step) = (Dbm(-120.0), Db(step));
                (access.detection, access.preamble_trans_max) = (Db(-6.0), 10);
            },
            &[400.0],
            false,
            1,
        );
        let events = run_to(&mut network, Instant::from_secs(1));
        assert_eq!(network.view().uplink_counters(CellId::from_index(0)).preambles, preambles, "{step} dB");
        assert_eq!(events.iter().any(|e| matches!(e.1, NetworkEvent::Connected(_))), connected);
    }
}

/// Two UEs with full power at 30 m and 3 km: 40 dB apart (Friis). With four preambles a quarter of
/// their first attempts have the same one. Both are lost without capture; with a ratio of 6 dB the
/// near one always succeeds.
#[test]
fn the_stronger_of_two_msg3_is_captured() {
    let near_at_once = |capture: Option<Db>| {
        let at_once = |seed: &u64| {
            let mut network = in_the_open(
                |c| {
                    c.uplink.random_access.preambles = 4;
                    c.uplink.random_access.capture = capture;
                    c.uplink.power_control.enabled = false;
                },
                &[30.0, 3000.0],
                false,
                *seed,
            );
            // SIB2 in TTI 80, Msg3 decoded in 94, connected 76 later.
            let events = run_to(&mut network, Instant::from_millis(171));
            events.iter().any(|(ue, e)| *ue == UeId::from_index(0) && matches!(e, NetworkEvent::Connected(_)))
        };
        (0..60).filter(at_once).count()
    };
    // 60 * 3 / 4 = 45, standard deviation 3.4.
    let without = near_at_once(None);
    assert!((35..=55).contains(&without), "{without}");
    assert_eq!(near_at_once(Some(Db(6.0))), 60);
}

/// CoDel with target and interval of 1 ns on the second of two bearers, and packets for several
/// blocks on each: some of the second bearer's are dropped while a block is filled. The drops name
/// their own bearer, although the first bearer is settled before.
#[test]
fn what_a_bearer_drops_while_a_block_is_filled_is_its_own() {
    let mut config = NetworkConfig::default();
    let serving = config.cells.push(cell(UplinkConfig::default()));
    let mut ue = UeConfig::served_by(serving);
    ue.radio.pinned_sinr = Some(Db(30.0));
    let ue = config.ues.push(ue);
    let params = CodelParams { target: Duration(1), interval: Duration(1), ..CodelParams::default() };
    for aqm in [None, Some(AqmConfig::Codel(params))] {
        let mut layers = LteBearerConfig::default();
        layers.rlc.mode = Mode::Um;
        layers.rlc.buffer.aqm = aqm;
        config.bearers.push(DrbConfig { ue, layers, qos: Qos::default(), ip_buffer: None });
    }
    let mut world = World::of(&config);
    for i in 0..40 {
        world.push(Instant::from_millis(100), i % 2, End::Ue, 1500);
    }
    world.run_until(Instant::from_millis(300));
    let delivered = |b: usize| world.delivered.iter().filter(|d| d.0 == BearerId::from_index(b)).count();
    let dropped = |b: usize| {
        let own = world.out.dropped.iter().filter(|d| d.0 == BearerId::from_index(b));
        own.inspect(|d| assert_eq!((d.1, d.3), (End::Ue, DropCause::Aqm))).count()
    };
    assert_eq!((delivered(0), dropped(0)), (20, 0));
    assert!(dropped(1) > 0);
    assert_eq!(delivered(1) + dropped(1), 20);
}

/// One UE of 30 dB, and two cells of these settings.
fn in_the_first_of(cells: [UplinkConfig; 2]) -> World {
    let mut config = NetworkConfig::default();
    let [first, second] = cells.map(|uplink| {
        let cell = cell(uplink);
        cell.validate().unwrap();
        cell
    });
    let serving = config.cells.push(first);
    config.cells.push(second);
    let mut ue = UeConfig::served_by(serving);
    ue.radio.pinned_sinr = Some(Db(30.0));
    let ue = config.ues.push(ue);
    let mut layers = LteBearerConfig::default();
    layers.rlc.mode = Mode::Um;
    config.bearers.push(DrbConfig { ue, layers, qos: Qos::default(), ip_buffer: None });
    World::of(&config)
}

/// TS 36.331 clauses 5.3.5.4, 5.3.10.4 and 5.3.10.6: a UE that changes its cell has the target's
/// mac-MainConfig and schedulingRequestConfig.
///
/// The target has opportunities every 20 ms, those of UE 0 at multiples of 20: data of TTI 33 are
/// requested in 40 and arrive 12 TTIs later (TR 36.881 table 5.2.1-1), without a preamble. The
/// other way, the preamble is sent in 34 and the data arrive 21 TTIs later, as in
/// [`without_scheduling_requests_data_wait_for_random_access`]. A report starts periodicBSR-Timer
/// and periodicPHR-Timer of the target.
#[test]
fn a_ue_has_the_timers_and_opportunities_of_the_cell_that_it_moves_to() {
    let ms = |n| OrInfinity::Value(Duration::from_millis(n));
    let mut requests = UplinkConfig::default();
    requests.sr.period = Duration::from_millis(20);
    (requests.bsr.periodic_timer, requests.phr.periodic_timer) = (ms(40), ms(50));
    let mut accesses = UplinkConfig { request: RequestConfig::RandomAccess, ..UplinkConfig::default() };
    (accesses.bsr.periodic_timer, accesses.phr.periodic_timer) = (ms(16), ms(200));
    let (ue, target) = (UeId::from_index(0), CellId::from_index(1));
    for (cells, bsr, phr, arrival, preambles) in [
        ([accesses.clone(), requests.clone()], 40, 50, 40 + 12, 0),
        ([requests, accesses], 16, 200, 34 + 21, 1),
    ] {
        let mut world = in_the_first_of(cells);
        world.network.attachment(ue).camp(target);
        let mut u = world.network.ues[ue].uplink.bsr.clone();
        let padding = 4;
        assert!(u.pad(Tti(100), padding, &Buffers::default()).is_some());
        assert_eq!(u.poll_at(), Some(Tti(100 + bsr)));
        let mut u = world.network.ues[ue].uplink.phr.clone();
        u.sent(Tti(100), Db(90.0));
        assert!(!u.is_due(Tti(99 + phr), Db(90.0)) && u.is_due(Tti(100 + phr), Db(90.0)));
        world.push(Instant::from_micros(33_500), 0, End::Ue, 100);
        world.run_until(Instant::from_millis(200));
        let arrived: Vec<_> = world.delivered.iter().map(|d| d.2).collect();
        assert_eq!(arrived, [Instant::from_millis(arrival)]);
        assert_eq!(world.network.view().uplink_counters(target).preambles, preambles);
    }
}

/// TS 36.321 clauses 5.9 and 5.4.6: a change of the cell and a reset of MAC in the cell each
/// trigger a power headroom report in the next block. The UE has a pinned link, so its path loss
/// stays, and periodicPHR-Timer of the report in TTI 18 would expire in 1018.
#[test]
fn the_first_block_after_a_reset_of_mac_has_a_headroom_report() {
    let ue = UeId::from_index(0);
    for target in [0, 1] {
        let mut world = in_the_first_of([UplinkConfig::default(), UplinkConfig::default()]);
        let headroom = |world: &World| world.network.contexts[ue].uplink.headroom;
        world.push(Instant::from_micros(9_500), 0, End::Ue, 100);
        world.run_until(Instant::from_millis(50));
        assert!(headroom(&world).is_some(), "the first block has one");
        match target {
            0 => world.network.attachment(ue).reset(),
            _ => world.network.attachment(ue).camp(CellId::from_index(target)),
        }
        world.network.contexts[ue].uplink.headroom = None;
        world.push(Instant::from_micros(99_500), 0, End::Ue, 100);
        world.run_until(Instant::from_millis(150));
        assert_eq!(world.delivered.len(), 2);
        assert!(headroom(&world).is_some(), "in cell {target}");
    }
}

/// The arrivals of a packet of 100 B that the UE has at `up`, if any, and of one that comes for it
/// at `down`, with the cycle of DRX of 320 TTIs that begins with 10 TTIs awake.
fn arrivals_with_drx(
    inactivity: u64,
    (up, down): (Option<Instant>, Instant),
    change: impl Fn(&mut UplinkConfig),
) -> Vec<Instant> {
    let mut uplink = UplinkConfig::default();
    change(&mut uplink);
    let mut config = cell(uplink);
    config.downlink.drx = Some(DrxConfig { cycle: 320, on_duration: 10, inactivity });
    let mut world = World::new(config, 1, Mode::Um);
    let mut pushes: Vec<_> = up.map(|at| (at, End::Ue)).into_iter().chain([(down, End::Network)]).collect();
    pushes.sort_unstable_by_key(|(at, _)| *at);
    for (at, end) in pushes {
        world.push(at, 0, end, 100);
    }
    world.run_until(Instant::from_millis(700));
    world.delivered.iter().map(|d| d.2).collect()
}

/// TS 36.321 clause 5.7, clause 3.1 on drx-InactivityTimer: restarted by a PDCCH that indicates an
/// initial transmission in either direction. UE 0 is awake in TTIs 0 to 9, 320 to 329 and so on. It
/// requests in 100, the eNB grants in 104 for 108, and the block arrives in 112. With a timer of
/// 100 TTIs the UE is awake up to 204: a packet of the downlink is sent in that TTI, and one of the
/// next TTI waits until 320. With a timer of 1 it is awake in 105, and because the request is
/// pending until the report is sent, up to 108. A packet arrives 4 TTIs after it was sent.
#[test]
fn a_grant_and_a_pending_request_keep_a_ue_awake() {
    let ms = Instant::from_millis;
    for (inactivity, last) in [(100, 204), (1, 108)] {
        for (tti, sent) in [(last, last), (last + 1, 320)] {
            let times = (Some(Instant::from_micros(99_500)), Instant::from_micros(tti * 1000 - 500));
            let mut expected = [ms(112), ms(sent + 4)];
            expected.sort_unstable();
            assert_eq!(arrivals_with_drx(inactivity, times, |_| ()), expected, "{inactivity}, TTI {tti}");
        }
    }
}

/// The same clause: the UE receives no grant outside its Active Time. A packet of the downlink is
/// sent in TTI 320, so that a proactive grant is due in 340, while the UE is asleep since 330: its
/// packet of TTI 340 is requested in 400 and arrives 12 TTIs later.
#[test]
fn a_ue_that_is_asleep_gets_no_grant() {
    let times = (Some(Instant::from_micros(339_500)), Instant::from_micros(319_500));
    let arrived = arrivals_with_drx(1, times, |uplink| {
        uplink.sr.period = Duration::from_millis(80);
        uplink.proactive_period = Duration::from_millis(20);
    });
    assert_eq!(arrived, [324, 400 + 12].map(Instant::from_millis));
}

/// TS 36.213 clause 5.1.1.1, j = 2: each resource block of Msg3, of which it has three, arrives
/// with preambleInitialReceivedTargetPower + deltaPreambleMsg3 + f(0), by the path loss of the
/// downlink; f(0) is the ramping of the preambles and holds for other PUSCH too, whose P0 is -82
/// dBm, here with alpha 1. The UE and the thresholds are those of
/// [`preambles_get_more_power_until_they_are_detected`]: of -104 dBm the first preamble is
/// detected, of -120 dBm the fourth with steps of 2 dB and the second with 6 dB, which both are 6
/// dB of ramping.
#[test]
fn msg3_has_the_power_of_its_preamble() {
    for (target, step, delta, expected) in [
        (-104.0, 2.0, 0.0, -104.0),
        (-104.0, 2.0, 8.0, -96.0),
        (-120.0, 2.0, 0.0, -114.0),
        (-120.0, 6.0, 4.0, -110.0),
    ] {
        let ue = UeId::from_index(0);
        let cell = CellId::from_index(0);
        let mut network = in_the_open(
            |c| {
                let access = &mut c.uplink.random_access;
                (access.target_power, access.ramping_step) = (Dbm(target), Db(step));
                (access.detection, access.preamble_trans_max) = (Db(-6.0), 10);
                c.uplink.power_control.alpha = 1.0;
                c.uplink.power_control.delta_preamble_msg3 = Db(delta);
            },
            &[400.0],
            false,
            1,
        );
        let (mut out, mut power) = (NetworkOutput::default(), None);
        while let Some(now) = network.next_tti().filter(|_| power.is_none()) {
            network.on_tti(now, &mut out);
            let stats = network.view().link_stats(ue, Direction::Uplink);
            power = (stats.power_count > 0).then_some(stats.power_dbm_sum);
        }
        let power = power.unwrap();
        let loss = -lasthop_engine::math::db(f64::from(network.air.get().downlink_gain(Tti(100), cell, ue)));
        let on_each = power - lasthop_engine::math::db(3.0) - loss;
        assert!((on_each - expected).abs() < 0.01, "{on_each} dBm instead of {expected}");
        // The closed loop has the ramping afterwards.
        let f = expected - target - delta;
        let config = network.cells[cell].config.uplink.power_control;
        let other = network.ues[ue].uplink.power.pusch(&config, 1, Db(loss)).0;
        assert!((other - (-82.0 + loss + f)).abs() < 0.01, "{other} dBm");
    }
}

/// The same for a retransmission: at -10 dB the first transmission of Msg3, in TTI 29, fails, as
/// the 56 bits with their CRC of 24 need -8.6 dB on three blocks, and the second one is in 37.
#[test]
fn msg3_has_its_power_again_in_a_retransmission() {
    let mut config = UplinkConfig { request: RequestConfig::RandomAccess, ..UplinkConfig::default() };
    config.control_errors = false;
    let mut world = World::pinned(cell(config), 1, Mode::Um, Db(-10.0));
    world.push(Instant::from_micros(19_500), 0, End::Ue, 20);
    let (ue, cell) = (UeId::from_index(0), CellId::from_index(0));
    for (until, count) in [(30, 1), (38, 2)] {
        world.run_until(Instant::from_millis(until));
        let loss =
            -lasthop_engine::math::db(f64::from(world.network.air.get().downlink_gain(Tti(29), cell, ue)));
        let expected = -104.0 + lasthop_engine::math::db(3.0) + loss;
        let stats = *world.network.view().link_stats(ue, Direction::Uplink);
        assert_eq!(stats.power_count, count);
        let mean = stats.power_dbm_sum / count as f64;
        assert!((mean - expected).abs() < 0.01, "{mean} dBm instead of {expected}");
    }
}
