//! Links whose ends have several antennas: channel matrices and covariances by resource block, and
//! the SINRs after the receiver.
//!
//! An interferer that fades has its own channel to each antenna: a cell transmits independent
//! symbols of equal power from all of its antennas. The other interference and the noise have the
//! same power at each antenna and are independent between antennas. The receiver's [`Combining`]
//! determines how much of the covariance it uses.

use lasthop_cell::RbSet;
use lasthop_radio::mimo::{ANTENNAS_MAX, C, Combining, Matrix, Precoder, Vector};
use lasthop_radio::{Antennas, mimo};
use lasthop_units::{CellId, IndexVec, Tti, UeId};

use super::around::Ray;
use super::{Air, AtUe, Cell, Shared, UeRadio, Work};
use lasthop_bearer::Direction;

/// Antennas of a cell: 1, 2 or 4 of each kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellAntennas {
    /// Transmit antennas of the downlink (antenna ports of cell-specific reference signals).
    pub transmit: usize,
    /// Receive antennas of the uplink.
    pub receive: usize,
    /// Combining of the receive antennas.
    pub combining: Combining,
}

/// Antennas of a UE, which transmits from one of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UeAntennas {
    /// 1, 2 or 4.
    pub receive: usize,
    /// Combining of the receive antennas.
    pub combining: Combining,
}

/// Transmission scheme of a cell to a UE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheme {
    /// From its only antenna, or by transmit diversity.
    #[default]
    Diversity,
    /// Spatial multiplexing of so many layers, precoded with large-delay CDD.
    OpenLoop(u8),
    /// Spatial multiplexing of so many layers, precoded with an entry of the codebook in each
    /// sub-band.
    ClosedLoop {
        /// 1 to 4.
        layers: u8,
        /// The entries.
        pmi: Pmi,
    },
}

/// Most sub-bands of a carrier.
const SUBBANDS_MAX: usize = 28;

/// Precoding matrix indicators by sub-band.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pmi {
    /// Resource blocks of a sub-band, at least 1.
    pub size: u8,
    /// By sub-band: see [`mimo::precoder`].
    pub index: [u8; SUBBANDS_MAX],
}

impl Pmi {
    /// The same entry in all sub-bands of `size` blocks.
    pub const fn all(size: u8, index: u8) -> Pmi {
        Pmi { size, index: [index; SUBBANDS_MAX] }
    }

    fn of(&self, block: u16) -> u8 {
        self.index[usize::from(block / u16::from(self.size.max(1))) % SUBBANDS_MAX]
    }
}

impl Scheme {
    /// Layers that share the blocks.
    pub const fn layers(self) -> u8 {
        match self {
            Scheme::Diversity => 1,
            Scheme::OpenLoop(layers) | Scheme::ClosedLoop { layers, .. } => layers,
        }
    }
}

/// Layers of code word `code_word` when `layers` share the blocks (TS 36.211 table 6.3.3.2-1): the
/// first one, and their number; 0: the code word is not sent.
pub const fn layers_of(layers: u8, code_word: usize) -> (usize, usize) {
    match (layers, code_word) {
        (4, 0) => (0, 2),
        (_, 0) => (0, 1),
        (2, _) => (1, 1),
        (3, _) => (1, 2),
        (4, _) => (2, 2),
        _ => (0, 0),
    }
}

/// Antennas of all ends, where one of them has several.
#[derive(Debug)]
pub(super) struct Arrays {
    cells: IndexVec<CellId, CellAntennas>,
    ues: IndexVec<UeId, UeAntennas>,
    /// Correlation of the outermost antennas of a cell and of a UE.
    correlation: [f64; 2],
    /// A cell has several transmit antennas.
    transmits: bool,
}

/// The last computed channel of several antennas.
#[derive(Debug, Default)]
pub(super) struct Channel {
    /// Its resource blocks.
    blocks: Vec<u16>,
    /// By resource block: covariance of noise and interference at the receive antennas, lower
    /// triangle.
    noise_mw: Vec<Matrix>,
    /// By resource block: received amplitude of each transmit antenna, if it had all of the power.
    channel: Vec<Matrix>,
}

/// SINRs of a code word by resource block, each of them with several samples: those of the layers
/// or precoders that its symbols use in turn.
#[derive(Clone, Debug, Default)]
pub struct CodeWordSinr {
    /// Samples by block.
    pub sinr: Vec<f32>,
}

