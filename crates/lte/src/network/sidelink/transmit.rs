//! Transport blocks of the sidelink: filled, sent, decoded by the peer, sent again 8 TTIs later.

use lasthop_units::{CellId, IndexVec, Instant, Tti, UeId};

use super::super::{Due, NetworkOutput, RadioNetwork};
use super::invariants::Check;
use super::state::{Lane, LaneGrant, Sidelink};
use crate::mac::harq::{Reception, State};
use crate::mac::sidelink::{LinkQuality, cqi_at, mcs_of_cqi};
use crate::network::bearers::Bearers;
use crate::network::calendar::Agenda;
use crate::network::layer2::Layer2;
use crate::network::state::{Cell, Link};
use crate::network::trace::{Step, Trace, TraceLink, TraceRecord};
use crate::network::uplink::HARQ_PERIOD;
use crate::phy::TTI;
use crate::phy::air::Air;
use lasthop_radio::lte::{ErrorModel, Mcs, McsTable, SoftBuffer, mean_mi};
use lasthop_radio::{linear, milliwatts};
use lasthop_units::Db;

/// The UEs of lanes, which fill transport blocks and take what they have decoded.
pub(in crate::network) struct LaneBlocks<'a> {
    pub now: Instant,
    pub sidelink: &'a mut Sidelink,
    pub cells: &'a mut IndexVec<CellId, Cell>,
    pub links: &'a IndexVec<UeId, Link>,
    pub bearers: &'a mut Bearers,
    pub air: &'a mut Air,
    pub calendar: &'a mut Agenda,
    pub trace: &'a mut Trace,
    pub out: &'a mut NetworkOutput,
}

impl RadioNetwork {
    /// The UEs of lanes at a moment; None without lanes.
    pub(in crate::network) fn lane_blocks<'a>(
        &'a mut self,
        now: Instant,
        out: &'a mut NetworkOutput,
    ) -> Option<LaneBlocks<'a>> {
        let RadioNetwork { sidelink, cells, links, bearers, air, calendar, trace, .. } = self;
        let sidelink = sidelink.as_deref_mut()?;
        Some(LaneBlocks { now, sidelink, cells, links, bearers, air, calendar, trace, out })
    }

    /// UEs whose sidelink grant is for this TTI put their blocks on the air.
    pub(in crate::network) fn send_sidelinks(&mut self, now: Instant, out: &mut NetworkOutput) {
        let mut i = 0;
        while let Some(mut blocks) = self.lane_blocks(now, out) {
            let Some(g) = blocks.sidelink.plan.granted(blocks.tti()).get(i).copied() else { return };
            let sends = blocks.prepare(&g);
            self.serve(now, out);
            if let Some(mut blocks) = self.lane_blocks(now, out).filter(|_| sends) {
                blocks.send(&g);
            }
            i += 1;
        }
    }

    /// With all transmissions of this TTI known: what arrives at the peers.
    pub(in crate::network) fn air_sidelinks(&mut self, tti: Tti) {
        let Some(sidelink) = self.sidelink.as_deref_mut() else { return };
        let RadioNetwork { cells, links, bearers, air, calendar, .. } = self;
        if cfg!(debug_assertions) {
            Check { tti, sidelink, cells, links, bearers }.run();
        }
        LaneAir { tti, sidelink, cells, links, air, calendar }.run();
    }
}

