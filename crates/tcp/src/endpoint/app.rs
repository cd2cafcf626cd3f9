//! The user calls of RFC 9293 sections 3.10.1 to 3.10.6.

use lasthop_units::{Duration, Instant};

use super::meters::{CloseReason, Event};
use super::send::Next;
use super::{Endpoint, WriteHint};
use crate::sample::timestamp;
use crate::segment::{Flags, Segment, Timestamps};
use crate::state::{Input, State};

impl Endpoint {
    /// Opens actively: a SYN will leave. Ignored unless CLOSED or LISTEN.
    pub fn connect(&mut self, now: Instant) {
        if !matches!(self.conn.state, State::Closed | State::Listen) || self.send.seq.max != 0 {
            return;
        }
        self.conn.step(Input::Connect);
        self.handshake.start(&mut self.conn, &mut self.send, now);
    }

    /// Opens passively. Ignored unless CLOSED.
    pub fn listen(&mut self) {
        if self.send.seq.max == 0 {
            self.conn.step(Input::Listen);
        }
    }

    /// The application writes `n` octets; returns how many the send buffer takes. None after a
    /// close.
    ///
    /// Before the handshake is done the data waits (RFC 9293 section 3.10.2).
    pub fn write(&mut self, now: Instant, n: u64) -> u64 {
        self.write_with(now, n, WriteHint::default())
    }

    /// Writes `n` octets with a hint; the hint counts only with segmentation offload. Otherwise as
    /// [`write`](Self::write).
    pub fn write_with(&mut self, now: Instant, n: u64, hint: WriteHint) -> u64 {
        self.send.next = Next::Any;
        let accepted = self.send.write(&mut self.conn, &mut self.receive, now, n, hint);
        self.check();
        accepted
    }

    /// How many octets [`write`](Self::write) would take now.
    #[inline]
    pub fn writable(&self) -> u64 {
        self.send.writable(&self.conn)
    }

    /// False if [`writable`](Self::writable) and [`notsent`](Self::notsent) are as at the last
    /// call. Data from the peer changes neither.
    #[inline]
    pub const fn take_room_moved(&mut self) -> bool {
        std::mem::replace(&mut self.send.seq.room_moved, false)
    }

    /// The application takes up to `n` octets that are in order (with `manual_read`; otherwise it
    /// has them already). Returns how many. A window that opens enough is announced (RFC 9293
    /// section 3.8.6.2.2).
    pub fn read(&mut self, now: Instant, n: u64) -> u64 {
        self.send.next = Next::Any;
        self.receive.read(&self.conn, now, n)
    }

    /// Octets in order that the application has not taken.
    pub fn readable(&self) -> u64 {
        self.receive.readable()
    }

    /// Readable octets where the application reads them later (`manual_read`, `burst_read`);
    /// otherwise 0, because it has already read them.
    pub fn readable_by_hand(&self) -> u64 {
        if self.conn.config.growth.reads_at_once() { 0 } else { self.readable() }
    }

    /// The application has no more data to send: a FIN follows the data. Data of the peer is still
    /// received.
    pub fn close(&mut self, now: Instant) {
        self.send.next = Next::Any;
        match self.conn.state {
            State::Listen | State::SynSent => {
                self.conn.step(Input::Close);
                self.stop();
                self.handshake.due = false;
                self.conn.meters.emit(Event::Closed(CloseReason::Finished));
            }
            State::Closed if self.send.seq.max != 0 => {}
            _ => self.send.close(&mut self.conn, now),
        }
        self.check();
    }

    /// Sets the send buffer \[octets\], which then stays as it is (SO_SNDBUF).
    pub const fn set_send_buffer(&mut self, octets: u64) {
        self.conn.config.buffers.send_buffer = Some(octets);
        self.send.limits.memory = None;
        self.send.seq.room_moved = true;
    }

    /// With segmentation offload: no new packet is begun while this many octets wait to be sent
    /// (TCP_NOTSENT_LOWAT).
    pub const fn set_notsent_limit(&mut self, octets: u64) {
        self.send.limits.notsent_limit = octets;
    }

    /// Gives the connection up when retransmissions or probes stay unanswered for this time (RFC
    /// 9293 section 3.10.8, RFC 5482; TCP_USER_TIMEOUT); `None`: only by their number.
    pub const fn set_user_timeout(&mut self, timeout: Option<Duration>) {
        self.send.unanswered.limit = timeout;
    }

    /// Switches Nagle's algorithm on or off. Data that it has held back is sent when it is switched
    /// off.
    pub fn set_nagle(&mut self, now: Instant, on: bool) {
        self.send.next = Next::Any;
        self.conn.config.acks.nagle = on;
        if !on {
            self.send.uncork(&mut self.conn, &mut self.receive, now);
        }
    }

    /// Holds back partial segments while on, independent of Nagle's algorithm (TCP_CORK).
    pub fn set_cork(&mut self, now: Instant, on: bool) {
        self.send.next = Next::Any;
        self.send.limits.corked = on;
        if !on {
            self.send.uncork(&mut self.conn, &mut self.receive, now);
        }
    }

    /// Corked.
    pub const fn is_corked(&self) -> bool {
        self.send.limits.corked
    }

    /// The application will not read any more: once the close has begun, data that still arrives is
    /// answered with a reset (RFC 9293 section 3.6.1, RFC 1122 section 4.2.2.13).
    pub fn stop_reading(&mut self) {
        self.receive.reader_gone = true;
    }

    /// Ends the connection at once with a reset (RFC 9293 section 3.10.5).
    pub fn abort(&mut self, now: Instant) {
        self.send.next = Next::Any;
        let tell = self.conn.state.is_synchronized() || self.conn.state == State::SynReceived;
        let tell = tell && !matches!(self.conn.state, State::TimeWait);
        if self.conn.state != State::Closed {
            self.finish(Event::Closed(CloseReason::Aborted));
        }
        if tell {
            let (seq, receive) = (&self.send.seq, &self.receive);
            self.reset = Some(Segment {
                seq: seq.seq_of(seq.nxt),
                ack: receive.seq_of(receive.nxt),
                flags: Flags::RST | Flags::ACK,
                // RFC 7323 section 3.2: SHOULD be sent in an <RST> segment.
                timestamps: (self.conn.negotiated.timestamps)
                    .then(|| Timestamps { value: timestamp(now), echo: receive.ts_recent }),
                ..Segment::default()
            });
        }
    }
}
