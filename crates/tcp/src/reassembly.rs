//! The receiver's queue: octets that arrived out of order, and the SACK blocks that report them
//! (RFC 2018 section 4).

use std::collections::VecDeque;

use smallvec::SmallVec;

/// SACK blocks that a header has room for (RFC 2018 section 3).
const MOST: usize = 4;

/// Ranges of stream offsets received above RCV.NXT, disjoint and not touching, in ascending order;
/// each records when (by counting) it last grew.
#[derive(Clone, Debug, Default)]
pub struct Reassembly {
    held: VecDeque<Held>,
    /// Start and end of the most recent of them, the newest first: [`MOST`], or all if fewer. Kept
    /// up with each arrival, because in a long recovery hundreds are held and each ACK reads it.
    recent: SmallVec<[(u64, u64); MOST]>,
    arrivals: u64,
    bytes: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Held {
    start: u64,
    end: u64,
    /// The arrival that last extended or touched this range; larger is more recent.
    touched: u64,
}

impl Reassembly {
    /// True when nothing is out of order.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Octets held out of order.
    #[inline]
    pub fn bytes(&self) -> u64 {
        debug_assert_eq!(self.bytes, self.held.iter().map(|h| h.end - h.start).sum::<u64>());
        self.bytes
    }

    /// The lowest part of `[start, end)` that is held already.
    #[inline]
    pub fn overlap(&self, start: u64, end: u64) -> Option<(u64, u64)> {
        if self.held.is_empty() {
            return None;
        }
        let i = self.held.partition_point(|h| h.end <= start);
        let held = self.held.get(i).filter(|h| h.start < end)?;
        Some((held.start.max(start), held.end.min(end)))
    }

    /// Keeps `[start, end)`, which is above RCV.NXT. True when some of it was new.
    pub fn insert(&mut self, start: u64, end: u64) -> bool {
        debug_assert!(start < end);
        self.arrivals += 1;
        // First range that touches or follows; ranges that touch are merged.
        let first = match self.held.back() {
            Some(last) if last.end >= start => self.held.partition_point(|h| h.end < start),
            _ => self.held.len(),
        };
        let mut last = first;
        let mut merged = Held { start, end, touched: self.arrivals };
        let mut known = 0;
        while let Some(h) = self.held.get(last).filter(|h| h.start <= end) {
            known += h.end.min(end).saturating_sub(h.start.max(start));
            merged.start = merged.start.min(h.start);
            merged.end = merged.end.max(h.end);
            last += 1;
        }
        if first == last {
            self.held.insert(first, merged);
        } else {
            self.held[first] = merged;
            self.held.drain(first + 1..last);
        }
        self.recent.retain(|r| r.1 < merged.start || merged.end < r.0);
        self.recent.truncate(MOST - 1);
        self.recent.insert(0, (merged.start, merged.end));
        self.refill_recent();
        self.bytes += end - start - known;
        known < end - start
    }

    /// RCV.NXT has become `nxt`: removes the octets that are now in order, and returns RCV.NXT
    /// after them.
    #[inline]
    pub fn take_in_order(&mut self, nxt: u64) -> u64 {
        let mut nxt = nxt;
        while let Some(h) = self.held.front().filter(|h| h.start <= nxt) {
            nxt = nxt.max(h.end);
            let start = h.start;
            self.bytes -= h.end - start;
            self.held.pop_front();
            self.recent.retain(|r| r.0 != start);
            self.refill_recent();
        }
        nxt
    }

    /// Ranges of `recent` may be gone; those that are left are still the most recent ones.
    #[inline]
    fn refill_recent(&mut self) {
        if self.recent.len() < MOST.min(self.held.len()) {
            self.look_up_recent();
        }
    }

