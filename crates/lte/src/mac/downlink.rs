//! Downlink of a cell: configuration, averages, transmission modes, discontinuous reception,
//! counters. The procedures of a TTI are in the network's `downlink.rs`.

use std::ops::RangeInclusive;

use lasthop_engine::math::{ln, pow};
use lasthop_radio::bounds::ANTENNA_GAIN;
use lasthop_radio::lte::{Amc, AmcMode, Bandwidth, CqiRounding, CqiTable, HarqCombining, Mcs, OllaConfig};
use lasthop_units::{Db, Ratio, Tti};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::adaptation::{Adaptation, CqiConfig, McsRule};
use super::allocation::{Band, Groups, Rules};
use super::renewal::Renewal;
use super::reuse::{BlockRange, Reuse, ReuseConfig, groups_within};
use super::scheduler::{Policy, Scheduler, SchedulerConfig};
use lasthop_bearer::{ConfigError, Warning, check, within};

/// The downlink of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DownlinkConfig {
    /// The scheduling policy.
    pub scheduler: SchedulerConfig,
    /// Window a of the averages T <- (1 - 1/a) T + R/a that schedulers use [TTI], at least 1.
    pub window: f64,
    /// Schedulers that share equally leave the remainder of the division unused (ns-3) instead of
    /// allocating it.
    pub exact_shares: bool,
    /// A remainder of the carrier smaller than a resource block group stays unused (ns-3).
    pub whole_groups: bool,
    /// Schedulers allocate by the metric alone: a UE with data gets every group where its metric is
    /// the best, however little data it has (LENA's schedulers).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub beyond_need: bool,
    /// How the MCS of an allocation follows from its groups.
    pub mcs_rule: McsRule,
    /// How SINRs become CQIs.
    pub amc: AmcConfig,
    /// Contents and times of the UEs' reports.
    pub cqi: CqiConfig,
    /// Correction of the reported quality by ACK and NACK.
    pub outer_loop: OuterLoopConfig,
    /// Retransmissions of transport blocks.
    pub harq: HarqConfig,
    /// Transport blocks may fail.
    pub data_errors: bool,
    /// UEs may miss their assignments (PCFICH and PDCCH).
    pub control_errors: bool,
    /// Most downlink assignments in a TTI, by the capacity of the PDCCH; 0: no limit.
    pub max_assignments: u32,
    /// Antennas.
    pub mimo: MimoConfig,
    /// Discontinuous reception of connected UEs.
    pub drx: Option<DrxConfig>,
    /// The resource blocks that the cell may use (hard frequency reuse); unset: all. Groups that
    /// are only partly within them stay unused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocks: Option<BlockRange>,
    /// UEs at the edge of the cell have blocks of their own (strict or soft frequency reuse);
    /// unset: all UEs share the same blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reuse: Option<ReuseConfig>,
}

impl Default for DownlinkConfig {
    fn default() -> Self {
        DownlinkConfig {
            scheduler: SchedulerConfig::default(),
            window: 99.0,
            exact_shares: false,
            whole_groups: false,
            beyond_need: false,
            mcs_rule: McsRule::Mean,
            amc: AmcConfig::default(),
            cqi: CqiConfig::default(),
            outer_loop: OuterLoopConfig::default(),
            harq: HarqConfig::default(),
            data_errors: true,
            control_errors: true,
            max_assignments: 0,
            mimo: MimoConfig::default(),
            drx: None,
            blocks: None,
            reuse: None,
        }
    }
}

/// How SINRs become CQIs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AmcConfig {
    /// The highest CQI whose reference block fails with at most the target (TS 36.213 clause
    /// 7.2.3).
    BlerTarget(BlerTargetConfig),
    /// Shannon's formula with the gap of an uncoded bit error rate (G. Piro, N. Baldo, M. Miozzo,
    /// 2011).
    Piro(PiroConfig),
}

