//! Measurements and reports of UEs, and the eNB's record of them for scheduling.
//!
//! A report is a function of its TTI: it is computed when the eNB first uses it, so an idle UE
//! takes no time.

mod rank;

use lasthop_units::{CellId, Tti};

use super::state::{CellSettings, DownlinkContext, DownlinkLink};
use super::{CellConfig, NetworkConfig, UeConfig};
use crate::mac::adaptation::{Basis, CqiInterference, Report};
use crate::phy::NUMEROLOGY;
use crate::phy::air::{Air, AtUe, CellAir, CellAntennas, CodeWordSinr, Scheme, UeAir, UeAntennas};
use crate::phy::fading::{DirectFading, FastFading};
use crate::phy::propagation::UeRadioConfig;

/// The radio channel of `config`.
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

/// Memory for a row of SINRs, and for those of code words.
#[derive(Debug, Default)]
pub(super) struct Memory {
    pub row: Vec<f32>,
    pub code_words: [CodeWordSinr; 2],
}

/// The cell of a UE.
#[derive(Clone, Copy)]
pub(super) struct CellOf<'a> {
    pub id: CellId,
    pub cell: CellSettings<'a>,
}

/// A UE that measures the downlink of its cell.
pub(super) struct Observer<'a> {
    pub at: CellOf<'a>,
    /// P_A, linear. RRC configures the UE with it, and the report is for data with this power (TS
    /// 36.213 clause 7.2.3).
    pub boost: f32,
    pub air: AtUe<'a>,
    pub memory: &'a mut Memory,
}

/// Updates the eNB's record of the downlink channel of a UE to `tti`.
#[inline(always)] // in the schedulers, one call each
pub(super) fn learn_quality(
    tti: Tti,
    at: CellOf<'_>,
    cx: &mut DownlinkContext,
    link: &mut DownlinkLink,
    mut air: AtUe<'_>,
    memory: &mut Memory,
) {
    if !cx.quality.is_current(tti) {
        let config = &at.cell.config.downlink.cqi;
        let measured = config.measured(tti, link.phase);
        let (boost, data) = (link.boost, config.interference == CqiInterference::Data);
        let channel = air.state_of_reference(measured, at.id, data);
        let basis = channel.map(|channel| Basis { channel, boost });
        let report = cx.quality.report_of(basis, || Observer { at, boost, air, memory }.report(measured));
        cx.quality.learn(config.used_until(measured, link.phase), &report, at.cell.adaptation, config);
        link.stats.reports += 1;
        link.stats.cqi_sum += u64::from(report.wideband.index());
    }
}

impl Observer<'_> {
    /// The UE's report of its measurement in the TTI `measured`.
    #[inline(always)] // where reports are learned, one call
    pub fn report(mut self, measured: Tti) -> Report {
        let CellOf { id, cell } = self.at;
        let config = &cell.config.downlink;
        let physical = config.mimo.is_physical();
        if physical && let Some(report) = self.report_of_matrix(measured) {
            return report;
        }
        let (carrier, data) = (self.air.carrier(id), config.cqi.interference == CqiInterference::Data);
        let row = self.air.reborrow().reference(measured, id, carrier, data);
        let adaptation = cell.adaptation;
        let boost = self.boost;
        // A link of a given SINR has no channel matrix: one layer in any mode.
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
