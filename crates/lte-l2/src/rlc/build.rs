//! Segmentation and concatenation: filling a PDU of any size from SDUs.

use lasthop_units::Instant;

use super::buffer::TxBuffer;
use super::shortcuts::Shortcuts;
use super::{Element, Format, RlcOutput, Sdu, Span};

/// A growing data field: the elements so far and the room left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    format: Format,
    /// The fixed part of the header [B].
    fixed: u32,
    room: u32,
    elements: u32,
    data: u32,
    last: u32,
}

impl Field {
    /// Creates an empty data field of a PDU of at most `room` bytes.
    #[inline]
    pub const fn new(format: Format, segment: bool, room: u32) -> Field {
        Field { format, fixed: format.fixed(segment), room, elements: 0, data: 0, last: 0 }
    }

    /// Adds an element of at most `len` bytes; returns how many were taken, 0 if the PDU is
    /// complete.
    // TS 36.322 v15.1.0 clause 4.2.1.3.2: SDUs are segmented and concatenated so that AMD PDUs fit
    // the grant.
    #[inline]
    pub const fn add(&mut self, len: u32) -> u32 {
        // 6.2.1.1: an element that its LI cannot describe is mapped to the end of the data field.
        if self.last > self.format.li_max() {
            return 0;
        }
        let used = self.header(self.elements + 1) + self.data;
        let mut got = self.room.saturating_sub(used);
        if got > len {
            got = len;
        }
        let cap = self.format.data_max() - self.data;
        if got > cap {
            got = cap;
        }
        if got > 0 {
            self.elements += 1;
            self.data += got;
            self.last = got;
        }
        got
    }

    /// True if another byte may fit as an element of its own.
    #[inline]
    pub const fn is_open(&self) -> bool {
        self.header(self.elements + 1) + self.data < self.room
    }
    pub const fn data(&self) -> u32 {
        self.data
    }
    pub const fn elements(&self) -> u32 {
        self.elements
    }
    /// Size of the PDU [B].
    pub const fn size(&self) -> u32 {
        self.header(self.elements) + self.data
    }
    /// The whole header with `elements` [B].
    #[inline]
    const fn header(&self, elements: u32) -> u32 {
        self.fixed + self.format.extension(elements)
    }
}

/// The elements that were taken from the buffer for one PDU.
#[derive(Clone, Copy, Debug)]
pub(super) struct Filled {
    pub field: Field,
    /// The first byte is the first of an SDU.
    pub starts: bool,
    /// The last byte is the last of an SDU.
    pub ends: bool,
}

/// Fills `elements` from the buffer into a PDU of at most `room` bytes; None if not even one byte
/// fits. `begun` is called with each SDU whose first byte is taken.
#[inline]
pub(super) fn fill<S>(
    now: Instant,
    buffer: &mut TxBuffer,
    (format, shortcuts): (Format, &Shortcuts),
    room: u32,
    elements: &mut Vec<Element<Span>>,
    out: &mut RlcOutput<S>,
    mut begun: impl FnMut(Sdu),
) -> Option<Filled> {
    let mut field = Field::new(format, false, room);
    let (mut starts, mut ends) = (true, true);
    while field.is_open() {
        let Some((sdu, mapped)) = buffer.head(now, out) else { break };
        let rest = sdu.size() - mapped;
        let want = match shortcuts.fixed_fragment {
            Some(n) if field.elements() > 0 || room < format.fixed(false) + rest.min(n) => 0,
            Some(n) => rest.min(n),
            None if shortcuts.no_concatenation && field.elements() > 0 => 0,
            None => rest,
        };
        let got = if want == 0 { 0 } else { field.add(want) };
        if got == 0 {
            break;
        }
        if mapped == 0 {
            begun(sdu);
        }
        if field.elements() == 1 {
            starts = mapped == 0;
        }
        ends = got == rest;
        elements.push(Element { payload: Span { sdu, offset: mapped }, len: got });
        buffer.take(got, ends);
        if !ends {
            break;
        }
    }
    (field.elements() > 0).then_some(Filled { field, starts, ends })
}
