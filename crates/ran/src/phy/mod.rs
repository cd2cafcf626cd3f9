//! PHY: the channels on which MAC puts its blocks.

pub mod dch;
pub mod lte;
