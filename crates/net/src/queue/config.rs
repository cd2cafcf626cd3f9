//! How a scenario writes a queue, and the table of all kinds.

use std::str::FromStr;

use lasthop_units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Limit, Queue};
use crate::registry::{Entry, Parameter, UnknownName, find};

/// A queue in front of a link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum QueueConfig {
    /// First in, first out; what arrives when it is full is dropped.
    Droptail(DropTailConfig),
    /// First in, first out; when it is full the oldest packet makes room.
    Headdrop(HeadDropConfig),
    /// First in, first out, without any limit: nothing is ever dropped.
    Infinite(InfiniteConfig),
}

/// Parameters of a queue without limit: none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct InfiniteConfig {}

/// Parameters of a drop-tail queue. A packet must fit both limits, where given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DropTailConfig {
    /// Most packets waiting; the one being sent does not count. Without it and without `bytes`: 1000.
    pub packets: Option<u32>,
    /// Most bytes waiting; the packet being sent does not count. Without it: no limit.
    pub bytes: Option<Bytes>,
}

/// Parameters of a head-drop queue. After an arrival both limits hold, where given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HeadDropConfig {
    /// Most packets waiting; the one being sent does not count. Without it and without `bytes`: 1000.
    pub packets: Option<u32>,
    /// Most bytes waiting; the packet being sent does not count. Without it: no limit.
    pub bytes: Option<Bytes>,
}

/// The limit where a scenario names none: Linux's default transmit queue length [packets].
const DEFAULT_PACKETS: u32 = 1000;

const LIMITS: &[Parameter] = &[
    Parameter { name: "packets", default: "1000 if `bytes` is absent", summary: "most packets waiting" },
    Parameter { name: "bytes", default: "no limit", summary: "most bytes waiting" },
];

/// Every kind of queue: name, what it does, where it comes from, parameters. Names, errors, listings and the
/// documentation come from here.
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
        }
    }

    /// The limit that this configuration sets.
    pub fn limit(&self) -> Limit {
        let (packets, bytes) = match self {
            QueueConfig::Droptail(c) => (c.packets, c.bytes),
            QueueConfig::Headdrop(c) => (c.packets, c.bytes),
            QueueConfig::Infinite(_) => return Limit::default(),
        };
        let packets = if packets.is_none() && bytes.is_none() { Some(DEFAULT_PACKETS) } else { packets };
        Limit { packets, bytes: bytes.map(|b| b.0) }
    }

    /// The queue.
    pub fn build(&self) -> Queue {
        match self {
            QueueConfig::Droptail(_) | QueueConfig::Infinite(_) => Queue::drop_tail(self.limit()),
            QueueConfig::Headdrop(_) => Queue::head_drop(self.limit()),
        }
    }
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
        assert_eq!(wrong, "there is no queue `drptail` (known: droptail, headdrop, infinite)");
    }

    #[test]
    fn without_any_limit_a_thousand_packets_wait() {
        assert_eq!(QueueConfig::default().limit(), Limit { packets: Some(1000), bytes: None });
        let bytes = QueueConfig::Droptail(DropTailConfig { packets: None, bytes: Some(Bytes(10_240)) });
        assert_eq!(bytes.limit(), Limit { packets: None, bytes: Some(10_240) });
        assert_eq!("infinite".parse::<QueueConfig>().unwrap().limit(), Limit::default());
    }
}
