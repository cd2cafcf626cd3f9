//! The integration tests in one program: each program links the whole crate and what it stands on.
//! `cargo test -p lasthop-lte --test integration handover` runs those of one module.

mod antennas;
mod any_cell;
mod cell;
mod handover;
