//! Link adaptation of the downlink: the reports of a UE, and the MCS that the eNB derives from
//! them.
//!
//! The UE measures the SINR of every resource block and reports one CQI for the band and, if
//! configured, one per sub-band (TS 36.213 clause 7.2). The eNB stores each as a **level**: the
//! SINR [dB] that the CQI's MCS needs. Averages of reports and the outer loop's offset act on
//! levels; the MCS is the largest one whose needed SINR does not exceed the level.

use lasthop_engine::math::{db, exp};
use lasthop_radio::lte::{
    Amc, AmcMode, Bandwidth, Cqi, CqiOfParts, MI_PARTS_MAX, Mcs, McsTable, Olla, OllaConfig, PartCqi,
    piro_gamma, tbs_bits,
};
use lasthop_units::Tti;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::allocation::{Band, GROUPS_MAX, Groups, Rates, bits, forbid};
use crate::phy::air::{LOOK_BACK, Scheme, layers_of};
use lasthop_bearer::{ConfigError, Warning, check};

/// Contents and times of a UE's reports about the downlink.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CqiConfig {
    /// TTIs between reports, 1 to 160 (TS 36.213 clause 7.2.2: 2, 5, 10, 20, 40, 80, 160, or 1 as
    /// in simulators).
    pub period: u64,
    /// TTIs from the measurement to the first downlink that may use it: the report refers to a
    /// subframe at least 4 before it is sent (TS 36.213 clause 7.2.3), and the eNB needs time
    /// to read it. At most 64.
    pub delay: u64,
    /// The parts of the band that have a CQI besides the wideband one.
    pub subbands: Subbands,
    /// The offset of a sub-band's CQI from the wideband one is coded in 2 bits: 0, +1, +2 or more,
    /// -1 or less (TS 36.213 table 7.2.1-2).
    pub differential: bool,
    /// Weight of the newest report in the eNB's average of levels, above 0 to 1; 1: no averaging.
    pub average: f64,
    /// The interference that a report contains.
    pub interference: CqiInterference,
}

/// The parts of the band that have a CQI each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Subbands {
    /// None: wideband reports only.
    None,
    /// The sub-bands of TS 36.213 table 7.2.1-3 (8 resource blocks at 20 MHz).
    #[default]
    Standard,
    /// Every resource block group (ns-3).
    Group,
}

/// The interference that a CQI contains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CqiInterference {
    /// Every other cell at full power: the interference to reference signals and control channels,
    /// which are always sent.
    #[default]
    Reference,
    /// The other cells' data on exactly the blocks that they use in the TTI of the measurement.
    Data,
}

impl Default for CqiConfig {
    fn default() -> Self {
        CqiConfig {
            period: 5,
            delay: 6,
            subbands: Subbands::Standard,
            differential: true,
            average: 1.0,
            interference: CqiInterference::Reference,
        }
    }
}

impl CqiConfig {
    /// Refuses invalid values.
    pub fn validate(&self) -> Result<Vec<Warning>, ConfigError> {
        check((1..=160).contains(&self.period), "period", "1 to 160 TTIs")?;
        check(self.delay <= 64, "delay", "0 to 64 TTIs")?;
        check(
            self.interference == CqiInterference::Reference || self.period + self.delay < LOOK_BACK,
            "interference",
            "with \"data\", `period` and `delay` together must be below 128 TTIs: older transmissions are not stored",
        )?;
        check(
            self.average > 0.0 && self.average <= 1.0,
            "average",
            "above 0 to 1 (1: only the newest report)",
        )?;
        Ok(Vec::new())
    }

    /// The TTI of the measurement that the eNB uses in `tti`: one every `period`, at the UE's
    /// `phase`. Before the first one is `delay` old, the first one.
    #[inline]
    pub const fn measured(&self, tti: Tti, phase: u64) -> Tti {
        let phase = phase % self.period;
        let known = tti.0.saturating_sub(self.delay);
        if known < phase {
            return Tti(phase.saturating_sub(self.period));
        }
        Tti(known - (known - phase) % self.period)
    }

    /// The first TTI in which the eNB uses a newer measurement than that of the TTI `measured`.
    pub const fn used_until(&self, measured: Tti, phase: u64) -> Tti {
        let phase = phase % self.period;
        // The first measurement may be used before its phase.
        let next = if measured.0 < phase { phase } else { measured.0 + self.period };
        Tti(next + self.delay)
    }

