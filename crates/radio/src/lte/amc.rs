//! Adaptive modulation and coding: from SINRs to a CQI, from a CQI to an MCS.
//!
//! There are two models of the CQI. **BLER target** (the default, 10 % as TS 36.213 clause 7.2.3
//! requires of a UE): the best quality whose transport block on the CSI reference resource would
//! fail with at most the target. **Piro** (G. Piro, N. Baldo, M. Miozzo, "An LTE module for the
//! ns-3 network simulator", 2011): Shannon's formula with the gap of an uncoded bit error rate.

use lasthop_engine::math::{from_db, ln, log2};

use super::mutual_information::{MODULATIONS, MiByModulation, mean_mi_all, mi_closed_form};
use super::{Cqi, CqiTable, ErrorModel, Mcs, PRB_MAX};

/// The model by which a CQI is found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AmcMode {
    /// eta = log2(1 + SINR / Gamma) with Gamma = -ln(5 BER) / 1.5; the CQI is the largest whose
    /// two-decimal efficiency does not exceed eta. Over several blocks eta is averaged.
    Piro {
        /// The bit error rate that sets the gap, 5e-5 by default; 0 < BER < 0.2.
        ber: f64,
    },
    /// The largest MCS whose block on `prbs` resource blocks fails with at most `target`, and its
    /// CQI.
    BlerTarget {
        /// 0 < target < 1.
        target: f64,
        /// Resource blocks of the CSI reference resource, 1 to 110.
        prbs: usize,
        /// The rounding from MCS to CQI.
        rounding: CqiRounding,
    },
}

/// The rounding of the largest MCS that meets the target to a CQI.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CqiRounding {
    /// The largest CQI with no more bits per symbol than the MCS.
    #[default]
    AtMost,
    /// The largest CQI with **fewer** bits per symbol than the MCS, as in ns-3: one CQI less
    /// whenever the MCS is exactly that of a CQI.
    Below,
}

/// A model of the CQI with its thresholds.
#[derive(Clone, Debug)]
pub struct Amc {
    mode: AmcMode,
    table: CqiTable,
    /// By CQI: the mutual information of each modulation from which an MCS of this modulation meets
    /// the target and gives this CQI or a higher one; infinite where there is none. Two more rows
    /// stand for CQIs that do not exist.
    least: [MiByModulation; CQIS + 2],
    /// By MCS: the SINR from which it meets the target [dB].
    needed_db: Vec<f64>,
}

/// Number of CQIs, out of range included.
const CQIS: usize = 1 + Cqi::MAX.index() as usize;

impl Amc {
    /// Computes the thresholds (some milliseconds; do this once per cell).
    pub fn new(mode: AmcMode, table: CqiTable) -> Amc {
        let mut least = [[f32::INFINITY; MODULATIONS]; CQIS + 2];
        // Every information is enough for out of range.
        least[0] = [f32::NEG_INFINITY; MODULATIONS];
        let mut needed_db = Vec::new();
        if let AmcMode::BlerTarget { target, prbs, rounding } = mode {
            let mcs_table = table.mcs_table();
            for mcs in (0..=mcs_table.largest().index()).map(Mcs::new) {
                let block = ErrorModel::of_grant(mcs, mcs_table, prbs.clamp(1, PRB_MAX));
                let Some(block) = block else { break };
                let modulation = block.modulation();
                let needed = snr_db_needed(&block, target);
                needed_db.push(needed);
                let needed = mi_closed_form(modulation, from_db(needed)) as f32;
                let cqi = usize::from(cqi_of_mcs(mcs, table, rounding).index());
                for row in &mut least[..=cqi] {
                    row[modulation as usize] = row[modulation as usize].min(needed);
                }
            }
        }
        Amc { mode, table, least, needed_db }
    }

