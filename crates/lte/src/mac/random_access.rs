//! Random access (TS 36.321 v15.1.0 clause 5.1): how a UE without a grant, or in a new cell, gets
//! its first one.
//!
//! A UE sends a preamble ([`RandomAccess`]); the eNB answers within a window ([`Responder`]); the
//! response has a grant for Msg3; the next message of the eNB resolves the contention between UEs
//! that have drawn the same preamble.
//!
//! # Simplifications
//! A preamble that a single UE sends is detected from an SNR on. The same preamble of two UEs is
//! either not detected at all, or detected once, and their Msg3 collide in the one grant
//! ([`Collision`]).

mod config;
mod dedicated;
mod responder;
#[cfg(test)]
mod tests;

pub use config::{Collision, Prach, RandomAccessConfig};
pub use dedicated::DedicatedPreambles;
pub use responder::{Responder, Response};

use lasthop_engine::Draw;
use lasthop_units::{Dbm, Tti};

/// Subframes from a preamble to the start of the response window (TS 36.321 clause 5.1.4
/// [unverified]: which starts at the subframe that contains the end of the preamble transmission
/// plus three subframes).
pub const WINDOW_START: u64 = 3;
/// Subframes from a random access response to Msg3 (TS 36.213 clause 6.1.1 [unverified]: the first
/// subframe n + k1, k1 >= 6).
pub const MSG3_DELAY: u64 = 6;

/// Action of the procedure in a TTI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send this preamble now.
    Preamble(u8),
    /// preambleTransMax is exceeded: a random access problem is indicated to RRC. The procedure
    /// continues until RRC resets MAC.
    Problem,
}

/// State of the procedure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Idle,
    /// The preamble is to be sent at this opportunity.
    Waiting { at: Tti },
    /// A response is awaited before `until`.
    Responding { preamble: u8, sent: Tti, until: Tti },
    /// Msg3 is to be sent in this TTI.
    Granted { msg3: Tti },
    /// The contention resolution is awaited; Msg3 was sent first in `msg3`, and
    /// mac-ContentionResolutionTimer expires in `until`.
    Resolving { msg3: Tti, until: Tti },
}

/// The random access procedure of a UE.
///
/// Call [`start`](Self::start), then [`on_tti`](Self::on_tti) in the TTI that
/// [`poll_at`](Self::poll_at) gives.
#[derive(Clone, Debug)]
pub struct RandomAccess {
    /// The UE's draws.
    draw: Draw,
    /// Index of the next draw.
    drawn: u64,
    state: State,
    /// PREAMBLE_TRANSMISSION_COUNTER.
    counter: u32,
    /// ra-PreambleIndex, if one was assigned to the UE (TS 36.321 clause 5.1.2).
    dedicated: Option<u8>,
    /// The backoff parameter [TTI].
    backoff: u64,
}

impl RandomAccess {
    /// Idle, with the draws of the UE.
    pub const fn new(draw: Draw) -> RandomAccess {
        RandomAccess { draw, drawn: 0, state: State::Idle, counter: 0, dedicated: None, backoff: 0 }
    }

    /// Starts the procedure, which sends from `tti` on; `dedicated`: a preamble that no other UE
    /// uses. No effect while the procedure is running.
    // 5.1.1 [unverified]: set the PREAMBLE_TRANSMISSION_COUNTER to 1; set the backoff parameter
    // value to 0 ms.
    pub fn start(&mut self, config: &RandomAccessConfig, tti: Tti, dedicated: Option<u8>) {
        if self.is_running() {
            return;
        }
        (self.counter, self.backoff, self.dedicated) = (1, 0, dedicated);
        self.state = State::Waiting { at: config.prach().at_or_after(tti) };
    }

    /// True from the start to success or [`stop`](Self::stop).
    pub fn is_running(&self) -> bool {
        self.state != State::Idle
    }

    /// Preambles of this or the last procedure, including one that is still to be sent.
    pub const fn attempts(&self) -> u32 {
        self.counter
    }

    /// Ends the procedure: MAC is reset, or the contention is resolved.
    pub const fn stop(&mut self) {
        self.state = State::Idle;
    }

    /// The next TTI in which the procedure acts without input; None: it waits for input, or is
    /// idle.
    pub const fn poll_at(&self) -> Option<Tti> {
        match self.state {
            State::Idle | State::Granted { .. } => None,
            State::Waiting { at } => Some(at),
            State::Responding { until, .. } | State::Resolving { until, .. } => Some(until),
        }
    }

    /// Processes a TTI: sends a preamble, or starts the next attempt after a window or a timer has
    /// ended without an answer.
    pub fn on_tti(&mut self, config: &RandomAccessConfig, tti: Tti) -> Option<Action> {
        if self.poll_at().is_none_or(|at| at > tti) {
            return None;
        }
        match self.state {
            State::Waiting { .. } => {
                let preamble =
                    self.dedicated.unwrap_or_else(|| self.draw_below(config.preambles.into()) as u8);
                let until = tti.plus(WINDOW_START + config.response_window.as_millis());
                self.state = State::Responding { preamble, sent: tti, until };
                Some(Action::Preamble(preamble))
            }
            State::Responding { .. } | State::Resolving { .. } => self.again(config, tti),
            State::Idle | State::Granted { .. } => None,
        }
    }

