//! Semi-persistent grants: activated by the first grant for data, prepared before each occasion.

use lasthop_units::{Tti, UeId};

use super::super::calendar::Due;
use super::super::trace::Step;
use super::Granting;
use crate::mac::uplink::{ConfiguredGrant, fewest_blocks, tbs_bytes};
use crate::network::calendar::Notes;
use crate::network::reach::Reach;
use crate::network::state::plan::{Content, Granted};
use crate::phy::RbSet;
use lasthop_radio::lte::{Mcs, McsTable};

impl<R: Reach> Granting<'_, R> {
    /// Blocks of semi-persistent grants in the TTI `at`, and of those in whose TTI a block sent in
    /// `at` may be retransmitted: a retransmission stays on its blocks.
    #[inline]
    pub(in crate::network) fn persistent_blocks(&self, at: Tti) -> RbSet {
        self.persistent_blocks_but(at, None)
    }

    /// [`persistent_blocks`](Self::persistent_blocks) without those of one UE.
    #[inline]
    fn persistent_blocks_but(&self, at: Tti, ue: Option<UeId>) -> RbSet {
        let c = &self.cell.uplink;
        let again = u64::from(c.config.harq.transmissions) - 1;
        let others = c.persistent.iter().filter(|other| Some(**other) != ue);
        others.filter_map(|ue| self.links[*ue].uplink.persistent.as_ref()).fold(RbSet::EMPTY, |mut set, p| {
            set |= p.blocks_near(at, again);
            set
        })
    }

    /// The smallest run of blocks of `free` that carries the configured bytes of the
    /// semi-persistent grant of `ue`, none of which another grant ever has at the same time. None:
    /// there is no such run, or `ue` has no such grant.
    pub(super) fn size_of_activation(&self, target: Tti, ue: UeId, free: RbSet) -> Option<Granted> {
        let c = &self.cell.uplink;
        let link = &self.links[ue].uplink;
        let cx = &self.contexts[ue].uplink;
        let own = link.persistent?;
        let again = u64::from(c.config.harq.transmissions) - 1;
        let mut free = free;
        for other in c.persistent.iter().filter(|other| **other != ue) {
            let p = self.links[*other].uplink.persistent.as_ref();
            free = free
                .without(p.map_or(RbSet::EMPTY, |p| p.blocks_that_meet(target, own.config.interval, again)));
        }
        let most = free.longest().1;
        let level = cx.quality.level()?;
        let bytes = u64::from(own.config.bytes);
        // The MCS falls when the power is spread over more blocks: find the number of blocks that
        // suffices with its own MCS.
        let mut blocks = 1;
        for _ in 0..8 {
            let mcs = Mcs::new(c.adaptation.mcs(cx.level_on(level, blocks))?);
            let mcs = mcs.decodable_on(McsTable::Uplink, blocks.min(most) as usize);
            let (mcs, i_tbs) = (mcs.index(), mcs.i_tbs(McsTable::Uplink)?);
            let (needed, size) = fewest_blocks(i_tbs, bytes, most)?;
            if needed <= blocks || u64::from(tbs_bytes(mcs, blocks)) >= bytes {
                let (blocks, size) =
                    if needed <= blocks { (needed, size) } else { (blocks, tbs_bytes(mcs, blocks)) };
                let enough = u64::from(size) >= bytes;
                let rbs = c.place(free, blocks).filter(|_| enough)?;
                return Some(Granted { ue, rbs, mcs, bytes: size, content: Content::New });
            }
            blocks = needed;
        }
        None
    }

    /// Activates the semi-persistent grant of the UE by the grant for `target`, if the UE has
    /// received it.
    pub(super) fn activate_persistent(&mut self, target: Tti, granted: &Granted) {
        if self.cell.uplink.plan.slot(target).missed.contains(&granted.ue) {
            return;
        }
        let Granted { rbs, mcs, bytes, ue, .. } = *granted;
        let Some(p) = &mut self.links[ue].uplink.persistent else { return };
        p.activate(ConfiguredGrant { start: target, rbs, mcs, bytes });
        self.await_occasion(ue);
    }

    /// Schedules the preparation of the next occasion: in the TTI of dynamic grants for the same
    /// TTI, and before them.
    fn await_occasion(&mut self, ue: UeId) {
        let grant = self.cell.config.timing.grant;
        if let Some(p) = &self.links[ue].uplink.persistent {
            let target = p.next();
            self.calendar.note(Tti(target.0 - grant), Due::UplinkOccasion { ue, target });
        }
    }

    /// Activates the grant of `ue` again for its occasion `target`, by the channel as it is now.
    /// None: there is no room, or the UE does not receive the activation; the grant stays as it
    /// was.
    #[cold]
    fn renew(&mut self, ue: UeId, target: Tti) -> Option<ConfiguredGrant> {
        self.sound(ue);
        let others = self.persistent_blocks_but(target, Some(ue));
        let c = &mut self.cell.uplink;
        let free = c.band.without(c.plan.slot(target).used).without(others);
        let Granted { rbs, mcs, bytes, .. } = self.size_of_activation(target, ue, free)?;
        self.trace.step(self.tti, Step::Grant, ue, target, u64::from(bytes), rbs);
        if self.cell.uplink.config.control_errors && self.misses_grant(ue) {
            return None;
        }
        let grant = ConfiguredGrant { start: target, rbs, mcs, bytes };
        self.links[ue].uplink.persistent.as_mut()?.activate(grant);
        Some(grant)
    }

    /// Prepares the UE's semi-persistent grant for `target`, on which it transmits with data or
    /// without.
    // TS 36.321 v15.1.0 clause 5.4.1 [unverified]: if an uplink grant for this TTI has been
    // configured for the Serving Cell: consider the NDI bit for the corresponding HARQ process to
    // have been toggled: a block that waits there is flushed.
    pub(in crate::network) fn prepare_occasion(&mut self, ue: UeId, target: Tti) {
        let Some(p) = self.links[ue].uplink.persistent.as_mut().filter(|p| p.next() == target) else {
            return;
        };
        let Some(grant) = p.grant() else { return };
        p.occasion = target;
        let renews = p.renewal.is_due();
        let slot = self.cell.uplink.plan.slot(target);
        let again = |g: &Granted| g.ue == ue && g.content == Content::Again;
        // Not in the TTI of an Msg3 of the UE.
        if slot.granted.iter().all(|g| g.ue != ue || again(g)) {
            let flushed = slot.granted.iter().find(|g| again(g)).map_or(RbSet::EMPTY, |g| g.rbs);
            slot.used = slot.used.without(flushed);
            slot.granted.retain(|g| !again(g));
            let renewed = if renews { self.renew(ue, target) } else { None };
            let ConfiguredGrant { rbs, mcs, bytes, .. } = renewed.unwrap_or(grant);
            self.clear_for_occasion(target, rbs);
            let slot = self.cell.uplink.plan.slot(target);
            debug_assert!(slot.used.and(rbs).is_empty(), "{target:?}: the blocks of an occasion given away");
            slot.used |= rbs;
            slot.granted.push(Granted { ue, rbs, mcs, bytes, content: Content::New });
            self.contexts[ue].uplink.view.on_grant(target, bytes);
            self.uu.occasion(ue, target);
            self.calendar.note(target, Due::Transmit);
        }
        self.await_occasion(ue);
    }
}
