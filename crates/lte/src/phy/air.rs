//! The radio channel between cells and UEs: the transmissions of a TTI with their resource blocks,
//! and the SINR of each.
//!
//! Transmissions of cells and UEs are reported first ([`Air::cell_transmits`],
//! [`Air::ue_transmits`]); then the SINR of each is computed ([`Air::downlink`], [`Air::uplink`]).
//! Only the links that these calls need are ever computed: the large-scale gain of a link is stored
//! until its UE has moved, fading is a function of time. This module does not use transport blocks.
//!
//! The SINR at a UE is a function of what all UEs share ([`Shared`]: the cells with their
//! transmissions, the ground) and of the state of its own links. [`AtUe`] borrows the former for
//! reading and the latter for writing, so UEs can be computed in several threads ([`Air::split`]).
//!
//! Interference is that of exactly the blocks that others use. The link that serves a UE fades, and
//! so do the UE's links to the strongest other cells; its other links have their large-scale gain,
//! since the sum of their powers varies little.

mod around;
mod array;
mod at_ue;
mod beams;
mod direct;
mod emissions;
mod heard;
#[cfg(test)]
mod tests;
mod uplink;

use lasthop_cell::{RbSet, SUBCARRIERS};
use lasthop_engine::simd::prefetch;
use lasthop_engine::simd::{Kernel, wide};
use lasthop_radio::{Knots, Position, milliwatts, thermal_noise};
use lasthop_units::{CellId, Db, Dbm, Hertz, IndexVec, Tti, UeId};

use super::LTE_WORDS;
use super::fading::{DirectFading, FastFading, UeLinks, Work as FadingWork};
use super::propagation::{Ground, Propagation, Terminal};
use around::Around;
use array::{Arrays, Channel};
pub use array::{CellAntennas, ChannelOf, CodeWordSinr, Pmi, Scheme, UeAntennas, layers_of};
use direct::{DirectGain, DirectGains};
use emissions::Emissions;
use heard::Heard;
use lasthop_bearer::Direction;
use uplink::{Sender, Uplink};

/// TTIs for which the transmissions of a cell are stored: a report may be of a TTI so long ago.
pub const LOOK_BACK: u64 = 128;

/// Parameters of a cell for [`Air`].
#[derive(Clone, Debug)]
pub struct CellAir {
    /// Power over all resource blocks.
    pub power: Dbm,
    /// Noise figure of the receiver.
    pub noise_figure: Db,
    /// Resource blocks of the carrier.
    pub blocks: u32,
}

/// Parameters of a UE for [`Air`].
#[derive(Clone, Debug)]
pub struct UeAir {
    /// Noise figure of the receiver.
    pub noise_figure: Db,
    /// The SINR of every block in both directions, instead of a computed one.
    pub pinned_sinr: Option<Db>,
}

/// A link's large-scale gains and their validity.
#[derive(Clone, Copy, Debug)]
struct Link {
    /// Gain of the downlink.
    downlink: f32,
    /// Gain of the uplink in the same TTI; NaN until it is needed, which it never is on most links.
    uplink: f32,
    /// First TTI in which the gains must be computed again; `u64::MAX`: never.
    until: u64,
}

/// Transmit power of a UE by resource block in one TTI [mW].
#[derive(Clone, Debug)]
struct Sent<const WORDS: usize> {
    tti: Tti,
    used: RbSet<WORDS>,
    /// Empty before its first transmission.
    power_mw: Box<[f32]>,
}

impl<const WORDS: usize> Sent<WORDS> {
    #[inline]
    fn add(&mut self, tti: Tti, rbs: RbSet<WORDS>, power_mw: f32, width: usize) {
        if self.tti != tti {
            (self.tti, self.used) = (tti, RbSet::EMPTY);
            if self.power_mw.is_empty() {
                self.power_mw = vec![0.0; width].into();
            }
        }
        debug_assert!(self.used.and(rbs).is_empty(), "{tti:?}: a block twice");
        self.used |= rbs;
        rbs.runs(|first, len| self.power_mw[first..first + len].fill(power_mw));
    }
}

