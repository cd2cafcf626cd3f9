//! Mobility in the network: carries out what the state machine of each UE commands
//! ([`crate::rrc::mobility`]), and tells it what happens.

use lasthop_engine::math::db;
use lasthop_radio::milliwatts;
use lasthop_units::{CellId, Dbm, Id, IndexVec, Instant, Tti, UeId};

use super::config::NetworkConfig;
use super::{Due, NetworkEvent, NetworkOutput, RadioNetwork};
use crate::phy::TTI;
use crate::rrc::mobility::{
    Command, Commands, Context, Input, LOOKS, Look, MessageTimes, NOTHING, Question, UeMobility,
};
use crate::rrc::{HandoverConfig, LinkEvent, Measured, RrcTiming};

/// Mobility of all UEs.
#[derive(Debug)]
pub(super) struct Mobility {
    pub config: HandoverConfig,
    pub ues: IndexVec<UeId, UeMobility>,
    /// Dedicated preambles that each cell has given out.
    pub preambles: IndexVec<CellId, u32>,
    /// Linear power on a resource element of each cell at the UE that looks [mW].
    powers: IndexVec<CellId, f64>,
}

impl Mobility {
    pub fn new(config: &NetworkConfig, handover: &HandoverConfig) -> Mobility {
        let n = config.cells.iter().count();
        Mobility {
            config: *handover,
            ues: config.ues.iter().map(|_| UeMobility::new(n)).collect(),
            preambles: (0..n).map(|_| 0).collect(),
            powers: (0..n).map(|_| 0.0).collect(),
        }
    }
}

impl RadioNetwork {
    /// What a UE has measured of a cell, after the layer 3 filter.
    pub fn measured(&self, ue: UeId, cell: CellId) -> Option<Measured> {
        self.mobility.as_ref().and_then(|m| m.ues[ue].measured(cell))
    }

    /// Where a UE is [m].
    pub fn place(&mut self, now: Instant, ue: UeId) -> lasthop_radio::Place {
        self.air.place(Tti::containing(now, TTI), ue)
    }

    /// Orders a handover of a connected UE to `target`, as its eNB would after a report. Nothing
    /// while another one goes on.
    pub fn order_handover(&mut self, now: Instant, ue: UeId, target: CellId) {
        self.reach(now);
        let mut out = NetworkOutput::default();
        self.mobility_input(now, Tti::containing(now, TTI), ue, Input::Order(target), &mut out);
        debug_assert!(out.is_empty(), "the order is noted");
    }

    /// A cell sends with another power from now on; its measurements follow.
    pub fn set_cell_power(&mut self, cell: CellId, power: Dbm) {
        let c = &mut self.cells[cell];
        c.config.radio.power = power;
        c.reference_power = c.config.reference_power();
        if !self.cells[cell].is_down() {
            self.air.set_power(cell, milliwatts(power));
        }
    }

    /// True if the UE is connected and served: not on its way between cells.
    #[inline]
    pub(super) fn is_served(&self, ue: UeId) -> bool {
        self.ues[ue].rrc.is_connected() && !self.is_away(ue)
    }

    /// True while a handover or a re-establishment keeps everybody from scheduling it.
    #[inline]
    pub(super) fn is_away(&self, ue: UeId) -> bool {
        self.links[ue].away
    }

    /// Msg3 of this UE is an RRCConnectionReestablishmentRequest.
    pub(super) fn asks_for_its_connection(&self, ue: UeId) -> bool {
        self.mobility.as_ref().is_some_and(|m| m.ues[ue].is_requesting())
    }

    /// A UE that is connected begins to look around.
    pub(super) fn begin_looking(&mut self, now: Instant, tti: Tti, ue: UeId, out: &mut NetworkOutput) {
        // Looks of different UEs are spread over the frames.
        let look = self.first_open().plus(ue.index() as u64 % LOOKS);
        self.mobility_input(now, tti, ue, Input::Connected { look }, out);
    }

    /// A UE looks at all cells.
    pub(super) fn look(&mut self, now: Instant, tti: Tti, ue: UeId, out: &mut NetworkOutput) {
        if !self.ues[ue].rrc.is_connected() {
            return self.mobility_input(now, tti, ue, Input::Look(None), out);
        }
        let found = self.survey(tti, ue);
        let sinr = self.air.pinned(ue).map_or(found, f64::from);
        let noise = self.air.noise_on_element(ue);
        let Some(powers) = self.mobility.as_mut().map(|m| std::mem::take(&mut m.powers)) else { return };
        let look = Look { powers: &powers, noise, sinr };
        let commands = self.step_of(now, tti, ue, Input::Look(Some(look)));
        if let Some(m) = &mut self.mobility {
            m.powers = powers;
        }
        self.carry_out(now, tti, ue, commands, out);
    }

    /// Something happens to a UE that may move: its state machine says what follows.
    pub(super) fn mobility_input(
        &mut self,
        now: Instant,
        tti: Tti,
        ue: UeId,
        input: Input<'_>,
        out: &mut NetworkOutput,
    ) {
        let commands = self.step_of(now, tti, ue, input);
        self.carry_out(now, tti, ue, commands, out);
    }

