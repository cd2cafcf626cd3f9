//! The uplink of LTE against published numbers.

#[path = "lte/cell.rs"]
mod cell;
#[path = "lte/uplink_rates.rs"]
mod uplink_rates;
