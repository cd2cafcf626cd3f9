//! What carries packets from node to node, behind one contract.
//!
//! An access takes a packet at an [`Entry`] and is called when one of its [`Clock`]s is due. Both
//! append to an [`AccessOutput`] what becomes of packets, one [`Step`] after the other in the order
//! in which the world has to carry them out; both are followed by `set_clocks`, which says when the
//! access wants to be called next. An access knows names for the tables, but neither the world nor
//! another access.

mod bearer;
mod link;
mod lte_rlc;
mod umts;
mod wlan;

use std::collections::BTreeMap;

use lasthop_engine::EventQueue;
use lasthop_lte_l2::LtePipe;
use lasthop_net::{DropCause, Ecn, Item, PipeOut};
use lasthop_umts::Bearer;
use lasthop_units::{AccessId, FlowId, IndexVec, Instant, NodeId, PacketId};

pub use bearer::{BearerAccess, entry as bearer_entry, rlc_event, rlc_row};
pub use link::LinkAccess;
pub use lte_rlc::describe as describe_rlc;
pub use wlan::{WlanAccess, entry as wlan_entry};

use crate::event::{Clock, Event, Wake};
use crate::probe::Probes;
use crate::route::Entry;
use crate::spec::{Action, Spec};

/// What carries packets: what is particular to each kind is in the module of its name.
#[allow(clippy::large_enum_variant)] // most are links, which every packet of a wired network passes
pub enum Access {
    /// One direction of a wired link.
    Link(LinkAccess),
    /// A UMTS dedicated channel.
    Umts(Box<BearerAccess<Bearer>>),
    /// PDCP and RLC of LTE over a channel of grants.
    LteRlc(Box<BearerAccess<LtePipe>>),
    /// All wireless LANs.
    Wlan(Box<WlanAccess>),
}

/// Calls the same method of each kind. Links stand first: they carry most packets.
macro_rules! each {
    ($self:ident, $access:ident => $what:expr) => {
        match $self {
            Access::Link($access) => $what,
            Access::Umts($access) => $what,
            Access::LteRlc($access) => $what,
            Access::Wlan($access) => $what,
        }
    };
}

impl Access {
    /// Largest IP packet that enters here [B].
    #[inline(always)]
    pub fn mtu(&self, entry: Entry) -> u32 {
        match self {
            Access::Link(link) => link.mtu(),
            Access::Umts(bearer) => bearer.mtu(),
            Access::LteRlc(bearer) => bearer.mtu(),
            Access::Wlan(wlan) => wlan.mtu(entry),
        }
    }
    /// A packet enters, on its way to the node `dst`.
    #[inline(always)]
    pub fn enter(&mut self, now: Instant, entry: Entry, item: Item, dst: NodeId, out: &mut AccessOutput) {
        let _of_all = dst;
        match self {
            Access::Link(link) => link.enter(now, item, out),
            Access::Umts(bearer) => bearer.enter(now, entry, item, out),
            Access::LteRlc(bearer) => bearer.enter(now, entry, item, out),
            Access::Wlan(wlan) => wlan.enter(now, entry, item, out),
        }
    }
    /// The event of a clock has come. False, and nothing has happened: it was void.
    #[inline]
    pub fn on_time(&mut self, now: Instant, clock: Clock, out: &mut AccessOutput) -> bool {
        match self {
            Access::Link(link) => link.on_time(now, out),
            Access::Umts(bearer) => bearer.on_time(now, clock, out),
            Access::LteRlc(bearer) => bearer.on_time(now, clock, out),
            Access::Wlan(wlan) => wlan.on_time(now, out),
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
        match self {
            Access::Link(link) => link.name(),
            Access::Umts(bearer) => bearer.name(),
            Access::LteRlc(bearer) => bearer.name(),
            Access::Wlan(wlan) => wlan.place(place),
        }
    }
    /// The name of the scenario's table that leads here, if the ways out of a node can be told
    /// apart by it.
    pub fn table(&self) -> Option<&str> {
        match self {
            Access::Link(link) => Some(link.table()),
            Access::Umts(bearer) => Some(bearer.name()),
            Access::LteRlc(bearer) => Some(bearer.name()),
            Access::Wlan(_) => None,
        }
    }
    /// Whether mobiles are behind it.
    pub const fn is_wireless(&self) -> bool {
        !matches!(self, Access::Link(_))
    }
    /// Does what of a change concerns this access. False: nothing does.
    pub fn change(&mut self, now: Instant, action: &Action, out: &mut AccessOutput) -> bool {
        match (self, action) {
            (Access::Link(link), Action::Link(name, spec)) => link.change(now, name, spec, out),
            (Access::Umts(bearer), Action::Bearer(name, spec)) => bearer.change(name, spec),
            (Access::LteRlc(bearer), Action::Bearer(name, spec)) => bearer.change(name, spec),
            (Access::Wlan(wlan), Action::Ap(_, ap, config)) => {
                wlan.change_ap(*ap, config);
                true
            }
            (Access::Wlan(wlan), Action::Station(_, station, config)) => {
                wlan.change_station(*station, config);
                true
            }
            _ => false,
        }
    }
    /// Says which flows there are, once, before anything enters.
    pub fn set_flows(&mut self, flows: &IndexVec<FlowId, FlowOf>) {
        match self {
            Access::Wlan(wlan) => wlan.set_flows(flows),
            Access::Link(_) | Access::Umts(_) | Access::LteRlc(_) => {}
        }
    }
    /// Writes the rows of the tables that are sampled.
    pub fn sample(&mut self, now: Instant, probes: &mut Probes, out: &mut AccessOutput) {
        match self {
            Access::Link(link) => link.sample(now, probes, out),
            Access::Umts(bearer) => bearer.sample(now, probes),
            Access::LteRlc(bearer) => bearer.sample(now, probes),
            Access::Wlan(wlan) => wlan.sample(now, probes),
        }
    }
}

/// The numbers of the scenario's tables `[flow.NAME]`: what is particular to the flows of a table
/// is found by it.
pub struct FlowTables(BTreeMap<String, u32>);

impl FlowTables {
    /// Those of a scenario.
    pub fn of(spec: &Spec) -> FlowTables {
        FlowTables(spec.flow.keys().cloned().zip(0..).collect())
    }
    /// The number of a table; one that no flow has where there is no such table.
    pub fn number(&self, name: &str) -> u32 {
        self.0.get(name).copied().unwrap_or(u32::MAX)
    }
}

/// What an access may know of a flow.
#[derive(Clone, Copy)]
pub struct FlowOf {
    /// The number of its table.
    pub table: u32,
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
    /// It was dropped.
    Drop {
        /// When, if that was before now: some accesses catch up.
        at: Option<Instant>,
        /// The packet.
        packet: PacketId,
        /// Why.
        cause: Cause,
        /// Where, a number that [`Access::place`] knows.
        place: u32,
    },
    /// It was marked (ECN) where it is.
    Mark {
        /// The packet.
        packet: PacketId,
    },
    /// Something is worth a row of the table `events`.
    Event(Box<AccessEvent>),
}

/// A row of the table `events`.
#[derive(Debug)]
pub struct AccessEvent {
    /// Who it happened to, as `kind/name`.
    pub source: String,
    /// What happened.
    pub kind: &'static str,
    /// A number that belongs to it.
    pub value: Option<f64>,
    /// The rest; empty: nothing.
    pub detail: String,
}

impl AccessEvent {
    /// The step that tells the world.
    pub fn step(self) -> Step {
        Step::Event(Box::new(self))
    }
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
