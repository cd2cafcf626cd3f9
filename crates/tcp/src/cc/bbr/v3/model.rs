//! Version 3's model of the path: the largest rate, the smallest round trip, whether the pipe is
//! full, how much ACKs are bunched, and the short-term bounds that losses set.

use std::collections::VecDeque;

use lasthop_units::{Duration, Instant};

use super::{BETA, Bbr3, Sample};
use crate::cc::AckSample;
use crate::mutant::Mutant;

const FULL_BW_THRESHOLD: f64 = 1.25;
const FULL_BW_ROUNDS: u32 = 3;
const MIN_RTT_FILTER: Duration = Duration::from_secs(10);
const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);
const EXTRA_ACKED_ROUNDS: u64 = 10;

/// "BBR.max_bw_filter": the largest of this cycle of ProbeBW and of the one before.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MaxBw {
    cycles: [f64; 2],
    /// "BBR.cycle_count".
    pub(super) count: u64,
}

impl MaxBw {
    pub(super) fn get(&self) -> f64 {
        self.cycles[0].max(self.cycles[1])
    }
    pub(super) fn add(&mut self, bw: f64) {
        self.cycles[1] = self.cycles[1].max(bw);
    }
    /// A deliberate mistake: nothing else counts.
    fn replace(&mut self, bw: f64) {
        self.cycles = [0.0, bw];
    }
    /// A cycle ends; `kept` cycles are one of the filter (1).
    pub(super) fn advance(&mut self, kept: u64) {
        self.count += 1;
        if !self.count.is_multiple_of(kept) {
            return;
        }
        // A cycle without a sample does not remove the last one.
        if self.cycles[1] > 0.0 {
            self.cycles = [self.cycles[1], 0.0];
        }
    }
}

/// The smallest round trip of 10 s, and that of 5 s by which ProbeRTT is scheduled.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MinRtt {
    min: Option<Duration>,
    at: Instant,
    pub(super) probe: Option<Duration>,
    pub(super) probe_at: Instant,
    pub(super) probe_expired: bool,
}

impl MinRtt {
    pub(super) fn get(&self) -> Option<Duration> {
        self.min
    }
    pub(super) fn begin(&mut self, now: Instant, rtt: Option<Duration>) {
        *self = MinRtt { min: rtt, at: now, probe: rtt, probe_at: now, probe_expired: false };
    }
    pub(super) fn update(&mut self, now: Instant, rtt: Option<Duration>, interval: Duration) {
        self.probe_expired = now > self.probe_at.saturating_add(interval);
        if let Some(rtt) = rtt
            && (self.probe.is_none_or(|m| rtt < m) || self.probe_expired)
        {
            (self.probe, self.probe_at) = (Some(rtt), now);
        }
        let expired = now > self.at.saturating_add(MIN_RTT_FILTER);
        let Some(probe) = self.probe else { return };
        if self.min.is_none_or(|m| probe < m) || expired {
            (self.min, self.at) = (Some(probe), self.probe_at);
        }
    }
}

/// "BBR.full_bw": three rounds without a growth of a quarter.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    pub(super) reached: bool,
    pub(super) now: bool,
    pub(super) bw: f64,
    pub(super) count: u32,
}

impl FullPipe {
    pub(super) fn reset(&mut self) {
        (self.bw, self.count, self.now) = (0.0, 0, false);
    }
    pub(super) fn check(&mut self, round_start: bool, s: &Sample, mutant: Option<Mutant>) {
        let skips = s.app_limited && mutant != Some(Mutant::AppLimitedRoundsCount);
        if self.now || !round_start || skips {
            return;
        }
        if s.rate >= self.bw * FULL_BW_THRESHOLD {
            self.reset();
            self.bw = s.rate;
            return;
        }
        self.count += 1;
        let rounds = if mutant == Some(Mutant::FullAfterOneRound) { 1 } else { FULL_BW_ROUNDS };
        let full = self.count >= rounds;
        self.reached |= full;
        self.now = full && mutant != Some(Mutant::FullBwNowNotSet);
    }
}

/// "BBR.extra_acked": what arrived beyond the rate, the most in ten rounds.
#[derive(Clone, Debug, Default)]
pub(super) struct Aggregation {
    since: Instant,
    delivered: f64,
    /// By round, falling.
    largest: VecDeque<(u64, f64)>,
}

impl Aggregation {
    pub(super) fn begin(&mut self, now: Instant) {
        self.since = now;
        self.largest.reserve(EXTRA_ACKED_ROUNDS as usize + 2);
    }
    #[cfg(test)]
    pub(super) fn since(&self) -> Instant {
        self.since
    }
    /// "extra_acked_interval_start" is now; the count of acknowledged segments starts from here.
    pub(super) fn restart(&mut self, now: Instant) {
        self.since = now;
    }
    pub(super) fn extra(&self) -> f64 {
        self.largest.front().map_or(0.0, |l| l.1)
    }
    fn update(&mut self, now: Instant, acked: f64, bw: f64, cwnd: f64, round: u64, rounds: u64) {
        let mut expected = bw * now.since(self.since).as_secs_f64();
        if self.delivered <= expected {
            self.delivered = 0.0;
            self.since = now;
            expected = 0.0;
        }
        self.delivered += acked;
        let extra = (self.delivered - expected).min(cwnd);
        while self.largest.back().is_some_and(|l| l.1 <= extra) {
            self.largest.pop_back();
        }
        if self.largest.back().is_none_or(|l| l.0 < round) {
            self.largest.push_back((round, extra));
        }
        while self.largest.front().is_some_and(|l| l.0 + rounds <= round) {
            self.largest.pop_front();
        }
    }
}

