//! The state that the procedures of a cell can reach: all of it in one thread, or the cell's own.
//!
//! With cells in several threads no two of them may write the same state. [`Own`] has borrowed each
//! item for one cell, and [`OfCell`] has no other state for writing, apart from lists of the cell's
//! effects on others, which are applied afterwards in the order of the cells.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

use lasthop_units::{BearerId, CellId, Id, IndexVec, Tti, UeId};

use super::bearers::Drb;
use super::calendar::{Agenda, Notes, OwnNotes};
use super::state::{Link, Ue, UeContext};
use crate::phy::RbSet;
use crate::phy::air::{Air, AtUe, Shared, UeRadio, Work};

/// The data of fewer UEs than this is in the caches without prefetching.
pub(super) const MANY: usize = 64;

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
pub(super) struct Own<'p, I, T> {
    items: Vec<(I, &'p mut T)>,
    /// By id: its place in `items`, if it is there.
    places: &'p [u32],
}

impl<'p, I: Id + Ord, T> Own<'p, I, T> {
    /// Without items yet, with room for so many; `places` by id.
    pub fn new(items: usize, places: &'p [u32]) -> Own<'p, I, T> {
        Own { items: Vec::with_capacity(items), places }
    }
    /// Adds an item, whose id is greater than those before.
    pub fn push(&mut self, id: I, item: &'p mut T) {
        debug_assert!(self.items.last().is_none_or(|(last, _)| *last < id), "ascending");
        debug_assert_eq!(self.places[id.index()] as usize, self.items.len(), "its place");
        self.items.push((id, item));
    }
    /// Gives the items of ascending ids, each once.
    pub fn ascending<'a>(&'a mut self) -> impl FnMut(I) -> Option<&'a mut T> + use<'a, 'p, I, T> {
        let mut rest = self.items.iter_mut();
        move |id| rest.find(|(own, _)| *own == id).map(|(_, item)| &mut **item)
    }
    /// The place of `id`; that after the last one if it is not here.
    #[inline]
    fn place(&self, id: I) -> usize {
        let place = self.places[id.index()] as usize;
        if self.items.get(place).is_some_and(|(own, _)| *own == id) { place } else { self.items.len() }
    }
}

impl<I: Id + Ord, T> Index<I> for Own<'_, I, T> {
    type Output = T;
    #[inline]
    fn index(&self, id: I) -> &T {
        self.items[self.place(id)].1
    }
}
impl<I: Id + Ord, T> IndexMut<I> for Own<'_, I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        let place = self.place(id);
        self.items[place].1
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
        let places: Vec<u32> = (0..10).map(|id| id / 3).collect();
        let mut own = Own::new(3, &places);
        for (id, item) in all.ids().zip(all.iter_mut()).filter(|(id, _)| id.index() % 3 == 1) {
            own.push(id, item);
        }
        own[UeId::from_index(4)] += 100;
        assert_eq!([1, 4, 7].map(|i| own[UeId::from_index(i)]), [11, 114, 17]);
        assert_eq!(all[UeId::from_index(4)], 114);
    }

    /// The UE 3 of another cell has the same place there.
    #[test]
    #[should_panic(expected = "index out of bounds")]
    fn an_item_of_another_cell_is_out_of_reach() {
        let mut all: IndexVec<UeId, u32> = (10..20).collect();
        let mut own = Own::new(1, &[0; 10]);
        own.push(UeId::from_index(2), &mut all[UeId::from_index(2)]);
        let _ = own[UeId::from_index(3)];
    }
}
