//! BBR version 1: Cardwell and others 2016, as Linux 6.1 has it (tcp_bbr.c). Bandwidth in segments
//! per second.

mod observe;

use lasthop_units::{Bitrate, Duration, Instant};

use super::max_filter::MaxFilter;
use super::policer::{AckContext, Decision, LongTerm};
use crate::cc::random::Random;
use crate::cc::{
    AckSample, CaState, Congestion, CongestionControl, Established, Needs, Observer, Parameter, RateSample,
    Row, Trail, TransmitStart,
};
use crate::config::Config;
use crate::jiffies::Timers;

/// 2/ln 2, as Linux rounds it: 256 * 2885 / 1000 + 1, of 256.
const HIGH_GAIN: f64 = 739.0 / 256.0;
const DRAIN_GAIN: f64 = 88.0 / 256.0;
const CWND_GAIN: f64 = 2.0;
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// Rounds for which the largest bandwidth is kept.
const BW_ROUNDS: u64 = 10;
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);
const MIN_CWND: f64 = 4.0;
const FULL_BW_THRESHOLD: f64 = 1.25;
const FULL_BW_ROUNDS: u32 = 3;
/// One per cent below the estimate.
const PACING_MARGIN: f64 = 0.99;
const EXTRA_ACKED_ROUNDS: u32 = 5;
const EXTRA_ACKED_MAX: f64 = 0.1;
/// Below this rate one segment is sent at a time, above it two at least [octets/s].
const MIN_TSO_RATE: f64 = 150_000.0;

pub(in crate::cc) const PARAMETERS: &[Parameter] = &[
    Parameter { name: "high_gain", default: "739/256", unit: "", source: "Linux bbr_high_gain: 2/ln 2" },
    Parameter { name: "drain_gain", default: "88/256", unit: "", source: "Linux bbr_drain_gain" },
    Parameter { name: "cwnd_gain", default: "2", unit: "BDP", source: "Linux bbr_cwnd_gain" },
    Parameter {
        name: "pacing_gain cycle",
        default: "5/4, 3/4, 1 six times",
        unit: "",
        source: "Linux bbr_pacing_gain",
    },
    Parameter { name: "bandwidth window", default: "10", unit: "rounds", source: "Linux bbr_bw_rtts" },
    Parameter { name: "min_rtt window", default: "10", unit: "s", source: "Linux bbr_min_rtt_win_sec" },
    Parameter {
        name: "probe_rtt",
        default: "200 ms at 4 segments",
        unit: "",
        source: "Linux bbr_probe_rtt_mode_ms, bbr_cwnd_min_target",
    },
    Parameter { name: "pacing margin", default: "1", unit: "%", source: "Linux bbr_pacing_margin_percent" },
];
pub(in crate::cc) const DIFFERS: &str = "As Linux: ACK aggregation, policer detection and packet conservation included. What waits for \
     its departure time is not taken off the flight; the cycle begins at a phase from the connection's own keyed numbers. ns-3 lacks the policer \
     detector; INET has none.";

pub(in crate::cc) const ROW: Row = Row {
    summary: "models the path by its largest rate and smallest round trip, and paces",
    source: "N. Cardwell, Y. Cheng, C. S. Gunn, S. Hassas Yeganeh, V. Jacobson, BBR, ACM Queue 14(5), 2016; Linux 6.1 tcp_bbr.c",
    parameters: PARAMETERS,
    differs: DIFFERS,
    needs: Needs {
        delivery_rate: true,
        paces: true,
        // bbr_sndbuf_expand.
        send_buffer_windows: 3,
        ..Needs::NOTHING
    },
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// Rounds, counted by what is delivered (bbr_update_bw).
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    count: u64,
    /// The round ends with the ACK of data that was sent after this many octets were delivered.
    next_delivered: u64,
    starts: bool,
}

/// Whether the pipe is full: the bandwidth has stopped growing (bbr_check_full_bw_reached).
#[derive(Clone, Copy, Debug, Default)]
struct FullPipe {
    bw: f64,
    rounds: u32,
    is_full: bool,
}

/// The smallest round trip, and ProbeRTT, which measures it anew (bbr_update_min_rtt).
#[derive(Clone, Copy, Debug)]
struct RoundTrip {
    min: Option<Duration>,
    min_at: Instant,
    done_at: Option<Instant>,
    round_done: bool,
    /// Octets delivered at the beginning of the last ProbeRTT, and at its last ACK with the data in
    /// flight added. Samples of data sent in between measure the window of four segments, not the
    /// path (Linux sets tcp_sock.app_limited).
    sent: [u64; 2],
}

