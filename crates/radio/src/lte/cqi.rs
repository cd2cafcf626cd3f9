//! Channel quality indicators: TS 36.213 tables 7.2.3-1 (up to 64QAM) and 7.2.3-2 (up to 256QAM).

use super::{Mcs, McsTable, Modulation};

/// A channel quality indicator, 0 (out of range) to 15.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cqi(u8);

/// The CQI table that the UE is configured with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CqiTable {
    /// Table 7.2.3-1, up to 64QAM.
    #[default]
    Qam64,
    /// Table 7.2.3-2, up to 256QAM (from Release 12).
    Qam256,
}

impl CqiTable {
    /// The downlink MCS table of the same order.
    pub const fn mcs_table(self) -> McsTable {
        match self {
            CqiTable::Qam64 => McsTable::Downlink,
            CqiTable::Qam256 => McsTable::Downlink256,
        }
    }
}

impl Cqi {
    /// Out of range: nothing can be received.
    pub const OUT_OF_RANGE: Cqi = Cqi(0);
    /// The best quality.
    pub const MAX: Cqi = Cqi(15);

    /// The CQI `index`, 0 to 15; larger ones are 15.
    pub const fn new(index: u8) -> Cqi {
        Cqi(if index > 15 { 15 } else { index })
    }
    /// 0 to 15.
    pub const fn index(self) -> u8 {
        self.0
    }
    /// The usable CQIs, 1 to 15.
    pub fn usable() -> impl DoubleEndedIterator<Item = Cqi> {
        (1..=15).map(Cqi)
    }
    /// Modulation and code rate times 1024; `None` for CQI 0.
    pub fn format(self, table: CqiTable) -> Option<(Modulation, u16)> {
        let rows = match table {
            CqiTable::Qam64 => &TABLE_64QAM,
            CqiTable::Qam256 => &TABLE_256QAM,
        };
        usize::from(self.0).checked_sub(1).map(|i| rows[i])
    }
    /// Information bits per modulation symbol: code rate times bits per symbol. 0 for CQI 0.
    pub fn efficiency(self, table: CqiTable) -> f64 {
        self.format(table).map_or(0.0, |(m, rate)| f64::from(rate) / 1024.0 * f64::from(m.bits()))
    }
    /// The efficiency with two decimals, as R1-081483 prints it and Piro's model uses it (first
    /// table).
    pub fn rounded_efficiency(self) -> f64 {
        ROUNDED[usize::from(self.0)]
    }
    /// The largest downlink MCS that carries no more bits per symbol than this CQI (two-decimal
    /// efficiencies of R1-081483); `None` for CQI 0. The MCS belongs to the table of the same
    /// order, [`CqiTable::mcs_table`].
    pub fn mcs(self, table: CqiTable) -> Option<Mcs> {
        let row = match table {
            CqiTable::Qam64 => &MCS_OF_CQI,
            CqiTable::Qam256 => &MCS_OF_CQI_256,
        };
        usize::from(self.0).checked_sub(1).map(|i| Mcs::new(row[i]))
    }
}

use Modulation::{Qam16, Qam64, Qam256, Qpsk};

/// TS 36.213 table 7.2.3-1, CQI 1 to 15: modulation, code rate times 1024.
const TABLE_64QAM: [(Modulation, u16); 15] = [
    (Qpsk, 78),
    (Qpsk, 120),
    (Qpsk, 193),
    (Qpsk, 308),
    (Qpsk, 449),
    (Qpsk, 602),
    (Qam16, 378),
    (Qam16, 490),
    (Qam16, 616),
    (Qam64, 466),
    (Qam64, 567),
    (Qam64, 666),
    (Qam64, 772),
    (Qam64, 873),
    (Qam64, 948),
];

