//! Scheduling policies: small, over one mechanism.
//!
//! Once a TTI the mechanism gathers the [`Candidate`]s (UEs with something to send and a usable
//! channel) and asks the policy for one weight each. What resource blocks, MCS and HARQ process a
//! candidate gets is the mechanism's business ([`super::allocation`]); a policy says only who comes
//! first and over which [`Domain`].
//!
//! A weight of 0 or below means: not in this TTI. Equal metrics are served in the order of the
//! candidates, which is that of the UEs.
//!
//! To add one: write a [`Policy`], add a row to [`SCHEDULERS`], a variant to [`SchedulerConfig`]
//! and an arm to [`Scheduler`]. One of your own from outside has a [`Definition`] and becomes
//! [`Scheduler::Custom`].

mod channel;
mod config;
mod equal_throughput;
mod own;
mod priority_set;
pub mod qci;
mod qos;
mod round_robin;

pub use channel::{FrequencyMaxRate, ProportionalFair, ThroughputToAverage, TimeMaxRate};
pub use config::{NoParameters, PrioritySetConfig, SCHEDULERS, SchedulerConfig};
pub use equal_throughput::{FrequencyEqualThroughput, TimeEqualThroughput};
pub use own::{Definition, OwnScheduler, Place, SchedulerKind, Schedulers, Setup};
pub use priority_set::PrioritySet;
pub use qos::QosAware;
pub use round_robin::RoundRobin;

use std::fmt::Debug;

pub use lasthop_engine::own::Fault;
use lasthop_units::{Duration, Tti, UeId};

/// What a policy may know of a UE that could be served in this TTI.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    /// The UE.
    pub ue: UeId,
    /// Bytes waiting [B].
    pub backlog: u64,
    /// How long the oldest packet has waited.
    pub head_delay: Duration,
    /// What the whole band would carry now at the wideband rate [bit per TTI].
    pub wideband_rate: f64,
    /// Average of what was served so far (exponential, the cell's window) [bit per TTI]; above 0.
    pub average: f64,
    /// QoS class identifier of the most urgent bearer with data (TS 23.203 table 6.1.7).
    pub qci: u8,
    /// Guaranteed bit rate [bit per TTI]; 0 for none.
    pub guaranteed: f64,
    /// Number of the last TTI in which it was served; None: never.
    pub served: Option<Tti>,
}

/// How the mechanism spends the band by the weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// Each resource block group goes to the candidate with the highest metric.
    Frequency {
        /// The metric is the weight times the rate on the group; otherwise the weight alone.
        channel_aware: bool,
        /// What a candidate has been given in this TTI counts at once: its weight is a function of
        /// its average, and the metric is divided by what the average grows by.
        counts_given: bool,
    },
    /// The candidate with the highest weight takes what it needs, then the next.
    Time,
    /// By descending weight, each gets the same number of groups.
    Equal,
}

/// A scheduling policy.
pub trait Policy: Debug + Send {
    /// How its weights are spent.
    fn domain(&self) -> Domain;
    /// One weight per candidate into `weights`, which has as many places.
    fn weigh(&mut self, tti: Tti, candidates: &[Candidate], weights: &mut [f64]);
    /// What went wrong since this was asked last, in code that can fail (one of the caller's own):
    /// the run ends with it.
    fn fault(&mut self) -> Option<Fault> {
        None
    }
}

/// In the place of a policy of the caller's own that nobody has made: serves nobody.
#[derive(Clone, Copy, Debug, Default)]
struct Absent;

impl Policy for Absent {
    fn domain(&self) -> Domain {
        Domain::Time
    }
    fn weigh(&mut self, _: Tti, _: &[Candidate], _: &mut [f64]) {}
}

/// A policy at work.
#[derive(Debug)]
pub enum Scheduler {
    /// See [`RoundRobin`].
    RoundRobin(RoundRobin),
    /// See [`ProportionalFair`].
    ProportionalFair(ProportionalFair),
    /// See [`TimeMaxRate`].
    TimeMaxRate(TimeMaxRate),
    /// See [`FrequencyMaxRate`].
    FrequencyMaxRate(FrequencyMaxRate),
    /// See [`TimeEqualThroughput`].
    TimeEqualThroughput(TimeEqualThroughput),
    /// See [`FrequencyEqualThroughput`].
    FrequencyEqualThroughput(FrequencyEqualThroughput),
    /// See [`ThroughputToAverage`].
    ThroughputToAverage(ThroughputToAverage),
    /// See [`PrioritySet`].
    PrioritySet(PrioritySet),
    /// See [`QosAware`].
    QosAware(QosAware),
    /// One from outside.
    Custom(Box<dyn Policy>),
}

macro_rules! each {
    ($self:ident, $p:ident => $body:expr) => {
        match $self {
            Scheduler::RoundRobin($p) => $body,
            Scheduler::ProportionalFair($p) => $body,
            Scheduler::TimeMaxRate($p) => $body,
            Scheduler::FrequencyMaxRate($p) => $body,
            Scheduler::TimeEqualThroughput($p) => $body,
            Scheduler::FrequencyEqualThroughput($p) => $body,
            Scheduler::ThroughputToAverage($p) => $body,
            Scheduler::PrioritySet($p) => $body,
            Scheduler::QosAware($p) => $body,
            Scheduler::Custom($p) => $body,
        }
    };
}

impl Policy for Scheduler {
    #[inline]
    fn domain(&self) -> Domain {
        each!(self, p => p.domain())
    }
    #[inline]
    fn weigh(&mut self, tti: Tti, candidates: &[Candidate], weights: &mut [f64]) {
        debug_assert_eq!(candidates.len(), weights.len());
        each!(self, p => p.weigh(tti, candidates, weights))
    }
    fn fault(&mut self) -> Option<Fault> {
        match self {
            Scheduler::Custom(policy) => policy.fault(),
            _ => None,
        }
    }
}

/// Weights that are a function of each candidate alone.
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
