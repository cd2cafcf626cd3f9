//! UMTS radio bearers over dedicated channels: PDCP (TS 25.323), RLC (TS 25.322) and the channel.
//!
//! A [`Bearer`] is what the world drives: PDCP and RLC at both ends and one channel per direction.
//! Packets go in as descriptors ([`Sdu`](lasthop_bearer::Sdu)), leave as descriptors, and every one
//! leaves in exactly one way: delivered or dropped with a
//! [`DropCause`](lasthop_bearer::DropCause). Bytes exist on demand only ([`rlc::codec`], [`pdcp`]).
//!
//! Nothing here owns a clock; `now` is an argument, `poll_at()` says when an entity is to be
//! woken, consequences are appended to an output that the caller reuses.

mod bearer;
pub mod pdcp;
pub mod rlc;

pub use bearer::{Bearer, BearerConfig, over_uplink_defaults};
