//! Segmentation offload: how Linux cuts written data into packets of many segments. It determines
//! which segments leave together, which carry PSH, and when a packet waits for more data.
//! [`Segment`]s are still sent one by one. Those of a packet are sent at one instant, and the last
//! of them carries PSH.

use std::collections::VecDeque;

use lasthop_units::{Duration, Instant};

use super::super::connection::Connection;
use super::super::meters::Activity;
use super::super::receive::Receiver;
use super::detector::{Detector, LossRecovery};
use super::dispatch::by_detector;
use super::in_flight::InFlight;
use super::limit::Limit;
use super::sequence::SendSequence;
use super::{Limits, Next, Sender};
use crate::cc::CongestionControl;
use crate::config::Config;
use crate::host::Offload;
use crate::recovery::CaState;
use crate::segment::{Flags, Segment};

/// bbr_min_tso_rate, 1.2 Mbit/s \[octets/s\].
const MIN_TSO_RATE: f64 = 150_000.0;

/// What may wait to be sent where no send buffer limits it \[octets\].
pub(super) const UNSENT_MAX: u64 = 4 << 20;

/// The application's hints about a write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteHint {
    /// More data will follow soon: a partial segment waits for it (MSG_MORE).
    pub more: bool,
    /// A record ends here: no later data shares a segment with it (MSG_EOR).
    pub record_end: bool,
}

/// Data that was written and not yet sent, divided into packets.
#[derive(Clone, Debug, Default)]
pub struct WriteQueue {
    chunks: VecDeque<Chunk>,
    /// Up to where PSH was last requested.
    pushed_to: u64,
    /// After the last packet that was smaller than its number of segments allows (Minshall's
    /// Nagle).
    small_to: u64,
    /// Segments that have been cut and wait for `poll_transmit`.
    pub out: VecDeque<Segment>,
    /// An ACK or a timer is a reason to check the queue.
    look: bool,
    /// The check is that of a close, which holds nothing back.
    closing: bool,
}

#[derive(Clone, Copy, Debug)]
struct Chunk {
    end: u64,
    push: bool,
    record_end: bool,
}

/// What may keep a small packet.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Urge {
    /// As the application has set it.
    AsSet,
    /// MSG_MORE: full segments only.
    Cork,
    /// Everything.
    Push,
}

/// Why a packet waits for more.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Defer {
    /// It does not.
    No,
    /// For room in the congestion window.
    ForCwnd,
    /// For a larger packet, or for the peer's window.
    ForWindow,
}

/// A packet that may leave now.
struct Cut {
    len: u64,
    /// The most that a packet of several segments holds; 0 where it was not asked for.
    largest: u64,
    fin: bool,
    push: bool,
    whole: bool,
}

impl Limits {
    /// An ACK or a timer is a reason to check the queue.
    pub fn look_at_queue(&mut self) {
        if let Some(q) = self.queue.as_mut() {
            q.look = true;
        }
    }

    /// A close sends what Nagle's algorithm or a cork holds back (tcp_send_fin: TCP_NAGLE_OFF).
    pub fn push_at_close(&mut self) {
        if let Some(q) = self.queue.as_mut() {
            (q.look, q.closing) = (true, true);
        }
    }

    /// A segment that was cut before and waits.
    #[cold]
    #[inline(never)]
    pub fn pop_cut(&mut self) -> Option<Segment> {
        self.queue.as_mut()?.out.pop_front()
    }
}

