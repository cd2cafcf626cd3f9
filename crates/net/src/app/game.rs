//! `game`: the state of a game, at every tick.

use lasthop_units::{Bitrate, Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kind::{AppContext, AppKind, Fault, Over, PERIOD, Wrong, at_least, datagrams, parameter};
use super::quality::Quality;
use super::source::{Packets, Source};
use super::streams::Service;
use crate::registry::Entry;

/// Parameters of `game`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GameConfig {
    /// Between two updates of the state, at least 100 us.
    pub tick: Duration,
    /// Size of an update.
    pub size: Bytes,
    /// An update that is older than this is late. First-person shooters suffer from 100 ms on (M.
    /// Claypool, K. Claypool, Latency and player actions in online games, CACM 49(11), 2006).
    pub deadline: Duration,
}

impl Default for GameConfig {
    fn default() -> Self {
        GameConfig { tick: Duration::from_millis(50), size: Bytes(200), deadline: Duration::from_millis(100) }
    }
}

impl AppKind for GameConfig {
    const ENTRY: Entry = Entry {
        name: "game",
        summary: "the state of a game at every tick, judged by what is late or lost (UDP)",
        source: "M. Claypool, K. Claypool, CACM 49(11), 2006",
        parameters: &[
            parameter("tick", "50 ms", "between two updates"),
            parameter("size", "200 B", "payload of an update"),
            parameter("deadline", "100 ms", "an update that is older is late"),
        ],
    };
    const OVER: Over = Over::Datagrams;
    type Run = Packets;

    fn validate(&self, over: Service) -> Result<(), Wrong> {
        at_least("tick", self.tick, PERIOD)?;
        datagrams(self.size, over)
    }
    fn run(&self, _: &AppContext<'_>) -> Result<Packets, Fault> {
        Ok(Packets::new(Source::ticks(self.tick), self.size))
    }
    fn judged(&self) -> Option<Quality> {
        Some(Quality::of_updates(self.deadline))
    }
    fn mean_rate(&self) -> Option<Bitrate> {
        Some(Bitrate((self.size.bits() as f64 / self.tick.as_secs_f64()) as u64))
    }
}
