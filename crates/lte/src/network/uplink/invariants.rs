//! Invariants of every TTI, checked in debug builds.

use smallvec::SmallVec;

use super::air::UplinkAir;
use crate::mac::harq::{HARQ_PERIOD, State, process_of};
use crate::mac::pdu;
use crate::mac::uplink::{largest_allocation, tbs_bytes};
use crate::network::state::plan::Content;
use crate::phy::RbSet;
use lasthop_bearer::End;

impl UplinkAir<'_> {
    /// Checks the invariants of the transmissions that the cell receives.
    #[cold]
    pub(super) fn check(&self) {
        let (tti, cell) = (self.tti, self.id);
        let c = &self.cell.uplink;
        let (band, most) = (c.band, c.config.harq.transmissions);
        let slot_used = c.plan.used(tti);
        let mut used = RbSet::EMPTY;
        let mut msg3 = RbSet::EMPTY;
        let granted = c.plan.granted(tti);
        for (i, g) in granted.iter().enumerate() {
            assert!(g.rbs.without(slot_used).is_empty(), "{tti:?}: a block that was not given away");
            if !self.sends(g) {
                continue;
            }
            let twice = granted[..i].iter().any(|other| other.ue == g.ue && self.sends(other));
            assert!(!twice, "{tti:?}: {:?} sends twice", g.ue);
            // One run, of a length that the transform has, within PUSCH; a block has two
            // transmissions only where preambles were the same.
            assert!(!g.rbs.is_empty() && g.rbs.longest_run() == g.rbs, "{tti:?}: not one run");
            assert_eq!(largest_allocation(g.rbs.len()), g.rbs.len(), "{tti:?}: no transform size");
            assert!(g.rbs.without(band).is_empty(), "{tti:?}: outside of PUSCH");
            let link = &self.links[g.ue];
            assert_eq!(link.serving, cell, "a UE of another cell");
            let ue = &self.ues[g.ue].uplink;
            let p = ue.harq.get(process_of(tti));
            let block = &ue.blocks[process_of(tti)];
            let known = &self.contexts[g.ue].uplink.granted[process_of(tti)];
            assert_eq!(
                (known.state, known.transmissions, known.mcs, known.bytes, known.rbs),
                (p.state, p.transmissions, p.mcs, p.bytes, p.rbs),
                "{tti:?}: the eNB's record is of another block"
            );
            let shared = if g.content == Content::Msg3 { used.without(msg3) } else { used };
            assert!(shared.and(g.rbs).is_empty(), "{tti:?}: a resource block twice");
            used |= g.rbs;
            if g.content == Content::Msg3 {
                msg3 |= g.rbs;
            }
            assert!(p.state == State::Awaiting && p.sent == tti, "{tti:?}: {:?}", p.state);
            assert!((1..=most).contains(&p.transmissions), "{tti:?}: {} transmissions", p.transmissions);
            assert_eq!((p.mcs, p.bytes), (g.mcs, g.bytes), "{tti:?}: not the block that was granted");
            assert_eq!(tbs_bytes(p.mcs, g.rbs.len()), p.bytes, "{tti:?}: the size is the table's");
            let age = tti.0 - block.first.0;
            assert!(age.is_multiple_of(HARQ_PERIOD), "{tti:?}: the uplink's HARQ is synchronous");
            assert!(age == 0 || p.transmissions > 1, "{tti:?}: sent again for the first time");
            let sizes: SmallVec<[u32; 16]> = p
                .parts
                .iter()
                .map(|(bearer, pdu)| pdu.size(self.bearers[*bearer].layers.format(End::Ue)))
                .collect();
            // LENA's MAC adds no subheaders.
            let bare = p
                .parts
                .first()
                .is_some_and(|(bearer, _)| self.bearers[*bearer].layers.rlc(End::Ue).reports().is_some());
            let fits = if bare {
                sizes.iter().sum::<u32>() <= p.bytes
            } else {
                pdu::padding(p.bytes, 0, &sizes).is_some()
            };
            assert!(fits, "{tti:?}: more than fits");
        }
    }
}
