//! Gains of a link between knots: for terminals that travel a wavelength in many TTIs.

use std::sync::Arc;

use lasthop_engine::simd::{Kernel, prefetch, wide};

use super::Fading;
use super::response::Response;
use super::sinusoids::{LANES, Scratch, whole_lanes};
use super::steps::Steps;

/// Knots per wavelength. Between two of them the power of a block is the polynomial of degree 5
/// with their values, slopes and curvatures (Hermite). Its error is h^6 / (6! 2^6) of the sixth
/// derivative, h = 1/8, in the middle and less elsewhere. A power is a sum of products of two
/// sinusoids of at most one cycle a wavelength, which have at most two cycles: (4 pi h)^6 / (6!
/// 2^6) = 3.3e-4 of each such product. For Rayleigh fading, whose power has the correlation J0(2 pi
/// c)^2, the error has a standard deviation of 4e-5 of the mean power (derived at the test).
const PER_CYCLE: f64 = 8.0;
/// Knots that are kept. Two would suffice if times never went back: reports are of the TTI before.
const KEPT: usize = 4;
const _: () = assert!(KEPT.is_power_of_two());
/// Lower bound of a power [of the mean]: 60 dB below it. Where a power is nearly zero the
/// polynomial may be negative by as much as its error, so values below -44 dB are inaccurate.
const LEAST: f32 = 1e-6;

/// A link's fading at knots, and between them by interpolation: for many evaluations within an
/// eighth of a wavelength. Its gains differ by 4e-5 (rms) of the mean power from those of
/// [`Fading`]. Powers of its blocks at the knots that were used last are kept, which changes no
/// gain.
#[derive(Clone, Debug)]
pub struct Knots {
    /// From knot to knot.
    steps: Steps,
    response: Arc<Response>,
    /// By knot modulo their number: the index of the knot that is kept.
    index: [Option<i64>; KEPT],
    /// By knot, then by eight blocks: their values, slopes and curvatures, per distance of knots.
    known: Box<[Eight]>,
}

/// Values, slopes and curvatures of eight blocks: they are read together and therefore stored
/// together.
type Eight = [[f32; LANES]; 3];

impl Knots {
    /// The distance of two knots in wavelengths.
    pub const APART: f64 = 1.0 / PER_CYCLE;

    /// The fading `of` a link.
    pub fn new(of: &Fading) -> Knots {
        Knots {
            steps: of.steps(Knots::APART),
            response: Arc::clone(of.response()),
            index: [None; KEPT],
            known: Box::default(),
        }
    }

    /// Places that [`gains`](Self::gains) takes for the gains of `blocks`.
    pub const fn room(blocks: usize) -> usize {
        whole_lanes(blocks)
    }

    /// The power gains of blocks after `cycles`. `gains` has [`room`](Self::room) for the blocks;
    /// bit `i` of `wanted` stands for blocks 8 i to 8 i + 7, others are unchanged.
    #[inline(always)]
    pub fn gains(&mut self, cycles: f64, mut wanted: u64, scratch: &mut Scratch, gains: &mut [f32]) {
        let place = Place::of(cycles);
        self.prepare(place, scratch);
        let (between, weights) = (self.between(place), place.weights());
        let to = gains.as_chunks_mut::<LANES>().0;
        while wanted != 0 {
            let i = wanted.trailing_zeros() as usize;
            wanted &= wanted - 1;
            if i >= between.eights() {
                break;
            }
            to[i] = between.gains(weights, i);
        }
    }

    /// Computes the two knots around `place`, if they are not kept.
    #[inline(always)]
    pub fn prepare(&mut self, place: Place, scratch: &mut Scratch) {
        for index in [place.before, place.before + 1] {
            let at = kept(index);
            if self.index[at] != Some(index) {
                self.work_out(index, at, scratch);
            }
        }
    }

