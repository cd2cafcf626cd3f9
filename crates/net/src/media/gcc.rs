//! GCC: the rate is the smaller of one by the gradient of the delay and one by losses
//! (draft-ietf-rmcat-gcc-02).
//!
//! Sections 5.2 to 5.6 and 6 of the draft were compared. Where the draft alone would not work, the
//! behaviour of the programs WebRTC and aiortc is used: the draft's threshold of 6 to 600 ms
//! applies to the gradient times the number of groups, up to 60; the threshold follows for 100 ms
//! at most from one group to the next. A sample beyond three deviations is cut for the gradient,
//! too, not for the variance alone. The variance of the rate at over-use is relative to its mean
//! and has bounds, and the mean starts anew below three deviations, too. A cut never raises the
//! rate, and one after over-use ends in Hold.
//!
//! Chosen here: chi is 0.01, K is 60 groups, the received rate is that of 0.5 s; the control by
//! losses uses the packets of the last second at every report, and cuts once in a round trip and
//! 300 ms. It ignores marks of ECN.

use lasthop_engine::math;
use lasthop_engine::observe::Observer;
use lasthop_units::{Duration, Instant};

use super::control::{Feedback, Outcome, RateControl, RateSetup};
use super::samples::{ReceivedRate, Window};
use crate::registry::Entry;

pub(super) const ENTRY: Entry = Entry {
    name: "gcc",
    summary: "rate by the gradient of the delay, under one by losses",
    source: "draft-ietf-rmcat-gcc-02",
    parameters: &[],
};

/// Packets sent within this time are a group \[ms\].
const BURST: f64 = 5.0;
/// Variance of the state noise.
const Q: f64 = 1e-3;
/// Error covariance at the start.
const E0: f64 = 0.1;
/// Coefficient of the filter of the measured noise's variance.
const CHI: f64 = 0.01;
/// Groups whose spacing gives the highest rate of groups.
const GROUPS: usize = 60;
/// A sample further off than this many deviations counts as one so far off.
const OUTLIER: f64 = 3.0;
/// The threshold at the start and its bounds \[ms\].
const THRESHOLD: f64 = 12.5;
const THRESHOLDS: (f64, f64) = (6.0, 600.0);
/// The threshold does not follow a gradient further off than this \[ms\].
const FAR: f64 = 15.0;
/// How fast it follows, up and down \[1/ms\].
const K_U: f64 = 0.01;
const K_D: f64 = 0.000_18;
/// The gradient must be above the threshold for this long \[ms\].
const OVERUSE: f64 = 10.0;
/// Over which the received rate is measured.
const RATE_WINDOW: Duration = Duration::from_millis(500);
/// Cut to this share of the received rate.
const BETA: f64 = 0.85;
/// Multiplicative increase in a second.
const ETA: f64 = 1.08;
/// Least additive increase of an update \[bit/s\].
const LEAST_STEP: f64 = 1000.0;
/// The rate is at most this multiple of the received one.
const HEADROOM: f64 = 1.5;
/// Smoothing of the rate at which over-use has come, and bounds of its relative variance
/// \[kbit/s\].
const SMOOTHING: f64 = 0.05;
const VARIANCES: (f64, f64) = (0.4, 2.5);
/// Losses of this time are used.
const LOSS_WINDOW: Duration = Duration::from_secs(1);
/// Between two cuts for losses, beside a round trip.
const LOSS_PAUSE: Duration = Duration::from_millis(300);
/// Shares of lost packets below which the rate grows, and above which it is cut.
const FEW: f64 = 0.02;
const MANY: f64 = 0.1;
/// Growth without losses.
const GROWTH: f64 = 1.05;

/// Packets that were sent together \[ms, by the clocks of sender and receiver\].
#[derive(Clone, Copy, Debug)]
struct Group {
    first_sent: f64,
    last_sent: f64,
    arrived: f64,
}

/// The detector's state of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Usage {
    Normal,
    Over,
    Under,
}

/// What the rate does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Hold,
    Increase,
    Decrease,
}

impl State {
    /// The table of section 5.5.
    const fn after(self, usage: Usage) -> State {
        match (usage, self) {
            (Usage::Over, _) => State::Decrease,
            (Usage::Normal, State::Hold) => State::Increase,
            (Usage::Normal, State::Decrease) => State::Hold,
            (Usage::Normal, State::Increase) => State::Increase,
            (Usage::Under, _) => State::Hold,
        }
    }
}

