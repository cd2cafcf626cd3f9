//! The sequence of states: out of Startup, through Drain, around the cycle of ProbeBW, into
//! ProbeRTT and out.

use lasthop_units::{Duration, Instant};

use super::{BETA, Bbr3, DRAIN_ROUNDS, PROBE_RTT_DURATION, STARTUP_FULL_LOSS_COUNT, Sample, State};
use crate::cc::{AckSample, CaState};
use crate::mutant::Mutant;

/// What the ACKs report about a probe ("BBR.ack_phase").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum AckPhase {
    #[default]
    Init,
    Refilling,
    Starting,
    Feedback,
    Stopping,
}

/// Probing for bandwidth.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Probe {
    pub(super) phase: AckPhase,
    /// "is_bw_probe_sample": the ACKs are of data sent while probing.
    pub(super) is_sample: bool,
    pub(super) rounds_since: u32,
    pub(super) wait: Duration,
    since: Instant,
    pub(super) up_rounds: u32,
    up_acked: f64,
    /// Segments to be delivered for one more of "inflight_longterm".
    pub(super) up_per_segment: f64,
    pub(super) too_high: bool,
    pub(super) precautionary: bool,
}

/// The stay in ProbeRTT.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ProbeRtt {
    /// "probe_rtt_done_stamp"; `None`: still too much is in flight.
    pub(super) done_at: Option<Instant>,
    round_done: bool,
}

/// The most rounds that Reno's pace lets pass between two probes.
const RENO_ROUNDS: f64 = 63.0;
const MOST_UP_ROUNDS: u32 = 30;

impl Bbr3 {
    fn start_round(&mut self) {
        self.rounds.next_delivered = self.delivered;
    }

    pub(super) fn check_startup_done(&mut self, ack: &AckSample, s: &Sample) {
        // "CheckStartupHighLoss": a round of fast recovery with many lost ranges and more than 2 %
        // of loss.
        let many = self.short.loss_round_start
            && ack.state == CaState::Recovery
            && self.short.loss_events >= STARTUP_FULL_LOSS_COUNT
            && s.is_too_high()
            && !(s.app_limited && self.errs(Mutant::StartupLossNotWhenAppLimited));
        let any = self.short.loss_events > 0 && self.errs(Mutant::AnyLossEndsStartup);
        let high_loss = self.state == State::Startup && (many || any);
        if high_loss && !self.full.reached {
            self.undo.state = Some(State::Startup);
            self.full.reached = !self.errs(Mutant::StartupLossWithoutFullBw);
            if !self.errs(Mutant::StartupLossWithoutBound) {
                self.inflight_longterm = self.bdp().max(self.short.inflight_latest);
            }
        }
        if self.state == State::Startup && (self.full.reached || high_loss) {
            self.state.go(State::Drain);
            self.drain_start_round = self.rounds.count;
        }
    }

    pub(super) fn check_drain_done(&mut self, ack: &AckSample) {
        let part = if self.errs(Mutant::DrainLate) { 0.8 } else { 1.0 };
        let drained = ack.in_flight as f64 / self.mss <= part * self.inflight(self.bw, 1.0)
            && !self.errs(Mutant::DrainByRoundsAlone);
        let late = self.rounds.count > self.drain_start_round + DRAIN_ROUNDS
            && !self.errs(Mutant::DrainWithoutLimit);
        let errs = self.errs(Mutant::DrainOneAck);
        if self.state == State::Drain && (drained || late || errs) {
            if self.errs(Mutant::DrainToRefill) {
                return self.start_refill();
            }
            self.start_down(ack.now);
        }
    }

    fn start_down(&mut self, now: Instant) {
        self.short.reset_signals();
        self.probe.up_per_segment = f64::INFINITY;
        // "PickProbeWait": 0 or 1 rounds ahead, 2 to 3 s.
        self.probe.rounds_since = u32::from(self.random.next() >= 0.5);
        let least = if self.errs(Mutant::ShortProbeWait) { 1.0 } else { 2.0 };
        self.probe.wait = Duration::from_secs_f64(least + self.random.next());
        self.probe.since = now;
        self.probe.phase = AckPhase::Stopping;
        self.start_round();
        self.state.go(State::Down);
    }

