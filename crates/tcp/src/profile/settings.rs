//! The one table of what a profile says: how each key prints, and where the value of `rfc` comes
//! from.

use serde::Serialize;

use super::Profile;
use crate::config::Config;

/// Documents one key of every profile.
pub struct Setting {
    /// The key under `[flow.x.tcp]`.
    pub key: &'static str,
    /// Reads the value for display.
    pub value: fn(&Config) -> String,
    /// Where the `rfc` value comes from.
    pub rfc_source: &'static str,
}

impl Setting {
    /// The source of this value in `profile`: its own, or that of the profile it starts from.
    pub fn source(&self, profile: Profile) -> &'static str {
        let own = profile.sources().iter().find(|s| s.0 == self.key);
        match (own, profile.base()) {
            (Some(s), _) => s.1,
            (None, None) => self.rfc_source,
            (None, Some(Profile::Linux6)) => "as in `linux-6`",
            (None, Some(_)) => "as in `rfc`",
        }
    }
}

const fn row(key: &'static str, value: fn(&Config) -> String, rfc_source: &'static str) -> Setting {
    Setting { key, value, rfc_source }
}

/// A bare enum prints as it is written in a scenario.
fn word<T: Serialize>(value: T) -> String {
    crate::word::bare_word(&value)
}
fn or<T: ToString>(value: Option<T>, none: &str) -> String {
    value.map_or(none.to_owned(), |v| v.to_string())
}
fn on_off(value: bool) -> String {
    value.to_string()
}

