//! Durations of PPDUs.
//!
//! IEEE 802.11-2016: DSSS 16.2.2 (long preamble), OFDM equation 17-29, HT-mixed 19-90, VHT 21-109,
//! each without signal extension. With the short guard interval the equations of HT and VHT round
//! up to whole long symbols; as in other simulators that rounding (up to 3.6 us) is left out, so
//! the durations are those of the signal itself.

use lasthop_units::{Bytes, Duration};

use super::mode::{Format, Mode};

/// A reading of the standard.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Compat {
    /// The standard's.
    #[default]
    Standard,
    /// ns-3's, whose VHT preamble lacks VHT-SIG-B (4 us).
    Ns3,
}

/// Longest PPDU of HT-mixed and VHT (aPPDUMaxTime, tables 19-25 and 21-29).
pub const MAX_PPDU: Duration = Duration::from_micros(5_484);

impl Mode {
    /// Duration of everything before the data: training, signalling, and for VHT the SIG-B field.
    pub const fn preamble(&self, compat: Compat) -> Duration {
        let us = match self.format() {
            // 144 bits of preamble and 48 of header at 1 Mbit/s.
            Format::Dsss => 192,
            // L-STF 8, L-LTF 8, L-SIG 4.
            Format::Ofdm => 20,
            // And HT-SIG 8, HT-STF 4, an HT-LTF for each stream (four for three).
            Format::Ht => 20 + 8 + 4 + 4 * training(self.streams()),
            // And VHT-SIG-A 8, VHT-STF 4, VHT-LTFs, VHT-SIG-B 4.
            Format::Vht => {
                let sig_b = if matches!(compat, Compat::Standard) { 4 } else { 0 };
                20 + 8 + 4 + 4 * training(self.streams()) + sig_b
            }
        };
        Duration::from_micros(us)
    }

    /// Duration of a PPDU with a PSDU of `psdu`.
    #[inline]
    pub const fn duration(&self, psdu: Bytes, compat: Compat) -> Duration {
        let preamble = self.preamble(compat);
        let data = match self.format() {
            // 8 bits a byte, `dbps` tenths of a bit in each microsecond.
            Format::Dsss => 1_000 * (80 * psdu.0).div_ceil(self.data_bits_per_symbol() as u64),
            // SERVICE 16, tail 6 per encoder.
            _ => {
                let bits = 16 + psdu.bits() + 6 * self.encoders() as u64;
                self.symbol().0 * bits.div_ceil(self.data_bits_per_symbol() as u64)
            }
        };
        Duration(preamble.0 + data)
    }

    /// The largest PSDU of a PPDU whose duration is at most `limit`.
    pub const fn largest(&self, limit: Duration, compat: Compat) -> Bytes {
        let Some(data) = limit.0.checked_sub(self.preamble(compat).0) else { return Bytes(0) };
        let bits = data / self.symbol().0 * self.data_bits_per_symbol() as u64;
        match self.format() {
            Format::Dsss => Bytes(bits / 80),
            _ => Bytes(bits.saturating_sub(16 + 6 * self.encoders() as u64) / 8),
        }
    }
}

/// Long training fields for a number of streams (tables 19-13 and 21-13).
const fn training(streams: u8) -> u64 {
    match streams {
        1 => 1,
        2 => 2,
        _ => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phy::{Guard, Width};

    fn vht(bytes: u64, mcs: u8, width: Width, guard: Guard, compat: Compat) -> f64 {
        Mode::vht(mcs, 1, width, guard).unwrap().duration(Bytes(bytes), compat).0 as f64 / 1e3
    }

    /// One stream [us]: 1536 B with MCS 8 at 20 MHz is 40 + 4 ceil((8 * 1536 + 22) / 312) = 40 +
    /// 4 * 40 = 200, and 4 less where SIG-B is left out. The other rows are computed in the same
    /// way.
    #[test]
    fn vht_ppdus_are_exact() {
        for (bytes, mcs, width, long, short) in [
            (1536, 8, Width::W20, 200.0, 184.0),
            (76, 8, Width::W20, 52.0, 50.8),
            (14, 8, Width::W20, 44.0, 43.6),
            (1536, 9, Width::W40, 112.0, 104.8),
            (1536, 0, Width::W80, 464.0, 421.6),
            (76, 0, Width::W80, 64.0, 61.6),
            (1536, 9, Width::W80, 72.0, 68.8),
            (1536, 8, Width::W160, 60.0, 58.0),
        ] {
            assert_eq!(vht(bytes, mcs, width, Guard::Long, Compat::Standard), long);
            assert_eq!(vht(bytes, mcs, width, Guard::Long, Compat::Ns3), long - 4.0);
            assert_eq!(vht(bytes, mcs, width, Guard::Short, Compat::Standard), short);
            assert_eq!(vht(bytes, mcs, width, Guard::Short, Compat::Ns3), short - 4.0);
        }
    }

    /// OFDM at 54 Mbit/s: 20 + 4 ceil((22 + 8 L) / 216); control frames at 24 Mbit/s (96 bits a
    /// symbol) and 6 (24 bits).
    #[test]
    fn ofdm_and_dsss_ppdus_are_exact() {
        let us = |mode: Mode, bytes| mode.duration(Bytes(bytes), Compat::Standard).as_micros();
        let ofdm = |mbps| Mode::ofdm(mbps).unwrap();
        assert_eq!([1536, 76, 14].map(|b| us(ofdm(54), b)), [248, 32, 24]);
        assert_eq!([us(ofdm(24), 32), us(ofdm(24), 14), us(ofdm(6), 14)], [32, 28, 44]);
        let dsss = |tenths| Mode::dsss(tenths).unwrap();
        // 192 + 8 * 1500 / 11 = 1282.9, up to a whole microsecond (clause 16.2.3.5: LENGTH counts
        // microseconds).
        assert_eq!([us(dsss(10), 14), us(dsss(20), 14), us(dsss(110), 1500)], [304, 248, 1283]);
        assert_eq!(us(Mode::ht(7, Width::W20, Guard::Long).unwrap(), 1538), 36 + 4 * 48);
        // Four streams: 4 long training fields more than none, 3 more than one.
        let four = Mode::vht(0, 4, Width::W20, Guard::Long).unwrap();
        assert_eq!(us(four, 1) - 4, 36 + 16);
    }

    proptest::proptest! {
        /// `largest` is the inverse of `duration`.
        #[test]
        fn the_largest_psdu_fits_and_one_byte_more_does_not(mcs in 0u8..9, us in 100u64..6_000, short: bool, streams in 1u8..=4) {
            let guard = if short { Guard::Short } else { Guard::Long };
            let Ok(mode) = Mode::vht(mcs, streams, Width::W80, guard) else { return Ok(()) };
            let limit = Duration::from_micros(us);
            let most = mode.largest(limit, Compat::Standard);
            proptest::prop_assert!(mode.duration(most, Compat::Standard) <= limit);
            proptest::prop_assert!(mode.duration(Bytes(most.0 + 1), Compat::Standard) > limit);
        }
    }
}
