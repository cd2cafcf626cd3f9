//! Sums of sinusoids: the taps of a link after a distance travelled.

use std::f64::consts::TAU;

use lasthop_engine::{Draw, math};

use super::SINUSOIDS;

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

impl Sinusoids {
    /// Draws `each` sinusoids for every tap; tap `i` is drawn from stream `first + i`.
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

    /// Every cycles * cosine + phase [turns], without whole turns: -1/2 to 1/2.
    #[inline(always)]
    fn turn(&self, cycles: f64, turns: &mut Vec<f32>) {
        // The sum with this number has no fractional digits: subtracting it again leaves the
        // nearest whole number, for all below 2^51. Without a call of `round` the compiler can use
        // vector lanes.
        const WHOLE: f64 = 1.5 * (1u64 << 52) as f64;
        turns.resize(self.cosines.len(), 0.0);
        for (t, (cosine, phase)) in turns.iter_mut().zip(self.cosines.iter().zip(&self.phases)) {
            let turns = cycles * cosine + phase;
            *t = (turns - ((turns + WHOLE) - WHOLE)) as f32;
        }
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

/// Cosine and sine of `t` turns, -1/2 to 1/2, without a branch or a table: those of half of it by
/// polynomials (5e-8), doubled. Within 1e-6.
#[inline(always)]
fn circle(t: f32) -> (f32, f32) {
    let q = t * t;
    let s = t * ((((SIN[4] * q + SIN[3]) * q + SIN[2]) * q + SIN[1]) * q + SIN[0]);
    let c = (((COS[4] * q + COS[3]) * q + COS[2]) * q + COS[1]) * q + COS[0];
    (1.0 - (s + s) * s, (s + s) * c)
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

/// sin(pi t) / t and cos(pi t) as polynomials in t^2 for |t| <= 1/2: least squares, weighted until
/// the error is even.
const SIN: [f32; 5] = [std::f32::consts::PI, -5.167_710_3, 2.550_077_7, -0.598_292_2, 0.077_659_41];
const COS: [f32; 5] = [0.999_999_95, -4.934_793, 4.058_412, -1.331_880_2, 0.219_696_8];

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
