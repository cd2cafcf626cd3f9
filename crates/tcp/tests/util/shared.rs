//! Several connections whose segments share two links, in virtual time.

use lasthop_tcp::{Config, Endpoint};
use lasthop_units::{Duration, Instant, Seq};

use super::link::{Air, Link};

/// Clients (end 0) on one side, servers (end 1) on the other.
pub struct Shared {
    pub now: Instant,
    pub flows: Vec<[Endpoint; 2]>,
    /// From the clients to the servers, and back.
    pub links: [Link; 2],
    air: Air<(usize, usize)>,
}

impl Shared {
    /// `seed` gives the initial sequence numbers, from which a control's random numbers derive.
    pub fn new(configs: &[Config], delay: Duration, seed: u32) -> Shared {
        let pair = |(n, config): (usize, &Config)| {
            let isn = 1000 * seed + 10 * n as u32;
            let mut ends = [Endpoint::new(*config, Seq(isn)), Endpoint::new(*config, Seq(isn + 1))];
            ends[1].listen();
            ends
        };
        Shared {
            now: Instant::ZERO,
            flows: configs.iter().enumerate().map(pair).collect(),
            links: [Link::new(delay), Link::new(delay)],
            air: Air::new(),
        }
    }

    pub fn connect(&mut self, flow: usize) {
        self.flows[flow][0].connect(self.now);
        self.flush(flow);
    }

    /// Fills the send buffer of `flow`.
    pub fn fill(&mut self, flow: usize) {
        let client = &mut self.flows[flow][0];
        let room = client.writable();
        if room > 0 {
            client.write(self.now, room);
            self.flush(flow);
        }
    }

    /// A bulk writer of `flow`: `block` octets at a time, `rest` of them left of a write that did
    /// not fit.
    pub fn write_blocks(&mut self, flow: usize, block: u64, rest: &mut u64) {
        let client = &mut self.flows[flow][0];
        loop {
            *rest -= client.write(self.now, *rest);
            if *rest > 0 {
                break;
            }
            *rest = block;
        }
        self.flush(flow);
    }

    fn flush(&mut self, flow: usize) {
        for from in 0..2 {
            while let Some(segment) = self.flows[flow][from].poll_transmit(self.now) {
                if let Some(sent) = self.links[from].carry(self.now, segment) {
                    self.air.push(sent, (flow, 1 - from));
                }
            }
            while self.flows[flow][from].poll_event().is_some() {}
        }
    }

    /// The next thing happens, if it does so by `limit`: returns the flow that it concerns.
    pub fn step(&mut self, limit: Instant) -> Option<usize> {
        let due = |ends: &[Endpoint; 2]| ends.iter().filter_map(Endpoint::poll_at).min();
        let timers = self.flows.iter().enumerate().filter_map(|(n, ends)| due(ends).map(|at| (at, n)));
        let timer = timers.min();
        let arrival = self.air.next_at();
        let next = arrival.into_iter().chain(timer.map(|t| t.0)).min().filter(|&t| t <= limit);
        let Some(next) = next else {
            self.now = self.now.max(limit);
            return None;
        };
        self.now = self.now.max(next);
        let flow = if arrival == Some(next) {
            let ((flow, to), segment) = self.air.pop()?;
            self.flows[flow][to].handle_segment(self.now, &segment);
            flow
        } else {
            let flow = timer?.1;
            for end in &mut self.flows[flow] {
                end.on_time(self.now);
            }
            flow
        };
        self.flush(flow);
        Some(flow)
    }
}
