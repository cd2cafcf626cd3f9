//! FQ-CoDel (RFC 8290): flows hashed into queues, served by deficit round robin with new flows
//! first, CoDel on each.

use std::collections::VecDeque;

use lasthop_engine::{Draw, Purpose};
use lasthop_units::{Bytes, Duration, FlowId, Id, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::aqm::{CoDel, CodelParams, Parameters, Verdict};
use super::kind::{
    BYTES, CE_THRESHOLD, CODEL_TARGET, DEFAULT_PACKETS_OF_MANY, Discipline, ECN, INTERVAL, MANY_PACKETS,
    QueueKind, Site, Wrong, check_that, limit, mark, parameter,
};
use super::managed::{backlog, sight};
use super::{Fifo, Limit};
use crate::registry::Entry;
use crate::{DropCause, Dropped, Item};

/// Parameters of FQ-CoDel; the defaults are RFC 8290's and Linux'.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FqCodelConfig {
    /// Most packets waiting in all queues together. Without it and without `bytes`: 10240.
    pub packets: Option<u32>,
    /// Most bytes waiting in all queues together. Without it: no limit.
    pub bytes: Option<Bytes>,
    /// Number of queues into which flows are hashed, 1 to 32768.
    pub flows: u32,
    /// Bytes that a queue may send before the next queue is served, 1 B to 1 MB.
    pub quantum: Bytes,
    /// Acceptable waiting time of a flow's packets in a standing queue.
    pub target: Duration,
    /// How long the waiting time must have exceeded `target` before the first drop: about the
    /// longest round trip.
    pub interval: Duration,
    /// Mark ECN-capable packets instead of dropping them.
    pub ecn: bool,
    /// Mark every ECN-capable packet that has waited longer than this (Linux `ce_threshold`).
    /// Unset: no such marks.
    pub ce_threshold: Option<Duration>,
}

impl Default for FqCodelConfig {
    fn default() -> Self {
        let CodelParams { target, interval, ecn, ce_threshold } = CodelParams::default();
        let (flows, quantum) = (1024, Bytes(1514));
        FqCodelConfig { packets: None, bytes: None, flows, quantum, target, interval, ecn, ce_threshold }
    }
}

impl FqCodelConfig {
    /// CoDel's parameters.
    pub const fn codel(&self) -> CodelParams {
        CodelParams {
            target: self.target,
            interval: self.interval,
            ecn: self.ecn,
            ce_threshold: self.ce_threshold,
        }
    }
}

impl QueueKind for FqCodelConfig {
    const ENTRY: Entry = Entry {
        name: "fq-codel",
        summary: "flow queues by deficit round robin, new flows first, CoDel on each",
        source: "RFC 8290; `ce_threshold`: Linux",
        parameters: &[
            MANY_PACKETS,
            BYTES,
            parameter("flows", "1024", "queues that flows are hashed into"),
            parameter("quantum", "1514 B", "bytes that a queue may send in one turn"),
            CODEL_TARGET,
            INTERVAL,
            ECN,
            CE_THRESHOLD,
        ],
    };
    type Run = Box<FqCodel>;

    fn validate(&self) -> Result<(), Wrong> {
        check_that((1..=32_768).contains(&self.flows), "flows", "takes 1 to 32768 queues")?;
        check_that((1..=1_000_000).contains(&self.quantum.0), "quantum", "takes 1 B to 1 MB")?;
        self.codel().validate()
    }
    fn marks(&self) -> bool {
        self.ecn || self.ce_threshold.is_some()
    }
    fn limit(&self) -> Limit {
        limit(self.packets, self.bytes, DEFAULT_PACKETS_OF_MANY)
    }
    fn build(&self, site: &Site) -> Box<FqCodel> {
        Box::new(FqCodel::new(self, site))
    }
}

/// Packets dropped at once when the limit is exceeded: `drop_batch_size` of Linux 6.1
/// (`fq_codel_init`).
const DROP_BATCH: usize = 64;

/// The queues of FQ-CoDel.
#[derive(Clone, Debug)]
pub struct FqCodel {
    codel: CodelParams,
    mtu: u32,
    quantum: i64,
    limit: Limit,
    hash: Draw,
    /// Which of `queues` serves a hash value; [`NONE`]: none yet. A queue once made is kept with
    /// its CoDel state.
    buckets: Vec<u16>,
    /// The flow of the packet before, and its queue: most packets follow one of the same flow.
    last: Option<(FlowId, u16)>,
    queues: Vec<FlowQueue>,
    new: VecDeque<u16>,
    old: VecDeque<u16>,
    packets: usize,
    bytes: u64,
}

