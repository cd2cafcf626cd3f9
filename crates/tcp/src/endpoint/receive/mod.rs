//! The receiver: text and FIN of a segment (RFC 9293 section 3.10.7.4, seventh and eighth), and the
//! window.

mod acceptance;
mod ahead;
mod header;
mod window;

use lasthop_units::{Duration, Instant, Seq, StreamOffset};

use super::connection::Connection;
use super::ecn::Prompt;
use super::meters::Event;
use super::timers::Timer;
use crate::ack_linux::{Arrival, LinuxAcks, Unread};
use crate::ack_policy::AckPolicy;
use crate::config::Config;
use crate::hint::Guidance;
use crate::host::AckRule;
use crate::reassembly::Reassembly;
use crate::right_sizing::RightSizing;
use crate::sample::timestamp;
use crate::segment::{Flags, Segment};
use crate::state::{Input, State};
use ahead::Ahead;
use window::Offered;

/// The receiving half: what arrives, and what is acknowledged of it.
#[derive(Clone, Debug)]
pub(super) struct Receiver {
    irs: Seq,
    pub nxt: u64,
    /// The right edge of the window we advertised: never moves left (RFC 9293 section 3.8.6).
    pub edge: u64,
    /// The last offer of the window.
    offered: Offered,
    /// The offset up to which the application has read.
    read_to: u64,
    /// The offset of the peer's FIN, once known.
    peer_fin: Option<u64>,
    /// The peer opened: until the handshake is done only the window of the SYN-ACK exists.
    passive: bool,
    last_ack_sent: u64,
    /// With `ack_ahead`: the lead of ACKs, and the octets that were skipped.
    ahead: Ahead,
    /// With `split_acks`: parts of the divided ACK that are still to be sent.
    parts_left: u32,
    reassembly: Reassembly,
    pub ack: AckPolicy,
    /// The size of the receive buffer, where it is no fixed one.
    sizing: Option<Box<RightSizing>>,
    /// A duplicate to report (RFC 2883).
    duplicate: Option<(u64, u64)>,
    /// The application will not read any more.
    pub reader_gone: bool,
    /// When a segment with data arrived last.
    pub last_data_at: Instant,
    /// TS.Recent (RFC 7323 section 4.3), and since when.
    pub ts_recent: u32,
    ts_recent_at: Instant,
    /// The hint about the peer's last hop that our bare ACKs carry, and when it was measured.
    pub guidance: Option<(Instant, Guidance)>,
}

fn ack_policy(config: &Config) -> AckPolicy {
    match config.host.acks {
        rule if rule.is_linux() => {
            let linux =
                LinuxAcks::new(config.acks.ack_delay, config.acks.quick_acks, rule, config.kernel_timers());
            AckPolicy::linux(config.acks.ack_delay, linux)
        }
        _ => AckPolicy::new(config.acks.ack_every, config.acks.ack_delay, config.acks.quick_acks),
    }
}

impl Receiver {
    pub fn new(config: &Config) -> Receiver {
        Receiver {
            irs: Seq(0),
            nxt: 0,
            edge: 0,
            offered: Offered::default(),
            read_to: 1,
            peer_fin: None,
            passive: false,
            last_ack_sent: 0,
            ahead: Ahead::default(),
            parts_left: 0,
            reassembly: Reassembly::default(),
            ack: ack_policy(config),
            sizing: None,
            duplicate: None,
            reader_gone: false,
            last_data_at: Instant::ZERO,
            ts_recent: 0,
            ts_recent_at: Instant::ZERO,
            guidance: None,
        }
    }

    #[inline]
    pub fn seq_of(&self, offset: u64) -> Seq {
        StreamOffset(offset).wrap(self.irs)
    }

    /// The offset in the peer's stream of a number near RCV.NXT.
    #[inline]
    pub fn offset_of(&self, seq: Seq) -> i64 {
        self.nxt as i64 + i64::from(seq.distance_from(self.seq_of(self.nxt)))
    }

