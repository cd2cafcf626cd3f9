//! Transport blocks of the sidelink: filled, transmitted, decoded by the peer, retransmitted 8 TTIs
//! later.

use lasthop_units::{BearerId, CellId, IndexVec, Instant, PacketId, Tti, UeId};

use super::super::calendar::{Agenda, Due};
use super::super::{NetworkOutput, RadioNetwork};
use crate::mac::harq::{HARQ_PERIOD, Parts, State, process_of};
use crate::network::bearers::Bearers;
use crate::network::channel::Channel;
use crate::network::layer2::Layer2;
use crate::network::state::sidelink::group::Member;
use crate::network::state::sidelink::{Destination, Sender, Sidelink, SidelinkGrant};
use crate::network::state::{Cell, Link};
use crate::network::trace::{Step, Trace, TraceLink, TraceRecord};
use crate::phy::TTI;
use lasthop_bearer::End;

/// The UEs of destinations, which fill transport blocks and receive them.
pub(in crate::network) struct SidelinkBlocks<'a> {
    pub now: Instant,
    pub sidelink: &'a mut Sidelink,
    pub cells: &'a mut IndexVec<CellId, Cell>,
    pub links: &'a IndexVec<UeId, Link>,
    pub bearers: &'a mut Bearers,
    pub air: &'a mut Channel,
    pub calendar: &'a mut Agenda,
    pub trace: &'a mut Trace,
    pub out: &'a mut NetworkOutput,
}

impl RadioNetwork {
    /// The UEs of destinations at a moment; None without destinations.
    pub(in crate::network) fn sidelink_blocks<'a>(
        &'a mut self,
        now: Instant,
        out: &'a mut NetworkOutput,
    ) -> Option<SidelinkBlocks<'a>> {
        let RadioNetwork { sidelink, cells, links, bearers, air, calendar, trace, .. } = self;
        let sidelink = sidelink.as_deref_mut()?;
        Some(SidelinkBlocks { now, sidelink, cells, links, bearers, air, calendar, trace, out })
    }

    /// Transmits the blocks of UEs with a sidelink grant for this TTI.
    pub(in crate::network) fn send_sidelinks(&mut self, now: Instant, out: &mut NetworkOutput) {
        let mut i = 0;
        while let Some(mut blocks) = self.sidelink_blocks(now, out) {
            let Some(g) = blocks.sidelink.grants.plan.granted(blocks.tti()).get(i).copied() else { return };
            let sends = blocks.prepare(&g);
            self.serve(now, out);
            if let Some(mut blocks) = self.sidelink_blocks(now, out).filter(|_| sends) {
                blocks.send(&g);
            }
            i += 1;
        }
    }
}

