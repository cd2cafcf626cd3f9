//! A UE's RRC connection: establishment (TS 36.331 v15.1.0 clause 5.3.3) and release (5.3.8).

use lasthop_bearer::Direction;
use lasthop_units::{CellId, Tti, UeId};

use super::{CellParameters, Command, Commands, InitialState, MessageTimes, RrcTiming, selection};

/// State of the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Idle,
    /// System information is read until this TTI.
    Reading {
        until: Tti,
    },
    /// Random access is in progress; T300 expires in this TTI.
    Accessing {
        t300: Tti,
    },
    /// Messages are exchanged until this TTI.
    Exchanging {
        until: Tti,
    },
    Connected,
    /// The last attempt failed; the next one begins in this TTI.
    Waiting {
        until: Tti,
    },
}

/// The surroundings of a connection at a step.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionContext<'a> {
    /// The parameters that the UE's cell broadcasts.
    pub cell: &'a CellParameters,
    /// The UE.
    pub ue: UeId,
    /// The cell that it camps on.
    pub serving: CellId,
    /// The present TTI.
    pub tti: Tti,
    /// The first TTI that can still be scheduled.
    pub open: Tti,
}

/// An input to the state machine of a connection.
#[derive(Clone, Copy, Debug)]
pub enum ConnectionInput {
    /// The UE starts in the state that its cell's configuration gives.
    Begin,
    /// There is data for the UE (downlink), or from it (uplink).
    Data(Direction),
    /// A step is due. Before random access the UE camps on the `strongest` cell, where it is given.
    Due {
        /// The strongest cell that is suitable.
        strongest: Option<CellId>,
    },
    /// RRCConnectionRequest is at the eNB, which admits the UE.
    Admitted,
    /// The eNB checks whether the UE is inactive, which it may have been since this TTI.
    InactiveSince(Tti),
    /// The connection has ended for another reason.
    Ended,
}

/// The connection of a UE.
///
/// [`step`](Self::step) takes an input and returns the commands that follow. The state is that of
/// both ends, since no message between them is encoded: the steps up to random access are those of
/// the UE; [`admit`](Self::admit) and [`check_activity`](Self::check_activity) are those of its
/// eNB.
#[derive(Clone, Copy, Debug, Default)]
pub struct Connection {
    state: State,
    /// The UE has read the parameters of random access.
    informed: bool,
}

impl Connection {
    /// A connection that is `connected`, or idle; `informed`: the UE has the cell's parameters.
    pub const fn new(connected: bool, informed: bool) -> Connection {
        Connection { state: if connected { State::Connected } else { State::Idle }, informed }
    }

    /// True if bearers may be used.
    #[inline]
    pub const fn is_connected(&self) -> bool {
        matches!(self.state, State::Connected)
    }

    /// True if there is no connection and none is being established.
    pub const fn is_idle(&self) -> bool {
        matches!(self.state, State::Idle)
    }

    /// True if the step that is due in `tti` begins random access.
    pub fn is_about_to_access(&self, cell: &CellParameters, tti: Tti) -> bool {
        let reads = matches!(self.state, State::Reading { until } | State::Waiting { until } if until <= tti);
        reads && cell.rrc.timing == RrcTiming::Real
    }

    /// Processes `input` and returns the commands that follow.
    pub fn step(&mut self, context: &ConnectionContext<'_>, input: ConnectionInput) -> Commands {
        let mut commands = Commands::default();
        let out = &mut commands;
        match input {
            ConnectionInput::Begin => self.begin(context, out),
            ConnectionInput::Data(direction) => self.establish_for_data(context, direction, out),
            ConnectionInput::Due { strongest } => self.on_tti(context, strongest, out),
            ConnectionInput::Admitted => self.admit(context, out),
            ConnectionInput::InactiveSince(since) => self.check_activity(context, since, out),
            ConnectionInput::Ended => self.state = State::Idle,
        }
        commands
    }

    // The UE.

    fn begin(&mut self, context: &ConnectionContext<'_>, out: &mut Commands) {
        match context.cell.rrc.start {
            InitialState::Attach => self.establish(context, Tti(0), out),
            InitialState::Connected => out.push(Command::WatchActivity(Tti(0))),
            InitialState::Idle => {}
        }
    }

    /// Starts an establishment for data of an idle UE: at its paging occasion for downlink data.
    fn establish_for_data(
        &mut self,
        context: &ConnectionContext<'_>,
        direction: Direction,
        out: &mut Commands,
    ) {
        if !self.is_idle() {
            return;
        }
        let at = match direction {
            Direction::Uplink => context.open,
            Direction::Downlink => {
                selection::paging_occasion(context.ue, context.cell.rrc.paging_cycle, context.open)
            }
        };
        self.establish(context, at, out);
    }

