//! Allocation of the resource block groups of a TTI's downlink among candidates, by the weights of
//! a scheduling policy (allocation type 0 of TS 36.213 clause 7.1.6.1 and TS 38.214 clause
//! 5.1.2.2.1).
//!
//! Its inputs are weights, rates and needs; it uses neither UEs nor HARQ. The caller has removed
//! the groups that retransmissions and persistent grants occupy, and forms transport blocks from
//! the allocated groups.

use lasthop_engine::simd::{Kernel, wide};

use crate::RbSet;
use crate::scheduler::Domain;

/// A set of resource block groups, one bit each. LTE has at most 28 (110 blocks in groups of 4), NR
/// at most 19 (TS 38.214 table 5.1.2.2.1-1: 36 blocks in groups of 2 that begin at an odd one).
pub type Groups = u32;

/// The downlink band, divided into the groups of resource allocation type 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Band {
    blocks: u32,
    size: u32,
    groups: u32,
}

impl Band {
    /// A carrier of `blocks` resource blocks in groups of `size`; the last one is shorter if the
    /// division has a remainder. `whole_groups` leaves the remainder unused, as ns-3 does (25
    /// blocks: 12 groups of 2).
    #[inline]
    pub const fn new(blocks: u32, size: u32, whole_groups: bool) -> Band {
        let groups = if whole_groups { blocks / size } else { blocks.div_ceil(size) };
        Band { blocks, size, groups }
    }
    /// Number of groups.
    #[inline]
    pub const fn groups(&self) -> u32 {
        self.groups
    }
    /// All groups.
    #[inline]
    pub const fn all(&self) -> Groups {
        ((1u64 << self.groups) - 1) as Groups
    }
    /// First block of group `g`.
    #[inline]
    pub const fn first(&self, g: u32) -> u32 {
        g * self.size
    }
    /// Blocks of group `g`.
    #[inline]
    pub const fn len(&self, g: u32) -> u32 {
        let rest = self.blocks - g * self.size;
        if rest < self.size { rest } else { self.size }
    }
    /// Blocks of the groups `set`.
    #[inline]
    pub fn blocks<const WORDS: usize>(&self, set: Groups) -> RbSet<WORDS> {
        // Run by run of neighbouring groups: a sum may carry out of the highest group.
        let (mut rest, mut rbs) = (u64::from(set), RbSet::EMPTY);
        while rest != 0 {
            let g = rest.trailing_zeros();
            let end = ((g + (rest >> g).trailing_ones()) * self.size).min(self.blocks);
            rbs |= RbSet::range(self.first(g), end - self.first(g));
            rest &= rest + (1 << g);
        }
        rbs
    }
    /// Number of blocks in the groups `set`.
    #[inline]
    pub fn count(&self, set: Groups) -> u32 {
        // Only the last group may be short.
        let last = self.groups - 1;
        set.count_ones() * self.size - (set >> last & 1) * (self.size - self.len(last))
    }
}

/// The members of a set, ascending.
#[inline]
pub fn bits(set: Groups) -> impl Iterator<Item = u32> {
    let mut rest = set;
    std::iter::from_fn(move || {
        (rest != 0).then(|| {
            let bit = rest.trailing_zeros();
            rest &= rest - 1;
            bit
        })
    })
}

/// Most groups of a carrier.
pub const GROUPS_MAX: usize = 28;

/// By group: the bits that each of its blocks would carry for a candidate; any number for groups
/// that the carrier does not have.
pub type Rates = [f32; GROUPS_MAX];

/// Index that stands for no candidate.
const NOBODY: u32 = u32::MAX;

/// The inputs of the allocation for a candidate.
#[derive(Clone, Copy, Debug)]
pub struct Need {
    /// The policy's weight; 0 or below: no group in this TTI.
    pub weight: f64,
    /// Data to send [bit].
    pub bits: f64,
    /// Average of the bits that it was served [bit per TTI], above 0.
    pub average: f64,
}

/// The rules by which weights become an allocation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rules {
    /// The domain in which the weights apply.
    pub domain: Domain,
    /// Window of the averages [TTI].
    pub window: f64,
    /// [`Domain::Equal`] gives all candidates the same number of groups and leaves the remainder of
    /// the division unused (ns-3); otherwise the candidates get the remainder in turns.
    pub exact_shares: bool,
}

/// Excludes the groups outside `allowed` from a candidate's row of rates.
#[inline]
pub fn forbid(row: &mut Rates, allowed: Groups) {
    for (g, rate) in row.iter_mut().enumerate() {
        if allowed >> g & 1 == 0 {
            *rate = FORBIDDEN;
        }
    }
}

/// Replaces a rate: the candidate must not get the group, whatever its weight. (A rate of 0 is a
/// channel out of range, which may still be part of the candidate's share.)
const FORBIDDEN: f32 = -1.0;

