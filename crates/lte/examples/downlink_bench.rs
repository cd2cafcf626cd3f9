//! Times a TTI of a cell's downlink: `cargo run --release -p lasthop-lte --example downlink_bench
//! [UEs] [seconds]`.
//!
//! 20 MHz, proportional fair, EVA at 60 km/h. First saturated UEs below RLC: scheduling, link
//! adaptation, HARQ and the radio channel. Then downloads over RLC AM with a window of packets
//! each, and a small packet in the uplink for every second one, as TCP acknowledges: everything but
//! TCP itself.

use lasthop_bearer::{Direction, End, Sdu};
use lasthop_lte::mac::downlink::LinkStats;
use lasthop_lte::mac::scheduler::qci::Qos;
use lasthop_lte::network::{CellConfig, DrbConfig, NetworkConfig, NetworkOutput, RadioNetwork, UeConfig};
use lasthop_lte_l2::pdcp::LteBearerConfig;
use lasthop_units::{BearerId, Id, Metres, PacketId, Speed, UeId};

/// Packets that a download keeps in flight, over all UEs.
const WINDOW: usize = 600;
/// Sizes of data and acknowledgements [B].
const SIZES: [u32; 2] = [1500, 52];

/// Nanoseconds that this process has run on a processor (Linux): the load of the machine does not
/// count.
fn on_cpu() -> u64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or(0)
}

fn main() {
    let mut args = std::env::args().skip(1).filter_map(|a| a.parse::<usize>().ok());
    let only = args.next();
    let seconds = args.next().unwrap_or(20) as u64;
    for ues in only.map_or(vec![1, 10, 50], |n| vec![n]) {
        for bearers in [false, true] {
            run(ues, bearers, seconds);
        }
    }
}

fn run(ues: usize, bearers: bool, seconds: u64) {
    let mut network = network(ues, bearers);
    let mut out = NetworkOutput::default();
    if bearers {
        for i in 0..WINDOW.max(2 * ues) {
            let to = BearerId::from_index(i % ues);
            let now = lasthop_units::Instant::ZERO;
            network.push(now, to, End::Network, Sdu::new(PacketId::from_index(i), SIZES[0]), &mut out);
        }
    }
    let (mut ttis, mut delivered) = (0, 0u64);
    let start = on_cpu();
    while let Some(now) = network.next_tti().into_iter().chain(network.next_timer()).min() {
        if now.as_secs_f64() > seconds as f64 {
            break;
        }
        if network.next_tti() == Some(now) {
            ttis += 1;
            network.on_tti(now, &mut out);
        } else {
            network.on_timer(now, &mut out);
        }
        for i in 0..out.delivered.len() {
            let (bearer, end, sdu) = out.delivered[i];
            if end == End::Ue {
                delivered += u64::from(sdu.size());
                network.push(now, bearer, End::Network, Sdu::new(sdu.id, SIZES[0]), &mut out);
                if sdu.serial % 2 == 1 {
                    network.push(
                        now,
                        bearer,
                        End::Ue,
                        Sdu::new(PacketId::from_index(1_000_000), SIZES[1]),
                        &mut out,
                    );
                }
            }
        }
        out.delivered.clear();
        out.dropped.clear();
        out.events.clear();
    }
    let us = (on_cpu() - start) as f64 * 1e-3 / ttis as f64;
    let all = |f: &dyn Fn(&LinkStats) -> u64| -> u64 {
        (0..ues).map(|u| f(network.view().link_stats(UeId::from_index(u), Direction::Downlink))).sum()
    };
    let bytes = if bearers { delivered } else { all(&|s| s.decoded_bytes) };
    println!(
        "{ues:3} UEs, {}: {us:6.2} us a TTI ({:4.0} times real time), {:6.2} Mbit/s, {} of {} blocks sent again",
        if bearers { "RLC AM   " } else { "saturated" },
        1000.0 / us,
        bytes as f64 * 8.0 / (seconds as f64 * 1e6),
        all(&|s| s.retransmissions),
        all(&|s| s.blocks)
    );
}

fn network(ues: usize, bearers: bool) -> RadioNetwork {
    let mut config = NetworkConfig::default();
    config.radio.fading = lasthop_radio::FadingProfile::Eva;
    let serving = config.cells.push(CellConfig::default());
    for i in 0..ues {
        let mut ue = UeConfig::served_by(serving);
        ue.radio.position = [Metres(3000.0 + 100.0 * i as f64), Metres(0.0), Metres(1.5)];
        ue.radio.speed = Some(Speed(60.0 / 3.6));
        ue.full_buffer = [!bearers, false];
        let ue = config.ues.push(ue);
        if bearers {
            config.bearers.push(DrbConfig {
                ue,
                layers: LteBearerConfig::default(),
                qos: Qos::default(),
                ip_buffer: None,
            });
        }
    }
    RadioNetwork::new(&config, 1)
}
