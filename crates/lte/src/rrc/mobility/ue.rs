//! The UE's procedures. After a handover command the UE leaves its cell, synchronises and accesses
//! the target (TS 36.331 clauses 5.3.5.4 to 5.3.5.6). It monitors its radio link; after a failure
//! it searches for a cell and requests the re-establishment of its connection (clauses 5.3.11 and
//! 5.3.7).

use lasthop_units::{CellId, Duration, Id, IndexVec, Instant, Tti};

use super::measuring::{Measuring, SAMPLING_PERIOD};
use super::{Command, Commands, Measured, MobilityEvent, Moment, Question, Sample, ttis};
use crate::rrc::radio_link::FRAME;
use crate::rrc::{LinkEvent, RadioLink, selection};

/// t-PollRetransmit of SRB1 in its default configuration (TS 36.331 clause 9.2.1.1).
const POLL_RETRANSMIT: Duration = Duration::from_millis(45);

/// State of a UE. A state lasts until `at`, or until the timer that it has expires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    /// Served, or idle.
    #[default]
    Served,
    /// The UE processes the command.
    Applying { target: CellId, at: Tti, t304: Tti },
    /// The UE has left the source and synchronises with the target.
    Synchronising { at: Tti, t304: Tti },
    /// The UE performs random access at the target.
    Accessing { t304: Tti },
    /// Random access was successful, and RRCConnectionReconfigurationComplete is on its way to the
    /// target. RLC of SRB1 sends it again in `again`.
    Confirming { again: Tti },
    /// The UE has accessed the target, with messages that take no time.
    Completing { at: Tti },
    /// The radio link has failed; the UE acts upon it in `at`. `left`: no cell has served the UE
    /// since it left its cell.
    Failing { at: Tti, left: bool },
    /// The UE searches for a cell.
    Selecting { at: Tti, t311: Tti },
    /// The UE reads the cell's system information.
    Acquiring { at: Tti, t311: Tti },
    /// The UE has requested a re-establishment, and waits for the answer.
    Requesting { t301: Tti },
    /// The UE has the answer: RRC messages re-establish the connection.
    Restoring { at: Tti },
}

impl State {
    /// The UE has left its cell, and none serves it.
    pub const fn is_detached(&self) -> bool {
        match self {
            State::Served | State::Applying { .. } => false,
            State::Failing { left, .. } => *left,
            _ => true,
        }
    }

    /// True if the UE monitors its radio link, which may fail: it has a cell, and none of T301,
    /// T304 and T311 runs (TS 36.331 clause 5.3.11.1).
    const fn is_monitored(&self) -> bool {
        matches!(self, State::Served | State::Confirming { .. } | State::Restoring { .. })
    }

    /// True if T301, T304 or T311 runs.
    const fn is_timed(&self) -> bool {
        matches!(
            self,
            State::Applying { .. }
                | State::Synchronising { .. }
                | State::Accessing { .. }
                | State::Selecting { .. }
                | State::Acquiring { .. }
                | State::Requesting { .. }
        )
    }
}

/// A measurement report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Report {
    /// The first neighbour in the report.
    pub target: CellId,
    /// The neighbour is within the margin in which it may be prepared for a conditional handover.
    pub early: bool,
}

/// Result of a step of the UE, for the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Nothing,
    /// The UE sends a MeasurementReport.
    Report(Report),
    /// The UE leaves its cell for this one.
    Leaves(CellId),
    /// T304 has expired; `left`: after the UE had left its cell.
    HandoverFailed {
        target: CellId,
        left: bool,
    },
    /// RRCConnectionReconfigurationComplete is at the target.
    HandoverComplete,
    /// The last message of a re-establishment is at the eNB.
    Restored,
    /// The radio link has failed after random access at the target of a handover, or after the
    /// answer to a re-establishment, and before the last message is at the eNB.
    CompletionFailed,
    /// The UE leaves RRC_CONNECTED.
    Idle,
}

/// The UE's part of the procedures.
#[derive(Clone, Debug)]
pub(super) struct UeProcedures {
    pub(super) state: State,
    measuring: Measuring,
    pub(super) link: RadioLink,
    /// When a cell served the UE last, and which cell.
    pub(super) left: (Instant, CellId),
    /// Conditional handover: the target for which the UE has a command.
    command: Option<CellId>,
}

impl UeProcedures {
    pub fn new(cells: usize) -> UeProcedures {
        UeProcedures {
            state: State::Served,
            measuring: Measuring::new(cells),
            link: RadioLink::default(),
            left: (Instant::ZERO, CellId::from_index(0)),
            command: None,
        }
    }

