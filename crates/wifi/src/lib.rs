//! IEEE 802.11: the physical layer, medium access with aggregation and block acknowledgement, rate
//! control, and the queues of access points.
//!
//! Clauses are those of IEEE Std 802.11-2016.

mod config;
pub mod mac;
pub mod network;
pub mod phy;
pub mod rate;

pub use config::{ConfigError, Warning};