/// Section 5.3: the gradient of the delay, by a Kalman filter.
#[derive(Clone, Debug)]
struct Gradient {
    m: f64,
    e: f64,
    variance: f64,
    groups: u64,
    spacings: Vec<f64>,
}

impl Gradient {
    fn take(&mut self, d: f64, spacing: f64) {
        self.groups += 1;
        if self.spacings.len() == GROUPS {
            self.spacings.remove(0);
        }
        self.spacings.push(spacing.max(1.0));
        let smallest = self.spacings.iter().copied().fold(f64::INFINITY, f64::min);
        // 30 / (1000 f_max), with f_max the inverse of the smallest spacing in ms.
        let alpha = math::pow(1.0 - CHI, 30.0 * smallest / 1000.0);
        let far = OUTLIER * math::sqrt(self.variance);
        let z = (d - self.m).clamp(-far, far);
        self.variance = (alpha * self.variance + (1.0 - alpha) * z * z).max(1.0);
        let k = (self.e + Q) / (self.variance + self.e + Q);
        self.m += z * k;
        self.e = (1.0 - k) * (self.e + Q);
    }
    /// The value compared with the threshold.
    fn scaled(&self) -> f64 {
        self.m * self.groups.min(GROUPS as u64) as f64
    }
}

/// Section 5.4: over-use, under-use or neither.
#[derive(Clone, Debug)]
struct Detector {
    threshold: f64,
    /// How long the gradient has been above it \[ms\]; `None`: it is not.
    over: Option<f64>,
    last: f64,
}

impl Detector {
    /// The scaled gradient after a group that came `elapsed` ms after the one before.
    fn take(&mut self, gradient: f64, elapsed: f64) -> Usage {
        let usage = if gradient > self.threshold {
            // Section 5.4: detected for this long, so from the first detection on.
            let over = self.over.map_or(0.0, |over| over + elapsed);
            self.over = Some(over);
            let lasts = over >= OVERUSE && gradient >= self.last;
            if lasts { Usage::Over } else { Usage::Normal }
        } else {
            self.over = None;
            if gradient < -self.threshold { Usage::Under } else { Usage::Normal }
        };
        self.last = gradient;
        let off = gradient.abs() - self.threshold;
        if off <= FAR {
            let k = if off < 0.0 { K_D } else { K_U };
            let (least, most) = THRESHOLDS;
            self.threshold = (self.threshold + elapsed.min(100.0) * k * off).clamp(least, most);
        }
        usage
    }
}

/// The rate at which over-use has come: where the capacity is \[kbit/s\].
#[derive(Clone, Copy, Debug, Default)]
struct Capacity {
    mean: Option<f64>,
    variance: f64,
}

impl Capacity {
    fn take(&mut self, kbps: f64) {
        let mean = self.mean.map_or(kbps, |mean| mean + SMOOTHING * (kbps - mean));
        let off = (mean - kbps) * (mean - kbps) / mean.max(1.0);
        let (least, most) = VARIANCES;
        self.variance = (self.variance + SMOOTHING * (off - self.variance)).clamp(least, most);
        self.mean = Some(mean);
    }
    /// Three deviations below and above it.
    fn around(&self) -> Option<(f64, f64)> {
        let mean = self.mean?;
        let far = 3.0 * math::sqrt(self.variance * mean);
        Some((mean - far, mean + far))
    }
}

/// GCC at a sender.
#[derive(Clone, Debug)]
pub(super) struct Gcc {
    setup: RateSetup,
    group: Option<Group>,
    before: Option<Group>,
    gradient: Gradient,
    detector: Detector,
    usage: Usage,
    state: State,
    received: ReceivedRate,
    capacity: Capacity,
    /// By the gradient \[bit/s\].
    delay_rate: f64,
    /// By losses \[bit/s\].
    loss_rate: f64,
    /// Lost or not.
    losses: Window<bool>,
    loss_share: f64,
    last_cut: Option<Instant>,
    last_update: Option<Instant>,
    rtt: Duration,
}

impl Gcc {
    pub fn new(setup: &RateSetup) -> Gcc {
        Gcc {
            setup: *setup,
            group: None,
            before: None,
            gradient: Gradient { m: 0.0, e: E0, variance: 1.0, groups: 0, spacings: Vec::new() },
            detector: Detector { threshold: THRESHOLD, over: None, last: 0.0 },
            usage: Usage::Normal,
            state: State::Increase,
            received: ReceivedRate::over(RATE_WINDOW),
            capacity: Capacity::default(),
            delay_rate: setup.start,
            loss_rate: setup.start,
            losses: Window::new(LOSS_WINDOW),
            loss_share: 0.0,
            last_cut: None,
            last_update: None,
            rtt: Duration::ZERO,
        }
    }