/// Signal of a cell whose channel is computed.
#[derive(Clone, Copy, Debug)]
pub enum ChannelOf {
    /// Its data, against the transmissions of others.
    Data,
    /// Its reference signals, times the number, against the transmissions of others (true) or all
    /// others at full power.
    Reference(f32, bool),
}

impl<const WORDS: usize> Air<WORDS> {
    /// Sets the antennas of all cells and UEs; `correlation`: of the outermost ones of a cell and
    /// of a UE. To be called before any channel is computed.
    pub fn set_antennas(
        &mut self,
        cells: IndexVec<CellId, CellAntennas>,
        ues: IndexVec<UeId, UeAntennas>,
        correlation: [f64; 2],
    ) {
        let transmits = cells.iter().any(|c| c.transmit > 1);
        let several = transmits || cells.iter().any(|c| c.receive > 1) || ues.iter().any(|u| u.receive > 1);
        self.shared.arrays = several.then(|| Box::new(Arrays { cells, ues, correlation, transmits }));
    }
}

impl<const WORDS: usize> Shared<WORDS> {
    /// True if the downlink to `ue` has several antennas at an end.
    #[inline]
    pub(super) fn is_array(&self, ue: UeId) -> bool {
        self.arrays.as_ref().is_some_and(|a| a.transmits || a.ues[ue].receive > 1)
    }

    /// True if `cell` has several receive antennas.
    #[inline]
    pub(super) fn receives_with_many(&self, cell: CellId) -> bool {
        self.arrays.as_ref().is_some_and(|a| a.cells[cell].receive > 1)
    }
}

