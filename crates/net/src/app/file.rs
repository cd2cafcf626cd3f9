//! `file`: so many bytes, and the end of the stream.

use lasthop_units::{Bytes, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kind::{AppKind, Behaviour, Wrong, above_zero, parameter};
use super::streams::{Service, Streams};
use super::{Action, End};
use crate::registry::Entry;

/// Parameters of `file`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FileConfig {
    /// Size of the file.
    pub size: Bytes,
}

impl Default for FileConfig {
    fn default() -> Self {
        FileConfig { size: Bytes(1_000_000) }
    }
}

impl AppKind for FileConfig {
    const ENTRY: Entry = Entry {
        name: "file",
        summary: "sends a file and closes (TCP)",
        source: "ns-3 BulkSend with MaxBytes",
        parameters: &[parameter("size", "1 MB", "size of the file")],
    };
    type Run = File;

    fn validate(&self, _over: Service) -> Result<(), Wrong> {
        above_zero("size", self.size.0)
    }
    fn run(&self) -> File {
        File { size: self.size.0 }
    }
    fn is_bulk(&self) -> bool {
        true
    }
    fn total(&self) -> Option<Bytes> {
        Some(self.size)
    }
}

/// At work.
#[derive(Clone, Copy, Debug)]
pub(super) struct File {
    size: u64,
}

impl Behaviour for File {
    fn start(&mut self, _now: Instant, s: &mut Streams, out: &mut Vec<Action>) {
        s.close_when_written(End::A);
        s.want(End::A, self.size, out);
    }
    fn on_delivered(&mut self, now: Instant, end: End, s: &mut Streams, _out: &mut Vec<Action>) {
        if end == End::B && s.stats.delivered[1] >= self.size && s.stats.completion.is_none() {
            s.stats.completion = Some(now);
        }
    }
}
