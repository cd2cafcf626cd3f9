//! Sums of sinusoids after whole numbers of equal steps of distance.

use std::f64::consts::TAU;

use super::SINUSOIDS;
use super::sinusoids::{
    LANES, Scratch, Sinusoids, Taps, in_fours, is_standard, planes_of, room, scaled, whole_lanes,
};
use crate::turns::{circle, units};

/// The sinusoids of a link for a terminal that travels in equal steps: their turns in a step and
/// their phases in units of 2^-32 turns. Whole turns vanish by overflow: one multiplication and one
/// addition of integers, exact for any number of steps.
///
/// A step's turn and the first phase are rounded to the nearest unit, by 2^-33 turns = 1.2e-10
/// turns at most. The rounding of a step's turn shifts the Doppler frequency of a sinusoid by a
/// constant, at most 1.2e-7 Hz with steps of 1 ms. After n steps a phase differs by at most (n + 1)
/// 2^-33 turns.
///
/// Turns and phases are in the order of the sinusoids.
#[derive(Clone, Debug)]
pub struct Steps {
    each: Box<[u32]>,
    phases: Box<[u32]>,
    /// By tap.
    amplitudes: Box<[f32]>,
}

/// Units of a turn: 2^32.
const UNITS: f64 = (1u64 << 32) as f64;

/// The phase of a sinusoid after `n` steps [turns], -1/2 to 1/2.
#[inline(always)]
fn turns_after(each: u32, phase: u32, n: u64) -> f32 {
    // Only the lowest 32 bits of the number of steps count: the others are whole turns.
    each.wrapping_mul(n as u32).wrapping_add(phase).cast_signed() as f32 * (1.0 / UNITS) as f32
}

/// The derivative of the phase of a sinusoid that turns by `each` in a step, half a turn at most
/// [radians per step].
#[inline(always)]
fn rate(each: u32) -> f32 {
    each.cast_signed() as f32 * (TAU / UNITS) as f32
}

/// Cosines and sines of the sinusoids, the first derivatives without their sign, and the second
/// ones.
const PLANES: usize = 6;

impl Steps {
    /// The steps of a terminal that travels `cycles` wavelengths in each.
    pub(super) fn new(of: &Sinusoids, cycles: f64) -> Steps {
        Steps {
            each: of.cosines.iter().map(|cosine| units(cycles * cosine)).collect(),
            phases: of.phases.iter().map(|phase| units(*phase)).collect(),
            amplitudes: of.amplitudes.clone(),
        }
    }

    /// Number of taps.
    pub(super) fn taps(&self) -> usize {
        self.amplitudes.len()
    }

    /// Computes all taps after `n` steps: those of their distance, with less work.
    #[inline(always)]
    pub fn taps_after(&self, n: u64, scratch: &mut Scratch, taps: &mut Taps) {
        let count = self.taps();
        taps.resize(count);
        let to = &mut taps.values[..2 * count];
        // The loops over the taps of the standard profiles have a fixed length.
        match (is_standard(self.each.len(), count), count) {
            (true, 9) => self.by_rows::<9, { room(9) }>(n, scratch, to),
            (true, 7) => self.by_rows::<7, { room(7) }>(n, scratch, to),
            (true, 1) => self.by_rows::<1, { room(1) }>(n, scratch, to),
            _ => self.one_by_one(to, |each, phase| circle(turns_after(each, phase, n))),
        }
    }

    /// Computes all taps after `n` steps and their first and second derivative by distance, per
    /// step, which is half a wavelength at most.
    #[inline(always)]
    pub(super) fn with_derivatives(&self, n: u64, scratch: &mut Scratch) {
        let count = self.taps();
        let room_of_all = 3 * whole_lanes(2 * count);
        if scratch.derivatives.len() != room_of_all {
            scratch.derivatives.resize(room_of_all, 0.0);
        }
        match (is_standard(self.each.len(), count), count) {
            (true, 9) => self.derivatives_by_rows::<9, { room(9) }>(n, scratch),
            (true, 7) => self.derivatives_by_rows::<7, { room(7) }>(n, scratch),
            (true, 1) => self.derivatives_by_rows::<1, { room(1) }>(n, scratch),
            _ => {
                let rows = scratch.derivatives.chunks_exact_mut(whole_lanes(2 * count));
                for (times, to) in rows.enumerate() {
                    self.one_by_one(&mut to[..2 * count], |each, phase| {
                        let value = circle(turns_after(each, phase, n));
                        (0..times).fold(value, |(x, y), _| (-y * rate(each), x * rate(each)))
                    });
                }
            }
        }
    }

    /// Sums `of` over the sinusoids of each tap, given their turns in a step and their phases.
    #[inline(always)]
    fn one_by_one(&self, to: &mut [f32], of: impl Fn(u32, u32) -> (f32, f32)) {
        let taps = self.taps();
        let (re, im) = to.split_at_mut(taps);
        let count = self.each.len() / taps;
        let to = re.iter_mut().zip(im).zip(&self.amplitudes);
        for (tap, ((re, im), amplitude)) in to.enumerate() {
            let (mut x, mut y) = (0.0, 0.0);
            for n in 0..count {
                let i = if count == SINUSOIDS { n * taps + tap } else { tap * count + n };
                let (c, s) = of(self.each[i], self.phases[i]);
                (x, y) = (x + c, y + s);
            }
            (*re, *im) = (amplitude * x, amplitude * y);
        }
    }