    /// The peer's SYN has arrived.
    pub fn take_syn(&mut self, c: &Connection, now: Instant, seg: &Segment, passive: bool) {
        self.irs = seg.seq;
        self.nxt = 1;
        self.read_to = 1;
        self.passive |= passive;
        self.edge = 1 + self.first_window(c);
        if let Some(t) = seg.timestamps {
            self.ts_recent = t.value;
            self.ts_recent_at = now;
        }
    }

    /// The window that the SYN-ACK will offer, once its options are known.
    pub fn offer_first_window(&mut self, c: &Connection) {
        self.edge = 1 + self.first_window(c);
    }

    /// The number that an ACK carries which leaves now.
    pub fn acknowledge(&mut self) -> Seq {
        self.last_ack_sent = self.nxt;
        self.seq_of(self.nxt)
    }

    /// After the last octet of data received in order: RCV.NXT without the FIN.
    #[inline]
    pub fn data_end(&self) -> u64 {
        match self.peer_fin {
            Some(fin) => self.nxt.min(fin),
            None => self.nxt,
        }
    }

    /// Octets of the peer's data received in order and handed to the application.
    #[inline]
    pub fn in_order_received(&self, c: &Connection) -> u64 {
        let end = if c.config.growth.reads_at_once() { self.data_end() } else { self.read_to };
        end.saturating_sub(1 + self.ahead.skipped)
    }

    /// Octets of the peer's data that have arrived, each counted once, in order or not.
    pub fn octets_received(&self) -> u64 {
        self.data_end().saturating_sub(1 + self.ahead.skipped) + self.reassembly.bytes()
    }

    /// Takes text and FIN of an accepted segment. False: they are after the peer's FIN.
    #[inline(always)]
    pub fn take_text(&mut self, c: &mut Connection, now: Instant, seg: &Segment, start: i64) -> bool {
        self.ack.schedule();
        if !c.state.may_receive() {
            // "This should not occur since a FIN has been received from the remote side."
            self.ack.at_once();
            return false;
        }
        if seg.len > 0 {
            self.last_data_at = now;
        }
        if c.config.acks.ack_ahead > 0 {
            self.skip_to(c, now, start);
        }
        let nxt = self.nxt;
        let data_end = start + i64::from(seg.len);
        let mut window_edge = self.edge_in_force(c);
        if data_end > window_edge as i64 && c.config.host.takes_whole {
            window_edge = self.edge_for_whole(c, start, data_end, window_edge);
        }
        if seg.flags.has(Flags::FIN) && data_end <= window_edge as i64 && data_end >= nxt as i64 {
            self.peer_fin.get_or_insert(data_end as u64);
        }
        // Cut to the window.
        let from = start.max(nxt as i64) as u64;
        let edge = window_edge.min(self.peer_fin.unwrap_or(u64::MAX));
        let to = (data_end.max(0) as u64).min(edge);
        if to > from {
            if c.config.acks.dsack {
                self.note_overlap(c, start, from, to);
            }
            self.place(c, now, from, to, seg);
        } else {
            // Nothing new: a duplicate, a probe of a closed window, or a lone FIN.
            let old = seg.len > 0 && data_end <= nxt as i64;
            c.meters.counters.duplicate_segments_received += u64::from(old);
            if old && start >= 0 {
                c.ecn.repeated(start as u64);
                self.duplicate = Some((start as u64, data_end as u64));
            }
            if old {
                self.hurry(u32::MAX);
            }
            self.ack.at_once();
        }
        if c.config.growth.reads_at_once() {
            self.read_all(now);
        } else if c.config.growth.reads_bursts() && self.readable() > 0 {
            self.read_later(c, now);
        }
        if self.peer_fin == Some(self.nxt) {
            self.take_fin(c, now);
        }
        if c.config.acks.ack_ahead > 0 {
            self.lead(c, self.nxt > nxt);
        }
        true
    }

    /// The application takes all that is in order.
    #[inline(always)]
    fn read_all(&mut self, now: Instant) {
        self.read_to = self.data_end();
        self.resize_by_reads(now);
    }

