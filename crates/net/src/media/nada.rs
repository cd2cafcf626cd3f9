//! NADA: a rate by an aggregate of delay, loss and marks (RFC 8698).
//!
//! The signal is that of RFC 8698 section 4.2, with the filter of RFC 8698 section 5.1.1 and the
//! ratios and loss intervals of RFC 8698 section 5.1.2; the rate is that of RFC 8698 section 4.3,
//! the shaping buffer that of RFC 8698 section 5.2.2; values are those of RFC 8698 table 2.
//!
//! Differences: a mark ends the ramp-up, too (in the RFC losses and delay do). The mean of loss
//! intervals is without the current one. The rate of pacing may exceed the largest rate (equation
//! 14 bounds it). `XMAX` is that of the authors' program (github.com/cisco/ns3-rmcat). The base
//! delay is the minimum since the start.

use lasthop_engine::math;
use lasthop_engine::observe::Observer;
use lasthop_units::{Duration, Ecn, Instant};

use super::control::{Feedback, Outcome, RateControl, RateSetup};
use super::samples::{ReceivedRate, Window};
use crate::registry::Entry;

pub(super) const ENTRY: Entry = Entry {
    name: "nada",
    summary: "rate by an aggregate of queueing delay, loss and marks",
    source: "RFC 8698",
    parameters: &[],
};

/// Weight of the flow's priority.
const PRIO: f64 = 1.0;
/// Reference congestion level \[ms\].
const XREF: f64 = 10.0;
/// Gain of the gradual update.
const KAPPA: f64 = 0.5;
/// Gain of the change of the signal.
const ETA: f64 = 2.0;
/// Upper bound of the round trip in the gradual update \[ms\].
const TAU: f64 = 500.0;
/// Interval of updates \[ms\].
const DELTA: f64 = 100.0;
/// The window of losses, rates and delays \[ms\].
const LOGWIN: u64 = 500;
/// Queueing delay that ends the ramp-up \[ms\].
const QEPS: f64 = 10.0;
/// Filtering delay \[ms\].
const DFILT: f64 = 120.0;
/// Largest increase of the ramp-up, as a share.
const GAMMA_MAX: f64 = 0.5;
/// Queueing delay that the ramp-up may cause \[ms\].
const QBOUND: f64 = 50.0;
/// Intervals between losses after which they are ignored.
const MULTILOSS: f64 = 7.0;
/// Queueing delay from which on it is warped \[ms\].
const QTH: f64 = 50.0;
/// Exponent of the warping.
const LAMBDA: f64 = 0.5;
/// Reference ratios of loss and of marks.
const PLRREF: f64 = 0.01;
const PMRREF: f64 = 0.01;
/// Penalties at these ratios \[ms\].
const DLOSS: f64 = 10.0;
const DMARK: f64 = 2.0;
/// Largest signal \[ms\].
const XMAX: f64 = 500.0;
/// Smoothing of the ratios.
const ALPHA: f64 = 0.1;
/// Share of the shaping buffer by which the encoder is slowed down, and the sender sped up.
const BETA_V: f64 = 0.1;
const BETA_S: f64 = 0.1;
/// The buffer changes either rate by no more than this share.
const SHAPED_MAX: f64 = 0.05;
/// Packets of which the delay is the minimum.
const MINIMUM_OF: usize = 15;
/// Loss intervals in the average, with the weights of RFC 5348 section 5.4.
const WEIGHTS: [f64; 8] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];

/// The record of a packet.
#[derive(Clone, Copy, Debug)]
struct Seen {
    lost: bool,
    marked: bool,
    /// One-way delay, of different clocks \[ms\].
    delay: Option<f64>,
}

/// Packets between losses, as RFC 5348 counts them: losses within one round trip are one.
#[derive(Clone, Debug, Default)]
struct LossIntervals {
    /// Packets since the last loss event; `None`: there was none.
    current: Option<f64>,
    /// The ones before, the newest first.
    past: Vec<f64>,
    /// Number of the first packet that is not of the last event.
    event_until: Instant,
}

