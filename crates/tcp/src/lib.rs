//! A TCP endpoint with exchangeable congestion control, loss recovery, RTT and RTO, and ACK policy.
//!
//! Sans-IO: an [`Endpoint`] owns no clock, socket or bytes. It processes [`Segment`] descriptors
//! and lengths; the rules of time are in ARCHITECTURE.md. The order of calls is in the
//! documentation of [`Endpoint`].
//!
//! Intended simplifications: no urgent data, no path MTU discovery, no keep-alive, no TCP Fast
//! Open. A spurious timeout is undone with `recovery = rack` only; with others it is detected and
//! counted. Data segments carry SACK blocks only where they have unused octets. A segment without
//! timestamps is accepted on a connection that negotiated them. A reset in SYN-RECEIVED closes a
//! passive open instead of returning it to LISTEN: one endpoint serves one connection.

// First: their tables are macros, which the modules below them read.
#[macro_use]
pub mod cc;
#[macro_use]
mod parameters;

mod ack_linux;
mod ack_policy;
mod config;
mod endpoint;
mod flight;
pub mod hint;
mod host;
mod jiffies;
mod mutant;
mod name;
mod options;
pub mod profile;
mod reassembly;
pub mod recovery;
mod registry;
mod relay;
mod right_sizing;
mod rto;
mod rtt;
mod sample;
mod segment;
mod snoop;
mod state;
mod unused;
mod word;

pub use config::{
    AbeBeta, AccEcnOption, AckConfig, BackoffFloor, BufferConfig, CcReading, Config, CubicConfig,
    CubicReading, EcnConfig, EcnMode, Growth, GrowthConfig, HintConfig, HintRtt, HyStartKind, HyblaConfig,
    InitialSsthresh, LossConfig, LossDetection, NegotiatedConfig, ReadingConfig, RecoveryExit,
    RecoveryFlavour, RttEstimator, RttSampling, SackOnTimeout, SsthreshBasis, TimerConfig, TimerOnPartialAck,
    VegasBaseStart, VegasConfig, VegasReading, VegasRto, VegasSampleOrder, WestwoodConfig, WestwoodReading,
    WindowConfig, WindowReduction, ZeroInterval,
};
pub use endpoint::{CloseReason, Counters, Endpoint, Event, Info, Limit, OptionsInUse, WriteHint, observe};
pub use hint::{Guidance, Hint, Notice};
pub use host::{AckRule, Host, Offload, TimeWaitRule, WindowRule};
pub use jiffies::{KernelClock, Wheel};
pub use mutant::Mutant;
pub use name::{CcName, Profile};
pub use options::{
    AckOptions, BufferOptions, CubicOptions, EcnOptions, GrowthOptions, HintOptions, HyblaOptions,
    LossOptions, NegotiatedOptions, OptionError, Options, ReadingOptions, TimerOptions, VegasOptions,
    WestwoodOptions, WindowOptions,
};
pub use registry::{AlgorithmInfo, ProfileInfo, Registry, SettingInfo, registry, resolved, sender_variables};
pub use relay::Relay;
pub use sample::CaState;
pub use segment::{
    AccEcn, DecodeError, Decoded, Flags, Rare, RareOptions, SackBlocks, Segment, SynOptions, Timestamps,
    checksum_is_right,
};
pub use snoop::{Snoop, SnoopConfig, SnoopCounters, SnoopOut, Verdict};
pub use state::{Input, State, TRANSITIONS};
pub use unused::Unused;
