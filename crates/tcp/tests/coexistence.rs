//! BBR version 1 beside CUBIC on a drop-tail queue of X bandwidth-delay products, against the model
//! of Ware and others ("Modeling BBR's Interactions with Loss-Based Congestion Control", IMC 2019)
//! and what follows when its account of the queue is closed. docs/concepts/bbr-beside-cubic.md has
//! the derivation.

use crate::util::shared::Shared;
use lasthop_tcp::*;
use lasthop_units::{Bytes, Duration, Instant};

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

/// The same with every packet counted. While BBR has four segments CUBIC's window W fills the pipe
/// as well as the queue, so BBR measures W / c and not l + p q / c; its cap is 2 B W / c with B = c
/// I / (I + W), so I = W: half of the link. ProbeRTT takes the queue's time to drain, and then 0.2
/// s or a round trip of W / c, before the next 10 s begin.
fn closed(x: f64) -> f64 {
    let all = (x + 1.0) * bdp();
    let probe = time_of(all) + f64::max(0.2, time_of(all / 2.0));
    0.5 * 10.0 / (10.0 + probe)
}

/// A CUBIC flow, and a BBR flow that starts 2 s later.
#[derive(Clone, Copy)]
struct Case {
    /// Bandwidth-delay products of queue.
    x: f64,
    seconds: u64,
    seed: u32,
    /// Rate times this, round trip divided by it: the same numbers of packets, but so many times as
    /// many round trips between two ProbeRTTs.
    faster: u64,
    /// CUBIC's window is held at half of the total capacity, and the queue has no limit: nothing is
    /// lost.
    lossless: bool,
    /// Rate times this, and so the numbers of packets.
    larger: u64,
}

const CASE: Case = Case { x: 4.0, seconds: 200, seed: 1, faster: 1, lossless: false, larger: 1 };

struct Shares {
    /// BBR's part of what both carry.
    bbr: f64,
    /// BBR's mean round trip at four segments, over CUBIC's window in the link's time.
    measured: f64,
}

fn beside_cubic(case: Case) -> Shares {
    let bdp = bdp() * case.larger as f64;
    let all = (case.x + 1.0) * bdp;
    let config = |cc: CcName| {
        let constant = case.lossless && cc == CcName::Cubic;
        let o = Options {
            profile: Profile::Linux6,
            cc: Some(cc),
            window: WindowOptions {
                mss: Some(Bytes(1460)),
                max_window: constant.then_some((all / 2.0) as u32),
                ..WindowOptions::default()
            },
            buffers: BufferOptions {
                // The account has no socket memory: with 4 MiB that would limit both flows at 32
                // products.
                send_buffer: Some(Bytes(64 << 20)),
                receive_buffer: Some(Bytes(64 << 20)),
                ..BufferOptions::default()
            },
            ..Options::default()
        };
        o.resolve().unwrap()
    };
    let configs = [config(CcName::Cubic), config(CcName::Bbr)];
    let base = BASE / case.faster as f64;
    let mut s = Shared::new(&configs, Duration::from_secs_f64(base / 2.0), case.seed);
    s.links[0].rate = RATE * case.faster * case.larger;
    if !case.lossless {
        // The limit counts the packets in transmission to the receiver, as netem's does.
        s.links[0].held = (case.x * bdp + bdp / 2.0) as usize;
    }
    s.connect(0);
    let time_of = |packets: f64| time_of(packets) / (case.faster * case.larger) as f64;
    let (mut before, mut probes, mut ratios) = ([0; 2], 0.0, 0.0);
    for tenth in 1..=case.seconds * 10 {
        let limit = Instant::ZERO + Duration::from_millis(100 * tenth);
        if tenth == 20 {
            s.connect(1);
        }
        while let Some(flow) = s.step(limit) {
            s.fill(flow);
        }
        let [cubic, bbr] = [0, 1].map(|f| s.flows[f][0].info());
        if tenth == case.seconds * 10 / 4 {
            before = [cubic.bytes_acked, bbr.bytes_acked];
        }
        // Both have settled, BBR is in ProbeRTT, and CUBIC has no holes that its window does not
        // count.
        if tenth > 300 && bbr.snd_cwnd <= 4.0 && bbr.unacked <= 4 && cubic.ca_state == CaState::Open {
            let queue = s.links[0].free_at.max(s.now).since(s.now).as_secs_f64();
            ratios += (queue + base) / time_of(cubic.snd_cwnd + 4.0);
            probes += 1.0;
        }
    }
    let carried = [0, 1].map(|f| (s.flows[f][0].info().bytes_acked - before[f]) as f64);
    Shares { bbr: carried[1] / (carried[0] + carried[1]), measured: ratios / probes }
}

/// The means of `N` seeds, and the standard error of BBR's.
fn mean(case: Case) -> (Shares, f64) {
    mean_of(N, case)
}

fn mean_of(seeds: u32, case: Case) -> (Shares, f64) {
    let runs: Vec<Shares> = (1..=seeds).map(|seed| beside_cubic(Case { seed, ..case })).collect();
    let n = f64::from(seeds);
    let of = |value: fn(&Shares) -> f64| runs.iter().map(value).sum::<f64>() / n;
    let means = Shares { bbr: of(|s| s.bbr), measured: of(|s| s.measured) };
    let off = runs.iter().map(|s| s.bbr - means.bbr);
    let squares = off.map(|d| d * d).sum::<f64>();
    (means, (squares / (n - 1.0) / n).sqrt())
}
const N: u32 = 4;

