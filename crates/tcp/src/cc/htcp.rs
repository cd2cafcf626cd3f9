//! H-TCP: growth by the time since the last loss, a cut by the share of queueing in the round trip.

use lasthop_units::{Duration, Instant};

use super::window::Window;
use super::{AckSample, CaState, Congestion, CongestionControl, Established, Parameter};
use crate::config::Config;

/// Seconds after a loss in which the growth is Reno's.
const DELTA_L: f64 = 1.0;
const BETA_MIN: f64 = 0.5;
/// Linux BETA_MAX: 102/128.
const BETA_MAX: f64 = 102.0 / 128.0;
/// A throughput that differs by more than this from the last means that the cut is a half.
const THROUGHPUT_RATIO: f64 = 0.2;
/// The largest step up of the longest round trip.
const MAX_RTT_STEP: Duration = Duration::from_millis(20);

pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter { name: "Delta_L", default: "1", unit: "s", source: "Leith and Shorten 2004; Linux HZ" },
    Parameter {
        name: "beta",
        default: "0.5 to 0.797",
        unit: "of cwnd is left",
        source: "Linux BETA_MIN 64, BETA_MAX 102 of 128",
    },
    Parameter { name: "throughput ratio", default: "0.2", unit: "", source: "Linux: 4/5 to 6/5; ns-3 0.2" },
    Parameter {
        name: "rtt scaling",
        default: "on",
        unit: "",
        source: "Linux use_rtt_scaling 1: a round of 100 ms counts as one",
    },
];
pub(super) const DIFFERS: &str = "As Linux: growth is scaled by the smallest round trip against 100 ms (between 1/2 and 10), \
     which ns-3 does not do; the longest round trip rises by at most 20 ms at a time and fades by 5 % per cut.";

/// H-TCP's window, clock and bounds of the round trip.
#[derive(Clone, Debug)]
pub struct Htcp {
    w: Window,
    alpha: f64,
    beta: f64,
    /// The end of the last congestion, and the one before, should the last be undone.
    last_congestion: Instant,
    undo_congestion: Option<Instant>,
    /// In a congestion event: time does not run.
    congested: bool,
    counted: f64,
    min_rtt: Option<Duration>,
    max_rtt: Duration,
    rate: Throughput,
    /// The last congestion's throughput was like the one before.
    adaptive: bool,
}

/// Throughput of the epoch [segments/s].
#[derive(Clone, Copy, Debug, Default)]
struct Throughput {
    since: Instant,
    segments: f64,
    smoothed: f64,
    max: f64,
    max_before: f64,
}

/// alpha by the seconds since the last congestion, before scaling: 1 in the first, then 1 + 10 d + (d/2)^2.
pub fn htcp_growth(seconds: f64) -> f64 {
    let d = seconds - DELTA_L;
    if d <= 0.0 { 1.0 } else { 1.0 + 10.0 * d + (d / 2.0) * (d / 2.0) }
}

impl Htcp {
    /// One segment until the handshake is done.
    pub fn new(config: &Config) -> Htcp {
        Htcp {
            w: Window::new(config),
            alpha: 1.0,
            beta: BETA_MIN,
            last_congestion: Instant::ZERO,
            undo_congestion: None,
            congested: false,
            counted: 0.0,
            min_rtt: None,
            max_rtt: Duration::ZERO,
            rate: Throughput::default(),
            adaptive: false,
        }
    }

    fn measure(&mut self, ack: &AckSample) {
        let settled = matches!(ack.state, CaState::Open);
        if let Some(srtt) = ack.srtt {
            let min = self.min_rtt.map_or(srtt, |m| m.min(srtt));
            self.min_rtt = Some(min);
            if settled {
                self.max_rtt = self.max_rtt.max(min);
                if self.max_rtt < srtt && srtt <= self.max_rtt + MAX_RTT_STEP {
                    self.max_rtt = srtt;
                }
            }
        }
        if !matches!(ack.state, CaState::Open | CaState::Disorder) {
            self.rate.segments = 0.0;
            self.rate.since = ack.now;
            return;
        }
        if self.congested {
            self.congested = false;
            self.undo_congestion = None;
            self.last_congestion = ack.now;
        }
        self.rate.segments += ack.segments();
        let min_rtt = self.min_rtt.unwrap_or(Duration::MAX);
        let age = ack.now.since(self.rate.since);
        if self.rate.segments >= self.w.cwnd - self.alpha.max(1.0) && age >= min_rtt && !age.is_zero() {
            let now = self.rate.segments / age.as_secs_f64();
            // In the first three round trips after a congestion the measure starts afresh.
            let rounds = ack.now.since(self.last_congestion).as_secs_f64() / min_rtt.as_secs_f64().max(1e-9);
            if rounds <= 3.0 {
                self.rate.smoothed = now;
                self.rate.max = now;
            } else {
                self.rate.smoothed = 0.75 * self.rate.smoothed + 0.25 * now;
                self.rate.max = self.rate.max.max(self.rate.smoothed);
            }
            self.rate.segments = 0.0;
            self.rate.since = ack.now;
        }
    }

