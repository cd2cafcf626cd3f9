//! The eNBs' procedures for a UE that moves (TS 36.300 clause 10.1.2.1). The source acts upon
//! reports, prepares a target over X2, which may refuse, and sends the command; the cell of a
//! re-establishment retrieves the UE's context.

use lasthop_units::{CellId, Tti};

use super::ue::Report;
use super::{Command, Commands, Context, DataPath, MobilityEvent, Moment, Question, ttis};
use crate::rrc::HandoverConfig;

/// From one transmission of a handover command to the next [TTI]: a round trip of HARQ.
const REPEAT: u64 = 8;
/// An eNB that waits for the end of the last change of cell checks again after this time [TTI].
const BUSY: u64 = 5;
/// RRCConnectionReestablishment and RRCConnectionReconfiguration are answered within 15 ms each,
/// which the grants of the answers take into account (TS 36.331 table 11.2-1).
const PROCESSING: u64 = 15;

/// Load of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// The cell is switched off.
    pub is_down: bool,
    /// Connected UEs besides the one concerned.
    pub users: usize,
}

impl Load {
    /// Admission control: true if the cell admits one more UE.
    pub fn admits(&self, config: &HandoverConfig) -> bool {
        !self.is_down && config.users.value().is_none_or(|most| self.users < most as usize)
    }
}

/// Answer to [`Question::ContextFrom`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Load of the cell of the re-establishment.
    pub load: Load,
    /// The eNB with the UE's context can be reached.
    pub reachable: bool,
}

/// Procedure of the eNBs that is in progress for a UE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Procedure {
    #[default]
    None,
    /// A report is being sent to the source, or waits there.
    Reported { target: CellId, at: Tti },
    /// A request is sent to the target; `early`: for a conditional handover.
    Preparing { target: CellId, at: Tti, early: bool },
    /// The command is sent, and repeated until the UE receives it.
    Commanding { target: CellId, at: Tti },
    /// The cell of a re-establishment retrieves the UE's context, or refuses.
    Retrieving { at: Tti, refused: bool },
}

/// A step that is due at an eNB.
pub(super) enum Due {
    Nothing,
    Ask(Question),
    /// RRCConnectionReestablishmentReject.
    Reject,
    /// The cell has the UE's context and may answer.
    Reestablish,
}

/// Result of a preparation.
pub(super) enum Preparation {
    Refused,
    /// The UE receives a conditional command for this cell.
    Conditional(CellId),
    /// The command is sent.
    Commanding,
}

/// The eNBs' part of the procedures of a UE.
#[derive(Clone, Debug, Default)]
pub(super) struct EnbProcedures {
    pub(super) procedure: Procedure,
    /// A prepared cell, which has the UE's context.
    pub(super) prepared: Option<CellId>,
    /// The last handover: its source, and when it was complete.
    pub(super) last: Option<(CellId, Tti)>,
}

impl DataPath<'_> {
    /// True until the data path of the last change of cell is complete: no data is forwarded, and
    /// the path is switched. The next handover waits for that, and so does the preparation of a
    /// conditional target, since the UE may access such a target at any time.
    const fn is_changing(&self) -> bool {
        self.forwarding || self.home != self.anchor
    }
}

impl Context<'_> {
    /// TTIs that a message takes from the UE's home eNB to `cell`.
    fn x2_delay(&self, cell: CellId) -> u64 {
        if self.data.enbs[cell] == self.data.home { 0 } else { ttis(self.at.config.x2.delay) }
    }
}

impl EnbProcedures {
    /// True if a procedure is in progress.
    pub const fn is_busy(&self) -> bool {
        !matches!(self.procedure, Procedure::None)
    }

    /// Enters `procedure`, whose next step is due at `at`.
    fn enter(&mut self, procedure: Procedure, at: Tti, out: &mut Commands) {
        self.procedure = procedure;
        out.push(Command::Wake(at));
    }

    /// Executes and returns the step that is due.
    pub fn wake(&mut self, context: &Context<'_>, out: &mut Commands) -> Due {
        let tti = context.at.tti;
        match self.procedure {
            Procedure::Reported { target, at } if at <= tti => {
                self.prepare(context, target, out);
                Due::Nothing
            }
            Procedure::Preparing { target, at, .. } if at <= tti => Due::Ask(Question::LoadOf(target)),
            Procedure::Commanding { at, .. } if at <= tti => Due::Ask(Question::ReceivesCommand),
            Procedure::Retrieving { at, refused: true } if at <= tti => Due::Reject,
            Procedure::Retrieving { at, refused: false } if at <= tti => Due::Reestablish,
            _ => Due::Nothing,
        }
    }

    // The source.

    /// Starts an ordered handover, as after a report.
    pub fn ordered(&mut self, at: &Moment<'_>, target: CellId, out: &mut Commands) {
        self.enter(Procedure::Reported { target, at: at.open }, at.open, out);
    }

    /// Acts upon a report of the UE. An early one leads to a preparation at once, and to nothing
    /// while the last change of cell is in progress.
    pub fn reported(&mut self, context: &Context<'_>, report: Report, out: &mut Commands) {
        let at = context.at.tti.plus(context.at.report());
        let Report { target, early } = report;
        if !early {
            return self.enter(Procedure::Reported { target, at }, at, out);
        }
        if !context.data.is_changing() {
            let at = at.plus(2 * context.x2_delay(target));
            self.enter(Procedure::Preparing { target, at, early }, at, out);
        }
    }