const NONE: u16 = u16::MAX;

#[derive(Clone, Debug)]
struct FlowQueue {
    fifo: Fifo,
    codel: CoDel,
    /// Byte credits (RFC 8290 section 4.2).
    credits: i64,
    /// On one of the two lists.
    listed: bool,
}

impl FqCodel {
    /// With draws of its own for the hash.
    pub fn new(config: &FqCodelConfig, site: &Site) -> FqCodel {
        FqCodel {
            codel: config.codel(),
            mtu: site.mtu(),
            quantum: config.quantum.0 as i64,
            limit: config.limit(),
            hash: Draw::new(site.seed, Purpose::Aqm, site.entity),
            buckets: vec![NONE; config.flows as usize],
            last: None,
            queues: Vec::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            packets: 0,
            bytes: 0,
        }
    }

    /// The queue of a flow: RFC 8290 section 4.1.1 hashes the 5-tuple with a random number; a
    /// flow's number represents its 5-tuple here.
    fn queue_of(&mut self, item: &Item) -> u16 {
        if let Some((flow, n)) = self.last
            && flow == item.flow
        {
            return n;
        }
        let bucket = (self.hash.bits(item.flow.index() as u64) % self.buckets.len() as u64) as usize;
        if self.buckets[bucket] == NONE {
            self.buckets[bucket] = self.queues.len() as u16;
            let codel = CoDel::new(self.codel, self.mtu);
            self.queues.push(FlowQueue { fifo: Fifo::default(), codel, credits: 0, listed: false });
        }
        self.last = Some((item.flow, self.buckets[bucket]));
        self.buckets[bucket]
    }

    /// Half the packets of the queue with the most bytes, at most 64, from its head.
    #[cold]
    fn drop_batch(&mut self, now: Instant, drops: &mut Vec<Dropped>) {
        // The first of equals: `max_by_key` would take the last.
        let Some(fattest) = self.queues.iter_mut().rev().max_by_key(|q| q.fifo.bytes()) else { return };
        let count = fattest.fifo.packets().div_ceil(2).clamp(1, DROP_BATCH);
        for _ in 0..count {
            let Some(item) = fattest.fifo.pop() else { break };
            self.packets -= 1;
            self.bytes -= u64::from(item.size);
            drops.push(Dropped { at: now, item, cause: DropCause::QueueFull });
        }
    }

    fn move_head(&mut self, from_new: bool, to_old: bool) {
        let head = if from_new { self.new.pop_front() } else { self.old.pop_front() };
        if let Some(n) = head.filter(|_| to_old) {
            self.old.push_back(n);
        }
    }

    /// The next packet of a queue that its CoDel lets go.
    fn serve(&mut self, n: u16, now: Instant, drops: &mut Vec<Dropped>, marked: &mut u64) -> Option<Item> {
        let queue = &mut self.queues[usize::from(n)];
        while let Some(mut item) = queue.fifo.pop() {
            self.packets -= 1;
            self.bytes -= u64::from(item.size);
            match queue.codel.leaves(now, sight(&item), item.enqueued, backlog(&queue.fifo)) {
                Verdict::Pass => return Some(item),
                Verdict::Mark => {
                    mark(&mut item, marked);
                    return Some(item);
                }
                Verdict::Drop => drops.push(Dropped { at: now, item, cause: DropCause::Aqm }),
            }
        }
        None
    }
}

