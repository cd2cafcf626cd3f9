//! A pipe: rate, delay, queue, loss. One pending event, the arrival of its head.
//!
//! Contract: `enqueue(now, item, out)` gives it a packet; `poll_at()` is the moment of the next
//! arrival; `on_time(now, out)` returns the packets that have arrived. Queueing and serialisation
//! need no events: each access catches up with all events since (`catch_up`), in order of time and
//! with the true moments, so an AQM has the same inputs as with events. Such drops carry the time
//! at which they happened. With a queue that does not depend on the time of departures, packets
//! that fit and the next arrival of several do not catch up: it is done for many packets at once,
//! when the queue seems full or the wire empty.
//!
//! Order at one time: the packets that leave the queue at `now` have left before those that arrive
//! at `now` are processed.

use lasthop_units::{Bitrate, Bytes, Duration, Instant};

use crate::fault::Faults;
use crate::wire::{Wire, WireModel};
use crate::{Item, Limit, LinkStage, PipeOut, Queue};

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
    /// The queue may be served late: arrivals are in the order of serving.
    late: bool,
    account: Account,
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Packets given to the link.
    pub packets_in: u64,
    /// Bytes given to the link.
    pub bytes_in: u64,
    /// Packets that arrived (extra copies not counted).
    pub packets_arrived: u64,
    /// Bytes that arrived (extra copies not counted).
    pub bytes_arrived: u64,
    /// Packets dropped, all causes.
    pub packets_dropped: u64,
    /// Bytes dropped, all causes.
    pub bytes_dropped: u64,
}

impl Pipe {
    /// A pipe with draws of its own (`seed`, `entity`). `rate` `None` is infinitely fast, zero is
    /// stopped.
    pub fn new(rate: Option<Bitrate>, queue: Queue, wire: WireModel, seed: u64, entity: u64) -> Pipe {
        let mut pipe = Pipe {
            rate,
            queue,
            wire: Wire::new(wire, seed, entity),
            free_at: Instant::ZERO,
            last: (0, Duration::ZERO),
            late: false,
            account: Account::default(),
        };
        pipe.note_order();
        pipe
    }

    /// Notes whether the queue may be served late.
    fn note_order(&mut self) {
        self.late = self.queue.may_be_served_late() && self.wire.keeps_order();
    }

    /// Enqueues a packet. Inlined into its callers, one of which processes every packet.
    #[inline(always)]
    pub fn enqueue(&mut self, now: Instant, item: Item, out: &mut PipeOut) {
        self.account.packets_in += 1;
        self.account.bytes_in += u64::from(item.size);
        if self.late
            && (self.free_at > now || !self.queue.is_empty())
            && !self.wire.is_empty()
            && out.notes.is_none()
            && self.queue.take_ahead(now, item)
        {
            return self.check();
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
    pub fn take_lone(&mut self, now: Instant, out: &PipeOut) -> Option<Item> {
        if !self.late || out.notes.is_some() {
            return None;
        }
        let item = self.wire.take_lone(now, self.queue.is_empty())?;
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
        if self.free_at <= now && !self.queue.is_empty() {
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
            // A packet that was taken ahead may have found the transmitter free.
            self.serve(self.free_at.max(item.enqueued), item, out);
        }
    }

    /// Sends one packet from `start` on.
    #[inline(always)]
    fn serve(&mut self, start: Instant, item: Item, out: &mut PipeOut) {
        self.free_at = match self.rate {
            None => start,
            Some(rate) => {
                if self.last.0 != item.size {
                    self.last = (item.size, rate.time_for(Bytes(u64::from(item.size))));
                }
                start.saturating_add(self.last.1)
            }
        };
        if out.notes.is_some() {
            out.note(item.id, start, LinkStage::Serialization);
            out.note(item.id, self.free_at, LinkStage::Propagation);
        }
        self.wire.put(self.free_at, item);
    }

    /// A new rate from `now` on. The packet being sent continues at its old rate (as in ns-3). Zero
    /// stops the transmitter with the queue intact; a later rate restarts it.
    pub fn set_rate(&mut self, now: Instant, rate: Option<Bitrate>, out: &mut PipeOut) {
        self.catch_up(now, out);
        self.rate = rate;
        self.last = (0, Duration::ZERO);
        if self.free_at < now {
            self.free_at = now;
        }
        let dropped = out.dropped.len();
        self.catch_up_uncounted(now, out);
        self.note_dropped(out, dropped);
    }

    /// New parameters of the wire for packets whose serialisation starts after `now`; those on the
    /// wire keep arrival and outcome. After a shorter delay a later packet would overtake: without
    /// `reordering` it arrives together with the last of the earlier ones instead.
    pub fn set_wire(&mut self, now: Instant, model: WireModel, out: &mut PipeOut) {
        self.catch_up(now, out);
        self.wire.set_model(model);
        self.note_order();
    }

    /// The faults of the wire, in force for packets that leave after `now`.
    pub(crate) fn faults(&mut self, now: Instant, out: &mut PipeOut) -> &mut Faults {
        self.catch_up(now, out);
        let faults = self.wire.faults();
        self.late = false;
        faults
    }
    /// Sets a new delay; see [`Pipe::set_wire`].
    pub fn set_delay(&mut self, now: Instant, delay: Duration, out: &mut PipeOut) {
        self.set_wire(now, WireModel { delay, ..*self.wire.model() }, out);
    }

    /// Sets a new queue limit from `now` on; packets that already wait stay.
    pub fn set_limit(&mut self, now: Instant, limit: Limit, out: &mut PipeOut) {
        self.catch_up(now, out);
        self.queue.set_limit(limit);
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
    /// The queue as of the last call.
    pub fn queue(&self) -> &Queue {
        &self.queue
    }
    /// The wire's parameters in force.
    pub fn wire(&self) -> &WireModel {
        self.wire.model()
    }

    fn inside(&self) -> Occupancy {
        Occupancy {
            queue_packets: self.queue.packets() as u64,
            queue_bytes: self.queue.bytes(),
            wire_packets: self.wire.packets() as u64,
            wire_bytes: self.wire.bytes(),
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
    pub(crate) fn note_dropped(&mut self, dropped: &[crate::Dropped]) {
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
