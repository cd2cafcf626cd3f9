//! BBR: a model of the path, by its largest rate and its smallest round trip, that rules pacing and
//! window.
//!
//! [`Bbr`] is version 1, as Linux 6.1 has it; [`Bbr3`] is version 3, as the working group's draft
//! has it.

#[cfg(test)]
mod fluid;
mod max_filter;
mod policer;
pub(in crate::cc) mod v1;
pub(in crate::cc) mod v3;

pub use v1::Bbr;
pub use v3::Bbr3;
