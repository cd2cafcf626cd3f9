//! Which UE sends on which resource blocks of the uplink in the coming TTIs.

use lasthop_units::{Tti, UeId};

use crate::phy::RbSet;

/// What a UE sends in a TTI of PUSCH.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// A new transport block.
    New,
    /// A new transport block with a report and no data.
    ReportOnly,
    /// The same once more.
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
    /// Blocks that are given away.
    pub used: RbSet,
    pub granted: Vec<Granted>,
    /// UEs that have not received their grant.
    pub missed: Vec<UeId>,
}

/// TTIs that are planned at once, and remembered.
const SLOTS: u64 = 32;

/// Which UE sends what in the coming TTIs.
#[derive(Clone, Debug)]
pub struct Plan {
    slots: Vec<Slot>,
}

impl Plan {
    /// Nothing is granted.
    pub fn new() -> Plan {
        Plan { slots: vec![Slot::default(); SLOTS as usize] }
    }
    /// The slot of `tti`, empty when nothing was granted for it yet.
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
    /// Blocks given away in `tti`, without starting its slot.
    pub fn used(&self, tti: Tti) -> RbSet {
        let slot = &self.slots[(tti.0 % SLOTS) as usize];
        if slot.tti == tti { slot.used } else { RbSet::EMPTY }
    }
    /// Who sends in `tti`.
    pub fn granted(&self, tti: Tti) -> &[Granted] {
        let slot = &self.slots[(tti.0 % SLOTS) as usize];
        if slot.tti == tti { &slot.granted } else { &[] }
    }
    /// Grants of `ue` lapse; their blocks stay unused.
    pub fn forget(&mut self, ue: UeId) {
        for slot in &mut self.slots {
            slot.granted.retain(|g| g.ue != ue);
        }
    }
    /// True if somebody sends in `tti`.
    pub fn is_busy(&self, tti: Tti) -> bool {
        let slot = &self.slots[(tti.0 % SLOTS) as usize];
        slot.tti == tti && !slot.granted.is_empty()
    }
}
