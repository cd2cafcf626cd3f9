//! CUBIC: RFC 9438, and Linux' variant of it.

use lasthop_engine::math;
use lasthop_units::{Duration, Instant};

use super::hystart::SlowStartExit;
use super::window::{Window, has_window};
use super::{
    AckSample, Congestion, CongestionControl, Established, Needs, Observer, Parameter, Row, Signal,
    TransmitStart,
};
use crate::config::{Config, CubicConfig, CubicReading};
use crate::jiffies::Timers;

pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter { name: "cubic_reading", default: "rfc9438", unit: "", source: "linux in the profile linux-6" },
    Parameter {
        name: "cubic_beta",
        default: "0.7",
        unit: "of cwnd is left",
        source: "RFC 9438 section 4.6; Linux 717/1024; 819/1024 before 2.6.26; the D2D study 0.8",
    },
    Parameter {
        name: "cubic_c",
        default: "0.4",
        unit: "segments/s^3",
        source: "RFC 9438 section 5.1; Linux bic_scale 41: 410/1024",
    },
    Parameter {
        name: "cubic_fast_convergence",
        default: "true",
        unit: "",
        source: "RFC 9438 section 4.7; Linux fast_convergence 1",
    },
    Parameter {
        name: "cubic_friendliness",
        default: "true",
        unit: "",
        source: "RFC 9438 section 4.3; Linux tcp_friendliness 1",
    },
    Parameter {
        name: "hystart",
        default: "none",
        unit: "",
        source: "linux in the profile linux-6; RFC 9438 section 4.10 allows rfc9406",
    },
];
pub(super) const DIFFERS: &str = "Linux counts time in jiffies (kernel_clock) and roots in a table (0.2 % off: 9999 for the root of \
     10^12), adds the smallest round trip to t where the RFC adds the smoothed one, recomputes at most every 1/32 s, \
     grows by at most half of cwnd per round, and its Reno-friendly window grows by 8/15 per round for ever where the RFC \
     takes 3 (1 - beta) / (1 + beta) and 1 once the old maximum is passed. ns-3: HyStart as in Linux, without the \
     Reno-friendly region until 3.38. INET has none of its own of that time.";

pub(super) const ROW: Row = Row {
    summary: "a cubic function of the time since the last loss",
    source: "RFC 9438; S. Ha, I. Rhee, L. Xu, CUBIC, ACM SIGOPS OSR 42(5), 2008; Linux 6.1 tcp_cubic.c",
    parameters: PARAMETERS,
    differs: DIFFERS,
    needs: Needs { abe: true, ..Needs::NOTHING },
};

/// CUBIC's window and epoch.
#[derive(Clone, Debug)]
pub struct Cubic {
    w: Window,
    config: CubicConfig,
    /// The factor of the window after a mark, where it differs from the factor after a loss.
    abe: Option<f64>,
    clock: Timers,
    exit: SlowStartExit,
    paced: bool,
    /// W_max; 0 before the first loss.
    w_max: f64,
    /// The window before the last reduction, whatever fast convergence makes of W_max (RFC 9438
    /// section 4.3).
    cwnd_prior: f64,
    /// No congestion avoidance has begun since the last timeout (RFC 9438 section 4.8).
    after_timeout: bool,
    epoch: Option<Epoch>,
    min_rtt: Option<Duration>,
    last_cut: Option<Instant>,
    nxt: u64,
}

/// Since the last reduction.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: Instant,
    /// While the application limits the sender, the time of the cubic function stands still (RFC
    /// 9438 section 5.8).
    paused: Option<Instant>,
    /// cwnd_prior, then the plateau.
    origin: f64,
    /// Seconds to the plateau.
    k: f64,
    /// W_est.
    reno: f64,
    /// Segments delivered towards the next of `reno` (Linux).
    reno_counted: f64,
    cwnd_prior: f64,
    /// Segments delivered per segment of growth, when and for which window it was computed (Linux).
    per: f64,
    computed: Option<(Instant, f64)>,
    /// W_est was ahead of the curve at the last computation.
    friendly: bool,
}

