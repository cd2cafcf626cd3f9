//! ns-3, releases 3.28 (March 2018) and 3.44 (March 2025): the defaults of its own TCP.

use lasthop_units::Duration;

use super::{Profile, rfc};
use crate::config::*;
use crate::host::{AckRule, Host};
use crate::name::CcName;

pub(super) const CONFIG_3_28: Config = Config {
    profile: Profile::Ns3328,
    vegas: VegasConfig { reading: VegasReading::Ns3, alpha: 2.0, beta: 4.0, ..rfc::CONFIG.vegas },
    window: WindowConfig { mss: 536, initial_window: Some(1), ..rfc::CONFIG.window },
    buffers: BufferConfig { receive_buffer: 131_072, send_buffer: Some(131_072), ..rfc::CONFIG.buffers },
    acks: AckConfig { nagle: false, ..rfc::CONFIG.acks },
    timers: TimerConfig {
        rtt_estimator: RttEstimator::PerSample,
        initial_rto: Duration::from_secs(3),
        max_retries: Some(6),
        ..rfc::CONFIG.timers
    },
    growth: GrowthConfig {
        growth: Growth::Acks,
        window_validation: false,
        idle_restart: false,
        ..rfc::CONFIG.growth
    },
    readings: ReadingConfig { cc_reading: CcReading::Ns3, ..rfc::CONFIG.readings },
    westwood: WestwoodConfig { reading: WestwoodReading::Ns3, ..rfc::CONFIG.westwood },
    hybla: HyblaConfig { rtt0: Duration::from_millis(50) },
    ..rfc::CONFIG
};

pub(super) const CONFIG_3_44: Config = Config {
    profile: Profile::Ns3344,
    cc: CcName::Cubic,
    cubic: CubicConfig { reading: CubicReading::Linux, ..rfc::CONFIG.cubic },
    host: Host { acks: AckRule::Segments, ..rfc::CONFIG.host },
    window: WindowConfig { initial_window: Some(10), ..CONFIG_3_28.window },
    acks: AckConfig { quick_acks: 1, ..CONFIG_3_28.acks },
    growth: GrowthConfig { window_validation: true, ..CONFIG_3_28.growth },
    ecn: EcnConfig { abe_beta: AbeBeta { reno: 0.7, ..CONFIG_3_28.ecn.abe_beta }, ..CONFIG_3_28.ecn },
    readings: ReadingConfig {
        hystart: HyStartKind::Linux,
        // What became of 3.28's defects was not read.
        cc_reading: CcReading::Paper,
    },
    westwood: WestwoodConfig { reading: WestwoodReading::Paper, ..CONFIG_3_28.westwood },
    ..CONFIG_3_28
};