/// The short-term model and the signals of a round that feed it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShortTerm {
    /// "bw_shortterm" and "inflight_shortterm"; infinite: no bound.
    pub(super) bw: f64,
    pub(super) inflight: f64,
    pub(super) loss_in_round: bool,
    /// ACKs of this round that reported losses.
    pub(super) loss_events: u32,
    pub(super) loss_round_delivered: u64,
    pub(super) loss_round_start: bool,
    pub(super) bw_latest: f64,
    pub(super) inflight_latest: f64,
}

impl Default for ShortTerm {
    fn default() -> ShortTerm {
        ShortTerm {
            bw: f64::INFINITY,
            inflight: f64::INFINITY,
            loss_in_round: false,
            loss_events: 0,
            loss_round_delivered: 0,
            loss_round_start: false,
            bw_latest: 0.0,
            inflight_latest: 0.0,
        }
    }
}

impl ShortTerm {
    /// "ResetShortTermModel".
    pub(super) fn unbound(&mut self) {
        (self.bw, self.inflight) = (f64::INFINITY, f64::INFINITY);
    }
    /// "ResetCongestionSignals".
    pub(super) fn reset_signals(&mut self) {
        (self.loss_in_round, self.loss_events) = (false, 0);
        (self.bw_latest, self.inflight_latest) = (0.0, 0.0);
    }
}

impl Bbr3 {
    /// "UpdateModelAndState".
    pub(super) fn update_model_and_state(&mut self, ack: &AckSample, s: &Sample) {
        self.update_latest_signals(s);
        self.update_congestion_signals(s);
        let rounds = if self.full.reached { EXTRA_ACKED_ROUNDS } else { 1 };
        let acked = ack.segments();
        let acked_in_bunches = if self.errs(Mutant::NoExtraAcked) { 0.0 } else { acked };
        self.aggregation.update(ack.now, acked_in_bunches, self.bw, self.cwnd, self.rounds.count, rounds);
        self.full.check(self.rounds.start, s, self.mutant);
        self.check_startup_done(ack, s);
        self.check_drain_done(ack);
        self.update_cycle(ack, s);
        self.min_rtt.update(ack.now, ack.rtt, self.probe_rtt_interval());
        self.check_probe_rtt(ack);
        if self.short.loss_round_start {
            self.short.bw_latest = s.rate;
            self.short.inflight_latest = s.delivered;
            self.short.loss_events = 0;
        }
        self.bw = self.max_bw.get().min(self.short.bw);
    }

    fn probe_rtt_interval(&self) -> Duration {
        match self.mutant {
            Some(Mutant::ProbeRttEarly) => Duration::from_secs(4),
            Some(Mutant::ProbeRttLate) => Duration::from_secs(6),
            Some(Mutant::NoProbeRtt) => Duration::MAX,
            _ => PROBE_RTT_INTERVAL,
        }
    }

    fn update_latest_signals(&mut self, s: &Sample) {
        let n = &mut self.short;
        n.loss_round_start = false;
        n.bw_latest = n.bw_latest.max(s.rate);
        n.inflight_latest = n.inflight_latest.max(s.delivered);
        if s.rate > 0.0 && s.prior_delivered >= n.loss_round_delivered {
            n.loss_round_delivered = self.delivered;
            n.loss_round_start = true;
        }
    }

    fn update_congestion_signals(&mut self, s: &Sample) {
        // "UpdateMaxBw".
        self.rounds.start = false;
        if s.rate > 0.0 {
            self.rounds.update(s.prior_delivered, self.delivered);
            self.probe.rounds_since += u32::from(self.rounds.start);
            if s.app_limited && self.errs(Mutant::AppLimitedSamplesCount) {
                self.max_bw.replace(s.rate);
            }
            if s.rate >= self.max_bw.get() || !s.app_limited {
                self.max_bw.add(s.rate);
            }
        }
        if !self.short.loss_round_start {
            return;
        }
        self.adapt_lower_bounds();
        self.short.loss_in_round = false;
    }

    /// "AdaptLowerBoundsFromCongestion": once per round, not while probing for more.
    pub(super) fn adapt_lower_bounds(&mut self) {
        if !self.short.loss_in_round || self.state.is_probing() || self.errs(Mutant::NoShortTerm) {
            return;
        }
        let n = &mut self.short;
        let bw = if n.bw.is_infinite() { self.max_bw.get() } else { n.bw };
        let inflight = if n.inflight.is_infinite() { self.cwnd } else { n.inflight };
        n.bw = n.bw_latest.max(BETA * bw);
        n.inflight = n.inflight_latest.max(BETA * inflight);
        if self.mutant == Some(Mutant::ShortTermTooLow) {
            (n.bw, n.inflight) = (0.3 * bw, 0.3 * inflight);
        }
    }
}
