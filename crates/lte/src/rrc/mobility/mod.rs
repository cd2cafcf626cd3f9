//! Mobility of a connected UE as a state machine: measurements and their reports, handover (TS
//! 36.331 v15.1.0 clause 5.3.5.4), radio link failure (5.3.11) and re-establishment (5.3.7).
//!
//! # Contract
//! [`UeMobility::step`] takes one [`Input`] and returns [`Commands`], which its owner carries out
//! in their order. Nothing else goes in or out: what the procedures need to know of their
//! surroundings is in the [`Context`], and where only the network can decide (admission, whether a
//! message is received, which cell is found) a command asks and an input answers, in the same TTI.
//! [`Command::Wake`] names a TTI in which [`Input::Wake`] is due; one that comes earlier, or twice,
//! does nothing.
//!
//! The state is that of the UE and of what its eNB has under way for it: one handover at a time
//! concerns both, and no message between them is encoded.

mod handover;
mod measuring;
mod reestablishment;
#[cfg(test)]
mod tests;

use lasthop_units::{CellId, Duration, Id, IndexVec, Instant, Tti};

pub use measuring::{LOOKS, Look, NOTHING};

use super::{Command, Commands, HandoverConfig, Measured, MobilityEvent, Question, RadioLink};
use crate::phy::TTI;
use measuring::Measuring;

/// An eNB: its number.
pub type Enb = u16;

/// What the procedures need to know of their surroundings.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// Their parameters.
    pub config: &'a HandoverConfig,
    /// The present moment.
    pub now: Instant,
    /// The TTI in which it is.
    pub tti: Tti,
    /// The first TTI for which something can be noted.
    pub open: Tti,
    /// The UE's cell.
    pub serving: CellId,
    /// How long its messages take; None: RRC messages take no time.
    pub messages: Option<MessageTimes>,
    /// The UE is in RRC_CONNECTED.
    pub connected: bool,
    /// Where the UE's data goes.
    pub data: DataPath<'a>,
}

/// Times of RRC messages in a cell [TTI].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageTimes {
    /// From the start of a transport block to the end of its decoding.
    pub decode: u64,
    /// From an uplink grant to its transport block.
    pub grant: u64,
}

/// Where the data of a UE goes (TS 36.300 clause 10.1.2.2).
#[derive(Clone, Copy, Debug)]
pub struct DataPath<'a> {
    /// The eNB with the UE's PDCP entities.
    pub home: Enb,
    /// The eNB to which the gateway sends.
    pub anchor: Enb,
    /// The end marker has not come to the home.
    pub forwarding: bool,
    /// The eNB of each cell.
    pub enbs: &'a IndexVec<CellId, Enb>,
}

impl DataPath<'_> {
    /// True while the last change of cell goes on behind the radio: data is forwarded, or the path
    /// not switched. The next one waits, and so does a target's preparation, since the UE would
    /// take it when it likes.
    const fn is_changing(&self) -> bool {
        self.forwarding || self.home != self.anchor
    }
}

impl Context<'_> {
    /// `t` from now on.
    const fn after(&self, t: Duration) -> Tti {
        self.tti.plus(ttis(t))
    }

    /// TTIs that a message takes from the UE's home to `cell`.
    fn x2_delay(&self, cell: CellId) -> u64 {
        if self.data.enbs[cell] == self.data.home { 0 } else { ttis(self.config.x2.delay) }
    }

    /// TTIs that a message takes to the UE.
    fn downlink_message(&self) -> u64 {
        self.messages.map_or(0, |m| m.decode)
    }

    /// TTIs of a report: a scheduling request, its grant, and the report on PUSCH.
    fn report(&self) -> u64 {
        self.messages.map_or(0, |m| m.decode + m.grant + m.decode)
    }
}

/// `t` in whole TTIs, rounded up.
pub const fn ttis(t: Duration) -> u64 {
    t.0.div_ceil(TTI.0)
}

