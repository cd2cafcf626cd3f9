//! The variables of version 3, under the draft's names.

use lasthop_units::Duration;

use super::cycle::AckPhase;
use super::{Bbr3, State};
use crate::cc::Observer;
use crate::cc::bbr::observe_rate;

/// `undo_state` where nothing is to be brought back.
const NO_STATE: &str = "none";

impl State {
    const NAMES: [&'static str; 7] = [
        State::Startup.name(),
        State::Drain.name(),
        State::Down.name(),
        State::Cruise.name(),
        State::Refill.name(),
        State::Up.name(),
        State::ProbeRtt.name(),
    ];
    /// The state's name in the draft.
    pub(super) const fn name(self) -> &'static str {
        match self {
            State::Startup => "Startup",
            State::Drain => "Drain",
            State::Down => "ProbeBW_DOWN",
            State::Cruise => "ProbeBW_CRUISE",
            State::Refill => "ProbeBW_REFILL",
            State::Up => "ProbeBW_UP",
            State::ProbeRtt => "ProbeRTT",
        }
    }
}

impl AckPhase {
    const NAMES: [&'static str; 5] = [
        AckPhase::Init.name(),
        AckPhase::Refilling.name(),
        AckPhase::Starting.name(),
        AckPhase::Feedback.name(),
        AckPhase::Stopping.name(),
    ];
    const fn name(self) -> &'static str {
        match self {
            AckPhase::Init => "ACKS_INIT",
            AckPhase::Refilling => "ACKS_REFILLING",
            AckPhase::Starting => "ACKS_PROBE_STARTING",
            AckPhase::Feedback => "ACKS_PROBE_FEEDBACK",
            AckPhase::Stopping => "ACKS_PROBE_STOPPING",
        }
    }
}

impl Bbr3 {
    pub(super) fn show(&self, o: &mut Observer<'_>) {
        let (pacing_gain, cwnd_gain) = self.gains();
        o.trail("bbr.state", "state of BBR's state machine", &State::NAMES, &self.state, State::name);
        o.count("bbr.round_count", "rounds", "packet-timed round trips", self.rounds.count);
        o.number("bbr.pacing_gain", "", "factor of the pacing rate", pacing_gain);
        o.number("bbr.cwnd_gain", "", "factor of the window", cwnd_gain);
        o.number("bbr.pacing_rate", "bit/s", "the rate paced at", 8.0 * self.pacing_rate);
        o.flag(
            "bbr.idle_restart",
            "data left after idleness, and nothing was delivered since",
            self.idle_restart,
        );
        o.number("bbr.prior_cwnd", "segments", "the window to come back to", self.prior_cwnd);
        self.show_rates(o);
        self.show_volumes(o);
        self.show_full_pipe(o);
        self.show_probe(o);
        self.show_undo(o);
        observe_rate(o, &self.sample.rate_sample, self.mss);
        o.flag(
            "C.is_cwnd_limited",
            "the window was what limited the sender at the last ACK",
            self.sample.cwnd_limited,
        );
    }

    fn bits(&self, segments_per_second: f64) -> f64 {
        8.0 * self.mss * segments_per_second
    }

    fn show_rates(&self, o: &mut Observer<'_>) {
        o.number(
            "bbr.max_bw",
            "bit/s",
            "largest delivery rate of two cycles of ProbeBW",
            self.bits(self.max_bw.get()),
        );
        o.number(
            "bbr.bw",
            "bit/s",
            "the estimated bandwidth: the smaller of max_bw and bw_shortterm",
            self.bits(self.bw),
        );
        o.number(
            "bbr.bw_shortterm",
            "bit/s",
            "bound by the losses of this cycle; inf: none",
            self.bits(self.short.bw),
        );
        o.number(
            "bbr.bw_latest",
            "bit/s",
            "largest delivery rate of this round",
            self.bits(self.short.bw_latest),
        );
        o.count(
            "bbr.cycle_count",
            "",
            "virtual time of the filter of max_bw: cycles of ProbeBW without an application-limited end",
            self.max_bw.count,
        );
        o.maybe(
            "bbr.min_rtt",
            "s",
            "smallest round trip of 10 s",
            self.min_rtt.get().map(Duration::as_secs_f64),
        );
        let probe = self.min_rtt.probe.map(Duration::as_secs_f64);
        o.maybe(
            "bbr.probe_rtt_min_delay",
            "s",
            "smallest round trip of 5 s, by which ProbeRTT is scheduled",
            probe,
        );
        o.number(
            "bbr.probe_rtt_min_stamp",
            "s",
            "when that was measured",
            self.min_rtt.probe_at.as_secs_f64(),
        );
    }

