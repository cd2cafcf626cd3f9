//! The pipe against hand-computed sequences and against a sequential model.

use std::collections::VecDeque;

use lasthop_engine::{Draw, Purpose};
use lasthop_units::{Bitrate, Bytes, Duration, Id, Instant, Ratio};
use proptest::prelude::*;

use crate::testing::item;
use crate::{BurstLoss, DropCause, JitterDistribution, Limit, Pipe, PipeOut, Queue, WireModel};

const MBIT: u64 = 1_000_000;

fn pipe(rate: Option<u64>, limit: Limit, wire: WireModel) -> Pipe {
    Pipe::new(rate.map(Bitrate), Queue::drop_tail(limit), wire, 1, 0)
}

fn delay_ms(ms: u64) -> WireModel {
    WireModel { delay: Duration::from_millis(ms), ..WireModel::default() }
}

/// Runs the pipe dry: (packet, arrival [us]).
fn run(pipe: &mut Pipe, out: &mut PipeOut) -> Vec<(usize, u64)> {
    let mut seen = Vec::new();
    while let Some(at) = pipe.poll_at() {
        pipe.on_time(at, out);
        seen.extend(out.arrived.drain(..).map(|i| (i.id.index(), at.0 / 1000)));
    }
    seen
}

/// 1500 B at 12 Mbit/s are 1 ms each. Three packets at 0: the first arrives after 1 + 10 ms, the
/// others 1 ms apart.
#[test]
fn packets_are_serialised_one_after_the_other_and_then_propagate() {
    let (mut p, mut out) = (pipe(Some(12 * MBIT), Limit::default(), delay_ms(10)), PipeOut::default());
    (0..3).for_each(|n| p.enqueue(Instant::ZERO, item(n, 1500), &mut out));
    assert_eq!(p.poll_at(), Some(Instant::from_millis(11)));
    let inside = p.occupancy(Instant(999_999), &mut out);
    assert_eq!((inside.queue_packets, inside.queue_bytes, inside.wire_packets), (2, 3000, 1));
    assert_eq!(p.occupancy(Instant::from_millis(1), &mut out).queue_packets, 1);
    assert_eq!(run(&mut p, &mut out), [(0, 11_000), (1, 12_000), (2, 13_000)]);
    assert_eq!(p.account().bytes_arrived, 4500);
}

/// The packet in service does not count: a queue of two packets takes three of a burst of four. The
/// place of the one that starts being sent at 1 ms is free for what arrives at 1 ms.
#[test]
fn the_packet_in_service_has_left_the_queue() {
    let limit = Limit { packets: Some(2), bytes: None };
    let (mut p, mut out) = (pipe(Some(12 * MBIT), limit, delay_ms(0)), PipeOut::default());
    (0..4).for_each(|n| p.enqueue(Instant::ZERO, item(n, 1500), &mut out));
    p.enqueue(Instant::from_millis(1), item(4, 1500), &mut out);
    assert_eq!(out.dropped.iter().map(|d| d.item.id.index()).collect::<Vec<_>>(), [3]);
    assert_eq!(run(&mut p, &mut out).iter().map(|a| a.0).collect::<Vec<_>>(), [0, 1, 2, 4]);
    // Without any place to wait the link still works.
    let mut p = pipe(Some(12 * MBIT), Limit { packets: Some(0), bytes: None }, delay_ms(0));
    (0..2).for_each(|n| p.enqueue(Instant::ZERO, item(n, 1500), &mut out));
    assert_eq!(run(&mut p, &mut out), [(0, 1_000)]);
}

#[test]
fn an_infinitely_fast_pipe_only_delays() {
    let (mut p, mut out) =
        (pipe(None, Limit { packets: Some(0), bytes: None }, delay_ms(5)), PipeOut::default());
    (0..3).for_each(|n| p.enqueue(Instant::from_millis(1), item(n, 1500), &mut out));
    assert_eq!(run(&mut p, &mut out), [(0, 6_000), (1, 6_000), (2, 6_000)]);
}

