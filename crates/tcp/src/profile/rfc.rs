//! The standards.

use lasthop_units::Duration;

use super::Profile;
use crate::config::*;
use crate::host::Host;
use crate::jiffies::KernelClock;
use crate::name::CcName;

/// Every value; the sources stand in [`SETTINGS`](crate::options::SETTINGS).
pub(super) const CONFIG: Config = Config {
    profile: Profile::Rfc,
    cc: CcName::Reno,
    recovery: RecoveryFlavour::Sack,
    cubic: CubicConfig {
        reading: CubicReading::Rfc9438,
        beta: 0.7,
        c: 0.4,
        fast_convergence: true,
        friendliness: true,
        abe: false,
        abe_beta: 0.85,
    },
    hint: HintConfig {
        base: CcName::Reno,
        rtt: HintRtt::Min,
        queue_term: true,
        queue_threshold: 30_000,
        gain: 1.0,
        timeout: None,
    },
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
    window: WindowConfig {
        mss: 1460,
        initial_window: None,
        initial_ssthresh: InitialSsthresh::Segments(f64::INFINITY),
        max_window: None,
        whole_segments: false,
    },
    buffers: BufferConfig {
        receive_buffer: 6 * 1024 * 1024,
        receive_tuning: false,
        receive_buffer_start: 65_536,
        send_buffer: None,
        send_tuning: false,
        send_buffer_start: 16_384,
        send_buffer_max: 4 * 1024 * 1024,
    },
    negotiated: NegotiatedConfig { timestamps: true, window_scaling: true, sack: true },
    loss: LossConfig {
        sack_on_timeout: SackOnTimeout::Keep,
        dup_threshold: 3,
        limited_transmit: true,
        bugfix: true,
        timer_on_fast_retransmit: false,
        timer_on_partial_ack: TimerOnPartialAck::FirstOnly,
        rto_leaves_recovery: true,
        recovery_exit: RecoveryExit::Deflate,
        loss_detection: LossDetection::Rack,
        window_reduction: WindowReduction::Prr,
    },
    acks: AckConfig {
        nagle: true,
        ack_every: 2,
        quick_acks: 0,
        dsack: false,
        ack_delay: Duration::from_millis(200),
    },
    timers: TimerConfig {
        rtt_estimator: RttEstimator::Rfc6298,
        rtt_sampling: RttSampling::EveryAck,
        clock_granularity: Duration::from_millis(1),
        kernel_clock: KernelClock::Exact,
        initial_rto: Duration::from_secs(1),
        min_rto: Duration::from_secs(1),
        max_rto: Duration::from_secs(60),
        max_backoff: u32::MAX,
        backoff_floor: BackoffFloor::Before,
        max_retries: Some(15),
        syn_retries: Some(6),
        syn_filler: 0,
        time_wait: Duration::from_secs(240),
    },
    growth: GrowthConfig {
        growth: Growth::Bytes,
        abc_limit: 1,
        ssthresh_basis: SsthreshBasis::Flight,
        window_validation: true,
        idle_restart: true,
        max_pacing_rate: None,
        manual_read: false,
        pacing: false,
    },
    ecn: EcnConfig { mode: EcnMode::Off, accecn_option: AccEcnOption::Full, l4s: false, reno_abe_beta: 0.8 },
    readings: ReadingConfig { hystart: HyStartKind::None, cc_reading: CcReading::Paper },
    westwood: WestwoodConfig { reading: WestwoodReading::Paper, zero_interval: ZeroInterval::Zero },
    hybla: HyblaConfig { rtt0: Duration::from_millis(25) },
};
