//! Transitions against TS 36.331 v15.1.0 clauses 5.3.5.4, 5.3.7 and 5.3.11 and the timers of table
//! 7.3.1.

mod any_input;

use std::sync::LazyLock;

use lasthop_units::{Id, IndexVec};

use super::enb::Procedure;
use super::ue::State;
use super::*;
use crate::rrc::{LinkEvent, MessageTimes, RrcConfig};

const CELL: fn(usize) -> CellId = CellId::from_index;
/// The cell that serves the UE, and the target.
const SOURCE: usize = 0;
const TARGET: usize = 1;

/// Expiry of the timers that run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Timers {
    t301: Option<Tti>,
    t304: Option<Tti>,
    t310: Option<Tti>,
    t311: Option<Tti>,
}

fn timers(of: &UeMobility) -> Timers {
    let t310 = of.ue.link.t310();
    let mut timers = Timers { t310, ..Timers::default() };
    match of.ue.state {
        State::Applying { t304, .. } | State::Synchronising { t304, .. } | State::Accessing { t304 } => {
            timers.t304 = Some(t304);
        }
        State::Selecting { t311, .. } | State::Acquiring { t311, .. } => timers.t311 = Some(t311),
        State::Requesting { t301 } => timers.t301 = Some(t301),
        _ => {}
    }
    timers
}

/// Phases of a UE and its eNBs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Phase {
    ue: State,
    enb: Procedure,
}

/// The UE is served, and no procedure is in progress.
const STEADY: Phase = Phase { ue: State::Served, enb: Procedure::None };

/// The UE is in state `ue`, and its eNBs have no procedure.
fn ue(ue: State) -> Phase {
    Phase { ue, ..STEADY }
}

/// The UE is served, and this procedure of its eNBs is in progress.
fn enb(enb: Procedure) -> Phase {
    Phase { enb, ..STEADY }
}

/// The UE requests a re-establishment, and its cell retrieves its context until `at`.
fn retrieving(at: Tti, refused: bool, t301: Tti) -> Phase {
    Phase { ue: State::Requesting { t301 }, enb: Procedure::Retrieving { at, refused } }
}

/// Powers of three cells: none is suitable, or one of them is the strongest.
static POWERS: LazyLock<[IndexVec<CellId, f64>; 4]> = LazyLock::new(|| {
    [None, Some(0), Some(1), Some(2)]
        .map(|best| (0..3).map(|i| if best == Some(i) { 1e-11 } else { 1e-20 }).collect())
});

/// A UE that searches for a cell finds this one.
fn found(cell: Option<usize>) -> Input<'static> {
    Input::Cells(&POWERS[cell.map_or(0, |i| i + 1)])
}

const FREE: Load = Load { is_down: false, users: 0 };
const DOWN: Load = Load { is_down: true, users: 0 };

/// Surroundings of a UE.
struct Surroundings {
    config: HandoverConfig,
    tti: Tti,
    serving: CellId,
    connected: bool,
    home: Enb,
    anchor: Enb,
    forwarding: bool,
    cells: IndexVec<CellId, CellParameters>,
    enbs: IndexVec<CellId, Enb>,
}

impl Surroundings {
    /// Three cells of three eNBs; the UE is connected in the first one. A block is decoded 4 TTIs
    /// after its start, and a grant is for 4 TTIs later.
    fn new() -> Surroundings {
        let messages = MessageTimes { decode: 4, grant: 4 };
        let cell = CellParameters { rrc: RrcConfig::default(), messages };
        Surroundings {
            config: HandoverConfig::default(),
            tti: Tti(100),
            serving: CELL(SOURCE),
            connected: true,
            home: 0,
            anchor: 0,
            forwarding: false,
            cells: [cell; 3].into_iter().collect(),
            enbs: [0, 1, 2].into_iter().collect(),
        }
    }

    fn context(&self) -> Context<'_> {
        Context {
            at: Moment {
                config: &self.config,
                cells: &self.cells,
                now: self.tti.start(TTI),
                tti: self.tti,
                open: self.tti.plus(1),
                serving: self.serving,
                connected: self.connected,
            },
            data: DataPath {
                home: self.home,
                anchor: self.anchor,
                forwarding: self.forwarding,
                enbs: &self.enbs,
            },
        }
    }
}

