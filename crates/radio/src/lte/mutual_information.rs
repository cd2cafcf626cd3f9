//! Mutual information of coded bits at a given SINR, and its mean over resource blocks (MIESM, IEEE
//! 802.16m-08/004r5 clause 4.3.2.1).
//!
//! The closed forms are sums of J(x), the mutual information between a bit and its Gaussian
//! log-likelihood ratio, with S. ten Brink's fit (IEEE Trans. Commun. 49(10), 2001). Simulations
//! use a table: 64 linear pieces per octave of SINR, indexed by bits of the float, so that a value
//! takes one load and one multiplication. Largest difference from the closed form: 1e-4, except for
//! the one piece in which J's two forms meet with a step of 6.5e-4.

use std::sync::LazyLock;

use lasthop_engine::math::{db, exp, sqrt};
use lasthop_engine::simd::{Kernel, wide};

use super::bler_curves::QAM256;
use super::{Modulation, PRB_MAX};

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
    wide(Sum { pieces: &LOOKUP[modulation as usize], sinr }) / sinr.len().max(1) as f32
}

/// Sums the mutual information of a row. The pieces of eight SINRs are found in vector lanes.
struct Sum<'a> {
    pieces: &'a Lookup,
    sinr: &'a [f32],
}

impl Kernel for Sum<'_> {
    type Output = f32;
    #[inline(always)]
    fn run(self) -> f32 {
        let Sum { pieces, sinr } = self;
        let (eights, rest) = sinr.as_chunks::<8>();
        let mut sum = 0.0;
        for eight in eights {
            let (mut g, mut piece) = ([0.0; 8], [0; 8]);
            for k in 0..8 {
                (g[k], piece[k]) = place(eight[k]);
            }
            for k in 0..8 {
                sum += pieces.value(g[k], piece[k]);
            }
        }
        rest.iter().fold(sum, |sum, g| sum + pieces.at(*g))
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

/// Table positions of a row of SINRs, for a caller that needs the information of several
/// modulations.
#[derive(Clone, Debug)]
pub struct MiPlaces {
    /// By resource block: the SINR, and its piece.
    sinr: [f32; PRB_MAX],
    piece: [u16; PRB_MAX],
}

impl MiPlaces {
    /// The positions of an empty row.
    pub const NONE: MiPlaces = MiPlaces { sinr: [0.0; PRB_MAX], piece: [0; PRB_MAX] };

    /// Computes the positions of the linear SINRs `sinr`, at most [`PRB_MAX`], in place because the
    /// object is large.
    #[inline]
    pub fn locate(&mut self, sinr: &[f32]) {
        wide(Locate { sinr, places: self });
    }

    /// [`mean_mi`] of every `size` of the first `blocks` resource blocks, to the bit, of all
    /// modulations: `means[i][modulation]`. The lines of one SINR are adjacent, so that all
    /// modulations take the instructions of one.
    #[inline]
    pub fn mean_mi(&self, blocks: usize, size: usize, means: &mut [MiByModulation]) {
        let means = &mut means[..blocks.div_ceil(size)];
        wide(Means { places: self, blocks, size, means });
    }
}

/// Mutual information by modulation.
pub type MiByModulation = [f32; MODULATIONS];

/// Fills the means of the parts of a row.
struct Means<'a> {
    places: &'a MiPlaces,
    blocks: usize,
    size: usize,
    means: &'a mut [MiByModulation],
}

impl Kernel for Means<'_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let lines = &*LINES_OF_ALL;
        let MiPlaces { sinr, piece } = self.places;
        let (sinr, piece) = (&sinr[..self.blocks], &piece[..self.blocks]);
        for ((mean, sinr), piece) in
            self.means.iter_mut().zip(sinr.chunks(self.size)).zip(piece.chunks(self.size))
        {
            let mut sum = [0.0; MODULATIONS];
            for (g, piece) in sinr.iter().zip(piece) {
                let Lines { at_zero, slope } = &lines[usize::from(*piece) % LINES];
                for i in 0..MODULATIONS {
                    sum[i] += at_zero[i] + slope[i] * g;
                }
            }
            *mean = sum.map(|sum| sum / sinr.len() as f32);
        }
    }
}

/// Finds the table positions of a row.
struct Locate<'a> {
    sinr: &'a [f32],
    places: &'a mut MiPlaces,
}

impl Kernel for Locate<'_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let MiPlaces { sinr, piece } = self.places;
        for ((g, piece), sinr) in sinr.iter_mut().zip(piece).zip(self.sinr) {
            (*g, *piece) = place(*sinr);
        }
    }
}

/// Clamps a SINR to the range of the table, and finds its piece.
#[inline(always)]
fn place(g: f32) -> (f32, u16) {
    // Positive floats are ordered as their bits are; a negative or NaN SINR must not occur here.
    let g = g.clamp(LOWEST, HIGHEST);
    (g, ((g.to_bits() >> SHIFT) - (LOWEST_EXPONENT << PIECE_BITS)) as u16)
}

