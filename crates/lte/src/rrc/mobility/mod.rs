//! Mobility of a connected UE as a state machine: measurements and their reports, handover (TS
//! 36.331 v15.1.0 clause 5.3.5.4), radio link failure (5.3.11) and re-establishment (5.3.7).
//!
//! # Contract
//! [`UeMobility::step`] takes one [`Input`] and returns [`Commands`], which its owner carries out
//! in their order. There is no other input or output. The [`Context`] has the UE's surroundings;
//! where a procedure needs more of them (a measurement, whether a message is received, the load of
//! a cell) a command queries it, and an input answers in the same TTI. [`Command::Wake`] gives a
//! TTI in which [`Input::Wake`] is due; an earlier or a second call has no effect.
//!
//! # Two ends
//! [`ue`] has the state and the decisions of the UE (TS 36.331 clause 5), [`enb`] those of the eNBs
//! that have its context or prepare for it. Neither reads the other's state, and only the eNBs read
//! the path of the UE's data. [`UeMobility`] has one of each and passes on the messages between
//! them, which are not encoded and arrive at the time that one of the two has computed. Two rules
//! use the state of both: the UE sends no report while the eNBs process one (reportInterval is
//! taken to be longer), and an eNB does not answer a re-establishment after T301 has expired.

mod enb;
mod measuring;
#[cfg(test)]
mod tests;
mod ue;

use lasthop_units::{CellId, Duration, IndexVec, Instant, Tti};

pub use enb::{Answer, Load};
pub use measuring::{NOTHING_MW, SAMPLING_PERIOD, Sample};

use super::{
    CellParameters, Command, Commands, HandoverConfig, Measured, MessageTimes, MobilityEvent, Question,
    RrcTiming,
};
use crate::phy::TTI;
use enb::{Due, EnbProcedures, Preparation};
use ue::{Outcome, UeProcedures};

/// An eNB: its number.
pub type Enb = u16;

/// The surroundings of a UE at a step.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// Information that both ends have.
    pub at: Moment<'a>,
    /// The path of the UE's data.
    pub data: DataPath<'a>,
}

/// Information that a UE and its eNB have at a moment.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a> {
    /// The parameters of the procedures.
    pub config: &'a HandoverConfig,
    /// What each cell broadcasts, and the times of its messages.
    pub cells: &'a IndexVec<CellId, CellParameters>,
    /// The present moment.
    pub now: Instant,
    /// The present TTI.
    pub tti: Tti,
    /// The first TTI that can still be scheduled.
    pub open: Tti,
    /// The UE's cell.
    pub serving: CellId,
    /// The UE is in RRC_CONNECTED.
    pub connected: bool,
}

/// Path of a UE's data (TS 36.300 clause 10.1.2.2).
#[derive(Clone, Copy, Debug)]
pub struct DataPath<'a> {
    /// The eNB with the UE's PDCP entities.
    pub home: Enb,
    /// The eNB to which the gateway sends.
    pub anchor: Enb,
    /// The home eNB has not received the end marker.
    pub forwarding: bool,
    /// The eNB of each cell.
    pub enbs: &'a IndexVec<CellId, Enb>,
}

impl Moment<'_> {
    /// The TTI after a time of `t`.
    const fn after(&self, t: Duration) -> Tti {
        self.tti.plus(ttis(t))
    }

    /// Times of the messages; None: messages take no time.
    fn messages(&self) -> Option<MessageTimes> {
        self.cells[self.serving].message_times()
    }

    /// TTIs that a message takes to the UE.
    fn downlink_message(&self) -> u64 {
        self.messages().map_or(0, |m| m.decode)
    }

    /// TTIs of a report: a scheduling request, its grant, and the report on PUSCH.
    fn report(&self) -> u64 {
        self.messages().map_or(0, |m| m.decode + m.grant + m.decode)
    }

    /// The TTI in which a UE that has found `cell` has read its system information.
    fn informed(&self, cell: CellId) -> Tti {
        let rrc = &self.cells[cell].rrc;
        if rrc.timing == RrcTiming::Ideal { self.tti } else { rrc.informed(self.tti) }
    }
}

/// `t` in whole TTIs, rounded up.
pub const fn ttis(t: Duration) -> u64 {
    t.0.div_ceil(TTI.0)
}

