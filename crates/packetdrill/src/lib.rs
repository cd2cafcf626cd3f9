//! Runs packetdrill scripts against a simulated TCP endpoint, in virtual time.
//!
//! A script opens sockets by system calls, injects packets, and states which packets the stack
//! under test answers with and when. [`parse`] reads the language of the packetdrill tool; [`run`]
//! drives [`lasthop_tcp::Endpoint`]s in place of a kernel. Nothing waits: a script of an hour takes
//! milliseconds, and gives the same every time.
//!
//! What is not compared, because a [`lasthop_tcp::Segment`] has none of it: payload, addresses,
//! ports, TTL, checksums, the order of TCP options and their padding. All else is: flags, numbers,
//! window, options and their values, times.

mod arithmetic;
mod code;
mod problem;
mod report;
mod run;
mod script;
mod settings;

pub use problem::{Problem, SourcePosition};
pub use report::{Category, Outcome, Summary, Verdict, run_text};
pub use run::{Failed, Transcript, run};
pub use script::{Call, Defines, Event, Expr, Kind, Packet, Script, Time, ToolOption, parse, parse_with};
pub use settings::{HostKind, Request, Settings};