impl Sender {
    /// tcp_sendmsg: chunks are filled to the largest packet, and packets leave while they fill.
    pub fn write_packets(
        &mut self,
        c: &mut Connection,
        r: &mut Receiver,
        now: Instant,
        n: u64,
        hint: WriteHint,
    ) -> u64 {
        let goal = self.seq.packet_goal(c);
        let n = n.min((1 << 60) - self.seq.written.min(1 << 60));
        // The overhead of packets that leave during the write does not reduce what `writable` has
        // announced.
        let promised = if self.limits.memory.is_some() { self.writable(c) } else { 0 };
        let mut copied = 0;
        while copied < n {
            let start = self.seq.max;
            let free = copied < promised || self.may_queue(c);
            let Some(q) = self.limits.queue.as_mut() else { break };
            let before = q.chunks.len().checked_sub(2).and_then(|i| q.chunks.get(i)).map_or(start, |c| c.end);
            let open = q.chunks.back().filter(|c| !c.record_end && c.end - before < goal);
            if open.is_none() {
                if !free {
                    break;
                }
                q.chunks.push_back(Chunk { end: self.seq.written, push: false, record_end: false });
            }
            let from = open_start(q, start);
            let Some(tail) = q.chunks.back_mut() else { break };
            let take = (goal - (tail.end - from)).min(n - copied);
            tail.push &= copied > 0;
            tail.end += take;
            c.meters.chrono.start(now, Activity::Busy);
            self.seq.written += take;
            self.seq.room_moved = true;
            copied += take;
            let full = tail.end - from >= goal;
            if copied == n {
                tail.record_end |= hint.record_end;
            } else if full {
                self.push_while_writing(c, r, now);
            }
        }
        c.meters.chrono.wants_room = copied < n;
        if copied > 0 {
            let more = hint.more && copied == n;
            if let Some(q) = self.limits.queue.as_mut() {
                let far = q.is_far_unpushed(&self.seq);
                // This is the check of the queue that an ACK or a timer may have requested.
                q.look = false;
                if !more || far {
                    q.mark_push(self.seq.written);
                }
            }
            let urge = match (copied < n, more || self.limits.corked) {
                (true, _) => Urge::Push,
                (false, true) => Urge::Cork,
                (false, false) => Urge::AsSet,
            };
            self.cut_packets(c, r, now, urge, u32::MAX);
        }
        copied
    }

    /// Data that was written before the handshake is cut again by the negotiated segment size.
    /// Linux' writers wait for the handshake (sk_stream_wait_connect).
    pub fn cut_queue_anew(&mut self, c: &mut Connection) {
        let (mut at, goal) = (self.seq.max, self.seq.packet_goal(c));
        let Some(q) = self.limits.queue.as_mut() else { return };
        let old = std::mem::take(&mut q.chunks);
        let push = old.back().is_some_and(|c| c.push);
        let ends = old.iter().filter(|c| c.record_end).map(|c| (c.end, true));
        for (to, record_end) in ends.chain([(self.seq.written, false)]) {
            while at < to {
                let end = to.min(at + goal);
                q.chunks.push_back(Chunk { end, push: false, record_end: record_end && end == to });
                at = end;
            }
        }
        if let Some(tail) = q.chunks.back_mut() {
            tail.push = push;
        }
    }

    fn push_while_writing(&mut self, c: &mut Connection, r: &mut Receiver, now: Instant) {
        let Some(q) = self.limits.queue.as_mut() else { return };
        if q.is_far_unpushed(&self.seq) {
            q.mark_push(self.seq.written);
            self.cut_packets(c, r, now, Urge::Push, u32::MAX);
        } else if q.chunks.len() == 1 {
            self.cut_packets(c, r, now, Urge::Push, 1);
        }
    }

    /// The send buffer lets a new chunk begin (sk_stream_memory_free): it may be overdrawn by that
    /// one.
    fn may_queue(&self, c: &Connection) -> bool {
        let free = match (c.config.buffers.send_buffer, self.limits.memory) {
            (None, Some(memory)) => memory.is_free(self.memory_queued(c)),
            (Some(size), _) => self.seq.written - self.seq.una.clamp(1, self.seq.written) < size,
            (None, None) => self.seq.notsent() < UNSENT_MAX,
        };
        free && self.seq.notsent() < self.limits.notsent_limit
    }

    /// Sends the data held back by Nagle's algorithm or a cork, as far as the other of the two
    /// permits it.
    pub fn uncork(&mut self, c: &mut Connection, r: &mut Receiver, now: Instant) {
        if self.limits.queue.is_some() && c.state.is_synchronized() {
            let urge = if c.config.acks.nagle { Urge::AsSet } else { Urge::Push };
            self.cut_packets(c, r, now, urge, u32::MAX);
            self.update_timers(c, now);
        }
    }

    /// The persist timer: sends the data held back, one segment of it or as much as the window
    /// permits, with PSH (tcp_write_wakeup).
    pub fn wake_queue(&mut self, c: &mut Connection, r: &mut Receiver, now: Instant) {
        let Some(q) = self.limits.queue.as_ref() else { return };
        let cut = q.cut(c, &self.seq, &self.fly, Urge::Push, true);
        let Some(mut cut) = cut.or_else(|| q.cut_by_window(c, &self.seq)) else { return };
        cut.push = true;
        self.send_cut(c, r, now, &cut);
    }

