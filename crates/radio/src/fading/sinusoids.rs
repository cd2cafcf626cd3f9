//! Sums of sinusoids: the taps of a link after some way.

use std::f64::consts::TAU;

use lasthop_engine::simd::Fused;
use lasthop_engine::{Draw, math};

use super::SINUSOIDS;

/// Complex gains of the taps of a link at one moment.
#[derive(Clone, Debug, Default)]
pub struct Taps {
    /// Real parts, then imaginary parts, then nothing up to whole lanes.
    pub(super) values: Vec<f32>,
    /// How many.
    pub(super) count: usize,
}

/// What is worked out on the way to the gains of a link: memory that all links share.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    /// Turns, cosines and sines of sinusoids.
    circle: [Vec<f32>; 2],
    /// Taps and their first and second derivative, each from whole lanes on: real parts, then
    /// imaginary parts.
    pub(super) derivatives: Vec<f32>,
    /// Powers of blocks, their first and second derivative.
    pub(super) rows: [Vec<[f32; LANES]>; 3],
}

/// Numbers that are worked out side by side.
pub(super) const LANES: usize = 8;

impl Taps {
    /// Real and imaginary part of each.
    pub fn pairs(&self) -> impl Iterator<Item = (f32, f32)> {
        let (re, im) = self.parts();
        re.iter().copied().zip(im.iter().copied())
    }

    /// Real parts and imaginary parts.
    #[inline(always)]
    pub(super) fn parts(&self) -> (&[f32], &[f32]) {
        self.values[..2 * self.count].split_at(self.count)
    }

    /// Room for `count` taps.
    #[inline(always)]
    pub(super) fn resize(&mut self, count: usize) {
        if self.count != count {
            self.count = count;
            self.values.resize(whole_lanes(2 * count), 0.0);
        }
    }
}

/// `n`, up to whole lanes.
#[inline(always)]
pub(super) const fn whole_lanes(n: usize) -> usize {
    n.next_multiple_of(LANES)
}

/// The sinusoids of the taps of a link: cosine of the angle of arrival and phase [turns], tap by
/// tap.
#[derive(Clone, Debug)]
pub(super) struct Sinusoids {
    cosines: Box<[f64]>,
    phases: Box<[f64]>,
    /// By tap.
    amplitudes: Box<[f32]>,
}

/// How far the sinusoids of a link turn in a step of the same way, and where they begin: for who
/// looks after whole steps. In units of 2^-32 turns, so that whole turns vanish by themselves: a
/// multiplication and an addition of whole numbers that wrap, without rounding however many steps
/// they are. A step's turn is rounded by half a unit at most, 1.2e-10 turns: at 60 km/h and 2 GHz,
/// where a terminal travels 0.111 wavelengths in a millisecond, a Doppler frequency that is 1e-9 of
/// the largest away, so that of another angle of arrival. In a standard profile the first sinusoids
/// of all taps come first, then the second ones, and so on.
#[derive(Clone, Debug)]
pub struct Steps {
    each: Box<[u32]>,
    first: Box<[u32]>,
}

/// Units of a turn: 2^32.
const UNITS: f64 = (1u64 << 32) as f64;

/// Where a sinusoid is after `n` steps [turns]: -1/2 to 1/2.
#[inline(always)]
fn turns_after((each, first): (&u32, &u32), n: u64) -> f32 {
    each.wrapping_mul(n as u32).wrapping_add(*first) as i32 as f32 * (1.0 / UNITS) as f32
}

impl Sinusoids {
    /// `each` sinusoids for every tap; tap `i` is drawn from stream `first + i`.
    pub fn new(draw: Draw, first: u64, each: usize, amplitudes: impl Iterator<Item = f64>) -> Sinusoids {
        let amplitudes: Box<[f32]> = amplitudes.map(|a| a as f32).collect();
        let (mut cosines, mut phases) = (Vec::new(), Vec::new());
        for tap in 0..amplitudes.len() {
            let mut stream = draw.stream(first + tap as u64);
            for n in 0..each {
                // One angle in each of n equal sectors.
                let angle = TAU * (n as f64 + stream.uniform()) / each as f64;
                cosines.push(math::cos(angle));
                phases.push(stream.uniform());
            }
        }
        Sinusoids { cosines: cosines.into(), phases: phases.into(), amplitudes }
    }

