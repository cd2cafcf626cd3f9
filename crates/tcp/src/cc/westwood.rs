//! TCP Westwood and Westwood+: the window after a loss is the estimated rate times the smallest
//! round trip.

use lasthop_units::{Duration, Instant};

use super::window::{Window, has_window};
use super::{AckSample, Congestion, CongestionControl, Established, Needs, Observer, Parameter, Row};
use crate::config::{Config, WestwoodReading, ZeroInterval};
use crate::jiffies::Timers;

pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "westwood_reading",
        default: "paper",
        unit: "",
        source: "linux in the profile linux-6, ns3 in ns3-3.28",
    },
    Parameter {
        name: "zero_interval",
        default: "zero",
        unit: "",
        source: "D2D study section 1.4: its implementation takes 0; INET skips the sample",
    },
    Parameter { name: "filter", default: "19/21, 1/21", unit: "", source: "Mascolo 2001; INET" },
    Parameter {
        name: "a",
        default: "1 to 4, steps of 0.25",
        unit: "",
        source: "D2D study section 1.4, INET",
    },
];
pub(super) const PLUS_PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "westwood_reading",
        default: "paper",
        unit: "",
        source: "linux: 7/8 twice, rounds of at least 50 ms",
    },
    Parameter {
        name: "filter",
        default: "9/10, 1/10",
        unit: "",
        source: "Grieco and Mascolo 2004; ns-3 0.9",
    },
];
pub(super) const DIFFERS: &str = "Linux' module `westwood` is a Westwood+: one sample per round trip of at least 50 ms, \
     filtered twice by 7/8, and the estimate is put in place when recovery ends (until then it halves); so with \
     `westwood_reading = linux` both names are that. ns-3 (`westwood_reading = ns3`, in ns3-3.28): a sample is what one ACK \
     acknowledges over a whole round trip, Tustin filter 0.9, so that the threshold after a loss is two segments whatever \
     the rate; for `westwood-plus` it changes nothing. INET has Westwood only, and skips samples of zero interval.";

pub(super) const ROW: Row = Row {
    summary: "cuts to the estimated rate times the smallest round trip",
    source: "S. Mascolo and others, TCP Westwood, MobiCom 2001; INET 2.x; Linux 6.1 tcp_westwood.c",
    parameters: PARAMETERS,
    differs: DIFFERS,
    needs: Needs::NOTHING,
};

pub(super) const PLUS_ROW: Row = Row {
    summary: "Westwood with one sample per round trip",
    source: "L. A. Grieco, S. Mascolo, ACM SIGCOMM CCR 34(2), 2004; Linux 6.1 tcp_westwood.c",
    parameters: PLUS_PARAMETERS,
    differs: DIFFERS,
    needs: Needs::NOTHING,
};

/// Westwood's window and estimate. Octets per second.
#[derive(Clone, Debug)]
pub struct Westwood {
    w: Window,
    kind: Kind,
    min_rtt: Option<Duration>,
    mss: f64,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    PerAck(PerAck),
    PerRound(PerRound),
    Trip(PerTrip),
}

/// One sample per ACK (Westwood of 2001).
#[derive(Clone, Copy, Debug)]
struct PerAck {
    zero: ZeroInterval,
    last_ack: Option<Instant>,
    last_sample: f64,
    estimate: f64,
    /// Octets of ACKs at the same instant that wait for an interval.
    pending: f64,
    /// The divisor a of agile probing.
    a: f64,
}

/// One sample per round trip (Westwood+).
#[derive(Clone, Copy, Debug)]
struct PerRound {
    /// Linux' reading, and its jiffies.
    linux: Option<Timers>,
    start: Option<Instant>,
    octets: f64,
    rtt: Duration,
    /// The first stage of the filter.
    stage: f64,
    estimate: f64,
    renew_min_rtt: bool,
}