impl Discipline for FqCodel {
    /// Takes `item` in; when that exceeds the limit, packets of the longest queue are dropped.
    fn enqueue(&mut self, now: Instant, item: Item, drops: &mut Vec<Dropped>, _marked: &mut u64) {
        let n = self.queue_of(&item);
        let queue = &mut self.queues[usize::from(n)];
        queue.fifo.push(item);
        self.packets += 1;
        self.bytes += u64::from(item.size);
        if !queue.listed {
            // RFC 8290 section 4.1: a queue on neither list goes to the end of the list of new
            // queues, with one quantum of credits.
            queue.listed = true;
            queue.credits = self.quantum;
            self.new.push_back(n);
        }
        while !self.limit.allows(self.packets, self.bytes) && self.packets > 0 {
            self.drop_batch(now, drops);
        }
    }
    /// The next item (RFC 8290 section 4.2); adds to `marked` when it is marked.
    fn dequeue(&mut self, now: Instant, drops: &mut Vec<Dropped>, marked: &mut u64) -> Option<Item> {
        loop {
            let from_new = !self.new.is_empty();
            let n = *if from_new { &self.new } else { &self.old }.front()?;
            let queue = &mut self.queues[usize::from(n)];
            if queue.credits <= 0 {
                if from_new || self.old.len() > 1 {
                    queue.credits += self.quantum;
                    self.move_head(from_new, true);
                    continue;
                }
                // Alone on the list of old queues it has one turn after the other, until it has
                // credits.
                queue.credits += self.quantum * (1 - queue.credits / self.quantum);
            }
            if let Some(item) = self.serve(n, now, drops, marked) {
                self.queues[usize::from(n)].credits -= i64::from(item.size);
                return Some(item);
            }
            // If the queue selected was from the list of new queues, it is moved to the end of the
            // list of old queues. If instead it was from the list of old queues, that queue is
            // removed from the list.
            self.move_head(from_new, from_new);
            self.queues[usize::from(n)].listed = from_new;
        }
    }
    /// Packets waiting.
    fn packets(&self) -> usize {
        self.packets
    }
    /// Bytes waiting.
    fn bytes(&self) -> u64 {
        self.bytes
    }
    /// The link requested a packet and found none: by the rules of `dequeue` no queue stays on a
    /// list.
    fn found_empty(&mut self) {
        for n in self.new.drain(..).chain(self.old.drain(..)) {
            self.queues[usize::from(n)].listed = false;
        }
    }
    fn limit(&self) -> Limit {
        self.limit
    }
    fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::item;

    fn of(flow: usize, n: usize, size: u32) -> Item {
        Item { flow: FlowId::from_index(flow), ..item(n, size) }
    }

    fn fq(config: &FqCodelConfig) -> FqCodel {
        FqCodel::new(config, &Site { seed: 3, ..Site::default() })
    }

    fn drain(fq: &mut FqCodel, n: usize) -> Vec<usize> {
        let (mut drops, mut marked) = (Vec::new(), 0);
        let flows = (0..n).map_while(|_| fq.dequeue(Instant(1), &mut drops, &mut marked));
        flows.map(|i| i.flow.index()).collect()
    }

    /// Two backlogged flows share in bytes: with a quantum of 1514 B, packets of 1500 B alternate
    /// (credits 14, then -1486), and a flow of 500 B packets sends about three for each of
    /// them.
    #[test]
    fn backlogged_flows_share_by_bytes() {
        let mut q = fq(&FqCodelConfig::default());
        let mut drops = Vec::new();
        for n in 0..200 {
            q.enqueue(Instant(0), of(0, n, 1500), &mut drops, &mut 0);
            q.enqueue(Instant(0), of(1, n, 500), &mut drops, &mut 0);
        }
        let served = drain(&mut q, 200);
        let bytes = |flow, size| served.iter().filter(|f| **f == flow).count() as i64 * size;
        let (large, small) = (bytes(0, 1500), bytes(1, 500));
        // Deficit round robin: never further apart than a quantum and a packet.
        assert!((large - small).abs() <= 1514 + 1500, "{large} {small}");
    }

    /// With a quantum of 100 B a flow alone has fifteen turns between two packets of 1500 B: its
    /// credits are 100 again, then -1400. A flow that arrives meanwhile is served first, and the
    /// first one then waits for its turns.
    #[test]
    fn a_flow_alone_has_its_turns_at_once() {
        let mut q = fq(&FqCodelConfig { quantum: Bytes(100), ..FqCodelConfig::default() });
        let mut drops = Vec::new();
        (0..9).for_each(|n| q.enqueue(Instant(0), of(0, n, 1500), &mut drops, &mut 0));
        for _ in 0..4 {
            assert_eq!(drain(&mut q, 1), [0]);
            assert_eq!(q.queues[0].credits, -1400);
        }
        (0..3).for_each(|n| q.enqueue(Instant(0), of(1, n, 100), &mut drops, &mut 0));
        assert_eq!(drain(&mut q, 4), [1, 1, 1, 0]);
    }

