//! Commands of the state machines of a UE's connection and of its mobility, which the network
//! carries out in their order.

use lasthop_units::{CellId, Duration, Tti};
use smallvec::SmallVec;

use super::LinkEvent;

/// A command of RRC for a UE, which the network carries out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Command {
    /// The next step of mobility is due in this TTI, or in the first one that can still be
    /// scheduled.
    Wake(Tti),
    /// The UE takes a sample of the cells in this TTI.
    SampleAt(Tti),
    /// A row of the events table.
    Event {
        /// The event.
        event: MobilityEvent,
        /// The cell that is concerned.
        cell: CellId,
        /// Time without a serving cell, where it has ended.
        interruption: Option<Duration>,
    },
    /// An event of radio link monitoring.
    Link(LinkEvent),
    /// A query to the network, which answers by an input.
    Ask(Question),
    /// The UE leaves its cell for this one, MAC is reset, and no cell schedules it.
    Detach(CellId),
    /// The bearers' data moves to this cell's eNB.
    MoveData(CellId),
    /// This cell, the target of a handover, assigns a dedicated preamble to the UE, if one is free.
    AssignPreamble(CellId),
    /// The preamble that was assigned to the UE is free, if there is one.
    FreePreamble,
    /// Random access in the UE's cell, with the preamble assigned to the UE (TS 36.321 clause
    /// 5.1.2), if there is one, or with one for contention.
    Access {
        /// A preamble may be assigned to the UE.
        dedicated: bool,
    },
    /// The UE has an RRC message for its cell and no grant: random access for contention, unless
    /// random access is in progress.
    RequestGrant,
    /// The cell has received the request for a re-establishment, and resolves the contention.
    ResolveContention,
    /// The source continues with the UE, and with the data that it has forwarded.
    Recall,
    /// Packets that are still being forwarded are dropped.
    StopForwarding,
    /// The UE's cell serves it from now on.
    Serve,
    /// The UE enters RRC_IDLE, and the network releases its context.
    Release,
    /// The link of a UE that cannot leave its cell has failed: MAC is reset, and its bearers are
    /// re-established in this cell.
    Reestablish,
    /// The UE, which has no connection, camps on this cell.
    Camp(CellId),
    /// Random access for an RRCConnectionRequest, from the next TTI on.
    Connect,
    /// The next step of the connection is due in this TTI, or in the first one that can still be
    /// scheduled.
    ConnectionAt(Tti),
    /// T300 has expired: MAC is reset. The connection starts the next attempt itself.
    ConnectionFailed,
    /// RRCConnectionReconfigurationComplete is at the eNB: bearers may be used.
    Connected,
    /// The UE may have been inactive since this TTI: the eNB checks when the inactivity timer ends.
    WatchActivity(Tti),
    /// The UE was inactive, and its eNB has released it.
    Released,
}

/// A query about the UE's surroundings, whose answer a procedure needs before it continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// The load of this cell, which has received HANDOVER REQUEST.
    LoadOf(CellId),
    /// Whether the UE receives RRCConnectionReconfiguration with mobilityControlInfo.
    ReceivesCommand,
    /// The power of each cell at a UE that searches for a cell.
    Cells,
    /// The load of the cell of a re-establishment, and whether it can reach the eNB of this cell,
    /// which has the UE's context.
    ContextFrom(CellId),
}

/// A step of a handover or a re-establishment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MobilityEvent {
    /// The source has a report and sends a request to the target.
    PreparationStarted,
    /// The target has refused.
    PreparationRefused,
    /// The target is prepared for a conditional handover.
    Prepared,
    /// The UE leaves its cell for the target.
    Started,
    /// The target serves the UE.
    Complete,
    /// The UE has returned to the cell that it had left shortly before.
    PingPong,
    /// T304 has expired.
    Failed,
    /// The radio link has failed.
    RadioLinkFailure,
    /// The connection is re-established in the cell.
    Reestablished,
    /// The re-establishment was in a cell that was not prepared: the handover to it came too late.
    TooLate,
    /// The cell refuses a re-establishment, or no cell was found: the connection has ended.
    Rejected,
}

impl MobilityEvent {
    /// The name in result tables.
    pub const fn name(self) -> &'static str {
        match self {
            MobilityEvent::PreparationStarted => "handover-preparation",
            MobilityEvent::PreparationRefused => "handover-refused",
            MobilityEvent::Prepared => "handover-prepared",
            MobilityEvent::Started => "handover-start",
            MobilityEvent::Complete => "handover-complete",
            MobilityEvent::PingPong => "handover-ping-pong",
            MobilityEvent::Failed => "handover-failure",
            MobilityEvent::RadioLinkFailure => "radio-link-failure",
            MobilityEvent::Reestablished => "rrc-reestablished",
            MobilityEvent::TooLate => "handover-too-late",
            MobilityEvent::Rejected => "rrc-reestablishment-rejected",
        }
    }
}

/// The commands of a step, in their order. Those of the longest step are stored without an
/// allocation.
#[derive(Clone, Debug, Default)]
pub struct Commands(SmallVec<[Command; 5]>);

impl Commands {
    /// A list of one command.
    pub(crate) fn one(command: Command) -> Commands {
        let mut commands = Commands::default();
        commands.push(command);
        commands
    }

    /// Appends a command.
    pub(crate) fn push(&mut self, command: Command) {
        self.0.push(command);
    }

    /// Appends a row of the events table without an interruption.
    pub(crate) fn event(&mut self, event: MobilityEvent, cell: CellId) {
        self.push(Command::Event { event, cell, interruption: None });
    }
}

impl IntoIterator for Commands {
    type Item = Command;
    type IntoIter = smallvec::IntoIter<[Command; 5]>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}
