//! Two endpoints, one latency, virtual time: `step()` and `drive()`.
#![allow(dead_code)]

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use lasthop_engine::{Draw, Purpose};
use lasthop_tcp::{Config, Endpoint, Event, Flags, Options, Segment};
use lasthop_units::{Duration, Ecn, Instant, Seq};

/// What a direction does to a segment.
#[derive(Clone)]
pub struct Link {
    pub delay: Duration,
    /// Octets per second; 0: infinitely fast.
    pub rate: u64,
    /// Segments that fit in the queue before a finite rate.
    pub queue: usize,
    /// Segments that the link holds in all, on their way included (as netem counts).
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
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key(Instant, u64);

pub struct Pair {
    pub now: Instant,
    /// The client, who connects, and the server.
    pub ends: [Endpoint; 2],
    pub links: [Link; 2],
    pub events: [Vec<(Instant, Event)>; 2],
    air: BinaryHeap<Reverse<(Key, usize, Wire)>>,
    count: u64,
    /// Called for each segment as it leaves: (time, direction, segment).
    pub log: Vec<(Instant, usize, Segment)>,
    pub logging: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Wire(Segment);
impl PartialOrd for Wire {
    fn partial_cmp(&self, o: &Wire) -> Option<std::cmp::Ordering> {
        Some(self.cmp(o))
    }
}
impl Ord for Wire {
    fn cmp(&self, _: &Wire) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}

impl Pair {
    pub fn new(client: Config, server: Config, delay: Duration) -> Pair {
        let mut ends = [Endpoint::new(client, Seq(0xffff_f000)), Endpoint::new(server, Seq(77))];
        ends[1].listen();
        Pair {
            now: Instant::ZERO,
            ends,
            links: [Link::new(delay), Link::new(delay)],
            events: [vec![], vec![]],
            air: BinaryHeap::new(),
            count: 0,
            log: vec![],
            logging: false,
        }
    }

    pub fn of(options: &Options, delay: Duration) -> Pair {
        let config = options.resolve().unwrap();
        Pair::new(config, config, delay)
    }

    pub fn connect(&mut self) {
        self.ends[0].connect(self.now);
        self.flush();
    }

    /// Collects what both ends want to send, and their events.
    pub fn flush(&mut self) {
        for from in 0..2 {
            while let Some(segment) = self.ends[from].poll_transmit(self.now) {
                if self.logging {
                    self.log.push((self.now, from, segment));
                }
                self.carry(from, segment);
            }
            while let Some(e) = self.ends[from].poll_event() {
                self.events[from].push((self.now, e));
            }
        }
    }

    fn carry(&mut self, from: usize, mut segment: Segment) {
        let l = &mut self.links[from];
        let n = l.sent;
        l.sent += 1;
        let has_data = segment.len > 0 && !segment.flags.has(Flags::SYN);
        if has_data {
            l.data_sent += 1;
            if l.drop.contains(&(l.data_sent - 1)) {
                return;
            }
            if segment.ecn.is_capable()
                && (l.mark.contains(&(l.data_sent - 1)) || l.draw.happens(4 * n + 3, l.mark_chance))
            {
                segment.ecn = Ecn::Ce;
            }
        }
        if l.draw.happens(4 * n, l.loss) {
            return;
        }
        if !segment.flags.has(Flags::SYN) {
            segment.window = segment.window.min(l.window);
        }
        let mut at = self.now;
        let size = u64::from(segment.wire_len() + 20) + l.framing;
        if l.held != usize::MAX {
            while l.arrivals.front().is_some_and(|&t| t <= self.now) {
                l.arrivals.pop_front();
            }
            if l.arrivals.len() >= l.held {
                return;
            }
        }
        if let Some(ns) = (size * 1_000_000_000).checked_div(l.rate) {
            let service = Duration(ns);
            let start = l.free_at.max(self.now);
            if start.since(self.now).0 / service.0.max(1) >= l.queue as u64 {
                return;
            }
            l.free_at = start + service;
            at = l.free_at;
        }
        at += l.delay;
        if l.held != usize::MAX {
            l.arrivals.push_back(at);
        }
        if l.draw.happens(4 * n + 1, l.reorder) {
            at += l.reorder_by;
        }
        let copies = 1 + usize::from(l.draw.happens(4 * n + 2, l.duplicate));
        for _ in 0..copies {
            self.count += 1;
            self.air.push(Reverse((Key(at, self.count), 1 - from, Wire(segment))));
        }
    }

    /// The next thing happens; false when nothing will.
    pub fn step(&mut self) -> bool {
        let arrival = self.air.peek().map(|Reverse(x)| x.0.0);
        let timer = self.ends.iter().filter_map(Endpoint::poll_at).min();
        let next = match (arrival, timer) {
            (None, None) => return false,
            (Some(a), Some(t)) => a.min(t),
            (a, t) => a.or(t).unwrap(),
        };
        assert!(next >= self.now || timer == Some(next), "time moves back");
        self.now = self.now.max(next);
        if arrival == Some(next) {
            let Reverse((_, to, Wire(segment))) = self.air.pop().unwrap();
            self.ends[to].handle_segment(self.now, &segment);
        } else {
            for e in &mut self.ends {
                e.on_time(self.now);
            }
        }
        self.flush();
        true
    }

    /// Goes on until `done`, or nothing happens, or the time is over.
    pub fn drive_until(&mut self, limit: Instant, mut done: impl FnMut(&Pair) -> bool) {
        while !done(self) {
            let timer = self.ends.iter().filter_map(Endpoint::poll_at).min();
            let next = self.air.peek().map(|Reverse(x)| x.0.0).into_iter().chain(timer).min();
            if next.is_none_or(|t| t > limit) {
                self.now = self.now.max(limit);
                return;
            }
            self.step();
        }
    }

    pub fn drive(&mut self, limit: Instant) {
        self.drive_until(limit, |_| false);
    }

    pub fn saw(&self, end: usize, event: Event) -> bool {
        self.events[end].iter().any(|e| e.1 == event)
    }
}
