//! The grid of a carrier in time and in frequency.

use lasthop_units::{Duration, Hertz};

/// Length of a TTI and width of a subcarrier.
///
/// LTE has one (TS 36.211 clauses 4.1 and 6.2.3): subframes of 1 ms, subcarriers of 15 kHz. NR
/// has slots of 1 ms / 2^mu and subcarriers of 15 * 2^mu kHz (TS 38.211 tables 4.2-1 and 4.3.2-1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Numerology {
    /// Length of a TTI, above 0 s.
    pub tti: Duration,
    /// Distance of two subcarriers.
    pub subcarrier: Hertz,
}

/// Subcarriers of a resource block (TS 36.211 table 6.2.3-1, TS 38.211 clause 4.4.4.1).
pub const SUBCARRIERS: u32 = 12;

impl Numerology {
    /// Width of a resource block.
    pub fn block(&self) -> Hertz {
        Hertz(f64::from(SUBCARRIERS) * self.subcarrier.0)
    }
}
