//! MAC of LTE (TS 36.321 v15.1.0) and what TS 36.213 leaves to the eNB: scheduling.

pub mod bsr;
pub mod harq;
pub mod scheduler;
