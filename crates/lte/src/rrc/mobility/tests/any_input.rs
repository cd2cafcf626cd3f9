//! No sequence of inputs makes the state inconsistent.

use lasthop_units::Db;
use proptest::prelude::*;

use super::*;
use crate::rrc::Trigger;

/// A step of a UE's surroundings: bytes from which any input is made.
type AnyInput = (u8, u16, u8);

/// Load of a cell that admits a UE, or does not.
fn load(admits: bool) -> Load {
    if admits { FREE } else { DOWN }
}

/// A UE, its surroundings, and the state that its commands lead to.
struct World {
    ue: UeMobility,
    s: Surroundings,
    /// TTIs for which wakes are scheduled.
    wakes: Vec<Tti>,
    detached: bool,
    /// The bearers' data has moved in a handover, and may be recalled.
    moved: bool,
    /// The target that has assigned a preamble to the UE.
    assigned: Option<CellId>,
    /// Bits of the network's answers.
    answers: u8,
    seen: Vec<MobilityEvent>,
}

impl World {
    fn new(config: HandoverConfig, ideal: bool) -> World {
        let mut s = Surroundings { config, ..Surroundings::new() };
        if ideal {
            s.cells.iter_mut().for_each(|cell| cell.rrc.timing = RrcTiming::Ideal);
        }
        let ue = UeMobility::new(3);
        World {
            ue,
            s,
            wakes: Vec::new(),
            detached: false,
            moved: false,
            assigned: None,
            answers: 0,
            seen: Vec::new(),
        }
    }

    /// Gives `input`, carries the commands out, and checks the invariants of every step.
    fn input(&mut self, input: Input<'_>) -> Vec<Command> {
        let commands: Vec<Command> = self.ue.step(&self.s.context(), input).into_iter().collect();
        let mut all = commands.clone();
        for (i, command) in commands.iter().enumerate() {
            assert!(!commands[..i].contains(command), "{command:?} twice after {input:?}");
        }
        let answers: Vec<Input<'_>> = commands.iter().filter_map(|c| self.carry_out(*c)).collect();
        self.check(&input);
        for answer in answers {
            all.extend(self.input(answer));
        }
        all
    }

