//! Queues: small policies over one mechanism.
//!
//! Contract: `enqueue(now, item, drops)` takes the item or drops it (or others) with a cause;
//! `dequeue(now, drops)` gives the next item, and may drop some on the way and mark the one it
//! gives (an AQM's place to decide). Both are called with the true moment, in order of time, also
//! when a pipe catches up late. A queue owns no timer: what an AQM does periodically it computes
//! from `now`.
//!
//! A queue holds **waiting** packets only. The packet being serialised has left it and counts
//! against no limit (the habit of ns-2, ns-3 and Linux; so a limit of zero packets is a link
//! without a buffer, not a dead one).

pub mod aqm;
mod config;
mod dualpi2;
mod fifo;
mod fq_codel;

pub use config::{
    CodelConfig, DropTailConfig, DualPi2Config, FqCodelConfig, HeadDropConfig, InfiniteConfig, PieConfig,
    QUEUES, QueueConfig, RedConfig, Scheduler, Site, StepConfig,
};
pub use fifo::{Fifo, Limit};

use lasthop_units::Instant;

use crate::{DropCause, Dropped, Ecn, Item};
use aqm::{Aqm, Backlog, Sight, Verdict};
use dualpi2::DualPi2;
use fq_codel::FqCodel;

/// A queue of one of the kinds in [`QUEUES`].
#[derive(Clone, Debug)]
pub struct Queue {
    policy: Policy,
    /// Packets that it has marked.
    marked: u64,
    account: Account,
}

/// What differs between queues.
#[derive(Clone, Debug)]
enum Policy {
    DropTail { fifo: Fifo, limit: Limit },
    HeadDrop { fifo: Fifo, limit: Limit },
    Managed(Box<Managed>),
    FqCodel(Box<FqCodel>),
    DualPi2(Box<DualPi2>),
}

/// One queue under an AQM.
#[derive(Clone, Debug)]
struct Managed {
    fifo: Fifo,
    limit: Limit,
    aqm: Aqm,
}

/// Debug account: everything that went in is out, dropped or inside.
#[derive(Clone, Debug, Default)]
struct Account {
    packets_in: u64,
    bytes_in: u64,
    packets_gone: u64,
    bytes_gone: u64,
}

impl Queue {
    /// Drops what arrives when it is full.
    pub fn drop_tail(limit: Limit) -> Queue {
        Queue::of(Policy::DropTail { fifo: Fifo::default(), limit })
    }

    /// Drops the oldest to make room for what arrives: the sender hears of it one queueing delay
    /// sooner.
    pub fn head_drop(limit: Limit) -> Queue {
        Queue::of(Policy::HeadDrop { fifo: Fifo::default(), limit })
    }

    /// One queue under an active queue management.
    pub fn managed(limit: Limit, aqm: Aqm) -> Queue {
        Queue::of(Policy::Managed(Box::new(Managed { fifo: Fifo::default(), limit, aqm })))
    }

    /// Flow queues with CoDel on each.
    pub fn fq_codel(config: &FqCodelConfig, site: &Site) -> Queue {
        Queue::of(Policy::FqCodel(Box::new(FqCodel::new(config, site))))
    }

    /// A queue for L4S and one for Classic traffic.
    pub fn dualpi2(config: &DualPi2Config) -> Queue {
        Queue::of(Policy::DualPi2(Box::new(DualPi2::new(config))))
    }

    fn of(policy: Policy) -> Queue {
        Queue { policy, marked: 0, account: Account::default() }
    }

    /// Takes `item` in, or drops it or others into `drops`. Sets `item.enqueued` to `now`.
    #[inline]
    pub fn enqueue(&mut self, now: Instant, mut item: Item, drops: &mut Vec<Dropped>) {
        item.enqueued = now;
        let before = drops.len();
        match &mut self.policy {
            Policy::DropTail { fifo, limit } => {
                if fifo.fits(&item, limit) {
                    fifo.push(item);
                } else {
                    drops.push(Dropped { at: now, item, cause: DropCause::QueueFull });
                }
            }
            Policy::HeadDrop { fifo, limit } => enqueue_dropping_head(fifo, limit, now, item, drops),
            Policy::Managed(q) => q.enqueue(now, item, drops, &mut self.marked),
            Policy::FqCodel(q) => q.enqueue(now, item, drops),
            Policy::DualPi2(q) => q.enqueue(now, item, drops),
        }
        self.note(Some(&item), None, &drops[before..]);
    }

