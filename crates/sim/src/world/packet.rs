//! Packets in the world: entry, forwarding from hop to hop, and exit in exactly one manner.

use lasthop_net::app::Arrival;
use lasthop_net::{Content, DropCause, Ecn, Item};
use lasthop_units::{AccessId, FlowId, Instant, NodeId, PacketId};

use super::World;
use super::life::Turn;
use super::place::{DropPoint, Places};
use crate::access::{Adapter, Cause, Clocks, Stage, Step};
use crate::error::Error;
use crate::event::{Clock, End};
use crate::observe::ObservationPoint;
use crate::route::{Entry, Port};
use crate::transport::{Arrived, Payload, receiver};

/// An IP packet of the world.
pub type Packet = lasthop_net::Packet<Payload>;

// A loaded network holds hundreds of thousands.
const _: () = assert!(size_of::<Packet>() <= 88);

impl World {
    /// A transport sends: a packet enters the world at the end `from` of `flow`.
    #[inline]
    pub(super) fn send(&mut self, now: Instant, flow: FlowId, from: End, payload: Payload) {
        // Worked out here: the caller would copy the segment to read it before it moves.
        let size = payload.packet_size();
        let f = &mut self.flows[flow];
        let again = f.transport.sends_again(from, &payload);
        let ecn = payload.ecn();
        let (src, dst, port) = (f.node(from), f.node(from.other()), f.ports[from as usize]);
        let takes_time = f.processing.is_some();
        if from == f.data_end {
            self.monitor.sent(now, flow, size);
        } else {
            f.reverse.sent(size);
        }
        let serial = self.serial;
        self.serial += 1;
        self.account.sent.add(size);
        let id = self.packets.insert(Packet {
            src,
            dst,
            flow,
            serial,
            size,
            ecn,
            dont_fragment: false,
            content: Content::new(payload.data() > 0, again),
            reverse: from == End::B,
            sent: now,
            fragment: None,
            payload,
        });
        if self.watched {
            self.observe(now, ObservationPoint::Source(src), id);
        }
        if takes_time {
            return self.process(now, from, id);
        }
        if src == dst {
            return self.arrive(now, src, id);
        }
        self.leave(now, src, port, id);
    }

    /// Delays the packet at its source (`scenario.jitter`). Separate from [`send`](Self::send), so
    /// that a run without jitter has no cost.
    #[cold]
    #[inline(never)]
    fn process(&mut self, now: Instant, from: End, id: PacketId) {
        if self.lives.is_some() {
            self.note_life(now, id, Turn::Stage(Stage::Host), DropPoint::Node(self.packets[id].src));
        }
        let packet = &self.packets[id];
        if let Some(accesses) = self.flows[packet.flow].processing {
            self.enter(now, packet.src, accesses[from as usize], Entry(0), id);
        }
    }

    /// Forwards a packet at `node`: to a port, or up to the transport.
    #[inline]
    pub(super) fn forward(&mut self, now: Instant, node: NodeId, id: PacketId) {
        let dst = self.packets[id].dst;
        if dst == node {
            return self.arrive(now, node, id);
        }
        self.leave(now, node, self.routes.port(node, dst), id);
    }

    /// Sends a packet from `node` through `port`.
    #[inline]
    pub(super) fn leave(&mut self, now: Instant, node: NodeId, port: Option<Port>, id: PacketId) {
        match port {
            Some(Port::Access(access, entry)) => self.enter(now, node, access, entry, id),
            Some(Port::Snoop(agent)) => self.pass_snoop(now, agent, id),
            // The check of the scenario refuses flows without a route: only a fault in the program
            // reaches this.
            None => self.drop_packet(now, id, Cause::Net(DropCause::NoRoute), DropPoint::Node(node)),
        }
    }

    /// Passes a packet into an access at `node`, in fragments if it is too large.
    #[inline(always)]
    fn enter(&mut self, now: Instant, node: NodeId, id: AccessId, entry: Entry, packet: PacketId) {
        let p = &self.packets[packet];
        let (item, dst) = (p.item(packet, now), p.dst);
        if self.watched && item.size <= self.accesses[id].mtu(entry) {
            self.observe(now, ObservationPoint::Queue(id), packet);
        }
        let clocks = &mut Clocks::of(&mut self.queue, id);
        if let Err(mtu) = self.accesses[id].take_in(now, entry, item, dst, &mut self.output, clocks) {
            return self.fragment(now, node, packet, mtu);
        }
        if !self.output.steps.is_empty() {
            self.carry_out(now, id);
        }
    }

