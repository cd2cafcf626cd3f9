//! What leaves: retransmissions first, then new data as the windows allow, then probes and bare
//! ACKs.

use lasthop_units::{Bitrate, Bytes, Instant, SeqRange};

use super::ack::timestamp;
use super::{Endpoint, Event};
use crate::cc::CongestionControl;
use crate::config::RttSampling;
use crate::recovery::{CaState, NextSeg};
use crate::segment::{Flags, SackBlocks, Segment, SynOptions, Timestamps};
use crate::state::State;

impl Endpoint {
    /// The next segment to send; call until `None`.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Segment> {
        // `take` moves the whole segment; what is seldom there is looked for first.
        if self.reset.is_some() {
            return self.reset.take();
        }
        match self.state {
            State::Closed | State::Listen => return None,
            State::SynSent => return self.send_syn(now),
            State::SynReceived => return self.send_syn_ack(now),
            _ => {}
        }
        if self.offload.is_some()
            && let Some(segment) = self.pop_cut()
        {
            self.counters.segments_sent += 1;
            return Some(segment);
        }
        if self.ecn_owes_old_ack() {
            self.counters.segments_sent += 1;
            return self.ecn_old_ack(now);
        }
        // Nothing outstanding and nothing to send: the receiver's side of a transfer ends here.
        if self.una != self.stream_end() {
            let segment = self.send_data(now);
            if segment.is_some() {
                self.counters.segments_sent += 1;
                self.check();
                return segment;
            }
        }
        if !self.ack.is_due() {
            self.check_space();
            return None;
        }
        self.counters.segments_sent += 1;
        if self.fin_again {
            return Some(self.fin_with_ack(now));
        }
        Some(self.bare_ack(now))
    }

    /// The SYN-ACK, or the answer to a segment that is not acceptable or is challenged (RFC 9293
    /// section 3.10.7.4, RFC 5961 section 3.2): `<SEQ=SND.NXT><ACK=RCV.NXT><CTL=ACK>`.
    #[cold]
    fn send_syn_ack(&mut self, now: Instant) -> Option<Segment> {
        let segment = self.send_syn(now);
        if segment.is_some() || !self.ack.is_due() {
            return segment;
        }
        self.counters.segments_sent += 1;
        Some(self.bare_ack(now))
    }

    /// Our FIN once more, with an ACK.
    #[cold]
    fn fin_with_ack(&mut self, now: Instant) -> Segment {
        self.fin_again = false;
        if self.una == self.max || self.state == State::TimeWait {
            return self.bare_ack(now);
        }
        let mut segment = self.header(now);
        segment.seq = self.seq_of(self.max - 1);
        segment.flags |= Flags::FIN;
        segment
    }

    fn send_syn(&mut self, now: Instant) -> Option<Segment> {
        if !self.syn_due {
            return None;
        }
        self.syn_due = false;
        self.syn_transmissions += 1;
        self.syn_sent_at = now;
        self.last_sent = now;
        self.counters.segments_sent += 1;
        self.counters.retransmitted_segments += u64::from(self.syn_transmissions > 1);
        if self.rto_at == Instant::MAX {
            self.rto_at = self.timers.at(now, self.rto.current());
        }
        let answers = self.state == State::SynReceived;
        // An answer offers only what was offered (RFC 7323 sections 1.3 and 3.2, RFC 2018 section
        // 2).
        let scaling = self.config.window_scaling && (!answers || self.peer_scales);
        let mut segment = Segment {
            seq: self.isn,
            flags: Flags::SYN,
            window: self.first_window() as u16,
            syn: SynOptions::new(
                self.config.host.announces_mss.then_some(self.config.mss),
                scaling.then_some(self.rcv_scale),
                if answers { self.sack } else { self.config.sack },
            ),
            len: if answers { 0 } else { self.config.syn_filler },
            ..Segment::default()
        };
        if answers {
            segment.ack = self.rcv_seq_of(self.rcv_nxt);
            segment.flags |= Flags::ACK;
            self.last_ack_sent = self.rcv_nxt;
        }
        let timestamps = if answers { self.timestamps } else { self.config.timestamps };
        if timestamps {
            let echo = if answers { self.ts_recent } else { 0 };
            segment.timestamps = Some(Timestamps { value: timestamp(now), echo });
        }
        self.ecn_on_syn(&mut segment, answers);
        Some(segment)
    }

    /// Data, FIN, or a probe, if one may leave now. Built into its caller, as what it calls for new
    /// data is: a segment is made where it is returned, not handed up by copies.
    #[inline(always)]
    fn send_data(&mut self, now: Instant) -> Option<Segment> {
        if !self.state.may_send() {
            return None;
        }
        if self.probe_due {
            return self.send_probe(now);
        }
        if self.wnd == 0 && self.una == self.max {
            return None;
        }
        if self.recovery.wants_head() {
            return if self.recovery.is_rack() { self.resend_head_by_rack(now) } else { self.send_head(now) };
        }
        if self.recovery.is_rack() {
            return self.send_by_rack(now);
        }
        if now < self.pace_at {
            return None;
        }
        if self.recovery.is_sack() { self.send_by_pipe(now) } else { self.send_by_window(now) }
    }

    /// Fast retransmit: "retransmit the lost segment", whatever the windows say.
    fn send_head(&mut self, now: Instant) -> Option<Segment> {
        self.recovery.set_wants_head(false);
        let head = *self.flight.front()?;
        if self.recovery.state() != CaState::Loss {
            self.emit(Event::FastRetransmit);
        }
        if self.recovery.is_sack() {
            self.recovery.board_mut().first_resent(head.end);
        }
        // Going back after a timeout: this one is sent.
        if self.nxt < self.max {
            self.nxt = self.nxt.max(head.end);
        }
        Some(self.resend(now, head.start, head.end))
    }

    /// cwnd in octets, with `extra` segments of inflation, whole segments only where the profile
    /// says so.
    #[inline]
    pub(super) fn window_octets(&self, extra: f64) -> u64 {
        let segments = (self.cc.cwnd() + extra).min(self.config.window_ceiling());
        // By signed numbers, to which a conversion is one instruction; it cuts off the fraction.
        let octets = if self.config.whole_segments {
            (segments as i64).saturating_mul(i64::from(self.mss))
        } else {
            // A half octet more, because sums of fractions of a segment end a hair below the whole.
            (segments * f64::from(self.mss) + 0.5) as i64
        };
        octets.max(0) as u64
    }

    /// Without SACK: everything between SND.UNA and SND.UNA + min(cwnd, SND.WND).
    fn send_by_window(&mut self, now: Instant) -> Option<Segment> {
        let cwnd = self.window_octets(self.recovery.inflation(&self.config));
        let cwnd_edge = self.una + cwnd;
        if self.nxt < self.max {
            // Going back: segments keep their boundaries.
            let Some(&old) = self.flight.find(self.nxt) else {
                self.nxt = self.max;
                return None;
            };
            // The first segment always fits: RFC 5681's loss window is one segment. Beyond a window
            // that has shrunk nothing else is sent again (RFC 9293 section 3.8.6).
            if old.end > cwnd_edge.min(self.una + self.wnd) && old.start > self.una {
                return None;
            }
            self.nxt = old.end;
            return Some(self.resend(now, old.start, old.end));
        }
        if self.offload.is_some() {
            return self.send_by_packets(now, 0.0);
        }
        self.send_new(now, cwnd_edge)
    }

    /// With SACK: step (C) of RFC 6675 section 5.
    #[inline(always)]
    fn send_by_pipe(&mut self, now: Instant) -> Option<Segment> {
        let cwnd = self.window_octets(0.0);
        let in_flight = match self.recovery.state() {
            // Without limited transmit SACKs make no room before recovery.
            CaState::Disorder if !self.config.limited_transmit => self.max - self.una,
            CaState::Open => self.max - self.una,
            _ => self.recovery.board().pipe(self.max),
        };
        let room = cwnd.saturating_sub(in_flight);
        if matches!(self.recovery.state(), CaState::Recovery | CaState::Loss) {
            let segment = self.resend_by_scoreboard(now, room);
            if segment.is_some() {
                return segment;
            }
        }
        self.make_new(now, self.max + room)
    }

    fn resend_by_scoreboard(&mut self, now: Instant, room: u64) -> Option<Segment> {
        if room < u64::from(self.mss) {
            return None;
        }
        let new_data = self.nxt < self.stream_end() && self.nxt < self.una + self.wnd;
        let (start, end) = match self.recovery.board().next_seg(self.max, new_data) {
            NextSeg::New => return None,
            NextSeg::Hole(start, end) => {
                let old = self.flight.find(start)?;
                (start, old.end.min(end))
            }
            NextSeg::Rescue(end) => {
                let start = self.flight.find(end - 1)?.start;
                let point = self.recovery.recovery_point();
                self.recovery.board_mut().rescued(point);
                return Some(self.resend(now, start, end));
            }
        };
        self.recovery.board_mut().resent(end);
        Some(self.resend(now, start, end))
    }

    /// New data up to `cwnd_edge`, by the rules of Nagle and of silly-window avoidance.
    pub(super) fn send_new(&mut self, now: Instant, cwnd_edge: u64) -> Option<Segment> {
        self.make_new(now, cwnd_edge)
    }

    #[inline(always)]
    fn make_new(&mut self, now: Instant, cwnd_edge: u64) -> Option<Segment> {
        let start = self.nxt;
        let end = self.stream_end();
        if start >= end {
            return None;
        }
        let full = u64::from(self.mss);
        let wnd_edge = self.una + self.wnd;
        let edge = cwnd_edge.min(wnd_edge);
        let len = edge.saturating_sub(start).min(full).min(self.written.saturating_sub(start));
        let takes_all = start + len == self.written;
        let with_fin = takes_all && self.close_requested;
        if len == 0 && !with_fin {
            return None;
        }
        if len < full && !self.may_send_small(start, len, takes_all, cwnd_edge, wnd_edge) {
            return None;
        }
        self.override_sws = false;
        let stop = start + len + u64::from(with_fin);
        self.recovery.note_limited(len);
        self.push_sent(start, stop, now);
        if self.timed.is_none() && self.config.rtt_sampling == RttSampling::OneSegment {
            self.timed = Some((stop, now));
        }
        let mut segment = self.make_data(now, start, stop);
        self.ecn_on_new_data(&mut segment);
        Some(segment)
    }

    fn may_send_small(&self, start: u64, len: u64, takes_all: bool, cwnd_edge: u64, wnd_edge: u64) -> bool {
        let idle = self.una == self.max;
        if takes_all {
            // Nagle (RFC 9293 section 3.7.4): small segments wait while data is outstanding; a FIN
            // pushes.
            return !self.config.nagle || idle || self.close_requested;
        }
        // Silly-window avoidance (section 3.8.6.2.1): at least half the largest window seen, or the
        // override.
        if wnd_edge <= cwnd_edge && wnd_edge > start {
            return len >= (self.max_wnd / 2).max(1) || self.override_sws;
        }
        // cwnd below one segment cannot be; a remainder of cwnd waits for more room.
        idle
    }

    /// One octet beyond a closed window (RFC 9293 section 3.8.6.1), or the oldest segment again.
    fn send_probe(&mut self, now: Instant) -> Option<Segment> {
        self.probe_due = false;
        if self.una < self.max {
            if self.recovery.is_rack() {
                return self.resend_head_by_rack(now);
            }
            let head = *self.flight.front()?;
            return Some(self.resend(now, head.start, head.end));
        }
        if self.nxt >= self.stream_end() {
            return None;
        }
        if self.config.host.probe_without_data {
            let mut probe = self.bare_ack(now);
            probe.seq = self.seq_of(self.una - 1);
            return Some(probe);
        }
        let (start, stop) = (self.nxt, self.nxt + 1);
        self.push_sent(start, stop, now);
        Some(self.emit_data(now, start, stop))
    }

    /// New data is in flight.
    pub(super) fn push_sent(&mut self, start: u64, stop: u64, now: Instant) {
        if self.recovery.is_rack() {
            if self.rack.in_flight() == 0 {
                self.cc.on_transmit_start(now, now.since(self.last_sent));
            }
            self.rack.sent(now, self.delivered);
        }
        self.flight.push(start, stop, now);
        self.nxt = stop;
        self.max = stop;
    }

    pub(super) fn resend(&mut self, now: Instant, start: u64, end: u64) -> Segment {
        self.flight.resent(start, now);
        self.counters.retransmitted_segments += 1;
        self.counters.retransmitted_octets += end.min(self.written).saturating_sub(start);
        // Karn: a segment sent again is no longer timed.
        self.timed = self.timed.filter(|t| t.0 <= start || t.0 > end);
        if let Some((offset, at)) = &mut self.resent_by_timeout
            && *at == Instant::MAX
            && *offset == start
        {
            *at = now;
        }
        self.emit_data(now, start, end)
    }

    /// The octets `[start, end)`, FIN included when it is among them.
    pub(super) fn emit_data(&mut self, now: Instant, start: u64, end: u64) -> Segment {
        self.make_data(now, start, end)
    }

    #[inline(always)]
    fn make_data(&mut self, now: Instant, start: u64, end: u64) -> Segment {
        let data_end = end.min(self.written);
        let mut segment = self.header(now);
        segment.seq = self.seq_of(start);
        segment.len = data_end.saturating_sub(start) as u32;
        if end > self.written {
            segment.flags |= Flags::FIN;
        }
        if data_end == self.written && segment.len > 0 {
            segment.flags |= Flags::PSH;
        }
        // Blocks ride along only in what the segment leaves of the MSS.
        if !segment.sack.is_empty() {
            let others = if self.timestamps { 12 } else { 0 };
            let room = u32::from(self.config.mss).saturating_sub(segment.len + others);
            segment.sack = segment.sack.truncated((room.saturating_sub(4) / 8) as usize);
        }
        self.ecn_on_options(now, &mut segment);
        if self.rto_at == Instant::MAX && self.loss_at == Instant::MAX && self.wnd > 0 {
            self.start_rto(now);
        }
        if let Some(linux) = self.ack.heuristics() {
            linux.data_sent(now);
        }
        if self.paces && self.offload.is_none() {
            self.pace_at_rate(now, segment.len, segment.wire_len());
        }
        self.counters.octets_sent += u64::from(segment.len);
        self.counters.data_segments_sent += 1;
        self.last_sent = now;
        segment
    }

    pub(super) fn bare_ack(&mut self, now: Instant) -> Segment {
        let mut segment = self.header(now);
        segment.seq = self.seq_of(self.max);
        // What lies beyond a hole is more urgent than a hint: together they have no room beside
        // timestamps.
        if segment.sack.len() <= 1 {
            segment.guidance = self.guidance.map(|(measured, g)| g.aged(now.since(measured)));
        }
        self.ecn_on_options(now, &mut segment);
        segment
    }

    /// A duplicate that is still to be reported, then what lies beyond the holes.
    #[cold]
    fn sack_blocks(&mut self) -> SackBlocks {
        let mut sack = SackBlocks::NONE;
        let duplicate = self.duplicate.take().filter(|_| self.sack && self.config.dsack);
        if let Some((start, end)) = duplicate {
            sack.push(SeqRange { start: self.rcv_seq_of(start), end: self.rcv_seq_of(end) });
            self.accecn_beside_dsack(start);
        }
        if self.sack {
            let n = if self.timestamps { 3 } else { 4 } - usize::from(duplicate.is_some());
            for (start, end) in self.reassembly.blocks(n) {
                sack.push(SeqRange { start: self.rcv_seq_of(start), end: self.rcv_seq_of(end) });
            }
        }
        sack
    }

    /// What every segment of a synchronized connection carries; the ACK is now sent.
    #[inline(always)]
    fn header(&mut self, now: Instant) -> Segment {
        let mut segment =
            Segment { ack: self.rcv_seq_of(self.rcv_nxt), flags: Flags::ACK, ..Segment::default() };
        segment.window = self.advertise();
        if self.timestamps {
            segment.timestamps = Some(Timestamps { value: timestamp(now), echo: self.ts_recent });
        }
        if self.duplicate.is_some() || !self.reassembly.is_empty() {
            segment.sack = self.sack_blocks();
        }
        self.ecn_on_header(&mut segment);
        self.last_ack_sent = self.rcv_nxt;
        self.ack.sent();
        segment
    }

    /// The rate in force: the smaller of the algorithm's and the configured ceiling.
    pub(super) fn pacing_rate(&self) -> Option<Bitrate> {
        let own = self.cc.pacing_rate().or_else(|| self.window_rate());
        match (own, self.config.max_pacing_rate) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// With `pacing`: the window per smoothed round trip, twice that in the first half of slow
    /// start, else 120 % (Linux: tcp_pacing_ss_ratio, tcp_pacing_ca_ratio).
    fn window_rate(&self) -> Option<Bitrate> {
        if !self.config.pacing {
            return None;
        }
        let srtt = self.rto.srtt().filter(|s| !s.is_zero())?;
        let cwnd = self.cc.cwnd();
        let factor = if cwnd < self.cc.ssthresh() / 2.0 { 2.0 } else { 1.2 };
        let window = cwnd.max(self.flight.len() as f64) * f64::from(self.mss);
        Some(Bitrate((8.0 * factor * window / srtt.as_secs_f64()).clamp(1.0, 1e14) as u64))
    }

    /// A packet of `data` octets has left, with all its segments: it is paced as one
    /// (tcp_update_skb_after_send).
    pub(super) fn pace_packet(&mut self, now: Instant, data: u64) {
        if self.paces {
            self.pace_at_rate(now, data as u32, data as u32);
        }
    }

    #[inline(never)]
    fn pace_at_rate(&mut self, now: Instant, data: u32, on_wire: u32) {
        if self.recovery.is_rack() {
            self.pace_like_linux(now, data);
        } else if let Some(rate) = self.pacing_rate() {
            self.pace_at = now.saturating_add(rate.time_for(Bytes(u64::from(on_wire))));
        }
    }

    /// Counts data only, lets the first ten segments go, and takes up to half of a packet's time
    /// off for a late start.
    fn pace_like_linux(&mut self, now: Instant, data: u32) {
        // A bare FIN holds nothing back: a moment that is now would be waited for again and again.
        if data == 0 {
            return;
        }
        let Some(rate) = self.pacing_rate().filter(|_| self.counters.data_segments_sent >= 10) else {
            return;
        };
        let time = rate.time_for(Bytes(u64::from(data)));
        let late = now.since(self.paced_to).min(time / 2);
        self.paced_to = now.max(self.paced_to).saturating_add(time - late);
        self.pace_at = self.paced_to;
    }

    /// Pacing is what keeps something from leaving: the wake-up it needs counts.
    #[inline]
    pub(super) fn pace_holds_something(&self) -> bool {
        self.pace_at != Instant::ZERO && self.state.may_send() && self.nxt.min(self.una) < self.stream_end()
    }
}
