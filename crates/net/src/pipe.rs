//! A pipe: rate, delay, queue, loss. One pending event, the arrival of its head.
//!
//! Contract: `enqueue(now, item, out)` gives it a packet; `poll_at()` is the moment of the next
//! arrival; `on_time(now, out)` returns the packets that have arrived. Queueing and serialisation
//! need no events: each access catches up with all events since (`catch_up`), in order of time and
//! with the true moments, so an AQM has the same inputs as with events. Such drops carry the time
//! at which they happened.
//!
//! With a queue in which packets only wait for their turn, the times of a packet are known when it
//! enters: it is put on the wire at once (*planned*), and never copied from a list of waiting
//! packets to one of those in flight. Which of the planned packets still wait is counted when the
//! queue seems full or is read. Before a change of the link they go back into the queue.
//!
//! Order at one time: the packets that leave the queue at `now` have left before those that arrive
//! at `now` are processed.

use lasthop_units::{Bitrate, Bytes, Duration, Instant};

use crate::fault::Faults;
use crate::wire::{Wire, WireModel};
use crate::{DropCause, Dropped, Item, Limit, LinkStage, PipeOut, Queue};

/// One direction of a wired link.
#[derive(Clone, Debug)]
pub struct Pipe {
    /// `None`: infinitely fast.
    rate: Option<Bitrate>,
    queue: Queue,
    wire: Wire,
    /// The transmitter is busy until then.
    free_at: Instant,
    /// Size and serialisation time of the last packet: most packets have the size of the one
    /// before.
    last: (u32, Duration),
    /// Packets are planned; the queue is empty.
    plans: bool,
    /// The limit of the queue.
    limit: Limit,
    /// The planned packets that are not known to have left the queue, the last ones on the wire.
    waiting: Waiting,
    account: Account,
}

/// Packets that were planned and wait.
#[derive(Clone, Copy, Debug, Default)]
struct Waiting {
    packets: usize,
    bytes: u64,
}

impl Waiting {
    #[inline(always)]
    fn remove(&mut self, item: &Item) {
        self.packets -= 1;
        self.bytes -= u64::from(item.size);
    }
}

/// What a pipe has inside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// Packets waiting in the queue.
    pub queue_packets: u64,
    /// Bytes waiting in the queue.
    pub queue_bytes: u64,
    /// Packets being sent or propagating, with those that will be lost at the far end.
    pub wire_packets: u64,
    /// Bytes being sent or propagating.
    pub wire_bytes: u64,
}

/// The counts of a link: `in` is always `arrived` + `dropped` + the packets inside.
///
/// Counts that change together are not beside each other: the compiler would add to both in one
/// register of vectors, which takes twice as many instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Packets given to the link.
    pub packets_in: u64,
    /// Packets that arrived (extra copies not counted).
    pub packets_arrived: u64,
    /// Packets dropped, all causes.
    pub packets_dropped: u64,
    /// Bytes given to the link.
    pub bytes_in: u64,
    /// Bytes that arrived (extra copies not counted).
    pub bytes_arrived: u64,
    /// Bytes dropped, all causes.
    pub bytes_dropped: u64,
}

impl Pipe {
    /// A pipe with draws of its own (`seed`, `entity`). `rate` `None` is infinitely fast, zero is
    /// stopped.
    pub fn new(rate: Option<Bitrate>, queue: Queue, wire: WireModel, seed: u64, entity: u64) -> Pipe {
        let mut pipe = Pipe {
            rate,
            limit: queue.limit(),
            queue,
            wire: Wire::new(wire, seed, entity),
            free_at: Instant::ZERO,
            last: (0, Duration::ZERO),
            plans: false,
            waiting: Waiting::default(),
            account: Account::default(),
        };
        pipe.plan(&mut PipeOut::default());
        pipe
    }

    /// Enqueues a packet. Inlined into its callers, one of which processes every packet.
    #[inline(always)]
    pub fn enqueue(&mut self, now: Instant, item: Item, out: &mut PipeOut) {
        self.account.packets_in += 1;
        self.account.bytes_in += u64::from(item.size);
        if self.plans {
            if out.notes.is_none() {
                return self.enqueue_planned(now, item, out);
            }
            self.unplan(now);
        }
        let dropped = out.dropped.len();
        self.catch_up_uncounted(now, out);
        let stopped = self.rate == Some(Bitrate(0));
        let idle = self.free_at <= now && !stopped && self.queue.is_empty();
        if idle && self.queue.may_be_bypassed() {
            self.serve(now, Item { enqueued: now, ..item }, out);
        } else {
            if idle {
                self.queue.found_empty();
            }
            self.queue.enqueue(now, item, &mut out.dropped);
            if self.free_at <= now {
                self.free_at = now;
                self.serve_until(now, out);
            }
        }
        self.note_dropped(out, dropped);
        self.check();
    }