/// At 12 Mbit/s a packet takes 1 ms. The rate becomes 0 at 0.5 ms: packet 0, in service, continues
/// and arrives at 1 ms; 1 and 2 wait. At 10 ms the rate becomes 6 Mbit/s: 2 ms each.
#[test]
fn a_rate_of_zero_stops_and_a_later_rate_continues() {
    let (mut p, mut out) = (pipe(Some(12 * MBIT), Limit::default(), delay_ms(0)), PipeOut::default());
    (0..3).for_each(|n| p.enqueue(Instant::ZERO, item(n, 1500), &mut out));
    p.set_rate(Instant::from_micros(500), Some(Bitrate(0)), &mut out);
    assert_eq!(run(&mut p, &mut out), [(0, 1_000)]);
    assert_eq!(p.poll_at(), None);
    p.set_rate(Instant::from_millis(10), Some(Bitrate(6 * MBIT)), &mut out);
    assert_eq!(run(&mut p, &mut out), [(1, 12_000), (2, 14_000)]);
    // Stopped while idle, then started: what came in between is sent from the start on.
    p.set_rate(Instant::from_millis(20), Some(Bitrate(0)), &mut out);
    p.enqueue(Instant::from_millis(21), item(3, 1500), &mut out);
    p.set_rate(Instant::from_millis(30), None, &mut out);
    assert_eq!(run(&mut p, &mut out), [(3, 30_000)]);
}

/// The delay falls from 50 to 10 ms at 2 ms. Packet 1, sent at 2 ms, would arrive at 13 ms, before
/// packet 0 (51 ms).
#[test]
fn a_shorter_delay_does_not_reorder_unless_reordering_is_on() {
    for (reordering, expected) in [(false, [(0, 51_000), (1, 51_000)]), (true, [(1, 13_000), (0, 51_000)])] {
        let wire = WireModel { reordering, ..delay_ms(50) };
        let (mut p, mut out) = (pipe(Some(12 * MBIT), Limit::default(), wire), PipeOut::default());
        p.enqueue(Instant::ZERO, item(0, 1500), &mut out);
        p.set_delay(Instant::from_millis(2), Duration::from_millis(10), &mut out);
        p.enqueue(Instant::from_millis(2), item(1, 1500), &mut out);
        assert_eq!(run(&mut p, &mut out), expected);
    }
}

/// Packet n is lost exactly if the n-th draw of the hop decides so, and it takes its time on the
/// link also then.
#[test]
fn loss_follows_the_keyed_draws() {
    let wire = WireModel { loss: 0.3, ..delay_ms(0) };
    let (mut p, mut out) = (pipe(Some(12 * MBIT), Limit::default(), wire), PipeOut::default());
    (0..1000).for_each(|n| p.enqueue(Instant::ZERO, item(n, 1500), &mut out));
    let draw = Draw::new(1, Purpose::PipeLoss, 0);
    let expected: Vec<(usize, u64)> =
        (0..1000).filter(|n| !draw.happens(*n, 0.3)).map(|n| (n as usize, (n + 1) * 1000)).collect();
    assert_eq!(run(&mut p, &mut out), expected);
    assert!(
        out.dropped.iter().all(|d| d.cause == DropCause::Loss && draw.happens(d.item.id.index() as u64, 0.3))
    );
    assert_eq!(out.dropped.len(), 1000 - expected.len());
}

/// n = 20 000: standard errors sqrt(p (1 - p) / n), bounds at five of them.
#[test]
fn corruption_and_duplication_have_their_probabilities_and_names() {
    let wire = WireModel { corruption: 0.1, duplication: 0.2, ..delay_ms(1) };
    let (mut p, mut out) = (pipe(None, Limit::default(), wire), PipeOut::default());
    let n = 20_000;
    (0..n).for_each(|i| p.enqueue(Instant::ZERO, item(i, 100), &mut out));
    p.on_time(Instant::from_millis(1), &mut out);
    let share = |k: usize| k as f64 / n as f64;
    assert!((share(out.dropped.len()) - 0.1).abs() < 5.0 * 0.0022);
    assert!(out.dropped.iter().all(|d| d.cause == DropCause::Corruption));
    // Duplicates are a fifth of what is not corrupted: 0.18.
    assert!((share(out.copies.len()) - 0.18).abs() < 5.0 * 0.0028);
    assert!(out.copies.iter().all(|c| out.arrived.contains(c)));
}

