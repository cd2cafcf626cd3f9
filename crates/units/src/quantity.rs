//! Quantities that a scenario writes with their unit, and the one parser for all of them.

use std::borrow::Cow;
use std::fmt;
use std::ops::{Add, AddAssign, Neg, Sub, SubAssign};
use std::str::FromStr;

use thiserror::Error;

/// The reason for which a string is not a quantity of the expected kind. The message names the
/// valid units.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UnitError {
    /// The text does not start with a number.
    #[error("`{input}` is not {what}: write a number and a unit, such as `{example}`")]
    NoNumber {
        /// The text that was read.
        input: String,
        /// The quantity, with its article.
        what: &'static str,
        /// A value that would be accepted.
        example: &'static str,
    },
    /// A number without a unit.
    #[error("`{input}` has no unit: {what} is written like `{example}` (units: {units})")]
    NoUnit {
        /// The text that was read.
        input: String,
        /// The quantity, with its article.
        what: &'static str,
        /// A value that would be accepted.
        example: &'static str,
        /// The accepted units.
        units: String,
    },
    /// A unit of another quantity, or a misspelt one.
    #[error("`{unit}` is not a unit of {what}{hint} (units: {units})")]
    UnknownUnit {
        /// The unit that was read.
        unit: String,
        /// The quantity, with its article.
        what: &'static str,
        /// "; did you mean ...?", or empty.
        hint: String,
        /// The accepted units.
        units: String,
    },
    /// The number does not fit the quantity's range.
    #[error("`{input}` is out of range: {what} must be in {range}")]
    OutOfRange {
        /// The text that was read.
        input: String,
        /// The quantity, with its article.
        what: &'static str,
        /// The range, in words.
        range: &'static str,
    },
    /// Above zero, but below the smallest unit that the quantity counts.
    #[error("`{input}` would count as nothing: {what} is counted in whole {least}")]
    TooSmall {
        /// The text that was read.
        input: String,
        /// The quantity, with its article.
        what: &'static str,
        /// The base unit.
        least: &'static str,
    },
}

/// The syntax of one quantity: name, example, range, and its units with their factors to the base
/// unit.
pub(crate) struct Grammar {
    pub what: &'static str,
    pub example: &'static str,
    pub range: &'static str,
    /// The first spelling of a factor is the one that is printed.
    pub units: &'static [(&'static str, f64)],
    /// True if values are rounded to whole base units.
    pub whole: bool,
    /// True if a number of the file (not text) may be without a unit.
    pub bare: bool,
    pub min: f64,
    pub max: f64,
}

impl Grammar {
    /// Reads `input` into the base unit.
    pub fn parse(&self, input: &str) -> Result<f64, UnitError> {
        let text = input.trim();
        let split = number_end(text);
        let Ok(number) = text[..split].replace('_', "").parse::<f64>() else {
            return Err(UnitError::NoNumber {
                input: input.to_owned(),
                what: self.what,
                example: self.example,
            });
        };
        let unit = text[split..].trim();
        if unit.is_empty() {
            return Err(UnitError::NoUnit {
                input: input.to_owned(),
                what: self.what,
                example: self.example,
                units: self.unit_list(),
            });
        }
        let Some((_, factor)) = self.units.iter().find(|(u, _)| *u == unit) else {
            return Err(UnitError::UnknownUnit {
                unit: unit.to_owned(),
                what: self.what,
                hint: self.hint(number, unit),
                units: self.unit_list(),
            });
        };
        // Dividing by 100 gives the float nearest to the percentage; multiplying by 0.01 may miss
        // it.
        let value = if *factor < 1.0 { number / (1.0 / factor) } else { number * factor };
        if self.whole && value > 0.0 && value < 0.5 {
            let (input, what, least) = (input.to_owned(), self.what, self.units[0].0);
            return Err(UnitError::TooSmall { input, what, least });
        }
        self.in_range(value, input)
    }

    /// Reads a number without text around it.
    pub fn parse_number(&self, number: f64) -> Result<f64, UnitError> {
        if self.bare { self.in_range(number, &number.to_string()) } else { self.parse(&number.to_string()) }
    }

    fn in_range(&self, value: f64, input: &str) -> Result<f64, UnitError> {
        if (self.min..=self.max).contains(&value) {
            return Ok(value);
        }
        Err(UnitError::OutOfRange { input: input.to_owned(), what: self.what, range: self.range })
    }

