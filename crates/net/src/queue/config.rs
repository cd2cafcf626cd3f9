//! How a scenario writes a queue, and the table of all kinds.

use std::str::FromStr;

use lasthop_units::{Bitrate, Bytes, Duration, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::aqm::{Aqm, CodelParams};
use super::aqm::{AqmConfig, check_gain, check_positive, check_that, check_update};
pub use super::aqm::{CodelConfig, PieConfig, RedConfig, StepConfig};
use super::{Limit, Queue};
use crate::registry::{Entry, Parameter, UnknownName, find};

/// Where a queue stands: keys its draws, and tells how long a packet takes there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Site {
    /// Seed of the run.
    pub seed: u64,
    /// Which entity.
    pub entity: u64,
    /// The rate behind it at the start; `None`: unknown or without limit.
    pub rate: Option<Bitrate>,
}

impl Site {
    /// How long `size` takes at the rate; zero where that is unknown.
    pub fn time_for(&self, size: Bytes) -> Duration {
        self.rate.filter(|r| r.0 > 0).map_or(Duration::ZERO, |r| r.time_for(size))
    }
}

/// A queue in front of a link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum QueueConfig {
    /// First in, first out; what arrives when it is full is dropped.
    Droptail(DropTailConfig),
    /// First in, first out; when it is full the oldest packet makes room.
    Headdrop(HeadDropConfig),
    /// First in, first out, without any limit: nothing is ever dropped.
    Infinite(InfiniteConfig),
    /// Random early detection by the average length (Floyd and Jacobson 1993).
    Red(RedConfig),
    /// Marks from a threshold on and drops only what does not fit (DCTCP).
    Step(StepConfig),
    /// Controlled delay (RFC 8289): drops or marks when packets have waited too long for too long.
    Codel(CodelConfig),
    /// Flow queues with CoDel on each (RFC 8290).
    FqCodel(FqCodelConfig),
    /// Proportional integral controller of the queueing delay (RFC 8033).
    Pie(PieConfig),
    /// A queue for L4S and one for Classic traffic, coupled (RFC 9332).
    Dualpi2(DualPi2Config),
}

/// Parameters of FQ-CoDel; the defaults are RFC 8290's and Linux'.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FqCodelConfig {
    /// Most packets waiting in all queues together. Without it and without `bytes`: 10240.
    pub packets: Option<u32>,
    /// Most bytes waiting in all queues together. Without it: no limit.
    pub bytes: Option<Bytes>,
    /// Queues that flows are hashed into, 1 to 32768.
    pub flows: u32,
    /// Bytes that a queue may send before the next one has its turn, 1 B to 1 MB.
    pub quantum: Bytes,
    /// Time that packets of a flow may wait in a queue that stands.
    pub target: Duration,
    /// How long they must have waited longer before the first drop: about the longest round trip.
    pub interval: Duration,
    /// Mark ECN-capable packets instead of dropping them.
    pub ecn: bool,
    /// Mark every ECN-capable packet that has waited longer than this (Linux `ce_threshold`).
    /// Without it: none.
    pub ce_threshold: Option<Duration>,
}

impl Default for FqCodelConfig {
    fn default() -> Self {
        let CodelParams { target, interval, ecn, ce_threshold } = CodelParams::default();
        let (flows, quantum) = (1024, Bytes(1514));
        FqCodelConfig { packets: None, bytes: None, flows, quantum, target, interval, ecn, ce_threshold }
    }
}

impl FqCodelConfig {
    /// CoDel's parameters.
    pub const fn codel(&self) -> CodelParams {
        CodelParams {
            target: self.target,
            interval: self.interval,
            ecn: self.ecn,
            ce_threshold: self.ce_threshold,
        }
    }
    /// The limit of all queues together.
    pub fn limit(&self) -> Limit {
        limit(self.packets, self.bytes, DEFAULT_PACKETS_OF_MANY)
    }
}

/// Which of DualPI2's two queues is served next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduler {
    /// Weighted round robin: Classic traffic is sure of `classic_share`.
    #[default]
    Wrr,
    /// The older head first, L4S heads counting as `time_shift` older.
    TsFifo,
}

