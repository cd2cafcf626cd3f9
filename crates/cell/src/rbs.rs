//! Sets of resource blocks.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

/// Blocks in a word.
const BITS: u32 = u128::BITS;

/// A set of resource blocks of one carrier, at most 128 `WORDS`: one word holds the 110 blocks of
/// LTE (TS 36.101 clause 5.6), three hold the 275 of NR (TS 38.214 table 5.1.2.2.1-1).
///
/// For a set of one word each method is a few instructions on a 128-bit number.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct RbSet<const WORDS: usize>([u128; WORDS]);

impl<const WORDS: usize> Default for RbSet<WORDS> {
    #[inline]
    fn default() -> Self {
        Self::EMPTY
    }
}

/// The blocks of word `i` that are below `end`.
const fn below(end: u32, i: usize) -> u128 {
    let end = end.saturating_sub(i as u32 * BITS);
    if end >= BITS { u128::MAX } else { (1 << end) - 1 }
}

/// The ones of every four bits.
const fn of_fours(half: u64) -> u64 {
    let pairs = half - (half >> 1 & 0x5555_5555_5555_5555);
    (pairs & 0x3333_3333_3333_3333) + (pairs >> 2 & 0x3333_3333_3333_3333)
}

/// Number of ones. For processors without an instruction for it both halves of the word are added
/// as soon as their sums fit.
const fn ones(word: u128) -> u32 {
    if cfg!(not(target_arch = "x86_64")) || cfg!(target_feature = "popcnt") {
        return word.count_ones();
    }
    let fours = of_fours(word as u64) + of_fours((word >> 64) as u64);
    let bytes = (fours & 0x0f0f_0f0f_0f0f_0f0f) + (fours >> 4 & 0x0f0f_0f0f_0f0f_0f0f);
    (bytes.wrapping_mul(0x0101_0101_0101_0101) >> 56) as u32
}

impl<const WORDS: usize> RbSet<WORDS> {
    /// The empty set.
    pub const EMPTY: Self = RbSet([0; WORDS]);

