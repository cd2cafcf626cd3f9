//! Shadowing: log-normal, correlated over the ground, in closed form of the position.
//!
//! The loss by obstacles is a Gaussian field over the ground [dB] whose correlation falls as e^(-d
//! / d_cor) (M. Gudmundson, Electronics Letters 27(23), 1991). The field is a sum of plane waves
//! whose directions are uniform and whose wave numbers follow the spectrum that belongs to this
//! correlation in the plane, so any place can be evaluated at any time in any order (X. Cai, G. B.
//! Giannakis, IEEE Trans. VT 52(6), 2003). At a place the losses to two sites have a common part:
//! correlation 0.5 between sites, 1 between sectors of one site (TR 36.814 table A.2.1.1-2, note).
//!
//! The wave number k of an isotropic exponential correlation in the plane has the density k d^2
//! (1 + k^2 d^2)^(-3/2), hence P(K <= k) = 1 - (1 + k^2 d^2)^(-1/2) and K = sqrt((1 - U)^(-2) - 1)
//! / d.

use std::f64::consts::TAU;

use lasthop_engine::simd::{Kernel, wide};
use lasthop_engine::{Draw, Purpose, math};

use crate::turns::{circle, fraction};

/// Plane waves of a field.
const WAVES: usize = 96;

/// A Gaussian field over the ground with mean 0 and standard deviation 1.
#[derive(Clone, Debug)]
pub struct Field {
    /// Wave vectors [turns per correlation distance], x and y, and phases [turns].
    waves: Box<[[f64; WAVES]; 3]>,
}

impl Field {
    /// Draws field number `entity` of the run `seed`.
    pub fn new(seed: u64, entity: u64) -> Field {
        let draw = Draw::new(seed, Purpose::Shadowing, entity);
        let wave = |n: usize| {
            let mut stream = draw.stream(n as u64);
            // One direction in each of WAVES equal sectors; wave numbers by inversion.
            let direction = TAU * (n as f64 + stream.uniform()) / WAVES as f64;
            let quantile = stream.uniform();
            let k = (1.0 / ((1.0 - quantile) * (1.0 - quantile)) - 1.0).sqrt();
            [k * math::cos(direction) / TAU, k * math::sin(direction) / TAU, stream.uniform()]
        };
        let mut waves = Box::new([[0.0; WAVES]; 3]);
        for n in 0..WAVES {
            for (to, of) in waves.iter_mut().zip(wave(n)) {
                to[n] = of;
            }
        }
        Field { waves }
    }

    /// The value at `x`, `y` [m] with a correlation distance [m].
    pub fn at(&self, x: f64, y: f64, correlation_distance: f64) -> f64 {
        let place = [x / correlation_distance, y / correlation_distance];
        f64::from(wide(Sum { waves: &self.waves, place })) * (2.0 / WAVES as f64).sqrt()
    }
}

/// Sums that are computed in parallel.
const LANES: usize = 8;

/// The sum of the waves of a field at a place [correlation distances]. Each cosine is within 1e-6.
struct Sum<'a> {
    waves: &'a [[f64; WAVES]; 3],
    place: [f64; 2],
}

impl Kernel for Sum<'_> {
    type Output = f32;
    #[inline(always)]
    fn run(self) -> f32 {
        let Sum { waves: [kx, ky, phases], place: [x, y] } = self;
        let mut cosines = [0.0_f32; WAVES];
        for n in 0..WAVES {
            cosines[n] = circle(fraction(kx[n] * x + ky[n] * y + phases[n])).0;
        }
        let mut sums = [0.0_f32; LANES];
        for eight in cosines.as_chunks::<LANES>().0 {
            for k in 0..LANES {
                sums[k] += eight[k];
            }
        }
        sums.iter().sum()
    }
}

/// Shadowing between the sites of a network and any place.
#[derive(Clone, Debug)]
pub struct Shadowing {
    common: Field,
    sites: Vec<Field>,
    /// Correlation between two sites' values at a place.
    between_sites: f64,
}

impl Shadowing {
    /// Draws the fields of `sites` sites; `between_sites` is the correlation of two of them at one
    /// place, 0 to 1.
    pub fn new(seed: u64, sites: usize, between_sites: f64) -> Shadowing {
        Shadowing {
            common: Field::new(seed, 0),
            sites: (0..sites).map(|site| Field::new(seed, 1 + site as u64)).collect(),
            between_sites: between_sites.clamp(0.0, 1.0),
        }
    }

    /// The loss that shadowing adds [in standard deviations] between a site and the place `x`, `y`
    /// [m].
    pub fn at(&self, site: usize, x: f64, y: f64, correlation_distance: f64) -> f64 {
        self.seen_from([x, y]).at(self, site, correlation_distance)
    }

