//! Round robin: the UE that has waited longest is served first, and all UEs get the same number of
//! blocks.

use lasthop_net::Entry;
use lasthop_units::{Duration, Tti};

use super::{BuiltIn, Candidate, Domain, NoParameters, Policy, entry};

/// Equal shares of the band by turns, independent of the channel.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoundRobin;

impl Policy for RoundRobin {
    fn domain(&self) -> Domain {
        Domain::Equal
    }
    fn reads_class(&self) -> bool {
        false
    }
    fn weigh(&mut self, tti: Tti, candidates: &[Candidate], weights: &mut [f64]) {
        let n = candidates.len() as u64;
        for (i, (c, w)) in (0..n).zip(candidates.iter().zip(weights)) {
            // Among UEs that have waited equally long another one is first each time, so the
            // remainder of the division, which the first UEs get, rotates as well.
            let turn = ((i + n - tti.0 % n) % n) as f64 / n as f64;
            *w = c.served.map_or(f64::MAX / 2.0, |t| (tti.0 - t.0) as f64) + 1.0 - turn;
        }
    }
}

impl BuiltIn for RoundRobin {
    type Config = NoParameters;
    const ENTRY: Entry = entry(
        "round-robin",
        "equal shares of the band by turns, whatever the channel",
        "ns-3 RrFfMacScheduler",
    );
    fn new(_: &NoParameters, _: Duration) -> RoundRobin {
        RoundRobin
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::testing::{candidate, weights};

    #[test]
    fn the_ue_that_has_waited_longest_comes_first() {
        let at = |t| Candidate { served: Some(Tti(t)), ..candidate(0, 1.0, 1.0) };
        let w = weights(&mut RoundRobin, 10, &[at(9), at(3), candidate(2, 1.0, 1.0)]);
        assert!(w[2] > w[1] && w[1] > w[0] && w[0] > 0.0, "{w:?}");
    }

    #[test]
    fn ues_that_have_waited_equally_long_take_turns() {
        let first = |tti| {
            let c = Candidate { served: Some(Tti(tti - 1)), ..candidate(0, 1.0, 1.0) };
            let w = weights(&mut RoundRobin, tti, &[c; 3]);
            (0..3).max_by(|a, b| w[*a].total_cmp(&w[*b])).unwrap()
        };
        assert_eq!([first(3), first(4), first(5), first(6)], [0, 1, 2, 0]);
    }
}
