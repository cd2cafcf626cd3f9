//! Scheduling of the uplink: grants of resource blocks in a coming TTI.

use lasthop_units::{Duration, Tti, UeId};

use super::super::trace::Step;
use super::Granting;
use crate::mac::harq::{State, process_of};
use crate::mac::scheduler::{Candidate, Domain, Policy};
use crate::mac::uplink::{Shares, fewest_blocks, largest_allocation, tbs_bytes};
use crate::network::calendar::{Due, Notes};
use crate::network::reach::Reach;
use crate::network::state::plan::{Content, Granted};
use crate::network::state::sidelink::reserved;
use crate::phy::RbSet;
use lasthop_bearer::Direction;
use lasthop_radio::lte::{Mcs, McsTable};

/// Bytes of RLC, PDCP and MAC beyond those that a report counts: a grant is larger by them.
const OVERHEAD: u64 = 8;

/// TTIs after downlink data in which proactive grants are sent.
const PROACTIVE: u64 = 100;

/// Data of a UE with a full buffer [B]: more than any transport block.
const ENDLESS: u64 = 1 << 40;

impl<R: Reach> Granting<'_, R> {
    /// Adds `ue`, which has data to send, to the active list, unless it is between cells.
    pub(super) fn wake(&mut self, ue: UeId) {
        if !self.links[ue].away {
            self.cell.wake(ue, &mut self.contexts[ue], Direction::Uplink);
        }
    }

    /// The eNB has received nothing on the grant for `target`.
    pub(in crate::network) fn grant_unused(&mut self, ue: UeId, target: Tti) {
        self.contexts[ue].uplink.view.on_nothing(target);
        self.wake(ue);
    }

    /// Processes a scheduling request that was sent in `sent`.
    pub(in crate::network) fn on_request(&mut self, ue: UeId, sent: Tti) {
        if !self.links[ue].away {
            self.contexts[ue].uplink.view.on_request(sent);
            self.wake(ue);
        }
    }

    /// Grants without a request, and schedules the next such grant while there is downlink data.
    pub(in crate::network) fn grant_proactively(&mut self, ue: UeId) {
        let cx = &mut self.contexts[ue];
        cx.uplink.proactive = false;
        let recent = cx.downlink.served.is_some_and(|t| t.plus(PROACTIVE) > self.tti);
        if recent && self.links[ue].rrc.is_connected() && !self.links[ue].away {
            cx.uplink.view.request();
            let period = self.cell.uplink.config.proactive_period.as_millis();
            cx.uplink.note_downlink(self.tti, ue, period, self.calendar);
            self.wake(ue);
        }
    }

    /// Blocks that persistent grants of the cell's sidelinks have in `tti`.
    pub(super) fn reserved_for_sidelinks(&self, tti: Tti) -> RbSet {
        reserved(self.destinations, tti, |ue| self.links[ue].serving == self.id)
    }

    /// Allocates the uplink resource blocks of the TTI `timing.grant` ahead to the active UEs of
    /// the cell.
    pub(in crate::network) fn schedule(&mut self) {
        let target = self.tti.plus(self.cell.config.timing.grant);
        if !self.destinations.is_empty() {
            let reserved = self.reserved_for_sidelinks(target);
            self.cell.uplink.plan.slot(target).used |= reserved;
        }
        let mut active = std::mem::take(&mut self.cell.active[Direction::Uplink.index()]);
        active.retain(|ue| {
            let link = &mut self.links[*ue];
            let cx = &mut self.contexts[*ue];
            let full = link.full_buffer[Direction::Uplink.index()];
            let wants = full || cx.uplink.view.is_requested() || cx.uplink.view.waiting() > 0;
            cx.active[Direction::Uplink.index()] = wants;
            wants
        });
        if !active.is_empty() {
            if self.cell.uplink.config.adaptive_retransmissions {
                self.gather_retransmissions(target);
            }
            self.gather_uplink(target, &active);
            self.grant_uplink(target);
        }
        let list = &mut self.cell.active[Direction::Uplink.index()];
        debug_assert!(list.is_empty(), "no UE becomes active during scheduling");
        *list = active;
    }

    /// Collects the UEs that may transmit in `target`, in the order of their metrics: the whole
    /// band is one group.
    fn gather_uplink(&mut self, target: Tti, active: &[UeId]) {
        let process = process_of(target);
        let widest = largest_allocation(self.cell.uplink.band.len());
        self.cell.uplink.candidates.clear();
        for ue in active {
            if !self.monitors_pdcch(*ue) {
                continue;
            }
            self.sound(*ue);
            let c = &mut self.cell.uplink;
            let full = self.links[*ue].full_buffer[Direction::Uplink.index()];
            let cx = &mut self.contexts[*ue].uplink;
            let msg3 = |g: &Granted| g.ue == *ue && g.content == Content::Msg3;
            let busy = cx.granted[process].state != State::Idle
                || cx.view.granted_until() == Some(target)
                || c.plan.granted(target).iter().any(msg3);
            if busy {
                continue;
            }
            let mcs = c.adaptation.mcs(cx.quality.level().unwrap_or(f32::NEG_INFINITY));
            let rate = mcs.map_or(0, |m| tbs_bytes(m, widest) * 8);
            c.candidates.push(Candidate {
                ue: *ue,
                backlog: if full { ENDLESS } else { cx.view.waiting() },
                head_delay: Duration::ZERO,
                wideband_rate: f64::from(rate.max(1)),
                average: cx.average.at(self.tti, &c.window),
                qci: cx.qci,
                guaranteed: cx.guaranteed,
                served: cx.served,
            });
        }
        let c = &mut self.cell.uplink;
        c.weights.clear();
        c.weights.resize(c.candidates.len(), 0.0);
        c.scheduler.weigh(self.tti, &c.candidates, &mut c.weights);
        let domain = c.scheduler.domain();
        for (weight, candidate) in c.weights.iter_mut().zip(&c.candidates) {
            *weight = domain.metric_of_band(*weight, candidate);
        }
        // Of equal metrics the UE served longest ago is first, else the order is that of the UEs:
        // by number alone the first of two UEs with the same channel would get every grant of a
        // maximum-rate scheduler.
        let ranks = c.weights.iter().zip(&c.candidates).enumerate().filter(|(_, (w, _))| **w > 0.0);
        c.order.clear();
        c.order.extend(ranks.map(|(i, (w, candidate))| (!w.to_bits(), candidate.served, i)));
        c.order.sort_unstable();
    }

    /// Allocates the free blocks of `target` in the order of the metrics.
    fn grant_uplink(&mut self, target: Tti) {
        let persistent = self.persistent_blocks(target);
        let c = &mut self.cell.uplink;
        let mut free = c.band.without(c.plan.slot(target).used).without(persistent);
        let (min, fixed) = (c.config.min_blocks, c.config.shares == Shares::Fixed);
        let alone = c.scheduler.domain() == Domain::Time;
        let fixed_share = largest_allocation((free.len() / (c.order.len() as u32).max(1)).max(min));
        for rank in 0..self.cell.uplink.order.len() {
            let c = &self.cell.uplink;
            let left = (c.order.len() - rank) as u32;
            let share = match (alone, fixed) {
                (true, _) => free.len(),
                (false, true) => fixed_share,
                (false, false) => (free.len() / left).max(min),
            };
            let ue = c.candidates[c.order[rank].2].ue;
            let inactive = self.links[ue].uplink.persistent.is_some_and(|p| p.grant().is_none());
            let activation = if inactive { self.size_of_activation(target, ue, free) } else { None };
            let Some(granted) = activation.or_else(|| self.size_of_grant(ue, share, free)) else {
                if free.is_empty() {
                    break;
                }
                continue;
            };
            free = free.without(granted.rbs);
            self.grant(target, granted);
            if activation.is_some() {
                self.activate_persistent(target, &granted);
            }
        }
    }

    /// The grant for `ue`, of at most `share` blocks of `free`.
    fn size_of_grant(&self, ue: UeId, share: u32, free: RbSet) -> Option<Granted> {
        let c = &self.cell.uplink;
        let cx = &self.contexts[ue].uplink;
        let full = self.links[ue].full_buffer[Direction::Uplink.index()];
        let waiting = if full { ENDLESS } else { cx.view.waiting() };
        let most = largest_allocation(share.min(free.longest().1));
        if waiting == 0 {
            // A request: any grant has room for a report of 2 B.
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

    /// Sends a grant, which the UE receives now and uses in `target`.
    pub(in crate::network) fn grant(&mut self, target: Tti, granted: Granted) {
        let c = &mut self.cell.uplink;
        let slot = c.plan.slot(target);
        // No block has two grants: the other invariants check what is sent.
        debug_assert!(slot.used.and(granted.rbs).is_empty(), "{target:?}: a block twice");
        slot.used |= granted.rbs;
        // The first grant makes the TTI one that is processed.
        let is_first = slot.granted.is_empty();
        slot.granted.push(granted);
        let cx = &mut self.contexts[granted.ue].uplink;
        let data = if granted.content == Content::ReportOnly { 0 } else { granted.bytes };
        let (answers, awaited) = (cx.view.is_requested(), cx.view.is_awaited());
        cx.view.on_grant(target, data);
        cx.average.serve(self.tti, f64::from(granted.bytes) * 8.0, &c.window);
        cx.served = Some(self.tti);
        if is_first {
            self.calendar.note(target, Due::Transmit);
        }
        if let Some(drx) = &self.cell.config.downlink.drx {
            let cx = &mut self.contexts[granted.ue];
            cx.stay_awake(self.tti, drx);
            if awaited {
                // A scheduling request is pending until the report is in a block.
                cx.downlink.awake_until = cx.downlink.awake_until.max(target.plus(1));
            }
        }
        self.trace.step(self.tti, Step::Grant, granted.ue, target, u64::from(granted.bytes), granted.rbs);
        if self.cell.uplink.config.control_errors && self.misses_grant(granted.ue) {
            self.grant_missed(target, granted.ue);
            return;
        }
        let cx = &mut self.contexts[granted.ue].uplink;
        if let Some((at, command)) = cx.power_command(self.tti, &self.cell.uplink) {
            let (ue, blocks) = (granted.ue, granted.rbs.len() as u8);
            self.calendar.note(at, Due::PowerCommand { ue, command, blocks });
        }
        self.uu.grant(self.tti, granted.ue, target, answers);
    }

    /// Discontinuous reception: true if `ue` can receive a grant now.
    #[inline]
    fn monitors_pdcch(&self, ue: UeId) -> bool {
        let drx = self.cell.config.downlink.drx.as_ref();
        self.contexts[ue].monitors_pdcch(self.tti, drx, self.links[ue].downlink.phase)
    }

    /// Measures the channel of `ue` if the eNB's record is stale.
    #[inline]
    pub(in crate::network) fn sound(&mut self, ue: UeId) {
        let (c, cx) = (&self.cell.uplink, &mut self.contexts[ue].uplink);
        if cx.quality.is_stale(self.tti, c.srs_period_ttis) {
            cx.learn_sounding(self.tti, c, &self.uu.sounding(self.tti, self.id, ue, c));
        }
    }

    /// True if `ue` misses a grant.
    #[inline]
    pub(super) fn misses_grant(&mut self, ue: UeId) -> bool {
        let near = !self.links[ue].uplink.pinned && self.uu.receives_grants(self.tti, self.id, ue, self.cell);
        !near && self.uu.misses_control(self.tti, self.id, ue, self.cell)
    }

    /// The UE has not received its grant and will not transmit. The eNB detects no energy on the
    /// blocks, and removes the grant from its record.
    #[cold]
    fn grant_missed(&mut self, target: Tti, ue: UeId) {
        let decode = self.cell.config.timing.decode_of_uplink();
        self.cell.uplink.plan.slot(target).missed.push(ue);
        self.links[ue].uplink.stats.missed += 1;
        self.calendar.note(target.plus(decode), Due::GrantMissed { ue, target });
    }
}
