//! Priority set: the time domain chooses a few UEs, those below their target bit rate first; the
//! frequency domain shares the band among them (G. Monghal, K. I. Pedersen, I. Z. Kovacs, P. E.
//! Mogensen, "QoS oriented time and frequency domain packet schedulers for the UTRAN long term
//! evolution", VTC Spring 2008).

use lasthop_net::{Entry, Parameter};
use lasthop_units::{Bitrate, Duration, Tti};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BuiltIn, Candidate, Domain, Policy};

/// Parameters of the priority set scheduler.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PrioritySetConfig {
    /// UEs that share the band in a TTI; 0: half of those with data.
    pub multiplexed: u32,
    /// Target of UEs without a guaranteed bit rate; 0 bit/s: none.
    pub target: Bitrate,
}

/// The policy.
#[derive(Clone, Debug)]
pub struct PrioritySet {
    /// UEs that take part in the frequency domain; 0: half of those with data, at least one.
    multiplexed: usize,
    /// Target of a UE without a guaranteed rate [bit per TTI]; 0: none.
    target: f64,
    /// Order of the candidates in the time domain.
    order: Vec<(bool, f64, usize)>,
}

impl PrioritySet {
    /// Creates a policy with `multiplexed` UEs in the frequency domain (0: half of those with data)
    /// and the `target` of a UE without a guaranteed bit rate [bit per TTI].
    const fn of(multiplexed: usize, target: f64) -> PrioritySet {
        PrioritySet { multiplexed, target, order: Vec::new() }
    }

    fn target_of(&self, c: &Candidate) -> f64 {
        if c.guaranteed > 0.0 { c.guaranteed } else { self.target }
    }
}

impl Policy for PrioritySet {
    fn domain(&self) -> Domain {
        Domain::Frequency { channel_aware: true, counts_given: false }
    }

    fn weigh(&mut self, _tti: Tti, candidates: &[Candidate], weights: &mut [f64]) {
        self.order.clear();
        for (i, c) in candidates.iter().enumerate() {
            // Set 1, below the target, is served by blind equal throughput; set 2 by proportional
            // fairness. Set 1 first.
            let below = c.average < self.target_of(c);
            let metric = if below { 1.0 / c.average } else { c.wideband_rate / c.average };
            self.order.push((below, metric, i));
        }
        self.order.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(b.1.total_cmp(&a.1)).then(a.2.cmp(&b.2)));
        let half = candidates.len().div_ceil(2);
        let chosen = if self.multiplexed == 0 { half } else { self.multiplexed };
        weights.fill(0.0);
        for (below, _, i) in self.order.iter().take(chosen) {
            let c = &candidates[*i];
            // Frequency domain: proportional fair among the chosen, where the weight of UEs below
            // their target is raised by target over average.
            let lack = if *below { self.target_of(c) / c.average } else { 1.0 };
            weights[*i] = lack / c.average;
        }
    }
}

impl BuiltIn for PrioritySet {
    type Config = PrioritySetConfig;
    const ENTRY: Entry = Entry {
        name: "priority-set",
        summary: "a few UEs at a time, those below their target rate first",
        source: "G. Monghal, K. Pedersen, I. Kovacs, P. Mogensen, VTC Spring 2008; ns-3 PssFfMacScheduler",
        parameters: &[
            Parameter {
                name: "multiplexed",
                default: "0",
                summary: "UEs that share the band in a TTI; 0: half of those with data",
            },
            Parameter {
                name: "target",
                default: "0 bit/s",
                summary: "target of UEs without a guaranteed bit rate [bit/s]",
            },
        ],
    };
    fn new(config: &PrioritySetConfig, tti: Duration) -> PrioritySet {
        let target = config.target.0 as f64 * tti.as_secs_f64();
        PrioritySet::of(config.multiplexed as usize, target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::testing::{candidate, weights};

    /// Averages 10, 50, 400 and a target of 100: the first two are below it, the first farther. Two
    /// are multiplexed, so the third waits, though its channel is a hundred times better.
    #[test]
    fn ues_below_their_target_come_first() {
        let cs = [candidate(0, 1e3, 10.0), candidate(1, 1e3, 50.0), candidate(2, 1e5, 400.0)];
        let mut policy = PrioritySet::of(2, 100.0);
        // 100/10/10 = 1, 100/50/50 = 0.04.
        assert_eq!(weights(&mut policy, 0, &cs), [1.0, 0.04, 0.0]);
        // Without a target all are in set 2, and half of three, rounded up, is two: 1e3/10 and
        // 1e5/400 lead.
        assert_eq!(weights(&mut PrioritySet::of(0, 0.0), 0, &cs), [0.1, 0.0, 1.0 / 400.0]);
    }
}
