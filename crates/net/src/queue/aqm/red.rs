//! RED: S. Floyd, V. Jacobson, "Random early detection gateways for congestion avoidance", IEEE/ACM
//! ToN 1(4), 1993. `gentle` is ns-2's `gentle_` (S. Floyd, "Recommendation on using the gentle_
//! variant of RED", 2000). Beyond the upper threshold ECN-capable packets are marked, as Linux does
//! (net/sched/sch_red.c, RED_HARD_MARK), or dropped with `harddrop` (Linux' TC_RED_HARDDROP, ns-3's
//! UseHardDrop).
//!
//! The decision on arrivals uses an average of the queue's length in packets. The names are those
//! of the paper's figure 2.

use lasthop_engine::{Draw, Purpose, math};
use lasthop_units::{Bytes, Duration, Instant, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Backlog, ManagedKind, Management, Parameters, Sight, Verdict};
use crate::queue::kind::{BYTES, ECN, PACKETS, Site, Wrong, check_that, parameter};
use crate::registry::Entry;

aqm_parameters! {
    /// Parameters of RED.
    RedParams,
    /// A queue with RED.
    RedConfig, default packets "1000",
    /// Average length below which no packet is dropped or marked [packets], above 0.
    min_packets: f64 = 5.0,
    /// Average length from which every packet is dropped or marked, or with `gentle` from which the
    /// probability rises more steeply [packets]; at least `min_packets`.
    max_packets: f64 = 15.0,
    /// Weight of the newest length in the average, above 0 and at most 1.
    queue_weight: f64 = 0.002,
    /// Drop probability just below `max_packets`.
    max_p: Ratio = Ratio(0.02),
    /// Between `max_packets` and twice this length the probability rises linearly to 1, instead of
    /// being 1 from `max_packets` on (ns-2 `gentle_`).
    gentle: bool = false,
    /// Size of a typical packet. It determines how fast the average falls while the queue is empty.
    mean_packet: Bytes = Bytes(1000),
    /// Mark ECN-capable packets instead of dropping them.
    ecn: bool = true,
    /// Where every packet is dropped or marked, drop ECN-capable packets too (Linux `harddrop`,
    /// ns-3 `UseHardDrop`).
    harddrop: bool = false,
}

/// RED's state.
#[derive(Clone, Debug)]
pub struct Red {
    params: RedParams,
    draw: Draw,
    /// Arrivals so far: the number of the draw.
    arrivals: u64,
    /// Average queue size [packets].
    avg: f64,
    /// Packets since the last signal; -1 below the lower threshold.
    count: i64,
    /// When the queue became empty.
    q_time: Instant,
    /// Time that a packet of `mean_packet` takes on the link; zero: as measured.
    packet_time: Duration,
    measured: Service,
}

/// How fast packets leave while others wait, where the rate of the link is unknown.
#[derive(Clone, Copy, Debug, Default)]
struct Service {
    /// The last packet left then, of this size, and others stayed.
    last: Option<(Instant, u32)>,
    /// Times from a departure to the next one [ns], and octets that left in them; old ones fade.
    busy_ns: f64,
    bytes: f64,
}

/// Share of the measurement that fades with each departure: that of the default weight in the
/// average.
const FADING: f64 = 0.002;

impl Service {
    fn leaves(&mut self, now: Instant, size: u32, behind: Backlog) {
        if let Some((at, bytes)) = self.last {
            self.busy_ns += now.since(at).0 as f64 - FADING * self.busy_ns;
            self.bytes += f64::from(bytes) - FADING * self.bytes;
        }
        self.last = (behind.packets > 0).then_some((now, size));
    }
    /// Time of `size` [ns]; `None`: nothing was measured.
    fn time_for(&self, size: Bytes) -> Option<f64> {
        (self.busy_ns > 0.0 && self.bytes > 0.0).then(|| size.0 as f64 * self.busy_ns / self.bytes)
    }
}

impl Red {
    /// With an empty queue. While it is empty, the average falls by one packet per `packet_time`;
    /// if that is zero, the time of a packet is measured while packets wait.
    pub const fn new(params: RedParams, draw: Draw, packet_time: Duration) -> Red {
        let measured = Service { last: None, busy_ns: 0.0, bytes: 0.0 };
        Red { params, draw, arrivals: 0, avg: 0.0, count: -1, q_time: Instant::ZERO, packet_time, measured }
    }

