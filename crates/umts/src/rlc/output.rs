//! What an RLC entity reports.

use lasthop_bearer::{DropCause, Sdu};

/// Something worth a row in the events table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RlcEvent {
    /// This end has started the reset procedure.
    ResetStarted,
    /// The reset procedure that this end started is complete.
    ResetDone,
    /// The peer has reset this end.
    ResetByPeer,
    /// Number of SDUs in transmission that were discarded; MRW makes the receiver move its
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

/// What one RLC entity appends to when it is called; reused by the caller.
#[derive(Clone, Debug, Default)]
pub struct Output {
    /// SDUs for the layer above, in order of delivery.
    pub delivered: Vec<Sdu>,
    /// SDUs discarded, each reported once by the side that discards it.
    pub dropped: Vec<(Sdu, DropCause)>,
    /// What probes may read.
    pub events: Vec<RlcEvent>,
}

impl Output {
    /// Empties the three lists and keeps their memory.
    pub fn clear(&mut self) {
        self.delivered.clear();
        self.dropped.clear();
        self.events.clear();
    }
}
