//! The air between cells and UEs: who transmits on which resource blocks in this TTI, and what SINR that leaves.
//!
//! A cell or UE that transmits says so first ([`Air::cell_transmits`], [`Air::ue_transmits`]); when all have spoken, the
//! SINR of each transmission is asked for ([`Air::downlink`], [`Air::uplink`]). Only links that are asked about are ever
//! worked out: the large-scale gain of a link is kept until its UE has moved, fading is a function of time. Nothing here
//! knows a transport block.

use std::collections::BTreeMap;

use lasthop_radio::{milliwatts, thermal_noise};
use lasthop_units::{CellId, Db, Dbm, Hertz, Id, IndexVec, Tti, UeId};

use super::RbSet;
use super::fading::FastFading;
use super::propagation::Propagation;
use crate::sdu::Direction;

/// Width of a resource block.
const BLOCK: Hertz = Hertz(180e3);

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

/// Linear power gains of the link between a cell and a UE.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Gains {
    /// On the downlink carrier.
    pub downlink: f32,
    /// On the uplink carrier.
    pub uplink: f32,
}

/// A link's large-scale gain and until when it holds.
#[derive(Clone, Copy, Debug)]
struct Link {
    gains: Gains,
    /// First TTI in which the gains must be worked out again; `u64::MAX`: never.
    until: u64,
}

/// Power by resource block [mW] that a transmitter puts on the air in one TTI.
#[derive(Clone, Debug)]
struct Emission {
    tti: Tti,
    used: RbSet,
    power: Box<[f32]>,
}

impl Emission {
    fn new(blocks: u32) -> Emission {
        Emission { tti: Tti(u64::MAX), used: RbSet::EMPTY, power: vec![0.0; blocks as usize].into() }
    }
    #[inline]
    fn add(&mut self, tti: Tti, rbs: RbSet, power: f32) {
        if self.tti != tti {
            (self.tti, self.used) = (tti, RbSet::EMPTY);
        }
        debug_assert!(self.used.and(rbs).is_empty(), "{tti:?}: a block twice");
        self.used |= rbs;
        rbs.runs(|first, len| self.power[first..first + len].fill(power));
    }
    /// Blocks used in `tti`.
    #[inline]
    fn used(&self, tti: Tti) -> RbSet {
        if self.tti == tti { self.used } else { RbSet::EMPTY }
    }
}

#[derive(Debug)]
struct Cell {
    blocks: u32,
    /// Power of a block at full power [mW].
    block_power: f32,
    /// Noise in a block [mW].
    noise: f32,
    /// What it sent in the last TTIs, by TTI modulo the length; one, where nobody looks back.
    sent: Box<[Emission]>,
}

#[derive(Debug)]
struct Ue {
    noise: f32,
    pinned: Option<f32>,
    sent: Emission,
    /// Fading by resource block, by direction, and for which cell and TTI it holds; no blocks without fading.
    faded: [Option<(CellId, Tti)>; 2],
    fading: [Box<[f32]>; 2],
}

/// The air.
#[derive(Debug)]
pub struct Air {
    cells: IndexVec<CellId, Cell>,
    ues: IndexVec<UeId, Ue>,
    /// By UE, then cell.
    links: Vec<Link>,
    propagation: Propagation,
    fading: Option<FastFading>,
    /// UEs that transmit in the newest uplink TTI.
    uplink: (Tti, Vec<UeId>),
    interference: Vec<f32>,
    row: Vec<f32>,
    /// Gains between UEs that were asked about, and until when they hold.
    direct: BTreeMap<(UeId, UeId), (f32, u64)>,
}

