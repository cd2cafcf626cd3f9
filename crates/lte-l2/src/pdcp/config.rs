//! Parameters of a PDCP entity (TS 36.331 clause 6.3.2, PDCP-Config).

use lasthop_units::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use lasthop_bearer::OrInfinity;
use lasthop_bearer::require;
use lasthop_bearer::{ConfigError, Warning, check};

/// A PDCP entity of a data radio bearer of LTE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PdcpConfig {
    /// pdcp-SN-Size: 7 (UM), 12, 15 or 18 bits (AM; 12 also UM). At most half of the sequence
    /// numbers are in flight.
    pub sn_bits: u32,
    /// discardTimer: an SDU that waits longer is dropped: 50, 100, 150, 300, 500, 750, 1500 ms or
    /// "infinity".
    pub discard_timer: OrInfinity<Duration>,
    /// statusReportRequired: after a re-establishment the receiver reports which packets it has
    /// (AM).
    pub status_report: bool,
    /// Header compression.
    pub compression: Compression,
    /// Treatment of the packets at the source and at the UE in a handover. Above RLC UM no handover
    /// is lossless.
    pub handover: HandoverKind,
    /// The retransmission queue: packets that RLC has and the peer has not confirmed (AM).
    pub retransmission: RetransmissionQueue,
    /// Packets that wait because the retransmission queue is full, or half of the sequence numbers
    /// are in flight.
    pub waiting: Limits,
}

/// Treatment of packets that are not delivered yet in a handover (TS 36.300 clause 10.1.2.3, TS
/// 36.323 clause 5.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HandoverKind {
    /// Sequence numbers continue. Unconfirmed and untransmitted packets are forwarded to the
    /// target. The receiver reports the packets that it has, restores the order and drops
    /// duplicates.
    #[default]
    Lossless,
    /// Sequence numbers start again. Untransmitted packets are forwarded to the target; the
    /// retransmission queue is discarded.
    Seamless,
    /// Nothing is forwarded: packets at the source are discarded, and so are packets that reach it
    /// later.
    None,
}

/// How much a queue holds at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Most bytes.
    pub bytes: OrInfinity<Bytes>,
    /// Most packets.
    pub packets: OrInfinity<u32>,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { bytes: OrInfinity::INFINITY, packets: OrInfinity::INFINITY }
    }
}

impl Limits {
    /// True if one more packet of `size` bytes fits beside `packets` of `bytes` together.
    #[inline]
    pub fn admit(&self, bytes: u64, packets: usize, size: u32) -> bool {
        self.bytes.value().is_none_or(|most| bytes + u64::from(size) <= most.0)
            && self.packets.value().is_none_or(|most| packets < most as usize)
    }
}

/// The retransmission queue of a transmitting PDCP entity above RLC AM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RetransmissionQueue {
    /// Most bytes of packets.
    pub bytes: OrInfinity<Bytes>,
    /// Most packets.
    pub packets: OrInfinity<u32>,
    /// Which packets belong to the queue.
    pub counts: Counted,
}

impl Default for RetransmissionQueue {
    fn default() -> Self {
        RetransmissionQueue {
            bytes: OrInfinity::INFINITY,
            packets: OrInfinity::INFINITY,
            counts: Counted::default(),
        }
    }
}

impl RetransmissionQueue {
    /// The limits.
    pub const fn limits(&self) -> Limits {
        Limits { bytes: self.bytes, packets: self.packets }
    }
}

/// Which packets belong to the retransmission queue; the others are untransmitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Counted {
    /// Packets of which a byte was in an RLC PDU; packets in RLC's transmission buffer are
    /// untransmitted.
    #[default]
    OnAir,
    /// All packets that were passed to RLC, those in its transmission buffer included.
    HandedOver,
}

impl Default for PdcpConfig {
    fn default() -> Self {
        PdcpConfig {
            sn_bits: 12,
            discard_timer: OrInfinity::INFINITY,
            status_report: true,
            compression: Compression::default(),
            handover: HandoverKind::default(),
            retransmission: RetransmissionQueue::default(),
            waiting: Limits::default(),
        }
    }
}

/// Header compression (TS 36.323 clause 5.5) as an effect on sizes and losses.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Compression {
    /// None, ideal, or a ratio with context loss.
    pub kind: CompressionKind,
    /// The header of a packet: IPv4 and TCP 40 B. Smaller packets are not compressed.
    pub header: Bytes,
    /// Size of a compressed header relative to `header`, 0 to 1. ROHC TCP (RFC 6846) typically
    /// leaves 4 to 8 of 40 bytes.
    pub ratio: f64,
    /// A full header (ROHC's IR) is sent with the first packet after a reset, and then with every
    /// n-th packet; 0: only with the first.
    pub refresh: u32,
    /// Packets that may be lost in a row without loss of the context (the W-LSB window).
    pub robustness: u32,
}

impl Default for Compression {
    fn default() -> Self {
        Compression {
            kind: CompressionKind::None,
            header: Bytes(40),
            ratio: 0.15,
            refresh: 256,
            robustness: 3,
        }
    }
}

/// Which model of header compression.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CompressionKind {
    /// Headers as they are.
    #[default]
    None,
    /// Every header is compressed, and every header is restored.
    Ideal,
    /// Compressed headers cannot be restored after the context is lost, until the next whole
    /// header.
    Context,
}

impl PdcpConfig {
    /// Checks every parameter against the values of TS 36.331 clause 6.3.2.
    pub fn validate(&self) -> Result<Vec<Warning>, ConfigError> {
        require([7, 12, 15, 18].contains(&self.sn_bits), "sn_bits", &self.sn_bits, "7, 12, 15 or 18")?;
        if let Some(t) = self.discard_timer.value() {
            let allowed = [50, 100, 150, 300, 500, 750, 1500].map(Duration::from_millis);
            require(
                allowed.contains(&t),
                "discard_timer",
                &t,
                "50, 100, 150, 300, 500, 750, 1500 ms or \"infinity\"",
            )?;
        }
        let ratio = self.compression.ratio;
        check((0.0..=1.0).contains(&ratio), "compression.ratio", "write a number from 0 to 1")?;
        for (key, limits) in [("retransmission", self.retransmission.limits()), ("waiting", self.waiting)] {
            let key = format!("{key}.bytes");
            let large =
                limits.bytes.value().is_none_or(|b| b.0 >= 9_000 || b.0 == 0 && key == "waiting.bytes");
            check(large, &key, "at least 9000 B: a packet must fit (`waiting`: or none, \"0 B\")")?;
        }
        check(
            self.retransmission.packets.value().is_none_or(|n| n > 0),
            "retransmission.packets",
            "at least one packet",
        )?;
        Ok(Vec::new())
    }

    /// Bytes of a data PDU's header (TS 36.323 clause 6.2).
    pub const fn header(&self) -> u32 {
        match self.sn_bits {
            7 => 1,
            18 => 3,
            _ => 2,
        }
    }
}