    fn unit_list(&self) -> String {
        let mut names: Vec<&str> = self.units.iter().map(|(u, _)| *u).filter(|u| !u.is_empty()).collect();
        names.dedup();
        names.join(", ")
    }

    /// A suggestion of the unit. Where bits and bytes are confused, the value in the right unit: a
    /// unit that differs in the case of one letter would be wrong by a factor of 8.
    fn hint(&self, number: f64, unit: &str) -> String {
        if let Some((prefix, to_bits)) = self.other_of_bits_and_bytes(unit) {
            let (found, factor, wanted) =
                if to_bits { ("bytes", 8.0, "bit/s") } else { ("bits", 0.125, "B") };
            let value = number * factor;
            return format!("; `{unit}` counts {found}: write `{value} {prefix}{wanted}`");
        }
        let near = self.units.iter().find(|(u, _)| u.eq_ignore_ascii_case(unit));
        near.map_or(String::new(), |(u, _)| format!("; did you mean `{u}`?"))
    }

    /// The prefix of a unit of bytes where bits are expected (`MB/s` for a rate), or of bits where
    /// bytes are (`Mb` for a size), and whether bits are expected.
    fn other_of_bits_and_bytes<'a>(&self, unit: &'a str) -> Option<(&'a str, bool)> {
        let known = |unit: &str| self.units.iter().any(|(u, _)| *u == unit);
        let endings: &[&str] = match known("bit/s") {
            true => &["B/s", "Bps", "Byte/s", "byte/s", "bytes/s", "B"],
            false if known("B") => &["bit", "bits", "Bit", "b"],
            false => &[],
        };
        let prefix = endings.iter().find_map(|ending| unit.strip_suffix(ending))?;
        matches!(prefix, "" | "k" | "M" | "G").then_some((prefix, known("bit/s")))
    }

    /// Prints `value` (a whole number of base units) in the largest unit in which it is a whole
    /// number, so that it is read back exactly.
    pub fn print_whole(&self, value: u64) -> String {
        let best = self
            .units
            .iter()
            .filter(|(u, f)| !u.is_empty() && *f >= 1.0 && value.is_multiple_of(*f as u64))
            .fold(None::<&(&str, f64)>, |best, x| match best {
                Some(b) if b.1 >= x.1 => Some(b),
                _ => Some(x),
            });
        match best {
            Some((unit, factor)) if value > 0 => format!("{} {unit}", value / *factor as u64),
            _ => format!("{value} {}", self.units[0].0),
        }
    }
}

/// Prints `value` (a whole number of base units) in the largest of `units` (largest first, the last
/// is the base) in which it is at least 1 and has at most three decimals: "25.4 ms", "60 s".
/// The value 0 is printed as `zero`.
pub(crate) fn print_decimal(value: u64, zero: &str, units: &[(&str, u64)]) -> String {
    if value == 0 {
        return zero.to_owned();
    }
    for &(unit, factor) in units {
        let thousandth = (factor / 1000).max(1);
        if value < factor || !value.is_multiple_of(thousandth) {
            continue;
        }
        let (whole, rest) = (value / factor, value % factor / thousandth);
        if rest == 0 || value < LARGEST_DECIMAL {
            let decimals = format!("{whole}.{rest:03}");
            let number =
                if rest == 0 { whole.to_string() } else { decimals.trim_end_matches('0').to_owned() };
            return format!("{number} {unit}");
        }
    }
    unreachable!("every number is a multiple of the base unit")
}

/// Up to this value the product of a decimal and its unit has an error below half a base unit,
/// which rounding removes.
const LARGEST_DECIMAL: u64 = 1_000_000_000_000_000;

/// The end of the number at the start of `text`. An `e` belongs to the number only when digits
/// follow it.
fn number_end(text: &str) -> usize {
    let b = text.as_bytes();
    let digit = |i: usize| b.get(i).is_some_and(u8::is_ascii_digit);
    let mut i = usize::from(matches!(b.first(), Some(b'+' | b'-')));
    while digit(i) || matches!(b.get(i), Some(b'.' | b'_')) {
        i += 1;
    }
    if matches!(b.get(i), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(b.get(i + 1), Some(b'+' | b'-')));
        if digit(i + 1 + sign) {
            i += 1 + sign;
            while digit(i) {
                i += 1;
            }
        }
    }
    i
}

