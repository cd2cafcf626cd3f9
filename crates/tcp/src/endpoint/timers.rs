//! Timeouts: RFC 9293 section 3.10.8, RFC 6298 section 5, the persist timer of RFC 9293 section
//! 3.8.6.1.

use lasthop_units::{Duration, Instant};

use super::{CloseReason, Endpoint, Event};
use crate::cc::CongestionControl;
use crate::recovery::Outcome;
use crate::state::{Input, State};

impl Endpoint {
    /// Its moment has come: fires what is due. Harmless when nothing is.
    pub fn on_time(&mut self, now: Instant) {
        self.ack.on_time(now, self.rto.current());
        if self.pace_at <= now {
            // No longer held: what the windows hold now needs no wake-up.
            self.pace_at = Instant::ZERO;
            self.look_at_queue();
        }
        if self.time_wait_at <= now {
            self.time_wait_at = Instant::MAX;
            self.step(Input::TwoMsl);
            self.stop_timers();
            self.emit(Event::Closed(CloseReason::Finished));
        }
        // A probe that is due together with the timeout goes first and puts it off (RFC 8985
        // section 7.2).
        if self.loss_at <= now {
            self.loss_timeout(now);
        }
        if self.rto_at <= now {
            self.rto_at = Instant::MAX;
            if self.is_opening() { self.syn_timeout(now) } else { self.retransmission_timeout(now) }
        }
        if self.persist_at <= now {
            self.persist_at = Instant::MAX;
            self.persist_timeout(now);
        }
        self.check();
    }

    fn syn_timeout(&mut self, now: Instant) {
        self.timeouts_in_a_row += 1;
        if self.config.syn_retries.is_some_and(|max| self.timeouts_in_a_row > max) {
            self.finish(Event::Closed(CloseReason::TimedOut));
            return;
        }
        self.counters.timeouts += 1;
        self.ecn.reduced();
        self.emit(Event::RtoFired { count: self.timeouts_in_a_row });
        self.rto.back_off();
        self.syn_due = true;
        if self.syn_transmissions >= self.config.host.option_syns && self.state == State::SynSent {
            self.stop_offering();
        }
        self.rto_at = self.timers.at(now, self.rto.current());
    }

    /// Something on the way may dislike the options.
    #[cold]
    fn stop_offering(&mut self) {
        self.config.timestamps = false;
        self.config.sack = false;
        self.config.window_scaling = false;
        (self.timestamps, self.sack) = (false, false);
    }

    fn retransmission_timeout(&mut self, now: Instant) {
        if self.una == self.max {
            return;
        }
        self.timeouts_in_a_row += 1;
        if self.timeouts_in_a_row == 1 {
            self.unanswered_since = now;
        }
        if self.config.max_retries.is_some_and(|max| self.timeouts_in_a_row > max) || self.is_unanswered(now)
        {
            self.finish(Event::Closed(CloseReason::TimedOut));
            return;
        }
        self.counters.timeouts += 1;
        self.fin_again = false;
        self.emit(Event::RtoFired { count: self.timeouts_in_a_row });
        // RFC 6298 (5.5); Karn: no timed segment survives.
        self.rto.back_off();
        self.timed = None;
        self.resent_by_timeout = Some((self.una, Instant::MAX));
        let repeated = self.timeouts_in_a_row > 1;
        let outcome = if self.recovery.is_rack() {
            if self.watches_timeouts() {
                self.watch_timeout(now, repeated);
            } else {
                self.enter_loss_by_rack(now, repeated);
            }
            Outcome::default()
        } else {
            let (recovery, mut sender) = self.recovery_and_sender(now);
            recovery.on_timeout(&mut sender, repeated)
        };
        // RFC 6298 (5.4): the earliest unacknowledged segment goes at once, pacing or not.
        self.recovery.set_wants_head(self.recovery.is_sack() || self.recovery.is_rack());
        self.pace_at = Instant::ZERO;
        self.follow(now, outcome);
        // (5.6).
        self.start_rto(now);
        self.rto_at = self.until_user_timeout(self.rto_at);
    }

