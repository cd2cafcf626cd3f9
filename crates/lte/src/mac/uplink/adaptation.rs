//! Link adaptation of the uplink: from the SINR that the eNB measures to an MCS.

use std::sync::OnceLock;

use lasthop_engine::math::db;
use lasthop_radio::lte::{
    Amc, AmcMode, Cqi, CqiTable, ErrorModel, Mcs, McsTable, Olla, OllaConfig, PRB_MAX, piro_efficiency,
    piro_gamma, snr_db_needed,
};
use lasthop_units::Tti;

/// The MCS for each SINR, computed once for a cell.
#[derive(Clone, Debug)]
pub struct UplinkAdaptation {
    /// The lowest SINR [dB] at which an MCS may be used, ascending, and the MCS.
    needed: Vec<(f32, u8)>,
    /// Target error probability of a block; None for a model without block sizes.
    target: Option<f64>,
    /// By number of blocks: the SINR [dB] at which a transport block of the lowest MCS on so many
    /// meets the target. Computed when it is first needed, for a UE at the edge of the cell.
    lowest_on: Box<[OnceLock<f32>]>,
}

impl UplinkAdaptation {
    /// Uses the same model as the downlink's CQI. `most` is the largest MCS: 28, or 20 for UEs
    /// without 64QAM (categories 1 to 4, TS 36.306 table 4.1-2).
    pub fn new(mode: AmcMode, most: u8) -> UplinkAdaptation {
        let needed = match mode {
            // An uplink MCS for each CQI, as in ns-3.
            AmcMode::Piro { ber } => {
                let amc = Amc::new(mode, CqiTable::Qam64);
                let entry = |cqi: Cqi| {
                    let two_to = lasthop_engine::math::pow(2.0, piro_efficiency(cqi, CqiTable::Qam64));
                    let mcs = amc.mcs(cqi)?.index();
                    Some((db(piro_gamma(ber) * (two_to - 1.0)) as f32, mcs))
                };
                Cqi::usable().filter_map(entry).filter(|(_, mcs)| *mcs <= most).collect()
            }
            AmcMode::BlerTarget { target, prbs, .. } => {
                let entry = |mcs: u8| {
                    let block = ErrorModel::of_grant(Mcs::new(mcs), McsTable::Uplink, prbs)?;
                    Some((snr_db_needed(&block, target) as f32, mcs))
                };
                let mut needed: Vec<(f32, u8)> = (0..=most.min(28)).filter_map(entry).collect();
                // An MCS that needs more than a larger one is never chosen.
                let mut least = f32::INFINITY;
                for i in (0..needed.len()).rev() {
                    if needed[i].0 >= least {
                        needed.remove(i);
                    } else {
                        least = needed[i].0;
                    }
                }
                needed
            }
        };
        let target = match mode {
            AmcMode::BlerTarget { target, .. } => Some(target),
            AmcMode::Piro { .. } => None,
        };
        UplinkAdaptation { needed, target, lowest_on: (0..=PRB_MAX).map(|_| OnceLock::new()).collect() }
    }

    /// Transmissions that the lowest MCS on `blocks` needs at `sinr_db` in each: n of them have n
    /// times the energy. The code rate is below 1/3, the turbo code's own, so that redundancy
    /// versions repeat bits and add nothing but energy. None if `most` do not suffice, or without a
    /// model of block sizes.
    pub fn transmissions(&self, blocks: u32, sinr_db: f32, most: u8) -> Option<u8> {
        let (target, (_, mcs)) = (self.target?, *self.needed.first()?);
        let snr = || {
            let block = ErrorModel::of_grant(Mcs::new(mcs), McsTable::Uplink, blocks as usize);
            block.map_or(f32::INFINITY, |block| snr_db_needed(&block, target) as f32)
        };
        let short = *self.lowest_on.get(blocks as usize)?.get_or_init(snr) - sinr_db;
        (1..=most).find(|n| db(f64::from(*n)) as f32 >= short - 1e-4)
    }

    /// The largest MCS that `sinr_db` allows; None below the lowest.
    #[inline]
    pub fn mcs(&self, sinr_db: f32) -> Option<u8> {
        // A SINR equal to an MCS's need allows it in spite of rounding.
        let allowed = self.needed.partition_point(|(needed, _)| *needed <= sinr_db + 1e-4);
        allowed.checked_sub(1).map(|i| self.needed[i].1)
    }

    /// The SINR [dB] that `mcs` needs, or the next larger MCS that is ever chosen.
    pub fn needed(&self, mcs: u8) -> f32 {
        let at = self.needed.partition_point(|(_, m)| *m < mcs);
        self.needed.get(at).or(self.needed.last()).map_or(0.0, |(needed, _)| *needed)
    }

