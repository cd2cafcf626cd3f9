//! `bulk`: data without end, as fast as the transport takes it or at a rate.

use lasthop_units::{Bitrate, Bytes, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kind::{AppContext, AppKind, Behaviour, Fault, Wrong, above_zero, packets, parameter};
use super::source::Source;
use super::streams::{ENDLESS, Service, Streams};
use super::{Action, End};
use crate::registry::Entry;

/// Parameters of `bulk`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BulkConfig {
    /// Rate at which data is written. Unset: as fast as the transport takes data. Data that the
    /// transport does not take in time is not written later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Bitrate>,
    /// With `rate`: bytes written at a time.
    #[serde(skip_serializing_if = "is_usual")]
    pub size: Bytes,
}

/// A segment of Ethernet, with timestamps.
const USUAL: Bytes = Bytes(1448);

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde requires a reference")]
fn is_usual(size: &Bytes) -> bool {
    *size == USUAL
}

impl Default for BulkConfig {
    fn default() -> Self {
        BulkConfig { rate: None, size: USUAL }
    }
}

impl BulkConfig {
    fn bulk(&self) -> Bulk {
        Bulk { paced: self.rate.map(|rate| Box::new(Source::cbr(rate, self.size))), size: self.size.0 }
    }
}

impl AppKind for BulkConfig {
    const ENTRY: Entry = Entry {
        name: "bulk",
        summary: "sends for ever, as fast as the transport takes it or at a rate (TCP)",
        source: "ns-2 FTP, ns-3 BulkSend with MaxBytes 0",
        parameters: &[
            parameter("rate", "as fast as the transport takes it", "data at this rate; nothing piles up"),
            parameter("size", "1448 B", "with `rate`: bytes written at a time"),
        ],
    };
    const CHANGES: bool = true;
    type Run = Bulk;

    fn validate(&self, over: Service) -> Result<(), Wrong> {
        above_zero("size", self.size.0)?;
        self.rate.map_or(Ok(()), |rate| packets(rate, self.size, over))
    }
    fn run(&self, _: &AppContext<'_>) -> Result<Bulk, Fault> {
        Ok(self.bulk())
    }
    fn change(&self, run: &mut Bulk, now: Instant, s: &mut Streams, out: &mut Vec<Action>) {
        let next = self.bulk();
        run.size = next.size;
        match (&mut run.paced, next.paced) {
            (Some(source), Some(next)) => source.change(now, *next),
            (source, next) => {
                *source = next;
                s.drop_unwritten();
                if s.is_at_work() {
                    run.start(now, s, out);
                }
            }
        }
    }
    fn is_bulk(&self) -> bool {
        self.rate.is_none()
    }
    fn mean_rate(&self) -> Option<Bitrate> {
        self.rate
    }
}

/// A running transfer.
#[derive(Clone, Debug)]
pub(super) struct Bulk {
    /// The source of data at a rate; `None`: data is always available.
    paced: Option<Box<Source>>,
    /// Bytes at a time.
    size: u64,
}

impl Behaviour for Bulk {
    fn start(&mut self, now: Instant, s: &mut Streams, out: &mut Vec<Action>) {
        match &mut self.paced {
            None => s.add_data(End::A, ENDLESS, out),
            Some(source) => {
                source.start(now, s.draw);
                self.on_time(now, s, out);
            }
        }
    }
    fn stop(&mut self, _now: Instant) {
        self.pause();
    }
    fn pause(&mut self) {
        if let Some(source) = &mut self.paced {
            source.stop();
        }
    }
    fn resume(&mut self, now: Instant, s: &mut Streams, out: &mut Vec<Action>) {
        self.start(now, s, out);
    }
    fn poll_at(&self) -> Option<Instant> {
        self.paced.as_ref()?.poll_at()
    }
    fn on_time(&mut self, now: Instant, s: &mut Streams, out: &mut Vec<Action>) {
        if let Some(source) = &mut self.paced {
            let due = source.due(now, s.draw);
            if due > 0 {
                s.offer(End::A, due * self.size, out);
            }
        }
    }
}
