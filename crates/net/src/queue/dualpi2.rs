//! DualPI2 (RFC 9332 appendix A): a queue for L4S traffic and one for Classic traffic, coupled.
//!
//! A PI controller of the queueing delay gives p'. Classic packets are dropped or marked with p_C =
//! p'^2, L4S packets are marked with the larger of p_CL = k p' and their own threshold's
//! probability; so both get similar rates for any number of flows. Beyond p_CL = 1 the overload
//! rules of appendix A.2 hold. The names are those of the RFC's pseudo-code; `aqm/coupled.rs` has
//! the difference from it.

use lasthop_units::{Bytes, Duration, Instant, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::aqm::Pi2Params;
use super::aqm::Verdict;
use super::aqm::coupled::{Coupled, Recur};
use super::kind::{
    BYTES, DEFAULT_PACKETS_OF_MANY, Discipline, MANY_PACKETS, QueueKind, Site, Wrong, check_gain,
    check_positive, check_that, check_update, limit, mark, parameter,
};
use super::{Fifo, Limit};
use crate::registry::Entry;
use crate::{DropCause, Dropped, Item};

/// Which of DualPI2's two queues is served next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduler {
    /// Weighted round robin: Classic traffic gets at least `classic_share`.
    #[default]
    Wrr,
    /// The queue whose first packet has waited longer; to the waiting time of L4S packets
    /// `time_shift` is added.
    TsFifo,
}

/// Parameters of DualPI2. The defaults are Linux' values; RFC 9332 appendix A.1 derives nearly the
/// same from a largest round trip of 100 ms (update 15 ms, alpha 0.15, beta 3).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DualPi2Config {
    /// Most packets waiting in both queues together. Without it and without `bytes`: 10240.
    pub packets: Option<u32>,
    /// Most bytes waiting in both queues together. Without it: no limit.
    pub bytes: Option<Bytes>,
    /// Classic queueing delay aimed at.
    pub target: Duration,
    /// Time between two updates of the base probability.
    pub update: Duration,
    /// Gain of the difference between the delay and `target` [1/s].
    pub alpha: f64,
    /// Gain of the delay's change [1/s].
    pub beta: f64,
    /// Coupling factor k, at least 1: an L4S packet is marked k times as often as the base
    /// probability.
    pub coupling: f64,
    /// L4S packets that have waited longer than this are marked, if another packet waits behind
    /// them.
    pub l4s_threshold: Duration,
    /// Waiting time beyond the threshold over which the marking probability rises to 1. 0 s: it is
    /// 1 from the threshold on.
    pub l4s_ramp: Duration,
    /// How the two queues are served.
    pub scheduler: Scheduler,
    /// Least share of Classic traffic under `wrr`.
    pub classic_share: Ratio,
    /// Head start of L4S packets under `ts-fifo`.
    pub time_shift: Duration,
    /// Mark ECN-capable Classic packets instead of dropping them.
    pub ecn: bool,
}

impl Default for DualPi2Config {
    fn default() -> Self {
        let Pi2Params { target, update, alpha, beta, coupling, ecn } = Pi2Params::default();
        DualPi2Config {
            packets: None,
            bytes: None,
            target,
            update,
            alpha,
            beta,
            coupling,
            l4s_threshold: Duration::from_millis(1),
            l4s_ramp: Duration::ZERO,
            scheduler: Scheduler::Wrr,
            classic_share: Ratio(0.1),
            time_shift: Duration::from_millis(50),
            ecn,
        }
    }
}

impl QueueKind for DualPi2Config {
    const ENTRY: Entry = Entry {
        name: "dualpi2",
        summary: "a queue for L4S (ECT(1)) and one for Classic traffic, coupled to equal rates",
        source: "RFC 9332 appendix A; defaults as Linux",
        parameters: &[
            MANY_PACKETS,
            BYTES,
            parameter("target", "15 ms", "Classic queueing delay aimed at"),
            parameter("update", "16 ms", "time between two updates"),
            parameter("alpha", "0.16", "gain of the delay's distance from the target [1/s]"),
            parameter("beta", "3.2", "gain of the delay's change [1/s]"),
            parameter("coupling", "2", "k: L4S is marked with k p', Classic with p' squared"),
            parameter("l4s_threshold", "1 ms", "L4S packets that waited longer are marked"),
            parameter("l4s_ramp", "0 s", "over so much more waiting the probability rises to 1"),
            parameter(
                "scheduler",
                "wrr",
                "\"wrr\" (weighted round robin) or \"ts-fifo\" (time-shifted FIFO)",
            ),
            parameter("classic_share", "10 %", "least share of Classic traffic under \"wrr\""),
            parameter("time_shift", "50 ms", "head start of L4S under \"ts-fifo\""),
            parameter("ecn", "true", "mark ECN-capable Classic packets instead of dropping them"),
        ],
    };
    type Run = Box<DualPi2>;

