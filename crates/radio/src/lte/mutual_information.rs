//! Mutual information of coded bits at a given SINR, and its mean over resource blocks (MIESM, IEEE
//! 802.16m-08/004r5 clause 4.3.2.1).
//!
//! The closed forms are sums of J(x), the mutual information between a bit and its Gaussian
//! log-likelihood ratio, with S. ten Brink's fit (IEEE Trans. Commun. 49(10), 2001). Simulations
//! use a table: 64 linear pieces per octave of SINR, indexed by bits of the float, so that a value
//! takes one load and one multiplication. Largest difference from the closed form: 1e-4, except for
//! the one piece in which J's two forms meet with a step of 6.5e-4.

use lasthop_engine::math::{exp, sqrt};
use lasthop_engine::simd::{Kernel, wide};

use super::Modulation;
use super::bler_curves::QAM256;

/// Mutual information per coded bit, 0 to 1, at the linear SINR `g`, by the closed form. 256QAM is
/// not covered by the cited form; its weights are fitted to its bit-interleaved capacity by
/// `tools/make_bler_curves.py`.
pub fn mi_closed_form(modulation: Modulation, g: f64) -> f64 {
    let s = sqrt(g.max(0.0));
    match modulation {
        Modulation::Qpsk => j(2.0 * s),
        Modulation::Qam16 => 0.5 * j(0.8 * s) + 0.25 * j(2.17 * s) + 0.25 * j(0.965 * s),
        Modulation::Qam64 => (j(1.47 * s) + j(0.529 * s) + j(0.366 * s)) / 3.0,
        Modulation::Qam256 => QAM256.iter().map(|(w, k)| w * j(k * s)).sum(),
    }
}

/// Mean mutual information over the resource blocks whose linear SINRs are `sinr`; 0 for none.
pub fn mean_mi(modulation: Modulation, sinr: &[f32]) -> f32 {
    // The sums of all modulations take fewer instructions than that of one.
    wide(Sum { lines: &LINES_OF_ALL, sinr })[modulation as usize] / sinr.len().max(1) as f32
}

/// Sums the mutual information of a row, of all modulations. The pieces of eight SINRs are found in
/// vector lanes.
struct Sum<'a> {
    lines: &'a LinesOfAll,
    sinr: &'a [f32],
}

impl Kernel for Sum<'_> {
    type Output = MiByModulation;
    #[inline(always)]
    fn run(self) -> MiByModulation {
        let Sum { lines, sinr } = self;
        let (eights, rest) = sinr.as_chunks::<8>();
        let mut sum = [0.0; MODULATIONS];
        for eight in eights {
            add_values(lines, eight, &mut sum);
        }
        for g in rest {
            add_value(lines, place(*g), &mut sum);
        }
        sum
    }
}

/// Mean mutual information over the blocks `prbs` (indices into `sinr`); 0 for none.
pub fn mean_mi_of(modulation: Modulation, sinr: &[f32], prbs: impl IntoIterator<Item = usize>) -> f32 {
    let pieces = &LOOKUP[modulation as usize];
    let (mut sum, mut n) = (0.0, 0u32);
    for prb in prbs {
        sum += pieces.at(sinr[prb]);
        n += 1;
    }
    sum / n.max(1) as f32
}

/// Mutual information by modulation.
pub type MiByModulation = [f32; MODULATIONS];

/// Means of the mutual information of the parts of a row of SINRs, of all modulations.
#[derive(Clone, Debug)]
pub(super) struct MiOfParts {
    /// By part.
    pub parts: [MiByModulation; MI_PARTS_MAX],
    /// The mean over the row.
    pub all: MiByModulation,
}

/// Most parts of a row, whole vectors.
pub const MI_PARTS_MAX: usize = 32;

impl MiOfParts {
    /// Of no parts.
    pub const NONE: MiOfParts =
        MiOfParts { parts: [[0.0; MODULATIONS]; MI_PARTS_MAX], all: [0.0; MODULATIONS] };