    /// The source has a report, and sends HANDOVER REQUEST to the target.
    fn prepare(&mut self, context: &Context<'_>, target: CellId, out: &mut Commands) {
        if context.data.is_changing() {
            let at = context.at.tti.plus(BUSY);
            return self.enter(Procedure::Reported { target, at }, at, out);
        }
        out.event(MobilityEvent::PreparationStarted, target);
        let at = context.at.tti.plus(2 * context.x2_delay(target));
        self.enter(Procedure::Preparing { target, at, early: false }, at, out);
    }

    /// HANDOVER REQUEST ACKNOWLEDGE or HANDOVER PREPARATION FAILURE is at the source, by the
    /// target's `load`.
    pub fn prepared(&mut self, at: &Moment<'_>, load: Load, out: &mut Commands) -> Option<Preparation> {
        let Procedure::Preparing { target, at: due, early } = self.procedure else { return None };
        if due > at.tti {
            return None;
        }
        if !load.admits(at.config) {
            self.abandon();
            out.event(MobilityEvent::PreparationRefused, target);
            return Some(Preparation::Refused);
        }
        self.prepared = Some(target);
        if early {
            self.abandon();
            out.event(MobilityEvent::Prepared, target);
            return Some(Preparation::Conditional(target));
        }
        out.push(Command::AssignPreamble(target));
        self.enter(Procedure::Commanding { target, at: at.tti }, at.tti, out);
        out.push(Command::Ask(Question::ReceivesCommand));
        Some(Preparation::Commanding)
    }

    /// RRCConnectionReconfiguration with mobilityControlInfo was sent: the target, if the UE has
    /// `received` it. Otherwise the eNB repeats it until the radio link has failed.
    pub fn commanded(&mut self, at: &Moment<'_>, received: bool, out: &mut Commands) -> Option<CellId> {
        let Procedure::Commanding { target, at: due } = self.procedure else { return None };
        if due > at.tti {
            return None;
        }
        if received {
            self.abandon();
            return Some(target);
        }
        let due = at.tti.plus(REPEAT);
        self.enter(Procedure::Commanding { target, at: due }, due, out);
        None
    }

    // The target.

    /// The UE has arrived from `source`. UE History Information (TS 36.423 clause 9.2.38) shows
    /// whether the UE was in this cell shortly before.
    pub fn arrived(&mut self, at: &Moment<'_>, source: CellId, out: &mut Commands) {
        let back = self.last.replace((source, at.tti));
        let recent = |last: Tti| last.plus(ttis(at.config.ping_pong)) >= at.tti;
        if back.is_some_and(|(from, last)| from == at.serving && recent(last)) {
            out.event(MobilityEvent::PingPong, at.serving);
        }
    }

    // The cell of a re-establishment.

    /// RRCConnectionReestablishmentRequest is at the eNB, which has the UE's context if it was
    /// prepared or has the UE's PDCP entities. Otherwise it requests the context from the eNB that
    /// has it. The UE waits until `t301`.
    // TS 36.331 v15.1.0 5.3.7.1 [unverified]: The connection re-establishment succeeds only if the
    // concerned cell is prepared i.e. has a valid UE context.
    pub fn requested(&mut self, context: &Context<'_>, answer: Answer, t301: Tti, out: &mut Commands) {
        let Context { at, data } = context;
        let here = data.enbs[at.serving] == data.home;
        let known = here || self.prepared == Some(at.serving);
        let lost = !(here || answer.reachable) || !(known || at.config.fetch_context);
        let refused = lost || !answer.load.admits(at.config);
        let asks = if known || refused { 0 } else { 2 * context.x2_delay(at.serving) };
        out.push(Command::ResolveContention);
        let due = at.tti.plus(asks).min(t301);
        self.enter(Procedure::Retrieving { at: due, refused }, due, out);
    }

    /// The eNB waits before it answers.
    pub fn wait(&mut self, at: &Moment<'_>, t301: Tti, out: &mut Commands) {
        let due = at.tti.plus(BUSY).min(t301);
        self.enter(Procedure::Retrieving { at: due, refused: false }, due, out);
    }

    /// The eNB answers. Returns the TTI of the last message of the procedure, which is
    /// RRCConnectionReestablishment and a reconfiguration, each with the UE's answer.
    pub fn answered(&mut self, at: &Moment<'_>) -> Tti {
        self.abandon();
        let message = at.messages().map_or(0, |m| m.decode + PROCESSING + m.grant + m.decode);
        at.tti.plus(2 * message)
    }

    /// The connection is re-established. The handover from `source` came too late if the UE has
    /// another cell now that was not prepared.
    pub fn restored(&self, at: &Moment<'_>, source: CellId, out: &mut Commands) {
        if source != at.serving && self.prepared != Some(at.serving) {
            out.event(MobilityEvent::TooLate, at.serving);
        }
    }

    /// The radio link fails before the procedure is complete; `cell` has the UE's context by now.
    pub const fn keep_context(&mut self, cell: CellId) {
        self.prepared = Some(cell);
    }

    // The end of a procedure.

    /// Ends the procedure without a result; a prepared target stays prepared.
    pub const fn abandon(&mut self) {
        self.procedure = Procedure::None;
    }

    /// Ends the procedure and the preparation.
    pub const fn end(&mut self) {
        (self.procedure, self.prepared) = (Procedure::None, None);
    }
}