    /// New packets.
    #[cold]
    #[inline(never)]
    pub fn send_packets(&mut self, c: &mut Connection, r: &mut Receiver, now: Instant) -> Option<Segment> {
        let look = self.limits.queue.as_mut().is_some_and(|q| std::mem::take(&mut q.look));
        if look {
            let closing = self.limits.queue.as_mut().is_some_and(|q| std::mem::take(&mut q.closing));
            let urge = match (closing, self.limits.corked) {
                (true, _) => Urge::Push,
                (false, true) => Urge::Cork,
                (false, false) => Urge::AsSet,
            };
            self.cut_packets(c, r, now, urge, u32::MAX);
        }
        let segment = self.limits.queue.as_mut()?.out.pop_front();
        self.next = Next::nothing_if(segment.is_some() && self.is_queue_spent());
        segment
    }

    /// True if all segments that were cut have left, and until the next input nothing is cut or
    /// sent again.
    pub fn is_queue_spent(&self) -> bool {
        self.limits.queue.as_ref().is_some_and(|q| q.out.is_empty() && !q.look)
            && self.fly.recovery.state() == CaState::Open
            && self.fly.rack.lost == 0
            && self.seq.nxt == self.seq.max
            && !self.fly.tlp.due
            && !self.probe_due
            && !self.fly.recovery.head_is_due()
    }

    /// Retransmits lost segments that were sent as one packet as one packet again, up to `room`
    /// segments.
    #[cold]
    #[inline(never)]
    pub fn resend_packet(
        &mut self,
        c: &mut Connection,
        r: &mut Receiver,
        now: Instant,
        i: usize,
        room: u32,
    ) -> Segment {
        let most = room.min(self.fly.segments_per_packet(c)).max(1) as usize;
        let mut n = 1;
        while n < most && self.fly.rack.marks.get(i + n).is_some_and(|m| m.joined && m.lost && !m.resent) {
            n += 1;
        }
        self.fly.rack.cut_before(i);
        self.fly.rack.cut_before(i + n);
        let mut first = self.resend_lost(c, r, now, i);
        let mut octets = u64::from(first.len);
        if n == 1 {
            self.pacing.left(c, &self.fly, now, octets as u32, octets as u32);
            return first;
        }
        first.flags.set(Flags::PSH, false);
        for j in 1..n {
            let mut segment = self.resend_record(c, r, now, i + j);
            segment.flags.set(Flags::PSH, j + 1 == n);
            octets += u64::from(segment.len);
            if let Some(q) = self.limits.queue.as_mut() {
                q.out.push_back(segment);
            }
        }
        self.fly.rack.rewind_search();
        self.pacing.left(c, &self.fly, now, octets as u32, octets as u32);
        first
    }

    /// A tail loss probe with new data: one segment, independent of the congestion window.
    pub fn probe_with_packet(
        &mut self,
        c: &mut Connection,
        r: &mut Receiver,
        now: Instant,
    ) -> Option<Segment> {
        let cut = self.next_cut(c, Urge::Push, true)?;
        self.send_cut(c, r, now, &cut);
        self.limits.queue.as_mut()?.out.pop_front()
    }

    /// tcp_write_xmit: packets leave while the windows, Nagle and the wait for larger packets let
    /// them.
    fn cut_packets(
        &mut self,
        c: &mut Connection,
        r: &mut Receiver,
        now: Instant,
        urge: Urge,
        packets_max: u32,
    ) {
        if !c.state.may_send() || self.seq.nxt < self.seq.max {
            return;
        }
        let mut packets = 0;
        let small_window = loop {
            if packets >= packets_max || self.pacing.holds(c, now) {
                break false;
            }
            let one = packets_max == 1;
            let Some(cut) = self.next_cut(c, urge, false) else {
                break self.fly.is_window_too_small(c, &self.seq);
            };
            if !one && self.defers(c, now, &cut) {
                break false;
            }
            self.send_cut(c, r, now, &cut);
            packets += 1;
        };
        self.account_for_limits(c, now, small_window);
        let full = self.fly.room(c) == 0;
        if packets > 0 || full {
            self.limits.usage.note(&self.seq, &self.fly, full);
        }
        by_detector!(self.fly, D => {
            if packets > 0 {
                D::after_new_data(&mut LossRecovery::of(self, c, now));
            }
            if !self.seq.waits() && !full {
                D::note_app_limited(&mut self.fly, c.negotiated.mss);
            }
        });
    }

    fn next_cut(&self, c: &Connection, urge: Urge, probe: bool) -> Option<Cut> {
        self.limits.queue.as_ref()?.cut(c, &self.seq, &self.fly, urge, probe)
    }

