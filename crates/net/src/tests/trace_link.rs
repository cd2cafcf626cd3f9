//! The trace link against hand-computed sequences and a model that steps from millisecond to
//! millisecond.

use std::collections::VecDeque;
use std::sync::Arc;

use lasthop_units::{Duration, Id, Instant};
use proptest::prelude::*;

use crate::testing::item;
use crate::trace::Trace;
use crate::{Limit, PipeOut, Playback, Queue, TraceEnd, TraceLink, WireModel};

fn link(ms: &[u64], playback: Playback, limit: Limit, delay_ms: u64) -> TraceLink {
    let trace = Arc::new(Trace::from_ms(ms.iter().copied()).unwrap());
    let wire = WireModel { delay: Duration::from_millis(delay_ms), ..WireModel::default() };
    TraceLink::new(trace, playback, Queue::drop_tail(limit), wire, 1, 0)
}

fn collect(link: &mut TraceLink, until: u64, out: &mut PipeOut) -> Vec<(usize, u64)> {
    let mut seen = Vec::new();
    while let Some(at) = link.poll_at().filter(|at| *at <= Instant::from_millis(until)) {
        link.on_time(at, out);
        seen.extend(out.arrived.drain(..).map(|i| (i.id.index(), at.0 / 1_000_000)));
    }
    seen
}

/// Opportunities at 1, 2, 3, 5 ms. Packets of 1000 B at 0: 0 is sent at 1; 500 B of 1 at 1 and the
/// rest at 2 with 2 (500 + 1000 = 1500); 3 at 3 alone, the other 500 B are lost, although packet 4
/// (at 3.5 ms) could have used them.
#[test]
fn packets_share_an_opportunity_and_continue_in_the_next() {
    let mut l = link(&[1, 2, 3, 5], Playback::default(), Limit::default(), 10);
    let mut out = PipeOut::default();
    (0..4).for_each(|n| l.enqueue(Instant::ZERO, item(n, 1000), &mut out));
    assert_eq!(l.poll_at(), Some(Instant::from_millis(11)));
    let seen = collect(&mut l, 12, &mut out);
    l.enqueue(Instant::from_micros(12_500), item(4, 1000), &mut out);
    assert_eq!(seen, [(0, 11), (1, 12), (2, 12)]);
    // 12.5 ms is 2.5 ms into the third round (period 5 ms): the next opportunity is at 13 ms.
    assert_eq!(collect(&mut l, 100, &mut out), [(3, 13), (4, 23)]);
}

#[test]
fn an_arrival_at_the_moment_of_an_opportunity_is_too_late_for_it() {
    let mut l = link(&[3, 10], Playback::default(), Limit::default(), 0);
    let mut out = PipeOut::default();
    l.enqueue(Instant::from_millis(3), item(0, 1500), &mut out);
    l.enqueue(Instant::from_millis(3), item(1, 1500), &mut out);
    // The round ends at 10 ms, the next opportunities are at 13 and 20 ms.
    assert_eq!(collect(&mut l, 20, &mut out), [(0, 10), (1, 13)]);
}

/// First timestamp 0: the last opportunity of a round and the first of the next fall on one moment.
#[test]
fn rounds_join_as_in_mahimahi() {
    let mut l = link(&[0, 4], Playback::default(), Limit::default(), 0);
    let mut out = PipeOut::default();
    (0..5).for_each(|n| l.enqueue(Instant::from_millis(1), item(n, 1500), &mut out));
    assert_eq!(collect(&mut l, 100, &mut out), [(0, 4), (1, 4), (2, 8), (3, 8), (4, 12)]);
}

#[test]
fn a_stopped_trace_delivers_nothing_after_its_end() {
    let playback = Playback { end: TraceEnd::Stop, ..Playback::default() };
    let mut l = link(&[1, 4], playback, Limit { packets: Some(1), bytes: None }, 0);
    let mut out = PipeOut::default();
    l.enqueue(Instant::ZERO, item(0, 2000), &mut out);
    assert_eq!(collect(&mut l, 100, &mut out), [(0, 4)]);
    l.enqueue(Instant::from_secs(1), item(1, 100), &mut out);
    l.enqueue(Instant::from_secs(1), item(2, 100), &mut out);
    assert_eq!((l.poll_at(), out.dropped.len(), l.queue().packets()), (None, 1, 1));
    assert_eq!(l.occupancy(Instant::MAX, &mut out).queue_packets, 1);
}

