//! Grants: who sends on which resource blocks in a coming TTI.

use lasthop_units::{CellId, Duration, Instant, Tti, UeId};

use super::super::trace::Step;
use super::super::{Due, RadioNetwork};
use super::state::{Content, Granted};
use crate::mac::harq::PROCESSES;
use crate::mac::scheduler::{Candidate, Domain, Policy};
use crate::mac::uplink::{Shares, fewest_blocks, largest_allocation};
use crate::phy::RbSet;
use lasthop_bearer::Direction;
use lasthop_radio::lte::{Mcs, McsTable};

/// What RLC, PDCP and MAC add to what a report counts [B]: a grant is this much larger.
const OVERHEAD: u64 = 8;

/// What a UE with a full buffer has waiting [B]: more than any transport block.
const ENDLESS: u64 = 1 << 40;

impl RadioNetwork {
    /// Gives the uplink resource blocks of the TTI `timing.grant` ahead to the active UEs of
    /// `cell`.
    pub(in crate::network) fn schedule_uplink(&mut self, now: Instant, tti: Tti, cell: CellId) {
        let target = tti.plus(self.cells[cell].config.timing.grant);
        if let Some(s) = &self.sidelink {
            self.cells[cell].uplink.plan.slot(target).used |= s.reserved(target);
        }
        let mut active = std::mem::take(&mut self.cells[cell].active[Direction::Uplink.index()]);
        active.retain(|ue| {
            let link = &mut self.links[*ue];
            let cx = &mut self.contexts[*ue];
            let full = link.full_buffer[Direction::Uplink.index()];
            let wants = full || cx.uplink.view.is_requested() || cx.uplink.view.waiting() > 0;
            cx.active[Direction::Uplink.index()] = wants;
            wants
        });
        if !active.is_empty() {
            if self.cells[cell].uplink.config.adaptive_retransmissions {
                self.gather_retransmissions(tti, target, cell);
            }
            self.gather_uplink(tti, target, cell, &active);
            self.grant_uplink(now, tti, target, cell);
        }
        let list = &mut self.cells[cell].active[Direction::Uplink.index()];
        debug_assert!(list.is_empty(), "nobody wakes during scheduling");
        *list = active;
    }

    /// The UEs that could send in `target`, and their order.
    fn gather_uplink(&mut self, tti: Tti, target: Tti, cell: CellId, active: &[UeId]) {
        let process = (target.0 % PROCESSES as u64) as usize;
        self.cells[cell].uplink.candidates.clear();
        for ue in active {
            self.sound(tti, cell, *ue);
            let c = &mut self.cells[cell].uplink;
            let full = self.links[*ue].full_buffer[Direction::Uplink.index()];
            let link = &mut self.links[*ue].uplink;
            let cx = &mut self.contexts[*ue].uplink;
            let u = &mut self.ues[*ue].uplink;
            let busy = link.harq.get(process).state != crate::mac::harq::State::Idle
                || cx.view.granted_until() == Some(target)
                || u.access.is_running() && c.plan.granted(target).iter().any(|g| g.ue == *ue);
            if busy {
                continue;
            }
            let mcs = c.adaptation.mcs(cx.quality.level().unwrap_or(f32::NEG_INFINITY));
            let blocks = c.band.len();
            let rate = mcs.map_or(0, |m| tbs_bytes(m, largest_allocation(blocks)) * 8);
            c.candidates.push(Candidate {
                ue: *ue,
                backlog: if full { ENDLESS } else { cx.view.waiting() },
                head_delay: Duration::ZERO,
                wideband_rate: f64::from(rate.max(1)),
                average: cx.average.at(tti, c.config.window),
                qci: cx.qci,
                guaranteed: cx.guaranteed,
                served: cx.served,
            });
        }
        let c = &mut self.cells[cell].uplink;
        c.weights.clear();
        c.weights.resize(c.candidates.len(), 0.0);
        c.scheduler.weigh(tti, &c.candidates, &mut c.weights);
        c.order.clear();
        c.order.extend((0..c.weights.len()).filter(|i| c.weights[*i] > 0.0));
        let (weights, of) = (&c.weights, &c.candidates);
        // Of equal weights the UE first that was served longest ago, else in the order of the UEs:
        // by its number alone the first of two UEs with the same channel would starve the other
        // under a maximum-rate scheduler.
        let order = |a: &usize, b: &usize| {
            weights[*b].total_cmp(&weights[*a]).then(of[*a].served.cmp(&of[*b].served)).then(a.cmp(b))
        };
        c.order.sort_unstable_by(order);
    }

    /// Hands the free blocks of `target` out in the order of the weights.
    fn grant_uplink(&mut self, now: Instant, tti: Tti, target: Tti, cell: CellId) {
        let persistent = self.persistent_blocks(target, cell);
        let c = &mut self.cells[cell].uplink;
        let mut free = c.band.without(c.plan.slot(target).used).without(persistent);
        let (min, fixed) = (c.config.min_blocks, c.config.shares == Shares::Fixed);
        let alone = c.scheduler.domain() == Domain::Time;
        let fixed_share = largest_allocation((free.len() / (c.order.len() as u32).max(1)).max(min));
        for rank in 0..self.cells[cell].uplink.order.len() {
            let c = &self.cells[cell].uplink;
            let left = (c.order.len() - rank) as u32;
            let share = match (alone, fixed) {
                (true, _) => free.len(),
                (false, true) => fixed_share,
                (false, false) => (free.len() / left).max(min),
            };
            let ue = c.candidates[c.order[rank]].ue;
            let activation = self.size_of_activation(target, cell, ue, free);
            let Some(granted) = activation.or_else(|| self.size_of_grant(cell, ue, share, free)) else {
                if free.is_empty() {
                    break;
                }
                continue;
            };
            free = free.without(granted.rbs);
            self.grant(now, tti, target, cell, granted);
            if activation.is_some() {
                self.activate_persistent(target, cell, &granted);
            }
        }
    }