    /// The packet waits for more.
    fn defers(&mut self, c: &Connection, now: Instant, cut: &Cut) -> bool {
        let Some(q) = self.limits.queue.as_ref() else { return false };
        let recent = now.since(self.last_sent) < Duration::from_millis(1);
        let defer = q.defers(c, &self.seq, &self.fly, now, recent, cut);
        if defer == Defer::ForCwnd {
            self.limits.usage.note(&self.seq, &self.fly, true);
        }
        defer != Defer::No
    }

    fn account_for_limits(&mut self, c: &mut Connection, now: Instant, small_window: bool) {
        if small_window {
            c.meters.chrono.start(now, Activity::WindowLimited);
        } else {
            c.meters.chrono.stop(now, Activity::WindowLimited, self.seq.una == self.seq.end());
        }
        if self.seq.max == self.seq.end() && self.seq.is_outstanding() && c.meters.chrono.wants_room {
            c.meters.chrono.start(now, Activity::BufferLimited);
        } else if self.seq.max < self.seq.end() {
            c.meters.chrono.stop(now, Activity::BufferLimited, false);
        }
    }

    /// A segment arrived: a reason to check the queue, and possibly the end of being busy.
    #[cold]
    #[inline(never)]
    pub fn queue_after_input(&mut self, c: &mut Connection, now: Instant) {
        self.limits.look_at_queue();
        if self.seq.una >= self.seq.written {
            c.meters.chrono.stop(now, Activity::Busy, true);
        }
    }

    /// A packet leaves as its segments.
    fn send_cut(&mut self, c: &mut Connection, r: &mut Receiver, now: Instant, cut: &Cut) {
        let (mut at, stop) = (self.seq.max, self.seq.max + cut.len);
        let mss = u64::from(c.negotiated.mss);
        let several = cut.len > mss;
        if let Some(q) = self.limits.queue.as_mut() {
            if cut.whole {
                q.chunks.pop_front();
            }
            if cut.len < cut.len.div_ceil(mss) * mss {
                q.small_to = stop;
            }
        }
        let start = at;
        loop {
            let data_end = (at + mss).min(stop);
            let last = data_end == stop;
            let end = data_end + u64::from(last && cut.fin);
            let push = last && (several || cut.push);
            self.push_sent(at, end, now);
            if at > start {
                self.fly.rack.join_last();
            }
            if let Some(mark) = self.fly.rack.marks.back_mut() {
                mark.pushed = last && cut.push;
            }
            let mut segment = Segment::default();
            self.make_data(c, r, now, at, end, &mut segment);
            segment.flags.set(Flags::PSH, push);
            c.ecn.on_new_data(&c.config, &mut segment);
            if let Some(q) = self.limits.queue.as_mut() {
                q.out.push_back(segment);
            }
            at = data_end;
            if last {
                break;
            }
        }
        self.pacing.left(c, &self.fly, now, cut.len as u32, cut.len as u32);
    }
}

impl InFlight {
    /// True if the peer's window prevents the next segment, not the congestion window.
    fn is_window_too_small(&self, c: &Connection, seq: &SendSequence) -> bool {
        let waiting = seq.end() - seq.max.min(seq.end());
        let next = waiting.min(u64::from(c.negotiated.mss));
        waiting > 0 && self.quota(c, false) > 0 && seq.max + next > seq.window_edge()
    }

    /// tcp_cwnd_test: at most half the window in one packet; a lone FIN always.
    fn quota(&self, c: &Connection, lone_fin: bool) -> u32 {
        if lone_fin {
            return 1;
        }
        let window = self.whole_window(c);
        self.room_in(window, c).min((window / 2).max(1))
    }

    /// Segments that the congestion window still holds.
    #[inline]
    fn room(&self, c: &Connection) -> u32 {
        self.room_in(self.whole_window(c), c)
    }

    #[inline]
    fn room_in(&self, window: u32, c: &Connection) -> u32 {
        by_detector!(self, D => {
            let room = f64::from(window) + D::inflation(self, &c.config) - f64::from(D::in_flight(self));
            room.max(0.0) as u32
        })
    }

