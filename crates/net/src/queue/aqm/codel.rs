//! CoDel (RFC 8289): drops at the head when packets have waited longer than a target for a whole
//! interval, then ever more often, by the square root of the count, until they wait less.
//!
//! The loop of RFC 8289 section 5.5 is unrolled: each packet that leaves is one call, and the work
//! of the loop between two packets is done in the call for the second. With ECN a packet is marked
//! instead of dropped and passes, so that one packet is signalled at a time (as in Linux).

use lasthop_units::{Bytes, Duration, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Backlog, ManagedKind, Management, Parameters, Sight, Verdict};
use crate::queue::kind::{
    BYTES, CE_THRESHOLD, CODEL_TARGET, ECN, INTERVAL, PACKETS, Site, Wrong, check_positive,
};
use crate::registry::Entry;

aqm_parameters! {
    /// Parameters of CoDel.
    CodelParams,
    /// A queue with CoDel.
    CodelConfig, default packets "1000",
    /// Acceptable waiting time of packets in a standing queue.
    target: Duration = Duration::from_millis(5),
    /// How long the waiting time must have exceeded `target` before the first drop: about the
    /// longest round trip.
    interval: Duration = Duration::from_millis(100),
    /// Mark ECN-capable packets instead of dropping them.
    ecn: bool = true,
    /// Mark every ECN-capable packet that has waited longer than this (Linux `ce_threshold`).
    /// Unset: no such marks.
    ce_threshold: Option<Duration> = None,
}

/// CoDel's state, with the names of RFC 8289 section 5.2.
#[derive(Clone, Debug)]
pub struct CoDel {
    params: CodelParams,
    /// When the sojourn time will have been above the target for an interval; `None`: it is not
    /// above.
    first_above_time: Option<Instant>,
    drop_next: Instant,
    count: u32,
    lastcount: u32,
    dropping: bool,
    /// A packet was dropped, and the next one has not been processed.
    dropped_one: bool,
    /// MAXPACKET: with no more octets than this waiting, there is no standing queue.
    mtu: u32,
}

/// The next drop: `interval / sqrt(count)` after `t` (RFC 8289 section 5.6).
pub fn control_law(t: Instant, interval: Duration, count: u32) -> Instant {
    let ns = interval.0 as f64 / f64::from(count.max(1)).sqrt();
    t.saturating_add(Duration(ns as u64))
}

impl CoDel {
    /// With nothing seen yet, before a link whose packets have `mtu` octets at most.
    pub const fn new(params: CodelParams, mtu: u32) -> CoDel {
        CoDel {
            params,
            first_above_time: None,
            drop_next: Instant::ZERO,
            count: 0,
            lastcount: 0,
            dropping: false,
            dropped_one: false,
            mtu,
        }
    }

    /// Drops since the dropping state was entered.
    pub const fn count(&self) -> u32 {
        self.count
    }
    /// True in the dropping state.
    pub const fn is_dropping(&self) -> bool {
        self.dropping
    }

    /// `packet`, here since `since`, has been taken out; `behind` stays.
    pub fn leaves(&mut self, now: Instant, packet: Sight, since: Instant, behind: Backlog) -> Verdict {
        let sojourn = now.since(since);
        let ok_to_drop = self.ok_to_drop(now, sojourn, behind.bytes);
        if std::mem::take(&mut self.dropped_one) && self.dropping && ok_to_drop {
            // The packet after a drop in the dropping state: the next drop is due from the last one
            // on, so that a large backlog drops several at once.
            self.drop_next = control_law(self.drop_next, self.params.interval, self.count);
        }
        let signal = if self.dropping {
            self.dropping = ok_to_drop;
            let due = self.dropping && now >= self.drop_next;
            if due {
                self.count += 1;
            }
            due
        } else {
            ok_to_drop
        };
        if !signal {
            return self.beyond_threshold(sojourn, packet);
        }
        let verdict = Verdict::signal(self.params.ecn, packet);
        if !self.dropping {
            self.enter(now);
        } else if verdict == Verdict::Mark {
            self.drop_next = control_law(self.drop_next, self.params.interval, self.count);
        } else {
            self.dropped_one = true;
        }
        verdict
    }

