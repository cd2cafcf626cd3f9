//! A UMTS radio bearer: PDCP and RLC at both ends, a dedicated channel per direction, and the
//! account of SDUs.

mod open_sdus;

use lasthop_units::{Instant, Octets, PacketId, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::pdcp::{PdcpConfig, PdcpHeader, PdcpPdu};
use crate::rlc::codec;
use crate::rlc::pdu::Pdu;
use crate::rlc::segment::Segment;
use crate::rlc::{Output, RlcEvent};
use crate::rlc::{Rlc, RlcConfig};
use lasthop_bearer::dch::{Dch, DchConfig, DchPatch};
use lasthop_bearer::{BearerOutput, Direction, DropCause, End, Journeys, NotedPdu, PduOutcome, Piece, Sdu};
use lasthop_bearer::{ConfigError, Warning, within};
use open_sdus::OpenSdus;

/// A UMTS dedicated radio bearer. Defaults: interactive, 384 kbit/s down and 64 kbit/s up (TS
/// 34.108 clause 6.10), acknowledged mode.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BearerConfig {
    /// From the network to the terminal.
    pub downlink: DchConfig,
    /// From the terminal to the network. Unset keys have the defaults of the 64 kbit/s uplink: 4
    /// blocks every 20 ms.
    #[serde(deserialize_with = "over_uplink_defaults")]
    pub uplink: DchConfig,
    /// PDCP at both ends.
    pub pdcp: PdcpConfig,
    /// RLC at both ends.
    pub rlc: RlcConfig,
}

impl Default for BearerConfig {
    fn default() -> Self {
        BearerConfig {
            downlink: DchConfig::default(),
            uplink: DchConfig::uplink_64k(),
            pdcp: PdcpConfig::default(),
            rlc: RlcConfig::default(),
        }
    }
}

impl BearerConfig {
    /// Refuses invalid values, naming the key; warns of known pitfalls.
    pub fn validate(&self) -> Result<Vec<Warning>, ConfigError> {
        let mut warnings = Vec::new();
        within("downlink", self.downlink.validate(), &mut warnings)?;
        within("uplink", self.uplink.validate(), &mut warnings)?;
        within("pdcp", self.pdcp.validate(), &mut warnings)?;
        within("rlc", self.rlc.validate(), &mut warnings)?;
        Ok(warnings)
    }
}

/// A radio bearer between two ends.
///
/// The world pushes packets and calls at the moments that [`next_tti`](Bearer::next_tti) (class
/// Tti), [`next_arrival`](Bearer::next_arrival) (class Arrival) and
/// [`next_timer`](Bearer::next_timer) (class Timer) return; after every call it reads them again.
/// An early call is harmless. An idle bearer has no events.
#[derive(Clone, Debug)]
pub struct Bearer {
    header: PdcpHeader,
    /// True if PDUs are recorded.
    notes: bool,
    /// By end: its RLC entity.
    rlc: [Rlc; 2],
    /// By direction: its channel.
    dch: [Dch<Pdu>; 2],
    /// By sending end: its account of SDUs.
    open_sdus: [OpenSdus; 2],
    /// Unacknowledged or transparent mode: SDUs in lost blocks are lost.
    lossy: bool,
    /// By end: when its next timer expires; [`Instant::MAX`] for none.
    timers: [Instant; 2],
    pdus: Vec<Pdu>,
    scratch: Output,
    /// Records of where SDUs are, if they were requested.
    journeys: Option<Box<Journeys>>,
}