    fn carry_out(&mut self, command: Command) -> Option<Input<'static>> {
        match command {
            Command::Wake(at) => self.wakes.push(at.max(self.s.context().at.open)),
            Command::SampleAt(at) => assert!(at > self.s.tti || at == self.s.context().at.open),
            Command::Event { event, .. } => self.seen.push(event),
            Command::Link(_) => {}
            Command::Ask(question) => return Some(self.answer(question)),
            Command::Detach(cell) => (self.detached, self.s.serving) = (true, cell),
            Command::MoveData(cell) => {
                assert!(self.detached && !self.s.forwarding, "one change of home at a time");
                let to = self.s.enbs[cell];
                self.s.forwarding = self.s.home != to;
                (self.s.home, self.moved) = (to, true);
            }
            Command::Access { .. } | Command::RequestGrant | Command::ResolveContention => {
                assert!(self.detached)
            }
            Command::AssignPreamble(cell) => {
                assert_eq!(self.assigned.replace(cell), None, "one handover at a time");
            }
            Command::FreePreamble => self.assigned = None,
            Command::Recall => {
                assert!(std::mem::take(&mut self.moved), "nothing was forwarded");
                (self.s.home, self.s.forwarding) = (self.s.anchor, false);
            }
            Command::StopForwarding => self.s.forwarding = false,
            Command::Serve => {
                assert!(std::mem::take(&mut self.detached), "it was served");
                self.moved = false;
            }
            Command::Release => {
                assert!(std::mem::take(&mut self.detached), "a served UE does not fail");
                (self.s.connected, self.moved) = (false, false);
                (self.s.home, self.s.anchor) = (self.s.enbs[self.s.serving], self.s.enbs[self.s.serving]);
            }
            other => panic!("{other:?} is not a command of mobility"),
        }
        None
    }

    fn answer(&self, question: Question) -> Input<'static> {
        let yes = |bit: u8| self.answers & bit != 0;
        match question {
            Question::LoadOf(_) => Input::Load(load(yes(1))),
            Question::ReceivesCommand => Input::CommandReceived(yes(2)),
            Question::Cells => found(yes(4).then_some(usize::from(self.answers >> 3) % 3)),
            Question::ContextFrom(_) => Input::Context(Answer { load: load(yes(1)), reachable: yes(2) }),
        }
    }

    /// Timers as in table 7.3.1 of TS 36.331; a UE is detached where its phase implies it; the next
    /// step of every procedure is scheduled.
    fn check(&self, input: &Input<'_>) {
        let t = timers(&self.ue);
        let phase = Phase { ue: self.ue.ue.state, enb: self.ue.enb.procedure };
        let running = [t.t301, t.t304, t.t310, t.t311].iter().flatten().count();
        assert!(running <= 1, "{t:?} after {input:?}");
        let has_cell =
            !self.detached || matches!(phase.ue, State::Restoring { .. } | State::Confirming { .. });
        assert!(t.t310.is_none() || has_cell, "the link of {phase:?} is not monitored");
        assert_eq!(phase.ue.is_detached(), self.detached, "{phase:?} after {input:?}");
        if !self.s.connected {
            assert_eq!((phase, t), (STEADY, Timers::default()), "after {input:?}");
        }
        let may_use = matches!(phase.enb, Procedure::Commanding { .. })
            || matches!(
                phase.ue,
                State::Applying { .. }
                    | State::Synchronising { .. }
                    | State::Accessing { .. }
                    | State::Failing { .. }
            );
        assert!(may_use || self.assigned.is_none(), "{phase:?} keeps a preamble, after {input:?}");
        let of_enb = match phase.enb {
            Procedure::None => None,
            Procedure::Reported { at, .. }
            | Procedure::Preparing { at, .. }
            | Procedure::Commanding { at, .. }
            | Procedure::Retrieving { at, .. } => Some(at),
        };
        let of_ue = match phase.ue {
            State::Served => None,
            State::Applying { at, .. }
            | State::Synchronising { at, .. }
            | State::Completing { at }
            | State::Failing { at, .. }
            | State::Selecting { at, .. }
            | State::Acquiring { at, .. }
            | State::Restoring { at } => Some(at),
            State::Accessing { t304: at } | State::Requesting { t301: at } => Some(at),
            State::Confirming { again } => Some(again),
        };
        let asks = matches!(phase.ue, State::Requesting { .. });
        assert!(of_ue.is_none() || of_enb.is_none() || asks, "{phase:?}: two procedures at a time");
        let Some(end) = of_enb.or(of_ue) else { return };
        let timer = t.t301.or(t.t304).or(t.t311).unwrap_or(end);
        let open = self.s.context().at.open;
        let noted = |until: Tti| self.wakes.iter().any(|at| *at >= open && *at <= until.max(open));
        // A query that is being answered belongs to this TTI.
        assert!(noted(end) || end <= self.s.tti, "{phase:?} waits for nothing, after {input:?}");
        assert!(noted(timer) || end <= self.s.tti, "{phase:?} outlasts its timer");
    }

    /// Gives the wakes up to `tti`, then advances to `tti`.
    fn until(&mut self, tti: Tti) {
        while let Some(at) = self.wakes.iter().copied().filter(|at| *at <= tti).min() {
            self.wakes.retain(|other| *other != at);
            self.s.tti = at;
            self.input(Input::Wake);
            let expired = |t: Option<Tti>| t.is_some_and(|t| t < at);
            let t = timers(&self.ue);
            assert!(!expired(t.t301) && !expired(t.t304) && !expired(t.t311), "{t:?} at {at:?}");
        }
        self.s.tti = tti;
    }

    fn dispatch(&mut self, (what, number, answers): AnyInput) {
        self.answers = answers;
        self.until(self.s.tti.plus(u64::from(number) % 700));
        let cell = CELL(usize::from(number) % 3);
        let yes = answers & 1 != 0;
        match what % 16 {
            0..=3 => self.samples(number, answers),
            4 => drop(self.input(Input::Order(cell))),
            5 | 6 => drop(self.input(Input::Msg3)),
            7 => drop(self.input(Input::AccessProblem)),
            8 => drop(self.input(Input::LinkFailure)),
            9 => drop(self.input(Input::Wake)),
            10 => drop(self.input(Input::Load(load(yes)))),
            11 => drop(self.input(Input::CommandReceived(yes))),
            12 => drop(self.input(found(yes.then_some(cell.index())))),
            13 => drop(self.input(Input::Context(Answer { load: load(yes), reachable: answers & 2 != 0 }))),
            14 if self.detached => {
                let real = self.s.context().at.messages().is_some();
                let msg3 = real.then_some(self.s.tti.plus(6));
                self.input(Input::ResponseReceived { msg3 });
            }
            14 => {
                // The release of the connection frees the preamble.
                (self.s.connected, self.assigned) = (false, None);
                self.input(Input::Released);
            }
            _ => {
                // The path is switched, the end marker arrives, an idle UE connects.
                (self.s.anchor, self.s.forwarding) = match self.detached {
                    false => (self.s.home, false),
                    true => (self.s.anchor, self.s.forwarding),
                };
                if !self.s.connected {
                    self.s.connected = true;
                    let first = self.s.context().at.open;
                    self.input(Input::Connected { first });
                }
            }
        }
    }

    /// Samples of up to 25 frames: good, bad, or with a better neighbour.
    fn samples(&mut self, number: u16, answers: u8) {
        let sinr = [0.05, 0.1, 1.0, 100.0][usize::from(answers >> 2) % 4];
        let mut powers_mw: IndexVec<CellId, f64> = [1e-12; 3].into_iter().collect();
        powers_mw[CELL(usize::from(number) % 3)] = 1e-11;
        for _ in 0..answers % 26 {
            self.until(self.s.tti.plus(10));
            let sample = Sample { powers_mw: &powers_mw, noise_mw: 1e-15, sinr };
            let connected = self.s.connected;
            self.input(Input::Sample(connected.then_some(sample)));
        }
    }
}

