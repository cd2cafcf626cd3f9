//! What a cell that schedules resource blocks shares with those of other numerologies: sets of
//! resource blocks, the division of a carrier among UEs, scheduling policies, and the calendar of
//! what is due on a grid of TTIs.
//!
//! The length of a TTI and the number of resource blocks are parameters of all of it. LTE's are in
//! `lasthop_lte::phy`: 1 ms and at most 110.

pub mod allocation;
pub mod calendar;
mod rbs;
pub mod scheduler;

pub use rbs::RbSet;
