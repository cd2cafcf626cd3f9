//! A link that delivers when a measured one could: Mahimahi's rule.
//!
//! At each opportunity of the trace the link delivers up to `opportunity` bytes. Several packets
//! may share an opportunity. A packet larger than the rest of the opportunity continues in the next
//! one (a partial packet stays in service). Bytes that no packet needs are lost. A packet is
//! delivered at the opportunity that carries its last byte. A packet that arrives at exactly the
//! time of an opportunity is too late for it. After the last line the trace begins again, shifted
//! by its last timestamp. (R. Netravali et al., USENIX ATC 2015; behaviour of `mm-link`.)
//!
//! `mm-link` counts 1504 bytes an opportunity, because packets reach it with four bytes of TUN
//! header in front. Here a packet is its IP length and an opportunity 1500 bytes: a full-size
//! packet takes one opportunity in both.
//!
//! Same contract as [`Pipe`](crate::Pipe): one pending event, catch-up when it is read, idle
//! time costs nothing (unused opportunities are skipped by arithmetic and one binary search).

use std::sync::Arc;

use lasthop_units::{Duration, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::fault::Faults;
use crate::pipe::{Account, Occupancy};
use crate::trace::Trace;
use crate::wire::{Wire, WireModel};
use crate::{Item, LinkStage, PipeOut, Queue};

/// The behaviour after the last opportunity of the trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TraceEnd {
    /// The trace begins again, shifted by its last timestamp.
    #[default]
    Loop,
    /// The link sends nothing any more.
    Stop,
}

/// How a trace is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Playback {
    /// Bytes of one opportunity, above zero.
    pub opportunity: u32,
    /// The behaviour after the last opportunity.
    pub end: TraceEnd,
    /// Time within the trace at which the run starts.
    pub offset: Duration,
}

impl Default for Playback {
    fn default() -> Self {
        Playback { opportunity: 1500, end: TraceEnd::Loop, offset: Duration::ZERO }
    }
}

/// One direction of a link that follows a trace.
#[derive(Clone, Debug)]
pub struct TraceLink {
    trace: Arc<Trace>,
    playback: Playback,
    queue: Queue,
    wire: Wire,
    /// The next opportunities that have not been used or lost.
    cursor: Cursor,
    /// The packet in service and how many of its bytes are still to go.
    partial: Option<(Item, u32)>,
    account: Account,
}

/// A place in the endlessly repeated trace, in trace time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cursor {
    /// Start of the current round [ns of trace time].
    base_ns: u64,
    slot: usize,
    /// Past the end of a trace that does not repeat.
    finished: bool,
}

const NS_PER_MS: u64 = 1_000_000;

impl TraceLink {
    /// A link along `trace` with draws of its own (`seed`, `entity`).
    pub fn new(
        trace: Arc<Trace>,
        playback: Playback,
        queue: Queue,
        wire: WireModel,
        seed: u64,
        entity: u64,
    ) -> TraceLink {
        let playback = Playback { opportunity: playback.opportunity.max(1), ..playback };
        let mut link = TraceLink {
            trace,
            playback,
            queue,
            wire: Wire::new(wire, seed, entity),
            cursor: Cursor { base_ns: 0, slot: 0, finished: false },
            partial: None,
            account: Account::default(),
        };
        if let Some(before) = playback.offset.0.checked_sub(1) {
            link.skip_until(before);
        }
        link
    }

    /// Takes a packet.
    #[inline]
    pub fn enqueue(&mut self, now: Instant, item: Item, out: &mut PipeOut) {
        let dropped = out.dropped.len();
        self.advance(now, out);
        self.account.packets_in += 1;
        self.account.bytes_in += u64::from(item.size);
        self.queue.enqueue(now, item, &mut out.dropped);
        self.account.note_dropped(&out.dropped[dropped..]);
        self.check();
    }

    /// When the next packet may arrive at the far end; exact once it is in flight, else the first
    /// opportunity that may carry its last byte. `None`: nothing is due without input.
    #[inline]
    pub fn poll_at(&self) -> Option<Instant> {
        self.wire.poll_at().or_else(|| {
            let waiting = (self.partial.is_some() || !self.queue.is_empty()) && !self.cursor.finished;
            waiting.then(|| self.run_time(self.next_ns()).saturating_add(self.wire.model().delay))
        })
    }

    /// Returns the packets that have arrived by `now`. Early calls have no effect.
    #[inline]
    pub fn on_time(&mut self, now: Instant, out: &mut PipeOut) {
        let (arrived, dropped) = (out.arrived.len(), out.dropped.len());
        self.advance(now, out);
        self.account.bytes_arrived += self.wire.deliver(now, out);
        self.account.packets_arrived += (out.arrived.len() - arrived) as u64;
        self.account.note_dropped(&out.dropped[dropped..]);
        self.check();
    }

    /// Uses or loses all opportunities up to and including `now`. Returns drops only.
    pub fn catch_up(&mut self, now: Instant, out: &mut PipeOut) {
        let dropped = out.dropped.len();
        self.advance(now, out);
        self.account.note_dropped(&out.dropped[dropped..]);
    }

