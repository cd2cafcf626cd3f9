//! Carriers: bandwidths in resource blocks, groups of resource blocks, EARFCN.

use lasthop_units::Hertz;
use thiserror::Error;

/// Subcarriers of a resource block; each is 15 kHz wide.
pub const SUBCARRIERS_PER_PRB: u32 = 12;

/// A channel bandwidth, TS 36.101 table 5.6-1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Bandwidth {
    /// 1.4 MHz, 6 resource blocks.
    Mhz1_4,
    /// 3 MHz, 15 resource blocks.
    Mhz3,
    /// 5 MHz, 25 resource blocks.
    Mhz5,
    /// 10 MHz, 50 resource blocks.
    Mhz10,
    /// 15 MHz, 75 resource blocks.
    Mhz15,
    /// 20 MHz, 100 resource blocks.
    #[default]
    Mhz20,
}

/// A frequency that is not the width of an LTE bandwidth.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("{0} is not an LTE bandwidth: choose 1.4, 3, 5, 10, 15 or 20 MHz")]
pub struct NotABandwidth(pub String);

/// An EARFCN outside the bands that are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "EARFCN {earfcn} is no {direction} channel of the FDD bands 1 to 14 and 17 to 28 (TS 36.101 table 5.7.3-1)"
)]
pub struct EarfcnError {
    /// The requested number.
    pub earfcn: u32,
    /// "downlink" or "uplink".
    pub direction: &'static str,
}

impl Bandwidth {
    /// All bandwidths, narrow first.
    pub const ALL: [Bandwidth; 6] =
        [Self::Mhz1_4, Self::Mhz3, Self::Mhz5, Self::Mhz10, Self::Mhz15, Self::Mhz20];

    /// N_RB, the number of resource blocks.
    pub const fn prbs(self) -> usize {
        match self {
            Bandwidth::Mhz1_4 => 6,
            Bandwidth::Mhz3 => 15,
            Bandwidth::Mhz5 => 25,
            Bandwidth::Mhz10 => 50,
            Bandwidth::Mhz15 => 75,
            Bandwidth::Mhz20 => 100,
        }
    }
    /// The width of the channel.
    pub const fn hertz(self) -> Hertz {
        Hertz(match self {
            Bandwidth::Mhz1_4 => 1.4e6,
            Bandwidth::Mhz3 => 3e6,
            Bandwidth::Mhz5 => 5e6,
            Bandwidth::Mhz10 => 10e6,
            Bandwidth::Mhz15 => 15e6,
            Bandwidth::Mhz20 => 20e6,
        })
    }
    /// The bandwidth with a width of `width`.
    ///
    /// # Errors
    /// [`NotABandwidth`], which names the six widths.
    pub fn from_hertz(width: Hertz) -> Result<Bandwidth, NotABandwidth> {
        let found = Self::ALL.into_iter().find(|b| (b.hertz().0 - width.0).abs() < 1.0);
        found.ok_or_else(|| NotABandwidth(width.to_string()))
    }
    /// The bandwidth with `prbs` resource blocks.
    pub fn from_prbs(prbs: usize) -> Option<Bandwidth> {
        Self::ALL.into_iter().find(|b| b.prbs() == prbs)
    }
    /// P: resource blocks of a resource block group of allocation type 0, TS 36.213 table
    /// 7.1.6.1-1.
    pub const fn rbg_size(self) -> usize {
        match self.prbs() {
            0..=10 => 1,
            11..=26 => 2,
            27..=63 => 3,
            _ => 4,
        }
    }
    /// Number of resource block groups; the last one may be smaller (TS 36.213 clause 7.1.6.1:
    /// ceil(N_RB / P)).
    pub const fn rbgs(self) -> usize {
        self.prbs().div_ceil(self.rbg_size())
    }
    /// k: resource blocks of a sub-band for higher-layer configured feedback, TS 36.213 table
    /// 7.2.1-3 (8 to 110 blocks); a carrier of 6 blocks has no sub-bands and reports one value.
    pub const fn subband_size(self) -> usize {
        match self.prbs() {
            0..=7 => 6,
            8..=26 => 4,
            27..=63 => 6,
            _ => 8,
        }
    }
    /// Number of sub-bands; the last one may be smaller.
    pub const fn subbands(self) -> usize {
        self.prbs().div_ceil(self.subband_size())
    }
}

/// The carrier frequency of downlink channel `earfcn` [Hz]: F = F_low + 0.1 MHz (N - N_offs), TS
/// 36.101 clause 5.7.3.
///
/// # Errors
/// [`EarfcnError`] for a number in no known band.
pub fn downlink_frequency(earfcn: u32) -> Result<Hertz, EarfcnError> {
    frequency(&DOWNLINK, earfcn).ok_or(EarfcnError { earfcn, direction: "downlink" })
}

