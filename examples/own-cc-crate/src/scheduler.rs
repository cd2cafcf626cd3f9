//! A scheduler of an LTE cell: the best channel first, and before it voice that has waited for too
//! long.
//!
//! demonstrates in particular:
//!
//! - a policy that implements [`Policy`]: one weight for each UE that could be served in this TTI;
//! - its [`Definition`]: name, documentation, parameter with default and unit, version, constructor
//!   that may refuse;
//! - a test of its weights without any cell.

use lasthop_sim::scheduler::{Candidate, Definition, Domain, Policy};
use lasthop_sim::units::{Duration, Tti};

/// Class 1 (voice) whose oldest packet has waited for `budget` outdoes any difference of rates.
#[derive(Clone, Debug)]
pub struct LateFirst {
    budget: Duration,
}

impl Policy for LateFirst {
    // Each group of resource blocks goes to the largest weight times rate there.
    fn domain(&self) -> Domain {
        Domain::Frequency { channel_aware: true, counts_given: false }
    }
    fn weigh(&mut self, _tti: Tti, candidates: &[Candidate], weights: &mut [f64]) {
        for (c, weight) in candidates.iter().zip(weights) {
            let late = c.qci == 1 && c.head_delay >= self.budget;
            *weight = if late { 1000.0 } else { 1.0 };
        }
    }
}

/// What a scenario calls `late-first`.
pub fn late_first() -> Definition {
    Definition::new("late-first", |setup| {
        let budget = setup.parameter("budget");
        if !(0.0..10.0).contains(&budget) {
            return Err(format!("late-first: budget = {budget} is outside 0 to 10 s").into());
        }
        Ok(Box::new(LateFirst { budget: Duration::from_micros((budget * 1e6) as u64) }))
    })
    .summary("the best channel first, before it voice that has waited for too long")
    .source("an example")
    .parameter("budget", 0.01, "s", "this crate")
    .version(env!("CARGO_PKG_VERSION"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_sim::units::{Id, UeId};

    #[test]
    fn late_voice_outdoes_the_rest() {
        let ue = |i: usize, qci: u8, waited: u64| Candidate {
            ue: UeId::from_index(i),
            backlog: 1000,
            head_delay: Duration::from_millis(waited),
            wideband_rate: 10_000.0,
            average: 5000.0,
            qci,
            guaranteed: 0.0,
            served: None,
        };
        let mut weights = [0.0; 3];
        let mut policy = LateFirst { budget: Duration::from_millis(10) };
        policy.weigh(Tti(0), &[ue(0, 9, 500), ue(1, 1, 9), ue(2, 1, 10)], &mut weights);
        assert_eq!(weights, [1.0, 1.0, 1000.0]);
    }
}
