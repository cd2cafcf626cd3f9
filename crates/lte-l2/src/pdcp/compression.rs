//! Header compression and decompression, modelled by their effect on sizes and losses (TS 36.323
//! clause 5.5).

use super::config::{Compression, CompressionKind};
use super::pdu::Kind;

/// The compressor, at the transmitting end.
#[derive(Clone, Debug)]
pub(super) struct Compressor {
    config: Compression,
    /// Packets until the next whole header.
    until_whole: u32,
}

impl Compressor {
    pub const fn new(config: Compression) -> Compressor {
        Compressor { config, until_whole: 0 }
    }

    /// Returns the size of a packet of `size` bytes after compression and whether its header is
    /// whole.
    #[inline]
    pub fn compress(&mut self, size: u32) -> (u32, Kind) {
        let header = self.config.header.0 as u32;
        if self.config.kind == CompressionKind::None || size < header {
            return (size, Kind::Whole);
        }
        if self.config.kind == CompressionKind::Context && self.until_whole == 0 {
            self.until_whole = if self.config.refresh == 0 { u32::MAX } else { self.config.refresh - 1 };
            return (size, Kind::Whole);
        }
        self.until_whole = self.until_whole.saturating_sub(u32::from(self.until_whole < u32::MAX));
        let compressed = (f64::from(header) * self.config.ratio).round() as u32;
        (size - header + compressed, Kind::Compressed)
    }

    /// Resets the context: the next header is whole.
    pub const fn reset(&mut self) {
        self.until_whole = 0;
    }
}

/// The decompressor, at the receiving end.
#[derive(Clone, Debug)]
pub(super) struct Decompressor {
    config: Compression,
    /// COUNT of the last packet that updated the context; None: no context.
    context: Option<u32>,
}

impl Decompressor {
    pub const fn new(config: Compression) -> Decompressor {
        Decompressor { config, context: None }
    }

    /// True if it keeps a context; otherwise it restores every packet.
    #[inline]
    pub fn has_context(&self) -> bool {
        self.config.kind == CompressionKind::Context
    }

    /// True if the packet `count` can be restored.
    #[inline]
    pub fn decompress(&mut self, count: u32, kind: Kind) -> bool {
        if !self.has_context() {
            return true;
        }
        if kind == Kind::Whole {
            self.context = Some(count);
            return true;
        }
        let lost = self.context.map(|last| count.saturating_sub(last).saturating_sub(1));
        self.context = match (lost, self.context) {
            (Some(lost), Some(last)) if lost <= self.config.robustness => Some(count.max(last)),
            _ => None,
        };
        self.context.is_some()
    }

    /// Discards the context.
    pub const fn reset(&mut self) {
        self.context = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_survives_short_gaps_and_needs_a_whole_header_after_long_ones() {
        let config = Compression { kind: CompressionKind::Context, refresh: 10, ..Compression::default() };
        let (mut tx, mut rx) = (Compressor::new(config), Decompressor::new(config));
        let sent: Vec<(u32, Kind)> = (0..21).map(|_| tx.compress(1500)).collect();
        // 40 B x 0.15 = 6 B.
        assert_eq!(sent[..3], [(1500, Kind::Whole), (1466, Kind::Compressed), (1466, Kind::Compressed)]);
        let whole: Vec<usize> = (0..21).filter(|&i| sent[i].1 == Kind::Whole).collect();
        assert_eq!(whole, [0, 10, 20]);
        let lost = [2, 3, 4, 12, 13, 14, 15];
        let restored: Vec<u32> = (0..21u32)
            .filter(|i| !lost.contains(i))
            .filter(|&i| rx.decompress(i, sent[i as usize].1))
            .collect();
        assert_eq!(restored, [0, 1, 5, 6, 7, 8, 9, 10, 11, 20], "three losses keep the context, four do not");
    }
}
