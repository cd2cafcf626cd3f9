//! The integration tests in one program: each program links the whole crate and its dependencies.
//! `cargo test -p lasthop-umts --test integration codec` runs those of one module.

mod common;

mod adversary;
mod bearer;
mod closed_forms;
mod codec;
mod discard;
