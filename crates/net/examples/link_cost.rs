//! The cost of a packet through a link. Demonstrates in particular: that a pipe is driven with few
//! lines, and that one `PipeOut` is reused for the whole run.
//!
//!     cargo run --release -p lasthop-net --example link_cost
#![expect(clippy::disallowed_types, reason = "a benchmark reads the wall clock")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant as Clock;

use lasthop_net::trace::Trace;
use lasthop_net::{Content, Ecn, Item, Limit, Link, Pipe, PipeOut, Playback, Queue, TraceLink, WireModel};
use lasthop_units::{Bitrate, Duration, FlowId, Id, Instant, PacketId};

/// The best of so many rounds is printed: other work on the machine only ever adds.
const ROUNDS: usize = 50;
const PACKETS: u64 = 100_000;

fn main() {
    let queue = || Queue::drop_tail(Limit { packets: Some(1000), bytes: None });
    let wire = |loss| WireModel { delay: Duration::from_millis(10), loss, ..WireModel::default() };
    // 1500 B at 12 Mbit/s are 1 ms. One packet each 1 ms keeps the link just busy; with a standing
    // queue a burst of 500 comes first.
    let pipe = |rate, loss| Link::Pipe(Pipe::new(rate, queue(), wire(loss), 1, 0));
    let rate = Some(Bitrate(12_000_000));
    let trace = Arc::new(Trace::from_ms(1..=60_000).expect("a valid trace"));
    let sparse = Arc::new(Trace::from_ms((1..=60).map(|s| s * 1000)).expect("a valid trace"));
    let follow = |trace: &Arc<Trace>| {
        Link::Trace(TraceLink::new(trace.clone(), Playback::default(), queue(), wire(0.0), 1, 0))
    };
    for (name, link, burst, gap_us) in [
        ("pipe, idle at each arrival", pipe(rate, 0.0), 0, 1_100),
        ("pipe, standing queue of 500", pipe(rate, 0.0), 500, 1_000),
        ("pipe, overloaded (drops)", pipe(rate, 0.0), 0, 900),
        ("pipe, unlimited rate", pipe(None, 0.0), 0, 1_000),
        ("pipe, loss 1 %", pipe(rate, 0.01), 0, 1_100),
        ("trace link, standing queue of 500", follow(&trace), 500, 1_000),
        ("trace link, idle at each arrival", follow(&trace), 0, 1_700),
        ("trace link, one opportunity a second", follow(&sparse), 0, 1_000_000),
    ] {
        println!("{:<40} {:>6.1} ns/packet", name, cost(link, burst, gap_us));
    }
}

/// Packets of 1500 B each `gap_us`, after a burst; every event is taken, as a simulator would.
fn cost(mut link: Link, burst: u64, gap_us: u64) -> f64 {
    let (mut out, mut now, mut taken) = (PipeOut::default(), Instant::ZERO, 0);
    let item = Item {
        id: PacketId::from_index(0),
        size: 1500,
        flow: FlowId::from_index(0),
        ecn: Ecn::NotEct,
        content: Content::new(true, false),
        enqueued: now,
    };
    (0..burst).for_each(|_| link.enqueue(now, item, &mut out));
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let clock = Clock::now();
        for _ in 0..PACKETS {
            now += Duration::from_micros(gap_us);
            while let Some(at) = link.poll_at().filter(|at| *at <= now) {
                link.on_time(at, &mut out);
                taken += out.arrived.len() + out.dropped.len();
                out.clear();
            }
            link.enqueue(now, black_box(item), &mut out);
        }
        best = best.min(clock.elapsed().as_nanos() as f64 / PACKETS as f64);
    }
    black_box(taken);
    best
}
