//! Radio models: what happens between two antennas, and which blocks survive it.
//!
//! * [`Fading`]: small-scale fading of a link, per resource block.
//! * [`BlockErrors`]: loss with a given probability (a dedicated channel).
//!
//! Everything is a function of its arguments: no clock, no state that depends on which questions were asked before.

mod block_error;
mod fading;

pub use block_error::{BlockErrors, ErrorPattern};
pub use fading::{Fading, FadingProfile, FadingShape, SPEED_OF_LIGHT, doppler_hz};