/// Where the values of 3.28 come from that differ from `rfc`.
pub(super) const SOURCES_3_28: &[(&str, &str)] = &[
    ("cc", "TcpL4Protocol::SocketType TcpNewReno; `reno` here, with the recovery below"),
    ("recovery", "TcpSocketBase::Sack true, since 3.27: RFC 6675's pipe"),
    ("mss", "TcpSocket::SegmentSize 536"),
    ("initial_window", "TcpSocket::InitialCwnd 1; 10 since 3.31"),
    ("receive_buffer", "TcpSocket::RcvBufSize 131072"),
    ("send_buffer", "TcpSocket::SndBufSize 131072"),
    ("nagle", "TcpSocket::TcpNoDelay true"),
    ("ack_every", "TcpSocket::DelAckCount 2"),
    ("ack_delay", "TcpSocket::DelAckTimeout 0.2 s"),
    ("limited_transmit", "TcpSocketBase::LimitedTransmit true"),
    ("rtt_estimator", "RttMeanDeviation: 1/8 and 1/4 at each sample"),
    ("initial_rto", "TcpSocket::ConnTimeout 3 s, for the SYN"),
    ("min_rto", "TcpSocketBase::MinRto 1 s"),
    ("max_rto", "TcpSocketBase::ReTxTimeout: doubled up to 60 s"),
    ("clock_granularity", "TcpSocketBase::ClockGranularity 1 ms"),
    ("max_retries", "TcpSocket::DataRetries 6"),
    ("syn_retries", "TcpSocket::ConnCount 6"),
    ("time_wait", "TcpSocketBase::MaxSegLifetime 120 s, twice"),
    ("growth", "TcpNewReno: a segment per ACK in slow start, MSS^2 / cwnd per ACK after"),
    ("ssthresh_basis", "TcpNewReno::GetSsThresh: max(2 MSS, bytes in flight / 2)"),
    ("timer_on_partial_ack", "TcpSocketBase: the first partial ACK restarts the timer"),
    ("window_validation", "it grows whether or not the window is used"),
    ("idle_restart", "it has none"),
    ("hybla_rtt0", "TcpHybla::RRTT 50 ms"),
    (
        "cc_reading",
        "TcpVeno::IncreaseWindow resets its samples at every call; TcpYeah::IncreaseWindow divides 1 by Phy in integers; \
         TcpScalable::AIFactor 50",
    ),
    ("westwood_reading", "TcpWestwood::EstimateBW: one ACK's segments over a whole round trip; Tustin"),
    ("vegas_reading", "TcpVegas, a port of Linux' module; GetSsThresh is min(ssthresh, cwnd - 1 segment)"),
    ("vegas_alpha", "TcpVegas::Alpha 2"),
    ("vegas_beta", "TcpVegas::Beta 4"),
    ("vegas_gamma", "TcpVegas::Gamma 1"),
];

/// Where the values of 3.44 come from that differ from `rfc`.
pub(super) const SOURCES_3_44: &[(&str, &str)] = &[
    ("cc", "TcpL4Protocol::SocketType TcpCubic, since 3.34"),
    (
        "recovery",
        "TcpSocketBase::Sack true, TcpL4Protocol::RecoveryType TcpPrrRecovery; here RFC 6675's pipe without PRR",
    ),
    ("mss", "TcpSocket::SegmentSize 536"),
    ("initial_window", "TcpSocket::InitialCwnd 10, since 3.31"),
    ("receive_buffer", "TcpSocket::RcvBufSize 131072"),
    ("send_buffer", "TcpSocket::SndBufSize 131072"),
    ("nagle", "TcpSocket::TcpNoDelay true"),
    ("ack_rule", "TcpSocketBase::ReceivedData counts segments, whatever their size"),
    ("quick_acks", "TcpSocketBase::ProcessSynRcvd: the first data segment is acknowledged at once"),
    ("ack_every", "TcpSocket::DelAckCount 2"),
    ("ack_delay", "TcpSocket::DelAckTimeout 0.2 s"),
    ("rtt_estimator", "RttMeanDeviation: 1/8 and 1/4 at each sample"),
    ("initial_rto", "TcpSocket::ConnTimeout 3 s, for the SYN"),
    ("max_retries", "TcpSocket::DataRetries 6"),
    ("growth", "TcpNewReno: a segment per ACK in slow start; TcpLinuxReno counts segments"),
    ("window_validation", "TcpCubic and TcpLinuxReno grow only while the window is used"),
    ("idle_restart", "it has none"),
    ("cubic_reading", "TcpCubic, a port of Linux' module"),
    ("cubic_beta", "TcpCubic::Beta 0.7"),
    ("cubic_c", "TcpCubic::C 0.4"),
    ("abe_beta", "BetaEcn 0.7 in its tests of ABE"),
    ("hystart", "TcpCubic::HyStart true; its delay threshold may reach 1 s, Linux' 16 ms"),
    ("hybla_rtt0", "TcpHybla::RRTT 50 ms"),
    ("vegas_reading", "TcpVegas, a port of Linux' module; GetSsThresh is min(ssthresh, cwnd - 1 segment)"),
    ("vegas_alpha", "TcpVegas::Alpha 2"),
    ("vegas_beta", "TcpVegas::Beta 4"),
];