    /// What follows from `input`.
    fn step_of(&mut self, now: Instant, tti: Tti, ue: UeId, input: Input<'_>) -> Commands {
        let open = self.first_open();
        let (Some(m), Some(core)) = (&mut self.mobility, &self.core) else { return Commands::default() };
        let serving = self.links[ue].serving;
        let cell = &self.cells[serving].config;
        let (decode, grant) = (cell.timing.decode, cell.timing.grant);
        let context = Context {
            config: &m.config,
            now,
            tti,
            open,
            serving,
            messages: (cell.rrc.timing == RrcTiming::Real).then_some(MessageTimes { decode, grant }),
            connected: self.ues[ue].rrc.is_connected(),
            data: core.path(ue),
        };
        m.ues[ue].step(&context, input)
    }

    fn carry_out(&mut self, now: Instant, tti: Tti, ue: UeId, commands: Commands, out: &mut NetworkOutput) {
        for command in commands {
            self.carry_out_one(now, tti, ue, command, out);
        }
    }

    fn carry_out_one(&mut self, now: Instant, tti: Tti, ue: UeId, command: Command, out: &mut NetworkOutput) {
        match command {
            Command::Wake(at) => self.calendar.note(at.max(self.first_open()), Due::Mobility { ue }),
            Command::LookAt(at) => self.calendar.note(at, Due::Look { ue }),
            Command::Event { event, cell, interruption } => {
                let event = NetworkEvent::Mobility { event, cell, seconds: interruption };
                out.events.push((ue, event));
            }
            Command::Link(event) => self.report_link(ue, event, out),
            Command::Ask(question) => {
                let answer = self.answer(tti, ue, question);
                self.mobility_input(now, tti, ue, answer, out);
            }
            Command::Detach(cell) => self.detach(ue, cell),
            Command::MoveData(cell) => self.move_data(now, ue, cell, out),
            Command::Access { dedicated } => self.access_cell(tti, ue, dedicated),
            Command::ResolveContention => {
                let decode = self.cells[self.links[ue].serving].config.timing.decode;
                self.calendar.note(tti.plus(decode), Due::ContentionResolved { ue });
            }
            Command::Recall => self.recall(now, ue, out),
            Command::StopForwarding => self.stop_forwarding(now, ue, out),
            Command::Serve => self.serve_again(now, tti, ue, out),
            Command::Release => self.forget(now, ue, out),
        }
    }

    fn answer(&mut self, tti: Tti, ue: UeId, question: Question) -> Input<'static> {
        match question {
            Question::Admits(target) => Input::Admission(self.admits(target, ue)),
            Question::HearsCommand => Input::Heard(self.hears_command(tti, ue)),
            Question::SuitableCell => Input::Selected(self.suitable_cell(tti, ue)),
            Question::ContextFrom(source) => Input::Context(self.context_from(ue, source)),
        }
    }

    fn report_link(&self, ue: UeId, event: LinkEvent, out: &mut NetworkOutput) {
        let serving = self.links[ue].serving;
        match event {
            LinkEvent::Problem => out.events.push((ue, NetworkEvent::RadioProblem(serving))),
            LinkEvent::Recovered => out.events.push((ue, NetworkEvent::RadioRecovered(serving))),
            LinkEvent::Failed => {}
        }
    }

    /// Powers of all cells at `ue` into `powers`; the linear SINR of the serving cell's reference
    /// signals, when every cell sends.
    fn survey(&mut self, tti: Tti, ue: UeId) -> f64 {
        let serving = self.links[ue].serving;
        let Some(m) = &mut self.mobility else { return 0.0 };
        let mut total = 0.0;
        for cell in self.cells.ids() {
            let config = &self.cells[cell].config;
            let element = milliwatts(config.radio.power) / f64::from(12 * config.resource_blocks);
            let gain = f64::from(self.air.gains(tti, cell, ue).downlink);
            let power = if self.cells[cell].is_down() { 0.0 } else { (gain * element).max(NOTHING) };
            m.powers[cell] = power;
            total += power;
        }
        let own = m.powers[serving];
        own / (total - own + self.air.noise_on_element(ue))
    }

    /// The strongest cell that a UE could camp on now.
    pub(super) fn strongest_cell(&mut self, tti: Tti, ue: UeId) -> Option<CellId> {
        self.survey(tti, ue);
        let m = self.mobility.as_ref()?;
        let suits = |c: &CellId| m.powers[*c] > 0.0 && db(m.powers[*c]) >= m.config.suitable.0;
        let best = m.powers.ids().filter(suits);
        best.max_by(|a, b| m.powers[*a].total_cmp(&m.powers[*b]).then(b.cmp(a)))
    }

    /// A cell is switched off, or on again: nobody hears it, and it hears nobody.
    pub fn set_cell_down(&mut self, now: Instant, cell: CellId, down: bool) {
        self.reach(now);
        self.cells[cell].config.down = down;
        let power = milliwatts(self.cells[cell].config.radio.power);
        self.air.set_power(cell, if down { 0.0 } else { power });
        if down {
            for ue in self.ues.ids() {
                if self.links[ue].serving == cell {
                    self.reset_downlink(ue);
                    self.reset_uplink(ue);
                    self.forget_in_cell(ue);
                }
            }
        } else {
            for bearer in self.bearers.ids() {
                self.rouse(bearer);
            }
        }
    }
}