    /// What `ue` gets out of at most `share` blocks of `free`.
    fn size_of_grant(&self, cell: CellId, ue: UeId, share: u32, free: RbSet) -> Option<Granted> {
        let c = &self.cells[cell].uplink;
        let cx = &self.contexts[ue].uplink;
        let full = self.links[ue].full_buffer[Direction::Uplink.index()];
        let waiting = if full { ENDLESS } else { cx.view.waiting() };
        let most = largest_allocation(share.min(free.longest_run().len()));
        if waiting == 0 {
            // A request: a report of 2 B fits into anything.
            let most = most.min(c.config.request_blocks);
            let (blocks, mcs) = c.fit(cx, most, 1).unwrap_or((most, c.adaptation.lowest()));
            let content = if c.config.stealing { Content::New } else { Content::ReportOnly };
            let bytes = tbs_bytes(mcs, blocks);
            return Some(Granted { ue, rbs: c.place(free, blocks.max(1))?, mcs, bytes, content });
        }
        let (most, mcs) = if full { c.fit_full(cx, most)? } else { c.fit(cx, most, OVERHEAD as u32)? };
        let (blocks, bytes) = match c.config.shares {
            Shares::Fixed => (most, tbs_bytes(mcs, most)),
            Shares::Flexible => {
                fewest_blocks(Mcs::new(mcs).i_tbs(McsTable::Uplink)?, waiting + OVERHEAD, most)?
            }
        };
        let min = c.config.min_blocks.min(most);
        let (blocks, bytes) = if blocks < min { (min, tbs_bytes(mcs, min)) } else { (blocks, bytes) };
        Some(Granted { ue, rbs: c.place(free, blocks)?, mcs, bytes, content: Content::New })
    }

    /// The grant goes out: the UE hears it now and sends in `target`.
    pub(in crate::network) fn grant(
        &mut self,
        _now: Instant,
        tti: Tti,
        target: Tti,
        cell: CellId,
        granted: Granted,
    ) {
        let c = &mut self.cells[cell].uplink;
        let slot = c.plan.slot(target);
        // No block twice: the rest of the oracle looks at what is sent.
        debug_assert!(slot.used.and(granted.rbs).is_empty(), "{target:?}: a block twice");
        slot.used |= granted.rbs;
        slot.granted.push(granted);
        let cx = &mut self.contexts[granted.ue].uplink;
        let data = if granted.content == Content::ReportOnly { 0 } else { granted.bytes };
        let answers = cx.view.is_requested();
        cx.view.on_grant(target, data);
        cx.average.serve(tti, f64::from(granted.bytes) * 8.0, c.config.window);
        cx.served = Some(tti);
        self.calendar.note(target, Due::Transmit);
        self.trace.step(tti, Step::Grant, granted.ue, target, u64::from(granted.bytes), granted.rbs.len());
        if self.cells[cell].uplink.config.control_errors && self.misses_grant(tti, cell, granted.ue) {
            self.grant_missed(target, cell, granted.ue);
            return;
        }
        let (cx, sent) = (&mut self.contexts[granted.ue].uplink, self.ues[granted.ue].uplink.power);
        if let Some((at, command)) = cx.power_command(tti, &self.cells[cell].uplink, sent) {
            let (ue, blocks) = (granted.ue, granted.rbs.len() as u8);
            self.calendar.note(at, Due::PowerCommand { ue, command, blocks });
        }
        // The UE's side.
        let u = &mut self.ues[granted.ue].uplink;
        u.bsr.on_grant(tti);
        if answers {
            u.bsr.on_answer();
        }
        u.granted_until = u.granted_until.max(Some(target));
        if u.access.is_resolving() {
            // TS 36.321 clause 5.1.5: "the PDCCH transmission is addressed to the C-RNTI and
            // contains an UL grant for a new transmission; consider this Contention Resolution
            // successful".
            u.access.stop();
        }
    }

    /// The UE has not heard its grant and will send nothing. The eNB finds no energy where it looks
    /// for the block, and takes the grant for not given.
    #[cold]
    fn grant_missed(&mut self, target: Tti, cell: CellId, ue: UeId) {
        let decode = self.cells[cell].config.timing.decode_of_uplink();
        self.cells[cell].uplink.plan.slot(target).missed.push(ue);
        self.links[ue].uplink.stats.missed += 1;
        self.calendar.note(target.plus(decode), Due::GrantMissed { ue, target });
    }

    /// Nothing came on the grant for `target`.
    pub(in crate::network) fn grant_unused(&mut self, ue: UeId, target: Tti) {
        self.contexts[ue].uplink.view.on_nothing(target);
        self.wake(ue, Direction::Uplink);
    }
}

/// Size of the transport block of `mcs` on `blocks` [B].
pub(in crate::network) fn tbs_bytes(mcs: u8, blocks: u32) -> u32 {
    let i_tbs = Mcs::new(mcs).i_tbs(McsTable::Uplink);
    i_tbs.and_then(|i| lasthop_radio::lte::tbs_bits(blocks as usize, i)).map_or(0, |bits| bits / 8)
}
