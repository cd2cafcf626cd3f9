//! A segment arrives: the numbered checks of RFC 9293 section 3.10.7.4.

use lasthop_units::{Duration, Instant};

use super::{CloseReason, Endpoint, Event};
use crate::host::{TimeWaitRule, WindowRule};
use crate::segment::{Flags, Segment};
use crate::state::{Input, State};

impl Endpoint {
    /// A segment arrives. Any segment is survived.
    pub fn handle_segment(&mut self, now: Instant, seg: &Segment) {
        self.counters.segments_received += 1;
        match self.state {
            State::Closed => self.answer_with_reset(seg),
            State::Listen => self.in_listen(now, seg),
            State::SynSent => self.in_syn_sent(now, seg),
            _ => self.in_order_of_checks(now, seg),
        }
        if self.offload.is_some() {
            self.queue_after_input(now);
        }
        self.check();
    }

    fn in_order_of_checks(&mut self, now: Instant, seg: &Segment) {
        // First, the sequence number, and before it PAWS (RFC 7323 section 5.3).
        let start = self.rcv_offset_of(seg.seq);
        if self.state == State::TimeWait && self.config.host.time_wait == TimeWaitRule::Bsd {
            return self.in_time_wait_of_bsd(now, seg, start);
        }
        if self.is_too_old(now, seg) || !self.is_acceptable(start, seg) {
            self.refuse(now, seg, start);
            return;
        }
        // Second, the RST bit.
        if seg.flags.has(Flags::RST) {
            self.take_reset(start);
            return;
        }
        // Third, security: none. Fourth, the SYN bit: RFC 5961 section 4 answers with a challenge
        // ACK.
        if seg.flags.has(Flags::SYN) {
            self.in_window_syn(start, seg);
            return;
        }
        self.ecn_counted(seg);
        if let Some(guidance) = &seg.guidance {
            self.take_guidance(now, guidance);
        }
        // Fifth, the ACK field.
        if !seg.flags.has(Flags::ACK) || !self.take_ack_by_state(now, seg, start) {
            return;
        }
        self.note_timestamp(now, seg, start);
        // Sixth, urgent data: ignored. Seventh, the text. Eighth, the FIN bit.
        if seg.len > 0 || seg.flags.has(Flags::FIN) {
            if self.reader_gone && self.is_new_to_nobody(start, seg) {
                self.finish(Event::Closed(CloseReason::Aborted));
                self.answer_with_reset(seg);
                return;
            }
            self.ecn_arrived(seg);
            self.take_text(now, seg, start);
        }
    }

    /// RFC 9293 table 6, with one tolerance: a segment without length at the right edge is
    /// accepted, which is where a peer that filled the window puts its pure ACKs. A reset there
    /// is outside, unless the window is closed; Linux' tcp_sequence tolerates it too.
    fn is_acceptable(&self, start: i64, seg: &Segment) -> bool {
        let (nxt, edge) = (self.rcv_nxt as i64, self.edge_in_force() as i64);
        let end = start + i64::from(seg.sequence_len());
        if end == start {
            let linux = self.config.host.window == WindowRule::Linux;
            let at_edge = start == edge && (linux || !seg.flags.has(Flags::RST));
            return start == nxt || start > nxt && (start < edge || at_edge);
        }
        // "If the RCV.WND is zero, no segments will be acceptable, but special allowance should be
        // made to accept valid ACKs": the text of such a segment is cut away later.
        start <= edge.max(nxt) && end > nxt && (start < edge || start == nxt)
    }

    /// PAWS: an older timestamp on anything but a reset; forgotten after 24 days (RFC 7323 section
    /// 5.5).
    fn is_too_old(&self, now: Instant, seg: &Segment) -> bool {
        let Some(t) = seg.timestamps.filter(|_| self.timestamps) else { return false };
        const OUTDATED: Duration = Duration::from_secs(24 * 86_400);
        (t.value.wrapping_sub(self.ts_recent) as i32) < 0
            && !seg.flags.has(Flags::RST)
            && now.since(self.ts_recent_at) < OUTDATED
    }