    #[inline(always)]
    fn resize_by_reads(&mut self, now: Instant) {
        if let Some(sizing) = &mut self.sizing
            && sizing.on_read(now, self.read_to)
        {
            self.offered = Offered::default();
        }
    }

    /// With `burst_read`: the application reads after what else arrives at this instant. The end of
    /// the stream comes behind its data, so that it reads those before.
    #[cold]
    fn read_later(&mut self, c: &mut Connection, now: Instant) {
        if self.peer_fin == Some(self.nxt) {
            c.timers.stop(Timer::Read);
            self.read_all(now);
        } else {
            c.timers.set(Timer::Read, now);
        }
    }

    /// Where a segment that exceeds the window ends, if it is taken whole.
    #[cold]
    fn edge_for_whole(&self, c: &Connection, start: i64, data_end: i64, window_edge: u64) -> u64 {
        let in_order = start <= self.nxt as i64 && self.nxt < window_edge;
        if in_order && self.unread_on_arrival(c) == 0 { data_end as u64 } else { window_edge }
    }

    /// RFC 2883 section 4.1: what of a segment with news was there already, at its head or, lowest
    /// first, further on.
    fn note_overlap(&mut self, c: &Connection, start: i64, from: u64, to: u64) {
        let head = (start >= 0 && (start as u64) < from).then_some((start as u64, from));
        let overlap = head.or_else(|| self.reassembly.overlap(from, to));
        if overlap.is_some() {
            self.duplicate = overlap;
            if c.config.host.acks == AckRule::Segments {
                self.ack.at_once();
            }
        }
    }

    #[inline(always)]
    fn place(&mut self, c: &mut Connection, now: Instant, from: u64, to: u64, seg: &Segment) {
        if from > self.nxt {
            // RFC 5681 section 4.2: "Out-of-order data segments SHOULD be acknowledged
            // immediately".
            let news = self.reassembly.insert(from, to);
            c.meters.counters.duplicate_segments_received += u64::from(!news);
            c.meters.counters.dup_acks_sent += 1;
            self.ack.at_once();
            return;
        }
        self.nxt = to;
        let opened = self.sizing.is_some() && self.resize(c, now, seg);
        if c.config.host.acks.is_linux() {
            self.ack_as_linux(c, now, seg, opened);
        }
        if self.reassembly.is_empty() {
            let wait = match c.config.host.acks {
                AckRule::Octets => self.ack.on_in_order_data(seg.len, c.negotiated.mss),
                AckRule::Segments => self.ack.on_in_order_data(c.negotiated.mss, c.negotiated.mss),
                AckRule::Linux | AckRule::LinuxBefore6157 => None,
            };
            if let Some(wait) = wait
                && !c.timers.runs(Timer::DelayedAck)
            {
                c.timers.start(Timer::DelayedAck, now, wait);
            }
        } else {
            // RFC 5681 section 4.2: "the receiver SHOULD send an immediate ACK when it receives a
            // data segment that fills in all or part of a gap in the sequence space".
            self.nxt = self.reassembly.take_in_order(to);
            self.ack.at_once();
        }
    }

    /// In-order data counts towards an ACK; `opened`: it has opened the window.
    fn ack_as_linux(&mut self, c: &mut Connection, now: Instant, seg: &Segment, opened: bool) {
        let unread = self.unread_on_arrival(c);
        let options = c.negotiated.fixed_options();
        let arrival = Arrival {
            now,
            len: c.config.host.merged_segment.map_or(seg.len, |m| m.min(seg.len)),
            pushed: seg.flags.has(Flags::PSH),
            last: seg.flags.has(Flags::FIN),
            announced: c.announced(),
            header: 20 + options,
            unacknowledged: self.nxt.saturating_sub(self.last_ack_sent),
            window: self.edge.saturating_sub(self.last_ack_sent),
            unread: (unread > 0)
                .then(|| Unread { window: self.window_possible(c), short: self.is_room_short(c) }),
            opened,
            rto: c.rtt.rto.current(),
            srtt: c.rtt.rto.srtt(),
        };
        if let Some(expires) = self.ack.on_arrival(&arrival) {
            c.timers.set(Timer::DelayedAck, c.timers.clock().at_jiffy(now, expires));
        }
    }

