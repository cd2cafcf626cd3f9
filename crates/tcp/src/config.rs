//! The resolved values an endpoint runs on. [`Options`](crate::Options) is what a scenario writes;
//! [`profile`](crate::profile) says where each default comes from.

use lasthop_units::{Bitrate, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::host::Host;
use crate::jiffies::{KernelClock, Timers};
use crate::name::{CcName, Profile};

/// How lost segments are found and sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RecoveryFlavour {
    /// Third duplicate ACK: back to one segment and slow start (4.3BSD-Tahoe).
    Tahoe,
    /// Fast recovery that ends with the first new ACK (RFC 5681 section 3.2, 4.3BSD-Reno).
    Reno,
    /// Fast recovery that survives partial ACKs (RFC 6582).
    #[serde(rename = "newreno")]
    NewReno,
    /// The scoreboard of RFC 6675; falls back to NewReno when the peer does not permit SACK.
    Sack,
    /// RACK-TLP (RFC 8985) with PRR (RFC 9937), F-RTO and undo, as Linux; falls back like `sack`.
    Rack,
}

/// Arithmetic of the RTT estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RttEstimator {
    /// RFC 6298 section 2, in nanoseconds.
    Rfc6298,
    /// Gains of 1/8 and 1/4 per sample, RTTVAR as the largest of the round trip and not below the
    /// floor of the RTO.
    Linux,
    /// RFC 6298's gains at every sample, however many there are in a round trip (ns-3).
    PerSample,
    /// Gains of 1/8 both, from SRTT 0 and RTTVAR a quarter of the first timeout on (INET).
    Inet,
    /// Whole clock ticks, SRTT kept in eighths and RTTVAR in quarters (ns-2, 4.3BSD).
    Ns2Ticks,
}

/// Which segments give RTT samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RttSampling {
    /// Every ACK of new data (RFC 7323 section 4); gains are scaled to the flight (its appendix G).
    EveryAck,
    /// One segment at a time (Karn and Partridge 1987; RFC 6298 section 3).
    OneSegment,
}

/// Whether the floor of the RTO is applied before or after the back-off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BackoffFloor {
    /// `max(rto, floor) * backoff`.
    Before,
    /// `max(rto * backoff, floor)`.
    After,
}

/// What "FlightSize" means when ssthresh is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SsthreshBasis {
    /// Data sent and not acknowledged (RFC 5681 equation 4).
    Flight,
    /// The usable window min(cwnd, max window, peer's window), whatever is in flight (ns-2, INET).
    Window,
    /// The congestion window (Linux).
    Cwnd,
}

/// What makes the congestion window grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Growth {
    /// Octets acknowledged (RFC 5681 section 3.1, RFC 3465).
    Bytes,
    /// ACKs: + 1 segment each in slow start, + 1/cwnd each after (ns-2).
    Acks,
}

/// Which partial ACKs restart the retransmission timer in NewReno's recovery (RFC 6582 section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TimerOnPartialAck {
    /// The first one: the Impatient variant, which RFC 6582 section 3.2 step 5 describes.
    FirstOnly,
    /// Each: the Slow-but-Steady variant.
    Every,
}

/// What NewReno's or Reno's window is when fast recovery ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RecoveryExit {
    /// NewReno: at most the flight and one segment (RFC 6582 section 3.2 step 3, option 1); the ACK
    /// does not grow it.
    Deflate,
    /// ssthresh, and the ACK that ends recovery grows it already (ns-2).
    Keep,
}

/// How `recovery = "rack"` finds losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LossDetection {
    /// By time (RFC 8985).
    Rack,
    /// By count: what lies `dup_threshold` segments below the highest SACKed one (forward
    /// acknowledgement, Mathis and Mahdavi 1996; Linux up to 4.15).
    Fack,
}

/// How `recovery = "rack"` brings the window down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WindowReduction {
    /// Proportional rate reduction (RFC 9937).
    Prr,
    /// One segment less for every second ACK (Linux up to 3.1). The F-RTO of those kernels belongs
    /// to it: a timeout marks nothing lost before two ACKs have shown whether it was
    /// spurious, and a spurious one brings the window down to ssthresh.
    RateHalving,
}

