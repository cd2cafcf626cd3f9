//! Policies that use the channel: proportional fair, maximum rate, throughput to average.

use lasthop_net::Entry;
use lasthop_units::{Duration, Tti};

use super::{BuiltIn, CAPOZZI, Candidate, Domain, NoParameters, Policy, each_by, entry};

/// Group by group, by the rate on the group.
const BY_RATE: Domain = Domain::Frequency { channel_aware: true, counts_given: false };

/// Proportional fair: the rate on the group over the average rate served, argmax_j R_j(k) / T_j
/// with T_j <- (1 - 1/a) T_j + R_j/a (A. Jalali, R. Padovani, R. Pankaj, VTC Spring 2000; S. Sesia,
/// I. Toufik, M. Baker, "LTE: the UMTS Long Term Evolution", Wiley 2009, clause 12.4). The window a
/// is the cell's.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProportionalFair;

impl Policy for ProportionalFair {
    fn domain(&self) -> Domain {
        BY_RATE
    }
    fn reads_class(&self) -> bool {
        false
    }
    fn weigh(&mut self, _tti: Tti, candidates: &[Candidate], weights: &mut [f64]) {
        each_by(candidates, weights, |c| 1.0 / c.average);
    }
}

impl BuiltIn for ProportionalFair {
    type Config = NoParameters;
    const ENTRY: Entry = entry(
        "proportional-fair",
        "rate on each group of blocks over the average served",
        "A. Jalali, R. Padovani, R. Pankaj, \"Data throughput of CDMA-HDR\", VTC Spring 2000; ns-3 PfFfMacScheduler",
    );
    fn new(_: &NoParameters, _: Duration) -> ProportionalFair {
        ProportionalFair
    }
}

/// Maximum rate in the time domain (maximum C/I): the whole band to the best wideband channel.
#[derive(Clone, Copy, Debug, Default)]
pub struct TimeMaxRate;

impl Policy for TimeMaxRate {
    fn domain(&self) -> Domain {
        Domain::Time
    }
    fn reads_class(&self) -> bool {
        false
    }
    fn weigh(&mut self, _tti: Tti, candidates: &[Candidate], weights: &mut [f64]) {
        each_by(candidates, weights, |c| c.wideband_rate);
    }
}

impl BuiltIn for TimeMaxRate {
    type Config = NoParameters;
    const ENTRY: Entry =
        entry("tdmt", "the whole band to the best channel (maximum C/I)", "ns-3 TdMtFfMacScheduler");
    fn new(_: &NoParameters, _: Duration) -> TimeMaxRate {
        TimeMaxRate
    }
}

/// Maximum rate in the frequency domain: each group to the best channel on it.
#[derive(Clone, Copy, Debug, Default)]
pub struct FrequencyMaxRate;

impl Policy for FrequencyMaxRate {
    fn domain(&self) -> Domain {
        BY_RATE
    }
    fn reads_class(&self) -> bool {
        false
    }
    fn weigh(&mut self, _tti: Tti, _candidates: &[Candidate], weights: &mut [f64]) {
        weights.fill(1.0);
    }
}

impl BuiltIn for FrequencyMaxRate {
    type Config = NoParameters;
    const ENTRY: Entry = entry(
        "fdmt",
        "each group of blocks to the best channel on it (maximum C/I)",
        "ns-3 FdMtFfMacScheduler",
    );
    fn new(_: &NoParameters, _: Duration) -> FrequencyMaxRate {
        FrequencyMaxRate
    }
}

/// Throughput to average: the rate on the group over the rate on the whole band now, so that each
/// gets the blocks on which it is best by its own measure (G. Monghal and others, "QoS oriented
/// time and frequency domain packet schedulers for the UTRAN long term evolution", VTC Spring 2008,
/// as surveyed by F. Capozzi and others, IEEE Communications Surveys and Tutorials 15(2), 2013).
#[derive(Clone, Copy, Debug, Default)]
pub struct ThroughputToAverage;

impl Policy for ThroughputToAverage {
    fn domain(&self) -> Domain {
        BY_RATE
    }
    fn reads_class(&self) -> bool {
        false
    }
    fn weigh(&mut self, _tti: Tti, candidates: &[Candidate], weights: &mut [f64]) {
        each_by(candidates, weights, |c| 1.0 / c.wideband_rate);
    }
}

impl BuiltIn for ThroughputToAverage {
    type Config = NoParameters;
    const ENTRY: Entry =
        entry("tta", "rate on each group of blocks over the rate on the whole band", CAPOZZI);
    fn new(_: &NoParameters, _: Duration) -> ThroughputToAverage {
        ThroughputToAverage
    }
}
