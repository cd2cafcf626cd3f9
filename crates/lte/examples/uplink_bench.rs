//! Times a TTI of the uplink: `lte-up10` (ten UEs with a bulk upload each, 20 MHz) without and with
//! a thousand idle UEs, and single packets from UEs that send scheduling requests.
//!
//!     cargo run --release -p lasthop-lte --example uplink_bench

use lasthop_bearer::{Direction, End, Sdu};
use lasthop_lte::mac::scheduler::qci::Qos;
use lasthop_lte::network::{CellConfig, DrbConfig, NetworkConfig, NetworkOutput, RadioNetwork, UeConfig};
use lasthop_lte_l2::pdcp::LteBearerConfig;
use lasthop_radio::{FadingProfile, Mobility};
use lasthop_units::{BearerId, CellId, Duration, Id, Instant, Metres, PacketId, Speed, UeId};

/// Processor time of this process [s]: the load of the machine does not count.
fn cpu_time() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(f64::NAN) * 1e-9
}

const SIMULATED: Instant = Instant::from_secs(20);
const PACKET: u32 = 1500;
/// Packets that an upload keeps in flight.
const WINDOW: usize = 400;

fn main() {
    for (name, fading) in [("no fading", FadingProfile::None), ("EVA 60 km/h", FadingProfile::Eva)] {
        let mut best = [f64::INFINITY; 2];
        for _ in 0..5 {
            for (i, idle) in [0, 1000].into_iter().enumerate() {
                best[i] = best[i].min(bulk(10, idle, fading));
            }
        }
        let [alone, beside] = best;
        println!("lte-up10, {name}: {alone:.2} us per TTI, {:.0} times real time", 1000.0 / alone);
        println!("  beside 1000 idle UEs: {beside:.2} us per TTI, {:+.1} %", (beside / alone - 1.0) * 100.0);
    }
    println!("sparse: {:.2} us per packet of 100 B every 50 ms, 100 UEs", sparse(100));
}

/// UEs 400 m from the cell, which move around it.
fn network(ues: usize, fading: FadingProfile) -> RadioNetwork {
    let mut config = NetworkConfig::default();
    config.radio.fading = fading;
    let serving = config.cells.push(CellConfig::default());
    for _ in 0..ues {
        let mut ue = UeConfig::served_by(serving);
        ue.radio.position[0] = Metres(400.0);
        if fading != FadingProfile::None {
            ue.radio.mobility = Mobility::Linear { speed: Speed(60.0 / 3.6), heading: 90.0 };
        }
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

/// Microseconds per TTI of `busy` UEs with bulk uploads.
fn bulk(busy: usize, idle: usize, fading: FadingProfile) -> f64 {
    let mut n = network(busy + idle, fading);
    let mut out = NetworkOutput::default();
    let bearer = BearerId::from_index;
    for ue in 0..busy {
        for k in 0..WINDOW {
            n.push(
                Instant::ZERO,
                bearer(ue),
                End::Ue,
                Sdu::new(PacketId::from_index(ue * WINDOW + k), PACKET),
                &mut out,
            );
        }
    }
    let start = cpu_time();
    let (mut bytes, mut ttis) = (0_u64, 0_u64);
    let mut arrived = Vec::new();
    let mut settled = 0;
    while let Some(now) = n.next_tti().into_iter().chain(n.next_timer()).min().filter(|t| *t < SIMULATED) {
        if n.next_tti() == Some(now) {
            n.on_tti(now, &mut out);
            ttis += 1;
            if ttis == 10_000 {
                settled = lasthop_counting::allocations();
            }
        } else {
            n.on_timer(now, &mut out);
        }
        assert!(out.dropped.is_empty());
        arrived.append(&mut out.delivered);
        for (b, _, sdu) in arrived.drain(..) {
            bytes += u64::from(sdu.size());
            n.push(now, b, End::Ue, Sdu::new(sdu.id, PACKET), &mut out);
        }
    }
    let took = cpu_time() - start;
    let stats = (0..busy).map(|ue| *n.view().link_stats(UeId::from_index(ue), Direction::Uplink));
    let [blocks, again, granted] =
        stats.fold([0; 3], |[b, r, g], s| [b + s.blocks, r + s.retransmissions, g + s.bytes]);
    let allocations = lasthop_counting::allocations() - settled;
    if idle == 0 {
        eprintln!(
            "{allocations} allocations after TTI 10000; {:.1} Mbit/s, {ttis} TTIs, {blocks} blocks, {again} retransmissions, {:.2} % padding",
            bytes as f64 * 8e-6 / SIMULATED.as_secs_f64(),
            100.0 * n.view().uplink_counters(CellId::from_index(0)).padding_bytes as f64 / granted as f64,
        );
    }
    took * 1e6 / ttis as f64
}

/// Microseconds per packet of UEs that each send one every 50 ms.
fn sparse(ues: usize) -> f64 {
    let mut n = network(ues, FadingProfile::None);
    let mut out = NetworkOutput::default();
    let mut next: Vec<Instant> = (0..ues as u64).map(|i| Instant::from_micros(500 * i)).collect();
    let (mut packets, start) = (0_u64, cpu_time());
    while let Some((ue, at)) = next.iter().copied().enumerate().min_by_key(|(i, t)| (*t, *i)) {
        if at >= SIMULATED {
            break;
        }
        while let Some(now) = n.next_tti().into_iter().chain(n.next_timer()).min().filter(|t| *t < at) {
            match n.next_tti() == Some(now) {
                true => n.on_tti(now, &mut out),
                false => n.on_timer(now, &mut out),
            }
            out.delivered.clear();
        }
        n.push(at, BearerId::from_index(ue), End::Ue, Sdu::new(PacketId::from_index(0), 100), &mut out);
        packets += 1;
        next[ue] = at + Duration::from_millis(50);
    }
    (cpu_time() - start) * 1e6 / packets as f64
}