impl Bearer {
    /// Creates the bearer number `entity` of the run `seed`. `cfg` must be valid.
    pub fn new(cfg: &BearerConfig, seed: u64, entity: u64) -> Self {
        let rlc = |am, down: &DchConfig| Rlc::new(cfg.rlc.mode, am, cfg.rlc.um, down.block_payload);
        Bearer {
            header: cfg.pdcp.header,
            notes: false,
            rlc: [rlc(cfg.rlc.am, &cfg.downlink), rlc(cfg.rlc.am_ue.unwrap_or(cfg.rlc.am), &cfg.uplink)],
            dch: [
                Dch::new(cfg.downlink, seed, entity.wrapping_mul(2)),
                Dch::new(cfg.uplink, seed, entity.wrapping_mul(2) | 1),
            ],
            open_sdus: [OpenSdus::default(), OpenSdus::default()],
            lossy: cfg.rlc.mode != crate::rlc::RlcMode::Am,
            timers: [Instant::MAX; 2],
            pdus: Vec::new(),
            scratch: Output::default(),
            journeys: None,
        }
    }

    /// Starts to list PDUs that are sent and received in the output.
    pub fn note_pdus(&mut self) {
        self.notes = true;
    }
    /// The PDCP header before each packet.
    pub const fn header(&self) -> PdcpHeader {
        self.header
    }
    /// The RLC entity of an end.
    pub const fn rlc(&self, end: End) -> &Rlc {
        &self.rlc[end.index()]
    }
    /// The channel of a direction.
    pub const fn dch(&self, direction: Direction) -> &Dch<Pdu> {
        &self.dch[direction.index()]
    }
    /// Starts to record where SDUs are.
    pub fn note_journeys(&mut self) {
        self.journeys = Some(Box::default());
    }
    /// Returns the records of where SDUs are; `None` unless they are kept.
    #[inline]
    pub fn journeys(&mut self) -> Option<&mut Journeys> {
        self.journeys.as_deref_mut()
    }
    /// Packets inside that `end` has pushed.
    pub fn inside(&self, end: End) -> usize {
        self.open_sdus[end.index()].len()
    }

    /// When a direction's next TTI with something to send starts; `None` while idle.
    #[inline]
    pub const fn next_tti(&self, direction: Direction) -> Option<Instant> {
        self.dch[direction.index()].next_tti()
    }
    /// When blocks of a direction arrive next.
    #[inline]
    pub fn next_arrival(&self, direction: Direction) -> Option<Instant> {
        self.dch[direction.index()].next_arrival()
    }
    /// When a timer of either end expires next.
    #[inline]
    pub fn next_timer(&self) -> Option<Instant> {
        Some(self.timers[0].min(self.timers[1])).filter(|at| *at < Instant::MAX)
    }

    /// Takes in a packet of `size` bytes (above 0) at `end`, to be delivered at the other end.
    pub fn push<E: From<RlcEvent>>(
        &mut self,
        now: Instant,
        end: End,
        id: PacketId,
        size: u32,
        out: &mut BearerOutput<E>,
    ) {
        let serial = self.open_sdus[end.index()].enter(id, size);
        let sdu = Sdu { serial, ..Sdu::new(id, size + self.header.size().0 as u32) };
        self.rlc[end.index()].push_sdu(now, sdu, &mut self.scratch);
        self.settle(now, end, out);
    }

    /// Starts a TTI of `direction`: RLC fills its blocks.
    pub fn on_tti<E: From<RlcEvent>>(
        &mut self,
        now: Instant,
        direction: Direction,
        out: &mut BearerOutput<E>,
    ) {
        let dch = &mut self.dch[direction.index()];
        if dch.next_tti() != Some(now) {
            return;
        }
        let (end, blocks) = (direction.sender(), dch.config().blocks as usize);
        let first_new = match &self.rlc[end.index()] {
            Rlc::Am(am) if self.notes => am.vt_s(),
            _ => 0,
        };
        self.rlc[end.index()].pull(now, blocks, &mut self.pdus, &mut self.scratch);
        if self.notes {
            for (pdu, index) in self.pdus.iter().zip(0..) {
                let outcome = if dch.will_lose(now, index) { PduOutcome::Lost } else { PduOutcome::Sent };
                let again = matches!(pdu, Pdu::Data(data) if data.count() < first_new);
                let octets = octets(pdu, dch.config(), self.header);
                out.noted.push(NotedPdu { at: now, direction, outcome, again, octets });
            }
        }
        let due = now + dch.config().tti + dch.config().iub_delay;
        if let Some(journeys) = &mut self.journeys {
            for piece in self.pdus.iter().flat_map(pieces_of) {
                journeys.sent(now, end.index() as u32, &piece, due);
            }
        }
        let (open_sdus, lossy) = (&mut self.open_sdus[end.index()], self.lossy);
        let journeys = &mut self.journeys;
        dch.send(now, &mut self.pdus, |pdu| {
            if let Some(journeys) = journeys {
                pieces_of(&pdu).for_each(|piece| journeys.given_up(due, &piece));
            }
            if lossy {
                report_lost(&pdu, end, open_sdus, out);
            }
        });
        self.settle(now, end, out);
    }