    /// tcp_tso_autosize: what the rate sends in a millisecond, and more when the round trip is
    /// short.
    fn segments_per_packet(&self, c: &Connection) -> u32 {
        let Some(o) = c.config.host.offload else { return 1 };
        let size_max = f64::from(o.size_max);
        // sk_pacing_rate: the algorithm's own where it has one, and at most sk_max_pacing_rate.
        let own = self.cc.pacing_rate().map(|r| r.0 as f64 / 8.0);
        let most = c.config.growth.max_pacing_rate.map_or(f64::INFINITY, |r| r.0 as f64 / 8.0);
        let rate = own.unwrap_or_else(|| self.rate_by_window(c)).min(most);
        // bbr_min_tso_segs: below 1.2 Mbit/s one segment at a time.
        let least = if own.is_some() && rate < MIN_TSO_RATE { 1 } else { o.segments_min };
        let mut octets = rate / 1024.0;
        if let Some(rtt) = c.rtt.min {
            let halvings = (rtt.as_micros() >> o.rtt_log).min(32);
            octets += if halvings < 32 { f64::from(o.size_max >> halvings) } else { 0.0 };
        }
        ((octets.min(size_max) / f64::from(c.negotiated.mss)) as u32).max(least)
    }

    /// The rate that Linux paces at, whether a qdisc does it or not \[octets/s\].
    fn rate_by_window(&self, c: &Connection) -> f64 {
        let Some(srtt) = c.rtt.rto.srtt().filter(|s| !s.is_zero()) else { return f64::INFINITY };
        let cwnd = self.cc.cwnd();
        let factor = if cwnd < self.cc.ssthresh() / 2.0 { 2.0 } else { 1.2 };
        factor * cwnd.max(self.flight.len() as f64) * f64::from(c.negotiated.mss) / srtt.as_secs_f64()
    }
}

/// The start of the last chunk, if the unsent data begins at `start`.
fn open_start(q: &WriteQueue, start: u64) -> u64 {
    q.chunks.len().checked_sub(2).and_then(|i| q.chunks.get(i)).map_or(start, |c| c.end)
}

impl WriteQueue {
    /// Where the oldest chunk ends.
    fn first_end(&self, seq: &SendSequence) -> u64 {
        self.chunks.front().map_or(seq.written, |chunk| chunk.end)
    }

    /// True if the FIN is in the oldest chunk, because it is the last.
    fn first_has_fin(&self, seq: &SendSequence) -> bool {
        self.chunks.len() <= 1 && seq.close_requested && seq.waits()
    }

    /// The next packet as the windows and Nagle's algorithm allow it; with `probe` one segment
    /// beyond them.
    fn cut(
        &self,
        c: &Connection,
        seq: &SendSequence,
        fly: &InFlight,
        urge: Urge,
        probe: bool,
    ) -> Option<Cut> {
        let (start, mss) = (seq.max, u64::from(c.negotiated.mss));
        let last = self.chunks.len() <= 1;
        let fin = self.first_has_fin(seq);
        let len = self.first_end(seq).saturating_sub(start);
        if len == 0 && !fin {
            return None;
        }
        let segments = len.div_ceil(mss).max(1);
        let quota = match fly.quota(c, fin && segments == 1) {
            0 if probe => 1,
            0 => return None,
            n => n,
        };
        let wnd_edge = seq.window_edge();
        let first_end = start + len.min(mss) + u64::from(fin && segments == 1);
        if first_end > wnd_edge {
            return None;
        }
        let mut largest = 0;
        let room = if segments == 1 {
            // tcp_nagle_test: only the last packet can wait.
            let held = last && len < mss && !fin && self.is_held_by_nagle(c, seq, urge);
            if held && !probe {
                return None;
            }
            len
        } else {
            let most = if probe {
                mss
            } else {
                largest = u64::from(fly.segments_per_packet(c)) * mss;
                largest.min(u64::from(quota) * mss)
            };
            // tcp_mss_split_point: Nagle's rule cuts off the part after the last full segment of
            // the last packet, with a FIN too, and of any packet where the peer's window is smaller
            // than the largest packet.
            let window = wnd_edge - start;
            let needed = len.min(window);
            let part = needed % mss;
            let may_wait = part > 0 && (last || most > window);
            match most <= needed {
                true => most,
                false if may_wait && self.is_held_by_nagle(c, seq, urge) => needed - part,
                false => needed,
            }
        };
        let whole = room == len;
        Some(Cut {
            len: room,
            largest,
            fin: fin && whole,
            push: whole && self.chunks.front().is_some_and(|chunk| chunk.push),
            whole,
        })
    }

    /// A part of the next segment: what a window below one segment takes.
    fn cut_by_window(&self, c: &Connection, seq: &SendSequence) -> Option<Cut> {
        let end = self.first_end(seq);
        let len = end.min(seq.window_edge()).saturating_sub(seq.max).min(u64::from(c.negotiated.mss));
        (len > 0).then_some(Cut { len, largest: 0, fin: false, push: true, whole: seq.max + len == end })
    }

