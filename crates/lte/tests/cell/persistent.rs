//! Semi-persistent scheduling (TS 36.321 clause 5.10.1).

use lasthop_bearer::{Direction, End, Sdu};
use lasthop_lte::mac::downlink::{AmcConfig, LinkStats, PersistentConfig, PiroConfig};
use lasthop_lte::mac::scheduler::qci::Qos;
use lasthop_lte::mac::uplink::UplinkPersistentConfig;
use lasthop_lte::network::{DrbConfig, NetworkOutput, RadioNetwork};
use lasthop_lte_l2::pdcp::LteBearerConfig;
use lasthop_lte_l2::rlc::Mode;
use lasthop_radio::{Mobility, PathLoss};
use lasthop_units::{BearerId, Db, Id, Instant, Metres, PacketId, Speed, UeId};

use super::setup::friis_cell;

const PACKETS: usize = 400;

/// 40 bytes every 20 ms at -5 dB, where 10.9 % of assignments are missed (TS 36.133's out of sync);
/// no HARQ. Returns the counters, and the delays of the packets that arrived [ms].
fn voice(persistent: Option<PersistentConfig>) -> (LinkStats, Vec<u64>) {
    let mut config = friis_cell(&[100.0]);
    let cell = config.cells.iter_mut().next().unwrap();
    (cell.downlink.control_errors, cell.downlink.harq.transmissions) = (true, 1);
    cell.downlink.amc = AmcConfig::Piro(PiroConfig { ber: 0.03 });
    let ue = config.ues.iter_mut().next().unwrap();
    (ue.full_buffer, ue.persistent) = ([false, false], persistent);
    ue.radio.pinned_sinr = Some(Db(-5.0));
    let mut layers = LteBearerConfig::default();
    layers.rlc.mode = Mode::Um;
    config.bearers.push(DrbConfig { ue: UeId::from_index(0), layers, qos: Qos::default(), ip_buffer: None });
    let mut network = RadioNetwork::new(&config, 2);
    let (mut out, mut delays) = (NetworkOutput::default(), Vec::new());
    for i in 0..PACKETS {
        let pushed = Instant::from_micros(20_000 * i as u64 + 5_500);
        network.push(
            pushed,
            BearerId::from_index(0),
            End::Network,
            Sdu::new(PacketId::from_index(i), 40),
            &mut out,
        );
        let until = Instant::from_micros(20_000 * (i as u64 + 1) + 5_500);
        while let Some(now) =
            network.next_tti().into_iter().chain(network.next_timer()).min().filter(|t| *t < until)
        {
            if network.next_tti() == Some(now) {
                network.on_tti(now, &mut out)
            } else {
                network.on_timer(now, &mut out)
            }
            delays.extend(out.delivered.drain(..).map(|(_, _, sdu)| {
                let pushed = Instant::from_micros(20_000 * sdu.id.index() as u64 + 5_500);
                now.since(pushed).as_millis()
            }));
        }
    }
    (*network.view().link_stats(UeId::from_index(0), Direction::Downlink), delays)
}

/// With dynamic scheduling each packet is sent at once, 4 to 5 ms, and 10.9 % of the assignments
/// are missed (400 of them: 43.6, standard deviation 6.2). With persistent scheduling only the
/// activation may be missed, and a packet waits for its occasion: that of UE 0 is at 0 mod 20 ms,
/// so a packet at 5.5 ms is sent at 20 ms and decoded at 24 ms, 18.5 ms later.
#[test]
fn a_persistent_grant_needs_no_assignment_and_comes_at_its_occasion() {
    let (dynamic, delays) = voice(None);
    assert_eq!(dynamic.blocks, PACKETS as u64);
    assert!((dynamic.missed as f64 - 43.6).abs() < 4.0 * 6.2, "{dynamic:?}");
    // After a lost block RLC waits for t-Reordering, 35 ms: a packet 20 ms later has waited 15 ms
    // of it.
    assert!(delays.iter().all(|d| [4, 4 + 35, 4 + 15].contains(d)), "{delays:?}");
    let grant = PersistentConfig { interval: 20, bytes: 60, release_after: 2 };
    let (persistent, delays) = voice(Some(grant));
    assert_eq!(persistent.blocks, PACKETS as u64);
    assert!(persistent.missed <= 1, "{persistent:?}");
    assert!(delays.len() >= PACKETS - 2 && delays.iter().all(|d| *d == 18), "{delays:?}");
}

/// 40 bytes every 20 ms from `end` for 8 s, while the UE moves from 200 m to 1.4 km: the SINR falls
/// by 40 log10(7) = 34 dB. The speed of 150 m/s keeps the test short; there is no fading on which
/// it would act. Returns the number of packets that arrived.
fn leaving(end: End, persistent: bool) -> usize {
    let mut config = friis_cell(&[200.0]);
    config.radio.path_loss = PathLoss::LogDistance {
        exponent: 4.0,
        reference_distance: Metres(100.0),
        reference_loss: Some(Db(79.0)),
    };
    let cell = config.cells.iter_mut().next().unwrap();
    (cell.downlink.harq.transmissions, cell.downlink.data_errors) = (4, true);
    let ue = config.ues.iter_mut().next().unwrap();
    ue.full_buffer = [false, false];
    ue.radio.mobility = Mobility::Linear { speed: Speed(150.0), heading: 0.0 };
    if persistent {
        ue.persistent = Some(PersistentConfig { interval: 20, bytes: 60, release_after: 2 });
        ue.persistent_uplink = Some(UplinkPersistentConfig { bytes: 60, ..Default::default() });
    }
    let mut layers = LteBearerConfig::default();
    layers.rlc.mode = Mode::Um;
    config.bearers.push(DrbConfig { ue: UeId::from_index(0), layers, qos: Qos::default(), ip_buffer: None });
    let mut network = RadioNetwork::new(&config, 2);
    let (mut out, mut arrived) = (NetworkOutput::default(), 0);
    for i in 0..PACKETS {
        let sdu = Sdu::new(PacketId::from_index(i), 40);
        let pushed = Instant::from_micros(20_000 * i as u64 + 5_500);
        network.push(pushed, BearerId::from_index(0), end, sdu, &mut out);
        let until = Instant::from_micros(20_000 * (i as u64 + 1) + 5_500);
        while let Some(now) =
            network.next_tti().into_iter().chain(network.next_timer()).min().filter(|t| *t < until)
        {
            if network.next_tti() == Some(now) {
                network.on_tti(now, &mut out)
            } else {
                network.on_timer(now, &mut out)
            }
            arrived += out.delivered.drain(..).count();
        }
    }
    arrived
}

/// The MCS of a persistent grant stays as it was at its activation, where the SINR was 34 dB
/// better. The eNB activates the grant again after two failed blocks. A new MCS has a margin of its
/// own and four transmissions, 6 dB, so that an activation covers several dB of the 34, and costs
/// two packets and those that fall into the time until the feedback: at most one packet in 20 is
/// lost. With dynamic scheduling, where each block has its own MCS, no packet is lost.
#[test]
fn a_persistent_grant_follows_a_channel_that_becomes_worse() {
    for end in [End::Network, End::Ue] {
        let (dynamic, persistent) = (leaving(end, false), leaving(end, true));
        assert!(dynamic >= PACKETS - 2, "{end:?}: {dynamic}");
        assert!(persistent >= PACKETS * 19 / 20, "{end:?}: {persistent} of {PACKETS}");
    }
}
