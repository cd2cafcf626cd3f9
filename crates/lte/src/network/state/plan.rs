//! Plan of the uplink: grants of resource blocks to UEs in the coming TTIs.

use lasthop_units::{Tti, UeId};

use crate::phy::RbSet;

/// Content of a UE's transmission on PUSCH.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// A new transport block.
    New,
    /// A new transport block with a report and no data.
    ReportOnly,
    /// A retransmission of a transport block.
    Again,
    /// Msg3 of random access.
    Msg3,
}

/// A transmission on PUSCH that was granted.
#[derive(Clone, Copy, Debug)]
pub struct Granted {
    pub ue: UeId,
    pub rbs: RbSet,
    pub mcs: u8,
    /// Size of the transport block [B].
    pub bytes: u32,
    pub content: Content,
}

/// The uplink resource blocks of one TTI.
#[derive(Clone, Debug, Default)]
pub struct Slot {
    tti: Tti,
    /// Blocks that are allocated.
    pub used: RbSet,
    pub granted: Vec<Granted>,
    /// UEs that have not received their grant.
    pub missed: Vec<UeId>,
}

/// TTIs that are planned and stored at once.
const SLOTS: u64 = 32;

/// Grants of the coming TTIs.
#[derive(Clone, Debug)]
pub struct Plan {
    slots: Vec<Slot>,
}

impl Plan {
    /// A plan without grants.
    pub fn new() -> Plan {
        Plan { slots: vec![Slot::default(); SLOTS as usize] }
    }
    /// The slot of `tti`, empty while nothing is granted for it.
    #[inline]
    pub fn slot(&mut self, tti: Tti) -> &mut Slot {
        let slot = &mut self.slots[(tti.0 % SLOTS) as usize];
        if slot.tti != tti {
            slot.tti = tti;
            slot.used = RbSet::EMPTY;
            slot.granted.clear();
            slot.missed.clear();
        }
        slot
    }
    /// Blocks allocated in `tti`, without starting its slot.
    pub fn used(&self, tti: Tti) -> RbSet {
        let slot = &self.slots[(tti.0 % SLOTS) as usize];
        if slot.tti == tti { slot.used } else { RbSet::EMPTY }
    }
    /// Grants for `tti`.
    pub fn granted(&self, tti: Tti) -> &[Granted] {
        let slot = &self.slots[(tti.0 % SLOTS) as usize];
        if slot.tti == tti { &slot.granted } else { &[] }
    }
    /// Removes the grants of `ue`; their blocks stay unused.
    pub fn remove(&mut self, ue: UeId) {
        for slot in &mut self.slots {
            slot.granted.retain(|g| g.ue != ue);
        }
    }
    /// True if there is a grant for `tti`.
    pub fn is_busy(&self, tti: Tti) -> bool {
        let slot = &self.slots[(tti.0 % SLOTS) as usize];
        slot.tti == tti && !slot.granted.is_empty()
    }
}
