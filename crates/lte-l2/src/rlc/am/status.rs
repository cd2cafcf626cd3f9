//! Construction of STATUS PDUs that fit the grant (TS 36.322 clause 5.2.3).

use super::rx::AmRx;
use crate::rlc::pdu::SO_END;
use crate::rlc::{Format, Nack, Payload, StatusPdu};

/// Fills `status` with the report that fits `room` bytes; returns its ACK_SN, or None if even that
/// does not fit. A truncated report ends below VR(MS).
// TS 36.322 v15.1.0 clause 5.2.3: it names the incomplete AMD PDUs with VR(R) <= SN < VR(MR), by SN
// and within a PDU by byte, as far as the report fits the grant. Of these only SN < VR(MS) may be
// named: by clause 7.1 VR(MS) is the highest value that ACK_SN may have.
pub(super) fn build<P: Payload>(
    rx: &AmRx<P>,
    format: Format,
    room: u32,
    status: &mut StatusPdu,
) -> Option<u64> {
    let mut free = room * 8;
    if free < format.status_fixed_bits() {
        return None;
    }
    free -= format.status_fixed_bits();
    status.nacks.clear();
    // Clause 5.2.3: ACK_SN is the SN of the next PDU that is not received and that the report does
    // not name as missing.
    let mut ack_sn = rx.vr_ms;
    for &sn in rx.missing.iter().take_while(|&&sn| sn < rx.vr_ms) {
        if !add_missing(rx, sn, format, &mut free, status) {
            ack_sn = sn;
            break;
        }
    }
    status.ack_sn = rx.wrap(ack_sn);
    Some(ack_sn)
}

/// Adds the NACKs of one PDU, all of them or none: the bytes before ACK_SN that no NACK names count
/// as received.
fn add_missing<P: Payload>(
    rx: &AmRx<P>,
    sn: u64,
    format: Format,
    free: &mut u32,
    status: &mut StatusPdu,
) -> bool {
    let before = status.nacks.len();
    let wire = rx.wrap(sn);
    let slot = rx.slot(sn);
    if slot.is_empty() {
        status.nacks.push(Nack { sn: wire, portion: None });
    } else {
        slot.gaps(|from, to| {
            status.nacks.push(Nack { sn: wire, portion: Some((from, to.unwrap_or(SO_END))) });
        });
    }
    let portion = status.nacks[before].portion.is_some();
    let fitting = (*free / format.nack_bits(portion)) as usize;
    if before == 0 && fitting > 0 && status.nacks.len() > fitting {
        // The first PDU has more gaps than the grant can name. Its last NACK covers the rest, so
        // that the transfer makes progress even with the smallest grants. (The standard does not
        // define this case; bytes received twice are discarded.)
        let end = status.nacks.last().and_then(|n| n.portion).map_or(SO_END, |p| p.1);
        status.nacks.truncate(fitting);
        if let Some((_, to)) = status.nacks.last_mut().and_then(|n| n.portion.as_mut()) {
            *to = end;
        }
    } else if before == 0 && fitting == 0 && *free >= format.nack_bits(false) {
        status.nacks.truncate(1);
        status.nacks[0].portion = None;
    } else if status.nacks.len() - before > fitting {
        status.nacks.truncate(before);
        return false;
    }
    let bits: u32 = status.nacks[before..].iter().map(|n| format.nack_bits(n.portion.is_some())).sum();
    *free -= bits;
    true
}

/// Size of the report that an unlimited grant would carry [B].
// TS 36.322 v15.1.0 clause 4.5: if a STATUS PDU is triggered and t-StatusProhibit does not run, the
// UE estimates the size of the one that the next transmission opportunity will carry.
#[inline(never)]
pub(super) fn estimate<P: Payload>(rx: &AmRx<P>, format: Format) -> u32 {
    let below = rx.missing.partition_point(|&sn| sn < rx.vr_ms);
    let mut bits = format.status_fixed_bits() + below as u32 * format.nack_bits(false);
    if rx.partly > 0 {
        for slot in rx.missing.range(..below).map(|&sn| rx.slot(sn)).filter(|s| !s.is_empty()) {
            bits -= format.nack_bits(false);
            slot.gaps(|_, _| bits += format.nack_bits(true));
        }
    }
    bits.div_ceil(8)
}
