//! What UEs measure and report, and what the eNB knows of it when it schedules.
//!
//! A report is a function of its TTI: it is worked out when the eNB first uses it, so an idle UE
//! costs nothing.

use std::sync::LazyLock;

use lasthop_radio::lte::{Modulation, control_error, mean_mi_of, sinr_db_of_mi};
use lasthop_units::{CellId, Tti, UeId};

use super::state::{Cell, DownlinkContext, DownlinkLink, DownlinkUe};
use super::{CellConfig, NetworkConfig, UeConfig};
use crate::mac::adaptation::{CqiInterference, Report};
use crate::phy::air::{Air, CellAir, CellAntennas, CodeWordSinr, Scheme, UeAir, UeAntennas};
use crate::phy::fading::{DirectFading, FastFading};
use crate::phy::propagation::UeRadioConfig;
use crate::phy::{NUMEROLOGY, RbSet};

/// The air of `config`.
pub(super) fn air(config: &NetworkConfig, seed: u64) -> Air {
    let cells: Vec<CellAir> = config
        .cells
        .iter()
        .map(|c| CellAir {
            power: c.radio.power,
            noise_figure: c.radio.noise_figure,
            blocks: c.resource_blocks,
        })
        .collect();
    let ues: Vec<UeAir> = config
        .ues
        .iter()
        .map(|u| UeAir { noise_figure: u.radio.noise_figure, pinned_sinr: u.radio.pinned_sinr })
        .collect();
    let frequencies = [config.radio.downlink, config.radio.uplink];
    let propagation = config.propagation(seed);
    let looks_back = config.cells.iter().any(|c| c.downlink.cqi.interference == CqiInterference::Data);
    let (blocks, speeds) = (cells.iter().map(|c| c.blocks), config.ues.iter().map(UeConfig::fading_speed));
    let fading = FastFading::new(NUMEROLOGY, config.radio.fading, blocks, speeds, frequencies, seed);
    let (faded, block) = (config.radio.faded_interferers.count(), NUMEROLOGY.block());
    let mut air = Air::new(&cells, &ues, block, propagation, fading, faded, looks_back);
    let [cell_correlation, ue_correlation] = [config.radio.cell_correlation, config.radio.ue_correlation];
    let receive = if config.cells.iter().any(|c| c.transmit_antennas() > 1) { 2 } else { 1 };
    air.set_antennas(
        config.cells.iter().map(cell_antennas).collect(),
        config.ues.iter().map(|u| ue_antennas(&u.radio, receive)).collect(),
        [cell_correlation, ue_correlation],
    );
    if !(config.pairs.is_empty() && config.groups.is_empty()) {
        let (most, speeds) = (
            cells.iter().map(|c| c.blocks).max().unwrap_or(0),
            config.ues.iter().map(UeConfig::fading_speed),
        );
        let profile = config.radio.sidelink_fading;
        let fading = DirectFading::new(NUMEROLOGY, profile, most, speeds, config.radio.uplink, seed);
        air.set_direct_fading(fading);
    }
    air
}

fn cell_antennas(cell: &CellConfig) -> CellAntennas {
    let (radio, transmit) = (&cell.radio, cell.transmit_antennas());
    CellAntennas { transmit, receive: radio.receive_antennas as usize, combining: radio.combining }
}

fn ue_antennas(radio: &UeRadioConfig, usual: u32) -> UeAntennas {
    let receive = radio.receive_antennas.unwrap_or(usual) as usize;
    UeAntennas { receive, combining: radio.combining }
}

/// Every fourth block stands for the band: the PDCCH is spread over all of it.
const CONTROL_STEP: usize = 4;
/// Mutual information of QPSK at 0 dB is 0.486: nobody misses the control channels there, and the
/// SINR need not be worked out.
const CONTROL_SAFE: f32 = 0.5;
/// Steps of a draw in which [`safe`] knows its bound.
const DRAWS: usize = 64;

/// Mutual information with which a draw `uniform` never means a miss.
fn safe(uniform: f64) -> f32 {
    static SAFE: LazyLock<[f32; DRAWS]> = LazyLock::new(|| {
        std::array::from_fn(|i| {
            let harmless =
                |mi: f32| control_error(sinr_db_of_mi(Modulation::Qpsk, mi)) <= i as f64 / DRAWS as f64;
            // The error falls with the information: the first of the steps from below that is
            // harmless.
            (0..100)
                .map(|step| CONTROL_SAFE * step as f32 / 100.0)
                .find(|mi| harmless(*mi))
                .unwrap_or(CONTROL_SAFE)
        })
    });
    SAFE[((uniform * DRAWS as f64) as usize).min(DRAWS - 1)]
}

