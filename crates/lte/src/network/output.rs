//! Output of the radio network to the world.

use lasthop_units::{BearerId, CellId, Duration, UeId};

use crate::mac::sidelink::LinkMode;
use crate::rrc::MobilityEvent;
use lasthop_bearer::{DropCause, End, Sdu};
use lasthop_lte_l2::rlc::RlcEvent;

/// Output of the network's calls, which append to it; the caller reuses it.
#[derive(Clone, Debug, Default)]
pub struct NetworkOutput {
    /// Packets that have reached an end of their bearer, with that end, as they were pushed.
    pub delivered: Vec<(BearerId, End, Sdu)>,
    /// Packets that left otherwise, with the end at which they were pushed. Each packet appears
    /// once in all.
    pub dropped: Vec<(BearerId, End, Sdu, DropCause)>,
    /// Packets that an active queue management marked (congestion experienced), with the end at
    /// which they were pushed.
    pub marked: Vec<(BearerId, End, Sdu)>,
    /// Packets that a node forwards to the next one over X2, and that are not delivered yet.
    pub forwarded: Vec<(BearerId, Sdu)>,
    /// Events for the events table.
    pub events: Vec<(UeId, NetworkEvent)>,
}

impl NetworkOutput {
    /// Appends the contents of `later`, which is empty then.
    #[inline]
    pub fn append(&mut self, later: &mut NetworkOutput) {
        if later.is_empty() {
            return;
        }
        self.delivered.append(&mut later.delivered);
        self.dropped.append(&mut later.dropped);
        self.marked.append(&mut later.marked);
        self.forwarded.append(&mut later.forwarded);
        self.events.append(&mut later.events);
    }

    /// True if nothing was appended.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        let NetworkOutput { delivered, dropped, marked, forwarded, events } = self;
        delivered.is_empty()
            && dropped.is_empty()
            && marked.is_empty()
            && forwarded.is_empty()
            && events.is_empty()
    }
}

/// An event for the events table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkEvent {
    /// An event of RLC at an end of a bearer.
    Rlc(BearerId, End, RlcEvent),
    /// preambleTransMax preambles of the UE to this cell were not successful.
    RandomAccessProblem(CellId),
    /// The UE's connection is set up in this cell.
    Connected(CellId),
    /// T300 has expired before the connection was set up; the UE will start another attempt.
    ConnectionFailed(CellId),
    /// The UE was inactive, and was released.
    Released(CellId),
    /// N310 out-of-sync indications in a row: T310 runs.
    RadioProblem(CellId),
    /// The serving cell was in sync again before T310 expired.
    RadioRecovered(CellId),
    /// A bearer's data leaves a node: the contents of its retransmission queue, and the packets
    /// that are forwarded.
    Moved {
        /// The bearer.
        bearer: BearerId,
        /// Bytes in the retransmission queue.
        queue: u64,
        /// Packets that are forwarded at once.
        forwarded: u32,
    },
    /// A step of a handover or of a re-establishment.
    Mobility {
        /// The step of the procedure.
        event: MobilityEvent,
        /// The target, or the cell concerned.
        cell: CellId,
        /// Time without a serving cell, where it has ended.
        seconds: Option<Duration>,
    },
    /// A mode switch of a UE's packets to another UE.
    ModeSwitch {
        /// The UE that receives.
        to: UeId,
        /// The new mode.
        mode: LinkMode,
        /// Packets that the switch dropped, and their bytes.
        packets: u64,
        /// See `packets` [B].
        bytes: u64,
    },
}

impl NetworkEvent {
    /// The name in result tables.
    pub fn name(&self) -> &'static str {
        match self {
            NetworkEvent::Rlc(_, _, event) => event.name(),
            NetworkEvent::Connected(_) => "rrc-connected",
            NetworkEvent::ConnectionFailed(_) => "rrc-connection-failed",
            NetworkEvent::Released(_) => "rrc-released",
            NetworkEvent::ModeSwitch { .. } => "mode-switch",
            NetworkEvent::RandomAccessProblem(_) => "random-access-problem",
            NetworkEvent::RadioProblem(_) => "radio-problem",
            NetworkEvent::RadioRecovered(_) => "radio-recovered",
            NetworkEvent::Mobility { event, .. } => event.name(),
            NetworkEvent::Moved { .. } => "handover-data",
        }
    }
}
