//! Packets on their way: in, from hop to hop, and out in exactly one way.

use lasthop_net::{DropCause, Dropped, Link, PipeOut};
use lasthop_tcp::Segment;
use lasthop_units::{BearerId, FlowId, HopId, Instant, NodeId, PacketId, StationId};

use super::World;
use super::event::{End, Event, Wake};
use crate::route::Port;

/// What an IP packet carries. Descriptors only: bytes exist in captures and in emulation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Payload {
    /// A TCP segment for one end of its flow.
    Tcp(End, Segment),
    /// A UDP datagram of so many payload bytes for one end of its flow.
    Udp(End, u32),
}

/// An IP packet of the world.
pub type Packet = lasthop_net::Packet<Payload>;

// Up to here a copy is eight moves of 16 bytes; a larger one calls a function.
const _: () = assert!(size_of::<Packet>() <= 128);

/// One direction of a link, wired into the world.
pub struct Hop {
    pub name: Box<str>,
    pub link: Link,
    pub to: NodeId,
    pub mtu: u32,
    /// What a tunnel adds to each packet [B].
    pub overhead: u32,
    pub wake: Wake,
}

impl Hop {
    /// Packets that the link holds, counted by what went in and came out.
    pub fn packets_inside(&self) -> usize {
        let a = self.link.account();
        (a.packets_in - a.packets_arrived - a.packets_dropped) as usize
    }
}

/// Where something happened, for the tables.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// A node.
    Node(NodeId),
    /// One direction of a link.
    Hop(HopId),
    /// A bearer.
    Bearer(BearerId),
    /// A bearer of the radio network.
    Radio(BearerId),
    /// The link of a station of a wireless LAN.
    Wlan(StationId),
}

