//! RRC of LTE: connections as events with the times that messages take (TS 36.331 v15.1.0). No
//! message is encoded.

mod command;
mod config;
mod connection;
pub mod handover;
pub mod measurement;
pub mod mobility;
pub mod radio_link;
mod selection;

pub use command::{Command, Commands, MobilityEvent, Question};
pub use config::{CellParameters, InitialState, MessageTimes, RrcConfig, RrcTiming};
pub use connection::{Connection, ConnectionContext, ConnectionInput};
pub use handover::{BackhaulConfig, HandoverConfig};
pub use measurement::{Measured, Measurements, Trigger};
pub use radio_link::{LinkEvent, RadioLink, RadioLinkConfig};
pub(crate) use selection::strongest;
