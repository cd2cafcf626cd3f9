//! The eNB's side of the uplink: its records of a UE's buffers and channel, and the allocations
//! into which it divides the band.

mod adaptation;
mod blocks;
mod config;
mod persistent;
mod view;

pub use adaptation::{UplinkAdaptation, UplinkQuality};
pub use blocks::{decibels, fewest_blocks, largest_allocation, tbs_bytes};
pub use config::{RacTimer, RequestConfig, Shares, UplinkConfig};
pub use persistent::{ConfiguredGrant, UplinkPersistent, UplinkPersistentConfig};
pub use view::BufferView;
