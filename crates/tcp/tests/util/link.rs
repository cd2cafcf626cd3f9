//! The links between two endpoints, and the segments in transmission.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

use lasthop_engine::{Draw, Purpose};
use lasthop_tcp::{Flags, Segment};
use lasthop_units::{Duration, Ecn, Instant};

/// The treatment of a segment in one direction.
#[derive(Clone)]
pub struct Link {
    pub delay: Duration,
    /// Octets per second; 0: infinitely fast.
    pub rate: u64,
    /// Segments that fit in the queue before a finite rate.
    pub queue: usize,
    /// Segments that the link holds, those in transmission included (as netem counts).
    pub held: usize,
    /// When each of those arrives.
    pub arrivals: VecDeque<Instant>,
    /// Octets of framing per segment, beside 20 of IP.
    pub framing: u64,
    pub loss: f64,
    pub duplicate: f64,
    /// Chance and size of an extra delay.
    pub reorder: f64,
    pub reorder_by: Duration,
    /// The window field is cut to this.
    pub window: u16,
    /// Data segments with these numbers, from 0 and in order of sending, are lost.
    pub drop: Vec<u64>,
    /// ECN-capable data segments with these numbers are marked.
    pub mark: Vec<u64>,
    /// Chance that an ECN-capable segment is marked.
    pub mark_chance: f64,
    /// The clock has steps of 256 ns, and a timer fires up to a step late; one that fires before
    /// the clock shows its time is set again for 501 ns (User-mode Linux: TIMER_MULTIPLIER,
    /// TIMER_MIN_DELTA).
    pub stepped: bool,
    pub draw: Draw,
    pub sent: u64,
    pub data_sent: u64,
    pub free_at: Instant,
}

impl Link {
    pub fn new(delay: Duration) -> Link {
        Link {
            delay,
            rate: 0,
            queue: usize::MAX,
            held: usize::MAX,
            arrivals: VecDeque::new(),
            framing: 0,
            loss: 0.0,
            duplicate: 0.0,
            reorder: 0.0,
            reorder_by: Duration::ZERO,
            window: u16::MAX,
            drop: vec![],
            mark: vec![],
            mark_chance: 0.0,
            stepped: false,
            draw: Draw::new(1, Purpose::Test, 0),
            sent: 0,
            data_sent: 0,
            free_at: Instant::ZERO,
        }
    }
    pub fn seed(mut self, seed: u64, direction: u64) -> Link {
        self.draw = Draw::new(seed, Purpose::Test, direction);
        self
    }

    /// Takes `segment` at `now`; `None` when it is lost.
    pub fn carry(&mut self, now: Instant, mut segment: Segment) -> Option<Carried> {
        let n = self.sent;
        self.sent += 1;
        let has_data = segment.len > 0 && !segment.flags.has(Flags::SYN);
        if has_data {
            self.data_sent += 1;
            if self.drop.contains(&(self.data_sent - 1)) {
                return None;
            }
            if segment.ecn.is_capable()
                && (self.mark.contains(&(self.data_sent - 1))
                    || self.draw.happens(4 * n + 3, self.mark_chance))
            {
                segment.ecn = Ecn::Ce;
            }
        }
        if self.draw.happens(4 * n, self.loss) {
            return None;
        }
        if !segment.flags.has(Flags::SYN) {
            segment.window = segment.window.min(self.window);
        }
        let mut at = self.served(now, u64::from(segment.wire_len() + 20) + self.framing)?;
        if self.stepped {
            let bits = (0..8).map(|i| u64::from(self.draw.happens((1 << 40) + 8 * n + i, 0.5)));
            let fires = at.0 + 1 + bits.fold(0, |number, bit| 2 * number + bit);
            let shown = |time: u64| time / 256 * 256;
            at = Instant(shown(if shown(fires) < at.0 { fires + 501 } else { fires }));
        }
        if self.draw.happens(4 * n + 1, self.reorder) {
            at += self.reorder_by;
        }
        let copies = 1 + usize::from(self.draw.happens(4 * n + 2, self.duplicate));
        Some(Carried { at, segment, copies })
    }

    /// When `size` octets that come at `now` arrive; `None` when the queue is full.
    fn served(&mut self, now: Instant, size: u64) -> Option<Instant> {
        if self.held != usize::MAX {
            while self.arrivals.front().is_some_and(|&t| t <= now) {
                self.arrivals.pop_front();
            }
            if self.arrivals.len() >= self.held {
                return None;
            }
        }
        let mut at = now;
        if let Some(ns) = (size * 1_000_000_000).checked_div(self.rate) {
            let service = Duration(ns);
            let start = self.free_at.max(now);
            if start.since(now).0 / service.0.max(1) >= self.queue as u64 {
                return None;
            }
            self.free_at = start + service;
            at = self.free_at;
        }
        at += self.delay;
        if self.held != usize::MAX {
            self.arrivals.push_back(at);
        }
        Some(at)
    }
}

/// A segment that a link took: `copies` of it arrive at `at`.
pub struct Carried {
    pub at: Instant,
    pub segment: Segment,
    pub copies: usize,
}

/// Segments in transmission, in the order of their arrival, each with its destination.
pub struct Air<To> {
    heap: BinaryHeap<Reverse<Flying<To>>>,
    count: u64,
}

struct Flying<To> {
    key: (Instant, u64),
    to: To,
    segment: Segment,
}

impl<To> PartialEq for Flying<To> {
    fn eq(&self, o: &Self) -> bool {
        self.key == o.key
    }
}
impl<To> Eq for Flying<To> {}
impl<To> PartialOrd for Flying<To> {
    fn partial_cmp(&self, o: &Self) -> Option<Ordering> {
        Some(self.cmp(o))
    }
}
impl<To> Ord for Flying<To> {
    fn cmp(&self, o: &Self) -> Ordering {
        self.key.cmp(&o.key)
    }
}

impl<To: Copy> Air<To> {
    pub fn new() -> Air<To> {
        Air { heap: BinaryHeap::new(), count: 0 }
    }
    pub fn push(&mut self, sent: Carried, to: To) {
        for _ in 0..sent.copies {
            self.count += 1;
            self.heap.push(Reverse(Flying { key: (sent.at, self.count), to, segment: sent.segment.clone() }));
        }
    }
    /// When the next segment arrives.
    pub fn next_at(&self) -> Option<Instant> {
        self.heap.peek().map(|f| f.0.key.0)
    }
    pub fn pop(&mut self) -> Option<(To, Segment)> {
        self.heap.pop().map(|f| (f.0.to, f.0.segment))
    }
}
