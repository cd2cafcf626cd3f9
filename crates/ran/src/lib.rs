//! Radio access network: PDCP, RLC, MAC and PHY. UMTS dedicated channels now; LTE, sidelink and NR
//! come as parameters and links inside the same rooms.
//!
//! A [`Bearer`] is what the world drives: PDCP and RLC at both ends and one channel per direction.
//! Packets go in as descriptors ([`Sdu`]), leave as descriptors, and every one leaves in exactly
//! one way: delivered or dropped with a [`DropCause`]. Bytes exist on demand only
//! ([`rlc::umts::codec`], [`pdcp`]).
//!
//! Law of time: nothing here owns a clock; `now` is an argument, `poll_at()` says when an entity
//! wants to be woken, consequences are appended to an output that the caller reuses.

mod bearer;
mod config;
pub mod mac;
pub mod network;
pub mod pdcp;
pub mod phy;
pub mod rlc;
pub mod rrc;
mod sdu;

pub use bearer::{
    Bearer, BearerConfig, BearerEvent, BearerOutput, GrantConfig, LtePipe, LtePipeConfig, RadioBearer,
    RadioConfig, over_uplink_defaults,
};
pub use config::{ConfigError, Warning};
pub use phy::dch::{Dch, DchConfig, DchStats};
pub use sdu::{Direction, DropCause, End, Output, RlcEvent, Sdu};

/// The smaller of what is there.
#[inline]
fn earlier<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