    /// The SINR [dB] of an unfaded channel from which a block of `mcs` on the CSI reference
    /// resource meets the BLER target; None for a reserved MCS, and with the Piro model.
    pub fn needed_db(&self, mcs: Mcs) -> Option<f64> {
        self.needed_db.get(usize::from(mcs.index())).copied()
    }

    /// The model by which the CQI is found.
    pub fn mode(&self) -> AmcMode {
        self.mode
    }

    /// The tables of CQI and MCS.
    pub fn table(&self) -> CqiTable {
        self.table
    }

    /// The CQI of resource blocks with the linear SINRs `sinr`: the whole carrier for a wideband
    /// CQI, a sub-band for a sub-band CQI. Without blocks: out of range.
    pub fn cqi(&self, sinr: &[f32]) -> Cqi {
        match self.mode {
            _ if sinr.is_empty() => Cqi::OUT_OF_RANGE,
            AmcMode::Piro { ber } => self.piro(sinr, piro_gamma(ber)),
            AmcMode::BlerTarget { .. } => self.cqi_of_mi(&mean_mi_all(sinr)),
        }
    }

    /// The CQI of blocks with the mean mutual information `mi`, for callers that compute several
    /// means of one row. Out of range with the Piro model, which does not use it.
    #[inline(always)]
    pub(super) fn cqi_of_mi(&self, mi: &MiByModulation) -> Cqi {
        let mut cqi = 0;
        for step in [8, 4, 2, 1] {
            cqi += if reaches(mi, &self.least[cqi + step]) { step } else { 0 };
        }
        Cqi::new(cqi as u8)
    }

    /// The least mutual information for `cqi` and the next two CQIs.
    #[inline]
    pub(super) fn least_from(&self, cqi: Cqi) -> &[MiByModulation; 3] {
        let from = usize::from(cqi.index());
        self.least[from..].first_chunk().unwrap_or_else(|| unreachable!("two rows follow the last CQI"))
    }

    /// The MCS that a scheduler gives to a UE that reported `cqi`; `None` for CQI 0.
    pub fn mcs(&self, cqi: Cqi) -> Option<Mcs> {
        cqi.mcs(self.table)
    }

    fn piro(&self, sinr: &[f32], gamma: f64) -> Cqi {
        let sum: f64 = sinr.iter().map(|g| log2(1.0 + f64::from(*g) / gamma)).sum();
        let eta = sum / sinr.len() as f64;
        Cqi::usable().rfind(|c| piro_efficiency(*c, self.table) <= eta).unwrap_or_default()
    }
}

/// True if the mean mutual information `mi` is enough for the CQI with the row `least`, with any of
/// the modulations. Without branches, so that all are compared at once.
#[inline(always)]
pub(super) fn reaches(mi: &MiByModulation, least: &MiByModulation) -> bool {
    (0..MODULATIONS).fold(false, |any, i| any | (mi[i] >= least[i]))
}

/// Gamma = -ln(5 BER) / 1.5.
pub fn piro_gamma(ber: f64) -> f64 {
    -ln(5.0 * ber) / 1.5
}

/// The efficiency that Piro's model compares: two decimals in the first table, exact in the second.
pub fn piro_efficiency(cqi: Cqi, table: CqiTable) -> f64 {
    match table {
        CqiTable::Qam64 => cqi.rounded_efficiency(),
        CqiTable::Qam256 => cqi.efficiency(table),
    }
}

fn cqi_of_mcs(mcs: Mcs, table: CqiTable, rounding: CqiRounding) -> Cqi {
    // The best MCS is the best CQI in ns-3 too (d = 0 in its scheduler tests: MCS 28).
    if mcs == table.mcs_table().largest() {
        return Cqi::MAX;
    }
    let fits = |cqi: &Cqi| match (table, rounding) {
        // The CQI's own MCS carries the same number of bits per symbol.
        (_, CqiRounding::AtMost) => cqi.mcs(table) <= Some(mcs),
        (CqiTable::Qam64, CqiRounding::Below) => cqi.rounded_efficiency() < mcs.rounded_efficiency(),
        (CqiTable::Qam256, CqiRounding::Below) => cqi.mcs(table) < Some(mcs),
    };
    Cqi::usable().rfind(fits).unwrap_or_default()
}