impl<'a, const WORDS: usize> AtUe<'a, WORDS> {
    /// As [`Self::sounding`], for a cell with several antennas: the sum over them, against the
    /// level that was measured at each.
    pub(super) fn sounding_array(
        self,
        tti: Tti,
        cell: CellId,
        rbs: RbSet<WORDS>,
        received_block_mw: f32,
    ) -> &'a [f32] {
        let AtUe { shared: Shared { arrays, cells, fading, .. }, id, ue, work } = self;
        let Some(arrays) = arrays else { return &[] };
        let antennas = arrays.uplink(cell);
        let Cell { received_mw, .. } = &cells[cell];
        let (links, Work { row, fading: memory, .. }) = ((id, &mut ue.fading), work);
        let fading = fading.as_ref();
        let link = fading.and_then(|f| f.array(Direction::Uplink, cell, links, &antennas, tti, rbs, memory));
        for (to, b) in row.iter_mut().zip(rbs.iter()) {
            let b = b as usize;
            let gain = match link {
                Some(link) => (0..antennas.cell)
                    .map(|r| link.row(r))
                    .map(|(re, im)| re[b] * re[b] + im[b] * im[b])
                    .sum::<f32>(),
                None => antennas.cell as f32,
            };
            *to = received_block_mw * gain / received_mw[b];
        }
        &row[..rbs.len() as usize]
    }

    /// Receive antennas of the UE.
    pub fn receive_antennas(&self) -> usize {
        self.shared.arrays.as_ref().map_or(1, |a| a.ues[self.id].receive)
    }

    /// Computes channel and interference of the downlink from `cell` on the blocks `rbs` in `tti`,
    /// from which [`Self::under`] derives the SINRs under a scheme. False for a link without a
    /// channel matrix: of single antennas or of a given SINR.
    pub fn compute_channel(&mut self, tti: Tti, cell: CellId, rbs: RbSet<WORDS>, of: ChannelOf) -> bool {
        let Some(arrays) = self.shared.arrays.as_deref() else { return false };
        if self.ue.pinned.is_some() || !self.shared.is_array(self.id) {
            return false;
        }
        let data = !matches!(of, ChannelOf::Reference(_, false));
        self.gather_white(tti, cell, rbs, data);
        let Work { interference_mw, channel, .. } = &mut *self.work;
        channel.start(rbs, interference_mw);
        let (id, Shared { fading, cells, .. }, sent) = (self.id, self.shared, self.shared.sent(tti));
        for i in 1..self.ue.around.rays.len() {
            let other = self.ue.around.rays[i].cell;
            let shared = if data { sent.used(tti, other) } else { self.carrier(other) }.and(rbs);
            if shared.is_empty() {
                continue;
            }
            let Ray { gain, .. } = self.ray(tti, i);
            let power_mw = if data { sent.power_mw(other) } else { &cells[other].full_mw };
            let antennas = arrays.downlink(other, id);
            let (links, Work { fading: memory, channel, .. }) = (&mut self.ue.fading, &mut *self.work);
            let link = fading.as_ref().and_then(|f| {
                f.array(Direction::Downlink, other, (id, links), &antennas, tti, shared, memory)
            });
            let weight = gain / antennas.cell as f32;
            for t in 0..antennas.cell {
                let rows: [_; ANTENNAS_MAX] = std::array::from_fn(|r| match link {
                    Some(link) if r < antennas.ue => link.row(t * antennas.ue + r),
                    _ => (&[][..], &[][..]),
                });
                for b in shared.iter() {
                    let (m, b) = (&mut channel.noise_mw[rank(rbs, b)], b as usize);
                    let g = vector(&rows, b, antennas.ue);
                    outer(antennas.ue, m, &g, f64::from(power_mw[b] * weight));
                }
            }
        }
        let Ray { gain, .. } = self.ray(tti, 0);
        let (power_mw, boost) = match of {
            ChannelOf::Data => (sent.power_mw(cell), 1.0),
            ChannelOf::Reference(boost, _) => (&cells[cell].full_mw[..], boost),
        };
        let antennas = arrays.downlink(cell, id);
        let (links, Work { fading: memory, channel, .. }) = (&mut self.ue.fading, &mut *self.work);
        let link = fading
            .as_ref()
            .and_then(|f| f.array(Direction::Downlink, cell, (id, links), &antennas, tti, rbs, memory));
        for t in 0..antennas.cell {
            let rows: [_; ANTENNAS_MAX] = std::array::from_fn(|r| match link {
                Some(link) if r < antennas.ue => link.row(t * antennas.ue + r),
                _ => (&[][..], &[][..]),
            });
            for (k, b) in rbs.iter().enumerate() {
                let amplitude = f64::from(power_mw[b as usize] * gain * boost).sqrt();
                channel.channel[k][t] = vector(&rows, b as usize, antennas.ue).map(|c| c.scaled(amplitude));
            }
        }
        true
    }

    /// SINRs of every `step`th block of the code words of `scheme`, for the last computed downlink
    /// from `cell`.
    pub fn under(&self, cell: CellId, scheme: Scheme, step: usize, to: &mut [CodeWordSinr; 2]) {
        self.work.channel.sinr_under(self.shared.arrays.as_deref(), (cell, self.id), scheme, step, to);
    }

    /// SINR by block of a transmission of `cell` to the UE with transmit diversity, for the last
    /// computed channel.
    pub(super) fn diversity_row(self, cell: CellId, blocks: u32) -> &'a [f32] {
        let Work { channel, code_words: rows, row, .. } = self.work;
        channel.sinr_under(self.shared.arrays.as_deref(), (cell, self.id), Scheme::Diversity, 1, rows);
        let samples = rows[0].sinr.len() / blocks.max(1) as usize;
        for (to, of) in row.iter_mut().zip(rows[0].sinr.chunks(samples.max(1))) {
            // For two pairs of antennas: the SINR of the mean capacity of the two.
            *to = match of {
                [one] => *one,
                [a, b] => ((1.0 + a) * (1.0 + b)).sqrt() - 1.0,
                _ => 0.0,
            };
        }
        &row[..blocks as usize]
    }
}