/// Parameters of link adaptation by block error rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BlerTargetConfig {
    /// Share of reference blocks that may fail, 0.001 % to 99.9 %.
    pub target: Ratio,
    /// Resource blocks of the CSI reference resource; 0: the whole carrier.
    pub reference_blocks: u32,
    /// The CQI stays strictly below the MCS that meets the target (ns-3).
    pub strictly_below: bool,
}

impl Default for BlerTargetConfig {
    fn default() -> Self {
        BlerTargetConfig { target: Ratio(0.1), reference_blocks: 0, strictly_below: false }
    }
}

/// Parameters of Piro's model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PiroConfig {
    /// Bit error rate that sets the gap, above 0 and below 0.2.
    pub ber: f64,
}

impl Default for PiroConfig {
    fn default() -> Self {
        PiroConfig { ber: 5e-5 }
    }
}

/// Shares of failures that a run can distinguish from 0 and from 1: one in 100 000 blocks.
const TARGET: RangeInclusive<f64> = 1e-5..=0.999;
const TARGET_TEXT: &str = "0.001 % to 99.9 % of the blocks";

impl AmcConfig {
    /// The model, for a carrier of `blocks` resource blocks.
    pub fn mode(&self, blocks: usize) -> AmcMode {
        match self {
            AmcConfig::BlerTarget(c) => AmcMode::BlerTarget {
                target: c.target.0,
                prbs: if c.reference_blocks == 0 { blocks } else { c.reference_blocks as usize },
                rounding: if c.strictly_below { CqiRounding::Below } else { CqiRounding::AtMost },
            },
            AmcConfig::Piro(c) => AmcMode::Piro { ber: c.ber },
        }
    }
    /// Refuses invalid values; keys are relative to this table.
    pub fn validate(&self) -> Result<Vec<Warning>, ConfigError> {
        match self {
            AmcConfig::BlerTarget(c) => {
                check(TARGET.contains(&c.target.0), "target", TARGET_TEXT)?;
                check(c.reference_blocks <= 110, "reference_blocks", "0 (the whole carrier) to 110")?;
            }
            AmcConfig::Piro(c) => check(c.ber > 0.0 && c.ber < 0.2, "ber", "above 0 and below 0.2")?,
        }
        Ok(Vec::new())
    }
}

impl OuterLoopConfig {
    /// The outer loop, if it is enabled.
    pub fn olla(&self) -> Option<OllaConfig> {
        let OuterLoopConfig { enabled, target, step } = *self;
        enabled.then(|| OllaConfig { target, step_down: step, ..OllaConfig::default() })
    }
    /// Refuses invalid values; keys are relative to this table.
    pub fn validate(&self) -> Result<Vec<Warning>, ConfigError> {
        check(TARGET.contains(&self.target.0), "target", TARGET_TEXT)?;
        check(self.step.0 > 0.0 && self.step.0 <= 20.0, "step", "above 0 dB and at most 20 dB")?;
        Ok(Vec::new())
    }
}

impl Default for AmcConfig {
    fn default() -> Self {
        AmcConfig::BlerTarget(BlerTargetConfig::default())
    }
}

/// Outer-loop link adaptation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OuterLoopConfig {
    /// The outer loop is enabled.
    pub enabled: bool,
    /// Target share of first transmissions that fail, 0.001 % to 99.9 %.
    pub target: Ratio,
    /// By how much a NACK lowers the level of a CQI, above 0 dB and at most 20 dB.
    pub step: Db,
}

impl Default for OuterLoopConfig {
    fn default() -> Self {
        OuterLoopConfig { enabled: true, target: Ratio(0.1), step: Db(0.5) }
    }
}

/// HARQ of the downlink: asynchronous, 8 processes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HarqConfig {
    /// Most transmissions of a transport block, the first included, 1 to 8; 1: no HARQ.
    pub transmissions: u8,
    /// How the receiver combines the transmissions of a block.
    pub combining: Combining,
}

