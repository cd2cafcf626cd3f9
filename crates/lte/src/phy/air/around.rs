//! Cells with the strongest links to a UE: their interference is computed link by link.

use lasthop_units::{CellId, Id, Tti};
use smallvec::SmallVec;

use super::super::fading::LinkIndex;
use super::{AtUe, Link, Shared, UeRadio};
use lasthop_bearer::Direction;

/// The links of a UE to the cells around it, for one serving cell.
#[derive(Debug, Default)]
pub struct Around {
    /// The serving cell; None: not determined yet.
    cell: Option<CellId>,
    /// First TTI in which the strongest cells must be determined again.
    pub until: u64,
    /// The cells with the strongest links, in descending order: one more than the number of
    /// interfering links that fade.
    top: Vec<CellId>,
    /// The link to the serving cell, then those of the strongest ones that interfere.
    pub rays: SmallVec<[Ray; 4]>,
    /// The knot before the last place for which the knots of all rays were computed, and the first
    /// TTI in which the gain of a ray must be computed again.
    pub prepared: Option<(i64, u64)>,
    /// Power of all other cells in a block when they transmit at full power [mW].
    pub rest_mw: f32,
    /// The kept value of [`AtUe::assured`].
    pub assured: Assured,
    /// Number of changes of the serving cell, of the gains and of the powers so far.
    pub changes: u64,
}

/// A value that is computed from bounds, and the TTIs in which it holds.
#[derive(Clone, Copy, Debug)]
pub struct Assured {
    pub cell: CellId,
    pub from: u64,
    /// The first TTI in which it may not hold.
    pub until: u64,
    /// None: there are no bounds.
    pub value: Option<f32>,
}

impl Default for Assured {
    fn default() -> Self {
        Assured { cell: CellId::from_index(0), from: 0, until: 0, value: None }
    }
}

impl Assured {
    /// True if the value holds in `tti`, for the serving cell `cell`.
    #[inline]
    pub fn holds(&self, tti: Tti, cell: CellId) -> bool {
        self.cell == cell && (self.from..self.until).contains(&tti.0)
    }
}

/// A link that may fade, with copies of its data that are stored elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct Ray {
    pub cell: CellId,
    /// Large-scale gain of the downlink.
    pub gain: f32,
    /// First TTI in which the gain must be computed again.
    pub until: u64,
    /// Index of its fading.
    pub index: Option<LinkIndex>,
}

/// Factor by which links to cells that are neither serving nor strong are computed less often than
/// the others.
const FAR: u64 = 10;

impl Around {
    /// Clears the state: a cell's power has changed.
    pub(super) fn clear(&mut self) {
        (self.cell, self.until, self.assured) = (None, 0, Assured::default());
    }

    /// Updates the gain of the link to `cell`.
    pub(super) fn renew(&mut self, cell: CellId, gain: f32, until: u64) {
        self.changes += 1;
        for ray in self.rays.iter_mut().filter(|ray| ray.cell == cell) {
            (ray.gain, ray.until) = (gain, until);
        }
    }
}

impl<const WORDS: usize> AtUe<'_, WORDS> {
    /// Updates the state to `tti`, for the serving cell `cell`.
    #[inline]
    pub(super) fn update_around(&mut self, tti: Tti, cell: CellId) {
        let around = &self.ue.around;
        if around.cell != Some(cell) || around.until <= tti.0 {
            self.find_strongest(tti);
            self.serve(cell);
        }
    }

    /// True if `cell` is one of the strongest at the UE.
    #[inline]
    pub(super) fn is_strong(&mut self, tti: Tti, cell: CellId) -> bool {
        if self.ue.around.until <= tti.0 {
            self.find_strongest(tti);
            if let Some(serving) = self.ue.around.cell {
                self.serve(serving);
            }
        }
        self.ue.around.top.contains(&cell)
    }

    /// Determines the strongest cells.
    #[cold]
    fn find_strongest(&mut self, tti: Tti) {
        if self.ue.around.until > tti.0 {
            return;
        }
        self.links();
        let Shared { ground, cells, faded, .. } = self.shared;
        let UeRadio { around, links, terminal, .. } = &mut *self.ue;
        let top = &mut around.top;
        top.clear();
        let until = ground.holds(terminal, tti).map_or(u64::MAX, |t| t.0);
        let position = ground.position(terminal, tti);
        for (cell, downlink) in ground.gains_at((self.id, terminal), &position) {
            links[cell.index()] = Link { downlink, uplink: f32::NAN, until };
        }
        // Power of a block of `cell` [mW].
        let power_mw = |cell: CellId| cells[cell].full_mw[0] * links[cell.index()].downlink;
        for cell in cells.ids() {
            let here = power_mw(cell);
            // Cells of equal power stay in the order of their ids.
            let place = top.partition_point(|other| power_mw(*other) >= here);
            if place <= *faded {
                top.truncate(*faded);
                top.insert(place, cell);
            }
        }
        around.until = until.saturating_sub(tti.0).saturating_mul(FAR).saturating_add(tti.0);
    }

    /// Separates the interfering cells that fade from the others, for the serving cell `cell`.
    fn serve(&mut self, cell: CellId) {
        let single = !self.shared.is_array(self.id);
        let Shared { cells, fading, faded, .. } = self.shared;
        let UeRadio { around, links, rest_gains, fading: of, .. } = &mut *self.ue;
        (around.cell, around.assured) = (Some(cell), Assured::default());
        around.changes += 1;
        let strong = around.top.iter().copied().filter(|c| *c != cell).take(*faded);
        let strong: SmallVec<[CellId; 4]> = std::iter::once(cell).chain(strong).collect();
        let ray = |cell: &CellId| {
            let Link { downlink, until, .. } = links[cell.index()];
            let fading = fading.as_ref().filter(|_| single);
            let index = fading.and_then(|f| f.index(Direction::Downlink, *cell, (self.id, of)));
            Ray { cell: *cell, gain: downlink, until, index }
        };
        around.rays = strong.iter().map(ray).collect();
        around.prepared = None;
        if rest_gains.is_empty() {
            *rest_gains = vec![0.0; cells.len()].into();
        }
        let mut sum = 0.0;
        for other in cells.ids() {
            let i = other.index();
            let counts = !strong.contains(&other);
            rest_gains[i] = if counts { links[i].downlink } else { 0.0 };
            sum += cells[other].full_mw[0] * rest_gains[i];
        }
        around.rest_mw = sum;
    }

    /// Link `i` of the serving and the strongest cells, with its gain in `tti`.
    #[inline]
    pub(super) fn ray(&mut self, tti: Tti, i: usize) -> Ray {
        let ray = self.ue.around.rays[i];
        if ray.until > tti.0 {
            return ray;
        }
        self.downlink_gain(tti, ray.cell);
        self.ue.around.rays[i]
    }
}