impl LossIntervals {
    fn take(&mut self, packet: &Outcome, rtt: Duration) {
        if packet.arrival.is_some() || packet.sent < self.event_until {
            if let Some(current) = &mut self.current {
                *current += 1.0;
            }
            return;
        }
        if let Some(last) = self.current.replace(0.0) {
            self.past.insert(0, last);
            self.past.truncate(WEIGHTS.len());
        }
        self.event_until = packet.sent + rtt;
    }
    /// The weighted mean of the past intervals. The current one is not in it, unlike in RFC 5348:
    /// with it no interval would ever be seven times the mean.
    fn average(&self) -> Option<f64> {
        let weighted = self.past.iter().zip(WEIGHTS);
        let (sum, weight) = weighted.fold((0.0, 0.0), |(sum, all), (past, w)| (sum + w * past, all + w));
        (weight > 0.0).then(|| sum / weight)
    }
}

/// NADA at a sender.
#[derive(Clone, Debug)]
pub(super) struct Nada {
    setup: RateSetup,
    /// Reference rate \[bit/s\].
    r_ref: f64,
    x_curr: f64,
    /// Smallest one-way delay \[ms\].
    d_base: Option<f64>,
    d_queue: f64,
    p_loss: f64,
    p_mark: f64,
    received: ReceivedRate,
    log: Window<Seen>,
    losses: LossIntervals,
    rtt: Duration,
    last_update: Option<Instant>,
    ramp_up: bool,
    /// A deliberate mistake: the reference signal is the same for all rates.
    fixed_reference: bool,
}

impl Nada {
    pub fn new(setup: &RateSetup) -> Nada {
        let window = Duration::from_millis(LOGWIN);
        Nada {
            setup: *setup,
            r_ref: setup.start,
            x_curr: 0.0,
            d_base: None,
            d_queue: 0.0,
            p_loss: 0.0,
            p_mark: 0.0,
            received: ReceivedRate::over(window),
            log: Window::new(window),
            losses: LossIntervals::default(),
            rtt: Duration::ZERO,
            last_update: None,
            ramp_up: true,
            fixed_reference: false,
        }
    }
    /// One with the mistake [`RateMutant::FixedReferenceDelay`](super::RateMutant).
    pub fn with_fixed_reference(setup: &RateSetup) -> Nada {
        Nada { fixed_reference: true, ..Nada::new(setup) }
    }

    fn take(&mut self, now: Instant, packet: &Outcome) {
        let delay = packet.arrival.map(|at| (at.0 as f64 - packet.sent.0 as f64) / 1e6);
        if let (Some(at), Some(delay)) = (packet.arrival, delay) {
            self.received.arrived(at, packet.size);
            self.d_base = Some(self.d_base.map_or(delay, |base| base.min(delay)));
        }
        let lost = packet.arrival.is_none();
        self.log.push(now, Seen { lost, marked: packet.ecn == Ecn::Ce, delay });
        if !packet.late {
            self.losses.take(packet, self.rtt);
        }
    }

    /// Section 4.2: the signal of delay, losses and marks.
    fn update_signal(&mut self) {
        let base = self.d_base.unwrap_or(0.0);
        let newest = self.log.iter().rev().filter_map(|p| p.delay).take(MINIMUM_OF);
        if let Some(delay) = newest.reduce(f64::min) {
            self.d_queue = delay - base;
        }
        let all = self.log.len().max(1) as f64;
        let share = |of: fn(&Seen) -> bool| self.log.iter().filter(of).count() as f64 / all;
        let (lost, marked) = (share(|p| p.lost), share(|p| p.marked));
        self.p_loss += ALPHA * (lost - self.p_loss);
        self.p_mark += ALPHA * (marked - self.p_mark);
        let penalty = |ratio: f64, reference: f64| (ratio / reference) * (ratio / reference);
        let x =
            self.delay_signal() + DMARK * penalty(self.p_mark, PMRREF) + DLOSS * penalty(self.p_loss, PLRREF);
        self.x_curr = x.min(XMAX);
    }

