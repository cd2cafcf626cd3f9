//! A simulation in real time, with real packets: the emulator.
//!
//! [`engine`] drives a simulation with external nodes by a [`Clock`] and moves packets between it
//! and [`Port`]s; it has no threads and makes no system calls. [`run`] (Linux) makes network
//! namespaces with TUN devices, starts programs in them, and removes everything again. The same
//! engine runs wherever there are a clock and ports: beside TUN devices of a guest whose kernel has
//! a virtual clock, or beside queues of a test.
//!
//! [`Clock`]: engine::Clock
//! [`Port`]: engine::Port

#[cfg(not(target_os = "linux"))]
mod elsewhere;
pub mod engine;
#[cfg(target_os = "linux")]
mod guest;
#[cfg(target_os = "linux")]
mod guest_sys;
#[cfg(target_os = "linux")]
mod host;
pub mod lateness;
mod plan;
mod store;
#[cfg(target_os = "linux")]
mod sys;

#[cfg(not(target_os = "linux"))]
pub use elsewhere::{check, programs_are_root, run, run_in_guest};
#[cfg(target_os = "linux")]
pub use guest::run_in_guest;
#[cfg(target_os = "linux")]
pub use host::{check, programs_are_root, run};
pub use plan::Plan;
