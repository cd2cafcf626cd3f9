//! The router of Accel-Brake Control (P. Goyal and others, NSDI 2020, section 3.1): marks just as
//! many packets with "brake" as are needed for their senders to reach the target rate within a
//! round trip.
//!
//! ```text
//! tr(t) = eta mu(t) - mu(t) / delta (x(t) - d_t)^+
//! f(t)  = min(tr(t) / (2 cr(t)), 1)
//! ```
//!
//! Here tr is the target rate, x the queueing delay, mu the rate of the link, f the share of
//! accelerates, and cr the rate at which packets leave.
//!
//! A brake is a CE mark, an accelerate is none (see the congestion control `abc`). The link's rate
//! must be set ([`set_rate`](Abc::set_rate)): until it is, every packet accelerates.

use std::collections::VecDeque;

use lasthop_units::{Bitrate, Duration, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Backlog, Management, Parameters, Sight, Verdict};
use crate::queue::kind::{Site, Wrong, check_positive, check_that};

/// Parameters of `abc`: the router of Accel-Brake Control. Its rate is the scheduler's, so it is
/// for downlinks of cells and for bearers of constant rate; elsewhere it never brakes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AbcParams {
    /// eta: share of the link that is aimed at, above 0 and at most 1.
    pub utilisation: f64,
    /// delta: time in which a queueing delay above the threshold is to be removed; with more than
    /// two thirds of the round trip the control is stable.
    pub delta: Duration,
    /// d_t: a queueing delay up to this does not reduce the window.
    pub threshold: Duration,
    /// T: rates are averaged over this time.
    pub window: Duration,
}

impl Default for AbcParams {
    fn default() -> Self {
        AbcParams {
            utilisation: 0.98,
            delta: Duration::from_millis(133),
            threshold: Duration::from_millis(20),
            window: Duration::from_millis(40),
        }
    }
}

/// Accelerates that may be saved up.
const TOKEN_LIMIT: f64 = 2.0;
/// The window of cr(t) is counted in this many parts.
const PARTS: u64 = 8;

/// The marker's state.
#[derive(Clone, Debug)]
pub struct Abc {
    params: AbcParams,
    /// mu(t) [bit/s], averaged over the window.
    rate: Option<f64>,
    updated: Instant,
    token: f64,
    /// Bytes that left, by part of the window: its number and the bytes.
    left: VecDeque<(u64, u64)>,
}

impl Abc {
    /// With an empty queue, and the rate of the link if that is known and constant.
    pub fn new(params: AbcParams, rate: Option<Bitrate>) -> Abc {
        Abc {
            params,
            rate: rate.map(Bitrate::as_f64),
            updated: Instant::ZERO,
            token: 0.0,
            left: VecDeque::with_capacity(PARTS as usize + 1),
        }
    }

    /// Sets the rate that the link would carry for this queue at `now`.
    pub fn set_rate(&mut self, now: Instant, rate: Bitrate) {
        let gap = now.since(self.updated).as_secs_f64() / self.params.window.as_secs_f64();
        let old = self.rate.unwrap_or(rate.as_f64());
        self.rate = Some(old + gap.min(1.0) * (rate.as_f64() - old));
        self.updated = now;
    }

    /// tr(t) [bit/s], once the rate is known.
    pub fn target_rate(&self, waited: Duration) -> Option<f64> {
        let p = &self.params;
        let beyond = waited.0.saturating_sub(p.threshold.0) as f64 / p.delta.0 as f64;
        self.rate.map(|mu| (mu * (p.utilisation - beyond)).max(0.0))
    }

    /// `packet`, here since `since`, has been taken out.
    pub fn leaves(&mut self, now: Instant, packet: Sight, since: Instant) -> Verdict {
        let current = self.count(now, packet.size);
        let Some(target) = self.target_rate(now.since(since)) else { return Verdict::Pass };
        let share = (0.5 * target / current).min(1.0);
        self.token = (self.token + share).min(TOKEN_LIMIT);
        if !packet.ecn.is_capable() {
            return Verdict::Pass;
        }
        if self.token > 1.0 {
            self.token -= 1.0;
            return Verdict::Pass;
        }
        Verdict::Mark
    }

