//! Modulation and coding schemes: TS 36.213 tables 7.1.7.1-1, 7.1.7.1-1A (downlink) and 8.6.1-1
//! (uplink).

/// The modulation of a resource element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Modulation {
    /// 2 bits per symbol.
    Qpsk,
    /// 4 bits per symbol.
    Qam16,
    /// 6 bits per symbol.
    Qam64,
    /// 8 bits per symbol.
    Qam256,
}

impl Modulation {
    /// Bits per symbol (Q_m).
    pub const fn bits(self) -> u8 {
        match self {
            Modulation::Qpsk => 2,
            Modulation::Qam16 => 4,
            Modulation::Qam64 => 6,
            Modulation::Qam256 => 8,
        }
    }
}

/// A modulation and coding scheme index, I_MCS, 0 to 31. Its meaning depends on the [`McsTable`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mcs(u8);

/// The table in which an MCS is looked up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum McsTable {
    /// Downlink up to 64QAM: table 7.1.7.1-1.
    #[default]
    Downlink,
    /// Downlink up to 256QAM: table 7.1.7.1-1A (from Release 12).
    Downlink256,
    /// Uplink: table 8.6.1-1. UEs below category 5 have no 64QAM and stop at MCS 20.
    Uplink,
}

impl McsTable {
    /// The largest MCS that names a transport block size; those above are for retransmissions.
    pub const fn largest(self) -> Mcs {
        match self {
            McsTable::Downlink | McsTable::Uplink => Mcs(28),
            McsTable::Downlink256 => Mcs(27),
        }
    }
}

impl Mcs {
    /// The MCS `index`; larger ones than 31 are 31.
    pub const fn new(index: u8) -> Mcs {
        Mcs(if index > 31 { 31 } else { index })
    }
    /// 0 to 31.
    pub const fn index(self) -> u8 {
        self.0
    }
    /// I_TBS; `None` for the indices that are reserved for retransmissions.
    pub const fn i_tbs(self, table: McsTable) -> Option<u8> {
        let row: &[u8] = match table {
            McsTable::Downlink => &I_TBS_DOWNLINK,
            McsTable::Downlink256 => &I_TBS_DOWNLINK_256,
            McsTable::Uplink => &I_TBS_UPLINK,
        };
        let index = self.0 as usize;
        if index < row.len() { Some(row[index]) } else { None }
    }
    /// Q_m. In the uplink 29 to 31 name redundancy versions 1, 2, 3 and keep the modulation of the
    /// first transmission: `None`.
    pub const fn modulation(self, table: McsTable) -> Option<Modulation> {
        use Modulation::{Qam16, Qam64, Qam256, Qpsk};
        Some(match (table, self.0) {
            (McsTable::Downlink, 0..=9 | 29) => Qpsk,
            (McsTable::Downlink, 10..=16 | 30) => Qam16,
            (McsTable::Downlink, _) => Qam64,
            (McsTable::Downlink256, 0..=4 | 28) => Qpsk,
            (McsTable::Downlink256, 5..=10 | 29) => Qam16,
            (McsTable::Downlink256, 11..=19 | 30) => Qam64,
            (McsTable::Downlink256, _) => Qam256,
            (McsTable::Uplink, 0..=10) => Qpsk,
            (McsTable::Uplink, 11..=20) => Qam16,
            (McsTable::Uplink, 21..=28) => Qam64,
            (McsTable::Uplink, _) => return None,
        })
    }
    /// This MCS, or the next lower one where `prbs` resource blocks cannot carry its transport
    /// block: a single one with I_TBS 6 has 328 bits, 352 with the CRC, and at most 300 coded
    /// bits. No other entry of the table of sizes has a code rate above 1.
    #[must_use]
    pub fn decodable_on(self, table: McsTable, prbs: usize) -> Mcs {
        if prbs == 1 && self.i_tbs(table) == Some(6) { Mcs(self.0 - 1) } else { self }
    }
    /// Upper bound of the coded bits of one layer in a transmission on `prbs` resource blocks;
    /// `None` for a reserved MCS.
    ///
    /// Uplink: of the 14 symbols of a subframe two are demodulation reference signals (TS 36.211
    /// clauses 5.2.1 and 5.5.2.1): 144 resource elements a block. Downlink: 150, with one symbol of
    /// PDCCH (PCFICH, clause 6.7) and the cell-specific reference signals of one antenna port, 8 of
    /// which two are in that symbol (clause 6.10.1.2). More ports and a larger control region leave
    /// less.
    pub fn most_coded_bits(self, table: McsTable, prbs: usize) -> Option<u32> {
        let elements = if table == McsTable::Uplink { 144 } else { 150 };
        Some(elements * u32::from(self.modulation(table)?.bits()) * prbs as u32)
    }
    /// Bits per symbol with two decimals as R1-081483 prints them for MCS 0 to 28; larger ones
    /// count as 28.
    pub fn rounded_efficiency(self) -> f64 {
        ROUNDED_EFFICIENCY[usize::from(self.0.min(28))]
    }
    /// Effective code rate of the downlink MCS 0 to 28, two decimals; larger ones count as 28.
    pub fn code_rate(self) -> f64 {
        CODE_RATE[usize::from(self.0.min(28))]
    }
}

