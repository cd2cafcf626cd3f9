//! RRC of LTE: connections as events with the times that messages take (TS 36.331 v15.1.0). No
//! message is encoded.

mod config;
mod connection;
pub mod handover;
pub mod measurement;
pub mod mobility;
pub mod radio_link;

pub use config::{InitialState, RrcConfig, RrcTiming};
pub use connection::{Command, Connection};
pub use handover::{BackhaulConfig, HandoverConfig};
pub use measurement::{Measured, Measurements, Trigger};
pub use mobility::MobilityEvent;
pub use radio_link::{LinkEvent, RadioLink, RadioLinkConfig};
