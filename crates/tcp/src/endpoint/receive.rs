//! The receiver: text and FIN of a segment (RFC 9293 section 3.10.7.4, seventh and eighth), and the
//! window.

use lasthop_units::{Duration, Instant};

use super::{Endpoint, Event, timestamp};
use crate::ack_linux::Arrival;
use crate::host::{AckRule, WindowRule};
use crate::right_sizing::{RightSizing, reserved};
use crate::segment::{Flags, Segment};
use crate::state::{Input, State};

impl Endpoint {
    /// After the last octet of data received in order: RCV.NXT without the FIN.
    #[inline]
    pub(super) fn data_end(&self) -> u64 {
        match self.peer_fin {
            Some(fin) => self.rcv_nxt.min(fin),
            None => self.rcv_nxt,
        }
    }

    /// Octets of the peer's data received in order and, unless `manual_read`, handed to the
    /// application.
    #[inline]
    pub fn in_order_received(&self) -> u64 {
        let end = if self.config.manual_read { self.read_to } else { self.data_end() };
        end.saturating_sub(1)
    }

    /// Octets of the peer's data that have arrived, each counted once, in order or not.
    pub fn octets_received(&self) -> u64 {
        self.data_end().saturating_sub(1) + self.reassembly.bytes()
    }

    pub(super) fn take_text(&mut self, now: Instant, seg: &Segment, start: i64) {
        self.ack.schedule();
        if !self.state.may_receive() {
            // "This should not occur since a FIN has been received from the remote side."
            self.ack.at_once();
            return;
        }
        if seg.len > 0 {
            self.last_data_at = now;
        }
        let nxt = self.rcv_nxt;
        let data_end = start + i64::from(seg.len);
        let mut window_edge = self.edge_in_force();
        if data_end > window_edge as i64 && self.config.host.takes_whole {
            window_edge = self.edge_for_whole(start, data_end, window_edge);
        }
        if seg.flags.has(Flags::FIN) && data_end <= window_edge as i64 && data_end >= nxt as i64 {
            self.peer_fin.get_or_insert(data_end as u64);
        }
        // Cut to the window.
        let from = start.max(nxt as i64) as u64;
        let edge = window_edge.min(self.peer_fin.unwrap_or(u64::MAX));
        let to = (data_end.max(0) as u64).min(edge);
        if to > from {
            if self.config.dsack {
                self.note_overlap(start, from, to);
            }
            self.place(now, from, to, seg);
        } else {
            // Nothing new: a duplicate, a probe of a closed window, or a lone FIN.
            let old = seg.len > 0 && data_end <= nxt as i64;
            self.counters.duplicate_segments_received += u64::from(old);
            if old && start >= 0 {
                self.accecn_repeated(start as u64);
                self.duplicate = Some((start as u64, data_end as u64));
            }
            if old {
                self.hurry(u32::MAX);
            }
            self.ack.at_once();
        }
        if !self.config.manual_read {
            self.read_to = self.data_end();
            if let Some(sizing) = &mut self.sizing {
                sizing.on_read(now, self.read_to);
            }
        }
        self.take_fin(now);
        if self.config.host.repeats_fin && self.max > self.written && self.una < self.max {
            self.fin_again = true;
        }
    }

    /// Where a segment that exceeds the window ends, if it is taken whole.
    #[cold]
    fn edge_for_whole(&self, start: i64, data_end: i64, window_edge: u64) -> u64 {
        let in_order = start <= self.rcv_nxt as i64 && self.rcv_nxt < window_edge;
        if in_order && self.unread_on_arrival() == 0 { data_end as u64 } else { window_edge }
    }

    /// RFC 2883 section 4.1: what of a segment with news was there already, at its head or, lowest
    /// first, further on.
    fn note_overlap(&mut self, start: i64, from: u64, to: u64) {
        let head = (start >= 0 && (start as u64) < from).then_some((start as u64, from));
        let overlap = head.or_else(|| self.reassembly.overlap(from, to));
        if overlap.is_some() {
            self.duplicate = overlap;
            if self.config.host.acks == AckRule::Segments {
                self.ack.at_once();
            }
        }
    }

    fn place(&mut self, now: Instant, from: u64, to: u64, seg: &Segment) {
        if from > self.rcv_nxt {
            // RFC 5681 section 4.2: "Out-of-order data segments SHOULD be acknowledged
            // immediately".
            let news = self.reassembly.insert(from, to);
            self.counters.duplicate_segments_received += u64::from(!news);
            self.counters.dup_acks_sent += 1;
            self.ack.at_once();
            return;
        }
        self.rcv_nxt = to;
        let opened = self.sizing.is_some() && self.resize(now, seg);
        if self.config.host.acks.is_linux() {
            self.ack_as_linux(now, seg, opened);
        }
        if self.reassembly.is_empty() {
            match self.config.host.acks {
                AckRule::Octets => self.ack.on_in_order_data(now, seg.len, self.mss),
                AckRule::Segments => self.ack.on_in_order_data(now, self.mss, self.mss),
                AckRule::Linux | AckRule::LinuxBefore6157 => {}
            }
        } else {
            // "a TCP receiver SHOULD send an immediate ACK when it receives a data segment that
            // fills in all or part of a gap in the sequence space."
            self.rcv_nxt = self.reassembly.take_in_order(to);
            self.ack.at_once();
        }
    }