    fn validate(&self) -> Result<(), Wrong> {
        check_positive(self.target, "target")?;
        check_update(self.update)?;
        check_gain(self.alpha, "alpha")?;
        check_gain(self.beta, "beta")?;
        let coupling = self.coupling.is_finite() && (1.0..=100.0).contains(&self.coupling);
        check_that(coupling, "coupling", "is a factor from 1 to 100")
    }
    fn marks(&self) -> bool {
        true
    }
    fn limit(&self) -> Limit {
        limit(self.packets, self.bytes, DEFAULT_PACKETS_OF_MANY)
    }
    fn build(&self, _site: &Site) -> Box<DualPi2> {
        Box::new(DualPi2::new(self))
    }
}

/// Size of a full packet [bytes]: the unit of the scheduler's first credit.
const PACKET: i64 = 1500;

/// The two queues and their controller.
#[derive(Clone, Debug)]
pub struct DualPi2 {
    config: DualPi2Config,
    limit: Limit,
    lq: Line,
    cq: Line,
    control: Coupled,
    /// Weighted round robin: bytes by which L4S is ahead of its share, in thousandths.
    credit: i64,
}

/// One of the two queues with its `recur` counter.
#[derive(Clone, Debug, Default)]
struct Line {
    fifo: Fifo,
    count: Recur,
}

impl Line {
    /// How long the head has waited.
    fn time(&self, now: Instant) -> Duration {
        self.fifo.front().map_or(Duration::ZERO, |item| now.since(item.enqueued))
    }
}

impl DualPi2 {
    /// With empty queues.
    pub fn new(config: &DualPi2Config) -> DualPi2 {
        let DualPi2Config { target, update, alpha, beta, coupling, ecn, .. } = *config;
        DualPi2 {
            config: *config,
            limit: config.limit(),
            lq: Line::default(),
            cq: Line::default(),
            control: Coupled::new(Pi2Params { target, update, alpha, beta, coupling, ecn }),
            credit: first_credit(config),
        }
    }