impl SidelinkBlocks<'_> {
    fn tti(&self) -> Tti {
        Tti::containing(self.now, TTI)
    }

    fn layer2(&mut self) -> Layer2<'_> {
        let SidelinkBlocks { now, sidelink, bearers, calendar, out, .. } = self;
        // A bearer between UEs does not lead to the core network.
        Layer2 { now: *now, bearers, core: None, sidelink: Some(sidelink), calendar, out }
    }

    /// Fills the block of `g`, or prepares its retransmission; false if there is nothing to
    /// transmit.
    fn prepare(&mut self, g: &SidelinkGrant) -> bool {
        let tti = self.tti();
        let Sidelink { destinations, senders, grants, .. } = &mut *self.sidelink;
        let (l, sender) = (&mut destinations[g.destination as usize], &mut senders[g.destination as usize]);
        if g.again {
            let sends = sender.repeat(tti);
            l.stats.retransmissions += u64::from(sends);
            return sends;
        }
        let bearer = l.bearer;
        // Grants are always received.
        let is_last = grants.of[g.destination as usize].granted_until.is_none_or(|t| t <= tti);
        let sends = sender.fill(self.now, tti, (g, is_last), l, self.bearers);
        if sends {
            l.stats.blocks += 1;
            l.stats.bytes += u64::from(g.bytes);
            l.stats.mcs_sum += u64::from(g.mcs);
        }
        self.layer2().settle(bearer);
        sends
    }

    /// Transmits the block of `g`.
    fn send(&mut self, g: &SidelinkGrant) {
        let tti = self.tti();
        let l = &self.sidelink.destinations[g.destination as usize];
        let block_mw = (l.power_mw / f64::from(g.rbs.len().max(1))) as f32;
        self.air.get().ue_transmits_on_each(tti, l.tx, g.rbs, block_mw);
        self.note(if g.again { Step::Again } else { Step::Data }, g.destination);
    }

    /// Processes the result of the peer's decoding, at the sender and at the eNB.
    pub(in crate::network) fn decoded(&mut self, destination: u32, process: usize, sent: Tti) {
        let s = &mut *self.sidelink;
        let l = &s.destinations[destination as usize];
        let (end, most, is_group) = (l.end, l.link.transmissions, l.group.is_some());
        let p = s.senders[destination as usize].harq.get(process);
        if p.state != State::Awaiting || p.sent != sent {
            return;
        }
        let decoded = s.receivers[destination as usize].received[process].decoded;
        if is_group {
            return self.group_decoded(destination, process);
        }
        if p.transmissions == 1 {
            s.grants.of[destination as usize].quality.first_transmission(decoded);
        }
        self.note(if decoded { Step::Decoded } else { Step::Failed }, destination);
        let s = &mut *self.sidelink;
        let (l, p) = (
            &mut s.destinations[destination as usize],
            s.senders[destination as usize].harq.get_mut(process),
        );
        if !decoded && p.transmissions < most {
            return self.repeat_later(destination, process);
        }
        if decoded {
            l.stats.decoded_bytes += u64::from(p.bytes);
        } else {
            l.stats.lost += 1;
        }
        let mut parts = std::mem::take(&mut p.parts);
        p.free(|_| ());
        s.grants.of[destination as usize].busy[process] = false;
        self.layer2().hand_up(end, &mut parts, decoded);
        // The memory returns to the process.
        self.sidelink.senders[destination as usize].harq.get_mut(process).parts = parts;
    }

    /// Schedules the retransmission of a block on the same blocks, a HARQ period after the last
    /// one.
    fn repeat_later(&mut self, destination: u32, process: usize) {
        let s = &mut *self.sidelink;
        let p = s.senders[destination as usize].harq.get_mut(process);
        p.state = State::Failed;
        let g = SidelinkGrant { destination, rbs: p.rbs, mcs: p.mcs, bytes: p.bytes, again: true };
        let again = p.sent.plus(HARQ_PERIOD);
        let cell = self.links[s.destinations[destination as usize].tx].serving;
        s.grants.plan.slot(again).push(g);
        self.cells[cell].uplink.plan.slot(again).used |= g.rbs;
        self.calendar.note(again, Due::Transmit);
    }

    /// The bearer of the sender of `destination`, and its end.
    fn bearer_of(&self, destination: u32) -> (BearerId, End) {
        let l = &self.sidelink.destinations[destination as usize];
        (l.bearer, l.end)
    }

    /// True if the block of `process` of `destination` has had its last transmission.
    fn is_last(&self, destination: u32, process: usize) -> bool {
        let s = &*self.sidelink;
        let sent = s.senders[destination as usize].harq.get(process).transmissions;
        sent >= s.destinations[destination as usize].link.transmissions
    }

    /// TTIs from a transmission of `destination` to its decoding.
    fn decode(&self, destination: u32) -> u64 {
        self.cells[self.links[self.sidelink.destinations[destination as usize].tx].serving]
            .config
            .timing
            .decode
    }

    #[inline(always)]
    fn note(&mut self, step: Step, destination: u32) {
        if self.trace.is_on() {
            self.write(step, destination);
        }
    }

    #[cold]
    #[inline(never)]
    fn write(&mut self, step: Step, destination: u32) {
        let mut record =
            self.sidelink.record(self.tti(), step, destination, self.decode(destination), self.bearers);
        if self.trace.has_parts() && matches!(step, Step::Data | Step::Again) {
            let l = &self.sidelink.destinations[destination as usize];
            let sender = &self.sidelink.senders[destination as usize];
            record.parts.clone_from(&sender.harq.get(process_of(self.tti())).parts);
            record.from = Some((l.end, l.link.header));
        }
        self.trace.note(|| record);
    }

    /// Records that receiver number `k` of a group has decoded `parts`, or has lost them.
    #[cold]
    #[inline(never)]
    fn write_member(&mut self, step: Step, destination: u32, k: usize, parts: &Parts) {
        let (tti, decode) = (self.tti(), self.decode(destination));
        let (s, process) = (&*self.sidelink, process_of(Tti(tti.0 - decode)));
        let l = &s.destinations[destination as usize];
        if let Some(m) = l.group.as_ref().map(|g| &g.members[k]) {
            let record = TraceRecord::new(tti, step, TraceLink::Sidelink, l.tx);
            let record = record.with(s.senders[destination as usize].harq.get(process));
            let mut packets: Vec<_> = packets_of(m, l.end, self.bearers, parts).collect();
            packets.dedup();
            self.trace.note(|| TraceRecord { peer: Some(m.ue), packets, ..record });
        }
    }

    /// Passes a block to those receivers of a group that have decoded it; after the last
    /// transmission the others have lost it.
    fn group_decoded(&mut self, destination: u32, process: usize) {
        let (first, end) = self.bearer_of(destination);
        let last = self.is_last(destination, process);
        let members = self.sidelink.receivers[destination as usize].members.len();
        if !last {
            self.repeat_later(destination, process);
        }
        let sender = &mut self.sidelink.senders[destination as usize];
        let mut parts = std::mem::take(&mut sender.harq.get_mut(process).parts);
        for k in 0..members {
            self.member_decoded(destination, k, process, &parts);
        }
        if last {
            parts.drain(..).for_each(|(_, pdu)| self.bearers.recycle(first, end, pdu));
        }
        let s = &mut *self.sidelink;
        let (l, p) = (
            &mut s.destinations[destination as usize],
            s.senders[destination as usize].harq.get_mut(process),
        );
        p.parts = parts;
        if last {
            let all_have_it = s.receivers[destination as usize].received[process].decoded;
            s.grants.of[destination as usize].busy[process] = false;
            l.stats.decoded_bytes += if all_have_it { u64::from(p.bytes) } else { 0 };
            l.stats.lost += u64::from(!all_have_it);
            p.free(|_| ());
        }
    }

    /// Passes `parts` to receiver number `k` if it has decoded them with the last transmission;
    /// without success they are lost after the last one that the block may have.
    fn member_decoded(&mut self, destination: u32, k: usize, process: usize, parts: &Parts) {
        let last = self.is_last(destination, process);
        let l = &self.sidelink.destinations[destination as usize];
        let end = l.end;
        let Some(bearer) = l.group.as_ref().map(|g| g.members[k].bearer) else { return };
        let m = &mut self.sidelink.receivers[destination as usize].members[k];
        let h = &mut m.received[process];
        let takes = h.decoded && !std::mem::replace(&mut h.taken, h.decoded);
        let loses = last && !h.decoded;
        m.lost += u64::from(loses);
        if !takes && !loses {
            return;
        }
        if self.trace.is_on() {
            self.write_member(if takes { Step::Decoded } else { Step::Failed }, destination, k, parts);
        }
        for (_, pdu) in parts {
            match takes {
                true => self.bearers.receive_copy(self.now, bearer, end.peer(), pdu),
                false => self.bearers.lost_copy(self.now, bearer, end, pdu),
            }
            self.layer2().settle(bearer);
        }
    }
}

