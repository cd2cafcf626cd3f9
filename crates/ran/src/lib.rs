//! Radio access network: PDCP and RLC of LTE. Packets go in as descriptors, leave as descriptors; bytes exist on
//! demand only. Nothing here owns a clock (ARCHITECTURE.md, the law of time).

pub mod pdcp;
pub mod rlc;
