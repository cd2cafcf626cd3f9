//! Cell profiles: what other simulators' cells differ in from the standard and from ours, value by value.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::adaptation::{McsRule, Subbands};
use super::downlink::{AmcConfig, BlerTargetConfig, DownlinkConfig};

/// Whose cell it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CellProfile {
    /// Ours: the standard where it says something, a good eNB where it leaves the choice.
    #[default]
    Lasthop,
    /// ns-3's LENA as of release 3.28.
    #[serde(rename = "ns3-3.28")]
    Ns3Release28,
    /// ns-3's LENA as of release 3.44.
    #[serde(rename = "ns3-3.44")]
    Ns3Release44,
    /// SimuLTE.
    Simulte,
}

/// A value of a profile, for the documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProfileValue {
    /// Key under `[cell.x.downlink]`.
    pub key: &'static str,
    /// The value, as a scenario writes it.
    pub value: &'static str,
    /// Where it comes from.
    pub source: &'static str,
}

/// What ns-3's cells have.
pub const NS3: &[ProfileValue] = &[
    ProfileValue {
        key: "window",
        value: "99.0",
        source: "PfFfMacScheduler, time window of the average [TTI]",
    },
    ProfileValue { key: "exact_shares", value: "true", source: "RrFfMacScheduler: floor(groups / UEs) each" },
    ProfileValue {
        key: "whole_groups",
        value: "true",
        source: "25 blocks are 12 groups of 2; one block is lost",
    },
    ProfileValue {
        key: "mcs_rule",
        value: "lowest",
        source: "the worst CQI over the groups of an allocation",
    },
    ProfileValue {
        key: "amc.bler-target.reference_blocks",
        value: "2",
        source: "LteAmc: a block on one group",
    },
    ProfileValue {
        key: "amc.bler-target.strictly_below",
        value: "true",
        source: "LteAmc: efficiency < that of the MCS",
    },
    ProfileValue { key: "cqi.period", value: "1", source: "LteUePhy: a report a TTI" },
    ProfileValue {
        key: "cqi.delay",
        value: "3",
        source: "one TTI of report and two from MAC to the channel",
    },
    ProfileValue { key: "cqi.subbands", value: "group", source: "A30 reports have a CQI for each group" },
    ProfileValue { key: "cqi.differential", value: "false", source: "sub-bands have whole CQIs" },
    ProfileValue { key: "outer_loop.enabled", value: "false", source: "there is none" },
];

/// What SimuLTE's cells have, as far as the downlink is concerned.
pub const SIMULTE: &[ProfileValue] = &[
    ProfileValue {
        key: "window",
        value: "1.0526",
        source: "LtePf: pfAlpha 0.95 is the weight of the newest TTI, so a = 1 / 0.95",
    },
    ProfileValue { key: "outer_loop.enabled", value: "false", source: "there is none" },
    ProfileValue { key: "harq.transmissions", value: "4", source: "maxHarqRtx 3" },
];

impl CellProfile {
    /// What the profile differs in.
    pub const fn values(self) -> &'static [ProfileValue] {
        match self {
            CellProfile::Lasthop => &[],
            CellProfile::Ns3Release28 | CellProfile::Ns3Release44 => NS3,
            CellProfile::Simulte => SIMULTE,
        }
    }

    /// The downlink of such a cell.
    pub fn downlink(self) -> DownlinkConfig {
        let mut c = DownlinkConfig::default();
        match self {
            CellProfile::Lasthop => {}
            CellProfile::Ns3Release28 | CellProfile::Ns3Release44 => {
                c.window = 99.0;
                c.exact_shares = true;
                c.whole_groups = true;
                c.mcs_rule = McsRule::Lowest;
                c.amc = AmcConfig::BlerTarget(BlerTargetConfig {
                    reference_blocks: 2,
                    strictly_below: true,
                    ..BlerTargetConfig::default()
                });
                (c.cqi.period, c.cqi.delay) = (1, 3);
                (c.cqi.subbands, c.cqi.differential) = (Subbands::Group, false);
                c.outer_loop.enabled = false;
            }
            CellProfile::Simulte => {
                c.window = 1.0 / 0.95;
                c.outer_loop.enabled = false;
                c.harq.transmissions = 4;
            }
        }
        c
    }
}
