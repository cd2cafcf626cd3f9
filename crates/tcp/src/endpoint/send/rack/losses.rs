//! Loss detection: by the sending times of the segments that arrive (RFC 8985 section 6), or by
//! count, and the timer of the segments in doubt.

use lasthop_units::{Duration, Instant};

use super::super::detector::LossRecovery;
use crate::config::LossDetection;
use crate::endpoint::timers::Timer;
use crate::recovery::{AckDigest, CaState};

/// TCP_TIMEOUT_MIN_US: added to RACK's and the probe's wait before it is rounded up to jiffies
/// (tcp_rack_mark_lost, tcp_schedule_loss_probe; Linux 6.1.61, before that two jiffies: the same
/// with HZ 1000).
pub(super) const TIMEOUT_MIN: Duration = Duration::from_millis(2);

impl LossRecovery<'_> {
    pub(super) fn detect_losses(&mut self) {
        if self.conn.config.loss.loss_detection == LossDetection::Fack {
            let flight = &self.fly.flight;
            let record =
                |i: usize| flight.get(i).map_or((Instant::MAX, 0, 1), |s| (s.at, s.end, s.transmissions));
            self.fly.rack.detect_by_count(self.conn.config.loss.dup_threshold, record);
            return;
        }
        let min_rtt = self.conn.rtt.min.unwrap_or(Duration::ZERO);
        let srtt = self.conn.rtt.rto.srtt().unwrap_or(min_rtt);
        let recovering = matches!(self.fly.recovery.state(), CaState::Recovery | CaState::Loss);
        let window = self.fly.rack.reo_wnd(recovering, self.conn.config.loss.dup_threshold, min_rtt, srtt);
        let flight = &self.fly.flight;
        let record =
            |i: usize| flight.get(i).map_or((Instant::MAX, 0, 1), |s| (s.at, s.end, s.transmissions));
        let again = self.fly.rack.detect_by_time(self.now, window, record);
        if let Some(at) = again {
            let wait = (at.since(self.now) + TIMEOUT_MIN).min(self.conn.rtt.rto.current());
            self.conn.timers.start(Timer::Reordering, self.now, wait);
            self.conn.timers.stop(Timer::LossProbe);
            self.conn.timers.stop(Timer::Retransmission);
        } else if self.conn.timers.runs(Timer::Reordering) {
            self.rearm_rto(true);
        }
    }

    /// The reordering window of the oldest segment in doubt has passed.
    pub(in crate::endpoint) fn reordering_timeout(&mut self) {
        let before = self.fly.rack.total_lost;
        self.detect_losses();
        self.fly.frto.prefer_new = false;
        // Also after a timeout (tcp_rack_reo_timeout).
        if self.fly.rack.total_lost > before && self.fly.recovery.state() != CaState::Recovery {
            self.enter_recovery();
            let d = AckDigest::of_timer(before);
            self.reduce(&d);
        }
        // tcp_rack_reo_timeout detects losses once; the next ACK or the timeout detects further
        // ones.
        if self.seq.is_outstanding() {
            self.rearm_rto(true);
        }
    }

    /// How long until the oldest segment has waited for a whole timeout (tcp_rto_delta_us); zero
    /// where it has.
    pub(super) fn rto_delta(&self) -> Duration {
        let timeout = self.conn.rtt.timeout(&self.conn.config, &self.fly.cc);
        self.fly.flight.front().map_or(timeout, |head| head.at.saturating_add(timeout).since(self.now))
    }

    /// The retransmission timer runs again (tcp_rearm_rto): for a whole timeout, or, where a probe
    /// or the reordering timer was `pending` in its place, for what is left of the oldest
    /// segment's.
    pub(super) fn rearm_rto(&mut self, pending: bool) {
        self.conn.timers.stop_for_loss();
        let wait = if pending {
            self.rto_delta().max(Duration::from_micros(1))
        } else {
            self.conn.rtt.timeout(&self.conn.config, &self.fly.cc)
        };
        self.conn.timers.start(Timer::Retransmission, self.now, wait);
        self.conn.timers.stop(Timer::Persist);
    }
}