/// Every key.
pub const SETTINGS: &[Setting] = &[
    row("cc", |c| word(c.cc), "RFC 5681"),
    row("recovery", |c| word(c.recovery), "RFC 6675"),
    row("mss", |c| format!("{} B", c.mss), "Ethernet's 1500 B less 40 B of headers"),
    row("initial_window", |c| or(c.initial_window, "min(10 MSS, max(2 MSS, 14600 B))"), "RFC 6928 section 2"),
    row("initial_ssthresh", |c| c.initial_ssthresh.to_string(), "RFC 5681 section 3.1: arbitrarily high"),
    row("max_window", |c| or(c.max_window, "unlimited"), "not limited"),
    row("whole_segments", |c| on_off(c.whole_segments), "RFC 5681 counts octets"),
    row(
        "receive_buffer",
        |c| format!("{} B", c.receive_buffer),
        "Linux' default maximum of tcp_rmem, 6 MiB: no RFC value",
    ),
    row("receive_tuning", |c| on_off(c.receive_tuning), "no RFC asks for it"),
    row(
        "receive_buffer_start",
        |c| format!("{} B", c.receive_buffer_start),
        "with `receive_tuning`: half of Linux' default of tcp_rmem, 131072 (net.ipv4.tcp_adv_win_scale 1)",
    ),
    row("send_buffer", |c| or(c.send_buffer, "unlimited, or `send_tuning`"), "no RFC value"),
    row("send_tuning", |c| on_off(c.send_tuning), "no RFC asks for it"),
    row("send_buffer_start", |c| format!("{} B", c.send_buffer_start), "with `send_tuning`: Linux' tcp_wmem"),
    row("send_buffer_max", |c| format!("{} B", c.send_buffer_max), "with `send_tuning`: Linux' tcp_wmem"),
    row("gso", |c| on_off(c.host.offload.is_some()), "no RFC asks for it"),
    row("timestamps", |c| on_off(c.timestamps), "RFC 7323"),
    row("window_scaling", |c| on_off(c.window_scaling), "RFC 7323"),
    row("sack", |c| on_off(c.sack), "RFC 2018"),
    row("sack_on_timeout", |c| word(c.sack_on_timeout), "RFC 6675 section 5.1"),
    row("dup_threshold", |c| c.dup_threshold.to_string(), "RFC 5681 section 3.2"),
    row("limited_transmit", |c| on_off(c.limited_transmit), "RFC 3042"),
    row("bugfix", |c| on_off(c.bugfix), "RFC 6582 section 3.2 step 2"),
    row(
        "timer_on_fast_retransmit",
        |c| on_off(c.timer_on_fast_retransmit),
        "RFC 6298 section 5 restarts it at ACKs of new data only",
    ),
    row("timer_on_partial_ack", |c| word(c.timer_on_partial_ack), "RFC 6582 section 3.2 step 5"),
    row("rto_leaves_recovery", |c| on_off(c.rto_leaves_recovery), "RFC 6582 section 3.2 step 6"),
    row("recovery_exit", |c| word(c.recovery_exit), "RFC 6582 section 3.2 step 3, option 1"),
    row("loss_detection", |c| word(c.loss_detection), "RFC 8985, with `recovery = rack`"),
    row("loss_probe", |c| on_off(c.host.loss_probes), "RFC 8985 section 7, with `recovery = rack`"),
    row("window_reduction", |c| word(c.window_reduction), "RFC 9937, with `recovery = rack`"),
    row("nagle", |c| on_off(c.nagle), "RFC 9293 section 3.7.4"),
    row("ack_every", |c| c.ack_every.to_string(), "RFC 5681 section 4.2"),
    row("ack_rule", |c| word(c.host.acks), "RFC 5681 section 4.2: full-sized segments"),
    row("quick_acks", |c| c.quick_acks.to_string(), "RFC 9293 section 3.8.6.3 asks for none"),
    row("dsack", |c| on_off(c.dsack), "RFC 2883 is optional"),
    row("ack_delay", |c| c.ack_delay.to_string(), "RFC 9293 section 3.8.6.3 allows 500 ms; 200 ms is usual"),
    row("rtt_estimator", |c| word(c.rtt_estimator), "RFC 6298 section 2"),
    row("rtt_sampling", |c| word(c.rtt_sampling), "RFC 7323 section 4"),
    row("clock_granularity", |c| c.clock_granularity.to_string(), "no RFC value; below 100 ms is advised"),
    row("kernel_clock", |c| word(c.kernel_clock), "no RFC asks for ticks"),
    row("initial_rto", |c| c.initial_rto.to_string(), "RFC 6298 (2.1)"),
    row("min_rto", |c| c.min_rto.to_string(), "RFC 6298 (2.4)"),
    row("max_rto", |c| c.max_rto.to_string(), "RFC 6298 (2.5): at least 60 s"),
    row("max_backoff", |c| c.max_backoff.to_string(), "RFC 6298 bounds the RTO, not the factor"),
    row("backoff_floor", |c| word(c.backoff_floor), "RFC 6298 (2.4) then (5.5)"),
    row(
        "max_retries",
        |c| or(c.max_retries, "never"),
        "RFC 9293 section 3.8.3: R2 at least 100 s; 15 is usual",
    ),
    row(
        "syn_retries",
        |c| or(c.syn_retries, "never"),
        "RFC 9293 section 3.8.3: R2 of a SYN at least 3 minutes (1+2+4+...+60 s is less by seconds only beyond 6)",
    ),
    row("syn_filler", |c| format!("{} B", c.syn_filler), "a SYN carries no data"),
    row("time_wait", |c| c.time_wait.to_string(), "RFC 9293 section 3.4.2: 2 MSL of 2 minutes"),
    row("growth", |c| word(c.growth), "RFC 5681 section 3.1"),
    row(
        "abc_limit",
        |c| or((c.abc_limit != u32::MAX).then_some(c.abc_limit), "unlimited"),
        "RFC 5681 equation 2; RFC 3465 allows 2",
    ),
    row("ssthresh_basis", |c| word(c.ssthresh_basis), "RFC 5681 equation 4"),
    row(
        "window_validation",
        |c| on_off(c.window_validation),
        "RFC 7661 in spirit: no growth while not limited by cwnd",
    ),
    row("idle_restart", |c| on_off(c.idle_restart), "RFC 5681 section 4.1"),
    row("pacing", |c| on_off(c.pacing), "no RFC asks for it"),
    row("max_pacing_rate", |c| or(c.max_pacing_rate, "not paced"), "no RFC value"),
    row("manual_read", |c| on_off(c.manual_read), "the application reads at once"),
    row("vegas_alpha", |c| c.vegas.alpha.to_string(), "as ns-2"),
    row("vegas_beta", |c| c.vegas.beta.to_string(), "as ns-2"),
    row("vegas_gamma", |c| c.vegas.gamma.to_string(), "as ns-2"),
    row("vegas_rto", |c| word(c.vegas.rto), "as ns-2"),
    row("vegas_base_start", |c| word(c.vegas.base_start), "the sane reading"),
    row("vegas_sample_order", |c| word(c.vegas.sample_order), "as ns-2"),
    row("vegas_reading", |c| word(c.vegas.reading), "as ns-2"),
    row("cubic_reading", |c| word(c.cubic.reading), "RFC 9438"),
    row("cubic_beta", |c| c.cubic.beta.to_string(), "RFC 9438 section 4.6"),
    row("cubic_c", |c| c.cubic.c.to_string(), "RFC 9438 section 5.1"),
    row("cubic_fast_convergence", |c| on_off(c.cubic.fast_convergence), "RFC 9438 section 4.7"),
    row("cubic_friendliness", |c| on_off(c.cubic.friendliness), "RFC 9438 section 4.3"),
    row("abe", |c| on_off(c.cubic.abe), "RFC 8511 is experimental"),
    row(
        "abe_beta",
        |c| format!("{} (reno), {} (cubic)", c.reno_abe_beta, c.cubic.abe_beta),
        "RFC 8511 section 3.1",
    ),
    row("ecn", |c| word(c.ecn), "RFC 3168 leaves it open"),
    row("accecn_option", |c| word(c.accecn_option), "RFC 9768 section 3.2.3 recommends it"),
    row("l4s", |c| on_off(c.l4s), "RFC 9331 is experimental"),
    row("hystart", |c| word(c.hystart), "RFC 9438 section 4.10 allows RFC 9406"),
    row("cc_reading", |c| word(c.cc_reading), "the papers: no RFC"),
    row("westwood_reading", |c| word(c.westwood_reading), "the papers: no RFC"),
    row("zero_interval", |c| word(c.zero_interval), "D2D study section 1.4"),
    row("hint_base", |c| word(c.hint.base), "the contribution's \"normal\" TCP; no RFC"),
    row("hint_rtt", |c| word(c.hint.rtt), "no RFC: a round trip with queueing would count the queue twice"),
    row("hint_queue_term", |c| on_off(c.hint.queue_term), "no RFC: TR 36.933's contribution"),
    row(
        "hint_queue_threshold",
        |c| format!("{} B", c.hint.queue_threshold),
        "no RFC: half a buffer of 60 kB",
    ),
    row("hint_gain", |c| c.hint.gain.to_string(), "no RFC: TR 36.933's contribution, reconstructed"),
    row(
        "hint_timeout",
        |c| or(c.hint.timeout, "a smoothed round trip, at least 2.5 periods"),
        "no RFC value",
    ),
    row("hybla_rtt0", |c| c.hybla_rtt0.to_string(), "Caini and Firrincieli 2004"),
];
