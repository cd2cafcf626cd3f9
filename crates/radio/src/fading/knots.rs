//! Taps between knots: for terminals that need many TTIs for a wavelength.

use super::sinusoids::{Sinusoids, Taps};

/// Knots per wavelength. Between two of them a tap is the cubic with their values and slopes (Hermite). A sinusoid of one
/// turn a wavelength is missed by at most (2 pi h)^4 / 384 = 6.2e-5 of its amplitude (h = 1/16), 84 dB below it; slower ones by
/// less.
const PER_CYCLE: f64 = 16.0;
/// Knots that are remembered.
const KEPT: usize = 4;

/// Values and slopes of a link's taps at the knots that were looked at last. Nothing but memory: with or without it the same
/// taps come out.
#[derive(Clone, Debug)]
pub struct Knots {
    /// By knot modulo their number: which one is remembered.
    index: [i64; KEPT],
    values: Box<[f32]>,
    slopes: Box<[f32]>,
}

impl Default for Knots {
    fn default() -> Self {
        Knots { index: [i64::MIN; KEPT], values: Box::default(), slopes: Box::default() }
    }
}

impl Knots {
    /// The taps of `sinusoids` after `cycles`.
    #[inline]
    pub(super) fn at(&mut self, sinusoids: &Sinusoids, cycles: f64, taps: &mut Taps) {
        let n = 2 * sinusoids.taps();
        let place = cycles * PER_CYCLE;
        let before = place.floor();
        let t = (place - before) as f32;
        let left = self.find(sinusoids, before as i64, taps);
        let right = self.find(sinusoids, before as i64 + 1, taps);
        let (p0, p1) = (&self.values[left * n..][..n], &self.values[right * n..][..n]);
        let (m0, m1) = (&self.slopes[left * n..][..n], &self.slopes[right * n..][..n]);
        let (square, cube) = (t * t, t * t * t);
        let (a1, h) = (3.0 * square - 2.0 * cube, 1.0 / PER_CYCLE as f32);
        let (b0, b1) = ((cube - 2.0 * square + t) * h, (cube - square) * h);
        taps.values.resize(n, 0.0);
        for (i, tap) in taps.values.iter_mut().enumerate() {
            *tap = p0[i] + a1 * (p1[i] - p0[i]) + b0 * m0[i] + b1 * m1[i];
        }
    }

    /// Where knot `index` is, worked out if it was not there.
    #[inline]
    fn find(&mut self, sinusoids: &Sinusoids, index: i64, taps: &mut Taps) -> usize {
        let at = index.rem_euclid(KEPT as i64) as usize;
        if self.index[at] != index {
            let n = 2 * sinusoids.taps();
            if self.values.is_empty() {
                self.values = vec![0.0; n * KEPT].into();
                self.slopes = vec![0.0; n * KEPT].into();
            }
            let (values, slopes) = (&mut self.values[at * n..][..n], &mut self.slopes[at * n..][..n]);
            sinusoids.with_slopes(index as f64 / PER_CYCLE, taps, values, slopes);
            self.index[at] = index;
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::super::{FadingProfile, FadingShape, Taps};
    use super::Knots;

    /// 16 sinusoids of a tap with power p: amplitude sqrt(p / 16) each, at most 6.2e-5 of it is missed, and single precision
    /// adds 1e-6: 16 * sqrt(p / 16) * 6.2e-5 = 2.5e-4 sqrt(p) if all were worst at once.
    #[test]
    fn between_knots_the_taps_are_what_they_are() {
        let shape = FadingShape::new(FadingProfile::Eva, 25);
        let powers: Vec<f64> = FadingProfile::Eva.taps().iter().map(|t| t.1).collect();
        for entity in 0..20 {
            let (link, mut knots) = (shape.link(3, entity).unwrap(), Knots::default());
            let (mut exact, mut near) = (Taps::default(), Taps::default());
            for i in 0..2000 {
                let cycles = f64::from(i) * 0.005_3;
                link.taps_at(cycles, &mut exact);
                link.taps_between(&mut knots, cycles, &mut near);
                for (((a, b), (c, d)), power) in exact.pairs().zip(near.pairs()).zip(&powers) {
                    let missed = f64::from((a - c).hypot(b - d)) / power.sqrt();
                    assert!(missed < 2.5e-4, "{cycles}: {missed}");
                }
            }
        }
    }

    /// Back and forth, near and far: what is remembered changes nothing.
    #[test]
    fn what_was_asked_before_changes_nothing() {
        let link = FadingShape::new(FadingProfile::Epa, 25).link(3, 1).unwrap();
        let mut busy = Knots::default();
        for i in 0..500 {
            let cycles = f64::from(i * 7919 % 1000) * 0.01;
            let (mut a, mut b) = (Taps::default(), Taps::default());
            link.taps_between(&mut busy, cycles, &mut a);
            link.taps_between(&mut Knots::default(), cycles, &mut b);
            assert_eq!(a.values, b.values);
        }
    }
}
