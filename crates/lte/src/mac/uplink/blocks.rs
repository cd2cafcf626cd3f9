//! Sizes of allocations in the uplink. SC-FDMA spreads a transport block over its subcarriers by a
//! discrete Fourier transform, whose length shall have no prime factor above 5 (TS 36.211 v15.1.0
//! clause 5.3.3: M_RB = 2^a 3^b 5^c).

use std::sync::LazyLock;

use lasthop_engine::math::db;
use lasthop_radio::lte::{Mcs, McsTable, PRB_MAX, tbs_bits};

/// 10 log10 of the numbers of resource blocks (of 0: 0).
static DECIBELS: LazyLock<[f32; PRB_MAX + 1]> =
    LazyLock::new(|| std::array::from_fn(|n| db((n as f64).max(1.0)) as f32));

/// 10 log10 of `blocks`: by so much the power of a block is below that of the transmission [dB].
#[inline]
pub fn decibels(blocks: u32) -> f32 {
    DECIBELS[blocks as usize]
}

/// True for 2^a 3^b 5^c.
const fn is_transform_size(mut n: usize) -> bool {
    if n == 0 {
        return false;
    }
    while n.is_multiple_of(2) {
        n /= 2;
    }
    while n.is_multiple_of(3) {
        n /= 3;
    }
    while n.is_multiple_of(5) {
        n /= 5;
    }
    n == 1
}

/// By number of blocks: the largest transform size that does not exceed it.
const LARGEST: [u8; PRB_MAX + 1] = {
    let mut table = [0; PRB_MAX + 1];
    let mut n = 1;
    while n <= PRB_MAX {
        table[n] = if is_transform_size(n) { n as u8 } else { table[n - 1] };
        n += 1;
    }
    table
};

/// The largest allocation of at most `blocks` resource blocks; 0 for none.
#[inline]
pub const fn largest_allocation(blocks: u32) -> u32 {
    LARGEST[if blocks as usize > PRB_MAX { PRB_MAX } else { blocks as usize }] as u32
}

/// Size of the transport block of `mcs` on `blocks` [B].
pub fn tbs_bytes(mcs: u8, blocks: u32) -> u32 {
    let i_tbs = Mcs::new(mcs).i_tbs(McsTable::Uplink);
    i_tbs.and_then(|i| tbs_bits(blocks as usize, i)).map_or(0, |bits| bits / 8)
}

/// The smallest allocation, of `at_most` blocks, whose transport block with `i_tbs` has `bytes`,
/// and that size [B]; the largest allocation if even that is too small. None if there is no block,
/// if not one byte fits, or if there is one block only and I_TBS is 6, which one block cannot carry
/// ([`Mcs::decodable_on`](lasthop_radio::lte::Mcs::decodable_on)).
pub fn fewest_blocks(i_tbs: u8, bytes: u64, at_most: u32) -> Option<(u32, u32)> {
    let most = largest_allocation(at_most);
    let size = |n: u32| tbs_bits(n as usize, i_tbs).map_or(0, |bits| bits / 8);
    // The 328 bits of one block with I_TBS 6 cannot be decoded: the least allocation is two blocks.
    let first = if i_tbs == 6 { 2 } else { 1 };
    if most < first || size(most) == 0 {
        return None;
    }
    if u64::from(size(most)) <= bytes {
        return Some((most, size(most)));
    }
    if u64::from(size(first)) >= bytes {
        return Some((first, size(first)));
    }
    let (mut low, mut high) = (first, most);
    while high - low > 1 {
        let mid = (low + high) / 2;
        if u64::from(size(mid)) < bytes { low = mid } else { high = mid }
    }
    // No transform has this length: the next larger one is used.
    let mut n = high;
    while largest_allocation(n) != n {
        n += 1;
    }
    Some((n, size(n)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 1-6 8 9 10 12 15 16 18 20 24 25 27 30 32 36 40 45 48 50 54 60 64 72 75 80 81 90 96
    /// 100 108.
    #[test]
    fn allocations_have_no_prime_factor_above_five() {
        let by_hand = [
            1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 15, 16, 18, 20, 24, 25, 27, 30, 32, 36, 40, 45, 48, 50, 54, 60,
            64, 72, 75, 80, 81, 90, 96, 100, 108,
        ];
        let sizes: Vec<u32> = (1..=110).filter(|n| largest_allocation(*n) == *n).collect();
        assert_eq!(sizes, by_hand);
        assert_eq!((largest_allocation(0), largest_allocation(7), largest_allocation(110)), (0, 6, 108));
    }

    /// TS 36.213 table 7.1.7.2.1-1 with I_TBS 13: 3 PRB 744, 4 1000, 8 2024 bits.
    #[test]
    fn an_allocation_is_as_small_as_the_bytes_allow() {
        assert_eq!(fewest_blocks(13, 93, 25), Some((3, 93)));
        assert_eq!(fewest_blocks(13, 94, 25), Some((4, 125)));
        assert_eq!(fewest_blocks(13, 0, 25), Some((1, 28)));
        // 2024 bits are 253 B on 8 blocks; 7 blocks would suffice for 200 B, and are no transform
        // size.
        assert_eq!(fewest_blocks(13, 200, 25), Some((8, 253)));
        assert_eq!(fewest_blocks(13, 100_000, 26), Some((25, 807)));
        assert_eq!(fewest_blocks(13, 10, 0), None);
        // 176 bits are on two blocks; the 328 on one are more than its coded bits.
        assert_eq!((fewest_blocks(6, 20, 25), fewest_blocks(6, 20, 1)), (Some((2, 22)), None));
        for bytes in 1..2000 {
            for i_tbs in 0..=26 {
                let (n, size) = fewest_blocks(i_tbs, bytes, 50).unwrap();
                let enough = |m: &u32| u64::from(tbs_bits(*m as usize, i_tbs).unwrap() / 8) >= bytes;
                let fewest = if i_tbs == 6 { 2 } else { 1 };
                let brute = (fewest..=50).filter(|m| largest_allocation(*m) == *m).find(enough).unwrap_or(50);
                assert_eq!(
                    (n, size),
                    (brute, tbs_bits(brute as usize, i_tbs).unwrap() / 8),
                    "{i_tbs} {bytes}"
                );
            }
        }
    }
}
