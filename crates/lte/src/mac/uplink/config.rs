//! Configuration of a cell's uplink.

use lasthop_radio::lte::{ClosedLoop, PowerControlConfig};
use lasthop_units::{Db, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::bsr::BsrConfig;
use super::super::downlink::{AmcConfig, HarqConfig, OuterLoopConfig};
use super::super::phr::PhrConfig;
use super::super::random_access::RandomAccessConfig;
use super::super::scheduler::SchedulerConfig;
use super::super::sr::SrConfig;
use super::UplinkAdaptation;
use lasthop_bearer::{ConfigError, Warning, check, warn, within};

/// The uplink of a cell: how UEs request grants, and how the eNB schedules them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UplinkConfig {
    /// The scheduling policy. Policies by resource block group use the whole band as one group
    /// here: an allocation must be one run of blocks.
    pub scheduler: SchedulerConfig,
    /// How the band is shared among the UEs of a TTI.
    pub shares: Shares,
    /// Smallest allocation of a UE with data [resource blocks].
    pub min_blocks: u32,
    /// Resource blocks at the two edges of the band that PUCCH takes, together.
    pub pucch_blocks: u32,
    /// How a UE without a grant requests a grant.
    pub request: RequestConfig,
    /// Resource blocks of the grant that answers a request.
    pub request_blocks: u32,
    /// Data is sent with the report in the grant that answers a request (bandwidth stealing), as in
    /// TS 36.321. Without it that grant carries the report alone.
    pub stealing: bool,
    /// Scheduling requests.
    pub sr: SrConfig,
    /// Buffer status reports.
    pub bsr: BsrConfig,
    /// Power headroom reports.
    pub phr: PhrConfig,
    /// TTIs from that in which a UE sends a report of an RLC entity with `shortcuts.event_reports`
    /// to that in which the eNB uses it, 1 to 16. ns-3: 4 from MAC to the channel and 1 for the
    /// transmission.
    #[serde(skip_serializing_if = "is_usual_report_delay")]
    pub report_delay: u64,
    /// Random access.
    pub random_access: RandomAccessConfig,
    /// Window a of the averages T <- (1 - 1/a) T + R/a that schedulers use [TTI], at least 1.
    pub window: f64,
    /// How an MCS follows from a SINR.
    pub amc: AmcConfig,
    /// Retransmissions of transport blocks (maxHARQ-Tx): synchronous, on the same resource blocks.
    pub harq: HarqConfig,
    /// Adaptive retransmissions: where retransmissions are scattered over the band, grants on the
    /// PDCCH move them to its lower edge, so that the unused blocks are one run. The number of
    /// blocks of each retransmission stays the same.
    pub adaptive_retransmissions: bool,
    /// Transport blocks may fail.
    pub data_errors: bool,
    /// UEs may miss their grants (errors of PCFICH and PDCCH).
    pub control_errors: bool,
    /// Power control of the UEs.
    pub power_control: PowerControlConfig,
    /// Target of the SINR on a resource block of PUSCH for the eNB's power control commands in its
    /// grants; unset: it sends none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power_target: Option<Db>,
    /// The eNB takes into account the power that a UE has per block for more or fewer blocks;
    /// otherwise an MCS is the same for any number of blocks (ns-3).
    pub power_aware: bool,
    /// Largest MCS: 28, or 20 for UEs without 64QAM in the uplink (categories 1 to 4).
    pub max_mcs: u8,
    /// Period of the eNB's measurements of the channel by sounding: 2, 5, 10, 20, 40, 80, 160 or
    /// 320 ms; 1 ms as in simulators.
    pub srs_period: Duration,
    /// Correction of the measured SINR by the outcome of the blocks.
    pub outer_loop: OuterLoopConfig,
    /// Period of grants of `request_blocks` without a request, to a UE that had downlink data
    /// within the last 100 ms; 0: none.
    pub proactive_period: Duration,
}

/// How the band is shared among the UEs of a TTI.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Shares {
    /// Equal shares; blocks that a UE does not need are given to the UEs after it.
    #[default]
    Flexible,
    /// floor(band / UEs), at least `min_blocks`, whatever the others need; the whole share is
    /// granted, whatever the UE has reported (ns-3).
    Fixed,
}

