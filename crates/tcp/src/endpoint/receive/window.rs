//! The window that the receiver offers (RFC 9293 section 3.8.6).

use lasthop_units::Instant;

use super::super::connection::Connection;
use super::Receiver;
use crate::host::WindowRule;
use crate::right_sizing::{RightSizing, reserved};
use crate::state::State;

/// The window field of the last segment, and the values from which it was computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offered {
    nxt: u64,
    read_to: u64,
    edge: u64,
    field: u16,
}

impl Receiver {
    /// The window that the SYN offers: whole segments, where the buffer will grow or the host is
    /// configured it (Linux' tcp_select_initial_window).
    pub fn first_window(&self, c: &Connection) -> u64 {
        let tuned = c.config.buffers.receive_tuning;
        let start =
            if tuned { c.config.buffers.receive_buffer_start } else { c.config.buffers.receive_buffer };
        // The kernel counts options for a SYN-ACK (tcp_openreq_init_rwin), not for a SYN
        // (tcp_connect_init).
        let segment = if self.passive { c.announced() } else { c.config.window.mss.into() };
        let segment = u64::from(segment);
        let wanted = (tuned || c.config.host.whole_first_window) && start > segment;
        let whole = if wanted { start - start % segment } else { start };
        whole.min(u64::from(u16::MAX))
    }

    /// A buffer that grows, or one of Linux', of which more is offered as data arrives whether it
    /// grows or not (tcp_grow_window does not test net.ipv4.tcp_moderate_rcvbuf).
    pub fn start_right_sizing(&mut self, c: &Connection, now: Instant) {
        let limit = c.config.buffers.receive_buffer;
        let start =
            if c.config.buffers.receive_tuning { c.config.buffers.receive_buffer_start } else { limit };
        let segment = c.announced();
        self.offered = Offered::default();
        self.sizing = Some(Box::new(RightSizing::new(now, start, limit, segment, self.first_window(c))));
    }

    /// The initial estimate of the peer's segment size, if Linux' heuristics measure it.
    pub fn start_measuring(&mut self, c: &Connection) {
        self.offered = Offered::default();
        let window = self.first_window(c);
        if let Some(linux) = self.ack.heuristics() {
            linux.initialize(c.announced(), c.negotiated.mss, window);
        }
    }

    /// The window that could be advertised now, limited by the largest value of the field.
    #[inline]
    pub fn window_possible(&self, c: &Connection) -> u64 {
        let most = u64::from(u16::MAX) << c.negotiated.rcv_scale;
        match c.config.host.window {
            WindowRule::Rfc9293 | WindowRule::AllRoom => self.buffer_room(c).min(most),
            WindowRule::Linux => self.window_of_linux(c).min(most),
        }
    }

    /// Linux' __tcp_select_window: below half of the buffer's size the free space is rounded down
    /// to the unit of the scale, and the window closes below a segment of the peer's or a sixteenth
    /// of the size; the offer is rounded up, or without a scale down to whole segments. Compared
    /// step by step with net/ipv4/tcp_output.c of a 6.1 kernel: `size` is its allowed_space,
    /// `clamp` window_clamp, `offered` rcv_ssthresh, `said` rcv_wnd. No memory pressure.
    #[inline(never)]
    fn window_of_linux(&self, c: &Connection) -> u64 {
        let (size, clamp, offered) = self.linux_bounds(c);
        let full = size.min(clamp);
        let segment = u64::from(self.ack.peer_segment().unwrap_or(c.negotiated.mss)).min(full);
        let mut room = size.saturating_sub(self.unread());
        if room < full / 2 {
            room -= room % (1 << c.negotiated.rcv_scale);
            if room < size / 16 || room < segment {
                return 0;
            }
        }
        room = room.min(offered);
        if c.negotiated.rcv_scale > 0 {
            return up_to_unit(room, c.negotiated.rcv_scale);
        }
        // "If our current window offering is within 1 mss of the free space we just keep it."
        let said = self.edge.saturating_sub(self.last_ack_sent);
        if said + segment <= room || said > room {
            room - room % segment.max(1)
        } else if segment == full && room > said + full / 2 {
            room
        } else {
            said
        }
    }

    /// [`RightSizing::bounds`]; before the connection is established, all that the buffer holds.
    fn linux_bounds(&self, c: &Connection) -> (u64, u64, u64) {
        match &self.sizing {
            Some(sizing) => sizing.bounds(),
            None => {
                let size = c.config.buffers.receive_buffer;
                let clamp = reserved(size, u64::from(c.announced()));
                (size, clamp, clamp)
            }
        }
    }

