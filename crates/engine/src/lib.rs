//! The engine: the order of events, keyed randomness, the slab, one mathematics on every platform.
//!
//! Nothing here depends on a protocol. The law of time (ARCHITECTURE.md): entities never see this
//! crate's queue; they answer `poll_at()` and are called with `now`. Only `sim` (and tests) own an
//! [`EventQueue`].

pub mod custom;
pub mod math;
pub mod observe;
mod queue;
mod random;
pub mod simd;
mod slab;

pub use queue::{Class, EventQueue};
pub use random::{Draw, Purpose, Stream};
pub use slab::Slab;
