//! The swarm: a seed draws a random valid scenario, options included, and runs it with every check
//! on. Shared by the example `swarm` (ten thousand seeds) and the test `swarm_seeds` (seeds that
//! failed once, and some fresh ones).

pub mod check;
mod lte;
pub mod scenario;
mod tcp;
mod trials;
mod wlan;
mod words;
