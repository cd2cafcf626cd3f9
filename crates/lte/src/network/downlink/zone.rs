//! Frequency reuse: the zone of each UE, centre or edge of its cell.

use lasthop_units::{Db, UeId};

use super::Scheduling;
use crate::mac::allocation::Groups;
use crate::mac::reuse::Zone;
use crate::network::reach::{Radio, Reach};
use crate::phy::RbSet;

/// Validity of a zone [TTI]: measurements are filtered over 200 ms (TS 36.133 clause 8.1.2.2.1).
const HOLDS: u64 = 200;

impl<R: Reach> Scheduling<'_, R> {
    /// Determines the zones of the active UEs of the cell, if it has frequency reuse.
    #[inline]
    pub(in crate::network) fn find_zones(&mut self, ues: &[UeId]) {
        if let Some(threshold) = self.cell.downlink.reuse.map(|r| r.threshold) {
            for ue in ues {
                self.find_zone(*ue, threshold);
            }
        }
    }

    fn find_zone(&mut self, ue: UeId, threshold: Db) {
        let cx = &self.contexts[ue].downlink;
        if self.tti < cx.zone_until {
            return;
        }
        let geometry = f64::from(self.air.at(ue).geometry(self.tti, self.id));
        let zone = if geometry < lasthop_radio::linear(threshold) { Zone::Edge } else { Zone::Centre };
        let p_a = self.cell.downlink.reuse.map_or(Db(0.0), |r| r.p_a(zone));
        let link = &mut self.links[ue].downlink;
        let cx = &mut self.contexts[ue].downlink;
        (cx.zone, cx.zone_until) = (zone, self.tti.plus(HOLDS));
        link.boost = lasthop_radio::linear(Db(link.p_a.0 + p_a.0)) as f32;
    }

    /// Groups that `ue` may use.
    #[inline]
    pub(in crate::network) fn groups_of(&self, ue: UeId) -> Groups {
        let reuse = &self.cell.downlink.reuse;
        reuse.as_ref().map_or(Groups::MAX, |r| r.groups(self.contexts[ue].downlink.zone))
    }

    /// Groups for a retransmission to `ue` of a block that was on `sent`.
    #[inline]
    pub(in crate::network) fn groups_again(&self, ue: UeId, sent: RbSet) -> Groups {
        let c = &self.cell.downlink;
        c.reuse
            .as_ref()
            .map_or(Groups::MAX, |r| r.groups_again(self.contexts[ue].downlink.zone, &c.band, sent))
    }
}
