//! The order of sending: retransmissions first, then new data as the windows permit, then probes
//! and bare ACKs.

use lasthop_units::Instant;

use super::super::connection::Connection;
use super::super::receive::Receiver;
use super::super::timers::Timer;
use super::Sender;
use super::detector::Detector;
use super::dispatch::by_detector;
use crate::config::RttSampling;
use crate::segment::{Flags, Segment};

impl Sender {
    /// Data, FIN, or a probe, if one may leave now. Inlined into its caller, as are the functions
    /// it calls for new data: a segment is created where it is returned, without copies.
    #[inline(always)]
    pub fn send_data(&mut self, c: &mut Connection, r: &mut Receiver, now: Instant) -> Option<Segment> {
        if !c.state.may_send() {
            return None;
        }
        if self.probe_due {
            return self.send_probe(c, r, now);
        }
        if self.seq.wnd == 0 && !self.seq.is_outstanding() {
            return None;
        }
        if self.fly.recovery.head_is_due() {
            return by_detector!(self.fly, D => D::resend_head(self, c, r, now));
        }
        by_detector!(self.fly, D => D::next_segment(self, c, r, now))
    }

    /// New data up to `cwnd_edge`, by the rules of Nagle and of silly-window avoidance.
    pub fn send_new(
        &mut self,
        c: &mut Connection,
        r: &mut Receiver,
        now: Instant,
        cwnd_edge: u64,
    ) -> Option<Segment> {
        let (start, stop) = self.cut_new(c, now, cwnd_edge)?;
        Some(self.fill_new(c, r, now, start, stop))
    }

    /// As [`send_new`](Self::send_new), without the segment itself: its start and its end, FIN
    /// included.
    #[inline(always)]
    pub fn cut_new(&mut self, c: &mut Connection, now: Instant, cwnd_edge: u64) -> Option<(u64, u64)> {
        let start = self.seq.nxt;
        let end = self.seq.end();
        if start >= end {
            return None;
        }
        let full = u64::from(c.negotiated.mss);
        let wnd_edge = self.seq.window_edge();
        let edge = cwnd_edge.min(wnd_edge);
        let len = edge.saturating_sub(start).min(full).min(self.seq.written.saturating_sub(start));
        let takes_all = start + len == self.seq.written;
        let with_fin = takes_all && self.seq.close_requested;
        if len == 0 && !with_fin {
            return None;
        }
        if len < full && !self.may_send_small(c, start, len, takes_all, cwnd_edge, wnd_edge) {
            return None;
        }
        self.override_sws = false;
        let stop = start + len + u64::from(with_fin);
        self.fly.recovery.note_limited(len);
        self.push_sent(start, stop, now);
        if c.rtt.timed.is_none() && c.config.timers.rtt_sampling == RttSampling::OneSegment {
            c.rtt.timed = Some((stop, now));
        }
        Some((start, stop))
    }

    /// The segment that [`cut_new`](Self::cut_new) has returned. Its caller returns it at once, so
    /// that it is created in its place.
    #[inline(always)]
    pub fn fill_new(
        &mut self,
        c: &mut Connection,
        r: &mut Receiver,
        now: Instant,
        start: u64,
        stop: u64,
    ) -> Segment {
        let mut segment = Segment::default();
        self.make_data(c, r, now, start, stop, &mut segment);
        c.ecn.on_new_data(&c.config, &mut segment);
        segment
    }

    fn may_send_small(
        &self,
        c: &Connection,
        start: u64,
        len: u64,
        takes_all: bool,
        cwnd_edge: u64,
        wnd_edge: u64,
    ) -> bool {
        let idle = !self.seq.is_outstanding();
        if takes_all {
            // Nagle (RFC 9293 section 3.7.4): small segments wait while data is outstanding; a FIN
            // pushes.
            return !c.config.acks.nagle || idle || self.seq.close_requested;
        }
        // Silly-window avoidance (section 3.8.6.2.1): at least half the largest window seen, or the
        // override.
        if wnd_edge <= cwnd_edge && wnd_edge > start {
            return len >= (self.seq.max_wnd / 2).max(1) || self.override_sws;
        }
        // cwnd below one segment cannot be; a remainder of cwnd waits for more room.
        idle
    }

