//! Runs packetdrill scripts against a simulated TCP endpoint, in virtual time.
//!
//! A script opens sockets by system calls, injects packets, and states the packets that the stack
//! under test sends, and when. [`parse`] reads the language of the packetdrill tool; [`run`] drives
//! [`lasthop_tcp::Endpoint`]s in place of a kernel. Time is virtual: a script of an hour runs in
//! milliseconds, and always gives the same result.
//!
//! Flags, numbers, window, options and their values, and times are compared. Payload, addresses,
//! ports, TTL, checksums, the order of TCP options and their padding are not, because a
//! [`lasthop_tcp::Segment`] does not have them.

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
