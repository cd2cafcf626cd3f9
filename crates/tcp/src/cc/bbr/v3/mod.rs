//! BBR version 3: draft-ietf-ccwg-bbr (the editors' copy of August 2026). Volumes in segments,
//! rates in segments per second. The names are the draft's; [`model`] estimates the path, [`cycle`]
//! changes the states.

mod cycle;
mod model;
mod observe;

use lasthop_units::{Bitrate, Duration, Instant};

use crate::cc::random::Random;
use crate::cc::{
    AckSample, CaState, Congestion, CongestionControl, Established, LossSample, Needs, Observer, Parameter,
    RateSample, Row, Trail, TransmitStart,
};
use crate::config::Config;
use crate::mutant::Mutant;
use cycle::{Probe, ProbeRtt};
use model::{Aggregation, FullPipe, MaxBw, MinRtt, ShortTerm};

/// 4 ln 2, as the draft rounds it.
const STARTUP_PACING_GAIN: f64 = 2.77;
const DRAIN_PACING_GAIN: f64 = 0.5;
const DEFAULT_CWND_GAIN: f64 = 2.0;
const LOSS_THRESH: f64 = 0.02;
const BETA: f64 = 0.7;
const HEADROOM: f64 = 0.15;
const MIN_PIPE_CWND: f64 = 4.0;
/// One per cent below the estimate.
const PACING_MARGIN: f64 = 0.99;
const PROBE_RTT_CWND_GAIN: f64 = 0.5;
const PROBE_RTT_DURATION: Duration = Duration::from_millis(200);
/// ACKs with losses in a round that end Startup.
const STARTUP_FULL_LOSS_COUNT: u32 = 6;
const DRAIN_ROUNDS: u64 = 3;

pub(in crate::cc) const PARAMETERS: &[Parameter] = &[
    Parameter { name: "StartupPacingGain", default: "2.77", unit: "", source: "draft: 4 ln 2" },
    Parameter { name: "DrainPacingGain", default: "0.5", unit: "", source: "draft" },
    Parameter {
        name: "pacing gains of ProbeBW",
        default: "DOWN 0.9, CRUISE 1, REFILL 1, UP 1.25",
        unit: "",
        source: "draft",
    },
    Parameter { name: "DefaultCwndGain", default: "2, in UP 2.25", unit: "BDP", source: "draft" },
    Parameter { name: "LossThresh", default: "2", unit: "%", source: "draft" },
    Parameter { name: "Beta", default: "0.7", unit: "is left", source: "draft" },
    Parameter { name: "Headroom", default: "15", unit: "% of inflight_longterm", source: "draft" },
    Parameter { name: "MinPipeCwnd", default: "4", unit: "segments", source: "draft" },
    Parameter { name: "MaxBwFilterLen", default: "2", unit: "cycles", source: "draft" },
    Parameter { name: "ExtraAckedFilterLen", default: "10", unit: "rounds", source: "draft; 1 in Startup" },
    Parameter { name: "MinRTTFilterLen", default: "10", unit: "s", source: "draft" },
    Parameter {
        name: "ProbeRTT",
        default: "every 5 s for 200 ms at half a BDP",
        unit: "",
        source: "draft: ProbeRTTInterval, ProbeRTTDuration, ProbeRTTCwndGain",
    },
];
pub(in crate::cc) const DIFFERS: &str = "As the draft; a restart from idleness is one that new data makes, not a retransmission. The lost ranges \
     that end Startup are counted by the ACKs that report them, as Google's Linux v3 branch does, which also treats ECN marks as congestion \
     and conserves packets in the first round of recovery. Linux 6.1, ns-3 and INET have no version 3.";

