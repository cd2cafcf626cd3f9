//! DualPI2 (RFC 9332 appendix A): a queue for L4S traffic and one for Classic traffic, coupled.
//!
//! A PI controller of the queueing delay gives p'. Classic packets are dropped or marked with p_C = p'^2, L4S packets are
//! marked with the larger of p_CL = k p' and their own threshold's probability; so both get like rates whatever their
//! numbers. Beyond p_CL = 1 the overload rules of appendix A.2 hold. The names are those of the RFC's pseudo-code.

use lasthop_units::{Duration, Instant};

use super::config::{DualPi2Config, Scheduler};
use super::{Fifo, Limit, mark};
use crate::{DropCause, Dropped, Ecn, Item};

/// The two queues and their controller.
#[derive(Clone, Debug)]
pub struct DualPi2 {
    config: DualPi2Config,
    pub(super) limit: Limit,
    lq: Line,
    cq: Line,
    /// Base probability p'.
    p: f64,
    prevq: Duration,
    next_update: Instant,
    /// Weighted round robin: bytes by which L4S is ahead of its share, weighted.
    credit: i64,
}

/// One of the two queues with its `recur` counter.
#[derive(Clone, Debug, Default)]
struct Line {
    fifo: Fifo,
    count: f64,
}

impl Line {
    /// True at deterministic intervals, `likelihood` of the times (appendix A.1, `recur`).
    fn recur(&mut self, likelihood: f64) -> bool {
        self.count += likelihood;
        let happens = self.count > 1.0;
        if happens {
            self.count -= 1.0;
        }
        happens
    }
    /// How long the head has waited.
    fn time(&self, now: Instant) -> Duration {
        self.fifo.front().map_or(Duration::ZERO, |item| now.since(item.enqueued))
    }
}

impl DualPi2 {
    /// With empty queues.
    pub fn new(config: &DualPi2Config) -> DualPi2 {
        DualPi2 {
            config: *config,
            limit: config.limit(),
            lq: Line::default(),
            cq: Line::default(),
            p: 0.0,
            prevq: Duration::ZERO,
            next_update: Instant::ZERO.saturating_add(config.update),
            credit: 0,
        }
    }

    /// Packets waiting in both queues.
    pub fn packets(&self) -> usize {
        self.lq.fifo.packets() + self.cq.fifo.packets()
    }
    /// Bytes waiting in both queues.
    pub fn bytes(&self) -> u64 {
        self.lq.fifo.bytes() + self.cq.fifo.bytes()
    }
    /// p_C: the probability of a Classic drop or mark.
    pub fn p_c(&self) -> f64 {
        self.p * self.p
    }
    /// p_CL: the coupled probability of an L4S mark, before it is cut at 1.
    pub fn p_cl(&self) -> f64 {
        self.config.coupling * self.p
    }

    /// Takes `item` into the queue of its class, or drops it when both together are full.
    pub fn enqueue(&mut self, now: Instant, item: Item, drops: &mut Vec<Dropped>) {
        self.catch_up(now);
        if !self.limit.allows(self.packets() + 1, self.bytes() + u64::from(item.size)) {
            return drops.push(Dropped { at: now, item, cause: DropCause::QueueFull });
        }
        // "if ( ecn(pkt) modulo 2 == 1 )": ECT(1) and CE.
        let line = if item.ecn.is_l4s() { &mut self.lq } else { &mut self.cq };
        line.fifo.push(item);
    }

    /// The next item of the queue that the scheduler chooses; adds to `marked` when it is marked.
    pub fn dequeue(&mut self, now: Instant, drops: &mut Vec<Dropped>, marked: &mut u64) -> Option<Item> {
        self.catch_up(now);
        loop {
            let low_latency = self.chooses_l4s(now)?;
            let (line, other) = if low_latency { (&mut self.lq, &self.cq) } else { (&mut self.cq, &self.lq) };
            let mut item = line.fifo.pop()?;
            let both = other.fifo.packets() > 0;
            self.charge(low_latency, both, item.size);
            let (drop, marks) =
                if low_latency { self.judge_l4s(now, &item) } else { self.judge_classic(&item) };
            if drop {
                drops.push(Dropped { at: now, item, cause: DropCause::Aqm });
                continue;
            }
            if marks {
                mark(&mut item, marked);
            }
            return Some(item);
        }
    }

    /// (drop, mark) for an L4S packet (appendix A.2).
    fn judge_l4s(&mut self, now: Instant, item: &Item) -> (bool, bool) {
        let (p_c, p_cl) = (self.p_c(), self.p_cl());
        if p_cl < 1.0 {
            let native = self.laqm(now.since(item.enqueued));
            return (false, self.lq.recur(native.max(p_cl)));
        }
        // Overload: "revert to Classic drop due to overload", then "linear marking of remaining packets".
        if self.lq.recur(p_c) { (true, false) } else { (false, true) }
    }