impl Default for HarqConfig {
    fn default() -> Self {
        HarqConfig { transmissions: 4, combining: Combining::IncrementalRedundancy }
    }
}

/// How the receiver combines the transmissions of a transport block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Combining {
    /// Each transmission brings new parity bits.
    #[default]
    IncrementalRedundancy,
    /// Each transmission repeats the same bits.
    Chase,
}

impl From<Combining> for HarqCombining {
    fn from(c: Combining) -> HarqCombining {
        match c {
            Combining::IncrementalRedundancy => HarqCombining::IncrementalRedundancy,
            Combining::Chase => HarqCombining::Chase,
        }
    }
}

/// Transmission modes (TS 36.213 clause 7.1).
///
/// The physical model computes a mode from the channels between the antennas of both ends: power
/// shared between antennas and layers, the code of transmit diversity, the precoder, and the
/// interference between layers at the receiver. `model = "gains"` is ns-3's: constant gains on the
/// SINR of single antennas. ns-3 took these gains from S. Catreux and others, "Data throughputs
/// using multiple-input multiple-output techniques in a noise-limited cellular environment", IEEE
/// Trans. Wireless Communications 1(2), 2002: differences of the medians of the output SINR,
/// Alamouti 17.7 - 13.5 = 4.2 dB, MMSE 10.7 - 13.5 = -2.8 dB.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MimoConfig {
    /// 1: single antenna; 2: transmit diversity; 3: open-loop spatial multiplexing; 4: closed-loop
    /// spatial multiplexing.
    pub mode: u8,
    /// The source of a mode's SINRs.
    pub model: MimoModel,
    /// With `model = "gains"`: gain of transmit diversity on the SINR, -50 dB to 60 dB.
    pub diversity_gain: Db,
    /// With `model = "gains"`: gain of each of two layers on the single antenna's SINR, open loop,
    /// -50 dB to 60 dB.
    pub open_loop_gain: Db,
    /// As `open_loop_gain`, closed loop: the precoder follows the channel. -50 dB to 60 dB.
    pub closed_loop_gain: Db,
    /// Modes 3 and 4 send at least two layers, even where one layer would carry more (ns-3).
    pub always_two_layers: bool,
}

impl Default for MimoConfig {
    fn default() -> Self {
        MimoConfig {
            mode: 1,
            model: MimoModel::Physical,
            diversity_gain: Db(4.2),
            open_loop_gain: Db(-2.8),
            closed_loop_gain: Db(0.0),
            always_two_layers: false,
        }
    }
}

/// The source of the SINRs of a transmission mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MimoModel {
    /// The channel matrix of each resource block.
    #[default]
    Physical,
    /// A constant gain on the SINR of single antennas (ns-3).
    Gains,
}

impl MimoConfig {
    /// True if the mode's SINRs are computed from channel matrices.
    pub fn is_physical(&self) -> bool {
        self.mode > 1 && self.model == MimoModel::Physical
    }
    /// True if two code words may share the blocks.
    pub const fn two_code_words(&self) -> bool {
        self.mode >= 3
    }
    /// Linear gain on the SINR of one layer.
    pub fn one_layer(&self) -> f32 {
        if self.mode == 1 { 1.0 } else { lasthop_radio::linear(self.diversity_gain) as f32 }
    }
    /// Linear gain on the SINR of each of two layers; None for a mode with one layer.
    pub fn two_layers(&self) -> Option<f32> {
        let gain = match self.mode {
            3 => self.open_loop_gain,
            4 => self.closed_loop_gain,
            _ => return None,
        };
        Some(lasthop_radio::linear(gain) as f32)
    }
}

/// Discontinuous reception in connected mode (TS 36.321 clause 5.7), long cycle, in TTIs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DrxConfig {
    /// longDRX-Cycle: 10 to 2560.
    pub cycle: u64,
    /// onDurationTimer: the UE monitors the PDCCH for this long at the start of every cycle.
    pub on_duration: u64,
    /// drx-InactivityTimer: the UE monitors the PDCCH for this long after an assignment or a grant
    /// of new data.
    pub inactivity: u64,
}

