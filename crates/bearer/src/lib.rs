//! Parts that radio bearers of all generations share: SDUs as descriptors, the two ends and
//! directions, causes of drops, a channel of transport blocks on a TTI grid, errors and warnings of
//! configurations.

pub mod bits;
mod config;
pub mod dch;
mod format;
mod journey;
mod or_infinity;
mod output;
mod sdu;
mod stats;

pub use config::{ConfigError, Warning, check, require, warn, within};
pub use dch::{Dch, DchConfig, DchPatch, DchStats};
pub use format::TransportFormat;
pub use journey::{BearerNote, BearerStage, Journeys, Missing, Piece};
pub use or_infinity::{InfinityWord, OrInfinity};
pub use output::{BearerOutput, NotedPdu, PduOutcome};
pub use sdu::{Direction, DropCause, End, Sdu, SizeAndEcn};
pub use stats::RlcStats;

/// The smaller of the values that are present.
#[inline]
pub fn earlier<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
