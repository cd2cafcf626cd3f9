//! The fifth check: the ACK field (RFC 9293 section 3.10.7.4), and its effect on the sender. One
//! procedure, with two loss detectors.

use lasthop_units::Instant;

use super::super::connection::Connection;
use super::super::meters::{CloseReason, Event};
use super::Sender;
use super::detector::{Ack, Detector, LossRecovery};
use super::dispatch::by_detector;
use crate::recovery::{AckDigest, Outcome};
use crate::segment::Segment;
use crate::state::{Input, State};

impl Sender {
    /// An acceptable ACK in a synchronized state. `ack` is its offset, not above SND.MAX; `start`
    /// is the segment's in the peer's stream.
    ///
    /// Inlined into its caller, so that a receiver's segments do not have the cost of the loops.
    #[inline(always)]
    pub fn take_ack(&mut self, c: &mut Connection, now: Instant, seg: &Segment, start: i64, ack: i64) {
        let a = Ack { seg, ack };
        by_detector!(self.fly, D => self.take_ack_by::<D>(c, now, a, start));
    }

    #[inline(always)]
    fn take_ack_by<D: Detector>(&mut self, c: &mut Connection, now: Instant, a: Ack<'_>, start: i64) {
        if self.seq.has_nothing_to_send(c)
            && a.ack == self.seq.una as i64
            && !(D::USES_LATE_REPORTS && (!a.seg.rare.sack.is_empty() || c.timers.run_for_loss()))
            && !c.ecn.signals_congestion()
        {
            self.seq.take_window(a.seg, c.negotiated.snd_scale, start, self.seq.una);
            return;
        }
        self.take_whole_ack::<D>(c, now, a, start);
    }

    #[inline(never)]
    fn take_whole_ack<D: Detector>(&mut self, c: &mut Connection, now: Instant, a: Ack<'_>, start: i64) {
        let Ack { seg, ack } = a;
        // SACKs move it too, where the overhead of packets counts.
        self.seq.room_moved = true;
        let wnd_before = self.seq.wnd;
        let pending = c.timers.run_for_loss();
        let passed = (ack - self.seq.una as i64).max(0) as u64;
        let mut d = AckDigest::of(passed);
        let mut x = LossRecovery { fly: &mut self.fly, conn: c, seq: &self.seq, now };
        D::before(&x, &self.limits.usage, &mut d);
        D::take_sack(&mut x, a, &mut d);
        self.seq.take_window(seg, c.negotiated.snd_scale, start, ack.max(0) as u64);
        d.window_moved = self.seq.wnd != wnd_before;
        if d.una_moved {
            self.seq.advance(ack as u64);
            self.unanswered.timeouts = 0;
        }
        let mut duplicate = false;
        let mut x = LossRecovery::of(self, c, now);
        if d.una_moved {
            D::take_cumulative(&mut x, a, &mut d);
            x.conn.meters.counters.octets_acked += d.passed;
        } else {
            duplicate = D::is_duplicate(&x, a, &d);
            x.conn.meters.counters.dup_acks_received += u64::from(duplicate);
        }
        D::measure_rtt(&mut x, a, &d);
        let outcome = D::judge(&mut x, a, &mut d, duplicate);
        self.follow(c, now, outcome);
        if D::WINDOW_ENDS_IDLENESS && d.window_moved && self.seq.waits() {
            self.restart_if_idle(c, now);
        }
        if wnd_before == 0 && self.seq.wnd > 0 && self.seq.is_outstanding() {
            // The probe's segment was refused, so the oldest is sent first.
            self.fly.recovery.set_head_is_due(true);
        }
        D::rearm(&mut LossRecovery::of(self, c, now), &d, outcome, pending);
        if d.una_moved && self.seq.is_finished() {
            fin_was_acked(c, now);
        }
        D::respond_to_marks(&mut LossRecovery::of(self, c, now));
        self.update_timers(c, now);
    }

    pub fn follow(&mut self, c: &mut Connection, now: Instant, outcome: Outcome) {
        if outcome.entered {
            c.meters.counters.fast_retransmits += 1;
            c.ecn.reduced();
            c.rtt.timed = None;
            c.meters.emit(Event::RecoveryEntered);
        }
        if outcome.exited {
            c.meters.emit(Event::RecoveryExited);
        }
        if outcome.go_back {
            self.seq.nxt = self.seq.una;
        }
        if outcome.restart_timer {
            self.fly.start_rto(c, now);
        }
    }
}

/// The endpoint does the rest when the state is CLOSED.
fn fin_was_acked(c: &mut Connection, now: Instant) {
    c.step(Input::AckOfFin);
    match c.state {
        State::TimeWait => c.enter_time_wait(now),
        State::Closed => c.meters.emit(Event::Closed(CloseReason::Finished)),
        _ => {}
    }
}
