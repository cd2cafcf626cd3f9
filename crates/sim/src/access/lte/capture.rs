//! Transmissions of LTE as frames of a capture: MAC PDUs with the result at the receiver,
//! preambles, requests for grants, random access responses.
//!
//! A frame has the time at which its TTI begins. It is passed to the capture when its receiver has
//! decoded it or failed to, after all frames before it. PDUs of RLC and PDCP have separate
//! interfaces, where they are selected.

use std::collections::BTreeMap;

use lasthop_bearer::End;
use lasthop_lte::mac::pdu::{self, Channel, Control};
use lasthop_lte::mac::sl_sch;
use lasthop_lte::network::signals::{Signal, SignalRecord, ra_rnti};
use lasthop_lte::network::trace::{Step as Act, TraceLink, TraceRecord, c_rnti};
use lasthop_lte::phy::TTI;
use lasthop_lte_l2::rlc::{Mode, Pdu};
use lasthop_units::{BearerId, CellId, Id, IndexVec, Instant, Octets, Tti, UeId};

use super::LteAccess;
use crate::access::framing::{LteMac, LtePdcp, LteRlc, MacEvent, Rnti};
use crate::access::lte_rlc::mode;
use crate::access::{AccessOutput, Step};
use crate::observe::{Direction, Frame, LinkType, Open, Point};

/// The logical channels of bearers of acknowledged mode: the first one and their number. Wireshark
/// is configured once for all UEs with the mode of each channel.
const ACKNOWLEDGED: (u8, u8) = (3, 4);
/// Those of unacknowledged mode with numbers of 10 bits, and of 5.
const UNACKNOWLEDGED: [(u8, u8); 2] = [(7, 2), (9, 2)];

/// Largest delay of a receiver's answer \[TTI\].
pub const ANSWERED: u64 = 64;

/// State for the frames of a capture.
pub struct Observed {
    points: IndexVec<CellId, Points>,
    /// The number of the PDCP PDU that was begun last, by bearer, direction (downlink: true) and
    /// kind (control PDU: true).
    begun: BTreeMap<(BearerId, bool, bool), u64>,
    /// The logical channel of each bearer.
    channels: IndexVec<BearerId, u8>,
    /// Transmissions that are not passed to the capture yet, by time and in the order in which they
    /// were recorded.
    on_air: BTreeMap<(Tti, u64), OnAir>,
    /// Number of recorded transmissions.
    noted: u64,
    /// Control elements of the last new block of an uplink process.
    controls: BTreeMap<(UeId, u64), Vec<Control>>,
}

/// Points of observation of a cell.
#[derive(Clone, Copy, Default)]
struct Points {
    mac: Option<Point>,
    rlc: Option<Point>,
    pdcp: Option<Point>,
}

/// A transmission.
struct OnAir {
    cell: CellId,
    direction: Direction,
    octets: Octets,
    /// The prefix and the octets of each RLC PDU in it; only if these are captured.
    pdus: Vec<(Vec<u8>, Octets)>,
    context: LteMac,
    comment: String,
    /// The link, UE, HARQ process and size \[B\] of a block for which the receiver's answer is
    /// awaited.
    awaits: Option<(TraceLink, UeId, u8, u64)>,
}

/// Number of HARQ processes of the uplink, which follow each other.
const PROCESSES: u64 = 8;

/// The number of a UE in frames.
fn number(ue: UeId) -> u16 {
    (ue.index() + 1) as u16
}

/// The number of the data radio bearer on a logical channel, as in the profile for Wireshark.
const fn radio_bearer(channel: u8) -> u16 {
    (channel - 2) as u16
}

/// A number for the end of a bearer that assigns serial numbers to packets.
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

impl OnAir {
    fn append(&mut self, text: &str) {
        self.comment.push_str(if self.comment.is_empty() { "" } else { "; " });
        self.comment.push_str(text);
    }
}

impl Observed {
    fn add(&mut self, tti: Tti, on_air: OnAir) {
        self.noted += 1;
        self.on_air.insert((tti, self.noted), on_air);
    }

    /// Records a signal other than a transport block.
    fn signal(&mut self, SignalRecord { tti, cell, signal }: SignalRecord) {
        let (rnti, ue, event, octets, comment) = match signal {
            Signal::Preamble { ue, preamble, attempt } => {
                let event = MacEvent::Preamble { preamble, attempt: attempt.min(255) as u8 };
                (Rnti::None, Some(number(ue)), Some(event), Vec::new(), "")
            }
            Signal::Request { ue, rac } => {
                let event = MacEvent::Request { ue: number(ue), rnti: c_rnti(ue) };
                let comment = if rac { "a RAC (SimuLTE), not on PUCCH" } else { "" };
                (Rnti::None, Some(number(ue)), Some(event), Vec::new(), comment)
            }
            Signal::Responses { to, pdu } => (Rnti::Ra(ra_rnti(to)), None, None, pdu.encode(), ""),
        };
        let downlink = event.is_none();
        let context = LteMac { downlink, rnti, ue, tti: tti.0, again: 0, decoded: None, event };
        let direction = if downlink { Direction::Outbound } else { Direction::Inbound };
        let octets = Octets { bytes: octets, holes: Vec::new() };
        let comment = comment.to_owned();
        self.add(tti, OnAir { cell, direction, octets, pdus: Vec::new(), context, comment, awaits: None });
    }

