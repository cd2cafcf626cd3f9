//! Real packets: a driver injects them at external nodes and takes them out there.
//!
//! The world has a descriptor of each packet, as of every other; the driver keeps its octets under
//! a handle. A driver that owns a clock moves the world to an instant, injects the packets that
//! have arrived, and carries out the [`Departure`]s. This module does not use wall time.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use lasthop_net::app::App;
use lasthop_net::{Content, Ecn};
use lasthop_units::{FlowId, Instant, NodeId};

use super::World;
use super::flow::Flow;
use super::packet::Packet;
use super::place::DropPoint;
use crate::access::{Adapter, Cause, FlowOf, Wiring};
use crate::event::End;
use crate::observe::{ObservationPoint, Observer, address, address6};
use crate::route::{Edge, Port};
use crate::spec::{self, Spec};
use crate::transport::{
    ConnectionEvent, KernelOrder, KernelSample, Options, Payload, RealPayload, RealSegment, Report, Transport,
};

/// Largest number of real packets inside at once; further ones are dropped (`flood`). A buffer of a
/// link or bearer is far smaller.
const MOST_PACKETS: usize = 1 << 16;
/// Number of five-tuples with separate flows; all further ones between two nodes share one.
const MOST_FLOWS: usize = 4096;

/// A node in the interface for drivers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalNode {
    /// Its number.
    pub id: NodeId,
    /// Its name in the scenario.
    pub name: Box<str>,
    /// True if real packets enter and leave here; otherwise it is simulated.
    pub external: bool,
    /// Its address in captures.
    pub v4: Ipv4Addr,
    /// Its address in IPv6.
    pub v6: Ipv6Addr,
}

/// The identity of a flow of real packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FiveTuple {
    /// Protocol number of IP.
    pub protocol: u8,
    /// Source; port 0 if the protocol has none.
    pub src: SocketAddr,
    /// Destination.
    pub dst: SocketAddr,
}

/// A real packet that enters.
#[derive(Clone, Copy, Debug)]
pub struct RealPacket<'a> {
    /// The node at which it enters.
    pub from: NodeId,
    /// The node of its destination.
    pub to: NodeId,
    /// Its flow.
    pub tuple: FiveTuple,
    /// Length of the IP packet [B].
    pub size: u32,
    /// Octets after its headers.
    pub data: u32,
    /// Numbers of the TCP segment in it; `None`: it contains none, or a part of one.
    pub segment: Option<RealSegment>,
    /// ECN codepoint.
    pub ecn: Ecn,
    /// True if routers must not fragment it.
    pub dont_fragment: bool,
    /// Handle of its octets until [`Departure::Released`]; not in use for another packet.
    pub handle: u32,
    /// Its first octets, for captures.
    pub head: &'a [u8],
}

/// The outcome of a real packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    /// It is at its destination; a copy of it may arrive later (a link that duplicates).
    Arrived {
        /// The time.
        at: Instant,
        /// The node.
        node: NodeId,
        /// The packet.
        handle: u32,
        /// Its present codepoint.
        ecn: Ecn,
    },
    /// It must not be fragmented, and `node` cannot forward it as it is.
    TooLarge {
        /// The time.
        at: Instant,
        /// The router.
        node: NodeId,
        /// The packet.
        handle: u32,
        /// MTU of the next hop [B].
        mtu: u32,
    },
    /// No part or copy of it is inside any more: its handle is free.
    Released {
        /// The packet.
        handle: u32,
    },
}

/// TCP's protocol number.
const TCP: u8 = 6;
/// Port of the first flow between sockets of a real kernel, at both ends; the next flow has the
/// next port.
const FIRST_PORT: u16 = 20_000;

/// A flow between sockets of a real kernel.
#[derive(Clone, Debug)]
pub struct KernelFlow {
    /// Its number among all flows.
    pub id: FlowId,
    /// Its name.
    pub name: Box<str>,
    /// Its table in the scenario: the key is `flow.` and this name.
    pub group: Box<str>,
    /// Its nodes: A connects to B.
    pub nodes: [NodeId; 2],
    /// Its port, at both ends.
    pub port: u16,
    /// The TCP options of the scenario.
    pub options: Options,
    /// The application writes while fewer octets than this are unsent.
    pub low_water: Option<u64>,
    /// The end that sends the data.
    pub data_end: End,
}

impl KernelFlow {
    /// The port of the flow of this number; `None`: there are more flows than ports.
    pub fn port(number: usize) -> Option<u16> {
        u16::try_from(number).ok().and_then(|n| FIRST_PORT.checked_add(n))
    }
    /// Addresses and ports of A and B.
    pub fn ends(&self) -> [SocketAddr; 2] {
        self.nodes.map(|node| SocketAddr::new(IpAddr::V4(address(node)), self.port))
    }
}