/// Mean mutual information of all modulations over the same blocks, from which a CQI is computed.
pub fn mean_mi_all(sinr: &[f32]) -> MiByModulation {
    ALL.map(|m| mean_mi(m, sinr))
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

/// The lines of one piece of the SINR, by modulation.
#[derive(Clone, Copy, Default)]
struct Lines {
    at_zero: [f32; MODULATIONS],
    slope: [f32; MODULATIONS],
}

static LINES_OF_ALL: LazyLock<Box<[Lines; LINES]>> = LazyLock::new(|| {
    let mut all = Box::new([Lines::default(); LINES]);
    for (modulation, of) in LOOKUP.iter().enumerate() {
        for (lines, (at_zero, slope)) in all.iter_mut().zip(of.lines.iter()) {
            (lines.at_zero[modulation], lines.slope[modulation]) = (*at_zero, *slope);
        }
    }
    all
});

/// A piecewise linear function of the SINR.
struct Lookup {
    /// Value at SINR 0 of the straight line, and its slope.
    lines: Box<[(f32, f32); LINES]>,
    /// SINR [dB] and value at the ends of the pieces, for the inverse. Within a piece, 0.07 dB at
    /// most, the inverse is straight in decibels. This differs from a straight line in the SINR by
    /// at most 1.3e-4 dB: 10 log10(1 + x / 64), x from 0 to 1, is above its chord by at most 4.34 /
    /// (8 64^2).
    knots: Box<[(f64, f64)]>,
    /// By value in steps of 1/STEPS: the first knot above it.
    above: Box<[u16]>,
}

/// Steps of the value in which the inverse begins to search.
const STEPS: usize = 1024;

static LOOKUP: LazyLock<[Lookup; MODULATIONS]> = LazyLock::new(|| {
    let ends: Vec<(f64, f64)> = (0..=PIECES as u32)
        .map(|i| f64::from(f32::from_bits((LOWEST_EXPONENT << 23) + (i << SHIFT))))
        .map(|g| (g, db(g)))
        .collect();
    ALL.map(|modulation| Lookup::new(modulation, &ends))
});

impl Lookup {
    /// The table of `modulation`; `ends` are the ends of the pieces, linear and in dB.
    fn new(modulation: Modulation, ends: &[(f64, f64)]) -> Lookup {
        // Where its two forms meet, J decreases a little; the inverse needs a monotone curve.
        let mut top = 0.0f64;
        let knots: Box<[(f64, f64)]> = ends
            .iter()
            .map(|(g, g_db)| {
                top = top.max(mi_closed_form(modulation, *g));
                (*g_db, top)
            })
            .collect();
        let mut lines = Box::new([(0.0, 0.0); LINES]);
        for ((line, k), g) in lines.iter_mut().zip(knots.windows(2)).zip(ends.windows(2)) {
            let slope = (k[1].1 - k[0].1) / (g[1].0 - g[0].0);
            *line = ((k[0].1 - slope * g[0].0) as f32, slope as f32);
        }
        let mut after = 0;
        let above = |step: usize| {
            let value = step as f64 / STEPS as f64;
            after += knots[after..].iter().take_while(|(_, of)| *of <= value).count();
            after as u16
        };
        let above = (0..=STEPS).map(above).collect();
        Lookup { lines, knots, above }
    }

    /// The value at `g`; the first piece is extended to lower SINRs, the last value to higher ones.
    #[inline(always)]
    fn at(&self, g: f32) -> f32 {
        let (g, piece) = place(g);
        self.value(g, piece)
    }

    /// The value at `g`, which is in `piece`.
    #[inline(always)]
    fn value(&self, g: f32, piece: u16) -> f32 {
        let (at_zero, slope) = self.lines[usize::from(piece) % LINES];
        at_zero + slope * g
    }

    /// The SINR [dB] of the value `mi`.
    fn inverse_db(&self, mi: f32) -> f64 {
        let mi = f64::from(mi);
        let step = ((mi * STEPS as f64) as usize).min(STEPS - 1);
        let from = if step == 0 { 0 } else { usize::from(self.above[step]) };
        let to = usize::from(self.above[step + 1]);
        let among = if mi < 1.0 { &self.knots[from..to] } else { &self.knots[from..] };
        let after = (from + among.partition_point(|(_, value)| *value <= mi)).clamp(1, PIECES);
        let ((g0, v0), (g1, v1)) = (self.knots[after - 1], self.knots[after]);
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
                let after = l.knots.partition_point(|(_, value)| *value <= f64::from(mi)).clamp(1, PIECES);
                let ((g0, v0), (g1, v1)) = (l.knots[after - 1], l.knots[after]);
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
        let mut places = MiPlaces::NONE;
        places.locate(&sinr);
        for size in 1..=4 {
            let mut means = [[0.0; MODULATIONS]; 3];
            places.mean_mi(3, size, &mut means);
            for (part, means) in sinr.chunks(size).zip(means) {
                assert_eq!(means, ALL.map(|m| mean_mi(m, part)), "{size}");
            }
        }
    }
}
