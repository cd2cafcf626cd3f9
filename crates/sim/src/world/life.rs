//! Where each packet is, from its sending to its end: the rows of the table `stages`.
//!
//! A packet is in one stage at a time. A note says from when on it is in another; the interval
//! before it is written then. Intervals can therefore neither overlap nor leave a gap.

use lasthop_net::Packet;
use lasthop_units::{Duration, FlowId, Id, IndexVec, Instant, PacketId};

use super::World;
use super::flow::Flow;
use super::place::{DropPoint, Places};
use super::window::Windows;
use crate::access::Stage;
use crate::probe::{Probes, tables};
use crate::sink::Table;
use crate::spec::Spec;
use crate::transport::Payload;

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
    /// It is delivered at its destination.
    Delivered,
    /// It is lost or replaced by others.
    Over,
}

/// Where the rows go, and the names in them.
pub(super) struct Rows<'a> {
    table: Option<&'a mut Table<tables::Stages<'static>>>,
    flows: &'a IndexVec<FlowId, Flow>,
    places: Places<'a>,
}

impl<'a> Rows<'a> {
    pub fn of(probes: &'a mut Probes, flows: &'a IndexVec<FlowId, Flow>, places: Places<'a>) -> Rows<'a> {
        Rows { table: probes.stages.as_mut(), flows, places }
    }

    /// An interval of a life that has ended.
    fn write(&mut self, life: Life, end: Instant) {
        let Some(table) = &mut self.table else { return };
        if end == life.since {
            return;
        }
        table.push(&tables::Stages {
            packet: life.packet,
            part: life.part,
            flow: &self.flows[life.flow].name,
            stage: life.stage.name(),
            place: self.places.name(life.place),
            start_ns: life.since.0,
            end_ns: end.0,
        });
    }
}

impl Lives {
    /// Those of a run with so many flows, if its scenario asks for something of them.
    pub fn of(spec: &Spec, flows: usize) -> Option<Box<Lives>> {
        let every = spec.output.windows;
        let windows = every.map(|every| Windows::new(every, flows));
        (spec.output.explain || every.is_some()).then(|| Box::new(Lives { windows, ..Lives::default() }))
    }

    /// A packet takes a turn at `at`, at `place`.
    pub(super) fn note(
        &mut self,
        at: Instant,
        (id, packet): (PacketId, Option<&Packet<Payload>>),
        turn: Turn,
        place: DropPoint,
        rows: &mut Rows<'_>,
    ) {
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
            }
            (Turn::Stage(stage), _) => {
                let other = |life: &&mut Life| (life.stage, life.place) != (stage, place);
                let Some(life) = open.as_mut().filter(other) else { return };
                let before = *life;
                // A note that comes late cannot change what was before.
                let since = at.max(before.since);
                let more = if before.stage.is_queue() { since.since(before.since) } else { Duration::ZERO };
                *life = Life { stage, place, since, waited: before.waited + more, ..before };
                rows.write(before, since);
            }
            (Turn::Delivered | Turn::Over, packet) => {
                let Some(life) = open.take() else { return };
                if let (Turn::Delivered, Some(windows), Some(packet)) = (turn, &mut self.windows, packet)
                    && packet.payload.to() != rows.flows[packet.flow].data_end
                {
                    windows.delivered(packet.flow, at.since(packet.sent), life.waited);
                }
                rows.write(life, at.max(life.since));
            }
        }
    }

    /// The run ends: the rows of lives that are still open.
    pub(super) fn end(&mut self, now: Instant, rows: &mut Rows<'_>) {
        self.open.drain(..).flatten().for_each(|life| rows.write(life, now.max(life.since)));
    }
}

impl World {
    /// A packet takes a turn at `at`, at `place`.
    #[cold]
    pub(super) fn note_life(&mut self, at: Instant, id: PacketId, turn: Turn, place: DropPoint) {
        let World { packets, lives: Some(lives), probes, flows, nodes, accesses, .. } = self else { return };
        let mut rows = Rows::of(probes, flows, Places { nodes, accesses });
        lives.note(at, (id, packets.get(id)), turn, place, &mut rows);
    }
}
