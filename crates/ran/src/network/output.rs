//! What the radio network tells the world.

use lasthop_units::{BearerId, CellId, UeId};

use crate::mac::lte::sidelink::LinkMode;
use crate::rlc::lte::RlcEvent;
use crate::sdu::{DropCause, End, Sdu};

/// What the network appends to when it is called; reused by the caller.
#[derive(Clone, Debug, Default)]
pub struct NetworkOutput {
    /// Packets that have reached an end of their bearer, with that end, as they were pushed.
    pub delivered: Vec<(BearerId, End, Sdu)>,
    /// Packets that left otherwise, with the end that had pushed them. Each packet is named once in all.
    pub dropped: Vec<(BearerId, End, Sdu, DropCause)>,
    /// Packets that an active queue management marked (congestion experienced), with the end that had pushed them.
    pub marked: Vec<(BearerId, End, Sdu)>,
    /// What happened, for the events table.
    pub events: Vec<(UeId, NetworkEvent)>,
}

/// Something worth a row in the events table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkEvent {
    /// RLC at an end of a bearer.
    Rlc(BearerId, End, RlcEvent),
    /// Random access of the UE to this cell has failed preambleTransMax times.
    RandomAccessProblem(CellId),
    /// The UE's connection is set up in this cell.
    Connected(CellId),
    /// T300 has expired before the connection was set up; the UE will try again.
    ConnectionFailed(CellId),
    /// The UE was inactive and is idle now.
    Released(CellId),
    /// What the UE sends to another goes another way from now on.
    ModeSwitch {
        /// The UE that receives.
        to: UeId,
        /// The way.
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
        }
    }
}
