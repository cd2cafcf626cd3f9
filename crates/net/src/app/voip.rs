//! `voip`: one direction of a call.

use lasthop_units::{Bitrate, Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kind::{AppContext, AppKind, Fault, Over, Wrong, datagrams, parameter};
use super::quality::Quality;
use super::source::{Packets, Source};
use super::streams::Service;
use crate::registry::Entry;

/// Between two packets of a call.
const SPEECH: Duration = Duration::from_millis(20);

/// Parameters of `voip`: G.711 in packets of 20 ms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct VoipConfig {
    /// RTP payload and header of a packet: 160 B of G.711 and 12 B.
    pub size: Bytes,
    /// Playout: a packet that is older than this is late. ITU-T G.114: 150 ms from mouth to
    /// ear, 20 of which are in the packet.
    pub deadline: Duration,
}

impl Default for VoipConfig {
    fn default() -> Self {
        VoipConfig { size: Bytes(172), deadline: Duration::from_millis(130) }
    }
}

impl AppKind for VoipConfig {
    const ENTRY: Entry = Entry {
        name: "voip",
        summary: "one direction of a call, judged by the E-model (UDP)",
        source: "ITU-T G.711, G.107, G.113, G.114",
        parameters: &[
            parameter("size", "172 B", "payload of a packet of 20 ms"),
            parameter("deadline", "130 ms", "a packet that is older is late"),
        ],
    };
    const OVER: Over = Over::Datagrams;
    type Run = Packets;

    fn validate(&self, over: Service) -> Result<(), Wrong> {
        datagrams(self.size, over)
    }
    fn run(&self, _: &AppContext<'_>) -> Result<Packets, Fault> {
        Ok(Packets::new(Source::ticks(SPEECH), self.size))
    }
    fn judged(&self) -> Option<Quality> {
        Some(Quality::of_speech(self.deadline))
    }
    fn mean_rate(&self) -> Option<Bitrate> {
        Some(Bitrate(self.size.bits() * 50))
    }
}