    /// As [`enqueue`](Self::enqueue): the packet is sent after those before it.
    #[inline(always)]
    fn enqueue_planned(&mut self, now: Instant, item: Item, out: &mut PipeOut) {
        let mut start = now;
        if self.free_at > now {
            start = self.free_at;
            if !self.fits(&item) {
                self.note_started(now);
                if !self.fits(&item) {
                    return self.drop_newcomer(now, item, out);
                }
            }
            self.waiting.packets += 1;
            self.waiting.bytes += u64::from(item.size);
        } else {
            self.waiting = Waiting::default();
        }
        self.transmit(start, item);
        self.check();
    }

    #[inline(always)]
    fn fits(&self, item: &Item) -> bool {
        self.limit.allows(self.waiting.packets + 1, self.waiting.bytes + u64::from(item.size))
    }

    #[cold]
    #[inline(never)]
    fn drop_newcomer(&mut self, now: Instant, item: Item, out: &mut PipeOut) {
        let dropped = out.dropped.len();
        out.dropped.push(Dropped { at: now, item, cause: DropCause::QueueFull });
        self.note_dropped(out, dropped);
        self.check();
    }

    /// Counts the planned packets whose transmission has begun by `now`: they do not wait any more.
    fn note_started(&mut self, now: Instant) {
        while let Some(behind) = self.waiting.packets.checked_sub(1)
            && let Some(item) = self.wire.has_begun(behind, now)
        {
            self.waiting.remove(&item);
        }
    }

    /// Plans packets from now on, those in the queue included, if only their order decides when
    /// they leave.
    fn plan(&mut self, out: &mut PipeOut) {
        debug_assert_eq!(self.waiting.packets, 0);
        self.plans = self.queue.only_delays()
            && self.wire.may_be_planned()
            && self.rate != Some(Bitrate(0))
            && out.notes.is_none();
        while self.plans
            && let Some(item) = self.queue.dequeue(self.free_at, &mut out.dropped)
        {
            self.waiting.packets += 1;
            self.waiting.bytes += u64::from(item.size);
            self.transmit(self.free_at, item);
        }
    }

    /// Puts the packets that wait into the queue, and plans no others.
    #[cold]
    #[inline(never)]
    fn unplan(&mut self, now: Instant) {
        self.note_started(now);
        self.plans = false;
        let Waiting { packets, .. } = std::mem::take(&mut self.waiting);
        if packets == 0 {
            return;
        }
        // They stay also if the limit has become smaller since they entered.
        self.queue.set_limit(Limit::default());
        let (mut free_at, mut none) = (None, Vec::new());
        for (begins, item) in self.wire.recall(packets) {
            // The transmitter sends the one before it until then.
            free_at.get_or_insert(begins);
            self.queue.enqueue(now, item, &mut none);
        }
        self.queue.set_limit(self.limit);
        self.free_at = free_at.unwrap_or(self.free_at);
    }

    /// The time at which the next packet arrives at the far end (or is lost there). `None`: nothing
    /// will happen without input.
    #[inline(always)]
    pub fn poll_at(&self) -> Option<Instant> {
        self.wire.poll_at().or_else(|| {
            let waiting = !self.queue.is_empty() && self.rate != Some(Bitrate(0));
            waiting.then_some(self.free_at)
        })
    }

    /// Returns the packets that have arrived by `now`. Early calls have no effect.
    #[inline]
    pub fn on_time(&mut self, now: Instant, out: &mut PipeOut) {
        let (arrived, dropped) = (out.arrived.len(), out.dropped.len());
        self.catch_up_uncounted(now, out);
        self.account.bytes_arrived += self.wire.deliver(now, out);
        self.account.packets_arrived += (out.arrived.len() - arrived) as u64;
        self.note_dropped(out, dropped);
        self.check();
    }

    /// The packet that arrives by `now`, if it is the only one and nothing else happens to be done
    /// by then. `None`: nothing has happened, and [`on_time`](Self::on_time) is to be called.
    #[inline(always)]
    pub fn take_lone(&mut self, now: Instant) -> Option<Item> {
        if !self.plans {
            return None;
        }
        let item = self.wire.take_lone(now)?;
        if self.waiting.packets > self.wire.packets() {
            self.waiting.remove(&item);
        }
        self.account.packets_arrived += 1;
        self.account.bytes_arrived += u64::from(item.size);
        self.check();
        Some(item)
    }

    /// Processes the events of the transmitter up to and including `now`. Returns drops only.
    #[inline]
    pub fn catch_up(&mut self, now: Instant, out: &mut PipeOut) {
        let dropped = out.dropped.len();
        self.catch_up_uncounted(now, out);
        self.note_dropped(out, dropped);
    }

    #[inline]
    fn catch_up_uncounted(&mut self, now: Instant, out: &mut PipeOut) {
        if self.plans {
            self.note_started(now);
        } else if self.free_at <= now && !self.queue.is_empty() {
            self.serve_until(now, out);
        }
    }

    /// Serves the queue as long as the transmitter is free by `now`.
    fn serve_until(&mut self, now: Instant, out: &mut PipeOut) {
        if self.rate == Some(Bitrate(0)) {
            return;
        }
        while self.free_at <= now {
            let Some(item) = self.queue.dequeue(self.free_at, &mut out.dropped) else { break };
            self.serve(self.free_at, item, out);
        }
    }

