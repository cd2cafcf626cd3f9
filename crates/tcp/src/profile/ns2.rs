//! The one-way agents of ns-2 2.26 and 2.27 (2003-04), counting packets.

use lasthop_units::Duration;

use super::{Profile, rfc};
use crate::config::*;

pub(super) const CONFIG: Config = Config {
    profile: Profile::Ns2,
    recovery: RecoveryFlavour::Reno,
    vegas: VegasConfig { base_start: VegasBaseStart::Clock, ..rfc::CONFIG.vegas },
    window: WindowConfig {
        mss: 512,
        initial_window: Some(2),
        initial_ssthresh: InitialSsthresh::MaxWindow,
        max_window: Some(64),
        whole_segments: true,
    },
    buffers: BufferConfig {
        // ns-2's one-way agents have no receiver's window: here it never limits.
        receive_buffer: 1 << 30,
        ..rfc::CONFIG.buffers
    },
    negotiated: NegotiatedConfig { timestamps: false, sack: false, ..rfc::CONFIG.negotiated },
    loss: LossConfig {
        limited_transmit: false,
        timer_on_fast_retransmit: true,
        timer_on_partial_ack: TimerOnPartialAck::Every,
        recovery_exit: RecoveryExit::Keep,
        ..rfc::CONFIG.loss
    },
    acks: AckConfig { nagle: false, ack_every: 1, ..rfc::CONFIG.acks },
    timers: TimerConfig {
        rtt_estimator: RttEstimator::Ns2Ticks,
        rtt_sampling: RttSampling::OneSegment,
        clock_granularity: Duration::from_millis(10),
        initial_rto: Duration::from_secs(6),
        max_rto: Duration::from_secs(100_000),
        max_backoff: 64,
        max_retries: None,
        syn_retries: None,
        time_wait: Duration::ZERO,
        ..rfc::CONFIG.timers
    },
    growth: GrowthConfig {
        growth: Growth::Acks,
        ssthresh_basis: SsthreshBasis::Window,
        window_validation: false,
        idle_restart: false,
        ..rfc::CONFIG.growth
    },
    ..rfc::CONFIG
};

const AGENT: &str = "studies' reading of ns-2 2.26/2.27, shared agent";
const NOT_THERE: &str = "ns-2 of that time has it not";
const ONE_WAY: &str = "ns-2's one-way agents have none";

/// Where each value comes from.
pub(super) const SOURCES: &[(&str, &str)] = &[
    ("cc", AGENT),
    ("recovery", "ns-2 Agent/TCP/Reno: plain fast recovery"),
    ("mss", "UMTS study: 512 B segments"),
    ("initial_window", "1 for the SYN, then 2 (delayed growth)"),
    ("initial_ssthresh", AGENT),
    ("max_window", "UMTS study: 64 segments"),
    ("whole_segments", "ns-2 counts packets: int(cwnd)"),
    ("receive_buffer", "so large that it never limits: ns-2 advertises no window"),
    ("send_buffer", ONE_WAY),
    ("timestamps", AGENT),
    ("window_scaling", "our SYN needs it; ns-2 has no window field"),
    ("sack", AGENT),
    ("sack_on_timeout", "unused without SACK"),
    ("dup_threshold", AGENT),
    ("limited_transmit", "singledup off in 2.26/2.27"),
    ("bugfix", AGENT),
    ("timer_on_fast_retransmit", "ns-2 restarts it [unverified]"),
    ("timer_on_partial_ack", "ns-2 restarts it at each [unverified]"),
    ("rto_leaves_recovery", "unused: Reno"),
    ("recovery_exit", "ns-2 keeps cwnd, and the ACK counts [unverified]"),
    ("loss_detection", "unused: Reno"),
    ("loss_probe", "unused: Reno"),
    ("window_reduction", "unused: Reno"),
    ("nagle", "ns-2 sends whole packets only"),
    ("ack_every", "plain sink"),
    ("quick_acks", "plain sink"),
    ("dsack", "unused without SACK"),
    ("ack_delay", "unused"),
    ("rtt_estimator", AGENT),
    ("rtt_sampling", AGENT),
    ("clock_granularity", AGENT),
    ("initial_rto", AGENT),
    ("min_rto", "1 s; 200 ms became default in October 2004"),
    ("max_rto", AGENT),
    ("max_backoff", AGENT),
    ("backoff_floor", "rfc2988_ on [unverified]"),
    ("max_retries", "ns-2 retransmits without limit"),
    ("syn_retries", "ns-2 retransmits without limit"),
    (
        "syn_filler",
        "a whole segment with `cc = \"vegas\"`: VegasTcpAgent::output (tcp-vegas.cc) ignores syn_, so its \
         first packet is a data packet; 0 B with the other agents, whose SYN has 40 octets",
    ),
    ("time_wait", ONE_WAY),
    ("growth", AGENT),
    ("abc_limit", "unused"),
    ("ssthresh_basis", "ns-2 halves min(cwnd, window)"),
    ("window_validation", "ns-2 of that time grows always"),
    ("idle_restart", "irrelevant to its backlogged FTP"),
    ("pacing", ONE_WAY),
    ("max_pacing_rate", ONE_WAY),
    ("manual_read", ONE_WAY),
    ("burst_read", ONE_WAY),
    ("vegas_alpha", "v_alpha 1"),
    ("vegas_beta", "v_beta 3"),
    ("vegas_gamma", "v_gamma 1"),
    ("vegas_rto", "the fine timeout is only checked on duplicate ACKs"),
    ("vegas_base_start", "the first ACK initialises baseRTT to the absolute clock"),
    ("vegas_sample_order", "left open by the studies; the order in the public code [unverified]"),
    ("vegas_reading", AGENT),
    ("cubic_reading", NOT_THERE),
    ("cubic_beta", NOT_THERE),
    ("cubic_c", NOT_THERE),
    ("cubic_fast_convergence", NOT_THERE),
    ("cubic_friendliness", NOT_THERE),
    ("abe", NOT_THERE),
    ("abe_beta", NOT_THERE),
    ("ecn", "ecn_ 0"),
    ("l4s", NOT_THERE),
    ("hystart", NOT_THERE),
    ("cc_reading", NOT_THERE),
    ("westwood_reading", NOT_THERE),
    ("zero_interval", NOT_THERE),
    ("hybla_rtt0", NOT_THERE),
];