    /// True if the measurement that the eNB uses in `tti` does not depend on transmissions in
    /// `tti`: reports of other cells' data are of earlier TTIs, which are still stored.
    pub fn reads_earlier_ttis(&self, tti: Tti) -> bool {
        let back = self.delay + self.period;
        self.interference == CqiInterference::Reference || (self.delay > 0 && tti.0 > 0 && back < LOOK_BACK)
    }
}

/// How the MCS of an allocation follows from its groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum McsRule {
    /// The MCS of the mean rate over the groups.
    #[default]
    Mean,
    /// The lowest MCS of all groups (ns-3).
    Lowest,
    /// The MCS of the wideband report, for all groups.
    Wideband,
}

/// Most sub-bands of a report: one per group of a carrier of 110 blocks.
pub const SUBBANDS_MAX: usize = GROUPS_MAX;
const _: () = assert!(SUBBANDS_MAX <= MI_PARTS_MAX, "a CQI for each");

/// Number of MCS with a transport block size, at most 29.
const MCS_COUNT: usize = 29;

/// Margin for rounding, so that the level of an MCS's need gives this MCS [dB].
const ROUNDING_DB: f32 = 1e-4;

/// In place of an MCS: no transmission is possible.
const OUT_OF_RANGE: u8 = u8::MAX;

/// Levels, MCS and rates of a cell.
#[derive(Clone, Debug)]
pub struct Adaptation {
    amc: Amc,
    mcs_table: McsTable,
    /// By MCS: the lowest level [dB] at which it may be used; ascending.
    needed_db: Vec<f32>,
    /// By CQI: its level [dB].
    level: [f32; 1 + Cqi::MAX.index() as usize],
    /// By MCS: bits of one resource block, overheads of the code included.
    rate: Vec<f32>,
    rule: McsRule,
    blocks: usize,
    subband: usize,
    group: usize,
    /// By group: the sub-band of its first block.
    subband_of: [u8; SUBBANDS_MAX],
}

impl Adaptation {
    /// For a carrier of `bandwidth` with the CQIs of `amc`.
    pub fn new(amc: Amc, bandwidth: Bandwidth, subbands: Subbands, rule: McsRule) -> Adaptation {
        let mcs_table = amc.table().mcs_table();
        let mcs = || (0..=mcs_table.largest().index()).map(Mcs::new);
        let needed_db: Vec<f32> = mcs().map(|m| needed_db(&amc, m) as f32).collect();
        let level = std::array::from_fn(|cqi| {
            amc.mcs(Cqi::new(cqi as u8)).map_or(f32::NEG_INFINITY, |m| needed_db[usize::from(m.index())])
        });
        // 10 blocks: so large that the CRC and the steps of the table are negligible.
        let rate = |m: Mcs| m.i_tbs(mcs_table).and_then(|i| tbs_bits(10, i)).map_or(0.0, |b| b as f32 / 10.0);
        let rate: Vec<f32> = mcs().map(rate).collect();
        let blocks = bandwidth.prbs();
        let group = bandwidth.rbg_size();
        let subband = match subbands {
            Subbands::None => blocks,
            Subbands::Standard => bandwidth.subband_size(),
            Subbands::Group => group,
        };
        debug_assert!(rate.len() <= MCS_COUNT);
        debug_assert!(subband.is_multiple_of(group) || subband == blocks, "sub-bands of whole groups");
        let subband_of = std::array::from_fn(|g| (g * group / subband) as u8);
        Adaptation { amc, mcs_table, needed_db, level, rate, rule, blocks, subband, group, subband_of }
    }

    /// Resource blocks of a sub-band.
    pub const fn subband(&self) -> usize {
        self.subband
    }

    /// The table of MCS.
    pub const fn mcs_table(&self) -> McsTable {
        self.mcs_table
    }

    /// The CQI of a UE with the linear SINRs `sinr`, over all of them.
    pub fn cqi(&self, sinr: &[f32]) -> Cqi {
        self.amc.cqi(sinr)
    }

