//! Stages of each packet, from its sending to its end: the rows of the table `stages`.
//!
//! A packet is in one stage at a time. A note gives the time from which it is in another; the
//! interval before that time is written then. Therefore intervals neither overlap nor leave a gap.

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
use crate::transport::{Payload, receiver};

/// The packets that are still inside, by place in the slab of packets.
#[derive(Default)]
pub struct Lives {
    open: Vec<Option<Life>>,
    /// Number of fragments and copies so far.
    parts: u64,
    /// The intervals for which they are recorded.
    pub(super) windows: Option<Windows>,
}

/// The present stage of a packet.
#[derive(Clone, Copy)]
struct Life {
    packet: u64,
    part: u64,
    flow: FlowId,
    stage: Stage,
    place: DropPoint,
    since: Instant,
    /// Time that it has spent in queues.
    waited: Duration,
}

/// A change in the course of a packet.
#[derive(Clone, Copy)]
pub enum Turn {
    /// It is sent.
    Sent,
    /// It is made along the path: a fragment, or a copy.
    Made,
    /// It is in another stage from now on.
    Stage(Stage),
    /// It is delivered at its destination.
    Delivered,
    /// It is lost or replaced by others.
    Over,
}

/// The table of the rows, and the names in them.
pub(super) struct Rows<'a> {
    table: Option<&'a mut Table<tables::Stages<'static>>>,
    flows: &'a IndexVec<FlowId, Flow>,
    places: Places<'a>,
}

impl<'a> Rows<'a> {
    pub fn of(probes: &'a mut Probes, flows: &'a IndexVec<FlowId, Flow>, places: Places<'a>) -> Rows<'a> {
        Rows { table: probes.stages.as_mut(), flows, places }
    }

    /// Writes an interval of a life that has ended.
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
    /// Creates the record of stages of a run with `flows` flows, if its scenario has the table.
    pub fn of(spec: &Spec, flows: usize) -> Option<Box<Lives>> {
        let every = spec.output.windows;
        let windows = every.map(|every| Windows::new(every, flows));
        (spec.output.explain || every.is_some()).then(|| Box::new(Lives { windows, ..Lives::default() }))
    }

    /// Adds a flow, with the next id.
    pub fn add_flow(&mut self) {
        if let Some(windows) = &mut self.windows {
            windows.add_flow();
        }
    }

    /// Records a turn of a packet at `at`, at `place`.
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
                // A late note cannot change earlier intervals.
                let since = at.max(before.since);
                let more = if before.stage.is_queue() { since.since(before.since) } else { Duration::ZERO };
                *life = Life { stage, place, since, waited: before.waited + more, ..before };
                rows.write(before, since);
            }
            (Turn::Delivered | Turn::Over, packet) => {
                let Some(life) = open.take() else { return };
                if let (Turn::Delivered, Some(windows), Some(packet)) = (turn, &mut self.windows, packet)
                    && receiver(packet) != rows.flows[packet.flow].data_end
                {
                    windows.delivered(packet.flow, at.since(packet.sent), life.waited);
                }
                rows.write(life, at.max(life.since));
            }
        }
    }

    /// Writes, at the end of the run, the rows of lives that are still open.
    pub(super) fn end(&mut self, now: Instant, rows: &mut Rows<'_>) {
        self.open.drain(..).flatten().for_each(|life| rows.write(life, now.max(life.since)));
    }
}