/// TS 36.213 table 7.2.3-2, CQI 1 to 15.
const TABLE_256QAM: [(Modulation, u16); 15] = [
    (Qpsk, 78),
    (Qpsk, 193),
    (Qpsk, 449),
    (Qam16, 378),
    (Qam16, 490),
    (Qam16, 616),
    (Qam64, 466),
    (Qam64, 567),
    (Qam64, 666),
    (Qam64, 772),
    (Qam64, 873),
    (Qam256, 711),
    (Qam256, 797),
    (Qam256, 885),
    (Qam256, 948),
];

/// R1-081483: efficiencies of CQI 0 to 15 with two decimals.
const ROUNDED: [f64; 16] =
    [0.0, 0.15, 0.23, 0.38, 0.60, 0.88, 1.18, 1.48, 1.91, 2.41, 2.73, 3.32, 3.90, 4.52, 5.12, 5.55];

/// MCS of CQI 1 to 15; a test computes them from the efficiencies.
const MCS_OF_CQI: [u8; 15] = [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28];
/// The same for the tables with 256QAM: where both tables have a block size, the sizes agree.
const MCS_OF_CQI_256: [u8; 15] = [0, 2, 4, 6, 8, 10, 11, 13, 15, 17, 19, 21, 23, 25, 27];

#[cfg(test)]
mod tests {
    use super::*;

    /// The efficiencies that the standard prints (four decimals) are code rate times bits per
    /// symbol.
    #[test]
    fn efficiencies_are_those_of_the_tables() {
        let first = [
            0.1523, 0.2344, 0.3770, 0.6016, 0.8770, 1.1758, 1.4766, 1.9141, 2.4063, 2.7305, 3.3223, 3.9023,
            4.5234, 5.1152, 5.5547,
        ];
        let second = [
            0.1523, 0.3770, 0.8770, 1.4766, 1.9141, 2.4063, 2.7305, 3.3223, 3.9023, 4.5234, 5.1152, 5.5547,
            6.2266, 6.9141, 7.4063,
        ];
        for (table, printed) in [(CqiTable::Qam64, first), (CqiTable::Qam256, second)] {
            for (cqi, efficiency) in Cqi::usable().zip(printed) {
                // Half a unit of the fourth decimal.
                assert!((cqi.efficiency(table) - efficiency).abs() <= 5.1e-5, "{table:?} {cqi:?}");
            }
        }
        assert_eq!(Cqi::OUT_OF_RANGE.efficiency(CqiTable::Qam64), 0.0);
    }

    /// MCS(CQI) is the largest MCS whose two-decimal efficiency does not exceed that of the CQI.
    #[test]
    fn the_mcs_of_a_cqi_is_the_largest_that_it_carries() {
        for cqi in Cqi::usable() {
            let largest = (0..=28).rfind(|i| Mcs::new(*i).rounded_efficiency() <= cqi.rounded_efficiency());
            assert_eq!(cqi.mcs(CqiTable::Qam64).map(Mcs::index), largest);
        }
        assert_eq!(Cqi::OUT_OF_RANGE.mcs(CqiTable::Qam64), None);
    }

    /// CQI 2 to 11 of the second table are CQI 3 to 14 of the first (by efficiency): both have the
    /// same I_TBS and modulation. CQI 12 to 15 have 256QAM.
    #[test]
    fn both_tables_lead_to_the_same_block() {
        for cqi in Cqi::usable() {
            let wide = cqi.mcs(CqiTable::Qam256).unwrap();
            let narrow = Cqi::usable()
                .filter(|c| c.format(CqiTable::Qam64) == cqi.format(CqiTable::Qam256))
                .find_map(|c| c.mcs(CqiTable::Qam64));
            match narrow {
                Some(mcs) => {
                    assert_eq!(mcs.i_tbs(McsTable::Downlink), wide.i_tbs(McsTable::Downlink256));
                    assert_eq!(mcs.modulation(McsTable::Downlink), wide.modulation(McsTable::Downlink256));
                }
                None => assert_eq!(wide.modulation(McsTable::Downlink256), Some(Qam256)),
            }
        }
    }
}
