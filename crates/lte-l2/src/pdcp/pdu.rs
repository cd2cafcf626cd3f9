//! PDCP PDUs: labels that travel with descriptors, and exact bytes on demand (TS 36.323 clause
//! 6.2).

use thiserror::Error;

use lasthop_bearer::bits::{BitReader, BitWriter};

/// The content of an RLC SDU's serial number: which PDCP PDU is in it. Labels grow in the order of
/// sending, so that RLC finds an SDU to discard quickly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label {
    /// Number of re-establishments of the sender so far.
    pub epoch: u16,
    /// COUNT of the data PDU; of a control PDU: of the data PDU sent after it.
    pub count: u32,
    pub kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A control PDU and its number.
    Control(u16),
    /// A data PDU with a compressed header.
    Compressed,
    /// A data PDU with a whole header.
    Whole,
}

impl Label {
    pub const fn serial(self) -> u64 {
        let kind = match self.kind {
            Kind::Control(n) => (n & 0x7fff) as u64,
            Kind::Compressed => 0x8000,
            Kind::Whole => 0x8001,
        };
        (self.epoch as u64) << 48 | (self.count as u64) << 16 | kind
    }
    pub const fn of(serial: u64) -> Label {
        let kind = match serial as u16 {
            0x8000 => Kind::Compressed,
            0x8001 => Kind::Whole,
            n => Kind::Control(n),
        };
        Label { epoch: (serial >> 48) as u16, count: (serial >> 16) as u32, kind }
    }
}

/// A PDCP status report (TS 36.323 clause 6.2.6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusReport {
    /// FMS: SN of the first missing SDU.
    pub fms: u32,
    /// One bit for each SN after FMS, most significant bit first; 1: received.
    pub bitmap: Vec<u8>,
}

impl StatusReport {
    /// True if the SDU `n` numbers after FMS (n > 0) was received.
    pub fn has(&self, n: u32) -> bool {
        let i = (n - 1) as usize;
        self.bitmap.get(i / 8).is_some_and(|b| b >> (7 - i % 8) & 1 == 1)
    }
    /// Bytes on the wire.
    pub fn size(&self, sn_bits: u32) -> u32 {
        let fixed = if sn_bits == 12 { 2 } else { 3 };
        fixed + self.bitmap.len() as u32
    }
}

/// A PDCP PDU with its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PdcpPdu {
    /// User plane data (TS 36.323 clauses 6.2.3, 6.2.4, 6.2.9, 6.2.11).
    Data {
        /// SN.
        sn: u32,
        /// The SDU.
        payload: Vec<u8>,
    },
    /// Status report.
    Status(StatusReport),
    /// Interspersed ROHC feedback packet (TS 36.323 clause 6.2.5).
    RohcFeedback(Vec<u8>),
}

/// Why bytes are not a PDCP PDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PdcpDecodeError {
    /// Fewer bytes than the header has.
    #[error("the PDCP PDU ends within its header")]
    Truncated,
    /// A PDU type that this entity does not support.
    #[error("PDCP PDU type {0} is reserved")]
    Reserved(u8),
}

/// The header of a data PDU.
pub fn data_header(sn: u32, sn_bits: u32) -> Vec<u8> {
    let mut w = BitWriter::default();
    w.flag(true); // D/C
    // 12 bits: three reserved bits; 18 bits: five.
    w.put(
        0,
        match sn_bits {
            12 => 3,
            18 => 5,
            _ => 0,
        },
    );
    w.put(sn, sn_bits);
    w.finish()
}

impl PdcpPdu {
    /// The bytes.
    pub fn encode(&self, sn_bits: u32) -> Vec<u8> {
        match self {
            PdcpPdu::Data { sn, payload } => {
                let mut bytes = data_header(*sn, sn_bits);
                bytes.extend_from_slice(payload);
                bytes
            }
            PdcpPdu::Status(s) => {
                let mut w = BitWriter::default();
                w.put(0, 1 + 3); // D/C control, PDU type 000
                w.put(0, report_padding(sn_bits));
                w.put(s.fms, sn_bits);
                let mut bytes = w.finish();
                bytes.extend_from_slice(&s.bitmap);
                bytes
            }
            PdcpPdu::RohcFeedback(feedback) => {
                let mut bytes = vec![0b0001_0000];
                bytes.extend_from_slice(feedback);
                bytes
            }
        }
    }