/// An event of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelReport {
    /// Its connection is established.
    Established,
    /// The other end writes no more, and all its octets were read.
    PeerClosed,
    /// The connection is over, and all octets were delivered.
    Closed,
    /// It is over without that, for this cause, as in the table `events`.
    Failed(&'static str),
    /// This number of octets was read.
    Delivered(u64),
    /// This number of octets was accepted from the application.
    Written(u64),
    /// A sample of its sender.
    Sample(KernelSample),
}

const fn report_of(event: ConnectionEvent, kind: &'static str) -> Report {
    Report { event, kind, value: None }
}

/// The real packets of a run.
pub(super) struct External {
    departures: Vec<Departure>,
    flows: BTreeMap<FiveTuple, (FlowId, End)>,
    /// Flows between sockets of a real kernel.
    kernel: Vec<KernelFlow>,
    /// The flows of five-tuples beyond [`MOST_FLOWS`], by the nodes of their ends.
    others: BTreeMap<(NodeId, NodeId), FlowId>,
    /// By handle: number of packets, parts and copies inside.
    inside: Vec<u32>,
    /// Handles in use.
    used: usize,
    nodes: Vec<ExternalNode>,
    /// Edges from node to node.
    edges: Vec<Edge>,
}

/// The state of a run with external nodes; other runs have none.
pub(super) struct Externals(Option<Box<External>>);

impl Externals {
    pub fn of(spec: &Spec, wiring: &Wiring, kernel: Vec<KernelFlow>) -> Externals {
        let ends = |flow: &KernelFlow| {
            let [a, b] = flow.ends();
            let tuple = |src, dst| FiveTuple { protocol: TCP, src, dst };
            [(tuple(a, b), (flow.id, End::A)), (tuple(b, a), (flow.id, End::B))]
        };
        let nodes = || {
            wiring.names().enumerate().map(|(id, name)| ExternalNode {
                id,
                name: name.clone(),
                external: spec.is_external(name) || spec.is_linux(name),
                v4: address(id),
                v6: address6(id),
            })
        };
        Externals(spec.has_real_packets().then(|| {
            Box::new(External {
                departures: Vec::new(),
                flows: kernel.iter().flat_map(ends).collect(),
                kernel,
                others: BTreeMap::new(),
                inside: Vec::new(),
                used: 0,
                nodes: nodes().collect(),
                edges: wiring.edges.clone(),
            })
        }))
    }

    /// Records that a real packet has arrived at its destination.
    #[cold]
    pub fn arrived(
        &mut self,
        at: Instant,
        node: NodeId,
        packet: &Packet,
        flow: &mut Flow,
        observer: &mut Option<Box<Observer>>,
    ) {
        let (Payload::Real(real), Some(external)) = (&packet.payload, &mut self.0) else { return };
        if matches!(flow.transport, Transport::Real(_)) {
            flow.real_octets += u64::from(real.data);
        }
        let (handle, ecn) = (real.handle, packet.ecn);
        external.departures.push(Departure::Arrived { at, node, handle, ecn });
        self.release(packet, observer);
    }

    /// Records that a packet that must not be fragmented is larger than the next hop's MTU.
    pub fn note_too_large(&mut self, at: Instant, node: NodeId, packet: &Payload, mtu: u32) {
        if let (Payload::Real(real), Some(external)) = (packet, &mut self.0) {
            external.departures.push(Departure::TooLarge { at, node, handle: real.handle, mtu });
        }
    }

    /// Counts a packet, a part or a copy of one.
    pub fn hold(&mut self, payload: &Payload) {
        if let (Payload::Real(real), Some(external)) = (payload, &mut self.0) {
            external.hold(real.handle);
        }
    }

    /// Removes a packet, a part or a copy of it.
    pub fn release(&mut self, packet: &Packet, observer: &mut Option<Box<Observer>>) {
        if let (Payload::Real(real), Some(external)) = (&packet.payload, &mut self.0)
            && external.release(real.handle)
            && let Some(observer) = observer
        {
            observer.remove_real(packet.serial);
        }
    }
}

impl External {
    fn hold(&mut self, handle: u32) {
        let handle = handle as usize;
        if self.inside.len() <= handle {
            self.inside.resize(handle + 1, 0);
        }
        self.used += usize::from(self.inside[handle] == 0);
        self.inside[handle] += 1;
    }

    /// Counts one packet less. Returns true if it was the last.
    fn release(&mut self, handle: u32) -> bool {
        let Some(left) = self.inside.get_mut(handle as usize).filter(|left| **left > 0) else { return false };
        *left -= 1;
        let last = *left == 0;
        if last {
            self.used -= 1;
            self.departures.push(Departure::Released { handle });
        }
        last
    }
}