impl Air {
    /// The air between `cells` and `ues`. `looks_back`: reports contain the data of earlier TTIs.
    pub fn new(
        cells: &[CellAir],
        ues: &[UeAir],
        propagation: Propagation,
        fading: Option<FastFading>,
        looks_back: bool,
    ) -> Air {
        let most = cells.iter().map(|c| c.blocks).max().unwrap_or(0);
        let noise = |figure: Db| milliwatts(thermal_noise(BLOCK, figure)) as f32;
        let cell = |c: &CellAir| Cell {
            blocks: c.blocks,
            block_power: (milliwatts(c.power) / f64::from(c.blocks)) as f32,
            noise: noise(c.noise_figure),
            sent: vec![Emission::new(c.blocks); if looks_back { LOOK_BACK as usize } else { 1 }].into(),
        };
        let ue = |u: &UeAir| Ue {
            noise: noise(u.noise_figure),
            pinned: u.pinned_sinr.map(|db| lasthop_radio::linear(db) as f32),
            sent: Emission::new(most),
            faded: [None; 2],
            fading: [(); 2].map(|()| vec![1.0; if fading.is_some() { most as usize } else { 0 }].into()),
        };
        let unknown = Link { gains: Gains::default(), until: 0 };
        Air {
            links: vec![unknown; cells.len() * ues.len()],
            ues: ues.iter().map(ue).collect(),
            cells: cells.iter().map(cell).collect(),
            propagation,
            fading,
            uplink: (Tti(u64::MAX), Vec::new()),
            interference: vec![0.0; most as usize],
            row: Vec::with_capacity(most as usize),
            direct: BTreeMap::new(),
        }
    }

    /// Large-scale gains between `cell` and `ue`.
    #[inline]
    pub fn gains(&mut self, tti: Tti, cell: CellId, ue: UeId) -> Gains {
        let i = ue.index() * self.cells.len() + cell.index();
        if self.links[i].until <= tti.0 {
            let (gains, until) = self.propagation.gains(cell, ue, tti);
            self.links[i] = Link { gains, until: until.map_or(u64::MAX, |t| t.0) };
        }
        self.links[i].gains
    }

    /// `cell` sends on `rbs` in `tti`, each block with `boost` times its share of the cell's power (P_A).
    #[inline]
    pub fn cell_transmits(&mut self, tti: Tti, cell: CellId, rbs: RbSet, boost: f32) {
        let c = &mut self.cells[cell];
        let slot = tti.0 as usize % c.sent.len();
        c.sent[slot].add(tti, rbs, c.block_power * boost);
    }

    /// `ue` sends on `rbs` in `tti`, `power` over all of them.
    #[inline]
    pub fn ue_transmits(&mut self, tti: Tti, ue: UeId, rbs: RbSet, power: Dbm) {
        self.ue_transmits_each(tti, ue, rbs, (milliwatts(power) / f64::from(rbs.len().max(1))) as f32);
    }

    /// `ue` sends on `rbs` in `tti`, `each` [mW] on every block.
    #[inline]
    pub fn ue_transmits_each(&mut self, tti: Tti, ue: UeId, rbs: RbSet, each: f32) {
        if self.uplink.0 != tti {
            self.uplink.0 = tti;
            self.uplink.1.clear();
        }
        // Uplink and sidelink in one TTI are one emission.
        if self.ues[ue].sent.tti != tti {
            self.uplink.1.push(ue);
        }
        self.ues[ue].sent.add(tti, rbs, each);
    }

    /// Linear SINR of what `cell` sends to `ue` on `rbs` in `tti`, by block in ascending order. Every cell must have said
    /// what it transmits.
    pub fn downlink(&mut self, tti: Tti, cell: CellId, ue: UeId, rbs: RbSet) -> &[f32] {
        if let Some(pinned) = self.ues[ue].pinned {
            return self.flat(rbs.len(), pinned);
        }
        let gain = self.gains(tti, cell, ue).downlink;
        self.fade(Direction::Downlink, tti, cell, ue);
        self.gather_downlink(tti, cell, ue, rbs);
        let Air { cells, ues, interference, row, .. } = self;
        let sent = &cells[cell].sent;
        let emission = &sent[tti.0 as usize % sent.len()];
        debug_assert!(rbs.without(emission.used(tti)).is_empty(), "the cell has said that it transmits");
        fill_row(rbs, &emission.power, gain, &ues[ue].fading[Direction::Downlink.index()], interference, row);
        row
    }

