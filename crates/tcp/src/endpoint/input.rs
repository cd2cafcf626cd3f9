//! A segment arrives: RFC 9293 section 3.10.7, with the numbered checks of section 3.10.7.4.

use lasthop_units::Instant;

use super::Endpoint;
use super::meters::{CloseReason, Event};
use super::send::Next;
use super::timers::Timer;
use crate::host::TimeWaitRule;
use crate::segment::{Flags, Segment};
use crate::state::{Input, State};

impl Endpoint {
    /// Processes a segment that arrives. No segment causes a panic.
    pub fn handle_segment(&mut self, now: Instant, seg: &Segment) {
        self.conn.meters.counters.segments_received += 1;
        self.send.next = Next::Any;
        match self.conn.state {
            State::Closed => self.reset = reset_for(seg).or(self.reset.take()),
            State::Listen => self.in_listen(now, seg),
            State::SynSent => self.in_syn_sent(now, seg),
            _ => self.in_order_of_checks(now, seg),
        }
        if self.send.limits.queue.is_some() {
            self.send.queue_after_input(&mut self.conn, now);
        }
        self.check();
    }

    /// LISTEN (RFC 9293 section 3.10.7.2).
    fn in_listen(&mut self, now: Instant, seg: &Segment) {
        // First a reset, second an ACK, third a SYN.
        if seg.flags.has(Flags::RST) {
            return;
        }
        if seg.flags.has(Flags::ACK) {
            self.reset = reset_for(seg);
            return;
        }
        if !seg.flags.has(Flags::SYN) {
            return;
        }
        let (c, send, receive) = (&mut self.conn, &mut self.send, &mut self.receive);
        self.handshake.take_syn(c, receive, now, seg, true);
        c.step(Input::Syn);
        self.handshake.start(c, send, now);
        self.handshake.take_peer_options(c, seg);
        receive.offer_first_window(c);
        send.seq.wnd = u64::from(seg.window);
    }

    /// SYN-SENT (RFC 9293 section 3.10.7.3).
    fn in_syn_sent(&mut self, now: Instant, seg: &Segment) {
        let (c, send, receive) = (&mut self.conn, &mut self.send, &mut self.receive);
        let acks = seg.flags.has(Flags::ACK);
        if acks && seg.ack != send.seq.seq_of(1) {
            self.reset = reset_for(seg).or(self.reset.take());
            return;
        }
        if seg.flags.has(Flags::RST) {
            if acks {
                self.finish(Event::Reset);
            }
            return;
        }
        if !seg.flags.has(Flags::SYN) {
            return;
        }
        self.handshake.take_syn(c, receive, now, seg, false);
        self.handshake.take_peer_options(c, seg);
        send.seq.take_first_window(seg);
        if acks {
            c.step(Input::SynAck);
            receive.ack.at_once();
            self.handshake.established(c, send, receive, now, seg);
        } else {
            // Simultaneous open: our SYN again, now with an ACK.
            c.step(Input::Syn);
            self.handshake.due = true;
        }
    }

    fn in_order_of_checks(&mut self, now: Instant, seg: &Segment) {
        let (c, receive) = (&mut self.conn, &mut self.receive);
        // First, the sequence number, and before it PAWS (RFC 7323 section 5.3).
        let start = receive.offset_of(seg.seq);
        if c.state == State::TimeWait && c.config.host.time_wait == TimeWaitRule::Bsd {
            let newest = self.send.seq.offset_of(seg.ack) == self.send.seq.max as i64;
            if receive.in_time_wait_of_bsd(c, now, seg, newest) {
                self.finish(Event::Reset);
            }
            return;
        }
        if receive.is_too_old(c, now, seg) || !receive.is_acceptable(c, start, seg) {
            self.refuse(now, seg, start);
            return;
        }
        // Second, the RST bit. RFC 9293 returns a passive open to LISTEN; one endpoint serves one
        // connection here, so it is closed.
        if seg.flags.has(Flags::RST) {
            if receive.is_reset(start) {
                self.finish(Event::Reset);
            }
            return;
        }
        // Third, security: none. Fourth, the SYN bit: RFC 5961 section 4 answers with a challenge
        // ACK.
        if seg.flags.has(Flags::SYN) {
            if c.state == State::SynReceived && start == 0 {
                c.ecn.on_repeated_syn(seg);
                self.handshake.due = true;
            } else {
                receive.ack.at_once();
            }
            return;
        }
        receive.count_marks(c, seg);
        if let Some(guidance) = &seg.rare.guidance {
            self.send.take_guidance(c, now, guidance);
        }
        // Fifth, the ACK field.
        if !seg.flags.has(Flags::ACK) || !self.take_ack_by_state(now, seg, start) {
            return;
        }
        let (c, receive) = (&mut self.conn, &mut self.receive);
        receive.note_timestamp(c, now, seg, start);
        // Sixth, urgent data: ignored. Seventh, the text. Eighth, the FIN bit.
        if seg.len > 0 || seg.flags.has(Flags::FIN) {
            if receive.reader_gone && receive.is_data_after_close(c, start, seg) {
                self.finish(Event::Closed(CloseReason::Aborted));
                self.reset = reset_for(seg);
                return;
            }
            receive.take_marks(c, seg);
            let taken = receive.take_text(c, now, seg, start);
            if taken && c.config.host.repeats_fin && self.send.seq.is_fin_outstanding() {
                self.send.fin_again = true;
            }
        }
    }