    /// "If an incoming segment is not acceptable, an acknowledgment should be sent in reply (unless
    /// the RST bit is set)".
    fn refuse(&mut self, now: Instant, seg: &Segment, start: i64) {
        if seg.flags.has(Flags::RST) {
            return;
        }
        if seg.len > 0 && start + i64::from(seg.len) <= self.rcv_nxt as i64 {
            self.counters.duplicate_segments_received += 1;
            if start >= 0 {
                self.accecn_repeated(start as u64);
                self.duplicate = Some((start as u64, (start + i64::from(seg.len)) as u64));
            }
            self.ecn_counted(seg);
            self.hurry(u32::MAX);
            self.ack.schedule();
        }
        if self.state == State::SynReceived && seg.flags.has(Flags::SYN) {
            // A simultaneous open: the peer's SYN again, with the ACK of ours. A repeated SYN
            // without wants the SYN-ACK again.
            if seg.flags.has(Flags::ACK) && self.take_ack_by_state(now, seg, start) {
                self.ecn_on_repeated_syn_ack(seg);
                self.ack.at_once();
            } else {
                self.ecn_on_repeated_syn(seg);
                self.syn_due = true;
            }
            return;
        }
        if seg.flags.has(Flags::SYN | Flags::ACK) && start == 0 {
            self.ecn_on_repeated_syn_ack(seg);
        }
        if self.state == State::TimeWait && seg.flags.has(Flags::FIN) {
            // The peer's FIN again: acknowledge it and wait anew (RFC 9293 section 3.10.7.4,
            // eighth).
            self.time_wait_at = self.timers.at(now, self.config.time_wait);
        }
        self.ack.at_once();
    }

    /// TIME-WAIT as FreeBSD has it: PAWS and window do not matter for a segment without SYN and
    /// RST.
    #[cold]
    fn in_time_wait_of_bsd(&mut self, now: Instant, seg: &Segment, start: i64) {
        if seg.flags.has(Flags::RST) {
            if self.is_acceptable(start, seg) {
                self.take_reset(start);
            }
            return;
        }
        if seg.flags.has(Flags::SYN) {
            self.ack.at_once();
            return;
        }
        if !seg.flags.has(Flags::ACK) {
            return;
        }
        let end = start + i64::from(seg.sequence_len());
        if seg.flags.has(Flags::FIN) && end == self.rcv_nxt as i64 {
            self.time_wait_at = now.saturating_add(self.config.time_wait);
        }
        let repeats = start == self.rcv_nxt as i64 && self.offset_of(seg.ack) == self.max as i64;
        if !repeats || seg.sequence_len() > 0 || seg.flags != Flags::ACK {
            self.ack.at_once();
        }
    }

    /// RFC 5961 section 3.2: a reset counts only exactly at RCV.NXT; elsewhere in the window it is
    /// challenged.
    fn take_reset(&mut self, start: i64) {
        if start != self.rcv_nxt as i64 {
            self.ack.at_once();
            return;
        }
        // RFC 9293 returns a passive open to LISTEN; one endpoint serves one connection here, so it
        // is closed.
        self.finish(Event::Reset);
    }

    fn in_window_syn(&mut self, start: i64, seg: &Segment) {
        if self.state == State::SynReceived && start == 0 {
            self.ecn_on_repeated_syn(seg);
            self.syn_due = true;
        } else {
            self.ack.at_once();
        }
    }

    /// The fifth check; false when the segment goes no further.
    fn take_ack_by_state(&mut self, now: Instant, seg: &Segment, start: i64) -> bool {
        let ack = self.offset_of(seg.ack);
        if self.state == State::SynReceived {
            if ack != 1 {
                self.answer_with_reset(seg);
                return false;
            }
            self.step(Input::AckOfSyn);
            self.ecn_on_handshake_ack(seg);
            self.established(now, seg);
            // The window of this segment counts, whatever the SYN's said.
            self.take_window(seg, start, 1);
            self.max_wnd = self.wnd;
            self.update_timers(now);
            return true;
        }
        // RFC 5961 section 5: an ACK outside [SND.UNA - MAX.SND.WND, SND.NXT] is answered and
        // dropped.
        if ack > self.max as i64 || ack < self.una as i64 - self.max_wnd.max(1) as i64 {
            if self.config.host.drops_future_acks && ack > self.max as i64 {
                return false;
            }
            self.ack.at_once();
            return false;
        }
        self.take_ack(now, seg, start, ack);
        self.state != State::Closed
    }

    /// New data after the application has closed both directions.
    fn is_new_to_nobody(&self, start: i64, seg: &Segment) -> bool {
        let closing = matches!(self.state, State::FinWait1 | State::FinWait2);
        closing && seg.len > 0 && start + i64::from(seg.len) > self.rcv_nxt as i64
    }

    /// RFC 7323 section 4.3: TS.Recent follows segments that span what we last acknowledged.
    fn note_timestamp(&mut self, now: Instant, seg: &Segment, start: i64) {
        if let Some(t) = seg.timestamps.filter(|_| self.timestamps)
            && start <= self.last_ack_sent as i64
            && (t.value.wrapping_sub(self.ts_recent) as i32) >= 0
        {
            self.ts_recent = t.value;
            self.ts_recent_at = now;
        }
    }
}
