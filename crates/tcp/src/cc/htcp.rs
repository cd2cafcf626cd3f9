//! H-TCP: growth by the time since the last loss, a cut by the share of queueing in the round trip.
//!
//! Validated against recordings of Linux 6.1, share and retransmissions beside CUBIC
//! (`tests/linux_two_flows.rs`). Compared by reading with tcp_htcp.c, with the jiffies of
//! `kernel_clock` (1 ms where that is exact):
//! - the bounds follow each round trip measured (rounded up to jiffies), not the smoothed one, and
//!   alpha and beta are in 128ths, the scale of the round trip in eighths;
//! - the window counts the segments that SND.UNA passed while the state was Open, else one per ACK;
//! - the clock stops for a reduction from its start to the next Open, and an undo restores the
//!   longest round trip and the throughput too.

use lasthop_units::Instant;

use super::window::Window;
use super::{
    AckSample, CaState, Congestion, CongestionControl, Established, Needs, Observer, Parameter, Row,
};
use crate::config::Config;
use crate::jiffies::Timers;

/// Seconds after a loss in which the growth is Reno's.
const DELTA_L: f64 = 1.0;
/// alpha and beta are in 128ths.
const ONE: u64 = 128;
const BETA_MIN: u64 = 64;
const BETA_MAX: u64 = 102;
/// The largest step up of the longest round trip [ms].
const MAX_RTT_STEP: u64 = 20;
/// Up to this smallest round trip the cut is a half [ms].
const SHORT: u64 = 10;

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
pub(super) const DIFFERS: &str = "As Linux, in its integers and the jiffies of kernel_clock: growth per round is whole segments, scaled by the smallest round trip \
     against 100 ms (between 1/2 and 10), which ns-3 does not do; the longest round trip rises by at most 20 ms at a time and \
     fades by 5 % per cut. ns-3 computes alpha in real numbers and bytes; INET has none.";

pub(super) const ROW: Row = Row {
    summary: "growth by the time since the last loss",
    source: "D. Leith, R. Shorten, H-TCP, PFLDnet 2004; Linux 6.1 tcp_htcp.c",
    parameters: PARAMETERS,
    differs: DIFFERS,
    needs: Needs::NOTHING,
};

/// H-TCP's window, clock and bounds of the round trip. Times in jiffies.
#[derive(Clone, Debug)]
pub struct Htcp {
    w: Window,
    clock: Timers,
    alpha: u64,
    beta: u64,
    /// The end of the last congestion, or its start while it lasts.
    last_congestion: u64,
    /// While congestion lasts: the values that an undo restores.
    before: Option<Before>,
    /// Segments for the next ACK to count.
    passed: u32,
    counted: u64,
    /// 0: not yet known.
    min_rtt: u64,
    max_rtt: u64,
    rate: Throughput,
    /// The last congestion's throughput was like the one before.
    adaptive: bool,
}

#[derive(Clone, Copy, Debug)]
struct Before {
    last_congestion: u64,
    max_rtt: u64,
    max_rate: u64,
}

/// Throughput of the epoch [segments/s].
#[derive(Clone, Copy, Debug, Default)]
struct Throughput {
    /// `None`: from before the connection, so that the first measure is 0.
    since: Option<u64>,
    segments: u64,
    smoothed: u64,
    max: u64,
    max_before: u64,
}

/// alpha by the seconds since the last congestion, before scaling: 1 in the first, then 1 + 10 d +
/// (d/2)^2.
pub fn htcp_growth(seconds: f64) -> f64 {
    let d = seconds - DELTA_L;
    if d <= 0.0 { 1.0 } else { 1.0 + 10.0 * d + (d / 2.0) * (d / 2.0) }
}

impl Htcp {
    /// One segment until the handshake is done.
    pub fn new(config: &Config) -> Htcp {
        Htcp {
            w: Window::new(config),
            clock: config.kernel_timers(),
            alpha: ONE,
            beta: BETA_MIN,
            last_congestion: 0,
            before: None,
            passed: 1,
            counted: 0,
            min_rtt: 0,
            max_rtt: 0,
            rate: Throughput::default(),
            adaptive: false,
        }
    }

    /// msecs_to_jiffies.
    fn of_ms(&self, ms: u64) -> u64 {
        (ms * self.clock.hz()).div_ceil(1000)
    }

