//! The state that both directions of a connection share.

use lasthop_units::Instant;

use super::ecn::EcnState;
use super::meters::{Event, Meters};
use super::negotiated::Negotiated;
use super::rtt::RoundTrips;
use super::timers::{Timer, Timers};
use crate::config::Config;
use crate::segment::SpareOptions;
use crate::state::{Input, State};

/// The state that the sender and the receiver of an endpoint share; neither accesses the other.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    pub config: Config,
    pub state: State,
    pub negotiated: Negotiated,
    pub ecn: EcnState,
    pub timers: Timers,
    pub meters: Meters,
    pub rtt: RoundTrips,
    pub spare: SpareOptions,
}

impl Connection {
    pub fn new(config: Config) -> Connection {
        Connection {
            state: State::Closed,
            negotiated: Negotiated {
                timestamps: config.negotiated.timestamps,
                sack: config.negotiated.sack,
                peer_scales: false,
                snd_scale: 0,
                rcv_scale: 0,
                mss: u32::from(config.window.mss),
            },
            ecn: EcnState::default(),
            timers: Timers::new(config.kernel_timers()),
            meters: Meters::default(),
            rtt: RoundTrips::new(&config),
            spare: SpareOptions::default(),
            config,
        }
    }

    /// Makes the transition for `input`, if the table has one.
    pub fn step(&mut self, input: Input) {
        if let Some(next) = self.state.after(input) {
            self.state = next;
        }
    }

    pub fn enter_time_wait(&mut self, now: Instant) {
        self.timers.stop(Timer::Retransmission);
        self.timers.stop_for_loss();
        self.timers.stop(Timer::Persist);
        self.timers.start(Timer::TimeWait, now, self.config.timers.time_wait);
    }

    /// A reduction because of marks has begun.
    pub fn note_mark_reduction(&mut self) {
        self.ecn.reduced();
        self.meters.counters.mark_reductions += 1;
        self.meters.emit(Event::MarkReduction);
    }

    /// True before the handshake is done.
    pub fn is_opening(&self) -> bool {
        matches!(self.state, State::SynSent | State::SynReceived)
    }

    /// Maximum of octets that an ACK acknowledges before they arrive (`ack_ahead`).
    pub fn largest_lead(&self) -> u64 {
        u64::from(self.config.acks.ack_ahead) * u64::from(self.negotiated.mss)
    }

    /// The segment size announced to the peer, less fixed options \[octets\].
    pub fn announced(&self) -> u32 {
        u32::from(self.config.window.mss).saturating_sub(self.negotiated.fixed_options())
    }
}
