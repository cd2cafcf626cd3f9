//! Radio bearers in the world: packets in and out, and the three kinds of moments at which a bearer
//! wants to be called.

use crate::bearer::{BearerEvent, RadioBearer};
use lasthop_bearer::{BearerOutput, Direction, End as BearerEnd, Sdu};
use lasthop_units::{BearerId, Instant, NodeId, PacketId};

use super::World;
use super::packet::Place;
use crate::access::Cause;
use crate::event::{Event, Wake};

/// A bearer, wired into the world.
pub struct BearerHop {
    pub name: Box<str>,
    pub bearer: RadioBearer,
    /// Node at the network's end and at the UE's.
    nodes: [NodeId; 2],
    pub mtu: u32,
    tti: [Wake; 2],
    arrival: [Wake; 2],
    timer: Wake,
}

impl BearerHop {
    pub fn new(name: &str, bearer: RadioBearer, nodes: [NodeId; 2], mtu: u32) -> BearerHop {
        BearerHop {
            name: name.into(),
            bearer,
            nodes,
            mtu,
            tti: Default::default(),
            arrival: Default::default(),
            timer: Wake::default(),
        }
    }
    /// Packets that the bearer holds.
    pub fn packets_inside(&self) -> usize {
        self.bearer.inside(BearerEnd::Network) + self.bearer.inside(BearerEnd::Ue)
    }
}

impl World {
    pub(super) fn enter_bearer(&mut self, now: Instant, id: BearerId, end: BearerEnd, packet: PacketId) {
        let p = &self.packets[packet];
        let sdu = Sdu { ecn: p.ecn, ..Sdu::new(packet, p.size) };
        let mut output = std::mem::take(&mut self.bearer_output);
        self.bearers[id].bearer.push(now, end, sdu, &mut output);
        self.settle_bearer(now, id, output);
    }

    pub(super) fn on_bearer_tti(&mut self, now: Instant, id: BearerId, direction: Direction) {
        let b = &mut self.bearers[id];
        if b.tti[direction.index()].take(now) {
            let mut output = std::mem::take(&mut self.bearer_output);
            b.bearer.on_tti(now, direction, &mut output);
            self.settle_bearer(now, id, output);
        }
    }

    pub(super) fn on_bearer_arrival(&mut self, now: Instant, id: BearerId, direction: Direction) {
        let b = &mut self.bearers[id];
        if b.arrival[direction.index()].take(now) {
            let mut output = std::mem::take(&mut self.bearer_output);
            b.bearer.on_arrival(now, direction, &mut output);
            self.settle_bearer(now, id, output);
        }
    }

    pub(super) fn on_bearer_timer(&mut self, now: Instant, id: BearerId) {
        let b = &mut self.bearers[id];
        if b.timer.take(now) {
            let mut output = std::mem::take(&mut self.bearer_output);
            b.bearer.on_timer(now, &mut output);
            self.settle_bearer(now, id, output);
        }
    }

    /// Passes on what a bearer produced and notes when it wants to be called again.
    fn settle_bearer(&mut self, now: Instant, id: BearerId, mut output: BearerOutput<BearerEvent>) {
        let b = &mut self.bearers[id];
        for direction in Direction::BOTH {
            let i = direction.index();
            b.tti[i].ensure(&mut self.queue, b.bearer.next_tti(direction), Event::BearerTti(id, direction));
            b.arrival[i].ensure(
                &mut self.queue,
                b.bearer.next_arrival(direction),
                Event::BearerArrival(id, direction),
            );
        }
        b.timer.ensure(&mut self.queue, b.bearer.next_timer(), Event::BearerTimer(id));
        let nodes = b.nodes;
        if !output.events.is_empty() {
            let name = b.name.clone();
            for (end, event) in output.events.drain(..) {
                self.note_rlc_event(now, &name, end, event);
            }
        }
        // Most calls produce nothing: a list that is empty is not emptied.
        if !output.dropped.is_empty() {
            for (_, sdu, cause) in output.dropped.drain(..) {
                self.drop_packet(now, sdu.id, Cause::Other(cause.name()), Place::Bearer(id));
            }
        }
        if !output.marked.is_empty() {
            for (_, sdu) in output.marked.drain(..) {
                self.packets[sdu.id].ecn = lasthop_units::Ecn::Ce;
            }
        }
        if !output.delivered.is_empty() {
            for (end, sdu) in output.delivered.drain(..) {
                self.forward(now, nodes[end.index()], sdu.id);
            }
        }
        self.bearer_output = output;
    }
}