    /// A report of a UE whose blocks have the linear SINRs `sinr`, all of the carrier.
    #[inline]
    pub fn measure(&self, sinr: &[f32], config: &CqiConfig) -> Report {
        debug_assert_eq!(sinr.len(), self.blocks);
        let coding = if config.differential { PartCqi::Offset } else { PartCqi::Own };
        let CqiOfParts { all, parts } = self.amc.cqi_of_parts(sinr, self.subband, coding);
        let mut report = Report::of(all);
        report.subbands.copy_from_slice(&parts[..SUBBANDS_MAX]);
        report
    }

    /// The level of `cqi` [dB]; minus infinity out of range.
    fn level(&self, cqi: Cqi) -> f32 {
        self.level[usize::from(cqi.index())]
    }

    /// The largest MCS that level `db` allows; MCS 0 for any level that is in range at all.
    fn mcs_at(&self, db: f32) -> Option<u8> {
        let allowed = self.needed_db.partition_point(|needed| *needed <= db + ROUNDING_DB);
        (db > f32::NEG_INFINITY).then(|| allowed.saturating_sub(1) as u8)
    }

    /// Updates [`Quality::rates`] of a UE that may use the groups `allowed`.
    #[inline]
    pub fn update_rates(&self, quality: &mut Quality, allowed: Groups) {
        let second = quality.second.as_ref().is_some_and(|second| second.stale) && quality.code_words() == 2;
        if quality.stale || second || quality.rates_of != Some(allowed) {
            self.work_out_rates(quality, allowed);
        }
    }

    /// Computes the rates of all code words of `quality` on the groups `allowed`.
    #[inline(never)]
    fn work_out_rates(&self, quality: &mut Quality, allowed: Groups) {
        self.work_out(quality);
        let Quality { second, report, rates, rates_of, .. } = quality;
        if let Some(second) = second.as_deref_mut().filter(|_| report.scheme.layers() > 1) {
            if second.stale {
                self.work_out(second);
            }
            rates.iter_mut().zip(second.rates).for_each(|(sum, rate)| *sum += rate);
        }
        if allowed != Groups::MAX {
            forbid(rates, allowed);
        }
        *rates_of = Some(allowed);
    }

    /// Computes MCS and rates of `quality` from its levels.
    fn work_out(&self, quality: &mut Quality) {
        let offset = quality.offset();
        let subbands = self.blocks.div_ceil(self.subband);
        // How far the offset may change before an MCS changes.
        let (mut down, mut up) = (f32::INFINITY, f32::INFINITY);
        let mut mcs_of = |level: f32| {
            let db = level + offset;
            let mcs = usize::from(self.mcs_at(db)?);
            down = down.min(if mcs == 0 { f32::INFINITY } else { db - self.needed_db[mcs] + ROUNDING_DB });
            up = up.min(self.needed_db.get(mcs + 1).map_or(f32::INFINITY, |n| n - db - ROUNDING_DB));
            Some(mcs as u8)
        };
        let layers = f32::from(quality.layers);
        let rate = |mcs: u8| self.rate.get(usize::from(mcs)).map_or(0.0, |r| r * layers);
        quality.wideband_mcs = mcs_of(quality.wideband).unwrap_or(OUT_OF_RANGE);
        let wideband = (quality.wideband, quality.wideband_mcs, rate(quality.wideband_mcs));
        quality.wideband_rate = wideband.2 * self.blocks as f32;
        // Without averages a differential report has four levels at most: each is searched once.
        let mut found = [wideband; 4];
        let mut next = 1;
        // Every sub-band has whole groups, only the last one may have fewer.
        let rates = quality.rates.chunks_mut(self.subband.div_ceil(self.group));
        for ((level, mcs), rates) in quality.levels[..subbands].iter().zip(&mut quality.mcs).zip(rates) {
            let of = found.iter().find(|of| of.0 == *level).copied().unwrap_or_else(|| {
                let mcs = mcs_of(*level).unwrap_or(OUT_OF_RANGE);
                found[next % found.len()] = (*level, mcs, rate(mcs));
                next += 1;
                found[(next - 1) % found.len()]
            });
            *mcs = of.1;
            rates.fill(of.2);
        }
        quality.holds = (offset - down, offset + up);
        quality.stale = false;
        quality.rates_of = None;
    }

    /// Bits of a resource block at `cqi`; 0 out of range.
    pub fn rate_of(&self, cqi: Cqi) -> f32 {
        self.amc.mcs(cqi).map_or(0.0, |m| self.rate[usize::from(m.index())])
    }