#[derive(Debug)]
struct Cell<const WORDS: usize> {
    blocks: u32,
    /// Power of each block at full power [mW], in whole vectors; 0 beyond the carrier.
    full_mw: Box<[f32]>,
    /// Noise in a block [mW].
    noise_mw: f32,
    /// By block: mean of noise and interference over the latest receptions [mW].
    received_mw: Box<[f32]>,
    /// Blocks on which anything but noise was received so far: the mean of the others is the noise.
    disturbed: RbSet<WORDS>,
}

/// State of a UE and its links, without state of other UEs.
#[derive(Debug)]
pub struct UeRadio<const WORDS: usize = LTE_WORDS> {
    noise_mw: f32,
    pinned: Option<f32>,
    sent: Sent<WORDS>,
    around: Around,
    /// By cell; empty before the first use.
    links: Box<[Link]>,
    /// By cell: downlink gains of cells that interfere without fading, 0 for the others.
    rest_gains: Box<[f32]>,
    terminal: Terminal,
    fading: UeLinks,
    /// Measured where the UE receives from other UEs.
    heard: Heard<WORDS>,
}

impl<const WORDS: usize> UeRadio<WORDS> {
    /// Prefetches the data that the next computation for the UE's downlink reads first.
    #[inline]
    pub fn prefetch(&self) {
        prefetch(&self.around);
        prefetch(&self.fading);
    }
}

/// State that UEs share, which is only read while a UE's downlink is computed.
#[derive(Debug)]
pub struct Shared<const WORDS: usize = LTE_WORDS> {
    cells: IndexVec<CellId, Cell<WORDS>>,
    ground: Ground,
    fading: Option<FastFading<WORDS>>,
    /// Interfering links of a UE that fade.
    faded: usize,
    /// Transmissions of cells by TTI modulo the length; one TTI, where no report is of earlier
    /// ones.
    sent: Box<[Emissions<WORDS>]>,
    /// Antennas, where an end has several.
    arrays: Option<Box<Arrays>>,
}

/// Working memory of one thread.
#[derive(Debug, Default)]
pub struct Work {
    /// Noise and interference by block [mW], in whole vectors.
    interference_mw: Box<[f32]>,
    /// SINR by block, in whole vectors.
    sinr: Box<[f32]>,
    row: Box<[f32]>,
    /// By cell: power that it adds to every block.
    adds_mw: Vec<f32>,
    fading: FadingWork,
    /// Channel of a link with several antennas.
    channel: Channel,
    code_words: [CodeWordSinr; 2],
}

/// The radio channel at a UE: the shared state, for reading; the state of its own links; and
/// working memory.
#[derive(Debug)]
pub struct AtUe<'a, const WORDS: usize = LTE_WORDS> {
    shared: &'a Shared<WORDS>,
    id: UeId,
    ue: &'a mut UeRadio<WORDS>,
    work: &'a mut Work,
}

/// The radio channel of carriers whose resource blocks fit into a [`RbSet`] of so many words.
#[derive(Debug)]
pub struct Air<const WORDS: usize = LTE_WORDS> {
    shared: Shared<WORDS>,
    ues: IndexVec<UeId, UeRadio<WORDS>>,
    uplink: Uplink<WORDS>,
    work: Work,
    /// Gains between UEs, as far as they were needed, and their validity.
    direct: DirectGains,
    direct_fading: Option<DirectFading<WORDS>>,
}