/// Parameters of DualPI2. The defaults are Linux' values; RFC 9332 appendix A.1 derives nearly the
/// same from a largest round trip of 100 ms (update 15 ms, alpha 0.15, beta 3).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DualPi2Config {
    /// Most packets waiting in both queues together. Without it and without `bytes`: 10240.
    pub packets: Option<u32>,
    /// Most bytes waiting in both queues together. Without it: no limit.
    pub bytes: Option<Bytes>,
    /// Classic queueing delay aimed at.
    pub target: Duration,
    /// Time between two updates of the base probability.
    pub update: Duration,
    /// Gain of the delay's distance from the target [1/s].
    pub alpha: f64,
    /// Gain of the delay's change [1/s].
    pub beta: f64,
    /// Coupling factor k, at least 1: an L4S packet is marked k times as often as the base
    /// probability.
    pub coupling: f64,
    /// L4S packets that waited longer than this are marked, if another waits behind them.
    pub l4s_threshold: Duration,
    /// Above the threshold the probability rises to 1 over this much more waiting; 0: at once.
    pub l4s_ramp: Duration,
    /// How the two queues are served.
    pub scheduler: Scheduler,
    /// Least share of Classic traffic under `wrr`.
    pub classic_share: Ratio,
    /// Head start of L4S packets under `ts-fifo`.
    pub time_shift: Duration,
    /// Mark ECN-capable Classic packets instead of dropping them.
    pub ecn: bool,
}

impl Default for DualPi2Config {
    fn default() -> Self {
        DualPi2Config {
            packets: None,
            bytes: None,
            target: Duration::from_millis(15),
            update: Duration::from_millis(16),
            alpha: 0.16,
            beta: 3.2,
            coupling: 2.0,
            l4s_threshold: Duration::from_millis(1),
            l4s_ramp: Duration::ZERO,
            scheduler: Scheduler::Wrr,
            classic_share: Ratio(0.1),
            time_shift: Duration::from_millis(50),
            ecn: true,
        }
    }
}

impl DualPi2Config {
    /// The limit of both queues together.
    pub fn limit(&self) -> Limit {
        limit(self.packets, self.bytes, DEFAULT_PACKETS_OF_MANY)
    }
}

/// Parameters of a queue without limit: none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct InfiniteConfig {}

/// Parameters of a drop-tail queue. A packet must fit both limits, where given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DropTailConfig {
    /// Most packets waiting; the one being sent does not count. Without it and without `bytes`:
    /// 1000.
    pub packets: Option<u32>,
    /// Most bytes waiting; the packet being sent does not count. Without it: no limit.
    pub bytes: Option<Bytes>,
}

/// Parameters of a head-drop queue. After an arrival both limits hold, where given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HeadDropConfig {
    /// Most packets waiting; the one being sent does not count. Without it and without `bytes`:
    /// 1000.
    pub packets: Option<u32>,
    /// Most bytes waiting; the packet being sent does not count. Without it: no limit.
    pub bytes: Option<Bytes>,
}

/// The limit where a scenario names none: Linux's default transmit queue length [packets].
const DEFAULT_PACKETS: u32 = 1000;

/// The same for several queues together: RFC 8290 section 5.2.3.
const DEFAULT_PACKETS_OF_MANY: u32 = 10_240;

const fn parameter(name: &'static str, default: &'static str, summary: &'static str) -> Parameter {
    Parameter { name, default, summary }
}

const PACKETS: Parameter = parameter("packets", "1000 if `bytes` is absent", "most packets waiting");
const MANY_PACKETS: Parameter =
    parameter("packets", "10240 if `bytes` is absent", "most packets waiting, all queues together");
const BYTES: Parameter = parameter("bytes", "no limit", "most bytes waiting");
const ECN: Parameter = parameter("ecn", "true", "mark ECN-capable packets instead of dropping them");
const CODEL_TARGET: Parameter =
    parameter("target", "5 ms", "time that packets may wait in a queue that stands");
const INTERVAL: Parameter =
    parameter("interval", "100 ms", "how long they must have waited longer before the first drop");
const CE_THRESHOLD: Parameter =
    parameter("ce_threshold", "none", "mark every ECN-capable packet that has waited longer");

const LIMITS: &[Parameter] = &[PACKETS, BYTES];

