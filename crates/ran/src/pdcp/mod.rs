//! Packet data convergence.

pub mod lte;
