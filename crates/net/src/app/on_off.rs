//! `on-off`: packets at a rate while on, silence while off.

use lasthop_units::{Bitrate, Bytes, Duration, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Action;
use super::distribution::{Distribution, Times};
use super::kind::{AppContext, AppKind, Fault, Over, Wrong, at_least, packets, parameter};
use super::source::{Packets, Source};
use super::streams::{Service, Streams};
use crate::registry::Entry;

/// Parameters of `on-off`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OnOffConfig {
    /// Rate while on, payload bytes counted.
    pub rate: Bitrate,
    /// Payload of a packet (over TCP: bytes written at a time).
    pub size: Bytes,
    /// Mean length of an on period, at least 1 us.
    pub on: Duration,
    /// Distribution of the on periods.
    pub on_distribution: Distribution,
    /// Mean length of an off period.
    pub off: Duration,
    /// Distribution of the off periods.
    pub off_distribution: Distribution,
    /// Shape of Pareto distributions, above 1.
    pub shape: f64,
}

impl Default for OnOffConfig {
    fn default() -> Self {
        OnOffConfig {
            rate: Bitrate(1_000_000),
            size: Bytes(1000),
            on: Duration::from_secs(1),
            on_distribution: Distribution::Exponential,
            off: Duration::from_secs(1),
            off_distribution: Distribution::Exponential,
            shape: 1.5,
        }
    }
}

impl OnOffConfig {
    fn packets(&self) -> Packets {
        let times = |distribution, mean| Times { distribution, mean, shape: self.shape };
        let on = times(self.on_distribution, self.on);
        let off = times(self.off_distribution, self.off);
        Packets::new(Source::on_off(self.rate.time_for(self.size), on, off), self.size)
    }
}

impl AppKind for OnOffConfig {
    const ENTRY: Entry = Entry {
        name: "on-off",
        summary: "packets at a rate while on, silence while off",
        source: "ns-2 Exponential and Pareto traffic, ns-3 OnOffApplication",
        parameters: &[
            parameter("rate", "1 Mbit/s", "rate while on"),
            parameter("size", "1000 B", "payload of a packet"),
            parameter("on", "1 s", "mean length of an on period"),
            parameter("on_distribution", "exponential", "constant, exponential or pareto"),
            parameter("off", "1 s", "mean length of an off period"),
            parameter("off_distribution", "exponential", "constant, exponential or pareto"),
            parameter("shape", "1.5", "shape of Pareto distributions, above 1"),
        ],
    };
    const OVER: Over = Over::Both;
    const CHANGES: bool = true;
    type Run = Box<Packets>;

    fn validate(&self, over: Service) -> Result<(), Wrong> {
        packets(self.rate, self.size, over)?;
        at_least("on", self.on, Duration::from_micros(1))?;
        if self.shape.is_finite() && self.shape > 1.0 {
            return Ok(());
        }
        Err(("shape", format!("{} is out of range: a Pareto with a mean has a shape above 1", self.shape)))
    }
    fn run(&self, _: &AppContext<'_>) -> Result<Box<Packets>, Fault> {
        Ok(Box::new(self.packets()))
    }
    fn change(&self, run: &mut Box<Packets>, now: Instant, _: &mut Streams, _: &mut Vec<Action>) {
        run.change(now, self.packets());
    }
    fn peak(&self) -> Option<(Bitrate, Bytes)> {
        Some((self.rate, self.size))
    }
    fn mean_rate(&self) -> Option<Bitrate> {
        debug_assert!(
            self.on_distribution != Distribution::Pareto || self.shape > 1.0,
            "checked: the mean exists"
        );
        let (on, all) = (self.on.as_nanos(), self.on.as_nanos() + self.off.as_nanos());
        if all == 0 {
            return Some(self.rate);
        }
        Some(Bitrate((u128::from(self.rate.0) * u128::from(on) / u128::from(all)) as u64))
    }
}
