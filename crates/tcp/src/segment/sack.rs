//! The SACK option (RFC 2018).

use std::fmt;

use lasthop_units::{Seq, SeqRange};

/// Up to four SACK blocks (RFC 2018 section 3), in a fixed array.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct SackBlocks {
    blocks: [Block; 4],
    len: u8,
}

/// A block's edges.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
struct Block {
    start: u32,
    end: u32,
}

impl SackBlocks {
    /// No block.
    pub const NONE: SackBlocks = SackBlocks { blocks: [Block { start: 0, end: 0 }; 4], len: 0 };

    /// Appends a block; a fifth one is refused with `false`.
    pub fn push(&mut self, block: SeqRange) -> bool {
        let Some(slot) = self.blocks.get_mut(usize::from(self.len)) else { return false };
        *slot = Block { start: block.start.0, end: block.end.0 };
        self.len += 1;
        true
    }
    /// The blocks, first on the wire first.
    #[inline]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = SeqRange> + Clone {
        let range = |b: &Block| SeqRange { start: Seq(b.start), end: Seq(b.end) };
        self.blocks[..usize::from(self.len)].iter().map(range)
    }
    /// True without blocks.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// Number of blocks, 0 to 4.
    pub const fn len(&self) -> usize {
        self.len as usize
    }
    /// Keeps the first `n` blocks.
    pub fn truncate(&mut self, n: usize) {
        while self.len() > n {
            self.len -= 1;
            // Unused slots are zero, so that equal lists are equal bit by bit.
            self.blocks[usize::from(self.len)] = Block::default();
        }
    }
}

impl fmt::Debug for SackBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(|b| (b.start.0, b.end.0))).finish()
    }
}
