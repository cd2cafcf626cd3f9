//! From rates to opportunities.

use super::read::Builder;
use super::{Trace, TraceError, TraceErrorKind};

/// Turns rates into opportunities and carries the remainder. In whole numbers: times in ns, rates
/// in mbit/s (a thousandth of a bit), volumes in their product, 10^-12 bit.
#[derive(Default)]
pub(super) struct Pacer {
    builder: Builder,
    /// The end of the data read [ns].
    end_ns: u64,
    /// Offered up to `end_ns` [10^-12 bit].
    volume: u128,
    /// Opportunities given out.
    given: u128,
    last_ms: u64,
}

/// Volume of one opportunity [10^-12 bit].
const OPPORTUNITY_VOLUME: u128 = 12_000 * 1_000_000_000_000;
const NS_PER_MS: u64 = 1_000_000;

impl Pacer {
    /// The link has `bps` for another `length_s`.
    pub fn rate(&mut self, line: u64, bps: f64, length_s: f64) -> Result<(), TraceErrorKind> {
        let end_s = self.end_ns as f64 / 1e9 + length_s;
        if end_s * 1e3 > f64::from(u32::MAX) {
            return Err(TraceErrorKind::TooLarge(format!("{}", end_s * 1e3)));
        }
        if bps > 1e14 {
            return Err(TraceErrorKind::Table(format!("{bps} bit/s is out of range: at most 100 Tbit/s")));
        }
        let (from_ns, from_volume) = (self.end_ns, self.volume);
        let rate = (bps * 1e3).round() as u128;
        self.end_ns += (length_s * 1e9).round() as u64;
        let offered_at = |ns: u64| from_volume + rate * u128::from(ns - from_ns);
        self.volume = offered_at(self.end_ns);
        while (self.given + 1) * OPPORTUNITY_VOLUME <= self.volume {
            // An opportunity comes at the end of the millisecond in which its last bit was offered.
            let missing = (self.given + 1) * OPPORTUNITY_VOLUME - from_volume;
            let complete_ns = from_ns + missing.div_ceil(rate) as u64;
            let ms = complete_ns.div_ceil(NS_PER_MS);
            let due = offered_at((ms * NS_PER_MS).min(self.end_ns)) / OPPORTUNITY_VOLUME;
            self.builder.push(line, ms, (due - self.given) as u64).map_err(|e| e.kind)?;
            (self.given, self.last_ms) = (due, ms);
        }
        Ok(())
    }

    pub fn finish(mut self, line: u64) -> Result<(Trace, f64), TraceError> {
        let end_ms = self.end_ns.div_ceil(NS_PER_MS);
        if self.given > 0 && self.last_ms < end_ms {
            self.builder.push(line, end_ms, 1)?;
        }
        Ok((self.builder.finish()?, self.volume as f64 / 8e12))
    }
}