impl World {
    /// Records a turn of a packet at `at`, at `place`.
    #[cold]
    pub(super) fn note_life(&mut self, at: Instant, id: PacketId, turn: Turn, place: DropPoint) {
        let World { packets, lives: Some(lives), probes, flows, nodes, accesses, .. } = self else { return };
        let mut rows = Rows::of(probes, flows, Places { nodes, accesses });
        lives.note(at, (id, packets.get(id)), turn, place, &mut rows);
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::RecordBatch;
    use arrow::util::display::array_value_to_string;
    use lasthop_capture::TableData;
    use lasthop_net::{Content, Ecn};
    use lasthop_units::{AccessId, NodeId};

    use super::super::testing::world;
    use super::*;
    use crate::sink::Sink;

    const TEXT: &str = "[scenario]\nname = 'lives'\nduration = '1 s'\n\
        [link.x]\nbetween = ['a', 'b']\n[flow.f]\nfrom = 'a'\nto = 'b'\n";

    /// A turn: time [ns], place of the packet in the slab, its number if it is still there, kind of
    /// turn, and place.
    type Note = (u64, usize, Option<u64>, Turn, DropPoint);

    /// The lives after these turns.
    fn noted(notes: &[Note]) -> Lives {
        rows(&mut Lives::default(), notes, None).0
    }

    /// The lives after these turns and, if given, the end of the run; and the rows: packet, part,
    /// stage, place, start and end [ns].
    fn rows(lives: &mut Lives, notes: &[Note], end: Option<u64>) -> (Lives, Vec<String>) {
        let world = world(TEXT);
        let mut table = Sink::Memory.table().unwrap();
        let places = Places { nodes: &world.nodes, accesses: &world.accesses };
        let mut rows = Rows { table: Some(&mut table), flows: &world.flows, places };
        for (at, id, serial, turn, place) in notes {
            let packet = serial.map(packet);
            lives.note(Instant(*at), (PacketId::from_index(*id), packet.as_ref()), *turn, *place, &mut rows);
        }
        if let Some(end) = end {
            lives.end(Instant(end), &mut rows);
        }
        let TableData::Memory(batches) = table.finish().unwrap().data else { unreachable!() };
        let text = |batch: &RecordBatch, row: usize| {
            let columns = ["packet", "part", "stage", "where", "start_ns", "end_ns"];
            let value = |name| array_value_to_string(batch.column_by_name(name).unwrap(), row).unwrap();
            columns.map(value).join(" ")
        };
        let found =
            batches.iter().flat_map(|b| (0..b.num_rows()).map(|row| text(b, row)).collect::<Vec<_>>());
        (std::mem::take(lives), found.collect())
    }

    fn packet(serial: u64) -> Packet<Payload> {
        Packet {
            src: NodeId::from_index(0),
            dst: NodeId::from_index(1),
            flow: FlowId::from_index(0),
            serial,
            size: 1028,
            ecn: Ecn::NotEct,
            dont_fragment: false,
            content: Content::new(true, false),
            reverse: false,
            sent: Instant::ZERO,
            fragment: None,
            payload: Payload::Udp(lasthop_net::app::Message::plain(1000)),
        }
    }

    fn node(n: usize) -> DropPoint {
        DropPoint::Node(NodeId::from_index(n))
    }

    const LINK: fn() -> DropPoint = || DropPoint::Access(AccessId::from_index(0), 0);

    /// Each interval begins where the one before ends, so together they are the life, 10 to 90;
    /// the waiting time is the time in queues alone.
    #[test]
    fn the_intervals_of_a_life_join_from_its_sending_to_its_end() {
        let way = [
            (10, 0, Some(7), Turn::Sent, node(0)),
            (12, 0, Some(7), Turn::Stage(Stage::Queue), LINK()),
            (30, 0, Some(7), Turn::Stage(Stage::Serialization), LINK()),
            (40, 0, Some(7), Turn::Stage(Stage::Propagation), LINK()),
        ];
        assert_eq!(noted(&way).open[0].unwrap().waited, Duration(18));
        let all = [&way[..], &[(90, 0, None, Turn::Delivered, node(1))]].concat();
        let (lives, rows) = rows(&mut Lives::default(), &all, None);
        let expected = [
            "7 0 node a 10 12",
            "7 0 queue x.forward 12 30",
            "7 0 serialization x.forward 30 40",
            "7 0 propagation x.forward 40 90",
        ];
        assert_eq!(rows, expected);
        assert!(lives.open[0].is_none());
    }

    /// Accesses catch up: a note may concern a moment before the last one. The interval that is
    /// written stays, and an interval without length is not written.
    #[test]
    fn a_late_note_does_not_change_earlier_intervals() {
        let all = [
            (10, 0, Some(7), Turn::Sent, node(0)),
            (20, 0, Some(7), Turn::Stage(Stage::Queue), LINK()),
            (15, 0, Some(7), Turn::Stage(Stage::Serialization), LINK()),
            (18, 0, Some(7), Turn::Over, LINK()),
        ];
        assert_eq!(rows(&mut Lives::default(), &all, None).1, ["7 0 node a 10 20"]);
    }

    #[test]
    fn the_same_stage_at_the_same_place_goes_on() {
        let all = [
            (0, 0, Some(7), Turn::Sent, node(0)),
            (5, 0, Some(7), Turn::Stage(Stage::Queue), LINK()),
            (9, 0, Some(7), Turn::Stage(Stage::Queue), LINK()),
        ];
        let (_, rows) = rows(&mut Lives::default(), &all, Some(20));
        assert_eq!(rows, ["7 0 node a 0 5", "7 0 queue x.forward 5 20"], "and ends with the run");
    }

    /// A packet of number 7 is replaced by two fragments, each a part with its own number; their
    /// places in the slab may be those of packets that have left.
    #[test]
    fn packets_made_along_the_path_have_a_part_of_their_own() {
        let all = [
            (0, 0, Some(7), Turn::Sent, node(0)),
            (4, 0, Some(7), Turn::Over, node(0)),
            (4, 1, Some(7), Turn::Made, node(0)),
            (4, 0, Some(7), Turn::Made, node(0)),
            (6, 1, None, Turn::Over, node(0)),
            (9, 0, None, Turn::Delivered, node(1)),
        ];
        let (lives, rows) = rows(&mut Lives::default(), &all, None);
        assert_eq!(rows, ["7 0 node a 0 4", "7 1 node a 4 6", "7 2 node a 4 9"]);
        assert_eq!(lives.parts, 2);
    }

    /// A packet that was sent before recording began has no life.
    #[test]
    fn a_packet_without_a_life_has_no_rows() {
        let all = [
            (1, 3, Some(7), Turn::Stage(Stage::Queue), LINK()),
            (2, 3, None, Turn::Delivered, node(1)),
            (3, 4, None, Turn::Sent, node(0)),
        ];
        let (lives, rows) = rows(&mut Lives::default(), &all, Some(9));
        assert_eq!((rows.len(), lives.open.len()), (0, 0), "the end takes all out");
    }
}
