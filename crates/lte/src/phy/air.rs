//! The air between cells and UEs: who transmits on which resource blocks in this TTI, and what SINR
//! that leaves.
//!
//! A cell or UE that transmits says so first ([`Air::cell_transmits`], [`Air::ue_transmits`]); when
//! all have spoken, the SINR of each transmission is asked for ([`Air::downlink`],
//! [`Air::uplink`]). Only links that are asked about are ever worked out: the large-scale gain of a
//! link is kept until its UE has moved, fading is a function of time. Nothing here
//! knows a transport block.
//!
//! Interference is that of exactly the blocks that others use. The link on which somebody is served
//! fades, and so do a UE's links to the strongest other cells; those to the rest have their
//! large-scale gain, whose sum hardly moves.

mod around;
mod array;
mod direct;
mod emissions;
#[cfg(test)]
mod tests;
mod uplink;

use lasthop_cell::{RbSet, SUBCARRIERS};
use lasthop_engine::math::db;
use lasthop_engine::simd::{Fused, Kernel, wide};
use lasthop_radio::lte::{Modulation, mean_mi, sinr_db_of_mi};
use lasthop_radio::{Position, milliwatts, thermal_noise};
use lasthop_units::{CellId, Db, Dbm, Hertz, Id, IndexVec, Tti, UeId};

use super::LTE_WORDS;
use super::fading::{DirectFading, FastFading, LinkIndex};
use super::propagation::{Gains, Propagation};
use around::{Around, Ray};
use array::Arrays;
pub use array::{CellAntennas, ChannelOf, CodeWordSinr, Pmi, Scheme, UeAntennas, layers_of};
use direct::{DirectGain, DirectGains};
use emissions::Emissions;
use lasthop_bearer::Direction;
use uplink::{Sender, Uplink};

/// TTIs for which the transmissions of a cell are remembered: a report may look back this far.
pub const LOOK_BACK: u64 = 128;

/// What the air must know of a cell.
#[derive(Clone, Debug)]
pub struct CellAir {
    /// Power over all resource blocks.
    pub power: Dbm,
    /// Noise figure of the receiver.
    pub noise_figure: Db,
    /// Resource blocks of the carrier.
    pub blocks: u32,
}

/// What the air must know of a UE.
#[derive(Clone, Debug)]
pub struct UeAir {
    /// Noise figure of the receiver.
    pub noise_figure: Db,
    /// The SINR of every block in both directions, whatever the radio says.
    pub pinned_sinr: Option<Db>,
}

/// A link's large-scale gain and until when it holds.
#[derive(Clone, Copy, Debug)]
struct Link {
    gains: Gains,
    /// First TTI in which the gains must be worked out again; `u64::MAX`: never.
    until: u64,
}

/// Power by resource block [mW] that a UE puts on the air in one TTI.
#[derive(Clone, Debug)]
struct Sent<const WORDS: usize> {
    tti: Tti,
    used: RbSet<WORDS>,
    power_mw: Box<[f32]>,
}

impl<const WORDS: usize> Sent<WORDS> {
    #[inline]
    fn add(&mut self, tti: Tti, rbs: RbSet<WORDS>, power_mw: f32) {
        if self.tti != tti {
            (self.tti, self.used) = (tti, RbSet::EMPTY);
        }
        debug_assert!(self.used.and(rbs).is_empty(), "{tti:?}: a block twice");
        self.used |= rbs;
        rbs.runs(|first, len| self.power_mw[first..first + len].fill(power_mw));
    }
}

#[derive(Debug)]
struct Cell {
    blocks: u32,
    /// Power of each block at full power [mW].
    full_mw: Box<[f32]>,
    /// Noise in a block [mW].
    noise_mw: f32,
    /// By block: mean of noise and interference where something was received lately [mW].
    received_mw: Box<[f32]>,
}

#[derive(Debug)]
struct Ue<const WORDS: usize> {
    noise_mw: f32,
    pinned: Option<f32>,
    sent: Sent<WORDS>,
    around: Around,
}