/// How a UE without a grant requests a grant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RequestConfig {
    /// A scheduling request on PUCCH.
    #[default]
    Sr,
    /// Random access, as for a UE without PUCCH resources.
    RandomAccess,
    /// Random access that always succeeds, as in SimuLTE: the request reaches the eNB after a fixed
    /// number of TTIs.
    Rac {
        /// TTIs from the request to the TTI in which the eNB has received it.
        answer: u64,
        /// TTIs after a request in which the UE sends no second request.
        timer: u64,
        /// Which TTIs the timer counts.
        #[serde(default)]
        counts: RacTimer,
    },
}

/// Which TTIs the timer of a RAC counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RacTimer {
    /// Every TTI.
    #[default]
    Wall,
    /// Only TTIs in which the UE has no grant, and one more afterwards, in which the UE clears its
    /// flag that a request was sent. SimuLTE's TTI loop does the same: it evaluates the timer only
    /// in TTIs without a grant.
    Paused,
}

impl RacTimer {
    /// TTIs from a request to the next one without a grant in between; with
    /// [`Paused`](Self::Paused) each TTI with a grant adds one.
    pub const fn first(self, timer: u64) -> u64 {
        match self {
            RacTimer::Wall => timer,
            RacTimer::Paused => timer + 1,
        }
    }
}

const REPORT_DELAY: u64 = 5;

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde requires a reference")]
const fn is_usual_report_delay(ttis: &u64) -> bool {
    *ttis == REPORT_DELAY
}

impl Default for UplinkConfig {
    fn default() -> Self {
        UplinkConfig {
            scheduler: SchedulerConfig::default(),
            shares: Shares::Flexible,
            min_blocks: 1,
            pucch_blocks: 2,
            request: RequestConfig::Sr,
            request_blocks: 3,
            stealing: true,
            sr: SrConfig::default(),
            bsr: BsrConfig::default(),
            phr: PhrConfig::default(),
            report_delay: REPORT_DELAY,
            random_access: RandomAccessConfig::default(),
            window: 99.0,
            amc: AmcConfig::default(),
            harq: HarqConfig::default(),
            adaptive_retransmissions: false,
            data_errors: true,
            control_errors: true,
            power_target: None,
            power_control: PowerControlConfig::default(),
            power_aware: true,
            max_mcs: 28,
            srs_period: Duration::from_millis(10),
            outer_loop: OuterLoopConfig::default(),
            proactive_period: Duration::ZERO,
        }
    }
}

impl UplinkConfig {
    /// SINRs and MCS on a carrier of `blocks` resource blocks.
    pub fn adaptation(&self, blocks: u32) -> UplinkAdaptation {
        UplinkAdaptation::new(self.amc.mode(blocks as usize), self.max_mcs)
    }

    /// Refuses values that are invalid on a carrier of `blocks` resource blocks.
    pub fn validate(&self, blocks: u32) -> Result<Vec<Warning>, ConfigError> {
        self.validate_blocks(blocks)?;
        if let RequestConfig::Rac { answer, timer, .. } = self.request {
            check((1..=16).contains(&answer), "request.answer", "1 to 16 TTIs")?;
            check(timer <= 1000, "request.timer", "0 to 1000 TTIs")?;
        }
        check((1..=16).contains(&self.report_delay), "report_delay", "1 to 16 TTIs")?;
        check(self.window >= 1.0, "window", "at least 1 TTI")?;
        check((1..=8).contains(&self.harq.transmissions), "harq.transmissions", "1 to 8")?;
        check(self.max_mcs <= 28, "max_mcs", "0 to 28 (29 to 31 are for retransmissions)")?;
        self.validate_power()?;
        let ms = Duration::from_millis;
        check(
            [1, 2, 5, 10, 20, 40, 80, 160, 320].iter().any(|p| ms(*p) == self.srs_period),
            "srs_period",
            "1, 2, 5, 10, 20, 40, 80, 160 or 320 ms",
        )?;
        check(
            self.proactive_period.as_nanos().is_multiple_of(ms(1).as_nanos())
                && self.proactive_period <= ms(100),
            "proactive_period",
            "0 to 100 ms, whole milliseconds",
        )?;
        let mut warnings = Vec::new();
        within("amc", self.amc.validate(), &mut warnings)?;
        within("outer_loop", self.outer_loop.validate(), &mut warnings)?;
        within("sr", self.sr.validate(), &mut warnings)?;
        within("bsr", self.bsr.validate(), &mut warnings)?;
        within("phr", self.phr.validate(), &mut warnings)?;
        within("random_access", self.random_access.validate(), &mut warnings)?;
        self.warn(&mut warnings);
        Ok(warnings)
    }

