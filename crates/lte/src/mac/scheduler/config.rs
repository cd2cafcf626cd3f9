//! How a scenario writes a scheduler, and the table of all.

use std::fmt;
use std::str::FromStr;

use lasthop_engine::own::is_name;
use lasthop_net::{Entry, Parameter, UnknownName};
use lasthop_units::Bitrate;
use schemars::JsonSchema;
use serde::de::{DeserializeSeed, EnumAccess, VariantAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{
    Absent, FrequencyEqualThroughput, FrequencyMaxRate, OwnScheduler, PrioritySet, ProportionalFair,
    QosAware, RoundRobin, Scheduler, ThroughputToAverage, TimeEqualThroughput, TimeMaxRate,
};
use crate::phy::TTI;

/// Who is served first.
#[derive(Clone, Debug, PartialEq, JsonSchema)]
#[schemars(rename_all = "kebab-case")]
pub enum SchedulerConfig {
    /// Equal shares of the band by turns, whatever the channel.
    RoundRobin(NoParameters),
    /// Rate on each group of blocks over the average served.
    ProportionalFair(NoParameters),
    /// The whole band to the best channel.
    Tdmt(NoParameters),
    /// Each group of blocks to the best channel on it.
    Fdmt(NoParameters),
    /// The whole band to who was served least.
    TdBet(NoParameters),
    /// Each group of blocks to who was served least.
    FdBet(NoParameters),
    /// Rate on each group of blocks over the rate on the whole band.
    Tta(NoParameters),
    /// A few UEs at a time, those below their target rate first.
    PrioritySet(PrioritySetConfig),
    /// By delay budget and guaranteed rate of the class, proportional fair for the rest.
    QosAware(NoParameters),
    /// One of the caller's own, by the name it was registered under.
    #[schemars(skip)]
    Own(OwnScheduler),
}

/// No parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NoParameters {}

/// Parameters of the priority set scheduler.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PrioritySetConfig {
    /// UEs that share the band in a TTI; 0: half of those with data.
    pub multiplexed: u32,
    /// Target of UEs without a guaranteed bit rate; 0 bit/s: none.
    pub target: Bitrate,
}

/// Every scheduler: name, what it does, where it comes from, parameters.
pub const SCHEDULERS: &[Entry] = &[
    entry("round-robin", "equal shares of the band by turns, whatever the channel", "ns-3 RrFfMacScheduler"),
    entry(
        "proportional-fair",
        "rate on each group of blocks over the average served",
        "A. Jalali, R. Padovani, R. Pankaj, \"Data throughput of CDMA-HDR\", VTC Spring 2000; ns-3 PfFfMacScheduler",
    ),
    entry("tdmt", "the whole band to the best channel (maximum C/I)", "ns-3 TdMtFfMacScheduler"),
    entry("fdmt", "each group of blocks to the best channel on it (maximum C/I)", "ns-3 FdMtFfMacScheduler"),
    entry("td-bet", "the whole band to who was served least", CAPOZZI),
    entry("fd-bet", "each group of blocks to who was served least, at once", CAPOZZI),
    entry("tta", "rate on each group of blocks over the rate on the whole band", CAPOZZI),
    Entry {
        name: "priority-set",
        summary: "a few UEs at a time, those below their target rate first",
        source: "G. Monghal, K. Pedersen, I. Kovacs, P. Mogensen, VTC Spring 2008; ns-3 PssFfMacScheduler",
        parameters: &[
            Parameter {
                name: "multiplexed",
                default: "0",
                summary: "UEs that share the band in a TTI; 0: half of those with data",
            },
            Parameter {
                name: "target",
                default: "0 bit/s",
                summary: "target of UEs without a guaranteed bit rate [bit/s]",
            },
        ],
    },
    entry(
        "qos-aware",
        "largest weighted delay first by class, guaranteed rates, proportional fair for the rest",
        "M. Andrews and others, IEEE Communications Magazine 39(2), 2001; TS 23.203 table 6.1.7",
    ),
];

const CAPOZZI: &str = "F. Capozzi and others, \"Downlink packet scheduling in LTE cellular networks\", IEEE \
                       Communications Surveys and Tutorials 15(2), 2013";

const fn entry(name: &'static str, summary: &'static str, source: &'static str) -> Entry {
    Entry { name, summary, source, parameters: &[] }
}

impl Default for SchedulerConfig {
    fn default() -> Self {
        SchedulerConfig::ProportionalFair(NoParameters {})
    }
}

/// The scheduler `name` of [`SCHEDULERS`] with its default parameters.
impl FromStr for SchedulerConfig {
    type Err = UnknownName;
    fn from_str(name: &str) -> Result<Self, UnknownName> {
        Ok(match name {
            "round-robin" => SchedulerConfig::RoundRobin(NoParameters {}),
            "proportional-fair" => SchedulerConfig::ProportionalFair(NoParameters {}),
            "tdmt" => SchedulerConfig::Tdmt(NoParameters {}),
            "fdmt" => SchedulerConfig::Fdmt(NoParameters {}),
            "td-bet" => SchedulerConfig::TdBet(NoParameters {}),
            "fd-bet" => SchedulerConfig::FdBet(NoParameters {}),
            "tta" => SchedulerConfig::Tta(NoParameters {}),
            "priority-set" => SchedulerConfig::PrioritySet(PrioritySetConfig::default()),
            "qos-aware" => SchedulerConfig::QosAware(NoParameters {}),
            _ => {
                let known = SCHEDULERS.iter().map(|e| e.name).collect::<Vec<_>>().join(", ");
                return Err(UnknownName { what: "scheduler", name: name.to_owned(), known });
            }
        })
    }
}