    #[cold]
    fn look_up_recent(&mut self) {
        // One look at each range, the highest first: few of the others are more recent than the
        // last of the blocks so far. 0: no block.
        let mut newest = [Held::default(); MOST];
        for h in self.held.iter().rev() {
            let mut i = MOST - 1;
            if h.touched <= newest[i].touched {
                continue;
            }
            while i > 0 && newest[i - 1].touched < h.touched {
                newest[i] = newest[i - 1];
                i -= 1;
            }
            newest[i] = *h;
        }
        self.recent = newest.iter().filter(|h| h.touched > 0).map(|h| (h.start, h.end)).collect();
    }

    /// Up to `n` blocks (at most four), the most recently received first (RFC 2018 section 4: "The
    /// first SACK block [...] MUST specify the contiguous block of data containing the segment
    /// which triggered this ACK" and the rest repeat the most recently reported).
    pub fn blocks(&self, n: usize) -> impl Iterator<Item = (u64, u64)> {
        self.recent.iter().take(n).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn blocks(r: &Reassembly) -> Vec<(u64, u64)> {
        r.blocks(4).collect()
    }

    /// What [`Reassembly::blocks`] is to give, by a sort of all that is held.
    fn most_recent(r: &Reassembly) -> Vec<(u64, u64)> {
        let mut held: Vec<Held> = r.held.iter().copied().collect();
        held.sort_by_key(|h| std::cmp::Reverse(h.touched));
        held.iter().take(4).map(|h| (h.start, h.end)).collect()
    }

    #[test]
    fn the_examples_of_rfc_2018_section_7_come_out() {
        // Case 2: segments of 500 from 5000; the first is lost, the other seven arrive.
        let mut r = Reassembly::default();
        for i in 1..8u64 {
            r.insert(5000 + 500 * i, 5500 + 500 * i);
            assert_eq!(blocks(&r), [(5500, 5500 + 500 * i)]);
        }
        // Case 3: the 2nd, 4th, 6th and 8th are lost; 5000 is in order, then 6000, 7000, 8000
        // arrive.
        let mut r = Reassembly::default();
        r.insert(6000, 6500);
        assert_eq!(blocks(&r), [(6000, 6500)]);
        r.insert(7000, 7500);
        assert_eq!(blocks(&r), [(7000, 7500), (6000, 6500)]);
        r.insert(8000, 8500);
        assert_eq!(blocks(&r), [(8000, 8500), (7000, 7500), (6000, 6500)]);
        // The 4th (6500) arrives: the third row of the example.
        r.insert(6500, 7000);
        assert_eq!(blocks(&r), [(6000, 7500), (8000, 8500)]);
        // The 2nd (5500) arrives: in order up to 7500.
        assert_eq!(r.take_in_order(6000), 7500);
        assert_eq!(blocks(&r), [(8000, 8500)]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn any_arrivals_are_held_as_a_plain_set_of_octets_would(
            pieces in proptest::collection::vec((1u64..200, 1u64..40), 1..40)
        ) {
            let mut r = Reassembly::default();
            let mut octets = [false; 300];
            for (start, len) in pieces {
                let slice = &mut octets[start as usize..(start + len) as usize];
                let new = slice.iter().any(|&o| !o);
                slice.fill(true);
                prop_assert_eq!(r.insert(start, start + len), new);
                prop_assert_eq!(r.bytes(), octets.iter().filter(|&&o| o).count() as u64);
                prop_assert!(r.held.iter().zip(r.held.iter().skip(1)).all(|(a, b)| a.end < b.start));
                prop_assert_eq!(blocks(&r), most_recent(&r));
            }
            octets[0] = true;
            let first_gap = octets.iter().position(|&o| !o).unwrap() as u64;
            // In order up to the middle first, then up to the first gap.
            let mut half = r.clone();
            half.take_in_order(100);
            prop_assert_eq!(blocks(&half), most_recent(&half));
            prop_assert_eq!(r.take_in_order(1).max(1), first_gap);
            prop_assert_eq!(blocks(&r), most_recent(&r));
        }
    }
}