impl Default for DrxConfig {
    fn default() -> Self {
        DrxConfig { cycle: 320, on_duration: 10, inactivity: 100 }
    }
}

/// Semi-persistent scheduling of the downlink (TS 36.321 clause 5.10.1): one assignment on the
/// PDCCH activates it; from then on the UE has the same resource blocks and MCS every `interval`.
/// Meanwhile there is no link adaptation. When two blocks in a row have failed in all their
/// transmissions, the eNB activates the grant again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PersistentConfig {
    /// semiPersistSchedIntervalDL [TTI]: 10, 20, 32, 40, 64, 80, 128, 160, 320 or 640 (TS 36.331
    /// clause 6.3.2).
    pub interval: u64,
    /// Least bytes of each occasion.
    pub bytes: u32,
    /// The eNB releases the grant after this many occasions without data; the next data activates
    /// it again.
    pub release_after: u64,
}

impl Default for PersistentConfig {
    fn default() -> Self {
        // A voice frame every 20 ms with its headers.
        PersistentConfig { interval: 20, bytes: 60, release_after: 10 }
    }
}

impl PersistentConfig {
    /// Refuses values that RRC cannot carry.
    pub fn validate(&self) -> Result<Vec<Warning>, ConfigError> {
        let known = [10, 20, 32, 40, 64, 80, 128, 160, 320, 640].contains(&self.interval);
        check(known, "interval", "10, 20, 32, 40, 64, 80, 128, 160, 320 or 640 TTIs")?;
        check((1..=9422).contains(&self.bytes), "bytes", "1 B to what a transport block holds, 9422 B")?;
        check(self.release_after >= 1, "release_after", "at least 1 occasion")?;
        Ok(Vec::new())
    }
}

/// Semi-persistent grant of a UE.
#[derive(Clone, Copy, Debug)]
pub struct Persistent {
    /// Its configuration.
    pub config: PersistentConfig,
    /// Groups and MCS, while it is active.
    pub grant: Option<(Groups, Mcs)>,
    /// Last occasion with data.
    pub used: Tti,
    /// Failed blocks.
    renewal: Renewal,
}

impl Persistent {
    /// Without a grant.
    pub const fn new(config: PersistentConfig) -> Persistent {
        Persistent { config, grant: None, used: Tti(0), renewal: Renewal::NONE }
    }
    /// True if `tti` is an occasion of the grant, by the UE's `phase`.
    pub const fn is_occasion(&self, tti: Tti, phase: u64) -> bool {
        (tti.0 + self.config.interval - phase % self.config.interval).is_multiple_of(self.config.interval)
    }
    /// The grant, unless it has been unused for longer than `release_after` occasions.
    pub fn active(&self, tti: Tti) -> Option<(Groups, Mcs)> {
        let rested = tti.0.saturating_sub(self.used.0) / self.config.interval;
        self.grant.filter(|_| rested <= self.config.release_after)
    }
    /// Counts a block of the UE that was decoded, or that failed in all its transmissions. After
    /// too many failures the next data activates the grant again.
    pub const fn on_block(&mut self, decoded: bool) {
        self.renewal.on_block(decoded);
        if self.renewal.is_due() {
            (self.grant, self.renewal) = (None, Renewal::NONE);
        }
    }
    /// True if occasions of this grant and of `other` ever coincide.
    pub const fn meets(&self, phase: u64, other: &Persistent, other_phase: u64) -> bool {
        let (mut a, mut b) = (self.config.interval, other.config.interval);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        phase % a == other_phase % a
    }
}

