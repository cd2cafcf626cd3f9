//! Sizes of frames, and aggregation of MPDUs.

use lasthop_units::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::{ConfigError, check};
use crate::phy::{Format, Mode};

/// Frame check sequence.
pub const FCS: u32 = 4;
/// LLC and SNAP headers before an IP packet.
pub const LLC: u32 = 8;
/// RTS and block ack request, CTS and ACK, compressed block ack, with FCS (clause 9.3.1).
pub const RTS: u64 = 20;
/// Clear to send.
pub const CTS: u64 = 14;
/// Acknowledgement.
pub const ACK: u64 = 14;
/// Compressed block acknowledgement.
pub const BLOCK_ACK: u64 = 32;
/// Block ack request.
pub const BLOCK_ACK_REQUEST: u64 = 24;
/// Body of an association request: capabilities 2, listen interval 2, SSID 10, rates 10, HT
/// capabilities 28, VHT capabilities 14.
pub const ASSOCIATION_REQUEST: u32 = 66;
/// Body of an association response: capabilities 2, status 2, AID 2, rates 10, EDCA parameters 20,
/// HT 28 + 24, VHT 14 + 7.
pub const ASSOCIATION_RESPONSE: u32 = 109;
/// An A-MPDU subframe's delimiter.
pub const DELIMITER: u32 = 4;
/// An A-MSDU subframe's header.
const SUBFRAME: u32 = 14;

/// MAC header of data.
pub const fn header(qos: bool) -> u32 {
    if qos { 26 } else { 24 }
}

/// A data MPDU with one MSDU of `packet` IP bytes.
pub const fn mpdu(packet: u32, qos: bool) -> u32 {
    header(qos) + LLC + packet + FCS
}

/// Length of an MPDU with an A-MSDU after the addition of a packet; `bytes` is its length before,
/// with `subframes` subframes (1: a plain MSDU that becomes the first subframe).
pub const fn join(bytes: u32, subframes: u32, packet: u32) -> u32 {
    // Subframes but the last are padded to 4 bytes (clause 9.3.2.2.2).
    let body = bytes - header(true) - FCS;
    let body = if subframes == 1 { body + SUBFRAME } else { body };
    header(true) + body.next_multiple_of(4) + SUBFRAME + LLC + packet + FCS
}

/// Aggregation of packets and of MPDUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AggregationConfig {
    /// Send A-MPDUs under block ack agreements (802.11n and ac).
    pub ampdu: bool,
    /// Longest A-MPDU: 2^(13 + e) - 1 B with e from 0 to 7; 802.11n has e up to 3 (65535 B) at
    /// most.
    pub max_ampdu: Bytes,
    /// Most MPDUs in an A-MPDU, 1 to 64 (the window of a block ack).
    pub max_mpdus: u32,
    /// Put several packets into one MPDU (A-MSDU).
    pub amsdu: bool,
    /// Longest MPDU: 3895, 7991 or 11454 B. Within A-MPDUs 802.11n uses 4095 B at most.
    pub max_mpdu: Bytes,
    /// Least time from the start of one MPDU to the next within an A-MPDU: 0, 0.25, 0.5, 1, 2, 4, 8
    /// or 16 us.
    pub mpdu_spacing: Duration,
}

impl Default for AggregationConfig {
    fn default() -> Self {
        AggregationConfig {
            ampdu: true,
            max_ampdu: Bytes(1_048_575),
            max_mpdus: 64,
            amsdu: false,
            max_mpdu: Bytes(3_895),
            mpdu_spacing: Duration::ZERO,
        }
    }
}