    /// The user timeout has passed.
    fn is_unanswered(&self, now: Instant) -> bool {
        self.user_timeout.is_some_and(|limit| now.since(self.unanswered_since) >= limit)
    }

    /// Until when a timer may wait for an answer.
    fn until_user_timeout(&self, at: Instant) -> Instant {
        match self.user_timeout {
            Some(limit) if self.timeouts_in_a_row > 0 => at.min(self.unanswered_since.saturating_add(limit)),
            _ => at,
        }
    }

    /// The window has stayed too small: a probe, or the override of silly-window avoidance.
    fn persist_timeout(&mut self, now: Instant) {
        if self.wnd == 0 {
            if self.persist_backoff == 0 {
                self.unanswered_since = now.max(self.unanswered_since);
            } else if self.is_unanswered(now) {
                self.finish(Event::Closed(CloseReason::TimedOut));
                return;
            }
            self.probe_due = true;
            self.emit(Event::ZeroWindowProbe);
        } else if self.offload.is_some() {
            self.wake_queue(now);
            if self.una < self.max {
                return;
            }
        } else {
            self.override_sws = true;
        }
        self.persist_backoff = (self.persist_backoff + 1).min(16);
        self.persist_at = self.timers.at(now, self.persist_interval());
    }

    fn persist_interval(&self) -> Duration {
        // RFC 9293 section 3.8.6.1: the first probe after the RTO, then doubled; bounded like it.
        self.rto.current().saturating_mul(1 << self.persist_backoff).min(self.config.max_rto)
    }

    /// After any input: which of the retransmission and the persist timer runs.
    pub(super) fn update_timers(&mut self, now: Instant) {
        if !self.state.is_synchronized() || self.state == State::TimeWait {
            return;
        }
        let waiting = self.nxt < self.stream_end();
        let outstanding = self.una < self.max;
        if self.wnd == 0 && (outstanding || waiting) {
            self.rto_at = Instant::MAX;
            if self.persist_at == Instant::MAX {
                self.persist_backoff = 0;
                self.persist_at = self.timers.at(now, self.persist_interval());
            }
        } else if outstanding {
            self.persist_at = Instant::MAX;
            if self.rto_at == Instant::MAX && self.loss_at == Instant::MAX {
                self.start_rto(now);
            }
        } else {
            self.rto_at = Instant::MAX;
            self.update_override(now, waiting);
        }
    }

    /// RFC 9293 section 3.8.6.2.1: what silly-window avoidance holds back leaves after an override
    /// timeout.
    fn update_override(&mut self, now: Instant, waiting: bool) {
        let small = self.wnd < self.stream_end() - self.una || self.offload.is_some();
        let held = waiting && self.state.may_send() && small;
        if !held {
            self.persist_at = Instant::MAX;
        } else if self.persist_at == Instant::MAX {
            self.persist_backoff = 0;
            self.persist_at = self.timers.at(now, self.persist_interval());
        }
    }

    pub(super) fn enter_time_wait(&mut self, now: Instant) {
        self.rto_at = Instant::MAX;
        self.loss_at = Instant::MAX;
        self.persist_at = Instant::MAX;
        self.time_wait_at = self.timers.at(now, self.config.time_wait);
    }

    /// RFC 5681 section 4.1: after an idle time of more than one RTO, cwnd = min(IW, cwnd).
    pub(super) fn restart_after_idleness(&mut self, now: Instant) {
        if self.nxt == self.stream_end() {
            self.restart_if_idle(now);
        }
    }

    pub(super) fn restart_if_idle(&mut self, now: Instant) {
        if self.config.idle_restart
            && self.state.is_synchronized()
            && self.una == self.max
            && self.timers.jiffy(now).since(self.timers.jiffy(self.last_sent)) > self.rto.current()
        {
            let restart = self.config.initial_window_segments(self.mss).min(self.cc.cwnd());
            self.cc.on_idle_restart(now, restart);
        }
    }
}
