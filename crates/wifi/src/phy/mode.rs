//! Rates: data bits and duration of a symbol, by modulation, code, width, guard interval and
//! streams.
//!
//! DSSS and CCK (IEEE 802.11-2016 clauses 15 and 16), OFDM (17), HT (19, MCS 0 to 31) and VHT (21,
//! MCS 0 to 9, up to four streams). A combination that the standard leaves out is refused with the
//! reason.

use std::sync::LazyLock;

use lasthop_units::{Bitrate, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::{self, Bounds, Coding};

/// Width of a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum Width {
    /// 20 MHz (22 MHz for DSSS).
    #[default]
    #[serde(rename = "20 MHz")]
    W20,
    /// 40 MHz.
    #[serde(rename = "40 MHz")]
    W40,
    /// 80 MHz.
    #[serde(rename = "80 MHz")]
    W80,
    /// 160 MHz.
    #[serde(rename = "160 MHz")]
    W160,
}

impl Width {
    /// In MHz.
    pub const fn mhz(self) -> u32 {
        20 << self as u32
    }
    /// Data subcarriers of an HT or VHT symbol (tables 19-27 ff. and 21-30 ff.).
    const fn subcarriers(self) -> u32 {
        match self {
            Width::W20 => 52,
            Width::W40 => 108,
            Width::W80 => 234,
            Width::W160 => 468,
        }
    }
}

/// Guard interval of HT and VHT data symbols.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Guard {
    /// 800 ns: symbols of 4 us.
    #[default]
    Long,
    /// 400 ns: symbols of 3.6 us.
    Short,
}

/// The format of a PPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// DSSS and CCK with the long preamble (802.11b).
    Dsss,
    /// OFDM (802.11a and g).
    Ofdm,
    /// HT-mixed (802.11n).
    Ht,
    /// VHT (802.11ac).
    Vht,
}

/// A combination that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoSuchMode(pub String);

/// A rate with the data for durations and error probabilities.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mode {
    format: Format,
    mcs: u8,
    streams: u8,
    width: Width,
    guard: Guard,
    /// Data bits of a symbol (N_DBPS); of DSSS: bits in a microsecond times ten.
    dbps: u32,
    /// Encoders (N_ES).
    encoders: u8,
    coding: Coding,
    /// SINRs of a stream below which no data is correct, and above which errors are left out.
    bounds: Bounds,
}

/// Rates of OFDM [Mbit/s], with coded bits of a subcarrier and the code's class.
const OFDM: [(u32, Coding); 8] = [
    (6, Coding::new(1, 1, 2)),
    (9, Coding::new(1, 3, 4)),
    (12, Coding::new(2, 1, 2)),
    (18, Coding::new(2, 3, 4)),
    (24, Coding::new(4, 1, 2)),
    (36, Coding::new(4, 3, 4)),
    (48, Coding::new(6, 2, 3)),
    (54, Coding::new(6, 3, 4)),
];

/// Modulation and code of HT and VHT MCS of one stream (tables 19-27 and 21-30).
const MCS: [Coding; 10] = [
    Coding::new(1, 1, 2),
    Coding::new(2, 1, 2),
    Coding::new(2, 3, 4),
    Coding::new(4, 1, 2),
    Coding::new(4, 3, 4),
    Coding::new(6, 2, 3),
    Coding::new(6, 3, 4),
    Coding::new(6, 5, 6),
    Coding::new(8, 3, 4),
    Coding::new(8, 5, 6),
];

impl Mode {
    /// DSSS or CCK: 1, 2, 5.5 or 11 Mbit/s, given as tenths of a Mbit/s.
    ///
    /// # Errors
    /// Another rate.
    pub fn dsss(tenths: u32) -> Result<Mode, NoSuchMode> {
        let coding = match tenths {
            10 => Coding::DBPSK,
            20 => Coding::DQPSK,
            55 => Coding::CCK5,
            110 => Coding::CCK11,
            _ => return Err(NoSuchMode("802.11b has 1, 2, 5.5 and 11 Mbit/s".into())),
        };
        let mcs = [10, 20, 55, 110].iter().position(|r| *r == tenths).unwrap_or(0) as u8;
        Ok(Mode::of(Format::Dsss, mcs, 1, Width::W20, Guard::Long, tenths, 1, coding))
    }

