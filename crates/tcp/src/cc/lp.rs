//! TCP-LP: low priority. It yields when the delay passes a threshold between the smallest and the
//! largest.
//!
//! Two readings (`cc_reading`). `paper` takes the round trip for the delay. `linux` is tcp_lp.c of
//! 6.1 to the bit: the one-way delay from timestamps, in 32 bits without care for the offset that
//! each end adds to its timestamp clock (`net.ipv4.tcp_timestamps = 1`). The smoothed delay is kept
//! in eighths, so three bits of it are lost, and for seven offsets of eight it stays below the
//! smallest delay: the kernel's LP then never yields and is Reno.

use lasthop_units::{Duration, Instant};

use super::window::{Window, has_window};
use super::{AckSample, Congestion, CongestionControl, Established, Needs, Observer, Parameter, Row};
use crate::config::{CcReading, Config};
use crate::segment::Timestamps;

/// The threshold between smallest and largest delay.
const THRESHOLD: f64 = 0.15;
/// After a yield the window holds for so many round trips.
const INFERENCE_ROUNDS: u64 = 3;

pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "threshold",
        default: "15",
        unit: "%",
        source: "Kuzmanovic and Knightly 2003; Linux tcp_lp.c",
    },
    Parameter { name: "inference", default: "3", unit: "round trips", source: "Linux tcp_lp.c" },
];
pub(super) const DIFFERS: &str = "`cc_reading = paper`: the delay is the round trip; the paper takes the one-way delay from timestamps, which a queue \
     on the way back does not touch. `linux`: the arithmetic of Linux 6.1, in which the random offset of the peer's timestamp \
     clock makes the smoothed delay overflow for seven connections of eight, so that it never yields; here the offset is \
     2^31, one of those. ns-3 takes timestamps and 15 % too, without offset; INET has none.";

pub(super) const ROW: Row = Row {
    summary: "a scavenger that yields to rising delay",
    source: "A. Kuzmanovic, E. Knightly, TCP-LP, INFOCOM 2003; Linux 6.1 tcp_lp.c",
    parameters: PARAMETERS,
    differs: DIFFERS,
    needs: Needs::NOTHING,
};

/// LP's window and delays. Times in seconds.
#[derive(Clone, Debug)]
pub struct Lp {
    w: Window,
    smoothed: f64,
    min: f64,
    max: f64,
    /// The largest of all waits here: the largest but one is used.
    max_reserve: f64,
    yielded: Option<Instant>,
    inference: Duration,
    /// The kernel's arithmetic in place of the delays above.
    kernel: Option<Kernel>,
}

impl Lp {
    /// One segment until the handshake is done.
    pub fn new(config: &Config) -> Lp {
        Lp {
            w: Window::new(config),
            smoothed: 0.0,
            min: f64::INFINITY,
            max: 0.0,
            max_reserve: 0.0,
            yielded: None,
            inference: Duration::ZERO,
            kernel: (config.readings.cc_reading == CcReading::Linux).then(Kernel::default),
        }
    }

    fn sample(&mut self, delay: f64) {
        self.min = self.min.min(delay);
        if delay > self.max {
            if delay > self.max_reserve {
                self.max = if self.max_reserve == 0.0 { delay } else { self.max_reserve };
                self.max_reserve = delay;
            } else {
                self.max = delay;
            }
        }
        self.smoothed =
            if self.smoothed == 0.0 { delay } else { self.smoothed + (delay - self.smoothed) / 8.0 };
    }

    fn is_inferring(&self, now: Instant) -> bool {
        self.yielded.is_some_and(|at| now.since(at) < self.inference)
    }

    /// Early congestion indication: to a half, and within the inference phase to one segment.
    fn yield_to_others(&mut self, now: Instant) {
        let to = if self.is_inferring(now) { 1.0 } else { (self.w.cwnd / 2.0).floor().max(1.0) };
        self.w.set(to);
        // The bounds start afresh from the smoothed delay.
        self.min = self.smoothed;
        self.max = 2.0 * self.smoothed;
        self.max_reserve = self.max;
        self.yielded = Some(now);
    }
}

/// What the peer adds to its timestamp clock: any value from 2^29 on behaves alike.
const PEER_OFFSET: u32 = 1 << 31;
/// Timestamp ticks, and steps of the one-way delay, per second.
const RESOLUTION: u32 = 1000;