/// The air of carriers whose resource blocks fit into a [`RbSet`] of so many words.
#[derive(Debug)]
pub struct Air<const WORDS: usize = LTE_WORDS> {
    cells: IndexVec<CellId, Cell>,
    ues: IndexVec<UeId, Ue<WORDS>>,
    /// By UE, then cell.
    links: Vec<Link>,
    /// By UE, then cell: downlink gains of cells that interfere without fading, 0 for the others.
    rest_gains: Vec<f32>,
    propagation: Propagation,
    fading: Option<FastFading<WORDS>>,
    /// Interfering links of a UE that fade.
    faded: usize,
    /// What cells sent in the last TTIs, by TTI modulo the length; one, where nobody looks back.
    sent: Box<[Emissions<WORDS>]>,
    uplink: Uplink<WORDS>,
    interference_mw: Box<[f32]>,
    row: Box<[f32]>,
    /// Gains between UEs that were asked about, and until when they hold.
    direct: DirectGains,
    direct_fading: Option<DirectFading<WORDS>>,
    /// Where an end has several antennas.
    arrays: Option<Box<Arrays>>,
    /// Memory for their SINRs.
    code_words: [CodeWordSinr; 2],
}

impl<const WORDS: usize> Air<WORDS> {
    /// The air between `cells` and `ues`, whose resource blocks are `block` wide; `faded`
    /// interfering links of each UE fade. `looks_back`: reports contain the data of earlier TTIs.
    pub fn new(
        cells: &[CellAir],
        ues: &[UeAir],
        block: Hertz,
        propagation: Propagation,
        fading: Option<FastFading<WORDS>>,
        faded: usize,
        looks_back: bool,
    ) -> Air<WORDS> {
        let most = cells.iter().map(|c| c.blocks as usize).max().unwrap_or(0);
        let noise_mw = |figure: Db| milliwatts(thermal_noise(block, figure)) as f32;
        let cell = |c: &CellAir| {
            let block_mw = (milliwatts(c.power) / f64::from(c.blocks)) as f32;
            Cell {
                blocks: c.blocks,
                full_mw: vec![block_mw; c.blocks as usize].into(),
                noise_mw: noise_mw(c.noise_figure),
                received_mw: vec![noise_mw(c.noise_figure); c.blocks as usize].into(),
            }
        };
        let ue = |u: &UeAir| Ue {
            noise_mw: noise_mw(u.noise_figure),
            pinned: u.pinned_sinr.map(|db| lasthop_radio::linear(db) as f32),
            sent: Sent { tti: Tti(u64::MAX), used: RbSet::EMPTY, power_mw: vec![0.0; most].into() },
            around: Around::default(),
        };
        let unknown = Link { gains: Gains::default(), until: 0 };
        let remembered = if looks_back { LOOK_BACK } else { 1 };
        Air {
            links: vec![unknown; cells.len() * ues.len()],
            rest_gains: vec![0.0; cells.len() * ues.len()],
            ues: ues.iter().map(ue).collect(),
            cells: cells.iter().map(cell).collect(),
            propagation,
            faded: if fading.is_some() { faded } else { 0 },
            fading,
            sent: (0..remembered).map(|_| Emissions::new(cells.len(), most)).collect(),
            uplink: Uplink::default(),
            interference_mw: vec![0.0; most].into(),
            row: vec![0.0; most].into(),
            direct: DirectGains::new(ues.len()),
            direct_fading: None,
            arrays: None,
            code_words: Default::default(),
        }
    }

    /// Links between UEs fade.
    pub fn set_direct_fading(&mut self, fading: Option<DirectFading<WORDS>>) {
        self.direct_fading = fading;
    }

    /// Large-scale gains between `cell` and `ue`.
    #[inline]
    pub fn gains(&mut self, tti: Tti, cell: CellId, ue: UeId) -> Gains {
        let i = ue.index() * self.cells.len() + cell.index();
        if self.links[i].until <= tti.0 {
            self.renew(tti, cell, ue);
        }
        self.links[i].gains
    }

    #[cold]
    fn renew(&mut self, tti: Tti, cell: CellId, ue: UeId) {
        let (gains, until) = self.propagation.gains(cell, ue, tti);
        let until = until.map_or(u64::MAX, |t| t.0);
        self.links[ue.index() * self.cells.len() + cell.index()] = Link { gains, until };
        self.ues[ue].around.renew(cell, gains.downlink, until);
    }