/// Which of `n` packets a wire loses in bursts.
fn lost_in_bursts(n: usize, burst: BurstLoss) -> Vec<bool> {
    let wire = WireModel { burst_loss: Some(burst), ..delay_ms(1) };
    let (mut p, mut out) = (pipe(None, Limit::default(), wire), PipeOut::default());
    (0..n).for_each(|i| p.enqueue(Instant::ZERO, item(i, 100), &mut out));
    p.on_time(Instant::from_millis(1), &mut out);
    let mut lost = vec![false; n];
    out.dropped.iter().for_each(|d| lost[d.item.id.index()] = true);
    assert!(out.dropped.iter().all(|d| d.cause == DropCause::Loss));
    lost
}

/// Gilbert's chain with p = 0.01 and r = 0.25: the bad state has the share p / (p + r) = 1/26. With
/// lambda = 1 - p - r = 0.74 the mean of n = 200 000 correlated packets has the variance
/// pi (1 - pi) / n * (1 + lambda) / (1 - lambda) = 1.24e-6: a standard error of 0.00111. Bursts are
/// geometric: 1 / r = 4 packets on the average with a deviation of sqrt(1 - r) / r = 3.46, and
/// three of four have a second packet; some 1900 bursts give standard errors of 0.079 and 0.0099.
/// Bounds at five.
#[test]
fn bursts_of_losses_have_the_share_and_the_lengths_of_gilberts_chain() {
    let [to_bad, to_good] = [0.01, 0.25].map(Ratio);
    let lost =
        lost_in_bursts(200_000, BurstLoss { to_bad, to_good, loss_good: Ratio(0.0), loss_bad: Ratio(1.0) });
    let share = lost.iter().filter(|l| **l).count() as f64 / 200_000.0;
    assert!((share - 1.0 / 26.0).abs() < 5.0 * 0.00111, "{share}");
    let bursts: Vec<f64> =
        lost.split(|l| !l).filter(|burst| !burst.is_empty()).map(|burst| burst.len() as f64).collect();
    let n = bursts.len() as f64;
    let mean = bursts.iter().sum::<f64>() / n;
    assert!((mean - 4.0).abs() < 5.0 * 0.079, "{mean}");
    let longer = bursts.iter().filter(|b| **b >= 2.0).count() as f64 / n;
    assert!((longer - 0.75).abs() < 5.0 * 0.0099, "{longer}");
}

/// The first packet causes the bad state, from which there is no transition in this test. After a
/// time without bursts, the restored bursts begin in the good state, and never leave it.
#[test]
fn bursts_that_are_removed_restart() {
    let bursts = |to_bad| {
        let burst = BurstLoss {
            to_bad: Ratio(to_bad),
            to_good: Ratio(1e-18),
            loss_good: Ratio(0.0),
            loss_bad: Ratio(1.0),
        };
        WireModel { burst_loss: Some(burst), ..delay_ms(1) }
    };
    let (mut p, mut out) = (pipe(None, Limit::default(), bursts(1.0)), PipeOut::default());
    let mut lost = Vec::new();
    for (t, model) in [(0, bursts(1.0)), (10, bursts(0.0)), (20, delay_ms(1)), (30, bursts(0.0))] {
        p.set_wire(Instant::from_millis(t), model, &mut out);
        (0..10).for_each(|i| p.enqueue(Instant::from_millis(t), item(i, 100), &mut out));
        p.on_time(Instant::from_millis(t + 5), &mut out);
        lost.push(std::mem::take(&mut out.dropped).len());
    }
    // A change of the probabilities leaves the state as it is.
    assert_eq!(lost, [10, 10, 0, 0]);
}

/// Elliott's: both states lose, 25/26 * 0.01 + 1/26 * 0.5 = 0.02885. The errors of the independent
/// draws come on top of the chain's: sqrt(0.49^2 * 1.24e-6 + 0.028 / 200 000) = 0.00066.
#[test]
fn both_states_may_lose() {
    let [to_bad, to_good, loss_good, loss_bad] = [0.01, 0.25, 0.01, 0.5].map(Ratio);
    let lost = lost_in_bursts(200_000, BurstLoss { to_bad, to_good, loss_good, loss_bad });
    let share = lost.iter().filter(|l| **l).count() as f64 / 200_000.0;
    assert!((share - 0.02885).abs() < 5.0 * 0.00066, "{share}");
}

