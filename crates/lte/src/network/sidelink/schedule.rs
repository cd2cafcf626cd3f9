//! Scheduling of sidelinks: grants of blocks in a coming TTI to destinations.

use lasthop_units::{CellId, Id, IndexVec, Tti, UeId};

use super::super::RadioNetwork;
use super::super::calendar::{Agenda, Due};
use crate::mac::harq::process_of;
use crate::mac::sidelink::{CqiStep, LinkQuality, Reuse, cqi_at, mcs_of_cqi};
use crate::mac::uplink::{decibels, fewest_blocks, largest_allocation, tbs_bytes};
use crate::network::state::sidelink::{
    Destination, Roles, Sidelink, SidelinkGrant, SidelinkGrants, reserved,
};
use crate::network::state::{Cell, Link};
use crate::network::trace::{Step, Trace, TraceLink, TraceRecord};
use crate::network::uu::Uu;
use crate::phy::RbSet;
use crate::phy::air::Air;
use lasthop_engine::math::db;
use lasthop_radio::lte::{Mcs, McsTable};

/// Bytes of RLC, PDCP and MAC beyond those that a report counts: a grant is larger by them.
const OVERHEAD: u64 = 8;

/// The subheader of an SDU and the header of a PDU of RLC: a block has to have room for more [B].
const BARE: u32 = 2;

/// Resource blocks of a grant with the lowest MCS where link adaptation allows none.
const PROBE: u32 = 10;

/// Validity of the table of conflicts [TTI]: UEs move little in that time.
const CONFLICTS_HOLD: u64 = 100;

/// The eNB of a cell that grants blocks to its destinations in one TTI.
pub(in crate::network) struct SidelinkScheduling<'a> {
    pub tti: Tti,
    pub id: CellId,
    pub cell: &'a mut Cell,
    pub destinations: &'a mut [Destination],
    pub grants: &'a mut SidelinkGrants,
    pub links: &'a IndexVec<UeId, Link>,
    pub uu: Uu<'a>,
    pub calendar: &'a mut Agenda,
    pub trace: &'a mut Trace,
}

impl RadioNetwork {
    /// The scheduling of the destinations of `cell` in `tti`; None without destinations.
    pub(in crate::network) fn sidelink_scheduling(
        &mut self,
        tti: Tti,
        cell: CellId,
    ) -> Option<SidelinkScheduling<'_>> {
        let Sidelink { destinations, grants, .. } = self.sidelink.as_deref_mut()?;
        Some(SidelinkScheduling {
            tti,
            id: cell,
            cell: &mut self.cells[cell],
            destinations,
            grants,
            links: &self.links,
            uu: Uu::new(&mut self.ues, &mut self.air),
            calendar: &mut self.calendar,
            trace: &mut self.trace,
        })
    }
}

/// Blocks of a TTI for sidelinks.
struct Room {
    /// Destinations share no blocks.
    alone: bool,
    /// Blocks without any grant.
    exclusive: RbSet,
    /// These and the blocks of other destinations.
    shared: RbSet,
}

/// A transport block: resource blocks, MCS, and size [B].
#[derive(Clone, Copy, Debug)]
struct Fit {
    blocks: u32,
    mcs: u8,
    bytes: u32,
}

