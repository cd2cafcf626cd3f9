//! The resolved values of an endpoint. [`Options`](crate::Options) is the form in a scenario;
//! [`profile`](crate::profile) has the source of each default.

use lasthop_units::{Bitrate, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::host::Host;
use crate::jiffies::{KernelClock, Timers};
use crate::mutant::Mutant;
use crate::name::{CcName, Profile};

/// How lost segments are found and sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RecoveryFlavour {
    /// Third duplicate ACK: back to one segment and slow start (4.3BSD-Tahoe).
    Tahoe,
    /// Fast recovery that ends with the first new ACK (RFC 5681 section 3.2; 4.3BSD-Reno).
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
    /// Gains of 1/8 and 1/4 per sample. RTTVAR is the largest mean deviation within a round trip,
    /// and not below the floor of the RTO.
    Linux,
    /// RFC 6298's gains at every sample, however many there are in a round trip (ns-3).
    PerSample,
    /// Both gains are 1/8; SRTT starts from 0, and RTTVAR from a quarter of the first timeout
    /// (INET).
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

/// Which partial ACKs restart the retransmission timer in NewReno's recovery (RFC 6582 section 3.2
/// step 3, RFC 3782 section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TimerOnPartialAck {
    /// The first one: the Impatient variant, which RFC 6582 section 3.2 step 3 describes.
    FirstOnly,
    /// Each: the Slow-but-Steady variant.
    Every,
}

/// The window of NewReno or Reno when fast recovery ends.
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
    /// By count: a segment that is `dup_threshold` segments below the highest SACKed one is lost
    /// (forward acknowledgement, Mathis and Mahdavi 1996; Linux up to 4.15).
    Fack,
}

/// How `recovery = "rack"` reduces the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WindowReduction {
    /// Proportional rate reduction (RFC 9937).
    Prr,
    /// One segment less for every second ACK (Linux up to 3.1). The F-RTO of those kernels belongs
    /// to it: a timeout marks nothing as lost before two ACKs have shown whether it was spurious,
    /// and a spurious timeout reduces the window to ssthresh.
    RateHalving,
}

/// What a retransmission timeout does to SACK information.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SackOnTimeout {
    /// Kept, unless the receiver has reneged (RFC 6675 section 5.1).
    Keep,
    /// Discarded (RFC 2018 section 8).
    Clear,
}

/// Vegas' coarse or fine retransmission timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VegasRto {
    /// The ordinary RTO; the fine-grained timeout is only checked on duplicate ACKs (ns-2).
    Coarse,
    /// The fine-grained timeout is the timer, without minimum or ticks, doubled by each expiry.
    Fine,
}

/// What Vegas' baseRTT starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VegasBaseStart {
    /// The absolute clock at the first ACK, as in ns-2: right only for a flow that starts at time
    /// 0, and corrected by the decision at that same ACK, because one packet was in transit.
    Clock,
    /// The first round trip measured.
    Sample,
}

/// Whether the RTT sample of the ACK at which Vegas decides (once per round) is counted before or
/// after the decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VegasSampleOrder {
    /// After the decision, in the round that begins.
    AfterDecision,
    /// Before the decision, in the round that ends.
    BeforeDecision,
}

/// The implementation of Vegas.
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

/// The implementation of CUBIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CubicReading {
    /// The standard.
    Rfc9438,
    /// Linux: whole segments, computed at most every 1/32 s.
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
    /// HyStart as ns-3 has it (TcpCubic): the delay must grow by the whole smallest round trip,
    /// limited to 4 ms to 1 s, and a train of ACKs must be longer than the smallest round trip.
    Ns3,
    /// HyStart++ (RFC 9406).
    Rfc9406,
}

/// The reading of an algorithm without a standard (Hybla, LP, Scalable, Veno, YeAH).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CcReading {
    /// The paper's.
    Paper,
    /// Linux' module, its arithmetic and its deviations from the paper included.
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
    /// Requests it and accepts it (`tcp_ecn = 1`).
    On,
    /// Accepts it when the peer requests it (`tcp_ecn = 2`, Linux' default).
    Passive,
    /// Requests accurate feedback (RFC 9768), and falls back to RFC 3168 (`tcp_ecn = 3`).
    Accurate,
    /// Requests RFC 3168 and accepts accurate feedback too (`tcp_ecn = 4`).
    AccurateIn,
    /// Requests nothing and accepts accurate feedback too (`tcp_ecn = 5`).
    AccuratePassive,
}

