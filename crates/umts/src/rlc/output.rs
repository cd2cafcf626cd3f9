//! The output of an RLC entity.

use lasthop_bearer::{DropCause, Sdu};

/// An event for the events table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RlcEvent {
    /// This end has started the reset procedure.
    ResetStarted,
    /// The reset procedure that this end started is complete.
    ResetDone,
    /// The peer has reset this end.
    ResetByPeer,
    /// Number of SDUs in transmission that were discarded; MRW orders the receiver to move its
    /// window.
    Discarded(u32),
    /// MaxRST resets were not answered: unrecoverable error (TS 25.322 clause 11.4.4a).
    Unrecoverable,
}

impl RlcEvent {
    /// The name in result tables.
    pub const fn name(self) -> &'static str {
        match self {
            RlcEvent::ResetStarted => "rlc-reset-started",
            RlcEvent::ResetDone => "rlc-reset-done",
            RlcEvent::ResetByPeer => "rlc-reset-by-peer",
            RlcEvent::Discarded(_) => "rlc-discard",
            RlcEvent::Unrecoverable => "rlc-unrecoverable",
        }
    }
}

/// The output of an RLC entity's calls; the caller reuses it.
#[derive(Clone, Debug, Default)]
pub struct Output {
    /// SDUs for the layer above, in order of delivery.
    pub delivered: Vec<Sdu>,
    /// SDUs discarded, each reported once by the side that discards it.
    pub dropped: Vec<(Sdu, DropCause)>,
    /// Events for probes.
    pub events: Vec<RlcEvent>,
}

impl Output {
    /// True if the three lists are empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.delivered.is_empty() && self.dropped.is_empty() && self.events.is_empty()
    }
    /// Empties the three lists and keeps their memory.
    pub fn clear(&mut self) {
        self.delivered.clear();
        self.dropped.clear();
        self.events.clear();
    }
}
