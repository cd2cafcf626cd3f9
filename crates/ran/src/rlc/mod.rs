//! Radio link control.

pub mod lte;
