//! A rate control of media: more each second, less where packets wait or are lost.
//!
//! demonstrates in particular:
//!
//! - what implements [`RateControl`], and its [`Definition`];
//! - a variable for the table `cc`.

use lasthop_sim::media::{Definition, Feedback, RateControl, Setup};
use lasthop_sim::tcp::cc::Observer;
use lasthop_sim::units::{Duration, Instant};

/// Grows by a constant rate, falls to the share `beta`.
#[derive(Clone, Debug)]
pub struct Steady {
    rate: f64,
    highest: f64,
    beta: f64,
    /// The shortest delay so far, and what the latest packets have on top.
    base: Option<Duration>,
    wait: Duration,
    last: Instant,
    /// A reduction shows in reports one round trip later.
    quiet_until: Instant,
}

/// Packets that wait longer than this lead to a reduction.
const MOST: Duration = Duration::from_millis(50);
/// Growth [bit/s per s].
const STEP: f64 = 40e3;

impl RateControl for Steady {
    fn on_feedback(&mut self, report: &Feedback<'_>) {
        let delays = report.packets.iter().filter_map(|p| Some(p.arrival?.since(p.sent)));
        if let Some(delay) = delays.min() {
            let base = self.base.map_or(delay, |base| base.min(delay));
            self.base = Some(base);
            self.wait = delay - base;
        }
        let lost = report.packets.iter().any(|p| p.arrival.is_none());
        if (lost || self.wait > MOST) && report.now >= self.quiet_until {
            self.rate *= self.beta;
            let rtt = report.rtt.unwrap_or(Duration::from_millis(100));
            self.quiet_until = report.now + rtt + rtt;
        } else if !lost && self.wait <= MOST {
            self.rate += STEP * report.now.since(self.last).as_secs_f64();
        }
        self.rate = self.rate.min(self.highest);
        self.last = report.now;
    }
    fn on_limits(&mut self, _: f64, max: f64) {
        self.highest = max;
    }
    fn target(&self, _: u64) -> f64 {
        self.rate
    }
    fn observe(&self, o: &mut Observer<'_>) {
        o.number("steady.wait", "s", "what packets have waited", self.wait.as_secs_f64());
    }
}

/// What a scenario calls `steady`.
pub fn steady() -> Definition {
    Definition::new("steady", |setup: &Setup<'_>| {
        Ok(Box::new(Steady {
            rate: setup.rate.start,
            highest: setup.rate.max,
            beta: setup.parameter("beta"),
            base: None,
            wait: Duration::ZERO,
            last: Instant::ZERO,
            quiet_until: Instant::ZERO,
        }))
    })
    .summary("additive increase, multiplicative decrease of a rate")
    .source("examples/own_rate_control.py")
    .parameter("beta", 0.85, "share of the rate", "chosen here")
    .version(env!("CARGO_PKG_VERSION"))
}
