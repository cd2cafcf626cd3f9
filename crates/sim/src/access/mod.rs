//! What carries packets from node to node, behind one contract.
//!
//! An access takes a packet at an [`Entry`] and is called when one of its [`Clock`]s is due. Both
//! append to an [`AccessOutput`] what becomes of packets, one [`Step`] after the other in the order
//! in which the world has to carry them out; both are followed by `set_clocks`, which says when the
//! access wants to be called next. An access knows names for the tables, but neither the world nor
//! another access.

mod link;

use lasthop_engine::EventQueue;
use lasthop_net::{DropCause, Ecn, Item, PipeOut};
use lasthop_units::{AccessId, Instant, NodeId, PacketId};

pub use link::LinkAccess;

use crate::event::{Clock, Event, Wake};
use crate::probe::Probes;
use crate::route::Entry;
use crate::spec::Action;

/// What carries packets: what is particular to each kind is in the module of its name.
pub enum Access {
    /// One direction of a wired link.
    Link(LinkAccess),
}

/// Calls the same method of each kind. Links stand first: they carry most packets.
macro_rules! each {
    ($self:ident, $access:ident => $what:expr) => {
        match $self {
            Access::Link($access) => $what,
        }
    };
}

impl Access {
    /// Largest IP packet that enters here [B].
    #[inline(always)]
    pub fn mtu(&self, entry: Entry) -> u32 {
        let _of_all = entry;
        match self {
            Access::Link(link) => link.mtu(),
        }
    }
    /// A packet enters, on its way to the node `dst`.
    #[inline(always)]
    pub fn enter(&mut self, now: Instant, entry: Entry, item: Item, dst: NodeId, out: &mut AccessOutput) {
        let _of_all = (entry, dst);
        match self {
            Access::Link(link) => link.enter(now, item, out),
        }
    }
    /// The event of a clock has come. False, and nothing has happened: it was void.
    #[inline]
    pub fn on_time(&mut self, now: Instant, clock: Clock, out: &mut AccessOutput) -> bool {
        let _of_all = clock;
        match self {
            Access::Link(link) => link.on_time(now, out),
        }
    }
    /// Says when it wants to be called next.
    #[inline(always)]
    pub fn set_clocks(&mut self, clocks: &mut Clocks<'_>) {
        each!(self, a => a.set_clocks(clocks));
    }
    /// Packets inside, counted one by one.
    pub fn packets_inside(&self) -> usize {
        each!(self, a => a.packets_inside())
    }
    /// The name of where a step happened, for the tables.
    pub fn place(&self, place: u32) -> &str {
        let _of_all = place;
        match self {
            Access::Link(link) => link.name(),
        }
    }
    /// The name of the scenario's table that leads here, if the ways out of a node can be told
    /// apart by it.
    pub fn table(&self) -> Option<&str> {
        match self {
            Access::Link(link) => Some(link.table()),
        }
    }
    /// Does what of a change concerns this access. False: nothing does.
    pub fn change(&mut self, now: Instant, action: &Action, out: &mut AccessOutput) -> bool {
        match (self, action) {
            (Access::Link(link), Action::Link(name, spec)) => link.change(now, name, spec, out),
            _ => false,
        }
    }
    /// Writes the rows of the tables that are sampled.
    pub fn sample(&mut self, now: Instant, probes: &mut Probes, out: &mut AccessOutput) {
        each!(self, a => a.sample(now, probes, out));
    }
}

/// What an access has produced: appended by it, carried out by the world.
#[derive(Default)]
pub struct AccessOutput {
    /// What happened, in order.
    pub steps: Vec<Step>,
    /// What a link hands out: one buffer for all links. Empty between calls.
    pipe: PipeOut,
}

/// Something that happened to a packet.
#[derive(Debug)]
pub enum Step {
    /// It is at the node `to`, with this codepoint if that may have changed.
    Deliver {
        /// The node.
        to: NodeId,
        /// The packet.
        packet: PacketId,
        /// Its ECN codepoint.
        ecn: Option<Ecn>,
    },
    /// A copy of it arrives at `to` after everything that is delivered in this output.
    Copy {
        /// The packet.
        of: PacketId,
        /// The node.
        to: NodeId,
        /// ECN codepoint of the copy.
        ecn: Option<Ecn>,
    },
    /// It was dropped, now or, by an access that catches up, earlier.
    Drop {
        /// When.
        at: Instant,
        /// The packet.
        packet: PacketId,
        /// Why.
        cause: Cause,
        /// Where, a number that [`Access::place`] knows.
        place: u32,
    },
}

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug)]
pub enum Cause {
    /// By a cause that the flow monitor counts.
    Net(DropCause),
    /// By one of a radio or of an agent: its name in the table `drops`.
    Other(&'static str),
}

impl Cause {
    /// The name in the table `drops`.
    pub const fn name(self) -> &'static str {
        match self {
            Cause::Net(cause) => cause.name(),
            Cause::Other(name) => name,
        }
    }
}

/// Where an access says when it wants to be called.
pub struct Clocks<'a> {
    queue: &'a mut EventQueue<Event>,
    access: AccessId,
}

impl Clocks<'_> {
    /// Those of `access`.
    #[inline(always)]
    pub fn of(queue: &mut EventQueue<Event>, access: AccessId) -> Clocks<'_> {
        Clocks { queue, access }
    }
    /// Sees to it that `clock`, whose event `wake` stands for, comes at `want` or earlier.
    #[inline(always)]
    pub fn ensure(&mut self, wake: &mut Wake, clock: Clock, want: Option<Instant>) {
        wake.ensure(self.queue, want, Event::Access(self.access, clock));
    }
}