impl LaneBlocks<'_> {
    pub(super) fn tti(&self) -> Tti {
        Tti::containing(self.now, TTI)
    }

    pub(super) fn layer2(&mut self) -> Layer2<'_> {
        let LaneBlocks { now, sidelink, bearers, calendar, out, .. } = self;
        // A bearer between UEs does not lead to the core network.
        Layer2 { now: *now, bearers, core: None, sidelink: Some(sidelink), calendar, out }
    }

    /// The block of `g` is filled, or is there still to be sent again; false if it is not sent.
    fn prepare(&mut self, g: &LaneGrant) -> bool {
        let tti = self.tti();
        let l = &mut self.sidelink.lanes[g.lane as usize];
        if g.again {
            return l.repeat(tti);
        }
        let bearer = l.bearer;
        let sends = l.fill(self.now, tti, g, self.bearers);
        self.layer2().settle(bearer);
        sends
    }

    /// The block of `g` goes on the air.
    fn send(&mut self, g: &LaneGrant) {
        let tti = self.tti();
        let l = &self.sidelink.lanes[g.lane as usize];
        let each = (milliwatts(l.link.power) / f64::from(g.rbs.len().max(1))) as f32;
        self.air.ue_transmits_each(tti, l.tx, g.rbs, each);
        self.note(if g.again { Step::Again } else { Step::Data }, g.lane);
    }

    /// The peer has decoded a block, or failed to, and tells the sender and the eNB.
    pub(in crate::network) fn decoded(&mut self, lane: u32, process: usize, sent: Tti) {
        let l = &mut self.sidelink.lanes[lane as usize];
        let (end, most) = (l.end, l.link.transmissions);
        let p = l.harq.get_mut(process);
        if p.state != State::Awaiting || p.sent != sent {
            return;
        }
        let decoded = l.receiver.received[process].decoded;
        if l.group.is_some() {
            return self.group_decoded(lane, process);
        }
        if p.transmissions == 1 {
            l.grants.quality.first_transmission(decoded);
        }
        self.note(if decoded { Step::Decoded } else { Step::Failed }, lane);
        let l = &mut self.sidelink.lanes[lane as usize];
        let p = l.harq.get_mut(process);
        if !decoded && p.transmissions < most {
            return self.repeat_later(lane, process);
        }
        if decoded {
            l.stats.decoded_bytes += u64::from(p.bytes);
        } else {
            l.stats.lost += 1;
        }
        let mut parts = std::mem::take(&mut p.parts);
        p.free(|_| ());
        self.layer2().hand_up(end, &mut parts, decoded);
        // The memory goes back to the process.
        self.sidelink.lanes[lane as usize].harq.get_mut(process).parts = parts;
    }

    /// A block goes on the air once more, a HARQ period after the last time, on the same blocks.
    pub(super) fn repeat_later(&mut self, lane: u32, process: usize) {
        let l = &mut self.sidelink.lanes[lane as usize];
        let p = l.harq.get_mut(process);
        p.state = State::Failed;
        let g = LaneGrant { lane, rbs: p.rbs, mcs: p.mcs, bytes: p.bytes, again: true };
        let again = p.sent.plus(HARQ_PERIOD);
        let cell = self.links[l.tx].serving;
        self.sidelink.plan.slot(again).push(g);
        self.cells[cell].uplink.plan.slot(again).used |= g.rbs;
        self.calendar.note(again, Due::Transmit);
    }

    /// From a transmission of `lane` to its decoding [TTI].
    pub(super) fn decode(&self, lane: u32) -> u64 {
        self.cells[self.links[self.sidelink.lanes[lane as usize].tx].serving].config.timing.decode
    }

    fn note(&mut self, step: Step, lane: u32) {
        if self.trace.is_on() {
            let record = self.sidelink.record(self.tti(), step, lane, self.decode(lane), self.bearers);
            self.trace.note(|| record);
        }
    }
}

impl Lane {
    /// The block of `tti` is sent once more, if it is there still.
    fn repeat(&mut self, tti: Tti) -> bool {
        let p = self.harq.get_mut(process_of(tti));
        // A mode switch has flushed it.
        if p.state != State::Failed {
            return false;
        }
        p.transmissions += 1;
        p.sent = tti;
        self.stats.retransmissions += 1;
        true
    }

    /// A new block on `g` from what waits; false if nothing does.
    fn fill(&mut self, now: Instant, tti: Tti, g: &LaneGrant, bearers: &mut Bearers) -> bool {
        let l = self;
        let (bearer, end, header) = (l.bearer, l.end, l.link.header);
        let before = bearers[bearer].layers.buffer_status(end).total();
        let bearers = std::cell::RefCell::new(bearers);
        let mut parts = std::mem::take(&mut l.harq.get_mut(process_of(tti)).parts);
        debug_assert!(parts.is_empty());
        let backlog = |_| bearers.borrow()[bearer].layers.buffer_status(end).total();
        l.sender.mux.fill(tti, g.bytes.saturating_sub(header), backlog, |_, grant| {
            bearers.borrow_mut().pull(now, bearer, end, grant, &mut parts)
        });
        let after = backlog(0);
        l.sender.covered = l.sender.covered.saturating_sub(before.saturating_sub(after));
        if l.granted_until.is_none_or(|t| t <= tti) {
            // No further grant: whatever is left must be asked for. Nobody but the peer hears this
            // block, so no report can go with it.
            l.sender.covered = 0;
        }
        let sends = !parts.is_empty();
        let p = l.harq.get_mut(process_of(tti));
        p.parts = parts;
        if sends {
            (p.bytes, p.mcs, p.rbs, p.sent, p.transmissions) = (g.bytes, g.mcs, g.rbs, tti, 1);
            p.state = State::Awaiting;
            l.stats.blocks += 1;
            l.stats.bytes += u64::from(g.bytes);
            l.stats.mcs_sum += u64::from(g.mcs);
        }
        sends
    }
}

impl Sidelink {
    /// What the trace says of the block of `lane`, which is decoded `decode` TTIs after it was
    /// sent.
    fn record(&self, tti: Tti, step: Step, lane: u32, decode: u64, bearers: &Bearers) -> TraceRecord {
        let l = &self.lanes[lane as usize];
        // The process is that of the transmission.
        let sent = match step {
            Step::Decoded | Step::Failed => tti.0 - decode,
            _ => tti.0,
        };
        let p = l.harq.get(process_of(Tti(sent)));
        let mut record = TraceRecord::new(tti, step, TraceLink::Sidelink, l.tx).with(p);
        (record.peer, record.group) = (l.peer(), l.group.is_some().then_some(lane));
        if let Some(group) = &l.group {
            // Each receiver has its own copy of a packet.
            record.packets.clear();
            for m in &group.members {
                let layers = &bearers[m.bearer].layers;
                record.packets.extend(p.parts.iter().flat_map(|(_, pdu)| layers.packets_of(l.end, pdu)));
            }
            record.packets.dedup();
        }
        record
    }
}

