//! Stack profiles: named sets of values in which real stacks and simulators differ.
//!
//! The values stand in [`Profile::config`], their sources in one table, [`SETTINGS`]; `lasthop describe` prints
//! both. To come: `linux-2.6.26`, `ns3-3.28`, `ns3-3.44`, `inet`.

use lasthop_units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cc::CcName;
use crate::config::*;
use crate::host::Host;

/// A stack profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// The standards: RFC 9293, 5681, 6298, 6582, 6675, 6928, 7323.
    #[default]
    Rfc,
    /// The one-way agents of ns-2 2.26 and 2.27 (2003-04), counting packets.
    Ns2,
    /// Linux 6.1 as it comes, over a path without segmentation offload.
    #[serde(rename = "linux-6")]
    Linux6,
}

impl Profile {
    /// Every profile, in the order of the documentation.
    pub const ALL: &[Profile] = &[Profile::Rfc, Profile::Ns2, Profile::Linux6];

    /// The name written in a scenario.
    pub const fn name(self) -> &'static str {
        match self {
            Profile::Rfc => "rfc",
            Profile::Ns2 => "ns2",
            Profile::Linux6 => "linux-6",
        }
    }

    /// One line for a list.
    pub const fn summary(self) -> &'static str {
        match self {
            Profile::Rfc => "the standards: RFC 9293, 5681, 6298, 6582, 6675, 6928 and 7323",
            Profile::Ns2 => "the one-way agents of ns-2 2.26/2.27 with a 10 ms tick, counting packets",
            Profile::Linux6 => {
                "Linux 6.1 as it comes: CUBIC with HyStart, RACK-TLP, PRR, F-RTO, undo, minimum RTO 200 ms"
            }
        }
    }

    /// The profile's values.
    pub const fn config(self) -> Config {
        match self {
            Profile::Rfc => RFC,
            Profile::Ns2 => NS2,
            Profile::Linux6 => LINUX_6,
        }
    }
}

const RFC: Config = Config {
    profile: Profile::Rfc,
    cc: CcName::Reno,
    recovery: RecoveryFlavour::Sack,
    mss: 1460,
    initial_window: None,
    initial_ssthresh: f64::INFINITY,
    max_window: None,
    whole_segments: false,
    receive_buffer: 6 * 1024 * 1024,
    send_buffer: None,
    timestamps: true,
    window_scaling: true,
    sack: true,
    sack_on_timeout: SackOnTimeout::Keep,
    dup_threshold: 3,
    limited_transmit: true,
    bugfix: true,
    timer_on_fast_retransmit: false,
    timer_on_partial_ack: TimerOnPartialAck::FirstOnly,
    nagle: true,
    ack_every: 2,
    quick_acks: 0,
    dsack: false,
    ack_delay: Duration::from_millis(200),
    rtt_estimator: RttEstimator::Rfc6298,
    rtt_sampling: RttSampling::EveryAck,
    clock_granularity: Duration::from_millis(1),
    initial_rto: Duration::from_secs(1),
    min_rto: Duration::from_secs(1),
    max_rto: Duration::from_secs(60),
    max_backoff: u32::MAX,
    backoff_floor: BackoffFloor::Before,
    max_retries: Some(15),
    syn_retries: Some(6),
    syn_filler: 0,
    time_wait: Duration::from_secs(240),
    growth: Growth::Bytes,
    abc_limit: 1,
    ssthresh_basis: SsthreshBasis::Flight,
    window_validation: true,
    idle_restart: true,
    max_pacing_rate: None,
    manual_read: false,
    pacing: false,
    ecn: EcnMode::Off,
    l4s: false,
    cubic: CubicConfig {
        reading: CubicReading::Rfc9438,
        beta: 0.7,
        c: 0.4,
        fast_convergence: true,
        friendliness: true,
        abe: false,
        abe_beta: 0.85,
    },
    reno_abe_beta: 0.8,
    hystart: HyStartKind::None,
    cc_reading: CcReading::Paper,
    westwood_reading: WestwoodReading::Paper,
    zero_interval: ZeroInterval::Zero,
    hybla_rtt0: Duration::from_millis(25),
    host: Host::PLAIN,
    vegas: VegasConfig {
        reading: VegasReading::Ns2,
        alpha: 1.0,
        beta: 3.0,
        gamma: 1.0,
        rto: VegasRto::Coarse,
        base_start: VegasBaseStart::Sample,
        sample_order: VegasSampleOrder::AfterDecision,
    },
};