/// `FromStr`, serde and JSON-schema of a quantity over its [`Grammar`].
macro_rules! scenario_quantity {
    ($ty:ident, $grammar:expr, $from:expr, $schema:tt) => {
        impl FromStr for $ty {
            type Err = UnitError;
            fn from_str(s: &str) -> Result<Self, UnitError> {
                let base: f64 = $grammar.parse(s)?;
                #[allow(clippy::redundant_closure_call)]
                Ok($from(base))
            }
        }

        impl<'de> serde::Deserialize<'de> for $ty {
            fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                struct V;
                impl serde::de::Visitor<'_> for V {
                    type Value = $ty;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        write!(f, "{} as text with its unit, such as \"{}\"", $grammar.what, $grammar.example)
                    }
                    fn visit_str<E: serde::de::Error>(self, s: &str) -> Result<$ty, E> {
                        s.parse().map_err(E::custom)
                    }
                    fn visit_i64<E: serde::de::Error>(self, n: i64) -> Result<$ty, E> {
                        self.visit_f64(n as f64)
                    }
                    fn visit_u64<E: serde::de::Error>(self, n: u64) -> Result<$ty, E> {
                        self.visit_f64(n as f64)
                    }
                    fn visit_f64<E: serde::de::Error>(self, n: f64) -> Result<$ty, E> {
                        #[allow(clippy::redundant_closure_call)]
                        $grammar.parse_number(n).map($from).map_err(E::custom)
                    }
                }
                d.deserialize_any(V)
            }
        }

        impl schemars::JsonSchema for $ty {
            fn schema_name() -> Cow<'static, str> {
                stringify!($ty).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let units: Vec<&str> = $grammar.units.iter().map(|(u, _)| *u).collect();
                schemars::json_schema!({
                    "type": $schema,
                    "pattern": $crate::quantity::pattern(&units),
                    "description": format!("{}, {}", $grammar.what, $grammar.range),
                    "examples": [$grammar.example],
                    "x-units": units,
                })
            }
        }
    };
}
pub(crate) use scenario_quantity;

/// A quantity is written as text.
macro_rules! written_as_text {
    ($($ty:ident)*) => {$(
        impl serde::Serialize for $ty {
            fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }
    )*};
}
pub(crate) use written_as_text;

/// The texts of a quantity with these units, as a regular expression of JSON Schema.
pub(crate) fn pattern(units: &[&str]) -> String {
    format!(r"^\s*[+-]?[0-9._]+([eE][+-]?[0-9]+)?\s*({})\s*$", units.join("|"))
}

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

const BYTES: Grammar = Grammar {
    what: "a size",
    example: "64 KiB",
    range: "0 B to 9000000 GB",
    units: &[
        ("B", 1.0),
        ("kB", 1e3),
        ("KB", 1e3),
        ("MB", 1e6),
        ("GB", 1e9),
        ("KiB", 1024.0),
        ("MiB", 1_048_576.0),
        ("GiB", 1_073_741_824.0),
    ],
    whole: true,
    bare: false,
    min: 0.0,
    max: 9e15,
};
scenario_quantity!(Bytes, BYTES, |v: f64| Bytes(v.round() as u64), "string");
written_as_text!(Bytes);

impl Bytes {
    /// Zero bytes.
    pub const ZERO: Bytes = Bytes(0);
    /// The number of bits.
    pub const fn bits(self) -> u64 {
        self.0 * 8
    }
    /// Difference that stops at zero.
    pub const fn saturating_sub(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_sub(other.0))
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&BYTES.print_whole(self.0))
    }
}

impl Add for Bytes {
    type Output = Bytes;
    fn add(self, o: Bytes) -> Bytes {
        Bytes(self.0 + o.0)
    }
}
impl Sub for Bytes {
    type Output = Bytes;
    fn sub(self, o: Bytes) -> Bytes {
        Bytes(self.0 - o.0)
    }
}
impl AddAssign for Bytes {
    fn add_assign(&mut self, o: Bytes) {
        self.0 += o.0;
    }
}
impl SubAssign for Bytes {
    fn sub_assign(&mut self, o: Bytes) {
        self.0 -= o.0;
    }
}
impl std::iter::Sum for Bytes {
    fn sum<I: Iterator<Item = Bytes>>(it: I) -> Bytes {
        Bytes(it.map(|b| b.0).sum())
    }
}

/// A share or probability: in a file `"5 %"` or the bare fraction `0.05`. Linear, never in dB.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Ratio(pub f64);