    /// Number of taps.
    pub fn taps(&self) -> usize {
        self.amplitudes.len()
    }

    /// All taps after `cycles`.
    #[inline(always)]
    pub fn at<F: Fused>(&self, cycles: f64, scratch: &mut Scratch, taps: &mut Taps) {
        let n = self.taps();
        taps.resize(n);
        let (re, im) = taps.values[..2 * n].split_at_mut(n);
        let turns = &mut scratch.circle[0];
        self.turn(cycles, turns);
        if self.in_sixteens() {
            let (turns, _) = turns.as_chunks::<SINUSOIDS>();
            for (((turns, amplitude), re), im) in turns.iter().zip(&self.amplitudes).zip(re).zip(im) {
                let (mut c, mut s) = ([0.0; SINUSOIDS], [0.0; SINUSOIDS]);
                for i in 0..SINUSOIDS {
                    (c[i], s[i]) = circle::<F>(turns[i]);
                }
                (*re, *im) = (amplitude * in_fours(&c), amplitude * in_fours(&s));
            }
        } else {
            let turns = turns.chunks(self.cosines.len() / n);
            for (((turns, amplitude), re), im) in turns.zip(&self.amplitudes).zip(re).zip(im) {
                *re = amplitude * turns.iter().map(|t| circle::<F>(*t).0).sum::<f32>();
                *im = amplitude * turns.iter().map(|t| circle::<F>(*t).1).sum::<f32>();
            }
        }
    }

    /// All taps after `cycles` and their first and second derivative by the way, per `step` cycles.
    #[inline(always)]
    pub fn with_derivatives<F: Fused>(&self, cycles: f64, step: f64, scratch: &mut Scratch) {
        let n = self.taps();
        let Scratch { circle: [x, y], derivatives: to, .. } = scratch;
        to.resize(3 * whole_lanes(2 * n), 0.0);
        self.turn(cycles, x);
        y.resize(x.len(), 0.0);
        for (x, y) in x.iter_mut().zip(y.iter_mut()) {
            (*x, *y) = circle::<F>(*x);
        }
        for (derivative, to) in to.chunks_exact_mut(whole_lanes(2 * n)).enumerate() {
            if derivative > 0 {
                // d/dc of cos and sin of (2 pi c cos(alpha) + phi): -2 pi cos(alpha) sin, 2 pi
                // cos(alpha) cos.
                for ((x, y), cosine) in x.iter_mut().zip(y.iter_mut()).zip(&self.cosines) {
                    let k = (TAU * step * cosine) as f32;
                    (*x, *y) = (-*y * k, *x * k);
                }
            }
            let (re, im) = to[..2 * n].split_at_mut(n);
            self.sum(x, re);
            self.sum(y, im);
        }
    }

    /// The turns of a terminal that travels `cycles` wavelengths in every step.
    pub fn steps(&self, cycles: f64) -> Steps {
        // Up to 2^32, which is 0 as an unsigned number of 32 bits.
        let units = |turns: f64| ((turns - turns.floor()) * UNITS).round() as u64 as u32;
        let turns = |i: usize| (units(cycles * self.cosines[i]), units(self.phases[i]));
        let (taps, all) = (self.taps(), self.cosines.len());
        let by_number = (0..SINUSOIDS).flat_map(|n| (0..taps).map(move |tap| tap * SINUSOIDS + n));
        let (each, first) = match self.is_standard() {
            true => by_number.map(turns).unzip::<_, _, Vec<_>, Vec<_>>(),
            false => (0..all).map(turns).unzip(),
        };
        Steps { each: each.into(), first: first.into() }
    }

    /// All taps after `n` of these `steps`.
    #[inline(always)]
    pub fn after<F: Fused>(&self, steps: &Steps, n: u64, scratch: &mut Scratch, taps: &mut Taps) {
        let count = self.taps();
        taps.resize(count);
        // The loops over the taps of the standard profiles have a fixed length.
        match (self.is_standard(), count) {
            (true, 9) => self.after_in_sixteens::<9, 151, F>(steps, n, taps),
            (true, 7) => self.after_in_sixteens::<7, 121, F>(steps, n, taps),
            (true, 1) => self.after_in_sixteens::<1, 31, F>(steps, n, taps),
            _ => {
                let [x, y] = &mut scratch.circle;
                x.resize(steps.each.len(), 0.0);
                y.resize(steps.each.len(), 0.0);
                let turns = steps.each.iter().zip(&steps.first);
                for ((x, y), turns) in x.iter_mut().zip(y.iter_mut()).zip(turns) {
                    (*x, *y) = circle::<F>(turns_after(turns, n));
                }
                let (re, im) = taps.values[..2 * count].split_at_mut(count);
                self.sum(x, re);
                self.sum(y, im);
            }
        }
    }

