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
use super::channel::Channel;
use super::state::{Link, Ue, UeContext};
use super::team::Deal;
use crate::phy::RbSet;
use crate::phy::air::{AtUe, Shared, UeRadio, Work};

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
    /// Number of UEs in the network.
    fn ues(&mut self) -> usize;
    /// Number of cells.
    fn cells(&mut self) -> usize;

    /// Prefetches for reports of the UEs after `backlogs[i]`.
    #[inline]
    fn prefetch_reports(&mut self, backlogs: &[(UeId, u64)], i: usize) {
        if let Some((ue, _)) = backlogs.get(i + 2) {
            self.at(*ue).prefetch();
        }
        if let Some((ue, _)) = backlogs.get(i + 1) {
            self.at(*ue).prefetch_links();
        }
    }
}

/// Everything.
pub(super) struct Whole;

impl Reach for Whole {
    type Contexts = IndexVec<UeId, UeContext>;
    type Links = IndexVec<UeId, Link>;
    type Ues = IndexVec<UeId, Ue>;
    type Drbs = IndexVec<BearerId, Drb>;
    type Air = Channel;
    type Calendar = Agenda;
}

impl Radio for Channel {
    #[inline]
    fn at(&mut self, ue: UeId) -> AtUe<'_> {
        self.get().at(ue)
    }
    #[inline]
    fn cell_transmits(&mut self, tti: Tti, cell: CellId, rbs: RbSet, boost: f32) {
        self.get().cell_transmits(tti, cell, rbs, boost);
    }
    #[inline]
    fn cells(&mut self) -> usize {
        self.get().cells()
    }
    #[inline]
    fn ues(&mut self) -> usize {
        self.get().ues()
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

/// Ids of UEs or bearers with the cell of each.
#[derive(Debug)]
pub(super) struct Members<I> {
    /// In ascending order.
    ids: Vec<(I, CellId)>,
    /// By id, also of others: the place in a list by cell and id.
    places: Vec<u32>,
    /// By cell: the end of its places.
    ends: Vec<u32>,
}

impl<I: Id + Ord> Members<I> {
    /// `ids` in ascending order, of so many ids and cells in all.
    pub fn new(ids: Vec<(I, CellId)>, all: usize, cells: usize) -> Members<I> {
        debug_assert!(ids.is_sorted_by(|a, b| a.0 < b.0), "ascending");
        let mut ends = vec![0; cells];
        for (_, cell) in &ids {
            ends[cell.index()] += 1;
        }
        let mut sum = 0;
        for end in &mut ends {
            // Where the places begin: the loop below moves it to their end.
            sum += std::mem::replace(end, sum);
        }
        let mut places = vec![u32::MAX; all];
        for (id, cell) in &ids {
            let end = &mut ends[cell.index()];
            places[id.index()] = *end;
            *end += 1;
        }
        Members { ids, places, ends }
    }

    /// Borrows the items of the members, which are at their ids in `all`: by cell and id.
    pub fn borrow<'a, T>(&self, all: &'a mut [T]) -> Vec<Option<Item<'a, I, T>>> {
        let mut all = Deal::of(all);
        let mut items: Vec<_> = (0..self.ids.len()).map(|_| None).collect();
        for (id, _) in &self.ids {
            items[self.places[id.index()] as usize] = all.take(id.index()).map(|item| (*id, item));
        }
        items
    }

    /// Takes the items of `cell` off `rest`, which has those of this cell and of later ones.
    pub fn split_off<'a, T>(&'a self, cell: CellId, rest: &mut Items<'a, I, T>) -> Own<'a, I, T> {
        let first = cell.index().checked_sub(1).map_or(0, |before| self.ends[before]);
        let len = (self.ends[cell.index()] - first) as usize;
        let items = rest.split_off_mut(..len).unwrap_or_default();
        Own { items, first, places: &self.places }
    }
}

