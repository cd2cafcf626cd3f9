//! The eNB's side of the uplink: what it believes of a UE's buffers and channel, and how it cuts
//! the band.

mod adaptation;
mod blocks;
mod config;
mod persistent;
mod view;

pub use adaptation::{UplinkAdaptation, UplinkQuality};
pub use blocks::{fewest_blocks, largest_allocation, tbs_bytes};
pub use config::{RacTimer, RequestConfig, Shares, UplinkConfig};
pub use persistent::{ConfiguredGrant, UplinkPersistent, UplinkPersistentConfig};
pub use view::BufferView;
