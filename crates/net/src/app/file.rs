//! `file`: a number of bytes, and the end of the stream.

use lasthop_units::{Bytes, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::distribution::{
    SizeDistribution, Sizes, USUAL_SHAPE, USUAL_SIGMA, is_one, is_usual_shape, is_usual_sigma,
};
use super::kind::{AppContext, AppKind, Behaviour, Fault, Wrong, parameter};
use super::streams::{Service, Streams};
use super::{Action, End};
use crate::registry::Entry;

/// Parameters of `file`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FileConfig {
    /// Size of the file; with `size_distribution` the mean.
    pub size: Bytes,
    /// Distribution of the size over the flows of a table; at least 1 B each.
    #[serde(skip_serializing_if = "SizeDistribution::is_constant")]
    pub size_distribution: SizeDistribution,
    /// Shape of a Pareto distribution, above 1.
    #[serde(skip_serializing_if = "is_usual_shape")]
    pub shape: f64,
    /// Standard deviation of the logarithm in a lognormal distribution, up to 5.
    #[serde(skip_serializing_if = "is_usual_sigma")]
    pub sigma: f64,
    /// Smallest size in a uniform distribution; the largest is as far above the mean as this is
    /// below.
    #[serde(skip_serializing_if = "is_one")]
    pub smallest: Bytes,
}

impl Default for FileConfig {
    fn default() -> Self {
        FileConfig {
            size: Bytes(1_000_000),
            size_distribution: SizeDistribution::Constant,
            shape: USUAL_SHAPE,
            sigma: USUAL_SIGMA,
            smallest: Bytes(1),
        }
    }
}

impl FileConfig {
    const fn sizes(&self) -> Sizes {
        Sizes {
            distribution: self.size_distribution,
            mean: self.size.0,
            shape: self.shape,
            sigma: self.sigma,
            smallest: self.smallest.0,
        }
    }
}

impl AppKind for FileConfig {
    const ENTRY: Entry = Entry {
        name: "file",
        summary: "sends a file and closes (TCP)",
        source: "ns-3 BulkSend with MaxBytes",
        parameters: &[
            parameter("size", "1 MB", "size of the file, or its mean"),
            parameter(
                "size_distribution",
                "constant",
                "constant, exponential, pareto, lognormal or uniform, over the flows of a table",
            ),
            parameter("shape", "1.2", "shape of a Pareto distribution, above 1"),
            parameter("sigma", "1", "standard deviation of the logarithm in a lognormal distribution"),
            parameter("smallest", "1 B", "smallest size in a uniform distribution"),
        ],
    };
    type Run = File;

    fn validate(&self, _over: Service) -> Result<(), Wrong> {
        self.sizes().validate()
    }
    fn run(&self, _: &AppContext<'_>) -> Result<File, Fault> {
        Ok(File { size: self.size.0, law: self.sizes() })
    }
    fn is_bulk(&self) -> bool {
        true
    }
    fn total(&self) -> Option<Bytes> {
        self.size_distribution.is_constant().then_some(self.size)
    }
}

/// A running transfer.
#[derive(Clone, Copy, Debug)]
pub(super) struct File {
    /// Until it starts: the mean.
    size: u64,
    law: Sizes,
}

impl Behaviour for File {
    fn start(&mut self, _now: Instant, s: &mut Streams, out: &mut Vec<Action>) {
        self.size = self.law.draw(&mut s.draw.stream(0));
        s.close_when_written(End::A);
        s.add_data(End::A, self.size, out);
    }
    fn on_delivered(&mut self, now: Instant, end: End, s: &mut Streams, _out: &mut Vec<Action>) {
        if end == End::B && s.stats.delivered[1] >= self.size && s.stats.completion.is_none() {
            s.stats.completion = Some(now);
        }
    }
}