/// What a retransmission timeout does to SACK information.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SackOnTimeout {
    /// Kept, unless the receiver is seen to have reneged (RFC 6675 section 5.1).
    Keep,
    /// Forgotten (RFC 2018 section 8).
    Clear,
}

/// Vegas' coarse or fine retransmission timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VegasRto {
    /// The ordinary RTO; the fine-grained timeout is only asked on duplicate ACKs (ns-2).
    Coarse,
    /// The fine-grained timeout is the timer, without minimum or ticks, doubled by each expiry.
    Fine,
}

/// What Vegas' baseRTT starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VegasBaseStart {
    /// The absolute clock at the first ACK, as in ns-2: right only for a flow that starts at time
    /// 0, and mended by the decision at that same ACK, because one packet was in transit.
    Clock,
    /// The first round trip measured.
    Sample,
}

/// Which side of Vegas' per-round decision the sample of the deciding ACK is counted on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VegasSampleOrder {
    /// In the round that begins: the decision is taken first.
    AfterDecision,
    /// In the round that ends.
    BeforeDecision,
}

/// Whose Vegas it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VegasReading {
    /// ns-2 2.26/2.27.
    Ns2,
    /// Linux.
    Linux,
    /// ns-3: Linux' rounds; a loss costs one segment.
    Ns3,
}

/// Whose CUBIC it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CubicReading {
    /// The standard.
    Rfc9438,
    /// Linux: whole segments, a look at most every 1/32 s.
    Linux,
}

/// What ends slow start before a loss does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HyStartKind {
    /// Nothing.
    None,
    /// HyStart as Linux has it: ACK trains and delay.
    Linux,
    /// HyStart as ns-3 has it (TcpCubic): the delay must grow by the whole smallest round trip, 4
    /// ms to 1 s, and a train of ACKs must be longer than it.
    Ns3,
    /// HyStart++ (RFC 9406).
    Rfc9406,
}

/// Whose reading of an algorithm without a standard it is (Hybla, LP, Scalable, Veno, YeAH).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CcReading {
    /// The paper's.
    Paper,
    /// Linux' module, its arithmetic and its oddities included.
    Linux,
    /// ns-3 3.28's class, its defects included (Scalable, Veno, YeAH; the others as `paper`).
    Ns3,
}

/// What an endpoint does about ECN (RFC 3168).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EcnMode {
    /// Nothing (Linux `tcp_ecn = 0`).
    #[default]
    Off,
    /// Asks for it and accepts it (`tcp_ecn = 1`).
    On,
    /// Accepts it when the peer asks (`tcp_ecn = 2`, Linux' default).
    Passive,
    /// Asks for accurate feedback (RFC 9768), and makes do with RFC 3168 (`tcp_ecn = 3`).
    Accurate,
    /// Asks for RFC 3168 and accepts accurate feedback too (`tcp_ecn = 4`).
    AccurateIn,
    /// Asks for nothing and accepts accurate feedback too (`tcp_ecn = 5`).
    AccuratePassive,
}

impl EcnMode {
    /// A SYN asks for ECN.
    pub const fn asks(self) -> bool {
        matches!(self, EcnMode::On | EcnMode::Accurate | EcnMode::AccurateIn)
    }
    /// A SYN that asks for accurate feedback gets it.
    pub const fn accepts_accurate(self) -> bool {
        matches!(self, EcnMode::Accurate | EcnMode::AccurateIn | EcnMode::AccuratePassive)
    }
}

/// When the AccECN option (RFC 9768 section 3.2.3) is sent, to a peer that sends it too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AccEcnOption {
    /// Never (Linux `tcp_ecn_option = 0`).
    Off,
    /// When a counter's codepoint changes, with marks, and three times a round trip
    /// (`tcp_ecn_option = 1`).
    Minimum,
    /// In every segment that has room; data segments keep 12 octets for it (`tcp_ecn_option = 2`,
    /// Linux' default).
    #[default]
    Full,
}