    /// The L4S queue's own marking: a step, or a ramp from the threshold on, where more than a
    /// packet waits behind.
    fn laqm(&self, qdelay: Duration) -> f64 {
        let c = &self.config;
        if qdelay <= c.l4s_threshold || self.lq.fifo.packets() < 1 {
            return 0.0;
        }
        let beyond = qdelay - c.l4s_threshold;
        if beyond >= c.l4s_ramp { 1.0 } else { beyond.0 as f64 / c.l4s_ramp.0 as f64 }
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

    /// Weighted round robin over bytes: while both queues have packets, L4S gets `1 -
    /// classic_share` of the link. A packet that leaves while the other queue is empty changes
    /// nothing (Linux' sch_dualpi2.c, `dequeue_packet`).
    fn charge(&mut self, low_latency: bool, size: u32) {
        let [classic, l4s] = weights(&self.config);
        self.credit += i64::from(size) * if low_latency { classic } else { -l4s };
    }

    /// Does the updates of p' that were due by `now`.
    #[inline]
    fn catch_up(&mut self, now: Instant) {
        let empty = self.packets() == 0;
        let (lq, cq) = (&self.lq, &self.cq);
        // With overload handling (appendix A.2) the longer of the two delays counts.
        self.control.catch_up(now, empty, |at| cq.time(at).max(lq.time(at)));
    }
}

/// Weights of Classic and of L4S in thousandths, so that the credit is a whole number.
fn weights(config: &DualPi2Config) -> [i64; 2] {
    let classic = (config.classic_share.0 * 1000.0) as i64;
    [classic, 1000 - classic]
}

/// The credit of a queue that was empty: L4S is served first, and where Classic waits all the
/// while, up to eight more of its packets do (Linux' sch_dualpi2.c,
/// `dualpi2_calculate_c_protection`).
fn first_credit(config: &DualPi2Config) -> i64 {
    let [classic, l4s] = weights(config);
    PACKET * (classic - l4s)
}

impl Discipline for DualPi2 {
    /// Takes `item` into the queue of its class, or drops it when both together are full.
    fn enqueue(&mut self, now: Instant, item: Item, drops: &mut Vec<Dropped>, _marked: &mut u64) {
        self.catch_up(now);
        if !self.limit.allows(self.packets() + 1, self.bytes() + u64::from(item.size)) {
            return drops.push(Dropped { at: now, item, cause: DropCause::QueueFull });
        }
        if self.packets() == 0 {
            // Linux does so once the transmitter finds nothing; here the queue may be read later
            // than that.
            self.credit = first_credit(&self.config);
        }
        // if ( ecn(pkt) modulo 2 == 1 ): ECT(1) and CE.
        let line = if item.ecn.is_l4s() { &mut self.lq } else { &mut self.cq };
        line.fifo.push(item);
    }
    /// The next item of the queue that the scheduler chooses; adds to `marked` when it is marked.
    fn dequeue(&mut self, now: Instant, drops: &mut Vec<Dropped>, marked: &mut u64) -> Option<Item> {
        self.catch_up(now);
        loop {
            let low_latency = self.chooses_l4s(now)?;
            let (line, other) = if low_latency { (&mut self.lq, &self.cq) } else { (&mut self.cq, &self.lq) };
            let mut item = line.fifo.pop()?;
            let both = other.fifo.packets() > 0;
            let verdict = if low_latency {
                let native = self.laqm(now.since(item.enqueued));
                self.control.l4s(native, &mut self.lq.count)
            } else {
                self.control.classic(item.ecn, &mut self.cq.count)
            };
            match verdict {
                Verdict::Drop => {
                    drops.push(Dropped { at: now, item, cause: DropCause::Aqm });
                    continue;
                }
                Verdict::Mark => mark(&mut item, marked),
                Verdict::Pass => {}
            }
            if both {
                self.charge(low_latency, item.size);
            }
            return Some(item);
        }
    }
    /// Packets waiting in both queues.
    fn packets(&self) -> usize {
        self.lq.fifo.packets() + self.cq.fifo.packets()
    }
    /// Bytes waiting in both queues.
    fn bytes(&self) -> u64 {
        self.lq.fifo.bytes() + self.cq.fifo.bytes()
    }
    fn limit(&self) -> Limit {
        self.limit
    }
    fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ecn;
    use crate::testing::item;
    use lasthop_units::Ratio;

    fn dual() -> DualPi2 {
        DualPi2::new(&DualPi2Config::default())
    }

    fn classic(d: &mut DualPi2, ecn: Ecn) -> Verdict {
        d.control.classic(ecn, &mut d.cq.count)
    }
    fn l4s(d: &mut DualPi2) -> Verdict {
        let native = d.laqm(Duration::ZERO);
        d.control.l4s(native, &mut d.lq.count)
    }
    fn of(n: usize, ecn: Ecn) -> Item {
        Item { ecn, ..item(n, 1500) }
    }

    /// p' = 0.1: p_C = 0.01, p_CL = 2 * 0.1 = 0.2; of 1000 Classic packets 10 are dropped (recur:
    /// at even distances), of 1000 L4S packets 200 are marked.
    #[test]
    fn classic_is_squared_and_l4s_is_coupled() {
        let mut d = dual();
        d.control.p = 0.1;
        assert!((d.control.p_c() - 0.01).abs() < 1e-15 && (d.control.p_cl() - 0.2).abs() < 1e-15);
        let (mut drops, mut marks, mut classic_marks) = (0, 0, 0);
        for _ in 0..1000 {
            drops += u32::from(classic(&mut d, Ecn::NotEct) == Verdict::Drop);
            marks += u32::from(l4s(&mut d) == Verdict::Mark);
        }
        for _ in 0..1000 {
            let verdict = classic(&mut d, Ecn::Ect0);
            assert_ne!(verdict, Verdict::Drop);
            classic_marks += u32::from(verdict == Verdict::Mark);
        }
        // The counter may be one behind through rounding.
        assert!((9..=10).contains(&drops) && (199..=200).contains(&marks), "{drops} {marks}");
        assert!((9..=10).contains(&classic_marks));
    }

