//! Bearers of the kind `lte-rlc`: PDCP and RLC of LTE without a cell around them.

use lasthop_bearer::{ConfigError, Warning};
use lasthop_lte_l2::rlc::RlcConfig;
use lasthop_lte_l2::{GrantConfig, LtePipeConfig};
use lasthop_units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bearer_kind::BearerKind;
use super::buffers::{Buffering, Room, per_tti};
use super::ethernet_mtu;

/// PDCP and RLC of LTE over a channel of grants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LteRlcBearerSpec {
    /// The two ends: network side (eNB) first, UE second. Downlink is from first to second.
    pub between: [String; 2],
    /// Largest IP packet that the bearer takes; larger ones are fragmented.
    #[serde(default = "ethernet_mtu")]
    pub mtu: Bytes,
    /// The channel from the network to the UE.
    #[serde(default)]
    pub downlink: GrantConfig,
    /// The channel from the UE to the network.
    #[serde(default)]
    pub uplink: GrantConfig,
    /// PDCP at both ends.
    #[serde(default)]
    pub pdcp: lasthop_lte_l2::pdcp::PdcpConfig,
    /// RLC at both ends.
    #[serde(default)]
    pub rlc: RlcConfig,
}

impl LteRlcBearerSpec {
    /// The configuration of the bearer itself.
    pub fn config(&self) -> LtePipeConfig {
        LtePipeConfig {
            downlink: self.downlink,
            uplink: self.uplink,
            pdcp: self.pdcp.clone(),
            rlc: self.rlc.clone(),
        }
    }
}

impl BearerKind for LteRlcBearerSpec {
    fn between(&self) -> &[String; 2] {
        &self.between
    }
    fn mtu(&self) -> Bytes {
        self.mtu
    }
    fn validate(&self) -> Result<Vec<Warning>, ConfigError> {
        self.config().validate()
    }
    fn marks(&self) -> bool {
        marks(&self.rlc)
    }
    fn buffering(&self, forward: bool, path: &str) -> (Buffering, String) {
        let channel = if forward { &self.downlink } else { &self.uplink };
        let rate = per_tti(channel.grant, channel.tti);
        (Buffering { rate, delay: channel.delay, room: room(&self.rlc) }, format!("{path}.buffer"))
    }
}

/// Room of the transmission buffer of an RLC entity.
pub(super) fn room(rlc: &RlcConfig) -> Room {
    let (packets, bytes) = (rlc.buffer.packets.value(), rlc.buffer.bytes.value());
    Room::of(packets.map(u64::from), bytes.map(|b| b.0))
}

/// True if the transmission buffer of an RLC entity marks ECN-capable packets.
pub(super) fn marks(rlc: &RlcConfig) -> bool {
    rlc.buffer.aqm.is_some_and(|aqm| aqm.marks())
}