    /// Bits of a transport block of one layer on `blocks` resource blocks at `cqi`; 0 out of range.
    pub fn block_bits(&self, cqi: Cqi, blocks: usize) -> u32 {
        let mcs = self.amc.mcs(cqi).map(|m| m.decodable_on(self.mcs_table, blocks));
        mcs.and_then(|m| m.i_tbs(self.mcs_table)).and_then(|i| tbs_bits(blocks, i)).unwrap_or(0)
    }

    /// The MCS for a transport block on the groups `given`, at least one; None if one of them is
    /// out of range.
    pub fn mcs(&self, quality: &mut Quality, band: &Band, given: Groups) -> Option<Mcs> {
        debug_assert!(given != 0, "no groups");
        if quality.stale {
            self.work_out(quality);
        }
        let usable = |mcs: u8| (mcs != OUT_OF_RANGE).then_some(mcs);
        let (mut lowest, mut highest) = (u8::MAX, 0);
        let mcs_of = |g: u32| quality.mcs[usize::from(self.subband_of[g as usize])];
        for mcs in bits(given).map(mcs_of) {
            (lowest, highest) = (lowest.min(mcs), highest.max(mcs));
        }
        // Out of range is above every MCS.
        match self.rule {
            McsRule::Wideband => usable(quality.wideband_mcs),
            _ if lowest == highest => usable(lowest),
            McsRule::Lowest => usable(highest).map(|_| lowest),
            McsRule::Mean => usable(highest).map(|_| {
                // Only the last group may be short.
                let last = band.groups() - 1;
                let size = band.len(0) as f32;
                let rate = |g| self.rate[usize::from(mcs_of(g))];
                let mut sum = bits(given & !(1 << last)).fold(0.0, |sum, g| sum + size * rate(g));
                if given >> last & 1 == 1 {
                    sum += band.len(last) as f32 * rate(last);
                }
                // The margin is for rounding.
                let mean = sum / band.count(given) as f32 * 1.000_01;
                let of_mean = self.rate.partition_point(|r| *r <= mean).saturating_sub(1) as u8;
                of_mean.min(highest).max(lowest)
            }),
        }
        .map(Mcs::new)
    }
}

/// The SINR [dB] from which `mcs` may be used: where the error rate of its block on the CSI
/// reference resource is the target, or where Piro's formula gives its efficiency.
fn needed_db(amc: &Amc, mcs: Mcs) -> f64 {
    match amc.mode() {
        AmcMode::Piro { ber } => {
            let ln2_efficiency = std::f64::consts::LN_2 * mcs.rounded_efficiency();
            db(piro_gamma(ber) * (exp(ln2_efficiency) - 1.0))
        }
        AmcMode::BlerTarget { .. } => amc.needed_db(mcs).unwrap_or(f64::INFINITY),
    }
}

/// A CQI report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// Rank indicator and precoder for which the CQIs hold.
    pub scheme: Scheme,
    /// CQI of the whole carrier.
    pub wideband: Cqi,
    /// CQI by sub-band.
    pub subbands: [u8; SUBBANDS_MAX],
    /// CQIs of the second code word, where it has CQIs of its own; those above are of the first one
    /// then.
    pub second: Option<CodeWordReport>,
}

/// The report of a second code word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeWordReport {
    /// CQI of the whole carrier.
    pub wideband: Cqi,
    /// CQI by sub-band.
    pub subbands: [u8; SUBBANDS_MAX],
}

impl Report {
    /// The report of one layer with the CQI `wideband` in all sub-bands.
    pub const fn of(wideband: Cqi) -> Report {
        let subbands = [wideband.index(); SUBBANDS_MAX];
        Report { scheme: Scheme::Diversity, wideband, subbands, second: None }
    }

    /// The report for transmissions of `scheme`, with the second code word's CQIs.
    #[must_use]
    pub fn under(self, scheme: Scheme, second: Option<&Report>) -> Report {
        let second = second.map(|r| CodeWordReport { wideband: r.wideband, subbands: r.subbands });
        Report { scheme, second, ..self }
    }
}

/// All that a report of a cell depends on. Reports with the same basis are equal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Basis {
    /// Number of the state of the channel.
    pub channel: u64,
    /// P_A, linear.
    pub boost: f32,
}

