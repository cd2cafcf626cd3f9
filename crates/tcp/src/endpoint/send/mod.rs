//! The sending half of an endpoint.

mod ack;
mod detector;
mod dispatch;
mod dupack;
mod in_flight;
mod limit;
mod observe;
mod offload;
mod output;
mod pacing;
mod prr;
mod rack;
mod send_memory;
mod sequence;
mod timeouts;
mod undo;
mod usage;

pub use self::limit::{Limit, limit_of};
pub(super) use self::observe::observe;
pub use self::offload::WriteHint;

use lasthop_units::{Instant, Seq};

pub use self::detector::LossRecovery;
use self::detector::{Believed, Detector};
use self::dispatch::by_detector;
pub(super) use self::dupack::Dupack;
use self::in_flight::InFlight;
use self::offload::{UNSENT_MAX, WriteQueue, is_wanted};
use self::pacing::Pacing;
use self::send_memory::SendMemory;
use self::sequence::SendSequence;
use self::usage::Usage;
use super::connection::Connection;
use super::receive::Receiver;
use super::rtt::Unanswered;
use crate::cc::{Cc, CongestionControl};
use crate::config::Config;
use crate::hint::{Guidance, Hint};
use crate::state::State;

/// The state of sending and retransmission.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    pub seq: SendSequence,
    pub fly: InFlight,
    pub limits: Limits,
    pub pacing: Pacing,
    pub unanswered: Unanswered,
    /// When data left last.
    pub last_sent: Instant,
    /// A closed window is to be probed.
    pub probe_due: bool,
    /// The override timeout of RFC 9293 section 3.8.6.2.1 has passed: small segments may leave.
    pub override_sws: bool,
    /// Our FIN is sent again with the ACK that is due.
    pub fin_again: bool,
    /// What may leave after the segment that left last.
    pub next: Next,
    /// The newest notice in the peer's ACKs.
    last_notice: u8,
}

/// What may leave until the next input, as far as the segment that left last shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Next {
    /// Everything has to be looked at.
    #[default]
    Any,
    /// New data up to this end of the congestion window alone.
    New(u64),
    /// Nothing: the segment has used up the congestion window, or with segmentation offload it was
    /// the last one that had been cut.
    Nothing,
}

impl Next {
    /// Nothing, if that is so; else everything has to be looked at.
    #[inline]
    pub const fn nothing_if(spent: bool) -> Next {
        if spent { Next::Nothing } else { Next::Any }
    }
}

/// What the host and the application set to what waits and leaves.
#[derive(Clone, Debug)]
pub(super) struct Limits {
    /// The write queue in packets, with segmentation offload.
    pub queue: Option<Box<WriteQueue>>,
    pub usage: Usage,
    /// The send buffer, where it grows by itself.
    pub memory: Option<SendMemory>,
    pub corked: bool,
    pub notsent_limit: u64,
}

impl Limits {
    /// Where all is acknowledged: no segment waits that was cut before, and the size of the send
    /// buffer stays.
    #[inline(always)]
    pub fn are_at_rest(&self) -> bool {
        self.queue.as_ref().is_none_or(|q| q.out.is_empty()) && self.memory.is_none_or(|m| m.is_free(0))
    }
}

impl Sender {
    pub fn new(config: &Config, cc: Cc, isn: Seq) -> Sender {
        Sender {
            seq: SendSequence::new(isn),
            pacing: Pacing::new(config),
            fly: InFlight::new(config, cc),
            limits: Limits {
                queue: is_wanted(config).then(Box::default),
                usage: Usage::default(),
                memory: SendMemory::new(config),
                corked: false,
                notsent_limit: u64::MAX,
            },
            unanswered: Unanswered::default(),
            last_sent: Instant::ZERO,
            probe_due: false,
            override_sws: false,
            fin_again: false,
            next: Next::Any,
            last_notice: 0,
        }
    }

    /// An ACK's option: its notice is new once, its readings each time.
    pub fn take_guidance(&mut self, c: &Connection, now: Instant, guidance: &Guidance) {
        let mut hint = guidance.hint(now);
        let number = guidance.notice_number();
        if std::mem::replace(&mut self.last_notice, number) == number {
            hint.notice = None;
        }
        self.take_hint(c, &hint);
    }

    pub fn take_hint(&mut self, c: &Connection, hint: &Hint) {
        if c.state.may_send() {
            self.fly.cc.on_hint(hint);
        }
    }

    /// The application writes `n` octets; how many the send buffer takes.
    pub fn write(
        &mut self,
        c: &mut Connection,
        r: &mut Receiver,
        now: Instant,
        n: u64,
        hint: WriteHint,
    ) -> u64 {
        let open = !matches!(c.state, State::Closed | State::TimeWait) || self.seq.max == 0;
        if self.seq.close_requested || !open {
            return 0;
        }
        // Before the connection opens a hint is ignored.
        let hint = if c.state == State::Closed { WriteHint::default() } else { hint };
        self.restart_after_idleness(c, now);
        let accepted = if self.limits.queue.is_some() {
            self.write_packets(c, r, now, n, hint)
        } else {
            let accepted = n.min(self.writable(c));
            self.seq.written += accepted;
            self.seq.room_moved = true;
            accepted
        };
        self.update_timers(c, now);
        accepted
    }

    /// The number of octets that a write would accept.
    #[inline]
    pub fn writable(&self, c: &Connection) -> u64 {
        let seq = &self.seq;
        if seq.close_requested {
            // SND.UNA may be beyond what was written: it counts the FIN.
            return 0;
        }
        // Offsets stay far below 2^62, so that differences are safe as signed numbers.
        let room = (1u64 << 60).saturating_sub(seq.written);
        match (c.config.buffers.send_buffer, self.limits.memory) {
            (Some(size), _) => size.saturating_sub(seq.written - seq.una.max(1)).min(room),
            (None, Some(memory)) => {
                let goal = seq.packet_goal(c);
                let open = self.limits.queue.as_ref().map_or(0, |q| q.open_room(seq.max, goal));
                memory.room(self.memory_queued(c), goal, open).min(room)
            }
            (None, None) if self.limits.queue.is_some() => UNSENT_MAX.saturating_sub(seq.notsent()),
            (None, None) => room,
        }
    }

    /// The application has no more to send.
    pub fn close(&mut self, c: &mut Connection, now: Instant) {
        self.seq.close_requested = true;
        self.seq.room_moved = true;
        self.seq.take_close(c);
        self.limits.push_at_close();
        self.update_timers(c, now);
    }

    /// The estimated state of the segments in flight.
    pub fn believed(&self, c: &Connection) -> Believed {
        by_detector!(self.fly, D => D::believed(&self.fly, &self.seq, c.negotiated.mss))
    }

    /// Checks invariants that must hold between calls.
    #[inline]
    pub fn check(&self) {
        self.seq.check();
        debug_assert!(self.fly.flight.front().is_none_or(|s| s.start() == self.seq.una));
        debug_assert!(self.fly.recovery.board().sacked() <= self.seq.flight_size());
        by_detector!(self.fly, D => D::check(&self.fly));
    }
}
