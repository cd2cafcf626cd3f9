//! LTE below RLC: physical layer, MAC, RRC, and the network of cells and UEs that uses them.

pub mod mac;
pub mod network;
pub mod phy;
pub mod rrc;
