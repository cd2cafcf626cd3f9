//! Small-scale fading: tapped delay lines whose taps fade by Clarke's model, in closed form of the
//! distance travelled.
//!
//! The channel of a link at a moment is
//!
//!   H(f) = sum over taps l of sqrt(p_l) h_l e^(-j 2 pi f tau_l),
//!   h_l  = N^(-1/2) sum over n of e^(j (2 pi c cos(alpha_n) + phi_n)),
//!
//! with c the *cycles*: the distance that the terminal has travelled in wavelengths, for a constant
//! speed f_d t with f_d = v f_c / c_0. Angles alpha_n are stratified over the circle and phases
//! phi_n uniform, both drawn once per link from keyed draws, so the ensemble's autocorrelation is
//! J0(2 pi f_d tau) exactly (R. H. Clarke, BSTJ 47(6), 1968; sum of sinusoids after Y. R. Zheng, C.
//! Xiao, IEEE Trans. Commun. 51(6), 2003). Because the form is closed, TTIs that are not evaluated
//! take no time and change no result, and the phase stays continuous at a change of speed.
//!
//! Several antennas have such a channel for each pair ([`ArrayFading`]). Simplifications: N = 16
//! sinusoids a tap, so a tap never exceeds its mean by more than 12 dB and E|h|^4 is 2 - 1/N; the
//! response is that of the middle of each resource block; for many evaluations within an eighth of
//! a wavelength, powers can be interpolated between knots ([`Knots`]), with an error of 4e-5 of the
//! mean.

mod array;
mod knots;
mod response;
mod sinusoids;
mod steps;

pub use array::{Antennas, ArrayFading};
pub use knots::{Between, Hermite, Knots, Place, Side};
pub use response::Response;
pub use sinusoids::{Scratch, Taps};
pub use steps::Steps;

use std::sync::Arc;

use lasthop_engine::simd::{Kernel, wide};
use lasthop_engine::{Draw, Purpose, math};
use lasthop_units::{Duration, Hertz, Speed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use sinusoids::Sinusoids;

/// Bandwidth of a resource block of 12 subcarriers of 15 kHz (TS 36.211 clause 6.2.3).
const RESOURCE_BLOCK: Hertz = Hertz(180e3);
/// Sinusoids of a tap of a standard profile.
const SINUSOIDS: usize = 16;
/// Speed of light [m/s].
pub const SPEED_OF_LIGHT: f64 = 299_792_458.0;

/// Delay profile of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FadingProfile {
    /// No fading: the gain is 1 on every block.
    #[default]
    None,
    /// Extended Pedestrian A: 7 taps, rms delay spread 43 ns (TS 36.104 annex B.2).
    Epa,
    /// Extended Vehicular A: 9 taps, 357 ns.
    Eva,
    /// Extended Typical Urban: 9 taps, 991 ns.
    Etu,
    /// Flat Rayleigh fading: one tap.
    Flat,
    /// One sinusoid per path, each with an exponential delay (SimuLTE's "Jakes" fading).
    Jakes {
        /// Paths, 1 to 1024; SimuLTE has 6.
        #[serde(default = "six")]
        paths: u32,
        /// Mean of the exponential path delays; SimuLTE has 363 ns.
        #[serde(default = "delay_of_simulte")]
        delay_spread: Duration,
    },
}

const fn six() -> u32 {
    6
}
const fn delay_of_simulte() -> Duration {
    Duration(363)
}

/// Tap delays [ns] and relative powers [dB], TS 36.104 v12.4.0 tables B.2-2 to B.2-4.
const EPA: &[(f64, f64)] =
    &[(0.0, 0.0), (30.0, -1.0), (70.0, -2.0), (90.0, -3.0), (110.0, -8.0), (190.0, -17.2), (410.0, -20.8)];
const EVA: &[(f64, f64)] = &[
    (0.0, 0.0),
    (30.0, -1.5),
    (150.0, -1.4),
    (310.0, -3.6),
    (370.0, -0.6),
    (710.0, -9.1),
    (1090.0, -7.0),
    (1730.0, -12.0),
    (2510.0, -16.9),
];
const ETU: &[(f64, f64)] = &[
    (0.0, -1.0),
    (50.0, -1.0),
    (120.0, -1.0),
    (200.0, 0.0),
    (230.0, 0.0),
    (500.0, 0.0),
    (1600.0, -3.0),
    (2300.0, -5.0),
    (5000.0, -7.0),
];

