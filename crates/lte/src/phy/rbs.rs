//! Sets of resource blocks.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

/// A set of resource blocks of one carrier, at most 110 (TS 36.101 clause 5.6: 20 MHz has 100).
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct RbSet(u128);

impl RbSet {
    /// No block.
    pub const EMPTY: RbSet = RbSet(0);

    /// The `count` blocks from `first` on.
    pub const fn range(first: u32, count: u32) -> RbSet {
        if count == 0 {
            return RbSet::EMPTY;
        }
        RbSet((u128::MAX >> (128 - count)) << first)
    }
    /// How many.
    pub const fn len(self) -> u32 {
        self.0.count_ones()
    }
    /// True for no block at all.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
    /// True if `rb` is in it.
    pub const fn contains(self, rb: u32) -> bool {
        self.0 >> rb & 1 == 1
    }
    /// What both hold.
    pub const fn and(self, o: RbSet) -> RbSet {
        RbSet(self.0 & o.0)
    }
    /// What `o` does not hold.
    pub const fn without(self, o: RbSet) -> RbSet {
        RbSet(self.0 & !o.0)
    }
    /// The lowest block.
    pub const fn first(self) -> Option<u32> {
        if self.0 == 0 { None } else { Some(self.0.trailing_zeros()) }
    }
    /// Bit `i`: one of the blocks from 8 i to 8 i + 7 is in it.
    pub const fn eights(self) -> u32 {
        // The lowest bit of each byte: of any in it. The product gathers those of eight bytes in
        // the highest one.
        const LOWEST: u64 = 0x0101_0101_0101_0101;
        const GATHER: u64 = 0x0102_0408_1020_4080;
        let any = self.0 | self.0 >> 4;
        let any = any | any >> 2;
        let any = any | any >> 1;
        let low = (any as u64 & LOWEST).wrapping_mul(GATHER) >> 56;
        let high = ((any >> 64) as u64 & LOWEST).wrapping_mul(GATHER) >> 56;
        (low | high << 8) as u32
    }
    /// The blocks in ascending order.
    pub fn iter(self) -> impl Iterator<Item = u32> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            if rest == 0 {
                return None;
            }
            let rb = rest.trailing_zeros();
            rest &= rest - 1;
            Some(rb)
        })
    }
    /// Takes the lowest run of neighbouring blocks out of the set: its first block and its length.
    #[inline(always)]
    pub fn take_run(&mut self) -> Option<(usize, usize)> {
        let rest = self.0;
        if rest == 0 {
            return None;
        }
        let first = rest.trailing_zeros();
        let len = (rest >> first).trailing_ones();
        // One more than the lowest member carries through its run.
        self.0 = rest & rest.wrapping_add(rest & rest.wrapping_neg());
        Some((first as usize, len as usize))
    }
    /// Calls `each` with the first block and the length of every run of neighbouring blocks,
    /// ascending.
    #[inline]
    pub fn runs(mut self, mut each: impl FnMut(usize, usize)) {
        while let Some((first, len)) = self.take_run() {
            each(first, len);
        }
    }
    /// The first run of `count` blocks within the set, if there is one.
    pub fn run(self, count: u32) -> Option<RbSet> {
        // Where `length` blocks begin, `length` doubling.
        let (mut starts, mut length) = (self.0, 1);
        while length < count {
            let step = length.min(count - length);
            starts &= starts >> step;
            length += step;
        }
        let first = RbSet(starts).first()?;
        Some(RbSet::range(first, count))
    }
    /// The longest run of blocks within the set, the lowest among equals.
    pub fn longest_run(self) -> RbSet {
        let (mut best, mut rest) = (RbSet::EMPTY, self.0);
        while rest != 0 {
            let first = rest.trailing_zeros();
            let count = (rest >> first).trailing_ones();
            if count > best.len() {
                best = RbSet::range(first, count);
            }
            rest &= !RbSet::range(first, count).0;
        }
        best
    }
}

impl BitOr for RbSet {
    type Output = RbSet;
    fn bitor(self, o: RbSet) -> RbSet {
        RbSet(self.0 | o.0)
    }
}
impl BitOrAssign for RbSet {
    fn bitor_assign(&mut self, o: RbSet) {
        self.0 |= o.0;
    }
}

impl fmt::Debug for RbSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eights_of_blocks() {
        for first in 0..110 {
            for count in 0..=110 - first {
                let set = RbSet::range(first, count) | RbSet::range(77, 1);
                let expected = set.iter().fold(0, |mask, rb| mask | 1 << (rb / 8));
                assert_eq!(set.eights(), expected, "{first} {count}");
            }
        }
        assert_eq!(RbSet::EMPTY.eights(), 0);
    }

    /// By the definition: every one of `count` neighbours is in the set.
    #[test]
    fn a_run_is_the_first_of_its_length() {
        let free = RbSet(0x3_f00f_7ffe_0c3f_fff7_0001);
        for count in 1..=110 {
            let all = |first: &u32| (0..count).all(|i| free.contains(first + i));
            let first = (0..=110 - count).find(all);
            assert_eq!(free.run(count), first.map(|f| RbSet::range(f, count)), "{count}");
        }
    }

    #[test]
    fn runs_are_found_lowest_first() {
        let free = RbSet::range(0, 100).without(RbSet::range(10, 5));
        assert_eq!((free.len(), free.run(10).map(|r| r.first())), (95, Some(Some(0))));
        assert_eq!(free.run(11), Some(RbSet::range(15, 11)));
        assert_eq!(free.run(86), None);
        assert_eq!(free.longest_run(), RbSet::range(15, 85));
        let mut runs = Vec::new();
        free.runs(|first, len| runs.push((first, len)));
        assert_eq!(runs, [(0, 10), (15, 85)]);
        assert_eq!(RbSet::range(109, 1).iter().collect::<Vec<_>>(), [109]);
        assert_eq!(RbSet::range(3, 0), RbSet::EMPTY);
        assert_eq!(RbSet::EMPTY.longest_run(), RbSet::EMPTY);
    }
}
