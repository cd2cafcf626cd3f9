//! Scheduling policies: small, over one mechanism.
//!
//! Once a TTI the mechanism gathers the [`Candidate`]s (UEs with something to send and a usable channel) and asks
//! the policy for one weight each. What resource blocks, MCS and HARQ process a candidate gets is the mechanism's
//! business (`downlink.rs`, `uplink.rs`); a policy says only who comes first and over which domain:
//!
//! * [`Domain::Frequency`]: each resource block group goes to the candidate with the highest
//!   `weight * (rate on the group)^a`, `a` 1 for a channel-aware policy and 0 for a blind one;
//! * [`Domain::Time`]: the candidate with the highest weight takes what it needs, then the next;
//! * [`Domain::Equal`]: by descending weight, each gets the same number of groups.
//!
//! A weight of 0 or below means: not in this TTI. Equal weights are served in the order of the candidates, which is
//! that of the UEs.

use std::fmt::Debug;

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
    /// Group by group.
    Frequency {
        /// The metric is the weight times the rate on the group; otherwise the weight alone.
        channel_aware: bool,
    },
    /// The first takes all that it needs.
    Time,
    /// Equal numbers of groups.
    Equal,
}

/// A scheduling policy.
pub trait Policy: Debug + Send {
    /// How its weights are spent.
    fn domain(&self) -> Domain;
    /// One weight per candidate into `weights`, which has as many places.
    fn weigh(&mut self, tti: Tti, candidates: &[Candidate], weights: &mut [f64]);
}
