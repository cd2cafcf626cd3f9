//! Bearers of the kind `umts`: dedicated channels.

use lasthop_bearer::dch::DchConfig;
use lasthop_bearer::{ConfigError, Warning};
use lasthop_umts::BearerConfig;
use lasthop_umts::pdcp::PdcpConfig;
use lasthop_umts::rlc::{RlcConfig, RlcMode};
use lasthop_units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bearer_kind::BearerKind;
use super::buffers::{Buffering, Room, per_tti};
use super::ethernet_mtu;

/// A UMTS radio bearer on a dedicated channel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UmtsBearerSpec {
    /// The two ends: network side (RNC) first, UE second. Downlink is from first to second.
    pub between: [String; 2],
    /// Largest IP packet that the bearer takes; larger ones are fragmented.
    #[serde(default = "ethernet_mtu")]
    pub mtu: Bytes,
    /// The channel from the network to the UE.
    #[serde(default)]
    pub downlink: DchConfig,
    /// The channel from the UE to the network. Unset keys have the defaults of the 64 kbit/s
    /// uplink.
    #[serde(default = "DchConfig::uplink_64k", deserialize_with = "lasthop_umts::over_uplink_defaults")]
    pub uplink: DchConfig,
    /// PDCP at both ends.
    #[serde(default)]
    pub pdcp: PdcpConfig,
    /// RLC at both ends.
    #[serde(default)]
    pub rlc: RlcConfig,
}

impl UmtsBearerSpec {
    /// The configuration of the bearer itself.
    pub fn config(&self) -> BearerConfig {
        BearerConfig { downlink: self.downlink, uplink: self.uplink, pdcp: self.pdcp, rlc: self.rlc }
    }
}

impl BearerKind for UmtsBearerSpec {
    fn between(&self) -> &[String; 2] {
        &self.between
    }
    fn mtu(&self) -> Bytes {
        self.mtu
    }
    fn validate(&self) -> Result<Vec<Warning>, ConfigError> {
        self.config().validate()
    }
    fn unused_directions(&self) -> Vec<&'static str> {
        let sides = [("downlink", &self.downlink), ("uplink", &self.uplink)];
        sides.into_iter().filter(|(_, channel)| channel.blocks == 0).map(|(side, _)| side).collect()
    }
    fn buffering(&self, forward: bool, path: &str) -> (Buffering, String) {
        let channel = if forward { &self.downlink } else { &self.uplink };
        let bits = Bytes(channel.block_payload.0 * u64::from(channel.blocks));
        let (room, key) = room_of(&self.rlc, path);
        (Buffering { rate: per_tti(bits, channel.tti), delay: channel.iub_delay, room }, key)
    }
}

/// Room of UMTS RLC: zero is no limit.
fn room_of(rlc: &RlcConfig, path: &str) -> (Room, String) {
    let limit = |n: u64| (n > 0).then_some(n);
    let (sdus, bytes, table) = match rlc.mode {
        RlcMode::Am => (rlc.am.buffer_sdus, rlc.am.buffer_bytes, "am"),
        RlcMode::Um => (rlc.um.buffer_sdus, rlc.um.buffer_bytes, "um"),
        RlcMode::Tm => (0, Bytes::ZERO, "mode"),
    };
    (Room::of(limit(sdus.into()), limit(bytes.0)), format!("{path}.{table}"))
}
