//! The variables of version 1, under the names of tcp_bbr.c: the fields of `struct bbr`, and what
//! its functions `bbr_max_bw`, `bbr_bw` and `bbr_extra_acked` return.

use lasthop_units::Duration;

use super::{Bbr, Mode};
use crate::cc::Observer;
use crate::cc::bbr::observe_rate;

impl Mode {
    const NAMES: [&'static str; 4] =
        [Mode::Startup.name(), Mode::Drain.name(), Mode::ProbeBw.name(), Mode::ProbeRtt.name()];
    /// The state's name in the papers.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Mode::Startup => "STARTUP",
            Mode::Drain => "DRAIN",
            Mode::ProbeBw => "PROBE_BW",
            Mode::ProbeRtt => "PROBE_RTT",
        }
    }
}

impl Bbr {
    pub(super) fn show(&self, o: &mut Observer<'_>) {
        let bits = |bw: f64| 8.0 * self.mss * bw;
        o.trail("bbr1.mode", "mode of BBR's state machine", &Mode::NAMES, &self.mode, Mode::name);
        o.number("bbr1.max_bw", "bit/s", "largest delivery rate of ten rounds", bits(self.max_bw()));
        o.number(
            "bbr1.bw",
            "bit/s",
            "the estimated bandwidth: max_bw, or lt_bw while that is in use",
            bits(self.bandwidth()),
        );
        let microseconds = |rtt: Duration| rtt.0 as f64 / 1000.0;
        o.maybe("bbr1.min_rtt_us", "us", "smallest round trip of 10 s", self.rtt.min.map(microseconds));
        o.number(
            "bbr1.full_bw",
            "bit/s",
            "the rate beyond which a growth by a quarter is required",
            bits(self.full.bw),
        );
        o.count("bbr1.full_bw_cnt", "rounds", "rounds without that growth", u64::from(self.full.rounds));
        o.flag("bbr1.full_bw_reached", "the pipe has been full", self.full.is_full);
        o.number("bbr1.pacing_gain", "", "factor of the pacing rate", self.pacing_gain);
        o.number("bbr1.cwnd_gain", "", "factor of the window", self.cwnd_gain);
        o.number("bbr1.pacing_rate", "bit/s", "the rate paced at (sk_pacing_rate)", 8.0 * self.pacing_rate);
        o.count("bbr1.rtt_cnt", "rounds", "packet-timed round trips", self.round.count);
        o.count(
            "bbr1.cycle_idx",
            "",
            "phase of PROBE_BW's cycle of gains: 0 probes, 1 drains",
            self.cycle.phase as u64,
        );
        let extra = self.extra.acked[0].max(self.extra.acked[1]);
        o.number(
            "bbr1.extra_acked",
            "segments",
            "most acknowledged beyond the rate in five to ten rounds",
            extra,
        );
        o.number("bbr1.prior_cwnd", "segments", "the window to come back to", self.recovery.prior_cwnd);
        o.flag(
            "bbr1.idle_restart",
            "data left after nothing was in flight, and nothing of it is delivered",
            self.idle_restart,
        );
        o.flag("bbr1.packet_conservation", "the first round of recovery", self.recovery.conserves);
        o.flag("bbr1.lt_use_bw", "a policer was found: lt_bw is the rate", self.lt.in_use());
        o.number("bbr1.lt_bw", "bit/s", "the policer's rate as it is sampled", bits(self.lt.bw()));
        observe_rate(o, &self.sample, self.mss);
    }
}
