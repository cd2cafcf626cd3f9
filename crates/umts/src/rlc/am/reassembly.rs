//! Reassembly of SDUs from the data fields of PDUs.

use std::collections::VecDeque;

use crate::rlc::Output;
use crate::rlc::segment::{EndMark, Segment};
use lasthop_bearer::Sdu;

/// SDUs of which a part has arrived.
#[derive(Clone, Debug, Default)]
pub(super) struct Reassembly {
    partials: VecDeque<Partial>,
    /// A PDU is missing before the next one: octets up to the next end belong to an SDU that is not
    /// complete.
    out_of_sync: bool,
}

#[derive(Clone, Copy, Debug)]
struct Partial {
    sdu: Sdu,
    got: u32,
    /// True if the PDU that indicates the end has arrived.
    ended: bool,
    /// Count of the highest PDU that was received with octets of the SDU or with its end.
    highest: u64,
}

impl Reassembly {
    /// Processes the data field of the next PDU in sequence; the first `skipped` ends belong to
    /// discarded SDUs. Works on descriptors and on decoded octets: it uses only lengths and ends.
    #[inline]
    pub fn in_sequence(&mut self, segments: &[Segment], skipped: usize, out: &mut Output) {
        let mut skip = skipped;
        for segment in segments {
            if skip > 0 {
                skip -= usize::from(segment.end != EndMark::None);
                continue;
            }
            if self.out_of_sync {
                self.out_of_sync = segment.end == EndMark::None;
                continue;
            }
            let (sdu, len) = (segment.sdu, u32::from(segment.len));
            let mixed = self.partials.front().is_some_and(|partial| partial.sdu.serial != sdu.serial);
            debug_assert!(!mixed, "octets of two SDUs are mixed");
            if segment.end == EndMark::None {
                match self.partials.front_mut() {
                    Some(partial) => partial.got += len,
                    None => self.partials.push_back(Partial { sdu, got: len, ended: false, highest: 0 }),
                }
                continue;
            }
            let (sdu, got) = self.partials.pop_front().map_or((sdu, len), |p| (p.sdu, p.got + len));
            // For decoded octets the previous PDU seemed to be full: its last octet was padding.
            let padded = segment.end == EndMark::PreviousShort && !segment.sdu.is_known();
            let size = got.saturating_sub(padded.into());
            debug_assert!(!sdu.is_known() || size == sdu.size(), "an SDU lost octets");
            out.delivered.push(sdu.with_size(size));
        }
    }

    /// Processes the data field of any PDU, each PDU once: an SDU is delivered when all of it is
    /// received. Needs descriptors.
    pub fn any_order(&mut self, count: u64, segments: &[Segment], skipped: usize, out: &mut Output) {
        let mut skip = skipped;
        for segment in segments {
            if skip > 0 {
                skip -= usize::from(segment.end != EndMark::None);
                continue;
            }
            let at =
                self.partials.iter().rposition(|p| p.sdu.serial == segment.sdu.serial).unwrap_or_else(|| {
                    self.partials.push_back(Partial {
                        sdu: segment.sdu,
                        got: 0,
                        ended: false,
                        highest: count,
                    });
                    self.partials.len() - 1
                });
            let partial = &mut self.partials[at];
            partial.got += u32::from(segment.len);
            partial.ended |= segment.end != EndMark::None;
            partial.highest = partial.highest.max(count);
            if partial.ended && partial.got == partial.sdu.size() {
                out.delivered.push(partial.sdu);
                self.partials.remove(at);
            }
        }
    }

    /// Drops SDUs that the sender has discarded, which end in PDU `end` or before.
    pub fn drop_discarded(&mut self, end: u64) {
        self.partials.retain(|p| p.highest > end || (p.highest == end && !p.ended && p.highest != 0));
    }

    /// Skips the next PDU in sequence, which the sender has discarded and which has not arrived.
    pub fn gap(&mut self) {
        self.partials.clear();
        self.out_of_sync = true;
    }

    /// Drops the SDU so far: the next octet begins an SDU.
    pub fn clear(&mut self) {
        self.partials.clear();
        self.out_of_sync = false;
    }
}
