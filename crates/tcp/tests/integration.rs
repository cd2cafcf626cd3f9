//! The integration tests in one program: each program links the whole crate and what it stands on.
//! `cargo test -p lasthop-tcp --test integration pair` runs those of one module.

mod util;

mod ack_ahead;
mod any_algorithm;
mod closed_forms;
mod coexistence;
mod custom_control;
mod ecn;
mod hostile;
mod limits;
mod linux;
mod linux_recordings;
mod linux_two_flows;
mod offload;
mod pair;
mod profiles;
mod receive_windows;
mod recovery;
mod rounds;
mod send_memory;
mod split_acks;
mod states;
mod timer_progress;