    pub(super) fn start_refill(&mut self) {
        self.short.unbound();
        (self.probe.up_rounds, self.probe.up_acked) = (0, 0.0);
        self.probe.precautionary = false;
        self.probe.phase = AckPhase::Refilling;
        self.start_round();
        self.state.go(State::Refill);
    }

    fn start_up(&mut self, s: &Sample) {
        self.probe.phase = AckPhase::Starting;
        self.start_round();
        self.full.reset();
        self.full.bw = s.rate;
        self.state.go(State::Up);
        self.raise_slope();
    }

    /// "UpdateProbeBWCyclePhase".
    pub(super) fn update_cycle(&mut self, ack: &AckSample, s: &Sample) {
        if !self.full.reached || self.adapt_long_term(ack, s) {
            return;
        }
        let flight = ack.in_flight as f64 / self.mss;
        let down = self.state == State::Up && self.is_time_to_go_down(ack, s, flight);
        match *self.state {
            State::Down | State::Cruise if self.is_time_to_probe(ack.now) => self.start_refill(),
            State::Down if self.is_time_to_cruise(flight) => {
                if self.errs(Mutant::DownToUp) {
                    return self.start_up(s);
                }
                self.state.go(State::Cruise);
            }
            State::Refill
                if self.rounds.start && self.max_bw.count == 1 && self.errs(Mutant::FirstRefillToDown) =>
            {
                self.start_down(ack.now);
            }
            State::Refill if self.rounds.start => {
                self.probe.is_sample = true;
                self.start_up(s);
            }
            State::Up if down => {
                self.probe.too_high = false;
                self.start_down(ack.now);
            }
            _ => {}
        }
    }

    fn is_time_to_probe(&self, now: Instant) -> bool {
        if self.state == State::Down && self.errs(Mutant::NoProbeFromDown) {
            return false;
        }
        let wait = if self.errs(Mutant::ProbesEarly) { self.probe.wait / 2 } else { self.probe.wait };
        let part = if self.errs(Mutant::ProbesRoundsLate) { 1.5 } else { 1.0 };
        now > self.probe.since.saturating_add(wait)
            || f64::from(self.probe.rounds_since) >= part * self.target_inflight().min(RENO_ROUNDS)
    }

    fn is_time_to_cruise(&self, flight: f64) -> bool {
        let headroom = flight <= self.inflight_with_headroom() || self.errs(Mutant::NoHeadroom);
        let part = if self.errs(Mutant::DownLate) { 0.9 } else { 1.0 };
        headroom && flight <= part * self.inflight(self.max_bw.get(), 1.0)
    }

    fn is_time_to_go_down(&mut self, ack: &AckSample, s: &Sample, flight: f64) -> bool {
        if self.probe.too_high && flight >= self.inflight_longterm {
            self.probe.precautionary = true;
            return true;
        }
        if ack.cwnd_limited && self.cwnd >= self.inflight_longterm {
            // What limits the rate is "inflight_longterm".
            self.full.reset();
            self.full.bw = s.rate;
            return false;
        }
        self.full.now && !self.errs(Mutant::UpWithoutPlateau)
    }

    /// "AdaptLongTermModel": true if it has decided on a state.
    fn adapt_long_term(&mut self, ack: &AckSample, s: &Sample) -> bool {
        if self.probe.phase == AckPhase::Starting && self.rounds.start {
            self.probe.phase = AckPhase::Feedback;
        }
        if self.probe.phase == AckPhase::Stopping && self.rounds.start {
            self.probe.is_sample = false;
            self.probe.phase = AckPhase::Init;
            if self.state.is_probe_bw() && (!s.app_limited || self.errs(Mutant::AppLimitedSamplesCount)) {
                self.max_bw.advance(if self.errs(Mutant::TenCycles) { 5 } else { 1 });
            }
            if self.state.is_probe_bw() && self.probe.precautionary && !self.probe.too_high {
                self.start_refill();
                return true;
            }
        }
        if !s.is_too_high() && self.inflight_longterm.is_finite() {
            self.inflight_longterm = self.inflight_longterm.max(s.sent_in_flight);
            if self.state == State::Up {
                self.probe_upward(ack);
            }
        }
        false
    }

