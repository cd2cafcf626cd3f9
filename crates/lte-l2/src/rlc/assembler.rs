//! Reassembly of SDUs from pieces that arrive in order, by their framing info alone.

use super::{Payload, RlcStats};

/// A run of payload bytes between two borders of the original data field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece<P> {
    /// Position of the first byte in the data field of the PDU.
    pub so: u32,
    pub len: u32,
    pub payload: P,
    /// The first byte is the first of an SDU.
    pub starts: bool,
    /// The last byte is the last of an SDU.
    pub ends: bool,
}

/// The SDU that is being put together.
#[derive(Clone, Debug)]
pub(super) struct Assembler<P: Payload> {
    partial: Option<P::Partial>,
    /// Every missing PDU is detected (AM), and the piece before the next one has ended an SDU.
    at_border: bool,
    contiguous: bool,
}

impl<P: Payload> Assembler<P> {
    /// Creates an assembler for a byte sequence without gaps (AM, `contiguous`), or for one in
    /// which undetected PDUs may be missing: in UM as many as make the SN wrap.
    pub const fn new(contiguous: bool) -> Assembler<P> {
        Assembler { partial: None, at_border: contiguous, contiguous }
    }

    /// Takes the next piece in order.
    #[inline]
    pub fn piece(
        &mut self,
        payload: &P,
        len: u32,
        starts: bool,
        ends: bool,
        stats: &mut RlcStats,
        out: &mut Vec<P::Sdu>,
    ) {
        let partial = if starts {
            self.end_partial(stats, out);
            payload.begin(len)
        } else if let Some(mut partial) = self.partial.take() {
            if !payload.append(len, &mut partial) {
                stats.sdus_broken += 1;
                self.at_border = false;
                return;
            }
            partial
        } else if self.at_border {
            // TS 36.322 clause 6.2.2.6: FI is redundant with the preceding data. A sender that
            // segments a PDU again may set it wrongly.
            stats.unmarked_starts += 1;
            payload.begin(len)
        } else {
            // A segment whose beginning was lost cannot become an SDU (TS 36.322 clause 5.1.2.2.3).
            self.at_border = ends && self.contiguous;
            return;
        };
        self.at_border = ends && self.contiguous;
        if !ends {
            self.partial = Some(partial);
        } else if let Some(sdu) = P::finish(partial) {
            out.push(sdu);
        } else {
            stats.sdus_broken += 1;
        }
    }

    /// Completes the SDU so far, because the next piece begins an SDU. This is the converse of TS
    /// 36.322 clause 6.2.2.6: where no octet is missing, the octet before the first of an SDU is
    /// the last of another, whatever the FI of its PDU says. In UM a PDU with that last octet may
    /// be missing.
    #[inline]
    fn end_partial(&mut self, stats: &mut RlcStats, out: &mut Vec<P::Sdu>) {
        let Some(partial) = self.partial.take() else { return };
        match if self.contiguous { P::finish(partial) } else { None } {
            Some(sdu) => {
                stats.unmarked_ends += 1;
                out.push(sdu);
            }
            None => stats.sdus_broken += 1,
        }
    }

    /// Discards the SDU so far, because a PDU is missing.
    pub fn gap(&mut self, stats: &mut RlcStats) {
        stats.sdus_broken += u64::from(self.partial.take().is_some());
        self.at_border = false;
    }

    /// Starts a new byte sequence with the next piece.
    pub fn restart(&mut self, stats: &mut RlcStats) {
        self.gap(stats);
        self.at_border = self.contiguous;
    }
}
