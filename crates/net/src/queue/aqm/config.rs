//! Parameters of active queue managements, as a scenario writes them: with limits for a queue of a
//! link, without for a buffer that has limits of its own.

use lasthop_engine::{Draw, Purpose};
use lasthop_units::{Bytes, Duration, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Abc, Aqm, CoDel, Pi2, Pie, Red, Step};
use crate::queue::config::Site;

/// Declares the parameters of an AQM twice: alone, and with the limits of a queue.
macro_rules! aqm_parameters {
    (
        $(#[$doc:meta])* $params:ident, $(#[$queue_doc:meta])* $queue:ident, default packets $packets:literal,
        $($(#[$key_doc:meta])* $key:ident: $ty:ty = $value:expr,)*
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        pub struct $params {
            $($(#[$key_doc])* pub $key: $ty,)*
        }
        impl Default for $params {
            fn default() -> Self {
                $params { $($key: $value,)* }
            }
        }
        $(#[$queue_doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        pub struct $queue {
            #[doc = concat!("Most packets waiting. Without it and without `bytes`: ", $packets, ".")]
            pub packets: Option<u32>,
            /// Most bytes waiting. Without it: no limit.
            pub bytes: Option<Bytes>,
            $($(#[$key_doc])* pub $key: $ty,)*
        }
        impl Default for $queue {
            fn default() -> Self {
                $queue { packets: None, bytes: None, $($key: $value,)* }
            }
        }
        impl $queue {
            /// The parameters without the limits.
            pub const fn params(&self) -> $params {
                $params { $($key: self.$key,)* }
            }
        }
    };
}

aqm_parameters! {
    /// Parameters of RED.
    RedParams,
    /// A queue with RED.
    RedConfig, default packets "1000",
    /// Average length below which nothing is dropped or marked [packets], above 0.
    min_packets: f64 = 5.0,
    /// Average length from which everything is dropped or marked, or more steeply with `gentle`
    /// [packets]; at least `min_packets`.
    max_packets: f64 = 15.0,
    /// Weight of the newest length in the average, above 0 and at most 1.
    queue_weight: f64 = 0.002,
    /// Drop probability just below `max_packets`.
    max_p: Ratio = Ratio(0.02),
    /// Between `max_packets` and twice that the probability rises to 1 instead of jumping there
    /// (ns-2 `gentle_`).
    gentle: bool = false,
    /// Size of a typical packet: how fast the average falls while the queue is empty.
    mean_packet: Bytes = Bytes(1000),
    /// Mark ECN-capable packets instead of dropping them.
    ecn: bool = true,
    /// Drop ECN-capable packets too where everything is dropped or marked (Linux `harddrop`, ns-3
    /// `UseHardDrop`).
    harddrop: bool = false,
}

aqm_parameters! {
    /// Parameters of a step: the threshold is `threshold_packets` or `threshold_time`, not both.
    StepParams,
    /// A queue that marks at a step and drops only what does not fit.
    StepConfig, default packets "1000",
    /// Mark an ECN-capable packet that finds so many waiting when it arrives (DCTCP's K), from 1
    /// on. Without it and without `threshold_time`: 20.
    threshold_packets: Option<u32> = None,
    /// Mark an ECN-capable packet that has waited longer than this when it leaves, above 0 s.
    threshold_time: Option<Duration> = None,
}

aqm_parameters! {
    /// Parameters of CoDel.
    CodelParams,
    /// A queue with CoDel.
    CodelConfig, default packets "1000",
    /// Time that packets may wait in a queue that stands.
    target: Duration = Duration::from_millis(5),
    /// How long they must have waited longer before the first drop: about the longest round trip.
    interval: Duration = Duration::from_millis(100),
    /// Mark ECN-capable packets instead of dropping them.
    ecn: bool = true,
    /// Mark every ECN-capable packet that has waited longer than this (Linux `ce_threshold`).
    /// Without it: none.
    ce_threshold: Option<Duration> = None,
}

aqm_parameters! {
    /// Parameters of PIE.
    PieParams,
    /// A queue with PIE.
    PieConfig, default packets "1000",
    /// Queueing delay aimed at (QDELAY_REF).
    target: Duration = Duration::from_millis(15),
    /// Time between two updates of the probability (T_UPDATE), at least 100 us.
    update: Duration = Duration::from_millis(15),
    /// Gain of the delay's distance from the target [1/s].
    alpha: f64 = 0.125,
    /// Gain of the delay's change [1/s].
    beta: f64 = 1.25,
    /// Bursts up to this long pass (MAX_BURST).
    max_burst: Duration = Duration::from_millis(150),
    /// Mark ECN-capable packets instead of dropping them, up to `mark_limit`.
    ecn: bool = true,
    /// Drop probability from which ECN-capable packets are dropped too.
    mark_limit: Ratio = Ratio(0.1),
}

pub(crate) fn check_that(ok: bool, key: &'static str, problem: &str) -> Result<(), (&'static str, String)> {
    if ok { Ok(()) } else { Err((key, problem.to_owned())) }
}

pub(crate) fn check_positive(d: Duration, key: &'static str) -> Result<(), (&'static str, String)> {
    check_that(!d.is_zero(), key, "must be above 0 s")
}

/// All updates that are due are computed one after the other: with a shorter period a run would
/// hardly advance.
const SHORTEST_UPDATE: Duration = Duration::from_micros(100);

pub(crate) fn check_update(d: Duration) -> Result<(), (&'static str, String)> {
    check_that(d >= SHORTEST_UPDATE, "update", "must be at least 100 us")
}

pub(crate) fn check_gain(x: f64, key: &'static str) -> Result<(), (&'static str, String)> {
    check_that(x.is_finite() && x >= 0.0, key, "a gain is a number from 0 on")
}

impl RedParams {
    /// The first key that is wrong, and what is wrong with it.
    pub fn validate(&self) -> Result<(), (&'static str, String)> {
        let finite = self.min_packets.is_finite() && self.min_packets > 0.0;
        check_that(finite, "min_packets", "must be above 0 packets")?;
        let above = self.max_packets.is_finite() && self.max_packets >= self.min_packets;
        check_that(above, "max_packets", "must not be below `min_packets`")?;
        let weight = self.queue_weight > 0.0 && self.queue_weight <= 1.0;
        check_that(weight, "queue_weight", "must be above 0 and at most 1")
    }
}

impl StepParams {
    /// The first key that is wrong, and what is wrong with it.
    pub fn validate(&self) -> Result<(), (&'static str, String)> {
        let both = self.threshold_packets.is_some() && self.threshold_time.is_some();
        check_that(!both, "threshold_time", "and `threshold_packets` exclude each other: keep one")?;
        check_that(self.threshold_packets != Some(0), "threshold_packets", "must be above 0 packets")?;
        self.threshold_time.map_or(Ok(()), |t| check_positive(t, "threshold_time"))
    }
}

impl CodelParams {
    /// The first key that is wrong, and what is wrong with it.
    pub fn validate(&self) -> Result<(), (&'static str, String)> {
        check_positive(self.target, "target")?;
        check_positive(self.interval, "interval")
    }
}

impl PieParams {
    /// The first key that is wrong, and what is wrong with it.
    pub fn validate(&self) -> Result<(), (&'static str, String)> {
        check_positive(self.target, "target")?;
        check_update(self.update)?;
        check_gain(self.alpha, "alpha")?;
        check_gain(self.beta, "beta")
    }
}

/// Parameters of `pi2`: coupled marking of Classic and L4S packets in one queue. The defaults are
/// RFC 9332's for DualPI2.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Pi2Params {
    /// Queueing delay aimed at.
    pub target: Duration,
    /// Time between two updates of the base probability, at least 100 us.
    pub update: Duration,
    /// Gain of the delay's distance from the target [1/s].
    pub alpha: f64,
    /// Gain of the delay's change [1/s].
    pub beta: f64,
    /// Coupling factor k, at least 1: an L4S packet is marked with k times the base probability, a
    /// Classic one with its square.
    pub coupling: f64,
    /// Mark ECN-capable Classic packets instead of dropping them.
    pub ecn: bool,
}

impl Default for Pi2Params {
    fn default() -> Self {
        Pi2Params {
            target: Duration::from_millis(15),
            update: Duration::from_millis(16),
            alpha: 0.16,
            beta: 3.2,
            coupling: 2.0,
            ecn: true,
        }
    }
}

impl Pi2Params {
    /// The first key that is wrong, and what is wrong with it.
    pub fn validate(&self) -> Result<(), (&'static str, String)> {
        check_update(self.update)?;
        check_gain(self.alpha, "alpha")?;
        check_gain(self.beta, "beta")?;
        check_that(self.coupling.is_finite() && self.coupling >= 1.0, "coupling", "is a factor from 1 on")
    }
}

/// Parameters of `abc`: the router of Accel-Brake Control. Its rate is the scheduler's, so it is
/// for downlinks of cells and for bearers of constant rate; elsewhere it never brakes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AbcParams {
    /// eta: share of the link that is aimed at, above 0 and at most 1.
    pub utilisation: f64,
    /// delta: a queue beyond the threshold is to be gone after this time; above two thirds of the
    /// round trip it is stable.
    pub delta: Duration,
    /// d_t: a queueing delay up to this is let be.
    pub threshold: Duration,
    /// T: rates are averaged over this time.
    pub window: Duration,
}

impl Default for AbcParams {
    fn default() -> Self {
        AbcParams {
            utilisation: 0.98,
            delta: Duration::from_millis(133),
            threshold: Duration::from_millis(20),
            window: Duration::from_millis(40),
        }
    }
}

impl AbcParams {
    /// The first key that is wrong, and what is wrong with it.
    pub fn validate(&self) -> Result<(), (&'static str, String)> {
        let share = self.utilisation > 0.0 && self.utilisation <= 1.0;
        check_that(share, "utilisation", "must be above 0 and at most 1")?;
        check_positive(self.delta, "delta")?;
        check_positive(self.window, "window")
    }
}

/// An active queue management for a buffer that is one queue and has limits of its own, such as
/// that of an RLC entity.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AqmConfig {
    /// Random early detection by the average length.
    Red(RedParams),
    /// A mark from a threshold on (DCTCP).
    Step(StepParams),
    /// Controlled delay (RFC 8289).
    Codel(CodelParams),
    /// Proportional integral controller enhanced (RFC 8033).
    Pie(PieParams),
    /// Coupled marking of Classic and L4S packets (RFC 9332) in one queue.
    Pi2(Pi2Params),
    /// Accel-Brake Control (NSDI 2020).
    Abc(AbcParams),
}

impl AqmConfig {
    /// The first key that is wrong, and what is wrong with it.
    pub fn validate(&self) -> Result<(), (&'static str, String)> {
        match self {
            AqmConfig::Red(p) => p.validate(),
            AqmConfig::Step(p) => p.validate(),
            AqmConfig::Codel(p) => p.validate(),
            AqmConfig::Pie(p) => p.validate(),
            AqmConfig::Pi2(p) => p.validate(),
            AqmConfig::Abc(p) => p.validate(),
        }
    }

    /// It marks ECN-capable packets, at least those of L4S.
    pub const fn marks(&self) -> bool {
        match self {
            AqmConfig::Red(p) => p.ecn,
            AqmConfig::Codel(p) => p.ecn || p.ce_threshold.is_some(),
            AqmConfig::Pie(p) => p.ecn,
            AqmConfig::Step(_) | AqmConfig::Pi2(_) | AqmConfig::Abc(_) => true,
        }
    }

    /// It wants to be told the rate of its link.
    pub const fn wants_rate(&self) -> bool {
        matches!(self, AqmConfig::Abc(_))
    }
    /// The AQM, with draws of its own.
    pub fn build(&self, site: &Site) -> Aqm {
        let draw = Draw::new(site.seed, Purpose::Aqm, site.entity);
        match *self {
            AqmConfig::Red(p) => Aqm::Red(Red::new(p, draw, site.time_for(p.mean_packet))),
            AqmConfig::Step(p) => Aqm::Step(Step::new(p)),
            AqmConfig::Codel(p) => Aqm::CoDel(CoDel::new(p)),
            AqmConfig::Pie(p) => Aqm::Pie(Pie::new(p, draw)),
            AqmConfig::Pi2(p) => Aqm::Pi2(Pi2::new(p)),
            AqmConfig::Abc(p) => Aqm::Abc(Abc::new(p, site.rate)),
        }
    }
}
