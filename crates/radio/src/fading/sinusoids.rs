//! Sums of sinusoids: the taps of a link after some way.

use std::f64::consts::TAU;

use lasthop_engine::{Draw, math};

use super::SINUSOIDS;

/// Complex gains of the taps of a link at one moment.
#[derive(Clone, Debug, Default)]
pub struct Taps {
    /// Real parts, then imaginary parts.
    pub(super) values: Vec<f32>,
}

/// Cosines and sines of the sinusoids of a link: memory that all links share.
#[derive(Clone, Debug, Default)]
pub struct Scratch([Vec<f32>; 2]);

impl Taps {
    /// Real and imaginary part of each.
    pub fn pairs(&self) -> impl Iterator<Item = (f32, f32)> {
        let (re, im) = self.values.split_at(self.values.len() / 2);
        re.iter().copied().zip(im.iter().copied())
    }
}

/// The sinusoids of the taps of a link: cosine of the angle of arrival and phase [turns], tap by tap.
#[derive(Clone, Debug)]
pub(super) struct Sinusoids {
    cosines: Box<[f64]>,
    phases: Box<[f64]>,
    /// By tap.
    amplitudes: Box<[f32]>,
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
    #[inline]
    pub fn at(&self, cycles: f64, scratch: &mut Scratch, taps: &mut Taps) {
        taps.values.resize(2 * self.taps(), 0.0);
        self.fill(cycles, scratch, &mut taps.values);
    }

    #[inline]
    fn fill(&self, cycles: f64, scratch: &mut Scratch, to: &mut [f32]) {
        self.turn(cycles, &mut scratch.0);
        let (re, im) = to.split_at_mut(self.taps());
        self.sum(&scratch.0[0], re);
        self.sum(&scratch.0[1], im);
    }

    /// All taps after `cycles` and their first and second derivative by the way, per `step` cycles, one after the other into
    /// `to`: each real parts, then imaginary parts.
    pub fn with_derivatives(&self, cycles: f64, step: f64, scratch: &mut Scratch, to: &mut [f32]) {
        let n = self.taps();
        let (values, rest) = to.split_at_mut(2 * n);
        self.fill(cycles, scratch, values);
        let (slopes, curvatures) = rest.split_at_mut(2 * n);
        for to in [slopes, curvatures] {
            // d/dc of cos and sin of (2 pi c cos(alpha) + phi): -2 pi cos(alpha) sin, 2 pi cos(alpha) cos.
            let [c, s] = &mut scratch.0;
            for ((c, s), cosine) in c.iter_mut().zip(s.iter_mut()).zip(&self.cosines) {
                let k = (TAU * step * cosine) as f32;
                (*c, *s) = (-*s * k, *c * k);
            }
            let (re, im) = to.split_at_mut(n);
            self.sum(c, re);
            self.sum(s, im);
        }
    }

    /// Cosine and sine of every cycles * cosine + phase [turns], without a branch or a table: of the nearest whole number of
    /// turns only the rest counts, of its half the cosine and sine come by polynomials (5e-8), and are doubled. Within 1e-6.
    #[inline]
    fn turn(&self, cycles: f64, [x, y]: &mut [Vec<f32>; 2]) {
        // The sum with this number has no digits behind the point: what is left after taking it away again is the nearest
        // whole number, for all below 2^51. Needs no call for `round`, so that lanes go side by side.
        const WHOLE: f64 = 1.5 * (1u64 << 52) as f64;
        x.resize(self.cosines.len(), 0.0);
        y.resize(self.cosines.len(), 0.0);
        // Two loops: double precision has two lanes, single four.
        for (t, (cosine, phase)) in x.iter_mut().zip(self.cosines.iter().zip(&self.phases)) {
            let turns = cycles * cosine + phase;
            *t = (turns - ((turns + WHOLE) - WHOLE)) as f32;
        }
        for (x, y) in x.iter_mut().zip(y.iter_mut()) {
            let t = *x;
            let q = t * t;
            let s = t * ((((SIN[4] * q + SIN[3]) * q + SIN[2]) * q + SIN[1]) * q + SIN[0]);
            let c = (((COS[4] * q + COS[3]) * q + COS[2]) * q + COS[1]) * q + COS[0];
            *x = 1.0 - (s + s) * s;
            *y = (s + s) * c;
        }
    }

    /// The sum of each tap's sinusoids with the tap's amplitude.
    #[inline]
    fn sum(&self, of: &[f32], to: &mut [f32]) {
        let each = self.cosines.len() / self.taps();
        if each == SINUSOIDS {
            let (taps, _) = of.as_chunks::<SINUSOIDS>();
            for ((tap, amplitude), to) in taps.iter().zip(&self.amplitudes).zip(to) {
                let (fours, _) = tap.as_chunks::<4>();
                let mut sum = fours[0];
                for four in &fours[1..] {
                    for i in 0..4 {
                        sum[i] += four[i];
                    }
                }
                *to = amplitude * ((sum[0] + sum[2]) + (sum[1] + sum[3]));
            }
        } else {
            for ((tap, amplitude), to) in of.chunks(each).zip(&self.amplitudes).zip(to) {
                *to = amplitude * tap.iter().sum::<f32>();
            }
        }
    }
}

/// sin(pi t) / t and cos(pi t) as polynomials in t^2 for |t| <= 1/2: least squares, weighted until the error is even.
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
