//! Accesses, which carry packets from node to node, behind one contract.
//!
//! An access takes a packet at an [`Entry`] and is called when one of its [`Clock`]s is due. Both
//! append to an [`AccessOutput`] the outcomes of packets, one [`Step`] after the other in the order
//! in which the world has to carry them out, and after all steps the packets that a link delivers
//! together ([`AccessOutput::arrived`]); both are followed by `set_clocks`, which schedules the
//! next calls of the access. An access has names for the tables, but uses neither the world nor
//! another access.

mod bearer;
mod bearers;
mod framing;
mod link;
mod lte;
mod lte_rlc;
mod stage;
mod umts;
mod wiring;
mod wlan;

use std::collections::BTreeMap;

use lasthop_engine::EventQueue;
use lasthop_lte_l2::LtePipe;
use lasthop_net::{DropCause, Ecn, Item, PipeOut};
use lasthop_tcp::Notice;
use lasthop_tcp::cc::Fault;
use lasthop_umts::Bearer;
use lasthop_units::{AccessId, Bitrate, FlowId, IndexVec, Instant, NodeId, PacketId};

pub use bearer::BearerAccess;
pub use link::LinkAccess;
pub use lte::LteAccess;
pub use stage::Stage;
pub use wiring::Wiring;
pub use wlan::WlanAccess;

use crate::error::Error;
use crate::event::{Clock, Event, Wake};
use crate::observe::{Frame, Open};
use crate::probe::{Probes, tables};
use crate::route::Entry;
use crate::spec::{AccessChange, HintSpec, Scenario, Spec};

/// An access; the module of each kind has its particular parts.
#[allow(clippy::large_enum_variant)] // links are the most frequent, and every packet passes them
pub enum Access {
    /// One direction of a wired link.
    Link(LinkAccess),
    /// A UMTS dedicated channel.
    Umts(Box<BearerAccess<Bearer>>),
    /// PDCP and RLC of LTE over a channel of grants.
    LteRlc(Box<BearerAccess<LtePipe>>),
    /// All cells and UEs of LTE.
    Lte(Box<LteAccess>),
    /// All wireless LANs.
    Wlan(Box<WlanAccess>),
}

/// Calls the same method of each kind. Links come first: they carry most packets.
macro_rules! each {
    ($self:ident, $access:ident => $what:expr) => {
        match $self {
            Access::Link($access) => $what,
            Access::Umts($access) => $what,
            Access::LteRlc($access) => $what,
            Access::Lte($access) => $what,
            Access::Wlan($access) => $what,
        }
    };
}

/// Wires all accesses of a scenario; `go_on` is called from time to time.
///
/// # Errors
/// A policy of the caller's own whose constructor fails; an error of `go_on`.
pub fn wire(
    scenario: &Scenario,
    tables: &FlowTables,
    wiring: &mut Wiring,
    go_on: &mut dyn FnMut() -> Result<(), Error>,
) -> Result<(), Error> {
    link::wire(scenario, tables, wiring, go_on)?;
    bearers::wire(scenario.spec(), wiring);
    lte::wire(scenario, tables, wiring)?;
    wlan::wire(scenario.spec(), tables, wiring);
    Ok(())
}

