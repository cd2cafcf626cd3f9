//! Virtual time: whole nanoseconds since the start of the run.

use std::borrow::Cow;
use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};
use std::str::FromStr;

use crate::quantity::{Grammar, UnitError, print_decimal, scenario_quantity, written_as_text};

/// A moment of virtual time, in nanoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(pub u64);

/// A length of virtual time, in nanoseconds. It is a separate type, because moments cannot be
/// added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(pub u64);

const DURATION: Grammar = Grammar {
    what: "a time",
    example: "10 ms",
    range: "0 s to 88888 h",
    units: &[
        ("ns", 1.0),
        ("us", 1e3),
        ("\u{b5}s", 1e3),
        ("ms", 1e6),
        ("s", 1e9),
        ("min", 60e9),
        ("h", 3600e9),
    ],
    whole: true,
    bare: false,
    min: 0.0,
    max: 3.2e17,
};
/// Units in which times are printed: minutes and hours are read, but never printed.
const PRINTED: [(&str, u64); 4] = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];
scenario_quantity!(Duration, DURATION, |v: f64| Duration(v.round() as u64), "string");
scenario_quantity!(Instant, DURATION, |v: f64| Instant(v.round() as u64), "string");
written_as_text!(Duration Instant);

impl Instant {
    /// The start of the run.
    pub const ZERO: Instant = Instant(0);
    /// Later than every event.
    pub const MAX: Instant = Instant(u64::MAX);

    /// `ms` milliseconds after the start.
    pub const fn from_millis(ms: u64) -> Instant {
        Instant(ms * 1_000_000)
    }
    /// `us` microseconds after the start.
    pub const fn from_micros(us: u64) -> Instant {
        Instant(us * 1_000)
    }
    /// `s` seconds after the start.
    pub const fn from_secs(s: u64) -> Instant {
        Instant(s * 1_000_000_000)
    }
    /// Nanoseconds since the start.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
    /// Seconds since the start, for display and statistics only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// Time since `earlier`; zero if `earlier` is later.
    pub const fn since(self, earlier: Instant) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
    /// This moment plus `d`, stopping at [`Instant::MAX`].
    pub const fn saturating_add(self, d: Duration) -> Instant {
        Instant(self.0.saturating_add(d.0))
    }
    /// The first multiple of `grid` at or after this moment (`grid` > 0).
    pub const fn ceil_to(self, grid: Duration) -> Instant {
        Instant(self.0.div_ceil(grid.0) * grid.0)
    }
    /// The first multiple of `grid` strictly after this moment: data that arrives at the instant at
    /// which a TTI starts is sent in the next one.
    pub const fn next_after(self, grid: Duration) -> Instant {
        Instant((self.0 / grid.0 + 1) * grid.0)
    }
}

impl Duration {
    /// Zero.
    pub const ZERO: Duration = Duration(0);
    /// Longer than any run.
    pub const MAX: Duration = Duration(u64::MAX);

