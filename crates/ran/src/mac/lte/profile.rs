//! Cell profiles: what other simulators' cells differ in from the standard and from ours, value by value.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::adaptation::{McsRule, Subbands};
use super::downlink::{AmcConfig, BlerTargetConfig, DownlinkConfig, PiroConfig};
use super::random_access::RandomAccessConfig;
use super::scheduler::{NoParameters, SchedulerConfig};
use super::uplink::{RacTimer, RequestConfig, Shares, UplinkConfig};
use crate::network::TimingConfig;
use crate::rlc::lte::OrInfinity;
use lasthop_units::Duration;

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

/// What the uplink of ns-3's cells has; keys under `[cell.x.uplink]`.
pub const NS3_UPLINK: &[ProfileValue] = &[
    ProfileValue {
        key: "scheduler",
        value: "round-robin",
        source: "every scheduler of LENA does the same in the uplink",
    },
    ProfileValue { key: "shares", value: "fixed", source: "RrFfMacScheduler: floor(blocks / UEs) each" },
    ProfileValue {
        key: "min_blocks",
        value: "3",
        source: "RrFfMacScheduler: at least three, so that no TB is too small",
    },
    ProfileValue { key: "request_blocks", value: "3", source: "as any allocation" },
    ProfileValue { key: "pucch_blocks", value: "0", source: "control channels are ideal" },
    ProfileValue {
        key: "amc.piro.ber",
        value: "5e-5",
        source: "LteAmc, the uplink's SINR through Piro's formula",
    },
    ProfileValue { key: "power_aware", value: "false", source: "one MCS from the SRS, however many blocks" },
    ProfileValue {
        key: "srs_period",
        value: "1 ms",
        source: "every SRS of the reference scenarios is fresh",
    },
    ProfileValue { key: "outer_loop.enabled", value: "false", source: "there is none" },
    ProfileValue { key: "sr.period", value: "1 ms", source: "no SR: reports arrive by an ideal channel" },
    ProfileValue { key: "bsr.periodic_timer", value: "1 ms", source: "LteUeMac, BsrPeriodicity" },
    ProfileValue { key: "random_access", value: "RandomAccessConfig::ns3", source: "LteUeMac, LteEnbMac" },
];

/// What SimuLTE's cells have in the uplink; keys under `[cell.x.uplink]`, and the timing of the cell.
pub const SIMULTE_UPLINK: &[ProfileValue] = &[
    ProfileValue {
        key: "request.rac.answer",
        value: "3",
        source: "RAC at t, report at t + 5 (Nardini and others)",
    },
    ProfileValue {
        key: "request.rac.timer",
        value: "10",
        source: "raResponseWindow of the paper's scenario",
    },
    ProfileValue {
        key: "request.rac.counts",
        value: "paused",
        source: "LteMacUe::handleSelfMessage calls checkRAC only without a grant; checkRAC spends a TTI on racRequested_",
    },
    ProfileValue { key: "request_blocks", value: "1", source: "the grant of a RAC is one block" },
    ProfileValue { key: "pucch_blocks", value: "0", source: "control channels are ideal" },
    ProfileValue { key: "stealing", value: "false", source: "a switch there as here" },
    ProfileValue { key: "outer_loop.enabled", value: "false", source: "there is none" },
    ProfileValue { key: "power_control.enabled", value: "false", source: "UEs send with their full power" },
    ProfileValue { key: "power_aware", value: "false", source: "one CQI, however many blocks" },
    ProfileValue { key: "bsr.trailing", value: "true", source: "a report of what remains, after a RAC" },
    ProfileValue { key: "bsr.retx_timer", value: "40 ms", source: "retxBsrTimer 40" },
    ProfileValue { key: "timing.grant", value: "2", source: "grant at t + 9, data at t + 11" },
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

    /// The uplink of such a cell.
    pub fn uplink(self) -> UplinkConfig {
        let mut c = UplinkConfig::default();
        match self {
            CellProfile::Lasthop => {}
            CellProfile::Ns3Release28 | CellProfile::Ns3Release44 => {
                c.scheduler = SchedulerConfig::RoundRobin(NoParameters {});
                c.shares = Shares::Fixed;
                (c.min_blocks, c.request_blocks, c.pucch_blocks) = (3, 3, 0);
                c.amc = AmcConfig::Piro(PiroConfig::default());
                c.srs_period = Duration::from_millis(1);
                c.power_aware = false;
                c.outer_loop.enabled = false;
                c.sr.period = Duration::from_millis(1);
                c.bsr.periodic_timer = OrInfinity::Value(Duration::from_millis(1));
                c.bsr.any_value = true;
                c.random_access = RandomAccessConfig::ns3();
            }
            CellProfile::Simulte => {
                c.request = RequestConfig::Rac { answer: 3, timer: 10, counts: RacTimer::Paused };
                (c.request_blocks, c.pucch_blocks) = (1, 0);
                c.stealing = false;
                c.power_aware = false;
                c.power_control.enabled = false;
                c.outer_loop.enabled = false;
                c.bsr.trailing = true;
                c.bsr.retx_timer = Duration::from_millis(40);
                c.bsr.any_value = true;
            }
        }
        c
    }

    /// The timing of such a cell.
    pub fn timing(self) -> TimingConfig {
        match self {
            CellProfile::Simulte => TimingConfig { grant: 2, ..TimingConfig::default() },
            CellProfile::Lasthop | CellProfile::Ns3Release28 | CellProfile::Ns3Release44 => {
                TimingConfig::default()
            }
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