    /// The next item, after dropping into `drops` what the policy drops before it.
    #[inline]
    pub fn dequeue(&mut self, now: Instant, drops: &mut Vec<Dropped>) -> Option<Item> {
        let before = drops.len();
        let item = match &mut self.policy {
            Policy::DropTail { fifo, .. } | Policy::HeadDrop { fifo, .. } => fifo.pop(),
            Policy::Managed(q) => q.dequeue(now, drops, &mut self.marked),
            Policy::FqCodel(q) => q.dequeue(now, drops, &mut self.marked),
            Policy::DualPi2(q) => q.dequeue(now, drops, &mut self.marked),
        };
        self.note(None, item.as_ref(), &drops[before..]);
        item
    }

    /// True if an item that meets an empty queue and an idle server may go by the queue untouched.
    #[inline]
    pub(crate) fn may_be_bypassed(&self) -> bool {
        match &self.policy {
            Policy::DropTail { .. } | Policy::HeadDrop { .. } => true,
            Policy::Managed(_) | Policy::FqCodel(_) | Policy::DualPi2(_) => false,
        }
    }

    /// The server looked for an item, found none and went idle.
    #[inline]
    pub(crate) fn found_empty(&mut self) {
        if let Policy::FqCodel(q) = &mut self.policy {
            q.found_empty();
        }
    }

    /// Packets marked (ECN) so far.
    pub const fn marked(&self) -> u64 {
        self.marked
    }

    /// Packets waiting.
    #[inline]
    pub fn packets(&self) -> usize {
        match &self.policy {
            Policy::DropTail { fifo, .. } | Policy::HeadDrop { fifo, .. } => fifo.packets(),
            Policy::Managed(q) => q.fifo.packets(),
            Policy::FqCodel(q) => q.packets(),
            Policy::DualPi2(q) => q.packets(),
        }
    }

    /// Bytes waiting.
    pub fn bytes(&self) -> u64 {
        match &self.policy {
            Policy::DropTail { fifo, .. } | Policy::HeadDrop { fifo, .. } => fifo.bytes(),
            Policy::Managed(q) => q.fifo.bytes(),
            Policy::FqCodel(q) => q.bytes(),
            Policy::DualPi2(q) => q.bytes(),
        }
    }

    /// True without waiting packets.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.packets() == 0
    }

    /// The limit in force.
    pub fn limit(&self) -> Limit {
        match &self.policy {
            Policy::DropTail { limit, .. } | Policy::HeadDrop { limit, .. } => *limit,
            Policy::Managed(q) => q.limit,
            Policy::FqCodel(q) => q.limit,
            Policy::DualPi2(q) => q.limit,
        }
    }

    /// A new limit, from now on. What is inside stays, even above a smaller limit: only arrivals
    /// are judged (head-drop makes room at the next arrival).
    pub fn set_limit(&mut self, new: Limit) {
        match &mut self.policy {
            Policy::DropTail { limit, .. } | Policy::HeadDrop { limit, .. } => *limit = new,
            Policy::Managed(q) => q.limit = new,
            Policy::FqCodel(q) => q.limit = new,
            Policy::DualPi2(q) => q.limit = new,
        }
    }

    #[inline]
    fn note(&mut self, entered: Option<&Item>, left: Option<&Item>, dropped: &[Dropped]) {
        if cfg!(debug_assertions) {
            let a = &mut self.account;
            if let Some(item) = entered {
                a.packets_in += 1;
                a.bytes_in += u64::from(item.size);
            }
            for item in left.into_iter().chain(dropped.iter().map(|d| &d.item)) {
                a.packets_gone += 1;
                a.bytes_gone += u64::from(item.size);
            }
            let (packets_in, bytes_in) = (a.packets_in, a.bytes_in);
            let (packets_gone, bytes_gone) = (a.packets_gone, a.bytes_gone);
            assert_eq!(packets_in, packets_gone + self.packets() as u64, "packets in = gone + inside");
            assert_eq!(bytes_in, bytes_gone + self.bytes(), "bytes in = gone + inside");
        }
    }
}

impl Managed {
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
}

const fn sight(item: &Item) -> Sight {
    Sight { size: item.size, ecn: item.ecn }
}

fn backlog(fifo: &Fifo) -> Backlog {
    Backlog { packets: fifo.packets() as u64, bytes: fifo.bytes() }
}

