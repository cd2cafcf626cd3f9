//! Keyed randomness: a draw is a function of its purpose, not of the number of draws before it.
//!
//! `Draw(seed, purpose, entity).at(index)` gives the same value whichever entities exist and
//! whichever TTIs were skipped, so adding a UE leaves all other draws unchanged. Two scenarios that
//! differ in one thing share the rest (common random numbers). The function is Philox2x64-10 (J.
//! Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011), a
//! counter-based generator that passes BigCrush.

use crate::math;

/// The purpose of a draw. It is part of the key: the numbers never change, new purposes are
/// appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Purpose {
    /// Loss of a packet on a wired pipe.
    PipeLoss = 1,
    /// Decoding error of a transport block.
    BlockError = 2,
    /// Start times and gaps of applications.
    Traffic = 3,
    /// Initial sequence numbers.
    InitialSequence = 4,
    /// Extra delay of a pipe (jitter) and duplication.
    PipeJitter = 5,
    /// Active queue management.
    Aqm = 6,
    /// Losses of a wired pipe in bursts.
    PipeBurst = 12,
    /// Tests and the swarm.
    Test = 7,
    /// Small-scale fading of a radio link.
    Fading = 8,
    /// Shadowing of radio links.
    Shadowing = 9,
    /// Line of sight.
    LineOfSight = 10,
    /// Position and movement of a terminal.
    Mobility = 11,
    /// Preambles and back-off of random access.
    RandomAccess = 16,
    /// Errors and losses of capacity hints.
    Hint = 24,
    /// Back-off of stations on a wireless LAN.
    BackOff = 48,
    /// Errors of frames on a wireless LAN.
    FrameError = 49,
    /// The rates that a rate control samples.
    RateSampling = 50,
    /// Uptime of a host.
    Uptime = 51,
    /// Draws of a media rate control of the caller's own.
    RateControl = 52,
}

/// A keyed source of draws.
#[derive(Clone, Copy, Debug)]
pub struct Draw {
    key: u64,
}