/// ProbeBW's cycle of gains (bbr_update_cycle_phase).
#[derive(Clone, Copy, Debug)]
struct Cycle {
    phase: usize,
    phase_at: Instant,
}

/// The window during loss recovery: packet conservation, and what to come back to
/// (bbr_set_cwnd_to_recover_or_restore).
#[derive(Clone, Copy, Debug)]
struct Recovery {
    prior_cwnd: f64,
    conserves: bool,
    state_before: CaState,
}

/// How much more than the bandwidth was acknowledged, because ACKs come together
/// (bbr_update_ack_aggregation).
#[derive(Clone, Copy, Debug)]
struct Extra {
    /// The most in each of two windows of rounds \[segments\].
    acked: [f64; 2],
    slot: usize,
    rounds: u32,
    epoch_at: Instant,
    epoch_acked: f64,
}

/// BBR's model of the path.
#[derive(Clone, Debug)]
pub struct Bbr {
    cwnd: f64,
    ssthresh: f64,
    ceiling: f64,
    initial_window: f64,
    mss: f64,
    random: Random,
    clock: Timers,
    mode: Trail<Mode>,
    pacing_gain: f64,
    cwnd_gain: f64,
    /// Octets per second; 0: not known yet.
    pacing_rate: f64,
    /// sk_max_pacing_rate \[octets/s\].
    most_pacing: f64,
    seen_rtt: bool,
    /// The application had nothing to send, and nothing has been delivered since then.
    idle_restart: bool,
    /// Octets delivered by the latest ACK.
    delivered: u64,
    bw: MaxFilter,
    round: Round,
    full: FullPipe,
    rtt: RoundTrip,
    cycle: Cycle,
    recovery: Recovery,
    extra: Extra,
    lt: LongTerm,
    /// The sample of the latest ACK, for `observe`.
    sample: RateSample,
}

impl Bbr {
    /// One segment until the handshake is done.
    pub fn new(config: &Config) -> Bbr {
        Bbr {
            cwnd: 1.0,
            ssthresh: f64::INFINITY,
            ceiling: config.window_ceiling(),
            initial_window: 10.0,
            mss: 1.0,
            random: Random::default(),
            clock: config.kernel_timers(),
            mode: Trail::new(Mode::Startup),
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            pacing_rate: 0.0,
            most_pacing: config.growth.max_pacing_rate.map_or(f64::INFINITY, |r| r.0 as f64 / 8.0),
            seen_rtt: false,
            idle_restart: false,
            delivered: 0,
            bw: MaxFilter::new(BW_ROUNDS),
            round: Round::default(),
            full: FullPipe::default(),
            rtt: RoundTrip {
                min: None,
                min_at: Instant::ZERO,
                done_at: None,
                round_done: false,
                sent: [u64::MAX, 0],
            },
            cycle: Cycle { phase: 0, phase_at: Instant::ZERO },
            recovery: Recovery { prior_cwnd: 0.0, conserves: false, state_before: CaState::Open },
            extra: Extra { acked: [0.0; 2], slot: 0, rounds: 0, epoch_at: Instant::ZERO, epoch_acked: 0.0 },
            lt: LongTerm::default(),
            sample: RateSample::default(),
        }
    }