/// A normal distribution of mean 15 ms and deviation 5 ms, cut at three: phi(3) = 0.004432 and
/// 2 Phi(3) - 1 = 0.99730, so that the deviation is 5 ms * sqrt(1 - 6 * 0.004432 / 0.99730) = 4.933
/// ms, and 0.68269 / 0.99730 = 0.68454 lie within 5 ms of the mean. n = 20 000: standard errors
/// 0.035 ms, 0.025 ms and 0.0033, bounds at five.
#[test]
fn gaussian_jitter_is_cut_at_three_deviations() {
    let wire = WireModel {
        jitter: Duration::from_millis(30),
        jitter_distribution: JitterDistribution::Gaussian,
        reordering: true,
        ..delay_ms(20)
    };
    let (mut p, mut out) = (pipe(None, Limit::default(), wire), PipeOut::default());
    (0..20_000).for_each(|n| p.enqueue(Instant::ZERO, item(n, 100), &mut out));
    let extra: Vec<f64> = run(&mut p, &mut out).iter().map(|a| a.1 as f64 / 1000.0 - 20.0).collect();
    let n = extra.len() as f64;
    let mean = extra.iter().sum::<f64>() / n;
    let deviation = (extra.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n).sqrt();
    let within = extra.iter().filter(|x| (**x - 15.0).abs() < 5.0).count() as f64 / n;
    assert!(
        (mean - 15.0).abs() < 5.0 * 0.035 && (deviation - 4.933).abs() < 5.0 * 0.025,
        "{mean} {deviation}"
    );
    assert!((within - 0.68454).abs() < 5.0 * 0.0033, "{within}");
    assert!(extra.iter().all(|x| (0.0..30.0).contains(x)));
}

#[test]
fn jitter_is_uniform_and_reorders_only_when_set() {
    for reordering in [false, true] {
        let wire = WireModel { jitter: Duration::from_millis(10), reordering, ..delay_ms(20) };
        let (mut p, mut out) = (pipe(None, Limit::default(), wire), PipeOut::default());
        (0..2000).for_each(|n| p.enqueue(Instant::from_micros(n as u64 * 10), item(n, 100), &mut out));
        let seen = run(&mut p, &mut out);
        assert_eq!(seen.windows(2).any(|w| w[0].0 > w[1].0), reordering);
        assert!(seen.windows(2).all(|w| w[0].1 <= w[1].1));
        let extra = |a: &(usize, u64)| a.1 as f64 - a.0 as f64 * 10.0 - 20_000.0;
        let mean = seen.iter().map(extra).sum::<f64>() / 2000.0;
        // Uniform on 0..10 ms: mean 5 ms, standard error 65 us. In order, packets wait for the
        // slowest before them.
        assert!(if reordering { (mean - 5_000.0).abs() < 325.0 } else { mean > 5_325.0 }, "{mean}");
    }
}

/// One thing after the other: a server that starts, ends and starts again, event by event.
struct Naive {
    rate: u64,
    limit: usize,
    delay: u64,
    waiting: VecDeque<(usize, u32)>,
    busy_until: Option<u64>,
    arrivals: Vec<(usize, u64)>,
    drops: Vec<(usize, u64)>,
}

impl Naive {
    fn until(&mut self, now: u64) {
        while let Some(t) = self.busy_until.filter(|t| *t <= now) {
            self.busy_until = None;
            self.start(t);
        }
    }
    fn start(&mut self, now: u64) {
        if self.busy_until.is_none()
            && self.rate > 0
            && let Some((n, size)) = self.waiting.pop_front()
        {
            let end = now + Bitrate(self.rate).time_for(Bytes(u64::from(size))).0;
            self.busy_until = Some(end);
            let earliest = self.arrivals.last().map_or(0, |a| a.1);
            self.arrivals.push((n, (end + self.delay).max(earliest)));
        }
    }
    fn enqueue(&mut self, now: u64, n: usize, size: u32) {
        self.until(now);
        let busy = self.busy_until.is_some() || self.rate == 0;
        if busy && self.waiting.len() >= self.limit {
            self.drops.push((n, now));
        } else {
            self.waiting.push_back((n, size));
            self.start(now);
        }
    }
}

/// Appends what arrives at `at` to `seen`: a lone packet, or all.
fn deliver(pipe: &mut Pipe, at: Instant, out: &mut PipeOut, seen: &mut Vec<(usize, u64)>) {
    let lone = pipe.take_lone(at);
    if lone.is_none() {
        pipe.on_time(at, out);
    }
    seen.extend(lone.into_iter().chain(out.arrived.drain(..)).map(|i| (i.id.index(), at.0)));
}