impl FadingProfile {
    /// Refuses invalid parameters.
    ///
    /// # Errors
    /// The invalid parameter of the paths.
    pub const fn validate(self) -> Result<(), &'static str> {
        match self {
            FadingProfile::Jakes { paths: 0, .. } => Err("Jakes fading without a path: 1 to 1024"),
            FadingProfile::Jakes { paths: 1025.., .. } => Err("more than 1024 paths"),
            _ => Ok(()),
        }
    }

    /// Tap delays [s] and powers that sum to 1; empty if taps are drawn or absent.
    pub fn taps(self) -> Vec<(f64, f64)> {
        let table: &[(f64, f64)] = match self {
            FadingProfile::Epa => EPA,
            FadingProfile::Eva => EVA,
            FadingProfile::Etu => ETU,
            FadingProfile::Flat => &[(0.0, 0.0)],
            FadingProfile::None | FadingProfile::Jakes { .. } => &[],
        };
        let total: f64 = table.iter().map(|(_, db)| math::from_db(*db)).sum();
        table.iter().map(|(ns, db)| (ns * 1e-9, math::from_db(*db) / total)).collect()
    }
}

/// Maximum Doppler shift [Hz] of a terminal at `speed` on a carrier of `carrier_hz`.
pub fn doppler_hz(speed: Speed, carrier_hz: f64) -> f64 {
    speed.0 * carrier_hz / SPEED_OF_LIGHT
}

/// Data that links of one profile share; built once per profile and number of blocks.
#[derive(Clone, Debug)]
pub struct FadingShape {
    profile: FadingProfile,
    blocks: usize,
    width: Hertz,
    taps: Arc<[(f64, f64)]>,
    response: Option<Arc<Response>>,
}

impl FadingShape {
    /// Creates the shape of links of `profile` over `blocks` resource blocks of 180 kHz.
    pub fn new(profile: FadingProfile, blocks: usize) -> FadingShape {
        FadingShape::of_width(profile, blocks, RESOURCE_BLOCK)
    }

    /// Creates the shape of links of `profile` over `blocks` resource blocks of `width`.
    pub fn of_width(profile: FadingProfile, blocks: usize, width: Hertz) -> FadingShape {
        let taps: Arc<[(f64, f64)]> = profile.taps().into();
        let response =
            (!taps.is_empty()).then(|| Arc::new(Response::new(taps.iter().map(|t| t.0), blocks, width)));
        FadingShape { profile, blocks, width, taps, response }
    }

    /// The channel of link `entity` in the run `seed`; None without fading.
    pub fn link(&self, seed: u64, entity: u64) -> Option<Fading> {
        let draw = Draw::new(seed, Purpose::Fading, entity);
        if let FadingProfile::Jakes { paths, delay_spread } = self.profile {
            let paths = paths as usize;
            let mut delays = draw.stream(0);
            let delays = (0..paths).map(|_| delays.exponential(delay_spread.as_secs_f64()));
            let response = Arc::new(Response::new(delays, self.blocks, self.width));
            let amplitude = 1.0 / (paths as f64).sqrt();
            let sinusoids = Sinusoids::new(draw, 1, 1, (0..paths).map(|_| amplitude));
            return Some(Fading { sinusoids, response });
        }
        let response = self.response.clone()?;
        let amplitudes = self.taps.iter().map(|(_, power)| (power / SINUSOIDS as f64).sqrt());
        Some(Fading { sinusoids: Sinusoids::new(draw, 0, SINUSOIDS, amplitudes), response })
    }
}

/// The fading channel of one link.
#[derive(Clone, Debug)]
pub struct Fading {
    sinusoids: Sinusoids,
    response: Arc<Response>,
}

impl Fading {
    /// Power gain of every resource block, linear with mean 1, when the terminal has travelled
    /// `cycles` wavelengths. `gains` has at least as many places as there are blocks; the other
    /// places are unchanged.
    pub fn gains(&self, cycles: f64, gains: &mut [f32]) {
        wide(GainsAt { fading: self, cycles, gains });
    }

    /// The taps after `cycles`.
    #[inline(always)]
    pub fn taps_at(&self, cycles: f64, scratch: &mut Scratch, taps: &mut Taps) {
        self.sinusoids.at(cycles, scratch, taps);
    }

    /// The sinusoids for a terminal that travels `cycles` wavelengths in each of equal steps.
    /// Phases differ by at most 1.2e-10 turns a step ([`Steps`]).
    pub fn steps(&self, cycles: f64) -> Steps {
        Steps::new(&self.sinusoids, cycles)
    }

