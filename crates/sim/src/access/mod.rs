//! What carries packets from node to node, behind one contract.
//!
//! An access takes a packet at an [`Entry`] and is called when one of its [`Clock`]s is due. Both
//! append to an [`AccessOutput`] what becomes of packets, one [`Step`] after the other in the order
//! in which the world has to carry them out, and behind all steps the packets that a link hands
//! out together ([`AccessOutput::arrived`]); both are followed by `set_clocks`, which says
//! when the access has to be called next. An access has names for the tables, but neither the
//! world nor another access.

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

/// What carries packets: what is particular to each kind is in the module of its name.
#[allow(clippy::large_enum_variant)] // links are most of all, and every packet passes them
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

/// Calls the same method of each kind. Links stand first: they carry most packets.
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

/// Wires everything of a scenario that carries packets; `go_on` is called now and then.
///
/// # Errors
/// A policy of the caller's own that cannot be made; what `go_on` says.
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

/// The contract of what carries packets.
pub trait Adapter {
    /// Largest IP packet that enters here [B].
    fn mtu(&self, entry: Entry) -> u32;
    /// A packet enters, on its way to the node `dst`.
    fn enter(&mut self, now: Instant, entry: Entry, item: Item, dst: NodeId, out: &mut AccessOutput);
    /// The event of a clock has come. False, and nothing has happened: it was void. Only here a
    /// link delivers, behind the steps ([`AccessOutput::arrived`]).
    fn on_time(&mut self, now: Instant, clock: Clock, out: &mut AccessOutput) -> bool;
    /// Returns when it has to be called next.
    fn set_clocks(&mut self, clocks: &mut Clocks<'_>);
    /// Packets inside, counted one by one.
    fn packets_inside(&self) -> usize;
    /// The name of where a step happened, for the tables.
    fn place(&self, place: u32) -> &str;
    /// The name of the scenario's table that leads here, if it distinguishes the ways out of a
    /// node.
    fn table(&self) -> Option<&str> {
        None
    }
    /// Whether mobiles are behind it.
    fn is_wireless(&self) -> bool {
        true
    }
    /// Does what of a change concerns this access. False: nothing does.
    fn change(&mut self, now: Instant, change: &AccessChange, out: &mut AccessOutput) -> bool;
    /// Starts a fault anew, or ends it, if it is one of this access. False: it is not.
    fn run_fault(&mut self, now: Instant, name: &str, run: bool, out: &mut AccessOutput) -> bool {
        let _has_none = (now, name, run, out);
        false
    }
    /// So many threads share its work from now on, at least 1, where it can use them. What comes
    /// out does not depend on their number.
    ///
    /// # Errors
    /// The system gives no thread.
    fn set_threads(&mut self, _threads: usize) -> Result<(), std::io::Error> {
        Ok(())
    }
    /// From now on it says in which stage each packet is ([`Step::Stage`]).
    fn note_stages(&mut self) {}
    /// The run ends: the stages of packets inside that are known only then.
    fn end_stages(&mut self, _now: Instant, _out: &mut AccessOutput) {}
    /// Says which flows there are, once, before anything enters.
    fn set_flows(&mut self, flows: &IndexVec<FlowId, FlowOf>) {
        let _all_alike = flows;
    }
    /// One more flow, with the next id.
    fn add_flow(&mut self, flow: FlowOf) {
        let _all_alike = flow;
    }
    /// Opens the interfaces of its points of observation; from now on it hands over frames where
    /// one of them is captured. `number` is its own among all accesses, from 1 on.
    fn observe(&mut self, number: u32, open: &mut Open<'_>) {
        let _has_none = (number, open);
    }
    /// The run ends: hands over the frames that it holds back.
    fn end_frames(&mut self, out: &mut AccessOutput) {
        let _holds_none = out;
    }
    /// Writes the rows of the tables that are sampled.
    fn sample(&mut self, now: Instant, probes: &mut Probes, out: &mut AccessOutput);
    /// From now on the link of the mobile at `node` is read as `hint` says, for `flow`, which ends
    /// there. Where packets to it enter, and its number for [`read_link`](Self::read_link); `None`:
    /// this is no mobile of this access, or its links cannot be read.
    fn watch_link(&mut self, node: NodeId, flow: FlowId, hint: &HintSpec) -> Option<(Entry, u32)> {
        let _of_no_mobile = (node, flow, hint);
        None
    }
    /// The link of the mobile to which packets enter here is interrupted: handover or loss.
    fn is_interrupted(&self, entry: Entry) -> bool {
        let _never = entry;
        false
    }
    /// What is known now of a link that is watched; `None`: nothing watches it.
    fn read_link(&mut self, now: Instant, watch: u32) -> Option<LinkReading> {
        let _nothing = (now, watch);
        None
    }
}

impl Access {
    /// [`enter`](Adapter::enter) and [`set_clocks`](Adapter::set_clocks), with one choice of the
    /// kind for both. A packet larger than the [`mtu`](Adapter::mtu) does not enter: that MTU is
    /// the error.
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

/// The numbers of the scenario's tables `[flow.NAME]`: what is particular to the flows of a table
/// is found by it.
pub struct FlowTables {
    numbers: BTreeMap<String, u32>,
    /// Where the flows of each end.
    to: Vec<String>,
}

impl FlowTables {
    /// Those of a scenario.
    pub fn of(spec: &Spec) -> FlowTables {
        let numbers = spec.flow.keys().cloned().zip(0..).collect();
        FlowTables { numbers, to: spec.flow.values().map(|flow| flow.to.clone()).collect() }
    }
    /// The number of a table; one that no flow has where there is no such table.
    pub fn number(&self, name: &str) -> u32 {
        self.numbers.get(name).copied().unwrap_or(u32::MAX)
    }
    /// Every table by its number, and the node or group to which its flows go.
    pub fn ends(&self) -> impl Iterator<Item = (u32, &str)> {
        (0..).zip(self.to.iter().map(String::as_str))
    }
}

/// What an access may use of a flow.
#[derive(Clone, Copy)]
pub struct FlowOf {
    /// The number of its table.
    pub table: u32,
    /// If it is sent to a multicast group: the group's receiver of this flow.
    pub member: u32,
}

impl FlowOf {
    /// Of a flow that no table of the scenario describes.
    pub const OTHER: FlowOf = FlowOf { table: u32::MAX, member: 0 };
}

/// What an access or a mobile has measured of the way to the mobile, for capacity hints.
#[derive(Clone, Copy, Debug)]
pub struct LinkReading {
    /// The rate that it has for the mobile, as estimated \[bit/s\].
    pub rate_bps: f64,
    /// What the whole carrier would give the mobile.
    pub carrier: Bitrate,
    /// Mobiles that share the carrier now, this one counted.
    pub users: u32,
    /// What waits for it in layer 2 [B].
    pub queue: u64,
    /// What it gets in the uplink.
    pub uplink: Bitrate,
}

/// What an access has produced: appended by it, carried out by the world.
#[derive(Default)]
pub struct AccessOutput {
    /// What happened, in order.
    pub steps: Vec<Step>,
    /// The node at which `pipe.arrived` are.
    arrived_at: Option<NodeId>,
    /// What a link hands out: one buffer for all links.
    pipe: PipeOut,
    /// Every change of a packet's stage is recorded.
    stages: bool,
}

impl AccessOutput {
    /// From now on accesses say in which stage each packet is ([`Step::Stage`]).
    pub fn note_stages(&mut self) {
        self.stages = true;
        self.pipe.notes = Some(Vec::new());
    }
    /// The packet is in this stage from `at` on.
    #[cold]
    fn stage(&mut self, packet: PacketId, at: Instant, stage: Stage, place: u32) {
        self.steps.push(Step::Stage { packet, at, stage, place });
    }
    /// The node at which a link delivers packets after all steps, once. Every packet of a wired
    /// network passes here, so they come as the link hands them out and not as steps: one step
    /// for such a list costs about 1 % of the instructions of a wired run.
    /// [`clear_arrived`](Self::clear_arrived) ends that.
    #[inline(always)]
    pub fn arrived_at(&mut self) -> Option<NodeId> {
        self.arrived_at.take()
    }
    /// The packet at place `i` of those that a link delivers, and its codepoint. Meanwhile accesses
    /// may take packets in: no link delivers then.
    #[inline(always)]
    pub fn arrived(&self, i: usize) -> Option<(PacketId, Ecn)> {
        self.pipe.arrived.get(i).map(|item| (item.id, item.ecn))
    }
    /// All packets that a link delivered have gone on.
    #[inline(always)]
    pub fn clear_arrived(&mut self) {
        self.pipe.arrived.clear();
    }
    /// One more packet arrives behind those of [`arrived`](Self::arrived).
    pub fn arrives_too(&mut self, item: Item) {
        self.pipe.arrived.push(item);
    }
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
    /// A copy of it is to be made, which arrives after all others.
    Copy(Item),
    /// It was dropped.
    Drop {
        /// When, if that was before now: some accesses catch up.
        at: Option<Instant>,
        /// The packet.
        packet: PacketId,
        /// Why.
        cause: Cause,
        /// Where, a number that [`Access::place`] resolves.
        place: u32,
    },
    /// It was marked (ECN) where it is.
    Mark {
        /// The packet.
        packet: PacketId,
    },
    /// A node passes it on to the next one inside the access; it is not delivered yet.
    Forward {
        /// The packet.
        packet: PacketId,
        /// Where, as in [`Step::Drop`].
        place: u32,
    },
    /// It is in this stage from `at` on, which may lie before now: some accesses catch up.
    Stage {
        /// The packet.
        packet: PacketId,
        /// Since when.
        at: Instant,
        /// What happens to it.
        stage: Stage,
        /// Where, as in [`Step::Drop`].
        place: u32,
    },
    /// It is about to be dropped, and was in this PDU. It stands before the drop.
    Pdu(Box<LostPdu>),
    /// Something is worth a row of the table `events`.
    Event(Box<AccessEvent>),
    /// Something has happened to the link of the mobile to which packets enter here: senders that
    /// receive hints of it get a notice.
    Notice {
        /// Where packets to the mobile enter.
        entry: Entry,
        /// What has happened.
        notice: Notice,
    },
    /// A row of the table `steps`.
    Trace(Box<TraceRow>),
    /// A row of the table `rlc_pdus`.
    RlcPdu(Box<RlcPduRow>),
    /// A frame for the capture. It stands before what takes its packets away.
    Frame(Box<Frame>),
    /// A policy of the caller's own has failed.
    Fault(Box<Fault>),
}

/// A row of the table `pdus`, without the columns that only the world can fill.
#[derive(Debug)]
pub struct LostPdu {
    pub packet: PacketId,
    /// Where, as in [`Step::Drop`].
    pub place: u32,
    pub layer: &'static str,
    pub direction: &'static str,
    pub sn: Option<u32>,
    /// The first octet of the SDU that is missing, and the one behind the last.
    pub octets: Option<(u32, u32)>,
    pub sent: Option<Instant>,
    pub sends: u32,
    pub lost: bool,
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

/// A row of the table `rlc_pdus`.
#[derive(Debug)]
pub struct RlcPduRow {
    pub time_s: f64,
    pub bearer: Box<str>,
    pub direction: &'static str,
    /// Of a PDU that has arrived: when it was sent for the first time.
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

/// A row of the table `steps`, but for the number of the packet, which only the world has.
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

/// Where an access notes when it has to be called.
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
    /// Ensures that `clock`, whose event `wake` stands for, comes at `want` or earlier.
    #[inline(always)]
    pub fn ensure(&mut self, wake: &mut Wake, clock: Clock, want: Option<Instant>) {
        wake.ensure(self.queue, want, Event::Access(self.access, clock));
    }
}