    /// Builds the MAC PDU of a block with these SDUs, each with its logical channel; true if it is
    /// longer than the block.
    fn mac_pdu(&mut self, r: &TraceRecord, sdus: &[(u8, Octets)]) -> (Octets, bool) {
        let bytes = r.bytes as u32;
        match r.link {
            TraceLink::Sidelink => {
                let to = match (r.group, r.peer) {
                    (Some(group), _) => sl_sch::Destination::Group(group as u16),
                    (None, peer) => sl_sch::Destination::Ue(peer.map_or(0, number)),
                };
                sl_sch::octets(bytes, number(r.ue).into(), to, sdus)
            }
            TraceLink::Downlink => pdu::octets(bytes, &[], sdus, Channel::Downlink),
            TraceLink::Uplink => {
                // A retransmission has the control elements of the first transmission.
                let kept = self.controls.entry((r.ue, r.tti.0 % PROCESSES)).or_default();
                if r.step == Act::Data {
                    kept.clone_from(&r.controls);
                }
                pdu::octets(bytes, kept, sdus, Channel::Uplink)
            }
        }
    }

    /// Processes the receiver's answer to a block; the PDUs in it arrive with it.
    fn answer(&mut self, now: Instant, r: &TraceRecord, out: &mut Vec<Step>) {
        let waits = |bytes: Option<u64>| {
            move |(_, on_air): &(&(Tti, u64), &mut OnAir)| {
                on_air.awaits.is_some_and(|(link, ue, process, size)| {
                    (link, ue, process) == (r.link, r.ue, r.process)
                        && bytes.is_none_or(|bytes| bytes == size)
                })
            }
        };
        // Two blocks of a sidelink's UE in a TTI are distinguished by their sizes.
        let mut found = None;
        for bytes in [Some(r.bytes), None] {
            let mut sent = self.on_air.range_mut((r.about, 0)..=(r.about, u64::MAX));
            found = found.or_else(|| sent.find(waits(bytes)).map(|(key, _)| *key));
        }
        let Some(on_air) = found.and_then(|key| self.on_air.get_mut(&key)) else { return };
        let pdus = std::mem::take(&mut on_air.pdus).into_iter();
        if r.step == Act::Decoded {
            let (point, downlink) = (self.points[on_air.cell].rlc, r.link == TraceLink::Downlink);
            out.extend(pdus.map(|(prefix, octets)| frame(point, now, downlink, prefix, octets)));
        }
        on_air.awaits = None;
        on_air.context.decoded = Some(r.step == Act::Decoded);
        if r.step == Act::Failed {
            on_air.append("CRC failure");
        }
    }

    /// Passes on, in order, the frames that wait for no answer, or for one that will not arrive.
    fn release(&mut self, tti: Tti, out: &mut AccessOutput) {
        while let Some(first) = self.on_air.first_entry() {
            let sent = first.key().0;
            let waits = first.get().awaits.is_some();
            if waits && sent.0 + ANSWERED >= tti.0 {
                return;
            }
            let mut on_air = first.remove();
            if waits {
                on_air.context.decoded = Some(false);
                on_air.append("not received: assignment missed, or the UE has left");
            }
            out.steps.push(self.frame(sent, on_air));
        }
    }