    /// Processes an expired clock of an access.
    #[inline]
    pub(super) fn on_access(&mut self, now: Instant, id: AccessId, clock: Clock) {
        let clocks = &mut Clocks::of(&mut self.queue, id);
        if !self.accesses[id].serve(now, clock, &mut self.output, clocks) {
            return;
        }
        if !self.output.steps.is_empty() {
            self.carry_out(now, id);
        }
        let Some(node) = self.output.arrived_at() else { return };
        let lone = self.output.lone();
        // The list stays in its place: no link delivers while other accesses process these packets.
        let mut i = 0;
        while let Some((packet, ecn)) = lone.or_else(|| self.output.arrived(i)) {
            i += 1;
            let p = &mut self.packets[packet];
            p.ecn = ecn;
            let dst = p.dst;
            if self.watched {
                self.observe(now, ObservationPoint::Exit(id), packet);
            }
            if dst == node {
                self.arrive(now, node, packet);
            } else {
                self.leave(now, node, self.routes.port(node, dst), packet);
            }
            if lone.is_some() {
                return;
            }
        }
        self.output.clear_arrived();
    }

    /// Called after every call of an access from outside: notes when it must be called again, then
    /// carries out the steps that it has produced.
    #[inline(never)]
    pub(super) fn settle(&mut self, now: Instant, id: AccessId) {
        self.accesses[id].set_clocks(&mut Clocks::of(&mut self.queue, id));
        if !self.output.steps.is_empty() {
            self.carry_out(now, id);
        }
    }

    #[inline(never)]
    pub(super) fn carry_out(&mut self, now: Instant, access: AccessId) {
        let next = self.spare.pop().unwrap_or_default();
        let mut steps = std::mem::replace(&mut self.output.steps, next);
        for step in steps.drain(..) {
            match step {
                Step::Deliver { to, packet, ecn } => {
                    if let Some(ecn) = ecn {
                        self.packets[packet].ecn = ecn;
                    }
                    self.forward(now, to, packet);
                }
                Step::Copy(item) => {
                    // Made before the original is forwarded, which may free it.
                    let id = self.copy(now, item.id, access);
                    self.output.arrives_too(Item { id, ..item });
                }
                Step::Drop { at, packet, cause, place } => {
                    self.drop_packet(at.unwrap_or(now), packet, cause, DropPoint::Access(access, place));
                }
                Step::Stage { packet, at, stage, place } => {
                    self.note_life(at, packet, Turn::Stage(stage), DropPoint::Access(access, place));
                }
                Step::Pdu(pdu) => {
                    if let Some(packet) = self.packets.get(pdu.packet) {
                        let place = self.accesses[access].place(pdu.place);
                        self.flows[packet.flow].note_pdu(&mut self.probes, now, packet, place, &pdu);
                    }
                }
                Step::Mark { packet } => self.packets[packet].ecn = Ecn::Ce,
                Step::Forward { packet, place } => {
                    let (place, packet) = (self.accesses[access].place(place), &self.packets[packet]);
                    let flow = &self.flows[packet.flow];
                    flow.note_packet(&mut self.probes, now, packet, place, "forwarded");
                }
                Step::Notice { entry, notice } => {
                    let (hinters, mut x) = self.hints();
                    hinters.iter_mut().for_each(|h| h.notify(now, (access, entry), notice, &mut x));
                }
                Step::Trace(row) => {
                    let packet = row.packet.and_then(|id| self.packets.get(id));
                    self.probes.step(row.row(packet.map(|p| p.serial)));
                }
                Step::RlcPdu(row) => self.probes.rlc_pdu(row.row()),
                Step::Frame(frame) => {
                    if let Some(observer) = &mut self.observer {
                        observer.frame(access, *frame, |packet| self.packets.get(packet));
                    }
                }
                Step::Fault(fault) => {
                    self.fault.get_or_insert_with(|| Box::new(Error::Policy(*fault)));
                }
                Step::Event(e) => {
                    self.probes.event(now, &e.source, e.kind, e.value, &e.detail);
                }
            }
        }
        self.spare.push(steps);
    }