/// One sample per ACK, over the round trip that the ACK measures (ns-3 3.28's
/// TcpWestwood::EstimateBW).
#[derive(Clone, Copy, Debug, Default)]
struct PerTrip {
    /// Octets of ACKs that measured no round trip.
    pending: f64,
    last_sample: f64,
    estimate: f64,
}

/// Linux: a round is at least this long.
const ROUND_MIN: Duration = Duration::from_millis(50);
/// Linux: the round trip before the first sample.
const INITIAL_RTT: Duration = Duration::from_secs(20);

impl Westwood {
    /// Westwood with one sample per ACK, or Linux' reading.
    pub fn new(config: &Config) -> Westwood {
        let zero = config.westwood.zero_interval;
        let per_ack = PerAck { zero, last_ack: None, last_sample: 0.0, estimate: 0.0, pending: 0.0, a: 1.0 };
        match config.westwood.reading {
            WestwoodReading::Linux => Westwood::plus(config),
            WestwoodReading::Ns3 => Westwood::of(config, Kind::Trip(PerTrip::default())),
            WestwoodReading::Paper => Westwood::of(config, Kind::PerAck(per_ack)),
        }
    }
    /// Westwood+: one sample per round trip.
    pub fn plus(config: &Config) -> Westwood {
        let linux = (config.westwood.reading == WestwoodReading::Linux).then(|| config.kernel_timers());
        let rtt = if linux.is_some() { INITIAL_RTT } else { Duration::ZERO };
        let plus = PerRound {
            linux,
            start: None,
            octets: 0.0,
            rtt,
            stage: 0.0,
            estimate: 0.0,
            renew_min_rtt: false,
        };
        Westwood::of(config, Kind::PerRound(plus))
    }
    fn of(config: &Config, kind: Kind) -> Westwood {
        Westwood { w: Window::new(config), kind, min_rtt: None, mss: 1.0 }
    }

    /// The estimated rate [octets/s].
    pub fn estimate(&self) -> f64 {
        match &self.kind {
            Kind::PerAck(k) => k.estimate,
            Kind::PerRound(k) => k.estimate,
            Kind::Trip(k) => k.estimate,
        }
    }

    /// Estimate times smallest round trip [segments].
    fn bdp(&self) -> f64 {
        self.estimate() * self.min_rtt.map_or(0.0, Duration::as_secs_f64) / self.mss
    }

    fn measure(&mut self, ack: &AckSample) {
        self.mss = f64::from(ack.mss.max(1));
        let renewed = match &mut self.kind {
            Kind::PerAck(k) => {
                k.sample(ack.now, ack.delivered as f64);
                false
            }
            Kind::PerRound(k) => k.sample(ack),
            Kind::Trip(k) => {
                k.sample(ack.rtt, ack.delivered as f64);
                false
            }
        };
        let rtt = match &self.kind {
            Kind::PerRound(PerRound { linux: Some(clock), .. }) => ack.rtt.map(|rtt| clock.up(rtt)),
            _ => ack.rtt,
        };
        if let Some(rtt) = rtt {
            self.min_rtt = Some(self.min_rtt.filter(|_| !renewed).map_or(rtt, |m| m.min(rtt)));
        }
    }

    fn linux(&self) -> bool {
        matches!(self.kind, Kind::PerRound(PerRound { linux: Some(_), .. }))
    }
}

impl PerAck {
    fn sample(&mut self, now: Instant, octets: f64) {
        let Some(last) = self.last_ack else {
            self.last_ack = Some(now);
            return;
        };
        let interval = now.since(last).as_secs_f64();
        self.last_ack = Some(now);
        let sample = if interval > 0.0 {
            (octets + std::mem::take(&mut self.pending)) / interval
        } else {
            match self.zero {
                ZeroInterval::Zero => 0.0,
                ZeroInterval::Skip => return,
                ZeroInterval::Merge => {
                    self.pending += octets;
                    return;
                }
            }
        };
        // 19/21 of the old, 1/21 of the two latest samples' sum.
        self.estimate = 19.0 / 21.0 * self.estimate + (sample + self.last_sample) / 21.0;
        self.last_sample = sample;
    }

