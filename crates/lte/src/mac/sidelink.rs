//! The sidelink: transmissions from UE to UE in the uplink band that the eNB schedules (TS 36.300
//! clause 23.10, with scheduled resources).
//!
//! The eNB's procedures for a sidelink beyond TS 36.321 clause 5.14 (HARQ feedback, link adaptation
//! by CQI) follow G. Nardini, G. Stea, A. Virdis, "Performance evaluation of TCP-based traffic over
//! direct communications in LTE-Advanced" (VTC Spring 2016) and SimuLTE.

use lasthop_radio::bounds::{POWER, SINR};
use lasthop_units::{Db, Dbm, Duration, Metres};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use lasthop_bearer::{ConfigError, Warning, check};
use lasthop_radio::lte::{Mcs, McsTable};

/// The path of a pair's packets in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LinkMode {
    /// From UE to UE: direct mode (DM).
    #[default]
    Direct,
    /// By the uplink to the eNB, then by the downlink: infrastructure mode (IM).
    Infrastructure,
}

impl LinkMode {
    /// The name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            LinkMode::Direct => "direct",
            LinkMode::Infrastructure => "infrastructure",
        }
    }
}

/// Settings for all sidelinks of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SidelinkCellConfig {
    /// Which sidelinks may have the same resource blocks in a TTI.
    pub reuse: Reuse,
    /// Half-duplex: a UE that transmits in a TTI receives no sidelink in it (one radio for the
    /// uplink's carrier), and the eNB does not schedule both; otherwise the UE does both at once,
    /// as in SimuLTE.
    pub half_duplex: bool,
    /// Highest MCS with `quality = "physical"`, 0 to 28. The default is the highest with 16QAM, the
    /// highest modulation of PSSCH in Release 12 (TS 36.211 clause 9.3). Pinned CQIs have the MCS
    /// of the uplink for them.
    pub max_mcs: u8,
}

impl Default for SidelinkCellConfig {
    fn default() -> Self {
        SidelinkCellConfig { reuse: Reuse::None, half_duplex: true, max_mcs: 20 }
    }
}

impl SidelinkCellConfig {
    /// Refuses invalid values.
    pub fn validate(&self) -> Result<(), ConfigError> {
        check(self.max_mcs <= 28, "max_mcs", "0 to 28")?;
        match self.reuse {
            Reuse::Above { min_sir } => check(SINR.hold(min_sir.0), "reuse.min_sir", SINR.text),
            Reuse::None | Reuse::All => Ok(()),
        }
    }
}

/// Which sidelinks may have the same resource blocks in a TTI. Transmissions on shared blocks
/// interfere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reuse {
    /// None: each block is given to one transmitter.
    #[default]
    None,
    /// Sidelinks of which any two have at least the ratio `min_sir` of signal to interference,
    /// computed from path loss and power.
    Above {
        /// -100 dB to 100 dB.
        min_sir: Db,
    },
    /// All of them.
    All,
}

/// A sidelink between two UEs, both ways.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SidelinkConfig {
    /// Transmit power of a UE on the sidelink, over all its blocks, -100 dBm to 90 dBm.
    pub power: Dbm,
    /// Source of the link's quality.
    pub quality: LinkQuality,
    /// Period of the quality reports to the eNB.
    pub report_period: Duration,
    /// Reserved blocks, instead of requests and grants.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persistent: Option<SidelinkPersistent>,
    /// Size of the header of SL-SCH in a transport block (TS 36.321 clause 6.1.6: version, source
    /// and destination, 6 B; SimuLTE: 0) [B].
    pub header: u32,
    /// Transmissions of a block, the first included.
    pub transmissions: u8,
}

impl Default for SidelinkConfig {
    fn default() -> Self {
        SidelinkConfig {
            power: Dbm(23.0),
            quality: LinkQuality::Physical,
            report_period: Duration::from_millis(10),
            persistent: None,
            header: 6,
            transmissions: 4,
        }
    }
}

/// Source of a sidelink's quality.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LinkQuality {
    /// Path loss, noise and interference between the two UEs.
    #[default]
    Physical,
    /// A CQI that depends only on the distance of the UEs; the radio model is not used.
    Pinned {
        /// The steps by ascending distance; the first one begins at 0 m.
        steps: Vec<CqiStep>,
    },
}

/// A CQI that applies from a distance on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CqiStep {
    /// Smallest distance.
    pub from: Metres,
    /// 1 to 15.
    pub cqi: u8,
}

/// Semi-persistent scheduling of a sidelink: the same blocks with the same MCS every period, from
/// the activation (the first data in direct mode) to the next mode switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SidelinkPersistent {
    /// Period, whole milliseconds.
    pub period: Duration,
    /// Resource blocks for each direction.
    pub blocks: u32,
}

/// Mode selection: periodic comparison of the data that each mode can carry.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SelectionConfig {
    /// Time between two decisions, whole milliseconds.
    pub period: Duration,
    /// Time of the first decision.
    pub first: Duration,
    /// The other mode must carry more than this factor times what the present one carries; at 1,
    /// direct mode is selected when both are equal.
    pub hysteresis: f64,
    /// Least time between two switches.
    pub dwell: Duration,
}

impl Default for SelectionConfig {
    fn default() -> Self {
        // SimuLTE, D2DModeSelectionBestCqi: at 0.05 s, then every second; ties go to direct mode.
        SelectionConfig {
            period: Duration::from_secs(1),
            first: Duration::from_millis(50),
            hysteresis: 1.0,
            dwell: Duration::ZERO,
        }
    }
}