    /// `cell` sends with this power in all from now on [mW]; 0: it is silent, its reference signals
    /// too.
    pub fn set_power(&mut self, cell: CellId, power_mw: f64) {
        let c = &mut self.cells[cell];
        c.full_mw.fill((power_mw / f64::from(c.blocks)) as f32);
        // What surrounds a UE counts powers: all are found again.
        self.ues.iter_mut().for_each(|ue| ue.around.forget());
    }

    /// Thermal noise of `ue` on a resource element [mW].
    pub fn noise_on_element_mw(&self, ue: UeId) -> f64 {
        f64::from(self.ues[ue].noise_mw) / f64::from(SUBCARRIERS)
    }

    /// The linear SINR that `ue` is given instead of a physical one.
    pub fn pinned(&self, ue: UeId) -> Option<f32> {
        self.ues[ue].pinned
    }

    /// Where `ue` is [m].
    pub fn position(&mut self, tti: Tti, ue: UeId) -> Position {
        self.propagation.position(ue, tti)
    }

    /// Power of the reference signals of `cell` at `ue` without fading (RSRP): that of a resource
    /// element [mW].
    #[inline]
    pub fn rsrp_mw(&mut self, tti: Tti, cell: CellId, ue: UeId) -> f32 {
        self.cells[cell].full_mw[0] / SUBCARRIERS as f32 * self.gains(tti, cell, ue).downlink
    }

    /// Linear SINR of `cell` at `ue` without fading when every cell sends at full power: the
    /// geometry of the place, noise included.
    pub fn geometry(&mut self, tti: Tti, cell: CellId, ue: UeId) -> f32 {
        if let Some(pinned) = self.ues[ue].pinned {
            return pinned;
        }
        self.update_around(tti, cell, ue);
        let mut sum = self.ues[ue].noise_mw + self.ues[ue].around.rest_mw;
        for i in 1..self.ues[ue].around.rays.len() {
            let ray = self.ray(tti, ue, i);
            sum += self.cells[ray.cell].full_mw[0] * ray.gain;
        }
        self.cells[cell].full_mw[0] * self.gains(tti, cell, ue).downlink / sum
    }

    /// `cell` sends on `rbs` in `tti`, each block with `boost` times its share of the cell's power
    /// (P_A).
    #[inline]
    pub fn cell_transmits(&mut self, tti: Tti, cell: CellId, rbs: RbSet<WORDS>, boost: f32) {
        let slot = tti.0 as usize % self.sent.len();
        self.sent[slot].add(tti, cell, rbs, self.cells[cell].full_mw[0] * boost);
    }

    /// `ue` sends on `rbs` in `tti`, `power` over all of them.
    #[inline]
    pub fn ue_transmits(&mut self, tti: Tti, ue: UeId, rbs: RbSet<WORDS>, power: Dbm) {
        self.ue_transmits_on_each(tti, ue, rbs, (milliwatts(power) / f64::from(rbs.len().max(1))) as f32);
    }

    /// `ue` sends on `rbs` in `tti`, `block_mw` [mW] on every block.
    #[inline]
    pub fn ue_transmits_on_each(&mut self, tti: Tti, ue: UeId, rbs: RbSet<WORDS>, block_mw: f32) {
        self.uplink.add(tti, Sender { ue, rbs, block_mw });
        self.ues[ue].sent.add(tti, rbs, block_mw);
    }

    /// Linear SINR of what `cell` sends to `ue` on `rbs` in `tti`, by block in ascending order.
    /// Every cell must have said what it transmits.
    pub fn downlink(&mut self, tti: Tti, cell: CellId, ue: UeId, rbs: RbSet<WORDS>) -> &[f32] {
        if let Some(pinned) = self.ues[ue].pinned {
            return self.flat(rbs.len(), pinned);
        }
        if self.arrays.is_some() && self.compute_channel(tti, cell, ue, rbs, ChannelOf::Data) {
            return self.diversity_row(cell, ue, rbs.len());
        }
        self.gather_data(tti, cell, ue, rbs);
        let Ray { gain, index, .. } = self.ray(tti, ue, 0);
        let Air { fading, sent, interference_mw, row, .. } = self;
        let sent = &sent[tti.0 as usize % sent.len()];
        debug_assert!(rbs.without(sent.used(tti, cell)).is_empty(), "the cell has said that it transmits");
        let fading = fading_at(fading, index, tti, rbs);
        wide(FillRow { rbs, power_mw: sent.power_mw(cell), gain, fading, interference_mw, row })
    }

