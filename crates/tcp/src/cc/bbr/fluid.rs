//! A path with a link of fixed rate and an endless queue, for the tests of BBR.

use std::collections::VecDeque;

use lasthop_units::{Duration, Instant};

use crate::cc::testing::*;
use crate::cc::{AckSample, CongestionControl, Established, RateSample};

/// A fluid path: a rate of `bw` segments/s, a base round trip in ms, an unlimited queue. One step
/// is one ACK of one segment; the algorithm's pacing and window determine what is sent.
pub struct Fluid<C> {
    pub b: C,
    pub now: f64,
    pub delivered: f64,
    /// For each segment in flight: the time of departure, the delivered octets at departure, and
    /// the arrival of its ACK.
    flight: VecDeque<(f64, f64, f64, f64)>,
    last_ack: f64,
    free: f64,
    next_send: f64,
    bw: f64,
    base: f64,
    pub max_queue: f64,
}

impl<C: CongestionControl> Fluid<C> {
    pub fn new(mut b: C, bw: f64, base: f64) -> Fluid<C> {
        b.on_established(&Established {
            now: Instant::ZERO + Duration::from_secs_f64(base),
            rtt: Some(Duration::from_secs_f64(base)),
            initial_window: 10.0,
            nxt: 1,
            seed: 3,
            mss: MSS as u32,
        });
        Fluid {
            b,
            now: base,
            delivered: 0.0,
            flight: VecDeque::new(),
            last_ack: base,
            free: 0.0,
            next_send: base,
            bw,
            base,
            max_queue: 0.0,
        }
    }
    fn octets_per_second(&self) -> f64 {
        self.b.pacing_rate().map_or(f64::INFINITY, |r| r.0 as f64 / 8.0)
    }
    pub fn run(&mut self, until: f64) {
        while self.now < until {
            let may_send = (self.flight.len() as f64) < self.b.cwnd().floor();
            let ack = self.flight.front().map_or(f64::INFINITY, |f| f.2);
            if may_send && self.next_send.max(self.now) <= ack {
                self.now = self.now.max(self.next_send);
                self.free = self.free.max(self.now) + 1.0 / self.bw;
                self.max_queue = self.max_queue.max((self.free - self.now) * self.bw);
                if self.flight.is_empty() {
                    self.last_ack = self.now;
                }
                self.flight.push_back((self.now, self.delivered, self.free + self.base, self.last_ack));
                self.next_send = self.now + MSS as f64 / self.octets_per_second();
            } else {
                self.ack();
            }
        }
    }
    fn ack(&mut self) {
        let before = self.flight.len() as u64;
        let (sent, prior, at, since) = self.flight.pop_front().unwrap();
        self.now = at;
        self.last_ack = at;
        self.delivered += 1.0;
        let rtt = Some(Duration::from_secs_f64(at - sent));
        let rate = RateSample {
            delivered: ((self.delivered - prior) * MSS as f64) as u64,
            interval: Duration::from_secs_f64(at - since),
            prior_delivered: prior as u64 * MSS,
            prior_in_flight: before * MSS,
            sent_in_flight: before * MSS,
            lost: 0,
            app_limited: false,
        };
        self.b.on_ack(&AckSample {
            now: Instant::ZERO + Duration::from_secs_f64(at),
            rtt,
            srtt: rtt,
            rate: Some(rate),
            total_delivered: self.delivered as u64 * MSS,
            in_flight: (before - 1) * MSS,
            flight_before: before * MSS,
            ..ack(1)
        });
    }
}