    /// The L4S queue's own marking: a step, or a ramp from the threshold on, where more than a packet waits behind.
    fn laqm(&self, qdelay: Duration) -> f64 {
        let c = &self.config;
        if qdelay <= c.l4s_threshold || self.lq.fifo.packets() < 1 {
            return 0.0;
        }
        let beyond = qdelay - c.l4s_threshold;
        if beyond >= c.l4s_ramp { 1.0 } else { beyond.0 as f64 / c.l4s_ramp.0 as f64 }
    }

    /// (drop, mark) for a Classic packet.
    fn judge_classic(&mut self, item: &Item) -> (bool, bool) {
        let p_c = self.p_c();
        if !self.cq.recur(p_c) {
            return (false, false);
        }
        // "if ( (ecn(pkt) == 0) OR (p_C >= p_Cmax) )", p_Cmax = 1 / k^2: overload disables ECN.
        let p_cmax = (1.0 / (self.config.coupling * self.config.coupling)).min(1.0);
        let drop = item.ecn == Ecn::NotEct || p_c >= p_cmax || !self.config.ecn;
        (drop, !drop)
    }

    /// True for L4S, `None` when both queues are empty.
    fn chooses_l4s(&self, now: Instant) -> Option<bool> {
        match (self.lq.fifo.packets(), self.cq.fifo.packets()) {
            (0, 0) => None,
            (_, 0) => Some(true),
            (0, _) => Some(false),
            _ => Some(match self.config.scheduler {
                Scheduler::Wrr => self.credit <= 0,
                Scheduler::TsFifo => {
                    self.lq.time(now).0.saturating_add(self.config.time_shift.0) >= self.cq.time(now).0
                }
            }),
        }
    }

    /// Weighted round robin over bytes: while both queues have packets, L4S gets `1 - classic_share` of the link.
    fn charge(&mut self, low_latency: bool, both: bool, size: u32) {
        if !both {
            self.credit = 0;
            return;
        }
        // In thousandths, so that the account is of whole numbers.
        let classic = (self.config.classic_share.0 * 1000.0) as i64;
        let size = i64::from(size);
        self.credit += if low_latency { classic * size } else { (classic - 1000) * size };
    }

    /// Does the updates of p' that were due by `now` (appendix A.1, `dualpi2_update`).
    #[inline]
    fn catch_up(&mut self, now: Instant) {
        while self.next_update <= now {
            let at = self.next_update;
            self.update(at);
            if self.p == 0.0 && self.prevq.is_zero() && self.packets() == 0 {
                // Nothing moves any more: all further updates are the same.
                let missed = now.since(at).0 / self.config.update.0.max(1);
                self.next_update = at.saturating_add(Duration(missed * self.config.update.0));
            }
            self.next_update = self.next_update.saturating_add(self.config.update);
        }
    }

