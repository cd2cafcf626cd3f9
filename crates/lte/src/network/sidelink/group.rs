//! Multicast: one transmission of a UE that several others receive (one-to-many, TS 36.300 clause
//! 23.10).
//!
//! A group has one lane, so its requests, reports, grants and blocks are those of one link, however
//! many receive. Each receiver has a bearer of its own
//! ([`LteBearer::push_copy`](lasthop_lte_l2::pdcp::LteBearer::push_copy)) with its RLC and PDCP,
//! its draw for each block and its soft buffer. Nobody answers (TS 36.321 clause 5.14.2.2 has no
//! feedback on SL-SCH): each block is sent as often as `transmissions` says, and a receiver takes
//! it when it can decode what it has received so far.

use lasthop_engine::{Draw, Purpose};
use lasthop_units::{BearerId, Id, Tti, UeId};

use super::super::NetworkOutput;
use super::super::trace::{Step, TraceLink, TraceRecord};
use super::invariants::Check;
use super::state::{Lane, LaneGrant, Sidelink};
use super::transmit::{LaneAir, LaneBlocks, process_of};
use crate::mac::harq::{PROCESSES, Parts, State};
use crate::network::bearers::Bearers;
use crate::network::config::GroupConfig;
use lasthop_bearer::{DropCause, End};
use lasthop_radio::lte::SoftBuffer;

/// Who receives, and by which CQI the eNB chooses the MCS.
#[derive(Debug)]
pub struct Group {
    pub members: Vec<Member>,
    /// None: that of the worst link.
    pub cqi: Option<u8>,
}

/// A receiver of a group.
#[derive(Debug)]
pub struct Member {
    pub ue: UeId,
    /// Its bearer, whose end [`End::Ue`] it is.
    pub bearer: BearerId,
    /// One draw per transport block.
    errors: Draw,
    /// By process of the sender: what it has received of the block.
    received: [Received; PROCESSES],
    /// Blocks that it could not decode in any transmission.
    pub lost: u64,
}

/// What a receiver has of a transport block.
#[derive(Clone, Copy, Debug, Default)]
struct Received {
    soft: SoftBuffer,
    uniform: f64,
    decoded: bool,
    /// RLC has it.
    taken: bool,
}

impl Group {
    /// `first`: the bearer of the first receiver; the others' follow. `entity`: of the draws, its
    /// low 24 bits free.
    pub fn new(config: &GroupConfig, first: usize, entity: u64, seed: u64) -> Group {
        let member = |(k, ue): (usize, &UeId)| Member {
            ue: *ue,
            bearer: BearerId::from_index(first + k),
            errors: Draw::new(seed, Purpose::BlockError, GROUP | entity | k as u64),
            received: [Received::default(); PROCESSES],
            lost: 0,
        };
        Group { members: config.to.iter().enumerate().map(member).collect(), cqi: config.cqi }
    }

    /// A new block is sent in `tti`.
    pub fn begin_block(&mut self, tti: Tti, soft: SoftBuffer) {
        for m in &mut self.members {
            let uniform = m.errors.uniform(tti.0);
            m.received[process_of(tti)] = Received { soft, uniform, decoded: false, taken: false };
        }
    }
}

impl LaneBlocks<'_> {
    /// Those receivers of a group that have decoded a block take it; after the last transmission
    /// the others have lost it.
    pub(super) fn group_decoded(&mut self, lane: u32, process: usize) {
        let l = &self.sidelink.lanes[lane as usize];
        let (first, end) = (l.bearer, l.end);
        let last = l.harq.get(process).transmissions >= l.link.transmissions;
        let all = l.group.as_ref().map_or(0, |g| g.members.len());
        if !last {
            self.repeat_later(lane, process);
        }
        let l = &mut self.sidelink.lanes[lane as usize];
        let mut parts = std::mem::take(&mut l.harq.get_mut(process).parts);
        for k in 0..all {
            self.member_decoded(lane, k, process, &parts);
        }
        if last {
            parts.drain(..).for_each(|(_, pdu)| self.bearers.recycle(first, end, pdu));
        }
        let l = &mut self.sidelink.lanes[lane as usize];
        let p = l.harq.get_mut(process);
        p.parts = parts;
        if last {
            let all_have_it = l.receiver.received[process].decoded;
            l.stats.decoded_bytes += if all_have_it { u64::from(p.bytes) } else { 0 };
            l.stats.lost += u64::from(!all_have_it);
            p.free(|_| ());
        }
    }

    /// Receiver number `k` takes `parts` if it has decoded them only now, and has lost them if it
    /// has not after the last transmission.
    fn member_decoded(&mut self, lane: u32, k: usize, process: usize, parts: &Parts) {
        let l = &mut self.sidelink.lanes[lane as usize];
        let end = l.end;
        let last = l.harq.get(process).transmissions >= l.link.transmissions;
        let Some(m) = l.group.as_mut().map(|g| &mut g.members[k]) else { return };
        let h = &mut m.received[process];
        let takes = h.decoded && !std::mem::replace(&mut h.taken, h.decoded);
        let loses = last && !h.decoded;
        m.lost += u64::from(loses);
        let bearer = m.bearer;
        if !takes && !loses {
            return;
        }
        if self.trace.is_on() {
            let step = if takes { Step::Decoded } else { Step::Failed };
            let (tti, decode) = (self.tti(), self.decode(lane));
            let l = &self.sidelink.lanes[lane as usize];
            if let Some(m) = l.group.as_ref().map(|g| &g.members[k]) {
                let record = l.record_at(tti, step, m, decode, self.bearers, parts);
                self.trace.note(|| record);
            }
        }
        for (_, pdu) in parts {
            match takes {
                true => self.bearers.receive(self.now, bearer, end.peer(), pdu),
                false => self.bearers.lost(self.now, bearer, end, pdu),
            }
            self.layer2().settle(bearer);
        }
    }
}