    /// Takes in [`mean_mi`] of every `size` of the blocks with the linear SINRs `sinr`, at most
    /// [`MI_PARTS_MAX`] parts, to the bit, and the mean over the row. `lines` are [`LINES_OF_ALL`].
    /// To be called once, for [`NONE`](Self::NONE), which remains in its place: a result would be
    /// copied.
    #[inline(always)]
    pub fn take_in_row(&mut self, lines: &LinesOfAll, sinr: &[f32], size: usize) {
        // Loops over the parts of LTE's carriers have a fixed length.
        match size {
            8 => self.take_in_whole::<8>(lines, sinr),
            6 => self.take_in_whole::<6>(lines, sinr),
            4 => self.take_in_whole::<4>(lines, sinr),
            _ => {
                let parts = sinr.chunks(size).take(MI_PARTS_MAX);
                parts.enumerate().for_each(|(part, blocks)| self.take_in(part, lines, blocks));
            }
        }
        self.all = self.all.map(|sum| sum / sinr.len() as f32);
    }

    #[inline(always)]
    fn take_in_whole<const SIZE: usize>(&mut self, lines: &LinesOfAll, sinr: &[f32]) {
        let (whole, rest) = sinr.as_chunks::<SIZE>();
        for (part, blocks) in whole.iter().take(MI_PARTS_MAX).enumerate() {
            let mut sum = [0.0; MODULATIONS];
            add_values(lines, blocks, &mut sum);
            self.put(part, sum, SIZE);
        }
        if !rest.is_empty() {
            self.take_in(whole.len(), lines, rest);
        }
    }

    #[inline(always)]
    fn take_in(&mut self, part: usize, lines: &LinesOfAll, blocks: &[f32]) {
        let mut sum = [0.0; MODULATIONS];
        for g in blocks {
            add_value(lines, place(*g), &mut sum);
        }
        self.put(part, sum, blocks.len());
    }

    /// Takes in the sums over the `len` blocks of part `part`.
    #[inline(always)]
    fn put(&mut self, part: usize, sum: MiByModulation, len: usize) {
        let mut mean = [0.0; MODULATIONS];
        for i in 0..MODULATIONS {
            mean[i] = sum[i] / len as f32;
            self.all[i] += mean[i] * len as f32;
        }
        self.parts[part % MI_PARTS_MAX] = mean;
    }
}

/// Adds the values of all modulations at each of `sinr`. The pieces of the SINRs are found in
/// vector lanes.
#[inline(always)]
fn add_values<const SIZE: usize>(lines: &LinesOfAll, sinr: &[f32; SIZE], sum: &mut MiByModulation) {
    let (mut g, mut piece) = ([0.0; SIZE], [0; SIZE]);
    for k in 0..SIZE {
        (g[k], piece[k]) = place(sinr[k]);
    }
    for k in 0..SIZE {
        add_value(lines, (g[k], piece[k]), sum);
    }
}

/// Adds the values of all modulations at a SINR in its piece. The lines of one SINR are adjacent,
/// so that all modulations take the instructions of one.
#[inline(always)]
fn add_value(lines: &LinesOfAll, (g, piece): (f32, u32), sum: &mut MiByModulation) {
    let at = piece as usize % LINES * 2 * MODULATIONS;
    let of = &lines[at..at + 2 * MODULATIONS];
    for i in 0..MODULATIONS {
        sum[i] += of[i] + of[MODULATIONS + i] * g;
    }
}

/// Clamps a SINR to the range of the table, and finds its piece.
#[inline(always)]
fn place(g: f32) -> (f32, u32) {
    // Positive floats are ordered as their bits are; a negative or NaN SINR must not occur here.
    let g = g.clamp(LOWEST, HIGHEST);
    (g, (g.to_bits() >> SHIFT) - (LOWEST_EXPONENT << PIECE_BITS))
}

/// Mean mutual information of all modulations over the same blocks, from which a CQI is computed.
pub fn mean_mi_all(sinr: &[f32]) -> MiByModulation {
    wide(Sum { lines: &LINES_OF_ALL, sinr }).map(|sum| sum / sinr.len().max(1) as f32)
}

/// The SINR [dB] of an unfaded channel with mutual information `mi`: the inverse of the table that
/// [`mean_mi`] uses. Clamped to -36 dB and 42 dB.
pub fn sinr_db_of_mi(modulation: Modulation, mi: f32) -> f64 {
    LOOKUP[modulation as usize].inverse_db(mi)
}