    /// Reads a PDU; reserved bits are ignored, reserved types refused (TS 36.323 clause 5.8).
    pub fn decode(bytes: &[u8], sn_bits: u32) -> Result<PdcpPdu, PdcpDecodeError> {
        let mut r = BitReader::new(bytes);
        let end = PdcpDecodeError::Truncated;
        if r.flag().ok_or(end)? {
            r.take(match sn_bits {
                12 => 3,
                18 => 5,
                _ => 0,
            });
            let sn = r.take(sn_bits).ok_or(end)?;
            return Ok(PdcpPdu::Data { sn, payload: bytes[r.byte_position()..].to_vec() });
        }
        match r.take(3).ok_or(end)? {
            0 if sn_bits > 7 => {
                r.take(report_padding(sn_bits));
                let fms = r.take(sn_bits).ok_or(end)?;
                Ok(PdcpPdu::Status(StatusReport { fms, bitmap: bytes[r.byte_position()..].to_vec() }))
            }
            1 => Ok(PdcpPdu::RohcFeedback(bytes[1..].to_vec())),
            n => Err(PdcpDecodeError::Reserved(n as u8)),
        }
    }
}

/// Reserved bits between PDU type and FMS (TS 36.323 clause 6.2.6).
const fn report_padding(sn_bits: u32) -> u32 {
    match sn_bits {
        15 => 5,
        18 => 2,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn headers_are_those_of_the_figures() {
        let data = |sn, bits| PdcpPdu::Data { sn, payload: vec![0x45] }.encode(bits);
        assert_eq!(data(0x7f, 7), [0xff, 0x45]);
        assert_eq!(data(0xabc, 12), [0x8a, 0xbc, 0x45]);
        assert_eq!(data(0x7abc, 15), [0xfa, 0xbc, 0x45]);
        assert_eq!(data(0x2_abcd, 18), [0x82, 0xab, 0xcd, 0x45]);
        let status = |fms, bits| PdcpPdu::Status(StatusReport { fms, bitmap: vec![0xa0] }).encode(bits);
        assert_eq!(status(0xabc, 12), [0x0a, 0xbc, 0xa0]);
        assert_eq!(status(0x7abc, 15), [0x00, 0x7a, 0xbc, 0xa0]);
        assert_eq!(status(0x2_abcd, 18), [0x02, 0xab, 0xcd, 0xa0]);
        assert_eq!(PdcpPdu::RohcFeedback(vec![7]).encode(12), [0x10, 7]);
    }

    proptest! {
        #[test]
        fn pdus_survive_the_wire_and_any_bytes_are_decoded_or_refused(
            n: u32, bytes: Vec<u8>, bits in proptest::sample::select(vec![7u32, 12, 15, 18]),
        ) {
            let sn = n & ((1 << bits) - 1);
            let mut all = vec![
                PdcpPdu::Data { sn, payload: bytes.clone() },
                PdcpPdu::RohcFeedback(bytes.clone()),
            ];
            if bits > 7 {
                all.push(PdcpPdu::Status(StatusReport { fms: sn, bitmap: bytes.clone() }));
            }
            for pdu in all {
                prop_assert_eq!(PdcpPdu::decode(&pdu.encode(bits), bits), Ok(pdu));
            }
            let _ = PdcpPdu::decode(&bytes, bits);
        }

        #[test]
        fn labels_survive_and_grow(epoch: u16, count: u32, n in 0u16..0x8000) {
            let label = |kind| Label { epoch, count, kind };
            let all = [label(Kind::Control(n)), label(Kind::Compressed), label(Kind::Whole)];
            for l in all {
                prop_assert_eq!(Label::of(l.serial()), l);
            }
            prop_assert!(all[0].serial() < all[1].serial());
        }
    }
}