impl DownlinkConfig {
    /// Refuses invalid values.
    pub fn validate(&self) -> Result<Vec<Warning>, ConfigError> {
        let mut warnings = Vec::new();
        check(self.window >= 1.0, "window", "at least 1 TTI")?;
        check((1..=8).contains(&self.harq.transmissions), "harq.transmissions", "1 to 8")?;
        check((1..=4).contains(&self.mimo.mode), "mimo.mode", "transmission modes 1 to 4")?;
        for (key, gain) in [
            ("mimo.diversity_gain", self.mimo.diversity_gain),
            ("mimo.open_loop_gain", self.mimo.open_loop_gain),
            ("mimo.closed_loop_gain", self.mimo.closed_loop_gain),
        ] {
            check(ANTENNA_GAIN.hold(gain.0), key, ANTENNA_GAIN.text)?;
        }
        within("amc", self.amc.validate(), &mut warnings)?;
        within("outer_loop", self.outer_loop.validate(), &mut warnings)?;
        if let Some(drx) = &self.drx {
            check((1..=2560).contains(&drx.cycle), "drx.cycle", "1 to 2560 TTIs")?;
            check((1..=drx.cycle).contains(&drx.on_duration), "drx.on_duration", "1 TTI to the whole cycle")?;
        }
        if let Some(blocks) = &self.blocks {
            let end = blocks.first.saturating_add(blocks.count);
            check(blocks.count > 0 && end <= 110, "blocks", "at least one block, within the carrier")?;
        }
        if let Some(reuse) = &self.reuse {
            within("reuse", reuse.validate().map(|()| Vec::new()), &mut warnings)?;
        }
        within("cqi", self.cqi.validate(), &mut warnings)?;
        Ok(warnings)
    }

    /// Levels, MCS and rates on a carrier of `bandwidth`.
    pub fn adaptation(&self, bandwidth: Bandwidth) -> Adaptation {
        let mode = self.amc.mode(bandwidth.prbs());
        Adaptation::new(Amc::new(mode, CqiTable::Qam64), bandwidth, self.cqi.subbands, self.mcs_rule)
    }

    /// The outer loop, if it is enabled.
    pub fn olla(&self) -> Option<OllaConfig> {
        self.outer_loop.olla()
    }
}

/// The state of a cell that its downlink scheduling needs.
#[derive(Debug)]
pub struct DownlinkCell {
    /// The groups of the carrier.
    pub band: Band,
    /// Levels and MCS.
    pub adaptation: Adaptation,
    /// The scheduling policy.
    pub scheduler: Scheduler,
    /// The rules of allocation by the policy's metrics.
    pub rules: Rules,
    /// The window of the averages.
    pub window: Window,
    /// Groups that the cell may use.
    pub usable: Groups,
    /// Of these, the groups for UEs in the centre and at the edge of the cell.
    pub reuse: Option<Reuse>,
}

impl DownlinkCell {
    /// For a carrier of `bandwidth`, with the `adaptation` of `config` on it.
    pub fn new(config: &DownlinkConfig, bandwidth: Bandwidth, adaptation: Adaptation) -> DownlinkCell {
        let scheduler = config.scheduler.build(crate::phy::TTI);
        let rules =
            Rules { domain: scheduler.domain(), window: config.window, exact_shares: config.exact_shares };
        let band = Band::new(bandwidth.prbs() as u32, bandwidth.rbg_size() as u32, config.whole_groups);
        let usable = config.blocks.map_or(band.all(), |range| groups_within(&band, range));
        DownlinkCell {
            reuse: config.reuse.and_then(|reuse| reuse.on(&band, usable)),
            usable,
            band,
            adaptation,
            scheduler,
            rules,
            window: Window::new(config.window),
        }
    }

    /// Replaces the scheduling policy.
    pub fn set_scheduler(&mut self, scheduler: Scheduler) {
        self.rules.domain = scheduler.domain();
        self.scheduler = scheduler;
    }
}

/// The exponential average of a UE's served bits, T <- (1 - 1/a) T + R/a once a TTI, in closed form
/// over the TTIs between two calls.
#[derive(Clone, Copy, Debug)]
pub struct Average {
    value: f64,
    /// The TTI at whose start the value holds.
    at: Tti,
}