    /// In-order data counts towards an ACK; `opened`: it has opened the window.
    fn ack_as_linux(&mut self, now: Instant, seg: &Segment, opened: bool) {
        let unread = self.unread_on_arrival();
        let options = if self.timestamps { 12 } else { 0 };
        let arrival = Arrival {
            now,
            len: self.config.host.merged_segment.map_or(seg.len, |m| m.min(seg.len)),
            pushed: seg.flags.has(Flags::PSH),
            last: seg.flags.has(Flags::FIN),
            announced: u32::from(self.config.mss).saturating_sub(options),
            header: 20 + options,
            unacknowledged: self.rcv_nxt.saturating_sub(self.last_ack_sent),
            window: self.rcv_edge.saturating_sub(self.last_ack_sent),
            unread,
            window_now: self.window_possible(),
            opened,
            short: self.is_room_short(),
            rto: self.rto.current(),
            srtt: self.rto.srtt(),
        };
        self.ack.on_arrival(&arrival);
    }

    /// What waits for the application, which may read at once.
    fn unread_on_arrival(&self) -> u64 {
        if self.config.manual_read { self.rcv_nxt.saturating_sub(self.read_to) } else { 0 }
    }

    /// The window that the SYN offers: whole segments, where the buffer will grow or the host wants
    /// it (Linux' tcp_select_initial_window).
    pub(super) fn first_window(&self) -> u64 {
        let tuned = self.config.receive_tuning;
        let start = if tuned { self.config.receive_buffer_start } else { self.config.receive_buffer };
        // The kernel counts options for a SYN-ACK (tcp_openreq_init_rwin), not for a SYN
        // (tcp_connect_init).
        let segment = if self.passive { self.segment_announced() } else { self.config.mss.into() };
        let segment = u64::from(segment);
        let wanted = (tuned || self.config.host.whole_first_window) && start > segment;
        let whole = if wanted { start - start % segment } else { start };
        whole.min(u64::from(u16::MAX))
    }

    /// A buffer that grows, or one of Linux', of which more is offered as data arrives whether it
    /// grows or not (tcp_grow_window does not ask for net.ipv4.tcp_moderate_rcvbuf).
    pub(super) fn start_right_sizing(&mut self, now: Instant) {
        let limit = self.config.receive_buffer;
        let start = if self.config.receive_tuning { self.config.receive_buffer_start } else { limit };
        let segment = self.segment_announced();
        self.sizing = Some(Box::new(RightSizing::new(now, start, limit, segment, self.first_window())));
    }

    /// The segment size we announced, less fixed options \[octets\].
    fn segment_announced(&self) -> u32 {
        u32::from(self.config.mss).saturating_sub(if self.timestamps { 12 } else { 0 })
    }

    /// In-order data has arrived: the receive buffer learns from it. Whether the window opened.
    fn resize(&mut self, now: Instant, seg: &Segment) -> bool {
        let echo = seg.timestamps.filter(|t| self.timestamps && t.echo != 0).map(|t| {
            (t.echo, Duration::from_millis(u64::from(timestamp(now).wrapping_sub(t.echo) & 0x7fff_ffff)))
        });
        let window = self.rcv_edge.saturating_sub(self.last_ack_sent);
        let unread = self.unread_on_arrival();
        let Some(sizing) = &mut self.sizing else { return false };
        sizing.on_data(now, seg.len, self.rcv_nxt, window, unread, echo)
    }

    /// Loss or reordering, or a mark: by Linux' heuristics up to `most` ACKs leave at once
    /// (tcp_enter_quickack_mode).
    pub(super) fn hurry(&mut self, most: u32) {
        let window = self.rcv_edge.saturating_sub(self.last_ack_sent);
        if let Some(linux) = self.ack.heuristics() {
            linux.hurry(most, window);
        }
    }

    /// The FIN counts once everything before it has arrived.
    fn take_fin(&mut self, now: Instant) {
        if self.peer_fin != Some(self.rcv_nxt) {
            return;
        }
        self.rcv_nxt += 1;
        self.rcv_edge = self.rcv_edge.max(self.rcv_nxt);
        self.ack.at_once();
        if self.config.host.fin_discards_dsack {
            self.duplicate = None;
        }
        self.step(Input::Fin);
        self.emit(Event::PeerClosed);
        if self.state == State::TimeWait {
            self.enter_time_wait(now);
        }
    }

    /// The window that could be advertised now, at most what the field can hold.
    #[inline]
    fn window_possible(&self) -> u64 {
        let most = u64::from(u16::MAX) << self.rcv_scale;
        match self.config.host.window {
            WindowRule::Rfc9293 | WindowRule::AllRoom => self.buffer_room().min(most),
            WindowRule::Linux => self.window_of_linux().min(most),
        }
    }

