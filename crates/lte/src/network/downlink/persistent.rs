//! Semi-persistent scheduling of the downlink: the grants of an occasion have precedence over new
//! data.

use lasthop_radio::lte::{Mcs, tbs_bits};
use lasthop_units::UeId;

use super::{Scheduling, Work};
use crate::mac::allocation::{Groups, bits};
use crate::network::reach::Reach;

impl<R: Reach> Scheduling<'_, R> {
    /// Transmits on the persistent grants whose occasion is `tti` and whose UEs have data; the
    /// groups of the others stay free.
    pub(super) fn use_persistent_grants(&mut self, work: &mut Work, free: &mut Groups) {
        for i in 0..self.cell.persistent.len() {
            let ue = self.cell.persistent[i];
            let link = &self.links[ue].downlink;
            let Some(p) = link.persistent.filter(|p| p.is_occasion(self.tti, link.phase)) else { continue };
            let idle = self.contexts[ue].downlink.idle(0);
            if idle.is_none() || work.backlogs.iter().all(|(u, _)| *u != ue) {
                continue;
            }
            let own = self.groups_of(ue);
            let active = p.active(self.tti).filter(|(groups, _)| groups & !own == 0);
            let usable = active.or_else(|| match self.assignments_left() {
                0 => None,
                _ => self.activate(ue, *free & own),
            });
            let Some((groups, mcs)) = usable else {
                continue;
            };
            if groups & !*free != 0 {
                // A retransmission occupies these groups: dynamic scheduling may serve the UE on
                // others.
                continue;
            }
            *free &= !groups;
            let first = self.on_air.len();
            self.send_new(ue, groups, mcs);
            for t in &mut self.on_air[first..] {
                // Only the activation is an assignment on the PDCCH.
                t.persistent = active.is_some();
            }
            if let Some(p) = &mut self.links[ue].downlink.persistent {
                (p.grant, p.used) = (Some((groups, mcs)), self.tti);
            }
            work.backlogs.retain(|(u, _)| *u != ue);
        }
    }

    /// The smallest set of groups that carries the configured bytes, none of which another grant
    /// ever has at the same time.
    fn activate(&mut self, ue: UeId, free: Groups) -> Option<(Groups, Mcs)> {
        self.learn_quality(ue);
        let link = &self.links[ue].downlink;
        let own = link.persistent?;
        let phase = link.phase;
        let taken = self.cell.persistent.iter().filter(|other| **other != ue).fold(0, |set, other| {
            let other = &self.links[*other].downlink;
            let meets = other.persistent.filter(|p| own.meets(phase, p, other.phase));
            let meets = meets.and_then(|p| p.active(self.tti));
            set | meets.map_or(0, |(groups, _)| groups)
        });
        let table = self.cell.downlink.adaptation.mcs_table();
        let mut groups = 0;
        for g in bits(free & !taken) {
            groups |= 1 << g;
            let mcs = self.mcs(ue, 0, groups)?;
            let blocks = self.cell.downlink.band.count(groups) as usize;
            let carries =
                mcs.i_tbs(table).and_then(|i| tbs_bits(blocks, i)).is_some_and(|b| b / 8 >= own.config.bytes);
            if carries {
                return Some((groups, mcs));
            }
        }
        None
    }
}