/// Lower bound of the average [bit per TTI]: metrics divide by it, and denormal numbers are slow.
const FLOOR: f64 = 1.0;

impl Default for Average {
    fn default() -> Self {
        Average { value: FLOOR, at: Tti(0) }
    }
}

impl Average {
    /// The average at the start of `tti` [bit per TTI].
    #[inline]
    pub fn at(&mut self, tti: Tti, window: &Window) -> f64 {
        let missed = tti.0.saturating_sub(self.at.0);
        if missed > 0 {
            self.value = (self.value * window.decay(missed)).max(FLOOR);
            self.at = tti;
        }
        self.value
    }

    /// Takes in that `bits` were served in `tti`, beside those of earlier calls for this TTI: each
    /// code word makes one.
    #[inline]
    pub fn serve(&mut self, tti: Tti, bits: f64, window: &Window) {
        if self.at > tti {
            self.value += bits / window.ttis;
            return;
        }
        let before = self.at(tti, window);
        self.value = (window.keep * before + bits / window.ttis).max(FLOOR);
        self.at = tti.plus(1);
    }
}

/// TTIs for which a [`Window`] stores the decay.
const STORED: usize = 64;

/// The window of averages.
#[derive(Clone, Debug)]
pub struct Window {
    /// Its length a [TTI].
    ttis: f64,
    /// 1 - 1/a.
    keep: f64,
    /// By TTIs: what they leave of an average.
    decay: [f64; STORED],
}

impl Window {
    /// A window of `ttis`, at least 1.
    pub fn new(ttis: f64) -> Window {
        let keep = 1.0 - 1.0 / ttis;
        let stored = |missed| if missed == 1 { keep } else { decay(keep, missed as u64) };
        Window { ttis, keep, decay: std::array::from_fn(stored) }
    }

    /// What `ttis` leave of an average.
    #[inline]
    fn decay(&self, ttis: u64) -> f64 {
        self.decay.get(ttis as usize).copied().unwrap_or_else(|| decay(self.keep, ttis))
    }
}

#[cold]
fn decay(keep: f64, ttis: u64) -> f64 {
    // keep = 0 (a window of one TTI): the average has no memory.
    if keep <= 0.0 || ttis as f64 * -ln(keep) > 700.0 { 0.0 } else { pow(keep, ttis as f64) }
}

