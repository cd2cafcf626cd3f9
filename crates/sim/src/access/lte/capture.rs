//! Transport blocks as frames of a capture: MAC PDUs with what the receiver made of them.
//!
//! A block is put together when it goes on the air, and handed over when its receiver has decoded
//! it or failed to. PDUs of RLC and PDCP have interfaces of their own, for who asks for them.

use std::collections::BTreeMap;

use lasthop_bearer::End;
use lasthop_lte::mac::pdu::{self, Channel, Control};
use lasthop_lte::network::trace::{Step as Act, TraceLink, TraceRecord, c_rnti};
use lasthop_lte_l2::rlc::{Mode, Pdu};
use lasthop_units::{BearerId, CellId, Id, IndexVec, Instant, Octets, Tti, UeId};

use super::LteAccess;
use crate::access::framing::{LteMac, LtePdcp, LteRlc};
use crate::access::lte_rlc::mode;
use crate::access::{AccessOutput, Step};
use crate::observe::{Direction, Frame, LinkType, Open, Point};

/// The logical channels of bearers of acknowledged mode, from this one on, and how many: Wireshark
/// is told once for all UEs which channel has which mode.
const ACKNOWLEDGED: (u8, u8) = (3, 4);
/// Those of unacknowledged mode with numbers of 10 bits, and of 5.
const UNACKNOWLEDGED: [(u8, u8); 2] = [(7, 2), (9, 2)];

/// No answer of a receiver comes later [TTI].
const ANSWERED: u64 = 64;

/// What is needed to hand over blocks.
pub struct Observed {
    points: IndexVec<CellId, Points>,
    /// The number of the PDCP PDU that was begun last, by bearer and direction (downlink: true).
    begun: BTreeMap<(BearerId, bool), u64>,
    /// The logical channel of each bearer.
    channels: IndexVec<BearerId, u8>,
    /// Blocks on the air, by when they were sent; several of one UE and direction have numbers.
    on_air: BTreeMap<(Tti, bool, UeId, u8), Block>,
    /// Control elements of the last new block of an uplink process.
    controls: BTreeMap<(UeId, u64), Vec<Control>>,
}

/// Where frames of a cell are seen.
#[derive(Clone, Copy, Default)]
struct Points {
    mac: Option<Point>,
    rlc: Option<Point>,
    pdcp: Option<Point>,
}

/// A transport block on the air.
struct Block {
    cell: CellId,
    octets: Octets,
    /// What stands before each RLC PDU in it, and its octets; only if these are wanted.
    pdus: Vec<(Vec<u8>, Octets)>,
    bytes: u64,
    /// The profile's block is smaller than its content with subheaders.
    grown: bool,
    /// Transmissions before this one.
    again: u8,
}

/// What became of a transmission.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Decoded,
    Failed,
    /// The receiver was not there: it missed the assignment, or has left the cell.
    Missed,
}

/// HARQ processes of the uplink follow each other.
const PROCESSES: u64 = 8;

impl Observed {
    /// The frame of a transmission; before it the PDUs that have arrived with it.
    fn frame(
        &self,
        ue: UeId,
        (sent, downlink): (Tti, bool),
        block: Block,
        (at, o): (Instant, Outcome),
        out: &mut Vec<Step>,
    ) {
        let points = self.points[block.cell];
        if o == Outcome::Decoded {
            let pdus = block.pdus.into_iter();
            out.extend(pdus.map(|(prefix, octets)| frame(points.rlc, at, downlink, prefix, octets)));
        }
        let context = LteMac {
            downlink,
            rnti: c_rnti(ue),
            ue: number(ue),
            tti: sent.0,
            again: block.again,
            decoded: o == Outcome::Decoded,
        };
        let mut comment = String::new();
        for (is_so, text) in [
            (block.again > 0, "HARQ retransmission"),
            (o == Outcome::Failed, "CRC failure"),
            (o == Outcome::Missed, "not received: assignment missed, or the UE has left"),
            (block.grown, "longer than the block: the profile counts no MAC subheaders"),
        ] {
            if is_so {
                comment.push_str(if comment.is_empty() { "" } else { "; " });
                comment.push_str(text);
            }
        }
        out.push(Step::Frame(Box::new(Frame {
            point: points.mac,
            at,
            direction: way(downlink),
            prefix: context.prefix(),
            octets: block.octets,
            comment,
        })));
    }

