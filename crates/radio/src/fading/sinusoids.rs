//! Sums of sinusoids: the taps of a link after a distance travelled.

use std::f64::consts::TAU;

use lasthop_engine::{Draw, math};

use super::SINUSOIDS;
use crate::turns::{circle, fraction};

/// Complex gains of the taps of a link at one moment.
#[derive(Clone, Debug, Default)]
pub struct Taps {
    /// Real parts, then imaginary parts, each padded to whole lanes.
    pub(super) values: Vec<f32>,
    /// Number of taps.
    pub(super) count: usize,
}

/// Intermediate values of the gains of a link: memory that all links share.
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

/// Number of values that are computed in parallel.
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

    /// Makes room for `count` taps.
    #[inline(always)]
    pub(super) fn resize(&mut self, count: usize) {
        if self.count != count {
            self.count = count;
            self.values.resize(whole_lanes(2 * count), 0.0);
        }
    }
}

/// `n`, rounded up to whole lanes.
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

/// Places for all sinusoids of `taps` taps, and for whole lanes from the last row of taps on.
const fn room(taps: usize) -> usize {
    whole_lanes((SINUSOIDS - 1) * taps + 2 * LANES)
}

/// The turns of the sinusoids of a link in each of equal steps of distance, and their phases, for a
/// caller that evaluates after whole numbers of steps. In units of 2^-32 turns, whole turns vanish
/// by overflow: one multiplication and one addition of integers, exact for any number of steps.
///
/// The only error is that of a step's turn, which is rounded to the nearest unit: by 2^-33 turns =
/// 1.2e-10 turns at most. It is a constant shift of the Doppler frequency of a sinusoid, by at most
/// 1.2e-7 Hz with steps of 1 ms, and after n steps a phase that differs by at most n 2^-33 turns.
///
/// In a standard profile the first sinusoids of all taps come first, then the second ones, and so
/// on: sums over the sinusoids of a tap are sums of rows.
#[derive(Clone, Debug)]
pub struct Steps {
    each: Box<[u32]>,
    phases: Box<[u32]>,
}

/// Units of a turn: 2^32.
const UNITS: f64 = (1u64 << 32) as f64;

/// The phase of a sinusoid after `n` steps [turns], -1/2 to 1/2.
#[inline(always)]
fn turns_after(each: u32, phase: u32, n: u64) -> f32 {
    // Only the lowest 32 bits of the number of steps count: the others are whole turns.
    each.wrapping_mul(n as u32).wrapping_add(phase).cast_signed() as f32 * (1.0 / UNITS) as f32
}

