//! One queue, first in first out, under an AQM.

use lasthop_units::{Bytes, Instant};

use super::aqm::{Aqm, Backlog, Parameters, Sight, Verdict};
use super::config::Policy;
use super::kind::{DEFAULT_PACKETS, Discipline, Kind, Site, Wrong, limit, mark};
use super::{Fifo, Limit};
use crate::registry::Entry;
use crate::{DropCause, Dropped, Item};

/// The parameters of an AQM with the limits of a queue.
pub(super) trait Limited {
    /// Those of the AQM.
    type Params: Parameters;
    fn params(&self) -> Self::Params;
    /// Most packets and bytes waiting.
    fn limits(&self) -> (Option<u32>, Option<Bytes>);
}

/// A kind of queue that is one FIFO under an AQM.
pub(super) trait ManagedKind: Limited {
    /// Its row of [`QUEUES`](super::QUEUES).
    const ENTRY: Entry;
    /// As [`Kind::never_marks`].
    fn never_marks(&self, _fit: u32) -> Option<(&'static str, String)> {
        None
    }
}

impl<T: ManagedKind> Kind for T
where
    Aqm: From<<T::Params as Parameters>::Run>,
{
    const ENTRY: Entry = <T as ManagedKind>::ENTRY;

    fn validate(&self) -> Result<(), Wrong> {
        self.params().validate()
    }
    fn limit(&self) -> Limit {
        let (packets, bytes) = self.limits();
        limit(packets, bytes, DEFAULT_PACKETS)
    }
    fn marks(&self) -> bool {
        self.params().marks()
    }
    fn never_marks(&self, fit: u32) -> Option<(&'static str, String)> {
        ManagedKind::never_marks(self, fit)
    }
    fn build(&self, site: &Site) -> Policy {
        let aqm = self.params().build(site).into();
        Policy::Managed(Box::new(Managed { fifo: Fifo::default(), limit: self.limit(), aqm }))
    }
}

/// One queue under an AQM.
#[derive(Clone, Debug)]
pub(super) struct Managed {
    fifo: Fifo,
    limit: Limit,
    aqm: Aqm,
}

impl Discipline for Managed {
    /// The AQM sees each arrival, also one that does not fit.
    fn enqueue(&mut self, now: Instant, mut item: Item, drops: &mut Vec<Dropped>, marked: &mut u64) {
        match self.aqm.arrives(now, sight(&item), backlog(&self.fifo)) {
            Verdict::Pass => {}
            Verdict::Mark => mark(&mut item, marked),
            Verdict::Drop => return drops.push(Dropped { at: now, item, cause: DropCause::Aqm }),
        }
        if self.fifo.fits(&item, &self.limit) {
            self.fifo.push(item);
        } else {
            drops.push(Dropped { at: now, item, cause: DropCause::QueueFull });
        }
    }

    fn dequeue(&mut self, now: Instant, drops: &mut Vec<Dropped>, marked: &mut u64) -> Option<Item> {
        loop {
            let mut item = self.fifo.pop()?;
            match self.aqm.leaves(now, sight(&item), item.enqueued, backlog(&self.fifo)) {
                Verdict::Pass => return Some(item),
                Verdict::Mark => {
                    mark(&mut item, marked);
                    return Some(item);
                }
                Verdict::Drop => drops.push(Dropped { at: now, item, cause: DropCause::Aqm }),
            }
        }
    }
    #[inline]
    fn packets(&self) -> usize {
        self.fifo.packets()
    }
    fn bytes(&self) -> u64 {
        self.fifo.bytes()
    }
    fn limit(&self) -> Limit {
        self.limit
    }
    fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }
}

pub(super) const fn sight(item: &Item) -> Sight {
    Sight { size: item.size, ecn: item.ecn }
}

pub(super) fn backlog(fifo: &Fifo) -> Backlog {
    Backlog { packets: fifo.packets() as u64, bytes: fifo.bytes() }
}