    /// Sends one packet from `start` on.
    #[inline(always)]
    fn serve(&mut self, start: Instant, item: Item, out: &mut PipeOut) {
        self.transmit(start, item);
        if out.notes.is_some() {
            out.note(item.id, start, LinkStage::Serialization);
            out.note(item.id, self.free_at, LinkStage::Propagation);
        }
    }

    /// The transmitter sends a packet from `start` on, which puts it on the wire.
    #[inline(always)]
    fn transmit(&mut self, start: Instant, item: Item) {
        self.free_at = match self.rate {
            None => start,
            Some(rate) => {
                if self.last.0 != item.size {
                    self.last = (item.size, rate.time_for(Bytes(u64::from(item.size))));
                }
                start.saturating_add(self.last.1)
            }
        };
        self.wire.put(start, self.free_at, item);
    }

    /// A new rate from `now` on. The packet being sent continues at its old rate (as in ns-3). Zero
    /// stops the transmitter with the queue intact; a later rate restarts it.
    pub fn set_rate(&mut self, now: Instant, rate: Option<Bitrate>, out: &mut PipeOut) {
        self.catch_up(now, out);
        self.unplan(now);
        self.rate = rate;
        self.last = (0, Duration::ZERO);
        if self.free_at < now {
            self.free_at = now;
        }
        let dropped = out.dropped.len();
        self.catch_up_uncounted(now, out);
        self.note_dropped(out, dropped);
        self.plan(out);
    }

    /// New parameters of the wire for packets whose serialisation starts after `now`; those on the
    /// wire keep arrival and outcome. After a shorter delay a later packet would overtake: without
    /// `reordering` it arrives together with the last of the earlier ones instead.
    pub fn set_wire(&mut self, now: Instant, model: WireModel, out: &mut PipeOut) {
        self.catch_up(now, out);
        self.unplan(now);
        self.wire.set_model(model);
        self.plan(out);
    }

    /// The faults of the wire, in force for packets that leave after `now`.
    pub(crate) fn faults(&mut self, now: Instant, out: &mut PipeOut) -> &mut Faults {
        self.catch_up(now, out);
        self.unplan(now);
        self.wire.faults()
    }

    /// Sets a new delay; see [`Pipe::set_wire`].
    pub fn set_delay(&mut self, now: Instant, delay: Duration, out: &mut PipeOut) {
        self.set_wire(now, WireModel { delay, ..*self.wire.model() }, out);
    }

    /// Sets a new queue limit from `now` on; packets that already wait stay.
    pub fn set_limit(&mut self, now: Instant, limit: Limit, out: &mut PipeOut) {
        self.catch_up(now, out);
        self.queue.set_limit(limit);
        self.limit = limit;
    }

    /// Returns the contents at `now`, exactly: catches up first.
    pub fn occupancy(&mut self, now: Instant, out: &mut PipeOut) -> Occupancy {
        self.catch_up(now, out);
        self.inside()
    }

    /// The counts of the link so far.
    pub fn account(&self) -> &Account {
        &self.account
    }
    /// The rate in force; `None` is infinitely fast.
    pub fn rate(&self) -> Option<Bitrate> {
        self.rate
    }
    /// The queue: without the packets that are planned.
    pub fn queue(&self) -> &Queue {
        &self.queue
    }
    /// The wire's parameters in force.
    pub fn wire(&self) -> &WireModel {
        self.wire.model()
    }

    fn inside(&self) -> Occupancy {
        Occupancy {
            queue_packets: (self.queue.packets() + self.waiting.packets) as u64,
            queue_bytes: self.queue.bytes() + self.waiting.bytes,
            wire_packets: (self.wire.packets() - self.waiting.packets) as u64,
            wire_bytes: self.wire.bytes() - self.waiting.bytes,
        }
    }

    #[inline]
    fn note_dropped(&mut self, out: &PipeOut, from: usize) {
        self.account.note_dropped(&out.dropped[from..]);
    }

    #[inline]
    fn check(&self) {
        // Counting the contents is work that only the assertions need.
        if cfg!(debug_assertions) {
            self.account.check(&self.inside());
        }
    }
}

impl Account {
    #[inline]
    pub(crate) fn note_dropped(&mut self, dropped: &[Dropped]) {
        for d in dropped {
            self.packets_dropped += 1;
            self.bytes_dropped += u64::from(d.item.size);
        }
    }

    /// Debug builds: everything given is arrived, dropped or inside.
    #[inline]
    pub(crate) fn check(&self, inside: &Occupancy) {
        debug_assert_eq!(
            self.packets_in,
            self.packets_arrived + self.packets_dropped + inside.queue_packets + inside.wire_packets,
            "packets in = arrived + dropped + inside"
        );
        debug_assert_eq!(
            self.bytes_in,
            self.bytes_arrived + self.bytes_dropped + inside.queue_bytes + inside.wire_bytes,
            "bytes in = arrived + dropped + inside"
        );
    }
}
