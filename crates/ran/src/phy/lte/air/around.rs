//! Which cells a UE hears, and which of them count by themselves.

use lasthop_units::{CellId, Id, Tti, UeId};

use super::{Air, Link};

/// What surrounds a UE, served by one cell.
#[derive(Debug, Default)]
pub struct Around {
    /// The cell that serves it; None: not looked yet.
    cell: Option<CellId>,
    /// First TTI in which one must look again.
    until: u64,
    /// The cells with the strongest links, in descending order: one more than interfering links fade.
    top: Vec<CellId>,
    /// Of these the ones that interfere.
    pub strong: Vec<CellId>,
    /// Power of all other cells in a block when they send at full power [mW].
    pub rest: f32,
}

/// The links to cells that are neither serving nor strong are worked out again so many times more rarely than the others.
const FAR: u64 = 10;

impl Around {
    /// A cell's power has changed: nothing that was seen holds.
    pub(super) fn forget(&mut self) {
        (self.cell, self.until) = (None, 0);
    }
}

impl Air {
    /// Brings what surrounds `ue`, served by `cell`, to `tti`.
    #[inline]
    pub(super) fn look_around(&mut self, tti: Tti, cell: CellId, ue: UeId) {
        let around = &self.ues[ue].around;
        if around.cell != Some(cell) || around.until <= tti.0 {
            self.look(tti, ue);
            self.serve(cell, ue);
        }
    }

    /// True if `cell` is one of those that `ue` hears best.
    #[inline]
    pub(super) fn is_strong(&mut self, tti: Tti, cell: CellId, ue: UeId) -> bool {
        if self.ues[ue].around.until <= tti.0 {
            self.look(tti, ue);
            if let Some(serving) = self.ues[ue].around.cell {
                self.serve(serving, ue);
            }
        }
        self.ues[ue].around.top.contains(&cell)
    }

    /// Finds the strongest cells.
    #[cold]
    fn look(&mut self, tti: Tti, ue: UeId) {
        if self.ues[ue].around.until > tti.0 {
            return;
        }
        let mut top = std::mem::take(&mut self.ues[ue].around.top);
        top.clear();
        let until = self.propagation.holds(ue, tti).map_or(u64::MAX, |t| t.0);
        let place = self.propagation.place(ue, tti);
        for (cell, gains) in self.propagation.gains_at(ue, &place) {
            self.links[ue.index() * self.cells.len() + cell.index()] = Link { gains, until };
        }
        for cell in self.cells.ids() {
            let power = self.power(cell, ue);
            // Equally strong ones in the order of their ids.
            let place = top.partition_point(|other| self.power(*other, ue) >= power);
            if place <= self.faded {
                top.truncate(self.faded);
                top.insert(place, cell);
            }
        }
        let around = &mut self.ues[ue].around;
        around.top = top;
        around.until = until.saturating_sub(tti.0).saturating_mul(FAR).saturating_add(tti.0);
    }

    /// Tells the interfering cells apart when `cell` serves.
    fn serve(&mut self, cell: CellId, ue: UeId) {
        let n = self.cells.len();
        let around = &mut self.ues[ue].around;
        around.cell = Some(cell);
        around.strong.clear();
        around.strong.extend(around.top.iter().filter(|c| **c != cell).take(self.faded));
        let mut sum = 0.0;
        for other in self.cells.ids() {
            let i = ue.index() * n + other.index();
            let counts = other != cell && !self.ues[ue].around.strong.contains(&other);
            self.rest[i] = if counts { self.links[i].gains.downlink } else { 0.0 };
            sum += self.cells[other].full[0] * self.rest[i];
        }
        self.ues[ue].around.rest = sum;
    }

    /// Power of a block of `cell` at `ue` [mW], as it is known.
    fn power(&self, cell: CellId, ue: UeId) -> f32 {
        self.cells[cell].full[0] * self.links[ue.index() * self.cells.len() + cell.index()].gains.downlink
    }
}