fn event(event: MobilityEvent, cell: usize) -> Command {
    Command::Event { event, cell: CELL(cell), interruption: None }
}

/// Gives `input` to a UE in `phase` at TTI 100: its commands, its phase, and its timers.
fn transition(phase: Phase, serving: usize, input: Input<'_>) -> (Vec<Command>, Phase, Timers) {
    let mut of = UeMobility::new(3);
    (of.ue.state, of.enb.procedure) = (phase.ue, phase.enb);
    let s = Surroundings { serving: CELL(serving), ..Surroundings::new() };
    let commands = of.step(&s.context(), input).into_iter().collect();
    (commands, Phase { ue: of.ue.state, enb: of.enb.procedure }, timers(&of))
}

const AT: Tti = Tti(100);
const ANSWERED: Input<'static> = Input::Context(Answer { load: FREE, reachable: true });

/// TS 36.300 clause 10.1.2.1: the target allocates a dedicated preamble with its acknowledgement of
/// HANDOVER REQUEST, and the command has it.
#[test]
fn a_prepared_target_assigns_a_preamble() {
    let target = CELL(TARGET);
    let preparing = enb(Procedure::Preparing { target, at: AT, early: false });
    let (commands, phase, _) = transition(preparing, SOURCE, Input::Load(FREE));
    let expected =
        [Command::AssignPreamble(target), Command::Wake(AT), Command::Ask(Question::ReceivesCommand)];
    assert_eq!(commands, expected);
    assert_eq!(phase, enb(Procedure::Commanding { target, at: AT }));
    let (commands, _, _) = transition(preparing, SOURCE, Input::Load(DOWN));
    assert_eq!(commands, [event(MobilityEvent::PreparationRefused, TARGET)]);
}

/// Clause 5.3.5.4: the command is received when its block is decoded, 4 TTIs later, and T304 = 1000
/// ms starts; the UE takes 15 ms to process it and 20 ms to synchronise. A command that the
/// UE does not receive is repeated after a round trip of HARQ.
#[test]
fn a_command_starts_t304_and_random_access_stops_it() {
    let target = CELL(TARGET);
    let commanding = enb(Procedure::Commanding { target, at: AT });
    let (commands, again, t) = transition(commanding, SOURCE, Input::CommandReceived(false));
    assert_eq!((commands, t), (vec![Command::Wake(Tti(108))], Timers::default()));
    assert_eq!(again, enb(Procedure::Commanding { target, at: Tti(108) }));

    let t304 = Tti(100 + 4 + 1000);
    let runs = Timers { t304: Some(t304), ..Timers::default() };
    let (commands, phase, t) = transition(commanding, SOURCE, Input::CommandReceived(true));
    assert_eq!((commands, t), (vec![Command::Wake(Tti(119))], runs));
    assert_eq!(phase, ue(State::Applying { target, at: Tti(119), t304 }));

    let applying = ue(State::Applying { target, at: AT, t304 });
    let (commands, phase, t) = transition(applying, SOURCE, Input::Wake);
    let expected = [
        event(MobilityEvent::Started, TARGET),
        Command::Detach(target),
        Command::MoveData(target),
        Command::Wake(Tti(120)),
    ];
    assert_eq!((&commands[..], t), (&expected[..], runs));
    assert_eq!(phase, ue(State::Synchronising { at: Tti(120), t304 }));

    let (commands, phase, t) = transition(ue(State::Synchronising { at: AT, t304 }), TARGET, Input::Wake);
    assert_eq!((commands, t), (vec![Command::Wake(t304), Command::Access { dedicated: true }], runs));
    assert_eq!(phase, ue(State::Accessing { t304 }));

    // TS 36.321 clause 5.1.4: with a dedicated preamble the response completes random access. Msg3
    // follows 6 TTIs later, and RLC repeats what it carries after t-PollRetransmit = 45 ms.
    let response = Input::ResponseReceived { msg3: Some(Tti(106)) };
    let (commands, phase, t) = transition(ue(State::Accessing { t304 }), TARGET, response);
    assert_eq!((commands, t), (vec![Command::FreePreamble, Command::Wake(Tti(106 + 45))], Timers::default()));
    assert_eq!(phase, ue(State::Confirming { again: Tti(151) }));

    // Otherwise it is complete when the contention is resolved.
    let interruption = Some(Duration::from_millis(100));
    let complete = Command::Event { event: MobilityEvent::Complete, cell: target, interruption };
    for (state, expected) in [
        (State::Accessing { t304 }, vec![Command::FreePreamble, complete, Command::Serve]),
        (State::Confirming { again: Tti(151) }, vec![complete, Command::Serve]),
    ] {
        let (commands, phase, t) = transition(ue(state), TARGET, Input::Msg3);
        assert_eq!((commands, t), (expected, Timers::default()));
        assert_eq!(phase, STEADY);
    }
}

