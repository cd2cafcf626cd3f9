//! Semi-persistent grants in the uplink (TS 36.321 clause 5.10.2).

use lasthop_bearer::{Direction, End, Sdu};
use lasthop_lte::mac::downlink::LinkStats;
use lasthop_lte::mac::scheduler::qci::Qos;
use lasthop_lte::mac::uplink::UplinkPersistentConfig;
use lasthop_lte::network::trace::{Step, TraceRecord};
use lasthop_lte::network::{CellConfig, DrbConfig, NetworkConfig, NetworkOutput, RadioNetwork, UeConfig};
use lasthop_lte_l2::pdcp::LteBearerConfig;
use lasthop_lte_l2::rlc::Mode;
use lasthop_units::{BearerId, Db, Id, Instant, PacketId, UeId};

const PACKETS: usize = 200;

struct Voice {
    stats: Vec<LinkStats>,
    /// Delays of the packets of UE 0 [ms].
    delays: Vec<u64>,
    trace: Vec<TraceRecord>,
    sleeps: bool,
}

/// 40 bytes every 20 ms from each of `ues` UEs, 3.7 ms apart, and 400 ms of silence after every
/// `talk` packets.
fn voice(
    blocks: u32,
    ues: usize,
    sinr: f64,
    talk: usize,
    persistent: Option<UplinkPersistentConfig>,
) -> Voice {
    let mut config = NetworkConfig::default();
    let mut cell = CellConfig { resource_blocks: blocks, ..CellConfig::default() };
    cell.uplink.harq.transmissions = if sinr < 0.0 { 1 } else { 4 };
    cell.uplink.outer_loop.enabled = false;
    cell.validate().unwrap();
    let serving = config.cells.push(cell);
    for _ in 0..ues {
        let mut ue = UeConfig::served_by(serving);
        (ue.persistent_uplink, ue.radio.pinned_sinr) = (persistent, Some(Db(sinr)));
        let ue = config.ues.push(ue);
        let mut layers = LteBearerConfig::default();
        layers.rlc.mode = Mode::Um;
        config.bearers.push(DrbConfig { ue, layers, qos: Qos::default(), ip_buffer: None });
    }
    let mut network = RadioNetwork::new(&config, 2);
    network.trace().set(true);
    let (mut out, mut voice) = (
        NetworkOutput::default(),
        Voice { stats: Vec::new(), delays: Vec::new(), trace: Vec::new(), sleeps: false },
    );
    let pushed = |i: usize, ue: usize| {
        Instant::from_micros((20_000 * i + 400_000 * (i / talk) + 500 + 3_700 * ue) as u64)
    };
    let run = |network: &mut RadioNetwork, until: Instant, out: &mut NetworkOutput, voice: &mut Voice| {
        let next = |n: &RadioNetwork| n.next_tti().into_iter().chain(n.next_timer()).min();
        while let Some(now) = next(network).filter(|t| *t < until) {
            if network.next_tti() == Some(now) {
                network.on_tti(now, out)
            } else {
                network.on_timer(now, out)
            }
            voice.delays.extend(
                out.delivered
                    .drain(..)
                    .filter(|d| d.0.index() == 0)
                    .map(|(_, _, sdu)| now.since(pushed(sdu.id.index(), 0)).as_millis()),
            );
            voice.trace.extend(network.trace().drain());
        }
    };
    for i in 0..PACKETS {
        for ue in 0..ues {
            run(&mut network, pushed(i, ue), &mut out, &mut voice);
            let sdu = Sdu::new(PacketId::from_index(i), 40);
            network.push(pushed(i, ue), BearerId::from_index(ue), End::Ue, sdu, &mut out);
        }
    }
    run(&mut network, pushed(PACKETS + 100, 0), &mut out, &mut voice);
    voice.sleeps = network.next_tti().is_none();
    voice.stats =
        (0..ues).map(|u| *network.view().link_stats(UeId::from_index(u), Direction::Uplink)).collect();
    voice
}

