//! Which cells a UE hears, and which of them count by themselves.

use lasthop_cell::RbSet;
use lasthop_engine::simd::prefetch;
use lasthop_units::{CellId, Id, Tti, UeId};
use smallvec::SmallVec;

use super::super::fading::LinkIndex;
use super::{Air, Link};
use lasthop_bearer::Direction;

/// What surrounds a UE, served by one cell.
#[derive(Debug, Default)]
pub struct Around {
    /// The cell that serves it; None: not known yet.
    cell: Option<CellId>,
    /// First TTI in which they must be found again.
    until: u64,
    /// The cells with the strongest links, in descending order: one more than interfering links
    /// fade.
    top: Vec<CellId>,
    /// The link to the serving cell, then those of the strongest ones that interfere.
    pub rays: SmallVec<[Ray; 4]>,
    /// Power of all other cells in a block when they send at full power [mW].
    pub rest_mw: f32,
}

/// A link whose fading counts: what is known of it elsewhere, together.
#[derive(Clone, Copy, Debug)]
pub struct Ray {
    pub cell: CellId,
    /// Large-scale gain of the downlink.
    pub gain: f32,
    /// First TTI in which it must be worked out again.
    pub until: u64,
    /// Where its fading is.
    pub index: Option<LinkIndex>,
}

/// What so many links need is near anyway.
const FEW: usize = 256;

/// The links to cells that are neither serving nor strong are worked out again so many times more
/// rarely than the others.
const FAR: u64 = 10;

impl Around {
    /// A cell's power has changed: nothing that was seen holds.
    pub(super) fn forget(&mut self) {
        (self.cell, self.until) = (None, 0);
    }

    /// The gain of the link to `cell` has been worked out again.
    pub(super) fn renew(&mut self, cell: CellId, gain: f32, until: u64) {
        for ray in self.rays.iter_mut().filter(|ray| ray.cell == cell) {
            (ray.gain, ray.until) = (gain, until);
        }
    }
}

impl<const WORDS: usize> Air<WORDS> {
    /// Brings what surrounds `ue`, served by `cell`, to `tti`.
    #[inline]
    pub(super) fn update_around(&mut self, tti: Tti, cell: CellId, ue: UeId) {
        let around = &self.ues[ue].around;
        if around.cell != Some(cell) || around.until <= tti.0 {
            self.find_strongest(tti, ue);
            self.serve(cell, ue);
        }
    }

    /// True if `cell` is one of those that `ue` hears best.
    #[inline]
    pub(super) fn is_strong(&mut self, tti: Tti, cell: CellId, ue: UeId) -> bool {
        if self.ues[ue].around.until <= tti.0 {
            self.find_strongest(tti, ue);
            if let Some(serving) = self.ues[ue].around.cell {
                self.serve(serving, ue);
            }
        }
        self.ues[ue].around.top.contains(&cell)
    }

    /// Finds the strongest cells.
    #[cold]
    fn find_strongest(&mut self, tti: Tti, ue: UeId) {
        if self.ues[ue].around.until > tti.0 {
            return;
        }
        let mut top = std::mem::take(&mut self.ues[ue].around.top);
        top.clear();
        let until = self.propagation.holds(ue, tti).map_or(u64::MAX, |t| t.0);
        let position = self.propagation.position(ue, tti);
        for (cell, gains) in self.propagation.gains_at(ue, &position) {
            self.links[ue.index() * self.cells.len() + cell.index()] = Link { gains, until };
        }
        for cell in self.cells.ids() {
            let power_mw = self.power_mw(cell, ue);
            // Equally strong ones in the order of their ids.
            let place = top.partition_point(|other| self.power_mw(*other, ue) >= power_mw);
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
        let single = !self.is_array(ue);
        let around = &mut self.ues[ue].around;
        around.cell = Some(cell);
        let strong = around.top.iter().copied().filter(|c| *c != cell).take(self.faded);
        let strong: SmallVec<[CellId; 4]> = std::iter::once(cell).chain(strong).collect();
        let ray = |cell: &CellId| {
            let Link { gains, until } = self.links[ue.index() * n + cell.index()];
            let fading = self.fading.as_mut().filter(|_| single);
            let index = fading.and_then(|f| f.index(Direction::Downlink, *cell, ue));
            Ray { cell: *cell, gain: gains.downlink, until, index }
        };
        around.rays = strong.iter().map(ray).collect();
        let mut sum = 0.0;
        for other in self.cells.ids() {
            let i = ue.index() * n + other.index();
            let counts = !strong.contains(&other);
            self.rest_gains[i] = if counts { self.links[i].gains.downlink } else { 0.0 };
            sum += self.cells[other].full_mw[0] * self.rest_gains[i];
        }
        self.ues[ue].around.rest_mw = sum;
    }

    /// Link `i` of those that count by themselves at `ue`, in `tti`.
    #[inline]
    pub(super) fn ray(&mut self, tti: Tti, ue: UeId, i: usize) -> Ray {
        let ray = self.ues[ue].around.rays[i];
        if ray.until > tti.0 {
            return ray;
        }
        self.gains(tti, ray.cell, ue);
        self.ues[ue].around.rays[i]
    }

    /// Prefetches what the next question about the downlink of `ue` reads first.
    #[inline]
    pub fn prefetch(&self, ue: UeId) {
        prefetch(&self.ues[ue].around);
    }

    /// Prefetches what is known of the links of `ue`, after [`prefetch`](Self::prefetch).
    #[inline]
    pub fn prefetch_links(&self, ue: UeId) {
        if let Some(fading) = &self.fading {
            self.ues[ue].around.rays.iter().for_each(|ray| fading.prefetch(ray.index));
        }
    }

    /// Prefetches what the gains of the blocks `rbs` of the link of `ue` to its cell in `tti` need,
    /// after [`prefetch_links`](Self::prefetch_links).
    #[inline]
    pub fn prefetch_values(&self, tti: Tti, ue: UeId, rbs: RbSet<WORDS>) {
        if let (Some(fading), true) = (&self.fading, self.links.len() > FEW) {
            self.ues[ue]
                .around
                .rays
                .first()
                .into_iter()
                .for_each(|ray| fading.prefetch_values(ray.index, tti, rbs));
        }
    }

    /// Power of a block of `cell` at `ue` [mW], as it is known.
    fn power_mw(&self, cell: CellId, ue: UeId) -> f32 {
        self.cells[cell].full_mw[0] * self.links[ue.index() * self.cells.len() + cell.index()].gains.downlink
    }
}