/// Divides the groups `free`. `rates` returns the row of a candidate. Writes one set per candidate
/// to `given`; no candidate gets more than it needs.
pub fn allocate<'a>(
    band: &Band,
    rules: &Rules,
    free: Groups,
    needs: &[Need],
    rates: impl Fn(usize) -> &'a Rates,
    scratch: &mut Scratch,
    given: &mut Vec<Groups>,
) {
    given.clear();
    given.resize(needs.len(), 0);
    let table = Table { band, needs, rates };
    match rules.domain {
        Domain::Frequency { channel_aware, counts_given } => {
            scratch.live.clear();
            scratch.live.extend((0..needs.len() as u32).filter(|i| needs[*i as usize].weight > 0.0));
            scratch.carried.clear();
            scratch.carried.resize(needs.len(), 0.0);
            if counts_given {
                table.by_turns(free, channel_aware, rules.window, scratch, given);
            } else {
                table.by_group(free, channel_aware, scratch, given);
            }
        }
        Domain::Time => {
            table.in_order(scratch);
            table.by_candidate(free, scratch, given);
        }
        Domain::Equal => {
            table.in_order(scratch);
            table.in_equal_shares(free, rules.exact_shares, scratch, given);
        }
    }
}

/// Memory that [`allocate`] reuses.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    /// Candidates by descending weight, or those whose need is not met.
    live: Vec<u32>,
    /// Bits given to each candidate.
    carried: Vec<f64>,
}

struct Table<'t, R> {
    band: &'t Band,
    needs: &'t [Need],
    rates: R,
}

impl<'a, R: Fn(usize) -> &'a Rates> Table<'_, R> {
    #[inline(always)] // a part of the kernel
    fn row(&self, candidate: u32) -> &'a Rates {
        (self.rates)(candidate as usize)
    }
    #[inline]
    fn rate(&self, candidate: u32, group: u32) -> f32 {
        self.row(candidate)[group as usize]
    }
    /// Bits that group `g` would carry for candidate `i`.
    #[inline]
    fn carries(&self, i: u32, g: u32) -> f64 {
        f64::from(self.rate(i, g)) * f64::from(self.band.len(g))
    }

    /// Sorts candidates with a positive weight, the largest first, the first of equals first.
    fn in_order(&self, scratch: &mut Scratch) {
        let weight = |i: &u32| self.needs[*i as usize].weight;
        scratch.live.clear();
        scratch.live.extend((0..self.needs.len() as u32).filter(|i| weight(i) > 0.0));
        scratch.live.sort_unstable_by(|a, b| weight(b).total_cmp(&weight(a)).then(a.cmp(b)));
    }

    /// Gives each group to the candidate with the highest metric among those that need more and can
    /// use the group. The winners of all groups are found in one pass, and again only when one of
    /// them needs no more.
    fn by_group(&self, free: Groups, channel_aware: bool, scratch: &mut Scratch, given: &mut [Groups]) {
        let Scratch { live, carried, .. } = scratch;
        let mut winners = wide(Winners { table: self, channel_aware, live });
        // Set when a candidate has left `live`.
        let mut stale = false;
        let mut rest = free;
        while rest != 0 {
            let g = rest.trailing_zeros() as usize;
            if stale && winners[g] != NOBODY && !live.contains(&winners[g]) {
                winners = wide(Winners { table: self, channel_aware, live });
                stale = false;
            }
            let i = winners[g];
            if i == NOBODY {
                rest &= rest - 1;
                continue;
            }
            // All groups in a row that the candidate wins, as long as it needs more.
            let (row, need) = (self.row(i), self.needs[i as usize].bits);
            let (mut sum, mut set) = (carried[i as usize], 0);
            for g in bits(rest) {
                if winners[g as usize] != i {
                    break;
                }
                set |= 1 << g;
                sum += f64::from(row[g as usize]) * f64::from(self.band.len(g));
                if sum >= need {
                    break;
                }
            }
            rest &= !set;
            given[i as usize] |= set;
            carried[i as usize] = sum;
            if sum >= need {
                live.retain(|l| *l != i);
                stale = true;
                if live.is_empty() {
                    return;
                }
            }
        }
    }

    /// Gives group by group to the highest metric, which falls with every group that the candidate
    /// is given.
    fn by_turns(
        &self,
        free: Groups,
        channel_aware: bool,
        window: f64,
        scratch: &mut Scratch,
        given: &mut [Groups],
    ) {
        let Scratch { live, carried, .. } = scratch;
        for g in bits(free) {
            let mut best: Option<(f64, u32)> = None;
            for i in live.iter() {
                let (need, rate) = (&self.needs[*i as usize], self.rate(*i, g));
                if rate <= 0.0 {
                    continue;
                }
                let grown = 1.0 - 1.0 / window + carried[*i as usize] / (window * need.average);
                let metric = need.weight / grown * if channel_aware { f64::from(rate) } else { 1.0 };
                if best.is_none_or(|(m, _)| metric > m) {
                    best = Some((metric, *i));
                }
            }
            let Some((_, i)) = best else { continue };
            given[i as usize] |= 1 << g;
            carried[i as usize] += self.carries(i, g);
            if carried[i as usize] >= self.needs[i as usize].bits {
                live.retain(|l| *l != i);
            }
        }
    }

    /// Gives the first candidate its best groups until its need is met, then the next.
    fn by_candidate(&self, mut free: Groups, scratch: &Scratch, given: &mut [Groups]) {
        for i in &scratch.live {
            let mut missing = self.needs[*i as usize].bits;
            while missing > 0.0 {
                let Some(g) = self.best_group(*i, free) else { break };
                given[*i as usize] |= 1 << g;
                free &= !(1 << g);
                missing -= self.carries(*i, g);
            }
            if free == 0 {
                return;
            }
        }
    }

    /// Returns the group of `free` with the highest rate above 0, the lowest of equals.
    fn best_group(&self, i: u32, free: Groups) -> Option<u32> {
        let mut best: Option<(f32, u32)> = None;
        for g in bits(free) {
            let rate = self.rate(i, g);
            if rate > 0.0 && best.is_none_or(|(r, _)| rate > r) {
                best = Some((rate, g));
            }
        }
        best.map(|(_, g)| g)
    }

    /// Gives each candidate floor(groups / candidates) groups, at least one, in the order of the
    /// weights; then, unless shares are exact, the rest to those that need more, one group at a
    /// time.
    fn in_equal_shares(&self, mut free: Groups, exact: bool, scratch: &mut Scratch, given: &mut [Groups]) {
        let Scratch { live, carried } = scratch;
        carried.clear();
        carried.resize(self.needs.len(), 0.0);
        live.truncate(free.count_ones() as usize);
        if live.is_empty() {
            return;
        }
        let share = free.count_ones() / live.len() as u32;
        let wants = |i: u32, carried: &[f64]| carried[i as usize] < self.needs[i as usize].bits;
        let mut give = |i: u32, carried: &mut [f64]| {
            let Some(g) = bits(free).find(|g| self.rate(i, *g) > FORBIDDEN) else { return false };
            free &= !(1 << g);
            given[i as usize] |= 1 << g;
            carried[i as usize] += self.carries(i, g);
            true
        };
        for i in live.iter() {
            for _ in 0..share {
                if !wants(*i, carried) || !give(*i, carried) {
                    break;
                }
            }
        }
        let mut more = !exact;
        while more {
            more = false;
            for i in live.iter() {
                more |= wants(*i, carried) && give(*i, carried);
            }
        }
    }
}

