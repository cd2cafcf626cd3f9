//! `infinite`: first in, first out, without any limit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Limit;
use super::drop_tail::DropTail;
use super::kind::{QueueKind, Site};
use crate::registry::Entry;

/// Parameters of a queue without limit: none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct InfiniteConfig {}

impl QueueKind for InfiniteConfig {
    const ENTRY: Entry = Entry {
        name: "infinite",
        summary: "first in, first out, without any limit",
        source: "Mahimahi infinite",
        parameters: &[],
    };
    type Run = DropTail;

    fn limit(&self) -> Limit {
        Limit::default()
    }
    fn build(&self, _site: &Site) -> DropTail {
        DropTail::new(self.limit())
    }
}