/// Congestion experienced; counts a packet once.
fn mark(item: &mut Item, marked: &mut u64) {
    *marked += u64::from(item.ecn != Ecn::Ce);
    item.ecn = Ecn::Ce;
}

fn enqueue_dropping_head(fifo: &mut Fifo, limit: &Limit, now: Instant, item: Item, drops: &mut Vec<Dropped>) {
    while !fifo.fits(&item, limit) {
        // An item that no empty queue could hold is dropped itself.
        let Some(oldest) = fifo.pop() else {
            drops.push(Dropped { at: now, item, cause: DropCause::QueueFull });
            return;
        };
        drops.push(Dropped { at: now, item: oldest, cause: DropCause::QueueFull });
    }
    fifo.push(item);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::item;
    use proptest::prelude::*;

    fn sizes(drops: &[Dropped]) -> Vec<u32> {
        drops.iter().map(|d| d.item.size).collect()
    }

    #[test]
    fn a_full_droptail_queue_drops_the_newcomer_and_head_drop_the_oldest() {
        let limit = Limit { packets: Some(2), bytes: None };
        for (mut q, dropped, left) in
            [(Queue::drop_tail(limit), [3], [1, 2]), (Queue::head_drop(limit), [1], [2, 3])]
        {
            let mut drops = Vec::new();
            for size in 1..=3 {
                q.enqueue(Instant(7), item(0, size), &mut drops);
            }
            assert_eq!(sizes(&drops), dropped);
            assert_eq!((drops[0].at, drops[0].cause), (Instant(7), DropCause::QueueFull));
            let out: Vec<u32> =
                std::iter::from_fn(|| q.dequeue(Instant(8), &mut drops)).map(|i| i.size).collect();
            assert_eq!(out, left);
        }
    }

    #[test]
    fn a_byte_limit_lets_a_small_packet_pass_where_a_large_one_is_dropped() {
        let mut q = Queue::drop_tail(Limit { packets: None, bytes: Some(2_000) });
        let mut drops = Vec::new();
        q.enqueue(Instant(0), item(0, 1_500), &mut drops);
        q.enqueue(Instant(0), item(0, 1_500), &mut drops);
        q.enqueue(Instant(0), item(0, 500), &mut drops);
        assert_eq!((q.packets(), q.bytes(), drops.len()), (2, 2_000, 1));
        // A limit below one packet drops that packet itself under head-drop, and keeps nothing
        // else.
        let mut q = Queue::head_drop(Limit { packets: None, bytes: Some(100) });
        drops.clear();
        q.enqueue(Instant(0), item(0, 60), &mut drops);
        q.enqueue(Instant(0), item(0, 101), &mut drops);
        assert_eq!((sizes(&drops), q.packets()), (vec![60, 101], 0));
    }

    #[test]
    fn a_smaller_limit_judges_arrivals_only() {
        let mut q = Queue::drop_tail(Limit::default());
        let mut drops = Vec::new();
        (0..5).for_each(|i| q.enqueue(Instant(i), item(0, 100), &mut drops));
        q.set_limit(Limit { packets: Some(1), bytes: None });
        assert_eq!((q.packets(), drops.len()), (5, 0));
        q.enqueue(Instant(9), item(0, 100), &mut drops);
        assert_eq!((q.packets(), drops.len()), (5, 1));
    }

    proptest! {
        /// The debug account inside checks conservation at each step; here: never above the limit,
        /// order kept.
        #[test]
        fn any_sequence_keeps_limit_and_order(
            ops in proptest::collection::vec((any::<bool>(), 1u32..2_000), 0..200),
            packets in proptest::option::of(0u32..10),
            bytes in proptest::option::of(0u64..5_000),
            kind in 0..QUEUES.len(),
        ) {
            let limit = Limit { packets, bytes };
            let mut q = QUEUES[kind].name.parse::<QueueConfig>().unwrap().build(&Site::default());
            q.set_limit(limit);
            let (mut drops, mut last, mut n) = (Vec::new(), 0, 0);
            for (enqueue, size) in ops {
                if enqueue {
                    n += 1_000_000;
                    q.enqueue(Instant(n), item(0, size), &mut drops);
                } else if let Some(item) = q.dequeue(Instant(n), &mut drops) {
                    prop_assert!(item.enqueued > Instant(last));
                    last = item.enqueued.0;
                }
                prop_assert!(limit.allows(q.packets(), q.bytes()));
            }
        }
    }
}