/// What the UEs of all lanes receive in one TTI.
pub(super) struct LaneAir<'a> {
    pub tti: Tti,
    pub sidelink: &'a mut Sidelink,
    pub cells: &'a IndexVec<CellId, Cell>,
    pub links: &'a IndexVec<UeId, Link>,
    pub air: &'a mut Air,
    pub calendar: &'a mut Agenda,
}

impl LaneAir<'_> {
    /// With all transmissions of this TTI known: what arrives at the peers.
    fn run(&mut self) {
        let tti = self.tti;
        let process = process_of(tti);
        let mut i = 0;
        while let Some(g) = self.sidelink.plan.granted(tti).get(i).copied() {
            i += 1;
            let s = &*self.sidelink;
            let l = &s.lanes[g.lane as usize];
            let p = l.harq.get(process);
            if p.sent != tti || p.transmissions == 0 {
                continue;
            }
            let (rx, is_group) = (l.rx, l.group.is_some());
            if !g.again {
                self.begin(&g);
            }
            if is_group {
                self.air_group(&g);
            } else {
                // What a UE does not hear is lost, also where blocks never fail.
                let received = if self.is_transmitting(rx) { None } else { self.information(&g, rx) };
                self.air_pair(&g, received);
            }
            let s = &mut *self.sidelink;
            let l = &mut s.lanes[g.lane as usize];
            let decoded = l.receiver.received[process].decoded;
            l.stats.ttis += 1;
            l.stats.resource_blocks += u64::from(g.rbs.len());
            l.stats.errors += u64::from(!decoded);
            let due = tti.plus(self.cells[self.links[l.tx].serving].config.timing.decode);
            let due_item = Due::SidelinkDecoded { lane: g.lane, process: process as u8, sent: tti };
            self.calendar.note(due, due_item);
        }
    }

    /// The first transmission of a block begins.
    fn begin(&mut self, g: &LaneGrant) {
        let l = &mut self.sidelink.lanes[g.lane as usize];
        let combining = self.cells[self.links[l.tx].serving].uplink.config.harq.combining;
        let block = ErrorModel::of_grant(Mcs::new(g.mcs), McsTable::Uplink, g.rbs.len() as usize);
        let (soft, uniform) = (SoftBuffer::new(combining.into()), l.errors.uniform(self.tti.0));
        l.receiver.received[process_of(self.tti)] = Reception::new(block, soft, uniform);
        if let Some(group) = &mut l.group {
            group.begin_block(self.tti, soft);
        }
    }

    /// What arrives at the receiver of a pair's lane; `received`: mutual information of the
    /// transmission.
    fn air_pair(&mut self, g: &LaneGrant, received: Option<f32>) {
        let s = &mut *self.sidelink;
        let l = &mut s.lanes[g.lane as usize];
        let errors = self.cells[self.links[l.tx].serving].uplink.config.data_errors;
        let process = process_of(self.tti);
        let r = &mut l.receiver.received[process];
        r.decoded = match (received, r.block) {
            (Some(mi), Some(block)) => {
                r.soft.add(&block, mi);
                !errors || r.uniform >= block.combined_error(&r.soft)
            }
            _ => false,
        };
        l.harq.get_mut(process).state = State::Awaiting;
    }

    /// Mutual information of the transmission `g` at `rx`.
    pub(super) fn information(&mut self, g: &LaneGrant, rx: UeId) -> Option<f32> {
        let l = &self.sidelink.lanes[g.lane as usize];
        let block = l.receiver.received[process_of(self.tti)].block?;
        let sinr = match &l.link.quality {
            LinkQuality::Physical => self.air.sidelink(self.tti, l.tx, rx, g.rbs),
            LinkQuality::Pinned { steps } => {
                let cqi = cqi_at(steps, self.air.distance_between(self.tti, l.tx, rx));
                let adaptation = &self.cells[self.links[l.tx].serving].uplink.adaptation;
                let level = adaptation.needed(mcs_of_cqi(cqi));
                self.air.flat(g.rbs.len(), linear(Db(f64::from(level))) as f32)
            }
        };
        Some(mean_mi(block.modulation(), sinr))
    }

    /// `rx` sends itself in `tti` and has one radio for both.
    pub(super) fn is_transmitting(&self, rx: UeId) -> bool {
        let s = &*self.sidelink;
        if !self.cells[self.links[rx].serving].config.sidelink.half_duplex {
            return false;
        }
        let process = process_of(self.tti);
        let now = |p: &crate::mac::harq::Process| p.sent == self.tti && p.transmissions > 0;
        now(self.links[rx].uplink.harq.get(process))
            || s.of_ue[rx].iter().any(|own| now(s.lanes[*own as usize].harq.get(process)))
    }
}

/// The process of a TTI.
pub(super) const fn process_of(tti: Tti) -> usize {
    (tti.0 % HARQ_PERIOD) as usize
}