    /// Linear SINR of the reference signals of `cell` at `ue` on the blocks `rbs`: noise and, with
    /// `data`, what the other cells sent in `tti`, otherwise all of them at full power, as
    /// control channels meet them, which never fall silent.
    pub fn reference(&mut self, tti: Tti, cell: CellId, ue: UeId, rbs: RbSet<WORDS>, data: bool) -> &[f32] {
        if let Some(pinned) = self.ues[ue].pinned {
            return self.flat(rbs.len(), pinned);
        }
        if self.arrays.is_some() && self.compute_channel(tti, cell, ue, rbs, ChannelOf::Reference(1.0, data))
        {
            return self.diversity_row(cell, ue, rbs.len());
        }
        if data {
            self.gather_data(tti, cell, ue, rbs);
        } else {
            self.gather_full(tti, cell, ue, rbs);
        }
        let Ray { gain, index, .. } = self.ray(tti, ue, 0);
        let Air { fading, cells, interference_mw, row, .. } = self;
        let fading = fading_at(fading, index, tti, rbs);
        wide(FillRow { rbs, power_mw: &cells[cell].full_mw, gain, fading, interference_mw, row })
    }

    /// What the SINR of [`reference`](Self::reference) with all cells at full power is at least,
    /// where the link to `cell` alone tells it: the others' fading is as strong as it
    /// becomes between two knots. None where links are not that slow.
    pub fn reference_at_least(
        &mut self,
        tti: Tti,
        cell: CellId,
        ue: UeId,
        rbs: RbSet<WORDS>,
    ) -> Option<&[f32]> {
        if self.ues[ue].pinned.is_some() || self.fading.is_none() || self.is_array(ue) {
            return None;
        }
        self.update_around(tti, cell, ue);
        let mut sum = self.ues[ue].noise_mw + self.ues[ue].around.rest_mw;
        for i in 1..self.ues[ue].around.rays.len() {
            let Ray { cell: other, gain, index, .. } = self.ray(tti, ue, i);
            sum += self.cells[other].full_mw[0] * gain * self.fading.as_mut()?.most_at(index, tti)?;
        }
        rbs.runs(|first, len| self.interference_mw[first..first + len].fill(sum));
        let Ray { gain, index, .. } = self.ray(tti, ue, 0);
        let Air { fading, cells, interference_mw, row, .. } = self;
        let fading = fading_at(fading, index, tti, rbs);
        Some(wide(FillRow { rbs, power_mw: &cells[cell].full_mw, gain, fading, interference_mw, row }))
    }

    /// True if links fade: blocks differ.
    pub const fn fades(&self) -> bool {
        self.fading.is_some()
    }

    /// How many cells there are.
    pub fn cells(&self) -> usize {
        self.cells.len()
    }

    /// All resource blocks of `cell`.
    pub fn carrier(&self, cell: CellId) -> RbSet<WORDS> {
        RbSet::range(0, self.cells[cell].blocks)
    }

    /// Noise and what the other cells without fading send on `rbs`, or would at full power, into
    /// `interference_mw`.
    #[inline(always)]
    fn gather_white(&mut self, tti: Tti, cell: CellId, ue: UeId, rbs: RbSet<WORDS>, data: bool) {
        self.update_around(tti, cell, ue);
        if data {
            let n = self.cells.len();
            let slot = tti.0 as usize % self.sent.len();
            let rest_gains = &self.rest_gains[ue.index() * n..][..n];
            self.sent[slot].gather(tti, rest_gains, rbs, self.ues[ue].noise_mw, &mut self.interference_mw);
        } else {
            let flat = self.ues[ue].noise_mw + self.ues[ue].around.rest_mw;
            rbs.runs(|first, len| self.interference_mw[first..first + len].fill(flat));
        }
    }

    /// Noise and what the other cells send on `rbs`, into `interference_mw`.
    #[inline]
    fn gather_data(&mut self, tti: Tti, cell: CellId, ue: UeId, rbs: RbSet<WORDS>) {
        self.gather_white(tti, cell, ue, rbs, true);
        let slot = tti.0 as usize % self.sent.len();
        for i in 1..self.ues[ue].around.rays.len() {
            let other = self.ues[ue].around.rays[i].cell;
            let shared = self.sent[slot].used(tti, other).and(rbs);
            // Who is silent is not asked about: a gain that moves is worked out for who asks.
            if !shared.is_empty() {
                let Ray { gain, index, .. } = self.ray(tti, ue, i);
                let fading = fading_at(&mut self.fading, index, tti, shared);
                let power_mw = self.sent[slot].power_mw(other);
                wide(AddFaded { rbs: shared, power_mw, gain, fading, to: &mut self.interference_mw });
            }
        }
    }

