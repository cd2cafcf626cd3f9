//! The output of a bearer.

use lasthop_units::{Instant, Octets};

use crate::{Direction, DropCause, End, Sdu};

/// The output of a bearer's calls; the caller reuses it.
#[derive(Clone, Debug)]
pub struct BearerOutput<E> {
    /// Packets that have reached an end, with that end, as they were pushed.
    pub delivered: Vec<(End, Sdu)>,
    /// Packets that left in another way, with the end that had pushed them. Each packet is reported
    /// once in all.
    pub dropped: Vec<(End, Sdu, DropCause)>,
    /// Packets inside that an active queue management marked (ECN), with the end that had pushed
    /// them.
    pub marked: Vec<(End, Sdu)>,
    /// Events, with the end of each.
    pub events: Vec<(End, E)>,
    /// PDUs that were sent and received, if the bearer is configured to record them.
    pub noted: Vec<NotedPdu>,
}

/// A recorded RLC PDU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotedPdu {
    /// When it was sent, or had arrived.
    pub at: Instant,
    /// Its direction.
    pub direction: Direction,
    /// Its outcome.
    pub outcome: PduOutcome,
    /// True if RLC has sent its data before; always false for a received PDU.
    pub again: bool,
    /// The octets.
    pub octets: Octets,
}

/// The outcome of a PDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PduOutcome {
    /// It was sent and will arrive.
    Sent,
    /// It was sent and is lost.
    Lost,
    /// It has arrived.
    Received,
}

impl<E> BearerOutput<E> {
    /// Empties the lists and keeps their memory.
    pub fn clear(&mut self) {
        self.delivered.clear();
        self.dropped.clear();
        self.marked.clear();
        self.events.clear();
        self.noted.clear();
    }
}

impl<E> Default for BearerOutput<E> {
    fn default() -> Self {
        BearerOutput {
            delivered: Vec::new(),
            dropped: Vec::new(),
            marked: Vec::new(),
            events: Vec::new(),
            noted: Vec::new(),
        }
    }
}
