//! RRC in the network: the inputs of the procedures, and the place where their commands are carried
//! out.
//!
//! [`Rrc`] measures cells, builds the [`Context`] of the state machines ([`crate::rrc`]) and
//! answers their queries. It makes no decision, and changes only their state. The result is a list
//! of commands, each carried out at the parts of the network that it concerns.

use lasthop_radio::milliwatts;
use lasthop_units::{CellId, Dbm, Id, IndexVec, Instant, Tti, UeId};

use super::attachment::Attachment;
use super::calendar::Due;
use super::config::{CellConfig, NetworkConfig};
use super::core_network::Core;
use super::layer2::Layer2;
use super::state::{Cell, Link, Ue, UeContext};
use super::ue_bearers::UeBearers;
use super::{NetworkEvent, NetworkOutput, RadioNetwork};
use crate::mac::random_access::{DedicatedPreambles, RandomAccessConfig};
use crate::network::channel::Channel;
use crate::phy::TTI;
use crate::rrc::mobility::{
    Answer, Context, Input, Load, Moment, NOTHING_MW, SAMPLING_PERIOD, Sample, UeMobility,
};
use crate::rrc::{
    CellParameters, Command, Commands, ConnectionContext, ConnectionInput, HandoverConfig, LinkEvent,
    Question, RrcTiming, strongest,
};
use lasthop_bearer::{Direction, End};

/// Mobility of all UEs.
#[derive(Debug)]
pub(super) struct Mobility {
    pub config: HandoverConfig,
    pub ues: IndexVec<UeId, UeMobility>,
    /// The dedicated preambles of each cell.
    preambles: IndexVec<CellId, DedicatedPreambles>,
    /// By UE: the target of its handover, and the preamble there that is assigned to it, if one was
    /// free.
    assigned: IndexVec<UeId, Option<(CellId, Option<u8>)>>,
    /// What each cell broadcasts, and the times of its messages.
    cells: IndexVec<CellId, CellParameters>,
    /// Linear power on a resource element of each cell at the UE that measures [mW].
    powers_mw: IndexVec<CellId, f64>,
}

impl Mobility {
    pub fn new(config: &NetworkConfig, handover: &HandoverConfig) -> Mobility {
        let n = config.cells.iter().count();
        Mobility {
            config: *handover,
            ues: config.ues.iter().map(|_| UeMobility::new(n)).collect(),
            preambles: (0..n).map(|_| DedicatedPreambles::default()).collect(),
            assigned: config.ues.iter().map(|_| None).collect(),
            cells: config.cells.iter().map(CellConfig::rrc_parameters).collect(),
            powers_mw: (0..n).map(|_| 0.0).collect(),
        }
    }

    /// True if Msg3 of `ue` is an RRCConnectionReestablishmentRequest.
    pub fn requests_reestablishment(&self, ue: UeId) -> bool {
        self.ues[ue].is_requesting()
    }

    /// Assigns a preamble of `cell`, of this `config`, to `ue`.
    fn assign_preamble(&mut self, ue: UeId, cell: CellId, config: &RandomAccessConfig) -> Option<u8> {
        self.free_preamble(ue);
        let preamble = self.preambles[cell].assign(config);
        self.assigned[ue] = Some((cell, preamble));
        preamble
    }

    /// Frees the preamble that is assigned to `ue`.
    fn free_preamble(&mut self, ue: UeId) {
        if let Some((cell, Some(preamble))) = self.assigned[ue].take() {
            self.preambles[cell].free(preamble);
        }
    }

    /// The preamble of `cell` with which `ue` executes its handover.
    // The UE decides when it executes a conditional command, which has no preamble until then.
    fn preamble(&mut self, ue: UeId, cell: CellId, config: &RandomAccessConfig) -> Option<u8> {
        match self.assigned[ue] {
            Some((of, preamble)) if of == cell => preamble,
            _ => self.assign_preamble(ue, cell, config),
        }
    }
}

/// The state of a UE and its eNB from which the inputs of their procedures are made.
pub(super) struct Rrc<'a> {
    pub now: Instant,
    pub tti: Tti,
    /// The first TTI that can still be scheduled.
    pub open: Tti,
    pub ue: UeId,
    /// None where UEs stay in their cells.
    pub mobility: Option<(&'a mut Mobility, &'a Core)>,
    pub cells: &'a IndexVec<CellId, Cell>,
    pub links: &'a mut IndexVec<UeId, Link>,
    pub contexts: &'a IndexVec<UeId, UeContext>,
    pub ues: &'a mut IndexVec<UeId, Ue>,
    pub air: &'a mut Channel,
}