    /// The lowest MCS.
    pub fn lowest(&self) -> u8 {
        self.needed.first().map_or(0, |(_, mcs)| *mcs)
    }
}

/// The eNB's record of the uplink channel of a UE.
#[derive(Clone, Debug)]
pub struct UplinkQuality {
    /// The SINR of the last measurement [dB]; None: there is none.
    sinr_db: Option<f32>,
    measured: Tti,
    expired: bool,
    olla: Option<Olla>,
}

impl UplinkQuality {
    /// Without a measurement. With `olla` the outer loop corrects what is measured.
    pub fn new(olla: Option<OllaConfig>) -> UplinkQuality {
        UplinkQuality { sinr_db: None, measured: Tti(0), expired: false, olla: olla.map(Olla::new) }
    }
    /// Takes in a measurement of `tti`: a sounding reference signal, or a transport block.
    pub fn learn(&mut self, tti: Tti, sinr_db: f32) {
        (self.sinr_db, self.measured, self.expired) = (Some(sinr_db), tti, false);
    }
    /// True if the last measurement is at least `period` TTIs old or there is none.
    pub fn is_stale(&self, tti: Tti, period: u64) -> bool {
        self.expired || self.sinr_db.is_none() || self.measured.0 + period <= tti.0
    }
    /// Makes the record stale; the last measurement is used until the next one.
    pub fn expire(&mut self) {
        self.expired = true;
    }
    /// Takes in whether a first transmission was decoded. Failures of the lowest MCS are not to be
    /// counted: no lower MCS could have been sent, and the loop would take long to return from a
    /// very low offset.
    pub fn first_transmission(&mut self, decoded: bool) {
        if let Some(olla) = &mut self.olla {
            olla.first_transmission(decoded);
        }
    }
    /// The SINR by which the MCS is chosen [dB].
    #[inline]
    pub fn level(&self) -> Option<f32> {
        let offset = self.olla.as_ref().map_or(0.0, |o| o.offset().0 as f32);
        self.sinr_db.map(|s| s + offset)
    }
    /// The SINR that was measured last [dB], without the outer loop.
    pub const fn measured(&self) -> Option<f32> {
        self.sinr_db
    }
    /// Clears the record: the UE has another cell.
    pub fn reset(&mut self, olla: Option<OllaConfig>) {
        *self = UplinkQuality::new(olla);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_radio::lte::CqiRounding;

    /// ns-3's scheduler tests, uplink: SRS over 25 PRB at 23 dBm, noise figure 5 dB: 13.684,
    /// 11.746, 7.309 and 1.288 dB at 4800, 6000, 10000 and 20000 m give MCS 14, 12, 8 and 2 by
    /// Piro's formula.
    #[test]
    fn piros_mcs_are_those_of_the_scheduler_tests() {
        let adaptation = UplinkAdaptation::new(AmcMode::Piro { ber: 5e-5 }, 28);
        for (sinr_db, mcs) in [(13.684, 14), (11.746, 12), (7.309, 8), (1.288, 2), (30.0, 28)] {
            assert_eq!(adaptation.mcs(sinr_db), Some(mcs), "{sinr_db} dB");
        }
        assert_eq!(adaptation.mcs(-10.0), None);
    }

    /// The chosen MCS fails with at most the target, and the next larger MCS would not meet it.
    #[test]
    fn the_chosen_mcs_meets_the_target() {
        let mode = AmcMode::BlerTarget { target: 0.1, prbs: 10, rounding: CqiRounding::AtMost };
        let adaptation = UplinkAdaptation::new(mode, 28);
        assert!(adaptation.needed.is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1));
        let error = |mcs: u8, snr: f32| {
            ErrorModel::of_grant(Mcs::new(mcs), McsTable::Uplink, 10).unwrap().error_at(f64::from(snr))
        };
        for tenth in -60..250 {
            let snr = tenth as f32 / 10.0;
            let Some(mcs) = adaptation.mcs(snr) else { continue };
            assert!(error(mcs, snr) <= 0.1001, "MCS {mcs} at {snr} dB");
            assert!(mcs == 28 || (mcs + 1..=28).all(|larger| error(larger, snr) > 0.0999), "{snr} dB");
        }
        assert_eq!(UplinkAdaptation::new(mode, 20).mcs(40.0), Some(20));
    }

    #[test]
    fn the_outer_loop_moves_the_level() {
        let mut quality = UplinkQuality::new(Some(OllaConfig::default()));
        assert_eq!(quality.level(), None);
        quality.learn(Tti(4), 10.0);
        quality.first_transmission(false);
        assert_eq!(quality.level(), Some(9.5));
        assert!(!quality.is_stale(Tti(23), 20) && quality.is_stale(Tti(24), 20));
    }
}
