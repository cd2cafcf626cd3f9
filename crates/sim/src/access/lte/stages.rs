//! Stages of packets between the eNBs and their UEs.
//!
//! The records of the layers give the times at which octets of SDUs are transmitted and arrive. The
//! cause for which a packet of the uplink waits before its first octet is sent follows from the
//! trace: for the answer to a scheduling request, for a grant after the answer, or for the
//! transmission of earlier packets.

use std::collections::BTreeMap;

use lasthop_bearer::{BearerNote, BearerStage, End, Sdu};
use lasthop_lte::network::trace::{Step as Act, TraceLink, TraceRecord};
use lasthop_lte::network::{MobilityEvent, NetworkEvent};
use lasthop_lte::phy::TTI;
use lasthop_units::{BearerId, Id, Instant, PacketId, UeId};

use super::LteAccess;
use crate::access::bearer::pass_pdus;
use crate::access::lte_rlc::mode;
use crate::access::{AccessOutput, Stage};

/// The state of packets and UEs.
#[derive(Default)]
pub struct Stages {
    inside: BTreeMap<PacketId, Inside>,
    ues: BTreeMap<UeId, UeState>,
}

/// A packet between its entry and its end.
#[derive(Clone, Copy)]
struct Inside {
    ue: UeId,
    /// Its bearer, as the number of the place in the row.
    place: u32,
    /// True if sent by a UE.
    by_ue: bool,
    /// The destination of a sidelink to which it is sent, and the number of its receiver in a
    /// group.
    destination: Option<(u32, u32)>,
    /// When it entered, or the UE's link was last re-established.
    since: Instant,
    /// True if some of it was transmitted.
    sent: bool,
    /// True if it is sent over a sidelink, and not in blocks of the uplink.
    direct: bool,
}

/// The state of a UE.
#[derive(Clone, Copy, Default)]
struct UeState {
    /// True if no cell serves it.
    interrupted: bool,
    /// True if it has sent a request, and no grant followed.
    asked: bool,
    /// When its last request was answered.
    answered: Option<Instant>,
    /// When its connection was last set up.
    connected: Option<Instant>,
    /// The TTI of its last transport block of the uplink, and that of the one before it.
    uplink: [Option<Instant>; 2],
    /// The same for its sidelinks.
    sidelink: [Option<Instant>; 2],
}

impl Stages {
    /// Records a packet that enters at an end of a bearer.
    pub fn enter(
        &mut self,
        now: Instant,
        ue: UeId,
        (by_ue, destination): (bool, Option<(u32, u32)>),
        place: u32,
        id: PacketId,
        out: &mut AccessOutput,
    ) {
        let state = *self.state(ue);
        let inside = Inside { ue, place, by_ue, destination, since: now, sent: false, direct: false };
        self.inside.insert(id, inside);
        let stage = if state.interrupted { Stage::Interruption } else { Stage::RlcQueue };
        out.stage(id, now, stage, place);
    }

    fn state(&mut self, ue: UeId) -> &mut UeState {
        self.ues.entry(ue).or_default()
    }

    /// Records a request of a UE, or an answer.
    fn record_request(&mut self, record: &TraceRecord) {
        if record.link == TraceLink::Downlink {
            return;
        }
        let state = self.ues.entry(record.ue).or_default();
        match record.step {
            Act::Request => state.asked = true,
            Act::Grant if state.asked => {
                state.asked = false;
                state.answered = Some(record.tti.start(TTI));
            }
            // A block without octets of a packet, such as the first one with a buffer status
            // report, was not filled with other packets.
            Act::Data if !record.packets.is_empty() => {
                let (at, direct) = (Some(record.tti.start(TTI)), record.link == TraceLink::Sidelink);
                let blocks = if direct { &mut state.sidelink } else { &mut state.uplink };
                if blocks[0] < at {
                    *blocks = [at, blocks[0]];
                }
                for id in &record.packets {
                    if let Some(p) = self.inside.get_mut(id) {
                        p.direct = direct;
                    }
                }
            }
            _ => {}
        }
    }

    /// Records an event of a UE's connection.
    fn event(&mut self, now: Instant, ue: UeId, event: &NetworkEvent, out: &mut AccessOutput) {
        use MobilityEvent::{Complete, Failed, RadioLinkFailure, Reestablished, Started};
        let interrupted = match event {
            NetworkEvent::Mobility { event: Started | RadioLinkFailure | Failed, .. } => true,
            NetworkEvent::Mobility { event: Complete | Reestablished, .. } => false,
            NetworkEvent::Connected(_) => {
                self.state(ue).connected = Some(now);
                false
            }
            _ => return,
        };
        let before = std::mem::replace(&mut self.state(ue).interrupted, interrupted);
        if before == interrupted {
            return;
        }
        for (id, p) in self.inside.iter_mut().filter(|(_, p)| p.ue == ue) {
            let stage = if interrupted { Stage::Interruption } else { Stage::RlcQueue };
            p.since = now;
            out.stage(*id, now, stage, p.place);
        }
    }

    /// Records, at the end of the run, the stages of packets of which no octet was transmitted.
    fn end(&self, now: Instant, out: &mut AccessOutput) {
        for (id, p) in self.inside.iter().filter(|(_, p)| p.by_ue && !p.sent) {
            if let Some(state) = self.ues.get(&p.ue).filter(|state| !state.interrupted) {
                let last = if state.asked { Stage::SchedulingRequest } else { Stage::GrantWait };
                wait_of_uplink(*id, *p, state, (now, last), out);
            }
        }
    }

