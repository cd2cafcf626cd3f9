//! Reassembly of SDUs from pieces that arrive in order, by framing info alone.

use super::Payload;

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
    /// SDUs of which a beginning was received and not the end.
    pub broken: u64,
}

impl<P: Payload> Default for Assembler<P> {
    fn default() -> Self {
        Assembler { partial: None, broken: 0 }
    }
}

impl<P: Payload> Assembler<P> {
    /// The next piece in order.
    #[inline]
    pub fn piece(&mut self, payload: &P, len: u32, starts: bool, ends: bool, out: &mut Vec<P::Sdu>) {
        let partial = if starts {
            self.gap();
            payload.begin(len)
        } else {
            // A segment whose beginning was lost cannot become an SDU (TS 36.322 clause 5.1.2.2.3).
            let Some(mut partial) = self.partial.take() else { return };
            if !payload.append(len, &mut partial) {
                self.broken += 1;
                return;
            }
            partial
        };
        if !ends {
            self.partial = Some(partial);
        } else if let Some(sdu) = P::finish(partial) {
            out.push(sdu);
        } else {
            self.broken += 1;
        }
    }

    /// What came so far is not continued: a PDU is missing.
    pub fn gap(&mut self) {
        self.broken += u64::from(self.partial.take().is_some());
    }
}
