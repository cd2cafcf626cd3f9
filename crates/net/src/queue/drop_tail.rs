//! `droptail`: a packet that arrives when the queue is full is dropped.

use lasthop_units::{Bytes, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kind::{DEFAULT_PACKETS, Discipline, LIMITS, QueueKind, Site, limit};
use super::{Fifo, Limit};
use crate::registry::Entry;
use crate::{DropCause, Dropped, Item};

/// Parameters of a drop-tail queue. A packet must fit both limits, where given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DropTailConfig {
    /// Most packets waiting; the one being sent does not count. Without it and without `bytes`:
    /// 1000.
    pub packets: Option<u32>,
    /// Most bytes waiting; the packet being sent does not count. Without it: no limit.
    pub bytes: Option<Bytes>,
}

impl QueueKind for DropTailConfig {
    const ENTRY: Entry = Entry {
        name: "droptail",
        summary: "first in, first out; what arrives when it is full is dropped",
        source: "ns-2 DropTail, ns-3 DropTailQueue, Linux pfifo/bfifo",
        parameters: LIMITS,
    };
    type Run = DropTail;

    fn limit(&self) -> Limit {
        limit(self.packets, self.bytes, DEFAULT_PACKETS)
    }
    fn has_phase_effects(&self) -> bool {
        true
    }
    fn build(&self, _site: &Site) -> DropTail {
        DropTail::new(self.limit())
    }
}

/// A running queue.
#[derive(Clone, Debug)]
pub(super) struct DropTail {
    fifo: Fifo,
    limit: Limit,
}

impl DropTail {
    /// Empty, with a limit.
    pub fn new(limit: Limit) -> DropTail {
        DropTail { fifo: Fifo::default(), limit }
    }
}

impl Discipline for DropTail {
    #[inline]
    fn enqueue(&mut self, now: Instant, item: Item, drops: &mut Vec<Dropped>, _marked: &mut u64) {
        if self.fifo.fits(&item, &self.limit) {
            self.fifo.push(item);
        } else {
            drops.push(Dropped { at: now, item, cause: DropCause::QueueFull });
        }
    }
    #[inline]
    fn dequeue(&mut self, _now: Instant, _drops: &mut Vec<Dropped>, _marked: &mut u64) -> Option<Item> {
        self.fifo.pop()
    }
    #[inline]
    fn packets(&self) -> usize {
        self.fifo.packets()
    }
    #[inline]
    fn bytes(&self) -> u64 {
        self.fifo.bytes()
    }
    fn limit(&self) -> Limit {
        self.limit
    }
    fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }
    #[inline]
    fn may_be_bypassed(&self) -> bool {
        true
    }
    fn only_delays(&self) -> bool {
        true
    }
}