/// TS 36.322 clause 5.2.3: when t-PollRetransmit (45 ms for SRB1, TS 36.331 clause 9.2.1.1) expires
/// without an acknowledgement, RLC sends the message again. MAC has no grant for it, and the UE
/// requests one: T304 does not run, so nothing else would end the wait.
#[test]
fn a_lost_last_message_is_sent_again_after_t_poll_retransmit() {
    let (commands, phase, t) = transition(ue(State::Confirming { again: AT }), TARGET, Input::Wake);
    let again = Tti(100 + 45);
    assert_eq!((commands, t), (vec![Command::Wake(again), Command::RequestGrant], Timers::default()));
    assert_eq!(phase, ue(State::Confirming { again }));
}

/// The UE was handed over from the target to its source at TTI 50, and returns at 100: within 1 s,
/// and not within 40 ms.
#[test]
fn a_return_within_ping_pong_is_named() {
    for (ping_pong, named) in [(1000, true), (50, true), (40, false)] {
        let mut of = UeMobility::new(3);
        of.ue.state = State::Accessing { t304: Tti(1000) };
        (of.ue.left.1, of.enb.last) = (CELL(SOURCE), Some((CELL(TARGET), Tti(50))));
        let mut s = Surroundings { serving: CELL(TARGET), ..Surroundings::new() };
        s.config.ping_pong = Duration::from_millis(ping_pong);
        let commands: Vec<Command> = of.step(&s.context(), Input::Msg3).into_iter().collect();
        assert_eq!(commands.contains(&event(MobilityEvent::PingPong, TARGET)), named, "{ping_pong} ms");
    }
}

/// Clause 5.3.5.6: when T304 expires the UE reverts to the configuration of the source and
/// initiates re-establishment, which starts T311 = 10 s (5.3.7.2). The dedicated preamble is not
/// available any more (NOTE of 5.3.5.6).
#[test]
fn t304_ends_a_handover_and_t311_starts() {
    let runs = Timers { t311: Some(Tti(10_100)), ..Timers::default() };
    let (commands, phase, t) = transition(ue(State::Accessing { t304: AT }), TARGET, Input::Wake);
    let expected = [
        event(MobilityEvent::Failed, TARGET),
        Command::Recall,
        Command::FreePreamble,
        Command::Detach(CELL(TARGET)),
        Command::Wake(Tti(200)),
    ];
    assert_eq!((&commands[..], t), (&expected[..], runs));
    assert_eq!(phase, ue(State::Selecting { at: Tti(200), t311: Tti(10_100) }));
}

/// Clause 5.3.11.3: a random access problem is a radio link failure while none of T301, T304 and
/// T311 runs. Otherwise it has no effect, and the expiry of the timer decides.
#[test]
fn a_random_access_problem_counts_while_no_timer_runs() {
    let (target, t304, t301, t311) = (CELL(TARGET), Tti(900), Tti(500), Tti(10_000));
    for phase in [
        STEADY,
        enb(Procedure::Reported { target, at: Tti(110) }),
        enb(Procedure::Preparing { target, at: Tti(110), early: false }),
        enb(Procedure::Commanding { target, at: Tti(104) }),
    ] {
        let (commands, next, t) = transition(phase, SOURCE, Input::AccessProblem);
        let failed = event(MobilityEvent::RadioLinkFailure, SOURCE);
        assert_eq!((commands, t), (vec![failed, Command::Wake(Tti(101))], Timers::default()));
        assert_eq!(next, ue(State::Failing { at: Tti(101), left: false }));
    }
    for phase in [
        ue(State::Applying { target, at: Tti(110), t304 }),
        ue(State::Synchronising { at: Tti(110), t304 }),
        ue(State::Accessing { t304 }),
        ue(State::Selecting { at: Tti(110), t311 }),
        ue(State::Acquiring { at: Tti(110), t311 }),
        ue(State::Requesting { t301 }),
        retrieving(Tti(110), false, t301),
    ] {
        let (commands, next, _) = transition(phase, TARGET, Input::AccessProblem);
        assert_eq!((commands, next), (vec![], phase));
    }
}