/// Whose Westwood it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WestwoodReading {
    /// The papers', as INET has it.
    Paper,
    /// Linux' module: Westwood+ that sets the window at the end of recovery.
    Linux,
    /// ns-3 3.28: what one ACK acknowledges over a whole round trip, so that a loss leaves two
    /// segments.
    Ns3,
}

/// What Westwood makes of two ACKs at the same instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ZeroInterval {
    /// A sample of 0 (the D2D study's reading).
    Zero,
    /// No sample (INET).
    Skip,
    /// The octets count towards the next sample.
    Merge,
}

/// CUBIC's parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CubicConfig {
    /// Whose.
    pub reading: CubicReading,
    /// What is left of cwnd after a loss.
    pub beta: f64,
    /// C [segments/s^3].
    pub c: f64,
    /// A loss below the last maximum lowers it further.
    pub fast_convergence: bool,
    /// Not slower than Reno.
    pub friendliness: bool,
    /// A mark costs less than a loss (RFC 8511); Reno asks too.
    pub abe: bool,
    /// What is left of cwnd after a mark then.
    pub abe_beta: f64,
}

/// The round trip in the window of `radio-aware` and the ceiling of `guided`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HintRtt {
    /// The smallest of the last 10 s.
    Min,
    /// The smoothed one.
    Srtt,
    /// The smoothed one without the time that the reported queue takes at the reported rate, not
    /// below the smallest.
    Predicted,
}

/// Parameters of `radio-aware` and `guided`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HintConfig {
    /// What takes over without hints: a built-in algorithm that needs no hints.
    pub base: CcName,
    /// The round trip in the formula.
    pub rtt: HintRtt,
    /// The window has the queue term.
    pub queue_term: bool,
    /// Q_th \[octets\].
    pub queue_threshold: u64,
    /// Gain of the queue term.
    pub gain: f64,
    /// How old a reading may be; `None`: a smoothed round trip, at least 2.5 periods of the hints.
    pub timeout: Option<Duration>,
}

/// Vegas' parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VegasConfig {
    /// Whose.
    pub reading: VegasReading,
    /// Fewer extra segments than this queued: grow.
    pub alpha: f64,
    /// More extra segments than this queued: shrink.
    pub beta: f64,
    /// More extra segments than this queued in slow start: leave it.
    pub gamma: f64,
    /// Timer.
    pub rto: VegasRto,
    /// Start of baseRTT.
    pub base_start: VegasBaseStart,
    /// Order of sample and decision.
    pub sample_order: VegasSampleOrder,
}

/// The slow-start threshold that a connection begins with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum InitialSsthresh {
    /// So many segments; infinite when unknown.
    Segments(f64),
    /// So many octets, whatever the segments (INET).
    Octets(u32),
    /// The ceiling of the window, at least 2 segments (ns-2).
    MaxWindow,
}

/// Segments, and the window that a connection begins with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowConfig {
    /// Maximum segment size announced and, options excluded, sent \[octets\].
    pub mss: u16,
    /// Initial congestion window \[segments\]; `None`: RFC 6928's min(10 MSS, max(2 MSS, 14600 B)).
    pub initial_window: Option<u32>,
    /// Initial slow-start threshold.
    pub initial_ssthresh: InitialSsthresh,
    /// Ceiling of the window \[segments\]; `None`: none.
    pub max_window: Option<u32>,
    /// The window counts whole segments only (ns-2), not octets.
    pub whole_segments: bool,
}

/// Buffers of the receiver and of the sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BufferConfig {
    /// Receive buffer \[octets\]: the largest window we offer.
    pub receive_buffer: u64,
    /// The receive buffer grows up to that, from `receive_buffer_start`.
    pub receive_tuning: bool,
    /// What the receive buffer starts from then \[octets\].
    pub receive_buffer_start: u64,
    /// Send buffer \[octets\]; `None`: unlimited, or as `send_tuning` has it.
    pub send_buffer: Option<u64>,
    /// Without `send_buffer`: a buffer in octets of memory that grows with the window.
    pub send_tuning: bool,
    /// What it starts from \[octets of memory\].
    pub send_buffer_start: u64,
    /// What it grows to \[octets of memory\].
    pub send_buffer_max: u64,
}

