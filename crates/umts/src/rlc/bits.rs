//! Fields that do not end at octets.

use super::pdu::CodecError;

/// Appends fields, most significant bit first.
#[derive(Default)]
pub(crate) struct BitWriter {
    octets: Vec<u8>,
    bits: usize,
}

impl BitWriter {
    /// The low `width` bits of `value`.
    pub fn put(&mut self, value: u32, width: u32) {
        for i in (0..width).rev() {
            if self.bits.is_multiple_of(8) {
                self.octets.push(0);
            }
            let bit = (value >> i & 1) as u8;
            self.octets[self.bits / 8] |= bit << (7 - self.bits % 8);
            self.bits += 1;
        }
    }
    /// The octets, padded with zeros to at least `size`.
    pub fn finish(mut self, size: usize) -> Vec<u8> {
        if self.octets.len() < size {
            self.octets.resize(size, 0);
        }
        self.octets
    }
}

/// Reads fields, most significant bit first.
pub(crate) struct BitReader<'a> {
    octets: &'a [u8],
    at: usize,
}

impl<'a> BitReader<'a> {
    pub fn new(octets: &'a [u8]) -> Self {
        BitReader { octets, at: 0 }
    }
    /// The next `width` bits (at most 32).
    pub fn take(&mut self, width: u32) -> Result<u32, CodecError> {
        if self.at + width as usize > self.octets.len() * 8 {
            return Err(CodecError::Truncated);
        }
        let mut value = 0;
        for _ in 0..width {
            value = value << 1 | u32::from(self.octets[self.at / 8] >> (7 - self.at % 8) & 1);
            self.at += 1;
        }
        Ok(value)
    }
}
