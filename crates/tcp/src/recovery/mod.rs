//! Loss recovery: which data is retransmitted, and when. Congestion control decides how much may be
//! sent.
//!
//! One file per flavour, for RACK-TLP the marks of the segments ([`Rack`]); the sender's reaction
//! to losses is in the endpoint's `send`. The parts that they share are here: the report of one ACK
//! ([`AckDigest`]), the count of duplicate ACKs, the recovery point with its guard, the inflation
//! of the window, the state that Linux calls `ca_state`.

mod digest;
mod losses_by_count;
mod losses_by_time;
mod newreno;
mod pending;
mod rack;
mod reno;
mod sack;
mod scoreboard;
mod tahoe;
#[cfg(test)]
mod testing;

pub use digest::AckDigest;
pub use rack::{Delivered, Mark, Rack};
pub use scoreboard::{NextSeg, Scoreboard};

use lasthop_units::Instant;

use crate::cc::{Cc, Congestion, CongestionControl, DupAck, DupAckAction, Signal};
use crate::config::{Config, RecoveryExit, RecoveryFlavour, SackOnTimeout, SsthreshBasis};
use crate::flight::Flight;
pub use crate::sample::CaState;

/// The state that recovery may read and change.
pub struct SenderView<'a> {
    /// Values.
    pub config: &'a Config,
    /// The congestion control.
    pub cc: &'a mut Cc,
    /// What is outstanding.
    pub flight: &'a Flight,
    /// The time.
    pub now: Instant,
    /// SND.UNA.
    pub una: u64,
    /// SND.MAX: after the last octet ever sent (HighData).
    pub max: u64,
    /// Segment size.
    pub mss: u32,
    /// The peer's window \[octets\].
    pub wnd: u64,
}

impl SenderView<'_> {
    /// The window in use \[segments\]: the smallest of cwnd, the ceiling and the peer's.
    fn window(&self) -> f64 {
        let peer = self.wnd as f64 / f64::from(self.mss);
        self.cc.cwnd().min(self.config.window_ceiling()).min(peer)
    }

    /// Congestion signalled by marks.
    pub fn marked(&self) -> Congestion {
        Congestion { signal: Signal::Ecn, ..self.congestion(0, false) }
    }

    fn congestion(&self, new_octets_by_limited_transmit: u64, repeated: bool) -> Congestion {
        let flight = match self.config.growth.ssthresh_basis {
            SsthreshBasis::Window => self.window(),
            SsthreshBasis::Cwnd => self.cc.cwnd(),
            // RFC 5681 section 3.2 step 2: data sent by limited transmit is not counted.
            SsthreshBasis::Flight => {
                let octets = (self.max - self.una).saturating_sub(new_octets_by_limited_transmit);
                octets as f64 / f64::from(self.mss)
            }
        };
        Congestion { now: self.now, signal: Signal::Loss, flight, repeated, loss: None }
    }
}

/// What the endpoint has to do after an ACK or a timeout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Fast recovery (or Tahoe's restart) began.
    pub entered: bool,
    /// Recovery ended.
    pub exited: bool,
    /// Start the retransmission timer afresh although no new data was acknowledged.
    pub restart_timer: bool,
    /// Leave the timer alone although new data was acknowledged.
    pub keep_timer: bool,
    /// SND.NXT is set back to SND.UNA.
    pub go_back: bool,
    /// The congestion window may grow at this ACK.
    pub may_grow: bool,
}

/// How losses are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detection {
    /// By duplicate ACKs, with SACK by the scoreboard (RFC 6675).
    DuplicateAcks,
    /// By the sending times of the segments that arrive (RFC 8985).
    Rack,
}

/// Loss recovery's state.
#[derive(Clone, Debug)]
pub struct Recovery {
    flavour: RecoveryFlavour,
    state: CaState,
    dup_acks: u32,
    /// "recover" of RFC 6582, RecoveryPoint of RFC 6675.
    recover: u64,
    /// Segments by which duplicate ACKs inflate the window, or partial ACKs deflate it.
    inflation: f64,
    /// The oldest segment is to be sent again at once, independent of the window.
    resend_head: bool,
    partial_acks: u32,
    /// The timer expired in this recovery, and recovery continues.
    timed_out: bool,
    /// The last reduction was a timeout's.
    cut_by_timeout: bool,
    /// Octets sent by limited transmit since the first duplicate ACK.
    limited_octets: u64,
    board: Scoreboard,
}

