//! TCP-Illinois: growth and cut by the average queueing delay.
//!
//! Validated against recordings of Linux 6.1, share and retransmissions beside CUBIC
//! (`tests/linux_two_flows.rs`). Compared by reading with tcp_illinois.c: alpha in 128ths (so the
//! smallest is 38/128, not 0.3), beta in 64ths, delays in whole microseconds up to 3.3 s; the
//! window counts the segments that SND.UNA passed, and a round begins afresh at a timeout.

use super::window::{Round, Window, has_window};
use super::{AckSample, Congestion, CongestionControl, Established, Needs, Observer, Parameter, Row};
use crate::config::Config;

/// alpha is in 128ths: 0.3 to 10.
const ALPHA_ONE: u64 = 128;
const ALPHA_MIN: u64 = 3 * ALPHA_ONE / 10;
const ALPHA_MAX: u64 = 10 * ALPHA_ONE;
/// The longest round trip that counts [us]: 3.3 s.
const RTT_MAX: u64 = u32::MAX as u64 / ALPHA_MAX;
/// beta is in 64ths: an eighth to a half.
const BETA_ONE: u64 = 64;
const BETA_MIN: u64 = BETA_ONE / 8;
const BETA_MAX: u64 = BETA_ONE / 2;
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
pub(super) const DIFFERS: &str = "As Linux, in its integers: alpha in 128ths, beta in 64ths. ns-3 has the same constants in real \
     numbers; INET has none.";

pub(super) const ROW: Row = Row {
    summary: "growth and cut by the queueing delay",
    source: "S. Liu, T. Basar, R. Srikant, TCP-Illinois, Performance Evaluation 65, 2008; Linux 6.1 tcp_illinois.c",
    parameters: PARAMETERS,
    differs: DIFFERS,
    needs: Needs::NOTHING,
};

/// Illinois' window and delays. Times in microseconds.
#[derive(Clone, Debug)]
pub struct Illinois {
    w: Window,
    alpha: u64,
    beta: u64,
    base: u64,
    max: u64,
    sum: u64,
    count: u64,
    round: Round,
    /// The round begins afresh with the next ACK.
    begin_round: bool,
    /// The delay has been above the low threshold since the growth was largest.
    above: bool,
    low_rounds: u32,
    counted: u64,
}

impl Illinois {
    /// One segment until the handshake is done.
    pub fn new(config: &Config) -> Illinois {
        Illinois {
            w: Window::new(config),
            alpha: ALPHA_MAX,
            beta: BETA_MAX,
            base: i32::MAX as u64,
            max: 0,
            sum: 0,
            count: 0,
            round: Round::default(),
            begin_round: false,
            above: false,
            low_rounds: 0,
            counted: 0,
        }
    }

    fn update(&mut self) {
        if self.w.cwnd < WIN_THRESH {
            (self.alpha, self.beta) = (ALPHA_ONE, BETA_MAX);
        } else if let Some(average) = self.sum.checked_div(self.count) {
            let longest = self.max - self.base;
            let average = average - self.base;
            self.update_alpha(average, longest);
            self.beta = decrease(average, longest);
        }
        (self.sum, self.count) = (0, 0);
    }

