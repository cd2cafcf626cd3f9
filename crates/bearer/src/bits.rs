//! Bits, most significant first (TS 36.322 clause 6.1.1).

/// Writes fields of any width.
#[derive(Debug, Default)]
pub struct BitWriter {
    bytes: Vec<u8>,
    /// Bits of the last byte that are used; 0: all.
    used: u32,
}

impl BitWriter {
    /// The lowest `width` bits of `value`.
    pub fn put(&mut self, value: u32, width: u32) {
        for i in (0..width).rev() {
            if self.used == 0 {
                self.bytes.push(0);
            }
            let bit = (value >> i & 1) as u8;
            if let Some(last) = self.bytes.last_mut() {
                *last |= bit << (7 - self.used);
            }
            self.used = (self.used + 1) % 8;
        }
    }
    /// A single bit.
    pub fn flag(&mut self, bit: bool) {
        self.put(u32::from(bit), 1);
    }
    /// The bytes; a started one is padded with zeros.
    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }
    /// The bytes, padded with zeros to at least `size` of them.
    pub fn padded(mut self, size: usize) -> Vec<u8> {
        self.bytes.resize(self.bytes.len().max(size), 0);
        self.bytes
    }
}

/// Reads fields of any width.
#[derive(Debug)]
pub struct BitReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> BitReader<'a> {
    /// Reads from the first bit of `bytes` on.
    pub const fn new(bytes: &'a [u8]) -> BitReader<'a> {
        BitReader { bytes, at: 0 }
    }
    /// The next `width` bits; None beyond the end.
    pub fn take(&mut self, width: u32) -> Option<u32> {
        if self.at + width as usize > self.bytes.len() * 8 {
            return None;
        }
        let mut value = 0;
        for _ in 0..width {
            value = value << 1 | u32::from(self.bytes[self.at / 8] >> (7 - self.at % 8) & 1);
            self.at += 1;
        }
        Some(value)
    }
    /// The next bit.
    pub fn flag(&mut self) -> Option<bool> {
        self.take(1).map(|b| b == 1)
    }
    /// Passes over `bytes` whole bytes.
    pub const fn skip(&mut self, bytes: usize) {
        self.at += bytes * 8;
    }
    /// Position of the next whole byte.
    pub const fn byte_position(&self) -> usize {
        self.at.div_ceil(8)
    }
}
