//! The endpoint: one end of a connection.
//!
//! Two halves, a sender (`send`) and a receiver (`receive`), which do not access each other, and
//! their shared part (`connection`: configuration, state, the result of the SYNs, ECN, timers,
//! round trips, meters). [`Endpoint`] passes segments, calls and timeouts on to them, in the order
//! of RFC 9293 section 3.10: `app` has the user calls (3.10.1 to 3.10.6), `input` the arrival of a
//! segment with its numbered checks (3.10.7), `handshake` the SYN, `transmit` the construction of
//! segments; `send` has the fifth check, the timeouts (3.10.8) and the choice of data to send,
//! `receive` the first check, the seventh and the eighth.

mod accecn;
mod app;
mod connection;
mod ecn;
mod handshake;
mod info;
mod input;
mod meters;
mod negotiated;
mod receive;
mod rtt;
mod send;
mod timers;
mod transmit;

pub use info::{Info, OptionsInUse, observe};
pub use meters::{CloseReason, Counters, Event};
pub use send::{Limit, WriteHint};

use lasthop_units::{Instant, Seq};

use self::connection::Connection;
use self::handshake::Handshake;
use self::receive::Receiver;
use self::send::{LossRecovery, Next, Sender};
use self::timers::Timer;
use crate::cc::Cc;
use crate::config::Config;
use crate::hint::{Guidance, Hint};
use crate::segment::{Rare, Segment};
use crate::state::Input;

/// One end of a TCP connection.
///
/// Contract. Input: [`handle_segment`](Self::handle_segment), [`on_time`](Self::on_time), and the
/// application's [`connect`](Self::connect), [`listen`](Self::listen), [`write`](Self::write),
/// [`read`](Self::read), [`close`](Self::close), [`abort`](Self::abort). After any of them, call
/// [`poll_transmit`](Self::poll_transmit) until `None`, then [`poll_event`](Self::poll_event) until
/// `None`, then read from [`poll_at`](Self::poll_at) when to call `on_time`. Early and superfluous
/// calls have no effect. Time never moves back.
///
/// Octets are counted by offsets into the two streams: 0 is the SYN, data begins at 1, the FIN
/// comes last.
// More than 60 methods: `has_events` lets a caller that serves each segment pass by the list of
// events, which nearly always is empty.
#[derive(Clone, Debug)]
pub struct Endpoint {
    conn: Connection,
    handshake: Handshake,
    send: Sender,
    receive: Receiver,
    /// A reset that waits to leave.
    reset: Option<Segment>,
}

impl Endpoint {
    /// A closed endpoint whose first sequence number will be `isn`.
    pub fn new(config: Config, isn: Seq) -> Endpoint {
        Endpoint::with_control(config, Cc::new(&config), isn)
    }

    /// As [`Endpoint::new`], with this congestion control.
    pub fn with_control(config: Config, cc: Cc, isn: Seq) -> Endpoint {
        Endpoint {
            send: Sender::new(&config, cc, isn),
            receive: Receiver::new(&config),
            handshake: Handshake::default(),
            reset: None,
            conn: Connection::new(config),
        }
    }

    /// Something has happened that [`poll_event`](Self::poll_event) has not returned.
    #[inline]
    pub fn has_events(&self) -> bool {
        !self.conn.meters.events.is_empty()
    }

    /// Takes the memory of the options of a segment that the peer of this endpoint has processed,
    /// for those of later segments.
    #[inline]
    pub fn recycle(&mut self, read: Rare) {
        self.conn.spare.put(read);
    }

    /// The next event, the oldest first.
    #[inline]
    pub fn poll_event(&mut self) -> Option<Event> {
        self.conn.meters.events.pop_front()
    }

    /// Processes a hint about the last hop that did not arrive in an ACK's option.
    pub fn handle_hint(&mut self, hint: &Hint) {
        self.send.next = Next::Any;
        self.send.take_hint(&self.conn, hint);
    }

    /// From now on bare ACKs carry this hint to the peer, with the age that its readings of
    /// `measured` have by then, until it is set anew; `None`: none.
    pub fn set_guidance(&mut self, measured: Instant, guidance: Option<Guidance>) {
        self.receive.guidance = guidance.map(|g| (measured, g));
    }

    /// When to call [`on_time`](Self::on_time); `None` when nothing is due without input.
    #[inline]
    pub fn poll_at(&self) -> Option<Instant> {
        let timers = &self.conn.timers;
        let pace =
            if self.send.pace_holds_something(&self.conn) { timers.at(Timer::Pacing) } else { Instant::MAX };
        let at = timers.first().min(pace);
        (at != Instant::MAX).then_some(at)
    }

    /// As [`poll_at`](Self::poll_at), if that is before `at`; else `None`. Mostly nothing has been
    /// set to a time before `at`, and the timers are not compared.
    #[inline]
    pub fn poll_at_before(&mut self, at: Instant) -> Option<Instant> {
        if self.conn.timers.bound() >= at {
            debug_assert!(self.poll_at().is_none_or(|first| first >= at), "a timer before the bound");
            return None;
        }
        self.conn.timers.tighten_bound();
        self.poll_at().filter(|first| *first < at)
    }

    /// Processes the timers that are due; no effect if none is.
    pub fn on_time(&mut self, now: Instant) {
        (self.send.next, self.send.seq.room_moved) = (Next::Any, true);
        let (c, send) = (&mut self.conn, &mut self.send);
        if c.timers.take_due(Timer::DelayedAck, now) {
            self.receive.ack.on_time(c.rtt.rto.current());
        }
        if c.timers.take_due(Timer::Read, now) {
            self.receive.read(c, now, u64::MAX);
        }
        if !c.timers.holds(Timer::Pacing, now) {
            // No longer held: what the windows hold now needs no wake-up.
            c.timers.stop(Timer::Pacing);
            send.limits.look_at_queue();
        }
        if c.timers.take_due(Timer::TimeWait, now) {
            c.step(Input::TwoMsl);
            self.stop();
            self.conn.meters.emit(Event::Closed(CloseReason::Finished));
        }
        let (c, send) = (&mut self.conn, &mut self.send);
        // A probe that is due together with the timeout is sent first and postpones it (RFC 8985
        // section 7.2).
        if c.timers.take_due(Timer::LossProbe, now) {
            LossRecovery::of(send, c, now).loss_probe_timeout();
        }
        if c.timers.take_due(Timer::Reordering, now) {
            LossRecovery::of(send, c, now).reordering_timeout();
        }
        let mut alive = true;
        if c.timers.take_due(Timer::Retransmission, now) {
            alive = if c.is_opening() {
                self.handshake.timeout(c, send, now)
            } else {
                send.retransmission_timeout(c, now)
            };
        }
        if alive && c.timers.take_due(Timer::Persist, now) {
            alive = send.persist_timeout(c, &mut self.receive, now);
        }
        if !alive {
            self.finish(Event::Closed(CloseReason::TimedOut));
        }
        self.check();
    }

    /// The connection is over, in any state.
    fn finish(&mut self, event: Event) {
        self.conn.step(Input::Abort);
        self.stop();
        self.reset = None;
        self.handshake.due = false;
        self.conn.meters.emit(event);
    }

    /// Nothing is waited for any more.
    fn stop(&mut self) {
        self.conn.timers.stop_all();
        self.send.probe_due = false;
        self.receive.ack.sent();
    }

    /// What must hold between calls.
    #[inline]
    fn check(&self) {
        self.send.check();
        self.receive.check();
    }
}