/// The carrier frequency of uplink channel `earfcn` [Hz].
///
/// # Errors
/// [`EarfcnError`] for a number in no known band.
pub fn uplink_frequency(earfcn: u32) -> Result<Hertz, EarfcnError> {
    frequency(&UPLINK, earfcn).ok_or(EarfcnError { earfcn, direction: "uplink" })
}

/// First number, last number, lowest frequency [100 kHz].
type Band = (u32, u32, u32);

fn frequency(bands: &[Band], earfcn: u32) -> Option<Hertz> {
    let (first, _, low) = bands.iter().find(|(first, last, _)| (*first..=*last).contains(&earfcn))?;
    Some(Hertz(f64::from(low + (earfcn - first)) * 1e5))
}

/// TS 36.101 table 5.7.3-1, FDD bands 1-14, 17-28.
const DOWNLINK: [Band; 26] = [
    (0, 599, 21100),
    (600, 1199, 19300),
    (1200, 1949, 18050),
    (1950, 2399, 21100),
    (2400, 2649, 8690),
    (2650, 2749, 8750),
    (2750, 3449, 26200),
    (3450, 3799, 9250),
    (3800, 4149, 18449),
    (4150, 4749, 21100),
    (4750, 4949, 14759),
    (5010, 5179, 7290),
    (5180, 5279, 7460),
    (5280, 5379, 7580),
    (5730, 5849, 7340),
    (5850, 5999, 8600),
    (6000, 6149, 8750),
    (6150, 6449, 7910),
    (6450, 6599, 14959),
    (6600, 7399, 35100),
    (7500, 7699, 21800),
    (7700, 8039, 15250),
    (8040, 8689, 19300),
    (8690, 9039, 8590),
    (9040, 9209, 8520),
    (9210, 9659, 7580),
];
const UPLINK: [Band; 26] = [
    (18000, 18599, 19200),
    (18600, 19199, 18500),
    (19200, 19949, 17100),
    (19950, 20399, 17100),
    (20400, 20649, 8240),
    (20650, 20749, 8300),
    (20750, 21449, 25000),
    (21450, 21799, 8800),
    (21800, 22149, 17499),
    (22150, 22749, 17100),
    (22750, 22949, 14279),
    (23010, 23179, 6990),
    (23180, 23279, 7770),
    (23280, 23379, 7880),
    (23730, 23849, 7040),
    (23850, 23999, 8150),
    (24000, 24149, 8300),
    (24150, 24449, 8320),
    (24450, 24599, 14479),
    (24600, 25399, 34100),
    (25500, 25699, 20000),
    (25700, 26039, 16265),
    (26040, 26689, 18500),
    (26690, 27039, 8140),
    (27040, 27209, 8070),
    (27210, 27659, 7030),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// ns-3's test of EARFCNs: values in MHz; and band 4's duplex distance of 400 MHz.
    #[test]
    fn earfcn_give_their_frequencies() {
        for (n, mhz) in [(500, 2160.0), (1000, 1970.0), (1301, 1815.1), (100, 2120.0)] {
            assert!((downlink_frequency(n).unwrap().0 / 1e6 - mhz).abs() < 1e-6, "{n}");
        }
        for (n, mhz) in [(18100, 1930.0), (19000, 1890.0), (19400, 1730.0)] {
            assert!((uplink_frequency(n).unwrap().0 / 1e6 - mhz).abs() < 1e-6, "{n}");
        }
        assert_eq!(downlink_frequency(1950).unwrap().0 - uplink_frequency(19950).unwrap().0, 400e6);
        assert!(downlink_frequency(18100).is_err() && uplink_frequency(100).is_err());
        assert!(
            downlink_frequency(5000).unwrap_err().to_string().contains("EARFCN 5000 is no downlink channel")
        );
    }

    #[test]
    fn bands_are_of_one_width_both_ways() {
        for (down, up) in DOWNLINK.iter().zip(&UPLINK) {
            assert_eq!(down.1 - down.0, up.1 - up.0);
            assert_eq!(down.0 + 18000, up.0, "N_offs of the uplink is 18000 above");
        }
    }

    #[test]
    fn blocks_and_groups_follow_the_tables() {
        let groups: Vec<_> = Bandwidth::ALL.iter().map(|b| (b.prbs(), b.rbg_size(), b.rbgs())).collect();
        assert_eq!(groups, [(6, 1, 6), (15, 2, 8), (25, 2, 13), (50, 3, 17), (75, 4, 19), (100, 4, 25)]);
        let subbands: Vec<_> = Bandwidth::ALL.iter().map(|b| b.subbands()).collect();
        assert_eq!(subbands, [1, 4, 7, 9, 10, 13]);
        assert_eq!(Bandwidth::from_hertz(Hertz(1.4e6)), Ok(Bandwidth::Mhz1_4));
        let error = Bandwidth::from_hertz(Hertz(7e6)).unwrap_err().to_string();
        assert!(error.contains("choose 1.4, 3, 5, 10, 15 or 20 MHz"), "{error}");
    }
}