/// The SINR [dB] of an unfaded channel at which `block` fails with probability `target`, between
/// -36 and 42 dB: to 1e-9 dB from above for targets of at least 1e-9. Smaller probabilities are
/// differences of numbers near 1 and less exact.
pub fn snr_db_needed(block: &ErrorModel, target: f64) -> f64 {
    let excess = |snr_db: f64| block.error_at(snr_db) - target;
    let (mut low, mut high) = (-36.0, 42.0);
    if excess(low) <= 0.0 {
        return low;
    }
    if excess(high) > 0.0 {
        return high;
    }
    // Halves down to 0.3 dB, where the curve is nearly straight.
    for _ in 0..8 {
        let mid = (low + high) / 2.0;
        if excess(mid) > 0.0 { low = mid } else { high = mid }
    }
    // False position; the value at an end that stays counts half each time (Illinois, M. Dowell and
    // P. Jarratt, BIT 11, 1971), so that both ends move.
    let (mut at_low, mut at_high) = (excess(low), excess(high));
    for _ in 0..40 {
        if high - low < ACCURACY_DB {
            break;
        }
        let straight = high - at_high * (high - low) / (at_high - at_low);
        // Half the accuracy inside of an end: next to the solution both ends move.
        let mid = straight.clamp(low + ACCURACY_DB / 2.0, high - ACCURACY_DB / 2.0);
        let at_mid = excess(mid);
        if at_mid > 0.0 {
            (low, at_low, at_high) = (mid, at_mid, at_high / 2.0);
        } else {
            (high, at_high, at_low) = (mid, at_mid, at_low / 2.0);
        }
    }
    high
}