    /// The two knots around `place`, for which the knots were prepared.
    #[inline(always)]
    pub fn between(&self, place: Place) -> Between<'_> {
        let n = self.known.len() / KEPT;
        let [left, right] = [place.before, place.before + 1].map(|index| {
            debug_assert_eq!(self.index[kept(index)], Some(index), "prepared");
            &self.known[kept(index) * n..][..n]
        });
        Between { left, right }
    }

    /// Prefetches the values of the blocks `wanted` after `cycles`.
    #[inline]
    pub fn prefetch_values(&self, cycles: f64, wanted: u64) {
        let n = self.known.len() / KEPT;
        let Place { before, .. } = Place::of(cycles);
        for index in [before, before + 1] {
            let at = kept(index);
            let mut wanted = wanted;
            while wanted != 0 {
                self.known[at * n..][..n]
                    .get(wanted.trailing_zeros() as usize)
                    .into_iter()
                    .for_each(prefetch);
                wanted &= wanted - 1;
            }
        }
    }

    #[cold]
    fn work_out(&mut self, index: i64, at: usize, scratch: &mut Scratch) {
        let Knots { steps, response, known, .. } = self;
        let n = response.blocks().div_ceil(LANES);
        if known.is_empty() {
            *known = vec![Eight::default(); n * KEPT].into();
        }
        wide(WorkOut { steps, response, index, scratch, to: &mut known[at * n..][..n] });
        self.index[at] = Some(index);
    }
}

/// The place at which knot `index` is kept. Knots that follow each other have different places,
/// also around 0: their number is a power of two.
#[inline(always)]
const fn kept(index: i64) -> usize {
    index as usize % KEPT
}

/// A distance travelled, by the knots around it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// Index of the knot before it.
    before: i64,
    /// Its part of the distance of two knots.
    t: f32,
}

impl Place {
    /// The place after `cycles`.
    #[inline(always)]
    pub fn of(cycles: f64) -> Place {
        let place = cycles * PER_CYCLE;
        let before = place.floor();
        Place { before: before as i64, t: (place - before) as f32 }
    }

    /// Weights of the interpolation at the place.
    #[inline(always)]
    pub fn weights(self) -> Hermite {
        Hermite::at(self.t)
    }

    /// Index of the knot before it: the knots around two places are the same if these are.
    #[inline(always)]
    pub const fn knot(self) -> i64 {
        self.before
    }

    /// The cycles at the knot after it.
    pub fn end(self) -> f64 {
        (self.before + 1) as f64 / PER_CYCLE
    }
}

/// The powers of a link's blocks between two knots.
#[derive(Clone, Copy, Debug)]
pub struct Between<'a> {
    left: &'a [Eight],
    right: &'a [Eight],
}

impl<'a> Between<'a> {
    /// Those of a link without knots: no blocks.
    pub const NONE: Between<'static> = Between { left: &[], right: &[] };

    /// Number of eights of blocks.
    #[inline(always)]
    pub const fn eights(&self) -> usize {
        self.left.len()
    }

    /// Those of the first `n` eights.
    #[inline(always)]
    pub fn first(self, n: usize) -> Between<'a> {
        Between { left: &self.left[..n], right: &self.right[..n] }
    }

    /// The gains of blocks 8 i to 8 i + 7.
    #[inline(always)]
    pub fn gains(&self, weights: Hermite, i: usize) -> [f32; LANES] {
        let ([p0, m0, a0], [p1, m1, a1]) = (&self.left[i], &self.right[i]);
        let mut now = [0.0_f32; LANES];
        for k in 0..LANES {
            now[k] = weights.between([p0[k], m0[k], a0[k]], [p1[k], m1[k], a1[k]]);
        }
        for power in &mut now {
            *power = power.max(LEAST);
        }
        now
    }

    /// Bounds of these gains that hold anywhere between the two knots.
    #[inline(always)]
    pub fn bound(&self, side: Side, i: usize) -> [f32; LANES] {
        let (left, right) = (&self.left[i], &self.right[i]);
        let mut bounds = [0.0; LANES];
        for k in 0..LANES {
            let of = |knot: &Eight| [knot[0][k], knot[1][k], knot[2][k]];
            bounds[k] = side.of(of(left), of(right));
        }
        bounds
    }
}

/// Weights of the polynomial of degree 5 between two knots.
#[derive(Clone, Copy, Debug)]
pub struct Hermite {
    g0: f32,
    h1: f32,
    g1: f32,
    h2: f32,
    g2: f32,
}

impl Hermite {
    /// Computes the weights at `t` between the knots, 0 to 1.
    #[inline(always)]
    pub(super) fn at(t: f32) -> Hermite {
        let t2 = t * t;
        let t3 = t2 * t;
        let g0 = t3 * (10.0 - 15.0 * t + 6.0 * t2);
        let (h1, g1) = (t - t3 * (6.0 - 8.0 * t + 3.0 * t2), t3 * (7.0 * t - 4.0 - 3.0 * t2));
        let (h2, g2) = (0.5 * (t2 - t3 * (3.0 - 3.0 * t + t2)), 0.5 * t3 * (1.0 - 2.0 * t + t2));
        Hermite { g0, h1, g1, h2, g2 }
    }

