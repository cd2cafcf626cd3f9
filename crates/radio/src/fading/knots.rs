//! Taps between knots: for terminals that need many TTIs for a wavelength.

use lasthop_engine::lanes::{Kernel, wide};

use super::sinusoids::{LANES, Scratch, Sinusoids, Taps, whole_lanes};

/// Knots per wavelength. Between two of them a tap is the polynomial of degree 5 with their values, slopes and curvatures
/// (Hermite). A sinusoid of one turn a wavelength is missed by at most (2 pi h)^6 / (6! 2^6) = 2.9e-5 of its amplitude
/// (h = 1/6), 90 dB below it; slower ones by less.
const PER_CYCLE: f64 = 6.0;
/// Knots that are remembered.
const KEPT: usize = 4;

/// Values, slopes and curvatures of a link's taps at the knots that were looked at last. Nothing but memory: with or without
/// it the same taps come out.
#[derive(Clone, Debug)]
pub struct Knots {
    /// By knot modulo their number: which one is remembered.
    index: [i64; KEPT],
    /// By knot: values, slopes and curvatures of all taps, per distance of knots, each up to whole lanes.
    known: Box<[f32]>,
}

impl Default for Knots {
    fn default() -> Self {
        Knots { index: [i64::MIN; KEPT], known: Box::default() }
    }
}

impl Knots {
    /// The taps of `sinusoids` after `cycles`.
    #[inline(always)]
    pub(super) fn at(&mut self, sinusoids: &Sinusoids, cycles: f64, scratch: &mut Scratch, taps: &mut Taps) {
        let place = cycles * PER_CYCLE;
        let before = place.floor();
        let t = (place - before) as f32;
        let left = self.find(sinusoids, before as i64, scratch);
        let right = self.find(sinusoids, before as i64 + 1, scratch);
        taps.resize(sinusoids.taps());
        let n = taps.values.len();
        let three = |at: usize| {
            let (values, rest) = self.known[3 * n * at..][..3 * n].split_at(n);
            let (slopes, curvatures) = rest.split_at(n);
            [values, slopes, curvatures].map(|of| of.as_chunks::<LANES>().0)
        };
        let t2 = t * t;
        let t3 = t2 * t;
        let g0 = t3 * (10.0 - 15.0 * t + 6.0 * t2);
        let (h1, g1) = (t - t3 * (6.0 - 8.0 * t + 3.0 * t2), t3 * (7.0 * t - 4.0 - 3.0 * t2));
        let (h2, g2) = (0.5 * (t2 - t3 * (3.0 - 3.0 * t + t2)), 0.5 * t3 * (1.0 - 2.0 * t + t2));
        let ([p0, m0, a0], [p1, m1, a1]) = (three(left), three(right));
        let (to, _) = taps.values.as_chunks_mut::<LANES>();
        let left = p0.iter().zip(m0).zip(a0);
        let right = p1.iter().zip(m1).zip(a1);
        for (to, (((p0, m0), a0), ((p1, m1), a1))) in to.iter_mut().zip(left.zip(right)) {
            let mut now = [0.0; LANES];
            for k in 0..LANES {
                now[k] = p0[k] + g0 * (p1[k] - p0[k]) + (h1 * m0[k] + g1 * m1[k]) + (h2 * a0[k] + g2 * a1[k]);
            }
            *to = now;
        }
    }

    /// Where knot `index` is, worked out if it was not there.
    #[inline(always)]
    fn find(&mut self, sinusoids: &Sinusoids, index: i64, scratch: &mut Scratch) -> usize {
        let at = index.rem_euclid(KEPT as i64) as usize;
        if self.index[at] != index {
            self.work_out(sinusoids, index, at, scratch);
        }
        at
    }

    #[cold]
    fn work_out(&mut self, sinusoids: &Sinusoids, index: i64, at: usize, scratch: &mut Scratch) {
        let n = 3 * whole_lanes(2 * sinusoids.taps());
        if self.known.is_empty() {
            self.known = vec![0.0; n * KEPT].into();
        }
        wide(WorkOut { sinusoids, index, scratch, to: &mut self.known[at * n..][..n] });
        self.index[at] = index;
    }
}

/// What is kept of knot `index`.
struct WorkOut<'a> {
    sinusoids: &'a Sinusoids,
    index: i64,
    scratch: &'a mut Scratch,
    to: &'a mut [f32],
}

impl Kernel for WorkOut<'_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let cycles = self.index as f64 / PER_CYCLE;
        self.sinusoids.with_derivatives(cycles, 1.0 / PER_CYCLE, self.scratch, self.to);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{FadingProfile, FadingShape, Scratch, Taps};
    use super::Knots;

    /// 16 sinusoids of a tap with power p: amplitude sqrt(p / 16) each, at most 2.9e-5 of it is missed, and single precision
    /// adds 1e-6: 16 * sqrt(p / 16) * 3e-5 = 1.2e-4 sqrt(p) if all were worst at once.
    #[test]
    fn between_knots_the_taps_are_what_they_are() {
        let shape = FadingShape::new(FadingProfile::Eva, 25);
        let powers: Vec<f64> = FadingProfile::Eva.taps().iter().map(|t| t.1).collect();
        for entity in 0..20 {
            let (link, mut knots) = (shape.link(3, entity).unwrap(), Knots::default());
            let mut scratch = Scratch::default();
            let (mut exact, mut near) = (Taps::default(), Taps::default());
            for i in 0..2000 {
                let cycles = f64::from(i) * 0.005_3;
                link.taps_at(cycles, &mut scratch, &mut exact);
                link.taps_between(&mut knots, cycles, &mut scratch, &mut near);
                for (((a, b), (c, d)), power) in exact.pairs().zip(near.pairs()).zip(&powers) {
                    let missed = f64::from((a - c).hypot(b - d)) / power.sqrt();
                    assert!(missed < 1.2e-4, "{cycles}: {missed}");
                }
            }
        }
    }

    /// Back and forth, near and far: what is remembered changes nothing.
    #[test]
    fn what_was_asked_before_changes_nothing() {
        let link = FadingShape::new(FadingProfile::Epa, 25).link(3, 1).unwrap();
        let (mut busy, mut scratch) = (Knots::default(), Scratch::default());
        for i in 0..500 {
            let cycles = f64::from(i * 7919 % 1000) * 0.01;
            let (mut a, mut b) = (Taps::default(), Taps::default());
            link.taps_between(&mut busy, cycles, &mut scratch, &mut a);
            link.taps_between(&mut Knots::default(), cycles, &mut scratch, &mut b);
            assert_eq!(a.values, b.values);
        }
    }
}