    /// "If an incoming segment is not acceptable, an acknowledgment should be sent in reply (unless
    /// the RST bit is set)".
    #[cold]
    #[inline(never)]
    fn refuse(&mut self, now: Instant, seg: &Segment, start: i64) {
        if seg.flags.has(Flags::RST) {
            return;
        }
        let (c, receive) = (&mut self.conn, &mut self.receive);
        receive.take_repeated_text(c, seg, start);
        if c.state == State::SynReceived && seg.flags.has(Flags::SYN) {
            // A simultaneous open: the peer's SYN again, with the ACK of ours. A repeated SYN
            // without it requests the SYN-ACK again.
            if seg.flags.has(Flags::ACK) && self.take_ack_by_state(now, seg, start) {
                self.conn.ecn.on_repeated_syn_ack(seg);
                self.receive.ack.at_once();
            } else {
                self.conn.ecn.on_repeated_syn(seg);
                self.handshake.due = true;
            }
            return;
        }
        if seg.flags.has(Flags::SYN | Flags::ACK) && start == 0 {
            c.ecn.on_repeated_syn_ack(seg);
        }
        if c.state == State::TimeWait && seg.flags.has(Flags::FIN) {
            // The peer's FIN again: acknowledge it and wait anew (RFC 9293 section 3.10.7.4,
            // eighth).
            c.timers.start(Timer::TimeWait, now, c.config.timers.time_wait);
        }
        receive.ack.at_once();
    }

    /// The fifth check; false when processing of the segment ends here.
    #[inline(always)]
    fn take_ack_by_state(&mut self, now: Instant, seg: &Segment, start: i64) -> bool {
        let (c, send, receive) = (&mut self.conn, &mut self.send, &mut self.receive);
        let ack = send.seq.offset_of(seg.ack);
        if c.state == State::SynReceived {
            if ack != 1 {
                self.reset = reset_for(seg).or(self.reset.take());
                return false;
            }
            c.step(Input::AckOfSyn);
            c.ecn.on_handshake_ack(&c.config, &mut c.meters.counters, seg);
            self.handshake.established(c, send, receive, now, seg);
            // The window of this segment counts, not the SYN's.
            send.seq.take_window(seg, c.negotiated.snd_scale, start, 1);
            send.seq.max_wnd = send.seq.wnd;
            send.seq.room_moved = true;
            send.update_timers(c, now);
            return true;
        }
        if send.seq.is_ack_out_of_range(ack) {
            if !c.config.host.drops_future_acks || ack <= send.seq.max as i64 {
                receive.ack.at_once();
            }
            return false;
        }
        let newer = c.ecn.is_accurate() && receive.is_newer(c, seg);
        c.ecn.on_ack(&c.config, seg, newer);
        send.take_ack(c, now, seg, start, ack);
        let open = c.state != State::Closed;
        if !open {
            self.stop();
            self.reset = None;
            self.handshake.due = false;
        }
        open
    }
}

/// A reset for a segment that belongs to no connection (RFC 9293 section 3.10.7.1); none for a
/// reset.
fn reset_for(seg: &Segment) -> Option<Segment> {
    if seg.flags.has(Flags::RST) {
        return None;
    }
    Some(if seg.flags.has(Flags::ACK) {
        Segment { seq: seg.ack, flags: Flags::RST, ..Segment::default() }
    } else {
        Segment { ack: seg.seq + seg.sequence_len(), flags: Flags::RST | Flags::ACK, ..Segment::default() }
    })
}
