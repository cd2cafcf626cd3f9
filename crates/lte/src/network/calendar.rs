//! What is due at the start of a later TTI, or within one.

use lasthop_units::{CellId, Tti, UeId};

/// The network's calendar, and where it stands.
pub(super) type Agenda = lasthop_cell::calendar::Agenda<Due>;

/// What is due at the start of a TTI. Within a TTI things come in the order in which they were
/// noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Due {
    /// The UE has decoded a downlink transport block, or failed to.
    DownlinkDecoded { ue: UeId, process: u8 },
    /// HARQ feedback of a downlink transport block reaches the eNB.
    DownlinkFeedback { ue: UeId, process: u8 },
    /// The eNB has decoded the uplink transport block sent in this TTI, or failed to.
    UplinkDecoded { ue: UeId, process: u8, sent: Tti },
    /// A UE with downlink data may get a grant that it has not asked for.
    Proactive { ue: UeId },
    /// A UE without a grant has a timer or an opportunity.
    UplinkTimers { ue: UeId },
    /// A scheduling request that was sent in this TTI reaches the eNB.
    RequestReceived { ue: UeId, sent: Tti },
    /// A report of `bytes` from a UE whose MAC follows RLC's reports reaches `cell`.
    BufferReport { cell: CellId, ue: UeId, bytes: u32 },
    /// A cell answers preambles.
    Responses { cell: CellId },
    /// Nothing came on an uplink grant: the UE has not received it.
    GrantMissed { ue: UeId, target: Tti },
    /// Nothing came where a retransmission was moved to: the UE does not know of it.
    MoveMissed { ue: UeId, process: u8, target: Tti },
    /// The UE's semi-persistent grant for `target` must be prepared.
    UplinkOccasion { ue: UeId, target: Tti },
    /// A power control command takes effect.
    PowerCommand { ue: UeId, command: u8, blocks: u8 },
    /// Somebody has a grant for this TTI: it must happen.
    Transmit,
    /// A step of the UE's RRC connection.
    Rrc { ue: UeId },
    /// The UE knows that the contention of its random access is resolved.
    ContentionResolved { ue: UeId },
    /// The UE may have been inactive for long enough to be released.
    Inactivity { ue: UeId },
    /// The UE measures the cells around it.
    Measurement { ue: UeId },
    /// A step of a handover or a re-establishment, or a report.
    Mobility { ue: UeId },
    /// The gateway switches the path of the UE's data (TS 36.300 clause 10.1.2.2).
    PathSwitch { ue: UeId },
    /// The receiver of a sidelink has decoded the block of this TTI, or failed to.
    SidelinkDecoded { destination: u32, process: u8, sent: Tti },
    /// A persistent grant of a sidelink.
    SidelinkOccasion { destination: u32 },
    /// Sidelink or infrastructure?
    ModeSelection { pair: u32 },
    /// A receiver of a pair stops waiting for what is missing.
    Reordering { destination: u32 },
}
