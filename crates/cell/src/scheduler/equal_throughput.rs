//! Blind equal throughput: the UE with the lowest average is served first, independent of the
//! channel (F. Capozzi and others, IEEE Communications Surveys and Tutorials 15(2), 2013, clause
//! IV-A).

use lasthop_net::Entry;
use lasthop_units::{Duration, Tti};

use super::{BuiltIn, CAPOZZI, Candidate, Domain, NoParameters, Policy, each_by, entry};

/// In the time domain: the whole band to the lowest average.
#[derive(Clone, Copy, Debug, Default)]
pub struct TimeEqualThroughput;

impl Policy for TimeEqualThroughput {
    fn domain(&self) -> Domain {
        Domain::Time
    }
    fn reads_class(&self) -> bool {
        false
    }
    fn weigh(&mut self, _tti: Tti, candidates: &[Candidate], weights: &mut [f64]) {
        each_by(candidates, weights, |c| 1.0 / c.average);
    }
}

impl BuiltIn for TimeEqualThroughput {
    type Config = NoParameters;
    const ENTRY: Entry = entry("td-bet", "the whole band to the UE that was served least", CAPOZZI);
    fn new(_: &NoParameters, _: Duration) -> TimeEqualThroughput {
        TimeEqualThroughput
    }
}

/// In the frequency domain: each group to the lowest average, this TTI's groups included.
#[derive(Clone, Copy, Debug, Default)]
pub struct FrequencyEqualThroughput;

impl Policy for FrequencyEqualThroughput {
    fn domain(&self) -> Domain {
        Domain::Frequency { channel_aware: false, counts_given: true }
    }
    fn reads_class(&self) -> bool {
        false
    }
    fn weigh(&mut self, _tti: Tti, candidates: &[Candidate], weights: &mut [f64]) {
        each_by(candidates, weights, |c| 1.0 / c.average);
    }
}

impl BuiltIn for FrequencyEqualThroughput {
    type Config = NoParameters;
    const ENTRY: Entry =
        entry("fd-bet", "each group of blocks to the UE that was served least, at once", CAPOZZI);
    fn new(_: &NoParameters, _: Duration) -> FrequencyEqualThroughput {
        FrequencyEqualThroughput
    }
}
