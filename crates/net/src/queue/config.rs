//! The notation of queues in a scenario, and the table of all kinds: both are derived from the
//! list.

use std::str::FromStr;

use lasthop_units::Instant;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kind::{Discipline, QueueKind, Site};
use super::*;
use crate::registry::{Entry, UnknownName, find};
use crate::{Dropped, Item};

macro_rules! queues {
    ($($(#[$doc:meta])* $Name:ident $word:literal $module:ident::$Config:ident $(=> $Policy:ident($ty:ty))?;)*) => {
        /// A queue in front of a link.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "kebab-case")]
        pub enum QueueConfig {
            $($(#[$doc])* $Name($module::$Config),)*
        }

        /// Every kind of queue: name, summary, source, parameters. Names, errors, listings and the
        /// documentation come from here.
        pub const QUEUES: &[Entry] = &[$(<$module::$Config as QueueKind>::ENTRY),*];

        /// The kind `name` of [`QUEUES`] with its default parameters.
        impl FromStr for QueueConfig {
            type Err = UnknownName;
            fn from_str(name: &str) -> Result<Self, UnknownName> {
                Ok(match find("queue", QUEUES, name)?.name {
                    $($word => QueueConfig::$Name(Default::default()),)*
                    _ => QueueConfig::default(),
                })
            }
        }

        impl QueueConfig {
            /// The name in [`QUEUES`].
            pub const fn name(&self) -> &'static str {
                match self {
                    $(QueueConfig::$Name(_) => $word,)*
                }
            }
            /// The first mistake that the types do not exclude: the key and a description.
            pub fn validate(&self) -> Result<(), (&'static str, String)> {
                match self {
                    $(QueueConfig::$Name(c) => c.validate(),)*
                }
            }
            /// The limit that this configuration sets.
            pub fn limit(&self) -> Limit {
                match self {
                    $(QueueConfig::$Name(c) => c.limit(),)*
                }
            }
            /// It marks ECN-capable packets, at least those of L4S.
            pub fn marks(&self) -> bool {
                match self {
                    $(QueueConfig::$Name(c) => QueueKind::marks(c),)*
                }
            }
            /// True if it drops when it is full, by the arrival time alone: among periodic flows
            /// their phase decides which one loses.
            pub fn has_phase_effects(&self) -> bool {
                match self {
                    $(QueueConfig::$Name(c) => QueueKind::has_phase_effects(c),)*
                }
            }
            /// The key and the cause if a queue that should mark never does, or if a key has no
            /// effect. An arriving packet finds fewer packets waiting than fit.
            pub fn never_marks(&self) -> Option<(&'static str, String)> {
                let fit = self.limit().packets?;
                match self {
                    $(QueueConfig::$Name(c) => QueueKind::never_marks(c, fit),)*
                }
            }
            /// The queue, at `site`.
            pub fn build(&self, site: &Site) -> Queue {
                Queue::of(match self {
                    $(QueueConfig::$Name(c) => c.build(site).into(),)*
                })
            }
        }

        /// The state of the running queues of different kinds.
        #[derive(Clone, Debug)]
        pub(super) enum Policy {
            $($($Policy($ty),)?)*
        }

        $($(impl From<$ty> for Policy {
            fn from(queue: $ty) -> Policy {
                Policy::$Policy(queue)
            }
        })?)*

        #[deny(clippy::missing_trait_methods)]
        impl Discipline for Policy {
            #[inline]
            fn enqueue(&mut self, now: Instant, item: Item, drops: &mut Vec<Dropped>, marked: &mut u64) {
                match self {
                    $($(Policy::$Policy(q) => q.enqueue(now, item, drops, marked),)?)*
                }
            }
            #[inline]
            fn dequeue(&mut self, now: Instant, drops: &mut Vec<Dropped>, marked: &mut u64) -> Option<Item> {
                match self {
                    $($(Policy::$Policy(q) => q.dequeue(now, drops, marked),)?)*
                }
            }
            #[inline]
            fn packets(&self) -> usize {
                match self {
                    $($(Policy::$Policy(q) => q.packets(),)?)*
                }
            }
            fn bytes(&self) -> u64 {
                match self {
                    $($(Policy::$Policy(q) => q.bytes(),)?)*
                }
            }
            fn limit(&self) -> Limit {
                match self {
                    $($(Policy::$Policy(q) => q.limit(),)?)*
                }
            }
            fn set_limit(&mut self, limit: Limit) {
                match self {
                    $($(Policy::$Policy(q) => q.set_limit(limit),)?)*
                }
            }
            #[inline]
            fn may_be_bypassed(&self) -> bool {
                match self {
                    $($(Policy::$Policy(q) => q.may_be_bypassed(),)?)*
                }
            }
            #[inline]
            fn found_empty(&mut self) {
                match self {
                    $($(Policy::$Policy(q) => q.found_empty(),)?)*
                }
            }
            fn only_delays(&self) -> bool {
                match self {
                    $($(Policy::$Policy(q) => q.only_delays(),)?)*
                }
            }
        }
    };
}
built_in_queues!(queues);

impl Default for QueueConfig {
    fn default() -> Self {
        QueueConfig::Droptail(DropTailConfig::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        CodelConfig, DropTailConfig, DualPi2Config, FqCodelConfig, PieConfig, RedConfig, StepConfig,
    };
    use lasthop_units::{Bytes, Duration};

    #[test]
    fn every_name_of_the_table_is_read_back_as_itself() {
        for entry in QUEUES {
            assert_eq!(entry.name.parse::<QueueConfig>().unwrap().name(), entry.name);
        }
        let wrong = "drptail".parse::<QueueConfig>().unwrap_err().to_string();
        let known = QUEUES.iter().map(|e| e.name).collect::<Vec<_>>().join(", ");
        assert_eq!(wrong, format!("there is no queue `drptail` (known: {known})"));
    }

    #[test]
    fn without_any_limit_a_thousand_packets_wait() {
        assert_eq!(QueueConfig::default().limit(), Limit { packets: Some(1000), bytes: None });
        let bytes = QueueConfig::Droptail(DropTailConfig { packets: None, bytes: Some(Bytes(10_240)) });
        assert_eq!(bytes.limit(), Limit { packets: None, bytes: Some(10_240) });
        assert_eq!("infinite".parse::<QueueConfig>().unwrap().limit(), Limit::default());
    }

    /// The registry has the defaults; the schema's types have them too. They must agree key by key.
    /// by key.
    #[test]
    fn the_table_lists_every_key_with_its_default() {
        for entry in QUEUES {
            let config: QueueConfig = entry.name.parse().unwrap();
            let json = serde_json::to_value(&config).unwrap();
            let mut keys: Vec<&String> = json[entry.name].as_object().unwrap().keys().collect();
            keys.sort_unstable();
            let mut listed: Vec<&str> = entry.parameters.iter().map(|p| p.name).collect();
            listed.sort_unstable();
            assert_eq!(keys, listed, "{}", entry.name);
            for p in entry.parameters {
                let value = &json[entry.name][p.name];
                let said = match value.as_str() {
                    Some(text) => text.to_owned(),
                    None => value.to_string().trim_end_matches(".0").to_owned(),
                };
                assert!(value.is_null() || said == p.default, "{} {}: {said}", entry.name, p.name);
            }
        }
    }

    #[test]
    fn nonsense_is_refused_by_key() {
        let wrong = |c: QueueConfig| c.validate().unwrap_err().0;
        assert_eq!(
            wrong(QueueConfig::Red(RedConfig { max_packets: 4.9, ..RedConfig::default() })),
            "max_packets"
        );
        let both = (Some(20), Some(Duration::from_millis(1)));
        let both = StepConfig { threshold_packets: both.0, threshold_time: both.1, ..StepConfig::default() };
        assert_eq!(wrong(QueueConfig::Step(both)), "threshold_time");
        let zero = CodelConfig { target: Duration::ZERO, ..CodelConfig::default() };
        assert_eq!(wrong(QueueConfig::Codel(zero)), "target");
        assert_eq!(
            wrong(QueueConfig::FqCodel(FqCodelConfig { flows: 0, ..FqCodelConfig::default() })),
            "flows"
        );
        assert_eq!(wrong(QueueConfig::Pie(PieConfig { beta: f64::NAN, ..PieConfig::default() })), "beta");
        let none = DualPi2Config { coupling: 0.5, ..DualPi2Config::default() };
        assert_eq!(wrong(QueueConfig::Dualpi2(none)), "coupling");
    }
}