/// TS 36.213 table 7.1.7.1-1.
const I_TBS_DOWNLINK: [u8; 29] =
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 10, 11, 12, 13, 14, 15, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26];
/// TS 36.213 table 7.1.7.1-1A.
const I_TBS_DOWNLINK_256: [u8; 28] = [
    0, 2, 4, 6, 8, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 27, 28, 29, 30, 31, 32, 33,
];
/// TS 36.213 table 8.6.1-1.
const I_TBS_UPLINK: [u8; 29] = [
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 19, 20, 21, 22, 23, 24, 25, 26,
];
/// R1-081483, downlink.
const ROUNDED_EFFICIENCY: [f64; 29] = [
    0.15, 0.19, 0.23, 0.31, 0.38, 0.49, 0.60, 0.74, 0.88, 1.03, 1.18, 1.33, 1.48, 1.70, 1.91, 2.16, 2.41,
    2.57, 2.73, 3.03, 3.32, 3.61, 3.90, 4.21, 4.52, 4.82, 5.12, 5.33, 5.55,
];
/// Effective code rates of the downlink MCS (R1-081483's efficiencies over Q_m, as error models
/// label their curves).
const CODE_RATE: [f64; 29] = [
    0.08, 0.10, 0.11, 0.15, 0.19, 0.24, 0.30, 0.37, 0.44, 0.51, 0.30, 0.33, 0.37, 0.42, 0.48, 0.54, 0.60,
    0.43, 0.45, 0.50, 0.55, 0.60, 0.65, 0.70, 0.75, 0.80, 0.85, 0.89, 0.92,
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The code rate is the efficiency over Q_m; both are printed with two decimals, so they agree
    /// within half a unit of either: 0.005 + 0.005 / Q_m, and one more unit for how the source
    /// rounded.
    #[test]
    fn code_rates_are_efficiencies_per_bit() {
        for i in 0..=28 {
            let mcs = Mcs::new(i);
            let q = f64::from(mcs.modulation(McsTable::Downlink).unwrap().bits());
            let rate = mcs.rounded_efficiency() / q;
            assert!((rate - mcs.code_rate()).abs() < 0.0105, "MCS {i}: {rate} and {}", mcs.code_rate());
        }
    }

    /// Where the modulation changes, the transport block size stays the same: MCS 9/10 and 16/17
    /// downlink, 10/11 and 20/21 uplink. With 256QAM there is no such pair, but I_TBS 26 is left
    /// out.
    #[test]
    fn modulation_steps_keep_the_block_size() {
        let same = |table: McsTable, low: u8| {
            let (a, b) = (Mcs::new(low), Mcs::new(low + 1));
            assert_eq!(a.i_tbs(table), b.i_tbs(table));
            assert!(a.modulation(table) < b.modulation(table));
        };
        same(McsTable::Downlink, 9);
        same(McsTable::Downlink, 16);
        same(McsTable::Uplink, 10);
        same(McsTable::Uplink, 20);
        let all: Vec<_> = (0..=27).filter_map(|i| Mcs::new(i).i_tbs(McsTable::Downlink256)).collect();
        assert!(!all.contains(&26) && all.contains(&33));
    }

    #[test]
    fn indices_for_retransmissions_name_no_size() {
        for table in [McsTable::Downlink, McsTable::Downlink256, McsTable::Uplink] {
            assert!(table.largest().i_tbs(table).is_some());
            assert_eq!(Mcs::new(table.largest().index() + 1).i_tbs(table), None);
        }
        assert_eq!(Mcs::new(30).modulation(McsTable::Downlink), Some(Modulation::Qam16));
        assert_eq!(Mcs::new(31).modulation(McsTable::Downlink256), Some(Modulation::Qam256));
        assert_eq!(Mcs::new(29).modulation(McsTable::Uplink), None);
    }
}