    /// The average queue size [packets].
    pub const fn average(&self) -> f64 {
        self.avg
    }

    /// `packet` has arrived behind `ahead`.
    pub fn arrives(&mut self, now: Instant, packet: Sight, ahead: Backlog) -> Verdict {
        self.update_average(now, ahead.packets);
        let n = self.arrivals;
        self.arrivals += 1;
        let p_b = match self.initial_probability() {
            None => {
                self.count = -1;
                return Verdict::Pass;
            }
            Some(p) => p,
        };
        self.count += 1;
        if p_b >= 1.0 {
            // Mark the arriving packet, count <- 0: beyond the upper threshold every packet is.
            self.count = 0;
            return Verdict::signal(self.params.ecn && !self.params.harddrop, packet);
        }
        if self.draw.happens(n, self.uniform_probability(p_b)) {
            self.count = 0;
            return Verdict::signal(self.params.ecn, packet);
        }
        Verdict::Pass
    }

    /// A packet of `size` octets was taken out; `behind` stays.
    pub fn leaves(&mut self, now: Instant, size: u32, behind: Backlog) {
        if self.packet_time.is_zero() {
            self.measured.leaves(now, size, behind);
        }
        if behind.packets == 0 {
            self.q_time = now;
        }
    }

    fn update_average(&mut self, now: Instant, queue: u64) {
        let w = self.params.queue_weight;
        if queue > 0 {
            self.avg += w * (queue as f64 - self.avg);
        } else {
            // m = f(time - q_time): as if so many packets had arrived at an empty queue; at least
            // this one has.
            let idle = now.since(self.q_time).0 as f64;
            let known = (!self.packet_time.is_zero()).then_some(self.packet_time.0 as f64);
            let packet = known.or_else(|| self.measured.time_for(self.params.mean_packet));
            let m = packet.map_or(1.0, |ns| (idle / ns).max(1.0));
            self.avg *= math::pow(1.0 - w, m);
            // What waited may have been removed in another way.
            self.measured.last = None;
        }
    }

    /// p_b by the average; `None` below the lower threshold, 1 where every packet is marked or
    /// dropped.
    fn initial_probability(&self) -> Option<f64> {
        let p = &self.params;
        if self.avg < p.min_packets {
            return None;
        }
        if self.avg < p.max_packets {
            return Some(p.max_p.0 * (self.avg - p.min_packets) / (p.max_packets - p.min_packets));
        }
        if p.gentle && self.avg < 2.0 * p.max_packets {
            return Some(p.max_p.0 + (1.0 - p.max_p.0) * (self.avg - p.max_packets) / p.max_packets);
        }
        Some(1.0)
    }

    /// p_a = p_b / (1 - count p_b): signals are spread evenly instead of geometrically.
    fn uniform_probability(&self, p_b: f64) -> f64 {
        let rest = 1.0 - self.count as f64 * p_b;
        if rest <= p_b { 1.0 } else { p_b / rest }
    }
}

impl Parameters for RedParams {
    type Run = Red;

    fn validate(&self) -> Result<(), Wrong> {
        let finite = self.min_packets.is_finite() && self.min_packets > 0.0;
        check_that(finite, "min_packets", "must be above 0 packets")?;
        let above = self.max_packets.is_finite() && self.max_packets >= self.min_packets;
        check_that(above, "max_packets", "must not be below `min_packets`")?;
        let weight = self.queue_weight > 0.0 && self.queue_weight <= 1.0;
        check_that(weight, "queue_weight", "must be above 0 and at most 1")
    }
    fn marks(&self) -> bool {
        self.ecn
    }
    fn build(&self, site: &Site) -> Red {
        let draw = Draw::new(site.seed, Purpose::Aqm, site.entity);
        Red::new(*self, draw, site.time_for(self.mean_packet))
    }
}