    /// Linear SINR of the reference signals of `cell` at `ue`, every block of the carrier: noise and, with `data`, what
    /// the other cells sent in `tti`, otherwise all of them at full power.
    pub fn reference(&mut self, tti: Tti, cell: CellId, ue: UeId, data: bool) -> &[f32] {
        let blocks = self.cells[cell].blocks;
        if let Some(pinned) = self.ues[ue].pinned {
            return self.flat(blocks, pinned);
        }
        self.fade(Direction::Downlink, tti, cell, ue);
        if !data {
            let flat = self.full_load(tti, cell, ue);
            return self.faded(cell, ue, flat, 1);
        }
        let gain = self.gains(tti, cell, ue).downlink;
        self.gather_downlink(tti, cell, ue, RbSet::range(0, blocks));
        let Air { cells, ues, interference, row, .. } = self;
        let received = cells[cell].block_power * gain;
        let fading = &ues[ue].fading[Direction::Downlink.index()];
        row.clear();
        match fading.is_empty() {
            true => row.extend(interference[..blocks as usize].iter().map(|i| received / i)),
            false => {
                row.extend(interference[..blocks as usize].iter().zip(fading).map(|(i, f)| received * f / i))
            }
        }
        row
    }

    /// Linear SINR of the control channels of `cell` at `ue` in `tti` on every `step`-th block, all other cells at full
    /// power: control channels never fall silent.
    pub fn control(&mut self, tti: Tti, cell: CellId, ue: UeId, step: usize) -> &[f32] {
        if let Some(pinned) = self.ues[ue].pinned {
            return self.flat(1, pinned);
        }
        self.fade(Direction::Downlink, tti, cell, ue);
        let flat = self.full_load(tti, cell, ue);
        self.faded(cell, ue, flat, step)
    }

    /// SINR without fading when every cell sends at full power.
    fn full_load(&mut self, tti: Tti, cell: CellId, ue: UeId) -> f32 {
        let mut sum = self.ues[ue].noise;
        for other in (0..self.cells.len()).map(CellId::from_index).filter(|o| *o != cell) {
            sum += self.cells[other].block_power * self.gains(tti, other, ue).downlink;
        }
        self.cells[cell].block_power * self.gains(tti, cell, ue).downlink / sum
    }

    /// `flat` with the fading of every `step`-th block.
    fn faded(&mut self, cell: CellId, ue: UeId, flat: f32, step: usize) -> &[f32] {
        let blocks = self.cells[cell].blocks as usize;
        let Air { ues, row, .. } = self;
        row.clear();
        match ues[ue].fading[Direction::Downlink.index()].get(..blocks) {
            Some(fading) => row.extend(fading.iter().step_by(step).map(|f| flat * f)),
            None => row.resize(blocks.div_ceil(step), flat),
        }
        row
    }

    /// Linear SINR of what `ue` sends to `cell` on `rbs` in `tti`, by block in ascending order. Every UE must have said
    /// what it transmits.
    pub fn uplink(&mut self, tti: Tti, cell: CellId, ue: UeId, rbs: RbSet) -> &[f32] {
        if let Some(pinned) = self.ues[ue].pinned {
            return self.flat(rbs.len(), pinned);
        }
        let noise = self.cells[cell].noise;
        rbs.runs(|first, len| self.interference[first..first + len].fill(noise));
        let others = std::mem::take(&mut self.uplink.1);
        for other in others.iter().filter(|o| **o != ue) {
            let shared = self.ues[*other].sent.used(tti).and(rbs);
            if !shared.is_empty() {
                let gain = self.gains(tti, cell, *other).uplink;
                let power = &self.ues[*other].sent.power;
                let interference = &mut self.interference;
                shared.runs(|first, len| {
                    for b in first..first + len {
                        interference[b] += power[b] * gain;
                    }
                });
            }
        }
        self.uplink.1 = others;
        let gain = self.gains(tti, cell, ue).uplink;
        self.fade(Direction::Uplink, tti, cell, ue);
        let Air { ues, interference, row, .. } = self;
        let Ue { sent, fading, .. } = &ues[ue];
        debug_assert!(rbs.without(sent.used(tti)).is_empty(), "the UE has said that it transmits");
        fill_row(rbs, &sent.power, gain, &fading[Direction::Uplink.index()], interference, row);
        row
    }

