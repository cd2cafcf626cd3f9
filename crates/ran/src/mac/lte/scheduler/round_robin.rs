//! Round robin: who has waited longest comes first, everybody gets the same number of blocks.

use lasthop_units::Tti;

use super::{Candidate, Domain, Policy, each_by};

/// Equal shares of the band by turns, whatever the channel.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoundRobin;

impl Policy for RoundRobin {
    fn domain(&self) -> Domain {
        Domain::Equal
    }
    fn weigh(&mut self, tti: Tti, candidates: &[Candidate], weights: &mut [f64]) {
        each_by(candidates, weights, |c| c.served.map_or(f64::INFINITY, |t| (tti.0 - t.0) as f64));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mac::lte::scheduler::testing::{candidate, weights};

    #[test]
    fn who_has_waited_longest_comes_first() {
        let at = |t| Candidate { served: Some(Tti(t)), ..candidate(0, 1.0, 1.0) };
        let w = weights(&mut RoundRobin, 10, &[at(9), at(3), candidate(2, 1.0, 1.0)]);
        assert_eq!(w, [1.0, 7.0, f64::INFINITY]);
    }
}
