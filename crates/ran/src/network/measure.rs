//! What UEs measure and report, and what the eNB knows of it when it schedules.
//!
//! A report is a function of its TTI: it is worked out when the eNB first uses it, so an idle UE costs nothing.

use lasthop_radio::lte::{Modulation, control_error, mean_mi, sinr_db_of_mi};
use lasthop_units::{CellId, Tti, UeId};

use super::{NetworkConfig, RadioNetwork, UeConfig};
use crate::mac::lte::adaptation::{CqiInterference, Report};
use crate::phy::lte::air::{Air, CellAir, UeAir};
use crate::phy::lte::fading::FastFading;

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
    let fading = FastFading::new(config.radio.fading, blocks, speeds, frequencies, seed);
    Air::new(&cells, &ues, propagation, fading, looks_back)
}

/// Every fourth block stands for the band: the PDCCH is spread over all of it.
const CONTROL_STEP: usize = 4;
/// Mutual information of QPSK at 0 dB is 0.486: nobody misses the control channels there, and the SINR need not be worked
/// out.
const CONTROL_SAFE: f32 = 0.5;

impl RadioNetwork {
    /// Brings what the eNB of `cell` knows of the downlink to `ue` to what it knows in `tti`.
    #[inline]
    pub(super) fn learn_quality(&mut self, tti: Tti, cell: CellId, ue: UeId) {
        let config = &self.cells[cell].config.downlink;
        let d = &self.ues[ue].downlink;
        let measured = config.cqi.measured(tti, d.phase);
        if d.quality.measured != Some(measured) {
            self.measure(measured, cell, ue);
        }
    }

    fn measure(&mut self, measured: Tti, cell: CellId, ue: UeId) {
        let c = &self.cells[cell];
        let config = &c.config.downlink;
        let row = self.air.reference(measured, cell, ue, config.cqi.interference == CqiInterference::Data);
        let adaptation = &c.downlink.adaptation;
        // The UE knows its P_A and reports what its data will have (TS 36.213 clause 7.2.3).
        let boost = self.ues[ue].downlink.boost;
        let (one, two) = (boost * config.mimo.one_layer(), config.mimo.two_layers().map(|g| g * boost));
        let mut scaled = std::mem::take(&mut self.work.row);
        let mut under = |gain: f32| {
            if gain == 1.0 {
                return adaptation.measure(row, &config.cqi);
            }
            scaled.clear();
            scaled.extend(row.iter().map(|s| s * gain));
            adaptation.measure(&scaled, &config.cqi)
        };
        let d = &mut self.ues[ue].downlink;
        let single = under(one);
        let mut report = single;
        if let Some(gain) = two {
            // The rank indicator: two layers where they carry more than one with transmit diversity.
            let double = under(gain);
            let worth = 2.0 * adaptation.rate_of(double.wideband) > adaptation.rate_of(single.wideband);
            if worth || config.mimo.always_two_layers {
                report = Report { layers: 2, ..double };
            }
        }
        d.quality.learn(measured, &report, adaptation, &config.cqi);
        d.stats.reports += 1;
        d.stats.cqi_sum += u64::from(report.wideband.index());
        self.work.row = scaled;
    }

    /// True if `ue` misses what the control channels of `cell` say in `tti`. Control channels are never silent: every
    /// other cell interferes.
    pub(super) fn misses_control(&mut self, tti: Tti, cell: CellId, ue: UeId) -> bool {
        let mi = mean_mi(Modulation::Qpsk, self.air.control(tti, cell, ue, CONTROL_STEP));
        if mi > CONTROL_SAFE {
            return false;
        }
        let p = control_error(sinr_db_of_mi(Modulation::Qpsk, mi));
        p > 0.0 && self.ues[ue].downlink.control_errors.happens(tti.0, p)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_control_channels_are_safe_their_error_is_none() {
        assert_eq!(control_error(sinr_db_of_mi(Modulation::Qpsk, CONTROL_SAFE)), 0.0);
    }
}