impl Sidelink {
    /// What the sender of a group has dropped, among `out.dropped` from `from` on, nobody will
    /// receive.
    pub(super) fn drop_copies(
        &self,
        bearer: BearerId,
        from: usize,
        bearers: &mut Bearers,
        out: &mut NetworkOutput,
    ) {
        let Some((lane, 0)) = self.group_of(bearer) else { return };
        let Some(g) = &self.lanes[lane as usize].group else { return };
        for i in from..out.dropped.len() {
            let (_, _, sdu, cause) = out.dropped[i];
            // What the first receiver lost by itself is not the sender's.
            if !matches!(cause, DropCause::BufferFull | DropCause::Aqm | DropCause::DiscardTimer) {
                continue;
            }
            for m in &g.members[1..] {
                bearers.drop_copy(m.bearer, End::Network, sdu.serial, cause, out);
            }
        }
    }
}

impl Lane {
    /// What the trace says of a block sent `decode` TTIs ago, at a receiver of its group:
    /// with the packets that are its own.
    fn record_at(
        &self,
        tti: Tti,
        step: Step,
        m: &Member,
        decode: u64,
        bearers: &Bearers,
        parts: &Parts,
    ) -> TraceRecord {
        let layers = &bearers[m.bearer].layers;
        let mut packets: Vec<_> =
            parts.iter().flat_map(|(_, pdu)| layers.packets_of(self.end, pdu)).collect();
        packets.dedup();
        let sent = process_of(Tti(tti.0 - decode));
        let record = TraceRecord::new(tti, step, TraceLink::Sidelink, self.tx).with(self.harq.get(sent));
        TraceRecord { peer: Some(m.ue), packets, ..record }
    }
}

impl LaneAir<'_> {
    /// What arrives at the receivers of a group in `tti`.
    pub(super) fn air_group(&mut self, g: &LaneGrant) {
        let process = process_of(self.tti);
        let Some(group) = &self.sidelink.lanes[g.lane as usize].group else { return };
        let all = group.members.len();
        let mut missing = false;
        for k in 0..all {
            let Some(m) = self.member(g.lane, k).filter(|m| !m.received[process].decoded) else { continue };
            let rx = m.ue;
            let received = if self.is_transmitting(rx) { None } else { self.information(g, rx) };
            let s = &mut *self.sidelink;
            let l = &mut s.lanes[g.lane as usize];
            let errors = self.cells[self.links[l.tx].serving].uplink.config.data_errors;
            let (block, Some(group)) = (l.receiver.received[process].block, &mut l.group) else { return };
            let h = &mut group.members[k].received[process];
            if let (Some(mi), Some(block)) = (received, block) {
                h.soft.add(&block, mi);
                h.decoded = !errors || h.uniform >= block.combined_error(&h.soft);
            }
            missing |= !h.decoded;
        }
        let l = &mut self.sidelink.lanes[g.lane as usize];
        l.harq.get_mut(process).state = State::Awaiting;
        l.receiver.received[process].decoded = !missing;
    }

    fn member(&self, lane: u32, k: usize) -> Option<&Member> {
        let l = &self.sidelink.lanes[lane as usize];
        l.group.as_ref()?.members.get(k)
    }
}

impl Check<'_> {
    /// Invariants of groups: the copies of all packets are in, and a block that is on the air is
    /// kept until it was sent for the last time.
    pub(super) fn check_group(&self, l: &Lane) {
        let tti = self.tti;
        let Some(g) = &l.group else { return };
        let pushed = |m: &Member| self.bearers[m.bearer].layers.pushed(End::Network);
        assert!(g.members.iter().all(|m| pushed(m) == pushed(&g.members[0])), "{tti:?}: copies are missing");
        assert!(
            !l.harq.get(process_of(tti)).parts.is_empty(),
            "{tti:?}: a block of a group without its contents"
        );
        for m in &g.members {
            let h = &m.received[process_of(tti)];
            assert!(!h.taken || h.decoded, "{tti:?}: a receiver has taken what it could not decode");
        }
    }
}

/// Tells the draws of a group's receivers from those of lanes.
const GROUP: u64 = 1 << 60;
