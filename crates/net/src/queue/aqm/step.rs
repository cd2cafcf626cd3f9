//! A mark from a threshold on, and never a drop: DCTCP's requirement on a queue.
//!
//! M. Alizadeh and others, "Data Center TCP (DCTCP)", SIGCOMM 2010, section 3.1: an arriving packet
//! is marked if the queue is longer than K. The arriving packet counts here, the one that is being
//! sent does not, so that a packet is marked behind K or more that wait: the rule of Linux' RED
//! with both thresholds at K and weight 1 (include/net/red.h, red_cmp_thresh). A threshold of time
//! is tested when a packet leaves, as CoDel's `ce_threshold` in Linux is
//! (include/net/codel_impl.h).

use lasthop_units::{Bytes, Duration, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Backlog, ManagedKind, Management, Parameters, Sight, Verdict};
use crate::queue::kind::{BYTES, PACKETS, Site, Wrong, check_positive, check_that, parameter};
use crate::registry::Entry;

aqm_parameters! {
    /// Parameters of a step: the threshold is `threshold_packets` or `threshold_time`, not both.
    StepParams,
    /// A queue that marks at a step, and drops only packets that do not fit.
    StepConfig, default packets "1000",
    /// Mark an ECN-capable packet if at least this many packets (1 or more) wait when it arrives
    /// (DCTCP's K). If neither this key nor `threshold_time` is set: 20.
    threshold_packets: Option<u32> = None,
    /// Mark an ECN-capable packet that has waited longer than this when it leaves, above 0 s.
    threshold_time: Option<Duration> = None,
}

/// Where nothing is given: the K of the paper for 1 Gbit/s (section 3.5).
const DEFAULT_PACKETS: u32 = 20;

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

impl Parameters for StepParams {
    type Run = Step;

    fn validate(&self) -> Result<(), Wrong> {
        let both = self.threshold_packets.is_some() && self.threshold_time.is_some();
        check_that(!both, "threshold_time", "and `threshold_packets` exclude each other: keep one")?;
        check_that(self.threshold_packets != Some(0), "threshold_packets", "must be above 0 packets")?;
        self.threshold_time.map_or(Ok(()), |t| check_positive(t, "threshold_time"))
    }
    fn build(&self, _site: &Site) -> Step {
        Step::new(*self)
    }
}

impl ManagedKind for StepConfig {
    const ENTRY: Entry = Entry {
        name: "step",
        summary: "marks ECN-capable packets from a threshold on; drops only what does not fit",
        source: "M. Alizadeh and others, \"Data Center TCP (DCTCP)\", SIGCOMM 2010, section 3.1; RFC 8257",
        parameters: &[
            PACKETS,
            BYTES,
            parameter(
                "threshold_packets",
                "20 if `threshold_time` is absent",
                "mark a packet that finds so many waiting when it arrives (K)",
            ),
            parameter("threshold_time", "none", "mark a packet that has waited longer when it leaves"),
        ],
    };

    fn never_marks(&self, fit: u32) -> Option<(&'static str, String)> {
        let threshold = self.threshold_packets.unwrap_or(DEFAULT_PACKETS);
        let message = format!("the threshold is never reached: {threshold} packets, and {fit} fit");
        (self.threshold_time.is_none() && threshold >= fit).then_some(("threshold_packets", message))
    }
}

impl Management for Step {
    #[inline]
    fn arrives(&mut self, _now: Instant, packet: Sight, ahead: Backlog) -> Verdict {
        Step::arrives(self, packet, ahead)
    }
    #[inline]
    fn leaves(&mut self, now: Instant, packet: Sight, since: Instant, _behind: Backlog) -> Verdict {
        Step::leaves(self, now, packet, since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_units::Ecn;

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
    fn a_threshold_of_time_is_tested_at_the_head() {
        let time = Some(Duration::from_millis(1));
        let step = Step::new(StepParams { threshold_time: time, ..StepParams::default() });
        assert_eq!(step.arrives(ECT, ahead(10_000)), Verdict::Pass);
        assert_eq!(step.leaves(Instant::from_millis(3), ECT, Instant::from_millis(2)), Verdict::Pass);
        assert_eq!(step.leaves(Instant(3_000_001), ECT, Instant::from_millis(2)), Verdict::Mark);
        assert_eq!(step.leaves(Instant(3_000_001), NOT_ECT, Instant::from_millis(2)), Verdict::Pass);
    }
}
