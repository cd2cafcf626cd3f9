//! The channel between the antennas of two ends: a complex gain for each pair of a transmit and a
//! receive antenna.
//!
//! All pairs have the delays of the link, and each has its own sinusoids: the taps of pairs are
//! independent, or correlated by the Kronecker product of the correlation matrices of both ends (TS
//! 36.101 annex B.2.3). The first of independent pairs is the link of a single antenna.

use std::sync::Arc;

use lasthop_engine::math;
use lasthop_engine::simd::{Kernel, wide};

use super::knots::Hermite;
use super::response::Response;
use super::sinusoids::{Scratch, Sinusoids, Taps, whole_lanes};
use super::steps::Steps;
use super::{FadingShape, Knots};
use crate::mimo::ANTENNAS_MAX;

/// Number of knots that are kept.
const KEPT: usize = 4;

/// Correlation of the taps between neighbouring antennas at one end, of which there are `antennas`,
/// as the lower triangular factor L with L L^T = R: R of two antennas is [[1, c], [c, 1]], that of
/// four has c^((i - k)^2 / 9) (TS 36.101 v15.1.0 table B.2.3.1-1 and B.2.3.1-2, whose alpha and
/// beta are the correlations of the outermost two).
fn factor(antennas: usize, c: f64) -> [[f64; ANTENNAS_MAX]; ANTENNAS_MAX] {
    let steps = (antennas.max(2) - 1) as f64;
    let of = |i: usize, k: usize| match i.abs_diff(k) {
        0 => 1.0,
        _ if c <= 0.0 => 0.0,
        apart => math::pow(c, (apart * apart) as f64 / (steps * steps)),
    };
    let mut l = [[0.0; ANTENNAS_MAX]; ANTENNAS_MAX];
    for i in 0..antennas {
        for k in 0..=i {
            let rest = of(i, k) - (0..k).map(|j| l[i][j] * l[k][j]).sum::<f64>();
            l[i][k] = if i == k { rest.max(0.0).sqrt() } else { rest / f64::max(l[k][k], 1e-9) };
        }
    }
    l
}

/// Number of antennas at the two ends of a link, and the correlation of their taps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Antennas {
    /// At the cell.
    pub cell: usize,
    /// At the UE.
    pub ue: usize,
    /// Correlation of the outermost antennas of the cell, 0 to 1 (alpha).
    pub cell_correlation: f64,
    /// Correlation of the outermost antennas of the UE, 0 to 1 (beta).
    pub ue_correlation: f64,
}

/// The complex gains of a link by pair of antennas: pair (c, u) is c times the UE's antennas plus
/// u.
#[derive(Clone, Debug)]
pub struct ArrayFading {
    pairs: Pairs,
    response: Arc<Response>,
    /// Row p: the weights of the independent pairs in pair p. Empty if all are independent.
    mix: Box<[f32]>,
    /// The moment of `taps`, and the parts of the blocks that are computed for it.
    at: Option<f64>,
    done: u32,
    taps: Vec<Taps>,
    /// By pair: real parts by block, then imaginary parts.
    rows: Box<[f32]>,
}

/// The sinusoids of the independent pairs.
#[derive(Clone, Debug)]
enum Pairs {
    /// Taps are interpolated between knots: the UE's fading is evaluated many times per wavelength.
    Slow(TapKnots),
    Fast(Box<[Sinusoids]>),
}

impl ArrayFading {
    /// Creates the link of `shape` between `antennas`, in the run `seed`; pair `p` is link
    /// `entity(p)`. `slow`: taps are polynomials between knots. None without fading.
    pub fn new(
        shape: &FadingShape,
        seed: u64,
        entity: impl Fn(usize) -> u64,
        antennas: &Antennas,
        slow: bool,
    ) -> Option<ArrayFading> {
        let count = antennas.cell * antennas.ue;
        let mut pairs = Vec::with_capacity(count);
        let mut response = None;
        for pair in 0..count {
            let link = shape.link(seed, entity(pair))?;
            // If delays are drawn, all pairs have those of the first.
            response.get_or_insert_with(|| link.response.clone());
            pairs.push(link.sinusoids);
        }
        let response = response?;
        let mut mix = Vec::new();
        if antennas.cell_correlation > 0.0 || antennas.ue_correlation > 0.0 {
            let (cell, ue) = (
                factor(antennas.cell, antennas.cell_correlation),
                factor(antennas.ue, antennas.ue_correlation),
            );
            let of = |p: usize, q: usize| {
                cell[p / antennas.ue][q / antennas.ue] * ue[p % antennas.ue][q % antennas.ue]
            };
            mix = (0..count * count).map(|i| of(i / count, i % count) as f32).collect();
        }
        Some(ArrayFading {
            taps: vec![Taps::default(); count],
            rows: vec![0.0; 2 * count * response.blocks()].into(),
            pairs: if slow { Pairs::Slow(TapKnots::new(&pairs)) } else { Pairs::Fast(pairs.into()) },
            mix: mix.into(),
            response,
            at: None,
            done: 0,
        })
    }

