//! The uplink of LTE against published numbers.

#[expect(dead_code, reason = "the downlink's tests use the rest")]
#[path = "cell/cell.rs"]
mod cell;
#[path = "cell/uplink_any.rs"]
mod uplink_any;
#[path = "cell/uplink_edge.rs"]
mod uplink_edge;
#[path = "cell/uplink_grants.rs"]
mod uplink_grants;
#[path = "cell/uplink_power.rs"]
mod uplink_power;
#[path = "cell/uplink_rates.rs"]
mod uplink_rates;
