//! `headdrop`: when the queue is full, the oldest packet is dropped, so that the loss is detected
//! one queueing delay earlier.

use lasthop_units::{Bytes, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kind::{DEFAULT_PACKETS, Discipline, LIMITS, QueueKind, Site, limit};
use super::{Fifo, Limit};
use crate::registry::Entry;
use crate::{DropCause, Dropped, Item};

/// Parameters of a head-drop queue. After an arrival both limits hold, where given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HeadDropConfig {
    /// Most packets waiting; the one being sent does not count. Without it and without `bytes`:
    /// 1000.
    pub packets: Option<u32>,
    /// Most bytes waiting; the packet being sent does not count. Without it: no limit.
    pub bytes: Option<Bytes>,
}

impl QueueKind for HeadDropConfig {
    const ENTRY: Entry = Entry {
        name: "headdrop",
        summary: "first in, first out; when it is full the oldest is dropped",
        source: "T. Lakshman, A. Neidhardt, T. Ott, \"The drop from front strategy in TCP and in TCP over ATM\", \
                 INFOCOM 1996; Linux pfifo_head_drop",
        parameters: LIMITS,
    };
    type Run = HeadDrop;

    fn limit(&self) -> Limit {
        limit(self.packets, self.bytes, DEFAULT_PACKETS)
    }
    fn has_phase_effects(&self) -> bool {
        true
    }
    fn build(&self, _site: &Site) -> HeadDrop {
        HeadDrop::new(self.limit())
    }
}

/// A running queue.
#[derive(Clone, Debug)]
pub(super) struct HeadDrop {
    fifo: Fifo,
    limit: Limit,
}

impl HeadDrop {
    /// Empty, with a limit.
    pub fn new(limit: Limit) -> HeadDrop {
        HeadDrop { fifo: Fifo::default(), limit }
    }
}

impl Discipline for HeadDrop {
    fn enqueue(&mut self, now: Instant, item: Item, drops: &mut Vec<Dropped>, _marked: &mut u64) {
        while !self.fifo.fits(&item, &self.limit) {
            // An item that no empty queue could hold is dropped itself.
            let Some(oldest) = self.fifo.pop() else {
                return drops.push(Dropped { at: now, item, cause: DropCause::QueueFull });
            };
            drops.push(Dropped { at: now, item: oldest, cause: DropCause::QueueFull });
        }
        self.fifo.push(item);
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
}
