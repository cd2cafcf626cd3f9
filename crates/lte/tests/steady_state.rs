//! Downloads of ten UEs over RLC AM, with acknowledgements in the uplink, in two cells whose
//! neighbours fade: once buffers have grown, allocations are rare.

use lasthop_bearer::{End, Sdu};
use lasthop_lte::mac::scheduler::qci::Qos;
use lasthop_lte::network::{CellConfig, DrbConfig, NetworkConfig, NetworkOutput, RadioNetwork, UeConfig};
use lasthop_lte_l2::pdcp::LteBearerConfig;
use lasthop_units::{BearerId, CellId, Id, Instant, Metres, PacketId, Speed};

const UES: usize = 10;
/// Packets in flight over all UEs.
const WINDOW: usize = 400;

fn network() -> RadioNetwork {
    let mut config = NetworkConfig::default();
    config.radio.fading = lasthop_radio::FadingProfile::Eva;
    for x in [0.0, 8000.0] {
        let mut cell = CellConfig::default();
        cell.radio.position[0] = Metres(x);
        config.cells.push(cell);
    }
    for i in 0..UES {
        let mut ue = UeConfig::served_by(CellId::from_index(i % 2));
        let away = if i % 2 == 0 { 1000.0 + 100.0 * i as f64 } else { 7000.0 - 100.0 * i as f64 };
        ue.radio.position = [Metres(away), Metres(0.0), Metres(1.5)];
        ue.radio.speed = Some(Speed(if i < 5 { 60.0 } else { 3.0 } / 3.6));
        let ue = config.ues.push(ue);
        config.bearers.push(DrbConfig {
            ue,
            layers: LteBearerConfig::default(),
            qos: Qos::default(),
            ip_buffer: None,
        });
    }
    RadioNetwork::new(&config, 1)
}

/// Runs to `end`; each delivery in the downlink is followed by a new packet, and every second one
/// by an acknowledgement in the uplink.
fn run(network: &mut RadioNetwork, out: &mut NetworkOutput, end: Instant) -> u64 {
    let mut delivered = 0;
    while let Some(now) = network.next_tti().into_iter().chain(network.next_timer()).min() {
        if now > end {
            break;
        }
        if network.next_tti() == Some(now) {
            network.on_tti(now, out);
        } else {
            network.on_timer(now, out);
        }
        for i in 0..out.delivered.len() {
            let (bearer, at, sdu) = out.delivered[i];
            if at == End::Ue {
                delivered += 1;
                network.push(now, bearer, End::Network, Sdu::new(sdu.id, 1500), out);
                if sdu.serial % 2 == 1 {
                    network.push(now, bearer, End::Ue, Sdu::new(PacketId::from_index(1_000_000), 52), out);
                }
            }
        }
        out.delivered.clear();
        out.dropped.clear();
        out.events.clear();
    }
    delivered
}

/// 10 000 TTIs after 20 000 of warm-up. An allocation in every TTI, for every block or packet would
/// be 10 000 and more. 150 were measured: vectors of pools that grow to the most they have ever
/// contained, 106 of them the pieces of a PDU in RLC's receiving window (a pool of vectors, each of
/// which doubles on its own), the others elements of PDUs, parts of HARQ processes, windows and
/// status reports. 200 is one in fifty TTIs.
#[test]
fn no_tti_of_the_downlink_needs_to_allocate() {
    let (mut network, mut out) = (network(), NetworkOutput::default());
    for i in 0..WINDOW {
        let to = BearerId::from_index(i % UES);
        network.push(Instant::ZERO, to, End::Network, Sdu::new(PacketId::from_index(i), 1500), &mut out);
    }
    run(&mut network, &mut out, Instant::from_secs(20));
    let before = lasthop_counting::allocations();
    let delivered = run(&mut network, &mut out, Instant::from_secs(30));
    let allocated = lasthop_counting::allocations() - before;
    assert!(delivered > 10_000, "{delivered} packets");
    assert!(allocated <= 200, "{allocated} allocations in 10 000 TTIs, {delivered} packets");
}
