//! Transmissions of cells.

use lasthop_cell::RbSet;
use lasthop_engine::simd::{Kernel, wide};
use lasthop_radio::Knots;
use lasthop_units::{CellId, Id, Tti};

/// Transmissions of all cells in one TTI, in adjacent memory: a sum over cells reads a few lines of
/// it.
#[derive(Debug)]
pub struct Emissions<const WORDS: usize> {
    tti: Tti,
    /// Resource blocks of the widest carrier.
    width: usize,
    /// By cell: the blocks that it uses.
    used: Vec<RbSet<WORDS>>,
    /// By cell: the power of every block that it uses [mW]; negative where the powers differ.
    level_mw: Vec<f32>,
    /// By cell, then block: power [mW]; 0 for blocks that are not in use. Each row has whole
    /// vectors.
    power_mw: Vec<f32>,
    /// Length of a row.
    room: usize,
    /// By cell: its level if it uses the whole carrier evenly in this TTI, 0 otherwise.
    whole_mw: Vec<f32>,
    /// Cells that use a part of the carrier, or all of it with several powers, ascending.
    partly: Vec<usize>,
    /// `whole_mw` and `partly` are not updated to this TTI yet.
    stale: bool,
}

impl<const WORDS: usize> Emissions<WORDS> {
    /// For `cells` cells, the widest of them with `width` resource blocks.
    pub fn new(cells: usize, width: usize) -> Emissions<WORDS> {
        let room = Knots::room(width);
        Emissions {
            tti: Tti(u64::MAX),
            room,
            width,
            used: vec![RbSet::EMPTY; cells],
            level_mw: vec![0.0; cells],
            power_mw: vec![0.0; cells * room],
            whole_mw: vec![0.0; cells],
            partly: Vec::with_capacity(cells),
            stale: true,
        }
    }

    /// Takes in that `cell` transmits on `rbs` in `tti`, with `block_mw` [mW] on every block.
    #[inline]
    pub fn add(&mut self, tti: Tti, cell: CellId, rbs: RbSet<WORDS>, block_mw: f32) {
        if self.tti != tti {
            self.tti = tti;
            self.used.fill(RbSet::EMPTY);
            self.power_mw.fill(0.0);
        }
        self.stale = true;
        let i = cell.index();
        debug_assert!(self.used[i].and(rbs).is_empty(), "{tti:?}: a block of {cell:?} twice");
        debug_assert!(rbs.without(RbSet::range(0, self.width as u32)).is_empty());
        self.level_mw[i] =
            if self.used[i].is_empty() || self.level_mw[i] == block_mw { block_mw } else { -1.0 };
        self.used[i] |= rbs;
        let power_mw = &mut self.power_mw[i * self.room..][..self.room];
        rbs.runs(|first, len| power_mw[first..first + len].fill(block_mw));
    }

    /// The blocks that `cell` uses in `tti`.
    #[inline]
    pub fn used(&self, tti: Tti, cell: CellId) -> RbSet<WORDS> {
        if self.tti == tti { self.used[cell.index()] } else { RbSet::EMPTY }
    }

    /// The power of `cell` by block [mW], in whole vectors: in the TTI of the newest transmissions,
    /// and 0 for blocks that are not in use.
    #[inline]
    pub fn power_mw(&self, cell: CellId) -> &[f32] {
        &self.power_mw[cell.index() * self.room..][..self.room]
    }

    /// Sums `noise_mw` and the transmissions of all cells on `rbs` in `tti`, each weighted with its
    /// gain, into the places of `rbs` in `to`; `adds_mw` is memory for a number by cell.
    #[inline]
    pub fn gather(
        &self,
        tti: Tti,
        gains: &[f32],
        rbs: RbSet<WORDS>,
        noise_mw: f32,
        adds_mw: &mut [f32],
        to: &mut [f32],
    ) {
        if self.tti != tti {
            rbs.runs(|first, len| to[first..first + len].fill(noise_mw));
        } else if self.stale {
            // Before `sort` any cell may use a part of the carrier.
            adds_mw.fill(0.0);
            self.gather_of(0..self.used.len(), gains, rbs, noise_mw, adds_mw, to);
        } else {
            wide(WeightedSum { levels_mw: &self.whole_mw, gains, to: adds_mw });
            self.gather_of(self.partly.iter().copied(), gains, rbs, noise_mw, adds_mw, to);
        }
    }

