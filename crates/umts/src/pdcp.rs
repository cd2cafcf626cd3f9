//! PDCP of UMTS (TS 25.323): a header of 0, 1 or 3 octets; no header compression. That of LTE (TS
//! 36.323) is in `lte-l2`.

use lasthop_units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use lasthop_bearer::{ConfigError, Warning};

/// Which PDU format carries the packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PdcpHeader {
    /// PDCP No-Header PDU: no octet (TS 25.323 clause 8.2.1).
    None,
    /// PDCP Data PDU: PDU type and PID, 1 octet (TS 25.323 clause 8.2.2).
    #[default]
    Pid,
    /// PDCP SeqNum PDU: PDU type, PID and a 16-bit sequence number, 3 octets (TS 25.323 clause
    /// 8.2.3).
    Sequence,
}

impl PdcpHeader {
    /// Octets before the packet.
    pub const fn size(self) -> Bytes {
        match self {
            PdcpHeader::None => Bytes(0),
            PdcpHeader::Pid => Bytes(1),
            PdcpHeader::Sequence => Bytes(3),
        }
    }
}

/// PDCP of a bearer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PdcpConfig {
    /// PDU format: `none` (0 B), `pid` (1 B, the default) or `sequence` (3 B). TS 25.323 clause
    /// 8.2.
    pub header: PdcpHeader,
}

impl PdcpConfig {
    /// Accepts every combination.
    pub fn validate(&self) -> Result<Vec<Warning>, ConfigError> {
        Ok(Vec::new())
    }
}

/// A decoded PDCP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PdcpPdu {
    /// PDU type 000: the compression packet identifier (0: no compression).
    Data {
        /// Packet identifier, 5 bits.
        pid: u8,
    },
    /// PDU type 001: with the sequence number of lossless relocation.
    SeqNum {
        /// Packet identifier, 5 bits.
        pid: u8,
        /// Sequence number.
        sn: u16,
    },
}

/// Why octets are not a PDCP PDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PdcpError {
    /// Fewer octets than the header has.
    #[error("the PDCP header is cut short")]
    Truncated,
    /// PDU types 010 to 111 are reserved (TS 25.323 clause 8.3.1).
    #[error("PDCP PDU type {0} is reserved")]
    ReservedType(u8),
}

impl PdcpPdu {
    /// Appends the header's octets.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match *self {
            PdcpPdu::Data { pid } => out.push(pid & 0x1f),
            PdcpPdu::SeqNum { pid, sn } => {
                out.push(0x20 | (pid & 0x1f));
                out.extend_from_slice(&sn.to_be_bytes());
            }
        }
    }

    /// Reads a header and returns it with the octets after it.
    pub fn decode(octets: &[u8]) -> Result<(PdcpPdu, &[u8]), PdcpError> {
        let (&first, rest) = octets.split_first().ok_or(PdcpError::Truncated)?;
        let pid = first & 0x1f;
        match first >> 5 {
            0 => Ok((PdcpPdu::Data { pid }, rest)),
            1 => {
                let (sn, rest) = rest.split_first_chunk::<2>().ok_or(PdcpError::Truncated)?;
                Ok((PdcpPdu::SeqNum { pid, sn: u16::from_be_bytes(*sn) }, rest))
            }
            reserved => Err(PdcpError::ReservedType(reserved)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn headers_survive_the_wire(pid in 0u8..32, sn: u16, with_sn: bool) {
            let pdu = if with_sn { PdcpPdu::SeqNum { pid, sn } } else { PdcpPdu::Data { pid } };
            let mut octets = Vec::new();
            pdu.encode(&mut octets);
            let header = if with_sn { PdcpHeader::Sequence } else { PdcpHeader::Pid };
            prop_assert_eq!(octets.len() as u64, header.size().0);
            octets.push(0x45);
            prop_assert_eq!(PdcpPdu::decode(&octets), Ok((pdu, &[0x45u8][..])));
        }

        #[test]
        fn any_octets_are_decoded_or_refused(octets: Vec<u8>) {
            let _ = PdcpPdu::decode(&octets);
        }
    }
}