    /// Copies a packet that a link has duplicated.
    fn copy(&mut self, now: Instant, packet: PacketId, access: AccessId) -> PacketId {
        let copy = self.packets[packet].clone();
        self.external.hold(&copy.payload);
        self.account.made.add(copy.size);
        let id = self.packets.insert(copy);
        if self.lives.is_some() {
            self.note_life(now, id, Turn::Made, DropPoint::Access(access, 0));
        }
        id
    }

    /// Processes a packet that has reached its destination node.
    #[inline]
    fn arrive(&mut self, now: Instant, node: NodeId, id: PacketId) {
        if self.watched && self.packets[id].fragment.is_none() {
            self.observe(now, ObservationPoint::Destination(node), id);
        }
        let packet = &mut self.packets[id];
        if packet.fragment.is_some() {
            return self.reassemble(now, node, id);
        }
        self.account.delivered.add(packet.size);
        let (flow, ecn, sent, end) = (packet.flow, packet.ecn, packet.sent, receiver(packet));
        let f = &mut self.flows[flow];
        let to_sender = end == f.data_end;
        if to_sender {
            f.reverse.received(packet.size);
        } else {
            f.marked += u64::from(ecn == Ecn::Ce);
            self.monitor.received(now, flow, packet.size, sent);
        }
        // Read in its place: a copy of the whole packet takes about thirty instructions.
        match f.transport.handle_packet(now, end, &mut packet.payload, ecn) {
            Arrived::Taken => {
                // The options of the segment are taken too.
                self.packets.forget(id);
                self.on_taken(now, flow, end, to_sender);
            }
            Arrived::Datagram(message) => {
                self.packets.discard(id);
                self.on_datagram(now, flow, end, &Arrival { message, ecn, sent });
            }
            Arrived::Real => {
                let packet = self.packets.remove(id);
                self.external.arrived(now, node, &packet, &mut self.flows[flow], &mut self.observer);
            }
        }
    }

    /// Drops a packet and records it in the account, the flow's counters and the `drops` table.
    pub(super) fn drop_packet(&mut self, at: Instant, id: PacketId, cause: Cause, place: DropPoint) {
        if self.lives.is_some() {
            self.note_life(at, id, Turn::Over, place);
        }
        let packet = self.packets.remove(id);
        self.account.dropped.add(packet.size);
        if receiver(&packet) != self.flows[packet.flow].data_end {
            match cause {
                Cause::Net(cause) => self.monitor.dropped(packet.flow, cause),
                Cause::Other(_) => self.monitor.dropped_elsewhere(packet.flow),
            }
        }
        let place = Places { nodes: &self.nodes, accesses: &self.accesses }.name(place);
        let flow = &self.flows[packet.flow];
        if self.probes.packets.is_some() {
            flow.note_packet(&mut self.probes, at, &packet, place, "dropped");
        }
        flow.note_drop(&mut self.probes, at, &packet, cause.name(), place);
        if let Some(observer) = &mut self.observer {
            observer.dropped(at, &packet, cause.name(), place);
        }
        self.external.release(&packet, &mut self.observer);
    }

    /// Records a packet at a point of observation: in the tables, if the point is its source or its
    /// destination, and in the capture.
    #[cold]
    #[inline(never)]
    pub(super) fn observe(&mut self, now: Instant, place: ObservationPoint, id: PacketId) {
        let end = match place {
            ObservationPoint::Source(node) => Some((node, "sent", Turn::Sent)),
            ObservationPoint::Destination(node) => Some((node, "received", Turn::Delivered)),
            ObservationPoint::Queue(_) | ObservationPoint::Exit(_) => None,
        };
        if let Some((node, event, turn)) = end.filter(|_| self.probes.sampling.packets) {
            let (packet, name) = (&self.packets[id], &self.nodes[node].name);
            self.flows[packet.flow].note_packet(&mut self.probes, now, packet, name, event);
            self.note_life(now, id, turn, DropPoint::Node(node));
        }
        if let Some(observer) = &mut self.observer {
            observer.packet(now, place, &self.packets[id]);
        }
    }
}