    /// Receives the blocks of `direction` that have arrived.
    pub fn on_arrival<E: From<RlcEvent>>(
        &mut self,
        now: Instant,
        direction: Direction,
        out: &mut BearerOutput<E>,
    ) {
        let end = direction.sender().peer();
        let dch = &mut self.dch[direction.index()];
        while let Some(mut pdus) = dch.arrived(now) {
            for pdu in pdus.drain(..) {
                if self.notes {
                    let octets = octets(&pdu, dch.config(), self.header);
                    out.noted.push(NotedPdu {
                        at: now,
                        direction,
                        outcome: PduOutcome::Received,
                        again: false,
                        octets,
                    });
                }
                if let Some(journeys) = &mut self.journeys {
                    pieces_of(&pdu).for_each(|piece| journeys.arrived(now, &piece));
                }
                self.rlc[end.index()].receive(now, pdu, &mut self.scratch);
            }
            dch.recycle(pdus);
        }
        self.settle(now, end, out);
    }

    /// Processes the timers of both ends that have expired.
    pub fn on_timer<E: From<RlcEvent>>(&mut self, now: Instant, out: &mut BearerOutput<E>) {
        for end in [End::Network, End::Ue] {
            if self.timers[end.index()] <= now {
                self.rlc[end.index()].on_time(now, &mut self.scratch);
                self.settle(now, end, out);
            }
        }
    }

    /// Sets a new block error rate, in force from the next TTI.
    pub fn set_bler(&mut self, direction: Direction, bler: Ratio) {
        self.dch[direction.index()].set_bler(bler);
    }
    /// Sets a new number of blocks per TTI (at most 64), in force from the next TTI.
    pub fn set_blocks(&mut self, now: Instant, direction: Direction, blocks: u32) {
        self.dch[direction.index()].set_blocks(blocks);
        self.wake(now, direction.sender());
    }

    /// Passes on the output of `end`: SDUs that it delivers were pushed by its peer, those that it
    /// drops were pushed by itself (in UM the receiver drops those of its peer).
    fn settle<E: From<RlcEvent>>(&mut self, now: Instant, end: End, out: &mut BearerOutput<E>) {
        if self.scratch.is_empty() {
            return self.wake(now, end);
        }
        let peer = end.peer();
        for sdu in self.scratch.delivered.drain(..) {
            let gone = self.open_sdus[peer.index()].leave(sdu.serial);
            debug_assert!(gone.is_some(), "an SDU is delivered twice, or after it was dropped: {sdu:?}");
            out.delivered.extend(gone.map(|sdu| (end, sdu)));
        }
        for (sdu, cause) in self.scratch.dropped.drain(..) {
            let sender = if cause == DropCause::RadioLoss { peer } else { end };
            out.dropped
                .extend(self.open_sdus[sender.index()].leave(sdu.serial).map(|sdu| (sender, sdu, cause)));
        }
        let mut failed = false;
        for event in self.scratch.events.drain(..) {
            failed |= event == RlcEvent::Unrecoverable;
            out.events.push((end, event.into()));
        }
        if failed {
            self.reestablish(now, out);
        }
        self.wake(now, end);
    }