    /// Agile probing: losses in slow start divide by more, up to 4.
    fn note_loss(&mut self, slow_start: bool, step: f64) {
        self.a = if slow_start { (self.a + step).min(4.0) } else { 1.0 };
    }
}

impl PerTrip {
    fn sample(&mut self, rtt: Option<Duration>, octets: f64) {
        self.pending += octets;
        let Some(rtt) = rtt.filter(|r| !r.is_zero()) else { return };
        let sample = std::mem::take(&mut self.pending) / rtt.as_secs_f64();
        // Tustin's approximation with 0.9: the rest is the mean of two samples.
        self.estimate = 0.9 * self.estimate + 0.1 * (sample + self.last_sample) / 2.0;
        self.last_sample = sample;
    }
}

impl PerRound {
    /// True when the smallest round trip is to be measured afresh.
    fn sample(&mut self, ack: &AckSample) -> bool {
        // Linux: tcp_jiffies32, and round trips by usecs_to_jiffies.
        let now = self.linux.map_or(ack.now, |clock| clock.jiffy(ack.now));
        if let Some(rtt) = ack.rtt {
            self.rtt = self.linux.map_or(rtt, |clock| clock.up(rtt));
        }
        let start = *self.start.get_or_insert(now);
        let age = now.since(start);
        let least = if self.linux.is_some() { self.rtt.max(ROUND_MIN) } else { self.rtt };
        if !self.rtt.is_zero() && age > least {
            let rate = self.octets / age.as_secs_f64();
            if self.stage == 0.0 && self.estimate == 0.0 {
                (self.stage, self.estimate) = (rate, rate);
            } else if self.linux.is_some() {
                self.stage = (7.0 * self.stage + rate) / 8.0;
                self.estimate = (7.0 * self.estimate + self.stage) / 8.0;
            } else {
                self.estimate = 0.9 * self.estimate + 0.1 * rate;
            }
            self.octets = 0.0;
            self.start = Some(now);
        }
        self.octets += ack.delivered as f64;
        std::mem::take(&mut self.renew_min_rtt)
    }
}

