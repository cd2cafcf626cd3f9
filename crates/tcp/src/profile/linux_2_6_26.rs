//! Linux 2.6.26 (July 2008), as the Network Simulation Cradle ran it.

use lasthop_units::Duration;

use super::{Profile, linux_6};
use crate::config::*;
use crate::host::{AckRule, Host};
use crate::jiffies::Wheel;

pub(super) const CONFIG: Config = Config {
    profile: Profile::Linux2626,
    host: Host {
        loss_probes: false,
        acks: AckRule::Octets,
        wheel: Wheel::Jiffies,
        times_repeated_syn: false,
        ..Host::LINUX
    },
    window: WindowConfig { initial_window: Some(3), ..linux_6::CONFIG.window },
    buffers: BufferConfig {
        receive_buffer: 4 * 1024 * 1024,
        receive_tuning: false,
        send_tuning: false,
        ..linux_6::CONFIG.buffers
    },
    loss: LossConfig {
        loss_detection: LossDetection::Fack,
        window_reduction: WindowReduction::RateHalving,
        ..linux_6::CONFIG.loss
    },
    timers: TimerConfig {
        initial_rto: Duration::from_secs(3),
        syn_retries: Some(5),
        ..linux_6::CONFIG.timers
    },
    growth: GrowthConfig { growth: Growth::Acks, abc_limit: Some(1), ..linux_6::CONFIG.growth },
    ecn: EcnConfig { mode: EcnMode::Off, ..linux_6::CONFIG.ecn },
    readings: ReadingConfig { hystart: HyStartKind::None, ..linux_6::CONFIG.readings },
    ..linux_6::CONFIG
};

/// Where the values come from that differ from `linux-6`.
pub(super) const SOURCES: &[(&str, &str)] = &[
    ("cc", "CONFIG_DEFAULT_TCP_CONG: CUBIC since 2.6.19"),
    ("initial_window", "tcp_init_cwnd: RFC 3390, 3 for segments of 1096 to 1460 B (4 below, 2 above)"),
    ("receive_buffer", "net.ipv4.tcp_rmem's maximum, 4 MiB; fixed here, no tuning by itself"),
    ("receive_tuning", "not carried over: 2.6.26 tunes by an older rule"),
    ("send_tuning", "not carried over: the sender has no limit here"),
    ("gso", "a packet of several segments only where the device segments"),
    ("ack_rule", "a fixed delay after the quick ACKs; `linux` has the heuristics, which 2.6.26 had too"),
    (
        "kernel_clock",
        "CONFIG_HZ 1000 of the Network Simulation Cradle 0.5.2; a timer fires when its jiffy begins (internal_add_timer)",
    ),
    ("initial_rto", "TCP_TIMEOUT_INIT, 3 HZ (1 s since 3.1)"),
    ("syn_retries", "TCP_SYN_RETRIES 5"),
    (
        "recovery",
        "tcp_input.c: SACK with F-RTO (tcp_frto 2, tcp_frto_response 0) and undo; its loss detection and reduction below",
    ),
    ("loss_detection", "net.ipv4.tcp_fack 1, reordering 3: tcp_update_scoreboard"),
    ("loss_probe", "tail loss probes came with 3.10"),
    ("window_reduction", "tcp_cwnd_down: PRR came with 3.2"),
    ("growth", "tcp_reno_cong_avoid: a segment per ACK, one per cwnd ACKs after (net.ipv4.tcp_abc 0)"),
    ("abc_limit", "net.ipv4.tcp_abc 0: slow start grows by a segment per ACK"),
    ("ecn", "net.ipv4.tcp_ecn 0 (2 since 2.6.31)"),
    ("hystart", "HyStart came with 2.6.29"),
    (
        "cubic_reading",
        "tcp_cubic.c 2.2: counts ACKs and divides by the mean of segments per ACK, on average the count of segments here",
    ),
    ("cubic_beta", "tcp_cubic.c 2.2: beta 717 (819 before 2.6.26)"),
];