    /// Upper layers request a connection; the first step is in `tti` or later.
    fn establish(&mut self, context: &ConnectionContext<'_>, tti: Tti, out: &mut Commands) {
        let config = &context.cell.rrc;
        let until = match config.timing {
            RrcTiming::Ideal => tti,
            RrcTiming::Real if self.informed => tti,
            RrcTiming::Real => config.informed(tti),
        };
        self.state = State::Reading { until };
        self.note(out);
    }

    /// The TTI of the next step that needs no input.
    const fn poll_at(&self) -> Option<Tti> {
        match self.state {
            State::Idle | State::Connected => None,
            State::Reading { until } | State::Exchanging { until } | State::Waiting { until } => Some(until),
            State::Accessing { t300 } => Some(t300),
        }
    }

    /// Schedules the next step.
    fn note(&self, out: &mut Commands) {
        if let Some(at) = self.poll_at() {
            out.push(Command::ConnectionAt(at));
        }
    }

    // 5.3.3.2 [unverified]: initiate transmission of the RRCConnectionRequest message after
    // starting T300; 5.3.3.6 [unverified]: if timer T300 expires: reset MAC, release the MAC
    // configuration [...] inform upper layers about the failure.
    fn on_tti(&mut self, context: &ConnectionContext<'_>, strongest: Option<CellId>, out: &mut Commands) {
        let (config, tti) = (&context.cell.rrc, context.tti);
        if self.poll_at().is_none_or(|at| at > tti) {
            return;
        }
        let (next, command) = match self.state {
            State::Idle | State::Connected => return,
            State::Reading { .. } | State::Waiting { .. } if config.timing == RrcTiming::Ideal => {
                (State::Connected, Command::Connected)
            }
            State::Reading { .. } | State::Waiting { .. } => {
                self.informed = true;
                let other = strongest.filter(|cell| *cell != context.serving);
                other.into_iter().for_each(|cell| out.push(Command::Camp(cell)));
                (State::Accessing { t300: tti.plus(config.t300.as_millis()) }, Command::Connect)
            }
            State::Accessing { .. } => {
                (State::Waiting { until: tti.plus(config.retry.as_millis()) }, Command::ConnectionFailed)
            }
            State::Exchanging { .. } => (State::Connected, Command::Connected),
        };
        self.state = next;
        out.push(command);
        self.note(out);
    }

    // The eNB.

    /// Msg3 is at the eNB, which sends RRCConnectionSetup with the contention resolution identity.
    // T300 ends with RRCConnectionSetup (5.3.3.4), which takes a few of the exchange's TTIs.
    fn admit(&mut self, context: &ConnectionContext<'_>, out: &mut Commands) {
        if matches!(self.state, State::Accessing { .. }) {
            let MessageTimes { decode, grant } = context.cell.messages;
            let exchange = context.cell.rrc.exchange(decode, grant);
            self.state = State::Exchanging { until: context.tti.plus(exchange) };
        }
        out.push(Command::ResolveContention);
        self.note(out);
    }