/// W_cubic(t) = C * (t - K)^3 + W_max (RFC 9438 equation 1).
pub fn cubic_window(c: f64, t: f64, k: f64, w_max: f64) -> f64 {
    let d = t - k;
    c * d * d * d + w_max
}

/// K = cbrt((W_max - cwnd_epoch) / C) (RFC 9438 equation 2); 0 at or above W_max.
pub fn cubic_k(c: f64, w_max: f64, cwnd_epoch: f64) -> f64 {
    math::cbrt(((w_max - cwnd_epoch) / c).max(0.0))
}

impl Cubic {
    /// One segment until the handshake is done.
    pub fn new(config: &Config) -> Cubic {
        Cubic {
            w: Window::new(config),
            config: config.cubic,
            abe: config.ecn.abe.then_some(config.ecn.abe_beta.cubic),
            clock: config.kernel_timers(),
            exit: SlowStartExit::new(config.readings.hystart),
            paced: config.growth.pacing,
            w_max: 0.0,
            cwnd_prior: 0.0,
            after_timeout: false,
            epoch: None,
            min_rtt: None,
            last_cut: None,
            nxt: 0,
        }
    }

    fn after_cut(&mut self, window: f64) -> f64 {
        self.cut_by(window, self.config.beta)
    }

    fn cut_by(&mut self, window: f64, beta: f64) -> f64 {
        // RFC 9438 section 4.7: a loss below the last maximum lowers it further.
        let lower = window < self.w_max && self.config.fast_convergence;
        self.w_max = if lower { window * (1.0 + self.config.beta) / 2.0 } else { window };
        if self.config.reading == CubicReading::Linux {
            self.w_max = self.w_max.floor();
        }
        self.cwnd_prior = window;
        self.after_timeout = false;
        self.epoch = None;
        window * beta
    }

