//! Active queue management: one decision about a packet that arrives, one about a packet that
//! leaves.
//!
//! An [`Aqm`] holds no packet. Its owner (a [`Queue`](crate::Queue), a flow queue of FQ-CoDel,
//! the transmission buffer of an RLC entity) calls [`Aqm::arrives`] before it takes a packet in and
//! [`Aqm::leaves`] when it has taken one out, in order of time, and carries out the [`Verdict`].
//! After a verdict of drop it takes the next packet out and calls [`Aqm::leaves`] again. An AQM
//! owns no timer: missed periodic updates are made at the next call.
//!
//! One file per AQM, with its parameters (`Parameters`) and its decisions (`Management`); the list
//! `aqms!` below names them all. An AQM that may also be in front of a link has a `ManagedKind` and
//! an entry in the list of queues too.

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
        impl crate::queue::aqm::Limited for $queue {
            type Params = $params;
            fn params(&self) -> $params {
                self.params()
            }
            fn limits(&self) -> (Option<u32>, Option<Bytes>) {
                (self.packets, self.bytes)
            }
        }
    };
}

mod abc;
mod codel;
pub(super) mod coupled;
mod pie;
mod red;
mod step;

pub use abc::{Abc, AbcParams};
pub use codel::{CoDel, CodelConfig, CodelParams, control_law};
pub use coupled::{Pi2, Pi2Params};
pub use pie::{Pie, PieConfig, PieParams, scaled};
pub use red::{Red, RedConfig, RedParams};
pub use step::{Step, StepConfig, StepParams};

use lasthop_units::{Bitrate, Bytes, Ecn, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kind::{Site, Wrong};
use crate::registry::Entry;

/// The properties of a packet that an AQM uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sight {
    /// Its size [bytes].
    pub size: u32,
    /// Its ECN codepoint.
    pub ecn: Ecn,
}

/// How much waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

/// The decision on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It passes.
    Pass,
    /// It passes with congestion experienced; only for packets that are ECN-capable.
    Mark,
    /// It is dropped.
    Drop,
}

impl Verdict {
    /// Congestion is to be signalled: by a mark where that is allowed and understood, else by a
    /// drop.
    #[inline]
    pub(crate) const fn signal(marks: bool, packet: Sight) -> Verdict {
        if marks && packet.ecn.is_capable() { Verdict::Mark } else { Verdict::Drop }
    }
}

/// The parameters of an AQM.
pub(super) trait Parameters {
    /// The running AQM.
    type Run: Management;

    /// The first key that is wrong, and the reason.
    fn validate(&self) -> Result<(), Wrong>;
    /// It marks ECN-capable packets, at least those of L4S.
    fn marks(&self) -> bool {
        true
    }
    /// It needs the rate of its link.
    fn needs_rate(&self) -> bool {
        false
    }
    /// The AQM, with draws of its own.
    fn build(&self, site: &Site) -> Self::Run;
}

/// The parameters of an AQM with the limits of a queue.
pub(super) trait Limited {
    /// Those of the AQM.
    type Params: Parameters;
    fn params(&self) -> Self::Params;
    /// Most packets and bytes waiting.
    fn limits(&self) -> (Option<u32>, Option<Bytes>);
}

/// A kind of queue that is one FIFO under an AQM.
pub(super) trait ManagedKind: Limited {
    /// Its row of [`QUEUES`](super::QUEUES).
    const ENTRY: Entry;
    /// As [`QueueKind::never_marks`](super::kind::QueueKind::never_marks).
    fn never_marks(&self, _fit: u32) -> Option<(&'static str, String)> {
        None
    }
}

/// A running AQM.
pub(super) trait Management {
    /// `packet` has arrived behind `ahead`.
    #[inline]
    fn arrives(&mut self, _now: Instant, _packet: Sight, _ahead: Backlog) -> Verdict {
        Verdict::Pass
    }
    /// `packet`, here since `since`, has been taken out; `behind` stays.
    fn leaves(&mut self, now: Instant, packet: Sight, since: Instant, behind: Backlog) -> Verdict;
    /// What the link would carry for this queue at `now`.
    #[inline]
    fn set_rate(&mut self, _now: Instant, _rate: Bitrate) {}
}

macro_rules! aqms {
    ($($(#[$doc:meta])* $Name:ident $module:ident::$Params:ident => $Run:ident;)*) => {
        /// An active queue management for a buffer that is one queue and has limits of its own,
        /// such as that of an RLC entity.
        #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "kebab-case")]
        pub enum AqmConfig {
            $($(#[$doc])* $Name($module::$Params),)*
        }

        impl AqmConfig {
            /// The first wrong key, and a description of the mistake.
            pub fn validate(&self) -> Result<(), (&'static str, String)> {
                match self {
                    $(AqmConfig::$Name(p) => p.validate(),)*
                }
            }
            /// It marks ECN-capable packets, at least those of L4S.
            pub fn marks(&self) -> bool {
                match self {
                    $(AqmConfig::$Name(p) => p.marks(),)*
                }
            }
            /// It needs the rate of its link.
            pub fn needs_rate(&self) -> bool {
                match self {
                    $(AqmConfig::$Name(p) => p.needs_rate(),)*
                }
            }
            /// The AQM, with draws of its own.
            pub fn build(&self, site: &Site) -> Aqm {
                match self {
                    $(AqmConfig::$Name(p) => Aqm::$Name(p.build(site)),)*
                }
            }
        }

        /// An active queue management for one queue, first in first out.
        #[derive(Clone, Debug)]
        pub enum Aqm {
            $($(#[$doc])* $Name($module::$Run),)*
        }

        impl Aqm {
            /// `packet` has arrived behind `ahead`.
            #[inline]
            pub fn arrives(&mut self, now: Instant, packet: Sight, ahead: Backlog) -> Verdict {
                match self {
                    $(Aqm::$Name(a) => Management::arrives(a, now, packet, ahead),)*
                }
            }
            /// `packet`, here since `since`, has been taken out; `behind` stays.
            #[inline]
            pub fn leaves(
                &mut self,
                now: Instant,
                packet: Sight,
                since: Instant,
                behind: Backlog,
            ) -> Verdict {
                match self {
                    $(Aqm::$Name(a) => Management::leaves(a, now, packet, since, behind),)*
                }
            }
            /// Sets the rate that the link would carry for this queue at `now`, for AQMs that use
            /// it.
            #[inline]
            pub fn set_rate(&mut self, now: Instant, rate: Bitrate) {
                match self {
                    $(Aqm::$Name(a) => Management::set_rate(a, now, rate),)*
                }
            }
        }

        $(impl From<$module::$Run> for Aqm {
            fn from(aqm: $module::$Run) -> Aqm {
                Aqm::$Name(aqm)
            }
        })*
    };
}

aqms! {
    /// Random early detection by the average length.
    Red red::RedParams => Red;
    /// A mark from a threshold on (DCTCP).
    Step step::StepParams => Step;
    /// Controlled delay (RFC 8289).
    Codel codel::CodelParams => CoDel;
    /// Proportional integral controller enhanced (RFC 8033).
    Pie pie::PieParams => Pie;
    /// Coupled marking of Classic and L4S packets (RFC 9332) in one queue.
    Pi2 coupled::Pi2Params => Pi2;
    /// Accel-Brake Control (NSDI 2020).
    Abc abc::AbcParams => Abc;
}