pub(in crate::cc) const ROW: Row = Row {
    summary: "BBR that also responds to losses, and probes at intervals of seconds",
    source: "N. Cardwell, I. Swett, J. Beshay (editors), draft-ietf-ccwg-bbr, editors' copy of August 2026",
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

/// The states of the draft's section "State Machine".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl State {
    fn is_probe_bw(self) -> bool {
        matches!(self, State::Down | State::Cruise | State::Refill | State::Up)
    }
    fn is_probing(self) -> bool {
        matches!(self, State::Startup | State::Refill | State::Up)
    }
    /// Pacing and window gains.
    fn gains(self) -> (f64, f64) {
        match self {
            State::Startup => (STARTUP_PACING_GAIN, DEFAULT_CWND_GAIN),
            State::Drain => (DRAIN_PACING_GAIN, DEFAULT_CWND_GAIN),
            State::Down => (0.9, DEFAULT_CWND_GAIN),
            State::Cruise | State::Refill => (1.0, DEFAULT_CWND_GAIN),
            State::Up => (1.25, 2.25),
            State::ProbeRtt => (1.0, PROBE_RTT_CWND_GAIN),
        }
    }
}

/// Packet-timed round trips.
#[derive(Clone, Copy, Debug, Default)]
struct Rounds {
    next_delivered: u64,
    start: bool,
    count: u64,
}

impl Rounds {
    fn update(&mut self, prior_delivered: u64, delivered: u64) {
        self.start = prior_delivered >= self.next_delivered;
        if self.start {
            self.next_delivered = delivered;
            self.count += 1;
        }
    }
}

/// The values restored after a spurious loss.
#[derive(Clone, Copy, Debug)]
struct Undo {
    state: Option<State>,
    short: ShortTerm,
    inflight_longterm: f64,
}

/// BBR version 3.
// More than 25 fields: the variables of the draft's sections 3.2 to 3.8 in groups, and the mistake
// on purpose. More than 60 methods: each is a function of the draft by its name, and two need
// the mistake.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    cwnd: f64,
    ceiling: f64,
    initial_window: f64,
    mss: f64,
    random: Random,
    state: Trail<State>,
    /// Octets per second.
    pacing_rate: f64,

    rounds: Rounds,
    delivered: u64,
    max_bw: MaxBw,
    min_rtt: MinRtt,
    full: FullPipe,
    aggregation: Aggregation,
    /// BBR.bw: the largest, bounded by the short-term model.
    bw: f64,
    short: ShortTerm,
    inflight_longterm: f64,
    probe: Probe,

    probe_rtt: ProbeRtt,
    /// "idle_restart": data left after idleness, and nothing was delivered since.
    idle_restart: bool,
    /// Samples of data that was sent before this many octets were delivered are
    /// application-limited.
    limited_until: u64,
    drain_start_round: u64,

    prior_cwnd: f64,
    previous: CaState,
    undo: Undo,
    /// The data of the last ACK, for `observe`.
    sample: Latest,
    /// A deliberate mistake.
    mutant: Option<Mutant>,
}

/// The latest ACK's rate sample, and whether the window limited the sender.
#[derive(Clone, Copy, Debug, Default)]
struct Latest {
    rate_sample: RateSample,
    cwnd_limited: bool,
}

impl Bbr3 {
    /// One segment until the handshake is done.
    pub fn new(config: &Config) -> Bbr3 {
        let short = ShortTerm::default();
        Bbr3 {
            cwnd: 1.0,
            ceiling: config.window_ceiling(),
            initial_window: 10.0,
            mss: 1.0,
            random: Random::default(),
            state: Trail::new(State::Startup),
            pacing_rate: 0.0,
            rounds: Rounds::default(),
            delivered: 0,
            max_bw: MaxBw::default(),
            min_rtt: MinRtt::default(),
            full: FullPipe::default(),
            aggregation: Aggregation::default(),
            bw: 0.0,
            short,
            inflight_longterm: f64::INFINITY,
            probe: Probe::default(),
            probe_rtt: ProbeRtt::default(),
            idle_restart: false,
            limited_until: 0,
            drain_start_round: 0,
            prior_cwnd: 0.0,
            previous: CaState::Open,
            undo: Undo { state: None, short, inflight_longterm: f64::INFINITY },
            sample: Latest::default(),
            mutant: config.mistakes.mutant,
        }
    }

