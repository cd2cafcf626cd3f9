//! The downlink of a cell against published tables: what each UE gets, which blocks fail, what HARQ
//! and antennas give.

#[path = "cell/cell.rs"]
mod cell;

#[path = "cell/errors.rs"]
mod errors;
#[path = "cell/guaranteed.rs"]
mod guaranteed;
#[path = "cell/interference.rs"]
mod interference;
#[path = "cell/outer_loop.rs"]
mod outer_loop;
#[path = "cell/persistent.rs"]
mod persistent;
#[path = "cell/schedulers.rs"]
mod schedulers;
