//! NewReno's answer to partial ACKs: RFC 6582 section 3.2.

use super::{CaState, Outcome, Recovery, SenderView, grows_at_exit};
use crate::cc::CongestionControl;
use crate::config::{RecoveryExit, TimerOnPartialAck};

pub(super) fn on_new_ack(r: &mut Recovery, s: &mut SenderView<'_>, acked: u64) -> Outcome {
    if s.una >= r.recover {
        return full(r, s);
    }
    // Step 3, partial ACK: send the first unacknowledged segment; "deflate the congestion window by
    // the amount of new data acknowledged ... If the partial ACK acknowledges at least one SMSS of
    // new data, then add back SMSS".
    r.resend_head = true;
    let segments = acked as f64 / f64::from(s.mss);
    r.inflation -= segments;
    if segments >= 1.0 {
        r.inflation += 1.0;
    }
    r.inflation = r.inflation.max(1.0 - s.cc.cwnd());
    r.partial_acks = r.partial_acks.saturating_add(1);
    let restart = r.partial_acks == 1 || s.config.loss.timer_on_partial_ack == TimerOnPartialAck::Every;
    Outcome { keep_timer: !restart, ..Outcome::default() }
}

fn full(r: &mut Recovery, s: &mut SenderView<'_>) -> Outcome {
    // Step 3, full ACK, option 1: cwnd = min (ssthresh, max(FlightSize, SMSS) + SMSS). ns-2 keeps
    // cwnd. After a timeout within this recovery the window is the timeout's, and slow start goes
    // on from it.
    if !r.timed_out {
        s.cc.on_recovered(s.now);
    }
    if s.config.loss.recovery_exit == RecoveryExit::Deflate && !r.timed_out {
        let flight = ((s.max - s.una) as f64 / f64::from(s.mss)).max(1.0);
        // cwnd is ssthresh already, or what an algorithm without a use for ssthresh has put in its
        // place.
        let cwnd = s.cc.cwnd().min(flight + 1.0);
        s.cc.set_cwnd(cwnd);
    }
    r.inflation = 0.0;
    r.resend_head = false;
    r.timed_out = false;
    r.state = CaState::Open;
    Outcome { exited: true, may_grow: grows_at_exit(s), ..Outcome::default() }
}
