//! Radio models: the channel between two antennas, and the decoding of blocks.
//!
//! * [`layout`]: positions of sites, and wrap-around.
//! * [`PathLoss`], [`Antenna`], [`Shadowing`], [`Mobility`]: the large scale.
//! * [`Fading`]: small-scale fading of a link, per resource block.
//! * [`bounds`]: physical ranges of values.
//! * [`mimo`]: SINR with several antennas.
//! * [`lte`]: tables, link adaptation and error model of the LTE link.
//! * [`BlockErrors`]: loss with a given probability (a dedicated channel).
//!
//! Everything is a function of its arguments: there is no clock and no state that depends on
//! earlier evaluations.

mod antenna;
mod block_error;
pub mod bounds;
mod fading;
mod indoor;
pub mod layout;
pub mod lte;
pub mod mimo;
mod mobility;
mod noise;
mod path_loss;
mod shadowing;
mod turns;

pub use antenna::Antenna;
pub use block_error::{BlockErrors, ErrorPattern};
pub use fading::{
    Antennas, ArrayFading, Between, Fading, FadingProfile, FadingShape, Hermite, Knots, Place, Response,
    SPEED_OF_LIGHT, Scratch, Side, Steps, Taps, doppler_hz,
};
pub use indoor::{Indoor, Wall};
pub use mobility::{Area, LevyWalk, Mobility, Motion, Position, RandomWaypoint, SpeedLaw, Track};
pub use noise::{THERMAL_NOISE_DENSITY, dbm, decibels, linear, milliwatts, thermal_noise};
pub use path_loss::{City, Ends, Environment, PathLoss, Premises, Range, Rooftops, Surroundings};
pub use shadowing::{Field, Seen, Shadowing};
