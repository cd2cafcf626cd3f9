//! UMD PDUs, AMD PDUs and AMD PDU segments (TS 36.322 clauses 6.2.1.3 to 6.2.1.5).

use smallvec::SmallVec;

use super::{Chunk, DecodeError};
use crate::rlc::{DataPdu, Element, Format, Segment};
use lasthop_bearer::bits::{BitReader, BitWriter};

/// The header of `pdu`, fixed part and extension part.
pub(super) fn header<P>(pdu: &DataPdu<P>, format: Format) -> Vec<u8> {
    // The capacity includes the data that follow; a length indicator takes two octets at most.
    let data: u32 = pdu.elements.iter().map(|e| e.len).sum();
    let mut w = BitWriter::with_capacity(data as usize + 16 + 2 * pdu.elements.len());
    // FI, 6.2.2.6: a bit is 0 where a border of the data field is a border of an SDU.
    let fi = u32::from(!pdu.starts) << 1 | u32::from(!pdu.ends);
    let extended = pdu.elements.len() > 1;
    if format.acknowledged {
        w.put(1, 1); // D/C: data
        w.flag(pdu.segment.is_some()); // RF
        w.flag(pdu.poll);
        w.put(fi, 2);
        w.flag(extended);
        match (format.sn_bits, pdu.segment) {
            (10, _) => {
                w.put(pdu.sn, 10);
            }
            (_, s) => {
                w.flag(s.is_some_and(|s| s.last)); // LSF of a segment, R1 else
                w.put(0, 1);
                w.put(pdu.sn, 16);
            }
        }
        if let Some(s) = pdu.segment {
            if format.sn_bits == 10 {
                w.flag(s.last);
            }
            w.put(s.so, format.so_bits());
        }
    } else {
        let reserved = if format.sn_bits == 10 { 3 } else { 0 };
        w.put(0, reserved);
        w.put(fi, 2);
        w.flag(extended);
        w.put(pdu.sn, format.sn_bits);
    }
    for (i, e) in pdu.elements.iter().enumerate().take(pdu.elements.len().saturating_sub(1)) {
        w.flag(i + 2 < pdu.elements.len()); // E: another LI follows
        w.put(e.len, format.li_bits);
    }
    w.finish()
}

/// Reads a data PDU; the bytes are copied once, all elements share them.
pub(super) fn decode(bytes: &[u8], format: Format) -> Result<DataPdu<Chunk>, DecodeError> {
    let mut r = BitReader::new(bytes);
    let mut pdu = fixed(&mut r, format).ok_or(DecodeError::Truncated)?;
    let (mut pdu, extended) = (std::mem::replace(&mut pdu.0, blank()), pdu.1);
    let mut lengths: SmallVec<[u32; 16]> = SmallVec::new();
    let mut more = extended;
    while more {
        more = r.flag().ok_or(DecodeError::Truncated)?;
        lengths.push(r.take(format.li_bits).ok_or(DecodeError::Truncated)?);
    }
    let start = r.byte_position();
    let data = bytes.get(start..).ok_or(DecodeError::Truncated)?;
    if data.is_empty() {
        return Err(DecodeError::Empty);
    }
    // Clause 6.2.2.5: LI 0 is reserved. The last element has no LI and is not empty.
    let sum: u64 = lengths.iter().map(|&l| u64::from(l)).sum();
    if lengths.contains(&0) || sum >= data.len() as u64 {
        return Err(DecodeError::LengthIndicator);
    }
    lengths.push(data.len() as u32 - sum as u32);
    let whole = Chunk { bytes: data.into(), at: 0 };
    let mut at = 0;
    for len in lengths {
        pdu.elements.push(Element { payload: Chunk { bytes: whole.bytes.clone(), at }, len });
        at += len;
    }
    Ok(pdu)
}

fn blank() -> DataPdu<Chunk> {
    DataPdu { sn: 0, poll: false, starts: true, ends: true, segment: None, elements: Vec::new() }
}

/// The fixed part, and whether the extension part follows. Reserved bits are ignored (6.2.2.12).
fn fixed(r: &mut BitReader<'_>, format: Format) -> Option<(DataPdu<Chunk>, bool)> {
    let mut pdu = blank();
    let mut resegmented = false;
    if format.acknowledged {
        r.take(1)?; // D/C
        resegmented = r.flag()?;
        pdu.poll = r.flag()?;
    } else if format.sn_bits == 10 {
        r.take(3)?;
    }
    let fi = r.take(2)?;
    pdu.starts = fi & 2 == 0;
    pdu.ends = fi & 1 == 0;
    let extended = r.flag()?;
    let mut last = false;
    if format.acknowledged && format.sn_bits == 16 {
        last = r.flag()?;
        r.take(1)?;
    }
    pdu.sn = r.take(format.sn_bits)?;
    if resegmented {
        if format.sn_bits == 10 {
            last = r.flag()?;
        }
        pdu.segment = Some(Segment { so: r.take(format.so_bits())?, last });
    }
    Some((pdu, extended))
}
