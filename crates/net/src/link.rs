//! A link of either kind behind one interface.

use lasthop_units::{Bitrate, FlowId, Instant};

use crate::pipe::{Account, Occupancy};
use crate::{FaultConfig, Item, Pipe, PipeOut, Queue, TraceLink, WireModel};

/// One direction of a link: with a rate, or along a trace. The contract is [`Pipe`]'s.
#[derive(Clone, Debug)]
pub enum Link {
    /// With a rate.
    Pipe(Pipe),
    /// Along a capacity trace.
    Trace(TraceLink),
}

macro_rules! each {
    ($self:ident, $link:ident => $what:expr) => {
        match $self {
            Link::Pipe($link) => $what,
            Link::Trace($link) => $what,
        }
    };
}

impl Link {
    /// Takes a packet.
    #[inline(always)]
    pub fn enqueue(&mut self, now: Instant, item: Item, out: &mut PipeOut) {
        each!(self, l => l.enqueue(now, item, out))
    }
    /// When the next packet arrives or may arrive. `None`: nothing is due without input.
    #[inline(always)] // called twice for each packet of a wired network
    pub fn poll_at(&self) -> Option<Instant> {
        each!(self, l => l.poll_at())
    }
    /// Returns the packets that have arrived by `now`.
    #[inline]
    pub fn on_time(&mut self, now: Instant, out: &mut PipeOut) {
        each!(self, l => l.on_time(now, out))
    }
    /// The packet that arrives by `now`, if it is known to be the only one without further
    /// processing. `None`: nothing has happened.
    #[inline(always)]
    pub fn take_lone(&mut self, now: Instant) -> Option<Item> {
        match self {
            Link::Pipe(pipe) => pipe.take_lone(now),
            Link::Trace(_) => None,
        }
    }
    /// Processes all events up to and including `now`, without returning arrivals.
    pub fn catch_up(&mut self, now: Instant, out: &mut PipeOut) {
        each!(self, l => l.catch_up(now, out))
    }
    /// A new rate from `now` on. False, and nothing changes, for a link that follows a trace.
    #[must_use]
    pub fn set_rate(&mut self, now: Instant, rate: Option<Bitrate>, out: &mut PipeOut) -> bool {
        match self {
            Link::Pipe(pipe) => {
                pipe.set_rate(now, rate, out);
                true
            }
            Link::Trace(_) => false,
        }
    }
    /// New parameters of the wire for packets that leave after `now`.
    pub fn set_wire(&mut self, now: Instant, model: WireModel, out: &mut PipeOut) {
        each!(self, l => l.set_wire(now, model, out))
    }
    /// Adds a fault that may be started, after the present ones.
    pub fn add_fault(&mut self, fault: FaultConfig) {
        each!(self, l => l.faults(Instant::ZERO, &mut PipeOut::default()).add(fault));
    }
    /// The fault of this name numbers the packets of these flows, in ascending order.
    pub fn set_fault_flows(&mut self, name: &str, flows: &[FlowId]) {
        each!(self, l => l.faults(Instant::ZERO, &mut PipeOut::default()).set_flows(name, flows));
    }
    /// Starts the fault of this name again, or stops it, for packets that leave after `now`.
    pub fn run_fault(&mut self, now: Instant, name: &str, run: bool, out: &mut PipeOut) {
        let _one_of_another_link = each!(self, l => l.faults(now, out).run(now, name, run));
    }
    /// The wire's parameters in force.
    pub fn wire(&self) -> &WireModel {
        each!(self, l => l.wire())
    }
    /// Returns the contents at `now`, exactly.
    pub fn occupancy(&mut self, now: Instant, out: &mut PipeOut) -> Occupancy {
        each!(self, l => l.occupancy(now, out))
    }
    /// The counts of the link so far.
    pub fn account(&self) -> &Account {
        each!(self, l => l.account())
    }
    /// The queue as of the last call.
    pub fn queue(&self) -> &Queue {
        each!(self, l => l.queue())
    }
}
