//! Times a TTI of a whole network on several threads: `cargo run --release -p lasthop-lte --example
//! network_bench [threads] [UEs a cell] [seconds] [rings]`.
//!
//! Sites of three sectors in rings around the first (57 cells of two rings), EVA at 3 km/h. Each UE
//! has a download over RLC AM with a window of packets, and sends a small packet for every second
//! one, as TCP acknowledges: everything but TCP itself. Prints the wall time, the processor time,
//! and a checksum of all deliveries and their times: it is the same for any number of threads.
#![allow(clippy::disallowed_types)] // a wall clock

#[path = "layout57/mod.rs"]
mod layout57;

use std::time::Instant as Clock;

use lasthop_bearer::{End, Sdu};
use lasthop_lte::network::{CellConfig, DrbConfig, NetworkOutput, RadioNetwork};
use lasthop_lte_l2::pdcp::LteBearerConfig;
use lasthop_units::{BearerId, Id, Instant, PacketId};

/// Packets that a download keeps in flight.
const WINDOW: usize = 40;
/// Sizes of data and acknowledgements [B].
const SIZES: [u32; 2] = [1500, 52];

/// Seconds that all threads of this process have run on a processor (Linux).
fn on_cpu() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let ticks = text.rsplit(')').next().unwrap_or("").split_whitespace().skip(11).take(2);
    ticks.filter_map(|t| t.parse::<f64>().ok()).sum::<f64>() / 100.0
}

fn main() {
    let args: Vec<usize> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    let arg = |i: usize, default: usize| args.get(i).copied().unwrap_or(default);
    let (threads, each, seconds, rings) = (arg(0, 1), arg(1, 10), arg(2, 1), arg(3, 2));
    let mut config = layout57::cells(rings as u32, layout57::antenna(false), &CellConfig::default());
    let sites = 1 + 3 * rings * (rings + 1);
    layout57::drop_ues(&mut config, sites, each, &layout57::ue(), 1);
    for ue in config.ues.ids() {
        let layers = LteBearerConfig::default();
        config.bearers.push(DrbConfig { ue, layers, qos: Default::default(), ip_buffer: None });
    }
    let mut network = RadioNetwork::new(&config, 1);
    if let Err(e) = network.set_threads(threads) {
        eprintln!("{threads} threads: {e}");
        std::process::exit(1);
    }
    let (mut out, mut count) = (NetworkOutput::default(), 0);
    for i in 0..WINDOW * config.ues.len() {
        let to = BearerId::from_index(i % config.ues.len());
        network.push(Instant::ZERO, to, End::Network, Sdu::new(PacketId::from_index(i), SIZES[0]), &mut out);
    }
    let (mut delivered, mut digest) = (0u64, 0u64);
    let (wall, cpu) = (Clock::now(), on_cpu());
    let end = Instant::from_secs(seconds as u64);
    while let Some(now) = network.next_tti().into_iter().chain(network.next_timer()).min() {
        if now >= end {
            break;
        }
        if network.next_tti() == Some(now) {
            network.on_tti(now, &mut out);
        } else {
            network.on_timer(now, &mut out);
        }
        let arrived: Vec<_> = out.delivered.drain(..).collect();
        for (bearer, to, sdu) in arrived {
            digest = digest.rotate_left(5) ^ now.0 ^ (bearer.index() as u64) << 40 ^ u64::from(sdu.size());
            if to == End::Ue {
                delivered += u64::from(sdu.size());
                network.push(now, bearer, End::Network, Sdu::new(sdu.id, SIZES[0]), &mut out);
                count += 1;
                if count % 2 == 1 {
                    let ack = Sdu::new(PacketId::from_index(1_000_000), SIZES[1]);
                    network.push(now, bearer, End::Ue, ack, &mut out);
                }
            }
        }
        out.dropped.clear();
        out.events.clear();
        out.marked.clear();
    }
    println!(
        "{threads} threads, {} cells, {} UEs, {seconds} s: wall {:.3} s, processor {:.2} s, {:.1} Mbit/s, {digest:016x}",
        config.cells.len(),
        config.ues.len(),
        wall.elapsed().as_secs_f64(),
        on_cpu() - cpu,
        delivered as f64 * 8e-6 / seconds as f64,
    );
}