    /// Checks keys that count resource blocks, on a carrier of `blocks`.
    fn validate_blocks(&self, blocks: u32) -> Result<(), ConfigError> {
        check(
            self.pucch_blocks < blocks,
            "pucch_blocks",
            &format!("the band has {blocks} resource blocks: leave some for data"),
        )?;
        let free = blocks - self.pucch_blocks;
        for (key, n) in [("min_blocks", self.min_blocks), ("request_blocks", self.request_blocks)] {
            check(
                n >= 1 && n <= free && super::largest_allocation(n) == n,
                key,
                &format!(
                    "1 to {free} resource blocks without a prime factor above 5 (TS 36.211 clause 5.3.3)"
                ),
            )?;
        }
        Ok(())
    }

    /// Checks the keys of power control.
    fn validate_power(&self) -> Result<(), ConfigError> {
        check(
            [0.0, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0].contains(&self.power_control.alpha),
            "power_control.alpha",
            "0, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9 or 1 (TS 36.331)",
        )?;
        check(
            (-126.0..=24.0).contains(&self.power_control.p0.0),
            "power_control.p0",
            "-126 to 24 dBm (TS 36.331, p0-NominalPUSCH)",
        )?;
        check(self.power_control.srs_offset <= 15, "power_control.srs_offset", "0 to 15")?;
        let delta = self.power_control.delta_preamble_msg3.0;
        check(
            (-2.0..=12.0).contains(&delta) && delta % 2.0 == 0.0,
            "power_control.delta_preamble_msg3",
            "-2 to 12 dB by 2 (TS 36.331, deltaPreambleMsg3)",
        )?;
        check(self.power_target.is_none_or(|t| (-10.0..=40.0).contains(&t.0)), "power_target", "-10 to 40 dB")
    }

    /// Warns of pitfalls: combinations that are valid and usually not meant.
    fn warn(&self, warnings: &mut Vec<Warning>) {
        warn(
            self.power_target.is_some()
                && (!self.power_control.enabled || self.power_control.closed_loop == ClosedLoop::Off),
            "power_target",
            "without closed loop power control (`power_control`) the commands have no effect",
            warnings,
        );
        warn(
            self.sr.period >= Duration::from_millis(40) && self.request == RequestConfig::Sr,
            "sr.period",
            "TCP's acknowledgements wait half of this on the average: 10 ms or less is usual for data",
            warnings,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_valid_and_mistakes_name_their_key() {
        for blocks in [6, 15, 25, 50, 75, 100] {
            assert_eq!(UplinkConfig::default().validate(blocks), Ok(Vec::new()));
        }
        let wrong = |change: fn(&mut UplinkConfig)| {
            let mut config = UplinkConfig::default();
            change(&mut config);
            config.validate(25).unwrap_err().key
        };
        assert_eq!(wrong(|c| c.pucch_blocks = 25), "pucch_blocks");
        assert_eq!(wrong(|c| c.request_blocks = 7), "request_blocks");
        assert_eq!(wrong(|c| c.min_blocks = 24), "min_blocks");
        assert_eq!(wrong(|c| c.harq.transmissions = 9), "harq.transmissions");
        assert_eq!(wrong(|c| c.sr.trans_max = 5), "sr.trans_max");
        let delta = "power_control.delta_preamble_msg3";
        assert_eq!(wrong(|c| c.power_control.delta_preamble_msg3 = Db(14.0)), delta);
        assert_eq!(wrong(|c| c.power_control.delta_preamble_msg3 = Db(1.0)), delta);
        assert_eq!(wrong(|c| c.random_access.preambles = 53), "random_access.preambles");
        assert_eq!(wrong(|c| c.proactive_period = Duration::from_micros(1500)), "proactive_period");
    }
}
