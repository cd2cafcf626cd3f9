//! Status reports (TS 25.322 clause 11.5.2).

use smallvec::{SmallVec, smallvec};

use super::StatusFormat;
use super::rx::Rx;
use crate::rlc::pdu::{AmSn, StatusPdu, Sufi};

const MOST_OCTETS: u64 = 16;
const MOST_PAIRS: usize = 15;
const MOST_RUN: u64 = 16;

/// Builds the report on VR(R)..VR(H) as STATUS PDUs of at most `bits` each, after the super-fields
/// `first`.
///
/// The first PDU acknowledges up to the end of its lists. Further PDUs have lists without
/// acknowledgement, because an ACK means that every earlier PDU that is not listed *in the same
/// STATUS PDU* was received (clause 9.2.2.11.2).
pub(super) fn build_report(
    rx: &Rx,
    format: StatusFormat,
    bits: usize,
    mut pdu: StatusPdu,
    out: &mut Vec<StatusPdu>,
) {
    let (mut from, end) = (rx.vr_r(), rx.vr_h());
    let mut acknowledged = false;
    loop {
        // The closing ACK takes 16 bits, NO_MORE 4; `StatusPdu::bits` includes the NO_MORE.
        let reserve = if acknowledged { 0 } else { 12 };
        while let Some(missing) = rx.received().next_missing(from, end) {
            let room = bits.saturating_sub(pdu.bits() + reserve);
            let next = match format {
                StatusFormat::Bitmap => bitmap(rx, missing, room),
                StatusFormat::List => list(rx, missing, room),
            };
            let Some((sufi, covered)) = next else { break };
            pdu.sufis.push(sufi);
            from = covered;
        }
        let done = rx.received().next_missing(from, end).is_none();
        if !acknowledged {
            let lsn = if done { end } else { from };
            pdu.sufis.push(Sufi::Ack(AmSn::new(lsn as u32)));
            acknowledged = true;
        }
        out.push(std::mem::take(&mut pdu));
        if done {
            return;
        }
    }
}

/// A BITMAP from `first` on, and the first SN after it. Every bit is defined: a bitmap that would
/// reach beyond VR(H) starts before `first` instead.
fn bitmap(rx: &Rx, first: u64, room: usize) -> Option<(Sufi, u64)> {
    let octets = (room.checked_sub(20)? as u64 / 8).min(MOST_OCTETS);
    if octets == 0 {
        return None;
    }
    let reach = (first + 8 * octets).min(rx.vr_h());
    let last = rx.received().last_missing(first, reach).unwrap_or(first);
    let octets = (last - first) / 8 + 1;
    let end = (first + 8 * octets).min(rx.vr_h());
    // FSN may be before VR(R), even before count 0: all PDUs there were received, or are ignored.
    let fsn = end as i64 - 8 * octets as i64;
    let bits = (0..octets as i64).map(|o| {
        (0..8).fold(0u8, |octet, b| {
            let count = fsn + 8 * o + b;
            let received = count < rx.vr_r() as i64 || rx.received().contains(count as u64);
            octet << 1 | u8::from(received)
        })
    });
    Some((Sufi::Bitmap { fsn: AmSn::new(fsn as u32), octets: bits.collect() }, end))
}

/// A LIST of runs from `first` on, and the first SN after it.
fn list(rx: &Rx, first: u64, room: usize) -> Option<(Sufi, u64)> {
    let most = (room.checked_sub(8)? / 16).min(MOST_PAIRS);
    if most == 0 {
        return None;
    }
    let mut pairs: SmallVec<[(AmSn, u8); 4]> = smallvec![];
    let mut from = first;
    while pairs.len() < most {
        let Some(start) = rx.received().next_missing(from, rx.vr_h()) else { break };
        let limit = (start + MOST_RUN).min(rx.vr_h());
        let end = rx.received().next_in(start, limit).unwrap_or(limit);
        pairs.push((AmSn::new(start as u32), (end - start - 1) as u8));
        from = end;
    }
    Some((Sufi::List(pairs), from))
}