#[derive(Clone, Debug)]
enum Op {
    Packet(u32),
    Rate(u64),
    Delay(u64),
    Limit(u32),
    Read,
}

fn any_op() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => (1u32..3000).prop_map(Op::Packet),
        1 => prop_oneof![Just(0), 1_000u64..1_000_000_000].prop_map(Op::Rate),
        1 => (0u64..3_000_000).prop_map(Op::Delay),
        1 => (0u32..8).prop_map(Op::Limit),
        2 => Just(Op::Read),
    ]
}

proptest! {
    #[test]
    fn the_pipe_is_the_naive_server(
        ops in proptest::collection::vec((0u64..2_000_000, any_op()), 1..120),
        rate in 1_000u64..100_000_000,
    ) {
        let wire = WireModel { delay: Duration(1_000_000), ..WireModel::default() };
        let mut p = pipe(Some(rate), Limit { packets: Some(5), bytes: None }, wire);
        let mut naive = Naive {
            rate, limit: 5, delay: 1_000_000, waiting: VecDeque::new(), busy_until: None,
            arrivals: Vec::new(), drops: Vec::new(),
        };
        let (mut out, mut seen, mut now) = (PipeOut::default(), Vec::new(), 0);
        for (n, (gap, op)) in ops.into_iter().enumerate() {
            now += gap;
            while let Some(at) = p.poll_at().filter(|at| at.0 <= now) {
                deliver(&mut p, at, &mut out, &mut seen);
            }
            naive.until(now);
            let t = Instant(now);
            match op {
                Op::Packet(size) => {
                    p.enqueue(t, item(n, size), &mut out);
                    naive.enqueue(now, n, size);
                }
                Op::Rate(rate) => {
                    p.set_rate(t, Some(Bitrate(rate)), &mut out);
                    naive.rate = rate;
                    naive.start(now);
                }
                Op::Delay(delay) => {
                    p.set_delay(t, Duration(delay), &mut out);
                    naive.delay = delay;
                }
                Op::Limit(limit) => {
                    p.set_limit(t, Limit { packets: Some(limit), bytes: None }, &mut out);
                    naive.limit = limit as usize;
                }
                // Not after each operation: this counts the packets that wait, which is to be done
                // late too.
                Op::Read => {
                    prop_assert_eq!(p.occupancy(t, &mut out).queue_packets, naive.waiting.len() as u64);
                }
            }
        }
        p.set_rate(Instant(now), Some(Bitrate(1_000_000)), &mut out);
        naive.rate = 1_000_000;
        naive.start(now);
        naive.until(u64::MAX - 1);
        while let Some(at) = p.poll_at() {
            deliver(&mut p, at, &mut out, &mut seen);
        }
        prop_assert_eq!(seen, naive.arrivals);
        let drops: Vec<(usize, u64)> = out.dropped.iter().map(|d| (d.item.id.index(), d.at.0)).collect();
        prop_assert_eq!(drops, naive.drops);
        prop_assert_eq!(p.occupancy(Instant::MAX, &mut out), Default::default());
    }

    /// With everything random switched on, every packet leaves exactly once (the debug account is
    /// in force).
    #[test]
    fn every_packet_leaves_once(
        gaps in proptest::collection::vec(0u64..100_000, 1..200),
        p in proptest::array::uniform3(0.0f64..0.5),
        jitter in 0u64..2_000_000,
        reordering in any::<bool>(),
    ) {
        let wire = WireModel {
            delay: Duration(500_000), jitter: Duration(jitter), reordering,
            loss: p[0], corruption: p[1], duplication: p[2], ..WireModel::default()
        };
        let mut pipe = pipe(Some(10_000_000), Limit { packets: Some(20), bytes: Some(20_000) }, wire);
        let (mut out, mut now) = (PipeOut::default(), 0);
        for (n, gap) in gaps.iter().enumerate() {
            now += gap;
            pipe.enqueue(Instant(now), item(n, 40 + n as u32 * 7), &mut out);
        }
        while let Some(at) = pipe.poll_at() {
            pipe.on_time(at, &mut out);
        }
        let mut ids: Vec<usize> =
            out.arrived.iter().chain(out.dropped.iter().map(|d| &d.item)).map(|i| i.id.index()).collect();
        ids.sort_unstable();
        prop_assert_eq!(ids, (0..gaps.len()).collect::<Vec<_>>());
    }
}
