//! Distributions of times and sizes around a mean.

use lasthop_engine::{Stream, math};
use lasthop_units::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kind::{Wrong, above_zero};

/// How a time is distributed around its mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Distribution {
    /// Always the mean.
    #[default]
    Constant,
    /// Exponential with that mean.
    Exponential,
    /// Pareto with that mean and the given shape.
    Pareto,
}

/// Times of one distribution.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub distribution: Distribution,
    pub mean: Duration,
    /// Of a Pareto distribution.
    pub shape: f64,
}

impl Times {
    /// The next.
    pub fn draw(&self, stream: &mut Stream) -> Duration {
        self.distribution.draw(self.mean, self.shape, stream)
    }
}

impl Distribution {
    /// A time with this `mean`; `shape` is that of a Pareto distribution.
    pub fn draw(self, mean: Duration, shape: f64, stream: &mut Stream) -> Duration {
        let seconds = mean.as_secs_f64();
        match self {
            Distribution::Constant => mean,
            Distribution::Exponential => Duration::from_secs_f64(stream.exponential(seconds)),
            // The mean of a Pareto is min * shape / (shape - 1).
            Distribution::Pareto => {
                Duration::from_secs_f64(stream.pareto(shape, seconds * (shape - 1.0) / shape))
            }
        }
    }
}

/// How a size is distributed around its mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SizeDistribution {
    /// Always the mean.
    #[default]
    Constant,
    /// Exponential with that mean.
    Exponential,
    /// Pareto with that mean and the given `shape`.
    Pareto,
    /// Lognormal with that mean; `sigma` is the standard deviation of its logarithm.
    Lognormal,
    /// Uniform, from `smallest` to a size as far above the mean.
    Uniform,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde requires a reference")]
impl SizeDistribution {
    pub(super) fn is_constant(&self) -> bool {
        *self == SizeDistribution::Constant
    }
}

/// Shape of a Pareto distribution of sizes. M. E. Crovella and A. Bestavros, "Self-similarity in
/// World Wide Web traffic", IEEE/ACM Transactions on Networking 5(6), 1997, find shapes of 1.0 to
/// 1.3 in file sizes.
pub(super) const USUAL_SHAPE: f64 = 1.2;
/// Of a lognormal distribution of sizes: chosen here.
pub(super) const USUAL_SIGMA: f64 = 1.0;

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde requires a reference")]
pub(super) fn is_usual_shape(shape: &f64) -> bool {
    *shape == USUAL_SHAPE
}
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde requires a reference")]
pub(super) fn is_usual_sigma(sigma: &f64) -> bool {
    *sigma == USUAL_SIGMA
}
pub(super) const fn is_one(size: &Bytes) -> bool {
    size.0 == 1
}

/// Sizes of one distribution, at least 1 B each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub distribution: SizeDistribution,
    pub mean: u64,
    /// Of a Pareto distribution.
    pub shape: f64,
    /// Of a lognormal distribution.
    pub sigma: f64,
    /// Of a uniform distribution.
    pub smallest: u64,
}

impl Sizes {
    /// The first mistake: its key and a description.
    pub fn validate(&self) -> Result<(), Wrong> {
        above_zero("size", self.mean)?;
        if !(self.shape.is_finite() && self.shape > 1.0) {
            let text = format!("{} is out of range: a Pareto with a mean has a shape above 1", self.shape);
            return Err(("shape", text));
        }
        if !(self.sigma > 0.0 && self.sigma <= 5.0) {
            return Err(("sigma", format!("{} is out of range: above 0, up to 5", self.sigma)));
        }
        if !(1..=self.mean).contains(&self.smallest) {
            let text = format!("{} is out of range: 1 B to `size`, which is the mean", Bytes(self.smallest));
            return Err(("smallest", text));
        }
        Ok(())
    }
    /// The next [bytes].
    pub fn draw(&self, stream: &mut Stream) -> u64 {
        let mean = self.mean as f64;
        let size = match self.distribution {
            SizeDistribution::Constant => return self.mean,
            SizeDistribution::Uniform => {
                return self.smallest + stream.below((2 * (self.mean - self.smallest)).saturating_add(1));
            }
            SizeDistribution::Exponential => stream.exponential(mean),
            // The mean of a Pareto is min * shape / (shape - 1).
            SizeDistribution::Pareto => stream.pareto(self.shape, mean * (self.shape - 1.0) / self.shape),
            // The mean of a lognormal is exp(mu + sigma^2 / 2).
            SizeDistribution::Lognormal => {
                mean * math::exp(self.sigma * stream.normal() - self.sigma * self.sigma / 2.0)
            }
        };
        (size as u64).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_engine::{Draw, Purpose};

    /// n = 10^5, mean 550 kB, standard deviations as shares of the mean: exponential 1; Pareto of
    /// shape 3 1.15 (above); lognormal of sigma 1 sqrt(e - 1) = 1.31; uniform from 100 kB to 1 MB
    /// 900 kB / sqrt(12) = 0.47. Five standard errors each. The median of a lognormal is exp(-1/2)
    /// of its mean, of an exponential ln 2.
    #[test]
    fn sizes_have_their_mean_and_their_median() {
        let draw = Draw::new(1, Purpose::Test, 1);
        let sizes = |distribution| {
            let law = Sizes { distribution, mean: 550_000, shape: 3.0, sigma: 1.0, smallest: 100_000 };
            law.validate().unwrap();
            let mut all: Vec<u64> = (0..100_000).map(|n| law.draw(&mut draw.stream(n))).collect();
            all.sort_unstable();
            all
        };
        let cases = [
            (SizeDistribution::Exponential, 1.0, std::f64::consts::LN_2),
            (SizeDistribution::Pareto, 1.15, 2.0 / 3.0 * math::pow(2.0, 1.0 / 3.0)),
            (SizeDistribution::Lognormal, 1.31, math::exp(-0.5)),
            (SizeDistribution::Uniform, 0.47, 1.0),
        ];
        for (distribution, deviation, median) in cases {
            let all = sizes(distribution);
            let mean = all.iter().sum::<u64>() as f64 / 1e5 / 550e3;
            assert!((mean - 1.0).abs() < 5.0 * deviation / 1e5f64.sqrt(), "{distribution:?} {mean}");
            let middle = all[50_000] as f64 / 550e3;
            assert!((middle / median - 1.0).abs() < 0.02, "{distribution:?} {middle}");
        }
        let uniform = sizes(SizeDistribution::Uniform);
        // Of 10^5 draws from 900,001 values the ends miss by 9 B on average: within 100 B.
        assert!((100_000..100_100).contains(&uniform[0]) && uniform[99_999] > 999_900);
    }

    /// n = 10^5, mean 2 s: exponential has standard error 2 / sqrt(n) = 6.3 ms; a Pareto of shape 3
    /// has a standard deviation of mean / sqrt(shape (shape - 2)) = 1.15 s, so 3.7 ms.
    #[test]
    fn times_have_their_mean() {
        let draw = Draw::new(1, Purpose::Test, 0);
        let mean = |d: Distribution| {
            let time = |n| d.draw(Duration::from_secs(2), 3.0, &mut draw.stream(n)).as_secs_f64();
            (0..100_000).map(time).sum::<f64>() / 1e5
        };
        assert_eq!(mean(Distribution::Constant), 2.0);
        assert!((mean(Distribution::Exponential) - 2.0).abs() < 5.0 * 0.0063);
        assert!((mean(Distribution::Pareto) - 2.0).abs() < 5.0 * 0.0037);
    }
}
