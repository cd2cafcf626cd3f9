//! UMTS radio bearers over dedicated channels: PDCP (TS 25.323), RLC (TS 25.322) and the channel.
//!
//! The world drives a [`Bearer`]: PDCP and RLC at both ends and one channel per direction. Packets
//! enter as descriptors ([`Sdu`](lasthop_bearer::Sdu)), leave as descriptors, and every one leaves
//! in exactly one way: delivered or dropped with a [`DropCause`](lasthop_bearer::DropCause). Bytes
//! exist on demand only ([`rlc::codec`], [`pdcp`]).
//!
//! No entity owns a clock; `now` is an argument, `poll_at()` returns when an entity must be called,
//! consequences are appended to an output that the caller reuses.

mod bearer;
pub mod pdcp;
pub mod rlc;

pub use bearer::{Bearer, BearerConfig, over_uplink_defaults};
