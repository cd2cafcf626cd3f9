//! `file`: so many bytes, and the end of the stream.

use lasthop_units::{Bytes, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::distribution::Distribution;
use super::kind::{AppKind, Behaviour, Wrong, above_zero, parameter};
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
    #[serde(skip_serializing_if = "is_constant")]
    pub size_distribution: Distribution,
    /// Shape of a Pareto distribution, above 1.
    #[serde(skip_serializing_if = "is_usual")]
    pub shape: f64,
}

/// Of web traffic: M. E. Crovella and A. Bestavros, "Self-similarity in World Wide Web traffic",
/// IEEE/ACM Transactions on Networking 5(6), 1997, find shapes of 1.0 to 1.3 in file sizes.
const USUAL_SHAPE: f64 = 1.2;

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde requires a reference")]
fn is_constant(distribution: &Distribution) -> bool {
    *distribution == Distribution::Constant
}
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde requires a reference")]
fn is_usual(shape: &f64) -> bool {
    *shape == USUAL_SHAPE
}

impl Default for FileConfig {
    fn default() -> Self {
        FileConfig { size: Bytes(1_000_000), size_distribution: Distribution::Constant, shape: USUAL_SHAPE }
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
                "constant, exponential or pareto, over the flows of a table",
            ),
            parameter("shape", "1.2", "shape of a Pareto distribution, above 1"),
        ],
    };
    type Run = File;

    fn validate(&self, _over: Service) -> Result<(), Wrong> {
        above_zero("size", self.size.0)?;
        if self.shape.is_finite() && self.shape > 1.0 {
            return Ok(());
        }
        Err(("shape", format!("{} is out of range: a Pareto with a mean has a shape above 1", self.shape)))
    }
    fn run(&self) -> File {
        File { size: self.size.0, law: (self.size_distribution, self.shape) }
    }
    fn is_bulk(&self) -> bool {
        true
    }
    fn total(&self) -> Option<Bytes> {
        (self.size_distribution == Distribution::Constant).then_some(self.size)
    }
}

/// At work.
#[derive(Clone, Copy, Debug)]
pub(super) struct File {
    /// Until it starts: the mean.
    size: u64,
    /// The distribution of the size, and the shape.
    law: (Distribution, f64),
}

impl Behaviour for File {
    fn start(&mut self, _now: Instant, s: &mut Streams, out: &mut Vec<Action>) {
        self.size = self.law.0.draw_size(self.size, self.law.1, &mut s.draw.stream(0));
        s.close_when_written(End::A);
        s.want(End::A, self.size, out);
    }
    fn on_delivered(&mut self, now: Instant, end: End, s: &mut Streams, _out: &mut Vec<Action>) {
        if end == End::B && s.stats.delivered[1] >= self.size && s.stats.completion.is_none() {
            s.stats.completion = Some(now);
        }
    }
}