/// One-way delays as tcp_lp.c computes them. Times in milliseconds, arithmetic modulo 2^32.
#[derive(Clone, Copy, Debug)]
struct Kernel {
    /// Eighths.
    smoothed: u32,
    min: u32,
    max: u32,
    max_reserve: u32,
    /// The peer's ticks per second.
    remote_hz: u32,
    /// Timestamps of the last sample: the peer's, ours.
    reference: Option<Timestamps>,
    yielded: Option<u32>,
    inference: u32,
    inferring: bool,
}

impl Default for Kernel {
    fn default() -> Kernel {
        Kernel {
            smoothed: 0,
            min: u32::MAX,
            max: 0,
            max_reserve: 0,
            remote_hz: 0,
            reference: None,
            yielded: None,
            inference: 0,
            inferring: false,
        }
    }
}

impl Kernel {
    /// 63 parts of the estimate, one of what two ACKs show.
    fn estimate_remote_hz(&mut self, t: Timestamps) {
        let Some(last) = self.reference.replace(t) else { return };
        let (theirs, ours) = (t.value.wrapping_sub(last.value), t.echo.wrapping_sub(last.echo));
        if theirs == 0 || ours == 0 {
            return;
        }
        let shown = u64::from(RESOLUTION.wrapping_mul(theirs) / ours);
        let scaled = u64::from(self.remote_hz) << 6;
        let hz = if scaled > 0 { (scaled + shown - u64::from(self.remote_hz)) >> 6 } else { shown };
        self.remote_hz = hz as u32;
    }

    /// The one-way delay, with both clocks' offsets in it.
    fn delay(&mut self, t: Timestamps) -> Option<u32> {
        self.estimate_remote_hz(t);
        let per_tick = RESOLUTION.checked_div(self.remote_hz)?;
        Some(t.value.wrapping_mul(per_tick).wrapping_sub(t.echo)).filter(|&d| d > 0)
    }

    fn sample(&mut self, delay: u32) {
        self.min = self.min.min(delay);
        if delay > self.max {
            if delay > self.max_reserve {
                self.max = if self.max_reserve == 0 { delay } else { self.max_reserve };
                self.max_reserve = delay;
            } else {
                self.max = delay;
            }
        }
        self.smoothed = if self.smoothed == 0 {
            delay.wrapping_shl(3)
        } else {
            self.smoothed.wrapping_add(delay.wrapping_sub(self.smoothed >> 3))
        };
    }

    /// True when the window is to yield.
    fn on_ack(&mut self, now: u32, t: Timestamps, has_rtt: bool) -> bool {
        let theirs = Timestamps { value: t.value.wrapping_add(PEER_OFFSET), ..t };
        if has_rtt && let Some(delay) = self.delay(theirs) {
            self.sample(delay);
        }
        let rtt = now.wrapping_sub(t.echo);
        if rtt as i32 > 0 {
            self.inference = rtt.wrapping_mul(INFERENCE_ROUNDS as u32);
        }
        self.inferring = self.yielded.is_some_and(|at| now.wrapping_sub(at) < self.inference);
        let threshold = self.min.wrapping_add(self.max.wrapping_sub(self.min).wrapping_mul(15) / 100);
        if self.smoothed >> 3 < threshold {
            return false;
        }
        self.min = self.smoothed >> 3;
        self.max = self.smoothed >> 2;
        self.max_reserve = self.max;
        self.yielded = Some(now);
        true
    }
}

impl Lp {
    /// Growth is held.
    fn holds(&self, now: Instant) -> bool {
        self.kernel.map_or_else(|| self.is_inferring(now), |k| k.inferring)
    }

    fn on_ack_by_kernel(&mut self, ack: &AckSample) {
        let (Some(kernel), Some(t)) = (&mut self.kernel, ack.stamps) else { return };
        let now = crate::sample::timestamp(ack.now);
        if kernel.on_ack(now, t, ack.rtt.is_some_and(|r| !r.is_zero())) {
            let to = if kernel.inferring { 1.0 } else { (self.w.cwnd / 2.0).floor().max(1.0) };
            self.w.cwnd = to;
        }
    }
}

