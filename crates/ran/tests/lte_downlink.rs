//! The downlink of a cell against published tables: what each UE gets, which blocks fail, what HARQ
//! and antennas give.

#[path = "lte/cell.rs"]
mod cell;

#[path = "lte/errors.rs"]
mod errors;
#[path = "lte/guaranteed.rs"]
mod guaranteed;
#[path = "lte/interference.rs"]
mod interference;
#[path = "lte/outer_loop.rs"]
mod outer_loop;
#[path = "lte/persistent.rs"]
mod persistent;
#[path = "lte/schedulers.rs"]
mod schedulers;