    /// Computes the gains after `cycles` wavelengths of at least the blocks of the parts `wanted`
    /// (bit `i`: part `i` of the link's response).
    #[inline]
    pub fn bring(&mut self, cycles: f64, wanted: u32, scratch: &mut Scratch) {
        let new = self.at != Some(cycles);
        if new {
            (self.at, self.done) = (Some(cycles), 0);
        }
        let missing = wanted & !self.done;
        if missing != 0 {
            self.done |= missing;
            wide(Bring { link: self, cycles: new.then_some(cycles), missing, scratch });
        }
    }

    /// Real and imaginary part of the amplitude of each block of pair `pair`, mean power 1, as
    /// computed last.
    #[inline]
    pub fn row(&self, pair: usize) -> (&[f32], &[f32]) {
        let blocks = self.response.blocks();
        self.rows[2 * pair * blocks..][..2 * blocks].split_at(blocks)
    }

    /// The response of the blocks to the taps.
    #[inline]
    pub fn response(&self) -> &Response {
        &self.response
    }

    #[inline(always)]
    fn bring_taps(&mut self, cycles: f64, scratch: &mut Scratch) {
        let ArrayFading { pairs, taps, mix, .. } = self;
        match pairs {
            Pairs::Slow(knots) => knots.at(cycles, scratch, taps),
            Pairs::Fast(pairs) => {
                pairs.iter().zip(taps.iter_mut()).for_each(|(pair, to)| pair.at(cycles, scratch, to));
            }
        }
        if !mix.is_empty() {
            mix_taps(mix, taps);
        }
    }
}

/// Combines the independent pairs by their weights. The factor is lower triangular: in the order
/// from the last pair to the first, no value is overwritten before its use.
#[inline(always)]
fn mix_taps(mix: &[f32], taps: &mut [Taps]) {
    let count = taps.len();
    for p in (0..count).rev() {
        let (before, own) = taps.split_at_mut(p);
        let row = &mix[p * count..][..count];
        for (i, value) in own[0].values.iter_mut().enumerate() {
            let mut sum = row[p] * *value;
            for (other, share) in before.iter().zip(row) {
                sum += share * other.values[i];
            }
            *value = sum;
        }
    }
}

/// Computes taps and amplitudes of a link for a moment.
struct Bring<'a> {
    link: &'a mut ArrayFading,
    /// The distance travelled, if the taps are those of another one.
    cycles: Option<f64>,
    /// Bit `i`: part `i` is to be computed.
    missing: u32,
    scratch: &'a mut Scratch,
}

impl Kernel for Bring<'_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Bring { link, cycles, missing, scratch } = self;
        if let Some(cycles) = cycles {
            link.bring_taps(cycles, scratch);
        }
        let blocks = link.response.blocks();
        for (taps, to) in link.taps.iter().zip(link.rows.chunks_exact_mut(2 * blocks)) {
            let (re, im) = to.split_at_mut(blocks);
            link.response.amplitudes(taps, missing, re, im);
        }
    }
}

/// The taps of all pairs at the knots that were used last: values, slopes and curvatures. Between
/// two of them a tap is the polynomial of degree 5 that [`Knots`] has for powers; a tap turns at
/// most once a wavelength, so its error is (2 pi / 8)^6 / (6! 2^6) = 5e-6 of its amplitude at most.
/// A cache: it changes no result.
#[derive(Clone, Debug)]
struct TapKnots {
    /// By pair: its sinusoids, from knot to knot.
    pairs: Box<[Steps]>,
    index: [Option<i64>; KEPT],
    /// Numbers of one pair and derivative: real parts, imaginary parts, padding up to whole lanes.
    width: usize,
    /// By knot, then pair, then derivative.
    known: Box<[f32]>,
}

impl TapKnots {
    fn new(pairs: &[Sinusoids]) -> TapKnots {
        let width = whole_lanes(2 * pairs[0].taps());
        TapKnots {
            pairs: pairs.iter().map(|pair| Steps::new(pair, Knots::APART)).collect(),
            index: [None; KEPT],
            width,
            known: vec![0.0; KEPT * pairs.len() * 3 * width].into(),
        }
    }

    #[inline(always)]
    fn at(&mut self, cycles: f64, scratch: &mut Scratch, to: &mut [Taps]) {
        let place = cycles / Knots::APART;
        let before = place.floor();
        let [left, right] = [0, 1].map(|k| self.find(before as i64 + k, scratch));
        let weights = Hermite::at((place - before) as f32);
        let (n, w) = (3 * self.width, self.width);
        for (pair, to) in to.iter_mut().enumerate() {
            to.resize(self.pairs[pair].taps());
            let [a, b] = [left, right].map(|knot| &self.known[(knot * self.pairs.len() + pair) * n..][..n]);
            for (i, to) in to.values[..w].iter_mut().enumerate() {
                *to = weights.between([a[i], a[w + i], a[2 * w + i]], [b[i], b[w + i], b[2 * w + i]]);
            }
        }
    }

