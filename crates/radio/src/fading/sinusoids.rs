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
    /// Cosines and sines of sinusoids, and their derivatives: one plane after the other.
    planes: Vec<f32>,
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

/// The sinusoids of the taps of a link: cosine of the angle of arrival and phase [turns].
///
/// In a standard profile, with [`SINUSOIDS`] a tap, the first sinusoids of all taps come first,
/// then the second ones, and so on: sums over the sinusoids of a tap are sums of rows. Otherwise
/// they are in the order of the taps.
#[derive(Clone, Debug)]
pub(super) struct Sinusoids {
    cosines: Box<[f64]>,
    phases: Box<[f64]>,
    /// By tap.
    amplitudes: Box<[f32]>,
}

/// Places for all sinusoids of `taps` taps of a standard profile, and for whole lanes from the last
/// row of taps on.
const fn room(taps: usize) -> usize {
    whole_lanes((SINUSOIDS - 1) * taps + 2 * LANES)
}

/// Cosines and sines of the sinusoids, the first derivatives without their sign, and the second
/// ones.
const PLANES: usize = 6;

/// The turns of the sinusoids of a link in each of equal steps of distance, and their phases, for a
/// caller that evaluates after whole numbers of steps. In units of 2^-32 turns, whole turns vanish
/// by overflow: one multiplication and one addition of integers, exact for any number of steps.
///
/// The only error is that of a step's turn, which is rounded to the nearest unit: by 2^-33 turns =
/// 1.2e-10 turns at most. It is a constant shift of the Doppler frequency of a sinusoid, by at most
/// 1.2e-7 Hz with steps of 1 ms, and after n steps a phase that differs by at most n 2^-33 turns.
///
/// They are in the order of the sinusoids.
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
        let taps = amplitudes.len();
        let (mut cosines, mut phases) = (vec![0.0; each * taps], vec![0.0; each * taps]);
        for tap in 0..taps {
            let mut stream = draw.stream(first + tap as u64);
            let (start, apart) = if each == SINUSOIDS { (tap, taps) } else { (tap * each, 1) };
            let places = cosines[start..].iter_mut().zip(&mut phases[start..]).step_by(apart).take(each);
            for (n, (cosine, phase)) in places.enumerate() {
                // One angle in each of n equal sectors.
                let angle = TAU * (n as f64 + stream.uniform()) / each as f64;
                *cosine = math::cos(angle);
                *phase = stream.uniform();
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
        let room = self.room();
        let planes = &mut scratch.planes;
        if planes.len() < 2 * room {
            planes.resize(2 * room, 0.0);
        }
        let (x, y) = planes[..2 * room].split_at_mut(room);
        let of = self.cosines.iter().zip(&self.phases);
        for ((x, y), (cosine, phase)) in x.iter_mut().zip(y.iter_mut()).zip(of) {
            (*x, *y) = circle(fraction(cycles * cosine + phase));
        }
        let (re, im) = taps.values[..2 * n].split_at_mut(n);
        self.sum(x, re);
        self.sum(y, im);
    }

    /// Computes all taps after `cycles` and their first and second derivative by distance, per
    /// `step` cycles.
    #[inline(always)]
    pub fn with_derivatives(&self, cycles: f64, step: f64, scratch: &mut Scratch) {
        let n = self.taps();
        let length = whole_lanes(2 * n);
        let Scratch { planes, derivatives: to, .. } = scratch;
        to.resize(3 * length, 0.0);
        match (self.is_standard(), n) {
            (true, 9) => self.derive_by_rows::<9, { room(9) }>(cycles, step, planes, to),
            (true, 7) => self.derive_by_rows::<7, { room(7) }>(cycles, step, planes, to),
            (true, 1) => self.derive_by_rows::<1, { room(1) }>(cycles, step, planes, to),
            _ => {
                let room = self.room();
                planes.resize((2 * room).max(planes.len()), 0.0);
                let (x, y) = planes[..2 * room].split_at_mut(room);
                let of = self.cosines.iter().zip(&self.phases);
                for ((x, y), (cosine, phase)) in x.iter_mut().zip(y.iter_mut()).zip(of) {
                    (*x, *y) = circle(fraction(cycles * cosine + phase));
                }
                for (derivative, to) in to.chunks_exact_mut(length).enumerate() {
                    if derivative > 0 {
                        // d/dc of cos and sin of (2 pi c cos(alpha) + phi): -2 pi cos(alpha) sin, 2
                        // pi cos(alpha) cos.
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
        }
    }

    /// The same for a standard profile of `TAPS` taps; `ROOM` is [`room`] of them.
    #[inline(always)]
    fn derive_by_rows<const TAPS: usize, const ROOM: usize>(
        &self,
        cycles: f64,
        step: f64,
        planes: &mut Vec<f32>,
        to: &mut [f32],
    ) {
        let Some(planes) = planes_of::<ROOM, PLANES>(planes) else { return };
        let [c, s, sk, ck, ckk, skk] = planes;
        let count = SINUSOIDS * TAPS;
        let (cosines, phases) = (&self.cosines[..count], &self.phases[..count]);
        // Loops with few arrays each, for which the compiler uses vectors.
        for i in 0..count {
            c[i] = fraction(cycles * cosines[i] + phases[i]);
        }
        for i in 0..count {
            (c[i], s[i]) = circle(c[i]);
        }
        for i in 0..count {
            let k = (TAU * step * cosines[i]) as f32;
            (sk[i], ck[i]) = (s[i] * k, c[i] * k);
            (ckk[i], skk[i]) = (ck[i] * k, sk[i] * k);
        }
        // d/dc of cos and sin of (2 pi c cos(alpha) + phi): -2 pi cos(alpha) sin, 2 pi cos(alpha)
        // cos. Signs are those of sums.
        let signs = [1.0, 1.0, -1.0, 1.0, -1.0, -1.0];
        let length = whole_lanes(2 * TAPS);
        for (i, (plane, sign)) in planes.iter().zip(signs).enumerate() {
            let to = &mut to[i / 2 * length + i % 2 * TAPS..][..TAPS];
            to.copy_from_slice(&in_fours::<TAPS, ROOM>(plane, &self.amplitudes, sign)[..TAPS]);
        }
    }

    /// The steps of a terminal that travels `cycles` wavelengths in each.
    pub fn steps(&self, cycles: f64) -> Steps {
        // 2^32 units are a whole turn, which is 0 as a number of 32 bits.
        let units = |turns: f64| ((turns - turns.floor()) * UNITS).round() as u64 as u32;
        Steps {
            each: self.cosines.iter().map(|cosine| units(cycles * cosine)).collect(),
            phases: self.phases.iter().map(|phase| units(*phase)).collect(),
        }
    }

    /// Computes all taps after `n` of `steps`, which are of these sinusoids.
    #[inline(always)]
    pub fn after(&self, steps: &Steps, n: u64, scratch: &mut Scratch, taps: &mut Taps) {
        let count = self.taps();
        taps.resize(count);
        // The loops over the taps of the standard profiles have a fixed length.
        let planes = &mut scratch.planes;
        match (self.is_standard(), count) {
            (true, 9) => self.after_by_rows::<9, { room(9) }>(steps, n, planes, taps),
            (true, 7) => self.after_by_rows::<7, { room(7) }>(steps, n, planes, taps),
            (true, 1) => self.after_by_rows::<1, { room(1) }>(steps, n, planes, taps),
            _ => {
                let room = self.room();
                planes.resize((2 * room).max(planes.len()), 0.0);
                let (x, y) = planes[..2 * room].split_at_mut(room);
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
        planes: &mut Vec<f32>,
        taps: &mut Taps,
    ) {
        const { assert!(ROOM == room(TAPS) && TAPS <= 2 * LANES) };
        let Some([x, y]) = planes_of::<ROOM, 2>(planes) else { return };
        let turns = steps.each[..SINUSOIDS * TAPS].iter().zip(&steps.phases[..SINUSOIDS * TAPS]);
        for ((x, y), (each, phase)) in x.iter_mut().zip(y.iter_mut()).zip(turns) {
            (*x, *y) = circle(turns_after(*each, *phase, n));
        }
        for (of, to) in [&*x, &*y].into_iter().zip(taps.values[..2 * TAPS].chunks_exact_mut(TAPS)) {
            // Values after the last tap of a row belong to the next row; their sums are not used.
            let mut sums = [0.0; 2 * LANES];
            for row in 0..SINUSOIDS {
                for (k, sum) in sums.iter_mut().enumerate() {
                    *sum += of[row * TAPS + k];
                }
            }
            to.copy_from_slice(&scaled::<TAPS>(&sums, &self.amplitudes, 1.0)[..TAPS]);
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

    /// Places for all sinusoids.
    #[inline(always)]
    fn room(&self) -> usize {
        if self.is_standard() { room(self.taps()) } else { self.cosines.len() }
    }

    /// Sums each tap's sinusoids, of which there are [`room`](Self::room) places, and multiplies by
    /// the tap's amplitude.
    #[inline(always)]
    fn sum(&self, of: &[f32], to: &mut [f32]) {
        let (taps, amplitudes) = (self.taps(), &self.amplitudes);
        match (self.in_sixteens(), taps) {
            (true, 9) => put::<9, { room(9) }>(of, amplitudes, to),
            (true, 7) => put::<7, { room(7) }>(of, amplitudes, to),
            (true, 1) => put::<1, { room(1) }>(of, amplitudes, to),
            (true, _) => {
                for (tap, (to, amplitude)) in to.iter_mut().zip(amplitudes).enumerate() {
                    let mut sum = [0.0; 4];
                    (0..SINUSOIDS).for_each(|n| sum[n % 4] += of[n * taps + tap]);
                    *to = amplitude * ((sum[0] + sum[2]) + (sum[1] + sum[3]));
                }
            }
            (false, _) => {
                for ((tap, amplitude), to) in of.chunks(of.len() / taps).zip(amplitudes).zip(to) {
                    *to = amplitude * tap.iter().sum::<f32>();
                }
            }
        }
    }
}

/// The first `COUNT` planes of `ROOM` places each. Values of earlier calls beyond the last sinusoid
/// of a plane are not used.
#[inline(always)]
fn planes_of<const ROOM: usize, const COUNT: usize>(
    planes: &mut Vec<f32>,
) -> Option<&mut [[f32; ROOM]; COUNT]> {
    if planes.len() < ROOM * COUNT {
        planes.resize(ROOM * COUNT, 0.0);
    }
    planes.as_chunks_mut().0.first_chunk_mut()
}

#[inline(always)]
fn put<const TAPS: usize, const ROOM: usize>(of: &[f32], amplitudes: &[f32], to: &mut [f32]) {
    let Some(of) = of.first_chunk::<ROOM>() else { return };
    to.copy_from_slice(&in_fours::<TAPS, ROOM>(of, amplitudes, 1.0)[..TAPS]);
}

/// The sums of the sinusoids of each tap of a standard profile, every fourth of them together,
/// times the tap's amplitude and `sign`.
#[inline(always)]
fn in_fours<const TAPS: usize, const ROOM: usize>(
    of: &[f32; ROOM],
    amplitudes: &[f32],
    sign: f32,
) -> [f32; 2 * LANES] {
    const { assert!(ROOM == room(TAPS) && TAPS <= 2 * LANES) };
    // Values after the last tap of a row belong to the next row; their sums are not used.
    let mut all = [0.0; 2 * LANES];
    for (k, all) in all.iter_mut().enumerate() {
        let row = |n: usize| of[n * TAPS + k];
        let every_fourth = |n: usize| row(n) + row(4 + n) + row(8 + n) + row(12 + n);
        *all = (every_fourth(0) + every_fourth(2)) + (every_fourth(1) + every_fourth(3));
    }
    scaled::<TAPS>(&all, amplitudes, sign)
}

/// Sums of taps times their amplitudes and `sign`. In an array of its own, which overlaps with no
/// other: the compiler uses vectors for it.
#[inline(always)]
fn scaled<const TAPS: usize>(sums: &[f32; 2 * LANES], amplitudes: &[f32], sign: f32) -> [f32; 2 * LANES] {
    let mut out = [0.0; 2 * LANES];
    out[..TAPS].copy_from_slice(&amplitudes[..TAPS]);
    for (out, sum) in out.iter_mut().zip(sums) {
        *out *= sign * sum;
    }
    out
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
                let place = |n| if each == SINUSOIDS { 2 * n + tap } else { tap * each + n };
                let all = (0..each).map(place).map(|i| (sinusoids.cosines[i], sinusoids.phases[i]));
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
