//! What a TTI of a cell's downlink costs: `cargo run --release -p lasthop-ran --example lte_downlink_bench [UEs] [seconds]`.
//!
//! Saturated UEs below RLC, 20 MHz, proportional fair, EVA at 60 km/h: scheduling, link adaptation, HARQ and the air, without RLC and TCP.

use lasthop_ran::network::{CellConfig, NetworkConfig, NetworkOutput, RadioNetwork, UeConfig};
use lasthop_units::{Id, Metres, UeId};

/// Nanoseconds that this process has run on a processor (Linux): what a busy machine does not change.
fn on_cpu() -> u64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or(0)
}

fn main() {
    let mut args = std::env::args().skip(1).filter_map(|a| a.parse::<u64>().ok());
    let only = args.next();
    let seconds = args.next().unwrap_or(20);
    for ues in only.map_or(vec![1, 10, 50], |n| vec![n]) {
        let mut config = NetworkConfig::default();
        config.radio.fading = lasthop_radio::FadingProfile::Eva;
        let serving = config.cells.push(CellConfig::default());
        for i in 0..ues {
            let mut ue = UeConfig::served_by(serving);
            ue.radio.position = [Metres(300.0 + 10.0 * i as f64), Metres(0.0), Metres(1.5)];
            ue.radio.speed = Some(lasthop_units::Speed(60.0 / 3.6));
            ue.radio.position[0].0 *= 10.0;
            ue.full_buffer = [true, false];
            config.ues.push(ue);
        }
        let mut network = RadioNetwork::new(&config, 1);
        let mut out = NetworkOutput::default();
        let start = on_cpu();
        for _ in 0..seconds * 1000 {
            if let Some(now) = network.next_tti() {
                network.on_tti(now, &mut out);
            }
        }
        let us = (on_cpu() - start) as f64 * 1e-3 / (seconds * 1000) as f64;
        let all = |f: &dyn Fn(&lasthop_ran::mac::lte::downlink::LinkStats) -> u64| -> u64 {
            (0..ues as usize).map(|u| f(network.downlink_stats(UeId::from_index(u)))).sum()
        };
        let rate = all(&|s| s.decoded_bytes) as f64 * 8.0 / (seconds as f64 * 1e6);
        println!(
            "{ues:3} UEs: {us:6.2} us a TTI, {rate:6.2} Mbit/s, {} of {} blocks sent again",
            all(&|s| s.retransmissions),
            all(&|s| s.blocks)
        );
    }
}