impl World {
    /// A transport sends: a packet of `size` IP bytes enters the world at the end `from` of `flow`.
    #[inline]
    pub(super) fn send(&mut self, now: Instant, flow: FlowId, from: End, size: u32, payload: Payload) {
        let f = &mut self.flows[flow];
        let (ecn, again) = match &payload {
            Payload::Tcp(_, segment) => (segment.ecn, f.sends_again(from, segment)),
            Payload::Udp(..) => (lasthop_units::Ecn::NotEct, false),
        };
        let (src, dst) = (f.node(from), f.node(from.other()));
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
            again,
            sent: now,
            fragment: None,
            payload,
        });
        if self.probes.packets.is_some() {
            let node = self.node_name(src);
            self.note_packet(now, id, &node, "sent");
        }
        if takes_time {
            return self.process(now, from, id);
        }
        self.forward(now, src, id);
    }

    /// The source delays the packet (`scenario.jitter`). Kept out of [`send`](Self::send), so that
    /// a run without does not pay.
    #[cold]
    #[inline(never)]
    fn process(&mut self, now: Instant, from: End, id: PacketId) {
        if let Some(hops) = self.flows[self.packets[id].flow].processing {
            self.enter_hop(now, hops[from as usize], id);
        }
    }

    /// A packet is at `node` and goes on: out of a port, or up to the transport.
    #[inline]
    pub(super) fn forward(&mut self, now: Instant, node: NodeId, id: PacketId) {
        let packet = &self.packets[id];
        if packet.dst == node {
            return self.arrive(now, node, id);
        }
        self.leave(now, node, self.routes.port(node, packet.dst), id);
    }

    /// A packet leaves `node` by `port`.
    #[inline]
    pub(super) fn leave(&mut self, now: Instant, node: NodeId, port: Option<Port>, id: PacketId) {
        let packet = &self.packets[id];
        let (mtu, size) = match port {
            Some(Port::Hop(hop)) => {
                if packet.size <= self.hops[hop].mtu {
                    return self.enter_hop(now, hop, id);
                }
                (self.hops[hop].mtu, packet.size)
            }
            Some(Port::Bearer(bearer, end)) => {
                if packet.size <= self.bearers[bearer].mtu {
                    return self.enter_bearer(now, bearer, end, id);
                }
                (self.bearers[bearer].mtu, packet.size)
            }
            Some(Port::Radio(ue, end)) => {
                let mtu = self.radio.mtu(ue);
                if packet.size <= mtu {
                    return self.enter_radio(now, ue, end, id);
                }
                (mtu, packet.size)
            }
            Some(Port::Wlan(station, end)) => {
                let mtu = self.wlan.mtu(station);
                if packet.size <= mtu {
                    return self.enter_wlan(now, station, end, id);
                }
                (mtu, packet.size)
            }
            Some(Port::Snoop(agent)) => return self.pass_snoop(now, agent, id),
            // The scenario's check refuses flows without a route; only a bug can come here.
            None => return self.drop_in_net(now, id, DropCause::NoRoute, Place::Node(node)),
        };
        debug_assert!(size > mtu);
        self.fragment(now, node, id, mtu);
    }

    #[inline(always)]
    fn enter_hop(&mut self, now: Instant, hop: HopId, id: PacketId) {
        let mut item = self.packets[id].item(id, now);
        let h = &mut self.hops[hop];
        item.size += h.overhead;
        h.link.enqueue(now, item, &mut self.pipe_output);
        h.wake.ensure(&mut self.queue, h.link.poll_at(), Event::Hop(hop));
        debug_assert!(self.pipe_output.arrived.is_empty(), "a pipe delivers on time, never on entry");
        if !self.pipe_output.dropped.is_empty() {
            self.settle_drops(hop);
        }
    }

    /// The head of a pipe is at its far end.
    pub(super) fn on_hop(&mut self, now: Instant, hop: HopId) {
        let h = &mut self.hops[hop];
        if !h.wake.take(now) {
            return;
        }
        let mut output = std::mem::take(&mut self.hop_output);
        h.link.on_time(now, &mut output);
        h.wake.ensure(&mut self.queue, h.link.poll_at(), Event::Hop(hop));
        let node = h.to;
        // Few hops drop or copy: a list that is empty is not emptied.
        if !output.dropped.is_empty() {
            for Dropped { at, item, cause } in output.dropped.drain(..) {
                self.drop_in_net(at, item.id, cause, Place::Hop(hop));
            }
        }
        // Copies are made before the originals go on: those may be gone afterwards.
        for item in &mut output.copies {
            let copy = self.packets[item.id].clone();
            self.account.made.add(copy.size);
            item.id = self.packets.insert(copy);
        }
        if !output.copies.is_empty() {
            output.arrived.append(&mut output.copies);
        }
        for item in output.arrived.drain(..) {
            self.packets[item.id].ecn = item.ecn;
            self.forward(now, node, item.id);
        }
        self.hop_output = output;
    }

    /// Hands the drops in `pipe_output` to the books.
    pub(super) fn settle_drops(&mut self, hop: HopId) {
        let mut dropped = std::mem::take(&mut self.pipe_output.dropped);
        for Dropped { at, item, cause } in dropped.drain(..) {
            self.drop_in_net(at, item.id, cause, Place::Hop(hop));
        }
        self.pipe_output.dropped = dropped;
    }

    /// Calls `look` on a link and handles what catching up brought to light.
    pub(super) fn with_link<T>(&mut self, hop: HopId, look: impl FnOnce(&mut Link, &mut PipeOut) -> T) -> T {
        let h = &mut self.hops[hop];
        let value = look(&mut h.link, &mut self.pipe_output);
        h.wake.ensure(&mut self.queue, h.link.poll_at(), Event::Hop(hop));
        self.settle_drops(hop);
        value
    }

    /// A packet has reached the node it was sent to.
    #[inline]
    fn arrive(&mut self, now: Instant, node: NodeId, id: PacketId) {
        if self.packets[id].fragment.is_some() {
            return self.reassemble(now, node, id);
        }
        if self.probes.packets.is_some() {
            let name = self.node_name(node);
            self.note_packet(now, id, &name, "received");
        }
        let mut packet = self.packets.remove(id);
        self.account.delivered.add(packet.size);
        let (Payload::Tcp(end, _) | Payload::Udp(end, _)) = packet.payload;
        let f = &mut self.flows[packet.flow];
        if end == f.data_end {
            f.reverse.received(packet.size);
        } else {
            f.marked += u64::from(packet.ecn == lasthop_net::Ecn::Ce);
            self.monitor.received(now, packet.flow, packet.size, packet.sent);
        }
        match &mut packet.payload {
            Payload::Tcp(end, segment) => {
                segment.ecn = packet.ecn;
                self.on_segment(now, packet.flow, *end, segment);
            }
            Payload::Udp(end, bytes) => self.on_datagram(now, packet.flow, *end, *bytes, packet.sent),
        }
    }

    /// A packet leaves by a drop: into the books, the flow's counters and the `drops` table.
    pub(super) fn drop_packet(
        &mut self,
        at: Instant,
        id: PacketId,
        name: &str,
        cause: Option<DropCause>,
        place: Place,
    ) {
        if self.probes.packets.is_some() {
            let place: Box<str> = self.place_name(place).into();
            self.note_packet(at, id, &place, "dropped");
        }
        let packet = self.packets.remove(id);
        self.account.dropped.add(packet.size);
        let (Payload::Tcp(to, _) | Payload::Udp(to, _)) = packet.payload;
        if to != self.flows[packet.flow].data_end {
            match cause {
                Some(cause) => self.monitor.dropped(packet.flow, cause),
                None => self.monitor.dropped_elsewhere(packet.flow),
            }
        }
        self.note_drop(at, &packet, name, place);
    }

    /// A drop with one of the wired network's causes.
    pub(super) fn drop_in_net(&mut self, at: Instant, id: PacketId, cause: DropCause, place: Place) {
        self.drop_packet(at, id, cause.name(), Some(cause), place);
    }
}