    #[inline(always)]
    fn find(&mut self, index: i64, scratch: &mut Scratch) -> usize {
        let at = index.rem_euclid(KEPT as i64) as usize;
        if self.index[at] != Some(index) {
            self.work_out(index, at, scratch);
        }
        at
    }

    #[cold]
    fn work_out(&mut self, index: i64, at: usize, scratch: &mut Scratch) {
        let n = 3 * self.width;
        for (pair, steps) in self.pairs.iter().enumerate() {
            steps.with_derivatives(index.cast_unsigned(), scratch);
            self.known[(at * self.pairs.len() + pair) * n..][..n].copy_from_slice(&scratch.derivatives[..n]);
        }
        self.index[at] = Some(index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FadingProfile;

    fn antennas(cell: usize, ue: usize) -> Antennas {
        Antennas { cell, ue, cell_correlation: 0.0, ue_correlation: 0.0 }
    }

    /// The first pair is the link of a single antenna, with knots and without, and the power of its
    /// amplitude is that link's gain. A power between knots differs by 4e-5 (rms), up to 1e-3
    /// in few places.
    #[test]
    fn the_first_pair_is_the_link_of_one_antenna() {
        for (profile, slow) in
            [(FadingProfile::Eva, true), (FadingProfile::Epa, false), (FadingProfile::Etu, true)]
        {
            let shape = FadingShape::new(profile, 25);
            let mut array =
                ArrayFading::new(&shape, 3, |p| 7 + 1000 * p as u64, &antennas(2, 2), slow).unwrap();
            let single = shape.link(3, 7).unwrap();
            let mut gains = [0.0; 25];
            for i in 0..200 {
                let cycles = f64::from(i) * 0.0173;
                array.bring(cycles, u32::MAX, &mut Scratch::default());
                single.gains(cycles, &mut gains);
                let (re, im) = array.row(0);
                for ((re, im), gain) in re.iter().zip(im).zip(gains) {
                    assert!((re * re + im * im - gain).abs() < 1e-4, "{profile:?} {cycles}");
                }
            }
        }
    }

    /// Parts computed one by one or together, after other evaluations or none, are the same.
    #[test]
    fn earlier_evaluations_change_nothing() {
        let shape = FadingShape::new(FadingProfile::Eva, 50);
        let new = || ArrayFading::new(&shape, 3, |p| p as u64, &antennas(2, 2), true).unwrap();
        let (mut busy, mut scratch) = (new(), Scratch::default());
        for i in 0..100 {
            let cycles = f64::from(i * 37 % 100) * 0.01;
            let mut fresh = new();
            fresh.bring(cycles, u32::MAX, &mut scratch);
            busy.bring(cycles, 2, &mut scratch);
            busy.bring(cycles, u32::MAX, &mut scratch);
            (0..4).for_each(|p| assert_eq!(busy.row(p), fresh.row(p)));
        }
    }

    /// Independent pairs: E[h_p h_q*] = 0. Correlated ones: alpha between the cell's antennas, beta
    /// between the UE's, their product across (TS 36.101 table B.2.3.1-2, 2x2). 4000 links:
    /// standard error 0.016.
    #[test]
    fn pairs_are_correlated_as_the_kronecker_product_says() {
        for (alpha, beta) in [(0.0, 0.0), (0.3, 0.9)] {
            let shape = FadingShape::new(FadingProfile::Flat, 1);
            let of = Antennas { cell: 2, ue: 2, cell_correlation: alpha, ue_correlation: beta };
            let mut found = [0.0; 3];
            for link in 0..4000 {
                let mut array = ArrayFading::new(&shape, 5, |p| link * 4 + p as u64, &of, false).unwrap();
                array.bring(0.3, 1, &mut Scratch::default());
                let h =
                    [0, 1, 2, 3].map(|p| array.row(p)).map(|(re, im)| (f64::from(re[0]), f64::from(im[0])));
                for (sum, (p, q)) in found.iter_mut().zip([(0, 2), (0, 1), (0, 3)]) {
                    *sum += (h[p].0 * h[q].0 + h[p].1 * h[q].1) / 4000.0;
                }
            }
            for (found, expected) in found.iter().zip([alpha, beta, alpha * beta]) {
                assert!((found - expected).abs() < 0.05, "{alpha} {beta}: {found} and {expected}");
            }
        }
    }

    /// Table B.2.3.1-2 for four antennas: 1, c^(1/9), c^(4/9), c from neighbour to the outermost.
    #[test]
    fn four_antennas_are_correlated_by_their_distance() {
        let l = factor(4, 0.9);
        let of = |i: usize, k: usize| (0..4).map(|j| l[i][j] * l[k][j]).sum::<f64>();
        for (k, expected) in [1.0, 0.988_36, 0.954_25, 0.9].into_iter().enumerate() {
            assert!((of(3, 3 - k) - expected).abs() < 1e-4, "{k}: {}", of(3, 3 - k));
        }
    }
}