    pub fn measured(&self, cell: CellId) -> Option<Measured> {
        self.measuring.of(cell)
    }

    /// True if a cell serves the UE, or the UE is idle.
    pub const fn is_served(&self) -> bool {
        matches!(self.state, State::Served)
    }

    pub const fn is_accessing(&self) -> bool {
        matches!(self.state, State::Accessing { .. })
    }

    /// True if Msg3 of this UE carries RRCConnectionReconfigurationComplete.
    pub const fn is_completing(&self) -> bool {
        matches!(self.state, State::Accessing { .. } | State::Confirming { .. })
    }

    /// Expiry of T301, if it runs.
    pub const fn t301(&self) -> Option<Tti> {
        match self.state {
            State::Requesting { t301 } => Some(t301),
            _ => None,
        }
    }

    /// The cell that served the UE last.
    pub const fn source(&self) -> CellId {
        self.left.1
    }

    /// Time since a cell served the UE last.
    pub fn interruption(&self, at: &Moment<'_>) -> Duration {
        at.now.since(self.left.0)
    }

    /// Enters `state`, whose next step is due at `at`.
    fn enter(&mut self, state: State, at: Tti, out: &mut Commands) {
        self.state = state;
        out.push(Command::Wake(at));
    }

    /// Executes the step that is due.
    pub fn wake(&mut self, at: &Moment<'_>, out: &mut Commands) -> Outcome {
        let tti = at.tti;
        match self.state {
            State::Applying { target, t304, .. } if t304 <= tti => {
                return Outcome::HandoverFailed { target, left: false };
            }
            // TS 36.331 clause 5.3.5.6: the UE reverts to the source's configuration and
            // re-establishes its connection. The source still has its data.
            State::Synchronising { t304, .. } | State::Accessing { t304 } if t304 <= tti => {
                return Outcome::HandoverFailed { target: at.serving, left: true };
            }
            State::Served => return self.consider(at, out),
            State::Applying { target, at: due, .. } if due <= tti => return self.leave(at, target, out),
            State::Synchronising { at: due, t304 } if due <= tti => {
                self.access(State::Accessing { t304 }, t304, true, out);
            }
            // RLC retransmits the message, for which MAC needs a grant.
            State::Confirming { again } if again <= tti => {
                self.confirm(tti, out);
                out.push(Command::RequestGrant);
            }
            State::Completing { at: due } if due <= tti => return Outcome::HandoverComplete,
            State::Failing { at: due, left } if due <= tti => {
                if left {
                    return Outcome::CompletionFailed;
                }
                self.begin_reestablishment(at, out);
            }
            State::Selecting { at: due, .. } if due <= tti => out.push(Command::Ask(Question::Cells)),
            State::Acquiring { at: due, .. } if due <= tti => {
                let t301 = at.after(at.config.t301);
                self.access(State::Requesting { t301 }, t301, false, out);
            }
            // T311 ends the search. TS 36.331 v15.1.0 clause 5.3.7.7 [unverified]: if timer T301
            // expires [...] perform the actions upon leaving RRC_CONNECTED.
            State::Selecting { t311: end, .. }
            | State::Acquiring { t311: end, .. }
            | State::Requesting { t301: end }
                if end <= tti =>
            {
                return Outcome::Idle;
            }
            State::Restoring { at: due } if due <= tti => return Outcome::Restored,
            _ => {}
        }
        Outcome::Nothing
    }

    // Measurements.

    /// Begins the measurements of a UE that is connected.
    pub fn connected(&mut self, at: &Moment<'_>, first: Tti, out: &mut Commands) {
        self.restart();
        if self.measuring.begin(at.open) {
            out.push(Command::SampleAt(first));
        }
    }

    /// Adds a sample of all cells; `reports`: the UE may send a report. True if its radio link has
    /// failed.
    pub fn sample(
        &mut self,
        at: &Moment<'_>,
        sample: Option<Sample<'_>>,
        reports: bool,
        out: &mut Commands,
    ) -> bool {
        let Some(sample) = sample else {
            self.measuring.end();
            return false;
        };
        let config = &at.config.radio_link;
        // Frames until the next sample.
        let frames = if self.link.is_good(config, sample.sinr) { SAMPLING_PERIOD / FRAME } else { 1 };
        let complete = self.measuring.add(at, &sample, frames);
        let mut found = None;
        if self.state.is_monitored() {
            for _ in 0..frames {
                found = found.or(self.link.frame(config, at.tti, sample.sinr));
            }
        }
        out.push(Command::SampleAt(at.tti.plus(frames * FRAME)));
        if complete && reports {
            self.await_trigger(at, out);
        }
        match found {
            None => false,
            Some(LinkEvent::Failed) => true,
            Some(event) => {
                out.push(Command::Link(event));
                false
            }
        }
    }