    /// Processes a packet that has arrived. If it begins a group, the one before is complete, and
    /// the detector may change its state. Over-use within a report is not undone by later packets
    /// of the report.
    fn take(&mut self, packet: &Outcome, at: Instant) {
        self.received.arrived(at, packet.size);
        let (sent, arrived) = (packet.sent.0 as f64 / 1e6, at.0 as f64 / 1e6);
        let Some(group) = &mut self.group else {
            self.group = Some(Group { first_sent: sent, last_sent: sent, arrived });
            return;
        };
        if sent < group.first_sent {
            return;
        }
        let (since_arrival, since_sent) = (arrived - group.arrived, sent - group.last_sent);
        // Section 5.2: packets sent in one burst, and packets that a pause of the path has put
        // together.
        if sent - group.first_sent <= BURST || (since_arrival < BURST && since_arrival < since_sent) {
            group.last_sent = sent;
            group.arrived = group.arrived.max(arrived);
            return;
        }
        let done = *group;
        *group = Group { first_sent: sent, last_sent: sent, arrived };
        if let Some(before) = self.before.replace(done) {
            let spacing = done.last_sent - before.last_sent;
            let elapsed = done.arrived - before.arrived;
            self.gradient.take(elapsed - spacing, spacing);
            let usage = self.detector.take(self.gradient.scaled(), elapsed.max(0.0));
            if self.usage != Usage::Over {
                self.usage = usage;
            }
        }
    }

    /// Section 5.5.
    fn update_delay_rate(&mut self, now: Instant) {
        let elapsed = self.last_update.map_or(Duration::ZERO, |last| now.since(last)).as_secs_f64();
        self.state = self.state.after(self.usage);
        let Some(received) = self.received.bps() else { return };
        match self.state {
            State::Hold => {}
            State::Increase => self.increase(received, elapsed),
            State::Decrease => {
                if self.capacity.around().is_some_and(|(least, _)| received / 1e3 < least) {
                    self.capacity = Capacity::default();
                }
                self.capacity.take(received / 1e3);
                self.delay_rate = self.delay_rate.min(BETA * received);
                self.state = State::Hold;
            }
        }
        self.delay_rate = self.delay_rate.clamp(self.setup.min, self.setup.max);
    }

    fn increase(&mut self, received: f64, elapsed: f64) {
        let around = self.capacity.around();
        if around.is_some_and(|(_, most)| received / 1e3 > most) {
            self.capacity = Capacity::default();
        }
        let near = self.capacity.around().is_some_and(|(least, _)| received / 1e3 >= least);
        let wanted = if near {
            let response = 0.1 + self.rtt.as_secs_f64();
            let share = 0.5 * (elapsed / response).min(1.0);
            self.delay_rate + (share * self.packet_bits()).max(LEAST_STEP)
        } else {
            self.delay_rate * math::pow(ETA, elapsed.min(1.0))
        };
        // No further than what arrives allows; never less than it is already for that alone.
        self.delay_rate = wanted.min((HEADROOM * received).max(self.delay_rate));
    }

    /// The mean packet of a frame at the current rate \[bit\].
    fn packet_bits(&self) -> f64 {
        let frame = self.delay_rate / 30.0;
        let packets = math::ceil(frame / (1200.0 * 8.0)).max(1.0);
        frame / packets
    }

    /// Section 6.
    fn update_loss_rate(&mut self, now: Instant) {
        self.losses.settle(now);
        let all = self.losses.len();
        if all == 0 {
            return;
        }
        self.loss_share = self.losses.iter().filter(|lost| *lost).count() as f64 / all as f64;
        if self.loss_share > MANY {
            let pause = LOSS_PAUSE + self.rtt;
            if self.last_cut.is_none_or(|last| now.since(last) >= pause) {
                self.last_cut = Some(now);
                self.loss_rate *= 1.0 - 0.5 * self.loss_share;
            }
        } else if self.loss_share < FEW {
            self.loss_rate *= GROWTH;
        }
        self.loss_rate = self.loss_rate.clamp(self.setup.min, self.setup.max);
    }
}