    /// Above the target for at least an interval, and more than the largest packet waits
    /// (`dodequeue` of section 5.6; the MTU is its MAXPACKET by section 5.5, and Linux').
    fn ok_to_drop(&mut self, now: Instant, sojourn: Duration, behind: u64) -> bool {
        if sojourn < self.params.target || behind <= u64::from(self.mtu) {
            self.first_above_time = None;
            return false;
        }
        match self.first_above_time {
            None => {
                self.first_above_time = Some(now.saturating_add(self.params.interval));
                false
            }
            Some(at) => now >= at,
        }
    }

    /// The dropping state begins. A rate that controlled the queue a short time ago is a good one
    /// to begin with.
    fn enter(&mut self, now: Instant) {
        self.dropping = true;
        let delta = self.count.saturating_sub(self.lastcount);
        let recent = now.since(self.drop_next) < self.params.interval.saturating_mul(16);
        self.count = if delta > 1 && recent { delta } else { 1 };
        self.drop_next = control_law(now, self.params.interval, self.count);
        self.lastcount = self.count;
    }

    /// Linux' `ce_threshold`: packets that have waited longer are marked, independent of the
    /// control law.
    fn beyond_threshold(&self, sojourn: Duration, packet: Sight) -> Verdict {
        match self.params.ce_threshold {
            Some(t) if sojourn > t && packet.ecn.is_capable() => Verdict::Mark,
            _ => Verdict::Pass,
        }
    }
}

impl Parameters for CodelParams {
    type Run = CoDel;

    fn validate(&self) -> Result<(), Wrong> {
        check_positive(self.target, "target")?;
        check_positive(self.interval, "interval")
    }
    fn marks(&self) -> bool {
        self.ecn || self.ce_threshold.is_some()
    }
    fn build(&self, site: &Site) -> CoDel {
        CoDel::new(*self, site.mtu())
    }
}

impl ManagedKind for CodelConfig {
    const ENTRY: Entry = Entry {
        name: "codel",
        summary: "drops at the head when packets have waited longer than a target for an interval",
        source: "RFC 8289; `ce_threshold`: Linux",
        parameters: &[PACKETS, BYTES, CODEL_TARGET, INTERVAL, ECN, CE_THRESHOLD],
    };
}