    /// Clears all events.
    pub fn clear_events(&mut self) {
        self.measuring.restart();
    }

    /// Schedules the next evaluation of the events, if their conditions continue to hold.
    fn await_trigger(&self, at: &Moment<'_>, out: &mut Commands) {
        if !self.is_served() {
            return;
        }
        let due = self.measuring.events().due(&at.config.trigger);
        if let Some(at) = due.or(at.config.conditional.map(|_| at.tti)) {
            out.push(Command::Wake(at));
        }
    }

    /// Evaluates the measurements of a served UE: a report, or a handover for which it has a
    /// command.
    fn consider(&mut self, at: &Moment<'_>, out: &mut Commands) -> Outcome {
        if !at.connected {
            return Outcome::Nothing;
        }
        match self.measuring.events().report(&at.config.trigger, at.tti) {
            Some(target) if self.command == Some(target) => {
                self.apply(at, target, at.tti, at.tti, out);
                Outcome::Nothing
            }
            Some(target) => Outcome::Report(Report { target, early: false }),
            None => match self.near(at) {
                Some(target) => Outcome::Report(Report { target, early: true }),
                None => Outcome::Nothing,
            },
        }
    }

    /// Conditional handover: the strongest cell above the margin, unless the UE has a command for
    /// it.
    fn near(&self, at: &Moment<'_>) -> Option<CellId> {
        let (margin, serving) = (at.config.conditional?, at.serving);
        let own = self.measured(serving).map_or(f64::NEG_INFINITY, |m| m.rsrp_dbm);
        let near = |cell, rsrp_dbm: f64| cell != serving && rsrp_dbm - own > margin.0;
        self.measuring.events().strongest(near).filter(|target| self.command != Some(*target))
    }

    // Handover.

    /// Conditional handover: the UE may execute the handover to `target` when the event holds.
    pub fn configured(&mut self, at: &Moment<'_>, target: CellId, out: &mut Commands) {
        self.command = Some(target);
        self.await_trigger(at, out);
    }

    /// The eNB sends RRCConnectionReconfiguration with mobilityControlInfo to the UE, which
    /// processes it for some time.
    pub fn commanded(&mut self, at: &Moment<'_>, target: CellId, out: &mut Commands) {
        let received = at.tti.plus(at.downlink_message());
        let ready = received.plus(at.messages().map_or(0, |_| ttis(at.config.processing)));
        self.apply(at, target, received, ready, out);
    }

    /// The UE receives its command in `received`, and executes it in `ready`.
    // TS 36.331 clause 5.3.5.4: T310 stops, T304 starts.
    fn apply(&mut self, at: &Moment<'_>, target: CellId, received: Tti, ready: Tti, out: &mut Commands) {
        self.link.restart();
        let t304 = received.plus(ttis(at.config.t304));
        self.enter(State::Applying { target, at: ready, t304 }, ready.min(t304), out);
    }

    /// The UE detaches from its cell: MAC and the bearers' lower layers are reset.
    fn leave(&mut self, at: &Moment<'_>, target: CellId, out: &mut Commands) -> Outcome {
        out.event(MobilityEvent::Started, target);
        self.detach(at, target, out);
        self.command = None;
        Outcome::Leaves(target)
    }

    /// The UE synchronises with the target.
    pub fn synchronise(&mut self, at: &Moment<'_>, out: &mut Commands) {
        let State::Applying { t304, .. } = self.state else { return };
        let ready = at.after(at.config.interruption);
        self.enter(State::Synchronising { at: ready, t304 }, ready.min(t304), out);
    }

    /// Starts random access in the UE's cell.
    fn access(&mut self, state: State, until: Tti, dedicated: bool, out: &mut Commands) {
        self.enter(state, until, out);
        out.push(Command::Access { dedicated });
    }

    /// The random access response is the end of random access with a dedicated preamble (TS 36.321
    /// clause 5.1.4), and of the handover where messages take no time.
    // TS 36.331 clause 5.3.5.4: if MAC successfully completes the random access procedure, T304
    // stops.
    pub fn response_received(&mut self, at: &Moment<'_>, msg3: Option<Tti>, out: &mut Commands) {
        if !self.is_accessing() {
            return;
        }
        out.push(Command::FreePreamble);
        match msg3 {
            Some(msg3) => self.confirm(msg3, out),
            None => {
                let due = at.tti.plus(1);
                self.enter(State::Completing { at: due }, due, out);
            }
        }
    }