impl Sender {
    /// Retransmits the block of `tti`, unless it was flushed.
    fn repeat(&mut self, tti: Tti) -> bool {
        let p = self.harq.get_mut(process_of(tti));
        // A mode switch has flushed the block.
        if p.state != State::Failed {
            return false;
        }
        p.transmissions += 1;
        (p.state, p.sent) = (State::Awaiting, tti);
        true
    }

    /// Fills a new block of `l` on `g` from the waiting data; `is_last`: there is no further grant.
    /// False if there is no data.
    fn fill(
        &mut self,
        now: Instant,
        tti: Tti,
        (g, is_last): (&SidelinkGrant, bool),
        l: &Destination,
        bearers: &mut Bearers,
    ) -> bool {
        let (bearer, end, header) = (l.bearer, l.end, l.link.header);
        let waiting = |bearers: &Bearers| bearers[bearer].layers.buffer_status(end).total();
        let before = waiting(bearers);
        let mut parts = std::mem::take(&mut self.harq.get_mut(process_of(tti)).parts);
        debug_assert!(parts.is_empty());
        self.mux.look(|_| before);
        self.mux.fill(tti, g.bytes.saturating_sub(header), |_, grant| {
            bearers.pull(now, bearer, end, grant, &mut parts)
        });
        let after = waiting(bearers);
        self.covered = self.covered.saturating_sub(before.saturating_sub(after));
        if is_last {
            // No further grant: remaining data must be requested again. Only the peer receives this
            // block, so it cannot carry a report to the eNB.
            self.covered = 0;
        }
        let sends = !parts.is_empty();
        let others = l.group.iter().flat_map(|group| &group.members).filter(|m| m.bearer != bearer);
        others.for_each(|m| bearers.note_copies_sent(now, m.bearer, end, &parts));
        let p = self.harq.get_mut(process_of(tti));
        p.parts = parts;
        if sends {
            (p.bytes, p.mcs, p.rbs, p.sent, p.transmissions) = (g.bytes, g.mcs, g.rbs, tti, 1);
            p.state = State::Awaiting;
        }
        sends
    }
}

impl Sidelink {
    /// The trace record of the block of `destination`, which is decoded `decode` TTIs after its
    /// transmission.
    fn record(&self, tti: Tti, step: Step, destination: u32, decode: u64, bearers: &Bearers) -> TraceRecord {
        let l = &self.destinations[destination as usize];
        // The process is that of the transmission.
        let sent = match step {
            Step::Decoded | Step::Failed => tti.0 - decode,
            _ => tti.0,
        };
        let p = self.senders[destination as usize].harq.get(process_of(Tti(sent)));
        let mut record = TraceRecord::new(tti, step, TraceLink::Sidelink, l.tx).with(p);
        (record.peer, record.group) = (l.peer(), l.group.is_some().then_some(destination));
        if let Some(group) = &l.group {
            // Each receiver has its own copy of a packet.
            record.packets.clear();
            for m in &group.members {
                record.packets.extend(packets_of(m, l.end, bearers, &p.parts));
            }
            record.packets.dedup();
        }
        record
    }
}

/// The packets of a block in `parts` at the receiver `m` of a group: its copies of the packets that
/// `end` sends.
fn packets_of<'a>(
    m: &Member,
    end: End,
    bearers: &'a Bearers,
    parts: &'a Parts,
) -> impl Iterator<Item = PacketId> + 'a {
    let layers = &bearers[m.bearer].layers;
    parts.iter().flat_map(move |(_, pdu)| layers.packets_of(end, pdu))
}