const NS2: Config = Config {
    profile: Profile::Ns2,
    recovery: RecoveryFlavour::Reno,
    mss: 512,
    initial_window: Some(2),
    initial_ssthresh: 64.0,
    max_window: Some(64),
    whole_segments: true,
    // ns-2's one-way agents know no receiver's window: here it never limits.
    receive_buffer: 1 << 30,
    timestamps: false,
    sack: false,
    limited_transmit: false,
    timer_on_fast_retransmit: true,
    timer_on_partial_ack: TimerOnPartialAck::Every,
    nagle: false,
    ack_every: 1,
    rtt_estimator: RttEstimator::Ns2Ticks,
    rtt_sampling: RttSampling::OneSegment,
    clock_granularity: Duration::from_millis(10),
    initial_rto: Duration::from_secs(6),
    max_rto: Duration::from_secs(100_000),
    max_backoff: 64,
    max_retries: None,
    syn_retries: None,
    time_wait: Duration::ZERO,
    growth: Growth::Acks,
    ssthresh_basis: SsthreshBasis::Window,
    window_validation: false,
    idle_restart: false,
    vegas: VegasConfig { base_start: VegasBaseStart::Clock, ..RFC.vegas },
    ..RFC
};

const LINUX_6: Config = Config {
    profile: Profile::Linux6,
    cc: CcName::Cubic,
    recovery: RecoveryFlavour::Rack,
    initial_window: Some(10),
    quick_acks: 16,
    dsack: true,
    ack_delay: Duration::from_millis(40),
    rtt_estimator: RttEstimator::Linux,
    min_rto: Duration::from_millis(200),
    max_rto: Duration::from_secs(120),
    backoff_floor: BackoffFloor::Before,
    time_wait: Duration::from_secs(60),
    abc_limit: u32::MAX,
    ssthresh_basis: SsthreshBasis::Cwnd,
    ecn: EcnMode::Passive,
    cubic: CubicConfig { reading: CubicReading::Linux, beta: 717.0 / 1024.0, c: 410.0 / 1024.0, ..RFC.cubic },
    hystart: HyStartKind::Linux,
    cc_reading: CcReading::Linux,
    westwood_reading: WestwoodReading::Linux,
    host: Host::LINUX,
    vegas: VegasConfig { reading: VegasReading::Linux, alpha: 2.0, beta: 4.0, ..RFC.vegas },
    ..RFC
};

/// Where the `linux-6` values come from that are not the standards'.
const LINUX_SOURCES: &[(&str, &str)] = &[
    ("cc", "CONFIG_DEFAULT_TCP_CONG of the distributions"),
    ("recovery", "net.ipv4.tcp_recovery 1; tcp_recovery.c, tcp_input.c"),
    ("initial_window", "TCP_INIT_CWND 10"),
    ("quick_acks", "TCP_MAX_QUICKACKS 16"),
    ("dsack", "net.ipv4.tcp_dsack 1"),
    ("ack_delay", "TCP_DELACK_MIN, HZ/25: the estimate of the ACK timeout begins there"),
    ("rtt_estimator", "tcp_rtt_estimator"),
    ("min_rto", "TCP_RTO_MIN, HZ/5"),
    ("max_rto", "TCP_RTO_MAX, 120 s"),
    ("time_wait", "TCP_TIMEWAIT_LEN, 60 s"),
    ("abc_limit", "tcp_slow_start: all that an ACK delivers"),
    ("ssthresh_basis", "tcp_reno_ssthresh and the modules take snd_cwnd"),
    ("window_validation", "tcp_is_cwnd_limited: in slow start half the window in use is enough"),
    ("idle_restart", "net.ipv4.tcp_slow_start_after_idle 1; Linux halves per RTO, here at once"),
    ("max_retries", "net.ipv4.tcp_retries2 15"),
    ("syn_retries", "net.ipv4.tcp_syn_retries 6"),
    ("pacing", "pfifo_fast or fq_codel below: only BBR paces; `true` is the fq scheduler"),
    ("receive_buffer", "net.ipv4.tcp_rmem's maximum, 6 MiB; fixed here, no tuning by itself"),
    ("cubic_reading", "tcp_cubic.c"),
    ("cubic_beta", "tcp_cubic.c: beta 717"),
    ("cubic_c", "tcp_cubic.c: bic_scale 41, cube_rtt_scale 410 / 1024"),
    ("ecn", "sysctl net.ipv4.tcp_ecn = 2"),
    ("hystart", "tcp_cubic.c: hystart 1, hystart_detect 3"),
    ("cc_reading", "tcp_hybla.c, tcp_lp.c"),
    ("westwood_reading", "tcp_westwood.c"),
    ("vegas_reading", "tcp_vegas.c"),
    ("vegas_alpha", "tcp_vegas.c: alpha 2"),
    ("vegas_beta", "tcp_vegas.c: beta 4"),
    ("vegas_gamma", "tcp_vegas.c: gamma 1"),
];

