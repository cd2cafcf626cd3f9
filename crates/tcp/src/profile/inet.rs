//! INET 2.x and 3.x, the releases around 2015 that SimuLTE's studies used.

use lasthop_units::Duration;

use super::{Profile, rfc};
use crate::config::*;

pub(super) const CONFIG: Config = Config {
    profile: Profile::Inet,
    recovery: RecoveryFlavour::Reno,
    window: WindowConfig {
        mss: 536,
        initial_window: Some(1),
        initial_ssthresh: InitialSsthresh::Octets(65_535),
        ..rfc::CONFIG.window
    },
    buffers: BufferConfig { receive_buffer: 14 * 536, ..rfc::CONFIG.buffers },
    negotiated: NegotiatedConfig { timestamps: false, window_scaling: false, sack: false },
    loss: LossConfig {
        limited_transmit: false,
        bugfix: false,
        timer_on_partial_ack: TimerOnPartialAck::Every,
        ..rfc::CONFIG.loss
    },
    acks: AckConfig { ack_every: 1, ..rfc::CONFIG.acks },
    timers: TimerConfig {
        rtt_estimator: RttEstimator::Inet,
        rtt_sampling: RttSampling::OneSegment,
        initial_rto: Duration::from_secs(3),
        max_rto: Duration::from_secs(240),
        max_retries: Some(12),
        syn_retries: Some(12),
        ..rfc::CONFIG.timers
    },
    growth: GrowthConfig {
        growth: Growth::Acks,
        ssthresh_basis: SsthreshBasis::Window,
        window_validation: false,
        ..rfc::CONFIG.growth
    },
    westwood: WestwoodConfig { zero_interval: ZeroInterval::Skip, ..rfc::CONFIG.westwood },
    ..rfc::CONFIG
};

/// Where the values come from that differ from `rfc`.
pub(super) const SOURCES: &[(&str, &str)] = &[
    ("recovery", "tcpAlgorithmClass TCPReno: left at the first ACK of new data"),
    ("mss", "TCP.ned: mss 536"),
    ("initial_window", "TCPBaseAlg: one segment (increasedIWEnabled false)"),
    ("initial_ssthresh", "TCPTahoeRenoFamily: 65535 B"),
    ("receive_buffer", "TCP.ned: advertisedWindow 14 mss"),
    ("timestamps", "TCP.ned: timestampSupport false"),
    ("window_scaling", "TCP.ned: windowScalingSupport false"),
    ("sack", "TCP.ned: sackSupport false"),
    ("limited_transmit", "TCP.ned: limitedTransmitEnabled false"),
    ("bugfix", "TCPReno keeps no recovery point: duplicates after a timeout cut once more"),
    ("timer_on_partial_ack", "TCPBaseAlg: every ACK that advances restarts the timer"),
    ("nagle", "TCP.ned: nagleEnabled true"),
    ("ack_every", "TCP.ned: delayedAcksEnabled false"),
    ("rtt_estimator", "TCPBaseAlg::rttMeasurementComplete: g = 1/8 for SRTT and RTTVAR, from 0 and 0.75 s"),
    ("rtt_sampling", "TCPBaseAlg: one segment timed at a time, discarded at a timeout"),
    ("initial_rto", "TCPBaseAlg: 0 + 4 * 0.75 s"),
    ("min_rto", "MIN_REXMIT_TIMEOUT 1 s"),
    ("max_rto", "MAX_REXMIT_TIMEOUT 240 s"),
    ("max_retries", "MAX_REXMIT_COUNT 12"),
    ("syn_retries", "MAX_SYN_REXMIT_COUNT 12"),
    ("growth", "TCPReno: a segment per ACK in slow start, MSS^2 / cwnd per ACK after"),
    ("ssthresh_basis", "TCPReno::recalculateSlowStartThreshold: min(cwnd, snd_wnd) / 2, not the flight"),
    ("window_validation", "it grows whether or not the window is used"),
    ("idle_restart", "TCPConnection: one segment after an idle time of one RTO"),
    ("zero_interval", "TCPWestwood skips two ACKs at one instant"),
];
