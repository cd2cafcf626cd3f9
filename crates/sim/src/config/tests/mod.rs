//! Tests of the configuration code with a small scenario type.

use std::num::NonZeroU32;

use indexmap::IndexMap;
use lasthop_units::{Bitrate, Bytes, Duration, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::*;

mod description;
mod hostile;
mod loading;
mod messages;
mod notation;
mod sets;

/// A scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Spec {
    /// General.
    pub scenario: General,
    /// Links between nodes, by name.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub link: IndexMap<String, Link>,
    /// Flows, by name.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub flow: IndexMap<String, Flow>,
    /// What happens when.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub at: Vec<At>,
}

/// General.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct General {
    /// What the run is called.
    pub name: String,
    /// How long it lasts.
    #[serde(default = "ten_seconds")]
    pub duration: Duration,
    /// Source of all randomness.
    #[serde(default)]
    pub seed: u64,
    /// How often it is repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<u8>,
}

fn ten_seconds() -> Duration {
    Duration::from_secs(10)
}

/// A link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Link {
    /// The two nodes.
    pub between: [String; 2],
    /// Rate of both directions.
    pub rate: Bitrate,
    /// Where packets wait.
    #[serde(default)]
    pub queue: Queue,
    /// Random loss.
    #[serde(default)]
    pub loss: Ratio,
}

/// Where packets wait.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum Queue {
    /// For ever.
    Unlimited,
    /// First in, first out.
    DropTail {
        /// How many packets.
        #[serde(default = "thousand")]
        packets: NonZeroU32,
    },
    /// Of a size.
    Sized(Bytes),
}

fn thousand() -> NonZeroU32 {
    NonZeroU32::new(1000).unwrap()
}

impl Default for Queue {
    fn default() -> Queue {
        Queue::DropTail { packets: thousand() }
    }
}

/// A flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Flow {
    /// The sender's node.
    pub from: String,
    /// The receiver's node.
    pub to: String,
    /// What it sends.
    #[serde(default)]
    pub app: App,
    /// Its TCP.
    #[serde(default)]
    pub tcp: Tcp,
}

/// An application.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum App {
    /// As much as the window lets.
    #[default]
    Bulk,
    /// A constant rate.
    Cbr(Cbr),
}

/// A constant rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Cbr {
    /// The rate.
    pub rate: Bitrate,
    /// Size of a packet.
    #[serde(default = "packet")]
    pub packet: Bytes,
}

fn packet() -> Bytes {
    Bytes(1000)
}

/// TCP.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Tcp {
    /// Congestion control.
    pub cc: Cc,
    /// Initial window in segments.
    pub iw: u16,
    /// Gain of the smoothed RTT.
    pub gain: f64,
    /// With SACK.
    pub sack: bool,
}

/// Congestion control.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Cc {
    /// RFC 5681.
    #[default]
    Reno,
    /// RFC 9438.
    Cubic,
    /// Brakmo 1994.
    Vegas,
}

/// A change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct At {
    /// When the values change.
    pub t: Duration,
    /// Keys and their new values.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub set: IndexMap<String, String>,
}

pub(super) const GOOD: &str = r#"# A scenario
[scenario]
name = "umts"
duration = "100 s"
seed = 18_446_744_073_709_551_615

[link.wired]
between = ["server", "rnc"]
rate = "10 Mbit/s"
queue = { kind = "drop-tail", packets = 50 }

[link.radio]
between = ["rnc", "ue"]
rate = "384 kbit/s"
queue = { kind = "sized", value = "64 KiB" }
loss = 0.01

[flow.ftp]
from = "server"
to = "ue"
[flow.ftp.tcp]
cc = "vegas"
iw = 2
gain = 1

[flow.voice]
from = "server"
to = "ue"
app = { kind = "cbr", rate = "64 kbit/s" }

[[at]]
t = "30 s"
set = { "link.radio.loss" = "10 %" }
"#;

pub(super) fn read(text: &str) -> Result<Spec, Diagnostics> {
    Document::parse(text, "a.toml")?.read::<Spec>()
}

/// The rendered messages of an invalid text.
pub(super) fn complaints(text: &str) -> String {
    match read(text) {
        Ok(spec) => panic!("accepted: {spec:?}"),
        Err(diagnostics) => diagnostics.to_string(),
    }
}