/// Counters of a UE in one direction since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkStats {
    /// TTIs with a transmission.
    pub ttis: u64,
    /// New transport blocks.
    pub blocks: u64,
    /// Retransmissions.
    pub retransmissions: u64,
    /// Transmissions that were not decoded, control channel errors included.
    pub errors: u64,
    /// Of these, transmissions whose assignment was missed.
    pub missed: u64,
    /// Transport blocks given up.
    pub lost: u64,
    /// Bytes of new transport blocks.
    pub bytes: u64,
    /// Bytes of decoded transport blocks.
    pub decoded_bytes: u64,
    /// Resource blocks used, over all TTIs.
    pub resource_blocks: u64,
    /// Sum of I_MCS over the new transport blocks.
    pub mcs_sum: u64,
    /// CQI reports that were used, and the sum of their wideband CQI.
    pub reports: u64,
    /// See `reports`.
    pub cqi_sum: u64,
    /// Transmissions with a known SINR, and the sum of its effective value [dB].
    pub sinr_count: u64,
    /// See `sinr_count` [dB].
    pub sinr_db_sum: f64,
    /// Uplink: retransmissions that a grant has moved to other resource blocks.
    pub moved: u64,
    /// Uplink: requests sent (scheduling requests on PUCCH, or RACs).
    pub requests: u64,
    /// Uplink: preambles of random access sent.
    pub preambles: u64,
    /// Uplink: bytes of padding in new transport blocks.
    pub padding_bytes: u64,
    /// Uplink: transmissions on PUSCH, and the sum of their power [dBm].
    pub power_count: u64,
    /// See `power_count` [dBm].
    pub power_dbm_sum: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Updates TTI by TTI and the closed form give the same number.
    #[test]
    fn the_average_is_a_closed_form_of_time() {
        let window = &Window::new(99.0);
        // The decay of few TTIs is stored, that of many is computed.
        for end in [20, 100] {
            let (mut stepwise, mut lazy) = (Average::default(), Average::default());
            for average in [&mut stepwise, &mut lazy] {
                average.serve(Tti(3), 99_000.0, window);
            }
            // (1 - 1/99) * 1 (the floor) + 1000.
            assert!((lazy.at(Tti(4), window) - 1000.99).abs() < 0.01);
            for t in 5..end {
                stepwise.at(Tti(t), window);
            }
            assert!((stepwise.at(Tti(end), window) / lazy.at(Tti(end), window) - 1.0).abs() < 1e-12);
            assert_eq!(lazy.at(Tti(1_000_000_000), window), FLOOR);
        }
        // Two code words of a TTI are one R.
        let (mut both, mut sum) = (Average::default(), Average::default());
        (1..9).for_each(|t| {
            both.serve(Tti(t), 300.0, window);
            both.serve(Tti(t), 700.0, window);
            sum.serve(Tti(t), 1000.0, window);
        });
        assert!((both.at(Tti(9), window) / sum.at(Tti(9), window) - 1.0).abs() < 1e-12);
        let (mut short, window) = (Average::default(), &Window::new(1.0));
        short.serve(Tti(0), 500.0, window);
        assert_eq!((short.at(Tti(1), window), short.at(Tti(2), window)), (500.0, FLOOR));
    }

    /// The greatest common divisor of the intervals 20 and 32 is 4: phases 1 and 5 coincide (at 101
    /// = 1 mod 20 = 5 mod 32), phases 1 and 2 never do.
    #[test]
    fn occasions_meet_where_their_phases_agree() {
        let of = |interval| Persistent::new(PersistentConfig { interval, ..PersistentConfig::default() });
        let (a, b) = (of(20), of(32));
        assert!(a.is_occasion(Tti(101), 1) && b.is_occasion(Tti(101), 5));
        for (p, q) in [(1, 5), (1, 2), (0, 4), (3, 0), (19, 31)] {
            let together = (0..2000).any(|t| a.is_occasion(Tti(t), p) && b.is_occasion(Tti(t), q));
            assert_eq!(a.meets(p, &b, q), together, "{p} {q}");
        }
    }

    #[test]
    fn gains_are_those_of_the_transmission_mode() {
        let mode = |mode| MimoConfig { mode, ..MimoConfig::default() };
        assert_eq!((mode(1).one_layer(), mode(1).two_layers()), (1.0, None));
        assert!((mode(2).one_layer() - 2.6303).abs() < 1e-4 && mode(2).two_layers().is_none());
        assert!((mode(3).two_layers().unwrap() - 0.5248).abs() < 1e-4);
    }

    #[test]
    fn mistakes_name_their_key() {
        let wrong = |change: fn(&mut DownlinkConfig)| {
            let mut c = DownlinkConfig::default();
            change(&mut c);
            c.validate().unwrap_err().key
        };
        assert_eq!(DownlinkConfig::default().validate(), Ok(vec![]));
        assert_eq!(wrong(|c| c.window = 0.0), "window");
        assert_eq!(wrong(|c| c.harq.transmissions = 0), "harq.transmissions");
        assert_eq!(wrong(|c| c.cqi.period = 0), "cqi.period");
        assert_eq!(wrong(|c| c.amc = AmcConfig::Piro(PiroConfig { ber: 0.5 })), "amc.ber");
        assert_eq!(
            wrong(|c| c.drx = Some(DrxConfig { on_duration: 0, ..DrxConfig::default() })),
            "drx.on_duration"
        );
    }
}
