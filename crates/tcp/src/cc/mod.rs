//! Congestion control: how much may be in flight, and how fast. Never what is sent: that is
//! [`recovery`](crate::recovery)'s.
//!
//! One file per algorithm behind [`CongestionControl`]; one table, [`ALGORITHMS`], names them all. To add one:
//! write its file, add a row to the table, a name to [`CcName`] and an arm to [`Cc`].

mod reno;
mod vegas;

pub use reno::Reno;
pub use vegas::{Vegas, vegas_extra_segments};

use lasthop_units::{Bitrate, Duration, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::Config;

/// What an ACK of new data tells. Counts are of octets, offsets of the sender's stream (0 is the SYN).
#[derive(Clone, Copy, Debug)]
pub struct AckSample {
    /// When the ACK arrived.
    pub now: Instant,
    /// Octets newly acknowledged cumulatively (> 0).
    pub acked: u64,
    /// SND.UNA after the ACK.
    pub una: u64,
    /// SND.NXT when the ACK arrived, before anything new is sent.
    pub nxt: u64,
    /// Octets in flight before the ACK.
    pub flight_before: u64,
    /// Sender's segment size \[octets\].
    pub mss: u32,
    /// Round trip of the newest segment acknowledged, if that was sent once.
    pub rtt: Option<Duration>,
    /// Duplicate ACKs seen just before this one.
    pub dup_acks: u32,
    /// The window was what limited the sender.
    pub cwnd_limited: bool,
    /// Loss recovery wants the window to grow: not in fast recovery.
    pub may_grow: bool,
    /// Slow start after a timeout (RFC 3465 section 2.3 limits its steps to one segment).
    pub after_timeout: bool,
}

/// What a duplicate ACK tells (recovery without SACK).
#[derive(Clone, Copy, Debug)]
pub struct DupAck {
    /// When it arrived.
    pub now: Instant,
    /// Its number in a row, from 1.
    pub count: u32,
    /// When the oldest outstanding segment was sent last.
    pub oldest_sent: Instant,
    /// How often it was sent.
    pub oldest_transmissions: u32,
    /// The guard against a second reduction for one window is open (`bugfix`).
    pub guard_open: bool,
    /// The window in use, whole segments.
    pub window: u32,
}

/// What the algorithm wants done about a duplicate ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DupAckAction {
    /// What the recovery flavour says.
    Standard,
    /// Send the oldest segment again; the algorithm has set its window, inflation included.
    Retransmit,
    /// Nothing; the algorithm has set its window.
    Nothing,
}

/// A reason to slow down.
#[derive(Clone, Copy, Debug)]
pub struct Congestion {
    /// When.
    pub now: Instant,
    /// FlightSize in segments, as `ssthresh_basis` defines it.
    pub flight: f64,
    /// The timer expired once more for the same segment: the window has been cut already.
    pub repeated: bool,
}

/// What is known when the handshake is done.
#[derive(Clone, Copy, Debug)]
pub struct Established {
    /// When.
    pub now: Instant,
    /// The handshake's round trip, if the SYN was sent once.
    pub rtt: Option<Duration>,
    /// The initial window \[segments\].
    pub initial_window: f64,
    /// SND.NXT.
    pub nxt: u64,
}

/// A congestion control algorithm. Windows are in segments of the sender's size.
pub trait CongestionControl {
    /// The congestion window, without recovery's inflation.
    fn cwnd(&self) -> f64;
    /// The slow-start threshold; infinite at the start.
    fn ssthresh(&self) -> f64;
    /// The handshake is done.
    fn on_established(&mut self, e: &Established);
    /// New data was acknowledged.
    fn on_ack(&mut self, ack: &AckSample);
    /// A duplicate ACK arrived, without SACK.
    fn on_dup_ack(&mut self, _dup: &DupAck) -> DupAckAction {
        DupAckAction::Standard
    }
    /// Fast retransmit begins: sets ssthresh, and cwnd to it.
    fn on_congestion(&mut self, c: &Congestion);
    /// The retransmission timer expired.
    fn on_timeout(&mut self, c: &Congestion);
    /// Recovery sets the window: Tahoe's one segment, NewReno's at the end, the restart after idleness.
    fn set_cwnd(&mut self, segments: f64);
    /// After an ACK of new data: is the segment now oldest, sent at `sent`, overdue and to be sent again?
    fn oldest_is_overdue(&mut self, _now: Instant, _sent: Instant) -> bool {
        false
    }
    /// A retransmission timer of the algorithm's own.
    fn own_timeout(&self) -> Option<Duration> {
        None
    }
    /// The rate to pace at.
    fn pacing_rate(&self) -> Option<Bitrate> {
        None
    }
}

/// The algorithms' names as a scenario writes them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CcName {
    /// Additive increase, multiplicative decrease (RFC 5681).
    #[default]
    Reno,
    /// Delay-based (Brakmo and Peterson 1995), as ns-2 implements it.
    Vegas,
}

