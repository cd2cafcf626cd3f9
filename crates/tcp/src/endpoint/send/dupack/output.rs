//! Which segments are sent: the oldest segment again, then as many as the window, or with SACK the
//! pipe, allows.

use lasthop_units::Instant;

use super::super::in_flight::InFlight;
use super::super::sequence::SendSequence;
use super::super::{Next, Sender};
use super::Dupack;
use crate::endpoint::connection::Connection;
use crate::endpoint::meters::Event;
use crate::endpoint::receive::Receiver;
use crate::recovery::{CaState, NextSeg};
use crate::segment::Segment;

impl Dupack {
    /// What the congestion window holds beside the pipe of RFC 6675 \[octets\].
    #[inline(always)]
    pub(in crate::endpoint) fn room_by_pipe(fly: &InFlight, seq: &SendSequence, c: &Connection) -> u64 {
        let in_flight = match fly.recovery.state() {
            // Without limited transmit SACKs make no room before recovery.
            CaState::Disorder if !c.config.loss.limited_transmit => seq.flight_size(),
            CaState::Open => seq.flight_size(),
            _ => fly.recovery.board().pipe(seq.max),
        };
        fly.window_octets(c, 0.0).saturating_sub(in_flight)
    }

    /// Fast retransmit: "retransmit the lost segment", independent of the windows.
    pub(super) fn send_head(
        send: &mut Sender,
        c: &mut Connection,
        r: &mut Receiver,
        now: Instant,
    ) -> Option<Segment> {
        send.fly.recovery.set_head_is_due(false);
        let head = *send.fly.flight.front()?;
        if send.fly.recovery.is_fast() {
            c.meters.emit(Event::FastRetransmit);
        }
        if send.fly.recovery.is_sack() {
            send.fly.recovery.board_mut().first_resent(head.end);
        }
        // Going back after a timeout: this one is sent.
        if send.seq.nxt < send.seq.max {
            send.seq.nxt = send.seq.nxt.max(head.end);
        }
        Some(send.resend_by_itself(c, r, now, head.start(), head.end))
    }

    /// Without SACK: everything between SND.UNA and SND.UNA + min(cwnd, SND.WND).
    pub(super) fn send_by_window(
        send: &mut Sender,
        c: &mut Connection,
        r: &mut Receiver,
        now: Instant,
    ) -> Option<Segment> {
        let cwnd = send.fly.window_octets(c, send.fly.recovery.inflation(&c.config));
        let cwnd_edge = send.seq.una + cwnd;
        if send.seq.nxt < send.seq.max {
            // Going back: segments keep their boundaries.
            let Some(&old) = send.fly.flight.find(send.seq.nxt) else {
                send.seq.nxt = send.seq.max;
                return None;
            };
            // The first segment always fits: RFC 5681's loss window is one segment. Beyond a window
            // that has shrunk nothing else is sent again (RFC 9293 section 3.8.6).
            if old.end > cwnd_edge.min(send.seq.window_edge()) && old.start() > send.seq.una {
                return None;
            }
            send.seq.nxt = old.end;
            return Some(send.resend_by_itself(c, r, now, old.start(), old.end));
        }
        if send.limits.queue.is_some() {
            return send.send_packets(c, r, now);
        }
        let segment = send.send_new(c, r, now, cwnd_edge);
        send.next = Next::nothing_if(segment.is_some() && Self::is_window_spent(send, c, cwnd_edge));
        segment
    }

    /// With SACK: step (C) of RFC 6675 section 5.
    #[inline(always)]
    pub(super) fn send_by_pipe(
        send: &mut Sender,
        c: &mut Connection,
        r: &mut Receiver,
        now: Instant,
    ) -> Option<Segment> {
        let room = Self::room_by_pipe(&send.fly, &send.seq, c);
        if matches!(send.fly.recovery.state(), CaState::Recovery | CaState::Loss) {
            let segment = Self::resend_by_scoreboard(send, c, r, now, room);
            if segment.is_some() {
                return segment;
            }
        }
        let cwnd_edge = send.seq.max + room;
        let (start, stop) = send.cut_new(c, now, cwnd_edge)?;
        send.next = Self::after_new(send, c, cwnd_edge);
        Some(send.fill_new(c, r, now, start, stop))
    }

    /// Where the congestion window ends for new data, if new data alone may leave now: the state
    /// after nearly every ACK of a bulk transfer with SACK.
    #[inline(always)]
    pub(in crate::endpoint) fn edge_of_new_alone(send: &Sender, c: &Connection) -> Option<u64> {
        let plain = send.fly.recovery.is_sack()
            && send.fly.recovery.state() == CaState::Open
            && !send.fly.recovery.head_is_due()
            && !send.pacing.enabled
            && !send.probe_due
            && send.limits.queue.is_none()
            && send.limits.memory.is_none()
            && send.seq.wnd > 0
            && c.state.may_send();
        plain.then(|| send.seq.max + Self::room_by_pipe(&send.fly, &send.seq, c))
    }

    /// What may leave after a new segment, where the congestion window ends at `cwnd_edge` while no
    /// ACK arrives. The further segments of a burst leave without another look at the rest: nothing
    /// of it changes without input.
    #[inline(always)]
    pub(in crate::endpoint) fn after_new(send: &Sender, c: &Connection, cwnd_edge: u64) -> Next {
        if Self::is_window_spent(send, c, cwnd_edge) {
            Next::Nothing
        } else if send.fly.recovery.state() == CaState::Open
            && !send.pacing.enabled
            && send.limits.queue.is_none()
        {
            Next::New(cwnd_edge)
        } else {
            Next::Any
        }
    }

    /// True if a new segment has left and less than a whole one of the congestion window, which
    /// ends at `cwnd_edge` while no ACK arrives, is left: the rules for small segments hold back
    /// what follows, because more than that waits and the peer's window ends later. This is the
    /// state after nearly every ACK of a bulk transfer.
    #[inline(always)]
    fn is_window_spent(send: &Sender, c: &Connection, cwnd_edge: u64) -> bool {
        let whole = send.seq.max + u64::from(c.negotiated.mss);
        cwnd_edge < whole
            && cwnd_edge < send.seq.window_edge()
            && send.seq.written >= whole
            && send.fly.recovery.state() == CaState::Open
            && send.limits.memory.is_none()
    }

    fn resend_by_scoreboard(
        send: &mut Sender,
        c: &mut Connection,
        r: &mut Receiver,
        now: Instant,
        room: u64,
    ) -> Option<Segment> {
        if room < u64::from(c.negotiated.mss) {
            return None;
        }
        let new_data = send.seq.may_send_more();
        let (start, end) = match send.fly.recovery.board().next_seg(send.seq.max, new_data) {
            NextSeg::New => return None,
            NextSeg::Hole(start, end) => {
                let old = send.fly.flight.find(start)?;
                (start, old.end.min(end))
            }
            NextSeg::Rescue(end) => {
                let start = send.fly.flight.find(end - 1)?.start();
                let point = send.fly.recovery.recovery_point();
                send.fly.recovery.board_mut().rescued(point);
                return Some(send.resend(c, r, now, start, end));
            }
        };
        send.fly.recovery.board_mut().resent(end);
        Some(send.resend(c, r, now, start, end))
    }
}