/// Documents one value of every profile.
pub struct Setting {
    /// The key under `[flow.x.tcp]`.
    pub key: &'static str,
    /// Reads the value for display.
    pub value: fn(&Config) -> String,
    /// Where the `rfc` value comes from.
    pub rfc_source: &'static str,
    /// Where the `ns2` value comes from.
    pub ns2_source: &'static str,
}

impl Setting {
    /// The source of this value in `profile`.
    pub fn source(&self, profile: Profile) -> &'static str {
        match profile {
            Profile::Linux6 => LINUX_SOURCES.iter().find(|s| s.0 == self.key).map_or("as in `rfc`", |s| s.1),
            Profile::Rfc => self.rfc_source,
            Profile::Ns2 => self.ns2_source,
        }
    }
}

const fn row(
    key: &'static str,
    value: fn(&Config) -> String,
    rfc_source: &'static str,
    ns2_source: &'static str,
) -> Setting {
    Setting { key, value, rfc_source, ns2_source }
}

/// A bare enum prints as it is written in a scenario.
fn word<T: Serialize>(value: T) -> String {
    crate::registry::bare_word(&value)
}
fn or<T: ToString>(value: Option<T>, none: &str) -> String {
    value.map_or(none.to_owned(), |v| v.to_string())
}
fn on_off(value: bool) -> String {
    value.to_string()
}

const AGENT: &str = "studies' reading of ns-2 2.26/2.27, shared agent";
const NOT_THERE: &str = "ns-2 of that time has it not";
const ONE_WAY: &str = "ns-2's one-way agents have none";