    /// The same with all cells at full power.
    #[inline]
    fn gather_full(&mut self, tti: Tti, cell: CellId, ue: UeId, rbs: RbSet<WORDS>) {
        self.gather_white(tti, cell, ue, rbs, false);
        for i in 1..self.ues[ue].around.rays.len() {
            let Ray { cell: other, gain, index, .. } = self.ray(tti, ue, i);
            let shared = self.carrier(other).and(rbs);
            let fading = fading_at(&mut self.fading, index, tti, shared);
            let power_mw = &self.cells[other].full_mw;
            wide(AddFaded { rbs: shared, power_mw, gain, fading, to: &mut self.interference_mw });
        }
    }

    /// Linear SINR of what `ue` sends to `cell` on `rbs` in `tti`, by block in ascending order.
    /// Every UE must have said what it transmits.
    pub fn uplink(&mut self, tti: Tti, cell: CellId, ue: UeId, rbs: RbSet<WORDS>) -> &[f32] {
        if let Some(pinned) = self.ues[ue].pinned {
            return self.flat(rbs.len(), pinned);
        }
        if self.receives_with_many(cell) {
            return self.uplink_array(tti, cell, ue, rbs);
        }
        let noise_mw = self.cells[cell].noise_mw;
        rbs.runs(|first, len| self.interference_mw[first..first + len].fill(noise_mw));
        for i in 0..self.uplink.others(tti, rbs) {
            let other = self.uplink.senders[i];
            let shared = other.rbs.and(rbs);
            if shared.is_empty() || other.ue == ue {
                continue;
            }
            let power_mw = other.block_mw * self.gains(tti, cell, other.ue).uplink;
            let fades = self.faded > 0 && self.is_strong(tti, cell, other.ue);
            let fading = match fades {
                true => fading_on(&mut self.fading, Direction::Uplink, cell, other.ue, tti, shared),
                false => &[],
            };
            add_even(shared, power_mw, fading, &mut self.interference_mw);
        }
        let gain = self.gains(tti, cell, ue).uplink;
        let Air { ues, fading, interference_mw, row, .. } = self;
        let sent = &ues[ue].sent;
        debug_assert!(
            sent.tti == tti && rbs.without(sent.used).is_empty(),
            "the UE has said that it transmits"
        );
        let fading = fading_on(fading, Direction::Uplink, cell, ue, tti, rbs);
        wide(FillRow { rbs, power_mw: &sent.power_mw, gain, fading, interference_mw, row })
    }

    /// `cell` measures noise and interference on the blocks `rbs`, on which it received `ue` just
    /// now ([`Air::uplink`]): TS 36.214 clause 5.2.2, received interference power. A mean over
    /// the last 32 receptions or so.
    pub fn measure_interference(&mut self, cell: CellId, ue: UeId, rbs: RbSet<WORDS>) {
        if self.ues[ue].pinned.is_some() {
            return;
        }
        let Air { cells, interference_mw, .. } = self;
        let received_mw = &mut cells[cell].received_mw;
        rbs.runs(|first, len| {
            let now = &interference_mw[first..first + len];
            received_mw[first..first + len]
                .iter_mut()
                .zip(now)
                .for_each(|(h, i)| *h += (i - *h) * (1.0 / 32.0));
        });
    }

    /// Linear SINR at `cell` of a sounding signal that `ue` sends on `rbs` in `tti` with `power`
    /// over all of them, against the interference that the cell has measured lately. Nothing
    /// else sees that signal.
    pub fn sounding(&mut self, tti: Tti, cell: CellId, ue: UeId, rbs: RbSet<WORDS>, power: Dbm) -> &[f32] {
        if let Some(pinned) = self.ues[ue].pinned {
            return self.flat(rbs.len(), pinned);
        }
        let gain = self.gains(tti, cell, ue).uplink;
        let block_mw = (milliwatts(power) / f64::from(rbs.len().max(1))) as f32 * gain;
        if self.receives_with_many(cell) {
            return self.sounding_array(tti, cell, ue, rbs, block_mw);
        }
        let snr = block_mw / self.cells[cell].noise_mw;
        let Air { cells, fading, row, .. } = self;
        let Cell { noise_mw, received_mw, .. } = &cells[cell];
        let fading = fading_on(fading, Direction::Uplink, cell, ue, tti, rbs);
        wide(Sound { rbs, snr, noise_mw: *noise_mw, received_mw, fading, row })
    }