    /// `s` seconds.
    pub const fn from_secs(s: u64) -> Duration {
        Duration(s * 1_000_000_000)
    }
    /// `ms` milliseconds.
    pub const fn from_millis(ms: u64) -> Duration {
        Duration(ms * 1_000_000)
    }
    /// `us` microseconds.
    pub const fn from_micros(us: u64) -> Duration {
        Duration(us * 1_000)
    }
    /// `s` seconds, rounded to the nanosecond; negative and NaN become zero.
    pub fn from_secs_f64(s: f64) -> Duration {
        Duration((s * 1e9).round() as u64)
    }
    /// Nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
    /// Whole microseconds, rounded down.
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }
    /// Whole milliseconds, rounded down.
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000_000
    }
    /// Seconds, for statistics and display.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// True for a length of zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
    /// Difference that stops at zero.
    pub const fn saturating_sub(self, o: Duration) -> Duration {
        Duration(self.0.saturating_sub(o.0))
    }
    /// Product that stops at [`Duration::MAX`].
    pub const fn saturating_mul(self, n: u64) -> Duration {
        Duration(self.0.saturating_mul(n))
    }
    /// Absolute difference.
    pub const fn abs_diff(self, o: Duration) -> Duration {
        Duration(self.0.abs_diff(o.0))
    }
    /// This length times `x` (>= 0), rounded to the nanosecond.
    pub fn mul_f64(self, x: f64) -> Duration {
        Duration((self.0 as f64 * x).round() as u64)
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&print_decimal(self.0, "0 s", &PRINTED))
    }
}
impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&print_decimal(self.0, "0 s", &PRINTED))
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;
    fn add(self, d: Duration) -> Instant {
        Instant(self.0 + d.0)
    }
}
impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, d: Duration) {
        self.0 += d.0;
    }
}
impl Sub<Duration> for Instant {
    type Output = Instant;
    fn sub(self, d: Duration) -> Instant {
        Instant(self.0 - d.0)
    }
}
impl Sub for Instant {
    type Output = Duration;
    fn sub(self, earlier: Instant) -> Duration {
        Duration(self.0 - earlier.0)
    }
}
impl Add for Duration {
    type Output = Duration;
    fn add(self, o: Duration) -> Duration {
        Duration(self.0 + o.0)
    }
}
impl AddAssign for Duration {
    fn add_assign(&mut self, o: Duration) {
        self.0 += o.0;
    }
}
impl Sub for Duration {
    type Output = Duration;
    fn sub(self, o: Duration) -> Duration {
        Duration(self.0 - o.0)
    }
}
impl SubAssign for Duration {
    fn sub_assign(&mut self, o: Duration) {
        self.0 -= o.0;
    }
}
impl Mul<u64> for Duration {
    type Output = Duration;
    fn mul(self, n: u64) -> Duration {
        Duration(self.0 * n)
    }
}
impl Div<u64> for Duration {
    type Output = Duration;
    fn div(self, n: u64) -> Duration {
        Duration(self.0 / n)
    }
}
impl Div for Duration {
    type Output = u64;
    /// Number of whole `o` in this length.
    fn div(self, o: Duration) -> u64 {
        self.0 / o.0
    }
}

/// The number of a transmission time interval since the start; never wraps. A system frame number
/// is only computed from it for display.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tti(pub u64);

impl Tti {
    /// Start of this interval on a grid of `length`.
    pub const fn start(self, length: Duration) -> Instant {
        Instant(self.0 * length.0)
    }
    /// The interval that contains `t`.
    pub const fn containing(t: Instant, length: Duration) -> Tti {
        Tti(t.0 / length.0)
    }
    /// The interval `n` later.
    pub const fn plus(self, n: u64) -> Tti {
        Tti(self.0 + n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_printed_without_loss() {
        for (text, ns) in
            [("0.1 ms", 100_000), ("29ms", 29_000_000), ("1000 s", 1_000_000_000_000), ("0 s", 0)]
        {
            let d: Duration = text.parse().unwrap();
            assert_eq!(d.0, ns, "{text}");
            assert_eq!(d.to_string().parse::<Duration>().unwrap(), d, "{d}");
        }
        for (ns, text) in [
            (0, "0 s"),
            (1, "1 ns"),
            (1_500, "1.5 us"),
            (29_000_000, "29 ms"),
            (25_400_000, "25.4 ms"),
            (1_234_567, "1234.567 us"),
            (60_000_000_000, "60 s"),
            (7_200_000_000_000, "7200 s"),
            (1_500_000_000, "1.5 s"),
            (4_242_801_337_000_000, "4242801337 ms"),
        ] {
            assert_eq!(Duration(ns).to_string(), text);
        }
    }

    #[test]
    fn data_that_arrives_as_a_tti_starts_is_for_the_next_one() {
        let tti = Duration::from_millis(10);
        assert_eq!(Instant::from_millis(20).next_after(tti), Instant::from_millis(30));
        assert_eq!(Instant(20_000_001).next_after(tti), Instant::from_millis(30));
        assert_eq!(Instant::from_millis(20).ceil_to(tti), Instant::from_millis(20));
    }
}