    fn probe_upward(&mut self, ack: &AckSample) {
        if !ack.cwnd_limited || self.cwnd < self.inflight_longterm || self.errs(Mutant::BoundNotRaised) {
            return;
        }
        self.probe.up_acked += ack.segments();
        if self.probe.up_acked >= self.probe.up_per_segment {
            let more = (self.probe.up_acked / self.probe.up_per_segment).floor();
            self.probe.up_acked -= more * self.probe.up_per_segment;
            self.inflight_longterm += more;
        }
        if self.rounds.start {
            self.raise_slope();
        }
    }

    fn raise_slope(&mut self) {
        let linear = self.errs(Mutant::LinearUpStep);
        let growth = f64::from(if linear { 1 + self.probe.up_rounds } else { 1u32 << self.probe.up_rounds });
        let more = u32::from(!self.errs(Mutant::ConstantUpStep));
        self.probe.up_rounds = (self.probe.up_rounds + more).min(MOST_UP_ROUNDS);
        self.probe.up_per_segment = (self.cwnd / growth).max(1.0);
    }

    /// "HandleInflightTooHigh".
    pub(super) fn handle_inflight_too_high(&mut self, now: Instant, inflight: f64, app_limited: bool) {
        self.probe.too_high = !self.errs(Mutant::TooHighNotKept);
        self.probe.is_sample = false;
        if !app_limited && !self.errs(Mutant::BoundNotLowered) && !self.errs(Mutant::UpAtFourTimes) {
            self.inflight_longterm = inflight.max(self.target_inflight() * BETA);
        }
        if self.state == State::Up {
            self.undo.state = Some(State::Up).filter(|_| !self.errs(Mutant::StateNotSaved));
            if self.errs(Mutant::UpLossToRefill) {
                return self.start_refill();
            }
            self.start_down(now);
        }
    }

    pub(super) fn check_probe_rtt(&mut self, ack: &AckSample) {
        if self.state != State::ProbeRtt && self.min_rtt.probe_expired && !self.idle_restart {
            self.state.go(State::ProbeRtt);
            // In this order: a larger earlier window remains.
            self.save_cwnd();
            self.probe_rtt.done_at = None;
            self.probe.phase = AckPhase::Stopping;
            self.start_round();
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(ack);
        }
        // "RS.delivered" counts what this ACK delivers too.
        self.idle_restart &= ack.delivered == 0;
    }

    fn handle_probe_rtt(&mut self, ack: &AckSample) {
        // "MarkConnectionAppLimited": low rates of this time do not count.
        self.limited_until = (self.delivered + ack.in_flight).max(1);
        match self.probe_rtt.done_at {
            None if ack.in_flight as f64 / self.mss <= self.probe_rtt_cwnd() => {
                let held = match self.mutant {
                    Some(Mutant::ShortProbeRtt) => PROBE_RTT_DURATION / 10,
                    Some(Mutant::LongProbeRtt) => PROBE_RTT_DURATION * 2,
                    _ => PROBE_RTT_DURATION,
                };
                self.probe_rtt.done_at = Some(ack.now + held);
                self.probe_rtt.round_done = false;
                self.start_round();
            }
            None => {}
            Some(_) => {
                self.probe_rtt.round_done |= self.rounds.start;
                if self.probe_rtt.round_done {
                    self.check_probe_rtt_done(ack.now);
                }
            }
        }
    }

    fn check_probe_rtt_done(&mut self, now: Instant) {
        if self.probe_rtt.done_at.is_some_and(|at| now > at) {
            self.min_rtt.probe_at = now;
            self.restore_cwnd();
            self.exit_probe_rtt(now);
        }
    }

    fn exit_probe_rtt(&mut self, now: Instant) {
        self.short.unbound();
        self.full.reached |= self.errs(Mutant::ProbeRttMeansFull);
        if self.full.reached && self.errs(Mutant::ProbeRttToRefill) {
            self.start_refill();
        } else if self.full.reached || self.errs(Mutant::ProbeRttToCruise) {
            self.start_down(now);
            self.state.go(State::Cruise);
        } else {
            if self.errs(Mutant::ProbeRttByWayOfDown) {
                self.start_down(now);
            }
            self.state.go(State::Startup);
        }
    }

    /// "HandleRestartFromIdle" of a sender that the application limits: at the rate of the model,
    /// and without a probe for the round trip, because idleness has drained the queue.
    pub(super) fn restart_from_idle(&mut self, now: Instant) {
        self.idle_restart = true;
        self.aggregation.restart(now);
        if self.state.is_probe_bw() {
            self.set_pacing_rate(1.0);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(now);
        }
    }
}
