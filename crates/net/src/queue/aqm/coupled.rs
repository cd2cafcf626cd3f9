//! Coupled marking (RFC 9332 appendix A): one PI controller of the queueing delay, whose base
//! probability p' is squared for Classic packets and multiplied by k for L4S packets, so that both
//! get similar rates for any number of flows.
//!
//! [`Coupled`] is the controller and the two decisions; DualPI2 has two queues over it, [`Pi2`]
//! one: the coupled AQM in a single queue (K. De Schepper and others, PI2: a linearized AQM for
//! both Classic and Scalable TCP, CoNEXT 2016). In one queue packets are not reordered, so it may
//! stand below PDCP; L4S packets then wait behind Classic ones.
//!
//! This is the pseudo-code of RFC 9332 appendix A.1 and A.2, with one difference: in overload the
//! RFC decides the mark of a packet that is not dropped with the counter that also decides the drop
//! (p_CL is 1 or more then). Here such a packet is marked. Other programs differ:
//! - picoquic's dualq and netsim's dualPi2 treat overload as the RFC does. picoquic marks with p'_L
//!   where the RFC takes the larger of that and p_CL.
//! - Linux 6.18's sch_dualpi2.c draws at random, marks or drops no packet while less than two MTUs
//!   wait in all, and marks an L4S packet by its threshold for any decision of p_CL.
//! - netsim's second `recur` takes p_C, and its L4S packets include ECT(0). Here they are ECT(1)
//!   and CE.

use lasthop_units::{Duration, Ecn, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Backlog, Management, Parameters, Sight, Verdict};
use crate::queue::kind::{Site, Wrong, check_gain, check_that, check_update};

/// Parameters of `pi2`: coupled marking of Classic and L4S packets in one queue. The defaults are
/// RFC 9332's for DualPI2.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Pi2Params {
    /// Queueing delay aimed at.
    pub target: Duration,
    /// Time between two updates of the base probability, at least 100 us.
    pub update: Duration,
    /// Gain of the difference between the delay and `target` [1/s].
    pub alpha: f64,
    /// Gain of the delay's change [1/s].
    pub beta: f64,
    /// Coupling factor k, at least 1: an L4S packet is marked with k times the base probability, a
    /// Classic one with its square.
    pub coupling: f64,
    /// Mark ECN-capable Classic packets instead of dropping them.
    pub ecn: bool,
}

impl Default for Pi2Params {
    fn default() -> Self {
        Pi2Params {
            target: Duration::from_millis(15),
            update: Duration::from_millis(16),
            alpha: 0.16,
            beta: 3.2,
            coupling: 2.0,
            ecn: true,
        }
    }
}

/// The controller.
#[derive(Clone, Debug)]
pub(in crate::queue) struct Coupled {
    params: Pi2Params,
    /// Base probability p'.
    pub p: f64,
    prevq: Duration,
    pub next_update: Instant,
}

/// Decides at deterministic intervals (appendix A.1, `recur`).
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::queue) struct Recur(f64);

impl Recur {
    /// True `likelihood` of the times.
    pub fn recur(&mut self, likelihood: f64) -> bool {
        self.0 += likelihood;
        let fires = self.0 > 1.0;
        if fires {
            self.0 -= 1.0;
        }
        fires
    }
}

impl Coupled {
    pub fn new(params: Pi2Params) -> Coupled {
        Coupled {
            params,
            p: 0.0,
            prevq: Duration::ZERO,
            next_update: Instant::ZERO.saturating_add(params.update),
        }
    }

    /// p_C: the probability of a Classic drop or mark.
    pub fn p_c(&self) -> f64 {
        self.p * self.p
    }
    /// p_CL: the coupled probability of an L4S mark, before it is cut at 1.
    pub fn p_cl(&self) -> f64 {
        self.params.coupling * self.p
    }

    /// A Classic packet.
    pub fn classic(&self, packet: Ecn, count: &mut Recur) -> Verdict {
        let p_c = self.p_c();
        if !count.recur(p_c) {
            return Verdict::Pass;
        }
        // if ( (ecn(pkt) == 0) OR (p_C >= p_Cmax) ), p_Cmax = 1 / k^2: overload disables ECN.
        let p_cmax = (1.0 / (self.params.coupling * self.params.coupling)).min(1.0);
        let drop = packet == Ecn::NotEct || p_c >= p_cmax || !self.params.ecn;
        if drop { Verdict::Drop } else { Verdict::Mark }
    }

    /// Decides on an L4S packet; `native` is the probability of its own queue (appendix A.2).
    pub fn l4s(&self, native: f64, count: &mut Recur) -> Verdict {
        let (p_c, p_cl) = (self.p_c(), self.p_cl());
        if p_cl < 1.0 {
            return if count.recur(native.max(p_cl)) { Verdict::Mark } else { Verdict::Pass };
        }
        // Overload: revert to Classic drop due to overload, then linear marking of remaining
        // packets.
        if count.recur(p_c) { Verdict::Drop } else { Verdict::Mark }
    }

