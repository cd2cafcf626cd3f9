//! TCP-LP: low priority. It yields when the delay passes a threshold between the smallest and the largest.

use lasthop_units::{Duration, Instant};

use super::window::{Window, has_window};
use super::{AckSample, Congestion, CongestionControl, Established, Parameter};
use crate::config::Config;

/// The threshold between smallest and largest delay.
const THRESHOLD: f64 = 0.15;
/// After a yield the window holds for so many round trips.
const INFERENCE_ROUNDS: u64 = 3;

pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "threshold",
        default: "15",
        unit: "%",
        source: "Kuzmanovic and Knightly 2003; Linux tcp_lp.c",
    },
    Parameter { name: "inference", default: "3", unit: "round trips", source: "Linux tcp_lp.c" },
];
pub(super) const DIFFERS: &str = "The delay is the round trip; Linux and the paper take the one-way delay from timestamps, \
     which a queue on the way back does not touch. ns-3 has 15 % too; INET has none.";

/// LP's window and delays. Times in seconds.
#[derive(Clone, Debug)]
pub struct Lp {
    w: Window,
    smoothed: f64,
    min: f64,
    max: f64,
    /// The largest of all waits here: the largest but one is used.
    max_reserve: f64,
    yielded: Option<Instant>,
    inference: Duration,
}

impl Lp {
    /// One segment until the handshake is done.
    pub fn new(config: &Config) -> Lp {
        Lp {
            w: Window::new(config),
            smoothed: 0.0,
            min: f64::INFINITY,
            max: 0.0,
            max_reserve: 0.0,
            yielded: None,
            inference: Duration::ZERO,
        }
    }

    fn sample(&mut self, delay: f64) {
        self.min = self.min.min(delay);
        if delay > self.max {
            if delay > self.max_reserve {
                self.max = if self.max_reserve == 0.0 { delay } else { self.max_reserve };
                self.max_reserve = delay;
            } else {
                self.max = delay;
            }
        }
        self.smoothed =
            if self.smoothed == 0.0 { delay } else { self.smoothed + (delay - self.smoothed) / 8.0 };
    }

    fn is_inferring(&self, now: Instant) -> bool {
        self.yielded.is_some_and(|at| now.since(at) < self.inference)
    }

    /// Early congestion indication: to a half, and within the inference phase to one segment.
    fn yield_to_others(&mut self, now: Instant) {
        let to = if self.is_inferring(now) { 1.0 } else { (self.w.cwnd / 2.0).floor().max(1.0) };
        self.w.set(to);
        // The bounds start afresh from the smoothed delay.
        self.min = self.smoothed;
        self.max = 2.0 * self.smoothed;
        self.max_reserve = self.max;
        self.yielded = Some(now);
    }
}

impl CongestionControl for Lp {
    has_window!();
    fn on_established(&mut self, e: &Established) {
        self.w.open(e);
    }
    fn on_ack(&mut self, ack: &AckSample) {
        if let Some(rtt) = ack.rtt {
            self.inference = rtt * INFERENCE_ROUNDS;
            self.sample(rtt.as_secs_f64());
            if self.smoothed > self.min + THRESHOLD * (self.max - self.min) {
                self.yield_to_others(ack.now);
            }
        }
        if self.w.may_grow(ack) && !self.is_inferring(ack.now) {
            self.w.reno(ack);
        }
    }
    fn on_congestion(&mut self, c: &Congestion) {
        self.w.cut(c.flight / 2.0);
    }
    fn on_timeout(&mut self, c: &Congestion) {
        self.w.timeout(c.flight / 2.0, c.repeated);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn it_halves_beyond_the_threshold_holds_for_three_round_trips_and_falls_to_one() {
        let mut l = Lp::new(&linux_like());
        l.w.ssthresh = 2.0;
        l.set_cwnd(40.0);
        (l.min, l.max, l.max_reserve, l.smoothed) = (0.1, 0.2, 0.2, 0.114);
        // The next sample brings the smoothed delay to 0.114 + 0.046/8 = 0.1198 > 0.115.
        l.on_ack(&ack_at(1, 1000, 160));
        assert_eq!(l.cwnd(), 20.0);
        (0..40).for_each(|_| l.on_ack(&ack_at(1, 1100, 100)));
        assert_eq!(l.cwnd(), 20.0, "no growth for 300 ms");
        (l.min, l.max, l.smoothed) = (0.1, 0.2, 0.15);
        l.on_ack(&ack_at(1, 1200, 150));
        assert_eq!(l.cwnd(), 1.0);
    }

    #[test]
    fn away_from_congestion_it_is_reno() {
        let mut p = Path::new(super::super::CcName::Lp, linux_like(), 100, 1e9);
        assert_eq!(p.rounds(2), [20.0, 40.0]);
    }
}
