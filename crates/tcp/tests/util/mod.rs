//! Two endpoints, one latency, virtual time: `step()` and `drive()`.

pub mod link;
pub mod recorded;
pub mod shared;

use lasthop_tcp::{Config, Endpoint, Event, Limit, Options, Segment};
use lasthop_units::{Duration, Instant, Seq};

use link::Air;
pub use link::Link;

pub struct Pair {
    pub now: Instant,
    /// The client, which connects, and the server.
    pub ends: [Endpoint; 2],
    pub links: [Link; 2],
    pub events: [Vec<(Instant, Event)>; 2],
    air: Air<usize>,
    /// Called for each segment as it leaves: (time, direction, segment).
    pub log: Vec<(Instant, usize, Segment)>,
    pub logging: bool,
    /// What the application of each end still has to write, and whether it closes then.
    pub backlog: [u64; 2],
    pub closes: [bool; 2],
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
            air: Air::new(),
            log: vec![],
            logging: false,
            backlog: [0; 2],
            closes: [false; 2],
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

    /// The application of `end` writes `octets`, as room for them appears.
    pub fn write(&mut self, end: usize, octets: u64) {
        self.backlog[end] += octets;
        self.write_backlog(end);
    }

    /// The application of `end` closes once it has written everything.
    pub fn close(&mut self, end: usize) {
        self.closes[end] = true;
        self.write_backlog(end);
    }

    fn write_backlog(&mut self, end: usize) {
        if self.backlog[end] > 0 {
            self.backlog[end] -= self.ends[end].write(self.now, self.backlog[end]);
        }
        if self.backlog[end] == 0 && std::mem::take(&mut self.closes[end]) {
            self.ends[end].close(self.now);
        }
    }

    /// Collects what both ends have to send, and their events.
    pub fn flush(&mut self) {
        for from in 0..2 {
            if self.backlog[from] > 0 || self.closes[from] {
                // What has left makes room.
                self.collect(from);
                self.write_backlog(from);
            }
            self.collect(from);
            while let Some(e) = self.ends[from].poll_event() {
                self.events[from].push((self.now, e));
            }
        }
        for end in &self.ends {
            // Every limit has a name.
            assert_ne!(end.limit(self.now), Limit::Other, "{:?}", end.info());
        }
    }

    fn collect(&mut self, from: usize) {
        while let Some(segment) = self.ends[from].poll_transmit(self.now) {
            if self.logging {
                self.log.push((self.now, from, segment.clone()));
            }
            self.carry(from, segment);
        }
    }

    fn carry(&mut self, from: usize, segment: Segment) {
        if let Some(sent) = self.links[from].carry(self.now, segment) {
            self.air.push(sent, 1 - from);
        }
    }

    /// The next thing happens; false when nothing will.
    pub fn step(&mut self) -> bool {
        let arrival = self.air.next_at();
        let timer = self.ends.iter().filter_map(Endpoint::poll_at).min();
        let next = match (arrival, timer) {
            (None, None) => return false,
            (Some(a), Some(t)) => a.min(t),
            (a, t) => a.or(t).unwrap(),
        };
        assert!(next >= self.now || timer == Some(next), "time moves back");
        self.now = self.now.max(next);
        if arrival == Some(next) {
            let (to, segment) = self.air.pop().unwrap();
            self.ends[to].handle_segment(self.now, &segment);
        } else {
            for e in &mut self.ends {
                e.on_time(self.now);
            }
        }
        self.flush();
        true
    }

    /// Runs until `done`, or nothing happens, or the time is over.
    pub fn drive_until(&mut self, limit: Instant, mut done: impl FnMut(&Pair) -> bool) {
        while !done(self) {
            let timer = self.ends.iter().filter_map(Endpoint::poll_at).min();
            let next = self.air.next_at().into_iter().chain(timer).min();
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