    /// As [`gather`](Self::gather), where `adds_mw` has the power of the cells that are not in
    /// `partly`.
    #[inline(always)]
    fn gather_of(
        &self,
        partly: impl Iterator<Item = usize> + Clone,
        gains: &[f32],
        rbs: RbSet<WORDS>,
        noise_mw: f32,
        adds_mw: &mut [f32],
        to: &mut [f32],
    ) {
        let mut uneven = false;
        for i in partly.clone() {
            // A cell that transmits with one power on all of `rbs` adds the same to each block.
            let even = rbs.without(self.used[i]).is_empty() && self.level_mw[i] >= 0.0;
            adds_mw[i] = if even { self.level_mw[i] * gains[i] } else { 0.0 };
            uneven |= !even;
        }
        let all = adds_mw.iter().fold(noise_mw, |sum, adds_mw| sum + adds_mw);
        rbs.runs(|first, len| to[first..first + len].fill(all));
        if uneven {
            self.add_uneven(partly, gains, rbs, to);
        }
    }

    /// Separates the cells that use the whole carrier evenly from the others, after all
    /// transmissions of `tti` are taken in.
    #[inline]
    pub fn sort_out(&mut self, tti: Tti) {
        if self.stale && self.tti == tti {
            self.sort();
        }
    }

    fn sort(&mut self) {
        let carrier = RbSet::range(0, self.width as u32);
        self.stale = false;
        self.partly.clear();
        for (i, (used, level_mw)) in self.used.iter().zip(&self.level_mw).enumerate() {
            let whole = *used == carrier && *level_mw >= 0.0;
            self.whole_mw[i] = if whole { *level_mw } else { 0.0 };
            if !whole && !used.is_empty() {
                self.partly.push(i);
            }
        }
    }

    /// Adds the transmissions of cells whose power is not the same on each block of `rbs`.
    fn add_uneven(
        &self,
        partly: impl Iterator<Item = usize>,
        gains: &[f32],
        rbs: RbSet<WORDS>,
        to: &mut [f32],
    ) {
        for i in partly {
            let (gain, shared) = (gains[i], self.used[i].and(rbs));
            if gain == 0.0 || shared.is_empty() || rbs.without(shared).is_empty() && self.level_mw[i] >= 0.0 {
                continue;
            }
            let power_mw = &self.power_mw[i * self.room..][..self.room];
            shared.runs(|first, len| {
                for (to, power_mw) in to[first..first + len].iter_mut().zip(&power_mw[first..first + len]) {
                    *to += power_mw * gain;
                }
            });
        }
    }
}

/// Products of levels and gains.
struct WeightedSum<'a> {
    levels_mw: &'a [f32],
    gains: &'a [f32],
    to: &'a mut [f32],
}

impl Kernel for WeightedSum<'_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        for ((to, level_mw), gain) in self.to.iter_mut().zip(self.levels_mw).zip(self.gains) {
            *to = level_mw * gain;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cell 0 evenly on all blocks, cell 1 on the lower half, cell 2 with two powers, cell 3 does
    /// not transmit; block by block by hand.
    #[test]
    fn what_is_gathered_is_the_sum_by_block() {
        let mut e = Emissions::<1>::new(4, 10);
        let id = CellId::from_index;
        e.add(Tti(5), id(0), RbSet::range(0, 10), 2.0);
        e.add(Tti(5), id(1), RbSet::range(0, 5), 3.0);
        e.add(Tti(5), id(2), RbSet::range(0, 2), 1.0);
        e.add(Tti(5), id(2), RbSet::range(2, 8), 4.0);
        let gains = [0.5, 0.1, 0.25, 1.0];
        let (mut to, mut adds) = ([0.0; 10], [0.0; 4]);
        let rbs = RbSet::range(1, 8);
        e.gather(Tti(5), &gains, rbs, 1.0, &mut adds, &mut to);
        let before = to;
        e.sort_out(Tti(5));
        e.gather(Tti(5), &gains, rbs, 1.0, &mut adds, &mut to);
        assert_eq!(before, to, "sorted out or not");
        let expected = [0.0, 2.55, 3.3, 3.3, 3.3, 3.0, 3.0, 3.0, 3.0, 0.0];
        assert!(to.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{to:?}");
        e.gather(Tti(6), &gains, rbs, 1.0, &mut adds, &mut to);
        assert_eq!(to[1..9], [1.0; 8]);
    }
}
