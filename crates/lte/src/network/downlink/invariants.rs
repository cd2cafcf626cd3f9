//! Invariants of every TTI, checked in debug builds.

use lasthop_radio::lte::{Mcs, tbs_bits_on_layers};

use super::Scheduling;
use crate::mac::harq::State;
use crate::mac::reuse::Zone;
use crate::network::reach::Reach;
use crate::phy::RbSet;

impl<R: Reach> Scheduling<'_, R> {
    /// Checks the invariants of the cell's transmissions.
    pub(in crate::network) fn check_downlink(&mut self) {
        let tti = self.tti;
        let carrier = RbSet::range(0, self.cell.config.resource_blocks);
        let mut used = RbSet::EMPTY;
        let mut before = None;
        let limit = self.cell.config.downlink.max_assignments as usize;
        assert!(
            limit == 0 || self.assignments() <= limit,
            "{tti:?}: more assignments than the PDCCH carries"
        );
        for (i, t) in self.on_air.iter().enumerate().filter(|(_, t)| t.cell == self.id) {
            assert_eq!((t.cell, self.links[t.ue].serving), (self.id, self.id), "a UE of another cell");
            let second = before == Some(t.ue);
            before = Some(t.ue);
            assert!(
                second || self.on_air[..i].iter().all(|other| (other.cell, other.ue) != (self.id, t.ue)),
                "{tti:?}: two assignments for {:?}",
                t.ue
            );
            let c = &self.cell.downlink;
            let zones = [Zone::Centre, Zone::Edge].map(|zone| c.reuse.map(|r| c.band.blocks(r.groups(zone))));
            let table = c.adaptation.mcs_table();
            let most = self.cell.config.downlink.harq.transmissions;
            let bearers = &self.bearers;
            let Some(p) = self.contexts[t.ue].downlink.process(t.process) else {
                panic!("a process that is not there")
            };
            assert!(p.rbs.without(carrier).is_empty() && !p.rbs.is_empty(), "{tti:?}: outside the carrier");
            let in_a_zone = zones.iter().any(|z| z.is_none_or(|blocks| p.rbs.without(blocks).is_empty()));
            assert!(in_a_zone, "{tti:?}: blocks of the centre and of the edge");
            assert!(second || used.and(p.rbs).is_empty(), "{tti:?}: a resource block twice");
            used |= p.rbs;
            assert_eq!((p.state, p.sent), (State::Awaiting, self.tti));
            assert!((1..=most).contains(&p.transmissions));
            if p.transmissions == 1 {
                let (blocks, i_tbs) = (p.rbs.len() as usize, Mcs::new(p.mcs).i_tbs(table));
                let size = |layers: usize| i_tbs.and_then(|i| tbs_bits_on_layers(blocks, i, layers));
                let bits = Some(p.bytes * 8);
                assert!(size(1) == bits || size(2) == bits, "the size is the table's");
            }
            // Subheaders of 3 B, of 1 B for the last PDU: the rest is padding.
            let sizes = p.parts.iter().map(|(bearer, pdu)| {
                let rlc = bearers.rlc(*bearer);
                // LENA's MAC adds no subheaders.
                rlc.format().map_or(0, |f| pdu.size(f)) + if rlc.reports().is_some() { 0 } else { 3 }
            });
            assert!(sizes.sum::<u32>() <= p.bytes + 2, "{tti:?}: more than fits");
        }
    }
}