impl Management for CoDel {
    #[inline]
    fn leaves(&mut self, now: Instant, packet: Sight, since: Instant, behind: Backlog) -> Verdict {
        CoDel::leaves(self, now, packet, since, behind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_units::Ecn;

    const BIG: Backlog = Backlog { packets: 100, bytes: 150_000 };
    const NOT_ECT: Sight = Sight { size: 1500, ecn: Ecn::NotEct };
    const ECT: Sight = Sight { size: 1500, ecn: Ecn::Ect0 };

    fn ms(t: u64) -> Instant {
        Instant::from_millis(t)
    }

    /// A packet a millisecond, each of which has waited 20 ms: when the drops come [ms].
    fn drops(codel: &mut CoDel, from: u64, to: u64, packet: Sight) -> Vec<u64> {
        (from..to).filter(|&t| codel.leaves(ms(t), packet, ms(t - 20), BIG) != Verdict::Pass).collect()
    }

    /// 100 ms / sqrt(n) for n = 1 to 9: 100, 70.71, 57.73, 50, 44.72, 40.82, 37.80, 35.36, 33.33.
    #[test]
    fn the_control_law_divides_the_interval_by_the_square_root() {
        let law = |n| control_law(Instant::ZERO, Duration::from_millis(100), n).0 / 10_000;
        let want = [10_000, 7071, 5773, 5000, 4472, 4082, 3779, 3535, 3333];
        assert_eq!((1..10).map(law).collect::<Vec<_>>(), want);
    }

    /// Above the target from 100 ms on: first drop an interval later, at 200 ms (count 1); the next
    /// 100 / sqrt(1) later, at 300 ms, when count becomes 2; then at 300 + 70.71 = 370.71, +
    /// 57.74 = 428.45, + 50 = 478.45, + 44.72 = 523.17 ms, each found by the first packet at or
    /// after it.
    #[test]
    fn drops_come_an_interval_after_the_target_is_exceeded_and_then_ever_faster() {
        let mut c = CoDel::new(CodelParams::default(), 1500);
        assert_eq!(drops(&mut c, 100, 540, NOT_ECT), [200, 300, 371, 429, 479, 524]);
        assert_eq!(c.count(), 6);
    }

    /// Marks follow the same law; a marked packet passes.
    #[test]
    fn an_ecn_capable_packet_is_marked_at_the_same_moments() {
        let mut c = CoDel::new(CodelParams::default(), 1500);
        assert_eq!(drops(&mut c, 100, 540, ECT), [200, 300, 371, 429, 479, 524]);
        let mut c = CoDel::new(CodelParams { ecn: false, ..CodelParams::default() }, 1500);
        (100..200).for_each(|t| assert_eq!(c.leaves(ms(t), ECT, ms(t - 20), BIG), Verdict::Pass));
        assert_eq!(c.leaves(ms(200), ECT, ms(180), BIG), Verdict::Drop);
    }

    /// Six drops (count 6), then one packet in time: the state is left. Back above the target at
    /// 526 ms, the first drop comes at 626 ms; delta = 6 - 1 = 5 and 626 ms is less than 16
    /// intervals after the last drop_next, so count restarts at 5: the next drop is 100 /
    /// sqrt(5) = 44.72 ms later, at 670.72.
    #[test]
    fn a_short_absence_resumes_the_last_drop_rate() {
        let mut c = CoDel::new(CodelParams::default(), 1500);
        drops(&mut c, 100, 524, NOT_ECT);
        assert_eq!(c.leaves(ms(524), NOT_ECT, ms(504), BIG), Verdict::Drop);
        assert_eq!(c.leaves(ms(525), NOT_ECT, ms(524), BIG), Verdict::Pass);
        assert!(!c.is_dropping());
        assert_eq!(drops(&mut c, 526, 680, NOT_ECT), [626, 671]);
        // After more than 16 intervals it restarts: 2.5 s later, the first two drops are a whole
        // interval apart.
        c.leaves(ms(681), NOT_ECT, ms(681), BIG);
        assert_eq!(drops(&mut c, 3200, 3420, NOT_ECT), [3300, 3400]);
    }

    /// Below the target for one packet restarts the interval; so does a queue of no more than one
    /// packet.
    #[test]
    fn one_packet_in_time_or_an_almost_empty_queue_restarts_the_interval() {
        for (since, behind) in [(196, BIG), (150, Backlog { packets: 1, bytes: 1500 })] {
            let mut c = CoDel::new(CodelParams::default(), 1500);
            drops(&mut c, 100, 199, NOT_ECT);
            assert_eq!(c.leaves(ms(199), NOT_ECT, ms(since), behind), Verdict::Pass);
            assert_eq!(drops(&mut c, 200, 310, NOT_ECT), [300]);
        }
    }

    /// Packets of 200 B that wait 20 ms are no standing queue while up to 1500 B wait behind; with
    /// a byte more the first is dropped after an interval. Before a link with an MTU of 9000 B it
    /// takes 9001 B.
    #[test]
    fn a_queue_stands_above_the_mtu_of_the_link() {
        let small = Sight { size: 200, ..NOT_ECT };
        for (mtu, most) in [(None, 1500), (Some(9000), 9000)] {
            let site = Site { mtu, ..Site::default() };
            let first = |bytes| {
                let mut c = CodelParams::default().build(&site);
                let behind = Backlog { packets: bytes / 200, bytes };
                (100..400).find(|&t| c.leaves(ms(t), small, ms(t - 20), behind) == Verdict::Drop)
            };
            assert_eq!((first(most), first(most + 1)), (None, Some(200)));
        }
    }

    /// A backlog without a dequeue for a long time drops several in a row: the law continues from
    /// drop_next, not from now.
    #[test]
    fn overdue_drops_come_in_a_row() {
        let mut c = CoDel::new(CodelParams::default(), 1500);
        drops(&mut c, 100, 201, NOT_ECT);
        // drop_next = 300, then 370.7, 428.4, 478.4: at 450 ms three are due.
        let row: Vec<bool> =
            (0..4).map(|_| c.leaves(ms(450), NOT_ECT, ms(400), BIG) == Verdict::Drop).collect();
        assert_eq!(row, [true, true, true, false]);
    }

    #[test]
    fn the_ce_threshold_marks_what_waited_longer() {
        let params = CodelParams { ce_threshold: Some(Duration::from_millis(1)), ..CodelParams::default() };
        let mut c = CoDel::new(params, 1500);
        assert_eq!(c.leaves(ms(10), ECT, ms(8), BIG), Verdict::Mark);
        assert_eq!(c.leaves(ms(10), ECT, ms(9), BIG), Verdict::Pass);
        assert_eq!(c.leaves(ms(10), NOT_ECT, ms(8), BIG), Verdict::Pass);
    }
}