    /// Equation 1: the queueing delay, warped while losses are expected.
    fn delay_signal(&self) -> f64 {
        let (Some(current), Some(average)) = (self.losses.current, self.losses.average()) else {
            // One loss has no interval before it: the delay is warped until a second one.
            return if self.losses.current.is_some() { warped(self.d_queue) } else { self.d_queue };
        };
        let gone = (current - MULTILOSS * average) / average.max(1.0);
        let share = gone.clamp(0.0, 1.0);
        share * self.d_queue + (1.0 - share) * warped(self.d_queue)
    }

    /// No loss in the window, and no packet of it waited for long.
    fn may_ramp_up(&self) -> bool {
        let base = self.d_base.unwrap_or(0.0);
        self.log.iter().all(|p| !p.lost && !p.marked && p.delay.is_none_or(|d| d - base < QEPS))
    }

    /// Equations 3 and 4.
    fn accelerate(&mut self) {
        let rtt = self.rtt.as_secs_f64() * 1e3;
        let gamma = (QBOUND / (rtt + DELTA + DFILT)).min(GAMMA_MAX);
        if let Some(received) = self.received.bps() {
            self.r_ref = self.r_ref.max((1.0 + gamma) * received);
        }
    }

    /// Equations 5 to 7.
    fn update_gradually(&mut self, x_prev: f64, delta: f64) {
        let aim = PRIO * XREF;
        let aim = if self.fixed_reference { aim } else { aim * self.setup.max / self.r_ref };
        let x_offset = self.x_curr - aim;
        let x_diff = self.x_curr - x_prev;
        let change = KAPPA * (delta / TAU) * (x_offset / TAU) + KAPPA * ETA * x_diff / TAU;
        self.r_ref -= change * self.r_ref;
    }

    /// The correction by the shaping buffer with this weight \[bit/s\].
    fn shaped(&self, weight: f64, queued: u64) -> f64 {
        (weight * 8.0 * queued as f64 * self.setup.frame_rate).min(SHAPED_MAX * self.r_ref)
    }
}

/// Equation 1 above its threshold \[ms\].
fn warped(delay: f64) -> f64 {
    if delay < QTH { delay } else { QTH * math::exp(-LAMBDA * (delay - QTH) / QTH) }
}

impl RateControl for Nada {
    fn on_limits(&mut self, min: f64, max: f64) {
        (self.setup.min, self.setup.max) = (min, max);
    }
    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        self.rtt = feedback.rtt.unwrap_or(self.rtt);
        for packet in feedback.packets {
            self.take(feedback.now, packet);
        }
        self.log.settle(feedback.now);
        let last = *self.last_update.get_or_insert(feedback.now);
        let delta = feedback.now.since(last).as_secs_f64() * 1e3;
        if delta < DELTA {
            return;
        }
        self.last_update = Some(feedback.now);
        let x_prev = self.x_curr;
        self.update_signal();
        self.ramp_up = self.may_ramp_up();
        if self.ramp_up {
            self.accelerate();
        } else {
            self.update_gradually(x_prev, delta);
        }
        self.r_ref = self.r_ref.clamp(self.setup.min, self.setup.max);
    }
    fn target(&self, queued: u64) -> f64 {
        (self.r_ref - self.shaped(BETA_V, queued)).max(self.setup.min)
    }
    fn pacing(&self, queued: u64) -> f64 {
        self.r_ref + self.shaped(BETA_S, queued)
    }
    fn observe(&self, o: &mut Observer<'_>) {
        o.number("nada.r_ref", "bit/s", "reference rate", self.r_ref);
        o.maybe("nada.r_recv", "bit/s", "rate at which packets arrive", self.received.bps());
        o.number("nada.x_curr", "ms", "aggregate congestion signal", self.x_curr);
        o.number("nada.d_queue", "ms", "queueing delay", self.d_queue);
        o.number("nada.p_loss", "1", "smoothed share of lost packets", self.p_loss);
        o.number("nada.p_mark", "1", "smoothed share of marked packets", self.p_mark);
        let mode = if self.ramp_up { "ramp-up" } else { "gradual" };
        o.state("nada.mode", "how the rate is updated", &["ramp-up", "gradual"], mode);
    }
}