    /// Prepares the values of several sites at `place` [m]: the part that they share is computed
    /// once.
    pub const fn seen_from(&self, place: [f64; 2]) -> Seen {
        Seen { place, common: [None; 2], own: None }
    }
}

/// Values of a place that have been computed, each with its correlation distance.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    place: [f64; 2],
    /// The common part; usually one value with and one without line of sight.
    common: [Option<(f64, f64)>; 2],
    /// The value of the site that was evaluated last.
    own: Option<(usize, f64, f64)>,
}

impl Seen {
    /// As [`Shadowing::at`]; evaluate the sectors of a site one after the other.
    pub fn at(&mut self, of: &Shadowing, site: usize, distance: f64) -> f64 {
        let [x, y] = self.place;
        // Sums of waves take time: those without weight are skipped.
        if of.between_sites == 0.0 {
            return self.own(of, site, distance);
        }
        let known = self.common.iter().flatten().find(|(d, _)| *d == distance);
        let common = match known {
            Some((_, value)) => *value,
            None => {
                let value = of.common.at(x, y, distance);
                self.common = [Some((distance, value)), self.common[0]];
                value
            }
        };
        let own = self.own(of, site, distance);
        of.between_sites.sqrt() * common + (1.0 - of.between_sites).sqrt() * own
    }

    fn own(&mut self, of: &Shadowing, site: usize, distance: f64) -> f64 {
        let [x, y] = self.place;
        match self.own {
            Some((s, d, value)) if s == site && d == distance => value,
            _ => {
                let value = of.sites.get(site).map_or(0.0, |f| f.at(x, y, distance));
                self.own = Some((site, distance, value));
                value
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean product of the values at two places `d` correlation distances apart, over many fields.
    fn correlation(d: f64) -> f64 {
        let n = 4000;
        let product = |seed| {
            let field = Field::new(seed, 1);
            field.at(30.0, -70.0, 50.0) * field.at(30.0 + 30.0 * d, -70.0 + 40.0 * d, 50.0)
        };
        (0..n).map(product).sum::<f64>() / n as f64
    }

    /// The waves summed one by one in double precision: 96 errors of 1e-6, independent, are
    /// 96^(1/2) (2/96)^(1/2) 1e-6 = 1.4e-6; ten times that are allowed.
    #[test]
    fn a_value_is_the_sum_of_its_waves() {
        for seed in 0..200 {
            let (field, x, y) = (Field::new(seed, 1), 30.0 * seed as f64, -1e4);
            let [kx, ky, phases] = &*field.waves;
            let wave = |n| math::cos(TAU * (kx[n] * x / 50.0 + ky[n] * y / 50.0 + phases[n]));
            let expected = (0..WAVES).map(wave).sum::<f64>() * (2.0 / WAVES as f64).sqrt();
            let found = field.at(x, y, 50.0);
            assert!((found - expected).abs() < 1.4e-5, "{seed}: {found} and {expected}");
        }
    }

    /// e^(-d / d_cor), standard error 1/sqrt(4000) = 0.016, bound at 3.5 of them.
    #[test]
    fn the_field_decorrelates_exponentially_with_distance() {
        for d in [0.0, 0.2, 0.5, 1.0, 2.0, 5.0] {
            let (found, expected) = (correlation(d), math::exp(-d));
            assert!((found - expected).abs() < 0.055, "{d}: {found} and {expected}");
        }
    }

    /// Kolmogorov-Smirnov against the normal distribution, 3000 fields: 1 % point 1.63 / sqrt(3000)
    /// = 0.030.
    #[test]
    fn the_values_are_normal() {
        let n = 3000;
        let mut x: Vec<f64> = (0..n).map(|seed| Field::new(seed, 1).at(1234.0, 77.0, 50.0)).collect();
        x.sort_by(f64::total_cmp);
        let normal = |x: f64| 0.5 * math::erfc(-x / std::f64::consts::SQRT_2);
        let distance = |(i, x): (usize, &f64)| ((i as f64 + 0.5) / n as f64 - normal(*x)).abs();
        let ks = x.iter().enumerate().map(distance).fold(0.0, f64::max);
        assert!(ks < 0.03, "{ks}");
    }

    /// Two sites at one place: 0.5, three sectors of one site: the same value.
    #[test]
    fn sites_share_half_of_it() {
        let n = 4000;
        let product = |seed| {
            let s = Shadowing::new(seed, 2, 0.5);
            s.at(0, 10.0, 20.0, 50.0) * s.at(1, 10.0, 20.0, 50.0)
        };
        let found = (0..n).map(product).sum::<f64>() / f64::from(n as u32);
        assert!((found - 0.5).abs() < 0.06, "{found}");
    }
}