    fn advance(&mut self, now: Instant, out: &mut PipeOut) {
        let until = self.trace_ns(now);
        while !self.cursor.finished && self.next_ns() <= until {
            if self.partial.is_none() && self.queue.is_empty() {
                self.queue.found_empty();
                return self.lose_until(until);
            }
            self.use_slot(out);
        }
    }

    /// Loses all opportunities up to and including `until`: the next few one by one, which is
    /// cheaper than a search when little time has passed.
    fn lose_until(&mut self, until: u64) {
        for _ in 0..4 {
            self.step();
            if self.cursor.finished || self.next_ns() > until {
                return;
            }
        }
        self.skip_until(until);
    }

    /// All opportunities of one millisecond are one budget: what a packet leaves of one, the next
    /// packet may use, and once the queue is empty the rest is lost, because nothing arrives in
    /// between.
    fn use_slot(&mut self, out: &mut PipeOut) {
        let moment = self.run_time(self.next_ns());
        let count = self.trace.slots()[self.cursor.slot].count;
        let mut budget = u64::from(count) * u64::from(self.playback.opportunity);
        while let Some((item, left)) =
            self.partial.take().or_else(|| self.queue.dequeue(moment, &mut out.dropped).map(|i| (i, i.size)))
        {
            // A packet that continues in a later opportunity has begun before.
            if left == item.size {
                out.note(item.id, moment, LinkStage::Serialization);
            }
            if u64::from(left) > budget {
                self.partial = Some((item, left - budget as u32));
                break;
            }
            budget -= u64::from(left);
            out.note(item.id, moment, LinkStage::Propagation);
            self.wire.put(moment, moment, item);
            if budget == 0 {
                break;
            }
        }
        self.step();
    }

    fn step(&mut self) {
        self.cursor.slot += 1;
        if self.cursor.slot == self.trace.slots().len() {
            self.cursor.slot = 0;
            self.cursor.base_ns = self.cursor.base_ns.saturating_add(self.period_ns());
            self.cursor.finished = self.playback.end == TraceEnd::Stop;
        }
    }

    /// Moves to the first opportunity after `until` [ns of trace time].
    fn skip_until(&mut self, until: u64) {
        let period = self.period_ns();
        let round = until / period;
        if self.playback.end == TraceEnd::Stop && round > 0 {
            self.cursor.finished = true;
            return;
        }
        let inside_ms = until % period / NS_PER_MS;
        let slots = self.trace.slots();
        // `inside_ms` is before the last timestamp, which is the period: the slot exists.
        let slot = slots.partition_point(|s| u64::from(s.ms) <= inside_ms);
        self.cursor = Cursor { base_ns: round * period, slot, finished: false };
    }

    /// When the opportunities at the cursor come [ns of trace time].
    #[inline]
    fn next_ns(&self) -> u64 {
        self.cursor.base_ns.saturating_add(u64::from(self.trace.slots()[self.cursor.slot].ms) * NS_PER_MS)
    }
    fn period_ns(&self) -> u64 {
        u64::from(self.trace.period_ms()) * NS_PER_MS
    }
    fn trace_ns(&self, now: Instant) -> u64 {
        now.0.saturating_add(self.playback.offset.0)
    }
    fn run_time(&self, trace_ns: u64) -> Instant {
        Instant(trace_ns - self.playback.offset.0)
    }

    /// New parameters of the wire for packets that leave after `now`; as
    /// [`Pipe::set_wire`](crate::Pipe::set_wire).
    pub fn set_wire(&mut self, now: Instant, model: WireModel, out: &mut PipeOut) {
        self.catch_up(now, out);
        self.wire.set_model(model);
    }
    /// The faults of the wire, in force for packets that leave after `now`.
    pub(crate) fn faults(&mut self, now: Instant, out: &mut PipeOut) -> &mut Faults {
        self.catch_up(now, out);
        self.wire.faults()
    }
    /// Returns the contents at `now`, exactly: catches up first. The packet in service counts as on
    /// the wire.
    pub fn occupancy(&mut self, now: Instant, out: &mut PipeOut) -> Occupancy {
        self.catch_up(now, out);
        self.inside()
    }
    /// The counts of the link so far.
    pub fn account(&self) -> &Account {
        &self.account
    }
    /// The queue as of the last call.
    pub fn queue(&self) -> &Queue {
        &self.queue
    }
    /// The wire's parameters in force.
    pub fn wire(&self) -> &WireModel {
        self.wire.model()
    }
    /// The trace that is played.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    fn inside(&self) -> Occupancy {
        let partial = self.partial.as_ref().map(|(item, _)| u64::from(item.size));
        Occupancy {
            queue_packets: self.queue.packets() as u64,
            queue_bytes: self.queue.bytes(),
            wire_packets: self.wire.packets() as u64 + u64::from(partial.is_some()),
            wire_bytes: self.wire.bytes() + partial.unwrap_or(0),
        }
    }

    #[inline]
    fn check(&self) {
        if cfg!(debug_assertions) {
            self.account.check(&self.inside());
        }
    }
}
