//! The wired world of Lasthop: packets, queues, pipes, trace links, IPv4 fragmentation, UDP,
//! applications, the flow monitor.
//!
//! Everything is sans-IO (ARCHITECTURE.md, the law of time) and uses descriptors: a packet is a
//! [`Packet`] in `sim`'s slab, and queues and links hold [`Item`]s. Bytes exist only where headers
//! are encoded for captures, and of real packets ([`ip`]).

pub mod app;
pub mod config;
mod fault;
pub mod ip;
pub mod ipv4;
mod link;
pub mod media;
mod monitor;
mod packet;
mod pipe;
pub mod queue;
mod registry;
pub mod trace;
mod trace_link;
pub mod udp;
mod wire;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use app::{App, AppConfig};
pub use config::DirectionConfig;
pub use fault::{FaultAction, FaultConfig, FaultNumbers, FaultPackets};
pub use ipv4::Packet;
pub use lasthop_units::Ecn;
pub use link::Link;
pub use monitor::{FlowMonitor, FlowStats, jain};
pub use packet::{Content, DropCause, Dropped, Item, LinkNote, LinkStage, PipeOut};
pub use pipe::{Account, Occupancy, Pipe};
pub use queue::aqm;
pub use queue::{
    CodelConfig, DropTailConfig, DualPi2Config, Fifo, FqCodelConfig, HeadDropConfig, InfiniteConfig, Limit,
    PieConfig, PolicerConfig, QUEUES, Queue, QueueConfig, RedConfig, Scheduler, Site, StepConfig,
};
pub use registry::{Entry, Parameter, UnknownName};
pub use trace_link::{Playback, TraceEnd, TraceLink};
pub use wire::{BurstLoss, JitterDistribution, WireModel};