    /// OFDM: 6, 9, 12, 18, 24, 36, 48 or 54 Mbit/s.
    ///
    /// # Errors
    /// Another rate.
    pub fn ofdm(mbps: u32) -> Result<Mode, NoSuchMode> {
        // Each reception looks up the rate of the signalling before the data.
        static MODES: LazyLock<[Mode; OFDM.len()]> = LazyLock::new(|| {
            std::array::from_fn(|mcs| {
                let (mbps, coding) = OFDM[mcs];
                Mode::of(Format::Ofdm, mcs as u8, 1, Width::W20, Guard::Long, 4 * mbps, 1, coding)
            })
        });
        let place = OFDM.iter().position(|(rate, _)| *rate == mbps);
        let place = place.ok_or_else(|| NoSuchMode("OFDM has 6, 9, 12, 18, 24, 36, 48 and 54 Mbit/s".into()));
        Ok(MODES[place?])
    }

    /// HT with MCS 0 to 31 (equal modulation: 8 for each number of streams) at 20 or 40 MHz.
    ///
    /// # Errors
    /// An MCS or a width that HT does not have.
    pub fn ht(mcs: u8, width: Width, guard: Guard) -> Result<Mode, NoSuchMode> {
        if mcs > 31 {
            return Err(NoSuchMode(format!("HT has MCS 0 to 31, not {mcs}")));
        }
        if width > Width::W40 {
            return Err(NoSuchMode("802.11n has channels of 20 and 40 MHz".into()));
        }
        let (streams, coding) = (mcs / 8 + 1, MCS[usize::from(mcs % 8)]);
        let dbps = coding.data_bits(width.subcarriers() * u32::from(streams));
        // Tables 19-27 to 19-34: a second encoder above 300 Mbit/s.
        let encoders = if rate(dbps, Guard::Short) > 300_000_000 { 2 } else { 1 };
        Ok(Mode::of(Format::Ht, mcs, streams, width, guard, dbps, encoders, coding))
    }

    /// VHT with MCS 0 to 9 and 1 to 4 streams.
    ///
    /// # Errors
    /// An MCS that is not there, or not with this width and number of streams (tables 21-30 to
    /// 21-61).
    pub fn vht(mcs: u8, streams: u8, width: Width, guard: Guard) -> Result<Mode, NoSuchMode> {
        if mcs > 9 {
            return Err(NoSuchMode(format!("VHT has MCS 0 to 9, not {mcs}")));
        }
        if !(1..=4).contains(&streams) {
            return Err(NoSuchMode(format!("1 to 4 streams are there, not {streams}")));
        }
        let missing = match (width, mcs) {
            (Width::W20, 9) => streams != 3,
            (Width::W80, 6) | (Width::W160, 9) => streams == 3,
            _ => false,
        };
        if missing {
            return Err(NoSuchMode(format!(
                "VHT has no MCS {mcs} with {streams} streams at {} MHz: its bits do not fill whole symbols",
                width.mhz()
            )));
        }
        let coding = MCS[usize::from(mcs)];
        let carriers = width.subcarriers() * u32::from(streams);
        let (dbps, cbps) = (coding.data_bits(carriers), carriers * coding.bits());
        // One encoder per 600 Mbit/s, and as many more as divide the bits evenly (clause 21.5).
        let fewest = rate(dbps, Guard::Short).div_ceil(600_000_000) as u32;
        let even = |n: &u32| dbps.is_multiple_of(*n) && cbps.is_multiple_of(*n);
        let encoders = (fewest..=12).find(even).unwrap_or(fewest) as u8;
        Ok(Mode::of(Format::Vht, mcs, streams, width, guard, dbps, encoders, coding))
    }

    #[allow(clippy::too_many_arguments)] // every column of the standard's tables, once
    fn of(
        format: Format,
        mcs: u8,
        streams: u8,
        width: Width,
        guard: Guard,
        dbps: u32,
        encoders: u8,
        coding: Coding,
    ) -> Mode {
        let bounds = error::bounds(coding);
        Mode { format, mcs, streams, width, guard, dbps, encoders, coding, bounds }
    }

