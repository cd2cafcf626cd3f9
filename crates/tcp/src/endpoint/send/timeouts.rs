//! Timeouts: RFC 9293 section 3.10.8, RFC 6298 section 5, the persist timer of RFC 9293 section
//! 3.8.6.1.

use lasthop_units::{Duration, Instant};

use super::super::connection::Connection;
use super::super::meters::Event;
use super::super::receive::Receiver;
use super::super::rtt::Unanswered;
use super::super::timers::Timer;
use super::Sender;
use super::detector::{Detector, LossRecovery};
use super::dispatch::by_detector;
use super::in_flight::InFlight;
use crate::cc::CongestionControl;
use crate::recovery::CaState;
use crate::state::State;

impl Unanswered {
    /// A closed window is probed after a time.
    fn start_persist(&self, c: &mut Connection, now: Instant) {
        let wait = self.probe_interval(c.rtt.rto.current(), c.config.timers.max_rto);
        c.timers.start(Timer::Persist, now, wait);
    }
}

impl Sender {
    /// The retransmission timer expired. False: the connection is aborted.
    pub fn retransmission_timeout(&mut self, c: &mut Connection, now: Instant) -> bool {
        if !self.seq.is_outstanding() {
            return true;
        }
        self.unanswered.timeouts += 1;
        if self.unanswered.timeouts == 1 {
            self.unanswered.since = now;
        }
        if c.config.timers.max_retries.is_some_and(|max| self.unanswered.timeouts > max)
            || self.unanswered.is_too_long(now)
        {
            return false;
        }
        c.meters.counters.timeouts += 1;
        self.fin_again = false;
        c.meters.emit(Event::RtoFired { count: self.unanswered.timeouts });
        c.rtt.timed_out(self.seq.una);
        let repeated = self.unanswered.timeouts > 1;
        // RFC 6298 (5.4): the earliest unacknowledged segment is sent at once, pacing or not.
        let outcome =
            by_detector!(self.fly, D => D::on_timeout(&mut LossRecovery::of(self, c, now), repeated));
        c.timers.stop(Timer::Pacing);
        self.follow(c, now, outcome);
        // (5.6).
        self.fly.start_rto(c, now);
        c.timers.set(Timer::Retransmission, self.unanswered.bound(c.timers.at(Timer::Retransmission)));
        true
    }

    /// The window has stayed too small: a probe, or the override of silly-window avoidance. False:
    /// the connection is aborted.
    pub fn persist_timeout(&mut self, c: &mut Connection, r: &mut Receiver, now: Instant) -> bool {
        if self.seq.wnd == 0 {
            if self.unanswered.probes == 0 {
                self.unanswered.since = now.max(self.unanswered.since);
            } else if self.unanswered.is_too_long(now) {
                return false;
            }
            self.probe_due = true;
            c.meters.emit(Event::ZeroWindowProbe);
        } else if self.limits.queue.is_some() {
            self.wake_queue(c, r, now);
            if self.seq.is_outstanding() {
                return true;
            }
        } else {
            self.override_sws = true;
        }
        self.unanswered.probes = (self.unanswered.probes + 1).min(16);
        self.unanswered.start_persist(c, now);
        true
    }

    /// After any input: which of the retransmission and the persist timer runs.
    pub fn update_timers(&mut self, c: &mut Connection, now: Instant) {
        if !c.state.is_synchronized() || c.state == State::TimeWait {
            return;
        }
        let waiting = self.seq.waits();
        let outstanding = self.seq.is_outstanding();
        if self.seq.wnd == 0 && (outstanding || waiting) {
            c.timers.stop(Timer::Retransmission);
            if !c.timers.runs(Timer::Persist) {
                self.unanswered.probes = 0;
                self.unanswered.start_persist(c, now);
            }
        } else if outstanding {
            c.timers.stop(Timer::Persist);
            if !c.timers.runs(Timer::Retransmission) && !c.timers.run_for_loss() {
                self.fly.start_rto(c, now);
            }
        } else {
            c.timers.stop(Timer::Retransmission);
            self.update_override(c, now, waiting);
        }
    }

    /// RFC 9293 section 3.8.6.2.1: what silly-window avoidance holds back leaves after an override
    /// timeout.
    fn update_override(&mut self, c: &mut Connection, now: Instant, waiting: bool) {
        let small = self.seq.wnd < self.seq.end() - self.seq.una || self.limits.queue.is_some();
        let held = waiting && c.state.may_send() && small;
        if !held {
            c.timers.stop(Timer::Persist);
        } else if !c.timers.runs(Timer::Persist) {
            self.unanswered.probes = 0;
            self.unanswered.start_persist(c, now);
        }
    }

    /// After an idle time of more than one RTO the window restarts.
    pub fn restart_after_idleness(&mut self, c: &mut Connection, now: Instant) {
        if self.seq.nxt == self.seq.end() {
            self.restart_if_idle(c, now);
        }
    }

    pub fn restart_if_idle(&mut self, c: &mut Connection, now: Instant) {
        let clock = c.timers.clock();
        let idle = clock.jiffy(now).since(clock.jiffy(self.last_sent));
        if c.config.growth.idle_restart
            && c.state.is_synchronized()
            && !self.seq.is_outstanding()
            && idle > c.rtt.rto.current()
        {
            let window = self.fly.restart_window(c, idle);
            self.fly.cc.on_idle_restart(now, window);
        }
    }
}

impl InFlight {
    /// The window after so much idle time. RFC 5681 section 4.1: min(IW, cwnd). Linux'
    /// tcp_cwnd_restart halves down to that and raises ssthresh before (tcp_current_ssthresh).
    fn restart_window(&mut self, c: &Connection, idle: Duration) -> f64 {
        let cwnd = self.cc.cwnd();
        let least = c.config.initial_window_segments(c.negotiated.mss).min(cwnd);
        if !c.config.host.idle_halves_window {
            return least;
        }
        let mut window = cwnd.floor();
        if !matches!(self.recovery.state(), CaState::Cwr | CaState::Recovery) {
            let most = (window / 2.0).floor() + (window / 4.0).floor();
            self.cc.set_ssthresh(self.cc.ssthresh().max(most));
        }
        let rto = c.rtt.rto.current().0.max(1);
        let mut passed = rto;
        while passed < idle.0 && window > least {
            window = (window / 2.0).floor();
            passed = passed.saturating_add(rto);
        }
        window.max(least)
    }
}