/// Finds for each group the candidate of `live` with the highest metric above 0, the first of
/// equals.
struct Winners<'t, R> {
    table: &'t Table<'t, R>,
    channel_aware: bool,
    live: &'t [u32],
}

impl<'a, R: Fn(usize) -> &'a Rates> Kernel for Winners<'_, R> {
    type Output = [u32; GROUPS_MAX];
    #[inline(always)]
    fn run(self) -> [u32; GROUPS_MAX] {
        // Two loops with one body each: a choice within the loop would be made for each group.
        if self.channel_aware { self.find(|rate| rate) } else { self.find(|rate| rate.min(1.0)) }
    }
}

impl<'a, R: Fn(usize) -> &'a Rates> Winners<'_, R> {
    /// The metric is the weight times what `factor` returns for the rate: 0 for a group without a
    /// rate.
    #[inline(always)]
    fn find(self, factor: impl Fn(f32) -> f32) -> [u32; GROUPS_MAX] {
        let (mut best, mut winners) = ([0.0f32; GROUPS_MAX], [NOBODY; GROUPS_MAX]);
        for i in self.live {
            let row = self.table.row(*i);
            let weight = self.table.needs[*i as usize].weight as f32;
            for g in 0..GROUPS_MAX {
                let metric = weight * factor(row[g]);
                let better = metric > best[g];
                best[g] = if better { metric } else { best[g] };
                winners[g] = if better { *i } else { winners[g] };
            }
        }
        winners
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: f64 = 1e9;

    fn run(band: &Band, domain: Domain, exact_shares: bool, needs: &[Need], rates: &[f32]) -> Vec<Groups> {
        let mut given = Vec::new();
        let rules = Rules { domain, window: 99.0, exact_shares };
        // Groups that the carrier does not have are never given, whatever the rate.
        let of_row = |row: &[f32]| std::array::from_fn(|g| row.get(g).copied().unwrap_or(1e9));
        let rates: Vec<Rates> = rates.chunks(band.groups() as usize).map(of_row).collect();
        allocate(band, &rules, band.all(), needs, |i| &rates[i], &mut Scratch::default(), &mut given);
        assert!(given.iter().all(|g| g & !band.all() == 0));
        let mut seen = 0;
        for g in &given {
            assert_eq!(seen & g, 0, "a group twice");
            seen |= g;
        }
        given
    }

    fn need(weight: f64, bits: f64) -> Need {
        Need { weight, bits, average: 1.0 / weight }
    }

    /// 100 blocks: 25 groups of 4. 25 blocks: 12 groups of 2 and one of 1, which ns-3 leaves out.
    /// 50: 16 of 3 and one of 2.
    #[test]
    fn the_last_group_may_be_short() {
        let band = Band::new(25, 2, false);
        assert_eq!((band.groups(), band.count(band.all()), band.len(12)), (13, 25, 1));
        assert_eq!(band.blocks::<1>(1 << 12), RbSet::range(24, 1));
        let ns3 = Band::new(25, 2, true);
        assert_eq!((ns3.groups(), ns3.count(ns3.all())), (12, 24));
        assert_eq!(Band::new(100, 4, false).count(u32::MAX >> 7), 100);
        assert_eq!(Band::new(50, 3, false).count(1 << 16 | 1), 5);
    }

    /// ns-3's rule for round robin over 12 groups: floor(12/n) each; 15 UEs: 12 of them get one.
    #[test]
    fn equal_shares_are_the_floor_of_the_division_or_hand_out_the_rest() {
        let band = Band::new(25, 2, true);
        for n in [1, 3, 6, 9, 12, 15usize] {
            let needs = vec![need(1.0, FULL); n];
            let rates = vec![10.0; n * 12];
            let exact: Vec<_> =
                run(&band, Domain::Equal, true, &needs, &rates).iter().map(|g| g.count_ones()).collect();
            assert_eq!(exact.iter().filter(|c| **c == (12 / n as u32).max(1)).count(), n.min(12));
            let ours = run(&band, Domain::Equal, false, &needs, &rates);
            assert_eq!(ours.iter().map(|g| g.count_ones()).sum::<u32>(), 12);
        }
    }

    /// Group 0 has the higher rate for the first, group 1 for the second: 10 and 2 bits a block, 3
    /// and 8.
    #[test]
    fn in_the_frequency_domain_each_gets_where_it_is_best() {
        let band = Band::new(4, 2, false);
        let rates = [10.0, 2.0, 3.0, 8.0];
        let aware = Domain::Frequency { channel_aware: true, counts_given: false };
        assert_eq!(run(&band, aware, false, &[need(1.0, FULL); 2], &rates), [1, 2]);
        // A hundred times the weight outweighs any channel; groups that this candidate does not
        // need are given to the other.
        assert_eq!(run(&band, aware, false, &[need(100.0, FULL), need(1.0, FULL)], &rates), [3, 0]);
        assert_eq!(run(&band, aware, false, &[need(100.0, 20.0), need(1.0, FULL)], &rates), [1, 2]);
        assert_eq!(run(&band, Domain::Time, false, &[need(1.0, 16.0), need(2.0, 16.0)], &rates), [1, 2]);
        // With a rate of 0 there is no channel.
        assert_eq!(run(&band, aware, false, &[need(1.0, FULL)], &[0.0, 1.0]), [2]);
        assert_eq!(run(&band, Domain::Time, false, &[need(1.0, FULL)], &[0.0, 1.0]), [2]);
    }

    /// Equal averages of 1000 bit, groups of 100: with window 99 a group adds 100/99 to an average,
    /// so the candidates alternate.
    #[test]
    fn what_is_given_in_this_tti_counts_for_equal_throughput() {
        let band = Band::new(24, 2, false);
        let domain = Domain::Frequency { channel_aware: false, counts_given: true };
        let given = run(&band, domain, false, &[need(1e-3, FULL); 3], &[50.0; 36]);
        assert_eq!(given.iter().map(|g| g.count_ones()).collect::<Vec<_>>(), [4, 4, 4]);
    }

    #[test]
    fn a_weight_of_zero_gets_nothing() {
        let band = Band::new(8, 2, false);
        for domain in
            [Domain::Time, Domain::Equal, Domain::Frequency { channel_aware: false, counts_given: false }]
        {
            let given = run(&band, domain, false, &[need(0.0, FULL), need(1.0, 1.0)], &[5.0; 8]);
            assert_eq!((given[0], given[1].count_ones()), (0, 1), "{domain:?}");
        }
    }
}