/// What the handshake offers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NegotiatedConfig {
    /// Offer timestamps (RFC 7323).
    pub timestamps: bool,
    /// Offer window scaling (RFC 7323).
    pub window_scaling: bool,
    /// Offer SACK (RFC 2018).
    pub sack: bool,
}

/// How lost segments are found and sent again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossConfig {
    /// SACK information at a timeout.
    pub sack_on_timeout: SackOnTimeout,
    /// Duplicate ACKs that mean loss.
    pub dup_threshold: u32,
    /// Limited transmit (RFC 3042).
    pub limited_transmit: bool,
    /// No second fast retransmit for one window of data (RFC 6582 section 3.2, ns-2 "bugfix").
    pub bugfix: bool,
    /// A fast retransmit restarts the retransmission timer.
    pub timer_on_fast_retransmit: bool,
    /// NewReno's timer at partial ACKs.
    pub timer_on_partial_ack: TimerOnPartialAck,
    /// A timeout ends NewReno's fast recovery (RFC 6582 section 3.2 step 6).
    pub rto_leaves_recovery: bool,
    /// The window when fast recovery without SACK ends.
    pub recovery_exit: RecoveryExit,
    /// How RACK's recovery finds losses.
    pub loss_detection: LossDetection,
    /// How RACK's recovery brings the window down.
    pub window_reduction: WindowReduction,
}

/// When small segments and ACKs leave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AckConfig {
    /// Nagle's algorithm (RFC 9293 section 3.7.4).
    pub nagle: bool,
    /// Full segments per ACK; 1: no delayed ACK.
    pub ack_every: u32,
    /// Segments acknowledged one by one at the start of a connection.
    pub quick_acks: u32,
    /// Report duplicates (RFC 2883).
    pub dsack: bool,
    /// Longest delay of an ACK.
    pub ack_delay: Duration,
}

/// Round-trip times, timers and their limits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimerConfig {
    /// RTT arithmetic.
    pub rtt_estimator: RttEstimator,
    /// RTT samples.
    pub rtt_sampling: RttSampling,
    /// G of RFC 6298, or the tick.
    pub clock_granularity: Duration,
    /// The clock of every timer but pacing's.
    pub kernel_clock: KernelClock,
    /// RTO before the first sample.
    pub initial_rto: Duration,
    /// Floor of the RTO.
    pub min_rto: Duration,
    /// Ceiling of the RTO.
    pub max_rto: Duration,
    /// Largest back-off factor.
    pub max_backoff: u32,
    /// Floor before or after the back-off.
    pub backoff_floor: BackoffFloor,
    /// Timeouts in a row before the connection is aborted; `None`: never.
    pub max_retries: Option<u32>,
    /// The same for the SYN.
    pub syn_retries: Option<u32>,
    /// Octets of filler on an active opener's SYN, which the peer does not take.
    pub syn_filler: u32,
    /// How long TIME-WAIT lasts.
    pub time_wait: Duration,
}

/// How the window grows, and how data is spaced out and read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GrowthConfig {
    /// Growth of the window.
    pub growth: Growth,
    /// L of RFC 3465 \[segments\]; `u32::MAX`: no limit.
    pub abc_limit: u32,
    /// FlightSize in ssthresh.
    pub ssthresh_basis: SsthreshBasis,
    /// The window grows only while it is what limits the sender.
    pub window_validation: bool,
    /// After an idle time of one RTO the window falls back to the initial one (RFC 5681 section
    /// 4.1).
    pub idle_restart: bool,
    /// Ceiling of the sending rate; `None`: not paced.
    pub max_pacing_rate: Option<Bitrate>,
    /// The application reads by itself with [`Endpoint::read`](crate::Endpoint::read).
    pub manual_read: bool,
    /// Data is spaced out.
    pub pacing: bool,
}

/// Explicit congestion notification.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EcnConfig {
    /// Explicit congestion notification.
    pub mode: EcnMode,
    /// When the AccECN option is sent.
    pub accecn_option: AccEcnOption,
    /// Data is sent with ECT(1) instead of ECT(0) (RFC 9331).
    pub l4s: bool,
    /// With `cubic.abe`: what is left of Reno's window after a mark.
    pub reno_abe_beta: f64,
}