    /// The region of the window: RFC 9438 sections 4.3 to 4.5.
    fn region(&self) -> &'static str {
        match &self.epoch {
            _ if self.w.in_slow_start() => "slow-start",
            None => "waiting",
            Some(e) if e.friendly => "reno-friendly",
            Some(e) if self.w.cwnd < e.origin => "concave",
            Some(_) => "convex",
        }
    }

    fn begin_epoch(&mut self, ack: &AckSample) -> Epoch {
        let cwnd = self.w.cwnd;
        if std::mem::take(&mut self.after_timeout) {
            // RFC 9438 section 4.8: K = 0 and W_max = cwnd in the first stage after a timeout.
            self.w_max = cwnd;
        }
        let above = self.w_max <= cwnd;
        let linux = self.config.reading == CubicReading::Linux;
        Epoch {
            start: if linux { self.clock.jiffy(ack.now) } else { ack.now },
            paused: None,
            origin: if above { cwnd } else { self.w_max },
            k: if above { 0.0 } else { cubic_k(self.config.c, self.w_max, cwnd) },
            reno: cwnd,
            reno_counted: 0.0,
            cwnd_prior: self.cwnd_prior,
            per: f64::INFINITY,
            computed: None,
            friendly: false,
        }
    }

    /// Congestion avoidance: `segments` were delivered.
    fn grow(&mut self, ack: &AckSample, segments: f64) {
        let mut e = match self.epoch {
            Some(e) => e,
            None => self.begin_epoch(ack),
        };
        if let Some(since) = e.paused.take() {
            e.start += ack.now.since(since);
        }
        let ahead = match self.config.reading {
            CubicReading::Linux => {
                self.linux_divisor(&mut e, ack, segments);
                0.0
            }
            CubicReading::Rfc9438 => self.rfc_divisor(&mut e, ack, segments),
        };
        self.epoch = Some(e);
        self.w.add(ahead);
        if e.per.is_finite() {
            self.w.one_per(e.per, segments);
        }
    }

    /// RFC 9438 sections 4.3 to 4.5. Returns the whole segments by which the Reno-friendly window
    /// is ahead.
    fn rfc_divisor(&self, e: &mut Epoch, ack: &AckSample, segments: f64) -> f64 {
        let c = &self.config;
        let t = ack.now.since(e.start).as_secs_f64();
        let cwnd = self.w.cwnd;
        if c.friendliness {
            let alpha = if e.reno >= e.cwnd_prior { 1.0 } else { 3.0 * (1.0 - c.beta) / (1.0 + c.beta) };
            e.reno += alpha * segments / cwnd;
        }
        let rtt = ack.srtt.map_or(0.0, Duration::as_secs_f64);
        let target = cubic_window(c.c, t + rtt, e.k, e.origin).clamp(cwnd, 1.5 * cwnd);
        e.per = cwnd / (target - cwnd);
        e.friendly = c.friendliness && cubic_window(c.c, t, e.k, e.origin) < e.reno;
        if e.friendly {
            // The Reno-friendly region: cwnd = W_est.
            e.per = f64::INFINITY;
            return (e.reno - cwnd).floor().max(0.0);
        }
        0.0
    }

    /// As Linux: whole segments, time in jiffies, a computation at most every 1/32 s.
    fn linux_divisor(&self, e: &mut Epoch, ack: &AckSample, segments: f64) {
        let cwnd = self.w.cwnd;
        e.reno_counted += segments;
        // tcp_jiffies32.
        let hz = self.clock.hz();
        let now = self.clock.count(ack.now);
        let (same_window, age) = match e.computed {
            Some((at, w)) => (w == cwnd, now - self.clock.count(at)),
            None => (false, u64::MAX),
        };
        if same_window && age <= hz / 32 {
            return;
        }
        if age > 0 {
            e.computed = Some((ack.now, cwnd));
            let min_rtt = self.min_rtt.map_or(0, |rtt| rtt.as_micros().div_ceil(1_000_000 / hz));
            let t = now.saturating_sub(self.clock.count(e.start)) + min_rtt;
            // Times in 1/1024 s, and what is to be added to the plateau or taken off it in whole
            // segments.
            let d = ((t << 10) / hz) as f64 / 1024.0 - (e.k * 1024.0).floor() / 1024.0;
            let target = e.origin + cubic_window(self.config.c, d, 0.0, 0.0).trunc();
            e.per = if target > cwnd { cwnd / (target - cwnd) } else { 100.0 * cwnd };
            // Before the first loss at least 5 % per round.
            if self.w_max == 0.0 {
                e.per = e.per.min(20.0);
            }
        }
        if self.config.friendliness {
            let beta = self.config.beta;
            // beta_scale: 8 (1 + beta) / (3 (1 - beta)) in eighths, cut: 15 for 717/1024.
            let scale = (8.0 * (1.0 + beta) / 3.0 / (1.0 - beta)).floor() / 8.0;
            let per_segment = (cwnd * scale).floor().max(1.0);
            while e.reno_counted > per_segment {
                e.reno_counted -= per_segment;
                e.reno += 1.0;
            }
            let per = if e.reno > cwnd { cwnd / (e.reno - cwnd) } else { f64::INFINITY };
            e.friendly = per < e.per;
            e.per = e.per.min(per);
        }
        e.per = e.per.floor().max(2.0);
    }
}

impl CongestionControl for Cubic {
    has_window!();
    fn on_established(&mut self, e: &Established) {
        self.w.open(e);
        self.exit.restart(e.now, e.nxt);
    }