impl Sinusoids {
    /// Draws `each` sinusoids for every tap; tap `i` is drawn from stream `first + i`.
    pub fn new(draw: Draw, first: u64, each: usize, amplitudes: impl Iterator<Item = f64>) -> Sinusoids {
        let amplitudes: Box<[f32]> = amplitudes.map(|a| a as f32).collect();
        let count = each * amplitudes.len();
        let (mut cosines, mut phases) = (Vec::with_capacity(count), Vec::with_capacity(count));
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

    /// Computes all taps after `cycles`.
    #[inline(always)]
    pub fn at(&self, cycles: f64, scratch: &mut Scratch, taps: &mut Taps) {
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
                    (c[i], s[i]) = circle(turns[i]);
                }
                (*re, *im) = (amplitude * in_fours(&c), amplitude * in_fours(&s));
            }
        } else {
            let turns = turns.chunks(self.cosines.len() / n);
            for (((turns, amplitude), re), im) in turns.zip(&self.amplitudes).zip(re).zip(im) {
                *re = amplitude * turns.iter().map(|t| circle(*t).0).sum::<f32>();
                *im = amplitude * turns.iter().map(|t| circle(*t).1).sum::<f32>();
            }
        }
    }

    /// Computes all taps after `cycles` and their first and second derivative by distance, per
    /// `step` cycles.
    #[inline(always)]
    pub fn with_derivatives(&self, cycles: f64, step: f64, scratch: &mut Scratch) {
        let n = self.taps();
        let Scratch { circle: [x, y], derivatives: to, .. } = scratch;
        to.resize(3 * whole_lanes(2 * n), 0.0);
        self.turn(cycles, x);
        y.resize(x.len(), 0.0);
        for (x, y) in x.iter_mut().zip(y.iter_mut()) {
            (*x, *y) = circle(*x);
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

    /// The steps of a terminal that travels `cycles` wavelengths in each.
    pub fn steps(&self, cycles: f64) -> Steps {
        // 2^32 units are a whole turn, which is 0 as a number of 32 bits.
        let units = |turns: f64| ((turns - turns.floor()) * UNITS).round() as u64 as u32;
        let taps = self.taps();
        let order: Vec<usize> = if self.is_standard() {
            (0..SINUSOIDS).flat_map(|n| (0..taps).map(move |tap| tap * SINUSOIDS + n)).collect()
        } else {
            (0..self.cosines.len()).collect()
        };
        Steps {
            each: order.iter().map(|i| units(cycles * self.cosines[*i])).collect(),
            phases: order.iter().map(|i| units(self.phases[*i])).collect(),
        }
    }

    /// Computes all taps after `n` of `steps`, which are of these sinusoids.
    #[inline(always)]
    pub fn after(&self, steps: &Steps, n: u64, scratch: &mut Scratch, taps: &mut Taps) {
        let count = self.taps();
        taps.resize(count);
        // The loops over the taps of the standard profiles have a fixed length.
        let circle_of = &mut scratch.circle;
        match (self.is_standard(), count) {
            (true, 9) => self.after_by_rows::<9, { room(9) }>(steps, n, circle_of, taps),
            (true, 7) => self.after_by_rows::<7, { room(7) }>(steps, n, circle_of, taps),
            (true, 1) => self.after_by_rows::<1, { room(1) }>(steps, n, circle_of, taps),
            _ => {
                let [x, y] = circle_of;
                x.resize(steps.each.len(), 0.0);
                y.resize(steps.each.len(), 0.0);
                let turns = steps.each.iter().zip(&steps.phases);
                for ((x, y), (each, phase)) in x.iter_mut().zip(y.iter_mut()).zip(turns) {
                    (*x, *y) = circle(turns_after(*each, *phase, n));
                }
                let (re, im) = taps.values[..2 * count].split_at_mut(count);
                self.sum(x, re);
                self.sum(y, im);
            }
        }
    }

    /// The same for a standard profile of `TAPS` taps; `ROOM` is [`room`] of them.
    #[inline(always)]
    fn after_by_rows<const TAPS: usize, const ROOM: usize>(
        &self,
        steps: &Steps,
        n: u64,
        circle_of: &mut [Vec<f32>; 2],
        taps: &mut Taps,
    ) {
        const { assert!(ROOM == room(TAPS) && TAPS <= 2 * LANES) };
        // Values of earlier calls beyond the last sinusoid are not used.
        let [Some(x), Some(y)] = circle_of.each_mut().map(|row| {
            if row.len() < ROOM {
                row.resize(ROOM, 0.0);
            }
            row.first_chunk_mut::<ROOM>()
        }) else {
            return;
        };
        let turns = steps.each[..SINUSOIDS * TAPS].iter().zip(&steps.phases[..SINUSOIDS * TAPS]);
        for ((x, y), (each, phase)) in x.iter_mut().zip(y.iter_mut()).zip(turns) {
            (*x, *y) = circle(turns_after(*each, *phase, n));
        }
        let amplitudes = &self.amplitudes[..TAPS];
        let (re, im) = taps.values[..2 * TAPS].split_at_mut(TAPS);
        for (of, to) in [(&*x, re), (&*y, im)] {
            // Values after the last tap of a row belong to the next row; their sums are not used.
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
        turns.resize(self.cosines.len(), 0.0);
        for (t, (cosine, phase)) in turns.iter_mut().zip(self.cosines.iter().zip(&self.phases)) {
            *t = fraction(cycles * cosine + phase);
        }
    }

    /// True for the sinusoids of a standard profile.
    #[inline(always)]
    fn is_standard(&self) -> bool {
        self.in_sixteens() && matches!(self.taps(), 1 | 7 | 9)
    }

    #[inline(always)]
    fn in_sixteens(&self) -> bool {
        self.cosines.len() == SINUSOIDS * self.taps()
    }

    /// Sums each tap's sinusoids and multiplies by the tap's amplitude.
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

/// The sum of a tap's sinusoids: four of them in parallel.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_circle_is_round() {
        let one = Sinusoids { cosines: [1.0].into(), phases: [0.25].into(), amplitudes: [1.0].into() };
        let mut taps = Taps::default();
        for i in -5000..5000 {
            let turns = f64::from(i) * 0.123_456_7;
            one.at(turns - 0.25, &mut Scratch::default(), &mut taps);
            let (c, s) = taps.pairs().next().unwrap();
            assert!((f64::from(c) - math::cos(TAU * turns)).abs() < 1e-6, "{turns}: {c}");
            assert!((f64::from(s) - math::sin(TAU * turns)).abs() < 1e-6, "{turns}: {s}");
        }
    }

    /// The taps after n steps are those after their distance, for every number of sinusoids and of
    /// taps. The phase of a sinusoid differs by at most n 2^-33 turns (the rounding of a step), and
    /// by 2^-25 turns in each way for the rounding to single precision: a tap of `each` sinusoids
    /// of amplitude 1 by at most `each` TAU (n 2^-33 + 2^-24). Sums of up to 19 numbers within 1,
    /// each within 1e-6 (`circle`), add 19 (1e-6 + 19 2^-24) in each way.
    #[test]
    fn steps_are_the_distance_that_they_make() {
        let draw = Draw::new(1, lasthop_engine::Purpose::Fading, 2);
        for (each, count) in [(16, 9), (16, 7), (16, 1), (16, 4), (1, 6), (19, 2)] {
            let sinusoids = Sinusoids::new(draw, 0, each, (0..count).map(|_| 1.0));
            for cycles in [0.111_2, 0.013, 1.7, 0.0] {
                let steps = sinusoids.steps(cycles);
                let (mut scratch, mut by_step, mut by_distance) = <(Scratch, Taps, Taps)>::default();
                for n in [0_u64, 1, 777, 1_000_003, 86_400_000] {
                    sinusoids.after(&steps, n, &mut scratch, &mut by_step);
                    sinusoids.at(cycles * n as f64, &mut scratch, &mut by_distance);
                    let sum = 2.0 * each as f32 * (1e-6 + each as f32 * f32::EPSILON / 2.0);
                    let phase = n as f64 / (2.0 * UNITS) + f64::from(f32::EPSILON) / 2.0;
                    let bound = (each as f64 * TAU * phase) as f32 + sum;
                    for (a, b) in by_step.pairs().zip(by_distance.pairs()) {
                        let error = (a.0 - b.0).abs().max((a.1 - b.1).abs());
                        assert!(error < bound, "{each} of {count}, {cycles}, {n}: {error}, {bound}");
                    }
                }
            }
        }
    }

    /// Steps beyond 2^32 count: 50 days of TTIs of 1 ms. An eighth of a turn a step is exact, and
    /// 2^32 + 3 of them are three eighths beside whole turns.
    #[test]
    fn steps_count_beyond_32_bits() {
        let one = Sinusoids { cosines: [1.0].into(), phases: [0.0].into(), amplitudes: [1.0].into() };
        let mut taps = Taps::default();
        one.after(&one.steps(0.125), (1 << 32) + 3, &mut Scratch::default(), &mut taps);
        let (c, s) = taps.pairs().next().unwrap();
        let half = std::f32::consts::FRAC_1_SQRT_2;
        assert!((c + half).abs() < 1e-6 && (s - half).abs() < 1e-6, "{c} {s}");
    }

    /// Each of 1, 6, 16 and 19 sinusoids counts once.
    #[test]
    fn a_tap_is_the_sum_of_its_sinusoids() {
        let draw = Draw::new(1, lasthop_engine::Purpose::Fading, 2);
        for each in [1, 6, 16, 19] {
            let sinusoids = Sinusoids::new(draw, 0, each, [0.5, 2.0].into_iter());
            let mut taps = Taps::default();
            sinusoids.at(12_345.678, &mut Scratch::default(), &mut taps);
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
