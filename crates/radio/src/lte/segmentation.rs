//! Code-block segmentation: TS 36.212 clause 5.1.2.

/// Bits of a transport block's CRC (CRC24A) and of a code block's (CRC24B).
pub const CRC_BITS: u32 = 24;
/// Z: the largest code block the turbo coder takes.
pub const MAX_CODE_BLOCK: u32 = 6144;

/// The code blocks of one transport block: `large` blocks of `large_bits` (K+), `small` of
/// `small_bits` (K-).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CodeBlocks {
    /// C+, at least 1.
    pub large: u32,
    /// K+.
    pub large_bits: u32,
    /// C-, 0 when all have one size.
    pub small: u32,
    /// K-, 0 without small blocks.
    pub small_bits: u32,
    /// F: filler bits of the first block.
    pub filler: u32,
}

impl CodeBlocks {
    /// C, the number of code blocks.
    pub const fn count(&self) -> u32 {
        self.large + self.small
    }
    /// The bits to be decoded: data and CRCs.
    pub const fn information_bits(&self) -> u32 {
        self.bits() - self.filler
    }
    /// All bits that enter the turbo coder, with CRCs and filler.
    pub const fn bits(&self) -> u32 {
        self.large * self.large_bits + self.small * self.small_bits
    }
}

/// Segments a transport block of `tbs_bits`.
pub fn code_blocks(tbs_bits: u32) -> CodeBlocks {
    let b = tbs_bits + CRC_BITS;
    if b <= MAX_CODE_BLOCK {
        let k = turbo_size(b);
        return CodeBlocks { large: 1, large_bits: k, small: 0, small_bits: 0, filler: k - b };
    }
    let c = b.div_ceil(MAX_CODE_BLOCK - CRC_BITS);
    let with_crc = b + c * CRC_BITS;
    let k_plus = turbo_size(with_crc.div_ceil(c));
    let k_minus = turbo_size_below(k_plus);
    // C- = floor((C K+ - B') / Delta_K)
    let small = (c * k_plus - with_crc) / (k_plus - k_minus);
    let large = c - small;
    let filler = large * k_plus + small * k_minus - with_crc;
    CodeBlocks { large, large_bits: k_plus, small, small_bits: if small == 0 { 0 } else { k_minus }, filler }
}

/// The smallest K of TS 36.212 table 5.1.3-3 that is at least `bits` (40 at least, 6144 at most).
pub const fn turbo_size(bits: u32) -> u32 {
    let step = match bits {
        0..=40 => return 40,
        41..=512 => 8,
        513..=1024 => 16,
        1025..=2048 => 32,
        2049..=6144 => 64,
        _ => return MAX_CODE_BLOCK,
    };
    bits.div_ceil(step) * step
}

/// The largest K below `k` (40 < k <= 6144).
const fn turbo_size_below(k: u32) -> u32 {
    match k {
        0..=512 => k - 8,
        513..=1024 => k - 16,
        1025..=2048 => k - 32,
        _ => k - 64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lte::{PRB_MAX, tbs_bits};

    #[test]
    fn there_are_188_turbo_sizes() {
        let mut sizes: Vec<u32> = (1..=MAX_CODE_BLOCK).map(turbo_size).collect();
        sizes.dedup();
        assert_eq!((sizes.len(), sizes[0], sizes[187]), (188, 40, 6144));
        assert!(sizes.windows(2).all(|w| turbo_size_below(w[1]) == w[0]));
    }

    /// Worked out by hand from clause 5.1.2. TBS 7272: B = 7296, C = ceil(7296 / 6120) = 2, B' =
    /// 7344, B'/C = 3672, K+ = 3712, K- = 3648, C- = floor((7424 - 7344) / 64) = 1, F = 3712 +
    /// 3648 - 7344 = 16. ns-3 leaves the CRCs out and gets 3648 + 3584.
    #[test]
    fn blocks_are_cut_as_the_clause_says() {
        let cut = |tbs| {
            let b = code_blocks(tbs);
            (b.large, b.large_bits, b.small, b.small_bits, b.filler)
        };
        assert_eq!(cut(6120), (1, 6144, 0, 0, 0));
        assert_eq!(cut(6144), (2, 3136, 0, 0, 56));
        assert_eq!(cut(7272), (1, 3712, 1, 3648, 16));
        assert_eq!(cut(14688), (3, 4928, 0, 0, 0));
        assert_eq!(cut(36696), (6, 6144, 0, 0, 0));
        assert_eq!(cut(75376), (13, 5824, 0, 0, 0));
        assert_eq!(cut(16), (1, 40, 0, 0, 0));
    }

    /// The sizes of the table were chosen so that no filler is needed (TS 36.213 with TS 36.212):
    /// the code blocks contain every bit, no block exceeds Z, and only some of the smallest have
    /// filler.
    #[test]
    fn code_blocks_contain_every_size_of_the_table() {
        for prbs in 1..=PRB_MAX {
            for i in 0..=33 {
                let tbs = tbs_bits(prbs, i).unwrap();
                let b = code_blocks(tbs);
                let crc = CRC_BITS * (1 + if b.count() > 1 { b.count() } else { 0 });
                assert_eq!(b.bits(), tbs + crc + b.filler, "{tbs}");
                assert!(b.large > 0 && b.large_bits <= MAX_CODE_BLOCK && b.small_bits < b.large_bits);
            }
        }
    }
}
