//! The user calls of RFC 9293 sections 3.10.1 to 3.10.6.

use lasthop_units::{Duration, Instant};

use super::ack::timestamp;
use super::offload::UNSENT_MAX;
use super::{CloseReason, Endpoint, Event, WriteHint};
use crate::segment::{Flags, Segment, Timestamps};
use crate::state::{Input, State};

impl Endpoint {
    /// Opens actively: a SYN will leave. Ignored unless CLOSED or LISTEN.
    pub fn connect(&mut self, now: Instant) {
        if !matches!(self.state, State::Closed | State::Listen) || self.max != 0 {
            return;
        }
        self.step(Input::Connect);
        self.start_syn(now);
    }

    /// Opens passively. Ignored unless CLOSED.
    pub fn listen(&mut self) {
        if self.max == 0 {
            self.step(Input::Listen);
        }
    }

    /// The application writes `n` octets; returns how many the send buffer takes. None after a
    /// close.
    ///
    /// Before the handshake is done the data waits (RFC 9293 section 3.10.2).
    pub fn write(&mut self, now: Instant, n: u64) -> u64 {
        let open = !matches!(self.state, State::Closed | State::TimeWait) || self.max == 0;
        if self.close_requested || !open {
            return 0;
        }
        self.restart_after_idleness(now);
        let accepted = if self.offload.is_some() {
            self.write_packets(now, n, WriteHint::default())
        } else {
            let accepted = n.min(self.writable());
            self.written += accepted;
            accepted
        };
        self.update_timers(now);
        self.check();
        accepted
    }

    /// How many octets [`write`](Self::write) would take now.
    #[inline]
    pub fn writable(&self) -> u64 {
        if self.close_requested {
            // SND.UNA may be beyond what was written: it counts the FIN.
            return 0;
        }
        // Offsets stay far below 2^62, so that differences are safe as signed numbers.
        let room = (1u64 << 60).saturating_sub(self.written);
        match (self.config.send_buffer, self.memory) {
            (Some(size), _) => size.saturating_sub(self.written - self.una.max(1)).min(room),
            (None, Some(memory)) => self.memory_room(memory).min(room),
            (None, None) if self.offload.is_some() => UNSENT_MAX.saturating_sub(self.notsent()),
            (None, None) => room,
        }
    }

    /// The application takes up to `n` octets that are in order (with `manual_read`; otherwise it
    /// has them already). Returns how many. A window that opens enough is announced (RFC 9293
    /// section 3.8.6.2.2).
    pub fn read(&mut self, now: Instant, n: u64) -> u64 {
        let taken = n.min(self.readable());
        self.read_to += taken;
        if let Some(sizing) = &mut self.sizing {
            sizing.on_read(now, self.read_to);
        }
        if taken > 0 && self.state.is_synchronized() && (self.window_has_opened() || self.read_wants_ack()) {
            self.ack.at_once();
        }
        taken
    }

    /// By Linux' heuristics, whose ACK may wait for the application (tcp_cleanup_rbuf).
    fn read_wants_ack(&mut self) -> bool {
        let all = self.readable() == 0 && self.peer_fin.is_none();
        let waiting = self.rcv_nxt.saturating_sub(self.last_ack_sent);
        all && self.ack.heuristics().is_some_and(|h| h.is_wanted_by_read(waiting))
    }

    /// Octets in order that the application has not taken.
    pub fn readable(&self) -> u64 {
        self.data_end().saturating_sub(self.read_to)
    }

    /// The same where the application takes them by hand (`manual_read`); otherwise it has them
    /// already: 0.
    pub fn readable_by_hand(&self) -> u64 {
        if self.config.manual_read { self.readable() } else { 0 }
    }

    /// Octets written since the start.
    pub const fn octets_written(&self) -> u64 {
        self.written - 1
    }

    /// Octets written and not acknowledged (Linux' SIOCOUTQ).
    pub fn unacknowledged(&self) -> u64 {
        self.written.saturating_sub(self.una.max(1))
    }

    /// The application has no more to send: a FIN follows the data. What the peer sends is still
    /// received.
    pub fn close(&mut self, now: Instant) {
        match self.state {
            State::Listen | State::SynSent => {
                self.step(Input::Close);
                self.stop_timers();
                self.syn_due = false;
                self.emit(Event::Closed(CloseReason::Finished));
            }
            State::Closed if self.max != 0 => {}
            _ => {
                self.close_requested = true;
                self.take_close();
                self.look_at_queue();
                self.update_timers(now);
            }
        }
        self.check();
    }

    /// Sets the send buffer \[octets\], which then stays as it is (SO_SNDBUF).
    pub const fn set_send_buffer(&mut self, octets: u64) {
        self.config.send_buffer = Some(octets);
        self.memory = None;
    }

    /// With segmentation offload: no new packet is begun while so much waits to be sent
    /// (TCP_NOTSENT_LOWAT).
    pub const fn set_notsent_limit(&mut self, octets: u64) {
        self.notsent_limit = octets;
    }

    /// Gives the connection up when retransmissions or probes stay unanswered for so long (RFC 9293
    /// section 3.9.1.8, RFC 5482; TCP_USER_TIMEOUT); `None`: only by their number.
    pub const fn set_user_timeout(&mut self, timeout: Option<Duration>) {
        self.user_timeout = timeout;
    }

    /// The application will not read any more: once the close is under way, data that still arrives
    /// is answered with a reset (RFC 9293 section 3.6.1, RFC 1122 section 4.2.2.13).
    pub fn stop_reading(&mut self) {
        self.reader_gone = true;
    }

    /// The close, once the state allows it (RFC 9293 section 3.10.4 queues it before).
    pub(super) fn take_close(&mut self) {
        if self.close_requested && self.state.is_synchronized() {
            self.step(Input::Close);
        }
    }

    /// Ends the connection at once with a reset (RFC 9293 section 3.10.5).
    pub fn abort(&mut self, now: Instant) {
        let tell = self.state.is_synchronized() || self.state == State::SynReceived;
        let tell = tell && !matches!(self.state, State::TimeWait);
        if self.state != State::Closed {
            self.finish(Event::Closed(CloseReason::Aborted));
        }
        if tell {
            self.reset = Some(Segment {
                seq: self.seq_of(self.nxt),
                ack: self.rcv_seq_of(self.rcv_nxt),
                flags: Flags::RST | Flags::ACK,
                // RFC 7323 section 3.2: "SHOULD be sent in an <RST> segment".
                timestamps: self
                    .timestamps
                    .then(|| Timestamps { value: timestamp(now), echo: self.ts_recent }),
                ..Segment::default()
            });
        }
    }

    /// Wants every RTT sample as an [`Event::RttSample`].
    pub fn report_rtt_samples(&mut self, wanted: bool) {
        self.report_rtt = wanted;
    }
}