/// At 4 and 8 products the share is the closed account's and not the published one: two standard
/// errors of the mean nearer to the first. At 4 they are 0.15 apart: CUBIC's window of 83 packets
/// at 100 ms is not the 0.5 * 133 packets of queue and 40 ms that the formula takes it for.
///
/// The form of the limits was chosen after the shares of this simulator were known: they show that
/// the shares remain at the account's values, and are not a prediction made beforehand.
///
/// At 16 and 32 the two are 0.04 and 0.02 apart, and BBR has 0.03 and 0.08 less than either: what
/// takes the share at 64 begins there, since 15 and 8 round trips are left between two ProbeRTTs.
/// No account gives a number, so the test can only show that BBR has no more than the closed
/// account, and measures what that says. The bar of 3 % is less than the part (1 - p) l by which
/// the published estimate of the round trip is larger, 3.2 % at 32 products.
#[test]
fn bbrv1_takes_half_of_the_link_less_its_probes_beside_cubic() {
    for x in [4.0, 8.0, 16.0, 32.0] {
        let (s, error) = mean(Case { x, ..CASE });
        println!(
            "{x}: {:.3} ({error:.3}) closed {:.3} published {:.3} measured {:.3}",
            s.bbr,
            closed(x),
            published(x),
            s.measured
        );
        if x < 16.0 {
            let half = (published(x) - closed(x)) / 2.0;
            assert!((s.bbr - closed(x)).abs() + 2.0 * error < half, "X {x}: {:.3}", s.bbr);
        } else {
            assert!(s.bbr < closed(x) + 2.0 * error, "X {x}: {:.3}", s.bbr);
        }
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

/// The account with constant windows, W of CUBIC and nothing lost: BBR's window is 2 B R and what
/// `bbr_quantization_budget` adds, three packets of two segments and on average one for an even
/// number. With R = (W + 4) / c and B = c I / (I + W) that is I^2 + (W - 2 (W + 4) - a) I = a W.
/// The share is of both, and CUBIC has the link during a ProbeRTT.
fn with_its_budget(x: f64, larger: f64) -> f64 {
    let (a, w) = (7.0, (x + 1.0) * bdp() * larger / 2.0);
    let b = w - 2.0 * (w + 4.0) - a;
    let i = (-b + (b * b + 4.0 * a * w).sqrt()) / 2.0;
    let round_trip = time_of(i + w) / larger;
    i / (i + w) * 10.0 / (10.0 + round_trip + 0.2)
}

/// Two products: BBR has 0.66 where the account has 0.48. Without losses, with CUBIC's window held
/// at half of what both carry, 0.58: losses account for 0.08. The rest is BBR's own budget for
/// bursts, seven packets of a hundred: the account with it has 0.57. With ten times as many packets
/// its bursts are twice as large, so a fifth of the effect is left.
#[test]
fn at_two_products_losses_and_the_budget_for_bursts_raise_bbrs_share() {
    let case = Case { x: 2.0, ..CASE };
    let (with, e0) = mean(case);
    let (without, e1) = mean(Case { lossless: true, ..case });
    let (larger, e2) = mean(Case { lossless: true, larger: 10, ..case });
    println!("{:.3} ({e0:.3}), {:.3} ({e1:.3}), {:.3} ({e2:.3})", with.bbr, without.bbr, larger.bbr);
    println!("with its budget {:.3}, closed {:.3}", with_its_budget(2.0, 1.0), closed(2.0));
    // Half of the stated sizes, beyond two standard errors of the difference.
    let error = |a: f64, b: f64| 2.0 * a.hypot(b);
    assert!(with.bbr - without.bbr > 0.04 + error(e0, e1), "losses: {:.3}, {:.3}", with.bbr, without.bbr);
    let budget = (with_its_budget(2.0, 1.0) - closed(2.0)) / 2.0;
    assert!(without.bbr - larger.bbr > budget + error(e1, e2), "{:.3}, {:.3}", without.bbr, larger.bbr);
    assert!((without.bbr - with_its_budget(2.0, 1.0)).abs() < 0.02, "{:.3}", without.bbr);
}

/// Sixty-four products: BBR has 0.22 where the account has 0.36. With the rate doubled and the
/// round trip halved all numbers of packets are the same, but eight round trips instead of four
/// pass between two ProbeRTTs: 0.40, and the account has 0.42.
#[test]
fn at_sixty_four_products_too_few_round_trips_lower_bbrs_share() {
    let case = Case { x: 64.0, seconds: 500, ..CASE };
    let (four, e0) = mean(case);
    let (eight, e1) = mean(Case { faster: 2, ..case });
    // The round trip and W / c, both halved.
    let account = 0.5 * 10.0 / (10.0 + 0.75 * time_of(65.0 * bdp()));
    println!("{:.3} ({e0:.3}), {:.3} ({e1:.3}), account {account:.3}", four.bbr, eight.bbr);
    let (missing, left) = (closed(64.0) - four.bbr, account - eight.bbr);
    // Half of the stated 0.14, beyond two standard errors of the difference.
    let error = 2.0 * e0.hypot(e1);
    assert!(missing - left > 0.07 + error, "{missing:.3}, {left:.3}, {error:.3}");
}

/// Prints the table of docs/concepts/bbr-beside-cubic.md, for renewing it.
#[test]
#[ignore = "measures for a page"]
fn print_the_table_of_the_page() {
    const SEEDS: u32 = 8;
    for x in [2.0, 4.0, 8.0, 16.0, 32.0, 64.0] {
        let (s, error) = mean_of(SEEDS, Case { x, seconds: 500, ..CASE });
        println!(
            "| {x} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} |",
            published(x),
            closed(x),
            s.bbr,
            error * f64::from(SEEDS).sqrt(),
            s.measured
        );
    }
}