    /// The controller by hand: alpha 0.16, beta 3.2. A head of 35 ms: 0.16 (0.035 - 0.015) + 3.2 *
    /// 0.035 = 0.1152. The next update 16 ms later measures 51 ms: + 0.16 * 0.036 + 3.2 * 0.016 =
    /// 0.05696.
    #[test]
    fn the_base_probability_is_that_of_the_pi_controller() {
        let mut d = dual();
        d.control.update(Duration::from_millis(35));
        assert!((d.control.p - 0.1152).abs() < 1e-12, "{}", d.control.p);
        d.control.update(Duration::from_millis(51));
        assert!((d.control.p - (0.1152 + 0.00576 + 0.0512)).abs() < 1e-12, "{}", d.control.p);
    }

    /// p' = 0.6: p_CL = 1.2 is beyond 1. L4S packets are dropped with p_C = 0.36 and marked
    /// otherwise, and Classic ECN is off, because p_C is above p_Cmax = 1/4.
    #[test]
    fn overload_drops_l4s_too_and_switches_ecn_off() {
        let mut d = dual();
        d.control.p = 0.6;
        let judged: Vec<Verdict> = (0..1000).map(|_| l4s(&mut d)).collect();
        let dropped = judged.iter().filter(|v| **v == Verdict::Drop).count();
        assert!((359..=360).contains(&dropped), "{dropped}");
        assert!(!judged.contains(&Verdict::Pass));
        let lost = (0..100).filter(|_| classic(&mut d, Ecn::Ect0) == Verdict::Drop).count();
        assert!((35..=36).contains(&lost), "{lost}");
        d.control.p = 0.49;
        assert!((0..100).all(|_| classic(&mut d, Ecn::Ect0) != Verdict::Drop), "0.49^2 is below 1/4");
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

    /// Both queues full: with a share of 10 % Classic gets one byte in ten; what waits alone is
    /// served.
    #[test]
    fn weighted_round_robin_keeps_the_classic_share() {
        let mut d = dual();
        d.control.next_update = Instant::from_secs(1000);
        let (mut drops, mut marked) = (Vec::new(), 0);
        for n in 0..2000 {
            let ecn = if n % 2 == 0 { Ecn::Ect1 } else { Ecn::Ect0 };
            d.enqueue(Instant(0), of(n, ecn), &mut drops, &mut 0);
        }
        let got: Vec<Ecn> =
            (0..1000).filter_map(|_| d.dequeue(Instant(0), &mut drops, &mut marked)).map(|i| i.ecn).collect();
        let classic = got.iter().filter(|e| **e == Ecn::Ect0).count();
        assert!((99..=101).contains(&classic), "{classic}");
        assert_eq!(d.cq.fifo.packets(), 1000 - classic);
    }

    /// Pairs of L4S packets against a Classic queue that is never empty: a pair leaves as a whole,
    /// but for Classic's turn after each nine L4S packets. What Classic sends while no L4S packet
    /// waits does not count. 90 pairs are 180 packets: 20 turns, each but the last within a pair
    /// where nine is odd (9, 27, ...: 10 of them) and between two pairs where it is even.
    #[test]
    fn a_pair_is_not_parted_by_the_classic_queue_each_time() {
        let mut d = dual();
        d.control.next_update = Instant::from_secs(1000);
        let (mut drops, mut marked) = (Vec::new(), 0);
        (0..1000).for_each(|n| d.enqueue(Instant(0), of(n, Ecn::Ect0), &mut drops, &mut 0));
        let (mut within, mut between) = (0, 0);
        for n in 0..90 {
            (0..2).for_each(|_| d.enqueue(Instant(0), of(n, Ecn::Ect1), &mut drops, &mut 0));
            let mut next = || d.dequeue(Instant(0), &mut drops, &mut marked).unwrap().ecn;
            let mut order = vec![next()];
            while order.iter().filter(|e| **e == Ecn::Ect1).count() < 2 {
                order.push(next());
            }
            match order[..] {
                [Ecn::Ect1, Ecn::Ect1] => {}
                [Ecn::Ect1, Ecn::Ect0, Ecn::Ect1] => within += 1,
                [Ecn::Ect0, Ecn::Ect1, Ecn::Ect1] => between += 1,
                _ => panic!("{order:?}"),
            }
            // No L4S packet waits: Classic's.
            assert_eq!(next(), Ecn::Ect0);
        }
        assert_eq!((within, between), (10, 9), "the last turn comes after the last pair");
    }

    /// Time-shifted FIFO: a Classic head is served first once it is more than the shift older.
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
                &mut 0,
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
            d.enqueue(Instant(0), of(n, ecn), &mut drops, &mut 0);
        }
        assert_eq!((d.packets(), drops.len(), drops[0].cause), (2, 1, DropCause::QueueFull));
    }
}