    /// Linear SINR at `cell`, without interference, of a sounding signal that `ue` sends on `rbs` in `tti` with `power` over
    /// all of them. Nothing else sees that signal.
    pub fn sounding(&mut self, tti: Tti, cell: CellId, ue: UeId, rbs: RbSet, power: Dbm) -> &[f32] {
        if let Some(pinned) = self.ues[ue].pinned {
            return self.flat(rbs.len(), pinned);
        }
        let gain = self.gains(tti, cell, ue).uplink;
        let each = (milliwatts(power) / f64::from(rbs.len().max(1))) as f32 * gain / self.cells[cell].noise;
        self.fade(Direction::Uplink, tti, cell, ue);
        let Air { ues, row, .. } = self;
        let fading = &ues[ue].fading[Direction::Uplink.index()];
        row.clear();
        rbs.runs(|first, len| match fading.get(first..first + len) {
            Some(fading) => row.extend(fading.iter().map(|f| each * f)),
            None => row.extend(std::iter::repeat_n(each, len)),
        });
        row
    }

    /// Large-scale gain between two UEs on the uplink carrier.
    #[inline]
    pub fn between(&mut self, tti: Tti, a: UeId, b: UeId) -> f32 {
        let key = (a.min(b), a.max(b));
        match self.direct.get(&key) {
            Some((gain, until)) if *until > tti.0 => *gain,
            _ => {
                let (gain, until) = self.propagation.between(key.0, key.1, tti);
                self.direct.insert(key, (gain, until.map_or(u64::MAX, |t| t.0)));
                gain
            }
        }
    }

    /// Distance between two UEs [m].
    pub fn distance_between(&mut self, tti: Tti, a: UeId, b: UeId) -> f64 {
        let (a, b) = (self.propagation.place(a, tti), self.propagation.place(b, tti));
        let [x, y, z] = [0, 1, 2].map(|i| a[i] - b[i]);
        (x * x + y * y + z * z).sqrt()
    }

    /// Linear signal-to-noise ratio at `rx` of what `tx` sends with `power` over `blocks` blocks.
    pub fn sidelink_snr(&mut self, tti: Tti, tx: UeId, rx: UeId, power: Dbm, blocks: u32) -> f32 {
        let each = (milliwatts(power) / f64::from(blocks.max(1))) as f32;
        each * self.between(tti, tx, rx) / self.ues[rx].noise
    }

    /// Linear SINR at the UE `rx` of what the UE `tx` sends on `rbs` in `tti`, by block in ascending order. Every UE must
    /// have said what it transmits.
    pub fn sidelink(&mut self, tti: Tti, tx: UeId, rx: UeId, rbs: RbSet) -> &[f32] {
        let noise = self.ues[rx].noise;
        rbs.runs(|first, len| self.interference[first..first + len].fill(noise));
        let others = std::mem::take(&mut self.uplink.1);
        for other in others.iter().filter(|o| **o != tx && **o != rx) {
            let shared = self.ues[*other].sent.used(tti).and(rbs);
            if !shared.is_empty() {
                let gain = self.between(tti, *other, rx);
                let power = &self.ues[*other].sent.power;
                let interference = &mut self.interference;
                shared.runs(|first, len| {
                    for b in first..first + len {
                        interference[b] += power[b] * gain;
                    }
                });
            }
        }
        self.uplink.1 = others;
        let gain = self.between(tti, tx, rx);
        let Air { ues, interference, row, .. } = self;
        fill_row(rbs, &ues[tx].sent.power, gain, &[], interference, row);
        row
    }

    /// Brings the fading of the link between `cell` and `ue` to `tti`.
    #[inline]
    fn fade(&mut self, direction: Direction, tti: Tti, cell: CellId, ue: UeId) {
        let Some(fading) = &mut self.fading else { return };
        let u = &mut self.ues[ue];
        let i = direction.index();
        if u.faded[i] != Some((cell, tti)) {
            let blocks = self.cells[cell].blocks as usize;
            fading.row(direction, cell, ue, tti, &mut u.fading[i][..blocks]);
            u.faded[i] = Some((cell, tti));
        }
    }

