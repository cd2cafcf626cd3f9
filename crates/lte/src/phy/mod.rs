//! Physical layer of LTE: frame structure type 1 (FDD), resource blocks, and the radio channel
//! between cells and UEs.

pub mod air;
pub mod fading;
pub mod power;
pub mod propagation;

use lasthop_cell::Numerology;
use lasthop_units::{Duration, Hertz};

/// A set of resource blocks of one carrier, at most 110 (TS 36.101 clause 5.6: 20 MHz has 100).
pub type RbSet = lasthop_cell::RbSet<LTE_WORDS>;

/// Words of a set of LTE's resource blocks.
pub const LTE_WORDS: usize = 1;

/// Transmission time interval: one subframe (TS 36.211 clause 4.1).
pub const TTI: Duration = Duration::from_millis(1);

/// Subframes and subcarriers of 15 kHz (TS 36.211 clauses 4.1 and 6.2.3).
pub const NUMEROLOGY: Numerology = Numerology { tti: TTI, subcarrier: Hertz(15e3) };
