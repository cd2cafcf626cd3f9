//! The engine: the order of events, keyed randomness, the slab, and mathematical functions that are
//! the same on every platform.
//!
//! The crate does not depend on any protocol. By the law of time (ARCHITECTURE.md) entities do not
//! use this crate's queue; they implement `poll_at()` and are called with `now`. Only `sim` (and
//! tests) own an [`EventQueue`].

pub mod custom;
pub mod math;
pub mod observe;
mod queue;
mod random;
pub mod simd;
mod slab;
mod tight;

pub use queue::{Class, EventQueue};
pub use random::{Draw, Purpose, Stream};
pub use slab::Slab;
pub use tight::push_tight;
