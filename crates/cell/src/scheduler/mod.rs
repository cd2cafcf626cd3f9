//! Scheduling policies: small, over one mechanism.
//!
//! Once a TTI the mechanism gathers the [`Candidate`]s (UEs with something to send and a usable
//! channel) and calls the policy for one weight each. The mechanism determines the resource blocks,
//! MCS and HARQ process of a candidate ([`super::allocation`]); a policy determines only the order
//! and the [`Domain`].
//!
//! A candidate with a weight of 0 or below is not served in this TTI. Equal metrics are served in
//! the order of the candidates, which is that of the UEs.
//!
//! To add a policy: write a [`Policy`] that is [`BuiltIn`] in a file of its own, and add its module
//! and its entry of the list `built_in_schedulers!` here. A policy outside this crate has a
//! [`Definition`] and becomes [`Scheduler::Custom`].

/// Passes the list of all schedulers to the macro `$then`. An entry: the text in the schema of
/// scenarios, the variant of [`SchedulerConfig`], and the policy with its module.
macro_rules! built_in_schedulers {
    ($then:ident) => {
        $then! {
            /// Equal shares of the band by turns, independent of the channel.
            RoundRobin round_robin::RoundRobin;
            /// Rate on each group of blocks over the average served.
            ProportionalFair channel::ProportionalFair;
            /// The whole band to the best channel.
            Tdmt channel::TimeMaxRate;
            /// Each group of blocks to the best channel on it.
            Fdmt channel::FrequencyMaxRate;
            /// The whole band to the UE that was served least.
            TdBet equal_throughput::TimeEqualThroughput;
            /// Each group of blocks to the UE that was served least.
            FdBet equal_throughput::FrequencyEqualThroughput;
            /// Rate on each group of blocks over the rate on the whole band.
            Tta channel::ThroughputToAverage;
            /// A few UEs at a time, those below their target rate first.
            PrioritySet priority_set::PrioritySet;
            /// By delay budget and guaranteed rate of the class, proportional fair for the rest.
            QosAware qos::QosAware;
        }
    };
}

pub mod built_in;
mod channel;
mod config;
mod custom;
mod equal_throughput;
mod priority_set;
pub mod qci;
mod qos;
mod round_robin;

pub use built_in::{SCHEDULERS, Scheduler, SchedulerConfig};
pub use channel::{FrequencyMaxRate, ProportionalFair, ThroughputToAverage, TimeMaxRate};
pub use config::NoParameters;
pub use custom::{Definition, SchedulerContext, SchedulerKind, Schedulers, Setup};
pub use equal_throughput::{FrequencyEqualThroughput, TimeEqualThroughput};
pub use priority_set::{PrioritySet, PrioritySetConfig};
pub use qos::QosAware;
pub use round_robin::RoundRobin;

use std::collections::BTreeMap;
use std::fmt::Debug;

pub use lasthop_engine::custom::Fault;
use lasthop_net::Entry;
use lasthop_units::{Duration, Tti, UeId};

/// Information on a UE that could be served in this TTI.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    /// The UE.
    pub ue: UeId,
    /// Bytes waiting [B].
    pub backlog: u64,
    /// How long the oldest packet has waited, for a policy that reads it
    /// ([`Policy::reads_class`]).
    pub head_delay: Duration,
    /// Bits that the whole band would carry now at the wideband rate [bit per TTI].
    pub wideband_rate: f64,
    /// Average rate served so far (exponential, the cell's window) [bit per TTI]; above 0.
    pub average: f64,
    /// QoS class identifier of the most urgent bearer with data (TS 23.203 table 6.1.7), for a
    /// policy that reads it.
    pub qci: u8,
    /// Guaranteed bit rate [bit per TTI]; 0 for none. For a policy that reads it.
    pub guaranteed: f64,
    /// Number of the last TTI in which the UE was served; None: never.
    pub served: Option<Tti>,
}