    /// Builds the frame of a transmission at `sent`.
    fn frame(&self, sent: Tti, on_air: OnAir) -> Step {
        Step::Frame(Box::new(Frame {
            point: self.points[on_air.cell].mac,
            at: sent.start(TTI),
            direction: on_air.direction,
            prefix: on_air.context.prefix(),
            octets: on_air.octets,
            comment: on_air.comment,
        }))
    }
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
                mac: open("mac", "what is on the air, with what receivers made of it,"),
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
        self.observed = Some(Box::new(Observed { points, begun, channels, on_air, noted: 0, controls }));
    }

    /// Passes the frames of the radio's transmissions to the capture.
    #[cold]
    pub(super) fn hand_over(&mut self, now: Instant, records: &[TraceRecord], out: &mut AccessOutput) {
        let Some(mut observed) = self.observed.take() else { return };
        self.network.trace().drain_signals().for_each(|signal| observed.signal(signal));
        for r in records {
            match r.step {
                Act::Data | Act::Again => {
                    if r.step == Act::Data && r.link != TraceLink::Sidelink {
                        self.begun(&mut observed, now, r, r.link == TraceLink::Downlink, &mut out.steps);
                    }
                    let on_air = self.block(&mut observed, r);
                    // The capture registers the packets before they are removed.
                    let holes = on_air.octets.holes.clone();
                    out.steps.push(Step::Frame(Box::new(Frame {
                        point: None,
                        at: now,
                        direction: Direction::Unknown,
                        prefix: Vec::new(),
                        octets: Octets { bytes: Vec::new(), holes },
                        comment: String::new(),
                    })));
                    observed.add(r.tti, on_air);
                }
                Act::Decoded | Act::Failed => observed.answer(now, r, &mut out.steps),
                _ => {}
            }
        }
        observed.release(Tti::containing(now, TTI), out);
        self.observed = Some(observed);
    }

    /// Passes on the remaining frames at the end of the run, without an answer.
    pub(super) fn hand_over_rest(&mut self, out: &mut AccessOutput) {
        let Some(observed) = &mut self.observed else { return };
        for ((sent, _), mut on_air) in std::mem::take(&mut observed.on_air) {
            if on_air.awaits.is_some() {
                on_air.append("outcome not known: the run has ended");
            }
            out.steps.push(observed.frame(sent, on_air));
        }
    }

    /// Passes on the PDUs of PDCP that a new block begins to send, each for the first time.
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
            for pdu in layers.begun(end, pdu) {
                let last = observed.begun.entry((*bearer, downlink, pdu.control)).or_default();
                // RLC may send octets again; numbers begin above 0.
                if pdu.number > *last {
                    *last = pdu.number;
                    let octets = pdu.octets.of_entity(entity(*bearer, downlink));
                    out.push(frame(point, at, downlink, context.prefix(), octets));
                }
            }
        }
    }

    /// The prefix of a PDU of RLC.
    fn before_rlc(&self, ue: UeId, bearer: BearerId, channel: u8, downlink: bool) -> Vec<u8> {
        let layers = self.network.view().layers(bearer);
        let format = layers.format(if downlink { End::Network } else { End::Ue });
        let mode = mode(layers.mode());
        let (sn_bits, long_indicators) = (format.sn_bits as u8, format.li_bits == 15);
        let (ue, bearer) = (number(ue), radio_bearer(channel));
        LteRlc { mode, downlink, ue, bearer, sn_bits, long_indicators }.prefix()
    }

    /// Records a block that is transmitted.
    fn block(&self, observed: &mut Observed, r: &TraceRecord) -> OnAir {
        let downlink = r.link == TraceLink::Downlink;
        let end = match (r.link, r.from) {
            (TraceLink::Sidelink, Some((end, _))) => end,
            (TraceLink::Downlink, _) => End::Network,
            _ => End::Ue,
        };
        let sdu = |(bearer, pdu): &(BearerId, Pdu)| {
            let octets = self.network.view().layers(*bearer).octets(end, pdu);
            (observed.channels[*bearer], octets.of_entity(entity(*bearer, end == End::Network)))
        };
        let sdus: Vec<(u8, Octets)> = r.parts.iter().map(sdu).collect();
        let (octets, grown) = observed.mac_pdu(r, &sdus);
        let cell = self.network.view().serving(r.ue);
        let pdus = match observed.points[cell].rlc {
            Some(_) if r.link != TraceLink::Sidelink => {
                let prefix = |((bearer, _), (channel, octets)): (&(BearerId, Pdu), (u8, Octets))| {
                    (self.before_rlc(r.ue, *bearer, channel, downlink), octets)
                };
                r.parts.iter().zip(sdus).map(prefix).collect()
            }
            _ => Vec::new(),
        };
        let rnti = if r.link == TraceLink::Sidelink { Rnti::Sl(c_rnti(r.ue)) } else { Rnti::C(c_rnti(r.ue)) };
        let again = r.transmissions.saturating_sub(1);
        let ue = Some(number(r.ue));
        let mut on_air = OnAir {
            cell,
            direction: match r.link {
                TraceLink::Downlink => Direction::Outbound,
                TraceLink::Uplink => Direction::Inbound,
                TraceLink::Sidelink => Direction::Unknown,
            },
            octets,
            pdus,
            context: LteMac { downlink, rnti, ue, tti: r.tti.0, again, decoded: None, event: None },
            comment: String::new(),
            awaits: r.group.is_none().then_some((r.link, r.ue, r.process, r.bytes)),
        };
        for (is_so, text) in [
            (again > 0, "HARQ retransmission"),
            (r.group.is_some(), "to a group: each receiver decodes it by itself"),
            (grown, "longer than the block: the profile counts no MAC subheaders"),
        ] {
            if is_so {
                on_air.append(text);
            }
        }
        on_air
    }
}