    /// Releases a UE that had no data for the inactivity timer (5.3.8).
    fn check_activity(&mut self, context: &ConnectionContext<'_>, since: Tti, out: &mut Commands) {
        let Some(timer) = context.cell.rrc.inactivity.value().filter(|_| self.is_connected()) else { return };
        if since.plus(timer.as_millis()) > context.tti {
            return out.push(Command::WatchActivity(since));
        }
        self.state = State::Idle;
        out.push(Command::Released);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rrc::RrcConfig;
    use lasthop_bearer::OrInfinity;
    use lasthop_units::{Duration, Id};

    fn cell(rrc: RrcConfig) -> CellParameters {
        CellParameters { rrc, messages: MessageTimes { decode: 4, grant: 4 } }
    }

    /// The commands of `c` after `input` in `tti`, for a UE of cell 0.
    fn step(c: &mut Connection, cell: &CellParameters, tti: Tti, input: ConnectionInput) -> Vec<Command> {
        let (ue, serving) = (UeId::from_index(0), CellId::from_index(0));
        let context = ConnectionContext { cell, ue, serving, tti, open: tti };
        c.step(&context, input).into_iter().collect()
    }

    const DUE: ConnectionInput = ConnectionInput::Due { strongest: None };

    /// Runs until no step is due before `end`, with Msg3 received `access` TTIs after random access
    /// begins. Returns the commands except those that schedule a step.
    fn run(mut c: Connection, config: RrcConfig, access: Option<u64>, end: u64) -> Vec<(u64, Command)> {
        let mut commands = Vec::new();
        let mut received = None;
        let cell = cell(config);
        for tti in (0..end).map(Tti) {
            if received == Some(tti) {
                let admitted = step(&mut c, &cell, tti, ConnectionInput::Admitted);
                let until = tti.plus(config.exchange(4, 4));
                assert_eq!(admitted, [Command::ResolveContention, Command::ConnectionAt(until)]);
            }
            for command in step(&mut c, &cell, tti, DUE) {
                if command == Command::Connect {
                    received = access.map(|a| tti.plus(a));
                }
                if !matches!(command, Command::ConnectionAt(_)) {
                    commands.push((tti.0, command));
                }
            }
        }
        commands
    }

    /// A UE without a connection that has data from `tti` on; `informed` of its cell's parameters.
    fn with_data(config: RrcConfig, informed: bool, tti: Tti) -> Connection {
        let mut c = Connection::new(false, informed);
        let until = if informed { tti } else { config.informed(tti) };
        let noted = step(&mut c, &cell(config), tti, ConnectionInput::Data(Direction::Uplink));
        assert_eq!(noted, [Command::ConnectionAt(until)]);
        c
    }

    /// Switched on in TTI 3: MIB in 10, SIB2 in 80; random access with a preamble at once, answer
    /// 3, Msg3 9 and decoded 13 TTIs later; 76 TTIs of messages.
    #[test]
    fn an_attach_is_system_information_access_and_messages() {
        let config = RrcConfig::default();
        let c = with_data(config, false, Tti(3));
        let expected = [(80, Command::Connect), (80 + 13 + 76, Command::Connected)];
        assert_eq!(run(c, config, Some(13), 400), expected);
        let known = with_data(config, true, Tti(3));
        assert_eq!(run(known, config, Some(13), 400)[0], (3, Command::Connect));
    }

    #[test]
    fn t300_ends_an_attempt_and_another_follows() {
        let config = RrcConfig {
            t300: Duration::from_millis(100),
            retry: Duration::from_millis(500),
            ..RrcConfig::default()
        };
        let c = with_data(config, true, Tti(0));
        let expected = [
            (0, Command::Connect),
            (100, Command::ConnectionFailed),
            (600, Command::Connect),
            (700, Command::ConnectionFailed),
        ];
        assert_eq!(run(c, config, None, 800), expected);
    }

    #[test]
    fn an_ideal_connection_is_there_at_once_and_a_release_ends_it() {
        let config = RrcConfig { timing: RrcTiming::Ideal, ..RrcConfig::default() };
        let mut c = Connection::new(false, false);
        let data = ConnectionInput::Data(Direction::Uplink);
        assert_eq!(step(&mut c, &cell(config), Tti(7), data), [Command::ConnectionAt(Tti(7))]);
        assert_eq!(step(&mut c, &cell(config), Tti(7), DUE), [Command::Connected]);
        assert_eq!(step(&mut c, &cell(config), Tti(8), data), []);
        assert!(c.is_connected());
        step(&mut c, &cell(config), Tti(9), ConnectionInput::Ended);
        assert!(c.is_idle());
    }

    /// A UE camps on the strongest cell before random access, and stays where that is its own cell.
    #[test]
    fn a_ue_connects_in_the_strongest_cell() {
        let config = RrcConfig::default();
        for (i, camps) in [(0, false), (1, true)] {
            let mut c = with_data(config, true, Tti(3));
            assert!(
                c.is_about_to_access(&cell(config), Tti(3)) && !c.is_about_to_access(&cell(config), Tti(2))
            );
            let strongest = CellId::from_index(i);
            let due = ConnectionInput::Due { strongest: Some(strongest) };
            let mut expected = vec![Command::Connect, Command::ConnectionAt(Tti(3 + 1000))];
            if camps {
                expected.insert(0, Command::Camp(strongest));
            }
            assert_eq!(step(&mut c, &cell(config), Tti(3), due), expected);
        }
    }

    /// 1 s of inactivity ends in TTI 1000 and not before; for a UE without a connection no timer
    /// runs.
    #[test]
    fn an_inactive_ue_is_released_when_the_timer_expires() {
        let inactivity = OrInfinity::Value(Duration::from_secs(1));
        let cell = cell(RrcConfig { inactivity, ..RrcConfig::default() });
        let mut c = Connection::new(true, true);
        let inactive = ConnectionInput::InactiveSince(Tti(0));
        assert_eq!(step(&mut c, &cell, Tti(999), inactive), [Command::WatchActivity(Tti(0))]);
        assert_eq!(step(&mut c, &cell, Tti(1000), inactive), [Command::Released]);
        assert!(c.is_idle());
        assert_eq!(step(&mut c, &cell, Tti(2000), inactive), []);
    }
}
