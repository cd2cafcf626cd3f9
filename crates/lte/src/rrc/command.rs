//! What RRC orders for a UE: commands of the state machines of its connection and of its
//! mobility, which the network carries out in their order.

use lasthop_units::{CellId, Duration, Tti};
use smallvec::SmallVec;

use super::LinkEvent;

/// What is to be done for a UE.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Command {
    /// The next step of mobility is due in this TTI, or in the first one that is open.
    Wake(Tti),
    /// The UE takes a sample of the cells in this TTI.
    SampleAt(Tti),
    /// A row of the events table.
    Event {
        /// What has happened.
        event: MobilityEvent,
        /// The cell that is concerned.
        cell: CellId,
        /// For how long no cell served the UE, where that has ended.
        interruption: Option<Duration>,
    },
    /// Radio link monitoring has found this.
    Link(LinkEvent),
    /// The network is queried, and answers with an input.
    Ask(Question),
    /// The UE leaves its cell for this one, MAC is reset, and no cell schedules it.
    Detach(CellId),
    /// The bearers' data moves to this cell's eNB.
    MoveData(CellId),
    /// Random access in the UE's cell; with a preamble of its own (TS 36.321 clause 5.1.2), or with
    /// one of all.
    Access {
        /// A preamble that no other UE has.
        dedicated: bool,
    },
    /// The cell has the request for a re-establishment, and answers the contention.
    ResolveContention,
    /// The source takes back what it has forwarded.
    Recall,
    /// What is still being forwarded is lost.
    StopForwarding,
    /// The UE's cell serves it from now on.
    Serve,
    /// The UE enters RRC_IDLE, and the network releases its context.
    Release,
    /// The link of a UE that cannot leave its cell has failed: MAC is reset, and its bearers are
    /// re-established where it is.
    Reestablish,
    /// The UE, which has no connection, camps on this cell.
    Camp(CellId),
    /// Random access for an RRCConnectionRequest, from the next TTI on.
    Connect,
    /// The next step of the connection is due in this TTI, or in the first one that is open.
    ConnectionAt(Tti),
    /// T300 has expired: reset MAC. The UE tries again by itself.
    ConnectionFailed,
    /// RRCConnectionReconfigurationComplete is at the eNB: bearers may be used.
    Connected,
    /// The UE may have been inactive since this TTI: the eNB looks again when that is long enough.
    WatchActivity(Tti),
    /// The UE was inactive, and its eNB has released it.
    Released,
}

/// What a procedure needs of its surroundings before it continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// HANDOVER REQUEST has reached this cell: how full is it?
    LoadOf(CellId),
    /// RRCConnectionReconfiguration with mobilityControlInfo is sent: does the UE receive it?
    ReceivesCommand,
    /// The UE looks for a cell: what does it measure of each?
    Cells,
    /// What does the cell of a re-establishment find of a UE that was in this cell?
    ContextFrom(CellId),
}

/// A step of a handover or a re-establishment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MobilityEvent {
    /// The source has a report and sends a request to the target.
    PreparationStarted,
    /// The target has refused.
    PreparationRefused,
    /// The target is prepared, in case that the UE will come (conditional handover).
    Prepared,
    /// The UE leaves for the target.
    Started,
    /// The target serves the UE.
    Complete,
    /// It has come back to the cell that it had left shortly before.
    PingPong,
    /// T304 has expired.
    Failed,
    /// The radio link has failed.
    RadioLinkFailure,
    /// The connection is re-established in the cell.
    Reestablished,
    /// The re-establishment was in a cell that the UE should have been handed over to.
    TooLate,
    /// The cell refuses a re-establishment, or none was found: the connection is gone.
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

/// The commands of a step, in their order. There is room for as many as there are; those of the
/// longest step need no memory of their own.
#[derive(Clone, Debug, Default)]
pub struct Commands(SmallVec<[Command; 4]>);

impl Commands {
    /// This one alone.
    pub(crate) fn one(command: Command) -> Commands {
        let mut commands = Commands::default();
        commands.push(command);
        commands
    }

    /// One more.
    pub(crate) fn push(&mut self, command: Command) {
        self.0.push(command);
    }

    /// A row of the events table, with nothing that ends.
    pub(crate) fn event(&mut self, event: MobilityEvent, cell: CellId) {
        self.push(Command::Event { event, cell, interruption: None });
    }
}

impl IntoIterator for Commands {
    type Item = Command;
    type IntoIter = smallvec::IntoIter<[Command; 4]>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}
