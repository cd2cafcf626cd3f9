//! Loss recovery on the scoreboard: RFC 6675 section 5. The loop of its step (C) is the endpoint's
//! output, which calls [`Scoreboard::next_seg`](super::Scoreboard::next_seg) while cwnd exceeds
//! pipe by a segment.

use super::{CaState, Outcome, Recovery, SenderView};
use crate::cc::CongestionControl;

pub(super) fn on_dup_ack(r: &mut Recovery, s: &mut SenderView<'_>) -> Outcome {
    if matches!(r.state, CaState::Recovery | CaState::Loss) {
        return Outcome::default();
    }
    // Section 5 steps (1) and (2): DupThresh duplicate ACKs, or the first outstanding octet IsLost.
    if r.dup_acks < s.config.loss.dup_threshold && !r.board.is_lost(s.una) {
        return Outcome::default();
    }
    if !r.guard_open(s) {
        return Outcome::default();
    }
    // Step (4): RecoveryPoint = HighData; ssthresh = cwnd = FlightSize / 2; the first lost segment
    // is sent again.
    s.cc.on_congestion(&s.congestion(r.limited_octets, false));
    r.mark_entry(s);
    r.inflation = 0.0;
    r.board.begin_recovery();
    r.resend_head = true;
    Outcome { entered: true, restart_timer: s.config.loss.timer_on_fast_retransmit, ..Outcome::default() }
}

pub(super) fn on_new_ack(r: &mut Recovery, s: &mut SenderView<'_>) -> Outcome {
    // Step (A): An incoming cumulative ACK for a sequence number greater than RecoveryPoint
    // signals the end.
    if s.una >= r.recover {
        s.cc.on_recovered(s.now);
        r.state = CaState::Open;
        r.resend_head = false;
        r.board.end_recovery();
        return Outcome { exited: true, ..Outcome::default() };
    }
    Outcome::default()
}
