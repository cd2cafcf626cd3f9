//! The drive of the bench case `drive7`: a hundred UEs between seven cells, hundreds of handovers,
//! and memory that does not grow with them.

use lasthop_bearer::{End, Sdu};
use lasthop_lte::network::{CellConfig, DrbConfig, NetworkConfig, NetworkOutput, RadioNetwork, UeConfig};
use lasthop_lte::rrc::HandoverConfig;
use lasthop_lte_l2::pdcp::LteBearerConfig;
use lasthop_radio::Mobility;
use lasthop_units::{BearerId, CellId, Id, Instant, Metres, PacketId, Speed};

const UES: usize = 100;
const HEXAGON: [[f64; 2]; 7] = [
    [0.0, 0.0],
    [500.0, 0.0],
    [250.0, 433.0],
    [-250.0, 433.0],
    [-500.0, 0.0],
    [-250.0, -433.0],
    [250.0, -433.0],
];

fn network() -> RadioNetwork {
    let mut config = NetworkConfig { handover: Some(HandoverConfig::default()), ..NetworkConfig::default() };
    config.radio.path_loss = lasthop_radio::PathLoss::LogDistance {
        exponent: 3.0,
        reference_distance: Metres(1.0),
        reference_loss: None,
    };
    for [x, y] in HEXAGON {
        let mut cell = CellConfig { resource_blocks: 50, ..CellConfig::default() };
        cell.radio.position = [Metres(x), Metres(y), Metres(30.0)];
        config.cells.push(cell);
    }
    for i in 0..UES {
        let (from, to) = (i % 7, (i % 7 + 1 + i / 7 % 6) % 7);
        let ([ax, ay], [bx, by], off) = (HEXAGON[from], HEXAGON[to], i as f64 - 50.0);
        let mut ue = UeConfig::served_by(CellId::from_index(from));
        ue.radio.position = [Metres(ax + off), Metres(ay + 20.0), Metres(1.5)];
        let to = [Metres(bx + off), Metres(by - 20.0)];
        ue.radio.mobility = Mobility::BackAndForth { speed: Speed(30.0), to };
        let ue = config.ues.push(ue);
        config.bearers.push(DrbConfig {
            ue,
            layers: LteBearerConfig::default(),
            qos: Default::default(),
            ip_buffer: None,
        });
    }
    RadioNetwork::new(&config, 1)
}

/// 200 kbit/s to each UE, a packet of 1000 B every 40 ms, from one second to another. Returns the
/// packets sent and delivered, and the handovers.
fn drive(network: &mut RadioNetwork, out: &mut NetworkOutput, from: u64, to: u64) -> [usize; 3] {
    let (mut sent, mut delivered, mut handovers) = (0, 0, 0);
    for ms in 1000 * from..1000 * to {
        for ue in (0..UES).filter(|ue| (ms + *ue as u64).is_multiple_of(40)) {
            let packet = Sdu::new(PacketId::from_index(sent), 1000);
            network.push(Instant::from_millis(ms), BearerId::from_index(ue), End::Network, packet, out);
            sent += 1;
        }
        while let Some(now) = network.next_tti().into_iter().chain(network.next_timer()).min() {
            if now >= Instant::from_millis(ms + 1) {
                break;
            }
            if network.next_tti() == Some(now) {
                network.on_tti(now, out);
            } else {
                network.on_timer(now, out);
            }
        }
        delivered += out.delivered.len();
        handovers += out.events.iter().filter(|(_, e)| e.name() == "handover-complete").count();
        out.delivered.clear();
        out.dropped.clear();
        out.events.clear();
        out.forwarded.clear();
    }
    [sent, delivered, handovers]
}

/// A leg of 500 m takes 17 s and one of 1000 m 33 s, and each crosses a border: some 110 handovers
/// in each window of 20 s. Buffers grow to the largest need of each UE, ever more rarely and in
/// steps (600 s and 3355 handovers: 2.68 MB became 3.13 MB, with 128 kB of it in four of the last
/// eleven windows), so the sum is no measure. Memory that each handover did not release would grow
/// by as much in every window: the window with the least growth after the first 100 s bounds it. An
/// object would be one allocation a handover, an entry of a list at least eight octets.
#[test]
fn hundreds_of_handovers_leave_no_memory_behind() {
    let (mut network, mut out) = (network(), NetworkOutput::default());
    let (mut seen, mut completed) = (Vec::new(), 0);
    for step in 0..16 {
        let [sent, delivered, handovers] = drive(&mut network, &mut out, 20 * step, 20 * step + 20);
        completed += handovers;
        assert!(delivered as f64 > 0.98 * sent as f64, "{delivered} of {sent}, {handovers} handovers");
        let [octets, allocations] = lasthop_counting::held();
        seen.push([completed as f64, octets as f64, allocations as f64]);
    }
    let windows: Vec<_> = seen[5..].windows(2).map(|w| [0, 1, 2].map(|i| w[1][i] - w[0][i])).collect();
    assert!(windows.iter().all(|[handovers, ..]| *handovers >= 80.0), "{seen:?}");
    let quietest = |i: usize| windows.iter().map(|w| w[i] / w[0]).fold(f64::INFINITY, f64::min);
    assert!(quietest(1) < 32.0, "octets a handover: {seen:?}");
    assert!(quietest(2) < 0.25, "allocations a handover: {seen:?}");
}
