//! STATUS PDUs (TS 36.322 clause 6.2.1.6).

use super::DecodeError;
use crate::rlc::{Format, Nack, SO_END, StatusPdu};
use lasthop_bearer::bits::{BitReader, BitWriter};

/// The bytes of `status`.
pub(super) fn encode(status: &StatusPdu, format: Format) -> Vec<u8> {
    let mut w = BitWriter::default();
    let (sn_bits, so_bits) = (format.status_sn_bits, format.status_so_bits());
    let so_end = (1 << so_bits) - 1;
    w.put(0, 1); // D/C: control
    w.put(0, 3); // CPT: STATUS PDU
    w.put(status.ack_sn, sn_bits);
    w.flag(!status.nacks.is_empty()); // E1
    for (i, n) in status.nacks.iter().enumerate() {
        w.put(n.sn, sn_bits);
        w.flag(i + 1 < status.nacks.len()); // E1
        w.flag(n.portion.is_some()); // E2
        if let Some((from, to)) = n.portion {
            w.put(from, so_bits);
            w.put(if to == SO_END { so_end } else { to }, so_bits);
        }
    }
    w.finish()
}

/// Reads a STATUS PDU; bits after the last NACK are padding.
pub(super) fn decode(bytes: &[u8], format: Format) -> Result<StatusPdu, DecodeError> {
    let mut r = BitReader::new(bytes);
    r.take(1);
    // 6.2.2.13: CPT 000 is STATUS, the others are reserved.
    if r.take(3).ok_or(DecodeError::Truncated)? != 0 {
        return Err(DecodeError::Reserved);
    }
    let mut status =
        StatusPdu { ack_sn: r.take(format.status_sn_bits).ok_or(DecodeError::Truncated)?, nacks: Vec::new() };
    let mut more = r.flag().ok_or(DecodeError::Truncated)?;
    while more {
        let (nack, next) = nack(&mut r, format).ok_or(DecodeError::Truncated)?;
        status.nacks.push(nack);
        more = next;
    }
    Ok(status)
}

fn nack(r: &mut BitReader<'_>, format: Format) -> Option<(Nack, bool)> {
    let (sn, so_bits) = (r.take(format.status_sn_bits)?, format.status_so_bits());
    let more = r.flag()?;
    let portion = if r.flag()? {
        let (from, to) = (r.take(so_bits)?, r.take(so_bits)?);
        Some((from, if to == (1 << so_bits) - 1 { SO_END } else { to }))
    } else {
        None
    };
    Some((Nack { sn, portion }, more))
}
