//! Transmission of one end of a link in one category: queue, unacknowledged MPDUs, and the
//! recipient's reorder buffer.

use std::collections::VecDeque;

use lasthop_net::{Dropped, FqCodelConfig, Item, Limit, Queue, QueueConfig, Site};
use lasthop_units::{Duration, Instant};

use super::config::BufferConfig;
use crate::mac::{AggregationConfig, Chain, Mpdu, Originator, Pool, Reorder, Retries, join, mpdu};
use crate::phy::Mode;

/// Packets of one direction and category between a station and its access point.
#[derive(Debug)]
pub struct TxQueue {
    queue: Queue,
    /// A packet that was taken from the queue and is in no MPDU yet.
    staged: Option<Item>,
    /// True for a first-in-first-out queue: its head can be read.
    peeks: bool,
    /// Packets that the driver has taken, with their estimated airtime [ns]; None without a
    /// driver's queue.
    below: Option<VecDeque<(Item, u32)>>,
    /// Sum of those times.
    below_airtime: u64,
    /// MPDUs that are not done.
    pub originator: Originator,
    /// The reorder buffer of the other end.
    pub reorder: Reorder<Chain>,
    /// When the reorder buffer is checked.
    pub wake: Option<Instant>,
    /// True if it is on its device's list.
    pub listed: bool,
    /// Number of block ack requests without a response.
    pub requests: u32,
    /// Airtime that it may still use in this round [ns].
    pub deficit: i64,
    /// Number of packets inside, at either end.
    pub inside: usize,
}

impl TxQueue {
    /// Creates a queue as configured in `buffer`; `site` identifies it in draws.
    pub fn new(buffer: &BufferConfig, site: Site, reorder_timeout: Duration) -> TxQueue {
        let queue = match buffer {
            // The device counts the packets of all stations of a FIFO.
            BufferConfig::Fifo { .. } => Queue::drop_tail(Limit::default()),
            BufferConfig::PerStation { packets } => {
                Queue::drop_tail(Limit { packets: Some(*packets), bytes: None })
            }
            BufferConfig::FqCodel(c) => {
                let config = FqCodelConfig {
                    packets: Some(c.packets),
                    bytes: None,
                    flows: c.flows,
                    quantum: c.quantum,
                    target: c.target,
                    interval: c.interval,
                    ecn: c.ecn,
                    ce_threshold: None,
                };
                QueueConfig::FqCodel(config).build(&site)
            }
        };
        TxQueue {
            queue,
            staged: None,
            peeks: matches!(buffer, BufferConfig::Fifo { .. }),
            below: buffer.driver().map(|_| VecDeque::new()),
            below_airtime: 0,
            originator: Originator::default(),
            reorder: Reorder::new(reorder_timeout),
            wake: None,
            listed: false,
            requests: 0,
            deficit: 0,
            inside: 0,
        }
    }

    /// Sets the limit of its queue, where the limit is not shared; packets inside stay.
    pub fn set_limit(&mut self, packets: Option<u32>) {
        if packets.is_some() {
            self.queue.set_limit(Limit { packets, ..self.queue.limit() });
        }
    }

    /// Takes a packet in; packets that do not fit are dropped.
    #[inline]
    pub fn enqueue(&mut self, now: Instant, item: Item, drops: &mut Vec<Dropped>) {
        self.inside += 1;
        let before = drops.len();
        self.queue.enqueue(now, item, drops);
        self.inside -= drops.len() - before;
        self.show(now, drops);
    }

    /// True if it has data to send.
    #[inline]
    pub fn waits(&self) -> bool {
        self.originator.waiting() > 0
            || self.staged.is_some()
            || !self.queue.is_empty()
            || self.below() > 0
            || self.originator.request
    }
    /// Packets in the queue.
    pub fn queued(&self) -> usize {
        self.queue.packets() + self.below() + usize::from(self.staged.is_some())
    }
    /// Packets that the driver has taken.
    pub fn below(&self) -> usize {
        self.below.as_ref().map_or(0, VecDeque::len)
    }
    /// Estimated airtime of the packets in the driver and of MPDUs that are not done [ns].
    pub const fn pending(&self) -> u64 {
        self.below_airtime + self.originator.airtime()
    }
    /// True if data can be sent now: packets above the driver cannot.
    pub fn is_ready(&self) -> bool {
        self.below.as_ref().is_none_or(|below| !below.is_empty() || self.staged.is_some())
            || self.originator.waiting() > 0
            || self.originator.request
    }
    /// Bytes in the queue.
    pub fn queued_bytes(&self) -> u64 {
        let bytes = |item: &Item| u64::from(item.size);
        let below: u64 = self.below.iter().flatten().map(|(item, _)| bytes(item)).sum();
        self.queue.bytes() + below + self.staged.as_ref().map_or(0, bytes)
    }
    /// Packets that the queue has marked.
    pub const fn marked(&self) -> u64 {
        self.queue.marked()
    }
    /// When the oldest of its packets entered, for queues that give access to it.
    pub fn oldest(&self) -> Instant {
        let under_way = self.originator.iter().next().map(|(_, m)| m.since);
        let below = || self.below.as_ref().and_then(|below| below.front()).map(|(item, _)| item.enqueued);
        under_way.or(self.staged.map(|i| i.enqueued)).or_else(below).unwrap_or(Instant::ZERO)
    }