/// SplitMix64's finaliser (Steele, Lea, Flood 2014): a bijection that scatters neighbouring inputs.
const fn scatter(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

const fn philox2x64(mut c0: u64, mut c1: u64, mut key: u64) -> (u64, u64) {
    const MULTIPLIER: u64 = 0xd2b7_4407_b1ce_6e93;
    let mut round = 0;
    while round < 10 {
        let product = (c0 as u128) * (MULTIPLIER as u128);
        c0 = ((product >> 64) as u64) ^ key ^ c1;
        c1 = product as u64;
        key = key.wrapping_add(GOLDEN);
        round += 1;
    }
    (c0, c1)
}

impl Draw {
    /// The draws of `entity` for `purpose` in the run `seed`.
    pub const fn new(seed: u64, purpose: Purpose, entity: u64) -> Draw {
        let k = scatter(seed.wrapping_add(GOLDEN));
        let k = scatter(k ^ (purpose as u64).wrapping_mul(GOLDEN));
        Draw { key: scatter(k ^ entity.wrapping_add(1).wrapping_mul(0xd1b5_4a32_d192_ed03)) }
    }

    /// The 64 random bits with number `index`.
    #[inline]
    pub const fn bits(self, index: u64) -> u64 {
        philox2x64(index, 0, self.key).0
    }

    /// Uniform on [0, 1), 53 bits.
    #[inline]
    pub const fn uniform(self, index: u64) -> f64 {
        (self.bits(index) >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// True with probability `p`; one comparison, exact at 0 and 1.
    #[inline]
    pub const fn happens(self, index: u64, p: f64) -> bool {
        self.uniform(index) < p
    }

    /// A stream of draws that all belong to `index` (rejection sampling, several values for one
    /// event).
    pub const fn stream(self, index: u64) -> Stream {
        Stream { key: self.key, index, n: 0 }
    }
}

/// Successive draws under one key and index.
#[derive(Clone, Debug)]
pub struct Stream {
    key: u64,
    index: u64,
    n: u64,
}

impl Stream {
    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.n += 1;
        philox2x64(self.index, self.n, self.key).0
    }
    /// Uniform on [0, 1).
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }
    /// Uniform on the integers `0..n` (n > 0), without bias (Lemire's rejection, TOMACS 2019).
    pub fn below(&mut self, n: u64) -> u64 {
        debug_assert!(n > 0);
        loop {
            let product = u128::from(self.bits()) * u128::from(n);
            if (product as u64) >= n.wrapping_neg() % n {
                return (product >> 64) as u64;
            }
        }
    }
    /// Exponential with the given mean (inversion).
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * math::ln(1.0 - self.uniform())
    }
    /// Standard normal (Box-Muller; the second value is not kept, so calls are independent of each
    /// other).
    pub fn normal(&mut self) -> f64 {
        let r = math::sqrt(-2.0 * math::ln(1.0 - self.uniform()));
        r * math::cos(std::f64::consts::TAU * self.uniform())
    }
    /// Pareto with shape `alpha` > 0 and minimum `min` (inversion).
    pub fn pareto(&mut self, alpha: f64, min: f64) -> f64 {
        min * math::pow(1.0 - self.uniform(), -1.0 / alpha)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Known answers of the Random123 distribution (kat_vectors, philox2x64 with 10 rounds).
    #[test]
    fn philox_gives_the_published_answers() {
        assert_eq!(philox2x64(0, 0, 0), (0xca00_a045_9843_d731, 0x66c2_4222_c9a8_45b5));
        let ones = u64::MAX;
        assert_eq!(philox2x64(ones, ones, ones), (0x65b0_21d6_0cd8_310f, 0x4d02_f322_2f86_df20));
        assert_eq!(
            philox2x64(0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7344, 0xa409_3822_299f_31d0),
            (0x0a5e_742c_2997_341c, 0xb0f8_83d3_8000_de5d)
        );
    }

    /// Values that every machine must give and that must never change, because results depend on
    /// them. Computed from the definition in another language.
    #[test]
    fn draws_are_fixed_for_ever() {
        let d = Draw::new(1, Purpose::BlockError, 0);
        assert_eq!(d.bits(0), 0x2403_dab6_957d_52bf);
        assert_eq!(d.bits(1), 0x276e_5dc8_d7c0_d42f);
        assert_eq!(d.uniform(0), 0.140_683_812_690_885_6);
        assert_eq!(Draw::new(2, Purpose::BlockError, 0).bits(0), 0xc3e0_95c6_cac3_7046);
        assert_eq!(Draw::new(1, Purpose::PipeLoss, 0).bits(0), 0xfba4_072c_85b2_04f5);
        assert_eq!(Draw::new(1, Purpose::BlockError, 1).bits(0), 0x0a16_1a36_5312_3c15);
        let last = u64::MAX;
        assert_eq!(Draw::new(last, Purpose::Test, last).bits(last), 0x3344_4588_ad87_3c9f);
        let mut stream = Draw::new(1, Purpose::Traffic, 5).stream(9);
        assert_eq!((stream.bits(), stream.bits()), (0x534d_f120_817d_f1e1, 0xcce5_25a5_645f_489c));
    }

    /// n = 10^5 uniform draws: mean 1/2 with standard error 1/sqrt(12 n) = 9.1e-4, bound at 5 of
    /// them.
    #[test]
    fn moments_are_those_of_the_distributions() {
        let d = Draw::new(7, Purpose::Test, 3);
        let n = 100_000;
        let mean = |f: &dyn Fn(u64) -> f64| (0..n).map(f).sum::<f64>() / n as f64;
        assert!((mean(&|i| d.uniform(i)) - 0.5).abs() < 4.6e-3);
        assert!((mean(&|i| f64::from(d.happens(i, 0.05))) - 0.05).abs() < 5.0 * 6.9e-4);
        assert!((mean(&|i| d.stream(i).exponential(2.0)) - 2.0).abs() < 5.0 * 6.4e-3);
        assert!(mean(&|i| d.stream(i).normal()).abs() < 5.0 * 3.2e-3);
        assert!((mean(&|i| d.stream(i).normal().powi_2()) - 1.0).abs() < 5.0 * 4.5e-3);
        assert!((mean(&|i| d.stream(i).below(10) as f64) - 4.5).abs() < 5.0 * 9.1e-3);
    }

    trait Square {
        fn powi_2(self) -> f64;
    }
    impl Square for f64 {
        fn powi_2(self) -> f64 {
            self * self
        }
    }

    #[test]
    fn certain_and_impossible_events_are_exact() {
        let d = Draw::new(1, Purpose::Test, 0);
        assert!((0..1000).all(|i| !d.happens(i, 0.0) && d.happens(i, 1.0)));
    }
}