    /// __tcp_select_window has less than half of the buffer to offer, which ends the budget of
    /// quick ACKs.
    pub fn is_room_short(&self, c: &Connection) -> bool {
        let (size, clamp, _) = self.linux_bounds(c);
        size.saturating_sub(self.unread()) < size.min(clamp) / 2
    }

    /// Octets in order that the application has not taken. A FIN takes a number, but no room.
    #[inline]
    fn unread(&self) -> u64 {
        self.data_end().saturating_sub(self.read_to.max(1))
    }

    /// What the receive buffer has room for.
    #[inline]
    fn buffer_room(&self, c: &Connection) -> u64 {
        let unread = self.unread();
        match &self.sizing {
            Some(sizing) => sizing.window(unread),
            None => c.config.buffers.receive_buffer.saturating_sub(unread),
        }
    }

    /// The right edge against which arriving segments are checked.
    #[inline(always)] // twice for each segment
    pub fn edge_in_force(&self, c: &Connection) -> u64 {
        let by_room = c.config.host.window == WindowRule::AllRoom;
        if by_room && !(self.passive && c.state == State::SynReceived) {
            return self.edge.max(self.nxt + self.buffer_room(c)) + self.ahead.lead;
        }
        // The window of an ACK with a lead begins at its number.
        self.edge + self.ahead.lead
    }

    /// Whether a read is a reason to send a window update. RFC 9293 section 3.8.6.2.2: it moves by
    /// at least min(buffer / 2, MSS), or not at all.
    #[inline]
    pub fn window_has_opened(&self, c: &Connection) -> bool {
        if c.config.host.window == WindowRule::Linux {
            // tcp_cleanup_rbuf: at least twice what the peer has left.
            let left = self.edge.saturating_sub(self.nxt);
            return self.window_possible(c) >= (2 * left).max(1);
        }
        self.has_opened_to(c, self.window_possible(c))
    }

    /// The same for a `window` that is known, by the RFC's rule.
    #[inline]
    fn has_opened_to(&self, c: &Connection, window: u64) -> bool {
        let step = (c.config.buffers.receive_buffer / 2).min(u64::from(c.negotiated.mss));
        (self.nxt + window).saturating_sub(self.edge) >= step
    }

    /// The window field for a segment that is sent now. Moves the advertised edge, never to the
    /// left. A sender of data repeats the same value in each segment while no data arrives.
    #[inline(always)]
    pub fn advertise(&mut self, c: &Connection) -> u16 {
        if self.offer_of(self.offered.field) == self.offered {
            return self.offered.field;
        }
        self.advertise_anew(c)
    }

    fn advertise_anew(&mut self, c: &Connection) -> u16 {
        let field = self.work_out_window(c);
        // Kept where the field follows from these numbers and the configuration alone. The size of
        // the buffer changes with them, or discards what is kept; the peer's segment size, which
        // Linux' field depends on, changes with RCV.NXT.
        let kept = match c.config.host.window {
            WindowRule::Rfc9293 => true,
            WindowRule::Linux => c.negotiated.rcv_scale > 0 && !self.is_room_short(c),
            WindowRule::AllRoom => false,
        };
        if kept {
            self.offered = self.offer_of(field);
        }
        field
    }

    #[inline(always)]
    const fn offer_of(&self, field: u16) -> Offered {
        Offered { nxt: self.nxt, read_to: self.read_to, edge: self.edge, field }
    }

    #[inline(always)]
    fn work_out_window(&mut self, c: &Connection) -> u16 {
        let shift = c.negotiated.rcv_scale;
        let field_for = |window: u64| (window >> shift).min(u64::from(u16::MAX));
        let left = self.edge.saturating_sub(self.nxt);
        if c.config.host.window == WindowRule::Linux && self.is_room_short(c) {
            self.ack.end_quick();
        }
        let window = match c.config.host.window {
            WindowRule::Rfc9293 => {
                let window = self.window_possible(c);
                if !self.has_opened_to(c, window) {
                    return field_for(left) as u16;
                }
                window
            }
            WindowRule::AllRoom => up_to_unit(self.window_possible(c), shift),
            // tcp_select_window: what is left of an offer is rounded up, too.
            WindowRule::Linux => self.window_possible(c).max(up_to_unit(left, shift)),
        };
        // The peer receives only what the field can represent.
        self.edge = self.edge.max(self.nxt + (field_for(window) << shift));
        field_for(self.edge.saturating_sub(self.nxt)) as u16
    }
}

/// Rounded up to a multiple of what a window field shifted by `shift` counts.
#[inline]
const fn up_to_unit(window: u64, shift: u8) -> u64 {
    let unit = 1 << shift;
    (window + unit - 1) & !(unit - 1)
}