impl Rrc<'_> {
    fn serving(&self) -> CellId {
        self.links[self.ue].serving
    }

    fn is_connected(&self) -> bool {
        self.links[self.ue].rrc.is_connected()
    }

    // The connection.

    /// Gives `input` to the UE's connection.
    pub fn connection(&mut self, input: ConnectionInput) -> Commands {
        let serving = self.serving();
        let cell = &self.cells[serving].config.rrc_parameters();
        let context = ConnectionContext { cell, ue: self.ue, serving, tti: self.tti, open: self.open };
        self.links[self.ue].rrc.step(&context, input)
    }

    /// Starts the UE's connection as its cell is configured.
    pub fn begin(&mut self) -> Commands {
        self.connection(ConnectionInput::Begin)
    }

    /// Data of the UE, by direction, which may be without a connection.
    #[cold]
    pub fn data(&mut self, wants: [bool; 2]) -> Commands {
        let direction = Direction::BOTH.into_iter().find(|direction| wants[direction.index()]);
        direction.map_or_else(Commands::default, |d| self.connection(ConnectionInput::Data(d)))
    }

    /// A step of the UE's connection may be due.
    pub fn connection_step(&mut self) -> Commands {
        let cell = self.cells[self.serving()].config.rrc_parameters();
        let accesses = self.links[self.ue].rrc.is_about_to_access(&cell, self.tti);
        let strongest = if accesses { self.strongest_cell() } else { None };
        self.connection(ConnectionInput::Due { strongest })
    }

    /// Checks whether the UE is inactive; `waits`: one of its bearers has data.
    pub fn check_activity(&mut self, waits: bool) -> Commands {
        let busy = self.links[self.ue].away || waits;
        let since = if busy { self.tti } else { self.contexts[self.ue].activity };
        let commands = self.connection(ConnectionInput::InactiveSince(since));
        if !self.is_connected() {
            self.step(Input::Released);
        }
        commands
    }

    /// Msg3 with an RRC message is at the eNB: that of a UE between two cells, or an
    /// RRCConnectionRequest. A cell that admits no further UE does not answer: T300 will expire.
    pub fn msg3(&mut self) -> Commands {
        if self.links[self.ue].away {
            return self.step(Input::Msg3);
        }
        let load = self.load(self.serving());
        match self.mobility.as_ref().is_none_or(|(mobility, _)| load.admits(&mobility.config)) {
            true => self.connection(ConnectionInput::Admitted),
            false => Commands::default(),
        }
    }

    // The radio link.

    /// maxRetxThreshold was reached (TS 36.331 v15.1.0 clause 5.3.11.3). For a UE that cannot leave
    /// its cell MAC is reset and its bearers are re-established; blocks in transmission are lost.
    pub fn link_failure(&mut self) -> Commands {
        match self.mobility {
            Some(_) => self.step(Input::LinkFailure),
            None => Commands::one(Command::Reestablish),
        }
    }

    /// preambleTransMax was reached: a radio link failure unless a timer of RRC runs (TS 36.331
    /// clause 5.3.11.3). T300 runs while a UE sets up its connection.
    pub fn access_problem(&mut self) -> Commands {
        match self.mobility {
            _ if !self.is_connected() => Commands::default(),
            Some(_) => self.step(Input::AccessProblem),
            None => Commands::one(Command::Reestablish),
        }
    }

    // Mobility.

    /// Gives `input` to the UE's mobility; no effect where UEs stay in their cells.
    pub fn step(&mut self, input: Input<'_>) -> Commands {
        self.step_with(|_| input)
    }

    /// Gives an input to the UE's mobility that may contain the powers of all cells.
    fn step_with<'b>(&'b mut self, input: impl FnOnce(&'b IndexVec<CellId, f64>) -> Input<'b>) -> Commands {
        let (serving, connected) = (self.serving(), self.is_connected());
        let Some((mobility, core)) = &mut self.mobility else { return Commands::default() };
        let Mobility { config, ues, powers_mw, cells, .. } = &mut **mobility;
        let (now, tti, open) = (self.now, self.tti, self.open);
        let at = Moment { config, cells, now, tti, open, serving, connected };
        let context = Context { at, data: core.path(self.ue) };
        ues[self.ue].step(&context, input(powers_mw))
    }

    /// Begins the measurements of a UE that is connected.
    pub fn connected(&mut self) -> Commands {
        // Samples of different UEs are spread over the frames.
        let first = self.open.plus(self.ue.index() as u64 % SAMPLING_PERIOD);
        self.step(Input::Connected { first })
    }

    /// Gives a sample of all cells to the UE's mobility.
    pub fn sample(&mut self) -> Commands {
        if !self.is_connected() {
            return self.step(Input::Sample(None));
        }
        let found = self.survey();
        let sinr = self.air.get().pinned(self.ue).map_or(found, f64::from);
        let noise_mw = self.air.get().noise_on_element_mw(self.ue);
        self.step_with(|powers_mw| Input::Sample(Some(Sample { powers_mw, noise_mw, sinr })))
    }

    /// Answers `question`, and returns the commands that follow.
    pub fn answer(&mut self, question: Question) -> Commands {
        let answer = match question {
            Question::LoadOf(target) => Input::Load(self.load(target)),
            Question::ReceivesCommand => Input::CommandReceived(self.receives_command()),
            Question::Cells => {
                self.survey();
                return self.step_with(Input::Cells);
            }
            Question::ContextFrom(source) => Input::Context(self.context_from(source)),
        };
        self.step(answer)
    }

    /// Load of a cell without the UE. Its UEs are counted only where there is a limit.
    fn load(&self, cell: CellId) -> Load {
        let limited = self.mobility.as_ref().is_some_and(|(m, _)| m.config.users.value().is_some());
        let other =
            |u: &UeId| *u != self.ue && self.links[*u].serving == cell && self.links[*u].rrc.is_connected();
        let users = if limited { self.links.ids().filter(other).count() } else { 0 };
        Load { is_down: self.cells[cell].is_down(), users }
    }

    /// The result of a query to the eNB of `source` for the UE's context: an eNB that is switched
    /// off does not answer.
    fn context_from(&self, source: CellId) -> Answer {
        let is_home = self.mobility.as_ref().is_some_and(|(_, core)| core.is_home(self.ue, source));
        let dead = self.cells[source].is_down() && is_home;
        Answer { load: self.load(self.serving()), reachable: !dead }
    }

    /// True if the UE receives the command of its eNB.
    fn receives_command(&mut self) -> bool {
        let id = self.serving();
        let cell = &self.cells[id];
        cell.config.rrc.timing == RrcTiming::Ideal
            || !self.ues[self.ue].downlink.control.misses(
                self.tti,
                id,
                &cell.control,
                self.air.get().at(self.ue),
            )
    }

    /// The cell that the UE, which has no connection, would camp on now; None where it stays in its
    /// own.
    fn strongest_cell(&mut self) -> Option<CellId> {
        self.survey();
        let Mobility { config, powers_mw, .. } = &*self.mobility.as_ref()?.0;
        strongest(powers_mw, config.suitable)
    }

    /// Measures the powers of all cells. Returns the linear SINR of the serving cell's reference
    /// signals while every cell sends.
    fn survey(&mut self) -> f64 {
        let serving = self.serving();
        let Some((mobility, _)) = &mut self.mobility else { return 0.0 };
        let mut total = 0.0;
        for cell in self.cells.ids() {
            let gain = f64::from(self.air.get().downlink_gain(self.tti, cell, self.ue));
            let c = &self.cells[cell];
            let power_mw = if c.is_down() { 0.0 } else { (gain * c.element_power_mw).max(NOTHING_MW) };
            mobility.powers_mw[cell] = power_mw;
            total += power_mw;
        }
        let own = mobility.powers_mw[serving];
        own / (total - own + self.air.get().noise_on_element_mw(self.ue))
    }

    /// The dedicated preamble of the UE in its cell.
    fn preamble(&mut self) -> Option<u8> {
        let cell = self.serving();
        self.mobility.as_mut()?.0.preamble(self.ue, cell, &self.cells[cell].uplink.config.random_access)
    }

    /// Assigns a preamble of `cell` to the UE.
    fn assign_preamble(&mut self, cell: CellId) {
        if let Some((mobility, _)) = &mut self.mobility {
            mobility.assign_preamble(self.ue, cell, &self.cells[cell].uplink.config.random_access);
        }
    }

    /// Frees the preamble that is assigned to the UE.
    fn free_preamble(&mut self) {
        if let Some((mobility, _)) = &mut self.mobility {
            mobility.free_preamble(self.ue);
        }
    }
}

