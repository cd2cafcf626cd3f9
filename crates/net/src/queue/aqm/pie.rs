//! PIE (RFC 8033): drops arrivals with a probability that a proportional integral controller moves
//! towards a queueing delay.
//!
//! Queueing delay is the sojourn time of the packet that left last (RFC 8033 section 5.2 names
//! timestamps as the alternative to estimating the departure rate; Linux does so by default), and 0
//! once the queue is empty. The names are those of the RFC's pseudo-code. Not modelled: switching
//! the algorithm off while the queue is short (optional, section 5.3).

use lasthop_engine::{Draw, Purpose};
use lasthop_units::{Bytes, Duration, Instant, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Backlog, ManagedKind, Management, Parameters, Sight, Verdict};
use crate::queue::kind::{
    BYTES, ECN, PACKETS, Site, Wrong, check_gain, check_positive, check_update, parameter,
};
use crate::registry::Entry;

aqm_parameters! {
    /// Parameters of PIE.
    PieParams,
    /// A queue with PIE.
    PieConfig, default packets "1000",
    /// Queueing delay aimed at (QDELAY_REF).
    target: Duration = Duration::from_millis(15),
    /// Time between two updates of the probability (T_UPDATE), at least 100 us.
    update: Duration = Duration::from_millis(15),
    /// Gain of the difference between the delay and `target` [1/s].
    alpha: f64 = 0.125,
    /// Gain of the delay's change [1/s].
    beta: f64 = 1.25,
    /// Bursts up to this length pass without drops (MAX_BURST).
    max_burst: Duration = Duration::from_millis(150),
    /// Mark ECN-capable packets instead of dropping them, up to `mark_limit`.
    ecn: bool = true,
    /// Drop probability from which ECN-capable packets are dropped too.
    mark_limit: Ratio = Ratio(0.1),
}

/// PIE's state.
#[derive(Clone, Debug)]
pub struct Pie {
    params: PieParams,
    draw: Draw,
    /// Arrivals with a random decision so far: the number of the draw.
    arrivals: u64,
    drop_prob: f64,
    accu_prob: f64,
    burst_allowance: Duration,
    current_qdelay: Duration,
    qdelay_old: Duration,
    next_update: Instant,
}

/// MEAN_PKTSIZE [bytes]: two of them are never dropped from.
const MEAN_PKTSIZE: u64 = 1500;

/// The adjustment `p` of the drop probability, damped while that is small (RFC 8033 section 4.2).
pub fn scaled(p: f64, drop_prob: f64) -> f64 {
    let divisor = match drop_prob {
        d if d < 0.000_001 => 2048.0,
        d if d < 0.000_01 => 512.0,
        d if d < 0.000_1 => 128.0,
        d if d < 0.001 => 32.0,
        d if d < 0.01 => 8.0,
        d if d < 0.1 => 2.0,
        _ => 1.0,
    };
    p / divisor
}

impl Pie {
    /// With an empty queue.
    pub fn new(params: PieParams, draw: Draw) -> Pie {
        Pie {
            params,
            draw,
            arrivals: 0,
            drop_prob: 0.0,
            accu_prob: 0.0,
            burst_allowance: params.max_burst,
            current_qdelay: Duration::ZERO,
            qdelay_old: Duration::ZERO,
            next_update: Instant::ZERO.saturating_add(params.update),
        }
    }

    /// The drop probability in force.
    pub const fn drop_prob(&self) -> f64 {
        self.drop_prob
    }

    /// `packet` has arrived behind `ahead`.
    pub fn arrives(&mut self, now: Instant, packet: Sight, ahead: Backlog) -> Verdict {
        self.catch_up(now);
        // RFC 8033 section 4.4: as long as burst_allowance is above zero, an arriving packet is
        // enqueued without the random drop.
        if !self.burst_allowance.is_zero() || !self.drop_early(ahead) {
            return Verdict::Pass;
        }
        // Section 5.1: marks only while the probability is below a threshold, so that unresponsive
        // ECN traffic is dropped.
        Verdict::signal(self.params.ecn && self.drop_prob < self.params.mark_limit.0, packet)
    }

    /// A packet, here since `since`, was taken out; `behind` stays.
    pub fn leaves(&mut self, now: Instant, since: Instant, behind: Backlog) {
        self.catch_up(now);
        self.current_qdelay = if behind.packets == 0 { Duration::ZERO } else { now.since(since) };
    }

    /// Section 4.1 (safeguards) and 5.4 (derandomization).
    fn drop_early(&mut self, ahead: Backlog) -> bool {
        let half = self.params.target / 2;
        if (self.qdelay_old < half && self.drop_prob < 0.2) || ahead.bytes <= 2 * MEAN_PKTSIZE {
            return false;
        }
        if self.drop_prob == 0.0 {
            self.accu_prob = 0.0;
        }
        self.accu_prob += self.drop_prob;
        if self.accu_prob < 0.85 {
            return false;
        }
        let n = self.arrivals;
        self.arrivals += 1;
        let drop = self.accu_prob >= 8.5 || self.draw.happens(n, self.drop_prob);
        if drop {
            self.accu_prob = 0.0;
        }
        drop
    }