impl ManagedKind for RedConfig {
    const ENTRY: Entry = Entry {
        name: "red",
        summary: "drops arrivals at random by the average length",
        source: "S. Floyd, V. Jacobson, \"Random early detection gateways for congestion avoidance\", IEEE/ACM ToN \
                 1(4), 1993 (defaults: its section 4); `gentle`: ns-2; `harddrop`: Linux",
        parameters: &[
            PACKETS,
            BYTES,
            parameter(
                "min_packets",
                "5",
                "average length below which nothing is dropped or marked [packets]",
            ),
            parameter(
                "max_packets",
                "15",
                "average length from which everything is dropped or marked [packets]",
            ),
            parameter("queue_weight", "0.002", "weight of the newest length in the average"),
            parameter("max_p", "2 %", "drop probability just below `max_packets`"),
            parameter("gentle", "false", "the probability rises to 1 between one and two `max_packets`"),
            parameter("mean_packet", "1 kB", "size of a typical packet, for the decay while empty"),
            ECN,
            parameter("harddrop", "false", "drop ECN-capable packets too from `max_packets` on"),
        ],
    };

    fn never_marks(&self, fit: u32) -> Option<(&'static str, String)> {
        let (low, fit) = (self.min_packets, f64::from(fit));
        if low > fit {
            return Some(("min_packets", format!("the average never reaches {low} packets: {fit} fit")));
        }
        let message = "this key has no effect here: without `ecn` every packet is dropped";
        (self.harddrop && !self.ecn).then(|| ("harddrop", message.into()))
    }
}

