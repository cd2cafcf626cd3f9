//! Transmissions in the uplink, and the blocks that several of them share.

use lasthop_cell::RbSet;
use lasthop_units::{Tti, UeId};

/// A UE's transmission in the newest uplink TTI.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sender<const WORDS: usize> {
    pub ue: UeId,
    pub rbs: RbSet<WORDS>,
    /// Power of each block [mW].
    pub block_mw: f32,
}

/// Transmissions of UEs in the newest uplink TTI.
#[derive(Debug)]
pub(super) struct Uplink<const WORDS: usize> {
    tti: Tti,
    pub senders: Vec<Sender<WORDS>>,
    /// Blocks of one or more transmissions, and blocks of several: only the latter have
    /// interference.
    used: RbSet<WORDS>,
    shared: RbSet<WORDS>,
}

impl<const WORDS: usize> Default for Uplink<WORDS> {
    fn default() -> Self {
        Uplink { tti: Tti(u64::MAX), senders: Vec::new(), used: RbSet::EMPTY, shared: RbSet::EMPTY }
    }
}

impl<const WORDS: usize> Uplink<WORDS> {
    #[inline]
    pub fn add(&mut self, tti: Tti, sender: Sender<WORDS>) {
        if self.tti != tti {
            (self.tti, self.used, self.shared) = (tti, RbSet::EMPTY, RbSet::EMPTY);
            self.senders.clear();
        }
        self.shared |= self.used.and(sender.rbs);
        self.used |= sender.rbs;
        self.senders.push(sender);
    }

    /// Number of transmitters that may share one of the blocks `rbs`, on which one transmits in
    /// `tti`; 0: none.
    #[inline]
    pub fn others(&self, tti: Tti, rbs: RbSet<WORDS>) -> usize {
        if self.tti != tti || self.shared.and(rbs).is_empty() { 0 } else { self.senders.len() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_units::Id;

    /// Blocks 0 to 3, 2 to 5 and 8: only 2 or 3 are shared with others; in the next TTI no block
    /// is.
    #[test]
    fn only_blocks_that_two_use_have_others() {
        let mut uplink = Uplink::<1>::default();
        for (ue, first, len) in [(0, 0, 4), (1, 2, 4), (2, 8, 1)] {
            let rbs = RbSet::range(first, len);
            uplink.add(Tti(7), Sender { ue: UeId::from_index(ue), rbs, block_mw: 1.0 });
        }
        let others = |tti, first, len| uplink.others(Tti(tti), RbSet::range(first, len));
        assert_eq!([others(7, 0, 4), others(7, 2, 4), others(7, 8, 1), others(8, 0, 4)], [3, 3, 0, 0]);
        uplink.add(Tti(8), Sender { ue: UeId::from_index(0), rbs: RbSet::range(0, 4), block_mw: 1.0 });
        assert_eq!(uplink.others(Tti(8), RbSet::range(0, 4)), 0);
    }
}