impl RadioNetwork {
    /// The attachment of `ue` to its cell.
    #[inline]
    pub(super) fn attachment(&mut self, ue: UeId) -> Attachment<'_> {
        let RadioNetwork { ues, contexts, links, cells, calendar, .. } = self;
        let (context, link) = (&mut contexts[ue], &mut links[ue]);
        Attachment { id: ue, ue: &mut ues[ue], context, link, cells, calendar }
    }

    /// The bearers of `ue`.
    #[inline]
    pub(super) fn ue_bearers<'a>(
        &'a mut self,
        now: Instant,
        ue: UeId,
        out: &'a mut NetworkOutput,
    ) -> UeBearers<'a> {
        let RadioNetwork { links, bearers, core, sidelink, calendar, .. } = self;
        let (core, sidelink) = (core.as_deref_mut(), sidelink.as_deref_mut());
        let layer2 = Layer2 { now, bearers, core, sidelink, calendar, out };
        UeBearers { ue, link: &mut links[ue], layer2 }
    }

    /// RRC of `ue`.
    fn rrc(&mut self, now: Instant, tti: Tti, ue: UeId) -> Rrc<'_> {
        let open = self.calendar.first_open();
        let RadioNetwork { mobility, core, cells, links, contexts, ues, air, .. } = self;
        let mobility = mobility.as_deref_mut().zip(core.as_deref());
        Rrc { now, tti, open, ue, mobility, cells, links, contexts, ues, air }
    }

    /// Executes a step of RRC of `ue`, and the commands that follow. Not inlined: packets pass most
    /// of its callers, and hardly any leads to a step.
    #[inline(never)]
    pub(super) fn rrc_step(
        &mut self,
        now: Instant,
        tti: Tti,
        ue: UeId,
        step: impl FnOnce(&mut Rrc<'_>) -> Commands,
        out: &mut NetworkOutput,
    ) {
        for command in step(&mut self.rrc(now, tti, ue)) {
            // A reset of MAC comes after the receptions before it.
            self.finish_reception();
            self.carry_out(now, tti, ue, command, out);
        }
    }

    fn carry_out(&mut self, now: Instant, tti: Tti, ue: UeId, command: Command, out: &mut NetworkOutput) {
        let serving = self.links[ue].serving;
        match command {
            Command::Wake(at) => self.calendar.note_from(at, Due::Mobility { ue }),
            Command::ConnectionAt(at) => self.calendar.note_from(at, Due::Rrc { ue }),
            Command::SampleAt(at) => self.calendar.note(at, Due::Measurement { ue }),
            Command::WatchActivity(since) => self.attachment(ue).watch_activity(since),
            Command::Event { event, cell, interruption } => {
                out.events.push((ue, NetworkEvent::Mobility { event, cell, seconds: interruption }));
            }
            Command::Link(event) => {
                out.events.extend(link_event(serving, event).map(|event| (ue, event)));
            }
            Command::Ask(question) => self.rrc_step(now, tti, ue, |rrc| rrc.answer(question), out),
            Command::AssignPreamble(cell) => self.rrc(now, tti, ue).assign_preamble(cell),
            Command::FreePreamble => self.rrc(now, tti, ue).free_preamble(),
            Command::Access { dedicated } => {
                let preamble = if dedicated { self.rrc(now, tti, ue).preamble() } else { None };
                self.access(tti, ue, preamble);
            }
            Command::RequestGrant if self.ues[ue].uplink.access.is_running() => {}
            Command::RequestGrant => self.access(tti, ue, None),
            Command::Connect => self.access(tti.plus(1), ue, None),
            Command::ResolveContention => self.attachment(ue).resolve_contention(tti),
            Command::Detach(cell) => self.attachment(ue).detach(cell),
            Command::MoveData(cell) => self.ue_bearers(now, ue, out).hand_over(cell),
            Command::Recall => self.ue_bearers(now, ue, out).recall(),
            Command::StopForwarding => self.ue_bearers(now, ue, out).stop_forwarding(),
            Command::Serve => {
                self.attachment(ue).serve(tti);
                self.ue_bearers(now, ue, out).serve(tti);
            }
            Command::Release => {
                self.rrc(now, tti, ue).connection(ConnectionInput::Ended);
                self.attachment(ue).release();
                let mut bearers = self.ue_bearers(now, ue, out);
                bearers.abandon();
                bearers.attach(serving);
            }
            Command::Reestablish => {
                self.attachment(ue).reset();
                self.ue_bearers(now, ue, out).re_establish();
            }
            Command::Camp(cell) => {
                self.attachment(ue).camp(cell);
                self.ue_bearers(now, ue, out).attach(cell);
            }
            Command::ConnectionFailed => {
                self.ues[ue].uplink.access.stop();
                out.events.push((ue, NetworkEvent::ConnectionFailed(serving)));
            }
            Command::Connected => self.connected(now, tti, ue, out),
            Command::Released => {
                // Its handover may have been prepared.
                self.rrc(now, tti, ue).free_preamble();
                self.attachment(ue).release();
                out.events.push((ue, NetworkEvent::Released(serving)));
            }
        }
        self.serve(now, out);
    }

    /// Starts random access of `ue` in its cell from `tti` on; `preamble`: one assigned to the UE.
    fn access(&mut self, tti: Tti, ue: UeId, preamble: Option<u8>) {
        self.attachment(ue).access(tti, preamble);
        self.terminal(ue).arm();
    }

    /// Lets the bearers of `ue` be used.
    fn connected(&mut self, now: Instant, tti: Tti, ue: UeId, out: &mut NetworkOutput) {
        out.events.push((ue, NetworkEvent::Connected(self.links[ue].serving)));
        self.attachment(ue).reset_uplink();
        self.ue_bearers(now, ue, out).settle();
        self.serve(now, out);
        self.attachment(ue).watch_activity(tti);
        self.rrc_step(now, tti, ue, |rrc| rrc.connected(), out);
    }

    /// Orders a handover of a connected UE to `target`, as its eNB would after a report. No effect
    /// while another one is in progress.
    pub fn order_handover(&mut self, now: Instant, ue: UeId, target: CellId) {
        self.calendar.advance_to(now);
        let mut out = NetworkOutput::default();
        let order = |rrc: &mut Rrc<'_>| rrc.step(Input::Order(target));
        self.rrc_step(now, Tti::containing(now, TTI), ue, order, &mut out);
        debug_assert!(out.is_empty(), "the order is noted");
    }

    /// Sets the power of a cell; measurements of it follow.
    pub fn set_cell_power(&mut self, cell: CellId, power: Dbm) {
        let c = &mut self.cells[cell];
        c.config.radio.power = power;
        c.reference_power_mw = c.config.reference_power_mw();
        c.element_power_mw = c.config.element_power_mw();
        if !self.cells[cell].is_down() {
            self.air.get().set_power(cell, milliwatts(power));
        }
    }

    /// Switches a cell off, or on again; while it is off it neither transmits nor receives.
    pub fn set_cell_down(&mut self, now: Instant, cell: CellId, down: bool) {
        self.finish_reception();
        self.calendar.advance_to(now);
        self.cells[cell].config.down = down;
        let power_mw = milliwatts(self.cells[cell].config.radio.power);
        self.air.get().set_power(cell, if down { 0.0 } else { power_mw });
        if down {
            for ue in self.ues.ids() {
                if self.links[ue].serving == cell {
                    let mut attachment = self.attachment(ue);
                    attachment.reset();
                    attachment.leave_lists();
                }
            }
        } else {
            // MAC checks the data of each end of a bearer.
            for bearer in self.bearers.ids() {
                let ue = self.bearers[bearer].ue;
                if self.links[ue].rrc.is_connected() && !self.links[ue].away {
                    if self.bearers[bearer].layers.needs_opportunity(End::Network) {
                        self.attachment(ue).wake(Direction::Downlink);
                    }
                    self.uplink_data(self.calendar.first_open().start(TTI), ue, bearer);
                }
            }
        }
    }
}

fn link_event(serving: CellId, event: LinkEvent) -> Option<NetworkEvent> {
    match event {
        LinkEvent::Problem => Some(NetworkEvent::RadioProblem(serving)),
        LinkEvent::Recovered => Some(NetworkEvent::RadioRecovered(serving)),
        LinkEvent::Failed => None,
    }
}
