//! Links: one set of keys for both directions, and overrides for one.

use lasthop_net::{BurstLoss, DirectionConfig, JitterDistribution, QueueConfig, TraceEnd};
use lasthop_units::{Bitrate, Bytes, Duration, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One list of keys, three uses: the link's own, the overrides of one direction, and how they meet.
macro_rules! link_keys {
    ($($(#[$doc:meta])* $key:ident: $ty:ty $(= $default:tt)?,)*) => {
        /// A link between two nodes. Its keys hold for both directions; `forward` (first node to
        /// second) and `reverse` override them for one.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct LinkSpec {
            /// The two ends.
            pub between: [String; 2],
            /// Largest IP packet that the link takes; larger ones are fragmented (or dropped, with
            /// DF set).
            #[serde(default = "super::ethernet_mtu")]
            pub mtu: Bytes,
            /// Octets that a tunnel adds to every packet on this link, such as `"36 B"` for GTP-U
            /// on S1-U and X2 (IPv4 20 B, UDP 8 B, GTP 8 B: TS 29.281 clause 5.1). Not counted
            /// against `mtu`.
            #[serde(default)]
            pub overhead: Bytes,
            $(
                $(#[$doc])*
                #[serde(default, skip_serializing_if = "Option::is_none")]
                $(#[schemars(extend("x-default" = $default))])?
                pub $key: Option<$ty>,
            )*
            /// Overrides for the direction from the first node to the second.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub forward: Option<DirectionSpec>,
            /// Overrides for the direction from the second node to the first.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub reverse: Option<DirectionSpec>,
        }

        /// Keys that may differ between the two directions of a link. Unset keys have the values of
        /// the link.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        #[schemars(extend("x-default-of-keys" = "the link's"))]
        pub struct DirectionSpec {
            $($(#[$doc])* #[serde(skip_serializing_if = "Option::is_none")] pub $key: Option<$ty>,)*
        }

        impl LinkSpec {
            /// The link's own keys as a direction's.
            fn own(&self) -> DirectionSpec {
                DirectionSpec { $($key: self.$key.clone(),)* }
            }
        }
        impl DirectionSpec {
            fn or(self, other: DirectionSpec) -> DirectionSpec {
                DirectionSpec { $($key: self.$key.or(other.$key),)* }
            }
        }
    };
}

link_keys! {
    /// Rate. Unset, and without `trace`: serialisation takes no time. 0 stops the link until a
    /// later change.
    rate: Bitrate,
    /// Capacity trace in Mahimahi's format, path relative to the scenario file; replaces `rate`.
    trace: String,
    /// What happens after the trace's last opportunity.
    trace_end: TraceEnd = "loop",
    /// Time within the trace at which the run starts.
    trace_offset: Duration = "0 s",
    /// Bytes of one opportunity of the trace.
    opportunity: Bytes = "1500 B",
    /// Propagation delay.
    delay: Duration = "0 s",
    /// Largest extra delay of a packet. Each packet has an extra delay between 0 s and this value.
    jitter: Duration = "0 s",
    /// How the extra delay is distributed.
    jitter_distribution: JitterDistribution = "uniform",
    /// Whether packets may overtake each other through jitter or a shortened delay.
    reordering: bool = false,
    /// Probability that a packet is lost on the way, independently of other packets.
    loss: Ratio = "0 %",
    /// Losses in bursts (Gilbert and Elliott), beside those of `loss`, such as
    /// `{ to_bad = "1 %", to_good = "25 %" }`.
    burst_loss: BurstLoss,
    /// Probability that a packet is corrupted and dropped at the far end.
    corruption: Ratio = "0 %",
    /// Probability that a packet arrives twice.
    duplication: Ratio = "0 %",
    /// Packets reach the far end only at multiples of this time, counted from 0 s. All packets that
    /// wait for such a time arrive together (ACK aggregation). 0 s: each packet arrives at its own
    /// time.
    batch: Duration = "0 s",
    /// The queue in front of the link.
    queue: QueueConfig = { "kind": "droptail", "packets": 1000 },
}

impl LinkSpec {
    /// One direction, resolved: its own keys, else the link's, else the defaults. A trace in the
    /// more specific place wins over a rate in the less specific one, and the other way round.
    pub fn direction(&self, forward: bool) -> DirectionConfig {
        let specific = if forward { &self.forward } else { &self.reverse }.clone().unwrap_or_default();
        let mut general = self.own();
        if specific.rate.is_some() || specific.trace.is_some() {
            (general.rate, general.trace) = (None, None);
        }
        if specific.rate.is_some() {
            (general.trace_end, general.trace_offset, general.opportunity) = (None, None, None);
        }
        let d = specific.or(general);
        DirectionConfig {
            rate: d.rate,
            trace: d.trace,
            trace_end: d.trace_end.unwrap_or_default(),
            trace_offset: d.trace_offset.unwrap_or_default(),
            opportunity: d.opportunity,
            delay: d.delay.unwrap_or_default(),
            jitter: d.jitter.unwrap_or_default(),
            jitter_distribution: d.jitter_distribution.unwrap_or_default(),
            reordering: d.reordering.unwrap_or_default(),
            loss: d.loss.unwrap_or_default(),
            burst_loss: d.burst_loss,
            corruption: d.corruption.unwrap_or_default(),
            duplication: d.duplication.unwrap_or_default(),
            batch: d.batch.unwrap_or_default(),
            queue: d.queue.unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(toml: &str) -> LinkSpec {
        let doc = crate::config::Document::parse(toml, "t").unwrap();
        doc.read().unwrap()
    }

    #[test]
    fn a_direction_takes_its_own_keys_then_the_links() {
        let l =
            link("between = ['a', 'b']\nrate = '1 Mbit/s'\ndelay = '5 ms'\nreverse = { rate = '2 Mbit/s' }");
        assert_eq!(l.direction(true).rate, Some(Bitrate(1_000_000)));
        let back = l.direction(false);
        assert_eq!((back.rate, back.delay), (Some(Bitrate(2_000_000)), Duration::from_millis(5)));
    }

    #[test]
    fn a_trace_of_one_direction_replaces_the_links_rate() {
        let l = link("between = ['a', 'b']\nrate = '1 Mbit/s'\nforward = { trace = 'x.down' }");
        assert_eq!((l.direction(true).rate, l.direction(true).trace.as_deref()), (None, Some("x.down")));
        assert_eq!(l.direction(false).trace, None);
    }
}