    /// Large-scale gain between two UEs on the uplink carrier.
    #[inline]
    pub fn between(&mut self, tti: Tti, a: UeId, b: UeId) -> f32 {
        let known = self.direct.of(a, b);
        if known.until <= tti.0 {
            let (gain, until) = self.propagation.between(a.min(b), a.max(b), tti);
            *known = DirectGain { gain, until: until.map_or(u64::MAX, |t| t.0) };
        }
        known.gain
    }

    /// Distance between two UEs [m].
    pub fn distance_between(&mut self, tti: Tti, a: UeId, b: UeId) -> f64 {
        let (a, b) = (self.propagation.position(a, tti), self.propagation.position(b, tti));
        let [x, y, z] = [0, 1, 2].map(|i| a[i] - b[i]);
        (x * x + y * y + z * z).sqrt()
    }

    /// Signal-to-noise ratio at the UE `rx` of what the UE `tx` sends with `power_mw` [mW] over all
    /// of `rbs` [dB]; where links fade, that of an unfaded channel that carries as much.
    pub fn sidelink_level(&mut self, tti: Tti, [tx, rx]: [UeId; 2], power_mw: f64, rbs: RbSet<WORDS>) -> f32 {
        let block_mw = (power_mw / f64::from(rbs.len().max(1))) as f32;
        let snr = block_mw * self.between(tti, tx, rx) / self.ues[rx].noise_mw;
        let Air { direct_fading: Some(fading), row, .. } = self else {
            return db(f64::from(snr).max(1e-9)) as f32;
        };
        let fading = fading.row(tx, rx, tti, rbs);
        let row = &mut row[..rbs.len() as usize];
        rbs.iter().zip(row.iter_mut()).for_each(|(block, to)| *to = snr * fading[block as usize]);
        sinr_db_of_mi(Modulation::Qam64, mean_mi(Modulation::Qam64, row)) as f32
    }

    /// Linear SINR at the UE `rx` of what the UE `tx` sends on `rbs` in `tti`, by block in
    /// ascending order. Every UE must have said what it transmits.
    pub fn sidelink(&mut self, tti: Tti, tx: UeId, rx: UeId, rbs: RbSet<WORDS>) -> &[f32] {
        let noise_mw = self.ues[rx].noise_mw;
        rbs.runs(|first, len| self.interference_mw[first..first + len].fill(noise_mw));
        for i in 0..self.uplink.others(tti, rbs) {
            let other = self.uplink.senders[i];
            let shared = other.rbs.and(rbs);
            if shared.is_empty() || other.ue == tx || other.ue == rx {
                continue;
            }
            let power_mw = other.block_mw * self.between(tti, other.ue, rx);
            // What is below the noise need not fade.
            let fading = match &mut self.direct_fading {
                Some(fading) if power_mw > noise_mw => fading.row(other.ue, rx, tti, shared),
                _ => &[],
            };
            add_even(shared, power_mw, fading, &mut self.interference_mw);
        }
        let gain = self.between(tti, tx, rx);
        let Air { ues, interference_mw, row, direct_fading, .. } = self;
        let fading: &[f32] = direct_fading.as_mut().map_or(&[], |f| f.row(tx, rx, tti, rbs));
        wide(FillRow { rbs, power_mw: &ues[tx].sent.power_mw, gain, fading, interference_mw, row })
    }

    /// `blocks` blocks of the same SINR.
    pub fn flat(&mut self, blocks: u32, sinr: f32) -> &[f32] {
        let row = &mut self.row[..blocks as usize];
        row.fill(sinr);
        row
    }
}

/// Fading of a link on at least the blocks `rbs`; empty without fading.
#[inline]
fn fading_on<const WORDS: usize>(
    fading: &mut Option<FastFading<WORDS>>,
    direction: Direction,
    cell: CellId,
    ue: UeId,
    tti: Tti,
    rbs: RbSet<WORDS>,
) -> &[f32] {
    fading.as_mut().map_or(&[], |f| f.row(direction, cell, ue, tti, rbs))
}