    fn on_ack(&mut self, ack: &AckSample) {
        self.nxt = ack.nxt;
        let recent = match self.config.reading {
            // bictcp_acked discards the delays of an epoch's first second.
            CubicReading::Linux => self.epoch.is_some_and(|e| {
                self.clock.count(ack.now).saturating_sub(self.clock.count(e.start)) < self.clock.hz()
            }),
            CubicReading::Rfc9438 => {
                self.last_cut.is_some_and(|at| ack.now.since(at) < Duration::from_secs(1))
            }
        };
        if let Some(rtt) = ack.rtt.filter(|_| !recent) {
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |m| m.min(rtt)));
        }
        let divide =
            if self.w.in_slow_start() { self.exit.on_ack(&mut self.w, ack, self.paced) } else { 1.0 };
        if !self.w.may_grow(ack) {
            let stops = ack.may_grow && self.config.reading == CubicReading::Rfc9438;
            if let Some(e) = self.epoch.as_mut().filter(|_| stops) {
                e.paused.get_or_insert(ack.now);
            }
            return;
        }
        let mut left = ack.segments();
        if self.w.in_slow_start() {
            left = self.w.slow_start_by(self.w.countable(ack) / divide);
        }
        if left > 0.0 {
            self.grow(ack, left);
        }
    }

    /// Linux' clock runs on while the application limits, but not over idle times
    /// (cubictcp_cwnd_event).
    fn on_transmit_start(&mut self, start: &TransmitStart) {
        let TransmitStart { now, idle, .. } = *start;
        if let Some(e) = self.epoch.as_mut().filter(|_| self.config.reading == CubicReading::Linux) {
            let jiffies = |at: Instant| self.clock.jiffy(at);
            let idle = jiffies(now).since(jiffies(Instant(now.0.saturating_sub(idle.0))));
            e.start = (e.start + idle).min(jiffies(now));
        }
    }

    fn on_congestion(&mut self, c: &Congestion) {
        // ABE (RFC 8511): a mark costs less than a loss, where it is switched on.
        let beta = self.abe.filter(|_| c.signal == Signal::Ecn).unwrap_or(self.config.beta);
        let to = self.cut_by(c.flight, beta);
        self.w.cut(to);
        self.last_cut = Some(c.now);
    }

    fn on_timeout(&mut self, c: &Congestion) {
        let prior = self.cwnd_prior;
        let to = self.after_cut(c.flight);
        self.w.timeout(to, c.repeated);
        self.last_cut = None;
        if c.repeated {
            // ssthresh is not set again: "the time of setting ssthresh most recently" stays.
            self.cwnd_prior = prior;
        }
        if self.config.reading == CubicReading::Linux {
            // Linux resets everything.
            self.w_max = 0.0;
            self.min_rtt = None;
        } else {
            self.after_timeout = true;
        }
        self.exit.restart(c.now, self.nxt);
    }
    fn observe(&self, o: &mut Observer<'_>) {
        let e = self.epoch.as_ref();
        o.number(
            "cubic.w_max",
            "segments",
            "W_max, the window before the last cut; 0 before the first",
            self.w_max,
        );
        o.maybe("cubic.k", "s", "K: from the beginning of the epoch to the plateau", e.map(|e| e.k));
        o.maybe("cubic.origin", "segments", "the plateau of this epoch", e.map(|e| e.origin));
        o.maybe(
            "cubic.w_est",
            "segments",
            "W_est, the window of the Reno-friendly region",
            e.map(|e| e.reno),
        );
        o.maybe(
            "cubic.epoch_start",
            "s",
            "beginning of the epoch, pauses of the application added",
            e.map(|e| e.start.as_secs_f64()),
        );
        o.state(
            "cubic.region",
            "region of the window's growth (waiting: no ACK since the cut)",
            &["slow-start", "waiting", "reno-friendly", "concave", "convex"],
            self.region(),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;
    use crate::{CcName, CubicOptions, EcnOptions, KernelClock, Options, ReadingOptions, TimerOptions};

    fn cubic(options: Options) -> Cubic {
        Cubic::new(&resolved(Options { cc: Some(CcName::Cubic), ..options }))
    }
    fn linux() -> Options {
        Options {
            cubic: CubicOptions { cubic_reading: Some(CubicReading::Linux), ..CubicOptions::default() },
            ..Options::default()
        }
    }

    #[test]
    fn the_curve_has_the_values_of_s2n_quic() {
        // W_max 2304, beta 0.7, C 0.4: K = cbrt(2304 * 0.3 / 0.4) = cbrt(1728) = 12 s.
        let k = cubic_k(0.4, 2304.0, 0.7 * 2304.0);
        assert!((k - 12.0).abs() < 1e-9);
        // W(0) = 2304 - 0.4 * 1728 = 1612.8 = 0.7 * 2304; W(15) = 2304 + 0.4 * 27; W(10) = 2304 -
        // 0.4 * 8.
        for (t, w) in [(0.0, 1612.8), (15.0, 2314.8), (10.0, 2300.8)] {
            assert!((cubic_window(0.4, t, k, 2304.0) - w).abs() < 1e-9, "t = {t}");
        }
    }

    #[test]
    fn k_in_linux_units_is_its_table_of_roots_within_a_thousandth() {
        // K [1/1024 s] for cuts 10 -> 7, 50 -> 35, 100 -> 70, 1000 -> 700: 2003, 3426,
        // 4316, 9294, with cube_factor 2681735677 = 2^40 / 410: K^3 = factor * (W_max - cwnd), i.e.
        // C = 410/1024.
        for (w_max, cwnd, k) in
            [(10.0, 7.0, 2003), (50.0, 35.0, 3426), (100.0, 70.0, 4316), (1000.0, 700.0, 9294)]
        {
            let ours = (cubic_k(410.0 / 1024.0, w_max, cwnd) * 1024.0) as i64;
            assert!((ours - k).abs() * 1000 <= k, "{w_max} -> {cwnd}: {ours}, Linux {k}");
        }
        assert_eq!((1u64 << 40) / 410, 2_681_735_677);
    }

    #[test]
    fn the_friendly_window_has_the_value_of_rfc_8312_in_the_mean() {
        // W_max 100, t = 6 s, RTT 0.3 s: 70 + 3 * 0.3 / 1.7 * 6 / 0.3 = 80.588.
        let mut c = cubic(Options {
            readings: ReadingOptions { hystart: Some(crate::HyStartKind::None), ..ReadingOptions::default() },
            ..Options::default()
        });
        c.on_congestion(&congestion(100.0));
        assert_eq!(c.cwnd(), 70.0);
        let mut e = c.begin_epoch(&ack_at(1, 0, 300));
        // 20 rounds; the window is held at 70, so that each round delivers 70.
        for _ in 0..20 * 70 {
            c.rfc_divisor(&mut e, &ack_at(1, 0, 300), 1.0);
        }
        assert!((e.reno - 80.5882).abs() < 1e-3, "{}", e.reno);
    }

    #[test]
    fn fast_convergence_lowers_the_maximum() {
        // s2n-quic, quinn: 100000 then 80000: W_max = 80000 * (1 + 0.7) / 2 = 68000.
        let mut c = cubic(Options::default());
        c.on_congestion(&congestion(100_000.0));
        assert_eq!((c.w_max, c.cwnd()), (100_000.0, 70_000.0));
        c.on_congestion(&congestion(80_000.0));
        assert_eq!((c.w_max, c.cwnd()), (68_000.0, 56_000.0));
        let mut off = cubic(Options {
            cubic: CubicOptions { cubic_fast_convergence: Some(false), ..CubicOptions::default() },
            ..Options::default()
        });
        off.on_congestion(&congestion(100.0));
        off.on_congestion(&congestion(80.0));
        assert_eq!(off.w_max, 80.0);
    }

    /// RFC 9438 section 4.8: in the first congestion avoidance stage after a timeout K is 0, W_max
    /// and W_est are cwnd at its beginning. 100 segments: ssthresh 70, where the stage begins.
    /// Section 4.7 for the loss after it: 70 is not below W_max = 70, so W_max stays 70.
    #[test]
    fn the_first_stage_after_a_timeout_has_its_plateau_at_its_beginning() {
        let mut c = cubic(Options::default());
        c.on_timeout(&congestion(100.0));
        assert_eq!((c.cwnd(), c.ssthresh()), (1.0, 70.0));
        c.on_timeout(&Congestion { repeated: true, ..congestion(1.0) });
        c.w.set(70.0);
        let e = c.begin_epoch(&ack_at(1, 1000, 100));
        assert_eq!((e.origin, e.k, e.reno, e.cwnd_prior), (70.0, 0.0, 70.0, 100.0));
        c.on_congestion(&congestion(70.0));
        assert_eq!((c.w_max, c.cwnd()), (70.0, 49.0));
        // K = cbrt((70 - 49) / 0.4) again.
        let e = c.begin_epoch(&ack_at(1, 2000, 100));
        assert!((e.k - cubic_k(0.4, 70.0, 49.0)).abs() < 1e-9);
        assert_eq!(e.origin, 70.0);
    }

    /// RFC 9438 section 4.3: alpha is 1 once W_est has reached cwnd_prior, the window
    /// before the last reduction: 80, not the 80 * (1 + 0.7) / 2 = 68 of section 4.7.
    #[test]
    fn the_friendly_pace_ends_at_the_window_before_the_cut() {
        let mut c = cubic(Options::default());
        c.on_congestion(&congestion(100.0));
        c.on_congestion(&congestion(80.0));
        assert_eq!((c.w_max, c.cwnd()), (68.0, 56.0));
        let mut e = c.begin_epoch(&ack_at(1, 0, 100));
        // One segment delivered of 56: 3 * 0.3 / 1.7 / 56 below 80, 1 / 56 from there on.
        for (reno, alpha) in [(70.0, 0.9 / 1.7), (79.9, 0.9 / 1.7), (80.0, 1.0)] {
            e.reno = reno;
            c.rfc_divisor(&mut e, &ack_at(1, 0, 100), 1.0);
            assert!((e.reno - reno - alpha / 56.0).abs() < 1e-9, "{reno}");
        }
    }

    #[test]
    fn the_variants_cut_to_seven_tenths_717_1024ths_and_four_fifths() {
        let cut = |beta: Option<f64>, o: Options| {
            let mut c = cubic(Options { cubic: CubicOptions { cubic_beta: beta, ..o.cubic }, ..o });
            c.on_congestion(&congestion(1000.0));
            c.cwnd()
        };
        assert_eq!(cut(None, Options::default()), 700.0);
        assert_eq!(cut(Some(717.0 / 1024.0), linux()), 700.0, "1000 * 717/1024 = 700.2");
        assert_eq!(cut(Some(819.0 / 1024.0), linux()), 799.0);
        assert_eq!(cut(Some(0.8), Options::default()), 800.0);
    }

    #[test]
    fn a_mark_costs_less_with_abe() {
        // ns-3's ABE test: cwnd 1000: loss 700, ECN 850.
        for (abe, to) in [(true, 850.0), (false, 700.0)] {
            let mut c = cubic(Options {
                ecn: EcnOptions { abe: Some(abe), ..EcnOptions::default() },
                ..Options::default()
            });
            c.on_congestion(&Congestion { signal: Signal::Ecn, ..congestion(1000.0) });
            assert_eq!(c.cwnd(), to);
        }
    }

    #[test]
    fn both_readings_return_to_the_maximum_after_k_seconds_and_then_probe() {
        for o in [Options::default(), linux()] {
            let o = Options {
                cubic: CubicOptions { cubic_friendliness: Some(false), ..o.cubic },
                readings: ReadingOptions { hystart: Some(crate::HyStartKind::None), ..o.readings },
                ..o
            };
            let mut p =
                Path::new(CcName::Cubic, resolved(Options { cc: Some(CcName::Cubic), ..o }), 100, 1e9);
            p.cc.set_cwnd(500.0);
            p.lose();
            assert_eq!(p.cc.cwnd(), 350.0);
            // K = cbrt(150 / 0.4) = 7.21 s = 72 rounds of 100 ms, less one round that is looked
            // ahead.
            let w = p.rounds(120);
            assert!((495.0..=500.0).contains(&w[70]), "{}", w[70]);
            assert!(w.windows(2).all(|p| p[1] >= p[0]), "never falls");
            // 12 s: 500 + 0.4 * (12.1 - 7.21)^3 = 546.8.
            assert!((535.0..552.0).contains(&w[119]), "{}", w[119]);
        }
    }

    #[test]
    fn small_windows_grow_like_reno_at_the_friendly_pace() {
        // W_max 10, RTT 40 ms: the curve needs 2 s to come back, the friendly pace 3 / 0.529 = 5.7
        // rounds; beyond 10 the standard takes one segment per round: 10 + 6.3. Linux keeps 8/15:
        // 7 + 6.4, and lags by its rule of 1/32 s.
        for (o, after_12) in [(Options::default(), 16.3), (linux(), 13.4)] {
            let config = resolved(Options { cc: Some(CcName::Cubic), ..o });
            let mut p = Path::new(CcName::Cubic, config, 40, 1e9);
            p.lose();
            assert_eq!(p.cc.cwnd(), 7.0);
            let w = p.rounds(12);
            assert!((w[11] - after_12).abs() <= 1.6, "{w:?}");
        }
    }

    /// With HZ = 250, friendliness off and the first loss at 100000 segments: 70000 remain.
    fn counting_jiffies(clock: KernelClock) -> Cubic {
        let mut c = cubic(Options {
            timers: TimerOptions { kernel_clock: Some(clock), ..linux().timers },
            cubic: CubicOptions { cubic_friendliness: Some(false), ..linux().cubic },
            readings: ReadingOptions { hystart: Some(crate::HyStartKind::None), ..linux().readings },
            ..linux()
        });
        c.on_congestion(&congestion(100_000.0));
        assert_eq!(c.cwnd(), 70_000.0);
        c
    }
    fn at_us(now: u64) -> AckSample {
        AckSample { now: Instant::from_micros(now), ..ack(1) }
    }

    /// bictcp_update: t = tcp_jiffies32 - epoch_start + usecs_to_jiffies(delay_min), in 1/1024 s
    /// cut. An epoch from 1.0039 s on, seen at 1.252 s with a delay of 9.001 ms:
    ///
    /// | HZ | jiffies | t / 1024 s |
    /// |---|---|---|
    /// | 250 | 313 - 250 + 3 = 66 | 66 * 1024 / 250 = 270.3 |
    /// | 1000 | 1252 - 1003 + 10 = 259 | 265.2 |
    /// | 100 | 125 - 100 + 1 = 26 | 266.2 |
    ///
    /// K = cbrt(30000 / 0.4) = 42.1716 s = 43183 / 1024 s; 0.4 * ((43183 - 270) / 1024)^3 =
    /// 29439.3, so the target is 100000 - 29439 = 70561 and cnt = 70000 / 561 = 124.8. With 265 it
    /// is 100000 - 29449 and 70000 / 551 = 127.0; with 266 100000 - 29447 and 70000 / 553 = 126.6.
    /// A jiffy less in either term gives HZ 250 65 jiffies, 266 and 126.
    #[test]
    fn the_curve_counts_jiffies_of_the_epoch_and_of_the_delay() {
        for (clock, jiffies, per) in [
            (KernelClock::Hz250, 250 * 4, 124.0),
            (KernelClock::Hz1000, 1003, 127.0),
            (KernelClock::Hz100, 1000, 126.0),
        ] {
            let mut c = counting_jiffies(clock);
            c.min_rtt = Some(Duration::from_micros(9_001));
            let mut e = c.begin_epoch(&at_us(1_003_900));
            assert_eq!(e.start, Instant::from_millis(jiffies), "{clock:?}");
            c.linux_divisor(&mut e, &at_us(1_252_000), 1.0);
            assert_eq!(e.per, per, "{clock:?}");
        }
    }

    /// bictcp_update returns early while the window is the same and at most HZ / 32 jiffies have
    /// passed: 7 of 4 ms, 31 of 1 ms. In the same jiffy nothing is computed even for another
    /// window.
    #[test]
    fn the_curve_is_computed_again_after_a_32nd_of_hz() {
        for (clock, still, again) in
            [(KernelClock::Hz250, 2_031_999, 2_032_000), (KernelClock::Hz1000, 2_034_999, 2_035_000)]
        {
            let mut c = counting_jiffies(clock);
            let mut e = c.begin_epoch(&at_us(1_000_000));
            // Jiffy 500 of 4 ms, 2003 of 1 ms.
            let first = at_us(2_003_900);
            c.linux_divisor(&mut e, &first, 1.0);
            c.linux_divisor(&mut e, &at_us(still), 1.0);
            assert_eq!(e.computed.unwrap().0, first.now, "{clock:?}");
            c.linux_divisor(&mut e, &at_us(again), 1.0);
            assert_eq!(e.computed.unwrap().0, Instant::from_micros(again), "{clock:?}");
            c.w.set(70_001.0);
            c.linux_divisor(&mut e, &at_us(again + 900), 1.0);
            assert_eq!(e.computed.unwrap().1, 70_000.0, "{clock:?}: the same jiffy");
        }
    }

    /// bictcp_acked discards a delay while tcp_jiffies32 - epoch_start < HZ: an epoch from 1.0039 s
    /// on began in jiffy 250, so its first second is over at 2.000 s, 3.9 ms early.
    #[test]
    fn delays_count_again_a_second_of_jiffies_after_the_epochs_begin() {
        let mut c = counting_jiffies(KernelClock::Hz250);
        c.epoch = Some(c.begin_epoch(&at_us(1_003_900)));
        let rtt = |ms| Some(Duration::from_millis(ms));
        c.on_ack(&AckSample { rtt: rtt(20), ..at_us(1_999_999) });
        assert_eq!(c.min_rtt, None);
        c.on_ack(&AckSample { rtt: rtt(30), ..at_us(2_000_000) });
        assert_eq!(c.min_rtt, rtt(30));
    }

    /// cubictcp_cwnd_event: epoch_start += tcp_jiffies32 - lsndtime, not beyond now. Sent last at
    /// 2.0039 s, jiffy 500, and again at 3.0041 s, jiffy 751: 251 jiffies, 1.004 s.
    #[test]
    fn idle_time_moves_the_epoch_by_whole_jiffies() {
        let mut c = counting_jiffies(KernelClock::Hz250);
        c.epoch = Some(c.begin_epoch(&at_us(1_003_900)));
        let start = |c: &mut Cubic, idle| {
            let now = Instant::from_micros(3_004_100);
            c.on_transmit_start(&TransmitStart { now, idle, app_limited: true });
        };
        start(&mut c, Duration::from_micros(1_000_200));
        assert_eq!(c.epoch.unwrap().start, Instant::from_millis(2_004));
        start(&mut c, Duration::from_secs(3));
        assert_eq!(c.epoch.unwrap().start, Instant::from_millis(3_004));
    }

    #[test]
    fn time_stops_while_the_application_limits() {
        let mut c = cubic(Options {
            cubic: CubicOptions { cubic_friendliness: Some(false), ..CubicOptions::default() },
            ..Options::default()
        });
        c.on_congestion(&congestion(100.0));
        c.on_ack(&ack_at(1, 1000, 10));
        c.on_ack(&AckSample { cwnd_limited: false, ..ack_at(1, 1010, 10) });
        c.on_ack(&ack_at(1, 9010, 10));
        let e = c.epoch.unwrap();
        assert_eq!(e.start, Instant::from_millis(9000), "8 s are not counted");
    }
}