/// How the mechanism divides the band by the weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// Each resource block group is given to the candidate with the highest metric.
    Frequency {
        /// The metric is the weight times the rate on the group; otherwise the weight alone.
        channel_aware: bool,
        /// Groups given in this TTI count at once: the weight is a function of the average, and the
        /// metric is divided by the factor by which the groups raise the average.
        counts_given: bool,
    },
    /// The candidate with the highest weight gets as many groups as it needs, then the next one.
    Time,
    /// By descending weight, each gets the same number of groups.
    Equal,
}

impl Domain {
    /// The metric of a candidate with the weight `weight` where the whole band is one group.
    pub fn metric_of_band(self, weight: f64, candidate: &Candidate) -> f64 {
        match self {
            Domain::Frequency { channel_aware: true, .. } => weight * candidate.wideband_rate,
            _ => weight,
        }
    }
}

/// A scheduling policy.
pub trait Policy: Debug + Send {
    /// The domain in which its weights apply.
    fn domain(&self) -> Domain;
    /// True if the weights depend on class, guaranteed rate or delay of the candidates: otherwise
    /// these need not be determined.
    fn reads_class(&self) -> bool {
        true
    }
    /// Writes one weight per candidate to `weights`, which has as many places.
    fn weigh(&mut self, tti: Tti, candidates: &[Candidate], weights: &mut [f64]);
    /// Returns an error since the last call, in code that can fail (a policy of the caller's own);
    /// the run ends with it.
    fn fault(&mut self) -> Option<Fault> {
        None
    }
}

/// A policy of this crate, with its entry in the registry and its constructor.
pub trait BuiltIn: Policy + Sized {
    /// Its parameters in a scenario.
    type Config: Default;
    /// Name, description, source, parameters.
    const ENTRY: Entry;
    /// Creates the policy with these parameters, for a cell with this TTI.
    fn new(config: &Self::Config, tti: Duration) -> Self;
}

/// An entry without parameters.
const fn entry(name: &'static str, summary: &'static str, source: &'static str) -> Entry {
    Entry { name, summary, source, parameters: &[] }
}

/// A survey, the source of several policies.
const CAPOZZI: &str = "F. Capozzi and others, \"Downlink packet scheduling in LTE cellular \
                                  networks\", IEEE Communications Surveys and Tutorials 15(2), 2013";

/// A policy of the caller's own as a scenario names it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CustomScheduler {
    /// The name under which it was defined.
    pub name: String,
    /// Its parameters.
    pub parameters: BTreeMap<String, f64>,
}

/// Stands for a policy of the caller's own that could not be made: serves no UE.
#[derive(Clone, Copy, Debug, Default)]
struct Absent;

impl Policy for Absent {
    fn domain(&self) -> Domain {
        Domain::Time
    }
    fn weigh(&mut self, _: Tti, _: &[Candidate], _: &mut [f64]) {}
}

/// Computes weights that are a function of each candidate alone.
fn each_by(candidates: &[Candidate], weights: &mut [f64], weight: impl Fn(&Candidate) -> f64) {
    for (c, w) in candidates.iter().zip(weights) {
        *w = weight(c);
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use lasthop_units::Id;

    /// A candidate with a full buffer.
    pub fn candidate(ue: usize, wideband_rate: f64, average: f64) -> Candidate {
        Candidate {
            ue: UeId::from_index(ue),
            backlog: 1_000_000,
            head_delay: Duration::ZERO,
            wideband_rate,
            average,
            qci: 9,
            guaranteed: 0.0,
            served: None,
        }
    }

    /// The weights that a policy writes.
    pub fn weights(policy: &mut dyn Policy, tti: u64, candidates: &[Candidate]) -> Vec<f64> {
        let mut weights = vec![0.0; candidates.len()];
        policy.weigh(Tti(tti), candidates, &mut weights);
        weights
    }
}