    /// Does the updates that were due by `now`.
    #[inline]
    fn catch_up(&mut self, now: Instant) {
        while self.next_update <= now {
            self.update();
            if self.is_at_rest() {
                // Nothing moves any more: all further updates are the same.
                let missed = now.since(self.next_update).0 / self.params.update.0.max(1);
                self.next_update = self.next_update.saturating_add(Duration(missed * self.params.update.0));
            }
            self.next_update = self.next_update.saturating_add(self.params.update);
        }
    }

    fn is_at_rest(&self) -> bool {
        self.drop_prob == 0.0
            && self.current_qdelay.is_zero()
            && self.qdelay_old.is_zero()
            && self.burst_allowance == self.params.max_burst
    }

    /// Every T_UPDATE (section 4.2), and the burst allowance (section 4.4).
    fn update(&mut self) {
        let p = &self.params;
        let s = |d: Duration| d.as_secs_f64();
        let (now, old) = (self.current_qdelay, self.qdelay_old);
        let change = p.alpha * (s(now) - s(p.target)) + p.beta * (s(now) - s(old));
        let mut change = scaled(change, self.drop_prob);
        // Section 5.5: no more than 2 % at a time once it is large.
        if self.drop_prob >= 0.1 && change > 0.02 {
            change = 0.02;
        }
        self.drop_prob += change;
        // RFC 8033 section 4.2: the probability decays exponentially without congestion.
        if now.is_zero() && old.is_zero() {
            self.drop_prob *= 0.98;
        }
        self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
        self.qdelay_old = now;
        self.burst_allowance = self.burst_allowance.saturating_sub(p.update);
        let half = p.target / 2;
        if self.drop_prob == 0.0 && now < half && old < half {
            self.burst_allowance = p.max_burst;
        }
    }
}

impl Parameters for PieParams {
    type Run = Pie;

    fn validate(&self) -> Result<(), Wrong> {
        check_positive(self.target, "target")?;
        check_update(self.update)?;
        check_gain(self.alpha, "alpha")?;
        check_gain(self.beta, "beta")
    }
    fn marks(&self) -> bool {
        self.ecn
    }
    fn build(&self, site: &Site) -> Pie {
        Pie::new(*self, Draw::new(site.seed, Purpose::Aqm, site.entity))
    }
}

impl ManagedKind for PieConfig {
    const ENTRY: Entry = Entry {
        name: "pie",
        summary: "drops arrivals with a probability that follows the queueing delay",
        source: "RFC 8033, with timestamps as its section 5.2 and Linux have them",
        parameters: &[
            PACKETS,
            BYTES,
            parameter("target", "15 ms", "queueing delay aimed at"),
            parameter("update", "15 ms", "time between two updates"),
            parameter("alpha", "0.125", "gain of the delay's distance from the target [1/s]"),
            parameter("beta", "1.25", "gain of the delay's change [1/s]"),
            parameter("max_burst", "150 ms", "bursts up to this long pass"),
            ECN,
            parameter(
                "mark_limit",
                "10 %",
                "drop probability from which ECN-capable packets are dropped too",
            ),
        ],
    };
}