#[cfg(test)]
mod tests {
    use super::super::control::testing::{Path, setup};
    use super::*;

    fn nada() -> Nada {
        Nada::new(&setup())
    }

    /// Equation 4 with a round trip of 100 ms: gamma = 50 / (100 + 100 + 120) = 0.15625.
    #[test]
    fn the_ramp_up_exceeds_what_arrives_by_the_delay_that_it_may_cause() {
        let mut n = nada();
        let mut path = Path::new(Duration::from_millis(50));
        // 1000 octets every 20 ms: 400 kbit/s. Times of arrival are right to 1/1024 s: one more may
        // be in 500 ms.
        path.run(2000, 20, 1000, |_, _| 0.0, |f| n.on_feedback(f));
        assert!(n.ramp_up);
        let received = n.received.bps().unwrap();
        assert!((received - 400_000.0).abs() < 16_001.0, "{received}");
        // The round trip is right to 1/1024 s.
        assert!((n.r_ref / received - 1.156_25).abs() < 0.001, "{}", n.r_ref / received);
    }

    /// Equations 5 to 7 at 1 Mbit/s of 1.5 with a delay of 20 ms, which was 18: x_offset = 20 - 15
    /// = 5, x_diff = 2; the change is 0.5 * 100/500 * 5/500 + 0.5 * 2 * 2/500 = 0.001 + 0.004.
    #[test]
    fn the_gradual_update_is_that_of_the_equations() {
        let mut n = nada();
        (n.r_ref, n.x_curr) = (1e6, 20.0);
        n.update_gradually(18.0, 100.0);
        assert!((n.r_ref - 1e6 * (1.0 - 0.005)).abs() < 1e-6, "{}", n.r_ref);
        // Where the delay is XREF * RMAX / r, and stays, the rate stays: 15 ms at 1 Mbit/s.
        (n.r_ref, n.x_curr) = (1e6, 15.0);
        n.update_gradually(15.0, 100.0);
        assert!((n.r_ref - 1e6).abs() < 1e-6, "{}", n.r_ref);
    }

    /// 150 ms: 50 exp(-0.5 * 2) = 18.39 ms. 1 % of loss counts for 10 ms, 2 % for 40; 1 % of marks
    /// for 2 ms.
    #[test]
    fn delay_is_warped_and_losses_and_marks_are_added() {
        assert_eq!(warped(49.0), 49.0);
        assert!((warped(150.0) - 50.0 * math::exp(-1.0)).abs() < 1e-9);
        let mut n = nada();
        for i in 0..100u64 {
            let seen = Seen { lost: i < 2, marked: i >= 99, delay: (i >= 2).then_some(0.0) };
            n.log.push(Instant(i), seen);
        }
        (0..200).for_each(|_| n.update_signal());
        assert!((n.x_curr - 42.0).abs() < 1e-6, "{}", n.x_curr);
    }

    /// A loss every 100 packets: the average is 100. Up to 700 packets later the delay is warped,
    /// from 800 on it is not, and at 750 it is half of both.
    #[test]
    fn losses_expire_after_seven_intervals() {
        let mut n = nada();
        let outcome = |number: u64, lost: bool| Outcome {
            number,
            size: 1000,
            sent: Instant::from_millis(10 * number),
            arrival: (!lost).then(|| Instant::from_millis(10 * number + 50)),
            ecn: Ecn::NotEct,
            late: false,
        };
        for number in 0..=1000 {
            n.losses.take(&outcome(number, number % 100 == 0), Duration::from_millis(5));
        }
        n.d_queue = 150.0;
        let tilde = warped(150.0);
        // 99 packets arrive between two losses.
        let mut at = 1000;
        for (packets, expected) in [(600, tilde), (742, 0.5 * (tilde + 150.0)), (900, 150.0)] {
            while at < 1000 + packets {
                at += 1;
                n.losses.take(&outcome(at, false), Duration::from_millis(5));
            }
            let signal = n.delay_signal();
            assert!((signal - expected).abs() < 1.5, "{packets}: {signal} {expected}");
        }
    }
}