impl<const WORDS: usize> Air<WORDS> {
    /// The channel between `cells` and `ues`, whose resource blocks are `block` wide; `faded`
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
                full_mw: in_whole_vectors(c.blocks as usize, block_mw),
                noise_mw: noise_mw(c.noise_figure),
                received_mw: vec![noise_mw(c.noise_figure); c.blocks as usize].into(),
                disturbed: RbSet::EMPTY,
            }
        };
        let (ground, terminals) = propagation.into_parts();
        let ue = |(u, terminal): (&UeAir, Terminal)| UeRadio {
            noise_mw: noise_mw(u.noise_figure),
            pinned: u.pinned_sinr.map(|db| lasthop_radio::linear(db) as f32),
            sent: Sent { tti: Tti(u64::MAX), used: RbSet::EMPTY, power_mw: Box::default() },
            around: Around::default(),
            links: Box::default(),
            rest_gains: Box::default(),
            terminal,
            fading: UeLinks::default(),
            heard: Heard::default(),
        };
        let remembered = if looks_back { LOOK_BACK } else { 1 };
        let shared = Shared {
            cells: cells.iter().map(cell).collect(),
            ground,
            faded: if fading.is_some() { faded } else { 0 },
            fading,
            sent: (0..remembered).map(|_| Emissions::new(cells.len(), most)).collect(),
            arrays: None,
        };
        Air {
            work: shared.work(),
            shared,
            ues: ues.iter().zip(terminals).map(ue).collect(),
            uplink: Uplink::default(),
            direct: DirectGains::new(ues.len()),
            direct_fading: None,
        }
    }

    /// The radio channel at `ue`.
    #[inline]
    pub fn at(&mut self, ue: UeId) -> AtUe<'_, WORDS> {
        AtUe { shared: &self.shared, id: ue, ue: &mut self.ues[ue], work: &mut self.work }
    }

    /// The shared state, and the UEs in the order of their ids: for [`AtUe::new`].
    pub fn split(&mut self) -> (&Shared<WORDS>, &mut [UeRadio<WORDS>]) {
        (&self.shared, self.ues.iter_mut().into_slice())
    }

    /// Working memory of one thread.
    pub fn memory(&self) -> Work {
        self.shared.work()
    }

    /// Sets the fading of links between UEs.
    pub fn set_direct_fading(&mut self, fading: Option<DirectFading<WORDS>>) {
        self.direct_fading = fading;
    }

    /// Large-scale gain of the downlink between `cell` and `ue`.
    #[inline]
    pub fn downlink_gain(&mut self, tti: Tti, cell: CellId, ue: UeId) -> f32 {
        self.at(ue).downlink_gain(tti, cell)
    }

    /// Large-scale gain of the uplink between `cell` and `ue`.
    #[inline]
    pub fn uplink_gain(&mut self, tti: Tti, cell: CellId, ue: UeId) -> f32 {
        self.at(ue).uplink_gain(tti, cell)
    }

    /// Sets the total power of `cell` [mW]; with 0 it does not transmit, nor does it send reference
    /// signals.
    pub fn set_power(&mut self, cell: CellId, power_mw: f64) {
        let c = &mut self.shared.cells[cell];
        c.full_mw = in_whole_vectors(c.blocks as usize, (power_mw / f64::from(c.blocks)) as f32);
        // The powers have changed: each UE's strongest cells are determined again.
        self.ues.iter_mut().for_each(|ue| ue.around.clear());
    }

    /// Thermal noise of `ue` on a resource element [mW].
    pub fn noise_on_element_mw(&self, ue: UeId) -> f64 {
        f64::from(self.ues[ue].noise_mw) / f64::from(SUBCARRIERS)
    }

    /// The SINR of `ue` that replaces a computed one, linear.
    pub fn pinned(&self, ue: UeId) -> Option<f32> {
        self.ues[ue].pinned
    }

    /// Position of `ue` [m].
    pub fn position(&mut self, tti: Tti, ue: UeId) -> Position {
        self.shared.ground.position(&mut self.ues[ue].terminal, tti)
    }

    /// Power of the reference signals of `cell` at `ue` without fading (RSRP), on a resource
    /// element [mW].
    #[inline]
    pub fn rsrp_mw(&mut self, tti: Tti, cell: CellId, ue: UeId) -> f32 {
        self.shared.cells[cell].full_mw[0] / SUBCARRIERS as f32 * self.downlink_gain(tti, cell, ue)
    }

    /// Linear SINR of `cell` at `ue` without fading when every cell transmits at full power
    /// (geometry), noise included.
    pub fn geometry(&mut self, tti: Tti, cell: CellId, ue: UeId) -> f32 {
        self.at(ue).geometry(tti, cell)
    }

    /// Takes in that `cell` transmits on `rbs` in `tti`, each block with `boost` times its share of
    /// the cell's power (P_A).
    #[inline]
    pub fn cell_transmits(&mut self, tti: Tti, cell: CellId, rbs: RbSet<WORDS>, boost: f32) {
        let Shared { sent, cells, .. } = &mut self.shared;
        let slot = tti.0 as usize % sent.len();
        sent[slot].add(tti, cell, rbs, cells[cell].full_mw[0] * boost);
    }

    /// Prepares sums over the cells after their transmissions of `tti`. Only speed depends on it.
    #[inline]
    pub fn sort_out(&mut self, tti: Tti) {
        let sent = &mut self.shared.sent;
        let slot = tti.0 as usize % sent.len();
        sent[slot].sort_out(tti);
    }

    /// Takes in that `ue` transmits on `rbs` in `tti`, with `power` over all of them.
    #[inline]
    pub fn ue_transmits(&mut self, tti: Tti, ue: UeId, rbs: RbSet<WORDS>, power: Dbm) {
        self.ue_transmits_on_each(tti, ue, rbs, (milliwatts(power) / f64::from(rbs.len().max(1))) as f32);
    }

    /// Takes in that `ue` transmits on `rbs` in `tti`, with `block_mw` [mW] on every block.
    #[inline]
    pub fn ue_transmits_on_each(&mut self, tti: Tti, ue: UeId, rbs: RbSet<WORDS>, block_mw: f32) {
        self.uplink.add(tti, Sender { ue, rbs, block_mw });
        self.ues[ue].sent.add(tti, rbs, block_mw, self.work.row.len());
    }

    /// [`AtUe::downlink`] of `ue`.
    pub fn downlink(&mut self, tti: Tti, cell: CellId, ue: UeId, rbs: RbSet<WORDS>) -> &[f32] {
        self.at(ue).downlink(tti, cell, rbs)
    }

    /// [`AtUe::reference`] of `ue`.
    pub fn reference(&mut self, tti: Tti, cell: CellId, ue: UeId, rbs: RbSet<WORDS>, data: bool) -> &[f32] {
        self.at(ue).reference(tti, cell, rbs, data)
    }

    /// Number of cells.
    pub fn cells(&self) -> usize {
        self.shared.cells()
    }

    /// Number of UEs.
    pub fn ues(&self) -> usize {
        self.ues.len()
    }

    /// All resource blocks of `cell`.
    pub fn carrier(&self, cell: CellId) -> RbSet<WORDS> {
        self.shared.carrier(cell)
    }

    /// The state that UEs share.
    #[inline]
    pub const fn shared(&self) -> &Shared<WORDS> {
        &self.shared
    }

    /// State of the radio of `ue`.
    #[inline]
    pub fn radio(&self, ue: UeId) -> &UeRadio<WORDS> {
        &self.ues[ue]
    }

    /// As [`UeRadio::prefetch`], for `ue`.
    #[inline]
    pub fn prefetch(&self, ue: UeId) {
        self.ues[ue].prefetch();
    }

    /// As [`Shared::prefetch_links`], for `ue`.
    #[inline]
    pub fn prefetch_links(&self, ue: UeId) {
        self.shared.prefetch_links(&self.ues[ue]);
    }

    /// As [`Shared::prefetch_values`], for `ue`.
    #[inline]
    pub fn prefetch_values(&self, tti: Tti, ue: UeId, rbs: RbSet<WORDS>) {
        if self.ues.len() * self.cells() > FEW {
            self.shared.prefetch_values(tti, &self.ues[ue], rbs);
        }
    }

    /// Linear SINR of the transmission of `ue` to `cell` on `rbs` in `tti`, by block in ascending
    /// order. To be called after all transmissions of UEs in `tti` are taken in.
    pub fn uplink(&mut self, tti: Tti, cell: CellId, ue: UeId, rbs: RbSet<WORDS>) -> &[f32] {
        if let Some(pinned) = self.ues[ue].pinned {
            return self.flat(rbs.len(), pinned);
        }
        if self.shared.receives_with_many(cell) {
            return self.uplink_array(tti, cell, ue, rbs);
        }
        let noise_mw = self.shared.cells[cell].noise_mw;
        let others = self.uplink.others(tti, rbs);
        if others > 0 {
            rbs.runs(|first, len| self.work.interference_mw[first..first + len].fill(noise_mw));
        }
        for i in 0..others {
            let other = self.uplink.senders[i];
            let shared = other.rbs.and(rbs);
            if shared.is_empty() || other.ue == ue {
                continue;
            }
            let mut at = self.at(other.ue);
            let power_mw = other.block_mw * at.uplink_gain(tti, cell);
            let fades = at.shared.faded > 0 && at.is_strong(tti, cell);
            let AtUe { shared: Shared { fading, .. }, ue, work, .. } = at;
            let fading = match fading {
                Some(f) if fades => {
                    let of = (other.ue, &mut ue.fading);
                    f.row(Direction::Uplink, cell, of, tti, shared, &mut work.fading)
                }
                _ => &[],
            };
            add_even(shared, power_mw, fading, &mut work.interference_mw);
        }
        let mut at = self.at(ue);
        let gain = at.uplink_gain(tti, cell);
        let AtUe { shared: Shared { fading, .. }, id, ue, work } = at;
        let UeRadio { sent, fading: links, .. } = ue;
        debug_assert!(
            sent.tti == tti && rbs.without(sent.used).is_empty(),
            "the transmission of the UE is recorded"
        );
        let Work { interference_mw, row, fading: memory, .. } = work;
        let fading = fading.as_ref();
        let fading =
            fading.map_or(&[][..], |f| f.row(Direction::Uplink, cell, (id, links), tti, rbs, memory));
        let power_mw = &sent.power_mw;
        match others {
            0 => wide(FillRow { rbs, power_mw, gain, fading, interference_mw: Even(noise_mw), row }),
            _ => wide(FillRow { rbs, power_mw, gain, fading, interference_mw: &**interference_mw, row }),
        }
    }

    /// Updates the measured noise and interference of `cell` on the blocks `rbs`, on which it has
    /// just received `ue` in `tti` ([`Air::uplink`]): TS 36.214 clause 5.2.2, received interference
    /// power. An exponential average with weight 1/32.
    pub fn measure_interference(&mut self, tti: Tti, cell: CellId, ue: UeId, rbs: RbSet<WORDS>) {
        if self.ues[ue].pinned.is_some() {
            return;
        }
        let many = self.shared.receives_with_many(cell);
        let alone = !many && self.uplink.others(tti, rbs) == 0;
        let Cell { received_mw, disturbed, noise_mw, .. } = &mut self.shared.cells[cell];
        if alone {
            // The mean of blocks on which there was never anything but noise stays.
            let again = rbs.and(*disturbed);
            average(again, received_mw, Even(*noise_mw));
        } else {
            *disturbed |= rbs;
            average(rbs, received_mw, &*self.work.interference_mw);
        }
    }

    /// Large-scale gain between two UEs on the uplink carrier.
    #[inline]
    pub fn between(&mut self, tti: Tti, a: UeId, b: UeId) -> f32 {
        let known = self.direct.of(a, b);
        if known.until <= tti.0 {
            let both = [a.min(b), a.max(b)]
                .map(|ue| (ue, self.shared.ground.position(&mut self.ues[ue].terminal, tti)));
            let ends = both.map(|(ue, position)| (ue, &self.ues[ue].terminal, position));
            let (gain, until) = self.shared.ground.between(ends, tti);
            *known = DirectGain { gain, until: until.map_or(u64::MAX, |t| t.0) };
        }
        known.gain
    }

    /// Distance between two UEs [m].
    pub fn distance_between(&mut self, tti: Tti, a: UeId, b: UeId) -> f64 {
        let (a, b) = (self.position(tti, a), self.position(tti, b));
        let [x, y, z] = self.shared.ground.way(a, b);
        (x * x + y * y + z * z).sqrt()
    }

    /// Linear SINR at the UE `rx` of the transmission of the UE `tx` on `rbs` in `tti`, by block in
    /// ascending order. To be called after all transmissions of UEs in `tti` are taken in.
    pub fn sidelink(&mut self, tti: Tti, tx: UeId, rx: UeId, rbs: RbSet<WORDS>) -> &[f32] {
        let noise_mw = self.ues[rx].noise_mw;
        rbs.runs(|first, len| self.work.interference_mw[first..first + len].fill(noise_mw));
        for i in 0..self.uplink.others(tti, rbs) {
            let other = self.uplink.senders[i];
            let shared = other.rbs.and(rbs);
            if shared.is_empty() || other.ue == tx || other.ue == rx {
                continue;
            }
            let power_mw = other.block_mw * self.between(tti, other.ue, rx);
            // Interference below the noise is computed without fading.
            let fading = match &mut self.direct_fading {
                Some(fading) if power_mw > noise_mw => fading.row(other.ue, rx, tti, shared),
                _ => &[],
            };
            add_even(shared, power_mw, fading, &mut self.work.interference_mw);
        }
        let gain = self.between(tti, tx, rx);
        let Air { ues, work: Work { interference_mw, row, .. }, direct_fading, .. } = self;
        let fading: &[f32] = direct_fading.as_mut().map_or(&[], |f| f.row(tx, rx, tti, rbs));
        let (power_mw, interference_mw) = (&ues[tx].sent.power_mw, &**interference_mw);
        wide(FillRow { rbs, power_mw, gain, fading, interference_mw, row })
    }

    /// `blocks` blocks of the same SINR.
    pub fn flat(&mut self, blocks: u32, sinr: f32) -> &[f32] {
        self.work.flat(blocks, sinr)
    }
}