impl EcnMode {
    /// A SYN requests ECN.
    pub const fn requests(self) -> bool {
        matches!(self, EcnMode::On | EcnMode::Accurate | EcnMode::AccurateIn)
    }
    /// A SYN that requests accurate feedback is granted it.
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

/// The implementation of Westwood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WestwoodReading {
    /// The papers', as INET has it.
    Paper,
    /// Linux' module: Westwood+ that sets the window at the end of recovery.
    Linux,
    /// ns-3 3.28: the rate is the octets of one ACK over a whole round trip, so that the window
    /// after a loss is two segments.
    Ns3,
}

/// How Westwood counts two ACKs at the same instant.
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

/// The slow-start threshold that a connection begins with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum InitialSsthresh {
    /// So many segments; infinite when unknown.
    Segments(f64),
    /// A number of octets, independent of the segment size (INET).
    Octets(u32),
    /// The ceiling of the window, at least 2 segments (ns-2).
    MaxWindow,
}

/// The factor of the window after a mark with `abe` (RFC 8511).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AbeBeta {
    /// Of Reno's.
    pub reno: f64,
    /// Of CUBIC's.
    pub cubic: f64,
}

/// The struct of a group: a field for each row that has one, with the row's text.
macro_rules! group {
    ({$($made:tt)*} $(#[$group_doc:meta])* $Group:ident {}) => {
        $(#[$group_doc])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $Group {
            $($made)*
        }
    };
    ({$($made:tt)*} $(#[$group_doc:meta])* $Group:ident {
        $(#[$doc:meta])*
        $key:ident: $_type:ty, $_kind:ident $(($($_args:tt)*))? $(or $none:literal)?
            => $field:ident: $Field:ty = $_rfc:expr, $_source:expr;
        $($rows:tt)*
    }) => {
        group! {
            {
                $($made)*
                $(#[$doc])*
                #[doc = concat!("\n\nThe key `", stringify!($key), "`." $(, " `None`: ", $none, ".")?)]
                pub $field: $Field,
            }
            $(#[$group_doc])* $Group { $($rows)* }
        }
    };
    ({$($made:tt)*} $(#[$group_doc:meta])* $Group:ident {
        $(#[$_doc:meta])*
        $_key:ident: $_type:ty, $_kind:ident $(($($_args:tt)*))? $(at $($_place:ident).+)?, $_source:expr;
        $($rows:tt)*
    }) => {
        group! { {$($made)*} $(#[$group_doc])* $Group { $($rows)* } }
    };
}

macro_rules! groups {
    (
        {$(
            $(#[$_head_doc:meta])* $_head:ident: $_head_type:ty
                $(=> $head_field:ident: $HeadField:ty = $_head_rfc:expr, $_head_source:expr)?;
        )*}
        $($(#[$group_doc:meta])* $group:ident: $_Options:ident, $Group:ident $(of $_controls:ident)? { $($rows:tt)* })*
    ) => {
        $(group! { {} $(#[$group_doc])* $Group { $($rows)* } })*

        /// Everything an [`Endpoint`](crate::Endpoint) needs, resolved and checked. The
        /// groups are those of [`Options`](crate::Options).
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct Config {
            /// The profile the values started from.
            pub profile: Profile,
            $($(
                #[doc = concat!("The key `", stringify!($head_field), "`.")]
                pub $head_field: $HeadField,
            )?)*
            $($(#[$group_doc])* pub $group: $Group,)*
            /// The properties of the host around the connection.
            pub host: Host,
        }
    };
}
parameters!(groups);

impl GrowthConfig {
    /// The application has octets as soon as they are in order.
    #[inline(always)]
    pub const fn reads_at_once(&self) -> bool {
        !(self.manual_read | self.burst_read)
    }
    /// It has them once all segments of the instant have arrived.
    #[inline(always)]
    pub const fn reads_bursts(&self) -> bool {
        self.burst_read & !self.manual_read
    }
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
        self.growth.abc_limit.map_or(f64::INFINITY, f64::from)
    }

    /// The ceiling of the congestion window \[segments\].
    pub fn window_ceiling(&self) -> f64 {
        self.window.max_window.map_or(f64::INFINITY, f64::from)
    }
}
