//! `infinite`: first in, first out, without any limit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Limit;
use super::config::Policy;
use super::drop_tail::DropTail;
use super::kind::{Kind, Site};
use crate::registry::Entry;

/// Parameters of a queue without limit: none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct InfiniteConfig {}

impl Kind for InfiniteConfig {
    const ENTRY: Entry = Entry {
        name: "infinite",
        summary: "first in, first out, without any limit",
        source: "Mahimahi infinite",
        parameters: &[],
    };

    fn limit(&self) -> Limit {
        Limit::default()
    }
    fn build(&self, _site: &Site) -> Policy {
        Policy::DropTail(DropTail::new(self.limit()))
    }
}
