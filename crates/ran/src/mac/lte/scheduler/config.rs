//! How a scenario writes a scheduler, and the table of all.

use std::str::FromStr;

use lasthop_net::{Entry, Parameter, UnknownName};
use lasthop_units::Bitrate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    FrequencyEqualThroughput, FrequencyMaxRate, PrioritySet, ProportionalFair, QosAware, RoundRobin,
    Scheduler, ThroughputToAverage, TimeEqualThroughput, TimeMaxRate,
};
use crate::phy::lte::TTI;

/// Who is served first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
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
    pub const fn name(&self) -> &'static str {
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
        }
    }

    /// The policy.
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
        }
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
            let _ = config.build();
        }
        let wrong = "pf".parse::<SchedulerConfig>().unwrap_err().to_string();
        assert!(wrong.starts_with("there is no scheduler `pf` (known: round-robin, proportional-fair, tdmt"));
    }
}