    /// Noise and what the other cells send on `rbs`, into `interference`.
    #[inline]
    fn gather_downlink(&mut self, tti: Tti, cell: CellId, ue: UeId, rbs: RbSet) {
        let noise = self.ues[ue].noise;
        rbs.runs(|first, len| self.interference[first..first + len].fill(noise));
        for other in (0..self.cells.len()).map(CellId::from_index).filter(|o| *o != cell) {
            let slot = tti.0 as usize % self.cells[other].sent.len();
            let shared = self.cells[other].sent[slot].used(tti).and(rbs);
            if !shared.is_empty() {
                let gain = self.gains(tti, other, ue).downlink;
                let power = &self.cells[other].sent[slot].power;
                let interference = &mut self.interference;
                shared.runs(|first, len| {
                    for (i, p) in interference[first..first + len].iter_mut().zip(&power[first..first + len])
                    {
                        *i += p * gain;
                    }
                });
            }
        }
    }

    /// `blocks` blocks of the same SINR.
    pub fn flat(&mut self, blocks: u32, sinr: f32) -> &[f32] {
        self.row.clear();
        self.row.resize(blocks as usize, sinr);
        &self.row
    }
}

/// power * gain * fading / interference of the blocks `rbs` into `row`; without fading, 1.
#[inline]
fn fill_row(rbs: RbSet, power: &[f32], gain: f32, fading: &[f32], interference: &[f32], row: &mut Vec<f32>) {
    row.clear();
    rbs.runs(|first, len| {
        let end = first + len;
        let each = power[first..end].iter().zip(&interference[first..end]);
        match fading.get(first..end) {
            Some(fading) => row.extend(each.zip(fading).map(|((p, i), f)| p * gain * f / i)),
            None => row.extend(each.map(|(p, i)| p * gain / i)),
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phy::lte::propagation::{CellRadioConfig, RadioConfig, UeRadioConfig};
    use lasthop_engine::math::db;
    use lasthop_units::Metres;

    /// (299 792 458 / 3e8)^2 is 0.9986.
    const C: f64 = 1.5e-3;

    /// Two cells, each with a UE at distance `d1`, `d2` from the other one, all on the ground in free space.
    fn two_cells(d1: f64, d2: f64) -> Air {
        let cell = CellAir { power: Dbm(30.0), noise_figure: Db(5.0), blocks: 25 };
        let ue = UeAir { noise_figure: Db(9.0), pinned_sinr: None };
        // Cells `apart` on the x axis, the UEs aside of them.
        let apart = (d2 * d2 - d1 * d1).sqrt();
        let at = |x: f64, y: f64| [Metres(x), Metres(y), Metres(0.0)];
        let cells = [at(0.0, 0.0), at(apart, 0.0)]
            .map(|position| CellRadioConfig { position, ..CellRadioConfig::default() });
        let ues = [at(0.0, d1), at(apart, d1)]
            .map(|position| UeRadioConfig { position, ..UeRadioConfig::default() });
        let propagation = Propagation::new(&RadioConfig::default(), cells.iter(), ues.iter(), 1);
        Air::new(&[cell.clone(), cell], &[ue.clone(), ue], propagation, None, true)
    }

    /// Rows of ns-3's two-cell test: each of two cells serves one UE at d1, the other cell is at d2; 30 dBm and
    /// 10 dBm over 25 blocks, noise figures 9 and 5 dB. The formula is g(d1) / (g(d2) + N). ns-3 has c = 3e8 m/s, and we
    /// 299 792 458: where noise counts that is 0.14 %, elsewhere nothing; single precision leaves 1e-5.
    #[test]
    fn two_cells_interfere_as_the_reference_says() {
        let rows = [
            (50.0, 50.0, 0.999_997, 0.999_907),
            (50.0, 100.0, 3.999_955, 3.998_520),
            (50.0, 200.0, 15.999_282, 15.976_339),
            (50.0, 1000.0, 399.551_632, 385.718_468),
            (50.0, 1e4, 35_964.181_431, 8_505.970_614),
            (50.0, 1e5, 327_284.773_828, 10_774.181_090),
            (50.0, 1e6, 356_132.574_152, 10_802.988_445),
        ];
        let (cells, ues) = ([0, 1].map(CellId::from_index), [0, 1].map(UeId::from_index));
        let all = RbSet::range(0, 25);
        for (d1, d2, down, up) in rows {
            let mut air = two_cells(d1, d2);
            for i in [0, 1] {
                air.cell_transmits(Tti(7), cells[i], all, 1.0);
                air.ue_transmits(Tti(7), ues[i], all, Dbm(10.0));
            }
            for i in [0, 1] {
                let row = air.downlink(Tti(7), cells[i], ues[i], all).to_vec();
                assert!(
                    row.len() == 25 && row.iter().all(|s| (f64::from(*s) / down - 1.0).abs() < C),
                    "{row:?}"
                );
                assert_eq!(air.reference(Tti(7), cells[i], ues[i], false)[3], row[3]);
                assert_eq!(air.reference(Tti(7), cells[i], ues[i], true)[3], row[3]);
                let row = air.uplink(Tti(7), cells[i], ues[i], all);
                assert!(
                    row.len() == 25 && row.iter().all(|s| (f64::from(*s) / up - 1.0).abs() < C),
                    "{row:?}"
                );
            }
        }
    }

    /// Hard frequency reuse: whatever the distance of the other cell, its blocks are not ours. 356449.932732 and
    /// 10803.280215, the row without interference.
    #[test]
    fn only_the_blocks_that_are_used_interfere() {
        let (cells, ues) = ([0, 1].map(CellId::from_index), [0, 1].map(UeId::from_index));
        let mut air = two_cells(50.0, 50.0);
        let halves = [RbSet::range(0, 12), RbSet::range(12, 13)];
        for i in [0, 1] {
            air.cell_transmits(Tti(1), cells[i], halves[i], 1.0);
            // All of the UE's power over the blocks that it has, so that a block has what it has in the reference.
            let power = Dbm(10.0 + db(f64::from(halves[i].len()) / 25.0));
            air.ue_transmits(Tti(1), ues[i], halves[i], power);
        }
        for i in [0, 1] {
            let down = f64::from(air.downlink(Tti(1), cells[i], ues[i], halves[i])[0]);
            let up = f64::from(air.uplink(Tti(1), cells[i], ues[i], halves[i])[0]);
            assert!(
                (down / 356_449.932_732 - 1.0).abs() < C && (up / 10_803.280_215 - 1.0).abs() < C,
                "{down} {up}"
            );
        }
        // In the next TTI nobody sends: data of the other cell is silent, reference signals never are.
        let silent = f64::from(air.reference(Tti(2), cells[0], ues[0], true)[0]);
        let full = f64::from(air.reference(Tti(2), cells[0], ues[0], false)[0]);
        assert!((silent / 356_449.932_732 - 1.0).abs() < C && (full - 0.999_997).abs() < 1e-5);
        // And the TTI before can still be looked at: the upper half is free of interference, the lower is not used by it.
        assert!(air.reference(Tti(1), cells[0], ues[0], true)[20] < 1.1);
    }

    #[test]
    fn a_pinned_link_has_the_sinr_that_it_is_given() {
        let cell = CellAir { power: Dbm(30.0), noise_figure: Db(5.0), blocks: 25 };
        let ue = UeAir { noise_figure: Db(9.0), pinned_sinr: Some(Db(10.0)) };
        let (cells, ues) = ([CellRadioConfig::default()], [UeRadioConfig::default()]);
        let propagation = Propagation::new(&RadioConfig::default(), cells.iter(), ues.iter(), 1);
        let mut air = Air::new(&[cell], &[ue], propagation, None, false);
        let (cell, ue) = (CellId::from_index(0), UeId::from_index(0));
        assert_eq!(air.downlink(Tti(0), cell, ue, RbSet::range(3, 4)), [10.0; 4]);
        assert_eq!(air.reference(Tti(0), cell, ue, false), [10.0; 25]);
    }
}