    /// Records that a packet is forwarded to another eNB.
    fn forward(&mut self, now: Instant, id: PacketId, out: &mut AccessOutput) {
        if let Some(p) = self.inside.get(&id) {
            out.stage(id, now, Stage::Forwarding, p.place);
        }
    }

    /// Processes a record of the layers.
    fn note(&mut self, note: BearerNote, out: &mut AccessOutput) {
        let Some(p) = self.inside.get_mut(&note.id) else { return };
        let state = self.ues.entry(p.ue).or_default();
        if state.interrupted {
            // The forwarded packet has arrived at the target eNB.
            if note.stage == BearerStage::Queue {
                out.stage(note.id, note.at, Stage::Interruption, p.place);
            }
            return;
        }
        let (packet, before) = (note.id, *p);
        if note.stage == BearerStage::Transmission && !p.sent {
            p.sent = true;
            if p.by_ue {
                wait_of_uplink(packet, before, state, (note.at, Stage::GrantWait), out);
            }
        }
        out.stage(packet, note.at, note.stage.into(), before.place);
    }
}

/// Adds the stages in which a packet of the uplink waited until its first octet was transmitted, or
/// the run ended, at `until`; `last` is the stage of the rest.
fn wait_of_uplink(
    id: PacketId,
    p: Inside,
    ue: &UeState,
    (until, last): (Instant, Stage),
    out: &mut AccessOutput,
) {
    let mut since = p.since;
    if let Some(connected) = ue.connected.filter(|at| since < *at && *at <= until) {
        out.stage(id, since, Stage::RandomAccess, p.place);
        since = connected;
    }
    let [newest, before] = if p.direct { ue.sidelink } else { ue.uplink };
    let block = if newest == Some(until) { before } else { newest };
    if let Some(served) = block.map(|at| at + TTI).filter(|served| since < *served) {
        // The UE had blocks, and filled them with earlier packets.
        out.stage(id, since, Stage::RlcQueue, p.place);
        since = served.min(until);
    }
    if let Some(answered) = ue.answered.filter(|at| since < *at && *at <= until) {
        out.stage(id, since, Stage::SchedulingRequest, p.place);
        since = answered;
    }
    out.stage(id, since, last, p.place);
}

impl LteAccess {
    /// Records a packet that enters at an end of `bearer`, or that is sent to a destination of a
    /// sidelink and the receiver of a group with this number.
    #[cold]
    pub(super) fn note_entry(
        &mut self,
        now: Instant,
        (ue, end): (UeId, End),
        (bearer, direct): (BearerId, Option<(u32, u32)>),
        id: PacketId,
        out: &mut AccessOutput,
    ) {
        let entrance = |(to, member)| self.network.view().sidelinks().entrance(to, member);
        let place = direct.and_then(entrance).unwrap_or(bearer).index() as u32;
        self.stages.enter(now, ue, (end == End::Ue, direct), place, id, out);
        if let Some(journeys) = self.network.journeys() {
            journeys.enter(id);
        }
    }

    /// Records mode changes of sidelinks: packets that PDCP keeps start again in another bearer.
    #[cold]
    pub(super) fn note_switch(&mut self, now: Instant, out: &mut AccessOutput) {
        let LteAccess { stages, network, .. } = self;
        for (id, p) in &mut stages.inside {
            let entrance = |(to, member)| network.view().sidelinks().entrance(to, member);
            let Some(bearer) = p.destination.and_then(entrance) else { continue };
            let place = bearer.index() as u32;
            if place != p.place {
                (p.place, p.since, p.sent, p.direct) = (place, now, false, false);
                out.stage(*id, now, Stage::RlcQueue, place);
                if let Some(journeys) = network.journeys() {
                    journeys.enter(*id);
                }
            }
        }
    }

    /// Passes on, at the end of the run, the stages of packets that have not arrived.
    #[cold]
    pub(super) fn pass_last_stages(&mut self, now: Instant, out: &mut AccessOutput) {
        let LteAccess { stages, network, .. } = self;
        let Some(journeys) = network.journeys() else { return };
        journeys.end(now);
        journeys.drain().for_each(|note| stages.note(note, out));
        stages.end(now, out);
    }

    /// Passes on the stages of packets. Called before the output of the network is passed on.
    #[cold]
    pub(super) fn pass_stages(&mut self, now: Instant, records: &[TraceRecord], out: &mut AccessOutput) {
        let LteAccess { stages, network, output, .. } = self;
        records.iter().for_each(|record| stages.record_request(record));
        for (bearer, end, sdu, _) in &output.dropped {
            let mode = mode(network.view().layers(*bearer).mode());
            let Some(journeys) = network.journeys() else { return };
            pass_pdus((sdu.id, bearer.index() as u32), mode, *end, journeys.missing(sdu.id), out);
        }
        let Some(journeys) = network.journeys() else { return };
        let gone = |sdu: &Sdu| sdu.id;
        let delivered = output.delivered.iter().map(|(_, _, sdu)| gone(sdu));
        let gone: Vec<PacketId> =
            delivered.chain(output.dropped.iter().map(|(_, _, sdu, _)| gone(sdu))).collect();
        gone.iter().for_each(|id| journeys.leave(now, *id));
        journeys.drain().for_each(|note| stages.note(note, out));
        for (ue, event) in &output.events {
            stages.event(now, *ue, event, out);
        }
        for (_, sdu) in &output.forwarded {
            stages.forward(now, sdu.id, out);
        }
        for id in gone {
            stages.inside.remove(&id);
        }
    }
}
