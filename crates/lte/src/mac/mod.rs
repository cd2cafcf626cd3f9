//! MAC of LTE (TS 36.321 v15.1.0) and what TS 36.213 leaves to the eNB: scheduling.

pub mod adaptation;
pub mod bsr;
pub mod downlink;
pub mod harq;
pub mod multiplex;
pub mod pdu;
pub mod phr;
pub mod random_access;
pub mod renewal;
pub mod reuse;
pub mod sidelink;
pub mod sl_sch;
pub mod sr;
pub mod uplink;

pub use lasthop_cell::{allocation, scheduler};