/// What happens to a UE.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// Its connection is set up; it looks at the cells from this TTI on.
    Connected {
        /// Its first look.
        look: Tti,
    },
    /// RRCConnectionRelease sends it to RRC_IDLE.
    Released,
    /// It looks at the cells; None: it is not connected any more.
    Look(Option<Look<'a>>),
    /// The time that a [`Command::Wake`] has named.
    Wake,
    /// Its eNB hands it over to this cell, as it would after a report.
    Order(CellId),
    /// The answer to [`Question::Admits`].
    Admission(bool),
    /// The answer to [`Question::HearsCommand`].
    CommandReceived(bool),
    /// The answer to [`Question::SuitableCell`]: a cell, and when its system information is read.
    Selected(Option<(CellId, Tti)>),
    /// Msg3 of its random access is at the cell.
    Msg3,
    /// It has received the random access response, and messages take no time.
    ResponseReceived,
    /// The answer to [`Question::ContextFrom`].
    Context(Answer),
    /// MAC indicates a random access problem: preambleTransMax preambles were sent in vain.
    AccessProblem,
    /// RLC has reached maxRetxThreshold.
    LinkFailure,
}

/// What the cell of a re-establishment finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The cell takes the UE, as far as admission control is concerned.
    pub admitted: bool,
    /// The eNB with the UE's context can be asked for it.
    pub reachable: bool,
}

/// Where a UE stands. A phase lasts until `at`, or until the timer that it names expires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// Served, or idle.
    #[default]
    Steady,
    /// Its report is on the way to the eNB.
    Reporting { target: CellId, at: Tti },
    /// The target is asked; `early`: for a conditional handover.
    Preparing { target: CellId, at: Tti, early: bool },
    /// The command goes out, and again until the UE receives it.
    Commanding { target: CellId, at: Tti },
    /// The UE works on the command.
    Applying { target: CellId, at: Tti, t304: Tti },
    /// It has left the source and synchronises with the target.
    Synchronising { at: Tti, t304: Tti },
    /// Random access at the target.
    Accessing { t304: Tti },
    /// It is there, with messages that take no time.
    Completing { at: Tti },
    /// The radio link has failed; the UE acts upon it.
    Failing { at: Tti },
    /// It looks for a cell.
    Selecting { at: Tti, t311: Tti },
    /// It reads the cell's system information.
    Acquiring { at: Tti, t311: Tti },
    /// It asks for a re-establishment.
    Requesting { t301: Tti },
    /// The cell fetches its context, or refuses; the UE waits until T301 expires.
    Retrieving { at: Tti, refused: bool, t301: Tti },
    /// RRC messages re-establish the connection.
    Restoring { at: Tti },
}

impl Phase {
    /// The UE has left its cell, and none serves it.
    const fn is_detached(&self) -> bool {
        !matches!(
            self,
            Phase::Steady
                | Phase::Reporting { .. }
                | Phase::Preparing { .. }
                | Phase::Commanding { .. }
                | Phase::Applying { .. }
                | Phase::Failing { .. }
        )
    }

    /// T301, T304 or T311 runs.
    const fn is_timed(&self) -> bool {
        matches!(
            self,
            Phase::Applying { .. }
                | Phase::Synchronising { .. }
                | Phase::Accessing { .. }
                | Phase::Selecting { .. }
                | Phase::Acquiring { .. }
                | Phase::Requesting { .. }
                | Phase::Retrieving { .. }
        )
    }

    /// The UE monitors its radio link: neither T304 nor T311 nor T301 runs (TS 36.331 clause
    /// 5.3.11.1).
    const fn is_monitored(&self) -> bool {
        !self.is_detached() && !matches!(self, Phase::Applying { .. } | Phase::Failing { .. })
    }
}

/// Mobility of a UE.
#[derive(Clone, Debug)]
pub struct UeMobility {
    phase: Phase,
    measuring: Measuring,
    link: RadioLink,
    /// When a cell served it last, and which.
    left: (Instant, CellId),
    /// The last handover: from where, and when it was complete.
    last: Option<(CellId, Tti)>,
    /// A cell that is prepared, for when the UE decides.
    prepared: Option<CellId>,
}

impl UeMobility {
    /// Of a UE that does nothing yet, among so many cells.
    pub fn new(cells: usize) -> UeMobility {
        UeMobility {
            phase: Phase::Steady,
            measuring: Measuring::new(cells),
            link: RadioLink::default(),
            left: (Instant::ZERO, CellId::from_index(0)),
            last: None,
            prepared: None,
        }
    }

    /// What the UE has measured of a cell, after the layer 3 filter.
    pub fn measured(&self, cell: CellId) -> Option<Measured> {
        self.measuring.of(cell)
    }

    /// True while random access to the target of a handover goes on.
    pub const fn is_accessing(&self) -> bool {
        matches!(self.phase, Phase::Accessing { .. })
    }

