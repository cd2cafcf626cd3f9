//! A UE's RRC connection: establishment (TS 36.331 v15.1.0 clause 5.3.3) and release (5.3.8).

use lasthop_units::Tti;

use super::{Command, RrcConfig, RrcTiming};

/// Where the connection stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Idle,
    /// System information is read until this TTI.
    Reading {
        until: Tti,
    },
    /// Random access is going on; T300 runs until here.
    Accessing {
        t300: Tti,
    },
    /// Messages are exchanged until this TTI.
    Exchanging {
        until: Tti,
    },
    Connected,
    /// The last attempt failed; the next one begins here.
    Waiting {
        until: Tti,
    },
}

/// The connection of a UE.
///
/// [`establish`](Self::establish) when there is something to send or receive;
/// [`poll_at`](Self::poll_at) names the TTI in which [`on_tti`](Self::on_tti) must be called.
#[derive(Clone, Copy, Debug, Default)]
pub struct Connection {
    state: State,
    /// The parameters of random access are known.
    informed: bool,
}

impl Connection {
    /// A UE that is connected, or idle and `informed` of the cell's parameters, or neither.
    pub const fn new(connected: bool, informed: bool) -> Connection {
        Connection { state: if connected { State::Connected } else { State::Idle }, informed }
    }

    /// True if bearers may be used.
    pub const fn is_connected(&self) -> bool {
        matches!(self.state, State::Connected)
    }

    /// True if it is idle and does not try to change that.
    pub const fn is_idle(&self) -> bool {
        matches!(self.state, State::Idle)
    }

    /// Upper layers want a connection; the first step is in `tti` or later.
    pub fn establish(&mut self, config: &RrcConfig, tti: Tti) {
        if !self.is_idle() {
            return;
        }
        let until = match config.timing {
            RrcTiming::Ideal => tti,
            RrcTiming::Real if self.informed => tti,
            RrcTiming::Real => config.informed(tti),
        };
        self.state = State::Reading { until };
    }

    /// When it has something to do without input.
    pub const fn poll_at(&self) -> Option<Tti> {
        match self.state {
            State::Idle | State::Connected => None,
            State::Reading { until } | State::Exchanging { until } | State::Waiting { until } => Some(until),
            State::Accessing { t300 } => Some(t300),
        }
    }

    /// A TTI.
    // 5.3.3.2: "initiate transmission of the RRCConnectionRequest message" after starting T300;
    // 5.3.3.6: "if timer T300 expires: reset MAC, release the MAC configuration [...] inform upper
    // layers about the failure".
    pub fn on_tti(&mut self, config: &RrcConfig, tti: Tti) -> Option<Command> {
        if self.poll_at().is_none_or(|at| at > tti) {
            return None;
        }
        let (next, command) = match self.state {
            State::Idle | State::Connected => return None,
            State::Reading { .. } | State::Waiting { .. } if config.timing == RrcTiming::Ideal => {
                (State::Connected, Command::Connected)
            }
            State::Reading { .. } | State::Waiting { .. } => {
                self.informed = true;
                (State::Accessing { t300: tti.plus(config.t300.as_millis()) }, Command::Connect)
            }
            State::Accessing { .. } => {
                (State::Waiting { until: tti.plus(config.retry.as_millis()) }, Command::ConnectionFailed)
            }
            State::Exchanging { .. } => (State::Connected, Command::Connected),
        };
        self.state = next;
        Some(command)
    }

    /// Msg3 is at the eNB; the exchange of messages will be over `exchange` TTIs later.
    // T300 ends with RRCConnectionSetup (5.3.3.4), which takes a few of these TTIs.
    pub fn on_request_received(&mut self, tti: Tti, exchange: u64) {
        if matches!(self.state, State::Accessing { .. }) {
            self.state = State::Exchanging { until: tti.plus(exchange) };
        }
    }

    /// RRCConnectionRelease, or the radio link is lost for good.
    pub const fn release(&mut self) {
        self.state = State::Idle;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_units::Duration;

    /// Runs until nothing is due any more before `end`, with Msg3 received `access` TTIs after
    /// random access begins.
    fn run(mut c: Connection, config: &RrcConfig, access: Option<u64>, end: u64) -> Vec<(u64, Command)> {
        let mut commands = Vec::new();
        let mut received = None;
        for tti in (0..end).map(Tti) {
            if received == Some(tti) {
                c.on_request_received(tti, config.exchange(4, 4));
            }
            if let Some(command) = c.on_tti(config, tti) {
                if command == Command::Connect {
                    received = access.map(|a| tti.plus(a));
                }
                commands.push((tti.0, command));
            }
        }
        commands
    }

    /// Switched on in TTI 3: MIB in 10, SIB2 in 80; random access with a preamble at once, answer
    /// 3, Msg3 9 and decoded 13 TTIs later; 76 TTIs of messages.
    #[test]
    fn an_attach_is_system_information_access_and_messages() {
        let config = RrcConfig::default();
        let mut c = Connection::new(false, false);
        c.establish(&config, Tti(3));
        let expected = [(80, Command::Connect), (80 + 13 + 76, Command::Connected)];
        assert_eq!(run(c, &config, Some(13), 400), expected);
        let mut known = Connection::new(false, true);
        known.establish(&config, Tti(3));
        assert_eq!(run(known, &config, Some(13), 400)[0], (3, Command::Connect));
    }

    #[test]
    fn t300_ends_an_attempt_and_another_follows() {
        let config = RrcConfig {
            t300: Duration::from_millis(100),
            retry: Duration::from_millis(500),
            ..RrcConfig::default()
        };
        let mut c = Connection::new(false, true);
        c.establish(&config, Tti(0));
        let expected = [
            (0, Command::Connect),
            (100, Command::ConnectionFailed),
            (600, Command::Connect),
            (700, Command::ConnectionFailed),
        ];
        assert_eq!(run(c, &config, None, 800), expected);
    }

    #[test]
    fn an_ideal_connection_is_there_at_once_and_a_release_ends_it() {
        let config = RrcConfig { timing: RrcTiming::Ideal, ..RrcConfig::default() };
        let mut c = Connection::new(false, false);
        c.establish(&config, Tti(7));
        assert_eq!(c.on_tti(&config, Tti(7)), Some(Command::Connected));
        c.establish(&config, Tti(8));
        assert!(c.is_connected());
        c.release();
        assert!(c.is_idle());
    }
}
