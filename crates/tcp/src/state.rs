//! The connection states of RFC 9293 section 3.3.2 and their transitions, in one table.

use std::fmt;

/// A connection's state (RFC 9293 section 3.3.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum State {
    /// No connection.
    #[default]
    Closed,
    /// Waiting for a connection request.
    Listen,
    /// A SYN was sent.
    SynSent,
    /// A SYN was received and answered.
    SynReceived,
    /// Data flows.
    Established,
    /// We closed; our FIN is not acknowledged.
    FinWait1,
    /// We closed; our FIN is acknowledged, the peer may still send.
    FinWait2,
    /// The peer closed; we may still send.
    CloseWait,
    /// Both closed at the same time; our FIN is not acknowledged.
    Closing,
    /// The peer closed first, then we; our FIN is not acknowledged.
    LastAck,
    /// Both closed; the state lasts until old segments have left the network.
    TimeWait,
}

impl State {
    /// Both sides have each other's sequence numbers (RFC 9293: a "synchronized" state).
    #[inline]
    pub const fn is_synchronized(self) -> bool {
        !matches!(self, State::Closed | State::Listen | State::SynSent | State::SynReceived)
    }
    /// New or old data may still be sent.
    #[inline]
    pub const fn may_send(self) -> bool {
        matches!(
            self,
            State::Established | State::CloseWait | State::FinWait1 | State::Closing | State::LastAck
        )
    }
    /// Data of the peer may still arrive.
    #[inline]
    pub const fn may_receive(self) -> bool {
        matches!(self, State::Established | State::FinWait1 | State::FinWait2)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            State::Closed => "CLOSED",
            State::Listen => "LISTEN",
            State::SynSent => "SYN-SENT",
            State::SynReceived => "SYN-RECEIVED",
            State::Established => "ESTABLISHED",
            State::FinWait1 => "FIN-WAIT-1",
            State::FinWait2 => "FIN-WAIT-2",
            State::CloseWait => "CLOSE-WAIT",
            State::Closing => "CLOSING",
            State::LastAck => "LAST-ACK",
            State::TimeWait => "TIME-WAIT",
        })
    }
}

/// An input that changes the state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Input {
    /// The application opens passively.
    Listen,
    /// The application opens actively.
    Connect,
    /// A SYN arrived, without an acceptable ACK of ours.
    Syn,
    /// A SYN arrived with an acceptable ACK of ours.
    SynAck,
    /// Our SYN was acknowledged.
    AckOfSyn,
    /// The application has no more to send.
    Close,
    /// The peer's FIN is in order.
    Fin,
    /// Our FIN was acknowledged.
    AckOfFin,
    /// A reset arrived, the application aborted, or a retransmission limit was reached.
    Abort,
    /// Two maximum segment lifetimes passed.
    TwoMsl,
}

/// Every transition of RFC 9293 figure 5 except [`Input::Abort`], which leads from anywhere to
/// CLOSED.
///
/// A CLOSE before the SYN is acknowledged is stored and processed at ESTABLISHED (RFC 9293 section
/// 3.10.4 allows to queue it); so there is no row for it here.
pub const TRANSITIONS: &[(State, Input, State)] = {
    use Input as I;
    use State as S;
    &[
        (S::Closed, I::Listen, S::Listen),
        (S::Closed, I::Connect, S::SynSent),
        (S::Listen, I::Connect, S::SynSent),
        (S::Listen, I::Syn, S::SynReceived),
        (S::SynSent, I::Syn, S::SynReceived),
        (S::SynSent, I::SynAck, S::Established),
        (S::SynSent, I::Close, S::Closed),
        (S::Listen, I::Close, S::Closed),
        (S::SynReceived, I::AckOfSyn, S::Established),
        (S::Established, I::Close, S::FinWait1),
        (S::Established, I::Fin, S::CloseWait),
        (S::FinWait1, I::Fin, S::Closing),
        (S::FinWait1, I::AckOfFin, S::FinWait2),
        (S::FinWait2, I::Fin, S::TimeWait),
        (S::CloseWait, I::Close, S::LastAck),
        (S::Closing, I::AckOfFin, S::TimeWait),
        (S::LastAck, I::AckOfFin, S::Closed),
        (S::TimeWait, I::TwoMsl, S::Closed),
    ]
};

impl State {
    /// The state after `input`; `None` when the input means nothing here.
    pub fn after(self, input: Input) -> Option<State> {
        if input == Input::Abort {
            return Some(State::Closed);
        }
        TRANSITIONS.iter().find(|(from, i, _)| *from == self && *i == input).map(|t| t.2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write as _;

    #[test]
    fn the_table_is_figure_5_of_rfc_9293() {
        let mut text = String::new();
        for (from, input, to) in TRANSITIONS {
            writeln!(text, "{from} --{input:?}--> {to}").unwrap();
        }
        assert_eq!(
            text,
            "\
CLOSED --Listen--> LISTEN
CLOSED --Connect--> SYN-SENT
LISTEN --Connect--> SYN-SENT
LISTEN --Syn--> SYN-RECEIVED
SYN-SENT --Syn--> SYN-RECEIVED
SYN-SENT --SynAck--> ESTABLISHED
SYN-SENT --Close--> CLOSED
LISTEN --Close--> CLOSED
SYN-RECEIVED --AckOfSyn--> ESTABLISHED
ESTABLISHED --Close--> FIN-WAIT-1
ESTABLISHED --Fin--> CLOSE-WAIT
FIN-WAIT-1 --Fin--> CLOSING
FIN-WAIT-1 --AckOfFin--> FIN-WAIT-2
FIN-WAIT-2 --Fin--> TIME-WAIT
CLOSE-WAIT --Close--> LAST-ACK
CLOSING --AckOfFin--> TIME-WAIT
LAST-ACK --AckOfFin--> CLOSED
TIME-WAIT --TwoMsl--> CLOSED
"
        );
    }

    #[test]
    fn no_state_and_input_lead_to_two_places() {
        for (i, a) in TRANSITIONS.iter().enumerate() {
            assert!(TRANSITIONS[i + 1..].iter().all(|b| (a.0, a.1) != (b.0, b.1)), "{a:?}");
        }
    }

    #[test]
    fn an_abort_closes_from_anywhere() {
        assert_eq!(State::FinWait2.after(Input::Abort), Some(State::Closed));
        assert_eq!(State::TimeWait.after(Input::Fin), None);
    }
}
