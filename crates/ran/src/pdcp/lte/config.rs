//! Parameters of a PDCP entity (TS 36.331 clause 6.3.2, PDCP-Config).

use lasthop_units::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::{ConfigError, Warning, check};
use crate::rlc::lte::OrInfinity;
use crate::rlc::lte::config::require;

/// A PDCP entity of a data radio bearer of LTE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PdcpConfig {
    /// pdcp-SN-Size: 7 (UM), 12, 15 or 18 bits (AM; 12 also UM). At most half of the numbers are in flight.
    pub sn_bits: u32,
    /// discardTimer: an SDU that waits longer is dropped: 50, 100, 150, 300, 500, 750, 1500 ms or "infinity".
    pub discard_timer: OrInfinity<Duration>,
    /// statusReportRequired: after a re-establishment the receiver says what it has (AM).
    pub status_report: bool,
    /// Header compression.
    pub compression: Compression,
}

impl Default for PdcpConfig {
    fn default() -> Self {
        PdcpConfig {
            sn_bits: 12,
            discard_timer: OrInfinity::INFINITY,
            status_report: true,
            compression: Compression::default(),
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
    /// Size of a compressed header relative to `header`, 0 to 1. ROHC TCP (RFC 6846) typically leaves 4 to 8 of
    /// 40 bytes.
    pub ratio: f64,
    /// A whole header is sent every so many packets (ROHC's IR), beside the first after a reset; 0: never again.
    pub refresh: u32,
    /// So many packets lost in a row are survived without losing the context (the W-LSB window).
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
    /// Every header compressed, every one restored.
    Ideal,
    /// Compressed headers cannot be restored after the context is lost, until the next whole header.
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
