//! A cell against published tables. Downlink: rates of UEs, error rates of blocks, gains of HARQ
//! and antennas. Uplink: rates, power control, grants.

pub mod setup;

mod errors;
mod guaranteed;
mod interference;
mod outer_loop;
mod persistent;
mod schedulers;
mod uplink_any;
mod uplink_edge;
mod uplink_grants;
mod uplink_power;
mod uplink_rates;
