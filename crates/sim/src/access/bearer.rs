//! A bearer between two nodes: layer 2 of a radio, with both ends, over a dedicated channel.

use lasthop_bearer::dch::DchStats;
use lasthop_bearer::{BearerOutput, Direction, End, Journeys, Missing, NotedPdu, PduOutcome, RlcStats, Sdu};
use lasthop_net::Item;
use lasthop_units::{Instant, NodeId, PacketId};

use super::framing::Mode;
use super::{AccessEvent, AccessOutput, Adapter, Cause, Clocks, LostPdu, Stage, Step};
use crate::event::{Clock, Wake};
use crate::observe::{self, Frame, LinkType, Open, Point};
use crate::probe::{Probes, tables};
use crate::route::Entry;
use crate::sink::Table;
use crate::spec::{AccessChange, BEARER_INTERFACES, BearerChange, BearerSpec};

/// Layer 2 of a radio with a dedicated channel. The contract is that of `umts::Bearer` and
/// `lte_l2::LtePipe`.
pub trait Layer2 {
    /// The events that its RLC reports.
    type Event: Copy;

    /// When a direction's next TTI with something to send starts; `None` while idle.
    fn next_tti(&self, direction: Direction) -> Option<Instant>;
    /// When blocks of a direction arrive next.
    fn next_arrival(&self, direction: Direction) -> Option<Instant>;
    /// When a timer of either end expires next.
    fn next_timer(&self) -> Option<Instant>;
    /// Takes in `packet` (above 0 bytes) at `end`, to be delivered at the other end.
    fn push(&mut self, now: Instant, end: End, packet: Sdu, out: &mut BearerOutput<Self::Event>);
    /// Starts a TTI of `direction`.
    fn on_tti(&mut self, now: Instant, direction: Direction, out: &mut BearerOutput<Self::Event>);
    /// Receives blocks of `direction` that have arrived.
    fn on_arrival(&mut self, now: Instant, direction: Direction, out: &mut BearerOutput<Self::Event>);
    /// Processes the timers of both ends that have expired.
    fn on_timer(&mut self, now: Instant, out: &mut BearerOutput<Self::Event>);
    /// Packets inside that `end` has pushed.
    fn inside(&self, end: End) -> usize;
    /// Counters of the RLC entity of an end.
    fn rlc_stats(&self, end: End) -> RlcStats;
    /// Counters of a direction's channel.
    fn channel_stats(&self, direction: Direction) -> DchStats;
    /// Applies the parameters of `spec`, which is of the same radio, that may change during a run.
    fn change(&mut self, spec: &BearerSpec);
    /// Starts to record where SDUs are.
    fn note_journeys(&mut self);
    /// The records of where SDUs are; `None` unless they are kept.
    fn journeys(&mut self) -> Option<&mut Journeys>;
    /// RLC's mode.
    fn mode(&self) -> Mode;
    /// Starts to list PDUs that are sent and received in the output.
    fn note_pdus(&mut self);
    /// The octets that a capture has before a PDU that is sent in `direction`, of the UE with this
    /// number.
    fn prefix(&self, direction: Direction, ue: u16) -> Vec<u8>;
    /// The description of its PDUs in a capture.
    fn capture_note(&self) -> &'static str {
        ""
    }
    /// An event's name in the table `events`, and a number that belongs to it.
    fn describe(event: Self::Event) -> (&'static str, Option<u32>);
}

