//! The send sequence space (RFC 9293 section 3.3.1).

use lasthop_units::{Seq, StreamOffset};

use super::super::connection::Connection;
use super::super::timers::Timer;
use crate::segment::Segment;
use crate::state::Input;

/// The sender's position in its stream, by offsets: 0 is the SYN, data begins at 1, the FIN comes
/// last.
#[derive(Clone, Copy, Debug)]
pub struct SendSequence {
    pub isn: Seq,
    pub una: u64,
    /// SND.NXT; behind `max` only while going back after a timeout without SACK.
    pub nxt: u64,
    /// After the highest octet ever sent.
    pub max: u64,
    /// After the last octet the application wrote.
    pub written: u64,
    pub close_requested: bool,
    pub wnd: u64,
    pub max_wnd: u64,
    /// SND.WL1 (offset in the peer's stream) and SND.WL2.
    pub wl1: i64,
    pub wl2: u64,
    /// Something has changed on which the room for writes depends, since it was read last.
    pub room_moved: bool,
}

impl SendSequence {
    pub const fn new(isn: Seq) -> SendSequence {
        SendSequence {
            isn,
            una: 0,
            nxt: 0,
            max: 0,
            written: 1,
            close_requested: false,
            wnd: 0,
            max_wnd: 0,
            wl1: 0,
            wl2: 0,
            room_moved: true,
        }
    }

    #[inline]
    pub fn seq_of(&self, offset: u64) -> Seq {
        StreamOffset(offset).wrap(self.isn)
    }

    /// The offset in our stream of a number near SND.UNA; negative before its start.
    #[inline]
    pub fn offset_of(&self, seq: Seq) -> i64 {
        self.una as i64 + i64::from(seq.distance_from(self.seq_of(self.una)))
    }

    /// After the last octet to send, FIN included once the application has closed.
    #[inline]
    pub fn end(&self) -> u64 {
        self.written + u64::from(self.close_requested)
    }

    /// True if data is still to be sent for the first time, or again.
    #[inline]
    pub fn waits(&self) -> bool {
        self.nxt < self.end()
    }

    /// True if sent data is not acknowledged.
    #[inline]
    pub const fn is_outstanding(&self) -> bool {
        self.una < self.max
    }

    /// Octets that are sent and not acknowledged: FlightSize of RFC 5681.
    #[inline]
    pub const fn flight_size(&self) -> u64 {
        self.max - self.una
    }

    /// The offset up to which the peer's window allows data to be sent.
    #[inline]
    pub const fn window_edge(&self) -> u64 {
        self.una + self.wnd
    }

    /// True if data is still to be sent, and the peer's window allows some of it.
    #[inline]
    pub fn may_send_more(&self) -> bool {
        self.waits() && self.nxt < self.window_edge()
    }

    /// Octets written and not yet sent.
    #[inline]
    pub const fn notsent(&self) -> u64 {
        self.written.saturating_sub(self.max)
    }

    /// Octets written and not acknowledged.
    #[inline]
    pub fn unacknowledged(&self) -> u64 {
        self.written.saturating_sub(self.una.max(1))
    }

    /// Our FIN was sent and is not acknowledged.
    pub const fn is_fin_outstanding(&self) -> bool {
        self.max > self.written && self.una < self.max
    }

    /// Everything is acknowledged, the FIN too.
    #[inline]
    pub fn is_finished(&self) -> bool {
        self.close_requested && self.una == self.end()
    }

    /// An ACK has moved SND.UNA. As in ns-2 and BSD, an ACK beyond SND.NXT sets SND.NXT to its
    /// number.
    #[inline]
    pub fn advance(&mut self, ack: u64) {
        self.una = ack;
        self.nxt = self.nxt.max(ack);
    }

    /// New data is in flight up to `stop`.
    #[inline]
    pub const fn sent(&mut self, stop: u64) {
        self.nxt = stop;
        self.max = stop;
        self.room_moved = true;
    }

    /// SND.WND from segments that are not older than the last that set it (RFC 9293 section
    /// 3.10.7.4).
    #[inline]
    pub fn take_window(&mut self, seg: &Segment, scale: u8, start: i64, ack: u64) {
        if self.wl1 < start || (self.wl1 == start && self.wl2 <= ack) {
            self.wnd = u64::from(seg.window) << scale;
            if self.wnd > self.max_wnd {
                self.max_wnd = self.wnd;
                self.room_moved = true;
            }
            self.wl1 = start;
            self.wl2 = ack;
        }
    }

    /// The window of a SYN-ACK, which is never scaled.
    pub fn take_first_window(&mut self, seg: &Segment) {
        self.wnd = u64::from(seg.window);
        self.max_wnd = self.wnd;
        self.wl1 = 0;
        self.wl2 = self.una;
    }

    /// RFC 5961 section 5.2: an ACK outside [SND.UNA - MAX.SND.WND, SND.NXT] is dropped, and an ACK
    /// is sent.
    #[inline]
    pub fn is_ack_out_of_range(&self, ack: i64) -> bool {
        ack > self.max as i64 || ack < self.una as i64 - self.max_wnd.max(1) as i64
    }

    /// RFC 7323 appendix G: ExpectedSamples = ceil(FlightSize / (SMSS * 2)).
    #[inline]
    pub fn samples_per_round(flight: u64, mss: u32) -> u64 {
        // 32 bits hold every window (RFC 7323 section 2.2: below 2^30), and divide faster.
        u64::from((flight as u32).div_ceil(2 * mss).max(1))
    }

    /// tcp_xmit_size_goal: whole segments, not above half of the peer's largest window.
    pub fn packet_goal(&self, c: &Connection) -> u64 {
        let mss = u64::from(c.negotiated.mss);
        let cut = if self.max_wnd > 536 { self.max_wnd / 2 } else { self.max_wnd };
        let offload = c.config.host.offload.unwrap_or(crate::host::Offload::LINUX);
        let size = u64::from(offload.size_max.saturating_sub(1));
        (size.min(cut.max(68)) / mss * mss).max(mss)
    }

    /// Checks invariants that must hold between calls.
    #[inline]
    pub fn check(&self) {
        debug_assert!(
            self.una <= self.nxt && self.nxt <= self.max,
            "una {} nxt {} max {}",
            self.una,
            self.nxt,
            self.max
        );
        debug_assert!(self.max <= self.end().max(1), "nothing is sent that was not written");
    }

    /// The close, once the state allows it (RFC 9293 section 3.10.4 queues it before).
    pub fn take_close(&self, c: &mut Connection) {
        if self.close_requested && c.state.is_synchronized() {
            c.step(Input::Close);
        }
    }

    /// True if no data is outstanding or waits, and no timer runs: the receiver's side of a
    /// transfer, where an ACK field without new information can only change the window (Van
    /// Jacobson's header prediction).
    #[inline]
    pub fn has_nothing_to_send(&self, c: &Connection) -> bool {
        !self.is_outstanding()
            && self.nxt == self.end()
            && !c.timers.runs(Timer::Retransmission)
            && !c.timers.runs(Timer::Persist)
    }
}