/// The eNB's record of the downlink channel of a UE.
#[derive(Clone, Debug)]
pub struct Quality {
    /// TTI from which the eNB uses a newer measurement than that of the last report.
    until: Tti,
    /// The newest report.
    report: Report,
    /// The basis of the newest report, if it is known.
    basis: Option<Basis>,
    /// Level of the carrier [dB].
    wideband: f32,
    /// Levels by sub-band [dB].
    levels: [f32; SUBBANDS_MAX],
    olla: Option<Olla>,
    /// Layers to which the levels apply: those of all code words with the same CQIs.
    layers: u8,
    /// The record of the second code word, where it has had CQIs of its own.
    second: Option<Box<Quality>>,
    /// Levels, layers or offset have changed since the fields below were computed.
    stale: bool,
    /// Offsets between which the fields below hold [dB].
    holds: (f32, f32),
    /// MCS by sub-band and of the carrier.
    mcs: [u8; SUBBANDS_MAX],
    wideband_mcs: u8,
    /// Bits that a block of each group, and the whole carrier, would carry on all layers [bit].
    rates: Rates,
    wideband_rate: f32,
    /// The groups with which `rates` has become that of all code words; None: it is that of one.
    rates_of: Option<Groups>,
}

impl Quality {
    /// Without a report. With `olla` the outer loop corrects the levels.
    pub fn new(olla: Option<OllaConfig>) -> Quality {
        Quality {
            until: Tti(0),
            report: Report::of(Cqi::OUT_OF_RANGE),
            basis: None,
            wideband: f32::NEG_INFINITY,
            levels: [f32::NEG_INFINITY; SUBBANDS_MAX],
            olla: olla.map(Olla::new),
            layers: 1,
            second: None,
            stale: true,
            holds: (0.0, 0.0),
            mcs: [OUT_OF_RANGE; SUBBANDS_MAX],
            wideband_mcs: OUT_OF_RANGE,
            rates: [0.0; SUBBANDS_MAX],
            wideband_rate: 0.0,
            rates_of: None,
        }
    }

    /// True if the last report is of the measurement that the eNB uses in `tti`.
    #[inline]
    pub fn is_current(&self, tti: Tti) -> bool {
        tti < self.until
    }

    /// The report that follows from `basis`: the newest one, if it has this basis, otherwise that
    /// of `measure`.
    #[inline]
    pub fn report_of(&mut self, basis: Option<Basis>, measure: impl FnOnce() -> Report) -> Report {
        if basis.is_some() && basis == self.basis {
            return self.report;
        }
        self.basis = basis;
        measure()
    }

    /// Takes in a report, the newest one until `until`.
    pub fn learn(&mut self, until: Tti, report: &Report, adaptation: &Adaptation, config: &CqiConfig) {
        self.until = until;
        let weight = config.average as f32;
        if weight >= 1.0 && *report == self.report {
            return;
        }
        self.report = *report;
        let blend = |old: f32, new: f32| {
            // Out of range is not a number to average with.
            if weight >= 1.0 || old == f32::NEG_INFINITY || new == f32::NEG_INFINITY {
                new
            } else {
                old + weight * (new - old)
            }
        };
        self.stale = true;
        self.layers = report.scheme.layers();
        if let Some(second) = &report.second {
            self.layers = layers_of(report.scheme.layers(), 0).1 as u8;
            let olla = &self.olla;
            let of = self.second.get_or_insert_with(|| {
                let mut of = Quality::new(None);
                of.olla = olla.as_ref().map(Olla::restarted);
                Box::new(of)
            });
            let alone = Report {
                scheme: Scheme::Diversity,
                wideband: second.wideband,
                subbands: second.subbands,
                second: None,
            };
            of.learn(until, &alone, adaptation, config);
            // Rates are those of all its layers, and its CQIs may be the same with another rank.
            let layers = layers_of(report.scheme.layers(), 1).1 as u8;
            of.stale |= of.layers != layers;
            of.layers = layers;
        }
        self.wideband = blend(self.wideband, adaptation.level(report.wideband));
        let count = adaptation.blocks.div_ceil(adaptation.subband);
        for (level, cqi) in self.levels.iter_mut().zip(report.subbands).take(count) {
            *level = blend(*level, adaptation.level(Cqi::new(cqi)));
        }
    }

    /// True if any transmission is possible.
    pub const fn in_range(&self) -> bool {
        self.wideband > f32::NEG_INFINITY
    }