impl<const WORDS: usize> Air<WORDS> {
    /// As [`Self::uplink`], for a cell with several antennas. The interference that it leaves is
    /// the level of white noise at each antenna that gives the same SINR.
    pub(super) fn uplink_array(&mut self, tti: Tti, cell: CellId, ue: UeId, rbs: RbSet<WORDS>) -> &[f32] {
        let Air { shared: of, ues, uplink, work, .. } = self;
        let Some(arrays) = of.arrays.as_deref() else { return &[] };
        let noise_mw = of.cells[cell].noise_mw;
        rbs.runs(|first, len| work.interference_mw[first..first + len].fill(noise_mw));
        work.channel.start(rbs, &work.interference_mw);
        let antennas = arrays.uplink(cell);
        for other in &uplink.senders[..uplink.others(tti, rbs)] {
            let shared = other.rbs.and(rbs);
            if shared.is_empty() || other.ue == ue {
                continue;
            }
            let mut at = AtUe { shared: of, id: other.ue, ue: &mut ues[other.ue], work: &mut *work };
            let power_mw = f64::from(other.block_mw * at.uplink_gain(tti, cell));
            let fades = of.faded > 0 && at.is_strong(tti, cell);
            let (links, Work { fading: memory, channel, .. }) = (&mut at.ue.fading, at.work);
            let link = match &of.fading {
                Some(fading) if fades => {
                    let links = (other.ue, links);
                    fading.array(Direction::Uplink, cell, links, &antennas, tti, shared, memory)
                }
                _ => None,
            };
            let rows = link.map(|link| std::array::from_fn(|r| link.row(r.min(antennas.cell - 1))));
            for b in shared.iter() {
                let m = &mut channel.noise_mw[rank(rbs, b)];
                match &rows {
                    Some(rows) => outer(antennas.cell, m, &vector(rows, b as usize, antennas.cell), power_mw),
                    None => (0..antennas.cell).for_each(|r| m[r][r].re += power_mw),
                }
            }
        }
        let mut at = AtUe { shared: of, id: ue, ue: &mut ues[ue], work };
        let gain = at.uplink_gain(tti, cell);
        let AtUe { ue: UeRadio { sent, fading: links, .. }, work, .. } = at;
        let Work { interference_mw, row, fading: memory, channel, .. } = work;
        debug_assert!(
            sent.tti == tti && rbs.without(sent.used).is_empty(),
            "the transmission of the UE is recorded"
        );
        let fading = of.fading.as_ref();
        let link =
            fading.and_then(|f| f.array(Direction::Uplink, cell, (ue, links), &antennas, tti, rbs, memory));
        let rows: [_; ANTENNAS_MAX] = std::array::from_fn(|r| match link {
            Some(link) => link.row(r.min(antennas.cell - 1)),
            None => (&[][..], &[][..]),
        });
        let combining = arrays.cells[cell].combining;
        for (k, b) in rbs.iter().enumerate() {
            let amplitude = f64::from(sent.power_mw[b as usize] * gain).sqrt();
            let h = vector(&rows, b as usize, antennas.cell).map(|c| c.scaled(amplitude));
            let noise_mw = &channel.noise_mw[k];
            let sinr = match antennas.cell {
                2 => mimo::one_layer::<2>(combining, &h, noise_mw),
                _ => mimo::one_layer::<ANTENNAS_MAX>(combining, &h, noise_mw),
            };
            row[k] = sinr as f32;
            let power_mw: f64 = h[..antennas.cell].iter().map(|c| c.square()).sum();
            interference_mw[b as usize] = (power_mw / sinr.max(1e-30)) as f32;
        }
        &row[..rbs.len() as usize]
    }
}

impl Arrays {
    /// Antennas of both ends of a downlink.
    fn downlink(&self, cell: CellId, ue: UeId) -> Antennas {
        let [cell_correlation, ue_correlation] = self.correlation;
        Antennas {
            cell: self.cells[cell].transmit,
            ue: self.ues[ue].receive,
            cell_correlation,
            ue_correlation,
        }
    }

    /// Antennas of both ends of an uplink to `cell`.
    fn uplink(&self, cell: CellId) -> Antennas {
        let [cell_correlation, ue_correlation] = self.correlation;
        Antennas { cell: self.cells[cell].receive, ue: 1, cell_correlation, ue_correlation }
    }
}

impl Channel {
    /// SINRs under `scheme`, with the antennas of `arrays`.
    fn sinr_under(
        &self,
        arrays: Option<&Arrays>,
        (cell, ue): (CellId, UeId),
        scheme: Scheme,
        step: usize,
        to: &mut [CodeWordSinr; 2],
    ) {
        to.iter_mut().for_each(|row| row.sinr.clear());
        let Some(Arrays { cells, ues, .. }) = arrays else { return };
        let (transmit, UeAntennas { receive, combining }) = (cells[cell].transmit, ues[ue]);
        match receive {
            1 => self.under::<1>(transmit, combining, scheme, step, to),
            2 => self.under::<2>(transmit, combining, scheme, step, to),
            _ => self.under::<ANTENNAS_MAX>(transmit, combining, scheme, step, to),
        }
    }

    /// Starts a channel of the blocks `rbs` with white noise, equal at each antenna.
    fn start<const WORDS: usize>(&mut self, rbs: RbSet<WORDS>, white: &[f32]) {
        let n = rbs.len() as usize;
        self.channel.resize(n, [[C::ZERO; ANTENNAS_MAX]; ANTENNAS_MAX]);
        self.blocks.clear();
        self.blocks.extend(rbs.iter().map(|b| b as u16));
        self.noise_mw.clear();
        self.noise_mw.extend(rbs.iter().map(|b| {
            let mut m = [[C::ZERO; ANTENNAS_MAX]; ANTENNAS_MAX];
            m.iter_mut().enumerate().for_each(|(i, row)| row[i].re = f64::from(white[b as usize]));
            m
        }));
    }