impl<const WORDS: usize> Shared<WORDS> {
    /// Working memory of one thread.
    pub fn work(&self) -> Work {
        let most = self.cells.iter().map(|c| c.blocks as usize).max().unwrap_or(0);
        Work {
            interference_mw: in_whole_vectors(most, 0.0),
            sinr: in_whole_vectors(most, 0.0),
            row: vec![0.0; most].into(),
            adds_mw: vec![0.0; self.cells.len()],
            ..Work::default()
        }
    }

    /// Number of cells.
    pub fn cells(&self) -> usize {
        self.cells.len()
    }

    /// Prefetches the state of the links of `ue`, after [`UeRadio::prefetch`].
    #[inline]
    pub fn prefetch_links(&self, ue: &UeRadio<WORDS>) {
        if self.fading.is_some() {
            ue.around.rays.iter().for_each(|ray| ue.fading.prefetch(ray.index));
        }
    }

    /// Prefetches the data from which the gains of the blocks `rbs` of the link of `ue` to its cell
    /// in `tti` follow, after [`prefetch_links`](Self::prefetch_links).
    #[inline]
    pub fn prefetch_values(&self, tti: Tti, ue: &UeRadio<WORDS>, rbs: RbSet<WORDS>) {
        if self.fading.is_some() {
            let UeRadio { around, fading, .. } = ue;
            around.rays.first().into_iter().for_each(|ray| fading.prefetch_values(ray.index, tti, rbs));
        }
    }