    /// Interpolates from value, slope and curvature at either knot.
    #[inline(always)]
    pub(super) fn between(self, [p0, m0, a0]: [f32; 3], [p1, m1, a1]: [f32; 3]) -> f32 {
        let Hermite { g0, h1, g1, h2, g2 } = self;
        p0 + g0 * (p1 - p0) + (h1 * m0 + g1 * m1) + (h2 * a0 + g2 * a1)
    }
}

/// A bound of the powers between two knots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// No power is lower.
    Least,
    /// No power is higher.
    Most,
}

impl Side {
    /// The bound, from value, slope and curvature at either knot: the polynomial is between the
    /// least and the greatest of its six Bernstein coefficients.
    #[inline(always)]
    fn of(self, [p0, m0, a0]: [f32; 3], [p1, m1, a1]: [f32; 3]) -> f32 {
        let left = [p0, p0 + 0.2 * m0, p0 + 0.4 * m0 + 0.05 * a0];
        let right = [p1, p1 - 0.2 * m1, p1 - 0.4 * m1 + 0.05 * a1];
        let most = left.iter().chain(&right).fold(LEAST, |most, of| of.max(most));
        // Covers the rounding in the evaluation of the polynomial.
        let margin = most * 1e-5;
        match self {
            Side::Most => most + margin,
            Side::Least => {
                let least = left.iter().chain(&right).fold(most, |least, of| of.min(least));
                (least - margin).max(LEAST)
            }
        }
    }
}

/// Computes the values that are kept of knot `index`.
struct WorkOut<'a> {
    steps: &'a Steps,
    response: &'a Response,
    index: i64,
    scratch: &'a mut Scratch,
    to: &'a mut [Eight],
}