const RATIO: Grammar = Grammar {
    what: "a share",
    example: "5 %",
    range: "0 % to 100 % (or the number 0 to 1, without quotes)",
    units: &[("%", 0.01)],
    whole: false,
    bare: true,
    min: 0.0,
    max: 1.0,
};
scenario_quantity!(Ratio, RATIO, Ratio, ["string", "number"]);

impl Ratio {
    /// The percentage that is read back as exactly this share, if there is one.
    fn percent(self) -> Option<f64> {
        // 0.07 * 100 is 7.000000000000001: the shorter number is used if it is read back as the
        // same share.
        let percent = self.0 * 100.0;
        let short = (percent * 1e9).round() / 1e9;
        [short, percent].into_iter().find(|p| p / 100.0 == self.0)
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.percent() {
            Some(percent) => write!(f, "{percent} %"),
            None => write!(f, "{}", self.0),
        }
    }
}

/// Serializes as percent in text; as the number, where no percentage is read back exactly.
impl serde::Serialize for Ratio {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self.percent() {
            Some(_) => s.collect_str(self),
            None => s.serialize_f64(self.0),
        }
    }
}

/// Quantities that are one `f64` over a grammar.
macro_rules! float_quantity {
    ($(#[$doc:meta])* $ty:ident, $grammar:ident, $unit:literal, {$($body:tt)*}) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
        pub struct $ty(pub f64);
        const $grammar: Grammar = Grammar { $($body)* };
        scenario_quantity!($ty, $grammar, $ty, "string");
        written_as_text!($ty);
        impl fmt::Display for $ty {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{} {}", self.0, $unit)
            }
        }
    };
}

float_quantity!(
    /// A frequency [Hz].
    Hertz, HERTZ, "Hz", {
        what: "a frequency", example: "20 MHz", range: "0 Hz to 1 THz",
        units: &[("Hz", 1.0), ("kHz", 1e3), ("MHz", 1e6), ("GHz", 1e9)], whole: false, bare: false, min: 0.0, max: 1e12,
    }
);
float_quantity!(
    /// A ratio in decibels. Gains and losses add.
    Db, DB, "dB", {
        what: "a gain or loss", example: "3 dB", range: "-400 dB to 400 dB",
        units: &[("dB", 1.0), ("dBi", 1.0)], whole: false, bare: false, min: -400.0, max: 400.0,
    }
);
float_quantity!(
    /// A power relative to one milliwatt [dBm].
    Dbm, DBM, "dBm", {
        what: "a power", example: "46 dBm", range: "-300 dBm to 100 dBm",
        units: &[("dBm", 1.0)], whole: false, bare: false, min: -300.0, max: 100.0,
    }
);
float_quantity!(
    /// A length or distance [m].
    Metres, METRES, "m", {
        what: "a distance", example: "750 m", range: "-1000 km to 1000 km",
        units: &[("m", 1.0), ("km", 1e3)], whole: false, bare: false, min: -1e6, max: 1e6,
    }
);
float_quantity!(
    /// A speed [m/s].
    Speed, SPEED, "m/s", {
        what: "a speed", example: "30 km/h", range: "0 m/s to 1000 m/s",
        units: &[("m/s", 1.0), ("km/h", 1.0 / 3.6)], whole: false, bare: false, min: 0.0, max: 1e3,
    }
);