    /// Linux' __tcp_select_window: below half of the buffer's size the free space is rounded down
    /// to the unit of the scale, and the window closes below a segment of the peer's or a sixteenth
    /// of the size; the offer is rounded up, or without a scale down to whole segments. Compared
    /// step by step with net/ipv4/tcp_output.c of a 6.1 kernel: `size` is its allowed_space,
    /// `clamp` window_clamp, `offered` rcv_ssthresh, `said` rcv_wnd. No memory pressure.
    #[inline(never)]
    fn window_of_linux(&self) -> u64 {
        let (size, clamp, offered) = self.linux_bounds();
        let full = size.min(clamp);
        let segment = u64::from(self.ack.peer_segment().unwrap_or(self.mss)).min(full);
        let mut room = size.saturating_sub(self.unread());
        if room < full / 2 {
            room -= room % (1 << self.rcv_scale);
            if room < size / 16 || room < segment {
                return 0;
            }
        }
        room = room.min(offered);
        if self.rcv_scale > 0 {
            return up_to_unit(room, self.rcv_scale);
        }
        // "If our current window offering is within 1 mss of the free space we just keep it."
        let said = self.rcv_edge.saturating_sub(self.last_ack_sent);
        if said + segment <= room || said > room {
            room - room % segment.max(1)
        } else if segment == full && room > said + full / 2 {
            room
        } else {
            said
        }
    }

    /// [`RightSizing::bounds`]; before the connection is established, all that the buffer holds.
    fn linux_bounds(&self) -> (u64, u64, u64) {
        match &self.sizing {
            Some(sizing) => sizing.bounds(),
            None => {
                let size = self.config.receive_buffer;
                let clamp = reserved(size, u64::from(self.segment_announced()));
                (size, clamp, clamp)
            }
        }
    }

    /// __tcp_select_window has less than half of the buffer to offer, which ends the budget of
    /// quick ACKs.
    fn is_room_short(&self) -> bool {
        let (size, clamp, _) = self.linux_bounds();
        size.saturating_sub(self.unread()) < size.min(clamp) / 2
    }

    /// Octets in order that the application has not taken. A FIN takes a number, but no room.
    #[inline]
    fn unread(&self) -> u64 {
        self.data_end().saturating_sub(self.read_to.max(1))
    }

    /// What the receive buffer has room for.
    #[inline]
    fn buffer_room(&self) -> u64 {
        let unread = self.unread();
        match &self.sizing {
            Some(sizing) => sizing.window(unread),
            None => self.config.receive_buffer.saturating_sub(unread),
        }
    }

    /// The right edge by which what arrives is judged.
    #[inline]
    pub(super) fn edge_in_force(&self) -> u64 {
        let by_room = self.config.host.window == WindowRule::AllRoom;
        if by_room && !(self.passive && self.state == State::SynReceived) {
            return self.rcv_edge.max(self.rcv_nxt + self.buffer_room());
        }
        self.rcv_edge
    }

    /// Whether a read is a reason to send a window update. RFC 9293 section 3.8.6.2.2: it moves by
    /// at least min(buffer / 2, MSS), or not at all.
    #[inline]
    pub(super) fn window_has_opened(&self) -> bool {
        if self.config.host.window == WindowRule::Linux {
            // tcp_cleanup_rbuf: at least twice what the peer has left.
            let left = self.rcv_edge.saturating_sub(self.rcv_nxt);
            return self.window_possible() >= (2 * left).max(1);
        }
        self.has_opened_to(self.window_possible())
    }

    /// The same for a `window` that is known, by the RFC's rule.
    #[inline]
    fn has_opened_to(&self, window: u64) -> bool {
        let step = (self.config.receive_buffer / 2).min(u64::from(self.mss));
        (self.rcv_nxt + window).saturating_sub(self.rcv_edge) >= step
    }

    /// The window field for a segment that leaves now; moves the advertised edge, never to the
    /// left.
    #[inline]
    pub(super) fn advertise(&mut self) -> u16 {
        let shift = self.rcv_scale;
        let field_for = |window: u64| (window >> shift).min(u64::from(u16::MAX));
        let left = self.rcv_edge.saturating_sub(self.rcv_nxt);
        if self.config.host.window == WindowRule::Linux && self.is_room_short() {
            self.ack.end_quick();
        }
        let window = match self.config.host.window {
            WindowRule::Rfc9293 => {
                let window = self.window_possible();
                if !self.has_opened_to(window) {
                    return field_for(left) as u16;
                }
                window
            }
            WindowRule::AllRoom => up_to_unit(self.window_possible(), shift),
            // tcp_select_window: what is left of an offer is rounded up, too.
            WindowRule::Linux => self.window_possible().max(up_to_unit(left, shift)),
        };
        // Only what the field can say is what the peer will know.
        self.rcv_edge = self.rcv_edge.max(self.rcv_nxt + (field_for(window) << shift));
        field_for(self.rcv_edge.saturating_sub(self.rcv_nxt)) as u16
    }
}

/// Rounded up to a multiple of what a window field shifted by `shift` counts.
#[inline]
const fn up_to_unit(window: u64, shift: u8) -> u64 {
    let unit = 1 << shift;
    (window + unit - 1) & !(unit - 1)
}