impl Recovery {
    /// Recovery of the configured flavour; NewReno in place of SACK when the peer did not permit
    /// it.
    pub fn new(config: &Config, sack_permitted: bool, mss: u32) -> Recovery {
        let flavour = match config.recovery {
            RecoveryFlavour::Sack | RecoveryFlavour::Rack if !sack_permitted => RecoveryFlavour::NewReno,
            f => f,
        };
        Recovery {
            flavour,
            state: CaState::Open,
            dup_acks: 0,
            recover: 0,
            inflation: 0.0,
            resend_head: false,
            partial_acks: 0,
            timed_out: false,
            cut_by_timeout: false,
            limited_octets: 0,
            board: Scoreboard::new(config.loss.dup_threshold, mss),
        }
    }

    /// The state as Linux names it.
    #[inline]
    pub const fn state(&self) -> CaState {
        self.state
    }
    /// The flavour in use.
    pub const fn flavour(&self) -> RecoveryFlavour {
        self.flavour
    }
    /// True if the scoreboard is in use.
    #[inline]
    pub const fn is_sack(&self) -> bool {
        matches!(self.flavour, RecoveryFlavour::Sack)
    }
    /// How losses are found.
    #[inline]
    pub const fn detection(&self) -> Detection {
        match self.flavour {
            RecoveryFlavour::Rack => Detection::Rack,
            RecoveryFlavour::Tahoe
            | RecoveryFlavour::Reno
            | RecoveryFlavour::NewReno
            | RecoveryFlavour::Sack => Detection::DuplicateAcks,
        }
    }
    pub(crate) const fn set_state(&mut self, state: CaState) {
        self.state = state;
    }
    /// Duplicate ACKs in a row.
    #[inline]
    pub const fn dup_acks(&self) -> u32 {
        self.dup_acks
    }
    /// The scoreboard (empty without SACK).
    #[inline]
    pub const fn board(&self) -> &Scoreboard {
        &self.board
    }
    /// The scoreboard, to record data that arrived or was sent.
    #[inline]
    pub const fn board_mut(&mut self) -> &mut Scoreboard {
        &mut self.board
    }
    /// The oldest segment is to be sent again at once.
    #[inline]
    pub const fn head_is_due(&self) -> bool {
        self.resend_head
    }
    /// True if retransmissions are fast ones: the timer has not expired in this recovery.
    pub(crate) fn is_fast(&self) -> bool {
        self.state != CaState::Loss && !self.timed_out
    }
    /// Requests that the oldest segment is sent again at once, or notes that it was.
    pub const fn set_head_is_due(&mut self, wanted: bool) {
        self.resend_head = wanted;
    }
    /// "recover" of RFC 6582, RecoveryPoint of RFC 6675.
    pub const fn recovery_point(&self) -> u64 {
        self.recover
    }
    /// New data left on a duplicate ACK.
    pub fn note_limited(&mut self, octets: u64) {
        if self.state == CaState::Disorder {
            self.limited_octets += octets;
        }
    }

    /// Segments to add to cwnd for the window without SACK.
    #[inline]
    pub fn inflation(&self, config: &Config) -> f64 {
        // RFC 3042: up to two segments beyond cwnd on the first two duplicate ACKs.
        if self.state == CaState::Disorder && config.loss.limited_transmit {
            return f64::from(self.dup_acks.min(2));
        }
        self.inflation
    }

    /// The guard against several reductions in one window of data is open.
    fn guard_open(&self, s: &SenderView<'_>) -> bool {
        !s.config.loss.bugfix || s.una > self.recover
    }

    /// Processes a duplicate ACK. With SACK: an ACK with new SACK information.
    pub fn on_dup_ack(&mut self, s: &mut SenderView<'_>) -> Outcome {
        self.dup_acks = self.dup_acks.saturating_add(1);
        if self.state == CaState::Open {
            self.state = CaState::Disorder;
            self.limited_octets = 0;
        }
        if self.is_sack() {
            return sack::on_dup_ack(self, s);
        }
        let Some(&oldest) = s.flight.front() else { return Outcome::default() };
        let dup = DupAck {
            now: s.now,
            count: self.dup_acks,
            oldest_sent: oldest.at,
            oldest_transmissions: oldest.transmissions,
            guard_open: self.guard_open(s) || !self.cut_by_timeout,
            window: s.window() as u32,
        };
        match s.cc.on_dup_ack(&dup) {
            DupAckAction::Nothing => Outcome::default(),
            DupAckAction::Retransmit => {
                self.mark_entry(s);
                self.inflation = 0.0;
                self.resend_head = true;
                Outcome {
                    entered: true,
                    restart_timer: s.config.loss.timer_on_fast_retransmit,
                    ..Outcome::default()
                }
            }
            DupAckAction::Standard => match self.flavour {
                RecoveryFlavour::Tahoe => tahoe::on_dup_ack(self, s),
                _ => reno::on_dup_ack(self, s),
            },
        }
    }

