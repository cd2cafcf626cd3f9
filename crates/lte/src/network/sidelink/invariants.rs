//! Invariants of the sidelinks in every TTI, checked in debug builds.

use lasthop_units::{CellId, IndexVec, Tti, UeId};
use smallvec::SmallVec;

use super::super::bearers::Bearers;
use super::super::state::{Cell, Link, Ue};
use crate::mac::harq::{State, process_of};
use crate::mac::pdu;
use crate::mac::sidelink::Reuse;
use crate::mac::uplink::{largest_allocation, tbs_bytes};
use crate::network::state::sidelink::group::Member;
use crate::network::state::sidelink::{Sidelink, SidelinkGrant};
use crate::phy::RbSet;
use lasthop_bearer::End;

/// The state that is checked.
pub(super) struct Check<'a> {
    pub tti: Tti,
    pub sidelink: &'a Sidelink,
    pub cells: &'a IndexVec<CellId, Cell>,
    pub links: &'a IndexVec<UeId, Link>,
    pub ues: &'a IndexVec<UeId, Ue>,
    pub bearers: &'a Bearers,
}

impl Check<'_> {
    /// Checks the invariants of the sidelink transmissions in `tti`, and of the uplink's beside
    /// them.
    #[cold]
    pub(super) fn run(&self) {
        let (tti, s) = (self.tti, self.sidelink);
        let granted = s.grants.plan.granted(tti);
        for (i, g) in granted.iter().enumerate().filter(|(_, g)| self.is_sent(g)) {
            let l = &s.destinations[g.destination as usize];
            let cell = self.links[l.tx].serving;
            let band = self.cells[cell].uplink.band;
            assert!(!g.rbs.is_empty() && g.rbs.longest_run() == g.rbs, "{tti:?}: not one run");
            assert!(
                l.persistent.is_some() || largest_allocation(g.rbs.len()) == g.rbs.len(),
                "{tti:?}: no transform size"
            );
            assert!(g.rbs.without(band).is_empty(), "{tti:?}: outside of PUSCH");
            let uplink = self.sent_up(cell);
            assert!(uplink.and(g.rbs).is_empty(), "{tti:?}: a resource block for uplink and sidelink");
            for other in granted[..i].iter().filter(|o| self.is_sent(o)) {
                assert_ne!(other.destination, g.destination, "{tti:?}: a destination sends twice");
                if self.links[s.destinations[other.destination as usize].tx].serving == cell {
                    assert!(
                        other.rbs.and(g.rbs).is_empty() || self.may_share(cell, other, g),
                        "{tti:?}: destinations {} and {} on a resource block",
                        other.destination,
                        g.destination
                    );
                }
            }
            self.check_group(g.destination);
            let p = s.senders[g.destination as usize].harq.get(process_of(tti));
            assert!(matches!(p.state, State::Awaiting | State::Failed), "{tti:?}: {:?}", p.state);
            assert!((1..=l.link.transmissions).contains(&p.transmissions), "{tti:?}: {}", p.transmissions);
            assert_eq!(g.again, p.transmissions > 1, "{tti:?}: a block sent again is not new");
            assert_eq!(
                (p.mcs, p.bytes, p.rbs),
                (g.mcs, g.bytes, g.rbs),
                "{tti:?}: not the block that was granted"
            );
            assert_eq!(tbs_bytes(p.mcs, g.rbs.len()), p.bytes, "{tti:?}: the size is the table's");
            let sizes: SmallVec<[u32; 16]> = p
                .parts
                .iter()
                .map(|(bearer, pdu)| pdu.size(self.bearers[*bearer].layers.format(l.end)))
                .collect();
            let room = p.bytes.saturating_sub(l.link.header);
            assert!(pdu::padding(room, 0, &sizes).is_some(), "{tti:?}: more than fits");
        }
    }

    fn is_sent(&self, g: &SidelinkGrant) -> bool {
        let tti = self.tti;
        let p = self.sidelink.senders[g.destination as usize].harq.get(process_of(tti));
        p.sent == tti && p.transmissions > 0 && g.again == (p.transmissions > 1)
    }

    /// Blocks on which UEs of `cell` transmit to it.
    fn sent_up(&self, cell: CellId) -> RbSet {
        let tti = self.tti;
        let mut all = RbSet::EMPTY;
        for g in
            self.cells[cell].uplink.plan.granted(tti).iter().filter(|g| self.ues[g.ue].uplink.sends(tti, g))
        {
            all |= g.rbs;
        }
        all
    }

    /// True if two grants may share blocks: destinations without a common UE, where reuse allows
    /// it. Persistent grants beyond the width of the band share by configuration.
    fn may_share(&self, cell: CellId, a: &SidelinkGrant, b: &SidelinkGrant) -> bool {
        let [a, b] = [a, b].map(|g| &self.sidelink.destinations[g.destination as usize]);
        if a.persistent.is_some() && b.persistent.is_some() {
            return true;
        }
        self.cells[cell].config.sidelink.reuse != Reuse::None && !a.shares_a_ue_with(b)
    }

    /// Checks the invariants of groups: the copies of all packets are in, and a block in
    /// transmission is kept until its last one.
    fn check_group(&self, destination: u32) {
        let (tti, s) = (self.tti, self.sidelink);
        let Some(g) = &s.destinations[destination as usize].group else { return };
        let pushed = |m: &Member| self.bearers[m.bearer].layers.pushed(End::Network);
        assert!(g.members.iter().all(|m| pushed(m) == pushed(&g.members[0])), "{tti:?}: copies are missing");
        assert!(
            !s.senders[destination as usize].harq.get(process_of(tti)).parts.is_empty(),
            "{tti:?}: a block of a group without its contents"
        );
        for m in &s.receivers[destination as usize].members {
            let h = &m.received[process_of(tti)];
            assert!(!h.taken || h.decoded, "{tti:?}: a receiver has taken what it could not decode");
        }
    }
}