    /// All resource blocks of `cell`.
    fn carrier(&self, cell: CellId) -> RbSet<WORDS> {
        RbSet::range(0, self.cells[cell].blocks)
    }

    /// Transmissions of cells in `tti`.
    #[inline]
    fn sent(&self, tti: Tti) -> &Emissions<WORDS> {
        &self.sent[tti.0 as usize % self.sent.len()]
    }
}

/// A row with `value` for each of `blocks`, and 0 for the other places of the last vector.
fn in_whole_vectors(blocks: usize, value: f32) -> Box<[f32]> {
    let mut row = vec![0.0; Knots::room(blocks)];
    row[..blocks].fill(value);
    row.into()
}

impl Work {
    /// `blocks` blocks of the same SINR.
    fn flat(&mut self, blocks: u32, sinr: f32) -> &mut [f32] {
        let row = &mut self.row[..blocks as usize];
        row.fill(sinr);
        row
    }
}

/// The data of at most this many links is in the caches anyway.
const FEW: usize = 256;

/// A number for each block of a carrier.
trait ByBlock: Copy {
    /// Those of `len` blocks from `first` on.
    fn run(self, first: usize, len: usize) -> impl Iterator<Item = f32>;
}

/// The same number for all blocks.
#[derive(Clone, Copy)]
struct Even(f32);