    fn update(&mut self, at: Instant) {
        let c = &self.config;
        // With overload handling (appendix A.2) the longer of the two delays counts.
        let curq = self.cq.time(at).max(self.lq.time(at));
        let s = |d: Duration| d.as_secs_f64();
        self.p += c.alpha * (s(curq) - s(c.target)) + c.beta * (s(curq) - s(self.prevq));
        self.p = self.p.clamp(0.0, 1.0);
        self.prevq = curq;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::item;
    use lasthop_units::Ratio;

    fn dual() -> DualPi2 {
        DualPi2::new(&DualPi2Config::default())
    }

    fn of(n: usize, ecn: Ecn) -> Item {
        Item { ecn, ..item(n, 1500) }
    }

    /// p' = 0.1: p_C = 0.01, p_CL = 2 * 0.1 = 0.2; of 1000 Classic packets 10 are dropped (recur: at even distances), of
    /// 1000 L4S packets 200 are marked.
    #[test]
    fn classic_is_squared_and_l4s_is_coupled() {
        let mut d = dual();
        d.p = 0.1;
        assert!((d.p_c() - 0.01).abs() < 1e-15 && (d.p_cl() - 0.2).abs() < 1e-15);
        let (mut drops, mut marks, mut classic_marks) = (0, 0, 0);
        for n in 0..1000 {
            drops += u32::from(d.judge_classic(&of(n, Ecn::NotEct)).0);
            marks += u32::from(d.judge_l4s(Instant(0), &of(n, Ecn::Ect1)).1);
        }
        for n in 0..1000 {
            let (dropped, marked) = d.judge_classic(&of(n, Ecn::Ect0));
            assert!(!dropped);
            classic_marks += u32::from(marked);
        }
        // The counter may be one behind through rounding.
        assert!((9..=10).contains(&drops) && (199..=200).contains(&marks), "{drops} {marks}");
        assert!((9..=10).contains(&classic_marks));
    }

    /// The controller by hand: alpha 0.16, beta 3.2. A head of 35 ms: 0.16 (0.035 - 0.015) + 3.2 * 0.035 = 0.1152. The next
    /// update 16 ms later sees 51 ms: + 0.16 * 0.036 + 3.2 * 0.016 = 0.05696.
    #[test]
    fn the_base_probability_is_that_of_the_pi_controller() {
        let mut d = dual();
        let mut head = of(0, Ecn::NotEct);
        head.enqueued = Instant::ZERO;
        d.cq.fifo.push(head);
        d.update(Instant::from_millis(35));
        assert!((d.p - 0.1152).abs() < 1e-12, "{}", d.p);
        d.update(Instant::from_millis(51));
        assert!((d.p - (0.1152 + 0.00576 + 0.0512)).abs() < 1e-12, "{}", d.p);
    }

    /// p' = 0.6: p_CL = 1.2 is beyond 1. L4S packets are dropped with p_C = 0.36 and marked otherwise, and Classic ECN is
    /// off, because p_C is above p_Cmax = 1/4.
    #[test]
    fn overload_drops_l4s_too_and_switches_ecn_off() {
        let mut d = dual();
        d.p = 0.6;
        let judged: Vec<(bool, bool)> =
            (0..1000).map(|n| d.judge_l4s(Instant(0), &of(n, Ecn::Ect1))).collect();
        let dropped = judged.iter().filter(|j| j.0).count();
        assert!((359..=360).contains(&dropped), "{dropped}");
        assert!(judged.iter().all(|j| j.0 != j.1));
        let classic = (0..100).filter(|n| d.judge_classic(&of(*n, Ecn::Ect0)).0).count();
        assert!((35..=36).contains(&classic), "{classic}");
        d.p = 0.49;
        assert!((0..100).all(|n| !d.judge_classic(&of(n, Ecn::Ect0)).0), "0.49^2 is below 1/4");
    }

    #[test]
    fn the_l4s_step_marks_beyond_its_threshold_and_the_ramp_in_between() {
        let mut d = dual();
        d.lq.fifo.push(of(1, Ecn::Ect1));
        assert_eq!(d.laqm(Duration::from_millis(1)), 0.0);
        assert_eq!(d.laqm(Duration::from_micros(1001)), 1.0);
        d.config.l4s_threshold = Duration::from_micros(800);
        d.config.l4s_ramp = Duration::from_micros(400);
        // RFC 9332 appendix A.1: minTh 800 us, range 400 us; 900 us is a quarter of the way.
        assert_eq!(d.laqm(Duration::from_micros(900)), 0.25);
        d.lq.fifo.pop();
        assert_eq!(d.laqm(Duration::from_millis(9)), 0.0, "the last packet is no queue");
    }

    /// Both queues full: with a share of 10 % Classic gets one byte in ten; what waits alone is served.
    #[test]
    fn weighted_round_robin_keeps_the_classic_share() {
        let mut d = dual();
        d.config.update = Duration::from_secs(1000);
        d.next_update = Instant::from_secs(1000);
        let (mut drops, mut marked) = (Vec::new(), 0);
        for n in 0..2000 {
            let ecn = if n % 2 == 0 { Ecn::Ect1 } else { Ecn::Ect0 };
            d.enqueue(Instant(0), of(n, ecn), &mut drops);
        }
        let got: Vec<Ecn> =
            (0..1000).filter_map(|_| d.dequeue(Instant(0), &mut drops, &mut marked)).map(|i| i.ecn).collect();
        let classic = got.iter().filter(|e| **e == Ecn::Ect0).count();
        assert!((99..=101).contains(&classic), "{classic}");
        assert_eq!(d.cq.fifo.packets(), 1000 - classic);
    }

    /// Time-shifted FIFO: a Classic head goes first once it is more than the shift older.
    #[test]
    fn time_shifted_fifo_compares_ages() {
        let mut d = dual();
        d.config.scheduler = Scheduler::TsFifo;
        d.config.time_shift = Duration::from_millis(50);
        for (ecn, at) in [(Ecn::Ect0, 0), (Ecn::Ect1, 40)] {
            let mut drops = Vec::new();
            d.enqueue(
                Instant::from_millis(at),
                Item { enqueued: Instant::from_millis(at), ..of(0, ecn) },
                &mut drops,
            );
        }
        assert_eq!(d.chooses_l4s(Instant::from_millis(60)), Some(true), "40 ms of difference are within 50");
        d.config.time_shift = Duration::from_millis(30);
        assert_eq!(d.chooses_l4s(Instant::from_millis(60)), Some(false));
    }

    #[test]
    fn a_full_pair_drops_the_newcomer() {
        let config =
            DualPi2Config { packets: Some(2), classic_share: Ratio(0.1), ..DualPi2Config::default() };
        let mut d = DualPi2::new(&config);
        let mut drops = Vec::new();
        for (n, ecn) in [Ecn::Ect1, Ecn::Ect0, Ecn::Ect1].into_iter().enumerate() {
            d.enqueue(Instant(0), of(n, ecn), &mut drops);
        }
        assert_eq!((d.packets(), drops.len(), drops[0].cause), (2, 1, DropCause::QueueFull));
    }
}