    /// Does the updates of p' that were due by `now` (appendix A.1, `dualpi2_update`); `delay`
    /// gives the queueing delay at the moment of each, `empty` that nothing waits.
    #[inline]
    pub fn catch_up(&mut self, now: Instant, empty: bool, delay: impl Fn(Instant) -> Duration) {
        while self.next_update <= now {
            let at = self.next_update;
            self.update(delay(at));
            if self.p == 0.0 && self.prevq.is_zero() && empty {
                // Nothing moves any more: all further updates are the same.
                let missed = now.since(at).0 / self.params.update.0.max(1);
                self.next_update = at.saturating_add(Duration(missed * self.params.update.0));
            }
            self.next_update = self.next_update.saturating_add(self.params.update);
        }
    }

    pub fn update(&mut self, curq: Duration) {
        let c = &self.params;
        let s = |d: Duration| d.as_secs_f64();
        self.p += c.alpha * (s(curq) - s(c.target)) + c.beta * (s(curq) - s(self.prevq));
        self.p = self.p.clamp(0.0, 1.0);
        self.prevq = curq;
    }
}

/// Coupled marking in one queue.
#[derive(Clone, Debug)]
pub struct Pi2 {
    control: Coupled,
    counts: [Recur; 2],
}

impl Pi2 {
    /// With an empty queue.
    pub fn new(params: Pi2Params) -> Pi2 {
        Pi2 { control: Coupled::new(params), counts: Default::default() }
    }
    /// p': applied to Classic packets as its square, to L4S packets times k.
    pub const fn probability(&self) -> f64 {
        self.control.p
    }

    /// A packet has arrived behind `ahead`.
    pub fn arrives(&mut self, now: Instant, ahead: Backlog) {
        if ahead.packets == 0 {
            // Since the last one left nothing has waited.
            self.control.catch_up(now, true, |_| Duration::ZERO);
        }
    }

    /// `packet`, here since `since`, has been taken out: since the one before it left it was the
    /// head.
    pub fn leaves(&mut self, now: Instant, packet: Sight, since: Instant) -> Verdict {
        self.control.catch_up(now, false, |at| at.since(since));
        let [classic, l4s] = &mut self.counts;
        if packet.ecn.is_l4s() {
            self.control.l4s(0.0, l4s)
        } else {
            self.control.classic(packet.ecn, classic)
        }
    }
}

impl Parameters for Pi2Params {
    type Run = Pi2;

    fn validate(&self) -> Result<(), Wrong> {
        check_update(self.update)?;
        check_gain(self.alpha, "alpha")?;
        check_gain(self.beta, "beta")?;
        check_that(self.coupling.is_finite() && self.coupling >= 1.0, "coupling", "is a factor from 1 on")
    }
    fn build(&self, _site: &Site) -> Pi2 {
        Pi2::new(*self)
    }
}

impl Management for Pi2 {
    #[inline]
    fn arrives(&mut self, now: Instant, _packet: Sight, ahead: Backlog) -> Verdict {
        Pi2::arrives(self, now, ahead);
        Verdict::Pass
    }
    #[inline]
    fn leaves(&mut self, now: Instant, packet: Sight, since: Instant, _behind: Backlog) -> Verdict {
        Pi2::leaves(self, now, packet, since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sight(ecn: Ecn) -> Sight {
        Sight { size: 1500, ecn }
    }

    /// The controller by hand (alpha 0.16, beta 3.2, target 15 ms, update each 16 ms): a packet
    /// that came at 0 is the head at 16 ms: 0.16 (0.016 - 0.015) + 3.2 * 0.016 = 0.05136; at 32
    /// ms: + 0.16 * 0.017 + 3.2 * 0.016 = 0.10528.
    #[test]
    fn the_delay_of_the_head_moves_the_probability() {
        let mut a = Pi2::new(Pi2Params::default());
        a.arrives(Instant::ZERO, Backlog::default());
        a.leaves(Instant::from_millis(35), sight(Ecn::Ect0), Instant::ZERO);
        assert!((a.probability() - 0.10528).abs() < 1e-12, "{}", a.probability());
        // The queue is empty until 100 ms: updates at 48, 64, 80 and 96 ms. In the first one the
        // delay has fallen by 32 ms: 0.10528 - 0.16 * 0.015 - 3.2 * 0.032 = 0.00048, less than the
        // others subtract.
        a.arrives(Instant::from_millis(100), Backlog::default());
        assert_eq!(a.probability(), 0.0);
    }

    /// At p' = 0.1: 10 of 1000 Classic packets and 200 of 1000 L4S packets in the same queue.
    #[test]
    fn one_queue_marks_l4s_k_times_p_and_classic_p_squared() {
        let mut a = Pi2::new(Pi2Params::default());
        a.control.p = 0.1;
        a.control.next_update = Instant::MAX;
        let mut count =
            |ecn| (0..1000).filter(|_| a.leaves(Instant(1), sight(ecn), Instant(0)) == Verdict::Mark).count();
        let (l4s, classic) = (count(Ecn::Ect1), count(Ecn::Ect0));
        assert!((199..=200).contains(&l4s) && (9..=10).contains(&classic), "{l4s} {classic}");
        let dropped = (0..1000)
            .filter(|_| a.leaves(Instant(1), sight(Ecn::NotEct), Instant(0)) == Verdict::Drop)
            .count();
        assert!((9..=11).contains(&dropped), "{dropped}");
    }
}