    /// True if this mistake is made deliberately.
    fn errs(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }
    /// Pacing and window gains.
    fn gains(&self) -> (f64, f64) {
        let right = self.state.gains();
        match (self.mutant, *self.state) {
            (None, _) => right,
            (Some(Mutant::DrainGainOfV1), State::Drain) => (0.35, right.1),
            (Some(Mutant::DrainByRoundsAlone), State::Drain) => (0.1, right.1),
            (Some(Mutant::UpAtFourTimes), State::Up) => (4.0 * right.0, 4.0 * right.1),
            (Some(Mutant::DownGainOfV1), State::Down) => (0.75, right.1),
            (Some(Mutant::ProbeRttByPace), State::ProbeRtt) => (0.3, DEFAULT_CWND_GAIN),
            (Some(Mutant::SmallWindowGain), _) => (right.0, right.1.min(1.5)),
            _ => right,
        }
    }
    fn min_pipe_cwnd(&self) -> f64 {
        if self.errs(Mutant::FloorOfOne) { 1.0 } else { MIN_PIPE_CWND }
    }

    /// The estimated bandwidth \[segments/s\].
    pub fn bandwidth(&self) -> f64 {
        self.bw
    }
    /// The state's name in the draft.
    pub fn mode(&self) -> &'static str {
        self.state.name()
    }

    // "UpdateControlParameters".

    fn bdp(&self) -> f64 {
        self.min_rtt.get().map_or(self.initial_window, |rtt| self.bw * rtt.as_secs_f64())
    }

    /// C.send_quantum in segments: a millisecond's worth, 2 segments to 64 KiB.
    fn send_quantum(&self) -> f64 {
        ((self.pacing_rate * 0.001).min(65_536.0) / self.mss).max(2.0)
    }

    fn quantised(&self, inflight: f64) -> f64 {
        let cap = inflight.max(self.send_quantum()).max(self.min_pipe_cwnd());
        if self.state == State::Up { cap + 2.0 } else { cap }
    }

    fn inflight(&self, bw: f64, gain: f64) -> f64 {
        let bdp = self.min_rtt.get().map_or(self.initial_window, |rtt| gain * bw * rtt.as_secs_f64());
        self.quantised(bdp)
    }

    fn target_inflight(&self) -> f64 {
        self.bdp().min(self.cwnd)
    }

    fn inflight_with_headroom(&self) -> f64 {
        if self.inflight_longterm.is_infinite() {
            return f64::INFINITY;
        }
        let headroom = (HEADROOM * self.inflight_longterm).max(1.0);
        (self.inflight_longterm - headroom).max(self.min_pipe_cwnd())
    }

    fn probe_rtt_cwnd(&self) -> f64 {
        (PROBE_RTT_CWND_GAIN * self.bdp()).max(self.min_pipe_cwnd())
    }

    /// "SetPacingRateWithGain".
    fn set_pacing_rate(&mut self, gain: f64) {
        let gain = if self.errs(Mutant::PacingATenthOff) { 0.9 * gain } else { gain };
        let rate = gain * self.bw * self.mss * PACING_MARGIN;
        if self.full.reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    fn max_inflight(&self) -> f64 {
        let extra = if self.errs(Mutant::WindowWithoutExtra) { 0.0 } else { self.extra_acked() };
        self.quantised(self.gains().1 * self.bdp() + extra)
    }

    fn extra_acked(&self) -> f64 {
        let parts = if self.errs(Mutant::ExtraAckedDoubled) { 2.0 } else { 1.0 };
        parts * self.aggregation.extra()
    }

    fn set_window(&mut self, ack: &AckSample) {
        let max_inflight = self.max_inflight();
        let acked = ack.segments();
        if self.full.reached {
            self.cwnd = (self.cwnd + acked).min(max_inflight);
        } else if self.cwnd < max_inflight || (self.delivered as f64) < self.initial_window * self.mss {
            self.cwnd += acked;
        }
        self.cwnd = self.cwnd.max(self.min_pipe_cwnd());
        if self.state == State::ProbeRtt && !self.errs(Mutant::ProbeRttByPace) {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        // "BoundCwndForModel".
        let cap = match *self.state {
            State::Down | State::Refill | State::Up => self.inflight_longterm,
            State::Cruise | State::ProbeRtt => self.inflight_with_headroom(),
            State::Startup | State::Drain => f64::INFINITY,
        };
        let cap = cap.min(self.short.inflight).max(self.min_pipe_cwnd());
        self.cwnd = self.cwnd.min(cap).min(self.ceiling.max(1.0));
    }

    // Losses.

    fn save_cwnd(&mut self) {
        let low = in_recovery(self.previous) || self.state == State::ProbeRtt;
        self.prior_cwnd = if low { self.prior_cwnd.max(self.cwnd) } else { self.cwnd };
    }
    fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }
    fn save_state_upon_loss(&mut self) {
        self.save_cwnd();
        self.undo = Undo { state: None, short: self.short, inflight_longterm: self.inflight_longterm };
        if self.errs(Mutant::SavesZero) {
            (self.undo.short.bw, self.undo.short.inflight, self.undo.inflight_longterm) = (0.0, 0.0, 0.0);
        }
    }

    /// "HandleLostPacket" for what an ACK or a timeout made known as lost.
    fn handle_lost(&mut self, now: Instant, loss: LossSample, app_limited: bool) {
        if !self.short.loss_in_round {
            self.short.loss_round_delivered = self.delivered;
            self.save_state_upon_loss();
        }
        self.short.loss_in_round = true;
        self.short.loss_events += 1;
        if !self.probe.is_sample {
            return;
        }
        let (flight, lost) = (loss.sent_in_flight as f64 / self.mss, loss.lost as f64 / self.mss);
        if app_limited && self.errs(Mutant::UpLossNotWhenAppLimited) {
            return;
        }
        if lost > flight * LOSS_THRESH {
            self.handle_inflight_too_high(now, inflight_at_loss(flight, lost), app_limited);
        }
    }
}