    fn measure(&mut self, ack: &AckSample) {
        if ack.before == CaState::Open {
            self.passed = ack.segments_passed();
        }
        if let Some(rtt) = ack.rtt.filter(|r| !r.is_zero()) {
            self.take_rtt(
                rtt.as_micros().div_ceil(1_000_000 / self.clock.hz()).max(1),
                ack.before == CaState::Open,
            );
        }
        let now = self.clock.count(ack.now);
        if !matches!(ack.before, CaState::Open | CaState::Disorder) {
            self.rate.segments = 0;
            self.rate.since = Some(now);
            return;
        }
        self.rate.segments += u64::from(ack.segments_passed());
        let enough = (self.w.cwnd as u64).saturating_sub((self.alpha / ONE).max(1));
        let age = self.rate.since.map(|t| now - t);
        if self.min_rtt == 0 || self.rate.segments < enough || age.is_some_and(|a| a < self.min_rtt) {
            return;
        }
        let rate = age.map_or(0, |a| self.rate.segments * self.clock.hz() / a.max(1));
        // In the first four round trips after a congestion the measure starts afresh.
        if (now - self.last_congestion) / self.min_rtt <= 3 {
            self.rate.smoothed = rate;
            self.rate.max = rate;
        } else {
            self.rate.smoothed = (3 * self.rate.smoothed + rate) / 4;
            self.rate.max = self.rate.max.max(self.rate.smoothed);
        }
        self.rate.segments = 0;
        self.rate.since = Some(now);
    }

    fn take_rtt(&mut self, rtt: u64, open: bool) {
        if self.min_rtt == 0 || rtt < self.min_rtt {
            self.min_rtt = rtt;
        }
        if open {
            self.max_rtt = self.max_rtt.max(self.min_rtt);
            if self.max_rtt < rtt && rtt <= self.max_rtt + self.of_ms(MAX_RTT_STEP) {
                self.max_rtt = rtt;
            }
        }
    }

    fn update_beta(&mut self) {
        let (new, old) = (self.rate.max, self.rate.max_before);
        self.rate.max_before = new;
        self.beta = BETA_MIN;
        // A throughput within a fifth of the last one's.
        if !(4 * old..=6 * old).contains(&(5 * new)) {
            self.adaptive = false;
        } else if self.adaptive && self.min_rtt > self.of_ms(SHORT) && self.max_rtt > 0 {
            self.beta = (self.min_rtt * ONE / self.max_rtt).clamp(BETA_MIN, BETA_MAX);
        } else {
            self.adaptive = true;
        }
    }

    fn update_alpha(&mut self, now: Instant) {
        let hz = self.clock.hz();
        let d = self.clock.count(now).saturating_sub(self.last_congestion).saturating_sub(hz);
        // Whole segments: `htcp_growth`, cut.
        let mut growth = if d == 0 { 1 } else { 1 + (10 * d + (d / 2) * (d / 2) / hz) / hz };
        if self.min_rtt > 0 {
            // A path of 100 ms is the measure: shorter ones grow less per round, within 1/10 to 2.
            let scale = (8 * hz / (10 * self.min_rtt)).clamp(4, 80);
            growth = (8 * growth / scale).max(1);
        }
        self.alpha = 2 * growth * (ONE - self.beta);
    }

    /// The threshold, and the clock stops.
    fn after_cut(&mut self, c: &Congestion) -> f64 {
        self.update_beta();
        self.update_alpha(c.now);
        if self.max_rtt > self.min_rtt {
            // "slowly fading memory".
            self.max_rtt = self.min_rtt + (self.max_rtt - self.min_rtt) * 95 / 100;
        }
        ((c.flight as u64 * self.beta) / ONE) as f64
    }

