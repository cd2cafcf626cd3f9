//! IPv4 (RFC 791): header to bytes and back, fragmentation by path MTU, reassembly.
//!
//! In the simulator a packet is a descriptor; the bytes here serve captures and emulation.

mod fragment;
mod header;
mod packet;
mod reassembly;

pub use fragment::{Fragment, FragmentationNeeded, Fragments, HEADER_SIZE, MIN_MTU, fragment};
pub use header::{HeaderError, Ipv4Header, checksum, checksum_of_parts};
pub use packet::Packet;
pub use reassembly::{Reassembler, ReassemblyOut, Whole};
