//! The physical layer: rates, durations, and bit errors.

pub mod error;
mod mode;
mod ppdu;
mod reception;
mod timing;

pub use mode::{Format, Guard, Mode, NoSuchMode, Width};
pub use ppdu::{Compat, MAX_PPDU};
pub use reception::{Overlap, Segments};
pub use timing::Timing;
