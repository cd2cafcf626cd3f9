//! `cbr`: packets at a constant rate.

use lasthop_units::{Bitrate, Bytes, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Action;
use super::kind::{AppContext, AppKind, Fault, Over, Wrong, packets, parameter};
use super::source::{Packets, Source};
use super::streams::{Service, Streams};
use crate::registry::Entry;

/// Parameters of `cbr`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CbrConfig {
    /// Rate, payload bytes counted.
    pub rate: Bitrate,
    /// Payload of a packet (over TCP: bytes written at a time).
    pub size: Bytes,
}

impl Default for CbrConfig {
    fn default() -> Self {
        CbrConfig { rate: Bitrate(1_000_000), size: Bytes(1000) }
    }
}

impl CbrConfig {
    pub(super) fn packets(&self) -> Packets {
        Packets::new(Source::cbr(self.rate, self.size), self.size)
    }
}

impl AppKind for CbrConfig {
    const ENTRY: Entry = Entry {
        name: "cbr",
        summary: "packets at a constant rate",
        source: "ns-2 CBR",
        parameters: &[
            parameter("rate", "1 Mbit/s", "rate"),
            parameter("size", "1000 B", "payload of a packet"),
        ],
    };
    const OVER: Over = Over::Both;
    const CHANGES: bool = true;
    type Run = Packets;

    fn validate(&self, over: Service) -> Result<(), Wrong> {
        packets(self.rate, self.size, over)
    }
    fn run(&self, _: &AppContext<'_>) -> Result<Packets, Fault> {
        Ok(self.packets())
    }
    fn change(&self, run: &mut Packets, now: Instant, _: &mut Streams, _: &mut Vec<Action>) {
        run.change(now, self.packets());
    }
    fn peak(&self) -> Option<(Bitrate, Bytes)> {
        Some((self.rate, self.size))
    }
    fn mean_rate(&self) -> Option<Bitrate> {
        Some(self.rate)
    }
}