/// Every kind of queue: name, what it does, where it comes from, parameters. Names, errors,
/// listings and the documentation come from here.
pub const QUEUES: &[Entry] = &[
    Entry {
        name: "droptail",
        summary: "first in, first out; what arrives when it is full is dropped",
        source: "ns-2 DropTail, ns-3 DropTailQueue, Linux pfifo/bfifo",
        parameters: LIMITS,
    },
    Entry {
        name: "headdrop",
        summary: "first in, first out; when it is full the oldest makes room",
        source: "T. Lakshman, A. Neidhardt, T. Ott, \"The drop from front strategy in TCP and in TCP over ATM\", \
                 INFOCOM 1996; Linux pfifo_head_drop",
        parameters: LIMITS,
    },
    Entry {
        name: "infinite",
        summary: "first in, first out, without any limit",
        source: "Mahimahi infinite",
        parameters: &[],
    },
    Entry {
        name: "red",
        summary: "drops arrivals at random by the average length",
        source: "S. Floyd, V. Jacobson, \"Random early detection gateways for congestion avoidance\", IEEE/ACM ToN \
                 1(4), 1993 (defaults: its section 4); `gentle`: ns-2; `harddrop`: Linux",
        parameters: &[
            PACKETS,
            BYTES,
            parameter(
                "min_packets",
                "5",
                "average length below which nothing is dropped or marked [packets]",
            ),
            parameter(
                "max_packets",
                "15",
                "average length from which everything is dropped or marked [packets]",
            ),
            parameter("queue_weight", "0.002", "weight of the newest length in the average"),
            parameter("max_p", "2 %", "drop probability just below `max_packets`"),
            parameter("gentle", "false", "the probability rises to 1 between one and two `max_packets`"),
            parameter("mean_packet", "1 kB", "size of a typical packet, for the decay while empty"),
            ECN,
            parameter("harddrop", "false", "drop ECN-capable packets too from `max_packets` on"),
        ],
    },
    Entry {
        name: "step",
        summary: "marks ECN-capable packets from a threshold on; drops only what does not fit",
        source: "M. Alizadeh and others, \"Data Center TCP (DCTCP)\", SIGCOMM 2010, section 3.1; RFC 8257",
        parameters: &[
            PACKETS,
            BYTES,
            parameter(
                "threshold_packets",
                "20 if `threshold_time` is absent",
                "mark a packet that finds so many waiting when it arrives (K)",
            ),
            parameter("threshold_time", "none", "mark a packet that has waited longer when it leaves"),
        ],
    },
    Entry {
        name: "codel",
        summary: "drops at the head when packets have waited longer than a target for an interval",
        source: "RFC 8289; `ce_threshold`: Linux",
        parameters: &[PACKETS, BYTES, CODEL_TARGET, INTERVAL, ECN, CE_THRESHOLD],
    },
    Entry {
        name: "fq-codel",
        summary: "flow queues by deficit round robin, new flows first, CoDel on each",
        source: "RFC 8290; `ce_threshold`: Linux",
        parameters: &[
            MANY_PACKETS,
            BYTES,
            parameter("flows", "1024", "queues that flows are hashed into"),
            parameter("quantum", "1514 B", "bytes that a queue may send in one turn"),
            CODEL_TARGET,
            INTERVAL,
            ECN,
            CE_THRESHOLD,
        ],
    },
    Entry {
        name: "pie",
        summary: "drops arrivals with a probability that follows the queueing delay",
        source: "RFC 8033, with timestamps as its section 5.2 and Linux have them",
        parameters: &[
            PACKETS,
            BYTES,
            parameter("target", "15 ms", "queueing delay aimed at"),
            parameter("update", "15 ms", "time between two updates"),
            parameter("alpha", "0.125", "gain of the delay's distance from the target [1/s]"),
            parameter("beta", "1.25", "gain of the delay's change [1/s]"),
            parameter("max_burst", "150 ms", "bursts up to this long pass"),
            ECN,
            parameter(
                "mark_limit",
                "10 %",
                "drop probability from which ECN-capable packets are dropped too",
            ),
        ],
    },
    Entry {
        name: "dualpi2",
        summary: "a queue for L4S (ECT(1)) and one for Classic traffic, coupled to equal rates",
        source: "RFC 9332 appendix A; defaults as Linux",
        parameters: &[
            MANY_PACKETS,
            BYTES,
            parameter("target", "15 ms", "Classic queueing delay aimed at"),
            parameter("update", "16 ms", "time between two updates"),
            parameter("alpha", "0.16", "gain of the delay's distance from the target [1/s]"),
            parameter("beta", "3.2", "gain of the delay's change [1/s]"),
            parameter("coupling", "2", "k: L4S is marked with k p', Classic with p' squared"),
            parameter("l4s_threshold", "1 ms", "L4S packets that waited longer are marked"),
            parameter("l4s_ramp", "0 s", "over so much more waiting the probability rises to 1"),
            parameter(
                "scheduler",
                "wrr",
                "\"wrr\" (weighted round robin) or \"ts-fifo\" (time-shifted FIFO)",
            ),
            parameter("classic_share", "10 %", "least share of Classic traffic under \"wrr\""),
            parameter("time_shift", "50 ms", "head start of L4S under \"ts-fifo\""),
            parameter("ecn", "true", "mark ECN-capable Classic packets instead of dropping them"),
        ],
    },
];