/// Clause 5.3.11.3: a failure of RLC is a radio link failure while the UE is served, whether T304
/// runs or not; a UE without a cell has reset its bearers.
#[test]
fn a_link_failure_starts_a_reestablishment_unless_one_is_under_way() {
    let (target, t304, t301, t311) = (CELL(TARGET), Tti(900), Tti(500), Tti(10_000));
    for phase in [
        STEADY,
        enb(Procedure::Reported { target, at: Tti(110) }),
        enb(Procedure::Preparing { target, at: Tti(110), early: false }),
        enb(Procedure::Commanding { target, at: Tti(104) }),
        ue(State::Applying { target, at: Tti(110), t304 }),
    ] {
        let (commands, next, t) = transition(phase, SOURCE, Input::LinkFailure);
        let failed = event(MobilityEvent::RadioLinkFailure, SOURCE);
        assert_eq!((commands, t), (vec![failed, Command::Wake(Tti(101))], Timers::default()));
        assert_eq!(next, ue(State::Failing { at: Tti(101), left: false }));
    }
    for phase in [
        ue(State::Failing { at: Tti(101), left: false }),
        ue(State::Synchronising { at: Tti(110), t304 }),
        ue(State::Accessing { t304 }),
        ue(State::Selecting { at: Tti(110), t311 }),
        ue(State::Acquiring { at: Tti(110), t311 }),
        ue(State::Requesting { t301 }),
        retrieving(Tti(110), false, t301),
    ] {
        let (commands, next, _) = transition(phase, SOURCE, Input::LinkFailure);
        assert_eq!((commands, next), (vec![], phase));
    }
}

/// Clause 5.3.11.3: T301 has stopped with the answer (5.3.7.5), T304 with the success of random
/// access (5.3.5.4), so a failure of RLC and a random access problem are failures of the radio link
/// again, and another re-establishment begins. The cell that has answered, or the target of the
/// handover, has the UE's context; the source continues with the data that it has forwarded.
#[test]
fn a_failure_after_the_answer_begins_another_reestablishment() {
    let states = [State::Restoring { at: Tti(140) }, State::Confirming { again: Tti(140) }];
    for (input, state) in
        [Input::LinkFailure, Input::AccessProblem].into_iter().flat_map(|i| states.map(|s| (i, s)))
    {
        let mut of = UeMobility::new(3);
        (of.ue.state, of.ue.left.1) = (state, CELL(SOURCE));
        let mut s = Surroundings { serving: CELL(TARGET), ..Surroundings::new() };
        let commands: Vec<Command> = of.step(&s.context(), input).into_iter().collect();
        assert_eq!(commands, [event(MobilityEvent::RadioLinkFailure, TARGET), Command::Wake(Tti(101))]);
        assert!(of.step(&s.context(), input).into_iter().next().is_none(), "it acts upon it already");
        s.tti = Tti(101);
        let commands: Vec<Command> = of.step(&s.context(), Input::Wake).into_iter().collect();
        let expected =
            [Command::Recall, Command::FreePreamble, Command::Detach(CELL(TARGET)), Command::Wake(Tti(201))];
        assert_eq!((&commands[..], of.enb.prepared), (&expected[..], Some(CELL(TARGET))));
        assert_eq!(of.ue.state, State::Selecting { at: Tti(201), t311: Tti(10_101) });
        assert_eq!(of.ue.source(), CELL(SOURCE), "it has the data");
    }
}