    /// Rank and precoder of the newest report.
    pub const fn scheme(&self) -> Scheme {
        self.report.scheme
    }

    /// Code words that the newest report gives, 1 or 2.
    pub const fn code_words(&self) -> usize {
        if self.report.scheme.layers() > 1 { 2 } else { 1 }
    }

    /// The record of `code_word`: that of the first one, where the second has no CQIs of its own.
    pub fn of(&mut self, code_word: usize) -> &mut Quality {
        if code_word == 1 && self.second.is_some() {
            return self.second.as_mut().unwrap_or_else(|| unreachable!("it is there"));
        }
        self
    }

    /// What each block of each group would carry on all layers [bit], as last updated
    /// ([`Adaptation::update_rates`]); 0: no transmission is possible.
    #[inline]
    pub const fn rates(&self) -> &Rates {
        &self.rates
    }

    /// Bits of the whole carrier at the wideband rate on all layers, as last computed.
    pub fn wideband_rate(&self) -> f32 {
        let second = self.second.as_deref().filter(|_| self.report.scheme.layers() > 1);
        self.wideband_rate + second.map_or(0.0, |s| s.wideband_rate)
    }

    /// Takes in whether a first transmission was acknowledged.
    pub fn first_transmission(&mut self, acknowledged: bool) {
        if let Some(olla) = &mut self.olla {
            olla.first_transmission(acknowledged);
            let offset = self.offset();
            self.stale |= offset < self.holds.0 || offset >= self.holds.1;
        }
    }