    /// Processes a response to the preambles of TTI `to`, which may have a backoff indicator.
    // 5.1.4 [unverified]: if the Random Access Response contains a Backoff Indicator subheader: set
    // the backoff parameter value as indicated by the BI field.
    pub fn on_backoff(&mut self, to: Tti, backoff: u64) {
        if matches!(self.state, State::Responding { sent, .. } if sent == to) {
            self.backoff = backoff;
        }
    }

    /// Processes the response to `preamble` of TTI `to`, with a grant for `msg3`. True if it is for
    /// this UE.
    pub fn on_response(&mut self, to: Tti, preamble: u8, msg3: Tti) -> bool {
        let mine =
            matches!(self.state, State::Responding { preamble: p, sent, .. } if (p, sent) == (preamble, to));
        if mine {
            self.state = State::Granted { msg3 };
        }
        mine
    }

    /// True if Msg3 is to be sent in this TTI.
    pub fn sends_msg3(&self, tti: Tti) -> bool {
        self.state == State::Granted { msg3: tti }
    }

    /// Processes the transmission of Msg3, after which the procedure does not run any more if the
    /// preamble was dedicated, or if there is no contention resolution.
    // 5.1.4 [unverified]: if ra-PreambleIndex was explicitly signalled and it was not 000000:
    // consider the Random Access procedure successfully completed (with the response, of which RRC
    // is notified then); 5.1.5 [unverified]: Once Msg3 is transmitted, the MAC entity shall start
    // mac-ContentionResolutionTimer.
    pub fn on_msg3(&mut self, config: &RandomAccessConfig, tti: Tti) {
        self.state = if self.dedicated.is_some() || !config.contention_resolution {
            State::Idle
        } else {
            State::Resolving { msg3: tti, until: tti.plus(config.contention_timer.as_millis()) }
        };
    }

    /// Processes a HARQ retransmission in `tti` of an Msg3 that was sent first in `first`.
    // 5.1.5: restart mac-ContentionResolutionTimer at each HARQ retransmission.
    pub fn on_msg3_again(&mut self, config: &RandomAccessConfig, first: Tti, tti: Tti) {
        if let State::Resolving { msg3, until } = &mut self.state
            && *msg3 == first
        {
            *until = tti.plus(config.contention_timer.as_millis());
        }
    }

    /// The TTI in which Msg3 was sent first, if mac-ContentionResolutionTimer expires in `tti`.
    pub fn unresolved(&self, tti: Tti) -> Option<Tti> {
        match self.state {
            State::Resolving { msg3, until } if until <= tti => Some(msg3),
            _ => None,
        }
    }

    /// True if the preamble of this or the last procedure is dedicated.
    pub const fn has_dedicated_preamble(&self) -> bool {
        self.dedicated.is_some()
    }

    /// True while the contention is not resolved.
    pub const fn is_resolving(&self) -> bool {
        matches!(self.state, State::Resolving { .. })
    }

    /// The target of the preamble's received power (TS 36.321 clause 5.1.3, DELTA_PREAMBLE 0 dB of
    /// formats 0 and 1).
    // PREAMBLE_RECEIVED_TARGET_POWER = preambleInitialReceivedTargetPower + DELTA_PREAMBLE +
    // (PREAMBLE_TRANSMISSION_COUNTER - 1) * powerRampingStep.
    pub fn target_power(&self, config: &RandomAccessConfig) -> Dbm {
        Dbm(config.target_power.0 + f64::from(self.counter.saturating_sub(1)) * config.ramping_step.0)
    }

    // 5.1.4 and 5.1.5 [unverified]: increment PREAMBLE_TRANSMISSION_COUNTER by 1; if
    // PREAMBLE_TRANSMISSION_COUNTER = preambleTransMax + 1: indicate a Random Access problem to
    // upper layers [...] based on the backoff parameter, select a random backoff time according to
    // a uniform distribution between 0 and the Backoff Parameter Value; delay the subsequent Random
    // Access transmission by the backoff time.
    fn again(&mut self, config: &RandomAccessConfig, tti: Tti) -> Option<Action> {
        self.counter += 1;
        let problem = self.counter == config.preamble_trans_max + 1;
        // `tti` is the first TTI after the window, whose last one is the TTI before.
        let ready = tti.plus(config.retry_delay - 1);
        let backoff = match (self.dedicated, self.backoff) {
            (None, 1..) => self.draw_below(self.backoff + 1),
            _ => 0,
        };
        self.state = State::Waiting { at: config.prach().at_or_after(ready.plus(backoff)) };
        problem.then_some(Action::Problem)
    }

    fn draw_below(&mut self, n: u64) -> u64 {
        self.drawn += 1;
        self.draw.stream(self.drawn).below(n)
    }
}
