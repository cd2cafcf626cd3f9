//! Encoders of RLC PDUs, and decoders that accept any input without panic (TS 36.322 clause 6.2).

mod data;
mod status;

use std::sync::Arc;

use thiserror::Error;

use super::{Element, Format, Payload, Pdu, Span};

/// Received bytes, shared by the elements that were cut from one PDU.
#[derive(Clone, Debug)]
pub struct Chunk {
    bytes: Arc<[u8]>,
    at: u32,
}

impl Chunk {
    /// The bytes from here on.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[self.at as usize..]
    }
}

impl Payload for Chunk {
    type Sdu = Vec<u8>;
    type Partial = Vec<u8>;
    fn after(&self, bytes: u32) -> Chunk {
        Chunk { bytes: Arc::clone(&self.bytes), at: self.at + bytes }
    }
    fn begin(&self, len: u32) -> Vec<u8> {
        self.bytes()[..len as usize].to_vec()
    }
    fn append(&self, len: u32, to: &mut Vec<u8>) -> bool {
        to.extend_from_slice(&self.bytes()[..len as usize]);
        true
    }
    fn finish(whole: Vec<u8>) -> Option<Vec<u8>> {
        Some(whole)
    }
}

/// Reasons why bytes are not a PDU (TS 36.322 clause 5.5.1: such a PDU is discarded).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// The PDU ends within its header.
    #[error("the PDU ends within its header")]
    Truncated,
    /// A length indicator of zero, or larger than the data field: no byte would remain for the last
    /// element.
    #[error("a length indicator is reserved or larger than the data field")]
    LengthIndicator,
    /// The PDU is a header without data.
    #[error("the data field is empty")]
    Empty,
    /// CPT or another field has a reserved value.
    #[error("a field has a reserved value")]
    Reserved,
}

/// Returns the bytes of `pdu`. `fill` appends the payload: the given number of bytes from the given
/// position of an SDU.
pub fn encode(pdu: &Pdu, format: Format, mut fill: impl FnMut(&Span, u32, &mut Vec<u8>)) -> Vec<u8> {
    let (mut bytes, elements) = match pdu {
        Pdu::Tmd(e) => (Vec::new(), std::slice::from_ref(e)),
        Pdu::Umd(d) | Pdu::Amd(d) => (data::header(d, format), d.elements.as_slice()),
        Pdu::Status(s) => (status::encode(s, format), &[][..]),
    };
    for Element { payload, len } in elements {
        let before = bytes.len();
        fill(payload, *len, &mut bytes);
        debug_assert_eq!(bytes.len() - before, *len as usize, "fill returns the requested octets");
    }
    bytes
}

/// Reads a PDU of an entity with the given field widths (None: transparent mode).
pub fn decode(bytes: &[u8], format: Option<Format>) -> Result<Pdu<Chunk>, DecodeError> {
    let Some(format) = format else {
        let payload = Chunk { bytes: bytes.into(), at: 0 };
        return Ok(Pdu::Tmd(Element { payload, len: bytes.len() as u32 }));
    };
    // 6.2.2.11: D/C 0 is a control PDU; UM has none.
    let first = *bytes.first().ok_or(DecodeError::Truncated)?;
    if format.acknowledged && first >> 7 == 0 {
        return status::decode(bytes, format).map(Pdu::Status);
    }
    let pdu = data::decode(bytes, format)?;
    Ok(if format.acknowledged { Pdu::Amd(pdu) } else { Pdu::Umd(pdu) })
}
