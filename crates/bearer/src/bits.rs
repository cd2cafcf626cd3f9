//! Bits, most significant first (TS 36.322 clause 6.2.1.1).

/// Writes fields of any width.
#[derive(Debug, Default)]
pub struct BitWriter {
    bytes: Vec<u8>,
    /// Bits of the last byte that are used; 0: all.
    used: u32,
}

impl BitWriter {
    /// Creates a writer with room for about `bytes` bytes.
    pub fn with_capacity(bytes: usize) -> BitWriter {
        BitWriter { bytes: Vec::with_capacity(bytes), used: 0 }
    }
    /// Appends the lowest `width` bits of `value`, 32 at most.
    pub fn put(&mut self, value: u32, mut width: u32) {
        while width > 0 {
            if self.used == 0 {
                self.bytes.push(0);
            }
            // At most as many bits as the last byte has room for.
            let free = 8 - self.used;
            let now = width.min(free);
            width -= now;
            let bits = (value >> width) as u8 & (0xff >> (8 - now));
            if let Some(last) = self.bytes.last_mut() {
                *last |= bits << (free - now);
            }
            self.used = (self.used + now) % 8;
        }
    }
    /// Appends whole bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        if self.used == 0 {
            self.bytes.extend_from_slice(bytes);
        } else {
            bytes.iter().for_each(|b| self.put(u32::from(*b), 8));
        }
    }
    /// Appends a single bit.
    pub fn flag(&mut self, bit: bool) {
        self.put(u32::from(bit), 1);
    }
    /// Returns the bytes; an incomplete one is padded with zeros.
    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }
    /// Returns the bytes, padded with zeros to at least `size` of them.
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
    /// Reads the next `width` bits; None beyond the end.
    pub fn take(&mut self, width: u32) -> Option<u32> {
        if self.at + width as usize > self.bytes.len() * 8 {
            return None;
        }
        let (mut value, mut left) = (0, width);
        while left > 0 {
            let free = 8 - (self.at % 8) as u32;
            let now = left.min(free);
            let bits = self.bytes[self.at / 8] >> (free - now) & (0xff >> (8 - now));
            value = value << now | u32::from(bits);
            self.at += now as usize;
            left -= now;
        }
        Some(value)
    }
    /// Reads the next bit.
    pub fn flag(&mut self) -> Option<bool> {
        self.take(1).map(|b| b == 1)
    }
    /// Skips `bytes` whole bytes.
    pub const fn skip(&mut self, bytes: usize) {
        self.at += bytes * 8;
    }
    /// Position of the next whole byte.
    pub const fn byte_position(&self) -> usize {
        self.at.div_ceil(8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with one bit after the other, as in the figures of the clauses.
    #[test]
    fn fields_of_all_widths_lie_behind_each_other_as_their_bits_do() {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 32) as u32
        };
        for _ in 0..2_000 {
            let fields: Vec<(u32, u32)> = (0..next() % 12).map(|_| (next(), next() % 33)).collect();
            let mut writer = BitWriter::default();
            let mut bits: Vec<bool> = Vec::new();
            for (value, width) in &fields {
                writer.put(*value, *width);
                bits.extend((0..*width).rev().map(|i| value >> i & 1 == 1));
            }
            let whole = [next() as u8, next() as u8];
            writer.bytes(&whole);
            bits.extend(whole.iter().flat_map(|b| (0..8).rev().map(move |i| b >> i & 1 == 1)));
            let expected: Vec<u8> = bits
                .chunks(8)
                .map(|c| c.iter().enumerate().map(|(i, bit)| u8::from(*bit) << (7 - i)).sum())
                .collect();
            let bytes = writer.finish();
            assert_eq!(bytes, expected, "{fields:?}");
            let mut reader = BitReader::new(&bytes);
            for (value, width) in fields {
                let mask = if width == 32 { u32::MAX } else { (1 << width) - 1 };
                assert_eq!(reader.take(width), Some(value & mask));
            }
            assert_eq!(reader.take(24), None, "at most two bytes and padding are left");
        }
    }
}
