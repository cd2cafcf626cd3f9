//! The segments that the receiver accepts (RFC 9293 section 3.10.7.4, first check), and the
//! handling of the others.

use lasthop_units::{Duration, Instant};

use super::super::connection::Connection;
use super::super::timers::Timer;
use super::Receiver;
use crate::host::WindowRule;
use crate::segment::{Flags, Segment};
use crate::state::State;

impl Receiver {
    /// RFC 9293 table 6, with one tolerance: a segment without length at the right edge is
    /// accepted, which is where a peer that filled the window puts its pure ACKs. A reset there
    /// is outside, unless the window is closed; Linux' tcp_sequence tolerates it too.
    #[inline]
    pub fn is_acceptable(&self, c: &Connection, start: i64, seg: &Segment) -> bool {
        let (nxt, edge) = (self.nxt as i64, self.edge_in_force(c) as i64);
        let end = start + i64::from(seg.sequence_len());
        if end == start {
            let linux = c.config.host.window == WindowRule::Linux;
            let at_edge = start == edge && (linux || !seg.flags.has(Flags::RST));
            return start == nxt || start > nxt && (start < edge || at_edge);
        }
        // "If the RCV.WND is zero, no segments will be acceptable, but special allowance should be
        // made to accept valid ACKs": the text of such a segment is cut away later.
        start <= edge.max(nxt) && end > nxt && (start < edge || start == nxt)
    }

    /// PAWS: an older timestamp on anything but a reset; invalid after 24 days (RFC 7323 section
    /// 5.5).
    #[inline]
    pub fn is_too_old(&self, c: &Connection, now: Instant, seg: &Segment) -> bool {
        let Some(t) = seg.timestamps.filter(|_| c.negotiated.timestamps) else { return false };
        const OUTDATED: Duration = Duration::from_secs(24 * 86_400);
        (t.value.wrapping_sub(self.ts_recent) as i32) < 0
            && !seg.flags.has(Flags::RST)
            && now.since(self.ts_recent_at) < OUTDATED
    }

    /// RFC 7323 section 4.3: TS.Recent is updated by segments that include the last acknowledged
    /// number.
    #[inline]
    pub fn note_timestamp(&mut self, c: &Connection, now: Instant, seg: &Segment, start: i64) {
        if let Some(t) = seg.timestamps.filter(|_| c.negotiated.timestamps)
            && start <= self.last_ack_sent as i64
            && (t.value.wrapping_sub(self.ts_recent) as i32) >= 0
        {
            self.ts_recent = t.value;
            self.ts_recent_at = now;
        }
    }

    /// The segment has a newer timestamp than the newest one so far.
    #[inline]
    pub fn is_newer(&self, c: &Connection, seg: &Segment) -> bool {
        seg.timestamps
            .is_some_and(|t| c.negotiated.timestamps && (t.value.wrapping_sub(self.ts_recent) as i32) > 0)
    }

    /// New data after the application has closed both directions.
    pub fn is_data_after_close(&self, c: &Connection, start: i64, seg: &Segment) -> bool {
        let closing = matches!(c.state, State::FinWait1 | State::FinWait2);
        closing && seg.len > 0 && start + i64::from(seg.len) > self.nxt as i64
    }

    /// Text that is not acceptable has all arrived before: a duplicate to report.
    pub fn take_repeated_text(&mut self, c: &mut Connection, seg: &Segment, start: i64) {
        if seg.len == 0 || start + i64::from(seg.len) > self.nxt as i64 {
            return;
        }
        c.meters.counters.duplicate_segments_received += 1;
        self.ahead.restart();
        if start >= 0 {
            c.ecn.repeated(start as u64);
            self.duplicate = Some((start as u64, (start + i64::from(seg.len)) as u64));
        }
        self.count_marks(c, seg);
        self.hurry(u32::MAX);
        self.ack.schedule();
    }

    /// RFC 5961 section 3.2: a reset counts only exactly at RCV.NXT; elsewhere in the window it is
    /// challenged. True if it counts.
    pub fn is_reset(&mut self, start: i64) -> bool {
        let exact = start == self.nxt as i64;
        if !exact {
            self.ack.at_once();
        }
        exact
    }

    /// TIME-WAIT as in FreeBSD: for a segment without SYN and RST, PAWS and window are not checked.
    /// `ack_is_newest`: it acknowledges all data that was sent. True: it is a reset.
    #[cold]
    pub fn in_time_wait_of_bsd(
        &mut self,
        c: &mut Connection,
        now: Instant,
        seg: &Segment,
        ack_is_newest: bool,
    ) -> bool {
        let start = self.offset_of(seg.seq);
        if seg.flags.has(Flags::RST) {
            return self.is_acceptable(c, start, seg) && self.is_reset(start);
        }
        if seg.flags.has(Flags::SYN) {
            self.ack.at_once();
            return false;
        }
        if !seg.flags.has(Flags::ACK) {
            return false;
        }
        let end = start + i64::from(seg.sequence_len());
        if seg.flags.has(Flags::FIN) && end == self.nxt as i64 {
            c.timers.set(Timer::TimeWait, now.saturating_add(c.config.timers.time_wait));
        }
        let repeats = start == self.nxt as i64 && ack_is_newest;
        if !repeats || seg.sequence_len() > 0 || seg.flags != Flags::ACK {
            self.ack.at_once();
        }
        false
    }
}