/// The same of the link at `index`.
#[inline]
fn fading_at<const WORDS: usize>(
    fading: &mut Option<FastFading<WORDS>>,
    index: Option<LinkIndex>,
    tti: Tti,
    rbs: RbSet<WORDS>,
) -> &[f32] {
    fading.as_mut().map_or(&[], |f| f.row_at(index, tti, rbs))
}

/// power * gain * fading / interference of the blocks `rbs`, one after the other in `row`; without
/// fading, 1.
struct FillRow<'a, const WORDS: usize> {
    rbs: RbSet<WORDS>,
    power_mw: &'a [f32],
    gain: f32,
    fading: &'a [f32],
    interference_mw: &'a [f32],
    row: &'a mut [f32],
}

impl<'a, const WORDS: usize> Kernel for FillRow<'a, WORDS> {
    type Output = &'a [f32];
    #[inline(always)]
    fn run<F: Fused>(self) -> &'a [f32] {
        let FillRow { mut rbs, power_mw, gain, fading, interference_mw, row } = self;
        let mut at = 0;
        while let Some((first, len)) = rbs.take_run() {
            let end = first + len;
            let each =
                power_mw[first..end].iter().zip(&interference_mw[first..end]).zip(&mut row[at..at + len]);
            match fading.get(first..end) {
                Some(fading) => each.zip(fading).for_each(|(((p, i), to), f)| *to = p * gain * f / i),
                None => each.for_each(|((p, i), to)| *to = p * gain / i),
            }
            at += len;
        }
        &row[..at]
    }
}

/// Adds power * gain * fading of the blocks `rbs` to `to`; without fading, 1.
struct AddFaded<'a, const WORDS: usize> {
    rbs: RbSet<WORDS>,
    power_mw: &'a [f32],
    gain: f32,
    fading: &'a [f32],
    to: &'a mut [f32],
}

impl<const WORDS: usize> Kernel for AddFaded<'_, WORDS> {
    type Output = ();
    #[inline(always)]
    fn run<F: Fused>(self) {
        let AddFaded { mut rbs, power_mw, gain, fading, to } = self;
        while let Some((first, len)) = rbs.take_run() {
            let end = first + len;
            let each = to[first..end].iter_mut().zip(&power_mw[first..end]);
            match fading.get(first..end) {
                Some(fading) => each.zip(fading).for_each(|((to, p), f)| *to += p * gain * f),
                None => each.for_each(|(to, p)| *to += p * gain),
            }
        }
    }
}

/// What a sounding signal with `snr` times the noise on each block of `rbs` has above what was
/// received there, in `row`.
struct Sound<'a, const WORDS: usize> {
    rbs: RbSet<WORDS>,
    snr: f32,
    noise_mw: f32,
    received_mw: &'a [f32],
    fading: &'a [f32],
    row: &'a mut [f32],
}

impl<'a, const WORDS: usize> Kernel for Sound<'a, WORDS> {
    type Output = &'a [f32];
    #[inline(always)]
    fn run<F: Fused>(self) -> &'a [f32] {
        let Sound { mut rbs, snr, noise_mw, received_mw, fading, row } = self;
        let mut at = 0;
        while let Some((first, len)) = rbs.take_run() {
            // Where nothing but noise was received the last factor is exactly 1.
            let both = received_mw[first..first + len].iter().zip(&mut row[at..at + len]);
            match fading.get(first..first + len) {
                Some(fading) => both.zip(fading).for_each(|((h, to), f)| *to = snr * f * (noise_mw / h)),
                None => both.for_each(|(h, to)| *to = snr * (noise_mw / h)),
            }
            at += len;
        }
        &row[..at]
    }
}

/// The same where every block has one power.
#[inline]
fn add_even<const WORDS: usize>(rbs: RbSet<WORDS>, power_mw: f32, fading: &[f32], to: &mut [f32]) {
    rbs.runs(|first, len| {
        let each = to[first..first + len].iter_mut();
        match fading.get(first..first + len) {
            Some(fading) => each.zip(fading).for_each(|(to, f)| *to += power_mw * f),
            None => each.for_each(|to| *to += power_mw),
        }
    });
}