    /// `ROOM`: for all sinusoids, and for whole lanes from the last row of taps on.
    #[inline(always)]
    fn after_in_sixteens<const TAPS: usize, const ROOM: usize, F: Fused>(
        &self,
        steps: &Steps,
        n: u64,
        taps: &mut Taps,
    ) {
        const { assert!(ROOM >= (SINUSOIDS - 1) * TAPS + 2 * LANES && TAPS <= 2 * LANES) };
        let [mut x, mut y] = [[0.0_f32; ROOM]; 2];
        let turns = steps.each.iter().zip(&steps.first);
        for ((x, y), turns) in x.iter_mut().zip(&mut y).zip(turns) {
            (*x, *y) = circle::<F>(turns_after(turns, n));
        }
        let amplitudes = &self.amplitudes[..TAPS];
        let (re, im) = taps.values[..2 * TAPS].split_at_mut(TAPS);
        for (of, to) in [(&x, re), (&y, im)] {
            // What is behind the last tap of a row belongs to the next one, and is not read.
            let mut sums = [0.0; 2 * LANES];
            for row in 0..SINUSOIDS {
                for (k, sum) in sums.iter_mut().enumerate() {
                    *sum += of[row * TAPS + k];
                }
            }
            to.iter_mut().zip(amplitudes).zip(&sums).for_each(|((to, a), sum)| *to = a * sum);
        }
    }

    /// Every cycles * cosine + phase [turns], without whole turns: -1/2 to 1/2.
    #[inline(always)]
    fn turn(&self, cycles: f64, turns: &mut Vec<f32>) {
        // The sum with this number has no digits behind the point: what is left after taking it
        // away again is the nearest whole number, for all below 2^51. Needs no call for `round`, so
        // that lanes go side by side.
        const WHOLE: f64 = 1.5 * (1u64 << 52) as f64;
        turns.resize(self.cosines.len(), 0.0);
        for (t, (cosine, phase)) in turns.iter_mut().zip(self.cosines.iter().zip(&self.phases)) {
            let turns = cycles * cosine + phase;
            *t = (turns - ((turns + WHOLE) - WHOLE)) as f32;
        }
    }

    /// They are those of a standard profile.
    #[inline(always)]
    fn is_standard(&self) -> bool {
        self.in_sixteens() && matches!(self.taps(), 1 | 7 | 9)
    }

    #[inline(always)]
    fn in_sixteens(&self) -> bool {
        self.cosines.len() == SINUSOIDS * self.taps()
    }

    /// The sum of each tap's sinusoids with the tap's amplitude.
    #[inline(always)]
    fn sum(&self, of: &[f32], to: &mut [f32]) {
        if self.in_sixteens() {
            let (taps, _) = of.as_chunks::<SINUSOIDS>();
            for ((tap, amplitude), to) in taps.iter().zip(&self.amplitudes).zip(to) {
                *to = amplitude * in_fours(tap);
            }
        } else {
            let taps = of.chunks(self.cosines.len() / self.taps());
            for ((tap, amplitude), to) in taps.zip(&self.amplitudes).zip(to) {
                *to = amplitude * tap.iter().sum::<f32>();
            }
        }
    }
}

/// Cosine and sine of `t` turns, -1/2 to 1/2, without a branch or a table: those of half of it by
/// polynomials (5e-8), doubled. Within 1e-6.
#[inline(always)]
fn circle<F: Fused>(t: f32) -> (f32, f32) {
    let q = t * t;
    let of = |[c0, c1, c2, c3, c4]: [f32; 5]| F::fma(F::fma(F::fma(F::fma(c4, q, c3), q, c2), q, c1), q, c0);
    let (s, c) = (t * of(SIN), of(COS));
    let twice = s + s;
    (F::fma(-twice, s, 1.0), twice * c)
}