/// Clause 5.3.11.1: monitoring continues when T301 has stopped, and beyond the end of the
/// procedure.
/// A sample of -10 dB in each frame from 1000 ms on: 20 fill the window of Qout, the sixth
/// out-of-sync indication comes with frame 25, at 1240 ms, and T310 runs. The connection is
/// re-established at 1300 ms, and the link has failed at 1240 + 1000 ms.
#[test]
fn t310_runs_through_the_end_of_a_reestablishment() {
    let mut of = UeMobility::new(3);
    of.ue.state = State::Restoring { at: Tti(1300) };
    let mut s = Surroundings { serving: CELL(TARGET), ..Surroundings::new() };
    let powers_mw: IndexVec<CellId, f64> = [1e-14, 1e-12, 1e-14].into_iter().collect();
    let mut failed = Vec::new();
    for tti in (1000..2300).step_by(10).map(Tti) {
        s.tti = tti;
        if tti == Tti(1300) {
            of.step(&s.context(), Input::Wake);
            assert_eq!(of.ue.state, State::Served);
        }
        let sample = Sample { powers_mw: &powers_mw, noise_mw: 1e-15, sinr: 0.1 };
        let commands: Vec<Command> = of.step(&s.context(), Input::Sample(Some(sample))).into_iter().collect();
        assert_eq!(commands.contains(&Command::Link(LinkEvent::Problem)), tti == Tti(1240), "{tti:?}");
        if commands.contains(&event(MobilityEvent::RadioLinkFailure, TARGET)) {
            failed.push(tti);
        }
    }
    assert_eq!(failed, [Tti(2240)]);
}

/// Clauses 5.3.7.2 to 5.3.7.5: T311 from the failure until a suitable cell's system information is
/// read (5.2.2.5: while T311 runs, a cell is barred if its SIB2 cannot be received), T301 from the
/// request to its answer; then two pairs of messages of 4 + 15 + 4 + 4 TTIs each.
#[test]
fn a_reestablishment_runs_t311_then_t301() {
    let target = CELL(TARGET);
    let (commands, phase, t) = transition(ue(State::Failing { at: AT, left: false }), SOURCE, Input::Wake);
    let expected = [Command::FreePreamble, Command::Detach(CELL(SOURCE)), Command::Wake(Tti(200))];
    assert_eq!(commands, expected);
    assert_eq!(phase, ue(State::Selecting { at: Tti(200), t311: Tti(10_100) }));
    assert_eq!(t, Timers { t311: Some(Tti(10_100)), ..Timers::default() });

    let selecting = ue(State::Selecting { at: AT, t311: Tti(9000) });
    let (commands, phase, _) = transition(selecting, SOURCE, Input::Wake);
    assert_eq!((commands, phase), (vec![Command::Ask(Question::Cells)], selecting));
    let (commands, phase, t) = transition(selecting, SOURCE, found(Some(TARGET)));
    assert_eq!(commands, [Command::Detach(target), Command::Wake(Tti(160))]);
    let t311 = Tti(9000);
    let runs = Timers { t311: Some(t311), ..Timers::default() };
    assert_eq!((phase, t), (ue(State::Acquiring { at: Tti(160), t311 }), runs));
    let (commands, phase, _) = transition(selecting, SOURCE, found(None));
    assert_eq!(commands, [Command::Wake(Tti(200))]);
    assert_eq!(phase, ue(State::Selecting { at: Tti(200), t311: Tti(9000) }));

    let t301 = Tti(500);
    let runs = Timers { t301: Some(t301), ..Timers::default() };
    let (commands, phase, t) = transition(ue(State::Acquiring { at: AT, t311 }), TARGET, Input::Wake);
    assert_eq!(commands, [Command::Wake(t301), Command::Access { dedicated: false }]);
    assert_eq!((phase, t), (ue(State::Requesting { t301 }), runs));
    let (commands, phase, t) = transition(ue(State::Requesting { t301 }), TARGET, Input::Msg3);
    assert_eq!(commands, [Command::Ask(Question::ContextFrom(CELL(SOURCE)))]);
    assert_eq!((phase, t), (ue(State::Requesting { t301 }), runs));

    // The target does not have the UE's context: a round trip over X2 of 2 x 5 ms.
    let (commands, phase, t) = transition(ue(State::Requesting { t301 }), TARGET, ANSWERED);
    assert_eq!(commands, [Command::ResolveContention, Command::Wake(Tti(110))]);
    assert_eq!((phase, t), (retrieving(Tti(110), false, t301), runs));

    let retrieving = retrieving(AT, false, t301);
    let (commands, phase, t) = transition(retrieving, TARGET, Input::Wake);
    assert_eq!(commands, [Command::MoveData(target), Command::Wake(Tti(154))]);
    assert_eq!((phase, t), (ue(State::Restoring { at: Tti(154) }), Timers::default()));

    let (commands, phase, _) = transition(ue(State::Restoring { at: AT }), TARGET, Input::Wake);
    let interruption = Some(Duration::from_millis(100));
    let done = Command::Event { event: MobilityEvent::Reestablished, cell: target, interruption };
    assert_eq!(commands, [done, event(MobilityEvent::TooLate, TARGET), Command::Serve]);
    assert_eq!(phase, STEADY);
}