/// Started 4.5 ms inside: the opportunities at 5 and 9 ms come at 0.5 and 4.5 ms of the run.
#[test]
fn the_run_may_start_inside_the_trace() {
    let playback = Playback { offset: Duration::from_micros(4_500), ..Playback::default() };
    let mut l = link(&[2, 5, 9], playback, Limit::default(), 0);
    let mut out = PipeOut::default();
    l.enqueue(Instant::ZERO, item(0, 3000), &mut out);
    assert_eq!(l.poll_at(), Some(Instant::from_micros(500)));
    l.on_time(Instant::from_micros(500), &mut out);
    assert_eq!((out.arrived.len(), l.poll_at()), (0, Some(Instant::from_micros(4_500))));
    l.on_time(Instant::from_micros(4_500), &mut out);
    assert_eq!(out.arrived.len(), 1);
}

/// A year of silence takes one binary search: this test would not end if it took an event a
/// millisecond.
#[test]
fn silence_costs_nothing() {
    let mut l = link(&[1, 2, 3, 5], Playback::default(), Limit::default(), 0);
    let mut out = PipeOut::default();
    let year = 365 * 86_400;
    for n in 0..100 {
        l.enqueue(Instant::from_secs(n * year), item(n as usize, 1500), &mut out);
        l.on_time(Instant::from_secs(n * year + 1), &mut out);
    }
    assert_eq!(out.arrived.len(), 100);
}

/// The mean of the file, exactly: backlogged over ten whole rounds every byte of every opportunity
/// is used, whatever the packets' sizes.
#[test]
fn a_backlogged_sender_gets_exactly_the_mean_of_the_file() {
    let ms: Vec<u64> = (0..5_000)
        .map(|i| i * i % 7 + i * 2)
        .scan(0, |m, x| {
            *m = x.max(*m);
            Some(*m)
        })
        .collect();
    let trace = Trace::from_ms(ms.iter().copied()).unwrap();
    for size in [40u32, 1000, 1500, 1501, 9000] {
        let mut l = link(&ms, Playback::default(), Limit::default(), 0);
        let mut out = PipeOut::default();
        let end_ms = u64::from(trace.period_ms()) * 10;
        // Opportunities at 0 come before the first packet; as many of round eleven fall on the last
        // moment.
        let capacity = trace.opportunities() * 10 * 1500;
        for n in 0..capacity / u64::from(size) + 2 {
            l.enqueue(Instant::ZERO, item(n as usize, size), &mut out);
        }
        let packets = collect_count(&mut l, end_ms, &mut out);
        assert_eq!(packets, capacity / u64::from(size), "{size}");
    }
}

/// The same on the measured traces, where these are available: ten minutes of traffic without a
/// pause.
#[test]
fn measured_traces_are_used_to_the_last_byte() {
    let Some(folder) = std::env::var_os("LASTHOP_SHARED") else {
        println!("LASTHOP_SHARED is not set: nothing compared");
        return;
    };
    let folder = std::path::Path::new(&folder).join("data/traces/mahimahi");
    for name in ["TMobile-UMTS-driving.down", "Verizon-LTE-short.up", "ATT-LTE-driving.up"] {
        let file = std::fs::File::open(folder.join(name)).unwrap();
        let trace = Arc::new(crate::trace::read_mahimahi(std::io::BufReader::new(file)).unwrap());
        let queue = Queue::drop_tail(Limit::default());
        let mut l = TraceLink::new(trace.clone(), Playback::default(), queue, WireModel::default(), 1, 0);
        let mut out = PipeOut::default();
        // A queue that is topped up at each arrival and so never empty; opportunities at 0 come
        // before it.
        (0..200).for_each(|n| l.enqueue(Instant::ZERO, item(n, 1500), &mut out));
        let (end, mut packets) = (Instant::from_millis(u64::from(trace.period_ms())), 0);
        while let Some(at) = l.poll_at().filter(|at| *at < end) {
            l.on_time(at, &mut out);
            packets += out.arrived.len() as u64;
            (0..out.arrived.len()).for_each(|n| l.enqueue(at, item(n, 1500), &mut out));
            out.clear();
        }
        let inside = |ms: u32| ms > 0 && ms < trace.period_ms();
        assert_eq!(packets, trace.iter_ms().filter(|ms| inside(*ms)).count() as u64, "{name}");
    }
}

