//! Distributions of times around a mean.

use lasthop_engine::Stream;
use lasthop_units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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

impl Distribution {
    /// A size with this `mean`, at least 1 [bytes].
    pub(super) fn draw_size(self, mean: u64, shape: f64, stream: &mut Stream) -> u64 {
        match self {
            Distribution::Constant => mean,
            Distribution::Exponential => (stream.exponential(mean as f64) as u64).max(1),
            Distribution::Pareto => (stream.pareto(shape, mean as f64 * (shape - 1.0) / shape) as u64).max(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_engine::{Draw, Purpose};

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