/// The sum of a tap's sinusoids: four of them side by side.
#[inline(always)]
fn in_fours(of: &[f32; SINUSOIDS]) -> f32 {
    let mut sum = [of[0], of[1], of[2], of[3]];
    for four in 1..SINUSOIDS / 4 {
        for i in 0..4 {
            sum[i] += of[4 * four + i];
        }
    }
    (sum[0] + sum[2]) + (sum[1] + sum[3])
}

/// sin(pi t) / t and cos(pi t) as polynomials in t^2 for |t| <= 1/2: least squares, weighted until
/// the error is even.
const SIN: [f32; 5] = [std::f32::consts::PI, -5.167_710_3, 2.550_077_7, -0.598_292_2, 0.077_659_41];
const COS: [f32; 5] = [0.999_999_95, -4.934_793, 4.058_412, -1.331_880_2, 0.219_696_8];

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_engine::simd::Emulated;

    #[test]
    fn the_circle_is_round() {
        let one = Sinusoids { cosines: [1.0].into(), phases: [0.25].into(), amplitudes: [1.0].into() };
        let mut taps = Taps::default();
        for i in -5000..5000 {
            let turns = f64::from(i) * 0.123_456_7;
            one.at::<Emulated>(turns - 0.25, &mut Scratch::default(), &mut taps);
            let (c, s) = taps.pairs().next().unwrap();
            assert!((f64::from(c) - math::cos(TAU * turns)).abs() < 1e-6, "{turns}: {c}");
            assert!((f64::from(s) - math::sin(TAU * turns)).abs() < 1e-6, "{turns}: {s}");
        }
    }

    /// The same taps as of the way, for every number of sinusoids and of taps: within the rounding
    /// of a step, 2^-33 turns, times the steps, and of single precision. 16 sinusoids of amplitude
    /// 1: 16 TAU 1e6 / 2^33 = 1.2e-2 after a million steps at most, a 16th of it in the mean of
    /// independent roundings.
    #[test]
    fn steps_are_the_way_that_they_make() {
        let draw = Draw::new(1, lasthop_engine::Purpose::Fading, 2);
        for (each, count) in [(16, 9), (16, 7), (16, 1), (16, 4), (1, 6), (19, 2)] {
            let sinusoids = Sinusoids::new(draw, 0, each, (0..count).map(|_| 1.0));
            for cycles in [0.111_2, 0.013, 1.7, 0.0] {
                let steps = sinusoids.steps(cycles);
                let (mut scratch, mut by_step, mut by_way) = <(Scratch, Taps, Taps)>::default();
                for (n, bound) in [(0, 2e-5), (1, 2e-5), (777, 4e-5), (1_000_003, 6e-3)] {
                    sinusoids.after::<Emulated>(&steps, n, &mut scratch, &mut by_step);
                    sinusoids.at::<Emulated>(cycles * n as f64, &mut scratch, &mut by_way);
                    for (a, b) in by_step.pairs().zip(by_way.pairs()) {
                        let missed = (a.0 - b.0).abs().max((a.1 - b.1).abs());
                        assert!(missed < bound, "{each} of {count}, {cycles}, {n}: {missed}");
                    }
                }
            }
        }
    }

    /// Each of 1, 6, 16 and 19 sinusoids counts once.
    #[test]
    fn a_tap_is_the_sum_of_its_sinusoids() {
        let draw = Draw::new(1, lasthop_engine::Purpose::Fading, 2);
        for each in [1, 6, 16, 19] {
            let sinusoids = Sinusoids::new(draw, 0, each, [0.5, 2.0].into_iter());
            let mut taps = Taps::default();
            sinusoids.at::<Emulated>(12_345.678, &mut Scratch::default(), &mut taps);
            for (tap, (re, im)) in taps.pairs().enumerate() {
                let range = tap * each..(tap + 1) * each;
                let all = sinusoids.cosines[range.clone()].iter().zip(&sinusoids.phases[range]);
                let (mut x, mut y) = (0.0, 0.0);
                for turns in all.map(|(c, p)| TAU * (12_345.678 * c + p)) {
                    (x, y) = (x + math::cos(turns), y + math::sin(turns));
                }
                let a = f64::from(sinusoids.amplitudes[tap]);
                assert!((f64::from(re) - a * x).abs() < 2e-5 && (f64::from(im) - a * y).abs() < 2e-5);
            }
        }
    }
}
