//! The state of RACK-TLP (RFC 8985), the delivery-rate estimate and the undo of spurious
//! reductions: a mark per segment in flight, and the counts that follow from the marks.

use std::collections::VecDeque;
use std::ops::Range;

use lasthop_units::{Duration, Instant};

use super::digest::{AckDigest, Newest};
use super::pending::Pending;
use crate::cc::{LossSample, RateSample};

/// The state of one segment in flight; in step with the flight's records.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    /// SACKed.
    pub sacked: bool,
    /// Taken for lost and not SACKed.
    pub lost: bool,
    /// Sent again, and the retransmission is estimated to be in flight.
    pub resent: bool,
    /// Octets delivered when it was sent last.
    delivered: u64,
    delivered_at: Instant,
    first_sent: Instant,
    app_limited: bool,
    /// Segments in flight when it was sent last, itself included, and taken for lost until then.
    in_flight: u32,
    lost_before: u64,
    /// It continues the packet that the segment before belongs to (segmentation offload).
    pub joined: bool,
    /// It carries PSH, also when it is sent again.
    pub pushed: bool,
}

/// The marks and all that is derived from them.
#[derive(Clone, Debug)]
pub struct Rack {
    /// One mark per record of the flight.
    pub marks: VecDeque<Mark>,
    /// SACKed segments.
    pub sacked: u32,
    /// Packets that segments without a SACK belong to: those that begin one (segmentation offload),
    /// else each.
    pub packets: u32,
    /// Lost segments, sent again or not.
    pub lost: u32,
    /// Retransmissions in flight.
    pub resent: u32,
    /// Segments marked as lost since the start.
    pub total_lost: u64,
    /// In segments: the first since the last ACK that shows more than 2 % of loss, else the last.
    pub loss: Option<LossSample>,

    /// RACK.xmit_ts and RACK.end_seq of the segment sent last among those delivered; RACK.rtt.
    pub(super) newest: Option<(Instant, u64)>,
    pub(super) rtt: Duration,
    advanced: bool,
    /// How often reordering was observed.
    pub reordering_seen: u32,
    /// The largest distance by which a segment arrived late \[segments\], at least the duplicate
    /// threshold.
    pub reordering: u32,
    /// RACK.reo_wnd_mult, and until which offset it is not raised again.
    reo_steps: u64,
    reo_raised_at: u64,
    reo_persist: u32,
    /// Segments that the peer has reported as duplicates since the start (dsack_dups).
    pub reported_again: u64,

    /// SND.NXT when recovery or loss began.
    pub high: u64,

    delivered_at: Instant,
    first_sent: Instant,
    /// The sender ran out of data: samples up to this count of octets are application-limited; 0:
    /// it did not.
    pub app_limited: u64,
    search_from: usize,
    pub(super) pending: Pending,
}

impl Default for Rack {
    fn default() -> Rack {
        Rack {
            marks: VecDeque::new(),
            sacked: 0,
            packets: 0,
            lost: 0,
            resent: 0,
            total_lost: 0,
            loss: None,
            newest: None,
            rtt: Duration::ZERO,
            advanced: false,
            reordering_seen: 0,
            reordering: 3,
            reo_steps: 1,
            reo_raised_at: 0,
            reo_persist: 0,
            reported_again: 0,
            high: 0,
            delivered_at: Instant::ZERO,
            first_sent: Instant::ZERO,
            app_limited: 0,
            search_from: 0,
            pending: Pending::default(),
        }
    }
}

/// TCP_RACK_RECOVERY_THRESH: recoveries for which the reordering window stays wider.
const REO_PERSIST: u32 = 16;

/// net.ipv4.tcp_max_reordering.
const REORDERING_MAX: u64 = 300;

/// Sent after, in RACK's order (RFC 8985 section 6.2 step 2).
pub(super) fn sent_after(a: (Instant, u64), b: (Instant, u64)) -> bool {
    a.0 > b.0 || (a.0 == b.0 && a.1 > b.1)
}

impl Mark {
    /// It is believed to be in the network.
    #[inline]
    pub(super) const fn is_in_flight(&self) -> bool {
        !self.sacked && (!self.lost || self.resent)
    }
}