/// An item that is borrowed for writing, with its id.
type Item<'a, I, T> = (I, &'a mut T);
/// Borrowed items by cell and id.
pub(super) type Items<'a, I, T> = &'a mut [Option<Item<'a, I, T>>];

/// The items of a cell.
#[derive(Debug)]
pub(super) struct Own<'p, I, T> {
    /// In the order of their ids.
    items: Items<'p, I, T>,
    /// The place of the first item.
    first: u32,
    places: &'p [u32],
}

impl<'p, I: Id + Ord, T> Own<'p, I, T> {
    /// Gives the items of ascending ids, each once.
    pub fn ascending<'a>(&'a mut self) -> impl FnMut(I) -> Option<&'a mut T> + use<'a, 'p, I, T> {
        let mut rest = self.items.iter_mut().flatten();
        move |id| rest.find(|(own, _)| *own == id).map(|(_, item)| &mut **item)
    }
    /// Number of ids, also of other cells and of none.
    const fn of_all(&self) -> usize {
        self.places.len()
    }
    /// The index of `id` in `items`; that after the last one if it is not here.
    #[inline]
    fn place(&self, id: I) -> usize {
        let place = self.places[id.index()].wrapping_sub(self.first) as usize;
        place.min(self.items.len())
    }
}

impl<I: Id + Ord, T> Index<I> for Own<'_, I, T> {
    type Output = T;
    #[inline]
    fn index(&self, id: I) -> &T {
        self.items[self.place(id)].as_ref().map(|(_, item)| &**item).expect("each item is borrowed once")
    }
}
impl<I: Id + Ord, T> IndexMut<I> for Own<'_, I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        let place = self.place(id);
        self.items[place].as_mut().map(|(_, item)| &mut **item).expect("each item is borrowed once")
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
    #[inline]
    fn ues(&mut self) -> usize {
        self.ues.of_all()
    }
    #[inline]
    fn cells(&mut self) -> usize {
        self.shared.cells()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of ten items those of ids that are no multiples of 5, in the cells 0, 1 and 2 by turns.
    fn members() -> Members<UeId> {
        let ids = (0..10).filter(|i| i % 5 != 0).map(|i| (UeId::from_index(i), CellId::from_index(i % 3)));
        Members::new(ids.collect(), 10, 4)
    }

    #[test]
    fn own_items_are_found_by_their_ids() {
        let mut all: Vec<u32> = (10..20).collect();
        let members = members();
        let mut items = members.borrow(&mut all);
        let mut rest = items.as_mut_slice();
        let mut cells = Vec::from_iter((0..4).map(|i| members.split_off(CellId::from_index(i), &mut rest)));
        assert!(rest.is_empty());
        cells[1][UeId::from_index(4)] += 100;
        let of = |cell: usize, ids: &[usize]| {
            Vec::from_iter(ids.iter().map(|i| cells[cell][UeId::from_index(*i)]))
        };
        assert_eq!(of(0, &[3, 6, 9]), [13, 16, 19]);
        assert_eq!(of(1, &[1, 4, 7]), [11, 114, 17]);
        assert_eq!(of(2, &[2, 8]), [12, 18]);
        assert_eq!(all[4], 114);
    }

    #[test]
    #[should_panic(expected = "index out of bounds")]
    fn an_item_of_another_cell_is_out_of_reach() {
        let mut all: Vec<u32> = (10..20).collect();
        let members = members();
        let mut items = members.borrow(&mut all);
        let mut rest = items.as_mut_slice();
        let own = members.split_off(CellId::from_index(0), &mut rest);
        let _ = own[UeId::from_index(1)];
    }

    #[test]
    #[should_panic(expected = "index out of bounds")]
    fn an_item_of_no_cell_is_out_of_reach() {
        let mut all: Vec<u32> = (10..20).collect();
        let members = members();
        let mut items = members.borrow(&mut all);
        let mut rest = items.as_mut_slice();
        let own = members.split_off(CellId::from_index(0), &mut rest);
        let _ = own[UeId::from_index(5)];
    }
}