/// The one table of profile values and their sources.
pub const SETTINGS: &[Setting] = &[
    row("cc", |c| word(c.cc), "RFC 5681", AGENT),
    row("recovery", |c| word(c.recovery), "RFC 6675", "ns-2 Agent/TCP/Reno: plain fast recovery"),
    row(
        "mss",
        |c| format!("{} B", c.mss),
        "Ethernet's 1500 B less 40 B of headers",
        "UMTS study: 512 B segments",
    ),
    row(
        "initial_window",
        |c| or(c.initial_window, "min(10 MSS, max(2 MSS, 14600 B))"),
        "RFC 6928 section 2",
        "1 for the SYN, then 2 (delayed growth)",
    ),
    row(
        "initial_ssthresh",
        |c| c.initial_ssthresh.to_string(),
        "RFC 5681 section 3.1: arbitrarily high",
        AGENT,
    ),
    row("max_window", |c| or(c.max_window, "unlimited"), "not limited", "UMTS study: 64 segments"),
    row(
        "whole_segments",
        |c| on_off(c.whole_segments),
        "RFC 5681 counts octets",
        "ns-2 counts packets: int(cwnd)",
    ),
    row(
        "receive_buffer",
        |c| format!("{} B", c.receive_buffer),
        "Linux' default maximum of tcp_rmem, 6 MiB: no RFC value",
        "so large that it never limits: ns-2 advertises no window",
    ),
    row("send_buffer", |c| or(c.send_buffer, "unlimited"), "no RFC value", ONE_WAY),
    row("timestamps", |c| on_off(c.timestamps), "RFC 7323", AGENT),
    row(
        "window_scaling",
        |c| on_off(c.window_scaling),
        "RFC 7323",
        "our SYN needs it; ns-2 has no window field",
    ),
    row("sack", |c| on_off(c.sack), "RFC 2018", AGENT),
    row("sack_on_timeout", |c| word(c.sack_on_timeout), "RFC 6675 section 5.1", "unused without SACK"),
    row("dup_threshold", |c| c.dup_threshold.to_string(), "RFC 5681 section 3.2", AGENT),
    row("limited_transmit", |c| on_off(c.limited_transmit), "RFC 3042", "singledup off in 2.26/2.27"),
    row("bugfix", |c| on_off(c.bugfix), "RFC 6582 section 3.2 step 2", AGENT),
    row(
        "timer_on_fast_retransmit",
        |c| on_off(c.timer_on_fast_retransmit),
        "RFC 6298 section 5 restarts it at ACKs of new data only",
        "ns-2 restarts it (from memory of the public code)",
    ),
    row(
        "timer_on_partial_ack",
        |c| word(c.timer_on_partial_ack),
        "RFC 6582 section 3.2 step 5",
        "ns-2 restarts it at each (from memory of the public code)",
    ),
    row("nagle", |c| on_off(c.nagle), "RFC 9293 section 3.7.4", "ns-2 sends whole packets only"),
    row("ack_every", |c| c.ack_every.to_string(), "RFC 5681 section 4.2", "plain sink"),
    row("quick_acks", |c| c.quick_acks.to_string(), "RFC 9293 section 3.8.6.3 asks for none", "plain sink"),
    row("dsack", |c| on_off(c.dsack), "RFC 2883 is optional", "unused without SACK"),
    row(
        "ack_delay",
        |c| c.ack_delay.to_string(),
        "RFC 9293 section 3.8.6.3 allows 500 ms; 200 ms is usual",
        "unused",
    ),
    row("rtt_estimator", |c| word(c.rtt_estimator), "RFC 6298 section 2", AGENT),
    row("rtt_sampling", |c| word(c.rtt_sampling), "RFC 7323 section 4", AGENT),
    row(
        "clock_granularity",
        |c| c.clock_granularity.to_string(),
        "no RFC value; below 100 ms is advised",
        AGENT,
    ),
    row("initial_rto", |c| c.initial_rto.to_string(), "RFC 6298 (2.1)", AGENT),
    row("min_rto", |c| c.min_rto.to_string(), "RFC 6298 (2.4)", "1 s; 200 ms became default in October 2004"),
    row("max_rto", |c| c.max_rto.to_string(), "RFC 6298 (2.5): at least 60 s", AGENT),
    row("max_backoff", |c| c.max_backoff.to_string(), "RFC 6298 bounds the RTO, not the factor", AGENT),
    row(
        "backoff_floor",
        |c| word(c.backoff_floor),
        "RFC 6298 (2.4) then (5.5)",
        "rfc2988_ on (from memory of the public code)",
    ),
    row(
        "max_retries",
        |c| or(c.max_retries, "never"),
        "RFC 9293 section 3.8.3: R2 at least 100 s; 15 is usual",
        "ns-2 never gives up",
    ),
    row(
        "syn_retries",
        |c| or(c.syn_retries, "never"),
        "RFC 9293 section 3.8.3: R2 of a SYN at least 3 minutes (1+2+4+...+60 s is less by seconds only beyond 6)",
        "ns-2 never gives up",
    ),
    row(
        "syn_filler",
        |c| format!("{} B", c.syn_filler),
        "a SYN carries no data",
        "a whole segment with `cc = \"vegas\"`: VegasTcpAgent::output (tcp-vegas.cc) does not look at syn_, so its \
         first packet is a data packet; 0 B with the other agents, whose SYN has 40 octets",
    ),
    row("time_wait", |c| c.time_wait.to_string(), "RFC 9293 section 3.4.2: 2 MSL of 2 minutes", ONE_WAY),
    row("growth", |c| word(c.growth), "RFC 5681 section 3.1", AGENT),
    row(
        "abc_limit",
        |c| or((c.abc_limit != u32::MAX).then_some(c.abc_limit), "unlimited"),
        "RFC 5681 equation 2; RFC 3465 allows 2",
        "unused",
    ),
    row("ssthresh_basis", |c| word(c.ssthresh_basis), "RFC 5681 equation 4", "ns-2 halves min(cwnd, window)"),
    row(
        "window_validation",
        |c| on_off(c.window_validation),
        "RFC 7661 in spirit: no growth while not limited by cwnd",
        "ns-2 of that time grows always",
    ),
    row(
        "idle_restart",
        |c| on_off(c.idle_restart),
        "RFC 5681 section 4.1",
        "irrelevant to its backlogged FTP",
    ),
    row("pacing", |c| on_off(c.pacing), "no RFC asks for it", ONE_WAY),
    row("max_pacing_rate", |c| or(c.max_pacing_rate, "not paced"), "no RFC value", ONE_WAY),
    row("manual_read", |c| on_off(c.manual_read), "the application reads at once", ONE_WAY),
    row("vegas_alpha", |c| c.vegas.alpha.to_string(), "as ns-2", "v_alpha 1"),
    row("vegas_beta", |c| c.vegas.beta.to_string(), "as ns-2", "v_beta 3"),
    row("vegas_gamma", |c| c.vegas.gamma.to_string(), "as ns-2", "v_gamma 1"),
    row("vegas_rto", |c| word(c.vegas.rto), "as ns-2", "the fine timeout is only asked on duplicate ACKs"),
    row(
        "vegas_base_start",
        |c| word(c.vegas.base_start),
        "the sane reading",
        "the first ACK initialises baseRTT to the absolute clock",
    ),
    row(
        "vegas_sample_order",
        |c| word(c.vegas.sample_order),
        "as ns-2",
        "left open by the studies; the order in the public code, from memory",
    ),
    row("vegas_reading", |c| word(c.vegas.reading), "as ns-2", AGENT),
    row("cubic_reading", |c| word(c.cubic.reading), "RFC 9438", NOT_THERE),
    row("cubic_beta", |c| c.cubic.beta.to_string(), "RFC 9438 section 4.6", NOT_THERE),
    row("cubic_c", |c| c.cubic.c.to_string(), "RFC 9438 section 5.1", NOT_THERE),
    row("cubic_fast_convergence", |c| on_off(c.cubic.fast_convergence), "RFC 9438 section 4.7", NOT_THERE),
    row("cubic_friendliness", |c| on_off(c.cubic.friendliness), "RFC 9438 section 4.3", NOT_THERE),
    row("abe", |c| on_off(c.cubic.abe), "RFC 8511 is experimental", NOT_THERE),
    row(
        "abe_beta",
        |c| format!("{} (reno), {} (cubic)", c.reno_abe_beta, c.cubic.abe_beta),
        "RFC 8511 section 3.1",
        NOT_THERE,
    ),
    row("ecn", |c| word(c.ecn), "RFC 3168 leaves it open", NOT_THERE),
    row("l4s", |c| on_off(c.l4s), "RFC 9331 is experimental", NOT_THERE),
    row("hystart", |c| word(c.hystart), "RFC 9438 section 4.10 allows RFC 9406", NOT_THERE),
    row("cc_reading", |c| word(c.cc_reading), "the papers: no RFC", NOT_THERE),
    row("westwood_reading", |c| word(c.westwood_reading), "the papers: no RFC", NOT_THERE),
    row("zero_interval", |c| word(c.zero_interval), "D2D study section 1.4", NOT_THERE),
    row("hybla_rtt0", |c| c.hybla_rtt0.to_string(), "Caini and Firrincieli 2004", NOT_THERE),
];