/// An input to the state machine of a UE's mobility.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// The connection is set up; the UE measures the cells from this TTI on.
    Connected {
        /// TTI of the first sample.
        first: Tti,
    },
    /// RRCConnectionRelease: the UE enters RRC_IDLE.
    Released,
    /// A sample of the cells; None: the UE is not connected any more.
    Sample(Option<Sample<'a>>),
    /// The time of a [`Command::Wake`].
    Wake,
    /// The eNB hands the UE over to this cell, as after a report.
    Order(CellId),
    /// The answer to [`Question::LoadOf`].
    Load(Load),
    /// The answer to [`Question::ReceivesCommand`].
    CommandReceived(bool),
    /// The answer to [`Question::Cells`]: linear power on a resource element of each [mW].
    Cells(&'a IndexVec<CellId, f64>),
    /// Msg3 of the UE's random access is at the cell.
    Msg3,
    /// The UE has received the random access response to its dedicated preamble, or one after which
    /// messages take no time.
    ResponseReceived {
        /// The TTI of Msg3; None: messages take no time.
        msg3: Option<Tti>,
    },
    /// The answer to [`Question::ContextFrom`].
    Context(Answer),
    /// MAC indicates a random access problem: preambleTransMax preambles without success.
    AccessProblem,
    /// RLC has reached maxRetxThreshold.
    LinkFailure,
}

/// Mobility of a UE: its part, that of its eNBs, and the messages between them.
#[derive(Clone, Debug)]
pub struct UeMobility {
    ue: UeProcedures,
    enb: EnbProcedures,
}

impl UeMobility {
    /// For a UE among `cells` cells, without a procedure.
    pub fn new(cells: usize) -> UeMobility {
        UeMobility { ue: UeProcedures::new(cells), enb: EnbProcedures::default() }
    }

    /// The UE's measurement of a cell, after the layer 3 filter.
    pub fn measured(&self, cell: CellId) -> Option<Measured> {
        self.ue.measured(cell)
    }

    /// True while random access to the target of a handover is in progress.
    pub const fn is_accessing(&self) -> bool {
        self.ue.is_accessing()
    }

    /// True if Msg3 of this UE is an RRCConnectionReestablishmentRequest.
    pub const fn is_requesting(&self) -> bool {
        self.ue.t301().is_some() && !self.enb.is_busy()
    }

    /// Processes `input` and returns the commands that follow.
    pub fn step(&mut self, context: &Context<'_>, input: Input<'_>) -> Commands {
        let mut commands = Commands::default();
        let (at, out) = (&context.at, &mut commands);
        match input {
            Input::Connected { first } => self.ue.connected(at, first, out),
            Input::Released => self.released(),
            Input::Sample(sample) => self.sample(at, sample, out),
            Input::Wake => self.wake(context, out),
            Input::Order(target) => self.order(at, target, out),
            Input::Load(load) => self.load(at, load, out),
            Input::CommandReceived(received) => self.command_received(at, received, out),
            Input::Cells(powers_mw) => {
                let outcome = self.ue.selected(at, powers_mw, out);
                self.outcome(context, outcome, out);
            }
            Input::Msg3 => self.msg3(at, out),
            Input::ResponseReceived { msg3 } => self.ue.response_received(at, msg3, out),
            Input::Context(answer) => self.context(context, answer, out),
            Input::AccessProblem => self.failed(self.ue.access_problem(), at, out),
            Input::LinkFailure => self.failed(true, at, out),
        }
        commands
    }

    // Steps that are due.

    fn wake(&mut self, context: &Context<'_>, out: &mut Commands) {
        let at = &context.at;
        if self.ue.is_served() && self.enb.is_busy() {
            return self.enb_wake(context, out);
        }
        match self.ue.wake(at, out) {
            Outcome::Nothing => self.enb_wake(context, out),
            outcome => self.outcome(context, outcome, out),
        }
    }

    fn enb_wake(&mut self, context: &Context<'_>, out: &mut Commands) {
        let at = &context.at;
        match self.enb.wake(context, out) {
            Due::Nothing => {}
            Due::Ask(question) => out.push(Command::Ask(question)),
            Due::Reject => self.go_idle(at, out),
            Due::Reestablish => self.reestablish(context, out),
        }
    }

    /// Passes on the result of a step of the UE to the eNBs.
    fn outcome(&mut self, context: &Context<'_>, outcome: Outcome, out: &mut Commands) {
        let at = &context.at;
        match outcome {
            Outcome::Nothing => {}
            Outcome::Report(report) => self.enb.reported(context, report, out),
            Outcome::Leaves(target) => {
                // The source begins to forward.
                out.push(Command::MoveData(target));
                self.ue.synchronise(at, out);
            }
            Outcome::HandoverFailed { target, left } => {
                out.event(MobilityEvent::Failed, target);
                if left {
                    out.push(Command::Recall);
                }
                self.ue.begin_reestablishment(at, out);
            }
            Outcome::HandoverComplete => self.handover_complete(at, out),
            Outcome::Restored => self.restored(at, out),
            Outcome::CompletionFailed => {
                // The source keeps the UE's context and data until UE CONTEXT RELEASE (TS 36.423
                // clause 8.2.3), and this cell has the context, too.
                self.enb.keep_context(at.serving);
                out.push(Command::Recall);
                self.ue.begin_reestablishment(at, out);
            }
            Outcome::Idle => self.go_idle(at, out),
        }
    }

    // Measurements and the radio link.

    fn sample(&mut self, at: &Moment<'_>, sample: Option<Sample<'_>>, out: &mut Commands) {
        let failed = self.ue.sample(at, sample, !self.enb.is_busy(), out);
        self.failed(failed, at, out);
    }

    /// The radio link has failed if `failed`; the procedure of the eNBs ends without a result.
    fn failed(&mut self, failed: bool, at: &Moment<'_>, out: &mut Commands) {
        if failed && self.ue.link_failure(at, out) {
            self.enb.abandon();
        }
    }

    // Handover.

    /// Starts an ordered handover, unless another one is in progress.
    fn order(&mut self, at: &Moment<'_>, target: CellId, out: &mut Commands) {
        if at.connected && at.serving != target && self.ue.is_served() && !self.enb.is_busy() {
            self.enb.ordered(at, target, out);
        }
    }

    /// Processes the answer of the target, by its `load`: HANDOVER REQUEST ACKNOWLEDGE or HANDOVER
    /// PREPARATION FAILURE is at the source.
    fn load(&mut self, at: &Moment<'_>, load: Load, out: &mut Commands) {
        match self.enb.prepared(at, load, out) {
            None | Some(Preparation::Commanding) => {}
            Some(Preparation::Refused) => self.ue.clear_events(),
            Some(Preparation::Conditional(target)) => self.ue.configured(at, target, out),
        }
    }

    /// RRCConnectionReconfiguration with mobilityControlInfo was sent.
    fn command_received(&mut self, at: &Moment<'_>, received: bool, out: &mut Commands) {
        if let Some(target) = self.enb.commanded(at, received, out) {
            self.ue.commanded(at, target, out);
        }
    }

    /// Processes Msg3 of a UE that changes its cell.
    fn msg3(&mut self, at: &Moment<'_>, out: &mut Commands) {
        if self.ue.is_completing() {
            self.handover_complete(at, out);
        } else if self.is_requesting() {
            out.push(Command::Ask(Question::ContextFrom(self.ue.source())));
        }
    }

    /// RRCConnectionReconfigurationComplete is at the target, which serves the UE from now on.
    // TS 36.331 clause 5.3.5.4: T304 stops with the success of random access. Without a dedicated
    // preamble that is now.
    fn handover_complete(&mut self, at: &Moment<'_>, out: &mut Commands) {
        if self.ue.is_accessing() {
            out.push(Command::FreePreamble);
        }
        let interruption = Some(self.ue.interruption(at));
        out.push(Command::Event { event: MobilityEvent::Complete, cell: at.serving, interruption });
        self.enb.arrived(at, self.ue.source(), out);
        self.served(out);
    }

    // Re-establishment.

    /// RRCConnectionReestablishmentRequest is at the eNB, with the answer to its query.
    fn context(&mut self, context: &Context<'_>, answer: Answer, out: &mut Commands) {
        if let Some(t301) = self.ue.t301()
            && !self.enb.is_busy()
        {
            self.enb.requested(context, answer, t301, out);
        }
    }

    /// The cell has the UE's context, and answers unless it must wait: T301 stops when the UE
    /// receives the answer (clause 7.3), and the answer waits for the end of the last change of
    /// cell.
    fn reestablish(&mut self, context: &Context<'_>, out: &mut Commands) {
        let at = &context.at;
        let Some(t301) = self.ue.t301() else { return };
        if context.data.forwarding || at.tti.plus(at.downlink_message()) > t301 {
            return self.enb.wait(at, t301, out);
        }
        out.push(Command::MoveData(at.serving));
        let complete = self.enb.answered(at);
        self.ue.restore(complete, out);
    }

    fn restored(&mut self, at: &Moment<'_>, out: &mut Commands) {
        let interruption = Some(self.ue.interruption(at));
        out.push(Command::Event { event: MobilityEvent::Reestablished, cell: at.serving, interruption });
        self.enb.restored(at, self.ue.source(), out);
        self.served(out);
    }

    /// RRCConnectionReestablishmentReject, or expiry of T301 or T311: the connection ends, and the
    /// network releases the UE's context. The UE requests a new connection when there is data.
    fn go_idle(&mut self, at: &Moment<'_>, out: &mut Commands) {
        out.push(Command::StopForwarding);
        out.event(MobilityEvent::Rejected, at.serving);
        self.ue.go_idle();
        self.enb.end();
        out.push(Command::Release);
    }

    // The end of a procedure.

    /// The cell serves the UE: all procedures end.
    fn served(&mut self, out: &mut Commands) {
        self.ue.served();
        self.enb.end();
        out.push(Command::Serve);
    }

    /// The eNB has released the connection of a UE that it serves. A UE between two cells does not
    /// receive the release.
    fn released(&mut self) {
        if self.ue.released() {
            self.enb.end();
        }
    }
}
