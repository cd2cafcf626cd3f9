//! The integration tests in one program: each program links the whole simulator.
//! `cargo test -p lasthop-sim --test integration ns3_peer` runs those of one module.

mod common;
mod swarm;

mod aqm;
mod bench_record;
mod calibration;
mod captures;
mod captures_mac;
mod captures_moments;
mod captures_rlc;
mod captures_tcp;
mod captures_wifi;
mod cellular;
mod cellular_pitfalls;
mod control;
mod determinism;
mod drive;
mod faults;
mod hints;
mod hostile;
mod layout;
mod media;
mod multicast;
mod network;
mod nodes;
mod ns3_peer;
mod own_scheduler;
mod partial_tables;
mod pause;
mod printed_commands;
mod sidelink;
mod sources;
mod swarm_seeds;
mod threads;
mod triggers;
mod windows;
mod wireless;
mod wrong_values;