fn collect_count(link: &mut TraceLink, until_ms: u64, out: &mut PipeOut) -> u64 {
    let mut n = 0;
    while let Some(at) = link.poll_at().filter(|at| *at <= Instant::from_millis(until_ms)) {
        link.on_time(at, out);
        n += out.arrived.len() as u64;
        out.clear();
    }
    n
}

/// Mahimahi's rule, opportunity by opportunity.
struct Naive {
    trace: Vec<u64>,
    next: usize,
    base: u64,
    looping: bool,
    size: u32,
    limit: usize,
    waiting: VecDeque<(usize, u32)>,
    service: Option<(usize, u32)>,
    arrivals: Vec<(usize, u64)>,
    drops: Vec<usize>,
}

impl Naive {
    fn until(&mut self, now_us: u64) {
        while self.next < self.trace.len() && (self.base + self.trace[self.next]) * 1000 <= now_us {
            let moment = self.base + self.trace[self.next];
            self.next += 1;
            if self.next == self.trace.len() && self.looping {
                self.next = 0;
                self.base += self.trace[self.trace.len() - 1];
            }
            let mut left = self.size;
            while left > 0 {
                let Some((n, bytes)) = self.service.take().or_else(|| self.waiting.pop_front()) else {
                    break;
                };
                let sent = bytes.min(left);
                left -= sent;
                if bytes > sent {
                    self.service = Some((n, bytes - sent));
                } else {
                    self.arrivals.push((n, moment));
                }
            }
        }
    }
    fn enqueue(&mut self, now_us: u64, n: usize, size: u32) {
        self.until(now_us);
        if self.waiting.len() >= self.limit {
            self.drops.push(n);
        } else {
            self.waiting.push_back((n, size));
        }
    }
}

proptest! {
    #[test]
    fn the_link_is_the_naive_walk(
        mut trace in proptest::collection::vec(0u64..60, 1..40),
        packets in proptest::collection::vec((0u64..30_000, 1u32..5_000), 1..100),
        size in 1u32..3_000,
        looping in any::<bool>(),
        limit in 0usize..6,
    ) {
        trace.push(1);
        trace.sort_unstable();
        let end = if looping { TraceEnd::Loop } else { TraceEnd::Stop };
        let playback = Playback { opportunity: size, end, offset: Duration::ZERO };
        let mut l = link(&trace, playback, Limit { packets: Some(limit as u32), bytes: None }, 0);
        let mut naive = Naive {
            trace, next: 0, base: 0, looping, size, limit,
            waiting: VecDeque::new(), service: None, arrivals: Vec::new(), drops: Vec::new(),
        };
        let (mut out, mut now, mut seen) = (PipeOut::default(), 0, Vec::new());
        for (n, (gap, size)) in packets.iter().enumerate() {
            now += gap;
            seen.extend(collect(&mut l, now / 1000, &mut out));
            l.enqueue(Instant::from_micros(now), item(n, *size), &mut out);
            naive.enqueue(now, n, *size);
            prop_assert_eq!(l.queue().packets(), naive.waiting.len());
        }
        let end = now + 100_000;
        seen.extend(collect(&mut l, end / 1000, &mut out));
        naive.until(end / 1000 * 1000);
        prop_assert_eq!(seen, naive.arrivals);
        let drops: Vec<usize> = out.dropped.iter().map(|d| d.item.id.index()).collect();
        prop_assert_eq!(drops, naive.drops);
    }
}