fn configs() -> impl Strategy<Value = HandoverConfig> {
    let ms = |of: &'static [u64]| prop::sample::select(of).prop_map(Duration::from_millis);
    (ms(&[0, 15, 80]), ms(&[0, 20, 90]), ms(&[50, 100, 1000]), ms(&[100, 400]), any::<[bool; 3]>()).prop_map(
        |(processing, interruption, t304, t301, [conditional, fetch_context, fast])| {
            let time_to_trigger = if fast { Duration::ZERO } else { Duration::from_millis(256) };
            let mut config = HandoverConfig {
                trigger: Trigger::A3 { offset: Db(3.0), hysteresis: Db(0.0), time_to_trigger },
                processing,
                interruption,
                t304,
                t301,
                t311: Duration::from_millis(1000),
                search: Duration::from_millis(if fast { 300 } else { 100 }),
                fetch_context,
                conditional: conditional.then_some(Db(-3.0)),
                ..HandoverConfig::default()
            };
            config.radio_link.t310 = Duration::from_millis(100);
            config
        },
    )
}

/// Runs of a UE: its parameters, whether messages take no time, and the inputs.
fn runs() -> impl Strategy<Value = (HandoverConfig, bool, Vec<AnyInput>)> {
    let inputs = prop::collection::vec(any::<AnyInput>(), 1..120);
    (configs().prop_filter("valid", |c| c.validate().is_ok()), any::<bool>(), inputs)
}

fn run((config, ideal, inputs): (HandoverConfig, bool, Vec<AnyInput>)) -> Vec<MobilityEvent> {
    let mut world = World::new(config, ideal);
    let first = world.s.context().at.open;
    world.input(Input::Connected { first });
    for happening in inputs {
        world.dispatch(happening);
    }
    world.seen
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Any inputs in any order, with answers among them for which there was no query.
    #[test]
    fn no_input_makes_the_state_inconsistent(of in runs()) {
        run(of);
    }
}

/// The property above covers every step; a return within `ping_pong` is too rare to be among them.
#[test]
fn any_inputs_go_through_every_step() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut seen = Vec::new();
    for _ in 0..300 {
        let tree = runs().new_tree(&mut runner).expect("a valid run");
        seen.extend(run(proptest::strategy::ValueTree::current(&tree)));
    }
    for event in [
        MobilityEvent::PreparationStarted,
        MobilityEvent::PreparationRefused,
        MobilityEvent::Prepared,
        MobilityEvent::Started,
        MobilityEvent::Complete,
        MobilityEvent::Failed,
        MobilityEvent::RadioLinkFailure,
        MobilityEvent::Reestablished,
        MobilityEvent::TooLate,
        MobilityEvent::Rejected,
    ] {
        assert!(seen.contains(&event), "{event:?}");
    }
}