/// The methods of [`Layer2`] that call one of the bearer's type with the same name and arguments.
macro_rules! passed_on {
    () => {
        #[inline]
        fn next_tti(&self, direction: Direction) -> Option<Instant> {
            self.next_tti(direction)
        }
        #[inline]
        fn next_arrival(&self, direction: Direction) -> Option<Instant> {
            self.next_arrival(direction)
        }
        #[inline]
        fn next_timer(&self) -> Option<Instant> {
            self.next_timer()
        }
        #[inline]
        fn on_tti(&mut self, now: Instant, direction: Direction, out: &mut BearerOutput<Self::Event>) {
            self.on_tti(now, direction, out);
        }
        #[inline]
        fn on_arrival(&mut self, now: Instant, direction: Direction, out: &mut BearerOutput<Self::Event>) {
            self.on_arrival(now, direction, out);
        }
        fn on_timer(&mut self, now: Instant, out: &mut BearerOutput<Self::Event>) {
            self.on_timer(now, out);
        }
        fn inside(&self, end: End) -> usize {
            self.inside(end)
        }
        fn note_journeys(&mut self) {
            self.note_journeys();
        }
        fn journeys(&mut self) -> Option<&mut Journeys> {
            self.journeys()
        }
        fn note_pdus(&mut self) {
            self.note_pdus();
        }
    };
}
pub(super) use passed_on;

/// A bearer. Its entries are the ends, the network's first.
pub struct BearerAccess<L: Layer2> {
    name: Box<str>,
    layer2: L,
    /// Node at the network's end and at the UE's.
    nodes: [NodeId; 2],
    mtu: u32,
    tti: [Wake; 2],
    arrival: [Wake; 2],
    timer: Wake,
    output: BearerOutput<L::Event>,
    /// For captures: its number, and the points at which PDUs are sent and received.
    observed: Option<(u16, [Option<Point>; 2])>,
}

/// Offset of the number of a UE for sent PDUs: Wireshark separates the PDUs of different UEs, and
/// by this offset sent PDUs from received ones.
const SENT: u16 = 0x8000;

/// The entry for packets at `end`.
pub(super) const fn entry(end: End) -> Entry {
    Entry(end as u16)
}

impl<L: Layer2> Adapter for BearerAccess<L> {
    fn mtu(&self, _: Entry) -> u32 {
        self.mtu
    }

    #[inline(never)]
    fn enter(&mut self, now: Instant, at: Entry, item: Item, _: NodeId, out: &mut AccessOutput) {
        let end = if at == entry(End::Network) { End::Network } else { End::Ue };
        let sdu = Sdu::new(item.id, item.size).with_ecn(item.ecn);
        if out.stages {
            out.stage(item.id, now, Stage::RlcQueue, 0);
            let journeys = self.layer2.journeys();
            if let Some(journeys) = journeys {
                journeys.enter(item.id);
            }
        }
        self.layer2.push(now, end, sdu, &mut self.output);
        self.pass_on(now, out);
    }

    #[inline(never)]
    fn on_time(&mut self, now: Instant, clock: Clock, out: &mut AccessOutput) -> bool {
        let due = match clock {
            Clock::Tti(i) => self.tti[usize::from(i)].take(now),
            Clock::Arrival(i) => self.arrival[usize::from(i)].take(now),
            Clock::Timer => self.timer.take(now),
        };
        if due {
            match clock {
                Clock::Tti(i) => self.layer2.on_tti(now, direction(i), &mut self.output),
                Clock::Arrival(i) => self.layer2.on_arrival(now, direction(i), &mut self.output),
                Clock::Timer => self.layer2.on_timer(now, &mut self.output),
            }
            self.pass_on(now, out);
        }
        due
    }

    #[inline(never)]
    fn set_clocks(&mut self, clocks: &mut Clocks<'_>) {
        for (i, direction) in [0, 1].into_iter().zip(Direction::BOTH) {
            let (tti, arrival) = (self.layer2.next_tti(direction), self.layer2.next_arrival(direction));
            clocks.ensure(&mut self.tti[direction.index()], Clock::Tti(i), tti);
            clocks.ensure(&mut self.arrival[direction.index()], Clock::Arrival(i), arrival);
        }
        clocks.ensure(&mut self.timer, Clock::Timer, self.layer2.next_timer());
    }

    fn packets_inside(&self) -> usize {
        self.layer2.inside(End::Network) + self.layer2.inside(End::Ue)
    }

    fn place(&self, _: u32) -> &str {
        &self.name
    }

    fn table(&self) -> Option<&str> {
        Some(&self.name)
    }

