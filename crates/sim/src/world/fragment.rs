//! Fragmentation at nodes, all-or-nothing reassembly at the destination.

use lasthop_net::DropCause;
use lasthop_net::ipv4::{self, Reassembler, ReassemblyOut, Whole};
use lasthop_units::{Instant, NodeId, PacketId};

use super::World;
use super::life::Turn;
use super::place::DropPoint;
use crate::access::{Cause, Stage};
use crate::event::{Event, Wake};

/// The reassembly buffers of a node.
pub struct NodeReassembly {
    buffers: Reassembler,
    wake: Wake,
    output: ReassemblyOut,
}

impl NodeReassembly {
    pub fn new() -> NodeReassembly {
        NodeReassembly {
            buffers: Reassembler::new(Reassembler::DEFAULT_TIMEOUT),
            wake: Wake::default(),
            output: ReassemblyOut::default(),
        }
    }
    pub fn packets_inside(&self) -> usize {
        self.buffers.fragments()
    }
}

impl World {
    /// Fragments a packet that is larger than the MTU of the port of `node`, or drops it.
    #[cold]
    pub(super) fn fragment(&mut self, now: Instant, node: NodeId, id: PacketId, mtu: u32) {
        let packet = &self.packets[id];
        let pieces = match ipv4::fragment(packet.size, packet.fragment, packet.dont_fragment, mtu) {
            Ok(Some(pieces)) => pieces,
            Ok(None) => unreachable!("called for packets above the MTU"),
            Err(_) => {
                self.external.note_too_large(now, node, &packet.payload, mtu);
                return self.drop_packet(
                    now,
                    id,
                    Cause::Net(DropCause::FragmentationNeeded),
                    DropPoint::Node(node),
                );
            }
        };
        if self.lives.is_some() {
            self.note_life(now, id, Turn::Over, DropPoint::Node(node));
        }
        let whole = self.packets.remove(id);
        self.account.replaced.add(whole.size);
        for piece in pieces {
            let fragment = whole.part(piece);
            self.external.hold(&fragment.payload);
            self.account.made.add(fragment.size);
            let id = self.packets.insert(fragment);
            if self.lives.is_some() {
                self.note_life(now, id, Turn::Made, DropPoint::Node(node));
            }
            self.forward(now, node, id);
        }
        self.external.release(&whole, &mut self.observer);
    }

    /// Processes a fragment at its destination.
    #[cold]
    pub(super) fn reassemble(&mut self, now: Instant, node: NodeId, id: PacketId) {
        let packet = &self.packets[id];
        let Some(fragment) = packet.fragment else { unreachable!("called for fragments") };
        if self.lives.is_some() {
            self.note_life(now, id, Turn::Stage(Stage::Reassembly), DropPoint::Node(node));
        }
        let packet = &self.packets[id];
        let (src, serial, item) = (packet.src, packet.serial, packet.item(id, now));
        let r = &mut self.nodes[node].reassembly;
        let whole = r.buffers.handle_fragment(now, src, serial, fragment, item, &mut r.output);
        self.settle_reassembly(now, node, whole);
    }

    pub(super) fn on_reassembly_timer(&mut self, now: Instant, node: NodeId) {
        let r = &mut self.nodes[node].reassembly;
        if r.wake.take(now) {
            r.buffers.on_time(now, &mut r.output);
            self.settle_reassembly(now, node, None);
        }
    }

    fn settle_reassembly(&mut self, now: Instant, node: NodeId, whole: Option<Whole>) {
        let r = &mut self.nodes[node].reassembly;
        let mut output = std::mem::take(&mut r.output);
        r.wake.ensure(&mut self.queue, r.buffers.poll_at(), Event::Reassembly(node));
        for id in output.ignored.drain(..) {
            self.drop_packet(now, id, Cause::Net(DropCause::DuplicateFragment), DropPoint::Node(node));
        }
        for dropped in output.dropped.drain(..) {
            self.drop_packet(dropped.at, dropped.item.id, Cause::Net(dropped.cause), DropPoint::Node(node));
        }
        if let (Some(whole), Some((first, others))) = (whole, output.complete.split_first()) {
            if self.lives.is_some() {
                for id in &output.complete {
                    self.note_life(now, *id, Turn::Over, DropPoint::Node(node));
                }
            }
            let mut packet = self.packets.remove(*first);
            self.account.replaced.add(packet.size);
            for id in others {
                let part = self.packets.remove(*id);
                self.account.replaced.add(part.size);
                self.external.release(&part, &mut self.observer);
            }
            packet.make_whole(whole);
            self.account.made.add(packet.size);
            let id = self.packets.insert(packet);
            self.forward(now, node, id);
        }
        output.complete.clear();
        self.nodes[node].reassembly.output = output;
    }
}
