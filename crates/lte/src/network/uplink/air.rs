//! Reception of a cell's uplink in a TTI, after all transmissions.

use lasthop_units::{CellId, IndexVec, Tti, UeId};
use smallvec::SmallVec;

use super::super::calendar::{Agenda, Due};
use super::super::state::{Cell, Link, Ue, UeContext};
use crate::mac::downlink::LinkStats;
use crate::mac::harq::{Reception, State, process_of};
use crate::network::bearers::Bearers;
use crate::network::channel::Channel;
use crate::network::reception::{HeardBlock, UplinkBlock, UplinkBlocks};
use crate::network::state::plan::{Content, Granted};
use crate::phy::TTI;
use lasthop_radio::lte::{ErrorModel, Mcs, McsTable, SoftBuffer};

/// Reception by a cell in one TTI.
pub(in crate::network) struct UplinkAir<'a> {
    pub tti: Tti,
    pub id: CellId,
    pub cell: &'a Cell,
    pub links: &'a mut IndexVec<UeId, Link>,
    pub contexts: &'a mut IndexVec<UeId, UeContext>,
    pub ues: &'a IndexVec<UeId, Ue>,
    /// Bearers, for the invariants.
    pub bearers: &'a Bearers,
    pub air: &'a mut Channel,
    pub calendar: &'a mut Agenda,
    /// Blocks that are received later.
    pub later: Option<&'a mut UplinkBlocks>,
}

/// Decodes what the cells have received.
pub(in crate::network) fn decode(
    blocks: &UplinkBlocks,
    tti: Tti,
    links: &mut IndexVec<UeId, Link>,
    contexts: &mut IndexVec<UeId, UeContext>,
) {
    for (block, heard) in blocks.received() {
        let reception = &mut contexts[block.ue].uplink.received[process_of(tti)];
        settle(block, heard, &mut links[block.ue].uplink.stats, reception);
    }
}

/// Takes the reception of `block` into the counters, and decides whether it is decoded.
#[inline]
fn settle(block: &UplinkBlock, heard: HeardBlock, stats: &mut LinkStats, r: &mut Reception) {
    stats.sinr_count += 1;
    stats.sinr_db_sum += heard.snr_db;
    stats.ttis += 1;
    stats.resource_blocks += u64::from(block.rbs.len());
    r.decoded = heard.decodes(&block.block, block.errors, block.is_first, r);
    stats.errors += u64::from(!r.decoded);
}

impl UplinkAir<'_> {
    /// Decides which transmissions of this TTI the cell decodes; with `later`, that follows from
    /// these blocks.
    pub fn decide(&mut self) {
        if self.cell.uplink.plan.is_busy(self.tti) {
            self.run();
            if cfg!(debug_assertions) {
                self.check();
            }
        }
    }

    /// True if the grant for this TTI was used.
    pub(super) fn sends(&self, g: &Granted) -> bool {
        self.ues[g.ue].uplink.sends(self.tti, g)
    }

    /// Decides the reception of each transmission to the cell, after all of this TTI.
    fn run(&mut self) {
        let timing = self.cell.config.timing;
        let (decode, lead) = (timing.decode_of_uplink(), timing.uplink_lead);
        for i in 0..self.cell.uplink.plan.granted(self.tti).len() {
            let g = self.cell.uplink.plan.granted(self.tti)[i];
            let process = process_of(self.tti);
            if !self.sends(&g) {
                // MAC of the UE was reset, or the UE has given the block up, or Msg3 has taken the
                // process.
                self.miss(&g);
                continue;
            }
            self.begin(&g);
            let collided = g.content == Content::Msg3 && self.is_collided(i);
            let cx = &mut self.contexts[g.ue].uplink;
            cx.on_transmission(process, &g, collided);
            let r = &mut cx.received[process];
            r.decoded = false;
            if let Some(block) = r.block.filter(|_| !collided) {
                let (cell, errors) = (self.id, self.cell.uplink.config.data_errors);
                let is_first = r.soft.transmissions() == 0;
                let block = UplinkBlock { cell, ue: g.ue, rbs: g.rbs, block, is_first, errors };
                if let Some(later) = &mut self.later {
                    later.arriving.push(block);
                } else {
                    let heard = block.receive(self.tti, self.air.get());
                    settle(&block, heard, &mut self.links[g.ue].uplink.stats, r);
                }
            }
            let process = process as u8;
            let due = Due::UplinkDecoded { ue: g.ue, process, sent: self.tti };
            if lead.is_zero() {
                self.calendar.note(self.tti.plus(decode), due);
            } else {
                let at = self.tti.plus(decode).start(TTI) - lead;
                self.calendar.note_early(at, due);
            }
        }
    }

    /// The eNB receives nothing on the grant `g`. A process that the UE has flushed, as after an
    /// Msg3 whose contention was not resolved, is free at the eNB too.
    fn miss(&mut self, g: &Granted) {
        let process = process_of(self.tti);
        let known = &mut self.contexts[g.ue].uplink.granted[process];
        let flushed = self.ues[g.ue].uplink.harq.get(process).state == State::Idle;
        if g.content == Content::Again && known.state == State::Failed && flushed {
            known.state = State::Idle;
        }
    }

    /// Begins the reception of a new block, or of a retransmission.
    #[inline]
    fn begin(&mut self, g: &Granted) {
        let process = process_of(self.tti);
        let received = &mut self.contexts[g.ue].uplink.received[process];
        if g.content == Content::Again {
            (received.sent, received.missed) = (self.tti, false);
            return;
        }
        let block = ErrorModel::of_grant(Mcs::new(g.mcs), McsTable::Uplink, g.rbs.len() as usize);
        let combining = self.cell.uplink.config.harq.combining;
        let uniform = self.links[g.ue].uplink.errors.uniform(self.tti.0);
        *received = Reception::new(self.tti, block, SoftBuffer::new(combining.into()), uniform);
    }

    /// True if other UEs send their Msg3 on the same blocks, because all had the same preamble.
    /// Their demodulation reference signals are the same too, so none is decoded, unless the power
    /// of one exceeds the sum of the others by the capture ratio.
    fn is_collided(&mut self, i: usize) -> bool {
        let all = self.cell.uplink.plan.granted(self.tti);
        let mine = all[i];
        let others: SmallVec<[UeId; 4]> = (0..all.len())
            .filter(|j| *j != i && !all[*j].rbs.and(mine.rbs).is_empty() && self.sends(&all[*j]))
            .map(|j| all[j].ue)
            .collect();
        if others.is_empty() {
            return false;
        }
        let Some(ratio) = self.cell.uplink.config.random_access.capture else { return true };
        let rest: f64 = others.iter().map(|ue| self.received_power_mw(*ue)).sum();
        self.received_power_mw(mine.ue) < rest * lasthop_radio::linear(ratio)
    }

    /// Power received at `cell` of each block that `ue` transmits [mW].
    fn received_power_mw(&mut self, ue: UeId) -> f64 {
        f64::from(self.air.get().uplink_gain(self.tti, self.id, ue))
            * f64::from(self.ues[ue].uplink.power.last_block_mw())
    }
}