impl ByBlock for Even {
    #[inline(always)]
    fn run(self, _: usize, len: usize) -> impl Iterator<Item = f32> {
        std::iter::repeat_n(self.0, len)
    }
}

impl ByBlock for &[f32] {
    #[inline(always)]
    fn run(self, first: usize, len: usize) -> impl Iterator<Item = f32> {
        self[first..first + len].iter().copied()
    }
}

/// Takes `now` into the averages of the blocks `rbs`.
#[inline]
fn average<const WORDS: usize>(rbs: RbSet<WORDS>, averages: &mut [f32], now: impl ByBlock) {
    rbs.runs(|first, len| {
        let each = averages[first..first + len].iter_mut().zip(now.run(first, len));
        each.for_each(|(average, now)| *average += (now - *average) * (1.0 / 32.0));
    });
}

/// Computes power * gain * fading / interference of the blocks `rbs`, one after the other in `row`;
/// fading is 1 where there is none.
struct FillRow<'a, I, const WORDS: usize> {
    rbs: RbSet<WORDS>,
    power_mw: &'a [f32],
    gain: f32,
    fading: &'a [f32],
    interference_mw: I,
    row: &'a mut [f32],
}

impl<'a, I: ByBlock, const WORDS: usize> Kernel for FillRow<'a, I, WORDS> {
    type Output = &'a [f32];
    #[inline(always)]
    fn run(self) -> &'a [f32] {
        let FillRow { mut rbs, power_mw, gain, fading, interference_mw, row } = self;
        let mut at = 0;
        while let Some((first, len)) = rbs.take_run() {
            let end = first + len;
            let interference_mw = interference_mw.run(first, len);
            let each = power_mw[first..end].iter().zip(interference_mw).zip(&mut row[at..at + len]);
            match fading.get(first..end) {
                Some(fading) => each.zip(fading).for_each(|(((p, i), to), f)| *to = p * gain * f / i),
                None => each.for_each(|((p, i), to)| *to = p * gain / i),
            }
            at += len;
        }
        &row[..at]
    }
}

/// Computes the SINR of a sounding signal with `snr` times the noise on each block of `rbs`,
/// against the power received there, in `row`.
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
    fn run(self) -> &'a [f32] {
        let Sound { mut rbs, snr, noise_mw, received_mw, fading, row } = self;
        let mut at = 0;
        while let Some((first, len)) = rbs.take_run() {
            // Where only noise was received the last factor is exactly 1.
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

/// Adds `power_mw` * fading of the blocks `rbs` to `to`.
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
