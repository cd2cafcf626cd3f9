//! The simulator: it reads a scenario, runs a world and writes tables. It is the one crate that
//! uses all others.
//!
//! [`Scenario`] is a parsed and checked file; [`run`] and [`run_many`] run it to its end,
//! [`Simulation`] runs it in steps. [`RunOutput`] has the results of a run, in memory or in a
//! folder. [`world`] is the event loop.

mod access;
mod attention;
mod campaign;
pub mod config;
mod describe;
mod error;
mod event;
mod extensions;
mod files;
mod names;
mod observe;
mod probe;
mod program;
mod results;
mod route;
mod run;
mod simulation;
mod sink;
mod spec;
pub mod survey;
mod trace;
mod track;
mod transport;
pub mod world;

pub use campaign::{CampaignFile, CampaignSpec, KeyPlace, campaign_schema, describe_campaign};
pub use describe::{describe, json_schema};
pub use error::Error;
pub use event::End;
pub use extensions::Extensions;
pub use files::{discard_partials, write_files};
/// Types for schedulers of one's own.
pub use lasthop_lte::mac::scheduler;
/// Types for rate controls of media of one's own.
pub use lasthop_net::media;
/// Types for congestion controls of one's own.
pub use lasthop_tcp as tcp;
/// Time, rates and sizes.
pub use lasthop_units as units;
pub use probe::{recorded, tables};
pub use program::command;
pub use results::RunOutput;
pub use run::{Files, open_external, run, run_into, run_many, run_on, run_replacing};
pub use simulation::{Simulation, THREADS_MAX};
pub use sink::{Earlier, Folder, clear_stale, clear_stale_claims};
pub use spec::{LeftOut, Scalar, Scenario, Spec};
pub use trace::import_trace;
pub use transport::{KernelOrder, KernelSample, RealSegment};
pub use world::{Departure, ExternalNode, FiveTuple, KernelFlow, KernelReport, Outside, RealPacket};