/// "InflightAtLoss" for a packet of one segment: where within it the losses passed the threshold.
fn inflight_at_loss(flight: f64, lost: f64) -> f64 {
    let (inflight_prev, lost_prev) = (flight - 1.0, lost - 1.0);
    inflight_prev + ((LOSS_THRESH * inflight_prev - lost_prev) / (1.0 - LOSS_THRESH)).max(0.0)
}

fn in_recovery(state: CaState) -> bool {
    matches!(state, CaState::Recovery | CaState::Loss)
}

impl CongestionControl for Bbr3 {
    fn cwnd(&self) -> f64 {
        self.cwnd
    }
    fn ssthresh(&self) -> f64 {
        f64::INFINITY
    }
    fn on_established(&mut self, e: &Established) {
        self.initial_window = e.initial_window;
        self.cwnd = e.initial_window.clamp(1.0, self.ceiling.max(1.0));
        self.random = Random::new(e.seed);
        self.mss = f64::from(e.mss.max(1));
        self.min_rtt.begin(e.now, e.rtt);
        self.aggregation.begin(e.now);
        // "InitPacingRate": without a round trip 1 ms.
        let rtt = e.rtt.unwrap_or(Duration::from_millis(1)).as_secs_f64().max(1e-6);
        self.pacing_rate = STARTUP_PACING_GAIN * self.initial_window * self.mss / rtt;
    }
    fn on_ack(&mut self, ack: &AckSample) {
        self.mss = f64::from(ack.mss.max(1));
        self.delivered = ack.total_delivered;
        let mut rate = ack.rate.unwrap_or_default();
        rate.app_limited |= rate.prior_delivered < self.limited_until;
        self.sample = Latest { rate_sample: rate, cwnd_limited: ack.cwnd_limited };
        if let Some(loss) = ack.loss {
            self.handle_lost(ack.now, loss, rate.app_limited);
        }
        let forgets = self.previous == CaState::Loss && self.errs(Mutant::NoUndoAfterTimeout);
        if in_recovery(self.previous) && !in_recovery(ack.state) && !forgets {
            self.restore_cwnd();
        }
        self.previous = ack.state;
        let sample = Sample::new(&rate, self.mss);
        self.update_model_and_state(ack, &sample);
        self.set_pacing_rate(self.gains().0);
        if ack.delivered > 0 {
            self.set_window(ack);
        }
    }
    fn on_congestion(&mut self, _: &Congestion) {
        self.save_state_upon_loss();
    }
    fn on_timeout(&mut self, c: &Congestion) {
        self.save_state_upon_loss();
        self.previous = CaState::Loss;
        // "HandleLostPacket" where the packets are marked, that is after the state is saved and
        // before anything can be undone. C.app_limited of the newest sample is used for the
        // packet's.
        if let Some(loss) = c.loss {
            self.handle_lost(c.now, loss, self.sample.rate_sample.app_limited);
        }
        // "OnEnterRTO": C.inflight + 1, and all that was in flight is taken for lost.
        self.cwnd = 1.0;
    }
    fn on_undo(&mut self, _: f64, _: f64) {
        if self.previous == CaState::Loss && self.errs(Mutant::NoUndoAfterTimeout) {
            return;
        }
        // "HandleSpuriousLossDetection".
        self.restore_cwnd();
        self.short.loss_in_round = false;
        self.full.reset();
        self.short.bw = self.short.bw.max(self.undo.short.bw);
        self.short.inflight = self.short.inflight.max(self.undo.short.inflight);
        self.inflight_longterm = self.inflight_longterm.max(self.undo.inflight_longterm);
        match self.undo.state.take() {
            Some(State::Startup) if self.state != State::Startup => {
                self.full.reached = false;
                if self.state != State::ProbeRtt {
                    self.state.go(State::Startup);
                }
            }
            Some(State::Up) if !matches!(*self.state, State::Up | State::ProbeRtt) => self.start_refill(),
            _ => {}
        }
        if self.errs(Mutant::UndoToHalf) {
            (self.short.bw, self.short.inflight) = (0.5 * self.max_bw.get(), 0.5 * self.cwnd);
        }
    }
    /// "HandleRestartFromIdle". C.app_limited is set by the sender and by ProbeRTT.
    fn on_transmit_start(&mut self, start: &TransmitStart) {
        let marked = self.limited_until > 0 && self.delivered <= self.limited_until;
        if (start.app_limited || marked) && !self.errs(Mutant::NoIdleRestart) {
            self.restart_from_idle(start.now);
        }
    }
    fn set_cwnd(&mut self, segments: f64) {
        self.cwnd = segments.clamp(1.0, self.ceiling.max(1.0));
    }
    fn pacing_rate(&self) -> Option<Bitrate> {
        (self.pacing_rate > 0.0).then(|| Bitrate((self.pacing_rate * 8.0).clamp(1.0, 1e14) as u64))
    }
    /// "HandleRestartFromIdle" paces at the bandwidth and keeps the window.
    fn on_idle_restart(&mut self, _: Instant, _: f64) {}
    fn rules_recovery(&self) -> bool {
        true
    }
    fn observe(&self, o: &mut Observer<'_>) {
        self.show(o);
    }
}

/// The rate sample in segments ("RS").
#[derive(Clone, Copy, Debug)]
struct Sample {
    /// Segments per second; 0: none.
    rate: f64,
    delivered: f64,
    prior_delivered: u64,
    sent_in_flight: f64,
    lost: f64,
    app_limited: bool,
}

impl Sample {
    fn new(r: &RateSample, mss: f64) -> Sample {
        let seconds = r.interval.as_secs_f64();
        Sample {
            rate: if seconds > 0.0 { r.delivered as f64 / mss / seconds } else { 0.0 },
            delivered: r.delivered as f64 / mss,
            prior_delivered: r.prior_delivered,
            sent_in_flight: r.sent_in_flight as f64 / mss,
            lost: r.lost as f64 / mss,
            app_limited: r.app_limited,
        }
    }
    /// "IsInflightTooHigh".
    fn is_too_high(&self) -> bool {
        self.lost > self.sent_in_flight * LOSS_THRESH
    }
}

#[cfg(test)]
mod tests;