impl Default for QueueConfig {
    fn default() -> Self {
        QueueConfig::Droptail(DropTailConfig::default())
    }
}

/// The kind `name` of [`QUEUES`] with its default parameters.
impl FromStr for QueueConfig {
    type Err = UnknownName;
    fn from_str(name: &str) -> Result<Self, UnknownName> {
        Ok(match find("queue", QUEUES, name)?.name {
            "headdrop" => QueueConfig::Headdrop(HeadDropConfig::default()),
            "infinite" => QueueConfig::Infinite(InfiniteConfig {}),
            "red" => QueueConfig::Red(RedConfig::default()),
            "step" => QueueConfig::Step(StepConfig::default()),
            "codel" => QueueConfig::Codel(CodelConfig::default()),
            "fq-codel" => QueueConfig::FqCodel(FqCodelConfig::default()),
            "pie" => QueueConfig::Pie(PieConfig::default()),
            "dualpi2" => QueueConfig::Dualpi2(DualPi2Config::default()),
            _ => QueueConfig::Droptail(DropTailConfig::default()),
        })
    }
}

impl QueueConfig {
    /// The name in [`QUEUES`].
    pub const fn name(&self) -> &'static str {
        match self {
            QueueConfig::Droptail(_) => "droptail",
            QueueConfig::Headdrop(_) => "headdrop",
            QueueConfig::Infinite(_) => "infinite",
            QueueConfig::Red(_) => "red",
            QueueConfig::Step(_) => "step",
            QueueConfig::Codel(_) => "codel",
            QueueConfig::FqCodel(_) => "fq-codel",
            QueueConfig::Pie(_) => "pie",
            QueueConfig::Dualpi2(_) => "dualpi2",
        }
    }

    /// The first mistake that types alone do not catch: the key and what is wrong with it.
    pub fn validate(&self) -> Result<(), (&'static str, String)> {
        match self {
            QueueConfig::Droptail(_) | QueueConfig::Headdrop(_) | QueueConfig::Infinite(_) => Ok(()),
            QueueConfig::Red(c) => c.params().validate(),
            QueueConfig::Step(c) => c.params().validate(),
            QueueConfig::Codel(c) => c.params().validate(),
            QueueConfig::Pie(c) => c.params().validate(),
            QueueConfig::FqCodel(c) => {
                check_that((1..=32_768).contains(&c.flows), "flows", "takes 1 to 32768 queues")?;
                check_that((1..=1_000_000).contains(&c.quantum.0), "quantum", "takes 1 B to 1 MB")?;
                c.codel().validate()
            }
            QueueConfig::Dualpi2(c) => {
                check_positive(c.target, "target")?;
                check_update(c.update)?;
                check_gain(c.alpha, "alpha")?;
                check_gain(c.beta, "beta")?;
                let coupling = c.coupling.is_finite() && (1.0..=100.0).contains(&c.coupling);
                check_that(coupling, "coupling", "is a factor from 1 to 100")
            }
        }
    }

    /// The limit that this configuration sets.
    pub fn limit(&self) -> Limit {
        let (packets, bytes) = match self {
            QueueConfig::Droptail(c) => (c.packets, c.bytes),
            QueueConfig::Headdrop(c) => (c.packets, c.bytes),
            QueueConfig::Red(c) => (c.packets, c.bytes),
            QueueConfig::Step(c) => (c.packets, c.bytes),
            QueueConfig::Codel(c) => (c.packets, c.bytes),
            QueueConfig::Pie(c) => (c.packets, c.bytes),
            QueueConfig::FqCodel(c) => return c.limit(),
            QueueConfig::Dualpi2(c) => return c.limit(),
            QueueConfig::Infinite(_) => return Limit::default(),
        };
        limit(packets, bytes, DEFAULT_PACKETS)
    }

    /// The key and the cause where a queue that should mark never does, or where a key has no
    /// effect. A packet that enters finds fewer packets waiting than fit.
    pub fn never_marks(&self) -> Option<(&'static str, String)> {
        let fit = self.limit().packets?;
        match self {
            QueueConfig::Step(c) if c.threshold_time.is_none() => {
                let threshold = c.threshold_packets.unwrap_or(super::aqm::STEP_PACKETS);
                let message = format!("the threshold is never reached: {threshold} packets, and {fit} fit");
                (threshold >= fit).then_some(("threshold_packets", message))
            }
            QueueConfig::Red(c) if c.min_packets > f64::from(fit) => {
                let (low, fit) = (c.min_packets, f64::from(fit));
                Some(("min_packets", format!("the average never reaches {low} packets: {fit} fit")))
            }
            QueueConfig::Red(c) if c.harddrop && !c.ecn => {
                Some(("harddrop", "this key does nothing here: without `ecn` every packet is dropped".into()))
            }
            _ => None,
        }
    }

    /// The AQM of a queue that is one FIFO under one.
    fn aqm(&self) -> Option<AqmConfig> {
        match self {
            QueueConfig::Red(c) => Some(AqmConfig::Red(c.params())),
            QueueConfig::Step(c) => Some(AqmConfig::Step(c.params())),
            QueueConfig::Codel(c) => Some(AqmConfig::Codel(c.params())),
            QueueConfig::Pie(c) => Some(AqmConfig::Pie(c.params())),
            QueueConfig::Droptail(_)
            | QueueConfig::Headdrop(_)
            | QueueConfig::Infinite(_)
            | QueueConfig::FqCodel(_)
            | QueueConfig::Dualpi2(_) => None,
        }
    }

    /// It marks ECN-capable packets, at least those of L4S.
    pub fn marks(&self) -> bool {
        match self {
            QueueConfig::FqCodel(c) => c.ecn || c.ce_threshold.is_some(),
            QueueConfig::Dualpi2(_) => true,
            other => other.aqm().is_some_and(|aqm| aqm.marks()),
        }
    }

    /// The queue, at `site`.
    pub fn build(&self, site: &Site) -> Queue {
        if let Some(config) = self.aqm() {
            let aqm: Aqm = config.build(site);
            return Queue::managed(self.limit(), aqm);
        }
        match self {
            QueueConfig::Headdrop(_) => Queue::head_drop(self.limit()),
            QueueConfig::FqCodel(c) => Queue::fq_codel(c, site),
            QueueConfig::Dualpi2(c) => Queue::dualpi2(c),
            _ => Queue::drop_tail(self.limit()),
        }
    }
}

