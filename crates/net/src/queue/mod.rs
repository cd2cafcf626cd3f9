//! Queues: small policies over one mechanism.
//!
//! Contract: `enqueue(now, item, drops)` takes the item or drops it (or others) with a cause;
//! `dequeue(now, drops)` returns the next item, and may drop some before it and mark it (here an
//! AQM decides). Both are called with the exact time of the event, in order of time, even if a pipe
//! processes it later. A queue owns no timer: an AQM computes its periodic updates from `now`.
//!
//! A queue holds **waiting** packets only. The packet being serialised has left it and counts
//! against no limit (as in ns-2, ns-3 and Linux; so a link with a limit of zero packets has no
//! buffer, but still carries packets).
//!
//! One file per kind, with its configuration (`QueueKind`) and its behaviour (`Discipline`); one
//! list, `built_in_queues!`, names all of them. To add one: write its file, and add its module and
//! its entry of the list here.

/// Passes the list of all queues to the macro `$then`. An entry: the text in the schema of
/// scenarios, the variant of [`QueueConfig`], the name in scenarios, its configuration, which
/// implements `QueueKind`, and the variant of `Policy` that it builds, unless an entry above builds
/// the same.
macro_rules! built_in_queues {
    ($then:ident) => {
        $then! {
            /// First in, first out; a packet that arrives when the queue is full is dropped.
            Droptail "droptail" drop_tail::DropTailConfig => DropTail(drop_tail::DropTail);
            /// First in, first out; when the queue is full, the oldest packet is dropped.
            Headdrop "headdrop" head_drop::HeadDropConfig => HeadDrop(head_drop::HeadDrop);
            /// First in, first out, without any limit: nothing is ever dropped.
            Infinite "infinite" infinite::InfiniteConfig;
            /// Random early detection by the average length (Floyd and Jacobson 1993).
            Red "red" aqm::RedConfig => Managed(Box<managed::Managed>);
            /// Marks from a threshold on, and drops only packets that do not fit (DCTCP).
            Step "step" aqm::StepConfig;
            /// Controlled delay (RFC 8289): drops or marks when packets have waited longer than
            /// `target` for an `interval`.
            Codel "codel" aqm::CodelConfig;
            /// Flow queues with CoDel on each (RFC 8290).
            FqCodel "fq-codel" fq_codel::FqCodelConfig => FqCodel(Box<fq_codel::FqCodel>);
            /// Proportional integral controller of the queueing delay (RFC 8033).
            Pie "pie" aqm::PieConfig;
            /// A queue for L4S and one for Classic traffic, coupled (RFC 9332).
            Dualpi2 "dualpi2" dualpi2::DualPi2Config => DualPi2(Box<dualpi2::DualPi2>);
            /// A token bucket: packets that exceed it are dropped at once (RFC 2697).
            Policer "policer" policer::PolicerConfig => Policer(Box<policer::Policer>);
        }
    };
}

pub mod aqm;
mod config;
mod drop_tail;
mod dualpi2;
mod fifo;
mod fq_codel;
mod head_drop;
mod infinite;
mod kind;
mod managed;
mod policer;

pub use aqm::{CodelConfig, PieConfig, RedConfig, StepConfig};
pub use config::{QUEUES, QueueConfig};
pub use drop_tail::DropTailConfig;
pub use dualpi2::{DualPi2Config, Scheduler};
pub use fifo::{Fifo, Limit};
pub use fq_codel::FqCodelConfig;
pub use head_drop::HeadDropConfig;
pub use infinite::InfiniteConfig;
pub use kind::Site;
pub use policer::PolicerConfig;

use lasthop_units::Instant;

use crate::{Dropped, Item};
use config::Policy;
use kind::Discipline;

/// A queue of one of the kinds in [`QUEUES`].
#[derive(Clone, Debug)]
pub struct Queue {
    policy: Policy,
    /// Packets that it has marked.
    marked: u64,
    account: Account,
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
    /// Drops a packet that arrives when the queue is full.
    pub fn drop_tail(limit: Limit) -> Queue {
        Queue::of(Policy::DropTail(drop_tail::DropTail::new(limit)))
    }

    fn of(policy: Policy) -> Queue {
        Queue { policy, marked: 0, account: Account::default() }
    }

    /// Takes `item` in, or drops it or others into `drops`. Sets `item.enqueued` to `now`.
    #[inline]
    pub fn enqueue(&mut self, now: Instant, mut item: Item, drops: &mut Vec<Dropped>) {
        item.enqueued = now;
        let before = drops.len();
        self.policy.enqueue(now, item, drops, &mut self.marked);
        self.note(Some(&item), None, &drops[before..]);
    }

    /// True if items leave in order and unchanged, and only items that find it full are dropped.
    pub(crate) fn only_delays(&self) -> bool {
        self.policy.only_delays()
    }

    /// The next item; items that the policy drops before it are appended to `drops`.
    #[inline]
    pub fn dequeue(&mut self, now: Instant, drops: &mut Vec<Dropped>) -> Option<Item> {
        let before = drops.len();
        let item = self.policy.dequeue(now, drops, &mut self.marked);
        self.note(None, item.as_ref(), &drops[before..]);
        item
    }

    /// True if an item that finds an empty queue and an idle server may bypass the queue.
    #[inline]
    pub(crate) fn may_be_bypassed(&self) -> bool {
        self.policy.may_be_bypassed()
    }

    /// The server requested an item, found none and went idle.
    #[inline]
    pub(crate) fn found_empty(&mut self) {
        self.policy.found_empty();
    }

    /// Packets marked (ECN) so far.
    pub const fn marked(&self) -> u64 {
        self.marked
    }

    /// Packets waiting.
    #[inline]
    pub fn packets(&self) -> usize {
        self.policy.packets()
    }

    /// Bytes waiting.
    pub fn bytes(&self) -> u64 {
        self.policy.bytes()
    }

    /// True without waiting packets.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.packets() == 0
    }

    /// The limit in force.
    pub fn limit(&self) -> Limit {
        self.policy.limit()
    }

    /// Sets a new limit. The contents stay, even above a smaller limit: it applies only to arrivals
    /// (head-drop makes room at the next arrival).
    pub fn set_limit(&mut self, new: Limit) {
        self.policy.set_limit(new);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DropCause;
    use crate::testing::item;
    use proptest::prelude::*;

    fn head(limit: Limit) -> Queue {
        Queue::of(Policy::HeadDrop(head_drop::HeadDrop::new(limit)))
    }
    fn sizes(drops: &[Dropped]) -> Vec<u32> {
        drops.iter().map(|d| d.item.size).collect()
    }

    #[test]
    fn a_full_droptail_queue_drops_the_newcomer_and_head_drop_the_oldest() {
        let limit = Limit { packets: Some(2), bytes: None };
        for (mut q, dropped, left) in [(Queue::drop_tail(limit), [3], [1, 2]), (head(limit), [1], [2, 3])] {
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
        let mut q = head(Limit { packets: None, bytes: Some(100) });
        drops.clear();
        q.enqueue(Instant(0), item(0, 60), &mut drops);
        q.enqueue(Instant(0), item(0, 101), &mut drops);
        assert_eq!((sizes(&drops), q.packets()), (vec![60, 101], 0));
    }

    #[test]
    fn a_smaller_limit_applies_to_arrivals_only() {
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
