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
    pub(super) planes: Vec<f32>,
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
    pub(super) cosines: Box<[f64]>,
    pub(super) phases: Box<[f64]>,
    /// By tap.
    pub(super) amplitudes: Box<[f32]>,
}

/// Places for all sinusoids of `taps` taps of a standard profile, and for whole lanes from the last
/// row of taps on.
pub(super) const fn room(taps: usize) -> usize {
    whole_lanes((SINUSOIDS - 1) * taps + 2 * LANES)
}

/// The numbers of the sinusoids of a standard profile, which are in the order of the taps, in rows.
fn in_rows(of: &[f64]) -> Vec<f64> {
    let (by_tap, _) = of.as_chunks::<SINUSOIDS>();
    let mut rows = vec![0.0; of.len()];
    for (n, row) in rows.chunks_exact_mut(by_tap.len()).enumerate() {
        row.iter_mut().zip(by_tap).for_each(|(to, tap)| *to = tap[n]);
    }
    rows
}

impl Sinusoids {
    /// Draws `each` sinusoids for every tap; tap `i` is drawn from stream `first + i`.
    pub fn new(draw: Draw, first: u64, each: usize, amplitudes: impl Iterator<Item = f64>) -> Sinusoids {
        let amplitudes: Box<[f32]> = amplitudes.map(|a| a as f32).collect();
        let taps = amplitudes.len();
        let count = each * taps;
        let (mut cosines, mut phases) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for tap in 0..taps {
            let mut stream = draw.stream(first + tap as u64);
            for n in 0..each {
                // One angle in each of n equal sectors.
                let angle = TAU * (n as f64 + stream.uniform()) / each as f64;
                cosines.push(math::cos(angle));
                phases.push(stream.uniform());
            }
        }
        if each == SINUSOIDS {
            (cosines, phases) = (in_rows(&cosines), in_rows(&phases));
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

    /// Places for all sinusoids.
    #[inline(always)]
    fn room(&self) -> usize {
        if is_standard(self.cosines.len(), self.taps()) { room(self.taps()) } else { self.cosines.len() }
    }

    /// Sums each tap's sinusoids, of which there are [`room`](Self::room) places, and multiplies by
    /// the tap's amplitude.
    #[inline(always)]
    fn sum(&self, of: &[f32], to: &mut [f32]) {
        let (taps, amplitudes) = (self.taps(), &self.amplitudes);
        match (self.cosines.len() == SINUSOIDS * taps, taps) {
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

/// True for so many sinusoids of a standard profile.
#[inline(always)]
pub(super) const fn is_standard(sinusoids: usize, taps: usize) -> bool {
    sinusoids == SINUSOIDS * taps && matches!(taps, 1 | 7 | 9)
}

/// The first `COUNT` planes of `ROOM` places each. Values of earlier calls beyond the last sinusoid
/// of a plane are not used.
#[inline(always)]
pub(super) fn planes_of<const ROOM: usize, const COUNT: usize>(
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
pub(super) fn in_fours<const TAPS: usize, const ROOM: usize>(
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
pub(super) fn scaled<const TAPS: usize>(
    sums: &[f32; 2 * LANES],
    amplitudes: &[f32],
    sign: f32,
) -> [f32; 2 * LANES] {
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