fn limit(packets: Option<u32>, bytes: Option<Bytes>, otherwise: u32) -> Limit {
    let packets = if packets.is_none() && bytes.is_none() { Some(otherwise) } else { packets };
    Limit { packets, bytes: bytes.map(|b| b.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_the_table_is_read_back_as_itself() {
        for entry in QUEUES {
            assert_eq!(entry.name.parse::<QueueConfig>().unwrap().name(), entry.name);
        }
        let wrong = "drptail".parse::<QueueConfig>().unwrap_err().to_string();
        assert_eq!(
            wrong,
            "there is no queue `drptail` (known: droptail, headdrop, infinite, red, step, codel, \
             fq-codel, pie, dualpi2)"
        );
    }

    #[test]
    fn without_any_limit_a_thousand_packets_wait() {
        assert_eq!(QueueConfig::default().limit(), Limit { packets: Some(1000), bytes: None });
        let bytes = QueueConfig::Droptail(DropTailConfig { packets: None, bytes: Some(Bytes(10_240)) });
        assert_eq!(bytes.limit(), Limit { packets: None, bytes: Some(10_240) });
        assert_eq!("infinite".parse::<QueueConfig>().unwrap().limit(), Limit::default());
    }

    /// The registry says what the defaults are; the schema's types say it too. They must agree key
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