/// The contract of accesses.
pub trait Adapter {
    /// Largest IP packet that enters here [B].
    fn mtu(&self, entry: Entry) -> u32;
    /// Takes in a packet with the destination `dst`.
    fn enter(&mut self, now: Instant, entry: Entry, item: Item, dst: NodeId, out: &mut AccessOutput);
    /// Processes the event of a clock. Returns false, without any effect, if the event was void.
    /// Only this call delivers packets of a link, after the steps ([`AccessOutput::arrived`]).
    fn on_time(&mut self, now: Instant, clock: Clock, out: &mut AccessOutput) -> bool;
    /// Schedules the next calls.
    fn set_clocks(&mut self, clocks: &mut Clocks<'_>);
    /// Packets inside, counted one by one.
    fn packets_inside(&self) -> usize;
    /// The name for the tables of the place of a step.
    fn place(&self, place: u32) -> &str;
    /// The name of the scenario's table of this access, if it distinguishes the ports of a node.
    fn table(&self) -> Option<&str> {
        None
    }
    /// True if mobiles are behind it.
    fn is_wireless(&self) -> bool {
        true
    }
    /// Applies the part of a change that concerns this access. Returns false if there is none.
    fn change(&mut self, now: Instant, change: &AccessChange, out: &mut AccessOutput) -> bool;
    /// Restarts or ends a fault, if it is one of this access. Returns false if it is not.
    fn run_fault(&mut self, now: Instant, name: &str, run: bool, out: &mut AccessOutput) -> bool {
        let _has_none = (now, name, run, out);
        false
    }
    /// Sets the number of threads that share its work, at least 1, where it can use them. Results
    /// do not depend on this number.
    ///
    /// # Errors
    /// The system cannot create a thread.
    fn set_threads(&mut self, _threads: usize) -> Result<(), std::io::Error> {
        Ok(())
    }
    /// Waits for work that other threads do: all values are then those of this moment, and the
    /// process may fork.
    fn join_threads(&mut self) {}
    /// Starts to report the stage of each packet ([`Step::Stage`]).
    fn note_stages(&mut self) {}
    /// Reports, at the end of the run, the stages of packets inside that are known only then.
    fn end_stages(&mut self, _now: Instant, _out: &mut AccessOutput) {}
    /// Sets the flows, once, before any packet enters.
    fn set_flows(&mut self, flows: &IndexVec<FlowId, FlowOf>) {
        let _all_alike = flows;
    }
    /// Adds a flow, with the next id.
    fn add_flow(&mut self, flow: FlowOf) {
        let _all_alike = flow;
    }
    /// Opens the interfaces of its points of observation; frames are passed to the captured ones
    /// from now on. `number` is that of this access among all, from 1 on.
    fn observe(&mut self, number: u32, open: &mut Open<'_>) {
        let _has_none = (number, open);
    }
    /// Passes on, at the end of the run, the frames that it holds back.
    fn end_frames(&mut self, out: &mut AccessOutput) {
        let _holds_none = out;
    }
    /// Writes the rows of sampled tables.
    fn sample(&mut self, now: Instant, probes: &mut Probes, out: &mut AccessOutput);
    /// Starts to read the link of the mobile at `node` with the parameters of `hint`, for `flow`,
    /// which ends there. Returns the entry of packets to it, and its number for
    /// [`read_link`](Self::read_link); `None` if the node is no mobile of this access, or its links
    /// cannot be read.
    fn watch_link(&mut self, node: NodeId, flow: FlowId, hint: &HintSpec) -> Option<(Entry, u32)> {
        let _of_no_mobile = (node, flow, hint);
        None
    }
    /// True if the link of the mobile to which packets enter here is interrupted by a handover or a
    /// loss.
    fn is_interrupted(&self, entry: Entry) -> bool {
        let _never = entry;
        false
    }
    /// The present reading of a watched link; `None` if it is not watched.
    fn read_link(&mut self, now: Instant, watch: u32) -> Option<LinkReading> {
        let _nothing = (now, watch);
        None
    }
}

impl Access {
    /// [`enter`](Adapter::enter) and [`set_clocks`](Adapter::set_clocks), with one dispatch for
    /// both. A packet larger than the [`mtu`](Adapter::mtu) does not enter: the error is that MTU.
    #[inline(always)]
    pub fn take_in(
        &mut self,
        now: Instant,
        entry: Entry,
        item: Item,
        dst: NodeId,
        out: &mut AccessOutput,
        clocks: &mut Clocks<'_>,
    ) -> Result<(), u32> {
        each!(self, access => {
            let mtu = access.mtu(entry);
            if item.size > mtu {
                return Err(mtu);
            }
            access.enter(now, entry, item, dst, out);
            access.set_clocks(clocks);
        });
        Ok(())
    }
    /// [`on_time`](Adapter::on_time) and, unless the event was void,
    /// [`set_clocks`](Adapter::set_clocks).
    #[inline(always)]
    pub fn serve(
        &mut self,
        now: Instant,
        clock: Clock,
        out: &mut AccessOutput,
        clocks: &mut Clocks<'_>,
    ) -> bool {
        each!(self, access => {
            let came = access.on_time(now, clock, out);
            if came {
                access.set_clocks(clocks);
            }
            came
        })
    }
}

#[deny(clippy::missing_trait_methods)]
impl Adapter for Access {
    #[inline(always)]
    fn mtu(&self, entry: Entry) -> u32 {
        each!(self, a => a.mtu(entry))
    }
    #[inline(always)]
    fn enter(&mut self, now: Instant, entry: Entry, item: Item, dst: NodeId, out: &mut AccessOutput) {
        each!(self, a => a.enter(now, entry, item, dst, out));
    }
    #[inline]
    fn on_time(&mut self, now: Instant, clock: Clock, out: &mut AccessOutput) -> bool {
        each!(self, a => a.on_time(now, clock, out))
    }
    #[inline(always)]
    fn set_clocks(&mut self, clocks: &mut Clocks<'_>) {
        each!(self, a => a.set_clocks(clocks));
    }
    fn packets_inside(&self) -> usize {
        each!(self, a => a.packets_inside())
    }
    fn place(&self, place: u32) -> &str {
        each!(self, a => a.place(place))
    }
    fn table(&self) -> Option<&str> {
        each!(self, a => a.table())
    }
    fn is_wireless(&self) -> bool {
        each!(self, a => a.is_wireless())
    }
    fn change(&mut self, now: Instant, change: &AccessChange, out: &mut AccessOutput) -> bool {
        each!(self, a => a.change(now, change, out))
    }
    fn run_fault(&mut self, now: Instant, name: &str, run: bool, out: &mut AccessOutput) -> bool {
        each!(self, a => a.run_fault(now, name, run, out))
    }
    fn set_threads(&mut self, threads: usize) -> Result<(), std::io::Error> {
        each!(self, a => a.set_threads(threads))
    }
    fn join_threads(&mut self) {
        each!(self, a => a.join_threads());
    }
    fn note_stages(&mut self) {
        each!(self, a => a.note_stages());
    }
    fn end_stages(&mut self, now: Instant, out: &mut AccessOutput) {
        each!(self, a => a.end_stages(now, out));
    }
    fn set_flows(&mut self, flows: &IndexVec<FlowId, FlowOf>) {
        each!(self, a => a.set_flows(flows));
    }
    fn add_flow(&mut self, flow: FlowOf) {
        each!(self, a => a.add_flow(flow));
    }
    fn observe(&mut self, number: u32, open: &mut Open<'_>) {
        each!(self, a => a.observe(number, open));
    }
    fn end_frames(&mut self, out: &mut AccessOutput) {
        each!(self, a => a.end_frames(out));
    }
    fn sample(&mut self, now: Instant, probes: &mut Probes, out: &mut AccessOutput) {
        each!(self, a => a.sample(now, probes, out));
    }
    fn watch_link(&mut self, node: NodeId, flow: FlowId, hint: &HintSpec) -> Option<(Entry, u32)> {
        each!(self, a => a.watch_link(node, flow, hint))
    }
    fn is_interrupted(&self, entry: Entry) -> bool {
        each!(self, a => a.is_interrupted(entry))
    }
    fn read_link(&mut self, now: Instant, watch: u32) -> Option<LinkReading> {
        each!(self, a => a.read_link(now, watch))
    }
}

/// The numbers of the scenario's tables `[flow.NAME]`: they identify properties of the flows of a
/// table.
pub struct FlowTables {
    numbers: BTreeMap<String, u32>,
    /// The `to` of each table: node or group to which its flows are sent.
    to: Vec<String>,
}

impl FlowTables {
    /// The numbers for a scenario.
    pub fn of(spec: &Spec) -> FlowTables {
        let numbers = spec.flow.keys().cloned().zip(0..).collect();
        FlowTables { numbers, to: spec.flow.values().map(|flow| flow.to.clone()).collect() }
    }
    /// The number of a table; for an unknown table a number that no flow has.
    pub fn number(&self, name: &str) -> u32 {
        self.numbers.get(name).copied().unwrap_or(u32::MAX)
    }
    /// Every table by its number, and the node or group to which its flows are sent.
    pub fn ends(&self) -> impl Iterator<Item = (u32, &str)> {
        (0..).zip(self.to.iter().map(String::as_str))
    }
}

/// Properties of a flow for an access.
#[derive(Clone, Copy)]
pub struct FlowOf {
    /// The number of its table.
    pub table: u32,
    /// For a flow to a multicast group: the number of the flow's receiver in the group.
    pub member: u32,
}

impl FlowOf {
    /// Properties of a flow without a table in the scenario.
    pub const OTHER: FlowOf = FlowOf { table: u32::MAX, member: 0 };
}

/// Measurements of an access or a mobile on the link to the mobile, for capacity hints.
#[derive(Clone, Copy, Debug)]
pub struct LinkReading {
    /// Estimated rate for the mobile \[bit/s\].
    pub rate_bps: f64,
    /// The rate that the whole carrier would give the mobile.
    pub carrier: Bitrate,
    /// Number of mobiles that share the carrier now, this one included.
    pub users: u32,
    /// Bytes that wait for it in layer 2 [B].
    pub queue: u64,
    /// The rate that it gets in the uplink.
    pub uplink: Bitrate,
}

/// The output of an access: the access appends, the world carries it out.
#[derive(Default)]
pub struct AccessOutput {
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// The node at which `lone` or `pipe.arrived` are.
    arrived_at: Option<NodeId>,
    /// The one packet that a link delivers, most of the time: it does not pass through the list.
    lone: Option<(PacketId, Ecn)>,
    /// Packets that a link delivers: one buffer for all links.
    pipe: PipeOut,
    /// True if every change of a packet's stage is recorded.
    stages: bool,
}

impl AccessOutput {
    /// Makes accesses report the stage of each packet ([`Step::Stage`]).
    pub fn note_stages(&mut self) {
        self.stages = true;
        self.pipe.notes = Some(Vec::new());
    }
    /// Reports that the packet is in this stage from `at` on.
    #[cold]
    fn stage(&mut self, packet: PacketId, at: Instant, stage: Stage, place: u32) {
        self.steps.push(Step::Stage { packet, at, stage, place });
    }
    /// The node at which a link delivers packets after all steps, once. Every packet of a wired
    /// network passes here, so they stay in the link's list and do not become steps: one step for
    /// such a list takes about 1 % of the instructions of a wired run.
    /// [`clear_arrived`](Self::clear_arrived) ends the delivery.
    #[inline(always)]
    pub fn arrived_at(&mut self) -> Option<NodeId> {
        self.arrived_at.take()
    }
    /// The only packet that a link delivers, and its codepoint. `None`: they are in the list.
    #[inline(always)]
    pub fn lone(&mut self) -> Option<(PacketId, Ecn)> {
        self.lone.take()
    }
    /// The packet at place `i` of the list of those that a link delivers, and its codepoint.
    /// Accesses may take packets in meanwhile, because links do not deliver in those calls.
    #[inline(always)]
    pub fn arrived(&self, i: usize) -> Option<(PacketId, Ecn)> {
        self.pipe.arrived.get(i).map(|item| (item.id, item.ecn))
    }
    /// Clears the list after all packets that a link delivered have been processed.
    #[inline(always)]
    pub fn clear_arrived(&mut self) {
        self.pipe.arrived.clear();
    }
    /// Appends a packet to those of [`arrived`](Self::arrived).
    pub fn arrives_too(&mut self, item: Item) {
        self.pipe.arrived.push(item);
    }
}

/// An outcome or a change of a packet.
#[derive(Debug)]
pub enum Step {
    /// The packet is at the node `to`, with this codepoint if that may have changed.
    Deliver {
        /// The node.
        to: NodeId,
        /// The packet.
        packet: PacketId,
        /// Its ECN codepoint.
        ecn: Option<Ecn>,
    },
    /// A copy of a packet, which arrives after all others.
    Copy(Item),
    /// The packet was dropped.
    Drop {
        /// The time, if before now: some accesses catch up.
        at: Option<Instant>,
        /// The packet.
        packet: PacketId,
        /// The cause.
        cause: Cause,
        /// The place: a number that [`Access::place`] resolves.
        place: u32,
    },
    /// The packet was marked (ECN) at its present place.
    Mark {
        /// The packet.
        packet: PacketId,
    },
    /// A node passes the packet on to the next one inside the access; it is not delivered yet.
    Forward {
        /// The packet.
        packet: PacketId,
        /// The place, as in [`Step::Drop`].
        place: u32,
    },
    /// The packet is in this stage from `at` on, which may be before now: some accesses catch up.
    Stage {
        /// The packet.
        packet: PacketId,
        /// The start of the stage.
        at: Instant,
        /// The stage.
        stage: Stage,
        /// The place, as in [`Step::Drop`].
        place: u32,
    },
    /// The packet was in this PDU and is about to be dropped. This step precedes the drop.
    Pdu(Box<LostPdu>),
    /// A row of the table `events`.
    Event(Box<AccessEvent>),
    /// A change of the link of the mobile to which packets enter here: senders that receive hints
    /// of it are notified.
    Notice {
        /// The entry of packets to the mobile.
        entry: Entry,
        /// The change.
        notice: Notice,
    },
    /// A row of the table `steps`.
    Trace(Box<TraceRow>),
    /// A row of the table `rlc_pdus`.
    RlcPdu(Box<RlcPduRow>),
    /// A frame for the capture. This step precedes those that remove its packets.
    Frame(Box<Frame>),
    /// A policy of the caller's own has failed.
    Fault(Box<Fault>),
}

/// A row of the table `pdus`, without the columns that only the world can fill.
#[derive(Debug)]
pub struct LostPdu {
    pub packet: PacketId,
    /// The place, as in [`Step::Drop`].
    pub place: u32,
    pub layer: &'static str,
    pub direction: &'static str,
    pub sn: Option<u32>,
    /// The first octet of the SDU that is missing, and the one after the last.
    pub octets: Option<(u32, u32)>,
    pub sent: Option<Instant>,
    pub sends: u32,
    pub lost: bool,
}

/// A row of the table `events`.
#[derive(Debug)]
pub struct AccessEvent {
    /// The entity of the event, as `kind/name`.
    pub source: String,
    /// The kind of event.
    pub kind: &'static str,
    /// A number that belongs to it.
    pub value: Option<f64>,
    /// Further text; may be empty.
    pub detail: String,
}

/// A row of the table `rlc_pdus`.
#[derive(Debug)]
pub struct RlcPduRow {
    pub time_s: f64,
    pub bearer: Box<str>,
    pub direction: &'static str,
    /// For a PDU that has arrived: the time of its first transmission.
    pub sent_s: Option<f64>,
    pub kind: &'static str,
    pub sn: Option<u64>,
    pub bytes: u64,
}

impl RlcPduRow {
    /// The row.
    pub fn row(&self) -> tables::RlcPdus<'_> {
        tables::RlcPdus {
            time_s: self.time_s,
            bearer: &self.bearer,
            direction: self.direction,
            event: if self.sent_s.is_some() { "received" } else { "sent" },
            kind: self.kind,
            sn: self.sn,
            bytes: self.bytes,
            sent_s: self.sent_s,
        }
    }
}

