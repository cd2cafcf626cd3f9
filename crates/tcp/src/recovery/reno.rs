//! Fast retransmit and plain fast recovery: RFC 5681 section 3.2, and the entry that NewReno
//! shares.

use super::{CaState, Outcome, Recovery, SenderView, grows_at_exit};
use crate::cc::CongestionControl;

pub(super) fn on_dup_ack(r: &mut Recovery, s: &mut SenderView<'_>) -> Outcome {
    if r.state == CaState::Recovery {
        // Step 4: "For each additional duplicate ACK received (after the third), cwnd MUST be
        // incremented by SMSS."
        r.inflation += 1.0;
        return Outcome::default();
    }
    if r.dup_acks != s.config.loss.dup_threshold || !r.guard_open(s) {
        return Outcome::default();
    }
    // Steps 2 and 3: ssthresh by equation 4; the lost segment is sent again; cwnd = ssthresh +
    // 3*SMSS.
    s.cc.on_congestion(&s.congestion(r.limited_octets, false));
    r.mark_entry(s);
    r.inflation = f64::from(s.config.loss.dup_threshold);
    r.resend_head = true;
    Outcome { entered: true, restart_timer: s.config.loss.timer_on_fast_retransmit, ..Outcome::default() }
}

pub(super) fn on_new_ack(r: &mut Recovery, s: &mut SenderView<'_>) -> Outcome {
    s.cc.on_recovered(s.now);
    // Step 6: "When the next ACK arrives that acknowledges previously unacknowledged data, a TCP
    // MUST set cwnd to ssthresh", which is what cwnd has been without the inflation.
    r.inflation = 0.0;
    r.resend_head = false;
    r.state = CaState::Open;
    Outcome { exited: true, may_grow: grows_at_exit(s), ..Outcome::default() }
}
