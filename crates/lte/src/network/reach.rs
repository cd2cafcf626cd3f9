//! The state that the procedures of a cell can reach: all of it in one thread, or the cell's own.
//!
//! Cells in several threads need proof that no two of them reach the same state for writing.
//! [`Own`] has borrowed each item for one cell, and [`OfCell`] consists of nothing else that is
//! written, apart from lists of what the cell does to others, which are taken over afterwards in
//! the order of the cells.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

use lasthop_units::{BearerId, CellId, Id, IndexVec, Tti, UeId};

use super::bearers::Drb;
use super::calendar::{Agenda, Notes, OwnNotes};
use super::prefetch::MANY;
use super::state::{Link, Ue, UeContext};
use crate::phy::RbSet;
use crate::phy::air::{Air, AtUe, Shared, UeRadio, Work};

/// State of UEs, bearers and the radio channel, and a calendar.
pub(super) trait Reach {
    type Contexts: IndexMut<UeId, Output = UeContext>;
    type Links: IndexMut<UeId, Output = Link>;
    type Ues: IndexMut<UeId, Output = Ue>;
    type Drbs: IndexMut<BearerId, Output = Drb>;
    type Air: Radio;
    type Calendar: Notes;
}

/// The radio channel of cells and UEs.
pub(super) trait Radio {
    /// The channel at `ue`.
    fn at(&mut self, ue: UeId) -> AtUe<'_>;
    /// Takes in that `cell` transmits on `rbs` in `tti`, each block with `boost` times its share of
    /// the cell's power.
    fn cell_transmits(&mut self, tti: Tti, cell: CellId, rbs: RbSet, boost: f32);
    /// Number of cells.
    fn cells(&self) -> usize;
    /// Prefetches for reports of the UEs after `backlogs[i]`.
    fn prefetch_reports(&self, backlogs: &[(UeId, u64)], i: usize);
}

/// Everything.
pub(super) struct Whole;

impl Reach for Whole {
    type Contexts = IndexVec<UeId, UeContext>;
    type Links = IndexVec<UeId, Link>;
    type Ues = IndexVec<UeId, Ue>;
    type Drbs = IndexVec<BearerId, Drb>;
    type Air = Air;
    type Calendar = Agenda;
}

impl Radio for Air {
    #[inline]
    fn at(&mut self, ue: UeId) -> AtUe<'_> {
        self.at(ue)
    }
    #[inline]
    fn cell_transmits(&mut self, tti: Tti, cell: CellId, rbs: RbSet, boost: f32) {
        self.cell_transmits(tti, cell, rbs, boost);
    }
    #[inline]
    fn cells(&self) -> usize {
        self.cells()
    }
    #[inline]
    fn prefetch_reports(&self, backlogs: &[(UeId, u64)], i: usize) {
        if self.ues() < MANY {
            return;
        }
        if let Some((ue, _)) = backlogs.get(i + 2) {
            self.prefetch(*ue);
        }
        if let Some((ue, _)) = backlogs.get(i + 1) {
            self.prefetch_links(*ue);
        }
    }
}

/// What belongs to one cell, in one of several threads.
pub(super) struct OfCell<'w, 'p>(PhantomData<(&'w (), &'p ())>);

impl<'w, 'p: 'w> Reach for OfCell<'w, 'p> {
    type Contexts = Own<'p, UeId, UeContext>;
    type Links = Own<'p, UeId, Link>;
    type Ues = Own<'p, UeId, Ue>;
    type Drbs = Own<'p, BearerId, Drb>;
    type Air = OwnAir<'w, 'p>;
    type Calendar = OwnNotes;
}

/// Items in the order of their ids, each borrowed for writing.
#[derive(Debug)]
pub(super) struct Own<'p, I, T>(Vec<(I, &'p mut T)>);

impl<'p, I: Id + Ord, T> Own<'p, I, T> {
    pub const fn new() -> Own<'p, I, T> {
        Own(Vec::new())
    }
    /// Adds an item, whose id is greater than those before.
    pub fn push(&mut self, id: I, item: &'p mut T) {
        debug_assert!(self.0.last().is_none_or(|(last, _)| *last < id), "ascending");
        self.0.push((id, item));
    }
    /// Gives the items of ascending ids, each once.
    pub fn ascending<'a>(&'a mut self) -> impl FnMut(I) -> Option<&'a mut T> + use<'a, 'p, I, T> {
        let mut rest = self.0.iter_mut();
        move |id| rest.find(|(own, _)| *own == id).map(|(_, item)| &mut **item)
    }
    /// The place of `id`; that after the last one if it is not here.
    #[inline]
    fn place(&self, id: I) -> usize {
        self.0.binary_search_by_key(&id, |(id, _)| *id).unwrap_or(self.0.len())
    }
}

impl<I: Id + Ord, T> Index<I> for Own<'_, I, T> {
    type Output = T;
    #[inline]
    fn index(&self, id: I) -> &T {
        self.0[self.place(id)].1
    }
}
impl<I: Id + Ord, T> IndexMut<I> for Own<'_, I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        let place = self.place(id);
        self.0[place].1
    }
}

/// The radio channel at the UEs of a cell, and the transmissions of the cell.
#[derive(Debug)]
pub(super) struct OwnAir<'w, 'p> {
    pub shared: &'p Shared,
    pub ues: &'w mut Own<'p, UeId, UeRadio>,
    pub work: &'w mut Work,
    /// Resource blocks with the factor of their power, which are not in `shared` yet.
    pub sent: &'w mut Vec<(RbSet, f32)>,
}

impl Radio for OwnAir<'_, '_> {
    #[inline]
    fn at(&mut self, ue: UeId) -> AtUe<'_> {
        AtUe::new(self.shared, ue, &mut self.ues[ue], self.work)
    }
    fn cell_transmits(&mut self, _: Tti, _: CellId, rbs: RbSet, boost: f32) {
        self.sent.push((rbs, boost));
    }
    fn cells(&self) -> usize {
        self.shared.cells()
    }
    fn prefetch_reports(&self, _: &[(UeId, u64)], _: usize) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_items_are_found_by_their_ids() {
        let mut all: IndexVec<UeId, u32> = (10..20).collect();
        let mut own = Own::new();
        for (id, item) in all.ids().zip(all.iter_mut()).filter(|(id, _)| id.index() % 3 == 1) {
            own.push(id, item);
        }
        own[UeId::from_index(4)] += 100;
        assert_eq!([1, 4, 7].map(|i| own[UeId::from_index(i)]), [11, 114, 17]);
        assert_eq!(all[UeId::from_index(4)], 114);
    }

    #[test]
    #[should_panic(expected = "index out of bounds")]
    fn an_item_of_another_cell_is_out_of_reach() {
        let mut all: IndexVec<UeId, u32> = (10..20).collect();
        let mut own = Own::new();
        own.push(UeId::from_index(2), &mut all[UeId::from_index(2)]);
        let _ = own[UeId::from_index(3)];
    }
}