    /// What waits for the application, which may read at once.
    fn unread_on_arrival(&self, c: &Connection) -> u64 {
        if c.config.growth.reads_at_once() { 0 } else { self.nxt.saturating_sub(self.read_to) }
    }

    /// In-order data has arrived: the receive buffer is tuned by it. Whether the window opened.
    fn resize(&mut self, c: &Connection, now: Instant, seg: &Segment) -> bool {
        let echo = seg.timestamps.filter(|t| c.negotiated.timestamps && t.echo != 0).map(|t| {
            (t.echo, Duration::from_millis(u64::from(timestamp(now).wrapping_sub(t.echo) & 0x7fff_ffff)))
        });
        let window = self.edge.saturating_sub(self.last_ack_sent);
        let unread = self.unread_on_arrival(c);
        let Some(sizing) = &mut self.sizing else { return false };
        sizing.on_data(now, seg.len, self.nxt, window, unread, echo)
    }

    /// A segment of a synchronized connection has arrived: its mark counts.
    #[inline]
    pub fn count_marks(&mut self, c: &mut Connection, seg: &Segment) {
        let prompt = c.ecn.count(&c.config, &mut c.meters.counters, seg);
        self.follow_marks(prompt);
    }

    /// The marks of a segment whose text is taken in next.
    #[inline]
    pub fn take_marks(&mut self, c: &mut Connection, seg: &Segment) {
        let holds_some = self.ack.holds_some();
        let prompt = c.ecn.on_text(&c.config, &mut c.meters.counters, seg, self.nxt, holds_some);
        self.follow_marks(prompt);
    }

    #[inline]
    fn follow_marks(&mut self, prompt: Prompt) {
        if prompt == Prompt::Hurry {
            self.hurry(2);
        }
        if prompt != Prompt::Nothing {
            self.ack.at_once();
        }
    }

    /// Loss or reordering, or a mark: by Linux' heuristics up to `most` ACKs leave at once
    /// (tcp_enter_quickack_mode).
    pub fn hurry(&mut self, most: u32) {
        let window = self.edge.saturating_sub(self.last_ack_sent);
        if let Some(linux) = self.ack.heuristics() {
            linux.hurry(most, window);
        }
    }

    /// The FIN counts once everything before it has arrived.
    #[cold]
    fn take_fin(&mut self, c: &mut Connection, now: Instant) {
        self.nxt += 1;
        self.edge = self.edge.max(self.nxt);
        self.ack.at_once();
        if c.config.host.fin_discards_dsack {
            self.duplicate = None;
        }
        c.step(Input::Fin);
        c.meters.emit(Event::PeerClosed);
        if c.state == State::TimeWait {
            c.enter_time_wait(now);
        }
    }

    /// The application takes up to `n` octets that are in order. Returns how many.
    pub fn read(&mut self, c: &Connection, now: Instant, n: u64) -> u64 {
        let taken = n.min(self.readable());
        self.read_to += taken;
        self.resize_by_reads(now);
        if taken > 0 && c.state.is_synchronized() && (self.window_has_opened(c) || self.read_causes_ack()) {
            self.ack.at_once();
        }
        taken
    }

    /// By Linux' heuristics, whose ACK may wait for the application (tcp_cleanup_rbuf).
    fn read_causes_ack(&mut self) -> bool {
        let all = self.readable() == 0 && self.peer_fin.is_none();
        let waiting = self.nxt.saturating_sub(self.last_ack_sent);
        all && self.ack.heuristics().is_some_and(|h| h.is_wanted_by_read(waiting))
    }

    /// Octets in order that the application has not taken.
    #[inline]
    pub fn readable(&self) -> u64 {
        self.data_end().saturating_sub(self.read_to)
    }

    /// Checks invariants that must hold between calls.
    #[inline]
    pub fn check(&self) {
        debug_assert!(self.read_to <= self.nxt.max(1) && self.nxt <= self.edge.max(self.nxt));
    }
}