/// S. ten Brink's J with the coefficients that IEEE 802.16m prints; its values near 0 are negative
/// by up to 5e-5 and are set to 0.
fn j(x: f64) -> f64 {
    if x <= 1.6363 {
        (((-0.042_106_61 * x + 0.209_252) * x - 0.006_400_81) * x).max(0.0)
    } else {
        // The cubic in the exponent has its minimum at 52.7, where J is 1 to the last digit.
        let x = x.min(50.0);
        1.0 - exp(((0.001_814_91 * x - 0.142_675) * x - 0.082_205_4) * x + 0.054_960_8)
    }
}

/// 2^-12 = -36 dB.
const LOWEST_EXPONENT: u32 = 127 - 12;
/// 2^14 = 42 dB.
const OCTAVES: u32 = 26;
/// Pieces per octave: 2^6.
const PIECE_BITS: u32 = 6;
const PIECES: usize = (OCTAVES << PIECE_BITS) as usize;
const SHIFT: u32 = 23 - PIECE_BITS;
/// Pieces, rounded up to a power of two, so that an index needs no check.
const LINES: usize = PIECES.next_power_of_two();

/// The modulations, in the order of their numbers.
const ALL: [Modulation; 4] = [Modulation::Qpsk, Modulation::Qam16, Modulation::Qam64, Modulation::Qam256];
/// Number of modulations.
pub const MODULATIONS: usize = ALL.len();

/// By piece of the SINR: the values at SINR 0 of the lines of all modulations, then their slopes.
pub(super) type LinesOfAll = [f32; LINES * 2 * MODULATIONS];

/// The lines of all modulations.
pub(super) static LINES_OF_ALL: LinesOfAll = {
    let mut all = [0.0; LINES * 2 * MODULATIONS];
    let mut modulation = 0;
    while modulation < MODULATIONS {
        let lines = lines(&values(modulation));
        let mut piece = 0;
        while piece < PIECES {
            let at = piece * 2 * MODULATIONS + modulation;
            (all[at], all[at + MODULATIONS]) = lines[piece];
            piece += 1;
        }
        modulation += 1;
    }
    all
};

/// A piecewise linear function of the SINR.
struct Lookup {
    /// Value at SINR 0 of the straight line, and its slope.
    lines: [(f32, f32); LINES],
    /// Value at the ends of the pieces, for the inverse. Within a piece, 0.07 dB at most, the
    /// inverse is straight in decibels. This differs from a straight line in the SINR by at most
    /// 1.3e-4 dB: 10 log10(1 + x / 64), x from 0 to 1, is above its chord by at most 4.34 / (8
    /// 64^2).
    values: [f64; PIECES + 1],
    /// By value in steps of 1/STEPS: the first end above it.
    above: [u16; STEPS + 1],
}

/// Steps of the value in which the inverse begins to search.
const STEPS: usize = 1024;

static LOOKUP: [Lookup; MODULATIONS] = [Lookup::new(0), Lookup::new(1), Lookup::new(2), Lookup::new(3)];

/// SINR [dB] at the ends of the pieces.
static ENDS_DB: [f64; PIECES + 1] = column(0);

/// The rows that follow from the closed form, so that no run computes them: 64-bit floats, the
/// lowest byte first. The SINR [dB] at the ends of the pieces, then by modulation the largest value
/// up to each end: where its two forms meet, J decreases a little, and the inverse needs a monotone
/// curve. A test derives them.
const CURVES: &[u8; (1 + MODULATIONS) * (PIECES + 1) * 8] =
    include_bytes!("../../data/mutual_information.f64");

/// Row `number` of [`CURVES`].
const fn column(number: usize) -> [f64; PIECES + 1] {
    let mut row = [0.0; PIECES + 1];
    let mut i = 0;
    while i <= PIECES {
        let (mut bytes, mut byte) = ([0; 8], 0);
        while byte < 8 {
            bytes[byte] = CURVES[(number * (PIECES + 1) + i) * 8 + byte];
            byte += 1;
        }
        row[i] = f64::from_le_bytes(bytes);
        i += 1;
    }
    row
}

/// Values at the ends of the pieces.
const fn values(modulation: usize) -> [f64; PIECES + 1] {
    column(1 + modulation)
}

/// The linear SINR at end `i` of the pieces.
const fn end(i: usize) -> f64 {
    f32::from_bits((LOWEST_EXPONENT << 23) + ((i as u32) << SHIFT)) as f64
}