    fn update_alpha(&mut self, average: u64, longest: u64) {
        let d1 = longest / 100;
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
fn growth(average: u64, longest: u64) -> u64 {
    longest * ALPHA_MAX / (longest + average * (ALPHA_MAX - ALPHA_MIN) / ALPHA_MIN).max(1)
}

/// beta: smallest below a tenth of the longest delay, largest above eight tenths, a line between.
fn decrease(average: u64, longest: u64) -> u64 {
    let (d2, d3) = (longest / 10, 8 * longest / 10);
    if average <= d2 {
        BETA_MIN
    } else if average >= d3 || d3 <= d2 {
        BETA_MAX
    } else {
        // Between the two `average` is above d2, so the sum is not negative.
        (BETA_MIN * d3 + (BETA_MAX - BETA_MIN) * average - BETA_MAX * d2) / (d3 - d2)
    }
}

fn after_cut(window: f64, beta: u64) -> f64 {
    let window = window as u64;
    (window - window * beta / BETA_ONE) as f64
}

impl CongestionControl for Illinois {
    has_window!();
    fn on_established(&mut self, e: &Established) {
        self.w.open(e);
        self.round.begin(e.nxt);
    }
    fn on_ack(&mut self, ack: &AckSample) {
        if let Some(rtt) = ack.rtt {
            let rtt = rtt.as_micros().min(RTT_MAX);
            self.base = self.base.min(rtt);
            self.max = self.max.max(rtt);
            self.sum += rtt;
            self.count += 1;
        }
        if std::mem::take(&mut self.begin_round) {
            self.round.begin(ack.nxt);
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
        self.counted += u64::from(ack.segments_passed());
        let (delta, cwnd) = (self.counted * self.alpha / ALPHA_ONE, self.w.cwnd as u64);
        if delta >= cwnd {
            self.w.add((delta / cwnd.max(1)) as f64);
            self.counted = 0;
        }
    }
    fn on_congestion(&mut self, c: &Congestion) {
        self.w.cut(after_cut(c.flight, self.beta));
        self.counted = 0;
    }
    fn on_timeout(&mut self, c: &Congestion) {
        self.w.timeout(after_cut(c.flight, self.beta), c.repeated);
        (self.alpha, self.beta) = (ALPHA_ONE, BETA_MAX);
        (self.above, self.low_rounds) = (false, 0);
        (self.sum, self.count, self.counted) = (0, 0, 0);
        self.begin_round = true;
    }
    fn observe(&self, o: &mut Observer<'_>) {
        let known = self.max > 0;
        o.number(
            "illinois.alpha",
            "segments",
            "growth of the window in a round trip",
            self.alpha as f64 / ALPHA_ONE as f64,
        );
        o.number(
            "illinois.beta",
            "",
            "the share of the window that a loss costs",
            self.beta as f64 / BETA_ONE as f64,
        );
        o.maybe("illinois.base_rtt", "s", "smallest round trip", known.then_some(self.base as f64 / 1e6));
        o.maybe("illinois.max_rtt", "s", "largest round trip", known.then_some(self.max as f64 / 1e6));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn alpha_falls_from_10_to_0_3_over_the_delay() {
        assert_eq!(growth(0, 100_000), 1280);
        // 10 / (1 + (1280 - 38) / 38) = 0.2969 = 38/128.
        assert_eq!(growth(100_000, 100_000), 38);
        // Half way: 1280 / (1 + 16.342) = 73.8.
        assert_eq!(growth(50_000, 100_000), 73);
    }

    #[test]
    fn beta_rises_from_an_eighth_to_a_half_between_one_and_eight_tenths() {
        assert_eq!(decrease(10_000, 100_000), 8);
        assert_eq!(decrease(80_000, 100_000), 32);
        // Half way, 45 ms: (8 + 32) / 2.
        assert_eq!(decrease(45_000, 100_000), 20);
        // 1000 * (1 - 20/64) = 687.5; the kernel cuts 312.
        assert_eq!(after_cut(1000.0, 20), 688.0);
    }

    #[test]
    fn after_delay_the_growth_is_largest_again_only_after_five_low_rounds() {
        let mut i = Illinois::new(&linux_like());
        i.update_alpha(50_000, 100_000);
        let slow = i.alpha;
        for _ in 0..4 {
            i.update_alpha(0, 100_000);
            assert_eq!(i.alpha, slow);
        }
        i.update_alpha(0, 100_000);
        assert_eq!(i.alpha, ALPHA_MAX);
    }

    #[test]
    fn small_windows_are_renos() {
        let mut i = Illinois::new(&linux_like());
        i.set_cwnd(14.0);
        i.update();
        assert_eq!((i.alpha, i.beta), (ALPHA_ONE, BETA_MAX));
        i.on_congestion(&congestion(14.0));
        assert_eq!(i.cwnd(), 7.0);
    }
}
