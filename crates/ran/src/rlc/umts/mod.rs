//! RLC of UMTS (TS 25.322): acknowledged, unacknowledged and transparent mode.

pub mod am;
mod bitmap;
mod bits;
pub mod codec;
pub mod pdu;
pub mod segment;
mod sufi;
pub mod tm;
pub mod um;