    /// cr(t) [bit/s] before this packet.
    fn count(&mut self, now: Instant, size: u32) -> f64 {
        let part = Duration((self.params.window.0 / PARTS).max(1));
        let number = now.0 / part.0;
        while self.left.front().is_some_and(|(n, _)| n + PARTS <= number) {
            self.left.pop_front();
        }
        let bytes: u64 = self.left.iter().map(|(_, b)| b).sum();
        match self.left.back_mut().filter(|(n, _)| *n == number) {
            Some((_, bytes)) => *bytes += u64::from(size),
            None => self.left.push_back((number, size.into())),
        }
        let oldest = (number + 1).saturating_sub(PARTS) * part.0;
        bytes as f64 * 8e9 / (now.0 - oldest).max(1) as f64
    }
}

impl Parameters for AbcParams {
    type Run = Abc;

    fn validate(&self) -> Result<(), Wrong> {
        let share = self.utilisation > 0.0 && self.utilisation <= 1.0;
        check_that(share, "utilisation", "must be above 0 and at most 1")?;
        check_positive(self.delta, "delta")?;
        check_positive(self.window, "window")
    }
    fn needs_rate(&self) -> bool {
        true
    }
    fn build(&self, site: &Site) -> Abc {
        Abc::new(*self, site.rate)
    }
}

impl Management for Abc {
    #[inline]
    fn leaves(&mut self, now: Instant, packet: Sight, since: Instant, _behind: Backlog) -> Verdict {
        Abc::leaves(self, now, packet, since)
    }
    #[inline]
    fn set_rate(&mut self, now: Instant, rate: Bitrate) {
        Abc::set_rate(self, now, rate);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_units::Ecn;

    const ECT: Sight = Sight { size: 1250, ecn: Ecn::Ect0 };

    /// A packet of 10 000 bit each millisecond, 10 Mbit/s, for 2 s; those of the second one that
    /// were marked.
    fn brakes(abc: &mut Abc, waited: u64) -> usize {
        let leaves = |ms: u64| {
            abc.leaves(Instant::from_millis(1000 + ms), ECT, Instant::from_millis(1000 + ms - waited))
        };
        let marks: Vec<bool> = (0..2000).map(leaves).map(|v| v == Verdict::Mark).collect();
        marks[1000..].iter().filter(|m| **m).count()
    }
    fn abc(mbps: u64) -> Abc {
        Abc::new(AbcParams::default(), Some(Bitrate(mbps * 1_000_000)))
    }

    /// 10 Mbit/s leave. At a link of 10 Mbit/s f = 0.98 / 2: 490 of 1000 accelerate, so that a
    /// window of w becomes 0.98 w. At 20 Mbit/s f = 0.98; at 30 the share is cut at 1.
    #[test]
    fn the_share_of_accelerates_is_half_of_the_target_over_the_current_rate() {
        for (mbps, expected) in [(10, 510.0), (20, 20.0), (30, 0.0)] {
            let n = brakes(&mut abc(mbps), 0) as f64;
            assert!((n - expected).abs() <= 1.0, "{mbps}: {n}");
        }
    }

    /// 20 ms may wait; 133 ms beyond that the target is eta - 1 below zero: nothing but brakes.
    #[test]
    fn a_standing_queue_brakes() {
        assert_eq!(abc(10).target_rate(Duration::from_millis(20)), Some(9_800_000.0));
        // 66.5 ms beyond: 0.98 - 0.5.
        let half = abc(10).target_rate(Duration::from_micros(86_500)).unwrap();
        assert!((half - 4_800_000.0).abs() < 1e-3, "{half}");
        assert_eq!(brakes(&mut abc(10), 160), 1000);
    }

    #[test]
    fn without_a_rate_or_a_mark_a_packet_passes() {
        let mut unknown = Abc::new(AbcParams::default(), None);
        assert_eq!(brakes(&mut unknown, 500), 0);
        let other = Sight { ecn: Ecn::NotEct, ..ECT };
        let mut a = abc(1);
        assert!(
            (0..100).all(|ms| a.leaves(Instant::from_millis(500 + ms), other, Instant(0)) == Verdict::Pass)
        );
    }

    /// The rate becomes 20 Mbit/s half a window after 10: the average is half way.
    #[test]
    fn the_rate_is_averaged_over_the_window() {
        let mut a = abc(10);
        a.set_rate(Instant::ZERO, Bitrate(10_000_000));
        a.set_rate(Instant::from_millis(20), Bitrate(20_000_000));
        assert_eq!(a.target_rate(Duration::ZERO), Some(0.98 * 15_000_000.0));
    }
}