/// A parameter of an algorithm, for the documentation.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Key under `[flow.x.tcp]`, or a fixed constant's name.
    pub name: &'static str,
    /// Default, as written.
    pub default: &'static str,
    /// Unit.
    pub unit: &'static str,
    /// Where the default comes from.
    pub source: &'static str,
}

/// One row of the registry.
pub struct Algorithm {
    /// The name in scenarios.
    pub name: &'static str,
    /// The enum value.
    pub id: CcName,
    /// One line for a list.
    pub summary: &'static str,
    /// Paper or standard.
    pub source: &'static str,
    /// Parameters with provenance.
    pub parameters: &'static [Parameter],
    new: fn(&Config) -> Cc,
}

/// Every algorithm, in the order of the documentation.
pub const ALGORITHMS: &[Algorithm] = &[
    Algorithm {
        name: "reno",
        id: CcName::Reno,
        summary: "additive increase, multiplicative decrease",
        source: "RFC 5681; V. Jacobson, Congestion avoidance and control, SIGCOMM 1988",
        parameters: reno::PARAMETERS,
        new: |c| Cc::Reno(Reno::new(c)),
    },
    Algorithm {
        name: "vegas",
        id: CcName::Vegas,
        summary: "holds a few segments in the network's queues, by the round-trip time",
        source: "L. Brakmo, L. Peterson, TCP Vegas, IEEE JSAC 13(8), 1995; as ns-2 2.26/2.27 has it",
        parameters: vegas::PARAMETERS,
        new: |c| Cc::Vegas(Vegas::new(c)),
    },
];

impl CcName {
    /// The row of the registry.
    pub fn algorithm(self) -> &'static Algorithm {
        ALGORITHMS.iter().find(|a| a.id == self).unwrap_or(&ALGORITHMS[0])
    }
    /// The name in scenarios.
    pub fn name(self) -> &'static str {
        self.algorithm().name
    }
}

impl std::str::FromStr for CcName {
    type Err = String;
    fn from_str(s: &str) -> Result<CcName, String> {
        let known = || ALGORITHMS.iter().map(|a| a.name).collect::<Vec<_>>().join(", ");
        ALGORITHMS
            .iter()
            .find(|a| a.name == s)
            .map(|a| a.id)
            .ok_or_else(|| format!("`{s}` is no congestion control; there are: {}", known()))
    }
}

/// An algorithm at work.
#[derive(Clone, Debug)]
pub enum Cc {
    /// See [`Reno`].
    Reno(Reno),
    /// See [`Vegas`].
    Vegas(Vegas),
}

impl Cc {
    /// The algorithm that `config` names.
    pub fn new(config: &Config) -> Cc {
        (config.cc.algorithm().new)(config)
    }
}

macro_rules! each {
    ($self:ident, $cc:ident => $call:expr) => {
        match $self {
            Cc::Reno($cc) => $call,
            Cc::Vegas($cc) => $call,
        }
    };
}

impl CongestionControl for Cc {
    #[inline]
    fn cwnd(&self) -> f64 {
        each!(self, cc => cc.cwnd())
    }
    fn ssthresh(&self) -> f64 {
        each!(self, cc => cc.ssthresh())
    }
    fn on_established(&mut self, e: &Established) {
        each!(self, cc => cc.on_established(e))
    }
    #[inline]
    fn on_ack(&mut self, ack: &AckSample) {
        each!(self, cc => cc.on_ack(ack))
    }
    fn on_dup_ack(&mut self, dup: &DupAck) -> DupAckAction {
        each!(self, cc => cc.on_dup_ack(dup))
    }
    fn on_congestion(&mut self, c: &Congestion) {
        each!(self, cc => cc.on_congestion(c))
    }
    fn on_timeout(&mut self, c: &Congestion) {
        each!(self, cc => cc.on_timeout(c))
    }
    fn set_cwnd(&mut self, segments: f64) {
        each!(self, cc => cc.set_cwnd(segments))
    }
    #[inline]
    fn oldest_is_overdue(&mut self, now: Instant, sent: Instant) -> bool {
        each!(self, cc => cc.oldest_is_overdue(now, sent))
    }
    #[inline]
    fn own_timeout(&self) -> Option<Duration> {
        each!(self, cc => cc.own_timeout())
    }
    #[inline]
    fn pacing_rate(&self) -> Option<Bitrate> {
        each!(self, cc => cc.pacing_rate())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_registry_and_of_the_scenario_are_the_same() {
        for a in ALGORITHMS {
            assert_eq!(a.name.parse::<CcName>(), Ok(a.id));
            assert_eq!(crate::registry::bare_word(&a.id), a.name);
        }
        assert!("newvegas".parse::<CcName>().unwrap_err().contains("reno, vegas"));
    }
}