    fn mark_entry(&mut self, s: &SenderView<'_>) {
        self.recover = s.max;
        self.state = CaState::Recovery;
        self.cut_by_timeout = false;
        self.partial_acks = 0;
        self.timed_out = false;
    }

    /// New data was acknowledged; SND.UNA has moved by `acked` octets.
    pub fn on_new_ack(&mut self, s: &mut SenderView<'_>, acked: u64) -> Outcome {
        if self.state != CaState::Open && self.is_sack() {
            self.board.advance(s.una);
        }
        let outcome = match (self.state, self.flavour) {
            (CaState::Open, _) => return self.on_new_ack_when_open(s.una),
            (CaState::Disorder | CaState::Cwr, _) => {
                self.state = CaState::Open;
                Outcome { may_grow: true, ..Outcome::default() }
            }
            (CaState::Loss, _) => self.after_timeout(s),
            (CaState::Recovery, RecoveryFlavour::Tahoe) => tahoe::on_new_ack(self),
            (CaState::Recovery, RecoveryFlavour::Reno) => reno::on_new_ack(self, s),
            (CaState::Recovery, RecoveryFlavour::NewReno) => newreno::on_new_ack(self, s, acked),
            (CaState::Recovery, RecoveryFlavour::Sack | RecoveryFlavour::Rack) => sack::on_new_ack(self, s),
        };
        self.end_dup_acks();
        outcome
    }

    /// [`on_new_ack`](Self::on_new_ack) in [`CaState::Open`], which reads nothing of the sender.
    #[inline(always)]
    pub fn on_new_ack_when_open(&mut self, una: u64) -> Outcome {
        if self.is_sack() {
            self.board.advance(una);
        }
        self.end_dup_acks();
        Outcome { may_grow: true, ..Outcome::default() }
    }

    #[inline(always)]
    fn end_dup_acks(&mut self) {
        self.dup_acks = 0;
        // Left in Disorder by SACK blocks that are still there.
        if self.state == CaState::Open && self.board.sacked() > 0 {
            self.state = CaState::Disorder;
            self.limited_octets = 0;
        }
    }

    fn after_timeout(&mut self, s: &SenderView<'_>) -> Outcome {
        if s.una >= self.recover {
            self.state = CaState::Open;
            self.board.end_recovery();
            return Outcome { exited: true, may_grow: true, ..Outcome::default() };
        }
        Outcome { may_grow: true, ..Outcome::default() }
    }

    /// The retransmission timer expired.
    pub fn on_timeout(&mut self, s: &mut SenderView<'_>, repeated: bool) -> Outcome {
        let mut c = s.congestion(0, repeated);
        if self.flavour == RecoveryFlavour::NewReno && self.state == CaState::Recovery {
            // FlightSize has counted up what the duplicate ACKs reported as arrived: with many
            // holes it is many windows. The threshold is to be "no more than" equation 4 of RFC
            // 5681 gives; the window without inflation is what flew.
            c.flight = c.flight.min(s.cc.cwnd());
        }
        s.cc.on_timeout(&c);
        self.dup_acks = 0;
        self.inflation = 0.0;
        let goes_on = self.flavour == RecoveryFlavour::NewReno && self.state == CaState::Recovery;
        if goes_on && !s.config.loss.rto_leaves_recovery {
            self.resend_head = true;
            self.timed_out = true;
            return Outcome::default();
        }
        // RFC 6298 (5.4): the oldest segment is sent again. Without the scoreboard SND.NXT is set
        // back to it.
        self.resend_head = self.is_sack();
        self.state = CaState::Loss;
        // RFC 6582 section 3.2 step 4 and RFC 6675 section 5.1: no fast recovery below this.
        self.recover = s.max;
        self.cut_by_timeout = true;
        if self.is_sack() {
            self.board.on_timeout(s.max, s.config.loss.sack_on_timeout == SackOnTimeout::Clear);
            return Outcome::default();
        }
        Outcome { go_back: true, ..Outcome::default() }
    }
}

/// Whether the ACK that ends fast recovery may itself grow the window: ns-2's does.
fn grows_at_exit(s: &SenderView<'_>) -> bool {
    s.config.loss.recovery_exit == RecoveryExit::Keep
}