    fn update_beta(&mut self) {
        let (new, old) = (self.rate.max, self.rate.max_before);
        self.rate.max_before = new;
        let alike = (new - old).abs() <= THROUGHPUT_RATIO * old;
        let min = self.min_rtt.unwrap_or(Duration::ZERO);
        self.beta = BETA_MIN;
        if alike && self.adaptive && min > Duration::from_millis(10) && !self.max_rtt.is_zero() {
            self.beta = (min.as_secs_f64() / self.max_rtt.as_secs_f64()).clamp(BETA_MIN, BETA_MAX);
        }
        self.adaptive = alike;
    }

    fn update_alpha(&mut self, now: Instant) {
        let mut growth = htcp_growth(now.since(self.last_congestion).as_secs_f64());
        if let Some(min) = self.min_rtt {
            // A path of 100 ms is the measure: shorter ones grow less per round, within 1/10 to 2.
            growth /= (0.1 / min.as_secs_f64().max(1e-9)).clamp(0.5, 10.0);
        }
        self.alpha = (2.0 * growth.max(1.0) * (1.0 - self.beta)).max(1.0);
    }

    fn after_cut(&mut self, c: &Congestion) -> f64 {
        self.update_beta();
        self.update_alpha(c.now);
        if let Some(min) = self.min_rtt.filter(|&m| self.max_rtt > m) {
            // "slowly fading memory".
            self.max_rtt = min + (self.max_rtt - min).mul_f64(0.95);
        }
        if !self.congested {
            self.undo_congestion = Some(self.last_congestion);
        }
        self.congested = true;
        self.last_congestion = c.now;
        self.counted = 0.0;
        c.flight * self.beta
    }
}

impl CongestionControl for Htcp {
    fn cwnd(&self) -> f64 {
        self.w.cwnd
    }
    fn ssthresh(&self) -> f64 {
        self.w.ssthresh
    }
    fn set_cwnd(&mut self, segments: f64) {
        self.w.set(segments);
    }
    fn on_established(&mut self, e: &Established) {
        self.w.open(e);
        self.last_congestion = e.now;
        self.rate.since = e.now;
    }
    fn on_ack(&mut self, ack: &AckSample) {
        self.measure(ack);
        if !self.w.may_grow(ack) {
            return;
        }
        if self.w.in_slow_start() {
            self.w.slow_start(ack);
            return;
        }
        if self.counted * self.alpha >= self.w.cwnd {
            self.w.add(1.0);
            self.counted = 0.0;
            self.update_alpha(ack.now);
        } else {
            self.counted += ack.segments();
        }
    }
    fn on_congestion(&mut self, c: &Congestion) {
        let to = self.after_cut(c);
        self.w.cut(to);
    }
    fn on_timeout(&mut self, c: &Congestion) {
        let to = self.after_cut(c);
        self.w.timeout(to, c.repeated);
    }
    fn on_undo(&mut self, cwnd: f64, ssthresh: f64) {
        self.w.undo(cwnd, ssthresh);
        if let Some(before) = self.undo_congestion.take() {
            self.last_congestion = before;
            self.congested = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn growth_is_renos_for_a_second_and_quadratic_after() {
        assert_eq!(htcp_growth(0.9), 1.0);
        // ns-3's cases: 0.1 s beyond: 1 + 1 + 0.0025 = 2.0025; 0.5 s: 1 + 5 + 0.0625.
        assert!((htcp_growth(1.1) - 2.0025).abs() < 1e-12);
        assert!((htcp_growth(1.5) - 6.0625).abs() < 1e-12);
    }

    #[test]
    fn alpha_carries_the_factor_that_keeps_it_fair_and_the_round_trips_scale() {
        let mut h = Htcp::new(&linux_like());
        // Two seconds after, 100 ms: 2 * 11.25 * (1 - 0.5) = 11.25.
        h.min_rtt = Some(Duration::from_millis(100));
        h.update_alpha(Instant::from_secs(2));
        assert!((h.alpha - 11.25).abs() < 1e-9);
        // 50 ms: half of that. 10 s: no more than twice.
        h.min_rtt = Some(Duration::from_millis(50));
        h.update_alpha(Instant::from_secs(2));
        assert!((h.alpha - 5.625).abs() < 1e-9);
        h.min_rtt = Some(Duration::from_secs(10));
        h.update_alpha(Instant::from_secs(2));
        assert!((h.alpha - 22.5).abs() < 1e-9);
    }

    #[test]
    fn the_cut_adapts_to_the_queue_when_the_throughput_is_steady() {
        let mut h = Htcp::new(&linux_like());
        h.min_rtt = Some(Duration::from_millis(60));
        h.max_rtt = Duration::from_millis(100);
        h.rate.max = 100.0;
        h.on_congestion(&congestion(100.0));
        assert_eq!(h.cwnd(), 50.0, "the first: nothing to compare with");
        h.on_congestion(&congestion(100.0));
        assert_eq!(h.cwnd(), 50.0, "alike, but the mode is adaptive only from now on");
        // The fading memory: 60 + 40 * 0.95^2 = 96.1; 60 / 96.1 = 0.6243.
        h.on_congestion(&congestion(100.0));
        assert_eq!(h.cwnd(), 62.0);
    }
}
