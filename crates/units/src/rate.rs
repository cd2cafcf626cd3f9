//! Bit rates, and durations that follow from them.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use crate::quantity::{Grammar, UnitError, print_decimal, scenario_quantity, written_as_text};
use crate::{Bytes, Duration};

/// A bit rate [bit/s].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bitrate(pub u64);

const BITRATE: Grammar = Grammar {
    what: "a rate",
    example: "10 Mbit/s",
    range: "0 bit/s to 100 Tbit/s",
    units: &[
        ("bit/s", 1.0),
        ("kbit/s", 1e3),
        ("Mbit/s", 1e6),
        ("Gbit/s", 1e9),
        ("bps", 1.0),
        ("kbps", 1e3),
        ("Mbps", 1e6),
        ("Gbps", 1e9),
        ("kb/s", 1e3),
        ("Mb/s", 1e6),
        ("Gb/s", 1e9),
    ],
    whole: true,
    bare: false,
    min: 0.0,
    max: 1e14,
};
/// Units in which rates are printed.
const PRINTED: [(&str, u64); 4] =
    [("Gbit/s", 1_000_000_000), ("Mbit/s", 1_000_000), ("kbit/s", 1_000), ("bit/s", 1)];
scenario_quantity!(Bitrate, BITRATE, |v: f64| Bitrate(v.round() as u64), "string");
written_as_text!(Bitrate);

impl Bitrate {
    /// The rate of `bits` bits in each `t` (> 0), rounded down.
    pub const fn per(bits: u64, t: Duration) -> Bitrate {
        Bitrate((bits as u128 * 1_000_000_000 / t.0 as u128) as u64)
    }

    /// Serialisation time of `size`, rounded **up** to the nanosecond so that a link never exceeds
    /// its rate. For a rate of zero: [`Duration::MAX`].
    #[inline]
    pub const fn time_for(self, size: Bytes) -> Duration {
        if self.0 == 0 {
            return Duration::MAX;
        }
        // 64 bits hold every packet up to 2.3 GB: the 128-bit division is kept for the rest.
        match size.bits().checked_mul(1_000_000_000) {
            Some(scaled) => Duration(scaled.div_ceil(self.0)),
            None => {
                let scaled = size.0 as u128 * 8_000_000_000;
                Duration(scaled.div_ceil(self.0 as u128) as u64)
            }
        }
    }

    /// The whole bytes that are sent in `t`.
    pub const fn bytes_in(self, t: Duration) -> Bytes {
        Bytes((self.0 as u128 * t.0 as u128 / 8_000_000_000) as u64)
    }

    /// bit/s as a float, for statistics.
    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }
}

impl fmt::Display for Bitrate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&print_decimal(self.0, "0 bit/s", &PRINTED))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serialisation_rounds_up() {
        // 1500 B at 10 Mbit/s: 12000 / 10^7 s = 1.2 ms exactly.
        assert_eq!(Bitrate(10_000_000).time_for(Bytes(1500)), Duration::from_micros(1200));
        // 1 B at 3 bit/s: 8/3 s = 2.666... s, up.
        assert_eq!(Bitrate(3).time_for(Bytes(1)), Duration(2_666_666_667));
        assert_eq!(Bitrate(0).time_for(Bytes(1)), Duration::MAX);
        // 9 PB at 1 bit/s exceeds 2^64 ns and must not wrap in an intermediate result: 7.2e16 s is
        // clamped by the cast's width.
        assert_eq!(Bitrate(1_000_000_000).time_for(Bytes(9_000_000_000)), Duration::from_secs(72));
    }

    proptest::proptest! {
        #[test]
        fn what_is_printed_is_read_back(n in 0..=9_000_000_000_000_000_u64, shift in 0..50_u32, zeros in 0..3_u32) {
            let n = n >> shift;
            let n = n / 1000_u64.pow(zeros) * 1000_u64.pow(zeros);
            proptest::prop_assert_eq!(Duration(n).to_string().parse(), Ok(Duration(n)));
            let rate = Bitrate(n.min(100_000_000_000_000));
            proptest::prop_assert_eq!(rate.to_string().parse(), Ok(rate));
            proptest::prop_assert_eq!(Bytes(n).to_string().parse(), Ok(Bytes(n)));
        }
    }

    #[test]
    fn rates_are_read() {
        assert_eq!("384 kbit/s".parse(), Ok(Bitrate(384_000)));
        assert_eq!("1.5 Mbps".parse(), Ok(Bitrate(1_500_000)));
        assert_eq!(Bitrate(384_000).to_string(), "384 kbit/s");
        assert_eq!(Bitrate(2_500_000).to_string(), "2.5 Mbit/s");
        assert_eq!(Bitrate(0).to_string(), "0 bit/s");
        assert_eq!(Bitrate::per(12 * 320, Duration::from_millis(10)), Bitrate(384_000));
    }
}