impl CongestionControl for Lp {
    has_window!();
    fn on_established(&mut self, e: &Established) {
        self.w.open(e);
    }
    fn on_ack(&mut self, ack: &AckSample) {
        if self.kernel.is_some() {
            self.on_ack_by_kernel(ack);
        } else if let Some(rtt) = ack.rtt {
            self.inference = rtt * INFERENCE_ROUNDS;
            self.sample(rtt.as_secs_f64());
            if self.smoothed > self.min + THRESHOLD * (self.max - self.min) {
                self.yield_to_others(ack.now);
            }
        }
        if self.w.may_grow(ack) && !self.holds(ack.now) {
            self.w.reno(ack);
        }
    }
    fn on_congestion(&mut self, c: &Congestion) {
        self.w.cut(c.flight / 2.0);
    }
    fn on_timeout(&mut self, c: &Congestion) {
        self.w.timeout(c.flight / 2.0, c.repeated);
    }
    fn observe(&self, o: &mut Observer<'_>) {
        let [smoothed, min, max] = self.kernel.map_or([self.smoothed, self.min, self.max], |k| {
            [f64::from(k.smoothed) / 8e3, f64::from(k.min) / 1e3, f64::from(k.max) / 1e3]
        });
        let known = |delay| (smoothed > 0.0).then_some(delay);
        o.maybe("lp.smoothed", "s", "smoothed one-way delay, from an unknown zero", known(smoothed));
        o.maybe("lp.min", "s", "smallest one-way delay, from the same zero", known(min));
        o.maybe("lp.max", "s", "largest one-way delay, from the same zero", known(max));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn it_halves_beyond_the_threshold_holds_for_three_round_trips_and_falls_to_one() {
        let mut l = Lp::new(&linux_like());
        l.w.ssthresh = 2.0;
        l.set_cwnd(40.0);
        (l.min, l.max, l.max_reserve, l.smoothed) = (0.1, 0.2, 0.2, 0.114);
        // The next sample brings the smoothed delay to 0.114 + 0.046/8 = 0.1198 > 0.115.
        l.on_ack(&ack_at(1, 1000, 160));
        assert_eq!(l.cwnd(), 20.0);
        (0..40).for_each(|_| l.on_ack(&ack_at(1, 1100, 100)));
        assert_eq!(l.cwnd(), 20.0, "no growth for 300 ms");
        (l.min, l.max, l.smoothed) = (0.1, 0.2, 0.15);
        l.on_ack(&ack_at(1, 1200, 150));
        assert_eq!(l.cwnd(), 1.0);
    }

    /// ACKs 10 ms apart whose data took `delay` ms; the peer's clock has this offset less 2^31.
    fn kernel(offset: u32, delays: &[u32]) -> (Kernel, Vec<bool>) {
        let mut k = Kernel::default();
        let mut yields = vec![];
        for (n, d) in (0u32..).zip(delays) {
            let sent = 1000 + 10 * n;
            let t = Timestamps { value: (sent + d).wrapping_add(offset), echo: sent };
            yields.push(k.on_ack(sent + d + 50, t, true));
        }
        (k, yields)
    }

    #[test]
    fn the_kernels_delay_loses_three_bits_and_then_never_reaches_the_smallest() {
        // The delay rises from 50 to 69 ms: far beyond 15 %.
        let rising: Vec<u32> = (0..100).map(|n| 50 + n / 5).collect();
        let (k, yields) = kernel(0, &rising);
        assert!(yields.iter().all(|y| !y));
        assert!(k.min >= 1 << 31 && k.smoothed >> 3 < 1 << 29, "{k:?}");
        // With an offset below 2^29 in all, and a peer's clock that is not estimated above 1000 Hz,
        // it does yield.
        let (_, yields) = kernel(1 << 31, &[50, 50, 50, 50, 50, 49, 48, 80, 80, 80, 80]);
        assert!(yields.iter().any(|&y| y));
    }

    #[test]
    fn the_peers_clock_is_estimated_from_two_acks_and_followed_by_a_64th() {
        let mut k = Kernel::default();
        let at = |value, echo| Timestamps { value, echo };
        k.estimate_remote_hz(at(100, 10));
        k.estimate_remote_hz(at(130, 50));
        assert_eq!(k.remote_hz, 750, "30 ticks in 40 ms");
        // 750 + (1500 - 750) / 64 = 761.7.
        k.estimate_remote_hz(at(145, 60));
        assert_eq!(k.remote_hz, 761);
        k.estimate_remote_hz(at(150, 60));
        assert_eq!(k.remote_hz, 761, "no time has passed here: no estimate");
    }

    #[test]
    fn away_from_congestion_it_is_reno() {
        let mut p = Path::new(super::super::CcName::Lp, linux_like(), 100, 1e9);
        assert_eq!(p.rounds(2), [20.0, 40.0]);
    }
}
