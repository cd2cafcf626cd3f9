//! BBR version 1 beside CUBIC on a drop-tail queue of X bandwidth-delay products, against the model
//! of Ware and others ("Modeling BBR's Interactions with Loss-Based Congestion Control", IMC 2019)
//! and what follows when its account of the queue is closed. docs/concepts/bbr-beside-cubic.md has
//! the derivation.

mod util;

use lasthop_tcp::*;
use lasthop_units::{Bytes, Duration, Instant};
use util::shared::Shared;

/// 10 Mbit/s and 40 ms: 33.3 packets of 1500 octets.
const RATE: u64 = 10_000_000 / 8;
const SEGMENT: f64 = 1500.0;
const BASE: f64 = 0.04;

/// Seconds that a number of packets takes on the link.
fn time_of(packets: f64) -> f64 {
    packets * SEGMENT / RATE as f64
}

fn bdp() -> f64 {
    BASE / time_of(1.0)
}

/// BBR's share of the link as published: CUBIC has p = 1/2 - 1/(2 X) - 4 / q of a queue that is
/// always full, and BBR loses the time of ProbeRTT, q / c + 0.2 s + l, of each 10 s.
fn published(x: f64) -> f64 {
    let q = x * bdp();
    let p = 0.5 - 0.5 / x - 4.0 / q;
    (1.0 - p) * (1.0 - (time_of(q) + 0.2 + BASE) / 10.0)
}

/// The same with every packet counted. While BBR stands at four segments CUBIC's window W fills the
/// pipe as well as the queue, so BBR measures W / c and not l + p q / c; its cap is 2 B W / c with
/// B = c I / (I + W), so I = W: half of the link. ProbeRTT takes the queue's time to drain, and
/// then 0.2 s or a round trip of W / c, before the next 10 s begin.
fn closed(x: f64) -> f64 {
    let all = (x + 1.0) * bdp();
    let probe = time_of(all) + f64::max(0.2, time_of(all / 2.0));
    0.5 * 10.0 / (10.0 + probe)
}

struct Shares {
    /// BBR's part of what both carry.
    bbr: f64,
    /// BBR's mean round trip at four segments, over CUBIC's window in the link's time.
    measured: f64,
}

fn beside_cubic(x: f64, seconds: u64) -> Shares {
    let config = |cc: CcName| {
        let o = Options {
            profile: Profile::Linux6,
            cc: Some(cc),
            mss: Some(Bytes(1460)),
            // The account knows no socket memory: with 4 MiB it limits both flows at 32 products.
            send_buffer: Some(Bytes(64 << 20)),
            receive_buffer: Some(Bytes(64 << 20)),
            ..Options::default()
        };
        o.resolve().unwrap()
    };
    let configs = [config(CcName::Cubic), config(CcName::Bbr)];
    let mut s = Shared::new(&configs, Duration::from_secs_f64(BASE / 2.0), 1);
    // The limit counts the packets on their way to the receiver, as netem's does.
    (s.links[0].rate, s.links[0].held) = (RATE, (x * bdp() + bdp() / 2.0) as usize);
    s.connect(0);
    let (mut before, mut probes, mut ratios) = ([0; 2], 0.0, 0.0);
    for tenth in 1..=seconds * 10 {
        let limit = Instant::ZERO + Duration::from_millis(100 * tenth);
        if tenth == 20 {
            s.connect(1);
        }
        while let Some(flow) = s.step(limit) {
            s.fill(flow);
        }
        let [cubic, bbr] = [0, 1].map(|f| s.flows[f][0].info());
        if tenth == seconds * 10 / 4 {
            before = [cubic.bytes_acked, bbr.bytes_acked];
        }
        // Both have settled, BBR is in ProbeRTT, and CUBIC has no holes that its window does not
        // count.
        if tenth > 300 && bbr.snd_cwnd <= 4.0 && bbr.unacked <= 4 && cubic.ca_state == CaState::Open {
            let queue = s.links[0].free_at.max(s.now).since(s.now).as_secs_f64();
            ratios += (queue + BASE) / time_of(cubic.snd_cwnd + 4.0);
            probes += 1.0;
        }
    }
    let carried = [0, 1].map(|f| (s.flows[f][0].info().bytes_acked - before[f]) as f64);
    Shares { bbr: carried[1] / (carried[0] + carried[1]), measured: ratios / probes }
}

/// From 4 to 32 products the share is that of the closed account. The bar of 0.06 is what seeds and
/// lengths of 200 to 3000 s differ by among themselves (0.03) and CUBIC's growth during a ProbeRTT.
/// At 4 the published value is 0.15 higher: CUBIC's window of 83 packets at 100 ms is not the 0.5 *
/// 133 packets of queue and 40 ms that the model takes it for.
#[test]
fn bbrv1_takes_half_of_the_link_less_its_probes_beside_cubic() {
    for (x, seconds) in [(4.0, 200), (8.0, 200), (16.0, 200), (32.0, 200)] {
        let s = beside_cubic(x, seconds);
        println!(
            "{x}: {:.3} closed {:.3} published {:.3} measured {:.3}",
            s.bbr,
            closed(x),
            published(x),
            s.measured
        );
        assert!((s.bbr - closed(x)).abs() <= 0.06, "X {x}: {:.3}, expected {:.3}", s.bbr, closed(x));
        assert!((0.97..=1.03).contains(&s.measured), "X {x}: BBR measures {:.3} of W / c", s.measured);
    }
}

/// The figures of the paper's formula, as quoted: 0.79, 0.63, 0.55, 0.49, 0.44, 0.37 at 2 to 64
/// products.
#[test]
fn the_published_formula_gives_the_published_figures() {
    for (x, share) in [(2.0, 0.79), (4.0, 0.63), (8.0, 0.55), (16.0, 0.49), (32.0, 0.44), (64.0, 0.37)] {
        assert!((published(x) - share).abs() < 0.01, "X {x}: {:.3}", published(x));
    }
}
