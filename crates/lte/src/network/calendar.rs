//! Events that are due at the start of a later TTI, or within it.

use lasthop_units::{CellId, Tti, UeId};

/// The network's calendar, and its present TTI.
pub(super) type Agenda = lasthop_cell::calendar::Agenda<Due>;

/// An event that is due at the start of a TTI. Events of a TTI are in the order in which they were
/// scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Due {
    /// The UE has decoded a downlink transport block, or its decoding has failed.
    DownlinkDecoded { ue: UeId, process: u8 },
    /// HARQ feedback of a downlink transport block reaches the eNB.
    DownlinkFeedback { ue: UeId, process: u8 },
    /// The eNB has decoded the uplink transport block sent in this TTI, or its decoding has failed.
    UplinkDecoded { ue: UeId, process: u8, sent: Tti },
    /// A UE with downlink data may get a grant that it has not requested.
    Proactive { ue: UeId },
    /// A UE without a grant has a timer or an opportunity.
    UplinkTimers { ue: UeId },
    /// A scheduling request that was sent in this TTI reaches the eNB.
    RequestReceived { ue: UeId, sent: Tti },
    /// A report of `bytes` from a UE whose MAC follows RLC's reports reaches `cell`.
    BufferReport { cell: CellId, ue: UeId, bytes: u32 },
    /// A cell sends random access responses.
    Responses { cell: CellId },
    /// The eNB has received nothing on an uplink grant: the UE has not received it.
    GrantMissed { ue: UeId, target: Tti },
    /// The eNB has received no retransmission on the blocks to which it was moved: the UE has not
    /// received the grant.
    MoveMissed { ue: UeId, process: u8, target: Tti },
    /// The UE's semi-persistent grant for `target` is to be prepared.
    UplinkOccasion { ue: UeId, target: Tti },
    /// A power control command takes effect.
    PowerCommand { ue: UeId, command: u8, blocks: u8 },
    /// A UE has a grant for this TTI, which therefore must be processed.
    Transmit,
    /// A step of the UE's RRC connection.
    Rrc { ue: UeId },
    /// The UE has received the contention resolution of its random access.
    ContentionResolved { ue: UeId },
    /// The UE may have been inactive for the inactivity timer, after which it is released.
    Inactivity { ue: UeId },
    /// The UE measures the cells around it.
    Measurement { ue: UeId },
    /// A step of a handover or a re-establishment, or a report.
    Mobility { ue: UeId },
    /// The gateway switches the path of the UE's data (TS 36.300 clause 10.1.2.2).
    PathSwitch { ue: UeId },
    /// The receiver of a sidelink has decoded the block of this TTI, or its decoding has failed.
    SidelinkDecoded { destination: u32, process: u8, sent: Tti },
    /// A persistent grant of a sidelink.
    SidelinkOccasion { destination: u32 },
    /// A pair selects sidelink or infrastructure mode.
    ModeSelection { pair: u32 },
    /// The reordering of a pair's receiver ends.
    Reordering { destination: u32 },
}

/// A calendar in which events are noted.
pub(super) trait Notes {
    /// First TTI that has not been processed yet.
    fn next(&self) -> Tti;
    /// Notes `due` for `tti`, which has not been processed yet.
    fn note(&mut self, tti: Tti, due: Due);
}

impl Notes for Agenda {
    #[inline]
    fn next(&self) -> Tti {
        self.next()
    }
    #[inline]
    fn note(&mut self, tti: Tti, due: Due) {
        self.note(tti, due);
    }
}

/// The events that one of several threads notes, in order: the calendar takes them afterwards.
#[derive(Debug, Default)]
pub(super) struct OwnNotes {
    pub next: Tti,
    pub notes: Vec<(Tti, Due)>,
}

impl Notes for OwnNotes {
    fn next(&self) -> Tti {
        self.next
    }
    fn note(&mut self, tti: Tti, due: Due) {
        self.notes.push((tti, due));
    }
}