    /// The format of its PPDUs.
    pub const fn format(&self) -> Format {
        self.format
    }
    /// Its number: the MCS, or the index among the rates of DSSS and OFDM.
    pub const fn mcs(&self) -> u8 {
        self.mcs
    }
    /// Spatial streams.
    pub const fn streams(&self) -> u8 {
        self.streams
    }
    /// Channel width.
    pub const fn width(&self) -> Width {
        self.width
    }
    /// Guard interval.
    pub const fn guard(&self) -> Guard {
        self.guard
    }
    /// Data bits of a symbol (N_DBPS); of DSSS ten times the bits of a microsecond.
    pub const fn data_bits_per_symbol(&self) -> u32 {
        self.dbps
    }
    /// Encoders (N_ES).
    pub const fn encoders(&self) -> u8 {
        self.encoders
    }
    /// Modulation and code.
    pub const fn coding(&self) -> Coding {
        self.coding
    }
    /// True if its PPDUs may carry an A-MPDU.
    pub const fn aggregates(&self) -> bool {
        matches!(self.format, Format::Ht | Format::Vht)
    }
    /// Duration of a data symbol; for DSSS a tenth of a microsecond, which has `dbps / 100` bits.
    pub const fn symbol(&self) -> Duration {
        match (self.format, self.guard) {
            (Format::Dsss, _) => Duration(1_000),
            (_, Guard::Long) => Duration(4_000),
            (_, Guard::Short) => Duration(3_600),
        }
    }
    /// Data rate.
    pub fn rate(&self) -> Bitrate {
        match self.format {
            Format::Dsss => Bitrate(u64::from(self.dbps) * 100_000),
            _ => Bitrate(rate(self.dbps, self.guard)),
        }
    }

    /// Probability that `bits` data bits are correct at `sinr` (linear, over the whole width and
    /// all streams).
    #[inline]
    pub fn success(&self, sinr: f64, bits: f64) -> f64 {
        let sinr = sinr / f64::from(self.streams);
        if sinr >= self.bounds.sure {
            1.0
        } else if sinr < self.bounds.lost {
            0.0
        } else {
            error::success(self.coding, sinr, bits)
        }
    }

    /// Linear SINR above which bit errors are left out.
    pub const fn sure(&self) -> f64 {
        self.bounds.sure * self.streams as f64
    }

    /// The non-HT rate from which the rate of responses is derived, in Mbit/s (clause 10.7.6.5.2
    /// and table 10-7: the rate with this modulation and code; 54 for those that OFDM lacks).
    pub const fn reference(&self) -> u32 {
        match self.format {
            Format::Dsss => self.dbps / 10,
            Format::Ofdm => self.dbps / 4,
            Format::Ht | Format::Vht => {
                match self.mcs % if matches!(self.format, Format::Ht) { 8 } else { 10 } {
                    0 => 6,
                    1 => 12,
                    2 => 18,
                    3 => 24,
                    4 => 36,
                    5 => 48,
                    _ => 54,
                }
            }
        }
    }
}