    /// tcp_nagle_check: a small packet waits for corked data, and while another small one is
    /// outstanding.
    fn is_held_by_nagle(&self, c: &Connection, seq: &SendSequence, urge: Urge) -> bool {
        match urge {
            Urge::Push => false,
            Urge::Cork => true,
            Urge::AsSet => c.config.acks.nagle && seq.is_outstanding() && self.small_to > seq.una,
        }
    }

    /// tcp_tso_should_defer: a packet of several segments waits for the ACKs that will make it
    /// larger. `recent`: data left within the last millisecond.
    fn defers(
        &self,
        c: &Connection,
        seq: &SendSequence,
        fly: &InFlight,
        now: Instant,
        recent: bool,
        cut: &Cut,
    ) -> Defer {
        let Some(Offload { window_divisor, .. }) = c.config.host.offload else { return Defer::No };
        let mss = u64::from(c.negotiated.mss);
        let len = self.first_end(seq) - seq.max;
        let recovering = matches!(fly.recovery.state(), CaState::Recovery | CaState::Loss);
        if len <= mss || recovering || !recent {
            return Defer::No;
        }
        let wnd_room = seq.window_edge().saturating_sub(seq.max);
        let cwnd_room = u64::from(fly.room(c)) * mss;
        let limit = wnd_room.min(cwnd_room);
        if limit >= cut.largest || (self.chunks.len() > 1 && limit >= len) {
            return Defer::No;
        }
        let window = seq.wnd.min(fly.cc.cwnd() as u64 * mss);
        if window_divisor > 0 && limit >= window / u64::from(window_divisor) {
            return Defer::No;
        }
        let Some(head) = fly.flight.front() else { return Defer::No };
        let srtt = c.rtt.rto.srtt().unwrap_or(Duration::ZERO);
        if now.since(head.at) < srtt / 2 {
            return Defer::No;
        }
        if cwnd_room < wnd_room {
            if cwnd_room <= len {
                return Defer::ForCwnd;
            }
        } else if wnd_room <= len {
            return Defer::ForWindow;
        }
        let ends = self.first_has_fin(seq) || self.chunks.front().is_some_and(|chunk| chunk.record_end);
        if ends { Defer::No } else { Defer::ForWindow }
    }

    /// The limit of the next packet, in the order of tcp_write_xmit. Time alone is no reason to
    /// check the queue: a packet that waits for more data waits until an ACK arrives.
    pub fn limit(&self, c: &Connection, seq: &SendSequence, fly: &InFlight, corked: bool) -> Limit {
        if fly.room(c) == 0 {
            return Limit::CongestionWindow;
        }
        if fly.is_window_too_small(c, seq) {
            return Limit::ReceiveWindow;
        }
        let urge = if corked { Urge::Cork } else { Urge::AsSet };
        let Some(cut) = self.cut(c, seq, fly, urge, false) else { return Limit::SmallSegment };
        match self.defers(c, seq, fly, Instant::MAX, true, &cut) {
            Defer::ForCwnd => Limit::CongestionWindow,
            Defer::ForWindow => Limit::SmallSegment,
            // Written with the hint that more is to come: nothing has requested it since.
            Defer::No if seq.notsent() < u64::from(c.negotiated.mss) => Limit::SmallSegment,
            Defer::No => Limit::Other,
        }
    }

    /// forced_push: half the peer's largest window without PSH.
    const fn is_far_unpushed(&self, seq: &SendSequence) -> bool {
        let pushed = if self.pushed_to > 1 { self.pushed_to } else { 1 };
        seq.written > pushed + seq.max_wnd / 2
    }

    /// The room in the last packet until it is as large as `goal`; the unsent data begins at
    /// `start`.
    pub fn open_room(&self, start: u64, goal: u64) -> u64 {
        let open = self.chunks.back().filter(|c| !c.record_end);
        open.map_or(0, |c| goal.saturating_sub(c.end - open_start(self, start)))
    }

    /// Packets that have not been sent.
    pub fn packets_waiting(&self) -> usize {
        self.chunks.len()
    }

    fn mark_push(&mut self, written: u64) {
        if let Some(tail) = self.chunks.back_mut() {
            tail.push = true;
        }
        self.pushed_to = written;
    }
}

/// Whether a configuration cuts packets.
pub fn is_wanted(config: &Config) -> bool {
    config.host.offload.is_some() && config.sends_as_linux()
}