impl Management for Pie {
    #[inline]
    fn arrives(&mut self, now: Instant, packet: Sight, ahead: Backlog) -> Verdict {
        Pie::arrives(self, now, packet, ahead)
    }
    #[inline]
    fn leaves(&mut self, now: Instant, _packet: Sight, since: Instant, behind: Backlog) -> Verdict {
        Pie::leaves(self, now, since, behind);
        Verdict::Pass
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_units::Ecn;

    const PACKET: Sight = Sight { size: 1500, ecn: Ecn::NotEct };
    const BIG: Backlog = Backlog { packets: 100, bytes: 150_000 };

    fn pie() -> Pie {
        Pie::new(PieParams::default(), Draw::new(1, Purpose::Aqm, 0))
    }

    /// Each range of section 4.2's table divides the same adjustment.
    #[test]
    fn the_adjustment_is_damped_by_the_table_of_ranges() {
        let table = [
            (0.000_000_5, 2048.0),
            (0.000_005, 512.0),
            (0.000_05, 128.0),
            (0.000_5, 32.0),
            (0.005, 8.0),
            (0.05, 2.0),
            (0.1, 1.0),
            (0.5, 1.0),
        ];
        for (prob, divisor) in table {
            assert_eq!(scaled(1.0, prob), 1.0 / divisor, "{prob}");
        }
    }

    /// A delay that jumps to 35 ms: 0.125 (0.035 - 0.015) + 1.25 (0.035 - 0) = 0.0025 + 0.04375 =
    /// 0.04625, over 2048 = 2.2583e-5. The second update, at rest at 35 ms: 0.0025 / 128
    /// (2.2583e-5 is below 1e-4) = 1.9531e-5 more.
    #[test]
    fn two_updates_are_those_computed_by_hand() {
        let mut p = pie();
        p.current_qdelay = Duration::from_millis(35);
        p.update();
        assert!((p.drop_prob() - 0.04625 / 2048.0).abs() < 1e-15);
        p.update();
        assert!((p.drop_prob() - (0.04625 / 2048.0 + 0.0025 / 128.0)).abs() < 1e-15);
    }

    /// From 20 %: 0.125 * 0.485 + 1.25 * 0.5 = 0.69 would be added; the limit is 2 %.
    #[test]
    fn a_large_probability_grows_by_two_percent_at_most_and_decays_when_idle() {
        let mut p = pie();
        (p.drop_prob, p.current_qdelay) = (0.2, Duration::from_millis(500));
        p.update();
        assert!((p.drop_prob() - 0.22).abs() < 1e-12);
        // Delay 0 now and before: (0.22 - 0.125 * 0.015) * 0.98.
        (p.current_qdelay, p.qdelay_old) = (Duration::ZERO, Duration::ZERO);
        p.update();
        assert!((p.drop_prob() - (0.22 - 0.001_875) * 0.98).abs() < 1e-12);
    }

    /// 150 ms of allowance last ten updates of 15 ms: the packet at 150 ms is the first that may be
    /// dropped.
    #[test]
    fn a_burst_of_150_ms_passes() {
        let mut p = pie();
        let mut first = None;
        for t in 0..2000 {
            let now = Instant::from_millis(t);
            p.leaves(now, Instant(now.0.saturating_sub(100_000_000)), BIG);
            if p.arrives(now, PACKET, BIG) == Verdict::Drop {
                first.get_or_insert(t);
            }
        }
        assert!(first.is_some_and(|t| t >= 150), "{first:?}");
        assert_eq!(p.burst_allowance, Duration::ZERO);
        // Congestion ends: the probability falls to zero and the allowance is whole again.
        p.leaves(Instant::from_secs(2), Instant::from_secs(2), Backlog::default());
        p.catch_up(Instant::from_secs(60));
        assert_eq!((p.drop_prob(), p.burst_allowance), (0.0, Duration::from_millis(150)));
        assert!(p.next_update > Instant::from_secs(60), "silent time is skipped");
    }

    /// With p = 0.1 no drop before accu_prob reaches 0.85 (the 9th packet), and one by 8.5 (the
    /// 85th, or 86th with rounding) at the latest.
    #[test]
    fn drops_are_neither_too_close_nor_too_far_apart() {
        let mut p = pie();
        (p.drop_prob, p.burst_allowance, p.qdelay_old) = (0.1, Duration::ZERO, Duration::from_millis(20));
        let (mut gap, mut gaps) = (0, Vec::new());
        for _ in 0..20_000 {
            gap += 1;
            if p.drop_early(BIG) {
                gaps.push(std::mem::take(&mut gap));
            }
        }
        assert!(gaps.iter().all(|g| (9..=86).contains(g)), "{:?}", gaps.iter().max());
        // Eight packets pass for certain, then one in ten is dropped: 8 + 10 = 18 on average.
        let mean = f64::from(gaps.iter().sum::<i32>()) / gaps.len() as f64;
        assert!((mean - 18.0).abs() < 1.5, "{mean}");
    }

    /// Section 4.1: a short queue, or a small delay with a small probability, is let alone; section
    /// 5.1: marks below 10 %.
    #[test]
    fn safeguards_and_the_limit_of_marking() {
        let ready = |prob| {
            let mut p = pie();
            (p.drop_prob, p.burst_allowance, p.accu_prob) = (prob, Duration::ZERO, 9.0);
            p.qdelay_old = Duration::from_millis(20);
            p
        };
        let ect = Sight { ecn: Ecn::Ect0, ..PACKET };
        assert_eq!(ready(0.05).arrives(Instant(0), ect, BIG), Verdict::Mark);
        assert_eq!(ready(0.05).arrives(Instant(0), PACKET, BIG), Verdict::Drop);
        assert_eq!(ready(0.10).arrives(Instant(0), ect, BIG), Verdict::Drop);
        assert_eq!(ready(0.10).arrives(Instant(0), ect, Backlog { packets: 2, bytes: 3000 }), Verdict::Pass);
        let mut low = ready(0.19);
        low.qdelay_old = Duration::from_millis(7);
        assert_eq!(low.arrives(Instant(0), PACKET, BIG), Verdict::Pass);
    }
}