    #[inline]
    fn next(&mut self, now: Instant, drops: &mut Vec<Dropped>) -> Option<Item> {
        if self.staged.is_some() {
            return self.staged.take();
        }
        match &mut self.below {
            None => self.queue.dequeue(now, drops),
            Some(below) => {
                let (item, airtime) = below.pop_front()?;
                self.below_airtime -= u64::from(airtime);
                Some(item)
            }
        }
    }

    /// Passes a packet to the driver; `airtime` computes its airtime from its bytes. With `anew`
    /// its lifetime begins now. Returns false if there is no packet.
    pub fn descend(
        &mut self,
        now: Instant,
        anew: bool,
        airtime: impl Fn(u32) -> u32,
        drops: &mut Vec<Dropped>,
    ) -> bool {
        let Some(below) = &mut self.below else { return false };
        let before = drops.len();
        let item = self.queue.dequeue(now, drops);
        self.inside -= drops.len() - before;
        let Some(mut item) = item else { return false };
        if anew {
            item.enqueued = now;
        }
        let time = airtime(item.size);
        self.below_airtime += u64::from(time);
        below.push_back((item, time));
        true
    }

    /// Stages the head of a queue whose head can be read.
    #[inline]
    fn show(&mut self, now: Instant, drops: &mut Vec<Dropped>) {
        if self.peeks && self.staged.is_none() {
            self.staged = self.queue.dequeue(now, drops);
        }
    }

    /// Assembles one more MPDU from waiting packets. Returns false if there are none. Packets
    /// beyond `lifetime` go to `old`, those that the queue drops to `drops`.
    pub fn pull(&mut self, now: Instant, rules: &Rules<'_>, pool: &mut Pool, lost: &mut Lost) -> bool {
        let before = lost.dropped.len();
        let mut first = None;
        while let Some(item) = self.next(now, &mut lost.dropped) {
            if rules.lifetime.is_some_and(|most| now.since(item.enqueued) > most) {
                lost.old.push(item);
                self.inside -= 1;
                continue;
            }
            first = Some(item);
            break;
        }
        let made = first.is_some();
        if let Some(item) = first {
            let mut whole = Mpdu {
                chain: None,
                msdus: 1,
                bytes: mpdu(item.size, rules.qos),
                since: item.enqueued,
                retries: Retries::default(),
                aired: false,
                done: false,
                airtime: 0,
            };
            let mut chain = pool.chain(item);
            if rules.aggregation.amsdu && rules.qos {
                self.fill(now, rules, &mut whole, &mut chain, pool, lost);
            }
            whole.chain = Some(chain);
            whole.airtime = airtime(rules.mode, whole.bytes);
            self.originator.push(whole);
        }
        self.show(now, &mut lost.dropped);
        self.inside -= lost.dropped.len() - before;
        made
    }

    /// Adds packets to the MPDU as long as they fit.
    fn fill(
        &mut self,
        now: Instant,
        rules: &Rules<'_>,
        whole: &mut Mpdu,
        chain: &mut Chain,
        pool: &mut Pool,
        lost: &mut Lost,
    ) {
        // An MPDU that is too long for this turn with one packet waits for the next turn, and may
        // grow to the limit of that.
        let [now_left, of_a_turn] = rules.room;
        let room = if whole.bytes <= now_left { now_left } else { of_a_turn };
        let most = rules.aggregation.mpdu_limit(rules.mode).min(room);
        while let Some(item) = self.next(now, &mut lost.dropped) {
            let bytes = join(whole.bytes, whole.msdus, item.size);
            if bytes > most {
                self.staged = Some(item);
                return;
            }
            whole.bytes = bytes;
            whole.msdus += 1;
            pool.append(chain, item);
        }
    }
}

/// Airtime of `bytes` at a rate [ns]: headers, preambles, responses and contention are left out, as
/// most of them are shared within an A-MPDU.
pub fn airtime(mode: &Mode, bytes: u32) -> u32 {
    (u64::from(bytes) * 8 * 1_000_000_000 / mode.rate().0.max(1)).min(u64::from(u32::MAX)) as u32
}

/// Rules for the assembly of MPDUs.
pub struct Rules<'a> {
    /// True for QoS data.
    pub qos: bool,
    /// Limits.
    pub aggregation: &'a AggregationConfig,
    /// The rate.
    pub mode: &'a Mode,
    /// Longest time in the MAC.
    pub lifetime: Option<Duration>,
    /// Longest MPDU for which an exchange has time, in the rest of this turn and in a whole one.
    pub room: [u32; 2],
}

/// Packets that were dropped.
#[derive(Debug, Default)]
pub struct Lost {
    /// Dropped by the queue.
    pub dropped: Vec<Dropped>,
    /// Beyond their lifetime.
    pub old: Vec<Item>,
}