    /// True if Msg3 of this UE is an RRCConnectionReestablishmentRequest.
    pub const fn is_requesting(&self) -> bool {
        matches!(self.phase, Phase::Requesting { .. })
    }

    /// What follows from `input`.
    pub fn step(&mut self, context: &Context<'_>, input: Input<'_>) -> Commands {
        let mut commands = Commands::default();
        match input {
            Input::Connected { look } => self.connected(context, look, &mut commands),
            Input::Released => self.released(),
            Input::Look(look) => self.look(context, look, &mut commands),
            Input::Wake => self.wake(context, &mut commands),
            Input::Order(target) => self.order(context, target, &mut commands),
            Input::Admission(admitted) => self.prepared(context, admitted, &mut commands),
            Input::CommandReceived(received) => self.commanded(context, received, &mut commands),
            Input::Selected(found) => self.selected(context, found, &mut commands),
            Input::Msg3 => self.msg3(context, &mut commands),
            Input::ResponseReceived => self.response_received(context, &mut commands),
            Input::Context(answer) => self.context_found(context, answer, &mut commands),
            Input::AccessProblem => self.access_problem(context, &mut commands),
            Input::LinkFailure => self.link_failure(context, &mut commands),
        }
        commands
    }

    fn wake(&mut self, context: &Context<'_>, commands: &mut Commands) {
        let tti = context.tti;
        match self.phase {
            Phase::Applying { t304, .. } | Phase::Synchronising { t304, .. } | Phase::Accessing { t304 }
                if t304 <= tti =>
            {
                self.handover_failed(context, commands);
            }
            Phase::Steady => self.consider(context, commands),
            Phase::Reporting { target, at } if at <= tti => self.prepare(context, target, commands),
            Phase::Preparing { target, at, .. } if at <= tti => {
                commands.push(Command::Ask(Question::Admits(target)));
            }
            Phase::Commanding { at, .. } if at <= tti => {
                commands.push(Command::Ask(Question::HearsCommand));
            }
            Phase::Applying { target, at, t304 } if at <= tti => self.leave(context, target, t304, commands),
            Phase::Synchronising { at, t304 } if at <= tti => {
                self.access(Phase::Accessing { t304 }, t304, true, commands);
            }
            Phase::Completing { at } if at <= tti => self.handover_complete(context, commands),
            _ => self.reestablishment_step(context, commands),
        }
    }

    /// The UE is in `phase`, and something is due at `at`.
    fn enter(&mut self, phase: Phase, at: Tti, commands: &mut Commands) {
        self.phase = phase;
        commands.push(Command::Wake(at));
    }

    /// Msg3 of a UE on its way between cells.
    fn msg3(&mut self, context: &Context<'_>, commands: &mut Commands) {
        match self.phase {
            Phase::Accessing { .. } => self.handover_complete(context, commands),
            Phase::Requesting { .. } => {
                commands.push(Command::Ask(Question::ContextFrom(self.left.1)));
            }
            _ => {}
        }
    }

    /// A random access problem is a radio link failure unless a timer runs that will decide.
    // TS 36.331 clause 5.3.11.3: while neither T300 (the connection is set up) nor T301 nor T304
    // nor T311 runs.
    fn access_problem(&mut self, context: &Context<'_>, commands: &mut Commands) {
        if !self.phase.is_timed() {
            self.link_failure(context, commands);
        }
    }

    /// The UE leaves its cell for `cell`.
    fn detach(&mut self, context: &Context<'_>, cell: CellId, commands: &mut Commands) {
        if !self.phase.is_detached() {
            self.left = (context.now, context.serving);
        }
        self.restart();
        commands.push(Command::Detach(cell));
    }

    /// The cell of the UE serves it: what was under way is over.
    fn served(&mut self, commands: &mut Commands) {
        (self.phase, self.prepared) = (Phase::Steady, None);
        self.restart();
        commands.push(Command::Serve);
    }

    /// The eNB has released the connection of a UE that it serves; one between two cells does not
    /// hear of that.
    // TS 36.331 clauses 5.3.8.3 and 5.3.12: all timers of the connection stop.
    fn released(&mut self) {
        if !self.phase.is_detached() {
            (self.phase, self.prepared) = (Phase::Steady, None);
            self.restart();
        }
    }

    /// Another cell is the UE's: monitoring and events begin anew.
    fn restart(&mut self) {
        self.link.restart();
        self.measuring.restart();
    }
}
