//! The integration tests in one program, since each program links the whole crate and its
//! dependencies. `cargo test -p lasthop-lte --test integration handover` runs those of one module.

mod antennas;
mod any_cell;
mod cell;
mod handover;
