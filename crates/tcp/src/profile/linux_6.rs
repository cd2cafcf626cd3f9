//! Linux 6.1 with its default settings, over a device without segmentation offload.

use lasthop_units::Duration;

use super::{Profile, rfc};
use crate::config::*;
use crate::host::{Host, Offload};
use crate::jiffies::KernelClock;
use crate::name::CcName;

pub(super) const CONFIG: Config = Config {
    profile: Profile::Linux6,
    cc: CcName::Cubic,
    recovery: RecoveryFlavour::Rack,
    cubic: CubicConfig {
        reading: CubicReading::Linux,
        beta: 717.0 / 1024.0,
        c: 410.0 / 1024.0,
        ..rfc::CONFIG.cubic
    },
    host: Host { offload: Some(Offload::LINUX), ..Host::LINUX },
    vegas: VegasConfig { reading: VegasReading::Linux, alpha: 2.0, beta: 4.0, ..rfc::CONFIG.vegas },
    window: WindowConfig { initial_window: Some(10), ..rfc::CONFIG.window },
    buffers: BufferConfig {
        receive_tuning: true,
        receive_buffer: 3 * 1024 * 1024,
        send_tuning: true,
        ..rfc::CONFIG.buffers
    },
    acks: AckConfig { quick_acks: 16, dsack: true, ack_delay: Duration::from_millis(40), ..rfc::CONFIG.acks },
    timers: TimerConfig {
        rtt_estimator: RttEstimator::Linux,
        kernel_clock: KernelClock::Hz1000,
        min_rto: Duration::from_millis(200),
        max_rto: Duration::from_secs(120),
        backoff_floor: BackoffFloor::Before,
        time_wait: Duration::from_secs(60),
        ..rfc::CONFIG.timers
    },
    growth: GrowthConfig { abc_limit: None, ssthresh_basis: SsthreshBasis::Cwnd, ..rfc::CONFIG.growth },
    ecn: EcnConfig { mode: EcnMode::Passive, ..rfc::CONFIG.ecn },
    readings: ReadingConfig { hystart: HyStartKind::Linux, cc_reading: CcReading::Linux },
    westwood: WestwoodConfig { reading: WestwoodReading::Linux, ..rfc::CONFIG.westwood },
    ..rfc::CONFIG
};

/// Where the values come from that are not the standards'.
pub(super) const SOURCES: &[(&str, &str)] = &[
    ("cc", "CONFIG_DEFAULT_TCP_CONG of the distributions"),
    ("recovery", "net.ipv4.tcp_recovery 1; tcp_recovery.c, tcp_input.c"),
    ("initial_window", "TCP_INIT_CWND 10"),
    ("ack_rule", "tcp_event_data_recv, __tcp_ack_snd_check, tcp_send_delayed_ack, tcp_delack_timer_handler"),
    ("quick_acks", "TCP_MAX_QUICKACKS 16"),
    ("dsack", "net.ipv4.tcp_dsack 1"),
    ("ack_delay", "TCP_DELACK_MIN, HZ/25: the estimate of the ACK timeout begins there (TCP_ATO_MIN)"),
    ("rtt_estimator", "tcp_rtt_estimator"),
    ("kernel_clock", "CONFIG_HZ=1000; usecs_to_jiffies, calc_wheel_index (kernel/time/timer.c)"),
    ("min_rto", "TCP_RTO_MIN, HZ/5"),
    ("max_rto", "TCP_RTO_MAX, 120 s"),
    ("time_wait", "TCP_TIMEWAIT_LEN, 60 s"),
    ("abc_limit", "tcp_slow_start: all that an ACK delivers"),
    ("ssthresh_basis", "tcp_reno_ssthresh and the modules take snd_cwnd"),
    ("window_validation", "tcp_is_cwnd_limited: in slow start half the window in use is enough"),
    ("idle_restart", "net.ipv4.tcp_slow_start_after_idle 1: tcp_cwnd_restart halves cwnd per RTO"),
    ("loss_detection", "net.ipv4.tcp_recovery 1: tcp_recovery.c"),
    ("loss_probe", "net.ipv4.tcp_early_retrans 3"),
    ("window_reduction", "tcp_cwnd_reduction"),
    ("max_retries", "net.ipv4.tcp_retries2 15"),
    ("syn_retries", "net.ipv4.tcp_syn_retries 6"),
    ("pacing", "pfifo_fast or fq_codel below: only BBR paces; `true` is the fq scheduler"),
    ("receive_buffer", "half of net.ipv4.tcp_rmem's maximum, 6 MiB: net.ipv4.tcp_adv_win_scale 1"),
    ("receive_tuning", "net.ipv4.tcp_moderate_rcvbuf 1: tcp_rcv_space_adjust, tcp_grow_window"),
    ("send_tuning", "tcp_sndbuf_expand, sk_stream_memory_free"),
    ("send_buffer_start", "the default of net.ipv4.tcp_wmem, 16384"),
    ("send_buffer_max", "the maximum of net.ipv4.tcp_wmem, 4194304"),
    (
        "gso",
        "since 4.17 TCP cuts packets of several segments, whether the device segments them or not: sk_setup_caps",
    ),
    ("cubic_reading", "tcp_cubic.c"),
    ("cubic_beta", "tcp_cubic.c: beta 717"),
    ("cubic_c", "tcp_cubic.c: bic_scale 41, cube_rtt_scale 410 / 1024"),
    ("ecn", "net.ipv4.tcp_ecn 2"),
    ("accecn_option", "net.ipv4.tcp_ecn_option 2, from 6.18 on: 6.1 has no accurate ECN"),
    ("hystart", "tcp_cubic.c: hystart 1, hystart_detect 3"),
    ("cc_reading", "tcp_hybla.c, tcp_lp.c, tcp_veno.c, tcp_yeah.c"),
    ("westwood_reading", "tcp_westwood.c"),
    ("vegas_reading", "tcp_vegas.c"),
    ("vegas_alpha", "tcp_vegas.c: alpha 2"),
    ("vegas_beta", "tcp_vegas.c: beta 4"),
    ("vegas_gamma", "tcp_vegas.c: gamma 1"),
];