impl RateControl for Gcc {
    fn on_limits(&mut self, min: f64, max: f64) {
        (self.setup.min, self.setup.max) = (min, max);
    }
    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        let now = feedback.now;
        self.rtt = feedback.rtt.unwrap_or(self.rtt);
        self.usage = Usage::Normal;
        for packet in feedback.packets {
            if !packet.late {
                self.losses.push(now, packet.arrival.is_none());
            }
            if let Some(at) = packet.arrival {
                self.take(packet, at);
            }
        }
        self.update_delay_rate(now);
        self.update_loss_rate(now);
        self.last_update = Some(now);
    }
    fn target(&self, _: u64) -> f64 {
        self.delay_rate.min(self.loss_rate)
    }
    fn observe(&self, o: &mut Observer<'_>) {
        let state = match self.state {
            State::Hold => "hold",
            State::Increase => "increase",
            State::Decrease => "decrease",
        };
        let usage = match self.usage {
            Usage::Normal => "normal",
            Usage::Over => "over-use",
            Usage::Under => "under-use",
        };
        let states = ["hold", "increase", "decrease"];
        o.state("gcc.state", "what the rate by the gradient does next", &states, state);
        let usages = ["normal", "over-use", "under-use"];
        o.state("gcc.signal", "state of the detector after the last report", &usages, usage);
        o.number("gcc.m", "ms", "gradient of the delay from group to group", self.gradient.m);
        o.number(
            "gcc.threshold",
            "ms",
            "for the gradient times the groups, 60 at most",
            self.detector.threshold,
        );
        o.number("gcc.delay_rate", "bit/s", "rate by the gradient", self.delay_rate);
        o.number("gcc.loss_rate", "bit/s", "rate by losses", self.loss_rate);
        o.number("gcc.loss", "1", "share of lost packets in the last second", self.loss_share);
        o.maybe("gcc.received_rate", "bit/s", "rate at which packets arrive", self.received.bps());
    }
}

#[cfg(test)]
mod tests {
    use super::super::control::testing::{Path, setup};
    use super::*;

    fn gcc() -> Gcc {
        Gcc::new(&setup())
    }

    /// Each packet, sent 20 ms after the one before, waits 1 ms longer than it: the gradient is
    /// 1 ms a group. Without state noise and with a measured variance of 1 the filter is the mean:
    /// it is within a tenth after a few hundred groups.
    #[test]
    fn the_filter_finds_a_constant_gradient() {
        let mut gradient = gcc().gradient;
        for _ in 0..300 {
            gradient.take(1.0, 20.0);
        }
        assert!((gradient.m - 1.0).abs() < 0.1, "{}", gradient.m);
        assert_eq!(gradient.variance, 1.0);
    }

    /// A gradient of 20 ms is above the threshold of 12.5 ms at once, and for 10 ms after two more
    /// groups of 5 ms, not before; a falling one is no over-use; one of -20 is under-use. After
    /// that the time begins anew: a single group that came after 30 ms is none.
    #[test]
    fn over_use_lasts_for_10_ms_and_does_not_fall() {
        let mut d = gcc().detector;
        assert_eq!(d.take(20.0, 5.0), Usage::Normal);
        assert_eq!(d.take(20.0, 5.0), Usage::Normal);
        assert_eq!(d.take(20.0, 5.0), Usage::Over);
        assert_eq!(d.take(19.9, 5.0), Usage::Normal);
        assert_eq!(d.take(20.0, 5.0), Usage::Over);
        assert_eq!(d.take(-20.0, 5.0), Usage::Under);
        assert_eq!(d.take(0.0, 5.0), Usage::Normal);
        assert_eq!(d.take(20.0, 30.0), Usage::Normal);
    }

    /// Up: 12.5 + 10 * 0.01 * (20 - 12.5) = 13.25. Down: 13.25 - 10 * 0.00018 * 13.25 = 13.22615. A
    /// gradient more than 15 ms above it leaves it alone, and it stays within 6 and 600.
    #[test]
    fn the_threshold_follows_the_gradient_slowly_down_and_fast_up() {
        let mut d = gcc().detector;
        d.take(20.0, 10.0);
        assert!((d.threshold - 13.25).abs() < 1e-9);
        d.take(0.0, 10.0);
        assert!((d.threshold - 13.226_15).abs() < 1e-9);
        d.take(29.0, 10.0);
        assert!((d.threshold - 13.226_15).abs() < 1e-9);
        (0..100_000).for_each(|_| {
            d.take(0.0, 100.0);
        });
        assert_eq!(d.threshold, 6.0);
    }