    /// Takes the block of `bytes` that was sent then.
    fn take(&mut self, sent: Tti, downlink: bool, ue: UeId, bytes: u64) -> Option<Block> {
        let all = (sent, downlink, ue, 0)..=(sent, downlink, ue, u8::MAX);
        let mut keys = self.on_air.range(all).map(|(key, block)| (*key, block.bytes));
        let first = keys.next()?;
        let (key, _) = if first.1 == bytes { first } else { keys.find(|k| k.1 == bytes).unwrap_or(first) };
        self.on_air.remove(&key)
    }
}

/// The number of a UE: from 1 on.
fn number(ue: UeId) -> u16 {
    (ue.index() + 1) as u16
}

/// The number of the data radio bearer on a logical channel, as the profile for Wireshark has it.
const fn radio_bearer(channel: u8) -> u16 {
    (channel - 2) as u16
}

/// Serial numbers of packets are those of one end of one bearer.
fn entity(bearer: BearerId, downlink: bool) -> u64 {
    (bearer.index() as u64) << 1 | u64::from(downlink)
}

const fn way(downlink: bool) -> Direction {
    if downlink { Direction::Outbound } else { Direction::Inbound }
}

/// A frame without a comment.
fn frame(point: Option<Point>, at: Instant, downlink: bool, prefix: Vec<u8>, octets: Octets) -> Step {
    let (direction, comment) = (way(downlink), String::new());
    Step::Frame(Box::new(Frame { point, at, direction, prefix, octets, comment }))
}

impl LteAccess {
    /// Opens the interfaces of the cells.
    pub(super) fn open_points(&mut self, open: &mut Open<'_>) {
        let mut points: IndexVec<CellId, Points> = IndexVec::new();
        for name in self.cells.iter() {
            let mut open = |layer, what: &str| {
                open(&format!("{name}.{layer}"), format!("{what} of the cell {name}"), LinkType::UpperPdu)
            };
            let _same_number = points.push(Points {
                mac: open("mac", "transport blocks, as their receivers have them,"),
                rlc: open("rlc", "PDUs of RLC, as they arrive, bearers"),
                pdcp: open("pdcp", "PDUs of PDCP, as their first octets are sent, bearers"),
            });
        }
        if points.iter().all(|p| p.mac.or(p.rlc).or(p.pdcp).is_none()) {
            return;
        }
        self.network.trace().set_with_parts();
        let mut used: BTreeMap<(UeId, u8), u8> = BTreeMap::new();
        let mut channels = IndexVec::new();
        for (bearer, (_, ue)) in self.bearers.enumerate() {
            let layers = self.network.view().layers(bearer);
            let (first, count) = match layers.mode() {
                Mode::Am => ACKNOWLEDGED,
                _ => UNACKNOWLEDGED[usize::from(layers.format(End::Network).sn_bits == 5)],
            };
            let n = used.entry((*ue, first)).or_default();
            let _same_number = channels.push(first + *n % count);
            *n += 1;
        }
        let (begun, on_air, controls) = Default::default();
        self.observed = Some(Box::new(Observed { points, begun, channels, on_air, controls }));
    }

    /// Frames of what the radio has done.
    #[cold]
    pub(super) fn hand_over(&mut self, now: Instant, records: &[TraceRecord], out: &mut AccessOutput) {
        let Some(mut observed) = self.observed.take() else { return };
        for r in records.iter().filter(|r| r.link != TraceLink::Sidelink) {
            let downlink = r.link == TraceLink::Downlink;
            match r.step {
                Act::Data | Act::Again => {
                    if r.step == Act::Data {
                        self.begun(&mut observed, now, r, downlink, &mut out.steps);
                    }
                    let block = self.block(&mut observed, r, downlink);
                    // The capture learns of its packets while they are there.
                    let holes = block.octets.holes.clone();
                    out.steps.push(Step::Frame(Box::new(Frame {
                        point: None,
                        at: now,
                        direction: Direction::Unknown,
                        prefix: Vec::new(),
                        octets: Octets { bytes: Vec::new(), holes },
                        comment: String::new(),
                    })));
                    let key = |n| (r.tti, downlink, r.ue, n);
                    let n = (0..u8::MAX).find(|n| !observed.on_air.contains_key(&key(*n)));
                    observed.on_air.insert(key(n.unwrap_or(u8::MAX)), block);
                }
                Act::Decoded | Act::Failed => {
                    let Some(block) = observed.take(r.about, downlink, r.ue, r.bytes) else { continue };
                    let o = if r.step == Act::Decoded { Outcome::Decoded } else { Outcome::Failed };
                    observed.frame(r.ue, (r.about, downlink), block, (now, o), &mut out.steps);
                }
                _ => {}
            }
        }
        while let Some((&(sent, downlink, ue, _), _)) = observed.on_air.first_key_value()
            && records.last().is_some_and(|r| sent.0 + ANSWERED < r.tti.0)
        {
            let Some((_, block)) = observed.on_air.pop_first() else { break };
            observed.frame(ue, (sent, downlink), block, (now, Outcome::Missed), &mut out.steps);
        }
        self.observed = Some(observed);
    }

