//! Physical layer of LTE: frame structure type 1 (FDD), resource blocks, and the air between cells
//! and UEs.

pub mod air;
pub mod fading;
pub mod propagation;
mod rbs;

pub use rbs::RbSet;

use lasthop_units::Duration;

/// Transmission time interval: one subframe (TS 36.211 clause 4.1).
pub const TTI: Duration = Duration::from_millis(1);
