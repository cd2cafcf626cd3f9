//! The radio channel at one UE: its links, and the downlink that it receives.

use lasthop_bearer::Direction;
use lasthop_cell::RbSet;
use lasthop_engine::simd::wide;
use lasthop_radio::{Place, milliwatts};
use lasthop_units::{CellId, Dbm, Id, Tti, UeId};

use super::around::{Around, Assured, Ray};
use super::array::ChannelOf;
use super::beams::{AtPlace, Bounded, OfMoment, Powers, Sinr, of_blocks};
use super::{AtUe, Cell, Link, Shared, Sound, UeRadio, Work};

/// TTIs after which links that were too fast for a bound are examined again.
const RETRY: u64 = 128;

impl<'a, const WORDS: usize> AtUe<'a, WORDS> {
    /// The channel at the UE `id`, whose state is `ue`.
    pub const fn new(
        shared: &'a Shared<WORDS>,
        id: UeId,
        ue: &'a mut UeRadio<WORDS>,
        work: &'a mut Work,
    ) -> AtUe<'a, WORDS> {
        AtUe { shared, id, ue, work }
    }

    /// Borrows the same for a shorter time.
    #[inline]
    pub const fn reborrow(&mut self) -> AtUe<'_, WORDS> {
        AtUe { shared: self.shared, id: self.id, ue: self.ue, work: self.work }
    }

    /// As [`UeRadio::prefetch`].
    #[inline]
    pub fn prefetch(&self) {
        self.ue.prefetch();
    }

    /// As [`Shared::prefetch_links`].
    #[inline]
    pub fn prefetch_links(&self) {
        self.shared.prefetch_links(self.ue);
    }

    /// All resource blocks of `cell`.
    pub fn carrier(&self, cell: CellId) -> RbSet<WORDS> {
        self.shared.carrier(cell)
    }

    /// True if links fade, so that blocks differ.
    pub const fn fades(&self) -> bool {
        self.shared.fading.is_some()
    }

    /// Large-scale gain of the downlink from `cell`.
    #[inline]
    pub fn downlink_gain(&mut self, tti: Tti, cell: CellId) -> f32 {
        match self.ue.links.get(cell.index()) {
            Some(link) if link.until > tti.0 => link.downlink,
            _ => self.renew(tti, cell),
        }
    }

    /// Large-scale gain of the uplink to `cell`.
    #[inline]
    pub fn uplink_gain(&mut self, tti: Tti, cell: CellId) -> f32 {
        match self.ue.links.get(cell.index()) {
            Some(link) if link.until > tti.0 && !link.uplink.is_nan() => link.uplink,
            _ => self.renew_uplink(tti, cell),
        }
    }

    #[cold]
    fn renew(&mut self, tti: Tti, cell: CellId) -> f32 {
        let UeRadio { terminal, around, .. } = &mut *self.ue;
        let ground = &self.shared.ground;
        let downlink = ground.gain(Direction::Downlink, cell, (self.id, &mut *terminal), tti);
        let until = ground.holds(terminal, tti).map_or(u64::MAX, |t| t.0);
        around.renew(cell, downlink, until);
        self.links()[cell.index()] = Link { downlink, uplink: f32::NAN, until };
        downlink
    }

    #[cold]
    fn renew_uplink(&mut self, tti: Tti, cell: CellId) -> f32 {
        self.downlink_gain(tti, cell);
        let UeRadio { terminal, links, .. } = &mut *self.ue;
        let (ground, link) = (&self.shared.ground, &mut links[cell.index()]);
        // Both gains are those of one position.
        let of = if link.until == u64::MAX { tti } else { ground.computed(Tti(link.until)) };
        link.uplink = ground.gain(Direction::Uplink, cell, (self.id, terminal), of);
        link.uplink
    }

    /// The links to all cells, some of which may not be computed yet.
    pub(super) fn links(&mut self) -> &mut [Link] {
        if self.ue.links.is_empty() {
            let unknown = Link { downlink: 0.0, uplink: f32::NAN, until: 0 };
            self.ue.links = vec![unknown; self.shared.cells.len()].into();
        }
        &mut self.ue.links
    }

    /// Linear SINR of `cell` without fading when every cell transmits at full power (geometry),
    /// noise included.
    pub fn geometry(mut self, tti: Tti, cell: CellId) -> f32 {
        if let Some(pinned) = self.ue.pinned {
            return pinned;
        }
        self.update_around(tti, cell);
        let mut sum = self.ue.noise_mw + self.ue.around.rest_mw;
        for i in 1..self.ue.around.rays.len() {
            let ray = self.ray(tti, i);
            sum += self.shared.cells[ray.cell].full_mw[0] * ray.gain;
        }
        self.shared.cells[cell].full_mw[0] * self.downlink_gain(tti, cell) / sum
    }

    /// Linear SINR at `cell` of a sounding signal that the UE sends on `rbs` in `tti` with `power`
    /// over all of them, against the measured interference of the cell. The signal does not
    /// interfere with others.
    pub fn sounding(mut self, tti: Tti, cell: CellId, rbs: RbSet<WORDS>, power: Dbm) -> &'a [f32] {
        if let Some(pinned) = self.ue.pinned {
            return self.work.flat(rbs.len(), pinned);
        }
        let gain = self.uplink_gain(tti, cell);
        let block_mw = (milliwatts(power) / f64::from(rbs.len().max(1))) as f32 * gain;
        if self.shared.receives_with_many(cell) {
            return self.sounding_array(tti, cell, rbs, block_mw);
        }
        let AtUe { shared: Shared { cells, fading, .. }, id, ue, work } = self;
        let Work { row, fading: memory, .. } = work;
        let Cell { noise_mw, received_mw, .. } = &cells[cell];
        let snr = block_mw / noise_mw;
        let (fading, links) = (fading.as_ref(), &mut ue.fading);
        let fading =
            fading.map_or(&[][..], |f| f.row(Direction::Uplink, cell, (id, links), tti, rbs, memory));
        wide(Sound { rbs, snr, noise_mw: *noise_mw, received_mw, fading, row })
    }

    /// Linear SINR of the transmission of `cell` to the UE on `rbs` in `tti`, by block in ascending
    /// order. To be called after all transmissions of cells in `tti` are taken in.
    pub fn downlink(mut self, tti: Tti, cell: CellId, rbs: RbSet<WORDS>) -> &'a [f32] {
        if let Some(pinned) = self.ue.pinned {
            return self.work.flat(rbs.len(), pinned);
        }
        if self.shared.arrays.is_some() && self.compute_channel(tti, cell, rbs, ChannelOf::Data) {
            return self.diversity_row(cell, rbs.len());
        }
        let sent = self.shared.sent(tti);
        debug_assert!(
            rbs.without(sent.used(tti, cell)).is_empty(),
            "the transmission of the cell is recorded"
        );
        self.sinr(tti, cell, rbs, Signal::Data, true)
    }

    /// Linear SINR of the reference signals of `cell` on the blocks `rbs`, against noise and, with
    /// `data`, the transmissions of the other cells in `tti`. Otherwise the other cells are at full
    /// power, which is the interference to control channels.
    pub fn reference(mut self, tti: Tti, cell: CellId, rbs: RbSet<WORDS>, data: bool) -> &'a [f32] {
        if let Some(pinned) = self.ue.pinned {
            return self.work.flat(rbs.len(), pinned);
        }
        if self.shared.arrays.is_some()
            && self.compute_channel(tti, cell, rbs, ChannelOf::Reference(1.0, data))
        {
            return self.diversity_row(cell, rbs.len());
        }
        self.sinr(tti, cell, rbs, Signal::Reference, data)
    }

    /// Linear SINR of a signal of `cell` on the blocks `rbs`, against noise and the other cells:
    /// with `data` their transmissions in `tti`, otherwise all at full power.
    #[inline]
    fn sinr(mut self, tti: Tti, cell: CellId, rbs: RbSet<WORDS>, of: Signal, data: bool) -> &'a [f32] {
        self.update_around(tti, cell);
        let even_mw = if !data {
            Some(self.white_mw())
        } else if self.ue.around.rays.len() == self.shared.cells.len() {
            // No cell is without a ray.
            Some(self.ue.noise_mw)
        } else {
            self.gather_sent(tti, rbs);
            None
        };
        let powers = self.powers(tti, data);
        let place = self.prepare(tti, rbs, &powers);
        let AtUe { shared, ue, work, .. } = self;
        let Work { interference_mw, sinr, row, .. } = work;
        let UeRadio { around: Around { rays, .. }, fading: links, .. } = &*ue;
        let signal_mw = match of {
            Signal::Data => shared.sent(tti).power_mw(cell),
            Signal::Reference => &shared.cells[cell].full_mw,
        };
        match place {
            Some(place) => {
                let faded = AtPlace { links, place, weights: place.weights() };
                let powers = &powers;
                wide(Sinr { rbs, rays, signal_mw, powers, faded, even_mw, interference_mw, to: sinr });
            }
            None => {
                let faded = OfMoment(links);
                let powers = &powers;
                wide(Sinr { rbs, rays, signal_mw, powers, faded, even_mw, interference_mw, to: sinr });
            }
        }
        of_blocks(rbs, sinr, row)
    }

    /// The powers of cells: with `data` in `tti`, otherwise at full power.
    #[inline]
    fn powers(&self, tti: Tti, data: bool) -> Powers<'a, WORDS> {
        Powers { cells: &self.shared.cells, sent: data.then(|| (tti, self.shared.sent(tti))) }
    }

    /// Updates gains and fading of the links to `tti`, on at least the blocks `rbs`. Returns the
    /// place between knots if the links are slow. The link of a silent cell is left out: a gain
    /// that varies is computed only when it is needed.
    #[inline]
    fn prepare(&mut self, tti: Tti, rbs: RbSet<WORDS>, powers: &Powers<'_, WORDS>) -> Option<Place> {
        let serving = self.ue.around.rays.first()?.index;
        let Some(place) = serving.and_then(|index| self.ue.fading.place(index, tti)) else {
            self.bring(tti, rbs, powers);
            return None;
        };
        // Data, control channels and reports are mostly between the same knots.
        if self.ue.around.prepared.is_some_and(|(at, until)| place.knot() == at && tti.0 < until) {
            return Some(place);
        }
        let (mut all, mut until) = (true, u64::MAX);
        for i in 0..self.ue.around.rays.len() {
            if i > 0 && powers.is_silent(self.ue.around.rays[i].cell, rbs) {
                all = false;
                continue;
            }
            let Ray { index, until: of_ray, .. } = self.ray(tti, i);
            until = until.min(of_ray);
            if let Some(index) = index {
                self.ue.fading.prepare(index, place, &mut self.work.fading);
            }
        }
        self.ue.around.prepared = all.then_some((place.knot(), until));
        Some(place)
    }

    /// As [`prepare`](Self::prepare), for links that are fast or do not fade.
    #[inline]
    fn bring(&mut self, tti: Tti, rbs: RbSet<WORDS>, powers: &Powers<'_, WORDS>) {
        self.ue.around.prepared = None;
        for i in 0..self.ue.around.rays.len() {
            if i > 0 && powers.is_silent(self.ue.around.rays[i].cell, rbs) {
                continue;
            }
            let index = self.ray(tti, i).index;
            if let (Some(index), Some(fading)) = (index, &self.shared.fading) {
                fading.bring(index, &mut self.ue.fading, tti, rbs, &mut self.work.fading);
            }
        }
    }

    /// A number that is equal for two TTIs only if [`reference`](Self::reference) of all blocks of
    /// `cell` is equal in both. None where links fade, or an end has several antennas, or the SINR
    /// is given.
    #[inline]
    pub fn state_of_reference(&mut self, tti: Tti, cell: CellId, data: bool) -> Option<u64> {
        let Shared { fading, arrays, cells, .. } = self.shared;
        let varies = fading.is_some() || (data && cells.len() > 1);
        let unknown = varies || arrays.is_some() || self.ue.pinned.is_some();
        if unknown { None } else { Some(self.state_of_gains(tti, cell)) }
    }

    /// A number of the gains of all links that matter in `tti`, with `cell` as the serving cell.
    #[inline(never)]
    fn state_of_gains(&mut self, tti: Tti, cell: CellId) -> u64 {
        self.update_around(tti, cell);
        for i in 0..self.ue.around.rays.len() {
            self.ray(tti, i);
        }
        self.ue.around.changes
    }

    /// What `of` computes from the SINR of [`reference`](Self::reference) on all blocks of `cell`,
    /// or a value that is not higher: `of` must not fall if a SINR rises, and it has to be the same
    /// function at each call for a cell. The value is kept as long as it holds, which is some TTIs.
    /// None where a link is too fast for it.
    #[inline]
    pub fn assured(&mut self, tti: Tti, cell: CellId, of: impl FnOnce(&[f32]) -> f32) -> Option<f32> {
        match self.ue.around.assured {
            assured if assured.holds(tti, cell) => assured.value,
            _ => self.assure(tti, cell, of),
        }
    }

    #[cold]
    fn assure(&mut self, tti: Tti, cell: CellId, of: impl FnOnce(&[f32]) -> f32) -> Option<f32> {
        let (value, until) = match self.reference_at_least(tti, cell) {
            Some((row, until)) => (Some(of(row)), until),
            None => (None, tti.0 + RETRY),
        };
        self.ue.around.assured = Assured { cell, from: tti.0, until, value };
        value
    }

    /// A lower bound of the SINR of [`reference`](Self::reference) on all blocks of `cell`, with
    /// all cells at full power, and the first TTI after `tti` in which it may not hold. Without
    /// fading it is the SINR itself.
    fn reference_at_least(&mut self, tti: Tti, cell: CellId) -> Option<(&[f32], u64)> {
        if self.ue.pinned.is_some() || self.shared.is_array(self.id) {
            return None;
        }
        let rbs = self.carrier(cell);
        self.update_around(tti, cell);
        let even_mw = Some(self.white_mw());
        let mut until = self.ue.around.until;
        for i in 0..self.ue.around.rays.len() {
            until = until.min(self.ray(tti, i).until);
        }
        let powers = self.powers(tti, false);
        let place = self.prepare(tti, rbs, &powers);
        let AtUe { shared, ue, work, .. } = self;
        let UeRadio { around: Around { rays, .. }, fading: links, .. } = &**ue;
        let Work { interference_mw, sinr, .. } = &mut **work;
        let (signal_mw, powers) = (&*shared.cells[cell].full_mw, &powers);
        match place {
            Some(place) => {
                until = until.min(links.end(rays.first()?.index?, place));
                let faded = Bounded { links, place };
                wide(Sinr { rbs, rays, signal_mw, powers, faded, even_mw, interference_mw, to: sinr });
            }
            None if shared.fading.is_some() => return None,
            None => {
                let faded = OfMoment(links);
                wide(Sinr { rbs, rays, signal_mw, powers, faded, even_mw, interference_mw, to: sinr });
            }
        }
        Some((&sinr[..rbs.len() as usize], until))
    }

    /// Sums noise and the power of the cells without fading on `rbs`, as they transmit or at full
    /// power, into `interference_mw`.
    #[inline(always)]
    pub(super) fn gather_white(&mut self, tti: Tti, cell: CellId, rbs: RbSet<WORDS>, data: bool) {
        self.update_around(tti, cell);
        if data {
            self.gather_sent(tti, rbs);
        } else {
            let white_mw = self.white_mw();
            let interference_mw = &mut self.work.interference_mw;
            rbs.runs(|first, len| interference_mw[first..first + len].fill(white_mw));
        }
    }

    /// Noise and the power of the cells without fading at full power [mW].
    #[inline(always)]
    fn white_mw(&self) -> f32 {
        self.ue.noise_mw + self.ue.around.rest_mw
    }

    /// Sums noise and the power of the cells without fading on `rbs`, as they transmit in `tti`,
    /// into `interference_mw`.
    #[inline(always)]
    fn gather_sent(&mut self, tti: Tti, rbs: RbSet<WORDS>) {
        let Work { interference_mw, adds_mw, .. } = &mut *self.work;
        let (gains, noise_mw) = (&self.ue.rest_gains, self.ue.noise_mw);
        self.shared.sent(tti).gather(tti, gains, rbs, noise_mw, adds_mw, interference_mw);
    }
}

/// A signal of the serving cell.
#[derive(Clone, Copy)]
enum Signal {
    /// Its transmission in the TTI.
    Data,
    /// Reference signals, on all blocks.
    Reference,
}
