//! TCP-Illinois: growth and cut by the average queueing delay.

use super::window::{Round, Window, has_window};
use super::{AckSample, Congestion, CongestionControl, Established, Parameter};
use crate::config::Config;

const ALPHA_MIN: f64 = 0.3;
const ALPHA_MAX: f64 = 10.0;
const BETA_MIN: f64 = 0.125;
const BETA_MAX: f64 = 0.5;
/// Below this window it is Reno.
const WIN_THRESH: f64 = 15.0;
/// Rounds of low delay before the growth is the largest again.
const THETA: u32 = 5;

pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "alpha",
        default: "0.3 to 10",
        unit: "segments per round",
        source: "Liu, Basar, Srikant 2008; Linux",
    },
    Parameter {
        name: "beta",
        default: "0.125 to 0.5",
        unit: "of cwnd is lost",
        source: "Liu, Basar, Srikant 2008; Linux",
    },
    Parameter { name: "win_thresh", default: "15", unit: "segments", source: "Linux win_thresh" },
    Parameter { name: "theta", default: "5", unit: "rounds", source: "Linux theta" },
];
pub(super) const DIFFERS: &str = "As Linux, in exact arithmetic where Linux cuts to 1/128 (alpha) and 1/64 (beta). ns-3 has the \
     same constants; INET has none.";

/// Illinois' window and delays. Times in seconds.
#[derive(Clone, Debug)]
pub struct Illinois {
    w: Window,
    alpha: f64,
    beta: f64,
    base: f64,
    max: f64,
    sum: f64,
    count: u32,
    round: Round,
    /// The delay has been above the low threshold since the growth was largest.
    above: bool,
    low_rounds: u32,
    counted: f64,
}

impl Illinois {
    /// One segment until the handshake is done.
    pub fn new(config: &Config) -> Illinois {
        Illinois {
            w: Window::new(config),
            alpha: ALPHA_MAX,
            beta: BETA_MAX,
            base: f64::INFINITY,
            max: 0.0,
            sum: 0.0,
            count: 0,
            round: Round::default(),
            above: false,
            low_rounds: 0,
            counted: 0.0,
        }
    }

    fn update(&mut self) {
        if self.w.cwnd < WIN_THRESH {
            (self.alpha, self.beta) = (1.0, BETA_MAX);
        } else if self.count > 0 {
            let longest = self.max - self.base;
            let average = self.sum / f64::from(self.count) - self.base;
            self.update_alpha(average, longest);
            self.beta = decrease(average, longest);
        }
        (self.sum, self.count) = (0.0, 0);
    }

    fn update_alpha(&mut self, average: f64, longest: f64) {
        let d1 = longest / 100.0;
        if average <= d1 {
            if self.above {
                self.low_rounds += 1;
                if self.low_rounds < THETA {
                    return;
                }
                self.low_rounds = 0;
                self.above = false;
            }
            self.alpha = ALPHA_MAX;
            return;
        }
        self.above = true;
        self.alpha = growth(average - d1, longest - d1);
    }
}

/// alpha for a delay beyond the low threshold: from ALPHA_MAX at 0 to ALPHA_MIN at the longest.
fn growth(average: f64, longest: f64) -> f64 {
    longest * ALPHA_MAX / (longest + average * (ALPHA_MAX - ALPHA_MIN) / ALPHA_MIN)
}

/// beta: smallest below a tenth of the longest delay, largest above eight tenths, a line between.
fn decrease(average: f64, longest: f64) -> f64 {
    let (d2, d3) = (longest / 10.0, 8.0 * longest / 10.0);
    if average <= d2 {
        BETA_MIN
    } else if average >= d3 || d3 <= d2 {
        BETA_MAX
    } else {
        (BETA_MIN * d3 - BETA_MAX * d2 + (BETA_MAX - BETA_MIN) * average) / (d3 - d2)
    }
}

impl CongestionControl for Illinois {
    has_window!();
    fn on_established(&mut self, e: &Established) {
        self.w.open(e);
        self.round.begin(e.nxt);
    }
    fn on_ack(&mut self, ack: &AckSample) {
        if let Some(rtt) = ack.rtt {
            let rtt = rtt.as_secs_f64();
            self.base = self.base.min(rtt);
            self.max = self.max.max(rtt);
            self.sum += rtt;
            self.count += 1;
        }
        if ack.may_grow && self.round.ended(ack) {
            self.update();
        }
        if !self.w.may_grow(ack) {
            return;
        }
        if self.w.in_slow_start() {
            self.w.slow_start(ack);
            return;
        }
        self.counted += ack.segments();
        let delta = self.counted * self.alpha;
        if delta >= self.w.cwnd {
            self.w.add((delta / self.w.cwnd).floor());
            self.counted = 0.0;
        }
    }
    fn on_congestion(&mut self, c: &Congestion) {
        self.w.cut(c.flight - (c.flight * self.beta).floor());
        self.counted = 0.0;
    }
    fn on_timeout(&mut self, c: &Congestion) {
        self.w.timeout(c.flight - (c.flight * self.beta).floor(), c.repeated);
        (self.alpha, self.beta) = (1.0, BETA_MAX);
        (self.above, self.low_rounds) = (false, 0);
        (self.sum, self.count, self.counted) = (0.0, 0, 0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn alpha_falls_from_10_to_0_3_over_the_delay() {
        assert_eq!(growth(0.0, 0.1), 10.0);
        // 10 / (1 + 9.7 / 0.3) = 10 * 0.3 / 10.
        assert!((growth(0.1, 0.1) - 0.3).abs() < 1e-12);
        // Half way: 10 / (1 + 16.1667) = 0.5825.
        assert!((growth(0.05, 0.1) - 0.582_524).abs() < 1e-6);
    }

    #[test]
    fn beta_rises_from_an_eighth_to_a_half_between_one_and_eight_tenths() {
        assert_eq!(decrease(0.01, 0.1), 0.125);
        assert_eq!(decrease(0.08, 0.1), 0.5);
        // Half way, 0.045: (0.125 + 0.5) / 2.
        assert!((decrease(0.045, 0.1) - 0.3125).abs() < 1e-12);
    }

    #[test]
    fn after_delay_the_growth_is_largest_again_only_after_five_low_rounds() {
        let mut i = Illinois::new(&linux_like());
        i.update_alpha(0.05, 0.1);
        let slow = i.alpha;
        for _ in 0..4 {
            i.update_alpha(0.0, 0.1);
            assert_eq!(i.alpha, slow);
        }
        i.update_alpha(0.0, 0.1);
        assert_eq!(i.alpha, 10.0);
    }

    #[test]
    fn small_windows_are_renos() {
        let mut i = Illinois::new(&linux_like());
        i.set_cwnd(14.0);
        i.update();
        assert_eq!((i.alpha, i.beta), (1.0, 0.5));
        i.on_congestion(&congestion(14.0));
        assert_eq!(i.cwnd(), 7.0);
    }
}