/// Draws after one that needed the blocks of all links that look at them straight away. Nothing but
/// time depends on it.
const DOUBTS: u8 = 8;

/// A block's information is at least 0, but for a rounding of 0.001 in its look-up.
const ROUNDING: f32 = 0.01;

/// Information of the blocks at `places` of `row`, together.
fn information(row: &[f32], places: &[u8]) -> f32 {
    mean_mi_of(Modulation::Qpsk, row, places.iter().map(|i| usize::from(*i))) * places.len() as f32
}

/// Memory for a row of SINRs, and for those of code words.
#[derive(Debug, Default)]
pub(super) struct Memory {
    pub row: Vec<f32>,
    pub code_words: [CodeWordSinr; 2],
}

/// A UE and a cell.
#[derive(Clone, Copy)]
pub(super) struct CellOf<'a> {
    pub ue: UeId,
    pub id: CellId,
    pub cell: &'a Cell,
}

/// A UE that looks at the downlink of its cell.
pub(super) struct Observer<'a> {
    pub at: CellOf<'a>,
    /// P_A, linear. The UE knows it and reports what its data will have (TS 36.213 clause 7.2.3).
    pub boost: f32,
    pub air: &'a mut Air,
    pub memory: &'a mut Memory,
}

/// Brings what the eNB knows of the downlink to a UE to what it knows in `tti`.
#[inline]
pub(super) fn learn_quality(
    tti: Tti,
    at: CellOf<'_>,
    cx: &mut DownlinkContext,
    link: &mut DownlinkLink,
    air: &mut Air,
    memory: &mut Memory,
) {
    let config = &at.cell.config.downlink.cqi;
    let measured = config.measured(tti, link.phase);
    if cx.quality.measured != Some(measured) {
        let report = Observer { at, boost: link.boost, air, memory }.report(measured);
        cx.quality.learn(measured, &report, &at.cell.downlink.adaptation, config);
        link.stats.reports += 1;
        link.stats.cqi_sum += u64::from(report.wideband.index());
    }
}

impl Observer<'_> {
    /// What the UE finds in the TTI `measured`.
    pub fn report(&mut self, measured: Tti) -> Report {
        let CellOf { ue, id, cell } = self.at;
        let config = &cell.config.downlink;
        let physical = config.mimo.is_physical();
        if physical && let Some(report) = self.report_of_matrix(measured) {
            return report;
        }
        let (carrier, data) = (self.air.carrier(id), config.cqi.interference == CqiInterference::Data);
        let row = self.air.reference(measured, id, ue, carrier, data);
        let adaptation = &cell.downlink.adaptation;
        let boost = self.boost;
        // A link of a given SINR has no channel matrix: one layer, whatever the mode.
        let (one, two) = match physical {
            true => (boost, None),
            false => (boost * config.mimo.one_layer(), config.mimo.two_layers().map(|g| g * boost)),
        };
        let scaled = &mut self.memory.row;
        let mut under = |gain: f32| {
            if gain == 1.0 {
                return adaptation.measure(row, &config.cqi);
            }
            scaled.clear();
            scaled.extend(row.iter().map(|s| s * gain));
            adaptation.measure(scaled, &config.cqi)
        };
        let single = under(one);
        let mut report = single;
        if let Some(gain) = two {
            // The rank indicator: two layers where they carry more than one with transmit
            // diversity.
            let double = under(gain);
            let worth = 2.0 * adaptation.rate_of(double.wideband) > adaptation.rate_of(single.wideband);
            if worth || config.mimo.always_two_layers {
                report = double.under(Scheme::OpenLoop(2), None);
            }
        }
        report
    }
}

impl DownlinkUe {
    /// True if the UE, which is `ue`, misses what the control channels of `cell` say in `tti`.
    /// Control channels are never silent: every other cell interferes.
    pub fn misses_control(&mut self, tti: Tti, id: CellId, ue: UeId, cell: &Cell, air: &mut Air) -> bool {
        // What the draw is compared with falls with the information: with the draw known, some
        // blocks are enough to tell that it does not matter what the others have.
        let uniform = self.control_errors.uniform(tti.0);
        let control = &cell.control;
        let enough = (safe(uniform) + ROUNDING) * control.blocks;
        if self.surely_hears(tti, id, ue, control, enough, air) {
            debug_assert!(!control.misses_by(tti, id, ue, uniform, enough, air), "the bound is one");
            return false;
        }
        control.misses_by(tti, id, ue, uniform, enough, air)
    }

