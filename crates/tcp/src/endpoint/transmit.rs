//! The choice of the next segment to send, in the order of precedence.

use lasthop_units::Instant;

use super::Endpoint;
use super::send::{Dupack, Next};
use crate::segment::{Flags, Segment};
use crate::state::State;

impl Endpoint {
    /// The next segment to send; call until `None`.
    #[inline]
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Segment> {
        // Half of the calls find nothing, most of them at a receiver: this is tested in the caller.
        match std::mem::take(&mut self.send.next) {
            Next::Any if self.is_at_rest() => None,
            Next::Any => self.next_segment(now),
            _ if self.receive.ack.is_due() => self.next_segment(now),
            Next::New(cwnd_edge) => self.next_of_burst(now, cwnd_edge),
            Next::Nothing => self.no_segment(now),
        }
    }

    /// After the segment that left last no other one may leave, without input between.
    #[inline(always)]
    fn no_segment(&mut self, now: Instant) -> Option<Segment> {
        if cfg!(debug_assertions) {
            let next = self.next_segment(now);
            assert!(next.is_none(), "no segment may leave, but {next:?} does");
        }
        self.send.check_space(&self.conn);
        None
    }

    /// New data up to `cwnd_edge`, where nothing else may leave.
    #[inline(never)]
    fn next_of_burst(&mut self, now: Instant, cwnd_edge: u64) -> Option<Segment> {
        let (c, send, receive) = (&mut self.conn, &mut self.send, &mut self.receive);
        debug_assert!(self.reset.is_none() && c.ecn.old_ack.is_none() && c.state.may_send());
        debug_assert_eq!(
            send.seq.max + Dupack::room_by_pipe(&send.fly, &send.seq, c),
            cwnd_edge.max(send.seq.max)
        );
        let Some((start, stop)) = send.cut_new(c, now, cwnd_edge) else {
            send.check_space(c);
            return None;
        };
        send.next = Dupack::after_new(send, c, cwnd_edge);
        c.meters.counters.segments_sent += 1;
        Some(send.fill_new(c, receive, now, start, stop))
    }

    /// All that was to be sent is acknowledged, no ACK is due, and nothing else waits.
    #[inline(always)]
    fn is_at_rest(&self) -> bool {
        let (c, send) = (&self.conn, &self.send);
        !self.receive.ack.is_due()
            && send.seq.una == send.seq.end()
            && send.limits.are_at_rest()
            && c.ecn.old_ack.is_none()
            && self.reset.is_none()
            && c.state.is_synchronized()
    }

    fn next_segment(&mut self, now: Instant) -> Option<Segment> {
        // `take` moves the whole segment; the rare cases are tested first.
        if self.reset.is_some() {
            return self.reset.take();
        }
        match self.conn.state {
            State::Closed | State::Listen => return None,
            State::SynSent | State::SynReceived => return self.transmit_syn(now),
            _ => {}
        }
        let (c, send, receive) = (&mut self.conn, &mut self.send, &mut self.receive);
        if send.limits.queue.is_some()
            && let Some(segment) = send.limits.pop_cut()
        {
            c.meters.counters.segments_sent += 1;
            send.next = Next::nothing_if(send.is_queue_spent());
            return Some(segment);
        }
        if c.ecn.old_ack.is_some() {
            c.meters.counters.segments_sent += 1;
            return receive.old_ack(c, now, send.seq.seq_of(send.seq.max));
        }
        // Nothing outstanding and nothing to send: the receiver's side of a transfer ends here.
        let at_rest = send.seq.una == send.seq.end();
        if !at_rest && let Some(cwnd_edge) = Dupack::edge_of_new_alone(send, c) {
            let segment = self.next_of_burst(now, cwnd_edge);
            if segment.is_some() {
                return segment;
            }
        } else if !at_rest {
            let segment = send.send_data(c, receive, now);
            if segment.is_some() {
                c.meters.counters.segments_sent += 1;
                self.check();
                return segment;
            }
        }
        let (c, send, receive) = (&mut self.conn, &mut self.send, &mut self.receive);
        if !receive.ack.is_due() {
            send.check_space(c);
            return None;
        }
        c.meters.counters.segments_sent += 1;
        if send.pacing.enabled {
            send.pacing.left_without_data(now);
        }
        if send.fin_again {
            return Some(self.fin_with_ack(now));
        }
        let seq = send.seq.seq_of(send.seq.max);
        if c.config.acks.split_acks > 1 {
            return Some(receive.part_of_ack(c, now, seq));
        }
        // Where the send buffer grows by itself, this is asked each time.
        send.next = Next::nothing_if(at_rest && send.limits.memory.is_none());
        Some(receive.bare_ack(c, now, seq))
    }

    /// The SYN; or the SYN-ACK, or the answer to a segment that is not acceptable or is challenged
    /// (RFC 9293 section 3.10.7.4, RFC 5961 section 3.2): `<SEQ=SND.NXT><ACK=RCV.NXT><CTL=ACK>`.
    #[cold]
    fn transmit_syn(&mut self, now: Instant) -> Option<Segment> {
        let segment = self.handshake.syn(&mut self.conn, &mut self.send, &mut self.receive, now);
        let answers = self.conn.state == State::SynReceived;
        if segment.is_some() || !answers || !self.receive.ack.is_due() {
            return segment;
        }
        self.conn.meters.counters.segments_sent += 1;
        let seq = self.send.seq.seq_of(self.send.seq.max);
        Some(self.receive.bare_ack(&mut self.conn, now, seq))
    }

    /// Our FIN once more, with an ACK.
    #[cold]
    fn fin_with_ack(&mut self, now: Instant) -> Segment {
        let (c, seq) = (&mut self.conn, &self.send.seq);
        self.send.fin_again = false;
        if !seq.is_outstanding() || c.state == State::TimeWait {
            return self.receive.bare_ack(c, now, seq.seq_of(seq.max));
        }
        let mut segment = Segment { seq: seq.seq_of(seq.max - 1), flags: Flags::FIN, ..Segment::default() };
        self.receive.header(c, now, &mut segment);
        segment
    }
}