impl Management for Red {
    #[inline]
    fn arrives(&mut self, now: Instant, packet: Sight, ahead: Backlog) -> Verdict {
        Red::arrives(self, now, packet, ahead)
    }
    #[inline]
    fn leaves(&mut self, now: Instant, packet: Sight, _since: Instant, behind: Backlog) -> Verdict {
        Red::leaves(self, now, packet.size, behind);
        Verdict::Pass
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_units::Ecn;

    const PACKET: Sight = Sight { size: 1000, ecn: Ecn::NotEct };

    fn red(params: RedParams) -> Red {
        Red::new(params, Draw::new(1, Purpose::Aqm, 0), Duration::from_millis(1))
    }

    fn behind(packets: u64) -> Backlog {
        Backlog { packets, bytes: packets * 1000 }
    }

    /// avg_n = q (1 - (1 - w)^n) for a queue that jumps from 0 to q: with w = 0.002 and q = 50, n =
    /// 100 gives 50 (1 - 0.998^100) = 9.0717.
    #[test]
    fn the_average_follows_its_closed_form() {
        let mut r = red(RedParams { min_packets: 1000.0, max_packets: 2000.0, ..RedParams::default() });
        (0..100).for_each(|_| assert_eq!(r.arrives(Instant(0), PACKET, behind(50)), Verdict::Pass));
        assert!((r.average() - 9.0717).abs() < 5e-4, "{}", r.average());
        // Empty for 500 packet times: times 0.998^500 = 0.36751.
        let before = r.average();
        r.leaves(Instant::from_millis(10), 1000, behind(0));
        r.arrives(Instant::from_millis(510), PACKET, behind(0));
        assert!((r.average() / before - 0.36751).abs() < 1e-4);
    }

    /// Where the rate is unknown: blocks of 5 ms carry five packets of 500 B each, so 1000 B take 2
    /// ms. Empty for 500 ms, which are 250 packets: times 0.998^250 = 0.60623. The idle time is no
    /// time of a packet.
    #[test]
    fn without_a_rate_the_average_falls_by_the_packets_that_left_before() {
        let params = RedParams { min_packets: 1000.0, max_packets: 2000.0, ..RedParams::default() };
        let mut r = Red::new(params, Draw::new(1, Purpose::Aqm, 0), Duration::ZERO);
        let mut now = Instant::ZERO;
        for _ in 0..2 {
            (0..500).for_each(|n| assert_eq!(r.arrives(now, PACKET, behind(n)), Verdict::Pass));
            for left in (0..500).rev() {
                r.leaves(now + Duration::from_millis((499 - left) / 5 * 5), 500, behind(left));
            }
            now += Duration::from_millis(495);
            let before = r.average();
            now += Duration::from_millis(500);
            r.arrives(now, PACKET, behind(0));
            assert!((r.average() / before - 0.60623).abs() < 5e-3, "{}", r.average() / before);
            r.leaves(now, 500, behind(0));
        }
    }

    /// Section 4 of the paper, method 2: with p_a = p_b / (1 - count p_b) the gap between two
    /// marked packets is uniform on 1 .. 1/p_b. With p_b = 0.02: mean (1 + 50) / 2 = 25.5, none
    /// above 50.
    #[test]
    fn gaps_between_signals_are_uniform() {
        let params = RedParams { queue_weight: 1.0, max_p: Ratio(0.04), ..RedParams::default() };
        let mut r = red(params);
        // avg = 10, half way between 5 and 15: p_b = 0.02.
        let (mut gaps, mut last) = (Vec::new(), None);
        for n in 0..100_000u64 {
            if r.arrives(Instant(n), PACKET, behind(10)) == Verdict::Drop {
                gaps.extend(last.map(|l| n - l));
                last = Some(n);
            }
        }
        let mean = gaps.iter().sum::<u64>() as f64 / gaps.len() as f64;
        // Standard deviation of uniform 1..50: 14.4; of the mean of about 3900 gaps: 0.23. Five of
        // them.
        assert!((mean - 25.5).abs() < 1.2, "{mean}");
        assert!(gaps.iter().all(|g| (1..=50).contains(g)));
        let lower = gaps.iter().filter(|g| **g <= 25).count() as f64 / gaps.len() as f64;
        assert!((lower - 0.5).abs() < 0.04, "{lower}");
    }

    /// Without gentle everything is dropped from max_packets on; with it p rises from max_p to 1
    /// over the next max_packets.
    #[test]
    fn beyond_the_upper_threshold_all_is_dropped_or_gently_more() {
        let base = RedParams { queue_weight: 1.0, ..RedParams::default() };
        let mut r = red(base);
        assert_eq!(r.arrives(Instant(0), PACKET, behind(4)), Verdict::Pass);
        assert_eq!(r.arrives(Instant(0), PACKET, behind(15)), Verdict::Drop);
        let mut r = red(RedParams { gentle: true, ..base });
        r.arrives(Instant(0), PACKET, behind(18));
        // 0.02 + 0.98 * 3 / 15 = 0.216.
        assert!((r.initial_probability().unwrap() - 0.216).abs() < 1e-12);
        r.arrives(Instant(0), PACKET, behind(30));
        assert_eq!(r.initial_probability(), Some(1.0));
    }

    /// Linux, net/sched/sch_red.c, red_enqueue, case RED_HARD_MARK: a mark for an ECN-capable
    /// packet, a drop for others, with `harddrop` and without `ecn`.
    #[test]
    fn beyond_the_upper_threshold_ecn_capable_packets_are_marked_unless_harddrop() {
        let base = RedParams { queue_weight: 1.0, ..RedParams::default() };
        let ect = Sight { ecn: Ecn::Ect0, ..PACKET };
        for (ecn, harddrop, packet, verdict) in [
            (true, false, ect, Verdict::Mark),
            (true, false, PACKET, Verdict::Drop),
            (true, true, ect, Verdict::Drop),
            (false, false, ect, Verdict::Drop),
        ] {
            let mut r = red(RedParams { ecn, harddrop, ..base });
            assert_eq!(r.arrives(Instant(0), packet, behind(15)), verdict, "{ecn} {harddrop} {packet:?}");
        }
    }

    /// Alizadeh and others 2010, section 3.1: with both thresholds at K and the instantaneous
    /// length (weight 1), RED is DCTCP's marking: every packet from K on, none below.
    #[test]
    fn equal_thresholds_and_weight_one_are_a_step() {
        let params =
            RedParams { min_packets: 20.0, max_packets: 20.0, queue_weight: 1.0, ..RedParams::default() };
        params.validate().unwrap();
        let mut r = red(params);
        let ect = Sight { ecn: Ecn::Ect0, ..PACKET };
        for (n, ahead) in [0u64, 19, 20, 500, 20, 19, 0].into_iter().enumerate() {
            let verdict = if ahead >= 20 { Verdict::Mark } else { Verdict::Pass };
            assert_eq!(r.arrives(Instant(n as u64), ect, behind(ahead)), verdict, "{ahead}");
        }
    }

    #[test]
    fn an_ecn_capable_packet_is_marked_between_the_thresholds() {
        let mut r = red(RedParams { queue_weight: 1.0, max_p: Ratio(1.0), ..RedParams::default() });
        let ect = Sight { ecn: Ecn::Ect1, ..PACKET };
        let verdicts: Vec<Verdict> = (0..50).map(|n| r.arrives(Instant(n), ect, behind(10))).collect();
        assert!(verdicts.contains(&Verdict::Mark) && !verdicts.contains(&Verdict::Drop));
    }
}