    fn show_volumes(&self, o: &mut Observer<'_>) {
        o.number("bbr.bdp", "segments", "bw times min_rtt", self.bdp());
        o.number(
            "bbr.inflight_at_1",
            "segments",
            "Inflight(1.0) for bw: Drain ends there",
            self.inflight(self.bw, 1.0),
        );
        let down = self.inflight(self.max_bw.get(), 1.0);
        o.number(
            "bbr.inflight_at_1_of_max_bw",
            "segments",
            "Inflight(1.0) for max_bw: DOWN ends there",
            down,
        );
        o.number("bbr.max_inflight", "segments", "the window's target", self.max_inflight());
        o.number(
            "bbr.extra_acked",
            "segments",
            "most acknowledged beyond the rate in ten rounds",
            self.extra_acked(),
        );
        o.number(
            "bbr.inflight_longterm",
            "segments",
            "bound by losses while probing; inf: none",
            self.inflight_longterm,
        );
        o.number(
            "bbr.inflight_with_headroom",
            "segments",
            "inflight_longterm less 15 %; inf: no bound",
            self.inflight_with_headroom(),
        );
        o.number(
            "bbr.inflight_shortterm",
            "segments",
            "bound by the losses of this cycle; inf: none",
            self.short.inflight,
        );
        o.number(
            "bbr.inflight_latest",
            "segments",
            "most delivered in a round trip of this round",
            self.short.inflight_latest,
        );
    }

    fn show_full_pipe(&self, o: &mut Observer<'_>) {
        let full = &self.full;
        o.number(
            "bbr.full_bw",
            "bit/s",
            "the rate beyond which a growth by a quarter is required",
            self.bits(full.bw),
        );
        o.count("bbr.full_bw_count", "rounds", "rounds without that growth", u64::from(full.count));
        o.flag("bbr.full_bw_now", "the pipe is full by this probe", full.now);
        o.flag("bbr.full_bw_reached", "the pipe has been full", full.reached);
        o.count(
            "bbr.drain_start_round",
            "rounds",
            "round_count at the beginning of Drain",
            self.drain_start_round,
        );
    }

    fn show_probe(&self, o: &mut Observer<'_>) {
        let probe = &self.probe;
        o.state("bbr.ack_phase", "phase of the probe, by its ACKs", &AckPhase::NAMES, probe.phase.name());
        o.flag("bbr.is_bw_probe_sample", "ACKs answer what was sent while probing", probe.is_sample);
        o.number(
            "bbr.bw_probe_wait",
            "s",
            "time to the next probe, from the beginning of DOWN",
            probe.wait.as_secs_f64(),
        );
        o.count(
            "bbr.rounds_since_probe_up",
            "rounds",
            "rounds since the last probe, 0 or 1 ahead",
            u64::from(probe.rounds_since),
        );
        o.count(
            "bbr.bw_probe_up_rounds",
            "rounds",
            "rounds in which inflight_longterm was raised",
            u64::from(probe.up_rounds),
        );
        o.number(
            "bbr.probe_up_acked_per_inc",
            "segments",
            "delivered per segment more of inflight_longterm",
            probe.up_per_segment,
        );
        o.flag("bbr.prev_probe_too_high", "the last probe met too much loss", probe.too_high);
        o.flag(
            "bbr.prev_probe_precautionary",
            "the last probe was ended at the known bound",
            probe.precautionary,
        );
        o.flag("bbr.loss_in_round", "this round has lost something", self.short.loss_in_round);
        o.count(
            "bbr.loss_events_in_round",
            "",
            "ACKs of this round that reported losses",
            u64::from(self.short.loss_events),
        );
    }

    fn show_undo(&self, o: &mut Observer<'_>) {
        let undo = &self.undo;
        o.state(
            "bbr.undo_state",
            "the state that a spurious loss brings back",
            &[NO_STATE, State::Startup.name(), State::Up.name()],
            undo.state.map_or(NO_STATE, State::name),
        );
        o.number("bbr.undo_bw_shortterm", "bit/s", "bw_shortterm before the loss", self.bits(undo.short.bw));
        o.number(
            "bbr.undo_inflight_shortterm",
            "segments",
            "inflight_shortterm before the loss",
            undo.short.inflight,
        );
        o.number(
            "bbr.undo_inflight_longterm",
            "segments",
            "inflight_longterm before the loss",
            undo.inflight_longterm,
        );
    }
}