    fn stop_clock(&mut self, now: Instant) {
        self.before = Some(Before {
            last_congestion: self.last_congestion,
            max_rtt: self.max_rtt,
            max_rate: self.rate.max_before,
        });
        self.last_congestion = self.clock.count(now);
        self.counted = 0;
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
    fn set_ssthresh(&mut self, segments: f64) {
        self.w.ssthresh = segments;
    }
    fn on_established(&mut self, e: &Established) {
        self.w.open(e);
        self.last_congestion = self.clock.count(e.now);
    }
    fn on_ack(&mut self, ack: &AckSample) {
        self.measure(ack);
        if ack.state == CaState::Open && self.before.take().is_some() {
            self.last_congestion = self.clock.count(ack.now);
        }
        if !self.w.may_grow(ack) {
            return;
        }
        if self.w.in_slow_start() {
            self.w.slow_start(ack);
            return;
        }
        if self.counted * self.alpha / ONE >= self.w.cwnd as u64 {
            self.w.add(1.0);
            self.counted = 0;
            self.update_alpha(ack.now);
        } else {
            self.counted += u64::from(self.passed);
        }
        self.passed = 1;
    }
    fn on_congestion(&mut self, c: &Congestion) {
        let to = self.after_cut(c);
        self.w.cut(to);
        self.stop_clock(c.now);
    }
    fn on_timeout(&mut self, c: &Congestion) {
        let to = if c.repeated { self.w.ssthresh } else { self.after_cut(c) };
        self.w.timeout(to, c.repeated);
        self.stop_clock(c.now);
    }
    fn on_undo(&mut self, cwnd: f64, ssthresh: f64) {
        self.w.undo(cwnd, ssthresh);
        if let Some(b) = self.before.take() {
            self.last_congestion = b.last_congestion;
            self.max_rtt = b.max_rtt;
            self.rate.max_before = b.max_rate;
        }
    }
    fn observe(&self, o: &mut Observer<'_>) {
        let seconds = |jiffies: u64| (jiffies > 0).then(|| jiffies as f64 / self.clock.hz() as f64);
        o.number(
            "htcp.alpha",
            "segments",
            "growth of the window in a round trip",
            self.alpha as f64 / ONE as f64,
        );
        o.number(
            "htcp.beta",
            "",
            "the share of the window that a loss leaves",
            self.beta as f64 / ONE as f64,
        );
        o.maybe("htcp.min_rtt", "s", "smallest round trip", seconds(self.min_rtt));
        o.maybe("htcp.max_rtt", "s", "largest round trip, as it fades", seconds(self.max_rtt));
    }
}

#[cfg(test)]
mod tests {
    use lasthop_units::Duration;

    use super::super::testing::*;
    use super::*;
    use crate::{KernelClock, Options, TimerOptions};

    #[test]
    fn growth_is_renos_for_a_second_and_quadratic_after() {
        assert_eq!(htcp_growth(0.9), 1.0);
        // ns-3's cases: 0.1 s beyond: 1 + 1 + 0.0025 = 2.0025; 0.5 s: 1 + 5 + 0.0625.
        assert!((htcp_growth(1.1) - 2.0025).abs() < 1e-12);
        assert!((htcp_growth(1.5) - 6.0625).abs() < 1e-12);
    }

    #[test]
    fn alpha_is_cut_to_whole_segments_and_carries_the_factor_of_fairness_and_the_round_trips_scale() {
        let mut h = Htcp::new(&linux_like());
        // Two seconds after, 100 ms: 1 + 10 + 0.25, cut to 11; 2 * 11 * (1 - 0.5) = 11.
        h.min_rtt = 100;
        h.update_alpha(Instant::from_secs(2));
        assert_eq!(h.alpha, 11 * ONE);
        assert!((htcp_growth(2.0) - 11.25).abs() < 1e-12);
        // 50 ms: half of that, 8 * 11 / 16 = 5.5, cut. 10 s: no more than twice.
        h.min_rtt = 50;
        h.update_alpha(Instant::from_secs(2));
        assert_eq!(h.alpha, 5 * ONE);
        h.min_rtt = 10_000;
        h.update_alpha(Instant::from_secs(2));
        assert_eq!(h.alpha, 22 * ONE);
        // 41 ms: the scale is 8000 / 410 = 19 eighths; 8 * 11 / 19 = 4.6, cut.
        h.min_rtt = 41;
        h.update_alpha(Instant::from_secs(2));
        assert_eq!(h.alpha, 4 * ONE);
    }