impl AggregationConfig {
    /// Refuses values that no field of the standard can carry.
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        let exponent = (0..=7).any(|e| self.max_ampdu.0 == (1 << (13 + e)) - 1);
        check(exponent, "max_ampdu", "8191, 16383, 32767, 65535, 131071, 262143, 524287 or 1048575 B")?;
        check((1..=64).contains(&self.max_mpdus), "max_mpdus", "1 to 64: the window of a block ack")?;
        let lengths = [3_895, 7_991, 11_454];
        check(lengths.contains(&self.max_mpdu.0), "max_mpdu", "3895, 7991 or 11454 B")?;
        let spacings = [0, 250, 500, 1_000, 2_000, 4_000, 8_000, 16_000];
        let message = "0 us, 0.25 us, 0.5 us, 1 us, 2 us, 4 us, 8 us or 16 us";
        check(spacings.contains(&self.mpdu_spacing.0), "mpdu_spacing", message)
    }

    /// Longest A-MPDU with `mode`.
    pub fn ampdu_limit(&self, mode: &Mode) -> u64 {
        if mode.format() == Format::Ht { self.max_ampdu.0.min(65_535) } else { self.max_ampdu.0 }
    }
    /// Longest MPDU with `mode`; clause 10.12.2: HT MPDUs within A-MPDUs have up to 4095 B.
    pub fn mpdu_limit(&self, mode: &Mode) -> u32 {
        let most = self.max_mpdu.0 as u32;
        if mode.format() == Format::Ht { most.min(4_095) } else { most }
    }

    /// Length of a subframe of an A-MPDU that another follows: delimiter, MPDU, padding to 4 B, and
    /// as many empty delimiters as the spacing of MPDU starts requires (clause 10.13.3).
    #[inline]
    pub fn subframe(&self, mpdu: u32, mode: &Mode) -> u32 {
        let plain = (DELIMITER + mpdu).next_multiple_of(4);
        if self.mpdu_spacing.is_zero() {
            return plain;
        }
        let bits = u128::from(self.mpdu_spacing.0) * u128::from(mode.rate().0);
        let least = bits.div_ceil(8_000_000_000) as u32;
        plain.max(least.next_multiple_of(4))
    }

    /// Length of the last subframe, without padding. (VHT pads it as far as the PSDU has room,
    /// clause 10.13.6, which takes no time.)
    #[inline]
    pub const fn last_subframe(&self, mpdu: u32) -> u32 {
        DELIMITER + mpdu
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phy::{Guard, Width};

    /// 1472 B of UDP payload: 26 + 8 + 20 + 8 + 1472 + 4 = 1538 B; its subframe 4 + 1538, up to
    /// 1544.
    #[test]
    fn a_udp_datagram_in_an_mpdu() {
        let vht = Mode::vht(7, 1, Width::W20, Guard::Long).unwrap();
        let a = AggregationConfig::default();
        assert_eq!(mpdu(1500, true), 1538);
        assert_eq!((a.subframe(1538, &vht), a.last_subframe(1538)), (1544, 1542));
        // An ACK of 40 B: 78 B, a subframe of 84 B; at 65 Mbit/s 16 us of spacing are 130 B, up to
        // 132.
        let spaced = AggregationConfig { mpdu_spacing: Duration::from_micros(16), ..a };
        assert_eq!((a.subframe(78, &vht), spaced.subframe(78, &vht)), (84, 132));
    }

    /// Two packets of 1500 B: (14 + 8 + 1500 = 1522, up to 1524) + 1522 = 3046 B between header and
    /// FCS; a third makes 1524 + 1524 + 1522.
    #[test]
    fn an_amsdu_grows_by_padded_subframes() {
        let two = join(mpdu(1500, true), 1, 1500);
        assert_eq!(two, 26 + 1524 + 1522 + 4);
        assert_eq!(join(two, 2, 1500), 26 + 1524 + 1524 + 1522 + 4);
    }

    #[test]
    fn impossible_limits_are_refused() {
        let ok = AggregationConfig::default();
        assert!(ok.validate().is_ok());
        for bad in [
            AggregationConfig { max_ampdu: Bytes(65_536), ..ok },
            AggregationConfig { max_mpdus: 65, ..ok },
            AggregationConfig { max_mpdu: Bytes(4_000), ..ok },
            AggregationConfig { mpdu_spacing: Duration(3_000), ..ok },
        ] {
            assert!(bad.validate().is_err());
        }
    }
}
