//! Parts that cells of any numerology share: sets of resource blocks, the division of a carrier
//! among UEs, scheduling policies, and the calendar of items due on a grid of TTIs.
//!
//! The [`Numerology`] and the number of resource blocks are parameters of all of these. LTE's are
//! in `lasthop_lte::phy`: TTIs of 1 ms, blocks of 180 kHz, at most 110 of them.

pub mod allocation;
pub mod calendar;
mod numerology;
mod rbs;
pub mod scheduler;

pub use numerology::{Numerology, SUBCARRIERS};
pub use rbs::RbSet;
