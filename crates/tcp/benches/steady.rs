//! What one ACK costs the sender in the steady state: `handle_segment`, then `poll_transmit` until
//! `None`.
//!
//! `cargo bench -p lasthop-tcp`. Prints nanoseconds per ACK, the quickest tenth of the rounds, so
//! that a busy machine disturbs little; the receiver's cost is measured apart.
#![allow(clippy::disallowed_types, clippy::disallowed_methods)]

use std::hint::black_box;
use std::time::Instant as Wall;

use lasthop_tcp::*;
use lasthop_units::{Bytes, Duration, Instant, Seq};

fn main() {
    for (name, cc, sack, window) in [
        ("reno, SACK, window 100", CcName::Reno, true, 100),
        ("reno, SACK, window 5000", CcName::Reno, true, 5000),
        ("reno, NewReno, window 100", CcName::Reno, false, 100),
        ("vegas, NewReno, window 100", CcName::Vegas, false, 100),
    ] {
        let (ack, data) = steady(cc, sack, window);
        println!("{name:<28} {ack:6.1} ns per ACK at the sender, {data:6.1} ns per segment at the receiver");
    }
    println!("{:<28} {:6.1} ns per ACK at the sender in recovery", "window 5000, 1 % lost", lossy());
}

fn pair(cc: CcName, sack: bool, window: u32) -> (Endpoint, Endpoint, Instant) {
    let o = Options {
        cc: Some(cc),
        negotiated: NegotiatedOptions {
            sack: Some(sack),
            timestamps: Some(sack),
            ..NegotiatedOptions::default()
        },
        acks: AckOptions { ack_every: Some(1), ..AckOptions::default() },
        buffers: BufferOptions { receive_buffer: Some(Bytes(1 << 26)), ..BufferOptions::default() },
        window: WindowOptions {
            max_window: Some(window),
            initial_window: Some(window.min(1000)),
            ..WindowOptions::default()
        },
        ..Options::default()
    };
    let c = o.resolve().unwrap();
    let (mut a, mut b) = (Endpoint::new(c, Seq(1)), Endpoint::new(c, Seq(2)));
    b.listen();
    let now = Instant::from_millis(1);
    a.connect(now);
    b.handle_segment(now, &a.poll_transmit(now).unwrap());
    a.handle_segment(now, &b.poll_transmit(now).unwrap());
    a.write(now, 1 << 50);
    (a, b, now)
}

fn steady(cc: CcName, sack: bool, window: u32) -> (f64, f64) {
    let (mut a, mut b, mut now) = pair(cc, sack, window);
    let (mut data, mut acks) = (Vec::new(), Vec::new());
    let (mut sender, mut receiver, mut n) = (vec![], vec![], 0u64);
    while n < 4_000_000 {
        now += Duration::from_millis(10);
        let t = Wall::now();
        for s in &acks {
            a.handle_segment(now, s);
            while let Some(d) = a.poll_transmit(now) {
                data.push(d);
            }
        }
        while let Some(d) = a.poll_transmit(now) {
            data.push(d);
        }
        while a.poll_event().is_some() {}
        sender.push(t.elapsed().as_secs_f64() / acks.len().max(1) as f64);
        acks.clear();
        now += Duration::from_millis(10);
        let t = Wall::now();
        for s in &data {
            b.handle_segment(now, s);
            while let Some(k) = b.poll_transmit(now) {
                acks.push(k);
            }
        }
        receiver.push(t.elapsed().as_secs_f64() / data.len().max(1) as f64);
        n += data.len() as u64;
        data.clear();
    }
    black_box(a.info());
    (quick(sender), quick(receiver))
}

fn lossy() -> f64 {
    let (mut a, mut b, mut now) = pair(CcName::Reno, true, 5000);
    let (mut data, mut acks) = (Vec::new(), Vec::new());
    let (mut sender, mut n, mut sent) = (vec![], 0u64, 0u64);
    while n < 2_000_000 {
        now += Duration::from_millis(10);
        a.on_time(now);
        let t = Wall::now();
        for s in &acks {
            a.handle_segment(now, s);
            while let Some(d) = a.poll_transmit(now) {
                data.push(d);
            }
        }
        while let Some(d) = a.poll_transmit(now) {
            data.push(d);
        }
        while a.poll_event().is_some() {}
        sender.push(t.elapsed().as_secs_f64() / acks.len().max(1) as f64);
        n += acks.len() as u64;
        acks.clear();
        now += Duration::from_millis(10);
        for s in data.drain(..) {
            sent += 1;
            if sent % 100 == 50 {
                continue;
            }
            b.handle_segment(now, &s);
            while let Some(k) = b.poll_transmit(now) {
                acks.push(k);
            }
        }
        if acks.is_empty() {
            now = a.poll_at().unwrap_or(now).max(now);
        }
    }
    black_box(a.info());
    quick(sender)
}

/// The first decile [ns].
fn quick(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 10] * 1e9
}