/// What several algorithms share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReadingConfig {
    /// What ends slow start before a loss does, for the algorithms that ask.
    pub hystart: HyStartKind,
    /// Whose Hybla, LP, Scalable, Veno and YeAH.
    pub cc_reading: CcReading,
}

/// Westwood's parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WestwoodConfig {
    /// Whose Westwood.
    pub reading: WestwoodReading,
    /// Westwood's samples of zero length.
    pub zero_interval: ZeroInterval,
}

/// Hybla's parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HyblaConfig {
    /// The round trip whose growth Hybla imitates.
    pub rtt0: Duration,
}

/// Everything an [`Endpoint`](crate::Endpoint) needs to know, resolved and checked. The groups are
/// those of [`Options`](crate::Options).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// The profile the values started from.
    pub profile: Profile,
    /// Congestion control.
    pub cc: CcName,
    /// Loss recovery.
    pub recovery: RecoveryFlavour,
    /// Segments, and the window that a connection begins with.
    pub window: WindowConfig,
    /// Buffers of the receiver and of the sender.
    pub buffers: BufferConfig,
    /// What the handshake offers.
    pub negotiated: NegotiatedConfig,
    /// How lost segments are found and sent again.
    pub loss: LossConfig,
    /// When small segments and ACKs leave.
    pub acks: AckConfig,
    /// Round-trip times, timers and their limits.
    pub timers: TimerConfig,
    /// How the window grows, and how data is spaced out and read.
    pub growth: GrowthConfig,
    /// Vegas' parameters.
    pub vegas: VegasConfig,
    /// CUBIC's parameters.
    pub cubic: CubicConfig,
    /// Explicit congestion notification.
    pub ecn: EcnConfig,
    /// What several algorithms share.
    pub readings: ReadingConfig,
    /// Westwood's parameters.
    pub westwood: WestwoodConfig,
    /// Parameters of `radio-aware`.
    pub hint: HintConfig,
    /// Hybla's parameters.
    pub hybla: HyblaConfig,
    /// What the host around the connection does.
    pub host: Host,
}

impl Config {
    /// The sender is that of Linux: it cuts packets where its host does and paces as Linux does,
    /// whether or not the peer permits the SACKs by which RACK finds losses.
    pub(crate) const fn sends_as_linux(&self) -> bool {
        matches!(self.recovery, RecoveryFlavour::Rack)
    }

    /// The timers of the host's clock.
    pub(crate) const fn kernel_timers(&self) -> Timers {
        Timers::new(self.timers.kernel_clock, self.host.wheel).up_before(self.host.up_before)
    }

    /// The initial window for segments of `mss` octets \[segments\].
    pub fn initial_window_segments(&self, mss: u32) -> f64 {
        match self.window.initial_window {
            Some(n) => f64::from(n),
            // RFC 6928 section 2: min (10*MSS, max (2*MSS, 14600)).
            None => {
                let mss = u64::from(mss.max(1));
                ((10 * mss).min((2 * mss).max(14_600)) as f64) / mss as f64
            }
        }
    }

    /// The initial slow-start threshold \[segments\]; infinite when unknown.
    pub fn initial_ssthresh(&self) -> f64 {
        match self.window.initial_ssthresh {
            InitialSsthresh::Segments(n) => n,
            InitialSsthresh::Octets(n) => f64::from(n) / f64::from(self.window.mss),
            InitialSsthresh::MaxWindow => self.window_ceiling().max(2.0),
        }
    }

    /// L of RFC 3465 \[segments\]; infinite: no limit.
    pub fn abc_limit_segments(&self) -> f64 {
        if self.growth.abc_limit == u32::MAX { f64::INFINITY } else { f64::from(self.growth.abc_limit) }
    }

    /// The ceiling of the congestion window \[segments\].
    pub fn window_ceiling(&self) -> f64 {
        self.window.max_window.map_or(f64::INFINITY, f64::from)
    }
}
