//! TCP Hybla: a long path grows as fast as one of 25 ms would.

use lasthop_engine::math;
use lasthop_units::Duration;

use super::window::{Window, has_window};
use super::{AckSample, Congestion, CongestionControl, Established, Parameter};
use crate::config::Config;

pub(super) const PARAMETERS: &[Parameter] = &[Parameter {
    name: "hybla_rtt0",
    default: "25 ms",
    unit: "",
    source: "Caini and Firrincieli 2004; Linux rtt0 25; ns-3 50 ms",
}];
pub(super) const DIFFERS: &str = "Per ACK, as the paper and Linux have it: a delayed ACK halves the growth. rho follows the \
     smoothed round trip whenever that falls to a new minimum (Linux); the paper takes the smoothed round trip always. \
     Linux computes rho in eighths and increments in 128ths. ns-3: rtt0 50 ms. INET has none.";

/// The largest exponent of slow start: 2^16 segments per ACK.
const RHO_MAX: f64 = 16.0;

/// Hybla's window and its ratio.
#[derive(Clone, Debug)]
pub struct Hybla {
    w: Window,
    rtt0: Duration,
    min_rtt: Option<Duration>,
    rho: f64,
    /// Parts of a segment gathered.
    gathered: f64,
}

impl Hybla {
    /// One segment until the handshake is done.
    pub fn new(config: &Config) -> Hybla {
        Hybla { w: Window::new(config), rtt0: config.hybla_rtt0, min_rtt: None, rho: 1.0, gathered: 0.0 }
    }

    fn note_rtt(&mut self, srtt: Option<Duration>) {
        let Some(srtt) = srtt else { return };
        if self.min_rtt.is_none_or(|m| srtt < m) {
            self.min_rtt = Some(srtt);
            // In eighths, as Linux keeps it.
            let rho = (8.0 * srtt.as_secs_f64() / self.rtt0.as_secs_f64()).floor() / 8.0;
            self.rho = rho.max(1.0);
        }
    }
}

impl CongestionControl for Hybla {
    has_window!();
    fn on_established(&mut self, e: &Established) {
        self.w.open(e);
        self.note_rtt(e.rtt);
    }
    fn on_ack(&mut self, ack: &AckSample) {
        self.note_rtt(ack.srtt);
        if !self.w.may_grow(ack) {
            return;
        }
        let slow_start = self.w.in_slow_start();
        // Per ACK: 2^rho - 1 in slow start, rho^2 / cwnd after.
        let more = if slow_start {
            math::pow(2.0, self.rho.min(RHO_MAX)) - 1.0
        } else {
            self.rho * self.rho / self.w.cwnd
        };
        self.gathered += more;
        let whole = self.gathered.floor();
        self.gathered -= whole;
        if slow_start {
            self.w.slow_start_by(whole);
        } else {
            self.w.add(whole);
        }
    }
    fn on_congestion(&mut self, c: &Congestion) {
        self.w.cut(c.flight / 2.0);
        self.gathered = 0.0;
    }
    fn on_timeout(&mut self, c: &Congestion) {
        self.w.timeout(c.flight / 2.0, c.repeated);
        self.gathered = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;
    use crate::CcName;

    #[test]
    fn at_25_ms_it_is_reno_and_at_100_ms_four_times_as_steep() {
        for (rtt, rho) in [(25, 1.0), (100, 4.0), (60, 2.375)] {
            let mut h = Hybla::new(&linux_like());
            h.on_ack(&AckSample { may_grow: false, ..ack_at(1, 0, rtt) });
            assert_eq!(h.rho, rho, "{rtt} ms, in eighths");
        }
        let mut p = Path::new(CcName::Hybla, linux_like(), 100, 1e9);
        p.lose();
        p.cc.set_cwnd(160.0);
        if let super::super::Cc::Hybla(h) = &mut p.cc {
            h.w.ssthresh = 2.0;
        }
        // rho^2 = 16 segments per round, a little less because the window grows meanwhile.
        let w = p.round();
        assert!((174.0..=176.0).contains(&w), "{w}");
    }

    #[test]
    fn slow_start_adds_two_to_the_rho_less_one_per_ack() {
        let mut h = Hybla::new(&linux_like());
        h.set_cwnd(2.0);
        // rho = 2: 3 segments.
        h.on_ack(&ack_at(1, 0, 50));
        assert_eq!(h.cwnd(), 5.0);
    }
}
