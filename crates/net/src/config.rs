//! The notation of one direction of a link in a scenario, and the link that is made from it.

use std::sync::Arc;

use lasthop_units::{Bitrate, Bytes, Duration, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::trace::Trace;
use crate::trace_link::{Playback, TraceEnd};
use crate::wire::{BurstLoss, JitterDistribution, WireModel};
use crate::{Link, Pipe, QueueConfig, Site, TraceLink};

/// One direction of a link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DirectionConfig {
    /// Rate; without it (and without a trace) infinitely fast. 0 stops the link until a later
    /// change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Bitrate>,
    /// A capacity trace in Mahimahi's format instead of a rate: a file beside the scenario, or the
    /// name of a trace that comes with the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// What follows the trace's last opportunity: "loop" or "stop".
    pub trace_end: TraceEnd,
    /// Time within the trace at which the run starts.
    pub trace_offset: Duration,
    /// Bytes of one opportunity of the trace; without it 1500 B, as Mahimahi's traces mean it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opportunity: Option<Bytes>,
    /// Propagation delay.
    pub delay: Duration,
    /// Largest extra delay of a packet.
    pub jitter: Duration,
    /// How it is distributed.
    pub jitter_distribution: JitterDistribution,
    /// Whether packets may overtake each other through jitter or a shortened delay.
    pub reordering: bool,
    /// Probability that a packet is lost on the wire, independently.
    pub loss: Ratio,
    /// Losses in bursts, beside those.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst_loss: Option<BurstLoss>,
    /// Probability that a packet is corrupted and dropped at the far end.
    pub corruption: Ratio,
    /// Probability that a packet arrives twice.
    pub duplication: Ratio,
    /// Packets reach the far end at multiples of this time only, all that wait together.
    pub batch: Duration,
    /// The queue in front of it.
    pub queue: QueueConfig,
}

impl DirectionConfig {
    /// The first mistake that the types do not exclude: the key and a description.
    pub fn validate(&self) -> Result<(), (String, String)> {
        let wrong = |key: &str, message: String| Err((key.to_owned(), message));
        if self.rate.is_some() && self.trace.is_some() {
            return wrong("trace", "a link has a rate or a trace, not both: remove one".to_owned());
        }
        if self.trace.is_none() && self.opportunity.is_some() {
            let message = "has an effect only with a trace: remove it or add `trace`";
            return wrong("opportunity", message.to_owned());
        }
        if self.burst_loss.is_some_and(|b| b.to_good.0 <= 0.0) {
            let message = "must be above 0 %: the bad state would never end";
            return wrong("burst_loss.to_good", message.to_owned());
        }
        if let Err((key, problem)) = self.queue.validate() {
            return wrong(&format!("queue.{key}"), format!("`{key}` {problem}"));
        }
        match self.opportunity {
            Some(o) if !(1..=1_000_000).contains(&o.0) => {
                wrong("opportunity", format!("{o} is out of range: an opportunity has 1 B to 1 MB"))
            }
            _ => Ok(()),
        }
    }

    /// The effects of the wire on packets.
    pub fn wire(&self) -> WireModel {
        WireModel {
            delay: self.delay,
            jitter: self.jitter,
            jitter_distribution: self.jitter_distribution,
            reordering: self.reordering,
            loss: self.loss.0,
            burst_loss: self.burst_loss,
            corruption: self.corruption.0,
            duplication: self.duplication.0,
            batch: self.batch,
        }
    }

    /// The link, with draws of its own (`seed`, `entity`). `trace` is what
    /// [`DirectionConfig::trace`] names; without one the link is a pipe. `mtu` is that of the link,
    /// for its queue.
    pub fn build(&self, trace: Option<Arc<Trace>>, mtu: Option<u32>, seed: u64, entity: u64) -> Link {
        let opportunity = self.opportunity.map_or(Playback::default().opportunity, |o| o.0 as u32);
        let mean = |t: &Arc<Trace>| Bitrate((t.stats(opportunity).mean_mbps * 1e6) as u64);
        let site = Site { seed, entity, rate: trace.as_ref().map(mean).or(self.rate), mtu };
        let queue = self.queue.build(&site);
        match trace {
            None => Link::Pipe(Pipe::new(self.rate, queue, self.wire(), seed, entity)),
            Some(trace) => {
                let playback = Playback { opportunity, end: self.trace_end, offset: self.trace_offset };
                Link::Trace(TraceLink::new(trace, playback, queue, self.wire(), seed, entity))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_direction_is_read_built_and_written_back() {
        let text = r#"{"rate": "10 Mbit/s", "delay": "28 ms", "loss": "1 %",
                       "queue": {"droptail": {"packets": 50}}}"#;
        let c: DirectionConfig = serde_json::from_str(text).unwrap();
        assert_eq!(
            (c.rate, c.wire().delay, c.loss),
            (Some(Bitrate(10_000_000)), Duration(28_000_000), Ratio(0.01))
        );
        let link = c.build(None, None, 1, 0);
        assert_eq!((link.queue().limit().packets, link.wire().loss), (Some(50), 0.01));
        assert!(matches!(c.build(Some(Arc::new(Trace::from_ms([1]).unwrap())), None, 1, 0), Link::Trace(_)));
        let written = serde_json::to_string(&c).unwrap();
        assert_eq!(serde_json::from_str::<DirectionConfig>(&written).unwrap(), c);
        assert!(serde_json::from_str::<DirectionConfig>(r#"{"dely": "1 ms"}"#).is_err());
    }

    #[test]
    fn a_link_has_a_rate_or_a_trace() {
        let mut c = DirectionConfig { rate: Some(Bitrate(1)), ..Default::default() };
        assert_eq!(c.validate(), Ok(()));
        c.trace = Some("x.down".to_owned());
        assert_eq!(c.validate().unwrap_err().0, "trace");
        c.rate = None;
        c.opportunity = Some(Bytes(0));
        assert_eq!(c.validate().unwrap_err().0, "opportunity");
    }
}
