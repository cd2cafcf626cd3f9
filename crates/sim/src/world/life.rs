//! Where each packet is, from its sending to its end: the rows of the table `stages`.
//!
//! A packet is in one stage at a time. A note says from when on it is in another; the interval
//! before it is written then. Intervals can therefore neither overlap nor leave a gap.

use lasthop_net::Packet;
use lasthop_units::{AccessId, Duration, FlowId, Id, Instant, NodeId, PacketId};

use super::World;
use super::window::{Windows, write_windows};
use crate::access::{Adapter, LostPdu, Stage};
use crate::probe::tables;
use crate::transport::Payload;

/// Where something happened, for the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropPoint {
    /// A node.
    Node(NodeId),
    /// A place in an access, by the number that the access gave it.
    Access(AccessId, u32),
}

/// The lives that have not ended, by place in the slab of packets.
#[derive(Default)]
pub struct Lives {
    open: Vec<Option<Life>>,
    /// How many fragments and copies there were.
    parts: u64,
    /// What is asked of them per interval.
    pub(super) windows: Option<Windows>,
}

/// Where a packet is.
#[derive(Clone, Copy)]
struct Life {
    packet: u64,
    part: u64,
    flow: FlowId,
    stage: Stage,
    place: DropPoint,
    since: Instant,
    /// How long it has been in queues.
    waited: Duration,
}

/// What happens to a packet.
#[derive(Clone, Copy)]
pub enum Turn {
    /// It is sent.
    Sent,
    /// It is made on the way: a fragment, or a copy.
    Made,
    /// It is in another stage from now on.
    Stage(Stage),
    /// It is delivered, lost or replaced by others.
    Over,
}

/// An interval that has ended.
type Interval = (Life, Instant);

impl Lives {
    /// A packet is at `place` and takes a turn at `at`. What has ended with that.
    fn note(
        &mut self,
        at: Instant,
        (id, packet): (PacketId, Option<&Packet<Payload>>),
        turn: Turn,
        place: DropPoint,
    ) -> Option<Interval> {
        if self.open.len() <= id.index() {
            self.open.resize(id.index() + 1, None);
        }
        let open = &mut self.open[id.index()];
        match (turn, packet) {
            (Turn::Sent | Turn::Made, packet) => {
                self.parts += u64::from(matches!(turn, Turn::Made));
                let part = if matches!(turn, Turn::Made) { self.parts } else { 0 };
                *open = packet.map(|packet| {
                    let (flow, packet) = (packet.flow, packet.serial);
                    let waited = Duration::ZERO;
                    Life { packet, part, flow, stage: Stage::Node, place, since: at, waited }
                });
                None
            }
            (Turn::Stage(stage), _) => {
                let life = open.as_mut().filter(|life| (life.stage, life.place) != (stage, place))?;
                let before = *life;
                // A note that comes late cannot change what was before.
                let since = at.max(before.since);
                let waits = matches!(before.stage, Stage::Queue | Stage::RlcQueue | Stage::WifiQueue);
                let more = if waits { since.since(before.since) } else { Duration::ZERO };
                *life = Life { stage, place, since, waited: before.waited + more, ..before };
                Some((before, life.since))
            }
            (Turn::Over, _) => open.take().map(|life| (life, at.max(life.since))),
        }
    }
}

impl World {
    /// A packet takes a turn at `at`, at `place`.
    #[cold]
    pub(super) fn note_life(&mut self, at: Instant, id: PacketId, turn: Turn, place: DropPoint) {
        let World { packets, lives: Some(lives), .. } = self else { return };
        if let Some(interval) = lives.note(at, (id, packets.get(id)), turn, place) {
            write_stage(self, interval);
        }
    }
}

/// A packet is delivered at its destination `node`.
#[cold]
pub(super) fn note_delivery(world: &mut World, now: Instant, node: NodeId, id: PacketId) {
    let World { packets, flows, lives: Some(lives), .. } = world else { return };
    let packet = &packets[id];
    let waited = lives.open.get(id.index()).and_then(|life| Some(life.as_ref()?.waited));
    if let (Some(windows), Some(waited)) = (&mut lives.windows, waited)
        && packet.payload.to() != flows[packet.flow].data_end
    {
        windows.delivered(packet.flow, now.since(packet.sent), waited);
    }
    world.note_life(now, id, Turn::Over, DropPoint::Node(node));
}

/// A packet in an access is about to be dropped, and was in this PDU.
#[cold]
pub(super) fn note_pdu(world: &mut World, now: Instant, access: AccessId, pdu: &LostPdu) {
    let World { packets, flows, accesses, probes, .. } = world;
    let (Some(table), Some(packet)) = (&mut probes.pdus, packets.get(pdu.packet)) else { return };
    table.push(&tables::Pdus {
        time_s: now.as_secs_f64(),
        packet: packet.serial,
        flow: &flows[packet.flow].name,
        place: accesses[access].place(pdu.place),
        layer: pdu.layer,
        direction: pdu.direction,
        sn: pdu.sn.map(u64::from),
        first_octet: pdu.octets.map(|(first, _)| first.into()),
        end_octet: pdu.octets.map(|(_, end)| end.into()),
        sent_s: pdu.sent.map(Instant::as_secs_f64),
        sends: pdu.sends.into(),
        lost: pdu.lost,
    });
}

/// The run ends: the rows of `stages` and `limits` that are still open.
pub fn end_notes(world: &mut World, now: Instant) {
    write_windows(world, now);
    if world.lives.is_some() {
        for id in world.accesses.ids() {
            world.accesses[id].end_stages(now, &mut world.output);
            world.carry_out(now, id);
        }
    }
    let lives = world.lives.as_mut().map(|lives| std::mem::take(&mut lives.open));
    for life in lives.into_iter().flatten().flatten() {
        write_stage(world, (life, now.max(life.since)));
    }
    let World { flows, probes, .. } = world;
    flows.iter_mut().for_each(|flow| flow.write_limits(probes, true));
}

fn write_stage(world: &mut World, (life, end): Interval) {
    let Some(table) = &mut world.probes.stages else { return };
    if end == life.since {
        return;
    }
    table.push(&tables::Stages {
        packet: life.packet,
        part: life.part,
        flow: &world.flows[life.flow].name,
        stage: life.stage.name(),
        place: match life.place {
            DropPoint::Node(node) => &world.nodes[node].name,
            DropPoint::Access(access, place) => world.accesses[access].place(place),
        },
        start_ns: life.since.0,
        end_ns: end.0,
    });
}