impl SchedulerConfig {
    /// The name in [`SCHEDULERS`].
    pub fn name(&self) -> &str {
        match self {
            SchedulerConfig::RoundRobin(_) => "round-robin",
            SchedulerConfig::ProportionalFair(_) => "proportional-fair",
            SchedulerConfig::Tdmt(_) => "tdmt",
            SchedulerConfig::Fdmt(_) => "fdmt",
            SchedulerConfig::TdBet(_) => "td-bet",
            SchedulerConfig::FdBet(_) => "fd-bet",
            SchedulerConfig::Tta(_) => "tta",
            SchedulerConfig::PrioritySet(_) => "priority-set",
            SchedulerConfig::QosAware(_) => "qos-aware",
            SchedulerConfig::Own(own) => &own.name,
        }
    }

    /// The scheduler `name` with its default parameters: built in, or else one of the caller's own.
    /// None: no name.
    pub fn named(name: &str) -> Option<SchedulerConfig> {
        let own = || SchedulerConfig::Own(OwnScheduler { name: name.to_owned(), ..OwnScheduler::default() });
        name.parse().ok().or_else(|| is_name(name).then(own))
    }

    /// The policy, if it is built in. One of the caller's own is made by
    /// [`Schedulers::build`](super::Schedulers::build); until it is put in place, nobody is
    /// served.
    pub fn build(&self) -> Scheduler {
        match self {
            SchedulerConfig::RoundRobin(_) => Scheduler::RoundRobin(RoundRobin),
            SchedulerConfig::ProportionalFair(_) => Scheduler::ProportionalFair(ProportionalFair),
            SchedulerConfig::Tdmt(_) => Scheduler::TimeMaxRate(TimeMaxRate),
            SchedulerConfig::Fdmt(_) => Scheduler::FrequencyMaxRate(FrequencyMaxRate),
            SchedulerConfig::TdBet(_) => Scheduler::TimeEqualThroughput(TimeEqualThroughput),
            SchedulerConfig::FdBet(_) => Scheduler::FrequencyEqualThroughput(FrequencyEqualThroughput),
            SchedulerConfig::Tta(_) => Scheduler::ThroughputToAverage(ThroughputToAverage),
            SchedulerConfig::PrioritySet(c) => {
                let per_tti = c.target.0 as f64 * TTI.as_secs_f64();
                Scheduler::PrioritySet(PrioritySet::new(c.multiplexed as usize, per_tti))
            }
            SchedulerConfig::QosAware(_) => Scheduler::QosAware(QosAware),
            SchedulerConfig::Own(_) => Scheduler::Custom(Box::new(Absent)),
        }
    }
}

/// The built-in names, for the messages of a deserializer.
const NAMES: &[&str] = &{
    let mut names = [""; SCHEDULERS.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = SCHEDULERS[i].name;
        i += 1;
    }
    names
};

/// As serde would derive it; one of the caller's own as a table with its `kind`.
impl Serialize for SchedulerConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const NAME: &str = "SchedulerConfig";
        let row = SCHEDULERS.iter().position(|e| e.name == self.name()).unwrap_or_default();
        let (index, name) = (row as u32, SCHEDULERS[row].name);
        match self {
            SchedulerConfig::PrioritySet(c) => serializer.serialize_newtype_variant(NAME, index, name, c),
            SchedulerConfig::Own(own) if own.parameters.is_empty() => serializer.serialize_str(&own.name),
            SchedulerConfig::Own(own) => {
                let mut map = serializer.serialize_map(Some(own.parameters.len() + 1))?;
                map.serialize_entry("kind", &own.name)?;
                for (name, value) in &own.parameters {
                    map.serialize_entry(name, value)?;
                }
                map.end()
            }
            _ => serializer.serialize_newtype_variant(NAME, index, name, &NoParameters {}),
        }
    }
}

/// An enum to the deserializer, as every other one; only that a word which is no built-in name is
/// kept, for [`Schedulers`](super::Schedulers) to look up.
impl<'de> Deserialize<'de> for SchedulerConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<SchedulerConfig, D::Error> {
        deserializer.deserialize_enum("SchedulerConfig", NAMES, Word)
    }
}

struct Word;

impl<'de> DeserializeSeed<'de> for Word {
    type Value = SchedulerConfig;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<SchedulerConfig, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Word {
    type Value = SchedulerConfig;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a scheduler")
    }
    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<SchedulerConfig, E> {
        SchedulerConfig::named(name).ok_or_else(|| E::unknown_variant(name, NAMES))
    }
    fn visit_enum<A: EnumAccess<'de>>(self, access: A) -> Result<SchedulerConfig, A::Error> {
        let (config, rest) = access.variant_seed(Word)?;
        Ok(match config {
            SchedulerConfig::PrioritySet(_) => SchedulerConfig::PrioritySet(rest.newtype_variant()?),
            SchedulerConfig::Own(own) => {
                SchedulerConfig::Own(OwnScheduler { parameters: rest.newtype_variant()?, ..own })
            }
            built_in => {
                rest.newtype_variant::<NoParameters>()?;
                built_in
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_the_table_is_read_back_as_itself() {
        for entry in SCHEDULERS {
            let config = entry.name.parse::<SchedulerConfig>().unwrap();
            assert_eq!(config.name(), entry.name);
            // serde writes an enum of tables as {"name": {...}}.
            let written = serde_json::to_value(&config).unwrap();
            assert_eq!(written.as_object().unwrap().keys().next().unwrap(), entry.name);
            assert_eq!(serde_json::from_value::<SchedulerConfig>(written).unwrap(), config);
            let _ = config.build();
        }
        let wrong = "pf".parse::<SchedulerConfig>().unwrap_err().to_string();
        assert!(wrong.starts_with("there is no scheduler `pf` (known: round-robin, proportional-fair, tdmt"));
    }
}