impl SidelinkConfig {
    /// Refuses invalid values.
    pub fn validate(&self) -> Result<Vec<Warning>, ConfigError> {
        check(POWER.hold(self.power.0), "power", POWER.text)?;
        if let LinkQuality::Pinned { steps } = &self.quality {
            check(
                steps.first().is_some_and(|s| s.from.0 == 0.0)
                    && steps.windows(2).all(|w| w[0].from.0 < w[1].from.0),
                "quality.pinned.steps",
                "distances ascend from 0 m",
            )?;
            check(
                steps.iter().all(|s| (1..=15).contains(&s.cqi)),
                "quality.pinned.steps",
                "a CQI is 1 to 15",
            )?;
        }
        if let Some(p) = self.persistent {
            check(
                whole_ms(p.period) && (1..=640).contains(&p.period.as_millis()),
                "persistent.period",
                "1 to 640 ms, whole milliseconds",
            )?;
            check(
                p.blocks >= 1 && super::uplink::largest_allocation(p.blocks) == p.blocks,
                "persistent.blocks",
                "at least 1 block, without a prime factor above 5 (TS 36.211 clause 5.3.3)",
            )?;
        }
        check(
            whole_ms(self.report_period) && self.report_period.as_millis() >= 1,
            "report_period",
            "at least 1 ms, whole milliseconds",
        )?;
        check((1..=8).contains(&self.transmissions), "transmissions", "1 to 8")?;
        check(self.header <= 64, "header", "0 to 64 B")?;
        Ok(Vec::new())
    }
}

impl SelectionConfig {
    /// Refuses invalid values.
    pub fn validate(&self) -> Result<Vec<Warning>, ConfigError> {
        check(
            whole_ms(self.period) && self.period.as_millis() >= 1,
            "selection.period",
            "at least 1 ms, whole milliseconds",
        )?;
        check(self.hysteresis >= 1.0, "selection.hysteresis", "1 or more")?;
        Ok(Vec::new())
    }
}

fn whole_ms(t: Duration) -> bool {
    t.as_nanos().is_multiple_of(1_000_000)
}

/// I_TBS of a CQI in the uplink band. SimuLTE takes the largest I_TBS whose code rate the CQI
/// allows, code rates scaled by 168/156 for the resource elements that reference signals take.
const I_TBS: [u8; 15] = [0, 0, 2, 5, 7, 9, 12, 14, 15, 18, 21, 23, 25, 26, 26];

/// The MCS of a pinned CQI, 1 to 15.
pub fn mcs_of_cqi(cqi: u8) -> u8 {
    let i_tbs = I_TBS[usize::from(cqi.clamp(1, 15)) - 1];
    (0..=28).find(|m| Mcs::new(*m).i_tbs(McsTable::Uplink) == Some(i_tbs)).unwrap_or(0)
}

/// The CQI at `distance` [m].
pub fn cqi_at(steps: &[CqiStep], distance: f64) -> u8 {
    let passed = steps.partition_point(|s| s.from.0 <= distance);
    steps.get(passed.saturating_sub(1)).map_or(1, |s| s.cqi)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_radio::lte::tbs_bits;

    /// TS 36.213 table 7.1.7.2.1-1: CQI 15 is I_TBS 26 (712 bits on one block, 36 696 on 50), CQI 9
    /// is 15 (280, 15 264).
    #[test]
    fn a_pinned_cqi_has_the_transport_blocks_of_the_table() {
        let bits = |cqi, blocks| {
            let i = Mcs::new(mcs_of_cqi(cqi)).i_tbs(McsTable::Uplink).unwrap();
            tbs_bits(blocks, i).unwrap()
        };
        assert_eq!((bits(15, 1), bits(15, 50), bits(9, 1), bits(9, 50)), (712, 36_696, 280, 15_264));
        assert_eq!(
            (bits(10, 50), bits(11, 50), bits(12, 50), bits(13, 50)),
            (19_848, 25_456, 28_336, 31_704)
        );
    }

    #[test]
    fn the_map_is_looked_up_by_distance() {
        let step = |from, cqi| CqiStep { from: Metres(from), cqi };
        let steps = [step(0.0, 15), step(50.0, 9), step(95.0, 8)];
        for (d, cqi) in [(0.0, 15), (49.9, 15), (50.0, 9), (94.9, 9), (95.0, 8), (1e4, 8)] {
            assert_eq!(cqi_at(&steps, d), cqi, "{d} m");
        }
    }

    #[test]
    fn mistakes_name_their_key() {
        let wrong = |change: fn(&mut SidelinkConfig)| {
            let mut c = SidelinkConfig::default();
            change(&mut c);
            c.validate().unwrap_err().key
        };
        assert_eq!(wrong(|c| c.quality = LinkQuality::Pinned { steps: Vec::new() }), "quality.pinned.steps");
        let seven = SidelinkPersistent { period: Duration::from_millis(5), blocks: 7 };
        let mut c = SidelinkConfig { persistent: Some(seven), ..SidelinkConfig::default() };
        assert_eq!(c.validate().unwrap_err().key, "persistent.blocks");
        c.persistent = Some(SidelinkPersistent { blocks: 6, ..seven });
        assert!(c.validate().is_ok());
        assert_eq!(wrong(|c| c.transmissions = 0), "transmissions");
    }
}
