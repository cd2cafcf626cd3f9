//! Radio bearers without cells: their keys, and what else is asked of each kind.

use lasthop_bearer::{ConfigError, Warning};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::memory::Buffering;
use super::{LteRlcBearerSpec, UmtsBearerSpec};

/// A radio bearer between a network node and a UE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum BearerSpec {
    /// A UMTS dedicated channel (DCH) with PDCP and RLC.
    Umts(UmtsBearerSpec),
    /// PDCP and RLC of LTE over a channel that grants a block every TTI and loses some; no cell
    /// around it.
    LteRlc(LteRlcBearerSpec),
}

impl BearerSpec {
    /// The two ends: network side first.
    pub const fn between(&self) -> &[String; 2] {
        match self {
            BearerSpec::Umts(b) => &b.between,
            BearerSpec::LteRlc(b) => &b.between,
        }
    }
    /// Largest IP packet that the bearer takes.
    pub const fn mtu(&self) -> lasthop_units::Bytes {
        match self {
            BearerSpec::Umts(b) => b.mtu,
            BearerSpec::LteRlc(b) => b.mtu,
        }
    }
    /// Refuses what cannot work, naming the key; warns of known traps.
    pub fn validate(&self) -> Result<Vec<Warning>, ConfigError> {
        match self {
            BearerSpec::Umts(b) => b.config().validate(),
            BearerSpec::LteRlc(b) => b.config().validate(),
        }
    }
    /// A queue here marks ECN-capable packets.
    pub fn marks(&self) -> bool {
        match self {
            BearerSpec::Umts(_) => false,
            BearerSpec::LteRlc(b) => super::lte_rlc::marks(&b.rlc),
        }
    }
    /// The directions, as keys, that never carry anything.
    pub(super) fn dead(&self) -> Vec<&'static str> {
        match self {
            BearerSpec::Umts(b) => b.dead(),
            BearerSpec::LteRlc(_) => Vec::new(),
        }
    }
    /// What packets wait for in a direction, and the key below `path` that limits how many do.
    pub(super) fn buffering(&self, forward: bool, path: &str) -> (Buffering, String) {
        match self {
            BearerSpec::Umts(b) => b.buffering(forward, path),
            BearerSpec::LteRlc(b) => b.buffering(forward, path),
        }
    }
}
