//! A set of sequence numbers within one window: one bit per SN of the 12-bit modulus.

const MODULUS: u64 = 4096;
const WORDS: usize = 64;

/// Bits addressed by unwrapped sequence numbers (counts). Valid for intervals shorter than the
/// modulus.
#[derive(Clone, Debug)]
pub(crate) struct SnSet {
    words: Box<[u64; WORDS]>,
}

impl Default for SnSet {
    fn default() -> Self {
        SnSet { words: Box::new([0; WORDS]) }
    }
}

impl SnSet {
    #[inline]
    const fn place(count: u64) -> (usize, u64) {
        ((count as usize >> 6) & (WORDS - 1), 1 << (count & 63))
    }
    #[inline]
    pub fn contains(&self, count: u64) -> bool {
        let (w, bit) = Self::place(count);
        self.words[w] & bit != 0
    }
    /// True when `count` was not in the set before.
    #[inline]
    pub fn insert(&mut self, count: u64) -> bool {
        let (w, bit) = Self::place(count);
        let new = self.words[w] & bit == 0;
        self.words[w] |= bit;
        new
    }
    /// True when `count` was in the set.
    #[inline]
    pub fn remove(&mut self, count: u64) -> bool {
        let (w, bit) = Self::place(count);
        let was = self.words[w] & bit != 0;
        self.words[w] &= !bit;
        was
    }
    pub fn clear(&mut self) {
        self.words.fill(0);
    }
    /// The first member in `[from, to)`.
    pub fn next_in(&self, from: u64, to: u64) -> Option<u64> {
        self.scan(from, to, 0)
    }
    /// The first number in `[from, to)` that is not a member.
    pub fn next_missing(&self, from: u64, to: u64) -> Option<u64> {
        self.scan(from, to, u64::MAX)
    }
    /// The last number in `[from, to)` that is not a member.
    pub fn last_missing(&self, from: u64, to: u64) -> Option<u64> {
        (from..to).rev().find(|c| !self.contains(*c))
    }

    #[inline]
    fn scan(&self, from: u64, to: u64, flip: u64) -> Option<u64> {
        debug_assert!(to <= from + MODULUS, "an interval longer than the modulus");
        let mut c = from;
        while c < to {
            let (w, _) = Self::place(c);
            let word = (self.words[w] ^ flip) >> (c & 63);
            if word != 0 {
                let hit = c + u64::from(word.trailing_zeros());
                return (hit < to).then_some(hit);
            }
            c = (c | 63) + 1;
        }
        None
    }

    /// Inserts every number of `[from, to)` that is not in `except`.
    pub fn insert_range_except(&mut self, from: u64, to: u64, except: &SnSet) {
        for (w, mask) in masks(from, to) {
            self.words[w] |= mask & !except.words[w];
        }
    }

    /// Removes every number of `[from, to)`. Returns how many of them were members.
    pub fn remove_range(&mut self, from: u64, to: u64) -> u32 {
        let mut removed = 0;
        for (w, mask) in masks(from, to) {
            removed += (self.words[w] & mask).count_ones();
            self.words[w] &= !mask;
        }
        removed
    }
}

/// The words that have numbers of `[from, to)`, with the bits of these numbers.
#[inline]
fn masks(from: u64, to: u64) -> impl Iterator<Item = (usize, u64)> {
    let mut c = from;
    std::iter::from_fn(move || {
        let (w, _) = SnSet::place(c);
        let end = ((c | 63) + 1).min(to);
        let high = if end & 63 == 0 { u64::MAX } else { (1 << (end & 63)) - 1 };
        let mask = high & (u64::MAX << (c & 63));
        let left = c < to;
        c = end;
        left.then_some((w, mask))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Compares with the definition: a set of integers.
        #[test]
        fn scans_agree_with_a_plain_set(
            base in 0u64..10_000,
            members in proptest::collection::btree_set(0u64..4095, 0..200),
            except in proptest::collection::btree_set(0u64..4095, 0..50),
            from in 0u64..4000, len in 0u64..4095,
        ) {
            let to = (from + len).min(4095);
            let mut s = SnSet::default();
            let mut e = SnSet::default();
            for m in &members { prop_assert!(s.insert(base + m)); }
            for x in &except { e.insert(base + x); }
            prop_assert_eq!(s.next_in(base + from, base + to), members.range(from..to.max(from)).next().map(|m| base + m));
            let missing = (from..to).find(|c| !members.contains(c)).map(|c| base + c);
            prop_assert_eq!(s.next_missing(base + from, base + to), missing);
            s.insert_range_except(base + from, base + to, &e);
            let all: BTreeSet<u64> = members.iter().copied().chain((from..to).filter(|c| !except.contains(c))).collect();
            for c in 0..4095 { prop_assert_eq!(s.contains(base + c), all.contains(&c)); }
            let gone = all.range(from..to.max(from)).count() as u32;
            prop_assert_eq!(s.remove_range(base + from, base + to), gone);
            for c in 0..4095 {
                let stays = all.contains(&c) && !(from..to).contains(&c);
                prop_assert_eq!(s.contains(base + c), stays);
            }
        }
    }
}