impl Rack {
    /// Segments in the network: outstanding, less SACKed and lost, with retransmissions.
    #[inline]
    pub fn in_flight(&self) -> u32 {
        (self.marks.len() as u32 + self.resent).saturating_sub(self.sacked + self.lost)
    }

    fn stamp(&mut self, now: Instant, delivered: u64) -> Mark {
        if self.in_flight() == 0 {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        Mark {
            sacked: false,
            lost: false,
            resent: false,
            delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            app_limited: self.app_limited != 0,
            in_flight: self.in_flight() + 1,
            lost_before: self.total_lost,
            joined: false,
            pushed: false,
        }
    }

    /// A new segment left.
    pub fn sent(&mut self, now: Instant, delivered: u64) {
        let mark = self.stamp(now, delivered);
        self.marks.push_back(mark);
        self.packets += 1;
    }

    /// The segment that left last belongs to the packet of the one before.
    pub fn join_last(&mut self) {
        if let Some(m) = self.marks.back_mut().filter(|m| !m.joined) {
            m.joined = true;
            self.packets -= 1;
        }
    }

    /// Segment `i` left once more.
    pub fn sent_again(&mut self, i: usize, now: Instant, delivered: u64) {
        let stamp = self.stamp(now, delivered);
        let Some(m) = self.marks.get_mut(i) else { return };
        let was = m.resent;
        *m = Mark {
            resent: true,
            sacked: m.sacked,
            lost: m.lost,
            joined: m.joined,
            pushed: m.pushed,
            ..stamp
        };
        self.resent += u32::from(!was);
        self.list_resent(i, now);
    }

    /// Segment `i`, which ends at `end` and was sent last at `at`, is delivered: SACKed, or
    /// acknowledged.
    pub fn delivered(&mut self, g: &mut AckDigest, i: usize, s: Delivered) {
        let Some(m) = self.marks.get_mut(i) else { return };
        if m.sacked {
            return;
        }
        let mark = *m;
        (m.lost, m.resent) = (false, false);
        self.note_delivered(g, &mark, &s);
    }

    /// The oldest segment is delivered, if no SACK has reported it before, and leaves.
    #[inline]
    pub fn deliver_oldest(&mut self, g: &mut AckDigest, s: &Delivered) {
        if let Some(m) = self.marks.pop_front() {
            if m.sacked {
                self.sacked -= 1;
                self.lost -= u32::from(m.lost);
                self.resent -= u32::from(m.resent);
            } else {
                self.note_delivered(g, &m, s);
                self.packets -= u32::from(!m.joined);
            }
            self.cut_before(0);
            self.pending.pop();
        }
        self.search_from = self.search_from.saturating_sub(1);
    }

    /// The segment of a mark is delivered, for the first time.
    #[inline]
    fn note_delivered(&mut self, g: &mut AckDigest, m: &Mark, s: &Delivered) {
        g.segments += 1;
        g.octets += s.octets;
        let once = s.transmissions == 1;
        if once {
            g.last_sent = Some(g.last_sent.map_or(s.at, |t| t.max(s.at)));
        }
        if g.rate.is_none_or(|r| m.delivered > r.delivered) {
            g.rate = Some(Newest {
                delivered: m.delivered,
                delivered_at: m.delivered_at,
                send_phase: s.at.since(m.first_sent),
                app_limited: m.app_limited,
                in_flight: m.in_flight,
                lost_before: m.lost_before,
            });
            self.first_sent = s.at;
        }
        self.lost -= u32::from(m.lost);
        self.resent -= u32::from(m.resent);
        // RFC 8985 section 6.2 step 2: an ACK sooner than the smallest round trip is the
        // original's. Like Linux, and unlike the RFC, this does not test the timestamp echo too.
        let rtt = s.now.since(s.at);
        if !once && rtt < s.min_rtt {
            return;
        }
        // tcp_rack_advance: RACK.rtt is that of the segment inspected last, also if an older
        // transmission is not newer; the RFC would keep the newest's.
        (self.rtt, self.advanced) = (rtt, true);
        if self.newest.is_none_or(|n| sent_after((s.at, s.end), n)) {
            self.newest = Some((s.at, s.end));
        }
    }

    /// The first of `segments`, which are in flight, that is not SACKed.
    #[inline]
    pub fn unsacked(&self, segments: Range<usize>) -> Option<usize> {
        let from = segments.start;
        self.marks.range(segments).position(|m| !m.sacked).map(|n| from + n)
    }

    /// The packet that segment `i` belongs to is cut before it.
    #[inline]
    pub fn cut_before(&mut self, i: usize) {
        if let Some(m) = self.marks.get_mut(i).filter(|m| m.joined) {
            m.joined = false;
            self.packets += u32::from(!m.sacked);
        }
    }

    /// Segment `i` is SACKed from now on.
    pub fn mark_sacked(&mut self, i: usize) {
        if let Some(m) = self.marks.get_mut(i).filter(|m| !m.sacked) {
            m.sacked = true;
            self.sacked += 1;
            self.pending.mark_sacked(i);
            self.packets -= u32::from(!m.joined);
            // What the SACK leaves of its packet is one of its own (tcp_match_skb_to_sack).
            self.cut_before(i + 1);
        }
    }

    /// RFC 8985 section 6.2 step 4: the time to wait for a segment that was sent before a delivered
    /// one.
    pub fn reo_wnd(
        &self,
        recovering: bool,
        dup_threshold: u32,
        min_rtt: Duration,
        srtt: Duration,
    ) -> Duration {
        if self.reordering_seen == 0 && (recovering || self.sacked >= dup_threshold.max(self.reordering)) {
            return Duration::ZERO;
        }
        (min_rtt / 4).saturating_mul(self.reo_steps).min(srtt)
    }

    /// An original transmission that begins at `low` was delivered after data that ends at `high`
    /// (tcp_check_sack_reordering).
    pub fn note_reordering(&mut self, low: u64, high: u64, mss: u32) {
        if low >= high {
            return;
        }
        let distance = (high - low).div_ceil(u64::from(mss.max(1))).min(REORDERING_MAX);
        self.reordering = self.reordering.max(distance as u32);
        self.reordering_seen = self.reordering_seen.saturating_add(1);
    }

    /// RFC 8985 section 6.2 step 4: a DSACK widens the window, once per round trip; after 16
    /// recoveries it resets. Unlike the RFC, Linux ignores DSACKs before reordering was observed
    /// (tcp_dsack_seen).
    pub fn note_dsack(&mut self, una: u64, nxt: u64) {
        if self.reordering_seen > 0 && una >= self.reo_raised_at {
            self.reo_steps = (self.reo_steps + 1).min(255);
            self.reo_raised_at = nxt;
            self.reo_persist = REO_PERSIST;
        }
    }
    /// DSACKs undo a recovery, which lengthens the time with the wider window (tcp_try_undo_dsack).
    pub fn note_undone_by_dsack(&mut self) {
        self.reo_persist = (self.reo_persist + 1).min(REO_PERSIST);
    }
    /// A recovery has ended without having been undone (tcp_try_undo_recovery).
    pub fn note_recovered(&mut self) {
        self.reo_persist = self.reo_persist.saturating_sub(1);
        if self.reo_persist == 0 {
            self.reo_steps = 1;
        }
    }

    /// True once after an ACK that has advanced RACK.
    pub fn take_advanced(&mut self) -> bool {
        std::mem::take(&mut self.advanced)
    }

    /// The next ACK searches for losses whatever it delivers (tcp_undo_cwnd_reduction).
    pub fn look_again(&mut self) {
        self.advanced = true;
    }

    /// Segment `i` is lost; a retransmission of it is not in flight any more.
    pub fn mark_lost(&mut self, i: usize) {
        let m = &mut self.marks[i];
        self.resent -= u32::from(m.resent);
        m.resent = false;
        self.total_lost += 1;
        let (flight, lost) = (u64::from(m.in_flight), self.total_lost - m.lost_before);
        if self.loss.is_none_or(|l| l.lost * 50 <= l.sent_in_flight) {
            self.loss = Some(LossSample { sent_in_flight: flight, lost });
        }
        if !m.lost {
            m.lost = true;
            self.lost += 1;
        }
        self.search_from = self.search_from.min(i);
    }

    /// A timeout: marks all segments that are not SACKed as lost; with `forget`, SACKed ones too.
    pub fn lose_everything(&mut self, forget: bool) {
        for m in &mut self.marks {
            m.sacked &= !forget;
        }
        self.sacked = self.marks.iter().filter(|m| m.sacked).count() as u32;
        self.packets = self.marks.iter().filter(|m| !m.sacked && !m.joined).count() as u32;
        for i in 0..self.marks.len() {
            if !self.marks[i].sacked {
                self.mark_lost(i);
            }
        }
        self.search_from = 0;
        self.pending.lose_everything(forget);
    }

    /// A timeout: marks the oldest segment as lost, and each that was sent, at a time that `sent`
    /// gives, no later than RACK.rtt ago (tcp_timeout_mark_lost).
    pub fn lose_waited(&mut self, now: Instant, sent: impl Fn(usize) -> Instant) {
        for i in 0..self.marks.len() {
            if !self.marks[i].sacked && (i == 0 || now.since(sent(i)) >= self.rtt) {
                self.mark_lost(i);
            }
        }
        self.search_from = 0;
    }

    /// Segments were sent again out of turn: the next search starts from the front.
    pub fn rewind_search(&mut self) {
        self.search_from = 0;
    }

    /// Takes the marks for lost that a loss detector has listed.
    pub(super) fn lose_listed(&mut self) {
        let mut listed = std::mem::take(&mut self.pending.overtaken);
        // In the order of the marks.
        listed.sort_unstable();
        for &i in &listed {
            // A segment that was sent again twice at one instant is in the list twice.
            if self.marks[i].is_in_flight() {
                self.mark_lost(i);
            }
        }
        listed.clear();
        self.pending.overtaken = listed;
    }

    /// Nothing is lost after all.
    pub fn unlose(&mut self) {
        for m in &mut self.marks {
            m.lost = false;
        }
        self.lost = 0;
        self.pending.unlose();
    }

    /// The oldest segment counts as sent once (tcp_enter_frto).
    pub fn clear_resent_head(&mut self) {
        if let Some(m) = self.marks.front_mut().filter(|m| m.resent) {
            m.resent = false;
            self.resent -= 1;
        }
    }

    /// The lowest segment that is lost and was not sent again.
    pub fn next_lost(&mut self) -> Option<usize> {
        if self.lost == 0 {
            return None;
        }
        let i = (self.search_from..self.marks.len()).find(|&i| self.marks[i].lost && !self.marks[i].resent);
        self.search_from = i.unwrap_or(self.marks.len());
        i
    }

    /// The rate of this ACK. `total` counts octets delivered, this ACK's included.
    pub fn rate(
        &mut self,
        g: &AckDigest,
        now: Instant,
        total: u64,
        flight: u64,
        min_rtt: Duration,
        mss: u32,
    ) -> Option<RateSample> {
        if self.app_limited != 0 && total > self.app_limited {
            self.app_limited = 0;
        }
        if g.segments > 0 {
            self.delivered_at = now;
        }
        let n = g.rate?;
        let interval = n.send_phase.max(now.since(n.delivered_at));
        if interval < min_rtt {
            return None;
        }
        Some(RateSample {
            delivered: total - n.delivered,
            interval,
            prior_delivered: n.delivered,
            prior_in_flight: flight,
            sent_in_flight: u64::from(n.in_flight) * u64::from(mss),
            lost: (self.total_lost - n.lost_before) * u64::from(mss),
            app_limited: n.app_limited,
        })
    }
}

/// A segment that is delivered.
#[derive(Clone, Copy, Debug)]
pub struct Delivered {
    /// When its ACK came.
    pub now: Instant,
    /// When it was sent last.
    pub at: Instant,
    /// Its end.
    pub end: u64,
    /// Its octets.
    pub octets: u64,
    /// How often it was sent.
    pub transmissions: u32,
    /// The smallest round trip.
    pub min_rtt: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }
    const fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    /// Ten segments of 1000, sent 1 ms apart from 100 ms on.
    fn ten() -> Rack {
        let mut r = Rack::default();
        (0..10).for_each(|i| r.sent(at(100 + i), 0));
        r
    }
    fn record(i: usize) -> (Instant, u64, u32) {
        (at(100 + i as u64), (i as u64 + 1) * 1000, 1)
    }
    fn deliver(r: &mut Rack, i: usize, now: u64) -> AckDigest {
        let mut g = AckDigest::default();
        let (sent, end, transmissions) = record(i);
        let s = Delivered { now: at(now), at: sent, end, octets: 1000, transmissions, min_rtt: ms(50) };
        r.delivered(&mut g, i, s);
        r.mark_sacked(i);
        g
    }