impl Kernel for WorkOut<'_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let WorkOut { steps, response, index, scratch, to } = self;
        steps.with_derivatives(index.cast_unsigned(), scratch);
        let [values, slopes, curvatures] = response.derivatives(steps.taps(), scratch);
        let rows = values.iter().zip(slopes).zip(curvatures);
        for (to, ((values, slopes), curvatures)) in to.iter_mut().zip(rows) {
            *to = [*values, *slopes, *curvatures];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Fading, FadingProfile, FadingShape, Scratch};
    use super::{Knots, LEAST, Place, Side};

    /// Root mean square of the sixth derivative, by distance, of a power with correlation J0(2 pi
    /// c)^2: that of order 12 at 0. J0(x)^2 is the sum of (-1)^k (2k)! / (k!)^4 (x / 2)^(2k), so it
    /// is 12! * 12! / (6!)^4 * pi^12 = 7.89e11, its root 8.88e5. The error of the polynomial is
    /// (h^2 t (1 - t))^3 / 6! of it: on average over t a root of h^12 / 12012 / 6!^2, so h^6 / 720
    /// / 109.6 * 8.88e5 = 4.3e-5. A standard profile has 16 sinusoids a tap instead of infinitely
    /// many and several taps: 15 %.
    #[test]
    fn between_knots_the_gains_are_what_they_are() {
        let of_25 = [FadingProfile::Flat, FadingProfile::Epa, FadingProfile::Eva, FadingProfile::Etu];
        // Beside whole parts 50 blocks have one pair, and 100 blocks two.
        let wider = [(FadingProfile::Eva, 50), (FadingProfile::Epa, 100)];
        for (profile, blocks) in of_25.map(|profile| (profile, 25)).into_iter().chain(wider) {
            let shape = FadingShape::new(profile, blocks);
            let (mut exact, mut near) = (vec![0.0; blocks], vec![0.0; Knots::room(blocks)]);
            let (mut square, mut n, mut worst) = (0.0, 0.0, 0.0_f64);
            for entity in 0..5000 / blocks as u64 {
                let link = shape.link(3, entity).unwrap();
                let mut knots = Knots::new(&link);
                let mut scratch = Scratch::default();
                for i in 0..400 {
                    let cycles = f64::from(i) * 0.055_3;
                    link.gains(cycles, &mut exact);
                    knots.gains(cycles, u64::MAX, &mut scratch, &mut near);
                    for (a, b) in exact.iter().zip(&near) {
                        let missed = f64::from(a.max(LEAST) - b).abs();
                        (square, n, worst) = (square + missed * missed, n + 1.0, worst.max(missed));
                    }
                }
            }
            let rms = f64::sqrt(square / n);
            assert!((rms / 4.3e-5 - 1.0).abs() < 0.15, "{profile:?} {blocks}: {rms}");
            assert!(worst < 1e-3, "{profile:?} {blocks}: {worst}");
        }
    }

    /// No block is beyond a bound, and the mean bounds are not far from the mean extremes.
    #[test]
    fn blocks_are_between_their_bounds() {
        let shape = FadingShape::new(FadingProfile::Eva, 50);
        let (mut scratch, mut gains) = (Scratch::default(), [0.0; 56]);
        let (mut found, mut bounds) = ([0.0; 2], [0.0; 2]);
        for entity in 0..50 {
            let link = shape.link(3, entity).unwrap();
            let mut knots = Knots::new(&link);
            for interval in 0..40 {
                let begin = f64::from(interval) * Knots::APART;
                let place = Place::of(begin);
                assert_eq!(place.end(), begin + Knots::APART);
                knots.prepare(place, &mut scratch);
                let [least, most] = [Side::Least, Side::Most].map(|side| {
                    (0..7).flat_map(|i| knots.between(place).bound(side, i)).collect::<Vec<f32>>()
                });
                let (mut lowest, mut highest) = ([f32::INFINITY; 56], [0.0_f32; 56]);
                for i in 0..32 {
                    let cycles = begin + f64::from(i) / 32.0 * Knots::APART;
                    knots.gains(cycles, u64::MAX, &mut scratch, &mut gains);
                    for b in 0..50 {
                        assert!((least[b]..=most[b]).contains(&gains[b]), "{entity} {interval} {b}");
                        (lowest[b], highest[b]) = (lowest[b].min(gains[b]), highest[b].max(gains[b]));
                    }
                }
                let sum = |of: &[f32]| of[..50].iter().sum::<f32>();
                found = [found[0] + sum(&lowest), found[1] + sum(&highest)];
                bounds = [bounds[0] + sum(&least), bounds[1] + sum(&most)];
            }
        }
        assert!(bounds[0] > 0.95 * found[0] && bounds[1] < 1.05 * found[1], "{bounds:?} and {found:?}");
    }

    /// A narrow link right after a wide one: values of the wide one left in memory do not appear
    /// among its blocks.
    #[test]
    fn links_of_other_widths_leave_nothing_behind() {
        let wide = FadingShape::new(FadingProfile::Eva, 100);
        for blocks in [1, 6, 15, 25, 50, 75] {
            let narrow = FadingShape::new(FadingProfile::Eva, blocks);
            for entity in 0..50 {
                let link = narrow.link(3, entity).unwrap();
                let (mut shared, mut own) = (Scratch::default(), Scratch::default());
                let most = |of: &Fading, scratch: &mut Scratch| {
                    let (mut knots, place) = (Knots::new(of), Place::of(7.3));
                    knots.prepare(place, scratch);
                    let between = knots.between(place);
                    (0..between.eights()).map(|i| between.bound(Side::Most, i)).collect::<Vec<_>>()
                };
                most(&wide.link(4, entity).unwrap(), &mut shared);
                assert_eq!(most(&link, &mut shared), most(&link, &mut own), "{blocks}");
            }
        }
    }

    /// Evaluation back and forth, near and far: cached knots change no result.
    #[test]
    fn earlier_evaluations_change_nothing() {
        for blocks in [1, 6, 15, 25, 50, 100] {
            let link = FadingShape::new(FadingProfile::Epa, blocks).link(3, 1).unwrap();
            let (mut busy, mut scratch) = (Knots::new(&link), Scratch::default());
            for i in 0..500 {
                let cycles = f64::from(i * 7919 % 1000) * 0.01;
                let [mut a, mut b] = [0, 1].map(|_| vec![0.0; Knots::room(blocks)]);
                busy.gains(cycles, u64::MAX, &mut scratch, &mut a);
                for eight in 0..16 {
                    Knots::new(&link).gains(cycles, 1 << eight, &mut scratch, &mut b);
                }
                assert_eq!(a[..blocks], b[..blocks]);
            }
        }
    }
}