    /// tcp_htcp.c with HZ = 100, a jiffy of 10 ms. A round trip of 41.001 ms is 5 jiffies
    /// (usecs_to_jiffies), 42 of 1 ms. Two seconds after: d = 200 - 100, growth
    /// 1 + (10 * 100 + 50 * 50 / 100) / 100 = 11 whole segments. The scale is (8 * 100) / (10 * 5),
    /// 16 eighths: 8 * 11 / 16 = 5, alpha 2 * 5 * 64. With HZ = 1000 it is 8000 / 420 = 19: 4.
    #[test]
    fn round_trips_and_times_are_jiffies_of_the_kernel_clock() {
        let counting = |clock| {
            Htcp::new(&resolved(Options {
                timers: TimerOptions { kernel_clock: Some(clock), ..TimerOptions::default() },
                ..Options::default()
            }))
        };
        let sample = |rtt| AckSample { rtt: Some(Duration::from_micros(rtt)), ..ack_at(1, 100, 0) };
        for (clock, rtt, growth) in [(KernelClock::Hz100, 5, 5), (KernelClock::Hz1000, 42, 4)] {
            let mut h = counting(clock);
            h.measure(&sample(41_001));
            h.update_alpha(Instant::from_secs(2));
            assert_eq!((h.min_rtt, h.alpha), (rtt, growth * ONE), "{clock:?}");
        }
        let mut h = counting(KernelClock::Hz100);
        // The longest rises by at most msecs_to_jiffies(20) = 2: from 5 to 7, 61 to 70 ms.
        for rtt in [41_001, 70_001, 70_000] {
            h.measure(&sample(rtt));
        }
        assert_eq!(h.max_rtt, 7);
        // A congestion at 9.0199 s is in jiffy 901. A second of 100 jiffies later growth is still
        // Reno's; at 11.02 s d = 1102 - 901 - 100 = 101: 1 + (1010 + 25) / 100 = 11.
        h.on_congestion(&Congestion { now: Instant::from_micros(9_019_900), ..congestion(100.0) });
        assert_eq!(h.last_congestion, 901);
        h.min_rtt = 10;
        h.beta = BETA_MIN;
        for (at, growth) in [(10_019_900, 1), (11_020_000, 11)] {
            h.update_alpha(Instant::from_micros(at));
            assert_eq!(h.alpha, growth * ONE, "at {at} us");
        }
    }

    /// measure_achieved_throughput with HZ = 100: 12 segments from jiffy 10, 100 ms, to jiffy 15,
    /// 159.9 ms, are 12 * 100 / 5 = 240 per second. By the clock of nanoseconds they are 200.
    #[test]
    fn throughput_is_segments_per_jiffies() {
        let config = resolved(Options {
            timers: TimerOptions { kernel_clock: Some(KernelClock::Hz100), ..TimerOptions::default() },
            ..Options::default()
        });
        let mut h = Htcp::new(&config);
        h.w.set(10.0);
        h.rate.since = Some(10);
        let a = AckSample { passed: 12 * MSS, ..ack_at(12, 0, 41) };
        h.measure(&AckSample { now: Instant::from_micros(159_900), ..a });
        assert_eq!((h.rate.smoothed, h.rate.since), (240, Some(15)));
    }

    #[test]
    fn the_cut_adapts_to_the_queue_when_the_throughput_is_steady() {
        let mut h = Htcp::new(&linux_like());
        (h.min_rtt, h.max_rtt, h.rate.max) = (60, 100, 100);
        h.on_congestion(&congestion(100.0));
        assert_eq!(h.cwnd(), 50.0, "the first: nothing to compare with");
        h.on_congestion(&congestion(100.0));
        assert_eq!(h.cwnd(), 50.0, "alike, but the mode is adaptive only from now on");
        // The fading memory: 60 + 40 * 0.95^2, cut twice: 98, 96; 60 * 128 / 96 = 80 of 128.
        h.on_congestion(&congestion(100.0));
        assert_eq!((h.max_rtt, h.cwnd()), (94, 62.0), "100 * 80 / 128 = 62.5");
    }

    #[test]
    fn the_clock_stops_from_the_cut_to_the_next_open_and_an_undo_restores_it() {
        let mut h = Htcp::new(&linux_like());
        h.last_congestion = 5_000;
        let c = Congestion { now: Instant::from_millis(9_000), ..congestion(20.0) };
        h.on_congestion(&c);
        assert_eq!(h.last_congestion, 9_000);
        h.on_ack(&AckSample { state: CaState::Recovery, ..ack_at(1, 9_050, 50) });
        h.on_ack(&ack_at(1, 9_100, 50));
        assert_eq!(h.last_congestion, 9_100);
        h.on_congestion(&Congestion { now: Instant::from_millis(9_500), ..c });
        h.on_undo(20.0, 20.0);
        h.on_ack(&ack_at(1, 9_600, 50));
        assert_eq!(h.last_congestion, 9_100);
    }
}
