//! The uplink of LTE against published numbers.

#[expect(dead_code, reason = "the downlink's tests use the rest")]
#[path = "lte/cell.rs"]
mod cell;
#[path = "lte/uplink_any.rs"]
mod uplink_any;
#[path = "lte/uplink_edge.rs"]
mod uplink_edge;
#[path = "lte/uplink_grants.rs"]
mod uplink_grants;
#[path = "lte/uplink_power.rs"]
mod uplink_power;
#[path = "lte/uplink_rates.rs"]
mod uplink_rates;