/// Clause 5.3.7.6 (T311), 5.3.7.7 (T301) and 5.3.7.8 (RRCConnectionReestablishmentReject): the UE
/// leaves RRC_CONNECTED, and no timer runs.
#[test]
fn t311_t301_and_a_reject_end_in_idle() {
    let t301 = Tti(500);
    for (phase, input) in [
        (ue(State::Selecting { at: AT, t311: AT }), found(None)),
        (ue(State::Requesting { t301: AT }), Input::Wake),
        (ue(State::Acquiring { at: Tti(110), t311: AT }), Input::Wake),
        (retrieving(Tti(90), false, AT), Input::Wake),
        (retrieving(AT, true, t301), Input::Wake),
    ] {
        let (commands, next, t) = transition(phase, TARGET, input);
        let rejected = event(MobilityEvent::Rejected, TARGET);
        assert_eq!(commands, [Command::StopForwarding, rejected, Command::Release], "{phase:?}");
        assert_eq!((next, t), (STEADY, Timers::default()));
    }
}

/// Clause 5.3.7.1: only a cell with the UE's context re-establishes; another one retrieves it (TS
/// 36.423 clause 8.3.13) where `fetch_context` is set and the eNB that has it can be reached.
#[test]
fn a_cell_without_the_context_refuses() {
    let t301 = Tti(500);
    let admitted = Answer { load: FREE, reachable: true };
    for (fetch, prepared, answer, refused) in [
        (true, None, admitted, false),
        (false, None, admitted, true),
        (false, Some(TARGET), admitted, false),
        (true, None, Answer { reachable: false, ..admitted }, true),
        (true, None, Answer { load: DOWN, ..admitted }, true),
    ] {
        let mut of = UeMobility::new(3);
        (of.ue.state, of.enb.prepared) = (State::Requesting { t301 }, prepared.map(CELL));
        let mut s = Surroundings { serving: CELL(TARGET), ..Surroundings::new() };
        s.config.fetch_context = fetch;
        of.step(&s.context(), Input::Context(answer));
        let at = if refused || prepared.is_some() { AT } else { Tti(110) };
        assert_eq!(
            (of.ue.state, of.enb.procedure),
            (State::Requesting { t301 }, Procedure::Retrieving { at, refused })
        );
    }
}

/// TS 36.331 clause 5.3.11.1 and 5.3.11.3: a sample of -10 dB once a frame; 20 frames fill the
/// window of Qout, N310 = 6 indications start T310 = 1000 ms, and its end is a radio link failure.
#[test]
fn t310_runs_from_n310_indications_to_the_failure() {
    let mut of = UeMobility::new(3);
    let mut s = Surroundings::new();
    let powers_mw: IndexVec<CellId, f64> = [1e-12, 1e-14, 1e-14].into_iter().collect();
    let mut events = Vec::new();
    for i in 0..130 {
        s.tti = Tti(i * 10);
        let sample = Sample { powers_mw: &powers_mw, noise_mw: 1e-15, sinr: 0.1 };
        for command in of.step(&s.context(), Input::Sample(Some(sample))) {
            if !matches!(command, Command::Wake(_) | Command::SampleAt(_)) {
                events.push((i, command));
            }
        }
        let running = (24..124).contains(&i).then_some(Tti(240 + 1000));
        assert_eq!(timers(&of), Timers { t310: running, ..Timers::default() }, "frame {i}");
    }
    let failure = event(MobilityEvent::RadioLinkFailure, SOURCE);
    assert_eq!(events, [(24, Command::Link(LinkEvent::Problem)), (124, failure)]);
}