    /// [`taps_after`](Self::taps_after) of a standard profile of `TAPS` taps; `ROOM` is [`room`] of
    /// them.
    #[inline(always)]
    fn by_rows<const TAPS: usize, const ROOM: usize>(&self, n: u64, scratch: &mut Scratch, to: &mut [f32]) {
        const { assert!(ROOM == room(TAPS) && TAPS <= 2 * LANES) };
        let Some([x, y]) = planes_of::<ROOM, 2>(&mut scratch.planes) else { return };
        let count = SINUSOIDS * TAPS;
        let turns = self.each[..count].iter().zip(&self.phases[..count]);
        for ((x, y), (each, phase)) in x.iter_mut().zip(y.iter_mut()).zip(turns) {
            (*x, *y) = circle(turns_after(*each, *phase, n));
        }
        for (of, to) in [&*x, &*y].into_iter().zip(to.chunks_exact_mut(TAPS)) {
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

    /// [`with_derivatives`](Self::with_derivatives) of a standard profile.
    #[inline(always)]
    fn derivatives_by_rows<const TAPS: usize, const ROOM: usize>(&self, n: u64, scratch: &mut Scratch) {
        let Scratch { planes, derivatives: to, .. } = scratch;
        let Some(planes) = planes_of::<ROOM, PLANES>(planes) else { return };
        let [c, s, sk, ck, ckk, skk] = planes;
        let count = SINUSOIDS * TAPS;
        let (each, phases) = (&self.each[..count], &self.phases[..count]);
        // Loops with few arrays each, for which the compiler uses vectors.
        for i in 0..count {
            (c[i], s[i]) = circle(turns_after(each[i], phases[i], n));
        }
        for i in 0..count {
            let k = rate(each[i]);
            (sk[i], ck[i]) = (s[i] * k, c[i] * k);
            (ckk[i], skk[i]) = (ck[i] * k, sk[i] * k);
        }
        // d/dn of cos and sin of (k n + phi): -k sin and k cos. Signs are those of sums.
        let signs = [1.0, 1.0, -1.0, 1.0, -1.0, -1.0];
        let length = whole_lanes(2 * TAPS);
        for (i, (plane, sign)) in planes.iter().zip(signs).enumerate() {
            let to = &mut to[i / 2 * length + i % 2 * TAPS..][..TAPS];
            to.copy_from_slice(&in_fours::<TAPS, ROOM>(plane, &self.amplitudes, sign)[..TAPS]);
        }
    }
}

#[cfg(test)]
mod tests {
    use lasthop_engine::Draw;

    use super::*;

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
                let steps = Steps::new(&sinusoids, cycles);
                let (mut scratch, mut by_step, mut by_distance) = <(Scratch, Taps, Taps)>::default();
                for n in [0_u64, 1, 777, 1_000_003, 86_400_000] {
                    steps.taps_after(n, &mut scratch, &mut by_step);
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
        Steps::new(&one, 0.125).taps_after((1 << 32) + 3, &mut Scratch::default(), &mut taps);
        let (c, s) = taps.pairs().next().unwrap();
        let half = std::f32::consts::FRAC_1_SQRT_2;
        assert!((c + half).abs() < 1e-6 && (s - half).abs() < 1e-6, "{c} {s}");
    }

    /// Values and derivatives are those of the definition, also before the start. The phase of a
    /// sinusoid differs by at most n 2^-33 turns (the rounding of a step) and by 2^-24 turns for
    /// the rounding to single precision, `circle` by 1e-6, and the sum of up to 19 numbers within
    /// 1 by 19 2^-24 for each of them. A derivative is k or k^2 times as much, k < 1.
    #[test]
    fn derivatives_are_those_of_the_distance() {
        let draw = Draw::new(1, lasthop_engine::Purpose::Fading, 2);
        for (each, count) in [(16, 9), (16, 7), (16, 1), (16, 4), (1, 6), (19, 2)] {
            let sinusoids = Sinusoids::new(draw, 0, each, (0..count).map(|_| 1.0));
            let steps = Steps::new(&sinusoids, 0.125);
            let mut scratch = Scratch::default();
            for n in [0_u64, 5, 1_000_003, -3_i64 as u64] {
                steps.with_derivatives(n, &mut scratch);
                let width = whole_lanes(2 * count);
                let cycles = n.cast_signed() as f64 * 0.125;
                for tap in 0..count {
                    let (mut value, mut first, mut second) =
                        <((f64, f64), (f64, f64), (f64, f64))>::default();
                    for k in 0..each {
                        let i = if each == SINUSOIDS { k * count + tap } else { tap * each + k };
                        let (cosine, phase) = (sinusoids.cosines[i], sinusoids.phases[i]);
                        let (k, turns) = (TAU * 0.125 * cosine, TAU * (cycles * cosine + phase));
                        let (s, c) = turns.sin_cos();
                        value = (value.0 + c, value.1 + s);
                        first = (first.0 - k * s, first.1 + k * c);
                        second = (second.0 - k * k * c, second.1 - k * k * s);
                    }
                    let phase = (n as u32).cast_signed().unsigned_abs() as f64 / (2.0 * UNITS);
                    let single = f64::from(f32::EPSILON) / 2.0;
                    let bound = each as f64 * (TAU * (phase + single) + 1e-6 + each as f64 * single);
                    for (row, expected) in [value, first, second].into_iter().enumerate() {
                        let found = &scratch.derivatives[row * width..];
                        let (re, im) = (f64::from(found[tap]), f64::from(found[count + tap]));
                        let error = (re - expected.0).abs().max((im - expected.1).abs());
                        assert!(error < bound, "{each} of {count}, {n}, {row}: {error}, {bound}");
                    }
                }
            }
        }
    }
}