/// Bits of a symbol over its length [bit/s].
fn rate(dbps: u32, guard: Guard) -> u64 {
    let tenths = if guard == Guard::Long { 40 } else { 36 };
    u64::from(dbps) * 10_000_000 / tenths
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IEEE 802.11-2016 tables 19-27 and 19-28: one and two streams at 20 MHz, long and short guard
    /// interval [Mbit/s]. MCS 11 is that of RFC 8869's cases.
    #[test]
    fn ht_rates_are_those_of_the_tables() {
        let table = [
            (6.5, 7.2),
            (13.0, 14.4),
            (19.5, 21.7),
            (26.0, 28.9),
            (39.0, 43.3),
            (52.0, 57.8),
            (58.5, 65.0),
            (65.0, 72.2),
        ];
        for mcs in 0..16u8 {
            let (streams, (long, short)) = (f64::from(mcs / 8 + 1), table[usize::from(mcs % 8)]);
            for (guard, mbps) in [(Guard::Long, long), (Guard::Short, short)] {
                let got = Mode::ht(mcs, Width::W20, guard).unwrap().rate().as_f64() / 1e6;
                assert!((got - mbps * streams).abs() < 0.05 * streams + 0.01, "{mcs} {got}");
            }
        }
        let rate = Mode::ht(11, Width::W20, Guard::Long).unwrap().rate();
        assert_eq!(rate, Bitrate(52_000_000));
    }

    /// IEEE 802.11-2016 tables 21-30, 21-38, 21-46, 21-54: one stream, long and short guard
    /// interval [Mbit/s].
    #[test]
    fn vht_rates_are_those_of_the_tables() {
        let table = [
            [(6.5, 7.2), (13.5, 15.0), (29.3, 32.5), (58.5, 65.0)],
            [(13.0, 14.4), (27.0, 30.0), (58.5, 65.0), (117.0, 130.0)],
            [(19.5, 21.7), (40.5, 45.0), (87.8, 97.5), (175.5, 195.0)],
            [(26.0, 28.9), (54.0, 60.0), (117.0, 130.0), (234.0, 260.0)],
            [(39.0, 43.3), (81.0, 90.0), (175.5, 195.0), (351.0, 390.0)],
            [(52.0, 57.8), (108.0, 120.0), (234.0, 260.0), (468.0, 520.0)],
            [(58.5, 65.0), (121.5, 135.0), (263.3, 292.5), (526.5, 585.0)],
            [(65.0, 72.2), (135.0, 150.0), (292.5, 325.0), (585.0, 650.0)],
            [(78.0, 86.7), (162.0, 180.0), (351.0, 390.0), (702.0, 780.0)],
        ];
        let widths = [Width::W20, Width::W40, Width::W80, Width::W160];
        for (mcs, row) in table.iter().enumerate() {
            for (width, (long, short)) in widths.iter().zip(row) {
                for (guard, mbps) in [(Guard::Long, *long), (Guard::Short, *short)] {
                    for streams in 1..=4 {
                        let Ok(mode) = Mode::vht(mcs as u8, streams, *width, guard) else { continue };
                        let got = mode.rate().as_f64() / 1e6;
                        // The table is rounded to a tenth.
                        assert!(
                            (got - mbps * f64::from(streams)).abs() < 0.05 * f64::from(streams) + 0.01,
                            "{mode:?}"
                        );
                    }
                }
            }
        }
        assert_eq!(Mode::vht(9, 1, Width::W160, Guard::Short).unwrap().rate(), Bitrate(866_666_666));
    }

    /// Tables 21-30 to 21-61 mark these "not valid" up to four streams.
    #[test]
    fn combinations_that_are_not_there_are_refused() {
        let widths = [Width::W20, Width::W40, Width::W80, Width::W160];
        let mut missing = Vec::new();
        for width in widths {
            for streams in 1..=4 {
                for mcs in 0..=9 {
                    if Mode::vht(mcs, streams, width, Guard::Long).is_err() {
                        missing.push((width.mhz(), streams, mcs));
                    }
                }
            }
        }
        assert_eq!(missing, [(20, 1, 9), (20, 2, 9), (20, 4, 9), (80, 3, 6), (160, 3, 9)]);
        assert!(Mode::vht(10, 1, Width::W20, Guard::Long).is_err());
        assert!(Mode::vht(0, 5, Width::W20, Guard::Long).is_err());
        assert!(Mode::ht(32, Width::W20, Guard::Long).is_err());
        assert!(Mode::ht(0, Width::W80, Guard::Long).is_err());
        assert!(Mode::ofdm(7).is_err() && Mode::dsss(60).is_err());
    }

    /// N_ES of tables 21-46 to 21-61: 780 Mbit/s at 160 MHz needs two encoders, 80 MHz with 4
    /// streams and MCS 9 three, 160 MHz with 4 streams 6 from MCS 7 on (2600 Mbit/s would need
    /// 5, but 11232 coded bits do not divide by 5).
    #[test]
    fn encoders_are_those_of_the_tables() {
        let of = |mcs, streams, width| Mode::vht(mcs, streams, width, Guard::Long).unwrap().encoders();
        assert_eq!((of(9, 1, Width::W80), of(7, 1, Width::W160), of(8, 1, Width::W160)), (1, 2, 2));
        assert_eq!((of(9, 2, Width::W80), of(9, 3, Width::W80), of(9, 4, Width::W80)), (2, 3, 3));
        assert_eq!((of(6, 4, Width::W160), of(7, 4, Width::W160), of(9, 4, Width::W160)), (4, 6, 6));
        assert_eq!(Mode::ht(31, Width::W40, Guard::Long).unwrap().encoders(), 2);
    }
}
