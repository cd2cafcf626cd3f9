//! Cost of one PDU end to end: pull, block error draw, transmission, receive, with the resulting
//! status reports.
//!
//! Demonstrates in particular: two acknowledged mode entities over two dedicated channels, driven
//! by hand through `Bearer`, without an event queue. Run with `cargo run --release -p lasthop-umts
//! --example rlc_bench [seconds]`.

use lasthop_bearer::{BearerOutput, Direction, End};
use lasthop_umts::rlc::RlcEvent;
use lasthop_umts::{Bearer, BearerConfig};
use lasthop_units::{Bytes, Id, Instant, PacketId, Ratio};

fn main() {
    let seconds = std::env::args().nth(1).map_or(20_000, |s| s.parse().expect("simulated seconds"));
    for p in [0.0, 0.05, 0.3] {
        bench(p, seconds);
    }
}

/// 384 kbit/s down with a backlog of 64 packets of 552 B, one acknowledgement of 40 B up per
/// packet.
fn bench(bler: f64, seconds: u64) {
    let mut cfg = BearerConfig::default();
    (cfg.downlink.bler, cfg.uplink.bler) = (Ratio(bler), Ratio(bler));
    (cfg.rlc.am.tx_window, cfg.rlc.am.rx_window) = (4095, 4095);
    cfg.rlc.am.poll_window_repeat = 128;
    cfg.rlc.am.buffer_bytes = Bytes(0);
    let mut bearer = Bearer::new(&cfg, 1, 0);
    let mut out = BearerOutput::<RlcEvent>::default();
    (0..64).for_each(|i| bearer.push(Instant::ZERO, End::Network, PacketId::from_index(i), 552, &mut out));

    // The bench measures wall time; protocol code never uses it.
    #[allow(clippy::disallowed_types)]
    let start = std::time::Instant::now();
    let mut events = 0u64;
    while let Some((now, what)) = next(&bearer) {
        if now >= Instant::from_secs(seconds) {
            break;
        }
        events += 1;
        match what {
            What::Tti(d) => bearer.on_tti(now, d, &mut out),
            What::Arrival(d) => bearer.on_arrival(now, d, &mut out),
            What::Timer => bearer.on_timer(now, &mut out),
        }
        let delivered = std::mem::take(&mut out.delivered);
        for (end, sdu) in &delivered {
            if *end == End::Ue {
                bearer.push(now, End::Ue, sdu.id, 40, &mut out);
                bearer.push(now, End::Network, sdu.id, 552, &mut out);
            }
        }
        out.delivered = delivered;
        out.clear();
    }
    let wall = start.elapsed().as_secs_f64();
    let blocks: u64 = Direction::BOTH.iter().map(|d| bearer.dch(*d).stats().blocks_sent).sum();
    println!(
        "bler {bler}: {:.1} ns per PDU, {:.0} simulated s per s, {blocks} PDUs, {events} events",
        wall * 1e9 / blocks as f64,
        seconds as f64 / wall,
    );
}

#[derive(Clone, Copy)]
enum What {
    Tti(Direction),
    Arrival(Direction),
    Timer,
}

/// The next of at most five moments, in the order of ARCHITECTURE.md.
fn next(b: &Bearer) -> Option<(Instant, What)> {
    let candidates = [
        (b.next_tti(Direction::Downlink), What::Tti(Direction::Downlink)),
        (b.next_tti(Direction::Uplink), What::Tti(Direction::Uplink)),
        (b.next_arrival(Direction::Downlink), What::Arrival(Direction::Downlink)),
        (b.next_arrival(Direction::Uplink), What::Arrival(Direction::Uplink)),
        (b.next_timer(), What::Timer),
    ];
    candidates.into_iter().filter_map(|(at, w)| at.map(|at| (at, w))).min_by_key(|(at, _)| *at)
}