impl CongestionControl for Westwood {
    has_window!();
    fn on_established(&mut self, e: &Established) {
        self.w.open(e);
        self.min_rtt = e.rtt;
        if let Kind::PerRound(PerRound { linux: Some(clock), start, .. }) = &mut self.kind {
            // tcp_westwood_init: the round begins here; the handshake's round trip does not count.
            *start = Some(clock.jiffy(e.now));
            self.min_rtt = None;
        }
    }
    fn on_ack(&mut self, ack: &AckSample) {
        self.measure(ack);
        if self.w.may_grow(ack) {
            self.w.reno(ack);
        }
    }
    fn on_congestion(&mut self, c: &Congestion) {
        let bdp = self.bdp();
        let slow_start = self.w.in_slow_start();
        let cwnd = self.w.cwnd;
        match &mut self.kind {
            Kind::PerRound(k) if k.linux.is_some() => self.w.cut(c.flight / 2.0),
            Kind::PerRound(_) | Kind::Trip(_) => {
                self.w.cut(bdp);
                self.w.set(self.w.ssthresh.min(cwnd));
            }
            Kind::PerAck(k) => {
                k.note_loss(slow_start, 0.25);
                let to = bdp / k.a;
                self.w.cut(to);
                // "without a floor": the threshold may be below two segments.
                self.w.ssthresh = to.floor().max(1.0);
                self.w.set(self.w.ssthresh.min(cwnd));
            }
        }
    }
    fn on_timeout(&mut self, c: &Congestion) {
        let bdp = self.bdp();
        let slow_start = self.w.in_slow_start();
        match &mut self.kind {
            Kind::PerRound(k) => {
                k.renew_min_rtt = k.linux.is_some();
                self.w.timeout(bdp, c.repeated && k.linux.is_none());
            }
            Kind::Trip(_) => self.w.timeout(bdp, c.repeated),
            Kind::PerAck(k) => {
                k.note_loss(slow_start, 1.0);
                let to = bdp / k.a;
                self.w.timeout(to, c.repeated);
            }
        }
    }
    fn on_recovered(&mut self, _now: Instant) {
        if self.linux() {
            // Linux: "CA_EVENT_COMPLETE_CWR".
            let to = self.bdp();
            self.w.cut(to);
        }
    }
    fn observe(&self, o: &mut Observer<'_>) {
        o.number("westwood.bandwidth", "bit/s", "the estimated rate", 8.0 * self.estimate());
        o.maybe("westwood.min_rtt", "s", "smallest round trip", self.min_rtt.map(Duration::as_secs_f64));
        o.number("westwood.bdp", "segments", "their product, to which a loss cuts the window", self.bdp());
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;
    use crate::{CcName, KernelClock, Options, TimerOptions, WestwoodOptions};

    fn westwood(o: Options) -> Westwood {
        Westwood::new(&resolved(Options { cc: Some(CcName::Westwood), ..o }))
    }
    fn per_ack(w: &Westwood) -> PerAck {
        match w.kind {
            Kind::PerAck(k) => k,
            Kind::PerRound(_) | Kind::Trip(_) => unreachable!("the paper's"),
        }
    }

    #[test]
    fn the_filter_takes_19_21sts_of_the_old_and_two_samples() {
        let mut w = westwood(Options::default());
        // One segment of 1000 octets each 10 ms: 100000 octets/s. 1/21 of one sample, then of two.
        for t in [0, 10, 20] {
            w.measure(&ack_at(1, t, 100));
        }
        let expected = 19.0 / 21.0 * (100_000.0 / 21.0) + 200_000.0 / 21.0;
        assert!((w.estimate() - expected).abs() < 1e-6);
        (3..400).for_each(|n| w.measure(&ack_at(1, n * 10, 100)));
        assert!((w.estimate() - 100_000.0).abs() < 1.0);
    }

    #[test]
    fn two_acks_at_once_are_zero_skipped_or_merged() {
        let estimate = |zero| {
            let mut w = westwood(Options {
                westwood: WestwoodOptions { zero_interval: Some(zero), ..WestwoodOptions::default() },
                ..Options::default()
            });
            for t in [0, 10, 10, 20] {
                w.measure(&ack_at(1, t, 100));
            }
            (w.estimate() * 21.0 / 1e5 * 1e6).round() / 1e6
        };
        let f = 19.0 / 21.0;
        let r = |x: f64| (x * 1e6).round() / 1e6;
        // In units of 100000 / 21: samples 1, (0), 1.
        assert_eq!(estimate(ZeroInterval::Zero), r((f + 1.0) * f + 1.0));
        assert_eq!(estimate(ZeroInterval::Skip), r(f + 2.0));
        assert_eq!(estimate(ZeroInterval::Merge), r(f + 3.0), "2000 octets in the last 10 ms");
    }

    #[test]
    fn the_cut_goes_to_rate_times_smallest_round_trip_and_agile_probing_divides() {
        let mut w = westwood(Options::default());
        (0..2000).for_each(|n| w.measure(&ack_at(1, n * 10, 100)));
        w.set_cwnd(40.0);
        w.w.ssthresh = 20.0;
        // 100000 octets/s * 0.1 s = 10 segments.
        w.on_congestion(&congestion(40.0));
        assert!((9.0..=10.0).contains(&w.cwnd()), "{}", w.cwnd());
        // In slow start a = 1.25: 8 segments.
        w.w.ssthresh = 100.0;
        w.on_congestion(&congestion(40.0));
        assert_eq!((per_ack(&w).a, w.ssthresh()), (1.25, 7.0));
    }

    #[test]
    fn ns3_divides_one_acks_segments_by_a_whole_round_trip_so_a_loss_leaves_two() {
        let mut w = westwood(Options {
            westwood: WestwoodOptions {
                westwood_reading: Some(WestwoodReading::Ns3),
                ..WestwoodOptions::default()
            },
            ..Options::default()
        });
        // Two segments each 10 ms at a round trip of 100 ms are 200000 octets/s; ns-3 counts 2000
        // in 100 ms.
        w.measure(&ack_at(2, 0, 100));
        assert!((w.estimate() - 0.1 * 20_000.0 / 2.0).abs() < 1e-9, "half of the first sample's tenth");
        (1..400).for_each(|n| w.measure(&ack_at(2, n * 10, 100)));
        assert!((w.estimate() - 20_000.0).abs() < 1.0);
        w.set_cwnd(40.0);
        w.on_congestion(&congestion(40.0));
        // 20000 * 0.1 / 1000 = 2, a last bit below it, and not below 2.
        assert_eq!((w.cwnd(), w.ssthresh()), (2.0, 2.0));
    }

    /// tcp_westwood.c with HZ = 250: delta = tcp_jiffies32 - rtt_win_sx must exceed max(rtt, HZ /
    /// 20 = 12). The round that begins at 3.9 ms, in jiffy 0, ends in jiffy 13, at 52 ms: 48.1 ms
    /// later by the clock of nanoseconds. Its 5000 octets are counted over 13 jiffies. A round trip
    /// of 20.001 ms is 6 jiffies (usecs_to_jiffies), so 5000 / 0.052 * 0.024 / 1000 = 2.3 segments
    /// remain.
    #[test]
    fn linux_counts_rounds_and_round_trips_in_jiffies() {
        let mut w = westwood(Options {
            westwood: WestwoodOptions {
                westwood_reading: Some(WestwoodReading::Linux),
                ..WestwoodOptions::default()
            },
            timers: TimerOptions { kernel_clock: Some(KernelClock::Hz250), ..TimerOptions::default() },
            ..Options::default()
        });
        w.on_established(&Established {
            now: Instant::from_micros(3_900),
            rtt: Some(Duration::from_micros(10)),
            initial_window: 10.0,
            nxt: 1,
            seed: 1,
            mss: MSS as u32,
        });
        let rtt = Some(Duration::from_micros(20_001));
        let at = |us| AckSample { now: Instant::from_micros(us), rtt, ..ack(1) };
        for us in [10_000, 20_000, 30_000, 40_000, 51_999] {
            w.measure(&at(us));
        }
        assert_eq!((w.estimate(), w.min_rtt), (0.0, Some(Duration::from_millis(24))));
        w.measure(&at(52_000));
        assert!((w.estimate() - 5000.0 / 0.052).abs() < 1e-6, "{}", w.estimate());
    }

    #[test]
    fn linux_samples_rounds_of_at_least_50_ms_and_sets_the_window_when_recovery_ends() {
        let mut w = westwood(Options {
            westwood: WestwoodOptions {
                westwood_reading: Some(WestwoodReading::Linux),
                ..WestwoodOptions::default()
            },
            ..Options::default()
        });
        // 20 ms round trips, one segment each 10 ms: the first sample comes after 60 ms.
        (0..6).for_each(|n| w.measure(&ack_at(1, n * 10, 20)));
        assert_eq!(w.estimate(), 0.0);
        w.measure(&ack_at(1, 60, 20));
        assert!((w.estimate() - 100_000.0).abs() < 1e-6, "6000 octets in 60 ms");
        w.on_congestion(&congestion(40.0));
        assert_eq!(w.cwnd(), 20.0, "half, until recovery ends");
        w.on_recovered(Instant::from_millis(70));
        assert_eq!(w.cwnd(), 2.0, "100000 * 0.02 / 1000");
    }
}