    fn max_bw(&self) -> f64 {
        self.bw.get()
    }
    /// The estimated bandwidth \[segments/s\].
    pub fn bandwidth(&self) -> f64 {
        if self.lt.in_use() { self.lt.bw() } else { self.max_bw() }
    }
    /// The state's name in the papers.
    pub fn mode(&self) -> &'static str {
        self.mode.name()
    }

    fn bdp(&self, bw: f64, gain: f64) -> f64 {
        match self.rtt.min {
            None => 10.0,
            Some(rtt) => (bw * rtt.as_secs_f64() * gain).ceil(),
        }
    }

    /// Segments that leave the host at once.
    fn burst(&self) -> f64 {
        let least = if self.pacing_rate < MIN_TSO_RATE { 1.0 } else { 2.0 };
        // What the rate sends in about a millisecond, up to 64 KiB.
        let octets = (self.pacing_rate / 1024.0).min(65_216.0);
        (octets / self.mss).floor().max(least).min(127.0)
    }

    /// Room for the end hosts' own queues, in pairs of segments.
    fn quantised(&self, segments: f64) -> f64 {
        let even = 2.0 * ((segments + 3.0 * self.burst()) / 2.0).ceil();
        if self.mode == Mode::ProbeBw && self.cycle.phase == 0 { even + 2.0 } else { even }
    }

    fn inflight(&self, bw: f64, gain: f64) -> f64 {
        self.quantised(self.bdp(bw, gain))
    }

    fn update_bandwidth(&mut self, ack: &AckSample, rate: &RateSample) {
        self.round.starts = false;
        if rate.interval.is_zero() {
            return;
        }
        if rate.prior_delivered >= self.round.next_delivered {
            self.round.next_delivered = ack.total_delivered;
            self.round.count += 1;
            self.round.starts = true;
            self.recovery.conserves = false;
        }
        self.look_for_a_policer(ack, rate.app_limited);
        let bw = rate.delivered as f64 / self.mss / rate.interval.as_secs_f64();
        if !rate.app_limited || bw >= self.max_bw() {
            self.bw.add(self.round.count, bw);
        }
    }

    fn look_for_a_policer(&mut self, ack: &AckSample, app_limited: bool) {
        let (round_starts, in_probe_bw) = (self.round.starts, self.mode == Mode::ProbeBw);
        let context = AckContext { round_starts, in_probe_bw, app_limited, mss: self.mss };
        match self.lt.sample(ack, context) {
            Some(Decision::Use) => self.pacing_gain = 1.0,
            Some(Decision::Probe) => self.enter_probe_bw(ack.now),
            None => {}
        }
    }

    fn update_aggregation(&mut self, ack: &AckSample, rate: &RateSample) {
        if ack.delivered == 0 || rate.interval.is_zero() {
            return;
        }
        if self.round.starts {
            self.extra.rounds += 1;
            if self.extra.rounds >= EXTRA_ACKED_ROUNDS {
                self.extra.rounds = 0;
                self.extra.slot = 1 - self.extra.slot;
                self.extra.acked[self.extra.slot] = 0.0;
            }
        }
        let mut expected = (self.bandwidth() * ack.now.since(self.extra.epoch_at).as_secs_f64()).floor();
        if self.extra.epoch_acked <= expected
            || self.extra.epoch_acked + ack.segments() >= f64::from(1u32 << 20)
        {
            self.extra.epoch_acked = 0.0;
            self.extra.epoch_at = ack.now;
            expected = 0.0;
        }
        self.extra.epoch_acked += ack.segments();
        let extra = (self.extra.epoch_acked - expected).min(self.cwnd);
        let slot = &mut self.extra.acked[self.extra.slot];
        *slot = slot.max(extra);
    }

    fn advance_cycle(&mut self, now: Instant) {
        self.cycle.phase = (self.cycle.phase + 1) % CYCLE.len();
        self.cycle.phase_at = now;
    }

    fn update_cycle(&mut self, ack: &AckSample, rate: &RateSample) {
        if self.mode != Mode::ProbeBw {
            return;
        }
        let full_length = self.rtt.min.is_some_and(|m| ack.now.since(self.cycle.phase_at) > m);
        let flight = rate.prior_in_flight as f64 / self.mss;
        let done = if self.pacing_gain > 1.0 {
            let enough = flight + self.burst() >= self.inflight(self.max_bw(), self.pacing_gain);
            full_length && (ack.lost > 0 || enough)
        } else if self.pacing_gain < 1.0 {
            full_length || flight <= self.inflight(self.max_bw(), 1.0)
        } else {
            full_length
        };
        if done {
            self.advance_cycle(ack.now);
        }
    }

    fn enter_probe_bw(&mut self, now: Instant) {
        self.mode.go(Mode::ProbeBw);
        // Any phase but the one that drains.
        self.cycle.phase = CYCLE.len() - 1 - (self.random.next() * 7.0) as usize;
        self.advance_cycle(now);
    }

    fn check_full(&mut self, app_limited: bool) {
        if self.full.is_full || !self.round.starts || app_limited {
            return;
        }
        if self.max_bw() >= self.full.bw * FULL_BW_THRESHOLD {
            self.full.bw = self.max_bw();
            self.full.rounds = 0;
            return;
        }
        self.full.rounds += 1;
        self.full.is_full = self.full.rounds >= FULL_BW_ROUNDS;
    }

    fn check_drain(&mut self, ack: &AckSample) {
        if self.mode == Mode::Startup && self.full.is_full {
            self.mode.go(Mode::Drain);
            self.ssthresh = self.inflight(self.max_bw(), 1.0);
        }
        let flight = ack.in_flight as f64 / self.mss;
        if self.mode == Mode::Drain && flight <= self.inflight(self.max_bw(), 1.0) {
            self.enter_probe_bw(ack.now);
        }
    }

    /// A round trip that ends now, in Linux' clock of whole microseconds (tcp_stamp_us_delta).
    fn counted(&self, now: Instant, rtt: Duration) -> Duration {
        if self.clock.is_exact() {
            return rtt;
        }
        Duration::from_micros(now.0 / 1000 - now.0.saturating_sub(rtt.0) / 1000)
    }

    fn update_min_rtt(&mut self, ack: &AckSample) {
        let now = self.clock.jiffy(ack.now);
        let expired = now > self.rtt.min_at.saturating_add(MIN_RTT_WINDOW);
        // Until Linux 5.10 a round trip equal to the smallest renewed it too.
        if let Some(rtt) = ack.rtt.map(|rtt| self.counted(ack.now, rtt))
            && (self.rtt.min.is_none_or(|m| rtt < m) || expired)
        {
            self.rtt.min = Some(rtt);
            self.rtt.min_at = now;
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode.go(Mode::ProbeRtt);
            // Linux tests the mode that is entered, so that a larger earlier window remains.
            self.save_cwnd_in(true);
            self.rtt.done_at = None;
            self.rtt.sent[0] = ack.total_delivered;
        }
        if self.mode == Mode::ProbeRtt {
            self.stay_in_probe_rtt(ack);
        }
        // A restart ends with the first delivery.
        self.idle_restart &= ack.delivered == 0;
    }

    fn stay_in_probe_rtt(&mut self, ack: &AckSample) {
        self.rtt.sent[1] = ack.total_delivered + ack.in_flight;
        match self.rtt.done_at {
            None if ack.in_flight as f64 <= MIN_CWND * self.mss => {
                self.rtt.done_at = Some(self.clock.jiffy(ack.now) + self.clock.up(PROBE_RTT_TIME));
                self.rtt.round_done = false;
                self.round.next_delivered = ack.total_delivered;
            }
            None => {}
            Some(at) => {
                self.rtt.round_done |= self.round.starts;
                if self.rtt.round_done {
                    self.end_probe_rtt(ack.now, at);
                }
            }
        }
    }

    fn end_probe_rtt(&mut self, now: Instant, due: Instant) {
        let jiffy = self.clock.jiffy(now);
        if jiffy > due {
            self.rtt.min_at = jiffy;
            self.cwnd = self.cwnd.max(self.recovery.prior_cwnd);
            self.restore_mode(now);
        }
    }

    fn restore_mode(&mut self, now: Instant) {
        if self.full.is_full {
            self.enter_probe_bw(now);
        } else {
            self.mode.go(Mode::Startup);
        }
    }

    fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match *self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.lt.in_use() => (1.0, CWND_GAIN),
            Mode::ProbeBw => (CYCLE[self.cycle.phase], CWND_GAIN),
            Mode::ProbeRtt => (1.0, 1.0),
        };
    }

    /// bbr_set_pacing_rate, with the ceiling of bbr_bw_to_pacing_rate.
    fn set_pacing_rate(&mut self, srtt: Option<Duration>) {
        if !self.seen_rtt
            && let Some(srtt) = srtt
        {
            self.first_pacing_rate(srtt);
        }
        let rate = (self.bandwidth() * self.mss * self.pacing_gain * PACING_MARGIN).min(self.most_pacing);
        if self.full.is_full || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    fn first_pacing_rate(&mut self, rtt: Duration) {
        self.seen_rtt = true;
        let rtt = rtt.as_secs_f64().max(1e-6);
        let rate = self.cwnd / rtt * self.mss * HIGH_GAIN * PACING_MARGIN;
        self.pacing_rate = rate.min(self.most_pacing);
    }

    fn set_window(&mut self, ack: &AckSample) {
        let acked = ack.segments();
        if acked > 0.0 && !self.conserve_or_restore(ack, acked) {
            let aggregation = if self.full.is_full {
                let most = self.bandwidth() * EXTRA_ACKED_MAX;
                self.extra.acked[0].max(self.extra.acked[1]).min(most).floor()
            } else {
                0.0
            };
            let target = self.quantised(self.bdp(self.bandwidth(), self.cwnd_gain) + aggregation);
            if self.full.is_full {
                self.cwnd = (self.cwnd + acked).min(target);
            } else if self.cwnd < target || (ack.total_delivered as f64) < self.initial_window * self.mss {
                self.cwnd += acked;
            }
            self.cwnd = self.cwnd.max(MIN_CWND);
        }
        self.cwnd = self.cwnd.min(self.ceiling.max(1.0));
        if self.mode == Mode::ProbeRtt {
            self.cwnd = self.cwnd.min(MIN_CWND);
        }
    }

    /// Packet conservation in the first round of recovery; what was before after its end. True when
    /// that is all.
    fn conserve_or_restore(&mut self, ack: &AckSample, acked: f64) -> bool {
        let flight = ack.in_flight as f64 / self.mss;
        let lost = ack.lost as f64 / self.mss;
        if lost > 0.0 {
            self.cwnd = (self.cwnd - lost).max(1.0);
        }
        let (before, now) = (in_recovery(self.recovery.state_before), in_recovery(ack.state));
        if ack.state == CaState::Recovery && self.recovery.state_before != CaState::Recovery {
            self.recovery.conserves = true;
            self.round.next_delivered = ack.total_delivered;
            self.cwnd = flight + acked;
        } else if before && !now {
            self.cwnd = self.cwnd.max(self.recovery.prior_cwnd);
            self.recovery.conserves = false;
        }
        self.recovery.state_before = ack.state;
        if self.recovery.conserves {
            self.cwnd = self.cwnd.max(flight + acked);
        }
        self.recovery.conserves
    }

    /// Saves the window to which the sender returns.
    fn save_cwnd_in(&mut self, already_low: bool) {
        let low = already_low || in_recovery(self.recovery.state_before);
        self.recovery.prior_cwnd = if low { self.recovery.prior_cwnd.max(self.cwnd) } else { self.cwnd };
    }
}