    /// RLC of SRB1 passes RRCConnectionReconfigurationComplete to MAC in `sent`, or would do so if
    /// there was a grant, and t-PollRetransmit starts.
    fn confirm(&mut self, sent: Tti, out: &mut Commands) {
        let again = sent.plus(ttis(POLL_RETRANSMIT));
        self.enter(State::Confirming { again }, again, out);
    }

    // Radio link failure and re-establishment.

    /// True if a random access problem is a radio link failure: no timer runs whose expiry decides.
    // TS 36.331 clause 5.3.11.3: while neither T300 (the connection is set up) nor T301 nor T304
    // nor T311 runs.
    pub const fn access_problem(&self) -> bool {
        !self.state.is_timed()
    }

    /// The radio link has failed: the UE acts upon it in the next TTI. False if it does so already,
    /// or has no cell.
    // TS 36.331 clause 5.3.11.3: a failure of RLC counts while T304 runs in the source, too.
    pub fn link_failure(&mut self, at: &Moment<'_>, out: &mut Commands) -> bool {
        let counts = self.state.is_monitored() || matches!(self.state, State::Applying { .. });
        if !counts || !at.connected {
            return false;
        }
        self.link.restart();
        out.event(MobilityEvent::RadioLinkFailure, at.serving);
        let left = self.state.is_detached();
        self.enter(State::Failing { at: at.open, left }, at.open, out);
        true
    }

    /// The UE has no cell, and T311 runs (TS 36.331 clause 5.3.7.2).
    // Clause 5.3.5.6 NOTE: after the expiry of T304 the dedicated preamble is not available to the
    // UE any more.
    pub fn begin_reestablishment(&mut self, at: &Moment<'_>, out: &mut Commands) {
        out.push(Command::FreePreamble);
        self.detach(at, at.serving, out);
        let due = at.after(at.config.search);
        let t311 = at.after(at.config.t311);
        self.enter(State::Selecting { at: due, t311 }, due.min(t311), out);
    }

    /// Selects a cell by the powers that the UE has measured in its search.
    pub fn selected(
        &mut self,
        at: &Moment<'_>,
        powers_mw: &IndexVec<CellId, f64>,
        out: &mut Commands,
    ) -> Outcome {
        let State::Selecting { at: due, t311 } = self.state else { return Outcome::Nothing };
        if due > at.tti {
            return Outcome::Nothing;
        }
        if let Some(cell) = selection::strongest(powers_mw, at.config.suitable) {
            let read = at.informed(cell);
            self.detach(at, cell, out);
            // A suitable cell is one whose system information the UE has: T311 runs until then.
            self.enter(State::Acquiring { at: read, t311 }, read.min(t311), out);
            return Outcome::Nothing;
        }
        if t311 <= at.tti {
            return Outcome::Idle;
        }
        let due = at.tti.plus(ttis(at.config.search).max(1));
        self.enter(State::Selecting { at: due, t311 }, due.min(t311), out);
        Outcome::Nothing
    }

    /// The UE receives RRCConnectionReestablishment; the last message of the procedure is at the
    /// eNB in `complete`.
    // TS 36.331 clause 5.3.7.5: T301 stops.
    pub fn restore(&mut self, complete: Tti, out: &mut Commands) {
        self.enter(State::Restoring { at: complete }, complete, out);
    }

    // The cell.

    /// Detaches the UE from its cell; `cell` is its cell from now on.
    fn detach(&mut self, at: &Moment<'_>, cell: CellId, out: &mut Commands) {
        if !self.state.is_detached() {
            self.left = (at.now, at.serving);
        }
        self.restart();
        out.push(Command::Detach(cell));
    }

    /// The UE's cell serves it from now on. Its link may have been monitored since T301 stopped.
    pub fn served(&mut self) {
        let monitored = self.state.is_monitored();
        self.go_idle();
        self.measuring.restart();
        if !monitored {
            self.link.restart();
        }
    }

    /// Ends all procedures of the UE.
    pub const fn go_idle(&mut self) {
        (self.state, self.command) = (State::Served, None);
    }

    /// RRCConnectionRelease; true if the UE has a cell and receives it.
    // TS 36.331 clauses 5.3.8.3 and 5.3.12: all timers of the connection stop.
    pub fn released(&mut self) -> bool {
        let hears = !self.state.is_detached();
        if hears {
            self.go_idle();
            self.restart();
        }
        hears
    }

    /// The UE has another cell: monitoring and events start anew.
    fn restart(&mut self) {
        self.link.restart();
        self.measuring.restart();
    }
}
