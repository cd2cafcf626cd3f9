//! 4.3BSD-Tahoe: the third duplicate ACK has the effects of a timeout.
//!
//! The window is set to one segment, and SND.NXT is set back to SND.UNA, as in ns-2's Tahoe; 4.3BSD
//! sent one segment and then continued from the earlier position, which differs only if several
//! segments were lost.

use super::{CaState, Outcome, Recovery, SenderView};
use crate::cc::CongestionControl;

pub(super) fn on_dup_ack(r: &mut Recovery, s: &mut SenderView<'_>) -> Outcome {
    if r.dup_acks != s.config.loss.dup_threshold || !r.guard_open(s) {
        return Outcome::default();
    }
    s.cc.on_congestion(&s.congestion(r.limited_octets, false));
    s.cc.set_cwnd(1.0);
    r.mark_entry(s);
    Outcome {
        entered: true,
        go_back: true,
        restart_timer: s.config.loss.timer_on_fast_retransmit,
        ..Outcome::default()
    }
}

pub(super) fn on_new_ack(r: &mut Recovery) -> Outcome {
    r.state = CaState::Open;
    Outcome { exited: true, may_grow: true, ..Outcome::default() }
}