    /// The outer loop's offset [dB].
    pub fn offset(&self) -> f32 {
        self.olla.as_ref().map_or(0.0, |o| o.offset().0 as f32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_engine::math::from_db;
    use lasthop_radio::lte::{CqiRounding, CqiTable};

    fn adaptation(mode: AmcMode, subbands: Subbands, rule: McsRule) -> Adaptation {
        Adaptation::new(Amc::new(mode, CqiTable::Qam64), Bandwidth::Mhz5, subbands, rule)
    }

    const TARGET: AmcMode = AmcMode::BlerTarget { target: 0.1, prbs: 2, rounding: CqiRounding::AtMost };
    const PIRO: AmcMode = AmcMode::Piro { ber: 5e-5 };

    /// The second of three layers' code words carries two of them (TS 36.211 table 6.3.3.2-1), the
    /// second of two layers' one: the rates follow the rank, also if the CQIs stay.
    #[test]
    fn rates_follow_the_rank_when_cqis_stay() {
        let (config, a) = (CqiConfig::default(), adaptation(TARGET, Subbands::Group, McsRule::Mean));
        let flat = a.measure(&[from_db(20.0) as f32; 25], &config);
        let of_rank = |rank| flat.under(Scheme::OpenLoop(rank), Some(&flat));
        let mut quality = Quality::new(None);
        for (rank, layers) in [(2, 2.0), (3, 3.0), (2, 2.0)] {
            quality.learn(Tti(0), &of_rank(rank), &a, &config);
            a.update_rates(&mut quality, Groups::MAX);
            assert_eq!(quality.rates()[0], layers * a.rate_of(flat.wideband), "rank {rank}");
            assert_eq!(quality.wideband_rate(), 25.0 * layers * a.rate_of(flat.wideband), "rank {rank}");
        }
    }

    /// 15.87, 13.93, 9.49 and 3.47 dB (ns-3's scheduler tests): CQI 12, 11, 9, 5 and their MCS, for
    /// single groups and over the band.
    #[test]
    fn a_flat_channel_gives_the_mcs_of_its_cqi_by_every_rule() {
        let band = Band::new(25, 2, true);
        let config = CqiConfig::default();
        for rule in [McsRule::Mean, McsRule::Lowest, McsRule::Wideband] {
            let a = adaptation(TARGET, Subbands::Group, rule);
            for (snr_db, cqi, mcs) in [(15.87, 12, 22), (13.93, 11, 20), (9.49, 9, 16), (3.47, 5, 8)] {
                let report = a.measure(&[from_db(snr_db) as f32; 25], &config);
                assert_eq!(report.wideband.index(), cqi, "{snr_db} dB");
                let mut quality = Quality::new(None);
                quality.learn(Tti(0), &report, &a, &config);
                assert_eq!(a.mcs(&mut quality, &band, 1), Some(Mcs::new(mcs)), "{rule:?} {snr_db} dB");
                assert_eq!(
                    a.mcs(&mut quality, &band, band.all()),
                    Some(Mcs::new(mcs)),
                    "{rule:?} {snr_db} dB"
                );
            }
        }
    }

    /// Levels of Piro's model are the inverse of its formula: every CQI gives its own MCS.
    #[test]
    fn levels_of_both_models_return_the_mcs_of_the_cqi() {
        for mode in [TARGET, PIRO] {
            let a = adaptation(mode, Subbands::None, McsRule::Wideband);
            assert!(a.needed_db.is_sorted(), "{mode:?}");
            for cqi in Cqi::usable() {
                assert_eq!(a.mcs_at(a.level(cqi)).map(Mcs::new), a.amc.mcs(cqi), "{mode:?} {cqi:?}");
            }
            assert_eq!(a.mcs_at(a.level(Cqi::OUT_OF_RANGE)), None);
        }
    }

    /// Half of the band at 20 dB, half at 0 dB: the lowest rule gives the worst MCS, the mean one
    /// between, a single group its own.
    #[test]
    fn sub_bands_differ() {
        let a = adaptation(TARGET, Subbands::Group, McsRule::Lowest);
        let mean = adaptation(TARGET, Subbands::Group, McsRule::Mean);
        let band = Band::new(25, 2, true);
        let sinr: Vec<f32> = (0..25).map(|b| if b < 12 { 100.0 } else { 1.0 }).collect();
        let exact = CqiConfig { differential: false, ..CqiConfig::default() };
        let mut quality = Quality::new(None);
        quality.learn(Tti(0), &a.measure(&sinr, &exact), &a, &exact);
        let (good, bad) =
            (a.mcs(&mut quality, &band, 1).unwrap(), a.mcs(&mut quality, &band, 1 << 11).unwrap());
        assert!(good > bad);
        assert_eq!(a.mcs(&mut quality, &band, band.all()), Some(bad));
        let between = mean.mcs(&mut quality, &band, band.all()).unwrap();
        assert!(bad < between && between < good);
    }

    /// Period 5, delay 6, phase 2: measurements at 2, 7, 12...; TTI 13 uses the one of 7, TTI 12
    /// that of 2.
    #[test]
    fn the_measurement_in_use_is_the_newest_that_is_old_enough() {
        let c = CqiConfig { period: 5, delay: 6, ..CqiConfig::default() };
        let known: Vec<u64> = [8, 12, 13, 17, 18, 1000].map(|t| c.measured(Tti(t), 2).0).to_vec();
        assert_eq!(known, [2, 2, 7, 7, 12, 992]);
        let every = CqiConfig { period: 1, delay: 0, ..c };
        assert_eq!(every.measured(Tti(9), 3), Tti(9));
        for (period, delay, phase) in [(5, 6, 2), (5, 6, 0), (5, 6, 13), (1, 0, 3), (40, 64, 39), (10, 0, 7)]
        {
            let c = CqiConfig { period, delay, ..c };
            for tti in 0..300 {
                let measured = c.measured(Tti(tti), phase);
                let until = c.used_until(measured, phase);
                assert!(until > Tti(tti) && c.measured(until, phase) != measured, "{period} {delay} {tti}");
                assert_eq!(c.measured(Tti(until.0 - 1), phase), measured, "{period} {delay} {tti}");
            }
        }
    }

    /// A NACK lowers the level by 0.5 dB; 20 of them, 10 dB, lower the MCS by about ten.
    #[test]
    fn the_outer_loop_moves_the_mcs() {
        let a = adaptation(TARGET, Subbands::None, McsRule::Wideband);
        let band = Band::new(25, 2, true);
        let config = CqiConfig::default();
        let mut quality = Quality::new(Some(OllaConfig::default()));
        quality.learn(Tti(0), &a.measure(&[from_db(15.87) as f32; 25], &config), &a, &config);
        assert_eq!(a.mcs(&mut quality, &band, 1), Some(Mcs::new(22)));
        (0..20).for_each(|_| quality.first_transmission(false));
        let lowered = a.mcs(&mut quality, &band, 1).unwrap().index();
        assert!((10..=12).contains(&lowered), "{lowered}");
    }
}