    /// One octet beyond a closed window (RFC 9293 section 3.8.6.1), or the oldest segment again.
    fn send_probe(&mut self, c: &mut Connection, r: &mut Receiver, now: Instant) -> Option<Segment> {
        self.probe_due = false;
        if self.seq.is_outstanding() {
            return by_detector!(self.fly, D => D::probe_with_head(self, c, r, now));
        }
        if !self.seq.waits() {
            return None;
        }
        if c.config.host.probe_without_data {
            let mut probe = r.bare_ack(c, now, self.seq.seq_of(self.seq.max));
            probe.seq = self.seq.seq_of(self.seq.una - 1);
            return Some(probe);
        }
        let (start, stop) = (self.seq.nxt, self.seq.nxt + 1);
        self.push_sent(start, stop, now);
        Some(self.emit_data(c, r, now, start, stop))
    }

    /// New data is in flight.
    #[inline(always)]
    pub fn push_sent(&mut self, start: u64, stop: u64, now: Instant) {
        let idle = now.since(self.last_sent);
        by_detector!(self.fly, D => D::note_new(&mut self.fly, now, idle));
        self.fly.flight.push(start, stop, now);
        self.seq.sent(stop);
    }

    /// Retransmits a segment that is not part of a packet of several segments. Pacing counts it
    /// when it leaves.
    pub fn resend_by_itself(
        &mut self,
        c: &mut Connection,
        r: &mut Receiver,
        now: Instant,
        start: u64,
        end: u64,
    ) -> Segment {
        let segment = self.resend(c, r, now, start, end);
        if self.limits.queue.is_some() {
            self.pacing.left(c, &self.fly, now, segment.len, segment.wire_len());
        }
        segment
    }

    pub fn resend(
        &mut self,
        c: &mut Connection,
        r: &mut Receiver,
        now: Instant,
        start: u64,
        end: u64,
    ) -> Segment {
        self.fly.flight.resent(start, now);
        c.meters.counters.retransmitted_segments += 1;
        c.meters.counters.retransmitted_octets += end.min(self.seq.written).saturating_sub(start);
        c.rtt.resent(now, start, end);
        self.emit_data(c, r, now, start, end)
    }

    /// The octets `[start, end)`, FIN included when it is among them.
    pub fn emit_data(
        &mut self,
        c: &mut Connection,
        r: &mut Receiver,
        now: Instant,
        start: u64,
        end: u64,
    ) -> Segment {
        let mut segment = Segment::default();
        self.make_data(c, r, now, start, end, &mut segment);
        segment
    }

    /// As [`emit_data`](Self::emit_data), into a segment that its caller has created.
    #[inline(always)]
    pub fn make_data(
        &mut self,
        c: &mut Connection,
        r: &mut Receiver,
        now: Instant,
        start: u64,
        end: u64,
        segment: &mut Segment,
    ) {
        let data_end = end.min(self.seq.written);
        r.header(c, now, segment);
        segment.seq = self.seq.seq_of(start);
        segment.len = data_end.saturating_sub(start) as u32;
        if end > self.seq.written {
            segment.flags |= Flags::FIN;
        }
        if data_end == self.seq.written && segment.len > 0 {
            segment.flags |= Flags::PSH;
        }
        // Blocks ride along only in what the segment leaves of the MSS.
        if !segment.rare.is_empty() {
            let others = if c.negotiated.timestamps { 12 } else { 0 };
            let room = u32::from(c.config.window.mss).saturating_sub(segment.len + others);
            let n = (room.saturating_sub(4) / 8) as usize;
            segment.rare.change_in(&mut c.spare, |o| o.sack.truncate(n));
        }
        c.ecn.on_options(&c.config, &c.rtt.rto, c.negotiated.mss, now, segment, &mut c.spare);
        if !c.timers.runs(Timer::Retransmission) && !c.timers.run_for_loss() && self.seq.wnd > 0 {
            self.fly.start_rto(c, now);
        }
        if let Some(linux) = r.ack.heuristics() {
            linux.data_sent(now);
        }
        // __tcp_transmit_skb counts a segment before tcp_update_skb_after_send reads the count.
        c.meters.data_sent(segment.len);
        if self.pacing.enabled && self.limits.queue.is_none() {
            self.pacing.left(c, &self.fly, now, segment.len, segment.wire_len());
        }
        self.last_sent = now;
    }
}
