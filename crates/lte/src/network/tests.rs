//! The network as a whole: packets in, packets out.

use lasthop_units::{BearerId, CellId, Id, Instant, PacketId, UeId};

use super::*;
use crate::mac::scheduler::qci::Qos;
use lasthop_lte_l2::pdcp::LteBearerConfig;
use lasthop_lte_l2::rlc::Mode;

fn one_ue(mode: Mode) -> NetworkConfig {
    let mut config = NetworkConfig::default();
    let serving = config.cells.push(CellConfig::default());
    let ue = config.ues.push(UeConfig::served_by(serving));
    let mut layers = LteBearerConfig::default();
    layers.rlc.mode = mode;
    config.bearers.push(DrbConfig { ue, layers, qos: Qos::default() });
    config
}

/// Runs until nothing is left to do; when each packet came out.
fn run(network: &mut RadioNetwork, out: &mut NetworkOutput) -> Vec<(u64, Instant)> {
    let mut arrivals = Vec::new();
    while let Some(now) = network.next_tti().into_iter().chain(network.next_timer()).min() {
        match network.next_tti() == Some(now) {
            true => network.on_tti(now, out),
            false => network.on_timer(now, out),
        }
        arrivals.extend(out.delivered.drain(..).map(|(_, _, sdu)| (sdu.serial, now)));
    }
    arrivals
}

/// The packet waits for the TTI after the one in which it came, and is decoded 4 TTIs after its
/// last block was sent.
#[test]
fn a_packet_reaches_the_ue_when_its_last_block_is_decoded_and_the_network_sleeps_again() {
    let mut network = RadioNetwork::new(&one_ue(Mode::Um), 1);
    let mut out = NetworkOutput::default();
    assert_eq!(network.next_tti(), None);
    let bearer = BearerId::from_index(0);
    network.push(
        Instant::from_micros(5_300),
        bearer,
        End::Network,
        Sdu::new(PacketId::from_index(0), 1500),
        &mut out,
    );
    assert_eq!(network.next_tti(), Some(Instant::from_millis(6)));
    // 46 dBm at 100 m in free space is the best MCS: one block in TTI 6 is enough.
    assert_eq!(run(&mut network, &mut out), [(0, Instant::from_millis(10))]);
    assert_eq!((network.inside(bearer, End::Network), network.next_tti()), (0, None));
    let _ = (CellId::from_index(0), UeId::from_index(0));
}