    /// The table of states, row by row.
    #[test]
    fn states_follow_the_table() {
        use State::{Decrease, Hold, Increase};
        for (usage, hold, increase, decrease) in [
            (Usage::Over, Decrease, Decrease, Decrease),
            (Usage::Normal, Increase, Increase, Hold),
            (Usage::Under, Hold, Hold, Hold),
        ] {
            assert_eq!([Hold, Increase, Decrease].map(|s| s.after(usage)), [hold, increase, decrease]);
        }
    }

    /// Without congestion the rate grows by 8 % a second, as long as it is not above 1.5 times
    /// what arrives. Then packets wait 2 ms longer each: over-use, and 0.85 of what arrives.
    #[test]
    fn the_rate_grows_by_8_percent_a_second_and_falls_to_085_of_what_arrives() {
        let mut g = gcc();
        let mut path = Path::new(Duration::from_millis(50));
        let mut rates = Vec::new();
        path.run(
            6000,
            20,
            1000,
            |_, _| 0.0,
            |f| {
                g.on_feedback(f);
                rates.push((f.now, g.delay_rate));
            },
        );
        let at = |s: u64| rates.iter().find(|(t, _)| *t >= Instant::from_secs(s)).unwrap();
        let ((from, low), (to, high)) = (at(2), at(4));
        let seconds = to.since(*from).as_secs_f64();
        assert!((high / low / math::pow(1.08, seconds) - 1.0).abs() < 0.002, "{low} {high}");
        let mut cut = None;
        path.run(
            3000,
            20,
            1000,
            |_, ms| ms / 10.0,
            |f| {
                let before = g.delay_rate;
                g.on_feedback(f);
                if g.usage == Usage::Over && cut.is_none() {
                    cut = Some((before, g.delay_rate, g.received.bps().unwrap()));
                }
            },
        );
        let (before, after, received) = cut.unwrap();
        assert!(after == before.min(0.85 * received), "{before} {after} {received}");
    }

    /// Near the rate of the last over-use, 50 ms after the last update and with a round trip of
    /// 100 ms: alpha is 0.5 * 50 / 200 = 0.125. At 60 kbit/s a frame and its packet have 2000 bit,
    /// of which this is 250: the floor of 1000 holds. At 1.2 Mbit/s a frame has 40 000 bit in 5
    /// packets of 8000: also 1000. At 9.6 kbit/s more, 40 320 in 5 of 8064: 1008.
    #[test]
    fn the_additive_step_is_a_share_of_a_packet_and_1000_at_least() {
        for (rate, step) in [(60_000.0, 1000.0), (1_200_000.0, 1000.0), (1_209_600.0, 1008.0)] {
            let mut g = gcc();
            (g.delay_rate, g.rtt) = (rate, Duration::from_millis(100));
            g.capacity.take(rate / 1e3);
            g.increase(rate, 0.05);
            assert!((g.delay_rate - rate - step).abs() < 1e-6, "{}", g.delay_rate);
        }
    }

    /// The cut is one of the rate by losses, also where the rate by the gradient is lower.
    #[test]
    fn a_cut_for_losses_is_independent_of_the_gradient() {
        let mut g = gcc();
        (g.delay_rate, g.loss_rate) = (0.5e6, 1e6);
        (0..100u64).for_each(|n| g.losses.push(Instant(n), n % 5 == 0));
        g.update_loss_rate(Instant(200));
        assert!((g.loss_rate - 0.9e6).abs() < 1e-6, "{}", g.loss_rate);
    }

    /// One in five lost: each cut is to 1 - 0.5 * 0.2 of the rate. One in twenty: the rate stays.
    #[test]
    fn losses_above_a_tenth_cut_by_half_of_their_share() {
        let mut g = gcc();
        (g.delay_rate, g.loss_rate) = (1e6, 1e6);
        for n in 0..100u64 {
            g.losses.push(Instant(n), n % 5 == 0);
        }
        g.update_loss_rate(Instant(200));
        assert!((g.loss_rate - 0.9e6).abs() < 1e-6, "{}", g.loss_rate);
        g.update_loss_rate(Instant(300));
        assert!((g.loss_rate - 0.9e6).abs() < 1e-6, "once in a round trip");
        let mut g = gcc();
        g.loss_rate = 1e6;
        for n in 0..100u64 {
            g.losses.push(Instant(n), n % 20 == 0);
        }
        g.update_loss_rate(Instant(200));
        assert_eq!(g.loss_rate, 1e6);
    }
}