/// Accuracy of [`snr_db_needed`] [dB].
const ACCURACY_DB: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lte::{McsTable, mean_mi};
    use lasthop_engine::math::from_db;

    fn piro() -> Amc {
        Amc::new(AmcMode::Piro { ber: 5e-5 }, CqiTable::Qam64)
    }

    /// The error is above the target a little below the SINR that a block needs, and at most the
    /// target there: all MCS on few and many blocks, for targets that are usual and extreme.
    #[test]
    fn the_needed_sinr_is_where_the_error_is_the_target() {
        for prbs in [1, 2, 25, 100] {
            for mcs in (0..=28).map(Mcs::new) {
                let block = ErrorModel::of_grant(mcs, McsTable::Downlink, prbs).unwrap();
                for target in [1e-6, 1e-3, 0.1, 0.5, 0.999] {
                    let needed = snr_db_needed(&block, target);
                    if block.overfull() {
                        assert_eq!(needed, 42.0);
                        continue;
                    }
                    let (below, at) = (block.error_at(needed - 2e-9), block.error_at(needed));
                    assert!(at <= target && below > target, "{mcs:?} {prbs} {target}: {below} {at}");
                }
            }
        }
        let block = ErrorModel::of_grant(Mcs::new(0), McsTable::Downlink, 1).unwrap();
        assert_eq!(snr_db_needed(&block, 1.0), -36.0);
    }

    /// ns-3's reference vector of link adaptation: SNR to 1e-7 dB, eta to its five decimals, MCS
    /// exactly. The SNR is set by the loss L = 30 - SNR - (-174 + 10 log10(25 * 180000)) - 9 dB
    /// below 30 dBm on 25 blocks at a noise figure of 9 dB, and the test computes it again from
    /// powers per block.
    #[test]
    fn piros_ladder_of_36_points_is_exact() {
        let ladder: [(f64, i8); 36] = [
            (0.08024, -1),
            (0.10030, -1),
            (0.12518, -1),
            (0.15589, 0),
            (0.19365, 0),
            (0.23983, 2),
            (0.29593, 2),
            (0.36360, 2),
            (0.44451, 4),
            (0.54031, 4),
            (0.65251, 6),
            (0.78240, 6),
            (0.93086, 8),
            (1.09835, 8),
            (1.28485, 10),
            (1.48981, 12),
            (1.71229, 12),
            (1.95096, 14),
            (2.20429, 14),
            (2.47062, 16),
            (2.74826, 18),
            (3.03560, 18),
            (3.33115, 20),
            (3.63355, 20),
            (3.94163, 22),
            (4.25439, 22),
            (4.57095, 24),
            (4.89060, 24),
            (5.21276, 26),
            (5.53693, 26),
            (5.86271, 28),
            (6.18980, 28),
            (6.51792, 28),
            (6.84687, 28),
            (7.17649, 28),
            (7.50663, 28),
        ];
        assert!((piro_gamma(5e-5) - 5.529_366_426_734_685).abs() < 1e-12);
        let amc = piro();
        for (i, (eta, mcs)) in ladder.into_iter().enumerate() {
            let snr_db = i as f64 - 5.0;
            let noise = crate::thermal_noise(lasthop_units::Hertz(25.0 * 180_000.0), lasthop_units::Db(9.0));
            let loss = 30.0 - snr_db - noise.0;
            let per_block = 30.0 - 10.0 * lasthop_engine::math::log10(25.0) - loss;
            let noise_per_block =
                crate::thermal_noise(lasthop_units::Hertz(180_000.0), lasthop_units::Db(9.0));
            let snr = per_block - noise_per_block.0;
            assert!((snr - snr_db).abs() < 1e-7, "{snr} and {snr_db}");
            let g = from_db(snr);
            assert!((log2(1.0 + g / piro_gamma(5e-5)) - eta).abs() < 5.1e-6, "{snr_db} dB");
            let found = amc.mcs(amc.cqi(&[g as f32; 25])).map_or(-1, |m| m.index() as i8);
            assert_eq!(found, mcs, "{snr_db} dB");
        }
    }

    /// Four distances of ns-3's scheduler tests: 30 dBm by Friis at 2120 MHz over 25 blocks, noise
    /// figure 9 dB, thresholds for a block on one group (2 PRB). The largest MCS is 23, 21, 16,
    /// 9; ns-3 reports one CQI less where the MCS is exactly a CQI's, and so schedules 22, 20,
    /// 14, 8. The model here gives 16 at 10 km, as the definition of the CQI requires.
    #[test]
    fn bler_target_meets_the_scheduler_tests() {
        let at = |rounding| Amc::new(AmcMode::BlerTarget { target: 0.1, prbs: 2, rounding }, CqiTable::Qam64);
        let (ours, theirs) = (at(CqiRounding::AtMost), at(CqiRounding::Below));
        for (snr_db, mcs, ns3, textbook) in [
            (30.0, 28, 28, 28),
            (15.87, 23, 22, 22),
            (13.93, 21, 20, 20),
            (9.49, 16, 14, 16),
            (3.47, 9, 8, 8),
        ] {
            let sinr = [from_db(snr_db) as f32; 25];
            let meets = |mcs: &Mcs| {
                let block = ErrorModel::of_grant(*mcs, McsTable::Downlink, 2);
                block.is_some_and(|block| block.error_at(snr_db) <= 0.1)
            };
            assert_eq!((0..=28).map(Mcs::new).rfind(meets), Some(Mcs::new(mcs)), "{snr_db}");
            assert_eq!(theirs.mcs(theirs.cqi(&sinr)), Some(Mcs::new(ns3)), "{snr_db}");
            assert_eq!(ours.mcs(ours.cqi(&sinr)), Some(Mcs::new(textbook)), "{snr_db}");
        }
    }

    /// A CQI holds its definition: its block on the reference resource fails with at most the
    /// target, and the next CQI's would not.
    #[test]
    fn a_reported_cqi_meets_the_target_and_the_next_does_not() {
        for table in [CqiTable::Qam64, CqiTable::Qam256] {
            let mode = AmcMode::BlerTarget { target: 0.1, prbs: 50, rounding: CqiRounding::AtMost };
            let amc = Amc::new(mode, table);
            for i in -120..400 {
                let g = from_db(f64::from(i) / 10.0) as f32;
                let cqi = amc.cqi(&[g; 50]);
                let error = |c: Cqi| {
                    let block = ErrorModel::of_grant(c.mcs(table).unwrap(), table.mcs_table(), 50).unwrap();
                    block.error(mean_mi(block.modulation(), &[g; 50]))
                };
                if cqi > Cqi::OUT_OF_RANGE {
                    assert!(error(cqi) <= 0.1 + 2e-3, "{table:?} {i} {cqi:?}: {}", error(cqi));
                }
                if cqi < Cqi::MAX {
                    assert!(error(Cqi::new(cqi.index() + 1)) > 0.1 - 2e-3, "{table:?} {i} {cqi:?}");
                }
            }
        }
    }

    /// The CQI of a mean information is that of the largest MCS that meets the target, searched one
    /// by one; and CQIs from any one on are reached up to this one.
    #[test]
    fn the_cqi_of_an_information_is_that_of_the_largest_mcs() {
        for (table, rounding) in [
            (CqiTable::Qam64, CqiRounding::AtMost),
            (CqiTable::Qam64, CqiRounding::Below),
            (CqiTable::Qam256, CqiRounding::AtMost),
        ] {
            let amc = Amc::new(AmcMode::BlerTarget { target: 0.1, prbs: 4, rounding }, table);
            let needed = |mcs: Mcs| {
                let block = ErrorModel::of_grant(mcs, table.mcs_table(), 4).unwrap();
                (block.modulation(), mi_closed_form(block.modulation(), from_db(snr_db_needed(&block, 0.1))))
            };
            let all: Vec<_> = (0..=table.mcs_table().largest().index()).map(Mcs::new).collect();
            let needed: Vec<_> = all.iter().map(|mcs| (*mcs, needed(*mcs))).collect();
            for i in -150..300 {
                // Half of the blocks fade by 10 dB.
                let g = from_db(f64::from(i) / 10.0) as f32;
                let mi = mean_mi_all(&[g, g / 10.0]);
                let meets =
                    |(_, (modulation, needed)): &&(Mcs, (_, f64))| mi[*modulation as usize] >= *needed as f32;
                let best = needed.iter().rfind(meets);
                let expected = best.map_or(Cqi::OUT_OF_RANGE, |(mcs, _)| cqi_of_mcs(*mcs, table, rounding));
                assert_eq!(amc.cqi_of_mi(&mi), expected, "{table:?} {rounding:?} {i}");
                for from in (0..=15).map(Cqi::new) {
                    let reached = amc.least_from(from).iter().filter(|least| reaches(&mi, least)).count();
                    let above = i32::from(expected.index()) - i32::from(from.index());
                    assert_eq!(
                        reached as i32,
                        (above + 1).clamp(0, 3),
                        "{table:?} {rounding:?} {i} {from:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn no_blocks_and_no_signal_are_out_of_range() {
        assert_eq!(piro().cqi(&[]), Cqi::OUT_OF_RANGE);
        assert_eq!(piro().cqi(&[0.0; 6]), Cqi::OUT_OF_RANGE);
        let mode = AmcMode::BlerTarget { target: 0.1, prbs: 6, rounding: CqiRounding::AtMost };
        let amc = Amc::new(mode, CqiTable::Qam64);
        assert_eq!((amc.cqi(&[0.0; 6]), amc.cqi(&[])), (Cqi::OUT_OF_RANGE, Cqi::OUT_OF_RANGE));
        assert_eq!(McsTable::Downlink, amc.table().mcs_table());
    }
}
