//! `bulk`: data without end.

use lasthop_units::Instant;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kind::{AppKind, Behaviour};
use super::streams::{ENDLESS, Streams};
use super::{Action, End};
use crate::registry::Entry;

/// Parameters of `bulk`: none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BulkConfig {}

impl AppKind for BulkConfig {
    const ENTRY: Entry = Entry {
        name: "bulk",
        summary: "sends for ever, as fast as the transport takes it (TCP)",
        source: "ns-2 FTP, ns-3 BulkSend with MaxBytes 0",
        parameters: &[],
    };
    type Run = Bulk;

    fn run(&self) -> Bulk {
        Bulk
    }
    fn is_bulk(&self) -> bool {
        true
    }
}

/// At work.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bulk;

impl Behaviour for Bulk {
    fn start(&mut self, _now: Instant, s: &mut Streams, out: &mut Vec<Action>) {
        s.want(End::A, ENDLESS, out);
    }
}