fn in_recovery(state: CaState) -> bool {
    matches!(state, CaState::Recovery | CaState::Loss)
}

impl CongestionControl for Bbr {
    fn cwnd(&self) -> f64 {
        self.cwnd
    }
    fn ssthresh(&self) -> f64 {
        self.ssthresh
    }
    fn on_established(&mut self, e: &Established) {
        self.cwnd = e.initial_window.clamp(1.0, self.ceiling.max(1.0));
        self.initial_window = e.initial_window;
        self.random = Random::new(e.seed);
        (self.rtt.min, self.rtt.min_at) = (e.rtt, self.clock.jiffy(e.now));
        (self.extra.epoch_at, self.cycle.phase_at) = (e.now, e.now);
        self.mss = f64::from(e.mss.max(1));
        // Without a sample of the handshake Linux takes 1 ms.
        self.first_pacing_rate(e.rtt.unwrap_or(Duration::from_millis(1)));
        self.seen_rtt = e.rtt.is_some();
    }
    fn on_ack(&mut self, ack: &AckSample) {
        self.mss = f64::from(ack.mss.max(1));
        self.delivered = ack.total_delivered;
        let mut rate = ack.rate.unwrap_or_default();
        let [from, to] = self.rtt.sent;
        rate.app_limited |= (from..=to).contains(&rate.prior_delivered);
        self.sample = rate;
        self.update_bandwidth(ack, &rate);
        self.update_aggregation(ack, &rate);
        self.update_cycle(ack, &rate);
        self.check_full(rate.app_limited);
        self.check_drain(ack);
        self.update_min_rtt(ack);
        self.update_gains();
        self.set_pacing_rate(ack.srtt);
        self.set_window(ack);
    }
    fn on_congestion(&mut self, _: &Congestion) {
        self.save_cwnd_in(self.mode == Mode::ProbeRtt);
    }
    fn on_timeout(&mut self, _: &Congestion) {
        self.save_cwnd_in(self.mode == Mode::ProbeRtt);
        self.recovery.state_before = CaState::Loss;
        self.full.bw = 0.0;
        // A timeout ends the round.
        self.round.starts = true;
        self.cwnd = 1.0;
    }
    /// Data after the application had none (Linux' bbr_cwnd_event): no queue is to be drained. Data
    /// that waited for a window, or for the detection of the loss of all outstanding segments, is
    /// no restart. tcp_sock.app_limited is set by the sender and by ProbeRTT, and is ~0U before
    /// anything was delivered (tcp_init_sock).
    fn on_transmit_start(&mut self, &TransmitStart { now, app_limited, .. }: &TransmitStart) {
        let marked = self.delivered <= self.rtt.sent[1];
        if !(app_limited || marked) {
            return;
        }
        self.idle_restart = true;
        (self.extra.epoch_at, self.extra.epoch_acked) = (now, 0.0);
        match *self.mode {
            Mode::ProbeBw => {
                self.pacing_gain = 1.0;
                self.set_pacing_rate(None);
            }
            Mode::ProbeRtt => {
                if let Some(due) = self.rtt.done_at {
                    self.end_probe_rtt(now, due);
                }
            }
            Mode::Startup | Mode::Drain => {}
        }
    }
    fn on_undo(&mut self, _: f64, _: f64) {
        // Spurious: the pipe may not be full after all.
        (self.full.bw, self.full.rounds) = (0.0, 0);
        self.lt = self.lt.forgotten();
    }
    fn set_cwnd(&mut self, segments: f64) {
        self.cwnd = segments.clamp(1.0, self.ceiling.max(1.0));
    }
    fn pacing_rate(&self) -> Option<Bitrate> {
        (self.pacing_rate > 0.0).then(|| Bitrate((self.pacing_rate * 8.0).clamp(1.0, 1e14) as u64))
    }
    /// tcp_slow_start_after_idle_check leaves a control with cong_control alone.
    fn on_idle_restart(&mut self, _: Instant, _: f64) {}
    fn rules_recovery(&self) -> bool {
        true
    }
    fn observe(&self, o: &mut Observer<'_>) {
        self.show(o);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::bbr::fluid::Fluid;
    use crate::cc::testing::*;
    use crate::{KernelClock, Options, TimerOptions};

    fn fluid(bw: f64, base: f64) -> Fluid<Bbr> {
        Fluid::new(Bbr::new(&linux_like()), bw, base)
    }

    #[test]
    fn startup_fills_the_pipe_drain_empties_it_and_probing_holds_it() {
        // 1000 segments/s, 50 ms: BDP 50.
        let mut f = fluid(1000.0, 0.05);
        f.run(0.2);
        assert_eq!(f.b.mode(), "STARTUP");
        f.run(1.0);
        assert_eq!(f.b.mode(), "PROBE_BW");
        f.run(9.0);
        assert!((f.b.bandwidth() - 1000.0).abs() < 20.0, "{}", f.b.bandwidth());
        assert!((f.b.rtt.min.unwrap().as_secs_f64() - 0.051).abs() < 0.002);
        // Steady state: at most 1.25 BDP in flight and a little.
        f.max_queue = 0.0;
        let delivered = f.delivered;
        f.run(10.0);
        assert!(f.max_queue < 0.3 * 50.0 + 8.0, "{}", f.max_queue);
        assert!(f.delivered - delivered > 950.0);
    }

    #[test]
    fn probe_rtt_comes_every_ten_seconds_for_200_ms_at_four_segments() {
        let mut f = fluid(1000.0, 0.05);
        let (mut low, mut seen) = (0.0, 0);
        let mut before = "STARTUP";
        while f.now < 35.0 {
            let t = f.now;
            f.run(f.now + 0.002);
            let mode = f.b.mode();
            if mode == "PROBE_RTT" {
                low += f.now - t;
                assert!(f.b.cwnd <= 4.0);
                seen += u32::from(before != mode);
            }
            before = mode;
        }
        assert!((1..=3).contains(&seen), "{seen}");
        assert!((0.2..0.45).contains(&(low / f64::from(seen))), "{low} s in {seen} dips");
    }

    /// Linux marks the connection as limited by its application while ProbeRTT lasts ("Ignore low
    /// rate samples during this mode", bbr_update_min_rtt): twelve rounds of five segments in
    /// 50 ms, 100 segments/s, leave the estimate as it is.
    #[test]
    fn what_probe_rtt_sends_does_not_lower_the_bandwidth() {
        let mut f = fluid(1000.0, 0.05);
        f.run(9.0);
        let before = f.b.bandwidth();
        let start = f.delivered as u64 * MSS;
        f.b.mode.go(Mode::ProbeRtt);
        f.b.rtt.sent = [start, start];
        let rounds = f.b.round.count;
        for n in 0..12 {
            let prior = start + n * 5 * MSS;
            let rate = RateSample {
                delivered: 5 * MSS,
                interval: Duration::from_millis(50),
                prior_delivered: prior,
                ..RateSample::default()
            };
            f.b.on_ack(&AckSample {
                rate: Some(rate),
                total_delivered: prior + 5 * MSS,
                in_flight: 5 * MSS,
                ..ack_at(5, 9_100 + 50 * n, 50)
            });
        }
        assert_eq!((f.b.mode(), f.b.round.count - rounds), ("PROBE_RTT", 12));
        assert_eq!(f.b.bandwidth(), before);
    }

    /// bbr_cwnd_event and bbr_update_min_rtt: the estimate of the round trip is old after 15 s
    /// without data, but the first ACK measures it anew, so nothing is to be drained.
    #[test]
    fn data_after_idleness_renews_the_round_trip_without_a_probe() {
        let mut f = fluid(1000.0, 0.05);
        f.run(5.0);
        assert_eq!(f.b.mode(), "PROBE_BW");
        let (now, idle) = (Instant::from_secs(20), Duration::from_secs(15));
        f.b.on_transmit_start(&TransmitStart { now, idle, app_limited: true });
        f.b.on_ack(&ack_at(1, 20_060, 60));
        assert_eq!((f.b.mode(), f.b.rtt.min), ("PROBE_BW", Some(Duration::from_millis(60))));
        // Without a restart the same ACK begins a probe.
        f.b.rtt.min_at = Instant::from_secs(5);
        f.b.on_ack(&ack_at(1, 20_120, 60));
        assert_eq!(f.b.mode(), "PROBE_RTT");
    }

    /// bbr_cwnd_event tests tcp_sock.app_limited: a sender that waited for the receive window
    /// had data, so what it sends then is no restart, and the old round trip is measured anew by a
    /// probe. ProbeRTT's own mark (delivered + in flight) counts until more is delivered; before
    /// the first ACK the mark is ~0U.
    #[test]
    fn data_after_a_wait_for_a_window_are_no_restart() {
        let mut f = fluid(1000.0, 0.05);
        f.run(5.0);
        let (gain, now) = (f.b.pacing_gain, Instant::from_secs(20));
        let start = TransmitStart { now, idle: Duration::from_secs(15), app_limited: false };
        f.b.on_transmit_start(&start);
        assert_eq!((f.b.idle_restart, f.b.pacing_gain), (false, gain));
        f.b.on_ack(&ack_at(1, 20_060, 60));
        assert_eq!(f.b.mode(), "PROBE_RTT");
        for (delivered, sent, restarts) in
            [(5000, [4000, 5000], true), (5001, [4000, 5000], false), (0, [u64::MAX, 0], true)]
        {
            (f.b.delivered, f.b.rtt.sent, f.b.idle_restart) = (delivered, sent, false);
            f.b.on_transmit_start(&start);
            assert_eq!(f.b.idle_restart, restarts, "{delivered} octets delivered");
        }
    }

    /// HZ = 250, past startup, with a round trip of 50 ms measured at 1.0039 s, in jiffy 250.
    fn counting_jiffies() -> Bbr {
        let config = resolved(Options {
            timers: TimerOptions { kernel_clock: Some(KernelClock::Hz250), ..TimerOptions::default() },
            ..Options::default()
        });
        let mut b = Bbr::new(&config);
        b.full.is_full = true;
        b.mode.go(Mode::ProbeBw);
        b.update_min_rtt(&at_us(1_003_900, 50_000_000));
        b
    }
    /// An ACK at a time \[us\] with a round trip \[ns\].
    fn at_us(now: u64, rtt: u64) -> AckSample {
        AckSample { now: Instant::from_micros(now), rtt: Some(Duration(rtt)), ..ack(1) }
    }

    /// bbr_update_min_rtt: the filter has expired after(tcp_jiffies32, min_rtt_stamp + 10 * HZ),
    /// 250 + 2500: from jiffy 2751 on, which begins at 11.004 s. At 11.00395 s 10.00005 s have
    /// passed.
    #[test]
    fn the_smallest_round_trip_expires_by_jiffies() {
        let mut b = counting_jiffies();
        assert_eq!(b.rtt.min_at, Instant::from_millis(1_000));
        b.update_min_rtt(&at_us(11_003_950, 60_000_000));
        assert_eq!((*b.mode, b.rtt.min), (Mode::ProbeBw, Some(Duration::from_millis(50))));
        b.update_min_rtt(&at_us(11_004_000, 60_000_000));
        assert_eq!((*b.mode, b.rtt.min), (Mode::ProbeRtt, Some(Duration::from_millis(60))));
        assert_eq!(b.rtt.min_at, Instant::from_millis(11_004));
    }

    /// probe_rtt_done_stamp = tcp_jiffies32 + msecs_to_jiffies(200): four segments are reached at
    /// 12.0039 s, jiffy 3000, so ProbeRTT ends after jiffy 3050: at 12.204 s and not 200.05 ms
    /// after its begin. It ends with min_rtt_stamp = tcp_jiffies32, 3051.
    #[test]
    fn probe_rtt_lasts_51_jiffies_of_4_ms() {
        let mut b = counting_jiffies();
        b.mode.go(Mode::ProbeRtt);
        b.update_min_rtt(&at_us(12_003_900, 50_000_000));
        assert_eq!(b.rtt.done_at, Some(Instant::from_millis(12_200)));
        b.rtt.round_done = true;
        b.update_min_rtt(&at_us(12_203_950, 50_000_000));
        assert_eq!(b.mode, Mode::ProbeRtt);
        b.update_min_rtt(&at_us(12_204_000, 50_000_000));
        assert_eq!((*b.mode, b.rtt.min_at), (Mode::ProbeBw, Instant::from_millis(12_204)));
    }

    /// tcp_stamp_us_delta of two clocks cut to microseconds: sent at 49.999950 ms, acknowledged at
    /// 100.000900, gives 100000 - 49999 = 50001 us; sent at 50.000050, acknowledged at 100.000100,
    /// 50000 us. Only what is strictly smaller renews the stamp: 49.9991 ms from 50.0009 ms counts
    /// as 50000 us too.
    #[test]
    fn round_trips_are_differences_of_whole_microseconds() {
        let mut b = counting_jiffies();
        b.rtt.min = None;
        for (now, rtt, us, stamp) in [
            (100_000_900, 50_000_950, 50_001, 100),
            (104_000_100, 50_000_050, 50_000, 104),
            (108_000_050, 49_999_100, 50_000, 104),
            (112_000_800, 49_999_100, 49_999, 112),
        ] {
            b.update_min_rtt(&AckSample { now: Instant(now), ..at_us(0, rtt) });
            let expected = (Some(Duration::from_micros(us)), Instant::from_millis(stamp));
            assert_eq!((b.rtt.min, b.rtt.min_at), expected, "at {now} ns");
        }
    }

    #[test]
    fn the_first_rate_is_the_initial_window_per_handshake_times_the_high_gain() {
        let f = fluid(1000.0, 0.05);
        // 10 segments of 1000 octets / 50 ms * 2.887 * 0.99 = 571.6 kB/s.
        assert!((f.b.pacing_rate - 200_000.0 * 739.0 / 256.0 * 0.99).abs() < 1.0);
    }

    #[test]
    fn the_first_round_of_recovery_conserves_and_its_end_restores() {
        let mut f = fluid(1000.0, 0.05);
        f.run(5.0);
        let before = f.b.cwnd;
        f.b.on_congestion(&congestion(before));
        let a = AckSample {
            state: CaState::Recovery,
            in_flight: 30 * MSS,
            now: Instant::ZERO + Duration::from_secs_f64(f.now),
            lost: MSS,
            total_delivered: f.delivered as u64 * MSS,
            ..ack(1)
        };
        f.b.on_ack(&a);
        assert_eq!(f.b.cwnd, 31.0, "what is in flight and what was delivered");
        f.b.on_ack(&AckSample { state: CaState::Open, lost: 0, ..a });
        assert!(f.b.cwnd >= before.min(f.b.quantised(f.b.bdp(f.b.bandwidth(), 2.0))) - 1.0);
    }
}