impl SidelinkScheduling<'_> {
    /// Grants the blocks of a persistent occasion to `destination`, whose UE has data to send, with
    /// the MCS of the activation.
    pub(in crate::network) fn occasion(&mut self, destination: u32) {
        let l = &self.destinations[destination as usize];
        let (Some(p), tx) = (l.persistent, l.tx) else { return };
        let busy = self.grants.of[destination as usize].busy[process_of(self.tti)];
        let mcs = p.mcs.or_else(|| {
            self.learn_sidelink(destination);
            let mcs = Mcs::new(self.mcs_or_lowest(destination, p.rbs.len())?);
            Some(mcs.decodable_on(McsTable::Uplink, p.rbs.len() as usize).index())
        });
        // A retransmission occupies these blocks already: the occasion is left to it.
        let taken = self.granted_here(self.tti).any(|g| g.again && !g.rbs.and(p.rbs).is_empty());
        if let (Some(mcs), false) = (mcs, busy || taken) {
            if let Some(p) = &mut self.destinations[destination as usize].persistent {
                p.mcs = Some(mcs);
            }
            let bytes = tbs_bytes(mcs, p.rbs.len());
            let grant = SidelinkGrant { destination, rbs: p.rbs, mcs, bytes, again: false };
            self.grants.plan.slot(self.tti).push(grant);
            self.cell.uplink.plan.slot(self.tti).used |= p.rbs;
            self.uu.sidelink_grant(tx, &self.cell.uplink.config.request, self.tti);
        }
    }

    /// Reserves blocks of the TTI `timing.grant` ahead for waiting destinations, before the uplink
    /// of `cell` is scheduled: as many as they need, up to half of the free ones. Otherwise a full
    /// uplink buffer would leave none to any sidelink of the cell.
    #[cold]
    pub(in crate::network) fn hold_for_sidelinks(&mut self) -> RbSet {
        let target = self.tti.plus(self.cell.config.timing.grant);
        let process = process_of(target);
        if self.grants.active.is_empty() {
            return RbSet::EMPTY;
        }
        let c = &self.cell.uplink;
        let free = c.band.without(c.plan.used(target) | self.reserved(target));
        let most = free.len() / 2;
        let mut need = 0;
        for i in 0..self.grants.active.len() {
            let destination = self.grants.active[i];
            let (l, known) =
                (&self.destinations[destination as usize], &self.grants.of[destination as usize]);
            let idle = self.links[l.tx].serving == self.id && !known.busy[process];
            let waiting = known.view.waiting();
            if need >= most || !idle || waiting == 0 {
                continue;
            }
            let bytes = waiting + OVERHEAD + u64::from(l.link.header);
            need += self.fit(destination, bytes, most).map_or(0, |block| block.blocks);
        }
        // From the upper end: the uplink is allocated from the lower one.
        let mut held = RbSet::EMPTY;
        for block in free.iter().skip((free.len() - need.min(most)) as usize) {
            held |= RbSet::range(block, 1);
        }
        self.cell.uplink.plan.slot(target).used |= held;
        held
    }

    /// Releases the reserved blocks to the destinations, after the uplink is scheduled.
    #[cold]
    pub(in crate::network) fn release_to_sidelinks(&mut self, held: RbSet) {
        let target = self.tti.plus(self.cell.config.timing.grant);
        let slot = self.cell.uplink.plan.slot(target);
        slot.used = slot.used.without(held);
    }

    /// Grants the blocks that the uplink leaves in the TTI `timing.grant` ahead to the destinations
    /// of `cell`. Without reuse: the one served longest ago first, an equal share for each. With
    /// reuse: the one with the lowest [`Load`] first, as many blocks as it needs of those that its
    /// neighbours, with which it must not share blocks, have not been granted before it.
    ///
    /// The number of blocks determines the order because a destination that is granted the few
    /// blocks that its neighbours left has not had its turn. A destination that begins to wait has
    /// at least the lowest load of the neighbours with recent grants: it has no advantage from the
    /// time without data.
    pub(in crate::network) fn schedule_sidelinks(&mut self) {
        if self.grants.active.is_empty() {
            return;
        }
        let target = self.tti.plus(self.cell.config.timing.grant);
        let mut order = std::mem::take(&mut self.grants.order);
        self.find_conflicts();
        let room = self.room(target);
        self.order_waiting(&mut order, room.alone);
        let mut roles = std::mem::take(&mut self.grants.roles);
        roles.clear();
        roles.resize(self.links.len(), Roles::default());
        let granted = self.grants.plan.granted(target).iter();
        granted.for_each(|g| self.destinations[g.destination as usize].note_roles(&mut roles));
        if !room.alone {
            order.iter().for_each(|o| self.destinations[o.2 as usize].note_waiting(&mut roles));
        }
        for (i, (.., destination)) in order.iter().enumerate() {
            self.learn_sidelink(*destination);
            if self.is_busy(target, *destination, &roles) {
                continue;
            }
            let free = self.free_for(*destination, target, &room);
            // With shared blocks each destination may have all that its neighbours leave.
            let waiting = (order.len() - i) as u32;
            let share = if room.alone { free.len().div_ceil(waiting) } else { free.len() };
            if let Some(grant) = self.sized(*destination, free, share) {
                self.grant_sidelink(target, grant);
                if !room.alone {
                    // What excludes others from the TTI uses all blocks that it could have had, but
                    // not those that others had before it: what they left is no turn.
                    let excludes = self.excludes_others(*destination, &roles);
                    let used = if excludes { free.longest().1 } else { grant.rbs.len() };
                    self.grants.of[*destination as usize].load.add(self.tti, used);
                }
                self.destinations[*destination as usize].note_roles(&mut roles);
            }
        }
        (self.grants.order, self.grants.roles) = (order, roles);
    }

    /// Puts the waiting destinations of the cell into `order`, the first one first; the others
    /// leave the active list. `alone`: they share no blocks, and their load is 0.
    fn order_waiting(&mut self, order: &mut Vec<(u64, Tti, u32)>, alone: bool) {
        let mut active = std::mem::take(&mut self.grants.active);
        order.clear();
        active.retain(|destination| {
            let l = &self.destinations[*destination as usize];
            let waits = self.grants.of[*destination as usize].view.waiting() > 0;
            if waits && self.links[l.tx].serving == self.id {
                let load = if alone { 0 } else { self.load(*destination) };
                order.push((load, self.grants.of[*destination as usize].served, *destination));
            }
            self.grants.of[*destination as usize].active = waits;
            waits
        });
        self.grants.active = active;
        order.sort_unstable();
    }

    /// The load of `destination`, which waits: if it has just begun to wait, at least the lowest of
    /// the neighbours with recent grants.
    fn load(&mut self, destination: u32) -> u64 {
        let (i, n, tti) = (destination as usize, self.destinations.len(), self.tti);
        if std::mem::take(&mut self.grants.of[i].begins) {
            let SidelinkGrants { of, conflicts, .. } = &*self.grants;
            let neighbours = (0..n).filter(|other| *other != i && conflicts[i * n + other]);
            let lowest = neighbours.filter_map(|other| of[other].load.if_recent(tti)).min();
            self.grants.of[i].load.raise(tti, lowest.unwrap_or(0));
        }
        self.grants.of[i].load.at(tti)
    }

    /// The sidelink grants of the cell in `target`: the plan has those of all cells, each of which
    /// schedules its own band.
    fn granted_here(&self, target: Tti) -> impl Iterator<Item = &SidelinkGrant> {
        let is_here =
            |g: &&SidelinkGrant| self.links[self.destinations[g.destination as usize].tx].serving == self.id;
        self.grants.plan.granted(target).iter().filter(is_here)
    }

    /// Blocks that persistent grants of the cell's destinations have in `target`.
    fn reserved(&self, target: Tti) -> RbSet {
        reserved(self.destinations, target, |ue| self.links[ue].serving == self.id)
    }

    /// The blocks that the uplink and the reservations leave in `target`.
    fn room(&self, target: Tti) -> Room {
        let uplink = &self.cell.uplink;
        let reserved = self.reserved(target);
        // The uplink's blocks, without those of other destinations, which may be shared.
        let mut destinations = RbSet::EMPTY;
        self.granted_here(target).for_each(|g| destinations |= g.rbs);
        let used = uplink.plan.used(target);
        Room {
            alone: self.cell.config.sidelink.reuse == Reuse::None,
            exclusive: uplink.band.without(used | reserved),
            shared: uplink.band.without(used.without(destinations) | reserved),
        }
    }

    /// True if `destination` can have no more in `target`, or its UEs cannot use it.
    fn is_busy(&self, target: Tti, destination: u32, roles: &[Roles]) -> bool {
        let (l, known) = (&self.destinations[destination as usize], &self.grants.of[destination as usize]);
        known.busy[process_of(target)]
            || known.granted_until == Some(target)
            || roles[l.tx.index()].sends
            || self.is_half_duplex() && self.conflicts_in_half_duplex(target, destination, roles)
    }

    /// The blocks of `target` that `destination` may use.
    fn free_for(&self, destination: u32, target: Tti, room: &Room) -> RbSet {
        let granted = self.granted_here(target);
        if room.alone {
            return granted.fold(room.exclusive, |free, g| free.without(g.rbs));
        }
        let n = self.destinations.len();
        let clash =
            |g: &&SidelinkGrant| self.grants.conflicts[destination as usize * n + g.destination as usize];
        granted.filter(clash).fold(room.shared, |free, g| free.without(g.rbs))
    }

    /// A grant for the reported data of `destination`, of at most `share` blocks of `free`; None:
    /// they are too few.
    fn sized(&mut self, destination: u32, free: RbSet, share: u32) -> Option<SidelinkGrant> {
        let (l, known) = (&self.destinations[destination as usize], &self.grants.of[destination as usize]);
        let longest = free.longest().1;
        if longest == 0 {
            return None;
        }
        let bytes = known.view.waiting() + OVERHEAD + u64::from(l.link.header);
        // A share may be too small for anything beyond the headers.
        let fits = self.fit(destination, bytes, share.min(longest));
        let Fit { blocks, mcs, bytes } = fits.or_else(|| self.fit(destination, bytes, longest))?;
        Some(SidelinkGrant { destination, rbs: free.run(blocks)?, mcs, bytes, again: false })
    }

    /// The transport block for `bytes` of `destination` on at most `most` blocks: the fewest that
    /// carry them, or those that carry most. The power is a total over all blocks of PSSCH (TS
    /// 36.213 clause 14.1.1.5), so the MCS falls with their number. None if no block would be
    /// decoded.
    fn fit(&mut self, destination: u32, bytes: u64, most: u32) -> Option<Fit> {
        let l = &self.destinations[destination as usize];
        let least = l.link.header + BARE;
        if !self.cell.uplink.config.power_aware || !matches!(l.link.quality, LinkQuality::Physical) {
            let (most, mcs) = match self.sidelink_mcs(destination, most) {
                Some(mcs) => (most, mcs),
                None => (most.min(PROBE), self.mcs_or_lowest(destination, most)?),
            };
            let mcs = Mcs::new(mcs).decodable_on(McsTable::Uplink, most as usize);
            let (blocks, bytes) = fewest_blocks(mcs.i_tbs(McsTable::Uplink)?, bytes, most)?;
            return Some(Fit { blocks, mcs: mcs.index(), bytes });
        }
        let on = |blocks: u32, mcs: u8| {
            let mcs = Mcs::new(mcs).decodable_on(McsTable::Uplink, blocks as usize).index();
            Fit { blocks, mcs, bytes: tbs_bytes(mcs, blocks) }
        };
        let mut best: Option<Fit> = None;
        for blocks in (1..=most).filter(|n| largest_allocation(*n) == *n) {
            let Some(mcs) = self.sidelink_mcs(destination, blocks) else { break };
            let fit = on(blocks, mcs);
            if best.is_none_or(|best| fit.bytes > best.bytes) {
                best = Some(fit);
            }
            if u64::from(fit.bytes) >= bytes {
                break;
            }
        }
        let is_of_use = |fit: &Fit| fit.bytes > least;
        best.filter(is_of_use).or_else(|| {
            let blocks = largest_allocation(most.min(PROBE));
            self.mcs_or_lowest(destination, blocks).map(|mcs| on(blocks, mcs)).filter(is_of_use)
        })
    }

    /// True if a UE of `destination` could not serve another waiting destination in the same TTI:
    /// it has one sender, or one radio.
    fn excludes_others(&self, destination: u32, roles: &[Roles]) -> bool {
        let l = &self.destinations[destination as usize];
        let tx = &roles[l.tx.index()];
        let receiver_waits = || l.receivers().any(|rx| roles[rx.index()].waiting_to_send > 0);
        tx.waiting_to_send > 1 || self.is_half_duplex() && (tx.waiting_to_receive > 0 || receiver_waits())
    }

    fn is_half_duplex(&self) -> bool {
        self.cell.config.sidelink.half_duplex
    }

    /// True if the receiver of `destination` transmits in `target`, or its sender receives another
    /// destination: a UE with one radio does not do both. The receivers of a group are not
    /// considered: among many of them there is always one that transmits.
    fn conflicts_in_half_duplex(&self, target: Tti, destination: u32, roles: &[Roles]) -> bool {
        let l = &self.destinations[destination as usize];
        let uplink = || self.cell.uplink.plan.granted(target).iter();
        roles[l.tx.index()].receives
            || l.peer().is_some_and(|rx| roles[rx.index()].sends || uplink().any(|g| g.ue == rx))
    }

    fn grant_sidelink(&mut self, target: Tti, grant: SidelinkGrant) {
        self.grants.plan.slot(target).push(grant);
        let (l, known) =
            (&self.destinations[grant.destination as usize], &mut self.grants.of[grant.destination as usize]);
        known.view.on_grant(target, grant.bytes.saturating_sub(l.link.header));
        (known.served, known.granted_until) = (self.tti, Some(target));
        let (tx, peer) = (l.tx, l.peer());
        let group = l.group.is_some().then_some(grant.destination);
        self.cell.uplink.plan.slot(target).used |= grant.rbs;
        self.calendar.note(target, Due::Transmit);
        self.uu.sidelink_grant(tx, &self.cell.uplink.config.request, target);
        self.trace.note(|| {
            let record = TraceRecord::new(self.tti, Step::Grant, TraceLink::Sidelink, tx);
            let (blocks, bytes, mcs) = (grant.rbs.len(), u64::from(grant.bytes), Some(grant.mcs));
            TraceRecord { peer, group, about: target, blocks, bytes, mcs, ..record }
        });
    }

    /// Updates the eNB's record of the quality of `destination` if it is stale; of a group, by its
    /// worst link.
    pub(super) fn learn_sidelink(&mut self, destination: u32) {
        let (l, known) =
            (&mut self.destinations[destination as usize], &mut self.grants.of[destination as usize]);
        if !known.quality.is_stale(self.tti, l.link.report_period.as_millis()) {
            return;
        }
        let level = match &l.link.quality {
            LinkQuality::Pinned { steps } => {
                let cqi = worst_cqi(self.uu.air.get(), self.tti, l, steps);
                l.stats.reports += 1;
                l.stats.cqi_sum += u64::from(cqi);
                self.cell.uplink.adaptation.needed(mcs_of_cqi(cqi))
            }
            LinkQuality::Physical => {
                // Over the whole band, with the interference on the blocks on which the receivers
                // had something to receive.
                let c = &self.cell.uplink;
                // All of the power on one block.
                let one = if c.config.power_aware { decibels(c.band.len()) } else { 0.0 };
                let levels = |rx| self.uu.air.get().sidelink_levels(self.tti, [l.tx, rx], l.power_mw, c.band);
                let worst = |a: [f32; 2], b: [f32; 2]| [a[0].min(b[0]), a[1].min(b[1])];
                let [clear, level] = l.receivers().map(levels).fold([f32::INFINITY; 2], worst);
                known.clear = clear + one;
                level + one
            }
        };
        known.quality.learn(self.tti, level);
    }

    /// The level that `level` on one block is on `blocks`. Without `uplink.power_aware` the eNB
    /// takes one level, that of the whole band, for any number of them.
    fn level_on(&self, level: f32, blocks: u32) -> f32 {
        if self.cell.uplink.config.power_aware { level - decibels(blocks) } else { level }
    }

    /// As [`sidelink_mcs`](Self::sidelink_mcs), but neither interference nor an outer loop at the
    /// end of its range stops the grants to a link that noise alone allows the lowest MCS: only
    /// further blocks can measure that the interference has gone, and correct the loop.
    fn mcs_or_lowest(&mut self, destination: u32, blocks: u32) -> Option<u8> {
        self.sidelink_mcs(destination, blocks).or_else(|| {
            let adaptation = &self.cell.uplink.adaptation;
            let clear = self.level_on(self.grants.of[destination as usize].clear, blocks);
            adaptation.mcs(clear).map(|_| adaptation.lowest())
        })
    }

    /// The MCS of a new transport block of `destination` on `blocks` blocks.
    pub(super) fn sidelink_mcs(&mut self, destination: u32, blocks: u32) -> Option<u8> {
        let l = &self.destinations[destination as usize];
        if let Some(cqi) = l.group.as_ref().and_then(|g| g.cqi) {
            return Some(mcs_of_cqi(cqi));
        }
        match &l.link.quality {
            LinkQuality::Pinned { steps } => {
                Some(mcs_of_cqi(worst_cqi(self.uu.air.get(), self.tti, l, steps)))
            }
            LinkQuality::Physical => {
                let level = self.grants.of[destination as usize].quality.level()?;
                let mcs = self.cell.uplink.adaptation.mcs(self.level_on(level, blocks))?;
                Some(mcs.min(self.cell.config.sidelink.max_mcs))
            }
        }
    }

    /// Determines which destinations of the cell must not share a block.
    fn find_conflicts(&mut self) {
        let reuse = self.cell.config.sidelink.reuse;
        let (s, destinations) = (&mut *self.grants, &*self.destinations);
        if reuse == Reuse::None || self.tti < s.conflicts_until[self.id] {
            return;
        }
        let n = destinations.len();
        let mut conflicts = std::mem::take(&mut s.conflicts);
        conflicts.resize(n * n, false);
        s.conflicts_until[self.id] = self.tti.plus(CONFLICTS_HOLD);
        // Two of different cells share blocks in any case. Other cells' part of the table is
        // theirs.
        let here = |l: &Destination| self.links[l.tx].serving == self.id;
        for a in (0..n).filter(|a| here(&destinations[*a])) {
            for b in (0..a).filter(|b| here(&destinations[*b])) {
                let (la, lb) = (&destinations[a], &destinations[b]);
                // A UE receives nothing on blocks on which it transmits.
                let own = la.shares_a_ue_with(lb);
                let clash = match reuse {
                    Reuse::All => own,
                    Reuse::None => true,
                    Reuse::Above { min_sir } => {
                        let mut too_near = |l: &Destination, other: &Destination| {
                            l.receivers().any(|r| {
                                let wanted = self.uu.air.get().between(self.tti, l.tx, r).max(1e-30);
                                let unwanted = self.uu.air.get().between(self.tti, other.tx, r).max(1e-30);
                                let sir = db(f64::from(wanted) / f64::from(unwanted));
                                l.link.power.0 - other.link.power.0 + sir < min_sir.0
                            })
                        };
                        own || too_near(la, lb) || too_near(lb, la)
                    }
                };
                (conflicts[a * n + b], conflicts[b * n + a]) = (clash, clash);
            }
            conflicts[a * n + a] = true;
        }
        self.grants.conflicts = conflicts;
    }
}

/// The CQI of the longest distance from the sender of a destination to a receiver.
pub(super) fn worst_cqi(air: &mut Air, tti: Tti, destination: &Destination, steps: &[CqiStep]) -> u8 {
    let cqi = |rx| cqi_at(steps, air.distance_between(tti, destination.tx, rx));
    destination.receivers().map(cqi).min().unwrap_or(1)
}