/// The name of a protocol of real packets in tables.
const fn protocol_name(protocol: u8) -> &'static str {
    match protocol {
        1 => "real-icmp",
        6 => "real-tcp",
        17 => "real-udp",
        58 => "real-icmpv6",
        132 => "real-sctp",
        _ => "real-ip",
    }
}

impl FiveTuple {
    /// The name of its flow.
    fn name(&self) -> String {
        let end = |a: SocketAddr| match (a.port(), a.ip()) {
            (0, IpAddr::V4(ip)) => ip.to_string(),
            (0, IpAddr::V6(ip)) => format!("[{ip}]"),
            _ => a.to_string(),
        };
        let protocol = match protocol_name(self.protocol) {
            "real-ip" => format!("ip{}", self.protocol),
            name => name.trim_start_matches("real-").to_owned(),
        };
        format!("{protocol}/{}>{}", end(self.src), end(self.dst))
    }
}

/// A world in the interface for drivers.
pub struct Outside<'a>(&'a mut World);

impl World {
    /// The world for a driver of real packets.
    pub fn outside(&mut self) -> Outside<'_> {
        Outside(self)
    }
}

impl Outside<'_> {
    /// Every node, with its addresses; none in a run without external nodes.
    pub fn nodes(&self) -> &[ExternalNode] {
        self.0.external.0.as_ref().map_or(&[], |external| &external.nodes)
    }

    /// The routers between two nodes, in the order of the path; `None` if there is no path.
    pub fn routers(&self, from: NodeId, to: NodeId) -> Option<Vec<NodeId>> {
        let external = self.0.external.0.as_ref()?;
        let mut way = Vec::new();
        let mut node = from;
        while node != to && way.len() <= external.nodes.len() {
            let port = match self.0.routes.port(node, to)? {
                // An agent has taken over the routes of its node.
                Port::Snoop(agent) => self.0.routes.port_of(&self.0.snoops[agent as usize].ports, to)?,
                port => port,
            };
            node = external.edges.iter().find(|e| e.from == node && e.port == port)?.to;
            way.push(node);
        }
        way.pop();
        Some(way)
    }

    /// The smallest MTU of the ports of a node [B]; `u32::MAX` if it has none.
    pub fn mtu(&self, node: NodeId) -> u32 {
        let edges = self.0.external.0.iter().flat_map(|external| &external.edges);
        let ways = edges.filter(|e| e.from == node).filter_map(|e| match e.port {
            Port::Access(access, entry) => Some(self.0.accesses[access].mtu(entry)),
            Port::Snoop(_) => None,
        });
        ways.min().unwrap_or(u32::MAX)
    }

    /// When the next event is due.
    pub fn next_event(&self) -> Option<Instant> {
        self.0.queue.peek_time()
    }

    /// Moves the outcomes of real packets since the last call, in order, into `out`.
    pub fn take_departures(&mut self, out: &mut Vec<Departure>) {
        if let Some(external) = &mut self.0.external.0 {
            out.append(&mut external.departures);
        }
    }

    /// The flows whose ends are sockets of a real kernel.
    pub fn kernel_flows(&self) -> &[KernelFlow] {
        self.0.external.0.as_ref().map_or(&[], |external| &external.kernel)
    }

    /// Moves the orders for the sockets of those flows, in order, into `out`: the number of the
    /// flow in [`kernel_flows`](Self::kernel_flows), the end, and the order.
    pub fn take_kernel_orders(&mut self, out: &mut Vec<(usize, End, KernelOrder)>) {
        let Some(external) = &self.0.external.0 else { return };
        for (n, flow) in external.kernel.iter().enumerate() {
            if let Some(kernel) = self.0.flows[flow.id].transport.kernel() {
                out.extend(kernel.take_orders().map(|(end, order)| (n, end, order)));
            }
        }
    }

    /// Processes an event of a socket of the flow of this number.
    pub fn report_kernel(&mut self, n: usize, end: End, report: &KernelReport) {
        let Some(flow) = self.kernel_flows().get(n).map(|f| f.id) else { return };
        let now = self.0.now();
        let f = &mut self.0.flows[flow];
        let Some(kernel) = f.transport.kernel() else { return };
        match *report {
            KernelReport::Established => {
                kernel.report(end, report_of(ConnectionEvent::Established, "established"))
            }
            KernelReport::PeerClosed => {
                kernel.report(end, report_of(ConnectionEvent::PeerClosed, "peer-closed"))
            }
            KernelReport::Closed => kernel.report(end, report_of(ConnectionEvent::Closed, "closed")),
            KernelReport::Failed(why) => kernel.report(end, report_of(ConnectionEvent::Failed, why)),
            KernelReport::Delivered(octets) => kernel.delivered(end, octets),
            KernelReport::Written(octets) => kernel.written(end, octets),
            KernelReport::Sample(ref sample) => {
                let found: Vec<_> = kernel.sample(end, sample).collect();
                if end == f.data_end {
                    for (kind, count) in found {
                        let value = (kind == "rto").then_some(f64::from(count));
                        f.note(&mut self.0.probes, now, kind, value, "sender");
                    }
                    f.watch_sender(&mut self.0.probes, now);
                }
                return;
            }
        }
        self.0.service(now, flow, end);
    }

    /// Injects a real packet now. Without effect in a run without external nodes.
    pub fn inject(&mut self, real: &RealPacket<'_>) {
        if self.0.external.0.is_none() {
            return;
        }
        let now = self.0.now();
        let (flow, from, own) = self.real_flow(now, real);
        let RealPacket { handle, data, size, .. } = *real;
        // Connections that share a flow have no common sequence numbers.
        let segment = real.segment.filter(|_| own);
        let f = &mut self.0.flows[flow];
        let again = segment.is_some_and(|s| f.transport.enters(from, &s, data));
        if from == f.data_end {
            self.0.monitor.sent(now, flow, size);
        } else {
            f.reverse.sent(size);
        }
        let serial = self.0.serial;
        self.0.serial += 1;
        self.0.account.sent.add(size);
        let id = self.0.packets.insert(Packet {
            src: real.from,
            dst: real.to,
            flow,
            serial,
            size,
            ecn: real.ecn,
            dont_fragment: real.dont_fragment,
            content: Content::new(data > 0, again),
            reverse: from == End::B,
            sent: now,
            fragment: None,
            payload: Payload::Real(RealPayload { handle, data, segment }),
        });
        if let Some(observer) = &mut self.0.observer {
            observer.note_real(serial, real.head);
        }
        let mut full = false;
        if let Some(external) = &mut self.0.external.0 {
            external.hold(handle);
            full = external.used > MOST_PACKETS;
        }
        if self.0.watched {
            self.0.observe(now, ObservationPoint::Source(real.from), id);
        }
        if full {
            return self.0.drop_packet(now, id, Cause::Other("flood"), DropPoint::Node(real.from));
        }
        self.0.forward(now, real.from, id);
    }

    /// Returns the flow of a real packet, its end, and whether the flow has this five-tuple alone.
    /// The first packet creates the flow.
    fn real_flow(&mut self, now: Instant, real: &RealPacket<'_>) -> (FlowId, End, bool) {
        let ends = (real.from, real.to);
        let Some(external) = &self.0.external.0 else { unreachable!("called with external nodes") };
        let other = external.others.get(&ends);
        if let Some(flow) = external.flows.get(&real.tuple) {
            return (flow.0, flow.1, true);
        }
        let own = external.flows.len() < MOST_FLOWS;
        if let Some(flow) = other.filter(|_| !own) {
            return (*flow, End::A, false);
        }
        let (name, transport) = if own {
            (real.tuple.name(), protocol_name(real.tuple.protocol))
        } else {
            let [from, to] = [real.from, real.to].map(|node| &self.0.nodes[node].name);
            (format!("other/{from}>{to}"), "real-ip")
        };
        let flow = self.open_real_flow(now, &name, ends, transport);
        if let Some(external) = &mut self.0.external.0 {
            if own {
                external.flows.insert(real.tuple, (flow, End::A));
            } else {
                external.others.insert(ends, flow);
            }
        }
        (flow, End::A, own)
    }

    fn open_real_flow(
        &mut self,
        now: Instant,
        name: &str,
        (from, to): (NodeId, NodeId),
        transport: &'static str,
    ) -> FlowId {
        // The application is never started: the real one is outside.
        let app = App::outside(spec::Transport::Udp.service());
        let mut flow = Flow::new(name, REAL, [from, to], app, Transport::real(transport));
        flow.data_end = End::A;
        flow.started = Some(now);
        flow.find_ports(&self.0.routes);
        flow.note(&mut self.0.probes, now, "flow-start", None, "");
        let id = self.0.flows.push(flow);
        self.0.monitor.add_flow();
        for access in self.0.accesses.iter_mut() {
            access.add_flow(FlowOf::OTHER);
        }
        if let Some(lives) = &mut self.0.lives {
            lives.add_flow();
        }
        if let Some(observer) = &mut self.0.observer {
            observer.add_flow(name);
        }
        id
    }
}

/// The table name of flows of real packets, where a table is needed.
const REAL: &str = "real";