    fn wake(&mut self, now: Instant, end: End) {
        let has_data = self.rlc[end.index()].has_data(now);
        self.dch[end.sends().index()].wake(now, has_data);
        self.timers[end.index()] = self.rlc[end.index()].poll_at(now).unwrap_or(Instant::MAX);
    }

    /// Re-establishes the bearer after an unrecoverable error, as RRC does: both RLC entities
    /// return to their initial state, blocks in transmission are lost, SDUs in transmission are
    /// dropped.
    fn reestablish<E: From<RlcEvent>>(&mut self, now: Instant, out: &mut BearerOutput<E>) {
        for direction in Direction::BOTH {
            self.dch[direction.index()].cut(|_| ());
        }
        for end in [End::Network, End::Ue] {
            if let Rlc::Am(entity) = &mut self.rlc[end.index()] {
                entity.reestablish(&mut self.scratch);
            }
            for (sdu, cause) in self.scratch.dropped.drain(..) {
                let gone = self.open_sdus[end.index()].leave(sdu.serial);
                out.dropped.extend(gone.map(|sdu| (end, sdu, cause)));
            }
            self.wake(now, end);
        }
    }
}

/// The octets of SDUs in a PDU.
fn pieces_of(pdu: &Pdu) -> impl Iterator<Item = Piece> {
    let (segments, whole, sn) = match pdu {
        Pdu::Data(pdu) => (&pdu.segments[..], None, Some(pdu.sn.get())),
        Pdu::Um(pdu) => (&pdu.segments[..], None, Some(pdu.sn.get())),
        Pdu::Tm(sdu) => (&[][..], Some(Piece { sdu: *sdu, offset: 0, len: sdu.size(), sn: None }), None),
        Pdu::Status(_) | Pdu::Reset(_) | Pdu::ResetAck(_) => (&[][..], None, None),
    };
    let piece = move |s: &Segment| Piece { sdu: s.sdu, offset: s.offset, len: u32::from(s.len), sn };
    segments.iter().map(piece).chain(whole)
}

/// The octets of a PDU on a channel. The PDCP SeqNum PDU has the number of the SDU (TS 25.323
/// clause 5.6.1.1: from 0 on, incremented for each SDU).
#[cold]
fn octets(pdu: &Pdu, channel: &DchConfig, header: PdcpHeader) -> Octets {
    codec::octets(pdu, channel.block_payload.0 as u32, |sdu| {
        let mut octets = Vec::new();
        match header {
            PdcpHeader::None => {}
            PdcpHeader::Pid => PdcpPdu::Data { pid: 0 }.encode(&mut octets),
            PdcpHeader::Sequence => PdcpPdu::SeqNum { pid: 0, sn: sdu.serial as u16 }.encode(&mut octets),
        }
        octets
    })
}

/// Reports SDUs without retransmission that are lost with their block.
fn report_lost<E: From<RlcEvent>>(pdu: &Pdu, end: End, open_sdus: &mut OpenSdus, out: &mut BearerOutput<E>) {
    let mut lost = |serial| {
        out.dropped.extend(open_sdus.leave(serial).map(|sdu| (end, sdu, DropCause::RadioLoss)));
    };
    match pdu {
        Pdu::Um(pdu) => pdu.segments.iter().for_each(|s| lost(s.sdu.serial)),
        Pdu::Tm(sdu) => lost(sdu.serial),
        _ => {}
    }
}

/// Deserializes an uplink: keys that are not given have the defaults of the 64 kbit/s uplink, not
/// of the downlink.
///
/// # Errors
/// The given keys are not a valid channel.
pub fn over_uplink_defaults<'de, D: serde::Deserializer<'de>>(d: D) -> Result<DchConfig, D::Error> {
    Ok(DchPatch::deserialize(d)?.over(DchConfig::uplink_64k()))
}