    fn change(&mut self, _: Instant, change: &AccessChange, _: &mut AccessOutput) -> bool {
        let AccessChange::Bearer(BearerChange { name, spec }) = change else { return false };
        let mine = *self.name == **name;
        if mine {
            self.layer2.change(spec);
        }
        mine
    }

    fn note_stages(&mut self) {
        self.layer2.note_journeys();
    }

    fn end_stages(&mut self, now: Instant, out: &mut AccessOutput) {
        if let Some(journeys) = self.layer2.journeys() {
            journeys.end(now);
            journeys.drain().for_each(|n| out.stage(n.id, n.at, n.stage.into(), 0));
        }
    }

    fn observe(&mut self, number: u32, open: &mut Open<'_>) {
        let ue = number as u16 & !SENT;
        let [sent, received] = BEARER_INTERFACES.map(|point| format!("{}.{point}", self.name));
        let note = self.layer2.capture_note();
        let what = |what, ue| format!("PDUs of RLC {what}, both directions; UE {ue}{note}");
        let points = [
            open(&sent, what("as they are sent", ue | SENT), LinkType::UpperPdu),
            open(&received, what("that have arrived", ue), LinkType::UpperPdu),
        ];
        if points.iter().any(Option::is_some) {
            self.observed = Some((ue, points));
            self.layer2.note_pdus();
        }
    }

    /// Writes rows of the tables `rlc` and `mac`.
    fn sample(&mut self, now: Instant, probes: &mut Probes, _: &mut AccessOutput) {
        let Probes { rlc, mac, .. } = probes;
        for direction in Direction::BOTH {
            if let Some(table) = rlc {
                rlc_row(table, now, &self.name, direction, |end| self.layer2.rlc_stats(end));
            }
            if let Some(table) = mac {
                let dch = self.layer2.channel_stats(direction);
                table.push(&tables::Mac {
                    time_s: now.as_secs_f64(),
                    bearer: &self.name,
                    direction: direction.name(),
                    ttis: dch.ttis,
                    blocks_sent: dch.blocks_sent,
                    blocks_lost: dch.blocks_lost,
                });
            }
        }
    }
}

impl<L: Layer2> BearerAccess<L> {
    /// Creates the bearer of the table `[bearer.NAME]`; `nodes` are those of the network's end and
    /// the UE's.
    pub fn new(name: &str, layer2: L, nodes: [NodeId; 2], mtu: u32) -> BearerAccess<L> {
        BearerAccess {
            name: name.into(),
            layer2,
            nodes,
            mtu,
            tti: Default::default(),
            arrival: Default::default(),
            timer: Wake::default(),
            output: BearerOutput::default(),
            observed: None,
        }
    }

    /// Passes recorded PDUs to the capture.
    #[cold]
    fn hand_over(&mut self, out: &mut AccessOutput) {
        let Some((ue, points)) = self.observed else { return };
        for NotedPdu { at, direction, outcome, again, octets } in self.output.noted.drain(..) {
            let (point, ue) =
                if outcome == PduOutcome::Received { (points[1], ue) } else { (points[0], ue | SENT) };
            out.steps.push(Step::Frame(Box::new(Frame {
                point,
                at,
                direction: match direction {
                    Direction::Downlink => observe::Direction::Outbound,
                    Direction::Uplink => observe::Direction::Inbound,
                },
                prefix: self.layer2.prefix(direction, ue),
                octets: octets.of_entity(direction.index() as u64),
                comment: match (again, outcome) {
                    (false, PduOutcome::Lost) => "lost on the air",
                    (true, PduOutcome::Lost) => "retransmission, lost on the air",
                    (true, _) => "retransmission",
                    (false, _) => "",
                }
                .to_owned(),
            })));
        }
    }

