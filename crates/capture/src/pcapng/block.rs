//! The octets of a block: General Block Structure (section 3.1) and options (section 3.5).

use std::borrow::Cow;

/// opt_endofopt and opt_comment, which every block can have (section 3.5).
const END_OF_OPTIONS: u16 = 0;
pub(super) const COMMENT: u16 = 1;

/// A block that is appended to a buffer. Numbers are little-endian on every machine (section 3.6.1
/// allows either), so that a capture does not depend on the machine.
pub(super) struct Block<'a> {
    out: &'a mut Vec<u8>,
    start: usize,
    options: bool,
}

impl<'a> Block<'a> {
    /// Starts a block of type `kind`.
    #[inline]
    pub fn begin(out: &'a mut Vec<u8>, kind: u32) -> Block<'a> {
        let start = out.len();
        out.extend_from_slice(&u64::from(kind).to_le_bytes());
        Block { out, start, options: false }
    }

    /// Appends the fields of the block's body that have a fixed place.
    #[inline]
    pub fn fields(mut self, octets: &[u8]) -> Self {
        self.put(octets);
        self
    }

    pub fn u16(mut self, value: u16) -> Self {
        self.put(&value.to_le_bytes());
        self
    }

    pub fn u32(mut self, value: u32) -> Self {
        self.put(&value.to_le_bytes());
        self
    }

    pub fn i64(mut self, value: i64) -> Self {
        self.put(&value.to_le_bytes());
        self
    }

    /// Appends a timestamp: the upper 32 bits come first (section 4.3).
    pub fn time(mut self, time_ns: u64) -> Self {
        self.put(&timestamp(time_ns));
        self
    }

    /// Appends the octets of a packet and `zeros` octets of value 0, then padding to 32 bits;
    /// `before` octets of the packet are in the block already.
    #[inline]
    pub fn packet(mut self, before: usize, bytes: &[u8], zeros: usize) -> Self {
        self.put(bytes);
        // Padding is zeros, too (section 3.6.2).
        let given = before + bytes.len();
        self.out.resize(self.out.len() + (given + zeros).next_multiple_of(4) - given, 0);
        self
    }

    /// Appends an option with a value of fixed length, 12 octets at most.
    #[inline]
    pub fn option<const N: usize>(mut self, code: u16, value: &[u8; N]) -> Self {
        let mut octets = [0; 16];
        octets[..4].copy_from_slice(&option_head(code, N));
        octets[4..4 + N].copy_from_slice(value);
        self.options = true;
        self.put(&octets[..4 + N.next_multiple_of(4)]);
        self
    }

    /// Appends an option with a text, unless the text is empty. A text is cut after the last
    /// character that ends within 65535 octets, the largest value of the length field. Readers end
    /// a text at an octet 0 (section 3.5), so that character is replaced.
    #[inline]
    pub fn text(self, code: u16, text: &str) -> Self {
        if text.is_empty() { self } else { self.some_text(code, text) }
    }

    fn some_text(mut self, code: u16, text: &str) -> Self {
        let text = if text.contains('\0') {
            Cow::Owned(text.replace('\0', "\u{fffd}"))
        } else {
            Cow::Borrowed(text)
        };
        let most = text.len().min(usize::from(u16::MAX));
        let fits = (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        self.options = true;
        self.put(&option_head(code, fits));
        self.put(&text.as_bytes()[..fits]);
        self.pad();
        self
    }

    /// Ends the options, if there are any, and writes the total length at both ends of the block.
    #[inline]
    pub fn end(mut self) {
        if self.options {
            self.put(&option_head(END_OF_OPTIONS, 0));
        }
        let length = (self.out.len() - self.start + 4) as u32;
        self.put(&length.to_le_bytes());
        self.out[self.start + 4..self.start + 8].copy_from_slice(&length.to_le_bytes());
    }

    #[inline]
    fn put(&mut self, octets: &[u8]) {
        self.out.extend_from_slice(octets);
    }

    /// Appends padding, which is zeros (section 3.6.2).
    fn pad(&mut self) {
        let over = (self.out.len() - self.start) % 4;
        self.put(&[0; 3][..(4 - over) % 4]);
    }
}

/// The code and the length of an option's value (section 3.5).
#[inline]
fn option_head(code: u16, length: usize) -> [u8; 4] {
    debug_assert!(length <= usize::from(u16::MAX), "option {code} is too long");
    let ([a, b], [c, d]) = (code.to_le_bytes(), (length as u16).to_le_bytes());
    [a, b, c, d]
}

/// The two words of a timestamp, the upper one first (section 4.3).
pub(super) fn timestamp(time_ns: u64) -> [u8; 8] {
    let (upper, lower) = ((time_ns >> 32) as u32, time_ns as u32);
    let mut octets = [0; 8];
    octets[..4].copy_from_slice(&upper.to_le_bytes());
    octets[4..].copy_from_slice(&lower.to_le_bytes());
    octets
}
