//! Radio models: what happens between two antennas, and which blocks survive it.
//!
//! * [`Fading`]: small-scale fading of a link, per resource block.
//! * [`lte`]: tables, link adaptation and error model of the LTE link.
//! * [`BlockErrors`]: loss with a given probability (a dedicated channel).
//!
//! Everything is a function of its arguments: no clock, no state that depends on which questions were asked before.

mod block_error;
mod fading;
pub mod lte;
mod noise;

pub use block_error::{BlockErrors, ErrorPattern};
pub use fading::{Fading, FadingProfile, FadingShape, SPEED_OF_LIGHT, doppler_hz};
pub use noise::{THERMAL_NOISE_DENSITY, dbm, decibels, linear, milliwatts, thermal_noise};