    /// The `count` blocks from `first` on, which must be within the capacity of the set.
    #[inline]
    pub const fn range(first: u32, count: u32) -> Self {
        let mut words = [0; WORDS];
        if WORDS == 1 {
            if count > 0 {
                words[0] = (u128::MAX >> (BITS - count)) << first;
            }
            return RbSet(words);
        }
        let mut i = 0;
        while i < WORDS {
            words[i] = below(first + count, i) & !below(first, i);
            i += 1;
        }
        RbSet(words)
    }
    /// Number of blocks.
    #[inline]
    pub const fn len(self) -> u32 {
        let (mut len, mut i) = (0, 0);
        while i < WORDS {
            len += ones(self.0[i]);
            i += 1;
        }
        len
    }
    /// True if the set is empty.
    #[inline]
    pub const fn is_empty(self) -> bool {
        let (mut any, mut i) = (0, 0);
        while i < WORDS {
            any |= self.0[i];
            i += 1;
        }
        any == 0
    }
    /// True if the set contains `rb`.
    #[inline]
    pub const fn contains(self, rb: u32) -> bool {
        self.0[Self::word_of(rb)] >> (rb % BITS) & 1 == 1
    }
    /// The number of blocks, if they are those from the first of the carrier on.
    #[inline]
    pub fn from_start(self) -> Option<u32> {
        let (mut len, mut i) = (0, 0);
        while i < WORDS && self.0[i] == u128::MAX {
            len += BITS;
            i += 1;
        }
        if i < WORDS {
            let rest = self.0[i];
            if rest & (rest + 1) != 0 || self.0[i + 1..].iter().any(|word| *word != 0) {
                return None;
            }
            len += rest.trailing_ones();
        }
        Some(len)
    }
    /// The blocks that are in both sets.
    #[inline]
    pub const fn and(mut self, o: Self) -> Self {
        let mut i = 0;
        while i < WORDS {
            self.0[i] &= o.0[i];
            i += 1;
        }
        self
    }
    /// The blocks that are not in `o`.
    #[inline]
    pub const fn without(mut self, o: Self) -> Self {
        let mut i = 0;
        while i < WORDS {
            self.0[i] &= !o.0[i];
            i += 1;
        }
        self
    }
    /// The lowest block.
    #[inline]
    pub const fn first(self) -> Option<u32> {
        let mut i = 0;
        while i < WORDS {
            if self.0[i] != 0 {
                return Some(i as u32 * BITS + self.0[i].trailing_zeros());
            }
            i += 1;
        }
        None
    }
    /// A number whose bit `i` is set if one of the blocks from 8 i to 8 i + 7 is in the set. For
    /// sets of at most 512 blocks.
    #[inline]
    pub const fn eights(self) -> u64 {
        const { assert!(WORDS <= 4, "a bit for every eight blocks") };
        // The lowest bit of each byte is set if any bit of the byte is. The product gathers those
        // of eight bytes in the highest one.
        const LOWEST: u64 = 0x0101_0101_0101_0101;
        const GATHER: u64 = 0x0102_0408_1020_4080;
        let (mut eights, mut i) = (0, 0);
        while i < WORDS {
            let any = self.0[i] | self.0[i] >> 4;
            let any = any | any >> 2;
            let any = any | any >> 1;
            let low = (any as u64 & LOWEST).wrapping_mul(GATHER) >> 56;
            let high = ((any >> 64) as u64 & LOWEST).wrapping_mul(GATHER) >> 56;
            eights |= (low | high << 8) << (16 * i);
            i += 1;
        }
        eights
    }
    /// The blocks in ascending order.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = u32> {
        let mut rest = self;
        std::iter::from_fn(move || {
            let rb = rest.first()?;
            let word = &mut rest.0[Self::word_of(rb)];
            *word &= *word - 1;
            Some(rb)
        })
    }
    /// Removes the lowest run of neighbouring blocks from the set; returns its first block and its
    /// length.
    #[inline(always)]
    pub fn take_run(&mut self) -> Option<(usize, usize)> {
        let first = self.first()?;
        let mut i = Self::word_of(first);
        let rest = self.0[i];
        // Adding 1 at the lowest member carries through its run, and into the next word if the run
        // reaches the end of this one, whose sum is 0 then.
        let (sum, mut carry) = rest.overflowing_add(rest & rest.wrapping_neg());
        let mut len = sum.trailing_zeros() - first % BITS;
        self.0[i] = rest & sum;
        while carry && i + 1 < WORDS {
            i += 1;
            let rest = self.0[i];
            len += rest.trailing_ones();
            let sum;
            (sum, carry) = rest.overflowing_add(1);
            self.0[i] = rest & sum;
        }
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
    #[inline]
    pub fn run(self, count: u32) -> Option<Self> {
        // `starts` are the first blocks of runs of `length`, which doubles.
        let (mut starts, mut length) = (self, 1);
        while length < count {
            let step = length.min(count - length);
            starts = starts.and(starts.lowered(step));
            length += step;
        }
        Some(RbSet::range(starts.first()?, count))
    }
    /// The longest run of blocks within the set, the lowest among equals.
    #[inline]
    pub fn longest_run(self) -> Self {
        let (first, len) = self.longest();
        RbSet::range(first, len)
    }
    /// First block and length of that run; length 0 for the empty set.
    #[inline]
    pub fn longest(mut self) -> (u32, u32) {
        let mut best = (0, 0);
        while let Some((first, len)) = self.take_run() {
            if len > best.1 {
                best = (first, len);
            }
        }
        (best.0 as u32, best.1 as u32)
    }

    /// The word that contains `rb`.
    #[inline]
    const fn word_of(rb: u32) -> usize {
        (rb / BITS) as usize % WORDS
    }

    /// The set with each block lowered by `n`; blocks below `n` are removed.
    #[inline]
    const fn lowered(self, n: u32) -> Self {
        let mut lower = [0; WORDS];
        let (words, bits) = if WORDS == 1 { (0, n) } else { ((n / BITS) as usize, n % BITS) };
        let mut i = 0;
        while i + words < WORDS {
            lower[i] = self.0[i + words] >> bits;
            if bits > 0 && i + words + 1 < WORDS {
                lower[i] |= self.0[i + words + 1] << (BITS - bits);
            }
            i += 1;
        }
        RbSet(lower)
    }
}

impl<const WORDS: usize> BitOr for RbSet<WORDS> {
    type Output = Self;
    #[inline]
    fn bitor(mut self, o: Self) -> Self {
        self |= o;
        self
    }
}
impl<const WORDS: usize> BitOrAssign for RbSet<WORDS> {
    #[inline]
    fn bitor_assign(&mut self, o: Self) {
        self.0.iter_mut().zip(o.0).for_each(|(word, o)| *word |= o);
    }
}

