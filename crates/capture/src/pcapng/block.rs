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
    /// Begins a block of type `kind`.
    pub fn begin(out: &'a mut Vec<u8>, kind: u32) -> Block<'a> {
        let start = out.len();
        out.extend_from_slice(&kind.to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        Block { out, start, options: false }
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

    /// A timestamp: the upper 32 bits come first (section 4.3).
    pub fn time(mut self, time_ns: u64) -> Self {
        self.put(&timestamp(time_ns));
        self
    }

    /// The octets of a packet and `zeros` octets of value 0, then padding to 32 bits.
    pub fn packet(mut self, bytes: &[u8], zeros: usize) -> Self {
        self.put(bytes);
        self.out.resize(self.out.len() + zeros, 0);
        self.pad();
        self
    }

    /// An option with a value of fixed length.
    pub fn option(mut self, code: u16, value: &[u8]) -> Self {
        self.put_option(code, value);
        self
    }

    /// An option with a text; nothing if the text is empty. A text is cut after the last character
    /// that ends within 65535 octets, the most that the field for the length can say. Readers end
    /// a text at an octet 0 (section 3.5), so that character is replaced.
    pub fn text(mut self, code: u16, text: &str) -> Self {
        let text = if text.contains('\0') {
            Cow::Owned(text.replace('\0', "\u{fffd}"))
        } else {
            Cow::Borrowed(text)
        };
        if !text.is_empty() {
            let most = text.len().min(usize::from(u16::MAX));
            let fits = (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            self.put_option(code, &text.as_bytes()[..fits]);
        }
        self
    }

    /// Ends the options, if there are any, and writes the total length at both ends of the block.
    pub fn end(mut self) {
        if self.options {
            self.put_option(END_OF_OPTIONS, &[]);
        }
        let length = (self.out.len() - self.start + 4) as u32;
        self.put(&length.to_le_bytes());
        self.out[self.start + 4..self.start + 8].copy_from_slice(&length.to_le_bytes());
    }

    fn put(&mut self, octets: &[u8]) {
        self.out.extend_from_slice(octets);
    }

    /// Padding is zeros (section 3.6.2).
    fn pad(&mut self) {
        let over = (self.out.len() - self.start) % 4;
        self.put(&[0; 3][..(4 - over) % 4]);
    }

    fn put_option(&mut self, code: u16, value: &[u8]) {
        debug_assert!(value.len() <= usize::from(u16::MAX), "option {code} is too long");
        self.options = true;
        self.put(&code.to_le_bytes());
        self.put(&(value.len() as u16).to_le_bytes());
        self.put(value);
        self.pad();
    }
}

/// The two words of a timestamp, the upper one first (section 4.3).
pub(super) fn timestamp(time_ns: u64) -> [u8; 8] {
    let (upper, lower) = ((time_ns >> 32) as u32, time_ns as u32);
    let mut octets = [0; 8];
    octets[..4].copy_from_slice(&upper.to_le_bytes());
    octets[4..].copy_from_slice(&lower.to_le_bytes());
    octets
}
