//! One queue, first in first out, under an AQM.

use lasthop_units::Instant;

use super::aqm::{Aqm, Backlog, ManagedKind, Parameters, Sight, Verdict};
use super::kind::{DEFAULT_PACKETS, Discipline, QueueKind, Site, Wrong, limit, mark};
use super::{Fifo, Limit};
use crate::registry::Entry;
use crate::{DropCause, Dropped, Item};

impl<T: ManagedKind> QueueKind for T
where
    Aqm: From<<T::Params as Parameters>::Run>,
{
    const ENTRY: Entry = <T as ManagedKind>::ENTRY;
    type Run = Box<Managed>;

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
    fn build(&self, site: &Site) -> Box<Managed> {
        let aqm = self.params().build(site).into();
        Box::new(Managed { fifo: Fifo::default(), limit: self.limit(), aqm })
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
    /// The AQM processes each arrival, also one that does not fit.
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