/// By piece: value at SINR 0 of the straight line, and its slope.
const fn lines(values: &[f64; PIECES + 1]) -> [(f32, f32); LINES] {
    let mut lines = [(0.0, 0.0); LINES];
    let mut i = 0;
    while i < PIECES {
        let slope = (values[i + 1] - values[i]) / (end(i + 1) - end(i));
        lines[i] = ((values[i] - slope * end(i)) as f32, slope as f32);
        i += 1;
    }
    lines
}

impl Lookup {
    /// The table of the modulation with this number.
    const fn new(modulation: usize) -> Lookup {
        let values = values(modulation);
        let mut above = [0; STEPS + 1];
        let (mut step, mut after) = (0, 0);
        while step <= STEPS {
            while after <= PIECES && values[after] <= step as f64 / STEPS as f64 {
                after += 1;
            }
            above[step] = after as u16;
            step += 1;
        }
        Lookup { lines: lines(&values), values, above }
    }

    /// The value at `g`; the first piece is extended to lower SINRs, the last value to higher ones.
    #[inline(always)]
    fn at(&self, g: f32) -> f32 {
        let (g, piece) = place(g);
        self.value(g, piece)
    }

    /// The value at `g`, which is in `piece`.
    #[inline(always)]
    fn value(&self, g: f32, piece: u32) -> f32 {
        let (at_zero, slope) = self.lines[piece as usize % LINES];
        at_zero + slope * g
    }

    /// The SINR [dB] of the value `mi`.
    fn inverse_db(&self, mi: f32) -> f64 {
        let mi = f64::from(mi);
        let step = ((mi * STEPS as f64) as usize).min(STEPS - 1);
        let from = if step == 0 { 0 } else { usize::from(self.above[step]) };
        let to = usize::from(self.above[step + 1]);
        let among = if mi < 1.0 { &self.values[from..to] } else { &self.values[from..] };
        let after = (from + among.partition_point(|value| *value <= mi)).clamp(1, PIECES);
        let ((g0, v0), (g1, v1)) =
            ((ENDS_DB[after - 1], self.values[after - 1]), (ENDS_DB[after], self.values[after]));
        if v1 > v0 { g0 + (g1 - g0) * ((mi - v0) / (v1 - v0)).clamp(0.0, 1.0) } else { g0 }
    }
}

const LOWEST: f32 = f32::from_bits(LOWEST_EXPONENT << 23);
/// The last float before the end of the table.
const HIGHEST: f32 = f32::from_bits(((LOWEST_EXPONENT + OCTAVES) << 23) - 1);

#[cfg(test)]
mod tests {
    use super::*;
    use Modulation::{Qam16, Qam64, Qam256, Qpsk};
    use lasthop_engine::math::db;

    /// The rows in the file are those of the closed form, to the bit. With the environment variable
    /// `UPDATE` the test writes them.
    #[test]
    fn the_curves_are_those_of_the_closed_form() {
        let mut rows: Vec<f64> = (0..=PIECES).map(|i| db(end(i))).collect();
        for modulation in ALL {
            let mut top = 0.0f64;
            rows.extend((0..=PIECES).map(|i| {
                top = top.max(mi_closed_form(modulation, end(i)));
                top
            }));
        }
        let bytes: Vec<u8> = rows.iter().flat_map(|value| value.to_le_bytes()).collect();
        if std::env::var_os("UPDATE").is_some() {
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/data/mutual_information.f64");
            std::fs::write(path, &bytes).unwrap();
        }
        assert!(bytes == CURVES, "UPDATE=1 cargo test -p lasthop-radio the_curves");
    }

    /// Values computed from the closed form by hand, equal to those of ns-3's tables up to their
    /// rounding (6e-7).
    #[test]
    fn closed_forms_give_the_printed_values() {
        for (m, g, mi) in [
            (Qpsk, 0.013, 0.008922),
            (Qpsk, 3.197, 0.862005),
            (Qam16, 0.063, 0.018884),
            (Qam64, 157.96, 0.985302),
        ] {
            assert!((mi_closed_form(m, g) - mi).abs() < 1e-6, "{m:?} {g}: {}", mi_closed_form(m, g));
        }
    }