const GRANT: UplinkPersistentConfig =
    UplinkPersistentConfig { interval: 20, bytes: 60, release_after: 4, sr_mask: true };

/// With dynamic scheduling each packet is requested. With persistent scheduling the first one is;
/// every later one has the next occasion, always the same time after its arrival, and is decoded 4
/// TTIs later. After the last packet four blocks of padding end the grant (implicitReleaseAfter),
/// and the cell is idle.
#[test]
fn one_request_and_one_grant_serve_a_talk_spurt() {
    let dynamic = voice(6, 1, 30.0, PACKETS, None);
    assert_eq!(dynamic.stats[0].requests, PACKETS as u64);
    let held = voice(6, 1, 30.0, PACKETS, Some(GRANT));
    assert_eq!(held.stats[0].requests, 1);
    let grants = held.trace.iter().filter(|r| r.step == Step::Grant);
    let [activation] = grants.collect::<Vec<_>>()[..] else { panic!("more than one grant") };
    assert!(activation.bytes >= 60, "{activation:?}");
    let data: Vec<u64> = held.trace.iter().filter(|r| r.step == Step::Data).map(|r| r.tti.0).collect();
    assert_eq!(data[0], activation.about.0);
    assert!(data.windows(2).all(|w| w[1] - w[0] == 20), "{data:?}");
    assert_eq!(data.len(), PACKETS + 4);
    let wait = (activation.about.0 + 4) * 1000 - 500;
    assert!(held.delays.iter().all(|d| *d == wait / 1000), "{:?}, expected {wait} us", held.delays);
    assert_eq!(held.delays.len(), PACKETS);
    assert!(held.sleeps);
}

/// 400 ms of silence after 10 packets of each talk spurt: the grant ends after 4 occasions and the
/// next spurt is requested again. 20 spurts: 20 requests, 20 activations, 20 x (10 + 4) blocks.
#[test]
fn silence_releases_the_grant_and_the_next_spurt_is_requested_again() {
    let held = voice(6, 1, 30.0, 10, Some(GRANT));
    assert_eq!(held.stats[0].requests, 20);
    assert_eq!(held.trace.iter().filter(|r| r.step == Step::Grant).count(), 20);
    assert_eq!(held.stats[0].blocks, 20 * (10 + 4));
    // Without the mask data beside an occasion triggers a request, configured grant or not.
    let asking = voice(6, 1, 30.0, 10, Some(UplinkPersistentConfig { sr_mask: false, ..GRANT }));
    assert!(asking.stats[0].requests > 100, "{}", asking.stats[0].requests);
}

/// At -5 dB 10.9 % of grants are missed, within four standard deviations. Occasions need none.
#[test]
fn occasions_are_not_missed() {
    let dynamic = voice(25, 1, -5.0, PACKETS, None);
    let n = (dynamic.stats[0].blocks + dynamic.stats[0].missed) as f64;
    assert!(
        (dynamic.stats[0].missed as f64 - 0.109 * n).abs() < 4.0 * (0.109 * 0.891 * n).sqrt(),
        "{:?}",
        dynamic.stats[0]
    );
    let held = voice(25, 1, -5.0, PACKETS, Some(GRANT));
    assert!(held.stats[0].missed <= 2, "{:?}", held.stats[0]);
}

/// Four blocks for data and six UEs: grants that coincide never share a block (debug builds check
/// every TTI), and a UE for whose grant there is no room is served by dynamic grants.
#[test]
fn more_ues_than_room_are_all_served() {
    let held = voice(6, 6, 5.0, 25, Some(GRANT));
    for (ue, s) in held.stats.iter().enumerate() {
        assert!(s.decoded_bytes >= 45 * PACKETS as u64, "{ue}: {s:?}");
    }
    assert_eq!(held.delays.len(), PACKETS);
}
