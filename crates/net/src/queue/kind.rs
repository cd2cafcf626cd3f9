//! The description of a kind of queue, and its behaviour.

use lasthop_units::{Bitrate, Bytes, Duration, Instant};

use super::Limit;
use crate::registry::{Entry, Parameter};
pub(super) use crate::registry::{Wrong, parameter};
use crate::{Dropped, Ecn, Item};

/// The place of a queue: keys its draws, and gives the time that a packet takes there and
/// the size of the largest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Site {
    /// Seed of the run.
    pub seed: u64,
    /// Which entity.
    pub entity: u64,
    /// The rate behind it at the start; `None`: unknown or without limit.
    pub rate: Option<Bitrate>,
    /// MTU of the link behind it [bytes]; `None`: it has none of its own.
    pub mtu: Option<u32>,
}

impl Site {
    /// The largest packet [bytes]: that of Ethernet where the link has no MTU of its own.
    pub fn mtu(&self) -> u32 {
        self.mtu.unwrap_or(1500)
    }

    /// How long `size` takes at the rate; zero where that is unknown.
    pub fn time_for(&self, size: Bytes) -> Duration {
        self.rate.filter(|r| r.0 > 0).map_or(Duration::ZERO, |r| r.time_for(size))
    }
}

/// The configuration of a kind of queue.
pub(super) trait QueueKind {
    /// Its row of [`QUEUES`](super::QUEUES).
    const ENTRY: Entry;
    /// The running queue.
    type Run: Discipline;

    /// The first mistake that types alone do not catch.
    fn validate(&self) -> Result<(), Wrong> {
        Ok(())
    }
    /// The limit that this configuration sets.
    fn limit(&self) -> Limit;
    /// It marks ECN-capable packets, at least those of L4S.
    fn marks(&self) -> bool {
        false
    }
    /// True if it drops when it is full, by the arrival time alone: among periodic flows their
    /// phase decides which one loses (Floyd and Jacobson 1992).
    fn has_phase_effects(&self) -> bool {
        false
    }
    /// The key and the cause where it should mark and never does, or where a key has no effect;
    /// `fit`: packets that it holds.
    fn never_marks(&self, _fit: u32) -> Option<(&'static str, String)> {
        None
    }
    /// The queue, empty.
    fn build(&self, site: &Site) -> Self::Run;
}

/// A running queue. `marked` counts packets that are marked.
pub(super) trait Discipline {
    /// Takes `item` in, or drops it or others into `drops`.
    fn enqueue(&mut self, now: Instant, item: Item, drops: &mut Vec<Dropped>, marked: &mut u64);
    /// Returns the next item, after dropping into `drops` the items that must be dropped before it.
    fn dequeue(&mut self, now: Instant, drops: &mut Vec<Dropped>, marked: &mut u64) -> Option<Item>;
    /// Packets waiting.
    fn packets(&self) -> usize;
    /// Bytes waiting.
    fn bytes(&self) -> u64;
    /// The limit in force.
    fn limit(&self) -> Limit;
    /// A new limit for what arrives from now on.
    fn set_limit(&mut self, limit: Limit);
    /// True if an item that finds an empty queue and an idle server may bypass the queue.
    #[inline]
    fn may_be_bypassed(&self) -> bool {
        false
    }
    /// The server requested an item, found none and went idle.
    #[inline]
    fn found_empty(&mut self) {}
    /// True if items leave in order and unchanged, whatever the time, and only those that exceed
    /// the limit when they arrive are dropped: a server may then plan when each leaves.
    fn only_delays(&self) -> bool {
        false
    }
}

/// A queue that is large, behind a pointer.
#[deny(clippy::missing_trait_methods)]
impl<T: Discipline> Discipline for Box<T> {
    #[inline]
    fn enqueue(&mut self, now: Instant, item: Item, drops: &mut Vec<Dropped>, marked: &mut u64) {
        (**self).enqueue(now, item, drops, marked);
    }
    #[inline]
    fn dequeue(&mut self, now: Instant, drops: &mut Vec<Dropped>, marked: &mut u64) -> Option<Item> {
        (**self).dequeue(now, drops, marked)
    }
    #[inline]
    fn packets(&self) -> usize {
        (**self).packets()
    }
    #[inline]
    fn bytes(&self) -> u64 {
        (**self).bytes()
    }
    fn limit(&self) -> Limit {
        (**self).limit()
    }
    fn set_limit(&mut self, limit: Limit) {
        (**self).set_limit(limit);
    }
    #[inline]
    fn may_be_bypassed(&self) -> bool {
        (**self).may_be_bypassed()
    }
    #[inline]
    fn found_empty(&mut self) {
        (**self).found_empty();
    }
    fn only_delays(&self) -> bool {
        (**self).only_delays()
    }
}

/// Congestion experienced; counts a packet once.
pub(super) fn mark(item: &mut Item, marked: &mut u64) {
    *marked += u64::from(item.ecn != Ecn::Ce);
    item.ecn = Ecn::Ce;
}

/// The limit where a scenario names none: Linux's default transmit queue length [packets].
pub(super) const DEFAULT_PACKETS: u32 = 1000;

/// The same for several queues together: RFC 8290 section 5.2.3.
pub(super) const DEFAULT_PACKETS_OF_MANY: u32 = 10_240;

/// The limit of a scenario, or `otherwise` so many packets.
pub(super) fn limit(packets: Option<u32>, bytes: Option<Bytes>, otherwise: u32) -> Limit {
    let packets = if packets.is_none() && bytes.is_none() { Some(otherwise) } else { packets };
    Limit { packets, bytes: bytes.map(|b| b.0) }
}

pub(super) const PACKETS: Parameter =
    parameter("packets", "1000 if `bytes` is absent", "most packets waiting");
pub(super) const MANY_PACKETS: Parameter =
    parameter("packets", "10240 if `bytes` is absent", "most packets waiting, all queues together");
pub(super) const BYTES: Parameter = parameter("bytes", "no limit", "most bytes waiting");
pub(super) const ECN: Parameter =
    parameter("ecn", "true", "mark ECN-capable packets instead of dropping them");
pub(super) const CODEL_TARGET: Parameter =
    parameter("target", "5 ms", "time that packets may wait in a queue that stands");
pub(super) const INTERVAL: Parameter =
    parameter("interval", "100 ms", "how long they must have waited longer before the first drop");
pub(super) const CE_THRESHOLD: Parameter =
    parameter("ce_threshold", "none", "mark every ECN-capable packet that has waited longer");

pub(super) const LIMITS: &[Parameter] = &[PACKETS, BYTES];

pub(super) fn check_that(ok: bool, key: &'static str, problem: &str) -> Result<(), Wrong> {
    if ok { Ok(()) } else { Err((key, problem.to_owned())) }
}

pub(super) fn check_positive(d: Duration, key: &'static str) -> Result<(), Wrong> {
    check_that(!d.is_zero(), key, "must be above 0 s")
}

/// All updates that are due are computed one after the other: with a shorter period a run would
/// hardly advance.
const SHORTEST_UPDATE: Duration = Duration::from_micros(100);

pub(super) fn check_update(d: Duration) -> Result<(), Wrong> {
    check_that(d >= SHORTEST_UPDATE, "update", "must be at least 100 us")
}

pub(super) fn check_gain(x: f64, key: &'static str) -> Result<(), Wrong> {
    check_that(x.is_finite() && x >= 0.0, key, "a gain is a number from 0 on")
}