    /// From -40 dB to 45 dB in steps of 0.01 dB: the pieces are within 1e-4 of the closed form. The
    /// printed J steps down by 6.5e-4 where its two forms meet (x = 1.6363); the one piece
    /// across the step smooths it.
    #[test]
    fn the_lookup_is_within_its_stated_error() {
        let scales: [&[f64]; 4] = [
            &[2.0],
            &[0.8, 2.17, 0.965],
            &[1.47, 0.529, 0.366],
            &[QAM256[0].1, QAM256[1].1, QAM256[2].1, QAM256[3].1],
        ];
        assert!((j(1.6363) - j(1.636_300_1) - 6.5e-4).abs() < 1e-5);
        for m in ALL {
            for i in -4000..4500 {
                let g = lasthop_engine::math::from_db(f64::from(i) / 100.0) as f32;
                let error = (f64::from(mean_mi(m, &[g])) - mi_closed_form(m, f64::from(g))).abs();
                let at_step = |k: &f64| (k * sqrt(f64::from(g)) / 1.6363 - 1.0).abs() < 1.0 / 64.0;
                let allowed = if scales[m as usize].iter().any(at_step) { 6.5e-4 } else { 1e-4 };
                assert!(error < allowed, "{m:?} {i}: {error}");
            }
        }
    }

    /// Information never decreases with SINR, and never increases with the order of modulation.
    /// Where J is set to 0 (below -20 dB) all are 0.
    #[test]
    fn information_rises_with_sinr_and_falls_with_order() {
        let at = |m, i: i32| mean_mi(m, &[lasthop_engine::math::from_db(f64::from(i) / 10.0) as f32]);
        for i in -400..420 {
            for m in ALL {
                assert!(at(m, i + 1) >= at(m, i) - 1e-7, "{m:?} {i}");
            }
            assert!((-1e-3..=1.001).contains(&at(Qpsk, i)));
            if i > -100 {
                assert!(at(Qpsk, i) >= at(Qam16, i) && at(Qam16, i) + 2e-3 >= at(Qam64, i), "{i}");
                assert!(at(Qam64, i) + 2e-3 >= at(Qam256, i), "{i}");
            }
        }
    }

    /// The inverse gives the SINR back to 0.01 dB where the curve is steep enough (information from
    /// 0.01 to 0.99).
    #[test]
    fn the_inverse_gives_the_sinr_back() {
        for m in ALL {
            for i in -150..300 {
                let db = f64::from(i) / 10.0;
                let mi = mean_mi(m, &[lasthop_engine::math::from_db(db) as f32]);
                if (0.01..0.99).contains(&mi) {
                    assert!((sinr_db_of_mi(m, mi) - db).abs() < 0.01, "{m:?} {db}: {}", sinr_db_of_mi(m, mi));
                }
            }
        }
    }

    /// The search from its first step finds the same knot as a search among all knots.
    #[test]
    fn the_inverse_finds_the_piece() {
        for m in ALL {
            for i in -20..=2200 {
                let mi = i as f32 / 2100.0;
                let l = &LOOKUP[m as usize];
                let after = l.values.partition_point(|value| *value <= f64::from(mi)).clamp(1, PIECES);
                let ((g0, v0), (g1, v1)) =
                    ((ENDS_DB[after - 1], l.values[after - 1]), (ENDS_DB[after], l.values[after]));
                let t = ((f64::from(mi) - v0) / (v1 - v0)).clamp(0.0, 1.0);
                assert_eq!(l.inverse_db(mi), if v1 > v0 { g0 + (g1 - g0) * t } else { g0 }, "{m:?} {mi}");
            }
        }
    }

    #[test]
    fn the_mean_is_over_the_blocks_of_the_grant() {
        let sinr = [1.0, 10.0, 100.0];
        let alone = |g| mean_mi(Qam16, &[g]);
        assert_eq!(mean_mi_of(Qam16, &sinr, [0, 2]), (alone(1.0) + alone(100.0)) / 2.0);
        assert_eq!(mean_mi(Qam16, &[]), 0.0);
        assert_eq!(mean_mi_all(&sinr)[1], mean_mi(Qam16, &sinr));
        for size in 1..=4 {
            let mut means = MiOfParts::NONE;
            means.take_in_row(&LINES_OF_ALL, &sinr, size);
            for (i, part) in sinr.chunks(size).enumerate() {
                assert_eq!(means.parts[i], ALL.map(|m| mean_mi(m, part)), "{size}");
            }
        }
    }
}
