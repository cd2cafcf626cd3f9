//! The output of an entity.

use lasthop_bearer::{DropCause, Sdu};

/// An event for the events table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RlcEvent {
    /// RETX_COUNT of an AMD PDU has reached maxRetxThreshold: upper layers declare radio link
    /// failure (TS 36.322 clause 5.2.1, TS 36.331 clause 5.3.11.3).
    MaxRetransmissions {
        /// Sequence number of the PDU.
        sn: u32,
    },
    /// The entity was re-established (TS 36.322 clause 5.4).
    Reestablished,
}

impl RlcEvent {
    /// The name in result tables.
    pub const fn name(self) -> &'static str {
        match self {
            RlcEvent::MaxRetransmissions { .. } => "rlc-max-retransmissions",
            RlcEvent::Reestablished => "rlc-reestablished",
        }
    }
}

/// The output of an entity; reused from call to call. `S` is the type of received SDUs: a
/// descriptor, or bytes where entities exchange encoded PDUs.
#[derive(Clone, Debug)]
pub struct RlcOutput<S = Sdu> {
    /// SDUs received, in order.
    pub delivered: Vec<S>,
    /// SDUs of this entity whose delivery the peer has confirmed (AM).
    pub confirmed: Vec<Sdu>,
    /// SDUs of this entity that it will not deliver.
    pub dropped: Vec<(Sdu, DropCause)>,
    /// SDUs of this entity that an active queue management marked (ECN) instead of dropping.
    pub marked: Vec<Sdu>,
    /// Events.
    pub events: Vec<RlcEvent>,
}

impl<S> Default for RlcOutput<S> {
    fn default() -> Self {
        RlcOutput {
            delivered: Vec::new(),
            confirmed: Vec::new(),
            dropped: Vec::new(),
            marked: Vec::new(),
            events: Vec::new(),
        }
    }
}

impl<S> RlcOutput<S> {
    /// True if the output is empty.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.delivered.is_empty()
            && self.confirmed.is_empty()
            && self.dropped.is_empty()
            && self.marked.is_empty()
            && self.events.is_empty()
    }
    /// Empties the lists and keeps their memory.
    pub fn clear(&mut self) {
        self.delivered.clear();
        self.confirmed.clear();
        self.dropped.clear();
        self.marked.clear();
        self.events.clear();
    }
}