    fn under<const N: usize>(
        &self,
        transmit: usize,
        combining: Combining,
        scheme: Scheme,
        step: usize,
        to: &mut [CodeWordSinr; 2],
    ) {
        let both = self.channel.iter().zip(&self.noise_mw).step_by(step);
        match scheme {
            Scheme::Diversity => {
                for (h, r) in both {
                    let pair = |a: usize, b: usize| {
                        let half = |v: &Vector| v.map(|c| c.scaled(std::f64::consts::FRAC_1_SQRT_2));
                        mimo::alamouti::<N>(combining, [&half(&h[a]), &half(&h[b])], r) as f32
                    };
                    match transmit {
                        1 => to[0].sinr.push(mimo::one_layer::<N>(combining, &h[0], r) as f32),
                        2 => to[0].sinr.push(pair(0, 1)),
                        // SFBC with frequency-switched pairs (TS 36.211 clause 6.3.4.3).
                        _ => to[0].sinr.extend([pair(0, 2), pair(1, 3)]),
                    }
                }
            }
            Scheme::OpenLoop(layers) => {
                let layers = usize::from(layers);
                let precoders: [Precoder; 4] = std::array::from_fn(|i| mimo::cycled(transmit, layers, i));
                for (i, (h, r)) in both.enumerate() {
                    // Every code word uses every layer in turn.
                    let sinr = sinrs::<N>(combining, h, r, &precoders[i % 4], transmit);
                    for row in to.iter_mut() {
                        row.sinr.extend(sinr[..layers].iter().map(|s| *s as f32));
                    }
                }
            }
            Scheme::ClosedLoop { layers, pmi } => {
                for ((h, r), block) in both.zip(self.blocks.iter().step_by(step)) {
                    let precoder = mimo::precoder(transmit, layers.into(), pmi.of(*block).into());
                    let sinr = sinrs::<N>(combining, h, r, &precoder, transmit);
                    for (code_word, row) in to.iter_mut().enumerate() {
                        let (first, count) = layers_of(layers, code_word);
                        row.sinr.extend(sinr[first..first + count].iter().map(|s| *s as f32));
                    }
                }
            }
        }
    }
}

/// SINR of each layer of `precoder` over the channel `h` under the noise `r`.
#[inline(always)]
fn sinrs<const N: usize>(
    combining: Combining,
    h: &Matrix,
    r: &Matrix,
    precoder: &Precoder,
    transmit: usize,
) -> [f64; ANTENNAS_MAX] {
    let mut arrive = [[C::ZERO; ANTENNAS_MAX]; ANTENNAS_MAX];
    for (to, w) in arrive.iter_mut().zip(&precoder.columns).take(precoder.layers) {
        for t in 0..transmit {
            for r in 0..N {
                to[r] += h[t][r] * w[t];
            }
        }
    }
    let mut sinr = [0.0; ANTENNAS_MAX];
    mimo::layers::<N>(combining, &arrive[..precoder.layers], r, &mut sinr);
    sinr
}

/// Place of block `b` in `rbs`.
#[inline]
fn rank<const WORDS: usize>(rbs: RbSet<WORDS>, b: u32) -> usize {
    rbs.and(RbSet::range(0, b)).len() as usize
}

/// Amplitudes of block `b` at the antennas; 1 where there is no fading.
#[inline(always)]
fn vector(rows: &[(&[f32], &[f32]); ANTENNAS_MAX], b: usize, antennas: usize) -> Vector {
    let mut v = [C::ZERO; ANTENNAS_MAX];
    for (to, (re, im)) in v.iter_mut().zip(rows).take(antennas) {
        *to = match (re.get(b), im.get(b)) {
            (Some(re), Some(im)) => C::new(f64::from(*re), f64::from(*im)),
            _ => C::ONE,
        };
    }
    v
}

#[inline(always)]
fn outer(antennas: usize, m: &mut Matrix, v: &Vector, weight: f64) {
    match antennas {
        1 => mimo::add_outer::<1>(m, v, weight),
        2 => mimo::add_outer::<2>(m, v, weight),
        _ => mimo::add_outer::<ANTENNAS_MAX>(m, v, weight),
    }
}