    /// The response of the blocks to the taps.
    #[inline]
    pub fn response(&self) -> &Arc<Response> {
        &self.response
    }

    /// The complex gain of each tap, for tests and plots.
    pub fn taps(&self, cycles: f64) -> Vec<(f32, f32)> {
        let mut taps = Taps::default();
        self.taps_at(cycles, &mut Scratch::default(), &mut taps);
        taps.pairs().collect()
    }
}

/// The gains of all blocks after `cycles`.
struct GainsAt<'a> {
    fading: &'a Fading,
    cycles: f64,
    gains: &'a mut [f32],
}

impl Kernel for GainsAt<'_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let mut taps = Taps::default();
        self.fading.taps_at(self.cycles, &mut Scratch::default(), &mut taps);
        let response = &self.fading.response;
        response.gains(&taps, (1 << response.parts()) - 1, self.gains);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::TAU;

    /// Eight lanes give the same bits as four, at knots, between them and without.
    #[test]
    fn wide_vectors_give_the_same_bits() {
        struct Between<'a>(&'a Fading, f64, &'a mut [f32]);
        impl Kernel for Between<'_> {
            type Output = ();
            #[inline(always)]
            fn run(self) {
                Knots::new(self.0).gains(self.1, u64::MAX, &mut Scratch::default(), self.2);
            }
        }
        for profile in [
            FadingProfile::Epa,
            FadingProfile::Etu,
            FadingProfile::Jakes { paths: 6, delay_spread: six_hundred() },
        ] {
            let fading = FadingShape::new(profile, 75).link(3, 8).unwrap();
            for i in 0..200 {
                let cycles = f64::from(i) * 0.777;
                let (mut four, mut eight) = ([0.0; 75], [0.0; 75]);
                GainsAt { fading: &fading, cycles, gains: &mut four }.run();
                fading.gains(cycles, &mut eight);
                assert_eq!(four.map(f32::to_bits), eight.map(f32::to_bits));
                let (mut four, mut eight) = ([0.0; Knots::room(75)], [0.0; Knots::room(75)]);
                Between(&fading, cycles, &mut four).run();
                wide(Between(&fading, cycles, &mut eight));
                assert_eq!(four.map(f32::to_bits), eight.map(f32::to_bits));
            }
        }
    }

    const fn six_hundred() -> Duration {
        Duration(600)
    }

    fn spread_ns(profile: FadingProfile) -> (f64, f64) {
        let taps = profile.taps();
        let mean: f64 = taps.iter().map(|(t, p)| t * p).sum();
        let square: f64 = taps.iter().map(|(t, p)| t * t * p).sum();
        (mean * 1e9, (square - mean * mean).sqrt() * 1e9)
    }

    /// From the table: mean excess delay and rms delay spread [ns] of the normalised powers.
    #[test]
    fn the_profiles_have_their_delay_spreads() {
        for (profile, mean, rms) in [
            (FadingProfile::Epa, 44.2, 43.1),
            (FadingProfile::Eva, 253.9, 356.7),
            (FadingProfile::Etu, 561.2, 990.9),
        ] {
            let (m, r) = spread_ns(profile);
            assert!((m - mean).abs() < 0.05 && (r - rms).abs() < 0.05, "{profile:?}: {m} {r}");
        }
        // The fifth tap of EPA is at 110 ns (a generator of traces that is in use has 120).
        assert!((FadingProfile::Epa.taps()[4].0 - 110e-9).abs() < 1e-15);
    }

    /// Links of a profile, far apart in time: independent samples of block 0 and others.
    fn samples(profile: FadingProfile, links: u64, per_link: u64, blocks: &[usize]) -> Vec<Vec<f64>> {
        let shape = FadingShape::new(profile, 100);
        let mut out = vec![Vec::new(); blocks.len()];
        let mut gains = [0.0; 100];
        for entity in 0..links {
            let fading = shape.link(5, entity).unwrap();
            for i in 0..per_link {
                fading.gains(i as f64 * 37.77, &mut gains);
                for (out, block) in out.iter_mut().zip(blocks) {
                    out.push(f64::from(gains[*block]));
                }
            }
        }
        out
    }

    /// Rayleigh fading: |H|^2 is exponential with mean 1. 40 000 samples of 4000 links; the
    /// Kolmogorov-Smirnov distance of a sum of 16 sinusoids a tap from the distribution is itself
    /// below 0.01 (with many taps: smaller), the 1 % point of the test 0.008.
    #[test]
    fn the_power_of_a_block_is_exponential_with_mean_one() {
        for profile in [FadingProfile::Epa, FadingProfile::Eva, FadingProfile::Etu, FadingProfile::Flat] {
            let mut x = samples(profile, 4000, 10, &[50]).remove(0);
            let n = x.len() as f64;
            let mean = x.iter().sum::<f64>() / n;
            assert!((mean - 1.0).abs() < 0.015, "{profile:?}: {mean}");
            x.sort_by(f64::total_cmp);
            let distance = |(i, x): (usize, &f64)| ((i as f64 + 0.5) / n - (1.0 - math::exp(-x))).abs();
            let ks = x.iter().enumerate().map(distance).fold(0.0, f64::max);
            assert!(ks < 0.015, "{profile:?}: {ks}");
        }
    }

    /// Bessel function of the first kind, order 0, by its integral.
    fn j0(x: f64) -> f64 {
        let n = 2000;
        let at =
            |i: i32| math::cos(x * math::sin(std::f64::consts::PI * (f64::from(i) + 0.5) / f64::from(n)));
        (0..n).map(at).sum::<f64>() / f64::from(n)
    }

    /// Clarke: E[h(t) h*(t + tau)] = J0(2 pi f_d tau). 60 km/h at 2 GHz: f_d = 111.2 Hz. Averaged
    /// over 3000 links, whose standard error is 1/sqrt(3000) = 0.018.
    #[test]
    fn a_tap_decorrelates_as_clarke_says() {
        let doppler = doppler_hz(Speed(60.0 / 3.6), 2e9);
        assert!((doppler - 111.2).abs() < 0.05);
        let shape = FadingShape::new(FadingProfile::Flat, 1);
        for tau_ms in [1.0, 2.0, 3.44, 5.0, 8.0] {
            let mut sum = 0.0;
            for entity in 0..3000 {
                let fading = shape.link(9, entity).unwrap();
                let ((a, b), (c, d)) = (fading.taps(0.0)[0], fading.taps(doppler * tau_ms * 1e-3)[0]);
                sum += f64::from(a * c + b * d);
            }
            let (found, expected) = (sum / 3000.0, j0(TAU * doppler * tau_ms * 1e-3));
            assert!((found - expected).abs() < 0.05, "{tau_ms} ms: {found} and {expected}");
        }
    }

    /// Correlation of complex gains: |R(df)| = |sum of p_i e^(-j 2 pi df tau_i)|. The correlation
    /// of powers is |R|^2 (jointly Gaussian). The test measures the correlation coefficient of the
    /// powers of block 0 and blocks 5, 20, 60 over 6000 links.
    #[test]
    fn blocks_are_correlated_as_the_delay_profile_says() {
        for profile in [FadingProfile::Epa, FadingProfile::Eva, FadingProfile::Etu] {
            let found = samples(profile, 6000, 2, &[0, 5, 20, 60]);
            let n = found[0].len() as f64;
            let mean = |x: &[f64]| x.iter().sum::<f64>() / n;
            let covariance = |x: &[f64], y: &[f64]| {
                let (mx, my) = (mean(x), mean(y));
                x.iter().zip(y).map(|(a, b)| (a - mx) * (b - my)).sum::<f64>() / n
            };
            for (i, df) in [(1, 5.0), (2, 20.0), (3, 60.0)] {
                let turn = |tau: f64| TAU * df * RESOURCE_BLOCK.0 * tau;
                let (re, im) = profile.taps().iter().fold((0.0, 0.0), |(re, im), (tau, p)| {
                    (re + p * math::cos(turn(*tau)), im - p * math::sin(turn(*tau)))
                });
                let expected = re * re + im * im;
                let variance = covariance(&found[0], &found[0]) * covariance(&found[i], &found[i]);
                let rho = covariance(&found[0], &found[i]) / variance.sqrt();
                assert!((rho - expected).abs() < 0.06, "{profile:?} {df}: {rho} and {expected}");
            }
        }
    }

    /// Rice: level crossings per second sqrt(2 pi) f_d rho e^(-rho^2), mean fade (e^(rho^2) - 1) /
    /// (rho f_d sqrt(2 pi)), in cycles with f_d = 1. 200 links over 100 cycles each.
    #[test]
    fn levels_are_crossed_and_fades_last_as_rice_says() {
        let shape = FadingShape::new(FadingProfile::Flat, 1);
        for rho in [0.1, 0.3, 1.0] {
            let (mut crossings, mut below, mut steps) = (0.0, 0.0, 0.0);
            for entity in 0..200 {
                let fading = shape.link(11, entity).unwrap();
                let mut gain = [0.0_f32];
                let mut was_below = true;
                for i in 0..20_000 {
                    fading.gains(f64::from(i) * 0.005, &mut gain);
                    let is_below = f64::from(gain[0]) < rho * rho;
                    crossings += f64::from(u8::from(was_below && !is_below && i > 0));
                    below += f64::from(u8::from(is_below));
                    steps += 1.0;
                    was_below = is_below;
                }
            }
            let rate = crossings / (steps * 0.005);
            let expected = TAU.sqrt() * rho * math::exp(-rho * rho);
            assert!((rate / expected - 1.0).abs() < 0.06, "rho {rho}: {rate} and {expected}");
            let duration = below * 0.005 / crossings;
            let expected = (math::exp(rho * rho) - 1.0) / (rho * TAU.sqrt());
            assert!((duration / expected - 1.0).abs() < 0.08, "rho {rho}: {duration} and {expected}");
        }
    }

    /// The definition for each block: H(f) = sum of h_l e^(-j 2 pi f tau_l), f from the middle of
    /// the carrier.
    #[test]
    fn pairs_of_blocks_are_what_each_block_is_by_itself() {
        for blocks in [1usize, 6, 15, 25, 100, 110] {
            let shape = FadingShape::new(FadingProfile::Etu, blocks);
            let fading = shape.link(3, 7).unwrap();
            let mut gains = vec![0.0; blocks];
            fading.gains(77.7, &mut gains);
            for (b, gain) in gains.iter().enumerate() {
                let f = RESOURCE_BLOCK.0 * (b as f64 - (blocks as f64 - 1.0) / 2.0);
                let (mut re, mut im) = (0.0, 0.0);
                for ((x, y), (tau, _)) in fading.taps(77.7).iter().zip(FadingProfile::Etu.taps()) {
                    let (c, s) = (math::cos(TAU * f * tau), math::sin(TAU * f * tau));
                    re += f64::from(*x) * c + f64::from(*y) * s;
                    im += f64::from(*y) * c - f64::from(*x) * s;
                }
                let expected = re * re + im * im;
                assert!((f64::from(*gain) - expected).abs() < 1e-4, "{blocks} {b}: {gain} and {expected}");
            }
        }
    }

    #[test]
    fn a_link_is_the_same_whatever_was_evaluated_before() {
        let shape = FadingShape::new(FadingProfile::Eva, 25);
        let (a, b) = (shape.link(3, 7).unwrap(), shape.link(3, 7).unwrap());
        let (mut x, mut y) = ([0.0; 25], [0.0; 25]);
        (0..100).for_each(|i| a.gains(f64::from(i), &mut x));
        a.gains(1234.5, &mut x);
        b.gains(1234.5, &mut y);
        assert_eq!(x, y);
        assert!(FadingShape::new(FadingProfile::None, 25).link(3, 7).is_none());
    }

    /// Blocks of 360 kHz around the middle are every other one of those of 180 kHz.
    #[test]
    fn the_width_of_a_block_is_a_parameter() {
        for profile in [FadingProfile::Eva, FadingProfile::Jakes { paths: 6, delay_spread: Duration(363) }] {
            let gains = |blocks: usize, width: f64| {
                let mut gains = vec![0.0; blocks];
                let link = FadingShape::of_width(profile, blocks, Hertz(width)).link(3, 7).unwrap();
                link.gains(12.3, &mut gains);
                gains
            };
            let (wide, narrow) = (gains(137, 360e3), gains(273, 180e3));
            for (a, b) in wide.iter().zip(narrow.iter().step_by(2)) {
                assert!((a - b).abs() < 1e-4, "{a} {b}");
            }
        }
    }

    /// SimuLTE's Jakes fading: as many sinusoids as paths, mean power 1.
    #[test]
    fn jakes_of_six_paths_has_mean_one() {
        let x =
            samples(FadingProfile::Jakes { paths: 6, delay_spread: Duration(363) }, 3000, 5, &[10]).remove(0);
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        assert!((mean - 1.0).abs() < 0.03, "{mean}");
    }
}
