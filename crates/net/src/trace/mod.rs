//! Capacity traces: the times at which a measured link could deliver data, and how much.
//!
//! A trace is a list of **opportunities**: moments, in whole milliseconds from the start of the
//! trace, at each of which the link can deliver a fixed number of bytes (1500 unless said
//! otherwise). This is the format of Mahimahi (R. Netravali et al., "Mahimahi: accurate
//! record-and-replay for HTTP", USENIX ATC 2015) and of the traces that were recorded with
//! Saturator (K. Winstein, A. Sivaraman, H. Balakrishnan, "Stochastic forecasts achieve high
//! throughput and low delay over cellular networks", NSDI 2013).

mod format;
mod import;
mod pacer;
mod read;
mod stats;
mod synthetic;

pub use format::{FORMATS, TraceFormat, recognise};
pub use import::{Imported, import, write_mahimahi};
pub use read::{MAX_LINE, MAX_PER_MS, MAX_SLOTS, TraceError, TraceErrorKind, read_mahimahi};
pub use stats::TraceStats;
pub use synthetic::{SyntheticModel, synthetic};

/// All opportunities of one millisecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    /// Milliseconds since the start of the trace.
    pub ms: u32,
    /// Number of opportunities, at least one.
    pub count: u32,
}

/// A capacity trace: never empty, non-decreasing, of a period above zero. Eight bytes for each
/// millisecond that has an opportunity, however many it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    slots: Vec<Slot>,
    opportunities: u64,
}

impl Trace {
    /// The trace with these opportunities, in milliseconds; checked as a file would be.
    pub fn from_ms(ms: impl IntoIterator<Item = u64>) -> Result<Trace, TraceError> {
        let mut builder = read::Builder::default();
        for (i, ms) in ms.into_iter().enumerate() {
            builder.push(i as u64 + 1, ms, 1)?;
        }
        builder.finish()
    }

    /// Number of opportunities in one period.
    pub fn opportunities(&self) -> u64 {
        self.opportunities
    }
    /// The time after which the trace repeats: its last timestamp [ms], above zero.
    pub fn period_ms(&self) -> u32 {
        self.slots.last().map_or(0, |s| s.ms)
    }
    /// The first timestamp [ms].
    pub fn first_ms(&self) -> u32 {
        self.slots.first().map_or(0, |s| s.ms)
    }
    /// Each opportunity's moment [ms], non-decreasing.
    pub fn iter_ms(&self) -> impl Iterator<Item = u32> {
        self.slots.iter().flat_map(|s| std::iter::repeat_n(s.ms, s.count as usize))
    }
    /// Bytes of memory that the opportunities occupy.
    pub fn memory(&self) -> usize {
        self.slots.capacity() * size_of::<Slot>()
    }
    pub(crate) fn slots(&self) -> &[Slot] {
        &self.slots
    }
}