impl Add<Db> for Dbm {
    type Output = Dbm;
    fn add(self, gain: Db) -> Dbm {
        Dbm(self.0 + gain.0)
    }
}
impl Sub<Db> for Dbm {
    type Output = Dbm;
    fn sub(self, loss: Db) -> Dbm {
        Dbm(self.0 - loss.0)
    }
}
impl Sub for Dbm {
    type Output = Db;
    fn sub(self, o: Dbm) -> Db {
        Db(self.0 - o.0)
    }
}
impl Add for Db {
    type Output = Db;
    fn add(self, o: Db) -> Db {
        Db(self.0 + o.0)
    }
}
impl Sub for Db {
    type Output = Db;
    fn sub(self, o: Db) -> Db {
        Db(self.0 - o.0)
    }
}
impl Neg for Db {
    type Output = Db;
    fn neg(self) -> Db {
        Db(-self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize as _;
    use serde::de::IntoDeserializer;

    #[test]
    fn sizes_read_decimal_and_binary_units() {
        assert_eq!("64 KiB".parse(), Ok(Bytes(65_536)));
        assert_eq!("1.5MB".parse(), Ok(Bytes(1_500_000)));
        assert_eq!("1e3 B".parse(), Ok(Bytes(1_000)));
        assert_eq!(Bytes(65_536).to_string(), "64 KiB");
        assert_eq!(Bytes(1_500_000).to_string(), "1500 kB");
    }

    #[test]
    fn a_missing_unit_and_a_wrong_one_are_shown_apart() {
        assert!(matches!("64".parse::<Bytes>(), Err(UnitError::NoUnit { .. })));
        let wrong = "64 ms".parse::<Bytes>().unwrap_err().to_string();
        assert!(wrong.contains("`ms` is not a unit of a size"), "{wrong}");
        let case = "64 kib".parse::<Bytes>().unwrap_err().to_string();
        assert!(case.contains("did you mean `KiB`?"), "{case}");
        assert!(matches!("-1 B".parse::<Bytes>(), Err(UnitError::OutOfRange { .. })));
        assert!(matches!("fast".parse::<Bytes>(), Err(UnitError::NoNumber { .. })));
        assert!(matches!("NaN B".parse::<Bytes>(), Err(UnitError::NoNumber { .. })));
    }

    #[test]
    fn shares_are_percent_or_fraction() {
        assert_eq!("5 %".parse(), Ok(Ratio(0.05)));
        assert!(matches!("0.05".parse::<Ratio>(), Err(UnitError::NoUnit { .. })));
        let number =
            |x: f64| Ratio::deserialize(IntoDeserializer::<serde::de::value::Error>::into_deserializer(x));
        assert_eq!(number(0.05), Ok(Ratio(0.05)));
        assert!(number(1.5).is_err() && number(f64::NAN).is_err());
        assert!("101 %".parse::<Ratio>().is_err());
    }

    #[test]
    fn shares_are_printed_as_percent_and_read_back_exactly() {
        for (share, text) in
            [(0.0, "0 %"), (0.05, "5 %"), (0.07, "7 %"), (0.35, "35 %"), (1.0, "100 %"), (1e-5, "0.001 %")]
        {
            assert_eq!(Ratio(share).to_string(), text);
        }
        for n in 0..=100_000 {
            let share = Ratio(f64::from(n) / 100_000.0);
            let written = serde_json::to_value(share).unwrap();
            assert_eq!(Ratio::deserialize(written).ok(), Some(share), "{share}");
        }
        for share in [1.0 / 3.0, 1e-300, 0.1 + 0.2] {
            let written = serde_json::to_value(Ratio(share)).unwrap();
            assert_eq!(Ratio::deserialize(written).ok(), Some(Ratio(share)));
        }
    }

    /// 10 MB/s are 80 Mbit/s: `Mb/s`, which differs in one letter, would be an eighth of that.
    #[test]
    fn a_suggestion_differs_by_no_factor_of_eight() {
        let rate = |text: &str| text.parse::<crate::Bitrate>().unwrap_err().to_string();
        for (text, meant) in [("10 MB/s", "80 Mbit/s"), ("1.5 kBps", "12 kbit/s"), ("2 GB", "16 Gbit/s")] {
            let shown = rate(text);
            assert!(
                shown.contains(&format!("write `{meant}`")) && !shown.contains("did you mean"),
                "{shown}"
            );
            assert!(meant.parse::<crate::Bitrate>().is_ok());
        }
        let size = |text: &str| text.parse::<Bytes>().unwrap_err().to_string();
        assert!(size("64 kbit").contains("write `8 kB`") && size("8 Mb").contains("write `1 MB`"));
        assert!(rate("10 mbit/s").contains("did you mean `Mbit/s`?"));
    }

    /// A value that is rounded to 0 would have the meaning of "off".
    #[test]
    fn values_that_would_be_rounded_to_zero_are_refused() {
        let time = |text: &str| text.parse::<crate::Duration>().map(|d| d.0).map_err(|e| e.to_string());
        assert_eq!(
            time("0.1 ns").unwrap_err(),
            "`0.1 ns` would count as nothing: a time is counted in whole ns"
        );
        assert_eq!((time("0 ns"), time("0.5 ns"), time("1 ns")), (Ok(0), Ok(1), Ok(1)));
        assert!("0.4 B".parse::<Bytes>().is_err() && "1e-3 bit/s".parse::<crate::Bitrate>().is_err());
    }

    #[test]
    fn speeds_convert() {
        assert!(("36 km/h".parse::<Speed>().unwrap().0 - 10.0).abs() < 1e-12);
    }
}