    #[test]
    fn what_was_sent_before_a_delivered_segment_is_lost_after_rtt_and_window() {
        let mut r = ten();
        // Segment 3, sent at 103, arrives at 153: RTT 50. Segment 0 is due at 100 + 50 + 10 = 160,
        // segment 2 at 162.
        deliver(&mut r, 3, 153);
        assert_eq!(r.detect_by_time(at(153), ms(10), record), Some(at(162)));
        assert_eq!((r.lost, r.in_flight()), (0, 9));
        assert_eq!(r.detect_by_time(at(161), ms(10), record), Some(at(162)));
        assert_eq!((r.lost, r.in_flight()), (2, 7));
        assert_eq!(r.detect_by_time(at(162), ms(10), record), None);
        assert_eq!(r.lost, 3);
        assert_eq!(r.next_lost(), Some(0));
        assert_eq!((r.unsacked(3..10), r.unsacked(3..4), r.unsacked(0..0)), (Some(4), None, None));
        r.sent_again(0, at(163), 1000);
        assert_eq!((r.next_lost(), r.in_flight()), (Some(1), 7));
    }

    #[test]
    fn the_window_is_zero_without_reordering_and_a_quarter_of_the_round_trip_with() {
        let mut r = ten();
        assert_eq!(r.reo_wnd(false, 3, ms(40), ms(50)), ms(10));
        assert_eq!(r.reo_wnd(true, 3, ms(40), ms(50)), Duration::ZERO);
        for i in 1..4 {
            deliver(&mut r, i, 160);
        }
        assert_eq!(r.reo_wnd(false, 3, ms(40), ms(50)), Duration::ZERO, "three SACKed");
        r.reordering_seen = 1;
        assert_eq!(r.reo_wnd(true, 3, ms(40), ms(50)), ms(10));
        // Each DSACK of a new round trip adds a quarter, up to SRTT.
        r.note_dsack(0, 10_000);
        r.note_dsack(5000, 11_000);
        assert_eq!(r.reo_wnd(true, 3, ms(40), ms(50)), ms(20));
        (0..9).for_each(|n| r.note_dsack(20_000 * (n + 1), 20_000 * (n + 1)));
        assert_eq!(r.reo_wnd(true, 3, ms(40), ms(50)), ms(50));
        // 15 recoveries, one that DSACKs undo, and two more: 16 - 15 + 1 - 2.
        (0..15).for_each(|_| r.note_recovered());
        r.note_undone_by_dsack();
        r.note_recovered();
        assert_eq!(r.reo_wnd(true, 3, ms(40), ms(50)), ms(50));
        r.note_recovered();
        assert_eq!(r.reo_wnd(true, 3, ms(40), ms(50)), ms(10));
    }

    #[test]
    fn the_rate_is_what_was_delivered_over_the_longer_of_send_and_ack_phase() {
        let mut r = ten();
        // Two segments arrive 10 ms apart: 100 kB/s.
        let g = deliver(&mut r, 0, 150);
        // The first: sent when nothing was in flight: 1000 octets in the 50 ms since.
        let s = r.rate(&g, at(150), 1000, 0, ms(50), 1000).unwrap();
        assert_eq!((s.delivered, s.interval, s.prior_delivered), (1000, ms(50), 0));
        r.sent(at(150), 1000);
        let mut g = AckDigest::default();
        let s = Delivered {
            now: at(250),
            at: at(150),
            end: 11_000,
            octets: 1000,
            transmissions: 1,
            min_rtt: ms(50),
        };
        r.delivered(&mut g, 10, s);
        let s = r.rate(&g, at(250), 11_000, 0, ms(50), 1000).unwrap();
        assert_eq!((s.delivered, s.interval, s.app_limited), (10_000, ms(100), false));
        // Shorter than the smallest round trip: no sample.
        assert_eq!(r.rate(&g, at(260), 12_000, 0, ms(500), 1000), None);
    }
}