    /// True if what is known of the strongest interferers without a look at them brings `enough`
    /// information.
    fn surely_hears(
        &mut self,
        tti: Tti,
        id: CellId,
        ue: UeId,
        control: &ControlBlocks,
        enough: f32,
        air: &mut Air,
    ) -> bool {
        if self.in_doubt > 0 {
            self.in_doubt -= 1;
            return false;
        }
        let Some((rbs, places)) = control.parts.first() else { return false };
        let Some(row) = air.reference_at_least(tti, id, ue, *rbs) else { return false };
        let sure = information(row, places) > enough;
        self.in_doubt = if sure { 0 } else { DOUBTS };
        sure
    }
}

/// Every fourth block of a carrier in parts that fade together: those whose distance from the
/// middle is 0 to 7, 8 to 15 and so on.
#[derive(Debug)]
pub(super) struct ControlBlocks {
    /// The blocks of a part, and which of them are those of the control channels.
    parts: Vec<(RbSet, Vec<u8>)>,
    /// How many those are.
    blocks: f32,
}

impl ControlBlocks {
    /// Of a carrier of `blocks` resource blocks.
    pub fn new(blocks: u32) -> ControlBlocks {
        let near = |count: u32| {
            let low = (blocks / 2).saturating_sub(count);
            RbSet::range(low, blocks - 2 * low)
        };
        let part = |i: u32| {
            let ring = near(8 * i + 8).without(if i == 0 { RbSet::EMPTY } else { near(8 * i) });
            let fourth = ring.iter().enumerate().filter(|(_, b)| (*b as usize).is_multiple_of(CONTROL_STEP));
            (ring, fourth.map(|(i, _)| i as u8).collect::<Vec<u8>>())
        };
        let parts: Vec<_> = (0..blocks.div_ceil(16)).map(part).filter(|(_, c)| !c.is_empty()).collect();
        ControlBlocks { parts, blocks: blocks.div_ceil(CONTROL_STEP as u32) as f32 }
    }

    /// True if `ue` misses what they say with the draw `uniform`, by the blocks of all links.
    fn misses_by(&self, tti: Tti, id: CellId, ue: UeId, uniform: f64, enough: f32, air: &mut Air) -> bool {
        let (mut sum, mut n) = (0.0, 0);
        for (rbs, places) in self.parts.iter().take(if air.fades() { usize::MAX } else { 1 }) {
            sum += information(air.reference(tti, id, ue, *rbs, false), places);
            n += places.len();
            if sum > enough {
                return false;
            }
        }
        let mi = sum / n as f32;
        if mi > CONTROL_SAFE {
            return false;
        }
        uniform < control_error(sinr_db_of_mi(Modulation::Qpsk, mi))
    }

    /// The blocks that are looked at first.
    pub fn first(&self) -> RbSet {
        self.parts.first().map_or(RbSet::EMPTY, |(rbs, _)| *rbs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_control_channels_are_safe_their_error_is_none() {
        assert_eq!(control_error(sinr_db_of_mi(Modulation::Qpsk, CONTROL_SAFE)), 0.0);
    }

    /// On a fine grid of draws and information: above the bound no draw means a miss.
    #[test]
    fn a_safe_information_never_means_a_miss() {
        for l in 0..1000 {
            let uniform = f64::from(l) / 1000.0;
            for m in 0..=500 {
                let mi = m as f32 / 1000.0;
                let missed = uniform < control_error(sinr_db_of_mi(Modulation::Qpsk, mi));
                assert!(!missed || mi < safe(uniform), "{uniform} {mi}");
            }
        }
        assert!(safe(0.0) <= CONTROL_SAFE && safe(0.0) > 0.4);
        assert!(safe(0.5) < 0.15 && safe(0.5) > 0.05);
    }

    #[test]
    fn the_parts_of_the_control_channels_are_every_fourth_block_once() {
        for blocks in [6, 15, 25, 50, 75, 100, 110] {
            let mut seen = Vec::new();
            for (rbs, places) in &ControlBlocks::new(blocks).parts {
                let all: Vec<u32> = rbs.iter().collect();
                seen.extend(places.iter().map(|i| all[usize::from(*i)]));
            }
            seen.sort_unstable();
            let expected: Vec<u32> = (0..blocks).step_by(CONTROL_STEP).collect();
            assert_eq!(seen, expected, "{blocks}");
        }
    }
}