    /// Passes on the output. Most calls have no output: an empty list is not cleared.
    fn pass_on(&mut self, now: Instant, out: &mut AccessOutput) {
        // This comes first, because later steps may remove packets.
        if !self.output.noted.is_empty() {
            self.hand_over(out);
        }
        if out.stages {
            self.pass_stages(now, out);
        }
        if !self.output.events.is_empty() {
            for (end, event) in self.output.events.drain(..) {
                out.steps.push(rlc_event(&self.name, end, L::describe(event)));
            }
        }
        if !self.output.dropped.is_empty() {
            let now = self.output.dropped.drain(..);
            out.steps.extend(now.map(|(_, sdu, cause)| Step::Drop {
                at: None,
                packet: sdu.id,
                cause: Cause::Other(cause.name()),
                place: 0,
            }));
        }
        if !self.output.marked.is_empty() {
            out.steps.extend(self.output.marked.drain(..).map(|(_, sdu)| Step::Mark { packet: sdu.id }));
        }
        if !self.output.delivered.is_empty() {
            let nodes = self.nodes;
            out.steps.extend(self.output.delivered.drain(..).map(|(end, sdu)| Step::Deliver {
                to: nodes[end.index()],
                packet: sdu.id,
                ecn: None,
            }));
        }
    }
}

impl<L: Layer2> BearerAccess<L> {
    /// Passes on the stages of SDUs.
    #[cold]
    fn pass_stages(&mut self, now: Instant, out: &mut AccessOutput) {
        let mode = self.layer2.mode();
        let Some(journeys) = self.layer2.journeys() else { return };
        let BearerOutput { delivered, dropped, .. } = &self.output;
        for (end, sdu, _) in dropped {
            pass_pdus((sdu.id, 0), mode, *end, journeys.missing(sdu.id), out);
        }
        let gone = delivered.iter().map(|(_, sdu)| sdu.id).chain(dropped.iter().map(|(_, sdu, _)| sdu.id));
        gone.for_each(|id| journeys.leave(now, id));
        journeys.drain().for_each(|n| out.stage(n.id, n.at, n.stage.into(), 0));
    }
}

/// The PDUs that contained a packet which is dropped at a place after an end has sent it: the lost
/// PDUs, and if none was lost, those in transmission or without a report.
pub fn pass_pdus(
    (packet, place): (PacketId, u32),
    mode: Mode,
    end: End,
    missing: &[Missing],
    out: &mut AccessOutput,
) {
    let some_lost = missing.iter().any(|m| m.lost);
    out.steps.extend(missing.iter().filter(|m| m.lost == some_lost).map(|m| {
        Step::Pdu(Box::new(LostPdu {
            packet,
            place,
            layer: mode.rlc_name(),
            direction: end.sends().name(),
            sn: m.sn,
            octets: Some(m.span),
            sent: Some(m.at),
            sends: m.sends,
            lost: m.lost,
        }))
    }));
}

const fn direction(i: u8) -> Direction {
    Direction::BOTH[i as usize]
}

/// The event that RLC reports at an end of the bearer `name`.
#[cold]
pub fn rlc_event(name: &str, end: End, (kind, value): (&'static str, Option<u32>)) -> Step {
    let side = match end {
        End::Network => "network",
        End::Ue => "ue",
    };
    AccessEvent { source: format!("bearer/{name}"), kind, value: value.map(f64::from), detail: side.into() }
        .step()
}

/// A row of the `rlc` table: the counters of the sender and the receiver of `direction`.
pub fn rlc_row(
    table: &mut Table<tables::Rlc<'static>>,
    now: Instant,
    bearer: &str,
    direction: Direction,
    stats: impl Fn(End) -> RlcStats,
) {
    let (sender, receiver) = (stats(direction.sender()), stats(direction.sender().peer()));
    table.push(&tables::Rlc {
        time_s: now.as_secs_f64(),
        bearer,
        direction: direction.name(),
        queue_sdus: sender.queue_sdus,
        queue_bytes: sender.queue_bytes,
        sdus_in: sender.sdus_in,
        sdus_out: receiver.sdus_out,
        sdus_discarded: sender.sdus_discarded,
        pdus_new: sender.pdus_new,
        pdus_retx: sender.pdus_retx,
        status_pdus: receiver.status_pdus,
        polls: sender.polls,
        window_used: sender.window_used,
        resets: sender.resets,
        marked: sender.marked,
    });
}