/// A row of the table `steps`, without the number of the packet, which only the world has.
#[derive(Debug)]
pub struct TraceRow {
    pub time_s: f64,
    pub node: Box<str>,
    pub to: Box<str>,
    pub step: &'static str,
    pub link: &'static str,
    pub about_s: Option<f64>,
    pub blocks: Option<u64>,
    pub bytes: Option<u64>,
    pub mcs: Option<u64>,
    pub packet: Option<PacketId>,
}

impl TraceRow {
    /// The row, with the number of the packet.
    pub fn row(&self, packet: Option<u64>) -> tables::Steps<'_> {
        tables::Steps {
            time_s: self.time_s,
            node: &self.node,
            to: &self.to,
            step: self.step,
            link: self.link,
            about_s: self.about_s,
            blocks: self.blocks,
            bytes: self.bytes,
            mcs: self.mcs,
            packet,
        }
    }
}

impl AccessEvent {
    /// The step for the world.
    pub fn step(self) -> Step {
        Step::Event(Box::new(self))
    }
}

/// The cause of a drop.
#[derive(Clone, Copy, Debug)]
pub enum Cause {
    /// A cause that the flow monitor counts.
    Net(DropCause),
    /// A cause of a radio or of an agent: its name in the table `drops`.
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

/// The clocks of an access, which it sets to the times of its next calls.
pub struct Clocks<'a> {
    queue: &'a mut EventQueue<Event>,
    access: AccessId,
}

impl Clocks<'_> {
    /// The clocks of `access`.
    #[inline(always)]
    pub fn of(queue: &mut EventQueue<Event>, access: AccessId) -> Clocks<'_> {
        Clocks { queue, access }
    }
    /// Ensures that the event of `clock`, which `wake` tracks, is scheduled at `want` or earlier.
    #[inline(always)]
    pub fn ensure(&mut self, wake: &mut Wake, clock: Clock, want: Option<Instant>) {
        wake.ensure(self.queue, want, Event::Access(self.access, clock));
    }
}