impl<const WORDS: usize> fmt::Debug for RbSet<WORDS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// The set of an LTE carrier.
    type One = RbSet<1>;
    /// The set of an NR carrier: 273 blocks of 100 MHz at 30 kHz (TS 38.101-1 table 5.3.2-1), 275
    /// at most.
    type Three = RbSet<3>;

    fn eights_are_those_of_the_blocks<const WORDS: usize>(blocks: u32) {
        for first in 0..blocks {
            for count in 0..=blocks - first {
                let set = RbSet::<WORDS>::range(first, count) | RbSet::range(77, 1);
                let expected = set.iter().fold(0, |mask, rb| mask | 1 << (rb / 8));
                assert_eq!(set.eights(), expected, "{first} {count}");
            }
        }
        assert_eq!(RbSet::<WORDS>::EMPTY.eights(), 0);
    }

    #[test]
    fn eights_of_blocks() {
        eights_are_those_of_the_blocks::<1>(110);
        eights_are_those_of_the_blocks::<3>(275);
    }

    /// Compares the methods of the set that holds the ranges `from` of `blocks` blocks with the
    /// definition of each.
    fn agrees_with_a_plain_set<const WORDS: usize>(blocks: u32, from: &[(u32, u32)], other: (u32, u32)) {
        let range = |(first, count): (u32, u32)| {
            let first = first % blocks;
            (first, count % (blocks - first + 1))
        };
        let (mut set, mut plain) = (RbSet::<WORDS>::EMPTY, BTreeSet::new());
        for (first, count) in from.iter().copied().map(range) {
            set |= RbSet::range(first, count);
            plain.extend(first..first + count);
        }
        assert_eq!(set.iter().collect::<BTreeSet<_>>(), plain);
        assert_eq!((set.len(), set.is_empty()), (plain.len() as u32, plain.is_empty()));
        assert_eq!(set.first(), plain.first().copied());
        let from_start = plain.iter().copied().eq(0..plain.len() as u32);
        assert_eq!(set.from_start(), from_start.then_some(plain.len() as u32));
        assert_eq!(RbSet::<WORDS>::range(0, blocks).from_start(), Some(blocks));
        assert!((0..blocks).all(|rb| set.contains(rb) == plain.contains(&rb)));
        let (first, count) = range(other);
        let part = RbSet::range(first, count);
        let within = |rb: &u32| (first..first + count).contains(rb);
        assert!(set.and(part).iter().eq(plain.iter().copied().filter(within)));
        assert!(set.without(part).iter().eq(plain.iter().copied().filter(|rb| !within(rb))));
        // A run begins at each block whose lower neighbour is missing.
        let begins = |rb: &&u32| **rb == 0 || !plain.contains(&(**rb - 1));
        let length = |rb: u32| (rb..).take_while(|at| plain.contains(at)).count();
        let expected: Vec<_> = plain.iter().filter(begins).map(|rb| (*rb as usize, length(*rb))).collect();
        let mut runs = Vec::new();
        set.runs(|first, len| runs.push((first, len)));
        assert_eq!(runs, expected);
        let longest = expected.iter().rev().max_by_key(|(_, len)| *len).copied().unwrap_or((0, 0));
        assert_eq!(set.longest_run(), RbSet::range(longest.0 as u32, longest.1 as u32));
        for wanted in 1..=blocks {
            let first = expected.iter().find(|(_, len)| *len >= wanted as usize);
            assert_eq!(set.run(wanted), first.map(|(at, _)| RbSet::range(*at as u32, wanted)), "{wanted}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn sets_of_one_and_of_three_words_agree_with_a_plain_set(
            from in proptest::collection::vec((0u32..275, 0u32..276), 0..6), other: (u32, u32),
        ) {
            agrees_with_a_plain_set::<1>(110, &from, other);
            agrees_with_a_plain_set::<3>(275, &from, other);
        }
    }

    /// Words meet below the blocks 128 and 256.
    #[test]
    fn a_run_goes_on_where_words_meet() {
        let set = Three::range(100, 173) | Three::range(0, 3);
        let mut runs = Vec::new();
        set.runs(|first, len| runs.push((first, len)));
        assert_eq!(runs, [(0, 3), (100, 173)]);
        assert_eq!((set.run(173), set.run(174)), (Some(Three::range(100, 173)), None));
        assert_eq!(Three::range(0, 273).without(Three::range(128, 128)).longest_run(), Three::range(0, 128));
        assert_eq!(Three::range(0, 273).len(), 273);
    }

    /// By the definition, each of `count` neighbours is in the set.
    #[test]
    fn a_run_is_the_first_of_its_length() {
        let free = RbSet([0x3_f00f_7ffe_0c3f_fff7_0001]);
        for count in 1..=110 {
            let all = |first: &u32| (0..count).all(|i| free.contains(first + i));
            let first = (0..=110 - count).find(all);
            assert_eq!(free.run(count), first.map(|f| RbSet::range(f, count)), "{count}");
        }
    }

    #[test]
    fn runs_are_found_lowest_first() {
        let free = One::range(0, 100).without(RbSet::range(10, 5));
        assert_eq!((free.len(), free.run(10).map(|r| r.first())), (95, Some(Some(0))));
        assert_eq!(free.run(11), Some(RbSet::range(15, 11)));
        assert_eq!(free.run(86), None);
        assert_eq!(free.longest_run(), RbSet::range(15, 85));
        let mut runs = Vec::new();
        free.runs(|first, len| runs.push((first, len)));
        assert_eq!(runs, [(0, 10), (15, 85)]);
        assert_eq!(One::range(109, 1).iter().collect::<Vec<_>>(), [109]);
        assert_eq!(One::range(3, 0), RbSet::EMPTY);
        assert_eq!(One::EMPTY.longest_run(), RbSet::EMPTY);
    }
}