    /// PDUs of PDCP that a new block begins to send, each for the first time.
    fn begun(
        &self,
        observed: &mut Observed,
        at: Instant,
        r: &TraceRecord,
        downlink: bool,
        out: &mut Vec<Step>,
    ) {
        let point = observed.points[self.network.view().serving(r.ue)].pdcp;
        if point.is_none() {
            return;
        }
        let end = if downlink { End::Network } else { End::Ue };
        for (bearer, pdu) in &r.parts {
            let layers = self.network.view().layers(*bearer);
            let context = LtePdcp {
                downlink,
                ue: number(r.ue),
                bearer: radio_bearer(observed.channels[*bearer]),
                sn_bits: layers.sn_bits() as u8,
            };
            for (serial, octets) in layers.begun(end, pdu) {
                let last = observed.begun.entry((*bearer, downlink)).or_default();
                // RLC sends octets again; numbers begin above 0.
                if serial > *last {
                    *last = serial;
                    let octets = octets.of_entity(entity(*bearer, downlink));
                    out.push(frame(point, at, downlink, context.prefix(), octets));
                }
            }
        }
    }

    /// What stands before a PDU of RLC.
    fn before_rlc(&self, ue: UeId, bearer: BearerId, channel: u8, downlink: bool) -> Vec<u8> {
        let layers = self.network.view().layers(bearer);
        let format = layers.format(if downlink { End::Network } else { End::Ue });
        let mode = mode(layers.mode());
        let (sn_bits, long_indicators) = (format.sn_bits as u8, format.li_bits == 15);
        let (ue, bearer) = (number(ue), radio_bearer(channel));
        LteRlc { mode, downlink, ue, bearer, sn_bits, long_indicators }.prefix()
    }

    /// A block that goes on the air.
    fn block(&self, observed: &mut Observed, r: &TraceRecord, downlink: bool) -> Block {
        let (end, channel) =
            if downlink { (End::Network, Channel::Downlink) } else { (End::Ue, Channel::Uplink) };
        let sdu = |(bearer, pdu): &(BearerId, Pdu)| {
            let octets = self.network.view().layers(*bearer).octets(end, pdu);
            (observed.channels[*bearer], octets.of_entity(entity(*bearer, downlink)))
        };
        let sdus: Vec<(u8, Octets)> = r.parts.iter().map(sdu).collect();
        // A repetition has the control elements of the first transmission.
        let process = (r.ue, r.tti.0 % PROCESSES);
        let controls = match (downlink, r.step) {
            (true, _) => Vec::new(),
            (false, Act::Again) => observed.controls.get(&process).cloned().unwrap_or_default(),
            (false, _) => {
                observed.controls.insert(process, r.controls.clone());
                r.controls.clone()
            }
        };
        let (octets, grown) = pdu::octets(r.bytes as u32, &controls, &sdus, channel);
        let cell = self.network.view().serving(r.ue);
        let pdus = match observed.points[cell].rlc {
            Some(_) => {
                let prefix = |((bearer, _), (channel, octets)): (&(BearerId, Pdu), (u8, Octets))| {
                    (self.before_rlc(r.ue, *bearer, channel, downlink), octets)
                };
                r.parts.iter().zip(sdus).map(prefix).collect()
            }
            None => Vec::new(),
        };
        Block { cell, octets, pdus, bytes: r.bytes, grown, again: r.transmissions.saturating_sub(1) }
    }
}
