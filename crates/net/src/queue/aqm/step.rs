//! A mark from a threshold on, and never a drop: what DCTCP wants of a queue.
//!
//! M. Alizadeh and others, "Data Center TCP (DCTCP)", SIGCOMM 2010, section 3.1: an arriving packet
//! is marked if the queue is longer than K. The arriving packet counts here, the one that is being
//! sent does not, so that a packet is marked behind K or more that wait: the rule of Linux' RED
//! with both thresholds at K and weight 1 (include/net/red.h, red_cmp_thresh). A threshold of time
//! is judged when a packet leaves, as CoDel's `ce_threshold` in Linux is
//! (include/net/codel_impl.h).

use lasthop_units::Instant;

use super::{Backlog, Sight, StepParams, Verdict};

/// Where nothing is given: the K of the paper for 1 Gbit/s (section 3.5).
pub(crate) const DEFAULT_PACKETS: u32 = 20;

/// A step. It has no state.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    params: StepParams,
}

impl Step {
    /// A step at the threshold of `params`.
    pub const fn new(params: StepParams) -> Step {
        Step { params }
    }

    /// `packet` has arrived behind `ahead`.
    #[inline]
    pub fn arrives(&self, packet: Sight, ahead: Backlog) -> Verdict {
        let most = match self.params {
            StepParams { threshold_packets: Some(k), .. } => k,
            StepParams { threshold_time: Some(_), .. } => return Verdict::Pass,
            StepParams { threshold_packets: None, threshold_time: None } => DEFAULT_PACKETS,
        };
        mark_if(ahead.packets >= u64::from(most), packet)
    }

    /// `packet`, here since `since`, has been taken out.
    #[inline]
    pub fn leaves(&self, now: Instant, packet: Sight, since: Instant) -> Verdict {
        mark_if(self.params.threshold_time.is_some_and(|most| now.since(since) > most), packet)
    }
}

const fn mark_if(beyond: bool, packet: Sight) -> Verdict {
    if beyond && packet.ecn.is_capable() { Verdict::Mark } else { Verdict::Pass }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_units::{Duration, Ecn};

    const ECT: Sight = Sight { size: 1500, ecn: Ecn::Ect0 };
    const NOT_ECT: Sight = Sight { size: 1500, ecn: Ecn::NotEct };

    fn ahead(packets: u64) -> Backlog {
        Backlog { packets, bytes: 1500 * packets }
    }

    #[test]
    fn packets_are_marked_from_the_threshold_on_and_never_dropped() {
        let step = Step::new(StepParams { threshold_packets: Some(65), ..StepParams::default() });
        assert_eq!(step.arrives(ECT, ahead(64)), Verdict::Pass);
        assert_eq!(step.arrives(ECT, ahead(65)), Verdict::Mark);
        assert_eq!(step.arrives(NOT_ECT, ahead(10_000)), Verdict::Pass);
        assert_eq!(step.leaves(Instant::from_secs(9), ECT, Instant(0)), Verdict::Pass);
        assert_eq!(Step::new(StepParams::default()).arrives(ECT, ahead(20)), Verdict::Mark);
        assert_eq!(Step::new(StepParams::default()).arrives(ECT, ahead(19)), Verdict::Pass);
    }

    #[test]
    fn a_threshold_of_time_is_judged_at_the_head() {
        let time = Some(Duration::from_millis(1));
        let step = Step::new(StepParams { threshold_time: time, ..StepParams::default() });
        assert_eq!(step.arrives(ECT, ahead(10_000)), Verdict::Pass);
        assert_eq!(step.leaves(Instant::from_millis(3), ECT, Instant::from_millis(2)), Verdict::Pass);
        assert_eq!(step.leaves(Instant(3_000_001), ECT, Instant::from_millis(2)), Verdict::Mark);
        assert_eq!(step.leaves(Instant(3_000_001), NOT_ECT, Instant::from_millis(2)), Verdict::Pass);
    }
}
