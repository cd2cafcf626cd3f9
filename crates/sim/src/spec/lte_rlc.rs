//! Bearers of the kind `lte-rlc`: PDCP and RLC of LTE without a cell around them.

use lasthop_lte_l2::rlc::RlcConfig;
use lasthop_lte_l2::{GrantConfig, LtePipeConfig};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ethernet_mtu;
use super::memory::{Buffering, Room, per_tti};

/// PDCP and RLC of LTE over a channel of grants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LteRlcBearerSpec {
    /// The two ends: network side (eNB) first, UE second. Downlink is from first to second.
    pub between: [String; 2],
    /// Largest IP packet that the bearer takes; larger ones are fragmented.
    #[serde(default = "ethernet_mtu")]
    pub mtu: lasthop_units::Bytes,
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
    /// What the bearer itself needs to know.
    pub fn config(&self) -> LtePipeConfig {
        LtePipeConfig {
            downlink: self.downlink,
            uplink: self.uplink,
            pdcp: self.pdcp.clone(),
            rlc: self.rlc.clone(),
        }
    }

    pub(super) fn buffering(&self, forward: bool, path: &str) -> (Buffering, String) {
        let channel = if forward { &self.downlink } else { &self.uplink };
        let rate = per_tti(channel.grant, channel.tti);
        (Buffering { rate, delay: channel.delay, room: Room::rlc(&self.rlc) }, format!("{path}.buffer"))
    }
}

/// The transmission buffer of an RLC entity marks ECN-capable packets.
pub(super) fn marks(rlc: &RlcConfig) -> bool {
    rlc.buffer.aqm.is_some_and(|aqm| aqm.marks())
}
