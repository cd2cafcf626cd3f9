//! What leaves: the oldest segment again, then by the window, or with SACK by the pipe.

use lasthop_units::Instant;

use super::super::Sender;
use crate::endpoint::connection::Connection;
use crate::endpoint::meters::Event;
use crate::endpoint::receive::Receiver;
use crate::recovery::{CaState, NextSeg};
use crate::segment::Segment;

impl Sender {
    /// Fast retransmit: "retransmit the lost segment", whatever the windows say.
    pub(super) fn send_head(
        &mut self,
        c: &mut Connection,
        r: &mut Receiver,
        now: Instant,
    ) -> Option<Segment> {
        self.fly.recovery.set_head_is_due(false);
        let head = *self.fly.flight.front()?;
        if self.fly.recovery.is_fast() {
            c.meters.emit(Event::FastRetransmit);
        }
        if self.fly.recovery.is_sack() {
            self.fly.recovery.board_mut().first_resent(head.end);
        }
        // Going back after a timeout: this one is sent.
        if self.seq.nxt < self.seq.max {
            self.seq.nxt = self.seq.nxt.max(head.end);
        }
        Some(self.resend_by_itself(c, r, now, head.start, head.end))
    }

    /// Without SACK: everything between SND.UNA and SND.UNA + min(cwnd, SND.WND).
    pub(super) fn send_by_window(
        &mut self,
        c: &mut Connection,
        r: &mut Receiver,
        now: Instant,
    ) -> Option<Segment> {
        let cwnd = self.fly.window_octets(c, self.fly.recovery.inflation(&c.config));
        let cwnd_edge = self.seq.una + cwnd;
        if self.seq.nxt < self.seq.max {
            // Going back: segments keep their boundaries.
            let Some(&old) = self.fly.flight.find(self.seq.nxt) else {
                self.seq.nxt = self.seq.max;
                return None;
            };
            // The first segment always fits: RFC 5681's loss window is one segment. Beyond a window
            // that has shrunk nothing else is sent again (RFC 9293 section 3.8.6).
            if old.end > cwnd_edge.min(self.seq.window_edge()) && old.start > self.seq.una {
                return None;
            }
            self.seq.nxt = old.end;
            return Some(self.resend_by_itself(c, r, now, old.start, old.end));
        }
        if self.limits.queue.is_some() {
            return self.send_packets(c, r, now);
        }
        self.send_new(c, r, now, cwnd_edge)
    }

    /// With SACK: step (C) of RFC 6675 section 5.
    #[inline(always)]
    pub(super) fn send_by_pipe(
        &mut self,
        c: &mut Connection,
        r: &mut Receiver,
        now: Instant,
    ) -> Option<Segment> {
        let cwnd = self.fly.window_octets(c, 0.0);
        let in_flight = match self.fly.recovery.state() {
            // Without limited transmit SACKs make no room before recovery.
            CaState::Disorder if !c.config.loss.limited_transmit => self.seq.flight_size(),
            CaState::Open => self.seq.flight_size(),
            _ => self.fly.recovery.board().pipe(self.seq.max),
        };
        let room = cwnd.saturating_sub(in_flight);
        if matches!(self.fly.recovery.state(), CaState::Recovery | CaState::Loss) {
            let segment = self.resend_by_scoreboard(c, r, now, room);
            if segment.is_some() {
                return segment;
            }
        }
        self.make_new(c, r, now, self.seq.max + room)
    }

    fn resend_by_scoreboard(
        &mut self,
        c: &mut Connection,
        r: &mut Receiver,
        now: Instant,
        room: u64,
    ) -> Option<Segment> {
        if room < u64::from(c.negotiated.mss) {
            return None;
        }
        let new_data = self.seq.may_send_more();
        let (start, end) = match self.fly.recovery.board().next_seg(self.seq.max, new_data) {
            NextSeg::New => return None,
            NextSeg::Hole(start, end) => {
                let old = self.fly.flight.find(start)?;
                (start, old.end.min(end))
            }
            NextSeg::Rescue(end) => {
                let start = self.fly.flight.find(end - 1)?.start;
                let point = self.fly.recovery.recovery_point();
                self.fly.recovery.board_mut().rescued(point);
                return Some(self.resend(c, r, now, start, end));
            }
        };
        self.fly.recovery.board_mut().resent(end);
        Some(self.resend(c, r, now, start, end))
    }
}