    /// The sparse-flow optimisation: a flow that returns after its queue has emptied is new, and is
    /// served before the bulk flow, even if that has packets waiting.
    #[test]
    fn a_sparse_flow_goes_first() {
        let mut q = fq(&FqCodelConfig::default());
        let mut drops = Vec::new();
        (0..100).for_each(|n| q.enqueue(Instant(0), of(0, n, 1500), &mut drops, &mut 0));
        assert_eq!(drain(&mut q, 3), [0, 0, 0]);
        for n in 0..5 {
            q.enqueue(Instant(0), of(1, n, 100), &mut drops, &mut 0);
            assert_eq!(drain(&mut q, 1), [1], "sparse packet {n}");
            // Two more of the bulk flow: the sparse flow's queue moves from the new list to the old
            // one and off it.
            assert_eq!(drain(&mut q, 3), [0, 0, 0]);
        }
        // A burst of more than a quantum is served for a quantum, then takes its turn.
        (0..4).for_each(|n| q.enqueue(Instant(0), of(2, n, 1500), &mut drops, &mut 0));
        assert_eq!(drain(&mut q, 4)[..2], [2, 2], "1514 - 1500 = 14 credits are left for a second packet");
    }

    /// The limit: half the packets of the queue with the most bytes, from its head, 64 at most.
    #[test]
    fn beyond_the_limit_the_fattest_flow_loses_half_its_packets_from_the_head() {
        let config = FqCodelConfig { packets: Some(20), ..FqCodelConfig::default() };
        let mut q = fq(&config);
        let mut drops = Vec::new();
        (0..5).for_each(|n| q.enqueue(Instant(0), of(1, n, 1500), &mut drops, &mut 0));
        (0..16).for_each(|n| q.enqueue(Instant(0), of(0, n, 1500), &mut drops, &mut 0));
        // 21 packets are one too many: flow 0 has 16 and loses 8, the oldest first.
        assert_eq!(drops.iter().map(|d| d.item.id.index()).collect::<Vec<_>>(), (0..8).collect::<Vec<_>>());
        assert!(drops.iter().all(|d| d.item.flow.index() == 0 && d.cause == DropCause::QueueFull));
        assert_eq!((q.packets(), q.bytes()), (13, 13 * 1500));
        let config = FqCodelConfig { packets: Some(300), ..FqCodelConfig::default() };
        let (mut q, mut drops) = (fq(&config), Vec::new());
        (0..301).for_each(|n| q.enqueue(Instant(0), of(0, n, 1500), &mut drops, &mut 0));
        assert_eq!(drops.len(), 64);
    }

    /// CoDel treats each queue separately: packets of a flow that waits long are dropped, those of
    /// a sparse one are not.
    #[test]
    fn only_the_flow_with_a_standing_queue_is_dropped_from() {
        let mut q = fq(&FqCodelConfig { quantum: Bytes(1514), ..FqCodelConfig::default() });
        let (mut drops, mut marked) = (Vec::new(), 0);
        (0..2000).for_each(|n| q.enqueue(Instant(0), of(0, n, 1500), &mut drops, &mut 0));
        for t in 1..500u64 {
            let now = Instant::from_millis(t);
            q.enqueue(now, Item { enqueued: now, ..of(1, 0, 100) }, &mut drops, &mut 0);
            q.dequeue(now, &mut drops, &mut marked);
            q.dequeue(now, &mut drops, &mut marked);
        }
        assert!(
            drops.len() > 3 && drops.iter().all(|d| d.item.flow.index() == 0 && d.cause == DropCause::Aqm)
        );
    }

    /// With 1024 queues and 100 flows most have a queue of their own: the expected number of
    /// distinct queues is 1024 (1 - (1 - 1/1024)^100) = 95.3, standard deviation about 2.
    #[test]
    fn flows_are_spread_over_the_queues() {
        let mut q = fq(&FqCodelConfig::default());
        let mut drops = Vec::new();
        (0..100).for_each(|f| q.enqueue(Instant(0), of(f, 0, 100), &mut drops, &mut 0));
        assert!((87..=100).contains(&q.queues.len()), "{}", q.queues.len());
        q.found_empty();
        assert!(q.new.is_empty() && q.queues.iter().all(|f| !f.listed));
    }
}
